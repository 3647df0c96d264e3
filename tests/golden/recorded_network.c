/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "tests/golden/recorded_network.h"

#include "dataplane/capture/writer.h"
#include "transport/random.h"
#include "transport/wire/icrc.h"
#include "transport/wire/opcode.h"
#include "transport/wire/parse.h"

#include <CUnit/CUnit.h>
#include <stdlib.h>
#include <string.h>

/* Of a host: what it sends from, what it receives into, and what its peers reach. What is sent does
 * not change, so that it can be sent again. */
#define MEMORY   (UINT32_C(1) << 20)
#define SINK     (MEMORY / 4)
#define SHARED   (MEMORY / 2)
#define BASE     UINT64_C(0x7f0000000000) /* address */
#define SPARE    64u /* bytes at the start of the sink, under a key of their own */
#define COUNTERS 4u
#define DELAY    2000u  /* ns, one way */
#define LATENESS 30000u /* ns, at most */
#define DEPTH    64u
#define FRAME    4400u

struct frame {
	struct frame *next;
	uint64_t arrival;
	uint32_t record; /* in the capture */
	uint32_t length;
	uint8_t to;
	uint8_t bytes[FRAME];
};

struct host {
	struct vl_device *device;
	struct vl_pd *pd;
	struct vl_cq *send_cq, *recv_cq;
	struct ibv_mr *mr;
	struct ibv_mr *spare; /* is invalidated by a SEND now and then, and registered anew */
	bool is_spare_ending; /* that SEND is under way */
	uint8_t *memory;
	union ibv_gid gid;
};

struct side {
	struct vl_qp *qp;
	uint8_t host;
	uint32_t to_post, outstanding;
	uint32_t receives; /* posted and not completed */
};

struct network {
	const struct network_parameters *parameters;
	struct network_capture *capture;
	struct vl_random random;
	uint64_t now, arrivals;
	struct host hosts[NETWORK_HOSTS];
	uint32_t host_count;
	struct side (*sides)[2];        /* of each connection */
	struct frame *in_flight, *last; /* by arrival */
};

/* ---- Hosts ---------------------------------------------------------------------------------- */

static void *allocate(void *context, size_t size)
{
	size_t rounded = (size + 63) & ~(size_t)63;

	(void)context;
	return memset(aligned_alloc(64, rounded), 0, rounded);
}

static void release(void *context, void *memory, size_t size)
{
	(void)context;
	(void)size;
	free(memory);
}

static int resolve(void *context, const union ibv_gid *destination, uint8_t mac[6])
{
	(void)context;
	memcpy(mac, (const uint8_t[6]){2, 0, 0, 0, 0, destination->raw[15]}, 6);
	return 0;
}

#define ACCESS                                                                                     \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | VL_ACCESS_FLUSH_GLOBAL |                  \
	 VL_ACCESS_FLUSH_PERSISTENT)

static void register_spare(struct host *host)
{
	if (host->spare)
		vl_dereg_mr(host->spare);
	host->spare = vl_reg_mr(host->pd, host->memory + SINK, SPARE, 0, ACCESS, NULL);
	host->is_spare_ending = false;
	CU_ASSERT_PTR_NOT_NULL_FATAL(host->spare);
}

static void open_host(struct network *network, uint32_t number)
{
	const struct network_parameters *parameters = network->parameters;
	struct host *host = &network->hosts[number];
	struct vl_device_config config = {
		.allocator = {allocate, release, NULL},
		.events = {.resolve = resolve},
		.seed = parameters->seed + number,
		.mac = {2, 0, 0, 0, 0, (uint8_t)(number + 1)},
		.gid_count = 1,
		.unlimited_credits = parameters->unlimited_credits,
		.first_qpn = parameters->same_qpns ? 100 : 100 + 10000 * (number + 1),
	};

	if (parameters->encapsulation == VL_ENCAPSULATION_ROCEV2_IPV4) {
		host->gid.raw[10] = host->gid.raw[11] = 0xff;
		host->gid.raw[12] = 10;
	} else {
		host->gid.raw[0] = 0xfd;
	}
	host->gid.raw[15] = (uint8_t)(number + 1);
	config.gids[0] = (struct vl_gid_entry){.gid = host->gid,
					       .encapsulation = parameters->encapsulation,
					       .vlan_present = parameters->vlan,
					       .vlan_id = 77};
	host->device = vl_open_device(&config, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(host->device);
	host->pd = vl_alloc_pd(host->device, NULL);
	host->send_cq = vl_create_cq(host->device, 1 << 18, NULL, NULL);
	host->recv_cq = vl_create_cq(host->device, 1 << 18, NULL, NULL);
	host->memory = malloc(MEMORY);
	for (uint32_t i = 0; i < MEMORY; i++)
		host->memory[i] = (uint8_t)vl_random_next(&network->random);
	host->mr = vl_reg_mr(host->pd, host->memory, MEMORY, BASE, ACCESS, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(host->mr);
	register_spare(host);
}

/* ---- Connections ---------------------------------------------------------------------------- */

static struct vl_qp *make_qp(struct network *network, uint32_t number)
{
	struct host *host = &network->hosts[number];
	struct vl_qp_init_attr init = {
		.send_cq = host->send_cq,
		.recv_cq = host->recv_cq,
		.cap = {DEPTH, DEPTH, 2, 2, 0},
		.qp_type = network->parameters->type ? network->parameters->type : IBV_QPT_RC,
	};
	struct vl_qp *qp = vl_create_qp(host->pd, &init, NULL);

	CU_ASSERT_PTR_NOT_NULL_FATAL(qp);
	return qp;
}

static void connect_side(struct network *network, struct side *side, const struct side *peer,
			 uint32_t sq_psn, uint32_t rq_psn)
{
	const struct network_parameters *parameters = network->parameters;
	bool rc = parameters->type != IBV_QPT_UC;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				   IBV_ACCESS_REMOTE_ATOMIC | VL_ACCESS_FLUSH_GLOBAL |
				   VL_ACCESS_FLUSH_PERSISTENT,
		.path_mtu = parameters->mtu ? parameters->mtu : IBV_MTU_1024,
		.dest_qp_num = vl_qp_number(peer->qp),
		.rq_psn = rq_psn,
		.sq_psn = sq_psn,
		.max_dest_rd_atomic = 8,
		.max_rd_atomic = 8,
		.min_rnr_timer = 2,
		.timeout = 8,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr = {.is_global = 1, .port_num = 1},
	};
	int masks[] = {
		IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
		IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			(rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0),
		IBV_QP_STATE | IBV_QP_SQ_PSN |
			(rc ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					 IBV_QP_MAX_QP_RD_ATOMIC
			    : 0),
	};

	attr.ah_attr.grh.dgid = network->hosts[peer->host].gid;
	attr.ah_attr.grh.hop_limit = 64;
	attr.ah_attr.grh.traffic_class = parameters->marked ? 0x6b : 0x6a;
	for (unsigned int i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL_FATAL(vl_modify_qp(side->qp, &attr, masks[i], network->now), 0);
		attr.qp_state++;
	}
}

static void connect(struct network *network, uint32_t number)
{
	const struct network_parameters *parameters = network->parameters;
	struct side *sides = network->sides[number];
	uint32_t psn[2];

	sides[0].host = 0;
	sides[1].host = (uint8_t)(1 + number % (network->host_count - 1));
	for (unsigned int s = 0; s < 2; s++) {
		sides[s].qp = make_qp(network, sides[s].host);
		sides[s].to_post = s && !parameters->both_ask ? 0 : parameters->messages;
		psn[s] = (uint32_t)vl_random_below(&network->random, 1u << 24);
		if (parameters->counts_over)
			psn[s] = 0xffffffu - (uint32_t)vl_random_below(&network->random, 40);
		if (parameters->same_psns)
			psn[s] = 0;
	}
	connect_side(network, &sides[0], &sides[1], psn[0], psn[1]);
	connect_side(network, &sides[1], &sides[0], psn[1], psn[0]);
}

/* ---- Work ----------------------------------------------------------------------------------- */

static uint64_t below(struct network *network, uint64_t bound)
{
	return vl_random_below(&network->random, bound);
}

static void post_receives(struct network *network, uint32_t number, unsigned int s)
{
	struct side *side = &network->sides[number][s];
	struct host *host = &network->hosts[side->host];
	uint32_t wanted = network->parameters->receives ? network->parameters->receives : DEPTH;
	const struct ibv_recv_wr *bad;

	while (side->receives < wanted) {
		struct ibv_sge sge = {BASE + SINK, SHARED - SINK, host->mr->lkey};
		struct ibv_recv_wr wr = {.wr_id = number, .sg_list = &sge, .num_sge = 1};

		CU_ASSERT_EQUAL_FATAL(vl_post_recv(side->qp, &wr, &bad), 0);
		side->receives++;
	}
}

static enum ibv_wr_opcode choose(struct network *network)
{
	uint32_t operations = network->parameters->operations;
	unsigned int choice;

	do {
		choice = (unsigned int)below(network, 6);
	} while (operations && !(operations >> choice & 1));
	switch (choice) {
	case 0:
		return below(network, 2) ? IBV_WR_SEND : IBV_WR_SEND_WITH_IMM;
	case 1:
		return below(network, 4) ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_WRITE_WITH_IMM;
	case 2:
		return IBV_WR_RDMA_READ;
	case 3:
		return below(network, 2) ? IBV_WR_ATOMIC_FETCH_AND_ADD : IBV_WR_ATOMIC_CMP_AND_SWP;
	case 4:
		return VL_WR_FLUSH;
	default:
		return IBV_WR_ATOMIC_WRITE;
	}
}

static bool is_counter(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	       opcode == IBV_WR_ATOMIC_WRITE;
}

static void aim(struct network *network, const struct host *peer, struct ibv_send_wr *wr,
		uint32_t length)
{
	const struct network_parameters *parameters = network->parameters;
	uint64_t remote = BASE + SHARED + below(network, SHARED - length - 8 * COUNTERS);

	if (is_counter(wr->opcode))
		remote = parameters->spreads_counters
				 ? remote & ~UINT64_C(7)
				 : BASE + MEMORY - 8 * (1 + below(network, COUNTERS));
	if (wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
		wr->wr.atomic.remote_addr = remote;
		wr->wr.atomic.rkey = peer->mr->rkey;
		wr->wr.atomic.compare_add = below(network, 3);
		wr->wr.atomic.swap = below(network, 3);
		return;
	}
	wr->wr.rdma.remote_addr = remote;
	wr->wr.rdma.rkey = peer->mr->rkey;
	if (wr->opcode == IBV_WR_RDMA_WRITE && length && length <= SPARE &&
	    !peer->is_spare_ending) {
		wr->wr.rdma.remote_addr = below(network, SPARE - length + 1);
		wr->wr.rdma.rkey = peer->spare->rkey;
	}
}

static void post_send(struct network *network, uint32_t number, unsigned int s)
{
	const struct network_parameters *parameters = network->parameters;
	struct side *side = &network->sides[number][s];
	struct host *host = &network->hosts[side->host];
	struct host *peer = &network->hosts[network->sides[number][!s].host];
	uint32_t largest = parameters->largest ? parameters->largest : 8000;
	uint32_t length = (uint32_t)below(network, below(network, 3) ? largest + 1 : 100);
	struct ibv_sge sge = {BASE + below(network, SINK - largest), length, host->mr->lkey};
	struct ibv_send_wr wr = {
		.wr_id = number << 1 | s,
		.sg_list = &sge,
		.opcode = choose(network),
		.send_flags = IBV_SEND_SIGNALED | (below(network, 4) ? 0 : IBV_SEND_SOLICITED),
		.imm_data = (uint32_t)vl_random_next(&network->random),
	};
	const struct ibv_send_wr *bad;
	int result;

	if (parameters->type == IBV_QPT_UC && wr.opcode != IBV_WR_SEND)
		wr.opcode = IBV_WR_RDMA_WRITE;
	if (wr.opcode == IBV_WR_SEND && parameters->invalidates && !peer->is_spare_ending &&
	    below(network, 4) == 0) {
		wr.opcode = IBV_WR_SEND_WITH_INV;
		wr.invalidate_rkey = peer->spare->rkey;
		peer->is_spare_ending = true;
	}
	aim(network, peer, &wr, length);
	if (is_counter(wr.opcode))
		sge.length = 8;
	if (wr.opcode == IBV_WR_RDMA_READ || is_counter(wr.opcode))
		sge.addr += SINK;
	if (wr.opcode == IBV_WR_ATOMIC_WRITE)
		sge.addr -= SINK;
	wr.num_sge = sge.length ? 1 : 0;
	if (wr.opcode == VL_WR_FLUSH)
		result = vl_post_flush(side->qp, wr.wr_id, IBV_SEND_SIGNALED, wr.wr.rdma.rkey,
				       wr.wr.rdma.remote_addr, length, VL_PLACEMENT_GLOBAL,
				       VL_SELECTIVITY_RANGE, network->now);
	else
		result = vl_post_send(side->qp, &wr, &bad, network->now);
	CU_ASSERT_EQUAL_FATAL(result, 0);
	side->to_post--;
	side->outstanding++;
}

/* Takes completions, and posts what they make room for. False: everything is done. */
static bool work(struct network *network)
{
	const struct network_parameters *parameters = network->parameters;
	uint32_t window = parameters->window ? parameters->window : 8;
	bool is_busy = false;
	struct ibv_wc wc;

	for (uint32_t h = 0; h < network->host_count; h++) {
		while (vl_poll_cq(network->hosts[h].send_cq, 1, &wc) == 1) {
			network->sides[wc.wr_id >> 1][wc.wr_id & 1].outstanding--;
			network->capture->messages += wc.status == IBV_WC_SUCCESS;
			network->capture->failures += wc.status != IBV_WC_SUCCESS;
		}
		while (vl_poll_cq(network->hosts[h].recv_cq, 1, &wc) == 1) {
			network->sides[wc.wr_id][h != 0].receives--;
			if (wc.status == IBV_WC_SUCCESS && wc.wc_flags & IBV_WC_WITH_INV)
				register_spare(&network->hosts[h]);
		}
	}
	for (uint32_t i = 0; i < parameters->connections; i++) {
		for (unsigned int s = 0; s < 2; s++) {
			struct side *side = &network->sides[i][s];

			/* With few receives they are often late. */
			if (!parameters->receives || below(network, 8) == 0)
				post_receives(network, i, s);
			while (side->to_post && side->outstanding < window &&
			       vl_qp_state(side->qp) == IBV_QPS_RTS)
				post_send(network, i, s);
			is_busy = is_busy || side->outstanding ||
				  (side->to_post && vl_qp_state(side->qp) == IBV_QPS_RTS);
		}
	}
	return is_busy;
}

/* ---- The wire ------------------------------------------------------------------------------- */

static struct network_packet *record(struct network *network, const uint8_t *bytes, uint32_t length)
{
	struct network_capture *capture = network->capture;
	struct network_packet *packet;

	if (capture->count == capture->room) {
		capture->room = capture->room ? capture->room * 2 : 1024;
		capture->packets =
			realloc(capture->packets, capture->room * sizeof(*capture->packets));
	}
	packet = &capture->packets[capture->count++];
	*packet = (struct network_packet){
		.time = network->now, .bytes = malloc(length), .length = length};
	memcpy(packet->bytes, bytes, length);
	return packet;
}

static void put(struct network *network, struct frame *frame)
{
	struct frame **at = &network->in_flight;

	/* Most come last. */
	if (*at && network->last->arrival <= frame->arrival)
		at = &network->last->next;
	while (*at && (*at)->arrival <= frame->arrival)
		at = &(*at)->next;
	frame->next = *at;
	*at = frame;
	if (!frame->next)
		network->last = frame;
}

static bool transmit(struct network *network, uint32_t number)
{
	const struct network_parameters *parameters = network->parameters;
	struct frame *frame = malloc(sizeof(*frame));
	struct vl_outgoing outgoing = {.headers = frame->bytes};
	struct network_packet *packet;
	struct vl_packet parsed;

	if (!vl_transmit(network->hosts[number].device, network->now, &outgoing)) {
		free(frame);
		return false;
	}
	frame->length = vl_serialize(&outgoing, frame->bytes, FRAME);
	CU_ASSERT_EQUAL_FATAL(
		vl_parse(&parsed, VL_LINK_ETHERNET, frame->bytes, frame->length, frame->length),
		VL_PARSE_ok);
	packet = record(network, frame->bytes, frame->length);
	packet->is_request = parsed.info->flags & VL_OPCODE_REQUEST;
	packet->was_lost = below(network, 1000) < parameters->lost[!packet->is_request];
	frame->record = network->capture->count - 1;
	frame->to = (uint8_t)(parsed.destination_gid.raw[15] - 1);
	frame->arrival = network->now + DELAY;
	if (below(network, 1000) < parameters->late)
		frame->arrival += below(network, LATENESS);
	if (packet->was_lost)
		free(frame);
	else
		put(network, frame);
	return true;
}

static void deliver(struct network *network)
{
	struct frame *frame;

	while ((frame = network->in_flight) && frame->arrival <= network->now) {
		network->in_flight = frame->next;
		network->capture->packets[frame->record].order = ++network->arrivals;
		vl_receive_frame(network->hosts[frame->to].device, VL_LINK_ETHERNET, frame->bytes,
				 frame->length, network->now);
		free(frame);
		/* Answers leave at once, one by one. */
		for (uint32_t h = 0; h < network->host_count; h++) {
			while (transmit(network, h))
				;
		}
	}
}

/* Something sent after it has arrived before it, of the same kind and way. */
static void mark_late(struct network_capture *capture)
{
	for (uint32_t i = 0; i < capture->count; i++) {
		struct network_packet *packet = &capture->packets[i];

		/* Still under way at the end. */
		packet->was_lost = !packet->order;
		for (uint32_t j = i + 1;
		     j < capture->count && !packet->was_late &&
		     capture->packets[j].time <= packet->time + LATENESS + DELAY;
		     j++)
			packet->was_late = !packet->was_lost && !capture->packets[j].was_lost &&
					   capture->packets[j].order &&
					   capture->packets[j].order < packet->order;
	}
}

static void run(struct network *network)
{
	uint64_t next, deadline;

	while (work(network)) {
		next = UINT64_MAX;
		for (uint32_t h = 0; h < network->host_count; h++) {
			while (transmit(network, h))
				;
		}
		if (network->in_flight)
			next = network->in_flight->arrival;
		for (uint32_t h = 0; h < network->host_count; h++) {
			deadline = vl_next_deadline(network->hosts[h].device);
			if (deadline < next)
				next = deadline;
		}
		/* Receives may be what everybody waits for. */
		if (next > network->now + 50000)
			next = network->now + 50000;
		network->now = next > network->now ? next : network->now + 1;
		deliver(network);
	}
}

void network_record(const struct network_parameters *parameters, struct network_capture *capture)
{
	struct network network = {.parameters = parameters,
				  .capture = capture,
				  .random = {parameters->seed},
				  .now = 1000000,
				  .host_count = parameters->hosts ? parameters->hosts : 2};
	struct frame *frame;

	*capture = (struct network_capture){0};
	network.sides = calloc(parameters->connections, sizeof(*network.sides));
	for (uint32_t h = 0; h < network.host_count; h++)
		open_host(&network, h);
	for (uint32_t i = 0; i < parameters->connections; i++)
		connect(&network, i);
	run(&network);
	mark_late(capture);
	while ((frame = network.in_flight)) {
		network.in_flight = frame->next;
		free(frame);
	}
	for (uint32_t h = 0; h < network.host_count; h++) {
		vl_close_device(network.hosts[h].device);
		free(network.hosts[h].memory);
	}
	free(network.sides);
}

void network_release(struct network_capture *capture)
{
	for (uint32_t i = 0; i < capture->count; i++)
		free(capture->packets[i].bytes);
	free(capture->packets);
	*capture = (struct network_capture){0};
}

void network_write(const struct network_capture *capture, uint32_t first, uint32_t count,
		   bool (*keep)(const struct network_packet *packet), const char *path)
{
	char message[VL_CAPTURE_MESSAGE_SIZE];
	struct vl_capture_writer *writer = vl_capture_writer_open(path, VL_CAPTURE_PCAP, message);

	CU_ASSERT_PTR_NOT_NULL_FATAL(writer);
	CU_ASSERT_EQUAL(vl_capture_writer_add_interface(writer, VL_LINK_ETHERNET, NULL, NULL), 0);
	for (uint32_t i = first; i < capture->count && i - first < count; i++) {
		const struct network_packet *packet = &capture->packets[i];
		struct vl_capture_record record = {
			.time = packet->time, .frame = packet->bytes, .length = packet->length};

		if (!keep || keep(packet))
			CU_ASSERT_EQUAL(vl_capture_writer_write(writer, &record), 0);
	}
	CU_ASSERT_EQUAL(vl_capture_writer_close(writer, message), 0);
}
