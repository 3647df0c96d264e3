/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Faults on purpose: a list of events, each a description of packets and what is done to them, and
 * policies that hold all the time. The engine is an endpoint's frame filter; functions of the time,
 * the same for the same seed and frames. All memory is made at set-up, whatever the peers send.
 *
 * Packets are addressed by what they are (direction, opcode, PSN, message), whose they are
 * (connection, QPN, peer) and which of those that fit (n-th, every n-th, by chance). A connection
 * is known by its first packet or by the connection manager's messages, and numbered from 1 in that
 * order, but for those that are spared. PSNs are counted from the first of the requests in their
 * direction; that of an answer from the first of the requests that it answers. Messages are counted
 * from 1 in the order of their PSNs, each with its retransmissions; an answer belongs to the
 * message that holds its PSN.
 *
 * After a change the IPv4 checksum and the ICRC are made right again, unless the event asks for a
 * damaged packet.
 */
#ifndef VERBLINE_FAULT_H
#define VERBLINE_FAULT_H

#include "dataplane/filter.h"
#include "transport/counter_field.h"
#include "transport/verbline.h"

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Which packets -------------------------------------------------------------------------- */

/* Bits of vl_fault_match.directions. */
#define VL_FAULT_RECEIVED    (1u << VL_DIRECTION_RECEIVED)
#define VL_FAULT_TRANSMITTED (1u << VL_DIRECTION_TRANSMITTED)

/* Both ends included; first > last: no restriction. */
struct vl_fault_range {
	uint64_t first, last;
};
#define VL_FAULT_ANY ((struct vl_fault_range){1, 0})

/* What an RC ACKNOWLEDGE says, as the opcode does not tell them apart. */
#define VL_FAULT_ANSWER_ACK 1u
#define VL_FAULT_ANSWER_RNR 2u
#define VL_FAULT_ANSWER_NAK 4u

struct vl_fault_match {
	uint8_t directions;  /* VL_FAULT_RECEIVED, _TRANSMITTED */
	uint32_t connection; /* from 1; 0: any */
	uint32_t qpn;        /* of either end; 0: any */
	bool has_peer;
	union ibv_gid peer;            /* IPv4 as ::ffff:a.b.c.d */
	struct vl_fault_range psn;     /* relative, 24 bits */
	struct vl_fault_range message; /* from 1 */
	/* Bit n of the whole: opcode n; all zero and no management: every packet but those of the
	 * connection manager. */
	uint64_t opcodes[4];
	uint8_t answers; /* with opcode RC ACKNOWLEDGE: VL_FAULT_ANSWER_ACK, ... */
	bool management; /* datagrams to QP1 */
	/* Of those that fit so far, counted from 1: */
	struct vl_fault_range nth;
	uint64_t every;       /* 0: off; 1: all; n: the n-th, 2n-th, ... */
	double probability;   /* 0..1; 1: all */
	uint64_t limit;       /* acts at most so many times; 0: no limit */
	bool per_connection;  /* nth, every and limit are counted for each connection */
	uint64_t from, until; /* ns since the first frame; until 0: to the end */
};

/* Every packet of both directions. */
void vl_fault_match_init(struct vl_fault_match *match);
/*
 * Adds what a name stands for: an opcode by its IBTA name in lower case with underscores, with its
 * service (rc_send_first) or for all services (send_first); or a class: data, request, response,
 * send, write, read, read_response, atomic, acknowledge, ack, rnr, nak, cnp, cm. -ENOENT: none has
 * the name.
 */
int vl_fault_match_opcode(struct vl_fault_match *match, const char *name);
/* The n-th class with its meaning; NULL past the last. */
const char *vl_fault_class_name(unsigned int n, const char **meaning);

/* ---- What is done --------------------------------------------------------------------------- */

/*
 * X(enumerator, name, whether the packet's course ends here, meaning). Actions of one packet are
 * done in the order of the events, up to the first that ends its course.
 */
#define VL_FAULT_ACTIONS(X)                                                                        \
	X(DROP, "drop", true, "the packet is lost")                                                \
	X(DUPLICATE, "duplicate", false, "'copies' more of it follow, 'delay' later")              \
	X(REORDER, "reorder", true,                                                                \
	  "the next 'by' packets of its connection and direction overtake it; after 'delay' it "   \
	  "goes on anyway")                                                                        \
	X(DELAY, "delay", true, "it goes on 'delay' later")                                        \
	X(MARK_CE, "mark_ce", false, "ECN says congestion experienced, if it was ECN-capable")     \
	X(IGNORE_CE, "ignore_ce", false, "a CE mark is taken off (ECT(0) instead)")                \
	X(CORRUPT, "corrupt", false,                                                               \
	  "one bit of 'part' is flipped: number 'bit', or any; the ICRC is left as it was")        \
	X(TRUNCATE, "truncate", false,                                                             \
	  "its last 'bytes' are cut off; with 'repair' lengths and ICRC are made to fit")          \
	X(NAK, "nak", true,                                                                        \
	  "it is refused with NAK 'code' as if the other side had done so, and what follows it "   \
	  "is not taken until it comes again (or at all, as the code may be)")                     \
	X(RNR, "rnr", true,                                                                        \
	  "it is refused with an RNR NAK that asks to wait 'timer', and what follows it is not "   \
	  "taken until it comes again")                                                            \
	X(CREDITS, "credits", false, "its AETH grants 'credits'")                                  \
	X(CNP, "cnp", false, "its sender gets a CNP")                                              \
	X(SUPPRESS_ACKS, "suppress_acks", false,                                                   \
	  "the endpoint's ACKs on its connection are not sent for 'for'")                          \
	X(DELAY_ACKS, "delay_acks", false,                                                         \
	  "the endpoint's ACKs on its connection go 'delay' later, for 'for'")                     \
	X(STOP_ANSWERING, "stop_answering", false,                                                 \
	  "no ACK, NAK, response or CNP of the endpoint is sent for 'for', on its connection or "  \
	  "on all ('scope')")                                                                      \
	X(PAUSE, "pause", false,                                                                   \
	  "a PFC frame pauses 'priorities' for 'quanta'; with 'for' the pause is held up so "      \
	  "long, then ended")                                                                      \
	X(PASS, "pass", true, "nothing; later events do not see it")

enum vl_fault_action_kind {
#define VL_FAULT_ACTION_VALUE(enumerator, name, ends, meaning) VL_FAULT_##enumerator,
	VL_FAULT_ACTIONS(VL_FAULT_ACTION_VALUE)
#undef VL_FAULT_ACTION_VALUE
		VL_FAULT_ACTION_COUNT
};

enum vl_fault_part {
	VL_FAULT_PART_HEADER,  /* from the BTH up to the payload */
	VL_FAULT_PART_PAYLOAD, /* pad included */
	VL_FAULT_PART_ICRC,
};

#define VL_FAULT_ANY_BIT     UINT32_MAX
#define VL_FAULT_FOREVER     UINT64_MAX
#define VL_FAULT_MAX_REORDER 1024u

struct vl_fault_action {
	enum vl_fault_action_kind kind;
	uint32_t copies;   /* duplicate; 1.. */
	uint32_t by;       /* reorder: 1..VL_FAULT_MAX_REORDER packets */
	uint64_t delay;    /* ns; reorder, 0: 1 ms */
	uint64_t duration; /* ns, 'for'; VL_FAULT_FOREVER; pause, 0: one frame */
	enum vl_fault_part part;
	uint32_t bit;        /* from the part's start; VL_FAULT_ANY_BIT */
	uint32_t bytes;      /* truncate, 1.. */
	bool repair;         /* truncate */
	uint8_t syndrome;    /* nak and rnr: AETH; credits: code 0..31 */
	uint8_t priorities;  /* pause: bit mask */
	uint16_t quanta;     /* pause, of 512 bit times */
	bool whole_endpoint; /* stop_answering */
};

struct vl_fault_event {
	const char *name;  /* for people */
	const char *place; /* "faults.yaml:12", or NULL */
	struct vl_fault_match match;
	struct vl_fault_action action;
};

const char *vl_fault_action_name(enum vl_fault_action_kind kind);
const char *vl_fault_action_meaning(enum vl_fault_action_kind kind);

/* ---- Policies ------------------------------------------------------------------------------- */

/* The endpoint takes RDMA packets in no faster than this; they wait in a buffer. */
struct vl_fault_slow_receiver {
	uint64_t rate;      /* bit/s of frames; 0: off */
	uint32_t buffer;    /* bytes; what finds no room is dropped; 0: 256 KiB */
	uint32_t xoff, xon; /* bytes: pause and resume by PFC; xoff 0: no PFC */
	uint8_t priorities; /* of the pauses, bit mask */
};

/* Receives are posted at this rate, on each connection: messages that need one and find none are
 * refused with an RNR NAK. */
struct vl_fault_receives {
	uint64_t rate;     /* per second; 0: off */
	uint32_t burst;    /* posted at most at a time; 0: 16 */
	uint8_t rnr_timer; /* code, 0..31 */
};

/* Of the endpoint's ACKs on a connection only every n-th goes out, or the newest after delay. */
struct vl_fault_ack_coalescing {
	uint32_t count; /* 0 and 1: off */
	uint64_t delay; /* ns; 0: 10 us */
};

#define VL_FAULT_MAX_EVENTS 256u

struct vl_fault_config {
	uint64_t seed;
	const struct vl_fault_event *events; /* outlive the engine */
	uint32_t event_count;                /* up to VL_FAULT_MAX_EVENTS */
	struct vl_fault_slow_receiver slow_receiver;
	struct vl_fault_receives receives;
	struct vl_fault_ack_coalescing ack_coalescing;

	uint8_t mac[6]; /* source of PFC frames */
	uint64_t rate;  /* bit/s of the line: the length of quanta; 0: 100 Gb/s */
	bool cnp_dscp_is_set, cnp_priority_is_set;
	uint8_t cnp_dscp, cnp_priority; /* of CNPs made here; not set: 48 and 6 */
	/* Tells the QPN at the other end of local QPs before they have sent anything. May be NULL;
	 * outlives the engine. */
	const struct vl_device *device;
	/* Who looks; NULL, or see NULL: nobody. May change while the endpoint does not run. */
	const struct vl_frame_tap *tap;

	/* Priorities that must not send now, as the peer's PFC says: frames that wait here wait on.
	 * May be NULL; outlives the engine. */
	const uint8_t *paused;

	/* Connections to this service of the connection manager are not numbered, and events and
	 * policies leave them alone (but not the slow receiver, as there is one wire): by them a
	 * tester talks with its own other half. 0: none. */
	uint64_t spared_service;

	uint32_t max_connections; /* 0: 4096; the one least lately used gives way */
	uint32_t max_held;        /* frames delayed, made or waiting; 0: what policies need */
	uint32_t frame_capacity;  /* bytes; 0: VL_FRAME_DEFAULT_CAPACITY */
};

struct vl_fault_event_counters {
	uint64_t matched;        /* packets that fit, before nth, every, ... */
	uint64_t acted;          /* on so many of them it was done */
	uint64_t not_applicable; /* chosen, but it could not be done to such a packet */
	uint64_t no_room;        /* chosen, but too many frames were held */
};

#define VL_FAULT_COUNTERS(X)                                                                       \
	X(answers_suppressed, "frames", "answers not sent, by suppress_acks or stop_answering")    \
	X(acks_coalesced, "frames", "ACKs not sent, as a later one speaks for them")               \
	X(refused_followers, "frames", "not taken, as they came behind a refused packet")          \
	X(rnr_by_rate, "frames", "refused as no receive was posted, by the receive rate")          \
	X(slow_receiver_dropped, "frames", "found no room in the slow receiver's buffer")          \
	X(held_too_long, "frames", "dropped when their time came, as the port takes none so long") \
	X(answers_not_held, "frames", "answers sent at once, as there was no room to hold them")   \
	X(pauses_sent, "frames", "PFC frames sent with a time, by events and the slow receiver")   \
	X(connections_forgotten, "connections", "gave way to a newer one, as the table was full")

struct vl_fault_counters {
	VL_FAULT_COUNTERS(VL_COUNTER_FIELD)
};

struct vl_fault;

/* NULL with *error: -EINVAL (vl_fault_config_error says what), -ENOMEM. */
struct vl_fault *vl_fault_create(const struct vl_fault_config *config, int *error);
void vl_fault_destroy(struct vl_fault *fault); /* NULL is fine */
/* What is wrong with a configuration, as text for people; NULL: nothing. *event: the event that is
 * to blame, UINT32_MAX: none. */
const char *vl_fault_config_error(const struct vl_fault_config *config, uint32_t *event);
/* To be set on the endpoint. */
struct vl_frame_filter vl_fault_filter(struct vl_fault *fault);
const struct vl_fault_counters *vl_fault_counters(const struct vl_fault *fault);
const struct vl_fault_event_counters *vl_fault_event_counters(const struct vl_fault *fault,
							      uint32_t event);

#endif
