/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* XOFF, XON, headroom and drain: what a switch pauses, takes and lets go. */

#include "dataplane/probe/cell.h"

#include <errno.h>
#include <math.h>

/* Frames that a limit is to be counted in at least, and at most. */
#define FINE   400u
#define COARSE 60u
/* ns that a switch may take to let a frame go. */
#define MOST_RELEASE UINT64_C(1000000)
/* With which all that a switch takes is filled at most. */
#define MOST_FRAMES 50000.0
/* Of the way to a guess that frames are let go at once. */
#define QUICK 0.9
/* The first guess, frames. */
#define FIRST_BURST 64u

/* Different rests of any size of a cell. */
static const uint32_t lengths[] = {60, 97, 131, 200, 259, 311, 420, 533, 701, 1000, 1301, 1514};
#define LENGTHS (sizeof(lengths) / sizeof(lengths[0]))
/* More lengths, to tell sizes of cells apart. */
#define TELLING 10u

/* ---- XOFF -------------------------------------------------------------------------------- */

/* Doubles the burst until the switch pauses; *frames: between that many and half of it. -ENODATA:
 * it loses frames before it pauses. */
static int find_order(struct vl_probe *probe, uint32_t length, uint32_t *frames)
{
	for (uint32_t count = FIRST_BURST; count <= VL_PROBE_MAX_BURST; count *= 2) {
		int status = vl_probe_fill(probe, count, length);
		bool paused = probe->seen.xoffs;

		if (!status)
			status = vl_probe_drain(probe, length);
		if (status)
			return status;
		if (paused) {
			*frames = count;
			return 0;
		}
		if (probe->seen.frames < count)
			return vl_probe_fail(
				probe, -ENODATA,
				"the switch does not pause priority %u: of %u frames of "
				"%u B it lost %u without asking for a pause",
				probe->config.priority, count, length, count - probe->seen.frames);
	}
	return vl_probe_fail(probe, -ENODATA,
			     "the switch does not pause priority %u: it holds %u frames of %u B",
			     probe->config.priority, VL_PROBE_MAX_BURST, length);
}

/* The frames that it takes to be paused, one by one from a number on that is too small. */
static int count_from(struct vl_probe *probe, uint32_t start, uint32_t length, uint32_t *frames)
{
	int status = vl_probe_fill(probe, start, length);

	if (!status && probe->seen.xoffs)
		return -EAGAIN;
	while (!status && !probe->seen.xoffs)
		status = vl_probe_add(probe, 1, length);
	*frames = probe->burst;
	return status ? status : vl_probe_drain(probe, length);
}

static int count_to_xoff(struct vl_probe *probe, uint32_t length, uint32_t most, uint32_t *frames)
{
	uint32_t least = most / 2, middle;
	int status = 0;

	/* Halved until what is left is counted one by one. */
	while (!status && most - least > 16) {
		middle = (least + most) / 2;
		status = vl_probe_fill(probe, middle, length);
		if (status)
			break;
		if (probe->seen.xoffs)
			most = middle;
		else
			least = middle;
		status = vl_probe_drain(probe, length);
	}
	if (status)
		return status;
	status = count_from(probe, least, length, frames);
	return status == -EAGAIN
		       ? vl_probe_fail(probe, -EIO,
				       "the switch paused at %u frames of %u B, and did not "
				       "before: is there other traffic of the class?",
				       least, length)
		       : status;
}

/* Counts frames of a length up to a limit. */
typedef int (*count_function)(struct vl_probe *probe, uint32_t length,
			      struct vl_probe_count *count);

static int count_xoff(struct vl_probe *probe, uint32_t length, struct vl_probe_count *count)
{
	uint32_t order;
	int status = find_order(probe, length, &order);

	*count = (struct vl_probe_count){.length = length, .below = 1};
	return status ? status : count_to_xoff(probe, length, order, &count->frames);
}

/* A length of which frames take one cell more if cells are of the lower half of the range. */
static uint32_t telling_length(uint32_t least, uint32_t most)
{
	uint32_t cells = (VL_PROBE_MIN_LENGTH + least - 1) / least;

	return (cells * least + cells * most) / 2;
}

static int count_again(struct vl_probe *probe, count_function count_frames, uint32_t length,
		       struct vl_probe_count *count)
{
	int status;

	do
		status = count_frames(probe, length, count);
	while (vl_probe_again(probe, status));
	return status;
}

/* By frames of several lengths; then of those that tell the sizes of cells apart that are left. */
static int find_limit(struct vl_probe *probe, count_function count_frames, double bytes,
		      const char *step, struct vl_probe_limit *limit)
{
	struct vl_probe_count counts[LENGTHS + TELLING];
	uint32_t least = 0, most = 0;
	unsigned int count = 0;
	int status = 0;

	for (unsigned int i = 0; !status && i < LENGTHS; i++) {
		double frames = bytes / lengths[i];

		if (lengths[i] > probe->config.most_length || frames < COARSE ||
		    frames > VL_PROBE_MAX_BURST / 4.0)
			continue;
		status = count_again(probe, count_frames, lengths[i], &counts[count++]);
		if (!status)
			status = vl_probe_tell(probe, step, (double)(i + 1) / (LENGTHS + TELLING));
	}
	for (unsigned int i = 0; !status && !probe->cell && i < TELLING; i++) {
		if (!vl_probe_cell_range(counts, count, &least, &most) || least == most)
			break;
		status = count_again(probe, count_frames, telling_length(least, most),
				     &counts[count++]);
	}
	if (status)
		return status;
	if (!count || !vl_probe_find_limit(counts, count, probe->cell, limit))
		return vl_probe_fail(
			probe, -EIO,
			"the amounts that the switch takes (%s) do not agree: is there "
			"other traffic, or does its threshold move?",
			step);
	return 0;
}

int vl_probe_xoff(struct vl_probe *probe, struct vl_probe_limit *xoff)
{
	uint32_t order, first = lengths[LENGTHS / 2];
	int status;

	do
		status = find_order(probe, first, &order);
	while (vl_probe_again(probe, status));
	if (!status)
		status = find_limit(probe, count_xoff, (double)order * first, "xoff", xoff);
	if (!status)
		probe->cell = xoff->cell;
	return status;
}

/* ---- XON --------------------------------------------------------------------------------- */

/* A length whose frames divide bytes finely enough, and waste nothing of a cell, while a burst of
 * them fills all bytes. */
static uint32_t fine_length(const struct vl_probe *probe, double bytes, double all)
{
	uint32_t length = (uint32_t)(bytes / FINE / probe->cell) * probe->cell;
	uint32_t least = (uint32_t)(all / MOST_FRAMES);

	if (least < VL_PROBE_MIN_LENGTH)
		least = VL_PROBE_MIN_LENGTH;
	if (length < least)
		length = (least + probe->cell - 1) / probe->cell * probe->cell;
	if (length > probe->config.most_length)
		length = probe->config.most_length / probe->cell * probe->cell;
	return length;
}

/* Lets at least one frame go, as few as possible: on a fast line the end of a pause and the next
 * pause can arrive before anything has left. */
static int release_few(struct vl_probe *probe)
{
	uint32_t before = probe->seen.frames;
	uint64_t time = 0;
	int status;

	do {
		status = vl_probe_release(probe, time);
		time = time ? 2 * time : 1;
	} while (!status && probe->seen.frames == before && time <= MOST_RELEASE);
	if (!status && probe->seen.frames == before)
		return vl_probe_fail(probe, -ENODATA,
				     "the switch lets nothing go when its pause ends");
	return status;
}

/* Fills beyond XOFF, and lets frames go, few at a time from guess bytes on, until the pause ends;
 * before and after: how many were left when it had not ended, and when it had. */
static int drain_to_xon(struct vl_probe *probe, uint32_t length, double xoff, double guess,
			uint32_t *before, uint32_t *after)
{
	uint32_t count = (uint32_t)(xoff / length) + 3;
	uint64_t quick = 0;
	int status;

	/* Less than there is time for: what goes beyond the end of the pause tells nothing. */
	if (guess < xoff)
		quick = (uint64_t)((xoff - guess) / length * (length + 24.0) * 8e9 * QUICK /
				   (double)probe->bench->rate);
	status = vl_probe_fill(probe, count, length);
	if (!status && quick)
		status = vl_probe_release(probe, quick);
	*before = count;
	while (!status && !probe->seen.xons && probe->seen.frames < count) {
		*before = count - probe->seen.frames;
		status = release_few(probe);
	}
	*after = count - probe->seen.frames;
	if (!status && !probe->seen.xons)
		return vl_probe_fail(probe, -ENODATA,
				     "the switch did not end its pause when all frames were gone");
	return status ? status : vl_probe_drain(probe, length);
}

int vl_probe_xon(struct vl_probe *probe, struct vl_probe_limit *xon)
{
	struct vl_probe_limit xoff;
	double guess = INFINITY, least = 0, most = 0;
	int status = vl_probe_xoff(probe, &xoff);

	/* Coarsely first, then with frames that suit what was found. */
	for (unsigned int round = 0; !status && round < 2; round++) {
		uint32_t length =
			fine_length(probe, round ? most : xoff.size.value, xoff.size.value);
		uint32_t before = 0, after = 0;

		do
			status =
				drain_to_xon(probe, length, xoff.size.most, guess, &before, &after);
		while (vl_probe_again(probe, status));
		least = (double)after * length;
		most = (double)before * length;
		guess = most + 16.0 * length;
		if (!status)
			status = vl_probe_tell(probe, "xon", (round + 1) / 2.0);
	}
	*xon = (struct vl_probe_limit){{(least + most) / 2, least, most}, xoff.cell};
	return status;
}

/* ---- Headroom ---------------------------------------------------------------------------- */

/* Sends more and more, whatever the switch says, until it loses some; *frames: those it took. */
static int count_to_loss(struct vl_probe *probe, uint32_t length, uint32_t start, uint32_t *frames)
{
	for (uint32_t count = start;;
	     count = count < VL_PROBE_MAX_BURST / 2 ? 2 * count : VL_PROBE_MAX_BURST) {
		int status;

		do {
			status = vl_probe_fill(probe, count, length);
			if (!status)
				status = vl_probe_drain(probe, length);
		} while (vl_probe_again(probe, status));
		*frames = probe->seen.frames;
		if (status || *frames < count)
			return status;
		if (count == VL_PROBE_MAX_BURST)
			break;
	}
	return vl_probe_fail(probe, -ENODATA, "the switch took %u frames of %u B without a loss",
			     VL_PROBE_MAX_BURST, length);
}

int vl_probe_headroom(struct vl_probe *probe, struct vl_probe_limit *headroom)
{
	struct vl_probe_count counts[3];
	struct vl_probe_limit xoff;
	unsigned int count = 0;
	int status = vl_probe_xoff(probe, &xoff);
	uint32_t length, frames = 0;

	if (status)
		return status;
	length = fine_length(probe, xoff.size.value, xoff.size.value);
	status = count_to_loss(probe, length, 2 * FINE, &frames);
	/* Coarsely first; then with frames that suit what is beyond XOFF. */
	for (unsigned int i = 0; !status && i < 3; i++) {
		double beyond = (double)frames * length - xoff.size.value;

		length = fine_length(probe, beyond > length ? beyond : length,
				     xoff.size.value + beyond) +
			 i * probe->cell;
		if (length > probe->config.most_length)
			break;
		status = count_to_loss(probe, length,
				       (uint32_t)((xoff.size.value + beyond) / length), &frames);
		/* Of the frames up to XOFF the last may or may not lie in the headroom. */
		counts[count].length = length;
		counts[count].frames =
			frames -
			(uint32_t)(xoff.size.value / (double)vl_probe_occupancy(xoff.cell, length));
		counts[count].below = 1;
		counts[count++].above = 2;
		if (!status)
			status = vl_probe_tell(probe, "headroom", (i + 1) / 3.0);
	}
	if (!status && !vl_probe_find_limit(counts, count, xoff.cell, headroom))
		return vl_probe_fail(
			probe, -EIO,
			"the amounts that the switch takes beyond XOFF do not agree: is "
			"there other traffic, or does it share its headroom?");
	return status;
}

static int count_capacity(struct vl_probe *probe, uint32_t length, struct vl_probe_count *count)
{
	/* A frame's rest of room is left over below XOFF, and another beyond it. */
	*count = (struct vl_probe_count){.length = length, .above = 2};
	return count_to_loss(probe, length, FIRST_BURST, &count->frames);
}

int vl_probe_capacity(struct vl_probe *probe, struct vl_probe_limit *capacity)
{
	uint32_t first = lengths[LENGTHS / 2], frames = 0;
	int status = count_to_loss(probe, first, FIRST_BURST, &frames);

	return status ? status
		      : find_limit(probe, count_capacity, (double)frames * first, "capacity",
				   capacity);
}

/* ---- Drain ------------------------------------------------------------------------------- */

int vl_probe_drain_time(struct vl_probe *probe, struct vl_probe_drain_rate *drain)
{
	uint32_t length = probe->config.most_length, count = 1000;
	uint64_t released;
	int status;

	do {
		status = vl_probe_fill(probe, count, length);
		released = probe->bench->now(probe->bench->context);
		if (!status)
			status = vl_probe_drain(probe, length);
	} while (vl_probe_again(probe, status));
	if (status)
		return status;
	if (probe->seen.last == probe->seen.first)
		return vl_probe_fail(
			probe, -ENODATA,
			"%u of %u frames came when the pause ended: no rate follows from that",
			probe->seen.frames, count);
	*drain = (struct vl_probe_drain_rate){
		.rate = (double)(probe->seen.frames - 1) * (length + 24.0) * 8e9 /
			(double)(probe->seen.last - probe->seen.first),
		.error = (length + 24.0) * 8e9 / (double)(probe->seen.last - probe->seen.first),
		.response = probe->response,
		.resume = probe->seen.first - released,
		.latency = probe->latency,
	};
	return 0;
}
