/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/workload/engine.h"

#include "dataplane/workload/engine_private.h"

#define COMPLETION_BATCH 16

static const struct vl_step *step_of(const struct vl_workload *workload, uint32_t step)
{
	return &workload->config.plan->steps[step];
}

/* Of the step in the rank's round. */
static uint64_t *record(const struct vl_workload *workload, uint64_t *records, uint32_t round,
			uint32_t step)
{
	return &records[(uint64_t)round * workload->config.plan->step_count + step];
}

static void wake_all(const struct vl_workload_host *host)
{
	const struct vl_workload_engine_config *config = &host->engine->config;

	for (uint32_t i = 0; config->wake && i < config->endpoint_count; i++) {
		if (host != &host->engine->hosts[i])
			config->wake(config->wake_context, i);
	}
}

/* ---- Failing ------------------------------------------------------------------------------- */

/* A step that cannot go on takes with it those that are queued behind it. */
static void fail(struct vl_workload *workload, struct vl_workload_end *end,
		 enum ibv_wc_status status)
{
	uint32_t none = IBV_WC_SUCCESS;

	if (end->has_failed)
		return;
	end->has_failed = true;
	end->head = VL_NO_STEP;
	workload->ranks[end->rank].failed_steps += end->begun_steps;
	__atomic_compare_exchange_n(&workload->shared_status, &none, (uint32_t)status, false,
				    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* ---- Messages ------------------------------------------------------------------------------ */

/* With room for another message; NULL: none. */
static struct vl_lane_end *find_lane(const struct vl_workload *workload,
				     struct vl_workload_end *end)
{
	uint32_t qps = workload->config.qps;
	struct vl_lane_end *lanes = &workload->lanes[(end - workload->ends) * qps];

	for (uint32_t tries = 0; tries < qps; tries++) {
		struct vl_lane_end *lane = &lanes[end->next_lane];

		if (++end->next_lane == qps)
			end->next_lane = 0;
		if (lane->outstanding < workload->config.depth)
			return lane;
	}
	return NULL;
}

static int post(const struct vl_workload_host *host, const struct vl_workload *workload,
		const struct vl_workload_end *end, const struct vl_lane_end *lane, uint32_t number,
		uint64_t now)
{
	static const enum ibv_wr_opcode opcodes[] = {
		[VL_STEP_WRITE] = IBV_WR_RDMA_WRITE_WITH_IMM,
		[VL_STEP_SEND] = IBV_WR_SEND_WITH_IMM,
		[VL_STEP_READ] = IBV_WR_RDMA_READ,
	};
	const struct vl_step *step = step_of(workload, number);
	uint64_t sent = (uint64_t)workload->states[number].posted * workload->config.message_size;
	uint64_t left = step->bytes - sent;
	bool is_read = step->kind == VL_STEP_READ;
	struct ibv_sge sge = {is_read ? vl_traffic_sink_address(&host->memory)
				      : vl_traffic_source_address(),
			      left < workload->config.message_size ? (uint32_t)left
								   : workload->config.message_size,
			      host->memory.mr->lkey};
	struct ibv_send_wr wr = {.wr_id = (uint64_t)lane->index << 32 | number,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = opcodes[step->kind],
				 .send_flags = IBV_SEND_SIGNALED,
				 .imm_data = (__be32)number};
	const struct ibv_send_wr *bad;

	if (step->kind != VL_STEP_SEND) {
		wr.wr.rdma.remote_addr = is_read ? vl_traffic_source_address() : end->sink_address;
		wr.wr.rdma.rkey = end->rkey;
	}
	return vl_post_send(lane->qp, &wr, &bad, now);
}

/* As many messages of the steps that are queued at an end as there is room for. */
static void post_queued(struct vl_workload_host *host, struct vl_workload *workload,
			struct vl_workload_end *end, uint64_t now)
{
	struct vl_lane_end *lane;

	while (end->head != VL_NO_STEP && (lane = find_lane(workload, end))) {
		struct vl_step_state *state = &workload->states[end->head];

		if (post(host, workload, end, lane, end->head, now)) {
			fail(workload, end, IBV_WC_GENERAL_ERR);
			return;
		}
		lane->outstanding++;
		workload->ranks[end->rank].posted++;
		if (++state->posted == state->messages)
			end->head = state->next;
	}
}

/* ---- Steps --------------------------------------------------------------------------------- */

/* What it waited for is there, and was at due. */
static void start_step(struct vl_workload_host *host, struct vl_workload *workload,
		       struct vl_workload_rank *rank, uint32_t number, uint64_t due, uint64_t now)
{
	struct vl_step_state *state = &workload->states[number];
	struct vl_workload_end *end = &workload->ends[state->end];

	state->waiting = VL_STEP_STARTED;
	*record(workload, workload->ready, rank->round, number) = due;
	if (end->has_failed) {
		rank->failed_steps++;
		return;
	}
	end->begun_steps++;
	state->next = VL_NO_STEP;
	if (end->head == VL_NO_STEP)
		end->head = number;
	else
		workload->states[end->tail].next = number;
	end->tail = number;
	post_queued(host, workload, end, now);
}

/* What it waits for is there since a time: it starts now or when its delay is over. */
static void make_due(struct vl_workload_host *host, struct vl_workload *workload,
		     struct vl_workload_rank *rank, uint32_t number, uint64_t since, uint64_t now)
{
	const struct vl_step *step = step_of(workload, number);
	uint64_t begin = rank->begun + step->earliest;
	uint64_t due;

	if (begin < since)
		begin = since;
	due = begin + step->delay;
	workload->states[number].waiting = VL_STEP_DUE;
	if (step->kind == VL_STEP_COMPUTE)
		*record(workload, workload->ready, rank->round, number) = begin;
	if (step->kind == VL_STEP_COMPUTE || due > now)
		vl_timed_push(&host->heap, (struct vl_timed){due, rank->index, number});
	else
		start_step(host, workload, rank, number, due, now);
}

static bool has_arrived(const struct vl_workload *workload, uint32_t number, uint32_t round)
{
	return workload->arrivals[number].rounds > round;
}

/* Steps of the round that the rank still waits for before it may start this one. */
static uint32_t count_waiting(const struct vl_workload *workload,
			      const struct vl_workload_rank *rank, uint32_t number)
{
	const struct vl_workload_plan *plan = workload->config.plan;
	const struct vl_step *step = &plan->steps[number];
	const uint32_t *dependencies = &plan->dependencies[step->first_dependency];
	uint32_t waiting = 0;

	for (uint32_t i = 0; i < step->dependency_count; i++) {
		if (vl_step_rank(&plan->steps[dependencies[i]]) == rank->number ||
		    !has_arrived(workload, dependencies[i], rank->round))
			waiting++;
	}
	return waiting;
}

/* Neighbours may be ahead: what has arrived of this round already is not waited for. */
static void begin_round(struct vl_workload_host *host, struct vl_workload *workload,
			struct vl_workload_rank *rank, uint64_t at, uint64_t now)
{
	const uint32_t *own = &workload->own[rank->first_own];

	rank->state = VL_RANK_RUNNING;
	rank->begun = at;
	rank->remaining = rank->own_count;
	if (!rank->round)
		rank->first_begun = at;
	for (uint32_t i = 0; i < rank->incoming_count; i++) {
		if (!has_arrived(workload, workload->incoming[rank->first_incoming + i],
				 rank->round))
			rank->remaining++;
	}
	for (uint32_t i = 0; i < rank->own_count; i++) {
		struct vl_step_state *state = &workload->states[own[i]];

		state->posted = state->completed = 0;
		state->waiting = count_waiting(workload, rank, own[i]);
	}
	for (uint32_t i = 0; i < rank->own_count; i++) {
		if (!workload->states[own[i]].waiting)
			make_due(host, workload, rank, own[i], at, now);
	}
}

/* ---- Rounds -------------------------------------------------------------------------------- */

static void end_workload(struct vl_workload_host *host, struct vl_workload *workload, uint64_t now)
{
	__atomic_store_n(&workload->shared_ended_at, now, __ATOMIC_RELAXED);
	__atomic_store_n(&workload->shared_has_ended, true, __ATOMIC_RELEASE);
	wake_all(host);
}

/* The rank waits for the others; the last of them begins the next round for all. */
static void meet_barrier(struct vl_workload_host *host, struct vl_workload *workload,
			 struct vl_workload_rank *rank, uint64_t now)
{
	rank->state = VL_RANK_BARRIER;
	host->waiting++;
	if (__atomic_sub_fetch(&workload->shared_ranks_left, 1, __ATOMIC_ACQ_REL))
		return;
	__atomic_store_n(&workload->shared_ranks_left, workload->config.plan->rank_count,
			 __ATOMIC_RELAXED);
	__atomic_store_n(&workload->shared_round_begun, now, __ATOMIC_RELAXED);
	__atomic_store_n(&workload->shared_round, rank->round + 1, __ATOMIC_RELEASE);
	wake_all(host);
}

/* Whether the rank has ended its round, or all. */
static void advance(struct vl_workload_host *host, struct vl_workload *workload,
		    struct vl_workload_rank *rank, uint64_t now)
{
	while (rank->state == VL_RANK_RUNNING && !rank->remaining) {
		if (rank->round + 1 == workload->config.rounds) {
			rank->state = VL_RANK_ENDED;
			if (!__atomic_sub_fetch(&workload->shared_ranks_left, 1, __ATOMIC_ACQ_REL))
				end_workload(host, workload, now);
		} else if (workload->config.barrier) {
			meet_barrier(host, workload, rank, now);
		} else {
			rank->round++;
			begin_round(host, workload, rank, now, now);
		}
	}
}

/* A step of the rank's round has ended as the rank sees it. */
static void end_step(struct vl_workload_host *host, struct vl_workload *workload,
		     struct vl_workload_rank *rank, uint32_t number, uint64_t now)
{
	const struct vl_workload_plan *plan = workload->config.plan;

	for (uint32_t i = workload->first_dependent[number];
	     i < workload->first_dependent[number + 1]; i++) {
		uint32_t dependent = workload->dependents[i];

		if (vl_step_rank(&plan->steps[dependent]) == rank->number &&
		    !--workload->states[dependent].waiting)
			make_due(host, workload, rank, dependent, now, now);
	}
	rank->remaining--;
	advance(host, workload, rank, now);
}

/* Of a background: once more. */
static void repeat(struct vl_workload_host *host, struct vl_workload *workload,
		   struct vl_workload_rank *rank, uint32_t number, uint64_t now)
{
	struct vl_step_state *state = &workload->states[number];

	state->posted = state->completed = 0;
	if (!workload->config.stop || now < workload->config.stop)
		start_step(host, workload, rank, number, now, now);
}

/* ---- What has come ------------------------------------------------------------------------- */

void vl_workload_post_receive(struct vl_workload_host *host, const struct vl_workload *workload,
			      const struct vl_lane_end *lane)
{
	struct ibv_sge sge = {vl_traffic_sink_address(&host->memory), workload->config.message_size,
			      host->memory.mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = lane->index, .sg_list = &sge, .num_sge = 1};
	const struct ibv_recv_wr *bad;

	/* Refused only in the error state, where the completions of requests tell. */
	(void)vl_post_recv(lane->qp, &wr, &bad);
}

/* A message of a step has arrived; true: it was the last of its round, which is stored. */
static bool count_arrival(struct vl_workload *workload, struct vl_workload_rank *rank,
			  uint32_t number, uint32_t bytes, uint64_t now, uint32_t *round)
{
	struct vl_step_arrival *arrival = &workload->arrivals[number];

	rank->arrived++;
	rank->bytes_arrived += bytes;
	if (++arrival->messages < workload->states[number].messages)
		return false;
	arrival->messages = 0;
	*round = arrival->rounds++;
	*record(workload, workload->finished, workload->config.is_background ? 0 : *round, number) =
		now;
	rank->ended_steps++;
	return true;
}

static bool is_expected(const struct vl_workload *workload, const struct vl_workload_end *end,
			uint32_t number)
{
	const struct vl_step *step;

	if (number >= workload->config.plan->step_count)
		return false;
	step = step_of(workload, number);
	return vl_step_is_pushed(step) && step->source == end->peer &&
	       step->destination == end->rank &&
	       (workload->config.is_background ||
		workload->arrivals[number].rounds < workload->config.rounds);
}

static void take_arrival(struct vl_workload_host *host, struct vl_workload *workload,
			 const struct vl_workload_end *end, const struct ibv_wc *wc, uint64_t now)
{
	struct vl_workload_rank *rank = &workload->ranks[end->rank];
	uint32_t number = (uint32_t)wc->imm_data, round;

	if (!(wc->wc_flags & IBV_WC_WITH_IMM) || !is_expected(workload, end, number)) {
		rank->unexpected++;
		return;
	}
	if (count_arrival(workload, rank, number, wc->byte_len, now, &round) &&
	    !workload->config.is_background && rank->state == VL_RANK_RUNNING &&
	    rank->round == round)
		end_step(host, workload, rank, number, now);
}

static bool poll_arrivals(struct vl_workload_host *host, uint64_t now)
{
	struct ibv_wc wc[COMPLETION_BATCH];
	bool any = false;
	int count;

	while ((count = vl_poll_cq(host->recv_cq, COMPLETION_BATCH, wc)) > 0) {
		for (int i = 0; i < count; i++) {
			struct vl_lane_end *lane = host->lanes[wc[i].wr_id];
			struct vl_workload *workload = &host->engine->workloads[lane->workload];

			if (wc[i].status != IBV_WC_SUCCESS)
				continue;
			vl_workload_post_receive(host, workload, lane);
			take_arrival(host, workload, &workload->ends[lane->end], &wc[i], now);
		}
		any = true;
	}
	return any;
}

/* All messages of a step are complete. */
static void complete_step(struct vl_workload_host *host, struct vl_workload *workload,
			  struct vl_workload_rank *rank, uint32_t number, uint64_t now)
{
	if (workload->config.is_background)
		repeat(host, workload, rank, number, now);
	else
		end_step(host, workload, rank, number, now);
}

static void take_completion(struct vl_workload_host *host, const struct ibv_wc *wc, uint64_t now)
{
	struct vl_lane_end *lane = host->lanes[wc->wr_id >> 32];
	struct vl_workload *workload = &host->engine->workloads[lane->workload];
	struct vl_workload_end *end = &workload->ends[lane->end];
	struct vl_workload_rank *rank = &workload->ranks[end->rank];
	uint32_t number = (uint32_t)wc->wr_id, round;
	struct vl_step_state *state = &workload->states[number];

	lane->outstanding--;
	if (wc->status != IBV_WC_SUCCESS) {
		fail(workload, end, wc->status);
		return;
	}
	rank->completed++;
	state->completed++;
	if (step_of(workload, number)->kind == VL_STEP_READ)
		count_arrival(workload, rank, number, wc->byte_len, now, &round);
	if (state->completed == state->messages) {
		end->begun_steps--;
		/* By another queue pair than the one that failed. */
		rank->failed_steps -= end->has_failed;
		complete_step(host, workload, rank, number, now);
	}
	post_queued(host, workload, end, now);
}

static bool poll_completions(struct vl_workload_host *host, uint64_t now)
{
	struct ibv_wc wc[COMPLETION_BATCH];
	bool any = false;
	int count;

	while ((count = vl_poll_cq(host->send_cq, COMPLETION_BATCH, wc)) > 0) {
		for (int i = 0; i < count; i++)
			take_completion(host, &wc[i], now);
		any = true;
	}
	return any;
}

/* ---- Time ---------------------------------------------------------------------------------- */

static void run_timed(struct vl_workload_host *host, struct vl_timed timed, uint64_t now)
{
	struct vl_workload_rank *rank = host->ranks[timed.rank];
	struct vl_workload *workload = vl_rank_workload(host, rank);

	if (timed.step == VL_NO_STEP) {
		begin_round(host, workload, rank, timed.time, now);
		advance(host, workload, rank, now);
	} else if (step_of(workload, timed.step)->kind == VL_STEP_COMPUTE) {
		*record(workload, workload->finished, rank->round, timed.step) = timed.time;
		workload->arrivals[timed.step].rounds++;
		rank->ended_steps++;
		end_step(host, workload, rank, timed.step, now);
	} else {
		start_step(host, workload, rank, timed.step, timed.time, now);
	}
}

static bool run_due(struct vl_workload_host *host, uint64_t now)
{
	bool any = false;

	while (vl_timed_next(&host->heap) <= now) {
		run_timed(host, vl_timed_pop(&host->heap), now);
		any = true;
	}
	return any;
}

/* Whether all that the workload comes after have ended; then *at: when it may start. */
static bool may_start(const struct vl_workload_engine *engine, const struct vl_workload *workload,
		      uint64_t *at)
{
	*at = workload->config.start;
	for (uint32_t i = 0; i < workload->config.after_count; i++) {
		const struct vl_workload *other = &engine->workloads[workload->after[i]];
		uint64_t ended;

		if (!__atomic_load_n(&other->shared_has_ended, __ATOMIC_ACQUIRE))
			return false;
		ended = __atomic_load_n(&other->shared_ended_at, __ATOMIC_RELAXED);
		if (ended > *at)
			*at = ended;
	}
	return true;
}

/* When a rank that waits may go on; VL_WORKLOAD_NEVER: those that it waits for have not ended. What
 * others have written may lie ahead of the time that this thread goes by: till then it waits. */
static uint64_t released_at(const struct vl_workload_host *host,
			    const struct vl_workload_rank *rank)
{
	const struct vl_workload *workload = vl_rank_workload(host, rank);
	uint64_t at;

	if (rank->state == VL_RANK_AFTER && may_start(host->engine, workload, &at))
		return at;
	if (rank->state == VL_RANK_BARRIER &&
	    __atomic_load_n(&workload->shared_round, __ATOMIC_ACQUIRE) > rank->round)
		return __atomic_load_n(&workload->shared_round_begun, __ATOMIC_RELAXED);
	return VL_WORKLOAD_NEVER;
}

static bool look_at_others(struct vl_workload_host *host, struct vl_workload_rank *rank,
			   uint64_t now)
{
	struct vl_workload *workload = vl_rank_workload(host, rank);
	uint64_t at = released_at(host, rank);

	if (at > now)
		return false;
	host->waiting--;
	if (rank->state == VL_RANK_BARRIER)
		rank->round++;
	begin_round(host, workload, rank, at, now);
	advance(host, workload, rank, now);
	return true;
}

static bool look_around(struct vl_workload_host *host, uint64_t now)
{
	bool any = false;

	for (uint32_t i = 0; host->waiting && i < host->rank_count; i++) {
		if (look_at_others(host, host->ranks[i], now))
			any = true;
	}
	return any;
}

void vl_workload_poll(void *context, struct vl_endpoint *endpoint, uint64_t now)
{
	struct vl_workload_host *host = context;
	bool any;

	if (host->inner.poll)
		host->inner.poll(host->inner.context, endpoint, now);
	do {
		any = poll_arrivals(host, now);
		any |= poll_completions(host, now);
		any |= run_due(host, now);
		any |= look_around(host, now);
	} while (any);
}

uint64_t vl_workload_next_deadline(void *context)
{
	const struct vl_workload_host *host = context;
	uint64_t deadline = vl_timed_next(&host->heap), other;

	for (uint32_t i = 0; host->waiting && i < host->rank_count; i++) {
		other = released_at(host, host->ranks[i]);
		deadline = other < deadline ? other : deadline;
	}
	if (!host->inner.next_deadline)
		return deadline;
	other = host->inner.next_deadline(host->inner.context);
	return other < deadline ? other : deadline;
}
