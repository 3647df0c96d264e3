/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What the numbers do not say. */

#include "apps/compare/findings_private.h"

#include <string.h>

/* Of a link's rate, that credits let through. */
#define FULL 0.95

/* Whether seeds scatter more than the groups differ. */
static void limit_seeds(const struct vl_findings_view *view)
{
	const struct vl_plan *plan = view->comparison->plan;
	struct vl_figure *figure;
	double widest = 0;

	if (plan->repeat == 1) {
		vl_findings_limit(
			view->findings,
			"Each was run with one seed (%llu). Differences of a few per cent may be "
			"chance; --repeat runs more seeds and shows how far they scatter.",
			(unsigned long long)plan->base->seed);
		return;
	}
	for (unsigned int i = 0; i < view->count; i++) {
		if (!vl_findings_has(view, i, VL_METRIC_completion_p99_ns))
			continue;
		figure = &view->figures[i][VL_METRIC_completion_p99_ns];
		if (figure->mean > 0 && (figure->most - figure->least) / figure->mean > widest)
			widest = (figure->most - figure->least) / figure->mean;
	}
	vl_findings_limit(
		view->findings,
		"Figures are means of %u seeds. Their p99 completion times scatter by up to %.1f "
		"%% "
		"of the mean within one configuration; smaller differences between configurations "
		"say nothing.",
		plan->repeat, widest * 100);
}

static bool is_infiniband(const char *fabric)
{
	return !strncmp(fabric, "infiniband", strlen("infiniband"));
}

static bool has_both_routings(const struct vl_plan *plan)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < plan->fabric_count; i++)
		count += is_infiniband(plan->fabrics[i]);
	return count && count < plan->fabric_count;
}

/* The credits of a lane come back after a round trip: what part of a link they fill by then. */
static void limit_credits(const struct vl_findings_view *view)
{
	const struct vl_scenario *base = view->comparison->plan->base;
	uint64_t packet = vl_scenario_mtu(base) + VL_INFINIBAND_PACKET_OVERHEAD;
	uint64_t credits = base->infiniband.buffer / packet * packet, round_trip = 0;
	char texts[2][VL_QUANTITY_TEXT];
	double least = 1;

	for (unsigned int i = 0; i < base->cable_count; i++) {
		const struct vl_scenario_links *links = base->cables[i].links;
		uint64_t time;

		if (!links->rate)
			continue;
		time = 2 * links->delay + packet * 8000000000u / links->rate;
		if ((double)credits * 8e9 >= least * (double)time * (double)links->rate)
			continue;
		least = (double)credits * 8e9 / ((double)time * (double)links->rate);
		round_trip = time;
	}
	if (least >= FULL)
		return;
	vl_findings_limit(
		view->findings,
		"InfiniBand's buffers are short for these links: the %s of credits of a lane come "
		"back after %s on the one that needs most, which is %.0f %% of its rate at most. "
		"%s; "
		"PFC's headroom is made for the length anyway.",
		vl_quantity_text(VL_QUANTITY_SIZE, base->infiniband.buffer, texts[0]),
		vl_quantity_text(VL_QUANTITY_DURATION, round_trip, texts[1]), least * 100,
		base->infiniband.buffer < VL_INFINIBAND_MOST_BUFFER
			? "infiniband.buffer makes them larger"
			: "More than that the credits of one lane cannot count");
}

static bool has_infiniband(const struct vl_plan *plan)
{
	for (unsigned int i = 0; i < plan->fabric_count; i++) {
		if (is_infiniband(plan->fabrics[i]))
			return true;
	}
	return false;
}

void vl_findings_say_limits(const struct vl_findings_view *view)
{
	const struct vl_plan *plan = view->comparison->plan;

	limit_seeds(view);
	if (plan->sweep_count)
		vl_findings_limit(
			view->findings,
			"Where one point of a sweep stands for all, it is of those of its group "
			"where most came through the one with the shortest p99 completion time; "
			"the others are in the heat maps and in the table.");
	if (has_infiniband(plan))
		limit_credits(view);
	if (has_both_routings(plan))
		vl_findings_limit(
			view->findings,
			"InfiniBand switches choose a way by destination, Ethernet switches by a "
			"hash "
			"of the flow: which flows share a switch in the middle differs between "
			"them, "
			"and with it who meets whose congestion.");
	vl_findings_limit(
		view->findings,
		"This is one workload on one topology with the parameters listed below. Defaults "
		"that "
		"the scenario does not set are reasonable, not tuned: a fabric that loses here may "
		"win with other thresholds.");
	vl_findings_limit(
		view->findings,
		"The transport is the code that also runs on the wire; links, switches and hosts "
		"are "
		"emulated in virtual time. Hosts post and take messages without delay: PCIe, "
		"memory, "
		"caches of the NIC, drivers and the operating system are not in the times.");
	vl_findings_limit(view->findings, "Emulated switches follow published behaviour of shared "
					  "buffers, marking, pauses and "
					  "credits, not the inner workings of any vendor's chip.");
}
