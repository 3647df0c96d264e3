/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Frames made up as the answer to a packet, with its addresses the other way round. */

#include "dataplane/fault/private.h"
#include "transport/wire/headers.h"
#include "transport/wire/icrc.h"
#include "transport/wire/parse.h"
#include "transport/wire/path.h"

static int make_path(struct vl_path *path, const struct vl_packet *packet, uint8_t traffic_class,
		     uint8_t priority)
{
	struct vl_path_attr attr = {
		.encapsulation = packet->encapsulation,
		.vlan_present = packet->vlan_present,
		.vlan_id = packet->vlan_id,
		.priority = priority,
		.source_gid = packet->destination_gid,
		.destination_gid = packet->source_gid,
		.traffic_class = traffic_class,
		.flow_label = packet->flow_label,
		.udp_source_port = packet->udp_source_port,
	};

	memcpy(attr.source_mac, packet->destination_mac, sizeof(attr.source_mac));
	memcpy(attr.destination_mac, packet->source_mac, sizeof(attr.destination_mac));
	return vl_path_init(path, &attr);
}

static uint32_t seal(uint8_t *frame, uint32_t length)
{
	struct vl_packet packet;
	uint32_t icrc = 0;

	memcpy(frame + length, &icrc, sizeof(icrc));
	length += VL_ICRC_LENGTH;
	if (vl_parse(&packet, VL_LINK_ETHERNET, frame, length, length) != VL_PARSE_ok)
		return 0;
	icrc = htole32(vl_icrc_compute(&packet));
	memcpy(frame + length - VL_ICRC_LENGTH, &icrc, sizeof(icrc));
	return length;
}

uint32_t vl_fault_write_acknowledge(const struct vl_fault_packet *packet, uint8_t syndrome,
				    uint32_t msn, uint8_t *frame, uint32_t capacity)
{
	const struct vl_packet *parsed = &packet->parsed;
	uint8_t traffic_class = parsed->traffic_class;
	struct vl_path path;
	uint32_t length;

	/* A mark is the network's, on the way here. */
	if (vl_packet_ecn(parsed) == VL_ECN_CE)
		traffic_class = (uint8_t)((traffic_class & ~3u) | VL_ECN_ECT0);
	if (capacity < VL_MAX_HEADER_LENGTH ||
	    make_path(&path, parsed, traffic_class, parsed->priority))
		return 0;
	length = vl_path_write(&path, frame, sizeof(struct vl_bth) + sizeof(struct vl_aeth));
	length += vl_bth_write(frame + length, VL_OP_ACKNOWLEDGE, false, parsed->mig_req, 0,
			       parsed->pkey, packet->answer_qpn, false, parsed->psn, false);
	length += vl_aeth_write(frame + length, syndrome, msn);
	return seal(frame, length);
}

uint32_t vl_fault_write_cnp(const struct vl_fault_packet *packet, uint8_t dscp, uint8_t priority,
			    uint8_t *frame, uint32_t capacity)
{
	const struct vl_packet *parsed = &packet->parsed;
	struct vl_path path;
	uint32_t length;

	if (capacity < VL_MAX_HEADER_LENGTH ||
	    make_path(&path, parsed, (uint8_t)(dscp << 2 | VL_ECN_ECT0), priority))
		return 0;
	length = vl_path_write(&path, frame, sizeof(struct vl_bth) + VL_CNP_PAYLOAD_LENGTH);
	length += vl_bth_write(frame + length, VL_OPCODE_CNP, false, parsed->mig_req, 0,
			       parsed->pkey, packet->answer_qpn, false, 0, true);
	memset(frame + length, 0, VL_CNP_PAYLOAD_LENGTH);
	return seal(frame, length + VL_CNP_PAYLOAD_LENGTH);
}
