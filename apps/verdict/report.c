/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The verdicts for people and for programs. */

#include "apps/option.h"
#include "apps/verdict/private.h"

#include <inttypes.h>
#include <string.h>

static const struct {
	const char *name, *question, *provoke, *measure;
} kinds[] = {
#define KIND(enumerator, name, question, provoke, measure) {name, question, provoke, measure},
	VL_VERDICTS(KIND)
#undef KIND
};

const char *vl_verdict_name(enum vl_verdict_kind kind)
{
	return kinds[kind].name;
}

static const char *result_name(enum vl_verdict_result result)
{
	static const char *const names[] = {"not_seen", "pass", "fail"};

	return names[result];
}

static void print_one(const struct vl_verdict *verdict, enum vl_verdict_kind kind, FILE *out)
{
	static const char *const words[] = {"not seen", "PASS", "FAIL"};
	enum vl_verdict_result result = vl_verdict_result(verdict, kind);
	char least[VERDICT_TIME_TEXT], mean[VERDICT_TIME_TEXT], most[VERDICT_TIME_TEXT];
	uint64_t times[3];
	const char *text;

	fprintf(out, "  %-8s  %s", words[result], kinds[kind].question);
	if (result == VL_VERDICT_FAIL)
		fprintf(out, " %" PRIu64 " times not", vl_verdict_failures(verdict, kind));
	if (result != VL_VERDICT_NOT_SEEN && vl_verdict_passes(verdict, kind))
		fprintf(out, "%s %" PRIu64 " times", result == VL_VERDICT_FAIL ? "," : "",
			vl_verdict_passes(verdict, kind));
	fputc('\n', out);
	if (result == VL_VERDICT_NOT_SEEN) {
		fprintf(out, "            %s\n", kinds[kind].provoke);
		return;
	}
	if (kinds[kind].measure &&
	    vl_verdict_measure(verdict, kind, &times[0], &times[1], &times[2]))
		fprintf(out, "            %s: least %s, mean %s, most %s\n", kinds[kind].measure,
			verdict_time_text(times[0], least), verdict_time_text(times[1], mean),
			verdict_time_text(times[2], most));
	/* Of what is right one example will do. */
	for (unsigned int n = 0; (text = vl_verdict_evidence(verdict, kind, n)); n++) {
		if (result == VL_VERDICT_PASS && n)
			break;
		if (n >= vl_verdict_failures(verdict, kind) && result == VL_VERDICT_FAIL)
			break;
		vl_print_wrapped(out, text, 12, 0);
	}
}

static void print_clock(const struct vl_verdict *verdict, FILE *out)
{
	if (!verdict->arrival_clock)
		return;
	fprintf(out, "  Times of its frames are by ");
	if (!strcmp(verdict->arrival_clock, "TSC"))
		fprintf(out, "the TSC, as a worker took them from the port;\n");
	else
		fprintf(out, "%s, give or take %.3f us;\n",
			strcmp(verdict->arrival_clock, "mixed")
				? "the device"
				: "the device at some ports, by the TSC at others",
			(double)verdict->arrival_error / 1e3);
	fprintf(out, "  of frames to it by the TSC, as a worker handed them to the port\n");
}

void vl_verdict_print(const struct vl_verdict *verdict, FILE *out)
{
	unsigned int counts[3] = {0};

	for (unsigned int kind = 0; kind < VL_VERDICT_COUNT; kind++)
		counts[vl_verdict_result(verdict, (enum vl_verdict_kind)kind)]++;
	fprintf(out,
		"\nThe peer, judged by %" PRIu64 " frames from it and %" PRIu64
		" to it: %u pass, %u fail, %u not seen\n",
		verdict->frames_received, verdict->frames_transmitted, counts[VL_VERDICT_PASS],
		counts[VL_VERDICT_FAIL], counts[VL_VERDICT_NOT_SEEN]);
	if (!vl_verdict_has_judged(verdict))
		fprintf(out, "  Nothing was judged, which is no pass: %s\n",
			verdict->frames_received ? "nothing came up that a verdict is about"
						 : "no frame of the peer was seen");
	print_clock(verdict, out);
	for (unsigned int kind = 0; kind < VL_VERDICT_COUNT; kind++)
		print_one(verdict, (enum vl_verdict_kind)kind, out);
	if (verdict->not_judged)
		fprintf(out, "  %" PRIu64 " packets of flows beyond the first %u were not judged\n",
			verdict->not_judged, VERDICT_MAX_FLOWS);
}

static json_t *one_json(const struct vl_verdict *verdict, enum vl_verdict_kind kind)
{
	json_t *evidence = json_array(), *object;
	uint64_t least, mean, most;
	const char *text;

	for (unsigned int n = 0; (text = vl_verdict_evidence(verdict, kind, n)); n++)
		json_array_append_new(evidence, json_string(text));
	object = json_pack("{s:s, s:s, s:s, s:I, s:I, s:o}", "name", kinds[kind].name, "question",
			   kinds[kind].question, "verdict",
			   result_name(vl_verdict_result(verdict, kind)), "passes",
			   (json_int_t)vl_verdict_passes(verdict, kind), "failures",
			   (json_int_t)vl_verdict_failures(verdict, kind), "evidence", evidence);
	if (object && kinds[kind].measure &&
	    vl_verdict_measure(verdict, kind, &least, &mean, &most))
		json_object_set_new(object, "measured",
				    json_pack("{s:s, s:s, s:I, s:I, s:I}", "what",
					      kinds[kind].measure, "unit", "ns", "least",
					      (json_int_t)least, "mean", (json_int_t)mean, "most",
					      (json_int_t)most));
	return object;
}

json_t *vl_verdict_json(const struct vl_verdict *verdict)
{
	json_t *array = json_array();

	for (unsigned int kind = 0; kind < VL_VERDICT_COUNT; kind++)
		json_array_append_new(array, one_json(verdict, (enum vl_verdict_kind)kind));
	return json_pack("{s:I, s:I, s:I, s:s, s:I, s:o}", "frames_from_peer",
			 (json_int_t)verdict->frames_received, "frames_to_peer",
			 (json_int_t)verdict->frames_transmitted, "packets_not_judged",
			 (json_int_t)verdict->not_judged, "arrival_clock",
			 verdict->arrival_clock ? verdict->arrival_clock : "capture",
			 "arrival_clock_error_ns", (json_int_t)verdict->arrival_error, "verdicts",
			 array);
}
