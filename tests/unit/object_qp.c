/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Queue pairs: limits, numbers, what destroying takes along, and what they cost. */

#include "tests/support/endpoint.h"
#include "tests/support/suite.h"
#include "transport/object/object.h"

#include <stdio.h>
#include <sys/mman.h>

static struct endpoint endpoint;

static void setup(void)
{
	CU_ASSERT_TRUE_FATAL(endpoint_open(&endpoint, 1));
}

static void teardown(void)
{
	CU_ASSERT_EQUAL(endpoint_close(&endpoint), 0);
}

static void check_limits(void)
{
	struct endpoint other;
	int error;

	setup();
	CU_ASSERT_TRUE_FATAL(endpoint_open(&other, 2));
#define TRY(change, expected)                                                                      \
	do {                                                                                       \
		struct vl_qp_init_attr init = qp_init(&endpoint, IBV_QPT_RC);                      \
		struct vl_qp *qp;                                                                  \
                                                                                                   \
		change;                                                                            \
		error = 0;                                                                         \
		qp = vl_create_qp(endpoint.pd, &init, &error);                                     \
		CU_ASSERT_EQUAL(error, expected);                                                  \
		CU_ASSERT_EQUAL(qp != NULL, !(expected));                                          \
		if (qp)                                                                            \
			vl_destroy_qp(qp);                                                         \
	} while (0)
	TRY((void)0, 0);
	TRY(init.qp_type = IBV_QPT_RAW_PACKET, -EOPNOTSUPP);
	TRY(init.qp_type = IBV_QPT_XRC_SEND, -EOPNOTSUPP);
	TRY(init.send_cq = NULL, -EINVAL);
	TRY(init.recv_cq = NULL, -EINVAL);
	TRY(init.recv_cq = other.recv_cq, -EINVAL);
	TRY(init.cap.max_send_wr = 32768, 0);
	TRY(init.cap.max_send_wr = 32769, -EINVAL);
	TRY(init.cap.max_recv_wr = 32769, -EINVAL);
	TRY(init.cap.max_send_sge = 33, -EINVAL);
	TRY(init.cap.max_recv_sge = 33, -EINVAL);
	TRY(init.cap.max_inline_data = 512, 0);
	TRY(init.cap.max_inline_data = 513, -EINVAL);
	TRY(memset(&init.cap, 0, sizeof(init.cap)), 0);
	TRY(init.gsi = true, -EINVAL);
	TRY((init.gsi = true, init.qp_type = IBV_QPT_UD, init.qpn = 2), -EINVAL);
	TRY(init.qpn = 1, -EINVAL);
	TRY(init.qpn = 2, 0);
	TRY(init.qpn = 0xfffffe, 0);
	TRY(init.qpn = 0xffffff, -EINVAL);
#undef TRY
	CU_ASSERT_EQUAL(endpoint_close(&other), 0);
	teardown();
}

static void check_numbers(void)
{
	struct vl_device_config config;
	struct vl_qp_init_attr init;
	struct vl_qp *qps[8];
	uint32_t last;
	int error = 0;

	memset(&endpoint, 0, sizeof(endpoint));
	config = endpoint_config(&endpoint, 1);
	config.max_qp = 8;
	config.first_qpn = 100;
	CU_ASSERT_TRUE_FATAL(endpoint_open_with(&endpoint, &config));
	init = qp_init(&endpoint, IBV_QPT_RC);
	init.qpn = 101;
	qps[0] = vl_create_qp(endpoint.pd, &init, NULL);
	CU_ASSERT_EQUAL(vl_qp_number(qps[0]), 101);
	CU_ASSERT_PTR_NULL(vl_create_qp(endpoint.pd, &init, &error));
	CU_ASSERT_EQUAL(error, -EEXIST);
	for (int i = 1; i < 8; i++)
		qps[i] = make_qp(&endpoint, IBV_QPT_RC);
	CU_ASSERT_EQUAL(vl_qp_number(qps[1]), 100);
	CU_ASSERT_EQUAL(vl_qp_number(qps[2]), 102);
	CU_ASSERT_EQUAL(vl_qp_number(qps[7]), 107);
	init.qpn = 0;
	CU_ASSERT_PTR_NULL(vl_create_qp(endpoint.pd, &init, &error));
	CU_ASSERT_EQUAL(error, -ENOMEM);
	/* A number does not come back at once, but the numbers stay within bounds. */
	last = vl_qp_number(qps[7]);
	for (int i = 0; i < 200; i++) {
		vl_destroy_qp(qps[7]);
		qps[7] = make_qp(&endpoint, IBV_QPT_RC);
		CU_ASSERT_PTR_NOT_NULL_FATAL(qps[7]);
		CU_ASSERT_NOT_EQUAL(vl_qp_number(qps[7]), last);
		CU_ASSERT_TRUE(vl_qp_number(qps[7]) >= 100 && vl_qp_number(qps[7]) < 132);
		last = vl_qp_number(qps[7]);
	}
	teardown();
}

static void check_gsi(void)
{
	struct vl_qp_init_attr init;
	struct vl_qp *qp;
	int error = 0;

	setup();
	init = qp_init(&endpoint, IBV_QPT_UD);
	init.gsi = true;
	qp = vl_create_qp(endpoint.pd, &init, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(qp);
	CU_ASSERT_EQUAL(vl_qp_number(qp), 1);
	CU_ASSERT_PTR_NULL(vl_create_qp(endpoint.pd, &init, &error));
	CU_ASSERT_EQUAL(error, -EEXIST);
	vl_destroy_qp(qp);
	init.qpn = 0;
	CU_ASSERT_PTR_NOT_NULL(vl_create_qp(endpoint.pd, &init, NULL));
	teardown();
}

/* Requests and completions of the QP go, in RESET and with it; those of others stay. */
static void check_destroying_purges(void)
{
	struct ibv_qp_attr attr = qp_attr(2, 99, 0, 0);
	struct ibv_wc wc[16];

	setup();
	for (int destroy = 0; destroy < 2; destroy++) {
		struct vl_qp *doomed = make_qp(&endpoint, IBV_QPT_RC);
		struct vl_qp *other = make_qp(&endpoint, IBV_QPT_RC);

		CU_ASSERT_EQUAL(bring_up(doomed, IBV_QPT_RC, &attr, IBV_QPS_RTS), 0);
		CU_ASSERT_EQUAL(bring_up(other, IBV_QPT_RC, &attr, IBV_QPS_RTS), 0);
		post_receive(doomed, 1, arena_sge(&endpoint, 0, 8));
		post_receive(doomed, 2, arena_sge(&endpoint, 0, 8));
		post_receive(other, 3, arena_sge(&endpoint, 0, 8));
		post_send(doomed, 4, arena_sge(&endpoint, 0, 8));
		set_state(doomed, IBV_QPS_ERR);
		set_state(other, IBV_QPS_ERR);
		CU_ASSERT_EQUAL(destroy ? vl_destroy_qp(doomed) : set_state(doomed, IBV_QPS_RESET),
				0);
		CU_ASSERT_EQUAL(vl_poll_cq(endpoint.send_cq, 16, wc), 0);
		CU_ASSERT_EQUAL(vl_poll_cq(endpoint.recv_cq, 16, wc), 1);
		CU_ASSERT_EQUAL(wc[0].wr_id, 3);
		vl_destroy_qp(other);
	}
	/* RESET with requests outstanding drops them without a word, and frees their AHs. */
	{
		struct ibv_ah *ah = vl_create_ah(endpoint.pd, &attr.ah_attr, NULL);
		struct ibv_send_wr wr = {.opcode = IBV_WR_SEND,
					 .wr.ud = {.ah = ah, .remote_qpn = 5}};
		struct vl_qp *qp = make_qp(&endpoint, IBV_QPT_UD);

		CU_ASSERT_EQUAL(bring_up(qp, IBV_QPT_UD, &attr, IBV_QPS_RTS), 0);
		CU_ASSERT_EQUAL(post(qp, &wr), 0);
		CU_ASSERT_EQUAL(vl_destroy_ah(ah), -EBUSY);
		CU_ASSERT_EQUAL(set_state(qp, IBV_QPS_RESET), 0);
		CU_ASSERT_EQUAL(vl_poll_cq(endpoint.send_cq, 16, wc), 0);
		CU_ASSERT_EQUAL(vl_destroy_ah(ah), 0);
	}
	teardown();
}

static void check_congestion_control(void)
{
	static const struct vl_cc_parameters fixed = {.algorithm = &vl_cc_fixed,
						      .fixed_rate = 25000000000};
	static const struct vl_cc_parameters no_periods = {.algorithm = &vl_cc_dcqcn};
	struct ibv_qp_attr attr = qp_attr(2, 99, 0, 0);
	struct vl_qp *qp;

	setup();
	qp = make_qp(&endpoint, IBV_QPT_RC);
	CU_ASSERT_EQUAL(vl_query_cc(qp, 0).rate, UINT64_MAX);
	CU_ASSERT_EQUAL(vl_set_cc(qp, NULL), -EINVAL);
	CU_ASSERT_EQUAL(vl_set_cc(qp, &no_periods), -EINVAL);
	CU_ASSERT_EQUAL(vl_set_cc(qp, &fixed), 0);
	CU_ASSERT_EQUAL(vl_query_cc(qp, 0).rate, 25000000000);
	CU_ASSERT_EQUAL(bring_up(qp, IBV_QPT_RC, &attr, IBV_QPS_RTS), 0);
	CU_ASSERT_EQUAL(vl_query_cc(qp, 0).rate, 25000000000);
	CU_ASSERT_EQUAL(vl_set_cc(qp, &fixed), -EINVAL);
	teardown();
}

/* Memory that is only counted, given out of one reservation whose pages appear when touched. */
struct reservation {
	uint8_t *base;
	size_t used, size, live;
};

static void *reserve_memory(void *context, size_t size)
{
	struct reservation *reservation = context;
	uint8_t *block = reservation->base + reservation->used;

	size = (size + 63) / 64 * 64;
	if (size > reservation->size - reservation->used)
		return NULL;
	reservation->used += size;
	reservation->live += size;
	return block;
}

static void release_memory(void *context, void *memory, size_t size)
{
	struct reservation *reservation = context;

	(void)memory;
	reservation->live -= (size + 63) / 64 * 64;
}

static void check_hundred_thousand(void)
{
	enum { COUNT = 100000 };
	const size_t gibibyte = (size_t)1 << 30;
	struct reservation reservation = {.size = gibibyte};
	struct vl_device_config config = endpoint_config(&endpoint, 1);
	struct ibv_qp_attr attr = qp_attr(2, 0, 1, 2);
	struct vl_qp_init_attr init;
	struct vl_device *device;
	struct vl_pd *pd;
	unsigned int connected = 0;
	size_t before;

	reservation.base = mmap(NULL, gibibyte, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CU_ASSERT_NOT_EQUAL_FATAL(reservation.base, MAP_FAILED);
	config.allocator = (struct vl_allocator){reserve_memory, release_memory, &reservation};
	config.max_qp = COUNT;
	device = vl_open_device(&config, NULL);
	pd = vl_alloc_pd(device, NULL);
	init = (struct vl_qp_init_attr){
		.send_cq = vl_create_cq(device, 65536, NULL, NULL),
		.cap = {.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
	};
	init.recv_cq = init.send_cq;
	before = reservation.used;
	for (uint32_t i = 0; i < COUNT; i++) {
		struct vl_qp *qp;

		init.qpn = 0;
		qp = vl_create_qp(pd, &init, NULL);
		if (!qp)
			break;
		attr.dest_qp_num = i + 17;
		connected += !bring_up(qp, IBV_QPT_RC, &attr, IBV_QPS_RTS);
	}
	CU_ASSERT_EQUAL(connected, COUNT);
	CU_ASSERT_TRUE(reservation.used < gibibyte);
	printf("\n    context %zu B; %zu B for each connected RC QP with queues of 16; %.0f MiB in "
	       "all\n    ",
	       sizeof(struct vl_qp), (reservation.used - before) / COUNT,
	       (double)reservation.used / (1 << 20));
	vl_close_device(device);
	CU_ASSERT_EQUAL(reservation.live, 0);
	munmap(reservation.base, gibibyte);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"limits", check_limits},
		{"numbers", check_numbers},
		{"gsi", check_gsi},
		{"destroying_purges", check_destroying_purges},
		{"congestion_control", check_congestion_control},
		{"hundred_thousand", check_hundred_thousand},
	};

	return RUN_SUITE("object_qp", tests, argc, argv);
}
