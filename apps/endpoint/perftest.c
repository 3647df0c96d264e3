// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the verbline authors

#include "apps/endpoint/perftest.h"

#include <ctype.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The client walks over a page behind the address that it is given. */
#define TARGET_SIZE ((size_t)VL_PERFTEST_MAX_MESSAGE + 65536)
/* The beginning of each message is kept apart, enough for all parameters. */
#define SLOT_SIZE 64
/* Of wr_id: the completion is of a reply, from the slot that the other bits name. */
#define REPLY          (UINT64_C(1) << 32)
#define VERSION_LENGTH 16 /* text, padded with zeros */

/* What a side tells of a QP; big-endian, without gaps. */
struct destination {
	uint32_t lid, outstanding_reads, qpn, psn, rkey, unused;
	uint64_t address;
	union ibv_gid gid;
	uint32_t srqn, gid_index;
};

struct vl_perftest_target {
	struct vl_pd *pd;
	uint8_t *memory;
	struct ibv_mr *mr;
};

struct vl_perftest {
	struct vl_perftest_target *target;
	union ibv_gid gid;
	struct vl_qp *qp;
	uint8_t *slots;
	struct ibv_mr *mr;
	bool has_begun, is_for_parameters;
};

struct vl_perftest_target *vl_perftest_target_open(struct vl_pd *pd, int *error)
{
	struct vl_perftest_target *target = calloc(1, sizeof(*target));

	*error = -ENOMEM;
	if (!target)
		return NULL;
	target->pd = pd;
	target->memory = calloc(1, TARGET_SIZE);
	if (target->memory)
		target->mr = vl_reg_mr(pd, target->memory, TARGET_SIZE, (uintptr_t)target->memory,
				       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
					       IBV_ACCESS_REMOTE_WRITE,
				       error);
	if (!target->mr) {
		vl_perftest_target_close(target);
		return NULL;
	}
	return target;
}

void vl_perftest_target_close(struct vl_perftest_target *target)
{
	if (!target)
		return;
	if (target->mr)
		vl_dereg_mr(target->mr);
	free(target->memory);
	free(target);
}

struct vl_perftest *vl_perftest_open(struct vl_perftest_target *target, const union ibv_gid *gid,
				     int *error)
{
	struct vl_perftest *perftest = calloc(1, sizeof(*perftest));
	size_t size = (size_t)VL_PERFTEST_DEPTH * SLOT_SIZE;

	*error = -ENOMEM;
	if (!perftest)
		return NULL;
	perftest->target = target;
	perftest->gid = *gid;
	perftest->slots = calloc(1, size);
	if (perftest->slots)
		perftest->mr = vl_reg_mr(target->pd, perftest->slots, size,
					 (uintptr_t)perftest->slots, IBV_ACCESS_LOCAL_WRITE, error);
	if (!perftest->mr) {
		vl_perftest_close(perftest);
		return NULL;
	}
	return perftest;
}

void vl_perftest_close(struct vl_perftest *perftest)
{
	if (!perftest)
		return;
	if (perftest->mr)
		vl_dereg_mr(perftest->mr);
	free(perftest->slots);
	free(perftest);
}

static int post_receive(struct vl_perftest *perftest, uint64_t slot)
{
	struct ibv_sge sges[VL_PERFTEST_SGE] = {
		{(uintptr_t)perftest->slots + slot * SLOT_SIZE, SLOT_SIZE, perftest->mr->lkey},
		{(uintptr_t)perftest->target->memory, VL_PERFTEST_MAX_MESSAGE,
		 perftest->target->mr->lkey},
	};
	struct ibv_recv_wr wr = {.wr_id = slot, .sg_list = sges, .num_sge = VL_PERFTEST_SGE};
	const struct ibv_recv_wr *bad;

	return vl_post_recv(perftest->qp, &wr, &bad);
}

int vl_perftest_prepare(struct vl_perftest *perftest, struct vl_qp *qp)
{
	int error = 0;

	perftest->qp = qp;
	for (uint64_t slot = 0; slot < VL_PERFTEST_DEPTH && !error; slot++)
		error = post_receive(perftest, slot);
	return error;
}

static bool is_version(const uint8_t *message, uint32_t length)
{
	return length == VERSION_LENGTH && isdigit(message[0]) && message[1] == '.' &&
	       isdigit(message[2]) && message[VERSION_LENGTH - 1] == '\0';
}

/* Makes the client's parameters ours. */
static void answer(const struct vl_perftest *perftest, uint8_t *message, uint32_t length)
{
	struct destination destination;

	if (length != sizeof(destination))
		return;
	memcpy(&destination, message, sizeof(destination));
	if (!destination.qpn)
		return; /* no QP yet: only a step to go in */
	destination.rkey = htobe32(perftest->target->mr->rkey);
	destination.address = htobe64((uintptr_t)perftest->target->memory);
	destination.gid = perftest->gid;
	memcpy(message, &destination, sizeof(destination));
}

static int reply(struct vl_perftest *perftest, uint64_t slot, uint32_t length, uint64_t now)
{
	struct ibv_sge sge = {(uintptr_t)perftest->slots + slot * SLOT_SIZE, length,
			      perftest->mr->lkey};
	struct ibv_send_wr wr = {
		.wr_id = REPLY | slot,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};
	const struct ibv_send_wr *bad;

	answer(perftest, perftest->slots + slot * SLOT_SIZE, length);
	return vl_post_send(perftest->qp, &wr, &bad, now);
}

bool vl_perftest_complete(struct vl_perftest *perftest, const struct ibv_wc *wc, uint64_t now)
{
	uint64_t slot = wc->wr_id & ~REPLY;

	if (wc->status != IBV_WC_SUCCESS)
		return false;
	if (wc->wr_id & REPLY)
		return post_receive(perftest, slot) == 0;
	if (!perftest->has_begun) {
		perftest->has_begun = true;
		perftest->is_for_parameters =
			is_version(perftest->slots + slot * SLOT_SIZE, wc->byte_len);
	}
	if (!perftest->is_for_parameters)
		return post_receive(perftest, slot) == 0;
	/* All parameters fit in a slot. */
	return wc->byte_len <= SLOT_SIZE && reply(perftest, slot, wc->byte_len, now) == 0;
}
