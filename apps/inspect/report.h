/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* An inspected file, for people and for programs. */
#ifndef VERBLINE_INSPECT_REPORT_H
#define VERBLINE_INSPECT_REPORT_H

#include "apps/inspect/analysis.h"
#include "apps/inspect/verdict.h"

#include <jansson.h>
#include <stdio.h>

struct inspect_file {
	const char *name;
	const char *format;  /* NULL: not opened */
	const char *stopped; /* why it could not be opened or read to its end; NULL: it was */
	uint64_t stopped_packet, stopped_offset;
	const struct inspect_analysis *analysis;
	const struct inspect_verdict *verdict;
};

struct inspect_style {
	bool colour;        /* the output is a terminal */
	unsigned int lines; /* at most so many of a table and of the events */
};

void inspect_report_text(const struct inspect_file *file, const struct inspect_style *style,
			 FILE *out);
/* NULL without memory. */
json_t *inspect_report_json(const struct inspect_file *file);

#endif
