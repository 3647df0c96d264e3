/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* verbline replay: one side of a capture against the stack. */
#ifndef VERBLINE_REPLAY_H
#define VERBLINE_REPLAY_H

#include "apps/option.h"

extern const struct vl_command vl_replay_command;

#endif
