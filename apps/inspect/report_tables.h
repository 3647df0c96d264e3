/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The tables of the report for people: hosts, and what each flow did. */
#ifndef VERBLINE_INSPECT_REPORT_TABLES_H
#define VERBLINE_INSPECT_REPORT_TABLES_H

#include "apps/inspect/report.h"

struct inspect_printer {
	const struct inspect_file *file;
	const struct inspect_analysis *analysis;
	const struct inspect_style *style;
	FILE *out;
};

void inspect_print_heading(const struct inspect_printer *printer, const char *text);
/* Says how many lines were left out, if any. */
void inspect_print_rest(const struct inspect_printer *printer, uint64_t rest, const char *what);

void inspect_print_hosts(const struct inspect_printer *printer);
/* Messages, bytes, rates, answers. */
void inspect_print_flows(const struct inspect_printer *printer);
/* What was lost, sent again, copied; only of flows of which there is something to say. */
void inspect_print_losses(const struct inspect_printer *printer);
/* DSCP, priority, ECN, CNPs, UDP source ports. */
void inspect_print_classes(const struct inspect_printer *printer);
/* Flow control of an InfiniBand link. */
void inspect_print_credits(const struct inspect_printer *printer);
void inspect_print_opcodes(const struct inspect_printer *printer);

#endif
