/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Configurations of switches: the plain one, and what is wrong with one. */

#include "dataplane/fabric/switch.h"
#include "dataplane/fabric/switch_profile.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

void vl_switch_config_defaults(struct vl_switch_config *config, uint32_t ports, uint64_t buffer)
{
	struct vl_switch_pfc_config *pfc = &config->port.pfc;

	*config = (struct vl_switch_config){.ports = ports, .buffer = buffer};
	vl_classifier_config_defaults(&config->port.classifier);
	pfc->enabled = UINT8_MAX;
	for (unsigned int i = 0; i < VL_PFC_PRIORITIES; i++) {
		pfc->priority_to_queue[i] = (uint8_t)i;
		pfc->priority_to_group[i] = (uint8_t)i;
	}
}

void vl_switch_config_lossless(struct vl_switch_port_config *port, uint8_t priority, uint64_t xoff,
			       uint64_t xon, uint64_t headroom)
{
	struct vl_buffer_group_config *group = &port->groups[priority];

	group->lossless = true;
	group->threshold = vl_threshold_static(xoff);
	group->xon = xon;
	group->headroom = headroom;
}

void vl_switch_pools(const struct vl_switch_config *config,
		     struct vl_buffer_pool_config pools[VL_BUFFER_POOLS], unsigned int *count)
{
	*count = config->pool_count;
	for (unsigned int i = 0; i < config->pool_count; i++)
		pools[i] = config->pools[i];
	if (!config->pool_count) {
		*count = 1;
		pools[0] = (struct vl_buffer_pool_config){.size = config->buffer};
	}
}

void vl_switch_reserved(const struct vl_switch_config *config, uint64_t groups[VL_BUFFER_POOLS],
			uint64_t queues[VL_BUFFER_POOLS])
{
	for (unsigned int i = 0; i < VL_BUFFER_POOLS; i++)
		groups[i] = queues[i] = 0;
	for (uint32_t port = 0; port < config->ports; port++) {
		const struct vl_switch_port_config *of = vl_switch_port_config(config, port);

		for (unsigned int i = 0; i < VL_SWITCH_PRIORITIES; i++) {
			const struct vl_buffer_group_config *group = &of->groups[i];
			const struct vl_buffer_queue_config *queue = &of->queues[i].buffer;

			groups[group->pool] += group->reserved;
			if (group->lossless &&
			    !(config->pool_count && config->pools[group->pool].shared_headroom))
				groups[group->pool] += group->headroom;
			queues[queue->pool] += queue->reserved;
		}
	}
}

/* ---- Errors ---------------------------------------------------------------------------- */

static _Thread_local char error_text[256];

__attribute__((format(printf, 1, 2))) static const char *error(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(error_text, sizeof(error_text), format, arguments);
	va_end(arguments);
	return error_text;
}

static const char *threshold_error(const char *whose, unsigned int number,
				   const struct vl_buffer_threshold *threshold)
{
	if (threshold->kind > VL_THRESHOLD_DYNAMIC)
		return error("%s %u: the threshold is neither the pool, static nor dynamic", whose,
			     number);
	if (threshold->kind == VL_THRESHOLD_DYNAMIC &&
	    !(threshold->alpha >= VL_BUFFER_ALPHA_MIN && threshold->alpha <= VL_BUFFER_ALPHA_MAX))
		return error("%s %u: alpha is %g; it must be 1/1024 to 1024", whose, number,
			     threshold->alpha);
	return NULL;
}

static const char *account_error(const char *whose, unsigned int number, uint8_t pool,
				 unsigned int pool_count, uint64_t reserved)
{
	if (pool >= pool_count)
		return error("%s %u: there is no pool %u; the switch has %u", whose, number, pool,
			     pool_count);
	if (reserved > VL_BUFFER_SIZE_MAX)
		return error("%s %u: %" PRIu64 " B are reserved; at most 16 GiB may be", whose,
			     number, reserved);
	return NULL;
}

static const char *group_error(unsigned int number, const struct vl_buffer_group_config *group,
			       unsigned int pool_count)
{
	static const char whose[] = "priority group";
	const char *found = account_error(whose, number, group->pool, pool_count, group->reserved);
	uint64_t threshold = group->threshold.bytes, xoff;

	if (!found)
		found = threshold_error(whose, number, &group->threshold);
	if (found || !group->lossless)
		return found;
	if (group->headroom > VL_BUFFER_SIZE_MAX)
		return error("%s %u: the headroom is %" PRIu64 " B; at most 16 GiB may be", whose,
			     number, group->headroom);
	if (group->threshold.kind != VL_THRESHOLD_STATIC)
		return NULL;
	if (threshold > VL_BUFFER_SIZE_MAX)
		threshold = VL_BUFFER_SIZE_MAX;
	xoff = group->reserved + threshold;
	if (!xoff)
		return error("%s %u: a lossless group needs reserved memory or a threshold above 0 "
			     "(XOFF)",
			     whose, number);
	if (group->xon > xoff)
		return error("%s %u: xon, %" PRIu64 " B, is larger than xoff, %" PRIu64 " B", whose,
			     number, group->xon, xoff);
	return NULL;
}

static const char *queue_error(unsigned int number, const struct vl_switch_queue_config *queue,
			       unsigned int pool_count)
{
	const char *found = account_error("queue", number, queue->buffer.pool, pool_count,
					  queue->buffer.reserved);

	if (found)
		return found;
	found = threshold_error("queue", number, &queue->buffer.threshold);
	if (found)
		return found;
	found = vl_scheduler_queue_config_error(&queue->scheduler);
	if (found)
		return error("queue %u %s", number, found);
	found = vl_red_config_error(&queue->red);
	return found ? error("queue %u: %s", number, found) : NULL;
}

static const char *pfc_error(const struct vl_switch_pfc_config *pfc)
{
	for (unsigned int i = 0; i < VL_PFC_PRIORITIES; i++) {
		if (pfc->priority_to_queue[i] >= VL_SWITCH_PRIORITIES)
			return error("PFC priority %u is mapped to queue %u; the last one is 7", i,
				     pfc->priority_to_queue[i]);
		if (pfc->priority_to_group[i] >= VL_SWITCH_PRIORITIES)
			return error("PFC priority %u is mapped to priority group %u; the last one "
				     "is 7",
				     i, pfc->priority_to_group[i]);
	}
	return NULL;
}

static const char *port_config_error(const struct vl_switch_port_config *port,
				     unsigned int pool_count)
{
	const char *found = vl_classifier_config_error(&port->classifier);

	if (!found)
		found = pfc_error(&port->pfc);
	if (!found)
		found = vl_watchdog_config_error(&port->watchdog);
	for (unsigned int i = 0; i < VL_SWITCH_PRIORITIES && !found; i++) {
		found = group_error(i, &port->groups[i], pool_count);
		if (!found)
			found = queue_error(i, &port->queues[i], pool_count);
	}
	if (found)
		return found;
	found = vl_shaper_config_error(&port->shaper);
	return found ? error("the port %s", found) : NULL;
}

static const char *ports_error(const struct vl_switch_config *config, unsigned int pool_count)
{
	const struct vl_switch_port_config *checked = NULL;
	char found[sizeof(error_text)];

	for (uint32_t i = 0; i < config->ports; i++) {
		const struct vl_switch_port_config *port = vl_switch_port_config(config, i);
		const char *text;

		if (port == checked)
			continue;
		checked = port;
		text = port_config_error(port, pool_count);
		if (text && port == &config->port)
			return text;
		if (text) {
			snprintf(found, sizeof(found), "%s", text);
			return error("port %" PRIu32 ": %.230s", i, found);
		}
	}
	return NULL;
}

static const char *pools_error(const struct vl_switch_config *config,
			       const struct vl_buffer_pool_config *pools, unsigned int pool_count)
{
	for (unsigned int i = 0; i < pool_count; i++) {
		if (!pools[i].size || pools[i].size > VL_BUFFER_SIZE_MAX)
			return error("pool %u: the size is %" PRIu64 " B; it must be 1 B to 16 GiB",
				     i, pools[i].size);
		if (pools[i].shared_headroom > config->buffer)
			return error("pool %u: the shared headroom, %" PRIu64
				     " B, is larger than the buffer, %" PRIu64 " B",
				     i, pools[i].shared_headroom, config->buffer);
	}
	return NULL;
}

/* Whether what is promised is there. */
static const char *memory_error(const struct vl_switch_config *config,
				const struct vl_buffer_pool_config *pools, unsigned int pool_count)
{
	uint64_t groups[VL_BUFFER_POOLS], queues[VL_BUFFER_POOLS], all = 0;

	vl_switch_reserved(config, groups, queues);
	for (unsigned int i = 0; i < pool_count; i++) {
		groups[i] += pools[i].shared_headroom;
		all += groups[i];
		if (pools[i].is_shared_only)
			continue;
		if (groups[i] >= pools[i].size)
			return error("pool %u: the priority groups of all ports together reserve "
				     "%" PRIu64 " B, headroom included, of a size of %" PRIu64 " B",
				     i, groups[i], pools[i].size);
		if (queues[i] >= pools[i].size)
			return error("pool %u: the queues of all ports together reserve %" PRIu64
				     " B of a size of %" PRIu64 " B",
				     i, queues[i], pools[i].size);
	}
	if (all >= config->buffer)
		return error("the priority groups of all ports together reserve %" PRIu64
			     " B, headroom included, of a buffer of %" PRIu64 " B",
			     all, config->buffer);
	return NULL;
}

const char *vl_switch_config_error(const struct vl_switch_config *config)
{
	struct vl_buffer_pool_config pools[VL_BUFFER_POOLS];
	unsigned int pool_count;
	const char *found;

	if (!config->ports || config->ports > VL_SWITCH_MAX_PORTS)
		return "a switch has 1 to 4096 ports";
	if (!config->buffer || config->buffer > VL_BUFFER_SIZE_MAX)
		return error("the buffer is %" PRIu64 " B; it must be 1 B to 16 GiB",
			     config->buffer);
	if (config->cell_size &&
	    (config->cell_size < VL_BUFFER_CELL_MIN || config->cell_size > VL_BUFFER_CELL_MAX))
		return error("a cell is %" PRIu32 " B; it must be 32 to 4096 B, or 0 for bytes",
			     config->cell_size);
	if (config->pool_count > VL_BUFFER_POOLS)
		return error("there are %u pools; at most %u may be", config->pool_count,
			     VL_BUFFER_POOLS);
	vl_switch_pools(config, pools, &pool_count);
	found = pools_error(config, pools, pool_count);
	if (!found)
		found = ports_error(config, pool_count);
	return found ? found : memory_error(config, pools, pool_count);
}
