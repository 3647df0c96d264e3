/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/view/draw.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define CLEAR_TO_END "\033[K"
#define STEPS        8 /* of a column */

/* U+2588 is the full block; U+258F to U+2589 grow from the left, U+2581 to U+2587 from below. */
static const char *const horizontal[STEPS + 1] = {"",       "\u258f", "\u258e", "\u258d", "\u258c",
						  "\u258b", "\u258a", "\u2589", "\u2588"};
static const char *const vertical[STEPS + 1] = {" ",      "\u2581", "\u2582", "\u2583", "\u2584",
						"\u2585", "\u2586", "\u2587", "\u2588"};
static const char ascii_levels[] = " .:-=+*#%@";

static bool is_utf8(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
	const char *value;

	for (unsigned int i = 0; i < 3; i++) {
		value = getenv(names[i]);
		if (value && *value)
			return strstr(value, "UTF-8") || strstr(value, "utf8") ||
			       strstr(value, "utf-8");
	}
	return false;
}

const char *vl_draw_colour(const char *sequence)
{
	const char *no_colour = getenv("NO_COLOR");

	return no_colour && *no_colour ? "" : sequence;
}

static double clamp(double part)
{
	if (!(part > 0))
		return 0;
	return part < 1 ? part : 1;
}

/* Prints the filled part and returns its columns. */
static unsigned int fill(FILE *out, double part, unsigned int width)
{
	unsigned int steps = (unsigned int)(clamp(part) * width * STEPS + 0.5);
	unsigned int whole = steps / STEPS, rest = steps % STEPS;

	if (!is_utf8()) {
		whole += rest >= STEPS / 2;
		for (unsigned int i = 0; i < whole; i++)
			fputc('#', out);
		return whole;
	}
	for (unsigned int i = 0; i < whole; i++)
		fputs(horizontal[STEPS], out);
	fputs(horizontal[rest], out);
	return whole + (rest != 0);
}

void vl_draw_bar(FILE *out, double part, unsigned int width)
{
	for (unsigned int column = fill(out, part, width); column < width; column++)
		fputc(' ', out);
}

static bool is_at(double place, unsigned int column, unsigned int width)
{
	return place > 0 && place <= 1 && (unsigned int)(place * (width - 1)) == column;
}

void vl_draw_gauge(FILE *out, double part, double low, double high, unsigned int width)
{
	for (unsigned int column = fill(out, part, width); column < width; column++)
		fputc(is_at(low, column, width) || is_at(high, column, width) ? '|' : ' ', out);
}

void vl_draw_level(FILE *out, double part)
{
	unsigned int levels = sizeof(ascii_levels) - 2;

	if (is_utf8())
		fputs(vertical[(unsigned int)(clamp(part) * STEPS + 0.5)], out);
	else
		fputc(ascii_levels[(unsigned int)(clamp(part) * levels + 0.5)], out);
}

void vl_draw_end_line(FILE *out)
{
	fputs(CLEAR_TO_END "\n", out);
}
