/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What reports of comparisons are made of: text that cannot become markup, axes, records. */

#include "apps/compare/plan.h"
#include "apps/compare/record.h"
#include "apps/report/svg.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void check_text(const char *text, const char *expected)
{
	char *written = NULL;
	size_t size;
	FILE *out = open_memstream(&written, &size);

	CU_ASSERT_PTR_NOT_NULL_FATAL(out);
	vl_html_text(out, text);
	fclose(out);
	CU_ASSERT_STRING_EQUAL(written, expected);
	free(written);
}

static void text_is_no_markup(void)
{
	check_text("a<script>b</script>", "a&lt;script&gt;b&lt;/script&gt;");
	check_text("\" onload='x' & y", "&quot; onload=&#39;x&#39; &amp; y");
	check_text("plain", "plain");
}

static void what_is_no_text_is_replaced(void)
{
	check_text("a\x01"
		   "b\x7f",
		   "a\xef\xbf\xbd"
		   "b\xef\xbf\xbd");
	check_text("\xc3\xa4\xe2\x82\xac", "\xc3\xa4\xe2\x82\xac");
	check_text("\xc3", "\xef\xbf\xbd");                                   /* cut */
	check_text("\xc0\xbc", "\xef\xbf\xbd\xef\xbf\xbd");                   /* '<' in two bytes */
	check_text("\xed\xa0\x80x", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdx"); /* a surrogate */
	check_text("\xc2\x85", "\xef\xbf\xbd\xef\xbf\xbd"); /* a control character */
	check_text("\xff\xfe<", "\xef\xbf\xbd\xef\xbf\xbd&lt;");
}

/* ---- Axes ----------------------------------------------------------------------------------- */

static void linear_axes_hold_all_and_have_round_ticks(void)
{
	static const struct {
		double low, high, first, step;
	} cases[] = {{0, 97.3, 0, 20},
		     {0, 1, 0, 0.2},
		     {0, 8000, 0, 2000},
		     {0, 0.9, 0, 0.2},
		     {10, 60, 10, 10}};
	struct vl_axis axis = {.from = 100, .to = 600};

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		vl_axis_fit(&axis, cases[i].low, cases[i].high, false);
		CU_ASSERT(axis.low <= cases[i].low && axis.high >= cases[i].high);
		CU_ASSERT_DOUBLE_EQUAL(axis.ticks[0], cases[i].first, 1e-9);
		CU_ASSERT_DOUBLE_EQUAL(axis.ticks[1] - axis.ticks[0], cases[i].step, 1e-9);
		CU_ASSERT(axis.tick_count >= 3 && axis.tick_count <= 12);
		CU_ASSERT_DOUBLE_EQUAL(vl_axis_place(&axis, axis.low), 100, 1e-9);
		CU_ASSERT_DOUBLE_EQUAL(vl_axis_place(&axis, axis.high), 600, 1e-9);
		CU_ASSERT_DOUBLE_EQUAL(vl_axis_place(&axis, (axis.low + axis.high) / 2), 350, 1e-9);
	}
}

static void logarithmic_axes_place_decades_evenly(void)
{
	struct vl_axis axis = {.from = 0, .to = 300};

	vl_axis_fit(&axis, 1000, 1000000, true);
	CU_ASSERT_DOUBLE_EQUAL(vl_axis_place(&axis, 1000), 0, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(vl_axis_place(&axis, 10000), 100, 1e-6);
	CU_ASSERT_DOUBLE_EQUAL(vl_axis_place(&axis, 100000), 200, 1e-6);
	CU_ASSERT_DOUBLE_EQUAL(axis.ticks[0], 1000, 1e-6);
	CU_ASSERT_DOUBLE_EQUAL(axis.ticks[axis.tick_count - 1], 1000000, 1e-3);
	for (int i = 1; i < axis.tick_count; i++)
		CU_ASSERT(axis.ticks[i] > axis.ticks[i - 1]);
}

static void senseless_ends_make_an_axis_all_the_same(void)
{
	static const double ends[][2] = {{0, 0},         {5, 5},   {INFINITY, 0}, {NAN, NAN},
					 {-3, -3},       {9, 2},   {0, 1e300},    {1e-300, 1e-300},
					 {-INFINITY, 1}, {0, 1e-9}};
	struct vl_axis axis = {.from = 10, .to = 20};
	double at;

	for (unsigned int i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		for (int is_log = 0; is_log < 2; is_log++) {
			vl_axis_fit(&axis, ends[i][0], ends[i][1], is_log);
			CU_ASSERT(axis.high > axis.low);
			CU_ASSERT(axis.tick_count >= 0 && axis.tick_count <= VL_AXIS_TICKS);
			at = vl_axis_place(&axis, 1);
			CU_ASSERT(at >= 10 && at <= 20);
			at = vl_axis_place(&axis, NAN);
			CU_ASSERT(at >= 10 && at <= 20);
		}
	}
}

/* ---- Records -------------------------------------------------------------------------------- */

static const char scenario_text[] = "name: one\n"
				    "duration: 1ms\n"
				    "endpoints: [{name: a}, {name: b}]\n"
				    "links: [{from: a, to: b}]\n"
				    "flows: [{name: first, from: a, to: b}, "
				    "{name: second, from: b, to: a}]\n";

static struct vl_scenario *parse(void)
{
	static struct vl_problems problems;

	memset(&problems, 0, sizeof(problems));
	return vl_scenario_parse(scenario_text, strlen(scenario_text), NULL, &problems);
}

static void a_record_crosses_unchanged(void)
{
	struct vl_scenario *scenario = parse();
	struct vl_qp_result qps[2] = {{.goodput = 1e9, .messages = 3}, {.goodput = 2e9}};
	struct vl_histogram *times = calloc(2, sizeof(*times)), *again = calloc(1, sizeof(*again));
	double rates[4] = {1e9, 2e9, 3e9, 4e9};
	struct vl_sample samples[2] = {
		{.time = 500, .goodput = 3e9, .queue_max = 9, .rates = rates},
		{.time = 1000, .goodput = 7e9, .queue_max = 4, .rates = rates + 2}};
	struct vl_results results = {.scenario = scenario,
				     .qps = qps,
				     .qp_count = 2,
				     .flow_times = times,
				     .end = 1000,
				     .samples = samples,
				     .sample_count = 2,
				     .traced_count = 2};
	struct vl_bytes bytes = {0};
	struct vl_bytes_reader reader;
	struct vl_record *record, *copy;

	CU_ASSERT_FATAL(scenario && times && again);
	qps[0].pair = &scenario->pairs[0];
	qps[1].pair = &scenario->pairs[1];
	for (uint64_t value = 100; value < 100000; value += 37)
		vl_histogram_record(&times[1], value);
	record = vl_record_create(&results);
	CU_ASSERT_PTR_NOT_NULL_FATAL(record);
	vl_record_write(record, &bytes);
	reader = (struct vl_bytes_reader){bytes.data, bytes.length};
	copy = vl_record_read(&reader);
	CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
	CU_ASSERT_EQUAL(copy->head.class_count, 2);
	CU_ASSERT_STRING_EQUAL(copy->classes[1].name, "second");
	CU_ASSERT_EQUAL(copy->classes[0].messages, 3);
	CU_ASSERT_DOUBLE_EQUAL(copy->classes[1].goodput, 2e9, 1);
	CU_ASSERT_EQUAL(copy->samples[0].queue_max, 9);
	CU_ASSERT_DOUBLE_EQUAL(copy->samples[1].goodput, 7e9, 1);
	CU_ASSERT_DOUBLE_EQUAL(copy->samples[1].classes[1], 4e9, 1);
	vl_record_add_times(copy, &copy->classes[1], again);
	CU_ASSERT_EQUAL(memcmp(again, &times[1], sizeof(*again)), 0);
	/* Anything shorter, or with something behind it, is refused. */
	for (size_t length = 0; length < bytes.length; length += 13) {
		reader = (struct vl_bytes_reader){bytes.data, length};
		CU_ASSERT_PTR_NULL(vl_record_read(&reader));
	}
	vl_bytes_append(&bytes, "x", 1);
	reader = (struct vl_bytes_reader){bytes.data, bytes.length};
	CU_ASSERT_PTR_NULL(vl_record_read(&reader));
	vl_record_destroy(record);
	vl_record_destroy(copy);
	free(bytes.data);
	free(times);
	free(again);
	vl_scenario_free(scenario);
}

static void long_series_keep_their_area_and_their_peaks(void)
{
	enum { COUNT = 1003 };
	struct vl_scenario *scenario = parse();
	struct vl_qp_result qps[2] = {{0}};
	struct vl_histogram *times = calloc(2, sizeof(*times));
	struct vl_sample *samples = calloc(COUNT, sizeof(*samples));
	struct vl_results results = {.scenario = scenario,
				     .qps = qps,
				     .qp_count = 2,
				     .flow_times = times,
				     .samples = samples,
				     .sample_count = COUNT};
	double area = 0, kept = 0;
	uint64_t marked = 0, before = 0;
	struct vl_record *record;

	CU_ASSERT_FATAL(scenario && times && samples);
	qps[0].pair = &scenario->pairs[0];
	qps[1].pair = &scenario->pairs[1];
	for (unsigned int i = 0; i < COUNT; i++) {
		samples[i].time = (i ? samples[i - 1].time : 0) + 10 + i % 7;
		samples[i].queue_mean = i * 3 % 101;
		samples[i].queue_max = i == 777 ? 5000 : 100;
		samples[i].ecn_marked = 2;
		area += samples[i].queue_mean * (10 + i % 7);
	}
	record = vl_record_create(&results);
	CU_ASSERT_PTR_NOT_NULL_FATAL(record);
	CU_ASSERT(record->head.sample_count < 2 * VL_RECORD_MAX_SAMPLES);
	CU_ASSERT(record->head.sample_count > 300);
	uint64_t peak = 0;
	for (unsigned int i = 0; i < record->head.sample_count; i++) {
		kept += record->samples[i].queue_mean * (double)(record->samples[i].time - before);
		before = record->samples[i].time;
		marked += record->samples[i].marked;
		if (record->samples[i].queue_max > peak)
			peak = record->samples[i].queue_max;
	}
	CU_ASSERT_DOUBLE_EQUAL(kept, area, area * 1e-9);
	CU_ASSERT_EQUAL(marked, 2 * COUNT);
	CU_ASSERT_EQUAL(peak, 5000);
	CU_ASSERT_EQUAL(before, samples[COUNT - 1].time);
	vl_record_destroy(record);
	free(times);
	free(samples);
	vl_scenario_free(scenario);
}

/* Percentiles of the distribution that a record keeps of a workload's times are those of the times
 * themselves, however many there are: to the width of a slot. */
static void workloads_keep_their_percentiles(void)
{
	static const double parts[] = {0.1, 0.5, 0.9, 0.99, 0.999, 1};
	static const uint64_t counts[] = {1, 2, 3, 7, 56, 101, 150, 999, 1000, 1550, 10001};
	static const char text[] = "name: one\nduration: 1ms\n"
				   "endpoints: [{name: a}, {name: b}]\n"
				   "links: [{from: a, to: b}]\n"
				   "workloads: [{name: w, kind: permutation}]\n";
	struct vl_problems problems = {0};
	struct vl_scenario *scenario = vl_scenario_parse(text, strlen(text), NULL, &problems);
	struct vl_histogram *times = malloc(sizeof(*times));

	CU_ASSERT_FATAL(scenario && times);
	for (unsigned int i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct vl_workload_result workload = {.workload = scenario->workloads.elements};
		struct vl_results results = {
			.scenario = scenario, .workloads = &workload, .workload_count = 1};
		struct vl_values values = {0};
		struct vl_record *record;

		for (uint64_t n = 1; n <= counts[i]; n++)
			CU_ASSERT_FATAL(vl_values_add(&values, 1000 * (double)n * (double)n));
		workload.metrics.transfer_times = vl_values_distribution(&values);
		record = vl_record_create(&results);
		CU_ASSERT_PTR_NOT_NULL_FATAL(record);
		memset(times, 0, sizeof(*times));
		vl_record_add_times(record, &record->classes[0], times);
		CU_ASSERT_EQUAL(times->count, counts[i]);
		for (unsigned int n = 0; n < sizeof(parts) / sizeof(parts[0]); n++) {
			double rank = ceil(parts[n] * (double)counts[i] - 1e-9);
			double value = 1000 * rank * rank;

			CU_ASSERT_DOUBLE_EQUAL((double)vl_histogram_percentile(times, parts[n]),
					       value, value / 100);
		}
		vl_record_destroy(record);
		free(values.list);
	}
	free(times);
	vl_scenario_free(scenario);
}

/* Two leaves, one spine: what fills the spine's port to the second leaf. */
static void workloads_cross_what_lies_on_their_shortest_ways(void)
{
	static const char text[] =
		"name: ways\nduration: 1ms\nwarm_up: 0\n"
		"topology: {kind: leaf_spine, endpoints: 6, leaves: 2, spines: 1}\n"
		"workloads:\n"
		"- {name: incast, kind: incast, endpoints: [host6, host1, host2, host3]}\n"
		"- {name: local, kind: incast, endpoints: [host3, host1]}\n"
		"- {name: same_leaf, kind: incast, endpoints: [host5, host4]}\n"
		"- {name: other_way, kind: incast, endpoints: [host1, host5]}\n"
		"- {name: along, kind: incast, endpoints: [host4, host2]}\n";
	static const bool last_hop[] = {true, false, false, false, false};
	static const bool uplink[] = {true, false, false, false, true};
	struct vl_problems problems = {0};
	struct vl_scenario *scenario = vl_scenario_parse(text, strlen(text), NULL, &problems);
	const struct vl_scenario_workload *workloads;
	unsigned int leaf = UINT32_MAX;

	vl_problems_print(&problems, stdout);
	CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
	workloads = scenario->workloads.elements;
	leaf = vl_scenario_find_node(scenario, "leaf1");
	for (unsigned int port = 0; port < scenario->nodes[leaf].ports; port++) {
		if (!scenario->nodes[vl_scenario_port(scenario, leaf, port)->neighbour].sw)
			continue;
		scenario->bottleneck.node = leaf;
		scenario->bottleneck.port = port;
	}
	for (unsigned int i = 0; i < 5; i++)
		CU_ASSERT_EQUAL(vl_scenario_workload_crosses(scenario, &workloads[i]), uplink[i]);
	scenario->bottleneck.node = vl_scenario_find_node(scenario, "leaf2");
	for (unsigned int port = 0; port < scenario->nodes[scenario->bottleneck.node].ports;
	     port++) {
		if (!strcmp(scenario->nodes[vl_scenario_port(scenario, scenario->bottleneck.node,
							     port)
						    ->neighbour]
				    .name,
			    "host6"))
			scenario->bottleneck.port = port;
	}
	for (unsigned int i = 0; i < 5; i++)
		CU_ASSERT_EQUAL(vl_scenario_workload_crosses(scenario, &workloads[i]), last_hop[i]);
	vl_scenario_free(scenario);
}

/* ---- Plans ---------------------------------------------------------------------------------- */

static struct vl_plan *plan(const char *text, struct vl_plan_options *options, char error[512])
{
	static const struct vl_texts none;

	options->source = "test";
	if (!options->sets)
		options->sets = &none;
	if (!options->fabrics)
		options->fabrics = &none;
	if (!options->vary)
		options->vary = &none;
	if (!options->sweep)
		options->sweep = &none;
	options->seed = options->duration = UINT64_MAX;
	error[0] = '\0';
	return vl_plan_create(text, strlen(text), options, stdout, error, 512);
}

static void plans_are_all_combinations_in_order(void)
{
	static const char more[] =
		"compare:\n  fabrics: [pfc, dcqcn]\n  repeat: 3\n"
		"  variants: [{name: short, set: [duration=500us]}, {name: plain}]\n"
		"  sweep: {'flows[first].size': [4KiB, 8KiB], 'flows[first].depth': [1, 2, 3]}\n";
	struct vl_plan_options options = {0};
	char text[1024], error[512], label[VL_PLAN_LABEL];
	struct vl_scenario *scenario;
	struct vl_plan *made;

	snprintf(text, sizeof(text), "%s%s", scenario_text, more);
	made = plan(text, &options, error);
	CU_ASSERT_PTR_NOT_NULL_FATAL(made);
	CU_ASSERT_EQUAL(made->point_count, 2 * 2 * 6);
	CU_ASSERT_EQUAL(made->repeat, 3);
	CU_ASSERT_STRING_EQUAL(vl_plan_point_label(made, 0, label),
			       "PFC only, short, size=4KiB, depth=1");
	CU_ASSERT_STRING_EQUAL(vl_plan_point_label(made, 23, label),
			       "DCQCN only, plain, size=8KiB, depth=3");
	scenario = vl_plan_scenario(made, 5, 2, stdout);
	CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
	CU_ASSERT_EQUAL(scenario->duration, 500000);
	CU_ASSERT_EQUAL(scenario->seed, 3);
	CU_ASSERT_EQUAL(scenario->fabric, VL_SCENARIO_PFC);
	CU_ASSERT_EQUAL(((struct vl_scenario_flow *)scenario->flows.elements)[0].size, 8192);
	CU_ASSERT_EQUAL(((struct vl_scenario_flow *)scenario->flows.elements)[0].depth, 3);
	vl_scenario_free(scenario);
	vl_plan_destroy(made);
}

static void the_command_line_comes_before_the_scenario(void)
{
	static const char more[] = "compare: {fabrics: [pfc, dcqcn], variants: [{name: x}]}\n";
	const struct vl_texts fabrics = {{"lossy,pfc_dcqcn", "dcqcn"}, 2};
	const struct vl_texts vary = {{"flows[first].depth=1,2"}, 1};
	struct vl_plan_options options = {.fabrics = &fabrics, .vary = &vary, .repeat = 2};
	char text[1024], error[512], label[VL_PLAN_LABEL];
	struct vl_plan *made;

	snprintf(text, sizeof(text), "%s%s", scenario_text, more);
	made = plan(text, &options, error);
	CU_ASSERT_PTR_NOT_NULL_FATAL(made);
	CU_ASSERT_EQUAL(made->point_count, 6);
	CU_ASSERT_EQUAL(made->repeat, 2);
	CU_ASSERT_STRING_EQUAL(vl_plan_point_label(made, 0, label), "lossy, depth=1");
	CU_ASSERT_STRING_EQUAL(vl_plan_point_label(made, 5, label), "DCQCN only, depth=2");
	vl_plan_destroy(made);
}

/* All of them are numbers of the same range, and can be given again. */
static void plans_have_no_seeds_beyond_the_last(void)
{
	static const char more[] = "seed: 9223372036854775807\ncompare: {repeat: 2}\n";
	struct vl_plan_options options = {0};
	char text[1024], error[512];

	snprintf(text, sizeof(text), "%s%s", scenario_text, more);
	CU_ASSERT_PTR_NULL(plan(text, &options, error));
	CU_ASSERT_STRING_EQUAL(error, "2 seeds from 9223372036854775807 on go beyond "
				      "9223372036854775807");
}

static const struct test tests[] = {
	{"text_is_no_markup", text_is_no_markup},
	{"what_is_no_text_is_replaced", what_is_no_text_is_replaced},
	{"linear_axes_hold_all_and_have_round_ticks", linear_axes_hold_all_and_have_round_ticks},
	{"logarithmic_axes_place_decades_evenly", logarithmic_axes_place_decades_evenly},
	{"senseless_ends_make_an_axis_all_the_same", senseless_ends_make_an_axis_all_the_same},
	{"a_record_crosses_unchanged", a_record_crosses_unchanged},
	{"long_series_keep_their_area_and_their_peaks",
	 long_series_keep_their_area_and_their_peaks},
	{"workloads_keep_their_percentiles", workloads_keep_their_percentiles},
	{"workloads_cross_what_lies_on_their_shortest_ways",
	 workloads_cross_what_lies_on_their_shortest_ways},
	{"plans_are_all_combinations_in_order", plans_are_all_combinations_in_order},
	{"plans_have_no_seeds_beyond_the_last", plans_have_no_seeds_beyond_the_last},
	{"the_command_line_comes_before_the_scenario", the_command_line_comes_before_the_scenario},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("compare_report", tests, argc, argv);
}
