/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#ifndef VERBLINE_PROBE_COMMAND_H
#define VERBLINE_PROBE_COMMAND_H

#include "apps/option.h"

extern const struct vl_command vl_probe_command;

#endif
