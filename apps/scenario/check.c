/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What no single value shows: values that contradict each other. */

#include "apps/report/printable.h"
#include "apps/scenario/cc_parameters.h"
#include "apps/scenario/scenario.h"
#include "apps/scenario/switch_config.h"
#include "apps/scenario/switch_source.h"
#include "apps/sonic/switch_config.h"
#include "dataplane/fabric/link_spec.h"
#include "dataplane/infiniband/switch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SAMPLES     100000u
#define DEFAULT_SAMPLES 200u
/* Work requests of all flows together. */
#define MAX_OUTSTANDING (UINT64_C(1) << 22)

static const char *const transport_names[] = {"RC", "UC", "UD"};

/* ---- Congestion control ------------------------------------------------------------------ */

void vl_scenario_check_cc(struct vl_loader *loader, struct vl_scenario_cc *cc)
{
	static const char *const profiles[] = {"nvidia", "paper"};
	bool is_fixed;

	cc->resolved.algorithm = vl_cc_find(vl_cc_name(cc->algorithm));
	cc->resolved.fixed_rate = cc->rate;
	cc->resolved.initial_rate = cc->initial_rate;
	vl_dcqcn_profile(&cc->resolved.dcqcn, profiles[cc->profile]);
	is_fixed = cc->resolved.algorithm == &vl_cc_fixed;
	if (is_fixed && !cc->rate)
		vl_section_problem(loader, &cc->section, "rate",
				   "is missing; algorithm fixed needs one, as 10Gb/s");
	if (!is_fixed && cc->rate)
		vl_section_problem(loader, &cc->section, "rate",
				   "is for algorithm fixed only; take it out, or choose fixed");
	vl_scenario_read_cc_parameters(loader, &cc->parameters, vl_dcqcn_describe,
				       &cc->resolved.dcqcn);
}

/* ---- Switches ---------------------------------------------------------------------------- */

uint8_t vl_scenario_data_priorities(const struct vl_scenario *scenario)
{
	const struct vl_scenario_flow *flows = scenario->flows.elements;
	const struct vl_scenario_workload *workloads = scenario->workloads.elements;
	uint8_t mask = 0;

	for (unsigned int i = 0; i < scenario->flows.count; i++)
		mask |= (uint8_t)(1u << flows[i].priority);
	for (unsigned int i = 0; i < scenario->workloads.count; i++)
		mask |= (uint8_t)(1u << workloads[i].priority);
	return mask;
}

static void check_infiniband_switch(struct vl_loader *loader, const struct vl_scenario *scenario,
				    const struct vl_scenario_switch *sw)
{
	unsigned int ports = scenario->nodes[sw->node].ports;

	if (ports > VL_INFINIBAND_SWITCH_MAX_PORTS)
		vl_section_problem(loader, &sw->section, NULL,
				   "has %u links, but an InfiniBand switch has at most %u ports; "
				   "make it several",
				   ports, VL_INFINIBAND_SWITCH_MAX_PORTS);
}

static void check_ethernet_switch(struct vl_loader *loader, const struct vl_scenario *scenario,
				  const struct vl_scenario_switch *sw)
{
	struct vl_switch_config *config = vl_scenario_switch_config(scenario, sw);
	const char *error;

	if (!config) {
		loader->out_of_memory = true;
		return;
	}
	error = vl_switch_config_error(config);
	if (error)
		vl_section_problem(loader, &sw->section, NULL, "%s", error);
	free(config);
}

/* whole: the topology is built. */
static void check_switches(struct vl_loader *loader, struct vl_scenario *scenario, bool whole)
{
	unsigned int before = loader->problems->count;
	unsigned int count = scenario->node_count - scenario->endpoint_count;
	struct vl_scenario_switch *sw;

	for (unsigned int i = 0; scenario->built_switches && i < count; i++) {
		sw = &scenario->built_switches[i];
		vl_scenario_check_switch(loader, sw);
	}
	if (!whole || loader->problems->count != before)
		return;
	for (unsigned int i = 0; i < count; i++) {
		sw = &scenario->built_switches[i];
		if (vl_scenario_is_infiniband(scenario))
			check_infiniband_switch(loader, scenario, sw);
		else
			check_ethernet_switch(loader, scenario, sw);
	}
}

/* ---- Flows ------------------------------------------------------------------------------- */

static void check_service(struct vl_loader *loader, const struct vl_scenario *scenario,
			  const struct vl_scenario_flow *flow)
{
	if (flow->transport == VL_SCENARIO_UC && flow->verb >= VL_FLOW_READ)
		vl_section_problem(loader, &flow->section, "verb",
				   "UC has no READ and no atomics; choose transport RC");
	if (flow->transport == VL_SCENARIO_UD && flow->verb > VL_FLOW_SEND_IMM)
		vl_section_problem(loader, &flow->section, "verb",
				   "UD has send and send_imm only; choose one, or transport RC");
	if (flow->transport == VL_SCENARIO_UD && flow->size > vl_scenario_mtu(scenario))
		vl_section_problem(loader, &flow->section, "size",
				   "a UD message is one packet; at most the path MTU, %u B",
				   vl_scenario_mtu(scenario));
	if (flow->transport == VL_SCENARIO_RC)
		return;
	if (vl_section_has(&vl_scenario_flow_schema, &flow->section, "timeout"))
		vl_section_problem(loader, &flow->section, "timeout", "%s has none; take it out",
				   transport_names[flow->transport]);
	if (vl_section_has(&vl_scenario_flow_schema, &flow->section, "retries"))
		vl_section_problem(loader, &flow->section, "retries", "%s has none; take it out",
				   transport_names[flow->transport]);
}

static void check_flow(struct vl_loader *loader, const struct vl_scenario *scenario,
		       struct vl_scenario_flow *flow)
{
	if (flow->verb >= VL_FLOW_COMPARE_SWAP) {
		if (!vl_section_has(&vl_scenario_flow_schema, &flow->section, "size"))
			flow->size = 8;
		else if (flow->size != 8)
			vl_section_problem(loader, &flow->section, "size",
					   "an atomic is 8 B; take the size out");
	}
	check_service(loader, scenario, flow);
	flow->has_cc = flow->cc.section.node != 0;
	if (flow->has_cc)
		vl_scenario_check_cc(loader, &flow->cc);
}

/* The pairs of a flow lie together, the last starts last. */
static void check_starts(struct vl_loader *loader, const struct vl_scenario *scenario)
{
	const struct vl_scenario_pair *pair;
	char start[VL_QUANTITY_TEXT], end[VL_QUANTITY_TEXT];

	for (unsigned int i = 0; i < scenario->pair_count; i++) {
		pair = &scenario->pairs[i];
		if (pair->start < scenario->duration ||
		    (i + 1 < scenario->pair_count && pair[1].flow == pair->flow))
			continue;
		vl_section_problem(loader, &pair->flow->section,
				   pair->flow->stagger ? "stagger" : "start",
				   "the %s starts at %s, but the run ends at %s; start earlier, or "
				   "run longer",
				   pair->flow->stagger ? "last pair" : "flow",
				   vl_quantity_text(VL_QUANTITY_DURATION, pair->start, start),
				   vl_quantity_text(VL_QUANTITY_DURATION, scenario->duration, end));
	}
}

static void check_outstanding(struct vl_loader *loader, const struct vl_scenario *scenario)
{
	uint64_t outstanding = 0;

	for (unsigned int i = 0; i < scenario->pair_count; i++)
		outstanding += scenario->pairs[i].flow->qps * scenario->pairs[i].flow->depth;
	if (outstanding > MAX_OUTSTANDING)
		vl_section_problem(loader, &scenario->section, "flows",
				   "have %llu outstanding messages together; at most %llu are "
				   "allowed: lower depth or qps",
				   (unsigned long long)outstanding,
				   (unsigned long long)MAX_OUTSTANDING);
}

/* ---- Times and outputs ------------------------------------------------------------------- */

static bool is_override(const struct vl_loader *loader, const struct vl_section *section,
			const char *field)
{
	return vl_section_place(loader, section, field).override >= 0;
}

static void check_times(struct vl_loader *loader, struct vl_scenario *scenario)
{
	const struct vl_scenario_flow *flows = scenario->flows.elements;
	bool all_counted = true;

	for (unsigned int i = 0; i < scenario->flows.count; i++)
		all_counted = all_counted && flows[i].messages;
	if (!vl_section_has(&vl_scenario_schema, &scenario->section, "warm_up"))
		scenario->warm_up = all_counted ? 0 : scenario->duration / 2;
	else if (scenario->warm_up >= scenario->duration &&
		 is_override(loader, &scenario->section, "duration") &&
		 !is_override(loader, &scenario->section, "warm_up"))
		/* Who asks for a shorter run need not know of it. */
		scenario->warm_up = scenario->duration / 2;
	else if (scenario->warm_up >= scenario->duration)
		vl_section_problem(loader, &scenario->section, "warm_up",
				   "leaves nothing to measure; it must be shorter than the "
				   "duration");
	if (!scenario->sample_interval) {
		scenario->sample_interval = scenario->duration / DEFAULT_SAMPLES;
		if (scenario->sample_interval < 1000)
			scenario->sample_interval = 1000;
	}
	if (scenario->duration / scenario->sample_interval > MAX_SAMPLES)
		vl_section_problem(loader, &scenario->section, "sample_interval",
				   "makes more than %u samples; choose a longer one", MAX_SAMPLES);
}

/* A port of a node by its number or by what it is linked to; UINT32_MAX: none. */
static unsigned int find_port(const struct vl_scenario *scenario, unsigned int node,
			      const char *which)
{
	char *end;
	unsigned long number = strtoul(which, &end, 10);
	unsigned int neighbour;

	if (which[0] >= '0' && which[0] <= '9' && !*end)
		return number < scenario->nodes[node].ports ? (unsigned int)number : UINT32_MAX;
	for (unsigned int port = 0; port < scenario->nodes[node].ports; port++) {
		neighbour = vl_scenario_port(scenario, node, port)->neighbour;
		if (!strcmp(scenario->nodes[neighbour].name, which))
			return port;
	}
	return UINT32_MAX;
}

int vl_scenario_find_port(const struct vl_scenario *scenario, const char *text, unsigned int *node,
			  unsigned int *port, char *error, size_t error_size)
{
	const char *colon = strchr(text, ':');
	char name[VL_MAX_NAME + 16];

	snprintf(name, sizeof(name), "%.*s", colon ? (int)(colon - text) : (int)strlen(text), text);
	*node = vl_scenario_find_node(scenario, name);
	if (*node == UINT32_MAX) {
		snprintf(error, error_size,
			 "nothing is called '%.40s'; name an endpoint, or a switch and a port as "
			 "SWITCH:NEIGHBOUR",
			 name);
		return -EINVAL;
	}
	*port = 0;
	if (!colon && scenario->nodes[*node].ports > 1) {
		snprintf(error, error_size, "'%.40s' has %u ports; name one as %.40s:NEIGHBOUR",
			 name, scenario->nodes[*node].ports, name);
		return -EINVAL;
	}
	if (colon)
		*port = find_port(scenario, *node, colon + 1);
	if (*port != UINT32_MAX)
		return 0;
	snprintf(error, error_size,
		 "'%.40s' has no port '%.40s'; give the name of what is linked there, or a number "
		 "below %u",
		 name, colon + 1, scenario->nodes[*node].ports);
	return -EINVAL;
}

static void check_outputs(struct vl_loader *loader, const struct vl_scenario *scenario)
{
	unsigned int node, port;
	char error[256];

	if (scenario->outputs.pcap_at && vl_scenario_find_port(scenario, scenario->outputs.pcap_at,
							       &node, &port, error, sizeof(error)))
		vl_section_problem(loader, &scenario->outputs.section, "pcap_at", "%s", error);
}

/* ---- Links --------------------------------------------------------------------------------- */

/* Any scenario runs over either kind of fabric, so that they can be compared; but then its cables
 * are not what they are called. */
static void note_technology(struct vl_loader *loader, struct vl_scenario *scenario,
			    const char *link, enum vl_link_technology technology)
{
	bool is_infiniband = vl_scenario_is_infiniband(scenario);

	if ((technology == VL_LINK_TECHNOLOGY_INFINIBAND) == is_infiniband)
		return;
	if (!scenario->notes)
		scenario->notes = vl_arena_allocate(loader->arena, sizeof(*scenario->notes));
	vl_db_note(scenario->notes,
		   "link '%.60s' is %s, and the fabric %s: its rate and delay are taken, and the "
		   "fabric's frames",
		   link, vl_link_technology_name(technology),
		   is_infiniband ? "InfiniBand" : "Ethernet");
}

/* By name: rate and delay follow. */
static void check_link(struct vl_loader *loader, struct vl_scenario *scenario,
		       const struct vl_schema *schema, struct vl_scenario_links *links)
{
	struct vl_link_spec spec;
	char error[256];

	if (!links->link)
		return;
	if (vl_section_has(schema, &links->section, "rate"))
		vl_section_problem(loader, &links->section, "rate",
				   "follows from link; take out one of the two");
	if (vl_section_has(schema, &links->section, "delay"))
		vl_section_problem(loader, &links->section, "delay",
				   "follows from link; take out one of the two");
	if (vl_link_spec_parse(links->link, &spec, error, sizeof(error))) {
		vl_section_problem(loader, &links->section, "link", "%s", error);
		return;
	}
	links->rate = spec.rate;
	links->delay = spec.delay;
	note_technology(loader, scenario, links->link, spec.generation->technology);
}

static void check_links(struct vl_loader *loader, struct vl_scenario *scenario)
{
	struct vl_scenario_links *links = scenario->links.elements;
	struct vl_scenario_topology *topology = &scenario->topology;

	for (unsigned int i = 0; i < scenario->links.count; i++)
		check_link(loader, scenario, &vl_scenario_link_schema, &links[i]);
	check_link(loader, scenario, &vl_scenario_tier_schema, &topology->link);
	check_link(loader, scenario, &vl_scenario_tier_schema, &topology->uplink);
	check_link(loader, scenario, &vl_scenario_tier_schema, &topology->core_link);
}

/* ---- Parts that are not there --------------------------------------------------------------- */

static void require(struct vl_loader *loader, const struct vl_scenario *scenario, const char *field,
		    const char *meaning)
{
	if (!vl_section_has(&vl_scenario_schema, &scenario->section, field))
		vl_section_problem(loader, &scenario->section, field, "is missing; it is %s",
				   meaning);
}

static void check_parts(struct vl_loader *loader, const struct vl_scenario *scenario)
{
	if (yaml_document_get_node(loader->document, scenario->section.node)->type !=
	    YAML_MAPPING_NODE)
		return;
	if (!scenario->topology.section.node) {
		require(loader, scenario, "endpoints", "a list of endpoints and groups of them");
		require(loader, scenario, "links", "a list of links, each of both directions");
	}
	if (!scenario->workloads.count)
		require(loader, scenario, "flows", "a list of flows");
}

/* It is printed on terminals: line ends become blanks, and nothing of it acts on one. */
static void make_printable(struct vl_loader *loader, const char **text)
{
	char *copy = *text ? vl_arena_print(loader->arena, "%s", *text) : NULL;

	if (!copy)
		return;
	for (char *at = copy; (at = strpbrk(at, "\n\t")); at++)
		*at = ' ';
	vl_make_printable(copy);
	*text = copy;
}

void vl_scenario_check(struct vl_loader *loader, struct vl_scenario *scenario)
{
	struct vl_scenario_flow *flows = scenario->flows.elements;
	bool whole;

	make_printable(loader, &scenario->teaches);

	check_parts(loader, scenario);
	vl_scenario_check_cc(loader, &scenario->cc);
	vl_scenario_check_infiniband(loader, &scenario->infiniband);
	for (unsigned int i = 0; i < scenario->flows.count; i++)
		check_flow(loader, scenario, &flows[i]);
	check_times(loader, scenario);
	check_links(loader, scenario);
	whole = vl_scenario_build_topology(loader, scenario) && scenario->node_count;
	vl_scenario_size_buffers(scenario);
	vl_scenario_load_sources(loader, scenario);
	vl_scenario_apply_fabric(scenario);
	check_switches(loader, scenario, whole);
	if (whole)
		vl_scenario_choose_dscps(loader, scenario);
	if (whole)
		vl_scenario_find_roots(loader, scenario);
	if (whole)
		vl_scenario_check_storms(loader, scenario);
	if (whole)
		vl_scenario_check_workloads(loader, scenario);
	if (!whole || (!scenario->pair_count && !scenario->workloads.count))
		return;
	check_starts(loader, scenario);
	check_outstanding(loader, scenario);
	check_outputs(loader, scenario);
	/* It takes a scenario that holds up: without a cable there is no port to choose. */
	if (!loader->problems->count && !vl_scenario_find_bottleneck(loader->arena, scenario))
		loader->out_of_memory = true;
}
