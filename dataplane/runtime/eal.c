/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/runtime/eal.h"

#include "dataplane/port/port.h"
#include "dataplane/runtime/compat.h"
#include "dataplane/runtime/descriptors.h"
#include "dataplane/runtime/hugepages.h"
#include "dataplane/runtime/log.h"
#include "dataplane/runtime/polled_cpus.h"

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_ARGUMENTS      128
#define ARGUMENT_ROOM      4096
#define LCORE_MAP_ROOM     2048
#define MAX_TELEMETRY_NAME 32
/* Of the directory of a process without a telemetry name; its process ID follows. */
#define RUNTIME_PREFIX "verbline-"

/* What EAL opens at most: for each lcore two pipes, without which it aborts; beside them plugins,
 * sockets, timers and notices. A port has some for itself and some for each worker's queue. */
#define LCORE_DESCRIPTORS 4u
#define OTHER_DESCRIPTORS 32u
#define PORT_DESCRIPTORS  16u
#define QUEUE_DESCRIPTORS 4u

enum eal_state {
	EAL_NEVER_STARTED,
	EAL_RUNNING,
	EAL_STOPPED,
	EAL_FAILED,
};

/* DPDK is one per process, and so is what is known of it. EAL keeps pointers into its argument
 * vector, so the strings live here. */
static struct {
	enum eal_state state;
	bool has_hugepages;
	unsigned int worker_count;
	unsigned int worker_lcores[VL_MAX_WORKERS];
	cpu_set_t caller_cpus;
	struct vl_tsc_clock clock;
	char notice[VL_ERROR_LENGTH];
	int argument_count;
	char *arguments[MAX_ARGUMENTS + 1];
	char strings[ARGUMENT_ROOM];
	size_t string_length;
} eal;

int vl_eal_split_arguments(int argc, char *const *argv, int *eal_count, char *const **eal_arguments)
{
	for (int i = argc - 1; i > 0; i--) {
		if (!strcmp(argv[i], "--")) {
			*eal_count = argc - i - 1;
			*eal_arguments = argv + i + 1;
			return i;
		}
	}
	*eal_count = 0;
	*eal_arguments = argv + argc;
	return argc;
}

/* Those of cpus that are in others (or not), from the lowest on. Returns how many. */
static unsigned int list_cpus(const cpu_set_t *cpus, const cpu_set_t *others, bool are_in,
			      unsigned int list[CPU_SETSIZE])
{
	unsigned int count = 0;

	for (unsigned int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, cpus) && !!CPU_ISSET(cpu, others) == are_in)
			list[count++] = cpu;
	}
	return count;
}

int vl_eal_map_lcores(const cpu_set_t *cpus, const cpu_set_t *polled, unsigned int worker_count,
		      char *map, size_t size)
{
	unsigned int cpu_count = (unsigned int)CPU_COUNT(cpus), lcore = 0;
	unsigned int list[CPU_SETSIZE], free_count;
	size_t length = 0;

	if (cpu_count < worker_count)
		return -ENOSPC;
	map[0] = '\0';
	free_count = list_cpus(cpus, polled, false, list);
	list_cpus(cpus, polled, true, list + free_count);
	/* The main lcore sleeps most of the time, and can do so beside somebody's worker. */
	if (free_count <= worker_count && worker_count < cpu_count && free_count < cpu_count) {
		unsigned int main_cpu = list[cpu_count - 1];

		memmove(list + 1, list, (cpu_count - 1) * sizeof(list[0]));
		list[0] = main_cpu;
	}
	if (cpu_count == worker_count) {
		/* No CPU is left for the main lcore: it shares all of them. */
		char separator = '(';

		length = (size_t)snprintf(map, size, "0@");
		for (int cpu = 0; cpu < CPU_SETSIZE && length < size; cpu++) {
			if (!CPU_ISSET(cpu, cpus))
				continue;
			length += (size_t)snprintf(map + length, size - length, "%c%d", separator,
						   cpu);
			separator = ',';
		}
		if (length < size)
			length += (size_t)snprintf(map + length, size - length, ")");
		lcore = 1;
	}
	for (unsigned int i = 0; lcore <= worker_count && length < size; i++, lcore++)
		length += (size_t)snprintf(map + length, size - length, "%s%u@%u",
					   length ? "," : "", lcore, list[i]);
	return length < size ? 0 : -ENOBUFS;
}

/* name is "-x" or "--long"; values may be attached to either. */
static bool user_gave(const struct vl_eal_config *config, const char *name)
{
	size_t length = strlen(name);
	bool is_long = name[1] == '-';

	for (int i = 0; i < config->argument_count; i++) {
		const char *argument = config->arguments[i];

		if (strncmp(argument, name, length))
			continue;
		if (!is_long || argument[length] == '\0' || argument[length] == '=')
			return true;
	}
	return false;
}

static int add_argument(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int add_argument(const char *format, ...)
{
	size_t room = sizeof(eal.strings) - eal.string_length;
	va_list values;
	int length;

	if (eal.argument_count == MAX_ARGUMENTS)
		return -E2BIG;
	va_start(values, format);
	length = vsnprintf(eal.strings + eal.string_length, room, format, values);
	va_end(values);
	if (length < 0 || (size_t)length >= room)
		return -E2BIG;
	eal.arguments[eal.argument_count++] = eal.strings + eal.string_length;
	eal.string_length += (size_t)length + 1;
	return 0;
}

/* More than one are told in one line. */
__attribute__((format(printf, 1, 2))) static void add_notice(const char *format, ...)
{
	size_t length = strlen(eal.notice);
	va_list values;

	if (length)
		length += (size_t)snprintf(eal.notice + length, sizeof(eal.notice) - length, "; ");
	if (length >= sizeof(eal.notice))
		return;
	va_start(values, format);
	vsnprintf(eal.notice + length, sizeof(eal.notice) - length, format, values);
	va_end(values);
}

static int choose_memory(const struct vl_eal_config *config, struct vl_error *error)
{
	unsigned int memory_mb = config->memory_mb ? config->memory_mb : VL_EAL_DEFAULT_MEMORY_MB;
	char description[VL_ERROR_LENGTH / 2];

	if (user_gave(config, "--no-huge") || config->hugepages == VL_HUGEPAGES_NEVER) {
		eal.has_hugepages = false;
	} else if (vl_hugepages_are_free(memory_mb)) {
		eal.has_hugepages = true;
	} else {
		vl_hugepages_describe(memory_mb, description, sizeof(description));
		if (config->hugepages == VL_HUGEPAGES_REQUIRED)
			return vl_error_set(error, -ENOMEM, "no hugepages: %s", description);
		eal.has_hugepages = false;
		add_notice("without hugepages, using ordinary memory, which is slower: %s",
			   description);
	}
	/* Both leave no files behind; EAL takes the first with hugepages only. */
	if (eal.has_hugepages) {
		if (!user_gave(config, "--in-memory") && add_argument("--in-memory"))
			return -E2BIG;
	} else {
		if (!user_gave(config, "--no-huge") && add_argument("--no-huge"))
			return -E2BIG;
		if (!user_gave(config, "--no-shconf") && add_argument("--no-shconf"))
			return -E2BIG;
	}
	if (!user_gave(config, "-m") && !user_gave(config, "--socket-mem") &&
	    (add_argument("-m") || add_argument("%u", memory_mb)))
		return -E2BIG;
	return 0;
}

/* A worker of SCHED_FIFO never lets the control thread, which has the same priority, have its CPU:
 * it would start, and nothing would end it. With SCHED_RR the control thread has its turns. */
static bool would_starve_control(const struct vl_eal_config *config)
{
	return (sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) == SCHED_FIFO &&
	       (unsigned int)CPU_COUNT(&eal.caller_cpus) == config->worker_count;
}

static int choose_lcores(const struct vl_eal_config *config, struct vl_error *error)
{
	cpu_set_t polled, both;
	char map[LCORE_MAP_ROOM];
	unsigned int free_count;
	int result;

	if (user_gave(config, "-l") || user_gave(config, "-c") || user_gave(config, "--lcores"))
		return 0;
	if (would_starve_control(config)) {
		return vl_error_set(
			error, -ENOSPC,
			"has real-time priority (SCHED_FIFO) and needs %u CPUs then, one besides "
			"those of its workers, and may use %u: give it more, or run it without "
			"chrt, or with chrt --rr",
			config->worker_count + 1, config->worker_count);
	}
	vl_find_polled_cpus(&polled);
	CPU_AND(&both, &polled, &eal.caller_cpus);
	free_count = (unsigned int)(CPU_COUNT(&eal.caller_cpus) - CPU_COUNT(&both));
	result = vl_eal_map_lcores(&eal.caller_cpus, &polled, config->worker_count, map,
				   sizeof(map));
	if (result == -ENOSPC) {
		return vl_error_set(
			error, result,
			"needs %u CPU%s for workers, and this process may use %d: give it "
			"more (taskset, cpuset, container limits) or use fewer workers",
			config->worker_count, config->worker_count == 1 ? "" : "s",
			CPU_COUNT(&eal.caller_cpus));
	}
	if (result)
		return vl_error_set(error, result, "the list of CPUs is too long for EAL");
	if (free_count < config->worker_count)
		add_notice(
			"workers of other programs poll on %d of the %d CPUs that this program may "
			"use: on a CPU that is shared, neither is as fast as it could be",
			CPU_COUNT(&both), CPU_COUNT(&eal.caller_cpus));
	return add_argument("--lcores") || add_argument("%s", map) ? -E2BIG : 0;
}

/* The directory of what this process shows to others, and whether the telemetry socket is there. */
static int choose_names(const struct vl_eal_config *config)
{
	if (!user_gave(config, "--file-prefix")) {
		if (config->telemetry
			    ? add_argument("--file-prefix=%s", config->telemetry)
			    : add_argument("--file-prefix=" RUNTIME_PREFIX "%ld", (long)getpid()))
			return -E2BIG;
	}
	if (user_gave(config, "--telemetry") || user_gave(config, "--no-telemetry"))
		return 0;
	return add_argument(config->telemetry ? "--telemetry" : "--no-telemetry");
}

static int check_telemetry_name(const char *name, struct vl_error *error)
{
	static const char allowed[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
	size_t length = name ? strlen(name) : 1;

	if (!name || (length && length <= MAX_TELEMETRY_NAME && strspn(name, allowed) == length &&
		      strcmp(name, ".") && strcmp(name, "..")))
		return 0;
	return vl_error_set(
		error, -EINVAL,
		"telemetry: '%.40s' is no name of 1 to %d letters, digits, '-', '_' and "
		"'.'",
		name, MAX_TELEMETRY_NAME);
}

static int add_arguments(const struct vl_eal_config *config, struct vl_error *error)
{
	bool use_pci = user_gave(config, "-a") || user_gave(config, "--allow");
	int result;

	if (add_argument("verbline"))
		return -E2BIG;
	result = choose_lcores(config, error);
	if (!result)
		result = choose_memory(config, error);
	if (result)
		return result;
	if (choose_names(config))
		return -E2BIG;
	for (unsigned int i = 0; i < config->port_count; i++) {
		char devargs[VL_ERROR_LENGTH];

		if (!vl_port_name_is_pci(config->ports[i], devargs, sizeof(devargs)))
			continue;
		use_pci = true;
		if (add_argument("-a") || add_argument("%s", devargs))
			return -E2BIG;
	}
	if (!use_pci && !user_gave(config, "--no-pci") && add_argument("--no-pci"))
		return -E2BIG;
	/* Virtual devices address memory by pointers; only NICs need physical addresses. */
	if (!use_pci && !user_gave(config, "--iova-mode") && add_argument("--iova-mode=va"))
		return -E2BIG;
	for (int i = 0; i < config->argument_count; i++) {
		if (add_argument("%s", config->arguments[i]))
			return -E2BIG;
	}
	eal.arguments[eal.argument_count] = NULL;
	return 0;
}

/* EAL makes /run/dpdk/PREFIX, and leaves it. What others hold in it keeps it. */
static void remove_runtime_directory(void)
{
	const char *directory = rte_eal_get_runtime_dir();

	if (directory && *directory)
		rmdir(directory);
}

/* Of processes that were killed, and which left nothing else. Who runs has files in it, or will not
 * miss it. */
static void remove_stale_directories(void)
{
	const char *own = rte_eal_get_runtime_dir(), *slash = own ? strrchr(own, '/') : NULL;
	struct dirent *entry;
	char path[PATH_MAX];
	DIR *parent;
	int length;

	if (!slash)
		return;
	snprintf(path, sizeof(path), "%.*s", (int)(slash - own), own);
	parent = opendir(path);
	while (parent && (entry = readdir(parent))) {
		long pid;

		length = 0;
		if (sscanf(entry->d_name, RUNTIME_PREFIX "%10ld%n", &pid, &length) != 1 ||
		    entry->d_name[length] || pid <= 0 || !kill((pid_t)pid, 0) || errno != ESRCH)
			continue;
		unlinkat(dirfd(parent), entry->d_name, AT_REMOVEDIR);
	}
	if (parent)
		closedir(parent);
}

static int check_config(const struct vl_eal_config *config, struct vl_error *error)
{
	if (eal.state != EAL_NEVER_STARTED) {
		return vl_error_set(error, -EALREADY,
				    "DPDK can be started once per process, and %s before",
				    eal.state == EAL_FAILED ? "failed to start" : "was started");
	}
	if (!config->worker_count || config->worker_count > VL_MAX_WORKERS) {
		return vl_error_set(error, -EINVAL, "%u workers: must be 1 to %d",
				    config->worker_count, VL_MAX_WORKERS);
	}
	if (check_telemetry_name(config->telemetry, error))
		return -EINVAL;
	/* EAL would print its own help and leave the process. */
	if (user_gave(config, "-h") || user_gave(config, "--help")) {
		return vl_error_set(
			error, -EINVAL,
			"-h and --help cannot be passed on to EAL: its options are described "
			"in the DPDK documentation under 'EAL parameters'");
	}
	if (sched_getaffinity(0, sizeof(eal.caller_cpus), &eal.caller_cpus)) {
		return vl_error_set(error, -errno, "cannot find out which CPUs may be used: %s",
				    strerror(errno));
	}
	return 0;
}

static int find_workers(const struct vl_eal_config *config, struct vl_error *error)
{
	unsigned int lcore;

	eal.worker_count = 0;
	RTE_LCORE_FOREACH_WORKER(lcore)
	{
		if (eal.worker_count < config->worker_count)
			eal.worker_lcores[eal.worker_count++] = lcore;
	}
	if (eal.worker_count < config->worker_count) {
		return vl_error_set(
			error, -ENOSPC,
			"needs %u lcores beside the main one, and the EAL options give %u",
			config->worker_count, eal.worker_count);
	}
	return 0;
}

/* When an option is wrong, EAL prints its whole usage on standard output, and getopt and EAL a line
 * each on standard error. */
static int run_init(const struct vl_eal_config *config, struct vl_error *error)
{
	int result, output = -1, errors = -1;

	vl_log_open(config->verbose);
	vl_log_clear();
	if (!config->verbose) {
		output = vl_log_silence(stdout);
		errors = vl_log_silence(stderr);
	}
	/* Before EAL sets up its own end, so that it comes after: the telemetry socket is gone
	 * then. */
	atexit(remove_runtime_directory);
	result = rte_eal_init(eal.argument_count, eal.arguments);
	result = result < 0 ? -(rte_errno ? rte_errno : EINVAL) : 0;
	vl_log_restore(stdout, output);
	vl_log_restore(stderr, errors);
	/* EAL sets the log level anew. */
	vl_log_open(config->verbose);
	if (result) {
		vl_error_set(error, result, "DPDK did not start: %s%s%s%s", vl_log_text(),
			     *vl_log_text() ? ": " : "", rte_strerror(-result),
			     config->argument_count ? "; look at the options after '--'" : "");
	}
	return result;
}

static unsigned int descriptors_needed(const struct vl_eal_config *config)
{
	return OTHER_DESCRIPTORS + (config->worker_count + 1) * LCORE_DESCRIPTORS +
	       config->port_count * (PORT_DESCRIPTORS + config->worker_count * QUEUE_DESCRIPTORS);
}

int vl_eal_start(const struct vl_eal_config *config, struct vl_error *error)
{
	int result = check_config(config, error);

	if (!result)
		result = vl_descriptors_reserve(descriptors_needed(config), error);
	if (result)
		return result;
	eal.notice[0] = '\0';
	eal.argument_count = 0;
	eal.string_length = 0;
	result = add_arguments(config, error);
	if (result == -E2BIG)
		return vl_error_set(error, -EINVAL, "too many EAL options");
	if (result)
		return result;
	result = run_init(config, error);
	if (result) {
		eal.state = EAL_FAILED;
		return result;
	}
	eal.state = EAL_RUNNING;
	remove_stale_directories();
	result = vl_tsc_clock_init(&eal.clock, rte_get_tsc_hz(), rte_rdtsc());
	if (result)
		vl_error_set(error, result, "the CPU's time stamp counter is too slow");
	else
		result = find_workers(config, error);
	if (result)
		vl_eal_stop();
	return result;
}

void vl_eal_stop(void)
{
	if (eal.state != EAL_RUNNING)
		return;
	rte_eal_mp_wait_lcore();
	rte_eal_cleanup();
	sched_setaffinity(0, sizeof(eal.caller_cpus), &eal.caller_cpus);
	eal.state = EAL_STOPPED;
	eal.worker_count = 0;
}

bool vl_eal_is_running(void)
{
	return eal.state == EAL_RUNNING;
}

const char *vl_eal_notice(void)
{
	return eal.notice;
}

bool vl_eal_has_hugepages(void)
{
	return eal.state == EAL_RUNNING && eal.has_hugepages;
}

const struct vl_tsc_clock *vl_eal_clock(void)
{
	return &eal.clock;
}

unsigned int vl_eal_worker_count(void)
{
	return eal.worker_count;
}

unsigned int vl_eal_worker_lcore(unsigned int worker)
{
	return eal.worker_lcores[worker];
}
