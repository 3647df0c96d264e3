/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* A memif connection: made by messages on a socket, after which both sides use the memory alone. */
#ifndef VERBLINE_PORT_MEMIF_LINK_H
#define VERBLINE_PORT_MEMIF_LINK_H

#include "dataplane/port/memif_protocol.h"
#include "dataplane/port/port.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MEMIF_MAX_REGIONS 16

struct memif_region {
	uint8_t *memory;
	uint64_t size;
};

struct memif_channel {
	struct memif_ring *ring;
	int interrupt; /* eventfd of the ring; -1 */
	uint16_t size; /* of the ring, a power of two */
};

struct memif_link {
	bool is_client;
	bool is_begun; /* server: the client has said who it is */
	uint16_t region_count, rx_count, tx_count;
	uint32_t buffer_size; /* client: of every buffer */
	int socket;
	int64_t deadline_ms; /* of the monotonic clock: the link stands, or is given up */
	struct memif_region regions[MEMIF_MAX_REGIONS];
	struct memif_channel rx[VL_PORT_MAX_QUEUES], tx[VL_PORT_MAX_QUEUES];
	/* Set by a worker that finds the peer's rings broken: the link is to end. */
	bool is_broken;
};

struct memif_link_config {
	uint32_t id;
	uint16_t queue_count;
	uint32_t buffer_size;
	uint8_t log2_ring;
};

/* Both take the socket over, speak with the peer, for two seconds at most, and return the link, or
 * NULL if that comes to nothing. */
struct memif_link *memif_link_connect(int socket, const struct memif_link_config *config);
struct memif_link *memif_link_accept(int socket, const struct memif_link_config *config);
/* Greets one who comes while the server has a peer, and sends him away. */
void memif_link_refuse(int socket, const struct memif_link_config *config);
/* False: the peer has ended it. Called when the socket has something to read. */
bool memif_link_listen(const struct memif_link *link);
void memif_link_free(struct memif_link *link);

/* Where a descriptor leads, or NULL if that is not wholly within the memory. */
static inline uint8_t *memif_link_buffer(const struct memif_link *link,
					 const struct memif_descriptor *descriptor, uint32_t length)
{
	const struct memif_region *region;

	if (__builtin_expect(descriptor->region >= link->region_count, 0))
		return NULL;
	region = &link->regions[descriptor->region];
	if (__builtin_expect((uint64_t)descriptor->offset + length > region->size, 0))
		return NULL;
	return region->memory + descriptor->offset;
}

#endif
