/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/check/check.h"
#include "apps/compare/compare.h"
#include "apps/doctor/doctor.h"
#include "apps/endpoint/endpoint.h"
#include "apps/fault/command.h"
#include "apps/gen/gen.h"
#include "apps/inspect/inspect.h"
#include "apps/lab.h"
#include "apps/links/links.h"
#include "apps/manual/manual.h"
#include "apps/option.h"
#include "apps/pfc/pfc.h"
#include "apps/probe/command.h"
#include "apps/replay/replay.h"
#include "apps/verdict/command.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct vl_command *const commands[] = {
	&vl_lab_command,      &vl_compare_command, &vl_gen_command,      &vl_inspect_command,
	&vl_replay_command,   &vl_pfc_command,     &vl_endpoint_command, &vl_rping_command,
	&vl_ucmatose_command, &vl_udaddy_command,  &vl_exercise_command, &vl_faults_command,
	&vl_verdict_command,  &vl_links_command,   &vl_check_command,    &vl_probe_command,
	&vl_doctor_command,
};

#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

static void print_help(void)
{
	printf("Usage: verbline COMMAND [OPTION...]\n\n"
	       "RoCEv2 and InfiniBand transport in user space: the same queue pairs in an "
	       "emulated\n"
	       "fabric in virtual time, on captures, and on poll-mode cores.\n\n"
	       "Commands:\n");
	for (unsigned int i = 0; i < COMMAND_COUNT; i++)
		printf("  %-10s %s\n", commands[i]->name, commands[i]->summary);
	printf("\n'verbline COMMAND --help' explains a command; 'verbline --version' prints the "
	       "version.\n"
	       "Exit status: 0 fine, 1 the run or a check in it failed, 2 wrong usage or input.\n");
}

static int unknown_command(const char *typed)
{
	const char *names[COMMAND_COUNT + 1], *nearest;

	for (unsigned int i = 0; i < COMMAND_COUNT; i++)
		names[i] = commands[i]->name;
	names[COMMAND_COUNT] = NULL;
	nearest = vl_nearest(typed, names);
	if (nearest)
		fprintf(stderr, "verbline: unknown command '%.40s'; did you mean %s?\n", typed,
			nearest);
	else
		fprintf(stderr, "verbline: unknown command '%.40s'; 'verbline --help' lists all\n",
			typed);
	return VL_EXIT_USAGE;
}

/* A closed standard stream would give its number to the next file that is opened, and what is
 * printed would land there. The stand-in cannot be written, so that printing fails as it should. */
static void fill_standard_streams(void)
{
	struct stat status;

	for (int descriptor = 0; descriptor <= STDERR_FILENO; descriptor++) {
		if (fstat(descriptor, &status))
			open("/dev/null", descriptor == STDIN_FILENO ? O_RDWR : O_RDONLY);
	}
}

static int run(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "verbline: a command is missing; 'verbline --help' lists all\n");
		return VL_EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		print_help();
		return VL_EXIT_OK;
	}
	if (!strcmp(argv[1], "--version")) {
		printf("verbline %s\n", VERBLINE_VERSION);
		return VL_EXIT_OK;
	}
	if (!strcmp(argv[1], "--generate"))
		return vl_manual_generate(commands, COMMAND_COUNT, argc - 2, argv + 2);
	for (unsigned int i = 0; i < COMMAND_COUNT; i++) {
		if (!strcmp(argv[1], commands[i]->name))
			return commands[i]->run(commands[i], argc - 1, argv + 1);
	}
	return unknown_command(argv[1]);
}

int main(int argc, char **argv)
{
	int status;

	fill_standard_streams();
	/* Who stops reading must not keep files from being written whole or taken away again. */
	signal(SIGPIPE, SIG_IGN);
	/* A file that may not grow is an error of its write, and does not end the program. */
	signal(SIGXFSZ, SIG_IGN);
	status = run(argc, argv);
	if ((fflush(stdout) || ferror(stdout)) && status == VL_EXIT_OK) {
		fprintf(stderr, "verbline: the standard output cannot be written\n");
		status = VL_EXIT_FAILED;
	}
	return status;
}
