/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "transport/wire/cpu.h"

int vl_cpu_features;

#ifdef __x86_64__
#include <cpuid.h>

static int ask(void)
{
	unsigned int eax, ebx, ecx = 0, edx;
	int features = VL_CPU_KNOWN;

	if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx))
		return features;
	if (ecx & bit_PCLMUL)
		features |= VL_CPU_CARRY_LESS_MULTIPLY;
	if ((ecx & bit_OSXSAVE) && (ecx & bit_AVX)) {
		__asm__("xgetbv" : "=a"(eax), "=d"(edx) : "c"(0));
		if ((eax & 6) == 6)
			features |= VL_CPU_WIDE_REGISTERS;
	}
	return features;
}
#else
static int ask(void)
{
	return VL_CPU_KNOWN;
}
#endif

int vl_cpu_find_features(void)
{
	int features = ask();

	__atomic_store_n(&vl_cpu_features, features, __ATOMIC_RELAXED);
	return features;
}
