/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Building a network. */

#include "dataplane/network.h"

#include "dataplane/network_private.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int vl_network_fail(struct vl_network *network, int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(network->error, sizeof(network->error), format, arguments);
	va_end(arguments);
	return error;
}

struct vl_network *vl_network_create(const struct vl_network_config *config)
{
	struct vl_network *network = calloc(1, sizeof(*network));
	uint32_t capacity = config ? config->frame_capacity : 0;

	if (!network)
		return NULL;
	network->executor = vl_executor_create();
	if (!network->executor) {
		free(network);
		return NULL;
	}
	if (capacity && capacity < VL_MAX_HEADER_LENGTH)
		capacity = VL_MAX_HEADER_LENGTH;
	vl_memory_frame_pool_init(&network->pool, capacity, config ? config->frame_limit : 0);
	network->last = &network->first;
	return network;
}

void vl_network_destroy_node(struct vl_node *node)
{
	for (uint32_t i = 0; i < node->port_count; i++) {
		struct vl_network_tap *tap = node->ports[i].taps;

		vl_fabric_link_clear(&node->ports[i].link);
		while (tap) {
			struct vl_network_tap *next = tap->next;

			free(tap);
			tap = next;
		}
	}
	if (node->kind == VL_NODE_ENDPOINT)
		vl_endpoint_destroy(node->endpoint);
	vl_switch_destroy(node->sw);
	vl_channel_adapter_destroy(node->adapter);
	vl_infiniband_switch_destroy(node->infiniband_switch);
	free(node->ports);
	free(node);
}

void vl_network_destroy(struct vl_network *network)
{
	struct vl_node *node;

	if (!network)
		return;
	node = network->first;
	while (node) {
		struct vl_node *next = node->next;

		vl_network_destroy_node(node);
		node = next;
	}
	vl_memory_frame_pool_release(&network->pool);
	vl_executor_destroy(network->executor);
	free(network);
}

const char *vl_network_error(const struct vl_network *network)
{
	return network->error;
}

struct vl_node *vl_network_make_node(struct vl_network *network, enum vl_node_kind kind,
				     const char *name, uint32_t ports)
{
	struct vl_node *node = calloc(1, sizeof(*node));

	if (node)
		node->ports = aligned_alloc(64, ports * sizeof(*node->ports));
	if (!node || !node->ports || vl_executor_reserve(network->executor, 2 * ports)) {
		vl_network_fail(network, -ENOMEM, "no memory for node %s", name);
		if (node)
			free(node->ports);
		free(node);
		return NULL;
	}
	memset(node->ports, 0, ports * sizeof(*node->ports));
	node->network = network;
	node->kind = kind;
	node->port_count = ports;
	snprintf(node->name, sizeof(node->name), "%s", name);
	for (uint32_t i = 0; i < ports; i++) {
		node->ports[i].node = node;
		node->ports[i].number = i;
		vl_event_init(&node->ports[i].transmit, vl_network_run_transmit);
		vl_event_init(&node->ports[i].arrive, vl_network_run_arrive);
		node->ports[i].transmit.prefetch = vl_network_prefetch_transmit;
		node->ports[i].arrive.prefetch = vl_network_prefetch_arrive;
	}
	return node;
}

void vl_network_add_node(struct vl_network *network, struct vl_node *node)
{
	*network->last = node;
	network->last = &node->next;
	network->node_count++;
}

struct vl_node *vl_network_add_endpoint(struct vl_network *network,
					const struct vl_endpoint_config *config)
{
	const char *name = config->name ? config->name : "endpoint";
	struct vl_node *node = vl_network_make_node(network, VL_NODE_ENDPOINT, name, 1);
	int error = 0;

	if (!node)
		return NULL;
	node->endpoint = vl_endpoint_create(config, &error);
	if (!node->endpoint) {
		vl_network_fail(network, error, "endpoint %s: %s", name,
				error == -ENOMEM
					? "no memory"
					: "its rate or its device's configuration is out of range");
		vl_network_destroy_node(node);
		return NULL;
	}
	vl_network_add_node(network, node);
	return node;
}

struct vl_node *vl_network_add_switch(struct vl_network *network, const char *name,
				      const struct vl_switch_config *config)
{
	const char *error = vl_switch_config_error(config);
	struct vl_node *node;

	if (error) {
		vl_network_fail(network, -EINVAL, "switch %s: %s", name, error);
		return NULL;
	}
	node = vl_network_make_node(network, VL_NODE_SWITCH, name, config->ports);
	if (!node)
		return NULL;
	node->sw = vl_switch_create(config, &network->pool.pool, NULL);
	if (!node->sw) {
		vl_network_fail(network, -ENOMEM, "no memory for switch %s", name);
		vl_network_destroy_node(node);
		return NULL;
	}
	vl_network_add_node(network, node);
	return node;
}

struct vl_endpoint *vl_node_endpoint(const struct vl_node *node)
{
	return node->endpoint;
}

struct vl_switch *vl_node_switch(const struct vl_node *node)
{
	return node->sw;
}

struct vl_channel_adapter *vl_node_channel_adapter(const struct vl_node *node)
{
	return node->adapter;
}

struct vl_infiniband_switch *vl_node_infiniband_switch(const struct vl_node *node)
{
	return node->infiniband_switch;
}

const char *vl_node_name(const struct vl_node *node)
{
	return node->name;
}

struct vl_node *vl_network_next_node(const struct vl_network *network, const struct vl_node *node)
{
	return node ? node->next : network->first;
}

uint32_t vl_node_port_count(const struct vl_node *node)
{
	return node->port_count;
}

struct vl_node *vl_node_peer(const struct vl_node *node, uint32_t port, uint32_t *peer_port)
{
	if (port >= node->port_count || !node->ports[port].is_connected)
		return NULL;
	if (peer_port)
		*peer_port = node->ports[port].peer->number;
	return node->ports[port].peer->node;
}

static int check_port(struct vl_network *network, const struct vl_node *node, uint32_t port)
{
	if (port >= node->port_count)
		return vl_network_fail(network, -EINVAL, "%s has no port %u: it has %u", node->name,
				       port, node->port_count);
	if (node->ports[port].is_connected)
		return vl_network_fail(network, -EBUSY, "port %u of %s is connected already", port,
				       node->name);
	return 0;
}

/* Links made from one configuration must not lose the same frames. */
static int init_link(struct vl_network *network, struct vl_network_port *port,
		     const struct vl_node *peer, const struct vl_link_config *config)
{
	struct vl_random random = {config->seed + network->link_count++};
	struct vl_link_config seeded = *config;

	seeded.seed = vl_random_next(&random);
	seeded.delivers_head = peer->sw && peer->sw->config.cut_through;
	seeded.type = vl_node_is_infiniband(port->node) ? VL_LINK_INFINIBAND : VL_LINK_ETHERNET;
	if (vl_fabric_link_init(&port->link, &seeded))
		return vl_network_fail(
			network, -EINVAL,
			"the link at port %u of %s: the rate must be 1 Mb/s to 4 Tb/s, the MTU 60 "
			"to 65535 bytes, and each probability 0 to 1",
			port->number, port->node->name);
	if (port->node->sw)
		vl_switch_set_port_rate(port->node->sw, port->number, config->rate);
	if (port->node->adapter)
		vl_channel_adapter_set_rate(port->node->adapter, config->rate);
	if (port->node->infiniband_switch)
		vl_infiniband_switch_set_port_rate(port->node->infiniband_switch, port->number,
						   config->rate);
	return 0;
}

int vl_network_connect(struct vl_network *network, struct vl_node *a, uint32_t port_a,
		       struct vl_node *b, uint32_t port_b, const struct vl_link_config *forward,
		       const struct vl_link_config *backward)
{
	int error = check_port(network, a, port_a);

	if (!error)
		error = check_port(network, b, port_b);
	if (!error && a == b && port_a == port_b)
		error = vl_network_fail(network, -EINVAL, "port %u of %s is connected to itself",
					port_a, a->name);
	if (!error && vl_node_is_infiniband(a) != vl_node_is_infiniband(b))
		error = vl_network_fail(network, -EINVAL,
					"%s and %s cannot be connected: one is Ethernet, the other "
					"InfiniBand",
					a->name, b->name);
	if (!error)
		error = init_link(network, &a->ports[port_a], b, forward);
	if (!error)
		error = init_link(network, &b->ports[port_b], a, backward ? backward : forward);
	if (error)
		return error;
	a->ports[port_a].peer = &b->ports[port_b];
	b->ports[port_b].peer = &a->ports[port_a];
	a->ports[port_a].is_connected = true;
	b->ports[port_b].is_connected = true;
	/* The ends of an InfiniBand link tell each other their credits before all else. */
	if (vl_node_is_infiniband(a)) {
		vl_network_start_port(&a->ports[port_a]);
		vl_network_start_port(&b->ports[port_b]);
	}
	return 0;
}

struct vl_fabric_link *vl_network_link(const struct vl_node *node, uint32_t port)
{
	if (port >= node->port_count || !node->ports[port].is_connected)
		return NULL;
	return &node->ports[port].link;
}

int vl_network_tap(struct vl_network *network, struct vl_node *node, uint32_t port,
		   const struct vl_tap *tap)
{
	struct vl_network_tap *entry, **end;

	if (port >= node->port_count)
		return vl_network_fail(network, -EINVAL, "%s has no port %u: it has %u", node->name,
				       port, node->port_count);
	entry = malloc(sizeof(*entry));
	if (!entry)
		return vl_network_fail(network, -ENOMEM, "no memory for a tap");
	*entry = (struct vl_network_tap){.tap = *tap};
	for (end = &node->ports[port].taps; *end; end = &(*end)->next)
		;
	*end = entry;
	return 0;
}

struct vl_executor *vl_network_executor(struct vl_network *network)
{
	return network->executor;
}

struct vl_frame_pool *vl_network_frame_pool(struct vl_network *network)
{
	return &network->pool.pool;
}
