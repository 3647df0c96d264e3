/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/runtime/log.h"

#include <rte_log.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define KEPT_LENGTH 240

/* DPDK's own threads may log too. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char kept[KEPT_LENGTH];
static size_t kept_length;
static FILE *stream;

static void keep(char c)
{
	if (kept_length + 1 < sizeof(kept)) {
		kept[kept_length++] = c;
		kept[kept_length] = '\0';
	}
}

static ssize_t write_log(void *cookie, const char *text, size_t length)
{
	bool line_ended = kept_length > 0;

	(void)cookie;
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < length; i++) {
		if (text[i] == '\n') {
			line_ended = true;
			continue;
		}
		if (line_ended && kept_length) {
			keep(';');
			keep(' ');
		}
		line_ended = false;
		keep(text[i]);
	}
	pthread_mutex_unlock(&lock);
	return (ssize_t)length;
}

void vl_log_open(bool verbose)
{
	static const cookie_io_functions_t functions = {.write = write_log};

	if (!verbose && !stream) {
		stream = fopencookie(NULL, "w", functions);
		if (stream)
			setvbuf(stream, NULL, _IOLBF, 0);
	}
	rte_log_set_global_level(verbose ? RTE_LOG_INFO : RTE_LOG_ERR);
	rte_openlog_stream(verbose || !stream ? stderr : stream);
}

void vl_log_clear(void)
{
	pthread_mutex_lock(&lock);
	kept_length = 0;
	kept[0] = '\0';
	pthread_mutex_unlock(&lock);
}

const char *vl_log_text(void)
{
	return kept;
}

int vl_log_silence(FILE *file)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC), saved = -1;

	fflush(file);
	if (null >= 0)
		saved = fcntl(fileno(file), F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (saved >= 0)
		dup2(null, fileno(file));
	if (null >= 0)
		close(null);
	return saved;
}

void vl_log_restore(FILE *file, int saved)
{
	fflush(file);
	if (saved >= 0) {
		dup2(saved, fileno(file));
		close(saved);
	}
}
