/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Shares of the line. */

#include "apps/check/private.h"

/* Queues that DSCPs lead to. */
static uint8_t reached_queues(const struct check_port *view)
{
	uint8_t set = 0;

	for (unsigned int tc = 0; tc < VL_DB_TCS; tc++) {
		int queue = vl_db_queue_of_tc(view->port, tc);

		if (view->reached_tcs & 1u << tc && queue >= 0)
			set |= (uint8_t)(1u << queue);
	}
	return set;
}

static void check_weights(struct check *check)
{
	for (unsigned int i = 0; i < check->db->scheduler_count; i++) {
		const struct vl_db_scheduler *scheduler = &check->db->schedulers[i];

		if (scheduler->type == VL_DB_STRICT || scheduler->weight)
			continue;
		check_add(check, VL_CHECK_SCHEDULER_WEIGHT, NULL,
			  check_place(check, "SCHEDULER", scheduler->entry, "weight"),
			  check_text(check,
				     "%s has weight 0: its queues get nothing while others "
				     "send",
				     scheduler->name),
			  NULL, "1 to 100");
	}
}

static void check_missing(struct check *check, const struct check_port *view)
{
	const struct vl_db_port *port = view->port;
	const struct vl_db_entry *first = NULL;
	unsigned int with = 0, without = 0;

	for (unsigned int n = 0; n < VL_DB_CLASSES; n++) {
		with += port->queues[n].scheduler != NULL;
		if (!(view->lossless_queues & 1u << n) || port->queues[n].scheduler ||
		    vl_db_find_field(port->queues[n].entry, "scheduler"))
			continue;
		first = first ? first : port->queues[n].entry;
		without |= 1u << n;
	}
	if (without)
		check_add(check, VL_CHECK_SCHEDULER_MISSING, port,
			  check_place(check, "QUEUE", first, "scheduler"),
			  check_text(check, "%s no scheduler%s",
				     check_have(check, "lossless queue", without),
				     with ? ", though others of the port have one" : ""),
			  NULL, "\"scheduler\": the name of a DWRR scheduler");
}

/* A queue that data fills, served before all others without a bound. */
static void check_strict(struct check *check, const struct check_port *view)
{
	const struct vl_db_port *port = view->port;
	uint8_t reached = reached_queues(view);
	int best_effort =
		view->default_tc < 0 ? -1 : vl_db_queue_of_tc(port, (unsigned int)view->default_tc);

	for (unsigned int n = 0; n < VL_DB_CLASSES; n++) {
		const struct vl_db_scheduler *scheduler = port->queues[n].scheduler;
		bool has_data = view->lossless_queues & 1u << n || (int)n == best_effort;
		unsigned int starved = 0;

		if (!scheduler || scheduler->type != VL_DB_STRICT || !has_data ||
		    (scheduler->pir != VL_DB_UNSET && scheduler->pir))
			continue;
		for (unsigned int other = 0; other < VL_DB_CLASSES; other++) {
			const struct vl_db_scheduler *its = port->queues[other].scheduler;

			if (other != n && reached & 1u << other &&
			    (!its || its->type != VL_DB_STRICT || other < n))
				starved |= 1u << other;
		}
		if (!starved)
			continue;
		check_add(check, VL_CHECK_SCHEDULER_STRICT, port,
			  check_place(check, "QUEUE", port->queues[n].entry, "scheduler"),
			  check_text(check,
				     "queue %u, of %s, is strict without a pir: while it has "
				     "packets, queue %s sends nothing",
				     n,
				     view->lossless_queues & 1u << n ? "RoCE's data"
								     : "all other traffic",
				     check_set(check, starved)),
			  NULL, "DWRR with a weight, or a pir; strict for CNPs alone");
	}
}

static void check_sum(struct check *check, const struct check_port *view)
{
	const struct vl_db_port *port = view->port;
	unsigned long long sum = 0;
	unsigned int count = 0;

	for (unsigned int n = 0; n < VL_DB_CLASSES; n++) {
		const struct vl_db_scheduler *scheduler = port->queues[n].scheduler;

		if (!scheduler || scheduler->type == VL_DB_STRICT)
			continue;
		sum += scheduler->weight == VL_DB_UNSET ? 1 : scheduler->weight;
		count++;
	}
	if (!count || sum <= 100)
		return;
	check_add(check, VL_CHECK_SCHEDULER_SUM, port, check_place(check, "QUEUE", NULL, NULL),
		  check_text(check, "weights of %u queues come to %llu", count, sum), NULL,
		  "100, where they are meant as percentages (ETS); else they are mere ratios");
}

void check_schedulers(struct check *check)
{
	check_weights(check);
	for (unsigned int i = 0; i < check->db->port_count; i++) {
		const struct check_port *view = &check->ports[i];

		if (!view->is_used)
			continue;
		check_missing(check, view);
		check_strict(check, view);
		check_sum(check, view);
	}
}
