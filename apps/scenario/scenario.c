/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/scenario/scenario.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void refuse_syntax(struct vl_problems *problems, const yaml_parser_t *parser)
{
	struct vl_place place = {parser->problem_mark.line, parser->problem_mark.column, -1};

	if (parser->error == YAML_MEMORY_ERROR) {
		vl_problem_add(problems, place, NULL, "out of memory");
		return;
	}
	if (parser->error == YAML_READER_ERROR)
		vl_problem_add(problems, (struct vl_place){0, 0, -1}, NULL,
			       "not text at byte %zu: %s; a scenario is YAML in UTF-8",
			       parser->problem_offset, parser->problem);
	else
		vl_problem_add(problems, place, NULL, "not YAML: %s%s%s",
			       parser->context ? parser->context : "", parser->context ? ": " : "",
			       parser->problem ? parser->problem : "");
}

/* A second document in the file would be ignored without a word. */
static void refuse_second_document(struct vl_problems *problems, yaml_parser_t *parser)
{
	yaml_document_t document;
	yaml_node_t *root;

	if (!yaml_parser_load(parser, &document)) {
		refuse_syntax(problems, parser);
		return;
	}
	root = yaml_document_get_root_node(&document);
	if (root)
		vl_problem_add(
			problems,
			(struct vl_place){root->start_mark.line, root->start_mark.column, -1}, NULL,
			"a second document; put one scenario in a file");
	yaml_document_delete(&document);
}

static bool load_document(const char *text, size_t length, yaml_document_t *document,
			  struct vl_problems *problems)
{
	yaml_parser_t parser;
	bool loaded = false;

	if (!yaml_parser_initialize(&parser)) {
		vl_problem_add(problems, (struct vl_place){0, 0, -1}, NULL, "out of memory");
		return false;
	}
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
	if (!yaml_parser_load(&parser, document)) {
		refuse_syntax(problems, &parser);
	} else if (!yaml_document_get_root_node(document)) {
		vl_problem_add(problems, (struct vl_place){0, 0, -1}, NULL,
			       "empty; 'verbline lab --show incast-dcqcn' prints a scenario to "
			       "start from");
		yaml_document_delete(document);
	} else {
		loaded = true;
		refuse_second_document(problems, &parser);
	}
	yaml_parser_delete(&parser);
	return loaded;
}

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
	if (!load_document(text, length, &document, problems)) {
		free(scenario);
		return NULL;
	}
	for (unsigned int i = 0; overrides && i < overrides->count; i++)
		vl_schema_override(&loader, overrides->values[i], (int)i);
	vl_schema_load(&loader, 1, &vl_scenario_schema, "", scenario);
	vl_scenario_check(&loader, scenario);
	yaml_document_delete(&document);
	scenario->arena = arena;
	if (loader.out_of_memory)
		vl_problem_add(problems, (struct vl_place){0, 0, -1}, NULL, "out of memory");
	if (!problems->count)
		return scenario;
	vl_scenario_free(scenario);
	return NULL;
}

void vl_scenario_free(struct vl_scenario *scenario)
{
	if (!scenario)
		return;
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
