/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* `verbline links`: what links exist, and what a given one comes to. */
#ifndef VERBLINE_APPS_LINKS_H
#define VERBLINE_APPS_LINKS_H

#include "apps/option.h"

extern const struct vl_command vl_links_command;

#endif
