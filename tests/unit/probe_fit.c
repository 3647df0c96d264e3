/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What probes work out of their counts, against counts made of known cells, limits and curves. */

#include "dataplane/probe/cell.h"
#include "dataplane/probe/marking_fit.h"
#include "tests/support/suite.h"
#include "transport/random.h"

#include <math.h>
#include <stdio.h>

#define LENGTHS 12u

static const uint32_t lengths[LENGTHS] = {60,  97,  131, 200, 259,  311,
					  420, 533, 701, 801, 1301, 1514};

/* Whole frames that fit into limit bytes of cells. */
static void fill_counts(struct vl_probe_count *counts, uint64_t limit, uint32_t cell)
{
	for (unsigned int i = 0; i < LENGTHS; i++) {
		uint64_t memory = ((uint64_t)lengths[i] + cell - 1) / cell * cell;

		counts[i] = (struct vl_probe_count){
			.length = lengths[i], .frames = (uint32_t)(limit / memory), .above = 1};
	}
}

static void test_cells(void)
{
	static const uint32_t cells[] = {1, 64, 80, 128, 144, 160, 208, 254, 256, 288, 318, 384};
	struct vl_probe_count counts[LENGTHS];
	struct vl_probe_limit limit;

	for (unsigned int i = 0; i < sizeof(cells) / sizeof(cells[0]); i++) {
		for (uint64_t bytes = 200000; bytes < 3000000; bytes += 313373) {
			uint32_t least = 0, most = 0;

			fill_counts(counts, bytes, cells[i]);
			CU_ASSERT_FATAL(vl_probe_cell_range(counts, LENGTHS, &least, &most));
			CU_ASSERT(least <= cells[i] && cells[i] <= most);
			CU_ASSERT_FATAL(vl_probe_find_limit(counts, LENGTHS, cells[i], &limit));
			CU_ASSERT_EQUAL(limit.cell, cells[i]);
			CU_ASSERT(limit.size.least <= (double)bytes);
			CU_ASSERT(limit.size.most >= (double)bytes);
			CU_ASSERT_DOUBLE_EQUAL(limit.size.value, bytes, 0.01 * (double)bytes);
			/* Not knowing it: one of those that these lengths cannot tell apart. */
			CU_ASSERT_FATAL(vl_probe_find_limit(counts, LENGTHS, 0, &limit));
			CU_ASSERT(least <= limit.cell && limit.cell <= most);
		}
	}
}

static void test_bytes_are_simplest(void)
{
	struct vl_probe_count counts[LENGTHS];
	struct vl_probe_limit limit;
	uint32_t least, most;

	fill_counts(counts, 1000003, 1);
	CU_ASSERT_FATAL(vl_probe_find_limit(counts, LENGTHS, 0, &limit));
	CU_ASSERT_EQUAL(limit.cell, 1);
	CU_ASSERT(vl_probe_cell_range(counts, LENGTHS, &least, &most));
	CU_ASSERT_EQUAL(least, 1);
	CU_ASSERT_EQUAL(most, 1);
}

/* Counts that no limit explains: a threshold that moved, or others' frames. */
static void test_counts_that_disagree(void)
{
	struct vl_probe_count counts[LENGTHS];
	struct vl_probe_limit limit;
	uint32_t least, most;

	fill_counts(counts, 1000000, 208);
	for (unsigned int i = 0; i < LENGTHS; i += 2)
		counts[i].frames = counts[i].frames * 2 / 3;
	CU_ASSERT_FALSE(vl_probe_cell_range(counts, LENGTHS, &least, &most));
	CU_ASSERT_FALSE(vl_probe_find_limit(counts, LENGTHS, 0, &limit));
	CU_ASSERT_FALSE(vl_probe_find_limit(counts, LENGTHS, 208, &limit));
	CU_ASSERT_FALSE(vl_probe_find_limit(counts, 0, 0, &limit));
}

/* ---- Marking ----------------------------------------------------------------------------- */

#define LEVELS 1200u
#define STEP   500.0

static struct vl_marking_level levels[LEVELS];

/* Draws frames of each level from a curve. */
static void draw(double kmin, double kmax, double pmax, uint32_t frames, uint64_t seed)
{
	struct vl_random random = {seed};

	for (uint32_t i = 0; i < LEVELS; i++) {
		double bytes = i * STEP;
		double p = bytes > kmax   ? 1
			   : bytes > kmin ? pmax * (bytes - kmin) / (kmax - kmin)
					  : 0;

		levels[i] = (struct vl_marking_level){.bytes = bytes, .frames = frames};
		for (uint32_t n = 0; n < frames; n++)
			levels[i].marked += vl_random_unit(&random) < p;
	}
}

/* Within four deviations and a step, and the deviations are no excuse. */
static void expect_near(const char *what, double found, double deviation, double expected,
			double step, double tolerance)
{
	bool is_near = fabs(found - expected) <= 4 * deviation + step &&
		       4 * deviation <= tolerance * expected + 2 * step;

	CU_ASSERT(is_near);
	if (!is_near)
		printf("\n    %s: %g +- %g, not %g ", what, found, deviation, expected);
}

static void test_known_curves(void)
{
	static const struct {
		double kmin, kmax, pmax;
	} curves[] = {
		{50000, 200000, 0.01}, {100000, 400000, 0.2}, {150000, 500000, 1},
		{5000, 200000, 0.1},   {200000, 205000, 0.5}, {0, 300000, 0.3},
	};
	struct vl_marking_curve found;

	for (unsigned int i = 0; i < sizeof(curves) / sizeof(curves[0]); i++) {
		for (uint64_t seed = 1; seed <= 3; seed++) {
			draw(curves[i].kmin, curves[i].kmax, curves[i].pmax, 4000, seed);
			CU_ASSERT_FATAL(vl_marking_fit(levels, LEVELS, STEP, &found));
			expect_near("kmin", found.kmin, found.kmin_error, curves[i].kmin, STEP,
				    0.2);
			expect_near("kmax", found.kmax, found.kmax_error, curves[i].kmax, STEP,
				    0.05);
			expect_near("pmax", found.pmax, found.pmax_error, curves[i].pmax, 0.02,
				    0.2);
		}
	}
}

static void test_step(void)
{
	struct vl_marking_curve found;

	draw(123400, 123400, 1, 3, 1);
	CU_ASSERT_FATAL(vl_marking_fit(levels, LEVELS, STEP, &found));
	CU_ASSERT_EQUAL(found.kmin, found.kmax);
	CU_ASSERT_EQUAL(found.pmax, 1);
	CU_ASSERT_DOUBLE_EQUAL(found.kmin, 123400, STEP);
	CU_ASSERT(found.kmin_error <= STEP / 2);
}

/* Few samples: worse, but finite, in range, and the errors say so. */
static void test_few_samples(void)
{
	struct vl_marking_curve few, many;
	double spread = 0, deviation = 0;

	for (uint64_t seed = 1; seed <= 20; seed++) {
		draw(100000, 400000, 0.2, 1, seed);
		CU_ASSERT_FATAL(vl_marking_fit(levels, LEVELS, STEP, &few));
		CU_ASSERT(few.kmin >= 0 && few.kmin <= few.kmax);
		CU_ASSERT(few.pmax >= 0 && few.pmax <= 1.0001);
		CU_ASSERT(isfinite(few.kmin_error) && isfinite(few.pmax_error));
		spread += (few.kmin - 100000) * (few.kmin - 100000) / 20;
		deviation += few.kmin_error / 20;
		CU_ASSERT(fabs(few.kmin - 100000) < 4 * few.kmin_error);
	}
	/* The error that is told is the one that is made, or somewhat more. */
	printf("[%.0f B told, %.0f made] ", deviation, sqrt(spread));
	CU_ASSERT(deviation > 0.7 * sqrt(spread) && deviation < 3 * sqrt(spread));
	draw(100000, 400000, 0.2, 400, 1);
	CU_ASSERT_FATAL(vl_marking_fit(levels, LEVELS, STEP, &many));
	/* By the root of 400. */
	CU_ASSERT(few.kmin_error > 8 * many.kmin_error);
	CU_ASSERT_DOUBLE_EQUAL(many.kmin, 100000, 4 * many.kmin_error);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"cells", test_cells},
		{"bytes_are_simplest", test_bytes_are_simplest},
		{"counts_that_disagree", test_counts_that_disagree},
		{"known_curves", test_known_curves},
		{"step", test_step},
		{"few_samples", test_few_samples},
	};

	return RUN_SUITE("unit/probe_fit", tests, argc, argv);
}
