/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What holds all the time: how fast receives are posted and frames are taken, which answers go. */

#include "dataplane/fault/private.h"

#include <string.h>

#define SYNDROME_RNR 1

/* ---- Receives ------------------------------------------------------------------------------- */

static void post_receives(struct vl_fault *fault, struct vl_fault_connection *connection,
			  uint64_t now)
{
	uint32_t burst = fault->config.receives.burst;

	if (!connection->token_time)
		connection->token_time = now + fault->token_interval;
	while (connection->tokens < burst && connection->token_time <= now) {
		connection->tokens++;
		connection->token_time += fault->token_interval;
	}
	/* A full queue takes no more: the next one is posted behind one that was used. */
	if (connection->tokens == burst && connection->token_time <= now)
		connection->token_time = now + fault->token_interval;
}

static bool needs_receive(const struct vl_packet *packet)
{
	uint32_t flags = packet->info->flags;

	if (vl_opcode_service(packet->opcode) != VL_SERVICE_RC || !(flags & VL_OPCODE_REQUEST))
		return false;
	return flags & VL_OPCODE_SEND ? flags & VL_OPCODE_FIRST : flags & VL_OPCODE_RECEIVE;
}

bool vl_fault_admit_receive(struct vl_fault *fault, struct vl_fault_packet *packet)
{
	struct vl_fault_connection *connection = packet->connection;
	const uint8_t syndrome = (uint8_t)(SYNDROME_RNR << 5 | fault->config.receives.rnr_timer);

	if (!fault->config.receives.rate || !connection || vl_fault_is_spared(connection) ||
	    !packet->answer_qpn || !needs_receive(&packet->parsed))
		return true;
	/* Sent again: it has its receive. */
	if (connection->has_admitted &&
	    vl_psn_distance(packet->parsed.psn, connection->admitted_psn) <= 0)
		return true;
	post_receives(fault, connection, packet->now);
	if (connection->tokens) {
		connection->tokens--;
		connection->has_admitted = true;
		connection->admitted_psn = packet->parsed.psn;
		return true;
	}
	if (!vl_fault_refuse(fault, packet, syndrome, VL_FAULT_NONE))
		return true;
	fault->counters.rnr_by_rate++;
	vl_fault_comment_add(fault, "refused with RNR NAK, as no receive is posted");
	vl_fault_comment_prefix(fault, VL_COMMENT_NOT_DELIVERED);
	return false;
}

/* ---- Slow receiver -------------------------------------------------------------------------- */

static void set_slow_pause(struct vl_fault *fault, bool pause, uint64_t now)
{
	fault->slow_paused = pause ? fault->config.slow_receiver.priorities : 0;
	vl_fault_update_pauses(fault, now);
}

bool vl_fault_has_room(struct vl_fault *fault, const struct vl_fault_packet *packet)
{
	const struct vl_fault_slow_receiver *slow = &fault->config.slow_receiver;

	if (!slow->rate || (fault->slow_bytes + packet->frame->length <= slow->buffer &&
			    vl_fault_can_hold(fault, packet->frame)))
		return true;
	fault->counters.slow_receiver_dropped++;
	vl_fault_comment_add(fault, "no room in the slow receiver's buffer");
	vl_fault_comment_prefix(fault, VL_COMMENT_NOT_DELIVERED);
	return false;
}

bool vl_fault_admit_slow(struct vl_fault *fault, struct vl_fault_packet *packet)
{
	const struct vl_fault_slow_receiver *slow = &fault->config.slow_receiver;
	uint32_t length = packet->frame->length;
	struct vl_fault_slot *slot;

	if (!slow->rate)
		return true;
	slot = vl_fault_slot_copy(fault, packet->frame);
	if (!slot) {
		fault->counters.slow_receiver_dropped++;
		return false;
	}
	if (fault->slow_free_at < packet->now)
		fault->slow_free_at = packet->now;
	fault->slow_free_at +=
		vl_rate_time(fault->slow_rate, (uint64_t)length * 8, &fault->slow_remainder);
	slot->hold = VL_FAULT_HOLD_SLOW;
	slot->due = fault->slow_free_at;
	vl_fault_hold(fault, VL_DIRECTION_RECEIVED, slot);
	fault->slow_bytes += length;
	if (slow->xoff && fault->slow_bytes >= slow->xoff && !fault->slow_paused)
		set_slow_pause(fault, true, packet->now);
	return false;
}

void vl_fault_slow_left(struct vl_fault *fault, const struct vl_fault_slot *slot)
{
	fault->slow_bytes -= slot->frame.length;
	if (fault->slow_paused && fault->slow_bytes <= fault->config.slow_receiver.xon)
		set_slow_pause(fault, false, slot->due);
}

/* ---- Answers -------------------------------------------------------------------------------- */

static bool suppress(struct vl_fault *fault, uint32_t event)
{
	char text[VL_FAULT_EVENT_TEXT];

	fault->counters.answers_suppressed++;
	vl_fault_comment_add(fault, "answers are stopped by %s",
			     vl_fault_event_text(fault, event, text));
	vl_fault_comment_prefix(fault, VL_COMMENT_NOT_SENT);
	return false;
}

static bool delay_ack(struct vl_fault *fault, struct vl_fault_packet *packet)
{
	struct vl_fault_slot *slot = vl_fault_slot_copy(fault, packet->frame);
	char text[VL_FAULT_EVENT_TEXT];

	if (!slot) {
		fault->counters.answers_not_held++;
		return true;
	}
	slot->hold = VL_FAULT_HOLD_DELAYED;
	slot->event = packet->connection->delaying_event;
	slot->due = packet->now + packet->connection->ack_delay;
	vl_fault_comment_add(fault, "%.3f us later by %s",
			     (double)packet->connection->ack_delay / 1000,
			     vl_fault_event_text(fault, slot->event, text));
	vl_fault_comment_keep(fault, slot);
	vl_fault_hold(fault, VL_DIRECTION_TRANSMITTED, slot);
	return false;
}

static void swallow_held(struct vl_fault *fault, struct vl_fault_packet *packet)
{
	fault->counters.acks_coalesced++;
	vl_fault_comment_add(fault, "a later ACK speaks for it");
	vl_fault_comment_prefix(fault, VL_COMMENT_NOT_SENT);
	vl_fault_show(fault, VL_DIRECTION_TRANSMITTED, &packet->connection->held_ack->frame,
		      packet->now);
	vl_fault_comment_clear(fault);
}

/* The newest waits for more of them, or for its time. */
static bool coalesce(struct vl_fault *fault, struct vl_fault_packet *packet)
{
	const struct vl_fault_ack_coalescing *coalescing = &fault->config.ack_coalescing;
	struct vl_fault_connection *connection = packet->connection;
	struct vl_fault_slot *slot = connection->held_ack;

	if (slot) {
		swallow_held(fault, packet);
		if (++connection->held_ack_count >= coalescing->count) {
			vl_fault_release(fault, VL_DIRECTION_TRANSMITTED, slot);
			vl_fault_slot_put(fault, slot);
			return true;
		}
		memcpy(slot->frame.data, packet->frame->data, packet->frame->length);
		slot->frame.length = packet->frame->length;
		return false;
	}
	slot = vl_fault_slot_copy(fault, packet->frame);
	if (!slot) {
		fault->counters.answers_not_held++;
		return true;
	}
	slot->hold = VL_FAULT_HOLD_ACK;
	vl_fault_slot_belongs(fault, slot, connection);
	slot->due = packet->now + coalescing->delay;
	vl_fault_hold(fault, VL_DIRECTION_TRANSMITTED, slot);
	connection->held_ack = slot;
	connection->held_ack_count = 1;
	return false;
}

/* A NAK or a READ response acknowledges what is before it, too. */
static void drop_held(struct vl_fault *fault, struct vl_fault_packet *packet)
{
	struct vl_fault_slot *slot = packet->connection->held_ack;

	if (!slot)
		return;
	swallow_held(fault, packet);
	vl_fault_release(fault, VL_DIRECTION_TRANSMITTED, slot);
	vl_fault_slot_put(fault, slot);
}

bool vl_fault_admit_answer(struct vl_fault *fault, struct vl_fault_packet *packet)
{
	struct vl_fault_connection *connection = packet->connection;
	const struct vl_packet *parsed = &packet->parsed;

	if (!(parsed->info->flags & (VL_OPCODE_RESPONSE | VL_OPCODE_NOTIFICATION)) ||
	    vl_fault_is_spared(connection))
		return true;
	if (packet->now < fault->silent_until)
		return suppress(fault, fault->silent_event);
	if (!connection)
		return true;
	if (packet->now < connection->silent_until)
		return suppress(fault, connection->silent_event);
	if (parsed->info->flags & VL_OPCODE_NOTIFICATION)
		return true;
	if (parsed->opcode != VL_OP_ACKNOWLEDGE || parsed->syndrome >> 5) {
		drop_held(fault, packet);
		return true;
	}
	if (packet->now < connection->acks_suppressed_until)
		return suppress(fault, connection->suppressing_event);
	if (packet->now < connection->acks_delayed_until)
		return delay_ack(fault, packet);
	return fault->config.ack_coalescing.count < 2 || coalesce(fault, packet);
}
