/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/compare/findings.h"

#include "apps/compare/findings_private.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#define UNEVEN 0.95

static void add(char **texts, unsigned int *count, const char *format, va_list arguments)
{
	if (*count < VL_MAX_FINDINGS && vasprintf(&texts[*count], format, arguments) >= 0)
		++*count;
}

void vl_findings_say(struct vl_findings *findings, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	add(findings->says, &findings->says_count, format, arguments);
	va_end(arguments);
}

void vl_findings_limit(struct vl_findings *findings, const char *format, ...)
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

static bool all_are_whole(const struct vl_findings_view *view)
{
	for (unsigned int i = 0; i < view->count; i++) {
		if (view->points[i] != UINT_MAX && !view->whole[i])
			return false;
	}
	return true;
}

/*
 * The groups with the least and the most of a metric. The better end is one of those that are
 * whole: where what is slow never came through, the rest is not better for it. False: there are no
 * two to set beside each other.
 */
static bool find_ends(const struct vl_findings_view *view, enum vl_metric metric,
		      unsigned int *least, unsigned int *most)
{
	int better = vl_metric_describe(metric)->better;
	unsigned int low = UINT_MAX, high = UINT_MAX, count = 0;

	for (unsigned int i = 0; i < view->count; i++) {
		if (!vl_findings_has(view, i, metric))
			continue;
		count++;
		if ((better > 0 || view->whole[i]) &&
		    (low == UINT_MAX ||
		     vl_findings_value(view, i, metric) < vl_findings_value(view, low, metric)))
			low = i;
		if ((better <= 0 || view->whole[i]) &&
		    (high == UINT_MAX ||
		     vl_findings_value(view, i, metric) > vl_findings_value(view, high, metric)))
			high = i;
	}
	*least = low;
	*most = high;
	return count >= 2 && low != UINT_MAX && high != UINT_MAX &&
	       (low != high || all_are_whole(view));
}

static const char *rate_text(double bps, char text[VL_QUANTITY_TEXT])
{
	return vl_quantity_text(VL_QUANTITY_RATE, (uint64_t)bps, text);
}

/* "1us to 2us", or "1us" where both read the same. */
#define RANGE_TEXT (2 * VL_QUANTITY_TEXT + 8)
static const char *range_text(const char *low, const char *high, char text[RANGE_TEXT])
{
	snprintf(text, RANGE_TEXT, "%s%s%s", low, strcmp(low, high) ? " to " : "",
		 strcmp(low, high) ? high : "");
	return text;
}

/* The labels of groups that hold up to a condition, as "A, B and C". */
static char *join_labels(const struct vl_findings_view *view, enum vl_metric metric, bool nonzero)
{
	char *text = NULL, one[VL_PLAN_LABEL];
	unsigned int total = 0, done = 0;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (unsigned int i = 0; i < view->count; i++)
		total += vl_findings_has(view, i, metric) &&
			 (vl_findings_value(view, i, metric) > 0) == nonzero;
	for (unsigned int i = 0; i < view->count; i++) {
		if (!vl_findings_has(view, i, metric) ||
		    (vl_findings_value(view, i, metric) > 0) != nonzero)
			continue;
		fprintf(out, "%s%s",
			!done              ? ""
			: done + 1 < total ? ", "
					   : " and ",
			vl_findings_label(view, i, one));
		done++;
	}
	if (!fclose(out) && done)
		return text;
	free(text);
	return NULL;
}

const char *vl_findings_ties(const struct vl_findings_view *view, unsigned int best,
			     char text[VL_FINDINGS_TIES_TEXT])
{
	unsigned int total = 0, done = 0;
	char name[VL_PLAN_LABEL];
	size_t used = 0;

	*text = '\0';
	for (unsigned int i = 0; i < view->count; i++)
		total += i != best && view->alike[i];
	if (total > VL_FINDINGS_MAX_TIES)
		snprintf(text, VL_FINDINGS_TIES_TEXT, "%u more", total);
	for (unsigned int i = 0; i < view->count && total <= VL_FINDINGS_MAX_TIES; i++) {
		if (i == best || !view->alike[i] || used >= VL_FINDINGS_TIES_TEXT)
			continue;
		used += (size_t)snprintf(text + used, VL_FINDINGS_TIES_TEXT - used, "%s%s",
					 !done              ? ""
					 : done + 1 < total ? ", "
							    : " and ",
					 vl_findings_label(view, i, name));
		done++;
	}
	used = strlen(text);
	if (total)
		snprintf(text + used, VL_FINDINGS_TIES_TEXT - used, " within %.0f %%",
			 VL_FINDINGS_ALIKE * 100);
	return text;
}

/* The same of a metric. */
static const char *metric_ties(const struct vl_findings_view *view, enum vl_metric metric,
			       unsigned int best, char text[VL_FINDINGS_TIES_TEXT])
{
	bool is_more_better = vl_metric_describe(metric)->better > 0;
	double value, least = vl_findings_value(view, best, metric);

	for (unsigned int i = 0; i < view->count; i++) {
		value = vl_findings_has(view, i, metric) ? vl_findings_value(view, i, metric) : NAN;
		view->alike[i] = view->whole[i] &&
				 (is_more_better ? value >= least / (1 + VL_FINDINGS_ALIKE)
						 : value <= least * (1 + VL_FINDINGS_ALIKE));
	}
	return vl_findings_ties(view, best, text);
}

/* ---- Sentences ------------------------------------------------------------------------------ */

static void say_completion(const struct vl_findings_view *view)
{
	char first[VL_PLAN_LABEL], last[VL_PLAN_LABEL], text[4][VL_QUANTITY_TEXT];
	char both[RANGE_TEXT];
	unsigned int least, most;
	char ties[VL_FINDINGS_TIES_TEXT];
	double low, high;

	if (!find_ends(view, VL_METRIC_completion_p99_ns, &least, &most))
		return;
	low = vl_findings_value(view, least, VL_METRIC_completion_p99_ns);
	high = vl_findings_value(view, most, VL_METRIC_completion_p99_ns);
	if (high <= low * (1 + VL_FINDINGS_ALIKE)) {
		if (all_are_whole(view))
			vl_findings_say(
				view->findings,
				"Completion times hardly differ: 99 %% of the messages were done "
				"within %s on all of them.",
				range_text(vl_findings_time(low, text[0]),
					   vl_findings_time(high, text[1]), both));
		return;
	}
	vl_findings_say(
		view->findings,
		"The slowest hundredth of the messages waited least on %s: p99 is %s (median "
		"%s%s%s). "
		"On "
		"%s it is %s (median %s), %.1f times as long.",
		vl_findings_label(view, least, first), vl_findings_time(low, text[0]),
		vl_findings_time(vl_findings_value(view, least, VL_METRIC_completion_p50_ns),
				 text[1]),
		*metric_ties(view, VL_METRIC_completion_p99_ns, least, ties) ? "; " : "", ties,
		vl_findings_label(view, most, last), vl_findings_time(high, text[2]),
		vl_findings_time(vl_findings_value(view, most, VL_METRIC_completion_p50_ns),
				 text[3]),
		high / low);
}

static void say_goodput(const struct vl_findings_view *view)
{
	char first[VL_PLAN_LABEL], last[VL_PLAN_LABEL], text[2][VL_QUANTITY_TEXT];
	char both[RANGE_TEXT];
	unsigned int least, most;
	char ties[VL_FINDINGS_TIES_TEXT];
	double low, high;

	if (!find_ends(view, VL_METRIC_goodput_bps, &least, &most))
		return;
	low = vl_findings_value(view, least, VL_METRIC_goodput_bps);
	high = vl_findings_value(view, most, VL_METRIC_goodput_bps);
	if (high <= low * (1 + VL_FINDINGS_ALIKE) && !all_are_whole(view))
		return;
	if (high <= low * (1 + VL_FINDINGS_ALIKE))
		vl_findings_say(
			view->findings,
			"All of them bring about as much payload through, %s together.",
			range_text(rate_text(low, text[0]), rate_text(high, text[1]), both));
	else
		vl_findings_say(view->findings,
				"%s brings most payload through, %s over all queue pairs%s%s%s; %s "
				"least, %s "
				"(%.0f %% less).",
				vl_findings_label(view, most, first), rate_text(high, text[0]),
				*metric_ties(view, VL_METRIC_goodput_bps, most, ties) ? " (" : "",
				ties, *ties ? ")" : "", vl_findings_label(view, least, last),
				rate_text(low, text[1]), (1 - low / high) * 100);
}

/* The group with the most of a count; UINT_MAX: all have none. */
static unsigned int find_most(const struct vl_findings_view *view, enum vl_metric metric)
{
	unsigned int most = UINT_MAX;

	for (unsigned int i = 0; i < view->count; i++) {
		if (vl_findings_has(view, i, metric) && vl_findings_value(view, i, metric) > 0 &&
		    (most == UINT_MAX ||
		     vl_findings_value(view, i, metric) > vl_findings_value(view, most, metric)))
			most = i;
	}
	return most;
}

static void say_loss(const struct vl_findings_view *view)
{
	char worst[VL_PLAN_LABEL], *lossless = join_labels(view, VL_METRIC_dropped, false);
	unsigned int most = find_most(view, VL_METRIC_dropped);
	unsigned int refused = find_most(view, VL_METRIC_refused);

	if (most != UINT_MAX)
		vl_findings_say(
			view->findings,
			"Most packets were lost on %s: %.0f, and %.0f were sent again.%s%s%s",
			vl_findings_label(view, most, worst),
			vl_findings_value(view, most, VL_METRIC_dropped),
			vl_findings_value(view, most, VL_METRIC_retransmitted),
			lossless ? " None on " : "", lossless ? lossless : "", lossless ? "." : "");
	else if (lossless && refused == UINT_MAX)
		vl_findings_say(view->findings, "No packet was lost on any of them.");
	else if (lossless)
		vl_findings_say(
			view->findings,
			"No switch and no link lost a packet, but endpoints refused some that had "
			"arrived, most of them on %s: %.0f, and %.0f were sent again.",
			vl_findings_label(view, refused, worst),
			vl_findings_value(view, refused, VL_METRIC_refused),
			vl_findings_value(view, refused, VL_METRIC_retransmitted));
	free(lossless);
}

/* The link of which one priority, or lane, was held back longest at the shown point of a group.
 * NULL: none was. */
static const struct vl_record_link *find_held_back(const struct vl_findings_view *view,
						   unsigned int group, double *held)
{
	const struct vl_record *record =
		vl_comparison_record(view->comparison, view->points[group]);
	const struct vl_record_link *found = NULL;
	double time;

	*held = 0;
	for (unsigned int i = 0; i < record->head.link_count; i++) {
		time = fmax((double)record->links[i].longest_paused_ns,
			    (double)record->links[i].longest_stalled_ns);
		if (time <= *held)
			continue;
		*held = time;
		found = &record->links[i];
	}
	return found;
}

static void say_held_back(const struct vl_findings_view *view)
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
		if (!link || held < VL_FINDINGS_ALIKE * (double)record->head.end)
			continue;
		paused = link->longest_paused_ns >= link->longest_stalled_ns;
		vl_findings_say(
			view->findings,
			paused ? "On %s a priority of the link from %s to %s was paused by PFC for "
				 "%s of %s (%.0f %%); whatever else has that priority there waits "
				 "with it."
			       : "On %s the link from %s to %s had a packet to send but no credits "
				 "for "
				 "%s of %s (%.0f %%); whatever else shares its lane waits with it.",
			vl_findings_label(view, i, name), link->from, link->to,
			vl_findings_time(held, text[0]),
			vl_findings_time((double)record->head.end, text[1]),
			held * 100 / (double)record->head.end);
	}
}

static void say_queue(const struct vl_findings_view *view)
{
	char first[VL_PLAN_LABEL], last[VL_PLAN_LABEL];
	const struct vl_record *record = vl_comparison_any_record(view->comparison);
	unsigned int least, most;
	double low, high;

	if (!find_ends(view, VL_METRIC_queue_mean_bytes, &least, &most))
		return;
	low = vl_findings_value(view, least, VL_METRIC_queue_mean_bytes);
	high = vl_findings_value(view, most, VL_METRIC_queue_mean_bytes);
	if (high < 1500 || high <= low * (1 + VL_FINDINGS_ALIKE))
		return;
	vl_findings_say(
		view->findings,
		"%s is shortest on %s, %.1f KB on average, and longest on %s, %.1f KB: that is "
		"what every packet there waits behind.",
		record && record->head.bottlenecks > 1 ? "The longest queue of all lines"
						       : "The queue at the bottleneck",
		vl_findings_label(view, least, first), low / 1e3,
		vl_findings_label(view, most, last), high / 1e3);
}

static void say_fairness(const struct vl_findings_view *view)
{
	char first[VL_PLAN_LABEL], last[VL_PLAN_LABEL];
	const struct vl_record *record = vl_comparison_any_record(view->comparison);
	unsigned int least, most;

	if (!find_ends(view, VL_METRIC_jain_index, &least, &most) ||
	    vl_findings_value(view, least, VL_METRIC_jain_index) >= UNEVEN)
		return;
	vl_findings_say(
		view->findings,
		"%s least evenly on %s (Jain's index %.3f, where 1 is even) and most evenly on %s "
		"(%.3f).",
		record && !record->head.jain_count
			? "The transfers of the workload get their rates"
			: "The queue pairs that meet at the bottleneck share it",
		vl_findings_label(view, least, last),
		vl_findings_value(view, least, VL_METRIC_jain_index),
		vl_findings_label(view, most, first),
		vl_findings_value(view, most, VL_METRIC_jain_index));
}

/* " So it is on ... and ...": the points but the worst where it is a victim too. */
static void name_others(const struct vl_findings_view *view, const struct vl_victim *victim,
			char *text, size_t size)
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
		if (!vl_findings_is_much_worse(victim, p99, goodput) || used >= size)
			continue;
		vl_plan_point_label(comparison->plan, point, name);
		used += (size_t)snprintf(
			text + used, size - used, "%s%s (%s, %s)", count++ ? "; " : " So it is on ",
			name, isinf(p99) ? "nothing completed" : vl_findings_time(p99, quantity[0]),
			rate_text(goodput, quantity[1]));
	}
	if (used && used < size)
		snprintf(text + used, size - used, ".");
	free(times);
}

static void say_victims(const struct vl_findings_view *view)
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
			vl_findings_say(
				view->findings,
				"%s is a victim: it does not cross the bottleneck, yet on %s it "
				"completes "
				"no message in the measured window, where on %s 99 %% take at most "
				"%s.%s",
				any->classes[i].name, worst, best,
				vl_findings_time(victim.best_p99, text[0]), others);
		else
			vl_findings_say(
				view->findings,
				"%s is a victim: it does not cross the bottleneck, yet on %s its "
				"messages "
				"take %s at p99 and it gets %s through, against %s and %s on %s.%s",
				any->classes[i].name, worst,
				vl_findings_time(victim.worst_p99, text[0]),
				rate_text(victim.worst_goodput, text[1]),
				vl_findings_time(victim.best_p99, text[2]),
				rate_text(victim.best_goodput, text[3]), best, others);
	}
}

/* Why a shown point is called best in nothing. */
static void say_partial(const struct vl_findings_view *view)
{
	char name[VL_PLAN_LABEL], reason[400];
	double stalled, incomplete;
	unsigned int said = 0;

	for (unsigned int i = 0; i < view->count && said < VL_FINDINGS_MAX_GROUPS; i++) {
		if (view->points[i] == UINT_MAX || view->whole[i])
			continue;
		stalled = vl_findings_value(view, i, VL_METRIC_stalled);
		incomplete = vl_findings_value(view, i, VL_METRIC_incomplete);
		if (stalled > 0)
			snprintf(reason, sizeof(reason),
				 "%.3g queue pairs had stalled by its end: they had messages on "
				 "their way, of which nothing arrived any more",
				 stalled);
		else if (incomplete > 0)
			snprintf(reason, sizeof(reason),
				 "%.3g queue pairs or workloads failed or did not get all their "
				 "messages through in time",
				 incomplete);
		else
			snprintf(reason, sizeof(reason), "not all of its runs came to a good end");
		vl_findings_say(
			view->findings,
			"%s is called best in nothing, as %s. What was not completed is not in its "
			"times, which are of those that came through alone.",
			vl_findings_label(view, i, name), reason);
		said++;
	}
}

static void say_undone(const struct vl_findings_view *view)
{
	const struct vl_comparison *comparison = view->comparison;
	unsigned int total = comparison->plan->point_count * comparison->plan->repeat;
	unsigned int failed = vl_comparison_count(comparison, VL_RUN_FAILED);
	unsigned int missing = vl_comparison_count(comparison, VL_RUN_NOT_DONE);

	if (missing)
		vl_findings_say(view->findings,
				"These results are partial: the comparison was interrupted, and %u "
				"of %u runs "
				"were not done.",
				missing, total);
	if (failed)
		vl_findings_say(view->findings, "%u of %u runs failed and are not in the figures.",
				failed, total);
}

void vl_findings_make(const struct vl_comparison *comparison, struct vl_findings *findings)
{
	unsigned int groups = comparison->plan->group_count;
	struct vl_findings_view view = {
		.comparison = comparison, .findings = findings, .count = groups};

	bool is_there;

	*findings = (struct vl_findings){0};
	view.figures = calloc(groups, sizeof(*view.figures));
	view.points = calloc(groups, sizeof(*view.points));
	view.whole = calloc(groups, sizeof(*view.whole));
	view.alike = calloc(groups, sizeof(*view.alike));
	is_there = view.figures && view.points && view.whole && view.alike;
	for (unsigned int i = 0; is_there && i < groups; i++) {
		view.points[i] = vl_comparison_shown_point(comparison, i);
		if (view.points[i] == UINT_MAX)
			continue;
		vl_comparison_figures(comparison, view.points[i], view.figures[i]);
		view.whole[i] = vl_comparison_is_whole(comparison, view.points[i]);
	}
	if (is_there) {
		say_undone(&view);
		say_partial(&view);
		vl_findings_say_sweep(comparison, findings);
		vl_findings_say_jobs(&view);
		say_completion(&view);
		say_goodput(&view);
		say_loss(&view);
		say_victims(&view);
		say_held_back(&view);
		say_queue(&view);
		say_fairness(&view);
		vl_findings_say_limits(&view);
	}
	free(view.figures);
	free(view.points);
	free(view.whole);
	free(view.alike);
}
