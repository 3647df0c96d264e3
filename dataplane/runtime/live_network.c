/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/runtime/live_network.h"

#include "dataplane/runtime/compat.h"
#include "dataplane/runtime/eal.h"
#include "dataplane/runtime/live_carrier.h"
#include "dataplane/runtime/live_node.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_FRAME_COUNT 8192
#define DEFAULT_RING_SIZE   512
#define MAX_RING_SIZE       (1u << 16)

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
		vl_live_node_destroy(node);
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
