/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Numbers that nobody can foresee, and that no two runs have alike. */
#ifndef VERBLINE_HOST_CHANCE_H
#define VERBLINE_HOST_CHANCE_H

#include <stdint.h>

/* For a connection manager: its communication IDs must differ from those of an earlier run, which
 * peers may remember, and nobody may know the key of its tables. */
uint64_t vl_host_secret_seed(void);

#endif
