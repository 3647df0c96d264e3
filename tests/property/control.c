/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The control service in virtual time: a generator and a server on two hosts set up queue pairs,
 * use them, and exchange what they counted; and what either says when the other misbehaves. */

#include "apps/control/channel.h"
#include "apps/control/client.h"
#include "apps/control/partners.h"
#include "apps/control/server.h"
#include "dataplane/network.h"
#include "tests/support/hosts.h"
#include "tests/support/suite.h"
#include "transport/object/object.h"

#include <errno.h>
#include <string.h>

#define SECOND UINT64_C(1000000000)
#define RATE   UINT64_C(100000000000)

static struct vl_network *network;
static struct vl_endpoint *near, *far;
static struct vl_cm *near_cm, *far_cm;
/* Where the server's frames come in, as it is told: what arrives is stamped by a device. */
static uint64_t port_error(const struct vl_port *port)
{
	return port->mtu;
}

static const struct vl_port_operations port_operations = {.arrival_error = port_error};
static const struct vl_port stamping_port = {
	.operations = &port_operations, .mtu = 123, .abilities = {.rx_time = true}};
static bool is_stamping;
static struct vl_generator *generator;
static struct vl_control_server *server;
static struct vl_control_client *client;
static struct vl_generate_group *groups[4];
static uint32_t group_count;
static const struct vl_cc_parameters *group_cc; /* NULL: the device's */

static void poll_near(void *context, struct vl_endpoint *endpoint, uint64_t now)
{
	(void)context, (void)endpoint;
	vl_cm_poll(near_cm, now);
	if (client)
		vl_control_client_poll(client, now);
	vl_generator_poll(generator, now);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t near_deadline(void *context)
{
	uint64_t deadline =
		least(vl_cm_next_deadline(near_cm), vl_generator_next_deadline(generator));

	(void)context;
	return client ? least(deadline, vl_control_client_next_deadline(client)) : deadline;
}

static void poll_far(void *context, struct vl_endpoint *endpoint, uint64_t now)
{
	(void)context, (void)endpoint;
	vl_cm_poll(far_cm, now);
	if (server)
		vl_control_server_poll(server, now);
}

static uint64_t far_deadline(void *context)
{
	uint64_t deadline = vl_cm_next_deadline(far_cm);

	(void)context;
	return server ? least(deadline, vl_control_server_next_deadline(server)) : deadline;
}

static void set_up(const struct vl_control_server_config *config, double loss)
{
	struct vl_endpoint_config hosts[2] = {host_config(1, RATE), host_config(2, RATE)};
	const struct vl_link_config link = {
		.rate = RATE, .propagation = 1000, .seed = 3, .impairments = {.loss = loss}};
	struct vl_node *a, *b;
	int error = 0;

	network = vl_network_create(NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(network);
	a = vl_network_add_endpoint(network, &hosts[0]);
	b = vl_network_add_endpoint(network, &hosts[1]);
	CU_ASSERT_FATAL(a && b);
	CU_ASSERT_EQUAL_FATAL(vl_network_connect(network, a, 0, b, 0, &link, NULL), 0);
	near = vl_node_endpoint(a);
	far = vl_node_endpoint(b);
	near_cm = vl_cm_open(near->device, &(struct vl_cm_config){.seed = 1}, 0, &error);
	far_cm = vl_cm_open(far->device, &(struct vl_cm_config){.seed = 2}, 0, &error);
	CU_ASSERT_FATAL(near_cm && far_cm);
	generator = vl_generator_create(near->device, &(struct vl_generator_config){1 << 20, NULL},
					&error);
	CU_ASSERT_PTR_NOT_NULL_FATAL(generator);
	server = vl_control_server_open(far->device, far_cm, config, &error);
	CU_ASSERT_PTR_NOT_NULL_FATAL(server);
	client = NULL;
	group_count = 0;
	vl_endpoint_set_application(near, &(struct vl_application){poll_near, near_deadline, NULL});
	vl_endpoint_set_application(far, &(struct vl_application){poll_far, far_deadline, NULL});
}

static void add_group(enum ibv_qp_type transport, enum vl_flow_verb verb, uint32_t size,
		      uint32_t qps)
{
	const struct vl_generate_group_config config = {
		.qp = {.transport = transport,
		       .path_mtu = IBV_MTU_1024,
		       .traffic_class = HOST_DATA_CLASS,
		       .priority = HOST_DATA_PRIORITY,
		       .timeout = 14,
		       .retry_count = 7,
		       .rnr_retry = 7,
		       .min_rnr_timer = 12,
		       .cc = group_cc},
		.qps = qps,
		.depth = 4,
		.stamps = true,
		.mix = {.count = 1, .entries = {{verb, size, size, 1}}},
		.messages = 20,
		.seed = 5 + group_count,
	};
	int error;

	groups[group_count] = vl_generator_add_group(generator, &config, 0, &error);
	CU_ASSERT_PTR_NOT_NULL_FATAL(groups[group_count]);
	group_count++;
}

static void connect_to(uint16_t host, uint16_t port)
{
	const struct vl_control_client_config config = {.server = host_gid(host),
							.port = port,
							.path_mtu = IBV_MTU_1024,
							.group_count = group_count,
							.groups = groups};
	int error = 0;

	client = vl_control_client_open(near->device, near_cm, &config, vl_network_now(network),
					&error);
	CU_ASSERT_PTR_NOT_NULL_FATAL(client);
}

static void tear_down(void)
{
	uint64_t now = vl_network_now(network);

	vl_control_client_close(client, now);
	vl_control_server_close(server, now);
	vl_generator_destroy(generator);
	vl_cm_close(near_cm);
	vl_cm_close(far_cm);
	vl_network_destroy(network);
	client = NULL;
	server = NULL;
}

static void run(uint64_t time)
{
	vl_network_run_until(network, vl_network_now(network) + time);
}

static void expect_state(enum vl_control_client_state state)
{
	if (vl_control_client_state(client) != state)
		printf("state %d: %s\n", vl_control_client_state(client),
		       vl_control_client_error(client));
	CU_ASSERT_EQUAL_FATAL(vl_control_client_state(client), state);
}

/* Of the group with immediate data: both ends have one clock, and the way takes 1 us and the time
 * of its bytes on the line, in four packets or more. */
static void expect_one_way(double loss)
{
	const struct vl_control_one_way *one_way;

	CU_ASSERT_PTR_NULL(vl_control_client_one_way(client, 0));
	if (loss > 0)
		return;
	one_way = vl_control_client_one_way(client, 2);
	CU_ASSERT_PTR_NOT_NULL_FATAL(one_way);
	CU_ASSERT_EQUAL(one_way->clock, VL_CLOCK_SAME);
	CU_ASSERT_STRING_EQUAL(one_way->arrival_clock, is_stamping ? "device" : "TSC");
	CU_ASSERT_EQUAL(one_way->difference_error, 0);
	CU_ASSERT_EQUAL(one_way->arrival_error, is_stamping ? 123 : 0);
	CU_ASSERT_EQUAL(one_way->error, is_stamping ? 123 : 0);
	CU_ASSERT_EQUAL(one_way->found.early, 0);
	CU_ASSERT_EQUAL(one_way->found.times.count, 40);
	CU_ASSERT_TRUE(one_way->found.times.least >= 1000 + 4000 * 8 / 100);
	CU_ASSERT_TRUE(one_way->found.times.most < 10000000);
	CU_ASSERT_TRUE(vl_histogram_percentile(&one_way->found.times, 0.5) >=
		       one_way->found.times.least);
}

static void converse(double loss)
{
	const struct vl_control_server_config stamping = {.arrival_port = &stamping_port};
	const struct vl_control_counters *counters;
	uint64_t messages = 0, bytes = 0;

	set_up(is_stamping ? &stamping : NULL, loss);
	add_group(IBV_QPT_RC, VL_FLOW_WRITE, 3000, 600);
	add_group(IBV_QPT_RC, VL_FLOW_SEND, 5000, 3);
	if (!(loss > 0)) {
		add_group(IBV_QPT_UC, VL_FLOW_WRITE_IMM, 4000, 2);
		add_group(IBV_QPT_UD, VL_FLOW_SEND, 1000, 2);
	}
	connect_to(2, 0);
	run(SECOND);
	expect_state(VL_CONTROL_READY);
	CU_ASSERT_EQUAL(vl_control_client_server(client)->protocol, VL_CONTROL_PROTOCOL);
	CU_ASSERT_EQUAL(vl_control_server_sessions(server), 1);
	for (uint32_t i = 0; i < group_count; i++)
		vl_generate_group_start(groups[i], vl_network_now(network) + 1000);
	run(3 * SECOND); /* with words to keep the session alive */
	expect_state(VL_CONTROL_READY);
	CU_ASSERT_TRUE_FATAL(vl_generator_is_finished(generator));
	for (uint32_t i = 0; i < group_count; i++) {
		struct vl_generate_totals totals = vl_generate_group_totals(groups[i]);

		CU_ASSERT_EQUAL(totals.failed, 0);
		messages += totals.completed;
		bytes += totals.bytes;
	}
	CU_ASSERT_EQUAL(messages, UINT64_C(20) * (loss > 0 ? 603 : 607));
	vl_control_client_finish(client, vl_network_now(network));
	run(SECOND);
	expect_state(VL_CONTROL_DONE);
	counters = vl_control_client_counters(client);
	CU_ASSERT_PTR_NOT_NULL_FATAL(counters);
	CU_ASSERT_EQUAL(counters->counters.data_bytes_rx, bytes);
	CU_ASSERT_EQUAL(counters->qps, loss > 0 ? 603 : 607);
	/* Both hosts have the same clock, and the line takes 1 us each way. */
	for (unsigned int at_end = 0; at_end < 2; at_end++) {
		struct vl_control_clock clock = vl_control_client_clock(client, at_end);

		CU_ASSERT_TRUE(clock.error >= 1000 && clock.error < 3000);
		CU_ASSERT_TRUE(clock.offset <= (int64_t)clock.error &&
			       -clock.offset <= (int64_t)clock.error);
	}
	expect_one_way(loss);
	run(60 * SECOND); /* time-wait */
	CU_ASSERT_EQUAL(vl_control_server_sessions(server), 0);
	CU_ASSERT_EQUAL(vl_cm_usage(far_cm).connections, 0);
	tear_down();
}

static void test_conversation(void)
{
	converse(0);
	is_stamping = true;
	converse(0);
	is_stamping = false;
}

static void test_with_loss(void)
{
	converse(0.01);
}

/* The partners send the data of READs, and take the client's choice of congestion control. */
static void test_congestion_control(void)
{
	const struct vl_cc_parameters fixed = {.algorithm = &vl_cc_fixed,
					       .fixed_rate = UINT64_C(1000000000)};
	const uint64_t least_time = 20 * 100000 * 8; /* ns, of the payload at that rate */
	uint64_t start, time;

	set_up(NULL, 0);
	group_cc = &fixed;
	add_group(IBV_QPT_RC, VL_FLOW_READ, 100000, 1);
	group_cc = NULL;
	add_group(IBV_QPT_RC, VL_FLOW_READ, 100000, 1);
	connect_to(2, 0);
	run(SECOND);
	expect_state(VL_CONTROL_READY);
	start = vl_network_now(network) + 1000;
	for (uint32_t i = 0; i < group_count; i++)
		vl_generate_group_start(groups[i], start);
	run(SECOND);
	time = vl_generate_group_totals(groups[0]).last_completion - start;
	CU_ASSERT_EQUAL(vl_generate_group_totals(groups[0]).completed, 20);
	/* Headers and gaps count too. */
	CU_ASSERT_TRUE(time > least_time && time < least_time * 5 / 4);
	CU_ASSERT_EQUAL(vl_generate_group_totals(groups[1]).completed, 20);
	CU_ASSERT_TRUE(vl_generate_group_totals(groups[1]).last_completion - start <
		       least_time / 10);
	tear_down();
}

static struct vl_control_opened partners;
static uint32_t partner_firsts[8], partner_calls;

static void take_partners(void *context, uint32_t first, const struct vl_control_opened *opened)
{
	CU_ASSERT_PTR_EQUAL(context, &partners);
	CU_ASSERT_TRUE_FATAL(partner_calls < 8);
	partners = *opened;
	partner_firsts[partner_calls++] = first;
}

/* Flows of an open-loop stream get partners as queue pairs do, in as many messages as it takes, and
 * without any group too. */
static void test_stream(void)
{
	const struct vl_control_stream stream = {.transport = IBV_QPT_UC,
						 .count = 300,
						 .local_qpn = 0x20000,
						 .receive_depth = 8,
						 .largest_message = 9000,
						 .opened = take_partners,
						 .context = &partners};
	struct vl_control_client_config config = {.server = host_gid(2),
						  .path_mtu = IBV_MTU_1024,
						  .stream_count = 1,
						  .streams = &stream};
	int error = 0;

	set_up(NULL, 0);
	partner_calls = 0;
	client = vl_control_client_open(near->device, near_cm, &config, vl_network_now(network),
					&error);
	CU_ASSERT_PTR_NOT_NULL_FATAL(client);
	run(SECOND);
	expect_state(VL_CONTROL_READY);
	CU_ASSERT_EQUAL(partner_calls, 2);
	CU_ASSERT_EQUAL(partner_firsts[0], 0);
	CU_ASSERT_EQUAL(partner_firsts[1], 256);
	CU_ASSERT_EQUAL(partners.count, 44);
	CU_ASSERT_TRUE(partners.length >= 9000);
	CU_ASSERT_EQUAL(vl_control_server_counters(server)->qps, 300);
	vl_control_client_finish(client, vl_network_now(network));
	run(SECOND);
	expect_state(VL_CONTROL_DONE);
	tear_down();
}

static void expect_error(const char *reason)
{
	expect_state(VL_CONTROL_FAILED);
	if (!strstr(vl_control_client_error(client), reason))
		printf("'%s' does not say '%s'\n", vl_control_client_error(client), reason);
	CU_ASSERT_PTR_NOT_NULL(strstr(vl_control_client_error(client), reason));
}

static void test_nobody(void)
{
	set_up(NULL, 0);
	add_group(IBV_QPT_RC, VL_FLOW_WRITE, 3000, 1);
	connect_to(2, 4242);
	run(SECOND);
	expect_error("rejects the control connection");
	vl_control_client_close(client, vl_network_now(network));
	connect_to(9, 0);
	run(60 * SECOND);
	expect_error("does not answer");
	tear_down();
}

static void test_limits(void)
{
	const struct vl_control_server_config config = {
		.max_sessions = 1, .max_qps = 4, .largest_message = 5000};

	set_up(&config, 0);
	add_group(IBV_QPT_RC, VL_FLOW_WRITE, 3000, 5);
	connect_to(2, 0);
	run(SECOND);
	expect_error("room is left for 4 queue pairs, not for 5");
	tear_down();
	set_up(&config, 0);
	add_group(IBV_QPT_RC, VL_FLOW_WRITE, 5001, 1);
	connect_to(2, 0);
	run(SECOND);
	expect_error("messages of up to 5000 bytes are taken, not of 5001");
	/* It said its last word; its place is taken until it has gone. */
	vl_control_client_close(client, vl_network_now(network));
	connect_to(2, 0);
	run(SECOND);
	CU_ASSERT_EQUAL(vl_control_server_counters(server)->refused, 1);
	expect_error("rejects the control connection");
	tear_down();
}

/* A client that vanishes is forgotten, with all that was made for it. */
static void test_vanished(void)
{
	set_up(NULL, 0);
	add_group(IBV_QPT_RC, VL_FLOW_WRITE, 3000, 10);
	connect_to(2, 0);
	run(SECOND);
	expect_state(VL_CONTROL_READY);
	vl_endpoint_set_application(near, &(struct vl_application){0});
	run(20 * SECOND);
	CU_ASSERT_EQUAL(vl_control_server_sessions(server), 1);
	run(300 * SECOND);
	CU_ASSERT_EQUAL(vl_control_server_counters(server)->idle, 1);
	CU_ASSERT_EQUAL(vl_control_server_sessions(server), 0);
	tear_down();
}

/* ---- A client that says what it likes ------------------------------------------------------- */

static struct vl_control_channel *channel;
static struct vl_cm_connection *connection;
static bool is_up;

static void raw_event(void *context, const struct vl_cm_event *event, uint64_t now)
{
	(void)context;
	if (event->type != VL_CM_EVENT_CONNECT_RESPONSE)
		return;
	CU_ASSERT_EQUAL_FATAL(vl_control_channel_connect(channel, event->connection, now), 0);
	CU_ASSERT_EQUAL_FATAL(vl_cm_establish(event->connection, NULL, 0, now), 0);
	is_up = true;
}

static void connect_raw(void)
{
	struct vl_cm_connect_param param = {
		.service_id = vl_rdma_service_id(VL_RDMA_PORT_SPACE_TCP, VL_CONTROL_PORT),
		.qp_type = IBV_QPT_RC,
		.destination = host_gid(2),
		.conn = vl_control_conn_param,
		.handler = {raw_event, NULL}};
	int error = 0;

	is_up = false;
	channel = vl_control_channel_open(near->device, 0, &error);
	CU_ASSERT_PTR_NOT_NULL_FATAL(channel);
	param.conn.qpn = vl_qp_number(vl_control_channel_qp(channel));
	connection = vl_cm_connect(near_cm, &param, 0, &error);
	CU_ASSERT_PTR_NOT_NULL_FATAL(connection);
	run(SECOND);
	CU_ASSERT_TRUE_FATAL(is_up);
}

static void say(const struct vl_control_message *message, enum vl_control_type type,
		const char *reason)
{
	static struct vl_control_message answer;
	char error[200] = "";

	CU_ASSERT_EQUAL_FATAL(vl_control_channel_send(channel, message, vl_network_now(network)),
			      0);
	run(SECOND / 100);
	CU_ASSERT_EQUAL_FATAL(vl_control_channel_receive(channel, &answer, error, sizeof(error),
							 vl_network_now(network)),
			      1);
	CU_ASSERT_EQUAL(answer.type, type);
	if (type == VL_CONTROL_ERROR) {
		if (!strstr(answer.error, reason))
			printf("'%s' does not say '%s'\n", answer.error, reason);
		CU_ASSERT_PTR_NOT_NULL(strstr(answer.error, reason));
	}
}

static void misbehave(bool greets, const struct vl_control_message *message, const char *reason)
{
	const struct vl_control_message hello = {.type = VL_CONTROL_HELLO,
						 .hello = {.version = "x",
							   .protocol = VL_CONTROL_PROTOCOL,
							   .largest_message = 100,
							   .qps = 2}};

	set_up(NULL, 0);
	connect_raw();
	if (greets)
		say(&hello, VL_CONTROL_HELLO, "");
	say(message, VL_CONTROL_ERROR, reason);
	CU_ASSERT_EQUAL(vl_control_server_counters(server)->errors, 1);
	vl_control_channel_close(channel);
	tear_down();
}

static void test_nonsense(void)
{
	static struct vl_control_message message;

	message.type = VL_CONTROL_COUNT;
	misbehave(false, &message, "the first message must be hello, not count");
	message.type = VL_CONTROL_CLOSED;
	misbehave(true, &message, "a client does not say closed");
	message = (struct vl_control_message){
		.type = VL_CONTROL_HELLO,
		.hello = {.version = "9", .protocol = 9, .largest_message = 1, .qps = 1}};
	misbehave(false, &message, "there version 9; use the same verbline on both sides");
	misbehave(true, &message, "hello was said already");
	message = (struct vl_control_message){.type = VL_CONTROL_OPEN,
					      .open = {.transport = IBV_QPT_RC,
						       .path_mtu = IBV_MTU_1024,
						       .count = 3,
						       .qps = {{20, 0}, {21, 0}, {22, 0}}}};
	misbehave(true, &message, "hello announced 2 queue pairs, and there are 0 already");
	message.open.count = 1;
	message.open.receive_size = 101;
	message.open.receive_depth = 1;
	misbehave(true, &message, "hello announced messages of up to 100 bytes, not of 101");
}

static const struct vl_control_message greeting = {
	.type = VL_CONTROL_HELLO,
	.hello = {
		.version = "x", .protocol = VL_CONTROL_PROTOCOL, .largest_message = 100, .qps = 2}};
static const struct vl_control_message opening = {.type = VL_CONTROL_OPEN,
						  .open = {.transport = IBV_QPT_RC,
							   .path_mtu = IBV_MTU_1024,
							   .receive_depth = 32768,
							   .count = 2,
							   .qps = {{20, 0}, {21, 0}}}};

/* Receives count as memory as messages do: 2 * 32768 of them take 8 MiB. */
static void test_receives_are_memory(void)
{
	const struct vl_control_server_config config = {.max_memory = 4 << 20};

	set_up(&config, 0);
	connect_raw();
	say(&greeting, VL_CONTROL_HELLO, "");
	say(&opening, VL_CONTROL_ERROR, "no room is left for 2 queue pairs with 32768 receives");
	vl_control_channel_close(channel);
	tear_down();
	set_up(NULL, 0);
	connect_raw();
	say(&greeting, VL_CONTROL_HELLO, "");
	say(&opening, VL_CONTROL_OPENED, "");
	vl_control_channel_close(channel);
	tear_down();
}

/* A client whose request was refused, and which then says nothing and does not disconnect. */
static void test_lingering(void)
{
	static const struct vl_control_message count = {.type = VL_CONTROL_COUNT};

	set_up(NULL, 0);
	connect_raw();
	say(&count, VL_CONTROL_ERROR, "the first message must be hello");
	run(20 * SECOND);
	CU_ASSERT_EQUAL(vl_control_server_sessions(server), 1);
	run(100 * SECOND);
	CU_ASSERT_EQUAL(vl_control_server_sessions(server), 0);
	vl_control_channel_close(channel);
	tear_down();
}

static int resolve_never(void *context, const union ibv_gid *destination, uint8_t mac[6])
{
	(void)context, (void)destination, (void)mac;
	return -EAGAIN;
}

/* The client goes while its queue pairs wait for a neighbour. */
static void test_gone_while_opening(void)
{
	set_up(NULL, 0);
	connect_raw();
	say(&greeting, VL_CONTROL_HELLO, "");
	far->device->config.events.resolve = resolve_never;
	CU_ASSERT_EQUAL_FATAL(vl_control_channel_send(channel, &opening, vl_network_now(network)),
			      0);
	run(SECOND / 100);
	CU_ASSERT_EQUAL(vl_control_server_counters(server)->qps, 2);
	CU_ASSERT_EQUAL_FATAL(vl_cm_disconnect(connection, vl_network_now(network)), 0);
	run(60 * SECOND);
	CU_ASSERT_EQUAL(vl_control_server_sessions(server), 0);
	vl_control_channel_close(channel);
	tear_down();
}

/* What is asked of many queue pairs takes as many steps as it needs, and is right all the same. */
static void test_in_steps(void)
{
	static struct vl_control_message open, answer;
	const struct vl_control_hello hello = {.largest_message = 100, .qps = 600};
	struct vl_control_budget budget = {
		.max_qps = 1000, .max_memory = 1 << 20, .largest_message = 1000};
	struct vl_control_partners *made;
	uint64_t count = 0;
	unsigned int steps = 1;

	set_up(NULL, 0);
	budget.device = far->device;
	budget.qps_made = &count;
	made = vl_control_partners_open(&budget, &hello, &answer);
	CU_ASSERT_PTR_NOT_NULL_FATAL(made);
	open.open = (struct vl_control_open){
		.transport = IBV_QPT_RC, .path_mtu = IBV_MTU_1024, .count = 200};
	for (unsigned int i = 0; i < 3; i++)
		CU_ASSERT_TRUE(vl_control_partners_make(made, &open.open, 0, &answer, 0));
	CU_ASSERT_EQUAL(count, 600);
	answer.type = VL_CONTROL_COUNT;
	while (!vl_control_partners_add_up(made, &answer, 5))
		steps++;
	CU_ASSERT_EQUAL(steps, 3);
	CU_ASSERT_EQUAL(answer.counters.qps, 600);
	vl_control_partners_leave(made);
	CU_ASSERT_EQUAL(budget.qp_count, 600 - VL_CONTROL_BATCH);
	CU_ASSERT_TRUE(vl_control_budget_poll(&budget));
	CU_ASSERT_FALSE(vl_control_budget_poll(&budget));
	CU_ASSERT_EQUAL(budget.qp_count, 0);
	CU_ASSERT_EQUAL(budget.memory, 0);
	tear_down();
}

static const struct test tests[] = {
	{"conversation", test_conversation},
	{"with_loss", test_with_loss},
	{"congestion_control", test_congestion_control},
	{"stream", test_stream},
	{"nobody", test_nobody},
	{"limits", test_limits},
	{"vanished", test_vanished},
	{"nonsense", test_nonsense},
	{"receives_are_memory", test_receives_are_memory},
	{"lingering", test_lingering},
	{"gone_while_opening", test_gone_while_opening},
	{"in_steps", test_in_steps},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("control", tests, argc, argv);
}
