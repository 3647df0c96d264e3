/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The control service in virtual time: a generator and a server on two hosts set up queue pairs,
 * use them, and exchange what they counted; and what the generator is told when it cannot be. */

#include "apps/control/partners.h"
#include "tests/property/control_pair.h"

#include <string.h>

/* Where the server's frames come in, as it is told: what arrives is stamped by a device. */
static uint64_t port_error(const struct vl_port *port)
{
	return port->mtu;
}

static const struct vl_port_operations port_operations = {.arrival_error = port_error};
static const struct vl_port stamping_port = {
	.operations = &port_operations, .mtu = 123, .abilities = {.rx_time = true}};
static bool is_stamping;

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
	{"in_steps", test_in_steps},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("control", tests, argc, argv);
}
