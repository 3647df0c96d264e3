/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/replay/stack.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static void *allocate(void *context, size_t size)
{
	size_t rounded = (size + 63) & ~(size_t)63;
	void *memory = aligned_alloc(64, rounded);

	(void)context;
	return memory ? memset(memory, 0, rounded) : NULL;
}

static void release(void *context, void *memory, size_t size)
{
	(void)context;
	(void)size;
	free(memory);
}

static int resolve(void *context, const union ibv_gid *destination, uint8_t mac[6])
{
	(void)destination;
	memcpy(mac, ((struct vl_path_macs *)context)->peer, 6);
	return 0;
}

/* Below, what is reserved is used: mappings are for what may stay untouched. */
#define LEAST_MAPPING (UINT64_C(1) << 20)

uint8_t *stack_reserve(uint64_t size)
{
	void *memory;

	if (size < LEAST_MAPPING)
		return calloc(1, size ? size : 1);
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

void stack_unreserve(uint8_t *memory, uint64_t size)
{
	if (size < LEAST_MAPPING)
		free(memory);
	else if (memory)
		munmap(memory, size);
}

static uint32_t traits(const struct recorded_packet *recorded)
{
	return (uint32_t)recorded->packet.pkey | (uint32_t)recorded->packet.mig_req << 16;
}

const struct recorded_packet *stack_model(const struct packet_list *list)
{
	const struct recorded_packet *candidate = list->items[0];
	uint32_t lead = 0;

	for (uint32_t i = 0; i < list->count; i++) {
		if (!lead)
			candidate = list->items[i];
		lead += traits(list->items[i]) == traits(candidate) ? 1 : UINT32_MAX;
	}
	return candidate;
}

static enum ibv_mtu mtu_of(uint32_t bytes)
{
	enum ibv_mtu mtu = IBV_MTU_256;

	while (mtu < IBV_MTU_4096 && (128u << mtu) < bytes)
		mtu++;
	return mtu;
}

static int connect_qp(struct stack *stack, const struct stack_options *options,
		      const union ibv_gid *peer, uint8_t traffic_class, uint8_t hop_limit)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qkey = options->qkey,
		.qp_access_flags = options->access,
		.path_mtu = mtu_of(options->path_mtu),
		.dest_qp_num = options->peer_qpn,
		.rq_psn = options->rq_psn,
		.sq_psn = options->sq_psn,
		.max_dest_rd_atomic = 128,
		.max_rd_atomic = 128,
		.min_rnr_timer = options->rnr_timer,
		.timeout = options->timeout,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr = {.is_global = 1, .port_num = 1},
	};
	bool is_rc = options->type == IBV_QPT_RC, is_ud = options->type == IBV_QPT_UD;
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX;
	int result;

	attr.ah_attr.grh.dgid = *peer;
	attr.ah_attr.grh.traffic_class = traffic_class;
	attr.ah_attr.grh.hop_limit = hop_limit;
	if (!options->gsi)
		mask |= IBV_QP_PORT;
	mask |= is_ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
	result = vl_modify_qp(stack->qp, &attr, mask, stack->now);
	if (result)
		return result;
	attr.qp_state = IBV_QPS_RTR;
	mask = IBV_QP_STATE;
	if (!is_ud)
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (is_rc)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	result = vl_modify_qp(stack->qp, &attr, mask, stack->now);
	if (result)
		return result;
	attr.qp_state = IBV_QPS_RTS;
	mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
	if (is_rc)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	return vl_modify_qp(stack->qp, &attr, mask, stack->now);
}

bool stack_open(struct stack *stack, const struct stack_options *options, char *message,
		size_t size)
{
	const struct vl_packet *model = &options->model->packet;
	bool received = options->model_is_received;
	struct vl_device_config config = {
		.allocator = {allocate, release, NULL},
		.events = {.resolve = resolve, .context = &stack->macs},
		.seed = 1,
		.gid_count = 1,
		.pkey_count = 1,
		.pkeys = {model->pkey},
		.active_mtu = IBV_MTU_4096,
		.max_qp_rd_atom = 128,
		.max_mr = (1u << 24) - 1,
		.max_unacked_packets = 1u << 22,
		.ack_request_interval = options->ack_request_interval,
		.unlimited_credits = options->unlimited_credits,
		.assume_unlimited_credits = !options->assume_no_credits,
		.accept_invalid_pkey = true,
		.mig_req_clear = !received && !model->mig_req,
	};
	struct vl_qp_init_attr init = {
		.cap = {options->send_depth, 64, 1, 1, 0},
		.qp_type = options->type,
		.gsi = options->gsi,
		.qpn = options->gsi ? 0 : options->qpn,
	};
	int error = 0;

	*stack = (struct stack){.now = 1};
	memcpy(config.mac, received ? model->destination_mac : model->source_mac, 6);
	memcpy(stack->macs.peer, received ? model->source_mac : model->destination_mac, 6);
	config.gids[0].gid = received ? model->destination_gid : model->source_gid;
	config.gids[0].encapsulation = model->encapsulation;
	config.gids[0].vlan_present = model->vlan_present;
	config.gids[0].vlan_id = model->vlan_id;
	stack->device = vl_open_device(&config, &error);
	if (!stack->device) {
		snprintf(message, size, "no device can take the recorded host's addresses: %s",
			 strerror(-error));
		return false;
	}
	stack->pd = vl_alloc_pd(stack->device, &error);
	stack->send_cq = vl_create_cq(stack->device, options->send_depth + 64, NULL, &error);
	stack->recv_cq = vl_create_cq(stack->device, 256, NULL, &error);
	init.send_cq = stack->send_cq;
	init.recv_cq = stack->recv_cq;
	if (stack->pd && stack->send_cq && stack->recv_cq)
		stack->qp = vl_create_qp(stack->pd, &init, &error);
	if (stack->qp)
		error = connect_qp(stack, options,
				   received ? &model->source_gid : &model->destination_gid,
				   model->traffic_class, model->hop_limit);
	if (stack->qp && !error)
		return true;
	snprintf(message, size, "no queue pair can take QPN 0x%06x and path MTU %u: %s",
		 options->qpn, options->path_mtu, strerror(-error));
	stack_close(stack);
	return false;
}

bool stack_transmit(struct stack *stack, struct vl_outgoing *outgoing)
{
	while (vl_transmit(stack->device, stack->now, outgoing)) {
		if (!(vl_opcode_table[outgoing->opcode].flags & VL_OPCODE_NOTIFICATION))
			return true;
	}
	return false;
}

void stack_close(struct stack *stack)
{
	if (stack->device)
		vl_close_device(stack->device);
	stack->device = NULL;
}
