/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * A text file that appears under its name only when it is whole: until vl_output_commit it is
 * PATH.partial. It is opened before a run, so that a place that cannot be written is known before
 * the work is done. "-" is the standard output; what exists and is no regular file (a pipe,
 * /dev/null) is written directly, as are links to the standard streams. Other symbolic links stay,
 * and lead to the file.
 */
#ifndef VERBLINE_REPORT_OUTPUT_H
#define VERBLINE_REPORT_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct vl_output {
	FILE *file;
	char *path;            /* as given, for messages */
	char *place, *partial; /* where it ends, and is until then; NULL: written directly */
};

/* Whether two paths name the same regular file, or would, were it there: by whatever spelling and
 * symbolic links. NULL names nothing. */
bool vl_output_is_same(const char *path, const char *other);
/* Of a command's outputs and, the last, the scenario that it reads: 0, or -EINVAL with a message if
 * two of them are the same. */
int vl_output_check_names(const char *const *names, unsigned int count, char *error,
			  size_t error_size);
/* 0, or a negative errno value with a message that names the file. */
int vl_output_open(struct vl_output *output, const char *path, char *error, size_t error_size);
/* Closes it and gives it its name. The same errors; then what was written stays as it is. */
int vl_output_commit(struct vl_output *output, char *error, size_t error_size);
/* Closes and removes what is not whole. Fine after commit, and on zeros. */
void vl_output_abandon(struct vl_output *output);

#endif
