/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Structures of counters are made from their lists: VL_COUNTERS(VL_COUNTER_FIELD). */
#ifndef VERBLINE_COUNTER_FIELD_H
#define VERBLINE_COUNTER_FIELD_H

#include <stdint.h>

/* After the name comes what the list says of the counter: unit, meaning. */
#define VL_COUNTER_FIELD(name, ...) uint64_t name;

#endif
