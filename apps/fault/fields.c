/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What an event list may say: every key, its unit, bounds, default and meaning. */

#include "apps/fault/event_list.h"

#define COUNT(fields) (sizeof(fields) / sizeof((fields)[0]))
#define HOUR          UINT64_C(3600000000000)

#define FIELD(key, of_kind, member, text)                                                          \
	.name = key, .kind = of_kind, .offset = offsetof(struct vl_event_entry, member),           \
	.help = text
#define TEXT_FIELD(key, member, text)                                                              \
	{                                                                                          \
		FIELD(key, VL_FIELD_TEXT, member, text)                                            \
	}
#define QUANTITY_FIELD(key, member, unit, low, high, text)                                         \
	{                                                                                          \
		FIELD(key, VL_FIELD_QUANTITY, member, text), .quantity = VL_QUANTITY_##unit,       \
							     .least = low, .most = high            \
	}
#define CHOICE_FIELD(key, member, names, text)                                                     \
	{                                                                                          \
		FIELD(key, VL_FIELD_CHOICE, member, text), .choices = names                        \
	}

static const char *const actions[] = {
#define NAME(enumerator, name, ends, meaning) name,
	VL_FAULT_ACTIONS(NAME)
#undef NAME
		NULL,
};
static const char *const directions[] = {"both", "received", "transmitted", NULL};
static const char *const scopes[] = {"connection", "endpoint", NULL};
static const char *const parts[] = {"header", "payload", "icrc", NULL};
static const char *const codes[] = {"sequence",           "invalid_request",    "remote_access",
				    "remote_operational", "invalid_rd_request", NULL};

static const struct vl_field event_fields[] = {
	{FIELD("name", VL_FIELD_NAME, name, "what comments and results call it [event1, ...]")},
	{FIELD("action", VL_FIELD_CHOICE, action,
	       "what is done to the packets ('verbline faults --actions' explains each)"),
	 .choices = actions, .is_required = true},
	/* Which packets */
	CHOICE_FIELD("on", on, directions,
		     "packets that the endpoint has received, transmitted, or both [both]"),
	TEXT_FIELD("opcode", opcode,
		   "one or several (send write), by IBTA name (rc_send_first; send_first of all "
		   "services) or class "
		   "(data, request, response, ack, nak, rnr, cnp, cm, ...) [all but cm]"),
	QUANTITY_FIELD("connection", connection, COUNT, 1, UINT32_MAX,
		       "the n-th connection of the endpoint, from 1 [any]; that of verbline's "
		       "control service "
		       "does not count, and no event acts on it"),
	TEXT_FIELD("qp", qp, "the QPN of either end, 17 or 0x11 [any]"),
	TEXT_FIELD("peer", peer, "the other side's address, IPv4 or IPv6 [any]"),
	TEXT_FIELD("psn", psn,
		   "counted from the first request of its direction, 5 or 5..9; an answer has that "
		   "of what it answers [any]"),
	TEXT_FIELD("message", message, "the n-th of its direction, from 1, 3 or 3..5 [any]"),
	TEXT_FIELD("nth", nth, "the n-th packet that fits all of this, 7 or 7..9 [any]"),
	QUANTITY_FIELD("every", every, COUNT, 1, UINT64_MAX, "each n-th of these [1]"),
	{FIELD("probability", VL_FIELD_FRACTION, probability, "chance of each [100%]")},
	QUANTITY_FIELD("count", count, COUNT, 1, UINT64_MAX, "at most so many times [no limit]"),
	CHOICE_FIELD("per", per, scopes,
		     "what nth, every and count are counted for: endpoint, or each connection "
		     "[endpoint]"),
	QUANTITY_FIELD("from", from, DURATION, 0, 1000 * HOUR,
		       "not before this time after the first packet that events may act on [0s]"),
	QUANTITY_FIELD("until", until, DURATION, 1, 1000 * HOUR,
		       "not after this time after that packet [to the end]"),
	/* What is done */
	QUANTITY_FIELD("copies", copies, COUNT, 1, 64, "duplicate: how many more [1]"),
	QUANTITY_FIELD("by", by, COUNT, 1, VL_FAULT_MAX_REORDER,
		       "reorder: packets that overtake it"),
	QUANTITY_FIELD(
		"delay", delay, DURATION, 0, HOUR,
		"delay and delay_acks: how much later; duplicate: of the copies [0s]; reorder: "
		"at most [1ms]"),
	QUANTITY_FIELD(
		"for", duration, DURATION, 1, 1000 * HOUR,
		"suppress_acks, delay_acks, stop_answering: how long [to the end]; pause: hold "
		"it up so long [one frame]"),
	CHOICE_FIELD("part", part, parts,
		     "corrupt: header (from the BTH), payload or icrc [payload]"),
	QUANTITY_FIELD("bit", bit, COUNT, 0, 1u << 20,
		       "corrupt: which, from the part's first [by chance]"),
	QUANTITY_FIELD("bytes", bytes, COUNT, 1, 65535, "truncate: how many"),
	{FIELD("repair", VL_FIELD_TRUTH, repair,
	       "truncate: make lengths and ICRC fit, and cut payload only [false]")},
	CHOICE_FIELD("code", code, codes,
		     "nak: sequence, invalid_request, remote_access, remote_operational or "
		     "invalid_rd_request"),
	QUANTITY_FIELD("timer", timer, DURATION, 1, UINT64_C(655360000),
		       "rnr: how long to wait; the next longer time that has a code [640us]"),
	TEXT_FIELD("credits", credits,
		   "credits: a number, rounded down to one that has a code, or "
		   "unlimited"),
	TEXT_FIELD("priorities", priorities, "pause: one or several of 0 to 7"),
	QUANTITY_FIELD("quanta", quanta, COUNT, 0, 65535,
		       "pause: of 512 bit times; 0 ends a pause [65535]"),
	CHOICE_FIELD("scope", scope, scopes,
		     "stop_answering: on the packet's connection, or the whole endpoint "
		     "[connection]"),
};

static const struct vl_event_entry event_defaults = {
	.action = VL_FAULT_ACTION_COUNT,
	.every = 1,
	.probability = 1,
	.per = VL_EVENT_OF_ENDPOINT,
	.copies = 1,
	.part = VL_FAULT_PART_PAYLOAD,
	.timer = 640000,
	.quanta = 65535,
	.scope = VL_EVENT_OF_CONNECTION,
};

const struct vl_schema vl_event_schema = {event_fields, COUNT(event_fields),
					  sizeof(struct vl_event_entry), &event_defaults};

static const struct vl_field list_fields[] = {
	{.name = "name",
	 .kind = VL_FIELD_NAME,
	 .offset = offsetof(struct vl_event_list, name),
	 .help = "of the list"},
	{.name = "shows",
	 .kind = VL_FIELD_TEXT,
	 .offset = offsetof(struct vl_event_list, shows),
	 .help = "what it is good for, for people"},
	{.name = "seed",
	 .kind = VL_FIELD_QUANTITY,
	 .offset = offsetof(struct vl_event_list, seed),
	 .help = "of all that is left to chance [the command's]",
	 .quantity = VL_QUANTITY_COUNT,
	 .most = UINT64_MAX - 1},
	{.name = "events",
	 .kind = VL_FIELD_LIST,
	 .offset = offsetof(struct vl_event_list, entries),
	 .help = "in the order in which they are applied to a packet",
	 .is_required = true,
	 .schema = &vl_event_schema,
	 .least = 1,
	 .most = VL_FAULT_MAX_EVENTS},
};

static const struct vl_event_list list_defaults = {.seed = UINT64_MAX};
const struct vl_schema vl_event_list_schema = {list_fields, COUNT(list_fields),
					       sizeof(struct vl_event_list), &list_defaults};
