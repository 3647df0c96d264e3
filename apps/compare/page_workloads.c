/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* How long the jobs of workloads took, and how far that is from the best that a network can do. */

#include "apps/compare/page.h"

#include <math.h>
#include <string.h>

#define MAX_WORKLOADS 12u
#define MAX_COLUMNS   6u

static const struct vl_metric_description microseconds = {.divisor = 1e3, .decimals = 1};
static const struct vl_metric_description times = {.divisor = 1, .decimals = 2};
static const struct vl_metric_description gigabytes = {.divisor = 8e9, .decimals = 2};
static const struct vl_metric_description gigabits = {.divisor = 1e9, .decimals = 2};
static const struct vl_metric_description whole = {.divisor = 1};

/* The columns of a workload, as far as it has them. */
struct sheet {
	const struct vl_page *page;
	unsigned int class_number;
	struct vl_page_column columns[MAX_COLUMNS];
	unsigned int count;
};

static const struct vl_record_class *class_of(const struct sheet *sheet, unsigned int group)
{
	return &sheet->page->groups[group].record->classes[sheet->class_number];
}

/* Leaves a column out that no group has. */
static void add(struct sheet *sheet, const char *title, const char *unit,
		const struct vl_metric_description *shown,
		double (*value)(const struct vl_record_class *class))
{
	struct vl_page_column *column = &sheet->columns[sheet->count];
	bool is_there = false;

	column->title = title;
	column->unit = unit;
	for (unsigned int i = 0; i < sheet->page->group_count; i++) {
		column->values[i] = value(class_of(sheet, i));
		is_there |= !isnan(column->values[i]);
		vl_page_number(column->values[i], shown, column->texts[i]);
	}
	sheet->count += is_there;
}

static double job_mean(const struct vl_record_class *class)
{
	return class->jobs.finished ? class->jobs.mean : NAN;
}

static double job_p99(const struct vl_record_class *class)
{
	return class->jobs.finished ? class->jobs.p99 : NAN;
}

static double slowdown(const struct vl_record_class *class)
{
	return class->jobs.finished && class->jobs.slowdown_mean > 0 ? class->jobs.slowdown_mean
								     : NAN;
}

static double bus_bandwidth(const struct vl_record_class *class)
{
	return class->jobs.busbw > 0 ? class->jobs.busbw : NAN;
}

static double goodput(const struct vl_record_class *class)
{
	return class->goodput;
}

static double missed(const struct vl_record_class *class)
{
	return class->jobs.has_deadline ? (double)class->jobs.missed : NAN;
}

static void put_workload(const struct vl_page *page, unsigned int class_number)
{
	struct sheet sheet = {.page = page, .class_number = class_number};
	const struct vl_record_class *class;

	add(&sheet, "job, mean", "\xc2\xb5s", &microseconds, job_mean);
	add(&sheet, "job, p99", "\xc2\xb5s", &microseconds, job_p99);
	add(&sheet, "slowdown, mean", "times the ideal", &times, slowdown);
	add(&sheet, "bus bandwidth", "GB/s, as nccl-tests", &gigabytes, bus_bandwidth);
	add(&sheet, "goodput", "Gb/s", &gigabits, goodput);
	add(&sheet, "missed deadline", "jobs", &whole, missed);
	fputs("<h3>", page->out);
	vl_html_text(page->out, class_of(&sheet, 0)->name);
	fputs("</h3>\n", page->out);
	vl_page_bars(page, sheet.columns, sheet.count, class_of(&sheet, 0)->name);
	for (unsigned int i = 0; i < page->group_count; i++) {
		class = class_of(&sheet, i);
		if (class->failed || class->unfinished)
			vl_html_paragraph(page->out, "warning",
					  "%s: %s after %llu of %llu jobs; figures are of those.",
					  page->groups[i].label,
					  class->failed ? "failed" : "not ended in time",
					  (unsigned long long)class->jobs.finished,
					  (unsigned long long)class->jobs.all);
	}
}

void vl_page_workloads(const struct vl_page *page)
{
	const struct vl_record_class *classes = page->groups[0].record->classes;
	unsigned int drawn = 0, left = 0;

	for (unsigned int i = 0; i < page->class_count; i++) {
		if (classes[i].kind != VL_RECORD_WORKLOAD)
			continue;
		if (drawn == MAX_WORKLOADS) {
			left++;
			continue;
		}
		if (!drawn)
			vl_html_section(page->out, "workloads", "Workloads");
		if (!drawn)
			vl_html_paragraph(
				page->out, "note",
				"Of the whole run%s. A job is one iteration of a collective, or "
				"one "
				"request. The ideal is the time with the network to oneself: the "
				"slowest link of each path, and its latency.",
				page->plan->repeat > 1 ? ", of the first seed" : "");
		put_workload(page, i);
		drawn++;
	}
	if (left)
		vl_html_paragraph(page->out, "note",
				  "%u more workloads are in the CSV and JSON files.", left);
	if (drawn)
		vl_html_section_end(page->out);
}
