/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The one YAML document of a file, before its keys are looked at. */
#ifndef VERBLINE_SCENARIO_DOCUMENT_H
#define VERBLINE_SCENARIO_DOCUMENT_H

#include "apps/scenario/problem.h"

#include <stdbool.h>
#include <stddef.h>
#include <yaml.h>

/* what: what the file is meant to be, as "a scenario"; start: what gives one to start from, as
 * "'verbline lab --show NAME' prints one". False: problems holds why, and there is no document.
 * True: there is one, whose root is node 1, to be deleted; if something follows it, that is a
 * problem. */
bool vl_document_load(const char *text, size_t length, const char *what, const char *start,
		      yaml_document_t *document, struct vl_problems *problems);

#endif
