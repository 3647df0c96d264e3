/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Drawings inside an HTML page: axes with sensible ticks, lines, bands, cells. Colours come from
 * the page's style sheet (html.c) by class, so that a drawing is read in light and dark and on
 * paper: "s0" to "s7" are series, each with a colour and a dash of its own; "heat" is the colour of
 * cells, by opacity.
 */
#ifndef VERBLINE_REPORT_SVG_H
#define VERBLINE_REPORT_SVG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define VL_SVG_SERIES 8u
#define VL_AXIS_TICKS 32

/* What the numbers of an axis are, for its ticks. */
enum vl_axis_unit {
	VL_AXIS_PLAIN, /* as they are; the title says the unit */
	VL_AXIS_TIME,  /* ns: "10 us" */
	VL_AXIS_PART,  /* 0..1: "50 %" */
};

struct vl_axis {
	double low, high; /* what lies at the ends; of a logarithmic axis above 0 */
	double from, to;  /* the ends, in the drawing's coordinates */
	bool is_log;
	enum vl_axis_unit unit;
	double ticks[VL_AXIS_TICKS];
	int tick_count;
};

/* Chooses ends at or beyond low and high, and ticks. Equal or senseless ends are widened. */
void vl_axis_fit(struct vl_axis *axis, double low, double high, bool is_log);
/* Where a value lies; values outside lie at the ends. */
double vl_axis_place(const struct vl_axis *axis, double value);

/* Text as HTML and SVG take it, whatever it holds: markup escaped, control characters and what is
 * no UTF-8 replaced. */
void vl_html_text(FILE *out, const char *text);
void vl_html_printf(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A drawing of so many pixels; title: what it shows, for who cannot see it. */
void vl_svg_begin(FILE *out, int width, int height, const char *title);
void vl_svg_end(FILE *out);
/* anchor: "start", "middle" or "end"; class: of the style sheet, or "". */
void vl_svg_text(FILE *out, double x, double y, const char *anchor, const char *class,
		 const char *format, ...) __attribute__((format(printf, 6, 7)));
/* The same turned by a quarter, for the title of a vertical axis. */
void vl_svg_text_upward(FILE *out, double x, double y, const char *text);
/* Grid, ticks and titles of both axes. NULL: no title. */
void vl_svg_axes(FILE *out, const struct vl_axis *x, const struct vl_axis *y, const char *x_title,
		 const char *y_title);
void vl_svg_line(FILE *out, double x1, double y1, double x2, double y2, const char *class);
/* A rectangle with a text that appears where the pointer rests; opacity 0..1. */
void vl_svg_cell(FILE *out, double x, double y, double width, double height, const char *class,
		 double opacity, const char *tip);

/* A path: begin, points, end. */
void vl_svg_path_begin(FILE *out, const char *class, unsigned int series);
void vl_svg_path_point(FILE *out, bool is_first, double x, double y);
void vl_svg_path_end(FILE *out);

#endif
