/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* PFC: for which groups, and which queues it stops. */

#include "apps/check/private.h"

/* Priorities with PFC on that stand for a group. */
static uint8_t priorities_of_group(const struct vl_db_port *port, unsigned int group)
{
	uint8_t set = 0;

	for (unsigned int n = 0; n < VL_DB_CLASSES; n++) {
		if (port->pfc & 1u << n && vl_db_pg_of_priority(port, n) == (int)group)
			set |= (uint8_t)(1u << n);
	}
	return set;
}

static void check_queue(struct check *check, const struct check_port *view)
{
	const struct vl_db_port *port = view->port;

	for (unsigned int tc = 0; tc < VL_DB_TCS; tc++) {
		int queue = vl_db_queue_of_tc(port, tc), group = vl_db_pg_of_tc(port, tc);
		uint8_t priorities;
		bool is_stopped = false;

		if (!(view->lossless_tcs & view->reached_tcs & 1u << tc) || queue < 0)
			continue;
		priorities = priorities_of_group(port, (unsigned int)group);
		for (unsigned int n = 0; n < VL_DB_CLASSES; n++)
			is_stopped |=
				priorities & 1u << n && vl_db_queue_of_priority(port, n) == queue;
		if (is_stopped)
			continue;
		check_add(check, VL_CHECK_PFC_QUEUE, port,
			  check_place(check, "PORT_QOS_MAP", port->qos, "pfc_to_queue_map"),
			  check_text(check,
				     "class %u comes in by group %d, for which priority %s is "
				     "paused, and leaves by queue %d, which a pause of that "
				     "priority does not stop",
				     tc, group, check_set(check, priorities), queue),
			  NULL,
			  check_text(check,
				     "\"%s\": \"%d\" in the map of PFC priorities to queues, or "
				     "class %u in the queue that it has",
				     check_set(check, priorities & -priorities), queue, tc));
	}
}

static void check_headroom_without_pfc(struct check *check, const struct check_port *view)
{
	const struct vl_db_port *port = view->port;
	unsigned int groups = view->headroom_groups & ~(unsigned int)view->paused_groups;

	for (unsigned int group = 0; group < VL_DB_CLASSES; group++) {
		if (!(groups & 1u << group) || !port->pgs[group].entry)
			continue;
		check_add(check, VL_CHECK_PFC_OFF, port,
			  check_place(check, "PORT_QOS_MAP", port->qos, "pfc_enable"),
			  check_text(check,
				     "group %u has the lossless profile %s, but pfc_enable has no "
				     "priority of it (PFC is on for: %s)",
				     group,
				     port->pgs[group].profile ? port->pgs[group].profile->name
							      : "made at run time",
				     port->pfc ? check_set(check, port->pfc) : "none"),
			  NULL,
			  check_text(check, "\"pfc_enable\": \"%s\", or a lossy profile",
				     check_list(check, port->pfc | 1u << group)));
	}
}

static void check_pfc_without_headroom(struct check *check, const struct check_port *view)
{
	const struct vl_db_port *port = view->port;

	for (unsigned int n = 0; n < VL_DB_CLASSES; n++) {
		int group = vl_db_pg_of_priority(port, n);
		const struct vl_db_buffer *buffer = group < 0 ? NULL : &port->pgs[group];
		const char *why = NULL;

		if (!(port->pfc & 1u << n) || (group >= 0 && view->headroom_groups & 1u << group))
			continue;
		if (group < 0)
			why = "is mapped to no group";
		else if (buffer->profile)
			why = check_text(check, "is group %d's, whose profile %s has no xoff",
					 group, buffer->profile->name);
		else if (check->db->is_dynamic_model)
			why = check_text(check,
					 "is group %d's, for which BUFFER_PG has no entry; the "
					 "dynamic buffer model makes none",
					 group);
		if (!why)
			continue;
		check_add(check, VL_CHECK_PFC_LOSSY, port,
			  buffer && buffer->entry
				  ? check_place(check, "BUFFER_PG", buffer->entry, "profile")
				  : check_place(check, "PORT_QOS_MAP", port->qos, "pfc_enable"),
			  check_text(check, "priority %u %s: what comes after a pause is dropped",
				     n, why),
			  NULL,
			  check_text(check,
				     "a profile with xoff in BUFFER_PG|PORT|%d, or \"pfc_enable\": "
				     "\"%s\"",
				     group < 0 ? (int)n : group,
				     check_list(check, port->pfc & ~(1u << n))));
	}
}

/* What most ports have, of those that have any. */
static uint8_t usual_priorities(const struct check *check)
{
	unsigned int counts[256] = {0}, best = 0;

	for (unsigned int i = 0; i < check->db->port_count; i++) {
		uint8_t pfc = check->db->ports[i].pfc;

		if (pfc && ++counts[pfc] > counts[best])
			best = pfc;
	}
	return (uint8_t)best;
}

static void check_differences(struct check *check)
{
	uint8_t usual = usual_priorities(check);

	for (unsigned int i = 0; i < check->db->port_count; i++) {
		const struct vl_db_port *port = &check->db->ports[i];

		if (!port->pfc || port->pfc == usual)
			continue;
		check_add(check, VL_CHECK_PFC_DIFFERS, port,
			  check_place(check, "PORT_QOS_MAP", port->qos, "pfc_enable"),
			  check_text(check, "PFC for %s; most ports have it for %s",
				     check_set(check, port->pfc), check_set(check, usual)),
			  NULL,
			  "the same at every port that RoCE crosses: where a class is lossless at "
			  "one port alone, it is lost at the other");
	}
}

void check_pfc(struct check *check)
{
	for (unsigned int i = 0; i < check->db->port_count; i++) {
		const struct check_port *view = &check->ports[i];

		if (!view->is_used)
			continue;
		check_queue(check, view);
		check_headroom_without_pfc(check, view);
		check_pfc_without_headroom(check, view);
	}
	check_differences(check);
}
