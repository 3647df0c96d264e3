/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The frames of a stream's messages, made once. */

#include "dataplane/stream/template.h"

#include "transport/pace.h"
#include "transport/wire/headers.h"
#include "transport/wire/icrc.h"
#include "transport/wire/opcode.h"

#include <string.h>

#define TCP_HEADER_LENGTH 20
#define IP_PROTOCOL_TCP   6

/* ---- RoCE ------------------------------------------------------------------------------------ */

static uint8_t opcode_of(const struct vl_stream_roce *roce, bool first, bool last)
{
	static const uint8_t operations[4][4] = {
		/* middle, first, last, only */
		{VL_OP_SEND_MIDDLE, VL_OP_SEND_FIRST, VL_OP_SEND_LAST, VL_OP_SEND_ONLY},
		{VL_OP_SEND_MIDDLE, VL_OP_SEND_FIRST, VL_OP_SEND_LAST_IMM, VL_OP_SEND_ONLY_IMM},
		{VL_OP_WRITE_MIDDLE, VL_OP_WRITE_FIRST, VL_OP_WRITE_LAST, VL_OP_WRITE_ONLY},
		{VL_OP_WRITE_MIDDLE, VL_OP_WRITE_FIRST, VL_OP_WRITE_LAST_IMM, VL_OP_WRITE_ONLY_IMM},
	};
	unsigned int kind = roce->verb == IBV_WR_SEND            ? 0
			    : roce->verb == IBV_WR_SEND_WITH_IMM ? 1
			    : roce->verb == IBV_WR_RDMA_WRITE    ? 2
								 : 3;
	uint8_t service = roce->service == IBV_QPT_RC   ? VL_SERVICE_RC
			  : roce->service == IBV_QPT_UC ? VL_SERVICE_UC
							: VL_SERVICE_UD;

	return service | operations[kind][(first ? 1u : 0u) | (last ? 2u : 0u)];
}

static void set_multipliers(struct vl_stream_template *template, uint32_t behind_bth)
{
	uint32_t left = behind_bth;

	template->multipliers[VL_STREAM_WORD_FLOW] = vl_crc32_shift(left + 4).multiplier;
	if (template->extension == VL_STREAM_DETH) {
		template->multipliers[VL_STREAM_WORD_SOURCE_QPN] =
			vl_crc32_shift(left - offsetof(struct vl_deth, reserved)).multiplier;
		return;
	}
	if (template->extension != VL_STREAM_RETH)
		return;
	template->multipliers[VL_STREAM_WORD_ADDRESS_HIGH] = vl_crc32_shift(left).multiplier;
	template->multipliers[VL_STREAM_WORD_ADDRESS_LOW] = vl_crc32_shift(left - 4).multiplier;
	template->multipliers[VL_STREAM_WORD_RKEY] = vl_crc32_shift(left - 8).multiplier;
}

void vl_stream_template_roce(struct vl_stream_template *template, const struct vl_stream_roce *roce,
			     const struct vl_path *path, const uint8_t *pattern,
			     const struct vl_stream_part *part)
{
	uint8_t opcode = opcode_of(roce, part->first, part->last);
	uint32_t flags = vl_opcode_table[opcode].flags;
	uint32_t extension = vl_opcode_table[opcode].extension_length;
	uint8_t pad = vl_pad_count(part->payload_length), zeros[4] = {0};
	uint32_t transport =
		(uint32_t)sizeof(struct vl_bth) + extension + part->payload_length + pad;
	uint8_t *at = template->headers + VL_STREAM_HEADROOM - extension - sizeof(struct vl_bth);
	uint8_t *start = at - path->length;
	uint8_t room[VL_PATH_MAX_LENGTH];

	vl_path_write(path, room, transport);
	memcpy(start, room, path->length);
	memset(at - 8, 0, 2);
	at += vl_bth_write(at, opcode, roce->solicited && part->last && (flags & VL_OPCODE_RECEIVE),
			   true, pad, roce->pkey ? roce->pkey : 0xffff, 0, false, 0, false);
	if (flags & VL_OPCODE_DETH) {
		template->extension = VL_STREAM_DETH;
		at += vl_deth_write(at, roce->qkey, 0);
	}
	if (flags & VL_OPCODE_RETH) {
		template->extension = VL_STREAM_RETH;
		at += vl_reth_write(at, 0, 0, part->message_length);
	}
	if (flags & VL_OPCODE_IMMDT)
		vl_immdt_write(at, roce->immediate);
	template->header_length = path->length + (uint32_t)sizeof(struct vl_bth) + extension;
	template->payload_length = part->payload_length;
	template->pad_count = pad;
	template->extension_room = (uint16_t)extension;
	template->frame_length = path->length + transport + VL_ICRC_LENGTH;
	template->charge = vl_wire_bytes(template->frame_length);
	template->icrc = vl_icrc_headers((enum vl_encapsulation)path->encapsulation,
					 start + path->network_offset,
					 template->header_length - path->network_offset);
	template->icrc = vl_crc32(template->icrc, pattern, part->payload_length);
	template->icrc = vl_crc32(template->icrc, zeros, pad);
	set_multipliers(template, extension + part->payload_length + pad);
}

uint32_t vl_stream_flow_crc(uint16_t port_word, uint32_t qpn_word)
{
	static const uint8_t zeros[16];
	uint8_t words[16] = {0};

	/* UDP header, and the BTH up to the PSN. */
	memcpy(words, &port_word, sizeof(port_word));
	memcpy(words + 12, &qpn_word, sizeof(qpn_word));
	return vl_crc32(0, words, sizeof(words)) ^ vl_crc32(0, zeros, sizeof(zeros));
}

/* ---- Stateless ------------------------------------------------------------------------------- */

static uint32_t sum_words(uint32_t sum, const uint8_t *bytes, uint32_t length)
{
	for (; length > 1; length -= 2, bytes += 2)
		sum += vl_load_be16(bytes);
	return length ? sum + ((uint32_t)*bytes << 8) : sum;
}

static uint16_t fold(uint32_t sum)
{
	sum = (sum >> 16) + (sum & 0xffff);
	return (uint16_t)((sum >> 16) + sum);
}

static uint32_t write_tcp(uint8_t *at, uint16_t destination_port)
{
	memset(at, 0, TCP_HEADER_LENGTH);
	vl_store_be16(at + 2, destination_port);
	at[12] = TCP_HEADER_LENGTH / 4 << 4;
	at[13] = 0x10; /* ACK */
	vl_store_be16(at + 14, 0xffff);
	return TCP_HEADER_LENGTH;
}

/* The path's IP header says UDP. Returns the pseudo header's sum. */
static uint32_t adapt_ip(uint8_t *network, const struct vl_path *path, uint8_t protocol,
			 uint16_t length)
{
	if (path->encapsulation == VL_ENCAPSULATION_ROCEV2_IPV4) {
		struct vl_ipv4_header *ip = (struct vl_ipv4_header *)network;

		ip->protocol = protocol;
		vl_store_be16(ip->total_length, (uint16_t)(sizeof(*ip) + length));
		vl_store_be16(ip->checksum, 0);
		vl_store_be16(ip->checksum, (uint16_t)~fold(sum_words(0, network, sizeof(*ip))));
		return sum_words((uint32_t)protocol + length, ip->source, 8);
	}
	struct vl_ipv6_header *ip = (struct vl_ipv6_header *)network;

	ip->next_header = protocol;
	vl_store_be16(ip->payload_length, length);
	return sum_words((uint32_t)protocol + length, ip->source, 32);
}

uint32_t vl_stream_stateless_header_length(enum vl_stream_kind kind, const struct vl_path *path)
{
	return path->length + (kind == VL_STREAM_TCP
				       ? TCP_HEADER_LENGTH - (uint32_t)sizeof(struct vl_udp_header)
				       : 0);
}

void vl_stream_template_stateless(struct vl_stream_template *template, enum vl_stream_kind kind,
				  const struct vl_path *path, uint16_t destination_port,
				  const uint8_t *pattern, uint32_t frame_length)
{
	bool tcp = kind == VL_STREAM_TCP;
	uint32_t header_length = vl_stream_stateless_header_length(kind, path);
	uint8_t *start = template->headers + VL_STREAM_HEADROOM - header_length;
	uint8_t *transport = start + path->length - sizeof(struct vl_udp_header);
	uint32_t length = frame_length - (uint32_t)(transport - start);
	uint8_t room[VL_PATH_MAX_LENGTH];
	uint32_t sum;

	vl_path_write(path, room, 0);
	memcpy(start, room, path->length);
	if (tcp) {
		write_tcp(transport, destination_port);
	} else {
		memset(transport, 0, sizeof(struct vl_udp_header));
		vl_store_be16(transport + 2, destination_port);
		vl_store_be16(transport + 4, (uint16_t)length);
	}
	sum = adapt_ip(start + path->network_offset, path,
		       tcp ? IP_PROTOCOL_TCP : VL_IP_PROTOCOL_UDP, (uint16_t)length);
	template->header_length = header_length;
	template->payload_length = frame_length - header_length;
	template->frame_length = frame_length;
	template->charge = vl_wire_bytes(frame_length);
	sum = fold(sum_words(sum, transport, tcp ? TCP_HEADER_LENGTH : 8));
	template->checksum_sum = fold(sum_words(sum, pattern, template->payload_length));
	template->port_offset = (uint16_t)(transport - template->headers);
	template->checksum_offset = (uint16_t)(template->port_offset + (tcp ? 16 : 6));
}

void vl_stream_template_raw(struct vl_stream_template *template, const uint8_t *raw,
			    uint32_t header_length, uint32_t frame_length)
{
	memcpy(template->headers + VL_STREAM_HEADROOM - header_length, raw, header_length);
	template->header_length = header_length;
	template->payload_length = frame_length - header_length;
	template->frame_length = frame_length;
	template->charge = vl_wire_bytes(frame_length);
}
