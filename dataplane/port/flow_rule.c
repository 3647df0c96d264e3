/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/port/flow_rule.h"

#include "dataplane/runtime/compat.h"

#include <rte_byteorder.h>
#include <rte_errno.h>
#include <rte_flow.h>

#include <errno.h>

#if VL_COMPAT_HAS_FLOW_ITEM_BTH

#define ROCE_UDP_PORT 4791
#define QPN_MASK      0xffffffu

struct qpn_rule {
	struct rte_flow_item_udp udp, udp_mask;
	struct rte_flow_item_ib_bth bth, bth_mask;
	struct rte_flow_action_queue queue;
	struct rte_flow_item pattern[5];
	struct rte_flow_action actions[2];
};

static void put_qpn(uint8_t bytes[3], uint32_t qpn)
{
	bytes[0] = (uint8_t)(qpn >> 16);
	bytes[1] = (uint8_t)(qpn >> 8);
	bytes[2] = (uint8_t)qpn;
}

static const struct rte_flow_attr ingress = {.ingress = 1};

static void write_rule(struct qpn_rule *rule, enum rte_flow_item_type ip, uint32_t qpn,
		       uint32_t mask, uint16_t queue)
{
	*rule = (struct qpn_rule){
		.udp.hdr.dst_port = RTE_BE16(ROCE_UDP_PORT),
		.udp_mask.hdr.dst_port = RTE_BE16(UINT16_MAX),
		.queue.index = queue,
	};
	put_qpn(rule->bth.hdr.dst_qp, qpn);
	put_qpn(rule->bth_mask.hdr.dst_qp, mask);
	rule->pattern[0].type = RTE_FLOW_ITEM_TYPE_ETH;
	rule->pattern[1].type = ip;
	rule->pattern[2] = (struct rte_flow_item){
		.type = RTE_FLOW_ITEM_TYPE_UDP, .spec = &rule->udp, .mask = &rule->udp_mask};
	rule->pattern[3] = (struct rte_flow_item){
		.type = RTE_FLOW_ITEM_TYPE_IB_BTH, .spec = &rule->bth, .mask = &rule->bth_mask};
	rule->pattern[4].type = RTE_FLOW_ITEM_TYPE_END;
	rule->actions[0] =
		(struct rte_flow_action){.type = RTE_FLOW_ACTION_TYPE_QUEUE, .conf = &rule->queue};
	rule->actions[1].type = RTE_FLOW_ACTION_TYPE_END;
}

bool vl_flow_rule_qpn_is_possible(uint16_t device)
{
	struct rte_flow_error reason;
	struct qpn_rule rule;

	write_rule(&rule, RTE_FLOW_ITEM_TYPE_IPV4, 2, QPN_MASK, 0);
	return !rte_flow_validate(device, &ingress, rule.pattern, rule.actions, &reason);
}

int vl_flow_rule_qpn(uint16_t device, const char *name, uint32_t qpn, uint32_t mask, uint16_t queue,
		     struct vl_error *error)
{
	static const enum rte_flow_item_type families[] = {RTE_FLOW_ITEM_TYPE_IPV4,
							   RTE_FLOW_ITEM_TYPE_IPV6};
	struct rte_flow *made[2] = {NULL};

	for (unsigned int i = 0; i < 2; i++) {
		struct rte_flow_error reason = {0};
		struct qpn_rule rule;
		int code;

		write_rule(&rule, families[i], qpn, mask, queue);
		made[i] = rte_flow_create(device, &ingress, rule.pattern, rule.actions, &reason);
		if (made[i])
			continue;
		code = rte_errno ? rte_errno : EIO;
		if (i)
			rte_flow_destroy(device, made[0], &reason);
		return vl_error_set(error, -code,
				    "port %s: no rule for QPN 0x%06x, mask 0x%06x, to queue %u: %s",
				    name, qpn, mask, queue,
				    reason.message ? reason.message : rte_strerror(code));
	}
	return 0;
}

#else

bool vl_flow_rule_qpn_is_possible(uint16_t device)
{
	(void)device;
	return false;
}

int vl_flow_rule_qpn(uint16_t device, const char *name, uint32_t qpn, uint32_t mask, uint16_t queue,
		     struct vl_error *error)
{
	(void)device;
	(void)qpn;
	(void)mask;
	(void)queue;
	return vl_error_set(error, -ENOTSUP,
			    "port %s: flow rules on the destination QPN need DPDK 23.07 or later",
			    name);
}

#endif
