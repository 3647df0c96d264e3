/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Bars and history in text. Block characters where the locale is UTF-8, else ASCII; colours unless
 * NO_COLOR is set (https://no-color.org). */
#ifndef VERBLINE_VIEW_DRAW_H
#define VERBLINE_VIEW_DRAW_H

#include <stdio.h>

/* ECMA-48 */
#define VL_HIDE_CURSOR      "\033[?25l"
#define VL_SHOW_CURSOR      "\033[?25h"
#define VL_CURSOR_UP_FORMAT "\033[%uF"
#define VL_CLEAR_BELOW      "\033[J"

#define VL_BOLD   vl_draw_colour("\033[1m")
#define VL_PLAIN  vl_draw_colour("\033[0m")
#define VL_CYAN   vl_draw_colour("\033[36m")
#define VL_YELLOW vl_draw_colour("\033[33m")
#define VL_RED    vl_draw_colour("\033[31;1m")

/* The sequence, or "" without colours. */
const char *vl_draw_colour(const char *sequence);
/* part: 0..1 of width columns, filled from the left; all columns are printed. */
void vl_draw_bar(FILE *out, double part, unsigned int width);
/* The same with two places shown in the empty part; those not above 0 or above 1 are not. */
void vl_draw_gauge(FILE *out, double part, double low, double high, unsigned int width);
/* One column whose height is part: 0..1. */
void vl_draw_level(FILE *out, double part);
/* Clears the rest of the line and begins the next. */
void vl_draw_end_line(FILE *out);

#endif
