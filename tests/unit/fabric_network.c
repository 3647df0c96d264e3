/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Endpoints, switches and links together, in virtual time. */

#include "dataplane/network.h"
#include "dataplane/network_audit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/flow.h"
#include "tests/support/hosts.h"
#include "tests/support/suite.h"

#define RATE        UINT64_C(100000000000)
#define PROPAGATION 300u
#define MOST_HOSTS  6u

/* Hosts 1 to n at ports 0 to n - 1 of a switch. */
struct star {
	struct vl_network *network;
	struct vl_node *sw;
	struct vl_node *hosts[MOST_HOSTS];
	struct vl_traffic *traffic[MOST_HOSTS];
	struct vl_flow *flows[MOST_HOSTS];
	unsigned int count;
	uint64_t taps_seen, digest, last_time, backward;
};

static const struct vl_link_config clean = {.rate = RATE, .propagation = PROPAGATION};

static struct vl_switch_config switch_config(void)
{
	struct vl_switch_config config;

	vl_switch_config_defaults(&config, MOST_HOSTS, 4000000);
	config.port.queues[6].scheduler.type = VL_SCHEDULING_STRICT;
	memcpy(config.mac, (uint8_t[6]){2, 1}, 6);
	return config;
}

/* Pause at 60 KB of an ingress; the link's round trip and two frames of headroom and more. */
static struct vl_switch_config lossless_config(uint64_t headroom)
{
	struct vl_switch_config config = switch_config();

	vl_switch_config_lossless(&config.port, HOST_DATA_PRIORITY, 60000, 40000, headroom);
	return config;
}

static void start(struct star *star, unsigned int count, const struct vl_switch_config *config)
{
	const struct vl_traffic_config memory = {.largest_message = 65536};

	memset(star, 0, sizeof(*star));
	star->count = count;
	star->network = vl_network_create(NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(star->network);
	star->sw = vl_network_add_switch(star->network, "leaf", config);
	CU_ASSERT_PTR_NOT_NULL_FATAL(star->sw);
	for (unsigned int i = 0; i < count; i++) {
		struct vl_endpoint_config host = host_config((uint16_t)(1 + i), RATE);

		star->hosts[i] = vl_network_add_endpoint(star->network, &host);
		CU_ASSERT_PTR_NOT_NULL_FATAL(star->hosts[i]);
		CU_ASSERT_EQUAL_FATAL(vl_network_connect(star->network, star->hosts[i], 0, star->sw,
							 i, &clean, NULL),
				      0);
		star->traffic[i] =
			vl_traffic_create(vl_node_endpoint(star->hosts[i]), &memory, NULL);
		CU_ASSERT_PTR_NOT_NULL_FATAL(star->traffic[i]);
	}
	CU_ASSERT_EQUAL_FATAL(vl_network_route(star->network), 0);
}

/* A flow of WRITEs from one host (by its number) to another. */
static void add_flow(struct star *star, unsigned int from, unsigned int to, uint32_t size,
		     uint64_t messages, const struct vl_cc_parameters *cc)
{
	const struct vl_flow_config config = {
		.transport = IBV_QPT_RC,
		.verb = VL_FLOW_WRITE,
		.size = size,
		.messages = messages,
		.qps = 1,
		.depth = 32,
		.path_mtu = IBV_MTU_4096,
		.priority = HOST_DATA_PRIORITY,
		.dscp = 26,
		.timeout = 14,
		.retry_count = 7,
		.rnr_retry = 7,
		.cc = cc,
	};

	star->flows[from - 1] =
		vl_flow_create(star->traffic[from - 1], star->traffic[to - 1], &config, 0, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(star->flows[from - 1]);
}

static uint64_t finish_time(struct star *star)
{
	uint64_t last = 0;

	for (unsigned int i = 0; i < star->count; i++) {
		const struct vl_generate_progress *progress;

		if (!star->flows[i])
			continue;
		progress = vl_flow_progress(star->flows[i], 0);
		CU_ASSERT_EQUAL(progress->status, IBV_WC_SUCCESS);
		CU_ASSERT_EQUAL(progress->completed,
				vl_flow_configuration(star->flows[i])->messages);
		if (progress->last_completion > last)
			last = progress->last_completion;
	}
	return last;
}

static const struct vl_counters *counters_of(const struct star *star, unsigned int host)
{
	return vl_device_counters(vl_node_endpoint(star->hosts[host - 1])->device);
}

static struct vl_switch_port *port_of(const struct star *star, unsigned int host)
{
	return &vl_node_switch(star->sw)->ports[host - 1];
}

static void finish(struct star *star)
{
	CU_ASSERT_EQUAL(
		((struct vl_memory_frame_pool *)vl_network_frame_pool(star->network))->in_use, 0);
	for (unsigned int i = 0; i < star->count; i++)
		vl_traffic_destroy(star->traffic[i]);
	vl_network_destroy(star->network);
}

/* ---- Timing -------------------------------------------------------------------------------- */

struct sighting {
	const struct vl_node *node;
	uint32_t port, length;
	enum vl_direction direction;
	uint64_t time;
};

static struct sighting sightings[32];
static unsigned int sighting_count;

static void note(void *context, const struct vl_node *node, uint32_t port,
		 enum vl_direction direction, const struct vl_frame *frame, uint64_t now)
{
	(void)context;
	if (sighting_count < 32)
		sightings[sighting_count++] =
			(struct sighting){node, port, frame->length, direction, now};
}

/* A WRITE of 100 bytes: 14 + 20 + 8 + 12 + 16 + 100 + 4 = 174 bytes, 186 with preamble and FCS,
 * 14.88 ns at 100 Gb/s; its ACK: 62 bytes, 74 on the line, 5.92 ns. */
static void test_times_of_one_message(void)
{
	struct vl_switch_config config = switch_config();
	const struct vl_tap tap = {.frame = note};
	struct star star;

	start(&star, 2, &config);
	for (unsigned int i = 0; i < 2; i++) {
		CU_ASSERT_EQUAL(vl_network_tap(star.network, star.hosts[i], 0, &tap), 0);
		CU_ASSERT_EQUAL(vl_network_tap(star.network, star.sw, i, &tap), 0);
	}
	add_flow(&star, 1, 2, 100, 1, NULL);
	sighting_count = 0;
	CU_ASSERT_TRUE(vl_network_run_until(star.network, 1000000));
	CU_ASSERT_EQUAL_FATAL(sighting_count, 8);
	{
		const struct sighting expected[8] = {
			{star.hosts[0], 0, 174, VL_DIRECTION_TRANSMITTED, 0},
			{star.sw, 0, 174, VL_DIRECTION_RECEIVED, 315},
			{star.sw, 1, 174, VL_DIRECTION_TRANSMITTED, 315},
			{star.hosts[1], 0, 174, VL_DIRECTION_RECEIVED, 630},
			{star.hosts[1], 0, 62, VL_DIRECTION_TRANSMITTED, 630},
			{star.sw, 1, 62, VL_DIRECTION_RECEIVED, 936},
			{star.sw, 0, 62, VL_DIRECTION_TRANSMITTED, 936},
			{star.hosts[0], 0, 62, VL_DIRECTION_RECEIVED, 1242},
		};

		for (unsigned int i = 0; i < 8; i++) {
			CU_ASSERT_PTR_EQUAL(sightings[i].node, expected[i].node);
			CU_ASSERT_EQUAL(sightings[i].port, expected[i].port);
			CU_ASSERT_EQUAL(sightings[i].length, expected[i].length);
			CU_ASSERT_EQUAL(sightings[i].direction, expected[i].direction);
			CU_ASSERT_EQUAL(sightings[i].time, expected[i].time);
		}
	}
	CU_ASSERT_EQUAL(finish_time(&star), 1242);
	CU_ASSERT_EQUAL(vl_network_now(star.network), 1000000);
	finish(&star);
}

/* The same through a cut-through switch, which has what it needs when 64 bytes are there: 114 bytes
 * less, 9.12 ns, and 2 bytes of the ACK, 0.16 ns. */
static void test_cut_through(void)
{
	struct vl_switch_config config = switch_config();
	struct star star;

	config.cut_through = true;
	start(&star, 2, &config);
	CU_ASSERT_TRUE(vl_network_link(star.hosts[0], 0)->delivers_head);
	CU_ASSERT_FALSE(vl_network_link(star.sw, 0)->delivers_head);
	add_flow(&star, 1, 2, 100, 1, NULL);
	CU_ASSERT_TRUE(vl_network_run_until(star.network, 1000000));
	CU_ASSERT_EQUAL(finish_time(&star), 1242 - 10 - 1);
	finish(&star);
}

/* A long flow fills its line: 4096 of 4178 bytes, less the first and last flight. */
static void test_line_rate(void)
{
	struct vl_switch_config config = switch_config();
	struct star star;
	double rate;

	start(&star, 2, &config);
	add_flow(&star, 1, 2, 65536, 500, NULL);
	vl_network_run_until(star.network, 100000000);
	rate = 500.0 * 65536 * 8 / (double)finish_time(&star);
	/* WRITE First carries a RETH, so a little less. */
	CU_ASSERT_TRUE(rate > 97.8 && rate < 100.0 * 4096 / 4178);
	CU_ASSERT_EQUAL(counters_of(&star, 1)->data_frames_retransmitted, 0);
	finish(&star);
}

/* ---- Determinism --------------------------------------------------------------------------- */

static void fold(void *context, const struct vl_node *node, uint32_t port,
		 enum vl_direction direction, const struct vl_frame *frame, uint64_t now)
{
	struct star *star = context;

	(void)node;
	star->backward += now < star->last_time;
	star->last_time = now;
	star->taps_seen++;
	star->digest = (star->digest ^ now ^ port << 8 ^ direction) * UINT64_C(0x100000001b3);
	for (uint32_t i = 0; i < frame->length; i += 7)
		star->digest = (star->digest ^ frame->data[i]) * UINT64_C(0x100000001b3);
}

static uint64_t congested_digest(uint64_t seed)
{
	struct vl_switch_config config = switch_config();
	struct vl_cc_parameters cc = {.algorithm = &vl_cc_dcqcn};
	struct vl_tap tap = {.frame = fold};
	struct star star;
	uint64_t digest;

	vl_dcqcn_profile(&cc.dcqcn, "paper");
	config.seed = seed;
	config.port.queues[HOST_DATA_PRIORITY].red =
		vl_red_marking(VL_RED_AT_DEQUEUE, 20000, 200000, 0.2);
	start(&star, 3, &config);
	tap.context = &star;
	for (unsigned int i = 0; i < 3; i++)
		vl_network_tap(star.network, star.sw, i, &tap);
	add_flow(&star, 1, 3, 65536, 100, &cc);
	add_flow(&star, 2, 3, 65536, 100, &cc);
	vl_network_run_until(star.network, 50000000);
	finish_time(&star);
	CU_ASSERT_EQUAL(star.backward, 0);
	CU_ASSERT_TRUE(port_of(&star, 3)->queue_counters[3].ecn_marked > 0);
	CU_ASSERT_EQUAL(port_of(&star, 3)->queue_counters[3].ecn_marked,
			counters_of(&star, 3)->ecn_ce_rx);
	CU_ASSERT_TRUE(counters_of(&star, 3)->cnp_tx > 0);
	CU_ASSERT_EQUAL(counters_of(&star, 3)->cnp_tx,
			counters_of(&star, 1)->cnp_rx + counters_of(&star, 2)->cnp_rx);
	digest = star.digest ^ star.taps_seen;
	finish(&star);
	return digest;
}

static void test_same_seed_same_bytes(void)
{
	uint64_t digest = congested_digest(1);

	CU_ASSERT_EQUAL(congested_digest(1), digest);
	CU_ASSERT_NOT_EQUAL(congested_digest(2), digest);
}

/* ---- Flow control -------------------------------------------------------------------------- */

static void incast(struct star *star, const struct vl_switch_config *config)
{
	start(star, 5, config);
	for (unsigned int i = 1; i <= 4; i++)
		add_flow(star, i, 5, 65536, 100, NULL);
	vl_network_run_until(star->network, 400000000);
}

static uint64_t drops(const struct star *star)
{
	const struct vl_switch_queue_counters *counters = &port_of(star, 5)->queue_counters[3];

	return counters->drop_queue_full + counters->drop_buffer_full + counters->drop_headroom +
	       counters->drop_red;
}

static void test_lossless_incast(void)
{
	struct vl_switch_config config = lossless_config(30000);
	uint64_t most = 0, paused = 0;
	struct star star;
	double rate;

	incast(&star, &config);
	rate = 400.0 * 65536 * 8 / (double)finish_time(&star);
	CU_ASSERT_TRUE(rate > 97.5);
	CU_ASSERT_EQUAL(drops(&star), 0);
	for (unsigned int i = 1; i <= 4; i++) {
		const struct vl_endpoint *endpoint = vl_node_endpoint(star.hosts[i - 1]);
		const struct vl_switch_port *port = port_of(&star, i);

		CU_ASSERT_EQUAL(counters_of(&star, i)->data_frames_retransmitted, 0);
		CU_ASSERT_TRUE(port->pfc.frames[3] > 0);
		CU_ASSERT_EQUAL(endpoint->counters.pfc_rx, port->counters.pfc_tx);
		if (port->groups[3].watermark > most)
			most = port->groups[3].watermark;
		paused += endpoint->pause.paused_time[3];
	}
	/* Beyond XOFF: what is sent until the pause arrives and is obeyed, a round trip and a frame
	 * being sent at either end. */
	CU_ASSERT_TRUE(most > 60000);
	CU_ASSERT_TRUE(most <= 60000 + 2 * 4154 + 2 * PROPAGATION * 100 / 8 + 200 + 4154);
	/* Four senders share a line: each is paused for three quarters of the time. */
	CU_ASSERT_DOUBLE_EQUAL((double)paused / (double)finish_time(&star), 3.0, 0.1);
	finish(&star);
}

static void test_too_little_headroom(void)
{
	struct vl_switch_config config = lossless_config(4200);
	struct star star;

	incast(&star, &config);
	CU_ASSERT_TRUE(port_of(&star, 5)->queue_counters[3].drop_headroom > 0);
	CU_ASSERT_TRUE(drops(&star) == port_of(&star, 5)->queue_counters[3].drop_headroom);
	finish_time(&star);
	finish(&star);
}

/* Without PFC frames are lost, every one is accounted for, and the flows recover. */
static void test_lossy_incast(void)
{
	struct vl_switch_config config = switch_config();
	uint64_t arrived = 0;
	struct star star;

	config.port.queues[HOST_DATA_PRIORITY].buffer.threshold = vl_threshold_static(200000);
	incast(&star, &config);
	CU_ASSERT_TRUE(drops(&star) > 0);
	CU_ASSERT_EQUAL(drops(&star), port_of(&star, 5)->queue_counters[3].drop_queue_full);
	for (unsigned int i = 1; i <= 4; i++)
		arrived += port_of(&star, i)->counters.rx_frames;
	CU_ASSERT_EQUAL(arrived, port_of(&star, 5)->counters.tx_frames + drops(&star));
	CU_ASSERT_TRUE(port_of(&star, 5)->queues[3].watermark <= 200000);
	CU_ASSERT_TRUE(finish_time(&star) > 0);
	finish(&star);
}

/* What has been counted is audited: one frame too many is found on the link and in the switch. */
static void test_audit(void)
{
	struct vl_switch_config config = lossless_config(4200);
	struct star star;
	char text[256] = "";

	incast(&star, &config);
	CU_ASSERT_TRUE(vl_network_audit(star.network, text, sizeof(text)));
	CU_ASSERT_STRING_EQUAL(text, "");
	vl_network_link(star.hosts[0], 0)->counters.frames_tx++;
	CU_ASSERT_FALSE(vl_network_audit(star.network, text, sizeof(text)));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "frames on the link"));
	vl_network_link(star.hosts[0], 0)->counters.frames_tx--;
	port_of(&star, 5)->queue_counters[3].drop_headroom--;
	CU_ASSERT_FALSE(vl_network_audit(star.network, text, sizeof(text)));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "frames through the switch"));
	port_of(&star, 5)->queue_counters[3].drop_headroom++;
	port_of(&star, 2)->groups[3].used++;
	CU_ASSERT_FALSE(vl_network_audit(star.network, text, sizeof(text)));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "bytes of packet memory"));
	port_of(&star, 2)->groups[3].used--;
	finish_time(&star);
	finish(&star);
}

/* ---- A receiver that pauses the switch ------------------------------------------------------ */

static struct {
	uint64_t from, to; /* ns: no data may leave the port in between */
	uint64_t violations, frames_after;
} silence;

static void watch(void *context, const struct vl_node *node, uint32_t port,
		  enum vl_direction direction, const struct vl_frame *frame, uint64_t now)
{
	(void)context;
	(void)node;
	(void)port;
	if (direction == VL_DIRECTION_TRANSMITTED && frame->priority == HOST_DATA_PRIORITY) {
		silence.violations += now >= silence.from && now < silence.to;
		silence.frames_after += now >= silence.to;
	}
}

/* A pause of 65535 quanta lasts 335.54 us at 100 Gb/s; held for two milliseconds it must have been
 * refreshed, and none may leave a gap. */
static void test_endpoint_pauses_its_peer(void)
{
	struct vl_switch_config config = switch_config();
	const struct vl_tap tap = {.frame = watch};
	struct vl_endpoint *receiver;
	struct star star;

	start(&star, 2, &config);
	receiver = vl_node_endpoint(star.hosts[1]);
	vl_network_tap(star.network, star.sw, 1, &tap);
	add_flow(&star, 1, 2, 65536, 1000, NULL);
	vl_network_run_until(star.network, 1000000);
	vl_endpoint_pause_peer(receiver, HOST_DATA_PRIORITY, true);
	/* The PFC frame waits for no more than an ACK, takes 5.92 ns and the propagation. */
	silence.from = 1000000 + 306 + 10;
	silence.to = 3000000;
	silence.violations = silence.frames_after = 0;
	vl_network_run_until(star.network, 3000000);
	CU_ASSERT_EQUAL(silence.violations, 0);
	CU_ASSERT_TRUE(receiver->counters.pfc_tx >= 2000000 / 167770);
	vl_endpoint_pause_peer(receiver, HOST_DATA_PRIORITY, false);
	vl_network_run_until(star.network, 3010000);
	CU_ASSERT_TRUE(silence.frames_after > 20);
	vl_network_run_until(star.network, 400000000);
	finish_time(&star);
	finish(&star);
}

/* One pause that nobody refreshes ends by itself, to the nanosecond. */
static void test_pause_ends_by_itself(void)
{
	struct vl_switch_config config = switch_config();
	const struct vl_tap tap = {.frame = watch};
	struct vl_pfc pfc = {.enabled = 1 << HOST_DATA_PRIORITY};
	struct vl_frame *frame;
	struct star star;

	start(&star, 2, &config);
	vl_network_tap(star.network, star.sw, 1, &tap);
	add_flow(&star, 1, 2, 65536, 1000, NULL);
	vl_network_run_until(star.network, 1000000);
	frame = vl_frame_get(vl_network_frame_pool(star.network));
	pfc.quanta[HOST_DATA_PRIORITY] = 1000; /* 5120 ns */
	vl_pfc_write(frame->data, vl_node_endpoint(star.hosts[1])->mac, &pfc);
	frame->length = VL_PFC_FRAME_LENGTH;
	vl_switch_receive(vl_node_switch(star.sw), 1, frame, 1000000);
	silence.from = 1000000;
	silence.to = 1005120;
	silence.violations = silence.frames_after = 0;
	vl_network_run_until(star.network, 1005119);
	CU_ASSERT_EQUAL(silence.violations, 0);
	CU_ASSERT_EQUAL(silence.frames_after, 0);
	vl_network_run_until(star.network, 1005120);
	CU_ASSERT_EQUAL(silence.frames_after, 1);
	vl_network_run_until(star.network, 400000000);
	finish_time(&star);
	finish(&star);
}

/* ---- Building ------------------------------------------------------------------------------ */

static void test_two_switches(void)
{
	struct vl_network *network = vl_network_create(NULL);
	struct vl_switch_config config = switch_config();
	struct vl_endpoint_config host = host_config(1, RATE), far_host = host_config(2, RATE);
	struct vl_node *a, *b, *near, *far;
	const struct vl_forwarding *routes;
	const struct vl_forwarding_route *route;

	host.name = "near";
	far_host.name = "far";
	a = vl_network_add_switch(network, "a", &config);
	b = vl_network_add_switch(network, "b", &config);
	near = vl_network_add_endpoint(network, &host);
	far = vl_network_add_endpoint(network, &far_host);
	CU_ASSERT_EQUAL(vl_network_connect(network, near, 0, a, 3, &clean, NULL), 0);
	CU_ASSERT_EQUAL(vl_network_connect(network, far, 0, b, 4, &clean, NULL), 0);
	CU_ASSERT_EQUAL(vl_network_route(network), -ENETUNREACH);
	CU_ASSERT_STRING_EQUAL(vl_network_error(network), "b has no way to near");
	/* Two equal ways, both of which are taken. */
	CU_ASSERT_EQUAL(vl_network_connect(network, a, 2, b, 2, &clean, NULL), 0);
	CU_ASSERT_EQUAL(vl_network_connect(network, a, 0, b, 1, &clean, NULL), 0);
	CU_ASSERT_EQUAL(vl_network_route(network), 0);
	routes = &vl_node_switch(a)->forwarding;
	route = vl_forwarding_find(routes, 0x020000000001);
	CU_ASSERT_EQUAL(route->way_count, 1);
	CU_ASSERT_EQUAL(route->port, 3);
	route = vl_forwarding_find(routes, 0x020000000002);
	CU_ASSERT_EQUAL_FATAL(route->way_count, 2);
	CU_ASSERT_EQUAL(routes->ways[route->port], 0);
	CU_ASSERT_EQUAL(routes->ways[route->port + 1], 2);
	CU_ASSERT_STRING_EQUAL(vl_node_name(far), "far");
	CU_ASSERT_PTR_NULL(vl_node_switch(far));
	CU_ASSERT_PTR_NULL(vl_node_endpoint(a));
	CU_ASSERT_PTR_NOT_NULL(vl_network_link(far, 0));
	CU_ASSERT_PTR_NULL(vl_network_link(a, 5));
	CU_ASSERT_PTR_NULL(vl_network_link(a, 99));
	vl_network_destroy(network);
}

static void test_says_what_is_wrong(void)
{
	struct vl_network *network = vl_network_create(NULL);
	struct vl_switch_config config = switch_config();
	struct vl_endpoint_config host = host_config(1, RATE), bad_host = host;
	const struct vl_link_config bad = {.rate = 10};
	struct vl_node *sw = vl_network_add_switch(network, "leaf", &config);
	struct vl_node *node = vl_network_add_endpoint(network, &host);

	CU_ASSERT_EQUAL(vl_network_connect(network, node, 1, sw, 0, &clean, NULL), -EINVAL);
	CU_ASSERT_STRING_EQUAL(vl_network_error(network), "endpoint has no port 1: it has 1");
	CU_ASSERT_EQUAL(vl_network_connect(network, sw, 1, sw, 1, &clean, NULL), -EINVAL);
	CU_ASSERT_STRING_EQUAL(vl_network_error(network), "port 1 of leaf is connected to itself");
	CU_ASSERT_EQUAL(vl_network_connect(network, node, 0, sw, 0, &bad, NULL), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(vl_network_error(network), "port 0 of endpoint"));
	CU_ASSERT_EQUAL(vl_network_connect(network, node, 0, sw, 0, &clean, NULL), 0);
	CU_ASSERT_EQUAL(vl_network_connect(network, node, 0, sw, 1, &clean, NULL), -EBUSY);
	CU_ASSERT_STRING_EQUAL(vl_network_error(network),
			       "port 0 of endpoint is connected already");
	config.ports = 5000;
	CU_ASSERT_PTR_NULL(vl_network_add_switch(network, "spine", &config));
	CU_ASSERT_STRING_EQUAL(vl_network_error(network),
			       "switch spine: a switch has 1 to 4096 ports");
	bad_host.rate = 5;
	bad_host.name = "slow";
	CU_ASSERT_PTR_NULL(vl_network_add_endpoint(network, &bad_host));
	CU_ASSERT_PTR_NOT_NULL(strstr(vl_network_error(network), "endpoint slow: "));
	CU_ASSERT_EQUAL(vl_network_tap(network, sw, 6, &(struct vl_tap){.frame = note}), -EINVAL);
	vl_network_destroy(network);
}

/* All frames are on their way for a millisecond: who wants one asks as often as long frames could
 * leave, not each nanosecond, and gets on when they come back. */
static void test_frame_pool_runs_dry(void)
{
	const struct vl_network_config limits = {.frame_limit = 8};
	const struct vl_link_config far = {.rate = RATE, .propagation = 1000000};
	const struct vl_traffic_config memory = {.largest_message = 65536};
	const uint64_t frame_time = (9216 + 24) * 8 / 100;
	struct vl_memory_frame_pool *pool;
	struct star star = {.count = 2};
	uint64_t duration;

	star.network = vl_network_create(&limits);
	CU_ASSERT_PTR_NOT_NULL_FATAL(star.network);
	for (unsigned int i = 0; i < 2; i++) {
		struct vl_endpoint_config host = host_config((uint16_t)(1 + i), RATE);

		star.hosts[i] = vl_network_add_endpoint(star.network, &host);
		CU_ASSERT_PTR_NOT_NULL_FATAL(star.hosts[i]);
		star.traffic[i] = vl_traffic_create(vl_node_endpoint(star.hosts[i]), &memory, NULL);
		CU_ASSERT_PTR_NOT_NULL_FATAL(star.traffic[i]);
	}
	CU_ASSERT_EQUAL_FATAL(
		vl_network_connect(star.network, star.hosts[0], 0, star.hosts[1], 0, &far, NULL),
		0);
	add_flow(&star, 1, 2, 65536, 20, NULL);
	duration =
		vl_network_run_until(star.network, UINT64_C(10000000000)) ? finish_time(&star) : 0;
	pool = (struct vl_memory_frame_pool *)vl_network_frame_pool(star.network);
	CU_ASSERT_EQUAL(vl_flow_progress(star.flows[0], 0)->completed, 20);
	CU_ASSERT_TRUE(pool->failures > 0);
	/* 320 packets, 8 at a time at the most, an ACK's way back for what frees some of them. */
	CU_ASSERT_TRUE(duration >= 40000000);
	CU_ASSERT_TRUE(pool->failures <= 2 * duration / frame_time + 2);
	CU_ASSERT_TRUE(vl_executor_event_count(vl_network_executor(star.network)) <
		       3 * duration / frame_time);
	finish(&star);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"times_of_one_message", test_times_of_one_message},
		{"cut_through", test_cut_through},
		{"line_rate", test_line_rate},
		{"same_seed_same_bytes", test_same_seed_same_bytes},
		{"lossless_incast", test_lossless_incast},
		{"too_little_headroom", test_too_little_headroom},
		{"lossy_incast", test_lossy_incast},
		{"audit", test_audit},
		{"endpoint_pauses_its_peer", test_endpoint_pauses_its_peer},
		{"pause_ends_by_itself", test_pause_ends_by_itself},
		{"two_switches", test_two_switches},
		{"says_what_is_wrong", test_says_what_is_wrong},
		{"frame_pool_runs_dry", test_frame_pool_runs_dry},
	};

	return RUN_SUITE("fabric_network", tests, argc, argv);
}
