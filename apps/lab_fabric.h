/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * What a scenario becomes when it is built, on either clock: endpoints with their traffic,
 * switches, links, flows. lab_virtual.c and lab_live.c make the nodes; everything else is the
 * same for both.
 */
#ifndef VERBLINE_APPS_LAB_FABRIC_H
#define VERBLINE_APPS_LAB_FABRIC_H

#include "apps/scenario/scenario.h"
#include "dataplane/fabric/link.h"
#include "dataplane/flow.h"
#include "dataplane/infiniband/channel_adapter.h"
#include "dataplane/infiniband/switch.h"

#include <stddef.h>
#include <stdint.h>

/* Live. */
#define VL_LAB_MAX_WORKERS 2u

/* What a node is, NULL: it is not; owned by the network. A channel adapter is an endpoint too. */
struct vl_lab_node {
	struct vl_endpoint *endpoint;
	struct vl_switch *sw;
	struct vl_channel_adapter *adapter;
	struct vl_infiniband_switch *infiniband_switch;
	struct vl_traffic *traffic; /* of an endpoint that is in a flow */
	unsigned int worker;        /* live: whose thread it belongs to; else 0 */
};

struct vl_lab_workloads;

struct vl_lab_fabric {
	const struct vl_scenario *scenario;
	struct vl_lab_node *nodes; /* as the scenario numbers them */
	struct vl_flow **flows;    /* by the scenario's pairs */
	/* Completion times, ns. One histogram a pair, or one a flow where pairs are many. */
	struct vl_histogram *completion_times;
	unsigned int histogram_count;
	struct vl_fabric_link *(*link)(const struct vl_lab_fabric *fabric, unsigned int node,
				       unsigned int port);
	void *network;                      /* of the one who made the nodes */
	struct vl_lab_workloads *workloads; /* lab_workload.h; NULL: none */
};

/* NULL: no memory. */
struct vl_lab_fabric *vl_lab_fabric_create(const struct vl_scenario *scenario);
/* Before the network is destroyed. NULL is fine. */
void vl_lab_fabric_destroy(struct vl_lab_fabric *fabric);

/* For who makes the nodes. The configurations point into the scenario. */
void vl_lab_endpoint_config(const struct vl_scenario *scenario, unsigned int node,
			    struct vl_endpoint_config *config);
void vl_lab_link_config(const struct vl_scenario *scenario, const struct vl_scenario_cable *cable,
			bool backward, struct vl_link_config *config);
/* After all nodes: traffic and flows. 0 or a negative errno value with a message. */
int vl_lab_connect_flows(struct vl_lab_fabric *fabric, uint64_t now, char *error,
			 size_t error_size);
/* Whether what starts on a worker's endpoints has finished, and all workloads. With workloads that
 * end, flows without an end last as long as they. On that worker. */
bool vl_lab_is_finished(const struct vl_lab_fabric *fabric, unsigned int worker);

/* What a capture of the fabric holds. */
static inline enum vl_link_type vl_lab_link_type(const struct vl_scenario *scenario)
{
	return vl_scenario_is_infiniband(scenario) ? VL_LINK_INFINIBAND : VL_LINK_ETHERNET;
}

/* The node whose queue pairs receive a pair's payload. */
static inline unsigned int vl_lab_sink(const struct vl_scenario_pair *pair)
{
	return pair->flow->verb >= VL_FLOW_READ ? pair->from : pair->to;
}
struct vl_histogram *vl_lab_completion_times(const struct vl_lab_fabric *fabric, unsigned int pair);

#endif
