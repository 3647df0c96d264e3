/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/lab_storm.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

struct storm {
	struct vl_lab_storm storm;
	struct vl_event event; /* virtual time's */
	struct vl_network *network;
	struct vl_node *node;
};

struct vl_lab_storms {
	unsigned int count;
	struct storm storms[];
};

/* ---- What there is ----------------------------------------------------------------------- */

static void add(struct vl_lab_storms *storms, const struct vl_lab_fabric *fabric,
		const struct vl_scenario_storm *config)
{
	for (unsigned int i = 0; i < config->count; i++) {
		unsigned int node = config->first + i * config->stride;

		storms->storms[storms->count++].storm = (struct vl_lab_storm){
			.config = config,
			.endpoint = fabric->nodes[node].endpoint,
			.node = node,
			.priorities = vl_scenario_data_priorities(fabric->scenario),
		};
	}
}

int vl_lab_storms_create(const struct vl_lab_fabric *fabric, struct vl_lab_storms **storms)
{
	const struct vl_scenario *scenario = fabric->scenario;
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
	if (!*storms)
		return -ENOMEM;
	for (unsigned int i = 0; i < scenario->storms.count; i++)
		add(*storms, fabric, &configs[i]);
	return 0;
}

void vl_lab_storms_destroy(struct vl_lab_storms *storms)
{
	free(storms);
}

unsigned int vl_lab_storm_count(const struct vl_lab_storms *storms)
{
	return storms ? storms->count : 0;
}

struct vl_lab_storm *vl_lab_storm(struct vl_lab_storms *storms, unsigned int number)
{
	return &storms->storms[number].storm;
}

/* ---- Its course -------------------------------------------------------------------------- */

static void set_pausing(struct vl_lab_storm *storm, bool pause)
{
	storm->is_pausing = pause;
	for (uint8_t priority = 0; priority < VL_PFC_PRIORITIES; priority++) {
		if (storm->priorities & 1u << priority)
			vl_endpoint_pause_peer(storm->endpoint, priority, pause);
	}
}

uint64_t vl_lab_storm_turn(struct vl_lab_storm *storm, uint64_t now)
{
	const struct vl_scenario_storm *config = storm->config;

	set_pausing(storm, !storm->is_pausing);
	if (storm->is_pausing) {
		storm->began = now;
		return config->duration ? now + config->duration : UINT64_MAX;
	}
	return config->period ? storm->began + config->period : UINT64_MAX;
}

static void turn(struct vl_event *event, uint64_t now)
{
	struct storm *storm = (struct storm *)((char *)event - offsetof(struct storm, event));
	uint64_t next = vl_lab_storm_turn(&storm->storm, now);

	vl_network_wake(storm->network, storm->node);
	if (next != UINT64_MAX)
		vl_executor_schedule(vl_network_executor(storm->network), event, next);
}

int vl_lab_storms_schedule(struct vl_lab_storms *storms, struct vl_network *network,
			   struct vl_node **nodes)
{
	struct vl_executor *executor = vl_network_executor(network);
	unsigned int count = vl_lab_storm_count(storms);

	if (count && vl_executor_reserve(executor, count))
		return -ENOMEM;
	for (unsigned int i = 0; i < count; i++) {
		struct storm *storm = &storms->storms[i];

		storm->network = network;
		storm->node = nodes[storm->storm.node];
		vl_event_init(&storm->event, turn);
		vl_executor_schedule(executor, &storm->event, storm->storm.config->start);
	}
	return 0;
}
