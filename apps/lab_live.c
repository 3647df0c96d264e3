/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * The scenario in real time, on two workers: who sends data on one, switches and who receives on
 * the other, so that both copy and check about as much.
 */

#include "apps/lab_fabric.h"
#include "apps/lab_measure.h"
#include "apps/lab_run.h"
#include "apps/lab_workload.h"
#include "apps/scenario/switch_config.h"
#include "dataplane/capture/live.h"
#include "dataplane/runtime/eal.h"
#include "dataplane/runtime/live_network.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WORKERS         2u
#define SENDING_WORKER  0u
#define SWITCHED_WORKER 1u
/* The control thread looks at the clock this often at least, ns. */
#define SLEEP UINT64_C(1000000)
/* Rounds of workers are shorter than that, unless something else has their CPU. */
#define CAPTURE_DELAY UINT64_C(5000000)

struct lab {
	const struct vl_lab_run *run;
	struct vl_live_network *network;
	struct vl_live_node **nodes;
	struct vl_lab_fabric *fabric;
	struct vl_lab_meter *meter;
	struct vl_live_capture *capture; /* NULL: none */
	struct vl_error error;
};

/* A reading on one worker. */
struct visit {
	struct lab *lab;
	unsigned int worker;
	bool finished; /* every flow that starts there */
};

static struct vl_fabric_link *find_link(const struct vl_lab_fabric *fabric, unsigned int node,
					unsigned int port)
{
	const struct lab *lab = fabric->network;

	return vl_live_network_link(lab->nodes[node], port);
}

static void choose_workers(struct lab *lab)
{
	const struct vl_scenario *scenario = lab->run->scenario;

	for (unsigned int i = 0; i < scenario->node_count; i++)
		lab->fabric->nodes[i].worker =
			scenario->nodes[i].sw ? SWITCHED_WORKER : SENDING_WORKER;
	for (unsigned int i = 0; i < scenario->pair_count; i++)
		lab->fabric->nodes[vl_lab_sink(&scenario->pairs[i])].worker = SWITCHED_WORKER;
}

static int add_nodes(struct lab *lab)
{
	const struct vl_scenario *scenario = lab->run->scenario;
	struct vl_endpoint_config endpoint;
	struct vl_switch_config *sw;
	unsigned int worker;

	choose_workers(lab);
	for (unsigned int i = 0; i < scenario->node_count; i++) {
		worker = lab->fabric->nodes[i].worker;
		if (scenario->nodes[i].sw) {
			sw = vl_scenario_switch_config(scenario, scenario->nodes[i].sw);
			if (!sw)
				return vl_error_set(&lab->error, -ENOMEM, "out of memory");
			lab->nodes[i] = vl_live_network_add_switch(
				lab->network, worker, scenario->nodes[i].name, sw, &lab->error);
			free(sw);
		} else {
			vl_lab_endpoint_config(scenario, i, &endpoint);
			lab->nodes[i] = vl_live_network_add_endpoint(lab->network, worker,
								     &endpoint, &lab->error);
		}
		if (!lab->nodes[i])
			return -EINVAL;
		lab->fabric->nodes[i].endpoint = vl_live_node_endpoint(lab->nodes[i]);
		lab->fabric->nodes[i].sw = vl_live_node_switch(lab->nodes[i]);
	}
	return 0;
}

static int add_cables(struct lab *lab)
{
	const struct vl_scenario *scenario = lab->run->scenario;
	const struct vl_scenario_cable *cable;
	struct vl_link_config forward, backward;
	int status;

	for (unsigned int i = 0; i < scenario->cable_count; i++) {
		cable = &scenario->cables[i];
		vl_lab_link_config(scenario, cable, false, &forward);
		vl_lab_link_config(scenario, cable, true, &backward);
		status = vl_live_network_connect(lab->network, lab->nodes[cable->a], cable->port_a,
						 lab->nodes[cable->b], cable->port_b, &forward,
						 &backward, &lab->error);
		if (status)
			return status;
	}
	return vl_live_network_route(lab->network, &lab->error);
}

static int start_eal(struct lab *lab, const struct vl_live_network_config *network)
{
	const struct vl_eal_config config = {
		.worker_count = WORKERS,
		.memory_mb = vl_live_network_megabytes(network),
		.argument_count = (int)lab->run->eal_argument_count,
		.arguments = lab->run->eal_arguments,
	};
	int status = vl_eal_start(&config, &lab->error);

	if (!status && *vl_eal_notice())
		fprintf(stderr, "verbline lab: %s\n", vl_eal_notice());
	return status;
}

static int add_capture(struct lab *lab)
{
	const struct vl_lab_run *run = lab->run;
	const struct vl_live_capture_config config = {
		.writer = run->capture,
		.worker_count = WORKERS,
		.from = run->capture_from,
		.count = run->capture_count,
	};
	struct vl_live_node *node = lab->nodes[run->capture_node];
	char message[VL_CAPTURE_MESSAGE_SIZE];
	struct vl_frame_tap tap;
	int interface;

	if (!run->capture)
		return 0;
	lab->capture = vl_live_capture_open(&config, message);
	if (!lab->capture)
		return vl_error_set(&lab->error, -ENOMEM, "%s", message);
	interface = vl_live_capture_add_interface(lab->capture, vl_lab_link_type(run->scenario),
						  run->scenario->nodes[run->capture_node].name);
	if (interface < 0)
		return vl_error_set(&lab->error, interface, "%s",
				    vl_live_capture_message(lab->capture));
	tap = vl_live_capture_tap(lab->capture, vl_live_node_worker(node), (uint32_t)interface);
	vl_live_network_set_tap(node, run->capture_port, &tap);
	return 0;
}

/* What the workers saw a while ago; none of them has anything older to show. */
static int write_capture(struct lab *lab, uint64_t now)
{
	int status = 0;

	if (lab->capture && now > CAPTURE_DELAY)
		status = vl_live_capture_drain(lab->capture, now - CAPTURE_DELAY);
	return status ? vl_error_set(&lab->error, status, "%s",
				     vl_live_capture_message(lab->capture))
		      : 0;
}

static int finish_capture(struct lab *lab, int status)
{
	struct vl_live_capture_counters counters;
	char message[VL_CAPTURE_MESSAGE_SIZE];
	int result;

	if (!lab->capture)
		return status;
	counters = vl_live_capture_counters(lab->capture);
	result = vl_live_capture_close(lab->capture, message);
	if (result && !status)
		return vl_error_set(&lab->error, result, "%s", message);
	if (!status && counters.dropped)
		fprintf(stderr,
			"verbline lab: %llu frames are not in the capture, as writing could not "
			"keep up; --pcap-from and --pcap-count choose some\n",
			(unsigned long long)counters.dropped);
	return status;
}

static int build(struct lab *lab)
{
	const struct vl_live_network_config config = {.worker_count = WORKERS};
	const struct vl_lab_workload_host host = {0}; /* endpoints are polled all the time */
	const struct vl_scenario *scenario = lab->run->scenario;
	int status = start_eal(lab, &config);

	if (status)
		return status;
	lab->network = vl_live_network_create(&config, &lab->error);
	if (!lab->network)
		return -ENOMEM;
	lab->nodes = calloc(scenario->node_count, sizeof(struct vl_live_node *));
	lab->fabric = vl_lab_fabric_create(scenario);
	if (!lab->nodes || !lab->fabric)
		return vl_error_set(&lab->error, -ENOMEM, "out of memory");
	lab->fabric->network = lab;
	lab->fabric->link = find_link;
	status = add_nodes(lab);
	if (!status)
		status = add_cables(lab);
	if (!status)
		status = add_capture(lab);
	if (!status)
		status = vl_lab_connect_flows(lab->fabric, 0, lab->error.text,
					      sizeof(lab->error.text));
	if (!status)
		status = vl_lab_connect_workloads(lab->fabric, &host, 0, lab->error.text,
						  sizeof(lab->error.text));
	if (status)
		return status;
	lab->meter = vl_lab_meter_create(lab->fabric, lab->run->results);
	return lab->meter ? 0 : vl_error_set(&lab->error, -ENOMEM, "out of memory");
}

static void visit_worker(void *context, uint64_t now)
{
	struct visit *visit = context;
	const struct vl_lab_fabric *fabric = visit->lab->fabric;

	vl_lab_meter_read(visit->lab->meter, visit->worker, now);
	visit->finished = vl_lab_is_finished(fabric, visit->worker);
}

static int take_sample(struct lab *lab, bool *finished)
{
	struct visit visit = {.lab = lab};
	int status;

	*finished = true;
	vl_lab_meter_begin(lab->meter, vl_live_network_now(lab->network));
	for (visit.worker = 0; visit.worker < WORKERS; visit.worker++) {
		status = vl_live_network_call(lab->network, visit.worker, visit_worker, &visit);
		if (status)
			return vl_error_set(&lab->error, status,
					    "worker %u did not answer: %s; is its CPU taken?",
					    visit.worker, strerror(-status));
		*finished = *finished && visit.finished;
	}
	vl_lab_meter_sample(lab->meter);
	vl_histogram_record(vl_lab_meter_queue_lengths(lab->meter),
			    vl_lab_meter_queue_read(lab->meter));
	if (lab->run->view)
		vl_view_update(lab->run->view);
	return 0;
}

static int sleep_until(struct lab *lab, uint64_t time)
{
	const struct timespec step = {0, (long)SLEEP};
	uint64_t now;
	int status = 0;

	while ((now = vl_live_network_now(lab->network)) < time && !*lab->run->interrupted &&
	       !status) {
		nanosleep(&step, NULL);
		status = write_capture(lab, now);
	}
	return status;
}

static int run_to_end(struct lab *lab)
{
	const struct vl_scenario *scenario = lab->run->scenario;
	/* A sample takes a round of each worker: no oftener than each millisecond. */
	uint64_t interval = scenario->sample_interval < SLEEP ? SLEEP : scenario->sample_interval;
	uint64_t now = 0, next;
	bool in_window = scenario->warm_up == 0, finished = false;
	int status = vl_live_network_start(lab->network, &lab->error);

	while (!status && now < scenario->duration && !finished) {
		next = (now / interval + 1) * interval;
		if (!in_window && next > scenario->warm_up)
			next = scenario->warm_up;
		if (next > scenario->duration)
			next = scenario->duration;
		status = sleep_until(lab, next);
		if (*lab->run->interrupted)
			return -EINTR;
		if (status)
			return status;
		status = take_sample(lab, &finished);
		now = vl_live_network_now(lab->network);
		if (!in_window && now >= scenario->warm_up) {
			vl_lab_meter_mark_window(lab->meter);
			in_window = true;
		}
	}
	return status;
}

static void read_workers(const struct lab *lab)
{
	struct vl_results *results = lab->run->results;
	struct vl_live_counters counters;
	double busy;

	for (unsigned int worker = 0; worker < WORKERS; worker++) {
		counters = vl_live_network_counters(lab->network, worker);
		busy = counters.worker.total_time ? (double)counters.worker.busy_time /
							    (double)counters.worker.total_time
						  : 0;
		if (busy > results->live_busy)
			results->live_busy = busy;
		if (counters.late_time > results->live_late_time)
			results->live_late_time = counters.late_time;
		results->live_overruns += counters.overruns;
		results->live_exhausted += counters.mempool_exhausted;
	}
}

int vl_lab_run_live(const struct vl_lab_run *run, char *error, size_t error_size)
{
	struct lab lab = {.run = run};
	int status = build(&lab);

	if (!status) {
		status = run_to_end(&lab);
		vl_live_network_stop(lab.network);
		read_workers(&lab);
		vl_lab_meter_finish(lab.meter);
		if (vl_lab_measure_workloads(lab.fabric, run->results) && !status)
			status = vl_error_set(&lab.error, -ENOMEM,
					      "no memory for the workloads' results");
	}
	status = finish_capture(&lab, status);
	if (status)
		snprintf(error, error_size, "%s", lab.error.text);
	vl_lab_meter_destroy(lab.meter);
	vl_lab_fabric_destroy(lab.fabric);
	vl_live_network_destroy(lab.network);
	free(lab.nodes);
	if (vl_eal_is_running())
		vl_eal_stop();
	return status;
}
