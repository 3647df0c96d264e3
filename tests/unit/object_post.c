/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Posting: what is refused, what is copied, which PSNs it gets; flushing, draining. */

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

static struct vl_qp *make_in(enum ibv_qp_type type, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = qp_attr(2, 99, 0, 0xfffffe);
	struct vl_qp *qp = make_qp(&endpoint, type);

	CU_ASSERT_PTR_NOT_NULL_FATAL(qp);
	CU_ASSERT_EQUAL(bring_up(qp, type, &attr, state > IBV_QPS_RTS ? IBV_QPS_RTS : state), 0);
	if (state > IBV_QPS_RTS)
		CU_ASSERT_EQUAL(set_state(qp, state), 0);
	return qp;
}

/* A good request of each operation, to be spoiled. */
static struct ibv_send_wr good_request(enum ibv_wr_opcode opcode, struct ibv_sge *sges,
				       struct ibv_ah *ah)
{
	struct ibv_send_wr wr = {.wr_id = 1, .sg_list = sges, .num_sge = 2, .opcode = opcode};

	sges[0] = arena_sge(&endpoint, 0, 3);
	sges[1] = arena_sge(&endpoint, 100, 5);
	if (ah) {
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = 77;
		wr.wr.ud.remote_qkey = 5;
	}
	return wr;
}

static void check_operations_by_service(void)
{
	/* Bits: RC, UC, UD. FLUSH (14) has a call of its own; 10 to 13 are nothing of ours. */
	static const uint8_t allowed[16] = {
		[IBV_WR_RDMA_WRITE] = 3,
		[IBV_WR_RDMA_WRITE_WITH_IMM] = 3,
		[IBV_WR_SEND] = 7,
		[IBV_WR_SEND_WITH_IMM] = 7,
		[IBV_WR_RDMA_READ] = 1,
		[IBV_WR_ATOMIC_CMP_AND_SWP] = 1,
		[IBV_WR_ATOMIC_FETCH_AND_ADD] = 1,
		[IBV_WR_LOCAL_INV] = 1,
		[IBV_WR_BIND_MW] = 1,
		[IBV_WR_SEND_WITH_INV] = 1,
		[IBV_WR_ATOMIC_WRITE] = 1,
	};
	static const enum ibv_qp_type types[] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD};
	struct ibv_qp_attr attr = qp_attr(2, 99, 0, 0);
	struct ibv_ah *ah;
	struct ibv_mw *mw;

	setup();
	ah = vl_create_ah(endpoint.pd, &attr.ah_attr, NULL);
	mw = vl_alloc_mw(endpoint.pd, IBV_MW_TYPE_2, NULL);
	for (unsigned int opcode = 0; opcode < 20; opcode++) {
		for (int type = 0; type < 3; type++) {
			struct vl_qp *qp = make_in(types[type], IBV_QPS_RTS);
			struct ibv_sge sges[2];
			struct ibv_send_wr wr = good_request((enum ibv_wr_opcode)opcode, sges,
							     type == 2 ? ah : NULL);
			bool good = opcode < 16 && allowed[opcode] & 1 << type;

			if (opcode == IBV_WR_BIND_MW)
				wr.bind_mw.mw = mw;
			CU_ASSERT_EQUAL(post(qp, &wr), good ? 0 : -EINVAL);
			vl_destroy_qp(qp);
		}
	}
	teardown();
}

static void check_refusals(void)
{
	struct ibv_qp_attr attr = qp_attr(2, 99, 0, 0);
	struct ibv_ah *ah, *foreign;
	struct ibv_sge sges[5];

	setup();
	ah = vl_create_ah(endpoint.pd, &attr.ah_attr, NULL);
	foreign = vl_create_ah(vl_alloc_pd(endpoint.device, NULL), &attr.ah_attr, NULL);
#define TRY(type, operation, change, expected)                                                     \
	do {                                                                                       \
		struct vl_qp *qp = make_in(type, IBV_QPS_RTS);                                     \
		struct ibv_send_wr wr =                                                            \
			good_request(operation, sges, (type) == IBV_QPT_UD ? ah : NULL);           \
                                                                                                   \
		change;                                                                            \
		CU_ASSERT_EQUAL(post(qp, &wr), expected);                                          \
		vl_destroy_qp(qp);                                                                 \
	} while (0)
	TRY(IBV_QPT_RC, IBV_WR_SEND, wr.num_sge = -1, -EINVAL);
	TRY(IBV_QPT_RC, IBV_WR_SEND, wr.num_sge = 5, -EINVAL);
	TRY(IBV_QPT_RC, IBV_WR_SEND, wr.sg_list = NULL, -EINVAL);
	TRY(IBV_QPT_RC, IBV_WR_SEND, (wr.sg_list = NULL, wr.num_sge = 0), 0);
	TRY(IBV_QPT_RC, IBV_WR_SEND, wr.send_flags = IBV_SEND_IP_CSUM, -EINVAL);
	TRY(IBV_QPT_RC, IBV_WR_SEND, wr.send_flags = 1u << 8, -EINVAL);
	/* 2^31 bytes in all, and no more, nor a sum that wraps. */
	TRY(IBV_QPT_RC, IBV_WR_SEND, (sges[0].length = 1u << 31, sges[1].length = 0), 0);
	TRY(IBV_QPT_RC, IBV_WR_SEND, (sges[0].length = 1u << 31, sges[1].length = 1), -EINVAL);
	TRY(IBV_QPT_RC, IBV_WR_RDMA_READ,
	    (sges[0].length = UINT32_MAX, sges[1].length = UINT32_MAX), -EINVAL);
	TRY(IBV_QPT_RC, IBV_WR_SEND, (sges[0].length = 1u << 31, sges[1].length = 1u << 31),
	    -EINVAL);
	/* Inline: only what goes out, and only as much as there is room for. */
	TRY(IBV_QPT_RC, IBV_WR_SEND, wr.send_flags = IBV_SEND_INLINE, 0);
	TRY(IBV_QPT_RC, IBV_WR_RDMA_WRITE,
	    (wr.send_flags = IBV_SEND_INLINE, sges[0].length = 32, sges[1].length = 32), 0);
	TRY(IBV_QPT_RC, IBV_WR_RDMA_WRITE,
	    (wr.send_flags = IBV_SEND_INLINE, sges[0].length = 33, sges[1].length = 32), -EINVAL);
	TRY(IBV_QPT_RC, IBV_WR_RDMA_READ, wr.send_flags = IBV_SEND_INLINE, -EINVAL);
	TRY(IBV_QPT_RC, IBV_WR_ATOMIC_FETCH_AND_ADD, wr.send_flags = IBV_SEND_INLINE, -EINVAL);
	TRY(IBV_QPT_RC, IBV_WR_ATOMIC_WRITE, wr.send_flags = IBV_SEND_INLINE, 0);
	/* Eight bytes. */
	TRY(IBV_QPT_RC, IBV_WR_ATOMIC_CMP_AND_SWP, sges[0].length = 4, -EINVAL);
	TRY(IBV_QPT_RC, IBV_WR_ATOMIC_FETCH_AND_ADD, wr.num_sge = 1, -EINVAL);
	TRY(IBV_QPT_RC, IBV_WR_ATOMIC_WRITE, wr.num_sge = 0, -EINVAL);
	TRY(IBV_QPT_RC, IBV_WR_BIND_MW, wr.bind_mw.mw = NULL, -EINVAL);
	/* A datagram fits one packet; its address is of the QP's domain. */
	TRY(IBV_QPT_UD, IBV_WR_SEND, (sges[0].length = 4090, sges[1].length = 6), 0);
	TRY(IBV_QPT_UD, IBV_WR_SEND, (sges[0].length = 4090, sges[1].length = 7), -EINVAL);
	TRY(IBV_QPT_UD, IBV_WR_SEND, wr.wr.ud.ah = NULL, -EINVAL);
	TRY(IBV_QPT_UD, IBV_WR_SEND, wr.wr.ud.ah = foreign, -EINVAL);
	TRY(IBV_QPT_UD, IBV_WR_SEND, wr.wr.ud.remote_qpn = 1u << 24, -EINVAL);
#undef TRY
	teardown();
}

static void check_no_reads_granted(void)
{
	struct ibv_qp_attr attr = qp_attr(2, 99, 0, 0);
	struct ibv_sge sges[2];
	struct ibv_send_wr wr;
	struct vl_qp *qp;

	setup();
	attr.max_rd_atomic = 0;
	qp = make_qp(&endpoint, IBV_QPT_RC);
	CU_ASSERT_EQUAL(bring_up(qp, IBV_QPT_RC, &attr, IBV_QPS_RTS), 0);
	wr = good_request(IBV_WR_RDMA_READ, sges, NULL);
	CU_ASSERT_EQUAL(post(qp, &wr), -EINVAL);
	wr = good_request(IBV_WR_ATOMIC_WRITE, sges, NULL);
	CU_ASSERT_EQUAL(post(qp, &wr), -EINVAL);
	CU_ASSERT_EQUAL(vl_post_flush(qp, 1, 0, 1, 0, 8, VL_PLACEMENT_GLOBAL, 0, 0), -EINVAL);
	wr = good_request(IBV_WR_RDMA_WRITE, sges, NULL);
	CU_ASSERT_EQUAL(post(qp, &wr), 0);
	teardown();
}

static void check_flush_verb(void)
{
	struct vl_qp *rc, *uc;

	setup();
	rc = make_in(IBV_QPT_RC, IBV_QPS_RTS);
	uc = make_in(IBV_QPT_UC, IBV_QPS_RTS);
	CU_ASSERT_EQUAL(vl_post_flush(uc, 1, 0, 1, 0, 8, 1, 0, 0), -EINVAL);
	CU_ASSERT_EQUAL(vl_post_flush(rc, 1, 0, 1, 0, 8, 0, 0, 0), -EINVAL);
	CU_ASSERT_EQUAL(vl_post_flush(rc, 1, 0, 1, 0, 8, 4, 0, 0), -EINVAL);
	CU_ASSERT_EQUAL(vl_post_flush(rc, 1, 0, 1, 0, 8, 1, 2, 0), -EINVAL);
	CU_ASSERT_EQUAL(vl_post_flush(rc, 1, IBV_SEND_INLINE, 1, 0, 8, 1, 0, 0), -EINVAL);
	CU_ASSERT_EQUAL(vl_post_flush(rc, 1, 0, 1, 0, (1u << 31) + 1, 1, 0, 0), -EINVAL);
	CU_ASSERT_EQUAL(vl_post_flush(rc, 1, 0, 1, 0, 1u << 31, 3, 1, 0), 0);
	for (int i = 1; i < 16; i++)
		CU_ASSERT_EQUAL(vl_post_flush(rc, 1, 0, 1, 0, 8, 1, 0, 0), 0);
	CU_ASSERT_EQUAL(vl_post_flush(rc, 1, 0, 1, 0, 8, 1, 0, 0), -ENOMEM);
	teardown();
}

static void check_states(void)
{
	static const struct {
		enum ibv_qp_state state;
		int send, receive;
	} cases[] = {
		{IBV_QPS_RESET, -EINVAL, -EINVAL},
		{IBV_QPS_INIT, -EINVAL, 0},
		{IBV_QPS_RTR, -EINVAL, 0},
		{IBV_QPS_RTS, 0, 0},
		{IBV_QPS_SQD, 0, 0},
		{IBV_QPS_ERR, 0, 0},
	};

	setup();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct vl_qp *qp = make_in(IBV_QPT_RC, cases[i].state);

		CU_ASSERT_EQUAL(post_send(qp, 1, arena_sge(&endpoint, 0, 8)), cases[i].send);
		CU_ASSERT_EQUAL(post_receive(qp, 1, arena_sge(&endpoint, 0, 8)), cases[i].receive);
		vl_destroy_qp(qp);
	}
	teardown();
}

/* Requests before the one that is refused are taken; a full queue takes none. */
static void check_chains(void)
{
	struct ibv_send_wr wr[20];
	struct ibv_recv_wr recv[20];
	const struct ibv_send_wr *bad = NULL;
	const struct ibv_recv_wr *bad_recv = NULL;
	struct vl_qp *qp;

	setup();
	qp = make_in(IBV_QPT_RC, IBV_QPS_SQD);
	for (int i = 0; i < 20; i++) {
		wr[i] = (struct ibv_send_wr){.wr_id = (uint64_t)i,
					     .next = i < 19 ? &wr[i + 1] : NULL,
					     .opcode = IBV_WR_SEND};
		recv[i] = (struct ibv_recv_wr){.wr_id = (uint64_t)i,
					       .next = i < 19 ? &recv[i + 1] : NULL};
	}
	wr[2].num_sge = 99;
	CU_ASSERT_EQUAL(vl_post_send(qp, wr, &bad, 0), -EINVAL);
	CU_ASSERT_PTR_EQUAL(bad, &wr[2]);
	CU_ASSERT_EQUAL(qp->requester.queue.tail, 2);
	CU_ASSERT_EQUAL(vl_post_send(qp, wr + 3, &bad, 0), -ENOMEM);
	CU_ASSERT_PTR_EQUAL(bad, &wr[3 + 14]);
	CU_ASSERT_EQUAL(vl_post_send(qp, wr + 19, &bad, 0), -ENOMEM);
	recv[4].num_sge = 5;
	CU_ASSERT_EQUAL(vl_post_recv(qp, recv, &bad_recv), -EINVAL);
	CU_ASSERT_PTR_EQUAL(bad_recv, &recv[4]);
	CU_ASSERT_EQUAL(vl_receive_available(qp), 4);
	CU_ASSERT_EQUAL(vl_post_recv(qp, recv + 5, &bad_recv), -ENOMEM);
	CU_ASSERT_PTR_EQUAL(bad_recv, &recv[5 + 12]);
	CU_ASSERT_EQUAL(vl_receive_available(qp), 16);
	teardown();
}

/* PSNs and send sequence numbers as IBTA 9.7.7.2 and C9-74 count them; path MTU 1024. */
static void check_numbering(void)
{
	static const struct {
		enum ibv_wr_opcode opcode;
		uint32_t length;
		uint32_t packets, ssn;
		bool credit, answered;
	} cases[] = {
		{IBV_WR_SEND, 0, 1, 1, true, false},
		{IBV_WR_SEND, 1024, 1, 2, true, false},
		{IBV_WR_SEND_WITH_IMM, 1025, 2, 3, true, false},
		{IBV_WR_RDMA_WRITE, 4096, 4, 4, false, false},
		{IBV_WR_RDMA_WRITE_WITH_IMM, 4097, 5, 5, true, false},
		{IBV_WR_RDMA_READ, 10000, 10, 6, false, true},
		{IBV_WR_RDMA_READ, 0, 1, 7, false, true},
		{IBV_WR_LOCAL_INV, 0, 0, 7, false, false},
		{IBV_WR_ATOMIC_CMP_AND_SWP, 8, 1, 8, false, true},
		{IBV_WR_ATOMIC_FETCH_AND_ADD, 8, 1, 9, false, true},
		{IBV_WR_ATOMIC_WRITE, 8, 1, 10, false, true},
		{IBV_WR_SEND_WITH_INV, 1u << 31, 1u << 21, 11, true, false},
		{IBV_WR_SEND, 5, 1, 12, true, false},
	};
	uint32_t psn = 0xfffffe;
	struct vl_qp *qp;

	setup();
	qp = make_in(IBV_QPT_RC, IBV_QPS_SQD);
	for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ibv_sge sge = arena_sge(&endpoint, 0, cases[i].length);
		struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = cases[i].opcode};
		const struct vl_send *send;

		CU_ASSERT_EQUAL(post(qp, &wr), 0);
		send = vl_send_at(&qp->requester.queue, i);
		CU_ASSERT_EQUAL(send->first_psn, psn);
		CU_ASSERT_EQUAL(send->packet_count, cases[i].packets);
		CU_ASSERT_EQUAL(send->ssn, cases[i].ssn);
		CU_ASSERT_EQUAL(send->consumes_credit, cases[i].credit);
		CU_ASSERT_EQUAL(send->is_read_or_atomic, cases[i].answered);
		psn = (psn + cases[i].packets) & 0xffffff;
	}
	CU_ASSERT_EQUAL(vl_post_flush(qp, 1, 0, 1, 0, 1u << 30, 1, 0, 0), 0);
	CU_ASSERT_EQUAL(qp->requester.post_psn, (psn + 1) & 0xffffff);
	CU_ASSERT_EQUAL(qp->requester.post_ssn, 13);
	teardown();
}

/* The bytes at the time of the post, whatever becomes of the buffer, without a key. */
static void check_inline_is_copied(void)
{
	uint8_t first[10] = "0123456789", second[20] = "abcdefghijklmnopqrs", frame[FRAME_CAPACITY];
	struct ibv_sge sges[2] = {{.addr = (uintptr_t)first, .length = 10, .lkey = 0xbad},
				  {.addr = (uintptr_t)second, .length = 20, .lkey = 0xbad}};
	struct ibv_send_wr wr = {.sg_list = sges,
				 .num_sge = 2,
				 .opcode = IBV_WR_SEND,
				 .send_flags = IBV_SEND_INLINE};
	uint32_t length;
	struct vl_qp *qp;

	setup();
	qp = make_in(IBV_QPT_RC, IBV_QPS_RTS);
	CU_ASSERT_EQUAL(post(qp, &wr), 0);
	memset(first, 0, sizeof(first));
	memset(second, 0, sizeof(second));
	length = take_frame(&endpoint, frame, 0);
	CU_ASSERT_EQUAL(length, 14 + 20 + 8 + 12 + 30 + 2 + 4);
	CU_ASSERT_EQUAL(memcmp(frame + 54, "0123456789abcdefghijklmnopqrs", 30), 0);
	teardown();
}

/* ERR: all outstanding requests, signalled or not, oldest first; later posts at once. */
static void check_flush_order(void)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND};
	struct ibv_wc wc[32];
	struct vl_qp *qp;

	setup();
	qp = make_in(IBV_QPT_RC, IBV_QPS_RTS);
	for (uint64_t i = 0; i < 5; i++) {
		wr.wr_id = 10 + i;
		wr.opcode = i == 3 ? IBV_WR_RDMA_READ : IBV_WR_SEND;
		wr.send_flags = i & 1 ? IBV_SEND_SIGNALED : 0;
		CU_ASSERT_EQUAL(post(qp, &wr), 0);
		CU_ASSERT_EQUAL(post_receive(qp, 20 + i, arena_sge(&endpoint, 0, 8)), 0);
	}
	CU_ASSERT_EQUAL(set_state(qp, IBV_QPS_ERR), 0);
	wr.wr_id = 15;
	CU_ASSERT_EQUAL(post(qp, &wr), 0);
	CU_ASSERT_EQUAL(post_receive(qp, 25, arena_sge(&endpoint, 0, 8)), 0);
	CU_ASSERT_EQUAL(vl_poll_cq(endpoint.send_cq, 32, wc), 6);
	for (int i = 0; i < 6; i++) {
		CU_ASSERT_EQUAL(wc[i].wr_id, (uint64_t)(10 + i));
		CU_ASSERT_EQUAL(wc[i].status, IBV_WC_WR_FLUSH_ERR);
		CU_ASSERT_EQUAL(wc[i].qp_num, vl_qp_number(qp));
		CU_ASSERT_EQUAL(wc[i].opcode, i == 3 ? IBV_WC_RDMA_READ : IBV_WC_SEND);
	}
	CU_ASSERT_EQUAL(vl_poll_cq(endpoint.recv_cq, 32, wc), 6);
	for (int i = 0; i < 6; i++) {
		CU_ASSERT_EQUAL(wc[i].wr_id, (uint64_t)(20 + i));
		CU_ASSERT_EQUAL(wc[i].status, IBV_WC_WR_FLUSH_ERR);
		CU_ASSERT_TRUE(wc[i].opcode & IBV_WC_RECV);
	}
	CU_ASSERT_EQUAL(vl_qp_counters(qp)->message_fail, 6);
	CU_ASSERT_EQUAL(vl_qp_counters(qp)->message_tx, 0);
	CU_ASSERT_EQUAL(endpoint.event_count, 0);
	teardown();
}

/* The owner polls and posts inside the callback of the first flushed completion. */
static void post_more(struct endpoint *owner, struct vl_cq *cq)
{
	(void)cq;
	CU_ASSERT_EQUAL(post_send(owner->user, 99, arena_sge(owner, 0, 8)), 0);
}

static void check_posting_while_flushing(void)
{
	struct ibv_wc wc[8];
	struct vl_qp *qp;

	setup();
	qp = make_in(IBV_QPT_RC, IBV_QPS_RTS);
	for (uint64_t i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(post_send(qp, i, arena_sge(&endpoint, 0, 8)), 0);
	endpoint.on_completion = post_more;
	endpoint.user = qp;
	vl_req_notify_cq(endpoint.send_cq, false);
	CU_ASSERT_EQUAL(set_state(qp, IBV_QPS_ERR), 0);
	CU_ASSERT_EQUAL(endpoint.completion_count, 1);
	CU_ASSERT_EQUAL(vl_poll_cq(endpoint.send_cq, 8, wc), 5);
	for (int i = 0; i < 5; i++)
		CU_ASSERT_EQUAL(wc[i].wr_id, i < 4 ? (uint64_t)i : 99);
	teardown();
}

/* A callback that answers each flushed completion with a post makes a loop, not a descent. */
static void post_many(struct endpoint *owner, struct vl_cq *cq)
{
	struct ibv_wc wc;

	CU_ASSERT_EQUAL(vl_poll_cq(cq, 1, &wc), 1);
	vl_req_notify_cq(cq, false);
	if (owner->completion_count < 200000)
		CU_ASSERT_EQUAL(post_send(owner->user, 1, arena_sge(owner, 0, 8)), 0);
}

static void check_posting_without_end(void)
{
	struct vl_qp *qp;

	setup();
	qp = make_in(IBV_QPT_RC, IBV_QPS_ERR);
	endpoint.on_completion = post_many;
	endpoint.user = qp;
	vl_req_notify_cq(endpoint.send_cq, false);
	CU_ASSERT_EQUAL(post_send(qp, 0, arena_sge(&endpoint, 0, 8)), 0);
	CU_ASSERT_EQUAL(endpoint.completion_count, 200000);
	teardown();
}

/* An acknowledgement that was due, a request to be repeated: neither leaves in ERR. */
static void check_error_stops_sending(void)
{
	struct endpoint peer;
	uint8_t frame[FRAME_CAPACITY];
	struct vl_qp *qps[2];
	uint32_t length;

	setup();
	CU_ASSERT_TRUE_FATAL(endpoint_open(&peer, 2));
	CU_ASSERT_TRUE_FATAL(connect_pair(&endpoint, &peer, IBV_QPT_RC, 7, 8, qps));
	CU_ASSERT_EQUAL(post_receive(qps[1], 1, arena_sge(&peer, 0, 100)), 0);
	CU_ASSERT_EQUAL(post_send(qps[0], 0, arena_sge(&endpoint, 0, 8)), 0);
	length = take_frame(&endpoint, frame, 0);
	deliver_frame(&peer, frame, length, 0);
	CU_ASSERT_NOT_EQUAL(vl_next_deadline(endpoint.device), VL_NO_DEADLINE);
	CU_ASSERT_EQUAL(vl_next_deadline(peer.device), 0);
	CU_ASSERT_EQUAL(set_state(qps[0], IBV_QPS_ERR), 0);
	CU_ASSERT_EQUAL(set_state(qps[1], IBV_QPS_ERR), 0);
	CU_ASSERT_EQUAL(vl_next_deadline(endpoint.device), VL_NO_DEADLINE);
	CU_ASSERT_EQUAL(vl_next_deadline(peer.device), VL_NO_DEADLINE);
	CU_ASSERT_EQUAL(take_frame(&peer, frame, 0), 0);
	CU_ASSERT_EQUAL(take_frame(&endpoint, frame, 1000000000), 0);
	CU_ASSERT_EQUAL(endpoint_close(&peer), 0);
	teardown();
}

static void check_all_signalled(void)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND};
	struct ibv_qp_attr attr = qp_attr(2, 99, 0, 0);
	uint8_t frame[FRAME_CAPACITY];
	struct ibv_wc wc[4];

	setup();
	for (int all = 0; all < 2; all++) {
		struct vl_qp_init_attr init = qp_init(&endpoint, IBV_QPT_UC);
		struct vl_qp *qp;

		init.sq_sig_all = all;
		qp = vl_create_qp(endpoint.pd, &init, NULL);
		CU_ASSERT_EQUAL(bring_up(qp, IBV_QPT_UC, &attr, IBV_QPS_RTS), 0);
		CU_ASSERT_EQUAL(post(qp, &wr), 0);
		CU_ASSERT_TRUE(take_frame(&endpoint, frame, 0) > 0);
		CU_ASSERT_EQUAL(take_frame(&endpoint, frame, 0), 0);
		CU_ASSERT_EQUAL(vl_poll_cq(endpoint.send_cq, 4, wc), all);
		CU_ASSERT_EQUAL(vl_qp_counters(qp)->message_tx, 1);
	}
	teardown();
}

/* SQD of an RC pair: what has begun is finished and acknowledged, nothing else begins, then the
 * event; new requests wait for RTS. */
static void check_draining(void)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1};
	struct vl_qp_init_attr init;
	struct endpoint peer;
	struct ibv_wc wc[8];
	struct vl_qp *qps[2];
	uint8_t frame[FRAME_CAPACITY];
	uint32_t length;

	setup();
	CU_ASSERT_TRUE_FATAL(endpoint_open(&peer, 2));
	CU_ASSERT_TRUE_FATAL(connect_pair(&endpoint, &peer, IBV_QPT_RC, 7, 8, qps));
	for (uint64_t i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(post_receive(qps[1], i, arena_sge(&peer, 0, 8192)), 0);
	CU_ASSERT_EQUAL(post_send(qps[0], 0, arena_sge(&endpoint, 0, 4000)), 0);
	CU_ASSERT_EQUAL(post_send(qps[0], 1, arena_sge(&endpoint, 0, 4000)), 0);
	/* One packet of four is out. */
	length = take_frame(&endpoint, frame, 0);
	deliver_frame(&peer, frame, length, 0);
	CU_ASSERT_EQUAL(vl_modify_qp(qps[0], &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY, 0),
			0);
	CU_ASSERT_EQUAL(count_events(&endpoint, IBV_EVENT_SQ_DRAINED), 0);
	vl_query_qp(qps[0], &attr, &init);
	CU_ASSERT_EQUAL(attr.sq_draining, 1);
	/* Attributes hold still while it drains. */
	attr.qp_state = IBV_QPS_SQD;
	CU_ASSERT_EQUAL(vl_modify_qp(qps[0], &attr, IBV_QP_STATE | IBV_QP_TIMEOUT, 0), -EBUSY);
	exchange(&endpoint, &peer, 0);
	CU_ASSERT_EQUAL(count_events(&endpoint, IBV_EVENT_SQ_DRAINED), 1);
	CU_ASSERT_EQUAL(vl_poll_cq(endpoint.send_cq, 8, wc), 1);
	CU_ASSERT_EQUAL(wc[0].wr_id, 0);
	CU_ASSERT_EQUAL(vl_poll_cq(peer.recv_cq, 8, wc), 1);
	vl_query_qp(qps[0], &attr, &init);
	CU_ASSERT_EQUAL(attr.sq_draining, 0);
	attr.qp_state = IBV_QPS_SQD;
	attr.timeout = 10;
	CU_ASSERT_EQUAL(vl_modify_qp(qps[0], &attr, IBV_QP_STATE | IBV_QP_TIMEOUT, 0), 0);

	CU_ASSERT_EQUAL(post_send(qps[0], 2, arena_sge(&endpoint, 0, 8)), 0);
	CU_ASSERT_EQUAL(exchange(&endpoint, &peer, 0), 0);
	CU_ASSERT_EQUAL(set_state(qps[0], IBV_QPS_RTS), 0);
	exchange(&endpoint, &peer, 0);
	CU_ASSERT_EQUAL(vl_poll_cq(endpoint.send_cq, 8, wc), 2);
	CU_ASSERT_EQUAL(vl_poll_cq(peer.recv_cq, 8, wc), 2);
	/* With nothing outstanding it is drained at once. */
	attr.en_sqd_async_notify = 1;
	attr.qp_state = IBV_QPS_SQD;
	CU_ASSERT_EQUAL(vl_modify_qp(qps[0], &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY, 0),
			0);
	CU_ASSERT_EQUAL(count_events(&endpoint, IBV_EVENT_SQ_DRAINED), 2);
	CU_ASSERT_EQUAL(endpoint_close(&peer), 0);
	teardown();
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"operations_by_service", check_operations_by_service},
		{"refusals", check_refusals},
		{"no_reads_granted", check_no_reads_granted},
		{"flush_verb", check_flush_verb},
		{"states", check_states},
		{"chains", check_chains},
		{"numbering", check_numbering},
		{"inline_is_copied", check_inline_is_copied},
		{"flush_order", check_flush_order},
		{"posting_while_flushing", check_posting_while_flushing},
		{"posting_without_end", check_posting_without_end},
		{"error_stops_sending", check_error_stops_sending},
		{"all_signalled", check_all_signalled},
		{"draining", check_draining},
	};

	return RUN_SUITE("object_post", tests, argc, argv);
}
