/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/quantity.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct unit {
	const char *name;
	double factor;
};

static const struct unit rate_units[] = {
	{"b/s", 1},      {"kb/s", 1e3},    {"Mb/s", 1e6},   {"Gb/s", 1e9},
	{"Tb/s", 1e12},  {"bit/s", 1},     {"kbit/s", 1e3}, {"Mbit/s", 1e6},
	{"Gbit/s", 1e9}, {"Tbit/s", 1e12}, {"bps", 1},      {"kbps", 1e3},
	{"Mbps", 1e6},   {"Gbps", 1e9},    {"Tbps", 1e12},  {NULL, 0},
};

static const struct unit size_units[] = {
	{"B", 1},      {"kB", 1e3},       {"KB", 1e3},          {"MB", 1e6}, {"GB", 1e9},
	{"KiB", 1024}, {"MiB", 1048576.}, {"GiB", 1073741824.}, {NULL, 0},
};

static const struct unit duration_units[] = {
	{"ns", 1},   {"us", 1e3}, {"\xc2\xb5s", 1e3}, {"\xce\xbcs", 1e3},
	{"ms", 1e6}, {"s", 1e9},  {"min", 60e9},      {NULL, 0},
};

static const struct unit count_units[] = {{"", 1}, {NULL, 0}};

static const struct {
	const char *what, *example;
	const struct unit *units;
} kinds[] = {
	[VL_QUANTITY_RATE] = {"a rate", "100Gb/s, 250Mb/s or 9600b/s", rate_units},
	[VL_QUANTITY_SIZE] = {"a size", "4096B, 64KiB or 1MB", size_units},
	[VL_QUANTITY_DURATION] = {"a duration", "500ns, 10us, 1.5ms or 2s", duration_units},
	[VL_QUANTITY_RUN_TIME] = {"a duration", "10, 1.5s or 200ms", duration_units},
	[VL_QUANTITY_COUNT] = {"a whole number", "16", count_units},
};

/* The length of the unsigned decimal number at text; 0: there is none. */
static size_t number_length(const char *text)
{
	size_t digits = strspn(text, "0123456789"), length = digits, exponent;

	if (!digits)
		return 0;
	if (text[length] == '.') {
		digits = strspn(text + length + 1, "0123456789");
		if (!digits)
			return 0;
		length += 1 + digits;
	}
	if (text[length] == 'e' || text[length] == 'E') {
		exponent = length + 1;
		if (text[exponent] == '+' || text[exponent] == '-')
			exponent++;
		digits = strspn(text + exponent, "0123456789");
		if (digits)
			length = exponent + digits;
	}
	return length;
}

static int parse_whole(const char *text, uint64_t *value)
{
	char *end;
	int base = text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 16 : 10;

	if (text[0] < '0' || text[0] > '9')
		return -EINVAL;
	errno = 0;
	*value = strtoull(text, &end, base);
	if (*end || (base == 16 && !text[2]))
		return -EINVAL;
	return errno ? -ERANGE : 0;
}

static int check_bounds(enum vl_quantity quantity, const char *text, uint64_t least, uint64_t most,
			uint64_t value, char *error, size_t error_size)
{
	char low[VL_QUANTITY_TEXT], high[VL_QUANTITY_TEXT];

	if (value >= least && value <= most)
		return 0;
	vl_quantity_text(quantity, least, low);
	vl_quantity_text(quantity, most, high);
	snprintf(error, error_size, "'%.40s' is too %s; allowed is %s to %s", text,
		 value < least ? "small" : "large", low, high);
	return -EINVAL;
}

static int parse_count(const char *text, uint64_t least, uint64_t most, uint64_t *value,
		       char *error, size_t error_size)
{
	int status = parse_whole(text, value);

	if (status == -ERANGE) {
		*value = UINT64_MAX;
		if (most == UINT64_MAX) {
			snprintf(error, error_size, "'%.40s' is too large; at most %llu", text,
				 (unsigned long long)most);
			return -EINVAL;
		}
	} else if (status) {
		snprintf(error, error_size, "'%.40s' is not a whole number; write one as %s", text,
			 kinds[VL_QUANTITY_COUNT].example);
		return -EINVAL;
	}
	return check_bounds(VL_QUANTITY_COUNT, text, least, most, *value, error, error_size);
}

/* Says why the text does not begin with a number. */
static int refuse_number(enum vl_quantity quantity, const char *text, char *error,
			 size_t error_size)
{
	if (text[0] == '-' && number_length(text + 1))
		snprintf(error, error_size, "'%.40s' is negative; write %s as %s", text,
			 kinds[quantity].what, kinds[quantity].example);
	else
		snprintf(error, error_size, "'%.40s' is not %s; write one as %s", text,
			 kinds[quantity].what, kinds[quantity].example);
	return -EINVAL;
}

int vl_quantity_parse(enum vl_quantity quantity, const char *text, uint64_t least, uint64_t most,
		      uint64_t *value, char *error, size_t error_size)
{
	const struct unit *unit = kinds[quantity].units;
	const char *name;
	double number;
	size_t length;

	if (quantity == VL_QUANTITY_COUNT)
		return parse_count(text, least, most, value, error, error_size);
	length = number_length(text);
	if (!length)
		return refuse_number(quantity, text, error, error_size);
	number = strtod(text, NULL);
	name = text + length;
	name += strspn(name, " ");
	if (!*name && quantity == VL_QUANTITY_RUN_TIME)
		name = "s";
	if (!*name && number != 0) {
		snprintf(error, error_size, "'%.40s' has no unit; write %s as %s", text,
			 kinds[quantity].what, kinds[quantity].example);
		return -EINVAL;
	}
	if (*name) {
		while (unit->name && strcmp(unit->name, name))
			unit++;
		if (!unit->name) {
			snprintf(error, error_size, "'%.20s' is not a unit of %s; write %s as %s",
				 name, kinds[quantity].what, kinds[quantity].what,
				 kinds[quantity].example);
			return -EINVAL;
		}
	}
	number = round(number * unit->factor);
	*value = number < 0x1p63 ? (uint64_t)number : UINT64_MAX;
	return check_bounds(quantity, text, least, most, *value, error, error_size);
}

int vl_fraction_parse(const char *text, double least, double most, double *value, char *error,
		      size_t error_size)
{
	size_t length = number_length(text);
	const char *rest = text + length;

	rest += strspn(rest, " ");
	if (!length || (*rest && strcmp(rest, "%"))) {
		snprintf(error, error_size, "'%.40s' is not a part of 1; write one as 5%% or 0.05",
			 text);
		return -EINVAL;
	}
	*value = strtod(text, NULL) / (*rest ? 100 : 1);
	if (*value >= least && *value <= most)
		return 0;
	snprintf(error, error_size, "'%.40s' is too %s; allowed is %g%% to %g%%", text,
		 *value < least ? "small" : "large", least * 100, most * 100);
	return -EINVAL;
}

static const char *scaled(double value, const struct unit *units, char text[VL_QUANTITY_TEXT])
{
	while (units[1].name && value >= units[1].factor)
		units++;
	value /= units->factor;
	if (value == floor(value) && value < 1e15)
		snprintf(text, VL_QUANTITY_TEXT, "%.0f%s", value, units->name);
	else
		snprintf(text, VL_QUANTITY_TEXT, "%.*f%s",
			 value < 10    ? 2
			 : value < 100 ? 1
				       : 0,
			 value, units->name);
	return text;
}

const char *vl_quantity_text(enum vl_quantity quantity, uint64_t value, char text[VL_QUANTITY_TEXT])
{
	static const struct unit rates[] = {{"b/s", 1},    {"kb/s", 1e3},  {"Mb/s", 1e6},
					    {"Gb/s", 1e9}, {"Tb/s", 1e12}, {NULL, 0}};
	static const struct unit binary[] = {
		{"B", 1}, {"KiB", 1024}, {"MiB", 1048576.}, {"GiB", 1073741824.}, {NULL, 0}};
	static const struct unit decimal[] = {
		{"B", 1}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {NULL, 0}};
	static const struct unit durations[] = {
		{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {NULL, 0}};

	switch (quantity) {
	case VL_QUANTITY_RATE:
		return scaled((double)value, rates, text);
	case VL_QUANTITY_SIZE:
		return scaled((double)value, value % 1024 ? decimal : binary, text);
	case VL_QUANTITY_DURATION:
	case VL_QUANTITY_RUN_TIME:
		return scaled((double)value, durations, text);
	case VL_QUANTITY_COUNT:
		break;
	}
	snprintf(text, VL_QUANTITY_TEXT, "%llu", (unsigned long long)value);
	return text;
}

/* Levenshtein's distance of two words of at most 40 characters. */
static unsigned int distance(const char *a, const char *b)
{
	unsigned int row[41], diagonal, above, best;
	size_t length_a = strlen(a), length_b = strlen(b);

	if (length_a > 40 || length_b > 40)
		return 41;
	for (unsigned int j = 0; j <= length_b; j++)
		row[j] = j;
	for (unsigned int i = 1; i <= length_a; i++) {
		diagonal = row[0];
		row[0] = i;
		for (unsigned int j = 1; j <= length_b; j++) {
			above = row[j];
			best = diagonal + (a[i - 1] != b[j - 1]);
			if (above + 1 < best)
				best = above + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
			diagonal = above;
		}
	}
	return row[length_b];
}

const char *vl_nearest(const char *typed, const char *const *candidates)
{
	const char *nearest = NULL;
	unsigned int least = UINT32_MAX, now;

	for (; *candidates; candidates++) {
		now = distance(typed, *candidates);
		/* Words that differ in the half of their letters are others, not misspelt. */
		if (now < least && now <= 1 + strlen(*candidates) / 3 &&
		    (*typed == **candidates || 2 * now < strlen(*candidates))) {
			least = now;
			nearest = *candidates;
		}
	}
	return nearest;
}
