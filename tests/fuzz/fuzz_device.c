/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * A device with queue pairs of every service, fed with whatever the input says: packets (near what
 * is expected, or not at all), work requests, polls, transitions, time. Whatever comes, memory that
 * was not given for writing stays as it is, every completion belongs to a request that was posted
 * and had none, what is sent parses, and what was allocated is released.
 */

#include "tests/fuzz/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

void fail(const char *file, int line, const char *condition)
{
	fprintf(stderr, "%s:%d: not so: %s\n", file, line, condition);
	abort();
}

/* What the peers or the QPs themselves may do with each. */
static const unsigned int region_access[REGIONS] = {
	IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | VL_ACCESS_FLUSH_GLOBAL |
		VL_ACCESS_FLUSH_PERSISTENT,
	IBV_ACCESS_REMOTE_READ,
	IBV_ACCESS_LOCAL_WRITE,
	IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
};

static void *allocate(void *context, size_t size)
{
	size_t rounded = (size + 63) & ~(size_t)63;
	void *memory = aligned_alloc(64, rounded);

	require(memory != NULL);
	((struct fuzz *)context)->allocations++;
	return memset(memory, 0, rounded);
}

static void release(void *context, void *memory, size_t size)
{
	(void)size;
	((struct fuzz *)context)->allocations--;
	free(memory);
}

static int set_state(struct fuzz *fuzz, unsigned int qp, enum ibv_qp_state state)
{
	const bool rc = qp <= QP_RC_SRQ, ud = qp >= QP_UD;
	struct ibv_qp_attr attr = {
		.qp_state = state,
		.port_num = 1,
		.qkey = qp == QP_GSI ? GSI_QKEY : QKEY,
		.path_mtu = IBV_MTU_256,
		.dest_qp_num = 0x500 + qp,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				   IBV_ACCESS_REMOTE_ATOMIC | VL_ACCESS_FLUSH_GLOBAL,
		.rq_psn = 0xfffff0,
		.sq_psn = 0xfffff8,
		.max_dest_rd_atomic = 3,
		.max_rd_atomic = 3,
		.min_rnr_timer = 1,
		.timeout = 1,
		.retry_cnt = 3,
		.rnr_retry = 2,
		.ah_attr = {.is_global = 1, .port_num = 1, .grh = {.hop_limit = 64}},
	};
	int mask = IBV_QP_STATE;

	attr.ah_attr.grh.dgid = gid_of(2);
	if (state == IBV_QPS_INIT)
		mask |= IBV_QP_PKEY_INDEX | (qp == QP_GSI ? 0 : IBV_QP_PORT) |
			(ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
	if (state == IBV_QPS_RTR && !ud)
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			(rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0);
	if (state == IBV_QPS_RTS && vl_qp_state(fuzz->qps[qp]) == IBV_QPS_RTR)
		mask |= IBV_QP_SQ_PSN | (rc ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
							 IBV_QP_MAX_QP_RD_ATOMIC
					    : 0);
	return vl_modify_qp(fuzz->qps[qp], &attr, mask, fuzz->now);
}

static void open_memory(struct fuzz *fuzz)
{
	fuzz->arena = malloc(ARENA);
	require(fuzz->arena != NULL);
	memset(fuzz->arena, CANARY, ARENA);
	for (uint32_t i = 0; i < REGIONS; i++) {
		fuzz->regions[i] = vl_reg_mr(fuzz->pd, fuzz->arena + region_offset(i), REGION,
					     BASE + region_offset(i), region_access[i], NULL);
		require(fuzz->regions[i] != NULL);
	}
	fuzz->window = vl_alloc_mw(fuzz->pd, IBV_MW_TYPE_2, NULL);
	require(fuzz->window != NULL);
}

static void open_qp(struct fuzz *fuzz, unsigned int qp)
{
	struct vl_qp_init_attr init = {
		.send_cq = fuzz->send_cq,
		.recv_cq = fuzz->recv_cq,
		.srq = qp == QP_RC_SRQ ? fuzz->srq : NULL,
		.cap = {DEPTH, DEPTH, 3, 3, 64},
		.qp_type = qp <= QP_RC_SRQ ? IBV_QPT_RC
			   : qp == QP_UC   ? IBV_QPT_UC
					   : IBV_QPT_UD,
		.gsi = qp == QP_GSI,
		.context = &fuzz->qps[qp],
	};

	fuzz->qps[qp] = vl_create_qp(fuzz->pd, &init, NULL);
	require(fuzz->qps[qp] != NULL);
	for (enum ibv_qp_state state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++)
		require(!set_state(fuzz, qp, state));
}

static void open_all(struct fuzz *fuzz)
{
	struct vl_device_config config = {
		.allocator = {allocate, release, fuzz},
		.seed = 1,
		.mac = {2, 0, 0, 0, 0, 1},
		.gid_count = 1,
		.gids = {{.gid = gid_of(1), .encapsulation = VL_ENCAPSULATION_ROCEV2_IPV4}},
		.max_unacked_packets = 64,
		.ack_request_interval = 4,
	};
	struct ibv_srq_attr srq = {.max_wr = DEPTH, .max_sge = 3};
	struct ibv_ah_attr ah = {.is_global = 1, .port_num = 1, .grh = {.hop_limit = 64}};

	fuzz->device = vl_open_device(&config, NULL);
	require(fuzz->device != NULL);
	fuzz->pd = vl_alloc_pd(fuzz->device, NULL);
	fuzz->send_cq = vl_create_cq(fuzz->device, 128, NULL, NULL);
	fuzz->recv_cq = vl_create_cq(fuzz->device, 128, NULL, NULL);
	fuzz->srq = vl_create_srq(fuzz->pd, &srq, NULL);
	ah.grh.dgid = gid_of(2);
	fuzz->ah = vl_create_ah(fuzz->pd, &ah, NULL);
	require(fuzz->srq && fuzz->ah && fuzz->send_cq && fuzz->recv_cq);
	open_memory(fuzz);
	for (unsigned int qp = 0; qp < QPS; qp++)
		open_qp(fuzz, qp);
}

static void change_state(struct fuzz *fuzz)
{
	static const enum ibv_qp_state states[] = {IBV_QPS_ERR, IBV_QPS_RESET, IBV_QPS_INIT,
						   IBV_QPS_RTR, IBV_QPS_RTS,   IBV_QPS_SQD,
						   IBV_QPS_RTS, IBV_QPS_RTS};
	unsigned int qp = take8(&fuzz->input) % QPS;
	enum ibv_qp_state state = states[take8(&fuzz->input) % 8];

	if (set_state(fuzz, qp, state) || state != IBV_QPS_RESET)
		return;
	/* Outstanding requests are forgotten. */
	for (uint32_t i = 0; i < fuzz->request_count; i++) {
		if (fuzz->requests[i].qp == qp && fuzz->requests[i].state != REQUEST_SHARED_RECEIVE)
			fuzz->requests[i].state = REQUEST_FREE;
	}
	/* And it can be used again. */
	if (take8(&fuzz->input) & 1) {
		for (state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++)
			require(!set_state(fuzz, qp, state));
	}
}

static void check_memory(const struct fuzz *fuzz)
{
	for (uint32_t i = 0; i < ARENA; i++) {
		uint32_t part = i / REGION;

		/* Between the regions, and in the one that is for reading. */
		if (part % 2 == 0 || part / 2 == 1)
			require(fuzz->arena[i] == CANARY);
	}
}

static void check_counters(const struct fuzz *fuzz)
{
	const struct vl_counters *all = vl_device_counters(fuzz->device);

	require(all->message_tx <= fuzz->posted[0]);
	require(all->message_tx + all->message_fail <= fuzz->posted[0] + fuzz->posted[1]);
	require(all->data_frames_retransmitted <= all->data_frames_tx);
}

static void step(struct fuzz *fuzz)
{
	struct ibv_srq_attr limit = {.srq_limit = take8(&fuzz->input) % DEPTH};
	uint8_t choice = take8(&fuzz->input);

	switch (choice % 24) {
	case 0:
		receive_bytes(fuzz);
		break;
	case 1:
		post_flush(fuzz);
		break;
	case 2:
		change_state(fuzz);
		break;
	case 3:
		vl_set_paused_priorities(fuzz->device, 0);
		fuzz->now += (uint64_t)take8(&fuzz->input) << (take8(&fuzz->input) % 28);
		break;
	case 4:
		vl_modify_srq(fuzz->srq, &limit, IBV_SRQ_LIMIT);
		vl_req_notify_cq(fuzz->send_cq, choice & 0x20);
		vl_req_notify_cq(fuzz->recv_cq, choice & 0x40);
		break;
	case 5:
	case 6:
		poll_completions(fuzz, choice & 1);
		break;
	case 7:
	case 8:
	case 9:
		post_receive(fuzz);
		break;
	case 10:
	case 11:
	case 12:
		post_send(fuzz);
		break;
	case 13:
	case 14:
		transmit(fuzz);
		break;
	default:
		receive_packet(fuzz);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz *fuzz = calloc(1, sizeof(*fuzz));

	require(fuzz != NULL);
	fuzz->input = (struct input){data, data + size};
	fuzz->now = 1;
	open_all(fuzz);
	while (fuzz->input.next < fuzz->input.end)
		step(fuzz);
	transmit(fuzz);
	poll_completions(fuzz, true);
	poll_completions(fuzz, false);
	check_memory(fuzz);
	check_counters(fuzz);
	vl_close_device(fuzz->device);
	require(fuzz->allocations == 0);
	free(fuzz->arena);
	free(fuzz);
	return 0;
}
