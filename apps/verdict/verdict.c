/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The observer: whose frame it is, and who looks at it. */

#include "apps/verdict/verdict.h"

#include "apps/verdict/private.h"
#include "transport/wire/parse.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void set_defaults(struct vl_verdict_config *config)
{
#define DEFAULT(field, value) ((field) = (field) ? (field) : (value))
#define ZERO(field)           ((field) = (field) == VL_VERDICT_ZERO ? 0 : (field))
	DEFAULT(config->rate, UINT64_C(100000000000));
	DEFAULT(config->cnp_dscp, 48);
	DEFAULT(config->cnp_priority, 6);
	DEFAULT(config->data_dscp, VL_VERDICT_ANY);
	ZERO(config->cnp_dscp);
	ZERO(config->cnp_priority);
	ZERO(config->data_dscp);
	DEFAULT(config->cnp_interval, 4000);
	DEFAULT(config->cnp_limit, 1000000);
	DEFAULT(config->nak_limit, 1000000);
	DEFAULT(config->pause_limit, 10000);
	DEFAULT(config->reaction_limit, 10000000);
	DEFAULT(config->recovery_limit, UINT64_C(1000000000));
	DEFAULT(config->patience, UINT64_C(2000000000));
#undef ZERO
#undef DEFAULT
}

struct vl_verdict *vl_verdict_create(const struct vl_verdict_config *config)
{
	struct vl_verdict *verdict = calloc(1, sizeof(*verdict));

	if (!verdict)
		return NULL;
	verdict->config = *config;
	set_defaults(&verdict->config);
	verdict->rate = vl_rate_make(verdict->config.rate);
	verdict->analysis = inspect_analysis_new_lean(VERDICT_MAX_FLOWS);
	verdict->flows = calloc(VERDICT_MAX_FLOWS, sizeof(*verdict->flows));
	if (verdict->analysis && verdict->flows)
		return verdict;
	vl_verdict_destroy(verdict);
	return NULL;
}

void vl_verdict_destroy(struct vl_verdict *verdict)
{
	if (!verdict)
		return;
	if (verdict->analysis)
		inspect_analysis_free(verdict->analysis);
	free(verdict->flows);
	free(verdict);
}

/* ---- One frame ------------------------------------------------------------------------------ */

static bool begins_with(const char *comment, const char *prefix)
{
	return comment && !strncmp(comment, prefix, strlen(prefix));
}

static uint64_t analyse(struct vl_verdict *verdict, const struct vl_frame *frame, uint64_t number,
			uint64_t now)
{
	uint64_t wrong = verdict->analysis->icrc_wrong;
	const struct vl_capture_packet captured = {
		.number = number,
		.time = now,
		.link_type = VL_LINKTYPE_ETHERNET,
		.data = frame->data,
		.captured_length = frame->length,
		.original_length = frame->length,
		.frame = {.kind = VL_CAPTURE_FRAME_parseable,
			  .link = VL_LINK_ETHERNET,
			  .data = frame->data,
			  .length = frame->length,
			  .wire_length = frame->length},
	};

	inspect_analysis_add(verdict->analysis, &captured);
	return verdict->analysis->icrc_wrong - wrong;
}

/* Live, the device has said which QP a packet is of: that tells the two halves. */
static void pair(struct vl_verdict *verdict, struct inspect_flow *flow, uint32_t source_qpn)
{
	struct inspect_flow_key key = flow->key;
	struct inspect_flow *reverse;

	if (!source_qpn || flow->reverse || flow->key.source_qpn)
		return;
	key.source = flow->key.destination;
	key.destination = flow->key.source;
	key.destination_qpn = source_qpn;
	/* Made here if nothing has come yet: the first to come may be a CNP, which tells nothing.
	 */
	reverse = inspect_flow_get(&verdict->analysis->flows, &key);
	if (reverse && !reverse->reverse)
		inspect_pair_flows(flow, reverse, INSPECT_PAIRED_BY_QPN);
}

#define GSI_QPN 1u

/* The connection manager's datagrams have a class of their own. */
static bool is_data(const struct vl_packet *packet)
{
	return packet->destination_qpn != GSI_QPN && packet->info->flags & VL_OPCODE_PAYLOAD &&
	       packet->payload_length && !(packet->info->flags & VL_OPCODE_NOTIFICATION);
}

static void judge_received(struct vl_verdict *verdict, const struct verdict_packet *packet)
{
	uint32_t flags = packet->parsed->info->flags;

	if (flags & VL_OPCODE_NOTIFICATION) {
		verdict_peer_cnp(verdict, packet);
		return;
	}
	if (is_data(packet->parsed))
		verdict_peer_data(verdict, packet);
	if (vl_opcode_service(packet->parsed->opcode) != VL_SERVICE_RC)
		return;
	if (flags & VL_OPCODE_REQUEST)
		verdict_peer_request(verdict, packet);
	else if (flags & VL_OPCODE_RESPONSE)
		verdict_peer_answer(verdict, packet);
}

static void judge_transmitted(struct vl_verdict *verdict, const struct verdict_packet *packet)
{
	uint32_t flags = packet->parsed->info->flags;

	if (flags & VL_OPCODE_NOTIFICATION) {
		verdict_our_cnp(verdict, packet);
		return;
	}
	if (is_data(packet->parsed) && vl_opcode_service(packet->parsed->opcode) != VL_SERVICE_UD)
		verdict_our_data(verdict, packet);
	if (vl_opcode_service(packet->parsed->opcode) != VL_SERVICE_RC)
		return;
	if (flags & VL_OPCODE_REQUEST)
		verdict_our_request(verdict, packet);
	else if (flags & VL_OPCODE_RESPONSE)
		verdict_our_answer(verdict, packet);
}

static void judge_icrc(struct vl_verdict *verdict, const struct vl_packet *packet, bool is_wrong,
		       uint64_t number)
{
	if (is_wrong)
		verdict_fail(verdict, VL_VERDICT_ICRC,
			     "packet %" PRIu64 " (%s, PSN %06x) has a wrong ICRC", number,
			     packet->info->name, packet->psn);
	else
		verdict_pass(verdict, VL_VERDICT_ICRC, "packet %" PRIu64, number);
}

static bool is_spared(const struct vl_verdict *verdict, const struct inspect_flow *flow)
{
	return flow->service_id && flow->service_id == verdict->config.spared_service;
}

static void see(struct vl_verdict *verdict, bool is_received, const struct vl_frame *frame,
		uint64_t number, uint64_t now, const char *comment, bool is_live)
{
	bool was_lost = begins_with(comment, VL_COMMENT_NOT_SENT);
	struct verdict_packet packet = {.number = number, .now = now};
	struct inspect_flow_key key;
	struct vl_packet parsed;
	bool is_wrong = false;

	if (vl_parse(&parsed, VL_LINK_ETHERNET, frame->data, frame->length, frame->length) !=
	    VL_PARSE_ok)
		return;
	if (!was_lost)
		is_wrong = analyse(verdict, frame, number, now);
	if (is_received) {
		judge_icrc(verdict, &parsed, is_wrong, number);
		verdict_peer_frame(verdict, verdict_class_of(&parsed), number, now);
	}
	if (is_wrong && is_received)
		return;
	/* What cannot be taken might as well not have left. */
	was_lost = was_lost || is_wrong;
	key = inspect_flow_key_of(&parsed);
	packet.parsed = &parsed;
	packet.flow = inspect_flow_find(&verdict->analysis->flows, &key);
	if (!packet.flow) {
		verdict->not_judged += verdict->analysis->flows.count == VERDICT_MAX_FLOWS;
		return;
	}
	verdict->flows[packet.flow->index].is_peers = is_received;
	if (is_live && !is_received)
		pair(verdict, packet.flow, frame->source_qpn);
	if (is_spared(verdict, packet.flow))
		return;
	if (was_lost && !is_received && parsed.info->flags & VL_OPCODE_REQUEST)
		verdict_our_loss(verdict, &packet);
	else if (!was_lost && is_received)
		judge_received(verdict, &packet);
	else if (!was_lost)
		judge_transmitted(verdict, &packet);
}

static void begin(struct vl_verdict *verdict, bool is_received, uint64_t now)
{
	if (!verdict->frames_received && !verdict->frames_transmitted)
		verdict->first_time = now;
	verdict->last_time = now;
	verdict->frames_received += is_received;
	verdict->frames_transmitted += !is_received;
}

void vl_verdict_see(struct vl_verdict *verdict, enum vl_direction direction,
		    const struct vl_frame *frame, uint64_t now, const char *comment)
{
	bool is_received = direction == VL_DIRECTION_RECEIVED;
	struct vl_pfc pfc;

	verdict->number++;
	if (begins_with(comment, VL_COMMENT_NOT_ON_WIRE))
		return;
	begin(verdict, is_received, now);
	if (!vl_is_mac_control(frame->data, frame->length))
		see(verdict, is_received, frame, verdict->number, now, comment, true);
	else if (!is_received && !begins_with(comment, VL_COMMENT_NOT_SENT) &&
		 vl_pfc_parse(frame->data, frame->length, &pfc) == VL_MAC_CONTROL_PFC)
		verdict_our_pause(verdict, &pfc, verdict->number, now);
}

void vl_verdict_see_captured(struct vl_verdict *verdict, const struct vl_frame *frame,
			     uint64_t number, uint64_t now, const char *comment)
{
	struct vl_packet parsed;
	struct vl_pfc pfc;
	bool is_received;

	verdict->number = number;
	if (begins_with(comment, VL_COMMENT_NOT_ON_WIRE))
		return;
	if (vl_is_mac_control(frame->data, frame->length)) {
		if (verdict->has_peer_mac && memcmp(frame->data + 6, verdict->peer_mac, 6) &&
		    vl_pfc_parse(frame->data, frame->length, &pfc) == VL_MAC_CONTROL_PFC)
			verdict_our_pause(verdict, &pfc, number, now);
		return;
	}
	if (vl_parse(&parsed, VL_LINK_ETHERNET, frame->data, frame->length, frame->length) !=
		    VL_PARSE_ok ||
	    !parsed.grh_present)
		return;
	is_received = !memcmp(&parsed.source_gid, &verdict->config.peer, sizeof(parsed.source_gid));
	if (!is_received &&
	    memcmp(&parsed.destination_gid, &verdict->config.peer, sizeof(parsed.destination_gid)))
		return;
	if (is_received) {
		verdict->has_peer_mac = true;
		memcpy(verdict->peer_mac, parsed.source_mac, sizeof(verdict->peer_mac));
	}
	begin(verdict, is_received, now);
	see(verdict, is_received, frame, number, now, comment, false);
}

void vl_verdict_finish(struct vl_verdict *verdict, uint64_t now)
{
	if (now < verdict->last_time)
		now = verdict->last_time;
	for (uint32_t i = 0; i < verdict->analysis->flows.count && i < VERDICT_MAX_FLOWS; i++) {
		const struct inspect_flow *flow = inspect_flow_at(&verdict->analysis->flows, i);
		struct verdict_flow *state = &verdict->flows[i];

		if (state->is_peers)
			verdict_requester_finish(verdict, state, flow, now);
		else
			verdict_responder_finish(verdict, state, flow, now);
		verdict_congestion_finish(verdict, state, flow, now);
	}
	verdict_pause_finish(verdict, now);
}

/* ---- Results -------------------------------------------------------------------------------- */

enum vl_verdict_result vl_verdict_result(const struct vl_verdict *verdict,
					 enum vl_verdict_kind kind)
{
	const struct verdict_tally *tally = &verdict->tallies[kind];

	if (tally->failures)
		return VL_VERDICT_FAIL;
	return tally->passes ? VL_VERDICT_PASS : VL_VERDICT_NOT_SEEN;
}

uint64_t vl_verdict_passes(const struct vl_verdict *verdict, enum vl_verdict_kind kind)
{
	return verdict->tallies[kind].passes;
}

uint64_t vl_verdict_failures(const struct vl_verdict *verdict, enum vl_verdict_kind kind)
{
	return verdict->tallies[kind].failures;
}

bool vl_verdict_measure(const struct vl_verdict *verdict, enum vl_verdict_kind kind,
			uint64_t *least, uint64_t *mean, uint64_t *most)
{
	const struct verdict_tally *tally = &verdict->tallies[kind];

	if (!tally->measured)
		return false;
	*least = tally->least;
	*mean = tally->sum / tally->measured;
	*most = tally->most;
	return true;
}

const char *vl_verdict_evidence(const struct vl_verdict *verdict, enum vl_verdict_kind kind,
				unsigned int n)
{
	const struct verdict_tally *tally = &verdict->tallies[kind];
	unsigned int bad = tally->failures < VERDICT_EXAMPLES ? (unsigned int)tally->failures
							      : VERDICT_EXAMPLES;
	unsigned int good =
		tally->passes < VERDICT_EXAMPLES ? (unsigned int)tally->passes : VERDICT_EXAMPLES;

	if (n < bad)
		return tally->bad[n];
	return n - bad < good ? tally->good[n - bad] : NULL;
}

bool vl_verdict_has_judged(const struct vl_verdict *verdict)
{
	for (unsigned int kind = 0; kind < VL_VERDICT_COUNT; kind++) {
		if (vl_verdict_result(verdict, (enum vl_verdict_kind)kind) != VL_VERDICT_NOT_SEEN)
			return true;
	}
	return false;
}

bool vl_verdict_has_failed(const struct vl_verdict *verdict)
{
	for (unsigned int kind = 0; kind < VL_VERDICT_COUNT; kind++) {
		if (verdict->tallies[kind].failures)
			return true;
	}
	return false;
}
