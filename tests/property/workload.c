/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Random mixes of workloads on a network that loses frames: every step of every
 * workload happens once, in its order, and the same seed gives the same times.
 */

#include "dataplane/workload/collectives.h"
#include "tests/support/suite.h"
#include "tests/support/workload_bench.h"
#include "transport/random.h"

#include <stdlib.h>
#include <string.h>

#define SECOND        UINT64_C(1000000000)
#define MAX_WORKLOADS 4u
#define SEEDS         40u

struct mix {
	struct vl_workload_plan plans[MAX_WORKLOADS];
	uint32_t endpoints[MAX_WORKLOADS][BENCH_MAX_HOSTS];
	uint32_t after[MAX_WORKLOADS];
	uint32_t count;
};

static uint32_t draw(struct vl_random *random, uint32_t from, uint32_t to)
{
	return from + (uint32_t)vl_random_below(random, to - from + 1);
}

static int make_requests(struct vl_workload_plan *plan, struct vl_random *random)
{
	static const struct vl_size_choice sizes[] = {{500, 2}, {20000, 1}, {70000, 1}};
	const struct vl_requests requests = {
		.servers = draw(random, 1, plan->rank_count - 1),
		.count = draw(random, 1, 20),
		.arrivals = (enum vl_arrivals)draw(random, 0, 2),
		.depth = draw(random, 1, 4),
		.rate = 1000.0 * draw(random, 1, 1000),
		.seed = vl_random_next(random),
	};

	if (vl_random_next(random) & 1)
		return vl_workload_plan_inference(plan, &requests, draw(random, 1, 5000),
						  draw(random, 1, 50000), draw(random, 0, 5000));
	return vl_workload_plan_storage(plan, &requests, vl_random_unit(random), sizes, 3);
}

static int make_pipeline(struct vl_workload_plan *plan, struct vl_random *random)
{
	const struct vl_pipeline pipeline = {
		.microbatches = draw(random, 1, 6),
		.activation = draw(random, 1, 30000),
		.forward = draw(random, 0, 3000),
		.backward = draw(random, 0, 3000),
		.schedule = (enum vl_pipeline_schedule)draw(random, 0, 1),
	};

	return vl_workload_plan_pipeline(plan, &pipeline);
}

static int make_plan(struct vl_workload_plan *plan, struct vl_random *random)
{
	uint64_t size = draw(random, 16, 150000);

	switch (draw(random, 0, 9)) {
	case 0:
		return vl_workload_plan_ring_all_reduce(plan, size, draw(random, 0, 1000));
	case 1:
		if (plan->rank_count & (plan->rank_count - 1))
			return vl_workload_plan_ring_reduce_scatter(plan, size, 0);
		return vl_workload_plan_halving_doubling_all_reduce(plan, size,
								    draw(random, 0, 1000));
	case 2:
		return vl_workload_plan_ring_all_gather(plan, size);
	case 3:
		return vl_workload_plan_incast(plan, size);
	case 4:
		return vl_workload_plan_permutation(plan, size, vl_random_next(random));
	case 5:
		return vl_workload_plan_all_to_all(plan, size, draw(random, 0, 3));
	case 6:
		return vl_workload_plan_broadcast_tree(plan, size, draw(random, 1, 3),
						       draw(random, 8000, 20000));
	case 7:
		return vl_workload_plan_parameter_server(
			plan, size, draw(random, 1, plan->rank_count - 1), draw(random, 0, 1000));
	case 8:
		return make_pipeline(plan, random);
	default:
		return make_requests(plan, random);
	}
}

/* Different endpoints for the ranks, in any order. */
static void choose_endpoints(uint32_t *endpoints, uint32_t ranks, uint32_t hosts,
			     struct vl_random *random)
{
	uint32_t all[BENCH_MAX_HOSTS];

	for (uint32_t i = 0; i < hosts; i++)
		all[i] = i;
	for (uint32_t i = 0; i < ranks; i++) {
		uint32_t other = draw(random, i, hosts - 1);

		endpoints[i] = all[other];
		all[other] = all[i];
	}
}

static void add_workload(struct mix *mix, uint32_t hosts, struct vl_random *random)
{
	uint32_t number = mix->count++, ranks = draw(random, 2, hosts);
	struct vl_workload_plan *plan = &mix->plans[number];
	struct vl_workload_config config;

	CU_ASSERT_EQUAL_FATAL(vl_workload_plan_init(plan, ranks), 0);
	CU_ASSERT_EQUAL_FATAL(make_plan(plan, random), 0);
	choose_endpoints(mix->endpoints[number], ranks, hosts, random);
	config = bench_workload("mix", plan);
	config.endpoints = mix->endpoints[number];
	config.rounds = draw(random, 1, 3);
	config.barrier = vl_random_next(random) & 1;
	config.start = draw(random, 0, 200000);
	config.message_size = draw(random, 1000, 40000);
	config.depth = draw(random, 1, 6);
	config.qps = draw(random, 1, 3);
	config.qp.timeout = 8;
	if (number && vl_random_next(random) & 1) {
		mix->after[number] = draw(random, 0, number - 1);
		config.after = &mix->after[number];
		config.after_count = 1;
	}
	bench_add(&config);
}

/* Runs a mix and returns a number that depends on all times. */
static uint64_t run_mix(uint64_t seed, double loss)
{
	struct vl_random random = {seed};
	uint32_t hosts = draw(&random, 2, 10), workloads = draw(&random, 1, MAX_WORKLOADS);
	struct mix mix = {0};
	uint64_t sum = 0;

	bench_set_up(hosts, loss);
	for (uint32_t i = 0; i < workloads; i++)
		add_workload(&mix, hosts, &random);
	bench_run(20 * SECOND);
	CU_ASSERT_TRUE(vl_workload_engine_is_finished(bench.engine));
	for (uint32_t i = 0; i < workloads; i++) {
		const struct vl_workload_config *config =
			vl_workload_configuration(bench.engine, i);
		struct vl_workload_progress progress = vl_workload_progress(bench.engine, i);

		bench_check_steps(i);
		CU_ASSERT_TRUE(progress.started >= config->start);
		if (config->after_count)
			CU_ASSERT_TRUE(progress.started >=
				       vl_workload_progress(bench.engine, config->after[0]).ended);
		sum = (sum ^ progress.ended) * UINT64_C(0x9e3779b97f4a7c15);
	}
	bench_tear_down();
	for (uint32_t i = 0; i < workloads; i++)
		vl_workload_plan_release(&mix.plans[i]);
	return sum;
}

static void test_lossless(void)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		run_mix(seed, 0);
}

static void test_lossy(void)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		run_mix(seed * 1000, 0.01);
}

static void test_same_seed(void)
{
	for (uint64_t seed = 1; seed <= 5; seed++)
		CU_ASSERT_EQUAL(run_mix(seed, 0.005), run_mix(seed, 0.005));
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"lossless", test_lossless},
		{"lossy", test_lossy},
		{"same_seed", test_same_seed},
	};

	return RUN_SUITE("workload", tests, argc, argv);
}
