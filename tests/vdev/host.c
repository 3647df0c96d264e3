/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * A host whose two ports are the ends of one cable: what an endpoint of port 0 sends, one of port 1
 * receives. Queue pairs are joined across workers, so that frames must be handed over, and, with
 * fewer queues than workers, sent by others.
 */

#include "dataplane/runtime/host.h"
#include "dataplane/runtime/mempool.h"
#include "tests/vdev/support.h"

#include <rte_mempool.h>

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MESSAGE_SIZE  20000u
#define MESSAGE_COUNT 50u
#define MAX_WORKERS   2u
#define PAIRS         (MAX_WORKERS * MAX_WORKERS)

/* One side of a pair: what runs on the endpoint of a port and a worker. */
struct side {
	struct vl_endpoint *endpoint;
	struct vl_pd *pd;
	struct vl_cq *cq;
	struct vl_qp *qp;
	struct ibv_mr *mr;
	uint8_t *memory;
	uint32_t peer_qpn;
	union ibv_gid peer;
	uint32_t posted, completed, failed;
	bool is_ready, sends;
};

/* All sides on one endpoint. */
struct program {
	struct side *sides[PAIRS];
	unsigned int count;
	atomic_uint done; /* sides whose messages have all completed */
};

static struct program programs[2][MAX_WORKERS];
static struct side sides[PAIRS][2];

static union ibv_gid address(uint8_t port, bool ipv6)
{
	if (ipv6)
		return (union ibv_gid){.raw = {0xfd, [15] = (uint8_t)(port + 1)}};
	return (union ibv_gid){.raw = {[10] = 0xff, 0xff, 10, 0, 0, (uint8_t)(port + 1)}};
}

/* True once the queue pair may send: the peer's MAC has been resolved. */
static bool bring_up(struct side *side, uint64_t now)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_4096,
		.dest_qp_num = side->peer_qpn,
		.max_dest_rd_atomic = 1,
		.max_rd_atomic = 1,
		.min_rnr_timer = 1,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr = {.grh = {.dgid = side->peer, .hop_limit = 64},
			    .is_global = 1,
			    .port_num = 1},
	};
	int result;

	if (side->is_ready)
		return true;
	attr.ah_attr.grh.sgid_index = side->peer.raw[0] == 0xfd;
	result = vl_modify_qp(side->qp, &attr,
			      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				      IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				      IBV_QP_MIN_RNR_TIMER,
			      now);
	if (result == -EAGAIN)
		return false;
	CU_ASSERT_EQUAL(result, 0);
	attr.qp_state = IBV_QPS_RTS;
	CU_ASSERT_EQUAL(vl_modify_qp(side->qp, &attr,
				     IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
					     IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					     IBV_QP_MAX_QP_RD_ATOMIC,
				     now),
			0);
	side->is_ready = true;
	return true;
}

static void post_one(struct side *side, uint64_t now)
{
	struct ibv_sge sge = {(uintptr_t)side->memory, MESSAGE_SIZE, side->mr->lkey};
	const struct ibv_send_wr *bad_send;
	const struct ibv_recv_wr *bad_receive;
	struct ibv_send_wr send = {.sg_list = &sge,
				   .num_sge = 1,
				   .opcode = IBV_WR_SEND,
				   .send_flags = IBV_SEND_SIGNALED};
	struct ibv_recv_wr receive = {.sg_list = &sge, .num_sge = 1};

	if (side->sends ? !vl_post_send(side->qp, &send, &bad_send, now)
			: !vl_post_recv(side->qp, &receive, &bad_receive))
		side->posted++;
}

static void run_side(struct program *program, struct side *side, uint64_t now)
{
	struct ibv_wc wc;

	if (!bring_up(side, now))
		return;
	while (side->posted < MESSAGE_COUNT && side->posted - side->completed < 8) {
		uint32_t before = side->posted;

		post_one(side, now);
		if (side->posted == before)
			break;
	}
	while (vl_poll_cq(side->cq, 1, &wc) == 1) {
		side->failed += wc.status != IBV_WC_SUCCESS;
		if (++side->completed == MESSAGE_COUNT)
			atomic_fetch_add(&program->done, 1);
	}
}

static void poll_program(void *context, struct vl_endpoint *endpoint, uint64_t now)
{
	struct program *program = context;

	(void)endpoint;
	for (unsigned int i = 0; i < program->count; i++)
		run_side(program, program->sides[i], now);
}

static bool open_side(struct side *side, struct vl_host *host, uint32_t port, uint32_t worker,
		      bool ipv6)
{
	struct program *program = &programs[port][worker];
	const struct vl_application application = {.poll = poll_program, .context = program};
	struct vl_device *device;
	struct vl_qp_init_attr init = {
		.cap = {.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};

	side->endpoint = vl_host_endpoint(host, port, worker);
	device = side->endpoint->device;
	side->sends = port == 0;
	side->peer = address(!port, ipv6);
	side->memory = calloc(1, MESSAGE_SIZE);
	side->pd = vl_alloc_pd(device, NULL);
	side->cq = vl_create_cq(device, 64, NULL, NULL);
	if (!side->memory || !side->pd || !side->cq)
		return false;
	side->mr = vl_reg_mr(side->pd, side->memory, MESSAGE_SIZE, (uintptr_t)side->memory,
			     IBV_ACCESS_LOCAL_WRITE, NULL);
	init.send_cq = init.recv_cq = side->cq;
	side->qp = vl_create_qp(side->pd, &init, NULL);
	if (!side->mr || !side->qp)
		return false;
	CU_ASSERT_EQUAL(vl_host_qpn_worker(vl_qp_number(side->qp)), worker);
	program->sides[program->count++] = side;
	vl_endpoint_set_application(side->endpoint, &application);
	return !vl_modify_qp(side->qp, &attr,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
			     0);
}

/* A pair from each worker's port 0 to each worker's port 1. */
static unsigned int open_pairs(struct vl_host *host, uint32_t workers)
{
	unsigned int count = 0;

	memset(programs, 0, sizeof(programs));
	memset(sides, 0, sizeof(sides));
	for (uint32_t from = 0; from < workers; from++) {
		for (uint32_t to = 0; to < workers; to++, count++) {
			struct side *pair = sides[count];
			bool ipv6 = count % 2;

			CU_ASSERT(open_side(&pair[0], host, 0, from, ipv6) &&
				  open_side(&pair[1], host, 1, to, ipv6));
			if (!pair[0].qp || !pair[1].qp)
				return 0;
			memset(pair[0].memory, (int)(count + 1), MESSAGE_SIZE);
			pair[0].peer_qpn = vl_qp_number(pair[1].qp);
			pair[1].peer_qpn = vl_qp_number(pair[0].qp);
		}
	}
	return count;
}

static struct vl_host_config make_config(uint32_t workers, uint16_t queues)
{
	struct vl_host_config config = {
		.worker_count = workers,
		.port_count = 2,
		.frame_count = 2048,
		.device = {.seed = 1},
	};
	struct vl_port *ends[2] = {NULL, NULL};
	struct vl_error error;

	CU_ASSERT_EQUAL(vl_ring_link_open("cable", queues, 512, ends, &error), 0);
	for (uint32_t i = 0; i < 2; i++) {
		config.ports[i].port = ends[i];
		config.ports[i].ip.address_count = 2;
		config.ports[i].ip.addresses[0].address = address((uint8_t)i, false);
		config.ports[i].ip.addresses[0].prefix_length = 24;
		config.ports[i].ip.addresses[1].address = address((uint8_t)i, true);
		config.ports[i].ip.addresses[1].prefix_length = 64;
	}
	return config;
}

static bool all_done(uint32_t workers)
{
	for (uint32_t port = 0; port < 2; port++) {
		for (uint32_t worker = 0; worker < workers; worker++) {
			if (atomic_load(&programs[port][worker].done) <
			    programs[port][worker].count)
				return false;
		}
	}
	return true;
}

static void wait_until_done(struct vl_host *host, uint32_t workers)
{
	const struct timespec step = {0, 1000000};
	uint64_t end = vl_host_now(host) + UINT64_C(20000000000);

	while (!all_done(workers) && vl_host_now(host) < end)
		nanosleep(&step, NULL);
}

static void check_pairs(unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		for (unsigned int j = 0; j < 2; j++) {
			CU_ASSERT_EQUAL(sides[i][j].completed, MESSAGE_COUNT);
			CU_ASSERT_EQUAL(sides[i][j].failed, 0);
		}
		CU_ASSERT(!memcmp(sides[i][0].memory, sides[i][1].memory, MESSAGE_SIZE));
	}
}

static void run_pairs(uint32_t workers, uint16_t queues)
{
	struct vl_host_config config = make_config(workers, queues);
	struct vl_host_counters counters[MAX_WORKERS];
	struct vl_error error = {.text = ""};
	struct vl_host *host;
	unsigned int count;

	host = vl_host_create(&config, &error);
	if (!host) {
		CU_FAIL("the host could not be made");
		printf("    %s\n", error.text);
		return;
	}
	CU_ASSERT_EQUAL(vl_host_path_mtu(host, 0), IBV_MTU_4096);
	count = open_pairs(host, workers);
	CU_ASSERT_EQUAL(vl_host_start(host, &error), 0);
	wait_until_done(host, workers);
	vl_host_stop(host);
	check_pairs(count);
	for (uint32_t worker = 0; worker < workers; worker++) {
		counters[worker] = vl_host_counters(host, worker);
		CU_ASSERT_EQUAL(counters[worker].mempool_exhausted, 0);
		for (uint32_t port = 0; port < 2; port++) {
			const struct vl_endpoint *endpoint = vl_host_endpoint(host, port, worker);
			const uint64_t *drops = vl_device_drops(endpoint->device);

			CU_ASSERT_EQUAL(drops[VL_DROP_unknown_qp], 0);
			CU_ASSERT_EQUAL(drops[VL_DROP_not_for_us], 0);
			CU_ASSERT_EQUAL(drops[VL_DROP_icrc], 0);
			/* The first worker alone answers; all have heard. */
			CU_ASSERT_EQUAL(vl_ip_counters(endpoint->ip)->conflicts, 0);
			CU_ASSERT(vl_ip_counters(endpoint->ip)->arp_rx > 0);
		}
	}
	if (workers > 1)
		CU_ASSERT(counters[0].handed_over > 0);
	vl_host_destroy(host);
	for (unsigned int i = 0; i < count; i++) {
		free(sides[i][0].memory);
		free(sides[i][1].memory);
	}
}

static void test_one_worker(void)
{
	run_pairs(1, 1);
}

static void test_two_workers(void)
{
	run_pairs(2, 2);
}

static void test_one_queue_for_two_workers(void)
{
	run_pairs(2, 1);
}

/* Stopped in the midst of it, destroyed, and made anew: nothing may stay behind. */
static void test_destroy_in_the_midst(void)
{
	for (unsigned int i = 0; i < 3; i++) {
		struct vl_host_config config = make_config(2, 1);
		struct vl_error error = {.text = ""};
		struct vl_host *host = vl_host_create(&config, &error);
		const struct timespec a_while = {0, 2000000};
		unsigned int count;

		CU_ASSERT_PTR_NOT_NULL_FATAL(host);
		count = open_pairs(host, 2);
		CU_ASSERT_EQUAL(vl_host_start(host, &error), 0);
		CU_ASSERT_EQUAL(vl_host_start(host, &error), -EALREADY);
		nanosleep(&a_while, NULL);
		vl_host_destroy(host);
		for (unsigned int j = 0; j < count; j++) {
			free(sides[j][0].memory);
			free(sides[j][1].memory);
		}
	}
}

static void note_time(void *context, uint64_t now)
{
	*(uint64_t *)context = now;
}

static void test_call(void)
{
	struct vl_host_config config = make_config(2, 2);
	struct vl_host *host = vl_host_create(&config, NULL);
	uint64_t before, now = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(host);
	CU_ASSERT_EQUAL(vl_host_start(host, NULL), 0);
	before = vl_host_now(host);
	CU_ASSERT_EQUAL(vl_host_call(host, 1, note_time, &now), 0);
	CU_ASSERT(now >= before && now <= vl_host_now(host));
	CU_ASSERT_EQUAL(vl_host_call(host, 2, note_time, &now), -EINVAL);
	vl_host_destroy(host);
}

static void expect_refusal(struct vl_host_config config, const char *text)
{
	struct vl_error error = {.text = ""};

	CU_ASSERT_PTR_NULL(vl_host_create(&config, &error));
	CU_ASSERT_PTR_NOT_NULL(strstr(error.text, text));
	if (!strstr(error.text, text))
		printf("    %s\n", error.text);
}

static void test_refusals(void)
{
	struct vl_host_config config = make_config(1, 1);

	config.worker_count = 3;
	expect_refusal(config, "3 workers, and DPDK was started for 2");
	config = make_config(1, 1);
	config.ring_size = 1;
	expect_refusal(config, "rings of 1 frames: must be 2 to 65536");
	config = make_config(2, 1);
	config.device.max_qp = 100000;
	expect_refusal(config, "100000 queue pairs a worker: one of several has room for 65519");
	config = make_config(1, 1);
	config.ports[1].ip.addresses[0].prefix_length = 33;
	expect_refusal(config, "addresses or its device's limits are out of range");
	config = make_config(1, 1);
	config.port_count = 0;
	vl_port_close(config.ports[0].port);
	vl_port_close(config.ports[1].port);
	expect_refusal(config, "0 ports: must be 1 to 16");
	config = (struct vl_host_config){.worker_count = 1, .port_count = 1};
	config.ports[0].name = "nothing:x";
	expect_refusal(config, "unknown kind");
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"one_worker", test_one_worker},
		{"two_workers", test_two_workers},
		{"one_queue_for_two_workers", test_one_queue_for_two_workers},
		{"destroy_in_the_midst", test_destroy_in_the_midst},
		{"call", test_call},
		{"refusals", test_refusals},
	};
	int status = test_start_eal(2);

	if (status)
		return status;
	status = RUN_SUITE("vdev/host", tests, argc, argv);
	vl_eal_stop();
	return status;
}
