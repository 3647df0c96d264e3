/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/network_audit.h"

#include "dataplane/infiniband/switch_private.h"
#include "dataplane/network_private.h"

#include <inttypes.h>
#include <stdio.h>

struct audit {
	char *text;
	size_t size;
};

static bool holds(struct audit *audit, const struct vl_node *node, uint32_t port, const char *what,
		  uint64_t in, uint64_t out)
{
	if (in == out)
		return true;
	snprintf(audit->text, audit->size, "%s, port %u: %s: %" PRIu64 " in, %" PRIu64 " out",
		 node->name, port, what, in, out);
	return false;
}

/* What was put on the line has arrived, was lost there, or is on its way. */
static bool audit_link(struct audit *audit, const struct vl_network_port *port)
{
	const struct vl_link_counters *counters = &port->link.counters;

	return holds(audit, port->node, port->number, "frames on the link",
		     counters->frames_tx + counters->duplicated,
		     counters->frames_rx + counters->dropped_loss + counters->dropped_chosen +
			     port->link.in_flight);
}

/* What came in has left, was dropped for a reason, or waits in a queue; and the memory in use is
 * that of the frames that wait. */
static bool audit_switch(struct audit *audit, const struct vl_node *node)
{
	const struct vl_switch *sw = node->sw;
	uint64_t in = 0, out = 0, accounts = 0;

	for (uint32_t i = 0; i < node->port_count; i++) {
		const struct vl_switch_port *port = &sw->ports[i];
		const struct vl_switch_port_counters *counters = &port->counters;

		in += counters->rx_frames;
		out += counters->pfc_rx + counters->mac_control_ignored + counters->drop_no_route +
		       counters->drop_malformed + counters->drop_watchdog + counters->tx_frames -
		       counters->pfc_tx;
		for (unsigned int q = 0; q < VL_SWITCH_PRIORITIES; q++) {
			out += vl_switch_queue_drops(&port->queue_counters[q]) +
			       port->queues[q].frames;
			accounts += port->groups[q].used + port->groups[q].headroom;
		}
	}
	return holds(audit, node, 0, "frames through the switch", in, out) &&
	       holds(audit, node, 0, "bytes of packet memory", sw->buffer.used, accounts);
}

/* Where packets come twice, or behind a flow-control packet that went after them, more come than
 * the receiver reckons with: it drops and counts those that it has no room for. */
static bool may_overrun(const struct vl_network_port *port)
{
	const struct vl_impairments *line =
		port->is_connected ? &port->peer->link.config.impairments : NULL;

	return line && (line->duplicate > 0 || line->reorder > 0 || line->jitter || line->decide);
}

/* The same; and nothing came beyond the credits that were granted. */
static bool audit_infiniband_switch(struct audit *audit, const struct vl_node *node)
{
	const struct vl_infiniband_switch *sw = node->infiniband_switch;
	uint64_t in = 0, out = sw->packets;

	for (uint32_t i = 0; i < node->port_count; i++) {
		const struct vl_infiniband_port_counters *counters =
			&vl_infiniband_switch_port(sw, i)->counters;

		in += counters->port_rcv_pkts;
		out += counters->port_xmit_pkts + counters->port_xmit_discards +
		       counters->port_rcv_switch_relay_errors + counters->vl15_dropped;
		if (!may_overrun(&node->ports[i]) &&
		    !holds(audit, node, i, "packets beyond the credits", 0,
			   counters->excessive_buffer_overrun_errors))
			return false;
	}
	return holds(audit, node, 0, "packets through the switch", in, out);
}

bool vl_network_audit(struct vl_network *network, char *text, size_t size)
{
	struct audit audit = {text, size};

	for (const struct vl_node *node = network->first; node; node = node->next) {
		for (uint32_t i = 0; i < node->port_count; i++) {
			if (node->ports[i].is_connected && !audit_link(&audit, &node->ports[i]))
				return false;
		}
		if (node->sw && !audit_switch(&audit, node))
			return false;
		if (node->infiniband_switch && !audit_infiniband_switch(&audit, node))
			return false;
	}
	return true;
}
