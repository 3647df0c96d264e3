/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/infiniband/carrier.h"

#include "dataplane/infiniband/flow_control.h"
#include "transport/wire/headers.h"

#include <string.h>

#define VERSION 2

#define SOURCE_OFFSET    6u
#define ETHERTYPE_OFFSET 12u
#define VERSION_OFFSET   14u
#define KIND_OFFSET      15u
#define LINK_OFFSET      16u
#define SESSION_OFFSET   18u
#define SEQUENCE_OFFSET  22u
#define LENGTH_OFFSET    26u

/* So many late frames in a row, and none in order between them, are no stragglers: it was the frame
 * before them that was wrong. */
#define MOST_LATE_IN_A_ROW 256u
/* LRH, BTH, ICRC and VCRC. */
#define LEAST_PACKET 26u

void vl_carrier_init(struct vl_carrier *carrier, const uint8_t mac[6], const uint8_t peer_mac[6],
		     uint16_t link, uint32_t session)
{
	memset(carrier, 0, sizeof(*carrier));
	memcpy(carrier->mac, mac, sizeof(carrier->mac));
	memcpy(carrier->peer_mac, peer_mac, sizeof(carrier->peer_mac));
	carrier->link = link;
	carrier->session = session;
}

void vl_carrier_write(struct vl_carrier *carrier, uint8_t header[VL_CARRIER_HEADER_LENGTH],
		      enum vl_carrier_kind kind, uint16_t length)
{
	memcpy(header, carrier->peer_mac, sizeof(carrier->peer_mac));
	memcpy(header + SOURCE_OFFSET, carrier->mac, sizeof(carrier->mac));
	vl_store_be16(header + ETHERTYPE_OFFSET, VL_CARRIER_ETHERTYPE);
	header[VERSION_OFFSET] = VERSION;
	header[KIND_OFFSET] = (uint8_t)kind;
	vl_store_be16(header + LINK_OFFSET, carrier->link);
	vl_store_be32(header + SESSION_OFFSET, carrier->session);
	vl_store_be32(header + SEQUENCE_OFFSET, carrier->next_sent);
	vl_store_be16(header + LENGTH_OFFSET, length);
	if (kind == VL_CARRIER_HELLO)
		return;
	carrier->next_sent++;
	if (kind == VL_CARRIER_PACKET)
		carrier->counters.tx_packets++;
	else
		carrier->counters.tx_link_packets++;
}

bool vl_carrier_link(const uint8_t *frame, uint32_t length, uint16_t *link)
{
	if (length < VL_CARRIER_HEADER_LENGTH ||
	    vl_load_be16(frame + ETHERTYPE_OFFSET) != VL_CARRIER_ETHERTYPE)
		return false;
	*link = vl_load_be16(frame + LINK_OFFSET);
	return true;
}

bool vl_carrier_is_hello(const uint8_t *frame, uint32_t length)
{
	return length >= VL_CARRIER_HEADER_LENGTH && frame[KIND_OFFSET] == VL_CARRIER_HELLO;
}

static bool is_sound(const struct vl_carrier_packet *packet, uint32_t room)
{
	if (packet->length > room)
		return false;
	switch (packet->kind) {
	case VL_CARRIER_PACKET:
		return packet->length >= LEAST_PACKET;
	case VL_CARRIER_LINK_PACKET:
		return packet->length == VL_FLOW_CONTROL_LENGTH;
	case VL_CARRIER_HELLO:
		return packet->length == VL_CARRIER_HELLO_LENGTH;
	default:
		return false;
	}
}

/* False: the frame is late. A number half the range ahead cannot be told from one behind. */
static bool take_sequence(struct vl_carrier *carrier, uint32_t sequence)
{
	uint32_t ahead;

	if (!carrier->is_started) {
		carrier->is_started = true;
		carrier->next_heard = sequence;
	}
	ahead = sequence - carrier->next_heard;
	if (ahead > INT32_MAX) {
		if (++carrier->late_in_a_row <= MOST_LATE_IN_A_ROW)
			return false;
		ahead = 0;
	}
	carrier->late_in_a_row = 0;
	carrier->counters.rx_lost += ahead;
	carrier->next_heard = sequence + 1;
	return true;
}

/* False: somebody else's, or our own, come back by a loop: nobody is to meet himself. */
static bool take_session(struct vl_carrier *carrier, uint32_t session)
{
	if (session == carrier->session)
		return false;
	if (!carrier->is_heard) {
		carrier->is_heard = true;
		carrier->peer_session = session;
	}
	/* Whoever sends packets to this link has heard it. */
	carrier->is_met |= session == carrier->peer_session;
	return session == carrier->peer_session;
}

static bool drop(uint64_t *counter)
{
	++*counter;
	return false;
}

bool vl_carrier_read(struct vl_carrier *carrier, const uint8_t *frame, uint32_t length,
		     struct vl_carrier_packet *packet)
{
	if (length < VL_CARRIER_HEADER_LENGTH)
		return drop(&carrier->counters.rx_malformed);
	if (frame[VERSION_OFFSET] != VERSION)
		return drop(&carrier->counters.rx_version);
	if (frame[KIND_OFFSET] >= VL_CARRIER_KIND_COUNT)
		return drop(&carrier->counters.rx_malformed);
	packet->kind = (enum vl_carrier_kind)frame[KIND_OFFSET];
	packet->data = frame + VL_CARRIER_HEADER_LENGTH;
	packet->length = vl_load_be16(frame + LENGTH_OFFSET);
	packet->session = vl_load_be32(frame + SESSION_OFFSET);
	if (!is_sound(packet, length - VL_CARRIER_HEADER_LENGTH))
		return drop(&carrier->counters.rx_malformed);
	if (packet->kind == VL_CARRIER_HELLO)
		return true;
	if (!take_session(carrier, packet->session))
		return drop(&carrier->counters.rx_strangers);
	if (!take_sequence(carrier, vl_load_be32(frame + SEQUENCE_OFFSET)))
		return drop(&carrier->counters.rx_late);
	if (packet->kind == VL_CARRIER_PACKET)
		carrier->counters.rx_packets++;
	else
		carrier->counters.rx_link_packets++;
	return true;
}

void vl_carrier_write_hello(uint8_t bytes[VL_CARRIER_HELLO_LENGTH],
			    const struct vl_carrier_hello *hello)
{
	vl_store_be64(bytes, hello->digest);
	vl_store_be32(bytes + 8, hello->answers);
}

bool vl_carrier_read_hello(const struct vl_carrier_packet *packet, struct vl_carrier_hello *hello)
{
	if (packet->kind != VL_CARRIER_HELLO || packet->length != VL_CARRIER_HELLO_LENGTH)
		return false;
	hello->digest = vl_load_be64(packet->data);
	hello->answers = vl_load_be32(packet->data + 8);
	return true;
}

bool vl_carrier_take_hello(struct vl_carrier *carrier, uint32_t session,
			   const struct vl_carrier_hello *hello)
{
	if (session == carrier->session || (carrier->is_met && session != carrier->peer_session))
		return drop(&carrier->counters.rx_strangers);
	carrier->peer_session = session;
	carrier->is_heard = true;
	carrier->is_met |= hello->answers == carrier->session;
	return true;
}
