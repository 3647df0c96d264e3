/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What replay found, for people and for programs. */

#include "apps/replay/trial.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define LISTED 8 /* withheld packets named in the text; JSON has them all */

static const char *service_name(enum vl_service service)
{
	return service == VL_SERVICE_RC ? "RC" : service == VL_SERVICE_UC ? "UC" : "UD";
}

static const char *role_name(enum replay_role role)
{
	return role == REPLAY_RESPONDER ? "responder" : "requester";
}

static void qpn_text(uint32_t qpn, char text[12])
{
	if (qpn == REPLAY_UNKNOWN_QPN)
		strcpy(text, "?");
	else
		snprintf(text, 12, "0x%06x", qpn);
}

struct replay_totals report_totals(const struct trial *trials, uint32_t count)
{
	struct replay_totals totals = {.trials = count};

	for (uint32_t i = 0; i < count; i++) {
		const struct trial *trial = &trials[i];

		totals.skipped += trial->skipped;
		totals.compared += trial->compared;
		totals.equal += trial->equal;
		totals.tolerated += trial->tolerated;
		totals.explained += trial->explained;
		totals.different += trial->different;
		totals.unrecorded += trial->unrecorded;
		totals.extra += trial->extra;
		totals.withheld += trial->withheld_count;
		totals.msn_offsets += trial->msn_offset != 0;
		for (unsigned int f = 0; f < REPLAY_FREEDOM_COUNT; f++)
			totals.freedoms[f] += trial->freedoms[f];
		for (unsigned int h = 0; h < REPLAY_HABIT_COUNT; h++)
			totals.habits[h] += trial->habits[h];
	}
	return totals;
}

/* What was concluded from the recorded answers, and so can be no difference. */
static void print_adopted(FILE *out, const struct trial *trial)
{
	if (trial->not_compared || trial->not_fed)
		fprintf(out,
			"  left out %u: of a message that began before the capture, or to another "
			"queue pair, or not followed\n",
			trial->not_compared + trial->not_fed);
	if (trial->msn_offset)
		fprintf(out, "  the connection had %u messages before the capture, its MSNs say\n",
			trial->msn_offset);
	if (trial->not_ready)
		fprintf(out,
			"  for %u requests there was no receive request, as the RNR NAKs show\n",
			trial->not_ready);
	if (trial->refused)
		fprintf(out,
			"  for %u requests there was no permission, no memory or no room, as a NAK "
			"shows\n",
			trial->refused);
	if (trial->overtaken)
		fprintf(out,
			"  %u requests came after others that were sent later, as the NAKs show\n",
			trial->overtaken);
	if (trial->lost_track)
		fprintf(out,
			"  not followed from #%" PRIu64
			" on: requests were lost before the point of capture, so what was sent "
			"again, and when, is not known\n",
			trial->lost_track);
	if (trial->timeouts)
		fprintf(out, "  %u times the recorded requester's timer ran out\n",
			trial->timeouts);
}

static void print_withheld(FILE *out, const struct trial *trial)
{
	for (uint32_t i = 0; i < trial->withheld_count && i < LISTED; i++) {
		const struct withheld *withheld = &trial->withheld[i];

		fprintf(out,
			"  withheld #%" PRIu64 " (PSN %u): lost after the point of capture, as ",
			withheld->number, withheld->psn);
		if (withheld->evidence)
			fprintf(out, "#%" PRIu64 " shows\n", withheld->evidence);
		else
			fprintf(out, "the silence that followed shows\n");
	}
	if (trial->withheld_count > LISTED)
		fprintf(out, "  withheld %u more\n", trial->withheld_count - LISTED);
}

static void print_trial(FILE *out, const struct trial *trial)
{
	const struct conversation *conversation = trial->conversation;
	char requester[REPLAY_ADDRESS_LENGTH], responder[REPLAY_ADDRESS_LENGTH];
	char requester_qpn[12], responder_qpn[12];

	qpn_text(conversation->requester_qpn, requester_qpn);
	qpn_text(conversation->responder_qpn, responder_qpn);
	fprintf(out, "%s %s QP %s -> %s QP %s, path MTU %u, the stack as %s\n",
		service_name(conversation->service),
		recorded_address(&conversation->requester, requester), requester_qpn,
		recorded_address(&conversation->responder, responder), responder_qpn,
		conversation->path_mtu, role_name(trial->role));
	if (trial->skipped) {
		fprintf(out, "  not replayed: %s\n", trial->skip_reason);
		return;
	}
	fprintf(out,
		"  compared %u: equal %u, tolerated %u, explained %u, different %u"
		" (fed %u, messages %u)\n",
		trial->compared, trial->equal, trial->tolerated, trial->explained, trial->different,
		trial->fed, trial->messages);
	print_adopted(out, trial);
	print_withheld(out, trial);
	if (!trial->has_difference)
		return;
	fprintf(out, "  first difference: %s\n", trial->field);
	for (uint32_t i = 0; i < trial->line_count; i++)
		fprintf(out, "    %s\n", trial->lines[i]);
}

static bool is_interesting(const struct trial *trial)
{
	return trial->different || trial->withheld_count || trial->explained || trial->skipped ||
	       trial->lost_track;
}

void report_text(FILE *out, const struct recording *recording, const struct trial *trials,
		 uint32_t count, bool verbose)
{
	struct replay_totals totals = report_totals(trials, count);

	fprintf(out, "%s: %" PRIu64 " packets, %u replayed in %u conversation%s\n", recording->path,
		recording->total, recording->packet_count, recording->conversation_count,
		recording->conversation_count == 1 ? "" : "s");
	if (recording->not_rdma || recording->not_replayed || recording->icrc_wrong ||
	    recording->orphan_responses)
		fprintf(out,
			"  left out: %" PRIu64 " of other protocols, %" PRIu64
			" of kinds that are not replayed, %" PRIu64 " with a wrong ICRC, "
			"%u answers to requests that the capture does not hold\n",
			recording->not_rdma, recording->not_replayed, recording->icrc_wrong,
			recording->orphan_responses);
	if (recording->damaged)
		fprintf(out, "  damaged: %s; replayed up to there\n", recording->message);
	for (uint32_t i = 0; i < count; i++) {
		if (verbose || is_interesting(&trials[i]))
			print_trial(out, &trials[i]);
	}
	fprintf(out, "compared %u packets: %u equal, %u tolerated, %u explained, %u different",
		totals.compared, totals.equal, totals.tolerated, totals.explained,
		totals.different);
	if (totals.skipped)
		fprintf(out, "; %u of %u trials not replayed", totals.skipped, totals.trials);
	fputc('\n', out);
	for (unsigned int i = 0; i < REPLAY_FREEDOM_COUNT; i++) {
		if (totals.freedoms[i])
			fprintf(out, "  tolerated  %6u  %-16s %s\n", totals.freedoms[i],
				replay_freedom_names[i], replay_freedom_texts[i]);
	}
	for (unsigned int i = 0; i < REPLAY_HABIT_COUNT; i++) {
		if (totals.habits[i])
			fprintf(out, "  explained  %6u  %-16s %s\n", totals.habits[i],
				replay_habit_names[i], replay_habit_texts[i]);
	}
	if (totals.different)
		fprintf(out, "The stack and the recorded peer differ: see the first difference "
			     "above.\n");
	else if (totals.compared)
		fprintf(out, "The stack behaves as the recorded peer did%s.\n",
			totals.skipped ? ", as far as it could be replayed" : "");
	else
		fprintf(out, "There was nothing to compare.\n");
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static json_t *counts_json(const char *const *names, const uint32_t *counts, unsigned int count)
{
	json_t *object = json_object();

	for (unsigned int i = 0; i < count; i++) {
		if (counts[i])
			json_object_set_new(object, names[i], json_integer(counts[i]));
	}
	return object;
}

static json_t *end_json(const union ibv_gid *gid, uint32_t qpn)
{
	char address[REPLAY_ADDRESS_LENGTH];

	return json_pack("{s:s, s:o}", "address", recorded_address(gid, address), "qpn",
			 qpn == REPLAY_UNKNOWN_QPN ? json_null() : json_integer(qpn));
}

static json_t *withheld_json(const struct trial *trial)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < trial->withheld_count; i++) {
		const struct withheld *packet = &trial->withheld[i];

		json_array_append_new(
			list,
			json_pack("{s:I, s:i, s:o}", "packet", (json_int_t)packet->number, "psn",
				  (int)packet->psn, "shown_by",
				  packet->evidence ? json_integer((json_int_t)packet->evidence)
						   : json_null()));
	}
	return list;
}

/* What was concluded from the recorded answers. */
static json_t *adopted_json(const struct trial *trial)
{
	return json_pack("{s:i, s:i, s:i, s:i, s:i}", "messages_before_capture",
			 (int)trial->msn_offset, "requests_without_receive", (int)trial->not_ready,
			 "requests_refused", (int)trial->refused, "requests_overtaken",
			 (int)trial->overtaken, "requester_timeouts", (int)trial->timeouts);
}

static json_t *difference_json(const struct trial *trial)
{
	json_t *lines = json_array();

	for (uint32_t i = 0; i < trial->line_count; i++)
		json_array_append_new(lines, json_string(trial->lines[i]));
	return json_pack("{s:s, s:o, s:i, s:o}", "field", trial->field, "packet",
			 trial->difference_number
				 ? json_integer((json_int_t)trial->difference_number)
				 : json_null(),
			 "psn", (int)trial->difference_psn, "packets", lines);
}

static json_t *trial_json(const struct trial *trial)
{
	const struct conversation *conversation = trial->conversation;
	json_t *object = json_pack(
		"{s:s, s:s, s:o, s:o, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, "
		"s:o, s:o, s:o, s:o}",
		"role", role_name(trial->role), "service", service_name(conversation->service),
		"requester", end_json(&conversation->requester, conversation->requester_qpn),
		"responder", end_json(&conversation->responder, conversation->responder_qpn),
		"path_mtu_bytes", (int)conversation->path_mtu, "compared", (int)trial->compared,
		"equal", (int)trial->equal, "tolerated", (int)trial->tolerated, "explained",
		(int)trial->explained, "different", (int)trial->different, "different_unrecorded",
		(int)trial->unrecorded, "stack_only", (int)trial->extra, "not_compared",
		(int)trial->not_compared, "fed", (int)trial->fed, "not_fed", (int)trial->not_fed,
		"messages", (int)trial->messages, "freedoms",
		counts_json(replay_freedom_names, trial->freedoms, REPLAY_FREEDOM_COUNT), "habits",
		counts_json(replay_habit_names, trial->habits, REPLAY_HABIT_COUNT), "adopted",
		adopted_json(trial), "withheld", withheld_json(trial));

	if (trial->lost_track)
		json_object_set_new(object, "not_followed_from",
				    json_integer((json_int_t)trial->lost_track));
	if (trial->skipped)
		json_object_set_new(object, "not_replayed", json_string(trial->skip_reason));
	if (trial->has_difference)
		json_object_set_new(object, "first_difference", difference_json(trial));
	return object;
}

/* JSON is UTF-8, which a path need not be: then what is not ASCII becomes a question mark. */
static json_t *path_json(const char *path)
{
	json_t *string = json_string(path);
	char *ascii = string ? NULL : strdup(path);

	for (char *at = ascii; at && *at; at++) {
		if (*at & 0x80)
			*at = '?';
	}
	if (ascii)
		string = json_string(ascii);
	free(ascii);
	return string;
}

void *report_json(const struct recording *recording, const struct trial *trials, uint32_t count)
{
	struct replay_totals totals = report_totals(trials, count);
	json_t *list = json_array();

	for (uint32_t i = 0; i < count; i++)
		json_array_append_new(list, trial_json(&trials[i]));
	return json_pack(
		"{s:o, s:I, s:i, s:I, s:I, s:I, s:i, s:o, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:o, "
		"s:o, "
		"s:o}",
		"file", path_json(recording->path), "packets", (json_int_t)recording->total,
		"packets_replayed", (int)recording->packet_count, "packets_of_other_protocols",
		(json_int_t)recording->not_rdma, "packets_of_kinds_not_replayed",
		(json_int_t)recording->not_replayed, "packets_with_wrong_icrc",
		(json_int_t)recording->icrc_wrong, "answers_without_request",
		(int)recording->orphan_responses, "damaged",
		recording->damaged ? json_string(recording->message) : json_null(), "compared",
		(int)totals.compared, "equal", (int)totals.equal, "tolerated",
		(int)totals.tolerated, "explained", (int)totals.explained, "different",
		(int)totals.different, "stack_only", (int)totals.extra, "withheld",
		(int)totals.withheld, "freedoms",
		counts_json(replay_freedom_names, totals.freedoms, REPLAY_FREEDOM_COUNT), "habits",
		counts_json(replay_habit_names, totals.habits, REPLAY_HABIT_COUNT), "trials", list);
}
