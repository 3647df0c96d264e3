/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* `verbline compare`: one scenario over several fabrics and with several settings, side by side. */
#ifndef VERBLINE_COMPARE_COMPARE_H
#define VERBLINE_COMPARE_COMPARE_H

#include "apps/option.h"

extern const struct vl_command vl_compare_command;

#endif
