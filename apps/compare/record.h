/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * What is kept of one run: results without what only the run itself needs, small enough to hold
 * hundreds of them, and able to cross from one process to another.
 */
#ifndef VERBLINE_COMPARE_RECORD_H
#define VERBLINE_COMPARE_RECORD_H

#include "apps/compare/bytes.h"
#include "apps/report/results.h"

#define VL_RECORD_NAME        64
#define VL_RECORD_MAX_SAMPLES 400u /* longer series are thinned to fewer than twice as many */
#define VL_RECORD_MAX_TRACED  6u   /* classes with a series of their own */

enum vl_record_kind {
	VL_RECORD_FLOW,
	VL_RECORD_WORKLOAD,
};

/* Jobs of a workload, whole run; a background has none. Times in ns, bandwidths in bit/s; 0: not
 * defined. */
struct vl_record_jobs {
	uint64_t all, finished, missed; /* missed: the deadline */
	double mean, p50, p99, most;
	double slowdown_mean, slowdown_p99; /* times as long as with the network to oneself */
	double algbw, busbw;
	bool has_deadline;
};

/* A flow of the scenario (all its pairs and queue pairs), or a workload (its transfers, of the
 * whole run). The scenario's flows come first. */
struct vl_record_class {
	char name[VL_RECORD_NAME];
	unsigned int kind; /* enum vl_record_kind */
	/* Of its data, some crosses the bottleneck: the port where most flows meet. */
	bool crosses_bottleneck;
	unsigned int qps, failed, unfinished; /* a workload is one that failed or did not end */
	unsigned int stalled;                 /* queue pairs, of those that did not fail */
	double goodput;                       /* bit/s in the window, all queue pairs added */
	uint64_t messages;                    /* completed, whole run */
	/* Completion times in the window, ns: a histogram of which only slots in use are kept. */
	uint64_t count, least, most;
	double sum, square_sum;
	unsigned int first_slot, slot_count;
	struct vl_record_jobs jobs; /* of a workload */
};

struct vl_record_slot {
	uint64_t slot, count;
};

/* One direction of a cable. */
struct vl_record_link {
	char from[VL_RECORD_NAME], to[VL_RECORD_NAME];
	double rate;         /* bit/s */
	double utilization;  /* 0..1, in the window */
	uint64_t bytes;      /* on the line, whole run */
	uint64_t paused_ns;  /* stood still for PFC, priorities added */
	uint64_t stalled_ns; /* stood still for want of credits, lanes added */
	/* Of the one priority, and lane, that stood still longest: no more than the run. */
	uint64_t longest_paused_ns, longest_stalled_ns;
	uint64_t marked;    /* packets set to ECN CE or FECN there */
	uint64_t dropped;   /* packets, all reasons */
	double queue_mean;  /* bytes, of what waits for it */
	uint64_t queue_max; /* bytes */
};

/* Over the interval that ends at time. */
struct vl_record_sample {
	uint64_t time;      /* ns */
	double utilization; /* of the bottleneck, 0..1 */
	double goodput;     /* bit/s, all of it */
	double queue_mean;  /* bytes, of the bottleneck */
	uint64_t queue_max;
	uint64_t marked, cnp, drops, pauses, retransmitted;
	double classes[VL_RECORD_MAX_TRACED]; /* bit/s, of the traced queue pairs */
};

struct vl_record {
	/* What a record is made of beside its arrays. */
	struct vl_record_head {
		uint64_t end, window_start, window_end; /* ns */
		uint64_t events;
		bool is_infiniband;
		bool is_good;   /* everything completed that was to, and nothing failed */
		bool is_traced; /* the series of classes are there, and whole */
		double goodput; /* bit/s in the window */
		double jain;    /* 0: not defined */
		unsigned int jain_count;
		struct vl_totals totals;
		char bottleneck_from[VL_RECORD_NAME], bottleneck_to[VL_RECORD_NAME];
		double bottleneck_rate, utilization, queue_mean, queue_p99;
		uint64_t queue_max, kmin, kmax;
		bool has_queue;
		unsigned int bottlenecks; /* lines that are asked for as much as that one, it too */
		unsigned int class_count, link_count, sample_count, slot_count;
	} head;
	struct vl_record_class *classes;
	struct vl_record_link *links;
	struct vl_record_sample *samples;
	struct vl_record_slot *slots; /* of all classes */
};

/* What results say. NULL: no memory. */
struct vl_record *vl_record_create(const struct vl_results *results);
void vl_record_destroy(struct vl_record *record); /* NULL is fine */

void vl_record_write(const struct vl_record *record, struct vl_bytes *bytes);
/* NULL: no memory, or not what vl_record_write wrote. */
struct vl_record *vl_record_read(struct vl_bytes_reader *reader);

/* Adds the completion times of a class. */
void vl_record_add_times(const struct vl_record *record, const struct vl_record_class *class,
			 struct vl_histogram *times);

#endif
