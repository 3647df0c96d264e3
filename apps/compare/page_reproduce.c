/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Everything that it takes to run it again. */

#include "apps/compare/page.h"

#define MAX_COMMANDS 60u

/* What is written into memory, escaped. */
static void put_escaped(FILE *out, void (*write)(const struct vl_plan *, unsigned int, FILE *),
			const struct vl_plan *plan, unsigned int point)
{
	char *text = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&text, &size);

	if (!memory)
		return;
	write(plan, point, memory);
	if (!fclose(memory))
		vl_html_text(out, text);
	free(text);
}

static void print_comparison(const struct vl_plan *plan, unsigned int point, FILE *out)
{
	(void)point;
	vl_plan_print_comparison(plan, out);
}

void vl_page_reproduce(const struct vl_page *page)
{
	const struct vl_plan *plan = page->plan;
	unsigned int shown = plan->point_count < MAX_COMMANDS ? plan->point_count : MAX_COMMANDS;
	char label[VL_PLAN_LABEL];

	vl_html_section(page->out, "reproduce", "Run it again");
	vl_html_paragraph(page->out, "note",
			  "The same version, scenario and seed give the same numbers on any "
			  "machine, however many runs go side by side.");
	fputs("<pre>", page->out);
	put_escaped(page->out, print_comparison, plan, 0);
	fputs("</pre>\n<details><summary>Each configuration alone</summary>\n", page->out);
	for (unsigned int i = 0; i < shown; i++) {
		vl_html_paragraph(page->out, "note", "%s", vl_plan_point_label(plan, i, label));
		fputs("<pre>", page->out);
		put_escaped(page->out, vl_plan_print_command, plan, i);
		fputs("</pre>\n", page->out);
	}
	if (shown < plan->point_count)
		vl_html_paragraph(page->out, "note", "And %u more, which --plan prints.",
				  plan->point_count - shown);
	fputs("</details>\n<h3>The scenario</h3>\n", page->out);
	vl_html_paragraph(page->out, "note", "%s", plan->options->source);
	fputs("<pre>", page->out);
	vl_html_text(page->out, plan->text);
	fputs("</pre>\n", page->out);
	vl_html_section_end(page->out);
}
