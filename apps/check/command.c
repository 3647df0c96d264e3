/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* verbline check: judges a switch configuration before a switch sees it. */

#include "apps/check/check.h"
#include "apps/preset/preset.h"
#include "apps/report/json_file.h"

#include <string.h>

struct check_values {
	struct vl_check_options check;
	struct vl_texts roce_dscps;
	const char *json, *explain;
	bool list, presets;
};

static const struct vl_option options[] = {
	{.name = "json",
	 .argument = "FILE",
	 .help = "Write the findings, for programs, to FILE ('-': to standard output)",
	 .type = VL_OPTION_TEXT,
	 .offset = offsetof(struct check_values, json)},
	{.name = "list",
	 .help = "List the rules, and end",
	 .type = VL_OPTION_FLAG,
	 .offset = offsetof(struct check_values, list)},
	{.name = "explain",
	 .argument = "RULE",
	 .help = "Say why a rule matters and how it is worked out, and end",
	 .type = VL_OPTION_TEXT,
	 .offset = offsetof(struct check_values, explain)},
	{.name = "presets",
	 .help = "Print the presets of switches that scenarios may name, each value with its "
		 "source, and end; with --json, as JSON",
	 .type = VL_OPTION_FLAG,
	 .offset = offsetof(struct check_values, presets)},
	{.name = "roce-dscp",
	 .argument = "N",
	 .help = "DSCP of RoCE's data; may be repeated [those of lossless classes]",
	 .type = VL_OPTION_TEXTS,
	 .offset = offsetof(struct check_values, roce_dscps)},
	{.name = "cnp-dscp",
	 .argument = "N",
	 .help = "DSCP of CNPs [48]",
	 .type = VL_OPTION_NUMBER,
	 .offset = offsetof(struct check_values, check.cnp_dscp),
	 .most = 63},
	{.name = "mtu",
	 .argument = "BYTES",
	 .help = "Longest IP packet of all ports, for headroom [PORT's mtu, or 9100]",
	 .type = VL_OPTION_NUMBER,
	 .offset = offsetof(struct check_values, check.mtu),
	 .least = 68,
	 .most = 65535},
	{.name = "lossless-mtu",
	 .argument = "BYTES",
	 .help = "Longest IP packet of lossless traffic, as 4148 for RoCE of 4096 bytes [as the "
		 "ports', or LOSSLESS_TRAFFIC_PATTERN's]",
	 .type = VL_OPTION_NUMBER,
	 .offset = offsetof(struct check_values, check.lossless_mtu),
	 .least = 68,
	 .most = 65535},
	{.name = "cable-length",
	 .argument = "METRES",
	 .help = "Of all ports [CABLE_LENGTH's]",
	 .type = VL_OPTION_NUMBER,
	 .offset = offsetof(struct check_values, check.cable_length),
	 .least = 1,
	 .most = 1000000},
	{.name = "cell-size",
	 .argument = "BYTES",
	 .help = "Of the switch's packet memory, for headroom [memory is counted in bytes]",
	 .type = VL_OPTION_NUMBER,
	 .offset = offsetof(struct check_values, check.cell_size),
	 .least = 32,
	 .most = 4096},
	{.name = "memory",
	 .argument = "SIZE",
	 .help = "The switch's packet memory, as 32MB, to hold the pools to [not checked]",
	 .type = VL_OPTION_QUANTITY,
	 .offset = offsetof(struct check_values, check.memory),
	 .least = 1,
	 .most = UINT64_C(1) << 34,
	 .quantity = VL_QUANTITY_SIZE},
	{.name = "congested",
	 .argument = "N",
	 .help = "Ports congested at once up to which ECN is to mark before PFC pauses [4]",
	 .type = VL_OPTION_NUMBER,
	 .offset = offsetof(struct check_values, check.congested),
	 .least = 1,
	 .most = 4096},
};

static int check_main(const struct vl_command *command, int argc, char **argv);

const struct vl_command vl_check_command = {
	.name = "check",
	.operands = "[CONFIG_DB.json]",
	.most_operands = 1,
	.summary = "judge a SONiC configuration for RoCE before a switch sees it",
	.description =
		"Reads a switch's configuration (/etc/sonic/config_db.json, or part of it) and "
		"says "
		"what would drop, pause or starve RoCE: headroom, ECN against PFC, classes and "
		"their maps, pools, schedulers, watchdog, references. Each finding has its place "
		"in "
		"the file, the arithmetic, and what would be right; what holds for many ports is "
		"said once. The file may be partial: what is missing is judged as the switch would "
		"have it. '-' is the standard input.\n\n"
		"Exit status 0: no error and no warning; 1: some; 2: the file cannot be read.",
	.examples = "verbline check config_db.json\n"
		    "verbline check config_db.json --roce-dscp 26 --cnp-dscp 48 --memory 32MB\n"
		    "verbline check config_db.json --cable-length 100 --json findings.json\n"
		    "verbline check --explain ecn-near-pfc",
	.options = options,
	.option_count = sizeof(options) / sizeof(options[0]),
	.run = check_main,
};

static int list_rules(void)
{
	for (unsigned int i = 0; i < VL_CHECK_RULE_COUNT; i++) {
		const struct vl_check_description *rule = vl_check_describe(i);

		printf("%-18s %-8s %s\n", rule->name, vl_check_severity_name(rule->severity),
		       rule->summary);
	}
	return VL_EXIT_OK;
}

static int explain_rule(const struct vl_command *command, const char *name)
{
	const char *names[VL_CHECK_RULE_COUNT + 1], *nearest;

	for (unsigned int i = 0; i < VL_CHECK_RULE_COUNT; i++) {
		const struct vl_check_description *rule = vl_check_describe(i);

		names[i] = rule->name;
		if (strcmp(rule->name, name))
			continue;
		printf("%s (%s): %s\n\n", rule->name, vl_check_severity_name(rule->severity),
		       rule->summary);
		vl_print_wrapped(stdout, vl_check_explain(i), 0, 0);
		return VL_EXIT_OK;
	}
	names[VL_CHECK_RULE_COUNT] = NULL;
	nearest = vl_nearest(name, names);
	vl_command_error(command, "no rule is called '%.40s'; %s%s", name,
			 nearest ? "did you mean " : "--list lists them", nearest ? nearest : "");
	return VL_EXIT_USAGE;
}

static int print_presets(const struct vl_command *command, const char *json)
{
	char error[512];

	if (!json || strcmp(json, "-"))
		vl_presets_print(NULL, stdout);
	if (!json || !vl_json_file_write(vl_presets_json(), json, error, sizeof(error)))
		return VL_EXIT_OK;
	vl_command_error(command, "%s", error);
	return VL_EXIT_USAGE;
}

static bool read_dscps(const struct vl_command *command, struct check_values *values)
{
	char error[256];
	uint64_t dscp;

	for (unsigned int i = 0; i < values->roce_dscps.count; i++) {
		if (vl_quantity_parse(VL_QUANTITY_COUNT, values->roce_dscps.values[i], 0, 63, &dscp,
				      error, sizeof(error))) {
			vl_command_error(command, "--roce-dscp %.40s: %s",
					 values->roce_dscps.values[i], error);
			return false;
		}
		values->check.roce_dscps |= UINT64_C(1) << dscp;
	}
	return true;
}

static int write_json(const struct vl_command *command, const struct vl_config_db *db,
		      const struct vl_check_findings *findings, const char *file,
		      struct vl_output *output)
{
	char error[512];

	if (!vl_json_file_commit(vl_check_json(db, findings, file), output, error, sizeof(error)))
		return VL_EXIT_OK;
	vl_command_error(command, "%s", error);
	return VL_EXIT_FAILED;
}

/* The place of the JSON is tried first; tables give way to it on the standard output. */
static int judge(const struct vl_command *command, const struct check_values *values,
		 const char *file, struct vl_config_db *db)
{
	struct vl_output output = {0};
	struct vl_check_findings findings;
	int status = VL_EXIT_OK;
	char error[512];
	bool is_to_stdout = values->json && !strcmp(values->json, "-");

	if (values->json && vl_output_open(&output, values->json, error, sizeof(error))) {
		vl_command_error(command, "%s", error);
		return VL_EXIT_USAGE;
	}
	if (vl_check_run(db, &values->check, &findings)) {
		vl_command_error(command, "%s: out of memory", file);
		vl_output_abandon(&output);
		return VL_EXIT_FAILED;
	}
	if (!is_to_stdout)
		vl_check_print(&findings, file, stdout);
	if (values->json)
		status = write_json(command, db, &findings, file, &output);
	if (status)
		return status;
	return findings.counts[VL_CHECK_ERROR] || findings.counts[VL_CHECK_WARNING] ? VL_EXIT_FAILED
										    : VL_EXIT_OK;
}

static int check_main(const struct vl_command *command, int argc, char **argv)
{
	struct check_values values = {.check = vl_check_defaults};
	struct vl_operands operands;
	int status = vl_command_start(command, argc, argv, &values, &operands);
	struct vl_config_db *db;
	char error[512];
	const char *file;

	if (status >= 0)
		return status;
	if (values.list)
		return list_rules();
	if (values.explain)
		return explain_rule(command, values.explain);
	if (values.presets)
		return print_presets(command, values.json);
	if (!operands.count) {
		vl_command_error(command, "which file? /etc/sonic/config_db.json of a switch, or "
					  "one written by hand");
		return VL_EXIT_USAGE;
	}
	file = operands.values[0];
	if (values.json && vl_output_is_same(values.json, file)) {
		vl_command_error(command, "--json %s would overwrite the configuration",
				 values.json);
		return VL_EXIT_USAGE;
	}
	if (!read_dscps(command, &values))
		return VL_EXIT_USAGE;
	db = vl_config_db_read(file, error, sizeof(error));
	if (!db) {
		vl_command_error(command, "%s: %s", file, error);
		return VL_EXIT_USAGE;
	}
	status = judge(command, &values, file, db);
	vl_config_db_free(db);
	return status;
}
