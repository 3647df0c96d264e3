/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/scenario/scenario.h"

#include "apps/scenario/document.h"
#include "apps/scenario/switch_source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct vl_scenario *vl_scenario_parse(const char *text, size_t length,
				      const struct vl_texts *overrides,
				      struct vl_problems *problems)
{
	struct vl_arena arena = {0};
	struct vl_scenario *scenario;
	yaml_document_t document;
	struct vl_loader loader = {&document, problems, &arena, false};

	scenario = malloc(sizeof(*scenario));
	if (!scenario) {
		vl_problem_add(problems, (struct vl_place){0, 0, -1}, NULL, "out of memory");
		return NULL;
	}
	problems->overrides = overrides ? overrides->values : NULL;
	if (!vl_document_load(text, length, "a scenario",
			      "'verbline lab --show incast-dcqcn' prints a scenario", &document,
			      problems)) {
		free(scenario);
		return NULL;
	}
	for (unsigned int i = 0; overrides && i < overrides->count; i++)
		vl_schema_override(&loader, overrides->values[i], (int)i);
	vl_schema_load(&loader, 1, &vl_scenario_schema, "", scenario);
	vl_scenario_check(&loader, scenario);
	vl_loader_finish(&loader);
	yaml_document_delete(&document);
	scenario->arena = arena;
	if (!problems->count)
		return scenario;
	vl_scenario_free(scenario);
	return NULL;
}

void vl_scenario_free(struct vl_scenario *scenario)
{
	if (!scenario)
		return;
	vl_scenario_release_workloads(scenario);
	vl_scenario_release_sources(scenario);
	vl_arena_free(&scenario->arena);
	free(scenario);
}

char *vl_scenario_read_file(const char *path, size_t *length, char *error, size_t error_size)
{
	FILE *file = fopen(path, "rb");
	char *text = NULL;
	int failure = errno;

	if (!file) {
		snprintf(error, error_size, "%s: %s", path, strerror(failure));
		return NULL;
	}
	text = malloc(VL_SCENARIO_MAX_FILE_SIZE + 1);
	if (!text) {
		snprintf(error, error_size, "%s: out of memory", path);
	} else {
		errno = 0;
		*length = fread(text, 1, VL_SCENARIO_MAX_FILE_SIZE + 1, file);
		failure = errno;
		if (ferror(file)) {
			snprintf(error, error_size, "%s: %s", path, strerror(failure));
			free(text);
			text = NULL;
		} else if (*length > VL_SCENARIO_MAX_FILE_SIZE) {
			snprintf(error, error_size, "%s: larger than %u bytes; is this a scenario?",
				 path, VL_SCENARIO_MAX_FILE_SIZE);
			free(text);
			text = NULL;
		}
	}
	fclose(file);
	return text;
}
