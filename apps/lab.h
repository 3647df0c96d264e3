/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* `verbline lab`: runs a scenario in virtual time, or live. */
#ifndef VERBLINE_APPS_LAB_H
#define VERBLINE_APPS_LAB_H

#include "apps/option.h"

extern const struct vl_command vl_lab_command;

#endif
