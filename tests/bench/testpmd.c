/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "tests/bench/testpmd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROGRAM       "dpdk-testpmd"
#define MAX_ARGUMENTS 48

bool testpmd_is_installed(void)
{
	return !system("command -v " PROGRAM " >/dev/null 2>&1");
}

int testpmd_start(struct testpmd *testpmd, const char *const *arguments)
{
	char *argv[MAX_ARGUMENTS + 2] = {(char *)PROGRAM};
	int ends[2];

	for (unsigned int i = 0; i < MAX_ARGUMENTS && arguments[i]; i++)
		argv[i + 1] = (char *)arguments[i];
	testpmd->output = -1;
	if (pipe2(ends, O_CLOEXEC))
		return -1;
	fflush(NULL);
	testpmd->pid = fork();
	if (!testpmd->pid) {
		int null = open("/dev/null", O_RDWR);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(null, 0);
		dup2(ends[1], 1);
		dup2(null, 2);
		execvp(PROGRAM, argv);
		_exit(127);
	}
	close(ends[1]);
	if (testpmd->pid < 0) {
		close(ends[0]);
		return -1;
	}
	testpmd->output = ends[0];
	return 0;
}

static double seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* The highest figure behind the label in what is whole of the text. */
static double best_in(const char *text, const char *label, double best)
{
	for (const char *at = strstr(text, label); at; at = strstr(at + 1, label)) {
		const char *colon = strchr(at, ':');
		double rate = colon ? strtod(colon + 1, NULL) : 0;

		if (strchr(at, '\n') && rate > best)
			best = rate;
	}
	return best;
}

double testpmd_best_rate(struct testpmd *testpmd, const char *label, double seconds)
{
	double until = seconds_now() + seconds, best = 0, left;
	char text[8192];
	size_t length = 0;

	while (testpmd->output >= 0 && (left = until - seconds_now()) > 0) {
		struct pollfd poll_fd = {.fd = testpmd->output, .events = POLLIN};
		ssize_t got;

		if (poll(&poll_fd, 1, (int)(left * 1000) + 1) <= 0)
			continue;
		got = read(testpmd->output, text + length, sizeof(text) - 1 - length);
		if (got <= 0)
			break;
		length += (size_t)got;
		text[length] = '\0';
		best = best_in(text, label, best);
		if (length > sizeof(text) / 2) {
			memmove(text, text + length - 256, 257);
			length = 256;
		}
	}
	return best;
}

void testpmd_stop(struct testpmd *testpmd)
{
	int status;

	if (testpmd->output < 0)
		return;
	kill(testpmd->pid, SIGINT);
	for (int i = 0; i < 200; i++) {
		if (waitpid(testpmd->pid, &status, WNOHANG) == testpmd->pid)
			break;
		usleep(10000);
		if (i == 199) {
			kill(testpmd->pid, SIGKILL);
			waitpid(testpmd->pid, &status, 0);
		}
	}
	close(testpmd->output);
	testpmd->output = -1;
}
