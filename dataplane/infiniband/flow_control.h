/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Credit-based flow control of InfiniBand links, IBTA volume 1, 7.9: the flow-control packet, and
 * the two ends of a virtual lane. Credits are blocks of 64 bytes, counted modulo 4096. The sender
 * counts all blocks it has sent (FCTBS); the receiver counts all that it has received (ABR), and
 * says up to which count it has room (FCCL).
 */
#ifndef VERBLINE_INFINIBAND_FLOW_CONTROL_H
#define VERBLINE_INFINIBAND_FLOW_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

/* Virtual lanes 0 to 14 carry data; 15 is management's, and knows no credits. */
#define VL_INFINIBAND_DATA_LANES      15u
#define VL_INFINIBAND_LANES           16u
#define VL_INFINIBAND_MANAGEMENT_LANE 15u

#define VL_FLOW_CONTROL_BLOCK 64u     /* bytes */
#define VL_FLOW_CONTROL_MASK  0x0fffu /* counters have 12 bits */
/* Most that a receiver grants: half the range of the counters, less one, so that both ends agree
 * on what is ahead. */
#define VL_FLOW_CONTROL_MOST_CREDITS 2047u
#define VL_FLOW_CONTROL_LENGTH       6u /* of the packet, LPCRC included */
/* A flow-control packet goes at least this often on each lane, symbol times. */
#define VL_FLOW_CONTROL_PERIOD 65536u

/* A packet takes whole blocks, of its bytes from the LRH to the VCRC. */
static inline uint32_t vl_flow_control_blocks(uint32_t length)
{
	return (length + VL_FLOW_CONTROL_BLOCK - 1) / VL_FLOW_CONTROL_BLOCK;
}

/* ---- The packet ------------------------------------------------------------------------- */

enum vl_flow_control_operation {
	VL_FLOW_CONTROL_NORMAL = 0,
	VL_FLOW_CONTROL_INIT = 1, /* the link is coming up: credits, but no data yet */
};

struct vl_flow_control_packet {
	uint8_t operation;    /* enum vl_flow_control_operation */
	uint8_t virtual_lane; /* 0..14 */
	uint16_t total_sent;  /* FCTBS, blocks modulo 4096 */
	uint16_t limit;       /* FCCL, blocks modulo 4096 */
};

enum vl_flow_control_result {
	VL_FLOW_CONTROL_OK,
	VL_FLOW_CONTROL_BAD_LENGTH,
	VL_FLOW_CONTROL_BAD_CRC,
	VL_FLOW_CONTROL_RESERVED, /* an operation, or a lane, that has no flow control */
};

/* Writes the packet with its LPCRC. */
void vl_flow_control_write(uint8_t bytes[VL_FLOW_CONTROL_LENGTH],
			   const struct vl_flow_control_packet *packet);
/* *packet is filled unless the length is wrong. */
enum vl_flow_control_result vl_flow_control_parse(const uint8_t *bytes, uint32_t length,
						  struct vl_flow_control_packet *packet);

/* ---- The sender's end ------------------------------------------------------------------- */

struct vl_credit_sender {
	uint16_t total_sent; /* FCTBS */
	uint16_t limit;      /* FCCL, as last heard */
	bool is_known;       /* the limit was heard */
};

/* Whether a packet of so many blocks may go: (FCCL - (FCTBS + blocks)) mod 4096 <= 2048. */
static inline bool vl_credit_sender_allows(const struct vl_credit_sender *sender, uint32_t blocks)
{
	return sender->is_known &&
	       ((sender->limit - sender->total_sent - blocks) & VL_FLOW_CONTROL_MASK) <= 2048;
}

/* Blocks that may go now. */
static inline uint32_t vl_credit_sender_credits(const struct vl_credit_sender *sender)
{
	uint32_t credits = (uint32_t)(sender->limit - sender->total_sent) & VL_FLOW_CONTROL_MASK;

	return sender->is_known && credits <= 2048 ? credits : 0;
}

static inline void vl_credit_sender_sent(struct vl_credit_sender *sender, uint32_t blocks)
{
	sender->total_sent = (uint16_t)((sender->total_sent + blocks) & VL_FLOW_CONTROL_MASK);
}

static inline void vl_credit_sender_update(struct vl_credit_sender *sender, uint16_t limit)
{
	sender->limit = limit & VL_FLOW_CONTROL_MASK;
	sender->is_known = true;
}

/* ---- The receiver's end ----------------------------------------------------------------- */

struct vl_credit_receiver {
	uint32_t capacity;   /* blocks of buffer */
	uint32_t occupied;   /* of these, not yet free again */
	uint32_t watermark;  /* most ever occupied */
	uint16_t received;   /* ABR */
	uint16_t advertised; /* FCCL, as last said */
};

/* FCCL as it stands: what was received, and the free blocks (2047 of them at most). */
static inline uint16_t vl_credit_receiver_limit(const struct vl_credit_receiver *receiver)
{
	uint32_t room = receiver->capacity - receiver->occupied;

	if (room > VL_FLOW_CONTROL_MOST_CREDITS)
		room = VL_FLOW_CONTROL_MOST_CREDITS;
	return (uint16_t)((receiver->received + room) & VL_FLOW_CONTROL_MASK);
}

/* False: there is no room, so the sender went beyond its credits; nothing changes but ABR. */
static inline bool vl_credit_receiver_take(struct vl_credit_receiver *receiver, uint32_t blocks)
{
	receiver->received = (uint16_t)((receiver->received + blocks) & VL_FLOW_CONTROL_MASK);
	if (receiver->occupied + blocks > receiver->capacity)
		return false;
	receiver->occupied += blocks;
	if (receiver->occupied > receiver->watermark)
		receiver->watermark = receiver->occupied;
	return true;
}

static inline void vl_credit_receiver_release(struct vl_credit_receiver *receiver, uint32_t blocks)
{
	receiver->occupied -= blocks;
}

/* Blocks that the sender could have been told of, and was not. */
static inline uint32_t vl_credit_receiver_unsaid(const struct vl_credit_receiver *receiver)
{
	return (uint32_t)(vl_credit_receiver_limit(receiver) - receiver->advertised) &
	       VL_FLOW_CONTROL_MASK;
}

/* With each flow-control packet heard the counts agree again, so that what was lost on the line is
 * not lost as credit. */
static inline void vl_credit_receiver_resynchronize(struct vl_credit_receiver *receiver,
						    uint16_t total_sent)
{
	receiver->received = total_sent & VL_FLOW_CONTROL_MASK;
}

#endif
