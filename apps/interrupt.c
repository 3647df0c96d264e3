/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile int interrupts;

static void interrupt(int number)
{
	if (++interrupts == 2)
		signal(number, SIG_DFL);
}

const volatile int *vl_catch_interrupts(void)
{
	const struct sigaction action = {.sa_handler = interrupt};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	return &interrupts;
}
