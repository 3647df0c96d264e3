/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/lab_measure.h"

#include <stdlib.h>
#include <string.h>

#define SECOND 1e9

struct vl_lab_meter {
	const struct vl_lab_fabric *fabric;
	struct vl_results *results;
	struct vl_fabric_link *line; /* of the bottleneck */
	struct vl_switch_port *port; /* NULL: the bottleneck is an endpoint's line */
	struct vl_reading reading, before, window;
	uint64_t *received;                /* memory of the three */
	struct vl_histogram queue_lengths; /* bytes, in the window */
	uint64_t queue_max;                /* in the window */
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
				       .qp_count = scenario->qp_count};
	results->qps = calloc(results->qp_count, sizeof(*results->qps));
	results->flow_times = calloc(scenario->flows.count, sizeof(*results->flow_times));
	results->samples = calloc(samples, sizeof(*results->samples));
	results->rates = calloc(samples * traced, sizeof(*results->rates));
	if (results->qps && results->flow_times && results->samples && results->rates)
		return true;
	vl_results_release(results);
	return false;
}

void vl_results_release(struct vl_results *results)
{
	free(results->qps);
	free(results->flow_times);
	free(results->samples);
	free(results->rates);
	*results = (struct vl_results){0};
}

/* ---- Readings ---------------------------------------------------------------------------- */

/* What is known of the bottleneck before the run. */
static void describe_bottleneck(const struct vl_lab_meter *meter)
{
	const struct vl_scenario *scenario = meter->fabric->scenario;
	unsigned int node = scenario->bottleneck.node, port = scenario->bottleneck.port;
	struct vl_bottleneck_result *result = &meter->results->bottleneck;
	const struct vl_scenario_switch *sw = scenario->nodes[node].sw;

	result->node = scenario->nodes[node].name;
	for (unsigned int i = 0; i < scenario->cable_count; i++) {
		const struct vl_scenario_cable *cable = &scenario->cables[i];

		if (cable->a == node && cable->port_a == port)
			result->neighbour = scenario->nodes[cable->b].name;
		else if (cable->b == node && cable->port_b == port)
			result->neighbour = scenario->nodes[cable->a].name;
	}
	result->rate = meter->line->config.rate;
	result->has_queue = meter->port != NULL;
	if (sw && sw->has_ecn) {
		result->kmin = sw->ecn.kmin;
		result->kmax = sw->ecn.kmax;
	}
}

struct vl_lab_meter *vl_lab_meter_create(const struct vl_lab_fabric *fabric,
					 struct vl_results *results)
{
	const struct vl_scenario *scenario = fabric->scenario;
	unsigned int node = scenario->bottleneck.node, port = scenario->bottleneck.port;
	struct vl_lab_meter *meter = calloc(1, sizeof(*meter));

	if (!meter)
		return NULL;
	meter->fabric = fabric;
	meter->results = results;
	meter->received = calloc(3 * (size_t)scenario->qp_count, sizeof(*meter->received));
	if (!meter->received) {
		free(meter);
		return NULL;
	}
	meter->reading.received = meter->received;
	meter->before.received = meter->received + scenario->qp_count;
	meter->window.received = meter->received + 2 * (size_t)scenario->qp_count;
	meter->line = fabric->link(fabric, node, port);
	if (fabric->nodes[node].sw)
		meter->port = &fabric->nodes[node].sw->ports[port];
	describe_bottleneck(meter);
	return meter;
}

void vl_lab_meter_destroy(struct vl_lab_meter *meter)
{
	if (!meter)
		return;
	free(meter->received);
	free(meter);
}

void vl_lab_meter_begin(struct vl_lab_meter *meter, uint64_t now)
{
	uint64_t *received = meter->reading.received;

	meter->reading = (struct vl_reading){.time = now, .received = received};
}

static uint64_t queue_drops(const struct vl_switch_queue_counters *counters)
{
	return counters->drop_red + counters->drop_queue_full + counters->drop_buffer_full +
	       counters->drop_headroom;
}

static void read_switch(struct vl_reading *reading, const struct vl_switch *sw)
{
	const struct vl_switch_port *port;

	for (uint32_t i = 0; i < sw->config.ports; i++) {
		port = &sw->ports[i];
		for (unsigned int priority = 0; priority < VL_SWITCH_PRIORITIES; priority++) {
			reading->ecn_marked += port->queue_counters[priority].ecn_marked;
			reading->drops += queue_drops(&port->queue_counters[priority]);
			reading->pauses += port->pfc.frames[priority];
		}
	}
}

static void read_endpoint(struct vl_reading *reading, const struct vl_endpoint *endpoint)
{
	const struct vl_counters *counters = vl_device_counters(endpoint->device);

	reading->cnp_tx += counters->cnp_tx;
	reading->retransmitted += counters->data_frames_retransmitted;
	for (unsigned int priority = 0; priority < VL_PFC_PRIORITIES; priority++)
		reading->pauses += endpoint->pfc.frames[priority];
}

static void read_link(struct vl_reading *reading, const struct vl_fabric_link *link)
{
	if (!link)
		return;
	reading->ecn_marked += link->counters.marked;
	reading->drops += link->counters.dropped_loss + link->counters.dropped_mtu;
}

static void read_bottleneck(struct vl_lab_meter *meter, uint64_t now)
{
	struct vl_reading *reading = &meter->reading;
	struct vl_frame_queue *queue;

	reading->line_bits = 8 * (meter->line->counters.bytes_tx +
				  VL_ETHERNET_OVERHEAD * meter->line->counters.frames_tx);
	if (!meter->port)
		return;
	for (unsigned int priority = 0; priority < VL_SWITCH_PRIORITIES; priority++) {
		queue = &meter->port->queues[priority];
		reading->queue_area += vl_frame_queue_area(queue, now);
		reading->queue_bytes += queue->bytes;
		reading->queue_watermark += queue->watermark;
		vl_frame_queue_reset_watermark(queue);
	}
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

	for (unsigned int i = 0; i < scenario->node_count; i++) {
		if (fabric->nodes[i].worker != worker)
			continue;
		if (fabric->nodes[i].sw)
			read_switch(&meter->reading, fabric->nodes[i].sw);
		else
			read_endpoint(&meter->reading, fabric->nodes[i].endpoint);
		for (unsigned int port = 0; port < scenario->nodes[i].ports; port++)
			read_link(&meter->reading, fabric->link(fabric, i, port));
	}
	if (fabric->nodes[scenario->bottleneck.node].worker == worker)
		read_bottleneck(meter, now);
	read_received(meter, worker);
}

static void copy_reading(struct vl_reading *to, const struct vl_reading *from, unsigned int count)
{
	uint64_t *received = to->received;

	*to = *from;
	to->received = received;
	memcpy(received, from->received, count * sizeof(*received));
}

void vl_lab_meter_sample(struct vl_lab_meter *meter)
{
	struct vl_results *results = meter->results;
	const struct vl_reading *now = &meter->reading, *before = &meter->before;
	double interval = (double)(now->time - before->time);
	struct vl_sample *sample;

	if (now->time == before->time)
		return;
	if (now->queue_watermark > meter->queue_max)
		meter->queue_max = now->queue_watermark;
	if (results->sample_count < results->sample_capacity) {
		sample = &results->samples[results->sample_count];
		*sample = (struct vl_sample){
			.time = now->time,
			.utilization = (double)(now->line_bits - before->line_bits) * SECOND /
				       (interval * (double)meter->line->config.rate),
			.queue_mean = (double)(now->queue_area - before->queue_area) / interval,
			.queue_max = now->queue_watermark,
			.ecn_marked = now->ecn_marked - before->ecn_marked,
			.cnp_tx = now->cnp_tx - before->cnp_tx,
			.drops = now->drops - before->drops,
			.pauses = now->pauses - before->pauses,
			.retransmitted = now->retransmitted - before->retransmitted,
			.rates = results->rates +
				 (size_t)results->sample_count * results->traced_count,
		};
		for (unsigned int i = 0; i < results->traced_count; i++)
			sample->rates[i] = (double)(now->received[i] - before->received[i]) * 8 *
					   SECOND / interval;
		results->sample_count++;
	}
	copy_reading(&meter->before, now, results->qp_count);
}

void vl_lab_meter_mark_window(struct vl_lab_meter *meter)
{
	copy_reading(&meter->window, &meter->before, meter->results->qp_count);
	meter->results->window_start = meter->window.time;
	memset(&meter->queue_lengths, 0, sizeof(meter->queue_lengths));
	meter->queue_max = 0;
}

uint64_t vl_lab_meter_queue(const struct vl_lab_meter *meter)
{
	uint64_t bytes = 0;

	for (unsigned int i = 0; meter->port && i < VL_SWITCH_PRIORITIES; i++)
		bytes += meter->port->queues[i].bytes;
	return bytes;
}

struct vl_histogram *vl_lab_meter_queue_lengths(struct vl_lab_meter *meter)
{
	return &meter->queue_lengths;
}

uint64_t vl_lab_meter_queue_read(const struct vl_lab_meter *meter)
{
	return meter->before.queue_bytes;
}

/* ---- After the run ------------------------------------------------------------------------ */

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
	uint64_t start = meter->window.time, end = meter->before.time;
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
		.requester = *vl_qp_counters(requester),
		.responder = *vl_qp_counters(responder),
	};
	report = vl_query_cc(pair->flow->verb == VL_FLOW_READ ? responder : requester, end);
	if (report.rate != UINT64_MAX)
		result->cc_rate = (double)report.rate;
	if (pair->start > start)
		start = pair->start;
	if (progress->finished && progress->last_completion < end)
		end = progress->last_completion;
	if (end > start)
		result->goodput =
			(double)(meter->before.received[qp] - meter->window.received[qp]) * 8 *
			SECOND / (double)(end - start);
}

/* Over the window, of all queue pairs and of those at the bottleneck; and how even the latter are:
 * Jain's index is (sum x)^2 / (n sum x^2). */
static void finish_goodput(struct vl_lab_meter *meter)
{
	struct vl_results *results = meter->results;
	double window = (double)(meter->before.time - meter->window.time);
	double sum = 0, squares = 0, rate, goodput;

	for (unsigned int i = 0; i < results->qp_count && window > 0; i++) {
		goodput = (double)(meter->before.received[i] - meter->window.received[i]) * 8 *
			  SECOND / window;
		results->goodput += goodput;
		if (!results->qps[i].pair->crosses_bottleneck)
			continue;
		results->bottleneck_goodput += goodput;
		if (results->qps[i].pair->flow->rate)
			continue;
		rate = results->qps[i].goodput;
		sum += rate;
		squares += rate * rate;
		results->jain_count++;
	}
	if (results->jain_count >= 2 && squares > 0)
		results->jain = sum * sum / (results->jain_count * squares);
}

static void finish_bottleneck(struct vl_lab_meter *meter)
{
	struct vl_bottleneck_result *result = &meter->results->bottleneck;
	const struct vl_reading *last = &meter->before, *first = &meter->window;
	double window = (double)(last->time - first->time);

	if (window > 0) {
		result->utilization = (double)(last->line_bits - first->line_bits) * SECOND /
				      (window * (double)result->rate);
		result->queue_mean = (double)(last->queue_area - first->queue_area) / window;
	}
	result->queue_p99 = (double)vl_histogram_percentile(&meter->queue_lengths, 0.99);
	result->queue_max = meter->queue_max;
}

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

/* A port's time in pause, all priorities added. */
static void add_paused(struct vl_results *results, const char *node,
		       const struct vl_pfc_receiver *pause)
{
	uint64_t paused = 0;

	for (unsigned int priority = 0; priority < VL_PFC_PRIORITIES; priority++)
		paused += pause->paused_time[priority];
	results->totals.pfc_paused_ns += paused;
	if (paused <= results->most_paused_ns)
		return;
	results->most_paused_ns = paused;
	results->most_paused_node = node;
}

static void total_switch(struct vl_results *results, const char *name, const struct vl_switch *sw)
{
	struct vl_totals *totals = &results->totals;
	const struct vl_switch_port *port;
	const struct vl_switch_queue_counters *counters;

	for (uint32_t i = 0; i < sw->config.ports; i++) {
		port = &sw->ports[i];
		add_paused(results, name, &port->pause);
		add_drop(results, "switch", "no_route", port->counters.drop_no_route);
		add_drop(results, "switch", "malformed", port->counters.drop_malformed);
		totals->switch_drops +=
			port->counters.drop_no_route + port->counters.drop_malformed;
		for (unsigned int priority = 0; priority < VL_SWITCH_PRIORITIES; priority++) {
			counters = &port->queue_counters[priority];
			totals->ecn_marked += counters->ecn_marked;
			totals->switch_drops += queue_drops(counters);
			totals->pfc_pause_tx += port->pfc.frames[priority];
			totals->pfc_resume_tx += port->pfc.resumes[priority];
			add_drop(results, "switch", "red", counters->drop_red);
			add_drop(results, "switch", "queue_full", counters->drop_queue_full);
			add_drop(results, "switch", "buffer_full", counters->drop_buffer_full);
			add_drop(results, "switch", "headroom", counters->drop_headroom);
		}
	}
}

static void total_endpoint(struct vl_results *results, const char *name,
			   const struct vl_endpoint *endpoint)
{
	static const char *const reasons[] = {
#define DROP_NAME(name, meaning) #name,
		VL_DROPS(DROP_NAME)
#undef DROP_NAME
	};
	const struct vl_counters *counters = vl_device_counters(endpoint->device);
	const uint64_t *drops = vl_device_drops(endpoint->device);
	struct vl_totals *totals = &results->totals;

	add_paused(results, name, &endpoint->pause);
	totals->ecn_ce_rx += counters->ecn_ce_rx;
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
	for (unsigned int priority = 0; priority < VL_PFC_PRIORITIES; priority++) {
		totals->pfc_pause_tx += endpoint->pfc.frames[priority];
		totals->pfc_resume_tx += endpoint->pfc.resumes[priority];
	}
	for (unsigned int i = 0; i < VL_DROP_COUNT; i++) {
		totals->endpoint_drops += drops[i];
		add_drop(results, "endpoint", reasons[i], drops[i]);
	}
}

static void total_link(struct vl_results *results, const struct vl_fabric_link *link)
{
	results->totals.ecn_marked += link->counters.marked;
	results->totals.link_losses += link->counters.dropped_loss + link->counters.dropped_mtu;
	results->totals.link_corrupted += link->counters.corrupted;
	add_drop(results, "link", "loss", link->counters.dropped_loss);
	add_drop(results, "link", "mtu", link->counters.dropped_mtu);
}

void vl_lab_meter_finish(struct vl_lab_meter *meter)
{
	const struct vl_lab_fabric *fabric = meter->fabric;
	const struct vl_scenario *scenario = fabric->scenario;
	const struct vl_scenario_flow *flows = scenario->flows.elements;
	struct vl_results *results = meter->results;
	unsigned int qp = 0;

	results->end = meter->before.time;
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
	finish_bottleneck(meter);
	for (unsigned int i = 0; i < scenario->node_count; i++) {
		if (fabric->nodes[i].sw)
			total_switch(results, scenario->nodes[i].name, fabric->nodes[i].sw);
		else
			total_endpoint(results, scenario->nodes[i].name, fabric->nodes[i].endpoint);
		for (unsigned int port = 0; port < scenario->nodes[i].ports; port++)
			total_link(results, fabric->link(fabric, i, port));
	}
}
