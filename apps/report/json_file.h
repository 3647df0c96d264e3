/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Results written as a JSON file, whole or not at all. */
#ifndef VERBLINE_REPORT_JSON_FILE_H
#define VERBLINE_REPORT_JSON_FILE_H

#include "apps/report/output.h"

#include <jansson.h>
#include <stddef.h>

/* Takes root over; NULL is taken for what it means: no memory. path "-" is the standard output. 0,
 * or a negative errno value with a message. Long runs open the output before, so that results have
 * a place; it is empty afterwards. */
int vl_json_file_commit(json_t *root, struct vl_output *output, char *error, size_t error_size);
/* The same with a file that was not opened before. */
int vl_json_file_write(json_t *root, const char *path, char *error, size_t error_size);

#endif
