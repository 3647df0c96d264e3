/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What inspect makes of traffic written by hand between hosts A and B: of all operations and
 * services, marked, cut, in every encapsulation. */

#include "apps/inspect/describe.h"
#include "tests/support/suite.h"
#include "tests/unit/inspect_traffic.h"
#include "transport/wire/parse.h"

/* Across the wrap of the PSN, with several messages and a coalesced acknowledgement. */
static void test_healthy(void)
{
	const struct inspect_flow *flow;

	begin();
	SEND('A', VL_OP_WRITE_FIRST, 0xfffffe, .length = 1024, .dma_length = 2500);
	SEND('A', VL_OP_WRITE_MIDDLE, 0xffffff, .length = 1024);
	SEND('A', VL_OP_WRITE_LAST, 0, .length = 452);
	request(1);
	answer(1, ACK);
	flow = flow_to(QPN_B);
	CU_ASSERT_EQUAL(flow->path_mtu, 1024);
	CU_ASSERT_EQUAL(flow->payload, 2564);
	CU_ASSERT_EQUAL(flow->requests.messages, 2);
	CU_ASSERT_EQUAL(flow->requests.first_psn, 0xfffffe);
	CU_ASSERT_EQUAL(flow->requests.next_psn, 2);
	CU_ASSERT_EQUAL(flow->requests.answered_psn, 2);
	CU_ASSERT_EQUAL(flow->reverse, flow_to(QPN_A));
	CU_ASSERT_EQUAL(flow->pairing, INSPECT_PAIRED_BY_PSN);
	CU_ASSERT_EQUAL(flow->reverse->path_mtu, 1024);
	CU_ASSERT_EQUAL(events(), 0);
	CU_ASSERT(finds("healthy"));
}

static void test_read(void)
{
	const struct inspect_flow *forth, *back;

	begin();
	SEND('A', VL_OP_READ_REQUEST, 100, .dma_length = 3000);
	SEND('B', VL_OP_READ_RESPONSE_FIRST, 100, .length = 1024);
	SEND('B', VL_OP_READ_RESPONSE_MIDDLE, 101, .length = 1024);
	SEND('B', VL_OP_READ_RESPONSE_LAST, 102, .length = 952);
	request(103); /* a READ takes the PSNs of its responses */
	forth = flow_to(QPN_B);
	back = flow_to(QPN_A);
	CU_ASSERT_EQUAL(forth->reverse, back);
	CU_ASSERT_EQUAL(forth->path_mtu, 1024);
	CU_ASSERT_EQUAL(forth->requests.reads, 1);
	CU_ASSERT_EQUAL(forth->requests.read_bytes, 3000);
	CU_ASSERT_EQUAL(back->responses.reads, 1);
	CU_ASSERT_EQUAL(back->payload, 3000);
	CU_ASSERT_EQUAL(events(), 0);

	/* A response is lost before the capture; the rest is asked for again. */
	SEND('A', VL_OP_READ_REQUEST, 104, .dma_length = 4096);
	SEND('B', VL_OP_READ_RESPONSE_FIRST, 104, .length = 1024);
	SEND('B', VL_OP_READ_RESPONSE_MIDDLE, 106, .length = 1024);
	SEND('B', VL_OP_READ_RESPONSE_LAST, 107, .length = 1024);
	CU_ASSERT_EQUAL(back->responses.gap_packets, 1);
	CU_ASSERT_EQUAL(event_of(INSPECT_EVENT_response_gap)->psn, 105);
	SEND('A', VL_OP_READ_REQUEST, 105, .dma_length = 3072);
	SEND('B', VL_OP_READ_RESPONSE_FIRST, 105, .length = 1024);
	SEND('B', VL_OP_READ_RESPONSE_MIDDLE, 106, .length = 1024);
	SEND('B', VL_OP_READ_RESPONSE_LAST, 107, .length = 1024);
	request(108);
	CU_ASSERT_EQUAL(forth->requests.retransmitted, 1);
	CU_ASSERT_EQUAL(back->responses.repeated, 3);
	CU_ASSERT_EQUAL(forth->requests.gap_packets, 0);
	CU_ASSERT(finds("responses_missing"));
}

/* The path MTU follows from the PSN behind a READ, where nothing else tells it. */
static void test_read_tells_path_mtu(void)
{
	begin();
	SEND('A', VL_OP_READ_REQUEST, 0, .dma_length = 8192);
	SEND('A', VL_OP_READ_REQUEST, 4, .dma_length = 8192);
	SEND('A', VL_OP_READ_REQUEST, 8, .dma_length = 8192);
	CU_ASSERT_EQUAL(flow_to(QPN_B)->path_mtu, 2048);
	CU_ASSERT_EQUAL(events(), 0);
}

static void test_atomics(void)
{
	begin();
	SEND('A', VL_OP_FETCH_ADD, 5);
	SEND('B', VL_OP_ATOMIC_ACKNOWLEDGE, 5);
	SEND('A', VL_OP_COMPARE_SWAP, 6);
	SEND('B', VL_OP_ATOMIC_ACKNOWLEDGE, 6);
	CU_ASSERT_EQUAL(flow_to(QPN_B)->requests.atomics, 2);
	CU_ASSERT_EQUAL(flow_to(QPN_A)->responses.atomics, 2);
	CU_ASSERT_EQUAL(flow_to(QPN_A)->responses.acks, 0);
	CU_ASSERT_EQUAL(events(), 0);
}

static void test_restart(void)
{
	begin();
	request(10);
	answer(10, ACK);
	request(0x800000 + 10);
	answer(0x800000 + 10, ACK);
	CU_ASSERT_EQUAL(flow_to(QPN_B)->requests.restarts, 1);
	CU_ASSERT_EQUAL(flow_to(QPN_B)->requests.gap_packets, 0);
	CU_ASSERT_EQUAL(flow_to(QPN_B)->requests.answered_psn, 0x80000b);
	CU_ASSERT_EQUAL(event_of(INSPECT_EVENT_restart)->expected, 11);
}

/* UC repeats nothing and is answered by nothing. */
static void test_unreliable(void)
{
	begin();
	SEND('A', VL_SERVICE_UC | VL_OP_WRITE_ONLY, 1, .length = 8, .dma_length = 8);
	SEND('A', VL_SERVICE_UC | VL_OP_WRITE_ONLY, 4, .length = 8, .dma_length = 8);
	SEND('A', VL_SERVICE_UC | VL_OP_WRITE_ONLY, 3, .length = 8, .dma_length = 8);
	now += 100 * MS;
	SEND('A', VL_SERVICE_UC | VL_OP_WRITE_ONLY, 4, .length = 8, .dma_length = 8);
	CU_ASSERT_EQUAL(flow_to(QPN_B)->requests.gap_packets, 2);
	CU_ASSERT_EQUAL(flow_to(QPN_B)->requests.reordered, 1);
	CU_ASSERT_EQUAL(flow_to(QPN_B)->requests.duplicates, 1);
	CU_ASSERT_EQUAL(flow_to(QPN_B)->requests.retransmitted, 0);
	CU_ASSERT(finds("gaps"));
}

static void test_datagrams(void)
{
	begin();
	SEND('A', VL_SERVICE_UD | VL_OP_SEND_ONLY, 1, .qpn = 0x30, .source_qpn = 0x20, .length = 9);
	SEND('A', VL_SERVICE_UD | VL_OP_SEND_ONLY, 9, .qpn = 0x30, .source_qpn = 0x21, .length = 9);
	SEND('B', VL_SERVICE_UD | VL_OP_SEND_ONLY, 5, .qpn = 0x20, .source_qpn = 0x30, .length = 9);
	CU_ASSERT_EQUAL(analysis->flows.count, 3);
	CU_ASSERT_EQUAL(flow_to(0x20)->pairing, INSPECT_PAIRED_BY_QPN);
	CU_ASSERT_EQUAL(flow_to(0x20)->reverse->key.source_qpn, 0x20);
	/* PSNs of a datagram QP run over all its destinations, so none is missing. */
	CU_ASSERT_EQUAL(events(), 0);
}

/* Connections between the same hosts whose PSNs do not overlap are told apart by the answers. */
static void test_pairing_of_many(void)
{
	begin();
	for (uint32_t i = 0; i < 300; i++)
		SEND('A', VL_OP_SEND_ONLY, i << 15, .qpn = 0x1000 + i, .length = 8);
	for (uint32_t i = 300; i-- > 0;)
		SEND('B', VL_OP_ACKNOWLEDGE, i << 15, .qpn = 0x2000 + i);
	for (uint32_t i = 0; i < 300; i++)
		CU_ASSERT_EQUAL(flow_to(0x1000 + i)->reverse, flow_to(0x2000 + i));
}

/* With equal PSNs nothing can be said, and nothing is. */
static void test_pairing_of_equals(void)
{
	begin();
	SEND('A', VL_OP_SEND_ONLY, 7, .qpn = 0x1000, .length = 8);
	SEND('A', VL_OP_SEND_ONLY, 7, .qpn = 0x1001, .length = 8);
	SEND('B', VL_OP_ACKNOWLEDGE, 7, .qpn = 0x2001);
	CU_ASSERT_PTR_NULL(flow_to(0x2001)->reverse);
	/* Later they diverge. */
	SEND('A', VL_OP_SEND_ONLY, 8, .qpn = 0x1001, .length = 8);
	SEND('B', VL_OP_ACKNOWLEDGE, 8, .qpn = 0x2001);
	CU_ASSERT_EQUAL(flow_to(0x2001)->reverse, flow_to(0x1001));
	SEND('B', VL_OP_ACKNOWLEDGE, 7, .qpn = 0x2000);
	CU_ASSERT_EQUAL(flow_to(0x2000)->reverse, flow_to(0x1000));
}

static void test_wrong_icrc(void)
{
	uint64_t wrong;

	begin();
	request(1);
	answer(1, ACK);
	wrong = SEND('A', VL_OP_SEND_ONLY, 2, .length = 64, .spoil_icrc = true);
	request(3);
	CU_ASSERT_EQUAL(analysis->icrc_wrong, 1);
	CU_ASSERT_EQUAL(analysis->icrc_right, 3);
	CU_ASSERT_EQUAL(analysis->classes[INSPECT_RDMA], 4);
	CU_ASSERT_EQUAL(event_of(INSPECT_EVENT_icrc_wrong)->packet, wrong);
	CU_ASSERT_EQUAL(event_of(INSPECT_EVENT_icrc_wrong)->expected ^
				event_of(INSPECT_EVENT_icrc_wrong)->found,
			0x100);
	CU_ASSERT_EQUAL(flow_to(QPN_B)->icrc_wrong, 1);
	/* The receiver drops it, and so do we. */
	CU_ASSERT_EQUAL(flow_to(QPN_B)->requests.gap_packets, 1);
	CU_ASSERT(finds("icrc_wrong"));
}

/* A capture of which all ICRCs are wrong can be looked into, if asked for. */
static void test_wrong_icrc_ignored(void)
{
	begin();
	analysis->ignores_icrc = true;
	for (uint32_t i = 0; i < 3; i++)
		SEND('A', VL_OP_SEND_ONLY, i, .length = 64, .spoil_icrc = true);
	CU_ASSERT_EQUAL(analysis->icrc_wrong, 3);
	CU_ASSERT_EQUAL(flow_to(QPN_B)->packets, 3);
	CU_ASSERT_EQUAL(flow_to(QPN_B)->requests.messages, 3);
	CU_ASSERT(finds("icrc_wrong"));
}

static void test_congestion(void)
{
	const struct inspect_flow *flow;

	begin();
	for (uint32_t i = 0; i < 100; i++)
		SEND('A', VL_OP_SEND_ONLY, i, .length = 1024,
		     .traffic_class = 26 << 2 | VL_ECN_ECT0, .vlan = true, .priority = 3);
	answer(99, ACK);
	for (uint32_t i = 100; i < 200; i++) {
		SEND('A', VL_OP_SEND_ONLY, i, .length = 1024,
		     .traffic_class = 26 << 2 | (i < 120 ? VL_ECN_CE : VL_ECN_ECT0), .vlan = true,
		     .priority = 3);
		if (i < 120)
			SEND('B', VL_OPCODE_CNP, 0, .length = 16, .traffic_class = 48 << 2);
		now += 9 * US;
	}
	flow = flow_to(QPN_B);
	CU_ASSERT_EQUAL(flow->ecn[VL_ECN_CE], 20);
	CU_ASSERT_EQUAL(flow->ecn[VL_ECN_ECT0], 180);
	CU_ASSERT_EQUAL(flow->dscps, UINT64_C(1) << 26);
	CU_ASSERT_EQUAL(flow->priorities, 1u << 3);
	CU_ASSERT_EQUAL(flow->vlan_id, 100);
	CU_ASSERT_EQUAL(flow->reverse->cnps, 20);
	CU_ASSERT_EQUAL(flow->reverse->dscps, 1);
	CU_ASSERT_EQUAL(flow->reverse->cnp_dscps, UINT64_C(1) << 48);
	CU_ASSERT(finds("congestion") && !finds("cnp_unheeded") && !finds("no_cnp"));
	CU_ASSERT(!finds("retransmissions"));
}

/* Marked packets, and a sender that goes on as before. */
static void test_congestion_ignored(void)
{
	begin();
	request(0);
	answer(0, ACK);
	for (uint32_t i = 1; i < 200; i++) {
		SEND('A', VL_OP_SEND_ONLY, i, .length = 1024, .traffic_class = VL_ECN_CE);
		if (i == 100)
			CU_ASSERT(finds("no_cnp"));
		if (i > 100 && i < 120) {
			now -= US;
			SEND('B', VL_OPCODE_CNP, 0, .length = 16);
		}
	}
	CU_ASSERT(finds("cnp_unheeded") && !finds("no_cnp"));
}

static void test_entropy(void)
{
	begin();
	for (uint32_t i = 0; i < 16; i++)
		SEND('A', VL_OP_SEND_ONLY, i << 16, .qpn = 0x100 + i, .length = 64);
	CU_ASSERT(finds("low_entropy"));
	begin();
	for (uint32_t i = 0; i < 16; i++)
		SEND('A', VL_OP_SEND_ONLY, i << 16, .qpn = 0x100 + i, .length = 64,
		     .udp_source_port = (uint16_t)(50000 + i));
	CU_ASSERT(!finds("low_entropy"));
	SEND('A', VL_OP_SEND_ONLY, 1, .qpn = 0x100, .length = 64, .udp_source_port = 51000);
	CU_ASSERT_EQUAL(flow_to(0x100)->udp_source_port_changes, 1);
}

static void test_other_encapsulations(void)
{
	static const enum vl_encapsulation encapsulations[] = {
		VL_ENCAPSULATION_ROCEV2_IPV6, VL_ENCAPSULATION_ROCEV1, VL_ENCAPSULATION_IB_LOCAL,
		VL_ENCAPSULATION_IB_GLOBAL};

	for (unsigned int i = 0; i < 4; i++) {
		char text[INSPECT_FLOW_TEXT];

		begin();
		SEND('A', VL_OP_SEND_ONLY, 1, .length = 64, .encapsulation = encapsulations[i]);
		SEND('B', VL_OP_ACKNOWLEDGE, 1, .encapsulation = encapsulations[i]);
		CU_ASSERT_EQUAL(analysis->icrc_right, 2);
		CU_ASSERT_EQUAL(analysis->vcrc_right, i >= 2 ? 2 : 0);
		CU_ASSERT_EQUAL(flow_to(QPN_B)->reverse, flow_to(QPN_A));
		if (encapsulations[i] == VL_ENCAPSULATION_IB_LOCAL)
			CU_ASSERT_STRING_EQUAL(inspect_flow_text(flow_to(QPN_B), text),
					       "LID 65 -> LID 66 QP 0xb2");
		CU_ASSERT(finds("healthy"));
	}
	SEND('A', VL_OP_SEND_ONLY, 2, .length = 64, .spoil_vcrc = true,
	     .encapsulation = VL_ENCAPSULATION_IB_GLOBAL);
	CU_ASSERT_EQUAL(analysis->vcrc_wrong, 1);
	CU_ASSERT(finds("vcrc_wrong"));
}

static void test_cut_packets(void)
{
	begin();
	SEND('A', VL_OP_SEND_ONLY, 1, .length = 1000, .captured = 96);
	SEND('B', VL_OP_ACKNOWLEDGE, 1, .captured = 58);
	SEND('A', VL_OP_SEND_ONLY, 2, .length = 1000, .captured = 30); /* no BTH */
	CU_ASSERT_EQUAL(analysis->classes[INSPECT_RDMA], 2);
	CU_ASSERT_EQUAL(analysis->classes[INSPECT_DAMAGED], 1);
	CU_ASSERT_EQUAL(analysis->icrc_unchecked, 2);
	CU_ASSERT_EQUAL(flow_to(QPN_B)->payload, 1000);
	CU_ASSERT_EQUAL(flow_to(QPN_B)->reverse, flow_to(QPN_A));
	CU_ASSERT(finds("captured_short"));
}

static void test_foreign_packets(void)
{
	static const uint8_t arp[60] = {[12] = 0x08, [13] = 0x06};
	static const uint8_t pfc[60] = {[12] = 0x88, [13] = 0x08, [14] = 1, [15] = 1, [17] = 0x08};
	struct vl_capture_packet packet = {
		.number = 3,
		.frame.kind = VL_CAPTURE_FRAME_link_type_unsupported,
	};

	begin();
	feed(arp, sizeof(arp), 0, VL_LINK_ETHERNET);
	feed(pfc, sizeof(pfc), 0, VL_LINK_ETHERNET);
	inspect_analysis_add(analysis, &packet);
	feed(arp, 10, 0, VL_LINK_ETHERNET);
	CU_ASSERT_EQUAL(analysis->packets, 4);
	CU_ASSERT_EQUAL(analysis->classes[INSPECT_FOREIGN], 3);
	CU_ASSERT_EQUAL(analysis->classes[INSPECT_DAMAGED], 1);
	CU_ASSERT_EQUAL(analysis->reasons[VL_PARSE_not_rdma].count, 2);
	CU_ASSERT_EQUAL(analysis->reasons[VL_PARSE_not_rdma].examples[1], 2);
	CU_ASSERT_EQUAL(analysis->pfc_frames, 1);
	CU_ASSERT_EQUAL(analysis->pfc_priorities, 0x08);
	CU_ASSERT(finds("no_rdma") && finds("pfc") && finds("packet_damaged"));
	begin();
	CU_ASSERT(finds("empty"));
}

/* Flows beyond the table's bound are counted, and nothing else suffers. */
static void test_bounds(void)
{
	begin();
	for (uint32_t i = 0; i < INSPECT_MAX_FLOWS + 10; i++)
		SEND('A', VL_OP_SEND_ONLY, 1, .qpn = 2 + i, .length = 0);
	CU_ASSERT_EQUAL(analysis->flows.count, INSPECT_MAX_FLOWS);
	CU_ASSERT_EQUAL(analysis->flows.overflow_packets, 10);
	CU_ASSERT_EQUAL(analysis->icrc_right, INSPECT_MAX_FLOWS + 10);
	for (uint32_t i = 0; i < 5000; i++)
		SEND('A', VL_OP_SEND_ONLY, 3 + 2 * i, .qpn = 2, .length = 0);
	CU_ASSERT_EQUAL(analysis->event_counts[INSPECT_EVENT_gap], 5000);
	CU_ASSERT(analysis->event_count <= INSPECT_EVENTS_OF_A_KIND * INSPECT_EVENT_KIND_COUNT);
	CU_ASSERT(finds("too_many_flows"));
}

static const struct test tests[] = {
	{"healthy", test_healthy},
	{"read", test_read},
	{"read_tells_path_mtu", test_read_tells_path_mtu},
	{"atomics", test_atomics},
	{"restart", test_restart},
	{"unreliable", test_unreliable},
	{"datagrams", test_datagrams},
	{"pairing_of_many", test_pairing_of_many},
	{"pairing_of_equals", test_pairing_of_equals},
	{"wrong_icrc", test_wrong_icrc},
	{"wrong_icrc_ignored", test_wrong_icrc_ignored},
	{"congestion", test_congestion},
	{"congestion_ignored", test_congestion_ignored},
	{"entropy", test_entropy},
	{"other_encapsulations", test_other_encapsulations},
	{"cut_packets", test_cut_packets},
	{"foreign_packets", test_foreign_packets},
	{"bounds", test_bounds},
};

int main(int argc, char **argv)
{
	int result = RUN_SUITE("inspect_analysis", tests, argc, argv);

	inspect_analysis_free(analysis);
	return result;
}
