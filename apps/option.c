/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/option.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Values that getopt_long returns for options, beyond any letter. */
#define OPTION_BASE 256
#define OPTION_HELP (OPTION_BASE - 1)

#define MAX_OPTIONS 128
#define LINE_WIDTH  80
#define HELP_COLUMN 26

static void describe_argument(const struct vl_option *option, char *name, size_t size)
{
	snprintf(name, size, "--%s", option->name);
}

static enum vl_options_result fail(char *error, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static enum vl_options_result fail(char *error, size_t size, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(error, size, format, arguments);
	va_end(arguments);
	return VL_OPTIONS_ERROR;
}

static void join_choices(const char *const *choices, char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (unsigned int i = 0; choices[i]; i++) {
		const char *separator = !i ? "" : choices[i + 1] ? ", " : " or ";

		used += snprintf(text + used, size - used, "%s%s", separator, choices[i]);
		if (used >= size)
			return;
	}
}

static enum vl_options_result take_choice(const struct vl_option *option, const char *name,
					  const char *text, unsigned int *value, char *error,
					  size_t error_size)
{
	char all[256];

	for (unsigned int i = 0; option->choices[i]; i++) {
		if (!strcmp(option->choices[i], text)) {
			*value = i;
			return VL_OPTIONS_OK;
		}
	}
	join_choices(option->choices, all, sizeof(all));
	return fail(error, error_size, "%s: '%.40s' is unknown; choose %s", name, text, all);
}

static enum vl_options_result take(const struct vl_option *option, const char *text, void *values,
				   char *error, size_t error_size)
{
	void *field = (char *)values + option->offset;
	char name[64], reason[256];
	struct vl_texts *texts;
	enum vl_quantity quantity = option->quantity;

	describe_argument(option, name, sizeof(name));
	switch (option->type) {
	case VL_OPTION_FLAG:
		*(bool *)field = true;
		return VL_OPTIONS_OK;
	case VL_OPTION_TEXT:
		if (!text[0])
			return fail(error, error_size, "%s: %s must not be empty", name,
				    option->argument);
		*(const char **)field = text;
		return VL_OPTIONS_OK;
	case VL_OPTION_TEXTS:
		texts = field;
		if (texts->count == VL_MAX_TEXTS)
			return fail(error, error_size, "%s: given more than %d times", name,
				    VL_MAX_TEXTS);
		texts->values[texts->count++] = text;
		return VL_OPTIONS_OK;
	case VL_OPTION_CHOICE:
		return take_choice(option, name, text, field, error, error_size);
	case VL_OPTION_NUMBER:
		quantity = VL_QUANTITY_COUNT;
		break;
	case VL_OPTION_QUANTITY:
		break;
	}
	if (vl_quantity_parse(quantity, text, option->least, option->most, field, reason,
			      sizeof(reason)))
		return fail(error, error_size, "%s: %s", name, reason);
	return VL_OPTIONS_OK;
}

static enum vl_options_result unknown_option(const struct vl_command *command, const char *typed,
					     char *error, size_t error_size)
{
	const char *names[MAX_OPTIONS + 2], *nearest;
	char word[64];
	unsigned int i;

	if (optopt && optopt < OPTION_HELP)
		return fail(error, error_size,
			    "unknown option '-%c'; 'verbline %s --help' lists all", optopt,
			    command->name);
	snprintf(word, sizeof(word), "%.*s", (int)strcspn(typed + 2, "="), typed + 2);
	for (i = 0; i < command->option_count; i++) {
		names[i] = command->options[i].name;
		if (optopt && !strcmp(names[i], word))
			return fail(error, error_size, "--%s takes no value", word);
	}
	names[i++] = "help";
	names[i] = NULL;
	nearest = vl_nearest(word, names);
	if (nearest)
		return fail(error, error_size, "unknown option '--%s'; did you mean --%s?", word,
			    nearest);
	return fail(error, error_size, "unknown option '--%s'; 'verbline %s --help' lists all",
		    word, command->name);
}

static enum vl_options_result missing_argument(const struct vl_command *command, char *error,
					       size_t error_size)
{
	const struct vl_option *option;

	for (unsigned int i = 0; i < command->option_count; i++) {
		option = &command->options[i];
		if (optopt == (int)(OPTION_BASE + i) ||
		    (option->letter && optopt == option->letter))
			return fail(error, error_size, "--%s needs a value: --%s %s", option->name,
				    option->name, option->argument);
	}
	return fail(error, error_size, "an option lacks its value");
}

static enum vl_options_result check_operands(const struct vl_command *command,
					     const struct vl_operands *operands, char *error,
					     size_t error_size)
{
	if (operands->count < command->least_operands)
		return fail(error, error_size, "%s is missing: verbline %s [OPTION...] %s",
			    command->operands, command->name, command->operands);
	if (operands->count > command->most_operands)
		return fail(error, error_size, "unexpected '%.80s': %s%s%s",
			    operands->values[command->most_operands],
			    command->operands ? "takes " : "takes options only",
			    command->operands ? command->operands : "",
			    command->operands ? " and nothing more" : "");
	return VL_OPTIONS_OK;
}

/* The tables that getopt_long wants, made of ours. */
static void make_tables(const struct vl_command *command, struct option *longs, char *letters)
{
	const struct vl_option *option;
	unsigned int i;

	*letters++ = ':';
	*letters++ = 'h';
	for (i = 0; i < command->option_count; i++) {
		option = &command->options[i];
		longs[i] = (struct option){option->name,
					   option->type == VL_OPTION_FLAG ? no_argument
									  : required_argument,
					   NULL, OPTION_BASE + (int)i};
		if (option->letter) {
			*letters++ = option->letter;
			if (option->type != VL_OPTION_FLAG)
				*letters++ = ':';
		}
	}
	*letters = '\0';
	longs[i] = (struct option){"help", no_argument, NULL, OPTION_HELP};
	longs[i + 1] = (struct option){NULL, 0, NULL, 0};
}

static const struct vl_option *find_option(const struct vl_command *command, int value)
{
	if (value >= OPTION_BASE)
		return &command->options[value - OPTION_BASE];
	for (unsigned int i = 0; i < command->option_count; i++) {
		if (command->options[i].letter == value)
			return &command->options[i];
	}
	return NULL;
}

enum vl_options_result vl_options_parse(const struct vl_command *command, int argc, char **argv,
					void *values, struct vl_operands *operands, char *error,
					size_t error_size)
{
	struct option longs[MAX_OPTIONS + 2];
	char letters[2 * MAX_OPTIONS + 3];
	enum vl_options_result result;
	int value, own = argc;

	*operands = (struct vl_operands){0};
	if (command->option_count > MAX_OPTIONS)
		return fail(error, error_size, "more than %d options are declared", MAX_OPTIONS);
	if (command->takes_eal_options) {
		for (own = 1; own < argc && strcmp(argv[own], "--"); own++)
			;
		if (own < argc) {
			operands->eal = argv + own + 1;
			operands->eal_count = argc - own - 1;
		}
	}
	make_tables(command, longs, letters);
	optind = 0;
	opterr = 0;
	while ((value = getopt_long(own, argv, letters, longs, NULL)) != -1) {
		if (value == 'h' || value == OPTION_HELP)
			return VL_OPTIONS_HELP;
		if (value == '?')
			return unknown_option(command, argv[optind - 1], error, error_size);
		if (value == ':')
			return missing_argument(command, error, error_size);
		result = take(find_option(command, value), optarg, values, error, error_size);
		if (result != VL_OPTIONS_OK)
			return result;
	}
	operands->values = argv + optind;
	operands->count = own - optind;
	return check_operands(command, operands, error, error_size);
}

void vl_print_wrapped(FILE *out, const char *text, unsigned int indent, unsigned int column)
{
	size_t length;

	while (*text) {
		if (*text == ' ' || *text == '\n') {
			if (text[0] == '\n' && text[1] == '\n') {
				fprintf(out, "\n\n");
				column = 0;
				text++;
			}
			text++;
			continue;
		}
		length = strcspn(text, " \n");
		if (column > indent && column + 1 + length > LINE_WIDTH) {
			fputc('\n', out);
			column = 0;
		}
		if (column < indent) {
			fprintf(out, "%*s", (int)(indent - column), "");
			column = indent;
		} else if (column > indent) {
			fputc(' ', out);
			column++;
		}
		fwrite(text, 1, length, out);
		column += length;
		text += length;
	}
	fputc('\n', out);
}

bool vl_option_is_of(const struct vl_option *option, const char *section)
{
	if (!option->section || !section)
		return option->section == section;
	return !strcmp(option->section, section);
}

const char *vl_options_section(const struct vl_command *command, unsigned int index)
{
	const char *section = command->options[index].section;

	for (unsigned int i = 0; section && i < index; i++) {
		if (vl_option_is_of(&command->options[i], section))
			return NULL;
	}
	return section;
}

static void print_option(const struct vl_option *option, FILE *out)
{
	char left[80];
	int column;

	if (option->letter)
		column = snprintf(left, sizeof(left), "  -%c, --%s", option->letter, option->name);
	else
		column = snprintf(left, sizeof(left), "      --%s", option->name);
	if (option->argument)
		column += snprintf(left + column, sizeof(left) - column, " %s", option->argument);
	fputs(left, out);
	if (column + 2 > HELP_COLUMN) {
		fputc('\n', out);
		column = 0;
	}
	vl_print_wrapped(out, option->help, HELP_COLUMN, column);
}

static void print_section(const struct vl_command *command, const char *section, FILE *out)
{
	for (unsigned int i = 0; i < command->option_count; i++) {
		if (vl_option_is_of(&command->options[i], section))
			print_option(&command->options[i], out);
	}
}

void vl_options_help(const struct vl_command *command, FILE *out)
{
	static const struct vl_option help = {'h', "help", NULL, "Print this text", VL_OPTION_FLAG,
					      0,   0,      0,    VL_QUANTITY_COUNT, NULL,
					      NULL};
	const char *line = command->examples;

	fprintf(out, "Usage: verbline %s [OPTION...]%s%s%s\n\n", command->name,
		command->operands ? " " : "", command->operands ? command->operands : "",
		command->takes_eal_options ? " [-- EAL-OPTION...]" : "");
	vl_print_wrapped(out, command->description, 0, 0);
	fprintf(out, "\nOptions:\n");
	print_section(command, NULL, out);
	print_option(&help, out);
	for (unsigned int i = 0; i < command->option_count; i++) {
		const char *section = vl_options_section(command, i);

		if (!section)
			continue;
		fprintf(out, "\n%s:\n", section);
		print_section(command, section, out);
	}
	if (line)
		fprintf(out, "\nExamples:\n");
	while (line && *line) {
		int length = (int)strcspn(line, "\n");

		fprintf(out, "  %.*s\n", length, line);
		line += length + (line[length] == '\n');
	}
}

void vl_command_error(const struct vl_command *command, const char *format, ...)
{
	va_list arguments;

	fflush(stdout);
	fprintf(stderr, "verbline %s: ", command->name);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
}

int vl_command_start(const struct vl_command *command, int argc, char **argv, void *values,
		     struct vl_operands *operands)
{
	char error[512];

	switch (vl_options_parse(command, argc, argv, values, operands, error, sizeof(error))) {
	case VL_OPTIONS_OK:
		return -1;
	case VL_OPTIONS_HELP:
		vl_options_help(command, stdout);
		return VL_EXIT_OK;
	case VL_OPTIONS_ERROR:
		break;
	}
	vl_command_error(command, "%s", error);
	return VL_EXIT_USAGE;
}
