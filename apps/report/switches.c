/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/report/switches.h"

#include "apps/report/links.h"

static json_t *whole(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static json_t *name(const struct vl_results *results, unsigned int node)
{
	return json_string(results->scenario->nodes[node].name);
}

json_t *vl_report_switches_json(const struct vl_results *results)
{
	json_t *array = json_array(), *object;
	const struct vl_switch_result *sw;

	for (unsigned int i = 0; i < results->switch_count; i++) {
		sw = &results->switches[i];
		object = json_object();
		json_object_set_new(object, "name", name(results, sw->node));
		if (sw->buffer) {
			json_object_set_new(object, "buffer_bytes", whole(sw->buffer));
			json_object_set_new(object, "buffer_max_bytes", whole(sw->watermark));
		}
		json_array_append_new(array, object);
	}
	return array;
}

json_t *vl_report_queues_json(const struct vl_results *results)
{
	bool is_infiniband = vl_scenario_is_infiniband(results->scenario);
	json_t *array = json_array(), *object;
	const struct vl_queue_result *queue;
	const struct vl_link_result *link;

	for (unsigned int i = 0; i < results->queue_count; i++) {
		queue = &results->queues[i];
		link = &results->links[queue->link];
		object = json_object();
		json_object_set_new(object, "switch", name(results, link->node));
		json_object_set_new(object, "port", whole(link->port));
		json_object_set_new(object, "to", name(results, link->neighbour));
		json_object_set_new(object, is_infiniband ? "virtual_lane" : "queue",
				    whole(queue->queue));
		json_object_set_new(object, "frames", whole(queue->frames));
		json_object_set_new(object, "bytes", whole(queue->bytes));
		json_object_set_new(object, "marked", whole(queue->marked));
		json_object_set_new(object, "max_bytes", whole(queue->watermark));
		if (is_infiniband)
			json_object_set_new(object, "credit_stall_ns",
					    whole(queue->credit_stall_ns));
		json_object_set_new(object, "drops", vl_report_drops_json(&queue->drops));
		json_array_append_new(array, object);
	}
	return array;
}

json_t *vl_report_groups_json(const struct vl_results *results)
{
	json_t *array = json_array(), *object;
	const struct vl_group_result *group;
	const struct vl_link_result *link;

	for (unsigned int i = 0; i < results->group_count; i++) {
		group = &results->groups[i];
		link = &results->links[group->link];
		object = json_object();
		json_object_set_new(object, "switch", name(results, link->node));
		json_object_set_new(object, "port", whole(link->port));
		json_object_set_new(object, "from", name(results, link->neighbour));
		json_object_set_new(object, "group", whole(group->group));
		json_object_set_new(object, "frames", whole(group->frames));
		json_object_set_new(object, "bytes", whole(group->bytes));
		json_object_set_new(object, "drops", whole(group->drops));
		json_object_set_new(object, "xoff", whole(group->xoff));
		json_object_set_new(object, "xon", whole(group->xon));
		json_object_set_new(object, "max_bytes", whole(group->watermark));
		json_object_set_new(object, "headroom_max_bytes", whole(group->headroom_watermark));
		json_array_append_new(array, object);
	}
	return array;
}
