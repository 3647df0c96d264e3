/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/compare/plan.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define UNSET UINT64_MAX

static const struct {
	const char *name, *title;
} fabric_titles[] = {
	{"as_configured", "as configured"},
	{"infiniband", "InfiniBand"},
	{"infiniband_congestion_control", "InfiniBand + CC"},
	{"pfc", "PFC only"},
	{"dcqcn", "DCQCN only"},
	{"pfc_dcqcn", "PFC + DCQCN"},
	{"lossy", "lossy"},
};
#define FABRIC_COUNT (sizeof(fabric_titles) / sizeof(fabric_titles[0]))

const char *vl_plan_fabric_title(const char *fabric)
{
	for (unsigned int i = 0; i < FABRIC_COUNT; i++) {
		if (!strcmp(fabric_titles[i].name, fabric))
			return fabric_titles[i].title;
	}
	return fabric;
}

static bool refuse(char *error, size_t error_size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static bool refuse(char *error, size_t error_size, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(error, error_size, format, arguments);
	va_end(arguments);
	return false;
}

/* ---- Fabrics -------------------------------------------------------------------------------- */

static bool add_fabric(struct vl_plan *plan, const char *text, size_t length, char *error,
		       size_t error_size)
{
	const char *names[FABRIC_COUNT + 1], *nearest;
	char typed[48];

	snprintf(typed, sizeof(typed), "%.*s", (int)length, text);
	for (unsigned int i = 0; i < FABRIC_COUNT; i++)
		names[i] = fabric_titles[i].name;
	names[FABRIC_COUNT] = NULL;
	for (unsigned int i = 0; i < plan->fabric_count; i++) {
		if (!strcmp(plan->fabrics[i], typed))
			return refuse(error, error_size, "fabric %s is named twice", typed);
	}
	for (unsigned int i = 0; i < FABRIC_COUNT; i++) {
		if (!strcmp(names[i], typed)) {
			plan->fabrics[plan->fabric_count++] = names[i];
			return true;
		}
	}
	nearest = vl_nearest(typed, names);
	if (nearest)
		return refuse(error, error_size, "'%s' is no fabric; did you mean %s?", typed,
			      nearest);
	return refuse(error, error_size,
		      "'%s' is no fabric; choose of infiniband, infiniband_congestion_control, "
		      "pfc, dcqcn, pfc_dcqcn, lossy and as_configured",
		      typed);
}

static bool add_fabrics(struct vl_plan *plan, char *error, size_t error_size)
{
	const struct vl_texts *typed = plan->options->fabrics;
	const struct vl_text_list *listed = &plan->base->compare.fabrics;

	for (unsigned int i = 0; i < typed->count; i++) {
		const char *text = typed->values[i];
		size_t length;

		for (; text; text = text[length] ? text + length + 1 : NULL) {
			length = strcspn(text, ",");
			if (!add_fabric(plan, text, length, error, error_size))
				return false;
		}
	}
	if (plan->fabric_count)
		return true;
	for (unsigned int i = 0; i < listed->count; i++) {
		if (!add_fabric(plan, listed->texts[i], strlen(listed->texts[i]), error,
				error_size))
			return false;
	}
	/* All but the first, which is whatever the scenario says. */
	for (unsigned int i = 1; !listed->count && i < FABRIC_COUNT; i++)
		plan->fabrics[plan->fabric_count++] = fabric_titles[i].name;
	return true;
}

/* ---- Variants and sweeps -------------------------------------------------------------------- */

static bool leads_to(const char *path, const char *key)
{
	size_t length = strcspn(path, "=");

	return length == strlen(key) && !strncmp(path, key, length);
}

/* Runs are named after the fabric that they are given: with another one the name would lie. */
static bool refuse_fabric(const char *where, const char *path, char *error, size_t error_size)
{
	return !leads_to(path, "fabric") ||
	       refuse(error, error_size,
		      "%s: fabric is chosen by --fabric or compare.fabrics; name it there", where);
}

/* As repetitions have seeds of their own, the results would not be those of the seed named. */
static bool refuse_seed(const struct vl_plan *plan, const char *where, const char *path,
			char *error, size_t error_size)
{
	return plan->repeat == 1 || !leads_to(path, "seed") ||
	       refuse(error, error_size,
		      "%s: seed: all is repeated with %u seeds anyway; take it out, or do not "
		      "repeat",
		      where, plan->repeat);
}

/* PATH=V1,V2,... as a list whose name is the path. */
static bool split_values(struct vl_plan *plan, const char *option, const char *typed,
			 struct vl_text_list *list, char *error, size_t error_size)
{
	const char *value = strchr(typed, '=');
	size_t length;

	if (!value || value == typed || !value[1])
		return refuse(error, error_size,
			      "--%s %.80s: write it as PATH=VALUE,VALUE, as switch.ecn.kmin="
			      "50KB,100KB",
			      option, typed);
	list->name = vl_arena_print(&plan->arena, "%.*s", (int)(value - typed), typed);
	list->texts = vl_arena_allocate(&plan->arena, VL_PLAN_MAX_VALUES * sizeof(*list->texts));
	if (!list->name || !list->texts)
		return refuse(error, error_size, "out of memory");
	for (value++; value; value = value[length] ? value + length + 1 : NULL) {
		length = strcspn(value, ",");
		if (!length)
			return refuse(error, error_size, "--%s %.80s: a value is empty", option,
				      typed);
		if (list->count == VL_PLAN_MAX_VALUES)
			return refuse(error, error_size, "--%s %.40s: more than %u values", option,
				      list->name, VL_PLAN_MAX_VALUES);
		list->texts[list->count] = vl_arena_print(&plan->arena, "%.*s", (int)length, value);
		if (!list->texts[list->count++])
			return refuse(error, error_size, "out of memory");
	}
	return true;
}

static bool add_variant(struct vl_plan *plan, const char *name, const struct vl_text_list *set,
			char *error, size_t error_size)
{
	char where[VL_PLAN_LABEL];

	snprintf(where, sizeof(where), "variant %s", name);
	for (unsigned int i = 0; i < set->count; i++) {
		if (!refuse_fabric(where, set->texts[i], error, error_size) ||
		    !refuse_seed(plan, where, set->texts[i], error, error_size))
			return false;
	}
	if (plan->variant_count == VL_PLAN_MAX_VARIANTS)
		return refuse(error, error_size, "more than %u variants", VL_PLAN_MAX_VARIANTS);
	plan->variants[plan->variant_count++] = (struct vl_plan_variant){name, *set};
	return true;
}

/* Each value of a --vary: a variant called by the path's last part and the value. */
static bool vary(struct vl_plan *plan, const struct vl_text_list *values, char *error,
		 size_t error_size)
{
	const char *dot = strrchr(values->name, '.'), *name;
	struct vl_text_list set = {.count = 1};

	for (unsigned int i = 0; i < values->count; i++) {
		name = vl_arena_print(&plan->arena, "%s=%s", dot ? dot + 1 : values->name,
				      values->texts[i]);
		set.texts = vl_arena_allocate(&plan->arena, sizeof(*set.texts));
		if (!name || !set.texts)
			return refuse(error, error_size, "out of memory");
		set.texts[0] =
			vl_arena_print(&plan->arena, "%s=%s", values->name, values->texts[i]);
		if (!set.texts[0])
			return refuse(error, error_size, "out of memory");
		if (!add_variant(plan, name, &set, error, error_size))
			return false;
	}
	return true;
}

static bool add_variants(struct vl_plan *plan, char *error, size_t error_size)
{
	const struct vl_list *listed = &plan->base->compare.variants;
	const struct vl_scenario_variant *variants = listed->elements;
	const struct vl_texts *typed = plan->options->vary;
	const struct vl_text_list nothing = {0};

	for (unsigned int i = 0; i < typed->count; i++) {
		struct vl_text_list values = {0};

		if (!split_values(plan, "vary", typed->values[i], &values, error, error_size) ||
		    !vary(plan, &values, error, error_size))
			return false;
	}
	for (unsigned int i = 0; !typed->count && i < listed->count; i++) {
		for (unsigned int n = 0; n < i; n++) {
			if (!strcmp(variants[i].name, variants[n].name))
				return refuse(error, error_size,
					      "compare.variants: two are called %s",
					      variants[i].name);
		}
		if (!add_variant(plan, variants[i].name, &variants[i].set, error, error_size))
			return false;
	}
	return plan->variant_count || add_variant(plan, "", &nothing, error, error_size);
}

static bool check_sets(const struct vl_plan *plan, char *error, size_t error_size)
{
	const struct vl_texts *sets = plan->options->sets;

	for (unsigned int i = 0; i < sets->count; i++) {
		if (!refuse_fabric("--set", sets->values[i], error, error_size))
			return false;
	}
	return true;
}

static bool add_sweeps(struct vl_plan *plan, char *error, size_t error_size)
{
	const struct vl_list *listed = &plan->base->compare.sweep;
	const struct vl_text_list *sweeps = listed->elements;
	const struct vl_texts *typed = plan->options->sweep;

	if (typed->count > VL_PLAN_MAX_SWEEPS)
		return refuse(error, error_size, "more than %u --sweep", VL_PLAN_MAX_SWEEPS);
	for (unsigned int i = 0; i < typed->count; i++) {
		if (!split_values(plan, "sweep", typed->values[i],
				  &plan->sweeps[plan->sweep_count++], error, error_size))
			return false;
	}
	for (unsigned int i = 0; !typed->count && i < listed->count; i++)
		plan->sweeps[plan->sweep_count++] = sweeps[i];
	plan->sweep_points = 1;
	for (unsigned int i = 0; i < plan->sweep_count; i++) {
		if (!refuse_fabric("sweep", plan->sweeps[i].name, error, error_size) ||
		    !refuse_seed(plan, "sweep", plan->sweeps[i].name, error, error_size))
			return false;
		for (unsigned int n = 0; n < i; n++) {
			if (!strcmp(plan->sweeps[i].name, plan->sweeps[n].name))
				return refuse(error, error_size, "%s is swept twice",
					      plan->sweeps[i].name);
		}
		if (plan->sweeps[i].count > VL_PLAN_MAX_RUNS / plan->sweep_points)
			return refuse(error, error_size, "the sweep has more than %u points",
				      VL_PLAN_MAX_RUNS);
		plan->sweep_points *= plan->sweeps[i].count;
	}
	return true;
}

/* ---- Points --------------------------------------------------------------------------------- */

/* As those of a scenario. */
static bool check_seeds(const struct vl_plan *plan, char *error, size_t error_size)
{
	if (plan->base->seed <= INT64_MAX - (uint64_t)plan->repeat)
		return true;
	return refuse(error, error_size, "%u seeds from %llu on go beyond %lld", plan->repeat,
		      (unsigned long long)plan->base->seed, (long long)INT64_MAX);
}

static bool add_points(struct vl_plan *plan, char *error, size_t error_size)
{
	unsigned int rest;

	plan->group_count = plan->fabric_count * plan->variant_count;
	if ((uint64_t)plan->group_count * plan->sweep_points * plan->repeat > VL_PLAN_MAX_RUNS)
		return refuse(
			error, error_size,
			"%u fabrics, %u variants, %u points of the sweep and %u seeds make "
			"%llu runs; more than %u are not done at once",
			plan->fabric_count, plan->variant_count, plan->sweep_points, plan->repeat,
			(unsigned long long)plan->group_count * plan->sweep_points * plan->repeat,
			VL_PLAN_MAX_RUNS);
	plan->point_count = plan->group_count * plan->sweep_points;
	plan->points = vl_arena_allocate(&plan->arena, plan->point_count * sizeof(*plan->points));
	if (!plan->points)
		return refuse(error, error_size, "out of memory");
	for (unsigned int i = 0; i < plan->point_count; i++) {
		plan->points[i].fabric = i / plan->sweep_points / plan->variant_count;
		plan->points[i].variant = i / plan->sweep_points % plan->variant_count;
		rest = i % plan->sweep_points;
		for (unsigned int n = plan->sweep_count; n-- > 0;) {
			plan->points[i].values[n] = rest % plan->sweeps[n].count;
			rest /= plan->sweeps[n].count;
		}
	}
	return true;
}

/* The overrides of a run, and the options that they are of. */
struct overrides {
	struct vl_texts texts;
	const char *options[VL_MAX_TEXTS];
	char storage[8][256];
	unsigned int stored;
	bool is_full;
};

static void put(struct overrides *overrides, const char *text, const char *option)
{
	if (overrides->texts.count == VL_MAX_TEXTS) {
		overrides->is_full = true;
		return;
	}
	overrides->options[overrides->texts.count] = option;
	overrides->texts.values[overrides->texts.count++] = text;
}

static void print(struct overrides *overrides, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void print(struct overrides *overrides, const char *format, ...)
{
	char *text = overrides->storage[overrides->stored++];
	va_list arguments;

	va_start(arguments, format);
	if (vsnprintf(text, sizeof(overrides->storage[0]), format, arguments) >=
	    (int)sizeof(overrides->storage[0]))
		overrides->is_full = true;
	va_end(arguments);
	put(overrides, text, NULL);
}

/* Exact, in the largest unit that is. */
#define DURATION_TEXT 32
static const char *duration_text(uint64_t ns, char text[DURATION_TEXT])
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	unsigned int unit = 0;

	for (; unit < 3 && ns % 1000 == 0; unit++)
		ns /= 1000;
	snprintf(text, DURATION_TEXT, "%llu%s", (unsigned long long)ns, units[unit]);
	return text;
}

/* Later ones win. */
static void put_options(const struct vl_plan *plan, struct overrides *overrides)
{
	const struct vl_plan_options *options = plan->options;
	char duration[DURATION_TEXT];

	for (unsigned int i = 0; i < options->sets->count; i++)
		put(overrides, options->sets->values[i], NULL);
	if (options->duration != UNSET)
		print(overrides, "duration=%s", duration_text(options->duration, duration));
	if (options->seed != UNSET)
		print(overrides, "seed=%llu", (unsigned long long)options->seed);
}

static void put_point(const struct vl_plan *plan, const struct vl_plan_point *point,
		      struct overrides *overrides)
{
	const struct vl_plan_variant *variant = &plan->variants[point->variant];

	print(overrides, "fabric=%s", plan->fabrics[point->fabric]);
	for (unsigned int i = 0; i < variant->set.count; i++)
		put(overrides, variant->set.texts[i], NULL);
	for (unsigned int i = 0; i < plan->sweep_count; i++)
		print(overrides, "%s=%s", plan->sweeps[i].name,
		      plan->sweeps[i].texts[point->values[i]]);
}

static struct vl_scenario *parse(const struct vl_plan *plan, const struct overrides *overrides,
				 FILE *out)
{
	struct vl_problems *problems = calloc(1, sizeof(*problems));
	struct vl_scenario *scenario = NULL;

	if (!problems) {
		fprintf(out, "out of memory\n");
		return NULL;
	}
	problems->file = plan->options->source;
	if (overrides->is_full)
		vl_problem_add(problems, (struct vl_place){0, 0, -1}, NULL,
			       "too many values, or too long ones, are set at once");
	else
		scenario = vl_scenario_parse(plan->text, plan->length, &overrides->texts, problems);
	if (!scenario)
		vl_problems_print(problems, out);
	free(problems);
	return scenario;
}

struct vl_scenario *vl_plan_scenario(const struct vl_plan *plan, unsigned int point,
				     unsigned int repetition, FILE *problems)
{
	struct overrides overrides = {0};

	put_options(plan, &overrides);
	put_point(plan, &plan->points[point], &overrides);
	if (repetition)
		print(&overrides, "seed=%llu", (unsigned long long)(plan->base->seed + repetition));
	return parse(plan, &overrides, problems);
}

/* Whether every point is a scenario, so that nothing is found out after hours. */
static bool check_points(struct vl_plan *plan, FILE *problems, char *error, size_t error_size)
{
	struct vl_scenario *scenario;
	char label[VL_PLAN_LABEL];

	for (unsigned int i = 0; i < plan->point_count; i++) {
		scenario = vl_plan_scenario(plan, i, 0, problems);
		if (!scenario)
			return refuse(error, error_size, "the scenario cannot be run as '%s'",
				      vl_plan_point_label(plan, i, label));
		vl_scenario_free(scenario);
	}
	return true;
}

static bool load_base(struct vl_plan *plan, FILE *problems, char *error, size_t error_size)
{
	struct overrides overrides = {0};

	put_options(plan, &overrides);
	plan->base = parse(plan, &overrides, problems);
	return plan->base || refuse(error, error_size, "the scenario cannot be run");
}

struct vl_plan *vl_plan_create(const char *text, size_t length,
			       const struct vl_plan_options *options, FILE *problems, char *error,
			       size_t error_size)
{
	struct vl_plan *plan = calloc(1, sizeof(*plan));

	if (!plan) {
		refuse(error, error_size, "out of memory");
		return NULL;
	}
	*plan = (struct vl_plan){.options = options, .text = text, .length = length};
	if (load_base(plan, problems, error, error_size)) {
		plan->repeat = (unsigned int)(options->repeat ? options->repeat
							      : plan->base->compare.repeat);
		if (check_seeds(plan, error, error_size) && check_sets(plan, error, error_size) &&
		    add_fabrics(plan, error, error_size) && add_variants(plan, error, error_size) &&
		    add_sweeps(plan, error, error_size) && add_points(plan, error, error_size) &&
		    check_points(plan, problems, error, error_size))
			return plan;
	}
	vl_plan_destroy(plan);
	return NULL;
}

void vl_plan_destroy(struct vl_plan *plan)
{
	if (!plan)
		return;
	vl_scenario_free(plan->base);
	vl_arena_free(&plan->arena);
	free(plan);
}

/* ---- In words ------------------------------------------------------------------------------- */

const char *vl_plan_group_label(const struct vl_plan *plan, unsigned int group,
				char label[VL_PLAN_LABEL])
{
	const char *fabric = vl_plan_fabric_title(plan->fabrics[group / plan->variant_count]);
	const char *variant = plan->variants[group % plan->variant_count].name;

	if (!*variant)
		snprintf(label, VL_PLAN_LABEL, "%s", fabric);
	else if (plan->fabric_count == 1)
		snprintf(label, VL_PLAN_LABEL, "%s", variant);
	else
		snprintf(label, VL_PLAN_LABEL, "%s, %s", fabric, variant);
	return label;
}

const char *vl_plan_point_label(const struct vl_plan *plan, unsigned int point,
				char label[VL_PLAN_LABEL])
{
	size_t used = strlen(vl_plan_group_label(plan, vl_plan_group(plan, point), label));
	const char *dot;

	for (unsigned int i = 0; i < plan->sweep_count && used < VL_PLAN_LABEL; i++) {
		dot = strrchr(plan->sweeps[i].name, '.');
		used += (size_t)snprintf(label + used, VL_PLAN_LABEL - used, ", %s=%s",
					 dot ? dot + 1 : plan->sweeps[i].name,
					 plan->sweeps[i].texts[plan->points[point].values[i]]);
	}
	return label;
}

/* As a shell takes it for one word. */
static void print_word(const char *word, FILE *out)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789-_=./:,%+@";

	if (*word && !word[strspn(word, plain)]) {
		fputs(word, out);
		return;
	}
	fputc('\'', out);
	for (; *word; word++) {
		if (*word == '\'')
			fputs("'\\''", out);
		else
			fputc(*word, out);
	}
	fputc('\'', out);
}

void vl_plan_print_command(const struct vl_plan *plan, unsigned int point, FILE *out)
{
	struct overrides overrides = {0};

	fputs("verbline lab ", out);
	print_word(plan->options->source, out);
	put_options(plan, &overrides);
	put_point(plan, &plan->points[point], &overrides);
	for (unsigned int i = 0; i < overrides.texts.count; i++) {
		fputs(" --set ", out);
		print_word(overrides.texts.values[i], out);
	}
}

static void print_texts(const char *option, const struct vl_texts *texts, FILE *out)
{
	for (unsigned int i = 0; i < texts->count; i++) {
		fprintf(out, " --%s ", option);
		print_word(texts->values[i], out);
	}
}

void vl_plan_print_comparison(const struct vl_plan *plan, FILE *out)
{
	const struct vl_plan_options *options = plan->options;
	char duration[DURATION_TEXT];

	fputs("verbline compare ", out);
	print_word(options->source, out);
	print_texts("fabric", options->fabrics, out);
	print_texts("vary", options->vary, out);
	print_texts("sweep", options->sweep, out);
	print_texts("set", options->sets, out);
	if (options->duration != UNSET)
		fprintf(out, " --duration %s", duration_text(options->duration, duration));
	if (options->seed != UNSET)
		fprintf(out, " --seed %llu", (unsigned long long)options->seed);
	if (options->repeat)
		fprintf(out, " --repeat %llu", (unsigned long long)options->repeat);
}
