/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/gen/run.h"

#include "apps/gen/live.h"
#include "dataplane/huge_pages.h"
#include "dataplane/runtime/host.h"

#include <stddef.h>
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
	struct gen_live *live;
	/* The visit under way */
	struct gen_application *application;
	struct gen_reading readings[GEN_MAX_GROUPS];
	struct vl_stream_counters streams[GEN_MAX_STREAMS];
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
	for (uint32_t i = 0; i < application->config.streams->count; i++)
		control->streams[i] =
			*vl_stream_counters(application->config.streams->streams[i].stream);
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

/* What the live view shows of one application's streams and groups. */
static void add_to_reading(struct control *control, struct gen_live_reading *sum)
{
	const struct gen_config *config = control->run->config;
	const struct gen_group *groups = config->groups.elements;
	const struct gen_stream_config *streams = config->streams.elements;
	struct gen_application *application = control->application;

	for (uint32_t i = 0; i < application->share_count; i++) {
		const struct vl_generate_totals *totals = &control->readings[i].totals;
		ptrdiff_t row = application->shares[i]->group - groups;

		sum->rows[row].bytes += totals->bytes;
		sum->rows[row].messages += totals->completed;
		sum->active += totals->active;
		sum->failed += totals->failed;
	}
	for (uint32_t i = 0; i < application->config.streams->count; i++) {
		ptrdiff_t row = config->groups.count +
				(application->config.streams->streams[i].config - streams);

		sum->rows[row].bytes = control->streams[i].bytes_tx;
		sum->rows[row].messages = control->streams[i].message_tx;
	}
#define ADD_COUNTER(name, unit, meaning) sum->counters.name += control->counters.name;
	VL_COUNTERS(ADD_COUNTER)
#undef ADD_COUNTER
}

static bool read_all(struct control *control, struct gen_live_reading *sum, enum gen_state *least,
		     bool *is_active)
{
	struct gen_run *run = control->run;

	*least = GEN_DONE;
	*is_active = false;
	*sum = (struct gen_live_reading){0};
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
			run->ended = reading->time;
		}
		add_to_reading(control, sum);
	}
	return true;
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
	control->live = gen_live_create(run->config, run->out, run->is_terminal);
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
	struct gen_live_reading sum;
	enum gen_state least;
	bool is_active;

	if (!read_all(control, &sum, &least, &is_active))
		return false;
	if (run->failed && control->phase != PHASE_LEAVING)
		return false;
	switch (control->phase) {
	case PHASE_CONNECTING:
		if (least < GEN_READY)
			return true;
		/* Thousands of queue pairs are more than small pages' addresses are cached for. */
		vl_huge_pages_collapse();
		return start_all(control, vl_worker_now());
	case PHASE_RUNNING:
		if (control->live && now > run->started)
			gen_live_update(control->live, &sum, now - run->started);
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
	for (uint8_t priority = 0; priority < VL_PFC_PRIORITIES; priority++)
		result->paused[priority] = vl_pfc_receiver_paused_time(
			&endpoint->pause, priority, vl_host_now(run->session->host));
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

/* Where workers are kept from their CPUs, readings are rare: none may fall into most of the time
 * that there was, and what a sliver of it shows is not the run. */
static bool is_most_of_it(const struct gen_share_result *result)
{
	return result->end.time > result->begin.time &&
	       2 * (result->end.time - result->begin.time) >= result->stop - result->begin.time;
}

/* The last messages of a share that did not run until its end. */
static void close_window(struct gen_share_result *result)
{
	struct vl_generate_totals totals = vl_generate_group_totals(result->share->qps);

	result->final.totals = totals;
	if (!result->begin.time || totals.active ||
	    (result->stop != UINT64_MAX && totals.last_completion >= result->stop &&
	     is_most_of_it(result)))
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
	run->failed = run->failed || status;
	gen_live_destroy(control.live);
	for (uint32_t i = 0; i < run->application_count; i++) {
		read_endpoint(run, i);
		add_peer(run, &run->applications[i]);
	}
	for (uint32_t i = 0; i < run->share_count; i++)
		close_window(&run->shares[i]);
	return run->failed ? VL_EXIT_FAILED : status;
}
