/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/compare/jobs.h"

#include "apps/sanitizers.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TICK_MS       200
#define PROGRESS_ONE  UINT32_C(1000000)
#define MESSAGE_SIZE  512
#define MAX_PROCESSES 256u
#define READ_SIZE     65536

/* The first byte that a task writes, before its result or its message. */
enum { TASK_OK = 'k', TASK_FAILED = 'f' };

struct process {
	pid_t pid; /* 0: none */
	int pipe;
	unsigned int task;
	uint64_t started; /* ns */
	struct vl_bytes bytes;
};

struct vl_jobs {
	const struct vl_jobs_config *config;
	uint32_t *progress; /* by task, of PROGRESS_ONE; shared with the processes */
	struct process processes[MAX_PROCESSES];
	unsigned int process_count, running, next, ended;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

void vl_jobs_set_progress(struct vl_jobs *jobs, unsigned int task, double part)
{
	uint32_t value = part <= 0 ? 0 : part >= 1 ? PROGRESS_ONE : (uint32_t)(part * PROGRESS_ONE);

	__atomic_store_n(&jobs->progress[task], value, __ATOMIC_RELAXED);
}

double vl_jobs_progress(const struct vl_jobs *jobs)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < jobs->config->tasks; i++)
		sum += __atomic_load_n(&jobs->progress[i], __ATOMIC_RELAXED);
	return (double)sum / PROGRESS_ONE / jobs->config->tasks;
}

unsigned int vl_jobs_processors(void)
{
	cpu_set_t set;
	int count = sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);

	return count < 1 ? 1 : (unsigned int)count;
}

uint64_t vl_jobs_available_memory(void)
{
	FILE *file = fopen("/proc/meminfo", "r");
	unsigned long long kilobytes = 0;
	char line[128];

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "MemAvailable: %llu kB", &kilobytes) == 1)
			break;
	}
	if (file)
		fclose(file);
	return (uint64_t)kilobytes * 1024;
}

/* ---- In the task's process ----------------------------------------------------------------- */

static bool write_all(int descriptor, const void *data, size_t length)
{
	const char *from = data;
	ssize_t written;

	while (length) {
		written = write(descriptor, from, length);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return false;
		from += written;
		length -= (size_t)written;
	}
	return true;
}

/* The sanitizers map far more than they use. */
static void limit_memory(uint64_t bytes)
{
#if !VL_ADDRESS_SANITIZER && !VL_THREAD_SANITIZER
	const struct rlimit limit = {bytes, bytes};

	if (bytes)
		setrlimit(RLIMIT_DATA, &limit);
#else
	(void)bytes;
#endif
}

static void run_task(struct vl_jobs *jobs, unsigned int task, int pipe, pid_t parent)
{
	const struct vl_jobs_config *config = jobs->config;
	struct vl_bytes result = {0};
	char first = TASK_OK, error[MESSAGE_SIZE] = "";
	int status;

	/* Terminals and timeout(1) end whole groups of processes; the collecting one decides. */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	limit_memory(config->memory);
	status = config->work(config->context, jobs, task, &result, error, sizeof(error));
	if (!status && result.out_of_memory) {
		status = -ENOMEM;
		snprintf(error, sizeof(error), "out of memory");
	}
	if (status) {
		first = TASK_FAILED;
		free(result.data);
		result = (struct vl_bytes){.data = (unsigned char *)error, .length = strlen(error)};
	}
	if (!write_all(pipe, &first, 1) || !write_all(pipe, result.data, result.length))
		_exit(1);
	_exit(0);
}

/* ---- In the collecting process ------------------------------------------------------------- */

static int start(struct vl_jobs *jobs, struct process *process, char *error, size_t error_size)
{
	pid_t parent = getpid();
	int ends[2];

	if (pipe(ends)) {
		int failure = errno;

		snprintf(error, error_size, "no pipe for a process: %s", strerror(failure));
		return -failure;
	}
	/* What is still to be printed would be printed by both. */
	fflush(NULL);
	*process = (struct process){.pipe = ends[0], .task = jobs->next, .started = now_ns()};
	process->pid = fork();
	if (process->pid < 0) {
		int failure = errno;

		process->pid = 0;
		close(ends[0]);
		close(ends[1]);
		snprintf(error, error_size, "no process for a run: %s", strerror(failure));
		return -failure;
	}
	if (!process->pid) {
		close(ends[0]);
		run_task(jobs, process->task, ends[1], parent);
	}
	close(ends[1]);
	jobs->next++;
	jobs->running++;
	return 0;
}

static pid_t wait_for(pid_t pid, int *status)
{
	pid_t found;

	do
		found = waitpid(pid, status, 0);
	while (found < 0 && errno == EINTR);
	return found;
}

/* The pipe is at its end: the process is done, or dead. */
static void finish(struct vl_jobs *jobs, struct process *process)
{
	const struct vl_bytes *bytes = &process->bytes;
	struct vl_job_end end = {.time = now_ns() - process->started};
	char problem[MESSAGE_SIZE + 64];
	int status = 0;

	close(process->pipe);
	if (wait_for(process->pid, &status) < 0) {
		snprintf(problem, sizeof(problem), "its process was lost");
	} else if (WIFSIGNALED(status)) {
		snprintf(problem, sizeof(problem), "crashed: signal %d (%s)%s", WTERMSIG(status),
			 strsignal(WTERMSIG(status)),
			 WTERMSIG(status) == SIGKILL ? "; perhaps the machine ran out of memory"
						     : "");
	} else if (WEXITSTATUS(status) || !bytes->length || bytes->out_of_memory) {
		snprintf(problem, sizeof(problem), "ended without a result (exit status %d)",
			 WEXITSTATUS(status));
	} else if (bytes->data[0] != TASK_OK) {
		snprintf(problem, sizeof(problem), "%.*s", (int)(bytes->length - 1),
			 (const char *)bytes->data + 1);
	} else {
		end.is_ok = true;
		end.result = (struct vl_bytes_reader){bytes->data + 1, bytes->length - 1};
	}
	end.problem = end.is_ok ? NULL : problem;
	vl_jobs_set_progress(jobs, process->task, 1);
	jobs->config->finish(jobs->config->context, process->task, &end);
	free(process->bytes.data);
	process->pid = 0;
	jobs->running--;
	jobs->ended++;
}

/* False: nothing more will come. */
static bool drain(struct process *process)
{
	char piece[READ_SIZE];
	ssize_t length = read(process->pipe, piece, sizeof(piece));

	if (length < 0)
		return errno == EINTR;
	if (length > 0)
		vl_bytes_append(&process->bytes, piece, (size_t)length);
	return length > 0;
}

static void kill_all(struct vl_jobs *jobs)
{
	struct process *process;
	int status;

	for (unsigned int i = 0; i < jobs->process_count; i++) {
		process = &jobs->processes[i];
		if (!process->pid)
			continue;
		kill(process->pid, SIGKILL);
		wait_for(process->pid, &status);
		close(process->pipe);
		free(process->bytes.data);
		process->pid = 0;
		jobs->running--;
	}
}

/* Waits for some process to say something, or for a tick. */
static void collect(struct vl_jobs *jobs)
{
	struct pollfd polled[MAX_PROCESSES];
	struct process *from[MAX_PROCESSES];
	unsigned int count = 0;

	for (unsigned int i = 0; i < jobs->process_count; i++) {
		if (!jobs->processes[i].pid)
			continue;
		polled[count] = (struct pollfd){.fd = jobs->processes[i].pipe, .events = POLLIN};
		from[count++] = &jobs->processes[i];
	}
	if (poll(polled, count, TICK_MS) <= 0)
		return;
	for (unsigned int i = 0; i < count; i++) {
		if (polled[i].revents && !drain(from[i]))
			finish(jobs, from[i]);
	}
}

/* Whether what was wanting comes back when a process ends. */
static bool is_passing(int status)
{
	return status == -EAGAIN || status == -ENOMEM || status == -EMFILE || status == -ENFILE;
}

static int run_all(struct vl_jobs *jobs, char *error, size_t error_size)
{
	const struct vl_jobs_config *config = jobs->config;
	uint64_t ticked = now_ns();
	int status;

	while (jobs->ended < config->tasks) {
		if (*config->interrupted)
			return -EINTR;
		for (unsigned int i = 0; i < jobs->process_count && jobs->next < config->tasks;
		     i++) {
			if (jobs->processes[i].pid)
				continue;
			status = start(jobs, &jobs->processes[i], error, error_size);
			/* Too many for now: those that run will make room. */
			if (status && !(is_passing(status) && jobs->running))
				return status;
			if (status)
				break;
		}
		collect(jobs);
		if (config->tick && now_ns() - ticked >= TICK_MS * UINT64_C(1000000)) {
			config->tick(config->context, jobs, jobs->running);
			ticked = now_ns();
		}
	}
	return 0;
}

int vl_jobs_run(const struct vl_jobs_config *config, char *error, size_t error_size)
{
	size_t size = config->tasks * sizeof(uint32_t);
	struct vl_jobs *jobs = calloc(1, sizeof(*jobs));
	void *progress = mmap(NULL, size ? size : 1, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status;

	if (!jobs || progress == MAP_FAILED) {
		free(jobs);
		if (progress != MAP_FAILED)
			munmap(progress, size ? size : 1);
		snprintf(error, error_size, "out of memory");
		return -ENOMEM;
	}
	jobs->config = config;
	jobs->progress = progress;
	jobs->process_count = config->processes < MAX_PROCESSES ? config->processes : MAX_PROCESSES;
	status = run_all(jobs, error, error_size);
	kill_all(jobs);
	munmap(progress, size ? size : 1);
	free(jobs);
	return status;
}
