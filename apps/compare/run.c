/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/compare/run.h"

#include "apps/compare/jobs.h"
#include "apps/compare/progress.h"
#include "apps/lab_measure.h"
#include "apps/lab_run.h"

#include <errno.h>
#include <string.h>

struct session {
	struct vl_comparison *comparison;
	struct vl_progress progress;
};

/* ---- In the process of a run ----------------------------------------------------------------- */

struct task {
	struct vl_jobs *jobs;
	unsigned int number;
};

static void report_progress(void *context, double part)
{
	const struct task *task = context;

	vl_jobs_set_progress(task->jobs, task->number, part);
}

static int run_scenario(const struct task *task, const struct vl_scenario *scenario,
			struct vl_bytes *result, char *error, size_t error_size)
{
	static const volatile int never;
	struct vl_results results;
	const struct vl_lab_run run = {.scenario = scenario,
				       .results = &results,
				       .interrupted = &never,
				       .progress = report_progress,
				       .progress_context = (void *)task};
	struct vl_record *record = NULL;
	int status = -ENOMEM;

	snprintf(error, error_size, "out of memory");
	if (!vl_results_init(&results, scenario))
		return status;
	status = vl_lab_run_virtual(&run, error, error_size);
	if (!status) {
		record = vl_record_create(&results);
		if (record)
			vl_record_write(record, result);
		else
			status = -ENOMEM;
	}
	vl_record_destroy(record);
	vl_results_release(&results);
	return status;
}

static int work(void *context, struct vl_jobs *jobs, unsigned int number, struct vl_bytes *result,
		char *error, size_t error_size)
{
	const struct session *session = context;
	const struct vl_plan *plan = session->comparison->plan;
	const struct task task = {jobs, number};
	struct vl_scenario *scenario;
	int status;

	scenario = vl_plan_scenario(plan, number / plan->repeat, number % plan->repeat, stderr);
	if (!scenario) {
		snprintf(error, error_size, "the scenario cannot be read again");
		return -EINVAL;
	}
	status = run_scenario(&task, scenario, result, error, error_size);
	vl_scenario_free(scenario);
	return status;
}

/* ---- In the collecting process --------------------------------------------------------------- */

static void fail(struct vl_run *run, const char *problem)
{
	run->state = VL_RUN_FAILED;
	run->problem = strdup(problem);
}

static void finish(void *context, unsigned int number, const struct vl_job_end *end)
{
	struct session *session = context;
	const struct vl_plan *plan = session->comparison->plan;
	struct vl_run *run = &session->comparison->runs[number];
	struct vl_bytes_reader result = end->result;
	char label[VL_PLAN_LABEL], name[VL_PLAN_LABEL + 40];

	run->time = end->time;
	if (!end->is_ok) {
		fail(run, end->problem);
	} else {
		run->record = vl_record_read(&result);
		if (run->record)
			run->state = VL_RUN_DONE;
		else
			fail(run, "its results cannot be read");
	}
	vl_plan_point_label(plan, number / plan->repeat, label);
	if (plan->repeat > 1)
		snprintf(name, sizeof(name), "%s, seed %llu", label,
			 (unsigned long long)(plan->base->seed + number % plan->repeat));
	else
		snprintf(name, sizeof(name), "%s", label);
	vl_progress_ended(&session->progress, name, end->is_ok ? run->problem : end->problem,
			  end->time);
}

static void tick(void *context, const struct vl_jobs *jobs, unsigned int running)
{
	struct session *session = context;

	vl_progress_show(&session->progress, vl_jobs_progress(jobs), running);
}

int vl_compare_run(struct vl_comparison *comparison, const struct vl_compare_run_config *config,
		   char *error, size_t error_size)
{
	struct session session = {.comparison = comparison};
	const struct vl_jobs_config jobs = {
		.tasks = comparison->plan->point_count * comparison->plan->repeat,
		.processes = config->processes,
		.memory = config->memory,
		.context = &session,
		.work = work,
		.finish = finish,
		.tick = tick,
		.interrupted = config->interrupted,
	};
	int status;

	vl_progress_start(&session.progress, config->progress, jobs.tasks);
	status = vl_jobs_run(&jobs, error, error_size);
	vl_progress_clear(&session.progress);
	comparison->processes = config->processes;
	comparison->time = vl_progress_now() - session.progress.started;
	comparison->is_interrupted = status == -EINTR;
	return status;
}
