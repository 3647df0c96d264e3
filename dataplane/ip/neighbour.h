/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Who has which MAC: a table of bounded size, whose entries are asked for with growing pauses,
 * believed for a time and asked for again. It knows no protocol: ARP and neighbour discovery send
 * what it says is due, and tell it what they hear.
 */
#ifndef VERBLINE_IP_NEIGHBOUR_H
#define VERBLINE_IP_NEIGHBOUR_H

#include "dataplane/ip/ip.h"
#include "transport/timer_wheel.h"

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

/* Requests before an address counts as unreachable, the wait after the first, which doubles with
 * each, and how long a failed one is left alone. */
#define VL_NEIGHBOUR_REQUESTS     5u
#define VL_NEIGHBOUR_FIRST_WAIT   UINT64_C(100000000)
#define VL_NEIGHBOUR_FAILURE_TIME UINT64_C(1000000000)
/* An answer is believed for this long; what uses it later has it asked for again (RFC 4861,
 * REACHABLE_TIME). */
#define VL_NEIGHBOUR_REACHABLE_TIME UINT64_C(30000000000)

enum vl_neighbour_state {
	VL_NEIGHBOUR_FREE,
	VL_NEIGHBOUR_ASKING,  /* no MAC yet */
	VL_NEIGHBOUR_LEARNED, /* the MAC that a packet came from */
	VL_NEIGHBOUR_KNOWN,   /* the MAC that ARP or ND said */
	VL_NEIGHBOUR_FAILED,  /* nobody answered */
};

struct vl_neighbour {
	union ibv_gid address;
	struct vl_timer timer;      /* the next request, or giving up; armed: it is asked for */
	struct vl_neighbour *chain; /* in the bucket or the free list */
	struct vl_neighbour *older, *newer;
	uint64_t time; /* ns, of the last confirmation, or of the failure */
	uint8_t mac[6];
	uint8_t state;    /* enum vl_neighbour_state */
	uint8_t requests; /* sent, of this attempt */
};

struct vl_neighbours {
	struct vl_timer_wheel wheel;
	struct vl_neighbour *entries, *free;
	struct vl_neighbour **buckets;
	uint32_t bucket_mask;
	struct vl_neighbour *oldest, *newest; /* by confirmation */
	struct vl_ip_counters *counters;
};

/* Counts what it evicts and gives up on in counters, the caller's. -ENOMEM. */
int vl_neighbours_open(struct vl_neighbours *neighbours, uint32_t count,
		       struct vl_ip_counters *counters);
void vl_neighbours_close(struct vl_neighbours *neighbours);

/* NULL: not in the table. */
struct vl_neighbour *vl_neighbour_find(struct vl_neighbours *neighbours,
				       const union ibv_gid *address);
/* Finds it, or makes it in the place of the one least lately confirmed if there is no other. */
struct vl_neighbour *vl_neighbour_add(struct vl_neighbours *neighbours,
				      const union ibv_gid *address);
/* ARP or ND said so (state KNOWN), or a packet came from there (LEARNED). */
void vl_neighbour_confirm(struct vl_neighbours *neighbours, struct vl_neighbour *neighbour,
			  enum vl_neighbour_state state, const uint8_t mac[6], uint64_t now);
/* 0 with the MAC; -EAGAIN: it is being asked for; -EHOSTUNREACH. Starts asking where that is
 * due. */
int vl_neighbour_mac(struct vl_neighbours *neighbours, struct vl_neighbour *neighbour,
		     uint8_t mac[6], uint64_t now);
/* A neighbour that is to be asked for now; counts the request. NULL: none. */
struct vl_neighbour *vl_neighbours_next_request(struct vl_neighbours *neighbours, uint64_t now);

#endif
