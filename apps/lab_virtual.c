/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/lab_fabric.h"
#include "apps/lab_infiniband.h"
#include "apps/lab_measure.h"
#include "apps/lab_route.h"
#include "apps/lab_run.h"
#include "apps/lab_storm.h"
#include "apps/lab_workload.h"
#include "apps/scenario/switch_config.h"
#include "dataplane/huge_pages.h"
#include "dataplane/network.h"
#include "dataplane/network_audit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The bottleneck's queue is looked at this often for its percentiles, and whether anything is left
 * to do; no oftener than keeps the number of looks below MAX_LOOKS. */
#define LOOK_INTERVAL UINT64_C(1000)
#define LONGEST_STEP  UINT64_C(1000000)
#define MAX_LOOKS     UINT64_C(1000000)

/* Endpoints from which on the network is worth large pages. */
#define LARGE_NETWORK 64u

struct lab {
	const struct vl_lab_run *run;
	struct vl_network *network;
	struct vl_node **nodes;
	struct vl_lab_fabric *fabric;
	struct vl_lab_meter *meter;
	struct vl_lab_storms *storms;
	struct vl_event look;
	uint64_t look_interval;
	bool is_ended; /* the measured window is */
	int capture_error;
	uint64_t captured; /* packets */
};

static struct vl_fabric_link *find_link(const struct vl_lab_fabric *fabric, unsigned int node,
					unsigned int port)
{
	const struct lab *lab = fabric->network;

	return vl_network_link(lab->nodes[node], port);
}

/* As the network says; without a word of it there was no memory for what it is to be told. */
static int refuse(const struct lab *lab, int status, char *error, size_t error_size)
{
	const char *message = vl_network_error(lab->network);

	snprintf(error, error_size, "%s", *message ? message : "out of memory");
	return status ? status : -EINVAL;
}

static struct vl_node *add_ethernet_node(struct lab *lab, unsigned int i)
{
	const struct vl_scenario *scenario = lab->run->scenario;
	struct vl_endpoint_config endpoint;
	struct vl_switch_config *sw;
	struct vl_node *node;

	if (!scenario->nodes[i].sw) {
		vl_lab_endpoint_config(scenario, i, &endpoint);
		return vl_network_add_endpoint(lab->network, &endpoint);
	}
	sw = vl_scenario_switch_config(scenario, scenario->nodes[i].sw);
	node = sw ? vl_network_add_switch(lab->network, scenario->nodes[i].name, sw) : NULL;
	free(sw);
	return node;
}

static struct vl_node *add_infiniband_node(struct lab *lab, unsigned int i)
{
	const struct vl_scenario *scenario = lab->run->scenario;
	struct vl_infiniband_switch_config sw;
	struct vl_channel_adapter_config adapter;

	if (scenario->nodes[i].sw) {
		vl_lab_infiniband_switch_config(scenario, i, &sw);
		return vl_network_add_infiniband_switch(lab->network, scenario->nodes[i].name, &sw);
	}
	vl_lab_channel_adapter_config(scenario, i, &adapter);
	return vl_network_add_channel_adapter(lab->network, &adapter);
}

static int add_nodes(struct lab *lab, char *error, size_t error_size)
{
	const struct vl_scenario *scenario = lab->run->scenario;
	struct vl_lab_node *node;

	for (unsigned int i = 0; i < scenario->node_count; i++) {
		lab->nodes[i] = vl_scenario_is_infiniband(scenario) ? add_infiniband_node(lab, i)
								    : add_ethernet_node(lab, i);
		if (!lab->nodes[i])
			return refuse(lab, 0, error, error_size);
		node = &lab->fabric->nodes[i];
		node->endpoint = vl_node_endpoint(lab->nodes[i]);
		node->sw = vl_node_switch(lab->nodes[i]);
		node->adapter = vl_node_channel_adapter(lab->nodes[i]);
		node->infiniband_switch = vl_node_infiniband_switch(lab->nodes[i]);
	}
	return 0;
}

static int add_cables(struct lab *lab, char *error, size_t error_size)
{
	const struct vl_scenario *scenario = lab->run->scenario;
	const struct vl_scenario_cable *cable;
	struct vl_link_config forward, backward;
	int status;

	for (unsigned int i = 0; i < scenario->cable_count; i++) {
		cable = &scenario->cables[i];
		vl_lab_link_config(scenario, cable, false, &forward);
		vl_lab_link_config(scenario, cable, true, &backward);
		status = vl_network_connect(lab->network, lab->nodes[cable->a], cable->port_a,
					    lab->nodes[cable->b], cable->port_b, &forward,
					    &backward);
		if (status)
			return refuse(lab, status, error, error_size);
	}
	if (vl_scenario_is_infiniband(scenario))
		return vl_lab_manage_subnet(lab->fabric, lab->run->results, error, error_size);
	if (scenario->routing == VL_SCENARIO_UP_DOWN)
		return vl_lab_route_up_down(lab->fabric, error, error_size);
	status = vl_network_route(lab->network);
	return status ? refuse(lab, status, error, error_size) : 0;
}

static void capture_frame(void *context, const struct vl_node *node, uint32_t port,
			  enum vl_direction direction, const struct vl_frame *frame, uint64_t now)
{
	struct lab *lab = context;
	const struct vl_capture_record record = {
		.time = now,
		.frame = frame->data,
		.length = frame->length,
		.flow = direction == VL_DIRECTION_RECEIVED ? VL_CAPTURE_INBOUND
							   : VL_CAPTURE_OUTBOUND,
	};
	int status;

	(void)node;
	(void)port;
	if (now < lab->run->capture_from ||
	    (lab->run->capture_count && lab->captured == lab->run->capture_count))
		return;
	lab->captured++;
	status = vl_capture_writer_write(lab->run->capture, &record);
	if (!status)
		return;
	lab->capture_error = status;
	vl_executor_stop(vl_network_executor(lab->network));
}

static int add_capture(struct lab *lab, char *error, size_t error_size)
{
	const struct vl_lab_run *run = lab->run;
	const struct vl_tap tap = {capture_frame, lab};
	int status;

	if (!run->capture)
		return 0;
	status =
		vl_capture_writer_add_interface(run->capture, vl_lab_link_type(run->scenario),
						run->scenario->nodes[run->capture_node].name, NULL);
	if (status < 0) {
		snprintf(error, error_size, "%s", vl_capture_writer_message(run->capture));
		return status;
	}
	status = vl_network_tap(lab->network, lab->nodes[run->capture_node], run->capture_port,
				&tap);
	return status ? refuse(lab, status, error, error_size) : 0;
}

static void take_sample(struct lab *lab, uint64_t now)
{
	vl_lab_meter_begin(lab->meter, now);
	vl_lab_meter_read(lab->meter, 0, now);
	vl_lab_meter_sample(lab->meter);
	if (lab->run->view)
		vl_view_update(lab->run->view);
	if (lab->run->progress)
		lab->run->progress(lab->run->progress_context,
				   (double)now / (double)lab->run->scenario->duration);
}

/* What is left to do ends between two samples: the window with it, so that nothing in it is a mean
 * over time in which nobody wanted anything. */
static void look(struct vl_event *event, uint64_t now)
{
	struct lab *lab = (struct lab *)((char *)event - offsetof(struct lab, look));

	vl_histogram_record(vl_lab_meter_queue_lengths(lab->meter),
			    vl_lab_meter_queue(lab->meter, now));
	if (vl_lab_is_finished(lab->fabric, 0)) {
		take_sample(lab, now);
		vl_lab_meter_end_window(lab->meter);
		lab->is_ended = true;
		return;
	}
	vl_executor_schedule(vl_network_executor(lab->network), event, now + lab->look_interval);
}

static int start_looking(struct lab *lab)
{
	struct vl_executor *executor = vl_network_executor(lab->network);
	uint64_t window = lab->run->scenario->duration - lab->run->scenario->warm_up;
	int status = vl_executor_reserve(executor, 1);

	if (status)
		return status;
	lab->look_interval = LOOK_INTERVAL;
	if (window / MAX_LOOKS > lab->look_interval)
		lab->look_interval = window / MAX_LOOKS;
	vl_event_init(&lab->look, look);
	vl_executor_schedule(executor, &lab->look, lab->look_interval);
	return 0;
}

static void wake_endpoint(void *context, uint32_t endpoint)
{
	struct lab *lab = context;

	vl_network_wake(lab->network, lab->nodes[endpoint]);
}

static int build(struct lab *lab, char *error, size_t error_size)
{
	const struct vl_lab_workload_host host = {wake_endpoint, lab, true};
	const struct vl_scenario *scenario = lab->run->scenario;
	int status;

	lab->network = vl_network_create(NULL);
	lab->nodes = calloc(scenario->node_count, sizeof(struct vl_node *));
	lab->fabric = vl_lab_fabric_create(scenario);
	if (!lab->network || !lab->nodes || !lab->fabric) {
		snprintf(error, error_size, "out of memory");
		return -ENOMEM;
	}
	lab->fabric->network = lab;
	lab->fabric->link = find_link;
	status = add_nodes(lab, error, error_size);
	if (!status)
		status = add_cables(lab, error, error_size);
	if (!status)
		status = vl_lab_connect_flows(lab->fabric, 0, error, error_size);
	if (!status)
		status = vl_lab_connect_workloads(lab->fabric, &host, 0, error, error_size);
	if (!status)
		status = add_capture(lab, error, error_size);
	if (status)
		return status;
	lab->meter = vl_lab_meter_create(lab->fabric, lab->run->results);
	if (!lab->meter || start_looking(lab) || vl_lab_storms_create(lab->fabric, &lab->storms) ||
	    vl_lab_storms_schedule(lab->storms, lab->network, lab->nodes)) {
		snprintf(error, error_size, "out of memory");
		return -ENOMEM;
	}
	return 0;
}

/* Looks for interrupts often: a sample may be far. */
static bool run_until(struct lab *lab, uint64_t now, uint64_t time)
{
	while (now < time) {
		now = time - now > LONGEST_STEP ? now + LONGEST_STEP : time;
		if (!vl_network_run_until(lab->network, now) || *lab->run->interrupted)
			return false;
	}
	return true;
}

static int run_to_end(struct lab *lab)
{
	const struct vl_scenario *scenario = lab->run->scenario;
	bool in_window = scenario->warm_up == 0;
	uint64_t now = 0, next;

	while (now < scenario->duration && !vl_lab_is_finished(lab->fabric, 0)) {
		next = (now / scenario->sample_interval + 1) * scenario->sample_interval;
		if (!in_window && next > scenario->warm_up)
			next = scenario->warm_up;
		if (next > scenario->duration)
			next = scenario->duration;
		if (!run_until(lab, now, next))
			return lab->capture_error ? lab->capture_error : -EINTR;
		now = next;
		take_sample(lab, now);
		if (!in_window && now == scenario->warm_up && !lab->is_ended) {
			vl_lab_meter_mark_window(lab->meter);
			in_window = true;
		}
	}
	return 0;
}

/* Results of a network that loses count of its frames are worth nothing. */
static int audit(const struct lab *lab, char *error, size_t error_size)
{
	char found[256];

	if (vl_network_audit(lab->network, found, sizeof(found)))
		return 0;
	snprintf(error, error_size,
		 "the emulation has lost count, which is a bug of verbline: %s; please report it "
		 "with the scenario and the seed",
		 found);
	return -EPROTO;
}

int vl_lab_run_virtual(const struct vl_lab_run *run, char *error, size_t error_size)
{
	struct lab lab = {.run = run};
	int status = build(&lab, error, error_size);

	if (!status) {
		if (run->scenario->endpoint_count >= LARGE_NETWORK)
			vl_huge_pages_collapse();
		status = run_to_end(&lab);
		if (lab.capture_error)
			snprintf(error, error_size, "%s", vl_capture_writer_message(run->capture));
		run->results->events = vl_executor_event_count(vl_network_executor(lab.network));
		if (!status)
			status = audit(&lab, error, error_size);
		vl_lab_meter_finish(lab.meter);
		if (vl_lab_measure_workloads(lab.fabric, run->results) && !status) {
			status = -ENOMEM;
			snprintf(error, error_size, "no memory for the workloads' results");
		}
	}
	vl_lab_meter_destroy(lab.meter);
	vl_lab_fabric_destroy(lab.fabric);
	if (lab.network)
		vl_network_destroy(lab.network);
	vl_lab_storms_destroy(lab.storms);
	free(lab.nodes);
	return status;
}
