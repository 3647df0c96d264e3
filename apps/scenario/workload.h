/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * What a scenario says of a workload: a pattern of messages among many endpoints
 * (dataplane/workload). Read by fields_workload.c, checked and planned by check_workload.c.
 */
#ifndef VERBLINE_SCENARIO_WORKLOAD_H
#define VERBLINE_SCENARIO_WORKLOAD_H

#include "apps/scenario/schema.h"
#include "dataplane/workload/plan.h"
#include "transport/cc/cc.h"

#include <stdbool.h>
#include <stdint.h>

struct vl_scenario;

#define VL_SCENARIO_MAX_WORKLOADS 256u

/* X(enumerator, name): in the order of the names that a scenario uses. */
#define VL_WORKLOAD_KINDS(X)                                                                       \
	X(INCAST, "incast")                                                                        \
	X(PERMUTATION, "permutation")                                                              \
	X(ALL_TO_ALL, "all_to_all")                                                                \
	X(RING_ALL_REDUCE, "ring_all_reduce")                                                      \
	X(HALVING_DOUBLING, "halving_doubling_all_reduce")                                         \
	X(ALL_GATHER, "all_gather")                                                                \
	X(REDUCE_SCATTER, "reduce_scatter")                                                        \
	X(BROADCAST_TREE, "broadcast_tree")                                                        \
	X(PARAMETER_SERVER, "parameter_server")                                                    \
	X(PIPELINE, "pipeline")                                                                    \
	X(STORAGE, "storage")                                                                      \
	X(INFERENCE, "inference")                                                                  \
	X(BACKGROUND, "background")                                                                \
	X(TRACE, "trace")

enum vl_workload_kind {
#define VL_WORKLOAD_KIND(enumerator, name) VL_WORKLOAD_##enumerator,
	VL_WORKLOAD_KINDS(VL_WORKLOAD_KIND)
#undef VL_WORKLOAD_KIND
		VL_WORKLOAD_KIND_COUNT
};

struct vl_scenario_size {
	struct vl_section section;
	uint64_t size; /* bytes */
	uint64_t weight;
};

struct vl_scenario_workload {
	struct vl_section section;
	const char *name;
	unsigned int kind; /* enum vl_workload_kind */
	struct vl_text_list endpoints;
	uint64_t size; /* bytes; of what, depends on the kind */
	uint64_t iterations;
	bool barrier;
	uint64_t start, stop; /* ns; stop: of a background, 0: none */
	struct vl_text_list after;
	uint64_t priority, qps, depth, message_size;
	unsigned int verb; /* enum vl_step_kind, WRITE or SEND */
	uint64_t timeout, retries;
	uint64_t compute;         /* ns */
	uint64_t fanout, segment; /* of a tree */
	uint64_t servers;
	uint64_t microbatches, forward, backward; /* of a pipeline; ns */
	unsigned int schedule;                    /* enum vl_pipeline_schedule */
	double reads;                             /* of storage */
	struct vl_list sizes;                     /* struct vl_scenario_size */
	uint64_t requests;                        /* of each client */
	unsigned int arrivals;                    /* enum vl_arrivals */
	uint64_t outstanding; /* requests of a client in a closed loop; of an all-to-all; 0: all */
	uint64_t requests_per_second; /* of each client, in an open loop */
	uint64_t response;            /* bytes */
	uint64_t deadline;            /* ns */
	const char *trace;            /* file */

	/* Worked out by check_workload.c */
	uint32_t *ranks; /* nodes of the endpoints, by rank */
	uint32_t rank_count;
	uint32_t *after_numbers;      /* of other workloads */
	struct vl_workload_plan plan; /* to be released */
};

extern const struct vl_schema vl_scenario_workload_schema;

const char *vl_workload_kind_name(unsigned int kind);

/* Looks up endpoints and names, and makes the plans, once the nodes are there. Problems are added
 * through the loader. */
void vl_scenario_check_workloads(struct vl_loader *loader, struct vl_scenario *scenario);
void vl_scenario_release_workloads(struct vl_scenario *scenario);

/* What workloads ask for between two nodes. */
struct vl_scenario_demand {
	unsigned int from, to;
	double part; /* of what the source sends, in the workload where that is most; 0..1 */
};
/* workload_demand.c: of all workloads, by destination. False: no memory. */
bool vl_scenario_workload_demands(struct vl_arena *arena, const struct vl_scenario *scenario,
				  const struct vl_scenario_demand **demands, unsigned int *count);

/* workload_crossing.c: whether some of its data has a shortest way through the bottleneck. False
 * without memory, too. */
bool vl_scenario_workload_crosses(const struct vl_scenario *scenario,
				  const struct vl_scenario_workload *workload);

/* What a collective's bandwidth counts, as nccl-tests does: its size, and busbw over algbw. size 0:
 * it is no collective. */
struct vl_collective {
	uint64_t size;
	double bus_factor;
};
struct vl_collective vl_workload_collective(const struct vl_scenario_workload *workload);

/* workload_trace.c: reads "time,source,destination,bytes" rows into a plan whose ranks are the
 * workload's. path: of the file, as it is to be opened. Problems are told as FILE:LINE:COLUMN. 0,
 * or a negative errno value with an error. */
int vl_workload_read_trace(const struct vl_scenario *scenario, const char *path,
			   struct vl_scenario_workload *workload, char *error, size_t error_size);

#endif
