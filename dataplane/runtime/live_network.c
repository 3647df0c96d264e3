/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/runtime/live_network.h"

#include "dataplane/runtime/compat.h"
#include "dataplane/runtime/eal.h"
#include "dataplane/runtime/live_carrier.h"
#include "dataplane/runtime/live_node.h"

#include <rte_errno.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_FRAME_COUNT 8192
#define DEFAULT_RING_SIZE   512
#define MAX_RING_SIZE       (1u << 16)

/* ---- Building -------------------------------------------------------------------------- */

static struct vl_live_network_config with_defaults(const struct vl_live_network_config *config)
{
	struct vl_live_network_config filled = *config;

	if (!filled.frame_count)
		filled.frame_count = DEFAULT_FRAME_COUNT;
	if (!filled.ring_size)
		filled.ring_size = DEFAULT_RING_SIZE;
	return filled;
}

uint32_t vl_live_network_frames_between(const struct vl_live_network_config *config)
{
	return with_defaults(config).ring_size + 4 * VL_LIVE_TRANSMIT_BURST;
}

uint32_t vl_live_network_megabytes(const struct vl_live_network_config *config)
{
	struct vl_live_network_config filled = with_defaults(config);

	/* 32 MB for rings and for what EAL itself keeps. */
	return filled.worker_count * vl_mempool_megabytes(filled.frame_count) + 32;
}

static int make_part(struct vl_live_network *network, unsigned int index, struct vl_error *error)
{
	/* Names of mempools are unique in a process. */
	static unsigned int made;
	struct live_part *part = &network->parts[index];
	struct vl_stage stage = vl_live_part_stage(part);
	char name[32];

	snprintf(name, sizeof(name), "live%u", made++);
	part->network = network;
	part->mempool = vl_mempool_create(name, network->config.frame_count, error);
	if (!part->mempool)
		return -ENOMEM;
	vl_mbuf_frame_pool_init(&part->pool, part->mempool);
	part->worker = vl_worker_create(index, error);
	return part->worker ? vl_worker_add_stage(part->worker, &stage) : -ENODEV;
}

struct vl_live_network *vl_live_network_create(const struct vl_live_network_config *config,
					       struct vl_error *error)
{
	struct vl_live_network *network;

	if (!vl_eal_is_running()) {
		vl_error_set(error, -ENODEV, "live network: DPDK is not running");
		return NULL;
	}
	if (!config->worker_count || config->worker_count > vl_eal_worker_count()) {
		vl_error_set(error, -EINVAL,
			     "live network: %u workers, and DPDK was started for %u",
			     config->worker_count, vl_eal_worker_count());
		return NULL;
	}
	if (config->ring_size > MAX_RING_SIZE) {
		vl_error_set(error, -EINVAL, "live network: rings of %u frames: must be 1 to %u",
			     config->ring_size, MAX_RING_SIZE);
		return NULL;
	}
	network = aligned_alloc(RTE_CACHE_LINE_SIZE, sizeof(*network));
	if (network)
		memset(network, 0, sizeof(*network));
	if (!network) {
		vl_error_set(error, -ENOMEM, "live network: no memory");
		return NULL;
	}
	network->config = with_defaults(config);
	network->last = &network->first;
	for (unsigned int i = 0; i < config->worker_count; i++) {
		if (make_part(network, i, error)) {
			vl_live_network_destroy(network);
			return NULL;
		}
	}
	return network;
}

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

static void destroy_node(struct vl_live_node *node)
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

void vl_live_network_destroy(struct vl_live_network *network)
{
	if (!network)
		return;
	vl_live_network_stop(network);
	for (uint32_t i = 0; i < network->wire_count; i++)
		vl_live_wire_release(&network->wires[i]);
	while (network->first) {
		struct vl_live_node *node = network->first;

		network->first = node->next;
		destroy_node(node);
	}
	for (unsigned int i = 0; i < network->config.worker_count; i++) {
		struct live_part *part = &network->parts[i];

		vl_worker_destroy(part->worker);
		rte_mempool_free(part->mempool);
		free(part->outgoing);
		free(part->incoming);
	}
	free(network);
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
		destroy_node(node);
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
		destroy_node(node);
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
		destroy_node(node);
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
		destroy_node(node);
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

/* ---- Connecting ------------------------------------------------------------------------ */

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

/* ---- Running --------------------------------------------------------------------------- */

static int list_ports(struct vl_live_network *network, unsigned int worker)
{
	struct live_part *part = &network->parts[worker];
	uint32_t outgoing = 0, incoming = 0;

	free(part->outgoing);
	free(part->incoming);
	part->outgoing = calloc(2 * network->link_count + 1, sizeof(struct live_port *));
	part->incoming = calloc(2 * network->link_count + 1, sizeof(struct live_port *));
	if (!part->outgoing || !part->incoming)
		return -ENOMEM;
	for (struct vl_live_node *node = network->first; node; node = node->next) {
		for (uint32_t i = 0; i < node->port_count; i++) {
			struct live_port *port = &node->ports[i];

			if (!port->peer && !port->carrier)
				continue;
			if (node->worker == worker)
				part->outgoing[outgoing++] = port;
			else if (port->peer && port->peer->node->worker == worker)
				part->incoming[incoming++] = port;
		}
	}
	part->wire_count = 0;
	for (uint32_t i = 0; i < network->wire_count; i++) {
		if (network->wires[i].worker == worker)
			part->wires[part->wire_count++] = &network->wires[i];
	}
	part->outgoing_count = outgoing;
	part->incoming_count = incoming;
	return 0;
}

int vl_live_network_start(struct vl_live_network *network, struct vl_error *error)
{
	int result = 0;

	if (network->is_running)
		return vl_error_set(error, -EALREADY, "the live network is running");
	for (unsigned int i = 0; i < network->config.worker_count; i++) {
		if (list_ports(network, i))
			return vl_error_set(error, -ENOMEM, "live network: no memory");
		network->parts[i].last_round = network->stopped_at;
	}
	network->epoch = vl_worker_now() - network->stopped_at;
	network->is_running = true;
	for (unsigned int i = 0; i < network->config.worker_count && !result; i++)
		result = vl_worker_start(network->parts[i].worker, error);
	if (result)
		vl_live_network_stop(network);
	return result;
}

void vl_live_network_stop(struct vl_live_network *network)
{
	if (!network->is_running)
		return;
	for (unsigned int i = 0; i < network->config.worker_count; i++)
		vl_worker_stop(network->parts[i].worker);
	network->stopped_at = vl_worker_now() - network->epoch;
	network->is_running = false;
}

uint64_t vl_live_network_now(const struct vl_live_network *network)
{
	return network->is_running ? vl_worker_now() - network->epoch : network->stopped_at;
}

struct timed_call {
	const struct vl_live_network *network;
	void (*function)(void *context, uint64_t now);
	void *context;
};

static void run_call(void *context, uint64_t now)
{
	struct timed_call *call = context;

	if (!call->network->is_running)
		now = call->network->stopped_at;
	else
		now = now > call->network->epoch ? now - call->network->epoch : 0;
	call->function(call->context, now);
}

int vl_live_network_call(struct vl_live_network *network, unsigned int worker,
			 void (*function)(void *context, uint64_t now), void *context)
{
	struct timed_call call = {network, function, context};

	if (worker >= network->config.worker_count)
		return -EINVAL;
	return vl_worker_call(network->parts[worker].worker, run_call, &call);
}

struct vl_live_counters vl_live_network_counters(const struct vl_live_network *network,
						 unsigned int worker)
{
	const struct live_part *part = &network->parts[worker];
	struct vl_live_counters counters = {
		.worker = vl_worker_counters(part->worker),
		.mempool_exhausted = part->pool.exhausted,
		.overruns = part->overruns,
		.late_rounds = part->late_rounds,
		.late_time = part->late_time,
	};

	for (uint32_t i = 0; i < network->wire_count; i++) {
		if (network->wires[i].worker != worker)
			continue;
		counters.wire_foreign += network->wires[i].rx_foreign;
		counters.wire_unknown_link += network->wires[i].rx_unknown_link;
	}
	return counters;
}
