/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * 100,000 connections with a queue pair at each end, opened, used and closed by the endpoint's
 * rping, some hundreds at a time: memory grows until every table has been used once, and not any
 * more.
 */

#include "apps/endpoint/instance.h"
#include "dataplane/network.h"
#include "tests/support/hosts.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND      UINT64_C(1000000000)
#define CONNECTIONS 100000u
#define WARM_UP     20000u /* QPNs and keys have gone round by then */
#define AT_A_TIME   500u

static int64_t memory_in_use;

static void *allocate(void *context, size_t size)
{
	void *memory = aligned_alloc(64, (size + 63) & ~(size_t)63);

	(void)context;
	if (!memory)
		return NULL;
	memory_in_use += (int64_t)size;
	return memset(memory, 0, size);
}

static void release(void *context, void *memory, size_t size)
{
	(void)context;
	memory_in_use -= (int64_t)size;
	free(memory);
}

static void test_churn(void)
{
	const struct vl_link_config link = {.rate = UINT64_C(100000000000), .propagation = 1000};
	const struct vl_instance_client client = {
		.service = VL_INSTANCE_RPING,
		.destination = host_gid(2),
		.connections = CONNECTIONS,
		.at_a_time = AT_A_TIME,
		.count = 1,
		.size = 64,
		.validate = true,
	};
	struct vl_network *network = vl_network_create(NULL);
	struct vl_instance *instances[2];
	struct vl_node *nodes[2];
	struct vl_instance_status status = {0};
	int64_t warm = 0, most = 0;
	int error = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(network);
	for (uint16_t i = 0; i < 2; i++) {
		struct vl_endpoint_config endpoint = host_config((uint16_t)(i + 1), 0);
		struct vl_instance_config config = {
			.seed = 1 + i,
			.quiet = true,
			.services = i ? 1u << VL_INSTANCE_RPING : 0,
			.client = i ? NULL : &client,
		};

		endpoint.device.max_qp = 1024;
		endpoint.device.allocator = (struct vl_allocator){allocate, release, NULL};
		nodes[i] = vl_network_add_endpoint(network, &endpoint);
		CU_ASSERT_PTR_NOT_NULL_FATAL(nodes[i]);
		instances[i] = vl_instance_open(vl_node_endpoint(nodes[i]), &config, 0, &error);
		CU_ASSERT_PTR_NOT_NULL_FATAL(instances[i]);
	}
	CU_ASSERT_EQUAL_FATAL(vl_network_connect(network, nodes[0], 0, nodes[1], 0, &link, NULL),
			      0);
	while (!vl_instance_is_over(instances[0]) && vl_network_now(network) < 100 * SECOND) {
		vl_network_run_until(network, vl_network_now(network) + SECOND / 100);
		vl_instance_status(instances[0], &status);
		if (status.client_over < WARM_UP)
			warm = memory_in_use > warm ? memory_in_use : warm;
		else
			most = memory_in_use > most ? memory_in_use : most;
	}
	CU_ASSERT(vl_instance_has_succeeded(instances[0]));
	CU_ASSERT_EQUAL(status.client_done, CONNECTIONS);
	printf("%.1f MB, then %.1f MB ... ", (double)warm / 1e6, (double)most / 1e6);
	/* The same but for how many happen to be open at the time. */
	CU_ASSERT(most <= warm + warm / 50);
	vl_network_run_until(network, vl_network_now(network) + SECOND);
	for (int i = 0; i < 2; i++) {
		vl_instance_status(instances[i], &status);
		CU_ASSERT_EQUAL(status.sessions, 0);
		CU_ASSERT_EQUAL(status.cm_usage.connections, 0);
		vl_instance_close(instances[i], vl_network_now(network));
	}
	vl_network_destroy(network);
	CU_ASSERT_EQUAL(memory_in_use, 0);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"100,000 connections with their queue pairs", test_churn},
	};

	return RUN_SUITE("endpoint_churn", tests, argc, argv);
}
