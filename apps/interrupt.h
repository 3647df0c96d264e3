/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What ends a command in order, with its results: Ctrl-C, a closed terminal, kill(1), timeout(1).
 */
#ifndef VERBLINE_APPS_INTERRUPT_H
#define VERBLINE_APPS_INTERRUPT_H

/*
 * From now on SIGINT, SIGTERM and SIGHUP make the int that is returned other than 0. The third one
 * kills, should the command not end: timeout(1) sends each twice.
 */
const volatile int *vl_catch_interrupts(void);

#endif
