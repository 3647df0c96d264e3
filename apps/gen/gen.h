/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* verbline gen: stateful RoCEv2 queue pairs out of a port. */
#ifndef VERBLINE_GEN_H
#define VERBLINE_GEN_H

#include "apps/option.h"

extern const struct vl_command vl_gen_command;

#endif
