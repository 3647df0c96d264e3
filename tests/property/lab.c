/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * The ready scenarios in virtual time, held to what they claim: the bars of the default one, the
 * same bytes for the same seed, the fluid model's fixed point for two, four and eight long flows.
 */

#include "apps/lab_measure.h"
#include "apps/lab_run.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const volatile int never;
static struct vl_problems problems;

static struct vl_scenario *load(const char *name, const char *one, const char *two)
{
	struct vl_texts overrides = {{one, two}, two ? 2 : one ? 1 : 0};
	struct vl_scenario *scenario = NULL;

	memset(&problems, 0, sizeof(problems));
	for (unsigned int i = 0; i < vl_ready_scenario_count; i++) {
		if (!strcmp(vl_ready_scenarios[i].name, name))
			scenario = vl_scenario_parse(vl_ready_scenarios[i].text,
						     strlen(vl_ready_scenarios[i].text), &overrides,
						     &problems);
	}
	CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
	return scenario;
}

static void run(const struct vl_scenario *scenario, struct vl_results *results,
		struct vl_capture_writer *capture)
{
	struct vl_lab_run lab = {.scenario = scenario,
				 .results = results,
				 .capture = capture,
				 .capture_node = scenario->pairs[0].to,
				 .interrupted = &never};
	char error[512] = "";

	CU_ASSERT_FATAL(vl_results_init(results, scenario));
	CU_ASSERT_EQUAL(vl_lab_run_virtual(&lab, error, sizeof(error)), 0);
	CU_ASSERT_STRING_EQUAL(error, "");
	CU_ASSERT_TRUE(vl_results_are_good(results));
}

static uint64_t lost(const struct vl_results *results)
{
	return results->totals.switch_drops + results->totals.link_losses +
	       results->totals.data_frames_retransmitted + results->totals.endpoint_drops;
}

static void test_default(void)
{
	struct vl_scenario *scenario = load("incast-dcqcn", NULL, NULL);
	struct vl_results results;

	CU_ASSERT_STRING_EQUAL(vl_ready_scenarios[0].name, "incast-dcqcn");
	run(scenario, &results, NULL);
	CU_ASSERT_EQUAL(results.window_start, scenario->duration / 2);
	CU_ASSERT_TRUE(results.bottleneck.utilization >= 0.90);
	CU_ASSERT_TRUE(results.bottleneck.utilization <= 1.0001);
	CU_ASSERT_TRUE(results.jain >= 0.95 && results.jain <= 1);
	CU_ASSERT_EQUAL(lost(&results), 0);
	CU_ASSERT_EQUAL(results.totals.pfc_pause_tx, 0);
	CU_ASSERT_TRUE(results.totals.ecn_marked > 0);
	CU_ASSERT_EQUAL(results.totals.ecn_ce_rx, results.totals.ecn_marked);
	CU_ASSERT_TRUE(results.totals.cnp_rx > 0);
	CU_ASSERT_TRUE(results.totals.cnp_rx <= results.totals.ecn_ce_rx);
	/* Payload is 4096 B of the 4178 B (and first packets 4194 B) that it costs. */
	CU_ASSERT_DOUBLE_EQUAL(results.goodput / 1e9,
			       results.bottleneck.utilization * 100 * 4096 / 4179, 0.2);
	CU_ASSERT_TRUE(results.flow_times[0].count > 15000);
	vl_results_release(&results);
	vl_scenario_free(scenario);
}

/* JSON and capture of a run, to be freed. */
struct bytes {
	char *json, *capture;
	size_t json_size;
	long capture_size;
};

static void run_to_bytes(const char *seed, struct bytes *bytes)
{
	struct vl_scenario *scenario = load("incast-dcqcn", seed, "flows[0].stagger=500us");
	char path[] = "/tmp/verbline-lab-XXXXXX", message[VL_CAPTURE_MESSAGE_SIZE] = "";
	struct vl_capture_writer *capture;
	struct vl_results results;
	FILE *file;

	scenario->duration = 3000000;
	scenario->warm_up = 1000000;
	close(mkstemp(path));
	capture = vl_capture_writer_open(path, VL_CAPTURE_PCAP, message);
	CU_ASSERT_PTR_NOT_NULL_FATAL(capture);
	run(scenario, &results, capture);
	CU_ASSERT_EQUAL(vl_capture_writer_close(capture, message), 0);
	file = open_memstream(&bytes->json, &bytes->json_size);
	CU_ASSERT_EQUAL(vl_report_json(&results, file), 0);
	fclose(file);
	file = fopen(path, "rb");
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	fseek(file, 0, SEEK_END);
	bytes->capture_size = ftell(file);
	rewind(file);
	bytes->capture = malloc((size_t)bytes->capture_size);
	CU_ASSERT_EQUAL(fread(bytes->capture, 1, (size_t)bytes->capture_size, file),
			(size_t)bytes->capture_size);
	fclose(file);
	unlink(path);
	vl_results_release(&results);
	vl_scenario_free(scenario);
}

static void release_bytes(struct bytes *bytes)
{
	free(bytes->json);
	free(bytes->capture);
}

static bool same(const struct bytes *a, const struct bytes *b)
{
	return a->json_size == b->json_size && a->capture_size == b->capture_size &&
	       !memcmp(a->json, b->json, a->json_size) &&
	       !memcmp(a->capture, b->capture, (size_t)a->capture_size);
}

static void test_determinism(void)
{
	struct bytes first, second, other;

	run_to_bytes("seed=1", &first);
	run_to_bytes("seed=1", &second);
	run_to_bytes("seed=2", &other);
	CU_ASSERT_TRUE(first.capture_size > 1000000);
	CU_ASSERT_TRUE(same(&first, &second));
	CU_ASSERT_FALSE(same(&first, &other));
	release_bytes(&first);
	release_bytes(&second);
	release_bytes(&other);
}

static void test_pfc_only(void)
{
	struct vl_scenario *scenario = load("incast-pfc-only", "duration=10ms", NULL);
	struct vl_results results;

	run(scenario, &results, NULL);
	CU_ASSERT_EQUAL(lost(&results), 0);
	CU_ASSERT_TRUE(results.totals.pfc_pause_tx > 0);
	CU_ASSERT_TRUE(results.bottleneck.utilization > 0.99);
	/* Four senders up to XOFF each, and what was on its way. */
	CU_ASSERT_TRUE(results.bottleneck.queue_mean > 4 * 450000);
	CU_ASSERT_TRUE(results.bottleneck.queue_max < 4 * (500000 + 200000));
	vl_results_release(&results);
	vl_scenario_free(scenario);
}

static void test_lossy(void)
{
	struct vl_scenario *scenario = load("incast-lossy", "duration=10ms", NULL);
	struct vl_results results;

	run(scenario, &results, NULL);
	CU_ASSERT_TRUE(results.totals.switch_drops > 0);
	CU_ASSERT_TRUE(results.totals.data_frames_retransmitted > results.totals.switch_drops / 2);
	CU_ASSERT_TRUE(results.bottleneck.queue_max <= 1000000);
	CU_ASSERT_EQUAL(results.totals.cnp_tx, 0);
	vl_results_release(&results);
	vl_scenario_free(scenario);

	scenario = load("lossy-link", "duration=10ms", NULL);
	run(scenario, &results, NULL);
	CU_ASSERT_TRUE(results.totals.link_losses > 0);
	CU_ASSERT_TRUE(results.totals.nak_tx > 0);
	CU_ASSERT_FALSE(results.bottleneck.has_queue);
	vl_results_release(&results);
	vl_scenario_free(scenario);
}

/* The victim crosses no congested port; with PFC alone it stands still with the others, and with
 * DCQCN it does not. */
static void test_victim(void)
{
	struct vl_scenario *scenario = load("victim-of-pfc", "duration=20ms", NULL);
	struct vl_results results;
	double alone;

	run(scenario, &results, NULL);
	CU_ASSERT_EQUAL(results.qp_count, 9);
	CU_ASSERT_EQUAL(lost(&results), 0);
	CU_ASSERT_FALSE(results.qps[8].pair->crosses_bottleneck);
	alone = results.qps[8].goodput;
	CU_ASSERT_TRUE(alone < 30e9);
	vl_results_release(&results);
	vl_scenario_free(scenario);

	scenario = load("victim-of-pfc", "congestion_control.algorithm=dcqcn", NULL);
	run(scenario, &results, NULL);
	CU_ASSERT_TRUE(results.qps[8].goodput > 80e9);
	vl_results_release(&results);
	vl_scenario_free(scenario);
}

static void test_reads(void)
{
	struct vl_scenario *scenario = load("read-incast", "duration=40ms", NULL);
	struct vl_results results;

	run(scenario, &results, NULL);
	CU_ASSERT_EQUAL(lost(&results), 0);
	CU_ASSERT_TRUE(results.bottleneck.utilization > 0.95);
	CU_ASSERT_TRUE(results.jain > 0.95);
	/* The client marks nothing itself: the servers take the CNPs, as responders. */
	for (unsigned int i = 0; i < results.qp_count; i++) {
		CU_ASSERT_TRUE(results.qps[i].requester.cnp_tx > 0);
		CU_ASSERT_TRUE(results.qps[i].responder.cnp_rx > 0);
	}
	vl_results_release(&results);
	vl_scenario_free(scenario);
}

static void test_latency(void)
{
	struct vl_scenario *scenario = load("latency-small-messages", "duration=40ms", NULL);
	const struct vl_histogram *times;
	struct vl_results results;

	run(scenario, &results, NULL);
	times = &results.flow_times[1];
	/* 100 Mb/s of 256 B are one message each 20.48 us, for 20 ms. */
	CU_ASSERT_TRUE(times->count >= 974 && times->count <= 978);
	CU_ASSERT_TRUE(vl_histogram_percentile(times, 0.5) > 2000);
	CU_ASSERT_TRUE(vl_histogram_percentile(times, 0.99) < 50000);
	vl_results_release(&results);
	vl_scenario_free(scenario);
}

static void test_profiles(void)
{
	struct vl_scenario *scenario = load("nvidia-vs-paper", "duration=60ms", NULL);
	struct vl_results results;

	run(scenario, &results, NULL);
	CU_ASSERT_EQUAL(lost(&results), 0);
	CU_ASSERT_TRUE(results.jain < 0.95);
	vl_results_release(&results);
	vl_scenario_free(scenario);
}

/* Zhu et al., CoNEXT 2016: fixed points at 40 Gb/s with the paper's parameters. */
static void test_fluid(void)
{
	static const struct {
		const char *senders;
		double queue;
	} points[] = {{"endpoints[0].count=2", 20200},
		      {"endpoints[0].count=4", 41800},
		      {"endpoints[0].count=8", 93800}};
	struct vl_scenario *scenario;
	struct vl_results results;

	for (unsigned int i = 0; i < 3; i++) {
		scenario = load("two-flows-fluid", points[i].senders, NULL);
		run(scenario, &results, NULL);
		printf("\n    %u flows: mean queue %.1f KB, fixed point %.1f KB ", results.qp_count,
		       results.bottleneck.queue_mean / 1e3, points[i].queue / 1e3);
		CU_ASSERT_DOUBLE_EQUAL(results.bottleneck.queue_mean, points[i].queue,
				       points[i].queue / 4);
		CU_ASSERT_EQUAL(lost(&results), 0);
		vl_results_release(&results);
		vl_scenario_free(scenario);
	}
}

/* ---- Fabrics ------------------------------------------------------------------------------- */

/* Runs it, good or not. The results are to be released, and the scenario freed. */
static struct vl_scenario *try(const char *name, const char *one, const char *two,
			       struct vl_results *results)
{
	struct vl_scenario *scenario = load(name, one, two);
	struct vl_lab_run lab = {.scenario = scenario, .results = results, .interrupted = &never};
	char error[512] = "";

	CU_ASSERT_FATAL(vl_results_init(results, scenario));
	CU_ASSERT_EQUAL(vl_lab_run_virtual(&lab, error, sizeof(error)), 0);
	return scenario;
}

/* Gb/s of a flow in the window. */
static double goodput_of(const struct vl_results *results, const char *flow)
{
	double goodput = 0;

	for (unsigned int i = 0; i < results->qp_count; i++) {
		if (!strcmp(results->qps[i].pair->flow->name, flow))
			goodput += results->qps[i].goodput / 1e9;
	}
	return goodput;
}

/* One lane: the victim gets what each aggressor gets, a fifth of what four leave of 100 Gb/s. Two
 * lanes: the whole of its line. */
static void test_head_of_line(void)
{
	struct vl_results results;
	struct vl_scenario *scenario = try("infiniband-head-of-line", NULL, NULL, &results);

	CU_ASSERT_DOUBLE_EQUAL(goodput_of(&results, "incast"), 98.4, 0.5);
	CU_ASSERT_DOUBLE_EQUAL(goodput_of(&results, "victim"), 24.6, 1);
	CU_ASSERT_EQUAL(lost(&results), 0);
	vl_results_release(&results);
	vl_scenario_free(scenario);
	scenario = try("infiniband-head-of-line", "infiniband.virtual_lanes=2", NULL, &results);
	CU_ASSERT_DOUBLE_EQUAL(goodput_of(&results, "incast"), 98.4, 0.5);
	CU_ASSERT_TRUE(goodput_of(&results, "victim") > 97);
	CU_ASSERT_EQUAL(lost(&results), 0);
	vl_results_release(&results);
	vl_scenario_free(scenario);
}

/* The ring stops for good, and each of its links is named once; without PFC it goes on; the
 * watchdog sets it free. */
static void test_deadlock(void)
{
	struct vl_results results;
	struct vl_scenario *scenario = try("pfc-deadlock", NULL, NULL, &results);
	unsigned int senders = 0;

	CU_ASSERT_FALSE(vl_results_are_good(&results));
	CU_ASSERT_EQUAL_FATAL(results.deadlock.count, 5);
	CU_ASSERT_TRUE(results.deadlock.since < 1000000);
	for (unsigned int i = 0; i < 5; i++) {
		const struct vl_link_result *link = &results.links[results.deadlock.links[i]];
		const struct vl_link_result *next =
			&results.links[results.deadlock.links[(i + 1) % 5]];

		CU_ASSERT_EQUAL(link->neighbour, next->node);
		CU_ASSERT_TRUE(link->pause_ns > results.end * 9 / 10);
		senders |= 1u << (link->node - scenario->endpoint_count);
	}
	CU_ASSERT_EQUAL(senders, 0x1f);
	CU_ASSERT_EQUAL(results.totals.switch_drops, 0);
	vl_results_release(&results);
	vl_scenario_free(scenario);

	scenario = try("pfc-deadlock", "fabric=lossy", NULL, &results);
	CU_ASSERT_EQUAL(results.deadlock.count, 0);
	CU_ASSERT_TRUE(results.goodput > 50e9);
	vl_results_release(&results);
	vl_scenario_free(scenario);
}

/* Two switches whose receivers hold up what comes from the other one: at many an end of the run
 * both directions between them are paused, and yet all of it moves on. */
static void test_pauses_of_each_other_are_no_deadlock(void)
{
	static const char text[] = "name: two\nfabric: pfc\nwarm_up: 0\nsample_interval: 2us\n"
				   "endpoints: [{name: a, count: 6}, {name: b, count: 6}]\n"
				   "switches: [{name: s1, buffer: 4MB}, {name: s2, buffer: 4MB}]\n"
				   "links: [{from: a, to: s1}, {from: b, to: s2},\n"
				   "  {from: s1, to: s2, rate: 400Gb/s}]\n"
				   "flows: [{name: f, from: a, to: b1, size: 1MiB, depth: 8},\n"
				   "  {name: g, from: b, to: a1, size: 1MiB, depth: 8}]\n";
	static const char *const ends[] = {"duration=3333333ns", "duration=3402100ns",
					   "duration=3500100ns", "duration=3777777ns"};

	for (unsigned int i = 0; i < 4; i++) {
		struct vl_texts overrides = {{ends[i]}, 1};
		struct vl_results results;
		struct vl_scenario *scenario;

		memset(&problems, 0, sizeof(problems));
		scenario = vl_scenario_parse(text, strlen(text), &overrides, &problems);
		CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
		run(scenario, &results, NULL);
		CU_ASSERT_EQUAL(results.deadlock.count, 0);
		CU_ASSERT_TRUE(results.totals.pfc_pause_tx > 0);
		vl_results_release(&results);
		vl_scenario_free(scenario);
	}
}

/* Fairness is of those who wanted something in the window: not of one that was done before it. */
static void test_who_is_done_is_not_treated_unfairly(void)
{
	static const char text[] =
		"name: done\nduration: 2ms\nwarm_up: 1ms\n"
		"topology: {kind: star, endpoints: 4}\n"
		"flows: [{name: done, from: host1, to: host4, messages: 1, size: 4KiB},\n"
		"  {name: one, from: host2, to: host4}, {name: other, from: host3, to: host4}]\n";
	struct vl_results results;
	struct vl_scenario *scenario;

	memset(&problems, 0, sizeof(problems));
	scenario = vl_scenario_parse(text, strlen(text), NULL, &problems);
	CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
	run(scenario, &results, NULL);
	CU_ASSERT_TRUE(results.qps[0].finished && !results.qps[0].is_active);
	CU_ASSERT_TRUE(results.qps[1].is_active && results.qps[2].is_active);
	CU_ASSERT_EQUAL(results.jain_count, 2);
	/* With the one that is done it would be two thirds at most. */
	CU_ASSERT_TRUE(results.jain > 0.7);
	vl_results_release(&results);
	vl_scenario_free(scenario);
}

/* Rings along the rails have each link to themselves: bus bandwidth is the line's, less what
 * headers take (4096 of 4178 bytes) and what the steps wait for each other. */
static void test_rails(void)
{
	struct vl_results results;
	struct vl_scenario *scenario = try("rail-all-reduce", NULL, NULL, &results);

	CU_ASSERT_EQUAL_FATAL(results.workload_count, 8);
	for (unsigned int i = 0; i < results.workload_count; i++) {
		CU_ASSERT_TRUE(results.workloads[i].metrics.busbw > 0.96 * 400e9);
		CU_ASSERT_TRUE(results.workloads[i].metrics.busbw < 400e9 * 4096 / 4178);
	}
	/* Nothing crosses the spines. */
	for (unsigned int i = 0; i < results.link_count; i++) {
		const char *name = scenario->nodes[results.links[i].node].name;

		CU_ASSERT_TRUE(strncmp(name, "spine", 5) || !results.links[i].frames);
	}
	CU_ASSERT_EQUAL(lost(&results), 0);
	vl_results_release(&results);
	vl_scenario_free(scenario);
}

/* 30 to 1: with pauses nothing is lost and the line to the receiver is full; without, most of the
 * time goes into sending again. */
static void test_leaf_spine_incast(void)
{
	struct vl_results results;
	struct vl_scenario *scenario = try("leaf-spine-incast", "fabric=pfc", NULL, &results);

	CU_ASSERT_TRUE(vl_results_are_good(&results));
	CU_ASSERT_EQUAL(lost(&results), 0);
	CU_ASSERT_TRUE(results.workloads[0].metrics.job_slowdown.mean < 1.05);
	vl_results_release(&results);
	vl_scenario_free(scenario);
	scenario = try("leaf-spine-incast", "fabric=lossy", NULL, &results);
	CU_ASSERT_TRUE(results.totals.switch_drops > 1000);
	CU_ASSERT_TRUE(results.workloads[0].metrics.job_slowdown.mean > 1.5);
	vl_results_release(&results);
	vl_scenario_free(scenario);
}

static const struct test tests[] = {
	{"default", test_default},
	{"determinism", test_determinism},
	{"pfc_only", test_pfc_only},
	{"lossy", test_lossy},
	{"victim", test_victim},
	{"reads", test_reads},
	{"latency", test_latency},
	{"profiles", test_profiles},
	{"fluid", test_fluid},
	{"head_of_line", test_head_of_line},
	{"deadlock", test_deadlock},
	{"who_is_done_is_not_treated_unfairly", test_who_is_done_is_not_treated_unfairly},
	{"pauses_of_each_other_are_no_deadlock", test_pauses_of_each_other_are_no_deadlock},
	{"rails", test_rails},
	{"leaf_spine_incast", test_leaf_spine_incast},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("lab", tests, argc, argv);
}
