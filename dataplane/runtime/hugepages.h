/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What the kernel has of hugepages. */
#ifndef VERBLINE_RUNTIME_HUGEPAGES_H
#define VERBLINE_RUNTIME_HUGEPAGES_H

#include <stdbool.h>
#include <stddef.h>

/* Whether this process can map so much of pages of one size now; finds out by doing it. */
bool vl_hugepages_are_free(unsigned int memory_mb);
/* Writes how many 2 MB pages are free, how many would be needed, and the command that gets them. */
void vl_hugepages_describe(unsigned int memory_mb, char *text, size_t size);

/* Number of 2 MB pages set aside; -1: the kernel has none of that size, or does not tell. */
long vl_hugepages_get(void);
/* Sets it (root only): 0 or a negative errno value. The kernel may find fewer. */
int vl_hugepages_set(long count);

#endif
