/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/scenario/document.h"

#define DEEPEST      32
#define MOST_ANCHORS 1000

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
			       "not text at byte %zu: %s; %s is YAML in UTF-8",
			       parser->problem_offset, parser->problem, what);
	else
		vl_problem_add(problems, place, NULL, "not YAML: %s%s%s",
			       parser->context ? parser->context : "", parser->context ? ": " : "",
			       parser->problem ? parser->problem : "");
}

static void refuse_depth(struct vl_problems *problems, const yaml_mark_t *mark, const char *what)
{
	vl_problem_add(problems, (struct vl_place){mark->line, mark->column, -1}, NULL,
		       "nested more than %d deep; %s needs less", DEEPEST, what);
}

static bool has_anchor(const yaml_event_t *event)
{
	return (event->type == YAML_SCALAR_EVENT && event->data.scalar.anchor) ||
	       (event->type == YAML_SEQUENCE_START_EVENT && event->data.sequence_start.anchor) ||
	       (event->type == YAML_MAPPING_START_EVENT && event->data.mapping_start.anchor);
}

/* Whether the file nests no deeper than anything that can be said in it, and has no more anchors
 * than anybody needs: the parser's time grows with the square of both. What is wrong otherwise is
 * found when the document is loaded. */
static bool is_modest(const char *text, size_t length, const char *what,
		      struct vl_problems *problems)
{
	yaml_parser_t parser;
	yaml_event_t event;
	bool is_over = false;
	int depth = 0, anchors = 0;

	if (!yaml_parser_initialize(&parser)) {
		vl_problem_add(problems, (struct vl_place){0, 0, -1}, NULL, "out of memory");
		return false;
	}
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
	while (!is_over && depth <= DEEPEST && anchors <= MOST_ANCHORS &&
	       yaml_parser_parse(&parser, &event)) {
		if (event.type == YAML_SEQUENCE_START_EVENT ||
		    event.type == YAML_MAPPING_START_EVENT)
			depth++;
		else if (event.type == YAML_SEQUENCE_END_EVENT ||
			 event.type == YAML_MAPPING_END_EVENT)
			depth--;
		is_over = event.type == YAML_STREAM_END_EVENT;
		if (depth > DEEPEST)
			refuse_depth(problems, &event.start_mark, what);
		anchors += has_anchor(&event);
		if (anchors > MOST_ANCHORS)
			vl_problem_add(problems,
				       (struct vl_place){event.start_mark.line,
							 event.start_mark.column, -1},
				       NULL, "more than %d anchors; %s needs less", MOST_ANCHORS,
				       what);
		yaml_event_delete(&event);
	}
	yaml_parser_delete(&parser);
	return depth <= DEEPEST && anchors <= MOST_ANCHORS;
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

	if (!is_modest(text, length, what, problems))
		return false;
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
