/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/workload/metrics.h"

#include <stdlib.h>

#define FIRST_CAPACITY 64u

bool vl_values_add(struct vl_values *values, double value)
{
	if (values->count == values->capacity) {
		uint64_t capacity = values->capacity ? 2 * values->capacity : FIRST_CAPACITY;
		double *grown = realloc(values->list, capacity * sizeof(*grown));

		if (!grown)
			return false;
		values->list = grown;
		values->capacity = capacity;
	}
	values->list[values->count++] = value;
	return true;
}

void vl_values_release(struct vl_values *values)
{
	free(values->list);
	*values = (struct vl_values){0};
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* per_mille of the values do not exceed it. */
static double percentile(const struct vl_values *values, uint64_t per_mille)
{
	uint64_t rank = (values->count * per_mille + 999) / 1000;

	return values->list[rank ? rank - 1 : 0];
}

struct vl_distribution vl_values_distribution(struct vl_values *values)
{
	struct vl_distribution distribution = {.count = values->count};
	double sum = 0;

	if (!values->count)
		return distribution;
	qsort(values->list, values->count, sizeof(*values->list), compare);
	for (uint64_t i = 0; i < values->count; i++)
		sum += values->list[i];
	distribution.mean = sum / (double)values->count;
	distribution.least = values->list[0];
	distribution.most = values->list[values->count - 1];
	distribution.p50 = percentile(values, 500);
	distribution.p90 = percentile(values, 900);
	distribution.p95 = percentile(values, 950);
	distribution.p99 = percentile(values, 990);
	distribution.p999 = percentile(values, 999);
	for (uint64_t i = 0; i < VL_DISTRIBUTION_POINTS; i++)
		distribution.points[i] = percentile(values, 10 * i);
	return distribution;
}

double vl_values_jain(const struct vl_values *values)
{
	double sum = 0, squares = 0;

	for (uint64_t i = 0; i < values->count; i++) {
		sum += values->list[i];
		squares += values->list[i] * values->list[i];
	}
	return squares > 0 ? sum * sum / ((double)values->count * squares) : 0;
}
