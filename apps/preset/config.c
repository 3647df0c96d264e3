/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* From a preset's numbers to a switch. */

#include "apps/preset/parameters.h"
#include "apps/preset/preset.h"
#include "dataplane/fabric/headroom.h"

#include <stdlib.h>

#define MEMORY_PER_GBPS 5000u
#define LEAST_MEMORY    UINT64_C(16000000)
#define MILLISECOND     UINT64_C(1000000)
/* Lengths of a table's cables hold for links of that delay, and of what rounding makes of it. */
#define DELAY_SLACK 1.0

enum {
	INGRESS_POOL,
	EGRESS_POOL,
};

static uint64_t formula(const struct preset_parameters *preset, const struct vl_preset_link *link,
			uint32_t longest)
{
	double least = vl_headroom_propagation(preset->headroom_metres);
	const struct vl_headroom_input input = {
		.rate = link->rate,
		.propagation = (double)link->delay > least ? (double)link->delay : least,
		.lossless_mtu = longest,
		.port_mtu = longest,
		.smallest = 64,
		.response = -1,
	};
	struct vl_headroom headroom;

	vl_headroom_worst_case(&input, &headroom);
	return headroom.bytes;
}

static uint64_t find_headroom(const struct preset_parameters *preset,
			      const struct vl_preset_link *link, uint32_t longest)
{
	uint64_t bytes = formula(preset, link, longest), delays;

	for (unsigned int i = 0; i < preset->headroom_count; i++) {
		const struct preset_headroom *row = &preset->headrooms[i];

		if (row->rate == link->rate &&
		    (double)link->delay <= vl_headroom_propagation(row->metres) + DELAY_SLACK)
			return row->bytes;
	}
	delays = (uint64_t)(preset->headroom_delays *
			    vl_headroom_line_bytes(link->rate, (double)link->delay));
	return delays > bytes ? delays : bytes;
}

static void set_classes(const struct preset_parameters *preset,
			struct vl_classifier_config *classifier)
{
	vl_classifier_config_defaults(classifier);
	for (unsigned int i = 0; i < preset->map_count; i++) {
		for (unsigned int dscp = preset->maps[i].first; dscp <= preset->maps[i].last;
		     dscp++)
			classifier->dscp_to_class[dscp] = preset->maps[i].class;
	}
	/* Lossy classes share group 0. */
	for (unsigned int class = 0; class < VL_TRAFFIC_CLASSES; class ++)
		classifier->class_to_group[class] =
			preset->lossless & 1u << class ? (uint8_t) class : 0;
}

static void set_groups(const struct preset_parameters *preset, const struct vl_preset_link *link,
		       uint32_t longest, struct vl_switch_port_config *port)
{
	for (unsigned int n = 0; n < VL_SWITCH_PRIORITIES; n++) {
		struct vl_buffer_group_config *group = &port->groups[n];

		group->pool = INGRESS_POOL;
		group->threshold.kind = VL_THRESHOLD_POOL;
		if (preset->lossy_alpha > 0)
			group->threshold = vl_threshold_dynamic(preset->lossy_alpha);
		if (!(preset->lossless & 1u << n))
			continue;
		group->lossless = true;
		group->threshold = vl_threshold_dynamic(preset->alpha);
		group->reserved = preset->reserved;
		group->xon = preset->xon;
		group->xon_offset = preset->xon_offset;
		group->headroom = find_headroom(preset, link, longest);
	}
}

static struct vl_red_config marking(const struct preset_parameters *preset, uint64_t rate)
{
	double scale = preset->marking_rate ? (double)rate / 1e9 / preset->marking_rate : 1;

	return vl_red_marking(VL_RED_AT_DEQUEUE, (uint64_t)((double)preset->kmin * scale),
			      (uint64_t)((double)preset->kmax * scale), preset->pmax);
}

static void set_queues(const struct preset_parameters *preset, const struct vl_preset_link *link,
		       uint8_t pool, struct vl_switch_port_config *port)
{
	for (unsigned int n = 0; n < VL_SWITCH_PRIORITIES; n++) {
		struct vl_switch_queue_config *queue = &port->queues[n];

		queue->buffer.pool = pool;
		queue->buffer.threshold.kind = VL_THRESHOLD_POOL;
		queue->scheduler.weight = 1;
		if (preset->lossy_alpha > 0 && !(preset->lossless & 1u << n))
			queue->buffer.threshold = vl_threshold_dynamic(preset->lossy_alpha);
		if (preset->marked & 1u << n)
			queue->red = marking(preset, link->rate);
	}
	for (unsigned int i = 0; i < preset->queue_count; i++) {
		struct vl_scheduler_queue_config *scheduler =
			&port->queues[preset->queues[i].queue].scheduler;

		scheduler->type =
			preset->queues[i].is_strict ? VL_SCHEDULING_STRICT : VL_SCHEDULING_DWRR;
		scheduler->weight = preset->queues[i].weight;
	}
}

static void set_port(const struct preset_parameters *preset, const struct vl_preset_link *link,
		     uint32_t longest, uint8_t egress_pool, struct vl_switch_port_config *port)
{
	*port = (struct vl_switch_port_config){0};
	set_classes(preset, &port->classifier);
	set_groups(preset, link, longest, port);
	set_queues(preset, link, egress_pool, port);
	port->pfc.enabled = preset->lossless;
	port->pfc.response_delay = VL_PFC_RESPONSE_BY_RATE;
	for (unsigned int n = 0; n < VL_PFC_PRIORITIES; n++)
		port->pfc.priority_to_queue[n] = port->pfc.priority_to_group[n] = (uint8_t)n;
	if (preset->watchdog_ms)
		port->watchdog = (struct vl_watchdog_config){
			VL_WATCHDOG_DROP, preset->lossless, preset->watchdog_ms * MILLISECOND,
			preset->watchdog_ms * MILLISECOND, preset->poll_ms * MILLISECOND};
}

static uint64_t memory_by_rates(const struct vl_preset_link *links, unsigned int count)
{
	uint64_t rate = 0, memory;

	for (unsigned int i = 0; i < count; i++)
		rate += links[i].rate;
	memory = rate / 1000000000 * MEMORY_PER_GBPS;
	return memory > LEAST_MEMORY ? memory : LEAST_MEMORY;
}

/* What one call allocates. */
struct block {
	struct vl_switch_config config;
	/* by_port, then the ports' configurations */
	_Alignas(max_align_t) char memory[];
};

struct vl_switch_config *vl_preset_switch_config(const struct vl_preset *preset,
						 const struct vl_preset_link *links,
						 unsigned int count, uint64_t memory,
						 uint32_t longest)
{
	const struct preset_parameters *parameters = preset->parameters;
	struct vl_switch_port_config *ports;
	struct block *block = calloc(1, sizeof(*block) + count * (sizeof(*ports) + sizeof(ports)));
	const struct vl_switch_port_config **by_port;
	struct vl_switch_config *config;

	if (!block)
		return NULL;
	ports = (struct vl_switch_port_config *)block->memory;
	by_port = (const struct vl_switch_port_config **)(ports + count);
	config = &block->config;
	config->ports = count;
	config->buffer = memory ? memory : parameters->memory;
	if (!config->buffer)
		config->buffer = memory_by_rates(links, count);
	/* A memory of another size has no use for the pools of the preset's. */
	if (parameters->ingress_pool && config->buffer == parameters->memory) {
		config->pool_count = 2;
		config->pools[INGRESS_POOL] = (struct vl_buffer_pool_config){
			parameters->ingress_pool + parameters->shared_headroom,
			parameters->shared_headroom, false};
		config->pools[EGRESS_POOL].size = parameters->memory;
	}
	for (unsigned int i = 0; i < count; i++) {
		set_port(parameters, &links[i], longest,
			 config->pool_count ? EGRESS_POOL : INGRESS_POOL, &ports[i]);
		by_port[i] = &ports[i];
	}
	if (count)
		config->port = ports[0];
	config->by_port = by_port;
	return config;
}
