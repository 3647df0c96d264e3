/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The endpoint's services and their clients, two instances on a network in virtual time. */

#include "apps/endpoint/instance.h"
#include "dataplane/network.h"
#include "tests/support/hosts.h"
#include "tests/support/suite.h"
#include "transport/wire/opcode.h"
#include "transport/wire/parse.h"

#include <errno.h>
#include <string.h>

#define SECOND UINT64_C(1000000000)

struct scene {
	struct vl_network *network;
	struct vl_node *nodes[2];
	struct vl_instance *instances[2]; /* 0: client, 1: server */
};

static void open_scene(struct scene *scene, const struct vl_instance_client *client,
		       const struct vl_impairments *impairments)
{
	struct vl_link_config link = {
		.rate = UINT64_C(100000000000), .propagation = 1000, .seed = 7};
	struct vl_instance_config config = {.seed = 1, .verbose = true};
	int error = 0;

	if (impairments)
		link.impairments = *impairments;
	scene->network = vl_network_create(NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(scene->network);
	for (uint16_t i = 0; i < 2; i++) {
		struct vl_endpoint_config endpoint = host_config((uint16_t)(i + 1), 0);

		scene->nodes[i] = vl_network_add_endpoint(scene->network, &endpoint);
		CU_ASSERT_PTR_NOT_NULL_FATAL(scene->nodes[i]);
		config.seed = 10 + i;
		config.client = i ? NULL : client;
		config.services = i ? VL_INSTANCE_ALL_SERVICES : 0;
		scene->instances[i] =
			vl_instance_open(vl_node_endpoint(scene->nodes[i]), &config, 0, &error);
		CU_ASSERT_EQUAL(error, 0);
		CU_ASSERT_PTR_NOT_NULL_FATAL(scene->instances[i]);
	}
	CU_ASSERT_EQUAL_FATAL(vl_network_connect(scene->network, scene->nodes[0], 0,
						 scene->nodes[1], 0, &link, NULL),
			      0);
}

static void close_scene(struct scene *scene)
{
	for (int i = 0; i < 2; i++)
		vl_instance_close(scene->instances[i], vl_network_now(scene->network));
	vl_network_destroy(scene->network);
}

static uint32_t count_notices(struct vl_instance *instance, const char *text)
{
	char line[VL_NOTICE_LENGTH];
	uint32_t count = 0;

	while (vl_notices_take(vl_instance_notices(instance), line))
		count += strstr(line, text) != NULL;
	return count;
}

static struct vl_instance_client client_of(enum vl_instance_service service)
{
	return (struct vl_instance_client){
		.service = service,
		.destination = host_gid(2),
		.connections = 1,
		.count = 10,
		.size = 5000,
		.validate = true,
	};
}

static const struct vl_impairments lossy = {.loss = 0.03, .duplicate = 0.02, .jitter = 3000};

/* The SENDs of an endpoint, by their PSNs. */
struct sends {
	struct {
		uint32_t qpn, psn;
		uint8_t payload[16];
	} items[64];
	uint32_t count, repeated, altered;
};

static void compare_sends(void *context, enum vl_direction direction, const struct vl_frame *frame,
			  uint64_t now, const char *comment)
{
	struct sends *sends = context;
	struct vl_packet packet;

	(void)now, (void)comment;
	if (direction != VL_DIRECTION_TRANSMITTED ||
	    vl_parse(&packet, VL_LINK_ETHERNET, frame->data, frame->length, frame->length) !=
		    VL_PARSE_ok ||
	    packet.opcode != VL_OP_SEND_ONLY || packet.payload_length != 16)
		return;
	for (uint32_t i = 0; i < sends->count; i++) {
		if (sends->items[i].psn != packet.psn ||
		    sends->items[i].qpn != packet.destination_qpn)
			continue;
		sends->repeated++;
		sends->altered += memcmp(sends->items[i].payload, packet.payload, 16) != 0;
		return;
	}
	if (sends->count == sizeof(sends->items) / sizeof(sends->items[0]))
		return;
	sends->items[sends->count].qpn = packet.destination_qpn;
	sends->items[sends->count].psn = packet.psn;
	memcpy(sends->items[sends->count++].payload, packet.payload, 16);
}

/* A message that the server has answered, but whose ACK was lost, is sent again as it was. */
static void test_rping_repeats(void)
{
	const struct vl_impairments impairments = {.loss = 0.2};
	struct vl_instance_client client = client_of(VL_INSTANCE_RPING);
	struct sends sends = {.count = 0};
	const struct vl_frame_tap tap = {compare_sends, &sends};
	struct scene scene;

	client.connections = 3;
	client.size = 100;
	open_scene(&scene, &client, &impairments);
	vl_endpoint_set_tap(vl_node_endpoint(scene.nodes[0]), &tap);
	vl_network_run_until(scene.network, 60 * SECOND);
	CU_ASSERT(vl_instance_has_succeeded(scene.instances[0]));
	CU_ASSERT(sends.repeated > 5);
	CU_ASSERT_EQUAL(sends.altered, 0);
	close_scene(&scene);
}

static void run_rping(const struct vl_impairments *impairments)
{
	struct vl_instance_client client = client_of(VL_INSTANCE_RPING);
	struct vl_instance_status status;
	struct scene scene;

	client.connections = 3;
	open_scene(&scene, &client, impairments);
	vl_network_run_until(scene.network, 60 * SECOND);
	CU_ASSERT(vl_instance_is_over(scene.instances[0]));
	CU_ASSERT(vl_instance_has_succeeded(scene.instances[0]));
	vl_instance_status(scene.instances[0], &status);
	CU_ASSERT_EQUAL(status.client_done, 30);
	CU_ASSERT_EQUAL(status.client_mismatches, 0);
	CU_ASSERT_EQUAL(status.sessions, 0);
	CU_ASSERT_EQUAL(status.session.established, 3);
	CU_ASSERT_EQUAL(vl_instance_round_trip(scene.instances[0])->count, 30);
	vl_instance_status(scene.instances[1], &status);
	CU_ASSERT_EQUAL(status.rping_pings, 30);
	CU_ASSERT_EQUAL(status.sessions, 0);
	CU_ASSERT_EQUAL(status.session.ended, 3);
	CU_ASSERT_EQUAL(count_notices(scene.instances[1], "server ping data: rdma-ping-9: "), 3);
	CU_ASSERT_EQUAL(count_notices(scene.instances[0], "ping data: rdma-ping-0: ABC"), 3);
	close_scene(&scene);
}

static void test_rping(void)
{
	run_rping(NULL);
}

static void test_rping_lossy(void)
{
	run_rping(&lossy);
}

static void run_ucmatose(const struct vl_impairments *impairments)
{
	struct vl_instance_client client = client_of(VL_INSTANCE_UCMATOSE);
	struct vl_instance_status status;
	struct scene scene;

	client.connections = 3;
	open_scene(&scene, &client, impairments);
	vl_network_run_until(scene.network, 60 * SECOND);
	CU_ASSERT(vl_instance_has_succeeded(scene.instances[0]));
	vl_instance_status(scene.instances[0], &status);
	CU_ASSERT_EQUAL(status.client_done, 30);
	vl_instance_status(scene.instances[1], &status);
	CU_ASSERT_EQUAL(status.ucmatose.sent, 30);
	CU_ASSERT_EQUAL(status.ucmatose.received, 30);
	CU_ASSERT_EQUAL(status.sessions, 0);
	CU_ASSERT_EQUAL(status.session.failed, 0);
	close_scene(&scene);
}

/* Holds RNR NAKs back, until all else has come. */
struct late_rnr {
	uint8_t bytes[256];
	struct vl_frame frame;
	uint64_t due; /* UINT64_MAX: none is held */
};

static bool hold_rnr(void *context, struct vl_frame *frame, uint64_t now)
{
	struct late_rnr *late = context;
	struct vl_packet packet;

	if (late->due != UINT64_MAX || frame->length > sizeof(late->bytes) ||
	    vl_parse(&packet, VL_LINK_ETHERNET, frame->data, frame->length, frame->length) !=
		    VL_PARSE_ok ||
	    packet.opcode != VL_OP_ACKNOWLEDGE || packet.syndrome >> 5 != 1)
		return true;
	memcpy(late->bytes, frame->data, frame->length);
	late->frame = (struct vl_frame){
		.data = late->bytes, .length = frame->length, .capacity = sizeof(late->bytes)};
	late->due = now + SECOND / 100;
	return false;
}

static struct vl_frame *give_rnr(void *context, uint64_t now)
{
	struct late_rnr *late = context;

	if (now < late->due)
		return NULL;
	late->due = UINT64_MAX;
	return &late->frame;
}

static bool let_pass(void *context, struct vl_frame *frame, uint64_t now)
{
	(void)context, (void)frame, (void)now;
	return true;
}

static bool give_nothing(void *context, struct vl_frame *frame, uint64_t now)
{
	(void)context, (void)frame, (void)now;
	return false;
}

static uint64_t rnr_deadline(void *context)
{
	return ((struct late_rnr *)context)->due;
}

/* The refusal of the message too many comes after all that comes back: nothing else happens then,
 * and it must not be missed. */
static void test_ucmatose_late_end(void)
{
	struct vl_instance_client client = client_of(VL_INSTANCE_UCMATOSE);
	struct late_rnr late = {.due = UINT64_MAX};
	const struct vl_frame_filter filter = {hold_rnr,     give_rnr,     let_pass,
					       give_nothing, rnr_deadline, &late};
	struct vl_instance_status status;
	struct scene scene;

	open_scene(&scene, &client, NULL);
	vl_endpoint_set_filter(vl_node_endpoint(scene.nodes[1]), &filter);
	vl_network_run_until(scene.network, SECOND / 50);
	vl_instance_status(scene.instances[1], &status);
	CU_ASSERT_EQUAL(status.ucmatose.received, 10);
	CU_ASSERT_EQUAL(count_notices(scene.instances[1], "done after 0.01"), 1);
	vl_network_run_until(scene.network, 10 * SECOND);
	CU_ASSERT(vl_instance_has_succeeded(scene.instances[0]));
	close_scene(&scene);
}

static void test_ucmatose(void)
{
	run_ucmatose(NULL);
}

static void test_ucmatose_lossy(void)
{
	run_ucmatose(&lossy);
}

static void test_udaddy(void)
{
	struct vl_instance_client client = client_of(VL_INSTANCE_UDADDY);
	struct vl_instance_status status;
	struct scene scene;

	client.connections = 3;
	client.size = 1000;
	client.count = 300; /* more than wait at a time */
	open_scene(&scene, &client, NULL);
	vl_network_run_until(scene.network, 10 * SECOND);
	CU_ASSERT(vl_instance_is_over(scene.instances[0]));
	CU_ASSERT(vl_instance_has_succeeded(scene.instances[0]));
	vl_instance_status(scene.instances[0], &status);
	CU_ASSERT_EQUAL(status.client_done, 900);
	vl_instance_status(scene.instances[1], &status);
	CU_ASSERT_EQUAL(status.udaddy.requests, 3);
	CU_ASSERT_EQUAL(status.udaddy.received, 900);
	CU_ASSERT_EQUAL(status.udaddy.sent, 900);
	CU_ASSERT_EQUAL(status.udaddy.dropped, 0);
	close_scene(&scene);
}

/* Datagrams that come twice, and all of them between two polls, so that more have come back than
 * went out, fail nothing. */
static void test_udaddy_twice(void)
{
	const struct vl_impairments twice = {.duplicate = 1};
	struct vl_instance_client client = client_of(VL_INSTANCE_UDADDY);
	struct vl_application application;
	struct vl_instance_status status;
	struct vl_endpoint *endpoint;
	struct scene scene;
	uint64_t now = 0;

	client.size = 100;
	client.count = 3;
	open_scene(&scene, &client, &twice);
	do {
		now += 100;
		vl_network_run_until(scene.network, now);
		vl_instance_status(scene.instances[1], &status);
	} while (!status.udaddy.received && now < SECOND);
	endpoint = vl_node_endpoint(scene.nodes[0]);
	application = endpoint->application;
	vl_endpoint_set_application(endpoint, &(struct vl_application){0});
	vl_network_run_until(scene.network, now + SECOND / 1000);
	vl_endpoint_set_application(endpoint, &application);
	vl_network_run_until(scene.network, 10 * SECOND);
	CU_ASSERT(vl_instance_is_over(scene.instances[0]));
	CU_ASSERT(vl_instance_has_succeeded(scene.instances[0]));
	vl_instance_status(scene.instances[0], &status);
	CU_ASSERT(status.client_done > 3);
	CU_ASSERT_EQUAL(status.client_failed, 0);
	close_scene(&scene);
}

/* Notes the opcodes that the client's endpoint sends. */
static void note_opcode(void *context, enum vl_direction direction, const struct vl_frame *frame,
			uint64_t now, const char *comment)
{
	struct vl_packet packet;

	(void)now, (void)comment;
	if (direction == VL_DIRECTION_TRANSMITTED &&
	    vl_parse(&packet, VL_LINK_ETHERNET, frame->data, frame->length, frame->length) ==
		    VL_PARSE_ok)
		*strchr(context, 0) =
			packet.opcode == (VL_SERVICE_UD | VL_OP_SEND_ONLY_IMM) ? 'm' : 'r';
}

/* Librdmacm's server sends nothing back before it has everything of all connections. */
static void test_udaddy_order(void)
{
	struct vl_instance_client client = client_of(VL_INSTANCE_UDADDY);
	char sent[64] = "";
	const struct vl_frame_tap tap = {note_opcode, sent};
	struct scene scene;

	client.connections = 2;
	client.size = 100;
	client.count = 3;
	open_scene(&scene, &client, NULL);
	vl_endpoint_set_tap(vl_node_endpoint(scene.nodes[0]), &tap);
	vl_network_run_until(scene.network, SECOND);
	CU_ASSERT(vl_instance_has_succeeded(scene.instances[0]));
	CU_ASSERT_STRING_EQUAL(sent, "rrmmmmmm");
	close_scene(&scene);
}

static void test_exercise(void)
{
	struct vl_instance_client client = client_of(VL_INSTANCE_EXERCISE);
	struct vl_instance_status status;
	struct scene scene;

	open_scene(&scene, &client, NULL);
	vl_network_run_until(scene.network, 10 * SECOND);
	CU_ASSERT(vl_instance_has_succeeded(scene.instances[0]));
	vl_instance_status(scene.instances[1], &status);
	CU_ASSERT_EQUAL(status.exercise_over, 1);
	CU_ASSERT_EQUAL(status.exercise_failures, 0);
	close_scene(&scene);

	for (const char *const *request = vl_exercise_refused_requests; *request; request++) {
		client.refused = *request;
		open_scene(&scene, &client, NULL);
		vl_network_run_until(scene.network, 10 * SECOND);
		CU_ASSERT(vl_instance_is_over(scene.instances[0]));
		CU_ASSERT(vl_instance_has_succeeded(scene.instances[0]));
		vl_instance_status(scene.instances[1], &status);
		CU_ASSERT_EQUAL(status.sessions, 0);
		close_scene(&scene);
	}
}

/* A line may have what a peer sent in it: none of that may act on a terminal. */
static void test_notice(void)
{
	struct vl_notices *notices = vl_notices_open(2);
	char line[VL_NOTICE_LENGTH];

	CU_ASSERT_PTR_NOT_NULL_FATAL(notices);
	vl_notice(notices, "data: %s", "\033]0;x\007");
	CU_ASSERT_TRUE_FATAL(vl_notices_take(notices, line));
	CU_ASSERT_STRING_EQUAL(line, "data: ?]0;x?");
	CU_ASSERT_FALSE(vl_notices_take(notices, line));
	vl_notices_close(notices);
}

/* Nobody listens there; and nobody is there. */
static void test_unreachable(void)
{
	struct vl_instance_client client = client_of(VL_INSTANCE_RPING);
	struct vl_instance_status status;
	struct scene scene;

	client.port = 9;
	open_scene(&scene, &client, NULL);
	vl_network_run_until(scene.network, SECOND);
	CU_ASSERT(vl_instance_is_over(scene.instances[0]));
	CU_ASSERT(!vl_instance_has_succeeded(scene.instances[0]));
	vl_instance_status(scene.instances[0], &status);
	CU_ASSERT_EQUAL(status.session.rejected, 1);
	CU_ASSERT_EQUAL(count_notices(scene.instances[0], "invalid service ID"), 1);
	close_scene(&scene);

	client.destination = host_gid(9);
	open_scene(&scene, &client, NULL);
	vl_network_run_until(scene.network, 30 * SECOND);
	CU_ASSERT(vl_instance_is_over(scene.instances[0]));
	CU_ASSERT(!vl_instance_has_succeeded(scene.instances[0]));
	vl_instance_status(scene.instances[0], &status);
	CU_ASSERT_EQUAL(status.session.unreachable, 1);
	close_scene(&scene);
}

static enum vl_link_action lose_all(void *context, const struct vl_frame *frame, uint64_t ordinal)
{
	const bool *is_cut = context;

	(void)frame;
	(void)ordinal;
	return *is_cut ? VL_LINK_DROP : VL_LINK_PASS;
}

/* A peer that vanishes is found out though it owes nothing, and leaves nothing behind. */
static void test_peer_vanishes(void)
{
	struct vl_instance_client client = client_of(VL_INSTANCE_RPING);
	struct vl_impairments impairments = {0};
	struct vl_instance_status status;
	struct scene scene;
	bool is_cut = false;

	impairments.decide = lose_all;
	impairments.decide_context = &is_cut;
	client.count = 0;
	client.connections = 20;
	open_scene(&scene, &client, &impairments);
	vl_network_run_until(scene.network, SECOND / 100);
	vl_instance_status(scene.instances[1], &status);
	CU_ASSERT_EQUAL(status.sessions, 20);
	is_cut = true;
	vl_network_run_until(scene.network, 60 * SECOND);
	vl_instance_status(scene.instances[1], &status);
	CU_ASSERT_EQUAL(status.sessions, 0);
	CU_ASSERT_EQUAL(status.cm_usage.connections, 0);
	close_scene(&scene);
}

/* Of messages only the first packet is let through, and of their senders only REQs. */
static enum vl_link_action pass_halves(void *context, const struct vl_frame *frame,
				       uint64_t ordinal)
{
	const bool *is_hostile = context;
	struct vl_packet packet;

	(void)ordinal;
	if (!*is_hostile || vl_parse(&packet, VL_LINK_ETHERNET, frame->data, frame->length,
				     frame->length) != VL_PARSE_ok)
		return VL_LINK_PASS;
	if (packet.opcode == VL_OP_SEND_LAST)
		return VL_LINK_DROP;
	/* The low byte of a MAD's attribute: RTU, DREQ */
	if (packet.destination_qpn == 1 && packet.payload_length == 256 &&
	    (packet.payload[17] == 0x14 || packet.payload[17] == 0x15))
		return VL_LINK_DROP;
	return VL_LINK_PASS;
}

static uint8_t half_message[5000];

static void send_half(struct vl_session *session, uint64_t now)
{
	const struct ibv_mr *mr = session->service_context;
	struct ibv_sge sge = {(uintptr_t)half_message, sizeof(half_message), mr->lkey};
	const struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND};
	const struct ibv_send_wr *bad;

	CU_ASSERT_EQUAL(vl_post_send(session->qp, &wr, &bad, now), 0);
}

static int open_nothing(struct vl_session *session, uint64_t now)
{
	(void)session, (void)now;
	return 0;
}

static void ignore_completion(struct vl_session *session, const struct ibv_wc *wc, uint64_t now)
{
	(void)session, (void)wc, (void)now;
}

/* Clients that begin a message and vanish before the connection is established leave the receives
 * that they began to fill to others. */
static void test_ucmatose_half_messages(void)
{
	static const struct vl_session_service half_service = {
		.name = "half",
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
		.conn = {.retry_count = 1, .rnr_retry_count = 0},
		.open = open_nothing,
		.established = send_half,
		.completion = ignore_completion,
	};
	struct vl_ucmatose_client client = {.count = 10, .size = 100};
	struct vl_session_connect connect = {
		.service = &half_service, .destination = host_gid(2), .port = VL_UCMATOSE_PORT};
	struct vl_impairments impairments = {0};
	struct vl_instance_status status;
	struct vl_session_set *sessions;
	struct scene scene;
	struct ibv_mr *mr;
	bool is_hostile = true;
	int error = 0;

	impairments.decide = pass_halves;
	impairments.decide_context = &is_hostile;
	open_scene(&scene, NULL, &impairments);
	sessions = vl_instance_sessions(scene.instances[0]);
	mr = vl_reg_mr(vl_session_set_pd(sessions), half_message, sizeof(half_message),
		       (uintptr_t)half_message, IBV_ACCESS_LOCAL_WRITE, &error);
	CU_ASSERT_PTR_NOT_NULL_FATAL(mr);
	connect.service_context = mr;
	for (uint32_t i = 0; i < VL_UCMATOSE_RECEIVES; i++)
		CU_ASSERT_PTR_NOT_NULL_FATAL(vl_session_connect(sessions, &connect, 0, &error));
	vl_network_run_until(scene.network, 300 * SECOND);
	vl_instance_status(scene.instances[1], &status);
	CU_ASSERT_EQUAL(status.sessions, 0);
	CU_ASSERT_EQUAL(status.session.requested, VL_UCMATOSE_RECEIVES);
	CU_ASSERT_EQUAL(status.session.unreachable, VL_UCMATOSE_RECEIVES);

	is_hostile = false;
	connect.service = &vl_ucmatose_client_service;
	connect.service_context = &client;
	CU_ASSERT_PTR_NOT_NULL_FATAL(
		vl_session_connect(sessions, &connect, vl_network_now(scene.network), &error));
	vl_network_run_until(scene.network, 310 * SECOND);
	CU_ASSERT_EQUAL(client.over, 1);
	CU_ASSERT_EQUAL(client.unfinished, 0);
	vl_instance_status(scene.instances[1], &status);
	CU_ASSERT_EQUAL(status.ucmatose.received, 10);
	vl_session_set_clear(sessions, vl_network_now(scene.network));
	vl_dereg_mr(mr);
	close_scene(&scene);
}

/* A service that cannot open a session, on either side: it is told no more of it. */
static int refuse_open(struct vl_session *session, uint64_t now)
{
	(void)session;
	(void)now;
	return -ENOMEM;
}

static void not_to_be_called(struct vl_session *session, uint64_t now)
{
	(void)session;
	(void)now;
	CU_FAIL("told of a session that it did not open");
}

static void test_open_fails(void)
{
	struct vl_session_service service = vl_rping_server_service;
	struct vl_instance_client client = client_of(VL_INSTANCE_EXERCISE);
	struct vl_instance_status status;
	struct scene scene;

	client.refused = "no such request";
	open_scene(&scene, &client, NULL);
	vl_network_run_until(scene.network, SECOND / 100);
	CU_ASSERT(vl_instance_is_over(scene.instances[0]));
	CU_ASSERT(!vl_instance_has_succeeded(scene.instances[0]));
	CU_ASSERT_EQUAL(count_notices(scene.instances[0], "cannot connect: Invalid argument"), 1);
	close_scene(&scene);

	service.open = refuse_open;
	service.closed = not_to_be_called;
	client = client_of(VL_INSTANCE_RPING);
	client.port = 4000;
	open_scene(&scene, &client, NULL);
	CU_ASSERT_EQUAL(
		vl_session_listen(vl_instance_sessions(scene.instances[1]), &service, 4000, NULL),
		0);
	vl_network_run_until(scene.network, SECOND / 100);
	CU_ASSERT_EQUAL(count_notices(scene.instances[0], "rejected: no resources available"), 1);
	vl_instance_status(scene.instances[1], &status);
	CU_ASSERT_EQUAL(status.sessions, 0);
	CU_ASSERT_EQUAL(status.session.refused, 1);
	close_scene(&scene);
}

/* The end that a signal asks for: both sides are done at once. */
static void test_stop(void)
{
	struct vl_instance_client client = client_of(VL_INSTANCE_RPING);
	struct vl_instance_status status;
	struct scene scene;

	client.count = 0;
	client.connections = 20;
	open_scene(&scene, &client, NULL);
	vl_network_run_until(scene.network, SECOND / 100);
	CU_ASSERT(!vl_instance_is_over(scene.instances[0]));
	vl_instance_stop(scene.instances[0], vl_network_now(scene.network));
	vl_network_run_until(scene.network, SECOND);
	CU_ASSERT(vl_instance_is_over(scene.instances[0]));
	CU_ASSERT(vl_instance_has_succeeded(scene.instances[0]));
	vl_instance_status(scene.instances[1], &status);
	CU_ASSERT_EQUAL(status.sessions, 0);
	close_scene(&scene);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"rping", test_rping},
		{"rping over a lossy link", test_rping_lossy},
		{"ucmatose", test_ucmatose},
		{"ucmatose, whose end is told late", test_ucmatose_late_end},
		{"ucmatose over a lossy link", test_ucmatose_lossy},
		{"ucmatose, of which half messages come", test_ucmatose_half_messages},
		{"rping repeats what it said", test_rping_repeats},
		{"udaddy", test_udaddy},
		{"udaddy twice", test_udaddy_twice},
		{"a notice", test_notice},
		{"udaddy's order", test_udaddy_order},
		{"the exercise, all that succeeds and each that is refused", test_exercise},
		{"nobody listens, nobody is there", test_unreachable},
		{"a peer vanishes", test_peer_vanishes},
		{"a service cannot open a session", test_open_fails},
		{"an orderly stop", test_stop},
	};

	return RUN_SUITE("endpoint_services", tests, argc, argv);
}
