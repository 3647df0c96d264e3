/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What the processor that runs this can do beyond what the compiler assumed. */
#ifndef VERBLINE_WIRE_CPU_H
#define VERBLINE_WIRE_CPU_H

#include <stdbool.h>

enum vl_cpu_feature {
	VL_CPU_KNOWN = 1 << 0,
	VL_CPU_CARRY_LESS_MULTIPLY = 1 << 1,
	VL_CPU_WIDE_REGISTERS = 1 << 2, /* AVX, which the system has enabled */
};

/* Asks the processor, and stores the answer. */
int vl_cpu_find_features(void);

/* 0: not asked yet. The answer never changes, so it does not matter which thread stores it. */
extern int vl_cpu_features;

static inline bool vl_cpu_has(enum vl_cpu_feature feature)
{
	int features = __atomic_load_n(&vl_cpu_features, __ATOMIC_RELAXED);

	if (__builtin_expect(!features, 0))
		features = vl_cpu_find_features();
	return features & feature;
}

#endif
