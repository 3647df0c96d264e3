/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What the files of the reliable connection share. */
#ifndef VERBLINE_RC_H
#define VERBLINE_RC_H

#include "transport/object/object.h"
#include "transport/psn.h"
#include "transport/wire/opcode.h"

/* ---- requester.c ---------------------------------------------------------------------------- */

enum vl_send_result vl_rc_send_request(struct vl_qp *qp, struct vl_outgoing *outgoing,
				       uint64_t now);
bool vl_rc_has_request(const struct vl_qp *qp);
/* Go back to psn, at or after the oldest unacknowledged: everything from there is sent again. */
void vl_rc_rewind(struct vl_qp *qp, uint32_t psn);
/* Ends the oldest request, and with it the connection. */
void vl_rc_fail_request(struct vl_qp *qp, enum ibv_wc_status status);
/* Sets the local ACK timeout running anew, or stops it when nothing is outstanding. */
void vl_rc_restart_ack_timer(struct vl_qp *qp, uint64_t now);

/* ---- completer.c ---------------------------------------------------------------------------- */

void vl_rc_receive_response(struct vl_qp *qp, const struct vl_packet *packet, uint64_t now);

/* ---- responder.c ---------------------------------------------------------------------------- */

void vl_rc_receive_request(struct vl_qp *qp, const struct vl_packet *packet, uint64_t now);
/* Refuses with a NAK that ends the connection. */
void vl_rc_refuse(struct vl_qp *qp, uint32_t psn, uint8_t syndrome, enum ibv_event_type event);
/* InfiniBand: an acknowledgement with BECN goes out. False: not now, as responses go first. */
bool vl_rc_return_becn(struct vl_qp *qp);
/* The credit code for the next AETH, remembered as advertised. */
uint8_t vl_rc_advertise_credits(struct vl_qp *qp);

/* ---- resources.c: READ, ATOMIC, FLUSH and ATOMIC WRITE that are answered, and answered again ----
 */

static inline struct vl_responder_resource *vl_rc_resource_at(const struct vl_qp *qp,
							      uint16_t index)
{
	return &qp->responder.resources[index & qp->responder.resource_mask];
}
/* Takes the place of the oldest when as many as were granted are kept. */
struct vl_responder_resource *vl_rc_resource_add(struct vl_qp *qp, const struct vl_packet *packet);
/* A duplicate request: found, and set to be answered again; false: nothing to repeat. */
bool vl_rc_resource_repeat(struct vl_qp *qp, const struct vl_packet *packet);
bool vl_rc_has_response(struct vl_qp *qp);
enum vl_send_result vl_rc_send_response(struct vl_qp *qp, struct vl_outgoing *outgoing,
					uint64_t now);

/* AETH syndromes, IBTA 9.7.5.1.1: type in bits 6..5, value in bits 4..0. */
#define VL_SYNDROME_TYPE(syndrome)        ((syndrome) >> 5 & 3)
#define VL_SYNDROME_VALUE(syndrome)       ((syndrome)&0x1f)
#define VL_SYNDROME_IS_RESERVED(syndrome) ((syndrome)&0x80)
enum vl_syndrome_type {
	VL_SYNDROME_ACK = 0,
	VL_SYNDROME_RNR = 1,
	VL_SYNDROME_NAK = 3,
};
enum vl_nak {
	VL_NAK_SEQUENCE = 0x60,
	VL_NAK_INVALID_REQUEST = 0x61,
	VL_NAK_REMOTE_ACCESS = 0x62,
	VL_NAK_REMOTE_OPERATIONAL = 0x63,
};

#endif
