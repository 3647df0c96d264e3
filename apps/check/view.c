/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What the tables come to for each port, and the sizes that several checks need. */

#include "apps/check/private.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define ETHERNET_HEADER 14u

uint32_t check_frame_length(const struct check *check, const struct vl_db_port *port)
{
	uint64_t mtu = check->options->mtu ? check->options->mtu : port->mtu;

	return (uint32_t)(mtu == VL_DB_UNSET ? DEFAULT_MTU : mtu) + ETHERNET_HEADER;
}

uint64_t check_cable(const struct check *check, const struct vl_db_port *port)
{
	return check->options->cable_length != VL_DB_UNSET ? check->options->cable_length
							   : port->cable;
}

bool check_is_unreadable(const struct vl_db_entry *entry, const char *field, bool is_read)
{
	const struct vl_db_field *given = vl_db_find_field(entry, field);

	return given && *given->text && !is_read;
}

bool check_is_given(struct check *check, const struct vl_db_map *map, unsigned int from)
{
	return map && vl_db_find_field(map->entry, check_text(check, "%u", from));
}

bool check_is_pfc_unreadable(const struct vl_db_port *port)
{
	return check_is_unreadable(port->qos, "pfc_enable", port->pfc);
}

static void add_reserved(struct check *check, const struct vl_db_buffer *buffer)
{
	const struct vl_db_profile *profile = buffer->profile;

	if (!profile || !profile->pool || profile->size == VL_DB_UNSET || !profile->size)
		return;
	check->reserved[profile->pool - check->db->pools].bytes += profile->size;
	check->reserved[profile->pool - check->db->pools].count++;
}

static void sum_reserved(struct check *check)
{
	for (unsigned int i = 0; i < check->db->port_count; i++) {
		for (unsigned int n = 0; n < VL_DB_CLASSES; n++) {
			add_reserved(check, &check->db->ports[i].pgs[n]);
			add_reserved(check, &check->db->ports[i].queue_buffers[n]);
		}
	}
}

double check_limit(const struct check *check, const struct vl_db_profile *profile, unsigned int n)
{
	double shared, reserved, alpha;

	if (!profile || !profile->pool)
		return INFINITY;
	/* Headroom is behind the limit; where it is reserved it is part of the size. */
	reserved = profile->size == VL_DB_UNSET ? 0 : (double)profile->size;
	if (profile->xoff != VL_DB_UNSET && !profile->pool->xoff)
		reserved -= fmin(reserved, (double)profile->xoff);
	if (profile->static_th != VL_DB_UNSET)
		return reserved + (double)profile->static_th;
	if (!profile->has_dynamic_th || profile->pool->size == VL_DB_UNSET)
		return INFINITY;
	shared = (double)profile->pool->size -
		 (double)check->reserved[profile->pool - check->db->pools].bytes;
	alpha = ldexp(1, profile->dynamic_th);
	return reserved + fmax(shared, 0) * alpha / (1 + alpha * n);
}

/* In the traditional model, SONiC's buffer manager gives a lossless profile to each priority with
 * PFC that has none, if it knows the cable (cfgmgr/buffermgr.cpp, doSpeedUpdateTask). */
static bool gets_profile(const struct check *check, const struct vl_db_port *port, unsigned int n)
{
	const struct vl_db_buffer *group = &port->pgs[n];
	uint64_t cable = check_cable(check, port);

	if (group->is_computed)
		return true;
	return !check->db->is_dynamic_model && !group->entry && port->pfc & 1u << n && cable &&
	       cable != VL_DB_UNSET;
}

static bool has_headroom(const struct check *check, const struct vl_db_port *port, unsigned int n)
{
	const struct vl_db_profile *profile = port->pgs[n].profile;

	if (profile)
		return profile->xoff != VL_DB_UNSET && profile->xoff;
	return gets_profile(check, port, n);
}

/* Best effort in the group of a lossless class has nothing else said of it: that it is there is
 * what is wrong. */
static uint16_t judged_classes(const struct check_port *view)
{
	uint16_t judged = view->lossless_tcs & view->reached_tcs;
	int group = view->default_tc < 0
			    ? -1
			    : vl_db_pg_of_tc(view->port, (unsigned int)view->default_tc);

	for (unsigned int tc = 0; group >= 0 && tc < VL_DB_TCS; tc++) {
		if ((int)tc != view->default_tc && judged & 1u << tc &&
		    vl_db_pg_of_tc(view->port, tc) == group)
			return judged & (uint16_t) ~(1u << view->default_tc);
	}
	return judged;
}

static void view_classes(const struct check *check, struct check_port *view)
{
	const struct vl_db_port *port = view->port;

	for (unsigned int tc = 0; tc < VL_DB_TCS; tc++) {
		int group = vl_db_pg_of_tc(port, tc), queue = vl_db_queue_of_tc(port, tc);

		if (group < 0 || !(view->paused_groups & view->headroom_groups & 1u << group))
			continue;
		view->lossless_tcs |= (uint16_t)(1u << tc);
		view->lossless_groups |= (uint8_t)(1u << group);
		if (queue >= 0)
			view->lossless_queues |= (uint8_t)(1u << queue);
	}
	for (unsigned int dscp = 0; dscp < 64; dscp++) {
		int tc = vl_db_tc_of_dscp(check->db, port, dscp);

		if (tc < 0)
			continue;
		view->reached_tcs |= (uint16_t)(1u << tc);
		if (check->options->roce_dscps & UINT64_C(1) << dscp)
			view->roce_tcs |= (uint16_t)(1u << tc);
	}
	if (!check->options->roce_dscps)
		view->roce_tcs = view->lossless_tcs & view->reached_tcs;
	view->cnp_tc = vl_db_tc_of_dscp(check->db, port, (unsigned int)check->options->cnp_dscp);
	view->default_tc = vl_db_tc_of_dscp(check->db, port, 0);
	view->judged_tcs = judged_classes(view);
}

static void view_port(const struct check *check, struct check_port *view)
{
	const struct vl_db_port *port = view->port;

	view->is_used = port->qos && !port->is_internal;
	for (unsigned int n = 0; n < VL_DB_CLASSES; n++) {
		int group = vl_db_pg_of_priority(port, n);

		if (port->pfc & 1u << n && group >= 0)
			view->paused_groups |= (uint8_t)(1u << group);
		if (has_headroom(check, port, n))
			view->headroom_groups |= (uint8_t)(1u << n);
		view->is_used |= port->pgs[n].entry && !port->is_internal;
	}
	view_classes(check, view);
}

/* ---- What the reader found ----------------------------------------------------------------- */

static void report_problems(struct check *check)
{
	static const enum vl_check_rule rules[] = {
		[VL_DB_BAD_VALUE] = VL_CHECK_VALUE,
		[VL_DB_BAD_KEY] = VL_CHECK_KEY,
		[VL_DB_BAD_REFERENCE] = VL_CHECK_REFERENCE,
		[VL_DB_OLD_REFERENCE] = VL_CHECK_OLD_REFERENCE,
		[VL_DB_DUPLICATE] = VL_CHECK_DUPLICATE,
	};

	for (const struct vl_db_problem *problem = check->db->problems; problem;
	     problem = problem->next) {
		/* "Ethernet0|3-4" is of Ethernet0. */
		size_t length = problem->key ? strcspn(problem->key, "|") : 0;
		bool is_whole = !problem->key || !problem->key[length] ||
				strchr(problem->key + length + 1, '|');

		check_add_named(check, rules[problem->kind],
				is_whole ? problem->key
					 : check_text(check, "%.*s", (int)length, problem->key),
				problem->place, problem->found, NULL, problem->right);
	}
}

const struct vl_check_options vl_check_defaults = {
	.cable_length = VL_DB_UNSET,
	.congested = 4,
	.cnp_dscp = 48,
};

int vl_check_run(struct vl_config_db *db, const struct vl_check_options *options,
		 struct vl_check_findings *findings)
{
	struct check check = {.db = db, .options = options, .findings = findings};

	*findings = (struct vl_check_findings){0};
	check.ports = vl_arena_allocate(&db->document.arena, db->port_count * sizeof(*check.ports));
	check.reserved =
		vl_arena_allocate(&db->document.arena, db->pool_count * sizeof(*check.reserved));
	if (!check.ports || !check.reserved)
		return -ENOMEM;
	sum_reserved(&check);
	for (unsigned int i = 0; i < db->port_count; i++) {
		check.ports[i].port = &db->ports[i];
		view_port(&check, &check.ports[i]);
	}
	report_problems(&check);
	check_ports(&check);
	check_classes(&check);
	check_pfc(&check);
	check_headroom(&check);
	check_buffers(&check);
	check_marking(&check);
	check_schedulers(&check);
	check_watchdogs(&check);
	return check.out_of_memory ? -ENOMEM : 0;
}
