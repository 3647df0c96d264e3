/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "tests/soak/hostile.h"

#include "tests/support/hosts.h"
#include "transport/psn.h"
#include "transport/wire/headers.h"
#include "transport/wire/opcode.h"
#include "transport/wire/path.h"

#include <string.h>

#define MOST_PAYLOAD 4096u

struct packet {
	uint8_t opcode;
	uint32_t qpn, psn;
	bool ack_request;
	uint8_t version;
	uint32_t payload_length;
	uint8_t extension[48];
};

static uint32_t below(struct vl_random *random, uint32_t bound)
{
	return (uint32_t)vl_random_below(random, bound);
}

static bool one_in(struct vl_random *random, uint32_t bound)
{
	return !below(random, bound);
}

static void fill(struct vl_random *random, uint8_t *bytes, uint32_t length)
{
	for (uint32_t i = 0; i < length; i++)
		bytes[i] = (uint8_t)vl_random_next(random);
}

static uint8_t valid_opcode(struct vl_random *random, uint8_t service)
{
	for (;;) {
		uint8_t opcode = service | (uint8_t)below(random, 32);

		if (vl_opcode_table[opcode].flags & VL_OPCODE_VALID)
			return opcode;
	}
}

static uint8_t service_of(enum ibv_qp_type type)
{
	return type == IBV_QPT_RC   ? VL_SERVICE_RC
	       : type == IBV_QPT_UC ? VL_SERVICE_UC
				    : VL_SERVICE_UD;
}

static uint32_t build(const struct hostile_target *target, const struct packet *packet,
		      struct vl_random *random, uint8_t *frame)
{
	struct vl_path_attr attr = {
		.encapsulation = VL_ENCAPSULATION_ROCEV2_IPV4,
		.source_mac = {2, 0, 0, 0, (uint8_t)(target->attacker >> 8),
			       (uint8_t)target->attacker},
		.destination_mac = {2, 0, 0, 0, (uint8_t)(target->victim >> 8),
				    (uint8_t)target->victim},
		.source_gid = host_gid(target->attacker),
		.destination_gid = host_gid(target->victim),
		.traffic_class = (uint8_t)below(random, 256),
		.udp_source_port = (uint16_t)below(random, 65536),
	};
	uint32_t extension = vl_opcode_table[packet->opcode].extension_length;
	uint8_t headers[VL_MAX_HEADER_LENGTH], payload[MOST_PAYLOAD];
	struct vl_outgoing outgoing = {.headers = headers, .span_count = 1};
	struct vl_path path;
	uint32_t bth;

	vl_path_init(&path, &attr);
	outgoing.pad_count = vl_pad_count(packet->payload_length);
	bth = vl_path_write(&path, headers,
			    12 + extension + packet->payload_length + outgoing.pad_count);
	vl_bth_write(headers + bth, packet->opcode, false, true, outgoing.pad_count, 0xffff,
		     packet->qpn, packet->ack_request, packet->psn,
		     packet->opcode == VL_OPCODE_CNP);
	headers[bth + 1] |= packet->version;
	memcpy(headers + bth + 12, packet->extension, extension);
	fill(random, payload, packet->payload_length < 64 ? packet->payload_length : 64);
	outgoing.header_length = (uint16_t)(bth + 12 + extension);
	outgoing.network_offset = path.network_offset;
	outgoing.encapsulation = attr.encapsulation;
	outgoing.payload_length = packet->payload_length;
	outgoing.frame_length =
		outgoing.header_length + packet->payload_length + outgoing.pad_count + 4;
	outgoing.spans[0] = (struct vl_span){payload, packet->payload_length};
	if (packet->payload_length > 64)
		memset(payload + 64, 0x77, packet->payload_length - 64);
	return vl_serialize(&outgoing, frame, HOSTILE_FRAME);
}

static uint32_t near_psn(struct vl_random *random, uint32_t psn)
{
	switch (below(random, 4)) {
	case 0:
		return psn;
	case 1:
		return vl_psn_add(psn, below(random, 64));
	case 2:
		return (psn - below(random, 64)) & VL_PSN_MASK;
	default:
		return below(random, VL_PSN_MASK + 1);
	}
}

/* Keys and places that were granted or not; now and then both are right. */
static void write_reth(struct vl_random *random, const struct hostile_target *target, bool granted,
		       struct packet *packet)
{
	uint64_t address = target->address + below(random, target->length);
	uint32_t rkey = target->rkey, length = packet->payload_length;

	if (!granted) {
		switch (below(random, 5)) {
		case 0:
			rkey = (uint32_t)vl_random_next(random);
			break;
		case 1:
			rkey ^= 1u << below(random, 32);
			break;
		case 2:
			rkey = target->others_rkey;
			address = target->others_address;
			break;
		case 3:
			address = target->address - 1 - below(random, 256);
			break;
		default:
			address = target->address + target->length + below(random, 256);
			break;
		}
		length = length ? length : 1;
	}
	if (one_in(random, 4))
		length = (uint32_t)vl_random_next(random) >> below(random, 32);
	vl_reth_write(packet->extension, address, rkey, length);
}

static uint32_t fuzzed(struct vl_random *random, const struct hostile_target *target,
		       uint8_t *frame)
{
	struct packet packet = {
		.opcode = valid_opcode(random, service_of(target->type)),
		.qpn = target->qpn,
		.psn = near_psn(random, target->expected_psn),
		.ack_request = one_in(random, 2),
		.payload_length = one_in(random, 8) ? below(random, MOST_PAYLOAD + 1)
						    : below(random, 3) * 512,
	};
	uint32_t flags = vl_opcode_table[packet.opcode].flags;

	if (flags & VL_OPCODE_RESPONSE)
		packet.psn = near_psn(random, target->sent_psn);
	if (!(flags & VL_OPCODE_PAYLOAD) && !one_in(random, 8))
		packet.payload_length = 0;
	fill(random, packet.extension, sizeof(packet.extension));
	if (flags & (VL_OPCODE_RETH | VL_OPCODE_ATOMICETH))
		write_reth(random, target, one_in(random, 2), &packet);
	return build(target, &packet, random, frame);
}

static uint32_t guessed_key(struct vl_random *random, const struct hostile_target *target,
			    uint8_t *frame)
{
	static const uint8_t operations[] = {VL_OP_WRITE_ONLY, VL_OP_WRITE_FIRST,
					     VL_OP_READ_REQUEST, VL_OP_FETCH_ADD,
					     VL_OP_COMPARE_SWAP};
	uint32_t choice = below(random, target->type == IBV_QPT_RC ? 5 : 2);
	struct packet packet = {
		.opcode = service_of(target->type) | operations[choice],
		.qpn = target->qpn,
		.psn = target->expected_psn,
		.ack_request = true,
		.payload_length = choice == 1 ? 1024
				  : choice    ? 0
					      : below(random, 1025),
	};

	if (target->type == IBV_QPT_UD)
		return fuzzed(random, target, frame);
	fill(random, packet.extension, sizeof(packet.extension));
	write_reth(random, target, false, &packet);
	return build(target, &packet, random, frame);
}

static uint32_t false_ack(struct vl_random *random, const struct hostile_target *target,
			  uint8_t *frame)
{
	struct packet packet = {
		.opcode = VL_SERVICE_RC | VL_OP_ACKNOWLEDGE,
		.qpn = target->qpn,
		.psn = one_in(random, 4) ? near_psn(random, target->sent_psn)
					 : vl_psn_add(target->sent_psn, 1 + below(random, 1 << 22)),
	};

	vl_aeth_write(packet.extension,
		      (uint8_t)(one_in(random, 2) ? below(random, 32) : below(random, 256)),
		      (uint32_t)vl_random_next(random));
	return build(target, &packet, random, frame);
}

static uint32_t cnp(struct vl_random *random, const struct hostile_target *target, uint32_t qpn,
		    uint8_t *frame)
{
	struct packet packet = {.opcode = VL_OPCODE_CNP, .qpn = qpn, .payload_length = 16};

	return build(target, &packet, random, frame);
}

static uint32_t mad(struct vl_random *random, const struct hostile_target *target, uint8_t *frame)
{
	struct packet packet = {
		.opcode = VL_SERVICE_UD | VL_OP_SEND_ONLY,
		.qpn = 1,
		.psn = below(random, VL_PSN_MASK + 1),
		.payload_length = 256,
	};
	uint32_t length, icrc_at;
	uint8_t *datagram;

	vl_deth_write(packet.extension, 0x80010000, below(random, 0xffffff));
	length = build(target, &packet, random, frame);
	icrc_at = length - 4;
	datagram = frame + icrc_at - 256;
	/* Base version, CM class and version, Send; attributes from ClassPortInfo to SIDR_REP. */
	memcpy(datagram, (const uint8_t[]){1, 7, 2, 3}, 4);
	fill(random, datagram + 8, 8);
	vl_store_be16(datagram + 16, (uint16_t)(one_in(random, 8) ? below(random, 65536)
								  : 0x10 + below(random, 9)));
	fill(random, datagram + 24, 232);
	if (one_in(random, 2)) {
		/* A REQ's service: rping's, over TCP's port space; and a sensible rest. */
		vl_store_be64(datagram + 24 + 8, UINT64_C(0x0000000001060000) | 7174);
		memset(datagram + 24 + 52, 0, 16);
	}
	/* The bytes changed: their CRC too. */
	struct vl_outgoing again = {
		.headers = frame,
		.header_length = (uint16_t)(icrc_at - 256),
		.network_offset = 14,
		.encapsulation = VL_ENCAPSULATION_ROCEV2_IPV4,
		.payload_length = 256,
		.frame_length = length,
		.span_count = 1,
		.spans = {{datagram, 256}},
	};
	uint8_t payload[256];

	memcpy(payload, datagram, sizeof(payload));
	again.spans[0].data = payload;
	return vl_serialize(&again, frame, HOSTILE_FRAME);
}

static uint32_t garbage(struct vl_random *random, uint8_t *frame)
{
	uint32_t length = 14 + below(random, 200);

	fill(random, frame, length);
	if (one_in(random, 2)) {
		/* As far as the UDP port it is RoCE. */
		static const uint8_t ip[] = {0x08, 0x00, 0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17};

		memcpy(frame + 12, ip, length - 12 < sizeof(ip) ? length - 12 : sizeof(ip));
		if (length >= 38)
			vl_store_be16(frame + 36, VL_ROCEV2_UDP_PORT);
	}
	/* Not MAC control, which is not the transport's to drop. */
	if (frame[12] == 0x88 && frame[13] == 0x08)
		frame[12] = 0;
	return length;
}

static uint32_t simple(struct vl_random *random, const struct hostile_target *target, uint32_t qpn,
		       uint8_t version, uint8_t *frame)
{
	struct packet packet = {
		.opcode = valid_opcode(random, VL_SERVICE_RC),
		.qpn = qpn,
		.psn = below(random, VL_PSN_MASK + 1),
		.version = version,
	};

	if (vl_opcode_table[packet.opcode].flags & VL_OPCODE_IS_ATOMIC_WRITE)
		packet.payload_length = 8;
	return build(target, &packet, random, frame);
}

static uint32_t wrong_target(struct vl_random *random, const struct hostile_target *target,
			     uint8_t *frame)
{
	struct hostile_target other = *target;
	uint32_t length;

	if (one_in(random, 2)) {
		other.victim += 10;
		return simple(random, &other, target->others_qpn, 0, frame);
	}
	length = simple(random, target, target->others_qpn, 0, frame);
	frame[3] ^= 0x40;
	return length;
}

static uint32_t mac_control(struct vl_random *random, uint8_t *frame)
{
	static const uint8_t start[] = {0x01, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 3, 0x88, 0x08};
	uint32_t length = 14 + below(random, 47);

	fill(random, frame, 60);
	memcpy(frame, start, sizeof(start));
	/* Neither PAUSE nor PFC: those are obeyed, as they must be. */
	frame[14] |= 2;
	return length;
}

uint32_t hostile_frame(struct vl_random *random, enum hostile_kind kind,
		       const struct hostile_target *target, uint8_t frame[HOSTILE_FRAME])
{
	struct packet packet = {0};
	uint32_t length;

	switch (kind) {
	case HOSTILE_GARBAGE:
		return garbage(random, frame);
	case HOSTILE_BENT:
		length = simple(random, target, target->others_qpn, 0, frame);
		/* Of the transport headers: they are all under the ICRC, but for one byte. */
		frame[42 + below(random, 4)] ^= (uint8_t)(1u << below(random, 8));
		return length;
	case HOSTILE_UNKNOWN_QP:
		return simple(random, target, 0x700000 + below(random, 0x10000), 0, frame);
	case HOSTILE_WRONG_SOURCE:
		return simple(random, target, target->others_qpn, 0, frame);
	case HOSTILE_WRONG_TARGET:
		return wrong_target(random, target, frame);
	case HOSTILE_WRONG_VERSION:
		if (one_in(random, 2))
			return simple(random, target, target->qpn, (uint8_t)(1 + below(random, 15)),
				      frame);
		packet.opcode = (uint8_t)(0x1e + below(random, 2));
		packet.qpn = target->qpn;
		return build(target, &packet, random, frame);
	case HOSTILE_FORGED_CNP:
		return cnp(random, target,
			   one_in(random, 2) ? target->others_qpn : 0x700000 + below(random, 99),
			   frame);
	case HOSTILE_OWN_CNP:
		return cnp(random, target, target->qpn, frame);
	case HOSTILE_FALSE_ACK:
		return false_ack(random, target, frame);
	case HOSTILE_GUESSED_KEY:
		return guessed_key(random, target, frame);
	case HOSTILE_MAD:
		return mad(random, target, frame);
	case HOSTILE_MAC_CONTROL:
		return mac_control(random, frame);
	default:
		return fuzzed(random, target, frame);
	}
}

const char *hostile_kind_name(enum hostile_kind kind)
{
	static const char *const names[] = {
#define HOSTILE_NAME(name, meaning) meaning,
		HOSTILE_KINDS(HOSTILE_NAME)
#undef HOSTILE_NAME
	};

	return names[kind];
}
