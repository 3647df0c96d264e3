/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/histogram.h"

#include <errno.h>
#include <math.h>

#define HALF (UINT64_C(1) << VL_HISTOGRAM_BITS)

/* Values in a histogram that somebody else has filled: thousands of them can be added up. */
#define MOST_FOREIGN (UINT64_C(1) << 48)

/* Lines of the .hgrm text per halving of the distance to 100 %. */
#define TICKS_PER_HALF_DISTANCE 5

static uint32_t slot_of(uint64_t value)
{
	uint32_t shift;

	if (value < HALF)
		return (uint32_t)value;
	shift = 63 - (uint32_t)__builtin_clzll(value) - VL_HISTOGRAM_BITS;
	return (uint32_t)(((uint64_t)shift << VL_HISTOGRAM_BITS) + (value >> shift));
}

/* The largest value that is counted in the slot. */
static uint64_t slot_top(uint32_t slot)
{
	uint32_t shift;

	if (slot < 2 * HALF)
		return slot;
	shift = (slot >> VL_HISTOGRAM_BITS) - 1;
	return (((slot & (HALF - 1)) + HALF) << shift) + ((UINT64_C(1) << shift) - 1);
}

void vl_histogram_record(struct vl_histogram *histogram, uint64_t value)
{
	if (!histogram->count || value < histogram->least)
		histogram->least = value;
	if (!histogram->count || value > histogram->most)
		histogram->most = value;
	histogram->count++;
	histogram->sum += (double)value;
	histogram->square_sum += (double)value * (double)value;
	histogram->slots[slot_of(value)]++;
}

void vl_histogram_add(struct vl_histogram *histogram, const struct vl_histogram *other)
{
	if (!other->count)
		return;
	if (!histogram->count || other->least < histogram->least)
		histogram->least = other->least;
	if (!histogram->count || other->most > histogram->most)
		histogram->most = other->most;
	histogram->count += other->count;
	histogram->sum += other->sum;
	histogram->square_sum += other->square_sum;
	for (uint32_t i = 0; i < VL_HISTOGRAM_SLOTS; i++)
		histogram->slots[i] += other->slots[i];
}

static uint64_t into_slot(uint64_t value, uint32_t slot)
{
	uint64_t bottom = slot ? slot_top(slot - 1) + 1 : 0, top = slot_top(slot);

	return value < bottom ? bottom : value > top ? top : value;
}

bool vl_histogram_adopt(struct vl_histogram *histogram)
{
	uint32_t first = 0, last = 0;

	if (!isfinite(histogram->sum) || !isfinite(histogram->square_sum))
		return false;
	histogram->count = 0;
	for (uint32_t slot = 0; slot < VL_HISTOGRAM_SLOTS; slot++) {
		if (!histogram->slots[slot])
			continue;
		if (histogram->slots[slot] > MOST_FOREIGN - histogram->count)
			return false;
		first = histogram->count ? first : slot;
		last = slot;
		histogram->count += histogram->slots[slot];
	}
	histogram->least = into_slot(histogram->least, first);
	histogram->most = into_slot(histogram->most, last);
	if (histogram->most < histogram->least)
		histogram->most = histogram->least;
	return true;
}

/* The value that `rank` values do not exceed; 1 <= rank <= count. *reached: how many do not. */
static uint64_t value_at_rank(const struct vl_histogram *histogram, uint64_t rank,
			      uint64_t *reached)
{
	uint64_t total = 0, value;
	uint32_t slot = slot_of(histogram->least);

	for (;; slot++) {
		total += histogram->slots[slot];
		if (total >= rank)
			break;
	}
	*reached = total;
	value = slot_top(slot);
	return value < histogram->most ? value : histogram->most;
}

static uint64_t rank_of(const struct vl_histogram *histogram, double part)
{
	double rank = ceil(part * (double)histogram->count);

	if (!(rank > 1))
		return 1;
	return rank < (double)histogram->count ? (uint64_t)rank : histogram->count;
}

uint64_t vl_histogram_percentile(const struct vl_histogram *histogram, double part)
{
	uint64_t reached;

	if (!histogram->count)
		return 0;
	return value_at_rank(histogram, rank_of(histogram, part), &reached);
}

double vl_histogram_mean(const struct vl_histogram *histogram)
{
	return histogram->count ? histogram->sum / (double)histogram->count : 0;
}

double vl_histogram_deviation(const struct vl_histogram *histogram)
{
	double mean = vl_histogram_mean(histogram), variance;

	if (!histogram->count)
		return 0;
	variance = histogram->square_sum / (double)histogram->count - mean * mean;
	return variance > 0 ? sqrt(variance) : 0;
}

int vl_histogram_write(const struct vl_histogram *histogram, double scale, FILE *out)
{
	double part = 0, distance = 1;
	uint64_t reached = 0, value;

	fprintf(out, "%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount",
		"1/(1-Percentile)");
	while (histogram->count && reached < histogram->count) {
		value = value_at_rank(histogram, rank_of(histogram, part), &reached);
		fprintf(out, "%12.3f %2.12f %10llu", (double)value / scale, part,
			(unsigned long long)reached);
		if (part < 1)
			fprintf(out, " %14.2f", 1 / (1 - part));
		fputc('\n', out);
		while (1 - part <= distance / 2)
			distance /= 2;
		part += distance / 2 / TICKS_PER_HALF_DISTANCE;
	}
	if (histogram->count && part < 1)
		fprintf(out, "%12.3f %2.12f %10llu\n", (double)histogram->most / scale, 1.0,
			(unsigned long long)histogram->count);
	fprintf(out, "#[Mean    = %12.3f, StdDeviation   = %12.3f]\n",
		vl_histogram_mean(histogram) / scale, vl_histogram_deviation(histogram) / scale);
	fprintf(out, "#[Max     = %12.3f, Total count    = %12llu]\n",
		histogram->count ? (double)histogram->most / scale : 0,
		(unsigned long long)histogram->count);
	fprintf(out, "#[Buckets = %12d, SubBuckets     = %12d]\n", 64 - VL_HISTOGRAM_BITS + 1,
		1 << VL_HISTOGRAM_BITS);
	return ferror(out) ? -EIO : 0;
}
