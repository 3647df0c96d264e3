/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/replay/port/schedule.h"

#define NS_PER_SECOND UINT64_C(1000000000)
/* ns: times beyond stand for never, and leave room for what is added to them. */
#define NEVER (UINT64_C(1) << 62)

static uint64_t next_recorded(struct schedule *schedule, uint64_t recorded)
{
	uint64_t wait = 0;

	if (schedule->packets_of_run) {
		if (recorded >= schedule->recorded_last)
			wait = recorded - schedule->recorded_last;
		if (schedule->longest_wait && wait > schedule->longest_wait)
			wait = schedule->longest_wait;
		schedule->recorded_span += wait;
	}
	schedule->due += (double)wait / schedule->speed;
	return schedule->due < (double)NEVER ? (uint64_t)schedule->due : NEVER;
}

/* By the sum of what went before, so that nothing adds up. */
static uint64_t time_of(uint64_t units, uint64_t rate)
{
	unsigned __int128 time = (unsigned __int128)units * NS_PER_SECOND / rate;

	return time < NEVER ? (uint64_t)time : NEVER;
}

uint64_t schedule_next(struct schedule *schedule, uint64_t recorded, uint32_t length)
{
	uint64_t due = 0;

	schedule->backward += schedule->packets_of_run && recorded < schedule->recorded_last;
	switch (schedule->kind) {
	case SCHEDULE_RECORDED:
		due = next_recorded(schedule, recorded);
		break;
	case SCHEDULE_RATE:
		due = time_of(schedule->bits, schedule->rate);
		break;
	case SCHEDULE_PACKETS:
		due = time_of(schedule->packets, schedule->rate);
		break;
	case SCHEDULE_FASTEST:
		break;
	}
	if (!schedule->packets_of_run || recorded > schedule->recorded_last)
		schedule->recorded_last = recorded;
	schedule->packets++;
	schedule->packets_of_run++;
	schedule->bits += 8 * (uint64_t)length;
	schedule->last = due;
	return due;
}

void schedule_repeat(struct schedule *schedule)
{
	if (schedule->packets_of_run > 1)
		schedule->due += (double)schedule->recorded_span /
				 (double)(schedule->packets_of_run - 1) / schedule->speed;
	schedule->packets_of_run = 0;
	schedule->recorded_span = 0;
	schedule->recorded_last = 0;
}
