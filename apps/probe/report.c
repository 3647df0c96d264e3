/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/option.h"
#include "apps/probe/findings.h"

#include <inttypes.h>
#include <math.h>

static const char *const titles[PROBE_COUNT] = {"drain",    "XOFF",     "XON",
						"headroom", "capacity", "ECN"};

static void print_paragraph(FILE *out, const char *text)
{
	vl_print_wrapped(out, text, 0, 0);
	fputc('\n', out);
}

/* ---- The table --------------------------------------------------------------------------- */

/* configured below 0: not known, or there is none. */
static void print_row(FILE *out, bool compares, const char *what, const char *unit, int digits,
		      double found, double error, double configured)
{
	fprintf(out, "  %-14s %12.*f %9.*f  %-6s", what, digits, found, digits, error, unit);
	if (!compares)
		fputc('\n', out);
	else if (configured < 0)
		fprintf(out, " %12s\n", "none");
	else if (configured == 0)
		fprintf(out, " %12.*f\n", digits, configured);
	else
		fprintf(out, " %12.*f %+9.2f %%\n", digits, configured,
			(found / configured - 1) * 100);
}

static void print_header(FILE *out, bool compares)
{
	fprintf(out, "  %-14s %12s %9s  %-6s", "what", "found", "+-", "");
	if (compares)
		fprintf(out, " %12s %11s", "configured", "difference");
	fputc('\n', out);
}

static void print_marking(const struct vl_probe_marking *marking,
			  const struct probe_configured *configured, FILE *out)
{
	bool compares = configured;

	if (!marking->is_marking)
		return;
	print_row(out, compares, "Kmin", "B", 0, marking->kmin, marking->kmin_error,
		  compares ? configured->kmin : -1);
	print_row(out, compares, "Kmax", "B", 0, marking->kmax, marking->kmax_error,
		  compares ? configured->kmax : -1);
	print_row(out, compares, "Pmax", "%", 2, marking->pmax * 100, marking->pmax_error * 100,
		  compares ? configured->pmax * 100 : -1);
}

static void print_drain(const struct vl_probe_drain_rate *drain,
			const struct probe_configured *configured, FILE *out)
{
	bool compares = configured;

	print_row(out, compares, "drain rate", "Gb/s", 3, drain->rate / 1e9, drain->error / 1e9,
		  compares ? configured->rate / 1e9 : -1);
	print_row(out, false, "latency", "ns", 0, (double)drain->latency, 0, -1);
	print_row(out, false, "pause to stop", "ns", 0, (double)drain->response, 0, -1);
	print_row(out, false, "end to start", "ns", 0, (double)drain->resume, 0, -1);
}

static void print_table(const struct probe_subject *subject, const struct probe_findings *findings,
			FILE *out)
{
	const struct probe_configured *configured = subject->configured;
	bool compares = configured;

	print_header(out, compares);
	for (unsigned int i = 0; i < PROBE_COUNT; i++) {
		const struct vl_probe_size *size = &findings->limits[i].size;

		if (findings->states[i] != PROBE_FOUND)
			continue;
		if (i == PROBE_DRAIN)
			print_drain(&findings->drain, configured, out);
		else if (i == PROBE_ECN)
			print_marking(&findings->marking, configured, out);
		else
			print_row(out, compares, titles[i], "B", 0, size->value,
				  (size->most - size->least) / 2,
				  compares ? probe_configured_size(configured, i) : -1);
	}
	if (findings->cell)
		print_row(out, compares, "cell", "B", 0, findings->cell, 0,
			  compares ? (double)configured->cell : -1);
	fputc('\n', out);
}

/* ---- Sentences --------------------------------------------------------------------------- */

static void say_marking(const struct probe_findings *findings, FILE *out)
{
	const struct vl_probe_marking *marking = &findings->marking;
	const struct vl_probe_size *xoff = &findings->limits[PROBE_XOFF].size;
	char text[512];

	if (findings->states[PROBE_ECN] != PROBE_FOUND)
		return;
	if (!marking->is_marking) {
		snprintf(text, sizeof(text),
			 "The switch does not mark: with up to %.0f B of the class held no frame "
			 "came with CE.",
			 marking->most_held);
		print_paragraph(out, text);
		return;
	}
	snprintf(text, sizeof(text),
		 "It marks at %s, by the length of the queue of the instant; Kmin, Kmax and Pmax "
		 "fit %" PRIu64 " frames, of which %" PRIu64 " came with CE.%s",
		 marking->at_dequeue ? "dequeue" : "enqueue", marking->frames, marking->marked,
		 marking->kmin == marking->kmax ? " Kmin and Kmax are one: it is step marking."
						: "");
	print_paragraph(out, text);
	if (findings->states[PROBE_XOFF] != PROBE_FOUND)
		return;
	if (marking->kmin >= xoff->value)
		snprintf(text, sizeof(text),
			 "It pauses %.0f B before it begins to mark: PFC acts before ECN can.",
			 marking->kmin - xoff->value);
	else
		snprintf(text, sizeof(text),
			 "One sender's queue is marked from %.0f B on and paused at %.0f B: ECN "
			 "acts before PFC. Several senders fill the queue together, while each "
			 "counts for XOFF by itself.",
			 marking->kmin, xoff->value);
	print_paragraph(out, text);
}

static void say_pauses(const struct probe_subject *subject, const struct probe_findings *findings,
		       FILE *out)
{
	char text[512];

	if (findings->states[PROBE_XOFF] == PROBE_FOUND) {
		snprintf(text, sizeof(text),
			 "It pauses priority %u of the sender when %.0f B of the class that came "
			 "from it are in the switch, while nothing else is.",
			 subject->priority, findings->limits[PROBE_XOFF].size.value);
		print_paragraph(out, text);
	}
	if (findings->cell > 1) {
		snprintf(text, sizeof(text),
			 "Its memory comes in cells of %u B, by how many frames of several lengths "
			 "reach one limit: sizes are of whole cells.",
			 findings->cell);
		print_paragraph(out, text);
	}
}

static void say_configured(const struct probe_subject *subject,
			   const struct probe_findings *findings, FILE *out)
{
	const struct probe_configured *configured = subject->configured;
	char text[400];

	if (!configured)
		return;
	if (!configured->is_of_priority) {
		snprintf(text, sizeof(text),
			 "DSCP %u leads to priority group %u, for which PFC of priority %u is not "
			 "sent.",
			 subject->dscp, configured->group, subject->priority);
		print_paragraph(out, text);
	}
	if (configured->loses_at_queue)
		print_paragraph(out, "The egress queue's own limit is lower than XOFF of the "
				     "priority group: frames are lost before the sender is "
				     "paused.");
	if (configured->is_averaged && findings->states[PROBE_ECN] != PROBE_NOT_ASKED)
		print_paragraph(out, "The switch is configured to mark by an averaged length; what "
				     "was found is not comparable.");
	if (configured->shares_headroom && findings->states[PROBE_HEADROOM] != PROBE_NOT_ASKED)
		print_paragraph(out, "Headroom is shared among ports: found is what one port gets "
				     "of it while the others take none.");
}

static void say_failures(const struct probe_findings *findings, FILE *out)
{
	for (unsigned int i = 0; i < PROBE_COUNT; i++) {
		if (findings->states[i] >= PROBE_FAILED)
			fprintf(out, "  %-14s not found out: %s\n", titles[i], findings->errors[i]);
	}
}

static void print_subject(const struct probe_subject *subject, FILE *out)
{
	char rate[VL_QUANTITY_TEXT];

	fprintf(out, "Probed %s\n  %s; DSCP %u, priority %u, frames up to %u B without FCS\n",
		subject->name, vl_quantity_text(VL_QUANTITY_RATE, subject->rate, rate),
		subject->dscp, subject->priority, subject->longest);
	for (unsigned int i = 0; subject->notes && i < subject->notes->count; i++)
		fprintf(out, "  note: %s\n", subject->notes->texts[i]);
	fprintf(out, "  assumed: no other traffic; queue lengths and thresholds in bytes of frames "
		     "without FCS; one\n  queue and one priority group for the class\n\n");
}

void probe_print(const struct probe_subject *subject, const struct probe_findings *findings,
		 FILE *out)
{
	print_subject(subject, out);
	if (*findings->opening_error) {
		fprintf(out, "Nothing was found out: %s\n", findings->opening_error);
		return;
	}
	print_table(subject, findings, out);
	say_failures(findings, out);
	say_pauses(subject, findings, out);
	say_marking(findings, out);
	say_configured(subject, findings, out);
	fprintf(out, "%" PRIu64 " frames in %.3f s of %s time\n", findings->frames,
		(double)findings->duration / 1e9, subject->notes ? "virtual" : "the machine's");
}
