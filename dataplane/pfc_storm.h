/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Pauses imposed on a peer: one frame, a pause of an exact length, or one without end and without
 * gap, once or in a rhythm. Functions of the time; no clock.
 *
 * A held pause is refreshed before the peer's runs out. Each frame says how long the pause is still
 * to last, as far as its field can say; so the pause ends when it should, to the quantum, however
 * late a refresh was, as long as none came after the pause before it had run out.
 */
#ifndef VERBLINE_DATAPLANE_PFC_STORM_H
#define VERBLINE_DATAPLANE_PFC_STORM_H

#include "dataplane/histogram.h"
#include "dataplane/pfc.h"

#include <stdbool.h>
#include <stdint.h>

#define VL_PFC_HOLD_FOREVER UINT64_MAX
#define VL_PFC_STORM_SHIFT  60

struct vl_pfc_storm_config {
	uint8_t mac[6];  /* source of the frames */
	uint8_t classes; /* bit n: class n is paused; not with is_global */
	bool is_global;  /* PAUSE frames instead of PFC */
	uint64_t rate;   /* bit/s of the peer's line, VL_RATE_MIN to VL_RATE_MAX */
	uint16_t quanta; /* of a frame at most; 0: 65535 */
	uint64_t hold;   /* ns that a pause lasts; 0: what one frame says; VL_PFC_HOLD_FOREVER */
	uint64_t
		longest_gap; /* ns between two frames of a held pause; 0: 60 % of a frame's pause */
	uint64_t period;     /* ns from one pause's beginning to the next's; 0: one pause only */
	uint64_t count;      /* pauses; 0: without end (with a period) */
};

struct vl_pfc_storm {
	struct vl_pfc_storm_config config;
	struct vl_rate rate;
	uint64_t pause_time;    /* ns that a frame's quanta last */
	uint64_t quanta_per_ns; /* << VL_PFC_STORM_SHIFT */
	uint64_t interval;      /* ns between frames as planned: less than the longest gap */
	uint64_t due;           /* ns; of the next frame; UINT64_MAX: none */
	uint64_t began;         /* ns; first frame of the pause under way */
	uint64_t last_sent;     /* ns */
	bool in_pause;          /* between the first and the last frame of a pause */
	bool is_last;           /* what was written ends the pause */
	uint64_t kept;          /* ns that the loop was late since the last frame */

	uint64_t frames;          /* sent */
	uint64_t pauses;          /* begun */
	uint64_t stolen_gaps;     /* above the longest gap, as the loop was kept from running */
	uint64_t late_gaps;       /* above the longest gap for another reason */
	uint64_t broken;          /* of both: longer than the pause, which ran out */
	struct vl_histogram gaps; /* ns between the frames of a pause */
};

/* 0, or -EINVAL: no class, a rate out of bounds, a hold without quanta, a longest gap that the
 * pause does not outlast, a period that is not longer than what is held. */
int vl_pfc_storm_init(struct vl_pfc_storm *storm, const struct vl_pfc_storm_config *config,
		      uint64_t start);

static inline bool vl_pfc_storm_is_due(const struct vl_pfc_storm *storm, uint64_t now)
{
	return now >= storm->due;
}

/* Writes the frame that is due, as it has to be if it goes out now: VL_PFC_FRAME_LENGTH bytes. It
 * may be written again, later, until it is sent. */
void vl_pfc_storm_write(struct vl_pfc_storm *storm, uint8_t *frame, uint64_t now);
/* The frame written last went out at time. */
void vl_pfc_storm_sent(struct vl_pfc_storm *storm, uint64_t time);
/* The caller's loop was kept from running for so long: what makes a gap stolen, not late. */
static inline void vl_pfc_storm_kept(struct vl_pfc_storm *storm, uint64_t time)
{
	storm->kept += time;
}
/* Begins no pause after the one under way, and ends that: a frame with no quanta becomes due if
 * one is held. */
void vl_pfc_storm_stop(struct vl_pfc_storm *storm, uint64_t now);
/* Nothing is due any more. */
static inline bool vl_pfc_storm_is_over(const struct vl_pfc_storm *storm)
{
	return storm->due == UINT64_MAX;
}

#endif
