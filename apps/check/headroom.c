/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Headroom against what speed, cable and MTU ask for. */

#include "apps/check/private.h"
#include "dataplane/fabric/headroom.h"

#include <string.h>

static void fill_input(const struct check *check, const struct vl_db_port *port,
		       struct vl_headroom_input *input)
{
	const struct vl_config_db *db = check->db;

	*input = (struct vl_headroom_input){
		.rate = port->speed,
		.propagation = vl_headroom_propagation((double)check_cable(check, port)),
		.port_mtu = check_frame_length(check, port),
		.smallest = 64,
		.cell_size = (uint32_t)check->options->cell_size,
		.response = -1,
	};
	input->lossless_mtu = input->port_mtu;
	if (check->options->lossless_mtu)
		input->lossless_mtu = (uint32_t)check->options->lossless_mtu + 14;
	else if (!check->options->mtu && db->lossless_mtu != VL_DB_UNSET)
		input->lossless_mtu = (uint32_t)db->lossless_mtu;
	if (db->small_packet_percentage != VL_DB_UNSET)
		input->small_packet_percent = (double)db->small_packet_percentage;
}

static const char *show_sum(struct check *check, const struct vl_headroom *needed,
			    const struct vl_db_profile *profile)
{
	char text[1024];
	size_t used = 0;

	for (unsigned int i = 0; i < needed->term_count && used < sizeof(text); i++) {
		const struct vl_headroom_term *term = &needed->terms[i];

		if (term->bytes <= 0)
			continue;
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%9.0f B  %s\n",
					 term->is_scaled ? term->bytes * needed->cell_factor
							 : term->bytes,
					 term->name);
	}
	if (used >= sizeof(text))
		used = sizeof(text) - 1;
	snprintf(text + used, sizeof(text) - used, "%9.0f B  needed; %.0f B are there",
		 needed->exact, (double)profile->xoff);
	return check_text(check, "%s", text);
}

static const char *show_link(struct check *check, const struct vl_db_port *port,
			     const struct vl_headroom_input *input)
{
	return check_text(check, "%llu Gb/s, %llu m, frames of up to %u bytes",
			  (unsigned long long)(port->speed / 1000000000),
			  (unsigned long long)check_cable(check, port), input->port_mtu);
}

/* Whether it is enough. */
static bool check_group(struct check *check, const struct check_port *view, unsigned int group)
{
	const struct vl_db_port *port = view->port;
	const struct vl_db_profile *profile = port->pgs[group].profile;
	struct vl_headroom needed, bound;
	struct vl_headroom_input input;

	fill_input(check, port, &input);
	vl_headroom_sonic(&input, &needed);
	if ((double)profile->xoff >= needed.exact)
		return true;
	vl_headroom_worst_case(&input, &bound);
	check_add(check, VL_CHECK_HEADROOM, port,
		  check_place(check, "BUFFER_PROFILE", profile->entry, "xoff"),
		  check_text(check, "%s has xoff %llu, for %s", profile->name,
			     (unsigned long long)profile->xoff, show_link(check, port, &input)),
		  show_sum(check, &needed, profile),
		  check_text(check,
			     "\"xoff\": \"%llu\" or more; from \"%llu\" on nothing is lost "
			     "whatever comes",
			     (unsigned long long)needed.bytes, (unsigned long long)bound.bytes));
	return false;
}

/* Where no pool has shared headroom, it is part of what the group has reserved. */
static void check_reservation(struct check *check, const struct vl_db_port *port,
			      const struct vl_db_profile *profile)
{
	if (!profile->pool || profile->pool->xoff || profile->size == VL_DB_UNSET ||
	    profile->size >= profile->xoff)
		return;
	check_add(check, VL_CHECK_HEADROOM_RESERVED, port,
		  check_place(check, "BUFFER_PROFILE", profile->entry, "size"),
		  check_text(check,
			     "%s has size %llu and xoff %llu, and pool %s has no xoff (shared "
			     "headroom)",
			     profile->name, (unsigned long long)profile->size,
			     (unsigned long long)profile->xoff, profile->pool->name),
		  check_text(check, "%llu - %llu = %llu bytes of headroom are nobody's",
			     (unsigned long long)profile->xoff, (unsigned long long)profile->size,
			     (unsigned long long)(profile->xoff - profile->size)),
		  check_text(check,
			     "\"size\": \"%llu\" or more (xon + xoff), or an xoff in "
			     "BUFFER_POOL|%s",
			     (unsigned long long)(profile->xoff +
						  (profile->xon == VL_DB_UNSET ? 0 : profile->xon)),
			     profile->pool->name));
}

static void check_shared(struct check *check, const struct vl_db_port *port,
			 const struct vl_db_profile *profile)
{
	const struct vl_db_pool *pool = profile->pool;
	uint64_t wanted = check->options->congested * profile->xoff;

	if (!pool || !pool->xoff || pool->xoff >= wanted)
		return;
	check_add(check, VL_CHECK_SHARED_HEADROOM, port,
		  check_place(check, "BUFFER_POOL", pool->entry, "xoff"),
		  check_text(check, "%s has xoff %llu for all groups; %s takes up to %llu of it",
			     pool->name, (unsigned long long)pool->xoff, profile->name,
			     (unsigned long long)profile->xoff),
		  check_text(check, "%llu / %llu = %.1f groups that can be paused at once",
			     (unsigned long long)pool->xoff, (unsigned long long)profile->xoff,
			     (double)pool->xoff / (double)profile->xoff),
		  check_text(check, "\"xoff\": \"%llu\" for %llu groups (--congested)",
			     (unsigned long long)wanted,
			     (unsigned long long)check->options->congested));
}

/* Names as SONiC's buffer manager gives: pg_lossless_100000_40m_profile. */
static void check_name(struct check *check, const struct vl_db_port *port,
		       const struct vl_db_profile *profile, unsigned int group)
{
	unsigned long long speed, cable, port_speed = port->speed / 1000000;
	char end[16] = "";
	bool is_other;

	/* A cable of 0 m, or a speed that there is not, is what is wrong then. */
	if (!port->cable || !check_is_ethernet_speed(port->speed))
		return;
	if (sscanf(profile->name, "pg_lossless_%llu_%llum_%15s", &speed, &cable, end) != 3 ||
	    strncmp(end, "profile", 7))
		return;
	is_other = speed != port_speed || (port->cable != VL_DB_UNSET && cable != port->cable);
	if (!is_other)
		return;
	check_add(
		check, VL_CHECK_PROFILE_NAME, port,
		check_place(check, "BUFFER_PG", port->pgs[group].entry, "profile"),
		port->cable == VL_DB_UNSET
			? check_text(check, "%s at a port of %llu Mb/s", profile->name, port_speed)
			: check_text(check, "%s at a port of %llu Mb/s with %llu m", profile->name,
				     port_speed, (unsigned long long)port->cable),
		NULL,
		port->cable == VL_DB_UNSET
			? check_text(check, "a profile for %llu Mb/s", port_speed)
			: check_text(check, "pg_lossless_%llu_%llum_profile", port_speed,
				     (unsigned long long)port->cable));
}

void check_headroom(struct check *check)
{
	for (unsigned int i = 0; i < check->db->port_count; i++) {
		const struct check_port *view = &check->ports[i];
		const struct vl_db_port *port = view->port;
		uint64_t cable = check_cable(check, port);

		for (unsigned int group = 0; group < VL_DB_CLASSES; group++) {
			const struct vl_db_profile *profile = port->pgs[group].profile;

			if (!profile || !(view->headroom_groups & 1u << group))
				continue;
			check_reservation(check, port, profile);
			check_shared(check, port, profile);
			if (port->speed == VL_DB_UNSET || cable == VL_DB_UNSET)
				continue;
			if (!(view->paused_groups & 1u << group) || check_group(check, view, group))
				check_name(check, port, profile, group);
		}
	}
}
