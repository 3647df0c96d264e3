/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * A run while it happens: on a terminal a picture that is redrawn in place (rates of the queue
 * pairs as bars and their history, the queue against Kmin and Kmax, marks, CNPs, drops, pauses);
 * elsewhere one plain line now and then.
 */
#ifndef VERBLINE_VIEW_H
#define VERBLINE_VIEW_H

#include "apps/report/results.h"

#include <stdint.h>
#include <stdio.h>

enum vl_view_style {
	VL_VIEW_SCREEN, /* ANSI; redraws in place */
	VL_VIEW_LINES,  /* a line every tenth of the run */
};

struct vl_view;

struct vl_view_config {
	FILE *out;
	enum vl_view_style style;
	/* What a run of the whole duration takes to watch, ns of real time; 0: as fast as it
	 * goes. */
	uint64_t watch_time;
	unsigned int columns; /* of the screen; 0: 80 */
	unsigned int rows;    /* 0: 24 */
};

/* NULL: no memory. The results are those that the run fills. */
struct vl_view *vl_view_create(const struct vl_view_config *config,
			       const struct vl_results *results);
/* After each sample. May sleep to keep the pace. */
void vl_view_update(struct vl_view *view);
/* Shows the last state and leaves the terminal as it was. NULL is fine. */
void vl_view_destroy(struct vl_view *view);

#endif
