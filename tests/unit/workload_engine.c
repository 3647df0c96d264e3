/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Workloads on endpoints around a switch, in virtual time. */

#include "dataplane/flow.h"
#include "dataplane/workload/collectives.h"
#include "dataplane/workload/metrics.h"
#include "tests/support/suite.h"
#include "tests/support/workload_bench.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SECOND UINT64_C(1000000000)

static uint64_t duration(uint32_t number)
{
	struct vl_workload_progress progress = vl_workload_progress(bench.engine, number);

	return progress.ended - progress.started;
}

/* Bits on the line of a WRITE with immediate in packets of 4096 B: Ethernet 14, IPv4 20, UDP 8,
 * BTH 12, ICRC 4, and 24 around; RETH 16 in the first, immediate 4 in the last packet. */
static double line_bits(uint64_t bytes)
{
	uint64_t packets = (bytes + 4095) / 4096;

	return 8.0 * (double)(bytes + packets * 82 + 20);
}

/* ---- Tests --------------------------------------------------------------------------------- */

/* Nobody is in anybody's way: 2 (n - 1) turns of a part each, through a switch that stores and
 * forwards. */
static void test_ring_all_reduce(void)
{
	const uint64_t size = 8 << 20;
	const uint32_t ranks = 8;
	struct vl_workload_config config;
	struct vl_workload_plan plan;
	double turn =
		line_bits(size / ranks) / 100 + (4096 + 102) * 8 / 100.0 + 2 * BENCH_PROPAGATION;

	bench_set_up(ranks, 0);
	CU_ASSERT_EQUAL_FATAL(vl_workload_plan_init(&plan, ranks), 0);
	CU_ASSERT_EQUAL_FATAL(vl_workload_plan_ring_all_reduce(&plan, size, 0), 0);
	config = bench_workload("ring", &plan);
	config.message_size = BENCH_LARGEST;
	bench_add(&config);
	bench_run(SECOND);
	CU_ASSERT_TRUE(vl_workload_engine_is_finished(bench.engine));
	CU_ASSERT_EQUAL(vl_workload_engine_qp_count(bench.engine), ranks);
	bench_check_steps(0);
	CU_ASSERT_DOUBLE_EQUAL((double)duration(0) / (14 * turn), 1, 0.01);
	bench_tear_down();
	vl_workload_plan_release(&plan);
}

static void check_collective(struct vl_workload_plan *plan, uint32_t rounds, bool barrier,
			     double loss)
{
	struct vl_workload_config config;

	bench_set_up(plan->rank_count, loss);
	config = bench_workload("collective", plan);
	config.rounds = rounds;
	config.barrier = barrier;
	config.qps = 1 + rounds % 2;
	config.message_size = 10000;
	bench_add(&config);
	bench_run(10 * SECOND);
	CU_ASSERT_TRUE(vl_workload_engine_is_finished(bench.engine));
	bench_check_steps(0);
	bench_tear_down();
	vl_workload_plan_release(plan);
}

static void test_collectives(void)
{
	const struct vl_pipeline pipeline = {4, 30000, 1000, 2000, VL_PIPELINE_1F1B};
	const uint64_t size = 100000;
	struct vl_workload_plan plan;

	for (uint32_t rounds = 1; rounds <= 4; rounds += 3) {
		for (int barrier = 0; barrier <= 1; barrier++) {
			vl_workload_plan_init(&plan, 8);
			CU_ASSERT_EQUAL(vl_workload_plan_ring_all_reduce(&plan, size, 100), 0);
			check_collective(&plan, rounds, barrier, 0);
			vl_workload_plan_init(&plan, 8);
			CU_ASSERT_EQUAL(
				vl_workload_plan_halving_doubling_all_reduce(&plan, size, 100), 0);
			check_collective(&plan, rounds, barrier, 0);
			vl_workload_plan_init(&plan, 6);
			CU_ASSERT_EQUAL(vl_workload_plan_all_to_all(&plan, size, 2), 0);
			check_collective(&plan, rounds, barrier, 0);
			vl_workload_plan_init(&plan, 6);
			CU_ASSERT_EQUAL(vl_workload_plan_broadcast_tree(&plan, size, 2, 8192), 0);
			check_collective(&plan, rounds, barrier, 0);
			vl_workload_plan_init(&plan, 6);
			CU_ASSERT_EQUAL(vl_workload_plan_incast(&plan, size), 0);
			check_collective(&plan, rounds, barrier, 0);
			vl_workload_plan_init(&plan, 6);
			CU_ASSERT_EQUAL(vl_workload_plan_parameter_server(&plan, size, 2, 50), 0);
			check_collective(&plan, rounds, barrier, 0);
			vl_workload_plan_init(&plan, 5);
			CU_ASSERT_EQUAL(vl_workload_plan_pipeline(&plan, &pipeline), 0);
			check_collective(&plan, rounds, barrier, 0);
		}
	}
}

/* What is lost on the way comes again, and nothing twice. */
static void test_lossy(void)
{
	struct vl_workload_plan plan;

	vl_workload_plan_init(&plan, 8);
	CU_ASSERT_EQUAL(vl_workload_plan_ring_all_reduce(&plan, 400000, 0), 0);
	check_collective(&plan, 3, false, 0.01);
	vl_workload_plan_init(&plan, 6);
	CU_ASSERT_EQUAL(vl_workload_plan_all_to_all(&plan, 400000, 0), 0);
	check_collective(&plan, 3, true, 0.01);
}

/* READ, WRITE and SEND, several at a time on a connection. */
static void test_requests(void)
{
	static const struct vl_size_choice sizes[] = {{4096, 1}, {100000, 1}};
	struct vl_requests requests = {.servers = 2,
				       .count = 50,
				       .arrivals = VL_ARRIVALS_CLOSED,
				       .depth = 3,
				       .rate = 100000,
				       .seed = 2};
	struct vl_workload_plan plan;

	for (int arrivals = VL_ARRIVALS_CLOSED; arrivals <= VL_ARRIVALS_POISSON; arrivals++) {
		requests.arrivals = (enum vl_arrivals)arrivals;
		vl_workload_plan_init(&plan, 5);
		CU_ASSERT_EQUAL(vl_workload_plan_storage(&plan, &requests, 0.5, sizes, 2), 0);
		for (uint32_t i = 0; i < plan.step_count; i += 3) {
			if (plan.steps[i].kind == VL_STEP_WRITE)
				plan.steps[i].kind = VL_STEP_SEND;
		}
		check_collective(&plan, 1, false, 0);
		vl_workload_plan_init(&plan, 5);
		CU_ASSERT_EQUAL(vl_workload_plan_inference(&plan, &requests, 200, 20000, 3000), 0);
		check_collective(&plan, 1, false, 0);
	}
}

/* The time of a pipeline whose messages are next to nothing is that of its computing. */
static void test_pipeline_time(void)
{
	const struct vl_pipeline pipeline = {8, 64, 1000000, 2000000, VL_PIPELINE_GPIPE};
	struct vl_workload_config config;
	struct vl_workload_plan plan;

	bench_set_up(4, 0);
	vl_workload_plan_init(&plan, 4);
	CU_ASSERT_EQUAL_FATAL(vl_workload_plan_pipeline(&plan, &pipeline), 0);
	config = bench_workload("pipeline", &plan);
	bench_add(&config);
	bench_run(SECOND);
	CU_ASSERT_DOUBLE_EQUAL((double)duration(0) / 33e6, 1, 0.002);
	bench_tear_down();
	vl_workload_plan_release(&plan);
}

/* A workload after two others, one that starts late, beside a background. */
static void test_mix(void)
{
	static const uint32_t others[4] = {3, 4, 5, 6}, both[] = {0, 1};
	struct vl_workload_plan incast, ring, permutation;
	struct vl_workload_config config;
	struct vl_workload_progress progress[4];

	bench_set_up(8, 0);
	vl_workload_plan_init(&incast, 4);
	vl_workload_plan_init(&ring, 8);
	vl_workload_plan_init(&permutation, 8);
	CU_ASSERT_EQUAL_FATAL(vl_workload_plan_incast(&incast, 300000), 0);
	CU_ASSERT_EQUAL_FATAL(vl_workload_plan_ring_all_reduce(&ring, 800000, 0), 0);
	CU_ASSERT_EQUAL_FATAL(vl_workload_plan_permutation(&permutation, 1 << 20, 4), 0);
	config = bench_workload("incast", &incast);
	config.endpoints = others;
	bench_add(&config);
	config = bench_workload("late", &incast);
	config.start = 500000;
	bench_add(&config);
	config = bench_workload("background", &permutation);
	config.is_background = true;
	bench_add(&config);
	config = bench_workload("ring", &ring);
	config.after = both;
	config.after_count = 2;
	config.rounds = 2;
	bench_add(&config);
	bench_run(SECOND);
	CU_ASSERT_TRUE(vl_workload_engine_is_finished(bench.engine));
	for (uint32_t i = 0; i < 4; i++)
		progress[i] = vl_workload_progress(bench.engine, i);
	bench_check_steps(0);
	bench_check_steps(1);
	bench_check_steps(3);
	CU_ASSERT_EQUAL(progress[0].started, 0);
	CU_ASSERT_EQUAL(progress[1].started, 500000);
	CU_ASSERT_TRUE(progress[1].ended > progress[0].ended);
	CU_ASSERT_EQUAL(progress[3].started, progress[1].ended);
	CU_ASSERT_EQUAL(progress[2].ended, VL_WORKLOAD_NEVER);
	CU_ASSERT_TRUE(progress[2].bytes_arrived > 16u << 20);
	CU_ASSERT_EQUAL(progress[2].unexpected, 0);
	bench_tear_down();
	vl_workload_plan_release(&incast);
	vl_workload_plan_release(&ring);
	vl_workload_plan_release(&permutation);
}

/* Beside flows on the same endpoints, which had an application before and have it after. */
static void test_beside_flows(void)
{
	const struct vl_traffic_config traffic = {.largest_message = BENCH_LARGEST};
	const struct vl_flow_config config = {.transport = IBV_QPT_RC,
					      .verb = VL_FLOW_WRITE,
					      .size = 100000,
					      .messages = 20,
					      .qps = 1,
					      .depth = 2,
					      .path_mtu = IBV_MTU_4096,
					      .priority = 3,
					      .dscp = 26,
					      .timeout = 8,
					      .retry_count = 7,
					      .rnr_retry = 7};
	struct vl_traffic *client, *server;
	struct vl_workload_config ring;
	struct vl_flow *flow;
	struct vl_workload_plan plan;

	bench_set_up(4, 0);
	client = vl_traffic_create(bench.endpoints[0], &traffic, NULL);
	server = vl_traffic_create(bench.endpoints[1], &traffic, NULL);
	CU_ASSERT_FATAL(client && server);
	flow = vl_flow_create(client, server, &config, 0, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(flow);
	vl_workload_plan_init(&plan, 4);
	CU_ASSERT_EQUAL_FATAL(vl_workload_plan_ring_all_reduce(&plan, 400000, 0), 0);
	ring = bench_workload("ring", &plan);
	bench_add(&ring);
	bench_run(SECOND / 10);
	CU_ASSERT_TRUE(vl_workload_engine_is_finished(bench.engine));
	vl_network_run_until(bench.network, SECOND);
	bench_check_steps(0);
	CU_ASSERT_TRUE(vl_traffic_is_finished(client));
	CU_ASSERT_EQUAL(vl_flow_progress(flow, 0)->completed, 20);
	vl_workload_engine_destroy(bench.engine);
	CU_ASSERT_PTR_EQUAL(bench.endpoints[0]->application.context, client);
	vl_traffic_destroy(client);
	vl_traffic_destroy(server);
	vl_network_destroy(bench.network);
	vl_workload_plan_release(&plan);
}

/* Nothing gets through: the workload fails, and what comes after it never starts. */
static void test_failure(void)
{
	static const uint32_t first[] = {0};
	struct vl_workload_progress progress;
	struct vl_workload_config config;
	struct vl_workload_plan plan;

	bench_set_up(3, 1);
	vl_workload_plan_init(&plan, 3);
	CU_ASSERT_EQUAL_FATAL(vl_workload_plan_incast(&plan, 100000), 0);
	config = bench_workload("incast", &plan);
	config.rounds = 2;
	config.qp.retry_count = 1;
	bench_add(&config);
	config = bench_workload("next", &plan);
	config.after = first;
	config.after_count = 1;
	bench_add(&config);
	bench_run(10 * SECOND);
	CU_ASSERT_TRUE(vl_workload_engine_is_finished(bench.engine));
	vl_network_run_until(bench.network, 20 * SECOND);
	progress = vl_workload_progress(bench.engine, 0);
	CU_ASSERT_EQUAL(progress.status, IBV_WC_RETRY_EXC_ERR);
	CU_ASSERT_EQUAL(progress.failed, 2);
	CU_ASSERT_EQUAL(progress.finished, 0);
	CU_ASSERT_EQUAL(progress.ended, VL_WORKLOAD_NEVER);
	progress = vl_workload_progress(bench.engine, 1);
	CU_ASSERT_EQUAL(progress.started, VL_WORKLOAD_NEVER);
	CU_ASSERT_EQUAL(progress.messages_posted, 0);
	bench_tear_down();
	vl_workload_plan_release(&plan);
}

static void refuse(const struct vl_workload_config *config, int status, const char *text)
{
	CU_ASSERT_EQUAL(vl_workload_engine_add(bench.engine, config), status);
	CU_ASSERT_PTR_NOT_NULL(strstr(vl_workload_engine_error(bench.engine), text));
}

static void test_refused(void)
{
	static const uint32_t alike[] = {0, 1, 1}, far[] = {0, 1, 3}, zero[] = {0};
	struct vl_workload_config good, config;
	struct vl_workload_plan plan;

	bench_set_up(3, 0);
	vl_workload_plan_init(&plan, 3);
	CU_ASSERT_EQUAL_FATAL(vl_workload_plan_ring_all_reduce(&plan, 300, 0), 0);
	good = bench_workload("it", &plan);
	config = good;
	config.endpoints = alike;
	refuse(&config, -EINVAL, "of another rank");
	config.endpoints = far;
	refuse(&config, -EINVAL, "endpoint 3 of 3");
	config = good;
	config.rounds = 0;
	refuse(&config, -EINVAL, "nothing");
	config.rounds = UINT32_MAX;
	refuse(&config, -E2BIG, "too many");
	config = good;
	config.message_size = BENCH_LARGEST + 1;
	refuse(&config, -EINVAL, "messages of");
	config = good;
	config.depth = 0;
	refuse(&config, -EINVAL, "depth");
	config = good;
	config.qps = VL_WORKLOAD_MAX_LANES + 1;
	refuse(&config, -EINVAL, "queue pairs");
	config = good;
	config.after = zero;
	config.after_count = 1;
	refuse(&config, -EINVAL, "not there yet");
	config = good;
	config.is_background = true;
	refuse(&config, -EINVAL, "waits");
	CU_ASSERT_EQUAL(vl_workload_engine_add(bench.engine, &good), 0);
	CU_ASSERT_EQUAL(vl_workload_engine_connect(bench.engine, 0), 0);
	refuse(&good, -EBUSY, "too late");
	CU_ASSERT_EQUAL(vl_workload_engine_connect(bench.engine, 0), -EALREADY);
	bench_tear_down();
	vl_workload_plan_release(&plan);
}

/* Rank 0 falls silent after its first step: what it has begun fails, and neither what is complete
 * nor what has not begun, nor what others do. */
static void test_failure_counts_what_was_begun(void)
{
	const struct vl_step step = {.destination = 2, .bytes = 100000, .kind = VL_STEP_WRITE};
	const uint32_t first[] = {0}, fourth[] = {3};
	struct vl_workload_progress progress;
	struct vl_workload_config config;
	struct vl_workload_plan plan;
	struct vl_step later = step, other = step;

	bench_set_up(4, 0);
	later.delay = SECOND / 100;
	other.source = 1;
	other.destination = 3;
	vl_workload_plan_init(&plan, 4);
	CU_ASSERT_EQUAL_FATAL(vl_workload_plan_add(&plan, &step, NULL, 0), 0);
	for (unsigned int i = 0; i < 3; i++)
		CU_ASSERT_EQUAL_FATAL(vl_workload_plan_add(&plan, &later, first, 1), 0);
	CU_ASSERT_EQUAL_FATAL(vl_workload_plan_add(&plan, &step, fourth, 1), 0);
	CU_ASSERT_EQUAL_FATAL(vl_workload_plan_add(&plan, &other, NULL, 0), 0);
	config = bench_workload("lost", &plan);
	config.qp.retry_count = 1;
	bench_add(&config);
	CU_ASSERT_EQUAL_FATAL(vl_workload_engine_connect(bench.engine, 0), 0);
	vl_network_run_until(bench.network, SECOND / 200);
	CU_ASSERT_EQUAL(vl_workload_progress(bench.engine, 0).finished, 2);
	bench_lose(0);
	vl_network_run_until(bench.network, 10 * SECOND);
	progress = vl_workload_progress(bench.engine, 0);
	CU_ASSERT_EQUAL(progress.status, IBV_WC_RETRY_EXC_ERR);
	CU_ASSERT_EQUAL(progress.finished, 2);
	CU_ASSERT_EQUAL(progress.failed, 3);
	bench_tear_down();
	vl_workload_plan_release(&plan);
}

/* One of two queue pairs fails: what the other one carries is complete, and has not failed. */
static void test_failure_of_one_queue_pair(void)
{
	const struct vl_step step = {
		.destination = 1, .bytes = BENCH_LARGEST, .kind = VL_STEP_WRITE};
	struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};
	struct vl_workload_progress progress;
	struct vl_workload_config config;
	struct vl_workload_plan plan;

	bench_set_up(2, 0);
	vl_workload_plan_init(&plan, 2);
	CU_ASSERT_EQUAL_FATAL(vl_workload_plan_add(&plan, &step, NULL, 0), 0);
	CU_ASSERT_EQUAL_FATAL(vl_workload_plan_add(&plan, &step, NULL, 0), 0);
	config = bench_workload("half", &plan);
	config.message_size = BENCH_LARGEST;
	config.qps = 2;
	bench_add(&config);
	CU_ASSERT_EQUAL_FATAL(vl_workload_engine_connect(bench.engine, 0), 0);
	vl_network_run_until(bench.network, 20000);
	CU_ASSERT_EQUAL(vl_modify_qp(vl_workload_lane(bench.engine, 0, 0).qps[0], &error,
				     IBV_QP_STATE, 20000),
			0);
	vl_network_run_until(bench.network, SECOND);
	progress = vl_workload_progress(bench.engine, 0);
	CU_ASSERT_EQUAL(progress.status, IBV_WC_WR_FLUSH_ERR);
	CU_ASSERT_EQUAL(progress.messages_posted, 2);
	CU_ASSERT_EQUAL(progress.messages_completed, 1);
	CU_ASSERT_EQUAL(progress.finished, 1);
	CU_ASSERT_EQUAL(progress.failed, 1);
	bench_tear_down();
	vl_workload_plan_release(&plan);
}

/* Rank 0 ends the first round by a thread whose time is ahead of that of the others. They begin the
 * next when it has come, and not with all their steps at once waiting for it: there is no room. */
static void test_barrier_ahead(void)
{
	const uint64_t ahead = SECOND / 1000 + 5000, soon = SECOND / 1000 - 5000;
	const struct vl_step computing = {.kind = VL_STEP_COMPUTE, .delay = SECOND / 1000};
	const struct vl_application *application;
	struct vl_workload_progress progress;
	struct vl_workload_config config;
	struct vl_workload_plan plan;

	bench_set_up(16, 0);
	vl_workload_plan_init(&plan, 16);
	CU_ASSERT_EQUAL_FATAL(vl_workload_plan_all_to_all(&plan, 1600, 0), 0);
	CU_ASSERT_EQUAL_FATAL(vl_workload_plan_add(&plan, &computing, NULL, 0), 0);
	config = bench_workload("barrier", &plan);
	config.rounds = 2;
	config.barrier = true;
	bench_add(&config);
	CU_ASSERT_EQUAL_FATAL(vl_workload_engine_connect(bench.engine, 0), 0);
	vl_network_run_until(bench.network, soon);
	application = &bench.endpoints[1]->application;
	CU_ASSERT_EQUAL(application->next_deadline(application->context), VL_WORKLOAD_NEVER);
	application = &bench.endpoints[0]->application;
	application->poll(application->context, bench.endpoints[0], ahead);
	application = &bench.endpoints[1]->application;
	CU_ASSERT_EQUAL(application->next_deadline(application->context), ahead);
	vl_network_run_until(bench.network, soon + 1);
	CU_ASSERT_EQUAL(application->next_deadline(application->context), ahead);
	CU_ASSERT_EQUAL(vl_workload_step_times(bench.engine, 0, 1, 1).ready, VL_WORKLOAD_NEVER);
	vl_network_run_until(bench.network, SECOND);
	CU_ASSERT_TRUE(vl_workload_engine_is_finished(bench.engine));
	CU_ASSERT_EQUAL(vl_workload_step_times(bench.engine, 0, 1, 1).ready, ahead);
	progress = vl_workload_progress(bench.engine, 0);
	CU_ASSERT_EQUAL(progress.finished, progress.steps);
	CU_ASSERT_EQUAL(progress.messages_arrived, 2 * 16 * 15);
	bench_tear_down();
	vl_workload_plan_release(&plan);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"ring_all_reduce", test_ring_all_reduce},
		{"collectives", test_collectives},
		{"lossy", test_lossy},
		{"requests", test_requests},
		{"pipeline_time", test_pipeline_time},
		{"mix", test_mix},
		{"beside_flows", test_beside_flows},
		{"failure", test_failure},
		{"failure_counts_what_was_begun", test_failure_counts_what_was_begun},
		{"refused", test_refused},
		{"failure_of_one_queue_pair", test_failure_of_one_queue_pair},
		{"barrier_ahead", test_barrier_ahead},
	};

	return RUN_SUITE("workload_engine", tests, argc, argv);
}
