/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/scenario/document.h"

static void refuse_syntax(struct vl_problems *problems, const yaml_parser_t *parser,
			  const char *what)
{
	struct vl_place place = {parser->problem_mark.line, parser->problem_mark.column, -1};

	if (parser->error == YAML_MEMORY_ERROR) {
		vl_problem_add(problems, place, NULL, "out of memory");
		return;
	}
	if (parser->error == YAML_READER_ERROR)
		vl_problem_add(problems, (struct vl_place){0, 0, -1}, NULL,
			       "not text at byte %zu: %s; %s is YAML in UTF-8", parser->problem_offset,
			       parser->problem, what);
	else
		vl_problem_add(problems, place, NULL, "not YAML: %s%s%s",
			       parser->context ? parser->context : "", parser->context ? ": " : "",
			       parser->problem ? parser->problem : "");
}

/* A second document in the file would be ignored without a word. */
static void refuse_second_document(struct vl_problems *problems, yaml_parser_t *parser,
				   const char *what)
{
	yaml_document_t document;
	yaml_node_t *root;

	if (!yaml_parser_load(parser, &document)) {
		refuse_syntax(problems, parser, what);
		return;
	}
	root = yaml_document_get_root_node(&document);
	if (root)
		vl_problem_add(
			problems,
			(struct vl_place){root->start_mark.line, root->start_mark.column, -1}, NULL,
			"a second document; put %s in a file of its own", what);
	yaml_document_delete(&document);
}

bool vl_document_load(const char *text, size_t length, const char *what, const char *start,
		      yaml_document_t *document, struct vl_problems *problems)
{
	yaml_parser_t parser;
	bool loaded = false;

	if (!yaml_parser_initialize(&parser)) {
		vl_problem_add(problems, (struct vl_place){0, 0, -1}, NULL, "out of memory");
		return false;
	}
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
	if (!yaml_parser_load(&parser, document)) {
		refuse_syntax(problems, &parser, what);
	} else if (!yaml_document_get_root_node(document)) {
		vl_problem_add(problems, (struct vl_place){0, 0, -1}, NULL,
			       "empty; %s to start from", start);
		yaml_document_delete(document);
	} else {
		loaded = true;
		refuse_second_document(problems, &parser, what);
	}
	yaml_parser_delete(&parser);
	return loaded;
}

