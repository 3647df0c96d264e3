/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Numbers with units as people write them ("100Gb/s", "64KiB", "10us", "5%"), and the way back. */
#ifndef VERBLINE_APPS_QUANTITY_H
#define VERBLINE_APPS_QUANTITY_H

#include <stddef.h>
#include <stdint.h>

enum vl_quantity {
	VL_QUANTITY_RATE,     /* bit/s */
	VL_QUANTITY_SIZE,     /* bytes */
	VL_QUANTITY_DURATION, /* ns */
	VL_QUANTITY_RUN_TIME, /* ns; seconds without a unit, as perftest has them */
	VL_QUANTITY_COUNT,    /* a whole number without unit */
};

/*
 * Both return 0, or -EINVAL (error says what is wrong and what would be right, without the value's
 * place). A unit is required, except with 0. Bounds are inclusive.
 */
int vl_quantity_parse(enum vl_quantity quantity, const char *text, uint64_t least, uint64_t most,
		      uint64_t *value, char *error, size_t error_size);
/* 0 to 1, as "5%", "0.05" or "1e-4". */
int vl_fraction_parse(const char *text, double least, double most, double *value, char *error,
		      size_t error_size);

/* Text for people, as short as keeps three digits: "39.7Gb/s", "64KiB", "10us". */
#define VL_QUANTITY_TEXT 32
const char *vl_quantity_text(enum vl_quantity quantity, uint64_t value,
			     char text[VL_QUANTITY_TEXT]);

/* The candidate nearest to what was typed, or NULL if none is near enough to be meant. candidates
 * ends with NULL. */
const char *vl_nearest(const char *typed, const char *const *candidates);

#endif
