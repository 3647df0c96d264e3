/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Queues, priority groups and buffers of switches, after the run. */
#ifndef VERBLINE_APPS_LAB_QUEUES_H
#define VERBLINE_APPS_LAB_QUEUES_H

#include "apps/lab_port.h"

/* Room in the results; false: no memory. To be freed with them. */
bool vl_lab_allocate_queues(const struct vl_scenario *scenario, struct vl_results *results);
/* Fills in queues, groups and switches. The watermarks of the queues by which the watched link is
 * sent (an index into the results' links) are those given. */
void vl_lab_read_queues(const struct vl_lab_fabric *fabric, struct vl_results *results,
			unsigned int watched, const uint64_t watermarks[VL_LAB_QUEUES]);

#endif
