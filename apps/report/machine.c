/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/report/machine.h"

#include "dataplane/runtime/eal.h"

#include <rte_version.h>

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

static void read_cpu(char *model, size_t size)
{
	FILE *file = fopen("/proc/cpuinfo", "r");
	char line[256];

	snprintf(model, size, "unknown");
	while (file && fgets(line, sizeof(line), file)) {
		char *value = strchr(line, ':');

		if (strncmp(line, "model name", 10) || !value)
			continue;
		value[strcspn(value, "\n")] = '\0';
		snprintf(model, size, "%s", value + 2);
		break;
	}
	if (file)
		fclose(file);
}

json_t *vl_machine_json(void)
{
	json_t *host = json_object();
	struct utsname name;
	char model[128], text[40];
	time_t now = time(NULL);
	struct tm utc;

	read_cpu(model, sizeof(model));
	json_object_set_new(host, "cpu", json_string(model));
	if (!uname(&name)) {
		json_object_set_new(host, "name", json_string(name.nodename));
		json_object_set_new(host, "kernel", json_string(name.release));
	}
	json_object_set_new(host, "dpdk", json_string(rte_version()));
	json_object_set_new(host, "clock", json_string("TSC, nanoseconds since the start"));
	json_object_set_new(host, "hugepages", json_boolean(vl_eal_has_hugepages()));
	if (gmtime_r(&now, &utc) && strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc))
		json_object_set_new(host, "time", json_string(text));
	return host;
}
