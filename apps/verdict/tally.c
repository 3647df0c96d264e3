/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What was counted for and against the peer, and the first cases in words. */

#include "apps/verdict/private.h"

#include <stdarg.h>
#include <string.h>

void verdict_pass(struct vl_verdict *verdict, enum vl_verdict_kind kind, const char *format, ...)
{
	struct verdict_tally *tally = &verdict->tallies[kind];
	va_list arguments;

	if (tally->passes < VERDICT_EXAMPLES) {
		va_start(arguments, format);
		vsnprintf(tally->good[tally->passes], VERDICT_EVIDENCE, format, arguments);
		va_end(arguments);
	}
	tally->passes++;
}

void verdict_fail(struct vl_verdict *verdict, enum vl_verdict_kind kind, const char *format, ...)
{
	struct verdict_tally *tally = &verdict->tallies[kind];
	va_list arguments;

	if (tally->failures < VERDICT_EXAMPLES) {
		va_start(arguments, format);
		vsnprintf(tally->bad[tally->failures], VERDICT_EVIDENCE, format, arguments);
		va_end(arguments);
	}
	tally->failures++;
}

void verdict_measured(struct vl_verdict *verdict, enum vl_verdict_kind kind, uint64_t time)
{
	struct verdict_tally *tally = &verdict->tallies[kind];

	if (!tally->measured || time < tally->least)
		tally->least = time;
	if (time > tally->most)
		tally->most = time;
	tally->sum += time;
	tally->measured++;
}

const char *verdict_time_text(uint64_t time, char text[VERDICT_TIME_TEXT])
{
	if (time < 10000)
		snprintf(text, VERDICT_TIME_TEXT, "%.2f us", (double)time / 1e3);
	else if (time < 10000000)
		snprintf(text, VERDICT_TIME_TEXT, "%.1f us", (double)time / 1e3);
	else
		snprintf(text, VERDICT_TIME_TEXT, "%.2f ms", (double)time / 1e6);
	return text;
}

static void merge_examples(char into[VERDICT_EXAMPLES][VERDICT_EVIDENCE], uint64_t count,
			   const char from[VERDICT_EXAMPLES][VERDICT_EVIDENCE], uint64_t more)
{
	for (uint64_t i = 0; i < more && i < VERDICT_EXAMPLES && count < VERDICT_EXAMPLES; i++)
		memcpy(into[count++], from[i], VERDICT_EVIDENCE);
}

void vl_verdict_set_clock(struct vl_verdict *verdict, const char *arrival_clock, uint64_t error)
{
	verdict->arrival_clock = arrival_clock;
	verdict->arrival_error = error;
}

void vl_verdict_merge(struct vl_verdict *verdict, const struct vl_verdict *other)
{
	for (unsigned int kind = 0; kind < VL_VERDICT_COUNT; kind++) {
		struct verdict_tally *tally = &verdict->tallies[kind];
		const struct verdict_tally *more = &other->tallies[kind];

		merge_examples(tally->good, tally->passes, more->good, more->passes);
		merge_examples(tally->bad, tally->failures, more->bad, more->failures);
		if (more->measured && (!tally->measured || more->least < tally->least))
			tally->least = more->least;
		if (more->most > tally->most)
			tally->most = more->most;
		tally->sum += more->sum;
		tally->measured += more->measured;
		tally->passes += more->passes;
		tally->failures += more->failures;
	}
	if (other->arrival_clock && verdict->arrival_clock &&
	    strcmp(other->arrival_clock, verdict->arrival_clock))
		verdict->arrival_clock = "mixed";
	else if (other->arrival_clock)
		verdict->arrival_clock = other->arrival_clock;
	if (other->arrival_error > verdict->arrival_error)
		verdict->arrival_error = other->arrival_error;
	verdict->frames_received += other->frames_received;
	verdict->frames_transmitted += other->frames_transmitted;
	verdict->not_judged += other->not_judged;
}
