/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/probe/marking_fit.h"

#include <math.h>
#include <stdlib.h>

#define ROUNDS 60
/* Levels beyond the last unmarked one that Kmax may lie beyond. */
#define BEYOND 64u
#define LEAST  1e-12
#define RARE   0.1

struct fit {
	const struct vl_marking_level *levels;
	uint32_t count;
};

/* The best slope for a Kmin, over the levels in (kmin, kmax]: its likelihood's derivative falls
 * with it, so that it is found by halving. */
static double best_slope(const struct fit *fit, double kmin, double kmax)
{
	double low = 0, high = 1 / fmax(kmax - kmin, LEAST);

	for (int round = 0; round < ROUNDS; round++) {
		double slope = (low + high) / 2, derivative = 0;

		for (uint32_t i = 0; i < fit->count && fit->levels[i].bytes <= kmax; i++) {
			double x = fit->levels[i].bytes - kmin;
			double marked = (double)fit->levels[i].marked;
			double unmarked = (double)fit->levels[i].frames - marked;

			if (x > 0)
				derivative +=
					marked / slope - unmarked * x / fmax(1 - slope * x, LEAST);
		}
		if (derivative > 0)
			low = slope;
		else
			high = slope;
	}
	return (low + high) / 2;
}

static double likelihood(const struct fit *fit, double kmin, double kmax, double slope)
{
	double sum = 0;

	for (uint32_t i = 0; i < fit->count; i++) {
		const struct vl_marking_level *level = &fit->levels[i];
		double marked = (double)level->marked;
		double unmarked = (double)level->frames - marked;
		double p = level->bytes > kmax   ? 1
			   : level->bytes > kmin ? slope * (level->bytes - kmin)
						 : 0;

		if (marked > 0)
			sum += marked * log(fmax(p, LEAST));
		if (unmarked > 0)
			sum += unmarked * log(fmax(1 - p, LEAST));
	}
	return sum;
}

/* The best Kmin for a Kmax by golden section; *slope goes with it. */
static double best_kmin(const struct fit *fit, double first_marked, double kmax, double *slope,
			double *value)
{
	const double golden = 0.6180339887498949;
	double low = 0, high = fmin(first_marked, kmax);
	double a = high - golden * (high - low), b = low + golden * (high - low);
	double at_a = likelihood(fit, a, kmax, best_slope(fit, a, kmax));
	double at_b = likelihood(fit, b, kmax, best_slope(fit, b, kmax));

	for (int round = 0; round < ROUNDS / 2; round++) {
		if (at_a > at_b) {
			high = b;
			b = a;
			at_b = at_a;
			a = high - golden * (high - low);
			at_a = likelihood(fit, a, kmax, best_slope(fit, a, kmax));
		} else {
			low = a;
			a = b;
			at_a = at_b;
			b = low + golden * (high - low);
			at_b = likelihood(fit, b, kmax, best_slope(fit, b, kmax));
		}
	}
	a = (low + high) / 2;
	*slope = best_slope(fit, a, kmax);
	*value = likelihood(fit, a, kmax, *slope);
	return a;
}

/* Errors of Kmin and slope by the observed information; Kmax is where everything is marked. */
static void find_errors(const struct fit *fit, double slope, double step,
			struct vl_marking_curve *curve)
{
	double kk = 0, ks = 0, ss = 0, determinant;

	for (uint32_t i = 0; i < fit->count && fit->levels[i].bytes <= curve->kmax; i++) {
		double x = fit->levels[i].bytes - curve->kmin;
		double frames = (double)fit->levels[i].frames, p = slope * x;
		/* Where not even one mark is to be expected, a level says less than its slope. */
		double weight = x > 0 && frames > 0 ? frames / fmax(p * (1 - p), RARE / frames) : 0;

		/* dp/dkmin = -slope, dp/dslope = x */
		kk += weight * slope * slope;
		ks -= weight * slope * x;
		ss += weight * x * x;
	}
	determinant = kk * ss - ks * ks;
	curve->kmax_error = step / 2;
	if (determinant <= 0)
		return;
	curve->kmin_error = sqrt(ss / determinant);
	/* pmax = slope * (kmax - kmin) */
	curve->pmax_error =
		sqrt(fmax(0, (kk * (curve->kmax - curve->kmin) * (curve->kmax - curve->kmin) +
			      ss * slope * slope + 2 * ks * slope * (curve->kmax - curve->kmin)) /
				     determinant));
}

/* Neighbours are put together, so that a fit takes no longer for more of them. */
static uint32_t coarsen(const struct vl_marking_level *levels, uint32_t count,
			struct vl_marking_level *out, uint32_t most)
{
	uint32_t together = (count + most - 1) / most, made = 0;

	for (uint32_t i = 0; i < count; i += together, made++) {
		double sum = 0;
		uint32_t n = 0;

		out[made] = (struct vl_marking_level){0};
		for (; n < together && i + n < count; n++) {
			out[made].frames += levels[i + n].frames;
			out[made].marked += levels[i + n].marked;
			sum += levels[i + n].bytes;
		}
		out[made].bytes = sum / n;
	}
	return made;
}

#define COARSE 400u

bool vl_marking_fit(const struct vl_marking_level *levels, uint32_t count, double step,
		    struct vl_marking_curve *curve)
{
	struct vl_marking_level *coarse = malloc(COARSE * sizeof(*coarse));
	double first_marked = 0, last_unmarked = 0, best = -INFINITY, best_slope_found = 0;
	uint32_t boundary = 0;
	struct fit fit;

	if (!coarse)
		return false;
	for (uint32_t i = count; i-- > 0;) {
		if (levels[i].marked)
			first_marked = levels[i].bytes;
	}
	for (uint32_t i = 0; i < count; i++) {
		if (levels[i].marked < levels[i].frames) {
			last_unmarked = levels[i].bytes;
			boundary = i + 1;
		}
	}
	/* A step. */
	if (first_marked > last_unmarked) {
		*curve = (struct vl_marking_curve){.kmin = (first_marked + last_unmarked) / 2,
						   .pmax = 1,
						   .kmin_error = step / 4,
						   .kmax_error = step / 4};
		curve->kmax = curve->kmin;
		free(coarse);
		return true;
	}
	/* Above the last unmarked level nothing is left to fit. */
	for (uint32_t beyond = 0; beyond <= BEYOND && boundary + beyond <= count; beyond++) {
		double kmax = last_unmarked + step * beyond, kmin, slope, value;

		fit.levels = coarse;
		fit.count = coarsen(levels, boundary + beyond, coarse, COARSE);
		kmin = best_kmin(&fit, first_marked, kmax, &slope, &value);
		if (value > best) {
			best = value;
			best_slope_found = slope;
			*curve = (struct vl_marking_curve){
				.kmin = kmin, .kmax = kmax, .pmax = slope * (kmax - kmin)};
		} else if (value < best - 20) {
			break;
		}
	}
	fit.levels = levels;
	fit.count = count;
	find_errors(&fit, best_slope_found, step, curve);
	/* Kmax lies between this level and the next. */
	curve->kmax += step / 2;
	free(coarse);
	return true;
}
