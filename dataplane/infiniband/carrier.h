/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * An emulated InfiniBand link carried over Ethernet, so that its ends can be on two machines: each
 * packet (LRH to VCRC) and each flow-control packet in a frame of its own, with the EtherType that
 * IEEE 802 sets aside for experiments. Behind the Ethernet header, big endian:
 *
 *   version 1 (the number 2), kind 1, link 2, session 4, sequence 4, length 2, the bytes
 *
 * Several links may share a port; their number tells them apart. The sequence counts the frames of
 * one direction, so that losses show, and what comes late or twice is dropped: an InfiniBand link
 * keeps the order. A session is one run of the sender, a random number. Before a run the two ends
 * say hello to each other; each hello names the session that it answers, and once an end has been
 * answered it takes frames of that session only, whoever else may send. That keeps out what is
 * replayed from earlier runs, and forgeries of those who cannot see the frames; nothing is signed,
 * so it does not keep out those who can.
 *
 * What is lost costs no credits for ever: the next flow-control packet says how many blocks were
 * sent (FCTBS), and the receiver takes that for its own count.
 *
 * Nothing that comes is trusted. Headers are written and read in place; no clock, no memory.
 */
#ifndef VERBLINE_INFINIBAND_CARRIER_H
#define VERBLINE_INFINIBAND_CARRIER_H

#include "transport/counter_field.h"

#include <stdbool.h>
#include <stdint.h>

/* IEEE 802, Local Experimental EtherType 1. */
#define VL_CARRIER_ETHERTYPE     0x88b5u
#define VL_CARRIER_HEADER_LENGTH 28u /* the Ethernet header included */
#define VL_CARRIER_LEAST_FRAME   60u /* shorter frames are padded with zeros */
/* What the largest packet of a path MTU takes of the Ethernet payload beyond that MTU: the header
 * above without Ethernet's 14, LRH 8, GRH 40, BTH 12, RETH 16, immediate data 4, ICRC 4, VCRC 2. */
#define VL_CARRIER_OVERHEAD 100u

#define VL_CARRIER_KINDS(X)                                                                        \
	X(PACKET, "a packet, LRH to VCRC")                                                         \
	X(LINK_PACKET, "a flow-control packet")                                                    \
	X(HELLO, "the sender is there: the digest of what it runs, and whether it heard the "      \
		 "other")

enum vl_carrier_kind {
#define VL_CARRIER_KIND(name, meaning) VL_CARRIER_##name,
	VL_CARRIER_KINDS(VL_CARRIER_KIND)
#undef VL_CARRIER_KIND
		VL_CARRIER_KIND_COUNT
};

#define VL_CARRIER_COUNTERS(X)                                                                     \
	X(tx_packets, "packets sent")                                                              \
	X(tx_link_packets, "flow-control packets sent")                                            \
	X(rx_packets, "packets received")                                                          \
	X(rx_link_packets, "flow-control packets received")                                        \
	X(rx_version, "dropped: of another version")                                               \
	X(rx_malformed, "dropped: of an unknown kind, or of impossible length")                    \
	X(rx_late, "dropped: late, or the second of two")                                          \
	X(rx_lost, "missing in the sequence")                                                      \
	X(rx_strangers, "dropped: of another session or scenario than the other end's")

struct vl_carrier_counters {
	VL_CARRIER_COUNTERS(VL_COUNTER_FIELD)
};

/* One end of one link. */
struct vl_carrier {
	uint8_t mac[6], peer_mac[6]; /* the peer's may be the broadcast address */
	uint16_t link;
	uint32_t session;   /* ours */
	uint32_t next_sent; /* sequence */
	uint32_t
		peer_session; /* valid once is_heard: of the last hello; and once is_met for good */
	uint32_t next_heard;  /* valid once is_started */
	uint32_t late_in_a_row;
	bool is_heard, is_met, is_started;
	struct vl_carrier_counters counters;
};

struct vl_carrier_packet {
	enum vl_carrier_kind kind;
	const uint8_t *data; /* in the frame */
	uint32_t length;
	uint32_t session; /* of the sender */
};

void vl_carrier_init(struct vl_carrier *carrier, const uint8_t mac[6], const uint8_t peer_mac[6],
		     uint16_t link, uint32_t session);
/* Writes what stands before a packet of length bytes, and counts it as sent. */
void vl_carrier_write(struct vl_carrier *carrier, uint8_t header[VL_CARRIER_HEADER_LENGTH],
		      enum vl_carrier_kind kind, uint16_t length);
/* Whose a frame is: the link that it names. False: no frame of this kind. */
bool vl_carrier_link(const uint8_t *frame, uint32_t length, uint16_t *link);
/* Of such a frame. */
bool vl_carrier_is_hello(const uint8_t *frame, uint32_t length);
/* Takes a frame of this link (vl_carrier_link). False: it is to be dropped, which was counted.
 * Hellos are for vl_carrier_take_hello. Of ends that have said none, the first packet's session is
 * the other end's. */
bool vl_carrier_read(struct vl_carrier *carrier, const uint8_t *frame, uint32_t length,
		     struct vl_carrier_packet *packet);

/* ---- Before the run: whether the other end is there, and runs the same ------------------- */

#define VL_CARRIER_HELLO_LENGTH 12u

struct vl_carrier_hello {
	uint64_t digest;  /* of the fabric's description */
	uint32_t answers; /* the session of the hello that the sender has heard last; 0: none */
};

void vl_carrier_write_hello(uint8_t bytes[VL_CARRIER_HELLO_LENGTH],
			    const struct vl_carrier_hello *hello);
/* False: of the wrong length. */
bool vl_carrier_read_hello(const struct vl_carrier_packet *packet, struct vl_carrier_hello *hello);
/* A hello with the right digest. False: it is another session's than the other end's, and was
 * counted as a stranger's. is_heard is set, and is_met if it answers this end. */
bool vl_carrier_take_hello(struct vl_carrier *carrier, uint32_t session,
			   const struct vl_carrier_hello *hello);

#endif
