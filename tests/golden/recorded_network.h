/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Hosts whose queue pairs talk over a network that loses and reorders, in virtual time. Every
 * packet is captured when it is sent, before anything happens to it, and what happens to it is
 * known: the truth that replay has to find again.
 */
#ifndef VERBLINE_TESTS_RECORDED_NETWORK_H
#define VERBLINE_TESTS_RECORDED_NETWORK_H

#include "transport/verbline.h"

#define NETWORK_HOSTS       4u
#define NETWORK_CONNECTIONS 1024u

enum network_operation {
	NETWORK_SEND = 1u << 0, /* plain, with immediate, with invalidate */
	NETWORK_WRITE = 1u << 1,
	NETWORK_READ = 1u << 2,
	NETWORK_ATOMIC = 1u << 3,
	NETWORK_FLUSH = 1u << 4,
	NETWORK_ATOMIC_WRITE = 1u << 5,
	NETWORK_ALL = (1u << 6) - 1,
};

struct network_parameters {
	uint64_t seed;
	uint32_t connections;
	uint32_t messages; /* of each side of each connection that asks */
	bool both_ask;
	enum ibv_qp_type type; /* 0: RC */
	enum ibv_mtu mtu;      /* 0: 1024 */
	uint32_t operations;   /* 0: NETWORK_ALL */
	uint32_t largest;      /* bytes of a message; 0: 8000 */
	uint32_t lost[2];      /* per mille: requests, responses */
	uint32_t late;         /* per mille: delayed behind those that follow */
	uint32_t receives;     /* posted at a time; 0: plenty */
	uint32_t hosts;        /* 0: 2; connection n goes from host 0 to host 1 + n % (hosts - 1) */
	bool same_qpns;        /* all hosts give their QPs the same numbers */
	bool unlimited_credits;
	bool counts_over; /* PSNs start just below their end */
	bool same_psns;   /* every connection starts at PSN 0 */
	bool marked;      /* every packet arrives, and is recorded, with CE */
	enum vl_encapsulation encapsulation;
	bool vlan;
	bool invalidates;      /* SENDs with invalidate now and then; one connection only */
	uint32_t window;       /* messages under way; 0: 8 */
	bool spreads_counters; /* atomics everywhere, not on few shared counters */
};

/* A packet as it was sent. */
struct network_packet {
	uint64_t time;
	uint8_t *bytes;
	uint32_t length;
	bool is_request;
	bool was_lost;
	bool was_late;  /* something sent later on the same connection came before it */
	uint64_t order; /* of its arrival */
};

struct network_capture {
	struct network_packet *packets;
	uint32_t count, room;
	uint64_t messages; /* completed, all requesters together */
	uint64_t failures; /* completions with an error */
};

/* Runs until all messages are done, or fails an assertion. */
void network_record(const struct network_parameters *parameters, struct network_capture *capture);
void network_release(struct network_capture *capture);

/* Writes packets [first, first + count) that keep() wants (NULL: all) to a new capture file. */
void network_write(const struct network_capture *capture, uint32_t first, uint32_t count,
		   bool (*keep)(const struct network_packet *packet), const char *path);

#endif
