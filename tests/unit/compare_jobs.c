/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Tasks in processes of their own: what one does to itself, the others do not notice. */

#include "apps/compare/jobs.h"
#include "apps/sanitizers.h"
#include "tests/support/suite.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#define TASKS 6

enum { FINE, KILLED, ABORTED, REFUSED, SILENT, LARGE };

static struct {
	unsigned int finished;
	bool is_ok;
	char problem[256];
	uint64_t sum;
} ends[TASKS];
static volatile int interrupted;

#define LARGE_COUNT 500000u

static int work(void *context, struct vl_jobs *jobs, unsigned int task, struct vl_bytes *result,
		char *error, size_t error_size)
{
	uint64_t value = 7;

	(void)context;
	vl_jobs_set_progress(jobs, task, 0.5);
	switch (task) {
	case KILLED:
		raise(SIGKILL);
		break;
	case ABORTED:
		signal(SIGABRT, SIG_DFL);
		raise(SIGABRT);
		break;
	case REFUSED:
		snprintf(error, error_size, "out of %s", "luck");
		return -EINVAL;
	case SILENT:
		_exit(3);
	case LARGE:
		for (uint64_t i = 0; i < LARGE_COUNT; i++)
			vl_bytes_append(result, &i, sizeof(i));
		break;
	default:
		vl_bytes_append(result, &value, sizeof(value));
		break;
	}
	return 0;
}

static void finish(void *context, unsigned int task, const struct vl_job_end *end)
{
	struct vl_bytes_reader reader = end->result;
	uint64_t value;

	(void)context;
	ends[task].finished++;
	ends[task].is_ok = end->is_ok;
	snprintf(ends[task].problem, sizeof(ends[task].problem), "%s",
		 end->problem ? end->problem : "");
	while (vl_bytes_read(&reader, &value, sizeof(value)))
		ends[task].sum += value;
}

static struct vl_jobs_config config_of(unsigned int processes)
{
	memset(ends, 0, sizeof(ends));
	interrupted = 0;
	return (struct vl_jobs_config){.tasks = TASKS,
				       .processes = processes,
				       .work = work,
				       .finish = finish,
				       .interrupted = &interrupted};
}

static void check_ends(void)
{
	for (unsigned int i = 0; i < TASKS; i++)
		CU_ASSERT_EQUAL(ends[i].finished, 1);
	CU_ASSERT(ends[FINE].is_ok && ends[FINE].sum == 7);
	CU_ASSERT(!ends[KILLED].is_ok && strstr(ends[KILLED].problem, "signal 9"));
	CU_ASSERT(!ends[ABORTED].is_ok && strstr(ends[ABORTED].problem, "signal 6"));
	CU_ASSERT(!ends[REFUSED].is_ok);
	CU_ASSERT_STRING_EQUAL(ends[REFUSED].problem, "out of luck");
	CU_ASSERT(!ends[SILENT].is_ok && strstr(ends[SILENT].problem, "exit status 3"));
	CU_ASSERT(ends[LARGE].is_ok);
	CU_ASSERT_EQUAL(ends[LARGE].sum, (uint64_t)LARGE_COUNT * (LARGE_COUNT - 1) / 2);
}

static void a_lost_process_takes_nothing_with_it(void)
{
	char error[256] = "";

	for (unsigned int processes = 1; processes <= 8; processes *= 2) {
		struct vl_jobs_config config = config_of(processes);

		CU_ASSERT_EQUAL(vl_jobs_run(&config, error, sizeof(error)), 0);
		check_ends();
	}
}

static int sleep_long(void *context, struct vl_jobs *jobs, unsigned int task,
		      struct vl_bytes *result, char *error, size_t error_size)
{
	(void)context;
	(void)jobs;
	(void)result;
	(void)error;
	(void)error_size;
	if (task)
		sleep(100);
	return 0;
}

static void interrupt_after_the_first(void *context, unsigned int task,
				      const struct vl_job_end *end)
{
	finish(context, task, end);
	interrupted = 1;
}

static void an_interrupt_ends_what_runs(void)
{
	struct vl_jobs_config config = config_of(2);
	char error[256] = "";
	unsigned int finished = 0;

	config.work = sleep_long;
	config.finish = interrupt_after_the_first;
	CU_ASSERT_EQUAL(vl_jobs_run(&config, error, sizeof(error)), -EINTR);
	for (unsigned int i = 0; i < TASKS; i++)
		finished += ends[i].finished;
	CU_ASSERT_EQUAL(finished, 1);
	CU_ASSERT(ends[0].is_ok);
}

#if !VL_ADDRESS_SANITIZER
static int allocate_much(void *context, struct vl_jobs *jobs, unsigned int task,
			 struct vl_bytes *result, char *error, size_t error_size)
{
	/* Volatile, or a compiler may do without the memory. */
	char *volatile kept = malloc((size_t)1 << 29);
	char *memory = kept;

	(void)context;
	(void)jobs;
	(void)task;
	if (!memory) {
		snprintf(error, error_size, "out of memory");
		return -ENOMEM;
	}
	memory[0] = 1;
	vl_bytes_append(result, memory, 1);
	free(memory);
	return 0;
}
#endif

static void memory_is_limited(void)
{
#if VL_ADDRESS_SANITIZER
	skip_test("the sanitizer's own memory cannot be limited");
#else
	struct vl_jobs_config config = config_of(2);
	char error[256] = "";

	config.work = allocate_much;
	config.memory = UINT64_C(1) << 28;
	CU_ASSERT_EQUAL(vl_jobs_run(&config, error, sizeof(error)), 0);
	CU_ASSERT_STRING_EQUAL(ends[0].problem, "out of memory");
	config = config_of(2);
	config.work = allocate_much;
	config.memory = UINT64_C(1) << 31;
	CU_ASSERT_EQUAL(vl_jobs_run(&config, error, sizeof(error)), 0);
	CU_ASSERT(ends[0].is_ok);
#endif
}

static const struct test tests[] = {
	{"a_lost_process_takes_nothing_with_it", a_lost_process_takes_nothing_with_it},
	{"an_interrupt_ends_what_runs", an_interrupt_ends_what_runs},
	{"memory_is_limited", memory_is_limited},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("compare_jobs", tests, argc, argv);
}
