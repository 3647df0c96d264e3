/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * A run of the generator while it happens: on a terminal a picture redrawn in place (a row for each
 * group and stream, with its rate, a bar and the history), elsewhere a line a second.
 */
#ifndef VERBLINE_GEN_LIVE_H
#define VERBLINE_GEN_LIVE_H

#include "apps/gen/config.h"
#include "transport/counters.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define GEN_LIVE_ROWS (GEN_MAX_GROUPS + GEN_MAX_STREAMS)

/* What has been counted since the start. */
struct gen_live_reading {
	struct {
		uint64_t bytes, messages;
	} rows[GEN_LIVE_ROWS]; /* groups, completed payload; then streams, frames that were sent */
	uint32_t active, failed; /* queue pairs */
	struct vl_counters counters;
};

struct gen_live;

/* is_screen: out is a terminal that takes ECMA-48. NULL: no memory. */
struct gen_live *gen_live_create(const struct gen_config *config, FILE *out, bool is_screen);
/* elapsed: ns since the start. Draws if it is time to. */
void gen_live_update(struct gen_live *live, const struct gen_live_reading *reading,
		     uint64_t elapsed);
/* Leaves the terminal as it was, with the last picture on it. NULL is fine. */
void gen_live_destroy(struct gen_live *live);

#endif
