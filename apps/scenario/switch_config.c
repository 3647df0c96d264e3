/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/scenario/switch_config.h"

#include "apps/scenario/switch_source.h"
#include "dataplane/fabric/headroom.h"
#include "dataplane/fabric/link.h"
#include "transport/wire/packet.h"

#include <stdlib.h>

/* What values that were not given are at 100 Gb/s; they follow the rate. */
#define BASE_RATE   100e9
#define BASE_KMIN   100000.0
#define BASE_XOFF   500000.0
#define CNP_DSCP    48u
#define CNP_RESERVE 2048u
#define LEAST_KMIN  5000.0
/* SONiC's lossy profiles have dynamic_th 3: one queue takes 8/9 of the memory at most. */
#define LOSSY_ALPHA 8.0
#define LEAST_XOFF  30000.0
/* As shared-buffer switches of a generation have it, about. */
#define BUFFER_BYTES_PER_GBPS 5000u
#define LEAST_BUFFER          16000000u

struct port {
	const struct vl_scenario *scenario;
	const struct vl_scenario_switch *sw;
	const struct vl_scenario_links *links;
	uint64_t response_delay; /* of who is paused there: ns, or VL_PFC_RESPONSE_BY_RATE */
};

/* ---- Values that follow from the link ------------------------------------------------------ */

static uint64_t by_rate(const struct port *port, double base, double least)
{
	double value = base * (double)port->links->rate / BASE_RATE;

	return (uint64_t)(value < least ? least : value);
}

static uint64_t find_headroom(const struct port *port, uint64_t given)
{
	uint32_t longest = vl_scenario_mtu(port->scenario) + VL_MAX_HEADER_LENGTH;
	const struct vl_headroom_input input = {
		.rate = port->links->rate,
		.propagation = (double)port->links->delay,
		.lossless_mtu = longest,
		.port_mtu = longest,
		.smallest = VL_ETHERNET_MIN_LENGTH,
		.cell_size = (uint32_t)port->sw->cell_size,
		.response = port->response_delay == VL_PFC_RESPONSE_BY_RATE
				    ? -1
				    : (double)port->response_delay,
	};
	struct vl_headroom headroom;

	if (given != VL_AUTOMATIC)
		return given;
	vl_headroom_worst_case(&input, &headroom);
	return headroom.bytes;
}

static struct vl_red_curve make_curve(const struct port *port, const struct vl_scenario_ecn *ecn)
{
	static const enum vl_red_action actions[] = {
		[VL_SCENARIO_NON_ECN_DROP] = VL_RED_MARK_OR_DROP,
		[VL_SCENARIO_NON_ECN_PASS] = VL_RED_MARK_OR_PASS,
		[VL_SCENARIO_ALL_DROP] = VL_RED_DROP_ALL,
	};
	struct vl_red_curve curve = {.action = actions[ecn->non_ecn],
				     .kmin = ecn->kmin,
				     .kmax = ecn->kmax,
				     .pmax = ecn->pmax};

	if (ecn->kmin == VL_AUTOMATIC)
		curve.kmin = ecn->kmax != VL_AUTOMATIC ? ecn->kmax / 4
						       : by_rate(port, BASE_KMIN, LEAST_KMIN);
	if (ecn->kmax == VL_AUTOMATIC)
		curve.kmax = 4 * curve.kmin;
	return curve;
}

static struct vl_red_config make_red(const struct port *port, const struct vl_scenario_ecn *green,
				     const struct vl_scenario_ecn *yellow,
				     const struct vl_scenario_ecn *red)
{
	static const enum vl_red_point points[] = {
		[VL_SCENARIO_ECN_DEQUEUE] = VL_RED_AT_DEQUEUE,
		[VL_SCENARIO_ECN_ENQUEUE] = VL_RED_AT_ENQUEUE,
	};
	struct vl_red_config config = {.point = points[green->point],
				       .weight = (uint8_t)green->weight};

	config.curves[VL_COLOUR_GREEN] = make_curve(port, green);
	config.curves[VL_COLOUR_YELLOW] = make_curve(port, yellow->section.node ? yellow : green);
	config.curves[VL_COLOUR_RED] = make_curve(port, red->section.node ? red : green);
	return config;
}

static struct vl_buffer_threshold make_threshold(uint64_t limit, double alpha)
{
	if (alpha > 0)
		return vl_threshold_dynamic(alpha);
	if (limit != VL_AUTOMATIC)
		return vl_threshold_static(limit);
	return (struct vl_buffer_threshold){.kind = VL_THRESHOLD_POOL};
}

/* ---- The short form ------------------------------------------------------------------------ */

static void set_lossless(const struct port *port, unsigned int priority,
			 struct vl_switch_port_config *config)
{
	const struct vl_scenario_pfc *pfc = &port->sw->pfc;
	unsigned int class = config->classifier.dscp_to_class[VL_SCENARIO_DSCP(priority)];
	struct vl_buffer_group_config *group;
	uint64_t xoff =
		pfc->xoff != VL_AUTOMATIC ? pfc->xoff : by_rate(port, BASE_XOFF, LEAST_XOFF);

	group = &config->groups[config->classifier.class_to_group[class]];
	group->lossless = true;
	group->threshold = make_threshold(xoff, pfc->alpha);
	group->headroom = find_headroom(port, pfc->headroom);
	group->xon = pfc->xon;
	if (pfc->xon == VL_AUTOMATIC)
		group->xon = pfc->alpha > 0 ? 0 : xoff / 10 * 9;
	config->pfc.enabled |= (uint8_t)(1u << priority);
}

static void set_short_form(const struct port *port, struct vl_switch_port_config *config)
{
	const struct vl_scenario_switch *sw = port->sw;
	uint8_t data = vl_scenario_data_priorities(port->scenario);
	struct vl_switch_queue_config *queue;
	unsigned int class;

	config->pfc.enabled = 0;
	for (unsigned int i = 0; i < VL_SWITCH_PRIORITIES; i++) {
		class = config->classifier.dscp_to_class[VL_SCENARIO_DSCP(i)];
		queue = &config->queues[config->classifier.class_to_queue[class]];
		if (!(sw->has_pfc && data >> i & 1))
			queue->buffer.threshold = sw->queue_limit
							  ? vl_threshold_static(sw->queue_limit)
							  : vl_threshold_dynamic(LOSSY_ALPHA);
		if (!(data >> i & 1))
			continue;
		if (sw->has_pfc && !sw->groups.count)
			set_lossless(port, i, config);
		if (sw->has_ecn && sw->ecn.section.node)
			queue->red = make_red(port, &sw->ecn, &sw->ecn, &sw->ecn);
	}
}

/* Lossless data may take all of the memory: some of it is kept for CNPs, which slow the data
 * down. */
static void reserve_for_cnps(struct vl_switch_port_config *config)
{
	unsigned int class = config->classifier.dscp_to_class[CNP_DSCP];
	struct vl_buffer_group_config *group =
		&config->groups[config->classifier.class_to_group[class]];

	if (group->lossless)
		return;
	group->reserved = CNP_RESERVE;
	config->queues[config->classifier.class_to_queue[class]].buffer.reserved = CNP_RESERVE;
}

/* ---- The long form ------------------------------------------------------------------------- */

static void set_group(const struct port *port, const struct vl_scenario_group *group,
		      struct vl_switch_port_config *config)
{
	struct vl_buffer_group_config *set = &config->groups[group->group];

	set->pool = (uint8_t)vl_scenario_find_pool(port->sw, group->pool);
	set->reserved = group->reserved;
	set->threshold = make_threshold(group->limit, group->alpha);
	set->lossless = group->is_lossless && port->sw->has_pfc;
	if (!set->lossless)
		return;
	set->headroom = find_headroom(port, group->headroom);
	set->xon_offset = group->xon_offset;
	set->xon = group->xon;
	if (group->xon == VL_AUTOMATIC)
		set->xon = group->alpha > 0 ? 0 : group->limit / 10 * 9;
	for (unsigned int i = 0; i < VL_PFC_PRIORITIES; i++) {
		if (config->pfc.priority_to_group[i] == group->group)
			config->pfc.enabled |= (uint8_t)(1u << i);
	}
}

static void set_queue(const struct port *port, const struct vl_scenario_queue *queue,
		      struct vl_switch_port_config *config)
{
	struct vl_switch_queue_config *set = &config->queues[queue->queue];

	set->buffer.pool = (uint8_t)vl_scenario_find_pool(port->sw, queue->pool);
	set->buffer.reserved = queue->reserved;
	if (queue->limit != VL_AUTOMATIC || queue->alpha > 0)
		set->buffer.threshold = make_threshold(queue->limit, queue->alpha);
	if (vl_section_has(&vl_scenario_queue_schema, &queue->section, "scheduling"))
		set->scheduler.type = (enum vl_scheduling)queue->scheduling;
	set->scheduler.weight = (uint32_t)queue->weight;
	set->scheduler.shaper = (struct vl_shaper_config){queue->shaper.rate, queue->shaper.burst};
	if (queue->ecn.section.node && port->sw->has_ecn)
		set->red = make_red(port, &queue->ecn, &queue->yellow, &queue->red);
}

/* ---- A port, a switch ---------------------------------------------------------------------- */

static void configure_port(const struct port *port, struct vl_switch_port_config *config)
{
	static const enum vl_watchdog_action actions[] = {VL_WATCHDOG_DROP, VL_WATCHDOG_FORWARD};
	const struct vl_scenario_switch *sw = port->sw;
	const struct vl_scenario_group *groups = sw->groups.elements;
	const struct vl_scenario_queue *queues = sw->queues.elements;

	config->classifier = sw->tables.classifier;
	for (unsigned int i = 0; i < VL_PFC_PRIORITIES; i++) {
		config->pfc.priority_to_queue[i] = sw->tables.priority_to_queue[i];
		config->pfc.priority_to_group[i] = sw->tables.priority_to_group[i];
	}
	config->queues[VL_SCENARIO_CNP_PRIORITY].scheduler.type = VL_SCHEDULING_STRICT;
	set_short_form(port, config);
	if (sw->has_pfc)
		reserve_for_cnps(config);
	for (unsigned int i = 0; i < sw->groups.count; i++)
		set_group(port, &groups[i], config);
	for (unsigned int i = 0; i < sw->queues.count; i++)
		set_queue(port, &queues[i], config);
	config->shaper = (struct vl_shaper_config){sw->shaper.rate, sw->shaper.burst};
	config->pfc.response_delay = vl_scenario_switch_response(sw);
	config->pfc.quanta = (uint16_t)sw->pfc.quanta;
	if (sw->watchdog.section.node && sw->has_pfc)
		config->watchdog = (struct vl_watchdog_config){
			actions[sw->watchdog.action], config->pfc.enabled,
			sw->watchdog.detection_time, sw->watchdog.restoration_time,
			sw->watchdog.poll_interval};
}

static void set_pools(const struct vl_scenario_switch *sw, struct vl_switch_config *config)
{
	const struct vl_scenario_pool *pools = sw->pools.elements;

	config->pool_count = (uint8_t)sw->pools.count;
	for (unsigned int i = 0; i < sw->pools.count; i++)
		config->pools[i] = (struct vl_buffer_pool_config){
			pools[i].size, pools[i].shared_headroom, pools[i].is_shared_only};
}

static uint64_t find_buffer(const struct vl_scenario *scenario, const struct vl_scenario_switch *sw)
{
	uint64_t rate = 0, buffer;

	if (sw->buffer != VL_AUTOMATIC)
		return sw->buffer;
	for (unsigned int i = 0; i < scenario->nodes[sw->node].ports; i++)
		rate += vl_scenario_port(scenario, sw->node, i)->cable->links->rate;
	buffer = rate / 1000000000 * BUFFER_BYTES_PER_GBPS;
	return buffer < LEAST_BUFFER ? LEAST_BUFFER : buffer;
}

static struct port describe_port(const struct vl_scenario *scenario,
				 const struct vl_scenario_switch *sw, unsigned int number)
{
	const struct vl_scenario_port *port = vl_scenario_port(scenario, sw->node, number);
	const struct vl_scenario_switch *peer = scenario->nodes[port->neighbour].sw;

	return (struct port){scenario, sw, port->cable->links,
			     vl_scenario_switch_response(peer ? peer : sw)};
}

static bool is_alike(const struct port *a, const struct port *b)
{
	return a->links->rate == b->links->rate && a->links->delay == b->links->delay &&
	       a->response_delay == b->response_delay;
}

/* What one call allocates. */
struct block {
	struct vl_switch_config config;
	/* by_port, then the ports' configurations */
	_Alignas(max_align_t) char memory[];
};

static struct vl_switch_config *described_config(const struct vl_scenario *scenario,
						 const struct vl_scenario_switch *sw)
{
	unsigned int ports = scenario->nodes[sw->node].ports, kinds = 0, kind;
	struct port *described = malloc((ports + 1) * sizeof(*described));
	unsigned int *first = malloc((ports + 1) * sizeof(*first)); /* a port of each kind */
	unsigned int *kind_of = malloc((ports + 1) * sizeof(*kind_of));
	const struct vl_switch_port_config **by_port;
	struct vl_switch_port_config *configs;
	struct block *block = NULL;

	for (unsigned int i = 0; described && first && kind_of && i < ports; i++) {
		described[i] = describe_port(scenario, sw, i);
		for (kind = 0; kind < kinds; kind++) {
			if (is_alike(&described[first[kind]], &described[i]))
				break;
		}
		if (kind == kinds)
			first[kinds++] = i;
		kind_of[i] = kind;
	}
	if (described && first && kind_of)
		block = calloc(1, sizeof(*block) + kinds * sizeof(*configs) +
					  ports * sizeof(*by_port));
	if (block) {
		configs = (struct vl_switch_port_config *)block->memory;
		by_port = (const struct vl_switch_port_config **)(configs + kinds);
		vl_switch_config_defaults(&block->config, ports, find_buffer(scenario, sw));
		block->config.cell_size = (uint32_t)sw->cell_size;
		block->config.cut_through = sw->cut_through;
		set_pools(sw, &block->config);
		for (kind = 0; kind < kinds; kind++) {
			configs[kind] = block->config.port;
			configure_port(&described[first[kind]], &configs[kind]);
		}
		for (unsigned int i = 0; i < ports; i++)
			by_port[i] = &configs[kind_of[i]];
		if (kinds)
			block->config.port = configs[0];
		block->config.by_port = by_port;
	}
	free(described);
	free(first);
	free(kind_of);
	return block ? &block->config : NULL;
}

struct vl_switch_config *vl_scenario_switch_config(const struct vl_scenario *scenario,
						   const struct vl_scenario_switch *sw)
{
	struct vl_switch_config *config = vl_scenario_has_source(sw)
						  ? vl_scenario_source_config(scenario, sw)
						  : described_config(scenario, sw);

	if (!config)
		return NULL;
	config->mac[0] = 0x02;
	config->mac[1] = 0x5c;
	config->mac[3] = (uint8_t)(sw->node >> 8);
	config->mac[4] = (uint8_t)sw->node;
	config->seed = scenario->seed + sw->node;
	return config;
}

/* Ports that are alike share a configuration. */
static bool is_first_with_it(const struct vl_switch_config *config, unsigned int port)
{
	for (unsigned int i = 0; i < port; i++) {
		if (config->by_port[i] == config->by_port[port])
			return false;
	}
	return true;
}

static bool add_to_groups(struct vl_switch_config *config, struct vl_switch_port_config *port,
			  uint64_t group_bytes, uint64_t memory_bytes)
{
	bool is_any_lossless = false;

	for (unsigned int i = 0; i < VL_SWITCH_PRIORITIES; i++) {
		struct vl_buffer_group_config *group = &port->groups[i];
		struct vl_buffer_pool_config *pool = &config->pools[group->pool];

		if (!group->lossless)
			continue;
		is_any_lossless = true;
		group->headroom += group_bytes;
		config->buffer += memory_bytes;
		if (!config->pool_count)
			continue;
		pool->size += memory_bytes;
		if (pool->shared_headroom)
			pool->shared_headroom += memory_bytes;
	}
	return is_any_lossless;
}

bool vl_scenario_add_headroom(struct vl_switch_config *config, uint64_t bytes)
{
	bool is_any_lossless = false;

	/* Ports' configurations are part of the block that the whole is. */
	for (unsigned int i = 0; i < config->ports; i++)
		is_any_lossless |=
			add_to_groups(config, (struct vl_switch_port_config *)config->by_port[i],
				      is_first_with_it(config, i) ? bytes : 0, bytes);
	if (config->ports)
		config->port = *config->by_port[0];
	return is_any_lossless;
}

bool vl_scenario_marking(const struct vl_scenario *scenario, const struct vl_scenario_switch *sw,
			 unsigned int port, struct vl_red_curve *curve)
{
	struct vl_switch_config *config = vl_scenario_switch_config(scenario, sw);
	uint8_t data = vl_scenario_data_priorities(scenario);
	const struct vl_switch_port_config *found;
	const struct vl_red_config *red;
	bool is_marking = false;
	unsigned int class;

	for (unsigned int i = 0; config && !is_marking && i < VL_SWITCH_PRIORITIES; i++) {
		found = config->by_port[port];
		class = found->classifier.dscp_to_class[scenario->dscps[i]];
		red = &found->queues[found->classifier.class_to_queue[class]].red;
		is_marking = data >> i & 1 && red->point != VL_RED_OFF;
		if (is_marking)
			*curve = red->curves[VL_COLOUR_GREEN];
	}
	free(config);
	return is_marking;
}
