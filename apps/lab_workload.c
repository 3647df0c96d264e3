/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/lab_workload.h"

#include "dataplane/workload/engine.h"
#include "dataplane/workload/metrics.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MIN_RNR_TIMER     12
#define RNR_RETRY_FOREVER 7
#define LIVE_TIMEOUT      16 /* 268 ms */
/* What a switch that cuts through waits for. */
#define CUT_THROUGH_BYTES 64
#define SECOND            1e9

struct vl_lab_workloads {
	const struct vl_scenario *scenario;
	struct vl_workload_engine *engine;
	void *memory; /* that all endpoints share; NULL: each has its own */
	uint32_t largest_message;
	/* Ideal paths to a destination by source, worked out when first asked for. */
	struct vl_workload_path **paths;
	bool is_out_of_memory;
};

/* ---- Running ------------------------------------------------------------------------------- */

static uint32_t largest_message(const struct vl_scenario *scenario)
{
	const struct vl_scenario_workload *workloads = scenario->workloads.elements;
	uint64_t largest = 1;

	for (unsigned int i = 0; i < scenario->workloads.count; i++) {
		const struct vl_workload_plan *plan = &workloads[i].plan;
		uint64_t most = 0;

		for (uint32_t j = 0; j < plan->step_count; j++)
			most = plan->steps[j].bytes > most ? plan->steps[j].bytes : most;
		if (most > workloads[i].message_size)
			most = workloads[i].message_size;
		largest = most > largest ? most : largest;
	}
	return (uint32_t)largest;
}

static int create_engine(struct vl_lab_workloads *workloads, const struct vl_lab_fabric *fabric,
			 const struct vl_lab_workload_host *host)
{
	const struct vl_scenario *scenario = workloads->scenario;
	uint32_t largest = workloads->largest_message;
	struct vl_endpoint **endpoints = calloc(scenario->endpoint_count, sizeof(*endpoints));
	int status = endpoints ? 0 : -ENOMEM;

	if (!status && host->is_single_threaded) {
		workloads->memory = calloc(1, vl_traffic_memory_size(largest));
		status = workloads->memory ? 0 : -ENOMEM;
	}
	if (!status) {
		for (unsigned int i = 0; i < scenario->endpoint_count; i++)
			endpoints[i] = fabric->nodes[i].endpoint;
		workloads->engine = vl_workload_engine_create(
			&(struct vl_workload_engine_config){.endpoints = endpoints,
							    .endpoint_count =
								    scenario->endpoint_count,
							    .largest_message = largest,
							    .memory = workloads->memory,
							    .wake = host->wake,
							    .wake_context = host->wake_context},
			&status);
	}
	free(endpoints);
	return status;
}

/* Live, other programs may keep a worker from running for longer than a network ever takes. */
static uint8_t timeout_of(const struct vl_scenario_workload *workload,
			  const struct vl_lab_workload_host *host)
{
	if (host->is_single_threaded ||
	    vl_section_has(&vl_scenario_workload_schema, &workload->section, "timeout"))
		return (uint8_t)workload->timeout;
	return LIVE_TIMEOUT;
}

static struct vl_workload_config workload_config(const struct vl_lab_workloads *workloads,
						 const struct vl_scenario_workload *workload,
						 const struct vl_lab_workload_host *host,
						 unsigned int number)
{
	const struct vl_scenario *scenario = workloads->scenario;
	uint32_t message = (uint32_t)workload->message_size, largest = workloads->largest_message;

	return (struct vl_workload_config){
		.name = workload->name,
		.plan = &workload->plan,
		.endpoints = workload->ranks,
		.start = workload->start,
		.after = workload->after_numbers,
		.after_count = workload->after.count,
		.rounds = (uint32_t)workload->iterations,
		.barrier = workload->barrier,
		.is_background = workload->kind == VL_WORKLOAD_BACKGROUND,
		.stop = workload->stop,
		.message_size = message < largest ? message : largest,
		.depth = (uint32_t)workload->depth,
		.qps = (uint32_t)workload->qps,
		.qp = {.transport = IBV_QPT_RC,
		       .path_mtu = (enum ibv_mtu)(IBV_MTU_256 + scenario->path_mtu),
		       .traffic_class =
			       (uint8_t)(scenario->dscps[workload->priority] << 2 | VL_ECN_ECT0),
		       .priority = (uint8_t)workload->priority,
		       .timeout = timeout_of(workload, host),
		       .retry_count = (uint8_t)workload->retries,
		       .rnr_retry = RNR_RETRY_FOREVER,
		       .min_rnr_timer = MIN_RNR_TIMER,
		       .cc = &scenario->cc.resolved},
		.seed = scenario->seed * UINT64_C(0xd1342543de82ef95) + 0x20000 + number,
	};
}

int vl_lab_connect_workloads(struct vl_lab_fabric *fabric, const struct vl_lab_workload_host *host,
			     uint64_t now, char *error, size_t error_size)
{
	const struct vl_scenario *scenario = fabric->scenario;
	const struct vl_scenario_workload *list = scenario->workloads.elements;
	struct vl_lab_workloads *workloads;
	struct vl_workload_config config;
	int status;

	if (!scenario->workloads.count)
		return 0;
	workloads = calloc(1, sizeof(*workloads));
	fabric->workloads = workloads;
	if (workloads) {
		workloads->scenario = scenario;
		workloads->largest_message = largest_message(scenario);
		workloads->paths =
			calloc(scenario->endpoint_count, sizeof(struct vl_workload_path *));
	}
	status = workloads && workloads->paths ? create_engine(workloads, fabric, host) : -ENOMEM;
	if (status) {
		snprintf(error, error_size, "workloads: no memory at the endpoints: %s",
			 strerror(-status));
		return status;
	}
	for (unsigned int i = 0; !status && i < scenario->workloads.count; i++) {
		config = workload_config(workloads, &list[i], host, i);
		status = vl_workload_engine_add(workloads->engine, &config);
	}
	if (!status)
		status = vl_workload_engine_connect(workloads->engine, now);
	if (status)
		snprintf(error, error_size, "workloads: %s",
			 vl_workload_engine_error(workloads->engine));
	return status;
}

void vl_lab_workloads_destroy(struct vl_lab_workloads *workloads)
{
	if (!workloads)
		return;
	vl_workload_engine_destroy(workloads->engine);
	for (unsigned int i = 0; workloads->paths && i < workloads->scenario->endpoint_count; i++)
		free(workloads->paths[i]);
	free(workloads->paths);
	free(workloads->memory);
	free(workloads);
}

bool vl_lab_has_workloads(const struct vl_lab_fabric *fabric)
{
	const struct vl_scenario_workload *workloads = fabric->scenario->workloads.elements;

	for (unsigned int i = 0; i < fabric->scenario->workloads.count; i++) {
		if (workloads[i].kind != VL_WORKLOAD_BACKGROUND)
			return true;
	}
	return false;
}

bool vl_lab_workloads_are_finished(const struct vl_lab_fabric *fabric)
{
	return !vl_lab_has_workloads(fabric) ||
	       vl_workload_engine_is_finished(fabric->workloads->engine);
}

/* ---- Ideal paths --------------------------------------------------------------------------- */

/* The way on from a node that is one link further from the destination than the one before it. */
static struct vl_workload_path extend(const struct vl_scenario *scenario,
				      const struct vl_workload_path *onward,
				      unsigned int onward_node,
				      const struct vl_scenario_links *link)
{
	const struct vl_scenario_switch *sw = scenario->nodes[onward_node].sw;
	double rate = (double)link->rate, byte = 8 * SECOND / rate;
	struct vl_workload_path path = *onward;

	path.propagation += (double)link->delay;
	path.source_rate = rate;
	if (!sw) { /* the destination */
		path.rate = path.destination_rate = rate;
		return path;
	}
	/* The slowest link's own time is that of all bytes; the others' that of one packet. */
	if (rate < path.rate) {
		path.store_last += path.store + (sw->cut_through ? 0 : 8 * SECOND / path.rate);
		path.store = 0;
		path.rate = rate;
	} else if (!sw->cut_through) {
		path.store += byte;
	}
	if (sw->cut_through)
		path.propagation += byte * CUT_THROUGH_BYTES;
	return path;
}

/* To a destination from every node, breadth first. */
static void find_paths(const struct vl_scenario *scenario, unsigned int destination,
		       struct vl_workload_path *paths, unsigned int *queue)
{
	unsigned int head = 0, tail = 0;

	for (unsigned int i = 0; i < scenario->node_count; i++)
		paths[i].rate = 0;
	queue[tail++] = destination;
	paths[destination] = (struct vl_workload_path){.rate = 1};
	while (head < tail) {
		unsigned int node = queue[head++];

		if (node != destination && !scenario->nodes[node].sw)
			continue;
		for (unsigned int i = 0; i < scenario->nodes[node].ports; i++) {
			const struct vl_scenario_port *port = vl_scenario_port(scenario, node, i);

			if (paths[port->neighbour].rate > 0)
				continue;
			paths[port->neighbour] =
				extend(scenario, &paths[node], node, port->cable->links);
			queue[tail++] = port->neighbour;
		}
	}
}

static struct vl_workload_path path_between(void *context, uint32_t source, uint32_t destination)
{
	struct vl_lab_workloads *workloads = context;
	const struct vl_scenario *scenario = workloads->scenario;
	struct vl_workload_path **row = &workloads->paths[destination];
	struct vl_workload_path *all;
	unsigned int *queue;

	if (*row)
		return (*row)[source];
	all = calloc(scenario->node_count, sizeof(*all));
	queue = calloc(scenario->node_count, sizeof(*queue));
	*row = malloc(scenario->endpoint_count * sizeof(**row));
	if (!all || !queue || !*row) {
		workloads->is_out_of_memory = true;
		free(*row);
		*row = NULL;
	} else {
		find_paths(scenario, destination, all, queue);
		memcpy(*row, all, scenario->endpoint_count * sizeof(**row));
	}
	free(all);
	free(queue);
	return *row ? (*row)[source]
		    : (struct vl_workload_path){.rate = 1, .source_rate = 1, .destination_rate = 1};
}

/* ---- Measuring ----------------------------------------------------------------------------- */

static int measure(struct vl_lab_workloads *workloads, unsigned int number,
		   struct vl_workload_values *values, struct vl_results *results)
{
	const struct vl_scenario *scenario = workloads->scenario;
	const struct vl_scenario_workload *list = scenario->workloads.elements;
	struct vl_workload_result *result = &results->workloads[number];
	struct vl_collective collective = vl_workload_collective(&list[number]);
	const struct vl_workload_measures measures = {
		.path = path_between,
		.context = workloads,
		.packet_overhead = vl_scenario_is_infiniband(scenario)
					   ? VL_INFINIBAND_PACKET_OVERHEAD
					   : VL_ROCEV2_PACKET_OVERHEAD,
		.size = collective.size,
		.bus_factor = collective.bus_factor,
		.deadline = list[number].deadline,
	};
	int status = vl_workload_measure(workloads->engine, number, &measures, results->end, values,
					 &result->metrics);

	return status ? status : workloads->is_out_of_memory ? -ENOMEM : 0;
}

static void finish_class(struct vl_results *results, unsigned int priority,
			 struct vl_workload_values *values)
{
	struct vl_class_result *class = &results->classes[results->class_count++];

	class->priority = priority;
	class->transfer_times = vl_values_distribution(&values->transfer_times);
	class->transfer_slowdown = vl_values_distribution(&values->transfer_slowdown);
	class->job_times = vl_values_distribution(&values->job_times);
	class->job_slowdown = vl_values_distribution(&values->job_slowdown);
}

int vl_lab_measure_workloads(const struct vl_lab_fabric *fabric, struct vl_results *results)
{
	const struct vl_scenario_workload *list = fabric->scenario->workloads.elements;
	unsigned int count = fabric->scenario->workloads.count;
	int status = 0;

	for (unsigned int priority = 0; !status && priority < VL_MAX_CLASSES; priority++) {
		struct vl_workload_values values = {0};
		unsigned int members = 0;

		for (unsigned int i = 0; !status && i < count; i++) {
			if (list[i].priority != priority)
				continue;
			results->workloads[i].workload = &list[i];
			status = measure(fabric->workloads, i, &values, results);
			members++;
		}
		if (!status && members)
			finish_class(results, priority, &values);
		vl_workload_values_release(&values);
	}
	return status;
}
