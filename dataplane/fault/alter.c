/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Changes to a frame's bytes, after which checksum and ICRC are right again or meant to be wrong.
 */

#include "dataplane/fault/private.h"
#include "transport/wire/headers.h"
#include "transport/wire/icrc.h"
#include "transport/wire/parse.h"
#include "transport/wire/path.h"

/* Left of a truncated frame at least: up to the BTH's end all must be there for it to be one. */
static uint32_t least_length(const struct vl_packet *packet)
{
	return (uint32_t)(packet->bth - packet->frame) + sizeof(struct vl_bth);
}

uint32_t vl_fault_part_bits(enum vl_fault_part part, const struct vl_packet *packet)
{
	switch (part) {
	case VL_FAULT_PART_HEADER:
		return (uint32_t)(packet->payload - packet->bth) * 8;
	case VL_FAULT_PART_PAYLOAD:
		return (uint32_t)(packet->icrc - packet->payload) * 8;
	default:
		return VL_ICRC_LENGTH * 8;
	}
}

static const uint8_t *part_start(enum vl_fault_part part, const struct vl_packet *packet)
{
	switch (part) {
	case VL_FAULT_PART_HEADER:
		return packet->bth;
	case VL_FAULT_PART_PAYLOAD:
		return packet->payload;
	default:
		return packet->icrc;
	}
}

/* With repair whole words go, so that the pad stays what it is, and only payload does. */
static bool is_cuttable(const struct vl_fault_action *action, const struct vl_fault_packet *packet)
{
	const struct vl_packet *parsed = &packet->parsed;

	if (action->repair)
		return !(action->bytes & 3) && parsed->payload_length >= action->bytes &&
		       parsed->encapsulation <= VL_ENCAPSULATION_ROCEV2_IPV6;
	return packet->frame->length >= action->bytes &&
	       packet->frame->length - action->bytes >= least_length(parsed);
}

bool vl_fault_is_applicable(const struct vl_fault_action *action,
			    const struct vl_fault_packet *packet)
{
	const struct vl_packet *parsed = &packet->parsed;
	uint32_t bits;

	switch (action->kind) {
	case VL_FAULT_MARK_CE:
		return vl_packet_ecn(parsed) == VL_ECN_ECT0 || vl_packet_ecn(parsed) == VL_ECN_ECT1;
	case VL_FAULT_IGNORE_CE:
		return vl_packet_ecn(parsed) == VL_ECN_CE;
	case VL_FAULT_CORRUPT:
		bits = vl_fault_part_bits(action->part, parsed);
		return bits && (action->bit == VL_FAULT_ANY_BIT || action->bit < bits);
	case VL_FAULT_TRUNCATE:
		return is_cuttable(action, packet);
	case VL_FAULT_CREDITS:
		return parsed->info->flags & VL_OPCODE_AETH && !(parsed->syndrome >> 5);
	case VL_FAULT_NAK:
	case VL_FAULT_RNR:
		return vl_opcode_service(parsed->opcode) == VL_SERVICE_RC &&
		       parsed->info->flags & VL_OPCODE_REQUEST && packet->connection &&
		       packet->answer_qpn;
	case VL_FAULT_CNP:
		return packet->answer_qpn && vl_opcode_service(parsed->opcode) != VL_SERVICE_UD;
	case VL_FAULT_SUPPRESS_ACKS:
	case VL_FAULT_DELAY_ACKS:
		return packet->connection;
	case VL_FAULT_STOP_ANSWERING:
		return action->whole_endpoint || packet->connection;
	default:
		return true;
	}
}

static uint8_t *at(struct vl_fault_packet *packet, const uint8_t *place)
{
	return packet->frame->data + (place - packet->parsed.frame);
}

/* What an earlier action has left may be no packet any more: then it stays as it is. */
static void repair_icrc(struct vl_fault_packet *packet)
{
	struct vl_packet parsed;
	uint32_t icrc;

	if (vl_parse(&parsed, VL_LINK_ETHERNET, packet->frame->data, packet->frame->length,
		     packet->frame->length) != VL_PARSE_ok)
		return;
	packet->parsed = parsed;
	icrc = htole32(vl_icrc_compute(&packet->parsed));
	memcpy(at(packet, packet->parsed.icrc), &icrc, sizeof(icrc));
}

/* RFC 1624, of one word. */
static void adjust_checksum(uint8_t *checksum, uint16_t before, uint16_t after)
{
	uint32_t sum = (uint16_t)~vl_load_be16(checksum) + (uint16_t)~before + (uint32_t)after;

	sum = (sum >> 16) + (sum & 0xffff);
	sum = (sum >> 16) + (sum & 0xffff);
	vl_store_be16(checksum, (uint16_t)~sum);
}

static void unmark(struct vl_fault_packet *packet)
{
	uint8_t *network = at(packet, packet->parsed.network);

	if (packet->parsed.encapsulation == VL_ENCAPSULATION_ROCEV2_IPV4) {
		struct vl_ipv4_header *ip = (struct vl_ipv4_header *)network;
		uint16_t before = vl_load_be16(network);

		ip->traffic_class = (uint8_t)((ip->traffic_class & ~3u) | VL_ECN_ECT0);
		adjust_checksum(ip->checksum, before, vl_load_be16(network));
	} else {
		network[1] = (uint8_t)((network[1] & ~0x30u) | VL_ECN_ECT0 << 4);
	}
}

/* Takes payload off; lengths, checksum and ICRC fit what is left. */
static void shorten(struct vl_fault_packet *packet, uint32_t bytes)
{
	const struct vl_packet *parsed = &packet->parsed;
	uint8_t *network = at(packet, parsed->network);
	uint8_t *icrc = at(packet, parsed->icrc), *udp;

	if (parsed->encapsulation == VL_ENCAPSULATION_ROCEV2_IPV4) {
		struct vl_ipv4_header *ip = (struct vl_ipv4_header *)network;
		uint16_t before = vl_load_be16(ip->total_length);

		vl_store_be16(ip->total_length, (uint16_t)(before - bytes));
		adjust_checksum(ip->checksum, before, (uint16_t)(before - bytes));
	} else {
		struct vl_ipv6_header *ip = (struct vl_ipv6_header *)network;

		vl_store_be16(ip->payload_length,
			      (uint16_t)(vl_load_be16(ip->payload_length) - bytes));
	}
	udp = at(packet, parsed->bth) - sizeof(struct vl_udp_header);
	vl_store_be16(udp + 4, (uint16_t)(vl_load_be16(udp + 4) - bytes));
	/* The pad, if there is one, moves up. */
	memmove(icrc - bytes - parsed->pad_count, icrc - parsed->pad_count,
		parsed->pad_count + VL_ICRC_LENGTH);
	packet->frame->length = (uint32_t)(icrc - bytes + VL_ICRC_LENGTH - packet->frame->data);
	repair_icrc(packet);
}

void vl_fault_alter(const struct vl_fault_action *action, uint32_t bit,
		    struct vl_fault_packet *packet)
{
	uint8_t *place;

	switch (action->kind) {
	case VL_FAULT_MARK_CE:
		vl_frame_mark_ce(packet->frame->data, packet->frame->length);
		break;
	case VL_FAULT_IGNORE_CE:
		unmark(packet);
		break;
	case VL_FAULT_CORRUPT:
		place = at(packet, part_start(action->part, &packet->parsed));
		place[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
		break;
	case VL_FAULT_TRUNCATE:
		/* An action before may have cut off so much that this one finds nothing. */
		if (!is_cuttable(action, packet))
			break;
		if (action->repair)
			shorten(packet, action->bytes);
		else
			packet->frame->length -= action->bytes;
		break;
	case VL_FAULT_CREDITS:
		place = at(packet, packet->parsed.bth) + sizeof(struct vl_bth);
		if (packet->parsed.info->flags & VL_OPCODE_RDETH)
			place += sizeof(struct vl_rdeth);
		*place = action->syndrome & 0x1f;
		repair_icrc(packet);
		break;
	default:
		break;
	}
}
