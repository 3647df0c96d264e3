/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/workload/engine_set_up.h"

#include "dataplane/workload/engine.h"
#include "dataplane/workload/engine_private.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int vl_workload_refuse(struct vl_workload_engine *engine, int status, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(engine->error, sizeof(engine->error), format, arguments);
	va_end(arguments);
	return status;
}

/* ---- The engine ---------------------------------------------------------------------------- */

struct vl_workload_engine *vl_workload_engine_create(const struct vl_workload_engine_config *config,
						     int *error)
{
	struct vl_workload_engine *engine = calloc(1, sizeof(*engine));
	int status = engine ? 0 : -ENOMEM;

	if (!status) {
		engine->config = *config;
		engine->config.endpoints = NULL;
		engine->hosts = calloc(config->endpoint_count, sizeof(*engine->hosts));
		status = engine->hosts ? 0 : -ENOMEM;
	}
	for (uint32_t i = 0; !status && i < config->endpoint_count; i++) {
		struct vl_workload_host *host = &engine->hosts[i];

		host->engine = engine;
		host->endpoint = config->endpoints[i];
		status = vl_traffic_memory_open(&host->memory, host->endpoint->device,
						config->largest_message, config->memory);
	}
	if (!status)
		return engine;
	vl_workload_engine_destroy(engine);
	if (error)
		*error = status;
	return NULL;
}

static void release_workload(struct vl_workload *workload)
{
	for (uint64_t i = 0;
	     workload->lanes && i < (uint64_t)workload->end_count * workload->config.qps; i++) {
		if (workload->lanes[i].qp)
			vl_destroy_qp(workload->lanes[i].qp);
	}
	free(workload->lanes);
	free(workload->ends);
	free(workload->endpoints);
	free(workload->after);
	free(workload->ranks);
	free(workload->own);
	free(workload->incoming);
	free(workload->first_dependent);
	free(workload->dependents);
	free(workload->states);
	free(workload->arrivals);
	free(workload->ready);
	free(workload->finished);
}

static void release_host(struct vl_workload_host *host)
{
	if (host->endpoint && host->endpoint->application.context == host)
		vl_endpoint_set_application(host->endpoint, &host->inner);
	if (host->send_cq)
		vl_destroy_cq(host->send_cq);
	if (host->recv_cq)
		vl_destroy_cq(host->recv_cq);
	vl_traffic_memory_close(&host->memory);
	free(host->ranks);
	free(host->lanes);
	free(host->heap.entries);
}

void vl_workload_engine_destroy(struct vl_workload_engine *engine)
{
	if (!engine)
		return;
	for (uint32_t i = 0; i < engine->count; i++)
		release_workload(&engine->workloads[i]);
	for (uint32_t i = 0; engine->hosts && i < engine->config.endpoint_count; i++)
		release_host(&engine->hosts[i]);
	free(engine->workloads);
	free(engine->hosts);
	free(engine);
}

/* ---- A workload ---------------------------------------------------------------------------- */

static int check_after(struct vl_workload_engine *engine, const struct vl_workload_config *config)
{
	for (uint32_t i = 0; i < config->after_count; i++) {
		if (config->after[i] >= engine->count)
			return vl_workload_refuse(
				engine, -EINVAL, "%s: comes after a workload that is not there yet",
				config->name);
		if (engine->workloads[config->after[i]].config.is_background)
			return vl_workload_refuse(
				engine, -EINVAL, "%s: comes after %s, a background without an end",
				config->name, engine->workloads[config->after[i]].config.name);
	}
	return 0;
}

static int check_background(struct vl_workload_engine *engine,
			    const struct vl_workload_config *config)
{
	for (uint32_t i = 0; config->is_background && i < config->plan->step_count; i++) {
		if (config->plan->steps[i].kind == VL_STEP_COMPUTE ||
		    config->plan->steps[i].dependency_count)
			return vl_workload_refuse(engine, -EINVAL,
						  "%s: step %u of a background waits or computes",
						  config->name, i);
	}
	return 0;
}

static int check_ranks(struct vl_workload_engine *engine, const struct vl_workload_config *config)
{
	uint8_t *used = calloc(engine->config.endpoint_count, 1);
	int status = used ? 0
			  : vl_workload_refuse(engine, -ENOMEM, "%s: no memory for its ranks",
					       config->name);

	for (uint32_t i = 0; !status && i < config->plan->rank_count; i++) {
		if (config->endpoints[i] >= engine->config.endpoint_count)
			status = vl_workload_refuse(engine, -EINVAL,
						    "%s: rank %u is on endpoint %u of %u",
						    config->name, i, config->endpoints[i],
						    engine->config.endpoint_count);
		else if (used[config->endpoints[i]]++)
			status = vl_workload_refuse(
				engine, -EINVAL, "%s: rank %u is on the endpoint of another rank",
				config->name, i);
	}
	free(used);
	return status;
}

static int check(struct vl_workload_engine *engine, const struct vl_workload_config *config)
{
	int status;

	if (engine->is_connected)
		return vl_workload_refuse(engine, -EBUSY, "%s: comes too late", config->name);
	if (!config->rounds || !config->plan->step_count)
		return vl_workload_refuse(engine, -EINVAL, "%s: nothing is to be done",
					  config->name);
	if (config->plan->step_count > VL_WORKLOAD_MAX_RECORDS / config->rounds)
		return vl_workload_refuse(
			engine, -E2BIG,
			"%s: %u iterations of %u steps are too many to keep the "
			"times of; %u would do",
			config->name, config->rounds, config->plan->step_count,
			(uint32_t)(VL_WORKLOAD_MAX_RECORDS / config->plan->step_count));
	if (!config->message_size || config->message_size > engine->config.largest_message)
		return vl_workload_refuse(engine, -EINVAL, "%s: messages of %u B; 1 to %u would do",
					  config->name, config->message_size,
					  engine->config.largest_message);
	if (!config->depth || config->depth > VL_WORKLOAD_MAX_DEPTH)
		return vl_workload_refuse(engine, -EINVAL, "%s: a depth of %u; 1 to %u would do",
					  config->name, config->depth, VL_WORKLOAD_MAX_DEPTH);
	if (!config->qps || config->qps > VL_WORKLOAD_MAX_LANES)
		return vl_workload_refuse(engine, -EINVAL,
					  "%s: %u queue pairs between two ranks; 1 to %u would do",
					  config->name, config->qps, VL_WORKLOAD_MAX_LANES);
	status = check_after(engine, config);
	if (!status)
		status = check_background(engine, config);
	return status ? status : check_ranks(engine, config);
}

static int allocate(struct vl_workload *workload)
{
	const struct vl_workload_config *config = &workload->config;
	const struct vl_workload_plan *plan = config->plan;
	uint64_t records = (uint64_t)plan->step_count * config->rounds;

	workload->endpoints = calloc(plan->rank_count, sizeof(uint32_t));
	workload->after = calloc(config->after_count + 1, sizeof(uint32_t));
	workload->ranks = calloc(plan->rank_count, sizeof(*workload->ranks));
	workload->own = calloc(plan->step_count, sizeof(uint32_t));
	workload->incoming = calloc(plan->step_count, sizeof(uint32_t));
	workload->first_dependent = calloc((size_t)plan->step_count + 2, sizeof(uint32_t));
	workload->dependents = calloc((size_t)plan->dependency_count + 1, sizeof(uint32_t));
	workload->states = calloc(plan->step_count, sizeof(*workload->states));
	workload->arrivals = calloc(plan->step_count, sizeof(*workload->arrivals));
	workload->ready = malloc(records * sizeof(uint64_t));
	workload->finished = malloc(records * sizeof(uint64_t));
	if (!workload->endpoints || !workload->after || !workload->ranks || !workload->own ||
	    !workload->incoming || !workload->first_dependent || !workload->dependents ||
	    !workload->states || !workload->arrivals || !workload->ready || !workload->finished)
		return -ENOMEM;
	/* VL_WORKLOAD_NEVER */
	memset(workload->ready, 0xff, records * sizeof(uint64_t));
	memset(workload->finished, 0xff, records * sizeof(uint64_t));
	memcpy(workload->endpoints, config->endpoints, plan->rank_count * sizeof(uint32_t));
	if (config->after_count)
		memcpy(workload->after, config->after, config->after_count * sizeof(uint32_t));
	workload->config.endpoints = workload->endpoints;
	workload->config.after = workload->after;
	return 0;
}

/* Which steps a rank starts, and which arrive there. */
static void sort_by_rank(struct vl_workload *workload)
{
	const struct vl_workload_plan *plan = workload->config.plan;
	uint32_t own = 0, incoming = 0;

	for (uint32_t i = 0; i < plan->step_count; i++) {
		workload->ranks[vl_step_rank(&plan->steps[i])].own_count++;
		if (vl_step_is_pushed(&plan->steps[i]))
			workload->ranks[plan->steps[i].destination].incoming_count++;
	}
	for (uint32_t i = 0; i < plan->rank_count; i++) {
		struct vl_workload_rank *rank = &workload->ranks[i];

		rank->first_own = own;
		rank->first_incoming = incoming;
		own += rank->own_count;
		incoming += rank->incoming_count;
		rank->own_count = rank->incoming_count = 0;
	}
	for (uint32_t i = 0; i < plan->step_count; i++) {
		struct vl_workload_rank *rank = &workload->ranks[vl_step_rank(&plan->steps[i])];

		workload->own[rank->first_own + rank->own_count++] = i;
		if (!vl_step_is_pushed(&plan->steps[i]))
			continue;
		rank = &workload->ranks[plan->steps[i].destination];
		workload->incoming[rank->first_incoming + rank->incoming_count++] = i;
	}
}

/* Turns what waits for what around. */
static void find_dependents(struct vl_workload *workload)
{
	const struct vl_workload_plan *plan = workload->config.plan;
	uint32_t *first = workload->first_dependent;

	for (uint32_t i = 0; i < plan->dependency_count; i++)
		first[plan->dependencies[i] + 2]++;
	for (uint32_t i = 0; i < plan->step_count; i++)
		first[i + 2] += first[i + 1];
	/* first[n + 1] runs from where n's begin to where they end. */
	for (uint32_t i = 0; i < plan->step_count; i++) {
		const struct vl_step *step = &plan->steps[i];

		for (uint32_t j = 0; j < step->dependency_count; j++) {
			uint32_t on = plan->dependencies[step->first_dependency + j];

			workload->dependents[first[on + 1]++] = i;
		}
	}
}

static int count_messages(struct vl_workload_engine *engine, struct vl_workload *workload)
{
	const struct vl_workload_config *config = &workload->config;

	for (uint32_t i = 0; i < config->plan->step_count; i++) {
		uint64_t bytes = config->plan->steps[i].bytes;
		uint64_t messages =
			bytes / config->message_size + (bytes % config->message_size != 0);

		if (messages > INT32_MAX)
			return vl_workload_refuse(engine, -E2BIG,
						  "%s: step %u has too many messages; larger "
						  "messages than %u B would help",
						  config->name, i, config->message_size);
		workload->states[i].messages = (uint32_t)messages;
	}
	return 0;
}

static void init_ranks(struct vl_workload_engine *engine, struct vl_workload *workload)
{
	const struct vl_workload_config *config = &workload->config;

	for (uint32_t i = 0; i < config->plan->rank_count; i++) {
		struct vl_workload_rank *rank = &workload->ranks[i];

		rank->workload = engine->count;
		rank->number = i;
		rank->host = config->endpoints[i];
		rank->state = config->after_count ? VL_RANK_AFTER : VL_RANK_TIMED;
		rank->first_begun = VL_WORKLOAD_NEVER;
	}
	workload->shared_ranks_left = config->plan->rank_count;
	workload->shared_ended_at = VL_WORKLOAD_NEVER;
	workload->shared_status = IBV_WC_SUCCESS;
}

int vl_workload_engine_add(struct vl_workload_engine *engine,
			   const struct vl_workload_config *config)
{
	struct vl_workload *grown, *workload;
	int status = check(engine, config);

	if (status)
		return status;
	grown = realloc(engine->workloads, (engine->count + (size_t)1) * sizeof(*grown));
	if (!grown)
		return vl_workload_refuse(engine, -ENOMEM, "%s: no memory", config->name);
	engine->workloads = grown;
	workload = &engine->workloads[engine->count];
	*workload = (struct vl_workload){.config = *config};
	if (config->is_background)
		workload->config.rounds = 1;
	status = allocate(workload);
	if (status)
		vl_workload_refuse(engine, status, "%s: no memory for %u steps", config->name,
				   config->plan->step_count);
	if (!status)
		status = count_messages(engine, workload);
	if (status) {
		release_workload(workload);
		return status;
	}
	sort_by_rank(workload);
	find_dependents(workload);
	init_ranks(engine, workload);
	engine->count++;
	return 0;
}
