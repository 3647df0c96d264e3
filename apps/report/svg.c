/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/report/svg.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Ticks of a linear axis: about so many. */
#define LINEAR_TICKS 5
/* A logarithmic axis of fewer decades has ticks at 2 and 5 too. */
#define FEW_DECADES 3

/* ---- Text ----------------------------------------------------------------------------------- */

/* Length of the UTF-8 character that starts there; 0: it is none. */
static size_t utf8_length(const unsigned char *text)
{
	static const unsigned int least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t length = *text < 0x80             ? 1
			: (*text & 0xe0) == 0xc0 ? 2
			: (*text & 0xf0) == 0xe0 ? 3
			: (*text & 0xf8) == 0xf0 ? 4
						 : 0;
	unsigned int value = length == 1 ? *text : *text & (0x7fu >> length);

	for (size_t i = 1; i < length; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		value = value << 6 | (text[i] & 0x3f);
	}
	if (!length || value < least[length] || value > 0x10ffff ||
	    (value >= 0xd800 && value < 0xe000) || (value >= 0x80 && value < 0xa0) ||
	    (value & 0xfffe) == 0xfffe)
		return 0;
	return length;
}

void vl_html_text(FILE *out, const char *text)
{
	size_t length;

	for (; *text; text += length) {
		length = utf8_length((const unsigned char *)text);
		if (!length) {
			length = 1;
			fputs("\xef\xbf\xbd", out);
		} else if (*text == '&') {
			fputs("&amp;", out);
		} else if (*text == '<') {
			fputs("&lt;", out);
		} else if (*text == '>') {
			fputs("&gt;", out);
		} else if (*text == '"') {
			fputs("&quot;", out);
		} else if (*text == '\'') {
			fputs("&#39;", out);
		} else if ((unsigned char)*text < 0x20 && *text != '\n' && *text != '\t') {
			fputs("\xef\xbf\xbd", out);
		} else if (*text == 0x7f) {
			fputs("\xef\xbf\xbd", out);
		} else {
			fwrite(text, 1, length, out);
		}
	}
}

static void print_text(FILE *out, const char *format, va_list arguments)
{
	char *text;

	if (vasprintf(&text, format, arguments) < 0)
		return;
	vl_html_text(out, text);
	free(text);
}

void vl_html_printf(FILE *out, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	print_text(out, format, arguments);
	va_end(arguments);
}

/* ---- Axes ----------------------------------------------------------------------------------- */

static void add_tick(struct vl_axis *axis, double value)
{
	if (axis->tick_count < VL_AXIS_TICKS)
		axis->ticks[axis->tick_count++] = value;
}

static void fit_linear(struct vl_axis *axis, double low, double high)
{
	double rough = (high - low) / LINEAR_TICKS, power = pow(10, floor(log10(rough))), step;
	double part = rough / power;

	step = power * (part <= 1 ? 1 : part <= 2 ? 2 : part <= 2.5 ? 2.5 : part <= 5 ? 5 : 10);
	axis->low = floor(low / step + 1e-9) * step;
	axis->high = ceil(high / step - 1e-9) * step;
	for (int i = 0; axis->low + i * step <= axis->high + step / 2; i++)
		add_tick(axis, axis->low + i * step);
}

static void fit_log(struct vl_axis *axis, double low, double high)
{
	static const double parts[] = {1, 2, 5};
	double first = floor(log10(low) + 1e-9), last = ceil(log10(high) - 1e-9), value;
	bool is_fine = log10(high) - log10(low) <= FEW_DECADES;
	double step = ceil((last - first) / 12);

	axis->low = low;
	axis->high = high;
	if (step < 1)
		step = 1;
	for (double decade = first; decade <= last; decade += step) {
		for (int i = 0; i < (is_fine ? 3 : 1); i++) {
			value = parts[i] * pow(10, decade);
			if (value >= low * 0.999 && value <= high * 1.001)
				add_tick(axis, value);
		}
	}
}

void vl_axis_fit(struct vl_axis *axis, double low, double high, bool is_log)
{
	axis->is_log = is_log;
	axis->tick_count = 0;
	if (!isfinite(low) || !isfinite(high) || high < low)
		low = high = is_log ? 1 : 0;
	if (is_log && low <= 0)
		low = high > 0 ? high / 10 : 1;
	if (is_log && high / low < 2) {
		low /= 2;
		high = high < low ? low * 4 : high * 2;
	}
	if (!is_log && high - low <= fabs(high) * 1e-9)
		high = low + (fabs(low) > 0 ? fabs(low) : 1);
	if (is_log)
		fit_log(axis, low, high);
	else
		fit_linear(axis, low, high);
}

double vl_axis_place(const struct vl_axis *axis, double value)
{
	double part;

	if (!(value > axis->low))
		part = 0;
	else if (value >= axis->high)
		part = 1;
	else if (axis->is_log)
		part = log(value / axis->low) / log(axis->high / axis->low);
	else
		part = (value - axis->low) / (axis->high - axis->low);
	return axis->from + part * (axis->to - axis->from);
}

static void tick_text(const struct vl_axis *axis, double value, char *text, size_t size)
{
	static const char *const units[] = {"ns", "\xc2\xb5s", "ms", "s"};
	unsigned int unit = 0;

	switch (axis->unit) {
	case VL_AXIS_TIME:
		for (; unit < 3 && fabs(value) >= 999.5; unit++)
			value /= 1000;
		snprintf(text, size, "%.4g %s", value, units[unit]);
		break;
	case VL_AXIS_PART:
		snprintf(text, size, "%.4g %%", value * 100);
		break;
	default:
		snprintf(text, size, fabs(value) < 1e6 ? "%.6g" : "%.3g",
			 fabs(value) < 1e-12 ? 0 : value);
		break;
	}
}

/* ---- Drawings ------------------------------------------------------------------------------- */

void vl_svg_begin(FILE *out, int width, int height, const char *title)
{
	fprintf(out,
		"<svg viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\" "
		"aria-label=\"",
		width, height, width, height);
	vl_html_text(out, title);
	fputs("\">\n", out);
}

void vl_svg_end(FILE *out)
{
	fputs("</svg>\n", out);
}

void vl_svg_text(FILE *out, double x, double y, const char *anchor, const char *class,
		 const char *format, ...)
{
	va_list arguments;

	fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" class=\"%s\">", x, y, anchor,
		class);
	va_start(arguments, format);
	print_text(out, format, arguments);
	va_end(arguments);
	fputs("</text>\n", out);
}

void vl_svg_text_upward(FILE *out, double x, double y, const char *text)
{
	fprintf(out,
		"<text transform=\"translate(%.1f %.1f) rotate(-90)\" text-anchor=\"middle\" "
		"class=\"axis-title\">",
		x, y);
	vl_html_text(out, text);
	fputs("</text>\n", out);
}

void vl_svg_line(FILE *out, double x1, double y1, double x2, double y2, const char *class)
{
	fprintf(out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"%s\"/>\n", x1,
		y1, x2, y2, class);
}

void vl_svg_cell(FILE *out, double x, double y, double width, double height, const char *class,
		 double opacity, const char *tip)
{
	fprintf(out,
		"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" class=\"%s\" "
		"fill-opacity=\"%.3f\">",
		x, y, width > 0 ? width : 0, height > 0 ? height : 0, class,
		opacity < 0   ? 0
		: opacity > 1 ? 1
			      : opacity);
	if (tip) {
		fputs("<title>", out);
		vl_html_text(out, tip);
		fputs("</title>", out);
	}
	fputs("</rect>\n", out);
}

void vl_svg_axes(FILE *out, const struct vl_axis *x, const struct vl_axis *y, const char *x_title,
		 const char *y_title)
{
	char text[48];
	double at;

	for (int i = 0; i < y->tick_count; i++) {
		at = vl_axis_place(y, y->ticks[i]);
		tick_text(y, y->ticks[i], text, sizeof(text));
		vl_svg_line(out, x->from, at, x->to, at, "grid");
		vl_svg_text(out, x->from - 6, at + 4, "end", "tick", "%s", text);
	}
	for (int i = 0; i < x->tick_count; i++) {
		at = vl_axis_place(x, x->ticks[i]);
		tick_text(x, x->ticks[i], text, sizeof(text));
		vl_svg_line(out, at, y->from, at, y->to, "grid");
		vl_svg_text(out, at, y->from + 16, "middle", "tick", "%s", text);
	}
	vl_svg_line(out, x->from, y->from, x->to, y->from, "frame");
	vl_svg_line(out, x->from, y->from, x->from, y->to, "frame");
	if (x_title)
		vl_svg_text(out, (x->from + x->to) / 2, y->from + 34, "middle", "axis-title", "%s",
			    x_title);
	if (y_title)
		vl_svg_text_upward(out, x->from - 46, (y->from + y->to) / 2, y_title);
}

void vl_svg_path_begin(FILE *out, const char *class, unsigned int series)
{
	fprintf(out, "<path class=\"%s s%u\" d=\"", class, series % VL_SVG_SERIES);
}

void vl_svg_path_point(FILE *out, bool is_first, double x, double y)
{
	fprintf(out, "%c%.1f %.1f", is_first ? 'M' : 'L', x, y);
}

void vl_svg_path_end(FILE *out)
{
	fputs("\"/>\n", out);
}
