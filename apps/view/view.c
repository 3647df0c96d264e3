/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/view/view.h"

#include "apps/view/draw.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FRAME_INTERVAL   UINT64_C(33000000) /* ns between two redraws at least */
#define NAME_WIDTH       24
#define MIN_BAR_WIDTH    10
#define FIXED_ROWS       12 /* lines beside those of queue pairs */
#define LINES_OF_A_RUN   10
#define HISTORY_FRACTION 3 /* of the free width: the rest is the bar */

struct vl_view {
	struct vl_view_config config;
	const struct vl_results *results;
	uint64_t began, last_frame; /* ns, real time */
	unsigned int drawn_lines;   /* above the cursor */
	unsigned int shown;         /* samples, in lines style */
	double highest_rate;        /* of a queue pair so far */
	bool is_screen_touched;
};

static uint64_t real_time(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

struct vl_view *vl_view_create(const struct vl_view_config *config,
			       const struct vl_results *results)
{
	struct vl_view *view = calloc(1, sizeof(*view));

	if (!view)
		return NULL;
	view->config = *config;
	if (!view->config.columns)
		view->config.columns = 80;
	if (!view->config.rows)
		view->config.rows = 24;
	view->results = results;
	view->began = real_time();
	return view;
}

static const struct vl_sample *last_sample(const struct vl_view *view)
{
	return &view->results->samples[view->results->sample_count - 1];
}

static void name_qp(const struct vl_results *results, unsigned int number, char *name, size_t size)
{
	const struct vl_scenario *scenario = results->scenario;
	unsigned int first = 0, pair = 0;

	while (first + scenario->pairs[pair].flow->qps <= number)
		first += (unsigned int)scenario->pairs[pair++].flow->qps;
	if (scenario->pairs[pair].flow->qps == 1)
		snprintf(name, size, "%s > %s", scenario->nodes[scenario->pairs[pair].from].name,
			 scenario->nodes[scenario->pairs[pair].to].name);
	else
		snprintf(name, size, "%s > %s #%u",
			 scenario->nodes[scenario->pairs[pair].from].name,
			 scenario->nodes[scenario->pairs[pair].to].name, number - first);
}

/* ---- Screen ------------------------------------------------------------------------------ */

static void draw_progress(const struct vl_view *view, FILE *out)
{
	const struct vl_scenario *scenario = view->results->scenario;
	const struct vl_sample *sample = last_sample(view);
	char now[VL_QUANTITY_TEXT], end[VL_QUANTITY_TEXT];

	fprintf(out, "%s%s%s, %s of %s of %s time  ", VL_BOLD, scenario->name, VL_PLAIN,
		vl_quantity_text(VL_QUANTITY_DURATION, sample->time, now),
		vl_quantity_text(VL_QUANTITY_DURATION, scenario->duration, end),
		view->results->is_live ? "real" : "virtual");
	vl_draw_bar(out, (double)sample->time / (double)scenario->duration, 20);
}

/* History of a value by sample, newest at the right; width samples or averages of several. */
static void draw_history(const struct vl_view *view, FILE *out, unsigned int width, double most,
			 double (*value)(const struct vl_sample *sample, unsigned int which),
			 unsigned int which)
{
	const struct vl_results *results = view->results;
	uint64_t expected = results->scenario->duration / results->scenario->sample_interval;
	unsigned int group = (unsigned int)(expected / width) + 1, first, count, columns;
	double sum;

	columns = (results->sample_count + group - 1) / group;
	for (unsigned int column = 0; column < columns && column < width; column++) {
		first = column * group;
		count = results->sample_count - first < group ? results->sample_count - first
							      : group;
		sum = 0;
		for (unsigned int i = first; i < first + count; i++)
			sum += value(&results->samples[i], which);
		vl_draw_level(out, most > 0 ? sum / count / most : 0);
	}
}

static double rate_of(const struct vl_sample *sample, unsigned int which)
{
	return sample->rates[which];
}

static double queue_of(const struct vl_sample *sample, unsigned int which)
{
	(void)which;
	return sample->queue_mean;
}

static void draw_rates(struct vl_view *view, FILE *out)
{
	const struct vl_results *results = view->results;
	const struct vl_sample *sample = last_sample(view);
	unsigned int room = view->config.rows > FIXED_ROWS ? view->config.rows - FIXED_ROWS : 1;
	unsigned int shown = results->traced_count < room ? results->traced_count : room;
	unsigned int free_width = view->config.columns - NAME_WIDTH - 12;
	unsigned int history = free_width / HISTORY_FRACTION, bar = free_width - history;
	char name[2 * VL_MAX_NAME + 32];

	if (bar < MIN_BAR_WIDTH)
		bar = MIN_BAR_WIDTH;
	for (unsigned int i = 0; i < shown; i++) {
		if (sample->rates[i] > view->highest_rate)
			view->highest_rate = sample->rates[i];
	}
	vl_draw_end_line(out);
	fprintf(out, "Payload that arrives, Gb/s");
	vl_draw_end_line(out);
	for (unsigned int i = 0; i < shown; i++) {
		name_qp(results, i, name, sizeof(name));
		fprintf(out, "%-*.*s%s%7.2f%s ", NAME_WIDTH, NAME_WIDTH, name, VL_BOLD,
			sample->rates[i] / 1e9, VL_PLAIN);
		fputs(VL_CYAN, out);
		vl_draw_bar(out, view->highest_rate > 0 ? sample->rates[i] / view->highest_rate : 0,
			    bar);
		fputs(VL_PLAIN, out);
		fputc(' ', out);
		draw_history(view, out, history, view->highest_rate, rate_of, i);
		vl_draw_end_line(out);
	}
	if (shown < results->qp_count) {
		fprintf(out, "and %u more queue pairs", results->qp_count - shown);
		vl_draw_end_line(out);
	}
}

static void draw_queue(const struct vl_view *view, FILE *out)
{
	const struct vl_results *results = view->results;
	const struct vl_bottleneck_result *bottleneck = &results->bottleneck;
	const struct vl_sample *sample = last_sample(view);
	unsigned int width = view->config.columns - NAME_WIDTH - 12;
	char text[3][VL_QUANTITY_TEXT];
	double top = 1.5 * (double)bottleneck->kmin;

	for (unsigned int i = 0; i < results->sample_count; i++) {
		if (results->samples[i].queue_mean > top)
			top = results->samples[i].queue_mean;
	}
	fprintf(out, "%-*s%s%7.1f%s %% of %s", NAME_WIDTH, "Used", VL_BOLD,
		sample->utilization * 100, VL_PLAIN,
		vl_quantity_text(VL_QUANTITY_RATE, bottleneck->rate, text[0]));
	vl_draw_end_line(out);
	if (!bottleneck->has_queue)
		return;
	fprintf(out, "%-*s%s%7.1f%s ", NAME_WIDTH, "Queue, KB", VL_BOLD, sample->queue_mean / 1e3,
		VL_PLAIN);
	vl_draw_gauge(out, sample->queue_mean / (top > 0 ? top : 1),
		      (double)bottleneck->kmin / (top > 0 ? top : 1),
		      (double)bottleneck->kmax / (top > 0 ? top : 1), width * 2 / 3);
	if (bottleneck->kmax)
		fprintf(out, " Kmin %s, Kmax %s",
			vl_quantity_text(VL_QUANTITY_SIZE, bottleneck->kmin, text[1]),
			vl_quantity_text(VL_QUANTITY_SIZE, bottleneck->kmax, text[2]));
	vl_draw_end_line(out);
	fprintf(out, "%-*s", NAME_WIDTH + 8, "");
	fputs(VL_CYAN, out);
	draw_history(view, out, width * 2 / 3, top, queue_of, 0);
	fputs(VL_PLAIN, out);
	vl_draw_end_line(out);
}

static void draw_count(FILE *out, const char *name, uint64_t count, const char *colour)
{
	fprintf(out, "%s %s%llu%s   ", name, count ? colour : "", (unsigned long long)count,
		count ? VL_PLAIN : "");
}

static void draw_counts(const struct vl_view *view, FILE *out)
{
	const struct vl_results *results = view->results;
	struct vl_sample sum = {0};

	for (unsigned int i = 0; i < results->sample_count; i++) {
		sum.ecn_marked += results->samples[i].ecn_marked;
		sum.cnp_tx += results->samples[i].cnp_tx;
		sum.drops += results->samples[i].drops;
		sum.pauses += results->samples[i].pauses;
		sum.retransmitted += results->samples[i].retransmitted;
	}
	vl_draw_end_line(out);
	draw_count(out, "ECN marks", sum.ecn_marked, VL_YELLOW);
	draw_count(out, "CNPs", sum.cnp_tx, VL_YELLOW);
	draw_count(out, "PFC pauses", sum.pauses, VL_YELLOW);
	draw_count(out, "drops", sum.drops, VL_RED);
	draw_count(out, "sent again", sum.retransmitted, VL_RED);
	vl_draw_end_line(out);
}

static void draw_screen(struct vl_view *view)
{
	const struct vl_bottleneck_result *bottleneck = &view->results->bottleneck;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return;
	draw_progress(view, out);
	vl_draw_end_line(out);
	draw_rates(view, out);
	vl_draw_end_line(out);
	fprintf(out, "Line from %s to %s", bottleneck->node, bottleneck->neighbour);
	vl_draw_end_line(out);
	draw_queue(view, out);
	draw_counts(view, out);
	if (fclose(out) || !text) {
		free(text);
		return;
	}
	if (!view->is_screen_touched)
		fputs(VL_HIDE_CURSOR, view->config.out);
	view->is_screen_touched = true;
	if (view->drawn_lines)
		fprintf(view->config.out, VL_CURSOR_UP_FORMAT, view->drawn_lines);
	view->drawn_lines = 0;
	for (size_t i = 0; i < size; i++)
		view->drawn_lines += text[i] == '\n';
	fwrite(text, 1, size, view->config.out);
	fputs(VL_CLEAR_BELOW, view->config.out);
	fflush(view->config.out);
	free(text);
}

static void sleep_until(uint64_t time)
{
	struct timespec until = {(time_t)(time / UINT64_C(1000000000)),
				 (long)(time % UINT64_C(1000000000))};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

/* Redraws unless the picture before is too young, after waiting if the run is ahead of its pace. */
static void update_screen(struct vl_view *view)
{
	const struct vl_sample *sample = last_sample(view);
	double part = (double)sample->time / (double)view->results->scenario->duration;
	uint64_t due = view->began + (uint64_t)(part * (double)view->config.watch_time);
	uint64_t now = real_time();

	if (view->config.watch_time && due > now) {
		sleep_until(due);
		now = due;
	}
	if (now - view->last_frame < FRAME_INTERVAL)
		return;
	view->last_frame = now;
	draw_screen(view);
}

/* ---- Lines ------------------------------------------------------------------------------- */

static void update_lines(struct vl_view *view)
{
	const struct vl_results *results = view->results;
	const struct vl_sample *sample = last_sample(view);
	uint64_t step = results->scenario->duration / LINES_OF_A_RUN;
	uint64_t before = view->shown ? results->samples[view->shown - 1].time : 0;
	char time[VL_QUANTITY_TEXT];
	struct vl_sample sum = {0};
	double rate = 0, weight;

	if (sample->time / step == before / step)
		return;
	for (unsigned int i = view->shown; i < results->sample_count; i++) {
		weight = (double)(results->samples[i].time -
				  (i ? results->samples[i - 1].time : 0)) /
			 (double)(sample->time - before);
		rate += results->samples[i].goodput * weight;
		sum.queue_mean += results->samples[i].queue_mean * weight;
		sum.ecn_marked += results->samples[i].ecn_marked;
		sum.cnp_tx += results->samples[i].cnp_tx;
		sum.drops += results->samples[i].drops;
		sum.pauses += results->samples[i].pauses;
		sum.retransmitted += results->samples[i].retransmitted;
	}
	view->shown = results->sample_count;
	fprintf(view->config.out,
		"%8s: %6.2f Gb/s payload, queue %6.1f KB, %llu marked, %llu CNPs, %llu pauses, "
		"%llu dropped, %llu sent again\n",
		vl_quantity_text(VL_QUANTITY_DURATION, sample->time, time), rate / 1e9,
		sum.queue_mean / 1e3, (unsigned long long)sum.ecn_marked,
		(unsigned long long)sum.cnp_tx, (unsigned long long)sum.pauses,
		(unsigned long long)sum.drops, (unsigned long long)sum.retransmitted);
	fflush(view->config.out);
}

void vl_view_update(struct vl_view *view)
{
	if (!view->results->sample_count)
		return;
	if (view->config.style == VL_VIEW_SCREEN)
		update_screen(view);
	else
		update_lines(view);
}

void vl_view_destroy(struct vl_view *view)
{
	if (!view)
		return;
	if (view->config.style == VL_VIEW_SCREEN && view->results->sample_count)
		draw_screen(view);
	if (view->is_screen_touched) {
		fputs(VL_SHOW_CURSOR "\n", view->config.out);
		fflush(view->config.out);
	}
	free(view);
}
