/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/pfc/report.h"

#include "apps/quantity.h"

#include <inttypes.h>
#include <string.h>

#define TICK_NS UINT64_C(10000000)

static const char *duration(uint64_t time, char text[VL_QUANTITY_TEXT])
{
	return vl_quantity_text(VL_QUANTITY_DURATION, time, text);
}

static const char *classes_text(const struct vl_pfc_storm *storm, char text[24])
{
	size_t used = 0;

	if (storm->config.is_global)
		return "all (PAUSE)";
	for (unsigned int i = 0; i < VL_PFC_PRIORITIES; i++) {
		if (storm->config.classes >> i & 1)
			used += (size_t)snprintf(text + used, 24 - used, "%s%u", used ? "," : "",
						 i);
	}
	return text;
}

uint64_t pfc_run_late_gaps(const struct pfc_run *run)
{
	uint64_t late = 0;

	for (uint32_t i = 0; i < run->stage->port_count; i++)
		late += run->stage->ports[i].storm.late_gaps;
	return late;
}

static void print_sent(const struct pfc_run *run, FILE *out)
{
	fprintf(out, "%-24s %-12s %10s %10s %10s %8s %8s\n", "Port", "Classes", "Pauses", "Frames",
		"Left", "Refused", "No room");
	for (uint32_t i = 0; i < run->stage->port_count; i++) {
		const struct vl_pfc_stage_port *port = &run->stage->ports[i];
		char classes[24];

		fprintf(out,
			"%-24.24s %-12s %10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %8" PRIu64
			" %8" PRIu64 "\n",
			port->port->name, classes_text(&port->storm, classes), port->storm.pauses,
			port->storm.frames, run->left[i], port->tx_refused, port->no_mbuf);
	}
	for (uint32_t i = 0; i < run->stage->port_count; i++) {
		const struct vl_pfc_stage_port *port = &run->stage->ports[i];

		if (run->left[i] < port->storm.frames)
			fprintf(out,
				"%s: by the device's own count %" PRIu64 " of %" PRIu64
				" frames left it: it does not count them, or keeps them back; "
				"'verbline doctor' finds out\n",
				port->port->name, run->left[i], port->storm.frames);
	}
}

/* Of a storm of one frame there is no gap. */
static const char *gap_text(const struct vl_pfc_storm *storm, uint64_t time,
			    char text[VL_QUANTITY_TEXT])
{
	return storm->gaps.count ? duration(time, text) : "-";
}

static void print_gaps(const struct pfc_run *run, FILE *out)
{
	const struct vl_pfc_storm *any = &run->stage->ports[0].storm;
	char texts[4][VL_QUANTITY_TEXT];

	fprintf(out,
		"\nGaps between frames: a frame pauses for %s, the longest gap allowed is %s\n",
		duration(any->pause_time, texts[0]), duration(any->config.longest_gap, texts[1]));
	fprintf(out, "%-24s %10s %10s %10s %10s %8s %8s %8s\n", "Port", "Gaps", "p50", "p99.99",
		"Longest", "Stolen", "Late", "Broken");
	for (uint32_t i = 0; i < run->stage->port_count; i++) {
		const struct vl_pfc_storm *storm = &run->stage->ports[i].storm;

		fprintf(out,
			"%-24.24s %10" PRIu64 " %10s %10s %10s %8" PRIu64 " %8" PRIu64 " %8" PRIu64
			"\n",
			run->stage->ports[i].port->name, storm->gaps.count,
			gap_text(storm, vl_histogram_percentile(&storm->gaps, 0.5), texts[0]),
			gap_text(storm, vl_histogram_percentile(&storm->gaps, 0.9999), texts[1]),
			gap_text(storm, storm->gaps.most, texts[2]), storm->stolen_gaps,
			storm->late_gaps, storm->broken);
	}
	fputs("Gaps too long: Stolen, as the machine kept the loop from running; Late, though it "
	      "ran.\nBroken: of both, longer than the pause itself, so that the peer could send.\n",
	      out);
}

static void print_verdict(const struct pfc_run *run, FILE *out)
{
	const struct vl_pfc_stage *stage = run->stage;
	uint64_t stolen = 0, late = pfc_run_late_gaps(run);
	char texts[4][VL_QUANTITY_TEXT];

	for (uint32_t i = 0; i < stage->port_count; i++)
		stolen += stage->ports[i].storm.stolen_gaps;
	if (stage->kept.count)
		fprintf(out,
			"The machine kept the loop from running %" PRIu64
			" times for more than %s: %s in all, %s at the longest.\n"
			"Its thread lost the CPU %" PRIu64
			" times; the hypervisor took %s of the CPU's time.\n",
			stage->kept.count, duration(stage->longest_round, texts[0]),
			duration(stage->kept_time, texts[1]), duration(stage->kept.most, texts[2]),
			run->put_aside, duration(run->stolen_ticks * TICK_NS, texts[3]));
	if (late)
		fprintf(out,
			"%" PRIu64 " gaps are too long and the loop was not kept from running: the "
			"port takes frames too slowly, or there are too many ports for one core.\n",
			late);
	else if (stolen)
		fprintf(out,
			"%" PRIu64 " gaps are too long, all of them while the loop was kept from "
			"running; none else is. Give the worker a CPU of its own.\n",
			stolen);
	else
		fprintf(out, "No gap is longer than allowed.\n");
}

static void print_received(const struct pfc_run *run, FILE *out)
{
	bool any = false;

	for (uint32_t i = 0; i < run->stage->port_count; i++) {
		const struct vl_pfc_stage_port *port = &run->stage->ports[i];

		for (uint8_t k = 0; k < VL_PFC_PRIORITIES; k++) {
			char text[VL_QUANTITY_TEXT];

			if (!port->received.frames[k] && !port->received.resumes[k])
				continue;
			if (!any)
				fprintf(out, "\nPauses received\n%-24s %6s %10s %10s %12s\n",
					"Port", "Class", "Pauses", "Resumes", "Paused for");
			any = true;
			fprintf(out, "%-24.24s %6u %10" PRIu64 " %10" PRIu64 " %12s\n",
				port->port->name, k, port->received.frames[k],
				port->received.resumes[k],
				duration(
					vl_pfc_receiver_paused_time(&port->received, k, run->ended),
					text));
		}
	}
	if (!any)
		fprintf(out, "\nNo pause was received.\n");
}

void pfc_report_text(const struct pfc_run *run, FILE *out)
{
	if (run->sends)
		print_sent(run, out);
	if (run->is_held) {
		print_gaps(run, out);
		print_verdict(run, out);
	}
	print_received(run, out);
}

static json_t *histogram_json(const struct vl_histogram *histogram)
{
	static const struct {
		const char *name;
		double part;
	} percentiles[] = {
		{"p50_ns", 0.5}, {"p99_ns", 0.99}, {"p99_9_ns", 0.999}, {"p99_99_ns", 0.9999}};
	json_t *object = json_object();

	json_object_set_new(object, "count", json_integer((json_int_t)histogram->count));
	if (!histogram->count)
		return object;
	json_object_set_new(object, "min_ns", json_integer((json_int_t)histogram->least));
	json_object_set_new(object, "mean_ns", json_real(vl_histogram_mean(histogram)));
	for (unsigned int i = 0; i < sizeof(percentiles) / sizeof(percentiles[0]); i++)
		json_object_set_new(object, percentiles[i].name,
				    json_integer((json_int_t)vl_histogram_percentile(
					    histogram, percentiles[i].part)));
	json_object_set_new(object, "max_ns", json_integer((json_int_t)histogram->most));
	return object;
}

static json_t *received_json(const struct vl_pfc_stage_port *port, uint64_t now)
{
	json_t *classes = json_array();

	for (uint8_t k = 0; k < VL_PFC_PRIORITIES; k++)
		json_array_append_new(
			classes, json_pack("{s:i, s:I, s:I, s:I}", "class", k, "pauses",
					   (json_int_t)port->received.frames[k], "resumes",
					   (json_int_t)port->received.resumes[k], "paused_ns",
					   (json_int_t)vl_pfc_receiver_paused_time(&port->received,
										   k, now)));
	return json_pack("{s:I, s:I, s:I, s:o}", "pfc_rx", (json_int_t)port->pfc_rx, "pause_rx",
			 (json_int_t)port->received.global_frames, "other_rx",
			 (json_int_t)port->other_rx, "classes", classes);
}

static json_t *sent_json(const struct vl_pfc_stage_port *port, uint64_t left)
{
	const struct vl_pfc_storm *storm = &port->storm;

	return json_pack("{s:I, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}",
			 "classes", (json_int_t)storm->config.classes, "global",
			 storm->config.is_global, "rate_bps", (json_int_t)storm->config.rate,
			 "pause_ns", (json_int_t)storm->pause_time, "longest_gap_ns",
			 (json_int_t)storm->config.longest_gap, "pauses", (json_int_t)storm->pauses,
			 "frames", (json_int_t)storm->frames, "device_tx_frames", (json_int_t)left,
			 "tx_refused", (json_int_t)port->tx_refused, "no_mbuf",
			 (json_int_t)port->no_mbuf, "gaps_stolen", (json_int_t)storm->stolen_gaps,
			 "gaps_late", (json_int_t)storm->late_gaps, "pauses_broken",
			 (json_int_t)storm->broken, "gaps", histogram_json(&storm->gaps));
}

json_t *pfc_report_json(const struct pfc_run *run)
{
	const struct vl_pfc_stage *stage = run->stage;
	json_t *ports = json_array();

	for (uint32_t i = 0; i < stage->port_count; i++) {
		const struct vl_pfc_stage_port *port = &stage->ports[i];

		json_array_append_new(
			ports,
			json_pack("{s:s, s:o, s:o, s:s, s:I}", "port", port->port->name, "sent",
				  run->sends ? sent_json(port, run->left[i]) : json_null(),
				  "received", received_json(port, run->ended), "arrival_clock",
				  vl_port_arrival_clock(port->port), "arrival_clock_error_ns",
				  (json_int_t)vl_port_arrival_error(port->port)));
	}
	return json_pack("{s:s, s:s, s:s, s:I, s:o, s:{s:I, s:I, s:o, s:I, s:I}}", "schema",
			 "verbline-pfc-1", "version", VERBLINE_VERSION, "command", "pfc",
			 "duration_ns", (json_int_t)(run->ended - run->began), "ports", ports,
			 "machine", "longest_round_ns", (json_int_t)stage->longest_round, "kept_ns",
			 (json_int_t)stage->kept_time, "kept", histogram_json(&stage->kept),
			 "put_aside", (json_int_t)run->put_aside, "hypervisor_ns",
			 (json_int_t)(run->stolen_ticks * TICK_NS));
}
