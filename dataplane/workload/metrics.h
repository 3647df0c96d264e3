/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * What a workload's run amounts to. A transfer's completion time is from when it was ready (all
 * that it waited for was there, or it was due) to when all of it had arrived; a job's from when the
 * first of its steps was ready to when the last had finished. Jobs are counted once a round.
 *
 * Slowdown is the time over the ideal one, which is the time with the network to oneself: the bits
 * on the line, headers, preamble and gap included, at the rate of the slowest link of the path, and
 * the path's latency (propagation, and a packet stored once more for each further link).
 * The ideal time of a job is the longest way through its steps that wait for each other, or, where
 * all of a plan is one job, the time that some rank's own link takes for all that it sends or gets,
 * whichever is longer. No network can be faster, so slowdowns are 1 or more (less by rounding).
 */
#ifndef VERBLINE_WORKLOAD_METRICS_H
#define VERBLINE_WORKLOAD_METRICS_H

#include "dataplane/workload/engine.h"

#include <stdbool.h>
#include <stdint.h>

#define VL_DISTRIBUTION_POINTS 101

/* Percentiles are the least value that so many percent of the values do not exceed. */
struct vl_distribution {
	uint64_t count; /* 0: all else is 0 */
	double mean, least, most;
	double p50, p90, p95, p99, p999;
	double points[VL_DISTRIBUTION_POINTS]; /* percentiles 0 (the least) to 100 */
};

/* A growing list of values. All zeros is an empty one. */
struct vl_values {
	double *list;
	uint64_t count, capacity;
};

/* False: no memory, and the list is as it was. */
bool vl_values_add(struct vl_values *values, double value);
void vl_values_release(struct vl_values *values);
/* Sorts the values. */
struct vl_distribution vl_values_distribution(struct vl_values *values);
/* (sum x)^2 / (n sum x^2): 1 if all are alike, 1 / n if one has all; 0 without values. */
double vl_values_jain(const struct vl_values *values);

/* How data gets from one endpoint to another if nobody else is there. Where packets are stored
 * before they are forwarded, a link beside the slowest takes the time of one of them more: of the
 * longest before the slowest link (or at the same rate), of the last one behind it. */
struct vl_workload_path {
	double rate;                          /* bit/s, of the slowest link */
	double source_rate, destination_rate; /* bit/s, of the endpoints' own links */
	double propagation; /* ns, and whatever else a packet of any length takes */
	double store;       /* ns for each byte of the longest packet */
	double store_last;  /* ns for each byte of the last packet */
};

struct vl_workload_measures {
	/* From source to destination, numbers of endpoints. */
	struct vl_workload_path (*path)(void *context, uint32_t source, uint32_t destination);
	void *context;
	uint32_t packet_overhead; /* bytes on the line for each packet but payload and extended
				     headers: Ethernet, IPv4, UDP, BTH, ICRC and what is around */
	uint64_t size;            /* of a collective as nccl-tests means it, bytes; 0: none */
	double bus_factor;        /* busbw over algbw */
	uint64_t deadline;        /* ns, of a job; 0: none */
};

/* RoCEv2 over IPv4: 14 + 20 + 8 + 12 + 4, and FCS, preamble and gap. */
#define VL_ROCEV2_PACKET_OVERHEAD 82u
/* LRH 8, GRH 40, BTH 12, ICRC 4, VCRC 2, and 2 of delimiters. */
#define VL_INFINIBAND_PACKET_OVERHEAD 68u

struct vl_workload_round {
	uint64_t started, finished; /* ns; VL_WORKLOAD_NEVER: not, or not wholly */
	double algbw, busbw;        /* bit/s; 0: not a collective, or not finished */
};

struct vl_workload_metrics {
	struct vl_workload_progress progress;
	uint64_t transfers, jobs; /* finished, of all rounds */
	uint64_t all_transfers, all_jobs;
	uint64_t missed;                       /* jobs that took longer than the deadline, or that
						  have not finished */
	struct vl_distribution transfer_times; /* ns */
	struct vl_distribution transfer_slowdown;
	struct vl_distribution job_times; /* ns */
	struct vl_distribution job_slowdown;
	double ideal_round;               /* ns, where all of a plan is one job; else 0 */
	struct vl_workload_round *rounds; /* owned */
	uint32_t round_count;
	double algbw, busbw; /* bit/s: size over the mean time of the rounds that have finished */
	double goodput;      /* bit/s, of all that arrived, from its start to its end or until */
	double jain;         /* of the rates of transfers, those of all rounds of a step as one */
};

/* Values of several workloads together, as of a class. All zeros is empty. */
struct vl_workload_values {
	struct vl_values transfer_times, transfer_slowdown, job_times, job_slowdown;
};
void vl_workload_values_release(struct vl_workload_values *values);

/* After the run, which lasted until (ns). Adds to values too, if not NULL. 0, or -ENOMEM with
 * nothing to release. A background has no completion times. */
int vl_workload_measure(const struct vl_workload_engine *engine, uint32_t workload,
			const struct vl_workload_measures *measures, uint64_t until,
			struct vl_workload_values *values, struct vl_workload_metrics *metrics);
void vl_workload_metrics_release(struct vl_workload_metrics *metrics);

/* Bytes on the line of a step of a workload. */
uint64_t vl_workload_line_bytes(const struct vl_workload_config *config, const struct vl_step *step,
				uint32_t packet_overhead);

#endif
