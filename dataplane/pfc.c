/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/pfc.h"

#include <string.h>

#define HEADER_LENGTH  14u
#define OPCODE_PAUSE   0x0001u
#define OPCODE_PFC     0x0101u
#define PFC_FIELDS_END (HEADER_LENGTH + 4u + 2u * VL_PFC_PRIORITIES)
#define PAUSE_END      (HEADER_LENGTH + 4u)
#define DEFAULT_QUANTA UINT16_MAX

static const uint8_t mac_control_address[6] = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x01};

static void put_be16(uint8_t *bytes, uint16_t value)
{
	bytes[0] = (uint8_t)(value >> 8);
	bytes[1] = (uint8_t)value;
}

static uint16_t get_be16(const uint8_t *bytes)
{
	return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

void vl_pfc_write(uint8_t *frame, const uint8_t source_mac[6], const struct vl_pfc *pfc)
{
	memset(frame, 0, VL_PFC_FRAME_LENGTH);
	memcpy(frame, mac_control_address, 6);
	memcpy(frame + 6, source_mac, 6);
	put_be16(frame + 12, 0x8808);
	if (pfc->is_global) {
		put_be16(frame + HEADER_LENGTH, OPCODE_PAUSE);
		put_be16(frame + HEADER_LENGTH + 2, pfc->quanta[0]);
		return;
	}
	put_be16(frame + HEADER_LENGTH, OPCODE_PFC);
	put_be16(frame + HEADER_LENGTH + 2, pfc->enabled);
	for (unsigned int i = 0; i < VL_PFC_PRIORITIES; i++) {
		if (pfc->enabled >> i & 1)
			put_be16(frame + HEADER_LENGTH + 4 + 2 * i, pfc->quanta[i]);
	}
}

enum vl_mac_control vl_pfc_parse(const uint8_t *frame, uint32_t length, struct vl_pfc *pfc)
{
	uint16_t opcode;

	if (!vl_is_mac_control(frame, length))
		return VL_MAC_CONTROL_NONE;
	opcode = length < HEADER_LENGTH + 2 ? 0 : get_be16(frame + HEADER_LENGTH);
	if (opcode == OPCODE_PAUSE && length >= PAUSE_END) {
		pfc->is_global = true;
		pfc->enabled = UINT8_MAX;
		for (unsigned int i = 0; i < VL_PFC_PRIORITIES; i++)
			pfc->quanta[i] = get_be16(frame + HEADER_LENGTH + 2);
		return VL_MAC_CONTROL_PFC;
	}
	if (opcode != OPCODE_PFC || length < PFC_FIELDS_END)
		return VL_MAC_CONTROL_IGNORED;
	pfc->is_global = false;
	pfc->enabled = frame[HEADER_LENGTH + 3];
	for (unsigned int i = 0; i < VL_PFC_PRIORITIES; i++)
		pfc->quanta[i] = get_be16(frame + HEADER_LENGTH + 4 + 2 * i);
	return VL_MAC_CONTROL_PFC;
}

/* ---- Obeying --------------------------------------------------------------------------- */

uint32_t vl_pfc_response_quanta(uint64_t bits_per_second)
{
	static const struct {
		uint64_t rate;
		uint32_t quanta;
	} named[] = {
		{UINT64_C(400000000000), 905}, {UINT64_C(200000000000), 453},
		{UINT64_C(100000000000), 394}, {UINT64_C(50000000000), 147},
		{UINT64_C(40000000000), 118},  {UINT64_C(25000000000), 80},
		{UINT64_C(10000000000), 67},   {UINT64_C(1000000000), 2},
	};

	for (unsigned int i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
		uint64_t rate = named[i].rate;

		if (bits_per_second >= rate)
			return (uint32_t)(((unsigned __int128)named[i].quanta * bits_per_second +
					   rate - 1) /
					  rate);
	}
	return 1;
}

void vl_pfc_receiver_init(struct vl_pfc_receiver *receiver, struct vl_rate rate,
			  uint64_t response_delay)
{
	if (response_delay == VL_PFC_RESPONSE_BY_RATE)
		response_delay = vl_rate_time_up(
			rate, (uint64_t)vl_pfc_response_quanta(rate.bits_per_second) *
				      VL_PFC_QUANTUM_BITS);
	*receiver = (struct vl_pfc_receiver){
		.rate = rate,
		.response_delay = response_delay,
		.next_change = UINT64_MAX,
	};
}

/* The pause of a priority has ended at the time given, by itself or by a newer frame. */
static void account(struct vl_pfc_receiver *receiver, unsigned int priority, uint64_t end)
{
	if (end > receiver->paused_since[priority])
		receiver->paused_time[priority] += end - receiver->paused_since[priority];
}

static void apply(struct vl_pfc_receiver *receiver, const struct vl_pfc *pfc, uint64_t time)
{
	for (unsigned int i = 0; i < VL_PFC_PRIORITIES; i++) {
		uint64_t until = receiver->until[i];

		if (!(pfc->enabled >> i & 1) || receiver->ignored >> i & 1)
			continue;
		if (receiver->paused >> i & 1)
			account(receiver, i, until < time ? until : time);
		if (pfc->quanta[i]) {
			/* A frame may be told of after the pause before it has ended, though it
			 * came in earlier: that time is accounted for. */
			receiver->paused_since[i] =
				!(receiver->paused >> i & 1) && until > time ? until : time;
			receiver->paused |= (uint8_t)(1u << i);
			receiver->until[i] =
				time + vl_rate_time_up(receiver->rate, (uint64_t)pfc->quanta[i] *
									       VL_PFC_QUANTUM_BITS);
		} else {
			receiver->paused &= (uint8_t) ~(1u << i);
			receiver->until[i] = time;
		}
	}
}

static void take_oldest_pending(struct vl_pfc_receiver *receiver, uint64_t time)
{
	apply(receiver, &receiver->pending[receiver->pending_head].pfc, time);
	receiver->pending_head = (receiver->pending_head + 1) % VL_PFC_PENDING;
	receiver->pending_count--;
}

static void end_pauses(struct vl_pfc_receiver *receiver, uint64_t now)
{
	for (unsigned int i = 0; i < VL_PFC_PRIORITIES; i++) {
		if (receiver->paused >> i & 1 && receiver->until[i] <= now) {
			account(receiver, i, receiver->until[i]);
			receiver->paused &= (uint8_t) ~(1u << i);
		}
	}
}

static void find_next_change(struct vl_pfc_receiver *receiver)
{
	uint64_t next = receiver->pending_count ? receiver->pending[receiver->pending_head].time
						: UINT64_MAX;

	for (unsigned int i = 0; i < VL_PFC_PRIORITIES; i++) {
		if (receiver->paused >> i & 1 && receiver->until[i] < next)
			next = receiver->until[i];
	}
	receiver->next_change = next;
}

void vl_pfc_receiver_take(struct vl_pfc_receiver *receiver, const struct vl_pfc *pfc, uint64_t now)
{
	unsigned int slot;

	receiver->global_frames += pfc->is_global;
	for (unsigned int i = 0; i < VL_PFC_PRIORITIES; i++) {
		if (pfc->enabled >> i & 1)
			(pfc->quanta[i] ? receiver->frames : receiver->resumes)[i]++;
	}
	if (receiver->pending_count == VL_PFC_PENDING)
		take_oldest_pending(receiver, now);
	slot = (receiver->pending_head + receiver->pending_count) % VL_PFC_PENDING;
	receiver->pending[slot].time = now + receiver->response_delay;
	receiver->pending[slot].pfc = *pfc;
	receiver->pending_count++;
	find_next_change(receiver);
}

void vl_pfc_receiver_ignore(struct vl_pfc_receiver *receiver, uint8_t priorities, uint64_t now)
{
	vl_pfc_receiver_update(receiver, now);
	for (unsigned int i = 0; i < VL_PFC_PRIORITIES; i++) {
		if (receiver->paused & priorities & 1u << i) {
			account(receiver, i, now);
			receiver->until[i] = now;
		}
	}
	receiver->paused &= (uint8_t)~priorities;
	receiver->ignored = priorities;
	find_next_change(receiver);
}

void vl_pfc_receiver_hold(struct vl_pfc_receiver *receiver, uint64_t until)
{
	for (unsigned int i = 0; i < VL_PFC_PRIORITIES; i++) {
		if (receiver->paused >> i & 1 && receiver->until[i] < until)
			receiver->until[i] = until;
	}
	find_next_change(receiver);
}

bool vl_pfc_receiver_update(struct vl_pfc_receiver *receiver, uint64_t now)
{
	uint8_t before = receiver->paused;

	if (now < receiver->next_change)
		return false;
	while (receiver->pending_count && receiver->pending[receiver->pending_head].time <= now)
		take_oldest_pending(receiver, receiver->pending[receiver->pending_head].time);
	end_pauses(receiver, now);
	find_next_change(receiver);
	return receiver->paused != before;
}

uint64_t vl_pfc_receiver_paused_time(const struct vl_pfc_receiver *receiver, uint8_t priority,
				     uint64_t now)
{
	uint64_t time = receiver->paused_time[priority];

	if (receiver->paused >> priority & 1)
		time += now - receiver->paused_since[priority];
	return time;
}

/* ---- Asking ---------------------------------------------------------------------------- */

void vl_pfc_sender_init(struct vl_pfc_sender *sender, const uint8_t mac[6], struct vl_rate rate,
			uint16_t quanta)
{
	*sender = (struct vl_pfc_sender){
		.quanta = quanta ? quanta : DEFAULT_QUANTA,
		.refresh_at = UINT64_MAX,
	};
	sender->refresh_interval =
		vl_rate_time_up(rate, (uint64_t)sender->quanta * VL_PFC_QUANTUM_BITS) / 2;
	memcpy(sender->mac, mac, 6);
}

bool vl_pfc_sender_want(struct vl_pfc_sender *sender, uint8_t priority, bool pause)
{
	uint8_t bit = (uint8_t)(1u << priority);

	if (!(sender->wanted & bit) == !pause)
		return false;
	sender->wanted ^= bit;
	sender->changed ^= bit;
	return sender->changed & bit;
}

uint32_t vl_pfc_sender_write(struct vl_pfc_sender *sender, uint8_t *frame, uint64_t now)
{
	struct vl_pfc pfc = {.enabled = sender->wanted | sender->changed};

	if (!vl_pfc_sender_is_due(sender, now))
		return 0;
	for (unsigned int i = 0; i < VL_PFC_PRIORITIES; i++) {
		if (sender->wanted >> i & 1) {
			pfc.quanta[i] = sender->quanta;
			sender->frames[i]++;
		} else if (sender->changed >> i & 1) {
			sender->resumes[i]++;
		}
	}
	vl_pfc_write(frame, sender->mac, &pfc);
	sender->changed = 0;
	sender->refresh_at = sender->wanted ? now + sender->refresh_interval : UINT64_MAX;
	return VL_PFC_FRAME_LENGTH;
}
