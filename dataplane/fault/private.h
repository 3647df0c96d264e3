/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Shared by the files of this directory, and by nobody else. */
#ifndef VERBLINE_FAULT_PRIVATE_H
#define VERBLINE_FAULT_PRIVATE_H

#include "dataplane/fabric/rate.h"
#include "dataplane/fault/fault.h"
#include "dataplane/pfc.h"
#include "transport/psn.h"
#include "transport/random.h"
#include "transport/wire/opcode.h"
#include "transport/wire/packet.h"

#define VL_FAULT_NONE UINT32_MAX

/* ---- Connections (connection.c) ------------------------------------------------------------- */

/* Newest messages of a direction whose first PSN is remembered. */
#define VL_FAULT_MESSAGES 64u
/* Requests for communication that wait for their answer. */
#define VL_FAULT_PROPOSALS 256u

/* What goes in one direction of a connection. */
struct vl_fault_stream {
	bool started;        /* first_psn is known */
	bool is_exact;       /* by the connection manager: no earlier one can come */
	bool is_refusing;    /* requests behind refused_psn are not taken */
	bool is_refused_all; /* nor is any other */
	uint32_t first_psn;  /* of the requests */
	uint32_t newest_psn; /* of the requests, as far as seen */
	/* Answers go in the order of their PSNs: a refusal waits for those of READs and atomics. */
	bool is_newest_read;   /* the newest request is one of these */
	bool has_read;         /* read_end_psn holds */
	bool is_answered;      /* answered_psn holds */
	uint32_t read_end_psn; /* last PSN of the newest of these that another request follows */
	uint32_t answered_psn; /* of the newest answer */
	struct vl_fault_slot *held_refusal; /* of a request of this stream */
	uint32_t refused_psn;
	uint32_t refusing_event;            /* index; VL_FAULT_NONE: a policy's */
	uint32_t msn;                       /* of the last AETH */
	uint64_t packets;                   /* requests */
	uint64_t message_count;             /* whose first packet was seen */
	uint32_t starts[VL_FAULT_MESSAGES]; /* number n (from 0) at n modulo the length */
};

struct vl_fault_slot;

struct vl_fault_connection {
	union ibv_gid peer;
	uint32_t local_qpn, remote_qpn; /* remote 0: not known */
	/* From 1, in order of appearance; of spared ones from VL_FAULT_SPARED on; 0: unused. */
	uint32_t number;
	uint32_t newer, older; /* by use */
	uint32_t next_by_local, next_by_remote;
	struct vl_fault_stream streams[2]; /* by enum vl_direction */

	uint64_t silent_until, acks_suppressed_until;             /* ns */
	uint64_t acks_delayed_until, ack_delay;                   /* ns */
	uint32_t silent_event, suppressing_event, delaying_event; /* whose doing that is */
	struct vl_fault_slot *held_ack;                           /* coalesced */
	uint32_t held_ack_count;
	uint32_t tokens;       /* receives that are posted */
	uint64_t token_time;   /* ns: the next one is posted */
	uint32_t admitted_psn; /* of the last message that got one */
	bool has_admitted;
};

/* More than connections are numbered. */
#define VL_FAULT_SPARED UINT32_C(0x80000000)

static inline bool vl_fault_is_spared(const struct vl_fault_connection *connection)
{
	return connection && connection->number >= VL_FAULT_SPARED;
}

struct vl_fault_proposal {
	union ibv_gid peer;
	uint32_t comm_id, qpn, psn;
	uint8_t direction; /* enum vl_direction of the REQ */
	bool is_used, is_spared;
};

struct vl_fault_connections {
	struct vl_fault_connection *list;
	uint32_t *by_local, *by_remote; /* heads of chains */
	uint32_t mask, capacity, used;
	uint32_t newest, oldest;
	uint32_t numbered, spared;
	struct vl_fault_proposal proposals[VL_FAULT_PROPOSALS];
	uint32_t next_proposal;
};

/* ---- A packet on its way through ------------------------------------------------------------ */

struct vl_fault_packet {
	struct vl_frame *frame;
	struct vl_packet parsed;
	enum vl_direction direction;
	struct vl_fault_connection *connection; /* NULL: none known */
	uint32_t answer_qpn;                    /* of who sent it; 0: not known */
	bool is_management;
	bool has_psn;     /* the three below hold */
	uint32_t psn;     /* relative */
	uint64_t message; /* from 1; 0: not known */
	uint64_t now;
};

/* An event that is to act on a packet, with what chance has chosen. */
struct vl_fault_decision {
	uint32_t event; /* index */
	uint32_t bit;   /* corrupt */
};
#define VL_FAULT_MAX_DECISIONS 16

/* ---- Frames held (held.c) ------------------------------------------------------------------- */

#define VL_FAULT_SLOT_COMMENT 256

struct vl_fault_slot {
	struct vl_frame frame; /* with memory of its own */
	uint64_t due;          /* ns */
	struct vl_fault_slot *next, *previous;
	uint32_t connection;        /* index; VL_FAULT_NONE */
	uint32_t connection_number; /* if another one has the index now, it belongs to none */
	uint32_t countdown;         /* reorder: packets that are still to overtake it */
	uint32_t event;             /* whose doing it is; VL_FAULT_NONE: a policy's */
	enum vl_fault_hold {
		VL_FAULT_HOLD_DELAYED,
		VL_FAULT_HOLD_REORDERED,
		VL_FAULT_HOLD_COPY,
		VL_FAULT_HOLD_MADE, /* a NAK, RNR NAK, CNP or pause */
		VL_FAULT_HOLD_ACK,  /* the newest of coalesced ones */
		VL_FAULT_HOLD_SLOW, /* in the slow receiver's buffer */
	} hold;
	char comment[VL_FAULT_SLOT_COMMENT]; /* for when it goes out */
};

/* Sorted by due; equals in the order in which they came. */
struct vl_fault_list {
	struct vl_fault_slot *first, *last;
	uint32_t reordered; /* slots with a countdown */
};

#define VL_FAULT_COMMENT 512

struct vl_fault {
	struct vl_fault_config config;
	struct vl_random random;
	uint64_t start; /* ns, what times count from; UINT64_MAX: nothing yet */
	struct vl_fault_counters counters;
	struct vl_fault_event_counters *event_counters;
	/* By event, for each connection and, the last one, for those that count all together. One
	 * of another connection's number is as good as empty. */
	struct vl_fault_tally {
		uint64_t matched, acted;
		uint32_t number;
	} * tallies;
	struct vl_fault_connections connections;

	struct vl_fault_slot *slots;
	uint8_t *memory;
	uint32_t slot_count;
	struct vl_fault_slot *free;
	uint32_t free_count;
	struct vl_fault_list held[2]; /* by enum vl_direction */
	struct vl_fault_slot *lent;   /* given out by next_received */

	uint64_t silent_until; /* the whole endpoint */
	uint32_t silent_event;
	struct vl_pfc_sender pfc;
	uint64_t pause_next;                     /* ns: the next of pause_until; UINT64_MAX: none */
	uint64_t pause_until[VL_PFC_PRIORITIES]; /* ns; 0: no event's pause */
	uint8_t slow_paused;                     /* bit mask */
	struct vl_rate slow_rate;
	uint64_t slow_remainder, slow_free_at; /* when the last frame in the buffer is out */
	uint32_t slow_bytes;
	uint64_t token_interval; /* ns between two receives */

	struct vl_fault_decision decisions[VL_FAULT_MAX_DECISIONS];
	uint32_t decision_count;
	char comment[VL_FAULT_COMMENT];
	uint32_t comment_length;
};

static inline const struct vl_fault_event *vl_fault_event_at(const struct vl_fault *fault,
							     uint32_t event)
{
	return &fault->config.events[event];
}

static inline uint32_t vl_fault_connection_index(const struct vl_fault *fault,
						 const struct vl_fault_connection *connection)
{
	return connection ? (uint32_t)(connection - fault->connections.list) : VL_FAULT_NONE;
}

/* ---- connection.c --------------------------------------------------------------------------- */

int vl_fault_connections_init(struct vl_fault_connections *connections, uint32_t capacity);
void vl_fault_connections_free(struct vl_fault_connections *connections);
/* Finds or makes the packet's connection, learns from it, and fills what depends on that. */
void vl_fault_track(struct vl_fault *fault, struct vl_fault_packet *packet);

/* ---- match.c -------------------------------------------------------------------------------- */

/* Chooses the events that act on the packet: fault->decisions, in order. */
void vl_fault_decide(struct vl_fault *fault, const struct vl_fault_packet *packet);

/* ---- alter.c -------------------------------------------------------------------------------- */

/* Whether the action can be done to such a packet. */
bool vl_fault_is_applicable(const struct vl_fault_action *action,
			    const struct vl_fault_packet *packet);
uint32_t vl_fault_part_bits(enum vl_fault_part part, const struct vl_packet *packet);
/* Does what changes the frame's bytes; the parsed packet is stale afterwards. */
void vl_fault_alter(const struct vl_fault_action *action, uint32_t bit,
		    struct vl_fault_packet *packet);

/* ---- answer.c ------------------------------------------------------------------------------- */

/* Writes a frame that goes back to who sent the packet; 0: it cannot be made, else its length. */
uint32_t vl_fault_write_acknowledge(const struct vl_fault_packet *packet, uint8_t syndrome,
				    uint32_t msn, uint8_t *frame, uint32_t capacity);
uint32_t vl_fault_write_cnp(const struct vl_fault_packet *packet, uint8_t dscp, uint8_t priority,
			    uint8_t *frame, uint32_t capacity);

/* ---- held.c --------------------------------------------------------------------------------- */

int vl_fault_held_init(struct vl_fault *fault, uint32_t count, uint32_t capacity);
/* Whether there is a slot, and the frame is not longer than that. */
bool vl_fault_can_hold(const struct vl_fault *fault, const struct vl_frame *frame);
/* NULL: none left. */
struct vl_fault_slot *vl_fault_slot_get(struct vl_fault *fault);
/* The same with a copy of a frame. */
struct vl_fault_slot *vl_fault_slot_copy(struct vl_fault *fault, const struct vl_frame *frame);
void vl_fault_slot_put(struct vl_fault *fault, struct vl_fault_slot *slot);
/* As long as the connection is not forgotten. NULL is fine. */
void vl_fault_slot_belongs(const struct vl_fault *fault, struct vl_fault_slot *slot,
			   const struct vl_fault_connection *connection);
void vl_fault_hold(struct vl_fault *fault, enum vl_direction direction, struct vl_fault_slot *slot);
void vl_fault_release(struct vl_fault *fault, enum vl_direction direction,
		      struct vl_fault_slot *slot);
/* A packet of a connection has gone on: those that it overtakes come nearer. */
void vl_fault_overtake(struct vl_fault *fault, enum vl_direction direction,
		       const struct vl_fault_connection *connection, uint64_t now);

/* ---- act.c ---------------------------------------------------------------------------------- */

/* Drops decisions for which there is no room, and puts the others into the comment. */
void vl_fault_plan(struct vl_fault *fault, const struct vl_fault_packet *packet);
/* Does what was decided. True: the packet goes on its way now. */
bool vl_fault_act(struct vl_fault *fault, struct vl_fault_packet *packet);
/* An answer has gone on: a refusal may have waited for it. */
void vl_fault_answered(struct vl_fault *fault, const struct vl_fault_packet *packet);
/* Whether a request comes behind a refused one, so that it is not taken. */
bool vl_fault_is_follower(struct vl_fault *fault, const struct vl_fault_packet *packet);
/* The packet's sender gets a NAK or RNR NAK; what it sends meanwhile is not taken. False: that
 * cannot be made, or there is no room. */
bool vl_fault_refuse(struct vl_fault *fault, struct vl_fault_packet *packet, uint8_t syndrome,
		     uint32_t event);
/* Wants or ends pauses as events and the slow receiver ask for. */
void vl_fault_update_pauses(struct vl_fault *fault, uint64_t now);

/* ---- policy.c ------------------------------------------------------------------------------- */

/* Each true: the packet goes on. */
bool vl_fault_admit_receive(struct vl_fault *fault, struct vl_fault_packet *packet);
bool vl_fault_has_room(struct vl_fault *fault, const struct vl_fault_packet *packet);
bool vl_fault_admit_slow(struct vl_fault *fault, struct vl_fault_packet *packet);
void vl_fault_slow_left(struct vl_fault *fault, const struct vl_fault_slot *slot);
/* Of a packet that the endpoint sends. */
bool vl_fault_admit_answer(struct vl_fault *fault, struct vl_fault_packet *packet);

/* ---- comment.c ------------------------------------------------------------------------------ */

void vl_fault_comment_clear(struct vl_fault *fault);
void vl_fault_comment_add(struct vl_fault *fault, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Puts a prefix of dataplane/filter.h in front. */
void vl_fault_comment_prefix(struct vl_fault *fault, const char *prefix);
/* "event 'loss' (faults.yaml:3)" */
#define VL_FAULT_EVENT_TEXT 160
const char *vl_fault_event_text(const struct vl_fault *fault, uint32_t event,
				char text[VL_FAULT_EVENT_TEXT]);
/* Keeps the comment with a frame that goes out later. */
void vl_fault_comment_keep(const struct vl_fault *fault, struct vl_fault_slot *slot);
static inline bool vl_fault_is_watched(const struct vl_fault *fault)
{
	return fault->config.tap && fault->config.tap->see;
}
/* Shows the frame with the comment, if there is one, to the tap. */
void vl_fault_show(struct vl_fault *fault, enum vl_direction direction,
		   const struct vl_frame *frame, uint64_t now);

#endif
