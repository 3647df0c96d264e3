/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Keeps what DPDK logs out of the user's terminal, and ready to be put into an error message. */
#ifndef VERBLINE_RUNTIME_LOG_H
#define VERBLINE_RUNTIME_LOG_H

#include <stdbool.h>
#include <stdio.h>

/* verbose: everything goes to standard error instead. Control thread, before EAL starts. */
void vl_log_open(bool verbose);
/* Forgets what was logged; to be called before a DPDK call whose reasons are wanted. */
void vl_log_clear(void);
/* The lines logged since then, joined with "; "; "" if there are none. */
const char *vl_log_text(void);

/* Keeps what libraries under DPDK print on standard output or error by themselves from the user,
 * for a while. Returns what vl_log_restore takes. */
int vl_log_silence(FILE *file);
void vl_log_restore(FILE *file, int silenced);

#endif
