/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * A limit in bytes of memory, and the size of the cells that memory comes in, from the numbers of
 * frames of several lengths that reach it: each says that the limit lies within one frame's
 * memory, and only for the right size of a cell do all of them agree.
 */
#ifndef VERBLINE_PROBE_CELL_H
#define VERBLINE_PROBE_CELL_H

#include "dataplane/probe/probe.h"

/* frames - below < limit / (memory of a frame) <= frames + above */
struct vl_probe_count {
	uint32_t length, frames;
	double below, above;
};

/* The sizes of a cell for which all counts agree; bytes alone, if they explain all. False: none. */
bool vl_probe_cell_range(const struct vl_probe_count *counts, unsigned int count, uint32_t *least,
			 uint32_t *most);
/* The cell, as *limit, that suits the counts best: most of them agree, and by the widest margin.
 * cell: 0, or the one that is known. False: no size of a cell makes them agree. */
bool vl_probe_find_limit(const struct vl_probe_count *counts, unsigned int count, uint32_t cell,
			 struct vl_probe_limit *limit);

#endif
