/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Priority flow control, IEEE 802.1Qbb and 802.3 annex 31D, and the older PAUSE of annex 31B that
 * stops all classes at once: frames, the side that obeys pauses, and the side that asks for them.
 * Functions of the time; no clock.
 */
#ifndef VERBLINE_DATAPLANE_PFC_H
#define VERBLINE_DATAPLANE_PFC_H

#include "dataplane/fabric/rate.h"

#include <stdbool.h>
#include <stdint.h>

#define VL_PFC_PRIORITIES   8
#define VL_PFC_FRAME_LENGTH 60u /* padded, without FCS */
#define VL_PFC_QUANTUM_BITS 512u

/* What a PFC or PAUSE frame says. */
struct vl_pfc {
	bool is_global;  /* PAUSE: every class is enabled and has the same quanta */
	uint8_t enabled; /* bit n: quanta[n] is meant */
	uint16_t quanta[VL_PFC_PRIORITIES]; /* of 512 bit times; 0: go on sending (XON) */
};

enum vl_mac_control {
	VL_MAC_CONTROL_NONE,    /* not a MAC control frame */
	VL_MAC_CONTROL_PFC,     /* PFC or PAUSE; *pfc is filled */
	VL_MAC_CONTROL_IGNORED, /* another opcode, or cut short */
};

/* Writes VL_PFC_FRAME_LENGTH bytes. Of a global one only quanta[0] is read. */
void vl_pfc_write(uint8_t *frame, const uint8_t source_mac[6], const struct vl_pfc *pfc);
enum vl_mac_control vl_pfc_parse(const uint8_t *frame, uint32_t length, struct vl_pfc *pfc);
/* Whether the EtherType says MAC control: the cheap test before vl_pfc_parse. */
static inline bool vl_is_mac_control(const uint8_t *frame, uint32_t length)
{
	return length >= 14 && frame[12] == 0x88 && frame[13] == 0x08;
}

/* ---- Obeying --------------------------------------------------------------------------- */

/* Frames received but not yet in force; more than fit within the response delay take force at
 * once. */
#define VL_PFC_PENDING 8

/* As a response delay: the most that IEEE 802.3 allows at the line's rate. */
#define VL_PFC_RESPONSE_BY_RATE UINT64_MAX

/* Quanta from the end of a pause's last bit on the line to obedience that IEEE 802.3 31B.3.7 allows
 * a line of the rate: 2 (1 Gb/s) to 905 (400 Gb/s); between the rates that it names, and beyond,
 * those of the next lower one for the same time at least. */
uint32_t vl_pfc_response_quanta(uint64_t bits_per_second);

struct vl_pfc_receiver {
	struct vl_rate rate;               /* of the line: the length of a quantum */
	uint64_t response_delay;           /* ns between reception and obedience */
	uint64_t until[VL_PFC_PRIORITIES]; /* ns; paused before this time */
	uint64_t next_change;              /* ns; UINT64_MAX: nothing ahead */
	uint8_t paused;                    /* bit n: priority n, as of the last update */
	uint8_t ignored;                   /* bit n: priority n obeys no pause */
	uint8_t pending_head, pending_count;
	struct {
		uint64_t time;
		struct vl_pfc pfc;
	} pending[VL_PFC_PENDING];
	uint64_t frames[VL_PFC_PRIORITIES];      /* received, with a time */
	uint64_t resumes[VL_PFC_PRIORITIES];     /* received, with time 0 */
	uint64_t global_frames;                  /* of both: PAUSE, which counts for every class */
	uint64_t paused_time[VL_PFC_PRIORITIES]; /* ns, up to the last change */
	uint64_t paused_since[VL_PFC_PRIORITIES];
};

/* response_delay: ns, or VL_PFC_RESPONSE_BY_RATE. */
void vl_pfc_receiver_init(struct vl_pfc_receiver *receiver, struct vl_rate rate,
			  uint64_t response_delay);
void vl_pfc_receiver_take(struct vl_pfc_receiver *receiver, const struct vl_pfc *pfc, uint64_t now);
/* From now on, these priorities obey no pause, and those that they are under end; all others do.
 * Frames are counted all the same. */
void vl_pfc_receiver_ignore(struct vl_pfc_receiver *receiver, uint8_t priorities, uint64_t now);
/* Pauses in force last until then at least, unless a frame ends them. */
void vl_pfc_receiver_hold(struct vl_pfc_receiver *receiver, uint64_t until);
/* Brings receiver->paused to now; true if it changed. Cheap while now < next_change. */
bool vl_pfc_receiver_update(struct vl_pfc_receiver *receiver, uint64_t now);
/* Nanoseconds that a priority was paused until now, of a receiver brought to now. */
uint64_t vl_pfc_receiver_paused_time(const struct vl_pfc_receiver *receiver, uint8_t priority,
				     uint64_t now);

/* ---- Asking ---------------------------------------------------------------------------- */

struct vl_pfc_sender {
	uint8_t wanted;            /* bit n: priority n shall be paused */
	uint8_t changed;           /* bit n: the peer does not know yet */
	uint16_t quanta;           /* of each pause */
	uint64_t refresh_interval; /* ns; half a pause, so that none ends by itself */
	uint64_t refresh_at;       /* ns; UINT64_MAX: no pause to hold up */
	uint8_t mac[6];
	uint64_t frames[VL_PFC_PRIORITIES];  /* sent, with a time */
	uint64_t resumes[VL_PFC_PRIORITIES]; /* sent, with time 0 */
};

/* quanta 0: 65535. */
void vl_pfc_sender_init(struct vl_pfc_sender *sender, const uint8_t mac[6], struct vl_rate rate,
			uint16_t quanta);
/* Whether priority shall be paused from now on. True if a frame became due by this. */
bool vl_pfc_sender_want(struct vl_pfc_sender *sender, uint8_t priority, bool pause);
static inline bool vl_pfc_sender_is_due(const struct vl_pfc_sender *sender, uint64_t now)
{
	return sender->changed || now >= sender->refresh_at;
}
/* Writes the frame that is due: VL_PFC_FRAME_LENGTH bytes, or 0: none is. */
uint32_t vl_pfc_sender_write(struct vl_pfc_sender *sender, uint8_t *frame, uint64_t now);

#endif
