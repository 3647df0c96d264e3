/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The engine's set-up, and the filter that an endpoint calls. */

#include "dataplane/fault/fault.h"

#include "dataplane/fault/private.h"
#include "dataplane/pfc.h"
#include "transport/wire/parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_RATE        UINT64_C(100000000000)
#define DEFAULT_CONNECTIONS 4096u
#define MOST_CONNECTIONS    (1u << 20)
#define DEFAULT_HELD        512u
#define MOST_HELD           65536u
#define DEFAULT_SLOW_BUFFER (256u << 10)
#define DEFAULT_BURST       16u
#define DEFAULT_ACK_DELAY   UINT64_C(10000)
#define DEFAULT_CNP_DSCP    48
#define DEFAULT_CNP_CLASS   6
/* A slow receiver's buffer may be full of frames that are no longer than that on average. */
#define SHORT_FRAME 256u

/* ---- Configuration -------------------------------------------------------------------------- */

static bool is_range_right(struct vl_fault_range range, uint64_t least, uint64_t most)
{
	return range.first > range.last || (range.first >= least && range.last <= most);
}

static const char *match_error(const struct vl_fault_match *match)
{
	if (!match->directions || match->directions & ~(VL_FAULT_RECEIVED | VL_FAULT_TRANSMITTED))
		return "no direction";
	if (!is_range_right(match->psn, 0, VL_PSN_MASK))
		return "PSNs have 24 bits";
	if (!is_range_right(match->message, 1, UINT64_MAX) ||
	    !is_range_right(match->nth, 1, UINT64_MAX))
		return "messages and matches are counted from 1";
	if (!(match->probability >= 0 && match->probability <= 1))
		return "a probability is 0 to 1";
	if (match->until && match->until <= match->from)
		return "it ends before it starts";
	return NULL;
}

static const char *action_error(const struct vl_fault_action *action)
{
	switch (action->kind) {
	case VL_FAULT_DUPLICATE:
		return action->copies ? NULL : "no copies";
	case VL_FAULT_REORDER:
		return action->by && action->by <= VL_FAULT_MAX_REORDER
			       ? NULL
			       : "a packet is reordered by 1 to 1024 packets";
	case VL_FAULT_CORRUPT:
		return action->part <= VL_FAULT_PART_ICRC ? NULL : "no such part";
	case VL_FAULT_TRUNCATE:
		return action->bytes ? NULL : "nothing is cut off";
	case VL_FAULT_NAK:
		return action->syndrome >> 5 == 3 ? NULL : "the syndrome is no NAK";
	case VL_FAULT_RNR:
		return action->syndrome >> 5 == 1 ? NULL : "the syndrome is no RNR NAK";
	case VL_FAULT_CREDITS:
		return action->syndrome <= 31 ? NULL : "a credit code is 0 to 31";
	case VL_FAULT_PAUSE:
		return action->priorities ? NULL : "no priority is paused";
	default:
		return (unsigned int)action->kind < VL_FAULT_ACTION_COUNT ? NULL : "no such action";
	}
}

const char *vl_fault_config_error(const struct vl_fault_config *config, uint32_t *event)
{
	const struct vl_fault_slow_receiver *slow = &config->slow_receiver;

	*event = UINT32_MAX;
	if (config->event_count > VL_FAULT_MAX_EVENTS)
		return "more than 256 events";
	for (uint32_t i = 0; i < config->event_count; i++) {
		const char *error = match_error(&config->events[i].match);

		if (!error)
			error = action_error(&config->events[i].action);
		if (error) {
			*event = i;
			return error;
		}
	}
	if (slow->rate && (slow->rate < VL_RATE_MIN || slow->rate > VL_RATE_MAX))
		return "the slow receiver's rate is 1 Mb/s to 4 Tb/s";
	if (slow->xoff && (slow->xon > slow->xoff ||
			   slow->xoff > (slow->buffer ? slow->buffer : DEFAULT_SLOW_BUFFER)))
		return "XON is at most XOFF, and XOFF at most the buffer";
	if (config->receives.rate > UINT64_C(1000000000) || config->receives.rnr_timer > 31)
		return "receives are posted at up to 10^9 per second, with an RNR timer of 0 to 31";
	if (config->rate && (config->rate < VL_RATE_MIN || config->rate > VL_RATE_MAX))
		return "the line's rate is 1 Mb/s to 4 Tb/s";
	if (config->max_connections > MOST_CONNECTIONS || config->max_held > MOST_HELD)
		return "up to 2^20 connections and 65536 held frames";
	return NULL;
}

static void set_defaults(struct vl_fault_config *config)
{
#define DEFAULT(field, value) ((field) = (field) ? (field) : (value))
	uint32_t held = DEFAULT_HELD;

	DEFAULT(config->slow_receiver.buffer, DEFAULT_SLOW_BUFFER);
	DEFAULT(config->receives.burst, DEFAULT_BURST);
	DEFAULT(config->ack_coalescing.delay, DEFAULT_ACK_DELAY);
	DEFAULT(config->rate, DEFAULT_RATE);
	DEFAULT(config->max_connections, DEFAULT_CONNECTIONS);
	DEFAULT(config->frame_capacity, VL_FRAME_DEFAULT_CAPACITY);
	if (!config->cnp_dscp_is_set)
		config->cnp_dscp = DEFAULT_CNP_DSCP;
	if (!config->cnp_priority_is_set)
		config->cnp_priority = DEFAULT_CNP_CLASS;
	if (config->slow_receiver.rate)
		held += config->slow_receiver.buffer / SHORT_FRAME;
	if (config->ack_coalescing.count > 1)
		held += config->max_connections;
	DEFAULT(config->max_held, held < MOST_HELD ? held : MOST_HELD);
#undef DEFAULT
}

static int allocate(struct vl_fault *fault)
{
	const struct vl_fault_config *config = &fault->config;
	size_t events = config->event_count;

	fault->event_counters = calloc(events + 1, sizeof(*fault->event_counters));
	fault->tallies =
		calloc(events * (config->max_connections + 1) + 1, sizeof(*fault->tallies));
	if (!fault->event_counters || !fault->tallies ||
	    vl_fault_connections_init(&fault->connections, config->max_connections))
		return -ENOMEM;
	return vl_fault_held_init(fault, config->max_held, config->frame_capacity);
}

struct vl_fault *vl_fault_create(const struct vl_fault_config *config, int *error)
{
	struct vl_fault *fault = NULL;
	int result = -EINVAL;
	uint32_t event;

	if (vl_fault_config_error(config, &event))
		goto fail;
	result = -ENOMEM;
	fault = calloc(1, sizeof(*fault));
	if (!fault)
		goto fail;
	fault->config = *config;
	set_defaults(&fault->config);
	fault->random.state = config->seed;
	fault->start = UINT64_MAX;
	fault->pause_next = UINT64_MAX;
	fault->slow_rate =
		vl_rate_make(config->slow_receiver.rate ? config->slow_receiver.rate : VL_RATE_MAX);
	if (config->receives.rate)
		fault->token_interval = UINT64_C(1000000000) / config->receives.rate;
	vl_pfc_sender_init(&fault->pfc, config->mac, vl_rate_make(fault->config.rate), 0);
	if (!allocate(fault))
		return fault;
fail:
	vl_fault_destroy(fault);
	if (error)
		*error = result;
	return NULL;
}

void vl_fault_destroy(struct vl_fault *fault)
{
	if (!fault)
		return;
	vl_fault_connections_free(&fault->connections);
	free(fault->event_counters);
	free(fault->tallies);
	free(fault->slots);
	free(fault->memory);
	free(fault);
}

const struct vl_fault_counters *vl_fault_counters(const struct vl_fault *fault)
{
	return &fault->counters;
}

const struct vl_fault_event_counters *vl_fault_event_counters(const struct vl_fault *fault,
							      uint32_t event)
{
	return &fault->event_counters[event];
}

const char *vl_fault_action_name(enum vl_fault_action_kind kind)
{
	static const char *const names[] = {
#define NAME(enumerator, name, ends, meaning) name,
		VL_FAULT_ACTIONS(NAME)
#undef NAME
	};

	return names[kind];
}

const char *vl_fault_action_meaning(enum vl_fault_action_kind kind)
{
	static const char *const meanings[] = {
#define MEANING(enumerator, name, ends, meaning) meaning,
		VL_FAULT_ACTIONS(MEANING)
#undef MEANING
	};

	return meanings[kind];
}

/* ---- The filter ----------------------------------------------------------------------------- */

/* Times count from the first packet that is not the testers' own: how long they take to set
 * themselves up says nothing of when there is anything to act on. Where there is a spared service,
 * the connection manager's datagrams may be its own. */
static bool is_for_events(const struct vl_fault *fault, const struct vl_fault_packet *packet)
{
	if (packet->is_management)
		return !fault->config.spared_service;
	return !vl_fault_is_spared(packet->connection);
}

static bool begin(struct vl_fault *fault, struct vl_fault_packet *packet,
		  enum vl_direction direction, struct vl_frame *frame, uint64_t now)
{
	vl_fault_comment_clear(fault);
	if (vl_parse(&packet->parsed, VL_LINK_ETHERNET, frame->data, frame->length,
		     frame->length) != VL_PARSE_ok)
		return false;
	packet->frame = frame;
	packet->direction = direction;
	packet->now = now;
	packet->connection = NULL;
	packet->answer_qpn = 0;
	packet->is_management = packet->has_psn = false;
	packet->psn = 0;
	packet->message = 0;
	vl_fault_track(fault, packet);
	if (fault->start == UINT64_MAX && is_for_events(fault, packet))
		fault->start = now;
	return true;
}

static bool filter_receive(void *context, struct vl_frame *frame, uint64_t now)
{
	struct vl_fault *fault = context;
	struct vl_fault_packet packet;
	bool goes_on;

	if (!begin(fault, &packet, VL_DIRECTION_RECEIVED, frame, now)) {
		vl_fault_show(fault, VL_DIRECTION_RECEIVED, frame, frame->time);
		return true;
	}
	if (vl_fault_is_follower(fault, &packet) || !vl_fault_admit_receive(fault, &packet) ||
	    !vl_fault_has_room(fault, &packet)) {
		vl_fault_show(fault, VL_DIRECTION_RECEIVED, frame, frame->time);
		return false;
	}
	vl_fault_decide(fault, &packet);
	vl_fault_plan(fault, &packet);
	vl_fault_show(fault, VL_DIRECTION_RECEIVED, frame, frame->time);
	goes_on = vl_fault_act(fault, &packet) && vl_fault_admit_slow(fault, &packet);
	if (goes_on)
		vl_fault_answered(fault, &packet);
	if (goes_on)
		vl_fault_overtake(fault, VL_DIRECTION_RECEIVED, packet.connection, now);
	return goes_on;
}

/* It is shown now if it goes out now, or never will. */
static bool is_lost(const struct vl_fault *fault)
{
	return !strncmp(fault->comment, VL_COMMENT_NOT_SENT, sizeof(VL_COMMENT_NOT_SENT) - 1);
}

static bool filter_transmit(void *context, struct vl_frame *frame, uint64_t now)
{
	struct vl_fault *fault = context;
	struct vl_fault_packet packet;
	bool goes_on;

	if (!begin(fault, &packet, VL_DIRECTION_TRANSMITTED, frame, now)) {
		vl_fault_show(fault, VL_DIRECTION_TRANSMITTED, frame, now);
		return true;
	}
	goes_on = !vl_fault_is_follower(fault, &packet) && vl_fault_admit_answer(fault, &packet);
	if (goes_on) {
		vl_fault_decide(fault, &packet);
		vl_fault_plan(fault, &packet);
		goes_on = vl_fault_act(fault, &packet);
	}
	if (goes_on)
		vl_fault_answered(fault, &packet);
	if (goes_on || is_lost(fault))
		vl_fault_show(fault, VL_DIRECTION_TRANSMITTED, frame, now);
	if (goes_on)
		vl_fault_overtake(fault, VL_DIRECTION_TRANSMITTED, packet.connection, now);
	return goes_on;
}

static void show_slot(struct vl_fault *fault, enum vl_direction direction,
		      const struct vl_fault_slot *slot, uint64_t now)
{
	if (vl_fault_is_watched(fault))
		fault->config.tap->see(fault->config.tap->context, direction, &slot->frame, now,
				       slot->comment[0] ? slot->comment : NULL);
}

static struct vl_frame *filter_next_received(void *context, uint64_t now)
{
	struct vl_fault *fault = context;
	struct vl_fault_slot *slot = fault->held[VL_DIRECTION_RECEIVED].first;

	if (fault->lent)
		vl_fault_slot_put(fault, fault->lent);
	fault->lent = NULL;
	if (!slot || slot->due > now)
		return NULL;
	vl_fault_release(fault, VL_DIRECTION_RECEIVED, slot);
	if (slot->hold == VL_FAULT_HOLD_SLOW)
		vl_fault_slow_left(fault, slot);
	/* What came over the wire was shown then. */
	if (slot->hold == VL_FAULT_HOLD_MADE)
		show_slot(fault, VL_DIRECTION_RECEIVED, slot, now);
	fault->lent = slot;
	return &slot->frame;
}

/* The first that may go; NULL: none. */
static struct vl_fault_slot *first_sendable(const struct vl_fault *fault)
{
	uint8_t paused = fault->config.paused ? *fault->config.paused : 0;
	struct vl_fault_slot *slot = fault->held[VL_DIRECTION_TRANSMITTED].first;

	while (slot && paused >> (slot->frame.priority & 7) & 1 &&
	       !vl_is_mac_control(slot->frame.data, slot->frame.length))
		slot = slot->next;
	return slot;
}

static bool transmit_pause(struct vl_fault *fault, struct vl_frame *frame, uint64_t now)
{
	if (!vl_pfc_sender_is_due(&fault->pfc, now))
		return false;
	frame->length = vl_pfc_sender_write(&fault->pfc, frame->data, now);
	if (!frame->length)
		return false;
	frame->priority = VL_PFC_PRIORITIES - 1;
	frame->source_qpn = 0;
	fault->counters.pauses_sent += fault->pfc.wanted != 0;
	vl_fault_comment_clear(fault);
	vl_fault_comment_add(fault, "%s",
			     fault->pfc.wanted ? "pause made up by an event or the slow receiver"
					       : "end of a pause that was made up");
	vl_fault_show(fault, VL_DIRECTION_TRANSMITTED, frame, now);
	return true;
}

static bool filter_next_transmitted(void *context, struct vl_frame *frame, uint64_t now)
{
	struct vl_fault *fault = context;
	struct vl_fault_slot *slot;

	if (now >= fault->pause_next)
		vl_fault_update_pauses(fault, now);
	if (transmit_pause(fault, frame, now))
		return true;
	while ((slot = first_sendable(fault)) && slot->due <= now) {
		bool fits = slot->frame.length <= frame->capacity;

		vl_fault_release(fault, VL_DIRECTION_TRANSMITTED, slot);
		if (fits) {
			memcpy(frame->data, slot->frame.data, slot->frame.length);
			frame->length = slot->frame.length;
			frame->priority = slot->frame.priority;
			frame->source_qpn = slot->frame.source_qpn;
			show_slot(fault, VL_DIRECTION_TRANSMITTED, slot, now);
		}
		fault->counters.held_too_long += !fits;
		vl_fault_slot_put(fault, slot);
		if (fits)
			return true;
	}
	return false;
}

static uint64_t filter_next_deadline(void *context)
{
	const struct vl_fault *fault = context;
	const struct vl_fault_slot *received = fault->held[VL_DIRECTION_RECEIVED].first;
	const struct vl_fault_slot *sendable = first_sendable(fault);
	uint64_t deadline = fault->pause_next;

	if (fault->pfc.changed)
		return 0;
	if (fault->pfc.refresh_at < deadline)
		deadline = fault->pfc.refresh_at;
	if (received && received->due < deadline)
		deadline = received->due;
	if (sendable && sendable->due < deadline)
		deadline = sendable->due;
	return deadline;
}

struct vl_frame_filter vl_fault_filter(struct vl_fault *fault)
{
	return (struct vl_frame_filter){
		.receive = filter_receive,
		.next_received = filter_next_received,
		.transmit = filter_transmit,
		.next_transmitted = filter_next_transmitted,
		.next_deadline = filter_next_deadline,
		.context = fault,
	};
}
