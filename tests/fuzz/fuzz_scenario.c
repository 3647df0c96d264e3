/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Any bytes are a scenario or a list of problems. What follows a zero byte is an override. A
 * scenario that was taken holds what its checks promise.
 */

#include "apps/scenario/scenario.h"
#include "apps/scenario/switch_config.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
	if (!condition)
		abort();
}

static void check(const struct vl_scenario *scenario)
{
	struct vl_switch_config *config;
	unsigned int node, port, qps = 0;
	char error[256];

	require(scenario->node_count >= 2);
	require(scenario->pair_count >= 1 || scenario->workloads.count >= 1);
	require(scenario->warm_up < scenario->duration);
	require(scenario->bottleneck.node < scenario->node_count);
	require(scenario->bottleneck.port < scenario->nodes[scenario->bottleneck.node].ports);
	for (unsigned int i = 0; i < scenario->pair_count; i++) {
		require(scenario->pairs[i].from < scenario->endpoint_count);
		require(scenario->pairs[i].to < scenario->endpoint_count);
		require(scenario->pairs[i].from != scenario->pairs[i].to);
		require(scenario->pairs[i].start < scenario->duration);
		qps += (unsigned int)scenario->pairs[i].flow->qps;
	}
	require(qps == scenario->qp_count && qps <= VL_SCENARIO_MAX_QPS);
	for (unsigned int i = 0; i < scenario->node_count; i++) {
		require(vl_scenario_find_node(scenario, scenario->nodes[i].name) == i);
		if (!scenario->nodes[i].sw)
			continue;
		config = vl_scenario_switch_config(scenario, scenario->nodes[i].sw);
		require(config &&
			(vl_scenario_is_infiniband(scenario) || !vl_switch_config_error(config)));
		free(config);
	}
	if (scenario->outputs.pcap_at)
		require(!vl_scenario_find_port(scenario, scenario->outputs.pcap_at, &node, &port,
					       error, sizeof(error)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct vl_problems problems;
	const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
	struct vl_texts overrides = {0};
	struct vl_scenario *scenario;
	char override[128];
	FILE *out;

	if (zero) {
		snprintf(override, sizeof(override), "%.*s", (int)(data + size - zero - 1),
			 (const char *)zero + 1);
		overrides.values[overrides.count++] = override;
		size = (size_t)(zero - data);
	}
	memset(&problems, 0, sizeof(problems));
	problems.file = "fuzz";
	scenario = vl_scenario_parse((const char *)data, size, &overrides, &problems);
	require((scenario != NULL) == (problems.count == 0));
	if (scenario)
		check(scenario);
	out = fopen("/dev/null", "w");
	if (out) {
		vl_problems_print(&problems, out);
		fclose(out);
	}
	vl_scenario_free(scenario);
	return 0;
}
