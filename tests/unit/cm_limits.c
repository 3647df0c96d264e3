/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What the connection manager holds, and what peers that flood, repeat or vanish can make it hold.
 */

#include "tests/support/cm_pair.h"
#include "tests/support/suite.h"
#include "transport/cm/connection.h"
#include "transport/cm/connection_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SECOND  UINT64_C(1000000000)
#define SERVICE vl_rdma_service_id(VL_RDMA_PORT_SPACE_TCP, 7174)

/* Owners that say yes, and count. */
struct counts {
	uint32_t requests, responses, established, rejected, unreachable, disconnected, exited;
	int status;
	bool is_lazy; /* answers no request */
};
static struct counts counts[2];

static void take_event(void *context, const struct vl_cm_event *event, uint64_t now)
{
	struct counts *side = context;
	const struct vl_cm_accept_param accept = {.conn = {.qpn = 0x100000 + side->requests}};

	switch (event->type) {
	case VL_CM_EVENT_CONNECT_REQUEST:
		side->requests++;
		if (!side->is_lazy)
			CU_ASSERT_EQUAL(vl_cm_accept(event->connection, &accept, now), 0);
		break;
	case VL_CM_EVENT_CONNECT_RESPONSE:
		side->responses++;
		CU_ASSERT_EQUAL(vl_cm_establish(event->connection, NULL, 0, now), 0);
		break;
	case VL_CM_EVENT_ESTABLISHED:
		side->established++;
		break;
	case VL_CM_EVENT_REJECTED:
		side->rejected++;
		side->status = event->status;
		break;
	case VL_CM_EVENT_UNREACHABLE:
		side->unreachable++;
		break;
	case VL_CM_EVENT_DISCONNECTED:
		side->disconnected++;
		break;
	case VL_CM_EVENT_TIMEWAIT_EXIT:
		side->exited++;
		break;
	}
}

static struct cm_pair *open_pair(const struct cm_pair_options *options)
{
	const struct vl_cm_listen_param listen = {
		.service_id = SERVICE, .qp_type = IBV_QPT_RC, .handler = {take_event, &counts[1]}};
	struct cm_pair *pair = cm_pair_open(options);

	memset(counts, 0, sizeof(counts));
	CU_ASSERT_PTR_NOT_NULL_FATAL(vl_cm_listen(pair->cm[1], &listen, NULL));
	return pair;
}

static struct vl_cm_connection *connect(struct cm_pair *pair, uint32_t number, int *error)
{
	const struct vl_cm_connect_param param = {
		.service_id = SERVICE,
		.qp_type = IBV_QPT_RC,
		.destination = cm_pair_gid(pair, 1),
		.conn = {.qpn = 1 + number},
		.handler = {take_event, &counts[0]},
	};

	return vl_cm_connect(pair->cm[0], &param, pair->now, error);
}

static double seconds_of_cpu(void)
{
	return (double)clock() / CLOCKS_PER_SEC;
}

static void test_loop(void)
{
	struct cm_pair *pair = open_pair(NULL);
	uint64_t allocations = pair->allocations;
	uint32_t most = 0;

	for (uint32_t i = 0; i < 1000; i++) {
		struct vl_cm_connection *connection = connect(pair, i, NULL);

		CU_ASSERT_PTR_NOT_NULL_FATAL(connection);
		cm_pair_run(pair, 10000);
		vl_cm_disconnect(connection, pair->now);
		cm_pair_run(pair, 10000);
		if (vl_cm_usage(pair->cm[1]).connections > most)
			most = vl_cm_usage(pair->cm[1]).connections;
	}
	/* Time-wait is 67 ms, the loop 20 ms. */
	CU_ASSERT_EQUAL(most, 1000);
	cm_pair_run(pair, SECOND);
	for (unsigned int side = 0; side < 2; side++) {
		CU_ASSERT_EQUAL(counts[side].exited, 1000);
		CU_ASSERT_EQUAL(vl_cm_usage(pair->cm[side]).connections, 0);
	}
	CU_ASSERT_EQUAL(pair->allocations, allocations);
	cm_pair_close(pair);
}

static void test_ten_thousand(void)
{
	enum { COUNT = 10000 };
	struct vl_cm_connection **connections = calloc(COUNT, sizeof(*connections));
	struct cm_pair *pair = open_pair(NULL);
	double start = seconds_of_cpu();

	CU_ASSERT_PTR_NOT_NULL_FATAL(connections);
	for (uint32_t i = 0; i < COUNT; i++) {
		connections[i] = connect(pair, i, NULL);
		CU_ASSERT_PTR_NOT_NULL_FATAL(connections[i]);
	}
	cm_pair_run(pair, 30 * SECOND);
	for (unsigned int side = 0; side < 2; side++)
		CU_ASSERT_EQUAL(vl_cm_usage(pair->cm[side]).established, COUNT);
	for (uint32_t i = 0; i < COUNT; i++)
		CU_ASSERT_EQUAL(vl_cm_disconnect(connections[i], pair->now), 0);
	cm_pair_run(pair, 30 * SECOND);
	for (unsigned int side = 0; side < 2; side++) {
		CU_ASSERT_EQUAL(counts[side].disconnected, COUNT);
		CU_ASSERT_EQUAL(counts[side].exited, COUNT);
		CU_ASSERT_EQUAL(vl_cm_usage(pair->cm[side]).connections, 0);
	}
	printf("10,000 at once, both sides: %.2f s of CPU, %.1f MB ... ", seconds_of_cpu() - start,
	       (double)pair->memory_in_use / 1e6);
	cm_pair_close(pair);
	free(connections);
}

/* A stranger's request, one of many. */
static void flood(struct cm_pair *pair, uint32_t stranger, uint32_t number)
{
	union ibv_gid source = {.raw = {[10] = 0xff,
					[11] = 0xff,
					[12] = 10,
					[13] = 1,
					[14] = (uint8_t)(stranger >> 8),
					[15] = (uint8_t)stranger}};
	struct vl_cm_message message = {
		.attribute_id = VL_CM_REQ,
		.transaction_id = number,
		.private_data_length = 92,
		.private_data = {0, 0x40},
		.req = {.local_comm_id = number,
			.service_id = SERVICE,
			.local_qpn = 0x1000 + number,
			.path_mtu = IBV_MTU_1024,
			.pkey = 0xffff,
			.max_cm_retries = 15,
			.local_cm_response_timeout = 20,
			.remote_cm_response_timeout = 20,
			.primary = {.local_gid = source, .remote_gid = cm_pair_gid(pair, 1)}},
	};

	cm_pair_inject_message(pair, 1, &source, &message);
}

/* 100,000 requests by 1,000 strangers, who never answer. */
static void test_flood(void)
{
	const struct cm_pair_options options = {
		.config = {{0}, {.max_half_open = 500, .max_half_open_per_peer = 20}}};
	struct cm_pair *pair = open_pair(&options);
	uint64_t allocations = pair->allocations;
	uint32_t most = 0, done = 0;
	double start = seconds_of_cpu();

	for (uint32_t i = 0; i < 100000; i++) {
		flood(pair, i % 1000, i);
		if (!(i % 64)) {
			/* Meanwhile others still connect, as soon as there is room. */
			if (!(i % 6400))
				done += connect(pair, i, NULL) != NULL;
			cm_pair_run(pair, 100000);
		}
		if (vl_cm_usage(pair->cm[1]).half_open > most)
			most = vl_cm_usage(pair->cm[1]).half_open;
	}
	CU_ASSERT(most <= 500);
	CU_ASSERT(vl_cm_counters(pair->cm[1])->half_open_dropped > 90000);
	printf("%.2f us of CPU a request ... ", (seconds_of_cpu() - start) * 10);
	/* The strangers' requests time out, and the others' repetitions come through. */
	cm_pair_run(pair, 120 * SECOND);
	CU_ASSERT_EQUAL(counts[0].responses, done);
	CU_ASSERT_EQUAL(vl_cm_usage(pair->cm[1]).half_open, 0);
	CU_ASSERT_EQUAL(vl_cm_usage(pair->cm[1]).connections, done);
	CU_ASSERT_EQUAL(pair->allocations, allocations);
	cm_pair_close(pair);
}

/* One of them floods alone: it gets its share, and no more. */
static void test_flood_of_one(void)
{
	const struct cm_pair_options options = {
		.config = {{0}, {.max_half_open = 500, .max_half_open_per_peer = 20}}};
	struct cm_pair *pair = open_pair(&options);

	for (uint32_t i = 0; i < 5000; i++)
		flood(pair, 7, i);
	CU_ASSERT_EQUAL(vl_cm_usage(pair->cm[1]).half_open, 20);
	connect(pair, 1, NULL);
	cm_pair_run(pair, SECOND / 100);
	CU_ASSERT_EQUAL(counts[0].responses, 1);
	cm_pair_close(pair);
}

static void test_repeated(void)
{
	struct cm_pair *pair = open_pair(NULL);

	for (uint32_t i = 0; i < 10000; i++) {
		flood(pair, 7, 1);
		cm_pair_run(pair, 1000);
	}
	CU_ASSERT_EQUAL(counts[1].requests, 1);
	CU_ASSERT_EQUAL(vl_cm_usage(pair->cm[1]).connections, 1);
	CU_ASSERT_EQUAL(vl_cm_counters(pair->cm[1])->duplicates_rx, 9999);
	/* Each was answered with one REP. */
	CU_ASSERT_EQUAL(pair->sent[1][VL_CM_REP - 0x10], 10000);
	cm_pair_close(pair);
}

/* More come between two polls than there are receives: the rest is lost, and no poll takes more
 * than its budget. */
static void test_burst(void)
{
	const struct cm_pair_options options = {.config = {{0}, {.receive_count = 128}}};
	struct cm_pair *pair = open_pair(&options);
	uint32_t polls = 0;

	for (uint32_t i = 0; i < 1000; i++)
		CU_ASSERT_PTR_NOT_NULL(connect(pair, i, NULL));
	cm_pair_run(pair, 1500); /* all REQs are at the other side */
	while (vl_cm_next_deadline(pair->cm[1]) == 0 && polls < 100) {
		uint64_t before = vl_cm_counters(pair->cm[1])->mad_rx;

		vl_cm_poll(pair->cm[1], pair->now);
		CU_ASSERT(vl_cm_counters(pair->cm[1])->mad_rx - before <= 64);
		polls++;
	}
	cm_pair_run(pair, 30 * SECOND);
	CU_ASSERT_EQUAL(vl_cm_usage(pair->cm[1]).established, 1000);
	cm_pair_close(pair);
}

static void test_full(void)
{
	const struct cm_pair_options options = {.config = {{0}, {.max_connections = 64}}};
	struct cm_pair *pair = open_pair(&options);
	struct vl_cm_connection *connections[64];

	for (uint32_t i = 0; i < 64; i++)
		connections[i] = connect(pair, i, NULL);
	cm_pair_run(pair, SECOND / 100);
	CU_ASSERT_EQUAL(counts[1].established, 64);
	connect(pair, 64, NULL);
	cm_pair_run(pair, SECOND / 100);
	CU_ASSERT_EQUAL(counts[0].rejected, 1);
	CU_ASSERT_EQUAL(counts[0].status, VL_CM_REJECT_NO_RESOURCES);
	/* What only waits for its time to run out makes way. */
	for (uint32_t i = 0; i < 64; i++)
		vl_cm_disconnect(connections[i], pair->now);
	cm_pair_run(pair, SECOND / 1000);
	CU_ASSERT_EQUAL(counts[1].disconnected, 64);
	CU_ASSERT(vl_cm_counters(pair->cm[1])->time_wait_cut >= 4);
	for (uint32_t i = 0; i < 64; i++)
		connect(pair, 100 + i, NULL);
	cm_pair_run(pair, SECOND / 100);
	CU_ASSERT_EQUAL(counts[1].established, 128);
	cm_pair_close(pair);
}

static bool cut(struct cm_pair *pair, unsigned int from, const struct vl_cm_message *message)
{
	(void)from;
	(void)message;
	return !pair->hook_data;
}

/* Established, then silence: what our side asks for ends in bounded time, and nothing is left. */
static void test_vanished(void)
{
	struct cm_pair *pair = open_pair(NULL);
	struct vl_cm_connection *connections[100];

	pair->hook = cut;
	for (uint32_t i = 0; i < 100; i++)
		connections[i] = connect(pair, i, NULL);
	cm_pair_run(pair, SECOND / 100);
	CU_ASSERT_EQUAL(counts[0].responses, 100);
	pair->hook_data = pair;
	for (uint32_t i = 0; i < 100; i++)
		vl_cm_disconnect(connections[i], pair->now);
	cm_pair_run(pair, 18 * SECOND); /* 16 * 1.07 s, and time-wait */
	CU_ASSERT_EQUAL(counts[0].disconnected, 100);
	CU_ASSERT_EQUAL(counts[0].exited, 100);
	CU_ASSERT_EQUAL(vl_cm_usage(pair->cm[0]).connections, 0);
	CU_ASSERT_EQUAL(pair->sent[0][VL_CM_DREQ - 0x10], 1600);
	cm_pair_close(pair);
}

static bool note_id(struct cm_pair *pair, unsigned int from, const struct vl_cm_message *message)
{
	if (!from && message->attribute_id == VL_CM_REQ)
		*(uint32_t *)pair->hook_data = message->req.local_comm_id;
	return true;
}

/* Who uses a place of the table often enough comes round to the first ID again. */
static void test_no_id_0(void)
{
	struct cm_pair *pair = open_pair(NULL);
	uint32_t id = 0;

	pair->hook = note_id;
	pair->hook_data = &id;
	pair->cm[0]->connections[0].generation = UINT32_MAX;
	CU_ASSERT_PTR_NOT_NULL_FATAL(connect(pair, 0, NULL));
	cm_pair_run(pair, 100000);
	CU_ASSERT_NOT_EQUAL(id, 0);
	CU_ASSERT_EQUAL(counts[0].responses, 1);
	cm_pair_close(pair);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"1,000 opened and closed in a loop", test_loop},
		{"10,000 held at once", test_ten_thousand},
		{"a flood of requests by many", test_flood},
		{"a flood of requests by one", test_flood_of_one},
		{"a request is repeated 10,000 times", test_repeated},
		{"more comes at once than there is room for", test_burst},
		{"the table is full", test_full},
		{"the peer vanishes", test_vanished},
		{"no communication ID is 0", test_no_id_0},
	};

	return RUN_SUITE("cm_limits", tests, argc, argv);
}
