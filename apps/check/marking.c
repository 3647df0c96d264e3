/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* ECN: whether it marks, and whether it does so before PFC pauses. */

#include "apps/check/private.h"

#include <math.h>

static const char *const colours[VL_DB_COLOURS] = {"green", "yellow", "red"};

static const char *threshold_name(struct check *check, unsigned int colour, const char *which)
{
	return check_text(check, "%s_%s_threshold", colours[colour], which);
}

static bool is_unreadable(struct check *check, const struct vl_db_wred *wred, unsigned int colour)
{
	return check_is_unreadable(wred->entry, threshold_name(check, colour, "min"),
				   wred->colours[colour].min != VL_DB_UNSET) ||
	       check_is_unreadable(wred->entry, threshold_name(check, colour, "max"),
				   wred->colours[colour].max != VL_DB_UNSET);
}

/* Of a set of colours: the first's. */
static struct vl_db_place probability_place(struct check *check, const struct vl_db_wred *wred,
					    unsigned int set)
{
	unsigned int colour = (unsigned int)__builtin_ctz(set);

	return check_place(check, "WRED_PROFILE", wred->entry,
			   check_text(check, "%s_drop_probability", colours[colour]));
}

static const char *colours_of(struct check *check, unsigned int set)
{
	const char *text = "";

	for (unsigned int colour = 0; colour < VL_DB_COLOURS; colour++) {
		if (set & 1u << colour)
			text = check_text(check, "%s%s%s", text, *text ? ", " : "",
					  colours[colour]);
	}
	return text;
}

static bool is_default(const struct vl_db_wred *wred, unsigned int set)
{
	bool has_any = false;

	for (unsigned int colour = 0; colour < VL_DB_COLOURS; colour++)
		has_any |= set & 1u << colour && wred->colours[colour].has_probability;
	return !has_any;
}

/* Profiles by themselves, of any colour that is in use. */
static void check_profile(struct check *check, const struct vl_db_wred *wred)
{
	unsigned int none = 0, all = 0;

	for (unsigned int colour = 0; colour < VL_DB_COLOURS; colour++) {
		uint64_t min = wred->colours[colour].min, max = wred->colours[colour].max;
		uint64_t probability = wred->colours[colour].probability;

		if (!wred->colours[colour].is_enabled)
			continue;
		if (is_unreadable(check, wred, colour))
			continue;
		if (min == VL_DB_UNSET || max == VL_DB_UNSET)
			check_add(check, VL_CHECK_WRED_THRESHOLDS, NULL,
				  check_place(check, "WRED_PROFILE", wred->entry, NULL),
				  check_text(check, "%s has no %s", wred->name,
					     threshold_name(check, colour,
							    min == VL_DB_UNSET ? "min" : "max")),
				  NULL, "both thresholds, in bytes");
		else if (min > max)
			check_add(check, VL_CHECK_WRED_THRESHOLDS, NULL,
				  check_place(check, "WRED_PROFILE", wred->entry,
					      threshold_name(check, colour, "min")),
				  check_text(check, "%s: %s %llu is above the maximum", wred->name,
					     threshold_name(check, colour, "min"),
					     (unsigned long long)min),
				  check_text(check, "%llu > %llu", (unsigned long long)min,
					     (unsigned long long)max),
				  check_text(check, "at most %llu", (unsigned long long)max));
		if (!probability && min != max)
			none |= 1u << colour;
		else if (probability == 100 && min < max)
			all |= 1u << colour;
	}
	if (none)
		check_add(check, VL_CHECK_WRED_PROBABILITY, NULL,
			  probability_place(check, wred, none),
			  check_text(check,
				     "%s: a probability of 0 for %s: nothing is marked up to the "
				     "maximum, and everything above",
				     wred->name, colours_of(check, none)),
			  NULL, "1 to 20 percent, or both thresholds alike");
	if (all)
		check_add(check, VL_CHECK_WRED_STEEP, NULL, probability_place(check, wred, all),
			  check_text(check, "%s: a probability of 100 for %s%s", wred->name,
				     colours_of(check, all),
				     is_default(wred, all) ? ", as none is given" : ""),
			  NULL,
			  "1 to 20 percent, if DCQCN is to even out many flows; 100 comes near "
			  "to a step");
}

/* The port's queues of lossless classes that have no profile: bit n. */
static unsigned int queues_without_profile(const struct check_port *view)
{
	unsigned int set = 0;

	for (unsigned int tc = 0; tc < VL_DB_TCS; tc++) {
		int queue = vl_db_queue_of_tc(view->port, tc);

		if (view->judged_tcs & 1u << tc && queue >= 0 && !view->port->queues[queue].wred &&
		    !check_is_unreadable(view->port->queues[queue].entry, "wred_profile", false))
			set |= 1u << queue;
	}
	return set;
}

/* Packets are green unless a map or a meter says otherwise. Queues without a profile are reported
 * together, at the first. */
static void check_mode(struct check *check, const struct check_port *view, unsigned int queue,
		       unsigned int without)
{
	const struct vl_db_port *port = view->port;
	const struct vl_db_queue *entry = &port->queues[queue];
	const struct vl_db_wred *wred = entry->wred;

	if (check_is_unreadable(entry->entry, "wred_profile", wred) ||
	    (!wred && without & ((1u << queue) - 1)))
		return;
	if (!wred ||
	    (!wred->colours[VL_DB_GREEN].is_enabled && !wred->colours[VL_DB_GREEN].is_ecn)) {
		check_add(check, VL_CHECK_ECN_OFF, port,
			  check_place(check, "QUEUE", entry->entry, "wred_profile"),
			  wred ? check_text(check, "%s %s, which does nothing to green packets",
					    check_have(check, "queue", 1u << queue), wred->name)
			       : check_text(check, "%s no WRED profile",
					    check_have(check, "queue", without)),
			  NULL,
			  "a WRED profile with \"ecn\": \"ecn_all\" and \"wred_green_enable\": "
			  "\"true\": without, nothing but pauses slows senders");
		return;
	}
	if (!wred->colours[VL_DB_GREEN].is_enabled)
		check_add(check, VL_CHECK_ECN_OFF, port,
			  check_place(check, "WRED_PROFILE", wred->entry, "wred_green_enable"),
			  check_text(check,
				     "%s of queue %u has ecn, but wred_green_enable is not true",
				     wred->name, queue),
			  NULL, "\"wred_green_enable\": \"true\"");
	for (unsigned int colour = 0; colour < VL_DB_COLOURS; colour++) {
		if (!wred->colours[colour].is_enabled || wred->colours[colour].is_ecn)
			continue;
		check_add(check, VL_CHECK_ECN_MODE, port,
			  check_place(check, "WRED_PROFILE", wred->entry, "ecn"),
			  check_text(check,
				     "%s of the lossless queue %u drops %s packets from %s on, "
				     "ECN-capable ones too",
				     wred->name, queue, colours[colour],
				     threshold_name(check, colour, "min")),
			  NULL, "\"ecn\": \"ecn_all\"");
	}
}

/* The most congested ports at which what is marked is at most limit(n); 0: not even at one. */
static unsigned int congested_below(const struct check *check, const struct vl_db_profile *profile,
				    uint64_t threshold)
{
	unsigned int n;

	for (n = 1; n <= check->db->port_count; n++) {
		if ((double)threshold >= check_limit(check, profile, n))
			break;
	}
	return n - 1;
}

/* The fewest senders to one port whose queue reaches the threshold before they are paused; 0: even
 * all do not. */
static unsigned int senders_above(const struct check *check, const struct vl_db_profile *profile,
				  uint64_t threshold)
{
	for (unsigned int m = 1; m < check->db->port_count; m++) {
		if (m * check_limit(check, profile, m) > (double)threshold)
			return m;
	}
	return 0;
}

static const char *show_formula(struct check *check, const struct vl_db_profile *profile)
{
	if (profile->static_th != VL_DB_UNSET)
		return check_text(check, "XOFF at static_th %llu + reserved",
				  (unsigned long long)profile->static_th);
	return check_text(
		check,
		"XOFF at reserved + B * a / (1 + n * a), a = 2^%d = %g, B = %llu - %llu "
		"reserved",
		profile->dynamic_th, ldexp(1, profile->dynamic_th),
		(unsigned long long)profile->pool->size,
		(unsigned long long)check->reserved[profile->pool - check->db->pools].bytes);
}

static const char *show_senders(struct check *check, const struct vl_db_profile *profile,
				uint64_t min)
{
	unsigned int senders = senders_above(check, profile, min);

	if (!senders)
		return "all ports that send to one are paused before its queue reaches Kmin";
	return check_text(check, "%u sender%s to one port fill%s its queue to Kmin before a pause",
			  senders, senders == 1 ? "" : "s", senders == 1 ? "s" : "");
}

static const char *show_limits(struct check *check, const struct vl_db_profile *profile,
			       uint64_t min, uint64_t max)
{
	char text[768] = "";
	size_t used = 0;
	unsigned int ports = check->db->port_count;

	/* 1, 2, 4, ... and all. */
	for (unsigned int n = 1, last = 0; last < ports && used < sizeof(text); n *= 2) {
		last = n < ports ? n : ports;
		used += (size_t)snprintf(
			text + used, sizeof(text) - used, "%9.0f B  with %u congested port%s\n",
			check_limit(check, profile, last), last, last == 1 ? "" : "s");
	}
	return check_text(check, "Kmin %llu, Kmax %llu\n%s\n%s%s", (unsigned long long)min,
			  (unsigned long long)max, show_formula(check, profile), text,
			  show_senders(check, profile, min));
}

/*
 * One sender at each of n congested ports: the queue is as long as what its sender's group holds,
 * so that the queue's thresholds and the group's can be compared. With more senders to a queue it
 * is longer before they are paused.
 */
static void check_against_pfc(struct check *check, const struct check_port *view,
			      unsigned int group, unsigned int queue)
{
	const struct vl_db_port *port = view->port;
	const struct vl_db_profile *profile = port->pgs[group].profile;
	const struct vl_db_wred *wred = port->queues[queue].wred;
	uint64_t min, max;
	unsigned int below_min, below_max, ports = (unsigned int)check->options->congested;
	double limit;

	if (!profile || !profile->pool || !wred || !wred->colours[VL_DB_GREEN].is_enabled ||
	    !wred->colours[VL_DB_GREEN].is_ecn)
		return;
	min = wred->colours[VL_DB_GREEN].min;
	max = wred->colours[VL_DB_GREEN].max;
	limit = check_limit(check, profile, 1);
	if (min == VL_DB_UNSET || max == VL_DB_UNSET || isinf(limit))
		return;
	below_min = congested_below(check, profile, min);
	below_max = congested_below(check, profile, max);
	if (ports > check->db->port_count)
		ports = check->db->port_count;
	if (below_min < 1)
		check_add(check, VL_CHECK_ECN_AFTER_PFC, port,
			  check_place(check, "WRED_PROFILE", wred->entry, "green_min_threshold"),
			  check_text(check,
				     "%s marks from %llu bytes on; the group of %s sends XOFF at "
				     "%.0f",
				     wred->name, (unsigned long long)min, profile->name, limit),
			  show_limits(check, profile, min, max),
			  check_text(check,
				     "green_max_threshold up to %.0f (XOFF with %u congested "
				     "ports), and green_min_threshold well below; or a larger "
				     "dynamic_th",
				     check_limit(check, profile, ports), ports));
	else if (below_max < ports)
		check_add(check, VL_CHECK_ECN_NEAR_PFC, port,
			  check_place(check, "WRED_PROFILE", wred->entry, "green_max_threshold"),
			  check_text(check,
				     "%s marks everything from %llu bytes on; the group of %s "
				     "sends XOFF before when %u ports are congested, and before "
				     "anything is marked from %u on",
				     wred->name, (unsigned long long)max, profile->name,
				     below_max + 1, below_min + 1),
			  show_limits(check, profile, min, max),
			  check_text(check,
				     "green_max_threshold up to %.0f (%u congested ports, "
				     "--congested); or a larger dynamic_th",
				     check_limit(check, profile, ports), ports));
}

static void check_against_limit(struct check *check, const struct check_port *view,
				unsigned int queue)
{
	const struct vl_db_port *port = view->port;
	const struct vl_db_profile *profile = port->queue_buffers[queue].profile;
	const struct vl_db_wred *wred = port->queues[queue].wred;
	double limit = check_limit(check, profile, 1);

	if (!wred || !profile || wred->colours[VL_DB_GREEN].min == VL_DB_UNSET ||
	    !wred->colours[VL_DB_GREEN].is_enabled || isinf(limit) ||
	    (double)wred->colours[VL_DB_GREEN].min < limit)
		return;
	check_add(check, VL_CHECK_ECN_BEYOND_QUEUE, port,
		  check_place(check, "WRED_PROFILE", wred->entry, "green_min_threshold"),
		  check_text(check, "%s marks from %llu bytes on; queue %u holds %.0f by %s",
			     wred->name, (unsigned long long)wred->colours[VL_DB_GREEN].min, queue,
			     limit, profile->name),
		  check_text(check, "%llu >= %.0f",
			     (unsigned long long)wred->colours[VL_DB_GREEN].min, limit),
		  check_text(check, "green_max_threshold below %.0f", limit));
}

void check_marking(struct check *check)
{
	for (unsigned int i = 0; i < check->db->wred_count; i++)
		check_profile(check, &check->db->wreds[i]);
	for (unsigned int i = 0; i < check->db->port_count; i++) {
		const struct check_port *view = &check->ports[i];
		unsigned int without = queues_without_profile(view);

		for (unsigned int tc = 0; tc < VL_DB_TCS; tc++) {
			int queue = vl_db_queue_of_tc(view->port, tc);
			int group = vl_db_pg_of_tc(view->port, tc);

			if (!(view->judged_tcs & 1u << tc) || queue < 0)
				continue;
			check_mode(check, view, (unsigned int)queue, without);
			check_against_pfc(check, view, (unsigned int)group, (unsigned int)queue);
			check_against_limit(check, view, (unsigned int)queue);
		}
	}
}
