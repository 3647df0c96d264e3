/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* From DSCP to class, and from class to queue and group. */

#include "apps/check/private.h"

/* Headroom where nothing turns PFC on. */
static void check_qos_map(struct check *check, const struct check_port *view)
{
	const struct vl_db_port *port = view->port;
	bool has_table = vl_db_find_table(&check->db->document, "PORT_QOS_MAP");

	if (port->qos || port->is_internal || !view->headroom_groups)
		return;
	check_add(
		check, VL_CHECK_QOS_MAP, port, check_place(check, "PORT_QOS_MAP", NULL, NULL),
		check_text(check, "%s, but %s headroom: PFC is off%s",
			   has_table ? "no entry in PORT_QOS_MAP" : "no table PORT_QOS_MAP",
			   check_have(check, "group", view->headroom_groups),
			   check->db->global_dscp_to_tc ? "" : ", and every packet is of class 0"),
		NULL,
		check_text(check,
			   "PORT_QOS_MAP|PORT with pfc_enable \"%s\", dscp_to_tc_map, "
			   "tc_to_queue_map, tc_to_pg_map and pfc_to_queue_map",
			   check_list(check, view->headroom_groups)));
}

/* Where a port lacks but one of what makes a class lossless, that is said of what it lacks. */
static bool lacks_one(const struct check_port *view)
{
	const struct vl_db_port *port = view->port;
	bool has_bad_profile = false;

	for (unsigned int group = 0; group < VL_DB_CLASSES; group++)
		has_bad_profile |= check_is_unreadable(port->pgs[group].entry, "profile",
						       port->pgs[group].profile ||
							       port->pgs[group].is_computed);
	return !port->is_internal && (view->paused_groups || view->headroom_groups ||
				      has_bad_profile || check_is_pfc_unreadable(port));
}

static void check_any_lossless(struct check *check)
{
	unsigned int used = 0;

	for (unsigned int i = 0; i < check->db->port_count; i++) {
		const struct check_port *view = &check->ports[i];

		if (view->lossless_tcs || lacks_one(view))
			return;
		used += view->is_used;
	}
	check_add(check, VL_CHECK_LOSSLESS_CLASS, NULL,
		  check_place(check, "PORT_QOS_MAP", NULL, NULL),
		  used ? "no port has a class whose group has headroom and a PFC priority"
		       : "no port has a PORT_QOS_MAP or a BUFFER_PG",
		  NULL,
		  "PORT_QOS_MAP|PORT|pfc_enable \"3\", and a profile with xoff in "
		  "BUFFER_PG|PORT|3; without, RoCE depends on ECN alone");
}

static const struct vl_db_map *dscp_map(const struct check *check, const struct vl_db_port *port)
{
	return port->dscp_to_tc ? port->dscp_to_tc : check->db->global_dscp_to_tc;
}

static void check_dscp_map(struct check *check, const struct check_port *view)
{
	const struct vl_db_port *port = view->port;

	if (!dscp_map(check, port) && !port->dot1p_to_tc &&
	    !check_is_unreadable(port->qos, "dscp_to_tc_map", false))
		check_add(check, VL_CHECK_DSCP_MAP, port,
			  check_place(check, "PORT_QOS_MAP", port->qos, "dscp_to_tc_map"),
			  "neither dscp_to_tc_map nor PORT_QOS_MAP|global: all packets are of "
			  "class 0",
			  NULL, "\"dscp_to_tc_map\": the name of an entry of DSCP_TO_TC_MAP");
}

static void check_unmapped(struct check *check, const struct check_port *view)
{
	const struct vl_db_map *map = dscp_map(check, view->port);
	uint64_t wanted = check->options->roce_dscps | UINT64_C(1) << check->options->cnp_dscp;
	uint64_t missing = 0;

	for (unsigned int dscp = 0; map && dscp < 64; dscp++) {
		if (map->to[dscp] < 0 && !check_is_given(check, map, dscp))
			missing |= UINT64_C(1) << dscp;
	}
	if (!missing)
		return;
	check_add(check, VL_CHECK_DSCP_UNMAPPED, view->port,
		  check_place(check, "DSCP_TO_TC_MAP", map->entry, NULL),
		  check_text(check, "no class for DSCP %s%s%s", check_set(check, missing),
			     missing & wanted ? "; RoCE's data or CNPs have " : "",
			     missing & wanted ? check_set(check, missing & wanted) : ""),
		  NULL, "a class for each of the 64; what is not mapped is of class 0");
}

/* Groups that are paused and have headroom, but no class: bit n. */
static uint8_t unused_groups(const struct check_port *view)
{
	return view->paused_groups & view->headroom_groups & (uint8_t)~view->lossless_groups;
}

static void check_roce(struct check *check, const struct check_port *view)
{
	const struct vl_db_map *map = dscp_map(check, view->port);

	if (!map || !view->lossless_tcs)
		return;
	if (!check->options->roce_dscps && !(view->lossless_tcs & view->reached_tcs) &&
	    !unused_groups(view))
		check_add(check, VL_CHECK_ROCE_DSCP, view->port,
			  check_place(check, "DSCP_TO_TC_MAP", map->entry, NULL),
			  check_text(check, "no DSCP leads to a lossless class (%s)",
				     check_set(check, view->lossless_tcs)),
			  NULL,
			  check_text(check, "RoCE's DSCP mapped to one of %s, as \"26\": \"%s\"",
				     check_set(check, view->lossless_tcs),
				     check_set(check, view->lossless_tcs & -view->lossless_tcs)));
	for (unsigned int dscp = 0; dscp < 64; dscp++) {
		int tc = map->to[dscp];

		if (!(check->options->roce_dscps & UINT64_C(1) << dscp) ||
		    (tc >= 0 && view->lossless_tcs & 1u << tc))
			continue;
		/* A class without a group, and what cannot be read, are said already. */
		if (tc < 0 ? check_is_given(check, map, dscp)
			   : vl_db_pg_of_tc(view->port, (unsigned int)tc) < 0)
			continue;
		check_add(check, VL_CHECK_ROCE_DSCP, view->port,
			  check_place(check, "DSCP_TO_TC_MAP", map->entry,
				      check_text(check, "%u", dscp)),
			  tc < 0 ? check_text(check, "DSCP %u is not mapped", dscp)
				 : check_text(check, "DSCP %u is of class %d, which is lossy", dscp,
					      tc),
			  NULL,
			  check_text(check, "a lossless class: %s",
				     check_set(check, view->lossless_tcs)));
	}
}

/* Maps without which the switch itself says where a class or a pause leads. */
static void check_maps_given(struct check *check, const struct check_port *view)
{
	const struct vl_db_port *port = view->port;
	const struct {
		const char *field;
		const struct vl_db_map *map;
	} maps[] = {
		{"tc_to_queue_map", port->tc_to_queue},
		{"tc_to_pg_map", port->tc_to_pg},
		{"pfc_to_queue_map", port->pfc_to_queue},
	};
	const char *missing = "", *first = NULL;

	for (unsigned int i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
		if (maps[i].map || vl_db_find_field(port->qos, maps[i].field))
			continue;
		first = first ? first : maps[i].field;
		missing = check_text(check, "%s%s%s", missing, *missing ? ", " : "", maps[i].field);
	}
	if (!first || !view->paused_groups)
		return;
	check_add(check, VL_CHECK_CLASS_MAP, port,
		  check_place(check, "PORT_QOS_MAP", port->qos, first),
		  check_text(check,
			     "not given: %s; queues and groups are what the switch takes "
			     "them to be",
			     missing),
		  NULL, "the name of a map for each");
}

/* NULL: there is no map; then classes beyond the queues and groups have none. */
static const struct vl_db_entry *map_entry(const struct vl_db_map *map)
{
	return map ? map->entry : NULL;
}

/* Classes without a queue or a group, though they have the other or are reached. */
static void check_unmapped_classes(struct check *check, const struct check_port *view)
{
	const struct vl_db_port *port = view->port;

	for (unsigned int tc = 0; tc < VL_DB_TCS; tc++) {
		bool is_lossless = view->lossless_tcs & 1u << tc;

		if (is_lossless && vl_db_queue_of_tc(port, tc) < 0 &&
		    !check_is_given(check, port->tc_to_queue, tc))
			check_add(check, VL_CHECK_CLASS_UNMAPPED, port,
				  check_place(check, "TC_TO_QUEUE_MAP",
					      map_entry(port->tc_to_queue), NULL),
				  check_text(check, "no queue for class %u, which is lossless", tc),
				  NULL,
				  check_text(check, "\"%u\": \"%u\"", tc, tc % VL_DB_CLASSES));
		if (view->roce_tcs & 1u << tc && vl_db_pg_of_tc(port, tc) < 0 &&
		    !check_is_given(check, port->tc_to_pg, tc))
			check_add(check, VL_CHECK_CLASS_UNMAPPED, port,
				  check_place(check, "TC_TO_PRIORITY_GROUP_MAP",
					      map_entry(port->tc_to_pg), NULL),
				  check_text(check, "no group for class %u, which is RoCE's", tc),
				  NULL,
				  check_text(check, "\"%u\": \"%u\"", tc, tc % VL_DB_CLASSES));
	}
}

static void check_unused_groups(struct check *check, const struct check_port *view)
{
	const struct vl_db_map *map = view->port->tc_to_pg;

	for (unsigned int group = 0; group < VL_DB_CLASSES; group++) {
		/* Most give a class the group of its number: then it is that class that is lost,
		 * and RoCE's is said of above. */
		if (!(unused_groups(view) & 1u << group) || check_is_given(check, map, group) ||
		    (view->roce_tcs & 1u << group && check->options->roce_dscps))
			continue;
		check_add(check, VL_CHECK_CLASS_UNMAPPED, view->port,
			  check_place(check, "TC_TO_PRIORITY_GROUP_MAP", map_entry(map), NULL),
			  check_text(check, "no class for group %u, which is lossless", group),
			  NULL, check_text(check, "\"%u\": \"%u\"", group, group));
	}
}

/* Lossy and lossless classes apart: in groups and in queues. */
static void check_sharing(struct check *check, const struct check_port *view)
{
	const struct vl_db_port *port = view->port;
	unsigned int lossy = view->reached_tcs & ~view->lossless_tcs;

	for (unsigned int tc = 0; tc < VL_DB_TCS; tc++) {
		int queue = vl_db_queue_of_tc(port, tc);

		if (!(lossy & 1u << tc) || queue < 0 || !(view->lossless_queues & 1u << queue))
			continue;
		check_add(check, VL_CHECK_SHARED_QUEUE, port,
			  check_place(check, "TC_TO_QUEUE_MAP", map_entry(port->tc_to_queue),
				      check_text(check, "%u", tc)),
			  check_text(check,
				     "queue %d of class %u, which is lossy, is a lossless one",
				     queue, tc),
			  NULL, "a queue that no lossless class has");
	}
	for (unsigned int group = 0; group < VL_DB_CLASSES; group++) {
		uint64_t members = 0;

		for (unsigned int tc = 0; tc < VL_DB_TCS; tc++) {
			if (vl_db_pg_of_tc(port, tc) == (int)group && view->reached_tcs & 1u << tc)
				members |= UINT64_C(1) << tc;
		}
		/* DSCP 0 is never meant to be lossless. */
		if (!(view->lossless_groups & 1u << group) || view->default_tc < 0 ||
		    !(members & UINT64_C(1) << view->default_tc))
			continue;
		check_add(check, VL_CHECK_SHARED_GROUP, port,
			  check_place(check, "TC_TO_PRIORITY_GROUP_MAP", map_entry(port->tc_to_pg),
				      check_text(check, "%d", view->default_tc)),
			  check_text(check,
				     "group %u, which is lossless, has the class of DSCP 0 (%d): "
				     "all that is not RoCE is paused, and pauses, with it",
				     group, view->default_tc),
			  NULL, "a group without headroom for class of DSCP 0, as 0");
	}
}

/* Of its own: lossless or strict, it does not wait for others. */
static void check_cnp_queue(struct check *check, const struct check_port *view, unsigned int queue)
{
	const struct vl_db_queue *its = &view->port->queues[queue];

	if (view->lossless_queues & 1u << queue ||
	    (its->scheduler && its->scheduler->type == VL_DB_STRICT))
		return;
	check_add(
		check, VL_CHECK_CNP_LOSSY, view->port,
		check_place(check, "QUEUE", its->entry, "scheduler"),
		check_text(check,
			   "DSCP %u (CNP) is in queue %u, which is lossy and %s: it is dropped or "
			   "late when other queues are full",
			   (unsigned int)check->options->cnp_dscp, queue,
			   its->scheduler ? "waits for its weight" : "has no scheduler"),
		NULL, "a scheduler of type STRICT for this queue");
}

static void check_cnp(struct check *check, const struct check_port *view)
{
	const struct vl_db_port *port = view->port;
	const struct vl_db_map *map = dscp_map(check, port);
	int queue = view->cnp_tc < 0 ? -1 : vl_db_queue_of_tc(port, (unsigned int)view->cnp_tc);
	int other =
		view->default_tc < 0 ? -1 : vl_db_queue_of_tc(port, (unsigned int)view->default_tc);
	const char *dscp = check_text(check, "%u", (unsigned int)check->options->cnp_dscp);
	uint64_t data = 0;

	if (!map || queue < 0 || !view->roce_tcs)
		return;
	for (unsigned int tc = 0; tc < VL_DB_TCS; tc++) {
		if (view->roce_tcs & 1u << tc && vl_db_queue_of_tc(port, tc) == queue)
			data |= UINT64_C(1) << tc;
	}
	if (data)
		check_add(check, VL_CHECK_CNP_WITH_DATA, port,
			  check_place(check, "DSCP_TO_TC_MAP", map->entry, dscp),
			  check_text(check,
				     "DSCP %s (CNP) is of class %d in queue %d, with RoCE's class "
				     "%s: a CNP waits behind the data, and pauses stop it",
				     dscp, view->cnp_tc, queue, check_set(check, data)),
			  NULL,
			  check_text(check,
				     "a class and queue of its own, as \"%s\": \"6\" in the map",
				     dscp));
	else if (queue == other)
		check_add(check, VL_CHECK_CNP_BEST_EFFORT, port,
			  check_place(check, "DSCP_TO_TC_MAP", map->entry, dscp),
			  check_text(check,
				     "DSCP %s (CNP) is of class %d in queue %d, with DSCP 0: what "
				     "fills that queue delays and drops CNPs",
				     dscp, view->cnp_tc, queue),
			  NULL,
			  check_text(check,
				     "a class and queue of its own, as \"%s\": \"6\" in the map",
				     dscp));
	else
		check_cnp_queue(check, view, (unsigned int)queue);
}

void check_classes(struct check *check)
{
	check_any_lossless(check);
	for (unsigned int i = 0; i < check->db->port_count; i++) {
		const struct check_port *view = &check->ports[i];

		check_qos_map(check, view);
		if (!view->is_used || !view->port->qos)
			continue;
		check_dscp_map(check, view);
		check_unmapped(check, view);
		check_roce(check, view);
		check_maps_given(check, view);
		check_unmapped_classes(check, view);
		check_unused_groups(check, view);
		check_sharing(check, view);
		check_cnp(check, view);
	}
}
