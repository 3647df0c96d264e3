/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/gen/live.h"

#include "apps/gen/report.h"
#include "apps/quantity.h"
#include "apps/view/draw.h"

#include <stdlib.h>
#include <sys/ioctl.h>

#define SECOND          UINT64_C(1000000000)
#define SCREEN_INTERVAL (SECOND / 5)
#define HISTORY         64u /* pictures */
#define NAME_WIDTH      16
#define NUMBERS_WIDTH   (NAME_WIDTH + 25)
#define FIXED_ROWS      7u /* lines beside those of groups and streams */
#define MIN_COLUMNS     60u
#define DEFAULT_COLUMNS 80u
#define DEFAULT_ROWS    24u

struct row {
	double rate, message_rate;
	float history[HISTORY]; /* bit/s, by picture % HISTORY */
};

struct gen_live {
	const struct gen_config *config;
	FILE *out;
	bool is_screen;
	unsigned int columns, lines;
	unsigned int drawn_lines; /* above the cursor */
	unsigned int pictures;
	uint64_t due;  /* ns since the start, of the next picture or line */
	uint64_t time; /* of before */
	struct gen_live_reading before;
	double highest; /* bit/s of a row so far */
	unsigned int row_count;
	struct row rows[GEN_LIVE_ROWS];
};

struct gen_live *gen_live_create(const struct gen_config *config, FILE *out, bool is_screen)
{
	struct gen_live *live = calloc(1, sizeof(*live));
	struct winsize size = {0};

	if (!live)
		return NULL;
	live->config = config;
	live->out = out;
	live->is_screen = is_screen;
	live->row_count = config->groups.count + config->streams.count;
	live->due = SECOND;
	ioctl(fileno(out), TIOCGWINSZ, &size);
	live->columns = size.ws_col ? size.ws_col : DEFAULT_COLUMNS;
	live->lines = size.ws_row ? size.ws_row : DEFAULT_ROWS;
	if (live->columns < MIN_COLUMNS)
		live->is_screen = false;
	if (live->is_screen)
		live->due = SCREEN_INTERVAL;
	if (!live->is_screen)
		fprintf(out, "%8s %12s %12s %9s %9s %9s %9s\n", "s", "Gb/s", "messages/s", "again",
			"CNPs", "QPs", "failed");
	return live;
}

static const char *name_of(const struct gen_live *live, unsigned int row)
{
	const struct gen_group *groups = live->config->groups.elements;
	const struct gen_stream_config *streams = live->config->streams.elements;

	if (row < live->config->groups.count)
		return groups[row].name;
	return streams[row - live->config->groups.count].name;
}

static void work_out_rates(struct gen_live *live, const struct gen_live_reading *reading,
			   double seconds)
{
	for (unsigned int i = 0; i < live->row_count; i++) {
		struct row *row = &live->rows[i];

		row->rate =
			8 * (double)(reading->rows[i].bytes - live->before.rows[i].bytes) / seconds;
		row->message_rate =
			(double)(reading->rows[i].messages - live->before.rows[i].messages) /
			seconds;
		row->history[live->pictures % HISTORY] = (float)row->rate;
		if (row->rate > live->highest)
			live->highest = row->rate;
	}
	live->pictures++;
}

/* Of rows from first to before last. */
static struct row sum_of(const struct gen_live *live, unsigned int first, unsigned int last)
{
	struct row sum = {0};

	for (unsigned int i = first; i < last; i++) {
		sum.rate += live->rows[i].rate;
		sum.message_rate += live->rows[i].message_rate;
	}
	return sum;
}

/* ---- Screen -------------------------------------------------------------------------------- */

static void draw_progress(const struct gen_live *live, uint64_t elapsed, FILE *out)
{
	char now[VL_QUANTITY_TEXT], end[VL_QUANTITY_TEXT];
	uint64_t rounded = elapsed / (SECOND / 10) * (SECOND / 10);

	fprintf(out, "%s%s%s%s, %s", VL_BOLD, live->config->to ? "to " : "streams",
		live->config->to ? live->config->to : "", VL_PLAIN,
		vl_quantity_text(VL_QUANTITY_DURATION, rounded, now));
	if (live->config->duration) {
		fprintf(out, " of %s  ",
			vl_quantity_text(VL_QUANTITY_DURATION, live->config->duration, end));
		vl_draw_bar(out, (double)elapsed / (double)live->config->duration, 20);
	}
	vl_draw_end_line(out);
	vl_draw_end_line(out);
}

static void draw_history(const struct gen_live *live, const struct row *row, unsigned int width,
			 FILE *out)
{
	unsigned int count = live->pictures < HISTORY ? live->pictures : HISTORY;

	if (count > width)
		count = width;
	for (unsigned int i = live->pictures - count; i != live->pictures; i++)
		vl_draw_level(out,
			      live->highest > 0 ? row->history[i % HISTORY] / live->highest : 0);
}

static void draw_numbers(const char *name, const struct row *row, FILE *out)
{
	fprintf(out, "%-*.*s %s%9.*f%s %12.0f  ", NAME_WIDTH, NAME_WIDTH, name, VL_BOLD,
		gen_rate_decimals(row->rate), row->rate / 1e9, VL_PLAIN, row->message_rate);
}

static void draw_rows(const struct gen_live *live, FILE *out)
{
	unsigned int room = live->lines > FIXED_ROWS ? live->lines - FIXED_ROWS : 1;
	unsigned int shown = live->row_count < room ? live->row_count : room;
	unsigned int width = live->columns - NUMBERS_WIDTH - 1, history = width / 2;
	unsigned int groups = live->config->groups.count;
	struct row sum = sum_of(live, 0, groups);

	fprintf(out, "%-*s %9s %12s", NAME_WIDTH, "", "Gb/s", "messages/s");
	vl_draw_end_line(out);
	for (unsigned int i = 0; i < shown; i++) {
		draw_numbers(name_of(live, i), &live->rows[i], out);
		fputs(VL_CYAN, out);
		vl_draw_bar(out, live->highest > 0 ? live->rows[i].rate / live->highest : 0,
			    width - history - 1);
		fputs(VL_PLAIN, out);
		fputc(' ', out);
		draw_history(live, &live->rows[i], history, out);
		vl_draw_end_line(out);
	}
	if (groups > 1) {
		draw_numbers("all groups", &sum, out);
		vl_draw_end_line(out);
	}
	if (shown < live->row_count) {
		fprintf(out, "and %u more", live->row_count - shown);
		vl_draw_end_line(out);
	}
}

static void draw_count(const char *name, uint64_t count, const char *colour, FILE *out)
{
	fprintf(out, "%s %s%llu%s   ", name, count ? colour : "", (unsigned long long)count,
		count ? VL_PLAIN : "");
}

static void draw_counts(const struct gen_live_reading *reading, FILE *out)
{
	const struct vl_counters *counters = &reading->counters;

	vl_draw_end_line(out);
	draw_count("QPs active", reading->active, VL_BOLD, out);
	draw_count("failed", reading->failed, VL_RED, out);
	draw_count("CNPs", counters->cnp_rx, VL_YELLOW, out);
	draw_count("RNR", counters->rnr_nak_rx, VL_YELLOW, out);
	draw_count("sent again", counters->data_frames_retransmitted, VL_RED, out);
	draw_count("timeouts", counters->local_ack_timeout_err, VL_RED, out);
	vl_draw_end_line(out);
}

static void draw_screen(struct gen_live *live, const struct gen_live_reading *reading,
			uint64_t elapsed)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return;
	draw_progress(live, elapsed, out);
	draw_rows(live, out);
	draw_counts(reading, out);
	if (fclose(out) || !text) {
		free(text);
		return;
	}
	if (live->drawn_lines)
		fprintf(live->out, VL_CURSOR_UP_FORMAT, live->drawn_lines);
	else
		fputs(VL_HIDE_CURSOR, live->out);
	live->drawn_lines = 0;
	for (size_t i = 0; i < size; i++)
		live->drawn_lines += text[i] == '\n';
	fwrite(text, 1, size, live->out);
	fputs(VL_CLEAR_BELOW, live->out);
	fflush(live->out);
	free(text);
}

/* ---- Lines --------------------------------------------------------------------------------- */

static void print_line(const struct gen_live *live, const struct gen_live_reading *reading,
		       uint64_t elapsed)
{
	const struct vl_counters *now = &reading->counters, *before = &live->before.counters;
	unsigned int groups = live->config->groups.count;
	/* Streams alone: theirs. */
	struct row sum = groups ? sum_of(live, 0, groups) : sum_of(live, 0, live->row_count);

	fprintf(live->out, "%8.0f %12.*f %12.0f %9llu %9llu %9u %9u\n",
		(double)elapsed / (double)SECOND, gen_rate_decimals(sum.rate), sum.rate / 1e9,
		sum.message_rate,
		(unsigned long long)(now->data_frames_retransmitted -
				     before->data_frames_retransmitted),
		(unsigned long long)(now->cnp_rx - before->cnp_rx), reading->active,
		reading->failed);
	fflush(live->out);
}

void gen_live_update(struct gen_live *live, const struct gen_live_reading *reading,
		     uint64_t elapsed)
{
	uint64_t interval = live->is_screen ? SCREEN_INTERVAL : SECOND;

	if (elapsed < live->due || elapsed <= live->time)
		return;
	live->due += interval;
	if (live->due <= elapsed)
		live->due = elapsed / interval * interval + interval;
	work_out_rates(live, reading, (double)(elapsed - live->time) / (double)SECOND);
	if (live->is_screen)
		draw_screen(live, reading, elapsed);
	else
		print_line(live, reading, elapsed);
	live->before = *reading;
	live->time = elapsed;
}

void gen_live_destroy(struct gen_live *live)
{
	if (!live)
		return;
	if (live->drawn_lines) {
		fputs(VL_SHOW_CURSOR "\n", live->out);
		fflush(live->out);
	}
	free(live);
}
