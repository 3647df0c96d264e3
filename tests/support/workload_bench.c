/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "tests/support/workload_bench.h"

#include <CUnit/CUnit.h>

#define SECOND UINT64_C(1000000000)

struct workload_bench bench;

static struct vl_node *nodes[BENCH_MAX_HOSTS];
static const uint32_t in_order[BENCH_MAX_HOSTS] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
						   11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
						   22, 23, 24, 25, 26, 27, 28, 29, 30, 31};

static void wake(void *context, uint32_t endpoint)
{
	(void)context;
	vl_network_wake(bench.network, nodes[endpoint]);
}

void bench_set_up(uint32_t hosts, double loss)
{
	struct vl_switch_config sw;
	struct vl_workload_engine_config config = {.endpoints = bench.endpoints,
						   .endpoint_count = hosts,
						   .largest_message = BENCH_LARGEST,
						   .wake = wake};
	struct vl_node *center;

	vl_switch_config_defaults(&sw, hosts, 64u << 20);
	bench.network = vl_network_create(NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(bench.network);
	center = vl_network_add_switch(bench.network, "switch", &sw);
	CU_ASSERT_PTR_NOT_NULL_FATAL(center);
	for (uint32_t i = 0; i < hosts; i++) {
		struct vl_endpoint_config host = host_config((uint16_t)(i + 1), BENCH_RATE);
		const struct vl_link_config link = {.rate = BENCH_RATE,
						    .propagation = BENCH_PROPAGATION,
						    .seed = i + 1,
						    .impairments = {.loss = loss}};

		nodes[i] = vl_network_add_endpoint(bench.network, &host);
		CU_ASSERT_PTR_NOT_NULL_FATAL(nodes[i]);
		bench.endpoints[i] = vl_node_endpoint(nodes[i]);
		CU_ASSERT_EQUAL_FATAL(
			vl_network_connect(bench.network, nodes[i], 0, center, i, &link, NULL), 0);
	}
	CU_ASSERT_EQUAL_FATAL(vl_network_route(bench.network), 0);
	bench.engine = vl_workload_engine_create(&config, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(bench.engine);
}

void bench_tear_down(void)
{
	vl_workload_engine_destroy(bench.engine);
	vl_network_destroy(bench.network);
}

void bench_lose(uint32_t host)
{
	const struct vl_impairments all = {.loss = 1};

	CU_ASSERT_EQUAL_FATAL(vl_fabric_link_impair(vl_network_link(nodes[host], 0), &all), 0);
}

struct vl_workload_config bench_workload(const char *name, const struct vl_workload_plan *plan)
{
	return (struct vl_workload_config){
		.name = name,
		.plan = plan,
		.endpoints = in_order,
		.rounds = 1,
		.message_size = 65536,
		.depth = 8,
		.qps = 1,
		.qp = {.transport = IBV_QPT_RC,
		       .path_mtu = IBV_MTU_4096,
		       .traffic_class = HOST_DATA_CLASS,
		       .priority = HOST_DATA_PRIORITY,
		       .timeout = 8,
		       .retry_count = 7,
		       .rnr_retry = 7,
		       .min_rnr_timer = 12},
		.seed = 5,
	};
}

void bench_add(const struct vl_workload_config *config)
{
	int status = vl_workload_engine_add(bench.engine, config);

	CU_ASSERT_EQUAL_FATAL(status, 0);
}

void bench_run(uint64_t until)
{
	CU_ASSERT_EQUAL_FATAL(vl_workload_engine_connect(bench.engine, 0), 0);
	for (uint64_t now = SECOND / 1000;
	     now <= until && !vl_workload_engine_is_finished(bench.engine); now += SECOND / 1000)
		vl_network_run_until(bench.network, now);
}

void bench_check_steps(uint32_t number)
{
	const struct vl_workload_config *config = vl_workload_configuration(bench.engine, number);
	const struct vl_workload_plan *plan = config->plan;
	struct vl_workload_progress progress = vl_workload_progress(bench.engine, number);
	uint64_t messages = 0;

	CU_ASSERT_EQUAL(progress.steps, (uint64_t)plan->step_count * config->rounds);
	CU_ASSERT_EQUAL(progress.finished, progress.steps);
	CU_ASSERT_EQUAL(progress.failed, 0);
	CU_ASSERT_EQUAL(progress.unexpected, 0);
	CU_ASSERT_EQUAL(progress.bytes_arrived, vl_workload_plan_bytes(plan) * config->rounds);
	CU_ASSERT_EQUAL(progress.status, IBV_WC_SUCCESS);
	for (uint32_t n = 0; n < plan->step_count * config->rounds; n++) {
		uint32_t round = n / plan->step_count, i = n % plan->step_count;
		const struct vl_step *step = &plan->steps[i];
		struct vl_step_times times = vl_workload_step_times(bench.engine, number, round, i);
		uint64_t expected = (step->bytes + config->message_size - 1) / config->message_size;

		messages += expected;
		CU_ASSERT_EQUAL(vl_workload_step_messages(bench.engine, number, i),
				(step->bytes ? expected : 0) * config->rounds);
		CU_ASSERT_TRUE(times.ready != VL_WORKLOAD_NEVER);
		CU_ASSERT_TRUE(times.finished != VL_WORKLOAD_NEVER);
		CU_ASSERT_TRUE(times.finished > times.ready || !step->bytes);
		CU_ASSERT_TRUE(times.ready >= progress.started + step->earliest);
		for (uint32_t j = 0; j < step->dependency_count; j++) {
			uint32_t on = plan->dependencies[step->first_dependency + j];
			uint64_t delay = step->kind == VL_STEP_COMPUTE ? 0 : step->delay;

			CU_ASSERT_TRUE(
				times.ready >=
				vl_workload_step_times(bench.engine, number, round, on).finished +
					delay);
		}
	}
	CU_ASSERT_EQUAL(progress.messages_posted, messages);
	CU_ASSERT_EQUAL(progress.messages_completed, messages);
	CU_ASSERT_EQUAL(progress.messages_arrived, messages);
}
