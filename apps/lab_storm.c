/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/lab_storm.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

/* One endpoint's. */
struct storm {
	struct vl_event event;
	const struct vl_scenario_storm *config;
	struct vl_network *network;
	struct vl_node *node;
	uint8_t priorities;
	bool is_pausing;
	uint64_t began; /* ns; the pause */
};

struct vl_lab_storms {
	unsigned int count;
	struct storm storms[];
};

static void set_pausing(struct storm *storm, bool pause)
{
	storm->is_pausing = pause;
	for (uint8_t priority = 0; priority < VL_PFC_PRIORITIES; priority++) {
		if (storm->priorities & 1u << priority)
			vl_endpoint_pause_peer(vl_node_endpoint(storm->node), priority, pause);
	}
	vl_network_wake(storm->network, storm->node);
}

/* A pause begins, or ends. */
static void turn(struct vl_event *event, uint64_t now)
{
	struct storm *storm = (struct storm *)((char *)event - offsetof(struct storm, event));
	struct vl_executor *executor = vl_network_executor(storm->network);
	const struct vl_scenario_storm *config = storm->config;

	set_pausing(storm, !storm->is_pausing);
	if (storm->is_pausing) {
		storm->began = now;
		if (config->duration)
			vl_executor_schedule(executor, event, now + config->duration);
	} else if (config->period) {
		vl_executor_schedule(executor, event, storm->began + config->period);
	}
}

static void add(struct vl_lab_storms *storms, const struct vl_scenario *scenario,
		const struct vl_scenario_storm *config, struct vl_network *network,
		struct vl_node **nodes)
{
	for (unsigned int i = 0; i < config->count; i++) {
		struct storm *storm = &storms->storms[storms->count++];

		*storm = (struct storm){
			.config = config,
			.network = network,
			.node = nodes[config->first + i * config->stride],
			.priorities = vl_scenario_data_priorities(scenario),
		};
		vl_event_init(&storm->event, turn);
		vl_executor_schedule(vl_network_executor(network), &storm->event, config->start);
	}
}

int vl_lab_storms_create(const struct vl_scenario *scenario, struct vl_network *network,
			 struct vl_node **nodes, struct vl_lab_storms **storms)
{
	const struct vl_scenario_storm *configs = scenario->storms.elements;
	unsigned int count = 0;

	*storms = NULL;
	if (vl_scenario_is_infiniband(scenario))
		return 0;
	for (unsigned int i = 0; i < scenario->storms.count; i++)
		count += configs[i].count;
	if (!count)
		return 0;
	*storms = calloc(1, sizeof(**storms) + count * sizeof(struct storm));
	if (!*storms || vl_executor_reserve(vl_network_executor(network), count))
		return -ENOMEM;
	for (unsigned int i = 0; i < scenario->storms.count; i++)
		add(*storms, scenario, &configs[i], network, nodes);
	return 0;
}

void vl_lab_storms_destroy(struct vl_lab_storms *storms)
{
	free(storms);
}
