/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/host/session.h"

#include "apps/host/plan.h"
#include "dataplane/capture/live.h"
#include "dataplane/runtime/eal.h"
#include "dataplane/runtime/telemetry.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define MILLISECOND      UINT64_C(1000000)
#define DEFAULT_INTERVAL (100 * MILLISECOND)
#define DEFAULT_GRACE    (2000 * MILLISECOND)
/* The capture is looked after, and signals are, this often. */
#define CAPTURE_INTERVAL (2 * MILLISECOND)
#define LONGEST_SLEEP    (20 * MILLISECOND)
/* Rounds of workers are shorter than that, unless something else has their CPU. */
#define CAPTURE_DELAY (5 * MILLISECOND)

/* ---- Signals ---------------------------------------------------------------------------- */

static volatile sig_atomic_t signal_count;

/* A third one kills, should the run not end. */
static void count_signal(int number)
{
	if (++signal_count == 2)
		signal(number, SIG_DFL);
}

#define END_SIGNALS 3
static const int end_signals[END_SIGNALS] = {SIGINT, SIGTERM, SIGHUP};

/* Nobody reads what is printed any more: an end like the others, but each print brings one. */
static void note_closed_output(int number)
{
	(void)number;
	if (!signal_count)
		signal_count = 1;
}

static void catch_signals(struct sigaction before[END_SIGNALS + 1])
{
	const struct sigaction action = {.sa_handler = count_signal};
	const struct sigaction closed = {.sa_handler = note_closed_output};

	/* What was printed before may have found the output closed already. */
	signal_count = ferror(stdout) ? 1 : 0;
	for (unsigned int i = 0; i < END_SIGNALS; i++)
		sigaction(end_signals[i], &action, &before[i]);
	sigaction(SIGPIPE, &closed, &before[END_SIGNALS]);
}

static void release_signals(const struct sigaction before[END_SIGNALS + 1])
{
	for (unsigned int i = 0; i < END_SIGNALS; i++)
		sigaction(end_signals[i], &before[i], NULL);
	sigaction(SIGPIPE, &before[END_SIGNALS], NULL);
}

/* ---- Opening ---------------------------------------------------------------------------- */

static int start_eal(struct vl_host_session *session, const struct vl_host_options *options,
		     const struct vl_operands *operands, const struct vl_host_config *host,
		     uint32_t more_megabytes)
{
	const struct vl_eal_config config = {
		.worker_count = host->worker_count,
		.memory_mb = vl_host_megabytes(host) + more_megabytes,
		.hugepages = options->no_hugepages ? VL_HUGEPAGES_NEVER : VL_HUGEPAGES_IF_FREE,
		.ports = options->ports.values,
		.port_count = options->ports.count,
		.telemetry = options->telemetry,
		.argument_count = (int)operands->eal_count,
		.arguments = operands->eal,
	};
	struct vl_error error;

	if (vl_eal_start(&config, &error)) {
		vl_command_error(session->command, "%s", error.text);
		/* The telemetry's name, an option for EAL, or more workers than there are CPUs. */
		return error.code == -EINVAL || error.code == -ENODEV || error.code == -ENOSPC
			       ? VL_EXIT_USAGE
			       : VL_EXIT_FAILED;
	}
	if (*vl_eal_notice())
		vl_command_error(session->command, "%s", vl_eal_notice());
	return VL_EXIT_OK;
}

static uint64_t wall_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Whose clock the times of a port's frames are by. */
static const char *clock_text(const struct vl_port *port)
{
	return port->abilities.rx_time
		       ? "times of received frames: by the device, told in the TSC's time; of sent "
			 "frames: by the TSC, as a worker handed them to the port"
		       : "times of received frames: by the TSC, as a worker took them from the "
			 "port; "
			 "of sent frames: by the TSC, as a worker handed them to the port";
}

static int open_capture(struct vl_host_session *session, const struct vl_host_options *options)
{
	const struct vl_live_capture_config config = {
		.path = options->pcap,
		.worker_count = session->worker_count,
		.snap_length = (uint32_t)options->pcap_snaplen,
		.epoch = wall_clock() - vl_host_now(session->host),
	};
	char message[VL_CAPTURE_MESSAGE_SIZE];

	session->capture = vl_live_capture_open(&config, message);
	if (!session->capture) {
		vl_command_error(session->command, "--pcap: %s", message);
		return VL_EXIT_USAGE;
	}
	for (uint32_t port = 0; port < session->port_count; port++) {
		const struct vl_port *own = vl_host_port(session->host, port);
		int interface = vl_live_capture_add_interface(session->capture, VL_LINK_ETHERNET,
							      own->name, clock_text(own));

		if (interface < 0) {
			vl_command_error(session->command, "--pcap: %s", strerror(-interface));
			return VL_EXIT_FAILED;
		}
		for (uint32_t worker = 0; worker < session->worker_count; worker++) {
			struct vl_frame_tap tap =
				vl_live_capture_tap(session->capture, worker, (uint32_t)interface);

			vl_endpoint_set_tap(vl_host_endpoint(session->host, port, worker), &tap);
		}
	}
	return VL_EXIT_OK;
}

int vl_host_session_open(struct vl_host_session *session, const struct vl_command *command,
			 const struct vl_host_options *options, const struct vl_operands *operands,
			 const struct vl_host_session_config *config)
{
	static const struct vl_host_session_config defaults;
	struct vl_host_config host;
	struct vl_error error;
	char text[512];
	int status;

	if (!config)
		config = &defaults;
	*session = (struct vl_host_session){.command = command};
	if (vl_host_plan(options, !config->needs_no_address, &host, text, sizeof(text))) {
		vl_command_error(command, "%s", text);
		return VL_EXIT_USAGE;
	}
	if (config->peer && vl_host_check_peer(&host, config->peer, text, sizeof(text))) {
		vl_command_error(command, "%s", text);
		return VL_EXIT_USAGE;
	}
	host.device = config->device;
	host.device.seed = options->seed;
	host.frame_count = config->frame_count;
	status = start_eal(session, options, operands, &host, config->more_megabytes);
	if (status)
		return status;
	session->host = vl_host_create(&host, &error);
	if (!session->host) {
		vl_command_error(command, "%s", error.text);
		vl_eal_stop();
		/* But for memory, it is a port that was named wrong. */
		return error.code == -ENOMEM ? VL_EXIT_FAILED : VL_EXIT_USAGE;
	}
	session->port_count = vl_host_port_count(session->host);
	vl_port_watch_start(&session->watch, command);
	for (uint32_t port = 0; port < session->port_count; port++)
		vl_port_watch_add(&session->watch, vl_host_port(session->host, port));
	session->worker_count = vl_host_worker_count(session->host);
	session->has_telemetry = options->telemetry != NULL;
	if (options->pcap)
		status = open_capture(session, options);
	if (status)
		vl_host_session_close(session);
	return status;
}

/* ---- Running ---------------------------------------------------------------------------- */

static bool drain_capture(struct vl_host_session *session)
{
	uint64_t now = vl_host_now(session->host);

	if (!session->capture || now < CAPTURE_DELAY ||
	    !vl_live_capture_drain(session->capture, now - CAPTURE_DELAY))
		return true;
	vl_command_error(session->command, "--pcap: %s", vl_live_capture_message(session->capture));
	return false;
}

/* Until time, or a signal more than signals. False: the capture failed, or no port is left. */
static bool sleep_until(struct vl_host_session *session, uint64_t time, int signals)
{
	uint64_t longest = session->capture ? CAPTURE_INTERVAL : LONGEST_SLEEP;
	uint64_t now;

	while ((now = vl_host_now(session->host)) < time && signal_count == signals) {
		vl_telemetry_serve(time - now < longest ? time - now : longest);
		if (!drain_capture(session) || !vl_port_watch_look(&session->watch, now))
			return false;
	}
	return true;
}

static bool open_telemetry(struct vl_host_session *session)
{
	session->telemetry = (struct vl_host_telemetry){
		.host = session->host,
		.port_count = session->port_count,
		.worker_count = session->worker_count,
		.command = session->command->name,
		.version = VERBLINE_VERSION,
	};
	if (!session->has_telemetry || !vl_host_telemetry_open(&session->telemetry))
		return true;
	vl_command_error(session->command, "--telemetry: the socket takes no commands");
	return false;
}

static int run_to_end(struct vl_host_session *session, const struct vl_host_loop *loop)
{
	uint64_t interval = loop->interval ? loop->interval : DEFAULT_INTERVAL;
	uint64_t grace = loop->grace ? loop->grace : DEFAULT_GRACE;
	uint64_t start = vl_host_now(session->host), now = start, next = start;
	uint64_t end = loop->duration ? start + loop->duration : UINT64_MAX;
	bool is_ending = false;

	if (interval < MILLISECOND)
		interval = MILLISECOND;
	for (;;) {
		int signals = signal_count;

		if (loop->tick && !loop->tick(loop->context, now))
			return VL_EXIT_OK;
		session->interrupted = signals > 0;
		if (signals > 1 || (is_ending && now >= end))
			return VL_EXIT_OK;
		if (!is_ending && (signals || now >= end)) {
			if (!loop->end)
				return VL_EXIT_OK;
			loop->end(loop->context, now);
			is_ending = true;
			end = now + grace;
		}
		/* Ticks that were missed are not made up for. */
		next = next + interval > now ? next + interval : now + interval;
		if (!sleep_until(session, next < end ? next : end, signals))
			return VL_EXIT_FAILED;
		now = vl_host_now(session->host);
	}
}

/* A question after us in another VLAN that nobody answers looks like a peer that is not there. */
static void hint_at_vlan(const struct vl_host_session *session)
{
	for (uint32_t i = 0; i < session->port_count * session->worker_count; i++) {
		uint32_t port = i / session->worker_count;
		const struct vl_endpoint *endpoint =
			vl_host_endpoint(session->host, port, i % session->worker_count);
		char vlan[32] = "without a VLAN tag";

		if (!endpoint->ip || !vl_ip_counters(endpoint->ip)->other_vlan)
			continue;
		if (vl_ip_other_vlan(endpoint->ip) >= 0)
			snprintf(vlan, sizeof(vlan), "in VLAN %d", vl_ip_other_vlan(endpoint->ip));
		vl_command_error(session->command,
				 "port %s: our address was asked for %s, which is not ours: both "
				 "sides need the same --vlan, or none",
				 vl_host_port(session->host, port)->name, vlan);
		return;
	}
}

int vl_host_session_run(struct vl_host_session *session, const struct vl_host_loop *loop)
{
	struct sigaction before[END_SIGNALS + 1];
	struct vl_error error;
	int status = VL_EXIT_FAILED;

	catch_signals(before);
	if (vl_host_start(session->host, &error))
		vl_command_error(session->command, "%s", error.text);
	else if (open_telemetry(session))
		status = run_to_end(session, loop);
	if (session->watch.gone)
		status = VL_EXIT_FAILED;
	vl_telemetry_close();
	vl_host_stop(session->host);
	hint_at_vlan(session);
	session->interrupted = signal_count > 0;
	release_signals(before);
	return status;
}

bool vl_host_session_call(struct vl_host_session *session, uint32_t worker,
			  void (*function)(void *context, uint64_t now), void *context)
{
	int result = vl_host_call(session->host, worker, function, context);

	if (result)
		vl_command_error(session->command,
				 "worker %u did not answer: %s; is its CPU taken?", worker,
				 strerror(-result));
	return !result;
}

/* ---- Closing ---------------------------------------------------------------------------- */

static int close_capture(struct vl_host_session *session)
{
	struct vl_live_capture_counters counters = {0};
	char message[VL_CAPTURE_MESSAGE_SIZE];
	int result;

	if (!session->capture)
		return VL_EXIT_OK;
	counters = vl_live_capture_counters(session->capture);
	result = vl_live_capture_close(session->capture, message);
	session->capture = NULL;
	if (result)
		vl_command_error(session->command, "--pcap: %s", message);
	else if (counters.dropped)
		vl_command_error(session->command,
				 "--pcap: %llu frames are not in the capture, as writing could not "
				 "keep up; a smaller --pcap-snaplen makes it cheaper",
				 (unsigned long long)counters.dropped);
	return result ? VL_EXIT_FAILED : VL_EXIT_OK;
}

int vl_host_session_close(struct vl_host_session *session)
{
	int status;

	vl_host_stop(session->host);
	status = close_capture(session);
	vl_host_destroy(session->host);
	session->host = NULL;
	vl_eal_stop();
	return status;
}
