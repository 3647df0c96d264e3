/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/quantity.h"
#include "apps/report/config.h"
#include "apps/scenario/scenario.h"
#include "apps/scenario/switch_config.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

static struct vl_problems problems;
static char printed[16384];

static void print_problems(void)
{
	FILE *out = fmemopen(printed, sizeof(printed), "w");

	vl_problems_print(&problems, out);
	fclose(out);
}

static struct vl_scenario *parse(const char *text, const struct vl_texts *overrides)
{
	struct vl_scenario *scenario;

	memset(&problems, 0, sizeof(problems));
	problems.file = "f.yaml";
	scenario = vl_scenario_parse(text, strlen(text), overrides, &problems);
	print_problems();
	return scenario;
}

/* Lines 1 to 3 of every text below are right, and so is the rest of BASE. */
#define HEAD  "name: test\nendpoints: [{name: a}, {name: b}]\n"
#define LINKS "links: [{from: a, to: b}]\n"
#define FLOWS "flows: [{from: a, to: b}]\n"
#define BASE  HEAD LINKS FLOWS

/* The whole of what is printed, one line for each problem. */
static void refused(const char *text, const char *expected)
{
	struct vl_scenario *scenario = parse(text, NULL);

	CU_ASSERT_PTR_NULL(scenario);
	CU_ASSERT_STRING_EQUAL(printed, expected);
	if (strcmp(printed, expected))
		printf("\n got  %s\n want %s\n", printed, expected);
	vl_scenario_free(scenario);
}

static void test_smallest(void)
{
	struct vl_scenario *scenario = parse(BASE, NULL);

	CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
	CU_ASSERT_STRING_EQUAL(printed, "");
	CU_ASSERT_EQUAL(scenario->seed, 1);
	CU_ASSERT_EQUAL(scenario->duration, 100000000);
	CU_ASSERT_EQUAL(scenario->warm_up, 50000000);
	CU_ASSERT_EQUAL(scenario->sample_interval, 500000);
	CU_ASSERT_EQUAL(vl_scenario_mtu(scenario), 4096);
	CU_ASSERT_EQUAL(scenario->node_count, 2);
	CU_ASSERT_EQUAL(scenario->cable_count, 1);
	CU_ASSERT_EQUAL_FATAL(scenario->pair_count, 1);
	CU_ASSERT_EQUAL(scenario->pairs[0].flow->size, 65536);
	CU_ASSERT_STRING_EQUAL(scenario->pairs[0].flow->name, "flow0");
	CU_ASSERT_PTR_EQUAL(scenario->cc.resolved.algorithm, &vl_cc_dcqcn);
	CU_ASSERT_EQUAL(scenario->cc.resolved.dcqcn.rpg_ai_rate, 5);
	CU_ASSERT_EQUAL(scenario->bottleneck.node, 0);
	vl_scenario_free(scenario);
}

static void test_ready_scenarios(void)
{
	struct vl_scenario *scenario;

	CU_ASSERT_TRUE(vl_ready_scenario_count >= 6);
	for (unsigned int i = 0; i < vl_ready_scenario_count; i++) {
		scenario = parse(vl_ready_scenarios[i].text, NULL);
		CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
		CU_ASSERT_STRING_EQUAL(scenario->name, vl_ready_scenarios[i].name);
		CU_ASSERT_PTR_NOT_NULL(scenario->teaches);
		vl_scenario_free(scenario);
	}
}

/* A group of four through a switch: names, ports, pairs, starts, and where they meet. */
static void test_topology(void)
{
	static const char text[] = "name: test\n"
				   "endpoints: [{name: s, count: 4}, {name: r}, {name: other}]\n"
				   "switches: [{name: x}, {name: y}]\n"
				   "links:\n"
				   "- {from: s, to: x, rate: 25Gb/s}\n"
				   "- {from: x, to: y, rate: 400Gb/s}\n"
				   "- {from: r, to: y, rate: 50Gb/s}\n"
				   "- {from: other, to: y}\n"
				   "flows:\n"
				   "- {from: s, to: r, start: 1ms, stagger: 2ms, qps: 3}\n"
				   "- {from: s1, to: other, verb: read, rate: 1Gb/s}\n";
	struct vl_scenario *scenario = parse(text, NULL);
	unsigned int node, port;
	char error[256];

	CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
	CU_ASSERT_EQUAL(scenario->node_count, 8);
	CU_ASSERT_EQUAL(scenario->endpoint_count, 6);
	CU_ASSERT_STRING_EQUAL(scenario->nodes[3].name, "s4");
	CU_ASSERT_EQUAL(scenario->nodes[3].rate, UINT64_C(25000000000));
	CU_ASSERT_EQUAL(scenario->nodes[6].ports, 5);
	CU_ASSERT_EQUAL(scenario->nodes[7].ports, 3);
	CU_ASSERT_EQUAL(scenario->cable_count, 7);
	CU_ASSERT_EQUAL_FATAL(scenario->pair_count, 5);
	CU_ASSERT_EQUAL(scenario->qp_count, 13);
	CU_ASSERT_EQUAL(scenario->pairs[2].from, 2);
	CU_ASSERT_EQUAL(scenario->pairs[2].to, 4);
	CU_ASSERT_EQUAL(scenario->pairs[2].start, 5000000);
	/* y's port to r: 100 Gb/s offered to 50 Gb/s */
	CU_ASSERT_EQUAL(scenario->bottleneck.node, 7);
	CU_ASSERT_EQUAL(scenario->bottleneck.port, 1);
	CU_ASSERT_TRUE(scenario->pairs[0].crosses_bottleneck);
	CU_ASSERT_FALSE(scenario->pairs[4].crosses_bottleneck);
	CU_ASSERT_EQUAL(vl_scenario_find_port(scenario, "y:r", &node, &port, error, sizeof(error)),
			0);
	CU_ASSERT_EQUAL(node, 7);
	CU_ASSERT_EQUAL(port, 1);
	CU_ASSERT_EQUAL(vl_scenario_find_port(scenario, "x:4", &node, &port, error, sizeof(error)),
			0);
	CU_ASSERT_EQUAL(port, 4);
	CU_ASSERT_EQUAL(vl_scenario_find_port(scenario, "s2", &node, &port, error, sizeof(error)),
			0);
	CU_ASSERT_NOT_EQUAL(
		vl_scenario_find_port(scenario, "y", &node, &port, error, sizeof(error)), 0);
	CU_ASSERT_STRING_EQUAL(error, "'y' has 3 ports; name one as y:NEIGHBOUR");
	CU_ASSERT_NOT_EQUAL(
		vl_scenario_find_port(scenario, "y:3", &node, &port, error, sizeof(error)), 0);
	CU_ASSERT_STRING_EQUAL(error,
			       "'y' has no port '3'; give the name of what is linked there, or "
			       "a number below 3");
	vl_scenario_free(scenario);
}

static void test_values(void)
{
	static const char text[] =
		"name: test\nseed: 9223372036854775807\nduration: 2s\nwarm_up: 1s\npath_mtu: "
		"1024\n"
		"congestion_control:\n"
		"  profile: paper\n"
		"  parameters: {rpg_ai_rate: 7, cnp_dscp: 46}\n"
		"endpoints: [{name: a}, {name: b}]\n"
		"switches:\n"
		"- {name: x, buffer: 2MB, ecn: {kmin: 5KB, kmax: 200KB, pmax: 1%, at: enqueue},\n"
		"   pfc: {xoff: 200KB, xon: 100KB, headroom: 50KB}}\n"
		"links: [{from: a, to: x, loss: 0.1%, jitter: 2us}, {from: b, to: x}]\n"
		"flows:\n"
		"- {name: f, from: a, to: b, verb: fetch_add, messages: 10, priority: 5,\n"
		"   congestion_control: {algorithm: fixed, rate: 10Gb/s}}\n";
	struct vl_scenario *scenario = parse(text, NULL);
	struct vl_switch_config *config;

	CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
	CU_ASSERT_EQUAL(scenario->seed, INT64_MAX);
	CU_ASSERT_EQUAL(scenario->warm_up, 1000000000);
	CU_ASSERT_EQUAL(vl_scenario_mtu(scenario), 1024);
	CU_ASSERT_EQUAL(scenario->cc.resolved.dcqcn.rpg_ai_rate, 7);
	CU_ASSERT_EQUAL(scenario->cc.resolved.dcqcn.rpg_time_reset, 55);
	CU_ASSERT_EQUAL(scenario->cc.resolved.dcqcn.cnp_dscp, 46);
	CU_ASSERT_DOUBLE_EQUAL(scenario->cables[0].links->loss, 0.001, 1e-12);
	CU_ASSERT_EQUAL(scenario->pairs[0].flow->size, 8);
	CU_ASSERT_PTR_EQUAL(scenario->pairs[0].flow->cc.resolved.algorithm, &vl_cc_fixed);
	CU_ASSERT_EQUAL(scenario->pairs[0].flow->cc.resolved.fixed_rate, UINT64_C(10000000000));
	config = vl_scenario_switch_config(scenario, scenario->nodes[2].sw);
	CU_ASSERT_PTR_NOT_NULL_FATAL(config);
	CU_ASSERT_EQUAL(config->ports, 2);
	CU_ASSERT_EQUAL(config->port.queues[5].red.point, VL_RED_AT_ENQUEUE);
	CU_ASSERT_EQUAL(config->port.queues[5].red.curves[VL_COLOUR_GREEN].kmax, 200000);
	CU_ASSERT_TRUE(config->port.groups[5].lossless);
	CU_ASSERT_EQUAL(config->port.queues[3].red.point, VL_RED_OFF);
	CU_ASSERT_FALSE(config->port.groups[6].lossless);
	free(config);
	vl_scenario_free(scenario);
}

static void test_many_anchors(void)
{
	static char text[16384];
	size_t length = 0;

	for (int i = 0; i <= 1000; i++)
		length += (size_t)snprintf(text + length, sizeof(text) - length, "- &a%d x\n", i);
	refused(text, "f.yaml:1001:3: more than 1000 anchors; a scenario needs less\n");
}

static void test_not_yaml(void)
{
	static const char nul[] = "name: a\0b\n";

	refused("",
		"f.yaml:1:1: empty; 'verbline lab --show incast-dcqcn' prints a scenario to start "
		"from\n");
	refused("name: [\n",
		"f.yaml:2:1: not YAML: while parsing a flow node: did not find expected "
		"node content\n");
	refused("\xff\xfe\xff", "f.yaml:1:1: not text at byte 2: incomplete UTF-16 character; a "
				"scenario is YAML in UTF-8\n");
	refused(BASE "---\nname: two\n",
		"f.yaml:6:1: a second document; put a scenario in a file of its own\n");
	refused("a: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\n",
		"f.yaml:1:35: nested more than 32 deep; a scenario needs less\n");
	refused("- a\n- b\n", "f.yaml:1:1: must be a mapping: lines of 'key: value'\n");
	memset(&problems, 0, sizeof(problems));
	CU_ASSERT_PTR_NULL(vl_scenario_parse(nul, sizeof(nul) - 1, NULL, &problems));
	CU_ASSERT_TRUE(problems.count > 0);
}

static void test_keys(void)
{
	refused(BASE "sed: 3\n", "f.yaml:5:1: unknown key 'sed'; did you mean 'seed'?\n");
	CU_ASSERT_PTR_NULL(vl_nearest("file", (const char *const[]){"size", NULL}));
	CU_ASSERT_STRING_EQUAL(vl_nearest("szie", (const char *const[]){"rate", "size", NULL}),
			       "size");
	refused(HEAD LINKS "flows: [{from: a, to: b, zzzz: 3}]\n",
		"f.yaml:4:26: flows[0]: unknown key 'zzzz'; known are name, from, to, transport, "
		"verb, "
		"size, messages, duration, start, stagger, qps, depth, rate, priority, dscp, "
		"timeout, "
		"retries, congestion_control\n");
	refused(BASE "seed: 1\nseed: 2\n", "f.yaml:6:1: seed: given twice; keep one\n");
	refused(BASE "? [a, b]\n: 1\n", "f.yaml:5:3: a key must be a single word\n");
	refused("name: test\n" LINKS FLOWS,
		"f.yaml:1:1: endpoints: is missing; it is a list of endpoints and groups of them\n"
		"f.yaml:2:16: links[0].from: nothing is called 'a'; name an endpoint or a switch\n"
		"f.yaml:2:23: links[0].to: nothing is called 'b'; name an endpoint or a switch\n");
	refused(HEAD LINKS "flows: [{to: b}]\n", "f.yaml:4:9: flows[0].from: is missing; it is the "
						 "endpoint, or each of a group, that "
						 "posts the requests\n");
}

static void test_shapes(void)
{
	refused(BASE "seed: [1]\n",
		"f.yaml:5:7: seed: must be a single value, not a list or a mapping\n");
	refused(BASE "seed:\n", "f.yaml:5:6: seed: has no value; give one or leave the key out\n");
	refused(HEAD LINKS "flows: 3\n",
		"f.yaml:4:8: flows: must be a list: lines that begin with '- '\n");
	refused(HEAD LINKS "flows: []\n",
		"f.yaml:4:8: flows: has 0 elements; allowed are 1 to 4096\n");
	refused(BASE "congestion_control: dcqcn\n",
		"f.yaml:5:21: congestion_control: must be a mapping: lines of 'key: value'\n");
	refused(BASE "congestion_control: {parameters: 3}\n",
		"f.yaml:5:34: congestion_control.parameters: must be a mapping: lines of 'name: "
		"number'\n");
}

static void test_units_and_bounds(void)
{
	refused(BASE "duration: 5\n", "f.yaml:5:11: duration: '5' has no unit; write a duration as "
				      "500ns, 10us, 1.5ms or 2s\n");
	refused(BASE "duration: 5Gb/s\n", "f.yaml:5:11: duration: 'Gb/s' is not a unit of a "
					  "duration; write a duration as 500ns, "
					  "10us, 1.5ms or 2s\n");
	refused(BASE "duration: -5ms\n", "f.yaml:5:11: duration: '-5ms' is negative; write a "
					 "duration as 500ns, 10us, 1.5ms or "
					 "2s\n");
	refused(BASE "duration: .nan\n",
		"f.yaml:5:11: duration: '.nan' is not a duration; write one as 500ns, 10us, 1.5ms "
		"or 2s\n");
	refused(BASE "duration: 1e9s\n",
		"f.yaml:5:11: duration: '1e9s' is too large; allowed is 10us to 3600s\n");
	refused(HEAD "links: [{from: a, to: b, rate: 0b/s}]\n" FLOWS,
		"f.yaml:3:32: links[0].rate: '0b/s' is too small; allowed is 1Mb/s to 1.60Tb/s\n");
	refused(HEAD "links: [{from: a, to: b, loss: 101%}]\n" FLOWS,
		"f.yaml:3:32: links[0].loss: '101%' is too large; allowed is 0% to 100%\n");
	refused(HEAD "links: [{from: a, to: b, loss: x}]\n" FLOWS,
		"f.yaml:3:32: links[0].loss: 'x' is not a part of 1; write one as 5% or 0.05\n");
	refused(HEAD LINKS "flows: [{from: a, to: b, size: 3GiB}]\n",
		"f.yaml:4:32: flows[0].size: '3GiB' is too large; allowed is 1B to 2GiB\n");
	refused(HEAD LINKS "flows: [{from: a, to: b, qps: 1000000000}]\n",
		"f.yaml:4:31: flows[0].qps: '1000000000' is too large; allowed is 1 to 16384\n");
	refused(HEAD LINKS "flows: [{from: a, to: b, qps: two}]\n",
		"f.yaml:4:31: flows[0].qps: 'two' is not a whole number; write one as 16\n");
	refused(BASE "path_mtu: 1500\n",
		"f.yaml:5:11: path_mtu: '1500' is unknown; choose 256, 512, 1024, 2048 or 4096\n");
	refused("name: a b\nendpoints: [{name: a}, {name: b}]\n" LINKS FLOWS,
		"f.yaml:1:7: name: 'a b' is not a name; use up to 24 letters, digits, '-' and "
		"'_'\n");
	/* What is quoted cannot act on the terminal. */
	refused(BASE "path_mtu: \"\\e[31m\"\n",
		"f.yaml:5:11: path_mtu: '?[31m' is unknown; choose 256, 512, 1024, 2048 or 4096\n");
}

static void test_references(void)
{
	refused(HEAD LINKS "flows: [{from: aa, to: b}]\n",
		"f.yaml:4:16: flows[0].from: nothing is called 'aa'; did you mean 'a'?\n");
	refused(HEAD LINKS "flows: [{from: a, to: a}]\n",
		"f.yaml:4:23: flows[0].to: 'a' would send to itself; name another endpoint\n");
	refused(HEAD "links: [{from: a, to: a}]\n" FLOWS,
		"f.yaml:3:23: links[0].to: 'a' is linked to itself; name another node\n");
	refused(HEAD "links: [{from: a, to: b}, {from: a, to: b}]\n" FLOWS,
		"f.yaml:3:34: links[1].from: 'a' has a link already; an endpoint has one port\n");
	refused("name: t\nendpoints: [{name: a}, {name: a}]\n" LINKS FLOWS,
		"f.yaml:2:31: endpoints[1].name: 'a' is taken already; give each node its own "
		"name\n");
	refused("name: t\nendpoints: [{name: a, count: 2}, {name: a2}]\n" LINKS FLOWS,
		"f.yaml:2:41: endpoints[1].name: 'a2' is taken already; give each node its own "
		"name\n");
	refused("name: t\nendpoints: [{name: a, count: 2}, {name: b, count: 2}]\n" LINKS FLOWS,
		"f.yaml:3:23: links[0].to: joins two groups; link each to a switch\n");
	refused("name: t\nendpoints: [{name: a}, {name: b}, {name: c}]\n" LINKS FLOWS,
		"f.yaml:2:42: endpoints[2].name: no links lead from 'c' to 'a'; add one\n");
	refused("name: t\nendpoints: [{name: a}]\nswitches: [{name: b}]\n" LINKS FLOWS,
		"f.yaml:5:23: flows[0].to: 'b' is a switch; flows run between endpoints\n");
	refused("name: t\nendpoints: [{name: a, count: 1024}, {name: b, count: 1024}]\n"
		"switches: [{name: x}]\nlinks: [{from: a, to: x}]\n" FLOWS,
		"f.yaml:2:12: endpoints: endpoints and switches are 2049; at most 2048 are "
		"allowed\n");
	refused("name: t\nendpoints: [{name: a, count: 100}, {name: b, count: 100}]\n"
		"switches: [{name: x}]\nlinks: [{from: a, to: x}, {from: b, to: x}]\n"
		"flows: [{from: a, to: b, qps: 10}]\n",
		"f.yaml:5:31: flows[0].qps: the flows up to here have 100000 queue pairs; at most "
		"65536 are allowed\n");
	refused(BASE "outputs: {pcap_at: c}\n", "f.yaml:5:20: outputs.pcap_at: nothing is called "
						"'c'; name an endpoint, or a switch "
						"and a port as SWITCH:NEIGHBOUR\n");
}

/* Whatever is missing, the rest is checked all the same. */
static void test_nothing_linked(void)
{
	refused("name: t\nendpoints: [{name: a}]\nworkloads: [{name: w, kind: incast}]\n",
		"f.yaml:1:1: links: is missing; it is a list of links, each of both directions\n"
		"f.yaml:3:29: workloads[0].kind: one rank has nobody to talk to; it takes 2 at "
		"least\n");
}

/* What would do nothing is not taken. */
static void test_idle_keys(void)
{
	refused("name: t\nendpoints: [{name: a}, {name: b}]\nswitches:\n- name: s\n"
		"  groups: [{group: 1, headroom: 1KB, xon: 2KB}]\n"
		"  shaper: {burst: 4KB}\n"
		"  queues:\n"
		"  - {queue: 1, ecn_yellow: {kmin: 1KB}}\n"
		"  - {queue: 2, ecn: {kmin: 1KB}, ecn_red: {kmin: 1KB, at: enqueue, weight: 3}}\n"
		"  - {queue: 3, scheduling: strict, weight: 4}\n"
		"links: [{from: a, to: s}, {from: b, to: s}]\n" FLOWS,
		"f.yaml:5:33: switches[0].groups[0].headroom: is for a lossless group; take it "
		"out\n"
		"f.yaml:5:43: switches[0].groups[0].xon: is for a lossless group; take it out\n"
		"f.yaml:6:11: switches[0].shaper.rate: is missing; without one nothing is shaped\n"
		"f.yaml:8:28: switches[0].queues[0].ecn_yellow: goes beside ecn, the curve of "
		"green "
		"packets; give that too\n"
		"f.yaml:9:59: switches[0].queues[1].ecn_red.at: is that of ecn for all colours; "
		"take "
		"it out\n"
		"f.yaml:9:76: switches[0].queues[1].ecn_red.weight: is that of ecn for all "
		"colours; "
		"take it out\n"
		"f.yaml:10:44: switches[0].queues[2].weight: is for dwrr and wrr; this queue is "
		"strict; take it out\n");
}

static void test_contradictions(void)
{
	refused(BASE "congestion_control: {algorithm: fixed}\n",
		"f.yaml:5:21: congestion_control.rate: is missing; algorithm fixed needs one, as "
		"10Gb/s\n");
	refused(BASE "congestion_control: {rate: 1Gb/s}\n",
		"f.yaml:5:28: congestion_control.rate: is for algorithm fixed only; take it out, "
		"or "
		"choose fixed\n");
	refused(BASE "congestion_control: {parameters: {rpg_ia_rate: 5}}\n",
		"f.yaml:5:35: congestion_control.parameters: unknown parameter 'rpg_ia_rate'; did "
		"you "
		"mean 'rpg_ai_rate'?\n");
	refused(BASE "congestion_control: {parameters: {rpg_ai_rate: 0}}\n",
		"f.yaml:5:48: congestion_control.parameters.rpg_ai_rate: '0' is too small; allowed "
		"is "
		"1 to 800000 (Mb/s)\n");
	refused(HEAD
		"switches: [{name: x, ecn: {kmin: 500KB, kmax: 1KB}, pfc: {xon: 2KB, xoff: 1KB}}]\n"
		"links: [{from: a, to: x}, {from: b, to: x}]\n" FLOWS,
		"f.yaml:3:34: switches[0].ecn.kmin: is above kmax; it must be kmax or less\n"
		"f.yaml:3:64: switches[0].pfc.xon: is above xoff; it must be xoff or less\n");
	refused(HEAD "switches: [{name: x, buffer: 1MB, queue_limit: 2MB}]\n"
		     "links: [{from: a, to: x}, {from: b, to: x}]\n" FLOWS,
		"f.yaml:3:48: switches[0].queue_limit: is above the buffer; it must be the buffer "
		"or "
		"less\n");
	refused(HEAD LINKS "flows: [{from: a, to: b, verb: fetch_add, size: 16B}]\n",
		"f.yaml:4:49: flows[0].size: an atomic is 8 B; take the size out\n");
	refused(HEAD LINKS "flows: [{from: a, to: b, verb: read, transport: UC}]\n",
		"f.yaml:4:32: flows[0].verb: UC has no READ and no atomics; choose transport RC\n");
	refused(HEAD LINKS "flows: [{from: a, to: b, transport: UD, timeout: 3}]\n",
		"f.yaml:4:9: flows[0].verb: UD has send and send_imm only; choose one, or "
		"transport "
		"RC\n"
		"f.yaml:4:9: flows[0].size: a UD message is one packet; at most the path MTU, 4096 "
		"B\n"
		"f.yaml:4:50: flows[0].timeout: UD has none; take it out\n");
	refused(HEAD LINKS "flows: [{from: a, to: b, start: 1s}]\n",
		"f.yaml:4:33: flows[0].start: the flow starts at 1s, but the run ends at 100ms; "
		"start "
		"earlier, or run longer\n");
	refused(BASE "warm_up: 100ms\n",
		"f.yaml:5:10: warm_up: leaves nothing to measure; it must be "
		"shorter than the duration\n");
	refused(BASE "duration: 1h\n",
		"f.yaml:5:11: duration: 'h' is not a unit of a duration; write "
		"a duration as 500ns, 10us, 1.5ms or 2s\n");
	refused(BASE "duration: 60s\nsample_interval: 1us\n",
		"f.yaml:6:18: sample_interval: makes more than 100000 samples; choose a longer "
		"one\n");
	refused(HEAD LINKS "flows: [{from: a, to: b, qps: 16384, depth: 16384}]\n",
		"f.yaml:4:8: flows: have 268435456 outstanding messages together; at most 4194304 "
		"are "
		"allowed: lower depth or qps\n");
}

/* All problems of a file, in its order; beyond the limit their number. */
static void test_what_it_teaches_cannot_act_on_a_terminal(void)
{
	struct vl_scenario *scenario = parse(BASE "teaches: \"one\\e[31m\\nline\"\n", NULL);

	CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
	CU_ASSERT_STRING_EQUAL(scenario->teaches, "one?[31m line");
	vl_scenario_free(scenario);
}

/* What a run was configured with is told as the numbers that were read. */
static void test_told_numbers(void)
{
	struct vl_scenario *scenario = parse(
		BASE "congestion_control: {parameters: {rpg_ai_rate: 0x10, cnp_dscp: 46}}\n", NULL);
	json_t *config, *parameters;

	CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
	CU_ASSERT_EQUAL(scenario->cc.resolved.dcqcn.rpg_ai_rate, 16);
	config = vl_config_json(&vl_scenario_schema, scenario);
	parameters = json_object_get(json_object_get(config, "congestion_control"), "parameters");
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(parameters, "rpg_ai_rate")), 16);
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(parameters, "cnp_dscp")), 46);
	CU_ASSERT_EQUAL(json_object_size(parameters), 2);
	json_decref(config);
	vl_scenario_free(scenario);
}

static void test_many(void)
{
	char text[4096] = BASE;

	refused(HEAD "links: [{from: a, to: b, rate: 1}]\nflows: [{from: a, to: c, verb: x}]\n"
		     "seed: y\n",
		"f.yaml:3:32: links[0].rate: '1' has no unit; write a rate as 100Gb/s, 250Mb/s or "
		"9600b/s\n"
		"f.yaml:4:23: flows[0].to: nothing is called 'c'; name an endpoint or a switch\n"
		"f.yaml:4:32: flows[0].verb: 'x' is unknown; choose send, send_imm, write, "
		"write_imm, "
		"read, compare_swap or fetch_add\n"
		"f.yaml:5:7: seed: 'y' is not a whole number; write one as 16\n");
	for (unsigned int i = 0; i < VL_MAX_PROBLEMS + 5; i++)
		strcat(text, "bad: 1\n");
	CU_ASSERT_PTR_NULL(parse(text, NULL));
	CU_ASSERT_PTR_NOT_NULL(strstr(printed, "f.yaml: and 5 more\n"));
}

static struct vl_scenario * override(const char *one, const char *two)
{
	struct vl_texts texts = {{one, two}, two ? 2 : 1};

	return parse(HEAD LINKS "flows: [{name: bulk, from: a, to: b}]\n", &texts);
}

static void test_overrides(void)
{
	struct vl_scenario *scenario =
		override("flows[0].size=4KiB", "congestion_control.profile=paper");

	CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
	CU_ASSERT_EQUAL(scenario->pairs[0].flow->size, 4096);
	CU_ASSERT_EQUAL(scenario->cc.resolved.dcqcn.rpg_ai_rate, 40);
	vl_scenario_free(scenario);
	scenario = override("flows[bulk].depth=9", "duration=5ms");
	CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
	CU_ASSERT_EQUAL(scenario->pairs[0].flow->depth, 9);
	CU_ASSERT_EQUAL(scenario->duration, 5000000);
	vl_scenario_free(scenario);

	CU_ASSERT_PTR_NULL(override("flows[0].siz=4KiB", NULL));
	CU_ASSERT_STRING_EQUAL(printed,
			       "--set flows[0].siz=4KiB: flows[0]: unknown key 'siz'; did you "
			       "mean 'size'?\n");
	CU_ASSERT_PTR_NULL(override("flows[0].size=4", NULL));
	CU_ASSERT_STRING_EQUAL(printed,
			       "--set flows[0].size=4: flows[0].size: '4' has no unit; write "
			       "a size as 4096B, 64KiB or 1MB\n");
	CU_ASSERT_PTR_NULL(override("flows[1].size=4KiB", NULL));
	CU_ASSERT_STRING_EQUAL(printed,
			       "--set flows[1].size=4KiB: there is nothing at 'flows[1].size' "
			       "in the scenario\n");
	CU_ASSERT_PTR_NULL(override("flows[0]x.size=4KiB", NULL));
	CU_ASSERT_STRING_EQUAL(printed,
			       "--set flows[0]x.size=4KiB: there is nothing at 'flows[0]x.size' "
			       "in the scenario\n");
	CU_ASSERT_PTR_NULL(override("seed.x.y=4", "duration"));
	CU_ASSERT_PTR_NOT_NULL(strstr(printed, "--set duration: is not KEY=VALUE; write one as "
					       "flows[0].size=4KiB\n"));
	CU_ASSERT_PTR_NULL(override("name.x=4", NULL));
	CU_ASSERT_STRING_EQUAL(printed,
			       "--set name.x=4: there is nothing at 'name.x' in the scenario\n");
}

/* One node under many names, and a node inside itself. */
/* Who asks for a shorter run gets one, unless it is the warm-up that was asked for too. */
static void test_shorter_than_the_warm_up(void)
{
	struct vl_texts shorter = {{"duration=10ms"}, 1};
	struct vl_texts both = {{"duration=10ms", "warm_up=10ms"}, 2};
	struct vl_scenario *scenario = parse(BASE "warm_up: 50ms\n", &shorter);

	CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
	CU_ASSERT_EQUAL(scenario->warm_up, 5000000);
	vl_scenario_free(scenario);
	CU_ASSERT_PTR_NULL(parse(BASE "warm_up: 50ms\n", &both));
}

static void test_aliases(void)
{
	struct vl_scenario *scenario =
		parse(HEAD LINKS "flows: [&f {from: a, to: b}, *f, *f]\n", NULL);

	CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
	CU_ASSERT_EQUAL(scenario->pair_count, 3);
	vl_scenario_free(scenario);
	refused(HEAD LINKS "flows: &f [*f]\n",
		"f.yaml:4:8: flows[0]: must be a mapping: lines of 'key: value'\n");
}

static void test_files(void)
{
	char error[256];
	size_t length;

	CU_ASSERT_PTR_NULL(vl_scenario_read_file("/does/not/exist", &length, error, sizeof(error)));
	CU_ASSERT_STRING_EQUAL(error, "/does/not/exist: No such file or directory");
	CU_ASSERT_PTR_NULL(vl_scenario_read_file("/", &length, error, sizeof(error)));
	CU_ASSERT_STRING_EQUAL(error, "/: Is a directory");
	CU_ASSERT_PTR_NULL(vl_scenario_read_file("/dev/zero", &length, error, sizeof(error)));
	CU_ASSERT_STRING_EQUAL(error, "/dev/zero: larger than 1048576 bytes; is this a scenario?");
}

/* A server whose own line is narrower than the network behind it. */
static void test_bottleneck_at_an_endpoint(void)
{
	static const char text[] = "name: test\n"
				   "endpoints: [{name: client, count: 3}, {name: server}]\n"
				   "switches: [{name: switch}]\n"
				   "links:\n"
				   "  - {from: client, to: switch, rate: 100Gb/s}\n"
				   "  - {from: server, to: switch, rate: 25Gb/s}\n"
				   "flows: [{from: client, to: server, verb: %s}]\n";
	struct vl_scenario *scenario;
	char written[sizeof(text) + 8];

	snprintf(written, sizeof(written), text, "read");
	scenario = parse(written, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
	CU_ASSERT_STRING_EQUAL(scenario->nodes[scenario->bottleneck.node].name, "server");
	CU_ASSERT_TRUE(scenario->pairs[0].crosses_bottleneck);
	vl_scenario_free(scenario);
	/* The other way it is the switch's port to the server. */
	snprintf(written, sizeof(written), text, "write");
	scenario = parse(written, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
	CU_ASSERT_STRING_EQUAL(scenario->nodes[scenario->bottleneck.node].name, "switch");
	vl_scenario_free(scenario);
}

static const struct test tests[] = {
	{"smallest", test_smallest},
	{"ready_scenarios", test_ready_scenarios},
	{"topology", test_topology},
	{"bottleneck_at_an_endpoint", test_bottleneck_at_an_endpoint},
	{"values", test_values},
	{"not_yaml", test_not_yaml},
	{"many_anchors", test_many_anchors},
	{"keys", test_keys},
	{"shapes", test_shapes},
	{"units_and_bounds", test_units_and_bounds},
	{"references", test_references},
	{"nothing_linked", test_nothing_linked},
	{"idle_keys", test_idle_keys},
	{"contradictions", test_contradictions},
	{"what_it_teaches_cannot_act_on_a_terminal", test_what_it_teaches_cannot_act_on_a_terminal},
	{"told_numbers", test_told_numbers},
	{"many", test_many},
	{"overrides", test_overrides},
	{"shorter_than_the_warm_up", test_shorter_than_the_warm_up},
	{"aliases", test_aliases},
	{"files", test_files},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("scenario", tests, argc, argv);
}
