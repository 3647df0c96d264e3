/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/lab.h"

#include "apps/interrupt.h"
#include "apps/lab_measure.h"
#include "apps/lab_outputs.h"
#include "apps/lab_run.h"
#include "apps/lab_switch.h"
#include "apps/report/config.h"
#include "apps/report/output.h"
#include "apps/scenario/source.h"
#include "apps/sonic/switch_config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define DEFAULT_WATCH_TIME   UINT64_C(5000000000)
#define DEFAULT_MEETING_TIME UINT64_C(30000000000)
#define MIN_COLUMNS          60

struct lab_options {
	bool list, keys, live, no_view, fast;
	const char *show, *switch_config;
	const char *json, *pcap, *pcap_at, *histogram;
	uint64_t seed, duration, view_time, pcap_from, pcap_count;
	uint64_t meeting_time;
	struct vl_texts sets, nodes, ports;
};

#define UNSET UINT64_MAX
#define FLAG(key, member, text)                                                                    \
	{                                                                                          \
		.name = key, .help = text, .type = VL_OPTION_FLAG,                                 \
		.offset = offsetof(struct lab_options, member)                                     \
	}
#define TEXT(key, argument_name, member, text)                                                     \
	{                                                                                          \
		.name = key, .argument = argument_name, .help = text, .type = VL_OPTION_TEXT,      \
		.offset = offsetof(struct lab_options, member)                                     \
	}

static const struct vl_option options[] = {
	FLAG("list", list, "List the ready scenarios and what each teaches"),
	TEXT("show", "NAME", show, "Print a ready scenario, to start a file of your own from"),
	FLAG("keys", keys, "Print every key that a scenario file may have"),
	TEXT("switch-config", "FILE", switch_config,
	     "Configure the scenario's switches by this SONiC CONFIG_DB.json, whatever the "
	     "scenario "
	     "says of them; without SCENARIO, hosts at its own ports send to one"),
	{.name = "seed",
	 .argument = "N",
	 .help = "Seed of all random numbers, instead of the scenario's",
	 .type = VL_OPTION_NUMBER,
	 .offset = offsetof(struct lab_options, seed),
	 .most = INT64_MAX},
	{.letter = 'D',
	 .name = "duration",
	 .argument = "TIME",
	 .help = "Length of the run (as 50ms), instead of the scenario's",
	 .type = VL_OPTION_QUANTITY,
	 .offset = offsetof(struct lab_options, duration),
	 .least = 10000,
	 .most = UINT64_C(3600000000000),
	 .quantity = VL_QUANTITY_DURATION},
	{.name = "set",
	 .argument = "KEY=VALUE",
	 .help = "Override a value of the scenario: --set flows[0].size=4KiB, --set "
		 "switches[switch].ecn.kmin=50KB; may be repeated",
	 .type = VL_OPTION_TEXTS,
	 .offset = offsetof(struct lab_options, sets)},
	TEXT("json", "FILE", json, "Write all results and the time series as JSON"),
	TEXT("pcap", "FILE", pcap,
	     "Capture packets, with the nanoseconds of the run; pcapng if FILE ends so"),
	TEXT("pcap-at", "NODE[:PORT]", pcap_at,
	     "Where to capture: an endpoint, or a switch and the name of what is linked to its "
	     "port [the first flow's receiver]"),
	{.name = "pcap-from",
	 .argument = "TIME",
	 .help = "Start to capture then [0s]",
	 .type = VL_OPTION_QUANTITY,
	 .offset = offsetof(struct lab_options, pcap_from),
	 .most = UINT64_C(3600000000000),
	 .quantity = VL_QUANTITY_DURATION},
	{.name = "pcap-count",
	 .argument = "N",
	 .help = "Capture so many packets [all]",
	 .type = VL_OPTION_NUMBER,
	 .offset = offsetof(struct lab_options, pcap_count),
	 .least = 1,
	 .most = UINT64_MAX},
	TEXT("histogram", "FILE", histogram,
	     "Write completion times as .hgrm percentiles, in us (of several flows, one file "
	     "each)"),
	FLAG("live", live, "Run in real time on worker cores over rings, instead of virtual time"),
	{.name = "nodes",
	 .argument = "NAMES",
	 .help = "With --live and InfiniBand: run only these nodes (names, patterns as "
		 "'host[1-4]', "
		 "groups; separated by commas), and let the links that lead to the others leave by "
		 "--port. Another process, here or on another machine, runs the others",
	 .type = VL_OPTION_TEXTS,
	 .offset = offsetof(struct lab_options, nodes)},
	{.name = "port",
	 .argument = "[A-B=]PORT",
	 .help = "Port by which the link between nodes A and B leaves, or without names all that "
		 "have no other; may be repeated. As of the other commands: memif:PATH, "
		 "af_packet:INTERFACE, pci:ADDRESS",
	 .type = VL_OPTION_TEXTS,
	 .offset = offsetof(struct lab_options, ports)},
	{.name = "wait",
	 .argument = "TIME",
	 .help = "With --nodes: how long to wait for the other processes [30s]",
	 .type = VL_OPTION_QUANTITY,
	 .offset = offsetof(struct lab_options, meeting_time),
	 .most = UINT64_C(3600000000000),
	 .quantity = VL_QUANTITY_DURATION},
	FLAG("fast", fast, "Do not slow a virtual run down for the eye"),
	FLAG("no-view", no_view, "Print plain lines instead of the live view"),
	{.name = "view-time",
	 .argument = "TIME",
	 .help = "What a virtual run takes to watch on a terminal [5s]",
	 .type = VL_OPTION_QUANTITY,
	 .offset = offsetof(struct lab_options, view_time),
	 .most = UINT64_C(3600000000000),
	 .quantity = VL_QUANTITY_DURATION},
};

static int lab_main(const struct vl_command *command, int argc, char **argv);

const struct vl_command vl_lab_command = {
	.name = "lab",
	.operands = "[SCENARIO]",
	.most_operands = 1,
	.summary = "try a fabric: endpoints, switches, links and flows in virtual time or live",
	.description =
		"Runs a scenario: RoCEv2 endpoints with full queue pairs, joined by emulated links "
		"and "
		"switches that mark ECN, pause and drop. SCENARIO is the name of a ready one "
		"(--list) "
		"or a YAML file (--keys says what it may contain); without it, incast-dcqcn runs. "
		"Virtual time needs no privileges and no hardware, and the same seed gives the "
		"same "
		"bytes.",
	.examples = "verbline lab\n"
		    "verbline lab incast-pfc-only --json out.json\n"
		    "verbline lab --set congestion_control.profile=paper --pcap out.pcap --pcap-at "
		    "switch:receiver\n"
		    "verbline lab --show victim-of-pfc > mine.yaml; verbline lab mine.yaml\n"
		    "verbline lab --switch-config config_db.json",
	.options = options,
	.option_count = sizeof(options) / sizeof(options[0]),
	.takes_eal_options = true,
	.run = lab_main,
};

/* ---- The scenario -------------------------------------------------------------------------- */

static const struct vl_ready_scenario *find_ready(const char *name)
{
	for (unsigned int i = 0; i < vl_ready_scenario_count; i++) {
		if (!strcmp(vl_ready_scenarios[i].name, name))
			return &vl_ready_scenarios[i];
	}
	return NULL;
}

static int list_ready(const struct vl_command *command)
{
	struct vl_problems problems = {0};
	struct vl_scenario *scenario;

	for (unsigned int i = 0; i < vl_ready_scenario_count; i++) {
		scenario = vl_scenario_parse(vl_ready_scenarios[i].text,
					     strlen(vl_ready_scenarios[i].text), NULL, &problems);
		if (!scenario) {
			vl_command_error(command, "the ready scenario %s cannot be read",
					 vl_ready_scenarios[i].name);
			return VL_EXIT_FAILED;
		}
		printf("%s%s\n", scenario->name, i ? "" : " (the default)");
		vl_print_wrapped(stdout, scenario->teaches, 4, 0);
		vl_scenario_free(scenario);
	}
	return VL_EXIT_OK;
}

static int show_ready(const struct vl_command *command, const char *name)
{
	const struct vl_ready_scenario *ready = find_ready(name);

	if (!ready) {
		vl_command_error(command, "no ready scenario is called '%.40s'; --list lists them",
				 name);
		return VL_EXIT_USAGE;
	}
	fputs(ready->text, stdout);
	return VL_EXIT_OK;
}

static int print_keys(void)
{
	const struct vl_cc_description *parameter;

	printf("Keys of a scenario file. Values have units: 100Gb/s, 64KiB, 10us, 5%%. Defaults "
	       "are "
	       "in\nbrackets.\n\n");
	vl_config_describe(&vl_scenario_schema, 0, stdout);
	printf("\nDCQCN parameters (congestion_control.parameters): name, unit, defaults of nvidia "
	       "and\npaper, meaning.\n\n");
	for (unsigned int i = 0; (parameter = vl_dcqcn_describe(i)); i++) {
		printf("  %-30s %-9s %7u %7u  %s\n", parameter->name, parameter->unit,
		       parameter->nvidia, parameter->paper, parameter->meaning);
	}
	printf("\nInfiniBand's (infiniband.congestion_control.parameters): name, unit, default, "
	       "meaning.\n\n");
	for (unsigned int i = 0; (parameter = vl_infiniband_cc_describe(i)); i++)
		printf("  %-30s %-9s %7u  %s\n", parameter->name, parameter->unit, parameter->value,
		       parameter->meaning);
	return VL_EXIT_OK;
}

/* --seed and --duration are overrides like any other; --set comes last and wins. names: of what is
 * no --set the option. */
static bool collect_overrides(const struct lab_options *values, const char *switch_config,
			      struct vl_texts *overrides, const char *names[VL_MAX_TEXTS],
			      char seed[48], char duration[48])
{
	if (switch_config) {
		names[overrides->count] = "--switch-config";
		overrides->values[overrides->count++] = switch_config;
	}
	if (values->seed != UNSET) {
		snprintf(seed, 48, "seed=%llu", (unsigned long long)values->seed);
		names[overrides->count] = "--seed";
		overrides->values[overrides->count++] = seed;
	}
	if (values->duration != UNSET) {
		snprintf(duration, 48, "duration=%lluns", (unsigned long long)values->duration);
		names[overrides->count] = "--duration";
		overrides->values[overrides->count++] = duration;
	}
	for (unsigned int i = 0; i < values->sets.count; i++) {
		if (overrides->count == VL_MAX_TEXTS)
			return false;
		overrides->values[overrides->count++] = values->sets.values[i];
	}
	return true;
}

static struct vl_scenario *load_scenario(const struct vl_command *command,
					 const struct lab_options *values, const char *name)
{
	struct vl_problems *problems = calloc(1, sizeof(*problems));
	struct vl_texts overrides = {0};
	const char *names[VL_MAX_TEXTS] = {NULL};
	struct vl_scenario *scenario = NULL;
	char seed[48], duration[48], error[512], own[PATH_MAX], switch_config[PATH_MAX + 32];
	bool is_made = values->switch_config && !name;
	char *text = NULL;
	size_t length;

	if (values->switch_config && name)
		snprintf(switch_config, sizeof(switch_config), "switch.config_db=%s",
			 vl_scenario_own_path(name, values->switch_config, own));
	if (!problems ||
	    !collect_overrides(values, values->switch_config && name ? switch_config : NULL,
			       &overrides, names, seed, duration)) {
		vl_command_error(command, problems ? "too many --set" : "out of memory");
		free(problems);
		return NULL;
	}
	problems->options = names;
	if (is_made) {
		problems->file = values->switch_config;
		problems->is_without_places = true;
		text = vl_lab_switch_scenario(values->switch_config, error, sizeof(error));
		if (text)
			scenario = vl_scenario_parse(text, strlen(text), &overrides, problems);
		else
			vl_command_error(command, "%s: %s", values->switch_config, error);
		free(text);
	} else {
		problems->file = name ? name : vl_ready_scenarios[0].name;
		text = vl_scenario_source(problems->file, &length, error, sizeof(error));
		if (text)
			scenario = vl_scenario_parse(text, length, &overrides, problems);
		else
			vl_command_error(command, "%s", error);
		free(text);
	}
	if (!scenario && problems->count)
		vl_problems_print(problems, stderr);
	free(problems);
	return scenario;
}

/* ---- The run ------------------------------------------------------------------------------- */

static struct vl_view *open_view(const struct lab_options *values, FILE *out,
				 const struct vl_results *results)
{
	struct vl_view_config config = {.out = out, .style = VL_VIEW_LINES};
	const char *terminal = getenv("TERM");
	struct winsize size = {0};

	if (!values->no_view && isatty(fileno(out)) && terminal && strcmp(terminal, "dumb") &&
	    (ioctl(fileno(out), TIOCGWINSZ, &size) || !size.ws_col || size.ws_col >= MIN_COLUMNS)) {
		config.style = VL_VIEW_SCREEN;
		config.columns = size.ws_col;
		config.rows = size.ws_row;
		if (!values->fast && !values->live)
			config.watch_time = values->view_time;
	}
	return vl_view_create(&config, results);
}

static int run_scenario(const struct vl_command *command, const struct lab_options *values,
			const struct vl_operands *operands, const struct vl_scenario *scenario,
			const struct vl_lab_split *split, struct vl_lab_outputs *outputs)
{
	struct vl_results results;
	char error[512] = "out of memory";
	struct vl_lab_run run = {.scenario = scenario,
				 .results = &results,
				 .capture = outputs->capture,
				 .capture_node = outputs->capture_node,
				 .capture_port = outputs->capture_port,
				 .capture_from = values->pcap_from,
				 .capture_count = values->pcap_count,
				 .split = split,
				 .meeting_time = values->meeting_time,
				 .eal_arguments = operands->eal,
				 .eal_argument_count = operands->eal_count};
	int status = -ENOMEM;

	if (!vl_results_init(&results, scenario)) {
		vl_command_error(command, "%s", error);
		return VL_EXIT_FAILED;
	}
	results.is_live = values->live;
	fprintf(outputs->people, "%s%s%s\n", scenario->name, scenario->teaches ? ": " : "",
		scenario->teaches ? scenario->teaches : "");
	for (unsigned int i = 0; scenario->notes && i < scenario->notes->count; i++)
		fprintf(outputs->people, "note: %s\n", scenario->notes->texts[i]);
	fputc('\n', outputs->people);
	run.view = open_view(values, outputs->people, &results);
	run.interrupted = vl_catch_interrupts();
	if (run.view)
		status = values->live ? vl_lab_run_live(&run, error, sizeof(error))
				      : vl_lab_run_virtual(&run, error, sizeof(error));
	vl_view_destroy(run.view);
	if (status == -EINTR) {
		vl_command_error(command, "interrupted; no results are written");
	} else if (status) {
		vl_command_error(command, "%s", error);
	} else {
		fputc('\n', outputs->people);
		vl_report_tables(&results, outputs->people);
		fputc('\n', outputs->people);
		vl_report_verdict(&results, outputs->people);
		status = fflush(outputs->people) || ferror(outputs->people) ? -EIO : 0;
		if (status)
			snprintf(error, sizeof(error), "the report cannot be printed");
		else
			status = vl_lab_outputs_commit(outputs, &results, error, sizeof(error));
		if (status)
			vl_command_error(command, "%s", error);
		else if (!vl_results_are_good(&results))
			status = -EIO;
	}
	vl_results_release(&results);
	/* More than there can be: of the scenario's making. */
	if (status == -E2BIG)
		return VL_EXIT_USAGE;
	return status ? VL_EXIT_FAILED : VL_EXIT_OK;
}

/* False: something is wrong, and was said. */
static bool make_split(const struct vl_command *command, const struct lab_options *values,
		       const struct vl_scenario *scenario, struct vl_lab_split **split)
{
	char error[512];

	*split = NULL;
	if (!values->nodes.count && !values->ports.count)
		return true;
	if (!values->live)
		vl_command_error(command, "--nodes and --port are for --live");
	else if (!values->nodes.count)
		vl_command_error(command, "--port is for links that leave; --nodes says which "
					  "nodes run here");
	else
		*split = vl_lab_split_make(scenario, &values->nodes, &values->ports, error,
					   sizeof(error));
	if (!*split && values->live && values->nodes.count)
		vl_command_error(command, "%s", error);
	return *split != NULL;
}

static int lab_main(const struct vl_command *command, int argc, char **argv)
{
	struct lab_options values = {.seed = UNSET,
				     .duration = UNSET,
				     .view_time = DEFAULT_WATCH_TIME,
				     .meeting_time = DEFAULT_MEETING_TIME};
	struct vl_lab_split *split;
	struct vl_operands operands;
	struct vl_scenario *scenario;
	struct vl_lab_outputs outputs;
	char error[VL_CAPTURE_MESSAGE_SIZE];
	int status = vl_command_start(command, argc, argv, &values, &operands);

	if (status >= 0)
		return status;
	if (values.list)
		return list_ready(command);
	if (values.show)
		return show_ready(command, values.show);
	if (values.keys)
		return print_keys();
	if (operands.eal && !values.live) {
		vl_command_error(command, "options after -- are for EAL, which only --live starts");
		return VL_EXIT_USAGE;
	}
	scenario = load_scenario(command, &values, operands.count ? operands.values[0] : NULL);
	if (!scenario)
		return VL_EXIT_USAGE;
	if (!make_split(command, &values, scenario, &split)) {
		vl_scenario_free(scenario);
		return VL_EXIT_USAGE;
	}
	status = vl_lab_outputs_open(&outputs,
				     &(struct vl_lab_output_names){
					     .scenario = operands.count ? operands.values[0] : NULL,
					     .json = values.json,
					     .pcap = values.pcap,
					     .pcap_at = values.pcap_at,
					     .histogram = values.histogram,
					     .is_cut = values.pcap_from || values.pcap_count},
				     scenario, error, sizeof(error));
	if (status) {
		vl_command_error(command, "%s", error);
		vl_lab_split_free(split);
		vl_scenario_free(scenario);
		return status == -ENOMEM ? VL_EXIT_FAILED : VL_EXIT_USAGE;
	}
	status = run_scenario(command, &values, &operands, scenario, split, &outputs);
	vl_lab_outputs_abandon(&outputs);
	vl_lab_split_free(split);
	vl_scenario_free(scenario);
	return status;
}
