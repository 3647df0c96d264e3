/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Connections between two connection managers over a wire that loses, duplicates and reorders
 * datagrams by seed, with owners that accept, refuse, dawdle, disconnect and give up by seed. Every
 * connection ends established on both sides or on neither; each owner is told what the contract
 * says, once; and at the end nothing is held.
 */

#include "tests/support/cm_pair.h"
#include "tests/support/suite.h"
#include "transport/cm/connection.h"
#include "transport/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND      UINT64_C(1000000000)
#define SERVICE     vl_rdma_service_id(VL_RDMA_PORT_SPACE_TCP, 7174)
#define UD_SERVICE  vl_rdma_service_id(VL_RDMA_PORT_SPACE_UDP, 7174)
#define CONNECTIONS 200

/* One end. Of a pair, both have the active side's QPN as their name. */
struct end {
	struct vl_cm_connection *connection; /* NULL: void */
	bool requested, responded, established, rejected, unreachable, disconnected, exited;
	bool gave_up; /* its owner destroyed it */
};

struct world {
	struct cm_pair *pair;
	struct vl_random random;
	struct end ends[2][CONNECTIONS]; /* active, passive, by name */
	struct end ud[CONNECTIONS];
	uint32_t attempted[CONNECTIONS]; /* requests that the passive owner saw */
};

struct side {
	struct world *world;
	bool is_active;
};
static struct side sides[2];

static bool chance(struct world *world, uint32_t percent)
{
	return vl_random_below(&world->random, 100) < percent;
}

static uint32_t name_of(const struct vl_cm_connection *connection, bool is_active)
{
	struct vl_cm_info info;

	vl_cm_query(connection, &info);
	return (is_active ? info.local_qpn : info.remote_qpn) - 1000;
}

static void request(struct world *world, struct end *end, const struct vl_cm_event *event,
		    uint32_t name, uint64_t now)
{
	const struct vl_cm_accept_param accept = {.conn = {.qpn = 500000 + name}};

	CU_ASSERT(!end->requested || end->rejected || end->unreachable);
	*end = (struct end){.requested = true, .connection = event->connection};
	world->attempted[name]++;
	if (chance(world, 10)) {
		CU_ASSERT_EQUAL(vl_cm_reject(event->connection, VL_CM_REJECT_CONSUMER, NULL, 0,
					     NULL, 0, now),
				0);
		end->rejected = true;
		end->connection = NULL;
	} else if (!chance(world, 20)) { /* else it dawdles, until act() answers */
		CU_ASSERT_EQUAL(vl_cm_accept(event->connection, &accept, now), 0);
		end->responded = true;
	}
}

static void response(struct world *world, struct end *end, const struct vl_cm_event *event,
		     uint64_t now)
{
	CU_ASSERT(!end->responded);
	if (chance(world, 5)) {
		CU_ASSERT_EQUAL(vl_cm_reject(event->connection, VL_CM_REJECT_CONSUMER, NULL, 0,
					     NULL, 0, now),
				0);
		end->rejected = true;
		end->connection = NULL;
	} else if (!chance(world, 20)) {
		CU_ASSERT_EQUAL(vl_cm_establish(event->connection, NULL, 0, now), 0);
		end->established = end->responded = true;
	}
}

static void take_event(void *context, const struct vl_cm_event *event, uint64_t now)
{
	const struct side *side = context;
	struct world *world = side->world;
	uint32_t name = name_of(event->connection, side->is_active);
	struct end *end;

	CU_ASSERT_FATAL(name < CONNECTIONS);
	end = &world->ends[side->is_active ? 0 : 1][name];
	if (event->type != VL_CM_EVENT_CONNECT_REQUEST)
		CU_ASSERT_PTR_EQUAL(end->connection, event->connection);
	switch (event->type) {
	case VL_CM_EVENT_CONNECT_REQUEST:
		request(world, end, event, name, now);
		return;
	case VL_CM_EVENT_CONNECT_RESPONSE:
		response(world, end, event, now);
		return;
	case VL_CM_EVENT_ESTABLISHED:
		CU_ASSERT(!end->established);
		CU_ASSERT(!side->is_active);
		end->established = true;
		return;
	case VL_CM_EVENT_DISCONNECTED:
		CU_ASSERT(!end->disconnected);
		end->disconnected = true;
		return;
	case VL_CM_EVENT_REJECTED:
		end->rejected = true;
		break;
	case VL_CM_EVENT_UNREACHABLE:
		end->unreachable = true;
		break;
	case VL_CM_EVENT_TIMEWAIT_EXIT:
		CU_ASSERT(end->disconnected);
		end->exited = true;
		break;
	}
	end->connection = NULL;
}

static void take_ud_event(void *context, const struct vl_cm_event *event, uint64_t now)
{
	struct end *end = context;

	(void)now;
	CU_ASSERT(event->type == VL_CM_EVENT_ESTABLISHED ||
		  event->type == VL_CM_EVENT_UNREACHABLE || event->type == VL_CM_EVENT_REJECTED);
	CU_ASSERT(!end->established && !end->unreachable && !end->rejected);
	end->established = event->type == VL_CM_EVENT_ESTABLISHED;
	end->unreachable = event->type == VL_CM_EVENT_UNREACHABLE;
	end->rejected = event->type == VL_CM_EVENT_REJECTED;
	if (end->established)
		CU_ASSERT_EQUAL(event->param.ud.qpn, 77);
}

static void serve_ud(void *context, const struct vl_cm_event *event, uint64_t now)
{
	const struct vl_cm_accept_param accept = {.qpn = 77, .qkey = 1};

	if (chance(context, 20))
		vl_cm_reject(event->connection, VL_CM_SIDR_REJECT, NULL, 0, NULL, 0, now);
	else
		vl_cm_accept(event->connection, &accept, now);
}

/* What dawdlers, and those who end things, do now and then. */
static void act(struct world *world, uint64_t now)
{
	for (uint32_t i = 0; i < 2 * CONNECTIONS; i++) {
		struct end *end = &world->ends[i & 1][i / 2];
		const struct vl_cm_accept_param accept = {.conn = {.qpn = 500000 + i / 2}};

		if (!end->connection || !chance(world, 30))
			continue;
		if (i & 1 && !end->responded) {
			CU_ASSERT_EQUAL(vl_cm_accept(end->connection, &accept, now), 0);
			end->responded = true;
		} else if (!(i & 1) && !end->responded) {
			if (!vl_cm_establish(end->connection, NULL, 0, now))
				end->established = end->responded = true;
		} else if (end->established && chance(world, 20)) {
			vl_cm_disconnect(end->connection, now);
		} else if (chance(world, 3)) {
			vl_cm_destroy(end->connection, now);
			end->connection = NULL;
			end->gave_up = true;
		}
	}
}

static void open_world(struct world *world, const struct cm_pair_options *options)
{
	struct vl_cm_listen_param listen = {
		.service_id = SERVICE, .qp_type = IBV_QPT_RC, .handler = {take_event, &sides[1]}};

	memset(world, 0, sizeof(*world));
	world->random.state = options->seed;
	world->pair = cm_pair_open(options);
	sides[0] = (struct side){world, true};
	sides[1] = (struct side){world, false};
	CU_ASSERT_PTR_NOT_NULL_FATAL(vl_cm_listen(world->pair->cm[1], &listen, NULL));
	listen = (struct vl_cm_listen_param){
		.service_id = UD_SERVICE, .qp_type = IBV_QPT_UD, .handler = {serve_ud, world}};
	CU_ASSERT_PTR_NOT_NULL_FATAL(vl_cm_listen(world->pair->cm[1], &listen, NULL));
}

static void connect_all(struct world *world)
{
	for (uint32_t i = 0; i < CONNECTIONS; i++) {
		struct vl_cm_connect_param param = {
			.service_id = SERVICE,
			.qp_type = i & 1 ? IBV_QPT_UC : IBV_QPT_RC,
			.destination = cm_pair_gid(world->pair, 1),
			.conn = {.qpn = 1000 + i},
			.handler = {take_event, &sides[0]},
		};

		world->ends[0][i].connection =
			vl_cm_connect(world->pair->cm[0], &param, world->pair->now, NULL);
		CU_ASSERT_PTR_NOT_NULL_FATAL(world->ends[0][i].connection);
		param.service_id = UD_SERVICE;
		param.qp_type = IBV_QPT_UD;
		param.handler = (struct vl_cm_handler){take_ud_event, &world->ud[i]};
		CU_ASSERT_PTR_NOT_NULL(
			vl_cm_connect(world->pair->cm[0], &param, world->pair->now, NULL));
		cm_pair_run(world->pair, SECOND / 1000);
	}
}

static bool is_open(const struct end *end)
{
	return end->connection && end->established && !end->disconnected;
}

static void check_agreement(const struct world *world)
{
	uint32_t open = 0;

	for (uint32_t i = 0; i < CONNECTIONS; i++) {
		const struct end *active = &world->ends[0][i], *passive = &world->ends[1][i];

		CU_ASSERT_EQUAL(is_open(active), is_open(passive));
		open += is_open(active);
		CU_ASSERT(world->ud[i].established || world->ud[i].unreachable ||
			  world->ud[i].rejected);
		/* Nothing hangs half way. */
		if (!is_open(active))
			CU_ASSERT_PTR_NULL(active->connection);
		if (!is_open(passive))
			CU_ASSERT_PTR_NULL(passive->connection);
	}
	for (unsigned int side = 0; side < 2; side++) {
		struct vl_cm_usage usage = vl_cm_usage(world->pair->cm[side]);

		CU_ASSERT_EQUAL(usage.established, open);
		CU_ASSERT_EQUAL(usage.connections, open);
		CU_ASSERT_EQUAL(usage.half_open, 0);
		CU_ASSERT_EQUAL(usage.time_wait, 0);
	}
}

static void run_world(uint64_t seed)
{
	struct cm_pair_options options = {
		.seed = seed,
		.loss = (uint32_t)(seed % 4) * 100,
		.duplication = (uint32_t)(seed % 3) * 100,
		.jitter = seed % 5 * 500000,
		.ipv6 = seed & 1,
	};
	struct world *world = malloc(sizeof(*world));
	uint64_t allocations;
	uint32_t opened = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(world);
	open_world(world, &options);
	allocations = world->pair->allocations;
	connect_all(world);
	for (uint32_t i = 0; i < 30; i++) {
		cm_pair_run(world->pair, SECOND / 2);
		act(world, world->pair->now);
	}
	cm_pair_run(world->pair, 120 * SECOND);
	check_agreement(world);
	for (uint32_t i = 0; i < CONNECTIONS; i++)
		opened += world->ends[0][i].established;
	CU_ASSERT(opened > CONNECTIONS / 2);
	/* The rest is closed from either side, or both at once. */
	for (uint32_t i = 0; i < CONNECTIONS; i++) {
		if (world->ends[0][i].connection && i % 3)
			vl_cm_disconnect(world->ends[0][i].connection, world->pair->now);
		if (world->ends[1][i].connection && i % 3 != 1)
			vl_cm_disconnect(world->ends[1][i].connection, world->pair->now);
	}
	cm_pair_run(world->pair, 120 * SECOND);
	check_agreement(world);
	CU_ASSERT_EQUAL(vl_cm_usage(world->pair->cm[0]).connections, 0);
	CU_ASSERT_EQUAL(world->pair->allocations, allocations);
	cm_pair_close(world->pair);
	free(world);
}

static void test_worlds(void)
{
	for (uint64_t seed = 1; seed <= 150; seed++) {
		unsigned int before = CU_get_number_of_failures();

		run_world(seed);
		if (CU_get_number_of_failures() != before)
			printf("\n    seed %llu\n", (unsigned long long)seed);
	}
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"every connection ends on both sides alike", test_worlds},
	};

	return RUN_SUITE("cm_network", tests, argc, argv);
}
