/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/lab_infiniband.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/lab_fabric.h"

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

struct vl_subnet *vl_lab_make_subnet(const struct vl_scenario *scenario, char *error,
				     size_t error_size)
{
	struct vl_subnet_node *nodes = calloc(scenario->node_count, sizeof(*nodes));
	struct vl_subnet_cable *cables = calloc(scenario->cable_count + 1, sizeof(*cables));
	const struct vl_subnet_config config = {
		.nodes = nodes,
		.node_count = scenario->node_count,
		.cables = cables,
		.cable_count = scenario->cable_count,
		.routing = (enum vl_subnet_routing)scenario->infiniband.routing,
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

int vl_lab_program(const struct vl_scenario *scenario, const struct vl_subnet *subnet,
		   unsigned int node, struct vl_channel_adapter *adapter,
		   struct vl_infiniband_switch *sw, char *error, size_t error_size)
{
	int status = sw ? vl_subnet_program_switch(subnet, node, sw)
			: vl_subnet_program_channel_adapter(subnet, node, adapter);

	if (status)
		snprintf(error, error_size, "%s: %s", scenario->nodes[node].name,
			 strerror(-status));
	return status;
}
