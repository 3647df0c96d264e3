/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#ifndef VERBLINE_APPS_ENDPOINT_ENDPOINT_H
#define VERBLINE_APPS_ENDPOINT_ENDPOINT_H

#include "apps/option.h"

extern const struct vl_command vl_endpoint_command;
extern const struct vl_command vl_rping_command;
extern const struct vl_command vl_ucmatose_command;
extern const struct vl_command vl_udaddy_command;
extern const struct vl_command vl_exercise_command;

#endif
