/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * The stack as the recorded responder: it is fed the recorded requests at their times, and its
 * answers are held against the recorded ones (answers.c).
 */

#include "apps/replay/answers.h"
#include "apps/replay/memory.h"
#include "transport/credit.h"
#include "transport/psn.h"

#include <stdlib.h>
#include <string.h>

struct run {
	struct trial *trial;
	const struct conversation *conversation;
	const struct request_outcomes *outcomes;
	struct stack stack;
	struct memory memory;
	uint8_t *receive; /* where every SEND goes */
	struct ibv_mr *receive_mr;
	struct stack_packets answers;
	int64_t expected;    /* position, as the outcomes have it */
	uint32_t write_rkey; /* of the WRITE that is arriving */
	uint64_t write_address;
};

/* ---- Adopting ------------------------------------------------------------------------------- */

/* What a request needs of the queue pair's access flags. */
static unsigned int access_of(const struct vl_packet *request)
{
	uint32_t flags = request->info->flags;

	if (flags & VL_OPCODE_IS_FLUSH)
		return VL_ACCESS_FLUSH_GLOBAL | VL_ACCESS_FLUSH_PERSISTENT;
	if (flags & VL_OPCODE_ATOMIC)
		return IBV_ACCESS_REMOTE_ATOMIC;
	if (flags & VL_OPCODE_READ)
		return IBV_ACCESS_REMOTE_READ;
	return flags & (VL_OPCODE_WRITE | VL_OPCODE_IS_ATOMIC_WRITE) ? IBV_ACCESS_REMOTE_WRITE : 0;
}

/* Everything, but what was refused as not enabled and never accepted. */
static unsigned int adopt_access(const struct run *run)
{
	unsigned int refused = 0, accepted = 0;

	for (uint32_t i = 0; i < run->conversation->requests.count; i++) {
		const struct request_outcome *outcome = &run->outcomes->items[i];
		const struct vl_packet *request = &run->conversation->requests.items[i]->packet;

		if (outcome->fate == REQUEST_REFUSED && outcome->syndrome == NAK_INVALID_REQUEST)
			refused |= access_of(request);
		else if (outcome->is_expected && outcome->fate == REQUEST_ARRIVED)
			accepted |= access_of(request);
	}
	return STACK_ALL_ACCESS & ~(refused & ~accepted);
}

/* The code of the last RNR NAK: mostly there is but one. */
static uint8_t adopt_rnr_timer(const struct run *run)
{
	const struct packet_list *responses = &run->conversation->responses;

	for (uint32_t i = responses->count; i-- > 0;) {
		if (is_rnr_nak(&responses->items[i]->packet))
			return responses->items[i]->packet.syndrome & 0x1f;
	}
	return 0;
}

static bool open_run(struct run *run, char *message, size_t size)
{
	const struct conversation *conversation = run->conversation;
	const struct packet_list *responses = &conversation->responses;
	struct stack_options options = {
		.model = stack_model(responses->count ? responses : &conversation->requests),
		.model_is_received = !responses->count,
		.type = conversation->service == VL_SERVICE_RC ? IBV_QPT_RC : IBV_QPT_UC,
		.qpn = conversation->responder_qpn,
		.peer_qpn = conversation->requester_qpn == REPLAY_UNKNOWN_QPN
				    ? 0
				    : conversation->requester_qpn,
		.path_mtu = conversation->path_mtu,
		.rq_psn = (uint32_t)run->expected & VL_PSN_MASK,
		.send_depth = 16,
		.rnr_timer = adopt_rnr_timer(run),
		/* How many receive requests there were is not known; one is posted for each SEND
		 * that needs it, when it comes. */
		.unlimited_credits = true,
		.access = adopt_access(run),
	};
	int error;

	if (!stack_open(&run->stack, &options, message, size) ||
	    !memory_adopt(&run->memory, &run->stack, run->trial->recording, conversation,
			  run->outcomes, message, size))
		return false;
	run->receive = stack_reserve(VL_MAX_MESSAGE);
	if (run->receive)
		run->receive_mr = vl_reg_mr_with_key(run->stack.pd, run->receive, VL_MAX_MESSAGE, 0,
						     IBV_ACCESS_LOCAL_WRITE,
						     memory_unused_key(&run->memory), &error);
	if (!run->receive_mr)
		snprintf(message, size, "no memory to receive into");
	return run->receive_mr != NULL;
}

static void close_run(struct run *run)
{
	stack_close(&run->stack);
	memory_release(&run->memory);
	stack_unreserve(run->receive, VL_MAX_MESSAGE);
	stack_packets_release(&run->answers);
}

/* ---- Feeding -------------------------------------------------------------------------------- */

/* How long a receive request the recorded responder can have had for the message that begins with a
 * request: as long as what came before the packet that was refused. */
static uint32_t receive_length(const struct run *run, uint32_t index)
{
	const struct packet_list *requests = &run->conversation->requests;
	uint32_t length = 0;

	if (!(requests->items[index]->packet.info->flags & VL_OPCODE_SEND))
		return VL_MAX_MESSAGE;
	for (; index < requests->count; index++) {
		const struct vl_packet *packet = &requests->items[index]->packet;
		const struct request_outcome *outcome = &run->outcomes->items[index];

		if (!outcome->is_expected)
			continue;
		if (outcome->fate == REQUEST_REFUSED)
			return length;
		if (packet->info->flags & VL_OPCODE_LAST)
			break;
		length += packet->payload_length;
	}
	return VL_MAX_MESSAGE;
}

/* The receive request that the recorded responder must have had. */
static void post_receive(struct run *run, uint32_t length)
{
	struct ibv_sge sge = {0, length, run->receive_mr->lkey};
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = length > 0};
	const struct ibv_recv_wr *bad;

	vl_post_recv(run->stack.qp, &wr, &bad);
}

/* What the recorded responder's memory held, by its answer to this READ or ATOMIC. */
static void adopt_answer(struct run *run, const struct recorded_packet *recorded, uint32_t answer)
{
	const struct vl_packet *request = &recorded->packet;
	const struct packet_list *responses = &run->conversation->responses;
	int64_t count = request_psn_count(run->conversation, request), last = -1;

	for (; answer < responses->count; answer++) {
		const struct vl_packet *response = &responses->items[answer]->packet;
		int64_t index = responses->items[answer]->position - recorded->position;
		uint64_t original = response->original;

		if (is_acknowledge(response) || index <= last || index >= count)
			return;
		last = index;
		if (response->info->flags & VL_OPCODE_ATOMICACKETH)
			memory_fill(&run->memory, request->rkey, request->remote_address,
				    (const uint8_t *)&original, sizeof(original));
		else if (response->payload_length)
			memory_fill(&run->memory, request->rkey,
				    request->remote_address +
					    (uint64_t)index * run->conversation->path_mtu,
				    response->payload, response->payload_length);
	}
}

/* A request that changes something: what it needs, and what it leaves. */
static void prepare_execution(struct run *run, const struct recorded_packet *recorded,
			      uint32_t answer)
{
	const struct vl_packet *packet = &recorded->packet;
	uint32_t flags = packet->info->flags;

	if (flags & VL_OPCODE_IETH)
		memory_invalidate(&run->memory, packet->invalidate_rkey);
	if (flags & (VL_OPCODE_READ | VL_OPCODE_ATOMIC))
		adopt_answer(run, recorded, answer);
	if (flags & VL_OPCODE_ATOMIC) {
		memory_mark_written(&run->memory, packet->rkey, packet->remote_address, 8);
	} else if (flags & (VL_OPCODE_WRITE | VL_OPCODE_IS_ATOMIC_WRITE)) {
		if (flags & VL_OPCODE_RETH) {
			run->write_rkey = packet->rkey;
			run->write_address = packet->remote_address;
		}
		memory_ready(&run->memory, run->write_rkey);
		memory_mark_written(&run->memory, run->write_rkey, run->write_address,
				    packet->payload_length);
		run->write_address += packet->payload_length;
	}
	run->expected = recorded->position + request_psn_count(run->conversation, packet);
}

static void prepare(struct run *run, uint32_t index)
{
	const struct recorded_packet *recorded = run->conversation->requests.items[index];
	const struct request_outcome *outcome = &run->outcomes->items[index];
	const struct vl_packet *packet = &recorded->packet;
	uint32_t flags = packet->info->flags;
	bool is_accepted = outcome->fate == REQUEST_ARRIVED || outcome->fate == REQUEST_OVERTAKEN;

	if (is_accepted && (flags & (VL_OPCODE_RETH | VL_OPCODE_ATOMICETH)))
		memory_ready(&run->memory, packet->rkey);
	if (!outcome->is_expected) {
		/* Its memory may have changed since. */
		if (is_accepted && (flags & VL_OPCODE_READ) && recorded->position < run->expected)
			adopt_answer(run, recorded, outcome->answer);
		return;
	}
	if ((is_accepted || outcome->fate == REQUEST_REFUSED) &&
	    (((flags & VL_OPCODE_SEND) && (flags & VL_OPCODE_FIRST)) ||
	     ((flags & VL_OPCODE_WRITE) && (flags & VL_OPCODE_IMMDT))))
		post_receive(run, receive_length(run, index));
	if (is_accepted)
		prepare_execution(run, recorded, outcome->answer);
}

/* Takes what the stack sends. False: out of memory. */
static bool collect_answers(struct run *run, uint32_t cause)
{
	uint8_t headers[VL_MAX_HEADER_LENGTH];
	struct vl_outgoing outgoing = {.headers = headers};
	struct stack_packet *answer;

	while (stack_transmit(&run->stack, &outgoing)) {
		if (!stack_packets_add(&run->answers, &outgoing, run->stack.now))
			return false;
		answer = &run->answers.items[run->answers.count - 1];
		answer->cause = cause;
		answer->last_psn = (uint32_t)(run->expected - 1) & VL_PSN_MASK;
		answer->msn = (expected_msn(run->outcomes, run->expected - 1) -
			       run->outcomes->msn_offset) &
			      VL_PSN_MASK;
	}
	return true;
}

/* A SEND or WRITE that asks for it, or that had come before, is acknowledged; there is nothing here
 * with which the ACK could be put off. */
static void check_acknowledged(struct run *run, uint32_t index, uint32_t answered)
{
	const struct recorded_packet *request = run->conversation->requests.items[index];
	const struct request_outcome *outcome = &run->outcomes->items[index];
	bool is_duplicate = !outcome->is_expected && request->position < run->expected;

	if (run->conversation->service != VL_SERVICE_RC || is_resource(&request->packet) ||
	    (outcome->fate != REQUEST_ARRIVED && outcome->fate != REQUEST_OVERTAKEN) ||
	    !(is_duplicate || (outcome->is_expected && request->packet.ack_request)) ||
	    run->answers.count > answered)
		return;
	trial_count_unrecorded(run->trial);
	trial_difference(run->trial,
			 is_duplicate ? "a repeated request that the stack does not acknowledge"
				      : "asks for an ACK, and the stack sends none",
			 request, NULL);
}

/* False: out of memory. */
static bool feed_one(struct run *run, uint32_t index)
{
	const struct recorded_packet *request = run->conversation->requests.items[index];
	const struct request_outcome *outcome = &run->outcomes->items[index];
	bool is_alive = vl_qp_state(run->stack.qp) != IBV_QPS_ERR;
	uint32_t answered = run->answers.count;
	struct ibv_wc wc;

	if (request->time + 1 > run->stack.now)
		run->stack.now = request->time + 1;
	prepare(run, index);
	vl_receive(run->stack.device, &request->packet, run->stack.now);
	run->trial->fed++;
	run->trial->not_ready += outcome->fate == REQUEST_NOT_READY;
	run->trial->refused += outcome->fate == REQUEST_REFUSED;
	run->trial->overtaken += outcome->fate == REQUEST_OVERTAKEN;
	if (!collect_answers(run, index))
		return false;
	if (is_alive)
		check_acknowledged(run, index, answered);
	while (vl_poll_cq(run->stack.recv_cq, 1, &wc) == 1)
		;
	return true;
}

static bool feed(struct run *run)
{
	struct trial *trial = run->trial;
	const struct packet_list *requests = &run->conversation->requests;
	uint32_t overtaken = FATE_NONE;
	bool fits = true;

	for (uint32_t i = 0; i < requests->count && fits; i++) {
		const struct recorded_packet *request = requests->items[i];
		const struct request_outcome *outcome = &run->outcomes->items[i];

		if (outcome->fate == REQUEST_SKIPPED)
			trial->not_fed++;
		else if (outcome->fate == REQUEST_LOST)
			fits = trial_withhold(trial, request->number, request->packet.psn,
					      outcome->evidence);
		else if (outcome->fate == REQUEST_OVERTAKEN)
			overtaken = i;
		else
			fits = feed_one(run, i);
		if (fits && overtaken != FATE_NONE && run->outcomes->items[overtaken].after == i) {
			fits = feed_one(run, overtaken);
			overtaken = FATE_NONE;
		}
	}
	trial->messages = (uint32_t)vl_qp_counters(run->stack.qp)->message_rx;
	return fits;
}

bool replay_as_responder(struct trial *trial, const struct request_outcomes *outcomes,
			 const struct last_seen *last)
{
	struct run run = {
		.trial = trial,
		.conversation = trial->conversation,
		.outcomes = outcomes,
		.expected = outcomes->start,
	};
	bool fits = true;

	if (open_run(&run, trial->skip_reason, sizeof(trial->skip_reason))) {
		fits = feed(&run);
		if (fits)
			hold_answers(trial, &run.answers, outcomes, last);
	} else {
		trial->skipped = true;
	}
	close_run(&run);
	return fits;
}
