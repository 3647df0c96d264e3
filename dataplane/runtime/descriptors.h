/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* File descriptors that this process may still open. Libraries abort for want of one in the middle
 * of their work, so room is made, or found missing, before it begins. */
#ifndef VERBLINE_RUNTIME_DESCRIPTORS_H
#define VERBLINE_RUNTIME_DESCRIPTORS_H

#include "dataplane/runtime/error.h"

/* Sees to room for count more, and raises the process's own limit where that is allowed. 0; or
 * -EMFILE, and what is in force and would be right is in *error. */
int vl_descriptors_reserve(unsigned int count, struct vl_error *error);

#endif
