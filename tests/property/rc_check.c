/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Compares what completes with what the model expects. */

#include "tests/property/rc_model.h"

#include <string.h>

static struct direction *direction_to(struct traffic *traffic, const struct host *far, uint32_t qpn)
{
	for (unsigned int i = 0; i < 2 * traffic->parameters.connections; i++) {
		struct direction *direction = &traffic->directions[i];

		if (direction->far == far && vl_qp_number(direction->peer) == qpn)
			return direction;
	}
	return NULL;
}

static struct direction *direction_from(struct traffic *traffic, const struct host *near,
					uint32_t qpn)
{
	for (unsigned int i = 0; i < 2 * traffic->parameters.connections; i++) {
		struct direction *direction = &traffic->directions[i];

		if (direction->near == near && vl_qp_number(direction->qp) == qpn)
			return direction;
	}
	return NULL;
}

static bool remote_holds(const struct direction *direction, const struct message *message)
{
	const uint8_t *slot = slot_at(direction->remote, message->number % TRAFFIC_DEPTH);

	return !memcmp(slot + message->remote_offset, traffic_table + message->content,
		       message->length);
}

static void check_receive(struct direction *direction, const struct ibv_wc *wc)
{
	struct traffic *traffic = direction->near->traffic;
	struct host *host = direction->far;
	const struct receive *receive = &host->receives[wc->wr_id];
	uint64_t number;
	struct message *message;
	bool is_write, with_immediate;

	if (direction->awaited_head == direction->awaited_tail) {
		complain(traffic, direction, "a message was received that was not sent");
		return;
	}
	number = direction->awaited[direction->awaited_head++ % TRAFFIC_DEPTH];
	message = &direction->messages[number % TRAFFIC_DEPTH];
	is_write = message->verb == VERB_WRITE_IMM;
	with_immediate = is_write || message->verb == VERB_SEND_IMM;
	message->is_received = true;
	if (wc->opcode != (is_write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV) ||
	    wc->byte_len != message->length ||
	    !(wc->wc_flags & IBV_WC_WITH_IMM) == with_immediate ||
	    (with_immediate && wc->imm_data != message->immediate))
		complain(traffic, direction,
			 "message %llu, %s: received with opcode %d, %u bytes, flags %x",
			 (unsigned long long)number, traffic_verbs[message->verb].name, wc->opcode,
			 wc->byte_len, wc->wc_flags);
	if (is_write ? !remote_holds(direction, message)
		     : !holds(receive->sges, receive->sge_count, traffic_table + message->content,
			      message->length))
		complain(traffic, direction, "message %llu, %s of %u bytes: damaged",
			 (unsigned long long)number, traffic_verbs[message->verb].name,
			 message->length);
	if (!restore(slot_at(host->receive_slots, wc->wr_id), receive->sges, receive->sge_count,
		     is_write ? 0 : message->length))
		complain(traffic, direction, "message %llu: bytes beside it were written",
			 (unsigned long long)number);
	if (message->verb == VERB_SEND_INV) {
		if (!(wc->wc_flags & IBV_WC_WITH_INV) || wc->invalidated_rkey != message->immediate)
			complain(traffic, direction, "message %llu: invalidated another key",
				 (unsigned long long)number);
		if (vl_dereg_mr(direction->invalidatable_mr) || !register_invalidatable(direction))
			complain(traffic, direction, "registering anew failed");
	}
}

/* Whether a receive may end in this error. */
static bool may_fail(const struct direction *direction, enum ibv_wc_status status)
{
	const struct traffic *traffic = direction->near->traffic;
	const struct direction *forward = &traffic->directions[2 * direction->connection];

	if (status == IBV_WC_LOC_LEN_ERR)
		return direction->is_poisoned && direction->poison == POISON_LENGTH;
	return status == IBV_WC_WR_FLUSH_ERR &&
	       (forward->is_poisoned || is_connection_dead(traffic, direction->connection));
}

void receive_completed(struct host *host, const struct ibv_wc *wc)
{
	struct traffic *traffic = host->traffic;
	struct direction *direction = direction_to(traffic, host, wc->qp_num);

	if (!direction || wc->wr_id >= host->receive_count) {
		complain(traffic, NULL, "a receive completed on a foreign queue pair");
		return;
	}
	digest(traffic, wc->wr_id << 32 | wc->byte_len);
	if (!host->srq) {
		if (direction->posted_slots[direction->slot_head++ % TRAFFIC_RECEIVES] != wc->wr_id)
			complain(traffic, direction, "receives completed out of order");
		direction->receives_posted--;
	}
	host->free_receives[host->free_count++] = (uint32_t)wc->wr_id;
	direction->is_flushed |= wc->status == IBV_WC_WR_FLUSH_ERR;
	/* What ended in an error may hold a part of a message. */
	if (wc->status != IBV_WC_SUCCESS)
		memset(slot_at(host->receive_slots, wc->wr_id), TRAFFIC_CANARY, TRAFFIC_SLOT);
	if (wc->status == IBV_WC_SUCCESS)
		check_receive(direction, wc);
	else if (!may_fail(direction, wc->status))
		complain(traffic, direction, "a receive ended with status %d", wc->status);
}

/* ---- Wrong requests ------------------------------------------------------------------------ */

static const enum ibv_wc_status poison_status[POISON_COUNT] = {
	[POISON_RKEY] = IBV_WC_REM_ACCESS_ERR,       [POISON_RANGE] = IBV_WC_REM_ACCESS_ERR,
	[POISON_ALIGNMENT] = IBV_WC_REM_INV_REQ_ERR, [POISON_LKEY] = IBV_WC_LOC_PROT_ERR,
	[POISON_LENGTH] = IBV_WC_REM_INV_REQ_ERR,
};

static void poison_completed(struct direction *direction, const struct ibv_wc *wc)
{
	struct traffic *traffic = direction->near->traffic;
	bool is_lossy = traffic->parameters.impairments[0].loss > 0 ||
			traffic->parameters.impairments[1].loss > 0 ||
			traffic->parameters.impairments[0].corrupt > 0 ||
			traffic->parameters.impairments[1].corrupt > 0;

	if (wc->wr_id == (POISON_ID | 1)) {
		if (wc->status != IBV_WC_WR_FLUSH_ERR || !direction->is_poison_done)
			complain(traffic, direction,
				 "the request behind the wrong one ended with status %d",
				 wc->status);
		return;
	}
	/* The NAK goes out once: if it is lost there is no other. */
	if (wc->status != poison_status[direction->poison] &&
	    !(is_lossy && wc->status == IBV_WC_RETRY_EXC_ERR))
		complain(traffic, direction, "wrong request %u ended with status %d, not %d",
			 direction->poison, wc->status, poison_status[direction->poison]);
	if (vl_qp_state(direction->qp) != IBV_QPS_ERR)
		complain(traffic, direction, "the queue pair survived wrong request %u",
			 direction->poison);
	direction->is_poison_done = true;
	traffic->result->errors_provoked++;
}

/* ---- Completions --------------------------------------------------------------------------- */

static void check_remote(struct direction *direction, const struct message *message)
{
	struct traffic *traffic = direction->near->traffic;
	uint8_t *slot = slot_at(direction->remote, message->number % TRAFFIC_DEPTH);

	if (!remote_holds(direction, message))
		complain(traffic, direction, "message %llu, %s of %u bytes: not in remote memory",
			 (unsigned long long)message->number, traffic_verbs[message->verb].name,
			 message->length);
	if (!restore_at(slot, message->remote_offset, message->length))
		complain(traffic, direction, "message %llu, %s: bytes beside it were written",
			 (unsigned long long)message->number, traffic_verbs[message->verb].name);
}

static void check_atomic(struct direction *direction, const struct message *message)
{
	struct traffic *traffic = direction->near->traffic;
	uint8_t bytes[8], *at = bytes;
	uint64_t value;

	for (int i = 0; i < message->sge_count; i++) {
		memcpy(at, (void *)(uintptr_t)message->sges[i].addr, message->sges[i].length);
		at += message->sges[i].length;
	}
	memcpy(&value, bytes, 8);
	if (message->verb == VERB_SHARED_ADD) {
		if (direction->last_shared != UINT64_MAX && value <= direction->last_shared)
			complain(traffic, direction, "message %llu: the shared word went back",
				 (unsigned long long)message->number);
		direction->last_shared = value;
		direction->far->shared_adds++;
	} else if (value != message->original) {
		complain(traffic, direction, "message %llu, %s: answered %llx, not %llx",
			 (unsigned long long)message->number, traffic_verbs[message->verb].name,
			 (unsigned long long)value, (unsigned long long)message->original);
	}
}

static void check_message(struct direction *direction, const struct message *message)
{
	struct traffic *traffic = direction->near->traffic;
	uint8_t *slot = slot_at(direction->local, message->number % TRAFFIC_DEPTH);

	if (traffic_verbs[message->verb].receives && !message->is_received)
		complain(traffic, direction, "message %llu, %s: completed and not received",
			 (unsigned long long)message->number, traffic_verbs[message->verb].name);
	if (is_atomic(message->verb))
		check_atomic(direction, message);
	else if (!message->is_inline &&
		 !holds(message->sges, message->sge_count, traffic_table + message->content,
			message->verb == VERB_FLUSH ? 0 : message->length))
		complain(traffic, direction, "message %llu, %s of %u bytes: local memory is wrong",
			 (unsigned long long)message->number, traffic_verbs[message->verb].name,
			 message->length);
	if (traffic_verbs[message->verb].remote_data)
		check_remote(direction, message);
	if (!restore(slot, message->sges, message->sge_count, message->length))
		complain(traffic, direction, "message %llu, %s: local bytes beside it were written",
			 (unsigned long long)message->number, traffic_verbs[message->verb].name);
	traffic->result->messages++;
	traffic->result->bytes += message->length;
}

/* Whether receivers may be without a receive for longer than the retries last. */
static bool may_run_dry(const struct traffic *traffic)
{
	return traffic->parameters.rnr_retry < 7 && traffic->parameters.late_receives;
}

void send_completed(struct host *host, const struct ibv_wc *wc)
{
	struct traffic *traffic = host->traffic;
	struct direction *direction = direction_from(traffic, host, wc->qp_num);
	const struct message *message;
	bool has_length;

	if (!direction) {
		complain(traffic, NULL, "a request completed on a foreign queue pair");
		return;
	}
	digest(traffic, wc->wr_id << 8 | wc->status);
	digest(traffic, vl_network_now(traffic->network));
	if (wc->wr_id >> 63) {
		poison_completed(direction, wc);
		return;
	}
	if (wc->status != IBV_WC_SUCCESS) {
		if (wc->status != IBV_WC_RETRY_EXC_ERR && wc->status != IBV_WC_WR_FLUSH_ERR &&
		    !(wc->status == IBV_WC_RNR_RETRY_EXC_ERR && may_run_dry(traffic)))
			complain(traffic, direction, "message %llu ended with status %d",
				 (unsigned long long)wc->wr_id, wc->status);
		if (wc->status == IBV_WC_WR_FLUSH_ERR && !direction->is_dead)
			complain(traffic, direction, "message %llu was flushed before an error",
				 (unsigned long long)wc->wr_id);
		direction->is_dead = true;
		return;
	}
	if (wc->wr_id < direction->completed || wc->wr_id >= direction->posted) {
		complain(traffic, direction, "message %llu completed out of order",
			 (unsigned long long)wc->wr_id);
		return;
	}
	while (direction->completed < wc->wr_id) {
		message = &direction->messages[direction->completed++ % TRAFFIC_DEPTH];
		if (message->is_signalled)
			complain(traffic, direction, "message %llu did not complete",
				 (unsigned long long)message->number);
		check_message(direction, message);
	}
	message = &direction->messages[direction->completed++ % TRAFFIC_DEPTH];
	has_length = message->verb >= VERB_READ && message->verb <= VERB_SHARED_ADD;
	if (!message->is_signalled || wc->opcode != traffic_verbs[message->verb].completion ||
	    (has_length && wc->byte_len != message->length))
		complain(traffic, direction, "message %llu, %s: completed with opcode %d, %u bytes",
			 (unsigned long long)message->number, traffic_verbs[message->verb].name,
			 wc->opcode, wc->byte_len);
	check_message(direction, message);
}
