/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Routes of Ethernet switches that have no circle. */
#ifndef VERBLINE_APPS_LAB_ROUTE_H
#define VERBLINE_APPS_LAB_ROUTE_H

#include "apps/lab_fabric.h"

#include <stddef.h>

/* Gives every Ethernet switch one way to every endpoint, that which up-down routing gives to the
 * subnet manager. 0, or a negative errno value with a message. */
int vl_lab_route_up_down(const struct vl_lab_fabric *fabric, char *error, size_t error_size);

#endif
