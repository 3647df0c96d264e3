/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * A device with queue pairs of every service, fed with whatever the input says: packets (near what
 * is expected, or not at all), work requests, polls, transitions, time. Whatever comes, memory that
 * was not given for writing stays as it is, every completion belongs to a request that was posted
 * and had none, what is sent parses, and what was allocated is released.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/object/object.h"
#include "transport/wire/icrc.h"
#include "transport/wire/opcode.h"
#include "transport/wire/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define require(condition) ((condition) ? (void)0 : fail(__LINE__, #condition))

static void fail(int line, const char *condition)
{
	fprintf(stderr, "line %d: not so: %s\n", line, condition);
	abort();
}

/* ---- The input ------------------------------------------------------------------------------ */

struct input {
	const uint8_t *next, *end;
};

static uint8_t take8(struct input *input)
{
	return input->next < input->end ? *input->next++ : 0;
}

static uint32_t take32(struct input *input)
{
	uint32_t value = 0;

	for (int i = 0; i < 4; i++)
		value = value << 8 | take8(input);
	return value;
}

/* Mostly near zero, sometimes anything. */
static int32_t take_distance(struct input *input)
{
	int8_t near = (int8_t)take8(input);

	if (near == 127)
		return (int32_t)take32(input);
	return near > -112 && near < 112 ? near / 16 : near;
}

/* ---- Memory --------------------------------------------------------------------------------- */

#define REGION  8192u /* bytes of each region, and of what lies between two */
#define REGIONS 4u
#define ARENA   ((2 * REGIONS + 1) * REGION)
#define BASE    UINT64_C(0x100000) /* address of the arena's first byte */
#define CANARY  0xa5

/* What the peers or the QPs themselves may do with each. */
static const unsigned int region_access[REGIONS] = {
	IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | VL_ACCESS_FLUSH_GLOBAL |
		VL_ACCESS_FLUSH_PERSISTENT,
	IBV_ACCESS_REMOTE_READ,
	IBV_ACCESS_LOCAL_WRITE,
	IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
};

static uint64_t region_offset(uint32_t region)
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

static union ibv_gid gid_of(uint8_t host)
{
	return (union ibv_gid){.raw = {[10] = 0xff, [11] = 0xff, [12] = 10, [15] = host}};
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

/* ---- Packets -------------------------------------------------------------------------------- */

/* A key that is right for something, or nearly one, or anything. */
static uint32_t take_key(struct input *input, const struct fuzz *fuzz)
{
	uint8_t choice = take8(input);

	if (choice >= 250)
		return take32(input);
	if (choice >= 240)
		return fuzz->window->rkey;
	return fuzz->regions[choice % REGIONS]->rkey + (choice >= 230);
}

static uint64_t take_address(struct input *input)
{
	uint32_t region = take8(input) % REGIONS;
	uint64_t offset = (uint64_t)take8(input) << 5 | (take8(input) & 31);
	uint8_t choice = take8(input);

	if (choice >= 250)
		return (uint64_t)take32(input) << 32 | take32(input);
	return BASE + region_offset(region) + offset - (choice >= 240 ? 16 : 0);
}

static uint32_t take_length(struct input *input)
{
	uint8_t choice = take8(input);

	if (choice >= 250)
		return take32(input);
	return choice >= 200 ? (uint32_t)(choice - 200) * 256 + take8(input) : choice * 2u;
}

static uint32_t expected_psn(const struct vl_qp *qp, bool is_response)
{
	return is_response ? qp->requester.unacked_psn : qp->responder.expected_psn;
}

static void fill_extensions(struct fuzz *fuzz, struct vl_packet *packet)
{
	struct input *input = &fuzz->input;
	uint32_t flags = packet->info->flags;

	if (flags & (VL_OPCODE_RETH | VL_OPCODE_ATOMICETH)) {
		packet->remote_address = take_address(input);
		packet->rkey = take_key(input, fuzz);
	}
	if (flags & VL_OPCODE_RETH)
		packet->dma_length = take_length(input);
	if (flags & VL_OPCODE_ATOMICETH) {
		packet->swap_or_add = take32(input);
		packet->compare = take8(input) ? 0xa5a5a5a5a5a5a5a5 : take32(input);
	}
	if (flags & VL_OPCODE_AETH) {
		uint8_t syndrome = take8(input);

		packet->syndrome = syndrome >= 224 ? take8(input)
						   : (syndrome & 3) << 5 | (syndrome >> 2 & 0x1f);
		packet->msn = (uint32_t)take_distance(input) & 0xffffff;
	}
	if (flags & VL_OPCODE_ATOMICACKETH)
		packet->original = take32(input);
	if (flags & VL_OPCODE_IMMDT)
		packet->immediate = take32(input);
	if (flags & VL_OPCODE_IETH)
		packet->invalidate_rkey = take_key(input, fuzz);
	if (flags & VL_OPCODE_DETH) {
		packet->qkey = take8(input) < 200
				       ? fuzz->qps[QP_GSI]->qpn == packet->destination_qpn
						 ? GSI_QKEY
						 : QKEY
				       : take32(input);
		packet->source_qpn = take8(input);
	}
	if (flags & VL_OPCODE_FETH) {
		packet->placement = take8(input) & 15;
		packet->selectivity = take8(input) & 3;
	}
}

/* Near what the QP expects in every field, unless the input says otherwise. The payload is of exact
 * size, so that a sanitizer sees the first byte read beyond. */
static void receive_packet(struct fuzz *fuzz)
{
	static const uint8_t network[40]; /* IPv4 header, of which nothing but the bytes counts */
	static const uint8_t services[QPS] = {VL_SERVICE_RC, VL_SERVICE_RC, VL_SERVICE_UC,
					      VL_SERVICE_UD, VL_SERVICE_UD};
	struct input *input = &fuzz->input;
	unsigned int qp = take8(input) % QPS;
	uint8_t choice = take8(input), unusual = take8(input);
	uint8_t *payload;
	struct vl_packet packet = {
		.opcode = choice >= 250 ? take8(input) : (uint8_t)(services[qp] | (choice & 0x1f)),
		.network = network,
		.encapsulation = VL_ENCAPSULATION_ROCEV2_IPV4,
		.source_mac = {2, 0, 0, 0, 0, 2},
		.destination_mac = {2, 0, 0, 0, 0, 1},
		.grh_present = true,
		.source_gid = gid_of(unusual == 255 ? 3 : 2),
		.destination_gid = gid_of(unusual == 254 ? 9 : 1),
		.destination_qpn =
			unusual == 253 ? take32(input) & 0xffffff : vl_qp_number(fuzz->qps[qp]),
		.pkey = unusual == 252 ? 0x1234 : 0xffff,
		.traffic_class = unusual & 3,
		.becn = unusual & 4,
		.ack_request = unusual & 8,
		.solicited = unusual & 16,
		.transport_version = unusual == 251,
	};

	packet.info = &vl_opcode_table[packet.opcode];
	if (!packet.info->flags)
		return;
	packet.psn = (expected_psn(fuzz->qps[qp], packet.info->flags & VL_OPCODE_RESPONSE) +
		      (uint32_t)take_distance(input)) &
		     0xffffff;
	fill_extensions(fuzz, &packet);
	if (packet.info->flags & VL_OPCODE_PAYLOAD) {
		choice = take8(input);
		packet.payload_length = choice >= 192   ? 256
					: choice >= 180 ? (uint32_t)take8(input) << 4 | take8(input)
							: choice;
	}
	packet.pad_count = -packet.payload_length & 3;
	payload = malloc(packet.payload_length + 1);
	require(payload != NULL);
	memset(payload, take8(input), packet.payload_length);
	packet.payload = payload;
	vl_receive(fuzz->device, &packet, fuzz->now);
	free(payload);
}

static void receive_bytes(struct fuzz *fuzz)
{
	size_t length = (size_t)take8(&fuzz->input) * 2;
	uint8_t *frame = malloc(length + 1);

	require(frame != NULL);
	for (size_t i = 0; i < length; i++)
		frame[i] = take8(&fuzz->input);
	vl_receive_frame(fuzz->device, VL_LINK_ETHERNET, frame, (uint32_t)length, fuzz->now);
	free(frame);
}

/* What is sent is whole, right, and of memory that may be read. */
static void check_frame(struct fuzz *fuzz, const struct vl_outgoing *outgoing)
{
	uint8_t *frame = malloc(outgoing->frame_length);
	struct vl_packet packet;

	require(frame &&
		vl_serialize(outgoing, frame, outgoing->frame_length) == outgoing->frame_length);
	require(vl_parse(&packet, VL_LINK_ETHERNET, frame, outgoing->frame_length,
			 outgoing->frame_length) == VL_PARSE_ok);
	require(vl_icrc_is_right(&packet));
	require(packet.payload_length == outgoing->payload_length);
	require(packet.payload_length <= 4096);
	for (uint32_t i = 0; i < outgoing->span_count; i++) {
		const struct vl_span *span = &outgoing->spans[i];
		uint64_t at = (uint64_t)(span->data - fuzz->arena);
		bool is_inside = span->data >= fuzz->arena && at < ARENA;

		/* Else it is inline. */
		if (is_inside)
			require(at / REGION % 2 && at / REGION == (at + span->length - 1) / REGION);
	}
	free(frame);
}

static void transmit(struct fuzz *fuzz)
{
	uint8_t headers[VL_MAX_HEADER_LENGTH];
	struct vl_outgoing outgoing = {.headers = headers};
	unsigned int most = 1 + take8(&fuzz->input) % 64;

	while (most && vl_transmit(fuzz->device, fuzz->now, &outgoing)) {
		check_frame(fuzz, &outgoing);
		most--;
	}
	/* With nothing to send now there is nothing to be called for now. */
	if (most)
		require(vl_next_deadline(fuzz->device) > fuzz->now);
}

/* ---- Work requests -------------------------------------------------------------------------- */

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

static void post_send(struct fuzz *fuzz)
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

static void post_flush(struct fuzz *fuzz)
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

static void post_receive(struct fuzz *fuzz)
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

static void poll(struct fuzz *fuzz, bool sends)
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

/* ---- The rest ------------------------------------------------------------------------------- */

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
		poll(fuzz, choice & 1);
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
	poll(fuzz, true);
	poll(fuzz, false);
	check_memory(fuzz);
	check_counters(fuzz);
	vl_close_device(fuzz->device);
	require(fuzz->allocations == 0);
	free(fuzz->arena);
	free(fuzz);
	return 0;
}
