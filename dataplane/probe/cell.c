/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/probe/cell.h"

#include <math.h>

/* Where all counts agree with cells of that size; least > most: nowhere. */
static struct vl_probe_size agree(const struct vl_probe_count *counts, unsigned int count,
				  uint32_t cell)
{
	struct vl_probe_size size = {.most = INFINITY};

	for (unsigned int i = 0; i < count; i++) {
		double memory = (double)vl_probe_occupancy(cell, counts[i].length);

		size.least = fmax(size.least, (counts[i].frames - counts[i].below) * memory);
		size.most = fmin(size.most, (counts[i].frames + counts[i].above) * memory);
	}
	size.value = (size.least + size.most) / 2;
	return size;
}

bool vl_probe_cell_range(const struct vl_probe_count *counts, unsigned int count, uint32_t *least,
			 uint32_t *most)
{
	*most = 0;
	for (uint32_t c = 1; c <= VL_PROBE_MAX_CELL; c++) {
		struct vl_probe_size size = agree(counts, count, c);

		if (size.least > size.most)
			continue;
		if (!*most)
			*least = c;
		*most = c;
		if (c == 1)
			return true;
	}
	return *most;
}

bool vl_probe_find_limit(const struct vl_probe_count *counts, unsigned int count, uint32_t cell,
			 struct vl_probe_limit *limit)
{
	uint32_t first = cell ? cell : 1, last = cell ? cell : VL_PROBE_MAX_CELL;
	double widest = 0;

	for (uint32_t c = first; c <= last; c++) {
		struct vl_probe_size size = agree(counts, count, c);
		double margin = (size.most - size.least) / size.value;

		/* Bytes, where they explain all, are the simplest. */
		if (size.least <= size.most && margin > widest) {
			widest = margin;
			*limit = (struct vl_probe_limit){size, c};
			if (c == 1)
				break;
		}
	}
	return widest > 0;
}
