/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * A mix of messages: entries of a verb and a size, or a range of sizes, drawn by weight or taken in
 * turn. The same seed gives the same messages. Drawing takes constant time: two random numbers, no
 * division.
 */
#ifndef VERBLINE_GENERATE_MIX_H
#define VERBLINE_GENERATE_MIX_H

#include "dataplane/generate/verb.h"
#include "transport/random.h"

#include <stdbool.h>
#include <stdint.h>

#define VL_MIX_MAX_ENTRIES 64u

struct vl_mix_entry {
	enum vl_flow_verb verb;
	uint32_t least, most; /* bytes, equal for a fixed size; each size between is as likely */
	uint32_t weight;      /* 1..1000000; in turn: so many of it one after the other */
};

struct vl_mix_config {
	uint32_t count; /* 1 to VL_MIX_MAX_ENTRIES */
	bool in_turn;   /* entry after entry, then from the first again; else drawn by weight */
	struct vl_mix_entry entries[VL_MIX_MAX_ENTRIES];
};

struct vl_mix {
	struct vl_mix_config config;
	/* Walker's alias method: of a random number's column, the part (of 2^32) that is the
	 * column's own entry, and the entry that has the rest. */
	uint32_t part[VL_MIX_MAX_ENTRIES];
	uint8_t other[VL_MIX_MAX_ENTRIES];
};

/* One queue pair's place in a mix. */
struct vl_mix_cursor {
	struct vl_random random;
	uint32_t entry;    /* in turn: this one next */
	uint32_t repeated; /* in turn: so often already */
};

struct vl_message {
	enum vl_flow_verb verb;
	uint32_t size; /* bytes */
};

/* What is wrong, as text for people; NULL: nothing. */
const char *vl_mix_config_error(const struct vl_mix_config *config, enum ibv_qp_type transport,
				uint32_t path_mtu);
/* The configuration has no error. */
void vl_mix_init(struct vl_mix *mix, const struct vl_mix_config *config);
struct vl_message vl_mix_next(const struct vl_mix *mix, struct vl_mix_cursor *cursor);
uint32_t vl_mix_largest(const struct vl_mix_config *config);
/* Mean size in bytes, of many messages. */
double vl_mix_mean(const struct vl_mix_config *config);
/* Whether some message has immediate data. */
bool vl_mix_has_immediates(const struct vl_mix_config *config);
bool vl_mix_takes_receives(const struct vl_mix_config *config);

#endif
