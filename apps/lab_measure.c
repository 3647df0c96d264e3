/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/lab_measure.h"

#include "apps/lab_deadlock.h"
#include "apps/lab_queues.h"
#include "apps/lab_totals.h"
#include "apps/scenario/switch_config.h"

#include <stdlib.h>
#include <string.h>

#define SECOND   1e9
#define READINGS 4u
/* Of the window, that a queue pair stands still: it has stalled. */
#define STALLED 0.1

struct vl_lab_meter {
	const struct vl_lab_fabric *fabric;
	struct vl_results *results;
	unsigned int bottleneck; /* port, as the scenario numbers them */
	unsigned int port_count;
	bool is_in_window;
	bool is_ended; /* the window is: last is where */
	struct vl_reading reading, before, window, last;
	/* Memory of the four. */
	uint64_t *received;
	uint64_t *moved; /* ns, by queue pair: the last sample that found more than before */
	struct vl_lab_port_reading *ports;
	struct vl_lab_deadlock *deadlock;
	uint64_t watermarks[VL_LAB_QUEUES]; /* of the bottleneck's queues, in the window */
	struct vl_histogram queue_lengths;  /* bytes, of the bottleneck in the window */
};

/* ---- Results ----------------------------------------------------------------------------- */

bool vl_results_init(struct vl_results *results, const struct vl_scenario *scenario)
{
	uint64_t samples = scenario->duration / scenario->sample_interval + 4;
	unsigned int traced =
		scenario->qp_count < VL_MAX_TRACED ? scenario->qp_count : VL_MAX_TRACED;

	*results = (struct vl_results){.scenario = scenario,
				       .sample_capacity = (unsigned int)samples,
				       .traced_count = traced,
				       .qp_count = scenario->qp_count,
				       .link_count = 2 * scenario->cable_count,
				       .workload_count = scenario->workloads.count};
	results->qps = calloc(results->qp_count, sizeof(*results->qps));
	results->flow_times = calloc(scenario->flows.count, sizeof(*results->flow_times));
	results->samples = calloc(samples, sizeof(*results->samples));
	results->rates = calloc(samples * traced, sizeof(*results->rates));
	results->links = calloc(results->link_count, sizeof(*results->links));
	results->workloads =
		calloc(results->workload_count + (size_t)1, sizeof(*results->workloads));
	if (results->workloads && results->qps && results->flow_times && results->samples &&
	    results->rates && results->links && vl_lab_allocate_queues(scenario, results))
		return true;
	vl_results_release(results);
	return false;
}

void vl_results_release(struct vl_results *results)
{
	for (unsigned int i = 0; results->workloads && i < results->workload_count; i++)
		vl_workload_metrics_release(&results->workloads[i].metrics);
	free(results->workloads);
	free(results->qps);
	free(results->flow_times);
	free(results->samples);
	free(results->rates);
	free(results->links);
	free(results->queues);
	free(results->groups);
	free(results->switches);
	*results = (struct vl_results){0};
}

/* ---- Readings ---------------------------------------------------------------------------- */

/* What is known before the run. */
static void describe_links(const struct vl_lab_meter *meter)
{
	const struct vl_scenario *scenario = meter->fabric->scenario;
	unsigned int at = 0;

	for (unsigned int node = 0; node < scenario->node_count; node++) {
		for (unsigned int port = 0; port < scenario->nodes[node].ports; port++, at++) {
			meter->results->links[at] = (struct vl_link_result){
				.node = node,
				.port = port,
				.neighbour = scenario->ports[at].neighbour,
				.rate = scenario->ports[at].cable->links->rate,
				.is_elsewhere =
					meter->fabric->nodes[node].worker >= VL_LAB_MAX_WORKERS,
			};
		}
	}
}

static void describe_bottleneck(const struct vl_lab_meter *meter)
{
	const struct vl_scenario *scenario = meter->fabric->scenario;
	const struct vl_link_result *link = &meter->results->links[meter->bottleneck];
	struct vl_bottleneck_result *result = &meter->results->bottleneck;
	const struct vl_scenario_switch *sw = scenario->nodes[link->node].sw;
	struct vl_red_curve curve;

	result->node = scenario->nodes[link->node].name;
	result->neighbour = scenario->nodes[link->neighbour].name;
	result->rate = link->rate;
	result->has_queue = sw != NULL;
	if (sw && vl_scenario_marking(scenario, sw, link->port, &curve)) {
		result->kmin = curve.kmin;
		result->kmax = curve.kmax;
	}
}

struct vl_lab_meter *vl_lab_meter_create(const struct vl_lab_fabric *fabric,
					 struct vl_results *results)
{
	const struct vl_scenario *scenario = fabric->scenario;
	struct vl_lab_meter *meter = calloc(1, sizeof(*meter));
	struct vl_reading *readings[READINGS];

	if (!meter)
		return NULL;
	meter->fabric = fabric;
	meter->results = results;
	meter->port_count = 2 * scenario->cable_count;
	meter->is_in_window = scenario->warm_up == 0;
	meter->bottleneck =
		scenario->nodes[scenario->bottleneck.node].first_port + scenario->bottleneck.port;
	meter->received = calloc(READINGS * (size_t)scenario->qp_count, sizeof(*meter->received));
	meter->ports = calloc(READINGS * (size_t)meter->port_count, sizeof(*meter->ports));
	meter->moved = calloc(scenario->qp_count, sizeof(*meter->moved));
	meter->deadlock = vl_lab_deadlock_create(fabric);
	if (!meter->received || !meter->moved || !meter->ports || !meter->deadlock) {
		vl_lab_meter_destroy(meter);
		return NULL;
	}
	readings[0] = &meter->reading;
	readings[1] = &meter->before;
	readings[2] = &meter->window;
	readings[3] = &meter->last;
	for (unsigned int i = 0; i < READINGS; i++) {
		readings[i]->received = meter->received + i * (size_t)scenario->qp_count;
		readings[i]->ports = meter->ports + i * (size_t)meter->port_count;
	}
	describe_links(meter);
	describe_bottleneck(meter);
	return meter;
}

void vl_lab_meter_destroy(struct vl_lab_meter *meter)
{
	if (!meter)
		return;
	vl_lab_deadlock_destroy(meter->deadlock);
	free(meter->received);
	free(meter->moved);
	free(meter->ports);
	free(meter);
}

void vl_lab_meter_begin(struct vl_lab_meter *meter, uint64_t now)
{
	struct vl_reading *reading = &meter->reading;

	*reading = (struct vl_reading){
		.time = now, .received = reading->received, .ports = reading->ports};
	for (unsigned int i = 0; i < VL_LAB_MAX_WORKERS; i++)
		reading->times[i] = now;
}

static void read_endpoint(struct vl_reading *reading, unsigned int worker,
			  const struct vl_endpoint *endpoint)
{
	const struct vl_counters *counters = vl_device_counters(endpoint->device);

	reading->arrived[worker] += counters->data_bytes_rx;
	reading->cnp_tx += counters->cnp_tx;
	reading->retransmitted += counters->data_frames_retransmitted;
}

/* Of the bottleneck's queues, which begin anew with each sample. */
static void take_watermarks(struct vl_lab_meter *meter, unsigned int node, unsigned int port)
{
	uint64_t watermarks[VL_LAB_QUEUES];

	vl_lab_port_watermarks(meter->fabric, node, port, watermarks);
	for (unsigned int i = 0; i < VL_LAB_QUEUES; i++) {
		if (watermarks[i] > meter->watermarks[i])
			meter->watermarks[i] = watermarks[i];
	}
	vl_lab_port_reset_watermarks(meter->fabric, node, port);
}

static void read_port(struct vl_lab_meter *meter, unsigned int node, unsigned int port,
		      uint64_t now)
{
	const struct vl_lab_fabric *fabric = meter->fabric;
	struct vl_reading *reading = &meter->reading;
	unsigned int at = fabric->scenario->nodes[node].first_port + port;
	struct vl_lab_port_reading *found = &reading->ports[at];
	struct vl_link_result *link = &meter->results->links[at];

	vl_lab_port_read(fabric, node, port, now, found);
	if (at == meter->bottleneck)
		take_watermarks(meter, node, port);
	else if (!meter->is_in_window)
		vl_lab_port_reset_watermarks(fabric, node, port);
	reading->ecn_marked += found->marked;
	reading->drops += vl_link_drop_count(&found->drops);
	reading->pauses += found->pauses;
	if (found->queue_watermark > link->queue_max)
		link->queue_max = found->queue_watermark;
}

static void read_received(struct vl_lab_meter *meter, unsigned int worker)
{
	const struct vl_lab_fabric *fabric = meter->fabric;
	const struct vl_scenario_pair *pair;
	unsigned int qp = 0;

	for (unsigned int i = 0; i < fabric->scenario->pair_count; i++) {
		pair = &fabric->scenario->pairs[i];
		if (fabric->nodes[vl_lab_sink(pair)].worker != worker) {
			qp += (unsigned int)pair->flow->qps;
			continue;
		}
		for (uint32_t n = 0; n < pair->flow->qps; n++)
			meter->reading.received[qp++] = vl_flow_received_bytes(fabric->flows[i], n);
	}
}

void vl_lab_meter_read(struct vl_lab_meter *meter, unsigned int worker, uint64_t now)
{
	const struct vl_lab_fabric *fabric = meter->fabric;
	const struct vl_scenario *scenario = fabric->scenario;

	meter->reading.times[worker] = now;
	if (now > meter->reading.time)
		meter->reading.time = now;
	for (unsigned int i = 0; i < scenario->node_count; i++) {
		if (fabric->nodes[i].worker != worker)
			continue;
		if (fabric->nodes[i].endpoint)
			read_endpoint(&meter->reading, worker, fabric->nodes[i].endpoint);
		for (unsigned int port = 0; port < scenario->nodes[i].ports; port++)
			read_port(meter, i, port, now);
	}
	read_received(meter, worker);
}

static void copy_reading(const struct vl_lab_meter *meter, struct vl_reading *to,
			 const struct vl_reading *from)
{
	struct vl_reading memory = *to;

	*to = *from;
	to->received = memory.received;
	to->ports = memory.ports;
	memcpy(to->received, from->received, meter->results->qp_count * sizeof(*to->received));
	memcpy(to->ports, from->ports, meter->port_count * sizeof(*to->ports));
}

/* Of all workers, bit/s between two readings. */
static double arrival_rate(const struct vl_reading *from, const struct vl_reading *to)
{
	double rate = 0;

	for (unsigned int i = 0; i < VL_LAB_MAX_WORKERS; i++) {
		if (to->times[i] > from->times[i])
			rate += (double)(to->arrived[i] - from->arrived[i]) * 8 * SECOND /
				(double)(to->times[i] - from->times[i]);
	}
	return rate;
}

/* Whose times are a node's; any for those that another process runs. */
static unsigned int worker_of(const struct vl_lab_meter *meter, unsigned int node)
{
	unsigned int worker = meter->fabric->nodes[node].worker;

	return worker < VL_LAB_MAX_WORKERS ? worker : 0;
}

/* bit/s of payload by a queue pair between two readings. */
static double receiving_rate(const struct vl_lab_meter *meter, const struct vl_scenario_pair *pair,
			     unsigned int qp, const struct vl_reading *from,
			     const struct vl_reading *to)
{
	unsigned int worker = worker_of(meter, vl_lab_sink(pair));

	return to->times[worker] > from->times[worker]
		       ? (double)(to->received[qp] - from->received[qp]) * 8 * SECOND /
				 (double)(to->times[worker] - from->times[worker])
		       : 0;
}

static void sample_rates(const struct vl_lab_meter *meter, double *rates)
{
	const struct vl_scenario *scenario = meter->fabric->scenario;
	unsigned int traced = meter->results->traced_count, qp = 0;

	for (unsigned int i = 0; i < scenario->pair_count; i++) {
		for (uint32_t n = 0; n < scenario->pairs[i].flow->qps && qp < traced; n++, qp++)
			rates[qp] = receiving_rate(meter, &scenario->pairs[i], qp, &meter->before,
						   &meter->reading);
	}
}

void vl_lab_meter_sample(struct vl_lab_meter *meter)
{
	struct vl_results *results = meter->results;
	const struct vl_reading *now = &meter->reading, *before = &meter->before;
	const struct vl_lab_port_reading *line = &now->ports[meter->bottleneck];
	const struct vl_lab_port_reading *line_before = &before->ports[meter->bottleneck];
	unsigned int worker = worker_of(meter, meter->fabric->scenario->bottleneck.node);
	double interval = (double)(now->times[worker] - before->times[worker]);
	struct vl_sample *sample;

	if (now->times[worker] == before->times[worker])
		return;
	if (results->sample_count < results->sample_capacity) {
		sample = &results->samples[results->sample_count];
		*sample = (struct vl_sample){
			.time = now->time,
			.utilization = (double)(line->line_bits - line_before->line_bits) * SECOND /
				       (interval * (double)results->bottleneck.rate),
			.queue_mean =
				(double)(line->queue_area - line_before->queue_area) / interval,
			.queue_max = line->queue_watermark,
			.goodput = arrival_rate(before, now),
			.ecn_marked = now->ecn_marked - before->ecn_marked,
			.cnp_tx = now->cnp_tx - before->cnp_tx,
			.drops = now->drops - before->drops,
			.pauses = now->pauses - before->pauses,
			.retransmitted = now->retransmitted - before->retransmitted,
			.rates = results->rates +
				 (size_t)results->sample_count * results->traced_count,
		};
		sample_rates(meter, sample->rates);
		results->sample_count++;
	}
	for (unsigned int i = 0; i < results->qp_count; i++) {
		if (now->received[i] != before->received[i])
			meter->moved[i] = now->time;
	}
	vl_lab_deadlock_update(meter->deadlock, before->ports, now->ports, before->time);
	copy_reading(meter, &meter->before, now);
}

void vl_lab_meter_mark_window(struct vl_lab_meter *meter)
{
	copy_reading(meter, &meter->window, &meter->before);
	meter->results->window_start = meter->window.time;
	memset(&meter->queue_lengths, 0, sizeof(meter->queue_lengths));
	memset(meter->watermarks, 0, sizeof(meter->watermarks));
	for (unsigned int i = 0; i < meter->port_count; i++)
		meter->results->links[i].queue_max = 0;
	meter->is_in_window = true;
}

void vl_lab_meter_end_window(struct vl_lab_meter *meter)
{
	copy_reading(meter, &meter->last, &meter->before);
	meter->is_ended = true;
}

uint64_t vl_lab_meter_queue(const struct vl_lab_meter *meter, uint64_t now)
{
	const struct vl_scenario *scenario = meter->fabric->scenario;

	return vl_lab_port_queue_bytes(meter->fabric, scenario->bottleneck.node,
				       scenario->bottleneck.port, now);
}

struct vl_histogram *vl_lab_meter_queue_lengths(struct vl_lab_meter *meter)
{
	return &meter->queue_lengths;
}

uint64_t vl_lab_meter_queue_read(const struct vl_lab_meter *meter)
{
	return meter->before.ports[meter->bottleneck].queue_bytes;
}

/* ---- After the run ------------------------------------------------------------------------ */

/* Messages are on their way, and for a good part of the window nothing of them has arrived. Of
 * queue pairs whose other end is another process's, that is not known. */
static bool has_stalled(const struct vl_lab_meter *meter, unsigned int qp, uint64_t start,
			const struct vl_generate_progress *progress)
{
	uint64_t end = meter->last.time,
		 since = meter->moved[qp] > start ? meter->moved[qp] : start;

	return !meter->results->is_live && !progress->finished &&
	       progress->posted > progress->completed && end > since &&
	       (double)(end - since) >= STALLED * (double)(end - meter->window.time);
}

static void finish_qp(struct vl_lab_meter *meter, unsigned int qp, unsigned int pair_number,
		      uint32_t number)
{
	const struct vl_lab_fabric *fabric = meter->fabric;
	const struct vl_scenario_pair *pair = &fabric->scenario->pairs[pair_number];
	const struct vl_flow *flow = fabric->flows[pair_number];
	const struct vl_generate_progress *progress = vl_flow_progress(flow, number);
	struct vl_qp *requester = vl_flow_requester_qp(flow, number);
	struct vl_qp *responder = vl_flow_responder_qp(flow, number);
	struct vl_qp_result *result = &meter->results->qps[qp];
	unsigned int worker = worker_of(meter, vl_lab_sink(pair));
	uint64_t start = meter->window.times[worker], end = meter->last.times[worker];
	struct vl_cc_report report;

	*result = (struct vl_qp_result){
		.pair = pair,
		.number = number,
		.requester_qpn = vl_qp_number(requester),
		.responder_qpn = vl_qp_number(responder),
		.messages = progress->completed,
		.bytes = progress->bytes,
		.status = progress->status,
		.finished = progress->finished,
		.stalled = has_stalled(meter, qp, pair->start, progress),
		.requester = *vl_qp_counters(requester),
		.responder = *vl_qp_counters(responder),
	};
	report = vl_query_cc(pair->flow->verb == VL_FLOW_READ ? responder : requester,
			     meter->before.time);
	if (report.rate != UINT64_MAX)
		result->cc_rate = (double)report.rate;
	if (pair->start > start)
		start = pair->start;
	if (progress->finished && progress->last_completion < end)
		end = progress->last_completion;
	result->is_active = end > start;
	if (result->is_active)
		result->goodput = (double)(meter->last.received[qp] - meter->window.received[qp]) *
				  8 * SECOND / (double)(end - start);
}

/* Over the window, of all queue pairs and of those at the bottleneck; and how even the latter are:
 * Jain's index is (sum x)^2 / (n sum x^2). */
static void finish_goodput(struct vl_lab_meter *meter)
{
	struct vl_results *results = meter->results;
	double sum = 0, squares = 0, rate, goodput;

	for (unsigned int i = 0; i < results->qp_count; i++) {
		goodput = receiving_rate(meter, results->qps[i].pair, i, &meter->window,
					 &meter->last);
		results->goodput += goodput;
		if (!results->qps[i].pair->crosses_bottleneck)
			continue;
		results->bottleneck_goodput += goodput;
		if (results->qps[i].pair->flow->rate || !results->qps[i].is_active)
			continue;
		rate = results->qps[i].goodput;
		sum += rate;
		squares += rate * rate;
		results->jain_count++;
	}
	if (results->workload_count)
		results->goodput = arrival_rate(&meter->window, &meter->last);
	if (results->jain_count >= 2 && squares > 0)
		results->jain = sum * sum / (results->jain_count * squares);
}

static void finish_links(struct vl_lab_meter *meter)
{
	const struct vl_lab_port_reading *all, *last, *first;
	struct vl_link_result *link;
	unsigned int worker;
	double window;

	for (unsigned int i = 0; i < meter->port_count; i++) {
		link = &meter->results->links[i];
		all = &meter->before.ports[i];
		last = &meter->last.ports[i];
		first = &meter->window.ports[i];
		worker = worker_of(meter, link->node);
		window = (double)(meter->last.times[worker] - meter->window.times[worker]);
		link->frames = all->frames;
		link->bytes = all->bytes;
		link->pause_ns = all->pause_ns;
		link->pauses = all->pauses;
		link->resumes = all->resumes;
		link->credit_stall_ns = all->credit_stall_ns;
		link->longest_pause_ns = all->longest_pause_ns;
		link->longest_credit_stall_ns = all->longest_credit_stall_ns;
		link->marked = all->marked;
		link->drops = all->drops;
		if (window <= 0)
			continue;
		link->utilization = (double)(last->line_bits - first->line_bits) * SECOND /
				    (window * (double)link->rate);
		link->queue_mean = (double)(last->queue_area - first->queue_area) / window;
	}
}

static void finish_bottleneck(struct vl_lab_meter *meter)
{
	struct vl_bottleneck_result *result = &meter->results->bottleneck;
	const struct vl_link_result *link = &meter->results->links[meter->bottleneck];

	result->utilization = link->utilization;
	result->queue_mean = link->queue_mean;
	result->queue_p99 = (double)vl_histogram_percentile(&meter->queue_lengths, 0.99);
	result->queue_max = link->queue_max;
}

void vl_lab_meter_finish(struct vl_lab_meter *meter)
{
	const struct vl_lab_fabric *fabric = meter->fabric;
	const struct vl_scenario *scenario = fabric->scenario;
	const struct vl_scenario_flow *flows = scenario->flows.elements;
	struct vl_results *results = meter->results;
	unsigned int qp = 0;

	if (!meter->is_ended)
		vl_lab_meter_end_window(meter);
	results->end = meter->before.time;
	results->window_end = meter->last.time;
	for (unsigned int i = 0; i < scenario->pair_count; i++) {
		for (uint32_t n = 0; n < scenario->pairs[i].flow->qps; n++)
			finish_qp(meter, qp++, i, n);
	}
	for (unsigned int i = 0; i < fabric->histogram_count; i++) {
		unsigned int flow = fabric->histogram_count == scenario->pair_count
					    ? (unsigned int)(scenario->pairs[i].flow - flows)
					    : i;

		vl_histogram_add(&results->flow_times[flow], &fabric->completion_times[i]);
	}
	finish_goodput(meter);
	finish_links(meter);
	finish_bottleneck(meter);
	vl_lab_read_queues(fabric, results, meter->bottleneck, meter->watermarks);
	vl_lab_deadlock_finish(meter->deadlock, results);
	vl_lab_total(fabric, results);
}
