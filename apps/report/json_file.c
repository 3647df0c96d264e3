/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/report/json_file.h"

#include <errno.h>
#include <string.h>

int vl_json_file_commit(json_t *root, struct vl_output *output, char *error, size_t error_size)
{
	int result = 0;

	errno = 0;
	if (!root) {
		snprintf(error, error_size, "%s: %s", output->path, strerror(ENOMEM));
		result = -ENOMEM;
	} else if (json_dumpf(root, output->file, JSON_INDENT(2)) ||
		   fputc('\n', output->file) < 0) {
		result = errno ? -errno : -EIO;
		snprintf(error, error_size, "%s: cannot be written: %s", output->path,
			 strerror(-result));
	}
	if (!result)
		result = vl_output_commit(output, error, error_size);
	vl_output_abandon(output);
	json_decref(root);
	return result;
}

int vl_json_file_write(json_t *root, const char *path, char *error, size_t error_size)
{
	struct vl_output output;
	int result = vl_output_open(&output, path, error, error_size);

	if (!result)
		return vl_json_file_commit(root, &output, error, error_size);
	json_decref(root);
	return result;
}
