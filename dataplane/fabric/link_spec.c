/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/fabric/link_spec.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WORDS     12
#define MAX_WORD      16
#define LONGEST_METRE 100000.0

/* What is written, in lower case, and what has been found wrong with it. */
struct text {
	char words[MAX_WORDS][MAX_WORD];
	unsigned int count, next;
	char *error;
	size_t error_size;
};

/* One end as written: which generations it may be, and its form factor. */
struct end {
	const char *speed;
	unsigned int width; /* InfiniBand: lanes; 0: not given */
	const struct vl_link_form_factor *form_factor;
};

/* The medium as written. */
struct cable {
	const struct vl_link_medium *medium;
	unsigned int lanes; /* 0: not given */
	unsigned int times; /* "2x": so many fibre pairs, each of lanes */
	double length;
};

__attribute__((format(printf, 2, 3))) static int refuse(struct text *text, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text->error, text->error_size, format, arguments);
	va_end(arguments);
	return -EINVAL;
}

/* ---- Words ------------------------------------------------------------------------------- */

static int split(struct text *text, const char *from)
{
	size_t length;

	for (;;) {
		from += strspn(from, " \t,");
		length = strcspn(from, " \t,");
		if (!length)
			return 0;
		if (length >= MAX_WORD || text->count == MAX_WORDS)
			return refuse(text,
				      "'%.20s...' is not a link; write it as '800g osfp dr8 120 m'",
				      from);
		for (size_t i = 0; i < length; i++)
			text->words[text->count][i] = (char)tolower((unsigned char)from[i]);
		text->words[text->count++][length] = 0;
		from += length;
	}
}

/* "": no more. */
static const char *peek(const struct text *text)
{
	return text->next < text->count ? text->words[text->next] : "";
}

static bool is_generation(const char *word)
{
	const struct vl_link_generation *generation;

	for (unsigned int n = 0; (generation = vl_link_generation(n)); n++) {
		if (!strcmp(generation->name, word))
			return true;
	}
	return false;
}

static void list_generations(char *out, size_t size)
{
	const struct vl_link_generation *generation;
	const char *last = "";
	size_t used = 0;

	for (unsigned int n = 0; (generation = vl_link_generation(n)); n++) {
		if (!strcmp(generation->name, last))
			continue;
		last = generation->name;
		used += (size_t)snprintf(out + used, used < size ? size - used : 0, "%s%s",
					 n ? ", " : "", last);
		if (used >= size)
			return;
	}
}

static int take_end(struct text *text, struct end *end)
{
	const struct vl_link_form_factor *form_factor;
	char known[160] = "";
	size_t used = 0;

	if (!is_generation(peek(text))) {
		list_generations(known, sizeof(known));
		return refuse(text, "'%s' is no speed of a link; known are %s", peek(text), known);
	}
	end->speed = text->words[text->next++];
	if (isdigit((unsigned char)*peek(text)) && strchr(peek(text), 'x'))
		end->width = (unsigned int)strtoul(text->words[text->next++], NULL, 10);
	for (unsigned int n = 0; (form_factor = vl_link_form_factor(n)); n++) {
		if (!strcmp(form_factor->name, peek(text))) {
			end->form_factor = form_factor;
			text->next++;
			return 0;
		}
		used += (size_t)snprintf(known + used,
					 used < sizeof(known) ? sizeof(known) - used : 0, "%s%s",
					 n ? ", " : "", form_factor->name);
	}
	if (!*peek(text))
		return refuse(text, "the form factor is missing after %s; known are %s", end->speed,
			      known);
	return refuse(text, "'%s' is no form factor; known are %s", peek(text), known);
}

/* "dr8", "2xfr4", "aoc". */
static int take_medium(struct text *text, struct cable *cable)
{
	const char *word = peek(text), *name = word;
	const struct vl_link_medium *medium;
	char *end;

	cable->times = 1;
	if (isdigit((unsigned char)*word)) {
		cable->times = (unsigned int)strtoul(word, &end, 10);
		name = *end == 'x' ? end + 1 : word;
	}
	for (unsigned int n = 0; (medium = vl_link_medium(n)); n++) {
		size_t length = strlen(medium->name);

		if (strncmp(medium->name, name, length))
			continue;
		cable->lanes = (unsigned int)strtoul(name + length, &end, 10);
		if (*end || (!isdigit((unsigned char)name[length]) && name[length]))
			continue;
		if (name[length] && (!medium->takes_lanes || !cable->lanes || cable->lanes > 16))
			return refuse(text, "'%s': %s", word,
				      medium->takes_lanes ? "1 to 16 lanes follow the medium"
							  : "no lane count follows a cable's name");
		if (!cable->times || cable->times > 4)
			return refuse(text, "'%s': 1x to 4x go before the medium", word);
		if (!cable->lanes)
			cable->lanes = 1;
		cable->medium = medium;
		text->next++;
		return 0;
	}
	return refuse(text,
		      "'%s' is no medium; known are dac, acc, aoc, sr, vr, dr, cwdm, fr and lr, "
		      "the optical ones with their lanes, as dr8",
		      word);
}

static int take_length(struct text *text, struct cable *cable)
{
	const char *word = peek(text), *unit;
	char *end;

	if (!*word)
		return refuse(text, "the length is missing at the end, as 3 m or 2 km");
	cable->length = strtod(word, &end);
	/* A plain number: no exponents, no hexadecimal, no infinities. */
	if (end == word || end != word + strspn(word, "0123456789."))
		return refuse(text, "'%s' is no length; write it as 3 m or 2 km", word);
	text->next++;
	unit = *end ? end : peek(text);
	if (!*end && *unit)
		text->next++;
	if (!strcmp(unit, "km"))
		cable->length *= 1000;
	else if (strcmp(unit, "m"))
		return refuse(text, "'%s' is no unit of a length; write m or km", unit);
	if (!(cable->length > 0 && cable->length <= LONGEST_METRE))
		return refuse(text,
			      "a length of %g m is not possible; it is above 0 and at most 100 km",
			      cable->length);
	if (text->next < text->count)
		return refuse(text, "'%s' is too much; the length ends a link", peek(text));
	return 0;
}

/* ---- What is possible -------------------------------------------------------------------- */

/* The nominal total of a speed, Gb/s, for messages. */
static uint64_t gigabits(const struct vl_link_generation *generation)
{
	return (generation->rate + 500000000) / 1000000000;
}

static bool fits(const struct vl_link_generation *generation,
		 const struct vl_link_form_factor *form_factor)
{
	return generation->lanes <= form_factor->lanes &&
	       generation->lane_rate <= form_factor->lane_rate;
}

/* Optical lanes slower than the electrical ones do not exist; faster ones are combined by the
 * module. A medium without a number has one lane. */
static bool carries(const struct vl_link_generation *generation, const struct cable *cable)
{
	unsigned int lanes = cable->lanes * cable->times;
	uint32_t total = generation->lanes *
			 vl_link_lane_class_rate(vl_link_lane_class(generation->lane_rate));

	if (!cable->medium->takes_lanes)
		return true;
	return total % lanes == 0 && lanes <= generation->lanes &&
	       total / lanes <= vl_link_lane_class_rate(VL_LANE_CLASSES - 1);
}

/* The way to make the speed that form factor and medium allow, best one without a gearbox; NULL:
 * none. *fitting is one that the form factor allows. The lanes of a cable are those of both ends.
 */
static const struct vl_link_generation *choose(const struct end *end, const struct end *far_end,
					       const struct cable *cable,
					       const struct vl_link_generation **fitting,
					       const struct vl_link_generation **any)
{
	const struct vl_link_generation *generation, *best = NULL;

	*fitting = *any = NULL;
	for (unsigned int n = 0; (generation = vl_link_generation(n)); n++) {
		if (strcmp(generation->name, end->speed))
			continue;
		if (generation->technology == VL_LINK_TECHNOLOGY_INFINIBAND || end->width) {
			if (generation->lanes != (end->width ? end->width : 4))
				continue;
		}
		if (!*any)
			*any = generation;
		if (!fits(generation, end->form_factor))
			continue;
		if (!*fitting)
			*fitting = generation;
		if (carries(generation, cable) &&
		    (cable->medium->takes_lanes || fits(generation, far_end->form_factor)) &&
		    (!best || generation->lanes == cable->lanes * cable->times))
			best = generation;
	}
	return best;
}

static int refuse_form_factor(struct text *text, const struct end *end,
			      const struct vl_link_generation *any)
{
	const struct vl_link_form_factor *form = end->form_factor;
	const char *modulation = form->lane_rate <= 25 ? "NRZ " : "";

	if (!any)
		return refuse(text, "%s does not exist with %u lanes", end->speed, end->width);
	return refuse(
		text,
		"%s has %u %slane%s of at most %u Gb/s, %u Gb/s together: it cannot carry %s, "
		"which takes %u x %u Gb/s %s%s",
		form->title, form->lanes, modulation, form->lanes == 1 ? "" : "s", form->lane_rate,
		form->lanes * form->lane_rate, end->speed, any->lanes, any->lane_rate,
		vl_link_modulation_name(any->modulation),
		any->technology == VL_LINK_TECHNOLOGY_ETHERNET ? " or fewer, faster lanes" : "");
}

static int refuse_lanes(struct text *text, const struct end *end, const struct cable *cable,
			const struct vl_link_generation *fitting)
{
	if (!cable->medium->takes_lanes)
		return refuse(text,
			      "%s joins the same lanes at both ends, and the ends have no way in "
			      "common to make %s",
			      cable->medium->name, end->speed);
	return refuse(text,
		      "%u optical lane%s of %s cannot carry %s from the %u electrical lanes of %s; "
		      "%s%u would",
		      cable->lanes * cable->times, cable->lanes * cable->times == 1 ? "" : "s",
		      cable->medium->name, end->speed, fitting->lanes, end->form_factor->title,
		      cable->medium->name, fitting->lanes);
}

static int check_reach(struct text *text, struct vl_link_spec *spec, const struct cable *cable)
{
	const struct vl_link_generation *generation = spec->generation;
	unsigned int lane_class = vl_link_lane_class(generation->lane_rate);
	uint32_t reach;

	spec->medium = cable->medium;
	spec->medium_lanes = generation->lanes;
	if (cable->medium->takes_lanes) {
		spec->medium_lanes = (uint8_t)(cable->lanes * cable->times);
		lane_class =
			vl_link_lane_class(generation->lanes * vl_link_lane_class_rate(lane_class) /
					   spec->medium_lanes);
	}
	spec->medium_lane_rate = vl_link_lane_class_rate(lane_class);
	reach = cable->medium->reach[lane_class];
	if (!reach)
		return refuse(text, "%s does not exist at %u Gb/s a lane", cable->medium->name,
			      spec->medium_lane_rate);
	if (cable->length > reach)
		return refuse(text, "%s (%s) reaches %u m at %u Gb/s a lane, not %g m",
			      cable->medium->name, cable->medium->title, reach,
			      spec->medium_lane_rate, cable->length);
	spec->length = cable->length;
	return 0;
}

static void work_out_delay(struct vl_link_spec *spec)
{
	const struct vl_link_medium *medium = spec->medium;
	bool is_pam4 =
		spec->generation->modulation == VL_MODULATION_PAM4 || spec->medium_lane_rate >= 50;
	double metre =
		medium->fibre == VL_FIBRE_COPPER ? VL_COPPER_PS_PER_METRE : VL_FIBRE_PS_PER_METRE;

	spec->rate = spec->generation->rate;
	spec->propagation = (uint32_t)(spec->length * metre / 1000 + 0.5);
	spec->fec_latency = spec->generation->fec_latency;
	spec->module_latency = 2 * (is_pam4 ? medium->latency_pam4 : medium->latency_nrz);
	spec->delay = spec->propagation + spec->fec_latency + spec->module_latency;
}

static int check_ends(struct text *text, const struct end ends[2],
		      const struct vl_link_generation *const generations[2])
{
	if (generations[0]->technology != generations[1]->technology)
		return refuse(text,
			      "one end is %s (%s), the other %s (%s): they do not understand "
			      "each other, whatever the cable",
			      vl_link_technology_name(generations[0]->technology), ends[0].speed,
			      vl_link_technology_name(generations[1]->technology), ends[1].speed);
	if (generations[0]->rate != generations[1]->rate)
		return refuse(text,
			      "the ends run at %llu and %llu Gb/s; without a breakout both need "
			      "the same rate",
			      (unsigned long long)gigabits(generations[0]),
			      (unsigned long long)gigabits(generations[1]));
	return 0;
}

static int take_all(struct text *text, struct end ends[2], struct cable *cable)
{
	int status = take_end(text, &ends[0]);

	if (status)
		return status;
	ends[1] = ends[0];
	if (!strcmp(peek(text), "-")) {
		text->next++;
		ends[1].width = 0;
		status = take_end(text, &ends[1]);
		if (status)
			return status;
	}
	status = take_medium(text, cable);
	return status ? status : take_length(text, cable);
}

int vl_link_spec_parse(const char *from, struct vl_link_spec *spec, char *error, size_t error_size)
{
	const struct vl_link_generation *chosen[2], *fitting[2], *any[2];
	struct text text = {.error = error, .error_size = error_size};
	struct end ends[2] = {0};
	struct cable cable = {0};
	int status = split(&text, from);

	memset(spec, 0, sizeof(*spec));
	if (!status)
		status = take_all(&text, ends, &cable);
	for (unsigned int i = 0; !status && i < 2; i++) {
		chosen[i] = choose(&ends[i], &ends[1 - i], &cable, &fitting[i], &any[i]);
		if (!fitting[i])
			status = refuse_form_factor(&text, &ends[i], any[i]);
	}
	if (!status)
		status = check_ends(&text, ends,
				    (const struct vl_link_generation *[]){fitting[0], fitting[1]});
	for (unsigned int i = 0; !status && i < 2; i++) {
		if (!chosen[i])
			status = refuse_lanes(&text, &ends[i], &cable, fitting[i]);
	}
	if (status)
		return status;
	spec->generation = chosen[0];
	spec->form_factors[0] = ends[0].form_factor;
	spec->form_factors[1] = ends[1].form_factor;
	status = check_reach(&text, spec, &cable);
	if (!status)
		work_out_delay(spec);
	return status;
}
