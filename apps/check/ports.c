/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Speeds, lanes, error correction, MTUs and cables. */

#include "apps/check/private.h"

#define GIGABIT UINT64_C(1000000000)

/* What a lane carries: Gb/s, and which error corrections there are for it. */
static const struct lane_rate {
	uint64_t gigabits;
	bool has_none, has_fire_code, has_reed_solomon;
} lane_rates[] = {
	{1, true, false, false},   {5, true, false, false},  {10, true, true, false},
	{25, true, true, true},    {50, false, false, true}, {100, false, false, true},
	{200, false, false, true},
};

static const struct lane_rate *find_lane_rate(uint64_t speed, unsigned int lanes)
{
	for (unsigned int i = 0; i < sizeof(lane_rates) / sizeof(lane_rates[0]); i++) {
		if (lane_rates[i].gigabits * GIGABIT * lanes == speed)
			return &lane_rates[i];
	}
	return NULL;
}

static bool is_ethernet_speed(uint64_t speed)
{
	static const uint64_t megabits[] = {10,    100,   1000,   2500,   5000,   10000,  25000,
					    40000, 50000, 100000, 200000, 400000, 800000, 1600000};

	for (unsigned int i = 0; i < sizeof(megabits) / sizeof(megabits[0]); i++) {
		if (megabits[i] * 1000000 == speed)
			return true;
	}
	return false;
}

static void check_speed(struct check *check, const struct check_port *view)
{
	const struct vl_db_port *port = view->port;

	if (port->speed == VL_DB_UNSET && view->is_used)
		check_add(check, VL_CHECK_PORT_SPEED, port,
			  check_place(check, "PORT", port->entry, "speed"),
			  port->entry ? "no speed" : "no entry in PORT", NULL,
			  "PORT|NAME|speed in Mb/s: \"100000\"");
	else if (port->speed != VL_DB_UNSET && !is_ethernet_speed(port->speed))
		check_add(
			check, VL_CHECK_PORT_SPEED, port,
			check_place(check, "PORT", port->entry, "speed"),
			check_text(check, "%llu Mb/s", (unsigned long long)(port->speed / 1000000)),
			NULL,
			"10000, 25000, 40000, 50000, 100000, 200000, 400000, 800000 or 1600000 "
			"(Mb/s)");
}

static const char *corrections(const struct lane_rate *rate)
{
	if (rate->has_reed_solomon)
		return rate->has_none ? "rs, fc or none, as the cable asks for" : "rs";
	return rate->has_fire_code ? "none or fc" : "none";
}

static void check_lanes(struct check *check, const struct vl_db_port *port)
{
	const struct lane_rate *rate;
	bool is_right;

	if (!port->lane_count || port->speed == VL_DB_UNSET)
		return;
	rate = find_lane_rate(port->speed, port->lane_count);
	if (!rate && is_ethernet_speed(port->speed) && port->speed > GIGABIT) {
		check_add(check, VL_CHECK_PORT_LANES, port,
			  check_place(check, "PORT", port->entry, "lanes"),
			  check_text(check, "%llu Gb/s on %u lane%s",
				     (unsigned long long)(port->speed / GIGABIT), port->lane_count,
				     port->lane_count == 1 ? "" : "s"),
			  check_text(check, "%llu Gb/s / %u = %.4g Gb/s a lane",
				     (unsigned long long)(port->speed / GIGABIT), port->lane_count,
				     (double)port->speed / GIGABIT / port->lane_count),
			  "lanes of 10, 25, 50, 100 or 200 Gb/s");
		return;
	}
	if (!rate || port->fec == VL_DB_FEC_NOT_GIVEN || port->fec == VL_DB_FEC_AUTO)
		return;
	is_right = port->fec == VL_DB_FEC_NONE ? rate->has_none
		   : port->fec == VL_DB_FEC_FC ? rate->has_fire_code
					       : rate->has_reed_solomon;
	if (!is_right)
		check_add(check, VL_CHECK_PORT_FEC, port,
			  check_place(check, "PORT", port->entry, "fec"),
			  check_text(check, "fec %s on lanes of %llu Gb/s",
				     port->fec == VL_DB_FEC_NONE ? "none"
				     : port->fec == VL_DB_FEC_FC ? "fc"
								 : "rs",
				     (unsigned long long)rate->gigabits),
			  NULL, corrections(rate));
}

static bool shares_lane(const struct vl_db_port *a, const struct vl_db_port *b, unsigned int *lane)
{
	for (unsigned int i = 0; i < a->lane_count; i++) {
		for (unsigned int j = 0; j < b->lane_count; j++) {
			if (a->lanes[i] == b->lanes[j]) {
				*lane = a->lanes[i];
				return true;
			}
		}
	}
	return false;
}

/* Ports are few enough for all pairs of them. */
static void check_shared_lanes(struct check *check)
{
	const struct vl_config_db *db = check->db;
	unsigned int lane;

	for (unsigned int i = 0; i < db->port_count; i++) {
		for (unsigned int j = i + 1; j < db->port_count; j++) {
			if (!shares_lane(&db->ports[i], &db->ports[j], &lane))
				continue;
			check_add(check, VL_CHECK_PORT_LANES, &db->ports[j],
				  check_place(check, "PORT", db->ports[j].entry, "lanes"),
				  check_text(check, "lane %u, which is %s's too", lane,
					     db->ports[i].name),
				  NULL, "lanes of its own for each port");
		}
	}
}

static void check_mtus(struct check *check)
{
	const struct vl_db_port *largest = NULL, *smallest = NULL;

	for (unsigned int i = 0; i < check->db->port_count; i++) {
		const struct check_port *view = &check->ports[i];

		if (!view->lossless_tcs || view->port->mtu == VL_DB_UNSET)
			continue;
		if (!largest || view->port->mtu > largest->mtu)
			largest = view->port;
		if (!smallest || view->port->mtu < smallest->mtu)
			smallest = view->port;
	}
	if (!largest || largest->mtu == smallest->mtu)
		return;
	for (unsigned int i = 0; i < check->db->port_count; i++) {
		const struct check_port *view = &check->ports[i];

		if (!view->lossless_tcs || view->port->mtu == VL_DB_UNSET ||
		    view->port->mtu == largest->mtu)
			continue;
		check_add(check, VL_CHECK_PORT_MTU, view->port,
			  check_place(check, "PORT", view->port->entry, "mtu"),
			  check_text(check,
				     "mtu %llu; packets of up to %llu bytes from %s do not fit",
				     (unsigned long long)view->port->mtu,
				     (unsigned long long)largest->mtu, largest->name),
			  NULL,
			  check_text(check, "%llu, as other ports have",
				     (unsigned long long)largest->mtu));
	}
}

static void check_cable_length(struct check *check, const struct check_port *view)
{
	const struct vl_db_port *port = view->port;
	uint64_t cable = check_cable(check, port);

	if (!(view->paused_groups || view->headroom_groups) || port->is_internal ||
	    (cable && cable != VL_DB_UNSET))
		return;
	check_add(check, VL_CHECK_CABLE_LENGTH, port,
		  check_place(check, "CABLE_LENGTH", port->cable_entry, port->name),
		  cable ? "no cable length" : "a cable of 0 m, by which SONiC makes no headroom",
		  NULL,
		  "CABLE_LENGTH|AZURE|PORT in whole metres: \"40m\" (or --cable-length to judge)");
}

void check_ports(struct check *check)
{
	for (unsigned int i = 0; i < check->db->port_count; i++) {
		check_speed(check, &check->ports[i]);
		check_lanes(check, check->ports[i].port);
		check_cable_length(check, &check->ports[i]);
	}
	check_shared_lanes(check);
	check_mtus(check);
}
