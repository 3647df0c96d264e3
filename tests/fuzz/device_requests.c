/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What is asked of the device of fuzz_device.c, and what it completes. */

#include "tests/fuzz/device.h"

static uint32_t take_elements(struct fuzz *fuzz, struct ibv_sge sges[3], uint64_t *length)
{
	uint32_t count = take8(&fuzz->input) % 4;

	*length = 0;
	for (uint32_t i = 0; i < count; i++) {
		sges[i].addr = take_address(&fuzz->input);
		sges[i].length = take_length(&fuzz->input);
		sges[i].lkey = take_key(&fuzz->input, fuzz);
		*length += sges[i].length;
	}
	return count;
}

static struct request *new_request(struct fuzz *fuzz, enum request_state state, unsigned int qp,
				   uint64_t length)
{
	struct request *request = &fuzz->requests[fuzz->request_count++];

	*request = (struct request){.state = (uint8_t)state, .qp = (uint8_t)qp, .length = length};
	fuzz->posted[state != REQUEST_SEND]++;
	return request;
}

static void fill_operation(struct fuzz *fuzz, struct ibv_send_wr *wr)
{
	struct input *input = &fuzz->input;

	switch ((unsigned int)wr->opcode) {
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		wr->wr.atomic.remote_addr = take_address(input);
		wr->wr.atomic.rkey = take_key(input, fuzz);
		break;
	case IBV_WR_LOCAL_INV:
	case IBV_WR_SEND_WITH_INV:
		wr->invalidate_rkey = take_key(input, fuzz);
		break;
	case IBV_WR_BIND_MW:
		wr->bind_mw.mw = fuzz->window;
		wr->bind_mw.rkey = fuzz->window->rkey + 1;
		wr->bind_mw.bind_info.mr = fuzz->regions[take8(input) % REGIONS];
		wr->bind_mw.bind_info.addr = take_address(input);
		wr->bind_mw.bind_info.length = take_length(input);
		wr->bind_mw.bind_info.mw_access_flags = take8(input) & 0xf;
		break;
	default:
		wr->wr.rdma.remote_addr = take_address(input);
		wr->wr.rdma.rkey = take_key(input, fuzz);
		break;
	}
}

void post_send(struct fuzz *fuzz)
{
	struct input *input = &fuzz->input;
	unsigned int qp = take8(input) % QPS;
	struct ibv_sge sges[3];
	struct ibv_send_wr wr = {.wr_id = fuzz->request_count, .sg_list = sges};
	const struct ibv_send_wr *bad;
	uint64_t length;

	if (fuzz->request_count == REQUESTS)
		return;
	wr.opcode = (enum ibv_wr_opcode)(take8(input) % 17);
	wr.send_flags = take8(input) & 0x1f;
	wr.num_sge = (int)take_elements(fuzz, sges, &length);
	/* Inline data is read when it is posted, at the application's own address. */
	if (wr.send_flags & IBV_SEND_INLINE) {
		for (int i = 0; i < wr.num_sge; i++)
			sges[i] = (struct ibv_sge){(uintptr_t)fuzz->arena + REGION,
						   sges[i].length % 80, 0};
	}
	if (qp >= QP_UD) {
		wr.wr.ud.ah = fuzz->ah;
		wr.wr.ud.remote_qpn = 0x777;
		wr.wr.ud.remote_qkey = QKEY;
	} else {
		fill_operation(fuzz, &wr);
	}
	if (!vl_post_send(fuzz->qps[qp], &wr, &bad, fuzz->now))
		new_request(fuzz, REQUEST_SEND, qp, length)->may_be_silent =
			!(wr.send_flags & IBV_SEND_SIGNALED);
	else
		require(bad == &wr);
}

void post_flush(struct fuzz *fuzz)
{
	struct input *input = &fuzz->input;
	unsigned int qp = take8(input) % QPS;
	uint64_t address = take_address(input);
	uint32_t key = take_key(input, fuzz), length = take_length(input);

	if (fuzz->request_count < REQUESTS &&
	    !vl_post_flush(fuzz->qps[qp], fuzz->request_count, IBV_SEND_SIGNALED, key, address,
			   length, take8(input) & 7, take8(input) & 3, fuzz->now))
		new_request(fuzz, REQUEST_SEND, qp, length);
}

void post_receive(struct fuzz *fuzz)
{
	unsigned int qp = take8(&fuzz->input) % QPS;
	struct ibv_sge sges[3];
	struct ibv_recv_wr wr = {.wr_id = fuzz->request_count, .sg_list = sges};
	const struct ibv_recv_wr *bad;
	uint64_t length;

	if (fuzz->request_count == REQUESTS)
		return;
	wr.num_sge = (int)take_elements(fuzz, sges, &length);
	if (qp == QP_RC_SRQ) {
		if (!vl_post_srq_recv(fuzz->srq, &wr, &bad))
			new_request(fuzz, REQUEST_SHARED_RECEIVE, qp, length);
	} else if (!vl_post_recv(fuzz->qps[qp], &wr, &bad)) {
		new_request(fuzz, REQUEST_RECEIVE, qp, length);
	}
}

void poll_completions(struct fuzz *fuzz, bool sends)
{
	struct ibv_wc wc;

	while (vl_poll_cq(sends ? fuzz->send_cq : fuzz->recv_cq, 1, &wc) == 1) {
		struct request *request = &fuzz->requests[wc.wr_id];

		require(wc.wr_id < fuzz->request_count);
		require(sends == (request->state == REQUEST_SEND));
		require(request->state != REQUEST_FREE);
		require(wc.qp_num == vl_qp_number(fuzz->qps[request->qp]));
		if (!sends && wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_RECV)
			require(wc.byte_len <= request->length);
		if (sends && request->may_be_silent)
			require(wc.status != IBV_WC_SUCCESS);
		request->state = REQUEST_FREE;
		fuzz->completed[!sends]++;
	}
	require(fuzz->completed[!sends] <= fuzz->posted[!sends]);
}
