/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The connection manager, one exchange at a time. */

#include "tests/support/cm_scene.h"

#include <errno.h>
#include <string.h>

/* Every datagram of a connection goes in its class, also an answer that no connection sends. */
static void test_class(void)
{
	static const struct {
		unsigned int side;
		enum vl_cm_attribute attribute;
	} sent[] = {
		{0, VL_CM_REQ}, {1, VL_CM_REP}, {0, VL_CM_RTU}, {0, VL_CM_DREQ}, {1, VL_CM_DREP}};

	for (unsigned int ipv6 = 0; ipv6 < 2; ipv6++) {
		const struct cm_pair_options options = {.ipv6 = ipv6};
		struct cm_scene scene;
		struct vl_cm_connect_param param;
		struct vl_cm_connection *connection;
		int error = 0;

		cm_scene_open(&scene, &options);
		param = cm_scene_param(&scene);
		param.traffic_class = 26 << 2 | VL_ECN_ECT0;
		connection = vl_cm_connect(scene.pair->cm[0], &param, scene.pair->now, &error);
		CU_ASSERT_PTR_NOT_NULL_FATAL(connection);
		cm_pair_run(scene.pair, SECOND);
		CU_ASSERT_EQUAL(vl_cm_disconnect(connection, scene.pair->now), 0);
		cm_pair_run(scene.pair, SECOND);
		for (unsigned int i = 0; i < sizeof(sent) / sizeof(sent[0]); i++) {
			CU_ASSERT_EQUAL(cm_scene_sent(&scene, sent[i].side, sent[i].attribute), 1);
			CU_ASSERT_EQUAL(
				scene.pair->traffic_class[sent[i].side][sent[i].attribute - 0x10] >>
					2,
				26);
		}
		cm_scene_close(&scene);
	}
}

static void test_open_and_release(void)
{
	struct cm_scene scene;
	struct vl_cm_connection *connection;
	struct vl_cm_info active, passive;
	uint64_t allocations;

	cm_scene_open(&scene, NULL);
	allocations = scene.pair->allocations;
	connection = cm_scene_connect(&scene);
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
	CU_ASSERT_EQUAL(cm_scene_in_use(&scene, 0) + cm_scene_in_use(&scene, 1), 0);
	CU_ASSERT_EQUAL(scene.pair->allocations, allocations);
	CU_ASSERT_EQUAL(cm_scene_sent(&scene, 0, VL_CM_REQ), 1);
	CU_ASSERT_EQUAL(cm_scene_sent(&scene, 1, VL_CM_REP), 1);
	CU_ASSERT_EQUAL(cm_scene_sent(&scene, 0, VL_CM_RTU), 1);
	CU_ASSERT_EQUAL(cm_scene_sent(&scene, 0, VL_CM_DREQ), 1);
	CU_ASSERT_EQUAL(cm_scene_sent(&scene, 1, VL_CM_DREP), 1);
	cm_scene_close(&scene);
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
	struct cm_scene scene;
	struct vl_cm_connection *connections[2];
	struct ibv_qp_attr attr[2];
	uint32_t announced[2] = {0, 0};
	int mask;

	cm_scene_open(&scene, NULL);
	scene.pair->hook = note_starting_psn;
	scene.pair->hook_data = announced;
	scene.owners[0].waits = true;
	connections[0] = cm_scene_connect(&scene);
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
	cm_scene_close(&scene);
}

/* Passes a REQ on as one of a peer that wants no ACK timeout. */
static bool take_ack_timeout(struct cm_pair *pair, unsigned int from,
			     const struct vl_cm_message *message)
{
	struct vl_cm_message altered = *message;

	if (message->attribute_id != VL_CM_REQ)
		return true;
	altered.req.primary.ack_timeout = 0;
	cm_pair_inject_message(pair, !from, NULL, &altered);
	return false;
}

static void test_no_ack_timeout(void)
{
	struct cm_scene scene;
	struct ibv_qp_attr attr;
	int mask;

	cm_scene_open(&scene, NULL);
	scene.pair->hook = take_ack_timeout;
	cm_scene_connect(&scene);
	cm_pair_run(scene.pair, SECOND / 100);
	CU_ASSERT_EQUAL(vl_cm_init_qp_attr(scene.owners[1].connection, IBV_QPS_RTS, &attr, &mask),
			0);
	CU_ASSERT_EQUAL(attr.timeout, 14);
	cm_scene_close(&scene);
}

static void test_refused(void)
{
	struct cm_scene scene;
	struct vl_cm_connect_param param;

	cm_scene_open(&scene, NULL);
	scene.owners[1].refuses = true;
	cm_scene_connect(&scene);
	cm_pair_run(scene.pair, SECOND);
	HAS_EVENTS(&scene.owners[0], VL_CM_EVENT_REJECTED);
	CU_ASSERT_EQUAL(scene.owners[0].status, VL_CM_REJECT_CONSUMER);
	CU_ASSERT_EQUAL(scene.owners[0].info_length, 3);
	CU_ASSERT_EQUAL(memcmp(scene.owners[0].info, "why", 3), 0);
	CU_ASSERT_STRING_EQUAL((char *)scene.owners[0].private_data, "because");

	param = cm_scene_param(&scene);
	param.service_id++;
	CU_ASSERT_PTR_NOT_NULL(vl_cm_connect(scene.pair->cm[0], &param, scene.pair->now, NULL));
	cm_pair_run(scene.pair, SECOND);
	CU_ASSERT_EQUAL(scene.owners[0].status, VL_CM_REJECT_INVALID_SERVICE_ID);
	CU_ASSERT_EQUAL(cm_scene_in_use(&scene, 0) + cm_scene_in_use(&scene, 1), 0);
	cm_scene_close(&scene);
}

static void test_response_refused(void)
{
	struct cm_scene scene;

	cm_scene_open(&scene, NULL);
	scene.owners[0].refuses = true;
	cm_scene_connect(&scene);
	cm_pair_run(scene.pair, SECOND);
	HAS_EVENTS(&scene.owners[1], VL_CM_EVENT_CONNECT_REQUEST, VL_CM_EVENT_REJECTED);
	CU_ASSERT_EQUAL(cm_scene_in_use(&scene, 0) + cm_scene_in_use(&scene, 1), 0);
	cm_scene_close(&scene);
}

static void test_path_mtu_refused(void)
{
	const struct cm_pair_options options = {.active_mtu = {IBV_MTU_4096, IBV_MTU_1024}};
	struct cm_scene scene;

	cm_scene_open(&scene, &options);
	cm_scene_connect(&scene);
	cm_pair_run(scene.pair, SECOND);
	HAS_EVENTS(&scene.owners[0], VL_CM_EVENT_REJECTED);
	CU_ASSERT_EQUAL(scene.owners[0].status, VL_CM_REJECT_INVALID_MTU);
	CU_ASSERT_EQUAL(scene.owners[0].info_length, 1);
	CU_ASSERT_EQUAL(scene.owners[0].info[0], IBV_MTU_1024);
	cm_scene_close(&scene);
}

static void test_sidr(void)
{
	struct cm_scene scene;
	struct vl_cm_connect_param param;

	cm_scene_open(&scene, NULL);
	param = cm_scene_param(&scene);
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
	CU_ASSERT_EQUAL(cm_scene_in_use(&scene, 0), 0);
	CU_ASSERT_EQUAL(cm_scene_in_use(&scene, 1), 1);
	cm_pair_run(scene.pair, 2 * SECOND);
	CU_ASSERT_EQUAL(cm_scene_in_use(&scene, 1), 0);

	param.service_id++;
	CU_ASSERT_PTR_NOT_NULL(vl_cm_connect(scene.pair->cm[0], &param, scene.pair->now, NULL));
	cm_pair_run(scene.pair, SECOND);
	CU_ASSERT_EQUAL(scene.owners[0].events[1], VL_CM_EVENT_REJECTED);
	CU_ASSERT_EQUAL(scene.owners[0].status, VL_CM_SIDR_UNSUPPORTED);
	cm_scene_close(&scene);
}

static void test_wrong_calls(void)
{
	struct cm_scene scene;
	struct vl_cm_connect_param param;
	struct vl_cm_connection *connection;
	struct vl_cm_listen_param listen = {.service_id = SERVICE, .qp_type = IBV_QPT_RC};
	const struct vl_cm_config bad = {.worker = 64};
	int error = 0;

	CU_ASSERT_STRING_EQUAL(vl_cm_state_name(VL_CM_STATE_DREQ_SENT), "DREQ_SENT");
	cm_scene_open(&scene, NULL);
	CU_ASSERT_PTR_NULL(vl_cm_open(scene.pair->device[0], NULL, 0, &error));
	CU_ASSERT_EQUAL(error, -EEXIST);
	CU_ASSERT_PTR_NULL(vl_cm_open(scene.pair->device[0], &bad, 0, &error));
	CU_ASSERT_EQUAL(error, -EINVAL);
	CU_ASSERT_PTR_NULL(vl_cm_listen(scene.pair->cm[1], &listen, &error));
	CU_ASSERT_EQUAL(error, -EINVAL);
	listen.handler.event = cm_scene_take_event;
	CU_ASSERT_PTR_NULL(vl_cm_listen(scene.pair->cm[1], &listen, &error));
	CU_ASSERT_EQUAL(error, -EADDRINUSE);
	param = cm_scene_param(&scene);
	param.private_data_length = 57;
	CU_ASSERT_PTR_NULL(vl_cm_connect(scene.pair->cm[0], &param, 0, &error));
	CU_ASSERT_EQUAL(error, -EMSGSIZE);
	param.private_data_length = 0;
	param.conn.qpn = 0;
	CU_ASSERT_PTR_NULL(vl_cm_connect(scene.pair->cm[0], &param, 0, &error));
	CU_ASSERT_EQUAL(error, -EINVAL);
	CU_ASSERT_EQUAL(cm_scene_in_use(&scene, 0), 0);
	connection = cm_scene_connect(&scene);
	CU_ASSERT_EQUAL(vl_cm_establish(connection, NULL, 0, scene.pair->now), -EINVAL);
	CU_ASSERT_EQUAL(vl_cm_disconnect(connection, scene.pair->now), -EINVAL);
	CU_ASSERT_EQUAL(vl_cm_accept(connection, &(struct vl_cm_accept_param){.conn.qpn = 1},
				     scene.pair->now),
			-EINVAL);
	CU_ASSERT_EQUAL(vl_cm_reject(connection, 28, NULL, 0, NULL, 0, scene.pair->now), -EINVAL);
	vl_cm_stop_listening(scene.listener);
	cm_pair_run(scene.pair, SECOND / 100);
	HAS_EVENTS(&scene.owners[0], VL_CM_EVENT_REJECTED);
	cm_scene_close(&scene);
}

static void test_ipv6(void)
{
	const struct cm_pair_options options = {.ipv6 = true};
	struct cm_scene scene;

	cm_scene_open(&scene, &options);
	cm_scene_connect(&scene);
	cm_pair_run(scene.pair, SECOND / 100);
	HAS_EVENTS(&scene.owners[0], VL_CM_EVENT_CONNECT_RESPONSE);
	HAS_EVENTS(&scene.owners[1], VL_CM_EVENT_CONNECT_REQUEST, VL_CM_EVENT_ESTABLISHED);
	cm_scene_close(&scene);
}

static void test_worker_in_ids(void)
{
	const struct cm_pair_options options = {.config = {{.worker = 37}, {.worker = 63}}};
	struct vl_cm_info info;
	struct cm_scene scene;

	cm_scene_open(&scene, &options);
	vl_cm_query(cm_scene_connect(&scene), &info);
	CU_ASSERT_EQUAL(info.local_comm_id >> 26, 37);
	cm_pair_run(scene.pair, SECOND / 100);
	vl_cm_query(scene.owners[1].connection, &info);
	CU_ASSERT_EQUAL(info.local_comm_id >> 26, 63);
	cm_scene_close(&scene);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"open and release", test_open_and_release},
		{"the class of a connection's datagrams", test_class},
		{"attributes of the QPs", test_attributes},
		{"a peer that wants no ACK timeout", test_no_ack_timeout},
		{"a request is refused", test_refused},
		{"a response is refused", test_response_refused},
		{"the path MTU is refused", test_path_mtu_refused},
		{"service ID resolution", test_sidr},
		{"wrong calls", test_wrong_calls},
		{"IPv6", test_ipv6},
		{"the worker is in the IDs", test_worker_in_ids},
	};

	return RUN_SUITE("cm_connection", tests, argc, argv);
}
