/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The links between the nodes of a live network, and the ways over them. */

#include "dataplane/runtime/compat.h"
#include "dataplane/runtime/live_carrier.h"
#include "dataplane/runtime/live_network.h"
#include "dataplane/runtime/live_node.h"

#include <rte_errno.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

int vl_live_check_port(const struct vl_live_node *node, uint32_t port, struct vl_error *error)
{
	if (port >= node->port_count)
		return vl_error_set(error, -EINVAL, "%s has no port %u: it has %u", node->name,
				    port, node->port_count);
	if (node->worker == VL_LIVE_ELSEWHERE)
		return vl_error_set(error, -EINVAL, "%s is elsewhere: it has no links here",
				    node->name);
	if (node->ports[port].peer || node->ports[port].carrier)
		return vl_error_set(error, -EBUSY, "port %u of %s is connected already", port,
				    node->name);
	return 0;
}

static void set_rate(struct live_port *port, const struct vl_link_config *config)
{
	struct vl_live_node *node = port->node;

	if (node->sw)
		vl_switch_set_port_rate(node->sw, port->number, config->rate);
	if (node->infiniband_switch)
		vl_infiniband_switch_set_port_rate(node->infiniband_switch, port->number,
						   config->rate);
	if (node->adapter)
		vl_channel_adapter_set_rate(node->adapter, config->rate);
}

void vl_live_check_vcrc(struct live_port *port)
{
	if (port->node->adapter)
		vl_channel_adapter_check_vcrc(port->node->adapter);
	if (port->node->infiniband_switch)
		vl_infiniband_switch_check_vcrc(port->node->infiniband_switch, port->number);
}

int vl_live_make_link(struct vl_live_network *network, struct live_port *port,
		      unsigned int peer_worker, bool delivers_head,
		      const struct vl_link_config *config, struct vl_error *error)
{
	static unsigned int made;
	/* Links made from one configuration must not lose the same frames. */
	struct vl_random random = {config->seed + network->link_count++};
	struct vl_link_config filled = *config;
	char name[RTE_RING_NAMESIZE];

	filled.seed = vl_random_next(&random);
	filled.delivers_head = delivers_head;
	filled.type = vl_live_is_infiniband(port->node) ? VL_LINK_INFINIBAND : VL_LINK_ETHERNET;
	if (!filled.slack)
		filled.slack = VL_LIVE_SLACK_NS;
	if (vl_fabric_link_init(&port->link, &filled))
		return vl_error_set(
			error, -EINVAL,
			"the link at port %u of %s: the rate must be 1 Mb/s to 4 Tb/s, the "
			"MTU 60 to 65535 bytes, and each probability 0 to 1",
			port->number, port->node->name);
	set_rate(port, config);
	if (port->node->worker == peer_worker)
		return 0;
	snprintf(name, sizeof(name), "live-link%u", made++);
	port->ring = rte_ring_create(name, network->config.ring_size, SOCKET_ID_ANY,
				     RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ);
	if (!port->ring)
		return vl_error_set(error, -ENOMEM, "the link at port %u of %s: no ring: %s",
				    port->number, port->node->name, rte_strerror(rte_errno));
	return 0;
}

static bool cuts_through(const struct vl_live_node *node)
{
	return node->sw && node->sw->config.cut_through;
}

static int make_links(struct vl_live_network *network, struct live_port *a, struct live_port *b,
		      const struct vl_link_config *forward, const struct vl_link_config *backward,
		      struct vl_error *error)
{
	int result = vl_live_make_link(network, a, b->node->worker, cuts_through(b->node), forward,
				       error);

	if (result)
		return result;
	result = vl_live_make_link(network, b, a->node->worker, cuts_through(a->node),
				   backward ? backward : forward, error);
	if (result) {
		rte_ring_free(a->ring);
		a->ring = NULL;
		return result;
	}
	a->peer = b;
	b->peer = a;
	if (a->link.impaired)
		vl_live_check_vcrc(b);
	if (b->link.impaired)
		vl_live_check_vcrc(a);
	return 0;
}

int vl_live_network_connect(struct vl_live_network *network, struct vl_live_node *a,
			    uint32_t port_a, struct vl_live_node *b, uint32_t port_b,
			    const struct vl_link_config *forward,
			    const struct vl_link_config *backward, struct vl_error *error)
{
	int result = vl_live_check_port(a, port_a, error);

	if (!result)
		result = vl_live_check_port(b, port_b, error);
	if (result)
		return result;
	if (a == b && port_a == port_b)
		return vl_error_set(error, -EINVAL, "port %u of %s is connected to itself", port_a,
				    a->name);
	if (vl_live_is_infiniband(a) != vl_live_is_infiniband(b))
		return vl_error_set(error, -EINVAL,
				    "%s and %s cannot be connected: one is Ethernet, the other "
				    "InfiniBand",
				    a->name, b->name);
	return make_links(network, &a->ports[port_a], &b->ports[port_b], forward, backward, error);
}

void vl_live_network_set_tap(struct vl_live_node *node, uint32_t port,
			     const struct vl_frame_tap *tap)
{
	node->ports[port].tap = tap ? *tap : (struct vl_frame_tap){0};
}

struct vl_fabric_link *vl_live_network_link(const struct vl_live_node *node, uint32_t port)
{
	if (port >= node->port_count || (!node->ports[port].peer && !node->ports[port].carrier))
		return NULL;
	return &node->ports[port].link;
}
