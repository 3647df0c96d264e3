/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* A scenario made for a SONiC configuration: hosts at its own ports, speeds and cables. */
#ifndef VERBLINE_APPS_LAB_SWITCH_H
#define VERBLINE_APPS_LAB_SWITCH_H

#include <stddef.h>

/* The YAML text of an incast over its lossless ports of the most common speed, to be freed. NULL:
 * error says why. */
char *vl_lab_switch_scenario(const char *path, char *error, size_t error_size);

#endif
