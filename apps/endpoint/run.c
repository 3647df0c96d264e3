/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/endpoint/run.h"

#include "apps/host/addresses.h"
#include "apps/host/chance.h"
#include "apps/report/json_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MILLISECOND   UINT64_C(1000000)
#define TICK_INTERVAL (20 * MILLISECOND)
#define LIVE_INTERVAL (500 * MILLISECOND)
#define GRACE         (3000 * MILLISECOND)
#define MEGABIT       1e6

static struct vl_instance *instance_of(const struct vl_endpoint_run *run, uint32_t port,
				       uint32_t worker)
{
	return run->instances[port * run->session.worker_count + worker];
}

/* ---- On the workers ------------------------------------------------------------------------- */

/* What the control thread asks a worker. */
struct question {
	const struct vl_endpoint_run *run;
	uint32_t worker;
	bool stop;
	/* Answers */
	bool is_over;
	uint64_t sessions, established, frames_in, frames_out, bytes_in, bytes_out;
};

static void answer(void *context, uint64_t now)
{
	struct question *question = context;

	question->is_over = true;
	for (uint32_t port = 0; port < question->run->session.port_count; port++) {
		struct vl_instance *instance = instance_of(question->run, port, question->worker);
		const struct vl_endpoint *endpoint =
			vl_host_endpoint(question->run->session.host, port, question->worker);
		struct vl_instance_status status;

		if (question->stop)
			vl_instance_stop(instance, now);
		vl_instance_status(instance, &status);
		question->sessions += status.sessions;
		question->established += status.session.established;
		question->frames_in += endpoint->counters.rx_frames;
		question->frames_out += endpoint->counters.tx_frames;
		question->bytes_in += endpoint->counters.rx_bytes;
		question->bytes_out += endpoint->counters.tx_bytes;
		question->is_over &= vl_instance_is_over(instance);
	}
}

/* Asks all workers, and adds up. */
static struct question ask(struct vl_endpoint_run *run, bool stop)
{
	struct question all = {.is_over = true};

	for (uint32_t worker = 0; worker < run->session.worker_count; worker++) {
		struct question one = {.run = run, .worker = worker, .stop = stop};

		/* Who does not answer is not over. */
		if (!vl_host_session_call(&run->session, worker, answer, &one)) {
			all.is_over = false;
			continue;
		}
		all.is_over &= one.is_over;
		all.sessions += one.sessions;
		all.established += one.established;
		all.frames_in += one.frames_in;
		all.frames_out += one.frames_out;
		all.bytes_in += one.bytes_in;
		all.bytes_out += one.bytes_out;
	}
	return all;
}

/* ---- On the control thread ------------------------------------------------------------------ */

struct ticker {
	struct vl_endpoint_run *run;
	uint64_t next_live;
	uint64_t last_time;
	struct question last;
	bool is_ending;
};

static void clear_live_line(struct vl_endpoint_run *run)
{
	if (run->has_live_line)
		fprintf(run->out, "\r\033[K");
	run->has_live_line = false;
}

static void print_notices(struct vl_endpoint_run *run)
{
	char line[VL_NOTICE_LENGTH];
	bool printed = false;

	for (uint32_t i = 0; i < run->instance_count; i++) {
		struct vl_notices *notices = vl_instance_notices(run->instances[i]);

		while (vl_notices_take(notices, line)) {
			clear_live_line(run);
			fprintf(run->out, "%s\n", line);
			printed = true;
		}
	}
	if (printed)
		fflush(run->out);
}

static void print_live_line(struct ticker *ticker, const struct question *all, uint64_t now)
{
	struct vl_endpoint_run *run = ticker->run;
	double seconds = (double)(now - ticker->last_time) / 1e9;

	if (!isatty(fileno(run->out)) || ticker->last_time == 0)
		return;
	fprintf(run->out,
		"\r\033[K%" PRIu64 " sessions now, %" PRIu64 " in all; in %.0f frames/s %.1f Mb/s, "
		"out %.0f frames/s %.1f Mb/s",
		all->sessions, all->established,
		(double)(all->frames_in - ticker->last.frames_in) / seconds,
		8 * (double)(all->bytes_in - ticker->last.bytes_in) / seconds / MEGABIT,
		(double)(all->frames_out - ticker->last.frames_out) / seconds,
		8 * (double)(all->bytes_out - ticker->last.bytes_out) / seconds / MEGABIT);
	fflush(run->out);
	run->has_live_line = true;
}

static bool tick(void *context, uint64_t now)
{
	struct ticker *ticker = context;
	struct vl_endpoint_run *run = ticker->run;
	bool ends_by_itself = run->client || ticker->is_ending;
	bool live = now >= ticker->next_live;
	struct question all;

	print_notices(run);
	if (!live && !ends_by_itself)
		return true;
	all = ask(run, false);
	if (live) {
		print_live_line(ticker, &all, now);
		ticker->next_live = now + LIVE_INTERVAL;
		ticker->last = all;
		ticker->last_time = now;
	}
	return !(ends_by_itself && all.is_over);
}

static void end(void *context, uint64_t now)
{
	struct ticker *ticker = context;

	(void)now;
	ticker->is_ending = true;
	ask(ticker->run, true);
}

/* ---- Opening and closing -------------------------------------------------------------------- */

static struct vl_instance *open_instance(struct vl_endpoint_run *run, uint32_t port,
					 uint32_t worker, int *error)
{
	struct vl_instance_config config = run->instance;
	struct vl_instance_client client;
	uint32_t workers = run->session.worker_count;

	config.seed = vl_host_secret_seed();
	config.worker = (uint8_t)worker;
	config.port = vl_host_port(run->session.host, port);
	config.path_mtu = vl_host_path_mtu(run->session.host, port);
	config.client = NULL;
	if (run->client && !port) {
		client = *run->client;
		client.connections = run->client->connections / workers +
				     (worker < run->client->connections % workers);
		if (client.connections)
			config.client = &client;
	}
	return vl_instance_open(vl_host_endpoint(run->session.host, port, worker), &config,
				vl_host_now(run->session.host), error);
}

static int open_instances(struct vl_endpoint_run *run)
{
	uint32_t count = run->session.port_count * run->session.worker_count;
	int error = 0;

	run->instances = calloc(count, sizeof(*run->instances));
	if (!run->instances) {
		vl_command_error(run->command, "no memory");
		return VL_EXIT_FAILED;
	}
	for (uint32_t i = 0; i < count; i++) {
		run->instances[i] = open_instance(run, i / run->session.worker_count,
						  i % run->session.worker_count, &error);
		if (!run->instances[i]) {
			vl_command_error(run->command, "cannot open its services: %s",
					 strerror(-error));
			return VL_EXIT_FAILED;
		}
		run->instance_count++;
	}
	return VL_EXIT_OK;
}

static int attach_faults(struct vl_endpoint_run *run)
{
	struct vl_error error;

	if (!run->faults ||
	    !vl_faults_attach_host(run->faults, run->session.host, run->session.port_count,
				   run->session.worker_count, &error))
		return VL_EXIT_OK;
	vl_command_error(run->command, "%s", error.text);
	return VL_EXIT_FAILED;
}

static void say_listening(const struct vl_endpoint_run *run)
{
	char text[VL_ADDRESS_TEXT];
	union ibv_gid gid;

	if (!run->instance.services)
		return;
	for (uint32_t port = 0; port < run->session.port_count; port++) {
		const struct vl_device *device =
			vl_host_endpoint(run->session.host, port, 0)->device;

		fprintf(run->out, "Listening on %s, path MTU %u:",
			vl_host_port(run->session.host, port)->name,
			128u << vl_host_path_mtu(run->session.host, port));
		for (uint32_t i = 0; !vl_query_gid(device, 1, i, &gid); i++)
			fprintf(run->out, " %s", vl_address_text(&gid, text));
		fprintf(run->out, "\n ");
		for (int i = 0; i < VL_INSTANCE_SERVICE_COUNT; i++) {
			if (run->instance.services & (1u << i))
				fprintf(run->out, " %s port %u%s", vl_instance_service_names[i],
					i == VL_INSTANCE_RPING && run->instance.rping_port
						? run->instance.rping_port
						: vl_instance_service_ports[i],
					run->instance.services >> (i + 1) ? "," : "");
		}
		fprintf(run->out, "\n");
	}
	fflush(run->out);
}

static bool has_succeeded(const struct vl_endpoint_run *run)
{
	for (uint32_t i = 0; run->client && i < run->instance_count; i++) {
		if (!vl_instance_has_succeeded(run->instances[i]))
			return false;
	}
	return true;
}

static int write_results(struct vl_endpoint_run *run)
{
	int status = VL_EXIT_OK;
	char error[256];

	print_notices(run);
	clear_live_line(run);
	for (uint32_t i = 0; i < run->instance_count; i++)
		run->lost_notices += vl_notices_lost(vl_instance_notices(run->instances[i]));
	if (run->lost_notices)
		fprintf(run->out,
			"%" PRIu64 " lines were not printed, as more came than could be\n",
			run->lost_notices);
	vl_endpoint_report_print(run, run->out);
	if (run->faults)
		vl_faults_print(run->faults, run->out);
	if (vl_faults_has_failed(run->faults))
		status = VL_EXIT_FAILED;
	if (!run->host_options->json)
		return status;
	if (!vl_json_file_commit(vl_endpoint_report_json(run), &run->json, error, sizeof(error)))
		return status;
	vl_command_error(run->command, "%s", error);
	return VL_EXIT_FAILED;
}

static void close_run(struct vl_endpoint_run *run)
{
	uint64_t now = vl_host_now(run->session.host);

	vl_host_stop(run->session.host);
	for (uint32_t i = 0; i < run->instance_count; i++)
		vl_instance_close(run->instances[i], now);
	free(run->instances);
}

/* The exit status. */
static int open_json(struct vl_endpoint_run *run)
{
	const char *json = run->host_options->json;
	char error[512];

	run->out = json && !strcmp(json, "-") ? stderr : stdout;
	if (!vl_host_check_input(run->host_options, run->fault_options->events, error,
				 sizeof(error)) &&
	    (!json || !vl_output_open(&run->json, json, error, sizeof(error))))
		return VL_EXIT_OK;
	vl_command_error(run->command, "%s", error);
	return VL_EXIT_USAGE;
}

int vl_endpoint_run(struct vl_endpoint_run *run)
{
	struct ticker ticker = {.run = run};
	const struct vl_host_loop loop = {
		.tick = tick,
		.end = end,
		.context = &ticker,
		.interval = TICK_INTERVAL,
		.duration = run->duration,
		.grace = GRACE,
	};
	struct vl_host_session_config config = {0};
	int status;

	status = vl_faults_create(run->command, run->fault_options, run->host_options->seed,
				  &run->faults);
	if (status >= 0)
		return status;
	config.peer = run->client ? &run->client->destination : NULL;
	vl_faults_configure(run->faults, &config.device);
	run->instance.notification = config.device.cc;
	status = open_json(run);
	if (!status)
		status = vl_host_session_open(&run->session, run->command, run->host_options,
					      run->operands, &config);
	if (status) {
		vl_output_abandon(&run->json);
		vl_faults_destroy(run->faults);
		return status;
	}
	status = open_instances(run);
	if (!status)
		status = attach_faults(run);
	if (!status) {
		say_listening(run);
		run->started = vl_host_now(run->session.host);
		status = vl_host_session_run(&run->session, &loop);
		run->elapsed = vl_host_now(run->session.host) - run->started;
		if (write_results(run) || !has_succeeded(run))
			status = VL_EXIT_FAILED;
	}
	close_run(run);
	if (vl_host_session_close(&run->session))
		status = VL_EXIT_FAILED;
	vl_output_abandon(&run->json);
	vl_faults_destroy(run->faults);
	return status;
}
