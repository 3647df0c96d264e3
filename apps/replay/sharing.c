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

/* Of a request that writes, where; false: it does not. */
static bool is_write(const struct vl_packet *packet, struct recorded_write *write)
{
	uint32_t flags = packet->info->flags;
	uint64_t length = flags & VL_OPCODE_ATOMIC ? 8 : packet->dma_length;

	if (!(flags & (VL_OPCODE_RETH | VL_OPCODE_ATOMICETH)) ||
	    (flags & (VL_OPCODE_READ | VL_OPCODE_IS_FLUSH)))
		return false;
	write->rkey = packet->rkey;
	write->from = packet->remote_address;
	write->to = packet->remote_address + length;
	return write->to > write->from;
}

bool recording_collect_writes(struct recording *recording)
{
	size_t count = 0, kept = 0;
	struct recorded_write write = {0};

	/* By itself a conversation shares with nobody. */
	if (recording->conversation_count < 2)
		return true;
	for (unsigned int round = 0; round < 2; round++) {
		count = 0;
		for (uint32_t c = 0; c < recording->conversation_count; c++) {
			const struct conversation *conversation = &recording->conversations[c];

			write.responder = conversation->responder;
			write.writer = c;
			for (uint32_t i = 0; i < conversation->requests.count; i++) {
				if (!is_write(&conversation->requests.items[i]->packet, &write))
					continue;
				if (round)
					recording->writes[count] = write;
				count++;
			}
		}
		if (round)
			break;
		recording->writes = malloc((count + 1) * sizeof(*recording->writes));
		if (!recording->writes)
			return false;
	}
	qsort(recording->writes, count, sizeof(*recording->writes), compare_writes);
	for (size_t i = 0; i < count; i++) {
		if (!kept || compare_writes(&recording->writes[kept - 1], &recording->writes[i]))
			recording->writes[kept++] = recording->writes[i];
	}
	recording->write_count = (uint32_t)kept;
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
