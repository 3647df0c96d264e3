/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * What a run of the lab found: numbers only, made by lab_measure.c, printed by table.c, json.c and
 * verdict.c. "The window" is from the end of the warm-up to the end of the last job or flow
 * (live: to the sample after it), or to the end of the run if these do not end before it.
 */
#ifndef VERBLINE_REPORT_RESULTS_H
#define VERBLINE_REPORT_RESULTS_H

#include "apps/scenario/scenario.h"
#include "dataplane/histogram.h"
#include "dataplane/workload/metrics.h"
#include "transport/counter_field.h"
#include "transport/verbline.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* A queue pair of a flow, both ends. */
struct vl_qp_result {
	const struct vl_scenario_pair *pair;
	uint32_t number; /* within the pair */
	uint32_t requester_qpn, responder_qpn;
	double goodput; /* bit/s of payload that arrived, in its active part of the window */
	double cc_rate; /* bit/s allowed at the end, of who sends the data; 0: not limited */
	uint64_t messages, bytes; /* completed, whole run */
	enum ibv_wc_status status;
	bool finished;
	bool is_active; /* it had time in the window, between its start and its end */
	/* At the end of the window it had messages on their way, of which nothing had arrived for a
	 * tenth of the window or longer. Not known live. */
	bool stalled;
	struct vl_counters requester, responder; /* whole run */
};

#define VL_TOTALS(X)                                                                               \
	X(ecn_marked, "frames", "set to ECN CE by switches and links")                             \
	X(ecn_ce_rx, "frames", "received with ECN CE")                                             \
	X(fecn_rx, "frames", "received with FECN")                                                 \
	X(becn_tx, "frames", "ACKs sent with BECN")                                                \
	X(becn_rx, "frames", "ACKs received with BECN")                                            \
	X(cnp_tx, "frames", "CNPs sent")                                                           \
	X(cnp_rx, "frames", "CNPs received")                                                       \
	X(pfc_pause_tx, "frames", "pauses sent, refreshed ones included")                          \
	X(pfc_resume_tx, "frames", "pauses ended early")                                           \
	X(pfc_paused_ns, "ns", "that ports were paused, all ports and priorities added")           \
	X(credit_stall_ns, "ns", "that packets waited for credits, all ports and lanes added")     \
	X(data_frames_tx, "frames", "request and READ response packets, retransmissions included") \
	X(data_frames_retransmitted, "frames", "of these, sent again")                             \
	X(frame_sequence_error, "frames", "received ahead of the expected PSN")                    \
	X(duplicate_request, "frames", "received behind the expected PSN")                         \
	X(nak_tx, "frames", "NAKs sent")                                                           \
	X(rnr_nak_tx, "frames", "RNR NAKs sent")                                                   \
	X(local_ack_timeout_err, "events", "local ACK timeouts")                                   \
	X(message_tx, "messages", "completed with success")                                        \
	X(message_fail, "messages", "completed in error")                                          \
	X(switch_drops, "frames", "dropped by switches")                                           \
	X(link_losses, "frames", "lost on links")                                                  \
	X(link_corrupted, "frames", "corrupted on links")                                          \
	X(endpoint_drops, "packets", "refused by endpoints, all reasons added")

struct vl_totals {
	VL_TOTALS(VL_COUNTER_FIELD)
};

/* A drop reason that occurred. */
struct vl_drop_result {
	const char *where, *reason;
	uint64_t count;
};
#define VL_MAX_DROP_RESULTS 64

/* Why frames did not get from a port onto its line, or along it; and who dropped them. */
#define VL_LINK_DROPS(X)                                                                           \
	X(loss, "link", "lost on the line")                                                        \
	X(mtu, "link", "longer than the line's MTU")                                               \
	X(red, "switch", "not ECN-capable when RED would have marked")                             \
	X(queue_full, "switch", "beyond the queue's limit")                                        \
	X(group_full, "switch", "lossy, and beyond their priority group's threshold")              \
	X(buffer_full, "switch", "beyond the shared buffer")                                       \
	X(headroom, "switch", "lossless, but beyond the headroom")                                 \
	X(watchdog, "switch", "by the PFC watchdog")                                               \
	X(head_of_queue, "switch", "at the head of the queue for longer than the limit")           \
	X(lifetime, "switch", "waited for longer than the lifetime limit")

struct vl_link_drops {
	VL_LINK_DROPS(VL_COUNTER_FIELD)
};

/* One direction of a cable: the port of node that sends to neighbour. */
struct vl_link_result {
	bool is_elsewhere;        /* another process runs node: nothing is known of it */
	unsigned int node, port;  /* of the sender, as the scenario numbers nodes */
	unsigned int neighbour;   /* node */
	uint64_t rate;            /* bit/s */
	uint64_t frames, bytes;   /* on the line, whole run; without preamble, gap and FCS */
	double utilization;       /* 0..1, in the window, preamble and gap included */
	uint64_t pause_ns;        /* that PFC held the port, whole run, priorities added */
	uint64_t pauses, resumes; /* PFC frames sent, refreshed ones included, whole run */
	uint64_t credit_stall_ns; /* that a lane had packets but no credits, whole run, lanes added
				   */
	/* Of the one priority, or lane, that was held longest: no more than the run. */
	uint64_t longest_pause_ns, longest_credit_stall_ns;
	uint64_t marked;    /* ECN CE or FECN, here, whole run */
	double queue_mean;  /* bytes in the window, of all queues; 0 where there are none */
	uint64_t queue_max; /* bytes in the window; of several queues the most of each, added */
	struct vl_link_drops drops; /* frames, whole run */
};

/* A queue of a switch: a virtual lane, where it is InfiniBand's. */
struct vl_queue_result {
	unsigned int link; /* that it sends by: index into the results' links */
	unsigned int queue;
	uint64_t frames, bytes, marked; /* sent, whole run */
	uint64_t watermark;             /* bytes, in the window */
	uint64_t credit_stall_ns;
	struct vl_link_drops drops;
};

/* A priority group of an Ethernet switch's port. */
struct vl_group_result {
	unsigned int link; /* that leaves by the port where its frames come in */
	unsigned int group;
	uint64_t frames, bytes, drops;          /* received, whole run */
	uint64_t xoff, xon;                     /* asked for */
	uint64_t watermark, headroom_watermark; /* bytes, whole run */
};

struct vl_switch_result {
	unsigned int node;
	uint64_t buffer, watermark; /* bytes; watermark: 0 where it is not known */
};

/* Links that wait for each other in a circle, each for room behind the next one. */
#define VL_MAX_DEADLOCK_LINKS 64u
struct vl_deadlock_result {
	unsigned int count; /* of links in the circle; 0: there is none at the end of the run */
	unsigned int
		links[VL_MAX_DEADLOCK_LINKS]; /* the first of them: indices into the results' */
	uint64_t since;                       /* ns: since when none of them has moved */
	unsigned int elsewhere; /* of these, run by other processes, so that they were not seen */
};

/* One point of the time series: over the interval that ends at time. */
struct vl_sample {
	uint64_t time;      /* ns */
	double utilization; /* of the bottleneck, 0..1 */
	double goodput;     /* bit/s of payload that arrived, at all endpoints */
	double queue_mean;  /* bytes, of the bottleneck */
	uint64_t queue_max;
	uint64_t ecn_marked, cnp_tx, drops, pauses, retransmitted;
	double *rates; /* bit/s of payload that arrived, by queue pair (the first VL_MAX_TRACED) */
};
#define VL_MAX_TRACED 64u

struct vl_bottleneck_result {
	const char *node, *neighbour; /* the line from node to neighbour */
	uint64_t rate;                /* bit/s */
	bool has_queue;               /* it leaves a switch */
	double utilization;           /* 0..1, preamble and gap included */
	double queue_mean, queue_p99; /* bytes, in the window */
	uint64_t queue_max;
	uint64_t kmin, kmax; /* 0: no marking */
};

struct vl_workload_result {
	const struct vl_scenario_workload *workload;
	struct vl_workload_metrics metrics; /* owned */
};

/* All workloads of a priority together. */
#define VL_MAX_CLASSES 8u
struct vl_class_result {
	unsigned int priority;
	struct vl_distribution transfer_times, transfer_slowdown; /* ns; */
	struct vl_distribution job_times, job_slowdown;           /* ns; */
};

struct vl_results {
	const struct vl_scenario *scenario;
	bool is_live;
	uint64_t window_start, window_end; /* ns */
	uint64_t end;                      /* ns, of the run: what was on its way has arrived */
	uint64_t events;                   /* virtual: of the executor */
	/* Live: times that a worker came too late, and frames that found no buffer. */
	uint64_t live_overruns, live_exhausted;
	double live_busy;        /* 0..1, of the busier worker */
	uint64_t live_late_time; /* ns that a worker could not run, of the worse one */
	struct vl_qp_result *qps;
	unsigned int qp_count;
	/* By the scenario's flows: of the completion times in the window, of all pairs. */
	struct vl_histogram *flow_times;
	/* Jain's index of the queue pairs that cross the bottleneck, whose rate nobody set and that
	 * had time in the window; 0: fewer than two of them. */
	double jain;
	unsigned int jain_count;
	double goodput;               /* bit/s in the window, all flows and workloads */
	double bottleneck_goodput;    /* bit/s in the window, of those that cross the bottleneck */
	const char *most_paused_node; /* whose port stood still longest; NULL: none did */
	uint64_t most_paused_ns;
	const char *most_stalled_node; /* the same for want of credits */
	uint64_t most_stalled_ns;
	struct vl_bottleneck_result bottleneck;
	struct vl_link_result *links; /* by node and port */
	unsigned int link_count;
	/* Those that carried or dropped anything. */
	struct vl_queue_result *queues;
	struct vl_group_result *groups;
	struct vl_switch_result *switches;
	unsigned int queue_count, group_count, switch_count;
	struct vl_deadlock_result deadlock;
	struct vl_workload_result *workloads; /* as the scenario's */
	unsigned int workload_count;
	struct vl_class_result classes[VL_MAX_CLASSES]; /* those that have workloads */
	unsigned int class_count;
	/* InfiniBand: what the subnet manager says of the routes before anything runs; "": they
	 * cannot deadlock. */
	char possible_deadlock[400];
	struct vl_totals totals;
	struct vl_drop_result drops[VL_MAX_DROP_RESULTS];
	unsigned int drop_count;
	struct vl_sample *samples;
	unsigned int sample_count, sample_capacity, traced_count;
	double *rates; /* of all samples */
};

/* Tables for people. */
void vl_report_tables(const struct vl_results *results, FILE *out);
/* One to a few sentences in plain words; ends with a line end. */
void vl_report_verdict(const struct vl_results *results, FILE *out);
/* Whether everything that was to complete has, and nothing failed. */
bool vl_results_are_good(const struct vl_results *results);
/* The same numbers as one JSON object. 0, or a negative errno value. */
int vl_report_json(const struct vl_results *results, FILE *out);

#endif
