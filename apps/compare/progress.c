/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/compare/progress.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BAR 30
/* Before so much is done, an estimate is a guess. */
#define LEAST_PART 0.02

uint64_t vl_progress_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

void vl_progress_start(struct vl_progress *progress, FILE *out, unsigned int runs)
{
	const char *terminal = getenv("TERM");

	*progress = (struct vl_progress){.out = out, .runs = runs, .started = vl_progress_now()};
	progress->is_terminal = isatty(fileno(out)) && terminal && strcmp(terminal, "dumb");
}

const char *vl_progress_left(double seconds, char text[VL_PROGRESS_TEXT])
{
	if (seconds < 1)
		snprintf(text, VL_PROGRESS_TEXT, "less than 1 s left");
	else if (seconds < 90)
		snprintf(text, VL_PROGRESS_TEXT, "about %.0f s left", seconds);
	else if (seconds < 90 * 60)
		snprintf(text, VL_PROGRESS_TEXT, "about %.0f min left", seconds / 60);
	else
		snprintf(text, VL_PROGRESS_TEXT, "about %.1f h left", seconds / 3600);
	return text;
}

void vl_progress_clear(struct vl_progress *progress)
{
	if (progress->is_terminal)
		fputs("\r\033[K", progress->out);
	fflush(progress->out);
}

void vl_progress_ended(struct vl_progress *progress, const char *label, const char *problem,
		       uint64_t time)
{
	double elapsed = (double)(vl_progress_now() - progress->started) / 1e9;
	char left[VL_PROGRESS_TEXT];

	progress->ended++;
	if (progress->is_terminal && !problem)
		return;
	vl_progress_clear(progress);
	fprintf(progress->out, "[%u/%u] %s: %s%s in %.1f s", progress->ended, progress->runs, label,
		problem ? "FAILED: " : "done", problem ? problem : "", (double)time / 1e9);
	if (progress->ended < progress->runs)
		fprintf(progress->out, ", %s",
			vl_progress_left(elapsed * (progress->runs - progress->ended) /
						 progress->ended,
					 left));
	fputc('\n', progress->out);
	fflush(progress->out);
}

void vl_progress_show(struct vl_progress *progress, double part, unsigned int running)
{
	double elapsed = (double)(vl_progress_now() - progress->started) / 1e9;
	char bar[BAR + 1], left[VL_PROGRESS_TEXT] = "";
	int filled = (int)(part * BAR);

	if (!progress->is_terminal)
		return;
	memset(bar, '.', BAR);
	memset(bar, '#', (size_t)(filled < BAR ? filled : BAR));
	bar[BAR] = '\0';
	if (part > LEAST_PART)
		vl_progress_left(elapsed * (1 - part) / part, left);
	fprintf(progress->out, "\r\033[K[%s] %3.0f %%  %u of %u runs done, %u running  %s", bar,
		part * 100, progress->ended, progress->runs, running, left);
	fflush(progress->out);
}
