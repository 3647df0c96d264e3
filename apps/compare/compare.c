/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/compare/compare.h"

#include "apps/compare/findings.h"
#include "apps/compare/jobs.h"
#include "apps/compare/report.h"
#include "apps/compare/run.h"
#include "apps/interrupt.h"
#include "apps/report/json_file.h"
#include "apps/report/output.h"
#include "apps/scenario/source.h"

#include <errno.h>
#include <string.h>

#define UNSET        UINT64_MAX
#define DEFAULT_NAME "training-beside-storage"
#define MEBIBYTE     (UINT64_C(1) << 20)

struct compare_options {
	struct vl_texts fabrics, vary, sweep, sets;
	uint64_t seed, duration, repeat, jobs, memory;
	const char *json, *csv, *html;
	bool plan_only;
};

#define TEXT(key, argument_name, member, text)                                                     \
	{                                                                                          \
		.name = key, .argument = argument_name, .help = text, .type = VL_OPTION_TEXT,      \
		.offset = offsetof(struct compare_options, member)                                 \
	}
#define TEXTS(key, argument_name, member, text)                                                    \
	{                                                                                          \
		.name = key, .argument = argument_name, .help = text, .type = VL_OPTION_TEXTS,     \
		.offset = offsetof(struct compare_options, member)                                 \
	}

static const struct vl_option options[] = {
	TEXTS("fabric", "NAME,...", fabrics,
	      "What to run it over: infiniband, infiniband_congestion_control, pfc, dcqcn, "
	      "pfc_dcqcn, lossy, as_configured [the scenario's, or all but the last]; may be "
	      "repeated"),
	TEXTS("vary", "PATH=V1,V2,...", vary,
	      "Run it with each of these values of a key of the scenario, as variants of their "
	      "own; may be repeated"),
	TEXTS("sweep", "PATH=V1,V2,...", sweep,
	      "Run it with all combinations of the values of up to four --sweep; two make a heat "
	      "map"),
	TEXTS("set", "KEY=VALUE", sets,
	      "Override a value of the scenario in all runs, as with verbline lab; may be "
	      "repeated"),
	{.name = "seed",
	 .argument = "N",
	 .help = "First seed of all random numbers, instead of the scenario's",
	 .type = VL_OPTION_NUMBER,
	 .offset = offsetof(struct compare_options, seed),
	 .most = INT64_MAX - 1000},
	{.name = "repeat",
	 .argument = "N",
	 .help = "Run everything with so many seeds that follow each other [the scenario's, or 1]",
	 .type = VL_OPTION_NUMBER,
	 .offset = offsetof(struct compare_options, repeat),
	 .least = 1,
	 .most = 100},
	{.letter = 'D',
	 .name = "duration",
	 .argument = "TIME",
	 .help = "Length of each run (as 50ms), instead of the scenario's",
	 .type = VL_OPTION_QUANTITY,
	 .offset = offsetof(struct compare_options, duration),
	 .least = 10000,
	 .most = UINT64_C(3600000000000),
	 .quantity = VL_QUANTITY_DURATION},
	{.letter = 'j',
	 .name = "jobs",
	 .argument = "N",
	 .help = "Runs at a time [one for each processor]; results do not depend on it",
	 .type = VL_OPTION_NUMBER,
	 .offset = offsetof(struct compare_options, jobs),
	 .least = 1,
	 .most = 256},
	{.name = "memory",
	 .argument = "SIZE",
	 .help = "Memory that each run may have [what is available, divided by the runs at a "
		 "time]; one that needs more fails alone",
	 .type = VL_OPTION_QUANTITY,
	 .offset = offsetof(struct compare_options, memory),
	 .least = 16 * MEBIBYTE,
	 .most = UINT64_C(1) << 50,
	 .quantity = VL_QUANTITY_SIZE},
	TEXT("html", "FILE", html,
	     "Write a report to look at and to hand on: one page, complete "
	     "in itself"),
	TEXT("json", "FILE", json, "Write all results and time series as JSON"),
	TEXT("csv", "FILE", csv,
	     "Write a row for each run and for each of its flows, workloads and links"),
	{.name = "plan",
	 .help = "Print what would be run, as commands, and run nothing",
	 .type = VL_OPTION_FLAG,
	 .offset = offsetof(struct compare_options, plan_only)},
};

static int compare_main(const struct vl_command *command, int argc, char **argv);

const struct vl_command vl_compare_command = {
	.name = "compare",
	.operands = "[SCENARIO]",
	.most_operands = 1,
	.summary = "run one workload over InfiniBand, PFC, DCQCN and more, side by side",
	.description =
		"Runs a scenario of 'verbline lab' over several fabrics and with several settings "
		"in virtual time, on all processors, and sets the results side by side: a table "
		"and what it says in plain sentences, and with --html a report of one page.\n\n"
		"SCENARIO is a YAML file or the name of a ready one; without it, " DEFAULT_NAME
		" runs. Its key compare may name fabrics, variants and sweeps ('verbline lab "
		"--keys'); options come first. Each run is a process of its own: one that fails "
		"does not take the others with it, and what was done until an interrupt is "
		"reported as partial. The same scenario and seed give the same results, whatever "
		"--jobs.",
	.examples = "verbline compare --html report.html\n"
		    "verbline compare mine.yaml --fabric pfc,dcqcn,pfc_dcqcn --csv out.csv\n"
		    "verbline compare incast-dcqcn --fabric dcqcn --sweep "
		    "switches[switch].ecn.kmin=50KB,100KB,200KB --sweep "
		    "switches[switch].ecn.kmax=400KB,800KB --html kmin-kmax.html",
	.options = options,
	.option_count = sizeof(options) / sizeof(options[0]),
	.run = compare_main,
};

/* ---- Outputs -------------------------------------------------------------------------------- */

struct outputs {
	struct vl_output json, csv, html;
	FILE *people; /* where the table goes: not into the standard output if a file goes there */
};

static void abandon(struct outputs *outputs)
{
	vl_output_abandon(&outputs->json);
	vl_output_abandon(&outputs->csv);
	vl_output_abandon(&outputs->html);
}

static int open_outputs(struct outputs *outputs, const struct compare_options *values,
			const char *source, char *error, size_t error_size)
{
	const char *names[] = {values->json, values->csv, values->html, source};
	struct vl_output *files[] = {&outputs->json, &outputs->csv, &outputs->html};
	int status = vl_output_check_names(names, 4, error, error_size);

	*outputs = (struct outputs){.people = stdout};
	for (unsigned int i = 0; !status && i < 3; i++) {
		if (!names[i])
			continue;
		if (!strcmp(names[i], "-"))
			outputs->people = stderr;
		status = vl_output_open(files[i], names[i], error, error_size);
	}
	if (status)
		abandon(outputs);
	return status;
}

static int commit_outputs(struct outputs *outputs, const struct vl_comparison *comparison,
			  char *error, size_t error_size)
{
	int status = 0;

	if (outputs->json.file)
		status = vl_json_file_commit(vl_compare_json(comparison), &outputs->json, error,
					     error_size);
	if (!status && outputs->csv.file) {
		vl_compare_csv(comparison, outputs->csv.file);
		status = vl_output_commit(&outputs->csv, error, error_size);
	}
	if (!status && outputs->html.file) {
		vl_compare_page(comparison, outputs->html.file);
		status = vl_output_commit(&outputs->html, error, error_size);
	}
	return status;
}

/* ---- The comparison ------------------------------------------------------------------------- */

static void print_plan(const struct vl_plan *plan)
{
	char label[VL_PLAN_LABEL];

	printf("# %u run%s\n", plan->point_count * plan->repeat,
	       plan->point_count * plan->repeat == 1 ? "" : "s");
	for (unsigned int i = 0; i < plan->point_count; i++) {
		printf("# %s\n", vl_plan_point_label(plan, i, label));
		vl_plan_print_command(plan, i, stdout);
		putchar('\n');
	}
}

static void print_findings(const struct vl_comparison *comparison, FILE *out)
{
	struct vl_findings findings;

	vl_findings_make(comparison, &findings);
	fprintf(out, "\nWhat the numbers say\n");
	for (unsigned int i = 0; i < findings.says_count; i++) {
		fprintf(out, "- ");
		vl_print_wrapped(out, findings.says[i], 2, 2);
	}
	fprintf(out, "\nWhat they do not say\n");
	for (unsigned int i = 0; i < findings.limits_count; i++) {
		fprintf(out, "- ");
		vl_print_wrapped(out, findings.limits[i], 2, 2);
	}
	vl_findings_release(&findings);
}

static void print_failures(const struct vl_comparison *comparison, FILE *out)
{
	const struct vl_plan *plan = comparison->plan;
	char label[VL_PLAN_LABEL];
	const struct vl_run *run;

	for (unsigned int i = 0; i < plan->point_count * plan->repeat; i++) {
		run = &comparison->runs[i];
		if (run->state == VL_RUN_FAILED)
			fprintf(out, "FAILED %s, seed %llu: %s\n",
				vl_plan_point_label(plan, i / plan->repeat, label),
				(unsigned long long)(plan->base->seed + i % plan->repeat),
				run->problem ? run->problem : "out of memory");
	}
}

static void print_report(const struct vl_comparison *comparison, FILE *out)
{
	const struct vl_plan *plan = comparison->plan;

	fprintf(out, "%s%s%s\n\n", plan->base->name, plan->base->teaches ? ": " : "",
		plan->base->teaches ? plan->base->teaches : "");
	vl_compare_table(comparison, out);
	print_failures(comparison, out);
	print_findings(comparison, out);
	if (comparison->is_interrupted)
		fprintf(out, "\nPARTIAL: interrupted after %u of %u runs.\n",
			vl_comparison_count(comparison, VL_RUN_DONE) +
				vl_comparison_count(comparison, VL_RUN_FAILED),
			plan->point_count * plan->repeat);
}

static unsigned int choose_processes(const struct compare_options *values,
				     const struct vl_plan *plan)
{
	unsigned int processes = values->jobs ? (unsigned int)values->jobs : vl_jobs_processors();
	unsigned int runs = plan->point_count * plan->repeat;

	return processes < runs ? processes : runs;
}

static int run_plan(const struct vl_command *command, const struct compare_options *values,
		    const struct vl_plan *plan, struct outputs *outputs)
{
	struct vl_comparison *comparison = vl_comparison_create(plan);
	struct vl_compare_run_config config = {.processes = choose_processes(values, plan),
					       .progress = stderr};
	char error[512] = "out of memory";
	int status = -ENOMEM, written;
	bool is_good = false;

	config.memory =
		values->memory ? values->memory : vl_jobs_available_memory() / config.processes;
	config.interrupted = vl_catch_interrupts();
	if (comparison)
		status = vl_compare_run(comparison, &config, error, sizeof(error));
	if (!status || status == -EINTR) {
		is_good = vl_comparison_is_good(comparison);
		print_report(comparison, outputs->people);
		written = fflush(outputs->people) || ferror(outputs->people) ? -EIO : 0;
		if (written)
			snprintf(error, sizeof(error), "the report cannot be printed");
		else
			written = commit_outputs(outputs, comparison, error, sizeof(error));
		status = written;
	}
	if (status)
		vl_command_error(command, "%s", error);
	vl_comparison_destroy(comparison);
	return status || !is_good ? VL_EXIT_FAILED : VL_EXIT_OK;
}

static int run_source(const struct vl_command *command, const struct compare_options *values,
		      const char *source, const char *text, size_t length)
{
	const struct vl_plan_options plan_options = {.source = source,
						     .sets = &values->sets,
						     .fabrics = &values->fabrics,
						     .vary = &values->vary,
						     .sweep = &values->sweep,
						     .seed = values->seed,
						     .duration = values->duration,
						     .repeat = values->repeat};
	char error[512];
	struct vl_plan *plan =
		vl_plan_create(text, length, &plan_options, stderr, error, sizeof(error));
	struct outputs outputs;
	int status;

	if (!plan) {
		vl_command_error(command, "%s", error);
		return VL_EXIT_USAGE;
	}
	if (values->plan_only) {
		print_plan(plan);
		vl_plan_destroy(plan);
		return VL_EXIT_OK;
	}
	status = open_outputs(&outputs, values, source, error, sizeof(error));
	if (status) {
		vl_command_error(command, "%s", error);
		vl_plan_destroy(plan);
		return status == -ENOMEM ? VL_EXIT_FAILED : VL_EXIT_USAGE;
	}
	status = run_plan(command, values, plan, &outputs);
	abandon(&outputs);
	vl_plan_destroy(plan);
	return status;
}

static int compare_main(const struct vl_command *command, int argc, char **argv)
{
	struct compare_options values = {.seed = UNSET, .duration = UNSET};
	struct vl_operands operands;
	const char *source = DEFAULT_NAME;
	char error[512], *text;
	size_t length;
	int status = vl_command_start(command, argc, argv, &values, &operands);

	if (status >= 0)
		return status;
	if (operands.count)
		source = operands.values[0];
	text = vl_scenario_source(source, &length, error, sizeof(error));
	if (!text) {
		vl_command_error(command, "%s", error);
		return VL_EXIT_USAGE;
	}
	status = run_source(command, &values, source, text, length);
	free(text);
	return status;
}
