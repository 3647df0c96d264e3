/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Which packets an event of the fault engine means: each form of address, and policies. */

#include "tests/support/fault_bench.h"
#include "tests/support/hosts.h"
#include "transport/cm/message.h"
#include "transport/psn.h"
#include "transport/wire/headers.h"
#include "transport/wire/path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RX     VL_FAULT_RECEIVED
#define TX     VL_FAULT_TRANSMITTED
#define OUT    VL_DIRECTION_TRANSMITTED
#define IN     VL_DIRECTION_RECEIVED
#define SECOND UINT64_C(1000000000)

static struct bench bench;

/* A mark shows which packets an event took, and changes nothing else. */
static struct vl_fault_event marker(const char *opcode)
{
	return bench_event("mark", RX, opcode, VL_FAULT_MARK_CE);
}

static void run(const struct vl_fault_event *event, uint32_t qps)
{
	bench_init(&bench);
	bench.flow_config.qps = qps;
	bench_faults(&bench, SERVER, event, 1);
	bench_open(&bench);
	bench_run(&bench, SECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
}

static uint64_t acted(void)
{
	return vl_fault_event_counters(bench.faults[SERVER], 0)->acted;
}

static uint64_t matched(void)
{
	return vl_fault_event_counters(bench.faults[SERVER], 0)->matched;
}

/* The n-th marked frame that the server's tap was shown. */
static const struct bench_frame *marked(unsigned int n)
{
	for (unsigned int i = 0; i < bench.taps[SERVER].count; i++) {
		const struct bench_frame *frame = &bench.taps[SERVER].frames[i];

		if (strstr(frame->comment, "event 'mark'") && !n--)
			return frame;
	}
	return NULL;
}

static uint32_t marked_psn(unsigned int n)
{
	const struct bench_frame *frame = marked(n);

	CU_ASSERT_PTR_NOT_NULL_FATAL(frame);
	return vl_psn_add(frame->psn - bench_first_psn(&bench), 0);
}

static void test_psn(void)
{
	struct vl_fault_event event = marker("");

	event.match.psn = (struct vl_fault_range){10, 13};
	run(&event, 1);
	CU_ASSERT_EQUAL(acted(), 4);
	for (unsigned int n = 0; n < 4; n++)
		CU_ASSERT_EQUAL(marked_psn(n), 10 + n);
	bench_close(&bench);
}

/* The PSN of an answer counts from the first request that it may answer. */
static void test_psn_of_answer(void)
{
	struct vl_fault_event event = marker("ack");

	event.match.directions = TX;
	event.match.psn = (struct vl_fault_range){5, 5};
	run(&event, 1);
	CU_ASSERT_EQUAL(acted(), 1);
	CU_ASSERT_EQUAL(marked_psn(0), 5);
	CU_ASSERT_EQUAL(marked(0)->direction, OUT);
	bench_close(&bench);
}

static void test_message(void)
{
	struct vl_fault_event event = marker("");

	event.match.message = (struct vl_fault_range){4, 5};
	event.match.directions = RX | TX;
	run(&event, 1);
	/* Two packets and an ACK of each. */
	CU_ASSERT_EQUAL(acted(), 6);
	for (unsigned int n = 0; n < 6; n++)
		CU_ASSERT_TRUE(marked_psn(n) >= 6 && marked_psn(n) <= 9);
	bench_close(&bench);
}

/* The first packet of message 4 is lost before the engine: what comes again has its number. */
static void test_message_again(void)
{
	struct vl_fault_event lose = bench_event("lose", TX, "", VL_FAULT_DROP);
	struct vl_fault_event event = marker("write");

	lose.match.psn = (struct vl_fault_range){6, 6};
	lose.match.limit = 1;
	event.match.message = (struct vl_fault_range){5, 5};
	bench_init(&bench);
	bench_faults(&bench, CLIENT, &lose, 1);
	bench_faults(&bench, SERVER, &event, 1);
	bench_open(&bench);
	bench_run(&bench, SECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	/* Taken for message 4 as long as that was not seen; at last it is number 5. */
	CU_ASSERT_TRUE(acted() >= 2);
	CU_ASSERT_EQUAL(marked_psn((unsigned int)acted() - 1), 9);
	CU_ASSERT_EQUAL(marked_psn((unsigned int)acted() - 2), 8);
	bench_close(&bench);
}

static void test_connection(void)
{
	struct vl_fault_event event = marker("write");
	uint32_t qpn = 0;

	event.match.connection = 2;
	run(&event, 3);
	CU_ASSERT_EQUAL(acted(), 40);
	for (unsigned int n = 0; n < 40; n++) {
		qpn = qpn ? qpn : marked(n)->destination_qpn;
		CU_ASSERT_EQUAL(marked(n)->destination_qpn, qpn);
	}
	CU_ASSERT_NOT_EQUAL(qpn,
			    bench_find(&bench.wire, OUT, VL_OP_WRITE_FIRST, 0)->destination_qpn);
	bench_close(&bench);
}

/* Either end's number, in either direction. */
static void test_qpn(void)
{
	struct vl_fault_event event = marker("");

	event.match.directions = RX | TX;
	for (int remote = 0; remote < 2; remote++) {
		run(&event, 3); /* QPNs are the same in each run */
		event.match.qpn = vl_qp_number(remote ? vl_flow_requester_qp(bench.flow, 1)
						      : vl_flow_responder_qp(bench.flow, 1));
		bench_close(&bench);
		run(&event, 3);
		/* If both ends' numbers are in use on both sides, that of one is another's too. */
		CU_ASSERT_TRUE(acted() >= 60);
		CU_ASSERT_TRUE(acted() < 180);
		event.match.qpn = 0;
		bench_close(&bench);
	}
}

static void test_peer(void)
{
	struct vl_fault_event event = marker("write");

	event.match.has_peer = true;
	event.match.peer = host_gid(1);
	run(&event, 1);
	CU_ASSERT_EQUAL(acted(), 40);
	bench_close(&bench);
	event.match.peer = host_gid(3);
	run(&event, 1);
	CU_ASSERT_EQUAL(acted(), 0);
	bench_close(&bench);
}

static void count_opcode(const char *name, uint8_t directions, enum vl_flow_verb verb,
			 uint64_t expected)
{
	struct vl_fault_event event = bench_event("mark", directions, name, VL_FAULT_MARK_CE);

	bench_init(&bench);
	bench.flow_config.verb = verb;
	bench.flow_config.messages = 5;
	if (verb == VL_FLOW_FETCH_ADD)
		bench.flow_config.size = 8;
	bench_faults(&bench, SERVER, &event, 1);
	bench_open(&bench);
	bench_run(&bench, SECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	CU_ASSERT_EQUAL(matched(), expected);
	if (matched() != expected)
		printf("    %s: %llu\n", name, (unsigned long long)matched());
	bench_close(&bench);
}

static void test_opcode(void)
{
	count_opcode("write_first", RX, VL_FLOW_WRITE, 5);
	count_opcode("rc_write_last", RX, VL_FLOW_WRITE, 5);
	count_opcode("uc_write_last", RX, VL_FLOW_WRITE, 0);
	count_opcode("write", RX | TX, VL_FLOW_WRITE, 10);
	count_opcode("data", RX | TX, VL_FLOW_WRITE, 10);
	count_opcode("request", RX, VL_FLOW_WRITE, 10);
	count_opcode("ack", RX | TX, VL_FLOW_WRITE, 5);
	count_opcode("nak", RX | TX, VL_FLOW_WRITE, 0);
	count_opcode("acknowledge", TX, VL_FLOW_WRITE, 5);
	count_opcode("send", RX, VL_FLOW_SEND, 10);
	count_opcode("send_last_imm", RX, VL_FLOW_SEND_IMM, 5);
	count_opcode("read", RX, VL_FLOW_READ, 5);
	count_opcode("read_request", RX, VL_FLOW_READ, 5);
	count_opcode("read_response", TX, VL_FLOW_READ, 10);
	count_opcode("data", TX, VL_FLOW_READ, 10);
	count_opcode("atomic", RX, VL_FLOW_FETCH_ADD, 5);
	count_opcode("response", TX, VL_FLOW_FETCH_ADD, 5);
	count_opcode("cm", RX | TX, VL_FLOW_WRITE, 0);
}

static void test_opcode_names(void)
{
	struct vl_fault_match match;
	const char *meaning;

	vl_fault_match_init(&match);
	CU_ASSERT_EQUAL(vl_fault_match_opcode(&match, "sned"), -ENOENT);
	CU_ASSERT_EQUAL(vl_fault_match_opcode(&match, ""), -ENOENT);
	CU_ASSERT_EQUAL(vl_fault_match_opcode(&match, "send-only"), -ENOENT);
	CU_ASSERT_EQUAL(vl_fault_match_opcode(&match, "rc_send_only"), 0);
	CU_ASSERT_EQUAL(match.opcodes[0], UINT64_C(1) << VL_OP_SEND_ONLY);
	CU_ASSERT_EQUAL(vl_fault_match_opcode(&match, "cnp"), 0);
	CU_ASSERT_EQUAL(match.opcodes[2] >> 1 & 1, 1);
	vl_fault_match_init(&match);
	CU_ASSERT_EQUAL(vl_fault_match_opcode(&match, "rc_rdma_write_only_with_immediate"), 0);
	CU_ASSERT_EQUAL(vl_fault_match_opcode(&match, "rc_write_last_imm"), 0);
	CU_ASSERT_EQUAL(vl_fault_match_opcode(&match, "rc_cmp_swap"), 0);
	CU_ASSERT_EQUAL(match.opcodes[0], UINT64_C(1) << VL_OP_WRITE_ONLY_IMM |
						  UINT64_C(1) << VL_OP_WRITE_LAST_IMM |
						  UINT64_C(1) << VL_OP_COMPARE_SWAP);
	for (unsigned int n = 0; vl_fault_class_name(n, &meaning); n++) {
		vl_fault_match_init(&match);
		CU_ASSERT_EQUAL(vl_fault_match_opcode(&match, vl_fault_class_name(n, &meaning)), 0);
	}
	CU_ASSERT_PTR_NULL(vl_fault_class_name(1000, &meaning));
}

static void test_nth(void)
{
	struct vl_fault_event event = marker("write");

	event.match.nth = (struct vl_fault_range){3, 5};
	run(&event, 1);
	CU_ASSERT_EQUAL(acted(), 3);
	CU_ASSERT_EQUAL(matched(), 40);
	for (unsigned int n = 0; n < 3; n++)
		CU_ASSERT_EQUAL(marked_psn(n), 2 + n);
	bench_close(&bench);
}

static void test_every(void)
{
	struct vl_fault_event event = marker("write");

	event.match.every = 7;
	event.match.limit = 4;
	run(&event, 1);
	CU_ASSERT_EQUAL(acted(), 4);
	for (unsigned int n = 0; n < 4; n++)
		CU_ASSERT_EQUAL(marked_psn(n), 7 * n + 6);
	bench_close(&bench);
}

static void test_per_connection(void)
{
	struct vl_fault_event event = marker("write");

	event.match.nth = (struct vl_fault_range){40, 40};
	event.match.per_connection = true;
	run(&event, 3);
	CU_ASSERT_EQUAL(acted(), 3);
	for (unsigned int n = 0; n < 3; n++) {
		for (unsigned int other = 0; other < n; other++)
			CU_ASSERT_NOT_EQUAL(marked(n)->destination_qpn,
					    marked(other)->destination_qpn);
	}
	bench_close(&bench);
	event.match.per_connection = false;
	run(&event, 3);
	CU_ASSERT_EQUAL(acted(), 1);
	bench_close(&bench);
}

/* By chance: near its expectation, the same for a seed, and another for another. */
static void test_probability(void)
{
	struct vl_fault_event event = marker("write");
	uint64_t counts[3], psns[3];

	event.match.probability = 0.25;
	for (unsigned int i = 0; i < 3; i++) {
		bench_init(&bench);
		bench.flow_config.messages = 1000;
		bench_faults(&bench, SERVER, &event, 1);
		bench.fault_config[SERVER].seed = i < 2 ? 11 : 12;
		bench_open(&bench);
		bench_run(&bench, SECOND);
		counts[i] = acted();
		psns[i] = 0;
		for (unsigned int n = 0; n < counts[i]; n++)
			psns[i] = psns[i] * 31 + marked_psn(n);
		bench_close(&bench);
	}
	/* 2000 packets: 500, standard deviation 19. */
	CU_ASSERT_TRUE(counts[0] > 420 && counts[0] < 580);
	CU_ASSERT_TRUE(counts[2] > 420 && counts[2] < 580);
	CU_ASSERT_EQUAL(psns[0], psns[1]);
	CU_ASSERT_NOT_EQUAL(psns[0], psns[2]);
}

static void test_time(void)
{
	struct vl_fault_event event = marker("write");

	event.match.from = 5000;
	event.match.until = 10000;
	run(&event, 1);
	CU_ASSERT_TRUE(acted() > 5 && acted() < 20);
	for (unsigned int n = 0; n < acted(); n++) {
		uint64_t age = marked(n)->time - bench.taps[SERVER].frames[0].time;

		CU_ASSERT_TRUE(age >= 5000 && age < 10000);
	}
	bench_close(&bench);
}

/* A table that is too small forgets what was used least lately, and goes on. */
static void test_many_connections(void)
{
	struct vl_fault_event event = marker("write");

	bench_init(&bench);
	bench.flow_config.qps = 50;
	bench_faults(&bench, SERVER, &event, 1);
	bench.fault_config[SERVER].max_connections = 8;
	bench_open(&bench);
	bench_run(&bench, SECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	CU_ASSERT_EQUAL(acted(), 50 * 40);
	CU_ASSERT_TRUE(vl_fault_counters(bench.faults[SERVER])->connections_forgotten >= 42);
	bench_close(&bench);
}

/* ---- The connection manager's word ---------------------------------------------------------- */

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
	struct vl_fault_event event = marker("");
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
	struct vl_fault_event event = marker("");
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

/* ---- Policies ------------------------------------------------------------------------------- */

static void test_receive_rate(void)
{
	bench_init(&bench);
	bench.has_faults[SERVER] = true;
	bench.fault_config[SERVER].receives =
		(struct vl_fault_receives){.rate = 10000, .burst = 4, .rnr_timer = 1};
	bench.flow_config.verb = VL_FLOW_SEND;
	bench_open(&bench);
	bench_run(&bench, SECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	CU_ASSERT_TRUE(vl_fault_counters(bench.faults[SERVER])->rnr_by_rate >= 16);
	/* 4 at once, then 16 at 100 us each. */
	CU_ASSERT_TRUE(vl_flow_progress(bench.flow, 0)->last_completion >= 1600000);
	CU_ASSERT_TRUE(vl_flow_progress(bench.flow, 0)->last_completion < 1800000);
	CU_ASSERT_EQUAL(bench_comments(&bench.taps[SERVER], "as no receive is posted"),
			vl_fault_counters(bench.faults[SERVER])->rnr_by_rate);
	bench_close(&bench);
}

/* WRITEs need no receive. */
static void test_receive_rate_of_writes(void)
{
	bench_init(&bench);
	bench.has_faults[SERVER] = true;
	bench.fault_config[SERVER].receives =
		(struct vl_fault_receives){.rate = 1, .burst = 1, .rnr_timer = 1};
	bench_open(&bench);
	bench_run(&bench, SECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	CU_ASSERT_EQUAL(vl_fault_counters(bench.faults[SERVER])->rnr_by_rate, 0);
	bench_close(&bench);
}

static void slow(bool pfc)
{
	bench_init(&bench);
	bench.has_faults[SERVER] = true;
	bench.fault_config[SERVER].slow_receiver =
		(struct vl_fault_slow_receiver){.rate = 10000000000,
						.buffer = 100000,
						.xoff = pfc ? 50000 : 0,
						.xon = pfc ? 30000 : 0,
						.priorities = 1 << HOST_DATA_PRIORITY};
	bench.flow_config.size = 1 << 20;
	bench.flow_config.messages = 10;
	bench.flow_config.timeout = 10;
	bench_open(&bench);
	bench_run(&bench, SECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	/* 10 MiB at 10 Gb/s. */
	CU_ASSERT_TRUE(vl_flow_progress(bench.flow, 0)->last_completion > 8388608);
	if (pfc) {
		CU_ASSERT_EQUAL(vl_fault_counters(bench.faults[SERVER])->slow_receiver_dropped, 0);
		CU_ASSERT_TRUE(vl_fault_counters(bench.faults[SERVER])->pauses_sent > 10);
		CU_ASSERT_TRUE(vl_flow_progress(bench.flow, 0)->last_completion < 9000000);
	} else {
		CU_ASSERT_TRUE(vl_fault_counters(bench.faults[SERVER])->slow_receiver_dropped > 0);
		CU_ASSERT_EQUAL(vl_fault_counters(bench.faults[SERVER])->pauses_sent, 0);
		CU_ASSERT_EQUAL(
			bench_comments(&bench.taps[SERVER], "not delivered: no room in the slow"),
			vl_fault_counters(bench.faults[SERVER])->slow_receiver_dropped);
	}
	bench_close(&bench);
}

static void test_slow_receiver(void)
{
	slow(false);
	slow(true);
}

static void test_ack_coalescing(void)
{
	unsigned int acks;

	bench_init(&bench);
	bench.has_faults[SERVER] = true;
	bench.fault_config[SERVER].ack_coalescing =
		(struct vl_fault_ack_coalescing){.count = 4, .delay = 5000};
	bench.flow_config.depth = 8;
	bench_open(&bench);
	bench_run(&bench, SECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	acks = bench_count(&bench.wire, IN, VL_OP_ACKNOWLEDGE);
	CU_ASSERT_TRUE(acks >= 5 && acks <= 7);
	CU_ASSERT_EQUAL(vl_fault_counters(bench.faults[SERVER])->acks_coalesced, 20 - acks);
	CU_ASSERT_EQUAL(vl_device_counters(bench_endpoint(&bench, CLIENT)->device)
				->data_frames_retransmitted,
			0);
	bench_close(&bench);
}

/* A lone ACK waits its time out, and a NAK speaks for those before it. */
static void test_ack_coalescing_ends(void)
{
	struct vl_fault_event lose = bench_event("lose", RX, "request", VL_FAULT_DROP);

	lose.match.psn = (struct vl_fault_range){6, 6};
	lose.match.limit = 1;
	bench_init(&bench);
	bench_faults(&bench, SERVER, &lose, 1);
	bench.fault_config[SERVER].ack_coalescing =
		(struct vl_fault_ack_coalescing){.count = 1000, .delay = 20000};
	bench.flow_config.depth = 4;
	bench_open(&bench);
	bench_run(&bench, SECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	CU_ASSERT_TRUE(vl_flow_progress(bench.flow, 0)->last_completion > 60000);
	bench_close(&bench);
}

static void refused(const struct vl_fault_config *config, uint32_t blamed)
{
	uint32_t event = 0;
	int error = 0;

	CU_ASSERT_PTR_NOT_NULL(vl_fault_config_error(config, &event));
	CU_ASSERT_EQUAL(event, blamed);
	CU_ASSERT_PTR_NULL(vl_fault_create(config, &error));
	CU_ASSERT_EQUAL(error, -EINVAL);
}

static void test_refusals(void)
{
	struct vl_fault_event event = marker("");
	struct vl_fault_config config = {.events = &event, .event_count = 1};
	uint32_t blamed;

	CU_ASSERT_PTR_NULL(vl_fault_config_error(&config, &blamed));
	event.match.directions = 0;
	refused(&config, 0);
	event = marker("");
	event.match.psn = (struct vl_fault_range){0, 1 << 24};
	refused(&config, 0);
	event = marker("");
	event.match.probability = 1.5;
	refused(&config, 0);
	event = marker("");
	event.match.from = event.match.until = 5;
	refused(&config, 0);
	event = bench_event("x", RX, "", VL_FAULT_DUPLICATE);
	refused(&config, 0);
	event = bench_event("x", RX, "", VL_FAULT_REORDER);
	refused(&config, 0);
	event = bench_event("x", RX, "", VL_FAULT_NAK);
	refused(&config, 0);
	event = bench_event("x", RX, "", VL_FAULT_RNR);
	refused(&config, 0);
	event = bench_event("x", RX, "", VL_FAULT_TRUNCATE);
	refused(&config, 0);
	event = bench_event("x", RX, "", VL_FAULT_PAUSE);
	refused(&config, 0);
	event = bench_event("x", RX, "", VL_FAULT_ACTION_COUNT);
	refused(&config, 0);
	event = marker("");
	config.slow_receiver.rate = 1;
	refused(&config, UINT32_MAX);
	config.slow_receiver = (struct vl_fault_slow_receiver){.xoff = 100, .xon = 101};
	refused(&config, UINT32_MAX);
	config.slow_receiver.xoff = 0;
	config.receives.rnr_timer = 32;
	refused(&config, UINT32_MAX);
	vl_fault_destroy(NULL);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"psn", test_psn},
		{"psn_of_answer", test_psn_of_answer},
		{"message", test_message},
		{"message_again", test_message_again},
		{"connection", test_connection},
		{"qpn", test_qpn},
		{"peer", test_peer},
		{"opcode", test_opcode},
		{"opcode_names", test_opcode_names},
		{"nth", test_nth},
		{"every", test_every},
		{"per_connection", test_per_connection},
		{"probability", test_probability},
		{"time", test_time},
		{"many_connections", test_many_connections},
		{"forgotten_connection", test_forgotten_connection},
		{"held_too_long", test_held_too_long},
		{"management", test_management},
		{"receive_rate", test_receive_rate},
		{"receive_rate_of_writes", test_receive_rate_of_writes},
		{"slow_receiver", test_slow_receiver},
		{"ack_coalescing", test_ack_coalescing},
		{"ack_coalescing_ends", test_ack_coalescing_ends},
		{"refusals", test_refusals},
	};

	return RUN_SUITE("fault_match", tests, argc, argv);
}
