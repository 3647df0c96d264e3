/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * How fast virtual time runs: two senders, one switch port, one receiver, RC WRITE at a path MTU of
 * 4096. Every data packet is made, its ICRC computed and checked, its payload copied into the
 * receiver's memory, and acknowledged. The limit measured in the same run is what cannot be saved:
 * at the sender a copy and a CRC of the copy, at the receiver a CRC and a copy.
 */

#include "dataplane/network.h"
#include "tests/support/hosts.h"
#include "transport/wire/icrc.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SENDERS       2
#define RATE          UINT64_C(100000000000)
#define PATH_MTU      4096u
#define DEPTH         64
#define MEMORY        (1u << 20)
#define LIMIT_PACKETS 400000u

struct options {
	uint64_t packets; /* data packets in all */
	uint32_t message; /* bytes */
	const char *cc;
	const char *json; /* file, or NULL */
};

struct sender {
	struct vl_node *node;
	struct vl_qp *qp;
	struct vl_cq *cq;
	struct ibv_mr *mr;
	uint8_t *memory;
	uint64_t remote_address;
	uint32_t rkey, message;
	uint64_t left, outstanding, failed; /* messages */
	struct vl_cc_parameters cc;
};

struct result {
	uint64_t packets, events, naks, virtual_time;
	double seconds, mean_queue;
};

static uint8_t receiver_memory[SENDERS][MEMORY];

static double seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void post(struct sender *sender, uint64_t now)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)sender->memory,
		.length = sender->message,
		.lkey = sender->mr->lkey,
	};
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {.remote_addr = sender->remote_address, .rkey = sender->rkey},
	};
	const struct ibv_send_wr *bad;

	while (sender->left && sender->outstanding < DEPTH) {
		if (vl_post_send(sender->qp, &wr, &bad, now)) {
			sender->failed += sender->left;
			sender->left = 0;
			return;
		}
		sender->left--;
		sender->outstanding++;
	}
}

static void poll_sender(void *context, struct vl_endpoint *endpoint, uint64_t now)
{
	struct sender *sender = context;
	struct ibv_wc wc[16];
	int count = vl_poll_cq(sender->cq, 16, wc);

	(void)endpoint;
	for (int i = 0; i < count; i++) {
		if (wc[i].status != IBV_WC_SUCCESS)
			sender->failed++;
	}
	sender->outstanding -= (uint64_t)count;
	if (sender->failed)
		sender->left = 0;
	if (sender->outstanding < DEPTH / 2)
		post(sender, now);
}

/* Lossless: what RED marks slows the senders under DCQCN, PFC keeps the rest. */
static struct vl_switch_config switch_config(void)
{
	struct vl_switch_config config;

	vl_switch_config_defaults(&config, SENDERS + 1, 4000000);
	config.port.queues[6].scheduler.type = VL_SCHEDULING_STRICT;
	memcpy(config.mac, (uint8_t[6]){2, 1}, 6);
	config.seed = 1;
	vl_switch_config_lossless(&config.port, HOST_DATA_PRIORITY, 500000, 400000, 200000);
	config.port.queues[HOST_DATA_PRIORITY].red =
		vl_red_marking(VL_RED_AT_DEQUEUE, 100000, 400000, 0.1);
	return config;
}

static struct vl_qp *make_qp(struct vl_endpoint *endpoint, struct vl_pd *pd, struct vl_cq *cq)
{
	struct vl_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {.max_send_wr = 2 * DEPTH, .max_recv_wr = 1, .max_send_sge = 1},
		.qp_type = IBV_QPT_RC,
	};

	(void)endpoint;
	return vl_create_qp(pd, &attr, NULL);
}

static bool set_cc(struct sender *sender, const char *name)
{
	sender->cc = (struct vl_cc_parameters){
		.algorithm = vl_cc_find(name),
		.fixed_rate = RATE / SENDERS * 49 / 50,
	};
	return sender->cc.algorithm && !vl_dcqcn_profile(&sender->cc.dcqcn, "nvidia") &&
	       !vl_set_cc(sender->qp, &sender->cc);
}

static bool join(struct sender *sender, unsigned int number, struct vl_node *receiver,
		 const struct options *options)
{
	const unsigned int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	struct vl_endpoint *near = vl_node_endpoint(sender->node);
	struct vl_endpoint *far = vl_node_endpoint(receiver);
	struct vl_pd *near_pd = vl_alloc_pd(near->device, NULL);
	struct vl_pd *far_pd = vl_alloc_pd(far->device, NULL);
	struct vl_cq *far_cq = vl_create_cq(far->device, 16, NULL, NULL);
	struct host_path path = {.timeout = 14, .retry_count = 7, .rnr_retry = 7, .access = access};
	struct ibv_mr *target;
	struct vl_qp *peer;

	sender->memory = calloc(1, MEMORY);
	sender->cq = vl_create_cq(near->device, 4 * DEPTH, NULL, NULL);
	if (!sender->memory || !sender->cq || !far_cq || !near_pd || !far_pd)
		return false;
	sender->mr = vl_reg_mr(near_pd, sender->memory, MEMORY, (uintptr_t)sender->memory,
			       IBV_ACCESS_LOCAL_WRITE, NULL);
	target = vl_reg_mr(far_pd, receiver_memory[number], MEMORY,
			   (uintptr_t)receiver_memory[number], access, NULL);
	sender->qp = make_qp(near, near_pd, sender->cq);
	peer = make_qp(far, far_pd, far_cq);
	if (!sender->mr || !target || !sender->qp || !peer || !set_cc(sender, options->cc))
		return false;
	sender->remote_address = (uintptr_t)receiver_memory[number];
	sender->rkey = target->rkey;
	sender->message = options->message;
	sender->left = options->packets / SENDERS * PATH_MTU / options->message;
	path.remote_host = 1;
	path.remote_qpn = vl_qp_number(peer);
	if (host_connect(sender->qp, IBV_QPT_RC, &path, 0))
		return false;
	path.remote_host = (uint16_t)(2 + number);
	path.remote_qpn = vl_qp_number(sender->qp);
	return !host_connect(peer, IBV_QPT_RC, &path, 0);
}

static bool build(struct vl_network *network, struct sender *senders, struct vl_node **receiver,
		  struct vl_node **sw, const struct options *options)
{
	const struct vl_link_config link = {.rate = RATE, .propagation = 500};
	const struct vl_switch_config fabric = switch_config();
	struct vl_endpoint_config config = host_config(1, RATE);

	*receiver = vl_network_add_endpoint(network, &config);
	*sw = vl_network_add_switch(network, "switch", &fabric);
	if (!*receiver || !*sw || vl_network_connect(network, *receiver, 0, *sw, 0, &link, NULL))
		return false;
	for (unsigned int i = 0; i < SENDERS; i++) {
		struct vl_application application = {.poll = poll_sender, .context = &senders[i]};

		config = host_config((uint16_t)(2 + i), RATE);
		senders[i].node = vl_network_add_endpoint(network, &config);
		if (!senders[i].node ||
		    vl_network_connect(network, senders[i].node, 0, *sw, 1 + i, &link, NULL) ||
		    !join(&senders[i], i, *receiver, options))
			return false;
		vl_endpoint_set_application(vl_node_endpoint(senders[i].node), &application);
	}
	return !vl_network_route(network);
}

static bool run(const struct options *options, struct result *result)
{
	struct vl_network *network = vl_network_create(NULL);
	struct sender senders[SENDERS] = {0};
	struct vl_node *receiver, *sw;
	const struct vl_counters *counters;
	struct vl_frame_queue *queue;
	uint64_t unfinished = 0;
	double start;

	if (!network || !build(network, senders, &receiver, &sw, options)) {
		fprintf(stderr, "virtual: cannot build the network: %s\n",
			network ? vl_network_error(network) : "no memory");
		return false;
	}
	start = seconds_now();
	while (senders[0].left || senders[0].outstanding || senders[1].left ||
	       senders[1].outstanding) {
		vl_network_run_until(network, vl_network_now(network) + 1000000);
		if (vl_executor_next(vl_network_executor(network)) == UINT64_MAX)
			break;
	}
	result->seconds = seconds_now() - start;
	counters = vl_device_counters(vl_node_endpoint(receiver)->device);
	queue = &vl_node_switch(sw)->ports[0].queues[HOST_DATA_PRIORITY];
	result->packets = counters->data_frames_rx;
	result->naks = counters->nak_tx;
	result->events = vl_executor_event_count(vl_network_executor(network));
	result->virtual_time = vl_network_now(network);
	result->mean_queue = (double)vl_frame_queue_area(queue, result->virtual_time) /
			     (double)result->virtual_time;
	for (unsigned int i = 0; i < SENDERS; i++)
		unfinished += senders[i].left + senders[i].outstanding + senders[i].failed;
	vl_network_destroy(network);
	for (unsigned int i = 0; i < SENDERS; i++)
		free(senders[i].memory);
	if (unfinished)
		fprintf(stderr, "virtual: %llu messages were not completed\n",
			(unsigned long long)unfinished);
	return !unfinished;
}

/* Packets a second of copy, CRC of the copy, CRC again, copy again, over buffers of the size that
 * the senders use. */
static double measure_limit(void)
{
	const uint32_t length = PATH_MTU + 58;
	uint8_t *source = calloc(1, MEMORY), *frame = malloc(length), *target = malloc(MEMORY);
	volatile uint32_t sink = 0;
	uint32_t crc = 0;
	double start;

	if (!source || !frame || !target)
		return 0;
	start = seconds_now();
	for (uint32_t i = 0; i < LIMIT_PACKETS; i++) {
		uint32_t offset = i * PATH_MTU % (MEMORY - length);

		memcpy(frame, source + offset, length);
		crc += vl_crc32(0, frame, length);
		frame[i % length] ^= 1;
		crc += vl_crc32(0, frame, length);
		memcpy(target + offset, frame, length);
	}
	sink += crc;
	(void)sink;
	start = seconds_now() - start;
	free(source);
	free(frame);
	free(target);
	return LIMIT_PACKETS / start;
}

static bool write_json(const struct options *options, const struct result *result, double limit)
{
	double rate = (double)result->packets / result->seconds;
	json_t *root = json_pack(
		"{s:I, s:I, s:s, s:f, s:f, s:f, s:f, s:f, s:I, s:f, s:s}", "packets",
		(json_int_t)result->packets, "message_bytes", (json_int_t)options->message, "cc",
		options->cc, "seconds", result->seconds, "packets_per_second", rate,
		"limit_packets_per_second", limit, "ratio_to_limit", rate / limit,
		"events_per_packet", (double)result->events / (double)result->packets, "virtual_ns",
		(json_int_t)result->virtual_time, "mean_queue_bytes", result->mean_queue, "crc",
		vl_crc32_implementation());
	bool written = root && !json_dump_file(root, options->json, JSON_INDENT(2));

	json_decref(root);
	if (!written)
		fprintf(stderr, "virtual: cannot write %s\n", options->json);
	return written;
}

static void print(const struct options *options, const struct result *result, double limit)
{
	double rate = (double)result->packets / result->seconds;

	printf("RC WRITE %u B, path MTU %u, 2 senders -> switch port -> 1 receiver, cc %s, CRC "
	       "%s\n",
	       options->message, PATH_MTU, options->cc, vl_crc32_implementation());
	printf("  data packets         %12llu\n", (unsigned long long)result->packets);
	printf("  packets/s            %12.0f\n", rate);
	printf("  limit (2 x copy+CRC) %12.0f packets/s\n", limit);
	printf("  ratio to the limit   %12.3f\n", rate / limit);
	printf("  events/packet        %12.2f\n", (double)result->events / (double)result->packets);
	printf("  virtual/real time    %12.4f\n",
	       (double)result->virtual_time * 1e-9 / result->seconds);
	printf("  goodput, virtual     %12.2f Gb/s\n",
	       (double)result->packets * PATH_MTU * 8 / (double)result->virtual_time);
	printf("  mean queue           %12.0f B\n", result->mean_queue);
}

static bool read_options(int argc, char **argv, struct options *options)
{
	for (int i = 1; i < argc; i += 2) {
		const char *value = i + 1 < argc ? argv[i + 1] : NULL;

		if (!value)
			return false;
		if (!strcmp(argv[i], "--packets"))
			options->packets = strtoull(value, NULL, 0);
		else if (!strcmp(argv[i], "--message"))
			options->message = (uint32_t)strtoul(value, NULL, 0);
		else if (!strcmp(argv[i], "--cc"))
			options->cc = value;
		else if (!strcmp(argv[i], "--json"))
			options->json = value;
		else
			return false;
	}
	return options->message && options->message <= MEMORY && options->packets &&
	       vl_cc_find(options->cc);
}

int main(int argc, char **argv)
{
	struct options options = {.packets = 2000000, .message = 4096, .cc = "dcqcn"};
	struct result result;
	double limit;

	if (!read_options(argc, argv, &options)) {
		fprintf(stderr, "usage: virtual [--packets N] [--message BYTES] "
				"[--cc none|fixed|dcqcn] [--json FILE]\n");
		return 2;
	}
	limit = measure_limit();
	if (!run(&options, &result))
		return 1;
	print(&options, &result, limit);
	if (options.json && !write_json(&options, &result, limit))
		return 1;
	return 0;
}
