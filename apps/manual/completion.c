/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * The tables of the bash completion. What an option takes is told from its entry: the words of a
 * choice; else the name of its argument, which tells files, directories and ports.
 */

#include "apps/manual/manual.h"

#include <string.h>

static void write_options(const struct vl_command *command, FILE *out)
{
	fprintf(out, "    %s) echo '", command->name);
	for (unsigned int i = 0; i < command->option_count; i++)
		fprintf(out, "--%s ", command->options[i].name);
	fputs("--help' ;;\n", out);
}

/* What the argument named so stands for. */
static const char *kind_of_argument(const char *name)
{
	if (strstr(name, "FILE") || !strcmp(name, "[SCENARIO]"))
		return "file";
	if (strstr(name, "DIR"))
		return "directory";
	return !strcmp(name, "PORT") ? "port" : "other";
}

static void write_values(const struct vl_command *command, FILE *out)
{
	const struct vl_option *option;

	for (unsigned int i = 0; i < command->option_count; i++) {
		option = &command->options[i];
		if (option->type == VL_OPTION_FLAG)
			continue;
		fprintf(out, "    '%s --%s'", command->name, option->name);
		if (option->letter)
			fprintf(out, " | '%s -%c'", command->name, option->letter);
		fputs(") echo '", out);
		if (option->type == VL_OPTION_CHOICE) {
			fputs("words", out);
			for (unsigned int k = 0; option->choices[k]; k++)
				fprintf(out, " %s", option->choices[k]);
		} else {
			fputs(kind_of_argument(option->argument), out);
		}
		fputs("' ;;\n", out);
	}
	if (command->operands)
		fprintf(out, "    '%s operands') echo %s ;;\n", command->name,
			kind_of_argument(command->operands));
}

void vl_manual_completion(const struct vl_command *const *commands, unsigned int count, FILE *out)
{
	fputs("# bash completion of verbline, written by the program from its option tables\n\n"
	      "_verbline_commands='",
	      out);
	for (unsigned int i = 0; i < count; i++)
		fprintf(out, "%s%s", i ? " " : "", commands[i]->name);
	fputs("'\n\n_verbline_options() {\n    case $1 in\n", out);
	for (unsigned int i = 0; i < count; i++)
		write_options(commands[i], out);
	fputs("    esac\n}\n\n"
	      "# What an option (or the operands) of a command takes; nothing: no value.\n"
	      "_verbline_takes() {\n    case \"$1 $2\" in\n",
	      out);
	for (unsigned int i = 0; i < count; i++)
		write_values(commands[i], out);
	fputs("    esac\n}\n\n", out);
}
