/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/scenario/source.h"

#include "apps/scenario/scenario.h"

#include <stdlib.h>
#include <string.h>

#define MAX_READY 128u

static const char *nearest_ready(const char *name)
{
	const char *names[MAX_READY];
	unsigned int i;

	for (i = 0; i < vl_ready_scenario_count && i < MAX_READY - 1; i++)
		names[i] = vl_ready_scenarios[i].name;
	names[i] = NULL;
	return vl_nearest(name, names);
}

static char *copy(const char *text, size_t length, char *error, size_t error_size)
{
	char *copied = malloc(length + 1);

	if (!copied) {
		snprintf(error, error_size, "out of memory");
		return NULL;
	}
	memcpy(copied, text, length);
	copied[length] = '\0';
	return copied;
}

const char *vl_scenario_path(struct vl_loader *loader, const char *path)
{
	const struct vl_problems *problems = loader->problems;
	const char *file = problems->is_without_places ? NULL : problems->file;
	const char *end = file ? strrchr(file, '/') : NULL;
	const char *made;

	if (*path == '/' || !end || !strncmp(file, "/dev/", 5) || !strncmp(file, "/proc/", 6))
		return path;
	made = vl_arena_print(loader->arena, "%.*s%s", (int)(end + 1 - file), file, path);
	if (!made)
		loader->out_of_memory = true;
	return made ? made : "";
}

const char *vl_scenario_own_path(const char *file, const char *path, char own[PATH_MAX])
{
	return strchr(file, '/') && realpath(path, own) ? own : path;
}

char *vl_scenario_source(const char *name, size_t *length, char *error, size_t error_size)
{
	char problem[256], *text, *ended;
	const char *nearest;

	for (unsigned int i = 0; i < vl_ready_scenario_count; i++) {
		if (strcmp(vl_ready_scenarios[i].name, name))
			continue;
		*length = strlen(vl_ready_scenarios[i].text);
		return copy(vl_ready_scenarios[i].text, *length, error, error_size);
	}
	text = vl_scenario_read_file(name, length, problem, sizeof(problem));
	if (text) {
		ended = copy(text, *length, error, error_size);
		free(text);
		return ended;
	}
	nearest = strpbrk(name, "/.") ? NULL : nearest_ready(name);
	if (nearest)
		snprintf(error, error_size, "%s; did you mean the ready scenario %s?", problem,
			 nearest);
	else
		snprintf(error, error_size, "%s; 'verbline lab --list' lists the ready scenarios",
			 problem);
	return NULL;
}
