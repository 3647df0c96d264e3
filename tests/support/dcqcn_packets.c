/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "tests/support/dcqcn_packets.h"

#include "transport/random.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define KMIN       5e3
#define KMAX       200e3
#define PMAX       0.01
#define GAIN       (1.0 / 256)
#define PERIOD     55e-6
#define WINDOW     50e-6
#define BYTES      10e6
#define INCREASE   40e6
#define RECOVERIES 5u
/* Packets that may wait; far more than ever do. */
#define ROOM 65536u

struct flow {
	double rate, target, alpha;
	double next_packet, next_alpha, next_increase;
	double bytes;
	unsigned int timer_events, byte_events;
	double window_start; /* of the receiver: when it sent the last CNP */
	bool is_marked;      /* within that window */
	double cut;          /* when the CNP under way arrives */
};

struct model {
	const struct dcqcn_packets_setting *setting;
	struct flow flows[DCQCN_PACKETS_MOST_FLOWS];
	struct vl_random random;
	uint16_t waiting[ROOM]; /* flows of the packets that wait */
	uint64_t first, last;
	double now, line_free;
	double area, alpha_area, sent;
};

static void increase(struct model *model, struct flow *flow)
{
	if (flow->timer_events > RECOVERIES || flow->byte_events > RECOVERIES)
		flow->target = fmin(flow->target + INCREASE, model->setting->rate);
	flow->rate = (flow->rate + flow->target) / 2;
}

static void send_cnp(struct model *model, struct flow *flow)
{
	flow->window_start = model->now;
	flow->is_marked = false;
	flow->cut = model->now + model->setting->delay;
}

static void cut(struct model *model, struct flow *flow)
{
	flow->cut = INFINITY;
	flow->target = flow->rate;
	flow->rate *= 1 - flow->alpha / 2;
	flow->alpha = (1 - GAIN) * flow->alpha + GAIN;
	flow->next_alpha = flow->next_increase = model->now + PERIOD;
	flow->bytes = 0;
	flow->timer_events = flow->byte_events = 0;
}

/* What is due of both points; the times between packets are far shorter than any of these. */
static void run_timers(struct model *model, struct flow *flow)
{
	if (flow->is_marked && model->now >= flow->window_start + WINDOW)
		send_cnp(model, flow);
	if (model->now >= flow->cut)
		cut(model, flow);
	if (model->now >= flow->next_alpha) {
		flow->next_alpha += PERIOD;
		flow->alpha *= 1 - GAIN;
	}
	if (model->now >= flow->next_increase) {
		flow->next_increase += PERIOD;
		flow->timer_events++;
		increase(model, flow);
	}
	if (flow->bytes >= BYTES) {
		flow->bytes -= BYTES;
		flow->byte_events++;
		increase(model, flow);
	}
}

static bool is_measured(const struct model *model)
{
	return model->now > model->setting->settled;
}

/* The packet counts as waiting when it is marked. */
static void dequeue(struct model *model)
{
	double queue = (double)(model->last - model->first) * model->setting->packet;
	struct flow *flow = &model->flows[model->waiting[model->first++ % ROOM]];
	double probability = queue <= KMIN  ? 0
			     : queue > KMAX ? 1
					    : (queue - KMIN) / (KMAX - KMIN) * PMAX;

	model->line_free = model->now + model->setting->packet * 8 / model->setting->rate;
	if (is_measured(model))
		model->sent += model->setting->packet;
	if (vl_random_unit(&model->random) >= probability)
		return;
	if (model->now >= flow->window_start + WINDOW)
		send_cnp(model, flow);
	else
		flow->is_marked = true;
}

static void enqueue(struct model *model, unsigned int number)
{
	struct flow *flow = &model->flows[number];

	model->waiting[model->last++ % ROOM] = (uint16_t)number;
	flow->bytes += model->setting->packet;
	flow->next_packet = model->now + model->setting->packet * 8 / flow->rate;
}

static unsigned int next_sender(const struct model *model)
{
	unsigned int next = 0;

	for (unsigned int i = 1; i < model->setting->flows; i++) {
		if (model->flows[i].next_packet < model->flows[next].next_packet)
			next = i;
	}
	return next;
}

static void advance(struct model *model, double time)
{
	double elapsed = time - model->now;

	if (is_measured(model)) {
		model->area +=
			elapsed * (double)(model->last - model->first) * model->setting->packet;
		for (unsigned int i = 0; i < model->setting->flows; i++)
			model->alpha_area += elapsed * model->flows[i].alpha;
	}
	model->now = time;
	for (unsigned int i = 0; i < model->setting->flows; i++)
		run_timers(model, &model->flows[i]);
}

struct dcqcn_packets_result dcqcn_packets(const struct dcqcn_packets_setting *setting)
{
	struct model *model = calloc(1, sizeof(*model));
	struct dcqcn_packets_result result = {0};
	double interval = setting->end - setting->settled;

	if (!model)
		abort();
	model->setting = setting;
	model->random.state = setting->seed;
	for (unsigned int i = 0; i < setting->flows; i++)
		model->flows[i] = (struct flow){
			.rate = setting->rate,
			.target = setting->rate,
			.alpha = 1,
			.next_packet = i * setting->packet * 8 / setting->rate / setting->flows,
			.next_alpha = PERIOD,
			.next_increase = PERIOD,
			.window_start = -WINDOW,
			.cut = INFINITY,
		};
	while (model->now < setting->end) {
		unsigned int sender = next_sender(model);
		double arrival = model->flows[sender].next_packet;
		double departure =
			model->first == model->last ? INFINITY : fmax(model->line_free, model->now);

		advance(model, fmin(arrival, departure));
		if (departure <= arrival)
			dequeue(model);
		else
			enqueue(model, sender);
	}
	result.mean_queue = model->area / interval;
	result.alpha = model->alpha_area / interval / setting->flows;
	result.use = model->sent * 8 / setting->rate / interval;
	free(model);
	return result;
}
