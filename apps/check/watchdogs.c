/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The PFC watchdog: there, and not quicker than what pauses for a good reason. */

#include "apps/check/private.h"

#define LEAST_TIME 100u /* ms, that SONiC takes (orchagent/pfcwdorch.h) */

static void check_missing(struct check *check, const struct check_port *view)
{
	const struct vl_db_port *port = view->port;
	uint8_t unwatched = port->pfc & (uint8_t)~port->watchdog_priorities;

	if (!port->watchdog && !check->db->has_default_watchdog)
		check_add(check, VL_CHECK_WATCHDOG_MISSING, port,
			  check_place(check, "PFC_WD", NULL, NULL),
			  "no entry in PFC_WD: one host that pauses for ever stops all that share "
			  "a queue with it",
			  NULL,
			  "\"action\": \"drop\", \"detection_time\": \"200\", "
			  "\"restoration_time\": \"200\", as pfcwd start_default gives up to 32 "
			  "ports");
	else if (port->has_watchdog_priorities && unwatched)
		check_add(check, VL_CHECK_WATCHDOG_MISSING, port,
			  check_place(check, "PORT_QOS_MAP", port->qos, "pfcwd_sw_enable"),
			  check_text(check, "PFC for %s, but no watchdog for %s",
				     check_set(check, port->pfc), check_set(check, unwatched)),
			  NULL, "pfcwd_sw_enable as pfc_enable");
}

static uint64_t slowest_speed(const struct check *check)
{
	uint64_t slowest = UINT64_MAX;

	for (unsigned int i = 0; i < check->db->port_count; i++) {
		const struct check_port *view = &check->ports[i];

		if (view->lossless_tcs && view->port->speed < slowest)
			slowest = view->port->speed;
	}
	return slowest;
}

static uint64_t largest_pool(const struct check *check)
{
	uint64_t largest = 0;

	for (unsigned int i = 0; i < check->db->pool_count; i++) {
		const struct vl_db_pool *pool = &check->db->pools[i];

		if (pool->size != VL_DB_UNSET && pool->size > largest)
			largest = pool->size;
	}
	return largest;
}

static const char *time_text(struct check *check, const char *name, uint64_t time)
{
	return check_text(check, "%s %llu ms", name, (unsigned long long)time);
}

/* What is shorter than an interval at which it is looked at. */
static void check_poll(struct check *check, const struct vl_db_port *port)
{
	const struct vl_db_watchdog *watchdog = port->watchdog;
	uint64_t poll = check->db->poll_interval;
	bool is_detected_late, is_restored_late;

	if (poll == VL_DB_UNSET)
		return;
	/* A time that is not given is greater. */
	is_detected_late = watchdog->detection < poll;
	is_restored_late = watchdog->restoration < poll;
	if (!is_detected_late && !is_restored_late)
		return;
	check_add(check, VL_CHECK_WATCHDOG_POLL, port,
		  check_place(check, "PFC_WD", watchdog->entry,
			      is_detected_late ? "detection_time" : "restoration_time"),
		  check_text(check, "%s%s%s, looked at every %llu ms",
			     is_detected_late
				     ? time_text(check, "detection_time", watchdog->detection)
				     : "",
			     is_detected_late && is_restored_late ? " and " : "",
			     is_restored_late
				     ? time_text(check, "restoration_time", watchdog->restoration)
				     : "",
			     (unsigned long long)poll),
		  NULL,
		  check_text(check, "both at least PFC_WD|GLOBAL|POLL_INTERVAL: \"%llu\"",
			     (unsigned long long)poll));
}

/*
 * A port is paused for a good reason while what its peer holds drains: at most a packet memory as
 * large as this switch's, through one port as slow as the slowest here.
 */
static void check_times(struct check *check, const struct vl_db_port *port)
{
	const struct vl_db_watchdog *watchdog = port->watchdog;
	uint64_t slowest = slowest_speed(check), pool = largest_pool(check);
	double legitimate = slowest == UINT64_MAX ? 0 : (double)pool * 8e3 / (double)slowest;

	if (check_is_unreadable(watchdog->entry, "detection_time",
				watchdog->detection != VL_DB_UNSET))
		return;
	if (watchdog->detection == VL_DB_UNSET)
		check_add(check, VL_CHECK_VALUE, port,
			  check_place(check, "PFC_WD", watchdog->entry, "detection_time"),
			  "no detection_time: SONiC refuses the entry", NULL,
			  "100 to 5000 milliseconds: \"200\"");
	else if (watchdog->detection < LEAST_TIME || (double)watchdog->detection < legitimate)
		check_add(check, VL_CHECK_WATCHDOG_SHORT, port,
			  check_place(check, "PFC_WD", watchdog->entry, "detection_time"),
			  check_text(check, "detection_time %llu ms",
				     (unsigned long long)watchdog->detection),
			  check_text(check,
				     "%llu bytes at %.4g Gb/s take %.4g ms to drain, and SONiC "
				     "takes no less than %u ms",
				     (unsigned long long)pool, (double)slowest / 1e9, legitimate,
				     LEAST_TIME),
			  check_text(check, "\"%.0f\" or more",
				     legitimate > 100 ? legitimate * 2 : 200));
	check_poll(check, port);
}

void check_watchdogs(struct check *check)
{
	for (unsigned int i = 0; i < check->db->port_count; i++) {
		const struct check_port *view = &check->ports[i];

		if (view->is_used && view->lossless_tcs)
			check_missing(check, view);
		if (view->port->watchdog)
			check_times(check, view->port);
	}
}
