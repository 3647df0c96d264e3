/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Manual pages and bash completion, written from the commands' own tables: what --help says, in the
 * forms that man and bash take. The build calls them by `verbline --generate`.
 */
#ifndef VERBLINE_APPS_MANUAL_H
#define VERBLINE_APPS_MANUAL_H

#include "apps/option.h"

#include <stdio.h>

/* verbline(1). */
void vl_manual_program(const struct vl_command *const *commands, unsigned int count, FILE *out);
/* verbline-NAME(1). */
void vl_manual_command(const struct vl_command *command, FILE *out);
/* The tables that completion.bash reads, as functions of bash. */
void vl_manual_completion(const struct vl_command *const *commands, unsigned int count, FILE *out);

/*
 * `verbline --generate`: arguments are what follows it.
 *   man DIRECTORY              writes every page into the directory, which is made if need be
 *   completion FUNCTIONS FILE  writes the tables of the bash completion, then what the file
 *                              FUNCTIONS (completion.bash) holds, into FILE
 * Returns an exit status.
 */
int vl_manual_generate(const struct vl_command *const *commands, unsigned int count, int argc,
		       char **argv);

#endif
