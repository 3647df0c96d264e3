/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/lab_port.h"

#include <string.h>

static uint64_t paused_time(const struct vl_pfc_receiver *pause, unsigned int priority,
			    uint64_t now)
{
	uint64_t paused = pause->paused_time[priority], end;

	if (!(pause->paused >> priority & 1))
		return paused;
	/* A pause may be over that nothing has asked about since. */
	end = pause->until[priority] < now ? pause->until[priority] : now;
	return end > pause->paused_since[priority] ? paused + end - pause->paused_since[priority]
						   : paused;
}

static void read_pauses(struct vl_lab_port_reading *reading, const struct vl_pfc_receiver *pause,
			uint64_t now)
{
	for (unsigned int priority = 0; priority < VL_PFC_PRIORITIES; priority++) {
		uint64_t paused = paused_time(pause, priority, now);

		reading->pause_ns += paused;
		if (paused > reading->longest_pause_ns)
			reading->longest_pause_ns = paused;
	}
}

static void count_pauses(struct vl_lab_port_reading *reading, const struct vl_pfc_sender *pfc)
{
	for (unsigned int priority = 0; priority < VL_PFC_PRIORITIES; priority++) {
		reading->pauses += pfc->frames[priority];
		reading->resumes += pfc->resumes[priority];
	}
}

static void read_line(const struct vl_fabric_link *link, uint64_t now,
		      struct vl_lab_port_reading *reading)
{
	const struct vl_link_counters *counters = &link->counters;
	uint64_t overhead = link->config.type == VL_LINK_INFINIBAND ? VL_INFINIBAND_OVERHEAD
								    : VL_ETHERNET_OVERHEAD;

	reading->frames = counters->frames_tx;
	reading->bytes = counters->bytes_tx;
	reading->line_bits = 8 * (counters->bytes_tx + overhead * counters->frames_tx);
	/* What is still to be clocked out of the last frame. */
	if (link->busy_until > now)
		reading->line_bits -= (uint64_t)((double)(link->busy_until - now) *
						 (double)link->config.rate / 1e9);
	reading->marked = counters->marked;
	reading->drops.loss = counters->dropped_loss;
	reading->drops.mtu = counters->dropped_mtu;
}

static void read_switch_port(const struct vl_switch_port *port, uint64_t now,
			     struct vl_lab_port_reading *reading)
{
	const struct vl_switch_queue_counters *counters;
	const struct vl_frame_queue *queue;

	read_pauses(reading, &port->pause, now);
	count_pauses(reading, &port->pfc);
	reading->drops.watchdog = port->counters.drop_watchdog;
	for (unsigned int i = 0; i < VL_SWITCH_PRIORITIES; i++) {
		counters = &port->queue_counters[i];
		queue = &port->queues[i];
		reading->marked += counters->ecn_marked;
		reading->drops.red += counters->drop_red;
		reading->drops.queue_full += counters->drop_queue_full;
		reading->drops.group_full += counters->drop_group_full;
		reading->drops.buffer_full += counters->drop_buffer_full;
		reading->drops.headroom += counters->drop_headroom;
		reading->packets += counters->tx_frames;
		reading->is_held = reading->is_held || (queue->bytes && port->paused >> i & 1);
		reading->drops.watchdog += counters->drop_watchdog;
		reading->queue_area += vl_frame_queue_area(queue, now);
		reading->queue_bytes += queue->bytes;
		reading->queue_watermark += queue->watermark;
	}
}

static void read_infiniband_port(const struct vl_infiniband_port *port, uint64_t now,
				 struct vl_lab_port_reading *reading)
{
	const struct vl_infiniband_lane_counters *counters;
	uint64_t stalled;

	reading->packets = port->counters.port_xmit_pkts;
	reading->is_held = port->stalled;
	for (uint8_t lane = 0; lane < VL_INFINIBAND_DATA_LANES; lane++) {
		counters = &port->lane_counters[lane];
		stalled = vl_infiniband_port_credit_stall(port, lane, now);
		reading->credit_stall_ns += stalled;
		if (stalled > reading->longest_credit_stall_ns)
			reading->longest_credit_stall_ns = stalled;
		reading->marked += counters->xmit_fecn;
		reading->drops.head_of_queue += counters->discards_head_of_queue;
		reading->drops.lifetime += counters->discards_lifetime;
	}
}

static void read_infiniband_queues(const struct vl_infiniband_switch *sw, unsigned int port,
				   uint64_t now, struct vl_lab_port_reading *reading)
{
	struct vl_infiniband_queue queue;

	for (uint8_t lane = 0; lane < vl_infiniband_switch_virtual_lanes(sw); lane++) {
		queue = vl_infiniband_switch_queue(sw, port, lane, now);
		reading->queue_area += queue.area;
		reading->queue_bytes += queue.bytes;
		reading->queue_watermark += queue.watermark;
	}
}

void vl_lab_port_read(const struct vl_lab_fabric *fabric, unsigned int node, unsigned int port,
		      uint64_t now, struct vl_lab_port_reading *reading)
{
	const struct vl_lab_node *at = &fabric->nodes[node];

	*reading = (struct vl_lab_port_reading){0};
	read_line(fabric->link(fabric, node, port), now, reading);
	if (at->sw) {
		read_switch_port(&at->sw->ports[port], now, reading);
	} else if (at->infiniband_switch) {
		read_infiniband_port(vl_infiniband_switch_port(at->infiniband_switch, port), now,
				     reading);
		read_infiniband_queues(at->infiniband_switch, port, now, reading);
	} else if (at->adapter) {
		read_infiniband_port(vl_channel_adapter_port(at->adapter), now, reading);
	} else {
		read_pauses(reading, &at->endpoint->pause, now);
		count_pauses(reading, &at->endpoint->pfc);
	}
}

uint64_t vl_lab_port_queue_bytes(const struct vl_lab_fabric *fabric, unsigned int node,
				 unsigned int port, uint64_t now)
{
	const struct vl_lab_node *at = &fabric->nodes[node];
	struct vl_lab_port_reading reading = {0};
	uint64_t bytes = 0;

	for (unsigned int i = 0; at->sw && i < VL_SWITCH_PRIORITIES; i++)
		bytes += at->sw->ports[port].queues[i].bytes;
	if (!at->infiniband_switch)
		return bytes;
	read_infiniband_queues(at->infiniband_switch, port, now, &reading);
	return reading.queue_bytes;
}

void vl_lab_port_watermarks(const struct vl_lab_fabric *fabric, unsigned int node,
			    unsigned int port, uint64_t watermarks[VL_LAB_QUEUES])
{
	const struct vl_lab_node *at = &fabric->nodes[node];
	const struct vl_infiniband_switch *sw = at->infiniband_switch;

	memset(watermarks, 0, VL_LAB_QUEUES * sizeof(*watermarks));
	for (unsigned int i = 0; at->sw && i < VL_SWITCH_PRIORITIES; i++)
		watermarks[i] = at->sw->ports[port].queues[i].watermark;
	for (uint8_t lane = 0; sw && lane < vl_infiniband_switch_virtual_lanes(sw); lane++)
		watermarks[lane] = vl_infiniband_switch_queue(sw, port, lane, 0).watermark;
}

void vl_lab_port_reset_watermarks(const struct vl_lab_fabric *fabric, unsigned int node,
				  unsigned int port)
{
	const struct vl_lab_node *at = &fabric->nodes[node];
	struct vl_infiniband_switch *sw = at->infiniband_switch;

	for (unsigned int i = 0; at->sw && i < VL_SWITCH_PRIORITIES; i++)
		vl_frame_queue_reset_watermark(&at->sw->ports[port].queues[i]);
	for (uint8_t lane = 0; sw && lane < vl_infiniband_switch_virtual_lanes(sw); lane++)
		vl_infiniband_switch_reset_watermark(sw, port, lane);
}

uint64_t vl_link_drop_count(const struct vl_link_drops *drops)
{
	uint64_t count = 0;

#define ADD_DROPS(name, where, meaning) count += drops->name;
	VL_LINK_DROPS(ADD_DROPS)
#undef ADD_DROPS
	return count;
}
