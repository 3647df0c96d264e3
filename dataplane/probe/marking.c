/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * ECN: who of a held burst comes out marked. Frame n of a burst has found n others at enqueue, and
 * leaves all behind it at dequeue, so each burst shows the marking at every length of the queue up
 * to its own; many of them show its probability.
 */

#include "dataplane/probe/marking_fit.h"
#include "dataplane/probe/probe.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define FIRST_BURST 64u
/* Levels from an empty queue to Kmax, about. */
#define LEVELS 1000u
/* Standard deviations, relative, that are good enough; and bursts that are the least. */
#define GOOD        0.012
#define MIN_BURSTS  40u
#define CHECK_EVERY 40u
/* Fewer than these tell nothing. */
#define LEAST_BURSTS 4u

struct search {
	struct vl_probe *probe;
	struct vl_probe_marking *marking;
	struct vl_marking_level *levels;
	uint32_t count, length;
	double step; /* bytes of memory that a frame takes */
};

static uint32_t marked_between(const struct vl_probe *probe, uint32_t from, uint32_t to)
{
	uint32_t marked = 0;

	for (uint32_t i = from; i < to; i++)
		marked += probe->marks[i] == 2;
	return marked;
}

/* Sends a burst and sees what part of it is marked; *end: frames of an end that are all so. */
static int look(struct search *search, uint32_t count, uint32_t part, uint32_t *end)
{
	struct vl_probe *probe = search->probe;
	uint32_t early, late;
	int status;

	do {
		status = vl_probe_fill(probe, count, search->length);
		if (!status)
			status = vl_probe_drain(probe, search->length);
	} while (vl_probe_again(probe, status));
	if (!status)
		status = vl_probe_tell(probe, "ecn", 0);
	if (status)
		return status;
	search->marking->most_held = (double)probe->seen.frames * search->step;
	early = marked_between(probe, 0, part);
	late = marked_between(probe, count - part, count);
	search->marking->is_marking = marked_between(probe, 0, count) > 0;
	search->marking->at_dequeue = early > late;
	*end = early == part || late == part ? part : 0;
	return 0;
}

/* What is lost limits the burst: the most that is held, and whether all of its end is marked. */
static int find_range_below_loss(struct search *search, double *kmax)
{
	uint32_t count = search->probe->seen.frames, part = count / 16 + 1, end = 0;
	int status = look(search, count, part, &end);

	if (!status && !end && search->marking->is_marking)
		return vl_probe_fail(
			search->probe, -ENODATA,
			"frames are lost before all are marked: Kmax is beyond the %.0f B "
			"that the switch holds",
			search->marking->most_held);
	*kmax = (count - part / 2) * search->step;
	return status;
}

/* Doubles the burst until one end of it is all marked. */
static int find_range(struct search *search, double *kmax)
{
	struct vl_probe *probe = search->probe;

	for (uint32_t count = FIRST_BURST; count <= VL_PROBE_MAX_BURST; count *= 2) {
		uint32_t end = 0;
		int status = look(search, count, count / 4, &end);

		if (status)
			return status;
		if (probe->seen.frames < count)
			return find_range_below_loss(search, kmax);
		if (end) {
			*kmax = (count - end / 2) * search->step;
			return 0;
		}
	}
	return search->marking->is_marking
		       ? vl_probe_fail(probe, -ENODATA, "not all frames are marked with %u held",
				       VL_PROBE_MAX_BURST)
		       : 0;
}

/* From the outermost frame that is not marked to one a quarter farther. */
static uint32_t burst_length(const struct search *search)
{
	uint32_t unmarked = 0;

	for (uint32_t i = 0; i < search->count; i++) {
		if (search->levels[i].marked < search->levels[i].frames)
			unmarked = i;
	}
	unmarked += unmarked / 8 + 24;
	return unmarked < search->count ? unmarked : search->count;
}

static int add_burst(struct search *search, uint32_t count)
{
	struct vl_probe *probe = search->probe;
	int status = vl_probe_fill(probe, count, search->length);

	if (!status)
		status = vl_probe_drain(probe, search->length);
	for (uint32_t i = 0; !status && i < count; i++) {
		uint32_t level = search->marking->at_dequeue ? count - 1 - i : i;

		if (!probe->marks[i])
			return vl_probe_fail(
				probe, -EIO,
				"frames are lost that were held before: is there other "
				"traffic?");
		search->levels[level].frames++;
		search->levels[level].marked += probe->marks[i] == 2;
	}
	return status;
}

static bool is_good(const struct vl_marking_curve *curve, double step)
{
	return (curve->kmin_error < GOOD * curve->kmin || curve->kmin_error < step / 2) &&
	       curve->pmax_error < GOOD * curve->pmax;
}

/* The levels that have been seen. */
static uint32_t seen_levels(const struct search *search)
{
	uint32_t seen = 0;

	while (seen < search->count && search->levels[seen].frames)
		seen++;
	return seen;
}

static int fit(const struct search *search, struct vl_marking_curve *curve)
{
	return vl_marking_fit(search->levels, seen_levels(search), search->step, curve)
		       ? 0
		       : vl_probe_fail(search->probe, -ENOMEM, "no memory");
}

static int sample(struct search *search, struct vl_marking_curve *curve)
{
	uint64_t budget = search->probe->config.most_frames - search->probe->sent;
	uint32_t count = search->count, burst;
	int status = 0;

	for (burst = 1; !status; burst++) {
		if (search->probe->sent + count > search->probe->config.most_frames)
			break;
		status = add_burst(search, count);
		if (vl_probe_again(search->probe, status)) {
			status = 0;
			burst--;
			continue;
		}
		if (status || burst % CHECK_EVERY)
			continue;
		status = fit(search, curve);
		if (status || (burst >= MIN_BURSTS && is_good(curve, search->step)))
			return status;
		count = burst_length(search);
		status = vl_probe_tell(search->probe, "ecn",
				       fmin(1, (double)burst * count / (double)budget));
	}
	/* What was allowed is used up: the errors say how good it is. */
	if (!status && burst <= LEAST_BURSTS)
		status = vl_probe_fail(
			search->probe, -EDQUOT,
			"the switch marks, but %llu frames, which is all that was allowed, are too "
			"few to say from where on",
			(unsigned long long)search->probe->config.most_frames);
	return status ? status : fit(search, curve);
}

static int find_curve(struct search *search, double kmax)
{
	struct vl_probe_marking *marking = search->marking;
	struct vl_probe *probe = search->probe;
	struct vl_marking_curve curve = {0};
	uint32_t length = (uint32_t)(kmax / LEVELS / probe->cell + 1) * probe->cell;
	int status;

	while (length < VL_PROBE_MIN_LENGTH)
		length += probe->cell;
	if (length < probe->config.most_length)
		search->length = length;
	search->step = (double)vl_probe_occupancy(probe->cell, search->length);
	search->count = (uint32_t)(kmax / search->step) + 1;
	search->levels = calloc(search->count, sizeof(*search->levels));
	if (!search->levels)
		return vl_probe_fail(probe, -ENOMEM, "no memory");
	for (uint32_t i = 0; i < search->count; i++)
		search->levels[i].bytes = i * search->step;
	status = sample(search, &curve);
	marking->kmin = curve.kmin;
	marking->kmax = curve.kmax;
	marking->pmax = curve.pmax;
	marking->kmin_error = curve.kmin_error;
	marking->kmax_error = curve.kmax_error;
	marking->pmax_error = curve.pmax_error;
	for (uint32_t i = 0; i < search->count; i++) {
		marking->frames += search->levels[i].frames;
		marking->marked += search->levels[i].marked;
	}
	free(search->levels);
	return status;
}

int vl_probe_ecn(struct vl_probe *probe, struct vl_probe_marking *marking)
{
	struct search search = {.probe = probe, .marking = marking};
	struct vl_probe_limit limit;
	double kmax = 0;
	int status = 0;

	*marking = (struct vl_probe_marking){0};
	if (!probe->cell) {
		status = vl_probe_xoff(probe, &limit);
		if (status == -ENODATA)
			status = vl_probe_capacity(probe, &limit);
		if (status)
			return status;
		probe->cell = limit.cell;
	}
	search.length = (512 + probe->cell - 1) / probe->cell * probe->cell;
	if (search.length > probe->config.most_length)
		search.length = probe->config.most_length;
	search.step = (double)vl_probe_occupancy(probe->cell, search.length);
	status = find_range(&search, &kmax);
	return status || !marking->is_marking ? status : find_curve(&search, kmax);
}
