/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/flow.h"
#include "dataplane/runtime/live_network.h"
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

/* ---- Two leaves and two spines ---------------------------------------------------------- */

struct fabric {
	struct vl_live_network *network;
	struct vl_live_node *hosts[2], *leaves[2], *spines[2];
	struct vl_traffic *traffic[2];
};

static struct vl_live_node *add_switch(struct fabric *fabric, unsigned int worker, uint64_t seed)
{
	struct vl_switch_config config = switch_config();
	struct vl_error error;

	config.ports = 3;
	config.seed = seed;
	return vl_live_network_add_switch(fabric->network, worker, "sw", &config, &error);
}

static void connect(struct fabric *fabric, struct vl_live_node *a, uint32_t port_a,
		    struct vl_live_node *b, uint32_t port_b)
{
	const struct vl_link_config link = {.rate = RATE, .propagation = 1000};
	struct vl_error error = {.text = ""};

	CU_ASSERT_EQUAL_FATAL(
		vl_live_network_connect(fabric->network, a, port_a, b, port_b, &link, NULL, &error),
		0);
}

static void build_fabric(struct fabric *fabric)
{
	const struct vl_live_network_config config = {.worker_count = 2, .frame_count = 4096};
	const struct vl_traffic_config traffic = {.largest_message = MESSAGE};
	struct vl_error error;

	memset(fabric, 0, sizeof(*fabric));
	fabric->network = vl_live_network_create(&config, &error);
	CU_ASSERT_PTR_NOT_NULL_FATAL(fabric->network);
	for (unsigned int i = 0; i < 2; i++) {
		struct vl_endpoint_config host = host_config((uint16_t)i, RATE);

		fabric->hosts[i] = vl_live_network_add_endpoint(fabric->network, i, &host, &error);
		fabric->leaves[i] = add_switch(fabric, i, i);
		fabric->spines[i] = add_switch(fabric, i, 2 + i);
		CU_ASSERT_FATAL(fabric->hosts[i] && fabric->leaves[i] && fabric->spines[i]);
		fabric->traffic[i] =
			vl_traffic_create(vl_live_node_endpoint(fabric->hosts[i]), &traffic, NULL);
		CU_ASSERT_PTR_NOT_NULL_FATAL(fabric->traffic[i]);
	}
	for (unsigned int i = 0; i < 2; i++) {
		connect(fabric, fabric->hosts[i], 0, fabric->leaves[i], 2);
		for (unsigned int spine = 0; spine < 2; spine++)
			connect(fabric, fabric->leaves[i], spine, fabric->spines[spine], i);
	}
	CU_ASSERT_EQUAL(vl_live_network_route(fabric->network, &error), 0);
}

static void destroy_fabric(struct fabric *fabric)
{
	vl_live_network_stop(fabric->network);
	for (unsigned int i = 0; i < 2; i++)
		vl_traffic_destroy(fabric->traffic[i]);
	vl_live_network_destroy(fabric->network);
}

static void look_at_traffic(void *context, uint64_t now)
{
	struct progress *progress = context;

	progress->now = now;
	progress->finished = vl_traffic_is_finished((struct vl_traffic *)progress->star);
}

static void wait_for(struct vl_live_network *network, struct vl_traffic *traffic)
{
	struct progress progress = {.star = (struct star *)traffic};

	for (unsigned int i = 0; i < 6000 && !progress.finished; i++) {
		usleep(5000);
		CU_ASSERT_EQUAL_FATAL(vl_live_network_call(network, 0, look_at_traffic, &progress),
				      0);
	}
	CU_ASSERT(progress.finished);
}

/* Flows spread over both spines, and each stays on its own: nothing comes out of order. */
static void test_equal_ways(void)
{
	const struct vl_flow_config flow = {
		.transport = IBV_QPT_RC,
		.verb = VL_FLOW_WRITE,
		.size = MESSAGE,
		.messages = 4,
		.qps = 16,
		.depth = 1,
		.path_mtu = IBV_MTU_4096,
		.dscp = 26,
		.retry_count = 7,
		.rnr_retry = 7,
	};
	const struct vl_counters *received;
	struct fabric fabric;
	struct vl_error error;

	build_fabric(&fabric);
	CU_ASSERT_PTR_NOT_NULL_FATAL(
		vl_flow_create(fabric.traffic[0], fabric.traffic[1], &flow, 0, NULL));
	CU_ASSERT_EQUAL(vl_live_network_start(fabric.network, &error), 0);
	wait_for(fabric.network, fabric.traffic[0]);
	vl_live_network_stop(fabric.network);
	received = vl_device_counters(vl_live_node_endpoint(fabric.hosts[1])->device);
	CU_ASSERT_EQUAL(received->data_bytes_rx, 16ull * 4 * MESSAGE);
	CU_ASSERT_EQUAL(received->frame_sequence_error, 0);
	for (unsigned int i = 0; i < 2; i++) {
		const struct vl_switch *spine = vl_live_node_switch(fabric.spines[i]);

		printf("    spine %u: %llu frames there, %llu back\n", i,
		       (unsigned long long)spine->ports[0].counters.rx_frames,
		       (unsigned long long)spine->ports[1].counters.rx_frames);
		CU_ASSERT(spine->ports[0].counters.rx_frames >= 4 * MESSAGE / 4096);
		CU_ASSERT(spine->ports[1].counters.rx_frames >= 4);
	}
	destroy_fabric(&fabric);
}

/* ---- Cut-through ------------------------------------------------------------------------ */

#define SLOW UINT64_C(100000000)

/* The median of some messages of one packet through a switch, ns. */
static uint64_t usual_time(bool cut_through)
{
	static struct vl_histogram times;
	const struct vl_flow_config flow = {
		.transport = IBV_QPT_RC,
		.verb = VL_FLOW_WRITE,
		.size = 4096,
		.messages = 30,
		.qps = 1,
		.depth = 1,
		.path_mtu = IBV_MTU_4096,
		.dscp = 26,
		.retry_count = 7,
		.rnr_retry = 7,
		.completion_times = &times,
	};
	const struct vl_live_network_config config = {.worker_count = 2, .frame_count = 4096};
	const struct vl_traffic_config traffic_config = {.largest_message = MESSAGE};
	const struct vl_link_config link = {.rate = SLOW, .propagation = 1000};
	struct vl_live_network *network;
	struct vl_live_node *sw, *hosts[2];
	struct vl_traffic *traffic[2];
	struct vl_switch_config sw_config = switch_config();
	struct vl_error error;

	times = (struct vl_histogram){0};
	sw_config.cut_through = cut_through;
	network = vl_live_network_create(&config, &error);
	CU_ASSERT_PTR_NOT_NULL_FATAL(network);
	sw = vl_live_network_add_switch(network, 1, "switch", &sw_config, &error);
	CU_ASSERT_PTR_NOT_NULL_FATAL(sw);
	for (unsigned int i = 0; i < 2; i++) {
		struct vl_endpoint_config host = host_config((uint16_t)i, SLOW);

		hosts[i] = vl_live_network_add_endpoint(network, i, &host, &error);
		CU_ASSERT_PTR_NOT_NULL_FATAL(hosts[i]);
		CU_ASSERT_EQUAL(
			vl_live_network_connect(network, hosts[i], 0, sw, i, &link, NULL, &error),
			0);
		traffic[i] =
			vl_traffic_create(vl_live_node_endpoint(hosts[i]), &traffic_config, NULL);
		CU_ASSERT_PTR_NOT_NULL_FATAL(traffic[i]);
	}
	CU_ASSERT_EQUAL(vl_live_network_route(network, &error), 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(vl_flow_create(traffic[0], traffic[1], &flow, 0, NULL));
	CU_ASSERT_EQUAL(vl_live_network_start(network, &error), 0);
	wait_for(network, traffic[0]);
	vl_live_network_stop(network);
	for (unsigned int i = 0; i < 2; i++)
		vl_traffic_destroy(traffic[i]);
	vl_live_network_destroy(network);
	return vl_histogram_percentile(&times, 0.5);
}

/* At 100 Mb/s a packet of 4096 B is on a line for some 330 us, which it takes once, not twice. A
 * worker that comes late gives some of that back (slack), and takes some. */
static void test_cut_through(void)
{
	uint64_t stored = usual_time(false), cut = usual_time(true);

	printf("    %llu us; cut through %llu us\n", (unsigned long long)stored / 1000,
	       (unsigned long long)cut / 1000);
	CU_ASSERT(stored > cut + 200000);
	CU_ASSERT(cut > 140000);
}

/* ---- Timers ----------------------------------------------------------------------------- */

struct ticks {
	unsigned int count;
	uint64_t last;
};

static uint64_t tick(void *context, uint64_t now)
{
	struct ticks *ticks = context;

	CU_ASSERT(now >= ticks->last + 100000);
	ticks->last = now;
	return ++ticks->count < 5 ? now + 100000 : UINT64_MAX;
}

static void test_timers(void)
{
	struct ticks ticks = {0}, others = {0};
	struct vl_live_timer timer = {tick, &ticks, 100000, NULL};
	struct vl_error error;
	struct star star;

	build_star(&star);
	CU_ASSERT_EQUAL(vl_live_network_add_timer(star.receiver, &timer, &error), 0);
	timer.context = &others;
	CU_ASSERT_EQUAL(vl_live_network_add_timer(star.receiver, &timer, &error), 0);
	CU_ASSERT_EQUAL(vl_live_network_add_timer(star.sw, &timer, &error), -EINVAL);
	CU_ASSERT_EQUAL(vl_live_network_start(star.network, &error), 0);
	usleep(50000);
	vl_live_network_stop(star.network);
	CU_ASSERT_EQUAL(ticks.count, 5);
	CU_ASSERT_EQUAL(others.count, 5);
	destroy_star(&star);
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
		{"equal_ways", test_equal_ways},
		{"cut_through", test_cut_through},
		{"timers", test_timers},
		{"errors", test_errors},
	};
	int result = test_start_eal(2);

	if (result)
		return result;
	result = RUN_SUITE("vdev/live_network", tests, argc, argv);
	vl_eal_stop();
	return result;
}
