/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* A client of the control service whose server says what it likes, in virtual time. */

#include "apps/control/channel.h"
#include "apps/control/client.h"
#include "dataplane/network.h"
#include "tests/support/hosts.h"
#include "tests/support/suite.h"
#include "transport/verbline.h"

#include <string.h>

#define SECOND UINT64_C(1000000000)
#define RATE   UINT64_C(100000000000)

static struct vl_network *network;
static struct vl_endpoint *near, *far;
static struct vl_cm *near_cm, *far_cm;
static struct vl_generator *generator;
static struct vl_generate_group *group;
static struct vl_control_client *client;
static struct vl_control_channel *channel; /* the server's */
static struct vl_cm_connection *connection;
static uint64_t clock_jump; /* between the pings at the beginning and those at the end */
static uint32_t next_slot;  /* that every part of the times says it goes on from */
static unsigned int parts;
static uint64_t hits; /* of the one slot that the times have; they tell of 1000 values */

/* ---- The server ------------------------------------------------------------------------------ */

static void take_event(void *context, const struct vl_cm_event *event, uint64_t now)
{
	struct vl_cm_accept_param param = {.conn = vl_control_conn_param};

	(void)context;
	if (event->type != VL_CM_EVENT_CONNECT_REQUEST)
		return;
	connection = event->connection;
	CU_ASSERT_EQUAL_FATAL(vl_control_channel_connect(channel, connection, now), 0);
	param.conn.qpn = vl_qp_number(vl_control_channel_qp(channel));
	CU_ASSERT_EQUAL_FATAL(vl_cm_accept(connection, &param, now), 0);
}

static void answer(const struct vl_control_message *request, struct vl_control_message *message,
		   uint64_t now)
{
	static unsigned int pings;

	memset(message, 0, sizeof(*message));
	switch (request->type) {
	case VL_CONTROL_HELLO:
		pings = 0;
		message->type = VL_CONTROL_HELLO;
		message->hello = (struct vl_control_hello){.version = "liar",
							   .protocol = VL_CONTROL_PROTOCOL,
							   .largest_message = 1 << 20,
							   .qps = 10,
							   .clock = "another one"};
		break;
	case VL_CONTROL_PING:
		message->type = VL_CONTROL_PONG;
		message->ping = (struct vl_control_ping){request->ping.sent, now};
		if (pings++ >= 16)
			message->ping.arrived = clock_jump ? clock_jump : now;
		break;
	case VL_CONTROL_OPEN:
		message->type = VL_CONTROL_OPENED;
		message->opened = (struct vl_control_opened){
			.length = 1 << 20, .count = 1, .qps = {{0x1000, 0}}};
		break;
	case VL_CONTROL_COUNT:
		message->type = VL_CONTROL_COUNTERS;
		break;
	case VL_CONTROL_TIMES:
		parts++;
		message->type = VL_CONTROL_TIMED;
		message->timed.next = next_slot;
		if (hits) {
			message->timed.count = message->timed.least = message->timed.most = 1000;
			message->timed.slot_count = 1;
			message->timed.slots[0].slot = 7;
			message->timed.slots[0].count = hits;
		}
		break;
	default:
		message->type = VL_CONTROL_CLOSED;
		break;
	}
}

static void poll_far(void *context, struct vl_endpoint *endpoint, uint64_t now)
{
	static struct vl_control_message request, message;
	char error[200];

	(void)context, (void)endpoint;
	vl_cm_poll(far_cm, now);
	if (!connection ||
	    vl_control_channel_receive(channel, &request, error, sizeof(error), now) != 1)
		return;
	vl_cm_notify(connection, now);
	answer(&request, &message, now);
	CU_ASSERT_EQUAL(vl_control_channel_send(channel, &message, now), 0);
}

static uint64_t far_deadline(void *context)
{
	(void)context;
	return vl_cm_next_deadline(far_cm);
}

/* ---- The client ------------------------------------------------------------------------------ */

static void poll_near(void *context, struct vl_endpoint *endpoint, uint64_t now)
{
	(void)context, (void)endpoint;
	vl_cm_poll(near_cm, now);
	vl_control_client_poll(client, now);
	vl_generator_poll(generator, now);
}

static uint64_t near_deadline(void *context)
{
	uint64_t deadline = vl_cm_next_deadline(near_cm);
	uint64_t own = vl_control_client_next_deadline(client);

	(void)context;
	return own < deadline ? own : deadline;
}

static void open_network(void)
{
	struct vl_endpoint_config hosts[2] = {host_config(1, RATE), host_config(2, RATE)};
	const struct vl_link_config link = {.rate = RATE, .propagation = 1000};
	const struct vl_cm_listen_param listen = {
		.service_id = vl_rdma_service_id(VL_RDMA_PORT_SPACE_TCP, VL_CONTROL_PORT),
		.qp_type = IBV_QPT_RC,
		.handler = {take_event, NULL}};
	struct vl_node *nodes[2];
	int error = 0;

	network = vl_network_create(NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(network);
	for (unsigned int i = 0; i < 2; i++) {
		nodes[i] = vl_network_add_endpoint(network, &hosts[i]);
		CU_ASSERT_PTR_NOT_NULL_FATAL(nodes[i]);
	}
	CU_ASSERT_EQUAL_FATAL(vl_network_connect(network, nodes[0], 0, nodes[1], 0, &link, NULL),
			      0);
	near = vl_node_endpoint(nodes[0]);
	far = vl_node_endpoint(nodes[1]);
	near_cm = vl_cm_open(near->device, NULL, 0, &error);
	far_cm = vl_cm_open(far->device, NULL, 0, &error);
	CU_ASSERT_FATAL(near_cm && far_cm);
	connection = NULL;
	channel = vl_control_channel_open(far->device, 0, &error);
	CU_ASSERT_PTR_NOT_NULL_FATAL(channel);
	CU_ASSERT_PTR_NOT_NULL_FATAL(vl_cm_listen(far_cm, &listen, &error));
}

/* A client with one stamped queue pair, which has asked for all that it asks for. */
static void converse(void)
{
	const struct vl_generate_group_config stamped = {
		.qp = {.transport = IBV_QPT_UC, .path_mtu = IBV_MTU_1024},
		.qps = 1,
		.depth = 1,
		.stamps = true,
		.mix = {.count = 1, .entries = {{VL_FLOW_WRITE_IMM, 64, 64, 1}}},
		.messages = 1};
	struct vl_control_client_config config = {
		.server = host_gid(2), .path_mtu = IBV_MTU_1024, .group_count = 1};
	int error = 0;

	open_network();
	generator = vl_generator_create(near->device, &(struct vl_generator_config){1 << 20, NULL},
					&error);
	CU_ASSERT_PTR_NOT_NULL_FATAL(generator);
	group = vl_generator_add_group(generator, &stamped, 0, &error);
	CU_ASSERT_PTR_NOT_NULL_FATAL(group);
	config.groups = &group;
	client = vl_control_client_open(near->device, near_cm, &config, 0, &error);
	CU_ASSERT_PTR_NOT_NULL_FATAL(client);
	vl_endpoint_set_application(near, &(struct vl_application){poll_near, near_deadline, NULL});
	vl_endpoint_set_application(far, &(struct vl_application){poll_far, far_deadline, NULL});
	parts = 0;
	vl_network_run_until(network, SECOND / 2);
	CU_ASSERT_EQUAL(vl_control_client_state(client), VL_CONTROL_READY);
	vl_control_client_finish(client, vl_network_now(network));
	vl_network_run_until(network, SECOND);
}

static void end(void)
{
	uint64_t now = vl_network_now(network);

	vl_control_client_close(client, now);
	vl_generator_destroy(generator);
	vl_control_channel_close(channel);
	vl_cm_close(near_cm);
	vl_cm_close(far_cm);
	vl_network_destroy(network);
}

/* ---- What it is told ------------------------------------------------------------------------- */

static void test_honest(void)
{
	clock_jump = next_slot = 0;
	converse();
	CU_ASSERT_EQUAL(vl_control_client_state(client), VL_CONTROL_DONE);
	CU_ASSERT_EQUAL(parts, 1);
	CU_ASSERT_TRUE(vl_control_client_one_way(client, 0)->error < 10000);
	end();
}

/* Parts of the times without end. */
static void test_times_without_end(void)
{
	clock_jump = 0;
	next_slot = 5;
	converse();
	CU_ASSERT_EQUAL(vl_control_client_state(client), VL_CONTROL_FAILED);
	CU_ASSERT_PTR_NOT_NULL(strstr(vl_control_client_error(client), "go on from slot 5"));
	CU_ASSERT_EQUAL(parts, 2);
	end();
}

/* A clock that jumps over half of all times. */
static void test_clock_jumps(void)
{
	clock_jump = INT64_MAX;
	next_slot = 0;
	converse();
	CU_ASSERT_EQUAL(vl_control_client_state(client), VL_CONTROL_DONE);
	CU_ASSERT_TRUE(vl_control_client_one_way(client, 0)->error > INT64_MAX / 2);
	end();
}

/* Times that are fewer than they are said to be, and in other places; or more than there can be. */
static void test_times_do_not_add_up(void)
{
	const struct vl_histogram *times;

	clock_jump = next_slot = 0;
	hits = 2;
	converse();
	CU_ASSERT_EQUAL_FATAL(vl_control_client_state(client), VL_CONTROL_DONE);
	times = &vl_control_client_one_way(client, 0)->found.times;
	CU_ASSERT_EQUAL(times->count, 2);
	CU_ASSERT_EQUAL(vl_histogram_percentile(times, 0.5), 7);
	CU_ASSERT_EQUAL(vl_histogram_percentile(times, 1), 7);
	end();
	hits = INT64_MAX;
	converse();
	CU_ASSERT_EQUAL(vl_control_client_state(client), VL_CONTROL_FAILED);
	CU_ASSERT_PTR_NOT_NULL(strstr(vl_control_client_error(client), "not possible"));
	end();
	hits = 0;
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"honest", test_honest},
		{"times_without_end", test_times_without_end},
		{"clock_jumps", test_clock_jumps},
		{"times_do_not_add_up", test_times_do_not_add_up},
	};

	return RUN_SUITE("control_liar", tests, argc, argv);
}
