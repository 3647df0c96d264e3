/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/pfc/pfc.h"

#include "apps/host/addresses.h"
#include "apps/pfc/report.h"
#include "apps/ports/ports.h"
#include "apps/ports/telemetry.h"
#include "apps/report/json_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MBUFS_OF_A_PORT 4096u
/* Until the first pause, so that every port's loop is warm; and behind the last, so that a port
 * that sends by itself has done so. */
#define LEAD_TIME UINT64_C(1000000)
#define LAG_TIME  UINT64_C(10000000)
/* The control thread looks this often, ns. */
#define LOOK_INTERVAL     UINT64_C(10000000)
#define PROGRESS_INTERVAL UINT64_C(500000000)

struct pfc_options {
	struct vl_texts ports;
	const char *classes, *refresh, *mac, *json, *histogram, *telemetry;
	uint64_t quanta, duration, period, count, time, rate, response_delay;
	bool global, storm, listen;
};

#define FLAG(key, member, text)                                                                    \
	{                                                                                          \
		.name = key, .help = text, .type = VL_OPTION_FLAG,                                 \
		.offset = offsetof(struct pfc_options, member)                                     \
	}
#define TEXT(key, argument_name, member, text)                                                     \
	{                                                                                          \
		.name = key, .argument = argument_name, .help = text, .type = VL_OPTION_TEXT,      \
		.offset = offsetof(struct pfc_options, member)                                     \
	}
#define TIME(key, member, from, text)                                                              \
	{                                                                                          \
		.name = key, .argument = "TIME", .help = text, .type = VL_OPTION_QUANTITY,         \
		.offset = offsetof(struct pfc_options, member), .least = from, .most = LONGEST,    \
		.quantity = VL_QUANTITY_DURATION                                                   \
	}
/* As other commands call an option. */
#define ALIAS(option) "The same as --" option
#define LONGEST       UINT64_C(1000000000000000)

static const struct vl_option options[] = {
	{.letter = 'p',
	 .name = "port",
	 .argument = "PORT",
	 .help = "Port to send from; may be repeated, all are served by one core",
	 .type = VL_OPTION_TEXTS,
	 .offset = offsetof(struct pfc_options, ports)},
	TEXT("classes", "LIST", classes, "Classes to pause, as 3 or 3,4 or 0-7 [3]"),
	FLAG("global", global, "Send PAUSE frames (802.3x), which stop all classes, not PFC"),
	{.name = "quanta",
	 .argument = "N",
	 .help = "Length of the pause that a frame asks for, in 512 bit times; 0 ends a pause "
		 "[65535]",
	 .type = VL_OPTION_NUMBER,
	 .offset = offsetof(struct pfc_options, quanta),
	 .most = UINT16_MAX},
	TIME("duration", duration, 1,
	     "Pause for exactly so long, by as many frames as that takes [one frame]"),
	FLAG("storm", storm, "Pause until stopped, without a gap"),
	TEXT("refresh", "PART|TIME", refresh,
	     "Longest gap between the frames of a held pause: a part of what a frame pauses for, "
	     "or "
	     "a time [60%]"),
	TIME("period", period, 1000, "Begin a pause again and again, once in this time"),
	{.name = "count",
	 .argument = "N",
	 .help = "Pauses, with --period [without end]",
	 .type = VL_OPTION_NUMBER,
	 .offset = offsetof(struct pfc_options, count),
	 .least = 1,
	 .most = UINT64_MAX},
	{.letter = 'D',
	 .name = "time",
	 .argument = "TIME",
	 .help = "End after this time [until all is sent, or Ctrl-C]",
	 .type = VL_OPTION_QUANTITY,
	 .offset = offsetof(struct pfc_options, time),
	 .least = 1000000,
	 .most = LONGEST,
	 .quantity = VL_QUANTITY_DURATION},
	{.name = "rate",
	 .argument = "RATE",
	 .help = "Line rate of the peer's port, which makes the length of a quantum [the port's]",
	 .type = VL_OPTION_QUANTITY,
	 .offset = offsetof(struct pfc_options, rate),
	 .least = VL_RATE_MIN,
	 .most = VL_RATE_MAX,
	 .quantity = VL_QUANTITY_RATE},
	FLAG("listen", listen, "Send nothing; count the pauses received, and for how long"),
	TIME("response-delay", response_delay, 0,
	     "Account received pauses as if they took force so long after they came [0ns]"),
	TIME("pfc-response-delay", response_delay, 0, ALIAS("response-delay")),
	TEXT("mac", "MAC", mac, "Source address of the frames [the port's]"),
	TEXT("json", "FILE", json, "Write what was found as JSON; - is the standard output"),
	TEXT("histogram", "FILE", histogram,
	     "Write the gaps of all ports as a histogram (.hgrm), in microseconds"),
	TEXT("hgrm", "FILE", histogram, ALIAS("histogram")),
	VL_TELEMETRY_OPTION(struct pfc_options, telemetry),
};

static int wrong(struct vl_error *error, const char *option, const char *reason)
{
	return vl_error_set(error, -EINVAL, "%s: %s", option, reason);
}

static int parse_classes(const char *text, uint8_t *classes, struct vl_error *error)
{
	const char *at = text;

	*classes = 0;
	for (;;) {
		int first = *at - '0', last = first;

		if (first < 0 || first > 7)
			break;
		at++;
		if (at[0] == '-') {
			last = at[1] - '0';
			if (last < first || last > 7)
				break;
			at += 2;
		}
		for (int i = first; i <= last; i++)
			*classes |= (uint8_t)(1u << i);
		if (!*at)
			return 0;
		if (*at++ != ',')
			break;
	}
	return vl_error_set(error, -EINVAL,
			    "--classes: '%.40s' is no list of classes 0 to 7; write 3, 3,4 or 0-7",
			    text);
}

static int parse_mac(const char *text, uint8_t mac[6], struct vl_error *error)
{
	char reason[160];

	return vl_mac_parse(text, mac, reason, sizeof(reason)) ? wrong(error, "--mac", reason) : 0;
}

/* The longest gap of a frame's pause, ns. */
static int parse_refresh(const char *text, const struct vl_pfc_storm_config *config, uint64_t *gap,
			 struct vl_error *error)
{
	uint64_t pause = vl_rate_time_up(vl_rate_make(config->rate),
					 (uint64_t)config->quanta * VL_PFC_QUANTUM_BITS);
	char reason[256], a[VL_QUANTITY_TEXT], b[VL_QUANTITY_TEXT];
	double part;

	if (strchr(text, '%')) {
		if (vl_fraction_parse(text, 0.01, 0.99, &part, reason, sizeof(reason)))
			return wrong(error, "--refresh", reason);
		*gap = (uint64_t)(part * (double)pause);
	} else if (vl_quantity_parse(VL_QUANTITY_DURATION, text, 1, LONGEST, gap, reason,
				     sizeof(reason))) {
		return wrong(error, "--refresh", reason);
	}
	if (*gap >= pause)
		return vl_error_set(error, -EINVAL,
				    "--refresh: a gap of %s outlasts the pause of %s that a frame "
				    "asks for; take less, or more --quanta",
				    vl_quantity_text(VL_QUANTITY_DURATION, *gap, a),
				    vl_quantity_text(VL_QUANTITY_DURATION, pause, b));
	return *gap < 100 ? wrong(error, "--refresh", "no loop keeps gaps below 100ns") : 0;
}

/* What fits together is for here; what only the port knows for configure_storm. */
static int check_options(const struct pfc_options *chosen, struct vl_error *error)
{
	uint8_t mac[6], classes;

	if (chosen->storm && chosen->duration)
		return wrong(error, "--storm", "goes on without end, --duration ends; give one");
	if (chosen->storm && chosen->period)
		return wrong(error, "--storm", "has no end, so --period has no beginning again");
	if (chosen->count && !chosen->period)
		return wrong(error, "--count", "needs --period, the time from pause to pause");
	if (!chosen->quanta && (chosen->storm || chosen->duration))
		return wrong(error, "--quanta",
			     "0 ends a pause; none can be held by it: take 1 to 65535");
	if (chosen->global && chosen->classes)
		return wrong(error, "--global", "stops all classes; --classes goes with PFC");
	if (chosen->listen && (chosen->storm || chosen->duration || chosen->period))
		return wrong(error, "--listen", "sends nothing; leave out what is to be sent");
	if (chosen->period && chosen->duration && chosen->period <= chosen->duration)
		return wrong(error, "--period", "must be longer than --duration");
	if (chosen->mac && parse_mac(chosen->mac, mac, error))
		return -EINVAL;
	return chosen->classes ? parse_classes(chosen->classes, &classes, error) : 0;
}

static int configure_storm(const struct pfc_options *chosen, const struct vl_port *port,
			   struct vl_pfc_storm_config *config, struct vl_error *error)
{
	static const uint8_t own_mac[6] = {0x02, 0, 0, 0, 0, 0x01}, none[6];
	int result = 0;

	*config = (struct vl_pfc_storm_config){
		.classes = 1u << 3,
		.is_global = chosen->global,
		.rate = chosen->rate ? chosen->rate : port->link_rate,
		.quanta = (uint16_t)chosen->quanta,
		.hold = chosen->storm ? VL_PFC_HOLD_FOREVER : chosen->duration,
		.period = chosen->period,
		.count = chosen->count,
	};
	if (!config->rate)
		return vl_error_set(error, -EINVAL,
				    "port %s does not say its rate; give it with --rate",
				    port->name);
	memcpy(config->mac, memcmp(port->mac, none, 6) ? port->mac : own_mac, 6);
	if (chosen->mac)
		result = parse_mac(chosen->mac, config->mac, error);
	if (!result && chosen->classes)
		result = parse_classes(chosen->classes, &config->classes, error);
	if (!result && config->hold)
		result = parse_refresh(chosen->refresh, config, &config->longest_gap, error);
	return result;
}

static int fill_stage(struct vl_pfc_stage *stage, const struct vl_ports *ports,
		      const struct pfc_options *chosen, uint64_t start, struct vl_error *error)
{
	struct vl_pfc_storm_config config;
	int result;

	for (uint32_t i = 0; i < ports->count; i++) {
		struct vl_pfc_stage_port *port = &stage->ports[i];

		port->port = ports->ports[i];
		port->mempool = ports->mempools[i];
		result = configure_storm(chosen, port->port, &config, error);
		if (!result &&
		    vl_pfc_storm_init(&port->storm, &config, chosen->listen ? UINT64_MAX : start))
			result = wrong(error, "--period",
				       "must be longer than the pause that a frame asks for");
		if (result)
			return result;
		vl_pfc_receiver_init(&port->received, vl_rate_make(config.rate),
				     chosen->response_delay);
		stage->port_count++;
	}
	vl_pfc_stage_prepare(stage);
	return 0;
}

struct question {
	struct vl_pfc_stage *stage;
	bool is_over;
	uint64_t frames, stolen, late, received;
};

static void ask_over(void *context, uint64_t now)
{
	struct question *question = context;

	(void)now;
	question->is_over = vl_pfc_stage_is_over(question->stage);
	question->frames = question->stolen = question->late = question->received = 0;
	for (uint32_t i = 0; i < question->stage->port_count; i++) {
		const struct vl_pfc_stage_port *port = &question->stage->ports[i];

		question->frames += port->storm.frames;
		question->stolen += port->storm.stolen_gaps;
		question->late += port->storm.late_gaps;
		question->received += port->pfc_rx;
	}
}

static void ask_stop(void *context, uint64_t now)
{
	vl_pfc_stage_stop(((struct question *)context)->stage, now);
}

static int ask(const struct vl_ports *ports, void (*function)(void *context, uint64_t now),
	       struct question *question, struct vl_error *error)
{
	int result = vl_worker_call(ports->worker, function, question);

	return result ? vl_error_set(error, result, "the worker did not answer: is its CPU taken?")
		      : 0;
}

struct pause_look {
	const struct vl_pfc_stage_port *port;
	uint64_t frames, pauses, stolen, late, broken, longest_gap, pfc_rx, now;
	struct vl_pfc_receiver received;
};

static void look_at_pauses(void *context, uint64_t now)
{
	struct pause_look *look = context;
	const struct vl_pfc_stage_port *port = look->port;

	look->frames = port->storm.frames;
	look->pauses = port->storm.pauses;
	look->stolen = port->storm.stolen_gaps;
	look->late = port->storm.late_gaps;
	look->broken = port->storm.broken;
	look->longest_gap = port->storm.gaps.count ? port->storm.gaps.most : 0;
	look->pfc_rx = port->pfc_rx;
	look->received = port->received;
	look->now = now;
	vl_pfc_receiver_update(&look->received, now);
}

static int answer_pfc(void *context, const char *parameters, struct vl_telemetry_reply *reply)
{
	const struct vl_ports_telemetry *telemetry = context;
	const struct vl_pfc_stage *stage = telemetry->own;
	int port = vl_telemetry_index(parameters, telemetry->ports->count), result;
	struct pause_look look;

	if (port < 0)
		return port;
	look.port = &stage->ports[port];
	result = vl_worker_call(telemetry->ports->worker, look_at_pauses, &look);
	if (result)
		return result;
	vl_telemetry_begin_object(reply);
	vl_telemetry_put_number(reply, "pfc_rx", look.pfc_rx);
	vl_telemetry_put_number(reply, "pfc_tx", look.frames);
	vl_telemetry_put_number(reply, "pauses_tx", look.pauses);
	vl_telemetry_put_number(reply, "gaps_stolen", look.stolen);
	vl_telemetry_put_number(reply, "gaps_late", look.late);
	vl_telemetry_put_number(reply, "pauses_broken", look.broken);
	vl_telemetry_put_number(reply, "longest_gap_ns", look.longest_gap);
	vl_telemetry_put_pauses(reply, &look.received, look.now);
	return 0;
}

static const struct vl_telemetry_topic topics[] = {
	VL_PORTS_TOPICS,
	{"/verbline/pfc", "Pauses sent and received on a port. Parameter: port number", answer_pfc},
};

static void wait_until(uint64_t time, bool heed_signals)
{
	while (vl_worker_now() < time && !(heed_signals && vl_ports_interrupted()))
		vl_telemetry_serve(LOOK_INTERVAL / 10);
}

static bool is_to_go_on(struct vl_ports *ports)
{
	return !vl_ports_interrupted() && vl_port_watch_look(&ports->watch, vl_worker_now());
}

static void show_progress(const struct question *question, uint64_t time)
{
	fprintf(stderr,
		"\r%" PRIu64 " s: %" PRIu64 " frames sent, gaps too long: %" PRIu64
		" (machine), %" PRIu64 " (port); %" PRIu64 " pauses received\033[K",
		time / 1000000000, question->frames, question->stolen, question->late,
		question->received);
}

/* From the first frame until all is sent, the time is over, or the user had enough. */
static int follow(struct vl_ports *ports, const struct pfc_options *chosen,
		  struct vl_pfc_stage *stage, struct vl_error *error)
{
	uint64_t began = vl_worker_now(), next, shown = began;
	uint64_t end = chosen->time ? began + chosen->time : UINT64_MAX;
	struct question question = {.stage = stage};
	bool shows = isatty(STDERR_FILENO);
	int result = 0;

	while (!result && vl_worker_now() < end && is_to_go_on(ports)) {
		next = vl_worker_now() + LOOK_INTERVAL;
		wait_until(next < end ? next : end, true);
		result = ask(ports, ask_over, &question, error);
		if (question.is_over && !chosen->time && !chosen->listen)
			break;
		if (shows && vl_worker_now() - shown > PROGRESS_INTERVAL) {
			shown = vl_worker_now();
			show_progress(&question, shown - began);
		}
	}
	if (shows && shown != began)
		fputs("\r\033[K", stderr);
	if (!result)
		result = ask(ports, ask_stop, &question, error);
	if (!result)
		wait_until(vl_worker_now() + LAG_TIME, false);
	return result;
}

/* left: what the devices count as sent, taken off what they count now. */
static void count_left(const struct vl_ports *ports, uint64_t *left)
{
	struct vl_port_statistics statistics;

	for (uint32_t i = 0; i < ports->count; i++) {
		vl_port_statistics(ports->ports[i], &statistics);
		left[i] = statistics.tx_frames - left[i];
	}
}

static int run_stage(struct vl_ports *ports, const struct pfc_options *chosen, struct pfc_run *run,
		     struct vl_pfc_stage *stage, struct vl_error *error)
{
	const struct vl_stage on_worker = vl_pfc_stage(stage);
	struct vl_ports_telemetry telemetry = {.ports = ports, .command = "pfc", .own = stage};
	struct processor before, after;
	int result;

	run->began = vl_worker_now() + LEAD_TIME;
	count_left(ports, run->left);
	result = fill_stage(stage, ports, chosen, run->began, error);
	if (!result)
		result = vl_worker_add_stage(ports->worker, &on_worker);
	if (!result)
		result = vl_worker_start(ports->worker, error);
	if (result)
		return result;
	processor_find(&before, ports->worker);
	if (chosen->telemetry &&
	    vl_telemetry_open(topics, sizeof(topics) / sizeof(topics[0]), &telemetry))
		result = vl_error_set(error, -EIO, "--telemetry: the socket takes no commands");
	if (!result)
		result = follow(ports, chosen, stage, error);
	vl_telemetry_close();
	after = before;
	processor_read(&after);
	vl_worker_stop(ports->worker);
	count_left(ports, run->left);
	run->ended = vl_worker_now();
	for (uint32_t i = 0; i < stage->port_count; i++)
		vl_pfc_receiver_update(&stage->ports[i].received, run->ended);
	run->stage = stage;
	run->sends = !chosen->listen;
	run->is_held = chosen->storm || chosen->duration;
	run->put_aside = after.put_aside - before.put_aside;
	run->stolen_ticks = after.stolen_ticks - before.stolen_ticks;
	return result;
}

/* Opened before the run, so that what it finds has a place. */
struct outputs {
	struct vl_output json, histogram;
};

static int open_outputs(const struct pfc_options *chosen, struct outputs *outputs,
			struct vl_error *error)
{
	int result = 0;

	if (vl_output_is_same(chosen->json, chosen->histogram))
		return vl_error_set(error, -EINVAL, "%s cannot take two outputs", chosen->json);
	if (chosen->json)
		result = vl_output_open(&outputs->json, chosen->json, error->text,
					sizeof(error->text));
	if (!result && chosen->histogram)
		result = vl_output_open(&outputs->histogram, chosen->histogram, error->text,
					sizeof(error->text));
	return result ? -EINVAL : 0;
}

static int write_histogram(const struct pfc_run *run, struct vl_output *output,
			   struct vl_error *error)
{
	struct vl_histogram *all = calloc(1, sizeof(*all));
	int result = 0;

	if (!all)
		return vl_error_set(error, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < run->stage->port_count; i++)
		vl_histogram_add(all, &run->stage->ports[i].storm.gaps);
	if (vl_histogram_write(all, 1000, output->file))
		result = vl_error_set(error, -EIO, "%s: could not be written", output->path);
	if (!result)
		result = vl_output_commit(output, error->text, sizeof(error->text));
	free(all);
	return result;
}

static int report(const struct pfc_options *chosen, const struct pfc_run *run,
		  struct outputs *outputs, struct vl_error *error)
{
	int result = 0;

	if (!chosen->json || strcmp(chosen->json, "-"))
		pfc_report_text(run, stdout);
	if (chosen->json)
		result = vl_json_file_commit(pfc_report_json(run), &outputs->json, error->text,
					     sizeof(error->text));
	if (!result && chosen->histogram)
		result = write_histogram(run, &outputs->histogram, error);
	if (!result && pfc_run_late_gaps(run))
		return VL_EXIT_FAILED;
	return result;
}

static int pfc_main(const struct vl_command *command, int argc, char **argv)
{
	struct pfc_options chosen = {.quanta = UINT16_MAX, .refresh = "60%"};
	struct pfc_run run = {0};
	struct vl_operands operands;
	struct vl_ports ports = {0};
	struct vl_ports_config config = {
		.command = command,
		.names = &chosen.ports,
		.mbuf_count = MBUFS_OF_A_PORT,
		.operands = &operands,
	};
	struct outputs outputs = {0};
	struct vl_pfc_stage *stage;
	struct vl_error error;
	int status = vl_command_start(command, argc, argv, &chosen, &operands), result;

	if (status >= 0)
		return status;
	stage = malloc(sizeof(*stage));
	result = stage ? check_options(&chosen, &error)
		       : vl_error_set(&error, -ENOMEM, "out of memory");
	if (!result)
		result = open_outputs(&chosen, &outputs, &error);
	if (!result) {
		vl_pfc_stage_init(stage);
		config.telemetry = chosen.telemetry;
		vl_ports_catch_signals();
		result = vl_ports_open(&ports, &config, &error);
	}
	if (!result)
		result = run_stage(&ports, &chosen, &run, stage, &error);
	if (!result)
		result = report(&chosen, &run, &outputs, &error);
	if (!result && ports.watch.gone)
		result = VL_EXIT_FAILED;
	vl_ports_close(&ports);
	vl_output_abandon(&outputs.json);
	vl_output_abandon(&outputs.histogram);
	free(stage);
	if (result >= 0)
		return result;
	vl_command_error(command, "%s", error.text);
	return result == -EINVAL || result == -ENODEV ? VL_EXIT_USAGE : VL_EXIT_FAILED;
}

const struct vl_command vl_pfc_command = {
	.name = "pfc",
	.summary = "pause the peers of ports: exact pauses and storms without a gap",
	.description = "Sends priority flow control frames (802.1Qbb) for any set of classes, or "
		       "PAUSE frames "
		       "(802.3x): one frame of so many quanta, a pause of exactly --duration, or a "
		       "--storm "
		       "that lets nothing through, once or in a rhythm. Frames are sent early "
		       "enough that no "
		       "gap exceeds --refresh, and every gap is kept. Where the machine kept the "
		       "loop from "
		       "running, so that a gap became too long, the report says so. Its columns: "
		       "Stolen, gaps too long as the machine kept the loop from running; Late, "
		       "though it ran; Broken, of both those longer than the pause, so that the "
		       "peer could send.\n\n"
		       "Pauses that the peers send are counted in the same run, by class, with the "
		       "time that "
		       "they asked for.\n\n"
		       "Exit status: 0 the frames were sent as they should; 1 a gap was too long "
		       "for another "
		       "reason than the machine's, or the run failed; 2 wrong usage or a port that "
		       "cannot be "
		       "opened.",
	.examples =
		"verbline pfc --port pci:0000:3b:00.0 --classes 3 --duration 2ms\n"
		"verbline pfc --port pci:0000:3b:00.0 --port pci:0000:3b:00.1 --storm --time 60s\n"
		"verbline pfc --port tap:v0 --rate 100Gb/s --global --duration 1ms --period 10ms\n"
		"verbline pfc --port af_packet:eth1 --rate 25Gb/s --listen --time 10s",
	.options = options,
	.option_count = sizeof(options) / sizeof(options[0]),
	.takes_eal_options = true,
	.run = pfc_main,
};
