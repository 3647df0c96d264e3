/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * The stack as the recorded requester: its work requests are rebuilt from the recorded packets, and
 * it gets to send when the recorded requester did, so that its packets can be held against the
 * recorded ones one by one. The recorded answers are fed in between.
 */

#include "apps/replay/fate.h"
#include "apps/replay/stack.h"

#include "transport/psn.h"

#include <stdlib.h>
#include <string.h>

#define SEND_DEPTH 16384

struct run {
	struct trial *trial;
	const struct conversation *conversation;
	struct response_outcomes outcomes;
	struct stack stack;
	uint8_t *source; /* payloads of all messages, one after the other */
	uint64_t source_size, source_used;
	uint8_t *sink; /* of every READ and ATOMIC */
	struct ibv_mr *source_mr, *sink_mr;
	uint32_t posted; /* PSN up to which work requests are posted */
	uint32_t next_response;
	uint32_t outstanding;
};

static bool is_write(uint32_t flags)
{
	return flags & (VL_OPCODE_WRITE | VL_OPCODE_IS_ATOMIC_WRITE);
}

/* ---- Rebuilding ----------------------------------------------------------------------------- */

/* One message of the capture: its packets from first on. */
struct message {
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	const struct vl_packet *first;
	uint32_t length;
	uint32_t psn_count;
	bool is_flush;
};

static enum ibv_wr_opcode opcode_of(const struct vl_packet *first, const struct vl_packet *last)
{
	uint32_t flags = first->info->flags;

	switch (vl_opcode_operation(first->opcode)) {
	case VL_OP_COMPARE_SWAP:
		return IBV_WR_ATOMIC_CMP_AND_SWP;
	case VL_OP_FETCH_ADD:
		return IBV_WR_ATOMIC_FETCH_AND_ADD;
	case VL_OP_READ_REQUEST:
		return IBV_WR_RDMA_READ;
	case VL_OP_FLUSH:
		return VL_WR_FLUSH;
	case VL_OP_ATOMIC_WRITE:
		return IBV_WR_ATOMIC_WRITE;
	default:
		break;
	}
	if (last->info->flags & VL_OPCODE_IMMDT)
		return flags & VL_OPCODE_SEND ? IBV_WR_SEND_WITH_IMM : IBV_WR_RDMA_WRITE_WITH_IMM;
	if (last->info->flags & VL_OPCODE_IETH)
		return IBV_WR_SEND_WITH_INV;
	return flags & VL_OPCODE_SEND ? IBV_WR_SEND : IBV_WR_RDMA_WRITE;
}

/*
 * Puts the payload together from the packets with the message's PSNs, in whatever order and number
 * the capture has them. Of a message whose end is not in the capture, as much as there is and one
 * packet more, so that what there is comes out as first and middle packets.
 */
static bool gather(struct run *run, uint32_t index, struct message *message)
{
	const struct packet_list *requests = &run->conversation->requests;
	const struct vl_packet *first = message->first, *last = first;
	uint32_t mtu = run->conversation->path_mtu, next = first->psn;
	uint8_t *to = run->source + run->source_used;
	bool ended = first->info->flags & VL_OPCODE_LAST;

	memcpy(to, first->payload, first->payload_length);
	message->length = first->payload_length;
	for (uint32_t i = index + 1; i < requests->count && !ended; i++) {
		const struct vl_packet *packet = &requests->items[i]->packet;

		if (packet->psn != vl_psn_add(next, 1))
			continue;
		if (message->length + packet->payload_length + mtu >
		    run->source_size - run->source_used)
			return false;
		memcpy(to + message->length, packet->payload, packet->payload_length);
		message->length += packet->payload_length;
		next = packet->psn;
		last = packet;
		ended = packet->info->flags & VL_OPCODE_LAST;
	}
	if (first->info->flags & VL_OPCODE_WRITE)
		message->length = first->dma_length;
	else if (!ended)
		message->length += mtu;
	if (message->length > run->source_size - run->source_used)
		return false;
	message->wr.opcode = opcode_of(first, last);
	if (last->info->flags & VL_OPCODE_IMMDT)
		message->wr.imm_data = last->immediate;
	if (last->info->flags & VL_OPCODE_IETH)
		message->wr.invalidate_rkey = last->invalidate_rkey;
	if (last->solicited)
		message->wr.send_flags |= IBV_SEND_SOLICITED;
	message->psn_count = (uint32_t)(((uint64_t)message->length + mtu - 1) / mtu);
	if (!message->psn_count)
		message->psn_count = 1;
	message->sge = (struct ibv_sge){run->source_used, message->length, run->source_mr->lkey};
	run->source_used += message->length;
	return true;
}

static bool rebuild(struct run *run, uint32_t index, struct message *message)
{
	const struct vl_packet *first = &run->conversation->requests.items[index]->packet;
	uint32_t flags = first->info->flags;

	*message = (struct message){.first = first, .psn_count = 1};
	message->wr.send_flags = IBV_SEND_SIGNALED;
	message->wr.opcode = opcode_of(first, first);
	if (flags & (VL_OPCODE_SEND | VL_OPCODE_WRITE | VL_OPCODE_IS_ATOMIC_WRITE)) {
		if (!gather(run, index, message))
			return false;
	} else if (flags & VL_OPCODE_ATOMIC) {
		message->sge = (struct ibv_sge){0, 8, run->sink_mr->lkey};
		message->length = 8;
	} else if (flags & VL_OPCODE_READ) {
		message->length = first->dma_length;
		message->psn_count = request_psn_count(run->conversation, first);
		message->sge = (struct ibv_sge){0, message->length, run->sink_mr->lkey};
	} else {
		message->is_flush = true;
		message->length = first->dma_length;
	}
	if (flags & VL_OPCODE_ATOMIC) {
		bool swap = vl_opcode_operation(first->opcode) == VL_OP_COMPARE_SWAP;

		message->wr.wr.atomic.remote_addr = first->remote_address;
		message->wr.wr.atomic.rkey = first->rkey;
		message->wr.wr.atomic.compare_add = swap ? first->compare : first->swap_or_add;
		message->wr.wr.atomic.swap = first->swap_or_add;
	} else if (is_write(flags) || (flags & VL_OPCODE_READ)) {
		message->wr.wr.rdma.remote_addr = first->remote_address;
		message->wr.wr.rdma.rkey = first->rkey;
	}
	message->wr.sg_list = &message->sge;
	message->wr.num_sge = message->length ? 1 : 0;
	return true;
}

/* Posts the work request whose first packet is the request at index, if it is new. */
static bool post(struct run *run, uint32_t index)
{
	const struct vl_packet *packet = &run->conversation->requests.items[index]->packet;
	const struct ibv_send_wr *bad;
	struct message message;
	int error;

	if (packet->psn != run->posted)
		return true;
	if (!(packet->info->flags & VL_OPCODE_FIRST) &&
	    (packet->info->flags & (VL_OPCODE_SEND | VL_OPCODE_WRITE)))
		return true;
	if (!rebuild(run, index, &message))
		return false;
	if (message.is_flush)
		error = vl_post_flush(run->stack.qp, index, IBV_SEND_SIGNALED, packet->rkey,
				      packet->remote_address, message.length, packet->placement,
				      packet->selectivity, run->stack.now);
	else
		error = vl_post_send(run->stack.qp, &message.wr, &bad, run->stack.now);
	if (!error)
		run->posted = vl_psn_add(run->posted, message.psn_count);
	return true;
}

/* ---- Feeding and holding against ------------------------------------------------------------- */

/* The recorded answers up to a packet number that are due after so many requests. */
static bool feed_responses(struct run *run, uint64_t before, uint32_t sent)
{
	const struct packet_list *responses = &run->conversation->responses;
	struct ibv_wc wc;

	while (run->next_response < responses->count) {
		const struct recorded_packet *response = responses->items[run->next_response];
		const struct response_outcome *outcome = &run->outcomes.items[run->next_response];

		if (response->number > before || outcome->not_before > sent)
			break;
		run->next_response++;
		if (outcome->lost) {
			if (!trial_withhold(run->trial, response->number, response->packet.psn,
					    outcome->evidence))
				return false;
			continue;
		}
		if (response->time + 1 > run->stack.now)
			run->stack.now = response->time + 1;
		vl_receive(run->stack.device, &response->packet, run->stack.now);
		run->trial->fed++;
		while (vl_poll_cq(run->stack.send_cq, 1, &wc) == 1)
			run->trial->messages += wc.status == IBV_WC_SUCCESS;
	}
	return true;
}

/* The stack's turn to send one packet, as the recorded requester did. */
static void take_turn(struct run *run, const struct recorded_packet *recorded)
{
	uint8_t headers[VL_MAX_HEADER_LENGTH];
	struct vl_outgoing outgoing = {.headers = headers};
	struct stack_packets sent = {0};
	struct trial *trial = run->trial;
	struct comparison comparison = {0};

	if (!vl_transmit(run->stack.device, run->stack.now, &outgoing)) {
		trial->compared++;
		if (run->outcomes.most_retries > 7 && vl_qp_state(run->stack.qp) == IBV_QPS_ERR) {
			trial->explained++;
			trial->habits[REPLAY_HABIT_retry_count_seven_never_ends]++;
			return;
		}
		trial->different++;
		trial_difference(trial,
				 vl_qp_state(run->stack.qp) == IBV_QPS_ERR
					 ? "recorded, and not sent by the stack, which had given up"
					 : "recorded, and not sent by the stack",
				 recorded, NULL);
		return;
	}
	if (stack_packets_add(&sent, &outgoing, run->stack.now)) {
		comparison = compare_packets(&recorded->packet, &sent.items[0].packet);
		trial_count(trial, &comparison);
		if (comparison.is_different)
			trial_difference(trial, comparison.field, recorded, &sent.items[0].packet);
	}
	stack_packets_release(&sent);
}

/* ---- The run -------------------------------------------------------------------------------- */

static uint64_t payload_room(const struct conversation *conversation)
{
	uint64_t size = 0;

	for (uint32_t i = 0; i < conversation->requests.count; i++) {
		const struct vl_packet *packet = &conversation->requests.items[i]->packet;

		size += 2 * (uint64_t)conversation->path_mtu;
		if (is_write(packet->info->flags) && (packet->info->flags & VL_OPCODE_RETH))
			size += packet->dma_length;
	}
	return size;
}

static bool open_run(struct run *run, uint32_t first, char *message, size_t size)
{
	const struct conversation *conversation = run->conversation;
	struct stack_options options = {
		.model = conversation->requests.items[first],
		.type = conversation->service == VL_SERVICE_RC ? IBV_QPT_RC : IBV_QPT_UC,
		.qpn = conversation->requester_qpn == REPLAY_UNKNOWN_QPN
			       ? 0
			       : conversation->requester_qpn,
		.peer_qpn = conversation->responder_qpn,
		.path_mtu = conversation->path_mtu,
		.sq_psn = conversation->requests.items[first]->packet.psn,
		.send_depth = SEND_DEPTH,
		.timeout = run->outcomes.timeout_exponent,
	};
	int error;

	if (!stack_open(&run->stack, &options, message, size))
		return false;
	run->posted = options.sq_psn;
	run->source_size = payload_room(conversation);
	run->source = run->source_size <= STACK_MAX_REGION ? stack_reserve(run->source_size) : NULL;
	run->sink = stack_reserve(VL_MAX_MESSAGE);
	if (run->source && run->sink) {
		run->source_mr =
			vl_reg_mr(run->stack.pd, run->source, run->source_size, 0, 0, &error);
		run->sink_mr = vl_reg_mr(run->stack.pd, run->sink, VL_MAX_MESSAGE, 0,
					 IBV_ACCESS_LOCAL_WRITE, &error);
	}
	if (run->source_mr && run->sink_mr)
		return true;
	snprintf(message, size, "no memory for the payloads");
	return false;
}

bool replay_as_requester(struct trial *trial)
{
	struct run run = {.trial = trial, .conversation = trial->conversation};
	const struct packet_list *requests = &trial->conversation->requests;
	uint32_t first = 0;
	bool fits = true;

	run.outcomes = response_outcomes(trial->conversation);
	if (!run.outcomes.items)
		return false;
	while (first < requests->count &&
	       !(requests->items[first]->packet.info->flags & VL_OPCODE_FIRST) &&
	       (requests->items[first]->packet.info->flags & (VL_OPCODE_SEND | VL_OPCODE_WRITE)))
		first++;
	trial->not_compared = first;
	if (first == requests->count) {
		trial->skipped = true;
		snprintf(trial->skip_reason, sizeof(trial->skip_reason),
			 "the capture holds no beginning of a message");
	} else if (!open_run(&run, first, trial->skip_reason, sizeof(trial->skip_reason))) {
		trial->skipped = true;
	} else {
		for (uint32_t i = first; i < requests->count && fits; i++) {
			const struct recorded_packet *request = requests->items[i];

			fits = feed_responses(&run, request->number, i);
			if (request->time + 1 > run.stack.now)
				run.stack.now = request->time + 1;
			fits = fits && post(&run, i);
			if (fits)
				take_turn(&run, request);
			/* A NAK counts from when it was received, though it was heeded later. */
			fits = fits && feed_responses(&run, request->number, i + 1);
		}
		fits = fits && feed_responses(&run, UINT64_MAX, UINT32_MAX);
	}
	stack_close(&run.stack);
	stack_unreserve(run.source, run.source_size);
	stack_unreserve(run.sink, VL_MAX_MESSAGE);
	free(run.outcomes.items);
	return fits;
}
