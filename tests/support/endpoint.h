/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What tests of the transport need around it: an allocator that counts, and fails when told to; a
 * device with its objects and a record of its events; connected queue pairs; a wire between two
 * devices in virtual time. */
#ifndef VERBLINE_TESTS_ENDPOINT_H
#define VERBLINE_TESTS_ENDPOINT_H

#include "transport/verbline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Memory --------------------------------------------------------------------------------- */

struct counted_memory {
	size_t calls, live, bytes, peak;
	size_t fail_at; /* the n-th call from here fails; 0: none */
};

static inline void *counted_allocate(void *context, size_t size)
{
	struct counted_memory *memory = context;
	void *block;

	memory->calls++;
	if (memory->fail_at && !--memory->fail_at)
		return NULL;
	block = aligned_alloc(64, (size + 63) / 64 * 64);
	if (!block)
		return NULL;
	memset(block, 0, size);
	memory->live++;
	memory->bytes += size;
	if (memory->bytes > memory->peak)
		memory->peak = memory->bytes;
	return block;
}

static inline void counted_release(void *context, void *block, size_t size)
{
	struct counted_memory *memory = context;

	memory->live--;
	memory->bytes -= size;
	free(block);
}

/* ---- Endpoint ------------------------------------------------------------------------------- */

#define MAX_EVENTS 64
/* Memory of an endpoint, registered with all permissions at its own address. */
#define ARENA_SIZE 65536

struct endpoint {
	struct counted_memory memory;
	struct vl_device *device;
	struct vl_pd *pd;
	struct vl_cq *send_cq, *recv_cq;
	struct ibv_mr *mr;
	uint8_t *arena;
	struct {
		enum ibv_event_type type;
		void *object;
	} events[MAX_EVENTS];
	unsigned int event_count, completion_count;
	/* Called for each completion event, if set. */
	void (*on_completion)(struct endpoint *endpoint, struct vl_cq *cq);
	void *user;
};

static inline void record_event(void *context, enum ibv_event_type type, void *object)
{
	struct endpoint *endpoint = context;

	if (endpoint->event_count < MAX_EVENTS) {
		endpoint->events[endpoint->event_count].type = type;
		endpoint->events[endpoint->event_count].object = object;
	}
	endpoint->event_count++;
}

static inline void record_completion(void *context, struct vl_cq *cq)
{
	struct endpoint *endpoint = context;

	endpoint->completion_count++;
	if (endpoint->on_completion)
		endpoint->on_completion(endpoint, cq);
}

static inline unsigned int count_events(const struct endpoint *endpoint, enum ibv_event_type type)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < endpoint->event_count && i < MAX_EVENTS; i++)
		count += endpoint->events[i].type == type;
	return count;
}

static inline union ibv_gid ipv4_gid(uint8_t host)
{
	return (union ibv_gid){.raw = {[10] = 0xff, [11] = 0xff, [12] = 10, [15] = host}};
}

static inline union ibv_gid ipv6_gid(uint8_t host)
{
	return (union ibv_gid){.raw = {[0] = 0xfd, [15] = host}};
}

/* Host n: MAC 02:00:00:00:00:n, 10.0.0.n as GID 0 and fd00::n as GID 1. */
static inline struct vl_device_config endpoint_config(struct endpoint *endpoint, uint8_t host)
{
	return (struct vl_device_config){
		.allocator = {counted_allocate, counted_release, &endpoint->memory},
		.events = {.completion = record_completion,
			   .async = record_event,
			   .context = endpoint},
		.seed = host,
		.mac = {2, 0, 0, 0, 0, host},
		.lid = host,
		.gid_count = 2,
		.gids = {{.gid = ipv4_gid(host), .encapsulation = VL_ENCAPSULATION_ROCEV2_IPV4},
			 {.gid = ipv6_gid(host), .encapsulation = VL_ENCAPSULATION_ROCEV2_IPV6}},
	};
}

/* False if the device or an object of it could not be made. */
static inline bool endpoint_open_with(struct endpoint *endpoint,
				      const struct vl_device_config *config)
{
	const unsigned int all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

	endpoint->device = vl_open_device(config, NULL);
	if (!endpoint->device)
		return false;
	endpoint->arena = calloc(1, ARENA_SIZE);
	endpoint->pd = vl_alloc_pd(endpoint->device, NULL);
	endpoint->send_cq = vl_create_cq(endpoint->device, 256, NULL, NULL);
	endpoint->recv_cq = vl_create_cq(endpoint->device, 256, NULL, NULL);
	if (endpoint->pd && endpoint->arena)
		endpoint->mr = vl_reg_mr(endpoint->pd, endpoint->arena, ARENA_SIZE,
					 (uintptr_t)endpoint->arena, all, NULL);
	return endpoint->send_cq && endpoint->recv_cq && endpoint->mr;
}

static inline bool endpoint_open(struct endpoint *endpoint, uint8_t host)
{
	struct vl_device_config config;

	memset(endpoint, 0, sizeof(*endpoint));
	config = endpoint_config(endpoint, host);
	return endpoint_open_with(endpoint, &config);
}

/* Returns the number of allocations that were not released. */
static inline size_t endpoint_close(struct endpoint *endpoint)
{
	vl_close_device(endpoint->device);
	free(endpoint->arena);
	return endpoint->memory.live;
}

/* ---- Queue pairs ---------------------------------------------------------------------------- */

static inline struct vl_qp_init_attr qp_init(const struct endpoint *endpoint, enum ibv_qp_type type)
{
	return (struct vl_qp_init_attr){
		.send_cq = endpoint->send_cq,
		.recv_cq = endpoint->recv_cq,
		.cap = {.max_send_wr = 16,
			.max_recv_wr = 16,
			.max_send_sge = 4,
			.max_recv_sge = 4,
			.max_inline_data = 64},
		.qp_type = type,
	};
}

static inline struct vl_qp *make_qp(struct endpoint *endpoint, enum ibv_qp_type type)
{
	struct vl_qp_init_attr init = qp_init(endpoint, type);

	return vl_create_qp(endpoint->pd, &init, NULL);
}

#define TEST_QKEY 0x11223344u

/* Attributes that every transition accepts, toward host and its queue pair. */
static inline struct ibv_qp_attr qp_attr(uint8_t host, uint32_t remote_qpn, uint32_t rq_psn,
					 uint32_t sq_psn)
{
	return (struct ibv_qp_attr){
		.path_mtu = IBV_MTU_1024,
		.qkey = TEST_QKEY,
		.rq_psn = rq_psn,
		.sq_psn = sq_psn,
		.dest_qp_num = remote_qpn,
		.qp_access_flags =
			IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
		.ah_attr = {.grh = {.dgid = ipv4_gid(host), .hop_limit = 64, .traffic_class = 2},
			    .is_global = 1,
			    .port_num = 1},
		.max_rd_atomic = 4,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
		.port_num = 1,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.path_mig_state = IBV_MIG_MIGRATED,
	};
}

/* Through INIT and RTR to state (at most RTS). 0, or what vl_modify_qp refused with. */
static inline int bring_up(struct vl_qp *qp, enum ibv_qp_type type, struct ibv_qp_attr *attr,
			   enum ibv_qp_state state)
{
	const int rc = type == IBV_QPT_RC ? -1 : 0, connected = type == IBV_QPT_UD ? 0 : -1;
	const int masks[] = {
		[IBV_QPS_INIT] = IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				 (connected ? IBV_QP_ACCESS_FLAGS : IBV_QP_QKEY),
		[IBV_QPS_RTR] = (connected &
				 (IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)) |
				(rc & (IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)),
		[IBV_QPS_RTS] = IBV_QP_SQ_PSN | (rc & (IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
						       IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC)),
	};

	for (enum ibv_qp_state to = IBV_QPS_INIT; to <= state; to++) {
		int result;

		attr->qp_state = to;
		result = vl_modify_qp(qp, attr, IBV_QP_STATE | masks[to], 0);
		if (result)
			return result;
	}
	return 0;
}

static inline int set_state(struct vl_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = {.qp_state = state};

	return vl_modify_qp(qp, &attr, IBV_QP_STATE, 0);
}

/* A queue pair of each endpoint, hosts 1 and 2, connected and in RTS; PSNs as given. */
static inline bool connect_pair(struct endpoint *one, struct endpoint *two, enum ibv_qp_type type,
				uint32_t psn_of_one, uint32_t psn_of_two, struct vl_qp *qps[2])
{
	struct ibv_qp_attr attr;

	qps[0] = make_qp(one, type);
	qps[1] = make_qp(two, type);
	if (!qps[0] || !qps[1])
		return false;
	attr = qp_attr(2, vl_qp_number(qps[1]), psn_of_two, psn_of_one);
	if (bring_up(qps[0], type, &attr, IBV_QPS_RTS))
		return false;
	attr = qp_attr(1, vl_qp_number(qps[0]), psn_of_one, psn_of_two);
	return !bring_up(qps[1], type, &attr, IBV_QPS_RTS);
}

/* ---- The wire ------------------------------------------------------------------------------- */

#define FRAME_CAPACITY 8192

/* The next frame of an endpoint, or 0. */
static inline uint32_t take_frame(struct endpoint *from, uint8_t frame[FRAME_CAPACITY],
				  uint64_t now)
{
	struct vl_outgoing outgoing = {.headers = frame};

	return vl_transmit(from->device, now, &outgoing)
		       ? vl_serialize(&outgoing, frame, FRAME_CAPACITY)
		       : 0;
}

static inline void deliver_frame(struct endpoint *to, const uint8_t *frame, uint32_t length,
				 uint64_t now)
{
	vl_receive_frame(to->device, VL_LINK_ETHERNET, frame, length, now);
}

/* Carries frames both ways until none is left; returns how many. */
static inline unsigned int exchange(struct endpoint *one, struct endpoint *two, uint64_t now)
{
	uint8_t frame[FRAME_CAPACITY];
	unsigned int count = 0;
	bool busy = true;

	while (busy && count < 100000) {
		uint32_t length;

		busy = false;
		while ((length = take_frame(one, frame, now))) {
			deliver_frame(two, frame, length, now);
			busy = true;
			count++;
		}
		while ((length = take_frame(two, frame, now))) {
			deliver_frame(one, frame, length, now);
			busy = true;
			count++;
		}
	}
	return count;
}

/* ---- Work requests -------------------------------------------------------------------------- */

static inline struct ibv_sge arena_sge(const struct endpoint *endpoint, uint32_t offset,
				       uint32_t length)
{
	return (struct ibv_sge){.addr = (uintptr_t)endpoint->arena + offset,
				.length = length,
				.lkey = endpoint->mr->lkey};
}

static inline int post_receive(struct vl_qp *qp, uint64_t wr_id, struct ibv_sge sge)
{
	struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1};
	const struct ibv_recv_wr *bad;

	return vl_post_recv(qp, &wr, &bad);
}

static inline int post(struct vl_qp *qp, const struct ibv_send_wr *wr)
{
	const struct ibv_send_wr *bad;

	return vl_post_send(qp, wr, &bad, 0);
}

static inline int post_send(struct vl_qp *qp, uint64_t wr_id, struct ibv_sge sge)
{
	struct ibv_send_wr wr = {.wr_id = wr_id,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND,
				 .send_flags = IBV_SEND_SIGNALED};

	return post(qp, &wr);
}

#endif
