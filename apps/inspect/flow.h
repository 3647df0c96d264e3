/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * A flow is what one address sends to one QP of another: for a connected service that is one half
 * of a connection, requests and responses alike; a datagram flow is told apart by its source QP
 * too, which only datagrams carry. The table is bounded: packets of flows beyond it are counted.
 */
#ifndef VERBLINE_INSPECT_FLOW_H
#define VERBLINE_INSPECT_FLOW_H

#include "apps/inspect/event.h"
#include "transport/wire/packet.h"

#include <stdbool.h>
#include <stdint.h>

#define INSPECT_MAX_FLOWS UINT32_C(65536)
/* Missing PSN ranges of a flow that are remembered, so that a late packet is known as such. */
#define INSPECT_MAX_GAPS 32

struct inspect_flow_key {
	union ibv_gid source, destination; /* a LID stands in the last two bytes */
	uint32_t source_qpn;               /* 0 for a connected service */
	uint32_t destination_qpn;
	uint32_t encapsulation; /* enum vl_encapsulation */
	uint32_t zero;
};

/* How the other half of a connection was found. */
enum inspect_pairing {
	INSPECT_UNPAIRED,
	INSPECT_PAIRED_BY_CM,     /* a REQ and its REP named both QPs */
	INSPECT_PAIRED_BY_QPN,    /* datagrams name both */
	INSPECT_PAIRED_BY_PSN,    /* its responses fit the requests of no other flow */
	INSPECT_PAIRED_BY_ADDRESS /* the only flow back between the two addresses */
};

/* PSNs [first, first + count) that have not been seen. */
struct inspect_gap {
	uint32_t first, count;
};

/* A NAK or RNR NAK to which the requester has not yet reacted. */
struct inspect_nak {
	bool pending;
	uint8_t syndrome;
	uint32_t psn;
	uint32_t event; /* where it is kept, or INSPECT_NO_EVENT */
	uint64_t packet, time;
};

/* Requests that come again, from where the requester went back to up to the newest PSN. One that
 * had been missing may also be just late: that shows only in what follows it. */
struct inspect_run {
	bool active;
	bool tentative;             /* so far one packet, which had been missing */
	uint32_t next_psn;          /* behind its newest packet */
	uint32_t event;             /* where its event is kept, or INSPECT_NO_EVENT */
	struct inspect_event first; /* the same, until it is sure to be one */
	uint32_t first_payload;
	/* As they were before, for a run that turns out to be none. */
	struct inspect_nak nak, rnr;
	uint32_t retry_psn, retries;
};

/* The requests of a flow, as their PSNs tell. */
struct inspect_requests {
	bool started;
	bool next_uncertain; /* behind a READ whose number of responses is not known */
	bool in_message;
	bool message_unknown;   /* what stood before is not known: start, or behind a gap */
	uint8_t message_opcode; /* of the message's first packet, or the first that was seen */
	uint32_t first_psn;     /* of the first packet seen */
	uint32_t next_psn;      /* expected */
	uint32_t uncertain_psn, uncertain_length; /* of that READ */
	uint64_t packets;                         /* all */
	uint64_t messages;                        /* seen whole to their end, once each */
	uint64_t reads, atomics;                  /* of these */
	uint64_t read_bytes;                      /* asked for */

	struct inspect_run run;
	uint64_t retransmitted; /* packets */
	uint64_t retransmitted_bytes;
	uint64_t retransmissions; /* runs */
	uint64_t runs_by_cause[INSPECT_CAUSE_COUNT];
	uint32_t retry_psn;  /* where the last run started */
	uint32_t retries;    /* runs from there without an answer in between */
	uint64_t duplicates; /* packets that are copies of another, not sent again */

	struct inspect_gap gaps[INSPECT_MAX_GAPS];
	uint32_t gap_count;
	uint64_t gap_events;  /* times that PSNs were skipped */
	uint64_t gap_packets; /* PSNs skipped */
	uint64_t gap_filled;  /* of these, seen later as a retransmission */
	bool any_late;
	uint32_t late_psn;     /* of the last one that was only late */
	uint64_t reordered;    /* of these, seen later without one being asked for */
	uint64_t gap_answered; /* of these, acknowledged all the same: the capture missed them */

	/* Answers, from the other half */
	bool answered;         /* any yet */
	uint32_t answered_psn; /* all before this one are */
	uint64_t answer_packet;
	struct inspect_nak nak, rnr;
	uint32_t responder_psn; /* that the responder expects, if all packets seen reached it */
	uint64_t lost_before, lost_behind, out_of_order; /* sequence NAKs by enum inspect_loss */
	uint64_t order_errors; /* opcodes that may not follow each other */
	uint64_t restarts;     /* a new connection on the same QP */
};

struct inspect_responses {
	uint64_t acks, naks, rnr_naks;
	uint64_t nak_codes[8];    /* by the NAK's value; the last one counts all above */
	uint64_t limited_credits; /* ACKs with a credit limit */
	uint64_t reads, atomics;  /* answered to the end */
	bool started, in_read;
	bool gap_open;        /* READ responses were missing, and the READ is not yet repeated */
	uint32_t next_psn;    /* of READ responses: expected */
	uint32_t highest_psn; /* of READ responses: all before were seen or are missing */
	uint64_t gap_events, gap_packets;
	uint64_t repeated; /* packets of READ responses seen before */
	uint32_t pairing_attempts;
	uint64_t packets;
};

struct inspect_flow {
	struct inspect_flow_key key;
	uint32_t index;                    /* order of appearance */
	struct inspect_flow *reverse;      /* the other half; may be NULL */
	struct inspect_flow *next_of_pair; /* next flow with the same two addresses */
	enum inspect_pairing pairing;
	uint64_t service_id; /* that a REQ asked for; 0: not known */

	uint32_t services; /* bit n: opcodes n << 5 were seen */
	uint8_t source_mac[6], destination_mac[6];
	uint16_t vlan_id;
	bool vlan_present;
	bool is_gsi;

	uint64_t packets, bytes; /* on the wire, from the BTH's link header to the ICRC */
	uint64_t payload;        /* bytes, each counted once */
	uint64_t first_packet, last_packet;
	uint64_t first_time, last_time;
	uint32_t path_mtu;        /* 0: not known */
	uint32_t largest_payload; /* of one packet */
	uint64_t icrc_wrong, cut;

	uint64_t ecn[4]; /* by enum vl_ecn */
	uint64_t dscps;  /* bit n: DSCP n was seen; CNPs have their own */
	uint64_t cnp_dscps;
	uint32_t priorities; /* PCP or SL likewise */
	uint64_t fecn, becn;
	uint16_t udp_source_port; /* of the first packet */
	uint64_t udp_source_port_changes;
	uint16_t last_udp_source_port;
	uint64_t cnps; /* CNPs to this flow's QP */
	uint64_t first_cnp_packet;
	uint64_t first_cnp_time; /* to the other half, whose rate it is to cut; 0: none */
	uint64_t payload_before_cnp;
	uint32_t newest_history; /* of history.h */

	struct inspect_requests requests;
	struct inspect_responses responses;
};

struct inspect_flow_table {
	struct inspect_flow **slots; /* open addressing, a power of two */
	uint32_t slot_count;
	struct inspect_flow **blocks; /* flows never move */
	uint32_t count;
	struct inspect_pair **pairs; /* flows by their two addresses */
	uint32_t pair_slot_count, pair_count;
	uint32_t limit;                  /* of flows */
	struct inspect_pair *pair_store; /* of a table that was reserved: as many as flows */
	uint64_t seed;
	uint64_t overflow_packets; /* of flows for which there was no room */
};

/* Flows from one address to another. */
struct inspect_pair {
	union ibv_gid source, destination;
	uint32_t encapsulation;
	uint32_t flow_count;
	struct inspect_flow *newest;
};

/* 0 or -ENOMEM. */
int inspect_flows_init(struct inspect_flow_table *table);
/* Takes the memory of so many flows, up to INSPECT_MAX_FLOWS, now: none is allocated later, and
 * packets of further ones are counted. Before the first flow. 0 or -ENOMEM. */
int inspect_flows_reserve(struct inspect_flow_table *table, uint32_t count);
void inspect_flows_free(struct inspect_flow_table *table);
struct inspect_flow_key inspect_flow_key_of(const struct vl_packet *packet);
struct inspect_flow *inspect_flow_find(const struct inspect_flow_table *table,
				       const struct inspect_flow_key *key);
/* NULL if the table is full (counted) or memory is short. */
struct inspect_flow *inspect_flow_get(struct inspect_flow_table *table,
				      const struct inspect_flow_key *key);
/* In order of appearance; index < table->count. */
struct inspect_flow *inspect_flow_at(const struct inspect_flow_table *table, uint32_t index);
/* Flows from source to destination, or NULL. */
struct inspect_pair *inspect_pair_find(const struct inspect_flow_table *table,
				       const union ibv_gid *source,
				       const union ibv_gid *destination, uint32_t encapsulation);

#endif
