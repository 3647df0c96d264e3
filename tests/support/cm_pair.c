/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "tests/support/cm_pair.h"

#include "transport/random.h"
#include "transport/wire/headers.h"
#include "transport/wire/icrc.h"
#include "transport/wire/parse.h"
#include "transport/wire/path.h"

#include <CUnit/CUnit.h>
#include <stdlib.h>
#include <string.h>

#define FRAME_CAPACITY 512

struct cm_pair_frame {
	uint64_t time;
	uint32_t sequence;
	uint32_t length;
	uint8_t to;
	uint8_t data[FRAME_CAPACITY];
};

static void *allocate(void *context, size_t size)
{
	struct cm_pair *pair = context;

	pair->allocations++;
	pair->memory_in_use += (int64_t)size;
	return aligned_alloc(64, (size + 63) & ~(size_t)63);
}

static void *allocate_zeroed(void *context, size_t size)
{
	void *memory = allocate(context, size);

	if (memory)
		memset(memory, 0, size);
	return memory;
}

static void release(void *context, void *memory, size_t size)
{
	struct cm_pair *pair = context;

	pair->memory_in_use -= (int64_t)size;
	free(memory);
}

static uint64_t draw(struct cm_pair *pair, uint64_t bound)
{
	struct vl_random random = {pair->random};
	uint64_t value = vl_random_below(&random, bound);

	pair->random = random.state;
	return value;
}

union ibv_gid cm_pair_gid(const struct cm_pair *pair, unsigned int side)
{
	union ibv_gid gid = {.raw = {[10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1}};

	if (pair->options.ipv6)
		gid = (union ibv_gid){.raw = {[0] = 0xfd, [15] = 1}};
	gid.raw[15] = (uint8_t)(1 + side);
	return gid;
}

static struct vl_device *open_device(struct cm_pair *pair, unsigned int side)
{
	struct vl_device_config config = {
		.allocator = {allocate_zeroed, release, pair},
		.events = {.resolve = pair->options.resolve, .context = pair->options.context},
		.seed = 1 + side,
		.mac = {2, 0, 0, 0, 0, (uint8_t)(1 + side)},
		.gid_count = 1,
		.active_mtu = pair->options.active_mtu[side],
	};

	config.gids[0].gid = cm_pair_gid(pair, side);
	config.gids[0].encapsulation =
		pair->options.ipv6 ? VL_ENCAPSULATION_ROCEV2_IPV6 : VL_ENCAPSULATION_ROCEV2_IPV4;
	return vl_open_device(&config, NULL);
}

struct cm_pair *cm_pair_open(const struct cm_pair_options *options)
{
	struct cm_pair *pair = calloc(1, sizeof(*pair));
	int error = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(pair);
	if (options)
		pair->options = *options;
	pair->random = pair->options.seed;
	pair->now = 1000000;
	for (unsigned int side = 0; side < 2; side++) {
		struct vl_cm_config config = pair->options.config[side];

		if (!config.seed)
			config.seed = 100 + side;
		pair->device[side] = open_device(pair, side);
		CU_ASSERT_PTR_NOT_NULL_FATAL(pair->device[side]);
		pair->cm[side] = vl_cm_open(pair->device[side], &config, pair->now, &error);
		CU_ASSERT_EQUAL(error, 0);
		CU_ASSERT_PTR_NOT_NULL_FATAL(pair->cm[side]);
	}
	return pair;
}

void cm_pair_close(struct cm_pair *pair)
{
	for (unsigned int side = 0; side < 2; side++) {
		vl_cm_close(pair->cm[side]);
		vl_close_device(pair->device[side]);
	}
	CU_ASSERT_EQUAL(pair->memory_in_use, 0);
	for (uint32_t i = 0; i < pair->heap_count; i++)
		free(pair->heap[i]);
	free(pair->heap);
	free(pair);
}

/* ---- The wire ------------------------------------------------------------------------------- */

static bool is_before(const struct cm_pair_frame *a, const struct cm_pair_frame *b)
{
	return a->time != b->time ? a->time < b->time : a->sequence < b->sequence;
}

static void push(struct cm_pair *pair, struct cm_pair_frame *frame)
{
	uint32_t i = pair->heap_count++;

	if (pair->heap_count > pair->heap_size) {
		pair->heap_size = pair->heap_size ? 2 * pair->heap_size : 64;
		pair->heap = realloc(pair->heap, pair->heap_size * sizeof(*pair->heap));
		CU_ASSERT_PTR_NOT_NULL_FATAL(pair->heap);
	}
	for (; i && is_before(frame, pair->heap[(i - 1) / 2]); i = (i - 1) / 2)
		pair->heap[i] = pair->heap[(i - 1) / 2];
	pair->heap[i] = frame;
}

static struct cm_pair_frame *pop(struct cm_pair *pair)
{
	struct cm_pair_frame *first = pair->heap[0], *last = pair->heap[--pair->heap_count];
	uint32_t i = 0, child;

	while ((child = 2 * i + 1) < pair->heap_count) {
		if (child + 1 < pair->heap_count &&
		    is_before(pair->heap[child + 1], pair->heap[child]))
			child++;
		if (!is_before(pair->heap[child], last))
			break;
		pair->heap[i] = pair->heap[child];
		i = child;
	}
	pair->heap[i] = last;
	return first;
}

static void carry(struct cm_pair *pair, unsigned int to, const uint8_t *data, uint32_t length)
{
	struct cm_pair_frame *frame = calloc(1, sizeof(*frame));

	CU_ASSERT_PTR_NOT_NULL_FATAL(frame);
	CU_ASSERT_FATAL(length <= FRAME_CAPACITY);
	memcpy(frame->data, data, length);
	frame->length = length;
	frame->to = (uint8_t)to;
	frame->time = pair->now + CM_PAIR_DELAY;
	if (pair->options.jitter)
		frame->time += draw(pair, pair->options.jitter);
	frame->sequence = pair->sequence++;
	push(pair, frame);
}

static void send(struct cm_pair *pair, unsigned int from, const uint8_t *data, uint32_t length)
{
	struct vl_cm_message message;
	struct vl_packet packet;

	CU_ASSERT_EQUAL(vl_parse(&packet, VL_LINK_ETHERNET, data, length, length), VL_PARSE_ok);
	CU_ASSERT_EQUAL(vl_cm_decode(&message, packet.payload, packet.payload_length),
			VL_CM_RESULT_ok);
	pair->sent[from][(message.attribute_id - 0x10) & 31]++;
	pair->traffic_class[from][(message.attribute_id - 0x10) & 31] = packet.traffic_class;
	if (pair->hook && !pair->hook(pair, from, &message))
		return;
	if (pair->options.loss && draw(pair, 1000) < pair->options.loss)
		return;
	carry(pair, !from, data, length);
	if (pair->options.duplication && draw(pair, 1000) < pair->options.duplication)
		carry(pair, !from, data, length);
}

static bool act(struct cm_pair *pair, unsigned int side)
{
	struct vl_outgoing outgoing;
	uint8_t frame[FRAME_CAPACITY];
	bool has_sent = false;

	vl_cm_poll(pair->cm[side], pair->now);
	outgoing.headers = frame;
	while (vl_transmit(pair->device[side], pair->now, &outgoing)) {
		uint32_t length = vl_serialize(&outgoing, frame, sizeof(frame));

		CU_ASSERT_FATAL(length > 0);
		send(pair, side, frame, length);
		outgoing.headers = frame;
		has_sent = true;
	}
	return has_sent || vl_cm_next_deadline(pair->cm[side]) <= pair->now;
}

void cm_pair_run(struct cm_pair *pair, uint64_t duration)
{
	const uint64_t until = pair->now + duration;

	for (;;) {
		uint64_t next = until;

		while (pair->heap_count && pair->heap[0]->time <= pair->now) {
			struct cm_pair_frame *frame = pop(pair);

			vl_receive_frame(pair->device[frame->to], VL_LINK_ETHERNET, frame->data,
					 frame->length, pair->now);
			vl_cm_poll(pair->cm[frame->to], pair->now);
			free(frame);
		}
		for (unsigned int side = 0; side < 2; side++) {
			while (act(pair, side))
				;
		}
		if (pair->heap_count && pair->heap[0]->time < next)
			next = pair->heap[0]->time;
		for (unsigned int side = 0; side < 2; side++) {
			uint64_t deadline = vl_cm_next_deadline(pair->cm[side]);

			if (deadline < next)
				next = deadline;
		}
		if (next >= until)
			break;
		pair->now = next;
	}
	pair->now = until;
}

/* ---- Datagrams of the test's own ------------------------------------------------------------ */

void cm_pair_inject(struct cm_pair *pair, unsigned int to, const union ibv_gid *source,
		    const uint8_t mad[VL_MAD_LENGTH])
{
	struct vl_path_attr attr = {
		.encapsulation = pair->options.ipv6 ? VL_ENCAPSULATION_ROCEV2_IPV6
						    : VL_ENCAPSULATION_ROCEV2_IPV4,
		.source_mac = {2, 0, 0, 0, 0, (uint8_t)(2 - to)},
		.destination_mac = {2, 0, 0, 0, 0, (uint8_t)(1 + to)},
		.source_gid = source ? *source : cm_pair_gid(pair, !to),
		.destination_gid = cm_pair_gid(pair, to),
		.udp_source_port = 0xc000,
	};
	uint8_t frame[FRAME_CAPACITY], *at = frame;
	struct vl_packet packet;
	struct vl_path path;

	CU_ASSERT_EQUAL_FATAL(vl_path_init(&path, &attr), 0);
	at += vl_path_write(&path, frame, 12 + 8 + VL_MAD_LENGTH);
	memset(at, 0, 20);
	at[0] = 0x64;
	at[2] = at[3] = 0xff;
	at[7] = 1;
	vl_store_be32(at + 12, 0x80010000);
	at[19] = 1;
	memcpy(at + 20, mad, VL_MAD_LENGTH);
	at += 20 + VL_MAD_LENGTH;
	memset(at, 0, 4);
	at += 4;
	CU_ASSERT_EQUAL(vl_parse(&packet, VL_LINK_ETHERNET, frame, (uint32_t)(at - frame),
				 (uint32_t)(at - frame)),
			VL_PARSE_ok);
	vl_receive(pair->device[to], &packet, pair->now);
	vl_cm_poll(pair->cm[to], pair->now);
}

void cm_pair_inject_message(struct cm_pair *pair, unsigned int to, const union ibv_gid *source,
			    const struct vl_cm_message *message)
{
	uint8_t mad[VL_MAD_LENGTH];

	CU_ASSERT_EQUAL_FATAL(vl_cm_encode(mad, message, NULL), 0);
	cm_pair_inject(pair, to, source, mad);
}
