/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Two devices with a connection manager each, joined in virtual time by a wire that loses,
 * duplicates and delays frames by seed. A test may see and stop every datagram, and send its own.
 */
#ifndef VERBLINE_TESTS_CM_PAIR_H
#define VERBLINE_TESTS_CM_PAIR_H

#include "transport/cm/connection.h"

#define CM_PAIR_DELAY 1000 /* ns, one way */

struct cm_pair;
struct cm_pair_frame;

struct cm_pair_options {
	struct vl_cm_config config[2];
	uint64_t seed;
	uint32_t loss, duplication; /* of 1000 */
	uint64_t jitter;            /* ns at most, so that frames overtake each other */
	bool ipv6;
	enum ibv_mtu active_mtu[2]; /* 0: 4096 */
	int (*resolve)(void *context, const union ibv_gid *destination, uint8_t mac[6]);
	void *context;
};

struct cm_pair {
	struct cm_pair_options options;
	struct vl_device *device[2];
	struct vl_cm *cm[2];
	uint64_t now;
	uint64_t random;
	/* Sees each datagram that leaves a side; false: it is lost. */
	bool (*hook)(struct cm_pair *pair, unsigned int from, const struct vl_cm_message *message);
	void *hook_data;
	uint32_t sent[2][32];         /* by attribute - 0x10 */
	uint8_t traffic_class[2][32]; /* likewise, of the last */
	uint64_t allocations;         /* in all */
	int64_t memory_in_use;        /* bytes */
	struct cm_pair_frame **heap;  /* by time */
	uint32_t heap_count, heap_size, sequence;
};

struct cm_pair *cm_pair_open(const struct cm_pair_options *options);
void cm_pair_close(struct cm_pair *pair);
/* Runs until nothing is left to happen before now + duration. */
void cm_pair_run(struct cm_pair *pair, uint64_t duration);
union ibv_gid cm_pair_gid(const struct cm_pair *pair, unsigned int side);
/* Hands a side a datagram, as from an address: the other side's if source is NULL. */
void cm_pair_inject(struct cm_pair *pair, unsigned int to, const union ibv_gid *source,
		    const uint8_t mad[VL_MAD_LENGTH]);
void cm_pair_inject_message(struct cm_pair *pair, unsigned int to, const union ibv_gid *source,
			    const struct vl_cm_message *message);

#endif
