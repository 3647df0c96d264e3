/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Pacing of a queue pair at the rate that its congestion control allows. Departures follow the
 * ideal schedule and not the moment of the last poll, so that a late poll costs no rate; the
 * fraction of a nanosecond is carried.
 */
#ifndef VERBLINE_PACE_H
#define VERBLINE_PACE_H

#include "transport/object/object.h"

/* Arrears up to this are made good; beyond it the QP was idle, and starts anew. */
#define VL_PACE_ARREARS_NS 20000
/* Preamble 8, inter-packet gap 12, FCS 4; and the smallest frame with its FCS. IEEE 802.3. */
#define VL_WIRE_OVERHEAD 24
#define VL_WIRE_MINIMUM  84

/* Start and end delimiters of InfiniBand, IBTA volume 2, 5.9. */
#define VL_WIRE_DELIMITERS 2

static inline uint32_t vl_wire_bytes(uint32_t frame_length)
{
	uint32_t bytes = frame_length + VL_WIRE_OVERHEAD;

	return bytes < VL_WIRE_MINIMUM ? VL_WIRE_MINIMUM : bytes;
}

/* Whether a paced packet may go now. If not, requester.wake_time says when to ask again: at its
 * turn, or when the allowed rate has changed by itself before that. */
static inline bool vl_pace_allows(struct vl_qp *qp, uint64_t now)
{
	struct vl_requester *requester = &qp->requester;
	uint64_t byte_time, change;

	if (requester->pace_time <= now)
		return true;
	byte_time = qp->cc->algorithm->byte_time(&qp->cc_state, qp->cc, now);
	if (byte_time != requester->pace_byte_time && requester->pace_byte_time) {
		double scale = (double)byte_time / (double)requester->pace_byte_time;

		if (scale < 1)
			requester->pace_time =
				now + (uint64_t)((double)(requester->pace_time - now) * scale);
		requester->pace_byte_time = byte_time;
		if (requester->pace_time <= now)
			return true;
	}
	requester->wake_time = requester->pace_time;
	if (qp->cc->algorithm->next_change) {
		change = qp->cc->algorithm->next_change(&qp->cc_state, qp->cc);
		if (change > now && change < requester->wake_time)
			requester->wake_time = change;
	}
	return false;
}

static inline void vl_pace_charge(struct vl_qp *qp, uint32_t frame_length, uint64_t now)
{
	struct vl_requester *requester = &qp->requester;
	uint32_t bytes = vl_device_is_infiniband(qp->device) ? frame_length + VL_WIRE_DELIMITERS
							     : vl_wire_bytes(frame_length);
	uint64_t byte_time, duration;

	if (qp->cc->algorithm->on_send)
		qp->cc->algorithm->on_send(&qp->cc_state, qp->cc, bytes, now);
	byte_time = qp->cc->algorithm->byte_time(&qp->cc_state, qp->cc, now);
	requester->pace_byte_time = byte_time;
	if (!byte_time) {
		requester->pace_time = now;
		return;
	}
	if (requester->pace_time + VL_PACE_ARREARS_NS < now) {
		requester->pace_time = now;
		requester->pace_fraction = 0;
	}
	duration = byte_time * bytes + requester->pace_fraction;
	requester->pace_time += duration / (UINT64_C(1000) << 16);
	requester->pace_fraction = (uint32_t)(duration % (UINT64_C(1000) << 16));
}

#endif
