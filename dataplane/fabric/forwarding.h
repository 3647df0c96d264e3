/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Which port a destination MAC leads to. Several ports may be equally good: then a hash of the
 * flow chooses (addresses, protocol and UDP or TCP ports; MACs if it is not IP), so that a flow
 * stays on one of them (RFC 2992). The hash is seeded: switches with different seeds choose
 * independently of each other.
 */
#ifndef VERBLINE_FABRIC_FORWARDING_H
#define VERBLINE_FABRIC_FORWARDING_H

#include <stdint.h>

#define VL_FORWARDING_NO_WAY UINT32_MAX

struct vl_forwarding_route {
	uint64_t mac; /* 48 bits; UINT64_MAX: free */
	uint32_t way_count;
	uint32_t port; /* the one, or where in ways the ports are */
};

struct vl_forwarding {
	struct vl_forwarding_route *routes; /* open addressing, never full */
	uint32_t route_mask, route_count;
	uint16_t *ways; /* sets of ports, each led by its count; equal sets are there once */
	uint32_t way_count, way_capacity;
	uint64_t seed;
};

/* -ENOMEM. */
int vl_forwarding_init(struct vl_forwarding *forwarding, uint64_t seed);
void vl_forwarding_release(struct vl_forwarding *forwarding);
/* Replaces an earlier route. count of at least 1, different ports, below 2^16. -ENOMEM. */
int vl_forwarding_add(struct vl_forwarding *forwarding, const uint8_t mac[6], const uint32_t *ports,
		      uint32_t count);

/* The hash of a frame's flow; length of at least 14. */
uint64_t vl_forwarding_flow_hash(uint64_t seed, const uint8_t *frame, uint32_t length);

static inline uint64_t vl_mac_number(const uint8_t *mac)
{
	return (uint64_t)mac[0] << 40 | (uint64_t)mac[1] << 32 | (uint64_t)mac[2] << 24 |
	       (uint64_t)mac[3] << 16 | (uint64_t)mac[4] << 8 | mac[5];
}

/* The MAC's route, or the free place where it would go. */
static inline struct vl_forwarding_route *vl_forwarding_find(const struct vl_forwarding *forwarding,
							     uint64_t mac)
{
	uint32_t i = (uint32_t)((mac * UINT64_C(0x9e3779b97f4a7c15)) >> 32);

	for (;; i++) {
		struct vl_forwarding_route *route = &forwarding->routes[i & forwarding->route_mask];

		if (route->mac == mac || route->mac == UINT64_MAX)
			return route;
	}
}

uint32_t vl_forwarding_choose(const struct vl_forwarding *forwarding,
			      const struct vl_forwarding_route *route, const uint8_t *frame,
			      uint32_t length);

/* The port by which a frame of at least 14 bytes leaves; VL_FORWARDING_NO_WAY. */
static inline uint32_t vl_forwarding_port(const struct vl_forwarding *forwarding,
					  const uint8_t *frame, uint32_t length)
{
	const struct vl_forwarding_route *route =
		vl_forwarding_find(forwarding, vl_mac_number(frame));

	if (route->mac == UINT64_MAX)
		return VL_FORWARDING_NO_WAY;
	if (route->way_count == 1)
		return route->port;
	return vl_forwarding_choose(forwarding, route, frame, length);
}

#endif
