/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The transport's allocator on ordinary memory. */
#ifndef VERBLINE_DATAPLANE_ALLOCATOR_H
#define VERBLINE_DATAPLANE_ALLOCATOR_H

#include "transport/verbline.h"

/* Zeroed, 64-byte aligned memory of the C library; needs no context. */
struct vl_allocator vl_heap_allocator(void);

#endif
