/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * The options of a subcommand as one table, from which parsing and --help come (and whatever else
 * lists options). -h, --help needs no entry: every command has it.
 *
 *	static const struct vl_option options[] = {
 *		{'s', "seed", "N", "Seed of all random numbers [1]",
 *		 VL_OPTION_NUMBER, offsetof(struct lab_options, seed), .most = UINT64_MAX},
 *	};
 */
#ifndef VERBLINE_APPS_OPTION_H
#define VERBLINE_APPS_OPTION_H

#include "apps/quantity.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Exit status of every command. */
#define VL_EXIT_OK     0
#define VL_EXIT_FAILED 1 /* the run, or a check in it, failed */
#define VL_EXIT_USAGE  2 /* wrong usage or input */

/* What the value is, and the type of the field at the option's offset. */
enum vl_option_type {
	VL_OPTION_FLAG,     /* bool; no argument */
	VL_OPTION_TEXT,     /* const char *, into argv */
	VL_OPTION_TEXTS,    /* struct vl_texts: the option may be repeated */
	VL_OPTION_NUMBER,   /* uint64_t, least..most; decimal or 0x */
	VL_OPTION_CHOICE,   /* unsigned int, an index into choices */
	VL_OPTION_QUANTITY, /* uint64_t in the unit of .quantity, least..most */
};

/* The values of a repeated option, in their order. */
#define VL_MAX_TEXTS 64
struct vl_texts {
	const char *values[VL_MAX_TEXTS];
	unsigned int count;
};

struct vl_option {
	char letter;          /* 0: none */
	const char *name;     /* without the dashes */
	const char *argument; /* its name in the help; NULL with VL_OPTION_FLAG */
	const char *help;     /* one line or more; wrapped as printed */
	enum vl_option_type type;
	size_t offset; /* of the value in the command's structure */
	uint64_t least, most;
	enum vl_quantity quantity;
	const char *const *choices; /* ends with NULL */
	/* Heading that the help puts it under, for what several commands have; NULL: the command's
	 * own, which come first. */
	const char *section;
};

struct vl_command {
	const char *name;     /* the subcommand's */
	const char *operands; /* as in the synopsis: "FILE..."; NULL: takes none */
	unsigned int least_operands, most_operands;
	const char *summary;     /* one line, for `verbline --help` */
	const char *description; /* paragraphs, wrapped as printed */
	const char *examples;    /* printed as it is, each line indented; may be NULL */
	const struct vl_option *options;
	unsigned int option_count;
	bool takes_eal_options; /* what follows "--" goes to DPDK's EAL */
	/* argv[0] is the subcommand's name. Returns an exit status. */
	int (*run)(const struct vl_command *command, int argc, char **argv);
};

/* What is left of argv. All pointers are into argv. */
struct vl_operands {
	char **values;
	unsigned int count;
	char **eal; /* after "--", with takes_eal_options */
	unsigned int eal_count;
};

enum vl_options_result {
	VL_OPTIONS_OK,
	VL_OPTIONS_HELP,  /* --help was asked for */
	VL_OPTIONS_ERROR, /* error says what was wrong, and what would be right */
};

/* Fills the structure at values, which holds the defaults. argv may be permuted. */
enum vl_options_result vl_options_parse(const struct vl_command *command, int argc, char **argv,
					void *values, struct vl_operands *operands, char *error,
					size_t error_size);
/* The heading of the option at index, if it is the first of its section; NULL: it is not. The
 * options of a section need not stand together. */
const char *vl_options_section(const struct vl_command *command, unsigned int index);
bool vl_option_is_of(const struct vl_option *option, const char *section);
void vl_options_help(const struct vl_command *command, FILE *out);

/* Parses, prints the help or the error, and returns -1 if the command is to go on, else the exit
 * status to end with. */
int vl_command_start(const struct vl_command *command, int argc, char **argv, void *values,
		     struct vl_operands *operands);

/* "verbline COMMAND: MESSAGE" on stderr. */
void vl_command_error(const struct vl_command *command, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Prints text wrapped at 80 columns; a blank line starts a paragraph. */
void vl_print_wrapped(FILE *out, const char *text, unsigned int indent, unsigned int first_column);

#endif
