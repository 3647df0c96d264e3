/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * How fast a whole fabric runs in virtual time: a leaf-spine network without oversubscription,
 * where each endpoint sends to one in another leaf. A hop is a data packet that crosses a link:
 * ACKs travel, but do not count. Every data packet is made with its ICRC, checked, placed and
 * acknowledged by the full transport under DCQCN. Processor time is measured, so that other work on
 * the machine disturbs little, and put beside what cannot be saved: two copies and two CRCs of each
 * packet.
 */

#include "dataplane/flow.h"
#include "dataplane/huge_pages.h"
#include "dataplane/network.h"
#include "tests/support/hosts.h"
#include "transport/wire/icrc.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define RATE          UINT64_C(100000000000)
#define PATH_MTU      4096u
#define MESSAGE       65536u
#define DATA_FRAME    2048u /* longer frames are data packets */
#define LIMIT_PACKETS 200000u
#define STEP          UINT64_C(100000)

struct options {
	uint32_t endpoints; /* a square number */
	uint64_t hops;      /* to run for, at least */
	double require;     /* hops a second; 0: none */
	const char *json;
};

struct fabric {
	struct vl_network *network;
	struct vl_node **hosts, **leaves, **spines;
	struct vl_traffic **traffic;
	struct vl_flow **flows;
	void *memory;              /* of all messages of all endpoints, as they all hold the same */
	uint32_t endpoints, width; /* leaves, spines, and endpoints of a leaf */
	uint64_t hops;
	struct vl_cc_parameters cc;
};

struct result {
	uint64_t hops, events, virtual_time, retransmitted, bytes;
	double seconds, build_seconds, memory; /* bytes */
};

static double processor_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static struct vl_switch_config switch_config(uint32_t ports, uint32_t number)
{
	struct vl_switch_config config;

	vl_switch_config_defaults(&config, ports, UINT64_C(2000000) * ports);
	config.port.queues[6].scheduler.type = VL_SCHEDULING_STRICT;
	memcpy(config.mac, (uint8_t[6]){2, 1, (uint8_t)number}, 6);
	config.seed = number + 1;
	vl_switch_config_lossless(&config.port, HOST_DATA_PRIORITY, 500000, 400000, 200000);
	config.port.queues[HOST_DATA_PRIORITY].red =
		vl_red_marking(VL_RED_AT_DEQUEUE, 100000, 400000, 0.1);
	return config;
}

static void count_hop(void *context, const struct vl_node *node, uint32_t port,
		      enum vl_direction direction, const struct vl_frame *frame, uint64_t now)
{
	struct fabric *fabric = context;

	(void)node;
	(void)port;
	(void)now;
	if (direction == VL_DIRECTION_TRANSMITTED && frame->length > DATA_FRAME)
		fabric->hops++;
}

static bool join(struct vl_node *a, uint32_t port_a, struct vl_node *b, uint32_t port_b,
		 struct vl_network *network)
{
	const struct vl_link_config link = {.rate = RATE, .propagation = 500};

	return !vl_network_connect(network, a, port_a, b, port_b, &link, NULL);
}

static bool build_switches(struct fabric *fabric)
{
	uint32_t width = fabric->width;

	for (uint32_t i = 0; i < width; i++) {
		struct vl_switch_config leaf = switch_config(2 * width, i);
		struct vl_switch_config spine = switch_config(width, width + i);
		char name[16];

		snprintf(name, sizeof(name), "leaf%u", i);
		fabric->leaves[i] = vl_network_add_switch(fabric->network, name, &leaf);
		snprintf(name, sizeof(name), "spine%u", i);
		fabric->spines[i] = vl_network_add_switch(fabric->network, name, &spine);
		if (!fabric->leaves[i] || !fabric->spines[i])
			return false;
	}
	for (uint32_t i = 0; i < width * width; i++) {
		uint32_t leaf = i / width, spine = i % width;

		if (!join(fabric->leaves[leaf], width + spine, fabric->spines[spine], leaf,
			  fabric->network))
			return false;
	}
	return true;
}

static bool build_hosts(struct fabric *fabric)
{
	const struct vl_traffic_config traffic = {.largest_message = MESSAGE,
						  .memory = fabric->memory};
	const struct vl_tap tap = {count_hop, fabric};

	for (uint32_t i = 0; i < fabric->endpoints; i++) {
		struct vl_endpoint_config config = host_config((uint16_t)(i + 1), RATE);

		config.device.max_qp = 64;
		fabric->hosts[i] = vl_network_add_endpoint(fabric->network, &config);
		if (!fabric->hosts[i] || !join(fabric->leaves[i / fabric->width], i % fabric->width,
					       fabric->hosts[i], 0, fabric->network))
			return false;
		fabric->traffic[i] =
			vl_traffic_create(vl_node_endpoint(fabric->hosts[i]), &traffic, NULL);
		if (!fabric->traffic[i] ||
		    vl_network_tap(fabric->network, fabric->hosts[i], 0, &tap))
			return false;
	}
	return true;
}

/* Endpoint n of a leaf is reached over spine n, so that no two flows share a link. */
static bool spread_routes(struct fabric *fabric)
{
	for (uint32_t leaf = 0; leaf < fabric->width; leaf++) {
		for (uint32_t i = 0; i < fabric->endpoints; i++) {
			struct vl_endpoint_config config = host_config((uint16_t)(i + 1), RATE);

			if (i / fabric->width != leaf &&
			    vl_switch_add_route(vl_node_switch(fabric->leaves[leaf]),
						config.device.mac,
						fabric->width + i % fabric->width))
				return false;
		}
	}
	return true;
}

static bool start_flows(struct fabric *fabric)
{
	struct vl_flow_config config = {
		.transport = IBV_QPT_RC,
		.verb = VL_FLOW_WRITE,
		.size = MESSAGE,
		.qps = 1,
		.depth = 4,
		.path_mtu = IBV_MTU_4096,
		.priority = HOST_DATA_PRIORITY,
		.dscp = 26,
		.timeout = 14,
		.retry_count = 7,
		.rnr_retry = 7,
		.cc = &fabric->cc,
	};

	for (uint32_t i = 0; i < fabric->endpoints; i++) {
		uint32_t to = (i + fabric->width) % fabric->endpoints;

		config.seed = i;
		config.start = i * 7;
		fabric->flows[i] =
			vl_flow_create(fabric->traffic[i], fabric->traffic[to], &config, 0, NULL);
		if (!fabric->flows[i])
			return false;
	}
	return true;
}

static bool build(struct fabric *fabric, uint32_t endpoints)
{
	while (fabric->width * fabric->width < endpoints)
		fabric->width++;
	fabric->endpoints = endpoints;
	fabric->network = vl_network_create(NULL);
	fabric->memory = calloc(1, vl_traffic_memory_size(MESSAGE));
	fabric->hosts = calloc(endpoints, sizeof(*fabric->hosts));
	fabric->traffic = calloc(endpoints, sizeof(*fabric->traffic));
	fabric->flows = calloc(endpoints, sizeof(*fabric->flows));
	fabric->leaves = calloc(fabric->width, sizeof(*fabric->leaves));
	fabric->spines = calloc(fabric->width, sizeof(*fabric->spines));
	fabric->cc.algorithm = vl_cc_find("dcqcn");
	if (vl_dcqcn_profile(&fabric->cc.dcqcn, "nvidia"))
		return false;
	return fabric->network && fabric->memory && fabric->hosts && fabric->traffic &&
	       fabric->flows && fabric->leaves && fabric->spines && build_switches(fabric) &&
	       build_hosts(fabric) && !vl_network_route(fabric->network) && spread_routes(fabric) &&
	       start_flows(fabric);
}

static void destroy(struct fabric *fabric)
{
	for (uint32_t i = 0; fabric->traffic && i < fabric->endpoints; i++) {
		if (fabric->traffic[i])
			vl_traffic_destroy(fabric->traffic[i]);
	}
	vl_network_destroy(fabric->network);
	free(fabric->memory);
	free(fabric->hosts);
	free(fabric->traffic);
	free(fabric->flows);
	free(fabric->leaves);
	free(fabric->spines);
}

/* Each data packet crosses host-leaf, leaf-spine, spine-leaf and leaf-host; what left the hosts is
 * counted. */
static uint64_t hops_of(const struct fabric *fabric)
{
	return fabric->hops * 4;
}

static bool run(const struct options *options, struct result *result)
{
	struct fabric fabric = {0};
	struct rusage usage;
	double start = processor_seconds();
	bool built = build(&fabric, options->endpoints);

	result->build_seconds = processor_seconds() - start;
	if (!built) {
		fprintf(stderr, "fabric: cannot build the network: %s\n",
			fabric.network ? vl_network_error(fabric.network) : "no memory");
		destroy(&fabric);
		return false;
	}
	vl_huge_pages_collapse();
	/* Past the start, when every queue pair sends and all caches hold what they can. */
	vl_network_run_until(fabric.network, 2 * STEP);
	start = processor_seconds();
	result->hops = hops_of(&fabric);
	result->events = vl_executor_event_count(vl_network_executor(fabric.network));
	result->virtual_time = vl_network_now(fabric.network);
	while (hops_of(&fabric) - result->hops < options->hops)
		vl_network_run_until(fabric.network, vl_network_now(fabric.network) + STEP);
	result->seconds = processor_seconds() - start;
	result->hops = hops_of(&fabric) - result->hops;
	result->events =
		vl_executor_event_count(vl_network_executor(fabric.network)) - result->events;
	result->virtual_time = vl_network_now(fabric.network) - result->virtual_time;
	for (uint32_t i = 0; i < fabric.endpoints; i++) {
		struct vl_qp *qp = vl_flow_requester_qp(fabric.flows[i], 0);

		result->retransmitted += vl_qp_counters(qp)->data_frames_retransmitted;
		result->bytes += vl_flow_received_bytes(fabric.flows[i], 0);
	}
	getrusage(RUSAGE_SELF, &usage);
	result->memory = (double)usage.ru_maxrss * 1024;
	destroy(&fabric);
	return true;
}

/* Packets a second of two copies and two CRCs in turn, over more memory than caches hold. */
static double measure_limit(void)
{
	const uint32_t length = PATH_MTU + 58, frames = 4096;
	uint8_t *source = calloc(1, MESSAGE), *pool = calloc(frames, length);
	volatile uint32_t sink = 0;
	uint32_t crc = 0;
	double start;

	if (!source || !pool) {
		free(source);
		free(pool);
		return 0;
	}
	start = processor_seconds();
	for (uint32_t i = 0; i < LIMIT_PACKETS; i++) {
		uint8_t *frame = pool + (size_t)(i % frames) * length;
		uint8_t *old = pool + (size_t)((i + frames / 2) % frames) * length;

		memcpy(frame, source + i % 64, length);
		crc += vl_crc32(0, frame, length);
		crc += vl_crc32(0, old, length);
		memcpy(source, old, PATH_MTU);
	}
	sink += crc;
	(void)sink;
	start = processor_seconds() - start;
	free(source);
	free(pool);
	return LIMIT_PACKETS / start;
}

static void print(const struct options *options, const struct result *result, double limit)
{
	double rate = (double)result->hops / result->seconds;

	printf("leaf-spine, %u endpoints, permutation, RC WRITE 64 KiB, path MTU %u, DCQCN\n",
	       options->endpoints, PATH_MTU);
	printf("  data packet hops     %12llu\n", (unsigned long long)result->hops);
	printf("  hops/s               %12.0f\n", rate);
	printf("  limit (2 x copy+CRC) %12.0f packets/s: %.0f hops/s at 4 hops a packet\n", limit,
	       4 * limit);
	printf("  ratio to the limit   %12.3f\n", rate / (4 * limit));
	printf("  events/hop           %12.2f\n", (double)result->events / (double)result->hops);
	printf("  retransmitted        %12llu\n", (unsigned long long)result->retransmitted);
	printf("  goodput, virtual     %12.2f Gb/s an endpoint\n",
	       (double)result->hops / 4 * PATH_MTU * 8 / (double)result->virtual_time /
		       options->endpoints);
	printf("  building             %12.2f s\n", result->build_seconds);
	printf("  memory               %12.0f MB\n", result->memory / 1e6);
}

static bool write_json(const struct options *options, const struct result *result, double limit)
{
	double rate = (double)result->hops / result->seconds;
	json_t *root =
		json_pack("{s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:f}", "endpoints",
			  (json_int_t)options->endpoints, "hops", (json_int_t)result->hops,
			  "processor_seconds", result->seconds, "hops_per_second", rate,
			  "limit_hops_per_second", 4 * limit, "ratio_to_limit", rate / (4 * limit),
			  "events_per_hop", (double)result->events / (double)result->hops,
			  "memory_bytes", result->memory);
	bool written = root && !json_dump_file(root, options->json, JSON_INDENT(2));

	json_decref(root);
	if (!written)
		fprintf(stderr, "fabric: cannot write %s\n", options->json);
	return written;
}

static bool read_options(int argc, char **argv, struct options *options)
{
	for (int i = 1; i < argc; i += 2) {
		const char *value = i + 1 < argc ? argv[i + 1] : NULL;

		if (!value)
			return false;
		if (!strcmp(argv[i], "--endpoints"))
			options->endpoints = (uint32_t)strtoul(value, NULL, 0);
		else if (!strcmp(argv[i], "--hops"))
			options->hops = strtoull(value, NULL, 0);
		else if (!strcmp(argv[i], "--require"))
			options->require = strtod(value, NULL);
		else if (!strcmp(argv[i], "--json"))
			options->json = value;
		else
			return false;
	}
	for (uint32_t width = 2; width <= 32; width++) {
		if (width * width == options->endpoints)
			return options->hops > 0;
	}
	return false;
}

int main(int argc, char **argv)
{
	struct options options = {.endpoints = 16, .hops = 4000000};
	struct result result = {0};
	double limit;

	if (!read_options(argc, argv, &options)) {
		fprintf(stderr, "usage: fabric [--endpoints 4|9|16|...|1024] [--hops N] [--require "
				"HOPS_PER_SECOND] [--json FILE]\n");
		return 2;
	}
	limit = measure_limit();
	if (!run(&options, &result))
		return 1;
	print(&options, &result, limit);
	if (options.json && !write_json(&options, &result, limit))
		return 1;
	return (double)result.hops / result.seconds < options.require;
}
