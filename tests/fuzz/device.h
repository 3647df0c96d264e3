/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The device of fuzz_device.c, and what is done to it. */
#ifndef VERBLINE_TESTS_FUZZ_DEVICE_H
#define VERBLINE_TESTS_FUZZ_DEVICE_H

#include "transport/object/object.h"

#define require(condition) ((condition) ? (void)0 : fail(__FILE__, __LINE__, #condition))
void fail(const char *file, int line, const char *condition);

/* ---- The input ------------------------------------------------------------------------------ */

struct input {
	const uint8_t *next, *end;
};

/* 0 after the end. */
uint8_t take8(struct input *input);
uint32_t take32(struct input *input);
/* Mostly near zero, sometimes anything. */
int32_t take_distance(struct input *input);

/* ---- Memory --------------------------------------------------------------------------------- */

#define REGION  8192u /* bytes of each region, and of what lies between two */
#define REGIONS 4u
#define ARENA   ((2 * REGIONS + 1) * REGION)
#define BASE    UINT64_C(0x100000) /* address of the arena's first byte */
#define CANARY  0xa5

static inline uint64_t region_offset(uint32_t region)
{
	return (2 * region + 1) * (uint64_t)REGION;
}

/* ---- The device ----------------------------------------------------------------------------- */

enum {
	QP_RC,
	QP_RC_SRQ,
	QP_UC,
	QP_UD,
	QP_GSI,
	QPS,
};

#define QKEY     0x11223344u
#define GSI_QKEY 0x80010000u
#define REQUESTS 4096u
#define DEPTH    8u

enum request_state {
	REQUEST_FREE,
	REQUEST_SEND,
	REQUEST_RECEIVE,
	REQUEST_SHARED_RECEIVE,
};

struct request {
	uint8_t state; /* enum request_state: posted and not completed */
	uint8_t qp;
	bool may_be_silent; /* an unsignalled send: without a completion if it succeeds */
	uint64_t length;
};

struct fuzz {
	struct input input;
	struct vl_device *device;
	struct vl_pd *pd;
	struct vl_cq *send_cq, *recv_cq;
	struct vl_srq *srq;
	struct vl_qp *qps[QPS];
	struct ibv_mr *regions[REGIONS];
	struct ibv_mw *window;
	struct ibv_ah *ah;
	uint8_t *arena;
	uint64_t now;
	size_t allocations;
	struct request requests[REQUESTS];
	uint32_t request_count;
	uint64_t posted[2], completed[2]; /* sends, receives */
};

static inline union ibv_gid gid_of(uint8_t host)
{
	return (union ibv_gid){.raw = {[10] = 0xff, [11] = 0xff, [12] = 10, [15] = host}};
}

/* Of memory: what is right for something, or nearly, or anything. */
uint32_t take_key(struct input *input, const struct fuzz *fuzz);
uint64_t take_address(struct input *input);
uint32_t take_length(struct input *input);

/* ---- device_packets.c ----------------------------------------------------------------------- */

/* Near what the QP expects in every field, unless the input says otherwise. */
void receive_packet(struct fuzz *fuzz);
void receive_bytes(struct fuzz *fuzz);
void transmit(struct fuzz *fuzz);

/* ---- device_requests.c ---------------------------------------------------------------------- */

void post_send(struct fuzz *fuzz);
void post_flush(struct fuzz *fuzz);
void post_receive(struct fuzz *fuzz);
/* Every completion is of a request that was posted and had none. */
void poll_completions(struct fuzz *fuzz, bool sends);

#endif
