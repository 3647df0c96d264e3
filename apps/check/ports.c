/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Speeds, lanes, error correction, MTUs and cables. */

#include "apps/check/private.h"

#define GIGABIT UINT64_C(1000000000)

/* What a lane carries: Gb/s, and which error corrections there are for it. */
static const struct lane_rate {
	uint64_t gigabits;
	bool has[VL_DB_FEC_AUTO]; /* by enum vl_db_fec */
} lane_rates[] = {
	{1, {[VL_DB_FEC_NONE] = true}},
	{10, {[VL_DB_FEC_NONE] = true, [VL_DB_FEC_FC] = true}},
	{20, {[VL_DB_FEC_NONE] = true, [VL_DB_FEC_FC] = true}},
	{25, {[VL_DB_FEC_NONE] = true, [VL_DB_FEC_FC] = true, [VL_DB_FEC_RS] = true}},
	{50, {[VL_DB_FEC_RS] = true}},
	{100, {[VL_DB_FEC_RS] = true}},
	{200, {[VL_DB_FEC_RS] = true}},
};
#define LANE_RATES (sizeof(lane_rates) / sizeof(lane_rates[0]))

/* Lanes that ports are made of: 10 of 10 Gb/s were the first form of 100 Gb/s. */
static bool is_width(unsigned int lanes)
{
	return lanes == 10 || (lanes <= 16 && !(lanes & (lanes - 1)));
}

/* Whether the port's lanes, or some of them, may make its speed at this rate. */
static bool may_use(const struct vl_db_port *port, const struct lane_rate *rate)
{
	uint64_t lanes = port->speed / (rate->gigabits * GIGABIT);

	return lanes * rate->gigabits * GIGABIT == port->speed && lanes <= port->lane_count &&
	       is_width((unsigned int)lanes);
}

bool check_is_ethernet_speed(uint64_t speed)
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

	if (port->speed == VL_DB_UNSET && view->is_used && !vl_db_find_field(port->entry, "speed"))
		check_add(check, VL_CHECK_PORT_SPEED, port,
			  check_place(check, "PORT", port->entry, "speed"),
			  port->entry ? "no speed"
			  : vl_db_find_table(&check->db->document, "PORT")
				  ? "no entry in PORT"
				  : "no table PORT: headroom cannot be judged",
			  NULL, "PORT|NAME|speed in Mb/s: \"100000\"");
	else if (port->speed != VL_DB_UNSET && !check_is_ethernet_speed(port->speed))
		check_add(
			check, VL_CHECK_PORT_SPEED, port,
			check_place(check, "PORT", port->entry, "speed"),
			check_text(check, "%llu Mb/s", (unsigned long long)(port->speed / 1000000)),
			NULL,
			"10000, 25000, 40000, 50000, 100000, 200000, 400000, 800000 or 1600000 "
			"(Mb/s)");
}

static const char *const corrections[] = {
	[VL_DB_FEC_NONE] = "none",
	[VL_DB_FEC_FC] = "fc",
	[VL_DB_FEC_RS] = "rs",
};

/* The rates that the lanes may have, and the error corrections that go with any of them. */
static unsigned int possible(const struct vl_db_port *port, bool has[VL_DB_FEC_AUTO])
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < LANE_RATES; i++) {
		if (!may_use(port, &lane_rates[i]))
			continue;
		count++;
		for (unsigned int fec = VL_DB_FEC_NONE; fec < VL_DB_FEC_AUTO; fec++)
			has[fec] |= lane_rates[i].has[fec];
	}
	return count;
}

static void check_fec(struct check *check, const struct vl_db_port *port,
		      const bool has[VL_DB_FEC_AUTO])
{
	const char *right = "";

	if (port->fec == VL_DB_FEC_NOT_GIVEN || port->fec == VL_DB_FEC_AUTO || has[port->fec])
		return;
	for (unsigned int fec = VL_DB_FEC_NONE; fec < VL_DB_FEC_AUTO; fec++) {
		if (has[fec])
			right = check_text(check, "%s%s%s", right, *right ? " or " : "",
					   corrections[fec]);
	}
	check_add(check, VL_CHECK_PORT_FEC, port, check_place(check, "PORT", port->entry, "fec"),
		  check_text(check, "fec %s for %llu Gb/s on %u lane%s", corrections[port->fec],
			     (unsigned long long)(port->speed / GIGABIT), port->lane_count,
			     port->lane_count == 1 ? "" : "s"),
		  NULL, right);
}

static void check_lanes(struct check *check, const struct vl_db_port *port)
{
	bool has[VL_DB_FEC_AUTO] = {false};
	unsigned long long speed = port->speed / GIGABIT;

	if (!port->lane_count || port->speed == VL_DB_UNSET || port->is_internal ||
	    !check_is_ethernet_speed(port->speed) || port->speed < GIGABIT)
		return;
	if (is_width(port->lane_count) && possible(port, has)) {
		check_fec(check, port, has);
		return;
	}
	check_add(check, VL_CHECK_PORT_LANES, port,
		  check_place(check, "PORT", port->entry, "lanes"),
		  check_text(check, "%llu Gb/s on %u lane%s", speed, port->lane_count,
			     port->lane_count == 1 ? "" : "s"),
		  check_text(check, "%llu Gb/s / %u = %.4g Gb/s a lane", speed, port->lane_count,
			     (double)port->speed / GIGABIT / port->lane_count),
		  "1, 2, 4, 8, 10 or 16 lanes of 10, 20, 25, 50, 100 or 200 Gb/s that come to the "
		  "speed");
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

#define SHOWN_PAIRS 3u

/* Where lanes are shared it is mostly by a whole plan of ports: one finding for all. Ports are few
 * enough for all pairs of them. */
static void check_shared_lanes(struct check *check)
{
	const struct vl_config_db *db = check->db;
	const char *found = "";
	const struct vl_db_port *first = NULL;
	unsigned int lane, pairs = 0;

	for (unsigned int i = 0; i < db->port_count; i++) {
		for (unsigned int j = i + 1; j < db->port_count; j++) {
			if (!shares_lane(&db->ports[i], &db->ports[j], &lane))
				continue;
			first = first ? first : &db->ports[j];
			if (pairs++ < SHOWN_PAIRS)
				found = check_text(check, "%s%slane %u is of %s and of %s", found,
						   *found ? "; " : "", lane, db->ports[i].name,
						   db->ports[j].name);
		}
	}
	if (!pairs)
		return;
	if (pairs > SHOWN_PAIRS)
		found = check_text(check, "%s; and of %u more pairs of ports", found,
				   pairs - SHOWN_PAIRS);
	for (unsigned int i = 0; i < db->port_count; i++) {
		bool is_shared = false;

		for (unsigned int j = 0; j < db->port_count && !is_shared; j++)
			is_shared = i != j && shares_lane(&db->ports[i], &db->ports[j], &lane);
		if (is_shared)
			check_add(check, VL_CHECK_PORT_LANES, &db->ports[i],
				  check_place(check, "PORT", first->entry, "lanes"), found, NULL,
				  "lanes of its own for each port");
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
	/* What cannot be read is said already. */
	if (cable && port->cable_entry)
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
