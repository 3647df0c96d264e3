/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * The stack as the recorded responder: it is fed the recorded requests at their times, and its
 * answers are held against the recorded ones.
 */

#include "apps/replay/memory.h"

#include "transport/credit.h"
#include "transport/psn.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#define NAK_SEQUENCE 0x60

struct run {
	struct trial *trial;
	const struct conversation *conversation;
	struct request_outcome *outcomes;
	struct stack stack;
	struct memory memory;
	uint8_t *receive; /* where every SEND goes */
	struct ibv_mr *receive_mr;
	struct stack_packets answers;
	uint32_t expected;   /* PSN, as the outcomes have it */
	uint32_t write_rkey; /* of the WRITE that is arriving */
	uint64_t write_address;
	uint32_t next_response; /* first recorded response after the request at hand */
};

static bool is_ack(const struct vl_packet *packet)
{
	return vl_opcode_operation(packet->opcode) == VL_OP_ACKNOWLEDGE &&
	       (packet->syndrome & 0xe0) == 0;
}

static bool is_rnr_nak(const struct vl_packet *packet)
{
	return vl_opcode_operation(packet->opcode) == VL_OP_ACKNOWLEDGE &&
	       (packet->syndrome & 0xe0) == 0x20;
}

static bool is_refusal(const struct vl_packet *packet)
{
	return vl_opcode_operation(packet->opcode) == VL_OP_ACKNOWLEDGE && !is_ack(packet);
}

static bool is_same_answer(const struct vl_packet *a, const struct vl_packet *b)
{
	return a->psn == b->psn && a->opcode == b->opcode &&
	       (a->syndrome & 0xe0) == (b->syndrome & 0xe0);
}

/* ---- Feeding -------------------------------------------------------------------------------- */

static bool open_run(struct run *run, char *message, size_t size)
{
	const struct conversation *conversation = run->conversation;
	const struct packet_list *responses = &conversation->responses;
	struct stack_options options = {
		.model = responses->count ? responses->items[0] : conversation->requests.items[0],
		.model_is_received = !responses->count,
		.type = conversation->service == VL_SERVICE_RC ? IBV_QPT_RC : IBV_QPT_UC,
		.qpn = conversation->responder_qpn,
		.peer_qpn = conversation->requester_qpn == REPLAY_UNKNOWN_QPN
				    ? 0
				    : conversation->requester_qpn,
		.path_mtu = conversation->path_mtu,
		.rq_psn = run->expected,
		.send_depth = 16,
		.unlimited_credits = true,
	};
	int error;

	for (uint32_t i = 0; i < responses->count; i++) {
		const struct vl_packet *packet = &responses->items[i]->packet;

		if (is_rnr_nak(packet))
			options.rnr_timer = packet->syndrome & 0x1f;
		else if (is_ack(packet) && packet->syndrome != VL_CREDIT_UNLIMITED)
			options.unlimited_credits = false;
	}
	if (!stack_open(&run->stack, &options, message, size))
		return false;
	run->receive = stack_reserve(VL_MAX_MESSAGE);
	if (run->receive)
		run->receive_mr = vl_reg_mr(run->stack.pd, run->receive, VL_MAX_MESSAGE, 0,
					    IBV_ACCESS_LOCAL_WRITE, &error);
	if (!run->receive_mr) {
		snprintf(message, size, "no memory to receive into");
		return false;
	}
	return memory_adopt(&run->memory, &run->stack, conversation, run->outcomes, message, size);
}

static void close_run(struct run *run)
{
	stack_close(&run->stack);
	memory_release(&run->memory);
	stack_unreserve(run->receive, VL_MAX_MESSAGE);
	stack_packets_release(&run->answers);
	free(run->outcomes);
}

/* The receive request that the recorded responder must have had. */
static void post_receive(struct run *run, bool is_long_enough)
{
	struct ibv_sge sge = {0, is_long_enough ? VL_MAX_MESSAGE : 0, run->receive_mr->lkey};
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = is_long_enough ? 1 : 0};
	const struct ibv_recv_wr *bad;

	vl_post_recv(run->stack.qp, &wr, &bad);
}

/* What the recorded responder's memory held, by its answers to this READ or ATOMIC. */
static void adopt_answers(struct run *run, const struct vl_packet *request)
{
	uint32_t count = request_psn_count(run->conversation, request);

	for (uint32_t i = run->next_response; i < run->conversation->responses.count; i++) {
		const struct vl_packet *response = &run->conversation->responses.items[i]->packet;
		uint32_t index = (response->psn - request->psn) & VL_PSN_MASK;
		uint64_t original;

		if (vl_psn_distance(response->psn, request->psn) >= (int32_t)count)
			break;
		if (index >= count)
			continue;
		if (response->info->flags & VL_OPCODE_ATOMICACKETH) {
			original = response->original;
			memory_fill(&run->memory, request->rkey, request->remote_address,
				    (const uint8_t *)&original, sizeof(original));
		} else if (response->payload_length) {
			memory_fill(&run->memory, request->rkey,
				    request->remote_address +
					    (uint64_t)index * run->conversation->path_mtu,
				    response->payload, response->payload_length);
		}
	}
}

static void prepare(struct run *run, const struct vl_packet *packet,
		    const struct request_outcome *outcome)
{
	uint32_t flags = packet->info->flags;

	if (packet->psn != run->expected)
		return;
	if ((outcome->fate == REQUEST_ARRIVED || outcome->fate == REQUEST_REFUSED) &&
	    (((flags & VL_OPCODE_SEND) && (flags & VL_OPCODE_FIRST)) ||
	     ((flags & VL_OPCODE_WRITE) && (flags & VL_OPCODE_IMMDT))))
		post_receive(run, outcome->fate == REQUEST_ARRIVED || !(flags & VL_OPCODE_SEND));
	if (outcome->fate != REQUEST_ARRIVED)
		return;
	if (flags & (VL_OPCODE_READ | VL_OPCODE_ATOMIC))
		adopt_answers(run, packet);
	if (flags & VL_OPCODE_ATOMIC) {
		memory_mark_written(&run->memory, packet->rkey, packet->remote_address, 8);
	} else if (flags & (VL_OPCODE_WRITE | VL_OPCODE_IS_ATOMIC_WRITE)) {
		if (flags & VL_OPCODE_RETH) {
			run->write_rkey = packet->rkey;
			run->write_address = packet->remote_address;
		}
		memory_mark_written(&run->memory, run->write_rkey, run->write_address,
				    packet->payload_length);
		run->write_address += packet->payload_length;
	}
	run->expected = vl_psn_add(run->expected, request_psn_count(run->conversation, packet));
}

static bool collect_answers(struct run *run)
{
	uint8_t headers[VL_MAX_HEADER_LENGTH];
	struct vl_outgoing outgoing = {.headers = headers};

	while (vl_transmit(run->stack.device, run->stack.now, &outgoing)) {
		if (!stack_packets_add(&run->answers, &outgoing, run->stack.now))
			return false;
	}
	return true;
}

static bool feed(struct run *run)
{
	struct trial *trial = run->trial;
	const struct packet_list *requests = &run->conversation->requests;
	struct ibv_wc wc;

	for (uint32_t i = 0; i < requests->count; i++) {
		const struct recorded_packet *request = requests->items[i];
		const struct request_outcome *outcome = &run->outcomes[i];

		while (run->next_response < run->conversation->responses.count &&
		       run->conversation->responses.items[run->next_response]->number <
			       request->number)
			run->next_response++;
		if (outcome->fate == REQUEST_SKIPPED) {
			trial->not_compared++;
			continue;
		}
		if (outcome->fate == REQUEST_LOST) {
			if (!trial_withhold(trial, request->number, request->packet.psn,
					    outcome->evidence))
				return false;
			continue;
		}
		if (request->time + 1 > run->stack.now)
			run->stack.now = request->time + 1;
		prepare(run, &request->packet, outcome);
		vl_receive(run->stack.device, &request->packet, run->stack.now);
		trial->fed++;
		if (!collect_answers(run))
			return false;
		while (vl_poll_cq(run->stack.recv_cq, 1, &wc) == 1)
			;
	}
	trial->messages = (uint32_t)vl_qp_counters(run->stack.qp)->message_rx;
	return true;
}

/* ---- Holding against ------------------------------------------------------------------------ */

/* Whether the recorded packet, which the stack did not send, is a known habit of the peer. */
static bool is_habit(struct trial *trial, const struct packet_list *recorded, uint32_t index)
{
	const struct vl_packet *packet = &recorded->items[index]->packet;

	if (vl_opcode_operation(packet->opcode) != VL_OP_ACKNOWLEDGE ||
	    packet->syndrome != NAK_SEQUENCE)
		return false;
	for (uint32_t i = index; i-- > 0;) {
		const struct vl_packet *before = &recorded->items[i]->packet;

		if (before->psn != packet->psn)
			return false;
		if (is_rnr_nak(before)) {
			trial->compared++;
			trial->explained++;
			trial->habits[REPLAY_HABIT_nak_sequence_after_rnr_nak]++;
			return true;
		}
	}
	return false;
}

static bool is_long_send_habit(const struct vl_packet *recorded, const struct vl_packet *stack)
{
	return vl_opcode_operation(recorded->opcode) == VL_OP_ACKNOWLEDGE &&
	       vl_opcode_operation(stack->opcode) == VL_OP_ACKNOWLEDGE &&
	       recorded->psn == stack->psn && recorded->syndrome == 0x63 && stack->syndrome == 0x61;
}

static void count_pair(struct trial *trial, const struct recorded_packet *recorded,
		       const struct vl_packet *stack, uint32_t msn_offset)
{
	struct vl_packet expected = recorded->packet;
	struct comparison comparison;

	expected.msn = (expected.msn - msn_offset) & VL_PSN_MASK;
	if (is_long_send_habit(&expected, stack)) {
		trial->compared++;
		trial->explained++;
		trial->habits[REPLAY_HABIT_operational_error_for_long_send]++;
		return;
	}
	comparison = compare_packets(&expected, stack);
	trial_count(trial, &comparison);
	if (comparison.is_different)
		trial_difference(trial, comparison.field, recorded, stack);
}

static void count_missing(struct trial *trial, const struct recorded_packet *recorded)
{
	trial->compared++;
	trial->different++;
	trial_difference(trial, "recorded, and not sent by the stack", recorded, NULL);
}

static void count_coalesced(struct trial *trial)
{
	trial->compared++;
	trial->tolerated++;
	trial->freedoms[REPLAY_FREEDOM_ack_coalescing]++;
}

static void count_extra(struct trial *trial, const struct vl_packet *stack,
			const struct recorded_packet *recorded)
{
	trial->different++;
	trial_difference(trial, "sent by the stack, and not recorded", recorded, stack);
}

/* MSNs count from the start of the connection, which may lie before the capture. */
static uint32_t find_msn_offset(const struct run *run)
{
	const struct packet_list *recorded = &run->conversation->responses;

	for (uint32_t i = 0; i < recorded->count; i++) {
		const struct vl_packet *packet = &recorded->items[i]->packet;

		if (!(packet->info->flags & VL_OPCODE_AETH))
			continue;
		for (uint32_t j = 0; j < run->answers.count; j++) {
			const struct vl_packet *answer = &run->answers.items[j].packet;

			if (answer->psn == packet->psn && answer->opcode == packet->opcode)
				return (packet->msn - answer->msn) & VL_PSN_MASK;
		}
		return 0;
	}
	return 0;
}

/*
 * Both sides in the order of their sending. ACKs may be fewer or more on either side, as long as
 * what they acknowledge is acknowledged; everything else stands in its place.
 */
static void hold_against(struct run *run)
{
	struct trial *trial = run->trial;
	const struct packet_list *recorded = &run->conversation->responses;
	uint32_t offset = find_msn_offset(run), i = 0, j = 0;

	while (i < recorded->count && j < run->answers.count) {
		const struct recorded_packet *theirs = recorded->items[i];
		const struct vl_packet *ours = &run->answers.items[j].packet;
		int32_t distance = vl_psn_distance(theirs->packet.psn, ours->psn);

		if (!is_same_answer(&theirs->packet, ours) && is_habit(trial, recorded, i)) {
			i++;
		} else if (distance == 0) {
			count_pair(trial, theirs, ours, offset);
			i++, j++;
		} else if (is_ack(ours) && distance > 0) {
			trial->extra++;
			trial->freedoms[REPLAY_FREEDOM_ack_coalescing]++;
			j++;
		} else if (is_ack(&theirs->packet) && distance < 0) {
			count_coalesced(trial);
			i++;
		} else if (distance > 0) {
			count_extra(trial, ours, theirs);
			j++;
		} else {
			count_missing(trial, theirs);
			i++;
		}
	}
	for (; i < recorded->count; i++) {
		if (!is_habit(trial, recorded, i))
			count_missing(trial, recorded->items[i]);
	}
	/* The recorded responder may have answered after the capture had ended; but not refused. */
	for (; j < run->answers.count; j++) {
		if (is_refusal(&run->answers.items[j].packet)) {
			count_extra(trial, &run->answers.items[j].packet, NULL);
			continue;
		}
		trial->extra++;
		trial->freedoms[REPLAY_FREEDOM_capture_ended]++;
	}
}

bool replay_as_responder(struct trial *trial, uint64_t last_from_responder)
{
	struct run run = {.trial = trial, .conversation = trial->conversation};
	const struct packet_list *requests = &trial->conversation->requests;
	uint32_t first = 0;
	bool fits = true;

	run.outcomes = request_outcomes(trial->conversation, last_from_responder);
	if (!run.outcomes)
		return false;
	while (first < requests->count && run.outcomes[first].fate == REQUEST_SKIPPED)
		first++;
	if (first == requests->count) {
		trial->skipped = true;
		snprintf(trial->skip_reason, sizeof(trial->skip_reason),
			 "the capture holds no beginning of a message");
		free(run.outcomes);
		return true;
	}
	run.expected = requests->items[first]->packet.psn;
	if (open_run(&run, trial->skip_reason, sizeof(trial->skip_reason))) {
		fits = feed(&run);
		if (fits)
			hold_against(&run);
	} else {
		trial->skipped = true;
	}
	close_run(&run);
	return fits;
}
