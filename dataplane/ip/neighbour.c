/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/ip/neighbour.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define NEIGHBOUR_OF(t) ((struct vl_neighbour *)((char *)(t)-offsetof(struct vl_neighbour, timer)))

static struct vl_neighbour **bucket_of(const struct vl_neighbours *neighbours,
				       const union ibv_gid *address)
{
	uint64_t words[2];
	uint64_t hash;

	memcpy(words, address->raw, sizeof(words));
	hash = (words[0] ^ (words[1] + (words[0] << 7))) * UINT64_C(0x9e3779b97f4a7c15);
	hash ^= hash >> 29;
	hash *= UINT64_C(0xbf58476d1ce4e5b9);
	return &neighbours->buckets[hash >> 32 & neighbours->bucket_mask];
}

int vl_neighbours_open(struct vl_neighbours *neighbours, uint32_t count,
		       struct vl_ip_counters *counters)
{
	uint32_t buckets = 1;

	memset(neighbours, 0, sizeof(*neighbours));
	neighbours->counters = counters;
	vl_timer_wheel_init(&neighbours->wheel, 0);
	while (buckets < count)
		buckets *= 2;
	neighbours->bucket_mask = buckets - 1;
	neighbours->entries = calloc(count, sizeof(*neighbours->entries));
	neighbours->buckets = calloc(buckets, sizeof(struct vl_neighbour *));
	if (!neighbours->entries || !neighbours->buckets) {
		vl_neighbours_close(neighbours);
		return -ENOMEM;
	}
	for (uint32_t i = count; i-- > 0;) {
		neighbours->entries[i].chain = neighbours->free;
		neighbours->free = &neighbours->entries[i];
	}
	return 0;
}

void vl_neighbours_close(struct vl_neighbours *neighbours)
{
	free(neighbours->entries);
	free(neighbours->buckets);
	neighbours->entries = NULL;
	neighbours->buckets = NULL;
}

/* ---- The order of confirmation ---------------------------------------------------------- */

static void unlink_neighbour(struct vl_neighbours *neighbours, struct vl_neighbour *neighbour)
{
	*(neighbour->older ? &neighbour->older->newer : &neighbours->oldest) = neighbour->newer;
	*(neighbour->newer ? &neighbour->newer->older : &neighbours->newest) = neighbour->older;
}

static void link_as_newest(struct vl_neighbours *neighbours, struct vl_neighbour *neighbour)
{
	neighbour->older = neighbours->newest;
	neighbour->newer = NULL;
	*(neighbours->newest ? &neighbours->newest->newer : &neighbours->oldest) = neighbour;
	neighbours->newest = neighbour;
}

static void evict_oldest(struct vl_neighbours *neighbours)
{
	struct vl_neighbour *neighbour = neighbours->oldest;
	struct vl_neighbour **at = bucket_of(neighbours, &neighbour->address);

	while (*at != neighbour)
		at = &(*at)->chain;
	*at = neighbour->chain;
	unlink_neighbour(neighbours, neighbour);
	vl_timer_cancel(&neighbours->wheel, &neighbour->timer);
	neighbour->state = VL_NEIGHBOUR_FREE;
	neighbour->chain = neighbours->free;
	neighbours->free = neighbour;
	neighbours->counters->evicted++;
}

/* ---- Entries ---------------------------------------------------------------------------- */

struct vl_neighbour *vl_neighbour_find(struct vl_neighbours *neighbours,
				       const union ibv_gid *address)
{
	struct vl_neighbour *neighbour = *bucket_of(neighbours, address);

	while (neighbour && memcmp(&neighbour->address, address, sizeof(*address)))
		neighbour = neighbour->chain;
	return neighbour;
}

struct vl_neighbour *vl_neighbour_add(struct vl_neighbours *neighbours,
				      const union ibv_gid *address)
{
	struct vl_neighbour *neighbour = vl_neighbour_find(neighbours, address);
	struct vl_neighbour **bucket = bucket_of(neighbours, address);

	if (neighbour)
		return neighbour;
	if (!neighbours->free)
		evict_oldest(neighbours);
	neighbour = neighbours->free;
	neighbours->free = neighbour->chain;
	memset(neighbour, 0, sizeof(*neighbour));
	neighbour->address = *address;
	neighbour->chain = *bucket;
	*bucket = neighbour;
	link_as_newest(neighbours, neighbour);
	return neighbour;
}

void vl_neighbour_confirm(struct vl_neighbours *neighbours, struct vl_neighbour *neighbour,
			  enum vl_neighbour_state state, const uint8_t mac[6], uint64_t now)
{
	memcpy(neighbour->mac, mac, sizeof(neighbour->mac));
	neighbour->state = (uint8_t)state;
	neighbour->time = now;
	vl_timer_cancel(&neighbours->wheel, &neighbour->timer);
	unlink_neighbour(neighbours, neighbour);
	link_as_newest(neighbours, neighbour);
}

static void start_asking(struct vl_neighbours *neighbours, struct vl_neighbour *neighbour,
			 uint64_t now)
{
	neighbour->requests = 0;
	vl_timer_arm(&neighbours->wheel, &neighbour->timer, now);
}

int vl_neighbour_mac(struct vl_neighbours *neighbours, struct vl_neighbour *neighbour,
		     uint8_t mac[6], uint64_t now)
{
	switch ((enum vl_neighbour_state)neighbour->state) {
	case VL_NEIGHBOUR_FAILED:
		if (now - neighbour->time < VL_NEIGHBOUR_FAILURE_TIME)
			return -EHOSTUNREACH;
		/* fallthrough */
	case VL_NEIGHBOUR_FREE:
		neighbour->state = VL_NEIGHBOUR_ASKING;
		start_asking(neighbours, neighbour, now);
		return -EAGAIN;
	case VL_NEIGHBOUR_ASKING:
		return -EAGAIN;
	case VL_NEIGHBOUR_LEARNED:
	case VL_NEIGHBOUR_KNOWN:
		break;
	}
	if (now - neighbour->time > VL_NEIGHBOUR_REACHABLE_TIME &&
	    !vl_timer_is_armed(&neighbour->timer))
		start_asking(neighbours, neighbour, now);
	memcpy(mac, neighbour->mac, sizeof(neighbour->mac));
	return 0;
}

static void give_up(struct vl_neighbours *neighbours, struct vl_neighbour *neighbour, uint64_t now)
{
	neighbour->state = VL_NEIGHBOUR_FAILED;
	neighbour->time = now;
	neighbours->counters->unresolved++;
}

struct vl_neighbour *vl_neighbours_next_request(struct vl_neighbours *neighbours, uint64_t now)
{
	struct vl_timer *timer;

	while ((timer = vl_timer_wheel_expire(&neighbours->wheel, now))) {
		struct vl_neighbour *neighbour = NEIGHBOUR_OF(timer);

		if (neighbour->requests == VL_NEIGHBOUR_REQUESTS) {
			give_up(neighbours, neighbour, now);
			continue;
		}
		vl_timer_arm(&neighbours->wheel, timer,
			     now + (VL_NEIGHBOUR_FIRST_WAIT << neighbour->requests));
		neighbour->requests++;
		return neighbour;
	}
	return NULL;
}
