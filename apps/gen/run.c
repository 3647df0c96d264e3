/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/gen/run.h"

#include "dataplane/runtime/host.h"

#include <string.h>

#define MILLISECOND UINT64_C(1000000)
#define SECOND      UINT64_C(1000000000)
#define INTERVAL    (20 * MILLISECOND)
/* From the last queue pair being connected to the first message, so that all workers know. */
#define LEAD (20 * MILLISECOND)
/* What is outstanding at the end may take so long, and so may taking leave. */
#define DRAIN_TIME (3 * SECOND)
#define LEAVE_TIME (8 * SECOND)
#define GRACE      (8 * SECOND)

enum phase {
	PHASE_CONNECTING,
	PHASE_RUNNING,
	PHASE_LEAVING,
	PHASE_OVER,
};

struct control {
	struct gen_run *run;
	enum phase phase;
	uint64_t deadline; /* ns: of the phase; UINT64_MAX: none */
	uint64_t next_line;
	/* The visit under way */
	struct gen_application *application;
	struct gen_reading readings[GEN_MAX_GROUPS];
	enum gen_state state;
	bool is_active;
	uint64_t start;
	struct vl_counters counters;
};

static struct gen_share_result *results_of(const struct gen_run *run,
					   const struct gen_application *application)
{
	uint32_t at = 0;

	for (uint32_t i = 0; &run->applications[i] != application; i++)
		at += run->applications[i].share_count;
	return &run->shares[at];
}

/* ---- On the workers ------------------------------------------------------------------------ */

static void read_application(void *context, uint64_t now)
{
	struct control *control = context;
	struct gen_application *application = control->application;

	for (uint32_t i = 0; i < application->share_count; i++)
		control->readings[i] = (struct gen_reading){
			now, vl_generate_group_totals(application->shares[i]->qps)};
	control->state = application->state;
	control->is_active = gen_application_is_active(application);
	control->counters = *vl_device_counters(application->config.endpoint->device);
}

static void start_application(void *context, uint64_t now)
{
	struct control *control = context;

	(void)now;
	gen_application_start(control->application, control->start);
}

static void stop_application(void *context, uint64_t now)
{
	gen_application_stop(((struct control *)context)->application, now);
}

static void finish_application(void *context, uint64_t now)
{
	gen_application_finish(((struct control *)context)->application, now);
}

static bool has_work(const struct gen_application *application)
{
	return application->share_count || application->config.streams->count;
}

static bool visit(struct control *control, struct gen_application *application,
		  void (*function)(void *context, uint64_t now))
{
	control->application = application;
	if (!has_work(application))
		return true;
	if (vl_host_session_call(control->run->session, application->config.worker, function,
				 control))
		return true;
	control->run->failed = true;
	return false;
}

static bool visit_all(struct control *control, void (*function)(void *context, uint64_t now))
{
	for (uint32_t i = 0; i < control->run->application_count; i++) {
		if (!visit(control, &control->run->applications[i], function))
			return false;
	}
	return true;
}

/* ---- Measuring ----------------------------------------------------------------------------- */

static double per_second(uint64_t from, uint64_t to, uint64_t time)
{
	return (double)(to - from) * (double)SECOND / (double)time;
}

static void note_second(struct gen_share_result *result, const struct gen_reading *reading)
{
	const struct vl_generate_totals *before = &result->second.totals;
	uint64_t time = reading->time - result->second.time;
	double rate, goodput;

	if (time < SECOND)
		return;
	rate = per_second(before->cost, reading->totals.cost, time);
	goodput = 8 * per_second(before->bytes, reading->totals.bytes, time);
	if (!result->seconds || rate < result->least_rate)
		result->least_rate = rate;
	if (!result->seconds || rate > result->most_rate)
		result->most_rate = rate;
	if (!result->seconds || goodput < result->least_goodput)
		result->least_goodput = goodput;
	if (!result->seconds || goodput > result->most_goodput)
		result->most_goodput = goodput;
	result->seconds++;
	result->second = *reading;
}

static void take_reading(struct gen_share_result *result, const struct gen_config *config,
			 const struct gen_reading *reading)
{
	uint64_t from = result->start;

	if (config->warm_up > result->share->group->start)
		from += config->warm_up - result->share->group->start;
	result->final = *reading;
	if (!result->begin.time && reading->time >= from) {
		/* Without a warm-up nothing has been sent before. */
		result->begin = from == result->start ? (struct gen_reading){.time = result->start}
						      : *reading;
		result->second = result->begin;
	}
	if (!result->begin.time || reading->time > result->stop || !reading->totals.active)
		return;
	result->end = *reading;
	note_second(result, reading);
}

struct summary {
	uint32_t active, failed;
	uint64_t bytes, messages;
	struct vl_counters counters;
};

static bool read_all(struct control *control, struct summary *summary, enum gen_state *least,
		     bool *is_active)
{
	struct gen_run *run = control->run;

	*least = GEN_DONE;
	*is_active = false;
	*summary = (struct summary){0};
	for (uint32_t i = 0; i < run->application_count; i++) {
		struct gen_application *application = &run->applications[i];
		struct gen_share_result *results = results_of(run, application);

		if (!has_work(application))
			continue;
		if (!visit(control, application, read_application))
			return false;
		if (control->state == GEN_FAILED && !run->failed) {
			vl_command_error(run->command, "%s", application->error);
			run->failed = true;
		}
		if (control->state < *least)
			*least = control->state;
		*is_active = *is_active || control->is_active;
		for (uint32_t n = 0; n < application->share_count; n++) {
			const struct gen_reading *reading = &control->readings[n];

			if (run->started)
				take_reading(&results[n], run->config, reading);
			summary->bytes += reading->totals.bytes;
			summary->messages += reading->totals.completed;
			summary->active += reading->totals.active;
			summary->failed += reading->totals.failed;
			run->ended = reading->time;
		}
#define ADD_COUNTER(name, unit, meaning) summary->counters.name += control->counters.name;
		VL_COUNTERS(ADD_COUNTER)
#undef ADD_COUNTER
	}
	return true;
}

/* A line a second: what the last second carried. */
static void show(struct control *control, const struct summary *summary, uint64_t now)
{
	static struct summary before;
	static uint64_t before_time;
	struct gen_run *run = control->run;
	double seconds = (double)(now - before_time) / (double)SECOND;

	if (now < control->next_line || now < run->started)
		return;
	if (!control->next_line) {
		before = (struct summary){0};
		before_time = run->started;
		control->next_line = run->started + SECOND;
		if (!run->is_terminal)
			fprintf(run->out, "%8s %12s %12s %9s %9s %9s %9s\n", "s", "Gb/s",
				"messages/s", "again", "CNPs", "QPs", "failed");
		return;
	}
	fprintf(run->out,
		run->is_terminal ? "\r%.0f s: %.3f Gb/s, %.0f messages/s, %llu sent again, %llu "
				   "CNPs, %u QPs active, %u failed\033[K"
				 : "%8.0f %12.3f %12.0f %9llu %9llu %9u %9u\n",
		(double)(now - run->started) / (double)SECOND,
		(double)(summary->bytes - before.bytes) * 8e-9 / seconds,
		(double)(summary->messages - before.messages) / seconds,
		(unsigned long long)(summary->counters.data_frames_retransmitted -
				     before.counters.data_frames_retransmitted),
		(unsigned long long)(summary->counters.cnp_rx - before.counters.cnp_rx),
		summary->active, summary->failed);
	fflush(run->out);
	before = *summary;
	before_time = now;
	control->next_line += SECOND;
}

/* ---- Phases -------------------------------------------------------------------------------- */

static void set_times(struct gen_run *run)
{
	for (uint32_t i = 0; i < run->share_count; i++) {
		struct gen_share_result *result = &run->shares[i];
		const struct vl_generate_group_config *config =
			vl_generate_group_configuration(result->share->qps);

		result->start = run->started + config->start;
		result->stop = config->duration ? result->start + config->duration : UINT64_MAX;
	}
}

static bool start_all(struct control *control, uint64_t now)
{
	struct gen_run *run = control->run;
	uint64_t last = 0;

	control->start = now + LEAD;
	run->started = control->start;
	set_times(run);
	for (uint32_t i = 0; i < run->application_count; i++) {
		if (run->config->duration && run->applications[i].config.streams->count)
			last = control->start + run->config->duration;
	}
	for (uint32_t i = 0; i < run->share_count; i++) {
		if (run->shares[i].stop == UINT64_MAX)
			last = UINT64_MAX;
		else if (last < run->shares[i].stop)
			last = run->shares[i].stop;
	}
	control->phase = PHASE_RUNNING;
	control->deadline = !last || last == UINT64_MAX ? UINT64_MAX : last + DRAIN_TIME;
	return visit_all(control, start_application);
}

static bool leave(struct control *control, uint64_t now)
{
	control->phase = PHASE_LEAVING;
	control->deadline = now + LEAVE_TIME;
	return visit_all(control, finish_application);
}

static bool tick(void *context, uint64_t now)
{
	struct control *control = context;
	struct gen_run *run = control->run;
	struct summary summary;
	enum gen_state least;
	bool is_active;

	if (!read_all(control, &summary, &least, &is_active))
		return false;
	if (run->failed && control->phase != PHASE_LEAVING)
		return false;
	switch (control->phase) {
	case PHASE_CONNECTING:
		return least < GEN_READY || start_all(control, now);
	case PHASE_RUNNING:
		show(control, &summary, now);
		if (now > run->started && (!is_active || now >= control->deadline))
			return leave(control, now);
		return true;
	default:
		return !run->failed && least < GEN_DONE && now < control->deadline;
	}
}

static void end(void *context, uint64_t now)
{
	struct control *control = context;

	(void)now;
	control->run->interrupted = true;
	if (control->phase == PHASE_CONNECTING) {
		vl_command_error(control->run->command,
				 "interrupted before all queue pairs were connected");
		control->run->failed = true;
	} else {
		visit_all(control, stop_application);
	}
}

/* ---- After the run ------------------------------------------------------------------------- */

static void read_endpoint(struct gen_run *run, uint32_t i)
{
	const struct gen_application *application = &run->applications[i];
	const struct vl_endpoint *endpoint = application->config.endpoint;
	struct gen_endpoint_result *result = &run->endpoints[i];

	result->counters = *vl_device_counters(endpoint->device);
	result->frames = endpoint->counters;
	memcpy(result->drops, vl_device_drops(endpoint->device), sizeof(result->drops));
}

static void add_peer(struct gen_run *run, const struct gen_application *application)
{
	const struct vl_control_counters *counters;

	if (!application->client)
		return;
	run->peer_hello = *vl_control_client_server(application->client);
	counters = vl_control_client_counters(application->client);
	if (!counters)
		return;
	run->peer.qps += counters->qps;
#define ADD_COUNTER(name, unit, meaning) run->peer.counters.name += counters->counters.name;
	VL_COUNTERS(ADD_COUNTER)
#undef ADD_COUNTER
}

/* The last messages of a share that did not run until its end. */
static void close_window(struct gen_share_result *result)
{
	struct vl_generate_totals totals = vl_generate_group_totals(result->share->qps);

	result->final.totals = totals;
	if (!result->begin.time || totals.active ||
	    (result->stop != UINT64_MAX && totals.last_completion >= result->stop &&
	     result->end.time))
		return;
	if (totals.last_completion > result->begin.time)
		result->end = (struct gen_reading){totals.last_completion, totals};
}

int gen_run(struct gen_run *run)
{
	struct control control = {.run = run, .deadline = UINT64_MAX};
	const struct vl_host_loop loop = {.tick = tick,
					  .end = end,
					  .context = &control,
					  .interval = INTERVAL,
					  .grace = GRACE};
	int status;

	run->begun = vl_host_now(run->session->host);
	status = vl_host_session_run(run->session, &loop);
	if (run->is_terminal && control.next_line)
		fprintf(run->out, "\r\033[K");
	for (uint32_t i = 0; i < run->application_count; i++) {
		read_endpoint(run, i);
		add_peer(run, &run->applications[i]);
	}
	for (uint32_t i = 0; i < run->share_count; i++)
		close_window(&run->shares[i]);
	return run->failed ? VL_EXIT_FAILED : status;
}
