/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/infiniband/subnet_manager.h"

#include "dataplane/infiniband/subnet_private.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const routing_names[] = {
#define ROUTING_NAME(symbol, name, meaning) name,
	VL_SUBNET_ROUTINGS(ROUTING_NAME)
#undef ROUTING_NAME
};

__attribute__((format(printf, 2, 3))) static int fail(char *message, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(message, VL_SUBNET_MESSAGE_SIZE, format, arguments);
	va_end(arguments);
	return -EINVAL;
}

/* ---- The graph ------------------------------------------------------------------------- */

static int check_nodes(const struct vl_subnet_config *config, char *message)
{
	if (!config->node_count || config->node_count > VL_SUBNET_MAX_NODES)
		return fail(message, "a subnet has 1 to %u nodes, not %u", VL_SUBNET_MAX_NODES,
			    config->node_count);
	if (config->cable_count > VL_SUBNET_MAX_CABLES)
		return fail(message, "a subnet has at most %u cables, not %u", VL_SUBNET_MAX_CABLES,
			    config->cable_count);
	if (config->routing >= VL_SUBNET_ROUTING_COUNT)
		return fail(message, "there is no routing of number %u", (unsigned)config->routing);
	for (uint32_t i = 0; i < config->node_count; i++) {
		if (!config->nodes[i].ports || config->nodes[i].ports > VL_SUBNET_MAX_PORTS)
			return fail(message, "%s has %u ports, not 1 to %u", config->nodes[i].name,
				    config->nodes[i].ports, VL_SUBNET_MAX_PORTS);
	}
	for (uint32_t i = 0; i < config->root_count; i++) {
		if (config->roots[i] >= config->node_count ||
		    !config->nodes[config->roots[i]].is_switch)
			return fail(message, "root %u of up_down is no switch: %s", i + 1,
				    config->roots[i] < config->node_count
					    ? config->nodes[config->roots[i]].name
					    : "there is no such node");
	}
	return 0;
}

static int count(struct vl_subnet *subnet, const struct vl_subnet_config *config, char *message)
{
	uint64_t ports = 0;

	for (uint32_t i = 0; i < config->node_count; i++) {
		ports += config->nodes[i].ports;
		subnet->switch_count += config->nodes[i].is_switch;
	}
	/* Each port of an adapter has a LID, and each switch. */
	if (ports > UINT32_C(1) << 20)
		return fail(message, "the subnet's nodes have more than %u ports", 1u << 20);
	subnet->port_count = (uint32_t)ports;
	subnet->member_count = config->node_count;
	subnet->members = calloc(config->node_count, sizeof(*subnet->members));
	subnet->ports = calloc(subnet->port_count, sizeof(*subnet->ports));
	subnet->switches = calloc(subnet->switch_count + 1, sizeof(*subnet->switches));
	return subnet->members && subnet->ports && subnet->switches
		       ? 0
		       : fail(message, "out of memory");
}

static void add_members(struct vl_subnet *subnet, const struct vl_subnet_config *config)
{
	uint32_t port = 0, switches = 0;

	for (uint32_t i = 0; i < config->node_count; i++) {
		struct vl_subnet_member *member = &subnet->members[i];

		snprintf(member->name, sizeof(member->name), "%s", config->nodes[i].name);
		member->first_port = port;
		member->port_count = config->nodes[i].ports;
		member->switch_index = VL_SUBNET_NONE;
		if (config->nodes[i].is_switch) {
			subnet->switches[switches] = i;
			member->switch_index = switches++;
		}
		for (uint32_t number = 0; number < member->port_count; number++) {
			subnet->ports[port++] = (struct vl_subnet_port){
				.node = i,
				.number = (uint16_t)number,
				.peer = VL_SUBNET_NONE,
			};
		}
	}
}

static int check_end(const struct vl_subnet *subnet, uint32_t cable, uint32_t node, uint32_t port,
		     char *message)
{
	const struct vl_subnet_member *member;

	if (node >= subnet->member_count)
		return fail(message, "cable %u ends at node %u, but there are %u", cable + 1, node,
			    subnet->member_count);
	member = &subnet->members[node];
	if (port >= member->port_count)
		return fail(message, "%s has no port %u: it has %u", member->name, port,
			    member->port_count);
	if (subnet->ports[member->first_port + port].peer != VL_SUBNET_NONE)
		return fail(message, "port %u of %s has a cable already", port, member->name);
	return 0;
}

static int add_cables(struct vl_subnet *subnet, const struct vl_subnet_config *config,
		      char *message)
{
	for (uint32_t i = 0; i < config->cable_count; i++) {
		const struct vl_subnet_cable *cable = &config->cables[i];
		struct vl_subnet_member *a, *b;
		uint32_t port_a, port_b;

		if (check_end(subnet, i, cable->a, cable->port_a, message) ||
		    check_end(subnet, i, cable->b, cable->port_b, message))
			return -EINVAL;
		a = &subnet->members[cable->a];
		b = &subnet->members[cable->b];
		port_a = a->first_port + cable->port_a;
		port_b = b->first_port + cable->port_b;
		if (port_a == port_b)
			return fail(message, "port %u of %s is joined to itself", cable->port_a,
				    a->name);
		subnet->ports[port_a].peer = port_b;
		subnet->ports[port_b].peer = port_a;
		a->has_adapter |= b->switch_index == VL_SUBNET_NONE;
		b->has_adapter |= a->switch_index == VL_SUBNET_NONE;
	}
	return 0;
}

/* Marks what can be reached from a node; an adapter forwards nothing, but is where ways end. */
static void mark_reached(const struct vl_subnet *subnet, uint32_t start, bool *reached,
			 uint32_t *queue)
{
	uint32_t taken = 0, queued = 1;

	reached[start] = true;
	for (queue[0] = start; taken < queued; taken++) {
		const struct vl_subnet_member *member = &subnet->members[queue[taken]];

		if (member->switch_index == VL_SUBNET_NONE && taken)
			continue;
		for (uint32_t i = 0; i < member->port_count; i++) {
			uint32_t peer = subnet->ports[member->first_port + i].peer;

			if (peer == VL_SUBNET_NONE || reached[subnet->ports[peer].node])
				continue;
			reached[subnet->ports[peer].node] = true;
			queue[queued++] = subnet->ports[peer].node;
		}
	}
}

static bool has_cable(const struct vl_subnet *subnet, const struct vl_subnet_member *member)
{
	for (uint32_t i = 0; i < member->port_count; i++) {
		if (subnet->ports[member->first_port + i].peer != VL_SUBNET_NONE)
			return true;
	}
	return false;
}

static int check_connected(const struct vl_subnet *subnet, char *message)
{
	/* From a switch, if there is one: an adapter of several ports may join two subnets. */
	uint32_t start = subnet->switch_count ? subnet->switches[0] : 0;
	bool *reached = calloc(subnet->member_count, sizeof(*reached));
	uint32_t *queue = calloc(subnet->member_count, sizeof(*queue));
	int status = 0;

	if (!reached || !queue)
		status = fail(message, "out of memory");
	else
		mark_reached(subnet, start, reached, queue);
	for (uint32_t i = 0; !status && i < subnet->member_count; i++) {
		const struct vl_subnet_member *member = &subnet->members[i];

		if (reached[i])
			continue;
		if (has_cable(subnet, member))
			status = fail(message,
				      "%s cannot reach %s: no cables lead from one to the other",
				      subnet->members[start].name, member->name);
		else
			status = fail(message, "%s cannot reach %s, which has no cable",
				      subnet->members[start].name, member->name);
	}
	free(reached);
	free(queue);
	return status;
}

/* ---- LIDs ------------------------------------------------------------------------------ */

/* In the order of the nodes: a switch, or each port of an adapter that has a cable. */
static int assign_lids(struct vl_subnet *subnet, char *message)
{
	uint32_t lid = 1;

	subnet->owners = calloc((size_t)subnet->port_count + 1, sizeof(*subnet->owners));
	if (!subnet->owners)
		return fail(message, "out of memory");
	for (uint32_t i = 0; i < subnet->port_count; i++) {
		struct vl_subnet_port *port = &subnet->ports[i];
		struct vl_subnet_member *member = &subnet->members[port->node];
		bool is_switch = member->switch_index != VL_SUBNET_NONE;

		if (is_switch ? port->number != 0 : port->peer == VL_SUBNET_NONE)
			continue;
		if (lid > VL_INFINIBAND_LAST_UNICAST_LID)
			return fail(message, "there are no more than %u LIDs: %s would have none",
				    VL_INFINIBAND_LAST_UNICAST_LID, member->name);
		if (is_switch)
			member->lid = (uint16_t)lid;
		else
			port->lid = (uint16_t)lid;
		subnet->owners[lid++] = i;
	}
	subnet->lid_limit = lid;
	return 0;
}

static int make_tables(struct vl_subnet *subnet, char *message)
{
	size_t entries = (size_t)subnet->switch_count * subnet->lid_limit;

	subnet->tables = malloc((entries ? entries : 1) * sizeof(*subnet->tables));
	if (!subnet->tables)
		return fail(message, "out of memory");
	memset(subnet->tables, 0xff, entries * sizeof(*subnet->tables));
	return 0;
}

static int take_lanes(struct vl_subnet *subnet, const struct vl_subnet_config *config,
		      char *message)
{
	char text[VL_SUBNET_MESSAGE_SIZE];
	const char *error;

	if (config->lanes)
		subnet->lanes = *config->lanes;
	else
		vl_subnet_lanes_default(&subnet->lanes, 1);
	error = vl_subnet_lanes_error(&subnet->lanes, text);
	return error ? fail(message, "%s", error) : 0;
}

struct vl_subnet *vl_subnet_create(const struct vl_subnet_config *config, char *message)
{
	struct vl_subnet *subnet;
	int status = check_nodes(config, message);

	if (status)
		return NULL;
	subnet = calloc(1, sizeof(*subnet));
	if (!subnet) {
		fail(message, "out of memory");
		return NULL;
	}
	subnet->routing = config->routing;
	status = take_lanes(subnet, config, message);
	if (!status)
		status = count(subnet, config, message);
	if (!status) {
		add_members(subnet, config);
		status = add_cables(subnet, config, message);
	}
	if (!status)
		status = check_connected(subnet, message);
	if (!status)
		status = assign_lids(subnet, message);
	if (!status)
		status = make_tables(subnet, message);
	if (!status)
		status = vl_subnet_route(subnet, config, message);
	if (!status)
		return subnet;
	vl_subnet_destroy(subnet);
	return NULL;
}

void vl_subnet_destroy(struct vl_subnet *subnet)
{
	if (!subnet)
		return;
	free(subnet->members);
	free(subnet->ports);
	free(subnet->switches);
	free(subnet->owners);
	free(subnet->tables);
	free(subnet);
}

/* ---- What was found -------------------------------------------------------------------- */

uint16_t vl_subnet_lid(const struct vl_subnet *subnet, uint32_t node, uint32_t port)
{
	const struct vl_subnet_member *member;

	if (node >= subnet->member_count)
		return VL_LID_NONE;
	member = &subnet->members[node];
	if (port >= member->port_count)
		return VL_LID_NONE;
	return member->switch_index != VL_SUBNET_NONE
		       ? member->lid
		       : subnet->ports[member->first_port + port].lid;
}

uint32_t vl_subnet_lid_limit(const struct vl_subnet *subnet)
{
	return subnet->lid_limit;
}

bool vl_subnet_lid_owner(const struct vl_subnet *subnet, uint32_t lid, uint32_t *node,
			 uint32_t *port)
{
	if (lid == VL_LID_NONE || lid >= subnet->lid_limit)
		return false;
	*node = subnet->ports[subnet->owners[lid]].node;
	*port = subnet->ports[subnet->owners[lid]].number;
	return true;
}

const uint16_t *vl_subnet_forwarding_table(const struct vl_subnet *subnet, uint32_t node)
{
	if (node >= subnet->member_count || subnet->members[node].switch_index == VL_SUBNET_NONE)
		return NULL;
	return subnet->tables + (size_t)subnet->members[node].switch_index * subnet->lid_limit;
}

const struct vl_subnet_lanes *vl_subnet_lanes(const struct vl_subnet *subnet)
{
	return &subnet->lanes;
}

uint32_t vl_subnet_rank(const struct vl_subnet *subnet, uint32_t node)
{
	return node < subnet->member_count ? subnet->members[node].rank : 0;
}

/* Where a node's packets to a LID leave it; VL_SUBNET_NONE: nowhere. */
static uint32_t leave_by(const struct vl_subnet *subnet, uint32_t node, uint32_t lid)
{
	const struct vl_subnet_member *member = &subnet->members[node];

	if (member->switch_index != VL_SUBNET_NONE) {
		uint16_t port = vl_subnet_entry(subnet, member->switch_index, lid);

		return port == VL_SUBNET_NO_PORT ? VL_SUBNET_NONE : member->first_port + port;
	}
	for (uint32_t i = 0; i < member->port_count; i++) {
		if (subnet->ports[member->first_port + i].peer != VL_SUBNET_NONE)
			return member->first_port + i;
	}
	return VL_SUBNET_NONE;
}

uint32_t vl_subnet_hops(const struct vl_subnet *subnet, uint32_t node, uint32_t lid)
{
	uint32_t owner, owner_port, hops = 0;

	if (node >= subnet->member_count || !vl_subnet_lid_owner(subnet, lid, &owner, &owner_port))
		return 0;
	while (node != owner) {
		uint32_t port = leave_by(subnet, node, lid);

		if (port == VL_SUBNET_NONE)
			return 0;
		node = subnet->ports[subnet->ports[port].peer].node;
		hops++;
	}
	return hops;
}

const char *vl_subnet_routing_name(enum vl_subnet_routing routing)
{
	return routing < VL_SUBNET_ROUTING_COUNT ? routing_names[routing] : "unknown";
}

bool vl_subnet_routing_parse(const char *name, enum vl_subnet_routing *routing)
{
	for (unsigned int i = 0; i < VL_SUBNET_ROUTING_COUNT; i++) {
		if (strcmp(name, routing_names[i]))
			continue;
		*routing = (enum vl_subnet_routing)i;
		return true;
	}
	return false;
}
