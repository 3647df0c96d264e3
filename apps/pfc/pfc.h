/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#ifndef VERBLINE_APPS_PFC_H
#define VERBLINE_APPS_PFC_H

#include "apps/option.h"

extern const struct vl_command vl_pfc_command;

#endif
