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

static const struct test tests[] = {
	{"default", test_default}, {"determinism", test_determinism}, {"pfc_only", test_pfc_only},
	{"lossy", test_lossy},     {"victim", test_victim},           {"reads", test_reads},
	{"latency", test_latency}, {"profiles", test_profiles},       {"fluid", test_fluid},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("lab", tests, argc, argv);
}
