/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The connection manager when messages are lost, come late, or belong to nobody. */

#include "tests/support/cm_scene.h"

#include <errno.h>
#include <string.h>

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
		struct cm_scene scene;

		cm_scene_open(&scene, NULL);
		scene.pair->hook = lose_first;
		scene.pair->hook_data = &losses;
		connection = cm_scene_connect(&scene);
		cm_pair_run(scene.pair, 10 * SECOND);
		HAS_EVENTS(&scene.owners[0], VL_CM_EVENT_CONNECT_RESPONSE);
		HAS_EVENTS(&scene.owners[1], VL_CM_EVENT_CONNECT_REQUEST, VL_CM_EVENT_ESTABLISHED);
		vl_cm_disconnect(connection, scene.pair->now);
		cm_pair_run(scene.pair, 10 * SECOND);
		CU_ASSERT_EQUAL(scene.owners[0].count, 3);
		CU_ASSERT_EQUAL(scene.owners[1].count, 4);
		CU_ASSERT_EQUAL(losses.count, 0);
		CU_ASSERT_EQUAL(cm_scene_in_use(&scene, 0) + cm_scene_in_use(&scene, 1), 0);
		cm_scene_close(&scene);
	}
}

static void test_nobody_answers(void)
{
	struct losses losses = {VL_CM_REP, UINT32_MAX};
	struct cm_scene scene;

	cm_scene_open(&scene, NULL);
	scene.pair->hook = lose_first;
	scene.pair->hook_data = &losses;
	cm_scene_connect(&scene);
	cm_pair_run(scene.pair, 16 * UINT64_C(4096) << 18);
	cm_pair_run(scene.pair, SECOND);
	HAS_EVENTS(&scene.owners[0], VL_CM_EVENT_UNREACHABLE);
	CU_ASSERT_EQUAL(scene.owners[0].status, -ETIMEDOUT);
	CU_ASSERT_EQUAL(cm_scene_sent(&scene, 0, VL_CM_REQ), 16);
	/* The refusal that the active side gave up with ends the passive side too. */
	HAS_EVENTS(&scene.owners[1], VL_CM_EVENT_CONNECT_REQUEST, VL_CM_EVENT_REJECTED);
	CU_ASSERT_EQUAL(scene.owners[1].status, VL_CM_REJECT_TIMEOUT);
	CU_ASSERT_EQUAL(cm_scene_in_use(&scene, 0) + cm_scene_in_use(&scene, 1), 0);
	cm_scene_close(&scene);
}

static void test_data_before_rtu(void)
{
	struct losses losses = {VL_CM_RTU, 1};
	struct cm_scene scene;

	cm_scene_open(&scene, NULL);
	scene.pair->hook = lose_first;
	scene.pair->hook_data = &losses;
	cm_scene_connect(&scene);
	cm_pair_run(scene.pair, SECOND / 100);
	HAS_EVENTS(&scene.owners[1], VL_CM_EVENT_CONNECT_REQUEST);
	vl_cm_notify(scene.owners[1].connection, scene.pair->now);
	cm_pair_run(scene.pair, SECOND / 100);
	HAS_EVENTS(&scene.owners[1], VL_CM_EVENT_CONNECT_REQUEST, VL_CM_EVENT_ESTABLISHED);
	cm_pair_run(scene.pair, 5 * SECOND);
	CU_ASSERT_EQUAL(cm_scene_sent(&scene, 1, VL_CM_REP), 1);
	cm_scene_close(&scene);
}

/* Answers a REQ with nothing but MRAs. */
static bool answer_with_mras(struct cm_pair *pair, unsigned int from,
			     const struct vl_cm_message *message)
{
	struct vl_cm_message mra = {
		.attribute_id = VL_CM_MRA,
		.transaction_id = message->transaction_id,
		.mra = {.local_comm_id = 7,
			.remote_comm_id = message->req.local_comm_id,
			.message_mraed = VL_CM_ANSWERS_REQ,
			.service_timeout = 10},
	};

	if (message->attribute_id != VL_CM_REQ)
		return true;
	for (uint32_t i = 0; i < 20; i++)
		cm_pair_inject_message(pair, from, NULL, &mra);
	return false;
}

/* A peer cannot have itself waited for as long as it likes; what is not heeded is counted. */
static void test_mras_without_end(void)
{
	struct cm_scene scene;

	cm_scene_open(&scene, NULL);
	scene.pair->hook = answer_with_mras;
	cm_scene_connect(&scene);
	cm_pair_run(scene.pair, 60 * SECOND);
	HAS_EVENTS(&scene.owners[0], VL_CM_EVENT_UNREACHABLE);
	CU_ASSERT_EQUAL(cm_scene_sent(&scene, 0, VL_CM_REQ), 1);
	CU_ASSERT(vl_cm_counters(scene.pair->cm[0])->unexpected_rx > 0);
	CU_ASSERT_EQUAL(cm_scene_in_use(&scene, 0), 0);
	cm_scene_close(&scene);
}

static void test_slow_owner(void)
{
	const struct vl_cm_accept_param accept = {.conn = {.qpn = 0x200}};
	struct cm_scene scene;

	cm_scene_open(&scene, NULL);
	scene.owners[1].waits = true;
	cm_scene_connect(&scene);
	/* Longer than all repetitions of the REQ would last. */
	cm_pair_run(scene.pair, 25 * SECOND);
	CU_ASSERT_EQUAL(scene.owners[0].count, 0);
	CU_ASSERT(cm_scene_sent(&scene, 1, VL_CM_MRA) >= 1);
	CU_ASSERT(cm_scene_sent(&scene, 0, VL_CM_REQ) < 8);
	CU_ASSERT_EQUAL(vl_cm_accept(scene.owners[1].connection, &accept, scene.pair->now), 0);
	cm_pair_run(scene.pair, SECOND);
	HAS_EVENTS(&scene.owners[0], VL_CM_EVENT_CONNECT_RESPONSE);
	HAS_EVENTS(&scene.owners[1], VL_CM_EVENT_CONNECT_REQUEST, VL_CM_EVENT_ESTABLISHED);
	cm_scene_close(&scene);

	/* One that never answers loses the request. */
	cm_scene_open(&scene, NULL);
	scene.owners[1].waits = true;
	cm_scene_connect(&scene);
	cm_pair_run(scene.pair, 60 * SECOND);
	HAS_EVENTS(&scene.owners[0], VL_CM_EVENT_REJECTED);
	HAS_EVENTS(&scene.owners[1], VL_CM_EVENT_CONNECT_REQUEST, VL_CM_EVENT_UNREACHABLE);
	CU_ASSERT_EQUAL(cm_scene_in_use(&scene, 0) + cm_scene_in_use(&scene, 1), 0);
	cm_scene_close(&scene);
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
	struct cm_scene scene;

	cm_scene_open(&scene, &options);
	cm_scene_connect(&scene);
	cm_pair_run(scene.pair, SECOND / 10);
	HAS_EVENTS(&scene.owners[0], VL_CM_EVENT_CONNECT_RESPONSE);
	CU_ASSERT_EQUAL(cm_scene_sent(&scene, 0, VL_CM_REQ), 1);
	cm_scene_close(&scene);

	countdown = -EHOSTUNREACH;
	cm_scene_open(&scene, &options);
	cm_scene_connect(&scene);
	CU_ASSERT_EQUAL(scene.owners[0].count, 0); /* not before the poll */
	cm_pair_run(scene.pair, SECOND / 10);
	HAS_EVENTS(&scene.owners[0], VL_CM_EVENT_UNREACHABLE);
	CU_ASSERT_EQUAL(scene.owners[0].status, -EHOSTUNREACH);
	cm_scene_close(&scene);
}

static void test_destroyed(void)
{
	struct cm_scene scene;
	struct vl_cm_connection *connection;

	/* While it waits for the answer. */
	cm_scene_open(&scene, NULL);
	scene.owners[1].waits = true;
	connection = cm_scene_connect(&scene);
	cm_pair_run(scene.pair, SECOND / 100);
	vl_cm_destroy(connection, scene.pair->now);
	cm_pair_run(scene.pair, SECOND);
	CU_ASSERT_EQUAL(scene.owners[0].count, 0);
	HAS_EVENTS(&scene.owners[1], VL_CM_EVENT_CONNECT_REQUEST, VL_CM_EVENT_REJECTED);
	CU_ASSERT_EQUAL(cm_scene_in_use(&scene, 0) + cm_scene_in_use(&scene, 1), 0);
	cm_scene_close(&scene);

	/* Established: the peer is told. */
	cm_scene_open(&scene, NULL);
	connection = cm_scene_connect(&scene);
	cm_pair_run(scene.pair, SECOND / 100);
	vl_cm_destroy(connection, scene.pair->now);
	cm_pair_run(scene.pair, SECOND);
	HAS_EVENTS(&scene.owners[0], VL_CM_EVENT_CONNECT_RESPONSE);
	CU_ASSERT_EQUAL(scene.owners[1].count, 4);
	CU_ASSERT_EQUAL(cm_scene_in_use(&scene, 0) + cm_scene_in_use(&scene, 1), 0);
	cm_scene_close(&scene);
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
	struct cm_scene scene;

	cm_scene_open(&scene, NULL);
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

	connection = cm_scene_connect(&scene);
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
	cm_scene_close(&scene);
}

/* A peer that has restarted connects with a QP of which we have a connection: refused as stale, and
 * the old connection is ended, so that the next attempt succeeds. */
static void test_stale_connection(void)
{
	struct cm_scene scene;
	struct vl_cm_connection *old;

	cm_scene_open(&scene, NULL);
	old = cm_scene_connect(&scene);
	cm_pair_run(scene.pair, SECOND / 100);
	vl_cm_set_context(old, NULL);
	cm_scene_connect(&scene);
	cm_pair_run(scene.pair, SECOND);
	CU_ASSERT_EQUAL(scene.owners[0].events[1], VL_CM_EVENT_REJECTED);
	CU_ASSERT_EQUAL(vl_cm_counters(scene.pair->cm[1])->stale, 1);
	CU_ASSERT_EQUAL(scene.owners[1].events[2], VL_CM_EVENT_DISCONNECTED);
	scene.owners[0].count = scene.owners[1].count = 0;
	cm_scene_connect(&scene);
	cm_pair_run(scene.pair, SECOND);
	HAS_EVENTS(&scene.owners[0], VL_CM_EVENT_CONNECT_RESPONSE);
	HAS_EVENTS(&scene.owners[1], VL_CM_EVENT_CONNECT_REQUEST, VL_CM_EVENT_ESTABLISHED);
	cm_scene_close(&scene);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"each message is lost thrice", test_each_message_lost},
		{"nobody answers", test_nobody_answers},
		{"data before the RTU", test_data_before_rtu},
		{"MRAs without end", test_mras_without_end},
		{"a slow owner", test_slow_owner},
		{"resolving takes time", test_resolving},
		{"destroyed by its owner", test_destroyed},
		{"unknown and forged messages", test_unknown_and_forged},
		{"a stale connection", test_stale_connection},
	};

	return RUN_SUITE("cm_recovery", tests, argc, argv);
}
