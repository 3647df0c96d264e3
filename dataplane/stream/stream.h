/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Open-loop streams: frames from templates, sent at a rate without waiting for anybody. A stream is
 * either RoCE (1 to VL_STREAM_MAX_FLOWS flows, each a train of SENDs or WRITEs to a queue pair of
 * the peer: right opcodes, PSNs, AckReq and ICRC) or stateless (UDP, TCP, or raw bytes). It obeys
 * PFC and, where asked, cuts its flows' rates by DCQCN when CNPs come; ACKs and NAKs are counted,
 * and nothing is ever sent again.
 *
 * The payload is a pattern that never changes, so its CRC is computed once for each length and
 * joined with the headers' by carry-less multiplication (CRCs are linear). Where the buffers have
 * the payload in them already, a frame costs its headers, four bytes of ICRC, and no more.
 *
 * Functions of the time; no clock. Streams are used in groups: those that share an endpoint's line.
 */
#ifndef VERBLINE_STREAM_H
#define VERBLINE_STREAM_H

#include "dataplane/frame.h"
#include "dataplane/runtime/error.h"
#include "transport/cc/cc.h"
#include "transport/counter_field.h"
#include "transport/wire/packet.h"
#include "transport/wire/path.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vl_histogram;
struct vl_stream;
struct vl_stream_group;

#define VL_STREAM_MAX_FLOWS  65536u
#define VL_STREAM_MAX_BURST  1000u
#define VL_STREAM_MAX_SIZES  16384u /* in one cycle, each as often as it weighs */
#define VL_STREAM_GROUP_SIZE 64u

/* ---- What is sent ---------------------------------------------------------------------------- */

enum vl_stream_kind {
	VL_STREAM_ROCE,
	VL_STREAM_UDP,
	VL_STREAM_TCP,
	VL_STREAM_RAW, /* the bytes given, the payload behind them */
};

/* A cycle of sizes: each as often as its weight says, in an order drawn by the stream's seed, or as
 * listed. Bytes of a message for RoCE (1 to 2^31, but UD: 1 to the path MTU; 0 is a message too),
 * else of a frame without FCS (what the headers need to 9600). */
struct vl_stream_size {
	uint32_t bytes;
	uint32_t weight; /* 1 or more; the sum is at most VL_STREAM_MAX_SIZES */
};

struct vl_stream_roce {
	enum ibv_qp_type service; /* RC, UC, UD */
	/* IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM; UD: the
	 * first two. */
	enum ibv_wr_opcode verb;
	uint32_t path_mtu; /* bytes: 256, 512, 1024, 2048, 4096 */
	/* Flow n's is n more: to it come ACKs and CNPs. No two streams of a group share one. */
	uint32_t local_qpn;
	/* Of flow 0; flow n has n * step more. */
	uint32_t remote_qpn, remote_qpn_step;
	uint32_t first_psn, first_psn_step;
	/* Instead of the steps: one for each flow, copied. NULL: not. */
	const uint32_t *remote_qpns, *first_psns, *rkeys;
	const uint64_t *remote_addresses;
	uint16_t pkey; /* 0: 0xffff */
	uint32_t qkey; /* UD */
	__be32 immediate;
	bool solicited;
	/* WRITE: flow n writes from remote_address + n * address_step, one message behind the
	 * other, and begins anew where the next would go beyond region_length; 0: every message to
	 * the same address. */
	uint64_t remote_address, address_step, region_length;
	uint32_t rkey;
	/* RC: AckReq on every n-th packet of a flow, n up to 65535, and on the last of every m-th
	 * message; 0: never. */
	uint32_t ack_request_packets, ack_request_messages;
};

struct vl_stream_config {
	const char *name; /* for people; copied, cut at 31 characters; may be NULL */
	enum vl_stream_kind kind;
	/* Addresses, VLAN, PCP, DSCP and ECN (traffic_class), UDP source port. UDP and TCP take
	 * VL_ENCAPSULATION_ROCEV2_IPV4 or _IPV6 for their IP version. Raw: only priority is used.
	 */
	struct vl_path_attr path;
	/* Flow n has UDP (TCP) source port path.udp_source_port + n % source_port_count, and does
	 * not go beyond 65535. 0: 1 */
	uint32_t source_port_count;
	uint32_t flow_count; /* 0: 1 */
	struct vl_stream_roce roce;
	uint16_t destination_port; /* UDP, TCP */
	const uint8_t *raw;        /* the frame's beginning, Ethernet header first; copied */
	uint32_t raw_length;       /* 14 to 9600 bytes */
	const struct vl_stream_size *sizes; /* copied */
	uint32_t size_count;                /* 0: raw frames: as long as raw */
	bool sizes_in_order;                /* as listed, not shuffled */
	const uint8_t *pattern; /* of the payload, repeated; copied. NULL: 0x00 .. 0xff */
	uint32_t pattern_length;
	uint64_t seed;

	/* When. The time of a frame counts preamble, gap and FCS. At most one of the three rates;
	 * all 0: as fast as frames are asked for. With several flows it is the rate of all
	 * together, shared evenly frame by frame (so rate / flow_count is the exact rate of each).
	 */
	uint64_t bits_per_second;            /* 10^5 to 4 * 10^12 */
	double frames_per_second;            /* 1 to 10^10 */
	double messages_per_second;          /* 1 to 10^10; a burst is one message */
	uint32_t burst;                      /* frames of one flow back to back, 1 to 1000; 0: 1 */
	uint64_t start_delay;                /* ns after vl_stream_group_add */
	uint64_t duration;                   /* ns; 0: no end */
	uint64_t frame_limit, message_limit; /* of all flows together; 0: none */
	uint64_t most_arrears;               /* ns that a late poll is made good for; 0: 10 ms */
	/* Each flow's own congestion control ("fixed" gives each a rate of its own); NULL or
	 * "none": without. Must outlive the stream, and pass vl_cc_check. RoCE. */
	const struct vl_cc_parameters *cc;
	uint64_t line_rate; /* bit/s that cc starts from; 0: 100 Gb/s */
	/* ns between the moment a burst was due and the moment it was asked for; NULL: not kept. */
	struct vl_histogram *pacing_error;
};

/* The well-known mixture of IPv4 frame sizes, 7 : 4 : 1 of 60, 590 and 1514 bytes without FCS. */
extern const struct vl_stream_size vl_stream_imix[3];
/* Writes the sizes first, first + step, .. up to last, weight 1 each. Returns how many there are,
 * which may be more than room (then only room are written). 0: first > last or step 0. */
uint32_t vl_stream_size_range(uint32_t first, uint32_t last, uint32_t step,
			      struct vl_stream_size *sizes, uint32_t room);

/* ---- What became of it ----------------------------------------------------------------------- */

#define VL_STREAM_COUNTERS(X)                                                                      \
	X(frames_tx, "frames", "sent")                                                             \
	X(bytes_tx, "bytes", "of frames_tx, without FCS")                                          \
	X(data_bytes_tx, "bytes", "of payload, without pad")                                       \
	X(too_long_tx, "frames", "of frames_tx that did not leave: longer than the port takes")    \
	X(message_tx, "messages", "whose last frame was sent; stateless: frames")                  \
	X(ack_rx, "frames", "positive acknowledgements received")                                  \
	X(nak_rx, "frames", "NAKs received, without RNR")                                          \
	X(rnr_nak_rx, "frames", "RNR NAKs received")                                               \
	X(cnp_rx, "frames", "CNPs received")                                                       \
	X(other_rx, "frames", "for a flow, but none of these")                                     \
	X(arrears_dropped, "ns", "of sending time lost, as frames were asked for too late")

struct vl_stream_counters {
	VL_STREAM_COUNTERS(VL_COUNTER_FIELD)
};

struct vl_stream_flow_report {
	uint32_t local_qpn, remote_qpn, next_psn;
	uint16_t udp_source_port;
	uint64_t frames_tx, message_tx, data_bytes_tx;
	uint64_t ack_rx, nak_rx, rnr_nak_rx, cnp_rx;
	struct vl_cc_report cc; /* rate UINT64_MAX without congestion control */
};

/* ---- Groups ---------------------------------------------------------------------------------- */

/* NULL: no memory. */
struct vl_stream_group *vl_stream_group_create(void);
/* With its streams. NULL is allowed. */
void vl_stream_group_destroy(struct vl_stream_group *group);
/* The stream is the group's, and starts start_delay after now. NULL: *error says which field is
 * wrong and what would be right. Control path: allocates. */
struct vl_stream *vl_stream_group_add(struct vl_stream_group *group,
				      const struct vl_stream_config *config, uint64_t now,
				      struct vl_error *error);
void vl_stream_group_remove(struct vl_stream_group *group, struct vl_stream *stream);
uint32_t vl_stream_group_count(const struct vl_stream_group *group);
struct vl_stream *vl_stream_group_at(const struct vl_stream_group *group, uint32_t index);

const char *vl_stream_name(const struct vl_stream *stream);
const struct vl_stream_counters *vl_stream_counters(const struct vl_stream *stream);
uint32_t vl_stream_flow_count(const struct vl_stream *stream);
struct vl_stream_flow_report vl_stream_flow_report(struct vl_stream *stream, uint32_t flow,
						   uint64_t now);
/* Whatever the caller keeps with the stream; NULL at first. */
void vl_stream_set_context(struct vl_stream *stream, void *context);
void *vl_stream_context(const struct vl_stream *stream);
/* Its limit or its duration is over. */
bool vl_stream_is_done(const struct vl_stream *stream, uint64_t now);
/* Data path: the rate of all flows from now on (ramps), in the unit that the stream was made with;
 * 0: not limited. The schedule goes on from the frame that is due next. */
void vl_stream_set_rate(struct vl_stream *stream, double rate, uint64_t now);
/* RoCE, before its first frame: where a flow goes. The address is that of all flows, as the
 * address_step that the stream was made with says. */
void vl_stream_set_peer(struct vl_stream *stream, uint32_t flow, uint32_t remote_qpn,
			uint64_t remote_address, uint32_t rkey);
/* Holds the stream, or lets it go on from now. */
void vl_stream_set_stopped(struct vl_stream *stream, bool stopped, uint64_t now);

/*
 * A buffer for one frame. The payload's place is fixed, and the headers are put before it, so that
 * whatever their length the payload in it can stay.
 */
#define VL_STREAM_HEADROOM 256u /* bytes that the payload has before it */
#define VL_STREAM_TAILROOM 16u  /* and behind the longest payload */
#define VL_STREAM_CLEAN    UINT32_MAX

struct vl_stream_slot {
	/* In: with room as above. */
	uint8_t *payload;
	/* In and out, where the payload is the group's pattern already: the payload's offset where
	 * the buffer's last frame ended, as its end has been written into the pattern;
	 * VL_STREAM_CLEAN: nowhere. Kept with the buffer. */
	uint32_t tail;
	/* Out */
	uint8_t *data;   /* of the frame */
	uint32_t length; /* without FCS */
	uint8_t priority;
	struct vl_stream *stream;
	uint32_t flow;
};

/* Whether frames are due; then vl_stream_group_make or _transmit gives some, unless all are paused.
 * May be early, never late. UINT64_MAX: never. */
uint64_t vl_stream_group_next_deadline(const struct vl_stream_group *group);
/* Priorities (bit n = priority n) that must not send, as PFC says. */
void vl_stream_group_set_paused(struct vl_stream_group *group, uint8_t priorities);
/*
 * Makes up to count frames of one stream that are due at now, and returns how many. Their buffers
 * hold the payload of vl_stream_payload(stream) already: a set of buffers for each stream, which
 * next tells: the stream that the next call takes frames from, NULL if none is due.
 */
struct vl_stream *vl_stream_group_next(struct vl_stream_group *group, uint64_t now);
uint32_t vl_stream_make(struct vl_stream *stream, uint64_t now, struct vl_stream_slot *slots,
			uint32_t count);
/* What each buffer is to hold, from its payload on: *length bytes. */
const uint8_t *vl_stream_payload(const struct vl_stream *stream, uint32_t *length);
/* One frame of any stream with its payload, into a frame of whatever content; false: none is due,
 * or the frame has no room for it (which counts as sent). */
bool vl_stream_group_transmit(struct vl_stream_group *group, uint64_t now, struct vl_frame *frame);
/* Whether one of the flows has this QPN. */
bool vl_stream_group_has(const struct vl_stream_group *group, uint32_t local_qpn);
/* True: the packet was for one of the flows, and has been counted (and has slowed the flow down).
 * Its ICRC is the caller's to check. */
bool vl_stream_group_receive(struct vl_stream_group *group, const struct vl_packet *packet,
			     uint64_t now);

#endif
