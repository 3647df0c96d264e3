/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The connection manager, one exchange at a time. */

#include "transport/cm/connection.h"

#include "tests/support/cm_pair.h"
#include "tests/support/suite.h"

#include <errno.h>
#include <string.h>

#define SECOND  UINT64_C(1000000000)
#define SERVICE vl_rdma_service_id(VL_RDMA_PORT_SPACE_TCP, 7174)

#define MAX_EVENTS 64

/* What a side was told, and what its owner does about it. */
struct owner {
	struct cm_pair *pair;
	unsigned int side;
	enum vl_cm_event_type events[MAX_EVENTS];
	uint32_t count;
	int status;
	struct vl_cm_connection *connection;
	struct vl_cm_conn_param conn;
	struct vl_cm_ud_param ud;
	uint8_t private_data[256];
	uint8_t private_data_length;
	uint8_t info[80], info_length;
	bool waits;   /* answers nothing by itself */
	bool refuses; /* requests and responses */
	uint8_t responder_resources;
};

static void take_event(void *context, const struct vl_cm_event *event, uint64_t now)
{
	struct owner *owner = context;
	const struct vl_cm_accept_param accept = {
		.conn = {.qpn = 0x200 + owner->side,
			 .responder_resources = owner->responder_resources,
			 .initiator_depth = 2,
			 .rnr_retry_count = 5},
		.qpn = 0x300,
		.qkey = VL_RDMA_UDP_QKEY,
		.private_data = "from the passive side",
		.private_data_length = 22,
	};
	int status = 0;

	CU_ASSERT_FATAL(owner->count < MAX_EVENTS);
	owner->events[owner->count++] = event->type;
	owner->connection = event->connection;
	owner->status = event->status;
	owner->private_data_length = event->private_data_length;
	if (event->private_data)
		memcpy(owner->private_data, event->private_data, event->private_data_length);
	owner->info_length = event->info_length;
	if (event->info)
		memcpy(owner->info, event->info, event->info_length);
	if (event->type == VL_CM_EVENT_CONNECT_REQUEST ||
	    event->type == VL_CM_EVENT_CONNECT_RESPONSE)
		owner->conn = event->param.conn;
	if (event->type == VL_CM_EVENT_ESTABLISHED)
		owner->ud = event->param.ud;
	if (owner->waits)
		return;
	if (event->type == VL_CM_EVENT_CONNECT_REQUEST)
		status = owner->refuses ? vl_cm_reject(event->connection, VL_CM_REJECT_CONSUMER,
						       "why", 3, "because", 8, now)
					: vl_cm_accept(event->connection, &accept, now);
	else if (event->type == VL_CM_EVENT_CONNECT_RESPONSE)
		status = owner->refuses ? vl_cm_reject(event->connection, VL_CM_REJECT_CONSUMER,
						       NULL, 0, NULL, 0, now)
					: vl_cm_establish(event->connection, "rtu", 4, now);
	CU_ASSERT_EQUAL(status, 0);
}

/* Side 0 connects, side 1 listens. */
struct scene {
	struct cm_pair *pair;
	struct owner owners[2];
	struct vl_cm_listener *listener;
};

static void open_scene(struct scene *scene, const struct cm_pair_options *options)
{
	struct vl_cm_listen_param listen = {
		.service_id = SERVICE,
		.qp_type = IBV_QPT_RC,
		.handler = {take_event, &scene->owners[1]},
	};
	int error = 0;

	memset(scene, 0, sizeof(*scene));
	scene->pair = cm_pair_open(options);
	for (unsigned int side = 0; side < 2; side++)
		scene->owners[side] =
			(struct owner){.pair = scene->pair, .side = side, .responder_resources = 3};
	scene->listener = vl_cm_listen(scene->pair->cm[1], &listen, &error);
	CU_ASSERT_PTR_NOT_NULL_FATAL(scene->listener);
	listen.service_id = vl_rdma_service_id(VL_RDMA_PORT_SPACE_UDP, 7174);
	listen.qp_type = IBV_QPT_UD;
	CU_ASSERT_PTR_NOT_NULL(vl_cm_listen(scene->pair->cm[1], &listen, &error));
}

static void close_scene(struct scene *scene)
{
	cm_pair_close(scene->pair);
}

static struct vl_cm_connect_param connect_param(struct scene *scene)
{
	return (struct vl_cm_connect_param){
		.service_id = SERVICE,
		.qp_type = IBV_QPT_RC,
		.destination = cm_pair_gid(scene->pair, 1),
		.source_port = 4711,
		.conn = {.qpn = 0x100,
			 .responder_resources = 4,
			 .initiator_depth = 8,
			 .retry_count = 6,
			 .rnr_retry_count = 7},
		.private_data = "hello",
		.private_data_length = 6,
		.handler = {take_event, &scene->owners[0]},
	};
}

static struct vl_cm_connection *connect(struct scene *scene)
{
	struct vl_cm_connect_param param = connect_param(scene);
	int error = 0;
	struct vl_cm_connection *connection =
		vl_cm_connect(scene->pair->cm[0], &param, scene->pair->now, &error);

	CU_ASSERT_EQUAL(error, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(connection);
	return connection;
}

#define HAS_EVENTS(owner, ...)                                                                     \
	do {                                                                                       \
		const enum vl_cm_event_type wanted[] = {__VA_ARGS__};                              \
		CU_ASSERT_EQUAL((owner)->count, sizeof(wanted) / sizeof(wanted[0]));               \
		for (uint32_t n = 0; n < (owner)->count && n < sizeof(wanted) / sizeof(wanted[0]); \
		     n++)                                                                          \
			CU_ASSERT_STRING_EQUAL(vl_cm_event_name((owner)->events[n]),               \
					       vl_cm_event_name(wanted[n]));                       \
	} while (0)

static uint32_t sent(const struct scene *scene, unsigned int side, enum vl_cm_attribute attribute)
{
	return scene->pair->sent[side][attribute - 0x10];
}

static uint32_t in_use(const struct scene *scene, unsigned int side)
{
	return vl_cm_usage(scene->pair->cm[side]).connections;
}

static void test_open_and_release(void)
{
	struct scene scene;
	struct vl_cm_connection *connection;
	struct vl_cm_info active, passive;
	uint64_t allocations;

	open_scene(&scene, NULL);
	allocations = scene.pair->allocations;
	connection = connect(&scene);
	cm_pair_run(scene.pair, SECOND);
	HAS_EVENTS(&scene.owners[0], VL_CM_EVENT_CONNECT_RESPONSE);
	HAS_EVENTS(&scene.owners[1], VL_CM_EVENT_CONNECT_REQUEST, VL_CM_EVENT_ESTABLISHED);
	CU_ASSERT_EQUAL(scene.owners[1].private_data_length, 224);
	CU_ASSERT_STRING_EQUAL((char *)scene.owners[1].private_data, "rtu");
	CU_ASSERT_STRING_EQUAL((char *)scene.owners[0].private_data, "from the passive side");
	CU_ASSERT_EQUAL(scene.owners[0].private_data_length, 196);
	/* The passive side sees our depth as its resources, and the other way round. */
	CU_ASSERT_EQUAL(scene.owners[1].conn.responder_resources, 8);
	CU_ASSERT_EQUAL(scene.owners[1].conn.initiator_depth, 4);
	CU_ASSERT_EQUAL(scene.owners[1].conn.qpn, 0x100);
	CU_ASSERT_EQUAL(scene.owners[0].conn.responder_resources, 2);
	CU_ASSERT_EQUAL(scene.owners[0].conn.initiator_depth, 3);
	vl_cm_query(connection, &active);
	vl_cm_query(scene.owners[1].connection, &passive);
	CU_ASSERT_EQUAL(active.state, VL_CM_STATE_ESTABLISHED);
	CU_ASSERT_EQUAL(passive.state, VL_CM_STATE_ESTABLISHED);
	CU_ASSERT_EQUAL(active.remote_comm_id, passive.local_comm_id);
	CU_ASSERT_EQUAL(active.remote_qpn, 0x201);
	CU_ASSERT_EQUAL(passive.remote_psn, active.local_psn);
	CU_ASSERT_EQUAL(active.remote_psn, passive.local_psn);
	CU_ASSERT_EQUAL(passive.remote_port, 4711);
	CU_ASSERT_EQUAL(passive.remote_mac[5], 1);
	CU_ASSERT_EQUAL(active.remote_mac[5], 2);

	CU_ASSERT_EQUAL(vl_cm_disconnect(connection, scene.pair->now), 0);
	cm_pair_run(scene.pair, SECOND);
	HAS_EVENTS(&scene.owners[0], VL_CM_EVENT_CONNECT_RESPONSE, VL_CM_EVENT_DISCONNECTED,
		   VL_CM_EVENT_TIMEWAIT_EXIT);
	HAS_EVENTS(&scene.owners[1], VL_CM_EVENT_CONNECT_REQUEST, VL_CM_EVENT_ESTABLISHED,
		   VL_CM_EVENT_DISCONNECTED, VL_CM_EVENT_TIMEWAIT_EXIT);
	CU_ASSERT_EQUAL(in_use(&scene, 0) + in_use(&scene, 1), 0);
	CU_ASSERT_EQUAL(scene.pair->allocations, allocations);
	CU_ASSERT_EQUAL(sent(&scene, 0, VL_CM_REQ), 1);
	CU_ASSERT_EQUAL(sent(&scene, 1, VL_CM_REP), 1);
	CU_ASSERT_EQUAL(sent(&scene, 0, VL_CM_RTU), 1);
	CU_ASSERT_EQUAL(sent(&scene, 0, VL_CM_DREQ), 1);
	CU_ASSERT_EQUAL(sent(&scene, 1, VL_CM_DREP), 1);
	close_scene(&scene);
}

/* Notes the starting PSNs that the REQ and the REP announce. */
static bool note_starting_psn(struct cm_pair *pair, unsigned int from,
			      const struct vl_cm_message *message)
{
	uint32_t *announced = pair->hook_data;

	if (message->attribute_id == VL_CM_REQ)
		announced[from] = message->req.starting_psn;
	else if (message->attribute_id == VL_CM_REP)
		announced[from] = message->rep.starting_psn;
	return true;
}

/* The attributes carry two QPs to RTS, and data between them. */
static void test_attributes(void)
{
	struct scene scene;
	struct vl_cm_connection *connections[2];
	struct ibv_qp_attr attr[2];
	uint32_t announced[2] = {0, 0};
	int mask;

	open_scene(&scene, NULL);
	scene.pair->hook = note_starting_psn;
	scene.pair->hook_data = announced;
	scene.owners[0].waits = true;
	connections[0] = connect(&scene);
	CU_ASSERT_EQUAL(vl_cm_init_qp_attr(connections[0], IBV_QPS_RTR, &attr[0], &mask), -EINVAL);
	CU_ASSERT_EQUAL(vl_cm_init_qp_attr(connections[0], IBV_QPS_INIT, &attr[0], &mask), 0);
	CU_ASSERT_EQUAL(mask, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	cm_pair_run(scene.pair, SECOND / 100);
	connections[1] = scene.owners[1].connection;
	for (unsigned int side = 0; side < 2; side++) {
		union ibv_gid peer = cm_pair_gid(scene.pair, !side);

		CU_ASSERT_EQUAL(
			vl_cm_init_qp_attr(connections[side], IBV_QPS_RTR, &attr[side], &mask), 0);
		CU_ASSERT_EQUAL(attr[side].dest_qp_num, side ? 0x100 : 0x201);
		CU_ASSERT_EQUAL(attr[side].path_mtu, IBV_MTU_4096);
		CU_ASSERT_EQUAL(attr[side].max_dest_rd_atomic, side ? 3 : 2);
		CU_ASSERT_EQUAL(memcmp(&attr[side].ah_attr.grh.dgid, &peer, sizeof(peer)), 0);
		/* "At which the remote node shall begin transmitting" (IBTA 12.6.5): Linux does. */
		CU_ASSERT_EQUAL(attr[side].rq_psn, announced[side]);
		CU_ASSERT_EQUAL(
			vl_cm_init_qp_attr(connections[side], IBV_QPS_RTS, &attr[side], &mask), 0);
		CU_ASSERT_EQUAL(attr[side].sq_psn, announced[!side]);
		CU_ASSERT_EQUAL(attr[side].timeout, 14);
		CU_ASSERT_EQUAL(attr[side].retry_cnt, 6);
		CU_ASSERT_EQUAL(attr[side].rnr_retry, side ? 7 : 5);
		CU_ASSERT_EQUAL(attr[side].max_rd_atomic, side ? 2 : 3);
	}
	close_scene(&scene);
}

static void test_refused(void)
{
	struct scene scene;
	struct vl_cm_connect_param param;

	open_scene(&scene, NULL);
	scene.owners[1].refuses = true;
	connect(&scene);
	cm_pair_run(scene.pair, SECOND);
	HAS_EVENTS(&scene.owners[0], VL_CM_EVENT_REJECTED);
	CU_ASSERT_EQUAL(scene.owners[0].status, VL_CM_REJECT_CONSUMER);
	CU_ASSERT_EQUAL(scene.owners[0].info_length, 3);
	CU_ASSERT_EQUAL(memcmp(scene.owners[0].info, "why", 3), 0);
	CU_ASSERT_STRING_EQUAL((char *)scene.owners[0].private_data, "because");

	param = connect_param(&scene);
	param.service_id++;
	CU_ASSERT_PTR_NOT_NULL(vl_cm_connect(scene.pair->cm[0], &param, scene.pair->now, NULL));
	cm_pair_run(scene.pair, SECOND);
	CU_ASSERT_EQUAL(scene.owners[0].status, VL_CM_REJECT_INVALID_SERVICE_ID);
	CU_ASSERT_EQUAL(in_use(&scene, 0) + in_use(&scene, 1), 0);
	close_scene(&scene);
}

static void test_response_refused(void)
{
	struct scene scene;

	open_scene(&scene, NULL);
	scene.owners[0].refuses = true;
	connect(&scene);
	cm_pair_run(scene.pair, SECOND);
	HAS_EVENTS(&scene.owners[1], VL_CM_EVENT_CONNECT_REQUEST, VL_CM_EVENT_REJECTED);
	CU_ASSERT_EQUAL(in_use(&scene, 0) + in_use(&scene, 1), 0);
	close_scene(&scene);
}

static void test_path_mtu_refused(void)
{
	const struct cm_pair_options options = {.active_mtu = {IBV_MTU_4096, IBV_MTU_1024}};
	struct scene scene;

	open_scene(&scene, &options);
	connect(&scene);
	cm_pair_run(scene.pair, SECOND);
	HAS_EVENTS(&scene.owners[0], VL_CM_EVENT_REJECTED);
	CU_ASSERT_EQUAL(scene.owners[0].status, VL_CM_REJECT_INVALID_MTU);
	CU_ASSERT_EQUAL(scene.owners[0].info_length, 1);
	CU_ASSERT_EQUAL(scene.owners[0].info[0], IBV_MTU_1024);
	close_scene(&scene);
}

static void test_sidr(void)
{
	struct scene scene;
	struct vl_cm_connect_param param;

	open_scene(&scene, NULL);
	param = connect_param(&scene);
	param.service_id = vl_rdma_service_id(VL_RDMA_PORT_SPACE_UDP, 7174);
	param.qp_type = IBV_QPT_UD;
	CU_ASSERT_PTR_NOT_NULL(vl_cm_connect(scene.pair->cm[0], &param, scene.pair->now, NULL));
	cm_pair_run(scene.pair, SECOND / 10);
	HAS_EVENTS(&scene.owners[1], VL_CM_EVENT_CONNECT_REQUEST);
	CU_ASSERT_STRING_EQUAL((char *)scene.owners[1].private_data, "hello");
	CU_ASSERT_EQUAL(scene.owners[1].private_data_length, 216 - 36);
	HAS_EVENTS(&scene.owners[0], VL_CM_EVENT_ESTABLISHED);
	CU_ASSERT_EQUAL(scene.owners[0].ud.qpn, 0x300);
	CU_ASSERT_EQUAL(scene.owners[0].ud.qkey, VL_RDMA_UDP_QKEY);
	CU_ASSERT_EQUAL(in_use(&scene, 0), 0);
	CU_ASSERT_EQUAL(in_use(&scene, 1), 1);
	cm_pair_run(scene.pair, 2 * SECOND);
	CU_ASSERT_EQUAL(in_use(&scene, 1), 0);

	param.service_id++;
	CU_ASSERT_PTR_NOT_NULL(vl_cm_connect(scene.pair->cm[0], &param, scene.pair->now, NULL));
	cm_pair_run(scene.pair, SECOND);
	CU_ASSERT_EQUAL(scene.owners[0].events[1], VL_CM_EVENT_REJECTED);
	CU_ASSERT_EQUAL(scene.owners[0].status, VL_CM_SIDR_UNSUPPORTED);
	close_scene(&scene);
}

/* ---- Loss, repetition, silence -------------------------------------------------------------- */

struct losses {
	uint16_t attribute;
	uint32_t count;
};

static bool lose_first(struct cm_pair *pair, unsigned int from, const struct vl_cm_message *message)
{
	struct losses *losses = pair->hook_data;

	(void)from;
	if (message->attribute_id != losses->attribute || !losses->count)
		return true;
	losses->count--;
	return false;
}

/* Each message of opening and release may be lost, thrice in a row. */
static void test_each_message_lost(void)
{
	static const uint16_t attributes[] = {VL_CM_REQ, VL_CM_REP, VL_CM_RTU, VL_CM_DREQ,
					      VL_CM_DREP};

	for (uint32_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
		struct losses losses = {attributes[i], 3};
		struct vl_cm_connection *connection;
		struct scene scene;

		open_scene(&scene, NULL);
		scene.pair->hook = lose_first;
		scene.pair->hook_data = &losses;
		connection = connect(&scene);
		cm_pair_run(scene.pair, 10 * SECOND);
		HAS_EVENTS(&scene.owners[0], VL_CM_EVENT_CONNECT_RESPONSE);
		HAS_EVENTS(&scene.owners[1], VL_CM_EVENT_CONNECT_REQUEST, VL_CM_EVENT_ESTABLISHED);
		vl_cm_disconnect(connection, scene.pair->now);
		cm_pair_run(scene.pair, 10 * SECOND);
		CU_ASSERT_EQUAL(scene.owners[0].count, 3);
		CU_ASSERT_EQUAL(scene.owners[1].count, 4);
		CU_ASSERT_EQUAL(losses.count, 0);
		CU_ASSERT_EQUAL(in_use(&scene, 0) + in_use(&scene, 1), 0);
		close_scene(&scene);
	}
}

static void test_nobody_answers(void)
{
	struct losses losses = {VL_CM_REP, UINT32_MAX};
	struct scene scene;

	open_scene(&scene, NULL);
	scene.pair->hook = lose_first;
	scene.pair->hook_data = &losses;
	connect(&scene);
	cm_pair_run(scene.pair, 16 * UINT64_C(4096) << 18);
	cm_pair_run(scene.pair, SECOND);
	HAS_EVENTS(&scene.owners[0], VL_CM_EVENT_UNREACHABLE);
	CU_ASSERT_EQUAL(scene.owners[0].status, -ETIMEDOUT);
	CU_ASSERT_EQUAL(sent(&scene, 0, VL_CM_REQ), 16);
	/* The refusal that the active side gave up with ends the passive side too. */
	HAS_EVENTS(&scene.owners[1], VL_CM_EVENT_CONNECT_REQUEST, VL_CM_EVENT_REJECTED);
	CU_ASSERT_EQUAL(scene.owners[1].status, VL_CM_REJECT_TIMEOUT);
	CU_ASSERT_EQUAL(in_use(&scene, 0) + in_use(&scene, 1), 0);
	close_scene(&scene);
}

static void test_data_before_rtu(void)
{
	struct losses losses = {VL_CM_RTU, 1};
	struct scene scene;

	open_scene(&scene, NULL);
	scene.pair->hook = lose_first;
	scene.pair->hook_data = &losses;
	connect(&scene);
	cm_pair_run(scene.pair, SECOND / 100);
	HAS_EVENTS(&scene.owners[1], VL_CM_EVENT_CONNECT_REQUEST);
	vl_cm_notify(scene.owners[1].connection, scene.pair->now);
	cm_pair_run(scene.pair, SECOND / 100);
	HAS_EVENTS(&scene.owners[1], VL_CM_EVENT_CONNECT_REQUEST, VL_CM_EVENT_ESTABLISHED);
	cm_pair_run(scene.pair, 5 * SECOND);
	CU_ASSERT_EQUAL(sent(&scene, 1, VL_CM_REP), 1);
	close_scene(&scene);
}

static void test_slow_owner(void)
{
	const struct vl_cm_accept_param accept = {.conn = {.qpn = 0x200}};
	struct scene scene;

	open_scene(&scene, NULL);
	scene.owners[1].waits = true;
	connect(&scene);
	/* Longer than all repetitions of the REQ would last. */
	cm_pair_run(scene.pair, 25 * SECOND);
	CU_ASSERT_EQUAL(scene.owners[0].count, 0);
	CU_ASSERT(sent(&scene, 1, VL_CM_MRA) >= 1);
	CU_ASSERT(sent(&scene, 0, VL_CM_REQ) < 8);
	CU_ASSERT_EQUAL(vl_cm_accept(scene.owners[1].connection, &accept, scene.pair->now), 0);
	cm_pair_run(scene.pair, SECOND);
	HAS_EVENTS(&scene.owners[0], VL_CM_EVENT_CONNECT_RESPONSE);
	HAS_EVENTS(&scene.owners[1], VL_CM_EVENT_CONNECT_REQUEST, VL_CM_EVENT_ESTABLISHED);
	close_scene(&scene);

	/* One that never answers loses the request. */
	open_scene(&scene, NULL);
	scene.owners[1].waits = true;
	connect(&scene);
	cm_pair_run(scene.pair, 60 * SECOND);
	HAS_EVENTS(&scene.owners[0], VL_CM_EVENT_REJECTED);
	HAS_EVENTS(&scene.owners[1], VL_CM_EVENT_CONNECT_REQUEST, VL_CM_EVENT_UNREACHABLE);
	CU_ASSERT_EQUAL(in_use(&scene, 0) + in_use(&scene, 1), 0);
	close_scene(&scene);
}

static int answers_later(void *context, const union ibv_gid *destination, uint8_t mac[6])
{
	int *countdown = context;

	(void)destination;
	if (*countdown < 0)
		return *countdown;
	if ((*countdown)--)
		return -EAGAIN;
	*countdown = 0;
	memcpy(mac, (uint8_t[]){2, 0, 0, 0, 0, 2}, 6);
	return 0;
}

static void test_resolving(void)
{
	int countdown = 5;
	struct cm_pair_options options = {.resolve = answers_later, .context = &countdown};
	struct scene scene;

	open_scene(&scene, &options);
	connect(&scene);
	cm_pair_run(scene.pair, SECOND / 10);
	HAS_EVENTS(&scene.owners[0], VL_CM_EVENT_CONNECT_RESPONSE);
	CU_ASSERT_EQUAL(sent(&scene, 0, VL_CM_REQ), 1);
	close_scene(&scene);

	countdown = -EHOSTUNREACH;
	open_scene(&scene, &options);
	connect(&scene);
	CU_ASSERT_EQUAL(scene.owners[0].count, 0); /* not before the poll */
	cm_pair_run(scene.pair, SECOND / 10);
	HAS_EVENTS(&scene.owners[0], VL_CM_EVENT_UNREACHABLE);
	CU_ASSERT_EQUAL(scene.owners[0].status, -EHOSTUNREACH);
	close_scene(&scene);
}

static void test_destroyed(void)
{
	struct scene scene;
	struct vl_cm_connection *connection;

	/* While it waits for the answer. */
	open_scene(&scene, NULL);
	scene.owners[1].waits = true;
	connection = connect(&scene);
	cm_pair_run(scene.pair, SECOND / 100);
	vl_cm_destroy(connection, scene.pair->now);
	cm_pair_run(scene.pair, SECOND);
	CU_ASSERT_EQUAL(scene.owners[0].count, 0);
	HAS_EVENTS(&scene.owners[1], VL_CM_EVENT_CONNECT_REQUEST, VL_CM_EVENT_REJECTED);
	CU_ASSERT_EQUAL(in_use(&scene, 0) + in_use(&scene, 1), 0);
	close_scene(&scene);

	/* Established: the peer is told. */
	open_scene(&scene, NULL);
	connection = connect(&scene);
	cm_pair_run(scene.pair, SECOND / 100);
	vl_cm_destroy(connection, scene.pair->now);
	cm_pair_run(scene.pair, SECOND);
	HAS_EVENTS(&scene.owners[0], VL_CM_EVENT_CONNECT_RESPONSE);
	CU_ASSERT_EQUAL(scene.owners[1].count, 4);
	CU_ASSERT_EQUAL(in_use(&scene, 0) + in_use(&scene, 1), 0);
	close_scene(&scene);
}

/* ---- What does not belong ------------------------------------------------------------------- */

static struct vl_cm_message last_seen[2];

static bool keep(struct cm_pair *pair, unsigned int from, const struct vl_cm_message *message)
{
	(void)pair;
	last_seen[from] = *message;
	return true;
}

static void test_unknown_and_forged(void)
{
	union ibv_gid stranger = {.raw = {[10] = 0xff, [11] = 0xff, [12] = 10, [15] = 99}};
	struct vl_cm_message message = {.attribute_id = VL_CM_DREQ, .transaction_id = 42};
	struct vl_cm_connection *connection;
	struct vl_cm_info info;
	struct scene scene;

	open_scene(&scene, NULL);
	scene.pair->hook = keep;
	/* A DREQ of an unknown connection is answered with a DREP, a REP with a REJ, a LAP with an
	 * APR; the rest is dropped. */
	message.dreq.local_comm_id = 7;
	message.dreq.remote_comm_id = 8;
	cm_pair_inject_message(scene.pair, 1, NULL, &message);
	cm_pair_run(scene.pair, SECOND / 100);
	CU_ASSERT_EQUAL(last_seen[1].attribute_id, VL_CM_DREP);
	CU_ASSERT_EQUAL(last_seen[1].transaction_id, 42);
	CU_ASSERT_EQUAL(last_seen[1].drep.local_comm_id, 8);
	CU_ASSERT_EQUAL(last_seen[1].drep.remote_comm_id, 7);
	message = (struct vl_cm_message){.attribute_id = VL_CM_REP,
					 .rep = {.local_comm_id = 9, .remote_comm_id = 8}};
	cm_pair_inject_message(scene.pair, 1, NULL, &message);
	cm_pair_run(scene.pair, SECOND / 100);
	CU_ASSERT_EQUAL(last_seen[1].attribute_id, VL_CM_REJ);
	CU_ASSERT_EQUAL(last_seen[1].rej.reason, VL_CM_REJECT_INVALID_COMM_ID);
	CU_ASSERT_EQUAL(last_seen[1].rej.message_rejected, VL_CM_ANSWERS_REP);
	message = (struct vl_cm_message){.attribute_id = VL_CM_LAP,
					 .lap = {.local_comm_id = 9, .remote_comm_id = 8}};
	cm_pair_inject_message(scene.pair, 1, NULL, &message);
	cm_pair_run(scene.pair, SECOND / 100);
	CU_ASSERT_EQUAL(last_seen[1].attribute_id, VL_CM_APR);
	CU_ASSERT_EQUAL(last_seen[1].apr.status, VL_CM_APR_INVALID_COMM_ID);

	connection = connect(&scene);
	cm_pair_run(scene.pair, SECOND / 100);
	vl_cm_query(connection, &info);
	message = (struct vl_cm_message){
		.attribute_id = VL_CM_DREQ,
		.dreq = {info.remote_comm_id, info.local_comm_id, info.local_qpn}};
	/* Right in all but the address. */
	cm_pair_inject_message(scene.pair, 0, &stranger, &message);
	HAS_EVENTS(&scene.owners[0], VL_CM_EVENT_CONNECT_RESPONSE);
	CU_ASSERT_EQUAL(vl_cm_counters(scene.pair->cm[0])->wrong_peer, 1);
	/* Right in all but the QPN. */
	message.dreq.remote_qpn_eecn++;
	cm_pair_inject_message(scene.pair, 0, NULL, &message);
	HAS_EVENTS(&scene.owners[0], VL_CM_EVENT_CONNECT_RESPONSE);
	message.dreq.remote_qpn_eecn--;
	cm_pair_inject_message(scene.pair, 0, NULL, &message);
	HAS_EVENTS(&scene.owners[0], VL_CM_EVENT_CONNECT_RESPONSE, VL_CM_EVENT_DISCONNECTED);
	close_scene(&scene);
}

/* A peer that has restarted connects with a QP of which we have a connection: refused as stale, and
 * the old connection is ended, so that the next attempt succeeds. */
static void test_stale_connection(void)
{
	struct scene scene;
	struct vl_cm_connection *old;

	open_scene(&scene, NULL);
	old = connect(&scene);
	cm_pair_run(scene.pair, SECOND / 100);
	vl_cm_set_context(old, NULL);
	connect(&scene);
	cm_pair_run(scene.pair, SECOND);
	CU_ASSERT_EQUAL(scene.owners[0].events[1], VL_CM_EVENT_REJECTED);
	CU_ASSERT_EQUAL(vl_cm_counters(scene.pair->cm[1])->stale, 1);
	CU_ASSERT_EQUAL(scene.owners[1].events[2], VL_CM_EVENT_DISCONNECTED);
	scene.owners[0].count = scene.owners[1].count = 0;
	connect(&scene);
	cm_pair_run(scene.pair, SECOND);
	HAS_EVENTS(&scene.owners[0], VL_CM_EVENT_CONNECT_RESPONSE);
	HAS_EVENTS(&scene.owners[1], VL_CM_EVENT_CONNECT_REQUEST, VL_CM_EVENT_ESTABLISHED);
	close_scene(&scene);
}

static void test_wrong_calls(void)
{
	struct scene scene;
	struct vl_cm_connect_param param;
	struct vl_cm_connection *connection;
	struct vl_cm_listen_param listen = {.service_id = SERVICE, .qp_type = IBV_QPT_RC};
	const struct vl_cm_config bad = {.worker = 64};
	int error = 0;

	CU_ASSERT_STRING_EQUAL(vl_cm_state_name(VL_CM_STATE_DREQ_SENT), "DREQ_SENT");
	open_scene(&scene, NULL);
	CU_ASSERT_PTR_NULL(vl_cm_open(scene.pair->device[0], NULL, 0, &error));
	CU_ASSERT_EQUAL(error, -EEXIST);
	CU_ASSERT_PTR_NULL(vl_cm_open(scene.pair->device[0], &bad, 0, &error));
	CU_ASSERT_EQUAL(error, -EINVAL);
	CU_ASSERT_PTR_NULL(vl_cm_listen(scene.pair->cm[1], &listen, &error));
	CU_ASSERT_EQUAL(error, -EINVAL);
	listen.handler.event = take_event;
	CU_ASSERT_PTR_NULL(vl_cm_listen(scene.pair->cm[1], &listen, &error));
	CU_ASSERT_EQUAL(error, -EADDRINUSE);
	param = connect_param(&scene);
	param.private_data_length = 57;
	CU_ASSERT_PTR_NULL(vl_cm_connect(scene.pair->cm[0], &param, 0, &error));
	CU_ASSERT_EQUAL(error, -EMSGSIZE);
	param.private_data_length = 0;
	param.conn.qpn = 0;
	CU_ASSERT_PTR_NULL(vl_cm_connect(scene.pair->cm[0], &param, 0, &error));
	CU_ASSERT_EQUAL(error, -EINVAL);
	CU_ASSERT_EQUAL(in_use(&scene, 0), 0);
	connection = connect(&scene);
	CU_ASSERT_EQUAL(vl_cm_establish(connection, NULL, 0, scene.pair->now), -EINVAL);
	CU_ASSERT_EQUAL(vl_cm_disconnect(connection, scene.pair->now), -EINVAL);
	CU_ASSERT_EQUAL(vl_cm_accept(connection, &(struct vl_cm_accept_param){.conn.qpn = 1},
				     scene.pair->now),
			-EINVAL);
	CU_ASSERT_EQUAL(vl_cm_reject(connection, 28, NULL, 0, NULL, 0, scene.pair->now), -EINVAL);
	vl_cm_stop_listening(scene.listener);
	cm_pair_run(scene.pair, SECOND / 100);
	HAS_EVENTS(&scene.owners[0], VL_CM_EVENT_REJECTED);
	close_scene(&scene);
}

static void test_ipv6(void)
{
	const struct cm_pair_options options = {.ipv6 = true};
	struct scene scene;

	open_scene(&scene, &options);
	connect(&scene);
	cm_pair_run(scene.pair, SECOND / 100);
	HAS_EVENTS(&scene.owners[0], VL_CM_EVENT_CONNECT_RESPONSE);
	HAS_EVENTS(&scene.owners[1], VL_CM_EVENT_CONNECT_REQUEST, VL_CM_EVENT_ESTABLISHED);
	close_scene(&scene);
}

static void test_worker_in_ids(void)
{
	const struct cm_pair_options options = {.config = {{.worker = 37}, {.worker = 63}}};
	struct vl_cm_info info;
	struct scene scene;

	open_scene(&scene, &options);
	vl_cm_query(connect(&scene), &info);
	CU_ASSERT_EQUAL(info.local_comm_id >> 26, 37);
	cm_pair_run(scene.pair, SECOND / 100);
	vl_cm_query(scene.owners[1].connection, &info);
	CU_ASSERT_EQUAL(info.local_comm_id >> 26, 63);
	close_scene(&scene);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"open and release", test_open_and_release},
		{"attributes of the QPs", test_attributes},
		{"a request is refused", test_refused},
		{"a response is refused", test_response_refused},
		{"the path MTU is refused", test_path_mtu_refused},
		{"service ID resolution", test_sidr},
		{"each message is lost thrice", test_each_message_lost},
		{"nobody answers", test_nobody_answers},
		{"data before the RTU", test_data_before_rtu},
		{"a slow owner", test_slow_owner},
		{"resolving takes time", test_resolving},
		{"destroyed by its owner", test_destroyed},
		{"unknown and forged messages", test_unknown_and_forged},
		{"a stale connection", test_stale_connection},
		{"wrong calls", test_wrong_calls},
		{"IPv6", test_ipv6},
		{"the worker is in the IDs", test_worker_in_ids},
	};

	return RUN_SUITE("cm_connection", tests, argc, argv);
}
