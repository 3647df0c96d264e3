/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * A histogram of unsigned values, linear within each power of two: any 64-bit value is counted in
 * constant time and reported with an error below 1/128. Fixed size, no allocation. Percentiles are
 * written in the .hgrm text of HdrHistogram, so that its plotters work.
 */
#ifndef VERBLINE_HISTOGRAM_H
#define VERBLINE_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define VL_HISTOGRAM_BITS  7 /* of a value kept below its highest one */
#define VL_HISTOGRAM_SLOTS ((64 - VL_HISTOGRAM_BITS + 1) << VL_HISTOGRAM_BITS)

/* All zeros is an empty histogram. */
struct vl_histogram {
	uint64_t count;
	uint64_t least, most; /* of the values, exact; meaningless while count is 0 */
	double sum, square_sum;
	uint64_t slots[VL_HISTOGRAM_SLOTS];
};

void vl_histogram_record(struct vl_histogram *histogram, uint64_t value);
void vl_histogram_add(struct vl_histogram *histogram, const struct vl_histogram *other);
/* The least value that at least part (0..1) of the values do not exceed, 0 without values. Not
 * below it and less than 1/128 above, never above the largest. */
uint64_t vl_histogram_percentile(const struct vl_histogram *histogram, double part);
/* Makes one whose slots somebody else has filled as if it were ours: count is what the slots hold,
 * least and most lie in the first and the last that holds any. False: it has more values than
 * anybody could have measured, or sums that are no numbers, and must not be used. */
bool vl_histogram_adopt(struct vl_histogram *histogram);
double vl_histogram_mean(const struct vl_histogram *histogram);
double vl_histogram_deviation(const struct vl_histogram *histogram); /* standard, of all values */
/* Values are divided by scale: 1000 prints ns as us. 0, or a negative errno value. */
int vl_histogram_write(const struct vl_histogram *histogram, double scale, FILE *out);

#endif
