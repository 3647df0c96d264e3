/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * What is to be run: a scenario over each fabric, in each variant, at each point of a sweep, with
 * each seed. A point is one such configuration, whatever the seed; a group is the points of one
 * fabric and one variant.
 */
#ifndef VERBLINE_COMPARE_PLAN_H
#define VERBLINE_COMPARE_PLAN_H

#include "apps/option.h"
#include "apps/scenario/scenario.h"

#define VL_PLAN_MAX_FABRICS  8u
#define VL_PLAN_MAX_VARIANTS 64u
#define VL_PLAN_MAX_SWEEPS   4u
#define VL_PLAN_MAX_RUNS     10000u
#define VL_PLAN_LABEL        128
/* Longest list of values of a sweep or of variations on the command line. */
#define VL_PLAN_MAX_VALUES 256u

/* What the command line says; comes before what the scenario says. */
struct vl_plan_options {
	const char *source; /* the scenario's file or name */
	const struct vl_texts *sets;
	const struct vl_texts *fabrics; /* each may be several, joined by commas */
	const struct vl_texts *vary;    /* PATH=V1,V2: each value a variant */
	const struct vl_texts *sweep;   /* PATH=V1,V2: all combinations */
	uint64_t seed, duration;        /* UINT64_MAX: the scenario's */
	uint64_t repeat;                /* 0: the scenario's */
};

struct vl_plan_variant {
	const char *name; /* "": the scenario as it is */
	struct vl_text_list set;
};

struct vl_plan_point {
	unsigned int fabric, variant;
	unsigned int values[VL_PLAN_MAX_SWEEPS]; /* of each sweep */
};

struct vl_plan {
	const struct vl_plan_options *options;
	const char *text; /* of the scenario; the caller's */
	size_t length;
	struct vl_scenario *base; /* with the command line's values, else as it is */
	const char *fabrics[VL_PLAN_MAX_FABRICS]; /* as the scenario's key spells them */
	unsigned int fabric_count;
	struct vl_plan_variant variants[VL_PLAN_MAX_VARIANTS];
	unsigned int variant_count;
	struct vl_text_list sweeps[VL_PLAN_MAX_SWEEPS]; /* name: the path */
	unsigned int sweep_count, sweep_points;         /* points of a group, at least 1 */
	unsigned int repeat;
	struct vl_plan_point *points;
	unsigned int point_count, group_count;
	struct vl_arena arena;
};

/*
 * NULL: error says why; what is wrong inside the scenario, as it is or as it would be run, has been
 * written to problems, a line each. text and options must outlive the plan.
 */
struct vl_plan *vl_plan_create(const char *text, size_t length,
			       const struct vl_plan_options *options, FILE *problems, char *error,
			       size_t error_size);
void vl_plan_destroy(struct vl_plan *plan); /* NULL is fine */

static inline unsigned int vl_plan_group(const struct vl_plan *plan, unsigned int point)
{
	return point / plan->sweep_points;
}

/* A point as scenario, with the n-th seed. NULL: why has been written to problems. */
struct vl_scenario *vl_plan_scenario(const struct vl_plan *plan, unsigned int point,
				     unsigned int repetition, FILE *problems);

/* "PFC + DCQCN" of "pfc_dcqcn". */
const char *vl_plan_fabric_title(const char *fabric);
/* "PFC only, deep buffers": as short as tells groups apart. */
const char *vl_plan_group_label(const struct vl_plan *plan, unsigned int group,
				char label[VL_PLAN_LABEL]);
/* The group's with the values of the sweep. */
const char *vl_plan_point_label(const struct vl_plan *plan, unsigned int point,
				char label[VL_PLAN_LABEL]);
/* The command that makes the whole comparison. */
void vl_plan_print_comparison(const struct vl_plan *plan, FILE *out);
/* The command that runs a point alone, with the first seed. */
void vl_plan_print_command(const struct vl_plan *plan, unsigned int point, FILE *out);

#endif
