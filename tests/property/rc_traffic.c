/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "tests/property/rc_traffic.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/hosts.h"

#define CANARY       0xc5
#define GUARD        64u
#define INLINE       256u
#define TABLE        (2 * TRAFFIC_SLOT)
#define STEP         UINT64_C(1000000)    /* ns of virtual time between looks at the progress */
#define LONG_SILENCE UINT64_C(2000000000) /* ns without any completion */
#define ACCESS                                                                                     \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC | VL_ACCESS_FLUSH_GLOBAL | VL_ACCESS_FLUSH_PERSISTENT)

enum verb {
	VERB_SEND,
	VERB_SEND_IMM,
	VERB_SEND_INV,
	VERB_WRITE,
	VERB_WRITE_IMM,
	VERB_READ,
	VERB_COMPARE_SWAP,
	VERB_FETCH_ADD,
	VERB_SHARED_ADD,
	VERB_FLUSH,
	VERB_ATOMIC_WRITE,
	VERB_COUNT,
};

static const struct {
	const char *name;
	enum ibv_wr_opcode opcode;
	enum ibv_wc_opcode completion;
	unsigned int weight;
	bool receives, remote_data; /* consumes a receive; data lies in the remote slot */
} verbs[VERB_COUNT] = {
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

/* Requests that are to fail. */
enum poison {
	POISON_RKEY,
	POISON_RANGE,
	POISON_ALIGNMENT,
	POISON_LKEY,
	POISON_LENGTH,
	POISON_COUNT,
};

struct message {
	uint64_t number;
	enum verb verb;
	uint32_t length;
	uint32_t content;       /* where in the table its bytes stand */
	uint32_t remote_offset; /* in the remote slot; atomics: the counter's index */
	uint32_t immediate;     /* or the key to be invalidated */
	uint64_t original;      /* atomics: what the answer is to be */
	int sge_count;
	struct ibv_sge sges[TRAFFIC_SGES];
	bool is_signalled, is_inline, is_received;
};

struct receive {
	int sge_count;
	struct ibv_sge sges[TRAFFIC_SGES];
};

struct traffic;

struct host {
	struct traffic *traffic;
	unsigned int number;
	struct vl_node *node;
	struct vl_device *device;
	struct vl_pd *pd;
	struct vl_cq *send_cq, *recv_cq;
	struct vl_srq *srq;
	uint8_t *slots; /* local, remote and receive slots, then the words of the atomics */
	size_t slots_size;
	uint64_t *words;
	uint8_t *receive_slots;
	struct ibv_mr *mr, *word_mr;
	struct receive *receives;
	uint32_t *free_receives, free_count, receive_count;
	uint64_t post_receives_at; /* UINT64_MAX: not */
	uint64_t shared_adds;      /* that were completed to this host's shared word */
};

/* Messages from one host to the other on a connection. */
struct direction {
	struct host *near, *far;
	struct vl_qp *qp, *peer; /* of the near and the far host */
	unsigned int connection;
	uint8_t *local, *remote;                 /* slots, TRAFFIC_DEPTH each */
	uint64_t *words;                         /* at the far host, TRAFFIC_COUNTERS */
	uint64_t posted_words[TRAFFIC_COUNTERS]; /* as they will be after all that is posted */
	uint64_t last_shared;
	struct message messages[TRAFFIC_DEPTH];
	uint64_t target, posted, completed;
	unsigned int unsignalled;        /* since the last that was */
	uint64_t awaited[TRAFFIC_DEPTH]; /* numbers of the messages that are to be received */
	uint64_t awaited_head, awaited_tail;
	uint32_t receives_posted; /* at the far QP, without an SRQ */
	uint32_t posted_slots[TRAFFIC_RECEIVES], slot_head, slot_tail;
	uint8_t invalidatable[64];
	struct ibv_mr *invalidatable_mr; /* at the far host */
	bool may_invalidate;
	bool is_dead;        /* an error was met that may be */
	bool is_poisoned;    /* the wrong request is posted */
	bool is_poison_done; /* and has completed */
	unsigned int poison;
};

struct traffic {
	struct traffic_parameters parameters;
	struct traffic_result *result;
	struct vl_network *network;
	struct vl_random random;
	struct host hosts[2];
	struct direction directions[2 * TRAFFIC_MAX_QPS]; /* 2n: from host 0; 2n + 1: to host 0 */
	uint64_t last_progress;
	bool is_cut;
};

static uint8_t table[TABLE];
static uint8_t canaries[TRAFFIC_SLOT];

__attribute__((format(printf, 3, 4))) static void complain(struct traffic *traffic,
							   const struct direction *direction,
							   const char *format, ...)
{
	char what[160];
	va_list arguments;

	if (traffic->result->failure[0])
		return;
	va_start(arguments, format);
	vsnprintf(what, sizeof(what), format, arguments);
	va_end(arguments);
	if (direction)
		snprintf(traffic->result->failure, sizeof(traffic->result->failure),
			 "seed %llu, connection %u, host %u, at %llu ns: %s",
			 (unsigned long long)traffic->parameters.seed, direction->connection,
			 direction->near->number,
			 (unsigned long long)vl_network_now(traffic->network), what);
	else
		snprintf(traffic->result->failure, sizeof(traffic->result->failure),
			 "seed %llu: %s", (unsigned long long)traffic->parameters.seed, what);
	vl_executor_stop(vl_network_executor(traffic->network));
}

static uint64_t below(struct traffic *traffic, uint64_t bound)
{
	return vl_random_below(&traffic->random, bound);
}

static bool one_in(struct traffic *traffic, uint64_t n)
{
	return !below(traffic, n);
}

static void digest(struct traffic *traffic, uint64_t value)
{
	traffic->result->digest = (traffic->result->digest ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	traffic->result->digest ^= traffic->result->digest >> 29;
}

/* ---- Pieces of a slot ---------------------------------------------------------------------- */

/* Spreads length bytes over pieces of a slot with canaries in between. */
static int spread(struct traffic *traffic, uint8_t *slot, uint32_t length, uint32_t lkey,
		  struct ibv_sge *sges)
{
	int count = 1 + (int)(one_in(traffic, 3) ? below(traffic, TRAFFIC_SGES) : 0);
	uint8_t *at = slot + below(traffic, 64);

	if (!length && one_in(traffic, 2))
		return 0;
	for (int i = 0; i < count; i++) {
		uint32_t piece =
			i + 1 == count ? length : (uint32_t)below(traffic, (uint64_t)length + 1);

		sges[i] = (struct ibv_sge){(uintptr_t)at, piece, lkey};
		at += piece + 1 + below(traffic, 40);
		length -= piece;
	}
	return count;
}

static void fill(const struct ibv_sge *sges, int count, const uint8_t *content)
{
	for (int i = 0; i < count; i++) {
		memcpy((void *)(uintptr_t)sges[i].addr, content, sges[i].length);
		content += sges[i].length;
	}
}

/* Whether the first length bytes of the pieces are content. */
static bool holds(const struct ibv_sge *sges, int count, const uint8_t *content, uint32_t length)
{
	for (int i = 0; i < count && length; i++) {
		uint32_t piece = sges[i].length < length ? sges[i].length : length;

		if (memcmp((void *)(uintptr_t)sges[i].addr, content, piece))
			return false;
		content += piece;
		length -= piece;
	}
	return !length;
}

/* Turns length bytes of the pieces to canary, and says whether all around them is. */
static bool restore(uint8_t *slot, const struct ibv_sge *sges, int count, uint32_t length)
{
	uint8_t *end = slot;

	for (int i = 0; i < count && length; i++) {
		uint32_t piece = sges[i].length < length ? sges[i].length : length;
		uint8_t *at = (uint8_t *)(uintptr_t)sges[i].addr;

		memset(at, CANARY, piece);
		end = at + piece;
		length -= piece;
	}
	return !memcmp(slot, canaries, (size_t)(end - slot) + GUARD);
}

static bool is_connection_dead(const struct traffic *traffic, unsigned int connection)
{
	return traffic->directions[2 * connection].is_dead ||
	       traffic->directions[2 * connection + 1].is_dead;
}

/* ---- Receives ------------------------------------------------------------------------------ */

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
		receive->sge_count =
			spread(traffic, host->receive_slots + (size_t)slot * TRAFFIC_SLOT,
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

static void post_receives(struct host *host)
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

		while (direction->far == host && !direction->is_dead &&
		       direction->receives_posted < TRAFFIC_RECEIVES &&
		       post_receive(host, direction))
			;
	}
}

static bool register_invalidatable(struct direction *direction)
{
	int error = 0;

	direction->invalidatable_mr = vl_reg_mr(
		direction->far->pd, direction->invalidatable, sizeof(direction->invalidatable),
		(uintptr_t)direction->invalidatable, ACCESS | IBV_ACCESS_MW_BIND, &error);
	direction->may_invalidate = direction->invalidatable_mr != NULL;
	return direction->may_invalidate;
}

static bool remote_holds(const struct direction *direction, const struct message *message)
{
	const uint8_t *slot =
		direction->remote + (size_t)(message->number % TRAFFIC_DEPTH) * TRAFFIC_SLOT;

	return !memcmp(slot + message->remote_offset, table + message->content, message->length);
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
			 (unsigned long long)number, verbs[message->verb].name, wc->opcode,
			 wc->byte_len, wc->wc_flags);
	if (is_write ? !remote_holds(direction, message)
		     : !holds(receive->sges, receive->sge_count, table + message->content,
			      message->length))
		complain(traffic, direction, "message %llu, %s of %u bytes: damaged",
			 (unsigned long long)number, verbs[message->verb].name, message->length);
	if (!restore(host->receive_slots + (size_t)wc->wr_id * TRAFFIC_SLOT, receive->sges,
		     receive->sge_count, is_write ? 0 : message->length))
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

static void receive_completed(struct host *host, const struct ibv_wc *wc)
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
	/* What ended in an error may hold a part of a message. */
	if (wc->status != IBV_WC_SUCCESS)
		memset(host->receive_slots + (size_t)wc->wr_id * TRAFFIC_SLOT, CANARY,
		       TRAFFIC_SLOT);
	if (wc->status == IBV_WC_SUCCESS)
		check_receive(direction, wc);
	else if (!may_fail(direction, wc->status))
		complain(traffic, direction, "a receive ended with status %d", wc->status);
}

/* ---- Posting ------------------------------------------------------------------------------- */

static enum verb choose_verb(struct direction *direction)
{
	unsigned int total = 0, choice;

	for (unsigned int i = 0; i < VERB_COUNT; i++)
		total += verbs[i].weight;
	choice = (unsigned int)below(direction->near->traffic, total);
	for (unsigned int i = 0; i < VERB_COUNT; i++) {
		if (choice < verbs[i].weight)
			return i == VERB_SEND_INV && !direction->may_invalidate ? VERB_SEND
										: (enum verb)i;
		choice -= verbs[i].weight;
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
	message->is_inline = sends_data && message->length <= INLINE && one_in(traffic, 3);
	wr->send_flags =
		(message->is_signalled ? IBV_SEND_SIGNALED : 0) |
		(message->is_inline ? IBV_SEND_INLINE : 0) |
		(one_in(traffic, 10) ? IBV_SEND_FENCE : 0) |
		(verbs[message->verb].receives && one_in(traffic, 5) ? IBV_SEND_SOLICITED : 0);
}

/* Decides what the next message is and puts its bytes in place. */
static void prepare(struct direction *direction, struct message *message, struct ibv_send_wr *wr)
{
	struct traffic *traffic = direction->near->traffic;
	size_t slot = (size_t)(direction->posted % TRAFFIC_DEPTH) * TRAFFIC_SLOT;
	bool is_atomic;

	*message = (struct message){.number = direction->posted, .verb = choose_verb(direction)};
	is_atomic = message->verb >= VERB_COMPARE_SWAP && message->verb <= VERB_SHARED_ADD;
	message->length =
		is_atomic || message->verb == VERB_ATOMIC_WRITE ? 8 : choose_length(traffic);
	message->content = (uint32_t)below(traffic, TABLE - TRAFFIC_LARGEST);
	message->remote_offset = (uint32_t)below(traffic, 32) * 8;
	if (message->verb != VERB_ATOMIC_WRITE)
		message->remote_offset += (uint32_t)below(traffic, 8);
	if (message->verb != VERB_FLUSH)
		message->sge_count = spread(traffic, direction->local + slot, message->length,
					    direction->near->mr->lkey, message->sges);
	if (message->verb == VERB_READ)
		memcpy(direction->remote + slot + message->remote_offset, table + message->content,
		       message->length);
	else if (!is_atomic)
		fill(message->sges, message->sge_count, table + message->content);
	message->immediate = message->verb == VERB_SEND_INV ? direction->invalidatable_mr->rkey
							    : (uint32_t)below(traffic, UINT32_MAX);
	if (message->verb == VERB_SEND_INV)
		direction->may_invalidate = false;

	wr->wr_id = message->number;
	wr->opcode = verbs[message->verb].opcode;
	wr->sg_list = message->sges;
	wr->num_sge = message->sge_count;
	wr->imm_data = message->immediate;
	wr->wr.rdma.remote_addr = (uintptr_t)(direction->remote + slot + message->remote_offset);
	wr->wr.rdma.rkey = direction->far->mr->rkey;
	if (is_atomic)
		prepare_atomic(direction, message, wr);
	choose_flags(direction, message, wr);
}

static bool post_message(struct direction *direction, uint64_t now)
{
	struct traffic *traffic = direction->near->traffic;
	struct message *message = &direction->messages[direction->posted % TRAFFIC_DEPTH];
	struct ibv_send_wr wr = {0};
	const struct ibv_send_wr *bad;
	int error;

	prepare(direction, message, &wr);
	/* Before the post: completions may come out of it. */
	direction->posted++;
	if (verbs[message->verb].receives)
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
			 (unsigned long long)message->number, verbs[message->verb].name,
			 message->length, error);
		return false;
	}
	/* Inline data was taken. */
	if (message->is_inline)
		restore(direction->local + (size_t)(message->number % TRAFFIC_DEPTH) * TRAFFIC_SLOT,
			message->sges, message->sge_count, message->length);
	return true;
}

/* ---- Wrong requests ------------------------------------------------------------------------ */

static const enum ibv_wc_status poison_status[POISON_COUNT] = {
	[POISON_RKEY] = IBV_WC_REM_ACCESS_ERR,       [POISON_RANGE] = IBV_WC_REM_ACCESS_ERR,
	[POISON_ALIGNMENT] = IBV_WC_REM_INV_REQ_ERR, [POISON_LKEY] = IBV_WC_LOC_PROT_ERR,
	[POISON_LENGTH] = IBV_WC_REM_INV_REQ_ERR,
};

#define POISON_ID (UINT64_C(1) << 63)

/* The wrong request, unsignalled, and a right one behind it that is flushed. */
static void post_poison(struct direction *direction, uint64_t now)
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
	uint8_t *slot =
		direction->remote + (size_t)(message->number % TRAFFIC_DEPTH) * TRAFFIC_SLOT;

	if (!remote_holds(direction, message))
		complain(traffic, direction, "message %llu, %s of %u bytes: not in remote memory",
			 (unsigned long long)message->number, verbs[message->verb].name,
			 message->length);
	memset(slot + message->remote_offset, CANARY, message->length);
	if (memcmp(slot, canaries, message->remote_offset + message->length + GUARD))
		complain(traffic, direction, "message %llu, %s: bytes beside it were written",
			 (unsigned long long)message->number, verbs[message->verb].name);
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
			 (unsigned long long)message->number, verbs[message->verb].name,
			 (unsigned long long)value, (unsigned long long)message->original);
	}
}

static void check_message(struct direction *direction, const struct message *message)
{
	struct traffic *traffic = direction->near->traffic;
	uint8_t *slot = direction->local + (size_t)(message->number % TRAFFIC_DEPTH) * TRAFFIC_SLOT;
	bool is_atomic = message->verb >= VERB_COMPARE_SWAP && message->verb <= VERB_SHARED_ADD;

	if (verbs[message->verb].receives && !message->is_received)
		complain(traffic, direction, "message %llu, %s: completed and not received",
			 (unsigned long long)message->number, verbs[message->verb].name);
	if (is_atomic)
		check_atomic(direction, message);
	else if (!message->is_inline &&
		 !holds(message->sges, message->sge_count, table + message->content,
			message->verb == VERB_FLUSH ? 0 : message->length))
		complain(traffic, direction, "message %llu, %s of %u bytes: local memory is wrong",
			 (unsigned long long)message->number, verbs[message->verb].name,
			 message->length);
	if (verbs[message->verb].remote_data)
		check_remote(direction, message);
	if (!restore(slot, message->sges, message->sge_count, message->length))
		complain(traffic, direction, "message %llu, %s: local bytes beside it were written",
			 (unsigned long long)message->number, verbs[message->verb].name);
	traffic->result->messages++;
	traffic->result->bytes += message->length;
}

/* Whether receivers may be without a receive for longer than the retries last. */
static bool may_run_dry(const struct traffic *traffic)
{
	return traffic->parameters.rnr_retry < 7 && traffic->parameters.late_receives;
}

static void send_completed(struct host *host, const struct ibv_wc *wc)
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
	if (!message->is_signalled || wc->opcode != verbs[message->verb].completion ||
	    (has_length && wc->byte_len != message->length))
		complain(traffic, direction, "message %llu, %s: completed with opcode %d, %u bytes",
			 (unsigned long long)message->number, verbs[message->verb].name, wc->opcode,
			 wc->byte_len);
	check_message(direction, message);
}

/* ---- The application ----------------------------------------------------------------------- */

static bool is_done(const struct direction *direction)
{
	return direction->is_dead || direction->completed == direction->target;
}

static void post_more(struct host *host, uint64_t now)
{
	struct traffic *traffic = host->traffic;

	for (unsigned int i = 0; i < traffic->parameters.connections; i++) {
		struct direction *direction = &traffic->directions[2 * i + host->number];
		struct direction *other = &traffic->directions[2 * i + 1 - host->number];

		while (!is_connection_dead(traffic, i) && direction->posted < direction->target &&
		       direction->posted - direction->completed < TRAFFIC_DEPTH &&
		       post_message(direction, now))
			;
		if (traffic->parameters.ends_in_error && !host->number && !direction->is_dead &&
		    !direction->is_poisoned && direction->completed == direction->target &&
		    is_done(other) && !other->is_dead)
			post_poison(direction, now);
	}
}

/* Sends first: an error shows there before the receives are flushed. */
static unsigned int poll_all(struct host *host, unsigned int *receives)
{
	struct ibv_wc wc[16];
	unsigned int sends = 0;
	int count;

	*receives = 0;
	while ((count = vl_poll_cq(host->send_cq, 16, wc)) > 0) {
		for (int i = 0; i < count; i++)
			send_completed(host, &wc[i]);
		sends += (unsigned int)count;
	}
	if (!count) {
		while ((count = vl_poll_cq(host->recv_cq, 16, wc)) > 0) {
			for (int i = 0; i < count; i++)
				receive_completed(host, &wc[i]);
			*receives += (unsigned int)count;
		}
	}
	if (count < 0)
		complain(host->traffic, NULL, "a completion queue failed");
	return sends;
}

static void cut_links(struct traffic *traffic)
{
	const struct vl_impairments all = {.loss = 1};

	traffic->is_cut = true;
	vl_fabric_link_impair(vl_network_link(traffic->hosts[0].node, 0), &all);
	vl_fabric_link_impair(vl_network_link(traffic->hosts[1].node, 0), &all);
}

static void poll_host(void *context, struct vl_endpoint *endpoint, uint64_t now)
{
	struct host *host = context;
	struct traffic *traffic = host->traffic;
	unsigned int sends, receives;

	(void)endpoint;
	if (traffic->result->failure[0])
		return;
	sends = poll_all(host, &receives);
	if (receives) {
		if (!traffic->parameters.late_receives || one_in(traffic, 8))
			post_receives(host);
		else if (host->post_receives_at == UINT64_MAX)
			host->post_receives_at = now + 1 + below(traffic, 60000);
	}
	if (now >= host->post_receives_at)
		post_receives(host);
	if (sends || receives) {
		traffic->last_progress = now;
		if (traffic->parameters.stays_dead && !traffic->is_cut &&
		    2 * traffic->result->messages >= traffic->parameters.messages)
			cut_links(traffic);
		post_more(host, now);
	}
}

static uint64_t host_deadline(void *context)
{
	return ((struct host *)context)->post_receives_at;
}

/* ---- Building and running ------------------------------------------------------------------ */

static bool create_host(struct traffic *traffic, unsigned int number)
{
	const struct traffic_parameters *parameters = &traffic->parameters;
	struct host *host = &traffic->hosts[number];
	struct vl_endpoint_config config = host_config((uint16_t)(1 + number), 0);
	struct vl_application application = {poll_host, host_deadline, host};
	uint32_t slots = parameters->connections * 2 * TRAFFIC_DEPTH;
	uint32_t word_count = 1 + parameters->connections * TRAFFIC_COUNTERS;

	host->traffic = traffic;
	host->number = number;
	host->post_receives_at = UINT64_MAX;
	host->receive_count = parameters->connections * TRAFFIC_RECEIVES;
	host->slots_size = (size_t)(slots + host->receive_count) * TRAFFIC_SLOT;
	host->slots = malloc(host->slots_size);
	host->words = calloc(word_count, 8);
	host->receives = calloc(host->receive_count, sizeof(*host->receives));
	host->free_receives = calloc(host->receive_count, sizeof(*host->free_receives));
	if (!host->slots || !host->words || !host->receives || !host->free_receives)
		return false;
	memset(host->slots, CANARY, host->slots_size);
	host->receive_slots = host->slots + (size_t)slots * TRAFFIC_SLOT;
	while (host->free_count < host->receive_count) {
		host->free_receives[host->free_count] = host->free_count;
		host->free_count++;
	}
	config.device.unlimited_credits = parameters->unlimited_credits;
	host->node = vl_network_add_endpoint(traffic->network, &config);
	if (!host->node)
		return false;
	vl_endpoint_set_application(vl_node_endpoint(host->node), &application);
	host->device = vl_node_endpoint(host->node)->device;
	host->pd = vl_alloc_pd(host->device, NULL);
	host->send_cq = vl_create_cq(host->device, 1024, NULL, NULL);
	host->recv_cq = vl_create_cq(host->device, 1024, NULL, NULL);
	if (!host->pd || !host->send_cq || !host->recv_cq)
		return false;
	host->mr = vl_reg_mr(host->pd, host->slots, host->slots_size, (uintptr_t)host->slots,
			     ACCESS, NULL);
	host->word_mr = vl_reg_mr(host->pd, host->words, (size_t)word_count * 8,
				  (uintptr_t)host->words, ACCESS, NULL);
	if (parameters->shared_receives) {
		struct ibv_srq_attr attr = {.max_wr = host->receive_count, .max_sge = TRAFFIC_SGES};

		host->srq = vl_create_srq(host->pd, &attr, NULL);
	}
	return host->mr && host->word_mr && (host->srq || !parameters->shared_receives);
}

static struct vl_qp *create_qp(struct host *host)
{
	struct vl_qp_init_attr attr = {
		.send_cq = host->send_cq,
		.recv_cq = host->recv_cq,
		.srq = host->srq,
		.cap =
			{
				.max_send_wr = TRAFFIC_DEPTH,
				.max_recv_wr = TRAFFIC_RECEIVES,
				.max_send_sge = TRAFFIC_SGES,
				.max_recv_sge = TRAFFIC_SGES,
				.max_inline_data = INLINE,
			},
		.qp_type = IBV_QPT_RC,
	};

	return vl_create_qp(host->pd, &attr, NULL);
}

static void fill_direction(struct traffic *traffic, unsigned int connection, unsigned int from,
			   struct vl_qp *qp, struct vl_qp *peer)
{
	struct direction *direction = &traffic->directions[2 * connection + from];

	direction->near = &traffic->hosts[from];
	direction->far = &traffic->hosts[1 - from];
	direction->qp = qp;
	direction->peer = peer;
	direction->connection = connection;
	direction->local =
		direction->near->slots + (size_t)connection * 2 * TRAFFIC_DEPTH * TRAFFIC_SLOT;
	direction->remote =
		direction->far->slots + (size_t)(connection * 2 + 1) * TRAFFIC_DEPTH * TRAFFIC_SLOT;
	direction->words = direction->far->words + 1 + connection * TRAFFIC_COUNTERS;
	direction->last_shared = UINT64_MAX;
	direction->target =
		traffic->parameters.messages / (2 * traffic->parameters.connections) + 1;
}

static bool connect_pair(struct traffic *traffic, unsigned int connection)
{
	const struct traffic_parameters *parameters = &traffic->parameters;
	struct vl_qp *qps[2] = {create_qp(&traffic->hosts[0]), create_qp(&traffic->hosts[1])};
	uint32_t psns[2];

	if (!qps[0] || !qps[1])
		return false;
	for (unsigned int i = 0; i < 2; i++)
		psns[i] = 0xffffff - (uint32_t)below(traffic, 300);
	for (unsigned int i = 0; i < 2; i++) {
		struct host_path path = {
			.remote_host = (uint16_t)(2 - i),
			.remote_qpn = vl_qp_number(qps[1 - i]),
			.send_psn = psns[i],
			.receive_psn = psns[1 - i],
			.mtu = parameters->mtu,
			.timeout = parameters->timeout,
			.retry_count = parameters->retry_count,
			.rnr_retry = parameters->rnr_retry,
			.rd_atomic = parameters->rd_atomic,
			.min_rnr_timer = 1,
			.access = ACCESS,
		};

		if (host_connect(qps[i], IBV_QPT_RC, &path, 0))
			return false;
		fill_direction(traffic, connection, i, qps[i], qps[1 - i]);
	}
	return register_invalidatable(&traffic->directions[2 * connection]) &&
	       register_invalidatable(&traffic->directions[2 * connection + 1]);
}

static bool join_hosts(struct traffic *traffic)
{
	struct vl_link_config links[2];
	const struct vl_link_config clean = {.rate = UINT64_C(100000000000), .propagation = 300};
	struct vl_switch_config config = {
		.ports = 2, .buffer = 4000000, .default_map = true, .mac = {2, 1}};
	struct vl_node *sw;

	for (unsigned int i = 0; i < 2; i++) {
		links[i] = clean;
		links[i].seed = traffic->parameters.seed;
		links[i].impairments = traffic->parameters.impairments[i];
	}
	if (!traffic->parameters.through_switch)
		return !vl_network_connect(traffic->network, traffic->hosts[0].node, 0,
					   traffic->hosts[1].node, 0, &links[0], &links[1]);
	sw = vl_network_add_switch(traffic->network, "switch", &config);
	return sw &&
	       !vl_network_connect(traffic->network, traffic->hosts[0].node, 0, sw, 0, &links[0],
				   &clean) &&
	       !vl_network_connect(traffic->network, traffic->hosts[1].node, 0, sw, 1, &links[1],
				   &clean) &&
	       !vl_network_route(traffic->network);
}

static bool build(struct traffic *traffic)
{
	if (!create_host(traffic, 0) || !create_host(traffic, 1) || !join_hosts(traffic))
		return false;
	for (unsigned int i = 0; i < traffic->parameters.connections; i++) {
		if (!connect_pair(traffic, i))
			return false;
	}
	post_receives(&traffic->hosts[0]);
	post_receives(&traffic->hosts[1]);
	return !traffic->result->failure[0];
}

static bool is_finished(const struct traffic *traffic)
{
	for (unsigned int i = 0; i < 2 * traffic->parameters.connections; i++) {
		const struct direction *direction = &traffic->directions[i];

		if (!is_connection_dead(traffic, direction->connection) && !is_done(direction))
			return false;
		if (direction->is_poisoned && !direction->is_poison_done)
			return false;
		if (traffic->parameters.ends_in_error && i % 2 == 0 && !direction->is_poisoned &&
		    !is_connection_dead(traffic, direction->connection))
			return false;
	}
	return true;
}

static void drive(struct traffic *traffic)
{
	uint64_t now;

	for (unsigned int i = 0; i < 2; i++)
		post_more(&traffic->hosts[i], 0);
	while (!traffic->result->failure[0] && !is_finished(traffic)) {
		now = vl_network_now(traffic->network);
		vl_network_run_until(traffic->network, now + STEP);
		for (unsigned int i = 0; i < 2 && !traffic->result->failure[0]; i++)
			post_more(&traffic->hosts[i], now + STEP);
		if (now > traffic->last_progress + LONG_SILENCE) {
			for (unsigned int i = 0; i < 2 * traffic->parameters.connections; i++) {
				const struct direction *direction = &traffic->directions[i];

				if (!is_done(direction))
					complain(traffic, direction,
						 "nothing happens any more after message %llu of "
						 "%llu",
						 (unsigned long long)direction->completed,
						 (unsigned long long)direction->posted);
			}
			complain(traffic, NULL, "nothing happens any more");
		}
	}
	/* What is still in flight may not do any harm. */
	if (!traffic->result->failure[0])
		vl_network_run_until(traffic->network,
				     vl_network_now(traffic->network) + 10 * STEP);
}

/* At the end every byte is canary again, and every word what the model says. */
static void check_memory(struct traffic *traffic)
{
	bool any_dead = false;

	for (unsigned int i = 0; i < 2 * traffic->parameters.connections; i++) {
		struct direction *direction = &traffic->directions[i];

		if (is_connection_dead(traffic, direction->connection)) {
			any_dead = true;
			traffic->result->lost_connections += i % 2;
			continue;
		}
		if (memcmp(direction->words, direction->posted_words,
			   sizeof(direction->posted_words)))
			complain(traffic, direction, "atomic words differ from the model's");
		if (direction->awaited_head != direction->awaited_tail)
			complain(traffic, direction, "messages were not received");
		for (unsigned int s = 0; s < TRAFFIC_DEPTH; s++) {
			if (memcmp(direction->local + (size_t)s * TRAFFIC_SLOT, canaries,
				   TRAFFIC_SLOT) ||
			    memcmp(direction->remote + (size_t)s * TRAFFIC_SLOT, canaries,
				   TRAFFIC_SLOT))
				complain(traffic, direction, "memory was written after the fact");
		}
	}
	for (unsigned int i = 0; i < 2 && !any_dead; i++) {
		struct host *host = &traffic->hosts[i];

		if (host->words[0] != host->shared_adds)
			complain(traffic, NULL,
				 "host %u's shared word is %llu after %llu additions", i,
				 (unsigned long long)host->words[0],
				 (unsigned long long)host->shared_adds);
		for (unsigned int s = 0;
		     s < host->receive_count && !host->traffic->parameters.ends_in_error; s++) {
			if (memcmp(host->receive_slots + (size_t)s * TRAFFIC_SLOT, canaries,
				   TRAFFIC_SLOT))
				complain(traffic, NULL,
					 "host %u: a receive buffer was written after the fact", i);
		}
	}
}

static void collect(struct traffic *traffic)
{
	struct traffic_result *result = traffic->result;

	for (unsigned int i = 0; i < 2; i++) {
		const struct vl_counters *counters = vl_device_counters(traffic->hosts[i].device);
		const struct vl_fabric_link *link = vl_network_link(traffic->hosts[i].node, 0);

		result->retransmitted += counters->data_frames_retransmitted;
		result->rnr_naks += counters->rnr_nak_tx;
		result->corrupted += link->counters.corrupted;
		result->duplicated += link->counters.duplicated;
		result->reordered += link->counters.reordered;
		result->dropped += link->counters.dropped_loss;
		digest(traffic, link->counters.bytes_tx);
	}
	result->virtual_time = vl_network_now(traffic->network);
}

static void fill_table(void)
{
	struct vl_random random = {0x7ab1e};

	if (canaries[0])
		return;
	memset(canaries, CANARY, sizeof(canaries));
	for (size_t i = 0; i < sizeof(table); i++)
		table[i] = (uint8_t)vl_random_next(&random);
}

void traffic_run(const struct traffic_parameters *parameters, struct traffic_result *result)
{
	struct traffic *traffic = calloc(1, sizeof(*traffic));

	*result = (struct traffic_result){0};
	fill_table();
	if (!traffic) {
		snprintf(result->failure, sizeof(result->failure), "no memory");
		return;
	}
	traffic->parameters = *parameters;
	traffic->result = result;
	traffic->random.state = parameters->seed;
	traffic->network = vl_network_create(NULL);
	if (!traffic->network || !build(traffic)) {
		snprintf(result->failure, sizeof(result->failure), "cannot build: %s",
			 traffic->network ? vl_network_error(traffic->network) : "no memory");
	} else {
		drive(traffic);
		if (!result->failure[0])
			check_memory(traffic);
		collect(traffic);
	}
	vl_network_destroy(traffic->network);
	for (unsigned int i = 0; i < 2; i++) {
		free(traffic->hosts[i].slots);
		free(traffic->hosts[i].words);
		free(traffic->hosts[i].receives);
		free(traffic->hosts[i].free_receives);
	}
	free(traffic);
}
