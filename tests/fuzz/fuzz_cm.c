/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * A connection manager whose peers and whose owner do what the input says: datagrams that name its
 * IDs (or none), orders in any state, time. Whatever comes, its table stays within its limits and
 * is empty when all is over, every handle has one last event, nothing is allocated after its
 * opening, and what it sends is a message.
 */

#include "transport/cm/connection.h"
#include "transport/wire/headers.h"
#include "transport/wire/parse.h"
#include "transport/wire/path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define require(condition) ((condition) ? (void)0 : fail(__LINE__, #condition))

#define MAX_CONNECTIONS 8u
#define MAX_HALF_OPEN   4u
#define SERVICE         vl_rdma_service_id(VL_RDMA_PORT_SPACE_TCP, 7174)
#define UD_SERVICE      vl_rdma_service_id(VL_RDMA_PORT_SPACE_UDP, 7174)
#define SECOND          UINT64_C(1000000000)
#define MAX_STEPS       400

/* What owners write. */
static const uint8_t text[256];

static void fail(int line, const char *condition)
{
	fprintf(stderr, "line %d: not so: %s\n", line, condition);
	abort();
}

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

/* ---- The world ------------------------------------------------------------------------------ */

struct handle {
	struct vl_cm_connection *connection; /* NULL: void */
	bool is_datagram;
};

struct world {
	struct input input;
	struct vl_device *device;
	struct vl_cm *cm;
	uint64_t now;
	bool is_open; /* from here on nothing is allocated */
	size_t memory_in_use;
	struct handle handles[MAX_CONNECTIONS];
	/* IDs that were seen on the wire, ours and what we were told of peers' */
	uint32_t ours[8], theirs[8];
	uint8_t our_next, their_next;
	uint64_t transaction;
};

static void *allocate(void *context, size_t size)
{
	struct world *world = context;
	void *memory = aligned_alloc(64, (size + 63) & ~(size_t)63);

	require(!world->is_open);
	require(memory);
	world->memory_in_use += size;
	return memset(memory, 0, size);
}

static void release(void *context, void *memory, size_t size)
{
	struct world *world = context;

	world->memory_in_use -= size;
	free(memory);
}

static union ibv_gid address(uint8_t number)
{
	return (union ibv_gid){
		.raw = {[10] = 0xff, [11] = 0xff, [12] = 10, [14] = 1, [15] = number}};
}

static int resolve(void *context, const union ibv_gid *destination, uint8_t mac[6])
{
	struct world *world = context;

	(void)destination;
	memset(mac, 2, 6);
	switch (take8(&world->input) & 31) {
	case 0:
		return -11; /* EAGAIN */
	case 1:
		return -113; /* EHOSTUNREACH */
	default:
		return 0;
	}
}

static struct handle *find_handle(struct world *world, const struct vl_cm_connection *connection)
{
	for (uint32_t i = 0; i < MAX_CONNECTIONS; i++) {
		if (world->handles[i].connection == connection)
			return &world->handles[i];
	}
	return NULL;
}

static void order(struct world *world, struct handle *handle)
{
	uint8_t what = take8(&world->input);
	struct vl_cm_connection *connection = handle->connection;
	const struct vl_cm_accept_param accept = {
		.conn = {.qpn = 1 + take8(&world->input), .rnr_retry_count = what & 7},
		.qpn = 5,
		.private_data = text,
		.private_data_length = what,
	};
	struct ibv_qp_attr attr;
	int mask, result = 0;

	switch (what & 7) {
	case 0:
	case 1:
		result = vl_cm_accept(connection, &accept, world->now);
		if (!result && handle->is_datagram)
			handle->connection = NULL;
		break;
	case 2:
		if (!vl_cm_reject(connection, what, NULL, 0, text, what & 63, world->now))
			handle->connection = NULL;
		break;
	case 3:
		vl_cm_establish(connection, text, what & 127, world->now);
		break;
	case 4:
		vl_cm_disconnect(connection, world->now);
		break;
	case 5:
		vl_cm_notify(connection, world->now);
		vl_cm_send_mra(connection, what & 31, world->now);
		break;
	case 6:
		vl_cm_destroy(connection, world->now);
		handle->connection = NULL;
		break;
	default:
		vl_cm_init_qp_attr(connection, (enum ibv_qp_state)(1 + what % 3), &attr, &mask);
		break;
	}
}

static bool is_last(const struct handle *handle, enum vl_cm_event_type type)
{
	return type == VL_CM_EVENT_REJECTED || type == VL_CM_EVENT_UNREACHABLE ||
	       type == VL_CM_EVENT_TIMEWAIT_EXIT ||
	       (type == VL_CM_EVENT_ESTABLISHED && handle->is_datagram);
}

static void take_event(void *context, const struct vl_cm_event *event, uint64_t now)
{
	struct world *world = context;
	struct handle *handle = find_handle(world, event->connection);
	struct vl_cm_info info;

	require(now == world->now);
	vl_cm_query(event->connection, &info);
	if (event->type == VL_CM_EVENT_CONNECT_REQUEST) {
		require(!handle);
		handle = find_handle(world, NULL);
		require(handle);
		handle->connection = event->connection;
		handle->is_datagram = info.qp_type == IBV_QPT_UD;
	}
	require(handle);
	require(event->type != VL_CM_EVENT_REJECTED || event->status >= 0);
	/* In its last event it must bear orders that come too late. */
	if (take8(&world->input) & 1 || is_last(handle, event->type)) {
		bool last = is_last(handle, event->type);

		order(world, handle);
		if (last)
			handle->connection = NULL;
	}
}

/* ---- The wire ------------------------------------------------------------------------------- */

static void see(struct world *world, const struct vl_cm_message *message)
{
	uint32_t id = message->rtu.local_comm_id;

	if (message->attribute_id == VL_CM_SIDR_REQ)
		id = message->sidr_req.request_id;
	world->transaction = message->transaction_id;
	world->ours[world->our_next++ & 7] = id;
}

static void transmit(struct world *world)
{
	uint8_t frame[512];
	struct vl_outgoing outgoing = {.headers = frame};

	while (vl_transmit(world->device, world->now, &outgoing)) {
		uint32_t length = vl_serialize(&outgoing, frame, sizeof(frame));
		struct vl_cm_message message;
		struct vl_packet packet;

		require(vl_parse(&packet, VL_LINK_ETHERNET, frame, length, length) == VL_PARSE_ok);
		require(vl_cm_decode(&message, packet.payload, packet.payload_length) ==
			VL_CM_RESULT_ok);
		see(world, &message);
		outgoing.headers = frame;
	}
}

static void poll(struct world *world)
{
	struct vl_cm_usage usage;
	uint32_t count = 0;

	do {
		vl_cm_poll(world->cm, world->now);
		transmit(world);
		require(count++ < 1000);
	} while (vl_cm_next_deadline(world->cm) <= world->now);
	usage = vl_cm_usage(world->cm);
	require(usage.connections <= MAX_CONNECTIONS);
	require(usage.half_open <= MAX_HALF_OPEN);
	require(usage.established + usage.time_wait <= usage.connections);
}

static void receive(struct world *world, uint8_t peer, const uint8_t mad[VL_MAD_LENGTH])
{
	struct vl_path_attr attr = {
		.source_mac = {2, 2, 2, 2, 2, 2},
		.destination_mac = {2, 0, 0, 0, 0, 1},
		.source_gid = address(peer),
		.destination_gid = address(1),
	};
	uint8_t frame[512], *at = frame;
	struct vl_packet packet;
	struct vl_path path;

	require(!vl_path_init(&path, &attr));
	at += vl_path_write(&path, frame, 12 + 8 + VL_MAD_LENGTH);
	memset(at, 0, 20);
	at[0] = 0x64;
	at[2] = at[3] = 0xff;
	at[7] = at[19] = 1;
	vl_store_be32(at + 12, 0x80010000);
	memcpy(at + 20, mad, VL_MAD_LENGTH);
	at += 20 + VL_MAD_LENGTH;
	memset(at, 0, 4);
	require(vl_parse(&packet, VL_LINK_ETHERNET, frame, (uint32_t)(at + 4 - frame),
			 (uint32_t)(at + 4 - frame)) == VL_PARSE_ok);
	vl_receive(world->device, &packet, world->now);
}

static uint32_t choose_id(struct world *world, const uint32_t ids[8])
{
	uint8_t which = take8(&world->input);

	return which & 0xf0 ? ids[which & 7] : take32(&world->input);
}

static void fill_req(struct world *world, struct vl_cm_message *message)
{
	message->req.service_id = SERVICE;
	message->req.local_qpn = take8(&world->input) & 15;
	message->req.transport_service_type = take8(&world->input) & 1;
	message->req.path_mtu = 3;
	message->req.pkey = 0xffff;
	message->req.max_cm_retries = 3;
	message->req.primary.local_gid = address(2 + (take8(&world->input) & 1));
	message->req.primary.remote_gid = address(1);
	message->private_data[0] = 0;
	message->private_data[1] = 0x40;
	message->private_data_length = 92;
}

/* A message of a peer, near what is expected. */
static void receive_message(struct world *world)
{
	uint8_t mad[VL_MAD_LENGTH], peer;
	struct vl_cm_message message = {
		.attribute_id = (uint16_t)(0x10 + take8(&world->input) % 11),
		.transaction_id = take8(&world->input) & 3 ? world->transaction : 7,
	};
	uint32_t theirs = choose_id(world, world->theirs), ours = choose_id(world, world->ours);

	world->theirs[world->their_next++ & 7] = theirs;
	/* All but the SIDR messages begin with the two IDs. */
	message.rtu.local_comm_id = theirs;
	if (message.attribute_id != VL_CM_REQ)
		message.rtu.remote_comm_id = ours;
	if (message.attribute_id == VL_CM_REQ) {
		fill_req(world, &message);
	} else if (message.attribute_id == VL_CM_SIDR_REQ) {
		message.sidr_req.request_id = theirs;
		message.sidr_req.service_id = UD_SERVICE;
		message.private_data[1] = 0x40;
		message.private_data_length = 216;
	} else if (message.attribute_id == VL_CM_SIDR_REP) {
		message.sidr_rep.request_id = ours;
		message.sidr_rep.status = take8(&world->input) & 1;
		message.sidr_rep.info_length = take8(&world->input);
	} else if (message.attribute_id == VL_CM_REP) {
		message.rep.local_qpn = take8(&world->input) & 15;
	} else if (message.attribute_id == VL_CM_DREQ) {
		message.dreq.remote_qpn_eecn = 1 + (take8(&world->input) & 15);
	} else if (message.attribute_id == VL_CM_REJ) {
		message.rej.reason = take8(&world->input);
		message.rej.info_length = take8(&world->input) & 127;
	} else if (message.attribute_id == VL_CM_MRA) {
		message.mra.message_mraed = take8(&world->input) & 3;
		message.mra.service_timeout = take8(&world->input) & 31;
	}
	require(!vl_cm_encode(mad, &message, NULL));
	peer = 2 + (take8(&world->input) & 1);
	if (!(take8(&world->input) & 31))
		mad[take8(&world->input)] ^= take8(&world->input);
	receive(world, peer, mad);
}

static void receive_anything(struct world *world)
{
	uint8_t mad[VL_MAD_LENGTH] = {1, 7, 2, 3};
	uint32_t length = take8(&world->input);

	for (uint32_t i = 0; i < length; i++)
		mad[(i + 16) % VL_MAD_LENGTH] = take8(&world->input);
	receive(world, 2, mad);
}

/* ---- Steps ---------------------------------------------------------------------------------- */

static void connect(struct world *world)
{
	uint8_t kind = take8(&world->input);
	struct vl_cm_connect_param param = {
		.service_id = kind & 1 ? SERVICE : UD_SERVICE,
		.qp_type = kind & 1 ? (kind & 2 ? IBV_QPT_UC : IBV_QPT_RC) : IBV_QPT_UD,
		.destination = address(2 + (kind >> 2 & 1)),
		.conn = {.qpn = kind & 15, .retry_count = kind >> 4 & 7},
		.private_data = text,
		.private_data_length = take8(&world->input) & 127,
		.handler = {take_event, world},
	};
	struct handle *handle = find_handle(world, NULL);
	struct vl_cm_connection *connection;

	if (!handle)
		return;
	connection = vl_cm_connect(world->cm, &param, world->now, NULL);
	if (!connection)
		return;
	handle->connection = connection;
	handle->is_datagram = param.qp_type == IBV_QPT_UD;
}

static void step(struct world *world)
{
	static const uint64_t steps[] = {1000, 1000000, SECOND / 2, SECOND, 10 * SECOND};
	struct handle *handle = &world->handles[take8(&world->input) % MAX_CONNECTIONS];
	uint8_t what = take8(&world->input);

	switch (what & 7) {
	case 0:
		connect(world);
		break;
	case 1:
	case 2:
		if (handle->connection)
			order(world, handle);
		break;
	case 3:
		world->now += steps[(what >> 3) % 5];
		break;
	case 4:
		receive_anything(world);
		break;
	default:
		receive_message(world);
		break;
	}
	poll(world);
}

static void open_world(struct world *world)
{
	struct vl_device_config device = {
		.allocator = {allocate, release, world},
		.events = {.resolve = resolve, .context = world},
		.mac = {2, 0, 0, 0, 0, 1},
		.gid_count = 1,
		.max_cq = 4,
		.max_mr = 4,
	};
	const struct vl_cm_config config = {
		.worker = 3,
		.max_connections = MAX_CONNECTIONS,
		.max_half_open = MAX_HALF_OPEN,
		.max_half_open_per_peer = 3,
		.max_listeners = 2,
		.receive_count = 8,
		.send_count = 4,
	};
	struct vl_cm_listen_param listen = {
		.service_id = SERVICE, .qp_type = IBV_QPT_RC, .handler = {take_event, world}};

	device.gids[0].gid = address(1);
	world->now = SECOND;
	world->device = vl_open_device(&device, NULL);
	require(world->device);
	world->cm = vl_cm_open(world->device, &config, world->now, NULL);
	require(world->cm);
	require(vl_cm_listen(world->cm, &listen, NULL));
	listen.service_id = UD_SERVICE;
	listen.qp_type = IBV_QPT_UD;
	require(vl_cm_listen(world->cm, &listen, NULL));
	world->is_open = true;
}

/* Left alone, all comes to an end but what is established. */
static void close_world(struct world *world)
{
	for (uint32_t i = 0; i < 400; i++) {
		world->now += SECOND;
		poll(world);
		for (uint32_t h = 0; i == 200 && h < MAX_CONNECTIONS; h++) {
			struct vl_cm_info info;

			if (!world->handles[h].connection)
				continue;
			vl_cm_query(world->handles[h].connection, &info);
			require(info.state == VL_CM_STATE_ESTABLISHED);
			vl_cm_destroy(world->handles[h].connection, world->now);
			world->handles[h].connection = NULL;
		}
	}
	require(!vl_cm_usage(world->cm).connections);
	vl_cm_close(world->cm);
	vl_close_device(world->device);
	require(!world->memory_in_use);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world world = {.input = {data, data + size}};

	open_world(&world);
	for (uint32_t i = 0; i < MAX_STEPS && world.input.next < world.input.end; i++)
		step(&world);
	world.input.next = world.input.end = data;
	close_world(&world);
	return 0;
}
