/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/lab_fabric.h"

#include "apps/lab_workload.h"
#include "apps/scenario/switch_source.h"
#include "dataplane/workload/engine.h"
#include "transport/wire/gid.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Beyond so many pairs a histogram for each would take too much memory. */
#define MAX_PAIR_HISTOGRAMS 1024u
#define RNR_RETRY_FOREVER   7

struct vl_lab_fabric *vl_lab_fabric_create(const struct vl_scenario *scenario)
{
	struct vl_lab_fabric *fabric = calloc(1, sizeof(*fabric));

	if (!fabric)
		return NULL;
	fabric->scenario = scenario;
	fabric->histogram_count = scenario->pair_count <= MAX_PAIR_HISTOGRAMS
					  ? scenario->pair_count
					  : scenario->flows.count;
	fabric->nodes = calloc(scenario->node_count, sizeof(*fabric->nodes));
	fabric->flows = calloc(scenario->pair_count, sizeof(struct vl_flow *));
	fabric->completion_times =
		calloc(fabric->histogram_count, sizeof(*fabric->completion_times));
	if (fabric->nodes && fabric->flows && fabric->completion_times)
		return fabric;
	vl_lab_fabric_destroy(fabric);
	return NULL;
}

void vl_lab_fabric_destroy(struct vl_lab_fabric *fabric)
{
	if (!fabric)
		return;
	vl_lab_workloads_destroy(fabric->workloads);
	for (unsigned int i = 0; fabric->nodes && i < fabric->scenario->node_count; i++) {
		if (fabric->nodes[i].traffic)
			vl_traffic_destroy(fabric->nodes[i].traffic);
	}
	free(fabric->completion_times);
	free(fabric->flows);
	free(fabric->nodes);
	free(fabric);
}

/* Node n is 10.a.b.c with a.b.c = n + 1, and its MAC address is made of that. */
static void make_gid(unsigned int node, union ibv_gid *gid)
{
	const uint8_t address[4] = {10, (uint8_t)((node + 1) >> 16), (uint8_t)((node + 1) >> 8),
				    (uint8_t)(node + 1)};

	*gid = vl_gid_of_ipv4(address);
}

static int resolve(void *context, const union ibv_gid *destination, uint8_t mac[6])
{
	(void)context;
	mac[0] = 0x02;
	mac[1] = 0x00;
	memcpy(mac + 2, destination->raw + VL_GID_IPV4_OFFSET, 4);
	return 0;
}

void vl_lab_endpoint_config(const struct vl_scenario *scenario, unsigned int node,
			    struct vl_endpoint_config *config)
{
	struct vl_device_config *device = &config->device;

	*config = (struct vl_endpoint_config){
		.name = scenario->nodes[node].name,
		.rate = scenario->nodes[node].rate,
		.pfc_response_delay = vl_scenario_response_delay(scenario, node),
	};
	device->seed = scenario->seed + node;
	device->gid_count = 1;
	device->gids[0].encapsulation = VL_ENCAPSULATION_ROCEV2_IPV4;
	make_gid(node, &device->gids[0].gid);
	resolve(NULL, &device->gids[0].gid, device->mac);
	device->events.resolve = resolve;
	device->link_rate = config->rate;
	device->max_qp = VL_SCENARIO_MAX_QPS + VL_WORKLOAD_MAX_QPS + 1;
	device->cc = &scenario->cc.resolved;
	/* As NICs do: a new connection does not wait for the credits of its first ACK. */
	device->assume_unlimited_credits = scenario->workloads.count > 0;
}

void vl_lab_link_config(const struct vl_scenario *scenario, const struct vl_scenario_cable *cable,
			bool backward, struct vl_link_config *config)
{
	const struct vl_scenario_links *links = cable->links;
	uint64_t number = (uint64_t)(cable - scenario->cables) * 2 + backward;

	*config = (struct vl_link_config){
		.rate = links->rate,
		.propagation = links->delay,
		.seed = scenario->seed * UINT64_C(0x9e3779b97f4a7c15) + number,
		.impairments = {.loss = links->loss,
				.duplicate = links->duplicate,
				.reorder = links->reorder,
				.corrupt = links->corrupt,
				.mark = links->mark,
				.jitter = links->jitter},
	};
}

static void note_size(unsigned int *largest, const struct vl_scenario_flow *flow)
{
	if (flow->size > *largest)
		*largest = (unsigned int)flow->size;
}

/* largest: of the messages of each endpoint. */
static int create_traffic(struct vl_lab_fabric *fabric, unsigned int *largest, char *error,
			  size_t error_size)
{
	const struct vl_scenario *scenario = fabric->scenario;
	struct vl_traffic_config config;
	int status = 0;

	for (unsigned int i = 0; i < scenario->pair_count; i++) {
		note_size(&largest[scenario->pairs[i].from], scenario->pairs[i].flow);
		note_size(&largest[scenario->pairs[i].to], scenario->pairs[i].flow);
	}
	for (unsigned int node = 0; node < scenario->endpoint_count; node++) {
		if (!largest[node])
			continue;
		config = (struct vl_traffic_config){.largest_message = largest[node]};
		fabric->nodes[node].traffic =
			vl_traffic_create(fabric->nodes[node].endpoint, &config, &status);
		if (fabric->nodes[node].traffic)
			continue;
		snprintf(error, error_size, "endpoint %s: no memory for messages of %u B: %s",
			 scenario->nodes[node].name, largest[node], strerror(-status));
		return status;
	}
	return 0;
}

static void flow_config(const struct vl_lab_fabric *fabric, unsigned int number,
			struct vl_flow_config *config)
{
	static const enum ibv_qp_type types[] = {
		[VL_SCENARIO_RC] = IBV_QPT_RC,
		[VL_SCENARIO_UC] = IBV_QPT_UC,
		[VL_SCENARIO_UD] = IBV_QPT_UD,
	};
	const struct vl_scenario *scenario = fabric->scenario;
	const struct vl_scenario_flow *flow = scenario->pairs[number].flow;

	*config = (struct vl_flow_config){
		.transport = types[flow->transport],
		.verb = (enum vl_flow_verb)flow->verb,
		.size = (uint32_t)flow->size,
		.messages = flow->messages,
		.start = scenario->pairs[number].start,
		.stop = flow->duration ? scenario->pairs[number].start + flow->duration : 0,
		.qps = (uint32_t)flow->qps,
		.depth = (uint32_t)flow->depth,
		.rate = flow->rate,
		.path_mtu = (enum ibv_mtu)(IBV_MTU_256 + scenario->path_mtu),
		.priority = (uint8_t)flow->priority,
		.dscp = flow->dscp == VL_AUTOMATIC ? scenario->dscps[flow->priority]
						   : (uint8_t)flow->dscp,
		.timeout = (uint8_t)flow->timeout,
		.retry_count = (uint8_t)flow->retries,
		.rnr_retry = RNR_RETRY_FOREVER,
		.seed = scenario->seed * UINT64_C(0xd1342543de82ef95) + number,
		.cc = flow->has_cc ? &flow->cc.resolved : &scenario->cc.resolved,
		.completion_times = vl_lab_completion_times(fabric, number),
		.measure_from = scenario->warm_up,
	};
}

int vl_lab_connect_flows(struct vl_lab_fabric *fabric, uint64_t now, char *error, size_t error_size)
{
	const struct vl_scenario *scenario = fabric->scenario;
	const struct vl_scenario_pair *pair;
	struct vl_flow_config config;
	unsigned int *largest = calloc(scenario->endpoint_count, sizeof(*largest));
	int status;

	if (!largest) {
		snprintf(error, error_size, "out of memory");
		return -ENOMEM;
	}
	status = create_traffic(fabric, largest, error, error_size);
	free(largest);
	for (unsigned int i = 0; !status && i < scenario->pair_count; i++) {
		pair = &scenario->pairs[i];
		flow_config(fabric, i, &config);
		fabric->flows[i] =
			vl_flow_create(fabric->nodes[pair->from].traffic,
				       fabric->nodes[pair->to].traffic, &config, now, &status);
		if (fabric->flows[i])
			continue;
		snprintf(error, error_size, "flow %s from %s to %s: %s", pair->flow->name,
			 scenario->nodes[pair->from].name, scenario->nodes[pair->to].name,
			 vl_flow_config_error(&config) ? vl_flow_config_error(&config)
						       : strerror(-status));
	}
	return status;
}

static bool is_pair_finished(const struct vl_lab_fabric *fabric, unsigned int pair)
{
	for (uint32_t n = 0; n < fabric->scenario->pairs[pair].flow->qps; n++) {
		if (!vl_flow_progress(fabric->flows[pair], n)->finished)
			return false;
	}
	return true;
}

bool vl_lab_is_finished(const struct vl_lab_fabric *fabric, unsigned int worker)
{
	const struct vl_scenario *scenario = fabric->scenario;
	bool has_workloads = vl_lab_has_workloads(fabric);

	for (unsigned int i = 0; !has_workloads && i < scenario->endpoint_count; i++) {
		if (fabric->nodes[i].worker == worker && fabric->nodes[i].traffic &&
		    !vl_traffic_is_finished(fabric->nodes[i].traffic))
			return false;
	}
	for (unsigned int i = 0; has_workloads && i < scenario->pair_count; i++) {
		const struct vl_scenario_flow *flow = scenario->pairs[i].flow;

		if (fabric->nodes[scenario->pairs[i].from].worker == worker &&
		    (flow->messages || flow->duration) && !is_pair_finished(fabric, i))
			return false;
	}
	return vl_lab_workloads_are_finished(fabric);
}

struct vl_histogram *vl_lab_completion_times(const struct vl_lab_fabric *fabric, unsigned int pair)
{
	const struct vl_scenario *scenario = fabric->scenario;
	const struct vl_scenario_flow *flows = scenario->flows.elements;

	if (fabric->histogram_count == scenario->pair_count)
		return &fabric->completion_times[pair];
	return &fabric->completion_times[scenario->pairs[pair].flow - flows];
}
