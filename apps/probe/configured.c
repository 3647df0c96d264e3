/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What a switch is configured to do with one class, in the numbers that a probe finds. */

#include "apps/probe/emulated.h"

#include <math.h>

static const struct vl_switch_port_config *port_of(const struct vl_switch_config *config,
						   unsigned int port)
{
	return config->by_port && config->by_port[port] ? config->by_port[port] : &config->port;
}

/* Most of a pool that one user alone has of it, who leaves the rest free. */
static double alone(const struct vl_buffer_threshold *threshold, uint64_t shared)
{
	switch (threshold->kind) {
	case VL_THRESHOLD_STATIC:
		return fmin((double)threshold->bytes, (double)shared);
	case VL_THRESHOLD_DYNAMIC:
		return (double)shared * threshold->alpha / (1 + threshold->alpha);
	case VL_THRESHOLD_POOL:
		break;
	}
	return (double)shared;
}

/* Where used + offset meets the threshold, which follows what is free. */
static double xon_by_offset(const struct vl_buffer_group_config *group, uint64_t shared)
{
	double alpha = group->threshold.alpha, offset = (double)group->xon_offset;

	if (group->threshold.kind != VL_THRESHOLD_DYNAMIC)
		return (double)group->reserved + alone(&group->threshold, shared) - offset;
	return (double)group->reserved + (alpha * (double)shared - offset) / (1 + alpha);
}

static void configure_group(const struct vl_switch *sw, const struct vl_buffer_group_config *group,
			    struct probe_configured *configured)
{
	const struct vl_buffer_pool *pool = &sw->buffer.pools[group->pool];
	uint64_t shared = pool->groups.limit;
	double limit = (double)group->reserved + alone(&group->threshold, shared);

	configured->capacity = limit;
	if (!configured->is_lossless)
		return;
	configured->xoff = limit;
	configured->xon = (double)group->xon;
	if (group->xon_offset)
		configured->xon = fmax(configured->xon, xon_by_offset(group, shared));
	configured->headroom = (double)group->headroom;
	configured->shares_headroom = pool->headroom.limit;
	if (pool->headroom.limit)
		configured->headroom = fmin(configured->headroom, (double)pool->headroom.limit);
	configured->capacity = limit + configured->headroom;
}

static void configure_queue(const struct vl_switch *sw, const struct vl_switch_queue_config *queue,
			    unsigned int colour, struct probe_configured *configured)
{
	const struct vl_red_curve *curve = &queue->red.curves[colour];
	double limit =
		(double)queue->buffer.reserved +
		alone(&queue->buffer.threshold, sw->buffer.pools[queue->buffer.pool].queues.limit);

	configured->loses_at_queue = configured->is_lossless && limit < configured->xoff;
	configured->capacity = fmin(configured->capacity, limit);
	if (queue->red.point == VL_RED_OFF ||
	    (curve->action != VL_RED_MARK_OR_DROP && curve->action != VL_RED_MARK_OR_PASS))
		return;
	configured->kmin = (double)curve->kmin;
	configured->kmax = (double)curve->kmax;
	configured->pmax = curve->pmax;
	configured->at_dequeue = queue->red.point == VL_RED_AT_DEQUEUE;
	configured->is_averaged = queue->red.weight;
}

void probe_configured(const struct probe_emulated *emulated, const struct vl_switch *sw,
		      unsigned int dscp, unsigned int priority, struct probe_configured *configured)
{
	const struct vl_switch_port_config *in = port_of(emulated->config, VL_PROBE_SENDER);
	const struct vl_switch_port_config *out = port_of(emulated->config, VL_PROBE_RECEIVER);
	const struct vl_classifier_config *classifier = &in->classifier;
	unsigned int class = classifier->trust == VL_TRUST_DSCP ? classifier->dscp_to_class[dscp]
								: classifier->default_class;
	unsigned int colour =
		classifier->trust == VL_TRUST_DSCP ? classifier->dscp_to_colour[dscp] : 0;

	*configured = (struct probe_configured){
		.xoff = -1,
		.xon = -1,
		.headroom = -1,
		.capacity = -1,
		.kmin = -1,
		.kmax = -1,
		.pmax = -1,
		.rate = (double)emulated->cables[VL_PROBE_RECEIVER].rate,
		.cell = emulated->config->cell_size ? emulated->config->cell_size : 1,
		.group = classifier->class_to_group[class],
		.queue = classifier->class_to_queue[class],
	};
	configured->is_of_priority = in->pfc.priority_to_group[priority] == configured->group;
	configured->is_lossless = in->groups[configured->group].lossless &&
				  configured->is_of_priority && (in->pfc.enabled >> priority & 1);
	configure_group(sw, &in->groups[configured->group], configured);
	configure_queue(sw, &out->queues[configured->queue], colour, configured);
}
