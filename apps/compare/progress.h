/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* How far a comparison is: one line that renews itself on a terminal, a line for each run that has
 * ended elsewhere. */
#ifndef VERBLINE_COMPARE_PROGRESS_H
#define VERBLINE_COMPARE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct vl_progress {
	FILE *out;
	bool is_terminal;
	unsigned int runs, ended;
	uint64_t started; /* ns, of the monotonic clock */
};

uint64_t vl_progress_now(void); /* ns, of the monotonic clock */
void vl_progress_start(struct vl_progress *progress, FILE *out, unsigned int runs);
/* One run has ended. label: which; problem: NULL, or why it failed; time: ns that it took. */
void vl_progress_ended(struct vl_progress *progress, const char *label, const char *problem,
		       uint64_t time);
/* part: of all work, 0..1. */
void vl_progress_show(struct vl_progress *progress, double part, unsigned int running);
/* Takes the line away. */
void vl_progress_clear(struct vl_progress *progress);

/* "about 12 s left", "about 3 min left": what an estimate deserves of digits. */
#define VL_PROGRESS_TEXT 40
const char *vl_progress_left(double seconds, char text[VL_PROGRESS_TEXT]);

#endif
