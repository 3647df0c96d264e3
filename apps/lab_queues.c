/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/lab_queues.h"

#include <stdlib.h>

static unsigned int queues_of(const struct vl_scenario *scenario)
{
	return vl_scenario_is_infiniband(scenario) ? scenario->infiniband.lanes.data_lanes
						   : VL_SWITCH_PRIORITIES;
}

static void take_ethernet_queue(const struct vl_switch_port *port, unsigned int queue,
				struct vl_queue_result *result)
{
	const struct vl_switch_queue_counters *counters = &port->queue_counters[queue];

	result->frames = counters->tx_frames;
	result->bytes = counters->tx_bytes;
	result->marked = counters->ecn_marked;
	result->watermark = port->queues[queue].watermark;
	result->drops.red = counters->drop_red;
	result->drops.queue_full = counters->drop_queue_full;
	result->drops.group_full = counters->drop_group_full;
	result->drops.buffer_full = counters->drop_buffer_full;
	result->drops.headroom = counters->drop_headroom;
	result->drops.watchdog = counters->drop_watchdog;
}

static void take_lane(const struct vl_infiniband_switch *sw, unsigned int number, uint8_t lane,
		      uint64_t now, struct vl_queue_result *result)
{
	const struct vl_infiniband_port *port = vl_infiniband_switch_port(sw, number);
	const struct vl_infiniband_lane_counters *counters = &port->lane_counters[lane];

	result->frames = counters->xmit_pkts;
	result->bytes = 4 * counters->xmit_data;
	result->marked = counters->xmit_fecn;
	result->watermark = vl_infiniband_switch_queue(sw, number, lane, now).watermark;
	result->credit_stall_ns = vl_infiniband_port_credit_stall(port, lane, now);
	result->drops.head_of_queue = counters->discards_head_of_queue;
	result->drops.lifetime = counters->discards_lifetime;
}

static void take_queues(const struct vl_lab_node *node, unsigned int port, unsigned int link,
			const uint64_t *watermarks, struct vl_results *results)
{
	struct vl_queue_result *result;

	for (unsigned int i = 0; i < queues_of(results->scenario); i++) {
		result = &results->queues[results->queue_count];
		*result = (struct vl_queue_result){.link = link, .queue = i};
		if (node->sw)
			take_ethernet_queue(&node->sw->ports[port], i, result);
		else
			take_lane(node->infiniband_switch, port, (uint8_t)i, results->end, result);
		if (watermarks)
			result->watermark = watermarks[i];
		results->queue_count +=
			result->frames || result->watermark || vl_link_drop_count(&result->drops);
	}
}

static void take_groups(const struct vl_switch_port *port, unsigned int link,
			struct vl_results *results)
{
	const struct vl_switch_group_counters *counters;

	for (unsigned int i = 0; i < VL_SWITCH_PRIORITIES; i++) {
		counters = &port->group_counters[i];
		if (!counters->rx_frames && !counters->drop_frames)
			continue;
		results->groups[results->group_count++] = (struct vl_group_result){
			.link = link,
			.group = i,
			.frames = counters->rx_frames,
			.bytes = counters->rx_bytes,
			.drops = counters->drop_frames,
			.xoff = counters->xoff,
			.xon = counters->xon,
			.watermark = port->groups[i].watermark,
			.headroom_watermark = port->groups[i].headroom_watermark,
		};
	}
}

static void take_switch(const struct vl_lab_node *node, unsigned int number,
			struct vl_results *results)
{
	struct vl_switch_result *result = &results->switches[results->switch_count++];

	*result = (struct vl_switch_result){.node = number};
	if (!node->sw)
		return;
	result->buffer = node->sw->config.buffer;
	result->watermark = node->sw->buffer.watermark;
}

bool vl_lab_allocate_queues(const struct vl_scenario *scenario, struct vl_results *results)
{
	unsigned int first = scenario->endpoint_count, switches = scenario->node_count - first;
	size_t ports = 0;

	for (unsigned int i = first; i < scenario->node_count; i++)
		ports += scenario->nodes[i].ports;
	/* One more of each: a row is written before it is known whether it stays. */
	results->queues = calloc(ports * queues_of(scenario) + 1, sizeof(*results->queues));
	results->groups = calloc(ports * VL_SWITCH_PRIORITIES + 1, sizeof(*results->groups));
	results->switches = calloc(switches + 1, sizeof(*results->switches));
	return results->queues && results->groups && results->switches;
}

void vl_lab_read_queues(const struct vl_lab_fabric *fabric, struct vl_results *results,
			unsigned int watched, const uint64_t watermarks[VL_LAB_QUEUES])
{
	const struct vl_scenario *scenario = fabric->scenario;
	unsigned int link;

	for (unsigned int i = scenario->endpoint_count; i < scenario->node_count; i++) {
		take_switch(&fabric->nodes[i], i, results);
		for (unsigned int port = 0; port < scenario->nodes[i].ports; port++) {
			link = scenario->nodes[i].first_port + port;
			take_queues(&fabric->nodes[i], port, link,
				    link == watched ? watermarks : NULL, results);
			if (fabric->nodes[i].sw)
				take_groups(&fabric->nodes[i].sw->ports[port], link, results);
		}
	}
}
