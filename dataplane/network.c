/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/network.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tap {
	struct vl_tap tap;
	struct tap *next;
};

/* A port and the link that leaves it. */
struct port {
	struct vl_node *node;
	uint32_t number;
	bool is_connected;
	struct port *peer;
	struct vl_fabric_link link;
	struct vl_event transmit;            /* the line is free, or a deadline has come */
	struct vl_event arrive;              /* the first frame in flight has arrived at the peer */
	uint64_t transmit_time, arrive_time; /* of the events while they are pending */
	struct tap *taps;
};

struct vl_node {
	struct vl_network *network;
	struct vl_node *next;
	char name[32];
	struct vl_endpoint *endpoint; /* or */
	struct vl_switch *sw;
	uint32_t port_count;
	struct port *ports;
	bool visited; /* by vl_network_route */
};

struct vl_network {
	struct vl_executor *executor;
	struct vl_memory_frame_pool pool;
	struct vl_node *first, **last;
	uint32_t node_count, link_count;
	char error[192];
};

/* ---- Running --------------------------------------------------------------------------- */

static void show(struct port *port, enum vl_direction direction, const struct vl_frame *frame,
		 uint64_t now)
{
	for (struct tap *tap = port->taps; tap; tap = tap->next)
		tap->tap.frame(tap->tap.context, port->node, port->number, direction, frame, now);
}

static void schedule_transmit(struct port *port, uint64_t time)
{
	if (vl_event_is_pending(&port->transmit) && port->transmit_time == time)
		return;
	port->transmit_time = time;
	if (time == UINT64_MAX)
		vl_executor_cancel(port->node->network->executor, &port->transmit);
	else
		vl_executor_schedule(port->node->network->executor, &port->transmit, time);
}

static void schedule_arrival(struct port *port)
{
	uint64_t time = vl_fabric_link_next_arrival(&port->link);

	if (time == UINT64_MAX || (vl_event_is_pending(&port->arrive) && port->arrive_time == time))
		return;
	port->arrive_time = time;
	vl_executor_schedule(port->node->network->executor, &port->arrive, time);
}

static void send(struct port *port, struct vl_frame *frame, uint64_t now)
{
	if (port->taps)
		show(port, VL_DIRECTION_TRANSMITTED, frame, now);
	vl_fabric_link_send(&port->link, frame, now);
	schedule_arrival(port);
}

static inline uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* When to come back to an endpoint: for what it sends not before the line is free, for its
 * application at its deadline. */
static uint64_t endpoint_wake_time(const struct vl_endpoint *endpoint, uint64_t free_at,
				   uint64_t now)
{
	uint64_t time = later(free_at, vl_endpoint_next_deadline(endpoint));

	if (endpoint->application.next_deadline && free_at > now + 1) {
		uint64_t deadline =
			endpoint->application.next_deadline(endpoint->application.context);

		if (deadline > now && deadline < time)
			time = deadline;
	}
	return time;
}

static void step_endpoint(struct port *port, uint64_t now)
{
	struct vl_endpoint *endpoint = port->node->endpoint;
	uint64_t free_at;

	vl_endpoint_poll(endpoint, now);
	free_at = vl_fabric_link_free_at(&port->link);
	if (free_at <= now) {
		struct vl_frame *frame = vl_frame_get(&port->node->network->pool.pool);

		free_at = now + 1;
		if (frame && vl_endpoint_transmit(endpoint, now, frame)) {
			send(port, frame, now);
			free_at = vl_fabric_link_free_at(&port->link);
		} else if (frame) {
			vl_frame_free(frame);
		}
		/* What was due may have completed work without sending anything. */
		vl_endpoint_poll(endpoint, now);
	}
	schedule_transmit(port, endpoint_wake_time(endpoint, free_at, now));
}

static void step_switch_port(struct port *port, uint64_t now)
{
	struct vl_switch *sw = port->node->sw;
	uint64_t free_at = vl_fabric_link_free_at(&port->link);

	if (!port->is_connected)
		return;
	if (free_at <= now) {
		struct vl_frame *frame = vl_switch_transmit(sw, port->number, now);

		if (frame) {
			send(port, frame, now);
			free_at = vl_fabric_link_free_at(&port->link);
		} else {
			free_at = now + 1;
		}
	}
	schedule_transmit(port, later(free_at, vl_switch_next_deadline(sw, port->number, now)));
}

static void step_switch(struct vl_node *node, uint32_t port, uint64_t now)
{
	while (port != VL_SWITCH_NO_PORT) {
		step_switch_port(&node->ports[port], now);
		port = vl_switch_next_pfc_port(node->sw);
	}
}

static void run_transmit(struct vl_event *event, uint64_t now)
{
	struct port *port = (struct port *)((char *)event - offsetof(struct port, transmit));

	if (port->node->endpoint)
		step_endpoint(port, now);
	else
		step_switch(port->node, port->number, now);
}

static void deliver_to_switch(struct port *port, struct vl_frame *frame, uint64_t now)
{
	struct vl_node *node = port->node;
	uint32_t egress = vl_switch_receive(node->sw, port->number, frame, now);

	if (egress == VL_SWITCH_NO_PORT)
		egress = vl_switch_next_pfc_port(node->sw);
	step_switch(node, egress, now);
}

static void deliver_to_endpoint(struct port *port, struct vl_frame *frame, uint64_t now)
{
	vl_endpoint_receive(port->node->endpoint, frame, now);
	vl_frame_free(frame);
	step_endpoint(port, now);
}

static void run_arrive(struct vl_event *event, uint64_t now)
{
	struct port *port = (struct port *)((char *)event - offsetof(struct port, arrive));
	struct port *peer = port->peer;
	struct vl_frame *frame = vl_fabric_link_receive(&port->link, now);

	schedule_arrival(port);
	if (port->link.head)
		__builtin_prefetch(port->link.head);
	if (!frame)
		return;
	if (peer->taps)
		show(peer, VL_DIRECTION_RECEIVED, frame, now);
	if (peer->node->endpoint)
		deliver_to_endpoint(peer, frame, now);
	else
		deliver_to_switch(peer, frame, now);
}

void vl_network_wake(struct vl_network *network, struct vl_node *node)
{
	if (node->endpoint && node->ports[0].is_connected)
		schedule_transmit(&node->ports[0], vl_executor_now(network->executor));
}

bool vl_network_run_until(struct vl_network *network, uint64_t until)
{
	for (struct vl_node *node = network->first; node; node = node->next)
		vl_network_wake(network, node);
	return vl_executor_run_until(network->executor, until);
}

/* ---- Building -------------------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static int fail(struct vl_network *network, int error,
						      const char *format, ...)
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

static void destroy_node(struct vl_node *node)
{
	for (uint32_t i = 0; i < node->port_count; i++) {
		struct tap *tap = node->ports[i].taps;

		vl_fabric_link_clear(&node->ports[i].link);
		while (tap) {
			struct tap *next = tap->next;

			free(tap);
			tap = next;
		}
	}
	vl_endpoint_destroy(node->endpoint);
	vl_switch_destroy(node->sw);
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

		destroy_node(node);
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

static struct vl_node *make_node(struct vl_network *network, const char *name, uint32_t ports)
{
	struct vl_node *node = calloc(1, sizeof(*node));

	if (node)
		node->ports = calloc(ports, sizeof(*node->ports));
	if (!node || !node->ports || vl_executor_reserve(network->executor, 2 * ports)) {
		fail(network, -ENOMEM, "no memory for node %s", name);
		if (node)
			free(node->ports);
		free(node);
		return NULL;
	}
	node->network = network;
	node->port_count = ports;
	snprintf(node->name, sizeof(node->name), "%s", name);
	for (uint32_t i = 0; i < ports; i++) {
		node->ports[i].node = node;
		node->ports[i].number = i;
		vl_event_init(&node->ports[i].transmit, run_transmit);
		vl_event_init(&node->ports[i].arrive, run_arrive);
	}
	return node;
}

static void add_node(struct vl_network *network, struct vl_node *node)
{
	*network->last = node;
	network->last = &node->next;
	network->node_count++;
}

struct vl_node *vl_network_add_endpoint(struct vl_network *network,
					const struct vl_endpoint_config *config)
{
	const char *name = config->name ? config->name : "endpoint";
	struct vl_node *node = make_node(network, name, 1);
	int error = 0;

	if (!node)
		return NULL;
	node->endpoint = vl_endpoint_create(config, &error);
	if (!node->endpoint) {
		fail(network, error, "endpoint %s: %s", name,
		     error == -ENOMEM ? "no memory"
				      : "its rate or its device's configuration is out of range");
		destroy_node(node);
		return NULL;
	}
	add_node(network, node);
	return node;
}

struct vl_node *vl_network_add_switch(struct vl_network *network, const char *name,
				      const struct vl_switch_config *config)
{
	const char *error = vl_switch_config_error(config);
	struct vl_node *node;

	if (error) {
		fail(network, -EINVAL, "switch %s: %s", name, error);
		return NULL;
	}
	node = make_node(network, name, config->ports);
	if (!node)
		return NULL;
	node->sw = vl_switch_create(config, &network->pool.pool, NULL);
	if (!node->sw) {
		fail(network, -ENOMEM, "no memory for switch %s", name);
		destroy_node(node);
		return NULL;
	}
	add_node(network, node);
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

const char *vl_node_name(const struct vl_node *node)
{
	return node->name;
}

static int check_port(struct vl_network *network, const struct vl_node *node, uint32_t port)
{
	if (port >= node->port_count)
		return fail(network, -EINVAL, "%s has no port %u: it has %u", node->name, port,
			    node->port_count);
	if (node->ports[port].is_connected)
		return fail(network, -EBUSY, "port %u of %s is connected already", port,
			    node->name);
	return 0;
}

/* Links made from one configuration must not lose the same frames. */
static int init_link(struct vl_network *network, struct port *port,
		     const struct vl_link_config *config)
{
	struct vl_random random = {config->seed + network->link_count++};
	struct vl_link_config seeded = *config;

	seeded.seed = vl_random_next(&random);
	if (vl_fabric_link_init(&port->link, &seeded))
		return fail(
			network, -EINVAL,
			"the link at port %u of %s: the rate must be 1 Mb/s to 4 Tb/s, the MTU 60 "
			"to 65535 bytes, and each probability 0 to 1",
			port->number, port->node->name);
	if (port->node->sw)
		vl_switch_set_port_rate(port->node->sw, port->number, config->rate);
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
		error = fail(network, -EINVAL, "port %u of %s is connected to itself", port_a,
			     a->name);
	if (!error)
		error = init_link(network, &a->ports[port_a], forward);
	if (!error)
		error = init_link(network, &b->ports[port_b], backward ? backward : forward);
	if (error)
		return error;
	a->ports[port_a].peer = &b->ports[port_b];
	b->ports[port_b].peer = &a->ports[port_a];
	a->ports[port_a].is_connected = true;
	b->ports[port_b].is_connected = true;
	return 0;
}

struct vl_fabric_link *vl_network_link(const struct vl_node *node, uint32_t port)
{
	if (port >= node->port_count || !node->ports[port].is_connected)
		return NULL;
	return &node->ports[port].link;
}

/* Breadth first from an endpoint outward: each switch reached for the first time sends by the port
 * on which it was reached. */
static int route_to(struct vl_network *network, const struct vl_node *endpoint,
		    struct vl_node **queue)
{
	uint32_t head = 0, tail = 0;

	for (struct vl_node *node = network->first; node; node = node->next)
		node->visited = false;
	queue[tail++] = (struct vl_node *)endpoint;
	while (head < tail) {
		struct vl_node *node = queue[head++];

		for (uint32_t i = 0; i < node->port_count; i++) {
			struct port *peer = node->ports[i].peer;

			if (!peer || !peer->node->sw || peer->node->visited)
				continue;
			peer->node->visited = true;
			if (vl_switch_add_route(peer->node->sw, endpoint->endpoint->mac,
						peer->number))
				return fail(network, -ENOMEM, "no memory for routes of %s",
					    peer->node->name);
			queue[tail++] = peer->node;
		}
	}
	for (struct vl_node *node = network->first; node; node = node->next) {
		if (node->sw && !node->visited)
			return fail(network, -ENETUNREACH, "%s has no way to %s", node->name,
				    endpoint->name);
	}
	return 0;
}

int vl_network_route(struct vl_network *network)
{
	struct vl_node **queue = malloc((network->node_count + 1) * sizeof(*queue));
	int error = 0;

	if (!queue)
		return fail(network, -ENOMEM, "no memory for routes");
	for (struct vl_node *node = network->first; node && !error; node = node->next) {
		if (node->endpoint)
			error = route_to(network, node, queue);
	}
	free(queue);
	return error;
}

int vl_network_tap(struct vl_network *network, struct vl_node *node, uint32_t port,
		   const struct vl_tap *tap)
{
	struct tap *entry, **end;

	if (port >= node->port_count)
		return fail(network, -EINVAL, "%s has no port %u: it has %u", node->name, port,
			    node->port_count);
	entry = malloc(sizeof(*entry));
	if (!entry)
		return fail(network, -ENOMEM, "no memory for a tap");
	*entry = (struct tap){.tap = *tap};
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
