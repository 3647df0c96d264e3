/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Marking by InfiniBand switches, IBTA volume 1, annex A10: FECN in the BTH of packets that leave a
 * congested port. What reacts to it is transport/cc/infiniband.c.
 *
 * A port and lane is congested while what waits for it in the switch, behind the packet that
 * leaves, exceeds a part of the receive buffer of one lane: (16 - threshold) / 16 of it, so that 15
 * marks most. The annex leaves the meaning of the thresholds 1 to 15 to the maker of the switch,
 * but for their order. It is the root of congestion if its packets had credits when they could go,
 * and a victim if they had to wait for credits; victims mark only where they are told to.
 */
#ifndef VERBLINE_INFINIBAND_CONGESTION_H
#define VERBLINE_INFINIBAND_CONGESTION_H

#include "dataplane/frame.h"

#include <stdbool.h>
#include <stdint.h>

struct vl_switch_congestion_setting {
	uint8_t threshold;     /* 0: no marking; 1 least to 15 most */
	uint16_t marking_rate; /* packets passed over between two marked ones, on average */
	uint8_t packet_size;   /* 64 bytes; shorter packets are not marked */
	bool victims_mark; /* every port marks as a victim too; each port's bit of Victim_Mask */
};

/* Threshold 12, marking rate 16, packets of 512 bytes and more: chosen, as the annex gives no
 * defaults, with those of vl_infiniband_cc_defaults, by a sweep over a fabric with a hot host and a
 * victim. */
void vl_switch_congestion_defaults(struct vl_switch_congestion_setting *setting);
/* Sets FECN and mends the VCRC. False: not a packet with a BTH. */
bool vl_infiniband_mark_fecn(struct vl_frame *frame);

#endif
