/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* When each packet of a replay is to leave, ns from the start of the run. */
#ifndef VERBLINE_REPLAY_PORT_SCHEDULE_H
#define VERBLINE_REPLAY_PORT_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

enum schedule_kind {
	SCHEDULE_RECORDED, /* as recorded, divided by speed */
	SCHEDULE_RATE,     /* bit/s of frames, from the first byte to the last, without FCS */
	SCHEDULE_PACKETS,  /* a second */
	SCHEDULE_FASTEST,  /* all at once */
};

struct schedule {
	enum schedule_kind kind;
	double speed;          /* more than 0 */
	uint64_t rate;         /* bit/s or packets/s */
	uint64_t longest_wait; /* ns that a recorded pause lasts at most; 0: as it was */

	uint64_t packets, bits; /* so far */
	uint64_t last;          /* ns; when the last packet is due */

	uint64_t recorded_last; /* ns; when that was recorded */
	uint64_t recorded_span; /* ns; of all packets in this run through the files */
	uint64_t packets_of_run;
	double due;        /* ns; recorded: exact, as speeds leave fractions */
	uint64_t backward; /* packets that were recorded before the one before them */
};

/* Of the next packet, recorded at time and so many bytes long. Never before the one before it. */
uint64_t schedule_next(struct schedule *schedule, uint64_t recorded, uint32_t length);
/* The files begin again: the next packet follows at the mean distance of this run. */
void schedule_repeat(struct schedule *schedule);

#endif
