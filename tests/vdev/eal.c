/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/runtime/eal.h"
#include "dataplane/runtime/hugepages.h"
#include "dataplane/runtime/polled_cpus.h"
#include "tests/vdev/support.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* DPDK starts once per process, so each case is a child. Its report: the result and the text. */
struct report {
	int result, second_result;
	struct vl_error error, second_error;
	bool hugepages;
	unsigned int workers, lcores_are_distinct;
	char notice[VL_ERROR_LENGTH];
};

static struct report start_in_child(const struct vl_eal_config *config, const cpu_set_t *cpus)
{
	struct report report = {.result = -ECHILD};
	int channel[2], status;
	pid_t child;

	if (pipe(channel))
		return report;
	fflush(stdout);
	child = fork();
	if (!child) {
		if (cpus)
			sched_setaffinity(0, sizeof(*cpus), cpus);
		report.result = vl_eal_start(config, &report.error);
		report.hugepages = vl_eal_has_hugepages();
		report.workers = vl_eal_worker_count();
		report.lcores_are_distinct =
			report.workers < 2 || vl_eal_worker_lcore(0) != vl_eal_worker_lcore(1);
		snprintf(report.notice, sizeof(report.notice), "%s", vl_eal_notice());
		if (!report.result || report.result == -EINVAL)
			report.second_result = vl_eal_start(config, &report.second_error);
		vl_eal_stop();
		status = write(channel[1], &report, sizeof(report)) == sizeof(report) ? 0 : 1;
		_exit(status);
	}
	close(channel[1]);
	if (child > 0) {
		if (read(channel[0], &report, sizeof(report)) != sizeof(report))
			report.result = -EPIPE;
		waitpid(child, &status, 0);
		/* Neither exit() nor abort() from within. */
		CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	close(channel[0]);
	return report;
}

static struct vl_eal_config plain(unsigned int workers)
{
	return (struct vl_eal_config){
		.worker_count = workers,
		.memory_mb = 64,
		.hugepages = VL_HUGEPAGES_NEVER,
	};
}

static void test_starts_once(void)
{
	struct vl_eal_config config = plain(1);
	struct report report = start_in_child(&config, NULL);

	CU_ASSERT_EQUAL(report.result, 0);
	CU_ASSERT_EQUAL(report.workers, 1);
	CU_ASSERT_FALSE(report.hugepages);
	CU_ASSERT_STRING_EQUAL(report.notice, "");
	CU_ASSERT_EQUAL(report.second_result, -EALREADY);
	CU_ASSERT_STRING_EQUAL(report.second_error.text,
			       "DPDK can be started once per process, and was started before");
}

static void test_two_workers(void)
{
	struct vl_eal_config config = plain(2);
	struct report report;

	if (test_cpu_count() < 2)
		return;
	report = start_in_child(&config, NULL);
	CU_ASSERT_EQUAL(report.result, 0);
	CU_ASSERT_EQUAL(report.workers, 2);
	CU_ASSERT(report.lcores_are_distinct);
}

static void test_too_few_cpus(void)
{
	struct vl_eal_config config = plain(2);
	cpu_set_t all, one;
	struct report report;

	CPU_ZERO(&one);
	sched_getaffinity(0, sizeof(all), &all);
	for (int cpu = 0; cpu < CPU_SETSIZE && !CPU_COUNT(&one); cpu++) {
		if (CPU_ISSET(cpu, &all))
			CPU_SET(cpu, &one);
	}
	report = start_in_child(&config, &one);
	CU_ASSERT_EQUAL(report.result, -ENOSPC);
	CU_ASSERT_PTR_NOT_NULL(
		strstr(report.error.text, "needs 2 CPUs for workers, and this process may use 1"));
}

/* A worker on the only CPU there is, of real-time priority: the control thread would never run. */
static void test_real_time(void)
{
	const struct sched_param real_time = {1}, ordinary = {0};
	struct vl_eal_config config = plain(1);
	const int first = sched_getcpu();
	struct report report;
	cpu_set_t one;

	if (sched_setscheduler(0, SCHED_FIFO, &real_time)) {
		skip_test("no right to real-time priority");
		return;
	}
	CPU_ZERO(&one);
	CPU_SET(first, &one);
	report = start_in_child(&config, &one);
	CU_ASSERT_EQUAL(report.result, -ENOSPC);
	CU_ASSERT_PTR_NOT_NULL(strstr(report.error.text, "(SCHED_FIFO) and needs 2 CPUs"));
	/* With turns, and without priority. */
	CU_ASSERT_EQUAL(sched_setscheduler(0, SCHED_RR, &real_time), 0);
	report = start_in_child(&config, &one);
	CU_ASSERT_EQUAL(report.result, 0);
	CU_ASSERT_EQUAL(sched_setscheduler(0, SCHED_OTHER, &ordinary), 0);
	report = start_in_child(&config, &one);
	CU_ASSERT_EQUAL(report.result, 0);
}

static void test_bad_options(void)
{
	char *nonsense[] = {(char *)"--no-such-option"}, *help[] = {(char *)"--help"};
	char *lcores[] = {(char *)"-l", (char *)"4096"};
	struct vl_eal_config config = plain(1);
	struct report report;

	config.arguments = nonsense;
	config.argument_count = 1;
	report = start_in_child(&config, NULL);
	CU_ASSERT_EQUAL(report.result, -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(report.error.text, "DPDK did not start"));
	CU_ASSERT_EQUAL(report.second_result, -EALREADY);
	CU_ASSERT_PTR_NOT_NULL(strstr(report.second_error.text, "failed to start"));
	printf("    %s\n", report.error.text);

	/* EAL would answer this with exit(). */
	config.arguments = help;
	report = start_in_child(&config, NULL);
	CU_ASSERT_EQUAL(report.result, -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(report.error.text, "--help"));

	config.arguments = lcores;
	config.argument_count = 2;
	report = start_in_child(&config, NULL);
	CU_ASSERT(report.result < 0);
	printf("    %s\n", report.error.text);
}

static void test_worker_count_is_checked(void)
{
	struct vl_eal_config config = plain(0);
	struct report report = start_in_child(&config, NULL);

	CU_ASSERT_EQUAL(report.result, -EINVAL);
	config.worker_count = VL_MAX_WORKERS + 1;
	report = start_in_child(&config, NULL);
	CU_ASSERT_EQUAL(report.result, -EINVAL);
	CU_ASSERT_STRING_EQUAL(report.error.text, "65 workers: must be 1 to 64");
}

/* More than any machine has: falls back with one line, or fails where they are required. */
static void test_no_hugepages(void)
{
	struct vl_eal_config config = plain(1);
	struct report report;

	if (vl_hugepages_are_free(64))
		return;
	config.hugepages = VL_HUGEPAGES_IF_FREE;
	report = start_in_child(&config, NULL);
	CU_ASSERT_EQUAL(report.result, 0);
	CU_ASSERT_FALSE(report.hugepages);
	CU_ASSERT_PTR_NOT_NULL(strstr(report.notice, "32 hugepages of 2 MB are needed"));
	CU_ASSERT_PTR_NOT_NULL(strstr(report.notice, "nr_hugepages"));
	CU_ASSERT_PTR_NULL(strchr(report.notice, '\n'));

	config.hugepages = VL_HUGEPAGES_REQUIRED;
	report = start_in_child(&config, NULL);
	CU_ASSERT_EQUAL(report.result, -ENOMEM);
	CU_ASSERT_PTR_NOT_NULL(strstr(report.error.text, "no hugepages: 32 hugepages of 2 MB"));
}

/* The user's own lcores win over ours. */
static void test_users_options(void)
{
	char *arguments[] = {(char *)"--lcores", NULL};
	struct vl_eal_config config = plain(1);
	struct report report;
	char map[64];
	cpu_set_t cpus;
	int cpu = 0;

	sched_getaffinity(0, sizeof(cpus), &cpus);
	while (!CPU_ISSET(cpu, &cpus))
		cpu++;
	snprintf(map, sizeof(map), "3@%d,5@%d,7@%d", cpu, cpu, cpu);
	arguments[1] = map;
	config.arguments = arguments;
	config.argument_count = 2;
	report = start_in_child(&config, NULL);
	CU_ASSERT_EQUAL(report.result, 0);
	CU_ASSERT_EQUAL(report.workers, 1);

	config.worker_count = 3;
	report = start_in_child(&config, NULL);
	CU_ASSERT_EQUAL(report.result, -ENOSPC);
	CU_ASSERT_STRING_EQUAL(report.error.text,
			       "needs 3 lcores beside the main one, and the EAL options give 2");
}

static void set_cpus(cpu_set_t *cpus, const int *list, unsigned int count)
{
	CPU_ZERO(cpus);
	for (unsigned int i = 0; i < count; i++)
		CPU_SET(list[i], cpus);
}

static void test_lcore_map(void)
{
	static const int two[] = {0, 1}, scattered[] = {3, 64, 200};
	cpu_set_t cpus, none, polled;
	char map[64], tiny[10];

	set_cpus(&none, NULL, 0);
	set_cpus(&cpus, two, 2);
	CU_ASSERT_EQUAL(vl_eal_map_lcores(&cpus, &none, 2, map, sizeof(map)), 0);
	CU_ASSERT_STRING_EQUAL(map, "0@(0,1),1@0,2@1");
	CU_ASSERT_EQUAL(vl_eal_map_lcores(&cpus, &none, 1, map, sizeof(map)), 0);
	CU_ASSERT_STRING_EQUAL(map, "0@0,1@1");
	CU_ASSERT_EQUAL(vl_eal_map_lcores(&cpus, &none, 3, map, sizeof(map)), -ENOSPC);
	CU_ASSERT_EQUAL(vl_eal_map_lcores(&cpus, &none, 2, tiny, sizeof(tiny)), -ENOBUFS);
	set_cpus(&cpus, scattered, 3);
	CU_ASSERT_EQUAL(vl_eal_map_lcores(&cpus, &none, 2, map, sizeof(map)), 0);
	CU_ASSERT_STRING_EQUAL(map, "0@3,1@64,2@200");
	CU_ASSERT_EQUAL(vl_eal_map_lcores(&cpus, &none, 3, map, sizeof(map)), 0);
	CU_ASSERT_STRING_EQUAL(map, "0@(3,64,200),1@3,2@64,3@200");
	/* Others poll on the first: it is for the main lcore at most, then for the last worker. */
	set_cpus(&polled, scattered, 1);
	CPU_SET(5, &polled);
	CU_ASSERT_EQUAL(vl_eal_map_lcores(&cpus, &polled, 1, map, sizeof(map)), 0);
	CU_ASSERT_STRING_EQUAL(map, "0@64,1@200");
	CU_ASSERT_EQUAL(vl_eal_map_lcores(&cpus, &polled, 2, map, sizeof(map)), 0);
	CU_ASSERT_STRING_EQUAL(map, "0@3,1@64,2@200");
	CU_ASSERT_EQUAL(vl_eal_map_lcores(&cpus, &polled, 3, map, sizeof(map)), 0);
	CU_ASSERT_STRING_EQUAL(map, "0@(3,64,200),1@64,2@200,3@3");
	CU_ASSERT_EQUAL(vl_eal_map_lcores(&cpus, &cpus, 1, map, sizeof(map)), 0);
	CU_ASSERT_STRING_EQUAL(map, "0@200,1@3");
}

static void *sleep_on(void *context)
{
	sem_t *over = context;

	pthread_setname_np(pthread_self(), "rte-worker-7");
	while (sem_wait(over))
		continue;
	return NULL;
}

/* A thread with a worker's name, of another process, bound to the last CPU. */
static void test_polled_cpus(void)
{
	int ready[2], last = -1;
	cpu_set_t all, one, found;
	char byte;
	pid_t child;

	CU_ASSERT_EQUAL(sched_getaffinity(0, sizeof(all), &all), 0);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &all))
			last = cpu;
	}
	set_cpus(&one, &last, 1);
	CU_ASSERT_EQUAL_FATAL(pipe(ready), 0);
	child = fork();
	CU_ASSERT_FATAL(child >= 0);
	if (!child) {
		pthread_t bound;
		sem_t over;

		sem_init(&over, 0, 0);
		pthread_create(&bound, NULL, sleep_on, &over);
		pthread_setaffinity_np(bound, sizeof(one), &one);
		usleep(50000); /* till it has its name */
		_exit(write(ready[1], "", 1) != 1 || pause());
	}
	close(ready[1]);
	CU_ASSERT_EQUAL(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	vl_find_polled_cpus(&found);
	CU_ASSERT_TRUE(CPU_ISSET(last, &found));
	kill(child, SIGKILL);
	CU_ASSERT_EQUAL(waitpid(child, NULL, 0), child);
}

static void test_split_arguments(void)
{
	char *argv[] = {(char *)"verbline", (char *)"gen", (char *)"--", (char *)"x",
			(char *)"--",       (char *)"-l",  (char *)"0"};
	char *const *eal_arguments;
	int eal_count;

	CU_ASSERT_EQUAL(vl_eal_split_arguments(7, argv, &eal_count, &eal_arguments), 4);
	CU_ASSERT_EQUAL(eal_count, 2);
	CU_ASSERT_STRING_EQUAL(eal_arguments[0], "-l");
	CU_ASSERT_EQUAL(vl_eal_split_arguments(5, argv, &eal_count, &eal_arguments), 4);
	CU_ASSERT_EQUAL(eal_count, 0);
	CU_ASSERT_EQUAL(vl_eal_split_arguments(2, argv, &eal_count, &eal_arguments), 2);
	CU_ASSERT_EQUAL(eal_count, 0);
}

static void test_clock(void)
{
	static const uint64_t rates[] = {4000000, 25000000, 999999999, 2600000000, 5000000000};
	struct vl_tsc_clock clock = {0};

	CU_ASSERT_EQUAL(vl_tsc_clock_init(&clock, VL_TSC_CLOCK_MIN_HZ - 1, 0), -ERANGE);
	for (unsigned int i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		uint64_t hz = rates[i], previous = 0;

		CU_ASSERT_EQUAL(vl_tsc_clock_init(&clock, hz, 1000), 0);
		CU_ASSERT_EQUAL(vl_tsc_clock_ns(&clock, 0), 0);
		CU_ASSERT_EQUAL(vl_tsc_clock_ns(&clock, 1000), 0);
		/* A year: never ahead, and less than 2 ns behind. */
		for (uint64_t seconds = 1; seconds <= 31536000; seconds = seconds * 7 + 1) {
			uint64_t now = vl_tsc_clock_ns(&clock, 1000 + seconds * hz);

			CU_ASSERT(now <= seconds * 1000000000 && now + 2 > seconds * 1000000000);
			CU_ASSERT(now > previous);
			previous = now;
		}
		for (uint64_t tick = 1; tick < 10000; tick++)
			CU_ASSERT(vl_tsc_clock_ns(&clock, tick) >=
				  vl_tsc_clock_ns(&clock, tick - 1));
	}
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"starts_once", test_starts_once},
		{"two_workers", test_two_workers},
		{"too_few_cpus", test_too_few_cpus},
		{"real_time", test_real_time},
		{"bad_options", test_bad_options},
		{"worker_count_is_checked", test_worker_count_is_checked},
		{"no_hugepages", test_no_hugepages},
		{"users_options", test_users_options},
		{"lcore_map", test_lcore_map},
		{"polled_cpus", test_polled_cpus},
		{"split_arguments", test_split_arguments},
		{"clock", test_clock},
	};

	return RUN_SUITE("vdev/eal", tests, argc, argv);
}
