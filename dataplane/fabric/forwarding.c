/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/fabric/forwarding.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define FREE_ROUTE   UINT64_MAX
#define FIRST_ROUTES 64u
#define FIRST_WAYS   64u

/* ---- The table ------------------------------------------------------------------------- */

static bool allocate_routes(struct vl_forwarding *forwarding, uint32_t count)
{
	struct vl_forwarding_route *routes = malloc(count * sizeof(*routes));

	if (!routes)
		return false;
	for (uint32_t i = 0; i < count; i++)
		routes[i].mac = FREE_ROUTE;
	forwarding->routes = routes;
	forwarding->route_mask = count - 1;
	return true;
}

int vl_forwarding_init(struct vl_forwarding *forwarding, uint64_t seed)
{
	*forwarding = (struct vl_forwarding){.seed = seed};
	return allocate_routes(forwarding, FIRST_ROUTES) ? 0 : -ENOMEM;
}

void vl_forwarding_release(struct vl_forwarding *forwarding)
{
	free(forwarding->routes);
	free(forwarding->ways);
}

static int grow_routes(struct vl_forwarding *forwarding)
{
	struct vl_forwarding_route *old = forwarding->routes;
	uint32_t old_count = forwarding->route_mask + 1;

	if (!allocate_routes(forwarding, 2 * old_count))
		return -ENOMEM;
	for (uint32_t i = 0; i < old_count; i++) {
		if (old[i].mac != FREE_ROUTE)
			*vl_forwarding_find(forwarding, old[i].mac) = old[i];
	}
	free(old);
	return 0;
}

static bool is_set_at(const struct vl_forwarding *forwarding, uint32_t start, const uint32_t *ports,
		      uint32_t count)
{
	const uint16_t *set = forwarding->ways + start;

	if (set[0] != count)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		if (set[1 + i] != ports[i])
			return false;
	}
	return true;
}

static int reserve_ways(struct vl_forwarding *forwarding, uint32_t count)
{
	uint32_t capacity = forwarding->way_capacity ? forwarding->way_capacity : FIRST_WAYS;
	uint16_t *ways;

	while (capacity < forwarding->way_count + count)
		capacity *= 2;
	if (capacity == forwarding->way_capacity)
		return 0;
	ways = realloc(forwarding->ways, capacity * sizeof(*ways));
	if (!ways)
		return -ENOMEM;
	forwarding->ways = ways;
	forwarding->way_capacity = capacity;
	return 0;
}

/* Where the set's ports are, *start; it is added if there is none yet. */
static int intern(struct vl_forwarding *forwarding, const uint32_t *ports, uint32_t count,
		  uint32_t *start)
{
	uint32_t i = 0;

	while (i < forwarding->way_count && !is_set_at(forwarding, i, ports, count))
		i += 1u + forwarding->ways[i];
	if (i == forwarding->way_count) {
		if (reserve_ways(forwarding, 1 + count))
			return -ENOMEM;
		forwarding->ways[i] = (uint16_t)count;
		for (uint32_t n = 0; n < count; n++)
			forwarding->ways[i + 1 + n] = (uint16_t)ports[n];
		forwarding->way_count += 1 + count;
	}
	*start = i + 1;
	return 0;
}

int vl_forwarding_add(struct vl_forwarding *forwarding, const uint8_t mac[6], const uint32_t *ports,
		      uint32_t count)
{
	struct vl_forwarding_route *route;
	uint32_t port = ports[0];

	if (2 * forwarding->route_count > forwarding->route_mask && grow_routes(forwarding))
		return -ENOMEM;
	if (count > 1 && intern(forwarding, ports, count, &port))
		return -ENOMEM;
	route = vl_forwarding_find(forwarding, vl_mac_number(mac));
	if (route->mac == FREE_ROUTE)
		forwarding->route_count++;
	*route = (struct vl_forwarding_route){vl_mac_number(mac), count, port};
	return 0;
}

/* ---- The choice ------------------------------------------------------------------------ */

static uint64_t load64(const uint8_t *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

static uint32_t load32(const uint8_t *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

/* The finalizer of MurmurHash3 over the state and a word: each bit of both reaches all. */
static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash ^= word;
	hash ^= hash >> 33;
	hash *= UINT64_C(0xff51afd7ed558ccd);
	hash ^= hash >> 33;
	hash *= UINT64_C(0xc4ceb9fe1a85ec53);
	return hash ^ hash >> 33;
}

static bool has_ports(uint8_t protocol)
{
	return protocol == 17 || protocol == 6;
}

uint64_t vl_forwarding_flow_hash(uint64_t seed, const uint8_t *frame, uint32_t length)
{
	const uint8_t *end = frame + length, *ip = frame + 14, *ports;
	const uint8_t *type = frame + 12;
	uint8_t protocol;

	if (type[0] == 0x81 && type[1] == 0x00 && length >= 18) {
		type += 4;
		ip += 4;
	}
	if (type[0] == 0x08 && type[1] == 0x00 && ip + 20 <= end) {
		protocol = ip[9];
		seed = mix(seed, load64(ip + 12));
		ports = ip + 4 * (ip[0] & 15);
		/* Only the first fragment has ports: none counts. */
		if (ip[6] & 0x3f || ip[7])
			protocol = 0;
	} else if (((type[0] == 0x86 && type[1] == 0xdd) || (type[0] == 0x89 && type[1] == 0x15)) &&
		   ip + 40 <= end) {
		protocol = ip[6];
		for (unsigned int i = 8; i < 40; i += 8)
			seed = mix(seed, load64(ip + i));
		ports = ip + 40;
	} else {
		return mix(mix(seed, vl_mac_number(frame)), vl_mac_number(frame + 6));
	}
	if (!has_ports(protocol) || ports + 4 > end)
		return mix(seed, protocol);
	return mix(seed, (uint64_t)protocol << 32 | load32(ports));
}

uint32_t vl_forwarding_choose(const struct vl_forwarding *forwarding,
			      const struct vl_forwarding_route *route, const uint8_t *frame,
			      uint32_t length)
{
	uint64_t hash = vl_forwarding_flow_hash(forwarding->seed, frame, length);

	return forwarding->ways[route->port + (uint32_t)(((hash >> 32) * route->way_count) >> 32)];
}
