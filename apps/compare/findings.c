/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/compare/findings.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

/* Of a link's rate, that credits let through. */
#define FULL 0.95
/* A bystander that takes so much longer is a victim. */
#define MUCH_LONGER 1.25
#define MUCH_LESS   0.90
/* Closer values are not called different. */
#define ALIKE  0.03
#define UNEVEN 0.95

static void add(char **texts, unsigned int *count, const char *format, va_list arguments)
{
	if (*count < VL_MAX_FINDINGS && vasprintf(&texts[*count], format, arguments) >= 0)
		++*count;
}

static void say(struct vl_findings *findings, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void say(struct vl_findings *findings, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	add(findings->says, &findings->says_count, format, arguments);
	va_end(arguments);
}

static void limit(struct vl_findings *findings, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void limit(struct vl_findings *findings, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	add(findings->limits, &findings->limits_count, format, arguments);
	va_end(arguments);
}

void vl_findings_release(struct vl_findings *findings)
{
	for (unsigned int i = 0; i < findings->says_count; i++)
		free(findings->says[i]);
	for (unsigned int i = 0; i < findings->limits_count; i++)
		free(findings->limits[i]);
	*findings = (struct vl_findings){0};
}

/* ---- The shown points, side by side ---------------------------------------------------------- */

struct view {
	const struct vl_comparison *comparison;
	struct vl_findings *findings;
	struct vl_figure (*figures)[VL_METRIC_COUNT]; /* by group, of the shown point */
	unsigned int *points;                         /* by group; UINT_MAX: none */
	unsigned int count;
};

static const char *label(const struct view *view, unsigned int group, char text[VL_PLAN_LABEL])
{
	return vl_plan_point_label(view->comparison->plan, view->points[group], text);
}

static bool has(const struct view *view, unsigned int group, enum vl_metric metric)
{
	return view->points[group] != UINT_MAX && view->figures[group][metric].count;
}

static double value(const struct view *view, unsigned int group, enum vl_metric metric)
{
	return view->figures[group][metric].mean;
}

/* The groups with the least and the most of a metric; false: fewer than two have it. */
static bool find_ends(const struct view *view, enum vl_metric metric, unsigned int *least,
		      unsigned int *most)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < view->count; i++) {
		if (!has(view, i, metric))
			continue;
		if (!count || value(view, i, metric) < value(view, *least, metric))
			*least = i;
		if (!count || value(view, i, metric) > value(view, *most, metric))
			*most = i;
		count++;
	}
	return count >= 2;
}

static const char *time_text(double ns, char text[VL_QUANTITY_TEXT])
{
	return vl_quantity_text(VL_QUANTITY_DURATION, (uint64_t)ns, text);
}

static const char *rate_text(double bps, char text[VL_QUANTITY_TEXT])
{
	return vl_quantity_text(VL_QUANTITY_RATE, (uint64_t)bps, text);
}

/* The labels of groups that hold up to a condition, as "A, B and C". */
static char *join_labels(const struct view *view, enum vl_metric metric, bool nonzero)
{
	char *text = NULL, one[VL_PLAN_LABEL];
	unsigned int total = 0, done = 0;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (unsigned int i = 0; i < view->count; i++)
		total += has(view, i, metric) && (value(view, i, metric) > 0) == nonzero;
	for (unsigned int i = 0; i < view->count; i++) {
		if (!has(view, i, metric) || (value(view, i, metric) > 0) != nonzero)
			continue;
		fprintf(out, "%s%s",
			!done              ? ""
			: done + 1 < total ? ", "
					   : " and ",
			label(view, i, one));
		done++;
	}
	if (!fclose(out) && done)
		return text;
	free(text);
	return NULL;
}

/* ---- Sentences ------------------------------------------------------------------------------ */

static void say_completion(const struct view *view)
{
	char first[VL_PLAN_LABEL], last[VL_PLAN_LABEL], text[4][VL_QUANTITY_TEXT];
	unsigned int least, most;
	double low, high;

	if (!find_ends(view, VL_METRIC_completion_p99_ns, &least, &most))
		return;
	low = value(view, least, VL_METRIC_completion_p99_ns);
	high = value(view, most, VL_METRIC_completion_p99_ns);
	if (high <= low * (1 + ALIKE)) {
		say(view->findings,
		    "Completion times hardly differ: 99 %% of the messages were done within %s to "
		    "%s on all of them.",
		    time_text(low, text[0]), time_text(high, text[1]));
		return;
	}
	say(view->findings,
	    "The slowest hundredth of the messages waited least on %s: p99 is %s (median %s). On "
	    "%s it is %s (median %s), %.1f times as long.",
	    label(view, least, first), time_text(low, text[0]),
	    time_text(value(view, least, VL_METRIC_completion_p50_ns), text[1]),
	    label(view, most, last), time_text(high, text[2]),
	    time_text(value(view, most, VL_METRIC_completion_p50_ns), text[3]), high / low);
}

/* A workload at the shown points: where its jobs are shortest and where longest. */
static void say_jobs_of(const struct view *view, unsigned int class_number)
{
	const struct vl_record_class *least = NULL, *most = NULL, *class;
	char first[VL_PLAN_LABEL], last[VL_PLAN_LABEL], text[2][VL_QUANTITY_TEXT];
	const struct vl_record *record;
	char bandwidth[80] = "";

	for (unsigned int i = 0; i < view->count; i++) {
		record = view->points[i] == UINT_MAX
				 ? NULL
				 : vl_comparison_record(view->comparison, view->points[i]);
		class = record && class_number < record->head.class_count
				? &record->classes[class_number]
				: NULL;
		if (!class || class->kind != VL_RECORD_WORKLOAD || !class->jobs.finished)
			continue;
		if (!least || class->jobs.mean < least->jobs.mean) {
			least = class;
			label(view, i, first);
		}
		if (!most || class->jobs.mean > most->jobs.mean) {
			most = class;
			label(view, i, last);
		}
	}
	if (!least || least == most || most->jobs.mean <= least->jobs.mean * (1 + ALIKE))
		return;
	if (least->jobs.busbw > 0)
		snprintf(bandwidth, sizeof(bandwidth), "; bus bandwidth %.2f and %.2f GB/s",
			 least->jobs.busbw / 8e9, most->jobs.busbw / 8e9);
	say(view->findings,
	    "Jobs of %s are shortest on %s, %s on average (%.2f times the ideal), and longest on "
	    "%s, %s (%.2f times)%s.",
	    least->name, first, time_text(least->jobs.mean, text[0]), least->jobs.slowdown_mean,
	    last, time_text(most->jobs.mean, text[1]), most->jobs.slowdown_mean, bandwidth);
}

static void say_jobs(const struct view *view)
{
	const struct vl_record *any = vl_comparison_any_record(view->comparison);

	for (unsigned int i = 0; any && i < any->head.class_count; i++) {
		if (any->classes[i].kind == VL_RECORD_WORKLOAD)
			say_jobs_of(view, i);
	}
}

static void say_goodput(const struct view *view)
{
	char first[VL_PLAN_LABEL], last[VL_PLAN_LABEL], text[2][VL_QUANTITY_TEXT];
	unsigned int least, most;
	double low, high;

	if (!find_ends(view, VL_METRIC_goodput_bps, &least, &most))
		return;
	low = value(view, least, VL_METRIC_goodput_bps);
	high = value(view, most, VL_METRIC_goodput_bps);
	if (high <= low * (1 + ALIKE))
		say(view->findings,
		    "All of them bring about as much payload through: %s to %s together.",
		    rate_text(low, text[0]), rate_text(high, text[1]));
	else
		say(view->findings,
		    "%s brings most payload through, %s over all queue pairs; %s least, %s "
		    "(%.0f %% less).",
		    label(view, most, first), rate_text(high, text[0]), label(view, least, last),
		    rate_text(low, text[1]), (1 - low / high) * 100);
}

static void say_loss(const struct view *view)
{
	char worst[VL_PLAN_LABEL];
	unsigned int least, most;
	char *lossless = join_labels(view, VL_METRIC_dropped, false);
	bool any = find_ends(view, VL_METRIC_dropped, &least, &most) &&
		   value(view, most, VL_METRIC_dropped) > 0;

	if (any)
		say(view->findings,
		    "Most packets were lost on %s: %.0f, and %.0f were sent again.%s%s%s",
		    label(view, most, worst), value(view, most, VL_METRIC_dropped),
		    value(view, most, VL_METRIC_retransmitted), lossless ? " None on " : "",
		    lossless ? lossless : "", lossless ? "." : "");
	else if (lossless)
		say(view->findings, "No packet was lost on any of them.");
	free(lossless);
}

/* The link that was held back longest at the shown point of a group. NULL: none did. */
static const struct vl_record_link *find_held_back(const struct view *view, unsigned int group,
						   double *held)
{
	const struct vl_record *record =
		vl_comparison_record(view->comparison, view->points[group]);
	const struct vl_record_link *found = NULL;
	double time;

	*held = 0;
	for (unsigned int i = 0; i < record->head.link_count; i++) {
		time = (double)(record->links[i].paused_ns + record->links[i].stalled_ns);
		if (time <= *held)
			continue;
		*held = time;
		found = &record->links[i];
	}
	return found;
}

static void say_held_back(const struct view *view)
{
	char name[VL_PLAN_LABEL], text[2][VL_QUANTITY_TEXT];
	const struct vl_record_link *link;
	const struct vl_record *record;
	double held;
	bool paused;

	for (unsigned int i = 0; i < view->count; i++) {
		if (view->points[i] == UINT_MAX)
			continue;
		record = vl_comparison_record(view->comparison, view->points[i]);
		link = find_held_back(view, i, &held);
		if (!link || held < ALIKE * (double)record->head.end)
			continue;
		paused = link->paused_ns >= link->stalled_ns;
		say(view->findings,
		    paused ? "On %s the link from %s to %s was paused by PFC for %s of %s (%.0f "
			     "%%); "
			     "whatever else crosses it waits with it."
			   : "On %s the link from %s to %s had a packet to send but no credits for "
			     "%s of %s (%.0f %%); whatever else shares its lane waits with it.",
		    label(view, i, name), link->from, link->to, time_text(held, text[0]),
		    time_text((double)record->head.end, text[1]),
		    held * 100 / (double)record->head.end);
	}
}

static void say_queue(const struct view *view)
{
	char first[VL_PLAN_LABEL], last[VL_PLAN_LABEL];
	unsigned int least, most;
	double low, high;

	if (!find_ends(view, VL_METRIC_queue_mean_bytes, &least, &most))
		return;
	low = value(view, least, VL_METRIC_queue_mean_bytes);
	high = value(view, most, VL_METRIC_queue_mean_bytes);
	if (high < 1500 || high <= low * (1 + ALIKE))
		return;
	say(view->findings,
	    "The queue at the bottleneck is shortest on %s, %.1f KB on average, and longest on "
	    "%s, %.1f KB: that is what every packet there waits behind.",
	    label(view, least, first), low / 1e3, label(view, most, last), high / 1e3);
}

static void say_fairness(const struct view *view)
{
	char first[VL_PLAN_LABEL], last[VL_PLAN_LABEL];
	unsigned int least, most;

	if (!find_ends(view, VL_METRIC_jain_index, &least, &most) ||
	    value(view, least, VL_METRIC_jain_index) >= UNEVEN)
		return;
	say(view->findings,
	    "The queue pairs that meet at the bottleneck share it least evenly on %s (Jain's index "
	    "%.3f, where 1 is even) and most evenly on %s (%.3f).",
	    label(view, least, last), value(view, least, VL_METRIC_jain_index),
	    label(view, most, first), value(view, most, VL_METRIC_jain_index));
}

/* Whether a class does that much worse than at its best point. */
static bool is_much_worse(const struct vl_victim *victim, double p99, double goodput)
{
	return p99 > MUCH_LONGER * victim->best_p99 || goodput < MUCH_LESS * victim->best_goodput;
}

/* " So it is on ... and ...": the points but the worst where it is a victim too. */
static void name_others(const struct view *view, const struct vl_victim *victim, char *text,
			size_t size)
{
	const struct vl_comparison *comparison = view->comparison;
	struct vl_histogram *times = malloc(sizeof(*times));
	char name[VL_PLAN_LABEL], quantity[2][VL_QUANTITY_TEXT];
	unsigned int count = 0;
	size_t used = 0;
	double p99, goodput;

	*text = '\0';
	for (unsigned int i = 0; times && i < view->count; i++) {
		unsigned int point = view->points[i];

		if (point == UINT_MAX || point == victim->worst || point == victim->best ||
		    !vl_comparison_record(comparison, point))
			continue;
		memset(times, 0, sizeof(*times));
		vl_comparison_times(comparison, point, victim->class_number, times);
		p99 = times->count ? (double)vl_histogram_percentile(times, 0.99) : INFINITY;
		goodput = vl_comparison_class_goodput(comparison, point, victim->class_number);
		if (!is_much_worse(victim, p99, goodput) || used >= size)
			continue;
		vl_plan_point_label(comparison->plan, point, name);
		used += (size_t)snprintf(
			text + used, size - used, "%s%s (%s, %s)", count++ ? "; " : " So it is on ",
			name, isinf(p99) ? "nothing completed" : time_text(p99, quantity[0]),
			rate_text(goodput, quantity[1]));
	}
	if (used && used < size)
		snprintf(text + used, size - used, ".");
	free(times);
}

static void say_victims(const struct view *view)
{
	const struct vl_record *any = vl_comparison_any_record(view->comparison);
	char best[VL_PLAN_LABEL], worst[VL_PLAN_LABEL], text[4][VL_QUANTITY_TEXT], others[500];
	struct vl_victim victim;

	for (unsigned int i = 0; any && i < any->head.class_count; i++) {
		if (!vl_compare_bystander(view->comparison, i, &victim) ||
		    !vl_compare_is_victim(&victim))
			continue;
		vl_plan_point_label(view->comparison->plan, victim.worst, worst);
		vl_plan_point_label(view->comparison->plan, victim.best, best);
		name_others(view, &victim, others, sizeof(others));
		if (isinf(victim.worst_p99))
			say(view->findings,
			    "%s is a victim: it does not cross the bottleneck, yet on %s it "
			    "completes "
			    "no message in the measured window, where on %s 99 %% take at most "
			    "%s.%s",
			    any->classes[i].name, worst, best, time_text(victim.best_p99, text[0]),
			    others);
		else
			say(view->findings,
			    "%s is a victim: it does not cross the bottleneck, yet on %s its "
			    "messages "
			    "take %s at p99 and it gets %s through, against %s and %s on %s.%s",
			    any->classes[i].name, worst, time_text(victim.worst_p99, text[0]),
			    rate_text(victim.worst_goodput, text[1]),
			    time_text(victim.best_p99, text[2]),
			    rate_text(victim.best_goodput, text[3]), best, others);
	}
}

static void say_incomplete(const struct view *view)
{
	char name[VL_PLAN_LABEL];

	for (unsigned int i = 0; i < view->count; i++) {
		if (has(view, i, VL_METRIC_incomplete) && value(view, i, VL_METRIC_incomplete) > 0)
			say(view->findings,
			    "On %s, %.0f queue pairs or workloads failed or did not get all "
			    "their messages through in time: what they did not complete is not in "
			    "the times.",
			    label(view, i, name), value(view, i, VL_METRIC_incomplete));
	}
}

static void say_undone(const struct view *view)
{
	const struct vl_comparison *comparison = view->comparison;
	unsigned int total = comparison->plan->point_count * comparison->plan->repeat;
	unsigned int failed = vl_comparison_count(comparison, VL_RUN_FAILED);
	unsigned int missing = vl_comparison_count(comparison, VL_RUN_NOT_DONE);

	if (missing)
		say(view->findings,
		    "These results are partial: the comparison was interrupted, and %u of %u runs "
		    "were not done.",
		    missing, total);
	if (failed)
		say(view->findings, "%u of %u runs failed and are not in the figures.", failed,
		    total);
}

/* Whether seeds scatter more than the groups differ. */
static void limit_seeds(const struct view *view)
{
	const struct vl_plan *plan = view->comparison->plan;
	struct vl_figure *figure;
	double widest = 0;

	if (plan->repeat == 1) {
		limit(view->findings,
		      "Each was run with one seed (%llu). Differences of a few per cent may be "
		      "chance; --repeat runs more seeds and shows how far they scatter.",
		      (unsigned long long)plan->base->seed);
		return;
	}
	for (unsigned int i = 0; i < view->count; i++) {
		if (!has(view, i, VL_METRIC_completion_p99_ns))
			continue;
		figure = &view->figures[i][VL_METRIC_completion_p99_ns];
		if (figure->mean > 0 && (figure->most - figure->least) / figure->mean > widest)
			widest = (figure->most - figure->least) / figure->mean;
	}
	limit(view->findings,
	      "Figures are means of %u seeds. Their p99 completion times scatter by up to %.1f %% "
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
static void limit_credits(const struct view *view)
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
	limit(view->findings,
	      "InfiniBand's buffers are short for these links: the %s of credits of a lane come "
	      "back after %s on the one that needs most, which is %.0f %% of its rate at most. %s; "
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

static void say_limits(const struct view *view)
{
	const struct vl_plan *plan = view->comparison->plan;

	limit_seeds(view);
	if (plan->sweep_count)
		limit(view->findings,
		      "Where one point of a sweep stands for all, it is the one with the shortest "
		      "p99 completion time of its group; the others are in the heat maps and in "
		      "the table.");
	if (has_infiniband(plan))
		limit_credits(view);
	if (has_both_routings(plan))
		limit(view->findings,
		      "InfiniBand switches choose a way by destination, Ethernet switches by a "
		      "hash "
		      "of the flow: which flows share a switch in the middle differs between them, "
		      "and with it who meets whose congestion.");
	limit(view->findings,
	      "This is one workload on one topology with the parameters listed below. Defaults "
	      "that "
	      "the scenario does not set are reasonable, not tuned: a fabric that loses here may "
	      "win with other thresholds.");
	limit(view->findings,
	      "The transport is the code that also runs on the wire; links, switches and hosts are "
	      "emulated in virtual time. Hosts post and take messages without delay: PCIe, memory, "
	      "caches of the NIC, drivers and the operating system are not in the times.");
	limit(view->findings,
	      "Emulated switches follow published behaviour of shared buffers, marking, pauses and "
	      "credits, not the inner workings of any vendor's chip.");
}

void vl_findings_make(const struct vl_comparison *comparison, struct vl_findings *findings)
{
	unsigned int groups = comparison->plan->group_count;
	struct view view = {.comparison = comparison, .findings = findings, .count = groups};

	*findings = (struct vl_findings){0};
	view.figures = calloc(groups, sizeof(*view.figures));
	view.points = calloc(groups, sizeof(*view.points));
	for (unsigned int i = 0; view.figures && view.points && i < groups; i++) {
		view.points[i] = vl_comparison_shown_point(comparison, i);
		if (view.points[i] != UINT_MAX)
			vl_comparison_figures(comparison, view.points[i], view.figures[i]);
	}
	if (view.figures && view.points) {
		say_undone(&view);
		say_jobs(&view);
		say_completion(&view);
		say_goodput(&view);
		say_loss(&view);
		say_victims(&view);
		say_held_back(&view);
		say_queue(&view);
		say_fairness(&view);
		say_incomplete(&view);
		say_limits(&view);
	}
	free(view.figures);
	free(view.points);
}

/* ---- Victims -------------------------------------------------------------------------------- */

bool vl_compare_bystander(const struct vl_comparison *comparison, unsigned int class_number,
			  struct vl_victim *victim)
{
	struct vl_histogram *times = malloc(sizeof(*times));
	const struct vl_record *record;
	unsigned int count = 0, point;
	double p99;

	*victim = (struct vl_victim){.class_number = class_number};
	for (unsigned int group = 0; times && group < comparison->plan->group_count; group++) {
		point = vl_comparison_shown_point(comparison, group);
		record = point == UINT_MAX ? NULL : vl_comparison_record(comparison, point);
		if (!record || class_number >= record->head.class_count)
			continue;
		if (record->classes[class_number].crosses_bottleneck) {
			count = 0;
			break;
		}
		memset(times, 0, sizeof(*times));
		vl_comparison_times(comparison, point, class_number, times);
		p99 = times->count ? (double)vl_histogram_percentile(times, 0.99) : INFINITY;
		if (!count || p99 < victim->best_p99) {
			victim->best = point;
			victim->best_p99 = p99;
		}
		if (!count || p99 > victim->worst_p99) {
			victim->worst = point;
			victim->worst_p99 = p99;
		}
		count++;
	}
	free(times);
	if (count < 2 || isinf(victim->best_p99))
		return false;
	victim->best_goodput = vl_comparison_class_goodput(comparison, victim->best, class_number);
	victim->worst_goodput =
		vl_comparison_class_goodput(comparison, victim->worst, class_number);
	return true;
}

bool vl_compare_is_victim(const struct vl_victim *victim)
{
	return is_much_worse(victim, victim->worst_p99, victim->worst_goodput);
}
