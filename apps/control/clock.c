/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/control/clock.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define BOOT_ID_LENGTH 36u

static char own_name[VL_CONTROL_CLOCK_TEXT];

static void make_name(void)
{
	char boot[BOOT_ID_LENGTH + 1] = "";
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
	uint64_t process = 0;

	if (file) {
		if (!fgets(boot, sizeof(boot), file))
			boot[0] = '\0';
		fclose(file);
	}
	if (getrandom(&process, sizeof(process), 0) != sizeof(process))
		return;
	snprintf(own_name, sizeof(own_name), "%s/%016llx", boot, (unsigned long long)process);
}

void vl_control_clock_name(char name[VL_CONTROL_CLOCK_TEXT])
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, make_name);
	memcpy(name, own_name, sizeof(own_name));
}

enum vl_control_clock_kind vl_control_clock_compare(const char *here, const char *there)
{
	size_t boot = strcspn(here, "/");

	if (*here && !strcmp(here, there))
		return VL_CLOCK_SAME;
	if (boot == BOOT_ID_LENGTH && !strncmp(here, there, boot + 1))
		return VL_CLOCK_SAME_HOST;
	return VL_CLOCK_OTHER;
}
