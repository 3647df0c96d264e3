/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Mixes and rates as people write them. */

#include "apps/gen/config.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ITEM 80u

const char *const gen_verb_names[] = {
#define VERB_NAME(enumerator, name) name,
	VL_FLOW_VERBS(VERB_NAME)
#undef VERB_NAME
		NULL};

static char *trim(char *text)
{
	size_t length;

	text += strspn(text, " \t");
	for (length = strlen(text); length && isspace((unsigned char)text[length - 1]); length--)
		text[length - 1] = '\0';
	return text;
}

static int parse_size(const char *text, uint32_t *size, char *error, size_t error_size)
{
	char why[200];
	uint64_t value;
	bool is_plain = *text && !text[strspn(text, "0123456789")];
	char with_unit[MAX_ITEM + 2];

	/* Bytes need no unit here, as perftest takes them. */
	snprintf(with_unit, sizeof(with_unit), "%s%s", text, is_plain ? "B" : "");
	if (vl_quantity_parse(VL_QUANTITY_SIZE, with_unit, 1, VL_MAX_MESSAGE, &value, why,
			      sizeof(why))) {
		snprintf(error, error_size, "size %s", why);
		return -EINVAL;
	}
	*size = (uint32_t)value;
	return 0;
}

static int parse_verb(const char *text, enum vl_flow_verb *verb, char *error, size_t error_size)
{
	const char *nearest;

	for (unsigned int i = 0; gen_verb_names[i]; i++) {
		if (!strcmp(gen_verb_names[i], text)) {
			*verb = (enum vl_flow_verb)i;
			return 0;
		}
	}
	nearest = vl_nearest(text, gen_verb_names);
	snprintf(error, error_size, "verb '%.40s' is unknown%s%s%s", text,
		 nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
	return -EINVAL;
}

/* [VERB:]SIZE[..SIZE][*WEIGHT] */
static int parse_item(char *item, struct vl_mix_entry *entry, char *error, size_t error_size)
{
	char *star = strchr(item, '*'), *colon = strchr(item, ':'), *dots;
	char why[200];
	uint64_t weight;
	int status = 0;

	if (star) {
		*star++ = '\0';
		if (vl_quantity_parse(VL_QUANTITY_COUNT, trim(star), 1, 1000000, &weight, why,
				      sizeof(why))) {
			snprintf(error, error_size, "weight %s", why);
			return -EINVAL;
		}
		entry->weight = (uint32_t)weight;
	}
	if (colon) {
		*colon = '\0';
		status = parse_verb(trim(item), &entry->verb, error, error_size);
		item = colon + 1;
	}
	item = trim(item);
	if (!status && !*item && vl_flow_verb_is_atomic(entry->verb)) {
		entry->least = entry->most = VL_FLOW_ATOMIC_SIZE;
		return 0;
	}
	dots = strstr(item, "..");
	if (dots)
		*dots = '\0';
	if (!status)
		status = parse_size(trim(item), &entry->least, error, error_size);
	entry->most = entry->least;
	if (!status && dots)
		status = parse_size(trim(dots + 2), &entry->most, error, error_size);
	if (!status && entry->most < entry->least) {
		snprintf(error, error_size, "a range must not end before it begins");
		status = -EINVAL;
	}
	return status;
}

int gen_mix_parse(const char *text, enum vl_flow_verb verb, struct vl_mix_config *mix, char *error,
		  size_t error_size)
{
	char item[MAX_ITEM];
	size_t length;
	int status;

	mix->count = 0;
	for (;;) {
		length = strcspn(text, ",");
		if (length >= sizeof(item) || mix->count == VL_MIX_MAX_ENTRIES) {
			snprintf(error, error_size,
				 "up to %u messages of less than %u characters are taken",
				 VL_MIX_MAX_ENTRIES, MAX_ITEM);
			return -EINVAL;
		}
		memcpy(item, text, length);
		item[length] = '\0';
		mix->entries[mix->count] = (struct vl_mix_entry){.verb = verb, .weight = 1};
		status = parse_item(item, &mix->entries[mix->count], error, error_size);
		if (status)
			return status;
		mix->count++;
		if (!text[length])
			return 0;
		text += length + 1;
	}
}

int gen_rate_parse(const char *text, struct gen_rate *rate, char *error, size_t error_size)
{
	size_t length = strlen(text);
	char number[32];
	int status;

	*rate = (struct gen_rate){0};
	if (length && text[length - 1] == '%') {
		status = vl_fraction_parse(text, 0, 1, &rate->part, error, error_size);
		if (!status && !(rate->part > 0)) {
			snprintf(error, error_size, "0%% of the line is no rate");
			status = -EINVAL;
		}
		return status;
	}
	if (length > 2 && length < sizeof(number) && !strcmp(text + length - 2, "/s") &&
	    strspn(text, "0123456789") == length - 2) {
		snprintf(number, sizeof(number), "%.*s", (int)length - 2, text);
		rate->is_messages = true;
		return vl_quantity_parse(VL_QUANTITY_COUNT, number, 1, UINT64_C(1000000000),
					 &rate->value, error, error_size);
	}
	return vl_quantity_parse(VL_QUANTITY_RATE, text, 1000, UINT64_C(1600000000000),
				 &rate->value, error, error_size);
}
