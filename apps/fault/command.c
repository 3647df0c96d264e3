/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* verbline faults: what event lists there are and may say, and whether one is right. */

#include "apps/fault/command.h"

#include "apps/fault/event_list.h"
#include "apps/report/config.h"
#include "apps/scenario/scenario.h"
#include "transport/wire/opcode.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct faults_options {
	bool keys, actions, opcodes;
	const char *check;
};

static const struct vl_option options[] = {
	{.name = "keys",
	 .help = "Print every key that an event list may have",
	 .type = VL_OPTION_FLAG,
	 .offset = offsetof(struct faults_options, keys)},
	{.name = "actions",
	 .help = "Print what each action does",
	 .type = VL_OPTION_FLAG,
	 .offset = offsetof(struct faults_options, actions)},
	{.name = "opcodes",
	 .help = "Print the names and classes of opcodes",
	 .type = VL_OPTION_FLAG,
	 .offset = offsetof(struct faults_options, opcodes)},
	{.name = "check",
	 .argument = "FILE",
	 .help = "Say whether an event list is right, and if not, what is wrong where",
	 .type = VL_OPTION_TEXT,
	 .offset = offsetof(struct faults_options, check)},
};

static int faults_main(const struct vl_command *command, int argc, char **argv);

const struct vl_command vl_faults_command = {
	.name = "faults",
	.operands = "[LIST]",
	.most_operands = 1,
	.summary = "event lists: faults on purpose for endpoint and gen",
	.description =
		"Event lists tell an endpoint or a generator what to do to which packets: drop, "
		"duplicate, reorder, delay, mark, corrupt, refuse, pause and more, addressed by "
		"connection, QPN, PSN, opcode, message, count or chance. Their option --events "
		"takes a YAML file, or the name of a ready list. Without an argument this command "
		"lists the ready ones; with the name of one it prints it, to start a file of your "
		"own from.",
	.examples = "verbline faults\n"
		    "verbline faults rnr-storm > mine.yaml; verbline faults --check mine.yaml\n"
		    "verbline endpoint --port af_packet:eth0 --ip 10.0.0.2/24 --events mine.yaml",
	.options = options,
	.option_count = sizeof(options) / sizeof(options[0]),
	.run = faults_main,
};

static int list_ready(const struct vl_command *command)
{
	for (unsigned int i = 0; i < vl_ready_event_list_count; i++) {
		const struct vl_ready_event_list *ready = &vl_ready_event_lists[i];
		struct vl_problems problems = {.file = ready->name};
		struct vl_event_list *list =
			vl_event_list_parse(ready->text, strlen(ready->text), &problems);

		if (!list) {
			vl_command_error(command, "the ready list %s cannot be read", ready->name);
			return VL_EXIT_FAILED;
		}
		printf("%s\n", ready->name);
		vl_print_wrapped(stdout, list->shows ? list->shows : "", 4, 0);
		vl_event_list_free(list);
	}
	return VL_EXIT_OK;
}

static int show_ready(const struct vl_command *command, const char *name)
{
	const char *names[64], *nearest;
	unsigned int i;

	for (i = 0; i < vl_ready_event_list_count && i < 63; i++) {
		names[i] = vl_ready_event_lists[i].name;
		if (!strcmp(names[i], name)) {
			fputs(vl_ready_event_lists[i].text, stdout);
			return VL_EXIT_OK;
		}
	}
	names[i] = NULL;
	nearest = vl_nearest(name, names);
	vl_command_error(command, "no ready list is called '%.40s'%s%s%s", name,
			 nearest ? "; did you mean " : "; 'verbline faults' lists them",
			 nearest ? nearest : "", nearest ? "?" : "");
	return VL_EXIT_USAGE;
}

static int print_keys(void)
{
	printf("Keys of an event list. Values have units: 10us, 5%%. Defaults are in "
	       "brackets.\n\n");
	vl_config_describe(&vl_event_list_schema, 0, stdout);
	return VL_EXIT_OK;
}

static int print_actions(void)
{
	for (unsigned int kind = 0; kind < VL_FAULT_ACTION_COUNT; kind++) {
		printf("%s\n", vl_fault_action_name((enum vl_fault_action_kind)kind));
		vl_print_wrapped(stdout, vl_fault_action_meaning((enum vl_fault_action_kind)kind),
				 4, 0);
	}
	return VL_EXIT_OK;
}

static int print_opcodes(void)
{
	const char *name, *meaning;

	printf("Classes:\n");
	for (unsigned int n = 0; (name = vl_fault_class_name(n, &meaning)); n++)
		printf("  %-14s %s\n", name, meaning);
	printf("\nOpcodes; without what stands before the first '_', those of all services:\n");
	for (unsigned int opcode = 0; opcode < 256; opcode++) {
		if (!vl_opcode_table[opcode].flags)
			continue;
		printf("  ");
		for (name = vl_opcode_table[opcode].name; *name; name++)
			putchar(*name == ' ' ? '_' : tolower((unsigned char)*name));
		putchar('\n');
	}
	return VL_EXIT_OK;
}

static int check_file(const struct vl_command *command, const char *path)
{
	struct vl_problems problems = {.file = path};
	struct vl_event_list *list;
	char error[512], *text;
	size_t length;

	text = vl_scenario_read_file(path, &length, error, sizeof(error));
	if (!text) {
		vl_command_error(command, "%s", error);
		return VL_EXIT_USAGE;
	}
	list = vl_event_list_parse(text, length, &problems);
	free(text);
	if (!list) {
		vl_problems_print(&problems, stderr);
		return VL_EXIT_USAGE;
	}
	printf("%s: %u event%s\n", path, list->event_count, list->event_count == 1 ? "" : "s");
	vl_event_list_free(list);
	return VL_EXIT_OK;
}

static int faults_main(const struct vl_command *command, int argc, char **argv)
{
	struct faults_options values = {0};
	struct vl_operands operands;
	int status = vl_command_start(command, argc, argv, &values, &operands);

	if (status >= 0)
		return status;
	if (values.keys)
		return print_keys();
	if (values.actions)
		return print_actions();
	if (values.opcodes)
		return print_opcodes();
	if (values.check)
		return check_file(command, values.check);
	return operands.count ? show_ready(command, operands.values[0]) : list_ready(command);
}
