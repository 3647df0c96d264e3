/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * N flows of 1000-byte packets over one 40 Gb/s queue that marks as RED does, at dequeue, on the
 * instantaneous length: the reaction and notification points alone, without a transport. The mean
 * queue must be that of the fluid model's fixed point (Zhu et al., CoNEXT 2016, theorem 1), solved
 * exactly for the same parameters, and the rates equal.
 */

#include "tests/support/suite.h"
#include "transport/cc/cc.h"
#include "transport/random.h"

#include <math.h>
#include <string.h>

#define FLOWS_MOST 8
#define PACKET     1000
#define LINE_RATE  UINT64_C(40000000000)
#define SLOT       200  /* ns, of a packet on the line */
#define DELAY      4000 /* ns, from the queue to the receiver and back to the sender */
#define QUEUE      4096 /* packets, never reached */

struct flow {
	struct vl_cc_state state;
	struct vl_notification_point point;
	uint64_t next_send, cnp_time; /* ns; UINT64_MAX: none */
	uint64_t fraction;            /* of next_send, ps << 16 */
	uint64_t sent;
};

struct network {
	struct vl_cc_parameters parameters;
	struct flow flows[FLOWS_MOST];
	unsigned int count;
	struct vl_random random;
	uint8_t queue[QUEUE]; /* flow of each packet */
	unsigned int head, length;
	uint64_t next_departure;
	double queue_time; /* byte ns */
	uint64_t now;
	uint64_t departures;
};

static void send_packet(struct network *network, unsigned int n, uint64_t now)
{
	struct flow *flow = &network->flows[n];
	uint64_t time;

	CU_ASSERT_FATAL(network->length < QUEUE);
	network->queue[(network->head + network->length++) % QUEUE] = (uint8_t)n;
	if (network->length == 1)
		network->next_departure = now + SLOT;
	vl_cc_dcqcn.on_send(&flow->state, &network->parameters, PACKET, now);
	time = vl_cc_dcqcn.byte_time(&flow->state, &network->parameters, now);
	flow->fraction += time ? time * PACKET : (uint64_t)SLOT * 1000 << 16;
	flow->next_send = now + flow->fraction / (UINT64_C(1000) << 16);
	flow->fraction %= UINT64_C(1000) << 16;
	flow->sent++;
}

static bool is_marked(struct network *network)
{
	const double least = 5000, most = 200000, probability = 0.01;
	double length = network->length * (double)PACKET;

	if (length <= least)
		return false;
	return length > most ||
	       vl_random_unit(&network->random) < probability * (length - least) / (most - least);
}

static void depart(struct network *network, uint64_t now)
{
	struct flow *flow = &network->flows[network->queue[network->head]];

	if (vl_notification_due(&flow->point, &network->parameters, is_marked(network),
				now + DELAY / 2))
		flow->cnp_time = now + DELAY;
	network->head = (network->head + 1) % QUEUE;
	network->length--;
	network->departures++;
	network->next_departure = network->length ? now + SLOT : UINT64_MAX;
}

static void run_until(struct network *network, uint64_t end)
{
	for (;;) {
		uint64_t now = network->next_departure;
		int sender = -1, notified = -1;

		for (unsigned int i = 0; i < network->count; i++) {
			if (network->flows[i].cnp_time < now) {
				now = network->flows[i].cnp_time;
				notified = (int)i;
				sender = -1;
			}
			if (network->flows[i].next_send < now) {
				now = network->flows[i].next_send;
				sender = (int)i;
				notified = -1;
			}
		}
		now = now < end ? now : end;
		network->queue_time +=
			network->length * (double)PACKET * (double)(now - network->now);
		network->now = now;
		if (now == end)
			return;
		if (sender >= 0) {
			send_packet(network, (unsigned int)sender, now);
		} else if (notified >= 0) {
			network->flows[notified].cnp_time = UINT64_MAX;
			vl_cc_dcqcn.on_cnp(&network->flows[notified].state, &network->parameters,
					   now);
		} else {
			depart(network, now);
		}
	}
}

/* The root p of a^2 alpha = (b + d)(c + e) tau^2 R_AI R. */
static double fixed_point_queue(unsigned int flows)
{
	const double capacity = LINE_RATE / (8.0 * PACKET), rate = capacity / flows;
	const double tau = 50e-6, alpha_period = 55e-6, timer = 55e-6;
	const double bytes = 10e6 / PACKET, step = 40e6 / (8.0 * PACKET), threshold = 5;
	double low = 1e-9, high = 0.999;

	for (unsigned int i = 0; i < 200; i++) {
		double p = sqrt(low * high), keep = log1p(-p);
		double a = -expm1(tau * rate * keep), alpha = -expm1(alpha_period * rate * keep);
		double b = p / expm1(-bytes * keep), d = p / expm1(-timer * rate * keep);
		double c = b * exp(threshold * bytes * keep);
		double e = d * exp(threshold * timer * rate * keep);

		if (a * a * alpha > (b + d) * (c + e) * tau * tau * step * rate)
			high = p;
		else
			low = p;
	}
	return 5000 + low / 0.01 * (200000 - 5000);
}

static void check_flows(unsigned int count, double expected_queue)
{
	static struct network network;
	const uint64_t warm = 200000000, end = 700000000;
	uint64_t sent[FLOWS_MOST];
	double mean, total = 0, squares = 0, oracle = fixed_point_queue(count);

	/* The published numbers, to the three digits that they have. */
	CU_ASSERT_DOUBLE_EQUAL(oracle, expected_queue, 60);
	memset(&network, 0, sizeof(network));
	network.count = count;
	network.random.state = count;
	network.next_departure = UINT64_MAX;
	vl_dcqcn_profile(&network.parameters.dcqcn, "paper");
	for (unsigned int i = 0; i < count; i++) {
		network.flows[i].cnp_time = UINT64_MAX;
		network.flows[i].next_send = i * 1000;
		vl_cc_dcqcn.init(&network.flows[i].state, &network.parameters, LINE_RATE, 0);
	}
	run_until(&network, warm);
	network.queue_time = 0;
	network.departures = 0;
	for (unsigned int i = 0; i < count; i++)
		sent[i] = network.flows[i].sent;
	run_until(&network, end);
	mean = network.queue_time / (double)(end - warm);
	for (unsigned int i = 0; i < count; i++) {
		double share = (double)(network.flows[i].sent - sent[i]);

		total += share;
		squares += share * share;
	}
	printf("(N = %u: mean queue %.1f KB, fixed point %.1f KB, Jain %.4f, use %.4f) ", count,
	       mean / 1e3, oracle / 1e3, total * total / (count * squares),
	       (double)network.departures * SLOT / (double)(end - warm));
	CU_ASSERT(fabs(mean / oracle - 1) < 0.20);
	CU_ASSERT(total * total / (count * squares) > 0.98);
	CU_ASSERT((double)network.departures * SLOT / (double)(end - warm) > 0.97);
}

static void test_two_flows(void)
{
	check_flows(2, 20.2e3);
}

static void test_four_flows(void)
{
	check_flows(4, 41.8e3);
}

static void test_eight_flows(void)
{
	check_flows(8, 93.8e3);
}

static const struct test tests[] = {
	{"two flows", test_two_flows},
	{"four flows", test_four_flows},
	{"eight flows", test_eight_flows},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("DCQCN fixed point", tests, argc, argv);
}
