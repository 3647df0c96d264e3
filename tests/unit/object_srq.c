/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Shared receive queues: limits, the limit event, what a QP takes and holds. */

#include "tests/support/endpoint.h"
#include "tests/support/suite.h"
#include "transport/object/object.h"

static struct endpoint endpoint;
static struct vl_srq *srq;
static struct vl_qp *first, *second;

static struct vl_qp *make_shared(enum ibv_qp_type type)
{
	struct vl_qp_init_attr init = qp_init(&endpoint, type);
	struct ibv_qp_attr attr = qp_attr(2, 99, 0, 0);
	struct vl_qp *qp;

	init.srq = srq;
	qp = vl_create_qp(endpoint.pd, &init, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(qp);
	CU_ASSERT_EQUAL(init.cap.max_recv_wr, 0);
	CU_ASSERT_EQUAL(bring_up(qp, type, &attr, IBV_QPS_RTS), 0);
	return qp;
}

static void setup(void)
{
	const struct ibv_srq_attr attr = {.max_wr = 10, .max_sge = 3, .srq_limit = 5};

	CU_ASSERT_TRUE_FATAL(endpoint_open(&endpoint, 1));
	srq = vl_create_srq(endpoint.pd, &attr, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(srq);
	first = make_shared(IBV_QPT_RC);
	second = make_shared(IBV_QPT_UD);
}

static void teardown(void)
{
	CU_ASSERT_EQUAL(endpoint_close(&endpoint), 0);
}

static int post_shared(uint64_t wr_id, int count)
{
	struct ibv_sge sges[4];
	struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = sges, .num_sge = count};
	const struct ibv_recv_wr *bad;

	for (int i = 0; i < 4; i++)
		sges[i] = arena_sge(&endpoint, (uint32_t)i * 100, 10);
	return vl_post_srq_recv(srq, &wr, &bad);
}

static void check_limits(void)
{
	struct ibv_srq_attr attr = {.max_wr = 0, .max_sge = 1};
	int error = 0;

	setup();
	CU_ASSERT_PTR_NULL(vl_create_srq(endpoint.pd, &attr, &error));
	CU_ASSERT_EQUAL(error, -EINVAL);
	attr = (struct ibv_srq_attr){.max_wr = 32769, .max_sge = 1};
	CU_ASSERT_PTR_NULL(vl_create_srq(endpoint.pd, &attr, &error));
	attr = (struct ibv_srq_attr){.max_wr = 1, .max_sge = 33};
	CU_ASSERT_PTR_NULL(vl_create_srq(endpoint.pd, &attr, &error));

	/* The limit of the creation attributes does not arm. */
	vl_query_srq(srq, &attr);
	CU_ASSERT_EQUAL(attr.max_wr, 10);
	CU_ASSERT_EQUAL(attr.max_sge, 3);
	CU_ASSERT_EQUAL(attr.srq_limit, 0);
	attr.srq_limit = 11;
	CU_ASSERT_EQUAL(vl_modify_srq(srq, &attr, IBV_SRQ_LIMIT), -EINVAL);
	CU_ASSERT_EQUAL(vl_modify_srq(srq, &attr, 4), -EINVAL);
	CU_ASSERT_EQUAL(vl_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), -EOPNOTSUPP);

	CU_ASSERT_EQUAL(post_shared(1, 4), -EINVAL);
	for (uint64_t i = 0; i < 10; i++)
		CU_ASSERT_EQUAL(post_shared(i, (int)i % 4), 0);
	CU_ASSERT_EQUAL(post_shared(10, 1), -ENOMEM);
	/* A QP of an SRQ has no receive queue. */
	CU_ASSERT_EQUAL(post_receive(first, 1, arena_sge(&endpoint, 0, 8)), -EINVAL);
	CU_ASSERT_EQUAL(vl_destroy_srq(srq), -EBUSY);
	vl_destroy_qp(first);
	vl_destroy_qp(second);
	CU_ASSERT_EQUAL(vl_destroy_srq(srq), 0);
	teardown();
}

static void check_taking(void)
{
	const struct ibv_wc done = {.status = IBV_WC_SUCCESS, .opcode = IBV_WC_RECV, .byte_len = 7};
	struct vl_receive *taken, *other;
	struct ibv_wc wc[4];

	setup();
	CU_ASSERT_PTR_NULL(vl_receive_take(first));
	for (uint64_t i = 0; i < 10; i++)
		CU_ASSERT_EQUAL(post_shared(100 + i, 3), 0);
	CU_ASSERT_EQUAL(vl_receive_available(first), 10);
	taken = vl_receive_take(first);
	CU_ASSERT_PTR_NOT_NULL_FATAL(taken);
	CU_ASSERT_EQUAL(taken->wr_id, 100);
	CU_ASSERT_EQUAL(taken->length, 30);
	/* The same again until it completes. */
	CU_ASSERT_PTR_EQUAL(vl_receive_take(first), taken);
	other = vl_receive_take(second);
	CU_ASSERT_EQUAL(other->wr_id, 101);
	CU_ASSERT_EQUAL(vl_receive_available(second), 8);
	/* What is held is the QP's own: the queue may be filled over it. */
	CU_ASSERT_EQUAL(post_shared(110, 1), 0);
	CU_ASSERT_EQUAL(post_shared(111, 1), 0);
	CU_ASSERT_EQUAL(post_shared(112, 1), -ENOMEM);
	CU_ASSERT_EQUAL(taken->wr_id, 100);
	CU_ASSERT_EQUAL(taken->sges[2].addr, (uintptr_t)endpoint.arena + 200);
	vl_receive_complete(second, &done, false);
	vl_receive_complete(first, &done, false);
	vl_receive_complete(first, &done, false); /* nothing is taken: nothing happens */
	CU_ASSERT_EQUAL(vl_poll_cq(endpoint.recv_cq, 4, wc), 2);
	CU_ASSERT_EQUAL(wc[0].wr_id, 101);
	CU_ASSERT_EQUAL(wc[0].qp_num, vl_qp_number(second));
	CU_ASSERT_EQUAL(wc[1].wr_id, 100);
	CU_ASSERT_EQUAL(wc[1].byte_len, 7);
	CU_ASSERT_EQUAL(vl_receive_take(first)->wr_id, 102);
	teardown();
}

static void check_limit_event(void)
{
	struct ibv_srq_attr attr = {.srq_limit = 3};
	const struct ibv_wc done = {.status = IBV_WC_SUCCESS};

	setup();
	for (uint64_t i = 0; i < 5; i++)
		post_shared(i, 1);
	CU_ASSERT_EQUAL(vl_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
	for (int left = 4; left >= 0; left--) {
		CU_ASSERT_PTR_NOT_NULL(vl_receive_take(first));
		vl_receive_complete(first, &done, false);
		/* Once, when fewer than three are left. */
		CU_ASSERT_EQUAL(count_events(&endpoint, IBV_EVENT_SRQ_LIMIT_REACHED), left < 3);
	}
	CU_ASSERT_PTR_EQUAL(endpoint.events[0].object, srq);
	vl_query_srq(srq, &attr);
	CU_ASSERT_EQUAL(attr.srq_limit, 0);
	/* Armed anew. */
	for (uint64_t i = 0; i < 2; i++)
		post_shared(i, 1);
	attr.srq_limit = 2;
	CU_ASSERT_EQUAL(vl_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
	vl_receive_take(second);
	CU_ASSERT_EQUAL(count_events(&endpoint, IBV_EVENT_SRQ_LIMIT_REACHED), 2);
	teardown();
}

/* ERR: what the QP had taken is flushed, the rest is the others', and the owner hears that no
 * more will be taken. */
static void check_error(void)
{
	struct ibv_wc wc[4];

	setup();
	post_shared(1, 1);
	post_shared(2, 1);
	vl_receive_take(first);
	CU_ASSERT_EQUAL(set_state(first, IBV_QPS_ERR), 0);
	CU_ASSERT_EQUAL(vl_poll_cq(endpoint.recv_cq, 4, wc), 1);
	CU_ASSERT_EQUAL(wc[0].wr_id, 1);
	CU_ASSERT_EQUAL(wc[0].status, IBV_WC_WR_FLUSH_ERR);
	CU_ASSERT_EQUAL(count_events(&endpoint, IBV_EVENT_QP_LAST_WQE_REACHED), 1);
	CU_ASSERT_PTR_EQUAL(endpoint.events[0].object, first);
	CU_ASSERT_EQUAL(vl_receive_take(second)->wr_id, 2);
	teardown();
}

/* Messages of a connected pair over the wire, scattered by the SRQ's domain. */
static void check_messages(void)
{
	const struct ibv_srq_attr srq_attr = {.max_wr = 4, .max_sge = 2};
	struct ibv_qp_attr attr;
	struct vl_qp_init_attr init;
	struct endpoint peer;
	struct ibv_mr *mr;
	struct ibv_sge sge;
	struct ibv_recv_wr wr = {.wr_id = 5, .sg_list = &sge, .num_sge = 1};
	const struct ibv_recv_wr *bad;
	struct ibv_wc wc[4];
	struct vl_pd *domain;
	struct vl_qp *here, *there;

	CU_ASSERT_TRUE_FATAL(endpoint_open(&endpoint, 1));
	CU_ASSERT_TRUE_FATAL(endpoint_open(&peer, 2));
	domain = vl_alloc_pd(endpoint.device, NULL);
	mr = vl_reg_mr(domain, endpoint.arena, 4096, 0, IBV_ACCESS_LOCAL_WRITE, NULL);
	srq = vl_create_srq(domain, &srq_attr, NULL);
	init = qp_init(&endpoint, IBV_QPT_RC);
	init.srq = srq;
	here = vl_create_qp(endpoint.pd, &init, NULL);
	there = make_qp(&peer, IBV_QPT_RC);
	attr = qp_attr(2, vl_qp_number(there), 10, 20);
	CU_ASSERT_EQUAL(bring_up(here, IBV_QPT_RC, &attr, IBV_QPS_RTS), 0);
	attr = qp_attr(1, vl_qp_number(here), 20, 10);
	CU_ASSERT_EQUAL(bring_up(there, IBV_QPT_RC, &attr, IBV_QPS_RTS), 0);
	sge = (struct ibv_sge){.addr = 0, .length = 4096, .lkey = mr->lkey};
	CU_ASSERT_EQUAL(vl_post_srq_recv(srq, &wr, &bad), 0);
	memset(peer.arena, 0x77, 3000);
	CU_ASSERT_EQUAL(post_send(there, 6, arena_sge(&peer, 0, 3000)), 0);
	exchange(&endpoint, &peer, 0);
	CU_ASSERT_EQUAL(vl_poll_cq(endpoint.recv_cq, 4, wc), 1);
	CU_ASSERT_EQUAL(wc[0].status, IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(wc[0].wr_id, 5);
	CU_ASSERT_EQUAL(wc[0].byte_len, 3000);
	CU_ASSERT_EQUAL(memcmp(endpoint.arena, peer.arena, 3000), 0);
	CU_ASSERT_EQUAL(vl_poll_cq(peer.send_cq, 4, wc), 1);
	CU_ASSERT_EQUAL(wc[0].status, IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(endpoint_close(&peer), 0);
	teardown();
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"limits", check_limits},           {"taking", check_taking},
		{"limit_event", check_limit_event}, {"error", check_error},
		{"messages", check_messages},
	};

	return RUN_SUITE("object_srq", tests, argc, argv);
}
