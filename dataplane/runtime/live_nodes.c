/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The nodes of a live network. */

#include "dataplane/runtime/live_network.h"
#include "dataplane/runtime/live_node.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static void release_port(struct live_port *port)
{
	struct vl_frame *frame;

	while (port->ring && !rte_ring_sc_dequeue(port->ring, (void **)&frame))
		vl_frame_free(frame);
	rte_ring_free(port->ring);
	if (port->held)
		vl_frame_free(port->held);
	free(port->carrier);
	vl_fabric_link_clear(&port->link);
}

void vl_live_node_destroy(struct vl_live_node *node)
{
	while (node->timers) {
		struct vl_live_timer *timer = node->timers;

		node->timers = timer->next;
		free(timer);
	}
	for (uint32_t i = 0; i < node->port_count; i++)
		release_port(&node->ports[i]);
	if (!node->adapter)
		vl_endpoint_destroy(node->endpoint);
	vl_channel_adapter_destroy(node->adapter);
	vl_switch_destroy(node->sw);
	vl_infiniband_switch_destroy(node->infiniband_switch);
	free(node->ports);
	free(node);
}

static struct vl_live_node *make_node(struct vl_live_network *network, unsigned int worker,
				      const char *name, uint32_t ports, struct vl_error *error)
{
	struct vl_live_node *node;

	if (worker >= network->config.worker_count && worker != VL_LIVE_ELSEWHERE) {
		vl_error_set(error, -EINVAL, "%s: no worker %u: the network has %u", name, worker,
			     network->config.worker_count);
		return NULL;
	}
	node = calloc(1, sizeof(*node));
	if (node)
		node->ports = calloc(ports, sizeof(*node->ports));
	if (!node || !node->ports) {
		vl_error_set(error, -ENOMEM, "%s: no memory", name);
		free(node);
		return NULL;
	}
	node->network = network;
	node->worker = worker;
	node->port_count = ports;
	snprintf(node->name, sizeof(node->name), "%s", name);
	for (uint32_t i = 0; i < ports; i++) {
		node->ports[i].node = node;
		node->ports[i].number = i;
	}
	return node;
}

/* What is elsewhere takes no frames. */
static struct vl_frame_pool *pool_of(struct vl_live_network *network, unsigned int worker)
{
	return &network->parts[worker == VL_LIVE_ELSEWHERE ? 0 : worker].pool.pool;
}

static void add_node(struct vl_live_network *network, struct vl_live_node *node)
{
	*network->last = node;
	network->last = &node->next;
	network->node_count++;
}

struct vl_live_node *vl_live_network_add_endpoint(struct vl_live_network *network,
						  unsigned int worker,
						  const struct vl_endpoint_config *config,
						  struct vl_error *error)
{
	const char *name = config->name ? config->name : "endpoint";
	struct vl_live_node *node = make_node(network, worker, name, 1, error);
	int result = 0;

	if (!node)
		return NULL;
	node->endpoint = vl_endpoint_create(config, &result);
	if (!node->endpoint) {
		vl_error_set(error, result, "endpoint %s: %s", name,
			     result == -ENOMEM
				     ? "no memory"
				     : "its rate or its device's configuration is out of range");
		vl_live_node_destroy(node);
		return NULL;
	}
	add_node(network, node);
	return node;
}

struct vl_live_node *vl_live_network_add_switch(struct vl_live_network *network,
						unsigned int worker, const char *name,
						const struct vl_switch_config *config,
						struct vl_error *error)
{
	const char *refusal = vl_switch_config_error(config);
	struct vl_live_node *node;

	if (refusal) {
		vl_error_set(error, -EINVAL, "switch %s: %s", name, refusal);
		return NULL;
	}
	node = make_node(network, worker, name, config->ports, error);
	if (!node)
		return NULL;
	node->sw = vl_switch_create(config, pool_of(network, worker), NULL);
	if (!node->sw) {
		vl_error_set(error, -ENOMEM, "switch %s: no memory", name);
		vl_live_node_destroy(node);
		return NULL;
	}
	add_node(network, node);
	return node;
}

struct vl_live_node *vl_live_network_add_channel_adapter(
	struct vl_live_network *network, unsigned int worker,
	const struct vl_channel_adapter_config *config, struct vl_error *error)
{
	const char *name = config->endpoint.name ? config->endpoint.name : "channel adapter";
	const char *refusal = vl_channel_adapter_config_error(config);
	struct vl_live_node *node;
	int result = 0;

	if (refusal) {
		vl_error_set(error, -EINVAL, "channel adapter %s: %s", name, refusal);
		return NULL;
	}
	node = make_node(network, worker, name, 1, error);
	if (!node)
		return NULL;
	node->adapter = vl_channel_adapter_create(config, pool_of(network, worker), &result);
	if (!node->adapter) {
		vl_error_set(error, result, "channel adapter %s: %s", name,
			     result == -ENOMEM
				     ? "no memory"
				     : "its rate or its device's configuration is out of range");
		vl_live_node_destroy(node);
		return NULL;
	}
	node->endpoint = vl_channel_adapter_endpoint(node->adapter);
	add_node(network, node);
	return node;
}

struct vl_live_node *vl_live_network_add_infiniband_switch(
	struct vl_live_network *network, unsigned int worker, const char *name,
	const struct vl_infiniband_switch_config *config, struct vl_error *error)
{
	const char *refusal = vl_infiniband_switch_config_error(config);
	struct vl_live_node *node;
	int result = 0;

	if (refusal) {
		vl_error_set(error, -EINVAL, "switch %s: %s", name, refusal);
		return NULL;
	}
	node = make_node(network, worker, name, config->ports, error);
	if (!node)
		return NULL;
	node->infiniband_switch =
		vl_infiniband_switch_create(config, pool_of(network, worker), &result);
	if (!node->infiniband_switch) {
		vl_error_set(error, result, "switch %s: no memory", name);
		vl_live_node_destroy(node);
		return NULL;
	}
	add_node(network, node);
	return node;
}

struct vl_channel_adapter *vl_live_node_channel_adapter(const struct vl_live_node *node)
{
	return node->adapter;
}

struct vl_infiniband_switch *vl_live_node_infiniband_switch(const struct vl_live_node *node)
{
	return node->infiniband_switch;
}

struct vl_endpoint *vl_live_node_endpoint(const struct vl_live_node *node)
{
	return node->endpoint;
}

struct vl_switch *vl_live_node_switch(const struct vl_live_node *node)
{
	return node->sw;
}

unsigned int vl_live_node_worker(const struct vl_live_node *node)
{
	return node->worker;
}

int vl_live_network_add_timer(struct vl_live_node *node, const struct vl_live_timer *timer,
			      struct vl_error *error)
{
	struct vl_live_timer *added;

	if (!node->endpoint)
		return vl_error_set(error, -EINVAL, "%s: only endpoints have timers", node->name);
	added = malloc(sizeof(*added));
	if (!added)
		return vl_error_set(error, -ENOMEM, "%s: no memory", node->name);
	*added = *timer;
	added->next = node->timers;
	node->timers = added;
	return 0;
}
