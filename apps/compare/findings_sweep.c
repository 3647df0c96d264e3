/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What a sweep says: where each group does best and worst, and how much each parameter matters. */

#include "apps/compare/findings_private.h"

#include <math.h>
#include <string.h>

#define VALUE_TEXT 48

struct sweep {
	const struct vl_comparison *comparison;
	struct vl_findings *findings;
	enum vl_metric metric; /* that is to be small */
	const char *name;      /* of the metric, in a sentence */
};

/* False: the point is not done, or does not say it. */
static bool find_value(const struct sweep *sweep, unsigned int point, double *value)
{
	struct vl_figure figures[VL_METRIC_COUNT];

	vl_comparison_figures(sweep->comparison, point, figures);
	*value = figures[sweep->metric].mean;
	return figures[sweep->metric].count != 0;
}

static const char *value_text(const struct sweep *sweep, double value, char text[VALUE_TEXT])
{
	char time[VL_QUANTITY_TEXT];

	if (sweep->metric == VL_METRIC_slowdown)
		snprintf(text, VALUE_TEXT, "%.2f times the ideal", value);
	else
		snprintf(text, VALUE_TEXT, "%s",
			 vl_quantity_text(VL_QUANTITY_DURATION, (uint64_t)value, time));
	return text;
}

static const char *last_part(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot ? dot + 1 : path;
}

/* "kmin=50KB, kmax=400KB" */
static const char *point_text(const struct vl_plan *plan, unsigned int point,
			      char text[VL_PLAN_LABEL])
{
	size_t used = 0;

	text[0] = '\0';
	for (unsigned int i = 0; i < plan->sweep_count && used < VL_PLAN_LABEL; i++)
		used += (size_t)snprintf(text + used, VL_PLAN_LABEL - used, "%s%s=%s",
					 i ? ", " : "", last_part(plan->sweeps[i].name),
					 plan->sweeps[i].texts[plan->points[point].values[i]]);
	return text;
}

/* What the values of one parameter do, the others taken together. */
struct effect {
	unsigned int parameter, least_value, most_value;
	double least, most; /* means over the points with that value */
};

/* False: fewer than two of its values have points that are whole. */
static bool find_effect(const struct sweep *sweep, unsigned int group, unsigned int parameter,
			struct effect *effect)
{
	const struct vl_plan *plan = sweep->comparison->plan;
	unsigned int first = group * plan->sweep_points, values = 0;

	*effect = (struct effect){.parameter = parameter, .least = INFINITY, .most = -INFINITY};
	for (unsigned int value = 0; value < plan->sweeps[parameter].count; value++) {
		double sum = 0, one;
		unsigned int count = 0;

		for (unsigned int i = first; i < first + plan->sweep_points; i++) {
			if (plan->points[i].values[parameter] != value ||
			    !vl_comparison_is_whole(sweep->comparison, i) ||
			    !find_value(sweep, i, &one))
				continue;
			sum += one;
			count++;
		}
		if (!count)
			continue;
		values++;
		if (sum / count < effect->least) {
			effect->least = sum / count;
			effect->least_value = value;
		}
		if (sum / count > effect->most) {
			effect->most = sum / count;
			effect->most_value = value;
		}
	}
	return values >= 2 && effect->least > 0;
}

/* The parameters by what they do, in one sentence. */
static void say_effects(const struct sweep *sweep, unsigned int group)
{
	const struct vl_plan *plan = sweep->comparison->plan;
	char label[VL_PLAN_LABEL], texts[2][VALUE_TEXT], *text = NULL;
	struct effect effect;
	unsigned int said = 0;
	size_t size = 0;
	FILE *out = plan->sweep_count < 2 ? NULL : open_memstream(&text, &size);

	if (!out)
		return;
	for (unsigned int i = 0; i < plan->sweep_count; i++) {
		const struct vl_text_list *values = &plan->sweeps[i];

		if (!find_effect(sweep, group, i, &effect))
			continue;
		fputs(said++ ? "; " : "", out);
		if (effect.most <= effect.least * (1 + VL_FINDINGS_ALIKE))
			fprintf(out, "%s hardly matters (%.1f %%)", last_part(values->name),
				(effect.most / effect.least - 1) * 100);
		else
			fprintf(out, "%s takes it from %s at %s to %s at %s (%.0f %% more)",
				last_part(values->name), value_text(sweep, effect.least, texts[0]),
				values->texts[effect.least_value],
				value_text(sweep, effect.most, texts[1]),
				values->texts[effect.most_value],
				(effect.most / effect.least - 1) * 100);
	}
	if (!fclose(out) && said)
		vl_findings_say(sweep->findings,
				"What each parameter does to %s on %s, as a mean over the values "
				"of the others: %s.",
				sweep->name, vl_plan_group_label(plan, group, label), text);
	free(text);
}

static void say_group(const struct sweep *sweep, unsigned int group)
{
	const struct vl_plan *plan = sweep->comparison->plan;
	unsigned int first = group * plan->sweep_points, best = UINT_MAX, worst = UINT_MAX;
	unsigned int count = 0, partial = 0, alike = 0;
	char label[VL_PLAN_LABEL], places[2][VL_PLAN_LABEL], texts[2][VALUE_TEXT], rest[120] = "",
										   others[40] = "";
	double least = INFINITY, most = -INFINITY, value;

	for (unsigned int i = first; i < first + plan->sweep_points; i++) {
		bool is_whole = vl_comparison_is_whole(sweep->comparison, i);

		partial += !is_whole;
		if (!is_whole || !find_value(sweep, i, &value))
			continue;
		count++;
		if (value < least) {
			least = value;
			best = i;
		}
		if (value > most) {
			most = value;
			worst = i;
		}
	}
	for (unsigned int i = first; i < first + plan->sweep_points; i++)
		alike += i != best && vl_comparison_is_whole(sweep->comparison, i) &&
			 find_value(sweep, i, &value) && value <= least * (1 + VL_FINDINGS_ALIKE);
	vl_plan_group_label(plan, group, label);
	if (alike)
		snprintf(others, sizeof(others), " (%u more within %.0f %%)", alike,
			 VL_FINDINGS_ALIKE * 100);
	if (!count) {
		vl_findings_say(sweep->findings,
				"On %s everything came through at no point of the sweep, so none "
				"is called best.",
				label);
		return;
	}
	if (partial)
		snprintf(rest, sizeof(rest),
			 " At %u of the %u points not everything came through; they are left out.",
			 partial, plan->sweep_points);
	if (most <= least * (1 + VL_FINDINGS_ALIKE)) {
		vl_findings_say(sweep->findings,
				"On %s the sweep hardly matters to %s: it is %s at best and %s at "
				"worst.%s",
				label, sweep->name, value_text(sweep, least, texts[0]),
				value_text(sweep, most, texts[1]), rest);
		return;
	}
	vl_findings_say(sweep->findings,
			"On %s the best point of the sweep is %s: %s is %s%s. At the worst, %s, "
			"it is %s, %.2f times as much.%s",
			label, point_text(plan, best, places[0]), sweep->name,
			value_text(sweep, least, texts[0]), others,
			point_text(plan, worst, places[1]), value_text(sweep, most, texts[1]),
			most / least, rest);
	say_effects(sweep, group);
}

void vl_findings_say_sweep(const struct vl_comparison *comparison, struct vl_findings *findings)
{
	const struct vl_plan *plan = comparison->plan;
	struct sweep sweep = {comparison, findings, VL_METRIC_completion_p99_ns,
			      "the p99 completion time"};
	const struct vl_record *record = vl_comparison_any_record(comparison);
	unsigned int number = record ? vl_record_job_class(record) : UINT_MAX;
	char name[VL_RECORD_NAME + 40];

	if (plan->sweep_points < 2 || !record)
		return;
	/* What is swept may change how long a job takes at best: then times say nothing. */
	if (number != UINT_MAX) {
		sweep.metric = VL_METRIC_slowdown;
		snprintf(name, sizeof(name), "the slowdown of the jobs of %s",
			 record->classes[number].name);
		sweep.name = name;
	}
	for (unsigned int i = 0; i < plan->group_count && i < VL_FINDINGS_MAX_GROUPS; i++)
		say_group(&sweep, i);
}
