/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Rows of a schema's table, for the files that define one. */
#ifndef VERBLINE_SCENARIO_FIELD_H
#define VERBLINE_SCENARIO_FIELD_H

#include "apps/scenario/schema.h"

#include <stddef.h>

#define COUNT(fields) (sizeof(fields) / sizeof((fields)[0]))
#define SECOND        UINT64_C(1000000000)

#define TEXT_FIELD(key, type, member, text)                                                        \
	{                                                                                          \
		.name = key, .kind = VL_FIELD_TEXT, .offset = offsetof(type, member), .help = text \
	}
#define NAME_FIELD(key, type, member, text, required)                                              \
	{                                                                                          \
		.name = key, .kind = VL_FIELD_NAME, .offset = offsetof(type, member),              \
		.help = text, .is_required = required                                              \
	}
#define QUANTITY_FIELD(key, type, member, unit, low, high, text)                                   \
	{                                                                                          \
		.name = key, .kind = VL_FIELD_QUANTITY, .offset = offsetof(type, member),          \
		.help = text, .quantity = VL_QUANTITY_##unit, .least = low, .most = high           \
	}
#define FRACTION_FIELD(key, type, member, text)                                                    \
	{                                                                                          \
		.name = key, .kind = VL_FIELD_FRACTION, .offset = offsetof(type, member),          \
		.help = text                                                                       \
	}
#define CHOICE_FIELD(key, type, member, names, text)                                               \
	{                                                                                          \
		.name = key, .kind = VL_FIELD_CHOICE, .offset = offsetof(type, member),            \
		.help = text, .choices = names                                                     \
	}
#define MAPPING_FIELD(key, type, member, inner, text)                                              \
	{                                                                                          \
		.name = key, .kind = VL_FIELD_MAPPING, .offset = offsetof(type, member),           \
		.help = text, .schema = inner                                                      \
	}
#define LIST_FIELD(key, type, member, inner, low, high, text)                                      \
	{                                                                                          \
		.name = key, .kind = VL_FIELD_LIST, .offset = offsetof(type, member),              \
		.help = text, .is_required = (low) > 0, .schema = inner, .least = low,             \
		.most = high                                                                       \
	}
#define TEXTS_FIELD(key, type, member, low, high, text)                                            \
	{                                                                                          \
		.name = key, .kind = VL_FIELD_TEXTS, .offset = offsetof(type, member),             \
		.help = text, .least = low, .most = high                                           \
	}
/* "auto" stands for VL_AUTOMATIC. */
#define AUTOMATIC_FIELD(key, type, member, unit, low, high, text)                                  \
	{                                                                                          \
		.name = key, .kind = VL_FIELD_QUANTITY, .offset = offsetof(type, member),          \
		.help = text, .quantity = VL_QUANTITY_##unit, .least = low, .most = high,          \
		.takes_auto = true                                                                 \
	}
#define RATIO_FIELD(key, type, member, text)                                                       \
	{                                                                                          \
		.name = key, .kind = VL_FIELD_RATIO, .offset = offsetof(type, member),             \
		.help = text                                                                       \
	}
#define TRUTH_FIELD(key, type, member, text)                                                       \
	{                                                                                          \
		.name = key, .kind = VL_FIELD_TRUTH, .offset = offsetof(type, member),             \
		.help = text                                                                       \
	}
/* Not required by itself: a check of the whole says when it is. */
#define OPTIONAL_LIST_FIELD(key, type, member, inner, low, high, text)                             \
	{                                                                                          \
		.name = key, .kind = VL_FIELD_LIST, .offset = offsetof(type, member),              \
		.help = text, .schema = inner, .least = low, .most = high                          \
	}

/* What RC queue pairs do about loss, of a type with uint64_t timeout and retries. */
#define RETRY_FIELDS(type)                                                                         \
	QUANTITY_FIELD("timeout", type, timeout, COUNT, 0, 31,                                     \
		       "local ACK timeout of RC, 4.096 us * 2^timeout; 0: none [14]"),             \
		QUANTITY_FIELD("retries", type, retries, COUNT, 0, 7,                              \
			       "of RC, before the queue pair fails [7]")

#endif
