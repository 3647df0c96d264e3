/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/replay/rebuild.h"

#include <string.h>

static bool is_write(uint32_t flags)
{
	return flags & (VL_OPCODE_WRITE | VL_OPCODE_IS_ATOMIC_WRITE);
}

static enum ibv_wr_opcode opcode_of(const struct vl_packet *first, const struct vl_packet *last)
{
	uint32_t flags = first->info->flags;

	switch (vl_opcode_operation(first->opcode)) {
	case VL_OP_COMPARE_SWAP:
		return IBV_WR_ATOMIC_CMP_AND_SWP;
	case VL_OP_FETCH_ADD:
		return IBV_WR_ATOMIC_FETCH_AND_ADD;
	case VL_OP_READ_REQUEST:
		return IBV_WR_RDMA_READ;
	case VL_OP_FLUSH:
		return VL_WR_FLUSH;
	case VL_OP_ATOMIC_WRITE:
		return IBV_WR_ATOMIC_WRITE;
	default:
		break;
	}
	if (last->info->flags & VL_OPCODE_IMMDT)
		return flags & VL_OPCODE_SEND ? IBV_WR_SEND_WITH_IMM : IBV_WR_RDMA_WRITE_WITH_IMM;
	if (last->info->flags & VL_OPCODE_IETH)
		return IBV_WR_SEND_WITH_INV;
	return flags & VL_OPCODE_SEND ? IBV_WR_SEND : IBV_WR_RDMA_WRITE;
}

/*
 * Puts the payload together from the packets with the message's PSNs, in whatever order and number
 * the capture has them. Of a message whose end is not in the capture, as much as there is and one
 * packet more, so that what there is comes out as first and middle packets.
 */
static bool gather(struct rebuilding *rebuilding, uint32_t index, struct message *message)
{
	const struct packet_list *requests = &rebuilding->conversation->requests;
	const struct vl_packet *first = message->first, *last = first;
	uint32_t mtu = rebuilding->conversation->path_mtu;
	int64_t next = requests->items[index]->position;
	uint8_t *to = rebuilding->source + rebuilding->source_used;
	bool ended = first->info->flags & VL_OPCODE_LAST;

	memcpy(to, first->payload, first->payload_length);
	message->length = first->payload_length;
	for (uint32_t i = index + 1; i < requests->count && !ended; i++) {
		const struct vl_packet *packet = &requests->items[i]->packet;

		if (requests->items[i]->position != next + 1)
			continue;
		if (message->length + packet->payload_length + mtu >
		    rebuilding->source_size - rebuilding->source_used)
			return false;
		memcpy(to + message->length, packet->payload, packet->payload_length);
		message->length += packet->payload_length;
		next++;
		last = packet;
		ended = packet->info->flags & VL_OPCODE_LAST;
	}
	if (first->info->flags & VL_OPCODE_WRITE)
		message->length = first->dma_length;
	else if (!ended)
		message->length += mtu;
	if (message->length > rebuilding->source_size - rebuilding->source_used)
		return false;
	message->wr.opcode = opcode_of(first, last);
	if (last->info->flags & VL_OPCODE_IMMDT)
		message->wr.imm_data = last->immediate;
	if (last->info->flags & VL_OPCODE_IETH)
		message->wr.invalidate_rkey = last->invalidate_rkey;
	if (last->solicited)
		message->wr.send_flags |= IBV_SEND_SOLICITED;
	message->psn_count = (uint32_t)(((uint64_t)message->length + mtu - 1) / mtu);
	if (!message->psn_count)
		message->psn_count = 1;
	message->sge =
		(struct ibv_sge){rebuilding->source_used, message->length, rebuilding->source_key};
	rebuilding->source_used += message->length;
	return true;
}

bool rebuild_message(struct rebuilding *rebuilding, uint32_t index, struct message *message)
{
	const struct vl_packet *first = &rebuilding->conversation->requests.items[index]->packet;
	uint32_t flags = first->info->flags;

	*message = (struct message){.first = first, .psn_count = 1};
	message->wr.send_flags = IBV_SEND_SIGNALED;
	message->wr.opcode = opcode_of(first, first);
	if (flags & (VL_OPCODE_SEND | VL_OPCODE_WRITE | VL_OPCODE_IS_ATOMIC_WRITE)) {
		if (!gather(rebuilding, index, message))
			return false;
	} else if (flags & VL_OPCODE_ATOMIC) {
		message->sge = (struct ibv_sge){0, 8, rebuilding->sink_key};
		message->length = 8;
	} else if (flags & VL_OPCODE_READ) {
		message->length = first->dma_length;
		message->psn_count = request_psn_count(rebuilding->conversation, first);
		message->sge = (struct ibv_sge){0, message->length, rebuilding->sink_key};
	} else {
		message->is_flush = true;
		message->length = first->dma_length;
	}
	if (flags & VL_OPCODE_ATOMIC) {
		bool swap = vl_opcode_operation(first->opcode) == VL_OP_COMPARE_SWAP;

		message->wr.wr.atomic.remote_addr = first->remote_address;
		message->wr.wr.atomic.rkey = first->rkey;
		message->wr.wr.atomic.compare_add = swap ? first->compare : first->swap_or_add;
		message->wr.wr.atomic.swap = first->swap_or_add;
	} else if (is_write(flags) || (flags & VL_OPCODE_READ)) {
		message->wr.wr.rdma.remote_addr = first->remote_address;
		message->wr.wr.rdma.rkey = first->rkey;
	}
	message->wr.sg_list = &message->sge;
	message->wr.num_sge = message->length ? 1 : 0;
	return true;
}

uint64_t rebuilding_room(const struct conversation *conversation)
{
	uint64_t size = 0;

	for (uint32_t i = 0; i < conversation->requests.count; i++) {
		const struct vl_packet *packet = &conversation->requests.items[i]->packet;

		size += 2 * (uint64_t)conversation->path_mtu;
		if (is_write(packet->info->flags) && (packet->info->flags & VL_OPCODE_RETH))
			size += packet->dma_length;
	}
	return size;
}
