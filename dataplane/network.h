/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * A network in virtual time: endpoints, switches and links, joined and run by an executor. Same
 * configuration and seed, same frames at the same nanoseconds. Nodes are Ethernet's (endpoint,
 * switch) or InfiniBand's (channel adapter, InfiniBand switch); a link joins two of a kind.
 *
 * Calls that build return 0 (or a pointer) or a negative errno value (NULL); vl_network_error then
 * says in words what was wrong.
 */
#ifndef VERBLINE_DATAPLANE_NETWORK_H
#define VERBLINE_DATAPLANE_NETWORK_H

#include "dataplane/endpoint.h"
#include "dataplane/executor.h"
#include "dataplane/fabric/link.h"
#include "dataplane/fabric/switch.h"
#include "dataplane/infiniband/channel_adapter.h"
#include "dataplane/infiniband/switch.h"

#include <stdbool.h>
#include <stdint.h>

struct vl_network;
/* An endpoint or a channel adapter (with the one port 0), or a switch of either kind. */
struct vl_node;

struct vl_network_config {
	uint32_t frame_capacity; /* bytes; 0: VL_FRAME_DEFAULT_CAPACITY, enough for a path MTU of
				    4096 */
	uint32_t frame_limit;    /* most frames at a time; 0: no limit */
};

/* config may be NULL. NULL: no memory. */
struct vl_network *vl_network_create(const struct vl_network_config *config);
/* Destroys the nodes and their devices too. */
void vl_network_destroy(struct vl_network *network);
/* What the last failing call found wrong. */
const char *vl_network_error(const struct vl_network *network);

struct vl_node *vl_network_add_endpoint(struct vl_network *network,
					const struct vl_endpoint_config *config);
struct vl_node *vl_network_add_switch(struct vl_network *network, const char *name,
				      const struct vl_switch_config *config);
struct vl_node *vl_network_add_channel_adapter(struct vl_network *network,
					       const struct vl_channel_adapter_config *config);
struct vl_node *vl_network_add_infiniband_switch(struct vl_network *network, const char *name,
						 const struct vl_infiniband_switch_config *config);
/* NULL if the node is of another kind. The endpoint of a channel adapter is an endpoint too. */
struct vl_endpoint *vl_node_endpoint(const struct vl_node *node);
struct vl_switch *vl_node_switch(const struct vl_node *node);
struct vl_channel_adapter *vl_node_channel_adapter(const struct vl_node *node);
struct vl_infiniband_switch *vl_node_infiniband_switch(const struct vl_node *node);
const char *vl_node_name(const struct vl_node *node);

/* Walks the nodes in the order in which they were added: the one after node, the first after NULL;
 * NULL: no more. */
struct vl_node *vl_network_next_node(const struct vl_network *network, const struct vl_node *node);
uint32_t vl_node_port_count(const struct vl_node *node);
/* What is at the other end of the link at a port, and at which of its ports (peer_port may be
 * NULL). NULL: nothing, or no such port. */
struct vl_node *vl_node_peer(const struct vl_node *node, uint32_t port, uint32_t *peer_port);

/* Joins two ports by a link in each direction; backward NULL: as forward, with another seed. What
 * kind of link it is follows from the nodes. */
int vl_network_connect(struct vl_network *network, struct vl_node *a, uint32_t port_a,
		       struct vl_node *b, uint32_t port_b, const struct vl_link_config *forward,
		       const struct vl_link_config *backward);
/* The link that leaves a node by a port; NULL: none. */
struct vl_fabric_link *vl_network_link(const struct vl_node *node, uint32_t port);
/* Gives every Ethernet switch a route to every endpoint, by the fewest hops; where several ports
 * are equally good, each flow takes one of them (dataplane/fabric/forwarding.h). InfiniBand's are
 * the subnet manager's to set (network_subnet.h). -ENETUNREACH: a switch has no way to an
 * endpoint. */
int vl_network_route(struct vl_network *network);

struct vl_tap {
	void (*frame)(void *context, const struct vl_node *node, uint32_t port,
		      enum vl_direction direction, const struct vl_frame *frame, uint64_t now);
	void *context;
};
/* Shows every frame at a node's port, in the order of time. Several taps may sit on a port. */
int vl_network_tap(struct vl_network *network, struct vl_node *node, uint32_t port,
		   const struct vl_tap *tap);

struct vl_executor *vl_network_executor(struct vl_network *network);
struct vl_frame_pool *vl_network_frame_pool(struct vl_network *network);
static inline uint64_t vl_network_now(struct vl_network *network)
{
	return vl_executor_now(vl_network_executor(network));
}
/* After verbs were called on an endpoint's device from outside its application (work posted):
 * lets the endpoint act on it at the present time. */
void vl_network_wake(struct vl_network *network, struct vl_node *endpoint);
/* All endpoints are woken first. False if vl_executor_stop was called. */
bool vl_network_run_until(struct vl_network *network, uint64_t until);

#endif
