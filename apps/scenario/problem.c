/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/scenario/problem.h"

#include "apps/report/printable.h"

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

static bool is_before(const struct vl_place *a, const struct vl_place *b)
{
	if (a->override != b->override)
		return a->override < b->override;
	if (a->line != b->line)
		return a->line < b->line;
	return a->column < b->column;
}

static bool is_known(const struct vl_problems *problems, const struct vl_problem *problem)
{
	const struct vl_problem *known;

	for (unsigned int i = 0; i < problems->count && i < VL_MAX_PROBLEMS; i++) {
		known = &problems->list[i];
		if (!is_before(&known->place, &problem->place) &&
		    !is_before(&problem->place, &known->place) &&
		    !strcmp(known->text, problem->text))
			return true;
	}
	return false;
}

void vl_problem_add(struct vl_problems *problems, struct vl_place place, const char *field,
		    const char *format, ...)
{
	struct vl_problem problem = {.place = place};
	va_list arguments;
	unsigned int at;
	int used = 0;

	if (field && *field)
		used = snprintf(problem.text, sizeof(problem.text), "%.120s: ", field);
	va_start(arguments, format);
	vsnprintf(problem.text + used, sizeof(problem.text) - used, format, arguments);
	va_end(arguments);
	/* What was typed may be quoted in it. */
	vl_make_printable(problem.text);
	/* What is said once for many may be found wrong for each of them. */
	if (is_known(problems, &problem) || problems->count++ >= VL_MAX_PROBLEMS)
		return;
	for (at = problems->count - 1; at && is_before(&place, &problems->list[at - 1].place); at--)
		problems->list[at] = problems->list[at - 1];
	problems->list[at] = problem;
}

static void print_place(const struct vl_problems *problems, const struct vl_place *place, FILE *out)
{
	if (place->override >= 0 && problems->options && problems->options[place->override])
		fputs(problems->options[place->override], out);
	else if (place->override >= 0)
		fprintf(out, "--set %s", problems->overrides[place->override]);
	else if (problems->is_without_places)
		fputs(problems->file, out);
	else
		fprintf(out, "%s:%zu:%zu", problems->file, place->line + 1, place->column + 1);
}

void vl_problems_print(const struct vl_problems *problems, FILE *out)
{

	for (unsigned int i = 0; i < problems->count && i < VL_MAX_PROBLEMS; i++) {
		print_place(problems, &problems->list[i].place, out);
		fprintf(out, ": %s\n", problems->list[i].text);
	}
	if (problems->count > VL_MAX_PROBLEMS)
		fprintf(out, "%s: and %u more\n", problems->file,
			problems->count - VL_MAX_PROBLEMS);
}
