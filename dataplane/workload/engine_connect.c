/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/workload/engine.h"
#include "dataplane/workload/engine_private.h"
#include "dataplane/workload/engine_set_up.h"
#include "dataplane/workload/rank_pairs.h"
#include "transport/random.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- Which ranks have to do with each other ------------------------------------------------- */

static int make_ends(struct vl_workload *workload, const struct vl_rank_pairs *table)
{
	const struct vl_workload_plan *plan = workload->config.plan;

	workload->end_count = 2 * table->count;
	workload->ends = calloc((size_t)workload->end_count + 1, sizeof(*workload->ends));
	workload->lanes = calloc((size_t)workload->end_count * workload->config.qps + 1,
				 sizeof(*workload->lanes));
	if (!workload->ends || !workload->lanes)
		return -ENOMEM;
	for (uint32_t i = 0; i < table->size; i++) {
		struct vl_workload_end *ends = &workload->ends[2 * table->numbers[i]];

		if (!table->keys[i])
			continue;
		ends[0].rank = ends[1].peer = (uint32_t)(table->keys[i] >> 32);
		ends[1].rank = ends[0].peer = (uint32_t)table->keys[i];
		ends[0].head = ends[1].head = VL_NO_STEP;
	}
	for (uint32_t i = 0; i < plan->step_count; i++) {
		const struct vl_step *step = &plan->steps[i];

		if (step->kind == VL_STEP_COMPUTE)
			continue;
		workload->ends[workload->states[i].end].sends = true;
		if (vl_step_is_pushed(step))
			workload->ends[workload->states[i].end ^ 1].takes = true;
	}
	return 0;
}

/* The ends of a workload, and which of them each step goes through. */
static int find_ends(struct vl_workload_engine *engine, struct vl_workload *workload)
{
	const struct vl_workload_plan *plan = workload->config.plan;
	struct vl_rank_pairs table = {0};
	int status = 0;

	for (uint32_t i = 0; !status && i < plan->step_count; i++) {
		const struct vl_step *step = &plan->steps[i];
		uint32_t pair, rank = vl_step_rank(step);

		if (step->kind == VL_STEP_COMPUTE)
			continue;
		pair = vl_rank_pairs_number(&table, step->source, step->destination);
		if (pair == UINT32_MAX)
			status = -ENOMEM;
		workload->states[i].end =
			2 * pair + (rank != (step->source < step->destination ? step->source
									      : step->destination));
	}
	if (!status)
		status = make_ends(workload, &table);
	if (status)
		vl_workload_refuse(engine, status, "%s: no memory for the ends of %u queue pairs",
				   workload->config.name, table.count);
	vl_rank_pairs_release(&table);
	return status;
}

/* ---- Room ---------------------------------------------------------------------------------- */

static uint32_t receive_depth(const struct vl_workload *workload, const struct vl_workload_end *end)
{
	return end->takes ? 2 * workload->config.depth : 0;
}

static int check_count(struct vl_workload_engine *engine)
{
	uint64_t count = 0, most = 0;
	const char *name = "";

	for (uint32_t i = 0; i < engine->count; i++) {
		const struct vl_workload *workload = &engine->workloads[i];
		uint64_t lanes = (uint64_t)workload->end_count / 2 * workload->config.qps;

		count += lanes;
		if (lanes > most) {
			most = lanes;
			name = workload->config.name;
		}
	}
	if (count > VL_WORKLOAD_MAX_QPS)
		return vl_workload_refuse(engine, -E2BIG,
					  "the workloads need %" PRIu64 " queue pairs, %" PRIu64
					  " of them %s; %u are possible: fewer ranks or qps would "
					  "do",
					  count, most, name, VL_WORKLOAD_MAX_QPS);
	engine->qp_count = (uint32_t)count;
	return 0;
}

/* What a host is to hold. */
struct room {
	uint64_t ranks, lanes, sends, receives, timed;
};

static void count_room(const struct vl_workload_engine *engine, struct room *rooms)
{
	for (uint32_t i = 0; i < engine->count; i++) {
		const struct vl_workload *workload = &engine->workloads[i];
		const struct vl_workload_config *config = &workload->config;

		for (uint32_t j = 0; j < config->plan->rank_count; j++) {
			rooms[config->endpoints[j]].ranks++;
			rooms[config->endpoints[j]].timed++;
		}
		for (uint32_t j = 0; j < workload->end_count; j++) {
			const struct vl_workload_end *end = &workload->ends[j];
			struct room *room = &rooms[config->endpoints[end->rank]];

			room->lanes += config->qps;
			room->sends += end->sends ? (uint64_t)config->qps * config->depth : 0;
			room->receives += (uint64_t)config->qps * receive_depth(workload, end);
		}
		for (uint32_t j = 0; j < config->plan->step_count; j++) {
			const struct vl_step *step = &config->plan->steps[j];

			if (step->kind == VL_STEP_COMPUTE || step->delay || step->earliest)
				rooms[config->endpoints[vl_step_rank(step)]].timed++;
		}
	}
}

static int make_host_room(struct vl_workload_engine *engine, struct vl_workload_host *host,
			  const struct room *room)
{
	struct vl_device *device = host->endpoint->device;
	int status = 0;

	host->ranks = calloc(room->ranks + 1, sizeof(struct vl_workload_rank *));
	host->lanes = calloc(room->lanes + 1, sizeof(struct vl_lane_end *));
	host->heap.entries = calloc(room->timed + 1, sizeof(*host->heap.entries));
	if (!host->ranks || !host->lanes || !host->heap.entries)
		return vl_workload_refuse(engine, -ENOMEM, "endpoint %s: no memory",
					  host->endpoint->name);
	if (room->sends > INT32_MAX || room->receives > INT32_MAX)
		status = -E2BIG;
	if (!status)
		host->send_cq = vl_create_cq(device, (uint32_t)room->sends + 1, NULL, &status);
	if (!status)
		host->recv_cq = vl_create_cq(device, (uint32_t)room->receives + 1, NULL, &status);
	if (status)
		return vl_workload_refuse(
			engine, status,
			"endpoint %s: no completion queue for %" PRIu64 " messages: %s",
			host->endpoint->name, room->sends + room->receives, strerror(-status));
	return 0;
}

static int make_room(struct vl_workload_engine *engine)
{
	struct room *rooms = calloc((size_t)engine->config.endpoint_count + 1, sizeof(*rooms));
	int status = 0;

	if (!rooms)
		return vl_workload_refuse(engine, -ENOMEM, "no memory");
	count_room(engine, rooms);
	for (uint32_t i = 0; !status && i < engine->config.endpoint_count; i++) {
		if (rooms[i].ranks)
			status = make_host_room(engine, &engine->hosts[i], &rooms[i]);
	}
	free(rooms);
	return status;
}

/* ---- Queue pairs --------------------------------------------------------------------------- */

static struct vl_workload_host *host_of(struct vl_workload_engine *engine,
					const struct vl_workload *workload,
					const struct vl_workload_end *end)
{
	return &engine->hosts[workload->endpoints[end->rank]];
}

static int create_lane(struct vl_workload_engine *engine, struct vl_workload *workload,
		       struct vl_lane_end *lane, struct vl_random *random, uint64_t now)
{
	const struct vl_workload_end *end = &workload->ends[lane->end];
	struct vl_workload_host *host = host_of(engine, workload, end);
	uint32_t receives = receive_depth(workload, end);
	const struct vl_queue_pair_room room = {.pd = host->memory.pd,
						.send_cq = host->send_cq,
						.recv_cq = host->recv_cq,
						.send_depth =
							end->sends ? workload->config.depth : 0,
						.receive_depth = receives};
	int status = 0;

	lane->psn = (uint32_t)vl_random_next(random) & 0xffffff;
	lane->index = host->lane_count;
	lane->qp = vl_queue_pair_create(&workload->config.qp, &room, now, &status);
	if (!lane->qp)
		return status;
	host->lanes[host->lane_count++] = lane;
	for (uint32_t i = 0; i < receives; i++)
		vl_workload_post_receive(host, workload, lane);
	return 0;
}

static int connect_lane(struct vl_workload_engine *engine, struct vl_workload *workload,
			struct vl_lane_end *lane, const struct vl_lane_end *other, uint64_t now)
{
	struct vl_workload_end *end = &workload->ends[lane->end];
	const struct vl_workload_end *peer = &workload->ends[other->end];
	struct vl_workload_host *host = host_of(engine, workload, end);
	struct vl_workload_host *far = host_of(engine, workload, peer);
	struct vl_queue_pair_address address = {.qpn = vl_qp_number(other->qp), .psn = other->psn};

	vl_queue_pair_local_address(far->endpoint->device, workload->config.qp.sgid_index,
				    &address);
	end->sink_address = vl_traffic_sink_address(&far->memory);
	end->rkey = far->memory.mr->rkey;
	return vl_queue_pair_connect(lane->qp, host->memory.pd, host->endpoint->device,
				     &workload->config.qp, lane->psn, &address, NULL, now);
}

static int connect_workload(struct vl_workload_engine *engine, uint32_t number, uint64_t now)
{
	struct vl_workload *workload = &engine->workloads[number];
	struct vl_random random = {workload->config.seed};
	uint32_t qps = workload->config.qps;
	int status = 0;

	for (uint32_t i = 0; !status && i < workload->end_count; i += 2) {
		for (uint32_t j = 0; !status && j < qps; j++) {
			struct vl_lane_end *one = &workload->lanes[i * qps + j];
			struct vl_lane_end *two = &workload->lanes[(i + 1) * qps + j];

			one->workload = two->workload = number;
			one->end = i;
			two->end = i + 1;
			status = create_lane(engine, workload, one, &random, now);
			if (!status)
				status = create_lane(engine, workload, two, &random, now);
			if (!status)
				status = connect_lane(engine, workload, one, two, now);
			if (!status)
				status = connect_lane(engine, workload, two, one, now);
		}
		if (status)
			vl_workload_refuse(engine, status,
					   "%s: queue pair between ranks %u and %u: %s",
					   workload->config.name, workload->ends[i].rank,
					   workload->ends[i].peer, strerror(-status));
	}
	return status;
}

/* ---- Ready to run -------------------------------------------------------------------------- */

static void place_ranks(struct vl_workload_engine *engine)
{
	for (uint32_t i = 0; i < engine->count; i++) {
		struct vl_workload *workload = &engine->workloads[i];

		for (uint32_t j = 0; j < workload->config.plan->rank_count; j++) {
			struct vl_workload_rank *rank = &workload->ranks[j];
			struct vl_workload_host *host = &engine->hosts[rank->host];

			rank->index = host->rank_count;
			host->ranks[host->rank_count++] = rank;
			if (rank->state == VL_RANK_AFTER)
				host->waiting++;
			else
				vl_timed_push(&host->heap,
					      (struct vl_timed){workload->config.start, rank->index,
								VL_NO_STEP});
		}
	}
}

static void become_applications(struct vl_workload_engine *engine)
{
	for (uint32_t i = 0; i < engine->config.endpoint_count; i++) {
		struct vl_workload_host *host = &engine->hosts[i];

		if (!host->rank_count)
			continue;
		host->inner = host->endpoint->application;
		vl_endpoint_set_application(
			host->endpoint, &(struct vl_application){vl_workload_poll,
								 vl_workload_next_deadline, host});
	}
}

int vl_workload_engine_connect(struct vl_workload_engine *engine, uint64_t now)
{
	int status = 0;

	if (engine->is_connected)
		return vl_workload_refuse(engine, -EALREADY, "connected already");
	engine->is_connected = true;
	for (uint32_t i = 0; !status && i < engine->count; i++)
		status = find_ends(engine, &engine->workloads[i]);
	if (!status)
		status = check_count(engine);
	if (!status)
		status = make_room(engine);
	for (uint32_t i = 0; !status && i < engine->count; i++)
		status = connect_workload(engine, i, now);
	if (status)
		return status;
	place_ranks(engine);
	become_applications(engine);
	return 0;
}
