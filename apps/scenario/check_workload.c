/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Who takes part in workloads, what comes after what, and what is sent to whom. */

#include "apps/scenario/scenario.h"
#include "apps/scenario/source.h"
#include "dataplane/workload/collectives.h"
#include "dataplane/workload/engine.h"
#include "dataplane/workload/rank_pairs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BIT(kind) (1u << VL_WORKLOAD_##kind)
#define ALL       ((1u << VL_WORKLOAD_KIND_COUNT) - 1)
#define REQUESTS  (BIT(STORAGE) | BIT(INFERENCE))

/* Which kinds a field is for, where it is not for all. */
static const struct {
	const char *field;
	unsigned int kinds;
} limited_fields[] = {
	{"size", ALL & ~BIT(TRACE)},
	{"iterations", ALL & ~BIT(BACKGROUND)},
	{"barrier", ALL & ~BIT(BACKGROUND)},
	{"stop", BIT(BACKGROUND)},
	{"compute", BIT(RING_ALL_REDUCE) | BIT(HALVING_DOUBLING) | BIT(REDUCE_SCATTER) |
			    BIT(PARAMETER_SERVER) | BIT(INFERENCE)},
	{"fanout", BIT(BROADCAST_TREE)},
	{"segment", BIT(BROADCAST_TREE)},
	{"servers", BIT(PARAMETER_SERVER) | REQUESTS},
	{"microbatches", BIT(PIPELINE)},
	{"forward", BIT(PIPELINE)},
	{"backward", BIT(PIPELINE)},
	{"schedule", BIT(PIPELINE)},
	{"reads", BIT(STORAGE)},
	{"sizes", BIT(STORAGE)},
	{"requests", REQUESTS},
	{"arrivals", REQUESTS},
	{"requests_per_second", REQUESTS},
	{"outstanding", REQUESTS | BIT(ALL_TO_ALL)},
	{"response", BIT(INFERENCE)},
	{"deadline", ALL & ~BIT(BACKGROUND)},
	{"trace", BIT(TRACE)},
};

static bool is_given(const struct vl_scenario_workload *workload, const char *field)
{
	return vl_section_has(&vl_scenario_workload_schema, &workload->section, field);
}

/* Those that depend on the kind. */
static void set_defaults(struct vl_scenario_workload *workload)
{
	if (!is_given(workload, "barrier"))
		workload->barrier = workload->kind == VL_WORKLOAD_INCAST ||
				    workload->kind == VL_WORKLOAD_PERMUTATION;
	if (!is_given(workload, "size") && workload->kind == VL_WORKLOAD_INFERENCE)
		workload->size = 2048;
	if (!is_given(workload, "size") && workload->kind == VL_WORKLOAD_STORAGE)
		workload->size = 65536;
}

static void check_fields(struct vl_loader *loader, const struct vl_scenario_workload *workload)
{
	for (unsigned int i = 0; i < sizeof(limited_fields) / sizeof(limited_fields[0]); i++) {
		if (is_given(workload, limited_fields[i].field) &&
		    !(limited_fields[i].kinds >> workload->kind & 1))
			vl_section_problem(loader, &workload->section, limited_fields[i].field,
					   "means nothing to kind %s; take it out",
					   vl_workload_kind_name(workload->kind));
	}
	if (workload->kind == VL_WORKLOAD_TRACE && !workload->trace)
		vl_section_problem(loader, &workload->section, "trace",
				   "is missing; it names the CSV file");
	if (workload->arrivals == VL_ARRIVALS_CLOSED && is_given(workload, "requests_per_second"))
		vl_section_problem(loader, &workload->section, "requests_per_second",
				   "is for arrivals constant or poisson; choose one, or take it "
				   "out");
	if (workload->arrivals != VL_ARRIVALS_CLOSED && is_given(workload, "outstanding"))
		vl_section_problem(loader, &workload->section, "outstanding",
				   "is for arrivals closed; take it out");
	if (is_given(workload, "sizes") && is_given(workload, "size"))
		vl_section_problem(loader, &workload->section, "size",
				   "is given by sizes; take one out");
}

/* ---- Who ----------------------------------------------------------------------------------- */

static bool add_ranks(struct vl_loader *loader, const struct vl_scenario *scenario,
		      struct vl_scenario_workload *workload, const char *name, bool *taken)
{
	const struct vl_scenario_meaning *meaning =
		vl_names_look_up(loader, &scenario->names, &workload->section, "endpoints", name);

	if (!meaning)
		return false;
	for (unsigned int i = 0; i < meaning->count; i++) {
		unsigned int node = vl_meaning_node(meaning, i);

		if (node >= scenario->endpoint_count) {
			vl_section_problem(loader, &workload->section, "endpoints",
					   "'%s' is a switch; name endpoints", name);
			return false;
		}
		if (taken[node]) {
			vl_section_problem(loader, &workload->section, "endpoints",
					   "%s takes part twice", scenario->nodes[node].name);
			return false;
		}
		taken[node] = true;
		workload->ranks[workload->rank_count++] = node;
	}
	return true;
}

static bool find_ranks(struct vl_loader *loader, const struct vl_scenario *scenario,
		       struct vl_scenario_workload *workload)
{
	bool *taken = calloc(scenario->endpoint_count, sizeof(*taken)), whole = true;

	workload->ranks = vl_arena_allocate(loader->arena,
					    scenario->endpoint_count * sizeof(*workload->ranks));
	if (!workload->ranks || !taken) {
		loader->out_of_memory = true;
		free(taken);
		return false;
	}
	for (unsigned int i = 0; whole && i < workload->endpoints.count; i++)
		whole = add_ranks(loader, scenario, workload, workload->endpoints.texts[i], taken);
	for (unsigned int i = 0; !workload->endpoints.count && i < scenario->endpoint_count; i++)
		workload->ranks[workload->rank_count++] = i;
	free(taken);
	return whole;
}

/* ---- What comes after what ----------------------------------------------------------------- */

static void find_others(struct vl_loader *loader, const struct vl_scenario *scenario,
			struct vl_scenario_workload *workload)
{
	const struct vl_scenario_workload *all = scenario->workloads.elements;
	unsigned int number = (unsigned int)(workload - all), other;

	workload->after_numbers = vl_arena_allocate(
		loader->arena, (workload->after.count + 1) * sizeof(*workload->after_numbers));
	if (!workload->after_numbers) {
		loader->out_of_memory = true;
		return;
	}
	for (unsigned int i = 0; i < workload->after.count; i++) {
		for (other = 0; other < number; other++) {
			if (all[other].name && !strcmp(all[other].name, workload->after.texts[i]))
				break;
		}
		if (other == number)
			vl_section_problem(loader, &workload->section, "after",
					   "no workload above this one is called '%.40s'",
					   workload->after.texts[i]);
		else if (all[other].kind == VL_WORKLOAD_BACKGROUND)
			vl_section_problem(loader, &workload->section, "after",
					   "'%.40s' is a background, which does not end",
					   workload->after.texts[i]);
		workload->after_numbers[i] = other;
	}
	for (other = 0; workload->name && other < number; other++) {
		if (all[other].name && !strcmp(all[other].name, workload->name))
			vl_section_problem(loader, &workload->section, "name",
					   "another workload is called '%s' too", workload->name);
	}
}

static void check_times(struct vl_loader *loader, const struct vl_scenario *scenario,
			const struct vl_scenario_workload *workload)
{
	char end[VL_QUANTITY_TEXT];

	if (workload->start >= scenario->duration)
		vl_section_problem(loader, &workload->section, "start",
				   "the run ends at %s, before that; start earlier, or run longer",
				   vl_quantity_text(VL_QUANTITY_DURATION, scenario->duration, end));
	if (workload->stop && workload->stop <= workload->start)
		vl_section_problem(loader, &workload->section, "stop",
				   "is not after the start; it must be later");
}

/* ---- What is sent -------------------------------------------------------------------------- */

static struct vl_requests requests_of(const struct vl_scenario_workload *workload, uint64_t seed)
{
	return (struct vl_requests){
		.servers = (uint32_t)workload->servers,
		.count = (uint32_t)workload->requests,
		.arrivals = (enum vl_arrivals)workload->arrivals,
		.depth = workload->outstanding ? (uint32_t)workload->outstanding : 1,
		.rate = (double)workload->requests_per_second,
		.seed = seed,
	};
}

static int plan_storage(struct vl_scenario_workload *workload, uint64_t seed)
{
	struct vl_requests requests = requests_of(workload, seed);
	const struct vl_scenario_size *given = workload->sizes.elements;
	struct vl_size_choice *sizes, one = {workload->size, 1};
	int status;

	if (!workload->sizes.count)
		return vl_workload_plan_storage(&workload->plan, &requests, workload->reads, &one,
						1);
	sizes = calloc(workload->sizes.count, sizeof(*sizes));
	if (!sizes)
		return -ENOMEM;
	for (unsigned int i = 0; i < workload->sizes.count; i++)
		sizes[i] = (struct vl_size_choice){given[i].size, (uint32_t)given[i].weight};
	status = vl_workload_plan_storage(&workload->plan, &requests, workload->reads, sizes,
					  workload->sizes.count);
	free(sizes);
	return status;
}

static int plan_pipeline(struct vl_scenario_workload *workload)
{
	const struct vl_pipeline pipeline = {
		.microbatches = (uint32_t)workload->microbatches,
		.activation = workload->size,
		.forward = workload->forward,
		.backward = workload->backward,
		.schedule = (enum vl_pipeline_schedule)workload->schedule,
	};

	return vl_workload_plan_pipeline(&workload->plan, &pipeline);
}

static int make_plan(struct vl_loader *loader, const struct vl_scenario *scenario,
		     struct vl_scenario_workload *workload, uint64_t seed, char *error,
		     size_t error_size)
{
	struct vl_requests requests = requests_of(workload, seed);
	struct vl_workload_plan *plan = &workload->plan;

	switch ((enum vl_workload_kind)workload->kind) {
	case VL_WORKLOAD_INCAST:
		return vl_workload_plan_incast(plan, workload->size);
	case VL_WORKLOAD_PERMUTATION:
	case VL_WORKLOAD_BACKGROUND:
		return vl_workload_plan_permutation(plan, workload->size, seed);
	case VL_WORKLOAD_ALL_TO_ALL:
		return vl_workload_plan_all_to_all(plan, workload->size,
						   (uint32_t)workload->outstanding);
	case VL_WORKLOAD_RING_ALL_REDUCE:
		return vl_workload_plan_ring_all_reduce(plan, workload->size, workload->compute);
	case VL_WORKLOAD_HALVING_DOUBLING:
		return vl_workload_plan_halving_doubling_all_reduce(plan, workload->size,
								    workload->compute);
	case VL_WORKLOAD_ALL_GATHER:
		return vl_workload_plan_ring_all_gather(plan, workload->size);
	case VL_WORKLOAD_REDUCE_SCATTER:
		return vl_workload_plan_ring_reduce_scatter(plan, workload->size,
							    workload->compute);
	case VL_WORKLOAD_BROADCAST_TREE:
		return vl_workload_plan_broadcast_tree(
			plan, workload->size, (uint32_t)workload->fanout, workload->segment);
	case VL_WORKLOAD_PARAMETER_SERVER:
		return vl_workload_plan_parameter_server(
			plan, workload->size, (uint32_t)workload->servers, workload->compute);
	case VL_WORKLOAD_PIPELINE:
		return plan_pipeline(workload);
	case VL_WORKLOAD_STORAGE:
		return plan_storage(workload, seed);
	case VL_WORKLOAD_INFERENCE:
		return vl_workload_plan_inference(plan, &requests, workload->size,
						  workload->response, workload->compute);
	case VL_WORKLOAD_TRACE:
		return vl_workload_read_trace(scenario, vl_scenario_path(loader, workload->trace),
					      workload, error, error_size);
	case VL_WORKLOAD_KIND_COUNT:
		break;
	}
	return -EINVAL;
}

static void check_plan(struct vl_loader *loader, const struct vl_scenario_workload *workload)
{
	const struct vl_workload_plan *plan = &workload->plan;

	if (workload->iterations > VL_WORKLOAD_MAX_RECORDS / plan->step_count)
		vl_section_problem(
			loader, &workload->section, "iterations",
			"%llu of %u steps are too many to keep the times of; %llu would do",
			(unsigned long long)workload->iterations, plan->step_count,
			(unsigned long long)(VL_WORKLOAD_MAX_RECORDS / plan->step_count));
	for (uint32_t i = 0; i < plan->step_count; i++) {
		uint64_t least = plan->steps[i].bytes / INT32_MAX + 1;

		if (plan->steps[i].bytes / workload->message_size < INT32_MAX)
			continue;
		vl_section_problem(loader, &workload->section, "message_size",
				   "is too small for a transfer of %llu B; %llu B would do",
				   (unsigned long long)plan->steps[i].bytes,
				   (unsigned long long)least);
		return;
	}
}

static void plan_workload(struct vl_loader *loader, const struct vl_scenario *scenario,
			  struct vl_scenario_workload *workload, unsigned int number)
{
	uint64_t seed = scenario->seed * UINT64_C(0xd1342543de82ef95) + 0x10000 + number;
	char error[400] = "";
	int status = vl_workload_plan_init(&workload->plan, workload->rank_count);

	if (!status)
		status = make_plan(loader, scenario, workload, seed, error, sizeof(error));
	if (!status && workload->verb == VL_STEP_SEND) {
		for (uint32_t i = 0; i < workload->plan.step_count; i++) {
			if (workload->plan.steps[i].kind == VL_STEP_WRITE)
				workload->plan.steps[i].kind = VL_STEP_SEND;
		}
	}
	if (status == -ENOMEM)
		loader->out_of_memory = true;
	else if (status)
		vl_section_problem(loader, &workload->section,
				   workload->kind == VL_WORKLOAD_TRACE ? "trace" : "kind", "%s",
				   *error ? error : workload->plan.error);
	else
		check_plan(loader, workload);
}

/* The queue pairs of a workload, and of those above it as many as *count says. */
static void count_qps(struct vl_loader *loader, const struct vl_scenario_workload *workload,
		      uint64_t *count)
{
	uint32_t pairs = vl_workload_plan_pairs(&workload->plan);

	if (pairs == UINT32_MAX) {
		loader->out_of_memory = true;
		return;
	}
	*count += pairs * workload->qps;
	if (*count > VL_WORKLOAD_MAX_QPS)
		vl_section_problem(loader, &workload->section, "qps",
				   "the workloads up to here have %llu queue pairs, of which %llu "
				   "each for %u pairs of ranks; at most %u are allowed: fewer "
				   "ranks or qps would do",
				   (unsigned long long)*count, (unsigned long long)workload->qps,
				   pairs, VL_WORKLOAD_MAX_QPS);
}

void vl_scenario_check_workloads(struct vl_loader *loader, struct vl_scenario *scenario)
{
	struct vl_scenario_workload *workloads = scenario->workloads.elements;
	uint64_t steps = 0, qps = 0;

	for (unsigned int i = 0; i < scenario->workloads.count; i++) {
		struct vl_scenario_workload *workload = &workloads[i];
		unsigned int before = loader->problems->count;

		set_defaults(workload);
		check_fields(loader, workload);
		check_times(loader, scenario, workload);
		find_others(loader, scenario, workload);
		if (find_ranks(loader, scenario, workload) && loader->problems->count == before)
			plan_workload(loader, scenario, workload, i);
		if (loader->problems->count == before)
			count_qps(loader, workload, &qps);
		steps += workload->plan.step_count;
		if (steps <= VL_WORKLOAD_PLAN_MAX_STEPS)
			continue;
		vl_section_problem(loader, &workload->section, NULL,
				   "makes more than %u steps of all workloads together; fewer "
				   "ranks or requests would do",
				   VL_WORKLOAD_PLAN_MAX_STEPS);
		return;
	}
}

void vl_scenario_release_workloads(struct vl_scenario *scenario)
{
	struct vl_scenario_workload *workloads = scenario->workloads.elements;

	for (unsigned int i = 0; i < scenario->workloads.count; i++)
		vl_workload_plan_release(&workloads[i].plan);
}

struct vl_collective vl_workload_collective(const struct vl_scenario_workload *workload)
{
	double ranks = workload->rank_count;

	switch (workload->kind) {
	case VL_WORKLOAD_RING_ALL_REDUCE:
	case VL_WORKLOAD_HALVING_DOUBLING:
		return (struct vl_collective){workload->size, 2 * (ranks - 1) / ranks};
	case VL_WORKLOAD_ALL_GATHER:
	case VL_WORKLOAD_REDUCE_SCATTER:
	case VL_WORKLOAD_ALL_TO_ALL:
		return (struct vl_collective){workload->size, (ranks - 1) / ranks};
	case VL_WORKLOAD_BROADCAST_TREE:
		return (struct vl_collective){workload->size, 1};
	default:
		return (struct vl_collective){0, 0};
	}
}
