/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Plans of collectives, held to what the operations mean: steps are carried out on buffers in
 * random orders that the dependencies allow, and what every rank ends with is looked at.
 */

#include "dataplane/workload/collectives.h"
#include "tests/support/suite.h"
#include "transport/random.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RANKS 16u
#define PART      8u /* bytes */

static struct vl_workload_plan plan;

/* How often each rank's contribution is in each part of each rank's buffer. */
typedef uint8_t buffers[MAX_RANKS][MAX_RANKS][MAX_RANKS];

static buffers held, *in_flight;

static void move(const struct vl_step *step, uint8_t from[MAX_RANKS][MAX_RANKS],
		 uint8_t to[MAX_RANKS][MAX_RANKS])
{
	for (uint64_t part = step->offset / PART; part < (step->offset + step->bytes) / PART;
	     part++)
		memcpy(to[part], from[part], MAX_RANKS);
}

static void add(const struct vl_step *step, uint8_t from[MAX_RANKS][MAX_RANKS],
		uint8_t to[MAX_RANKS][MAX_RANKS])
{
	for (uint64_t part = step->offset / PART; part < (step->offset + step->bytes) / PART;
	     part++) {
		for (uint32_t i = 0; i < MAX_RANKS; i++)
			to[part][i] += from[part][i];
	}
}

enum progress { WAITING, FLYING, DONE };

static bool may_start(const enum progress *progress, const struct vl_step *step)
{
	for (uint32_t i = 0; i < step->dependency_count; i++) {
		if (progress[plan.dependencies[step->first_dependency + i]] != DONE)
			return false;
	}
	return true;
}

/* Data are read when a step starts, and land when it ends; what can happen does so in any order. */
static void carry_out(uint64_t seed)
{
	struct vl_random random = {seed};
	enum progress *progress = calloc(plan.step_count, sizeof(*progress));
	uint32_t left = 2 * plan.step_count;

	in_flight = calloc(plan.step_count, sizeof(buffers) / MAX_RANKS);
	CU_ASSERT_FATAL(progress && in_flight);
	while (left) {
		uint32_t n = (uint32_t)vl_random_below(&random, plan.step_count);
		const struct vl_step *step = &plan.steps[n];
		uint8_t(*carried)[MAX_RANKS] = ((uint8_t(*)[MAX_RANKS][MAX_RANKS])in_flight)[n];

		if (progress[n] == WAITING && may_start(progress, step)) {
			move(step, held[step->source], carried);
			progress[n] = FLYING;
			left--;
		} else if (progress[n] == FLYING) {
			if (step->reduces)
				add(step, carried, held[step->destination]);
			else
				move(step, carried, held[step->destination]);
			progress[n] = DONE;
			left--;
		}
	}
	free(progress);
	free(in_flight);
}

/* All ranks have their own contribution to all parts. */
static void contribute_to_all(uint32_t ranks)
{
	memset(held, 0, sizeof(held));
	for (uint32_t rank = 0; rank < ranks; rank++) {
		for (uint32_t part = 0; part < ranks; part++)
			held[rank][part][rank] = 1;
	}
}

static bool is_sum(uint32_t rank, uint32_t part, uint32_t ranks)
{
	for (uint32_t i = 0; i < ranks; i++) {
		if (held[rank][part][i] != 1)
			return false;
	}
	return true;
}

static void init(uint32_t ranks)
{
	CU_ASSERT_EQUAL_FATAL(vl_workload_plan_init(&plan, ranks), 0);
}

static void check_all_reduce(uint32_t ranks,
			     int (*make)(struct vl_workload_plan *, uint64_t, uint64_t))
{
	init(ranks);
	CU_ASSERT_EQUAL_FATAL(make(&plan, (uint64_t)ranks * PART, 0), 0);
	CU_ASSERT_EQUAL(vl_workload_plan_bytes(&plan), 2ull * (ranks - 1) * ranks * PART);
	for (uint64_t seed = 1; seed <= 5; seed++) {
		contribute_to_all(ranks);
		carry_out(seed);
		for (uint32_t rank = 0; rank < ranks; rank++) {
			for (uint32_t part = 0; part < ranks; part++)
				CU_ASSERT_TRUE(is_sum(rank, part, ranks));
		}
	}
	vl_workload_plan_release(&plan);
}

static void test_ring_all_reduce(void)
{
	for (uint32_t ranks = 2; ranks <= MAX_RANKS; ranks += ranks < 5 ? 1 : 4)
		check_all_reduce(ranks, vl_workload_plan_ring_all_reduce);
}

static void test_halving_doubling(void)
{
	for (uint32_t ranks = 2; ranks <= MAX_RANKS; ranks *= 2)
		check_all_reduce(ranks, vl_workload_plan_halving_doubling_all_reduce);
	init(12);
	CU_ASSERT_EQUAL(vl_workload_plan_halving_doubling_all_reduce(&plan, 4096, 0), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(plan.error, "power of two"));
	CU_ASSERT_PTR_NOT_NULL(strstr(plan.error, "8 would do"));
	vl_workload_plan_release(&plan);
}

static void test_reduce_scatter(void)
{
	for (uint32_t ranks = 2; ranks <= 9; ranks++) {
		init(ranks);
		CU_ASSERT_EQUAL_FATAL(vl_workload_plan_ring_reduce_scatter(&plan, ranks * PART, 0),
				      0);
		CU_ASSERT_EQUAL(vl_workload_plan_bytes(&plan),
				(uint64_t)(ranks - 1) * ranks * PART);
		contribute_to_all(ranks);
		carry_out(ranks);
		for (uint32_t rank = 0; rank < ranks; rank++)
			CU_ASSERT_TRUE(is_sum(rank, rank, ranks));
		vl_workload_plan_release(&plan);
	}
}

/* Rank r has part r alone; in the end everybody has all. */
static void test_all_gather(void)
{
	for (uint32_t ranks = 2; ranks <= 9; ranks++) {
		init(ranks);
		CU_ASSERT_EQUAL_FATAL(vl_workload_plan_ring_all_gather(&plan, ranks * PART), 0);
		CU_ASSERT_EQUAL(vl_workload_plan_bytes(&plan),
				(uint64_t)(ranks - 1) * ranks * PART);
		memset(held, 0, sizeof(held));
		for (uint32_t rank = 0; rank < ranks; rank++)
			held[rank][rank][rank] = 1;
		carry_out(ranks);
		for (uint32_t rank = 0; rank < ranks; rank++) {
			for (uint32_t part = 0; part < ranks; part++)
				CU_ASSERT_EQUAL(held[rank][part][part], 1);
		}
		vl_workload_plan_release(&plan);
	}
}

static void test_broadcast(void)
{
	for (uint32_t fanout = 1; fanout <= 3; fanout++) {
		init(11);
		CU_ASSERT_EQUAL_FATAL(
			vl_workload_plan_broadcast_tree(&plan, 7 * PART, fanout, PART), 0);
		CU_ASSERT_EQUAL(plan.step_count, 70);
		CU_ASSERT_EQUAL(vl_workload_plan_bytes(&plan), 10 * 7 * PART);
		memset(held, 0, sizeof(held));
		for (uint32_t part = 0; part < 7; part++)
			held[0][part][0] = 1;
		carry_out(fanout);
		for (uint32_t rank = 1; rank < 11; rank++) {
			for (uint32_t part = 0; part < 7; part++)
				CU_ASSERT_EQUAL(held[rank][part][0], 1);
		}
		vl_workload_plan_release(&plan);
	}
	init(4);
	CU_ASSERT_EQUAL(vl_workload_plan_broadcast_tree(&plan, 100, 0, 0), -EINVAL);
	vl_workload_plan_release(&plan);
}

static void test_parameter_server(void)
{
	/* Servers 0 to 2 hold a third of the parameters each, 5 workers have gradients for all. */
	init(8);
	CU_ASSERT_EQUAL_FATAL(vl_workload_plan_parameter_server(&plan, 3 * PART, 3, 10), 0);
	CU_ASSERT_EQUAL(vl_workload_plan_bytes(&plan), 2 * 5 * 3 * PART);
	memset(held, 0, sizeof(held));
	for (uint32_t worker = 3; worker < 8; worker++) {
		for (uint32_t part = 0; part < 3; part++)
			held[worker][part][worker] = 1;
	}
	carry_out(3);
	for (uint32_t worker = 3; worker < 8; worker++) {
		for (uint32_t part = 0; part < 3; part++) {
			for (uint32_t from = 3; from < 8; from++)
				CU_ASSERT_EQUAL(held[worker][part][from], 1);
		}
	}
	vl_workload_plan_release(&plan);
	init(4);
	CU_ASSERT_EQUAL(vl_workload_plan_parameter_server(&plan, 4096, 4, 0), -EINVAL);
	CU_ASSERT_EQUAL(vl_workload_plan_parameter_server(&plan, 4096, 0, 0), -EINVAL);
	vl_workload_plan_release(&plan);
}

/* ---- Exchanges ----------------------------------------------------------------------------- */

static void test_incast(void)
{
	init(5);
	CU_ASSERT_EQUAL_FATAL(vl_workload_plan_incast(&plan, 1000), 0);
	CU_ASSERT_EQUAL(plan.step_count, 4);
	for (uint32_t i = 0; i < 4; i++) {
		CU_ASSERT_EQUAL(plan.steps[i].source, i + 1);
		CU_ASSERT_EQUAL(plan.steps[i].destination, 0);
		CU_ASSERT_EQUAL(plan.steps[i].bytes, 1000);
	}
	vl_workload_plan_release(&plan);
	init(1);
	CU_ASSERT_EQUAL(vl_workload_plan_incast(&plan, 1000), -EINVAL);
	vl_workload_plan_release(&plan);
}

/* All 9 derangements of four occur, about equally often. */
static void test_permutation(void)
{
	uint32_t seen[256] = {0}, kinds = 0, code, received;

	for (uint64_t seed = 0; seed < 9000; seed++) {
		init(4);
		CU_ASSERT_EQUAL_FATAL(vl_workload_plan_permutation(&plan, 10, seed), 0);
		CU_ASSERT_EQUAL_FATAL(plan.step_count, 4);
		code = received = 0;
		for (uint32_t i = 0; i < 4; i++) {
			CU_ASSERT_EQUAL(plan.steps[i].source, i);
			code |= plan.steps[i].destination << (2 * i);
			received |= 1u << plan.steps[i].destination;
		}
		CU_ASSERT_EQUAL(received, 15);
		seen[code]++;
		vl_workload_plan_release(&plan);
	}
	for (uint32_t i = 0; i < 256; i++) {
		kinds += seen[i] > 0;
		CU_ASSERT_TRUE(!seen[i] || (seen[i] > 850 && seen[i] < 1150));
	}
	CU_ASSERT_EQUAL(kinds, 9);
}

static void test_all_to_all(void)
{
	uint32_t pairs[7][7] = {{0}};

	init(7);
	CU_ASSERT_EQUAL_FATAL(vl_workload_plan_all_to_all(&plan, 700, 2), 0);
	CU_ASSERT_EQUAL(plan.step_count, 42);
	CU_ASSERT_EQUAL(vl_workload_plan_bytes(&plan), 6 * 700);
	for (uint32_t i = 0; i < 42; i++) {
		const struct vl_step *step = &plan.steps[i];

		pairs[step->source][step->destination]++;
		CU_ASSERT_EQUAL(step->bytes, 100);
		CU_ASSERT_EQUAL(step->dependency_count, i >= 14);
		if (step->dependency_count)
			CU_ASSERT_EQUAL(
				plan.steps[plan.dependencies[step->first_dependency]].source,
				step->source);
	}
	for (uint32_t i = 0; i < 49; i++)
		CU_ASSERT_EQUAL(pairs[i / 7][i % 7], i / 7 != i % 7);
	vl_workload_plan_release(&plan);
	init(7);
	CU_ASSERT_EQUAL(vl_workload_plan_all_to_all(&plan, 6, 0), -EINVAL);
	vl_workload_plan_release(&plan);
}

/* Sizes that do not divide evenly lose no byte. */
static void test_uneven(void)
{
	init(7);
	CU_ASSERT_EQUAL_FATAL(vl_workload_plan_ring_all_reduce(&plan, 1000, 0), 0);
	CU_ASSERT_EQUAL(vl_workload_plan_bytes(&plan), 12000);
	for (uint32_t i = 0; i < plan.step_count; i++)
		CU_ASSERT_TRUE(plan.steps[i].bytes == 142 || plan.steps[i].bytes == 143);
	vl_workload_plan_release(&plan);
}

/* ---- Pipeline ------------------------------------------------------------------------------ */

#define STAGES       4u
#define MICROBATCHES 6u

/* When each step ends if sending takes no time and each rank computes as planned; the last end. */
static uint64_t makespan(void)
{
	uint64_t *end = calloc(plan.step_count, sizeof(*end)), last = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(end);
	for (uint32_t i = 0; i < plan.step_count; i++) {
		const struct vl_step *step = &plan.steps[i];

		for (uint32_t j = 0; j < step->dependency_count; j++) {
			uint64_t before = end[plan.dependencies[step->first_dependency + j]];

			end[i] = before > end[i] ? before : end[i];
		}
		end[i] += step->delay;
		last = end[i] > last ? end[i] : last;
	}
	free(end);
	return last;
}

static void check_pipeline(enum vl_pipeline_schedule schedule)
{
	const struct vl_pipeline pipeline = {.microbatches = MICROBATCHES,
					     .activation = 5000,
					     .forward = 100,
					     .backward = 200,
					     .schedule = schedule};
	uint32_t forward[STAGES] = {0}, backward[STAGES] = {0}, sent[STAGES][STAGES] = {{0}};
	uint32_t most[STAGES] = {0};

	init(STAGES);
	CU_ASSERT_EQUAL_FATAL(vl_workload_plan_pipeline(&plan, &pipeline), 0);
	for (uint32_t i = 0; i < plan.step_count; i++) {
		const struct vl_step *step = &plan.steps[i];
		uint32_t stage = step->source;

		if (step->kind == VL_STEP_WRITE) {
			CU_ASSERT_EQUAL(step->bytes, 5000);
			sent[stage][step->destination]++;
			continue;
		}
		if (step->delay == 100)
			forward[stage]++;
		else
			backward[stage]++;
		if (forward[stage] - backward[stage] > most[stage])
			most[stage] = forward[stage] - backward[stage];
	}
	for (uint32_t stage = 0; stage < STAGES; stage++) {
		CU_ASSERT_EQUAL(forward[stage], MICROBATCHES);
		CU_ASSERT_EQUAL(backward[stage], MICROBATCHES);
		/* What 1F1B is for: activations that a stage keeps. */
		CU_ASSERT_EQUAL(most[stage],
				schedule == VL_PIPELINE_1F1B ? STAGES - stage : MICROBATCHES);
		for (uint32_t to = 0; to < STAGES; to++)
			CU_ASSERT_EQUAL(sent[stage][to],
					to == stage + 1 || to + 1 == stage ? MICROBATCHES : 0);
	}
	CU_ASSERT_EQUAL(makespan(), (MICROBATCHES + STAGES - 1) * 300);
	vl_workload_plan_release(&plan);
}

static void test_pipeline(void)
{
	check_pipeline(VL_PIPELINE_GPIPE);
	check_pipeline(VL_PIPELINE_1F1B);
}

/* ---- Requests ------------------------------------------------------------------------------ */

static void test_storage(void)
{
	static const struct vl_size_choice sizes[] = {{4096, 3}, {65536, 1}};
	const struct vl_requests requests = {
		.servers = 2, .count = 4000, .arrivals = VL_ARRIVALS_CLOSED, .depth = 4, .seed = 9};
	uint32_t reads = 0, small = 0, to_first = 0;

	init(5);
	CU_ASSERT_EQUAL_FATAL(vl_workload_plan_storage(&plan, &requests, 0.7, sizes, 2), 0);
	CU_ASSERT_EQUAL_FATAL(plan.step_count, 12000);
	CU_ASSERT_EQUAL(plan.job_count, 12000);
	for (uint32_t i = 0; i < plan.step_count; i++) {
		const struct vl_step *step = &plan.steps[i];
		uint32_t client = vl_step_rank(step);
		uint32_t server = step->source == client ? step->destination : step->source;

		CU_ASSERT_EQUAL(client, 2 + i / 4000);
		CU_ASSERT_TRUE(server < 2);
		CU_ASSERT_EQUAL(step->dependency_count, i % 4000 >= 4);
		if (step->dependency_count)
			CU_ASSERT_EQUAL(plan.dependencies[step->first_dependency], i - 4);
		reads += step->kind == VL_STEP_READ;
		small += step->bytes == 4096;
		to_first += server == 0;
	}
	CU_ASSERT_TRUE(reads > 8200 && reads < 8600);
	CU_ASSERT_TRUE(small > 8800 && small < 9200);
	CU_ASSERT_TRUE(to_first > 5800 && to_first < 6200);
	vl_workload_plan_release(&plan);
}

/* Exponential gaps: mean and deviation are both the reciprocal of the rate. */
static void test_inference(void)
{
	const struct vl_requests requests = {.servers = 1,
					     .count = 20000,
					     .arrivals = VL_ARRIVALS_POISSON,
					     .rate = 1e5,
					     .seed = 3};
	double sum = 0, squares = 0, last = 0;

	init(2);
	CU_ASSERT_EQUAL_FATAL(vl_workload_plan_inference(&plan, &requests, 100, 2000, 5000), 0);
	CU_ASSERT_EQUAL_FATAL(plan.step_count, 40000);
	CU_ASSERT_EQUAL(plan.job_count, 20000);
	for (uint32_t i = 0; i < plan.step_count; i += 2) {
		const struct vl_step *request = &plan.steps[i], *response = &plan.steps[i + 1];
		double gap = (double)request->earliest - last;

		CU_ASSERT_EQUAL(request->bytes, 100);
		CU_ASSERT_EQUAL(response->bytes, 2000);
		CU_ASSERT_EQUAL(response->delay, 5000);
		CU_ASSERT_EQUAL(response->job, request->job);
		CU_ASSERT_EQUAL(plan.dependencies[response->first_dependency], i);
		sum += gap;
		squares += gap * gap;
		last = (double)request->earliest;
	}
	CU_ASSERT_DOUBLE_EQUAL(sum / 20000, 10000, 200);
	CU_ASSERT_DOUBLE_EQUAL(squares / 20000 / 1e8, 2, 0.1);
	vl_workload_plan_release(&plan);
}

static void test_refused_requests(void)
{
	struct vl_requests requests = {
		.servers = 1, .count = 1, .rate = 0, .arrivals = VL_ARRIVALS_CONSTANT};

	init(2);
	CU_ASSERT_EQUAL(vl_workload_plan_inference(&plan, &requests, 1, 1, 0), -EINVAL);
	requests.rate = 1e-9;
	CU_ASSERT_EQUAL(vl_workload_plan_inference(&plan, &requests, 1, 1, 0), -EINVAL);
	requests.arrivals = VL_ARRIVALS_CLOSED;
	CU_ASSERT_EQUAL(vl_workload_plan_inference(&plan, &requests, 1, 1, 0), -EINVAL);
	requests.depth = 1;
	requests.servers = 2;
	CU_ASSERT_EQUAL(vl_workload_plan_inference(&plan, &requests, 1, 1, 0), -EINVAL);
	requests.servers = 1;
	CU_ASSERT_EQUAL(vl_workload_plan_inference(&plan, &requests, 0, 1, 0), -EINVAL);
	CU_ASSERT_EQUAL(vl_workload_plan_storage(&plan, &requests, 0.5, NULL, 0), -EINVAL);
	CU_ASSERT_EQUAL(vl_workload_plan_storage(&plan, &requests, 1.5,
						 &(struct vl_size_choice){4096, 1}, 1),
			-EINVAL);
	CU_ASSERT_EQUAL(vl_workload_plan_inference(&plan, &requests, 1, 1, 0), 0);
	vl_workload_plan_release(&plan);
}

/* ---- Plans --------------------------------------------------------------------------------- */

static int try(struct vl_step step, uint32_t dependency, uint32_t count)
{
	return vl_workload_plan_add(&plan, &step, &dependency, count);
}

/* What no rank could do is not planned. */
static void test_refused_steps(void)
{
	CU_ASSERT_EQUAL(vl_workload_plan_init(&plan, 0), -EINVAL);
	CU_ASSERT_EQUAL(vl_workload_plan_init(&plan, VL_WORKLOAD_PLAN_MAX_RANKS + 1), -EINVAL);
	init(3);
	CU_ASSERT_EQUAL(try((struct vl_step){.source = 0, .destination = 3, .bytes = 1}, 0, 0),
			-EINVAL);
	CU_ASSERT_EQUAL(try((struct vl_step){.source = 1, .destination = 1, .bytes = 1}, 0, 0),
			-EINVAL);
	CU_ASSERT_EQUAL(try((struct vl_step){.source = 0, .destination = 1}, 0, 0), -EINVAL);
	CU_ASSERT_EQUAL(try((struct vl_step){.source = 0, .destination = 1, .bytes = 1}, 0, 1),
			-EINVAL);
	CU_ASSERT_EQUAL(plan.step_count, 0);
	CU_ASSERT_EQUAL(try((struct vl_step){.source = 0, .destination = 1, .bytes = 1}, 0, 0), 0);
	/* Rank 2 does not see what goes from 0 to 1; both of these do. */
	CU_ASSERT_EQUAL(try((struct vl_step){.source = 2, .destination = 1, .bytes = 1}, 0, 1),
			-EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(plan.error, "does not see"));
	CU_ASSERT_EQUAL(try((struct vl_step){.source = 0, .destination = 2, .bytes = 1}, 0, 1), 0);
	CU_ASSERT_EQUAL(try((struct vl_step){.source = 1, .destination = 2, .bytes = 1}, 0, 1), 0);
	/* Nor does the source of a READ see it, which is its destination's. */
	CU_ASSERT_EQUAL(try((struct vl_step){.source = 1,
					     .destination = 2,
					     .bytes = 1,
					     .kind = VL_STEP_READ},
			    2, 1),
			0);
	CU_ASSERT_EQUAL(try((struct vl_step){.source = 1, .destination = 0, .bytes = 1}, 3, 1),
			-EINVAL);
	CU_ASSERT_EQUAL(plan.step_count, 4);
	vl_workload_plan_release(&plan);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"ring_all_reduce", test_ring_all_reduce},
		{"halving_doubling", test_halving_doubling},
		{"reduce_scatter", test_reduce_scatter},
		{"all_gather", test_all_gather},
		{"broadcast", test_broadcast},
		{"parameter_server", test_parameter_server},
		{"incast", test_incast},
		{"permutation", test_permutation},
		{"all_to_all", test_all_to_all},
		{"uneven", test_uneven},
		{"pipeline", test_pipeline},
		{"storage", test_storage},
		{"inference", test_inference},
		{"refused_requests", test_refused_requests},
		{"refused_steps", test_refused_steps},
	};

	return RUN_SUITE("workload_plan", tests, argc, argv);
}
