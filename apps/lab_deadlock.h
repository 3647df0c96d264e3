/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Watches for links between switches that stand still for each other: packets wait, the line is
 * held (by PFC, or for want of credits), nothing moves from one reading to the next, and a circle
 * of such links closes. A circle that is still there at the end, and has stood for a good part of
 * the run, is a deadlock.
 */
#ifndef VERBLINE_APPS_LAB_DEADLOCK_H
#define VERBLINE_APPS_LAB_DEADLOCK_H

#include "apps/lab_port.h"

struct vl_lab_deadlock;

/* NULL: no memory. */
struct vl_lab_deadlock *vl_lab_deadlock_create(const struct vl_lab_fabric *fabric);
void vl_lab_deadlock_destroy(struct vl_lab_deadlock *deadlock); /* NULL is fine */
/* Two readings of all ports, one after the other; before: the time of the first. */
void vl_lab_deadlock_update(struct vl_lab_deadlock *deadlock,
			    const struct vl_lab_port_reading *first,
			    const struct vl_lab_port_reading *second, uint64_t before);
/* After the last reading. Fills in results->deadlock. */
void vl_lab_deadlock_finish(struct vl_lab_deadlock *deadlock, struct vl_results *results);

#endif
