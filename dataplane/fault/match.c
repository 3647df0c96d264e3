/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Which packets an event means, and which of these it takes. */

#include "dataplane/fault/private.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define SYNDROME_TYPE(syndrome) ((syndrome) >> 5)

enum { TYPE_ACK, TYPE_RNR, TYPE_RESERVED, TYPE_NAK };

/* ---- Names ---------------------------------------------------------------------------------- */

/* An opcode is of the class if it has all of the flags. */
static const struct {
	const char *name, *meaning;
	uint32_t flags;
	uint8_t answers;
	bool management;
} classes[] = {
	{"data", "packets that may carry payload, requests and READ responses", VL_OPCODE_PAYLOAD,
	 0, false},
	{"request", "requests of all kinds", VL_OPCODE_REQUEST, 0, false},
	{"response", "ACKs, NAKs, READ responses and ATOMIC ACKs", VL_OPCODE_RESPONSE, 7, false},
	{"send", "SENDs", VL_OPCODE_SEND, 0, false},
	{"write", "WRITEs", VL_OPCODE_WRITE, 0, false},
	{"read", "READ requests", VL_OPCODE_READ | VL_OPCODE_REQUEST, 0, false},
	{"read_response", "READ responses", VL_OPCODE_READ | VL_OPCODE_RESPONSE, 0, false},
	{"atomic", "CMP_SWAP and FETCH_ADD requests", VL_OPCODE_ATOMIC | VL_OPCODE_REQUEST, 0,
	 false},
	{"ack", "positive acknowledgements", 0, VL_FAULT_ANSWER_ACK, false},
	{"rnr", "receiver-not-ready NAKs", 0, VL_FAULT_ANSWER_RNR, false},
	{"nak", "NAKs of all codes", 0, VL_FAULT_ANSWER_NAK, false},
	{"acknowledge", "these three", 0, 7, false},
	{"cnp", "congestion notification packets", VL_OPCODE_NOTIFICATION, 0, false},
	{"cm", "the connection manager's datagrams", 0, 0, true},
};

const char *vl_fault_class_name(unsigned int n, const char **meaning)
{
	if (n >= sizeof(classes) / sizeof(classes[0]))
		return NULL;
	*meaning = classes[n].meaning;
	return classes[n].name;
}

static void add_opcode(struct vl_fault_match *match, unsigned int opcode)
{
	match->opcodes[opcode / 64] |= UINT64_C(1) << opcode % 64;
}

static bool add_class(struct vl_fault_match *match, const char *name)
{
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		if (strcmp(classes[i].name, name))
			continue;
		for (unsigned int opcode = 0; classes[i].flags && opcode < 256; opcode++) {
			uint32_t flags = vl_opcode_table[opcode].flags;

			/* What follows the BTH of a CNP is no payload. */
			if ((flags & classes[i].flags) == classes[i].flags &&
			    (flags & VL_OPCODE_NOTIFICATION) ==
				    (classes[i].flags & VL_OPCODE_NOTIFICATION))
				add_opcode(match, opcode);
		}
		if (classes[i].answers)
			add_opcode(match, VL_OP_ACKNOWLEDGE);
		match->answers |= classes[i].answers;
		match->management |= classes[i].management;
		return true;
	}
	return false;
}

#define CANONICAL_NAME 48

/* Words without what stands between them, RDMA and with; immediate as imm. */
static void make_canonical(char out[CANONICAL_NAME], const char *name)
{
	size_t used = 0;

	while (*name && used < CANONICAL_NAME - 1) {
		size_t length = 0;

		while (isalnum((unsigned char)name[length]))
			length++;
		if (length == 9 && !strncasecmp(name, "immediate", 9))
			used += (size_t)snprintf(out + used, CANONICAL_NAME - used, "imm");
		else if (!(length == 4 &&
			   (!strncasecmp(name, "rdma", 4) || !strncasecmp(name, "with", 4))))
			for (size_t i = 0; i < length && used < CANONICAL_NAME - 1; i++)
				out[used++] = (char)tolower((unsigned char)name[i]);
		name += length;
		/* Any other character than those between words makes it a name that none has. */
		if (*name && *name != '_' && *name != ' ' && used < CANONICAL_NAME - 1)
			out[used++] = *name;
		name += *name != 0;
	}
	out[used < CANONICAL_NAME ? used : CANONICAL_NAME - 1] = 0;
}

/* "RC RDMA WRITE First" as rc_write_first; not whole: without its service. */
static bool is_opcode_name(const char *name, const char *canonical, bool whole)
{
	char own[CANONICAL_NAME];

	if (!whole) {
		name = strchr(name, ' ');
		if (!name)
			return false;
		name++;
	}
	make_canonical(own, name);
	return !strcmp(own, canonical);
}

void vl_fault_match_init(struct vl_fault_match *match)
{
	*match = (struct vl_fault_match){
		.directions = VL_FAULT_RECEIVED | VL_FAULT_TRANSMITTED,
		.psn = VL_FAULT_ANY,
		.message = VL_FAULT_ANY,
		.nth = VL_FAULT_ANY,
		.probability = 1,
	};
}

int vl_fault_match_opcode(struct vl_fault_match *match, const char *name)
{
	bool found = add_class(match, name);
	char canonical[CANONICAL_NAME];

	make_canonical(canonical, name);
	for (unsigned int opcode = 0; !found && opcode < 256; opcode++) {
		if (vl_opcode_table[opcode].flags &&
		    is_opcode_name(vl_opcode_table[opcode].name, canonical, true)) {
			add_opcode(match, opcode);
			return 0;
		}
	}
	if (found)
		return 0;
	for (unsigned int opcode = 0; opcode < 256; opcode++) {
		if (vl_opcode_table[opcode].flags &&
		    is_opcode_name(vl_opcode_table[opcode].name, canonical, false)) {
			add_opcode(match, opcode);
			found = true;
		}
	}
	return found ? 0 : -ENOENT;
}

/* ---- Packets -------------------------------------------------------------------------------- */

static bool is_in(struct vl_fault_range range, uint64_t value)
{
	return range.first > range.last || (value >= range.first && value <= range.last);
}

static bool is_restricted(struct vl_fault_range range)
{
	return range.first <= range.last;
}

static bool is_any_opcode(const struct vl_fault_match *match)
{
	return !(match->opcodes[0] | match->opcodes[1] | match->opcodes[2] | match->opcodes[3]) &&
	       !match->management;
}

static bool fits_opcode(const struct vl_fault_match *match, const struct vl_fault_packet *packet)
{
	uint8_t opcode = packet->parsed.opcode;

	if (packet->is_management)
		return match->management;
	if (is_any_opcode(match))
		return true;
	if (!(match->opcodes[opcode / 64] >> opcode % 64 & 1))
		return false;
	if (opcode != VL_OP_ACKNOWLEDGE || !match->answers)
		return true;
	switch (SYNDROME_TYPE(packet->parsed.syndrome)) {
	case TYPE_ACK:
		return match->answers & VL_FAULT_ANSWER_ACK;
	case TYPE_RNR:
		return match->answers & VL_FAULT_ANSWER_RNR;
	case TYPE_NAK:
		return match->answers & VL_FAULT_ANSWER_NAK;
	default:
		return false;
	}
}

static bool fits_address(const struct vl_fault_match *match, const struct vl_fault_packet *packet)
{
	const struct vl_fault_connection *connection = packet->connection;
	const union ibv_gid *peer = packet->direction == VL_DIRECTION_RECEIVED
					    ? &packet->parsed.source_gid
					    : &packet->parsed.destination_gid;

	if (match->has_peer && memcmp(&match->peer, peer, sizeof(*peer)))
		return false;
	if (match->connection && (!connection || connection->number != match->connection))
		return false;
	if (match->qpn && packet->parsed.destination_qpn != match->qpn &&
	    (!connection ||
	     (connection->local_qpn != match->qpn && connection->remote_qpn != match->qpn)))
		return false;
	if (is_restricted(match->psn) && (!packet->has_psn || !is_in(match->psn, packet->psn)))
		return false;
	return !is_restricted(match->message) ||
	       (packet->message && is_in(match->message, packet->message));
}

static bool is_in_time(const struct vl_fault *fault, const struct vl_fault_match *match,
		       uint64_t now)
{
	uint64_t age = fault->start == UINT64_MAX ? 0 : now - fault->start;

	return age >= match->from && (!match->until || age < match->until);
}

/* ---- Which of those that fit ---------------------------------------------------------------- */

static struct vl_fault_tally *tally_of(struct vl_fault *fault, uint32_t event,
				       const struct vl_fault_connection *connection)
{
	struct vl_fault_tally *tally =
		&fault->tallies[(size_t)event * (fault->connections.capacity + 1) +
				(connection ? vl_fault_connection_index(fault, connection)
					    : fault->connections.capacity)];
	uint32_t number = connection ? connection->number : 0;

	if (tally->number != number)
		*tally = (struct vl_fault_tally){.number = number};
	return tally;
}

static bool is_chosen(struct vl_fault *fault, uint32_t event, struct vl_fault_tally *tally)
{
	const struct vl_fault_match *match = &vl_fault_event_at(fault, event)->match;

	tally->matched++;
	if (match->limit && tally->acted >= match->limit)
		return false;
	if (!is_in(match->nth, tally->matched))
		return false;
	if (match->every > 1 && tally->matched % match->every)
		return false;
	return match->probability >= 1 || vl_random_unit(&fault->random) < match->probability;
}

static bool decide_one(struct vl_fault *fault, uint32_t index, const struct vl_fault_packet *packet)
{
	const struct vl_fault_event *event = vl_fault_event_at(fault, index);
	struct vl_fault_decision *decision = &fault->decisions[fault->decision_count];
	struct vl_fault_tally *tally;

	if (!(event->match.directions >> packet->direction & 1) ||
	    !is_in_time(fault, &event->match, packet->now) || !fits_opcode(&event->match, packet) ||
	    !fits_address(&event->match, packet))
		return false;
	fault->event_counters[index].matched++;
	tally = tally_of(fault, index, event->match.per_connection ? packet->connection : NULL);
	if (!is_chosen(fault, index, tally))
		return false;
	if (!vl_fault_is_applicable(&event->action, packet)) {
		fault->event_counters[index].not_applicable++;
		return false;
	}
	tally->acted++;
	decision->event = index;
	decision->bit = event->action.bit;
	if (event->action.kind == VL_FAULT_CORRUPT && decision->bit == VL_FAULT_ANY_BIT)
		decision->bit = (uint32_t)vl_random_below(
			&fault->random, vl_fault_part_bits(event->action.part, &packet->parsed));
	return true;
}

static bool ends_course(enum vl_fault_action_kind kind)
{
	static const bool ends[] = {
#define ENDS(enumerator, name, is_last, meaning) is_last,
		VL_FAULT_ACTIONS(ENDS)
#undef ENDS
	};

	return ends[kind];
}

void vl_fault_decide(struct vl_fault *fault, const struct vl_fault_packet *packet)
{
	fault->decision_count = 0;
	if (vl_fault_is_spared(packet->connection))
		return;
	for (uint32_t index = 0; index < fault->config.event_count; index++) {
		if (!decide_one(fault, index, packet))
			continue;
		fault->decision_count++;
		if (ends_course(vl_fault_event_at(fault, index)->action.kind) ||
		    fault->decision_count == VL_FAULT_MAX_DECISIONS)
			return;
	}
}
