/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The parts of a run and the functions that its files share; see rc_traffic.h. */
#ifndef VERBLINE_TESTS_RC_MODEL_H
#define VERBLINE_TESTS_RC_MODEL_H

#include "tests/property/rc_traffic.h"

#define TRAFFIC_INLINE 256u
#define TRAFFIC_TABLE  (2 * TRAFFIC_SLOT)
#define TRAFFIC_ACCESS                                                                             \
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

struct verb_description {
	const char *name;
	enum ibv_wr_opcode opcode;
	enum ibv_wc_opcode completion;
	unsigned int weight;
	bool receives, remote_data; /* consumes a receive; data lies in the remote slot */
};
extern const struct verb_description traffic_verbs[VERB_COUNT];

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
	bool is_flushed;     /* far's receives are: its queue pair is in error */
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

/* Keeps the first complaint and stops the run. direction may be NULL. */
__attribute__((format(printf, 3, 4))) void complain(struct traffic *traffic,
						    const struct direction *direction,
						    const char *format, ...);
void digest(struct traffic *traffic, uint64_t value);
static inline uint64_t below(struct traffic *traffic, uint64_t bound)
{
	return vl_random_below(&traffic->random, bound);
}
static inline bool one_in(struct traffic *traffic, uint64_t n)
{
	return !below(traffic, n);
}
static inline bool is_atomic(enum verb verb)
{
	return verb >= VERB_COMPARE_SWAP && verb <= VERB_SHARED_ADD;
}
static inline bool is_connection_dead(const struct traffic *traffic, unsigned int connection)
{
	return traffic->directions[2 * connection].is_dead ||
	       traffic->directions[2 * connection + 1].is_dead;
}
static inline uint8_t *slot_at(uint8_t *slots, uint64_t number)
{
	return slots + (size_t)number * TRAFFIC_SLOT;
}

/* ---- rc_slots.c ---- */

#define TRAFFIC_CANARY 0xc5
extern uint8_t traffic_table[TRAFFIC_TABLE]; /* what messages are cut from */
void fill_table(void);
/* Spreads length bytes over pieces of a slot with canaries in between. Returns their number. */
int spread(struct traffic *traffic, uint8_t *slot, uint32_t length, uint32_t lkey,
	   struct ibv_sge *sges);
void fill(const struct ibv_sge *sges, int count, const uint8_t *content);
/* Whether the first length bytes of the pieces are content. */
bool holds(const struct ibv_sge *sges, int count, const uint8_t *content, uint32_t length);
/* Turns length bytes of the pieces to canary, and says whether all around them is. */
bool restore(uint8_t *slot, const struct ibv_sge *sges, int count, uint32_t length);
/* The same for one piece at an offset. */
bool restore_at(uint8_t *slot, uint32_t offset, uint32_t length);
bool is_canary(const uint8_t *slot);

/* ---- rc_post.c ---- */

/* Posts what the host's queue pairs and SRQ have room for. */
void post_receives(struct host *host);
bool register_invalidatable(struct direction *direction);
bool post_message(struct direction *direction, uint64_t now);
/* The wrong request, unsignalled, and a right one behind it that is flushed. */
#define POISON_ID (UINT64_C(1) << 63)
void post_poison(struct direction *direction, uint64_t now);

/* ---- rc_check.c ---- */

void receive_completed(struct host *host, const struct ibv_wc *wc);
void send_completed(struct host *host, const struct ibv_wc *wc);

#endif
