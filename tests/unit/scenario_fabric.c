/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Scenarios of whole fabrics: topologies, links by name, switches, what runs over what. */

#include "apps/lab_split.h"
#include "apps/scenario/scenario.h"
#include "apps/scenario/switch_config.h"
#include "apps/sonic/switch_config.h"
#include "dataplane/fabric/headroom.h"
#include "tests/support/suite.h"
#include "transport/wire/packet.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct vl_problems problems;
static char printed[16384];

static struct vl_scenario *parse(const char *text)
{
	struct vl_scenario *scenario;
	FILE *out = fmemopen(printed, sizeof(printed), "w");

	printed[0] = '\0';
	memset(&problems, 0, sizeof(problems));
	problems.file = "f.yaml";
	scenario = vl_scenario_parse(text, strlen(text), NULL, &problems);
	vl_problems_print(&problems, out);
	fclose(out);
	if (!scenario)
		return NULL;
	return scenario;
}

static struct vl_scenario *accepted(const char *text)
{
	struct vl_scenario *scenario = parse(text);

	if (!scenario)
		printf("\n %s\n", printed);
	CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
	return scenario;
}

static void refused(const char *text, const char *expected)
{
	struct vl_scenario *scenario = parse(text);

	CU_ASSERT_PTR_NULL(scenario);
	CU_ASSERT_STRING_EQUAL(printed, expected);
	if (strcmp(printed, expected))
		printf("\n got  %s\n want %s\n", printed, expected);
	vl_scenario_free(scenario);
}

#define LEAVES "name: test\ntopology: {kind: leaf_spine, endpoints: 8, leaves: 4, spines: 2}\n"
#define FLOW   "flows: [{from: host1, to: host8}]\n"

/* ---- Topologies ---------------------------------------------------------------------------- */

static void test_made(void)
{
	struct vl_scenario *scenario = accepted(
		"name: test\n"
		"topology:\n"
		"  kind: leaf_spine\n"
		"  endpoints: 8\n"
		"  link: {rate: 25Gb/s, delay: 100ns}\n"
		"  uplink: 100g qsfp28 dac 3 m\n"
		"switch: {buffer: 3MB, ecn: {kmin: 10KB}}\n"
		"switches: [{name: spine2, buffer: 5MB, ecn: {kmax: 90KB}}]\n"
		"flows: [{from: rack1, to: rack3}, {from: host, to: host2, verb: send}]\n");
	const struct vl_scenario_switch *leaf, *spine;

	CU_ASSERT_EQUAL(scenario->endpoint_count, 8);
	CU_ASSERT_EQUAL(scenario->node_count, 14);
	CU_ASSERT_EQUAL(scenario->cable_count, 16);
	CU_ASSERT_EQUAL(scenario->pair_count, 4 + 7);
	CU_ASSERT_EQUAL(scenario->pairs[3].from, 1);
	CU_ASSERT_EQUAL(scenario->pairs[3].to, 5);
	CU_ASSERT_STRING_EQUAL(scenario->nodes[8].name, "leaf1");
	CU_ASSERT_EQUAL(scenario->nodes[0].rate, UINT64_C(25000000000));
	CU_ASSERT_EQUAL(scenario->nodes[8].ports, 4);
	CU_ASSERT_EQUAL(scenario->nodes[13].ports, 4);
	/* Ports in the order of cables: endpoints first. */
	CU_ASSERT_EQUAL(vl_scenario_port(scenario, 8, 1)->neighbour, 1);
	CU_ASSERT_EQUAL(vl_scenario_port(scenario, 8, 3)->neighbour, 13);
	CU_ASSERT_EQUAL(vl_scenario_port(scenario, 13, 0)->neighbour_port, 3);
	CU_ASSERT_EQUAL(vl_scenario_port(scenario, 8, 3)->cable->links->rate,
			UINT64_C(100000000000));
	/* 3 m of copper, and the FEC's latency. */
	CU_ASSERT_TRUE(vl_scenario_port(scenario, 8, 3)->cable->links->delay > 10);
	CU_ASSERT_TRUE(vl_scenario_port(scenario, 8, 3)->cable->links->delay < 500);
	leaf = scenario->nodes[8].sw;
	spine = scenario->nodes[13].sw;
	CU_ASSERT_EQUAL(leaf->buffer, 3000000);
	CU_ASSERT_EQUAL(spine->buffer, 5000000);
	CU_ASSERT_EQUAL(spine->ecn.kmin, 10000);
	CU_ASSERT_EQUAL(spine->ecn.kmax, 90000);
	CU_ASSERT_EQUAL(leaf->ecn.kmax, VL_AUTOMATIC);
	CU_ASSERT_EQUAL(scenario->nodes[12].sw->buffer, 3000000);
	vl_scenario_free(scenario);
}

static void test_rails(void)
{
	struct vl_scenario *scenario =
		accepted("name: test\ntopology: {kind: rail, endpoints: 12, rails: 4}\n"
			 "flows: [{from: rail2, to: server3}]\n");

	/* rail2 is host2, host6, host10; server3 is host9 to host12, of which host10 is on rail2.
	 */
	CU_ASSERT_EQUAL_FATAL(scenario->pair_count, 3 * 4 - 1);
	CU_ASSERT_EQUAL(scenario->pairs[4].from, 5);
	CU_ASSERT_EQUAL(scenario->pairs[4].to, 8);
	vl_scenario_free(scenario);
}

static void test_topology_refusals(void)
{
	refused("name: test\ntopology: {endpoints: 8}\n" FLOW,
		"f.yaml:2:11: topology.kind: is missing; it is pair, star, dumbbell, parking_lot, "
		"leaf_spine, fat_tree, rail or ring\n");
	refused("name: test\ntopology: {kind: star, spines: 2, uplink: {rate: 1Gb/s}}\n" FLOW,
		"f.yaml:2:32: topology.spines: is not for topology star; take it out\n"
		"f.yaml:2:43: topology.uplink: is not for topology star; take it out\n");
	refused(LEAVES "switches: [{name: leaf1}, {name: leaf1, cut_through: true}]\n" FLOW,
		"f.yaml:3:34: switches[1].name: 'leaf1' is described twice; keep one\n");
	refused("name: test\ntopology: {kind: fat_tree, radix: 7}\n" FLOW,
		"f.yaml:2:35: topology.radix: 7 ports make no fat tree here; choose an even "
		"number from 2 to 28\n");
	refused(LEAVES "endpoints: [{name: a}]\n" FLOW,
		"f.yaml:3:12: endpoints: the topology makes them; take out one of the two\n");
	refused(LEAVES "switches: [{name: leaf5}]\n" FLOW,
		"f.yaml:3:19: switches[0].name: the topology makes no such switch; name one of its "
		"switches, as 'leaf1'\n");
	refused(LEAVES "flows: [{from: rack9, to: host1}]\n",
		"f.yaml:3:16: flows[0].from: nothing is called 'rack9'; did you mean 'rack1'?\n");
	refused(LEAVES "flows: [{from: leaf1, to: host1}]\n",
		"f.yaml:3:16: flows[0].from: 'leaf1' is a switch; flows run between endpoints\n");
	refused("name: test\n" FLOW,
		"f.yaml:1:1: endpoints: is missing; it is a list of endpoints and groups of them\n"
		"f.yaml:1:1: links: is missing; it is a list of links, each of both directions\n"
		"f.yaml:2:16: flows[0].from: nothing is called 'host1'; name an endpoint or a "
		"switch\n"
		"f.yaml:2:27: flows[0].to: nothing is called 'host8'; name an endpoint or a "
		"switch\n");
	/* No nodes at all, and somebody who would send. */
	refused("name: test\nworkloads: [{name: w, kind: incast}]\n",
		"f.yaml:1:1: endpoints: is missing; it is a list of endpoints and groups of them\n"
		"f.yaml:1:1: links: is missing; it is a list of links, each of both directions\n");
}

/* ---- Links by name ------------------------------------------------------------------------- */

/* It runs, and says what it takes of the cable. */
static void check_technology(const char *fabric, const char *link, const char *note)
{
	struct vl_scenario *scenario;
	char text[512];

	snprintf(text, sizeof(text),
		 "name: test\nfabric: %s\nendpoints: [{name: host1}, {name: host8}]\n"
		 "links: [{from: host1, to: host8, link: %s 2 m}]\n" FLOW,
		 fabric, link);
	scenario = accepted(text);
	CU_ASSERT_EQUAL(scenario->notes ? scenario->notes->count : 0, note ? 1 : 0);
	if (scenario->notes && note)
		CU_ASSERT_PTR_NOT_NULL(strstr(scenario->notes->texts[0], note));
	vl_scenario_free(scenario);
}

static void test_technologies(void)
{
	check_technology("pfc", "400g osfp dac", NULL);
	check_technology("infiniband", "ndr osfp dac", NULL);
	check_technology("infiniband", "400g osfp dac", "is Ethernet, and the fabric InfiniBand");
	check_technology("lossy", "ndr osfp dac", "is InfiniBand, and the fabric Ethernet");
}

static void test_links(void)
{
	refused("name: test\nendpoints: [{name: host1}, {name: host8}]\n"
		"links: [{from: host1, to: host8, link: 800g osfp sr8 500 m, rate: 1Gb/s}]\n" FLOW,
		"f.yaml:3:40: links[0].link: sr (short reach, OM4) reaches 100 m at 100 Gb/s a "
		"lane, not 500 m\n"
		"f.yaml:3:67: links[0].rate: follows from link; take out one of the two\n");
	refused(LEAVES "flows: [{from: host1, to: host8}]\n"
		       "infiniband: {virtual_lanes: 16}\n",
		"f.yaml:4:29: infiniband.virtual_lanes: '16' is too large; allowed is 1 to 15\n");
}

/* ---- Switches ------------------------------------------------------------------------------ */

/* The exact bound for frames of up to 4096 B of payload, who is paused obeying at once. */
static uint64_t headroom(uint64_t rate, double delay)
{
	const struct vl_headroom_input input = {.rate = rate,
						.propagation = delay,
						.lossless_mtu = 4096 + VL_MAX_HEADER_LENGTH,
						.port_mtu = 4096 + VL_MAX_HEADER_LENGTH,
						.smallest = 60,
						.response = -1};
	struct vl_headroom found;

	vl_headroom_worst_case(&input, &found);
	/* At least what is on the way there and back. */
	CU_ASSERT_TRUE(found.bytes > 2 * delay * (double)rate / 8e9);
	return found.bytes;
}

static void test_thresholds_by_rate(void)
{
	struct vl_scenario *scenario =
		accepted("name: test\n"
			 "topology: {kind: leaf_spine, endpoints: 8, link: {rate: 100Gb/s},\n"
			 "  uplink: {rate: 400Gb/s, delay: 2us}}\n"
			 "switch: {ecn: {}, pfc: {}}\n" FLOW);
	struct vl_switch_config *config =
		vl_scenario_switch_config(scenario, scenario->nodes[8].sw);
	const struct vl_switch_port_config *host, *spine;

	CU_ASSERT_PTR_NOT_NULL_FATAL(config);
	host = config->by_port[0];
	spine = config->by_port[3];
	CU_ASSERT_PTR_EQUAL(config->by_port[1], host);
	CU_ASSERT_EQUAL(host->queues[3].red.curves[VL_COLOUR_GREEN].kmin, 100000);
	CU_ASSERT_EQUAL(host->queues[3].red.curves[VL_COLOUR_RED].kmax, 400000);
	CU_ASSERT_EQUAL(spine->queues[3].red.curves[VL_COLOUR_GREEN].kmin, 400000);
	CU_ASSERT_EQUAL(host->groups[3].threshold.bytes, 500000);
	CU_ASSERT_EQUAL(spine->groups[3].threshold.bytes, 2000000);
	CU_ASSERT_EQUAL(spine->groups[3].xon, 1800000);
	CU_ASSERT_EQUAL(host->pfc.enabled, 1u << 3);
	CU_ASSERT_EQUAL(host->groups[3].headroom, headroom(UINT64_C(100000000000), 500));
	CU_ASSERT_EQUAL(spine->groups[3].headroom, headroom(UINT64_C(400000000000), 2000));
	free(config);
	vl_scenario_free(scenario);
}

static void test_long_form(void)
{
	struct vl_scenario *scenario =
		accepted("name: test\n"
			 "topology: {kind: star, endpoints: 4}\n"
			 "switch:\n"
			 "  buffer: 20MB\n"
			 "  cell_size: 256B\n"
			 "  pools:\n"
			 "    - {name: lossless, size: 12MB, shared_headroom: 1MB}\n"
			 "    - {name: lossy, size: 8MB, shared_only: true}\n"
			 "  groups:\n"
			 "    - {group: 3, pool: lossless, reserved: 9KB, alpha: 1/8, lossless: "
			 "true, headroom: "
			 "60KB, xon_offset: 4KB}\n"
			 "  queues:\n"
			 "    - {queue: 3, pool: lossless, alpha: 8, weight: 60,\n"
			 "       ecn: {kmin: 1MB, kmax: 2MB, pmax: 5%, weight: 4, not_ect: pass},\n"
			 "       ecn_yellow: {kmin: 500KB, kmax: 500KB, pmax: 1}}\n"
			 "    - {queue: 0, pool: lossy, limit: 1MB, scheduling: wrr, weight: 40,\n"
			 "       shaper: {rate: 10Gb/s}}\n"
			 "    - {queue: 6, scheduling: dwrr}\n"
			 "  maps:\n"
			 "    dscp_to_class: {26: 3, 48: 6}\n"
			 "    dscp_to_colour: {28: 1}\n"
			 "    class_to_queue: {7: 6}\n"
			 "    pfc_priority_to_group: {3: 3, 4: 3}\n"
			 "  watchdog: {action: forward, detection_time: 10ms}\n"
			 "  shaper: {rate: 90Gb/s, burst: 1KB}\n"
			 "flows: [{from: host1, to: host4}]\n");
	struct vl_switch_config *config =
		vl_scenario_switch_config(scenario, scenario->nodes[4].sw);
	const struct vl_switch_port_config *port;

	CU_ASSERT_PTR_NOT_NULL_FATAL(config);
	port = config->by_port[2];
	CU_ASSERT_EQUAL(config->cell_size, 256);
	CU_ASSERT_EQUAL(config->pool_count, 2);
	CU_ASSERT_EQUAL(config->pools[0].shared_headroom, 1000000);
	CU_ASSERT_TRUE(config->pools[1].is_shared_only);
	CU_ASSERT_EQUAL(port->groups[3].reserved, 9000);
	CU_ASSERT_EQUAL(port->groups[3].threshold.kind, VL_THRESHOLD_DYNAMIC);
	CU_ASSERT_DOUBLE_EQUAL(port->groups[3].threshold.alpha, 0.125, 1e-12);
	CU_ASSERT_TRUE(port->groups[3].lossless);
	CU_ASSERT_EQUAL(port->groups[3].headroom, 60000);
	CU_ASSERT_EQUAL(port->groups[3].xon, 0);
	CU_ASSERT_EQUAL(port->groups[3].xon_offset, 4000);
	CU_ASSERT_EQUAL(port->pfc.enabled, 1u << 3 | 1u << 4);
	CU_ASSERT_EQUAL(port->queues[3].scheduler.weight, 60);
	CU_ASSERT_EQUAL(port->queues[3].red.weight, 4);
	CU_ASSERT_EQUAL(port->queues[3].red.curves[VL_COLOUR_GREEN].action, VL_RED_MARK_OR_PASS);
	CU_ASSERT_EQUAL(port->queues[3].red.curves[VL_COLOUR_YELLOW].kmin, 500000);
	CU_ASSERT_EQUAL(port->queues[3].red.curves[VL_COLOUR_RED].kmax, 2000000);
	CU_ASSERT_EQUAL(port->queues[0].buffer.pool, 1);
	CU_ASSERT_EQUAL(port->queues[0].scheduler.type, VL_SCHEDULING_WRR);
	CU_ASSERT_EQUAL(port->queues[0].scheduler.shaper.rate, UINT64_C(10000000000));
	CU_ASSERT_EQUAL(port->queues[6].scheduler.type, VL_SCHEDULING_DWRR);
	CU_ASSERT_EQUAL(port->classifier.dscp_to_class[26], 3);
	CU_ASSERT_EQUAL(port->classifier.dscp_to_class[25], 3);
	CU_ASSERT_EQUAL(port->classifier.dscp_to_colour[28], VL_COLOUR_YELLOW);
	CU_ASSERT_EQUAL(port->classifier.class_to_queue[7], 6);
	CU_ASSERT_EQUAL(port->watchdog.action, VL_WATCHDOG_FORWARD);
	CU_ASSERT_EQUAL(port->watchdog.priorities, 1u << 3 | 1u << 4);
	CU_ASSERT_EQUAL(port->watchdog.detection_time, 10000000);
	CU_ASSERT_EQUAL(port->shaper.burst, 1000);
	free(config);
	vl_scenario_free(scenario);
}

static void test_switch_refusals(void)
{
#define SWITCH(text) LEAVES "switch: " text "\n" FLOW
	refused(SWITCH("{maps: {dscp_to_class: {64: 3, 1: 9}}}"),
		"f.yaml:3:33: switch.maps.dscp_to_class: '64' is too large; allowed is 0 to 63\n"
		"f.yaml:3:43: switch.maps.dscp_to_class: '9' is too large; allowed is 0 to 7\n");
	refused(SWITCH("{maps: {class_to_queue: 3}}"),
		"f.yaml:3:33: switch.maps.class_to_queue: must be a mapping of numbers, as {26: 3, "
		"48: 6}\n");
	refused(SWITCH("{queues: [{queue: 3, pool: x}]}"),
		"f.yaml:3:36: switch.queues[0].pool: no pool is called 'x'; pools lists them\n");
	refused(SWITCH("{groups: [{group: 3, lossless: true}, {group: 3}]}"),
		"f.yaml:3:19: switch.groups[0].limit: is missing: when a lossless group pauses; "
		"give it, or alpha\n"
		"f.yaml:3:55: switch.groups[1].group: is described twice; keep one\n");
	refused(SWITCH("{pfc: {alpha: 0, xoff: 1KB}}"),
		"f.yaml:3:23: switch.pfc.alpha: '0' is no number from 1/1024 to 1024; write one as "
		"0.125 or 1/8\n");
	refused(SWITCH("{pfc: {alpha: 1/4, xoff: 1KB}}"),
		"f.yaml:3:23: switch.pfc.alpha: and xoff are two ways to say the same; keep one\n");
	refused(SWITCH("{ecn: {kmin: 2KB, kmax: 1KB}}"),
		"f.yaml:3:22: switch.ecn.kmin: is above kmax; it must be kmax or less\n");
	refused(SWITCH("{pfc: {headroom: some}}"),
		"f.yaml:3:26: switch.pfc.headroom: 'some' is not a size; write one as 4096B, 64KiB "
		"or 1MB\n");
#undef SWITCH
}

/* ---- What it runs over --------------------------------------------------------------------- */

static void check_fabric(const char *fabric, bool has_ecn, bool has_pfc, const char *algorithm)
{
	char text[512];
	struct vl_scenario *scenario;
	struct vl_switch_config *config;

	snprintf(text, sizeof(text),
		 LEAVES "fabric: %s\nswitch: {ecn: {kmin: 7KB, kmax: 8KB}}\n"
			"flows: [{from: host1, to: host8}, {from: host2, to: host8, priority: 4,\n"
			"  congestion_control: {algorithm: fixed, rate: 1Gb/s}}]\n",
		 fabric);
	scenario = accepted(text);
	config = vl_scenario_switch_config(scenario, scenario->nodes[8].sw);
	CU_ASSERT_PTR_NOT_NULL_FATAL(config);
	CU_ASSERT_EQUAL(config->by_port[0]->queues[3].red.point != VL_RED_OFF, has_ecn);
	CU_ASSERT_EQUAL(config->by_port[0]->groups[4].lossless, has_pfc);
	if (has_ecn)
		CU_ASSERT_EQUAL(config->by_port[0]->queues[4].red.curves[0].kmin, 7000);
	CU_ASSERT_STRING_EQUAL(scenario->cc.resolved.algorithm->name, algorithm);
	CU_ASSERT_STRING_EQUAL(scenario->pairs[1].flow->cc.resolved.algorithm->name, "fixed");
	free(config);
	vl_scenario_free(scenario);
}

static void test_fabrics(void)
{
	check_fabric("as_configured", true, false, "dcqcn");
	check_fabric("pfc", false, true, "none");
	check_fabric("dcqcn", true, false, "dcqcn");
	check_fabric("pfc_dcqcn", true, true, "dcqcn");
	check_fabric("lossy", false, false, "none");
	check_fabric("infiniband", false, false, "none");
	check_fabric("infiniband_congestion_control", false, false, "infiniband");
	refused(LEAVES "fabric: ethernet\n" FLOW,
		"f.yaml:3:9: fabric: 'ethernet' is unknown; choose as_configured, infiniband, "
		"infiniband_congestion_control, pfc, dcqcn, pfc_dcqcn or lossy\n");
}

static void test_infiniband(void)
{
	struct vl_scenario *scenario = accepted(
		LEAVES "fabric: infiniband_congestion_control\n"
		       "infiniband: {virtual_lanes: 2, sl_to_vl: {3: 1}, buffer: 16KiB,\n"
		       "  low: [{virtual_lane: 0, weight: 1}, {virtual_lane: 1, weight: 9}],\n"
		       "  congestion_control: {threshold: 7, packet_size: 128B,\n"
		       "    parameters: {ccti_timer: 9, ccti_limit: 50}}}\n" FLOW);
	const struct vl_scenario_infiniband *infiniband = &scenario->infiniband;

	CU_ASSERT_EQUAL(infiniband->lanes.data_lanes, 2);
	CU_ASSERT_EQUAL(infiniband->lanes.sl_to_vl[3], 1);
	CU_ASSERT_EQUAL(infiniband->lanes.sl_to_vl[2], 0);
	CU_ASSERT_EQUAL(infiniband->lanes.arbitration.low[1].weight, 9);
	CU_ASSERT_EQUAL(scenario->cc.resolved.infiniband.ccti_timer, 9);
	CU_ASSERT_EQUAL(scenario->cc.resolved.infiniband.ccti_limit, 50);
	CU_ASSERT_EQUAL(scenario->cc.resolved.infiniband.ccti_increase, 1);
	CU_ASSERT_EQUAL(vl_infiniband_cc_check(&scenario->cc.resolved.infiniband), 0);
	vl_scenario_free(scenario);
	refused(LEAVES FLOW "infiniband: {drain_rate: 1b/s}\n",
		"f.yaml:4:26: infiniband.drain_rate: is too small; allowed is 1Mb/s to 4Tb/s, or 0 "
		"for at once\n");
	refused(LEAVES FLOW
		"infiniband: {congestion_control: {parameters: {ccti: 1, ccti_min: 128,\n"
		"  ccti_limit: 3}}}\n",
		"f.yaml:4:48: infiniband.congestion_control.parameters: unknown parameter 'ccti'; "
		"'verbline lab --keys' lists all\n"
		"f.yaml:4:67: infiniband.congestion_control.parameters.ccti_min: '128' is too "
		"large; "
		"allowed is 0 to 127 (entries)\n");
	refused(LEAVES FLOW "infiniband: {congestion_control: {parameters: {ccti_tmer: 1}}}\n",
		"f.yaml:4:48: infiniband.congestion_control.parameters: unknown parameter "
		"'ccti_tmer'; did you mean 'ccti_timer'?\n");
	refused(LEAVES FLOW
		"infiniband: {congestion_control: {parameters: {ccti_min: 9, ccti_limit: 3}}}\n",
		"f.yaml:4:47: infiniband.congestion_control.parameters: have ccti_min above "
		"ccti_limit\n");
}

/* ---- Size ---------------------------------------------------------------------------------- */

/* Every endpoint sends to every other rack's: 65,472 pairs over 1,064 nodes, in well under a
 * second. */
static void test_large(void)
{
	struct timespec start, end;
	struct vl_scenario *scenario;
	double took;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
	scenario = accepted("name: test\n"
			    "topology: {kind: leaf_spine, endpoints: 1024, leaves: 32, spines: 8}\n"
			    "flows: [{from: host, to: rack1}, {from: rack2, to: host}]\n");
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	CU_ASSERT_EQUAL(scenario->pair_count, 2 * 1023 * 32);
	/* 992 endpoints send to rack1's 32 through 8 spines; its own line is asked for most by
	 * rack2's 32 at 31/1023 ... but rack2's leaf sends by 8 lines what 32 bring. */
	CU_ASSERT_TRUE(scenario->bottleneck.node >= scenario->endpoint_count);
	vl_scenario_free(scenario);
	took = (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9;
	CU_ASSERT_TRUE(took < 2);
}

/* Demand is spread over all shortest ways: two spines with half each load the leaf's lines as
 * much as one with all would with twice the rate. */
static void test_bottleneck(void)
{
	struct vl_scenario *scenario =
		accepted("name: test\n"
			 "topology: {kind: leaf_spine, endpoints: 8, leaves: 2, spines: 4,\n"
			 "  link: {rate: 100Gb/s}, uplink: {rate: 50Gb/s}}\n"
			 "flows: [{from: rack1, to: rack2}]\n");

	/* 400 Gb/s into 200 Gb/s: leaf1's lines to spines, twice as loaded as any host's. */
	CU_ASSERT_STRING_EQUAL(scenario->nodes[scenario->bottleneck.node].name, "leaf1");
	CU_ASSERT_EQUAL(scenario->bottleneck.port, 4);
	for (unsigned int i = 0; i < scenario->pair_count; i++)
		CU_ASSERT_TRUE(scenario->pairs[i].crosses_bottleneck);
	vl_scenario_free(scenario);
	/* The other way round, the line to the receiver is. */
	scenario = accepted("name: test\n"
			    "topology: {kind: leaf_spine, endpoints: 8, leaves: 2, spines: 4,\n"
			    "  link: {rate: 100Gb/s}, uplink: {rate: 200Gb/s}}\n"
			    "flows: [{from: rack1, to: host8}, {from: host7, to: host6}]\n");
	CU_ASSERT_STRING_EQUAL(scenario->nodes[scenario->bottleneck.node].name, "leaf2");
	CU_ASSERT_EQUAL(scenario->bottleneck.port, 3);
	CU_ASSERT_TRUE(scenario->pairs[0].crosses_bottleneck);
	CU_ASSERT_FALSE(scenario->pairs[4].crosses_bottleneck);
	vl_scenario_free(scenario);
}

/* ---- Storms, routing ----------------------------------------------------------------------- */

static void test_storms(void)
{
	struct vl_scenario *scenario =
		accepted(LEAVES FLOW "routing: up_down\n"
				     "storms:\n"
				     "  - {from: host2, start: 1ms}\n"
				     "  - {from: rack2, duration: 20us, period: 50us}\n");
	const struct vl_scenario_storm *storms = scenario->storms.elements;

	CU_ASSERT_EQUAL(scenario->routing, VL_SCENARIO_UP_DOWN);
	CU_ASSERT_EQUAL(scenario->storms.count, 2);
	CU_ASSERT_EQUAL(storms[0].first, 1);
	CU_ASSERT_EQUAL(storms[0].count, 1);
	CU_ASSERT_EQUAL(storms[0].start, 1000000);
	CU_ASSERT_EQUAL(storms[0].duration, 0);
	CU_ASSERT_EQUAL(storms[1].first, 2);
	CU_ASSERT_EQUAL(storms[1].count, 2);
	CU_ASSERT_EQUAL(storms[1].period, 50000);
	vl_scenario_free(scenario);

	refused(LEAVES FLOW "storms: [{from: leaf1}]\n",
		"f.yaml:4:17: storms[0].from: 'leaf1' is a switch; storms come from endpoints\n");
	refused(LEAVES FLOW "storms: [{from: host1, duration: 3us, period: 3us}]\n",
		"f.yaml:4:47: storms[0].period: must be longer than duration, the pause that it "
		"repeats\n");
	refused(LEAVES FLOW "storms: [{from: host1, period: 3us}]\n",
		"f.yaml:4:10: storms[0].duration: is missing; with a period pauses need a "
		"length\n");
}

/* Processes that share a fabric compare these: whatever one of them could do differently counts. */
static void test_digest(void)
{
	static const char text[] = "name: split\nduration: 1ms\nfabric: infiniband\n"
				   "endpoints: [{name: a}, {name: b}]\nswitches: [{name: s}]\n"
				   "links: [{from: a, to: s}, {from: b, to: s}]\n"
				   "flows: [{from: a, to: b}]\n";
	static const char *const changes[] = {
		"seed=7",
		"links[0].loss=0.01",
		"links[1].jitter=1us",
		"infiniband.drain_rate=10Gb/s",
		"infiniband.head_of_queue_lifetime=1ms",
		"infiniband.congestion_control.threshold=3",
		"infiniband.congestion_control.parameters.ccti_timer=9",
		"congestion_control.initial_rate=10Gb/s",
		"flows[0].timeout=9",
		"flows[0].priority=2"};
	uint64_t digests[1 + sizeof(changes) / sizeof(changes[0])];
	unsigned int count = sizeof(digests) / sizeof(digests[0]);

	for (unsigned int i = 0; i < count; i++) {
		struct vl_texts overrides = {.count = i > 0, .values = {i ? changes[i - 1] : NULL}};
		struct vl_scenario *scenario;

		memset(&problems, 0, sizeof(problems));
		scenario = vl_scenario_parse(text, sizeof(text) - 1, &overrides, &problems);

		vl_problems_print(&problems, stdout);
		CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
		digests[i] = vl_lab_split_digest(scenario);
		vl_scenario_free(scenario);
		for (unsigned int n = 0; n < i; n++)
			CU_ASSERT_NOT_EQUAL(digests[n], digests[i]);
	}
}

static const struct test tests[] = {
	{"made", test_made},
	{"storms", test_storms},
	{"rails", test_rails},
	{"topology_refusals", test_topology_refusals},
	{"links", test_links},
	{"technologies", test_technologies},
	{"thresholds_by_rate", test_thresholds_by_rate},
	{"long_form", test_long_form},
	{"switch_refusals", test_switch_refusals},
	{"fabrics", test_fabrics},
	{"infiniband", test_infiniband},
	{"large", test_large},
	{"bottleneck", test_bottleneck},
	{"digest", test_digest},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("scenario_fabric", tests, argc, argv);
}
