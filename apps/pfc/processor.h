/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * What the kernel and the hypervisor say of a worker's CPU: how often the worker was put aside for
 * another thread, and how long the CPU itself was given to another machine.
 */
#ifndef VERBLINE_APPS_PFC_PROCESSOR_H
#define VERBLINE_APPS_PFC_PROCESSOR_H

#include "dataplane/worker.h"

#include <stdint.h>

struct processor {
	int thread;            /* of the worker */
	int cpu;               /* that it runs on */
	uint64_t put_aside;    /* involuntary switches of the thread so far */
	uint64_t stolen_ticks; /* of the CPU so far, 1/100 s each */
};

/* Of a running worker, by vl_worker_call. What the system does not say stays 0. */
void processor_find(struct processor *processor, struct vl_worker *worker);
/* Reads the counts again. */
void processor_read(struct processor *processor);

#endif
