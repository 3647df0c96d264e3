/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Pages in the roff language with the macros of man(7). */

#include "apps/manual/manual.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

/* The bytes of a UTF-8 sequence by its first; 1 for what is none. */
static unsigned int sequence_length(unsigned char first)
{
	if (first >= 0xf0)
		return 4;
	if (first >= 0xe0)
		return 3;
	return first >= 0xc0 ? 2 : 1;
}

static const char *write_sequence(const char *text, FILE *out)
{
	unsigned int length = sequence_length((unsigned char)*text);
	uint32_t code = (unsigned char)*text & (0xffu >> (length + 1));

	for (unsigned int i = 1; i < length && text[i]; i++)
		code = code << 6 | ((unsigned char)text[i] & 0x3f);
	fprintf(out, "\\[u%04" PRIX32 "]", code);
	return text + strnlen(text, length);
}

/* One character, so that it is printed as it is whatever it means to roff. */
static const char *write_character(const char *text, bool minus, FILE *out)
{
	switch (*text) {
	case '\\':
		fputs("\\e", out);
		break;
	case '-':
		fputs(minus ? "\\-" : "-", out);
		break;
	case '~':
		fputs("\\(ti", out);
		break;
	case '^':
		fputs("\\(ha", out);
		break;
	case '`':
		fputs("\\(ga", out);
		break;
	case '\'':
		fputs("\\(aq", out);
		break;
	case '"':
		fputs("\\(dq", out);
		break;
	default:
		if ((unsigned char)*text >= 0x80)
			return write_sequence(text, out);
		fputc(*text, out);
	}
	return text + 1;
}

/* Text to be copied and pasted: every hyphen is a minus. */
static void write_literal(const char *text, size_t length, FILE *out)
{
	const char *end = text + length;

	if (length && (*text == '.' || *text == '\''))
		fputs("\\&", out);
	while (text < end && *text)
		text = write_character(text, true, out);
}

/* A word that starts with a hyphen is an option, and its hyphens are to be typed. */
static bool is_option(const char *word)
{
	while (*word == '(' || *word == '\'' || *word == '"')
		word++;
	return *word == '-';
}

/* Prose: words with single spaces; a blank line starts a paragraph by the macro given. */
static void write_prose(const char *text, const char *paragraph, FILE *out)
{
	bool at_line_start = true;

	while (*text) {
		if (*text == ' ' || *text == '\n') {
			if (text[0] == '\n' && text[1] == '\n') {
				fprintf(out, "\n%s\n", paragraph);
				at_line_start = true;
				text++;
			}
			text++;
			continue;
		}
		if (!at_line_start)
			fputc(' ', out);
		else if (*text == '.' || *text == '\'')
			fputs("\\&", out);
		at_line_start = false;
		for (bool minus = is_option(text); *text && *text != ' ' && *text != '\n';)
			text = write_character(text, minus, out);
	}
	fputc('\n', out);
}

static void write_upper(const char *text, FILE *out)
{
	for (; *text; text++)
		fputc(toupper((unsigned char)*text), out);
}

/* No date: a page is as old as its program, and builds of one source are to be equal. */
static void write_title(const char *command, FILE *out)
{
	fputs(".TH VERBLINE", out);
	if (command) {
		fputs("\\-", out);
		write_upper(command, out);
	}
	fprintf(out, " 1 \"\" \"verbline %s\" \"User Commands\"\n", VERBLINE_VERSION);
}

static void write_option(const struct vl_option *option, FILE *out)
{
	fputs(".TP\n", out);
	if (option->letter)
		fprintf(out, "\\fB\\-%c\\fR, ", option->letter);
	fputs("\\fB\\-\\-", out);
	write_literal(option->name, strlen(option->name), out);
	fputs("\\fR", out);
	if (option->argument) {
		fputs(" \\fI", out);
		write_literal(option->argument, strlen(option->argument), out);
		fputs("\\fR", out);
	}
	fputc('\n', out);
	write_prose(option->help, ".IP", out);
}

static void write_section(const struct vl_command *command, const char *section, FILE *out)
{
	for (unsigned int i = 0; i < command->option_count; i++) {
		if (vl_option_is_of(&command->options[i], section))
			write_option(&command->options[i], out);
	}
}

static void write_examples(const char *examples, FILE *out)
{
	fputs(".SH EXAMPLES\n.nf\n", out);
	while (*examples) {
		size_t length = strcspn(examples, "\n");

		write_literal(examples, length, out);
		fputc('\n', out);
		examples += length + (examples[length] == '\n');
	}
	fputs(".fi\n", out);
}

static void write_exit_status(FILE *out)
{
	fputs(".SH \"EXIT STATUS\"\n"
	      ".TP\n\\fB0\\fR\nFine.\n"
	      ".TP\n\\fB1\\fR\nThe run, or a check in it, failed.\n"
	      ".TP\n\\fB2\\fR\nWrong usage or input.\n",
	      out);
}

void vl_manual_command(const struct vl_command *command, FILE *out)
{
	static const struct vl_option help = {
		.letter = 'h', .name = "help", .help = "Print this text"};

	write_title(command->name, out);
	fprintf(out, ".SH NAME\nverbline\\-%s \\- ", command->name);
	write_prose(command->summary, ".PP", out);
	fprintf(out, ".SH SYNOPSIS\n\\fBverbline %s\\fR [\\fIOPTION\\fR...]", command->name);
	if (command->operands) {
		fputs(" \\fI", out);
		write_literal(command->operands, strlen(command->operands), out);
		fputs("\\fR", out);
	}
	if (command->takes_eal_options)
		fputs(" [\\fB\\-\\-\\fR \\fIEAL\\-OPTION\\fR...]", out);
	fputs("\n.SH DESCRIPTION\n", out);
	write_prose(command->description, ".PP", out);
	fputs(".SH OPTIONS\n", out);
	write_section(command, NULL, out);
	write_option(&help, out);
	for (unsigned int i = 0; i < command->option_count; i++) {
		const char *section = vl_options_section(command, i);

		if (!section)
			continue;
		fprintf(out, ".SS \"%s\"\n", section);
		write_section(command, section, out);
	}
	if (command->examples)
		write_examples(command->examples, out);
	write_exit_status(out);
	fputs(".SH \"SEE ALSO\"\n\\fBverbline\\fR(1)\n", out);
}

void vl_manual_program(const struct vl_command *const *commands, unsigned int count, FILE *out)
{
	write_title(NULL, out);
	fputs(".SH NAME\n"
	      "verbline \\- RoCEv2 and InfiniBand transport in user space\n"
	      ".SH SYNOPSIS\n"
	      "\\fBverbline\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR...]\n"
	      ".SH DESCRIPTION\n"
	      "The same queue pairs in an emulated fabric in virtual time, on captures, and on\n"
	      "poll-mode cores. Each command has a manual page of its own, and says the same with\n"
	      "\\fB\\-\\-help\\fR.\n"
	      ".SH COMMANDS\n",
	      out);
	for (unsigned int i = 0; i < count; i++) {
		fprintf(out, ".TP\n\\fBverbline\\-%s\\fR(1)\n", commands[i]->name);
		write_prose(commands[i]->summary, ".IP", out);
	}
	fputs(".SH OPTIONS\n"
	      ".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nList the commands.\n"
	      ".TP\n\\fB\\-\\-version\\fR\nPrint the version.\n",
	      out);
	write_exit_status(out);
	fputs(".SH \"SEE ALSO\"\n", out);
	for (unsigned int i = 0; i < count; i++)
		fprintf(out, "\\fBverbline\\-%s\\fR(1)%s\n", commands[i]->name,
			i + 1 < count ? "," : "");
}
