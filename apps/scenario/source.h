/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The text of a scenario by what a user calls it: a ready one's name, or a file. */
#ifndef VERBLINE_SCENARIO_SOURCE_H
#define VERBLINE_SCENARIO_SOURCE_H

#include <stddef.h>

/* Ended by a zero, to be freed. NULL: error says why, and what may have been meant. */
char *vl_scenario_source(const char *name, size_t *length, char *error, size_t error_size);

#endif
