/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* One switch, and frames that go in and come out by hand. */
#ifndef VERBLINE_TESTS_SWITCH_FRAMES_H
#define VERBLINE_TESTS_SWITCH_FRAMES_H

#include "dataplane/fabric/switch.h"
#include "tests/support/frame.h"
#include "tests/support/suite.h"

#define DATA 26 /* DSCP of priority 3 by the default map */
#define CNP  48 /* of priority 6 */
#define ECT  2

static struct vl_memory_frame_pool pool;
static struct vl_switch *sw;

static inline struct vl_switch_config four_ports(void)
{
	struct vl_switch_config config;

	vl_switch_config_defaults(&config, 4, 1000000);
	memcpy(config.mac, (uint8_t[6]){2, 0, 0, 0, 0x0f, 0xfe}, 6);
	return config;
}

/* Port n leads to MAC n. */
static inline void start(const struct vl_switch_config *config)
{
	uint8_t mac[6] = {2};

	vl_memory_frame_pool_init(&pool, 0, 0);
	sw = vl_switch_create(config, &pool.pool, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(sw);
	for (uint32_t i = 0; i < config->ports; i++) {
		mac[5] = (uint8_t)i;
		CU_ASSERT_EQUAL(vl_switch_add_route(sw, mac, i), 0);
	}
}

static inline void finish(void)
{
	vl_switch_destroy(sw);
	CU_ASSERT_EQUAL(pool.in_use, 0);
	vl_memory_frame_pool_release(&pool);
}

static inline uint32_t put(uint32_t port, uint8_t to, uint32_t length, uint8_t dscp, uint8_t ecn,
			   uint64_t now)
{
	return vl_switch_receive(
		sw, port, make_ipv4_frame(&pool.pool, length, to, (uint8_t)port, dscp, ecn), now);
}

/* Takes a frame out and says how long it was, 0: none; *ecn if it is IP. */
static inline uint32_t take(uint32_t port, uint64_t now, uint8_t *ecn)
{
	struct vl_frame *frame = vl_switch_transmit(sw, port, now);
	uint32_t length;

	if (!frame)
		return 0;
	length = frame->length;
	if (ecn)
		*ecn = ipv4_frame_ecn(frame);
	if (frame->data[12] == 8)
		CU_ASSERT_EQUAL(ipv4_header_sum(frame->data + 14), 0xffff);
	vl_frame_free(frame);
	return length;
}

/* The PFC frame that a port has to send: what it says of a priority; -1: there is none. */
static inline int pause_sent(uint32_t port, uint8_t priority, uint64_t now)
{
	struct vl_frame *frame;
	struct vl_pfc pfc;
	int quanta = -1;

	if (!vl_pfc_sender_is_due(&sw->ports[port].pfc, now))
		return -1;
	frame = vl_switch_transmit(sw, port, now);
	CU_ASSERT_PTR_NOT_NULL_FATAL(frame);
	CU_ASSERT_EQUAL(vl_pfc_parse(frame->data, frame->length, &pfc), VL_MAC_CONTROL_PFC);
	if (pfc.enabled >> priority & 1)
		quanta = pfc.quanta[priority];
	vl_frame_free(frame);
	return quanta;
}

static inline void receive_pfc(uint32_t port, uint8_t priority, uint16_t quanta, uint64_t now)
{
	static const uint8_t peer[6] = {2, 1};
	struct vl_pfc pfc = {.enabled = (uint8_t)(1u << priority)};
	struct vl_frame *frame = vl_frame_get(&pool.pool);

	pfc.quanta[priority] = quanta;
	vl_pfc_write(frame->data, peer, &pfc);
	frame->length = VL_PFC_FRAME_LENGTH;
	CU_ASSERT_EQUAL(vl_switch_receive(sw, port, frame, now), port);
}

#endif
