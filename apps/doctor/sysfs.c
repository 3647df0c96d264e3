/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/doctor/sysfs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_ROOM 8192

bool sysfs_text(const char *path, char *text, size_t size)
{
	FILE *file = fopen(path, "re");
	bool was_read;

	text[0] = '\0';
	if (!file)
		return false;
	was_read = fgets(text, (int)size, file);
	fclose(file);
	text[strcspn(text, "\n")] = '\0';
	return was_read;
}

long sysfs_number(const char *path, long otherwise)
{
	char text[64];

	return sysfs_text(path, text, sizeof(text)) && *text ? strtol(text, NULL, 10) : otherwise;
}

void cpuinfo_text(const char *name, char *text, size_t size)
{
	FILE *file = fopen("/proc/cpuinfo", "re");
	char line[LINE_ROOM];

	text[0] = '\0';
	while (file && fgets(line, sizeof(line), file)) {
		const char *colon = strchr(line, ':');

		if (!colon || strncmp(line, name, strlen(name)))
			continue;
		colon += 1 + strspn(colon + 1, " ");
		snprintf(text, size, "%s", colon);
		text[strcspn(text, "\n")] = '\0';
		break;
	}
	if (file)
		fclose(file);
}

bool cpuinfo_has(const char *name, const char *word)
{
	char text[LINE_ROOM];
	size_t length = strlen(word);
	const char *found = text;

	cpuinfo_text(name, text, sizeof(text));
	while ((found = strstr(found, word))) {
		bool begins = found == text || found[-1] == ' ';

		if (begins && (found[length] == ' ' || !found[length]))
			return true;
		found += length;
	}
	return false;
}
