/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/pfc/processor.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void look_around(void *context, uint64_t now)
{
	struct processor *processor = context;

	(void)now;
	processor->thread = gettid();
	processor->cpu = sched_getcpu();
}

void processor_read(struct processor *processor)
{
	char path[64], line[256], name[16];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", processor->thread);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "nonvoluntary_ctxt_switches: %" SCNu64, &processor->put_aside);
	if (file)
		fclose(file);

	snprintf(name, sizeof(name), "cpu%d ", processor->cpu);
	file = fopen("/proc/stat", "r");
	while (file && fgets(line, sizeof(line), file)) {
		if (!strncmp(line, name, strlen(name)))
			sscanf(line + strlen(name), "%*u %*u %*u %*u %*u %*u %*u %" SCNu64,
			       &processor->stolen_ticks);
	}
	if (file)
		fclose(file);
}

void processor_find(struct processor *processor, struct vl_worker *worker)
{
	memset(processor, 0, sizeof(*processor));
	vl_worker_call(worker, look_around, processor);
	processor_read(processor);
}
