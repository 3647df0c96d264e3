/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Small files of the kernel's. */
#ifndef VERBLINE_DOCTOR_SYSFS_H
#define VERBLINE_DOCTOR_SYSFS_H

#include <stdbool.h>
#include <stddef.h>

/* The first line, without its end. False, and "": cannot be read. */
bool sysfs_text(const char *path, char *text, size_t size);
/* A decimal number, or otherwise. */
long sysfs_number(const char *path, long otherwise);
/* A line of /proc/cpuinfo that begins with name contains word. */
bool cpuinfo_has(const char *name, const char *word);
/* What follows the colon of the first such line. */
void cpuinfo_text(const char *name, char *text, size_t size);

#endif
