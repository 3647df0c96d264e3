/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Names to nodes, links to cables between ports, flows to pairs of endpoints. */

#include "apps/scenario/scenario.h"

#include <stdlib.h>
#include <string.h>

static void add_endpoints(struct vl_loader *loader, struct vl_scenario *scenario,
			  struct vl_scenario_names *names, struct vl_scenario_endpoints *group)
{
	const char *name = group->name;

	group->first_node = scenario->node_count;
	for (unsigned int i = 0; i < group->count; i++) {
		if (group->count > 1)
			name = vl_arena_print(loader->arena, "%s%u", group->name, i + 1);
		if (!name) {
			loader->out_of_memory = true;
			return;
		}
		vl_names_add(names, name, &group->section, scenario->node_count, 1, 1);
		scenario->nodes[scenario->node_count++] = (struct vl_scenario_node){.name = name};
	}
	if (group->count > 1)
		vl_names_add(names, group->name, &group->section, group->first_node,
			     (unsigned int)group->count, 1);
}

static bool count_nodes(struct vl_loader *loader, const struct vl_scenario *scenario,
			uint64_t *nodes)
{
	const struct vl_scenario_endpoints *groups = scenario->endpoints.elements;
	const struct vl_scenario_switch *switches = scenario->switches.elements;
	bool named = true;

	*nodes = scenario->switches.count;
	for (unsigned int i = 0; i < scenario->endpoints.count; i++) {
		*nodes += groups[i].count;
		named = named && groups[i].name;
	}
	for (unsigned int i = 0; i < scenario->switches.count; i++) {
		if (!switches[i].name)
			vl_section_problem(loader, &switches[i].section, "name",
					   "is missing; it is what links call it");
		named = named && switches[i].name;
	}
	if (*nodes <= VL_SCENARIO_MAX_NODES)
		return named;
	vl_section_problem(loader, &scenario->section, "endpoints",
			   "endpoints and switches are %llu; at most %u are allowed",
			   (unsigned long long)*nodes, VL_SCENARIO_MAX_NODES);
	return false;
}

static bool list_nodes(struct vl_loader *loader, struct vl_scenario *scenario)
{
	struct vl_scenario_endpoints *groups = scenario->endpoints.elements;
	struct vl_scenario_switch *switches = scenario->switches.elements;
	struct vl_scenario_names *names = &scenario->names;
	uint64_t nodes;

	if (!count_nodes(loader, scenario, &nodes))
		return false;
	scenario->nodes = vl_arena_allocate(loader->arena, nodes * sizeof(*scenario->nodes));
	if (!scenario->nodes ||
	    !vl_names_init(loader, names, (unsigned int)nodes + scenario->endpoints.count)) {
		loader->out_of_memory = true;
		return false;
	}
	for (unsigned int i = 0; i < scenario->endpoints.count; i++)
		add_endpoints(loader, scenario, names, &groups[i]);
	scenario->endpoint_count = scenario->node_count;
	scenario->built_switches = switches;
	for (unsigned int i = 0; i < scenario->switches.count; i++) {
		switches[i].node = scenario->node_count;
		vl_names_add(names, switches[i].name, &switches[i].section, scenario->node_count, 1,
			     1);
		scenario->nodes[scenario->node_count++] =
			(struct vl_scenario_node){.name = switches[i].name, .sw = &switches[i]};
	}
	return !loader->out_of_memory;
}

void vl_scenario_join(struct vl_scenario *scenario, const struct vl_scenario_links *links,
		      unsigned int a, unsigned int b)
{
	scenario->cables[scenario->cable_count++] = (struct vl_scenario_cable){
		a, b, scenario->nodes[a].ports++, scenario->nodes[b].ports++, links};
	scenario->nodes[a].rate = links->rate;
	scenario->nodes[b].rate = links->rate;
}

static bool join(struct vl_loader *loader, struct vl_scenario *scenario,
		 const struct vl_scenario_links *links, unsigned int a, unsigned int b)
{
	unsigned int ends[2] = {a, b};
	struct vl_scenario_node *node;

	for (unsigned int i = 0; i < 2; i++) {
		node = &scenario->nodes[ends[i]];
		if (!node->sw && node->ports) {
			vl_section_problem(loader, &links->section, i ? "to" : "from",
					   "'%s' has a link already; an endpoint has one port",
					   node->name);
			return false;
		}
	}
	vl_scenario_join(scenario, links, a, b);
	return true;
}

static bool join_links(struct vl_loader *loader, struct vl_scenario *scenario,
		       const struct vl_scenario_names *names)
{
	const struct vl_scenario_links *links = scenario->links.elements;
	const struct vl_scenario_meaning *from, *to;
	unsigned int before = loader->problems->count;

	/* Each link between single nodes, or one for each member of a group. */
	scenario->cables = vl_arena_allocate(
		loader->arena,
		(scenario->links.count + (size_t)scenario->node_count) * sizeof(*scenario->cables));
	if (!scenario->cables) {
		loader->out_of_memory = true;
		return false;
	}
	for (unsigned int i = 0; i < scenario->links.count; i++) {
		from = vl_names_look_up(loader, names, &links[i].section, "from", links[i].from);
		to = vl_names_look_up(loader, names, &links[i].section, "to", links[i].to);
		if (!from || !to)
			continue;
		if (from == to) {
			vl_section_problem(loader, &links[i].section, "to",
					   "'%s' is linked to itself; name another node", to->name);
			continue;
		}
		if (from->count > 1 && to->count > 1) {
			vl_section_problem(loader, &links[i].section, "to",
					   "joins two groups; link each to a switch");
			continue;
		}
		for (unsigned int n = 0; n < from->count * to->count; n++) {
			if (!join(loader, scenario, &links[i],
				  vl_meaning_node(from, from->count > 1 ? n : 0),
				  vl_meaning_node(to, to->count > 1 ? n : 0)))
				break;
		}
	}
	return loader->problems->count == before;
}

/* Once all cables are there. */
static bool number_ports(struct vl_loader *loader, struct vl_scenario *scenario)
{
	const struct vl_scenario_cable *cable;

	scenario->ports = vl_arena_allocate(loader->arena, 2 * (size_t)scenario->cable_count *
								   sizeof(*scenario->ports));
	if (!scenario->ports) {
		loader->out_of_memory = true;
		return false;
	}
	for (unsigned int i = 1; i < scenario->node_count; i++)
		scenario->nodes[i].first_port =
			scenario->nodes[i - 1].first_port + scenario->nodes[i - 1].ports;
	for (unsigned int i = 0; i < scenario->cable_count; i++) {
		cable = &scenario->cables[i];
		scenario->ports[scenario->nodes[cable->a].first_port + cable->port_a] =
			(struct vl_scenario_port){cable, cable->b, cable->port_b};
		scenario->ports[scenario->nodes[cable->b].first_port + cable->port_b] =
			(struct vl_scenario_port){cable, cable->a, cable->port_a};
	}
	return true;
}

/* The section that a node was named in. */
static const struct vl_section *node_section(const struct vl_scenario *scenario, unsigned int node)
{
	const struct vl_scenario_endpoints *groups = scenario->endpoints.elements;
	unsigned int i = 0;

	if (scenario->topology.section.node)
		return &scenario->topology.section;
	if (scenario->nodes[node].sw)
		return &scenario->nodes[node].sw->section;
	while (groups[i].first_node + groups[i].count <= node)
		i++;
	return &groups[i].section;
}

/* The foremost of the nodes that are joined with one, as far as is known. */
static unsigned int find_leader(unsigned int *leader, unsigned int node)
{
	while (leader[node] != node) {
		leader[node] = leader[leader[node]];
		node = leader[node];
	}
	return node;
}

/* Every node reaches every other: groups of joined nodes are merged until one is left. */
static bool check_connected(struct vl_loader *loader, const struct vl_scenario *scenario)
{
	unsigned int *leader =
		vl_arena_allocate(loader->arena, scenario->node_count * sizeof(*leader));
	unsigned int a, b;

	if (!leader) {
		loader->out_of_memory = true;
		return false;
	}
	for (unsigned int i = 0; i < scenario->node_count; i++)
		leader[i] = i;
	for (unsigned int i = 0; i < scenario->cable_count; i++) {
		a = find_leader(leader, scenario->cables[i].a);
		b = find_leader(leader, scenario->cables[i].b);
		if (a < b)
			leader[b] = a;
		else
			leader[a] = b;
	}
	for (unsigned int i = 1; i < scenario->node_count; i++) {
		if (!find_leader(leader, i))
			continue;
		vl_section_problem(loader, node_section(scenario, i), "name",
				   "no links lead from '%s' to '%s'; add one",
				   scenario->nodes[i].name, scenario->nodes[0].name);
		return false;
	}
	return true;
}

static bool is_endpoints(struct vl_loader *loader, const struct vl_scenario *scenario,
			 const struct vl_scenario_flow *flow, const char *field,
			 const struct vl_scenario_meaning *meaning)
{
	if (!meaning)
		return false;
	if (!scenario->nodes[meaning->first].sw)
		return true;
	vl_section_problem(loader, &flow->section, field,
			   "'%s' is a switch; flows run between endpoints", meaning->name);
	return false;
}

/* Pairs of two groups, an endpoint with itself left out. Returns how many; *pairs NULL: only counts
 * them. */
static uint64_t pair_groups(const struct vl_scenario_flow *flow,
			    const struct vl_scenario_meaning *from,
			    const struct vl_scenario_meaning *to, struct vl_scenario_pair *pairs)
{
	uint64_t start = flow->start, count = 0;
	unsigned int a, b;

	for (unsigned int i = 0; i < from->count; i++) {
		for (unsigned int j = 0; j < to->count; j++) {
			a = vl_meaning_node(from, i);
			b = vl_meaning_node(to, j);
			if (a == b)
				continue;
			if (pairs)
				pairs[count] = (struct vl_scenario_pair){a, b, start, flow, false};
			start += flow->stagger;
			count++;
		}
	}
	return count;
}

/* How many pairs a flow has; 0: a problem. */
static uint64_t count_pairs(struct vl_loader *loader, const struct vl_scenario *scenario,
			    const struct vl_scenario_flow *flow,
			    const struct vl_scenario_meaning *from,
			    const struct vl_scenario_meaning *to)
{
	uint64_t pairs, qps;

	if (!is_endpoints(loader, scenario, flow, "from", from) ||
	    !is_endpoints(loader, scenario, flow, "to", to))
		return 0;
	if (from->count == 1 && to->count == 1 && from->first == to->first) {
		vl_section_problem(loader, &flow->section, "to",
				   "'%s' would send to itself; name another endpoint", to->name);
		return 0;
	}
	pairs = pair_groups(flow, from, to, NULL);
	qps = scenario->qp_count + pairs * flow->qps;
	if (qps <= VL_SCENARIO_MAX_QPS)
		return pairs;
	vl_section_problem(loader, &flow->section, "qps",
			   "the flows up to here have %llu queue pairs; at most %u are allowed",
			   (unsigned long long)qps, VL_SCENARIO_MAX_QPS);
	return 0;
}

static bool pair_flows(struct vl_loader *loader, struct vl_scenario *scenario,
		       const struct vl_scenario_names *names)
{
	struct vl_scenario_flow *flows = scenario->flows.elements;
	const struct vl_scenario_meaning *from, *to;
	unsigned int count = 0;
	bool whole = true;
	uint64_t pairs;

	for (unsigned int i = 0; i < scenario->flows.count; i++) {
		if (!flows[i].name)
			flows[i].name = vl_arena_print(loader->arena, "flow%u", i);
		from = vl_names_look_up(loader, names, &flows[i].section, "from", flows[i].from);
		to = vl_names_look_up(loader, names, &flows[i].section, "to", flows[i].to);
		pairs = count_pairs(loader, scenario, &flows[i], from, to);
		whole = whole && pairs;
		count += (unsigned int)pairs;
		scenario->qp_count += (unsigned int)(pairs * flows[i].qps);
	}
	if (!whole)
		return false;
	scenario->pairs = vl_arena_allocate(loader->arena, count * sizeof(*scenario->pairs));
	if (!scenario->pairs) {
		loader->out_of_memory = true;
		return false;
	}
	for (unsigned int i = 0; i < scenario->flows.count; i++)
		scenario->pair_count += (unsigned int)pair_groups(
			&flows[i], vl_names_find(names, flows[i].from),
			vl_names_find(names, flows[i].to), scenario->pairs + scenario->pair_count);
	return true;
}

bool vl_scenario_build_topology(struct vl_loader *loader, struct vl_scenario *scenario)
{
	bool is_made = scenario->topology.section.node != 0;
	unsigned int before = loader->problems->count;

	if (is_made ? !vl_scenario_make_topology(loader, scenario) : !list_nodes(loader, scenario))
		return false;
	vl_names_sort(loader, &scenario->names);
	if (loader->problems->count != before)
		return false;
	return (is_made || join_links(loader, scenario, &scenario->names)) &&
	       number_ports(loader, scenario) && check_connected(loader, scenario) &&
	       pair_flows(loader, scenario, &scenario->names);
}

unsigned int vl_scenario_find_node(const struct vl_scenario *scenario, const char *name)
{
	const struct vl_scenario_meaning *meaning = vl_names_find(&scenario->names, name);

	return meaning && meaning->count == 1 ? meaning->first : UINT32_MAX;
}
