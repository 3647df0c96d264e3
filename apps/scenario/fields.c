/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What a scenario file may say: every key, its unit, bounds, default and meaning. */

#include "apps/scenario/field.h"
#include "apps/scenario/scenario.h"

/* ---- Congestion control ------------------------------------------------------------------ */

static const char *const algorithms[] = {"none", "fixed", "dcqcn", NULL};
static const char *const profiles[] = {"nvidia", "paper", NULL};

static const struct vl_field cc_fields[] = {
	CHOICE_FIELD("algorithm", struct vl_scenario_cc, algorithm, algorithms,
		     "none, fixed or dcqcn [dcqcn]"),
	CHOICE_FIELD("profile", struct vl_scenario_cc, profile, profiles,
		     "the values that parameters start from: nvidia (the NIC's defaults) or paper "
		     "(SIGCOMM 2015) [nvidia]"),
	QUANTITY_FIELD("rate", struct vl_scenario_cc, rate, RATE, 1000000, UINT64_C(1600000000000),
		       "the rate of algorithm fixed"),
	QUANTITY_FIELD("initial_rate", struct vl_scenario_cc, initial_rate, RATE, 1000000,
		       UINT64_C(1600000000000), "the rate that a queue pair starts at [line rate]"),
	{.name = "parameters",
	 .kind = VL_FIELD_NUMBERS,
	 .offset = offsetof(struct vl_scenario_cc, parameters),
	 .help = "DCQCN parameters by NVIDIA's names, in NVIDIA's units"},
};

enum { ALGORITHM_DCQCN = 2 };
static const struct vl_scenario_cc cc_defaults = {.algorithm = ALGORITHM_DCQCN};
const struct vl_schema vl_scenario_cc_schema = {cc_fields, COUNT(cc_fields),
						sizeof(struct vl_scenario_cc), &cc_defaults};

/* ---- Endpoints --------------------------------------------------------------------------- */

static const struct vl_field endpoint_fields[] = {
	NAME_FIELD("name", struct vl_scenario_endpoints, name, "what flows and links call it",
		   true),
	QUANTITY_FIELD("count", struct vl_scenario_endpoints, count, COUNT, 1, 1024,
		       "makes a group of so many: name1, name2, ... [1]"),
};
static const struct vl_scenario_endpoints endpoint_defaults = {.count = 1};
static const struct vl_schema endpoint_schema = {endpoint_fields, COUNT(endpoint_fields),
						 sizeof(struct vl_scenario_endpoints),
						 &endpoint_defaults};

/* ---- Flows ------------------------------------------------------------------------------- */

static const char *const transports[] = {"RC", "UC", "UD", NULL};
static const char *const verbs[] = {
#define VERB_NAME(enumerator, name) name,
	VL_FLOW_VERBS(VERB_NAME)
#undef VERB_NAME
		NULL};

static const struct vl_field flow_fields[] = {
	NAME_FIELD("name", struct vl_scenario_flow, name, "what reports call it [its number]",
		   false),
	NAME_FIELD("from", struct vl_scenario_flow, from,
		   "the endpoint, or each of a group, that posts the requests", true),
	NAME_FIELD("to", struct vl_scenario_flow, to,
		   "the endpoint, or each of a group, that answers", true),
	CHOICE_FIELD("transport", struct vl_scenario_flow, transport, transports,
		     "RC, UC or UD [RC]"),
	CHOICE_FIELD("verb", struct vl_scenario_flow, verb, verbs,
		     "send, send_imm, write, write_imm, read, compare_swap or fetch_add [write]"),
	QUANTITY_FIELD("size", struct vl_scenario_flow, size, SIZE, 1, VL_MAX_MESSAGE,
		       "of a message [64KiB; atomics 8B]"),
	QUANTITY_FIELD("messages", struct vl_scenario_flow, messages, COUNT, 1, UINT64_C(1) << 48,
		       "of each queue pair [until the end]"),
	QUANTITY_FIELD("duration", struct vl_scenario_flow, duration, DURATION, 1000, 3600 * SECOND,
		       "from its start [until the end]"),
	QUANTITY_FIELD("start", struct vl_scenario_flow, start, DURATION, 0, 3600 * SECOND,
		       "when the first message is posted [0]"),
	QUANTITY_FIELD("stagger", struct vl_scenario_flow, stagger, DURATION, 0, 3600 * SECOND,
		       "each further pair of endpoints starts so much later [0]"),
	QUANTITY_FIELD("qps", struct vl_scenario_flow, qps, COUNT, 1, 16384,
		       "queue pairs between each two endpoints [1]"),
	QUANTITY_FIELD("depth", struct vl_scenario_flow, depth, COUNT, 1, VL_FLOW_MAX_DEPTH,
		       "outstanding messages of a queue pair [4]"),
	QUANTITY_FIELD("rate", struct vl_scenario_flow, rate, RATE, 1000, UINT64_C(1600000000000),
		       "payload that each queue pair offers [as fast as it goes]"),
	QUANTITY_FIELD("priority", struct vl_scenario_flow, priority, COUNT, 0, 7,
		       "0 to 7: class of service at switches and of PFC [3]"),
	AUTOMATIC_FIELD("dscp", struct vl_scenario_flow, dscp, COUNT, 0, 63,
			"of its packets [auto: 8 * priority + 2, or what a switch with a preset or "
			"config_db takes for that priority]"),
	RETRY_FIELDS(struct vl_scenario_flow),
	MAPPING_FIELD("congestion_control", struct vl_scenario_flow, cc, &vl_scenario_cc_schema,
		      "for this flow instead of the scenario's"),
};
static const struct vl_scenario_flow flow_defaults = {
	.verb = VL_FLOW_WRITE,
	.size = 65536,
	.qps = 1,
	.depth = 4,
	.priority = 3,
	.dscp = VL_AUTOMATIC,
	.timeout = 14,
	.retries = 7,
};
const struct vl_schema vl_scenario_flow_schema = {flow_fields, COUNT(flow_fields),
						  sizeof(struct vl_scenario_flow), &flow_defaults};

/* ---- The whole --------------------------------------------------------------------------- */

static const struct vl_field output_fields[] = {
	TEXT_FIELD("json", struct vl_scenario_outputs, json, "file for the results as JSON"),
	TEXT_FIELD("pcap", struct vl_scenario_outputs, pcap,
		   "file for the packets; pcapng if it ends so"),
	TEXT_FIELD("pcap_at", struct vl_scenario_outputs, pcap_at,
		   "where they are captured: NODE or NODE:PORT [the first flow's receiver]"),
	TEXT_FIELD("histogram", struct vl_scenario_outputs, histogram,
		   "file for the completion times as .hgrm percentiles"),
};
static const struct vl_schema output_schema = {output_fields, COUNT(output_fields),
					       sizeof(struct vl_scenario_outputs), NULL};

static const char *const mtus[] = {"256", "512", "1024", "2048", "4096", NULL};

static const char *const fabrics[] = {
	"as_configured", "infiniband", "infiniband_congestion_control", "pfc", "dcqcn", "pfc_dcqcn",
	"lossy",         NULL};

static const char *const routings[] = {"shortest", "up_down", NULL};

static const struct vl_field scenario_fields[] = {
	NAME_FIELD("name", struct vl_scenario, name, "what reports call it", true),
	TEXT_FIELD("teaches", struct vl_scenario, teaches, "one line on what it shows"),
	QUANTITY_FIELD("seed", struct vl_scenario, seed, COUNT, 0, INT64_MAX,
		       "of all random numbers [1]"),
	QUANTITY_FIELD("duration", struct vl_scenario, duration, DURATION, 10000, 3600 * SECOND,
		       "the run ends then, or when all flows have [100ms]"),
	QUANTITY_FIELD(
		"warm_up", struct vl_scenario, warm_up, DURATION, 0, 3600 * SECOND,
		"left out of the results [half the duration; 0 if all flows count messages]"),
	QUANTITY_FIELD("sample_interval", struct vl_scenario, sample_interval, DURATION, 1000,
		       3600 * SECOND, "of the time series [duration / 200]"),
	CHOICE_FIELD("path_mtu", struct vl_scenario, path_mtu, mtus,
		     "256, 512, 1024, 2048 or 4096 bytes of payload in a packet [4096]"),
	MAPPING_FIELD("congestion_control", struct vl_scenario, cc, &vl_scenario_cc_schema,
		      "of all flows that do not choose their own"),
	CHOICE_FIELD("fabric", struct vl_scenario, fabric, fabrics,
		     "what all of it runs over: as_configured, infiniband, "
		     "infiniband_congestion_control, pfc, dcqcn, pfc_dcqcn or lossy; all but the "
		     "first switch PFC, ECN and congestion control on or off [as_configured]"),
	CHOICE_FIELD("routing", struct vl_scenario, routing, routings,
		     "of Ethernet switches: shortest (each flow takes one of all equally short "
		     "ways) or up_down (one way, and none of them can wait for another in a "
		     "circle) [shortest]"),
	MAPPING_FIELD("infiniband", struct vl_scenario, infiniband, &vl_scenario_infiniband_schema,
		      "of fabric infiniband and infiniband_congestion_control"),
	MAPPING_FIELD("topology", struct vl_scenario, topology, &vl_scenario_topology_schema,
		      "makes endpoints, switches and links by a rule, instead of lists of them"),
	MAPPING_FIELD("switch", struct vl_scenario, sw, &vl_scenario_switch_schema,
		      "what every switch starts from: the keys of switches, without a name"),
	OPTIONAL_LIST_FIELD("endpoints", struct vl_scenario, endpoints, &endpoint_schema, 1, 4096,
			    "a list of endpoints and groups of them"),
	{.name = "switches",
	 .kind = VL_FIELD_LIST,
	 .offset = offsetof(struct vl_scenario, switches),
	 .help = "a list of switches; with a topology, of those that differ from the others",
	 .schema = &vl_scenario_switch_schema,
	 .most = VL_SCENARIO_MAX_NODES,
	 .base = "switch"},
	OPTIONAL_LIST_FIELD("links", struct vl_scenario, links, &vl_scenario_link_schema, 1, 4096,
			    "a list of links, each of both directions"),
	OPTIONAL_LIST_FIELD("flows", struct vl_scenario, flows, &vl_scenario_flow_schema, 1, 4096,
			    "a list of flows"),
	OPTIONAL_LIST_FIELD("workloads", struct vl_scenario, workloads,
			    &vl_scenario_workload_schema, 1, 256,
			    "a list of workloads: patterns of messages among many endpoints"),
	OPTIONAL_LIST_FIELD("storms", struct vl_scenario, storms, &vl_scenario_storm_schema, 1, 256,
			    "a list of endpoints that pause their switches for the data's "
			    "priorities, whatever they could take"),
	MAPPING_FIELD("compare", struct vl_scenario, compare, &vl_scenario_compare_schema,
		      "what 'verbline compare' runs side by side; one run passes it over"),
	MAPPING_FIELD("outputs", struct vl_scenario, outputs, &output_schema,
		      "files to write; options of the command line come first"),
};
static const struct vl_scenario scenario_defaults = {
	.seed = 1,
	.duration = 100000000,
	.path_mtu = 4,
	.cc = {.algorithm = ALGORITHM_DCQCN},
	.compare = {.repeat = 1},
};
const struct vl_schema vl_scenario_schema = {scenario_fields, COUNT(scenario_fields),
					     sizeof(struct vl_scenario), &scenario_defaults};

const char *vl_scenario_fabric_name(unsigned int fabric)
{
	return fabric < COUNT(fabrics) - 1 ? fabrics[fabric] : "";
}
