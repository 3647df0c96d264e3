/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/runtime/live_network.h"

#include "dataplane/flow.h"
#include "tests/support/hosts.h"
#include "tests/vdev/support.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define SENDERS    3u
#define RATE       UINT64_C(2000000000)
#define BOTTLENECK UINT64_C(1000000000)
#define MESSAGE    65536u
#define MESSAGES   100u

/* Senders on one worker; the switch and the receiver, behind the slowest link, on the other. */
struct star {
	struct vl_live_network *network;
	struct vl_live_node *senders[SENDERS], *receiver, *sw;
	struct vl_traffic *traffic[SENDERS], *sink;
	struct vl_flow *flows[SENDERS];
	struct vl_cc_parameters cc;
};

static struct vl_switch_config switch_config(void)
{
	struct vl_switch_config config;

	vl_switch_config_defaults(&config, SENDERS + 1, 4u << 20);
	memcpy(config.mac, (uint8_t[6]){2, 1}, 6);
	for (unsigned int i = 0; i < VL_SWITCH_PRIORITIES; i++)
		config.port.queues[i].red = vl_red_marking(VL_RED_AT_DEQUEUE, 40000, 160000, 0.2);
	return config;
}

static struct vl_live_node *add_host(struct star *star, uint16_t number, unsigned int worker)
{
	struct vl_endpoint_config config = host_config(number, RATE);
	struct vl_error error = {.text = ""};
	struct vl_live_node *node =
		vl_live_network_add_endpoint(star->network, worker, &config, &error);

	if (!node)
		printf("    %s\n", error.text);
	return node;
}

static void build_star(struct star *star)
{
	const struct vl_live_network_config config = {
		.worker_count = 2, .frame_count = 4096, .ring_size = 256};
	const struct vl_link_config fast = {.rate = RATE, .propagation = 2000};
	const struct vl_link_config slow = {.rate = BOTTLENECK, .propagation = 2000};
	const struct vl_switch_config sw = switch_config();
	struct vl_error error = {.text = ""};

	memset(star, 0, sizeof(*star));
	star->network = vl_live_network_create(&config, &error);
	CU_ASSERT_PTR_NOT_NULL_FATAL(star->network);
	star->sw = vl_live_network_add_switch(star->network, 1, "switch", &sw, &error);
	CU_ASSERT_PTR_NOT_NULL_FATAL(star->sw);
	star->receiver = add_host(star, SENDERS, 1);
	CU_ASSERT_PTR_NOT_NULL_FATAL(star->receiver);
	CU_ASSERT_EQUAL(vl_live_network_connect(star->network, star->sw, SENDERS, star->receiver, 0,
						&slow, &fast, &error),
			0);
	for (uint16_t i = 0; i < SENDERS; i++) {
		star->senders[i] = add_host(star, i, 0);
		CU_ASSERT_PTR_NOT_NULL_FATAL(star->senders[i]);
		CU_ASSERT_EQUAL(vl_live_network_connect(star->network, star->senders[i], 0,
							star->sw, i, &fast, NULL, &error),
				0);
	}
	CU_ASSERT_EQUAL(vl_live_network_route(star->network, &error), 0);
}

static void add_flows(struct star *star, uint64_t messages)
{
	const struct vl_traffic_config traffic = {.largest_message = MESSAGE};
	int error = 0;

	star->cc.algorithm = &vl_cc_dcqcn;
	vl_dcqcn_profile(&star->cc.dcqcn, "paper");
	star->sink = vl_traffic_create(vl_live_node_endpoint(star->receiver), &traffic, &error);
	CU_ASSERT_PTR_NOT_NULL_FATAL(star->sink);
	for (unsigned int i = 0; i < SENDERS; i++) {
		const struct vl_flow_config flow = {
			.transport = IBV_QPT_RC,
			.verb = VL_FLOW_WRITE,
			.size = MESSAGE,
			.messages = messages,
			.qps = 2,
			.depth = 4,
			.path_mtu = IBV_MTU_4096,
			.dscp = 26,
			.retry_count = 7,
			.rnr_retry = 7,
			.seed = i,
			.cc = &star->cc,
		};

		star->traffic[i] = vl_traffic_create(vl_live_node_endpoint(star->senders[i]),
						     &traffic, &error);
		CU_ASSERT_PTR_NOT_NULL_FATAL(star->traffic[i]);
		star->flows[i] = vl_flow_create(star->traffic[i], star->sink, &flow, 0, &error);
		CU_ASSERT_PTR_NOT_NULL_FATAL(star->flows[i]);
	}
}

static void destroy_star(struct star *star)
{
	vl_live_network_stop(star->network);
	for (unsigned int i = 0; i < SENDERS; i++) {
		if (star->traffic[i])
			vl_traffic_destroy(star->traffic[i]);
	}
	if (star->sink)
		vl_traffic_destroy(star->sink);
	vl_live_network_destroy(star->network);
}

struct progress {
	struct star *star;
	uint64_t now;
	bool finished;
};

static void look_at_senders(void *context, uint64_t now)
{
	struct progress *progress = context;

	progress->now = now;
	progress->finished = true;
	for (unsigned int i = 0; i < SENDERS; i++)
		progress->finished &= vl_traffic_is_finished(progress->star->traffic[i]);
}

static void run_to_the_end(struct star *star, struct progress *progress)
{
	*progress = (struct progress){.star = star};
	for (unsigned int i = 0; i < 6000 && !progress->finished; i++) {
		usleep(5000);
		CU_ASSERT_EQUAL_FATAL(
			vl_live_network_call(star->network, 0, look_at_senders, progress), 0);
	}
	CU_ASSERT(progress->finished);
}

static uint64_t sum_switch_drops(const struct vl_switch *sw)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < sw->config.ports; i++) {
		const struct vl_switch_port *port = &sw->ports[i];

		sum += port->counters.drop_no_route + port->counters.drop_malformed;
		for (unsigned int queue = 0; queue < VL_SWITCH_PRIORITIES; queue++)
			sum += port->queue_counters[queue].drop_queue_full +
			       port->queue_counters[queue].drop_buffer_full +
			       port->queue_counters[queue].drop_red +
			       port->queue_counters[queue].drop_headroom;
	}
	return sum;
}

/* Everything is delivered, through marks and slow-downs, no faster than the line. */
static void test_star(void)
{
	const uint64_t bytes = (uint64_t)SENDERS * 2 * MESSAGES * MESSAGE;
	const struct vl_counters *received;
	struct progress progress;
	struct vl_switch *sw;
	struct vl_error error;
	struct star star;
	uint64_t sent = 0, cnps = 0;
	double rate;

	build_star(&star);
	add_flows(&star, MESSAGES);
	CU_ASSERT_EQUAL(vl_live_network_now(star.network), 0);
	CU_ASSERT_EQUAL(vl_live_network_start(star.network, &error), 0);
	CU_ASSERT_EQUAL(vl_live_network_start(star.network, &error), -EALREADY);
	run_to_the_end(&star, &progress);
	vl_live_network_stop(star.network);
	CU_ASSERT(vl_live_network_now(star.network) >= progress.now);

	received = vl_device_counters(vl_live_node_endpoint(star.receiver)->device);
	for (unsigned int i = 0; i < SENDERS; i++) {
		const struct vl_counters *counters =
			vl_device_counters(vl_live_node_endpoint(star.senders[i])->device);

		CU_ASSERT_EQUAL(counters->message_tx, 2 * MESSAGES);
		CU_ASSERT_EQUAL(counters->message_fail, 0);
		CU_ASSERT_EQUAL(counters->data_frames_retransmitted, 0);
		sent += counters->data_bytes_tx;
		cnps += counters->cnp_rx;
	}
	CU_ASSERT_EQUAL(received->data_bytes_rx, bytes);
	CU_ASSERT_EQUAL(sent, bytes);
	CU_ASSERT_EQUAL(received->message_rx, SENDERS * 2 * MESSAGES);
	sw = vl_live_node_switch(star.sw);
	CU_ASSERT_EQUAL(sum_switch_drops(sw), 0);
	CU_ASSERT(sw->ports[SENDERS].queue_counters[3].ecn_marked > 0);
	CU_ASSERT(received->ecn_ce_rx > 0 && received->cnp_tx >= cnps && cnps > 0);

	rate = (double)bytes * 8 / (double)progress.now;
	printf("    %.3f Gb/s through %.1f Gb/s, %llu marks, %llu CNPs\n", rate, BOTTLENECK * 1e-9,
	       (unsigned long long)received->ecn_ce_rx, (unsigned long long)cnps);
	CU_ASSERT(rate <= BOTTLENECK * 1e-9);
	for (unsigned int i = 0; i < 2; i++) {
		struct vl_live_counters counters = vl_live_network_counters(star.network, i);

		CU_ASSERT(counters.worker.frames > 0);
		CU_ASSERT_EQUAL(counters.mempool_exhausted, 0);
	}
	destroy_star(&star);
}

static void test_stop_and_go_on(void)
{
	struct progress progress;
	struct vl_error error;
	struct star star;
	uint64_t stopped_at;

	build_star(&star);
	add_flows(&star, MESSAGES / 4);
	for (unsigned int i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL(vl_live_network_start(star.network, &error), 0);
		usleep(3000);
		vl_live_network_stop(star.network);
		stopped_at = vl_live_network_now(star.network);
		usleep(3000);
		CU_ASSERT_EQUAL(vl_live_network_now(star.network), stopped_at);
	}
	CU_ASSERT_EQUAL(vl_live_network_start(star.network, &error), 0);
	run_to_the_end(&star, &progress);
	CU_ASSERT(progress.now > stopped_at);
	vl_live_network_stop(star.network);
	CU_ASSERT_EQUAL(sum_switch_drops(vl_live_node_switch(star.sw)), 0);
	destroy_star(&star);
}

/* Whatever is under way, in rings, links, switch, goes back. */
static void test_destroy_in_the_midst(void)
{
	struct vl_error error;
	struct star star;

	for (unsigned int i = 0; i < 3; i++) {
		build_star(&star);
		add_flows(&star, 0);
		CU_ASSERT_EQUAL(vl_live_network_start(star.network, &error), 0);
		usleep(10000);
		destroy_star(&star);
	}
}

static void test_errors(void)
{
	const struct vl_link_config link = {.rate = RATE}, no_rate = {.rate = 0};
	struct vl_live_network_config config = {.worker_count = 3};
	struct vl_endpoint_config host = host_config(9, RATE);
	struct vl_switch_config sw = switch_config();
	struct vl_live_node *a, *b;
	struct vl_error error;
	struct star star;

	CU_ASSERT_PTR_NULL(vl_live_network_create(&config, &error));
	CU_ASSERT_STRING_EQUAL(error.text, "live network: 3 workers, and DPDK was started for 2");
	config = (struct vl_live_network_config){.worker_count = 1, .frame_count = 1u << 20};
	CU_ASSERT_PTR_NULL(vl_live_network_create(&config, &error));
	CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "give more memory"));

	build_star(&star);
	CU_ASSERT_PTR_NULL(vl_live_network_add_endpoint(star.network, 2, &host, &error));
	CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "no worker 2: the network has 2"));
	host.rate = 1;
	CU_ASSERT_PTR_NULL(vl_live_network_add_endpoint(star.network, 0, &host, &error));
	sw.ports = 0;
	CU_ASSERT_PTR_NULL(vl_live_network_add_switch(star.network, 0, "none", &sw, &error));
	CU_ASSERT(!strncmp(error.text, "switch none: ", 13));
	CU_ASSERT_EQUAL(vl_live_network_connect(star.network, star.sw, 0, star.receiver, 0, &link,
						NULL, &error),
			-EBUSY);
	CU_ASSERT_EQUAL(vl_live_network_connect(star.network, star.sw, 77, star.receiver, 0, &link,
						NULL, &error),
			-EINVAL);
	a = add_host(&star, 20, 0);
	b = add_host(&star, 21, 1);
	CU_ASSERT_EQUAL(vl_live_network_connect(star.network, a, 0, a, 0, &link, NULL, &error),
			-EINVAL);
	CU_ASSERT_EQUAL(vl_live_network_connect(star.network, a, 0, b, 0, &no_rate, NULL, &error),
			-EINVAL);
	CU_ASSERT_EQUAL(vl_live_network_route(star.network, &error), -ENETUNREACH);
	CU_ASSERT_EQUAL(vl_live_network_call(star.network, 2, look_at_senders, NULL), -EINVAL);
	CU_ASSERT_PTR_NULL(vl_live_network_link(a, 0));
	CU_ASSERT_PTR_NOT_NULL(vl_live_network_link(star.sw, 0));
	destroy_star(&star);
	vl_live_network_destroy(NULL);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"star", test_star},
		{"stop_and_go_on", test_stop_and_go_on},
		{"destroy_in_the_midst", test_destroy_in_the_midst},
		{"errors", test_errors},
	};
	int result = test_start_eal(2);

	if (result)
		return result;
	result = RUN_SUITE("vdev/live_network", tests, argc, argv);
	vl_eal_stop();
	return result;
}
