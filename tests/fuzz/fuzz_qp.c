/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Queue pairs of every service fed with arbitrary packets, near enough to right ones to reach deep,
 * between posts, polls, state changes and time. The input is a program: each byte that is read
 * chooses what happens next. Whatever happens, nothing outside the registered memory is written,
 * every work request completes at most once, every packet that leaves is well formed, and a device
 * that has nothing to send now says so.
 */

#include "transport/object/object.h"
#include "transport/verbline.h"
#include "transport/wire/icrc.h"
#include "transport/wire/opcode.h"
#include "transport/wire/parse.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define QPS       5 /* two RC connected to each other, UC, UD, GSI */
#define GUARD     256
#define MEMORY    16384
#define DEPTH     8
#define CANARY    0xa5
#define MAX_STEPS 512

static void require(bool condition)
{
	if (!condition)
		abort();
}

struct program {
	const uint8_t *data;
	size_t size, at;
};

static uint8_t byte(struct program *program)
{
	return program->at < program->size ? program->data[program->at++] : 0;
}

static uint32_t word(struct program *program)
{
	uint32_t value = byte(program);

	value = value << 8 | byte(program);
	value = value << 8 | byte(program);
	return value << 8 | byte(program);
}

struct world {
	struct vl_device *device;
	struct vl_pd *pd;
	struct vl_cq *cq;
	struct vl_qp *qps[QPS];
	struct ibv_ah *ah;
	uint8_t *memory; /* GUARD, MEMORY, GUARD */
	struct ibv_mr *mr;
	uint64_t now;
	int64_t sends, receives; /* posted and not completed */
	uint8_t frame[4400];
	uint32_t frame_length;
};

/* Addresses are the memory's own: inline data is read from where it lies. */
#define BASE(world) ((uintptr_t)((world)->memory + GUARD))

static void *allocate(void *context, size_t size)
{
	size_t rounded = (size + 63) & ~(size_t)63;
	void *memory = aligned_alloc(64, rounded);

	(void)context;
	return memory ? memset(memory, 0, rounded) : NULL;
}

static void release(void *context, void *memory, size_t size)
{
	(void)context;
	(void)size;
	free(memory);
}

static const union ibv_gid address = {.raw = {[10] = 0xff, [11] = 0xff, 10, 0, 0, 1}};
static const unsigned int all_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				       IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
				       IBV_ACCESS_MW_BIND | VL_ACCESS_FLUSH_GLOBAL;

/* To RTS from wherever it is; the last QPN and PSNs are kept simple. */
static void connect_qp(struct world *world, unsigned int index)
{
	struct vl_qp *qp = world->qps[index];
	bool is_rc = qp->type == IBV_QPT_RC, is_ud = qp->type == IBV_QPT_UD;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RESET,
		.port_num = 1,
		.qkey = qp->is_gsi ? 0x80010000 : 0x1111,
		.qp_access_flags =
			all_access & ~(unsigned int)(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND),
		.path_mtu = IBV_MTU_256,
		.dest_qp_num = vl_qp_number(world->qps[index == 0   ? 1
						       : index == 1 ? 0
								    : index]),
		.rq_psn = 0xfffffe,
		.sq_psn = 0xfffffe,
		.max_dest_rd_atomic = 3,
		.max_rd_atomic = 3,
		.min_rnr_timer = 1,
		.timeout = 1,
		.retry_cnt = 3,
		.rnr_retry = 3,
		.ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = address}},
	};

	vl_modify_qp(qp, &attr, IBV_QP_STATE, world->now);
	attr.qp_state = IBV_QPS_INIT;
	vl_modify_qp(qp, &attr,
		     IBV_QP_STATE | IBV_QP_PKEY_INDEX | (qp->is_gsi ? 0 : IBV_QP_PORT) |
			     (is_ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS),
		     world->now);
	attr.qp_state = IBV_QPS_RTR;
	vl_modify_qp(
		qp, &attr,
		IBV_QP_STATE |
			(is_ud ? 0
			       : IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN) |
			(is_rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0),
		world->now);
	attr.qp_state = IBV_QPS_RTS;
	vl_modify_qp(qp, &attr,
		     IBV_QP_STATE | IBV_QP_SQ_PSN |
			     (is_rc ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					      IBV_QP_MAX_QP_RD_ATOMIC
				    : 0),
		     world->now);
	require(vl_qp_state(qp) == IBV_QPS_RTS);
}

static void open_world(struct world *world)
{
	static const enum ibv_qp_type types[QPS] = {IBV_QPT_RC, IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD,
						    IBV_QPT_UD};
	struct vl_device_config config = {
		.allocator = {allocate, release, NULL},
		.seed = 1,
		.mac = {2, 0, 0, 0, 0, 1},
		.gid_count = 1,
		.gids = {{.gid = address, .encapsulation = VL_ENCAPSULATION_ROCEV2_IPV4}},
	};
	struct ibv_ah_attr ah = {.is_global = 1, .port_num = 1, .grh = {.dgid = address}};
	int error;

	world->now = 1000;
	world->device = vl_open_device(&config, &error);
	require(world->device != NULL);
	world->pd = vl_alloc_pd(world->device, &error);
	world->cq = vl_create_cq(world->device, 256, NULL, &error);
	world->ah = vl_create_ah(world->pd, &ah, &error);
	world->memory = malloc(MEMORY + 2 * GUARD);
	memset(world->memory, CANARY, MEMORY + 2 * GUARD);
	world->mr = vl_reg_mr(world->pd, world->memory + GUARD, MEMORY, BASE(world), all_access,
			      &error);
	require(world->pd && world->cq && world->ah && world->mr);
	for (unsigned int i = 0; i < QPS; i++) {
		struct vl_qp_init_attr init = {
			.send_cq = world->cq,
			.recv_cq = world->cq,
			.cap = {DEPTH, DEPTH, 2, 2, 32},
			.qp_type = types[i],
			.gsi = i == QPS - 1,
		};

		world->qps[i] = vl_create_qp(world->pd, &init, &error);
		require(world->qps[i] != NULL);
	}
	for (unsigned int i = 0; i < QPS; i++)
		connect_qp(world, i);
}

static void close_world(struct world *world)
{
	for (uint32_t i = 0; i < GUARD; i++) {
		require(world->memory[i] == CANARY);
		require(world->memory[GUARD + MEMORY + i] == CANARY);
	}
	vl_close_device(world->device);
	free(world->memory);
}

/* ---- What can happen ------------------------------------------------------------------------ */

/* A packet whose fields are right, near to right, or anything. */
static void receive_built(struct world *world, struct program *program)
{
	static const uint32_t lengths[] = {0, 1, 4, 8, 255, 256, 257, 512};
	static uint8_t payload[512];
	uint8_t choice = byte(program);
	struct vl_qp *qp = world->qps[choice % QPS];
	uint8_t opcode = byte(program);
	struct vl_packet packet = {
		.destination_mac = {2, 0, 0, 0, 0, 1},
		.grh_present = true,
		.source_gid = address,
		.destination_gid = address,
		.pkey = 0xffff,
		.destination_qpn = vl_qp_number(qp),
		.payload = payload,
		.network = payload, /* UD copies an IPv4 header from here */
		.opcode = opcode,
		.info = &vl_opcode_table[opcode],
		.psn = choice & 0x80 ? qp->responder.expected_psn : qp->requester.unacked_psn,
		.rkey = world->mr->rkey,
		.qkey = qp->is_gsi ? 0x80010000 : 0x1111,
		.remote_address = BASE(world),
	};
	uint8_t bits = byte(program);

	if (!(packet.info->flags & VL_OPCODE_VALID))
		return;
	packet.psn = (packet.psn + (uint32_t)(int8_t)byte(program)) & 0xffffff;
	packet.payload_length =
		packet.info->flags & VL_OPCODE_PAYLOAD ? lengths[byte(program) % 8] : 0;
	packet.dma_length = bits & 1 ? packet.payload_length : word(program);
	packet.remote_address += bits & 2 ? (byte(program) & 0xf8) : word(program) % (MEMORY + 64);
	packet.rkey ^= bits & 4 ? word(program) : 0;
	packet.ack_request = bits & 8;
	packet.traffic_class = bits & 16 ? VL_ECN_CE : VL_ECN_ECT0;
	packet.becn = bits & 32;
	packet.placement = bits & 64 ? byte(program) & 15 : 1;
	packet.syndrome = byte(program);
	packet.msn = bits & 128 ? qp->responder.msn : byte(program);
	packet.swap_or_add = packet.compare = byte(program);
	packet.invalidate_rkey = packet.rkey;
	vl_receive(world->device, &packet, world->now);
}

static void receive_bytes(struct world *world, struct program *program)
{
	uint32_t length = byte(program);
	uint8_t *exact;

	if (length > program->size - program->at)
		length = (uint32_t)(program->size - program->at);
	exact = malloc(length ? length : 1);
	memcpy(exact, program->data + program->at, length);
	program->at += length;
	vl_receive_frame(world->device, VL_LINK_ETHERNET, exact, length, world->now);
	free(exact);
}

static void post_send(struct world *world, struct program *program)
{
	struct vl_qp *qp = world->qps[byte(program) % QPS];
	uint8_t choice = byte(program);
	struct ibv_sge sges[2] = {
		{BASE(world) + byte(program) * 8u, byte(program) * 4u, world->mr->lkey},
		{BASE(world) + byte(program) * 16u, byte(program), world->mr->lkey},
	};
	struct ibv_send_wr wr = {
		.sg_list = sges,
		.num_sge = choice >> 6 & 1 ? 2 : 1,
		.opcode = (enum ibv_wr_opcode)(choice & 15),
		.send_flags = byte(program) & 15,
	};
	const struct ibv_send_wr *bad;

	switch ((unsigned int)wr.opcode) {
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
	case IBV_WR_ATOMIC_WRITE:
		sges[0].length = 8;
		wr.num_sge = 1;
		wr.wr.atomic.remote_addr = BASE(world) + byte(program) * 8u;
		wr.wr.atomic.rkey = world->mr->rkey;
		break;
	case IBV_WR_BIND_MW:
	case IBV_WR_TSO:
	case IBV_WR_DRIVER1:
		return;
	case VL_WR_FLUSH:
		world->sends += !vl_post_flush(qp, 0, wr.send_flags, world->mr->rkey, BASE(world),
					       64, VL_PLACEMENT_GLOBAL, choice >> 7, world->now);
		return;
	default:
		wr.wr.rdma.remote_addr = BASE(world) + byte(program) * 64u;
		wr.wr.rdma.rkey = world->mr->rkey ^ (choice & 32 ? byte(program) : 0);
		break;
	}
	if (qp->type == IBV_QPT_UD) {
		wr.wr.ud.ah = world->ah;
		wr.wr.ud.remote_qpn = vl_qp_number(world->qps[byte(program) % QPS]);
		wr.wr.ud.remote_qkey = 0x1111;
	}
	world->sends += !vl_post_send(qp, &wr, &bad, world->now);
}

static void post_recv(struct world *world, struct program *program)
{
	struct vl_qp *qp = world->qps[byte(program) % QPS];
	struct ibv_sge sge = {BASE(world) + byte(program) * 8u, byte(program) * 8u,
			      world->mr->lkey};
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1};
	const struct ibv_recv_wr *bad;

	world->receives += !vl_post_recv(qp, &wr, &bad);
}

static void poll_all(struct world *world)
{
	struct ibv_wc wc;

	while (vl_poll_cq(world->cq, 1, &wc) == 1) {
		/* Failed requests keep no opcode worth relying on; they are counted together. */
		if (wc.status != IBV_WC_SUCCESS)
			continue;
		if (wc.opcode & IBV_WC_RECV)
			require(--world->receives >= 0);
		else
			require(--world->sends >= 0);
	}
}

/* Sends what is due; each packet may come back to the device, changed or not. */
static void transmit(struct world *world, struct program *program)
{
	uint8_t count = byte(program) & 31, fate = byte(program);
	struct vl_outgoing outgoing = {.headers = world->frame};
	struct vl_packet packet;
	uint64_t deadline;

	for (uint8_t i = 0; i <= count; i++) {
		if (!vl_transmit(world->device, world->now, &outgoing)) {
			deadline = vl_next_deadline(world->device);
			require(deadline > 0);
			return;
		}
		world->frame_length = vl_serialize(&outgoing, world->frame, sizeof(world->frame));
		require(world->frame_length == outgoing.frame_length);
		require(vl_parse(&packet, VL_LINK_ETHERNET, world->frame, world->frame_length,
				 world->frame_length) == VL_PARSE_ok);
		require(vl_icrc_is_right(&packet));
		if (fate & 1 && !(byte(program) & 7))
			continue;
		vl_receive(world->device, &packet, world->now);
		if (fate & 2 && !(byte(program) & 7))
			vl_receive(world->device, &packet, world->now);
	}
}

static void change_state(struct world *world, struct program *program)
{
	unsigned int index = byte(program) % QPS;
	struct ibv_qp_attr attr = {.en_sqd_async_notify = 1};

	switch (byte(program) & 3) {
	case 0:
		/* A reset forgets what was posted. */
		connect_qp(world, index);
		world->sends += DEPTH * 4;
		world->receives += DEPTH * 4;
		return;
	case 1:
		attr.qp_state = IBV_QPS_ERR;
		break;
	case 2:
		attr.qp_state = IBV_QPS_SQD;
		break;
	default:
		attr.qp_state = IBV_QPS_RTS;
		break;
	}
	vl_modify_qp(world->qps[index], &attr, IBV_QP_STATE, world->now);
}

static void change_memory(struct world *world, struct program *program)
{
	uint8_t choice = byte(program);
	int error;

	if (choice & 1) {
		vl_rereg_mr(world->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			    choice & 2 ? all_access : IBV_ACCESS_LOCAL_WRITE);
		return;
	}
	if (vl_dereg_mr(world->mr))
		return;
	world->mr = vl_reg_mr(world->pd, world->memory + GUARD, MEMORY, BASE(world), all_access,
			      &error);
	require(world->mr != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct program program = {.data = data, .size = size};
	struct world *world = calloc(1, sizeof(*world));

	require(world != NULL);
	open_world(world);
	for (unsigned int step = 0; step < MAX_STEPS && program.at < program.size; step++) {
		switch (byte(&program) % 12) {
		case 0:
		case 1:
		case 2:
			receive_built(world, &program);
			break;
		case 3:
		case 4:
			post_send(world, &program);
			break;
		case 5:
			post_recv(world, &program);
			break;
		case 6:
		case 7:
			transmit(world, &program);
			break;
		case 8:
			world->now += (uint64_t)byte(&program) << (byte(&program) & 15);
			break;
		case 9:
			poll_all(world);
			break;
		case 10:
			if (byte(&program) & 1)
				change_state(world, &program);
			else
				change_memory(world, &program);
			break;
		default:
			receive_bytes(world, &program);
			break;
		}
	}
	poll_all(world);
	close_world(world);
	free(world);
	return 0;
}
