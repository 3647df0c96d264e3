/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "tests/support/pair.h"

#include "transport/wire/parse.h"

#include <CUnit/CUnit.h>
#include <stdlib.h>
#include <string.h>

#define FRAME_ROOM 4400

struct pair_frame {
	struct pair_frame *next;
	uint64_t arrival;
	uint32_t length;
	uint8_t to;
	uint8_t bytes[FRAME_ROOM];
};

static void *count_allocate(void *context, size_t size)
{
	size_t rounded = (size + 63) & ~(size_t)63;
	void *memory = aligned_alloc(64, rounded);

	if (!memory)
		return NULL;
	((struct pair *)context)->memory_in_use++;
	return memset(memory, 0, rounded);
}

static void count_release(void *context, void *memory, size_t size)
{
	(void)size;
	((struct pair *)context)->memory_in_use--;
	free(memory);
}

static void note_event(struct pair *pair, unsigned int side, enum ibv_event_type event)
{
	if (pair->event_count[side] < 16)
		pair->events[side][pair->event_count[side]++] = event;
}

struct side_context {
	struct pair *pair;
	unsigned int side;
};

static void on_event(void *context, enum ibv_event_type event, void *object)
{
	struct side_context *side = context;

	(void)object;
	note_event(side->pair, side->side, event);
}

static union ibv_gid gid_of(const struct pair_options *options, unsigned int side)
{
	union ibv_gid gid = {.raw = {0}};

	if (options->ipv6) {
		gid.raw[0] = 0xfd;
	} else {
		gid.raw[10] = gid.raw[11] = 0xff;
		gid.raw[12] = 10;
	}
	gid.raw[15] = (uint8_t)(side + 1);
	return gid;
}

static void open_side(struct pair *pair, unsigned int side)
{
	const struct pair_options *options = &pair->options;
	struct side_context *context = calloc(1, sizeof(*context));
	struct vl_device_config config = {
		.allocator = {count_allocate, count_release, pair},
		.events = {.async = on_event, .context = context},
		.seed = 1 + side,
		.mac = {2, 0, 0, 0, 0, (uint8_t)side},
		.gid_count = 1,
		.active_mtu = IBV_MTU_4096,
		.unlimited_credits = options->unlimited_credits,
		.cc = options->cc,
	};
	struct vl_qp_init_attr init = {
		.cap = {options->depth, options->depth, options->max_sge, options->max_sge, 64},
		.qp_type = options->type,
	};
	struct ibv_srq_attr srq = {.max_wr = options->depth, .max_sge = options->max_sge};
	int error = 0;

	context->pair = pair;
	context->side = side;
	pair->context[side] = context;
	config.gids[0].gid = gid_of(options, side);
	config.gids[0].encapsulation =
		options->ipv6 ? VL_ENCAPSULATION_ROCEV2_IPV6 : VL_ENCAPSULATION_ROCEV2_IPV4;
	pair->device[side] = vl_open_device(&config, &error);
	CU_ASSERT_PTR_NOT_NULL_FATAL(pair->device[side]);
	pair->pd[side] = vl_alloc_pd(pair->device[side], &error);
	pair->send_cq[side] = vl_create_cq(pair->device[side], 4096, NULL, &error);
	pair->recv_cq[side] = vl_create_cq(pair->device[side], 4096, NULL, &error);
	pair->memory[side] = calloc(1, PAIR_MEMORY);
	pair->mr[side] = vl_reg_mr(pair->pd[side], pair->memory[side], PAIR_MEMORY,
				   (uintptr_t)pair->memory[side], options->access, &error);
	CU_ASSERT_PTR_NOT_NULL_FATAL(pair->mr[side]);
	if (options->use_srq) {
		pair->srq[side] = vl_create_srq(pair->pd[side], &srq, &error);
		CU_ASSERT_PTR_NOT_NULL_FATAL(pair->srq[side]);
	}
	init.send_cq = pair->send_cq[side];
	init.recv_cq = pair->recv_cq[side];
	init.srq = pair->srq[side];
	pair->qp[side] = vl_create_qp(pair->pd[side], &init, &error);
	CU_ASSERT_PTR_NOT_NULL_FATAL(pair->qp[side]);
}

static void connect_side(struct pair *pair, unsigned int side)
{
	const struct pair_options *options = &pair->options;
	unsigned int access = options->access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
						 IBV_ACCESS_REMOTE_ATOMIC | VL_ACCESS_FLUSH_GLOBAL |
						 VL_ACCESS_FLUSH_PERSISTENT);
	struct ibv_qp_attr attr = {
		.port_num = 1,
		.qp_access_flags = access,
		.path_mtu = options->path_mtu,
		.dest_qp_num = vl_qp_number(pair->qp[!side]),
		.rq_psn = options->psn[!side],
		.sq_psn = options->psn[side],
		.max_dest_rd_atomic = options->max_rd_atomic,
		.max_rd_atomic = options->max_rd_atomic,
		.min_rnr_timer = options->min_rnr_timer,
		.timeout = options->timeout,
		.retry_cnt = options->retry_count,
		.rnr_retry = options->rnr_retry,
		.ah_attr = {.is_global = 1, .port_num = 1},
	};
	int init = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	int rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	int rts = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (options->type == IBV_QPT_RC) {
		rtr |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
		rts |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		       IBV_QP_MAX_QP_RD_ATOMIC;
	}
	attr.ah_attr.grh.dgid = gid_of(options, !side);
	attr.ah_attr.grh.hop_limit = 64;
	attr.ah_attr.grh.traffic_class = options->traffic_class;
	attr.qp_state = IBV_QPS_INIT;
	CU_ASSERT_EQUAL_FATAL(vl_modify_qp(pair->qp[side], &attr, init, pair->now), 0);
	attr.qp_state = IBV_QPS_RTR;
	CU_ASSERT_EQUAL_FATAL(vl_modify_qp(pair->qp[side], &attr, rtr, pair->now), 0);
	attr.qp_state = IBV_QPS_RTS;
	CU_ASSERT_EQUAL_FATAL(vl_modify_qp(pair->qp[side], &attr, rts, pair->now), 0);
}

struct pair *pair_open(const struct pair_options *given)
{
	struct pair *pair = calloc(1, sizeof(*pair));
	struct pair_options *options;

	CU_ASSERT_PTR_NOT_NULL_FATAL(pair);
	if (given)
		pair->options = *given;
	options = &pair->options;
	if (!options->type)
		options->type = IBV_QPT_RC;
	if (!options->path_mtu)
		options->path_mtu = IBV_MTU_1024;
	if (!options->depth)
		options->depth = 64;
	if (!options->max_sge)
		options->max_sge = 4;
	if (!options->timeout)
		options->timeout = 10;
	if (!options->retry_count && !options->no_retry)
		options->retry_count = 7;
	if (!options->rnr_retry && !options->no_rnr_retry)
		options->rnr_retry = 7;
	if (!options->min_rnr_timer)
		options->min_rnr_timer = 1;
	if (!options->max_rd_atomic)
		options->max_rd_atomic = 4;
	if (!options->access)
		options->access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
				  IBV_ACCESS_MW_BIND | VL_ACCESS_FLUSH_GLOBAL |
				  VL_ACCESS_FLUSH_PERSISTENT;
	pair->now = 1000000;
	pair->in_flight_tail = &pair->in_flight;
	open_side(pair, 0);
	open_side(pair, 1);
	connect_side(pair, 0);
	connect_side(pair, 1);
	return pair;
}

void pair_close(struct pair *pair)
{
	struct pair_frame *frame;

	vl_close_device(pair->device[0]);
	vl_close_device(pair->device[1]);
	CU_ASSERT_EQUAL(pair->memory_in_use, 0);
	while ((frame = pair->in_flight)) {
		pair->in_flight = frame->next;
		free(frame);
	}
	free(pair->memory[0]);
	free(pair->memory[1]);
	free(pair->context[0]);
	free(pair->context[1]);
	free(pair);
}

static bool transmit(struct pair *pair, unsigned int side)
{
	struct pair_frame *frame = malloc(sizeof(*frame));
	struct vl_outgoing outgoing = {.headers = frame->bytes};
	struct pair_record scratch, *record = &scratch;
	bool keep = true;

	if (!vl_transmit(pair->device[side], pair->now, &outgoing)) {
		free(frame);
		return false;
	}
	frame->next = NULL;
	frame->to = (uint8_t)!side;
	frame->arrival = pair->now + PAIR_DELAY;
	frame->length = vl_serialize(&outgoing, frame->bytes, sizeof(frame->bytes));
	CU_ASSERT_EQUAL(frame->length, outgoing.frame_length);
	if (pair->trace_count < PAIR_TRACE)
		record = &pair->trace[pair->trace_count++];
	record->time = pair->now;
	record->from = (uint8_t)side;
	record->is_retransmission = outgoing.is_retransmission;
	CU_ASSERT_EQUAL(vl_parse(&record->packet, VL_LINK_ETHERNET, frame->bytes, frame->length,
				 frame->length),
			VL_PARSE_ok);
	if (pair->hook)
		keep = pair->hook(pair, side, &record->packet, frame->bytes, frame->length);
	record->dropped = !keep;
	if (!keep) {
		free(frame);
		return true;
	}
	*pair->in_flight_tail = frame;
	pair->in_flight_tail = &frame->next;
	return true;
}

static void deliver(struct pair *pair)
{
	while (pair->in_flight && pair->in_flight->arrival <= pair->now) {
		struct pair_frame *frame = pair->in_flight;
		uint8_t *exact = malloc(frame->length);

		pair->in_flight = frame->next;
		if (!pair->in_flight)
			pair->in_flight_tail = &pair->in_flight;
		/* Of exact size, so that a sanitizer sees a read beyond it. */
		memcpy(exact, frame->bytes, frame->length);
		vl_receive_frame_arrived(pair->device[frame->to], VL_LINK_ETHERNET, exact,
					 frame->length, pair->now - pair->port_time, pair->now);
		free(exact);
		free(frame);
	}
}

void pair_run(struct pair *pair, uint64_t duration)
{
	uint64_t end = pair->now + duration;

	for (;;) {
		uint64_t next = end;

		deliver(pair);
		for (unsigned int side = 0; side < 2; side++) {
			while (transmit(pair, side))
				;
		}
		if (pair->in_flight && pair->in_flight->arrival < next)
			next = pair->in_flight->arrival;
		for (unsigned int side = 0; side < 2; side++) {
			uint64_t deadline = vl_next_deadline(pair->device[side]);

			if (deadline < next)
				next = deadline;
		}
		if (next >= end)
			break;
		pair->now = next > pair->now ? next : pair->now + 1;
	}
	pair->now = end;
}

static struct ibv_wc poll(struct vl_cq *cq)
{
	struct ibv_wc wc;

	if (vl_poll_cq(cq, 1, &wc) != 1)
		wc.status = PAIR_NO_COMPLETION;
	return wc;
}

struct ibv_wc pair_poll_send(struct pair *pair, unsigned int side)
{
	return poll(pair->send_cq[side]);
}

struct ibv_wc pair_poll_recv(struct pair *pair, unsigned int side)
{
	return poll(pair->recv_cq[side]);
}

int pair_post(struct pair *pair, unsigned int side, enum ibv_wr_opcode opcode, uint32_t offset,
	      uint32_t length, uint64_t remote_offset, unsigned int flags)
{
	struct ibv_sge sge = {(uintptr_t)pair->memory[side] + offset, length, pair->mr[side]->lkey};
	struct ibv_send_wr wr = {
		.wr_id = offset,
		.sg_list = &sge,
		.num_sge = length ? 1 : 0,
		.opcode = opcode,
		.send_flags = flags,
	};
	const struct ibv_send_wr *bad;
	uint64_t remote = (uintptr_t)pair->memory[!side] + remote_offset;

	switch ((unsigned int)opcode) {
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		wr.wr.atomic.remote_addr = remote;
		wr.wr.atomic.rkey = pair->mr[!side]->rkey;
		wr.wr.atomic.compare_add = 5;
		wr.wr.atomic.swap = 77;
		break;
	case VL_WR_FLUSH:
		return vl_post_flush(pair->qp[side], wr.wr_id, flags, pair->mr[!side]->rkey, remote,
				     length, VL_PLACEMENT_GLOBAL, VL_SELECTIVITY_RANGE, pair->now);
	default:
		wr.wr.rdma.remote_addr = remote;
		wr.wr.rdma.rkey = pair->mr[!side]->rkey;
		break;
	}
	if (opcode == IBV_WR_SEND_WITH_IMM || opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		wr.imm_data = 0x78563412;
	return vl_post_send(pair->qp[side], &wr, &bad, pair->now);
}

int pair_post_recv(struct pair *pair, unsigned int side, uint32_t offset, uint32_t length)
{
	struct ibv_sge sge = {(uintptr_t)pair->memory[side] + offset, length, pair->mr[side]->lkey};
	struct ibv_recv_wr wr = {.wr_id = offset, .sg_list = &sge, .num_sge = 1};
	const struct ibv_recv_wr *bad;

	if (pair->srq[side])
		return vl_post_srq_recv(pair->srq[side], &wr, &bad);
	return vl_post_recv(pair->qp[side], &wr, &bad);
}

const struct pair_record *pair_find(const struct pair *pair, unsigned int from, int opcode,
				    uint32_t n)
{
	for (uint32_t i = 0; i < pair->trace_count; i++) {
		const struct pair_record *record = &pair->trace[i];

		if (record->from == from && (opcode < 0 || record->packet.opcode == opcode) && !n--)
			return record;
	}
	return NULL;
}

uint32_t pair_count(const struct pair *pair, unsigned int from, int opcode)
{
	uint32_t count = 0;

	while (pair_find(pair, from, opcode, count))
		count++;
	return count;
}
