/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/infiniband/congestion.h"

#include "transport/wire/headers.h"
#include "transport/wire/vcrc.h"

void vl_switch_congestion_defaults(struct vl_switch_congestion_setting *setting)
{
	*setting = (struct vl_switch_congestion_setting){
		.threshold = 12, .marking_rate = 16, .packet_size = 8};
}

bool vl_infiniband_mark_fecn(struct vl_frame *frame)
{
	static const uint8_t change[] = {VL_BTH_FECN};
	const struct vl_lrh *lrh = (const struct vl_lrh *)frame->data;
	uint32_t offset = sizeof(*lrh), vcrc = frame->length - VL_VCRC_LENGTH;
	uint8_t next;

	if (frame->length < sizeof(*lrh) + sizeof(struct vl_bth) + VL_VCRC_LENGTH)
		return false;
	next = lrh->service_next & 3;
	if (next == VL_LNH_IBA_GLOBAL)
		offset += sizeof(struct vl_ipv6_header);
	else if (next != VL_LNH_IBA_LOCAL)
		return false;
	offset += VL_BTH_CONGESTION_OFFSET;
	if (offset >= vcrc)
		return false;
	if (frame->data[offset] & VL_BTH_FECN)
		return true;
	frame->data[offset] |= VL_BTH_FECN;
	vl_vcrc_mend(frame->data + vcrc, vl_vcrc_change(change, sizeof(change), vcrc - offset - 1));
	return true;
}
