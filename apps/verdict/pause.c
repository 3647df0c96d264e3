/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The peer and our pauses. IEEE 802.1Qbb; 802.3 annex 31D. */

#include "apps/verdict/private.h"

#include <inttypes.h>

/* The peer was sending if its last frame of the class was so short before the pause, ns. */
#define RECENT UINT64_C(1000000)
/* Pauses shorter than so many times the limit show nothing. */
#define LEAST_PAUSE 2
/* Frames that still come in the last part of a pause show that it is not obeyed at all. */
#define LATE(duration) ((duration) / 4 * 3)

static void conclude(struct vl_verdict *verdict, unsigned int priority)
{
	struct verdict_pause *pause = &verdict->pauses[priority];
	uint64_t duration = pause->until - pause->from;
	char last[VERDICT_TIME_TEXT], whole[VERDICT_TIME_TEXT];
	bool is_judged = pause->from && pause->was_sending &&
			 duration >= LEAST_PAUSE * verdict->config.pause_limit;
	uint64_t number = pause->number;

	pause->from = 0;
	if (!is_judged)
		return;
	verdict_time_text(duration, whole);
	if (pause->violations && pause->last >= LATE(duration)) {
		verdict_fail(verdict, VL_VERDICT_HONOURS_PAUSE,
			     "class %u is paused for %s by packet %" PRIu64 "; %" PRIu64
			     " frames come nevertheless, the last is packet %" PRIu64 " after %s",
			     priority, whole, number, pause->violations, pause->last_number,
			     verdict_time_text(pause->last, last));
		return;
	}
	verdict_pass(verdict, VL_VERDICT_HONOURS_PAUSE,
		     "class %u is paused for %s by packet %" PRIu64, priority, whole, number);
	if (pause->violations) {
		verdict_measured(verdict, VL_VERDICT_PAUSE_RESPONSE, pause->last);
		verdict_fail(verdict, VL_VERDICT_PAUSE_RESPONSE,
			     "class %u is paused by packet %" PRIu64
			     "; frames come until packet %" PRIu64 ", %s later",
			     priority, number, pause->last_number,
			     verdict_time_text(pause->last, last));
		return;
	}
	verdict_measured(verdict, VL_VERDICT_PAUSE_RESPONSE, pause->response);
	verdict_pass(verdict, VL_VERDICT_PAUSE_RESPONSE,
		     "class %u is paused by packet %" PRIu64 "; the last frame comes %s later",
		     priority, number, verdict_time_text(pause->response, last));
}

static void begin(struct vl_verdict *verdict, unsigned int priority, uint64_t number, uint64_t now,
		  uint64_t until)
{
	struct verdict_pause *pause = &verdict->pauses[priority];
	uint64_t last_frame = pause->last_frame;

	*pause = (struct verdict_pause){
		.from = now ? now : 1,
		.until = until,
		.number = number,
		.was_sending = last_frame && now - last_frame <= RECENT,
		.last_frame = last_frame,
	};
}

void verdict_our_pause(struct vl_verdict *verdict, const struct vl_pfc *pfc, uint64_t number,
		       uint64_t now)
{
	for (unsigned int priority = 0; priority < VL_PFC_PRIORITIES; priority++) {
		struct verdict_pause *pause = &verdict->pauses[priority];
		uint64_t until =
			now + vl_rate_time_up(verdict->rate, (uint64_t)pfc->quanta[priority] *
								     VL_PFC_QUANTUM_BITS);
		bool is_paused = pause->from && now < pause->until;

		if (!(pfc->enabled >> priority & 1))
			continue;
		if (is_paused && pfc->quanta[priority]) {
			pause->until = until;
			continue;
		}
		if (is_paused)
			pause->until = now;
		conclude(verdict, priority);
		if (pfc->quanta[priority])
			begin(verdict, priority, number, now, until);
	}
}

static void take(struct vl_verdict *verdict, struct verdict_pause *pause, uint64_t number,
		 uint64_t now)
{
	uint64_t elapsed = now - pause->from;

	if (elapsed <= verdict->config.pause_limit) {
		pause->response = elapsed;
		return;
	}
	pause->violations++;
	pause->last = elapsed;
	pause->last_number = number;
}

void verdict_peer_frame(struct vl_verdict *verdict, uint8_t priority, uint64_t number, uint64_t now)
{
	for (unsigned int other = 0; other < VL_PFC_PRIORITIES; other++) {
		struct verdict_pause *pause = &verdict->pauses[other];

		if (!pause->from)
			continue;
		if (now >= pause->until)
			conclude(verdict, other);
		else if (other == priority)
			take(verdict, pause, number, now);
		else if (now - pause->from > verdict->config.pause_limit)
			verdict_pass(verdict, VL_VERDICT_PAUSE_CLASSES,
				     "packet %" PRIu64 " is of class %u, while class %u is paused",
				     number, priority, other);
	}
	verdict->pauses[priority].last_frame = now ? now : 1;
}

bool verdict_is_pausing(const struct vl_verdict *verdict, uint64_t now)
{
	for (unsigned int priority = 0; priority < VL_PFC_PRIORITIES; priority++) {
		if (verdict->pauses[priority].from && now < verdict->pauses[priority].until)
			return true;
	}
	return false;
}

void verdict_pause_finish(struct vl_verdict *verdict, uint64_t now)
{
	for (unsigned int priority = 0; priority < VL_PFC_PRIORITIES; priority++) {
		if (verdict->pauses[priority].until > now)
			verdict->pauses[priority].until = now;
		conclude(verdict, priority);
	}
}
