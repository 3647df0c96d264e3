/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What happened on the cables, one row for each direction. */

#include "apps/report/links.h"

#include <stdlib.h>

#define MAX_ROWS 16u

const struct vl_link_result *vl_report_busiest(const struct vl_results *results)
{
	const struct vl_link_result *busiest = results->links;

	if (results->qp_count || !results->workload_count ||
	    results->bottleneck.utilization >= VL_REPORT_WELL_USED)
		return NULL;
	for (unsigned int i = 1; i < results->link_count; i++) {
		if (results->links[i].utilization > busiest->utilization)
			busiest = &results->links[i];
	}
	return busiest;
}

static uint64_t dropped(const struct vl_link_result *link)
{
	uint64_t count = 0;

#define ADD_DROP(name, where, meaning) count += link->drops.name;
	VL_LINK_DROPS(ADD_DROP)
#undef ADD_DROP
	return count;
}

static int compare(double a, double b)
{
	return a < b ? 1 : a > b ? -1 : 0;
}

/* Those that stood still longest first, then those that were used most. */
static int compare_links(const void *a, const void *b)
{
	const struct vl_link_result *one = *(const struct vl_link_result *const *)a;
	const struct vl_link_result *other = *(const struct vl_link_result *const *)b;
	int order = compare((double)(one->pause_ns + one->credit_stall_ns),
			    (double)(other->pause_ns + other->credit_stall_ns));

	if (!order)
		order = compare(one->utilization, other->utilization);
	/* In the order of the scenario. */
	return order ? order : one < other ? -1 : one > other;
}

static void print_link(const struct vl_results *results, const struct vl_link_result *link,
		       FILE *out)
{
	const struct vl_scenario_node *nodes = results->scenario->nodes;

	fprintf(out, "  %-14s %-14s %8g %7.1f %10.1f %10.1f %10.1f %10.1f %9llu %9llu\n",
		nodes[link->node].name, nodes[link->neighbour].name, (double)link->rate / 1e9,
		link->utilization * 100, link->queue_mean / 1e3, (double)link->queue_max / 1e3,
		(double)link->pause_ns / 1e3, (double)link->credit_stall_ns / 1e3,
		(unsigned long long)link->marked, (unsigned long long)dropped(link));
}

void vl_report_links(const struct vl_results *results, FILE *out)
{
	unsigned int count = 0, shown;
	const struct vl_link_result **links = malloc(results->link_count * sizeof(*links));

	if (!links)
		return;
	for (unsigned int i = 0; i < results->link_count; i++) {
		if (!results->links[i].is_elsewhere)
			links[count++] = &results->links[i];
	}
	shown = count < MAX_ROWS ? count : MAX_ROWS;
	qsort(links, count, sizeof(*links), compare_links);
	fprintf(out, "\nLinks, each direction%s\n",
		shown < count ? "; those that stood still longest and those used most" : "");
	fprintf(out, "  %-14s %-14s %8s %7s %10s %10s %10s %10s %9s %9s\n", "from", "to", "rate",
		"used", "queue", "longest", "paused", "no credit", "marked", "dropped");
	fprintf(out, "  %-14s %-14s %8s %7s %10s %10s %10s %10s %9s %9s\n", "", "", "Gb/s", "%",
		"KB", "KB", "us", "us", "packets", "packets");
	for (unsigned int i = 0; i < shown; i++)
		print_link(results, links[i], out);
	if (shown < count)
		fprintf(out, "  and %u more\n", count - shown);
	free(links);
}

static json_t *whole(uint64_t value)
{
	return json_integer((json_int_t)value);
}

json_t *vl_report_drops_json(const struct vl_link_drops *drops)
{
	json_t *object = json_object();

#define PUT_DROP(name, where, meaning) json_object_set_new(object, #name, whole(drops->name));
	VL_LINK_DROPS(PUT_DROP)
#undef PUT_DROP
	return object;
}

static json_t *link_json(const struct vl_results *results, const struct vl_link_result *link)
{
	const struct vl_scenario_node *nodes = results->scenario->nodes;
	json_t *object = json_object();

	json_object_set_new(object, "from", json_string(nodes[link->node].name));
	json_object_set_new(object, "port", whole(link->port));
	json_object_set_new(object, "to", json_string(nodes[link->neighbour].name));
	json_object_set_new(object, "rate_bps", whole(link->rate));
	if (link->is_elsewhere)
		json_object_set_new(object, "elsewhere", json_true());
	json_object_set_new(object, "frames", whole(link->frames));
	json_object_set_new(object, "bytes", whole(link->bytes));
	json_object_set_new(object, "utilization", json_real(link->utilization));
	json_object_set_new(object, "queue_mean_bytes", json_real(link->queue_mean));
	json_object_set_new(object, "queue_max_bytes", whole(link->queue_max));
	json_object_set_new(object, "paused_ns", whole(link->pause_ns));
	json_object_set_new(object, "pauses_sent", whole(link->pauses));
	json_object_set_new(object, "resumes_sent", whole(link->resumes));
	json_object_set_new(object, "credit_stall_ns", whole(link->credit_stall_ns));
	json_object_set_new(object, "marked", whole(link->marked));
	json_object_set_new(object, "drops", vl_report_drops_json(&link->drops));
	return object;
}

json_t *vl_report_links_json(const struct vl_results *results)
{
	json_t *array = json_array();

	for (unsigned int i = 0; i < results->link_count; i++)
		json_array_append_new(array, link_json(results, &results->links[i]));
	return array;
}
