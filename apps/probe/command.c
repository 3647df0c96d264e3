/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* verbline probe: what a switch is configured to do, found out from the outside. */

#include "apps/probe/command.h"

#include "apps/host/addresses.h"
#include "apps/probe/findings.h"
#include "apps/probe/live.h"
#include "apps/report/json_file.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define AUTOMATIC_DSCP    64u
#define DEFAULT_DSCP      26u
#define ETHERNET_HEADER   14u
#define DEFAULT_MTU       1500u
#define MOST_MTU          9586u
#define LEAST_MTU         256u
#define PROGRESS_INTERVAL 0.2 /* s */

struct probe_values {
	struct vl_texts ports, macs, addresses;
	const char *preset, *config_db, *scenario, *sw, *json;
	uint64_t dscp, priority, rate, cable, mtu, frames, seed;
};

#define TEXT(key, argument_name, member, text)                                                     \
	{                                                                                          \
		.name = key, .argument = argument_name, .help = text, .type = VL_OPTION_TEXT,      \
		.offset = offsetof(struct probe_values, member)                                    \
	}
#define TEXTS(key, argument_name, member, text)                                                    \
	{                                                                                          \
		.name = key, .argument = argument_name, .help = text, .type = VL_OPTION_TEXTS,     \
		.offset = offsetof(struct probe_values, member)                                    \
	}
#define NUMBER(key, argument_name, member, from, to, text)                                         \
	{                                                                                          \
		.name = key, .argument = argument_name, .help = text, .type = VL_OPTION_NUMBER,    \
		.offset = offsetof(struct probe_values, member), .least = from, .most = to         \
	}

static const struct vl_option options[] = {
	TEXT("preset", "NAME", preset,
	     "Probe an emulated switch of two ports with this preset ('verbline check --presets')"),
	TEXT("switch-config", "FILE", config_db,
	     "Probe an emulated switch with this SONiC configuration (config_db.json)"),
	TEXT("scenario", "FILE|NAME", scenario, "Probe a switch of this scenario, emulated"),
	TEXT("switch", "NAME", sw, "Which switch of the scenario [the first]"),
	TEXTS("port", "PORT", ports,
	      "Probe a real switch: given twice, the sender's port and then the receiver's"),
	NUMBER("dscp", "N", dscp, 0, 63,
	       "DSCP of the class [26; of an emulated switch, one that leads to the priority]"),
	NUMBER("priority", "N", priority, 0, 7, "Priority of the class in PFC frames [3]"),
	{.name = "rate",
	 .argument = "RATE",
	 .help = "Rate of both lines [the ports'; of a preset 100Gb/s; else the configuration's]",
	 .type = VL_OPTION_QUANTITY,
	 .offset = offsetof(struct probe_values, rate),
	 .least = VL_RATE_MIN,
	 .most = VL_RATE_MAX,
	 .quantity = VL_QUANTITY_RATE},
	NUMBER("cable-length", "METRES", cable, 1, 1000000,
	       "Length of the cables of an emulated switch [the configuration's, or 5]"),
	NUMBER("mtu", "BYTES", mtu, LEAST_MTU, MOST_MTU, "Longest IP packet to send [1500]"),
	NUMBER("frames", "N", frames, 1, UINT64_MAX, "Frames to send at most, in all [20 million]"),
	TEXTS("mac", "MAC", macs,
	      "MAC addresses of the frames: given twice, source and destination [the ports']"),
	TEXTS("ip", "ADDRESS", addresses,
	      "IPv4 addresses of the frames: given twice, source and destination [192.0.2.1 and "
	      "192.0.2.2]"),
	NUMBER("seed", "N", seed, 0, UINT64_MAX, "Seed of an emulated switch's marking [1]"),
	TEXT("json", "FILE", json, "Write what was found as JSON; - is the standard output"),
};

static int probe_main(const struct vl_command *command, int argc, char **argv);

const struct vl_command vl_probe_command = {
	.name = "probe",
	.operands = "[ecn|xoff|xon|headroom|drain|capacity|all]",
	.most_operands = 1,
	.summary = "find a switch's ECN, PFC and buffer thresholds from the outside",
	.description =
		"Sends frames of one class through a switch whose way to the receiver the receiver "
		"pauses, so that what stands in the switch is known to the frame, and watches who "
		"marks, who pauses and what is lost. From that follow Kmin, Kmax, Pmax and where "
		"it marks (ecn), the bytes at which it pauses the sender (xoff) and lets it go on "
		"(xon), what it still takes beyond (headroom), what it takes in all (capacity), "
		"and how fast it sends and obeys pauses (drain). Nothing is known of the switch "
		"but that it forwards and obeys PFC; memory in cells is found out too.\n\n"
		"An emulated switch is probed in virtual time, and what was found stands beside "
		"what is configured. On a real one, two ports of this machine are the sender and "
		"the receiver; the class has to carry nothing else meanwhile. Frames are lost and "
		"senders are paused on purpose: probe no switch that is in use.\n\n"
		"Exit status: 0 all was found out; 1 something was not, for the reason printed; 2 "
		"wrong usage or input.",
	.examples = "verbline probe --preset sonic-lossless\n"
		    "verbline probe ecn --switch-config config_db.json --priority 4\n"
		    "verbline probe xoff --scenario incast-pfc --json -\n"
		    "verbline probe all --port pci:0000:3b:00.0 --port pci:0000:3b:00.1 --dscp 26",
	.options = options,
	.option_count = sizeof(options) / sizeof(options[0]),
	.takes_eal_options = true,
	.run = probe_main,
};

/* ---- Input ------------------------------------------------------------------------------- */

static int read_what(const struct vl_operands *operands, unsigned int *asked,
		     struct vl_error *error)
{
	const char *names[PROBE_COUNT + 2], *nearest;
	const char *text = operands->count ? operands->values[0] : "all";

	*asked = (1u << PROBE_COUNT) - 1;
	if (!strcmp(text, "all"))
		return 0;
	for (unsigned int i = 0; i < PROBE_COUNT; i++) {
		*asked = 1u << i;
		names[i] = probe_names[i];
		if (!strcmp(text, probe_names[i]))
			return 0;
	}
	names[PROBE_COUNT] = "all";
	names[PROBE_COUNT + 1] = NULL;
	nearest = vl_nearest(text, names);
	return vl_error_set(error, -EINVAL, "'%.40s' is nothing to probe; %s%s", text,
			    nearest ? "did you mean "
				    : "there are ecn, xoff, xon, headroom, drain, capacity and all",
			    nearest ? nearest : "");
}

static int check_values(const struct probe_values *values, struct vl_error *error)
{
	unsigned int sources =
		!!values->preset + !!values->config_db + !!values->scenario + !!values->ports.count;

	if (sources != 1)
		return vl_error_set(error, -EINVAL,
				    "%s one of --preset, --switch-config, --scenario, or two "
				    "--port of a real switch",
				    sources ? "give only" : "which switch? give");
	if (values->ports.count && values->ports.count != VL_PROBE_SIDES)
		return vl_error_set(error, -EINVAL,
				    "--port: give two, the sender's and then the receiver's");
	if (values->sw && !values->scenario)
		return vl_error_set(error, -EINVAL, "--switch goes with --scenario");
	if (values->scenario && (values->rate || values->cable))
		return vl_error_set(error, -EINVAL,
				    "--%s: the scenario's links say that; leave it out",
				    values->rate ? "rate" : "cable-length");
	if (values->cable && values->ports.count)
		return vl_error_set(error, -EINVAL, "--cable-length goes with an emulated switch");
	if ((values->macs.count || values->addresses.count) && !values->ports.count)
		return vl_error_set(error, -EINVAL, "--mac and --ip go with --port");
	if (values->macs.count && values->macs.count != VL_PROBE_SIDES)
		return vl_error_set(error, -EINVAL, "--mac: give two, source and then destination");
	if (values->addresses.count && values->addresses.count != VL_PROBE_SIDES)
		return vl_error_set(error, -EINVAL, "--ip: give two, source and then destination");
	if (values->json && (vl_output_is_same(values->json, values->config_db) ||
			     vl_output_is_same(values->json, values->scenario)))
		return vl_error_set(error, -EINVAL, "--json %s would overwrite the input",
				    values->json);
	return 0;
}

static int parse_mac(const char *text, uint8_t mac[6], struct vl_error *error)
{
	char reason[160];

	if (vl_mac_parse(text, mac, reason, sizeof(reason)))
		return vl_error_set(error, -EINVAL, "--mac: %s", reason);
	return 0;
}

/* ---- Running ----------------------------------------------------------------------------- */

struct progress {
	bool shows, has_shown;
	double last; /* s */
};

static double seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static bool show_progress(void *context, const char *step, double part)
{
	struct progress *progress = context;

	if (vl_ports_interrupted())
		return false;
	if (!progress->shows || !step || seconds() - progress->last < PROGRESS_INTERVAL)
		return true;
	progress->last = seconds();
	progress->has_shown = true;
	fprintf(stderr, "\rprobing %s: %.0f %%\033[K", step, part * 100);
	return true;
}

/* The bench is ready: probes, and says what was found. Returns an exit status, or a negative errno
 * value. */
static int run(struct vl_probe_bench *bench, const struct probe_values *values, unsigned int asked,
	       const struct probe_subject *subject, struct vl_error *error)
{
	struct progress progress = {.shows = isatty(STDERR_FILENO), .last = seconds()};
	const struct vl_probe_config config = {
		.dscp = (uint8_t)subject->dscp,
		.priority = (uint8_t)subject->priority,
		.most_length = subject->longest,
		.most_frames = values->frames,
		.progress = show_progress,
		.context = &progress,
	};
	bool is_to_stdout = values->json && !strcmp(values->json, "-"), good;
	struct probe_findings findings;
	struct vl_output output = {0};

	if (values->json && vl_output_open(&output, values->json, error->text, sizeof(error->text)))
		return -EINVAL;
	good = probe_find(bench, &config, asked, &findings);
	if (progress.has_shown)
		fputs("\r\033[K", stderr);
	if (!is_to_stdout)
		probe_print(subject, &findings, stdout);
	else if (*findings.opening_error)
		fprintf(stderr, "verbline probe: %s\n", findings.opening_error);
	if (values->json && vl_json_file_commit(probe_json(subject, &findings), &output,
						error->text, sizeof(error->text)))
		return -EIO;
	return good ? VL_EXIT_OK : VL_EXIT_FAILED;
}

static int probe_emulation(const struct probe_values *values, unsigned int asked,
			   struct vl_error *error)
{
	const struct probe_source source = {
		.preset = values->preset,
		.config_db = values->config_db,
		.scenario = values->scenario,
		.sw = values->sw,
		.rate = values->rate,
		.cable = values->cable,
		.longest = (uint32_t)values->mtu + ETHERNET_HEADER,
		.priority = values->priority,
		.seed = values->seed,
	};
	struct probe_emulated emulated = {0};
	struct probe_configured configured;
	struct probe_subject subject = {
		.priority = (unsigned int)values->priority,
		.longest = source.longest,
		.name = emulated.name,
		.notes = &emulated.notes,
		.configured = &configured,
	};
	struct vl_probe_virtual *bench = NULL;
	int status = probe_emulated_open(&emulated, &source, error->text, sizeof(error->text));

	if (!status) {
		bench = vl_probe_virtual_create(emulated.config, emulated.cables, error->text,
						sizeof(error->text));
		status = bench ? 0 : -EINVAL;
	}
	if (!status) {
		subject.rate = emulated.cables[0].rate;
		subject.dscp = values->dscp == AUTOMATIC_DSCP
				       ? probe_emulated_dscp(&emulated, subject.priority)
				       : (unsigned int)values->dscp;
		probe_configured(&emulated, vl_probe_virtual_switch(bench), subject.dscp,
				 subject.priority, &configured);
		status = run(vl_probe_virtual_bench(bench), values, asked, &subject, error);
	}
	vl_probe_virtual_destroy(bench);
	probe_emulated_close(&emulated);
	return status;
}

static int choose_rate(const struct probe_values *values, const struct vl_ports *ports,
		       uint64_t *rate, struct vl_error *error)
{
	*rate = values->rate ? values->rate : ports->ports[VL_PROBE_SENDER]->link_rate;
	if (!*rate)
		return vl_error_set(error, -EINVAL,
				    "port %s does not say its rate; give it with --rate",
				    ports->ports[VL_PROBE_SENDER]->name);
	if (!values->rate && *rate != ports->ports[VL_PROBE_RECEIVER]->link_rate)
		return vl_error_set(error, -EINVAL,
				    "the ports' rates differ; probe between two of one rate, or "
				    "say it with --rate");
	return 0;
}

static int set_addresses(const struct probe_values *values, struct vl_probe_bench *bench,
			 struct vl_error *error)
{
	static const uint8_t none[6];

	for (unsigned int i = 0; i < VL_PROBE_SIDES; i++) {
		const uint8_t own_mac[6] = {0x02, 0, 0, 0, 0, (uint8_t)(1 + i)};
		const uint8_t own_address[4] = {192, 0, 2, (uint8_t)(1 + i)};

		memcpy(bench->addresses[i], own_address, sizeof(own_address));
		if (!memcmp(bench->macs[i], none, sizeof(none)))
			memcpy(bench->macs[i], own_mac, sizeof(own_mac));
		if (values->macs.count && parse_mac(values->macs.values[i], bench->macs[i], error))
			return -EINVAL;
		if (values->addresses.count &&
		    inet_pton(AF_INET, values->addresses.values[i], bench->addresses[i]) != 1)
			return vl_error_set(error, -EINVAL,
					    "--ip: '%.40s' is no IPv4 address; write it as "
					    "192.0.2.1",
					    values->addresses.values[i]);
	}
	return 0;
}

static int probe_ports(const struct vl_command *command, const struct probe_values *values,
		       const struct vl_operands *operands, unsigned int asked,
		       struct vl_error *error)
{
	const struct vl_ports_config config = {
		.command = command,
		.names = &values->ports,
		.mbuf_count = PROBE_LIVE_MBUFS,
		.mtu = values->mtu > VL_PORT_MIN_MTU ? (uint16_t)values->mtu : VL_PORT_MIN_MTU,
		.operands = operands,
	};
	char name[2 * VL_PORT_NAME_LENGTH + 64];
	struct probe_subject subject = {
		.name = name,
		.dscp = values->dscp == AUTOMATIC_DSCP ? DEFAULT_DSCP : (unsigned int)values->dscp,
		.priority = (unsigned int)values->priority,
		.longest = (uint32_t)values->mtu + ETHERNET_HEADER,
	};
	struct probe_live *live = NULL;
	struct vl_ports ports;
	int status = vl_ports_open(&ports, &config, error);

	if (status)
		return status;
	status = choose_rate(values, &ports, &subject.rate, error);
	if (!status) {
		live = probe_live_create(&ports, subject.rate, error);
		status = live ? set_addresses(values, probe_live_bench(live), error) : -ENETDOWN;
	}
	if (!status) {
		snprintf(name, sizeof(name), "the switch between %s (sender) and %s (receiver)",
			 ports.ports[0]->name, ports.ports[1]->name);
		status = run(probe_live_bench(live), values, asked, &subject, error);
	}
	probe_live_destroy(live);
	vl_ports_close(&ports);
	return status;
}

static int probe_main(const struct vl_command *command, int argc, char **argv)
{
	struct probe_values values = {
		.dscp = AUTOMATIC_DSCP, .priority = 3, .mtu = DEFAULT_MTU, .seed = 1};
	struct vl_operands operands;
	struct vl_error error = {.text = ""};
	unsigned int asked;
	int status = vl_command_start(command, argc, argv, &values, &operands);

	if (status >= 0)
		return status;
	status = read_what(&operands, &asked, &error);
	if (!status)
		status = check_values(&values, &error);
	if (!status) {
		vl_ports_catch_signals();
		status = values.ports.count
				 ? probe_ports(command, &values, &operands, asked, &error)
				 : probe_emulation(&values, asked, &error);
	}
	if (status >= 0)
		return status;
	vl_command_error(command, "%s", error.text);
	return status == -EINVAL || status == -ENODEV ? VL_EXIT_USAGE : VL_EXIT_FAILED;
}
