/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Flows between two endpoints on a link, in virtual time. */

#include "dataplane/flow.h"
#include "dataplane/generate/memory.h"
#include "dataplane/network.h"
#include "tests/support/hosts.h"
#include "tests/support/suite.h"

#include <errno.h>
#include <string.h>

#define RATE        UINT64_C(100000000000)
#define PROPAGATION UINT64_C(1000)
#define LARGEST     (1u << 20)

static struct vl_network *network;
static struct vl_traffic *client, *server;
static struct vl_histogram times;

static void set_up(double loss)
{
	struct vl_endpoint_config config[2] = {host_config(1, RATE), host_config(2, RATE)};
	const struct vl_link_config link = {
		.rate = RATE, .propagation = PROPAGATION, .seed = 7, .impairments = {.loss = loss}};
	const struct vl_traffic_config traffic = {.largest_message = LARGEST};
	struct vl_node *a, *b;

	memset(&times, 0, sizeof(times));
	network = vl_network_create(NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(network);
	a = vl_network_add_endpoint(network, &config[0]);
	b = vl_network_add_endpoint(network, &config[1]);
	CU_ASSERT_FATAL(a && b);
	CU_ASSERT_EQUAL_FATAL(vl_network_connect(network, a, 0, b, 0, &link, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(vl_network_route(network), 0);
	client = vl_traffic_create(vl_node_endpoint(a), &traffic, NULL);
	server = vl_traffic_create(vl_node_endpoint(b), &traffic, NULL);
	CU_ASSERT_FATAL(client && server);
}

static void tear_down(void)
{
	vl_traffic_destroy(client);
	vl_traffic_destroy(server);
	vl_network_destroy(network);
}

static struct vl_flow_config flow(enum ibv_qp_type transport, enum vl_flow_verb verb, uint32_t size)
{
	return (struct vl_flow_config){.transport = transport,
				       .verb = verb,
				       .size = size,
				       .messages = 20,
				       .qps = 2,
				       .depth = 3,
				       .path_mtu = IBV_MTU_4096,
				       .priority = 3,
				       .dscp = 26,
				       .timeout = 8,
				       .retry_count = 7,
				       .rnr_retry = 7,
				       .completion_times = &times};
}

static struct vl_flow *create(const struct vl_flow_config *config)
{
	struct vl_flow *created = vl_flow_create(client, server, config, 0, NULL);

	CU_ASSERT_PTR_NOT_NULL_FATAL(created);
	return created;
}

/* All messages of both queue pairs arrive whole, counted at either end. */
static void deliver(enum ibv_qp_type transport, enum vl_flow_verb verb, uint32_t size, double loss)
{
	struct vl_flow_config config = flow(transport, verb, size);
	const struct vl_generate_progress *progress;
	struct vl_flow *made;

	set_up(loss);
	made = create(&config);
	CU_ASSERT_FALSE(vl_traffic_is_finished(client));
	CU_ASSERT_TRUE(vl_traffic_is_finished(server));
	vl_network_run_until(network, 1000000000);
	CU_ASSERT_TRUE(vl_traffic_is_finished(client));
	for (uint32_t n = 0; n < 2; n++) {
		progress = vl_flow_progress(made, n);
		CU_ASSERT_EQUAL(progress->status, IBV_WC_SUCCESS);
		CU_ASSERT_TRUE(progress->finished);
		CU_ASSERT_EQUAL(progress->posted, 20);
		CU_ASSERT_EQUAL(progress->completed, 20);
		CU_ASSERT_EQUAL(progress->bytes, UINT64_C(20) * size);
		if (verb != VL_FLOW_COMPARE_SWAP && verb != VL_FLOW_FETCH_ADD)
			CU_ASSERT_EQUAL(vl_flow_received_bytes(made, n), UINT64_C(20) * size);
	}
	CU_ASSERT_EQUAL(times.count, 40);
	tear_down();
}

static void test_reliable(void)
{
	deliver(IBV_QPT_RC, VL_FLOW_SEND, 10000, 0);
	deliver(IBV_QPT_RC, VL_FLOW_SEND_IMM, 1, 0);
	deliver(IBV_QPT_RC, VL_FLOW_WRITE, LARGEST, 0);
	deliver(IBV_QPT_RC, VL_FLOW_WRITE_IMM, 4096, 0);
	deliver(IBV_QPT_RC, VL_FLOW_READ, 100000, 0);
	deliver(IBV_QPT_RC, VL_FLOW_COMPARE_SWAP, 8, 0);
	deliver(IBV_QPT_RC, VL_FLOW_FETCH_ADD, 8, 0);
}

static void test_unreliable(void)
{
	deliver(IBV_QPT_UC, VL_FLOW_SEND, 10000, 0);
	deliver(IBV_QPT_UC, VL_FLOW_WRITE, 10000, 0);
	deliver(IBV_QPT_UC, VL_FLOW_WRITE_IMM, 10000, 0);
	deliver(IBV_QPT_UD, VL_FLOW_SEND, 4096, 0);
	deliver(IBV_QPT_UD, VL_FLOW_SEND_IMM, 1, 0);
}

static void test_lossy(void)
{
	deliver(IBV_QPT_RC, VL_FLOW_SEND, 20000, 0.02);
	deliver(IBV_QPT_RC, VL_FLOW_WRITE, 20000, 0.02);
	deliver(IBV_QPT_RC, VL_FLOW_READ, 20000, 0.02);
}

/* One packet each way: serialization twice (request of 4096 B, acknowledgement), propagation
 * twice. */
static void test_completion_time(void)
{
	struct vl_flow_config config = flow(IBV_QPT_RC, VL_FLOW_WRITE, 4096);
	/* Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4, and RETH 16 or AETH 4, and 24 around. */
	double request = (4096 + 58 + 16 + 24) * 8 / 100.0, answer = (58 + 4 + 24) * 8 / 100.0;
	double exact = request + answer + 2 * PROPAGATION;

	set_up(0);
	config.qps = 1;
	config.depth = 1;
	create(&config);
	vl_network_run_until(network, 1000000000);
	CU_ASSERT_EQUAL(times.count, 20);
	/* The link rounds each arrival down to whole nanoseconds. */
	CU_ASSERT_DOUBLE_EQUAL((double)times.least, exact, 2);
	CU_ASSERT_DOUBLE_EQUAL((double)times.most, exact, 2);
	tear_down();
}

/* Offered load: so many messages at so many times, whatever else the line could carry. */
static void test_rate(void)
{
	struct vl_flow_config config = flow(IBV_QPT_RC, VL_FLOW_WRITE, 1000);
	struct vl_flow *made;

	set_up(0);
	config.qps = 1;
	config.messages = 0;
	config.rate = 8000000000; /* one each 1 us */
	config.start = 100000;
	config.stop = 1100000;
	made = create(&config);
	vl_network_run_until(network, 99999);
	CU_ASSERT_EQUAL(vl_flow_progress(made, 0)->posted, 0);
	vl_network_run_until(network, 600000);
	CU_ASSERT_EQUAL(vl_flow_progress(made, 0)->posted, 501);
	vl_network_run_until(network, 2000000);
	CU_ASSERT_EQUAL(vl_flow_progress(made, 0)->completed, 1000);
	CU_ASSERT_TRUE(vl_flow_progress(made, 0)->finished);
	tear_down();
}

/* More offered than the line carries: the waiting counts in the completion times. */
static void test_overload(void)
{
	struct vl_flow_config config = flow(IBV_QPT_RC, VL_FLOW_WRITE, 4096);

	set_up(0);
	config.qps = 1;
	config.messages = 1000;
	config.rate = 2 * RATE;
	create(&config);
	vl_network_run_until(network, 1000000000);
	CU_ASSERT_EQUAL(times.count, 1000);
	/* The last was due after 164 us, and went out after 334 us at the earliest. */
	CU_ASSERT_TRUE(times.most > 160000);
	tear_down();
}

static void test_stop(void)
{
	struct vl_flow_config config = flow(IBV_QPT_RC, VL_FLOW_WRITE, 65536);
	struct vl_flow *made;
	uint64_t bytes;

	set_up(0);
	config.messages = 0;
	config.stop = 1000000;
	config.measure_from = 500000;
	made = create(&config);
	vl_network_run_until(network, 10000000);
	CU_ASSERT_TRUE(vl_traffic_is_finished(client));
	bytes = vl_flow_progress(made, 0)->bytes + vl_flow_progress(made, 1)->bytes;
	/* 98 % of what 1 ms of 100 Gb/s carries is payload; six messages may end after it. */
	CU_ASSERT_TRUE(bytes >= 12200000 && bytes <= 12300000 + 6 * 65536);
	CU_ASSERT_TRUE(times.count < bytes / 65536);
	CU_ASSERT_TRUE(times.count > bytes / 65536 / 3);
	tear_down();
}

/* One that is over before anything is measured runs all the same, as what others have met. */
static void test_stop_before_measured(void)
{
	struct vl_flow_config config = flow(IBV_QPT_RC, VL_FLOW_WRITE, 65536);
	struct vl_flow *made;

	set_up(0);
	config.messages = 0;
	config.stop = 1000000;
	config.measure_from = 5000000;
	made = create(&config);
	vl_network_run_until(network, 10000000);
	CU_ASSERT_TRUE(vl_traffic_is_finished(client));
	CU_ASSERT_TRUE(vl_flow_progress(made, 0)->bytes > 5000000);
	CU_ASSERT_EQUAL(times.count, 0);
	tear_down();
}

/* A line that brings nothing: the queue pair gives up, and says with what. */
static void test_failure(void)
{
	struct vl_flow_config config = flow(IBV_QPT_RC, VL_FLOW_WRITE, 4096);
	struct vl_flow *made;

	set_up(1);
	config.retry_count = 1;
	made = create(&config);
	vl_network_run_until(network, 1000000000);
	CU_ASSERT_TRUE(vl_traffic_is_finished(client));
	CU_ASSERT_EQUAL(vl_flow_progress(made, 0)->status, IBV_WC_RETRY_EXC_ERR);
	CU_ASSERT_EQUAL(vl_flow_progress(made, 0)->completed, 0);
	CU_ASSERT_TRUE(vl_flow_progress(made, 0)->finished);
	tear_down();
}

static void refused(const struct vl_flow_config *config, const char *expected)
{
	const char *error = vl_flow_config_error(config);
	int status = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(error);
	CU_ASSERT_STRING_EQUAL(error, expected);
	CU_ASSERT_PTR_NULL(vl_flow_create(client, server, config, 0, &status));
	CU_ASSERT_EQUAL(status, -EINVAL);
}

static void test_refusals(void)
{
	const struct vl_flow_config good = flow(IBV_QPT_RC, VL_FLOW_WRITE, 4096);
	struct vl_flow_config config = good;
	int status = 0;

	set_up(0);
	config.qps = 0;
	refused(&config, "qps must be 1 to 65536");
	config = good;
	config.depth = VL_FLOW_MAX_DEPTH + 1;
	refused(&config, "depth must be 1 to 16384");
	config = good;
	config.size = 0;
	refused(&config, "size must be 1 B to 2 GiB");
	config = flow(IBV_QPT_RC, VL_FLOW_FETCH_ADD, 16);
	refused(&config, "the size of an atomic is 8 B");
	config = flow(IBV_QPT_UC, VL_FLOW_READ, 16);
	refused(&config, "UC has no READ and no atomics");
	config = flow(IBV_QPT_UD, VL_FLOW_WRITE, 16);
	refused(&config, "UD has SEND only");
	config = flow(IBV_QPT_UD, VL_FLOW_SEND, 4097);
	refused(&config, "a UD message is at most one path MTU");
	config = good;
	config.start = 2;
	config.stop = 1;
	refused(&config, "it stops before it starts");
	config = good;
	config.path_mtu = (enum ibv_mtu)0;
	refused(&config, "the path MTU must be 256, 512, 1024, 2048 or 4096");
	config = good;
	config.size = LARGEST + 1;
	CU_ASSERT_PTR_NULL(vl_flow_create(client, server, &config, 0, &status));
	CU_ASSERT_EQUAL(status, -EINVAL);
	tear_down();
}

/* Two flows in opposite directions between the same applications. */
static void test_both_ways(void)
{
	struct vl_flow_config config = flow(IBV_QPT_RC, VL_FLOW_SEND, 50000);
	struct vl_flow *there, *back;

	set_up(0);
	there = create(&config);
	config.completion_times = NULL;
	back = vl_flow_create(server, client, &config, 0, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(back);
	vl_network_run_until(network, 1000000000);
	CU_ASSERT_EQUAL(vl_flow_progress(there, 1)->completed, 20);
	CU_ASSERT_EQUAL(vl_flow_progress(back, 1)->completed, 20);
	CU_ASSERT_NOT_EQUAL(vl_qp_number(vl_flow_requester_qp(there, 0)),
			    vl_qp_number(vl_flow_responder_qp(back, 0)));
	CU_ASSERT_EQUAL(vl_flow_configuration(back)->size, 50000);
	tear_down();
}

/* Atomics, however long the other messages are: where they arrive is aligned. */
static void test_aligned(void)
{
	for (uint32_t largest = 1; largest < 100; largest++)
		CU_ASSERT_EQUAL(vl_traffic_memory_size(largest) / 2 % 8, 0);
}

static const struct test tests[] = {
	{"reliable", test_reliable},
	{"unreliable", test_unreliable},
	{"lossy", test_lossy},
	{"completion_time", test_completion_time},
	{"rate", test_rate},
	{"overload", test_overload},
	{"stop", test_stop},
	{"failure", test_failure},
	{"stop_before_measured", test_stop_before_measured},
	{"refusals", test_refusals},
	{"both_ways", test_both_ways},
	{"aligned", test_aligned},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("flow", tests, argc, argv);
}
