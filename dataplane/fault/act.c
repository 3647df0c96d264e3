/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What events do to a packet, first in words, then in deed. */

#include "dataplane/fault/private.h"

#include <stdio.h>
#include <string.h>

#define DEFAULT_REORDER_HOLD UINT64_C(1000000)
#define SYNDROME_RNR         1
/* A refusal waits for the answers before it so long at most. */
#define REFUSAL_HOLD UINT64_C(1000000)

enum { NAK_SEQUENCE = 0x60 };

/* ---- In words ------------------------------------------------------------------------------- */

static const char *part_name(enum vl_fault_part part)
{
	static const char *const names[] = {"header", "payload", "ICRC"};

	return names[part];
}

static const char *nak_name(uint8_t syndrome)
{
	static const char *const names[] = {"sequence error", "invalid request",
					    "remote access error", "remote operational error",
					    "invalid RD request"};

	syndrome &= 0x1f;
	return syndrome < sizeof(names) / sizeof(names[0]) ? names[syndrome] : "reserved";
}

static void describe_stop(struct vl_fault *fault, const struct vl_fault_action *action,
			  const char *what, const char *event)
{
	if (action->duration == VL_FAULT_FOREVER)
		vl_fault_comment_add(fault, "from here on %s, by %s", what, event);
	else
		vl_fault_comment_add(fault, "for %.3f us from here on %s, by %s",
				     (double)action->duration / 1000, what, event);
}

static void describe_fate(struct vl_fault *fault, const struct vl_fault_packet *packet,
			  const struct vl_fault_action *action, const char *event)
{
	const char *prefix = packet->direction == VL_DIRECTION_RECEIVED ? VL_COMMENT_NOT_DELIVERED
									: VL_COMMENT_NOT_SENT;

	switch (action->kind) {
	case VL_FAULT_DROP:
		vl_fault_comment_add(fault, "dropped by %s", event);
		break;
	case VL_FAULT_NAK:
		vl_fault_comment_add(fault, "refused with NAK %s by %s", nak_name(action->syndrome),
				     event);
		break;
	default:
		vl_fault_comment_add(fault, "refused with RNR NAK, timer code %u, by %s",
				     action->syndrome & 0x1fu, event);
		break;
	}
	vl_fault_comment_prefix(fault, prefix);
}

/* A received frame is shown as it came; how the endpoint gets it is what the comment says. */
static void describe(struct vl_fault *fault, const struct vl_fault_packet *packet,
		     const struct vl_fault_decision *decision)
{
	const struct vl_fault_action *action = &vl_fault_event_at(fault, decision->event)->action;
	const char *how = packet->direction == VL_DIRECTION_RECEIVED ? "delivered " : "";
	char text[VL_FAULT_EVENT_TEXT];
	const char *event = vl_fault_event_text(fault, decision->event, text);

	switch (action->kind) {
	case VL_FAULT_DROP:
	case VL_FAULT_NAK:
	case VL_FAULT_RNR:
		describe_fate(fault, packet, action, event);
		break;
	case VL_FAULT_DUPLICATE:
		vl_fault_comment_add(fault, "%s%u times more by %s", *how ? how : "sent ",
				     action->copies, event);
		break;
	case VL_FAULT_REORDER:
		vl_fault_comment_add(fault, "%sbehind the next %u packets by %s", how, action->by,
				     event);
		break;
	case VL_FAULT_DELAY:
		vl_fault_comment_add(fault, "%s%.3f us later by %s", how,
				     (double)action->delay / 1000, event);
		break;
	case VL_FAULT_MARK_CE:
		vl_fault_comment_add(fault, "%smarked CE by %s", how, event);
		break;
	case VL_FAULT_IGNORE_CE:
		vl_fault_comment_add(fault, "%swithout its CE mark by %s", how, event);
		break;
	case VL_FAULT_CORRUPT:
		vl_fault_comment_add(fault, "%swith bit %u of its %s flipped by %s", how,
				     decision->bit, part_name(action->part), event);
		break;
	case VL_FAULT_TRUNCATE:
		vl_fault_comment_add(fault, "%swithout its last %u bytes by %s", how, action->bytes,
				     event);
		break;
	case VL_FAULT_CREDITS:
		vl_fault_comment_add(fault, "%swith credit code %u by %s", how,
				     action->syndrome & 0x1fu, event);
		break;
	case VL_FAULT_CNP:
		vl_fault_comment_add(fault, "answered with a CNP by %s", event);
		break;
	case VL_FAULT_SUPPRESS_ACKS:
		describe_stop(fault, action, "no ACKs are sent", event);
		break;
	case VL_FAULT_DELAY_ACKS:
		describe_stop(fault, action, "ACKs are sent late", event);
		break;
	case VL_FAULT_STOP_ANSWERING:
		describe_stop(fault, action, "nothing is answered", event);
		break;
	case VL_FAULT_PAUSE:
		vl_fault_comment_add(fault, "priorities 0x%02x are paused by %s",
				     action->priorities, event);
		break;
	default:
		vl_fault_comment_add(fault, "left alone by %s", event);
		break;
	}
}

static uint32_t slots_needed(const struct vl_fault_action *action)
{
	switch (action->kind) {
	case VL_FAULT_DUPLICATE:
		return action->copies;
	case VL_FAULT_REORDER:
	case VL_FAULT_DELAY:
	case VL_FAULT_NAK:
	case VL_FAULT_RNR:
	case VL_FAULT_CNP:
		return 1;
	case VL_FAULT_PAUSE:
		return action->duration ? 0 : 1;
	default:
		return 0;
	}
}

void vl_fault_plan(struct vl_fault *fault, const struct vl_fault_packet *packet)
{
	uint32_t kept = 0, reserved = 0;

	for (uint32_t i = 0; i < fault->decision_count; i++) {
		const struct vl_fault_decision decision = fault->decisions[i];
		uint32_t needed = slots_needed(&vl_fault_event_at(fault, decision.event)->action);

		if (reserved + needed > fault->free_count ||
		    (needed && packet->frame->length > fault->slots[0].frame.capacity)) {
			fault->event_counters[decision.event].no_room++;
			continue;
		}
		reserved += needed;
		fault->decisions[kept++] = decision;
		if (vl_fault_is_watched(fault))
			describe(fault, packet, &decision);
	}
	fault->decision_count = kept;
}

/* ---- In deed -------------------------------------------------------------------------------- */

static uint64_t end_of(uint64_t now, uint64_t duration)
{
	return duration > UINT64_MAX - now ? UINT64_MAX : now + duration;
}

static uint8_t priority_of(const struct vl_packet *packet)
{
	return packet->vlan_present ? packet->priority : vl_packet_dscp(packet) >> 3;
}

/* NULL: no slot is left. */
static struct vl_fault_slot *hold(struct vl_fault *fault, const struct vl_fault_packet *packet,
				  enum vl_fault_hold kind, uint32_t event, uint64_t delay,
				  uint32_t countdown)
{
	struct vl_fault_slot *slot = vl_fault_slot_copy(fault, packet->frame);

	if (!slot)
		return NULL;
	slot->hold = kind;
	slot->event = event;
	slot->due = packet->now + delay;
	slot->countdown = countdown;
	vl_fault_slot_belongs(fault, slot, packet->connection);
	vl_fault_comment_keep(fault, slot);
	vl_fault_hold(fault, packet->direction, slot);
	return slot;
}

static void duplicate(struct vl_fault *fault, const struct vl_fault_packet *packet,
		      const struct vl_fault_action *action, uint32_t event)
{
	char text[VL_FAULT_EVENT_TEXT];

	for (uint32_t i = 0; i < action->copies; i++) {
		struct vl_fault_slot *copy =
			hold(fault, packet, VL_FAULT_HOLD_COPY, event, action->delay, 0);

		if (copy && vl_fault_is_watched(fault))
			snprintf(copy->comment, sizeof(copy->comment), "copy made by %s",
				 vl_fault_event_text(fault, event, text));
	}
}

/* A frame made up as an answer goes the other way: out, or to the endpoint. */
static enum vl_direction way_of_answers(const struct vl_fault_packet *packet)
{
	return packet->direction == VL_DIRECTION_RECEIVED ? VL_DIRECTION_TRANSMITTED
							  : VL_DIRECTION_RECEIVED;
}

static void hold_made(struct vl_fault *fault, const struct vl_fault_packet *packet,
		      struct vl_fault_slot *slot, uint32_t event, const char *what)
{
	bool goes_out = packet->direction == VL_DIRECTION_RECEIVED;
	char text[VL_FAULT_EVENT_TEXT];

	slot->hold = VL_FAULT_HOLD_MADE;
	slot->event = event;
	if (!slot->due)
		slot->due = packet->now;
	if (vl_fault_is_watched(fault))
		snprintf(slot->comment, sizeof(slot->comment), "%s%s made up by %s",
			 goes_out ? "" : VL_COMMENT_NOT_ON_WIRE, what,
			 vl_fault_event_text(fault, event, text));
	vl_fault_hold(fault, way_of_answers(packet), slot);
}

static bool is_read_unanswered(const struct vl_fault_stream *stream)
{
	return stream->has_read &&
	       (!stream->is_answered ||
		vl_psn_distance(stream->read_end_psn, stream->answered_psn) > 0);
}

void vl_fault_answered(struct vl_fault *fault, const struct vl_fault_packet *packet)
{
	struct vl_fault_stream *stream;
	struct vl_fault_slot *slot;

	if (!packet->connection || !(packet->parsed.info->flags & VL_OPCODE_RESPONSE))
		return;
	stream = &packet->connection->streams[!packet->direction];
	if (!stream->is_answered || vl_psn_distance(packet->parsed.psn, stream->answered_psn) > 0) {
		stream->is_answered = true;
		stream->answered_psn = packet->parsed.psn;
	}
	slot = stream->held_refusal;
	if (!slot || is_read_unanswered(stream))
		return;
	vl_fault_release(fault, packet->direction, slot);
	slot->due = packet->now;
	vl_fault_hold(fault, packet->direction, slot);
}

bool vl_fault_refuse(struct vl_fault *fault, struct vl_fault_packet *packet, uint8_t syndrome,
		     uint32_t event)
{
	struct vl_fault_stream *stream = &packet->connection->streams[packet->direction];
	/* As the responder has said last. */
	uint32_t msn = packet->connection->streams[!packet->direction].msn;
	struct vl_fault_slot *slot = vl_fault_slot_get(fault);
	bool comes_again = syndrome >> 5 == SYNDROME_RNR || syndrome == NAK_SEQUENCE;

	if (!slot)
		return false;
	slot->frame.length = vl_fault_write_acknowledge(packet, syndrome, msn, slot->frame.data,
							slot->frame.capacity);
	if (!slot->frame.length) {
		vl_fault_slot_put(fault, slot);
		return false;
	}
	slot->frame.priority = priority_of(&packet->parsed);
	vl_fault_slot_belongs(fault, slot, packet->connection);
	if (is_read_unanswered(stream)) {
		slot->due = packet->now + REFUSAL_HOLD;
		stream->held_refusal = slot;
	}
	hold_made(fault, packet, slot, event,
		  syndrome >> 5 == SYNDROME_RNR ? "RNR NAK" : nak_name(syndrome));
	stream->is_refusing = true;
	stream->is_refused_all = !comes_again;
	stream->refused_psn = packet->parsed.psn;
	stream->refusing_event = event;
	return true;
}

bool vl_fault_is_follower(struct vl_fault *fault, const struct vl_fault_packet *packet)
{
	struct vl_fault_stream *stream;
	char text[VL_FAULT_EVENT_TEXT];
	int32_t distance;

	if (!packet->connection || !(packet->parsed.info->flags & VL_OPCODE_REQUEST))
		return false;
	stream = &packet->connection->streams[packet->direction];
	if (!stream->is_refusing)
		return false;
	distance = vl_psn_distance(packet->parsed.psn, stream->refused_psn);
	if (!stream->is_refused_all) {
		stream->is_refusing = distance != 0;
		if (distance <= 0)
			return false;
	}
	fault->counters.refused_followers++;
	vl_fault_comment_add(fault, "behind a packet that was refused by %s",
			     vl_fault_event_text(fault, stream->refusing_event, text));
	vl_fault_comment_prefix(fault, packet->direction == VL_DIRECTION_RECEIVED
					       ? VL_COMMENT_NOT_DELIVERED
					       : VL_COMMENT_NOT_SENT);
	return true;
}

static void make_cnp(struct vl_fault *fault, const struct vl_fault_packet *packet, uint32_t event)
{
	struct vl_fault_slot *slot = vl_fault_slot_get(fault);

	if (!slot)
		return;
	slot->frame.length =
		vl_fault_write_cnp(packet, fault->config.cnp_dscp, fault->config.cnp_priority,
				   slot->frame.data, slot->frame.capacity);
	slot->frame.priority = fault->config.cnp_priority;
	if (slot->frame.length)
		hold_made(fault, packet, slot, event, "CNP");
	else
		vl_fault_slot_put(fault, slot);
}

static void stop(struct vl_fault *fault, const struct vl_fault_packet *packet,
		 const struct vl_fault_action *action, uint32_t event)
{
	struct vl_fault_connection *connection = packet->connection;
	uint64_t until = end_of(packet->now, action->duration);

	if (action->kind == VL_FAULT_SUPPRESS_ACKS) {
		connection->acks_suppressed_until = until;
		connection->suppressing_event = event;
	} else if (action->kind == VL_FAULT_DELAY_ACKS) {
		connection->acks_delayed_until = until;
		connection->ack_delay = action->delay;
		connection->delaying_event = event;
	} else if (action->whole_endpoint) {
		fault->silent_until = until;
		fault->silent_event = event;
	} else {
		connection->silent_until = until;
		connection->silent_event = event;
	}
}

/* ---- Pauses --------------------------------------------------------------------------------- */

void vl_fault_update_pauses(struct vl_fault *fault, uint64_t now)
{
	fault->pause_next = UINT64_MAX;
	for (uint8_t priority = 0; priority < VL_PFC_PRIORITIES; priority++) {
		uint64_t *until = &fault->pause_until[priority];

		if (*until && now >= *until)
			*until = 0;
		if (*until && *until < fault->pause_next)
			fault->pause_next = *until;
		vl_pfc_sender_want(&fault->pfc, priority,
				   *until || fault->slow_paused >> priority & 1);
	}
}

static void pause_peer(struct vl_fault *fault, const struct vl_fault_packet *packet,
		       const struct vl_fault_action *action, uint32_t event)
{
	struct vl_pfc pfc = {.enabled = action->priorities};
	char text[VL_FAULT_EVENT_TEXT];
	struct vl_fault_slot *slot;

	for (uint8_t priority = 0; priority < VL_PFC_PRIORITIES; priority++) {
		if (!(action->priorities >> priority & 1))
			continue;
		pfc.quanta[priority] = action->quanta;
		if (action->duration)
			fault->pause_until[priority] = end_of(packet->now, action->duration);
	}
	if (action->duration) {
		vl_fault_update_pauses(fault, packet->now);
		return;
	}
	slot = vl_fault_slot_get(fault);
	if (!slot)
		return;
	vl_pfc_write(slot->frame.data, fault->config.mac, &pfc);
	slot->frame.length = VL_PFC_FRAME_LENGTH;
	slot->frame.priority = VL_PFC_PRIORITIES - 1;
	slot->hold = VL_FAULT_HOLD_MADE;
	slot->event = event;
	slot->due = packet->now;
	fault->counters.pauses_sent++;
	if (vl_fault_is_watched(fault))
		snprintf(slot->comment, sizeof(slot->comment), "pause made up by %s",
			 vl_fault_event_text(fault, event, text));
	vl_fault_hold(fault, VL_DIRECTION_TRANSMITTED, slot);
}

/* ---- One after the other -------------------------------------------------------------------- */

/* True: the packet goes on. */
static bool act_one(struct vl_fault *fault, struct vl_fault_packet *packet,
		    const struct vl_fault_decision *decision)
{
	const struct vl_fault_action *action = &vl_fault_event_at(fault, decision->event)->action;
	uint64_t delay = action->delay;

	switch (action->kind) {
	case VL_FAULT_DROP:
		return false;
	case VL_FAULT_REORDER:
		hold(fault, packet, VL_FAULT_HOLD_REORDERED, decision->event,
		     delay ? delay : DEFAULT_REORDER_HOLD, action->by);
		return false;
	case VL_FAULT_DELAY:
		hold(fault, packet, VL_FAULT_HOLD_DELAYED, decision->event, delay, 0);
		return false;
	case VL_FAULT_NAK:
	case VL_FAULT_RNR:
		return !vl_fault_refuse(fault, packet, action->syndrome, decision->event);
	case VL_FAULT_DUPLICATE:
		duplicate(fault, packet, action, decision->event);
		return true;
	case VL_FAULT_CNP:
		make_cnp(fault, packet, decision->event);
		return true;
	case VL_FAULT_SUPPRESS_ACKS:
	case VL_FAULT_DELAY_ACKS:
	case VL_FAULT_STOP_ANSWERING:
		stop(fault, packet, action, decision->event);
		return true;
	case VL_FAULT_PAUSE:
		pause_peer(fault, packet, action, decision->event);
		return true;
	default:
		vl_fault_alter(action, decision->bit, packet);
		return true;
	}
}

bool vl_fault_act(struct vl_fault *fault, struct vl_fault_packet *packet)
{
	bool goes_on = true;

	for (uint32_t i = 0; i < fault->decision_count; i++) {
		fault->event_counters[fault->decisions[i].event].acted++;
		goes_on = act_one(fault, packet, &fault->decisions[i]);
	}
	return goes_on;
}
