/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* For the files that set an engine up. */
#ifndef VERBLINE_WORKLOAD_ENGINE_SET_UP_H
#define VERBLINE_WORKLOAD_ENGINE_SET_UP_H

struct vl_workload_engine;

/* Returns status, with what the engine's error says from then on. */
int vl_workload_refuse(struct vl_workload_engine *engine, int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
