/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* verbline inspect: what is in a capture, and what it means. */
#ifndef VERBLINE_INSPECT_H
#define VERBLINE_INSPECT_H

#include "apps/option.h"

extern const struct vl_command vl_inspect_command;

#endif
