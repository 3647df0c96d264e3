/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#ifndef VERBLINE_STREAM_PRIVATE_H
#define VERBLINE_STREAM_PRIVATE_H

#include "dataplane/stream/stream.h"
#include "transport/timer_wheel.h"

#define VL_STREAM_CACHE_LINE 64

/* Words of a RoCE frame's headers that differ between frames of one template. */
enum {
	VL_STREAM_WORD_FLOW, /* up to the PSN: UDP source port, QPN, PSN */
	VL_STREAM_WORD_ADDRESS_HIGH,
	VL_STREAM_WORD_ADDRESS_LOW,
	VL_STREAM_WORD_RKEY,
	VL_STREAM_WORD_COUNT,
	VL_STREAM_WORD_SOURCE_QPN = VL_STREAM_WORD_ADDRESS_HIGH,
};

enum vl_stream_extension {
	VL_STREAM_PLAIN,
	VL_STREAM_RETH,
	VL_STREAM_DETH,
};

/* A frame without what its flow, its PSN and its address make of it. The headers end where the
 * array ends, as they end where the payload begins. */
struct vl_stream_template {
	uint8_t headers[VL_STREAM_HEADROOM];
	uint32_t header_length;
	uint32_t payload_length;
	uint32_t frame_length;
	uint32_t charge;         /* bytes on the wire: preamble, gap, FCS */
	uint16_t extension_room; /* bytes between the BTH and the payload */
	uint8_t pad_count;
	uint8_t extension; /* enum vl_stream_extension */
	uint32_t icrc;     /* with zeros in the words */
	uint32_t multipliers[VL_STREAM_WORD_COUNT];
	/* Stateless: where the source port is and the checksum over it, in headers; 0: none. */
	uint16_t port_offset, checksum_offset;
	uint16_t checksum_sum; /* one's complement, with source port 0 */
} __attribute__((aligned(VL_STREAM_CACHE_LINE)));

/* Templates of a message by their index; middle is the stream's. */
struct vl_stream_message {
	uint32_t length;
	uint32_t packet_count;
	uint32_t first, last; /* first: of an only packet too */
};

struct vl_stream_flow {
	uint32_t psn;
	uint32_t packet;    /* of the message, is next */
	uint32_t message;   /* in the stream's cycle, is next */
	uint32_t qpn_word;  /* of the BTH, as it lies in the frame */
	uint32_t crc;       /* of source port and QPN, up to the PSN */
	uint32_t rkey_word; /* as it lies in the frame */
	uint64_t address;   /* of the next message */
	uint16_t port_word; /* UDP or TCP source port, as it lies in the frame */
	uint16_t packets_since_ack_request;
	uint32_t messages_since_ack_request;
	uint64_t frames_tx;
	uint64_t message_tx;
	uint64_t data_bytes_tx;
} __attribute__((aligned(VL_STREAM_CACHE_LINE)));

_Static_assert(sizeof(struct vl_stream_flow) == VL_STREAM_CACHE_LINE, "one line a flow");

/* What is seldom touched. */
struct vl_stream_feedback {
	uint64_t ack_rx, nak_rx, rnr_nak_rx, cnp_rx;
};

/* With congestion control each flow has its own schedule. */
struct vl_stream_pace {
	struct vl_timer timer;
	uint64_t due;      /* ns */
	uint64_t fraction; /* of a ns, 1/65536 ps */
	uint64_t byte_time;
	struct vl_cc_state state;
};

struct vl_stream {
	/* Read and written with each frame */
	struct vl_stream_flow *flows;
	const struct vl_stream_template *templates;
	const struct vl_stream_message *messages;
	const uint32_t *cycle; /* indices of messages */
	uint32_t cycle_length;
	uint32_t flow_count;
	uint32_t turn;      /* the flow whose turn it is */
	uint32_t turn_left; /* frames of the turn, while turn_open */
	bool turn_open;
	uint32_t burst;
	uint32_t middle; /* template */
	uint32_t ack_request_packets, ack_request_messages;
	uint64_t address_step, region_length, first_address;
	const uint64_t *first_addresses;     /* of each flow; NULL: they follow from the step */
	uint64_t frames_left, messages_left; /* to begin */
	uint32_t open_messages;
	enum vl_stream_kind kind;
	uint8_t priority;
	bool uses_bytes, uses_messages; /* what the rate counts; neither: frames */
	bool is_stopped, is_over;
	bool has_carry_less;

	/* Schedule of all flows together */
	uint64_t due;       /* ns, of the next burst */
	uint64_t fraction;  /* of charged, 2^-32 ns */
	uint64_t unit_time; /* of a byte, frame or message; ns << 32; 0: not limited */
	uint64_t charged;   /* ns, when the burst after this one is due */
	uint64_t most_arrears;
	uint64_t end; /* ns; UINT64_MAX: none */
	struct vl_histogram *pacing_error;

	/* Of each flow's own */
	const struct vl_cc_parameters *cc;
	struct vl_timer_wheel *wheel;
	struct vl_stream_pace *paces;

	struct vl_stream_counters counters;
	struct vl_stream_feedback *feedback;

	/* Set-up */
	uint32_t template_count;
	uint32_t local_qpn;
	uint32_t payload_room; /* bytes of payload in pattern and scratch */
	uint8_t *pattern;      /* payload_room bytes */
	uint8_t *scratch;      /* a buffer of its own: payload at VL_STREAM_HEADROOM */
	uint32_t scratch_tail;
	void *context;
	char name[32];
};

static inline uint64_t vl_stream_first_address(const struct vl_stream *stream, uint32_t flow)
{
	return stream->first_addresses ? stream->first_addresses[flow]
				       : stream->first_address + flow * stream->address_step;
}

/* create.c; destroy takes half-made ones and NULL. */
struct vl_stream *vl_stream_create(const struct vl_stream_config *config, uint64_t now,
				   struct vl_error *error);
void vl_stream_destroy(struct vl_stream *stream);

struct vl_stream_group {
	struct vl_stream *streams[VL_STREAM_GROUP_SIZE];
	uint32_t count;
	uint32_t next;
	uint8_t paused;
};

#endif
