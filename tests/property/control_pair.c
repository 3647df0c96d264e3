/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "tests/property/control_pair.h"

struct vl_network *network;
struct vl_endpoint *near, *far;
struct vl_cm *near_cm, *far_cm;
struct vl_generator *generator;
struct vl_control_server *server;
struct vl_control_client *client;
struct vl_generate_group *groups[4];
uint32_t group_count;
const struct vl_cc_parameters *group_cc;

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

void set_up(const struct vl_control_server_config *config, double loss)
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

void add_group(enum ibv_qp_type transport, enum vl_flow_verb verb, uint32_t size, uint32_t qps)
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

void connect_to(uint16_t host, uint16_t port)
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

void tear_down(void)
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

void run(uint64_t time)
{
	vl_network_run_until(network, vl_network_now(network) + time);
}

void expect_state(enum vl_control_client_state state)
{
	if (vl_control_client_state(client) != state)
		printf("state %d: %s\n", vl_control_client_state(client),
		       vl_control_client_error(client));
	CU_ASSERT_EQUAL_FATAL(vl_control_client_state(client), state);
}
