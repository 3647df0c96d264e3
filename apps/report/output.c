/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/report/output.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Symbolic links that lead to a file which does not exist: as many as the kernel follows. */
#define MAX_LINKS 40

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

static char *join(const char *directory, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", directory, name) < 0 ? NULL : path;
}

/* The name in a directory that exists, of a file that may not. NULL: there is no such directory, or
 * no memory. */
static char *name_in_directory(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char *parent = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	char *directory = parent ? realpath(parent, NULL) : NULL;
	char *found = directory ? join(strcmp(directory, "/") ? directory : "", name) : NULL;

	free(parent);
	free(directory);
	return found;
}

/* The file that a path leads to, symbolic links followed, whether it exists or not; to be freed.
 * NULL: the path leads nowhere, or no memory. */
static char *place_of(const char *path)
{
	char target[PATH_MAX], *place = realpath(path, NULL), *next;
	ssize_t length;

	if (place || errno != ENOENT)
		return place;
	place = name_in_directory(path);
	for (int i = 0; place && i < MAX_LINKS; i++) {
		length = readlink(place, target, sizeof(target) - 1);
		if (length < 0)
			return place;
		target[length] = '\0';
		*strrchr(place, '/') = '\0';
		next = *target == '/' ? name_in_directory(target) : join(place, target);
		free(place);
		place = next ? name_in_directory(next) : NULL;
		free(next);
	}
	free(place);
	return NULL;
}

/* Of the standard streams the one that a symbolic link, as /dev/stdout, leads to; else -1. */
static int stream_of_link(const char *path)
{
	struct stat status, stream;

	if (lstat(path, &status) || !S_ISLNK(status.st_mode) || stat(path, &status))
		return -1;
	for (int i = STDOUT_FILENO; i <= STDERR_FILENO; i++) {
		if (!fstat(i, &stream) && stream.st_dev == status.st_dev &&
		    stream.st_ino == status.st_ino)
			return i;
	}
	return -1;
}

bool vl_output_is_same(const char *path, const char *other)
{
	struct stat one, two;
	char *place, *other_place;
	bool is_same;

	if (!path || !other)
		return false;
	if (!strcmp(path, other))
		return !is_special(path);
	if (!stat(path, &one) && !stat(other, &two))
		return S_ISREG(one.st_mode) && one.st_dev == two.st_dev && one.st_ino == two.st_ino;
	if (!strcmp(path, "-") || !strcmp(other, "-"))
		return false;
	place = place_of(path);
	other_place = place_of(other);
	is_same = place && other_place && !strcmp(place, other_place);
	free(place);
	free(other_place);
	return is_same;
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

/* Where it is written until it is whole, and the name that it then gets. */
static int choose_names(struct vl_output *output)
{
	char *place;

	errno = 0;
	place = place_of(output->path);
	if (!place)
		return errno ? -errno : -ENOMEM;
	/* A file that may not be written is not to be replaced either. */
	if (access(place, W_OK) && errno != ENOENT) {
		free(place);
		return -errno;
	}
	output->place = place;
	if (asprintf(&output->partial, "%s.partial", place) < 0) {
		output->partial = NULL;
		return -ENOMEM;
	}
	return 0;
}

int vl_output_open(struct vl_output *output, const char *path, char *error, size_t error_size)
{
	int stream = strcmp(path, "-") ? stream_of_link(path) : STDOUT_FILENO;
	int status = 0;

	*output = (struct vl_output){.path = strdup(path)};
	if (!output->path) {
		snprintf(error, error_size, "out of memory");
		return -ENOMEM;
	}
	if (stream < 0 && !is_special(path))
		status = choose_names(output);
	if (!status) {
		output->file = stream < 0 ? fopen(output->partial ? output->partial : path, "w")
					  : fdopen(dup(stream), "w");
		if (output->file)
			return 0;
		status = -errno;
	}
	fail(output, status, error, error_size);
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
	if (!status && output->partial && rename(output->partial, output->place))
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
	free(output->place);
	free(output->path);
	*output = (struct vl_output){0};
}
