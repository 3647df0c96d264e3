/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "tests/bench/machine.h"

#include "dataplane/runtime/hugepages.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

bool machine_take_priority(int priority)
{
	const struct sched_param parameters = {.sched_priority = priority};

	return !sched_setscheduler(0, SCHED_RR, &parameters);
}

static volatile pid_t child;

static void pass_on(int signal_number)
{
	if (child > 0)
		kill(child, signal_number);
}

int machine_run_with_hugepages(const char *program, unsigned int megabytes,
			       int (*run)(const void *context), const void *context)
{
	long before = vl_hugepages_get();
	int status = 0;

	if (vl_hugepages_are_free(megabytes) || before < 0 ||
	    vl_hugepages_set(before + megabytes / 2))
		return run(context);
	signal(SIGINT, pass_on);
	signal(SIGTERM, pass_on);
	fflush(stdout);
	child = fork();
	if (!child) {
		signal(SIGINT, SIG_DFL);
		signal(SIGTERM, SIG_DFL);
		exit(run(context));
	}
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	vl_hugepages_set(before);
	if (child > 0 && WIFEXITED(status))
		return WEXITSTATUS(status);
	fprintf(stderr, "%s: the run was ended by a signal\n", program);
	return 1;
}
