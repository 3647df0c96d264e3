/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Chooses and posts: receives, messages, and requests that are to fail. */

#include "tests/property/rc_model.h"

#include <string.h>

const struct verb_description traffic_verbs[VERB_COUNT] = {
	[VERB_SEND] = {"SEND", IBV_WR_SEND, IBV_WC_SEND, 18, true, false},
	[VERB_SEND_IMM] = {"SEND with immediate", IBV_WR_SEND_WITH_IMM, IBV_WC_SEND, 12, true,
			   false},
	[VERB_SEND_INV] = {"SEND with invalidate", IBV_WR_SEND_WITH_INV, IBV_WC_SEND, 4, true,
			   false},
	[VERB_WRITE] = {"WRITE", IBV_WR_RDMA_WRITE, IBV_WC_RDMA_WRITE, 22, false, true},
	[VERB_WRITE_IMM] = {"WRITE with immediate", IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WC_RDMA_WRITE,
			    10, true, true},
	[VERB_READ] = {"READ", IBV_WR_RDMA_READ, IBV_WC_RDMA_READ, 14, false, true},
	[VERB_COMPARE_SWAP] = {"CMP_SWAP", IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WC_COMP_SWAP, 6, false,
			       false},
	[VERB_FETCH_ADD] = {"FETCH_ADD", IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WC_FETCH_ADD, 4, false,
			    false},
	[VERB_SHARED_ADD] = {"FETCH_ADD to the shared word", IBV_WR_ATOMIC_FETCH_AND_ADD,
			     IBV_WC_FETCH_ADD, 3, false, false},
	[VERB_FLUSH] = {"FLUSH", VL_WR_FLUSH, VL_WC_FLUSH, 3, false, false},
	[VERB_ATOMIC_WRITE] = {"ATOMIC WRITE", IBV_WR_ATOMIC_WRITE, IBV_WC_ATOMIC_WRITE, 4, false,
			       true},
};

/* ---- Receives ------------------------------------------------------------------------------ */

/* A request for the largest message, in pieces. False: none could be posted. */
static bool post_receive(struct host *host, struct direction *direction)
{
	struct traffic *traffic = host->traffic;
	struct ibv_recv_wr wr = {0};
	const struct ibv_recv_wr *bad;
	struct receive *receive;
	uint32_t slot;
	int error;

	if (!host->free_count)
		return false;
	slot = host->free_receives[--host->free_count];
	receive = &host->receives[slot];
	receive->sge_count = 0;
	while (!receive->sge_count)
		receive->sge_count = spread(traffic, slot_at(host->receive_slots, slot),
					    TRAFFIC_LARGEST, host->mr->lkey, receive->sges);
	wr.wr_id = slot;
	wr.sg_list = receive->sges;
	wr.num_sge = receive->sge_count;
	if (direction)
		error = vl_post_recv(direction->peer, &wr, &bad);
	else
		error = vl_post_srq_recv(host->srq, &wr, &bad);
	if (error) {
		complain(traffic, direction, "posting a receive failed: %d", error);
		return false;
	}
	if (direction) {
		direction->posted_slots[direction->slot_tail++ % TRAFFIC_RECEIVES] = slot;
		direction->receives_posted++;
	}
	return true;
}

void post_receives(struct host *host)
{
	struct traffic *traffic = host->traffic;

	host->post_receives_at = UINT64_MAX;
	if (host->srq) {
		while (post_receive(host, NULL))
			;
		return;
	}
	for (unsigned int i = 0; i < 2 * traffic->parameters.connections; i++) {
		struct direction *direction = &traffic->directions[i];

		while (direction->far == host && !direction->is_dead && !direction->is_flushed &&
		       direction->receives_posted < TRAFFIC_RECEIVES &&
		       post_receive(host, direction))
			;
	}
}

bool register_invalidatable(struct direction *direction)
{
	int error = 0;

	direction->invalidatable_mr = vl_reg_mr(
		direction->far->pd, direction->invalidatable, sizeof(direction->invalidatable),
		(uintptr_t)direction->invalidatable, TRAFFIC_ACCESS | IBV_ACCESS_MW_BIND, &error);
	direction->may_invalidate = direction->invalidatable_mr != NULL;
	return direction->may_invalidate;
}

/* ---- Posting ------------------------------------------------------------------------------- */

static enum verb choose_verb(struct direction *direction)
{
	unsigned int total = 0, choice;

	for (unsigned int i = 0; i < VERB_COUNT; i++)
		total += traffic_verbs[i].weight;
	choice = (unsigned int)below(direction->near->traffic, total);
	for (unsigned int i = 0; i < VERB_COUNT; i++) {
		if (choice < traffic_verbs[i].weight)
			return i == VERB_SEND_INV && !direction->may_invalidate ? VERB_SEND
										: (enum verb)i;
		choice -= traffic_verbs[i].weight;
	}
	return VERB_SEND;
}

/* Mostly small, often at a packet boundary, sometimes long. */
static uint32_t choose_length(struct traffic *traffic)
{
	uint32_t mtu = 128u << traffic->parameters.mtu;
	uint32_t largest = traffic->parameters.largest;
	uint64_t kind = below(traffic, 200), length;

	if (kind < 110)
		length = below(traffic, 65);
	else if (kind < 160)
		length = below(traffic, 1025);
	else if (kind < 197)
		length = (1 + below(traffic, 4)) * mtu + below(traffic, 5) - 2;
	else
		length = below(traffic, (uint64_t)largest + 1);
	return length < largest ? (uint32_t)length : largest;
}

static void prepare_atomic(struct direction *direction, struct message *message,
			   struct ibv_send_wr *wr)
{
	struct traffic *traffic = direction->near->traffic;
	uint64_t *word;

	message->remote_offset = (uint32_t)below(traffic, TRAFFIC_COUNTERS);
	word = &direction->posted_words[message->remote_offset];
	message->original = *word;
	wr->wr.atomic.remote_addr = (uintptr_t)&direction->words[message->remote_offset];
	wr->wr.atomic.rkey = direction->far->word_mr->rkey;
	wr->wr.atomic.compare_add = vl_random_next(&traffic->random);
	if (message->verb == VERB_SHARED_ADD) {
		wr->wr.atomic.remote_addr = (uintptr_t)direction->far->words;
		wr->wr.atomic.compare_add = 1;
	} else if (message->verb == VERB_FETCH_ADD) {
		*word += wr->wr.atomic.compare_add;
	} else {
		wr->wr.atomic.swap = vl_random_next(&traffic->random);
		if (!one_in(traffic, 4)) {
			wr->wr.atomic.compare_add = *word;
			*word = wr->wr.atomic.swap;
		}
	}
}

static void choose_flags(struct direction *direction, struct message *message,
			 struct ibv_send_wr *wr)
{
	struct traffic *traffic = direction->near->traffic;
	bool sends_data = message->verb <= VERB_WRITE_IMM || message->verb == VERB_ATOMIC_WRITE;

	message->is_signalled = one_in(traffic, 2) || direction->unsignalled >= TRAFFIC_DEPTH / 2 ||
				message->number + 1 == direction->target;
	direction->unsignalled = message->is_signalled ? 0 : direction->unsignalled + 1;
	message->is_inline = sends_data && message->length <= TRAFFIC_INLINE && one_in(traffic, 3);
	wr->send_flags =
		(message->is_signalled ? IBV_SEND_SIGNALED : 0) |
		(message->is_inline ? IBV_SEND_INLINE : 0) |
		(one_in(traffic, 10) ? IBV_SEND_FENCE : 0) |
		(traffic_verbs[message->verb].receives && one_in(traffic, 5) ? IBV_SEND_SOLICITED
									     : 0);
}

/* Decides what the next message is and puts its bytes in place. */
static void prepare(struct direction *direction, struct message *message, struct ibv_send_wr *wr)
{
	struct traffic *traffic = direction->near->traffic;
	size_t slot = (size_t)(direction->posted % TRAFFIC_DEPTH) * TRAFFIC_SLOT;

	*message = (struct message){.number = direction->posted, .verb = choose_verb(direction)};
	message->length = is_atomic(message->verb) || message->verb == VERB_ATOMIC_WRITE
				  ? 8
				  : choose_length(traffic);
	message->content = (uint32_t)below(traffic, TRAFFIC_TABLE - TRAFFIC_LARGEST);
	message->remote_offset = (uint32_t)below(traffic, 32) * 8;
	if (message->verb != VERB_ATOMIC_WRITE)
		message->remote_offset += (uint32_t)below(traffic, 8);
	if (message->verb != VERB_FLUSH)
		message->sge_count = spread(traffic, direction->local + slot, message->length,
					    direction->near->mr->lkey, message->sges);
	if (message->verb == VERB_READ)
		memcpy(direction->remote + slot + message->remote_offset,
		       traffic_table + message->content, message->length);
	else if (!is_atomic(message->verb))
		fill(message->sges, message->sge_count, traffic_table + message->content);
	message->immediate = message->verb == VERB_SEND_INV ? direction->invalidatable_mr->rkey
							    : (uint32_t)below(traffic, UINT32_MAX);
	if (message->verb == VERB_SEND_INV)
		direction->may_invalidate = false;

	wr->wr_id = message->number;
	wr->opcode = traffic_verbs[message->verb].opcode;
	wr->sg_list = message->sges;
	wr->num_sge = message->sge_count;
	wr->imm_data = message->immediate;
	wr->wr.rdma.remote_addr = (uintptr_t)(direction->remote + slot + message->remote_offset);
	wr->wr.rdma.rkey = direction->far->mr->rkey;
	if (is_atomic(message->verb))
		prepare_atomic(direction, message, wr);
	choose_flags(direction, message, wr);
}

bool post_message(struct direction *direction, uint64_t now)
{
	struct traffic *traffic = direction->near->traffic;
	struct message *message = &direction->messages[direction->posted % TRAFFIC_DEPTH];
	struct ibv_send_wr wr = {0};
	const struct ibv_send_wr *bad;
	int error;

	prepare(direction, message, &wr);
	/* Before the post: completions may come out of it. */
	direction->posted++;
	if (traffic_verbs[message->verb].receives)
		direction->awaited[direction->awaited_tail++ % TRAFFIC_DEPTH] = message->number;
	if (message->verb == VERB_FLUSH)
		error = vl_post_flush(direction->qp, wr.wr_id,
				      wr.send_flags & (IBV_SEND_SIGNALED | IBV_SEND_FENCE),
				      wr.wr.rdma.rkey, wr.wr.rdma.remote_addr, message->length,
				      (uint8_t)(1 + below(traffic, 3)), VL_SELECTIVITY_RANGE, now);
	else
		error = vl_post_send(direction->qp, &wr, &bad, now);
	if (error) {
		complain(traffic, direction, "message %llu, %s of %u bytes: posting failed: %d",
			 (unsigned long long)message->number, traffic_verbs[message->verb].name,
			 message->length, error);
		return false;
	}
	/* Inline data was taken. */
	if (message->is_inline)
		restore(slot_at(direction->local, message->number % TRAFFIC_DEPTH), message->sges,
			message->sge_count, message->length);
	return true;
}

/* ---- Wrong requests ------------------------------------------------------------------------ */

/* The wrong request, unsignalled, and a right one behind it that is flushed. */
void post_poison(struct direction *direction, uint64_t now)
{
	struct traffic *traffic = direction->near->traffic;
	struct ibv_sge sge = {(uintptr_t)direction->local, 8, direction->near->mr->lkey};
	struct ibv_send_wr next = {
		.wr_id = POISON_ID | 1,
		.sg_list = &sge,
		.num_sge = 0,
		.opcode = IBV_WR_RDMA_WRITE,
	};
	struct ibv_send_wr wr = {
		.wr_id = POISON_ID,
		.next = &next,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.wr.rdma = {(uintptr_t)direction->remote, direction->far->mr->rkey},
	};
	const struct ibv_send_wr *bad;

	direction->is_poisoned = true;
	direction->poison = (unsigned int)below(traffic, POISON_COUNT);
	switch (direction->poison) {
	case POISON_RKEY:
		wr.wr.rdma.rkey ^= 1;
		break;
	case POISON_RANGE:
		wr.opcode = IBV_WR_RDMA_READ;
		wr.wr.rdma.remote_addr =
			(uintptr_t)direction->far->slots + direction->far->slots_size - 7;
		break;
	case POISON_ALIGNMENT:
		wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
		wr.wr.atomic.remote_addr = (uintptr_t)direction->words + 4;
		wr.wr.atomic.rkey = direction->far->word_mr->rkey;
		break;
	case POISON_LKEY:
		sge.lkey ^= 1;
		break;
	default:
		wr.opcode = IBV_WR_SEND;
		sge.length = TRAFFIC_LARGEST + 1;
		break;
	}
	if (vl_post_send(direction->qp, &wr, &bad, now))
		complain(traffic, direction, "posting the wrong request failed");
}
