/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Workloads in scenarios: what is taken, what is refused and where; traces; and each kind run. */

#include "apps/lab_fabric.h"
#include "apps/lab_measure.h"
#include "apps/lab_run.h"
#include "apps/scenario/scenario.h"
#include "dataplane/workload/engine.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const volatile int never;
static struct vl_problems problems;
static char text[4096];
static char trace_path[64];

static struct vl_scenario *parse(const char *workloads)
{
	memset(&problems, 0, sizeof(problems));
	snprintf(text, sizeof(text),
		 "name: test\n"
		 "seed: 3\n"
		 "duration: 200ms\n"
		 "endpoints: [{name: host, count: 8}, {name: other}]\n"
		 "switches: [{name: sw, buffer: 64MB}]\n"
		 "links: [{from: host, to: sw, rate: 100Gb/s, delay: 1us},\n"
		 "  {from: other, to: sw, rate: 25Gb/s, delay: 1us}]\n"
		 "workloads:\n"
		 "%s",
		 workloads);
	return vl_scenario_parse(text, strlen(text), NULL, &problems);
}

static struct vl_scenario *take(const char *workloads)
{
	struct vl_scenario *scenario = parse(workloads);

	if (!scenario)
		vl_problems_print(&problems, stderr);
	CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
	return scenario;
}

/* The first problem is on a line (from 1) of the workloads, and says so. */
static void refuse(const char *workloads, unsigned int line, const char *words)
{
	CU_ASSERT_PTR_NULL(parse(workloads));
	CU_ASSERT_FATAL(problems.count >= 1);
	CU_ASSERT_EQUAL(problems.list[0].place.line + 1, line + 8);
	CU_ASSERT_PTR_NOT_NULL(strstr(problems.list[0].text, words));
	if (!strstr(problems.list[0].text, words))
		fprintf(stderr, "not '%s' but '%s'\n", words, problems.list[0].text);
}

static const struct vl_scenario_workload *at(const struct vl_scenario *scenario, unsigned int n)
{
	return &((const struct vl_scenario_workload *)scenario->workloads.elements)[n];
}

/* ---- Reading ------------------------------------------------------------------------------- */

static void test_defaults(void)
{
	struct vl_scenario *scenario =
		take("  - {name: a, kind: incast, endpoints: [host2, host1, other]}\n"
		     "  - {name: b, kind: ring_all_reduce, after: a, size: 900B, iterations: 4}\n"
		     "  - {name: c, kind: inference, endpoints: host, servers: 2, requests: 3}\n");

	CU_ASSERT_EQUAL(at(scenario, 0)->rank_count, 3);
	CU_ASSERT_EQUAL(at(scenario, 0)->ranks[0], 1);
	CU_ASSERT_EQUAL(at(scenario, 0)->ranks[1], 0);
	CU_ASSERT_EQUAL(at(scenario, 0)->ranks[2], 8);
	CU_ASSERT_EQUAL(at(scenario, 0)->plan.step_count, 2);
	CU_ASSERT_EQUAL(at(scenario, 0)->plan.steps[0].bytes, 1 << 20);
	CU_ASSERT_TRUE(at(scenario, 0)->barrier);
	CU_ASSERT_EQUAL(at(scenario, 1)->rank_count, 9);
	CU_ASSERT_EQUAL(at(scenario, 1)->after_numbers[0], 0);
	CU_ASSERT_EQUAL(at(scenario, 1)->plan.step_count, 2 * 8 * 9);
	CU_ASSERT_FALSE(at(scenario, 1)->barrier);
	CU_ASSERT_EQUAL(at(scenario, 2)->plan.step_count, 6 * 3 * 2);
	CU_ASSERT_EQUAL(at(scenario, 2)->plan.steps[0].bytes, 2048);
	CU_ASSERT_EQUAL(at(scenario, 2)->plan.steps[1].bytes, 65536);
	vl_scenario_free(scenario);
}

static void test_collectives(void)
{
	struct vl_scenario *scenario =
		take("  - {name: a, kind: ring_all_reduce, endpoints: host}\n"
		     "  - {name: b, kind: halving_doubling_all_reduce, endpoints: host}\n"
		     "  - {name: c, kind: all_gather, endpoints: host}\n"
		     "  - {name: d, kind: reduce_scatter, endpoints: host}\n"
		     "  - {name: e, kind: all_to_all, endpoints: host}\n"
		     "  - {name: f, kind: broadcast_tree, endpoints: host}\n"
		     "  - {name: g, kind: permutation, endpoints: host}\n");
	/* As in the performance notes of nccl-tests. */
	static const double factors[] = {14.0 / 8, 14.0 / 8, 7.0 / 8, 7.0 / 8, 7.0 / 8, 1, 0};

	for (unsigned int i = 0; i < 7; i++) {
		struct vl_collective collective = vl_workload_collective(at(scenario, i));

		CU_ASSERT_DOUBLE_EQUAL(collective.bus_factor, factors[i], 1e-12);
		CU_ASSERT_EQUAL(collective.size, i < 6 ? 1 << 20 : 0);
	}
	vl_scenario_free(scenario);
}

static void test_refused(void)
{
	refuse("  - {kind: incast}\n", 1, "name");
	refuse("  - {name: a}\n", 1, "kind");
	refuse("  - {name: a, kind: outcast}\n", 1, "incast");
	refuse("  - {name: a, kind: incast}\n  - {name: a, kind: incast}\n", 2, "called 'a' too");
	refuse("  - {name: a, kind: incast, endpoints: nobody}\n", 1, "nobody");
	refuse("  - {name: a, kind: incast, endpoints: sw}\n", 1, "is a switch");
	refuse("  - {name: a, kind: incast, endpoints: [host, host3]}\n", 1,
	       "host3 takes part twice");
	refuse("  - {name: a, kind: incast, endpoints: other}\n", 1, "nobody to talk to");
	refuse("  - {name: a, kind: incast, fanout: 3}\n", 1, "means nothing to kind incast");
	refuse("  - {name: a, kind: background, iterations: 3}\n", 1, "means nothing");
	refuse("  - {name: a, kind: halving_doubling_all_reduce}\n", 1, "power of two");
	refuse("  - {name: a, kind: ring_all_reduce, size: 8B}\n", 1, "no 9 parts");
	refuse("  - {name: a, kind: parameter_server, servers: 9}\n", 1, "leave a worker");
	refuse("  - {name: a, kind: storage, outstanding: 3, arrivals: poisson}\n", 1,
	       "for arrivals closed");
	refuse("  - {name: a, kind: storage, requests_per_second: 3}\n", 1, "constant or poisson");
	refuse("  - {name: a, kind: storage, size: 1KiB, sizes: [{size: 1KiB}]}\n", 1,
	       "given by sizes");
	refuse("  - {name: a, kind: incast, after: b}\n  - {name: b, kind: incast}\n", 1,
	       "no workload above");
	refuse("  - {name: a, kind: background}\n  - {name: b, kind: incast, after: a}\n", 2,
	       "does not end");
	refuse("  - {name: a, kind: incast, start: 200ms}\n", 1, "run ends");
	refuse("  - {name: a, kind: background, start: 3ms, stop: 2ms}\n", 1, "not after");
	refuse("  - {name: a, kind: trace}\n", 1, "is missing");
	refuse("  - {name: a, kind: trace, trace: /dev/null}\n", 1, "is not a file");
	refuse("  - {name: a, kind: trace, trace: /nowhere/at/all}\n", 1, "/nowhere/at/all");
	refuse("  - {name: a, kind: ring_all_reduce, iterations: 1000000}\n", 1,
	       "iterations: 1000000 of ");
	refuse("  - {name: a, kind: inference, requests: 10000000}\n", 1, "operations of each");
	refuse("  - {name: a, kind: incast, size: 1024GiB, message_size: 100B}\n", 1,
	       "message_size: is too small for a transfer of 1099511627776 B; 513 B would do");
}

/* 9 endpoints have 36 pairs, of 64 queue pairs each: 28 workloads fit, and one more does not. */
static void test_queue_pairs_are_bounded(void)
{
	struct vl_scenario *scenario;
	struct vl_endpoint_config endpoint;
	char workloads[3000] = "";
	size_t used = 0;

	for (unsigned int i = 0; i < 28; i++)
		used += (size_t)snprintf(workloads + used, sizeof(workloads) - used,
					 "  - {name: w%u, kind: all_to_all, qps: 64}\n", i);
	scenario = take(workloads);
	/* With as many of flows an endpoint has room for all. */
	vl_lab_endpoint_config(scenario, 0, &endpoint);
	CU_ASSERT_TRUE(endpoint.device.max_qp > VL_SCENARIO_MAX_QPS + VL_WORKLOAD_MAX_QPS);
	vl_scenario_free(scenario);
	snprintf(workloads + used, sizeof(workloads) - used,
		 "  - {name: last, kind: all_to_all, qps: 64}\n");
	refuse(workloads, 29,
	       "workloads[28].qps: the workloads up to here have 66816 queue pairs, of which 64 "
	       "each for 36 pairs of ranks; at most 65536 are allowed");
}

/* ---- Traces -------------------------------------------------------------------------------- */

static void write_trace(const char *rows)
{
	FILE *file;

	snprintf(trace_path, sizeof(trace_path), "/tmp/verbline-trace-%d.csv", (int)getpid());
	file = fopen(trace_path, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	fputs(rows, file);
	fclose(file);
}

static struct vl_scenario *parse_trace(const char *rows)
{
	char workload[160];
	struct vl_scenario *scenario;

	write_trace(rows);
	snprintf(workload, sizeof(workload), "  - {name: t, kind: trace, trace: %s}\n", trace_path);
	scenario = parse(workload);
	unlink(trace_path);
	return scenario;
}

static void check_row(const struct vl_scenario *scenario, uint32_t n, uint64_t time,
		      uint32_t source, uint32_t destination, uint64_t bytes)
{
	const struct vl_step *step = &at(scenario, 0)->plan.steps[n];

	CU_ASSERT_EQUAL(step->earliest, time);
	CU_ASSERT_EQUAL(step->source, source);
	CU_ASSERT_EQUAL(step->destination, destination);
	CU_ASSERT_EQUAL(step->bytes, bytes);
}

static void test_trace(void)
{
	struct vl_scenario *scenario = parse_trace("# a comment\n"
						   "0,host1,host2,4096\n"
						   "\n"
						   " 1500 , host3 , other , 64KiB\r\n"
						   "2.5us,other,host8,1\n");

	CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
	CU_ASSERT_EQUAL_FATAL(at(scenario, 0)->plan.step_count, 3);
	check_row(scenario, 0, 0, 0, 1, 4096);
	check_row(scenario, 1, 1500, 2, 8, 65536);
	check_row(scenario, 2, 2500, 8, 7, 1);
	vl_scenario_free(scenario);

	/* As spreadsheets write them. */
	scenario = parse_trace("\xef\xbb\xbftime,source,destination,bytes\r\n0,host1,host2,5\r\n");
	CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
	CU_ASSERT_EQUAL_FATAL(at(scenario, 0)->plan.step_count, 1);
	check_row(scenario, 0, 0, 0, 1, 5);
	vl_scenario_free(scenario);

	scenario = parse_trace("size,dst,class,src,time_us\n"
			       "10,host1,bulk,host2,1.5\n"
			       "20,host2,bulk,host1,3ms");
	CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
	CU_ASSERT_EQUAL_FATAL(at(scenario, 0)->plan.step_count, 2);
	check_row(scenario, 0, 1500, 1, 0, 10);
	check_row(scenario, 1, 3000000, 0, 1, 20);
	vl_scenario_free(scenario);
}

/* A scenario names its files as they lie beside it, wherever that is. */
static void test_trace_beside_the_scenario(void)
{
	char directory[] = "/tmp/verbline-trace-XXXXXX", path[64], file[64], whole[300];
	struct vl_scenario *scenario;
	FILE *trace;

	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/t.csv", directory);
	snprintf(file, sizeof(file), "%s/s.yaml", directory);
	trace = fopen(path, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
	fputs("0,a,b,4096\n", trace);
	fclose(trace);
	snprintf(whole, sizeof(whole),
		 "name: t\nendpoints: [{name: a}, {name: b}]\nlinks: [{from: a, to: b}]\n"
		 "workloads: [{name: w, kind: trace, trace: t.csv}]\n");
	memset(&problems, 0, sizeof(problems));
	problems.file = file;
	scenario = vl_scenario_parse(whole, strlen(whole), NULL, &problems);
	CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
	CU_ASSERT_EQUAL(at(scenario, 0)->plan.step_count, 1);
	vl_scenario_free(scenario);
	/* By a pipe it lies nowhere. */
	memset(&problems, 0, sizeof(problems));
	problems.file = "/dev/stdin";
	CU_ASSERT_PTR_NULL(vl_scenario_parse(whole, strlen(whole), NULL, &problems));
	CU_ASSERT_PTR_NOT_NULL(strstr(problems.list[0].text, "trace: t.csv: No such file"));
	unlink(path);
	/* What is missing is named where it was looked for. */
	memset(&problems, 0, sizeof(problems));
	problems.file = file;
	CU_ASSERT_PTR_NULL(vl_scenario_parse(whole, strlen(whole), NULL, &problems));
	CU_ASSERT_PTR_NOT_NULL(strstr(problems.list[0].text, path));
	rmdir(directory);
}

static void refuse_trace(const char *rows, const char *place, const char *words)
{
	char expected[128];

	CU_ASSERT_PTR_NULL(parse_trace(rows));
	CU_ASSERT_FATAL(problems.count >= 1);
	snprintf(expected, sizeof(expected), "%s%s%s: ", trace_path, *place ? ":" : "", place);
	CU_ASSERT_PTR_NOT_NULL(strstr(problems.list[0].text, expected));
	CU_ASSERT_PTR_NOT_NULL(strstr(problems.list[0].text, words));
	if (!strstr(problems.list[0].text, expected) || !strstr(problems.list[0].text, words))
		fprintf(stderr, "not '%s...%s' but '%s'\n", expected, words, problems.list[0].text);
}

static void test_refused_traces(void)
{
	refuse_trace("", "", "there is no row");
	refuse_trace("0,host1,host2,1\n0,host1,nobody,4\n", "2:9", "nothing is called 'nobody'");
	refuse_trace("0,host1,sw,4\n", "1:9", "not among");
	refuse_trace("0,host1,host1,4\n", "1:9", "is the source");
	refuse_trace("0,host1,host2\n", "1:9", "'bytes' is missing");
	refuse_trace("0,host1,host2,0\n", "1:15", "bytes");
	refuse_trace("0,host1,host2,-4\n", "1:15", "bytes");
	refuse_trace("0,host1,host2,4us\n", "1:15", "bytes");
	refuse_trace("1KiB,host1,host2,4\n", "1:1", "time");
	refuse_trace("time_years,source,destination,bytes\n", "1:1", "no unit of time");
	refuse_trace("time,source,bytes\n", "1:1", "no column 'destination'");
	refuse_trace("time,source,src,destination,bytes\n", "1:13", "a second column");
	refuse_trace(",,,\n", "1:1", "time");
}

/* A pipe that nobody ever writes to. */
static void test_trace_from_pipe(void)
{
	char path[64], workload[160];

	snprintf(path, sizeof(path), "/tmp/verbline-trace-pipe-%d", (int)getpid());
	CU_ASSERT_EQUAL_FATAL(mkfifo(path, 0600), 0);
	snprintf(workload, sizeof(workload), "  - {name: a, kind: trace, trace: %s}\n", path);
	refuse(workload, 1, "is not a file");
	unlink(path);
}

/* ---- Running ------------------------------------------------------------------------------- */

static void run(const char *workloads, const char *fabric, struct vl_results *results)
{
	struct vl_scenario *scenario;
	struct vl_lab_run lab = {.results = results, .interrupted = &never};
	char error[512] = "", whole[1024];

	snprintf(whole, sizeof(whole), "%sfabric: %s\n", workloads, fabric);
	scenario = take(whole);
	lab.scenario = scenario;
	CU_ASSERT_FATAL(vl_results_init(results, scenario));
	CU_ASSERT_EQUAL_FATAL(vl_lab_run_virtual(&lab, error, sizeof(error)), 0);
	CU_ASSERT_STRING_EQUAL(error, "");
}

static void finish(struct vl_results *results)
{
	struct vl_scenario *scenario = (struct vl_scenario *)results->scenario;

	vl_results_release(results);
	vl_scenario_free(scenario);
}

/* Each kind with what it has of its own, with loss and without. */
static void test_kinds(void)
{
	static const char *const kinds[] = {
		"incast, size: 100KB",
		"permutation, size: 100KB, iterations: 2",
		"all_to_all, size: 90KB, outstanding: 2",
		"ring_all_reduce, size: 90KB, compute: 1us",
		"halving_doubling_all_reduce, size: 100KB, endpoints: host",
		"all_gather, size: 90KB",
		"reduce_scatter, size: 90KB",
		"broadcast_tree, size: 100KB, segment: 10KB, fanout: 3",
		"parameter_server, size: 90KB, servers: 2",
		"pipeline, size: 50KB, microbatches: 4, forward: 2us, backward: 3us",
		"storage, servers: 2, requests: 20, sizes: [{size: 4KiB, weight: 3}, {size: "
		"64KiB}]",
		"inference, requests: 10, arrivals: poisson, requests_per_second: 50000, deadline: "
		"1s",
	};
	struct vl_results results;
	char workload[256];

	for (unsigned int i = 0; i < 2 * sizeof(kinds) / sizeof(kinds[0]); i++) {
		snprintf(workload, sizeof(workload), "  - {name: w, timeout: 7, kind: %s}\n",
			 kinds[i / 2]);
		run(workload, i % 2 ? "lossy" : "pfc_dcqcn", &results);
		CU_ASSERT_TRUE(vl_results_are_good(&results));
		CU_ASSERT_EQUAL(results.workloads[0].metrics.transfers,
				results.workloads[0].metrics.all_transfers);
		CU_ASSERT_EQUAL(results.workloads[0].metrics.missed, 0);
		/* Nothing is faster than with the network to itself. */
		CU_ASSERT_TRUE(results.workloads[0].metrics.transfer_slowdown.least > 0.995);
		CU_ASSERT_TRUE(results.workloads[0].metrics.job_slowdown.least > 0.995);
		CU_ASSERT_EQUAL(results.class_count, 1);
		CU_ASSERT_EQUAL(results.classes[0].priority, 3);
		finish(&results);
	}
}

/* The slower link's rate, and one packet's time on the other. */
static void test_ideal(void)
{
	static const char *const fabrics[] = {"lossy", "infiniband"};
	struct vl_results results;

	for (unsigned int i = 0; i < 2; i++) {
		run("  - {name: up, kind: incast, endpoints: [other, host1], size: 1MB}\n"
		    "  - {name: down, kind: incast, endpoints: [host2, other], size: 1MB}\n"
		    "  - {name: small, kind: incast, endpoints: [host3, other], size: 100B, "
		    "after: down}\n",
		    fabrics[i], &results);
		for (unsigned int n = 0; n < 3; n++)
			CU_ASSERT_DOUBLE_EQUAL(results.workloads[n].metrics.transfer_slowdown.mean,
					       1, 0.007);
		CU_ASSERT_STRING_EQUAL(results.bottleneck.node, "sw");
		finish(&results);
	}
}

/* A background lasts as long as the others; what does not end in time is not good. */
static void test_end(void)
{
	struct vl_results results;

	run("  - {name: a, kind: background}\n"
	    "  - {name: b, kind: incast, start: 3ms, size: 100KB}\n",
	    "pfc_dcqcn", &results);
	CU_ASSERT_TRUE(vl_results_are_good(&results));
	CU_ASSERT_TRUE(results.end >= 3000000 && results.end < 10000000);
	CU_ASSERT_TRUE(results.goodput > 1e11);
	CU_ASSERT_TRUE(results.workloads[0].metrics.goodput > 1e11);
	finish(&results);
	run("  - {name: a, kind: incast, size: 1GB}\n"
	    "  - {name: b, kind: incast, size: 1GB, after: a}\n",
	    "pfc_dcqcn", &results);
	CU_ASSERT_FALSE(vl_results_are_good(&results));
	CU_ASSERT_EQUAL(results.workloads[1].metrics.progress.started, VL_WORKLOAD_NEVER);
	finish(&results);
}

/* What is measured ends with the last job, not with the next sample: 3 MB over a line of 100 Gb/s
 * fill a good 240 us, and samples are 1 ms apart. */
static void test_window(void)
{
	struct vl_results results;
	uint64_t ended;

	run("  - {name: a, kind: incast, size: 1MB, endpoints: [host1, host2, host3, host4]}\n"
	    "sample_interval: 1ms\n",
	    "pfc", &results);
	ended = results.workloads[0].metrics.progress.ended;
	CU_ASSERT_TRUE(ended > 240000 && ended < 280000);
	CU_ASSERT_EQUAL(results.end, 1000000);
	CU_ASSERT_TRUE(results.window_end >= ended && results.window_end <= ended + 1000);
	CU_ASSERT_TRUE(results.bottleneck.utilization > 0.95);
	CU_ASSERT_TRUE(results.bottleneck.queue_mean > 100000);
	CU_ASSERT_DOUBLE_EQUAL(results.goodput, 3e6 * 8e9 / (double)results.window_end, 1e6);
	finish(&results);
	/* In the warm-up it ends, too. */
	run("  - {name: a, kind: incast, size: 1MB, endpoints: [host1, host2, host3, host4]}\n"
	    "warm_up: 1ms\n",
	    "pfc", &results);
	CU_ASSERT_EQUAL(results.window_start, 0);
	CU_ASSERT_TRUE(results.window_end >= ended && results.window_end <= ended + 1000);
	CU_ASSERT_TRUE(results.bottleneck.utilization > 0.95);
	finish(&results);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"defaults", test_defaults},
		{"collectives", test_collectives},
		{"refused", test_refused},
		{"queue_pairs_are_bounded", test_queue_pairs_are_bounded},
		{"trace", test_trace},
		{"trace_beside_the_scenario", test_trace_beside_the_scenario},
		{"refused_traces", test_refused_traces},
		{"trace_from_pipe", test_trace_from_pipe},
		{"kinds", test_kinds},
		{"ideal", test_ideal},
		{"end", test_end},
		{"window", test_window},
	};

	return RUN_SUITE("scenario_workload", tests, argc, argv);
}
