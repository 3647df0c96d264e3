/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/lab_infiniband.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void port_config(const struct vl_scenario_infiniband *infiniband,
			struct vl_infiniband_port_config *config)
{
	config->virtual_lanes = infiniband->lanes.data_lanes;
	config->buffer = (uint32_t)infiniband->buffer;
	config->arbitration = infiniband->lanes.arbitration;
}

void vl_lab_channel_adapter_config(const struct vl_scenario *scenario, unsigned int node,
				   struct vl_channel_adapter_config *config)
{
	memset(config, 0, sizeof(*config));
	vl_lab_endpoint_config(scenario, node, &config->endpoint);
	port_config(&scenario->infiniband, &config->port);
	config->drain_rate = scenario->infiniband.drain_rate;
	memcpy(config->sl_to_vl, scenario->infiniband.lanes.sl_to_vl, sizeof(config->sl_to_vl));
}

void vl_lab_infiniband_switch_config(const struct vl_scenario *scenario, unsigned int node,
				     struct vl_infiniband_switch_config *config)
{
	const struct vl_scenario_infiniband_cc *cc = &scenario->infiniband.cc;

	memset(config, 0, sizeof(*config));
	config->ports = scenario->nodes[node].ports;
	port_config(&scenario->infiniband, &config->port);
	config->packet_lifetime = scenario->infiniband.lifetime;
	config->head_of_queue_lifetime = scenario->infiniband.head_of_queue_lifetime;
	config->seed = scenario->seed + node;
	if (scenario->fabric == VL_SCENARIO_INFINIBAND_CONGESTION_CONTROL)
		config->congestion = (struct vl_switch_congestion_setting){
			.threshold = (uint8_t)cc->threshold,
			.marking_rate = (uint16_t)cc->marking_rate,
			.packet_size = (uint8_t)(cc->packet_size / 64),
			.victims_mark = cc->victims_mark,
		};
}

static void describe(const struct vl_scenario *scenario, struct vl_subnet_node *nodes,
		     struct vl_subnet_cable *cables)
{
	for (unsigned int i = 0; i < scenario->node_count; i++)
		nodes[i] = (struct vl_subnet_node){
			.name = scenario->nodes[i].name,
			.is_switch = scenario->nodes[i].sw != NULL,
			.ports = scenario->nodes[i].ports,
		};
	for (unsigned int i = 0; i < scenario->cable_count; i++) {
		const struct vl_scenario_cable *cable = &scenario->cables[i];

		cables[i] =
			(struct vl_subnet_cable){cable->a, cable->port_a, cable->b, cable->port_b};
	}
}

struct vl_subnet *vl_lab_make_subnet(const struct vl_scenario *scenario,
				     enum vl_subnet_routing routing, char *error, size_t error_size)
{
	struct vl_subnet_node *nodes = calloc(scenario->node_count, sizeof(*nodes));
	struct vl_subnet_cable *cables = calloc(scenario->cable_count + 1, sizeof(*cables));
	const struct vl_subnet_config config = {
		.nodes = nodes,
		.node_count = scenario->node_count,
		.cables = cables,
		.cable_count = scenario->cable_count,
		.routing = routing,
		.roots = scenario->infiniband.root_nodes,
		.root_count = scenario->infiniband.root_count,
		.lanes = &scenario->infiniband.lanes,
	};
	char message[VL_SUBNET_MESSAGE_SIZE] = "out of memory";
	struct vl_subnet *subnet = NULL;

	if (nodes && cables) {
		describe(scenario, nodes, cables);
		subnet = vl_subnet_create(&config, message);
	}
	if (!subnet)
		snprintf(error, error_size, "%s", message);
	free(nodes);
	free(cables);
	return subnet;
}

static int program(const struct vl_lab_fabric *fabric, const struct vl_subnet *subnet, char *error,
		   size_t error_size)
{
	for (unsigned int i = 0; i < fabric->scenario->node_count; i++) {
		const struct vl_lab_node *node = &fabric->nodes[i];
		int status = node->infiniband_switch
				     ? vl_subnet_program_switch(subnet, i, node->infiniband_switch)
				     : vl_subnet_program_channel_adapter(subnet, i, node->adapter);

		if (!status)
			continue;
		snprintf(error, error_size, "%s: %s", fabric->scenario->nodes[i].name,
			 strerror(-status));
		return status;
	}
	return 0;
}

int vl_lab_manage_subnet(const struct vl_lab_fabric *fabric, struct vl_results *results,
			 char *error, size_t error_size)
{
	struct vl_subnet *subnet = vl_lab_make_subnet(
		fabric->scenario, (enum vl_subnet_routing)fabric->scenario->infiniband.routing,
		error, error_size);
	int status = subnet ? program(fabric, subnet, error, error_size) : -EINVAL;

	if (!status)
		vl_subnet_describe_deadlock(subnet, results->possible_deadlock,
					    sizeof(results->possible_deadlock));
	vl_subnet_destroy(subnet);
	return status;
}
