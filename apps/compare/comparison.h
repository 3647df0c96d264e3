/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What the runs of a plan found, as far as they were done, and the figures that are compared. */
#ifndef VERBLINE_COMPARE_COMPARISON_H
#define VERBLINE_COMPARE_COMPARISON_H

#include "apps/compare/plan.h"
#include "apps/compare/record.h"

enum vl_run_state {
	VL_RUN_NOT_DONE, /* the comparison was interrupted before */
	VL_RUN_DONE,
	VL_RUN_FAILED, /* there is no record */
};

struct vl_run {
	enum vl_run_state state;
	char *problem;            /* of one that failed */
	struct vl_record *record; /* of one that is done */
	uint64_t time;            /* ns of real time */
};

struct vl_comparison {
	const struct vl_plan *plan;
	struct vl_run *runs; /* by point, then by seed */
	bool is_interrupted;
	unsigned int processes; /* that ran side by side */
	uint64_t time;          /* ns of real time, all of it */
};

static inline const struct vl_run *vl_comparison_run(const struct vl_comparison *comparison,
						     unsigned int point, unsigned int repetition)
{
	return &comparison->runs[point * comparison->plan->repeat + repetition];
}

/* NULL: no memory. */
struct vl_comparison *vl_comparison_create(const struct vl_plan *plan);
void vl_comparison_destroy(struct vl_comparison *comparison); /* NULL is fine */

/* The record of a point's first run that is done; NULL: none. */
const struct vl_record *vl_comparison_record(const struct vl_comparison *comparison,
					     unsigned int point);
unsigned int vl_comparison_count(const struct vl_comparison *comparison, enum vl_run_state state);
/* Every run was done and everything in them came through. */
bool vl_comparison_is_good(const struct vl_comparison *comparison);

/* ---- Figures -------------------------------------------------------------------------------- */

/* marked: set to ECN CE or FECN. notifications: CNPs sent, and ACKs sent with BECN. job_time and
 * slowdown: means of the jobs of one workload, that which vl_record_job_class names. paused is of
 * Ethernet alone, credit_stalled of InfiniBand alone. dropped: on the way, by switches and links;
 * refused: that arrived, but were corrupt, out of sequence, or not to be taken. utilization
 * and queues: of the bottleneck; where many lines are asked for alike, of the line where they are
 * most. stalled: queue
 * pairs of whose messages nothing arrives any more.
 *
 * name, title, unit of the value, unit for people, divisor to it, decimals, better: -1 less, 1
 * more, 0 neither. Times and queues are of the window, counts of the whole run. */
#define VL_METRICS(X)                                                                              \
	X(goodput_bps, "goodput", "bit/s", "Gb/s", 1e9, 2, 1)                                      \
	X(completion_p50_ns, "completion p50", "ns", "us", 1e3, 1, -1)                             \
	X(completion_p99_ns, "completion p99", "ns", "us", 1e3, 1, -1)                             \
	X(completion_max_ns, "completion max", "ns", "us", 1e3, 1, -1)                             \
	X(job_time_ns, "job time", "ns", "us", 1e3, 1, -1)                                         \
	X(slowdown, "slowdown", "times", "times", 1, 2, -1)                                        \
	X(jain_index, "fairness", "", "Jain", 1, 3, 1)                                             \
	X(utilization, "bottleneck used", "", "%", 0.01, 1, 1)                                     \
	X(queue_mean_bytes, "queue mean", "bytes", "KB", 1e3, 1, -1)                               \
	X(queue_max_bytes, "queue max", "bytes", "KB", 1e3, 1, -1)                                 \
	X(paused_ns, "paused", "ns", "us", 1e3, 0, -1)                                             \
	X(credit_stalled_ns, "no credits", "ns", "us", 1e3, 0, -1)                                 \
	X(marked, "marked", "packets", "packets", 1, 0, 0)                                         \
	X(notifications, "CNPs, BECNs", "packets", "packets", 1, 0, 0)                             \
	X(dropped, "dropped", "packets", "packets", 1, 0, -1)                                      \
	X(refused, "refused at endpoints", "packets", "packets", 1, 0, -1)                         \
	X(retransmitted, "sent again", "packets", "packets", 1, 0, -1)                             \
	X(stalled, "stalled", "queue pairs", "QPs", 1, 0, -1)                                      \
	X(incomplete, "incomplete", "queue pairs or workloads", "QPs", 1, 0, -1)

enum vl_metric {
#define VL_METRIC_ENUMERATOR(name, ...) VL_METRIC_##name,
	VL_METRICS(VL_METRIC_ENUMERATOR)
#undef VL_METRIC_ENUMERATOR
		VL_METRIC_COUNT
};

struct vl_metric_description {
	const char *name, *title, *unit, *shown_unit;
	double divisor;
	int decimals, better;
};
const struct vl_metric_description *vl_metric_describe(enum vl_metric metric);

/* The figures of one run; NAN: it does not say that. */
void vl_record_measure(const struct vl_record *record, double values[VL_METRIC_COUNT]);

/* Over the seeds of a point that are done. count 0: none says it. */
struct vl_figure {
	double mean, least, most;
	unsigned int count;
};
/* All figures of a point. */
void vl_comparison_figures(const struct vl_comparison *comparison, unsigned int point,
			   struct vl_figure figures[VL_METRIC_COUNT]);

/* The first workload of a record that has jobs; UINT_MAX: none has. */
unsigned int vl_record_job_class(const struct vl_record *record);
/* The metric's title, with the name of what it is of. */
#define VL_METRIC_TITLE (VL_RECORD_NAME + 40)
const char *vl_comparison_title(const struct vl_comparison *comparison, enum vl_metric metric,
				char title[VL_METRIC_TITLE]);

/*
 * Whether all that a point was to do was done, in all its runs: nothing failed, was cut short or
 * stood still in the end. What is slow elsewhere is missing in the times and counts of a point that
 * is not whole: the figures of those who came through are not to be called better.
 */
bool vl_comparison_is_whole(const struct vl_comparison *comparison, unsigned int point);

/* Whether any run says it; and of what only some fabrics know, whether any says more than zero. */
bool vl_comparison_has(const struct vl_comparison *comparison, enum vl_metric metric);

/* The completion times of a class at a point, all seeds together. class: its number; classes of
 * all points have the same numbers, as the scenario lists flows and workloads. */
void vl_comparison_times(const struct vl_comparison *comparison, unsigned int point,
			 unsigned int class_number, struct vl_histogram *times);
/* Mean over seeds of a class's goodput, bit/s; 0 without runs. */
double vl_comparison_class_goodput(const struct vl_comparison *comparison, unsigned int point,
				   unsigned int class_number);
/* What the jobs of a workload came to, means over the seeds where some were done. */
struct vl_job_means {
	double time, slowdown; /* ns; times the ideal */
	double busbw;          /* bit/s; 0: not defined */
};
/* False: no job was done. */
bool vl_comparison_jobs(const struct vl_comparison *comparison, unsigned int point,
			unsigned int class_number, struct vl_job_means *means);
/* Of every point that is done; NULL: none is. */
const struct vl_record *vl_comparison_any_record(const struct vl_comparison *comparison);

/* The point that stands for a group where only one can be shown: of those where least is
 * missing (nothing is at those that are whole) the one whose completion p99 is least. UINT_MAX:
 * none is done. */
unsigned int vl_comparison_shown_point(const struct vl_comparison *comparison, unsigned int group);

#endif
