/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/lab_split.h"

#include "dataplane/port/port.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PATTERN 128

/* ---- Nodes ----------------------------------------------------------------------------- */

/* A group, or one node. */
static unsigned int take_name(const struct vl_scenario *scenario, const char *name, bool *here)
{
	const struct vl_scenario_meaning *meaning = vl_names_find(&scenario->names, name);

	for (unsigned int i = 0; meaning && i < meaning->count; i++)
		here[vl_meaning_node(meaning, i)] = true;
	return meaning ? meaning->count : 0;
}

static bool take_nodes(const struct vl_scenario *scenario, const char *pattern, bool *here,
		       char *error, size_t error_size)
{
	unsigned int found = take_name(scenario, pattern, here);

	for (unsigned int i = 0; i < scenario->node_count; i++) {
		if (fnmatch(pattern, scenario->nodes[i].name, 0))
			continue;
		here[i] = true;
		found++;
	}
	if (!found)
		snprintf(error, error_size, "--nodes: no node of the scenario is called '%.60s'",
			 pattern);
	return found > 0;
}

static bool take_list(const struct vl_scenario *scenario, const char *list, bool *here, char *error,
		      size_t error_size)
{
	while (*list) {
		size_t length = strcspn(list, ",");
		char pattern[MAX_PATTERN];

		if (length >= sizeof(pattern)) {
			snprintf(error, error_size, "--nodes: a name is longer than %d characters",
				 MAX_PATTERN - 1);
			return false;
		}
		memcpy(pattern, list, length);
		pattern[length] = 0;
		if (length && !take_nodes(scenario, pattern, here, error, error_size))
			return false;
		list += length + (list[length] == ',');
	}
	return true;
}

/* ---- Ports ----------------------------------------------------------------------------- */

/* Where a text of the form "A-B=PORT" has its '='; NULL: it is a port alone. Ports have a ':'
 * before any '=' of theirs, but for the few that need none. */
static const char *find_equals(const char *text)
{
	const char *equals = strchr(text, '='), *colon = strchr(text, ':');

	return equals && (!colon || equals < colon) ? equals : NULL;
}

static bool names_cable(const struct vl_scenario *scenario, const struct vl_scenario_cable *cable,
			const char *name, size_t length)
{
	const char *a = scenario->nodes[cable->a].name, *b = scenario->nodes[cable->b].name;
	char both[2 * MAX_PATTERN];

	for (unsigned int i = 0; i < 2; i++) {
		snprintf(both, sizeof(both), "%s-%s", i ? b : a, i ? a : b);
		if (strlen(both) == length && !memcmp(both, name, length))
			return true;
	}
	return false;
}

static unsigned int add_port(struct vl_lab_split *split, const char *port)
{
	unsigned int i = 0;

	while (i < split->port_count && strcmp(split->ports[i], port))
		i++;
	if (i == split->port_count && i < VL_LAB_MAX_WIRES)
		split->ports[split->port_count++] = port;
	return i;
}

/* Sets leaves_by of the wires that the text names. */
static bool take_port(const struct vl_scenario *scenario, struct vl_lab_split *split,
		      const char *text, char *error, size_t error_size)
{
	const char *equals = find_equals(text), *port = equals ? equals + 1 : text;
	struct vl_error problem = {.text = ""};
	unsigned int index, found = 0;

	if (vl_port_check_name(port, &problem)) {
		snprintf(error, error_size, "--port: %s", problem.text);
		return false;
	}
	index = add_port(split, port);
	if (index == VL_LAB_MAX_WIRES) {
		snprintf(error, error_size, "--port: at most %u ports", VL_LAB_MAX_WIRES);
		return false;
	}
	for (unsigned int i = 0; i < split->wire_count; i++) {
		struct vl_lab_wire *wire = &split->wires[i];

		if (equals ? !names_cable(scenario, &scenario->cables[wire->cable], text,
					  (size_t)(equals - text))
			   : wire->leaves_by != VL_LAB_MAX_WIRES)
			continue;
		wire->leaves_by = index;
		found++;
	}
	if (found)
		return true;
	snprintf(error, error_size,
		 equals ? "--port %.200s: no link of that name leaves (as in sw1-sw2)"
			: "--port %.200s: no link is left that could leave by it",
		 text);
	return false;
}

static bool make_wires(const struct vl_scenario *scenario, struct vl_lab_split *split)
{
	split->wires = calloc(scenario->cable_count + 1, sizeof(*split->wires));
	if (!split->wires)
		return false;
	for (unsigned int i = 0; i < scenario->cable_count; i++) {
		const struct vl_scenario_cable *cable = &scenario->cables[i];
		bool a = split->here[cable->a], b = split->here[cable->b];

		if (a == b)
			continue;
		split->wires[split->wire_count++] = (struct vl_lab_wire){
			.cable = i,
			.node = a ? cable->a : cable->b,
			.port = a ? cable->port_a : cable->port_b,
			.is_backward = b,
			.leaves_by = VL_LAB_MAX_WIRES,
		};
	}
	return true;
}

/* Those that name a link come first, so that a port alone takes the rest. */
static bool take_ports(const struct vl_scenario *scenario, struct vl_lab_split *split,
		       const struct vl_texts *ports, char *error, size_t error_size)
{
	for (unsigned int pass = 0; pass < 2; pass++) {
		for (unsigned int i = 0; i < ports->count; i++) {
			if ((find_equals(ports->values[i]) == NULL) == (pass == 0))
				continue;
			if (!take_port(scenario, split, ports->values[i], error, error_size))
				return false;
		}
	}
	for (unsigned int i = 0; i < split->wire_count; i++) {
		const struct vl_scenario_cable *cable = &scenario->cables[split->wires[i].cable];

		if (split->wires[i].leaves_by != VL_LAB_MAX_WIRES)
			continue;
		snprintf(error, error_size,
			 "the link %s-%s leaves, as one of its nodes is here and the other is not; "
			 "--port says by which port",
			 scenario->nodes[cable->a].name, scenario->nodes[cable->b].name);
		return false;
	}
	return true;
}

/* ---- Both ------------------------------------------------------------------------------ */

static bool fill(const struct vl_scenario *scenario, struct vl_lab_split *split,
		 const struct vl_texts *nodes, const struct vl_texts *ports, char *error,
		 size_t error_size)
{
	for (unsigned int i = 0; i < nodes->count; i++) {
		if (!take_list(scenario, nodes->values[i], split->here, error, error_size))
			return false;
	}
	if (!make_wires(scenario, split)) {
		snprintf(error, error_size, "out of memory");
		return false;
	}
	if (!split->wire_count) {
		snprintf(error, error_size,
			 "--nodes: no link leads from these nodes to the others, so there is "
			 "nothing to join");
		return false;
	}
	return take_ports(scenario, split, ports, error, error_size);
}

struct vl_lab_split *vl_lab_split_make(const struct vl_scenario *scenario,
				       const struct vl_texts *nodes, const struct vl_texts *ports,
				       char *error, size_t error_size)
{
	struct vl_lab_split *split;

	if (!vl_scenario_is_infiniband(scenario)) {
		snprintf(error, error_size,
			 "--nodes: only InfiniBand's links can leave the process; --set "
			 "fabric=infiniband makes them so");
		return NULL;
	}
	if (scenario->workloads.count) {
		snprintf(error, error_size,
			 "--nodes: workloads run in one process; give flows instead");
		return NULL;
	}
	split = calloc(1, sizeof(*split));
	if (split)
		split->here = calloc(scenario->node_count, sizeof(*split->here));
	if (!split || !split->here)
		snprintf(error, error_size, "out of memory");
	else if (fill(scenario, split, nodes, ports, error, error_size))
		return split;
	vl_lab_split_free(split);
	return NULL;
}

void vl_lab_split_free(struct vl_lab_split *split)
{
	if (!split)
		return;
	free(split->here);
	free(split->wires);
	free(split);
}

/* ---- What must be the same ------------------------------------------------------------- */

/* FNV-1a. */
static uint64_t add_bytes(uint64_t digest, const void *bytes, size_t length)
{
	const uint8_t *next = bytes;

	while (length--)
		digest = (digest ^ *next++) * UINT64_C(0x100000001b3);
	return digest;
}

static uint64_t add_numbers(uint64_t digest, const uint64_t *numbers, unsigned int count)
{
	return add_bytes(digest, numbers, count * sizeof(*numbers));
}

static uint64_t add_infiniband(uint64_t digest, const struct vl_scenario_infiniband *infiniband)
{
	const struct vl_scenario_infiniband_cc *cc = &infiniband->cc;
	const uint64_t numbers[] = {infiniband->buffer,     infiniband->routing,
				    infiniband->lifetime,   infiniband->head_of_queue_lifetime,
				    infiniband->drain_rate, infiniband->root_count,
				    cc->threshold,          cc->marking_rate,
				    cc->packet_size,        cc->victims_mark};

	digest = add_numbers(digest, numbers, sizeof(numbers) / sizeof(numbers[0]));
	digest = add_bytes(digest, infiniband->root_nodes,
			   infiniband->root_count * sizeof(*infiniband->root_nodes));
	digest = add_bytes(digest, &infiniband->lanes, sizeof(infiniband->lanes));
	return add_bytes(digest, &cc->resolved, sizeof(cc->resolved));
}

static uint64_t add_cc(uint64_t digest, const struct vl_scenario_cc *cc)
{
	const uint64_t numbers[] = {cc->algorithm, cc->rate, cc->initial_rate};

	digest = add_numbers(digest, numbers, 3);
	return add_bytes(digest, &cc->resolved.dcqcn, sizeof(cc->resolved.dcqcn));
}

static uint64_t add_cable(uint64_t digest, const struct vl_scenario_cable *cable)
{
	const struct vl_scenario_links *links = cable->links;
	const uint64_t numbers[] = {cable->a,    cable->b,     cable->port_a, cable->port_b,
				    links->rate, links->delay, links->jitter};
	const double impairments[] = {links->loss, links->duplicate, links->reorder, links->corrupt,
				      links->mark};

	digest = add_numbers(digest, numbers, 7);
	return add_bytes(digest, impairments, sizeof(impairments));
}

static uint64_t add_pair(uint64_t digest, const struct vl_scenario_pair *pair)
{
	const struct vl_scenario_flow *flow = pair->flow;
	const uint64_t numbers[] = {pair->from,     pair->to,      pair->start,     flow->size,
				    flow->qps,      flow->depth,   flow->messages,  flow->verb,
				    flow->priority, flow->rate,    flow->transport, flow->duration,
				    flow->dscp,     flow->timeout, flow->retries,   flow->has_cc};

	digest = add_numbers(digest, numbers, sizeof(numbers) / sizeof(numbers[0]));
	return flow->has_cc ? add_cc(digest, &flow->cc) : digest;
}

uint64_t vl_lab_split_digest(const struct vl_scenario *scenario)
{
	const uint64_t whole[] = {scenario->seed,        scenario->duration,  scenario->warm_up,
				  scenario->path_mtu,    scenario->fabric,    scenario->node_count,
				  scenario->cable_count, scenario->pair_count};
	uint64_t digest =
		add_numbers(UINT64_C(0xcbf29ce484222325), whole, sizeof(whole) / sizeof(whole[0]));

	digest = add_infiniband(digest, &scenario->infiniband);
	digest = add_cc(digest, &scenario->cc);
	for (unsigned int i = 0; i < scenario->node_count; i++)
		digest = add_bytes(digest, scenario->nodes[i].name,
				   strlen(scenario->nodes[i].name) + 1);
	for (unsigned int i = 0; i < scenario->cable_count; i++)
		digest = add_cable(digest, &scenario->cables[i]);
	for (unsigned int i = 0; i < scenario->pair_count; i++)
		digest = add_pair(digest, &scenario->pairs[i]);
	return digest;
}
