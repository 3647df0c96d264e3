/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What inspect makes of packets that are lost, late, repeated or refused: of one connection between
 * hosts A and B, written by hand. */

#include "apps/inspect/describe.h"
#include "tests/support/suite.h"
#include "tests/unit/inspect_traffic.h"

static void test_lost_before_the_capture(void)
{
	uint64_t nak, trigger;
	const struct inspect_event *event;
	const struct inspect_requests *requests;

	begin();
	request(10);
	answer(10, ACK);
	trigger = request(12); /* 11 is missing */
	request(13);
	nak = answer(11, NAK);
	request(11);
	request(12);
	request(13);
	answer(13, ACK);
	requests = &flow_to(QPN_B)->requests;
	CU_ASSERT_EQUAL(requests->gap_packets, 1);
	CU_ASSERT_EQUAL(requests->gap_filled, 1);
	CU_ASSERT_EQUAL(requests->gap_answered, 0);
	CU_ASSERT_EQUAL(requests->lost_before, 1);
	CU_ASSERT_EQUAL(requests->lost_behind, 0);
	CU_ASSERT_EQUAL(requests->retransmitted, 3);
	CU_ASSERT_EQUAL(requests->retransmissions, 1);
	CU_ASSERT_EQUAL(requests->messages, 4);
	CU_ASSERT_EQUAL(flow_to(QPN_B)->payload, 4 * 64);
	event = event_of(INSPECT_EVENT_nak);
	CU_ASSERT_EQUAL(event->packet, nak);
	CU_ASSERT_EQUAL(event->cause_packet, 0);
	CU_ASSERT_EQUAL(event->trigger_packet, trigger);
	event = event_of(INSPECT_EVENT_retransmission);
	CU_ASSERT_EQUAL(event->cause, INSPECT_CAUSE_NAK);
	CU_ASSERT_EQUAL(event->cause_packet, nak);
	CU_ASSERT_EQUAL(event->count, 3);
	CU_ASSERT_EQUAL(event_of(INSPECT_EVENT_gap)->packet, trigger);
	CU_ASSERT_EQUAL(event_of(INSPECT_EVENT_gap)->psn, 11);
	CU_ASSERT(!finds("gaps") && !finds("capture_incomplete") && finds("retransmissions"));
}

static void test_lost_behind_the_capture(void)
{
	uint64_t lost, trigger;

	begin();
	request(10);
	answer(10, ACK);
	lost = request(11);
	trigger = request(12);
	request(13);
	answer(11, NAK);
	request(11);
	request(12);
	request(13);
	request(14);
	CU_ASSERT_EQUAL(flow_to(QPN_B)->requests.lost_behind, 1);
	CU_ASSERT_EQUAL(flow_to(QPN_B)->requests.retransmitted, 3);
	CU_ASSERT_EQUAL(flow_to(QPN_B)->requests.messages, 5);
	CU_ASSERT_EQUAL(event_of(INSPECT_EVENT_nak)->cause_packet, lost);
	CU_ASSERT_EQUAL(event_of(INSPECT_EVENT_nak)->trigger_packet, trigger);
	CU_ASSERT_EQUAL(analysis->event_counts[INSPECT_EVENT_gap], 0);
}

/* A late packet makes the responder ask for it, and for what it dropped behind it. Nothing was
 * lost, and the requester goes back all the same. */
static void test_late(void)
{
	const struct inspect_requests *requests;
	uint64_t late;

	begin();
	request(10);
	answer(10, ACK);
	request(12);
	answer(11, NAK);
	late = request(11);
	request(13); /* new, so 11 was not sent again */
	answer(12, NAK);
	for (uint32_t psn = 11; psn < 15; psn++)
		request(psn);
	answer(14, ACK);
	requests = &flow_to(QPN_B)->requests;
	CU_ASSERT_EQUAL(requests->reordered, 1);
	CU_ASSERT_EQUAL(requests->lost_before, 0);
	CU_ASSERT_EQUAL(requests->lost_behind, 0);
	CU_ASSERT_EQUAL(requests->out_of_order, 2);
	CU_ASSERT_EQUAL(requests->retransmissions, 1);
	CU_ASSERT_EQUAL(requests->retransmitted, 3);
	CU_ASSERT_EQUAL(requests->duplicates, 0);
	CU_ASSERT_EQUAL(requests->messages, 5);
	CU_ASSERT_EQUAL(event_of(INSPECT_EVENT_nak)->loss, INSPECT_OUT_OF_ORDER);
	CU_ASSERT_EQUAL(event_of(INSPECT_EVENT_nak)->cause_packet, late);
	CU_ASSERT_EQUAL(event_of(INSPECT_EVENT_reordered)->packet, late);
	CU_ASSERT_EQUAL(event_of(INSPECT_EVENT_retransmission)->cause, INSPECT_CAUSE_NAK);
}

/* What is sent again is lost again, before the capture. */
static void test_lost_again(void)
{
	const struct inspect_requests *requests;

	begin();
	request(10);
	answer(10, ACK);
	for (uint32_t psn = 12; psn < 18; psn++)
		request(psn);
	answer(11, NAK);
	request(11);
	request(12);
	request(14); /* not 13 */
	request(15);
	answer(13, NAK);
	for (uint32_t psn = 13; psn < 19; psn++)
		request(psn);
	requests = &flow_to(QPN_B)->requests;
	CU_ASSERT_EQUAL(requests->lost_before, 2);
	CU_ASSERT_EQUAL(requests->lost_behind, 0);
	CU_ASSERT_EQUAL(requests->out_of_order, 0);
	CU_ASSERT_EQUAL(requests->retransmissions, 2);
	CU_ASSERT_EQUAL(requests->retransmitted, 9);
	CU_ASSERT_EQUAL(requests->reordered, 0);
}

/* An acknowledged packet was not lost by the network, but by the capture. */
static void test_missed_by_the_capture(void)
{
	begin();
	request(10);
	answer(10, ACK);
	request(13);
	answer(13, ACK);
	CU_ASSERT_EQUAL(flow_to(QPN_B)->requests.gap_packets, 2);
	CU_ASSERT_EQUAL(flow_to(QPN_B)->requests.gap_answered, 2);
	CU_ASSERT(finds("capture_incomplete"));
	CU_ASSERT(!finds("gaps"));
	/* Of a gap only the first part is acknowledged; the rest is sent again. */
	request(20);
	answer(16, ACK);
	CU_ASSERT_EQUAL(flow_to(QPN_B)->requests.gap_answered, 5);
	answer(17, NAK);
	for (uint32_t psn = 17; psn < 21; psn++)
		request(psn);
	answer(20, ACK);
	CU_ASSERT_EQUAL(flow_to(QPN_B)->requests.gap_answered, 5);
	CU_ASSERT_EQUAL(flow_to(QPN_B)->requests.gap_filled, 3);
	CU_ASSERT_EQUAL(flow_to(QPN_B)->requests.lost_before, 1);
	CU_ASSERT(!finds("gaps"));
}

static void test_timeout_and_retries(void)
{
	const struct inspect_event *event;
	uint64_t original;

	begin();
	request(10);
	answer(10, ACK);
	original = request(11);
	for (int i = 0; i < 3; i++) {
		now += 67 * MS;
		request(11);
	}
	event = event_of(INSPECT_EVENT_retransmission);
	CU_ASSERT_EQUAL(event->cause, INSPECT_CAUSE_TIMEOUT);
	CU_ASSERT_EQUAL(event->cause_packet, original);
	CU_ASSERT_EQUAL(event->silence, 67 * MS + US);
	CU_ASSERT_EQUAL(flow_to(QPN_B)->requests.retries, 3);
	CU_ASSERT(finds("unanswered"));
	answer(11, ACK);
	CU_ASSERT_EQUAL(flow_to(QPN_B)->requests.retries, 0);
	CU_ASSERT(!finds("unanswered"));
	CU_ASSERT_EQUAL(flow_to(QPN_B)->requests.runs_by_cause[INSPECT_CAUSE_TIMEOUT], 3);
}

static void test_receiver_not_ready(void)
{
	uint64_t refused, rnr;
	const struct inspect_event *event;

	begin();
	refused = request(10);
	rnr = answer(10, RNR);
	now += 640 * US;
	request(10);
	answer(10, ACK);
	event = event_of(INSPECT_EVENT_rnr);
	CU_ASSERT_EQUAL(event->packet, rnr);
	CU_ASSERT_EQUAL(event->cause_packet, refused);
	CU_ASSERT_EQUAL(inspect_rnr_time(event->syndrome), 640 * US);
	event = event_of(INSPECT_EVENT_retransmission);
	CU_ASSERT_EQUAL(event->cause, INSPECT_CAUSE_RNR);
	CU_ASSERT_EQUAL(event->silence, 641 * US);
	CU_ASSERT(finds("receiver_not_ready"));
}

static void test_copies_and_reordering(void)
{
	uint64_t original;

	begin();
	request(10);
	original = request(11);
	request(11); /* at once, unasked, the same */
	request(12);
	answer(12, ACK);
	CU_ASSERT_EQUAL(flow_to(QPN_B)->requests.duplicates, 1);
	CU_ASSERT_EQUAL(flow_to(QPN_B)->requests.retransmitted, 0);
	CU_ASSERT_EQUAL(event_of(INSPECT_EVENT_duplicate)->cause_packet, original);
	CU_ASSERT_EQUAL(flow_to(QPN_B)->payload, 3 * 64);
	request(16);
	request(14); /* in the middle of the gap */
	request(13);
	request(15);
	request(17); /* new ones again, so those were late, not sent again */
	CU_ASSERT_EQUAL(flow_to(QPN_B)->requests.retransmitted, 0);
	CU_ASSERT_EQUAL(flow_to(QPN_B)->requests.reordered, 3);
	CU_ASSERT_EQUAL(flow_to(QPN_B)->requests.gap_count, 0);
	CU_ASSERT_EQUAL(flow_to(QPN_B)->requests.messages, 8);
	CU_ASSERT(finds("reordered") && finds("duplicates") && !finds("gaps"));
}

static void test_order_errors(void)
{
	begin();
	SEND('A', VL_OP_SEND_MIDDLE, 1, .length = 1024); /* the capture began inside a message */
	SEND('A', VL_OP_SEND_LAST, 2, .length = 4);
	CU_ASSERT_EQUAL(flow_to(QPN_B)->requests.order_errors, 0);
	SEND('A', VL_OP_SEND_MIDDLE, 3, .length = 1024); /* without a first packet */
	CU_ASSERT_EQUAL(flow_to(QPN_B)->requests.order_errors, 1);
	SEND('A', VL_OP_WRITE_LAST, 4, .length = 4); /* of another message */
	CU_ASSERT_EQUAL(flow_to(QPN_B)->requests.order_errors, 2);
	SEND('A', VL_OP_SEND_FIRST, 5, .length = 1024);
	request(6); /* inside of it */
	CU_ASSERT_EQUAL(flow_to(QPN_B)->requests.order_errors, 3);
	CU_ASSERT(finds("opcode_order"));
}

static const struct test tests[] = {
	{"lost_before_the_capture", test_lost_before_the_capture},
	{"lost_behind_the_capture", test_lost_behind_the_capture},
	{"late", test_late},
	{"lost_again", test_lost_again},
	{"missed_by_the_capture", test_missed_by_the_capture},
	{"timeout_and_retries", test_timeout_and_retries},
	{"receiver_not_ready", test_receiver_not_ready},
	{"copies_and_reordering", test_copies_and_reordering},
	{"order_errors", test_order_errors},
};

int main(int argc, char **argv)
{
	int result = RUN_SUITE("inspect_loss", tests, argc, argv);

	inspect_analysis_free(analysis);
	return result;
}
