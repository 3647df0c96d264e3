/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/compare/page.h"

#include "apps/compare/report.h"
#include "apps/report/machine.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <string.h>

const char *vl_page_unit(const struct vl_metric_description *metric)
{
	return strcmp(metric->shown_unit, "us") ? metric->shown_unit : "\xc2\xb5s";
}

char *vl_page_true_units(const char *text)
{
	size_t length = strlen(text), used = 0;
	char *made = malloc(2 * length + 1);

	for (size_t i = 0; made && i < length; i++) {
		if (i && text[i - 1] >= '0' && text[i - 1] <= '9' && text[i] == 'u' &&
		    text[i + 1] == 's' && !isalnum((unsigned char)text[i + 2])) {
			memcpy(made + used, "\xc2\xb5", 2);
			used += 2;
		} else {
			made[used++] = text[i];
		}
	}
	if (made)
		made[used] = '\0';
	return made;
}

const char *vl_page_number(double value, const struct vl_metric_description *metric,
			   char text[VL_PAGE_NUMBER])
{
	char plain[VL_PAGE_NUMBER];
	size_t digits, length, used = 0;

	snprintf(plain, sizeof(plain), "%.*f", metric->decimals, value / metric->divisor);
	/* Thousands apart, by a thin space that does not break. */
	digits = strspn(plain, "0123456789");
	length = strlen(plain);
	for (size_t i = 0; i < length && used + 4 < VL_PAGE_NUMBER; i++) {
		if (i && i < digits && (digits - i) % 3 == 0 && digits > 4) {
			memcpy(text + used, "\xe2\x80\xaf", 3);
			used += 3;
		}
		text[used++] = plain[i];
	}
	text[used] = '\0';
	return text;
}

const char *vl_page_short(const char *label, unsigned int length, char text[VL_PLAN_LABEL])
{
	if (strlen(label) <= length)
		snprintf(text, VL_PLAN_LABEL, "%s", label);
	else
		snprintf(text, VL_PLAN_LABEL, "%.*s\xe2\x80\xa6", (int)length - 1, label);
	return text;
}

void vl_page_keys(const struct vl_page *page)
{
	fputs("<div class=\"keys\">", page->out);
	for (unsigned int i = 0; i < page->group_count; i++)
		vl_html_key(page->out, page->groups[i].series, page->groups[i].label);
	fputs("</div>\n", page->out);
	if (page->hidden_groups)
		vl_html_paragraph(page->out, "note",
				  "%u more are in the table and in the files; %u are drawn.",
				  page->hidden_groups, page->group_count);
}

/* A fabric has the same colour in every report of one variant. */
static unsigned int series_of(const struct vl_plan *plan, unsigned int group, unsigned int drawn)
{
	static const char *const order[] = {"infiniband",   "infiniband_congestion_control",
					    "pfc",          "dcqcn",
					    "pfc_dcqcn",    "lossy",
					    "as_configured"};

	for (unsigned int i = 0; plan->variant_count == 1 && i < 7; i++) {
		if (!strcmp(plan->fabrics[group], order[i]))
			return i;
	}
	return drawn;
}

static void choose_groups(struct vl_page *page)
{
	const struct vl_plan *plan = page->plan;
	struct vl_page_group *shown;
	unsigned int point;

	for (unsigned int group = 0; group < plan->group_count; group++) {
		point = vl_comparison_shown_point(page->comparison, group);
		if (point == UINT_MAX)
			continue;
		if (page->group_count == VL_SVG_SERIES) {
			page->hidden_groups++;
			continue;
		}
		shown = &page->groups[page->group_count];
		shown->group = group;
		shown->point = point;
		shown->series = series_of(plan, group, page->group_count);
		shown->record = vl_comparison_record(page->comparison, point);
		vl_plan_point_label(plan, point, shown->label);
		vl_comparison_figures(page->comparison, point, shown->figures);
		if (!page->group_count || shown->record->head.class_count < page->class_count)
			page->class_count = shown->record->head.class_count;
		page->group_count++;
	}
}

/* ---- Head and sentences ---------------------------------------------------------------------- */

static void fact(FILE *out, const char *name, const char *value)
{
	if (!value || !*value)
		return;
	fputs("<div><dt>", out);
	vl_html_text(out, name);
	fputs("</dt><dd>", out);
	vl_html_text(out, value);
	fputs("</dd></div>\n", out);
}

static void put_facts(const struct vl_page *page)
{
	const struct vl_plan *plan = page->plan;
	json_t *machine = vl_machine_json();
	char text[160], duration[VL_QUANTITY_TEXT];

	fputs("<dl class=\"facts\">\n", page->out);
	snprintf(text, sizeof(text), "%u (%u at a time, %.1f s in all)",
		 plan->point_count * plan->repeat, page->comparison->processes,
		 (double)page->comparison->time / 1e9);
	fact(page->out, "runs", text);
	fact(page->out, "virtual time of each",
	     vl_quantity_text(VL_QUANTITY_DURATION, plan->base->duration, duration));
	if (plan->repeat > 1)
		snprintf(text, sizeof(text), "%llu to %llu", (unsigned long long)plan->base->seed,
			 (unsigned long long)plan->base->seed + plan->repeat - 1);
	else
		snprintf(text, sizeof(text), "%llu", (unsigned long long)plan->base->seed);
	fact(page->out, "seed", text);
	snprintf(text, sizeof(text), "%u endpoints, %u switches, %u cables",
		 plan->base->endpoint_count, plan->base->node_count - plan->base->endpoint_count,
		 plan->base->cable_count);
	fact(page->out, "topology", text);
	snprintf(text, sizeof(text), "%u queue pairs of flows, %u workloads", plan->base->qp_count,
		 plan->base->workloads.count);
	fact(page->out, "traffic", text);
	fact(page->out, "verbline", VERBLINE_VERSION);
	fact(page->out, "host", json_string_value(json_object_get(machine, "name")));
	fact(page->out, "processor", json_string_value(json_object_get(machine, "cpu")));
	fact(page->out, "made", json_string_value(json_object_get(machine, "time")));
	fputs("</dl>\n", page->out);
	json_decref(machine);
}

static void put_head(const struct vl_page *page)
{
	const struct vl_comparison *comparison = page->comparison;
	unsigned int total = page->plan->point_count * page->plan->repeat;
	unsigned int missing = vl_comparison_count(comparison, VL_RUN_NOT_DONE);
	unsigned int failed = vl_comparison_count(comparison, VL_RUN_FAILED);

	fputs("<header>\n<h1>", page->out);
	vl_html_text(page->out, page->plan->base->name);
	fputs("</h1>\n", page->out);
	if (page->plan->base->teaches)
		vl_html_paragraph(page->out, "lead", "%s", page->plan->base->teaches);
	put_facts(page);
	if (missing)
		vl_html_paragraph(page->out, "warning",
				  "Partial results: the comparison was interrupted; %u of %u runs "
				  "were not done.",
				  missing, total);
	if (failed)
		vl_html_paragraph(page->out, "warning",
				  "%u of %u runs failed; why is under the table.", failed, total);
	fputs("</header>\n", page->out);
}

static void put_list(FILE *out, char *const *texts, unsigned int count)
{
	char *text;

	fputs("<ul class=\"findings\">\n", out);
	for (unsigned int i = 0; i < count; i++) {
		text = vl_page_true_units(texts[i]);
		fputs("<li>", out);
		vl_html_text(out, text ? text : texts[i]);
		fputs("</li>\n", out);
		free(text);
	}
	fputs("</ul>\n", out);
}

static void put_findings(const struct vl_page *page)
{
	struct vl_findings findings;

	vl_findings_make(page->comparison, &findings);
	vl_html_section(page->out, "says", "What the numbers say");
	put_list(page->out, findings.says, findings.says_count);
	fputs("<h3>What they do not say</h3>\n", page->out);
	put_list(page->out, findings.limits, findings.limits_count);
	vl_html_section_end(page->out);
	vl_findings_release(&findings);
}

void vl_compare_page(const struct vl_comparison *comparison, FILE *out)
{
	struct vl_page *page = calloc(1, sizeof(*page));

	if (!page)
		return;
	page->out = out;
	page->comparison = comparison;
	page->plan = comparison->plan;
	page->times = malloc(sizeof(*page->times));
	choose_groups(page);
	vl_html_begin(out, page->plan->base->name);
	put_head(page);
	put_findings(page);
	if (page->group_count)
		vl_page_sweep(page);
	vl_page_summary(page);
	if (page->group_count && page->times) {
		vl_page_workloads(page);
		vl_page_completion(page);
		vl_page_victims(page);
		vl_page_series(page);
		vl_page_links(page);
		vl_page_counters(page);
	}
	vl_page_reproduce(page);
	vl_html_end(out);
	free(page->times);
	free(page);
}
