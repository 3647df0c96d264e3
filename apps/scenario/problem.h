/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What is wrong in an input file: all of it, each with its place, in the order of the file. */
#ifndef VERBLINE_SCENARIO_PROBLEM_H
#define VERBLINE_SCENARIO_PROBLEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define VL_MAX_PROBLEMS 32

/* A place in the file, from 0 as libyaml counts; or the n-th override on the command line. */
struct vl_place {
	size_t line, column;
	int override; /* -1: in the file */
};

struct vl_problem {
	struct vl_place place;
	char text[800]; /* "field: what is wrong; what would be right" */
};

struct vl_problems {
	const char *file;
	bool is_without_places;       /* file is no file of the user's: leave line and column out */
	const char *const *overrides; /* as typed after --set */
	/* Of each override the option that it was made of, as "--rate 10"; NULL: it was a --set.
	 * NULL: all were. */
	const char *const *options;
	unsigned int count; /* may exceed VL_MAX_PROBLEMS: then only the first found are kept */
	struct vl_problem list[VL_MAX_PROBLEMS];
};

/* field: the path of the field, or NULL where none is to blame. */
void vl_problem_add(struct vl_problems *problems, struct vl_place place, const char *field,
		    const char *format, ...) __attribute__((format(printf, 4, 5)));
/* One line each: "file:line:column: field: ...". */
void vl_problems_print(const struct vl_problems *problems, FILE *out);

#endif
