/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/manual/manual.h"
#include "apps/report/config.h"
#include "apps/scenario/scenario.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail(const char *path)
{
	fprintf(stderr, "verbline: %s: %s\n", path, strerror(errno));
	return VL_EXIT_FAILED;
}

static int finish(FILE *file, const char *path)
{
	bool failed = ferror(file);

	return fclose(file) || failed ? fail(path) : VL_EXIT_OK;
}

/* A new file each time: the directory then shows by its own time that it was written. */
static FILE *open_page(const char *directory, const char *name, char *path, size_t size)
{
	if ((size_t)snprintf(path, size, "%s/verbline%s%s.1", directory, name ? "-" : "",
			     name ? name : "") >= size) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	unlink(path);
	return fopen(path, "w");
}

static int generate_pages(const struct vl_command *const *commands, unsigned int count,
			  const char *directory)
{
	char path[PATH_MAX];
	FILE *file;

	if (mkdir(directory, 0755) && errno != EEXIST)
		return fail(directory);
	file = open_page(directory, NULL, path, sizeof(path));
	if (!file)
		return fail(path);
	vl_manual_program(commands, count, file);
	if (finish(file, path))
		return VL_EXIT_FAILED;
	for (unsigned int i = 0; i < count; i++) {
		file = open_page(directory, commands[i]->name, path, sizeof(path));
		if (!file)
			return fail(path);
		vl_manual_command(commands[i], file);
		if (finish(file, path))
			return VL_EXIT_FAILED;
	}
	return VL_EXIT_OK;
}

static int generate_completion(const struct vl_command *const *commands, unsigned int count,
			       const char *functions_path, const char *path)
{
	FILE *functions = fopen(functions_path, "r"), *file;
	char piece[4096];
	size_t length;

	if (!functions)
		return fail(functions_path);
	file = fopen(path, "w");
	if (!file) {
		fclose(functions);
		return fail(path);
	}
	vl_manual_completion(commands, count, file);
	while ((length = fread(piece, 1, sizeof(piece), functions)) > 0)
		fwrite(piece, 1, length, file);
	if (finish(functions, functions_path)) {
		fclose(file);
		return VL_EXIT_FAILED;
	}
	return finish(file, path);
}

static void document_parameters(FILE *file)
{
	const struct vl_cc_description *parameter;

	fputs("\n## congestion_control.parameters\n\nDCQCN's, by NVIDIA's names.\n\n"
	      "| parameter | unit | nvidia | paper | range | meaning "
	      "|\n|---|---|---|---|---|---|\n",
	      file);
	for (unsigned int i = 0; (parameter = vl_dcqcn_describe(i)); i++)
		fprintf(file, "| `%s` | %s | %u | %u | %u to %u | %s |\n", parameter->name,
			parameter->unit, parameter->nvidia, parameter->paper, parameter->least,
			parameter->most, parameter->meaning);
	fputs("\n## infiniband.congestion_control.parameters\n\n"
	      "| parameter | unit | default | range | meaning |\n|---|---|---|---|---|\n",
	      file);
	for (unsigned int i = 0; (parameter = vl_infiniband_cc_describe(i)); i++)
		fprintf(file, "| `%s` | %s | %u | %u to %u | %s |\n", parameter->name,
			parameter->unit, parameter->value, parameter->least, parameter->most,
			parameter->meaning);
}

static int generate_keys(const char *path)
{
	FILE *file = fopen(path, "w");

	if (!file)
		return fail(path);
	fputs("# Every key of a scenario\n\n"
	      "Written by `verbline --generate keys` from the tables that files are read by. "
	      "[scenario.md](scenario.md) says\nwhat to do with them.\n\n",
	      file);
	vl_config_document(&vl_scenario_schema, file);
	document_parameters(file);
	return finish(file, path);
}

int vl_manual_generate(const struct vl_command *const *commands, unsigned int count, int argc,
		       char **argv)
{
	if (argc == 2 && !strcmp(argv[0], "man"))
		return generate_pages(commands, count, argv[1]);
	if (argc == 3 && !strcmp(argv[0], "completion"))
		return generate_completion(commands, count, argv[1], argv[2]);
	if (argc == 2 && !strcmp(argv[0], "keys"))
		return generate_keys(argv[1]);
	fprintf(stderr, "verbline: --generate takes 'man DIRECTORY', 'completion FUNCTIONS FILE' "
			"or 'keys FILE'\n");
	return VL_EXIT_USAGE;
}
