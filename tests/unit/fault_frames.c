/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The fault engine as a filter of single frames: how it tells connections, and what it holds. */

#include "tests/support/fault_bench.h"
#include "tests/support/hosts.h"
#include "transport/cm/message.h"
#include "transport/psn.h"
#include "transport/wire/headers.h"
#include "transport/wire/path.h"

#include <string.h>

static struct vl_fault_event marker(void)
{
	return bench_event("mark", VL_FAULT_RECEIVED, "", VL_FAULT_MARK_CE);
}

static struct vl_frame *management_frame(struct vl_frame_pool *pool, unsigned int from,
					 const struct vl_cm_message *message)
{
	struct vl_frame *frame = vl_frame_get(pool);
	struct vl_path_attr attr = {
		.encapsulation = VL_ENCAPSULATION_ROCEV2_IPV4,
		.source_mac = {2, 0, 0, 0, 0, (uint8_t)from},
		.destination_mac = {2, 0, 0, 0, 0, (uint8_t)(3 - from)},
		.source_gid = host_gid((uint16_t)from),
		.destination_gid = host_gid((uint16_t)(3 - from)),
		.udp_source_port = 0xc000,
	};
	struct vl_path path;
	uint8_t *at;

	CU_ASSERT_EQUAL_FATAL(vl_path_init(&path, &attr), 0);
	at = frame->data + vl_path_write(&path, frame->data, 12 + 8 + 256);
	at += vl_bth_write(at, VL_SERVICE_UD | VL_OP_SEND_ONLY, false, false, 0, 0xffff, 1, false,
			   1, false);
	at += vl_deth_write(at, 0x80010000, 1);
	CU_ASSERT_EQUAL_FATAL(vl_cm_encode(at, message, NULL), 0);
	frame->length = (uint32_t)(at + 256 + 4 - frame->data);
	return frame;
}

static void write_frame(struct vl_frame *frame, unsigned int from, uint32_t qpn, uint32_t psn)
{
	struct vl_path_attr attr = {
		.encapsulation = VL_ENCAPSULATION_ROCEV2_IPV4,
		.source_mac = {2, 0, 0, 0, 0, (uint8_t)from},
		.destination_mac = {2, 0, 0, 0, 0, (uint8_t)(3 - from)},
		.source_gid = host_gid((uint16_t)from),
		.destination_gid = host_gid((uint16_t)(3 - from)),
		.udp_source_port = 0xc000,
		.traffic_class = HOST_DATA_CLASS,
	};
	struct vl_path path;
	uint8_t *at;

	CU_ASSERT_EQUAL_FATAL(vl_path_init(&path, &attr), 0);
	at = frame->data + vl_path_write(&path, frame->data, 12 + 8);
	at += vl_bth_write(at, VL_OP_SEND_ONLY, false, false, 0, 0xffff, qpn, true, psn, false);
	memset(at, 0, 8 + 4);
	frame->length = (uint32_t)(at + 8 + 4 - frame->data);
	frame->source_qpn = 0;
}

/* Whose place a newer connection takes counts from the beginning when it comes again. */
static void test_forgotten_connection(void)
{
	struct vl_fault_event event = marker();
	struct vl_fault_config config = {.events = &event, .event_count = 1, .max_connections = 1};
	struct vl_memory_frame_pool pool;
	struct vl_frame_filter filter;
	struct vl_fault *fault;
	struct vl_frame *frame;

	event.match.per_connection = true;
	event.match.limit = 2;
	vl_memory_frame_pool_init(&pool, 0, 0);
	frame = vl_frame_get(&pool.pool);
	fault = vl_fault_create(&config, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(fault);
	filter = vl_fault_filter(fault);
	for (uint32_t i = 0; i < 9; i++) {
		write_frame(frame, 1, 0x20 + i / 3, i);
		filter.receive(filter.context, frame, i);
	}
	CU_ASSERT_EQUAL(vl_fault_event_counters(fault, 0)->acted, 6);
	CU_ASSERT_EQUAL(vl_fault_counters(fault)->connections_forgotten, 2);
	vl_fault_destroy(fault);
	vl_frame_free(frame);
	vl_memory_frame_pool_release(&pool);
}

/* A frame is held whose like the port does not take when its time comes. */
static void test_held_too_long(void)
{
	struct vl_fault_event event = bench_event("late", VL_FAULT_TRANSMITTED, "", VL_FAULT_DELAY);
	struct vl_fault_config config = {.events = &event, .event_count = 1};
	struct vl_memory_frame_pool pool;
	struct vl_frame_filter filter;
	struct vl_fault *fault;
	struct vl_frame *frame;

	event.action.delay = 1000;
	vl_memory_frame_pool_init(&pool, 0, 0);
	frame = vl_frame_get(&pool.pool);
	fault = vl_fault_create(&config, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(fault);
	filter = vl_fault_filter(fault);
	write_frame(frame, 1, 0x20, 5);
	CU_ASSERT_FALSE(filter.transmit(filter.context, frame, 0));
	CU_ASSERT_EQUAL(filter.next_deadline(filter.context), 1000);
	frame->capacity = frame->length - 1;
	CU_ASSERT_FALSE(filter.next_transmitted(filter.context, frame, 1000));
	CU_ASSERT_EQUAL(vl_fault_counters(fault)->held_too_long, 1);
	CU_ASSERT_EQUAL(filter.next_deadline(filter.context), UINT64_MAX);
	vl_fault_destroy(fault);
	vl_frame_free(frame);
	vl_memory_frame_pool_release(&pool);
}

/* The first packets are lost on the way; the PSN that the REQ has told counts all the same, and a
 * new connection on the same QP counts from its own. */
static void test_management(void)
{
	struct vl_fault_event event = marker();
	struct vl_fault_config config = {.events = &event, .event_count = 1};
	struct vl_memory_frame_pool pool;
	struct vl_cm_message req = {.attribute_id = VL_CM_REQ}, rep = {.attribute_id = VL_CM_REP};
	struct vl_frame_filter filter;
	struct vl_fault *fault;

	event.match.psn = (struct vl_fault_range){7, 7};
	event.match.connection = 2;
	vl_memory_frame_pool_init(&pool, 0, 0);
	fault = vl_fault_create(&config, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(fault);
	filter = vl_fault_filter(fault);
	for (unsigned int round = 0; round < 2; round++) {
		struct vl_frame *frame;

		req.req.local_comm_id = 100 + round;
		req.req.local_qpn = 0x11;
		req.req.starting_psn = vl_psn_add(0xfffffe, round * 100);
		req.req.path_mtu = IBV_MTU_1024;
		frame = management_frame(&pool.pool, 1, &req);
		CU_ASSERT_TRUE(filter.receive(filter.context, frame, 1000));
		vl_frame_free(frame);
		rep.rep.local_comm_id = 200 + round;
		rep.rep.remote_comm_id = 100 + round;
		rep.rep.local_qpn = 0x22;
		rep.rep.starting_psn = 50;
		for (int again = 0; again < 2; again++) {
			frame = management_frame(&pool.pool, 2, &rep);
			frame->source_qpn = 1;
			CU_ASSERT_TRUE(filter.transmit(filter.context, frame, 1000));
			vl_frame_free(frame);
		}
		frame = vl_frame_get(&pool.pool);
		for (uint32_t relative = 4; relative < 10; relative++) {
			write_frame(frame, 1, 0x22, vl_psn_add(req.req.starting_psn, relative));
			CU_ASSERT_TRUE(filter.receive(filter.context, frame, 2000));
			CU_ASSERT_EQUAL((frame->data[15] & 3) == VL_ECN_CE,
					round == 1 && relative == 7);
		}
		vl_frame_free(frame);
	}
	CU_ASSERT_EQUAL(vl_fault_event_counters(fault, 0)->acted, 1);
	vl_fault_destroy(fault);
	vl_memory_frame_pool_release(&pool);
}

#define CONTROL_SERVICE UINT64_C(0x01064838)

/* A connection between 0x11 and local_qpn, accepted by the endpoint. */
static void connect(struct vl_frame_filter *filter, struct vl_frame_pool *pool, uint64_t service,
		    uint32_t local_qpn)
{
	struct vl_cm_message req = {.attribute_id = VL_CM_REQ}, rep = {.attribute_id = VL_CM_REP};
	struct vl_frame *frame;

	req.req.service_id = service;
	req.req.local_comm_id = local_qpn;
	req.req.local_qpn = 0x11;
	req.req.path_mtu = IBV_MTU_1024;
	frame = management_frame(pool, 1, &req);
	CU_ASSERT_TRUE(filter->receive(filter->context, frame, 1000));
	vl_frame_free(frame);
	rep.rep.remote_comm_id = local_qpn;
	rep.rep.local_qpn = local_qpn;
	frame = management_frame(pool, 2, &rep);
	frame->source_qpn = 1;
	CU_ASSERT_TRUE(filter->transmit(filter->context, frame, 1000));
	vl_frame_free(frame);
}

/* The first connection is the tester's own: events and policies pass it by, and the next one is
 * number 1. */
static void test_spared_connection(void)
{
	struct vl_fault_event event = marker();
	struct vl_fault_config config = {.events = &event,
					 .event_count = 1,
					 .receives = {.rate = 1, .burst = 1},
					 .spared_service = CONTROL_SERVICE};
	struct vl_memory_frame_pool pool;
	struct vl_frame_filter filter;
	struct vl_fault *fault;
	struct vl_frame *frame;

	vl_memory_frame_pool_init(&pool, 0, 0);
	frame = vl_frame_get(&pool.pool);
	for (int spares = 0; spares < 2; spares++) {
		config.spared_service = spares ? CONTROL_SERVICE : 0;
		event.match.connection = spares ? 1 : 2;
		fault = vl_fault_create(&config, NULL);
		CU_ASSERT_PTR_NOT_NULL_FATAL(fault);
		filter = vl_fault_filter(fault);
		connect(&filter, &pool.pool, CONTROL_SERVICE, 0x22);
		connect(&filter, &pool.pool, CONTROL_SERVICE + 1, 0x23);
		for (uint32_t psn = 0; psn < 3; psn++) {
			write_frame(frame, 1, 0x22, psn);
			CU_ASSERT_EQUAL(filter.receive(filter.context, frame, 2000),
					spares || !psn);
		}
		write_frame(frame, 1, 0x23, 0);
		CU_ASSERT_TRUE(filter.receive(filter.context, frame, 2000));
		CU_ASSERT_EQUAL(vl_fault_event_counters(fault, 0)->acted, 1);
		write_frame(frame, 1, 0x23, 1);
		CU_ASSERT_FALSE(filter.receive(filter.context, frame, 2000));
		CU_ASSERT_EQUAL(vl_fault_counters(fault)->rnr_by_rate, spares ? 1 : 2);
		vl_fault_destroy(fault);
	}
	vl_frame_free(frame);
	vl_memory_frame_pool_release(&pool);
}

/* However long the testers took to set themselves up, times count from the first packet of others.
 */
static void test_time_of_spared(void)
{
	struct vl_fault_event event = marker();
	const struct vl_fault_config config = {
		.events = &event, .event_count = 1, .spared_service = CONTROL_SERVICE};
	static const struct {
		uint32_t qpn;
		uint64_t time;
		bool is_marked;
	} frames[] = {{0x22, 4000, false},   {0x23, 5000000, false}, {0x23, 5000999, false},
		      {0x23, 5001000, true}, {0x22, 5001500, false}, {0x23, 5001999, true},
		      {0x23, 5002000, false}};
	struct vl_memory_frame_pool pool;
	struct vl_frame_filter filter;
	struct vl_fault *fault;
	struct vl_frame *frame;

	event.match.from = 1000;
	event.match.until = 2000;
	vl_memory_frame_pool_init(&pool, 0, 0);
	frame = vl_frame_get(&pool.pool);
	fault = vl_fault_create(&config, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(fault);
	filter = vl_fault_filter(fault);
	connect(&filter, &pool.pool, CONTROL_SERVICE, 0x22);
	for (uint32_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
		write_frame(frame, 1, frames[i].qpn, i);
		CU_ASSERT_TRUE(filter.receive(filter.context, frame, frames[i].time));
		CU_ASSERT_EQUAL((frame->data[15] & 3) == VL_ECN_CE, frames[i].is_marked);
	}
	vl_fault_destroy(fault);
	vl_frame_free(frame);
	vl_memory_frame_pool_release(&pool);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"forgotten_connection", test_forgotten_connection},
		{"held_too_long", test_held_too_long},
		{"management", test_management},
		{"spared_connection", test_spared_connection},
		{"time_of_spared", test_time_of_spared},
	};

	return RUN_SUITE("fault_frames", tests, argc, argv);
}
