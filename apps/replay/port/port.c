/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/replay/port/port.h"

#include "apps/ports/ports.h"
#include "apps/replay/port/feed.h"
#include "apps/replay/port/port_report.h"
#include "apps/report/json_file.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MBUFS_OF_A_PORT 2048u
/* From the worker's start to the first frame, and from the last one to the end, so that a device
 * that sends by itself has done so. */
#define LEAD_TIME UINT64_C(2000000)
#define LAG_TIME  UINT64_C(10000000)
/* The control thread's sleep while there is nothing to prepare. */
#define NAP UINT64_C(50000)
/* A port that takes nothing for so long, though frames are due, has stopped. */
#define PORT_PATIENCE     UINT64_C(3000000000)
#define STALL_INTERVAL    UINT64_C(200000000)
#define PROGRESS_INTERVAL UINT64_C(500000000)

struct run {
	const struct vl_command *command;
	const struct replay_port_options *chosen;
	const struct vl_operands *operands;
	struct vl_ports ports;
	struct feed feed;
	struct vl_replay_stage *stage;
	struct vl_error error;
	bool shows, printed;
	bool is_read;                 /* to the end of the files, as often as they were asked for */
	uint64_t shown, shown_frames; /* at the last line of progress */
};

const char *replay_port_misplaced(const struct replay_port_options *chosen)
{
	const struct {
		bool given;
		const char *name;
	} options[] = {
		{chosen->rewrites.count, "rewrite"},
		{chosen->keep_checksums, "keep-checksums"},
		{chosen->speed, "speed"},
		{chosen->rate, "rate"},
		{chosen->pps, "pps"},
		{chosen->fast, "fast"},
		{chosen->longest_wait, "longest-wait"},
		{chosen->loop != 1, "loop"},
		{chosen->same_psns, "same-psns"},
		{chosen->align, "align"},
		{chosen->tolerance != REPLAY_DEFAULT_TOLERANCE, "tolerance"},
		{chosen->mtu, "mtu"},
		{chosen->telemetry, "telemetry"},
	};

	for (unsigned int i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		if (options[i].given)
			return options[i].name;
	}
	return NULL;
}

void replay_port_print_fields(void)
{
	printf("Fields of --rewrite FIELD=NEW, FIELD=OLD,NEW, and of numbers FIELD=+N, "
	       "FIELD=-N:\n");
#define PRINT_FIELD(name, text, kind, bits, meaning) printf("  %-10s %s\n", text, meaning);
	REWRITE_FIELDS(PRINT_FIELD)
#undef PRINT_FIELD
	printf("vlan=none takes the tag away. Numbers may be written as 0x...; they go around at "
	       "the end of\ntheir range. QP numbers and keys inside of connection management, and "
	       "addresses inside of ARP\nand neighbour discovery, are not rewritten.\n");
}

static int read_schedule(const struct replay_port_options *chosen, struct schedule *schedule,
			 struct vl_error *error)
{
	char *end;

	if ((chosen->speed != NULL) + (chosen->rate != 0) + (chosen->pps != 0) + chosen->fast > 1)
		return vl_error_set(error, -EINVAL,
				    "--speed, --rate, --pps and --fast exclude each other");
	if (chosen->longest_wait && (chosen->rate || chosen->pps || chosen->fast))
		return vl_error_set(error, -EINVAL,
				    "--longest-wait: shortens recorded pauses, which --rate, --pps "
				    "and --fast do not keep");
	schedule->speed = 1;
	schedule->longest_wait = chosen->longest_wait;
	if (chosen->rate || chosen->pps) {
		schedule->kind = chosen->rate ? SCHEDULE_RATE : SCHEDULE_PACKETS;
		schedule->rate = chosen->rate ? chosen->rate : chosen->pps;
	} else if (chosen->fast) {
		schedule->kind = SCHEDULE_FASTEST;
	}
	if (!chosen->speed)
		return 0;
	schedule->speed = strtod(chosen->speed, &end);
	if (*end || end == chosen->speed || !isfinite(schedule->speed) || schedule->speed < 1e-6 ||
	    schedule->speed > 1e6)
		return vl_error_set(
			error, -EINVAL,
			"--speed: '%.40s' is no factor from 0.000001 to 1000000, as 2 or "
			"0.5",
			chosen->speed);
	return 0;
}

static int read_options(struct run *run)
{
	const struct replay_port_options *chosen = run->chosen;
	char reason[256];

	if (chosen->ports.count > 1)
		return vl_error_set(&run->error, -EINVAL, "--port: one port is enough");
	for (unsigned int i = 0; i < chosen->rewrites.count; i++) {
		if (rewrite_rule_add(&run->feed.rewrite.rules, chosen->rewrites.values[i], reason,
				     sizeof(reason)))
			return vl_error_set(&run->error, -EINVAL, "--rewrite: %s", reason);
	}
	for (unsigned int i = 0; i < run->operands->count && chosen->loop != 1; i++) {
		if (!strcmp(run->operands->values[i], "-"))
			return vl_error_set(&run->error, -EINVAL,
					    "--loop: the standard input cannot be read twice; save "
					    "it to a file");
	}
	run->feed.rewrite.keeps_checksums = chosen->keep_checksums;
	run->feed.runs = chosen->loop ? chosen->loop : UINT64_MAX;
	return read_schedule(chosen, &run->feed.schedule, &run->error);
}

static int open_source(struct run *run)
{
	const struct source_config config = {
		.paths = run->operands->values,
		.count = run->operands->count,
		.starts_align = run->chosen->align,
	};

	run->feed.source = source_open(&config, run->feed.message);
	if (!run->feed.source)
		return vl_error_set(&run->error, -EINVAL, "%s", run->feed.message);
	if (run->feed.runs == 1 || run->chosen->same_psns)
		return 0;
	run->feed.flows = psn_flows_new();
	return run->feed.flows ? 0 : vl_error_set(&run->error, -ENOMEM, "out of memory");
}

static int open_port(struct run *run)
{
	static const uint8_t none[6], own_mac[6] = {0x02, 0, 0, 0, 0, 0x01};
	const uint16_t mtu = (uint16_t)run->chosen->mtu;
	struct vl_replay_stage_config stage = {
		.tolerance = run->chosen->tolerance,
		.is_timed = run->feed.schedule.kind != SCHEDULE_FASTEST,
	};
	const struct vl_ports_config config = {
		.command = run->command,
		.names = &run->chosen->ports,
		.mbuf_count = MBUFS_OF_A_PORT,
		.mtu = mtu,
		.more_megabytes = vl_replay_stage_megabytes(vl_ports_frame_length(mtu)),
		.telemetry = run->chosen->telemetry,
		.operands = run->operands,
	};
	int result = vl_ports_open(&run->ports, &config, &run->error);
	struct vl_port *port;

	if (result)
		return result;
	port = run->ports.ports[0];
	stage.port = port;
	stage.frame_length = vl_ports_frame_length(port->mtu);
	run->feed.stage = run->stage;
	run->feed.frame_length = port->mtu + 14u + 2u * 4u;
	memcpy(run->feed.mac, memcmp(port->mac, none, 6) ? port->mac : own_mac, 6);
	return vl_replay_stage_init(run->stage, &stage, &run->error);
}

struct look {
	const struct vl_replay_stage *stage;
	struct vl_replay_counters counters;
};

static void look(void *context, uint64_t now)
{
	struct look *taken = context;

	(void)now;
	taken->counters = taken->stage->counters;
}

static void show_progress(struct run *run)
{
	struct look taken = {.stage = run->stage};
	uint64_t now = vl_worker_now(), late;

	if (!run->shows || now - run->shown < PROGRESS_INTERVAL ||
	    vl_worker_call(run->ports.worker, look, &taken))
		return;
	late = taken.counters.late_reader + taken.counters.late_port + taken.counters.late_machine;
	fprintf(stderr, "\r%" PRIu64 " frames sent, %.0f frames/s, %" PRIu64 " late\033[K",
		taken.counters.frames,
		(double)(taken.counters.frames - run->shown_frames) * 1e9 /
			(double)(now - run->shown),
		late);
	run->shown = now;
	run->shown_frames = taken.counters.frames;
	run->printed = true;
}

static int answer_replay(void *context, const char *parameters, struct vl_telemetry_reply *reply)
{
	const struct vl_ports_telemetry *telemetry = context;
	const struct run *run = telemetry->own;
	struct look taken = {.stage = run->stage};
	int result = vl_worker_call(run->ports.worker, look, &taken);

	(void)parameters;
	if (result)
		return result;
	vl_telemetry_begin_object(reply);
	vl_telemetry_put_number(reply, "packets_read", run->feed.read);
	vl_telemetry_put_number(reply, "runs", run->feed.run);
	vl_telemetry_put_number(reply, "rewritten", run->feed.rewritten);
	vl_telemetry_put_number(reply, "frames", taken.counters.frames);
	vl_telemetry_put_number(reply, "bytes", taken.counters.bytes);
	vl_telemetry_put_number(reply, "late_reader", taken.counters.late_reader);
	vl_telemetry_put_number(reply, "late_port", taken.counters.late_port);
	vl_telemetry_put_number(reply, "late_machine", taken.counters.late_machine);
	vl_telemetry_put_number(reply, "refused", taken.counters.refused);
	vl_telemetry_put_number(reply, "received", taken.counters.received);
	return 0;
}

static const struct vl_telemetry_topic topics[] = {
	VL_PORTS_TOPICS,
	{"/verbline/replay", "What was sent, and what was late", answer_replay},
};

static void nap(struct run *run)
{
	vl_telemetry_serve(NAP);
	show_progress(run);
}

static void begin(void *context, uint64_t now)
{
	vl_replay_stage_begin(context, now + LEAD_TIME);
}

static bool is_to_go_on(struct run *run)
{
	return !vl_ports_interrupted() && vl_port_watch_look(&run->ports.watch, vl_worker_now());
}

/* Since when the port has taken nothing that it was offered, or the worker has not answered. */
struct stall {
	uint64_t since, frames, refused;
	uint64_t looked; /* seldom, as each look keeps the worker from its clock */
};

static bool has_stopped(struct run *run, struct stall *stall)
{
	struct look taken = {.stage = run->stage};
	uint64_t now = vl_worker_now();

	if (now - stall->looked < STALL_INTERVAL)
		return false;
	stall->looked = now;
	if (!vl_worker_call(run->ports.worker, look, &taken)) {
		if (taken.counters.frames != stall->frames ||
		    taken.counters.refused == stall->refused)
			stall->since = now;
		stall->frames = taken.counters.frames;
		stall->refused = taken.counters.refused;
	}
	return now - stall->since > PORT_PATIENCE;
}

/* Prepares what fits before the first frame is due, then keeps ahead of the worker. */
static int feed_all(struct run *run)
{
	const struct vl_stage stage = vl_replay_stage(run->stage);
	struct stall stall = {.since = vl_worker_now()};
	enum feed_result fed;
	int result;

	do
		fed = feed_step(&run->feed);
	while (fed == FEED_GOES_ON && !vl_ports_interrupted());
	result = vl_worker_add_stage(run->ports.worker, &stage);
	if (!result)
		result = vl_worker_start(run->ports.worker, &run->error);
	if (!result && vl_worker_call(run->ports.worker, begin, run->stage))
		result = vl_error_set(&run->error, -ETIMEDOUT,
				      "the worker did not answer: is its CPU taken?");
	while (!result && (fed == FEED_GOES_ON || fed == FEED_WAITS) && is_to_go_on(run)) {
		fed = feed_step(&run->feed);
		vl_telemetry_serve(fed == FEED_WAITS ? NAP : 0);
		show_progress(run);
		if (fed == FEED_WAITS && has_stopped(run, &stall))
			break;
	}
	run->is_read = fed == FEED_DONE;
	if (fed == FEED_FAILED)
		result = vl_error_set(&run->error, -EIO, "%s", run->feed.message);
	vl_replay_stage_finish(run->stage);
	return result;
}

/* Until the worker has sent all, or the port has taken nothing for long. */
static void drain(struct run *run)
{
	struct stall stall = {.since = vl_worker_now()};

	while (!vl_replay_stage_is_over(run->stage) && is_to_go_on(run) &&
	       !has_stopped(run, &stall))
		nap(run);
}

static int send_all(struct run *run)
{
	struct vl_ports_telemetry telemetry = {
		.ports = &run->ports, .command = "replay", .own = run};
	const struct timespec lag = {.tv_nsec = (long)LAG_TIME};
	int result;

	run->shows = isatty(STDERR_FILENO);
	run->shown = vl_worker_now();
	if (run->chosen->telemetry &&
	    vl_telemetry_open(topics, sizeof(topics) / sizeof(topics[0]), &telemetry))
		return vl_error_set(&run->error, -EIO, "--telemetry: the socket takes no commands");
	result = feed_all(run);
	if (!result)
		drain(run);
	if (run->printed)
		fputs("\r\033[K", stderr);
	nanosleep(&lag, NULL);
	vl_telemetry_close();
	vl_worker_stop(run->ports.worker);
	return result;
}

static int report(struct run *run, uint64_t unsent, const char *json, struct vl_output *output)
{
	struct replay_port_result result = {
		.chosen = run->chosen,
		.operands = run->operands,
		.port = run->chosen->ports.values[0],
		.feed = &run->feed,
		.stage = run->stage,
		.unsent = unsent,
		.interrupted = vl_ports_interrupted() && (unsent || !run->is_read),
	};
	int status = VL_EXIT_OK;

	vl_port_statistics(run->ports.ports[0], &result.statistics);
	if (!json || strcmp(json, "-"))
		replay_port_report_text(&result, stdout);
	for (unsigned int i = 0; i < run->operands->count; i++) {
		if (!source_damage(run->feed.source, i))
			continue;
		vl_command_error(run->command, "%s: %s", run->operands->values[i],
				 source_damage(run->feed.source, i));
		status = VL_EXIT_FAILED;
	}
	if (json && vl_json_file_commit(replay_port_report_json(&result), output, run->error.text,
					sizeof(run->error.text)))
		return -EIO;
	if (result.statistics.tx_errors || run->ports.watch.gone || (unsent && !result.interrupted))
		status = VL_EXIT_FAILED;
	return status;
}

int replay_to_port(const struct vl_command *command, const struct replay_port_options *chosen,
		   const struct vl_operands *operands, const char *json)
{
	struct run run = {.command = command, .chosen = chosen, .operands = operands};
	struct vl_output output = {0};
	uint64_t unsent = 0;
	int result = read_options(&run);

	if (!result && json &&
	    vl_output_open(&output, json, run.error.text, sizeof(run.error.text)))
		result = -EINVAL;
	if (!result)
		result = open_source(&run);
	run.stage = calloc(1, sizeof(*run.stage));
	if (!result && !run.stage)
		result = vl_error_set(&run.error, -ENOMEM, "out of memory");
	vl_ports_catch_signals();
	if (!result)
		result = open_port(&run);
	if (!result)
		result = send_all(&run);
	if (run.stage)
		unsent = vl_replay_stage_drop_unsent(run.stage);
	if (!result)
		result = report(&run, unsent, json, &output);
	vl_ports_close_ports(&run.ports);
	if (run.stage)
		vl_replay_stage_release(run.stage);
	vl_ports_close(&run.ports);
	vl_output_abandon(&output);
	source_close(run.feed.source);
	psn_flows_free(run.feed.flows);
	free(run.stage);
	if (result >= 0)
		return result;
	vl_command_error(command, "%s", run.error.text);
	return result == -EINVAL || result == -ENODEV ? VL_EXIT_USAGE : VL_EXIT_FAILED;
}
