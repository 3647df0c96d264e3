/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * The stack as the recorded requester: its work requests are rebuilt from the recorded packets, and
 * it gets to send when the recorded requester did, so that its packets can be held against the
 * recorded ones one by one. The recorded answers are fed in between.
 */

#include "apps/replay/fate.h"
#include "apps/replay/rebuild.h"
#include "apps/replay/stack.h"
#include "transport/credit.h"
#include "transport/psn.h"

#include <stdlib.h>
#include <string.h>

#define MOST_SEND_DEPTH 32768u

/* The recorded requester's timer is its own: the stack's is set so long that it never runs out by
 * itself, and where the capture shows that the recorded one did, the clock is put forward. */
#define ACK_TIMEOUT 31 /* exponent: 2.4 hours */

/* Packets that the capture may lack between two of the requester's. */
#define MOST_NOT_CAPTURED 8192u

struct run {
	struct trial *trial;
	const struct conversation *conversation;
	const struct request_outcomes *requests_known;
	struct response_outcomes outcomes;
	struct stack stack;
	uint64_t ahead; /* ns: of the stack's clock, before the recorded time */
	struct rebuilding rebuilding;
	uint8_t *sink;               /* of every READ and ATOMIC */
	int64_t posted;              /* position up to which work requests are posted */
	int64_t next;                /* position behind the last request that was compared */
	struct stack_packets passed; /* packets of the stack that the capture lacks, or has late */
	uint32_t posted_count;
	uint32_t next_response;
	uint64_t rnr_end;           /* of the stack's clock; 0: no RNR NAK is being heeded */
	enum ibv_wc_status failure; /* of the first request that failed */
	bool has_limited_credits;   /* an AETH has granted some */
	int64_t acknowledged;       /* position up to which responses were fed */
};

/* Posts the work request whose first packet is the request at index. False: no memory for it. */
static bool post(struct run *run, uint32_t index)
{
	const struct vl_packet *packet = &run->conversation->requests.items[index]->packet;
	const struct ibv_send_wr *bad;
	struct message message;
	int error;

	if (!rebuild_message(&run->rebuilding, index, &message))
		return false;
	if (message.is_flush)
		error = vl_post_flush(run->stack.qp, index, IBV_SEND_SIGNALED, packet->rkey,
				      packet->remote_address, message.length, packet->placement,
				      packet->selectivity, run->stack.now);
	else
		error = vl_post_send(run->stack.qp, &message.wr, &bad, run->stack.now);
	if (!error) {
		run->posted += message.psn_count;
		run->posted_count++;
	}
	return !error;
}

/* The first request from index on that begins the message at a position; FATE_NONE: none does. */
static uint32_t find_beginning(const struct run *run, uint32_t index, int64_t position)
{
	const struct packet_list *requests = &run->conversation->requests;

	for (; index < requests->count; index++) {
		if (requests->items[index]->position == position &&
		    starts_message(&requests->items[index]->packet))
			return index;
	}
	return FATE_NONE;
}

/* Posts what the request at index needs: its message, and before it those that the capture has only
 * as they were sent again. */
static void post_until(struct run *run, uint32_t index)
{
	int64_t until = run->conversation->requests.items[index]->position;
	uint32_t beginning;

	while (run->posted <= until) {
		beginning = find_beginning(run, index, run->posted);
		if (beginning == FATE_NONE || !post(run, beginning))
			return;
	}
}

/* ---- Feeding -------------------------------------------------------------------------------- */

/* The stack's clock does not lag behind the capture's. */
static void keep_time(struct run *run, const struct recorded_packet *recorded)
{
	if (recorded->time + 1 + run->ahead > run->stack.now)
		run->stack.now = recorded->time + 1 + run->ahead;
}

static void drain_completions(struct run *run)
{
	struct ibv_wc wc;

	while (vl_poll_cq(run->stack.send_cq, 1, &wc) == 1) {
		run->trial->messages += wc.status == IBV_WC_SUCCESS;
		if (wc.status != IBV_WC_SUCCESS && run->failure == IBV_WC_SUCCESS)
			run->failure = wc.status;
	}
}

/* The recorded MSNs count messages from before the capture, the stack's do not. */
static void feed_response(struct run *run, const struct recorded_packet *response, bool turns_back)
{
	struct vl_packet packet = response->packet;

	keep_time(run, response);
	packet.msn = (packet.msn - run->requests_known->msn_offset) & VL_PSN_MASK;
	vl_receive(run->stack.device, &packet, run->stack.now);
	run->trial->fed++;
	if ((packet.info->flags & VL_OPCODE_AETH) && !is_negative(&packet) &&
	    packet.syndrome != VL_CREDIT_UNLIMITED)
		run->has_limited_credits = true;
	if (response->position - is_negative(&packet) > run->acknowledged)
		run->acknowledged = response->position - is_negative(&packet);
	if (turns_back && is_rnr_nak(&packet)) {
		/* It was received before, though it is heeded only now. */
		if (!run->rnr_end)
			run->rnr_end = run->stack.now + vl_rnr_timer_ns(packet.syndrome & 0x1f);
		run->ahead += run->stack.now - (response->time + 1 + run->ahead);
	}
	drain_completions(run);
}

/* The recorded answers up to a packet number that are due after so many requests. */
static bool feed_responses(struct run *run, uint64_t before, uint32_t sent)
{
	const struct packet_list *responses = &run->conversation->responses;

	while (run->next_response < responses->count) {
		const struct recorded_packet *response = responses->items[run->next_response];
		const struct response_outcome *outcome = &run->outcomes.items[run->next_response];

		if (response->number > before || outcome->not_before > sent)
			break;
		run->next_response++;
		if (!outcome->lost)
			feed_response(run, response, outcome->turns_back);
		else if (!trial_withhold(run->trial, response->number, response->packet.psn,
					 outcome->evidence))
			return false;
	}
	return true;
}

/* A recorded requester that goes on without credits does not heed them. */
static bool lift_credits(struct run *run)
{
	const struct packet_list *responses = &run->conversation->responses;
	struct vl_packet packet;

	if (!run->has_limited_credits)
		return false;
	packet = responses->items[0]->packet;
	packet.opcode = VL_OP_ACKNOWLEDGE;
	packet.info = &vl_opcode_table[VL_OP_ACKNOWLEDGE];
	packet.payload_length = 0;
	packet.psn = (uint32_t)run->acknowledged & VL_PSN_MASK;
	packet.syndrome = VL_CREDIT_UNLIMITED;
	vl_receive(run->stack.device, &packet, run->stack.now);
	run->has_limited_credits = false;
	return true;
}

/* ---- Holding against ------------------------------------------------------------------------ */

static void count_missing(struct run *run, const struct recorded_packet *recorded)
{
	struct trial *trial = run->trial;

	trial->compared++;
	drain_completions(run);
	if (run->outcomes.most_retries > 7 && run->failure == IBV_WC_RETRY_EXC_ERR) {
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
}

/* Before the RNR timer has run out nothing may be sent. */
static void check_rnr_wait(struct run *run, const struct recorded_packet *recorded)
{
	uint8_t headers[VL_MAX_HEADER_LENGTH];
	struct vl_outgoing outgoing = {.headers = headers};
	uint64_t last = run->rnr_end - 1;

	run->rnr_end = 0;
	if (run->stack.now > last)
		return;
	run->stack.now = last;
	if (!stack_transmit(&run->stack, &outgoing))
		return;
	trial_count_unrecorded(run->trial);
	trial_difference(run->trial, "the stack sends before the RNR timer has run out", recorded,
			 NULL);
}

/* Moves a packet to those that were passed over. */
static void pass_over(struct run *run, struct stack_packets *sent)
{
	struct stack_packets *passed = &run->passed;

	run->trial->extra++;
	run->trial->freedoms[REPLAY_FREEDOM_not_captured]++;
	if (passed->count == MOST_NOT_CAPTURED)
		stack_packets_release(passed);
	if (stack_packets_move(passed, sent))
		return;
	stack_packets_release(sent);
}

/* The next packet of the stack. Those that the capture lacks, as the recorded requester's next PSNs
 * show, are passed over: where requests were lost before the point of capture, and there the first
 * of those that are sent again may be among them. False: it sends none. */
static bool take_packet(struct run *run, const struct recorded_packet *recorded, bool turns_back,
			struct stack_packets *sent)
{
	uint8_t headers[VL_MAX_HEADER_LENGTH];
	struct vl_outgoing outgoing = {.headers = headers};
	int64_t position;

	for (uint32_t i = 0; i < MOST_NOT_CAPTURED && stack_transmit(&run->stack, &outgoing); i++) {
		stack_packets_release(sent);
		if (!stack_packets_add(sent, &outgoing, run->stack.now))
			return false;
		position = recorded->position +
			   vl_psn_distance(sent->items[0].packet.psn, recorded->packet.psn);
		if (!run->outcomes.is_behind_loss || position >= recorded->position ||
		    (position < run->next && !turns_back))
			return true;
		pass_over(run, sent);
	}
	return false;
}

/* The end of a message that the capture lacks, and after which the recorded requester waited. */
static void pass_over_end(struct run *run)
{
	uint8_t headers[VL_MAX_HEADER_LENGTH];
	struct vl_outgoing outgoing = {.headers = headers};
	struct stack_packets sent = {0};

	for (uint32_t i = 0; i < MOST_NOT_CAPTURED && stack_transmit(&run->stack, &outgoing); i++) {
		if (!stack_packets_add(&sent, &outgoing, run->stack.now))
			break;
		pass_over(run, &sent);
		stack_packets_release(&sent);
	}
}

/* The recorded requester's timer has run out. */
static void run_out_of_patience(struct run *run, const struct recorded_packet *recorded)
{
	if (run->outcomes.is_behind_loss)
		pass_over_end(run);
	run->ahead += 2 * vl_ack_timeout_ns(ACK_TIMEOUT);
	run->trial->timeouts++;
	keep_time(run, recorded);
}

static uint32_t count_unlike(const uint8_t *a, const uint8_t *b, uint32_t length)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < length; i++)
		count += a[i] != b[i];
	return count;
}

/* Whether the request at index, which was sent before, differs in its payload alone, and has that
 * of one that was sent since. A single byte is no message, but damage. */
static bool has_buffer_reused(const struct run *run, uint32_t index, const struct vl_packet *stack)
{
	const struct packet_list *requests = &run->conversation->requests;
	const struct recorded_packet *recorded = requests->items[index];
	struct vl_packet with_payload = *stack;

	with_payload.payload = recorded->packet.payload;
	if (stack->payload_length != recorded->packet.payload_length ||
	    compare_packets(&recorded->packet, &with_payload).is_different ||
	    count_unlike(stack->payload, recorded->packet.payload, stack->payload_length) < 2)
		return false;
	for (uint32_t i = index; i-- > 0;) {
		const struct recorded_packet *before = requests->items[i];

		if (before->position == recorded->position)
			return false;
		if (before->position > recorded->position &&
		    before->packet.opcode == recorded->packet.opcode &&
		    before->packet.payload_length == recorded->packet.payload_length &&
		    !memcmp(before->packet.payload, recorded->packet.payload,
			    recorded->packet.payload_length))
			return true;
	}
	return false;
}

/* The stack's turn to send one packet, as the recorded requester did the request at index. */
static void take_turn(struct run *run, uint32_t index, enum rewind_cause cause)
{
	const struct recorded_packet *recorded = run->conversation->requests.items[index];
	struct stack_packets sent = {0};
	struct comparison comparison;
	int64_t end = recorded->position + request_psn_count(run->conversation, &recorded->packet);
	bool lifted = false;

	bool is_sent;

	if (run->rnr_end)
		check_rnr_wait(run, recorded);
	keep_time(run, recorded);
	is_sent = take_packet(run, recorded, cause != REWIND_NONE, &sent);
	if (!is_sent && cause == REWIND_IMPLIED) {
		run_out_of_patience(run, recorded);
		is_sent = take_packet(run, recorded, cause != REWIND_NONE, &sent);
	}
	if (!is_sent && lift_credits(run)) {
		lifted = true;
		is_sent = take_packet(run, recorded, cause != REWIND_NONE, &sent);
	}
	if (run->outcomes.is_behind_loss &&
	    (!is_sent || sent.items[0].packet.psn != recorded->packet.psn)) {
		run->trial->lost_track = recorded->number;
		run->trial->not_compared++;
	} else if (is_sent) {
		comparison = compare_packets(&recorded->packet, &sent.items[0].packet);
		if (comparison.is_different && has_buffer_reused(run, index, &sent.items[0].packet))
			comparison =
				(struct comparison){.freedoms = 1u << REPLAY_FREEDOM_buffer_reused};
		if (lifted)
			comparison.freedoms |= 1u << REPLAY_FREEDOM_flow_control;
		trial_count(run->trial, &comparison);
		if (comparison.is_different)
			trial_difference(run->trial, comparison.field, recorded,
					 &sent.items[0].packet);
	} else {
		count_missing(run, recorded);
	}
	run->next = end;
	stack_packets_release(&sent);
}

/* A packet that the capture has too late: the stack has sent it already. */
static void compare_late(struct run *run, const struct recorded_packet *recorded)
{
	struct trial *trial = run->trial;
	struct comparison comparison;

	for (uint32_t i = run->passed.count; i-- > 0;) {
		const struct vl_packet *passed = &run->passed.items[i].packet;

		if (passed->psn != recorded->packet.psn)
			continue;
		trial->extra--;
		trial->freedoms[REPLAY_FREEDOM_not_captured]--;
		comparison = compare_packets(&recorded->packet, passed);
		comparison.freedoms |= 1u << REPLAY_FREEDOM_captured_late;
		trial_count(trial, &comparison);
		if (comparison.is_different)
			trial_difference(trial, comparison.field, recorded, passed);
		return;
	}
	count_missing(run, recorded);
}

/* ---- The end -------------------------------------------------------------------------------- */

static enum ibv_wc_status status_of(uint8_t syndrome)
{
	switch (syndrome) {
	case NAK_INVALID_REQUEST:
		return IBV_WC_REM_INV_REQ_ERR;
	case NAK_REMOTE_ACCESS:
		return IBV_WC_REM_ACCESS_ERR;
	default:
		return IBV_WC_REM_OP_ERR;
	}
}

/* A refusal ends the connection; and when everything is done, there is nothing more to send. */
static void check_end(struct run *run)
{
	const struct packet_list *responses = &run->conversation->responses;
	uint8_t headers[VL_MAX_HEADER_LENGTH];
	struct vl_outgoing outgoing = {.headers = headers};
	const struct recorded_packet *last =
		responses->count ? responses->items[responses->count - 1] : NULL;
	struct stack_packets sent = {0};

	if (last && !run->outcomes.items[responses->count - 1].lost && is_nak(&last->packet) &&
	    last->packet.syndrome != NAK_SEQUENCE && !run->trial->different &&
	    (run->failure != status_of(last->packet.syndrome) ||
	     vl_qp_state(run->stack.qp) != IBV_QPS_ERR)) {
		trial_count_unrecorded(run->trial);
		trial_difference(run->trial, "a refusal that does not end the stack's connection",
				 last, NULL);
	}
	if (run->trial->messages != run->posted_count)
		return;
	run->stack.now += 4 * vl_ack_timeout_ns(ACK_TIMEOUT);
	if (!stack_transmit(&run->stack, &outgoing))
		return;
	trial_count_unrecorded(run->trial);
	if (stack_packets_add(&sent, &outgoing, run->stack.now))
		trial_difference(run->trial, "sent by the stack, when everything was acknowledged",
				 NULL, &sent.items[0].packet);
	stack_packets_release(&sent);
}

/* ---- The run -------------------------------------------------------------------------------- */

/* The recorded requester's: packets of a message between two that ask for an ACK. */
static uint32_t ack_request_interval(const struct conversation *conversation)
{
	uint32_t longest = 1, current = 0;

	for (uint32_t i = 0; i < conversation->requests.count; i++) {
		const struct vl_packet *packet = &conversation->requests.items[i]->packet;

		current++;
		if (packet->ack_request || (packet->info->flags & VL_OPCODE_LAST)) {
			if (packet->ack_request && current > longest)
				longest = current;
			current = 0;
		}
	}
	return longest;
}

/* Whether credits matter: the recorded responder limits its peer, or the requester asks after the
 * first packet of a message how many it has. */
static bool heeds_credits(const struct conversation *conversation, uint32_t first)
{
	const struct vl_packet *beginning = &conversation->requests.items[first]->packet;

	if (beginning->ack_request && (beginning->info->flags & VL_OPCODE_SEND) &&
	    !(beginning->info->flags & VL_OPCODE_LAST))
		return true;
	for (uint32_t i = 0; i < conversation->responses.count; i++) {
		const struct vl_packet *packet = &conversation->responses.items[i]->packet;

		if ((packet->info->flags & VL_OPCODE_AETH) && !is_negative(packet) &&
		    packet->syndrome != VL_CREDIT_UNLIMITED)
			return true;
	}
	return false;
}

static bool open_run(struct run *run, uint32_t first, char *message, size_t size)
{
	const struct conversation *conversation = run->conversation;
	struct stack_options options = {
		.model = stack_model(&conversation->requests),
		.type = conversation->service == VL_SERVICE_RC ? IBV_QPT_RC : IBV_QPT_UC,
		.qpn = conversation->requester_qpn == REPLAY_UNKNOWN_QPN
			       ? 0
			       : conversation->requester_qpn,
		.peer_qpn = conversation->responder_qpn,
		.path_mtu = conversation->path_mtu,
		.sq_psn = conversation->requests.items[first]->packet.psn,
		.send_depth = conversation->requests.count < MOST_SEND_DEPTH
				      ? conversation->requests.count
				      : MOST_SEND_DEPTH,
		.timeout = ACK_TIMEOUT,
		.ack_request_interval = ack_request_interval(conversation),
		.access = STACK_ALL_ACCESS,
		.assume_no_credits = heeds_credits(conversation, first),
	};
	struct rebuilding *rebuilding = &run->rebuilding;
	struct ibv_mr *source_mr = NULL, *sink_mr = NULL;
	int error;

	if (!stack_open(&run->stack, &options, message, size))
		return false;
	run->posted = run->next = conversation->requests.items[first]->position;
	run->acknowledged = run->posted - 1;
	run->has_limited_credits = options.assume_no_credits;
	*rebuilding = (struct rebuilding){.conversation = conversation,
					  .source_size = rebuilding_room(conversation)};
	if (rebuilding->source_size <= STACK_MAX_REGION)
		rebuilding->source = stack_reserve(rebuilding->source_size);
	run->sink = stack_reserve(VL_MAX_MESSAGE);
	if (rebuilding->source && run->sink) {
		source_mr = vl_reg_mr(run->stack.pd, rebuilding->source, rebuilding->source_size, 0,
				      0, &error);
		sink_mr = vl_reg_mr(run->stack.pd, run->sink, VL_MAX_MESSAGE, 0,
				    IBV_ACCESS_LOCAL_WRITE, &error);
	}
	if (source_mr && sink_mr) {
		rebuilding->source_key = source_mr->lkey;
		rebuilding->sink_key = sink_mr->lkey;
		return true;
	}
	snprintf(message, size, "no memory for the payloads");
	return false;
}

/* False: out of memory. */
static bool send_all(struct run *run)
{
	const struct packet_list *requests = &run->conversation->requests;
	struct trial *trial = run->trial;
	bool fits = true;

	for (uint32_t i = 0; i < requests->count && fits; i++) {
		const struct recorded_packet *request = requests->items[i];

		if (request->position < run->requests_known->start || trial->lost_track) {
			trial->not_compared++;
			continue;
		}
		if (run->outcomes.causes[i] == REWIND_LATE) {
			compare_late(run, request);
			continue;
		}
		fits = feed_responses(run, request->number, i);
		if (run->outcomes.causes[i] == REWIND_TIMEOUT)
			run_out_of_patience(run, request);
		if (fits && request->position >= run->posted)
			post_until(run, i);
		if (fits)
			take_turn(run, i, run->outcomes.causes[i]);
		/* A NAK counts from when it was received, though it was heeded later. */
		fits = fits && feed_responses(run, request->number, i + 1);
	}
	if (trial->lost_track) {
		trial->not_fed += run->conversation->responses.count - run->next_response;
		return fits;
	}
	fits = fits && feed_responses(run, UINT64_MAX, UINT32_MAX);
	if (fits && run->conversation->service == VL_SERVICE_RC)
		check_end(run);
	return fits;
}

bool replay_as_requester(struct trial *trial, const struct request_outcomes *outcomes)
{
	struct run run = {
		.trial = trial, .conversation = trial->conversation, .requests_known = outcomes};
	const struct packet_list *requests = &trial->conversation->requests;
	uint32_t first = 0;
	bool fits = true;

	run.outcomes = response_outcomes(trial->conversation, outcomes);
	if (!run.outcomes.items)
		return false;
	while (!starts_message(&requests->items[first]->packet))
		first++;
	if (open_run(&run, first, trial->skip_reason, sizeof(trial->skip_reason)))
		fits = send_all(&run);
	else
		trial->skipped = true;
	stack_close(&run.stack);
	stack_unreserve(run.rebuilding.source, run.rebuilding.source_size);
	stack_unreserve(run.sink, VL_MAX_MESSAGE);
	stack_packets_release(&run.passed);
	response_outcomes_release(&run.outcomes);
	return fits;
}
