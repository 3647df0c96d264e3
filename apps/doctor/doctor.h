/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* verbline doctor: what this machine and its ports have, what they lack, and what mends it. */
#ifndef VERBLINE_APPS_DOCTOR_H
#define VERBLINE_APPS_DOCTOR_H

#include "apps/option.h"

extern const struct vl_command vl_doctor_command;

#endif
