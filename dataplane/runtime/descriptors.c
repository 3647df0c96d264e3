/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/runtime/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>

/* The limit under which count descriptors are free, those in use counted. */
static rlim_t limit_for(unsigned int count)
{
	unsigned int found = 0;
	int file = 0;

	for (; found < count; file++) {
		if (fcntl(file, F_GETFD) < 0)
			found++;
	}
	return (rlim_t)file;
}

int vl_descriptors_reserve(unsigned int count, struct vl_error *error)
{
	rlim_t needed = limit_for(count), before;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return vl_error_set(error, -errno, "the limit of open files cannot be read: %s",
				    strerror(errno));
	if (limit.rlim_cur >= needed)
		return 0;
	before = limit.rlim_cur;
	limit.rlim_cur = needed;
	if (needed <= limit.rlim_max && !setrlimit(RLIMIT_NOFILE, &limit))
		return 0;
	return vl_error_set(error, -EMFILE,
			    "%llu open files are needed, and this process may have %llu: raise the "
			    "limit, as by 'ulimit -n %llu', or LimitNOFILE= of a systemd unit",
			    (unsigned long long)needed, (unsigned long long)before,
			    (unsigned long long)needed);
}
