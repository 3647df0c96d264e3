/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/inspect/describe.h"
#include "apps/inspect/entropy.h"
#include "apps/inspect/report.h"
#include "apps/inspect/report_tables.h"
#include "apps/option.h"

#include <inttypes.h>

#define BOLD  "\033[1m"
#define RESET "\033[0m"

void inspect_print_heading(const struct inspect_printer *printer, const char *text)
{
	bool colour = printer->style->colour;

	fprintf(printer->out, "\n%s%s%s\n", colour ? BOLD : "", text, colour ? RESET : "");
}

void inspect_print_rest(const struct inspect_printer *printer, uint64_t rest, const char *what)
{
	if (rest)
		fprintf(printer->out, "  ... and %" PRIu64 " more %s (see --lines and --json)\n",
			rest, what);
}

static void print_summary(const struct inspect_printer *printer)
{
	const struct inspect_analysis *analysis = printer->analysis;
	const uint64_t *classes = analysis->classes;
	bool colour = printer->style->colour;
	char packets[INSPECT_SMALL_TEXT], bytes[INSPECT_SMALL_TEXT], time[INSPECT_SMALL_TEXT];
	FILE *out = printer->out;

	fprintf(out, "%s%s%s: %s, %s packet%s, %s in %s\n", colour ? BOLD : "", printer->file->name,
		colour ? RESET : "", printer->file->format,
		inspect_count_text(analysis->packets, packets), analysis->packets == 1 ? "" : "s",
		inspect_bytes_text(analysis->original_bytes, bytes),
		inspect_duration_text(analysis->last_time - analysis->first_time, time));
	fprintf(out,
		"  %" PRIu64 " RDMA, %" PRIu64 " foreign, %" PRIu64 " damaged; ICRC: %" PRIu64
		" right, %" PRIu64 " wrong",
		classes[INSPECT_RDMA], classes[INSPECT_FOREIGN], classes[INSPECT_DAMAGED],
		analysis->icrc_right, analysis->icrc_wrong);
	if (analysis->icrc_unchecked)
		fprintf(out, ", %" PRIu64 " not checkable", analysis->icrc_unchecked);
	if (analysis->vcrc_right || analysis->vcrc_wrong)
		fprintf(out, "; VCRC: %" PRIu64 " right, %" PRIu64 " wrong", analysis->vcrc_right,
			analysis->vcrc_wrong);
	if (analysis->link.packets)
		fprintf(out,
			";\n  %" PRIu64 " of the foreign are flow control; their LPCRC: %" PRIu64
			" right, %" PRIu64 " wrong",
			analysis->link.packets, analysis->link.lpcrc_right,
			analysis->link.lpcrc_wrong);
	fputc('\n', out);
}

static void print_reasons(const struct inspect_printer *printer)
{
	const struct inspect_analysis *analysis = printer->analysis;
	bool headed = false;

	for (unsigned int reason = 0; reason < INSPECT_REASON_COUNT; reason++) {
		const struct inspect_reason *entry = &analysis->reasons[reason];

		/* What flow control says has a table of its own. */
		if (!entry->count || reason == VL_PARSE_link_packet)
			continue;
		if (!headed)
			inspect_print_heading(printer, "Foreign and damaged packets");
		headed = true;
		fprintf(printer->out, "  %-8" PRIu64 " %s (%s): packet%s", entry->count,
			inspect_reason_name(reason), inspect_reason_meaning(reason),
			entry->count == 1 ? "" : "s");
		for (uint64_t i = 0; i < entry->count && i < INSPECT_EXAMPLES; i++)
			fprintf(printer->out, " %" PRIu64, entry->examples[i]);
		fputs(entry->count > INSPECT_EXAMPLES ? " ...\n" : "\n", printer->out);
	}
}

static void print_events(const struct inspect_printer *printer)
{
	const struct inspect_analysis *analysis = printer->analysis;
	uint64_t total = 0, shown = 0;

	for (unsigned int kind = 0; kind < INSPECT_EVENT_KIND_COUNT; kind++)
		total += analysis->event_counts[kind];
	if (!total)
		return;
	inspect_print_heading(printer, "Events");
	for (uint32_t i = 0; i < analysis->event_count && shown < printer->style->lines; i++) {
		char text[INSPECT_EVENT_TEXT];

		fprintf(printer->out, "  %s\n", inspect_event_text(&analysis->events[i], text));
		shown++;
	}
	inspect_print_rest(printer, total - shown, "events");
}

static void print_exchanges(const struct inspect_printer *printer)
{
	const struct inspect_exchanges *exchanges = &printer->analysis->exchanges;
	uint32_t shown = 0;

	if (!exchanges->seen)
		return;
	inspect_print_heading(printer, "Connection management");
	for (; shown < exchanges->count && shown < printer->style->lines; shown++) {
		const struct inspect_exchange *exchange = &exchanges->list[shown];
		const struct inspect_flow_key *key = &exchange->flow->key;
		char source[INSPECT_ADDRESS_TEXT], destination[INSPECT_ADDRESS_TEXT];
		char text[INSPECT_EXCHANGE_TEXT];

		fprintf(printer->out, "  packet %" PRIu64 ", %s -> %s: %s\n", exchange->packet,
			inspect_address_text(&key->source, key->encapsulation, source),
			inspect_address_text(&key->destination, key->encapsulation, destination),
			inspect_exchange_text(exchange, text));
	}
	inspect_print_rest(printer, exchanges->seen - shown, "messages");
}

static void print_entropy(const struct inspect_printer *printer)
{
	const uint32_t *ports = printer->analysis->udp_source_ports;
	struct inspect_entropy entropy = inspect_entropy_of(ports);

	if (!entropy.ports)
		return;
	fprintf(printer->out,
		"  UDP source ports of data: %u different, entropy %.1f bit over packets%s\n",
		entropy.ports, entropy.bits,
		entropy.outside ? "; some outside 49152-65535, which RoCEv2 asks for" : "");
}

static void print_verdict(const struct inspect_printer *printer)
{
	static const char *const colours[] = {"\033[32m", "\033[36m", "\033[33m", "\033[31m"};
	const struct inspect_verdict *verdict = printer->file->verdict;

	inspect_print_heading(printer, "Verdict");
	for (unsigned int i = 0; i < verdict->count; i++) {
		const struct inspect_finding *finding = &verdict->findings[i];
		const char *name = inspect_severity_name(finding->severity);
		bool colour = printer->style->colour;

		fprintf(printer->out, "  %s%-8s%s ", colour ? colours[finding->severity] : "", name,
			colour ? RESET : "");
		vl_print_wrapped(printer->out, finding->text, 11, 11);
		if (finding->advice[0])
			vl_print_wrapped(printer->out, finding->advice, 11, 0);
	}
}

void inspect_report_text(const struct inspect_file *file, const struct inspect_style *style,
			 FILE *out)
{
	const struct inspect_printer printer = {file, file->analysis, style, out};

	print_summary(&printer);
	if (file->analysis->classes[INSPECT_RDMA]) {
		inspect_print_hosts(&printer);
		inspect_print_opcodes(&printer);
		inspect_print_flows(&printer);
		inspect_print_losses(&printer);
		inspect_print_classes(&printer);
		print_entropy(&printer);
		print_exchanges(&printer);
	}
	inspect_print_credits(&printer);
	print_reasons(&printer);
	print_events(&printer);
	print_verdict(&printer);
}
