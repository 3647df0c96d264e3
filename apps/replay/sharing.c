/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Memory that several conversations write: each is replayed by itself, and knows of the others'
 * writing by this list alone. */

#include "apps/replay/recording.h"

#include <stdlib.h>
#include <string.h>

static int compare_place(const struct recorded_write *one, const union ibv_gid *responder,
			 uint32_t rkey)
{
	int order = memcmp(&one->responder, responder, sizeof(*responder));

	if (order)
		return order;
	return one->rkey < rkey ? -1 : one->rkey > rkey;
}

static int compare_writes(const void *a, const void *b)
{
	const struct recorded_write *one = a, *two = b;
	int order = compare_place(one, &two->responder, two->rkey);

	if (order)
		return order;
	if (one->from != two->from)
		return one->from < two->from ? -1 : 1;
	if (one->to != two->to)
		return one->to < two->to ? -1 : 1;
	return one->writer < two->writer ? -1 : one->writer > two->writer;
}

/* Where the message at hand writes. */
struct target {
	int64_t position; /* of the packet that says it */
	uint64_t address;
	uint32_t rkey;
	bool is_known;
};

/* Of a request that writes, where; false: it does not, or nothing says where. */
static bool find_range(const struct conversation *conversation,
		       const struct recorded_packet *request, struct target *target,
		       struct recorded_write *write)
{
	const struct vl_packet *packet = &request->packet;
	uint32_t flags = packet->info->flags;
	uint64_t length = packet->payload_length;

	if (flags & (VL_OPCODE_READ | VL_OPCODE_IS_FLUSH))
		return false;
	if (flags & (VL_OPCODE_RETH | VL_OPCODE_ATOMICETH)) {
		*target = (struct target){request->position, packet->remote_address, packet->rkey,
					  true};
		if (flags & VL_OPCODE_ATOMIC)
			length = 8;
	} else if (!(flags & VL_OPCODE_WRITE) || request->position <= target->position) {
		return false;
	}
	if (!target->is_known)
		return false;
	write->rkey = target->rkey;
	write->from = target->address +
		      (uint64_t)(request->position - target->position) * conversation->path_mtu;
	write->to = write->from + length;
	return write->to > write->from;
}

/* Adjoining ranges of one writer become one. */
static void merge(struct recording *recording, size_t count)
{
	struct recorded_write *kept = recording->writes;

	for (size_t i = 1; i < count; i++) {
		const struct recorded_write *write = &recording->writes[i];

		if (!compare_place(kept, &write->responder, write->rkey) &&
		    kept->writer == write->writer && write->from <= kept->to) {
			if (write->to > kept->to)
				kept->to = write->to;
		} else {
			*++kept = *write;
		}
	}
	recording->write_count = count ? (uint32_t)(kept - recording->writes) + 1 : 0;
}

bool recording_collect_writes(struct recording *recording)
{
	struct recorded_write write = {0};
	size_t count = 0;

	/* By itself a conversation shares with nobody. */
	if (recording->conversation_count < 2)
		return true;
	recording->writes = malloc((recording->packet_count + 1) * sizeof(*recording->writes));
	if (!recording->writes)
		return false;
	for (uint32_t c = 0; c < recording->conversation_count; c++) {
		const struct conversation *conversation = &recording->conversations[c];
		struct target target = {0};

		write.responder = conversation->responder;
		write.writer = c;
		for (uint32_t i = 0; i < conversation->requests.count; i++) {
			if (find_range(conversation, conversation->requests.items[i], &target,
				       &write))
				recording->writes[count++] = write;
		}
	}
	qsort(recording->writes, count, sizeof(*recording->writes), compare_writes);
	merge(recording, count);
	return true;
}

uint32_t recording_find_writes(const struct recording *recording, const union ibv_gid *responder,
			       uint32_t rkey)
{
	uint32_t low = 0, high = recording->write_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (compare_place(&recording->writes[middle], responder, rkey) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
