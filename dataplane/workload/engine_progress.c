/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/workload/engine.h"
#include "dataplane/workload/engine_private.h"

const char *vl_workload_engine_error(const struct vl_workload_engine *engine)
{
	return engine->error;
}

uint32_t vl_workload_engine_count(const struct vl_workload_engine *engine)
{
	return engine->count;
}

uint32_t vl_workload_engine_qp_count(const struct vl_workload_engine *engine)
{
	return engine->qp_count;
}

static bool has_ended(const struct vl_workload *workload)
{
	return __atomic_load_n(&workload->shared_has_ended, __ATOMIC_ACQUIRE);
}

/* It failed, or waits for one that will not end. */
static bool cannot_end(const struct vl_workload_engine *engine, const struct vl_workload *workload)
{
	if (has_ended(workload))
		return false;
	if (__atomic_load_n(&workload->shared_status, __ATOMIC_RELAXED) != IBV_WC_SUCCESS)
		return true;
	for (uint32_t i = 0; i < workload->config.after_count; i++) {
		if (cannot_end(engine, &engine->workloads[workload->after[i]]))
			return true;
	}
	return false;
}

bool vl_workload_engine_is_finished(const struct vl_workload_engine *engine)
{
	bool any = false;

	for (uint32_t i = 0; i < engine->count; i++) {
		const struct vl_workload *workload = &engine->workloads[i];

		if (workload->config.is_background)
			continue;
		if (!has_ended(workload) && !cannot_end(engine, workload))
			return false;
		any = true;
	}
	return any;
}

const struct vl_workload_config *vl_workload_configuration(const struct vl_workload_engine *engine,
							   uint32_t workload)
{
	return &engine->workloads[workload].config;
}

struct vl_workload_progress vl_workload_progress(const struct vl_workload_engine *engine,
						 uint32_t number)
{
	const struct vl_workload *workload = &engine->workloads[number];
	const struct vl_workload_config *config = &workload->config;
	struct vl_workload_progress progress = {
		.steps = (uint64_t)config->plan->step_count * config->rounds,
		.started = VL_WORKLOAD_NEVER,
		.ended = __atomic_load_n(&workload->shared_ended_at, __ATOMIC_RELAXED),
		.status = (enum ibv_wc_status)__atomic_load_n(&workload->shared_status,
							      __ATOMIC_RELAXED),
	};

	for (uint32_t i = 0; i < config->plan->rank_count; i++) {
		const struct vl_workload_rank *rank = &workload->ranks[i];

		progress.finished += rank->ended_steps;
		progress.failed += rank->failed_steps;
		progress.messages_posted += rank->posted;
		progress.messages_completed += rank->completed;
		progress.messages_arrived += rank->arrived;
		progress.bytes_arrived += rank->bytes_arrived;
		progress.unexpected += rank->unexpected;
		if (rank->first_begun < progress.started)
			progress.started = rank->first_begun;
	}
	return progress;
}

struct vl_step_times vl_workload_step_times(const struct vl_workload_engine *engine,
					    uint32_t workload, uint32_t round, uint32_t step)
{
	const struct vl_workload *of = &engine->workloads[workload];
	uint64_t place = (uint64_t)round * of->config.plan->step_count + step;

	return (struct vl_step_times){of->ready[place], of->finished[place]};
}

uint64_t vl_workload_step_messages(const struct vl_workload_engine *engine, uint32_t workload,
				   uint32_t step)
{
	const struct vl_workload *of = &engine->workloads[workload];

	return (uint64_t)of->arrivals[step].rounds * of->states[step].messages +
	       of->arrivals[step].messages;
}

uint32_t vl_workload_lane_count(const struct vl_workload_engine *engine, uint32_t workload)
{
	const struct vl_workload *of = &engine->workloads[workload];

	return of->end_count / 2 * of->config.qps;
}

struct vl_workload_lane vl_workload_lane(const struct vl_workload_engine *engine, uint32_t workload,
					 uint32_t lane)
{
	const struct vl_workload *of = &engine->workloads[workload];
	uint32_t qps = of->config.qps, pair = lane / qps, place = 2 * pair * qps + lane % qps;

	return (struct vl_workload_lane){
		.endpoints = {of->endpoints[of->ends[2 * pair].rank],
			      of->endpoints[of->ends[2 * pair + 1].rank]},
		.qps = {of->lanes[place].qp, of->lanes[place + qps].qp},
	};
}
