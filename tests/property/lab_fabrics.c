/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Random scenarios through the whole of the lab: topologies by a rule, any fabric, flows among any
 * endpoints, all of whose messages are counted. Whatever they are: every message is accounted for,
 * no bytes come from nowhere or go nowhere, a lossless fabric drops nothing, and utilization and
 * queues are within what links and buffers can have.
 */

#include "apps/lab_measure.h"
#include "apps/lab_run.h"
#include "tests/support/suite.h"
#include "transport/random.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define RUNS 400

static const volatile int never;
static struct vl_problems problems;
static struct vl_random chance;
static char text[4096];
static size_t length;

static unsigned int below(unsigned int limit)
{
	return (unsigned int)(vl_random_next(&chance) % limit);
}

__attribute__((format(printf, 1, 2))) static void write_text(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	length += (size_t)vsnprintf(text + length, sizeof(text) - length, format, arguments);
	va_end(arguments);
}

static void write_link(const char *key)
{
	static const unsigned int rates[] = {10, 25, 40, 100, 200};

	write_text("  %s: {rate: %uGb/s, delay: %uns}\n", key, rates[below(5)], below(3000));
}

/* Returns the number of endpoints. */
static unsigned int write_topology(void)
{
	static const char *const kinds[] = {"pair",       "star",     "dumbbell", "parking_lot",
					    "leaf_spine", "fat_tree", "rail",     "ring"};
	unsigned int kind = below(8), endpoints = kind == 0 ? 2 : 2 + below(15);

	if (kind == 6)
		endpoints = 3 * (1 + below(4));
	write_text("topology:\n  kind: %s\n  endpoints: %u\n", kinds[kind], endpoints);
	if (kind == 3 || kind == 7)
		write_text("  switches: %u\n", 3 + below(3));
	if (kind == 4)
		write_text("  leaves: %u\n  spines: %u\n", 1 + below(4), 1 + below(3));
	if (kind == 5)
		write_text("  radix: 4\n");
	if (kind == 6)
		write_text("  rails: 3\n  spines: %u\n", 1 + below(2));
	write_link("link");
	if (kind >= 2)
		write_link("uplink");
	return endpoints;
}

static void write_flow(unsigned int endpoints, unsigned int priority)
{
	static const char *const verbs[] = {"write",    "write_imm", "send",
					    "send_imm", "read",      "fetch_add"};
	unsigned int from = 1 + below(endpoints),
		     to = 1 + (from + below(endpoints - 1)) % endpoints;
	unsigned int verb = below(6);

	write_text("  - {from: host%u, to: host%u, verb: %s, messages: %u, depth: %u, qps: %u,\n"
		   "     priority: %u, timeout: 10, start: %uus",
		   from, to, verbs[verb], 1 + below(12), 1 + below(6), 1 + below(3), priority,
		   below(50));
	if (verb != 5)
		write_text(", size: %uB", 1 + below(below(2) ? 200000 : 3000));
	write_text("}\n");
}

/* All of one priority, so that a PFC frame is about one. */
static void write_scenario(unsigned int seed)
{
	static const char *const fabrics[] = {"as_configured",
					      "pfc",
					      "dcqcn",
					      "pfc_dcqcn",
					      "lossy",
					      "infiniband",
					      "infiniband_congestion_control"};
	unsigned int endpoints, flows = 1 + below(8), priority = below(6);

	length = 0;
	write_text("name: random\nseed: %u\nduration: 4s\nsample_interval: 200us\npath_mtu: %u\n",
		   seed, 256u << below(5));
	write_text("fabric: %s\ninfiniband: {virtual_lanes: %u, buffer: %uB, routing: up_down}\n",
		   fabrics[below(7)], 1 + below(4), 4224 + below(60000));
	write_text("switch: {buffer: %uKB%s}\n", 600 + below(3000),
		   below(2) ? ", cut_through: true" : "");
	endpoints = write_topology();
	write_text("flows:\n");
	for (unsigned int i = 0; i < flows; i++)
		write_flow(endpoints, priority);
}

static uint64_t drops_of(const struct vl_link_result *link)
{
	uint64_t drops = 0;

#define ADD(name, where, meaning) drops += strcmp(where, "switch") ? 0 : link->drops.name;
	VL_LINK_DROPS(ADD)
#undef ADD
	return drops;
}

/* Every message that was to be sent has completed once. */
static void check_messages(const struct vl_scenario *scenario, const struct vl_results *results)
{
	uint64_t messages = 0;

	for (unsigned int i = 0; i < results->qp_count; i++) {
		const struct vl_qp_result *qp = &results->qps[i];
		const struct vl_scenario_flow *flow = qp->pair->flow;

		CU_ASSERT_EQUAL(qp->status, IBV_WC_SUCCESS);
		CU_ASSERT_TRUE(qp->finished);
		CU_ASSERT_EQUAL(qp->messages, flow->messages);
		CU_ASSERT_EQUAL(qp->bytes, flow->messages * flow->size);
		messages += qp->messages;
	}
	CU_ASSERT_EQUAL(results->totals.message_tx, messages);
	CU_ASSERT_EQUAL(results->totals.message_fail, 0);
	CU_ASSERT_EQUAL(results->qp_count, scenario->qp_count);
}

/* What came into an Ethernet switch went out again or was dropped, frame by frame. CNPs, what was
 * sent twice and its answers may be under way when the last message has completed; the audit of
 * the network counts these too. */
static void check_frames(const struct vl_scenario *scenario, const struct vl_results *results)
{
	uint64_t *in = calloc(scenario->node_count, sizeof(*in));
	uint64_t *out = calloc(scenario->node_count, sizeof(*out));
	uint64_t *groups = calloc(scenario->node_count, sizeof(*groups));
	const struct vl_link_result *link;

	for (unsigned int i = 0; i < results->link_count; i++) {
		link = &results->links[i];
		/* Pauses are between two ports. */
		in[link->neighbour] += link->frames - link->pauses - link->resumes;
		out[link->node] += link->frames - link->pauses - link->resumes + drops_of(link);
	}
	for (unsigned int i = 0; i < results->group_count; i++)
		groups[results->links[results->groups[i].link].node] +=
			results->groups[i].frames + results->groups[i].drops;
	for (unsigned int i = scenario->endpoint_count; i < scenario->node_count; i++) {
		CU_ASSERT_TRUE(in[i] >= out[i]);
		if (results->totals.cnp_tx || results->totals.data_frames_retransmitted)
			continue;
		CU_ASSERT_EQUAL(in[i], out[i]);
		/* Frames that a queue refuses come to no group. */
		CU_ASSERT_TRUE(groups[i] == in[i] ||
			       (results->totals.switch_drops && groups[i] < in[i]));
	}
	free(in);
	free(out);
	free(groups);
}

static void check_bounds(const struct vl_results *results)
{
	for (unsigned int i = 0; i < results->link_count; i++) {
		CU_ASSERT_TRUE(results->links[i].utilization <= 1.0001);
		CU_ASSERT_TRUE(isfinite(results->links[i].queue_mean));
		CU_ASSERT_TRUE(results->links[i].queue_mean <=
			       (double)results->links[i].queue_max + 1);
		CU_ASSERT_TRUE(results->links[i].pause_ns <= results->end);
		CU_ASSERT_TRUE(results->links[i].credit_stall_ns <= 15 * results->end);
	}
	for (unsigned int i = 0; i < results->switch_count; i++)
		CU_ASSERT_TRUE(results->switches[i].watermark <= results->switches[i].buffer);
}

static bool is_lossless(const struct vl_scenario *scenario)
{
	return scenario->fabric == VL_SCENARIO_PFC || scenario->fabric == VL_SCENARIO_PFC_DCQCN ||
	       vl_scenario_is_infiniband(scenario);
}

static void check(const struct vl_scenario *scenario, const struct vl_results *results)
{
	check_bounds(results);
	if (is_lossless(scenario)) {
		CU_ASSERT_EQUAL(results->totals.switch_drops, 0);
		CU_ASSERT_EQUAL(results->totals.link_losses, 0);
	}
	/* A ring with PFC may stop for good; then it is said. */
	if (results->deadlock.count)
		return;
	check_messages(scenario, results);
	if (!vl_scenario_is_infiniband(scenario))
		check_frames(scenario, results);
}

static void test_random(void)
{
	unsigned int accepted = 0, by_fabric[7] = {0}, failures;

	for (unsigned int seed = 1; seed <= RUNS; seed++) {
		struct vl_scenario *scenario;
		struct vl_results results;
		char error[512] = "";

		chance = (struct vl_random){seed};
		write_scenario(seed);
		memset(&problems, 0, sizeof(problems));
		scenario = vl_scenario_parse(text, length, NULL, &problems);
		/* Headroom for all ports may not fit the buffer. */
		if (!scenario) {
			CU_ASSERT_PTR_NOT_NULL(strstr(problems.list[0].text, "headroom"));
			continue;
		}
		accepted++;
		by_fabric[scenario->fabric]++;
		failures = CU_get_number_of_failures();
		CU_ASSERT_FATAL(vl_results_init(&results, scenario));
		CU_ASSERT_EQUAL(vl_lab_run_virtual(&(struct vl_lab_run){.scenario = scenario,
									.results = &results,
									.interrupted = &never},
						   error, sizeof(error)),
				0);
		CU_ASSERT_STRING_EQUAL(error, "");
		check(scenario, &results);
		if (CU_get_number_of_failures() != failures)
			printf("\n--- seed %u\n%s", seed, text);
		vl_results_release(&results);
		vl_scenario_free(scenario);
	}
	CU_ASSERT_TRUE(accepted > RUNS / 2);
	for (unsigned int i = 0; i < 7; i++)
		CU_ASSERT_TRUE(by_fabric[i] > 3);
}

static const struct test tests[] = {
	{"random", test_random},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("lab_fabrics", tests, argc, argv);
}
