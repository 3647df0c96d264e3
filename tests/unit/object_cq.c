/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Completion queues: order, resizing, notification, overflow. */

#include "tests/support/endpoint.h"
#include "tests/support/suite.h"
#include "transport/object/object.h"

static struct endpoint endpoint;

static void setup(void)
{
	CU_ASSERT_TRUE_FATAL(endpoint_open(&endpoint, 1));
}

static void teardown(void)
{
	CU_ASSERT_EQUAL(endpoint_close(&endpoint), 0);
}

static void add(struct vl_cq *cq, uint64_t wr_id, enum ibv_wc_status status, bool solicited)
{
	const struct ibv_wc wc = {.wr_id = wr_id, .status = status, .qp_num = (uint32_t)wr_id % 3};

	vl_cq_add(cq, &wc, solicited);
}

static void check_order_and_resize(void)
{
	struct ibv_wc wc[64];
	struct vl_cq *cq;
	int error = 0, polled;
	uint64_t next_in = 0, next_out = 0;

	setup();
	CU_ASSERT_PTR_NULL(vl_create_cq(endpoint.device, 0, NULL, &error));
	CU_ASSERT_EQUAL(error, -EINVAL);
	CU_ASSERT_PTR_NULL(vl_create_cq(endpoint.device, 4194304, NULL, &error));
	CU_ASSERT_EQUAL(error, -EINVAL);
	cq = vl_create_cq(endpoint.device, 20, &endpoint, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(cq);
	CU_ASSERT_PTR_EQUAL(vl_cq_context(cq), &endpoint);
	CU_ASSERT_EQUAL(vl_poll_cq(cq, 4, wc), 0);
	CU_ASSERT_EQUAL(vl_poll_cq(cq, -1, wc), -EINVAL);
	for (int round = 0; round < 40; round++) {
		for (int i = 0; i < 15; i++)
			add(cq, next_in++, IBV_WC_SUCCESS, false);
		if (round % 4 == 1) {
			CU_ASSERT_EQUAL(vl_resize_cq(cq, 14), -EINVAL);
			CU_ASSERT_EQUAL(vl_resize_cq(cq, round % 8 == 1 ? 50 : 16), 0);
		}
		CU_ASSERT_EQUAL(vl_poll_cq(cq, 0, wc), 0);
		polled = vl_poll_cq(cq, 7, wc);
		CU_ASSERT_EQUAL(polled, 7);
		polled += vl_poll_cq(cq, 50, wc + polled);
		CU_ASSERT_EQUAL(polled, 15);
		for (int i = 0; i < polled; i++)
			CU_ASSERT_EQUAL(wc[i].wr_id, next_out++);
	}
	CU_ASSERT_EQUAL(next_in, next_out);
	CU_ASSERT_EQUAL(vl_resize_cq(cq, 0), -EINVAL);
	endpoint.memory.fail_at = 1;
	CU_ASSERT_EQUAL(vl_resize_cq(cq, 100), -ENOMEM);
	CU_ASSERT_EQUAL(vl_destroy_cq(cq), 0);
	teardown();
}

static void check_notification(void)
{
	struct vl_cq *cq;

	setup();
	cq = vl_create_cq(endpoint.device, 64, NULL, NULL);
	add(cq, 0, IBV_WC_SUCCESS, true);
	CU_ASSERT_EQUAL(endpoint.completion_count, 0);
	vl_req_notify_cq(cq, false);
	CU_ASSERT_EQUAL(endpoint.completion_count, 0);
	add(cq, 1, IBV_WC_SUCCESS, false);
	CU_ASSERT_EQUAL(endpoint.completion_count, 1);
	add(cq, 2, IBV_WC_SUCCESS, false); /* once for each arming */
	CU_ASSERT_EQUAL(endpoint.completion_count, 1);
	vl_req_notify_cq(cq, true);
	add(cq, 3, IBV_WC_SUCCESS, false);
	CU_ASSERT_EQUAL(endpoint.completion_count, 1);
	add(cq, 4, IBV_WC_SUCCESS, true);
	CU_ASSERT_EQUAL(endpoint.completion_count, 2);
	vl_req_notify_cq(cq, true);
	add(cq, 5, IBV_WC_RETRY_EXC_ERR, false); /* failures are solicited */
	CU_ASSERT_EQUAL(endpoint.completion_count, 3);
	vl_req_notify_cq(cq, false);
	vl_req_notify_cq(cq, true); /* does not weaken the first */
	add(cq, 6, IBV_WC_SUCCESS, false);
	CU_ASSERT_EQUAL(endpoint.completion_count, 4);
	add(cq, 7, IBV_WC_SUCCESS, true);
	CU_ASSERT_EQUAL(endpoint.completion_count, 4);
	teardown();
}

static void poll_once(struct endpoint *owner, struct vl_cq *cq)
{
	struct ibv_wc wc;

	*(int *)owner->user += vl_poll_cq(cq, 1, &wc);
	vl_req_notify_cq(cq, false);
}

static void check_polling_from_the_callback(void)
{
	struct vl_cq *cq;
	int polled = 0;

	setup();
	endpoint.on_completion = poll_once;
	endpoint.user = &polled;
	cq = vl_create_cq(endpoint.device, 1, NULL, NULL);
	vl_req_notify_cq(cq, false);
	for (uint64_t i = 0; i < 10; i++)
		add(cq, i, IBV_WC_SUCCESS, false);
	CU_ASSERT_EQUAL(polled, 10);
	CU_ASSERT_EQUAL(endpoint.event_count, 0);
	teardown();
}

static void check_purge(void)
{
	static const uint64_t kept[] = {9, 11, 12, 14, 15, 17, 18};
	struct ibv_wc wc[16];
	struct vl_cq *cq;

	setup();
	cq = vl_create_cq(endpoint.device, 16, NULL, NULL);
	for (uint64_t i = 0; i < 13; i++)
		add(cq, i, IBV_WC_SUCCESS, false);
	CU_ASSERT_EQUAL(vl_poll_cq(cq, 9, wc), 9);
	for (uint64_t i = 13; i < 20; i++)
		add(cq, i, IBV_WC_SUCCESS, false);
	vl_cq_purge(cq, 1);
	/* 9 to 19 without 10, 13, 16, 19. */
	CU_ASSERT_EQUAL(vl_poll_cq(cq, 16, wc), 7);
	for (int i = 0; i < 7; i++)
		CU_ASSERT_EQUAL(wc[i].wr_id, kept[i]);
	teardown();
}

/* A CQ with room for 4 takes a fifth completion: it fails, and all that report to it. */
static void check_overflow(void)
{
	struct vl_qp_init_attr init;
	struct ibv_qp_attr attr = qp_attr(2, 99, 0, 0);
	struct vl_qp *first, *second, *bystander;
	struct ibv_wc wc[8];
	struct vl_cq *cq;

	setup();
	cq = vl_create_cq(endpoint.device, 4, NULL, NULL);
	init = qp_init(&endpoint, IBV_QPT_UC);
	init.recv_cq = cq;
	first = vl_create_qp(endpoint.pd, &init, NULL);
	init = qp_init(&endpoint, IBV_QPT_RC);
	init.send_cq = cq;
	second = vl_create_qp(endpoint.pd, &init, NULL);
	bystander = make_qp(&endpoint, IBV_QPT_RC);
	CU_ASSERT_EQUAL(bring_up(first, IBV_QPT_UC, &attr, IBV_QPS_RTS), 0);
	CU_ASSERT_EQUAL(bring_up(second, IBV_QPT_RC, &attr, IBV_QPS_RTS), 0);
	CU_ASSERT_EQUAL(bring_up(bystander, IBV_QPT_RC, &attr, IBV_QPS_RTS), 0);
	for (uint64_t i = 0; i < 6; i++)
		CU_ASSERT_EQUAL(post_receive(first, 100 + i, arena_sge(&endpoint, 0, 64)), 0);
	CU_ASSERT_EQUAL(post_receive(second, 200, arena_sge(&endpoint, 0, 64)), 0);
	CU_ASSERT_EQUAL(post_send(second, 300, arena_sge(&endpoint, 0, 64)), 0);

	CU_ASSERT_EQUAL(set_state(first, IBV_QPS_ERR), 0);
	CU_ASSERT_EQUAL(count_events(&endpoint, IBV_EVENT_CQ_ERR), 1);
	CU_ASSERT_PTR_EQUAL(endpoint.events[0].object, cq);
	CU_ASSERT_EQUAL(vl_qp_state(second), IBV_QPS_ERR);
	CU_ASSERT_EQUAL(vl_qp_state(bystander), IBV_QPS_RTS);
	CU_ASSERT_EQUAL(count_events(&endpoint, IBV_EVENT_QP_FATAL), 1);
	/* What was queued before can be polled, then the CQ says that it failed. */
	CU_ASSERT_EQUAL(vl_poll_cq(cq, 8, wc), 4);
	for (int i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(wc[i].wr_id, (uint64_t)(100 + i));
	CU_ASSERT_EQUAL(vl_poll_cq(cq, 8, wc), -EIO);
	CU_ASSERT_EQUAL(vl_poll_cq(cq, 8, wc), -EIO);
	CU_ASSERT_EQUAL(vl_poll_cq(cq, 0, wc), 0);
	/* The other queues of the QPs that went down flush to CQs that work. */
	CU_ASSERT_EQUAL(vl_poll_cq(endpoint.recv_cq, 8, wc), 1);
	CU_ASSERT_EQUAL(wc[0].wr_id, 200);
	CU_ASSERT_EQUAL(wc[0].status, IBV_WC_WR_FLUSH_ERR);
	teardown();
}

/* The completion that overflows the CQ is one of a message that arrives, or of a request that is
 * acknowledged: the QP fails under its service's hands, and sends nothing more. */
static void check_overflow_in_service(enum ibv_qp_type type, bool at_receiver)
{
	struct vl_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct endpoint peer;
	struct vl_qp *here, *there;
	uint8_t frame[FRAME_CAPACITY];
	struct ibv_wc wc[4];
	struct vl_cq *cq;
	uint32_t length;

	setup();
	CU_ASSERT_TRUE_FATAL(endpoint_open(&peer, 2));
	init = qp_init(&endpoint, type);
	cq = vl_create_cq(endpoint.device, 2, NULL, NULL);
	if (at_receiver)
		init.recv_cq = cq;
	else
		init.send_cq = cq;
	here = vl_create_qp(endpoint.pd, &init, NULL);
	there = make_qp(&peer, type);
	attr = qp_attr(2, vl_qp_number(there), 1, 2);
	CU_ASSERT_EQUAL(bring_up(here, type, &attr, IBV_QPS_RTS), 0);
	attr = qp_attr(1, vl_qp_number(here), 2, 1);
	CU_ASSERT_EQUAL(bring_up(there, type, &attr, IBV_QPS_RTS), 0);
	for (uint64_t i = 0; i < 5; i++) {
		CU_ASSERT_EQUAL(post_receive(there, i, arena_sge(&peer, 0, 64)), 0);
		CU_ASSERT_EQUAL(post_receive(here, i, arena_sge(&endpoint, 0, 64)), 0);
		CU_ASSERT_EQUAL(at_receiver ? post_send(there, i, arena_sge(&peer, 0, 64))
					    : post_send(here, i, arena_sge(&endpoint, 0, 64)),
				0);
	}
	for (bool busy = true; busy && vl_qp_state(here) != IBV_QPS_ERR;) {
		busy = false;
		while ((length = take_frame(&endpoint, frame, 0))) {
			CU_ASSERT_NOT_EQUAL(vl_qp_state(here), IBV_QPS_ERR);
			deliver_frame(&peer, frame, length, 0);
			busy = true;
		}
		length = take_frame(&peer, frame, 0);
		if (length) {
			deliver_frame(&endpoint, frame, length, 0);
			busy = true;
		}
	}
	CU_ASSERT_EQUAL(vl_qp_state(here), IBV_QPS_ERR);
	CU_ASSERT_EQUAL(count_events(&endpoint, IBV_EVENT_CQ_ERR), 1);
	CU_ASSERT_EQUAL(count_events(&endpoint, IBV_EVENT_QP_FATAL), 1);
	CU_ASSERT_EQUAL(take_frame(&endpoint, frame, 0), 0);
	CU_ASSERT_EQUAL(vl_next_deadline(endpoint.device), VL_NO_DEADLINE);
	CU_ASSERT_EQUAL(vl_poll_cq(cq, 4, wc), 2);
	CU_ASSERT_EQUAL(vl_poll_cq(cq, 4, wc), -EIO);
	CU_ASSERT_EQUAL(here->requester.queue.head, here->requester.queue.tail);
	CU_ASSERT_EQUAL(here->requester.queue.next, here->requester.queue.tail);
	CU_ASSERT_EQUAL(here->responder.queue.head, here->responder.queue.tail);
	CU_ASSERT_EQUAL(endpoint_close(&peer), 0);
	teardown();
}

static void check_overflow_of_messages(void)
{
	check_overflow_in_service(IBV_QPT_RC, true);
	check_overflow_in_service(IBV_QPT_RC, false);
	check_overflow_in_service(IBV_QPT_UC, true);
	check_overflow_in_service(IBV_QPT_UC, false);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"order_and_resize", check_order_and_resize},
		{"notification", check_notification},
		{"polling_from_the_callback", check_polling_from_the_callback},
		{"purge", check_purge},
		{"overflow", check_overflow},
		{"overflow_of_messages", check_overflow_of_messages},
	};

	return RUN_SUITE("object_cq", tests, argc, argv);
}
