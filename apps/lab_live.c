/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * The scenario in real time, on two workers: who sends data on one, switches and who receives on
 * the other, so that both copy and check about as much. Of a part of a scenario, one worker runs
 * all nodes and uses the ports by which links leave.
 */

#include "apps/lab_fabric.h"
#include "apps/lab_infiniband.h"
#include "apps/lab_measure.h"
#include "apps/lab_route.h"
#include "apps/lab_run.h"
#include "apps/lab_storm.h"
#include "apps/lab_workload.h"
#include "apps/scenario/switch_config.h"
#include "dataplane/capture/live.h"
#include "dataplane/port/port.h"
#include "dataplane/runtime/eal.h"
#include "dataplane/runtime/live_network.h"
#include "transport/wire/packet.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_ENDPOINTS   64u
#define SENDING_WORKER  0u
#define SWITCHED_WORKER 1u
/* The control thread looks at the clock this often at least, ns. */
#define SLEEP UINT64_C(1000000)
/* After the end of a part, as the others may have begun a little later and still need it, ns. */
#define LINGER UINT64_C(200000000)
/* Rounds of workers are shorter than that, unless something else has their CPU. */
#define CAPTURE_DELAY UINT64_C(5000000)

/* Rings hold what comes while the far worker does something else, and what they hold still comes
 * after a pause: as few as one worker leaves to the other in a usual round. */
static const struct vl_live_network_config network_config = {.worker_count = VL_LAB_MAX_WORKERS,
							     .ring_size = 128};

struct lab {
	const struct vl_lab_run *run;
	struct vl_live_network *network;
	struct vl_live_node **nodes;
	struct vl_lab_fabric *fabric;
	struct vl_lab_meter *meter;
	struct vl_lab_storms *storms;
	struct vl_live_capture *capture; /* NULL: none */
	unsigned int worker_count;
	bool is_any_lossless;      /* some switch's priority group */
	uint64_t polling_headroom; /* bytes that each of these has beyond its configuration */
	struct vl_port *ports[VL_LAB_MAX_WIRES]; /* as the split numbers them */
	struct vl_fabric_link no_link;           /* of nodes that run elsewhere */
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
	struct lab *lab = fabric->network;
	struct vl_fabric_link *link = vl_live_network_link(lab->nodes[node], port);

	return link ? link : &lab->no_link;
}

static bool is_here(const struct lab *lab, unsigned int node)
{
	return !lab->run->split || lab->run->split->here[node];
}

static void choose_workers(struct lab *lab)
{
	const struct vl_scenario *scenario = lab->run->scenario;

	if (lab->run->split) {
		for (unsigned int i = 0; i < scenario->node_count; i++)
			lab->fabric->nodes[i].worker = is_here(lab, i) ? 0 : VL_LIVE_ELSEWHERE;
		return;
	}
	for (unsigned int i = 0; i < scenario->node_count; i++)
		lab->fabric->nodes[i].worker =
			scenario->nodes[i].sw ? SWITCHED_WORKER : SENDING_WORKER;
	/* Ranks of workloads both send and receive: half of them here, half there. */
	for (unsigned int i = 1; scenario->workloads.count && i < scenario->endpoint_count; i += 2)
		lab->fabric->nodes[i].worker = SWITCHED_WORKER;
	for (unsigned int i = 0; i < scenario->pair_count; i++)
		lab->fabric->nodes[vl_lab_sink(&scenario->pairs[i])].worker = SWITCHED_WORKER;
}

/* Bytes that come after a pause was asked for, and that no cable holds. */
static uint64_t polling_headroom(const struct vl_scenario *scenario)
{
	return (uint64_t)vl_live_network_frames_between(&network_config) *
	       (vl_scenario_mtu(scenario) + VL_MAX_HEADER_LENGTH);
}

static struct vl_live_node *add_ethernet_node(struct lab *lab, unsigned int node)
{
	const struct vl_scenario *scenario = lab->run->scenario;
	unsigned int worker = lab->fabric->nodes[node].worker;
	struct vl_endpoint_config endpoint;
	struct vl_switch_config *sw;
	struct vl_live_node *added;

	if (!scenario->nodes[node].sw) {
		vl_lab_endpoint_config(scenario, node, &endpoint);
		return vl_live_network_add_endpoint(lab->network, worker, &endpoint, &lab->error);
	}
	sw = vl_scenario_switch_config(scenario, scenario->nodes[node].sw);
	if (!sw) {
		vl_error_set(&lab->error, -ENOMEM, "out of memory");
		return NULL;
	}
	lab->polling_headroom = polling_headroom(scenario);
	lab->is_any_lossless |= vl_scenario_add_headroom(sw, lab->polling_headroom);
	added = vl_live_network_add_switch(lab->network, worker, scenario->nodes[node].name, sw,
					   &lab->error);
	free(sw);
	return added;
}

static struct vl_live_node *add_infiniband_node(struct lab *lab, unsigned int node)
{
	const struct vl_scenario *scenario = lab->run->scenario;
	unsigned int worker = lab->fabric->nodes[node].worker;
	struct vl_infiniband_switch_config sw;
	struct vl_channel_adapter_config adapter;

	if (scenario->nodes[node].sw) {
		vl_lab_infiniband_switch_config(scenario, node, &sw);
		return vl_live_network_add_infiniband_switch(
			lab->network, worker, scenario->nodes[node].name, &sw, &lab->error);
	}
	vl_lab_channel_adapter_config(scenario, node, &adapter);
	return vl_live_network_add_channel_adapter(lab->network, worker, &adapter, &lab->error);
}

static int add_nodes(struct lab *lab)
{
	const struct vl_scenario *scenario = lab->run->scenario;
	bool infiniband = vl_scenario_is_infiniband(scenario);
	struct vl_lab_node *node;

	choose_workers(lab);
	for (unsigned int i = 0; i < scenario->node_count; i++) {
		lab->nodes[i] =
			infiniband ? add_infiniband_node(lab, i) : add_ethernet_node(lab, i);
		if (!lab->nodes[i])
			return -EINVAL;
		node = &lab->fabric->nodes[i];
		node->endpoint = vl_live_node_endpoint(lab->nodes[i]);
		node->sw = vl_live_node_switch(lab->nodes[i]);
		node->adapter = vl_live_node_channel_adapter(lab->nodes[i]);
		node->infiniband_switch = vl_live_node_infiniband_switch(lab->nodes[i]);
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
		if (!is_here(lab, cable->a) || !is_here(lab, cable->b))
			continue;
		vl_lab_link_config(scenario, cable, false, &forward);
		vl_lab_link_config(scenario, cable, true, &backward);
		status = vl_live_network_connect(lab->network, lab->nodes[cable->a], cable->port_a,
						 lab->nodes[cable->b], cable->port_b, &forward,
						 &backward, &lab->error);
		if (status)
			return status;
	}
	return 0;
}

/* ---- A part of a scenario --------------------------------------------------------------- */

static int check_mtu(struct lab *lab, const struct vl_port *port)
{
	uint32_t path_mtu = vl_scenario_mtu(lab->run->scenario);

	if (port->mtu >= path_mtu + VL_CARRIER_OVERHEAD)
		return 0;
	return vl_error_set(&lab->error, -EMSGSIZE,
			    "port %s has an MTU of %u, and packets with a path MTU of %u need %u: "
			    "raise it, or take a lower path_mtu (--set path_mtu=1024)",
			    port->name, port->mtu, path_mtu, path_mtu + VL_CARRIER_OVERHEAD);
}

static int open_ports(struct lab *lab)
{
	const struct vl_lab_split *split = lab->run->split;
	const struct vl_port_config config = {
		.mempools = {vl_live_network_mempool(lab->network, 0)}};

	for (unsigned int i = 0; i < split->port_count; i++) {
		lab->ports[i] = vl_port_open(split->ports[i], &config, &lab->error);
		if (!lab->ports[i])
			return lab->error.code;
		if (check_mtu(lab, lab->ports[i]))
			return -EMSGSIZE;
	}
	return 0;
}

static int add_wires(struct lab *lab)
{
	const struct vl_scenario *scenario = lab->run->scenario;
	const struct vl_lab_split *split = lab->run->split;
	int status = open_ports(lab);

	for (unsigned int i = 0; !status && i < split->wire_count; i++) {
		const struct vl_lab_wire *wire = &split->wires[i];
		struct vl_link_config config;

		vl_lab_link_config(scenario, &scenario->cables[wire->cable], wire->is_backward,
				   &config);
		status = vl_live_network_carry(lab->network, lab->nodes[wire->node], wire->port,
					       &config, lab->ports[wire->leaves_by],
					       (uint16_t)wire->cable, &lab->error);
	}
	return status;
}

static int meet(struct lab *lab)
{
	fprintf(stderr, "verbline lab: waiting for who runs the other nodes\n");
	return vl_live_network_meet(lab->network, vl_lab_split_digest(lab->run->scenario),
				    lab->run->meeting_time, lab->run->interrupted, &lab->error);
}

static void report_wires(const struct lab *lab)
{
	const struct vl_scenario *scenario = lab->run->scenario;
	const struct vl_lab_split *split = lab->run->split;
	struct vl_live_counters workers;

	if (split)
		fprintf(stderr,
			"verbline lab: of flows to or from other processes, bytes are "
			"counted where they arrive, and messages where they were asked for\n");
	for (unsigned int i = 0; split && i < split->wire_count; i++) {
		const struct vl_lab_wire *wire = &split->wires[i];
		const struct vl_scenario_cable *cable = &scenario->cables[wire->cable];
		const struct vl_carrier_counters *counters =
			&vl_live_network_carrier(lab->nodes[wire->node], wire->port)->counters;

		fprintf(stderr,
			"verbline lab: %s-%s by %s: sent %" PRIu64 " packets and %" PRIu64
			" of flow control, received %" PRIu64 " and %" PRIu64 "; lost %" PRIu64
			", late %" PRIu64 ", malformed %" PRIu64 ", of another version %" PRIu64
			", of strangers %" PRIu64 "\n",
			scenario->nodes[cable->a].name, scenario->nodes[cable->b].name,
			split->ports[wire->leaves_by], counters->tx_packets,
			counters->tx_link_packets, counters->rx_packets, counters->rx_link_packets,
			counters->rx_lost, counters->rx_late, counters->rx_malformed,
			counters->rx_version, counters->rx_strangers);
	}
	workers = vl_live_network_counters(lab->network, 0);
	if (workers.wire_foreign || workers.wire_unknown_link)
		fprintf(stderr,
			"verbline lab: dropped %" PRIu64 " frames of others that came by these "
			"ports, and %" PRIu64 " of links that do not end here\n",
			workers.wire_foreign, workers.wire_unknown_link);
}

/* ---- Both ------------------------------------------------------------------------------- */

static int route(struct lab *lab)
{
	char error[256];
	int status;

	if (vl_scenario_is_infiniband(lab->run->scenario))
		status = vl_lab_manage_subnet(lab->fabric, lab->run->results, error, sizeof(error));
	else if (lab->run->scenario->routing == VL_SCENARIO_UP_DOWN)
		status = vl_lab_route_up_down(lab->fabric, error, sizeof(error));
	else
		return vl_live_network_route(lab->network, &lab->error);
	return status ? vl_error_set(&lab->error, status, "%s", error) : 0;
}

static int start_eal(struct lab *lab, const struct vl_live_network_config *network)
{
	const struct vl_eal_config config = {
		.worker_count = lab->worker_count,
		.ports = lab->run->split ? lab->run->split->ports : NULL,
		.port_count = lab->run->split ? lab->run->split->port_count : 0,
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
		.worker_count = lab->worker_count,
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
	interface =
		vl_live_capture_add_interface(lab->capture, vl_lab_link_type(run->scenario),
					      run->scenario->nodes[run->capture_node].name, NULL);
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

static uint64_t turn_storm(void *context, uint64_t now)
{
	return vl_lab_storm_turn(context, now);
}

/* Each on the worker of its endpoint. */
static int add_storms(struct lab *lab)
{
	int status = vl_lab_storms_create(lab->fabric, &lab->storms);

	if (status)
		return vl_error_set(&lab->error, status, "out of memory");
	for (unsigned int i = 0; i < vl_lab_storm_count(lab->storms); i++) {
		struct vl_lab_storm *storm = vl_lab_storm(lab->storms, i);
		struct vl_live_timer timer = {turn_storm, storm, storm->config->start, NULL};

		status = vl_live_network_add_timer(lab->nodes[storm->node], &timer, &lab->error);
		if (status)
			return status;
	}
	return 0;
}

static int build(struct lab *lab)
{
	struct vl_live_network_config config = network_config;
	const struct vl_lab_workload_host host = {0}; /* endpoints are polled all the time */
	const struct vl_scenario *scenario = lab->run->scenario;
	int status;

	config.worker_count = lab->worker_count;
	status = start_eal(lab, &config);
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
	if (!status && lab->run->split)
		status = add_wires(lab);
	if (!status)
		status = route(lab);
	if (!status)
		status = add_storms(lab);
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
	for (visit.worker = 0; visit.worker < lab->worker_count; visit.worker++) {
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
	int status = lab->run->split ? meet(lab) : 0;

	if (!status)
		status = vl_live_network_start(lab->network, &lab->error);
	/* A part is not over when its own flows are: those of the others may come by here. */
	while (!status && now < scenario->duration && (!finished || lab->run->split)) {
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
	if (!status && lab->run->split)
		status = sleep_until(lab, vl_live_network_now(lab->network) + LINGER);
	return status;
}

static void read_workers(const struct lab *lab)
{
	struct vl_results *results = lab->run->results;
	struct vl_live_counters counters;
	double busy;

	for (unsigned int worker = 0; worker < lab->worker_count; worker++) {
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

/* What virtual time runs and real time does not. */
static int check_scenario(struct lab *lab)
{
	const struct vl_scenario *scenario = lab->run->scenario;

	if (scenario->endpoint_count > MAX_ENDPOINTS)
		return vl_error_set(&lab->error, -EINVAL,
				    "%u endpoints are more than %u workers run in real time: at "
				    "most %u; virtual time, without --live, runs them",
				    scenario->endpoint_count, lab->worker_count, MAX_ENDPOINTS);
	return 0;
}

/* From the same scenario in virtual time. */
static void say_what_differs(const struct lab *lab)
{
	if (lab->is_any_lossless)
		fprintf(stderr,
			"verbline lab: live, headroom of lossless groups is %" PRIu64
			" KB larger than it would be in virtual time, for what waits between "
			"workers; so this run does not show whether it suffices for the cables\n",
			lab->polling_headroom / 1000);
	if (lab->run->scenario->sample_interval < SLEEP)
		fprintf(stderr, "verbline lab: live, sample_interval is 1ms at least\n");
}

int vl_lab_run_live(const struct vl_lab_run *run, char *error, size_t error_size)
{
	struct lab lab = {.run = run, .worker_count = run->split ? 1 : VL_LAB_MAX_WORKERS};
	int status = check_scenario(&lab);

	if (!status)
		status = build(&lab);
	if (!status) {
		say_what_differs(&lab);
		status = run_to_end(&lab);
		vl_live_network_stop(lab.network);
		read_workers(&lab);
		if (!status)
			report_wires(&lab);
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
	/* Ports give back buffers of the network's mempools. */
	for (unsigned int i = 0; i < VL_LAB_MAX_WIRES; i++)
		vl_port_close(lab.ports[i]);
	vl_live_network_destroy(lab.network);
	vl_lab_storms_destroy(lab.storms);
	free(lab.nodes);
	if (vl_eal_is_running())
		vl_eal_stop();
	return status;
}
