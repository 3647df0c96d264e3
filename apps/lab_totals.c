/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/lab_totals.h"

#include <string.h>

static void add_drop(struct vl_results *results, const char *where, const char *reason,
		     uint64_t count)
{
	if (!count)
		return;
	for (unsigned int i = 0; i < results->drop_count; i++) {
		if (!strcmp(results->drops[i].where, where) &&
		    !strcmp(results->drops[i].reason, reason)) {
			results->drops[i].count += count;
			return;
		}
	}
	if (results->drop_count < VL_MAX_DROP_RESULTS)
		results->drops[results->drop_count++] =
			(struct vl_drop_result){where, reason, count};
}

static void add_switch_drop(struct vl_results *results, const char *reason, uint64_t count)
{
	results->totals.switch_drops += count;
	add_drop(results, "switch", reason, count);
}

static void add_link_drop(struct vl_results *results, const char *where, const char *reason,
			  uint64_t count)
{
	if (!strcmp(where, "switch"))
		results->totals.switch_drops += count;
	else
		results->totals.link_losses += count;
	add_drop(results, where, reason, count);
}

static void total_link(struct vl_results *results, const struct vl_link_result *link)
{
	struct vl_totals *totals = &results->totals;

	totals->ecn_marked += link->marked;
	totals->pfc_pause_tx += link->pauses;
	totals->pfc_resume_tx += link->resumes;
	totals->pfc_paused_ns += link->pause_ns;
	if (link->longest_pause_ns > results->most_paused_ns) {
		results->most_paused_ns = link->longest_pause_ns;
		results->most_paused_node = results->scenario->nodes[link->node].name;
	}
	totals->credit_stall_ns += link->credit_stall_ns;
	if (link->longest_credit_stall_ns > results->most_stalled_ns) {
		results->most_stalled_ns = link->longest_credit_stall_ns;
		results->most_stalled_node = results->scenario->nodes[link->node].name;
	}
#define ADD_LINK_DROP(name, where, meaning) add_link_drop(results, where, #name, link->drops.name);
	VL_LINK_DROPS(ADD_LINK_DROP)
#undef ADD_LINK_DROP
}

/* What does not belong to a port that it was to leave by. */
static void total_infiniband_port(struct vl_results *results, const struct vl_infiniband_port *port,
				  bool is_switch)
{
	const struct vl_infiniband_port_counters *counters = &port->counters;

	if (is_switch) {
		add_switch_drop(results, "no_route", counters->port_rcv_switch_relay_errors);
		add_switch_drop(results, "malformed", counters->port_rcv_errors);
		add_switch_drop(results, "overrun", counters->excessive_buffer_overrun_errors);
		return;
	}
	add_drop(results, "endpoint", "malformed", counters->port_rcv_errors);
	add_drop(results, "endpoint", "overrun", counters->excessive_buffer_overrun_errors);
	results->totals.endpoint_drops +=
		counters->port_rcv_errors + counters->excessive_buffer_overrun_errors;
}

static void total_infiniband(struct vl_results *results, const struct vl_lab_node *node,
			     unsigned int ports)
{
	if (node->adapter)
		total_infiniband_port(results, vl_channel_adapter_port(node->adapter), false);
	for (unsigned int i = 0; node->infiniband_switch && i < ports; i++)
		total_infiniband_port(results,
				      vl_infiniband_switch_port(node->infiniband_switch, i), true);
}

/* What a switch refuses before it knows where it was to go. */
static void total_switch(struct vl_results *results, const struct vl_switch *sw)
{
	for (uint32_t i = 0; i < sw->config.ports; i++) {
		add_switch_drop(results, "no_route", sw->ports[i].counters.drop_no_route);
		add_switch_drop(results, "malformed", sw->ports[i].counters.drop_malformed);
	}
}

static void total_endpoint(struct vl_results *results, const struct vl_endpoint *endpoint)
{
	static const char *const reasons[] = {
#define DROP_NAME(name, meaning) #name,
		VL_DROPS(DROP_NAME)
#undef DROP_NAME
	};
	const struct vl_counters *counters = vl_device_counters(endpoint->device);
	const uint64_t *drops = vl_device_drops(endpoint->device);
	struct vl_totals *totals = &results->totals;

	totals->ecn_ce_rx += counters->ecn_ce_rx;
	totals->fecn_rx += counters->fecn_rx;
	totals->becn_tx += counters->becn_tx;
	totals->becn_rx += counters->becn_rx;
	totals->cnp_tx += counters->cnp_tx;
	totals->cnp_rx += counters->cnp_rx;
	totals->data_frames_tx += counters->data_frames_tx;
	totals->data_frames_retransmitted += counters->data_frames_retransmitted;
	totals->frame_sequence_error += counters->frame_sequence_error;
	totals->duplicate_request += counters->duplicate_request;
	totals->nak_tx += counters->nak_tx;
	totals->rnr_nak_tx += counters->rnr_nak_tx;
	totals->local_ack_timeout_err += counters->local_ack_timeout_err;
	totals->message_tx += counters->message_tx;
	totals->message_fail += counters->message_fail;
	for (unsigned int i = 0; i < VL_DROP_COUNT; i++) {
		totals->endpoint_drops += drops[i];
		add_drop(results, "endpoint", reasons[i], drops[i]);
	}
}

void vl_lab_total(const struct vl_lab_fabric *fabric, struct vl_results *results)
{
	const struct vl_scenario *scenario = fabric->scenario;

	for (unsigned int i = 0; i < results->link_count; i++)
		total_link(results, &results->links[i]);
	for (unsigned int i = 0; i < scenario->node_count; i++) {
		if (fabric->nodes[i].sw)
			total_switch(results, fabric->nodes[i].sw);
		if (fabric->nodes[i].endpoint)
			total_endpoint(results, fabric->nodes[i].endpoint);
		total_infiniband(results, &fabric->nodes[i], scenario->nodes[i].ports);
		for (unsigned int port = 0; port < scenario->nodes[i].ports; port++)
			results->totals.link_corrupted +=
				fabric->link(fabric, i, port)->counters.corrupted;
	}
}
