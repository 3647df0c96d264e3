/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Which packets an event of the fault engine means: each form of address. */

#include "tests/support/fault_bench.h"
#include "tests/support/hosts.h"
#include "transport/psn.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define RX     VL_FAULT_RECEIVED
#define TX     VL_FAULT_TRANSMITTED
#define OUT    VL_DIRECTION_TRANSMITTED
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
	};

	return RUN_SUITE("fault_match", tests, argc, argv);
}
