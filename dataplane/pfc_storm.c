/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/pfc_storm.h"

#include <errno.h>
#include <string.h>

/* A frame goes out when this part of the longest gap is over. The rest is for a loop that does not
 * come at the very time; frames are small, and machines that interrupt a loop are common. */
#define INTERVAL_PART 2

#define NS_PER_SECOND UINT64_C(1000000000)

static bool is_held(const struct vl_pfc_storm *storm)
{
	return storm->config.hold > storm->pause_time;
}

int vl_pfc_storm_init(struct vl_pfc_storm *storm, const struct vl_pfc_storm_config *config,
		      uint64_t start)
{
	memset(storm, 0, sizeof(*storm));
	if ((!config->classes && !config->is_global) || config->rate < VL_RATE_MIN ||
	    config->rate > VL_RATE_MAX || (config->hold && !config->quanta))
		return -EINVAL;
	storm->config = *config;
	storm->rate = vl_rate_make(config->rate);
	storm->pause_time =
		vl_rate_time_up(storm->rate, (uint64_t)storm->config.quanta * VL_PFC_QUANTUM_BITS);
	storm->quanta_per_ns = (uint64_t)(((unsigned __int128)config->rate << VL_PFC_STORM_SHIFT) /
					  ((unsigned __int128)VL_PFC_QUANTUM_BITS * NS_PER_SECOND));
	if (!storm->config.longest_gap)
		storm->config.longest_gap = storm->pause_time * 3 / 5;
	if (is_held(storm) && (storm->config.longest_gap >= storm->pause_time ||
			       storm->config.longest_gap < INTERVAL_PART))
		return -EINVAL;
	if (config->period && config->period <= (config->hold ? config->hold : storm->pause_time))
		return -EINVAL;
	storm->interval = storm->config.longest_gap / INTERVAL_PART;
	storm->due = start;
	return 0;
}

/* Of at most a pause time, to the nearest, but never 0, which would end the pause at once. */
static uint64_t quanta_of(const struct vl_pfc_storm *storm, uint64_t time)
{
	const unsigned __int128 half = (unsigned __int128)1 << (VL_PFC_STORM_SHIFT - 1);
	uint64_t quanta = (uint64_t)(((unsigned __int128)time * storm->quanta_per_ns + half) >>
				     VL_PFC_STORM_SHIFT);

	return quanta ? quanta : 1;
}

/* What a frame that goes out now has to say. */
static uint16_t choose_quanta(struct vl_pfc_storm *storm, uint64_t now)
{
	uint64_t began = storm->in_pause ? storm->began : now, end;

	storm->is_last = false;
	if (storm->config.hold == VL_PFC_HOLD_FOREVER)
		return storm->config.quanta;
	storm->is_last = true;
	if (!storm->config.hold)
		return storm->config.quanta;
	end = began + storm->config.hold;
	if (now >= end)
		return 0;
	if (end - now <= storm->pause_time)
		return (uint16_t)quanta_of(storm, end - now);
	storm->is_last = false;
	return storm->config.quanta;
}

void vl_pfc_storm_write(struct vl_pfc_storm *storm, uint8_t *frame, uint64_t now)
{
	uint16_t quanta = choose_quanta(storm, now);
	struct vl_pfc pfc = {
		.is_global = storm->config.is_global,
		.enabled = storm->config.classes,
	};

	for (unsigned int i = 0; i < VL_PFC_PRIORITIES; i++)
		pfc.quanta[i] = quanta;
	vl_pfc_write(frame, storm->config.mac, &pfc);
}

static void count_gap(struct vl_pfc_storm *storm, uint64_t gap)
{
	vl_histogram_record(&storm->gaps, gap);
	if (gap <= storm->config.longest_gap)
		return;
	if (gap - storm->config.longest_gap <= storm->kept)
		storm->stolen_gaps++;
	else
		storm->late_gaps++;
	storm->broken += gap > storm->pause_time;
}

static void plan_next_pause(struct vl_pfc_storm *storm)
{
	storm->in_pause = false;
	if (!storm->config.period || storm->pauses == storm->config.count)
		storm->due = UINT64_MAX;
	else
		storm->due = storm->began + storm->config.period;
}

void vl_pfc_storm_sent(struct vl_pfc_storm *storm, uint64_t time)
{
	if (storm->in_pause) {
		count_gap(storm, time - storm->last_sent);
	} else {
		storm->began = time;
		storm->pauses++;
	}
	storm->frames++;
	storm->last_sent = time;
	storm->kept = 0;
	if (storm->is_last) {
		plan_next_pause(storm);
	} else {
		storm->in_pause = true;
		storm->due = time + storm->interval;
	}
}

void vl_pfc_storm_stop(struct vl_pfc_storm *storm, uint64_t now)
{
	storm->config.period = 0;
	if (!storm->in_pause) {
		storm->due = UINT64_MAX;
		return;
	}
	/* What is held is held until now: the next frame says that nothing is left of it. */
	storm->config.hold = now - storm->began ? now - storm->began : 1;
	storm->due = now;
}
