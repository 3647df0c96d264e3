/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/report/output.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail(const struct vl_output *output, int status, char *error, size_t error_size)
{
	snprintf(error, error_size, "%s: cannot be written: %s", output->path, strerror(-status));
	return status;
}

static bool is_special(const char *path)
{
	struct stat status;

	return !stat(path, &status) && !S_ISREG(status.st_mode);
}

bool vl_output_is_same(const char *path, const char *other)
{
	struct stat one, two;

	if (!path || !other)
		return false;
	if (!strcmp(path, other))
		return !is_special(path);
	return !stat(path, &one) && !stat(other, &two) && S_ISREG(one.st_mode) &&
	       one.st_dev == two.st_dev && one.st_ino == two.st_ino;
}

int vl_output_check_names(const char *const *names, unsigned int count, char *error,
			  size_t error_size)
{
	for (unsigned int i = 0; i < count; i++) {
		for (unsigned int j = i + 1; j < count; j++) {
			if (!vl_output_is_same(names[i], names[j]))
				continue;
			snprintf(error, error_size,
				 "%.400s: %s; each output needs a file of its own", names[i],
				 j == count - 1 ? "is the scenario, and would be overwritten"
						: "is named for two outputs");
			return -EINVAL;
		}
	}
	return 0;
}

int vl_output_open(struct vl_output *output, const char *path, char *error, size_t error_size)
{
	size_t size = strlen(path) + sizeof(".partial");
	bool is_stdout = !strcmp(path, "-");
	int status = 0;

	*output = (struct vl_output){.path = strdup(path)};
	if (output->path && !is_stdout && !is_special(path))
		output->partial = malloc(size);
	if (!output->path || (!output->partial && !is_stdout && !is_special(path))) {
		snprintf(error, error_size, "out of memory");
		vl_output_abandon(output);
		return -ENOMEM;
	}
	if (output->partial)
		snprintf(output->partial, size, "%s.partial", path);
	output->file = is_stdout ? fdopen(dup(STDOUT_FILENO), "w")
				 : fopen(output->partial ? output->partial : path, "w");
	if (output->file)
		return 0;
	status = fail(output, -errno, error, error_size);
	vl_output_abandon(output);
	return status;
}

int vl_output_commit(struct vl_output *output, char *error, size_t error_size)
{
	int status = 0;

	errno = 0;
	if (fflush(output->file))
		status = errno ? -errno : -EIO;
	/* An earlier write failed, and stdio has forgotten why: the same again tells. */
	if (!status && ferror(output->file))
		status = write(fileno(output->file), "\n", 1) < 0 ? -errno : -EIO;
	if (fclose(output->file) && !status)
		status = -errno;
	output->file = NULL;
	if (!status && output->partial && rename(output->partial, output->path))
		status = -errno;
	if (status)
		fail(output, status, error, error_size);
	else if (output->partial)
		output->partial[0] = '\0';
	vl_output_abandon(output);
	return status;
}

void vl_output_abandon(struct vl_output *output)
{
	if (output->file)
		fclose(output->file);
	if (output->partial && output->partial[0])
		unlink(output->partial);
	free(output->partial);
	free(output->path);
	*output = (struct vl_output){0};
}
