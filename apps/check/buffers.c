/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Pools, thresholds, and the order of XON and XOFF. */

#include "apps/check/private.h"

#include <math.h>
#include <string.h>

static void check_profile(struct check *check, const struct vl_db_port *port, const char *table,
			  const struct vl_db_buffer *buffer, bool is_ingress)
{
	const struct vl_db_profile *profile = buffer->profile;
	const struct vl_db_pool *pool = profile ? profile->pool : NULL;

	if (!profile)
		return;
	if (profile->static_th == VL_DB_UNSET && !profile->has_dynamic_th &&
	    !check_is_unreadable(profile->entry, "dynamic_th", false) &&
	    !check_is_unreadable(profile->entry, "static_th", false))
		check_add(
			check, VL_CHECK_THRESHOLD, port,
			check_place(check, "BUFFER_PROFILE", profile->entry, NULL),
			check_text(check, "%s has neither dynamic_th nor static_th", profile->name),
			NULL,
			"\"dynamic_th\": \"0\" (as much as is free: alpha 1), or a static_th in "
			"bytes");
	if (pool && (is_ingress ? !pool->is_ingress : !pool->is_egress))
		check_add(check, VL_CHECK_POOL_DIRECTION, port,
			  check_place(check, table, buffer->entry, "profile"),
			  check_text(check, "%s is of %s, a pool of %s", profile->name, pool->name,
				     is_ingress ? "egress" : "ingress"),
			  NULL,
			  check_text(check, "a profile of a pool of type %s",
				     is_ingress ? "ingress" : "egress"));
}

/* The group sends XOFF at its limit, and XON at the larger of xon and limit - xon_offset. */
static void check_xon(struct check *check, const struct vl_db_port *port,
		      const struct vl_db_profile *profile)
{
	double limit = check_limit(check, profile, 1);
	uint64_t xon = profile->xon == VL_DB_UNSET ? 0 : profile->xon;

	if (isinf(limit) || (double)xon <= limit)
		return;
	check_add(check, VL_CHECK_XON_XOFF, port,
		  check_place(check, "BUFFER_PROFILE", profile->entry, "xon"),
		  check_text(check, "%s has xon %llu, and sends XOFF at %.0f bytes", profile->name,
			     (unsigned long long)xon, limit),
		  check_text(check,
			     "XOFF at %.0f bytes, the most that one group gets; %llu is above",
			     limit, (unsigned long long)xon),
		  check_text(check, "xon below %.0f, or xon_offset alone", limit));
}

/* Pools of Mellanox's give what is shared; reserved memory lies beside it. */
static bool is_shared_only(const struct check *check)
{
	const struct vl_db_entry *entry = vl_db_find_entry(
		vl_db_find_table(&check->db->document, "DEVICE_METADATA"), "localhost");
	const struct vl_db_field *platform = vl_db_find_field(entry, "platform");
	const struct vl_db_field *hwsku = vl_db_find_field(entry, "hwsku");

	return check->db->is_dynamic_model ||
	       (platform && (strstr(platform->text, "mlnx") || strstr(platform->text, "nvidia"))) ||
	       (hwsku && (strstr(hwsku->text, "Mellanox") || strstr(hwsku->text, "MSN")));
}

static void check_pool_sizes(struct check *check)
{
	for (unsigned int i = 0; i < check->db->pool_count && !is_shared_only(check); i++) {
		const struct vl_db_pool *pool = &check->db->pools[i];
		unsigned long long reserved = check->reserved[i].bytes, size = pool->size;

		if (pool->size == VL_DB_UNSET || reserved < size || !reserved)
			continue;
		check_add(check, VL_CHECK_POOL_SIZE, NULL,
			  check_place(check, "BUFFER_POOL", pool->entry, "size"),
			  check_text(check,
				     "%s has %llu bytes, and %u groups and queues reserve %llu",
				     pool->name, size, check->reserved[i].count, reserved),
			  check_text(check,
				     "%9llu B  sum of the sizes of the profiles, over all ports\n"
				     "%9llu B  the pool: nothing is left to share",
				     reserved, size),
			  check_text(check, "a pool of well over %llu bytes, or smaller profiles",
				     reserved));
	}
}

static void check_memory(struct check *check)
{
	uint64_t ingress = 0, egress = 0, memory = check->options->memory;

	for (unsigned int i = 0; memory && i < check->db->pool_count; i++) {
		const struct vl_db_pool *pool = &check->db->pools[i];

		if (pool->is_ingress && pool->size != VL_DB_UNSET)
			ingress += pool->size + pool->xoff;
		/* Packets are counted at ingress and at egress; egress pools may overlap, as they
		 * are only limits. */
		if (pool->is_egress && pool->size != VL_DB_UNSET && pool->size > egress)
			egress = pool->size;
	}
	if (ingress <= memory && egress <= memory)
		return;
	check_add(check, VL_CHECK_MEMORY, NULL, check_place(check, "BUFFER_POOL", NULL, NULL),
		  check_text(check,
			     "ingress pools and shared headroom of %llu bytes, an egress pool "
			     "of %llu",
			     (unsigned long long)ingress, (unsigned long long)egress),
		  check_text(check, "the switch has %llu bytes (--memory)",
			     (unsigned long long)memory),
		  check_text(check, "no more than %llu bytes", (unsigned long long)memory));
}

/*
 * All other ports send to one: each group holds its limit, and headroom when it has paused. What
 * they hold together stands in one queue.
 */
static void check_egress(struct check *check, const struct check_port *view, unsigned int group,
			 unsigned int queue, unsigned int senders)
{
	const struct vl_db_port *port = view->port;
	const struct vl_db_profile *ingress = port->pgs[group].profile;
	const struct vl_db_profile *egress = port->queue_buffers[queue].profile;
	double limit = check_limit(check, egress, 1), held, headroom, each;

	if (!ingress || !egress || !ingress->pool || !senders)
		return;
	each = check_limit(check, ingress, senders);
	headroom = (double)ingress->xoff * senders;
	if (ingress->pool->xoff)
		headroom = fmin(headroom, (double)ingress->pool->xoff);
	held = each * senders + headroom;
	if (isinf(held) || limit >= held)
		return;
	check_add(check, VL_CHECK_EGRESS_LIMIT, port,
		  check_place(check, "BUFFER_QUEUE", port->queue_buffers[queue].entry, "profile"),
		  check_text(check, "queue %u holds %.0f bytes by %s, before %u senders are paused",
			     queue, limit, egress->name, senders),
		  check_text(check,
			     "%9.0f B  %u groups of %.0f bytes before XOFF (%s)\n"
			     "%9.0f B  their headroom\n"
			     "%9.0f B  may stand in one queue; it drops from %.0f on",
			     each * senders, senders, each, ingress->name, headroom, held, limit),
		  check_text(check,
			     "a static_th of %.0f or more, or dynamic_th 7, in a pool as large",
			     held));
}

void check_buffers(struct check *check)
{
	unsigned int lossless_ports = 0;

	for (unsigned int i = 0; i < check->db->port_count; i++)
		lossless_ports += check->ports[i].lossless_tcs != 0;
	for (unsigned int i = 0; i < check->db->port_count; i++) {
		const struct check_port *view = &check->ports[i];
		const struct vl_db_port *port = view->port;

		for (unsigned int n = 0; n < VL_DB_CLASSES; n++) {
			check_profile(check, port, "BUFFER_PG", &port->pgs[n], true);
			check_profile(check, port, "BUFFER_QUEUE", &port->queue_buffers[n], false);
			if (view->headroom_groups & 1u << n && port->pgs[n].profile)
				check_xon(check, port, port->pgs[n].profile);
		}
		for (unsigned int tc = 0; tc < VL_DB_TCS; tc++) {
			int queue = vl_db_queue_of_tc(port, tc);

			if (view->judged_tcs & 1u << tc && queue >= 0)
				check_egress(check, view, (unsigned int)vl_db_pg_of_tc(port, tc),
					     (unsigned int)queue, lossless_ports - 1);
		}
	}
	check_pool_sizes(check);
	check_memory(check);
}
