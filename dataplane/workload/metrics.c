/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/workload/metrics.h"

#include <errno.h>
#include <stdlib.h>

/* Extended headers: RETH and immediate of a WRITE, immediate of a SEND, AETH of a READ response. */
#define RETH      16u
#define IMMEDIATE 4u
#define AETH      4u
#define SECOND    1e9

/* What is measured, and of what. */
struct measure {
	const struct vl_workload_engine *engine;
	uint32_t workload;
	const struct vl_workload_config *config;
	const struct vl_workload_measures *measures;
	double *ideals;             /* ns, by step: of the step alone */
	double *job_ideals;         /* ns, by job */
	struct vl_step_times *jobs; /* of a round, by job: first ready, last finished */
};

/* ---- Ideal times --------------------------------------------------------------------------- */

static uint64_t message_bytes(enum vl_step_kind kind, uint64_t bytes, uint32_t mtu,
			      uint32_t overhead)
{
	uint64_t packets = (bytes + mtu - 1) / mtu, padded = (bytes + 3) & ~UINT64_C(3);
	uint64_t extended = kind == VL_STEP_WRITE  ? RETH + IMMEDIATE
			    : kind == VL_STEP_SEND ? IMMEDIATE
			    : packets > 1          ? 2 * AETH
						   : AETH;

	return padded + packets * overhead + extended;
}

uint64_t vl_workload_line_bytes(const struct vl_workload_config *config, const struct vl_step *step,
				uint32_t packet_overhead)
{
	uint32_t mtu = 128u << config->qp.path_mtu;
	uint64_t whole = step->bytes / config->message_size;
	uint64_t rest = step->bytes % config->message_size;
	uint64_t bytes = 0;

	if (whole)
		bytes += whole *
			 message_bytes(step->kind, config->message_size, mtu, packet_overhead);
	if (rest)
		bytes += message_bytes(step->kind, rest, mtu, packet_overhead);
	return bytes;
}

static struct vl_workload_path path_of(const struct measure *measure, uint32_t source,
				       uint32_t destination)
{
	return measure->measures->path(measure->measures->context,
				       measure->config->endpoints[source],
				       measure->config->endpoints[destination]);
}

static double line_time(const struct measure *measure, const struct vl_step *step, double rate)
{
	return 8.0 *
	       (double)vl_workload_line_bytes(measure->config, step,
					      measure->measures->packet_overhead) *
	       SECOND / rate;
}

/* The longest packet and the last one of a step, as they are on the line. */
static uint64_t longest_packet(const struct measure *measure, const struct vl_step *step)
{
	const struct vl_workload_config *config = measure->config;
	uint64_t longest = 128u << config->qp.path_mtu;

	if (config->message_size < longest)
		longest = config->message_size;
	if (step->bytes < longest)
		longest = step->bytes;
	return longest + measure->measures->packet_overhead;
}

static uint64_t last_packet(const struct measure *measure, const struct vl_step *step)
{
	const struct vl_workload_config *config = measure->config;
	uint64_t last = step->bytes % config->message_size;
	uint32_t mtu = 128u << config->qp.path_mtu;

	if (!last)
		last = config->message_size;
	last %= mtu;
	return (last ? last : mtu) + measure->measures->packet_overhead;
}

static double latency_of(const struct measure *measure, const struct vl_step *step,
			 const struct vl_workload_path *path)
{
	return path->propagation + path->store * (double)longest_packet(measure, step) +
	       path->store_last * (double)last_packet(measure, step);
}

static double ideal_of(const struct measure *measure, const struct vl_step *step)
{
	uint32_t request = measure->measures->packet_overhead + RETH;
	struct vl_workload_path path, back;
	double ideal;

	if (step->kind == VL_STEP_COMPUTE)
		return 0;
	path = path_of(measure, step->source, step->destination);
	ideal = line_time(measure, step, path.rate) + latency_of(measure, step, &path);
	if (step->kind == VL_STEP_READ) {
		back = path_of(measure, step->destination, step->source);
		ideal += request * (8 * SECOND / back.rate + back.store + back.store_last) +
			 back.propagation;
	}
	return ideal;
}

/* Whether a step waits for no other of its job. */
static bool is_first_in_job(const struct vl_workload_plan *plan, const struct vl_step *step)
{
	for (uint32_t i = 0; i < step->dependency_count; i++) {
		uint32_t on = plan->dependencies[step->first_dependency + i];

		if (plan->steps[on].job == step->job)
			return false;
	}
	return true;
}

/* When the first step of each job is due, ns after the round's start. */
static uint64_t *find_job_starts(const struct vl_workload_plan *plan)
{
	uint64_t *starts = malloc(plan->job_count * sizeof(*starts));

	for (uint32_t i = 0; starts && i < plan->job_count; i++)
		starts[i] = UINT64_MAX;
	for (uint32_t i = 0; starts && i < plan->step_count; i++) {
		const struct vl_step *step = &plan->steps[i];

		if (step->earliest < starts[step->job] && is_first_in_job(plan, step))
			starts[step->job] = step->earliest;
	}
	return starts;
}

/* The longest way through the steps of each job; no network starts one before it is due. */
static bool find_critical_paths(struct measure *measure)
{
	const struct vl_workload_plan *plan = measure->config->plan;
	double *ends = malloc(plan->step_count * sizeof(*ends));
	uint64_t *starts = find_job_starts(plan);
	bool is_done = ends && starts;

	for (uint32_t i = 0; is_done && i < plan->step_count; i++) {
		const struct vl_step *step = &plan->steps[i];
		double begin = step->earliest > starts[step->job]
				       ? (double)(step->earliest - starts[step->job])
				       : 0;

		for (uint32_t j = 0; j < step->dependency_count; j++) {
			uint32_t on = plan->dependencies[step->first_dependency + j];

			if (plan->steps[on].job == step->job && ends[on] > begin)
				begin = ends[on];
		}
		/* A job begins when its first step is ready: not with that step's delay. */
		ends[i] = begin + measure->ideals[i] +
			  (begin > 0 || step->kind == VL_STEP_COMPUTE ? (double)step->delay : 0);
		if (ends[i] > measure->job_ideals[step->job])
			measure->job_ideals[step->job] = ends[i];
	}
	free(starts);
	free(ends);
	return is_done;
}

/* What each rank's own link takes for all that it sends, and for all that it gets. */
static bool find_port_times(struct measure *measure)
{
	const struct vl_workload_plan *plan = measure->config->plan;
	double *sends = calloc(2 * (size_t)plan->rank_count, sizeof(*sends));
	double *gets = sends ? sends + plan->rank_count : NULL;
	double latency = 0;

	for (uint32_t i = 0; sends && i < plan->step_count; i++) {
		const struct vl_step *step = &plan->steps[i];
		struct vl_workload_path path;
		double least;

		if (step->kind == VL_STEP_COMPUTE)
			continue;
		path = path_of(measure, step->source, step->destination);
		sends[step->source] += line_time(measure, step, path.source_rate);
		gets[step->destination] += line_time(measure, step, path.destination_rate);
		least = path.propagation;
		if (!latency || least < latency)
			latency = least;
	}
	for (uint32_t i = 0; sends && i < 2 * plan->rank_count; i++) {
		if (sends[i] + latency > measure->job_ideals[0])
			measure->job_ideals[0] = sends[i] + latency;
	}
	free(sends);
	return sends != NULL;
}

static bool find_ideals(struct measure *measure)
{
	const struct vl_workload_plan *plan = measure->config->plan;

	for (uint32_t i = 0; i < plan->step_count; i++)
		measure->ideals[i] = ideal_of(measure, &plan->steps[i]);
	return find_critical_paths(measure) && (plan->job_count > 1 || find_port_times(measure));
}

/* ---- Times that were ------------------------------------------------------------------------ */

/* ns. The two are told by different threads, whose times may differ by more than the transfer took:
 * then it was none. */
static uint64_t duration_of(struct vl_step_times times)
{
	return times.finished > times.ready ? times.finished - times.ready : 0;
}

static bool add_transfer(const struct measure *measure, uint32_t number, struct vl_step_times times,
			 struct vl_workload_values *values, struct vl_workload_metrics *metrics)
{
	double time = (double)duration_of(times);

	metrics->transfers++;
	return vl_values_add(&values->transfer_times, time) &&
	       vl_values_add(&values->transfer_slowdown, time / measure->ideals[number]);
}

static void note_in_job(struct vl_step_times *job, struct vl_step_times times)
{
	if (times.ready < job->ready)
		job->ready = times.ready;
	/* VL_WORKLOAD_NEVER is later than anything. */
	if (times.finished > job->finished)
		job->finished = times.finished;
}

static bool add_jobs(const struct measure *measure, struct vl_workload_values *values,
		     struct vl_workload_metrics *metrics)
{
	uint64_t deadline = measure->measures->deadline;

	for (uint32_t i = 0; i < measure->config->plan->job_count; i++) {
		struct vl_step_times job = measure->jobs[i];
		uint64_t time = duration_of(job);

		metrics->all_jobs++;
		if (job.finished == VL_WORKLOAD_NEVER) {
			metrics->missed += deadline > 0;
			continue;
		}
		metrics->jobs++;
		metrics->missed += deadline && time > deadline;
		if (!vl_values_add(&values->job_times, (double)time) ||
		    !vl_values_add(&values->job_slowdown, (double)time / measure->job_ideals[i]))
			return false;
	}
	return true;
}

static bool add_round(struct measure *measure, uint32_t round, struct vl_workload_values *values,
		      struct vl_workload_metrics *metrics)
{
	const struct vl_workload_plan *plan = measure->config->plan;
	struct vl_step_times whole = {VL_WORKLOAD_NEVER, 0};

	for (uint32_t i = 0; i < plan->job_count; i++)
		measure->jobs[i] = (struct vl_step_times){VL_WORKLOAD_NEVER, 0};
	for (uint32_t i = 0; i < plan->step_count; i++) {
		const struct vl_step *step = &plan->steps[i];
		struct vl_step_times times =
			vl_workload_step_times(measure->engine, measure->workload, round, i);

		note_in_job(&measure->jobs[step->job], times);
		note_in_job(&whole, times);
		if (step->kind == VL_STEP_COMPUTE)
			continue;
		metrics->all_transfers++;
		if (times.finished != VL_WORKLOAD_NEVER &&
		    !add_transfer(measure, i, times, values, metrics))
			return false;
	}
	metrics->rounds[round].started = whole.ready;
	metrics->rounds[round].finished = whole.finished;
	return add_jobs(measure, values, metrics);
}

static void find_bandwidths(const struct vl_workload_measures *measures,
			    struct vl_workload_metrics *metrics)
{
	double bits = 8.0 * (double)measures->size, sum = 0;
	uint32_t finished = 0;

	for (uint32_t i = 0; measures->size && i < metrics->round_count; i++) {
		struct vl_workload_round *round = &metrics->rounds[i];
		double time = (double)(round->finished - round->started) / SECOND;

		if (round->finished == VL_WORKLOAD_NEVER || round->finished <= round->started)
			continue;
		round->algbw = bits / time;
		round->busbw = round->algbw * measures->bus_factor;
		sum += time;
		finished++;
	}
	if (!finished)
		return;
	metrics->algbw = bits * finished / sum;
	metrics->busbw = metrics->algbw * measures->bus_factor;
}

/* A step's bytes over the time that its transfers took, or those of a background over its life. */
static bool find_fairness(const struct measure *measure, struct vl_workload_metrics *metrics)
{
	const struct vl_workload_config *config = measure->config;
	struct vl_values rates = {0};
	bool added = true;

	for (uint32_t i = 0; added && i < config->plan->step_count; i++) {
		const struct vl_step *step = &config->plan->steps[i];
		double time = 0, bytes = 0;

		if (step->kind == VL_STEP_COMPUTE)
			continue;
		if (config->is_background) {
			time = 1;
			bytes = (double)vl_workload_step_messages(measure->engine,
								  measure->workload, i);
		}
		for (uint32_t round = 0; !config->is_background && round < config->rounds;
		     round++) {
			struct vl_step_times times = vl_workload_step_times(
				measure->engine, measure->workload, round, i);

			if (times.finished == VL_WORKLOAD_NEVER)
				continue;
			time += (double)duration_of(times);
			bytes += (double)step->bytes;
		}
		added = time <= 0 || vl_values_add(&rates, bytes / time);
	}
	metrics->jain = vl_values_jain(&rates);
	vl_values_release(&rates);
	return added;
}

static void find_goodput(struct vl_workload_metrics *metrics, uint64_t until)
{
	const struct vl_workload_progress *progress = &metrics->progress;
	uint64_t end = progress->ended < until ? progress->ended : until;

	if (progress->started < end)
		metrics->goodput = 8.0 * (double)progress->bytes_arrived * SECOND /
				   (double)(end - progress->started);
}

static bool append(struct vl_values *to, const struct vl_values *from)
{
	for (uint64_t i = 0; i < from->count; i++) {
		if (!vl_values_add(to, from->list[i]))
			return false;
	}
	return true;
}

static bool append_all(struct vl_workload_values *to, const struct vl_workload_values *from)
{
	return append(&to->transfer_times, &from->transfer_times) &&
	       append(&to->transfer_slowdown, &from->transfer_slowdown) &&
	       append(&to->job_times, &from->job_times) &&
	       append(&to->job_slowdown, &from->job_slowdown);
}

static bool measure_times(struct measure *measure, struct vl_workload_values *sum,
			  struct vl_workload_metrics *metrics)
{
	struct vl_workload_values values = {0};
	bool done = find_ideals(measure);

	for (uint32_t round = 0; done && round < metrics->round_count; round++)
		done = add_round(measure, round, &values, metrics);
	if (done) {
		find_bandwidths(measure->measures, metrics);
		if (measure->config->plan->job_count == 1)
			metrics->ideal_round = measure->job_ideals[0];
		metrics->transfer_times = vl_values_distribution(&values.transfer_times);
		metrics->transfer_slowdown = vl_values_distribution(&values.transfer_slowdown);
		metrics->job_times = vl_values_distribution(&values.job_times);
		metrics->job_slowdown = vl_values_distribution(&values.job_slowdown);
	}
	if (done && sum)
		done = append_all(sum, &values);
	vl_workload_values_release(&values);
	return done;
}

int vl_workload_measure(const struct vl_workload_engine *engine, uint32_t workload,
			const struct vl_workload_measures *measures, uint64_t until,
			struct vl_workload_values *values, struct vl_workload_metrics *metrics)
{
	const struct vl_workload_config *config = vl_workload_configuration(engine, workload);
	const struct vl_workload_plan *plan = config->plan;
	struct measure measure = {
		.engine = engine, .workload = workload, .config = config, .measures = measures};
	bool done;

	*metrics = (struct vl_workload_metrics){.round_count =
							config->is_background ? 0 : config->rounds};
	metrics->progress = vl_workload_progress(engine, workload);
	find_goodput(metrics, until);
	metrics->rounds = calloc(metrics->round_count + (size_t)1, sizeof(*metrics->rounds));
	measure.ideals = calloc(plan->step_count, sizeof(*measure.ideals));
	measure.job_ideals = calloc(plan->job_count, sizeof(*measure.job_ideals));
	measure.jobs = calloc(plan->job_count, sizeof(*measure.jobs));
	done = metrics->rounds && measure.ideals && measure.job_ideals && measure.jobs &&
	       find_fairness(&measure, metrics);
	if (done && !config->is_background)
		done = measure_times(&measure, values, metrics);
	free(measure.ideals);
	free(measure.job_ideals);
	free(measure.jobs);
	if (!done)
		vl_workload_metrics_release(metrics);
	return done ? 0 : -ENOMEM;
}

void vl_workload_metrics_release(struct vl_workload_metrics *metrics)
{
	free(metrics->rounds);
	*metrics = (struct vl_workload_metrics){0};
}

void vl_workload_values_release(struct vl_workload_values *values)
{
	vl_values_release(&values->transfer_times);
	vl_values_release(&values->transfer_slowdown);
	vl_values_release(&values->job_times);
	vl_values_release(&values->job_slowdown);
}
