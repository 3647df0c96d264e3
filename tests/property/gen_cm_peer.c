/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* A generator that connects its queue pairs to a listener which goes before all are connected. */

#include "apps/gen/application.h"
#include "apps/gen/config.h"
#include "apps/gen/streams.h"
#include "dataplane/network.h"
#include "tests/support/hosts.h"
#include "tests/support/suite.h"

#include <string.h>

#define MILLISECOND UINT64_C(1000000)

static struct vl_cm *listener_cm;
static struct vl_cm_connection *first;

/* Accepts one connection, leaves the others waiting, and ends the one as soon as it stands. */
static void take_event(void *context, const struct vl_cm_event *event, uint64_t now)
{
	const struct vl_cm_accept_param accept = {.conn = {.qpn = 77}};

	(void)context;
	if (event->type == VL_CM_EVENT_CONNECT_REQUEST && !first) {
		first = event->connection;
		CU_ASSERT_EQUAL(vl_cm_accept(first, &accept, now), 0);
	} else if (event->type == VL_CM_EVENT_ESTABLISHED) {
		CU_ASSERT_EQUAL(vl_cm_disconnect(first, now), 0);
	}
}

static void poll_listener(void *context, struct vl_endpoint *endpoint, uint64_t now)
{
	(void)context, (void)endpoint;
	vl_cm_poll(listener_cm, now);
}

static uint64_t listener_deadline(void *context)
{
	(void)context;
	return vl_cm_next_deadline(listener_cm);
}

static struct gen_config *make_config(void)
{
	static const char text[] = "to: 10.0.0.2\npeer: cm\ngroups:\n- verb: send\n  size: 100\n"
				   "  qps: 2\n";
	static const struct vl_texts none;
	static struct vl_problems problems;
	struct gen_config *config;

	memset(&problems, 0, sizeof(problems));
	problems.file = "test";
	config = gen_config_parse(text, strlen(text), &none, 1024, &problems);
	if (!config)
		vl_problems_print(&problems, stdout);
	CU_ASSERT_PTR_NOT_NULL_FATAL(config);
	config->destination = host_gid(2);
	return config;
}

static void test_listener_goes(void)
{
	const struct vl_link_config link = {.rate = UINT64_C(100000000000), .propagation = 1000};
	const struct vl_cm_listen_param listen = {
		.service_id = vl_rdma_service_id(VL_RDMA_PORT_SPACE_TCP, 7471),
		.qp_type = IBV_QPT_RC,
		.handler = {take_event, NULL}};
	struct vl_network *network = vl_network_create(NULL);
	struct gen_config *config = make_config();
	struct gen_application_config gen = {.config = config,
					     .worker_count = 1,
					     .path_mtu = IBV_MTU_1024,
					     .link_rate = UINT64_C(100000000000)};
	struct vl_endpoint_config hosts[2] = {host_config(1, 0), host_config(2, 0)};
	static struct gen_application application;
	struct gen_streams streams = {0};
	struct vl_node *nodes[2];
	int error = 0;

	for (unsigned int i = 0; i < 2; i++) {
		nodes[i] = vl_network_add_endpoint(network, &hosts[i]);
		CU_ASSERT_PTR_NOT_NULL_FATAL(nodes[i]);
	}
	CU_ASSERT_EQUAL_FATAL(vl_network_connect(network, nodes[0], 0, nodes[1], 0, &link, NULL),
			      0);
	listener_cm = vl_cm_open(vl_node_endpoint(nodes[1])->device, NULL, 0, &error);
	CU_ASSERT_PTR_NOT_NULL_FATAL(listener_cm);
	CU_ASSERT_PTR_NOT_NULL_FATAL(vl_cm_listen(listener_cm, &listen, &error));
	vl_endpoint_set_application(
		vl_node_endpoint(nodes[1]),
		&(struct vl_application){poll_listener, listener_deadline, NULL});
	gen.endpoint = vl_node_endpoint(nodes[0]);
	gen.streams = &streams;
	CU_ASSERT_EQUAL_FATAL(gen_application_open(&application, &gen, 0), 0);
	vl_network_run_until(network, MILLISECOND);
	CU_ASSERT_EQUAL(application.state, GEN_FAILED);
	CU_ASSERT_PTR_NOT_NULL(strstr(application.error, "the peer ended connection"));
	gen_application_close(&application, MILLISECOND);
	vl_cm_close(listener_cm);
	vl_network_destroy(network);
	gen_config_free(config);
}

static const struct test tests[] = {
	{"listener_goes", test_listener_goes},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("gen_cm_peer", tests, argc, argv);
}
