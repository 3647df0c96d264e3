/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/scenario/field.h"
#include "apps/scenario/workload.h"
#include "dataplane/workload/collectives.h"
#include "dataplane/workload/engine.h"

#define WORKLOAD struct vl_scenario_workload

static const char *const kinds[] = {
#define KIND_NAME(enumerator, name) name,
	VL_WORKLOAD_KINDS(KIND_NAME)
#undef KIND_NAME
		NULL};
static const char *const verbs[] = {[VL_STEP_WRITE] = "write", [VL_STEP_SEND] = "send", NULL};
static const char *const schedules[] = {
	[VL_PIPELINE_GPIPE] = "gpipe", [VL_PIPELINE_1F1B] = "1f1b", NULL};
static const char *const arrivals[] = {[VL_ARRIVALS_CLOSED] = "closed",
				       [VL_ARRIVALS_CONSTANT] = "constant",
				       [VL_ARRIVALS_POISSON] = "poisson",
				       NULL};

const char *vl_workload_kind_name(unsigned int kind)
{
	return kinds[kind];
}

static const struct vl_field size_fields[] = {
	QUANTITY_FIELD("size", struct vl_scenario_size, size, SIZE, 1, 1ull << 40, "of a request"),
	QUANTITY_FIELD("weight", struct vl_scenario_size, weight, COUNT, 1, 1000000,
		       "how often, compared with the others [1]"),
};
static const struct vl_scenario_size size_defaults = {.size = 4096, .weight = 1};
static const struct vl_schema size_schema = {size_fields, COUNT(size_fields),
					     sizeof(struct vl_scenario_size), &size_defaults};

static const struct vl_field workload_fields[] = {
	NAME_FIELD("name", WORKLOAD, name, "what reports call it", true),
	{.name = "kind",
	 .kind = VL_FIELD_CHOICE,
	 .offset = offsetof(WORKLOAD, kind),
	 .help = "what is sent to whom",
	 .is_required = true,
	 .choices = kinds},
	TEXTS_FIELD("endpoints", WORKLOAD, endpoints, 1, 1024,
		    "who takes part: endpoints or groups, rank 0 first [all endpoints]"),
	QUANTITY_FIELD("size", WORKLOAD, size, SIZE, 1, 1ull << 40,
		       "collectives: the buffer, as nccl-tests print it; parameter_server: the "
		       "parameters; pipeline: an activation; inference, storage: a request; else "
		       "what each sends to another [1MiB; inference: 2KiB, storage: 64KiB]"),
	QUANTITY_FIELD("iterations", WORKLOAD, iterations, COUNT, 1, 1000000, "times [1]"),
	{.name = "barrier",
	 .kind = VL_FIELD_TRUTH,
	 .offset = offsetof(WORKLOAD, barrier),
	 .help = "an iteration begins when all have ended the one before; else each goes on by "
		 "itself [true for incast and permutation]"},
	QUANTITY_FIELD("start", WORKLOAD, start, DURATION, 0, 3600 * SECOND, "[0]"),
	TEXTS_FIELD("after", WORKLOAD, after, 1, VL_SCENARIO_MAX_WORKLOADS,
		    "workloads above this one that are to end first [none]"),
	QUANTITY_FIELD("stop", WORKLOAD, stop, DURATION, 0, 3600 * SECOND,
		       "background: begins nothing more then [when all else has ended]"),
	QUANTITY_FIELD("priority", WORKLOAD, priority, COUNT, 0, 7,
		       "service level, and the switches' priority [3]"),
	QUANTITY_FIELD("qps", WORKLOAD, qps, COUNT, 1, VL_WORKLOAD_MAX_LANES,
		       "queue pairs between two ranks, which share the messages [1]"),
	QUANTITY_FIELD("depth", WORKLOAD, depth, COUNT, 1, VL_WORKLOAD_MAX_DEPTH,
		       "outstanding messages of a queue pair [8]"),
	QUANTITY_FIELD("message_size", WORKLOAD, message_size, SIZE, 1, VL_MAX_MESSAGE,
		       "transfers are cut into messages of this [1MiB]"),
	CHOICE_FIELD("verb", WORKLOAD, verb, verbs,
		     "write (with immediate) or send, of what is pushed [write]"),
	QUANTITY_FIELD("timeout", WORKLOAD, timeout, COUNT, 0, 31,
		       "local ACK timeout, 4.096 us * 2^timeout; 0: none [10, live 16]"),
	QUANTITY_FIELD("retries", WORKLOAD, retries, COUNT, 0, 7, "[7]"),
	QUANTITY_FIELD("compute", WORKLOAD, compute, DURATION, 0, 3600 * SECOND,
		       "all-reduce, reduce_scatter: to add a part that came; parameter_server, "
		       "inference: of the server [0]"),
	QUANTITY_FIELD("fanout", WORKLOAD, fanout, COUNT, 1, 65535,
		       "broadcast_tree: children of a rank [2]"),
	QUANTITY_FIELD("segment", WORKLOAD, segment, SIZE, 0, 1ull << 40,
		       "broadcast_tree: passed on as it comes in pieces of this; 0: as a whole "
		       "[128KiB]"),
	QUANTITY_FIELD("servers", WORKLOAD, servers, COUNT, 1, 65535,
		       "parameter_server, storage, inference: the first so many ranks [1]"),
	QUANTITY_FIELD("microbatches", WORKLOAD, microbatches, COUNT, 1, 65536, "pipeline [8]"),
	QUANTITY_FIELD("forward", WORKLOAD, forward, DURATION, 0, 3600 * SECOND,
		       "pipeline: computing of a microbatch in a stage [100us]"),
	QUANTITY_FIELD("backward", WORKLOAD, backward, DURATION, 0, 3600 * SECOND,
		       "pipeline: and of its gradient [200us]"),
	CHOICE_FIELD("schedule", WORKLOAD, schedule, schedules,
		     "pipeline: gpipe (all forward, then all backward) or 1f1b [1f1b]"),
	FRACTION_FIELD("reads", WORKLOAD, reads, "storage: part that are READs [70%]"),
	OPTIONAL_LIST_FIELD("sizes", WORKLOAD, sizes, &size_schema, 1, 64,
			    "storage: sizes of requests, by weight [size alone]"),
	QUANTITY_FIELD("requests", WORKLOAD, requests, COUNT, 1, 10000000,
		       "storage, inference: of each client [100]"),
	CHOICE_FIELD("arrivals", WORKLOAD, arrivals, arrivals,
		     "storage, inference: closed (the next when one is done), or open at constant "
		     "or poisson distances [closed]"),
	QUANTITY_FIELD("outstanding", WORKLOAD, outstanding, COUNT, 0, 65536,
		       "closed arrivals: requests of a client at a time; all_to_all: transfers of "
		       "a rank at a time, 0: all [1, 0]"),
	QUANTITY_FIELD("requests_per_second", WORKLOAD, requests_per_second, COUNT, 1, 1000000000,
		       "constant and poisson arrivals: of each client [10000]"),
	QUANTITY_FIELD("response", WORKLOAD, response, SIZE, 1, 1ull << 40, "inference [64KiB]"),
	QUANTITY_FIELD("deadline", WORKLOAD, deadline, DURATION, 0, 3600 * SECOND,
		       "of a request or an iteration: those that take longer are counted; 0: none "
		       "[0]"),
	TEXT_FIELD("trace", WORKLOAD, trace,
		   "trace: a CSV file of time, source, destination and bytes; seen from the "
		   "scenario's directory"),
};
static const struct vl_scenario_workload workload_defaults = {
	.size = 1 << 20,
	.iterations = 1,
	.priority = 3,
	.qps = 1,
	.depth = 8,
	.message_size = 1 << 20,
	.verb = VL_STEP_WRITE,
	.timeout = 10,
	.retries = 7,
	.fanout = 2,
	.segment = 128 << 10,
	.servers = 1,
	.microbatches = 8,
	.forward = 100000,
	.backward = 200000,
	.schedule = VL_PIPELINE_1F1B,
	.reads = 0.7,
	.requests = 100,
	.arrivals = VL_ARRIVALS_CLOSED,
	.requests_per_second = 10000,
	.response = 64 << 10,
};
const struct vl_schema vl_scenario_workload_schema = {workload_fields, COUNT(workload_fields),
						      sizeof(struct vl_scenario_workload),
						      &workload_defaults};
