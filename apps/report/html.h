/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * The shell of a report page: complete in itself (no network access, nothing needed beside it),
 * readable in light and dark, on paper, without colour and without scripts.
 */
#ifndef VERBLINE_REPORT_HTML_H
#define VERBLINE_REPORT_HTML_H

#include "apps/report/svg.h"

#include <stdio.h>

/* What a page may hold beside text: title goes into the head. */
void vl_html_begin(FILE *out, const char *title);
void vl_html_end(FILE *out);
/* A heading that starts a section, and the end of one. id: of the place, for links. */
void vl_html_section(FILE *out, const char *id, const char *heading);
void vl_html_section_end(FILE *out);
/* A paragraph. */
void vl_html_paragraph(FILE *out, const char *class, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* A sample of a series' line, then its name. */
void vl_html_key(FILE *out, unsigned int series, const char *name);

#endif
