/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What is measured of workloads, where it can be worked out otherwise. */

#include "dataplane/workload/collectives.h"
#include "dataplane/workload/engine_private.h"
#include "dataplane/workload/metrics.h"
#include "tests/support/suite.h"
#include "tests/support/workload_bench.h"

#include <stdlib.h>
#include <string.h>

#define SECOND UINT64_C(1000000000)

static struct vl_workload_plan plan;
static struct vl_workload_metrics metrics;

/* Two links, and a switch that stores and forwards between them. */
static struct vl_workload_path star_path(void *context, uint32_t source, uint32_t destination)
{
	CU_ASSERT_NOT_EQUAL(source, destination);
	(void)context;
	return (struct vl_workload_path){.rate = BENCH_RATE,
					 .source_rate = BENCH_RATE,
					 .destination_rate = BENCH_RATE,
					 .propagation = 2 * BENCH_PROPAGATION,
					 .store = 8 / 100.0};
}

static const struct vl_workload_measures star = {.path = star_path,
						 .packet_overhead = VL_ROCEV2_PACKET_OVERHEAD};

static void start(uint32_t ranks)
{
	bench_set_up(ranks, 0);
	CU_ASSERT_EQUAL_FATAL(vl_workload_plan_init(&plan, ranks), 0);
}

static void measure(const struct vl_workload_measures *measures)
{
	bench_run(SECOND);
	CU_ASSERT_TRUE(vl_workload_engine_is_finished(bench.engine));
	bench_check_steps(0);
	CU_ASSERT_EQUAL_FATAL(
		vl_workload_measure(bench.engine, 0, measures, SECOND, NULL, &metrics), 0);
}

static void end(void)
{
	vl_workload_metrics_release(&metrics);
	bench_tear_down();
	vl_workload_plan_release(&plan);
}

/* Live, who takes a message may go by an older time than who has sent it. */
static void test_finished_before_it_was_ready(void)
{
	struct vl_workload_measures measures = star;
	struct vl_workload_config config;

	start(2);
	CU_ASSERT_EQUAL(vl_workload_plan_permutation(&plan, 4096, 3), 0);
	config = bench_workload("permutation", &plan);
	bench_add(&config);
	bench_run(SECOND);
	for (unsigned int i = 0; i < plan.step_count; i++) {
		bench.engine->workloads[0].ready[i] = 1000;
		bench.engine->workloads[0].finished[i] = 900;
	}
	measures.size = 4096;
	measures.bus_factor = 1;
	measures.deadline = 10;
	CU_ASSERT_EQUAL_FATAL(
		vl_workload_measure(bench.engine, 0, &measures, SECOND, NULL, &metrics), 0);
	CU_ASSERT_EQUAL(metrics.transfers, 2);
	CU_ASSERT_EQUAL(metrics.transfer_times.most, 0);
	CU_ASSERT_EQUAL(metrics.job_times.most, 0);
	CU_ASSERT_EQUAL(metrics.missed, 0);
	CU_ASSERT_EQUAL(metrics.algbw, 0);
	end();
}

/* Nobody is in anybody's way. */
static void test_alone(void)
{
	struct vl_workload_config config;

	start(8);
	CU_ASSERT_EQUAL(vl_workload_plan_permutation(&plan, 1 << 20, 3), 0);
	config = bench_workload("permutation", &plan);
	config.rounds = 3;
	config.barrier = true;
	bench_add(&config);
	measure(&star);
	CU_ASSERT_EQUAL(metrics.transfers, 24);
	CU_ASSERT_EQUAL(metrics.all_transfers, 24);
	CU_ASSERT_EQUAL(metrics.jobs, 3);
	CU_ASSERT_DOUBLE_EQUAL(metrics.transfer_slowdown.least, 1, 0.01);
	/* A new queue pair has no credits but for one message until the first ACK. */
	CU_ASSERT_DOUBLE_EQUAL(metrics.transfer_slowdown.most, 1, 0.06);
	CU_ASSERT_DOUBLE_EQUAL(metrics.transfer_slowdown.p50, 1, 0.01);
	CU_ASSERT_DOUBLE_EQUAL(metrics.job_slowdown.least, 1, 0.01);
	CU_ASSERT_DOUBLE_EQUAL(metrics.jain, 1, 0.001);
	CU_ASSERT_EQUAL(metrics.algbw, 0);
	end();
}

/* Three send to one: a third of the rate each, or one after the other; the last is done when all
 * is. */
static void test_incast(void)
{
	struct vl_workload_config config;
	double line;

	start(4);
	CU_ASSERT_EQUAL(vl_workload_plan_incast(&plan, 1 << 20), 0);
	config = bench_workload("incast", &plan);
	config.message_size = BENCH_LARGEST;
	bench_add(&config);
	measure(&star);
	line = (double)vl_workload_line_bytes(&config, &plan.steps[0], 82) * 8 / 100;
	CU_ASSERT_DOUBLE_EQUAL(line, ((1 << 20) + 256 * 82 + 20) * 8 / 100.0, 0.001);
	CU_ASSERT_DOUBLE_EQUAL(metrics.transfer_slowdown.most, 3, 0.1);
	CU_ASSERT_DOUBLE_EQUAL(metrics.ideal_round, 3 * line + 2 * BENCH_PROPAGATION, 1);
	CU_ASSERT_DOUBLE_EQUAL(metrics.job_slowdown.mean, 1, 0.02);
	CU_ASSERT_DOUBLE_EQUAL(metrics.goodput / 1e9, 100.0 * 4096 / (4096 + 82), 4);
	end();
}

/* The numbers of nccl-tests: size over time, and what the ring's links carry of it. */
static void test_bandwidths(void)
{
	struct vl_workload_measures measures = star;
	struct vl_workload_config config;
	double time;

	start(8);
	measures.size = 32 << 20;
	measures.bus_factor = 2.0 * 7 / 8;
	CU_ASSERT_EQUAL(vl_workload_plan_ring_all_reduce(&plan, measures.size, 0), 0);
	config = bench_workload("ring", &plan);
	config.rounds = 2;
	bench_add(&config);
	measure(&measures);
	for (uint32_t round = 0; round < 2; round++) {
		time = (double)(metrics.rounds[round].finished - metrics.rounds[round].started);
		CU_ASSERT_DOUBLE_EQUAL(metrics.rounds[round].algbw, 8e9 * (32 << 20) / time, 1);
		CU_ASSERT_DOUBLE_EQUAL(metrics.rounds[round].busbw / metrics.rounds[round].algbw,
				       1.75, 1e-9);
	}
	/* All links are busy nearly all the time. */
	CU_ASSERT_TRUE(metrics.busbw > 0.95e11 * 4096 / (4096 + 82));
	CU_ASSERT_TRUE(metrics.busbw < 1e11 * 4096 / (4096 + 82));
	CU_ASSERT_DOUBLE_EQUAL(metrics.job_slowdown.mean, 1, 0.02);
	end();
}

/* No network is faster than what is to be sent only later. */
static void test_due(void)
{
	const struct vl_step steps[] = {
		{.source = 0, .destination = 1, .bytes = 4096, .earliest = 20000},
		{.source = 2, .destination = 3, .bytes = 4096, .earliest = 820000},
	};
	struct vl_workload_config config;

	start(4);
	for (unsigned int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL(vl_workload_plan_add(&plan, &steps[i], NULL, 0), 0);
	plan.job_count = 1;
	config = bench_workload("trace", &plan);
	bench_add(&config);
	measure(&star);
	/* From the first step on, which is itself due late. */
	CU_ASSERT_DOUBLE_EQUAL(metrics.job_times.mean, 800000, 5000);
	CU_ASSERT_DOUBLE_EQUAL(metrics.job_slowdown.mean, 1, 0.01);
	end();
}

/* Three clients ask at once, and the last two answers come too late. */
static void test_deadline(void)
{
	const struct vl_requests requests = {
		.servers = 1, .count = 1, .arrivals = VL_ARRIVALS_CLOSED, .depth = 1, .seed = 1};
	struct vl_workload_measures measures = star;
	struct vl_workload_config config;

	start(4);
	CU_ASSERT_EQUAL(vl_workload_plan_inference(&plan, &requests, 100, 100000, 5000), 0);
	config = bench_workload("inference", &plan);
	config.message_size = BENCH_LARGEST;
	bench_add(&config);
	/* Request 2.0 us, computing 5 us, 4.4 us for the first packet of each answer and its ACK,
	 * which brings credits; three answers share the line for 24.5 us, and 2.3 us of latency. */
	measures.deadline = 36000;
	measure(&measures);
	CU_ASSERT_EQUAL(metrics.jobs, 3);
	CU_ASSERT_DOUBLE_EQUAL(metrics.job_times.most, 2000 + 5000 + 4400 + 24500 + 2300, 1000);
	CU_ASSERT_DOUBLE_EQUAL(metrics.job_slowdown.most,
			       metrics.job_times.most / (2000 + 5000 + 8200 + 2300), 0.1);
	CU_ASSERT_EQUAL(metrics.missed, 2);
	vl_workload_metrics_release(&metrics);
	measures.deadline = 100000;
	CU_ASSERT_EQUAL(vl_workload_measure(bench.engine, 0, &measures, SECOND, NULL, &metrics), 0);
	CU_ASSERT_EQUAL(metrics.missed, 0);
	end();
}

/* What has not finished is not in the times, and misses its deadline. */
static void test_unfinished(void)
{
	struct vl_workload_measures measures = star;
	struct vl_workload_values values = {0};
	struct vl_workload_config config;

	start(4);
	CU_ASSERT_EQUAL(vl_workload_plan_incast(&plan, 1 << 20), 0);
	config = bench_workload("incast", &plan);
	config.rounds = 20;
	config.barrier = true;
	bench_add(&config);
	bench_run(SECOND / 1000);
	CU_ASSERT_FALSE(vl_workload_engine_is_finished(bench.engine));
	measures.deadline = SECOND;
	CU_ASSERT_EQUAL_FATAL(
		vl_workload_measure(bench.engine, 0, &measures, SECOND / 1000, &values, &metrics),
		0);
	/* 257 us each, one after the other. */
	CU_ASSERT_EQUAL(metrics.jobs, 3);
	CU_ASSERT_EQUAL(metrics.all_jobs, 20);
	CU_ASSERT_EQUAL(metrics.missed, 17);
	CU_ASSERT_EQUAL(metrics.job_times.count, 3);
	CU_ASSERT_EQUAL(values.transfer_times.count, metrics.transfers);
	/* The sender knows of the end when the ACK is back. */
	CU_ASSERT_DOUBLE_EQUAL((double)metrics.rounds[3].started,
			       (double)metrics.rounds[2].finished + 2 * BENCH_PROPAGATION, 100);
	CU_ASSERT_EQUAL(metrics.rounds[3].finished, VL_WORKLOAD_NEVER);
	vl_workload_values_release(&values);
	end();
}

static void test_background(void)
{
	struct vl_workload_config config;

	start(4);
	CU_ASSERT_EQUAL(vl_workload_plan_permutation(&plan, 1 << 20, 1), 0);
	config = bench_workload("background", &plan);
	config.is_background = true;
	bench_add(&config);
	bench_run(SECOND / 100);
	CU_ASSERT_EQUAL_FATAL(
		vl_workload_measure(bench.engine, 0, &star, SECOND / 100, NULL, &metrics), 0);
	CU_ASSERT_EQUAL(metrics.all_jobs, 0);
	CU_ASSERT_EQUAL(metrics.round_count, 0);
	/* Four links' worth, but for the turns between messages. */
	CU_ASSERT_TRUE(metrics.goodput > 0.9 * 4e11 * 4096 / 4178);
	CU_ASSERT_TRUE(metrics.goodput < 4e11 * 4096 / 4178);
	CU_ASSERT_DOUBLE_EQUAL(metrics.jain, 1, 0.01);
	end();
}

static void test_values(void)
{
	struct vl_values values = {0};
	struct vl_distribution distribution = vl_values_distribution(&values);

	CU_ASSERT_EQUAL(distribution.count, 0);
	CU_ASSERT_EQUAL(vl_values_jain(&values), 0);
	for (uint32_t i = 1000; i; i--)
		CU_ASSERT_TRUE(vl_values_add(&values, i));
	CU_ASSERT_DOUBLE_EQUAL(vl_values_jain(&values), 500.5 * 500.5 * 1000 / 333833500.0, 1e-9);
	distribution = vl_values_distribution(&values);
	CU_ASSERT_EQUAL(distribution.count, 1000);
	CU_ASSERT_EQUAL(distribution.least, 1);
	CU_ASSERT_EQUAL(distribution.most, 1000);
	CU_ASSERT_EQUAL(distribution.mean, 500.5);
	CU_ASSERT_EQUAL(distribution.p50, 500);
	CU_ASSERT_EQUAL(distribution.p90, 900);
	CU_ASSERT_EQUAL(distribution.p999, 999);
	CU_ASSERT_EQUAL(distribution.points[0], 1);
	CU_ASSERT_EQUAL(distribution.points[1], 10);
	CU_ASSERT_EQUAL(distribution.points[100], 1000);
	vl_values_release(&values);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"alone", test_alone},
		{"finished_before_it_was_ready", test_finished_before_it_was_ready},
		{"incast", test_incast},
		{"bandwidths", test_bandwidths},
		{"deadline", test_deadline},
		{"due", test_due},
		{"unfinished", test_unfinished},
		{"background", test_background},
		{"values", test_values},
	};

	return RUN_SUITE("workload_metrics", tests, argc, argv);
}
