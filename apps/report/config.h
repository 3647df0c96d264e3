/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* A configuration read by a schema as JSON, and the keys of a schema as text. */
#ifndef VERBLINE_REPORT_CONFIG_H
#define VERBLINE_REPORT_CONFIG_H

#include "apps/scenario/schema.h"

#include <jansson.h>
#include <stdio.h>

/* Values in base units (bytes, bit/s, ns), defaults included. NULL: no memory. */
json_t *vl_config_json(const struct vl_schema *schema, const void *structure);
/* Every key with its meaning, indented as in a file. */
void vl_config_describe(const struct vl_schema *schema, unsigned int indent, FILE *out);
/* The same as Markdown, a table for each mapping. */
void vl_config_document(const struct vl_schema *schema, FILE *out);

#endif
