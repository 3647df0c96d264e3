/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The text of a scenario by what a user calls it: a ready one's name, or a file. */
#ifndef VERBLINE_SCENARIO_SOURCE_H
#define VERBLINE_SCENARIO_SOURCE_H

#include "apps/scenario/schema.h"

#include <limits.h>
#include <stddef.h>

/* Ended by a zero, to be freed. NULL: error says why, and what may have been meant. */
char *vl_scenario_source(const char *name, size_t *length, char *error, size_t error_size);

/*
 * A path that a scenario names, as it is to be opened: seen from the directory of the scenario's
 * file, wherever verbline runs; from the working directory if there is no such file (a ready
 * scenario, a pipe). Lives as long as what is loaded. "": no memory.
 */
const char *vl_scenario_path(struct vl_loader *loader, const char *path);
/* The other way round: a path from the command line as a scenario in that file is to name it. */
const char *vl_scenario_own_path(const char *file, const char *path, char own[PATH_MAX]);

#endif
