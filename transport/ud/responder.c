/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Unreliable datagram, responder: what fits is delivered behind 40 bytes that say whence it came;
 * the rest is dropped, and the receive request stays for the next. IBTA 9.8.3, 11.4.1.2. */

#include "transport/object/object.h"
#include "transport/wire/headers.h"
#include "transport/wire/opcode.h"

#include <errno.h>
#include <string.h>

/* Room for a GRH goes before every datagram, filled or not. */
#define GRH_LENGTH sizeof(struct vl_ipv6_header)

/* A17.4.5: over IPv4 the header takes the second half, and the first is undefined. */
static void fill_grh_area(uint8_t area[GRH_LENGTH], const struct vl_packet *packet)
{
	size_t ipv4 = sizeof(struct vl_ipv4_header);

	memset(area, 0, GRH_LENGTH);
	if (packet->encapsulation == VL_ENCAPSULATION_ROCEV2_IPV4)
		memcpy(area + GRH_LENGTH - ipv4, packet->network, ipv4);
	else if (packet->grh_present)
		memcpy(area, packet->network, GRH_LENGTH);
}

static uint16_t pkey_index_of(const struct vl_qp *qp, const struct vl_packet *packet)
{
	const struct vl_device_config *config = &qp->device->config;

	for (uint16_t i = 0; qp->is_gsi && i < config->pkey_count; i++) {
		if (!((config->pkeys[i] ^ packet->pkey) & 0x7fff))
			return i;
	}
	return qp->pkey_index;
}

static int deliver(struct vl_qp *qp, const struct vl_packet *packet)
{
	const struct vl_receive *receive = qp->responder.receive;
	const struct vl_pd *pd = vl_receive_pd(qp);
	struct vl_sge_cursor cursor = {0};
	uint8_t area[GRH_LENGTH];
	int result = 0;

	fill_grh_area(area, packet);
	if (packet->grh_present)
		result = vl_scatter(pd, receive->sges, receive->sge_count, &cursor, 0, area,
				    GRH_LENGTH);
	if (!result)
		result = vl_scatter(pd, receive->sges, receive->sge_count, &cursor, GRH_LENGTH,
				    packet->payload, packet->payload_length);
	return result;
}

static void complete(struct vl_qp *qp, const struct vl_packet *packet)
{
	struct ibv_wc wc = {
		.status = IBV_WC_SUCCESS,
		.opcode = IBV_WC_RECV,
		.byte_len = GRH_LENGTH + packet->payload_length,
		.src_qp = packet->source_qpn,
		.wc_flags = packet->grh_present ? IBV_WC_GRH : 0,
		.pkey_index = pkey_index_of(qp, packet),
		.slid = packet->source_lid,
		.sl = packet->priority,
	};

	if (!vl_is_infiniband(packet->encapsulation)) {
		/* As vl_wc_source_mac reads it. */
		wc.slid = vl_load_be16(packet->source_mac);
		wc.vendor_err = vl_load_be32(packet->source_mac + 2);
	}
	if (packet->info->flags & VL_OPCODE_IMMDT) {
		wc.wc_flags |= IBV_WC_WITH_IMM;
		wc.imm_data = packet->immediate;
	}
	VL_COUNT(qp, data_frames_rx);
	VL_COUNT_ADD(qp, data_bytes_rx, packet->payload_length);
	VL_COUNT(qp, message_rx);
	vl_receive_complete(qp, &wc, packet->solicited);
}

void vl_ud_receive(struct vl_qp *qp, const struct vl_packet *packet, uint64_t now)
{
	uint64_t *drops = qp->device->drops;

	(void)now;
	if (!(packet->info->flags & VL_OPCODE_SEND)) {
		drops[VL_DROP_opcode]++;
	} else if (packet->qkey != qp->qkey) {
		drops[VL_DROP_qkey]++;
	} else if (packet->payload_length > qp->path_mtu) {
		drops[VL_DROP_length]++;
	} else if (!vl_receive_take(qp)) {
		drops[VL_DROP_no_receive]++;
	} else if (GRH_LENGTH + packet->payload_length > qp->responder.receive->length) {
		drops[VL_DROP_length]++;
	} else if (deliver(qp, packet)) {
		/* The owner's own key does not hold. */
		const struct ibv_wc wc = {.status = IBV_WC_LOC_PROT_ERR, .opcode = IBV_WC_RECV};

		vl_receive_complete(qp, &wc, true);
		vl_qp_fail(qp, VL_NO_EVENT);
	} else {
		complete(qp, packet);
	}
}
