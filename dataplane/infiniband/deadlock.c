/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * The graph of channel dependencies (Dally and Seitz 1987): its nodes are the links between
 * switches in the direction of packets, and one depends on another where some packet between two
 * adapters leaves a switch by the other after it came by the one. Without a cycle there is no
 * deadlock; with one, there is load that closes it.
 */
#include "dataplane/infiniband/subnet_private.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BITS 64u

struct channel {
	uint32_t port;      /* index of the port that it leaves */
	uint32_t head;      /* switch that it leads to */
	uint32_t next;      /* where its bits start in next_ports, one for each port of head */
	uint32_t visit;     /* ports of head that the search has gone by */
	uint32_t came_from; /* channel, in the search */
	bool seen, on_path;
};

struct dependencies {
	const struct vl_subnet *subnet;
	struct channel *channels;
	uint32_t count;
	uint32_t *channel_of; /* by port; VL_SUBNET_NONE: leads to no switch */
	uint64_t *next_ports;
	bool *visited; /* by switch index: packets to the present LID come by here */
	uint32_t *stack;
};

static uint32_t words_of(const struct vl_subnet_member *sw)
{
	return (sw->port_count + BITS - 1) / BITS;
}

static void release(struct dependencies *graph)
{
	free(graph->channels);
	free(graph->channel_of);
	free(graph->next_ports);
	free(graph->visited);
	free(graph->stack);
}

static int allocate(struct dependencies *graph)
{
	const struct vl_subnet *subnet = graph->subnet;
	size_t words = 0;

	graph->channels = calloc((size_t)subnet->port_count + 1, sizeof(*graph->channels));
	graph->channel_of = malloc(((size_t)subnet->port_count + 1) * sizeof(*graph->channel_of));
	graph->visited = calloc((size_t)subnet->switch_count + 1, sizeof(*graph->visited));
	graph->stack = calloc((size_t)subnet->port_count + 1, sizeof(*graph->stack));
	if (!graph->channels || !graph->channel_of || !graph->visited || !graph->stack)
		return -ENOMEM;
	for (uint32_t i = 0; i < subnet->port_count; i++) {
		uint32_t node = subnet->ports[i].node, head;

		graph->channel_of[i] = VL_SUBNET_NONE;
		if (subnet->members[node].switch_index == VL_SUBNET_NONE)
			continue;
		head = vl_subnet_neighbour(subnet, i);
		if (head == VL_SUBNET_NONE)
			continue;
		graph->channel_of[i] = graph->count;
		graph->channels[graph->count++] =
			(struct channel){.port = i, .head = head, .next = (uint32_t)words};
		words += words_of(vl_subnet_switch(subnet, head));
	}
	graph->next_ports = calloc(words + 1, sizeof(*graph->next_ports));
	return graph->next_ports ? 0 : -ENOMEM;
}

/* The port by which packets to the LID leave a switch, of those that there is; VL_SUBNET_NONE. */
static uint32_t leave_by(const struct vl_subnet *subnet, uint32_t index, uint32_t lid)
{
	uint16_t port = vl_subnet_entry(subnet, index, lid);

	return port == VL_SUBNET_NO_PORT ? VL_SUBNET_NONE
					 : vl_subnet_switch(subnet, index)->first_port + port;
}

/* Whether adapters other than the one with the LID send from this switch. */
static bool has_sender(const struct vl_subnet *subnet, uint32_t index, uint32_t lid)
{
	const struct vl_subnet_member *sw = vl_subnet_switch(subnet, index);

	if (!sw->has_adapter)
		return false;
	for (uint32_t i = 0; i < sw->port_count; i++) {
		uint32_t peer = subnet->ports[sw->first_port + i].peer;

		if (peer != VL_SUBNET_NONE && subnet->ports[peer].lid &&
		    subnet->ports[peer].node != subnet->ports[subnet->owners[lid]].node)
			return true;
	}
	return false;
}

/* Marks the switches that packets from adapters to the LID come by. */
static void mark_ways(struct dependencies *graph, uint32_t lid)
{
	const struct vl_subnet *subnet = graph->subnet;

	memset(graph->visited, 0, subnet->switch_count * sizeof(*graph->visited));
	for (uint32_t start = 0; start < subnet->switch_count; start++) {
		uint32_t index = start;

		if (!has_sender(subnet, start, lid))
			continue;
		while (index != VL_SUBNET_NONE && !graph->visited[index]) {
			uint32_t port = leave_by(subnet, index, lid);

			graph->visited[index] = true;
			index = port == VL_SUBNET_NONE ? VL_SUBNET_NONE
						       : vl_subnet_neighbour(subnet, port);
		}
	}
}

static bool is_adapters_lid(const struct vl_subnet *subnet, uint32_t lid)
{
	return subnet->ports[subnet->owners[lid]].lid == lid;
}

static void add_dependencies(struct dependencies *graph, uint32_t lid)
{
	const struct vl_subnet *subnet = graph->subnet;

	mark_ways(graph, lid);
	for (uint32_t i = 0; i < subnet->switch_count; i++) {
		uint32_t port = graph->visited[i] ? leave_by(subnet, i, lid) : VL_SUBNET_NONE;
		const struct channel *channel;
		uint16_t next;

		if (port == VL_SUBNET_NONE || graph->channel_of[port] == VL_SUBNET_NONE)
			continue;
		channel = &graph->channels[graph->channel_of[port]];
		next = vl_subnet_entry(subnet, channel->head, lid);
		if (next != VL_SUBNET_NO_PORT)
			graph->next_ports[channel->next + next / BITS] |= UINT64_C(1)
									  << next % BITS;
	}
}

static int make_graph(struct dependencies *graph, const struct vl_subnet *subnet)
{
	*graph = (struct dependencies){.subnet = subnet};
	if (allocate(graph)) {
		release(graph);
		return -ENOMEM;
	}
	for (uint32_t lid = 1; lid < subnet->lid_limit; lid++) {
		if (is_adapters_lid(subnet, lid))
			add_dependencies(graph, lid);
	}
	return 0;
}

/* The next channel after one that its search has not gone by; VL_SUBNET_NONE: none is left. */
static uint32_t next_dependency(const struct dependencies *graph, struct channel *channel)
{
	const struct vl_subnet_member *head = vl_subnet_switch(graph->subnet, channel->head);

	while (channel->visit < head->port_count) {
		uint32_t port = channel->visit++, next;

		if (!(graph->next_ports[channel->next + port / BITS] >> port % BITS & 1))
			continue;
		next = graph->channel_of[head->first_port + port];
		if (next != VL_SUBNET_NONE)
			return next;
	}
	return VL_SUBNET_NONE;
}

/* Depth first, without recursion. A channel on a cycle, or VL_SUBNET_NONE. */
static uint32_t find_cycle(struct dependencies *graph)
{
	for (uint32_t start = 0; start < graph->count; start++) {
		uint32_t depth = 0;

		if (graph->channels[start].seen)
			continue;
		graph->channels[start].seen = graph->channels[start].on_path = true;
		graph->stack[depth++] = start;
		while (depth) {
			struct channel *channel = &graph->channels[graph->stack[depth - 1]];
			uint32_t next = next_dependency(graph, channel);

			if (next == VL_SUBNET_NONE) {
				channel->on_path = false;
				depth--;
			} else if (graph->channels[next].on_path) {
				return next;
			} else if (!graph->channels[next].seen) {
				graph->channels[next].seen = graph->channels[next].on_path = true;
				graph->stack[depth++] = next;
			}
		}
	}
	return VL_SUBNET_NONE;
}

/* The shortest cycle by a channel that is on one. Fills the stack in the order of waiting, and
 * returns the length. */
static uint32_t shorten_cycle(struct dependencies *graph, uint32_t start)
{
	uint32_t taken = 0, queued = 1, length = 0, at;

	for (uint32_t i = 0; i < graph->count; i++) {
		graph->channels[i].visit = 0;
		graph->channels[i].seen = false;
	}
	for (graph->stack[0] = start; taken < queued; taken++) {
		uint32_t from = graph->stack[taken], next;

		while ((next = next_dependency(graph, &graph->channels[from])) != VL_SUBNET_NONE) {
			if (graph->channels[next].seen)
				continue;
			graph->channels[next].seen = true;
			graph->channels[next].came_from = from;
			if (next == start) {
				taken = queued;
				break;
			}
			graph->stack[queued++] = next;
		}
	}
	for (at = graph->channels[start].came_from; at != start; at = graph->channels[at].came_from)
		length++;
	at = start;
	for (uint32_t place = length + 1; place > 0; place--) {
		at = graph->channels[at].came_from;
		graph->stack[place - 1] = at;
	}
	return length + 1;
}

/* For each channel of the cycle, a LID whose packets wait in it for the next. */
static void find_witnesses(struct dependencies *graph, struct vl_subnet_channel *cycle,
			   uint32_t length)
{
	const struct vl_subnet *subnet = graph->subnet;

	for (uint32_t lid = 1; lid < subnet->lid_limit; lid++) {
		if (!is_adapters_lid(subnet, lid))
			continue;
		mark_ways(graph, lid);
		for (uint32_t i = 0; i < length; i++) {
			const struct vl_subnet_channel *next = &cycle[(i + 1) % length];
			uint32_t from = subnet->members[cycle[i].node].switch_index;
			uint32_t to = subnet->members[next->node].switch_index;

			if (!cycle[i].witness && graph->visited[from] &&
			    vl_subnet_entry(subnet, from, lid) == cycle[i].port &&
			    vl_subnet_entry(subnet, to, lid) == next->port)
				cycle[i].witness = (uint16_t)lid;
		}
	}
}

/* The cycle as the caller's memory, to be freed. Its length, 0, or a negative errno value. */
static int look_for_cycle(const struct vl_subnet *subnet, struct vl_subnet_channel **cycle)
{
	struct dependencies graph;
	uint32_t start, length;

	*cycle = NULL;
	if (make_graph(&graph, subnet))
		return -ENOMEM;
	start = find_cycle(&graph);
	if (start == VL_SUBNET_NONE) {
		release(&graph);
		return 0;
	}
	length = shorten_cycle(&graph, start);
	*cycle = calloc(length, sizeof(**cycle));
	if (*cycle) {
		for (uint32_t i = 0; i < length; i++) {
			uint32_t port = graph.channels[graph.stack[i]].port;

			(*cycle)[i].node = subnet->ports[port].node;
			(*cycle)[i].port = subnet->ports[port].number;
		}
		find_witnesses(&graph, *cycle, length);
	}
	release(&graph);
	return *cycle ? (int)length : -ENOMEM;
}

int vl_subnet_find_deadlock(const struct vl_subnet *subnet, struct vl_subnet_channel *channels,
			    uint32_t limit)
{
	struct vl_subnet_channel *cycle;
	int length = look_for_cycle(subnet, &cycle);

	for (int i = 0; i < length && (uint32_t)i < limit; i++)
		channels[i] = cycle[i];
	free(cycle);
	return length;
}

__attribute__((format(printf, 3, 4))) static char *append(char *text, char *end, const char *format,
							  ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(text, (size_t)(end - text), format, arguments);
	va_end(arguments);
	return length < 0 ? text : length >= end - text ? end - 1 : text + length;
}

bool vl_subnet_describe_deadlock(const struct vl_subnet *subnet, char *text, size_t size)
{
	struct vl_subnet_channel *cycle;
	int length = look_for_cycle(subnet, &cycle);
	char *end = text + size;

	if (!size) {
		free(cycle);
		return length > 0;
	}
	text[0] = 0;
	if (length < 0)
		append(text, end, "out of memory");
	if (length <= 0)
		return false;
	text = append(text, end, "%s can deadlock: ", vl_subnet_routing_name(subnet->routing));
	for (int i = 0; i < length; i++)
		text = append(text, end, "%s -> ", subnet->members[cycle[i].node].name);
	text = append(text, end, "%s wait for each other's buffers (with packets to",
		      subnet->members[cycle[0].node].name);
	for (int i = 0; i < length; i++) {
		uint32_t port = subnet->owners[cycle[i].witness];

		text = append(text, end, "%s %s", i ? "," : "",
			      subnet->members[subnet->ports[port].node].name);
	}
	append(text, end, "); use up_down");
	free(cycle);
	return true;
}
