/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* `verbline compare` as its users call it. */

#include "apps/sanitizers.h"
#include "tests/support/command.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK_PAGE "/usr/bin/python3 \"${VERBLINE_SOURCE_ROOT:-.}\"/tests/support/check_page.py "

/* Two senders and one receiver behind a switch, and what to compare. */
#define SCENARIO                                                                                   \
	"cat >s.yaml <<'END'\n"                                                                    \
	"name: small\n"                                                                            \
	"teaches: <script>alert(1)</script> & \"more\"\n"                                          \
	"duration: 2ms\n"                                                                          \
	"warm_up: 200us\n"                                                                         \
	"endpoints: [{name: sender, count: 2}, {name: receiver}, {name: other}]\n"                 \
	"switches: [{name: switch}]\n"                                                             \
	"links: [{from: sender, to: switch}, {from: receiver, to: switch},\n"                      \
	"  {from: other, to: switch}]\n"                                                           \
	"flows: [{name: incast, from: sender, to: receiver},\n"                                    \
	"  {name: beside, from: sender1, to: other, size: 4KiB}]\n"                                \
	"compare: {fabrics: [pfc, dcqcn, lossy]} # </pre><img src=x onerror=alert(2)>\n"           \
	"END\n"

static void results_do_not_depend_on_the_number_of_jobs(void)
{
	expect(SCENARIO
	       "$V s.yaml --repeat 2 --jobs 1 --json 1.json --csv 1.csv >1.txt 2>/dev/null &&"
	       "$V s.yaml --repeat 2 --jobs 2 --json 2.json --csv 2.csv >2.txt 2>/dev/null &&"
	       "$V s.yaml --repeat 2 --jobs 6 --json 3.json --csv 3.csv >3.txt 2>/dev/null &&"
	       "cmp 1.json 2.json && cmp 1.csv 2.csv && cmp 1.txt 2.txt &&"
	       "cmp 1.json 3.json && cmp 1.csv 3.csv && cmp 1.txt 3.txt && wc -l <1.csv",
	       0, "");
}

static json_t *load(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return json_load_file(path, 0, NULL);
}

static double number(const json_t *object, const char *name)
{
	return json_number_value(json_object_get(object, name));
}

/* The point of a fabric, and what the lab says of the same when it runs it alone. */
static void check_against_lab(const json_t *comparison, const char *fabric)
{
	static const char *const times[] = {"count",  "min_ns",   "p50_ns", "p90_ns",
					    "p99_ns", "p99_9_ns", "max_ns"};
	const json_t *points = json_object_get(comparison, "points"), *point = NULL, *run, *flow;
	char command[512], lab[300];
	json_t *alone;

	for (size_t i = 0; i < json_array_size(points); i++) {
		point = json_array_get(points, i);
		if (!strcmp(json_string_value(json_object_get(point, "fabric")), fabric))
			break;
	}
	/* Its own command, with the program where it is. */
	snprintf(lab, sizeof(lab), "%s",
		 json_string_value(json_object_get(point, "command")) + strlen("verbline lab "));
	snprintf(command, sizeof(command),
		 "${V%% compare} lab %s --json alone.json >/dev/null 2>&1", lab);
	expect(command, 0, "");
	alone = load("alone.json");
	CU_ASSERT_PTR_NOT_NULL_FATAL(alone);
	run = json_array_get(json_object_get(point, "runs"), 0);
	CU_ASSERT_DOUBLE_EQUAL(
		number(json_object_get(json_object_get(point, "figures"), "goodput_bps"), "mean"),
		number(alone, "goodput_bps"), 1);
	CU_ASSERT(number(alone, "goodput_bps") > 1e9);
	CU_ASSERT(json_equal(json_object_get(run, "totals"), json_object_get(alone, "totals")));
	for (size_t i = 0; i < 2; i++) {
		const json_t *kept = json_object_get(
			json_array_get(json_object_get(run, "classes"), i), "flow_completion_time");

		flow = json_object_get(json_array_get(json_object_get(alone, "flows"), i),
				       "flow_completion_time");
		CU_ASSERT(number(flow, "count") > 0);
		for (unsigned int n = 0; n < sizeof(times) / sizeof(times[0]); n++)
			CU_ASSERT(json_equal(json_object_get(kept, times[n]),
					     json_object_get(flow, times[n])));
		CU_ASSERT_DOUBLE_EQUAL(number(kept, "mean_ns"), number(flow, "mean_ns"), 1);
	}
	json_decref(alone);
}

static void each_point_is_what_the_lab_says_of_it_alone(void)
{
	json_t *comparison;

	expect(SCENARIO "$V s.yaml --json c.json >/dev/null 2>&1", 0, "");
	comparison = load("c.json");
	CU_ASSERT_PTR_NOT_NULL_FATAL(comparison);
	CU_ASSERT_EQUAL(json_array_size(json_object_get(comparison, "points")), 3);
	CU_ASSERT(json_is_true(json_object_get(comparison, "complete")));
	check_against_lab(comparison, "pfc");
	check_against_lab(comparison, "dcqcn");
	check_against_lab(comparison, "lossy");
	json_decref(comparison);
}

static void a_page_is_complete_and_nothing_gets_into_it(void)
{
	expect(SCENARIO "$V s.yaml --html p.html >/dev/null 2>&1 && " CHECK_PAGE "p.html", 0,
	       "holds up");
	expect("grep 'alert(1)' p.html", 0, "&lt;script&gt;alert(1)");
	expect("grep '<script>alert\\|<img' p.html", 1, "");
	expect("grep 'https\\?:' p.html", 1, "");
	expect(SCENARIO
	       "$V s.yaml --fabric pfc --sweep 'flows[incast].size=4KiB,16KiB,64KiB' --sweep "
	       "'flows[incast].depth=1,4' --html p.html >/dev/null 2>&1 && " CHECK_PAGE
	       "p.html && grep -c 'class=\"best\"' p.html",
	       0, "holds up");
	expect(SCENARIO
	       "$V s.yaml --fabric pfc,dcqcn --sweep 'flows[incast].size=4KiB,16KiB,64KiB' "
	       "--repeat 2 --html p.html >/dev/null 2>&1 && " CHECK_PAGE "p.html",
	       0, "holds up");
}

static void a_table_has_a_row_for_each_thing(void)
{
	/* A run, two flows, and both directions of four cables; and the header. */
	expect(SCENARIO "$V s.yaml --fabric pfc --csv c.csv >/dev/null 2>&1 && wc -l <c.csv", 0,
	       "12\n");
	expect("cut -d, -f5 c.csv | sort | uniq -c | tr -s ' \\n' ' '", 0,
	       "2 flow 1 kind 8 link 1 run");
	expect("/usr/bin/python3 -c 'import csv; rows = list(csv.DictReader(open(\"c.csv\"))); "
	       "assert all(None not in row and None not in row.values() for row in rows); "
	       "assert float(rows[0][\"goodput_bps\"]) > 1e9; print(\"rows\", len(rows))'",
	       0, "rows 11");
}

/* Most queue pairs lose the ends of their messages at once and wait for a timeout that the run does
 * not see: those that are left are fast. */
static void who_came_through_is_not_called_best(void)
{
	expect("$V leaf-spine-victim -D 8ms --fabric dcqcn,lossy --html p.html --json p.json "
	       "--csv p.csv 2>/dev/null | tr -s '\n ' ' '",
	       0, "lossy is called best in nothing, as ");
	CU_ASSERT_PTR_NOT_NULL(strstr(output, "queue pairs had stalled by its end"));
	CU_ASSERT_PTR_NULL(strstr(output, "waited least on lossy"));
	expect("/usr/bin/python3 -c '\n"
	       "import csv, json, re\n"
	       "rows = list(csv.DictReader(open(\"p.csv\")))\n"
	       "runs = {row[\"fabric\"]: row for row in rows if row[\"kind\"] == \"run\"}\n"
	       "assert float(runs[\"lossy\"][\"completion_p50_ns\"]) < "
	       "float(runs[\"dcqcn\"][\"completion_p50_ns\"])\n"
	       "assert int(runs[\"lossy\"][\"stalled\"]) > 2 and runs[\"dcqcn\"][\"stalled\"] "
	       "== \"0\"\n"
	       "page = open(\"p.html\").read()\n"
	       "lines = re.findall(\"<tr.*</tr>\", page)\n"
	       "lossy = next(line for line in lines if \"lossy\" in line)\n"
	       "dcqcn = next(line for line in lines if \"DCQCN\" in line)\n"
	       "assert \"(stalled)\" in lossy and \"best\" not in lossy, lossy\n"
	       "assert \"best\" in dcqcn and \"stalled\" not in dcqcn, dcqcn\n"
	       "print(\"fine\")'",
	       0, "fine");
}

/* Ticks of the axes of time lie where their times do, up to an end that is no round number. */
static void axes_of_time_are_even(void)
{
	expect(SCENARIO
	       "$V s.yaml -D 1750us --fabric pfc --html p.html >/dev/null 2>&1; "
	       "/usr/bin/python3 -c '\n"
	       "import re\n"
	       "page = open(\"p.html\", encoding=\"utf-8\").read()\n"
	       "plots = re.findall(r\"<svg[^>]*over time.*?</svg>\", page, re.S)\n"
	       "assert len(plots) == 2, len(plots)\n"
	       "for plot in plots:\n"
	       "    ticks = [(float(x), float(value) * {\"ns\": 1e-3, \"ms\": 1e3}.get(unit, 1))\n"
	       "             for x, value, unit in re.findall(\n"
	       "                 r\"x=.([0-9.]+).[^>]*middle[^>]*tick.>([0-9.]+) (\\S+)<\", "
	       "plot)]\n"
	       "    assert len(ticks) >= 3 and ticks[-1][1] <= 1750, ticks\n"
	       "    rates = [(b[0] - ticks[0][0]) / b[1] for b in ticks[1:]]\n"
	       "    assert max(rates) - min(rates) < 0.01 * rates[0], ticks\n"
	       "print(\"fine\")'",
	       0, "fine");
}

static void a_table_names_the_workload_that_its_jobs_are_of(void)
{
	expect("$V --fabric infiniband,pfc,lossy --set workloads[0].iterations=1 "
	       "--json j.json 2>/dev/null | head -5 | tr -s '\n ' ' '",
	       0, "training training");
	CU_ASSERT_PTR_NOT_NULL(strstr(output, "job time slowdown"));
	expect("/usr/bin/python3 -c 'import json; j = json.load(open(\"j.json\")); "
	       "assert j[\"job_workload\"] == \"training\"; "
	       "[abs(p[\"figures\"][\"slowdown\"][\"mean\"] - "
	       "p[\"runs\"][0][\"classes\"][0][\"jobs\"][\"slowdown_mean\"]) < 1e-9 or 1 / 0 "
	       "for p in j[\"points\"]]; "
	       "assert j[\"points\"][0][\"figures\"][\"paused_ns\"] is None; "
	       "assert j[\"points\"][1][\"figures\"][\"credit_stalled_ns\"] is None; "
	       "print(\"fine\")'",
	       0, "fine");
}

/* In a ring all lines are asked for alike: queues are of the line where they are longest, wherever.
 */
static void a_collective_has_no_bottleneck(void)
{
	expect("$V permutation --fabric pfc,dcqcn --json j.json --html p.html 2>/dev/null | "
	       "tr -s '\n ' ' '",
	       0, "The longest queue of all lines is shortest on ");
	CU_ASSERT_PTR_NOT_NULL(strstr(output, "The transfers of the workload get their rates"));
	expect("/usr/bin/python3 -c 'import json; j = json.load(open(\"j.json\")); "
	       "[abs(p[\"figures\"][\"queue_mean_bytes\"][\"mean\"] - "
	       "max(l[\"queue_mean_bytes\"] for l in p[\"runs\"][0][\"links\"])) < 1 or 1 / 0 "
	       "for p in j[\"points\"]]; print(\"fine\")' && "
	       "grep -c 'one of several that are asked for alike' p.html",
	       0, "fine\n1");
	expect("${V% *} lab all-reduce --no-view", 0, "No bottleneck: the workloads ask for ");
}

/* As many as are as good as the best are named beside it, and what DCQCN costs is told. */
static void what_slowing_down_costs_is_said(void)
{
	expect("$V permutation --fabric pfc,pfc_dcqcn,lossy --json j.json 2>/dev/null | "
	       "tr -s '\n ' ' '",
	       0, "To slow down costs jobs of permutation more than it saves: they take ");
	CU_ASSERT_PTR_NOT_NULL(strstr(output, "times the ideal; lossy within 3 %), and longest"));
	CU_ASSERT_PTR_NOT_NULL(strstr(output, "over all queue pairs (lossy within 3 %); "));
	/* The factor is that of the figures. */
	expect("/usr/bin/python3 -c 'import json, re; j = json.load(open(\"j.json\")); "
	       "t = [x[\"figures\"][\"job_time_ns\"][\"mean\"] for x in j[\"points\"]]; "
	       "said = float(re.search(r\"\\), ([0-9.]+) times the\", \" "
	       "\".join(j[\"says\"]))[1]); "
	       "assert abs(said - t[1] / t[0]) < 0.01, (said, t); print(\"fine\")'",
	       0, "fine");
	/* Not where nothing is slowed down, nor without the same switches to set beside it. */
	expect("$V permutation --fabric dcqcn,pfc 2>/dev/null", 0, "Jobs of permutation");
	CU_ASSERT_PTR_NULL(strstr(output, "To slow down costs"));
	expect("$V permutation --fabric pfc,pfc_dcqcn --set switch.ecn.kmin=100MB "
	       "--set switch.ecn.kmax=200MB 2>/dev/null",
	       0, "What the numbers say");
	CU_ASSERT_PTR_NULL(strstr(output, "To slow down costs"));
}

static void a_sweep_says_where_it_is_best_and_what_matters(void)
{
	expect(SCENARIO "$V s.yaml --fabric pfc --sweep 'flows[incast].size=16KiB,64KiB' --sweep "
			"'flows[beside].priority=3,4' --json p.json 2>/dev/null | tr -s '\n ' ' '",
	       0, "On PFC only the best point of the sweep is size=16KiB, priority=");
	CU_ASSERT_PTR_NOT_NULL(strstr(output, "At the worst, size=64KiB, priority="));
	CU_ASSERT_PTR_NOT_NULL(strstr(output, "size takes it from "));
	/* The factor is that of the figures. */
	expect("/usr/bin/python3 -c 'import json, re; j = json.load(open(\"p.json\")); "
	       "p = [x[\"figures\"][\"completion_p99_ns\"][\"mean\"] for x in j[\"points\"]]; "
	       "said = float(re.search(r\"([0-9.]+) times as much\", \" \".join(j[\"says\"]))[1]); "
	       "assert abs(said - max(p) / min(p)) < 0.01, (said, p); print(\"fine\")'",
	       0, "fine");
}

static void what_is_done_is_reported_when_interrupted(void)
{
	expect(SCENARIO "timeout --foreground --preserve-status -s INT 2 $V s.yaml --fabric pfc "
			"--jobs 1 --vary "
			"duration=1ms,1000s --html p.html --json p.json",
	       1, "PARTIAL: interrupted after 1 of 2 runs");
	expect(CHECK_PAGE "p.html && grep -c 'Partial results' p.html", 0, "holds up");
	/* The whole group of processes, as when a terminal is closed. */
	for (unsigned int i = 0; i < 2; i++) {
		static const char *const signals[] = {"HUP", "TERM"};
		char command[256];

		snprintf(command, sizeof(command),
			 "timeout --preserve-status -s %s 2 $V s.yaml --fabric pfc --jobs 1 --vary "
			 "duration=1ms,1000s --json p.json",
			 signals[i]);
		expect(command, 1, "PARTIAL: interrupted after 1 of 2 runs");
	}
	expect("grep complete p.json", 0, "\"complete\": false");
}

static void a_run_that_fails_fails_alone(void)
{
	/* A limit that the short messages keep and the many queue pairs do not. */
#if !VL_ADDRESS_SANITIZER
	expect(SCENARIO "$V s.yaml --fabric pfc --memory 160MiB --vary 'flows[incast].qps=1,16384' "
			"--csv c.csv",
	       1, "1 of 2 runs failed");
	expect("cut -d, -f2,4,5 c.csv | grep run", 0, "qps=1,done,run\nqps=16384,failed,run");
#endif
}

static void wrong_usage_is_named(void)
{
	expect("$V --fabric pcf", 2, "did you mean pfc?");
	expect("$V --fabric pfc,pfc", 2, "named twice");
	expect("$V --vary nothing", 2, "PATH=VALUE");
	expect("$V --vary a=1,,2", 2, "a value is empty");
	expect("$V --vary flows[nobody].size=1KiB", 2, "there is nothing at");
	expect("$V --sweep seed=1,2 --sweep seed=3", 2, "swept twice");
	expect("$V --fabric ''", 2, "'' is no fabric");
	expect("$V --fabric pfc,", 2, "'' is no fabric");
	expect("$V --vary a=1,", 2, "a value is empty");
	expect("$V --sweep fabric=pfc,lossy", 2, "sweep: fabric is chosen by --fabric");
	expect("$V --vary fabric=pfc,lossy", 2, "fabric is chosen by --fabric");
	expect("$V --set fabric=infiniband", 2, "--set: fabric is chosen by --fabric");
	expect("$V --repeat 2 --sweep seed=3,4", 2, "sweep: seed: all is repeated with 2 seeds");
	expect("$V --repeat 0", 2, "--repeat");
	expect("$V leaf-spine-victim -D 8ms --fabric infiniband,pfc,dcqcn,lossy "
	       "--set switch.queue_limit=8MB 2>/dev/null | "
	       "tr -s '\\n ' ' '",
	       0, "it completes no message in the measured window");
	CU_ASSERT_PTR_NOT_NULL(strstr(output, " So it is on InfiniBand ("));
	CU_ASSERT_PTR_NOT_NULL(strstr(output, "; PFC only ("));
	expect("$V leaf-spine-victim -D 100us --set warm_up=0 --fabric infiniband,pfc "
	       "--set links[0].delay=10us 2>/dev/null | tr -s '\\n ' ' '",
	       0, "InfiniBand's buffers are short for these links: the 131KB of credits of a lane");
	CU_ASSERT_PTR_NOT_NULL(strstr(output, "More than that the credits of one lane cannot"));
	expect("$V leaf-spine-victim -D 100us --set warm_up=0 --fabric infiniband,pfc "
	       "--set links[0].delay=5us --set infiniband.buffer=64KiB 2>/dev/null | "
	       "tr -s '\\n ' ' '",
	       0, "the 64KiB of credits of a lane");
	CU_ASSERT_PTR_NOT_NULL(strstr(output, "infiniband.buffer makes them larger"));
	expect("$V leaf-spine-victims", 2, "did you mean the ready scenario leaf-spine-victim?");
	expect("$V /no/such/file", 2, "No such file");
	expect("$V one two", 2, "unexpected 'two'");
	expect("$V --fabric pfc --html same --json same", 2, "two outputs");
	expect("$V --fabric pfc --html /no/such/place", 2, "No such file or directory");
	expect(SCENARIO "$V s.yaml --csv s.yaml", 2, "would be overwritten");
	expect("$V --sweep seed=$(seq -s, 200) --sweep duration=$(seq -s, -f %gms 1 100)", 2,
	       "more than 10000");
	expect(SCENARIO "$V s.yaml --vary 'flows[incast].size=1KiB,0'", 2, "size=0");
}

/* What follows the name of a scenario that is right otherwise. */
static void expect_refused(const char *compare, const char *text)
{
	char command[1024];

	snprintf(command, sizeof(command),
		 "printf 'name: x\nendpoints: [{name: a}, {name: b}]\nlinks: [{from: a, to: b}]\n"
		 "flows: [{from: a, to: b}]\ncompare: %s\n' >w.yaml; $V w.yaml",
		 compare);
	expect(command, 2, text);
}

static void a_wrong_comparison_in_a_scenario_is_named(void)
{
	expect_refused("{fabrics: [pfc, pcf]}", "did you mean pfc?");
	expect_refused("{fabrics: []}", "w.yaml:5:20: compare.fabrics: has 0 values");
	expect_refused("{fabrics: {pfc: 1}}", "compare.fabrics: must be a single value");
	expect_refused("{variants: [{set: seed=1}]}", "compare.variants[0].name: is missing");
	expect_refused("{variants: [{name: a}, {name: a}]}", "two are called a");
	expect_refused("{variants: [{name: a, set: nothing}]}", "is not KEY=VALUE");
	expect_refused("{sweep: [seed]}", "compare.sweep: must be a mapping");
	expect_refused("{sweep: {seed: []}}", "compare.sweep.seed: has 0 values");
	expect_refused("{sweep: {sed: [1, 2]}}", "did you mean 'seed'?");
	expect_refused("{repeat: 0}", "compare.repeat");
	expect_refused("{fabric: pfc}", "did you mean 'fabrics'?");
}

static void a_plan_is_printed_and_not_run(void)
{
	expect(SCENARIO "$V s.yaml --plan --vary 'flows[incast].size=4KiB' -D 1ms", 0,
	       "verbline lab s.yaml --set duration=1ms --set fabric=dcqcn --set "
	       "'flows[incast].size=4KiB'");
}

static const struct test tests[] = {
	{"results_do_not_depend_on_the_number_of_jobs",
	 results_do_not_depend_on_the_number_of_jobs},
	{"each_point_is_what_the_lab_says_of_it_alone",
	 each_point_is_what_the_lab_says_of_it_alone},
	{"a_page_is_complete_and_nothing_gets_into_it",
	 a_page_is_complete_and_nothing_gets_into_it},
	{"a_table_has_a_row_for_each_thing", a_table_has_a_row_for_each_thing},
	{"who_came_through_is_not_called_best", who_came_through_is_not_called_best},
	{"axes_of_time_are_even", axes_of_time_are_even},
	{"a_table_names_the_workload_that_its_jobs_are_of",
	 a_table_names_the_workload_that_its_jobs_are_of},
	{"a_collective_has_no_bottleneck", a_collective_has_no_bottleneck},
	{"what_slowing_down_costs_is_said", what_slowing_down_costs_is_said},
	{"a_sweep_says_where_it_is_best_and_what_matters",
	 a_sweep_says_where_it_is_best_and_what_matters},
	{"what_is_done_is_reported_when_interrupted", what_is_done_is_reported_when_interrupted},
	{"a_run_that_fails_fails_alone", a_run_that_fails_fails_alone},
	{"wrong_usage_is_named", wrong_usage_is_named},
	{"a_wrong_comparison_in_a_scenario_is_named", a_wrong_comparison_in_a_scenario_is_named},
	{"a_plan_is_printed_and_not_run", a_plan_is_printed_and_not_run},
};

int main(int argc, char **argv)
{
	return COMMAND_RUN_SUITE("compare_command", "compare", tests, argc, argv);
}
