/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* PFC: for which groups, and which queues it stops. */

#include "apps/check/private.h"

#include <string.h>

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

/* What cannot be read is said already. */
static bool may_stop(struct check *check, const struct vl_db_port *port, unsigned int priority,
		     int queue)
{
	int stopped = vl_db_queue_of_priority(port, priority);

	return stopped < 0 ? check_is_given(check, port->pfc_to_queue, priority) : stopped == queue;
}

/*
 * The class of a group that its pauses are for: of those that leave by a queue which they stop the
 * first, or else the first of all.
 */
static unsigned int class_of_group(const struct check_port *view, unsigned int group,
				   uint8_t priorities)
{
	const struct vl_db_port *port = view->port;
	unsigned int first = VL_DB_TCS;

	for (unsigned int tc = 0; tc < VL_DB_TCS; tc++) {
		int queue = vl_db_queue_of_tc(port, tc);

		if (!(view->judged_tcs & 1u << tc) || queue < 0 ||
		    vl_db_pg_of_tc(port, tc) != (int)group)
			continue;
		for (unsigned int n = 0; n < VL_DB_CLASSES; n++) {
			if (priorities & 1u << n && vl_db_queue_of_priority(port, n) == queue)
				return tc;
		}
		if (first == VL_DB_TCS)
			first = tc;
	}
	return first;
}

static const char *right_queue(struct check *check, const struct check_port *view, unsigned int tc,
			       unsigned int group, uint8_t priorities)
{
	const struct vl_db_port *port = view->port;
	unsigned int first = class_of_group(view, group, priorities);

	/* The map cannot be right for both where they leave by different queues. */
	if (first != tc && vl_db_queue_of_tc(port, first) != vl_db_queue_of_tc(port, tc))
		return check_text(check,
				  "class %u in another group than class %u, or in its queue, %d",
				  tc, first, vl_db_queue_of_tc(port, first));
	return check_text(check,
			  "\"%s\": \"%d\" in the map of PFC priorities to queues, or class %u in "
			  "the queue that it has",
			  check_set(check, priorities & -priorities), vl_db_queue_of_tc(port, tc),
			  tc);
}

static void check_queue(struct check *check, const struct check_port *view)
{
	const struct vl_db_port *port = view->port;

	for (unsigned int tc = 0; tc < VL_DB_TCS; tc++) {
		int queue = vl_db_queue_of_tc(port, tc), group = vl_db_pg_of_tc(port, tc);
		uint8_t priorities;
		bool is_stopped = false;

		if (!(view->judged_tcs & 1u << tc) || queue < 0)
			continue;
		priorities = priorities_of_group(port, (unsigned int)group);
		for (unsigned int n = 0; n < VL_DB_CLASSES; n++)
			is_stopped |= priorities & 1u << n && may_stop(check, port, n, queue);
		if (is_stopped)
			continue;
		check_add(check, VL_CHECK_PFC_QUEUE, port,
			  check_place(check, "PORT_QOS_MAP", port->qos, "pfc_to_queue_map"),
			  check_text(check,
				     "class %u comes in by group %d, for which priority %s is "
				     "paused, and leaves by queue %d, which a pause of that "
				     "priority does not stop",
				     tc, group, check_set(check, priorities), queue),
			  NULL, right_queue(check, view, tc, (unsigned int)group, priorities));
	}
}

static void check_headroom_without_pfc(struct check *check, const struct check_port *view)
{
	const struct vl_db_port *port = view->port;
	unsigned int groups = 0;

	if (!port->qos || check_is_pfc_unreadable(port))
		return;
	for (unsigned int group = 0; group < VL_DB_CLASSES; group++) {
		/* That its own priority leads nowhere is said of that. */
		bool is_lost = port->pfc & 1u << group && vl_db_pg_of_priority(port, group) < 0;

		if (view->headroom_groups & ~(unsigned int)view->paused_groups & 1u << group &&
		    port->pgs[group].entry && !is_lost)
			groups |= 1u << group;
	}
	if (groups)
		check_add(check, VL_CHECK_PFC_OFF, port,
			  check_place(check, "PORT_QOS_MAP", port->qos, "pfc_enable"),
			  check_text(check,
				     "%s a lossless profile, but pfc_enable has no "
				     "priority for that (PFC is on for: %s)",
				     check_have(check, "group", groups),
				     port->pfc ? check_set(check, port->pfc) : "none"),
			  NULL,
			  check_text(check, "\"pfc_enable\": \"%s\", or a lossy profile",
				     check_list(check, port->pfc | groups)));
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
		else if (buffer->profile &&
			 check_is_unreadable(buffer->profile->entry, "xoff",
					     buffer->profile->xoff != VL_DB_UNSET))
			continue;
		else if (buffer->profile)
			why = check_text(check, "is group %d's, whose profile %s has no xoff",
					 group, buffer->profile->name);
		else if (check->db->is_dynamic_model && !buffer->entry)
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

/* Priorities with PFC on; of RoCE's classes, if it is known which they are. */
static uint8_t priorities_of_roce(const struct check *check, const struct check_port *view)
{
	const struct vl_db_port *port = view->port;
	uint8_t set = 0;

	if (!check->options->roce_dscps)
		return port->pfc;
	for (unsigned int tc = 0; tc < VL_DB_TCS; tc++) {
		int group = vl_db_pg_of_tc(port, tc);

		if (view->roce_tcs & 1u << tc && group >= 0)
			set |= priorities_of_group(port, (unsigned int)group);
	}
	return set;
}

/* What most ports have, of those that have any. */
static uint8_t usual_priorities(const struct check *check)
{
	unsigned int counts[256] = {0}, best = 0;

	for (unsigned int i = 0; i < check->db->port_count; i++) {
		uint8_t pfc = priorities_of_roce(check, &check->ports[i]);

		if (pfc && ++counts[pfc] > counts[best])
			best = pfc;
	}
	return (uint8_t)best;
}

/* A port that is there to be used. */
static bool is_up(const struct vl_db_port *port)
{
	const struct vl_db_field *status = vl_db_find_field(port->entry, "admin_status");

	return status ? !strcmp(status->text, "up") : port->qos != NULL;
}

static void check_difference(struct check *check, const struct check_port *view, uint8_t usual)
{
	const struct vl_db_port *port = view->port;
	const char *set = check_set(check, usual), *found;
	uint8_t pfc = priorities_of_roce(check, view);

	if (pfc == usual || port->is_internal || check_is_pfc_unreadable(port))
		return;
	/* What is wrong with headroom that no PFC works for is said already. */
	if (!pfc && (!usual || view->headroom_groups || !is_up(port)))
		return;
	if (pfc)
		found = check_text(check, "PFC for %s; most ports have it for %s",
				   check_set(check, pfc), set);
	else
		found = check_text(check, "%s; other ports have PFC for %s",
				   port->qos ? "no PFC" : "no entry in PORT_QOS_MAP, so no PFC",
				   set);
	check_add(check, VL_CHECK_PFC_DIFFERS, port,
		  check_place(check, "PORT_QOS_MAP", port->qos, "pfc_enable"), found, NULL,
		  "the same at every port that RoCE crosses: where a class is lossless at one "
		  "port alone, it is lost at the other");
}

void check_pfc(struct check *check)
{
	uint8_t usual = usual_priorities(check);

	for (unsigned int i = 0; i < check->db->port_count; i++) {
		const struct check_port *view = &check->ports[i];

		check_difference(check, view, usual);
		if (!view->is_used)
			continue;
		check_queue(check, view);
		check_headroom_without_pfc(check, view);
		check_pfc_without_headroom(check, view);
	}
}
