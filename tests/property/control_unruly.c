/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* A client of the control service that says what it likes, or nothing, or goes away, in virtual
 * time. */

#include "apps/control/channel.h"
#include "tests/property/control_pair.h"
#include "transport/object/object.h"

#include <errno.h>
#include <string.h>

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

static const struct test tests[] = {
	{"nonsense", test_nonsense},
	{"receives_are_memory", test_receives_are_memory},
	{"lingering", test_lingering},
	{"gone_while_opening", test_gone_while_opening},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("control_unruly", tests, argc, argv);
}
