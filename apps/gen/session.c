/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/gen/session.h"

#include "apps/gen/loopback.h"
#include "apps/gen/report.h"
#include "apps/gen/run.h"
#include "apps/host/chance.h"
#include "apps/host/session.h"
#include "apps/report/json_file.h"
#include "dataplane/runtime/constant_stage.h"
#include "dataplane/runtime/stream_stage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_DSCP      26
#define DEFAULT_LINK_RATE UINT64_C(100000000000)
/* Of a device, besides the queue pairs that are asked for: those of control connections. */
#define SPARE_QPS            256u
#define LEAST_MAX_QP         16384u
#define LONGEST_STREAM_FRAME 9618u

int gen_open_files(const struct vl_command *command, const struct gen_options *values,
		   const char *file, struct gen_files *files)
{
	const char *paths[] = {values->host.json, values->hgrm, values->pacing_hgrm};
	struct vl_output *outputs[] = {&files->json, &files->hgrm, &files->pacing};
	char error[512];

	if (vl_host_check_input(&values->host, file, error, sizeof(error)) ||
	    vl_host_check_input(&values->host, values->fault.events, error, sizeof(error))) {
		vl_command_error(command, "%s", error);
		return VL_EXIT_USAGE;
	}
	for (unsigned int i = 0; i < 3; i++) {
		for (unsigned int n = 0; n < i; n++) {
			if (paths[i] && vl_output_is_same(paths[i], paths[n])) {
				vl_command_error(command, "%s is to be written twice", paths[i]);
				return VL_EXIT_USAGE;
			}
		}
		if (paths[i] && vl_output_open(outputs[i], paths[i], error, sizeof(error))) {
			vl_command_error(command, "%s", error);
			return VL_EXIT_USAGE;
		}
	}
	return VL_EXIT_OK;
}

void gen_abandon_files(struct gen_files *files)
{
	vl_output_abandon(&files->json);
	vl_output_abandon(&files->hgrm);
	vl_output_abandon(&files->pacing);
}

static int write_histogram(struct vl_output *output, const struct gen_run *run,
			   const struct gen_group_result *groups, bool is_pacing, char *error,
			   size_t error_size)
{
	struct vl_histogram *all;

	if (!output->file)
		return 0;
	all = calloc(1, sizeof(*all));
	if (!all) {
		snprintf(error, error_size, "out of memory");
		return -ENOMEM;
	}
	for (unsigned int i = 0; i < run->config->groups.count; i++)
		vl_histogram_add(all, is_pacing ? &groups[i].pacing : &groups[i].completion);
	vl_histogram_write(all, 1000, output->file);
	free(all);
	return vl_output_commit(output, error, error_size);
}

/* Prints and writes what was found. An exit status. */
static json_t *results_json(const struct gen_run *run, const struct gen_group_result *groups,
			    const struct gen_check *checks, unsigned int check_count,
			    struct vl_faults *faults)
{
	json_t *json = gen_report_json(run, groups, checks, check_count);

	if (json && faults)
		json_object_set_new(json, "faults", vl_faults_json(faults));
	return json;
}

static int report(const struct gen_options *values, const struct gen_run *run,
		  struct gen_files *files, struct vl_faults *faults)
{
	struct gen_group_result *groups = gen_group_results(run);
	struct gen_check checks[GEN_MAX_CHECKS];
	unsigned int check_count;
	char error[512] = "out of memory";
	bool all_passed = true;
	int status = groups ? 0 : -ENOMEM;

	if (groups) {
		check_count = gen_checks(run, groups, checks);
		for (unsigned int i = 0; i < check_count; i++)
			all_passed = all_passed && checks[i].passed;
		if (values->perftest)
			gen_report_perftest(run, groups, values->latency, run->out);
		else
			gen_report_tables(run, groups, values->each_qp, run->out);
		if (!values->no_checks)
			gen_report_checks(checks, check_count, run->out);
		vl_faults_print(faults, run->out);
		status = write_histogram(&files->hgrm, run, groups, false, error, sizeof(error));
		if (!status)
			status = write_histogram(&files->pacing, run, groups, true, error,
						 sizeof(error));
		if (!status && files->json.file)
			status = vl_json_file_commit(
				results_json(run, groups, checks, check_count, faults),
				&files->json, error, sizeof(error));
	}
	free(groups);
	if (status)
		vl_command_error(run->command, "%s", error);
	if (vl_faults_has_failed(faults))
		status = -EIO;
	return status || (!all_passed && !values->no_checks) ? VL_EXIT_FAILED : VL_EXIT_OK;
}

static struct gen_given given_of(const struct gen_options *values)
{
	return (struct gen_given){
		.remote_qpn = values->remote_qpn == GEN_UNSET ? 0 : (uint32_t)values->remote_qpn,
		.remote_psn = (uint32_t)values->remote_psn,
		.remote_qkey = (uint32_t)values->remote_qkey,
		.remote_address = values->remote_address == GEN_UNSET ? 0 : values->remote_address,
		.rkey = values->rkey == GEN_UNSET ? 0 : (uint32_t)values->rkey,
		.has_memory = values->remote_address != GEN_UNSET && values->rkey != GEN_UNSET,
		.local_qpn = values->local_qpn == GEN_UNSET ? 0 : (uint32_t)values->local_qpn,
		.local_psn = values->local_psn == GEN_UNSET ? 0 : (uint32_t)values->local_psn,
		.has_local_psn = values->local_psn != GEN_UNSET,
	};
}

/* What messages carry is sent without being read; of short ones a copy is as cheap. */
static int set_constant(const struct gen_run *run, const struct gen_application *application)
{
	const struct vl_traffic_memory *memory = vl_generator_memory(application->generator);
	struct vl_error error;

	if (vl_traffic_pattern_length(memory) < VL_TRAFFIC_PATTERN_PERIOD ||
	    !vl_host_set_constant(run->session->host, application->config.port,
				  application->config.worker, memory->memory,
				  vl_traffic_pattern_length(memory), VL_TRAFFIC_PATTERN_PERIOD, 0,
				  &error))
		return VL_EXIT_OK;
	vl_command_error(run->command, "%s", error.text);
	return VL_EXIT_FAILED;
}

static int open_applications(struct gen_run *run, const struct gen_options *values)
{
	struct vl_host *host = run->session->host;
	uint64_t now = vl_host_now(host), link_rate;

	for (uint32_t i = 0; i < run->application_count; i++) {
		uint32_t port = i / run->session->worker_count;
		uint32_t worker = i % run->session->worker_count;
		struct gen_application_config config = {
			.config = run->config,
			.streams = &run->streams[i],
			.given = given_of(values),
			.endpoint = vl_host_endpoint(host, port, worker),
			.port = port,
			.worker = worker,
			.worker_count = run->session->worker_count,
			.path_mtu = vl_host_path_mtu(host, port),
			.dscp = values->host.dscp == VL_HOST_UNSET ? DEFAULT_DSCP
								   : (uint8_t)values->host.dscp,
			.pcp = (uint8_t)values->host.pcp,
			.has_vlan = values->host.vlan != VL_HOST_UNSET,
			.seed = values->host.seed,
			.cm_seed = vl_host_secret_seed(),
		};

		if (gen_streams_open(&run->streams[i], run->session, run->config, &values->host,
				     port, worker))
			return VL_EXIT_FAILED;
		link_rate = vl_host_port(host, port)->link_rate;
		config.link_rate = link_rate ? link_rate : DEFAULT_LINK_RATE;
		if (gen_application_open(&run->applications[i], &config, now)) {
			vl_command_error(run->command, "port %u, worker %u: %s", port, worker,
					 run->applications[i].error);
			return VL_EXIT_FAILED;
		}
		if (run->config->groups.count && set_constant(run, &run->applications[i]))
			return VL_EXIT_FAILED;
		run->share_count += run->applications[i].share_count;
	}
	run->shares = calloc(run->share_count + 1, sizeof(*run->shares));
	if (!run->shares)
		return VL_EXIT_FAILED;
	for (uint32_t i = 0, at = 0; i < run->application_count; i++) {
		for (uint32_t n = 0; n < run->applications[i].share_count; n++)
			run->shares[at++].share = run->applications[i].shares[n];
	}
	return VL_EXIT_OK;
}

/* What the peer must be told, where nobody else tells it. */
static void print_own_numbers(const struct gen_run *run)
{
	struct vl_queue_pair_address own;

	for (uint32_t i = 0; i < run->share_count; i++) {
		const struct gen_share *share = run->shares[i].share;

		vl_generate_group_local(share->qps, 0, &own);
		fprintf(run->out,
			"Here: queue pairs %u to %u: QPN 0x%x and on, PSN %u, Q_Key 0x%x, memory "
			"at 0x%llx, %llu bytes, rkey 0x%x\n",
			share->first, share->first + share->count - 1, own.qpn, own.psn, own.qkey,
			(unsigned long long)own.address, (unsigned long long)own.length, own.rkey);
	}
	fflush(run->out);
}

static int check_ports(struct gen_run *run)
{
	const struct gen_group *groups = run->config->groups.elements;
	const struct gen_stream_config *streams = run->config->streams.elements;

	for (unsigned int i = 0; i < run->config->streams.count; i++) {
		if (streams[i].port < run->session->port_count)
			continue;
		vl_command_error(run->command,
				 "stream %s leaves by port %llu, but there is no such --port; they "
				 "are counted from 0",
				 streams[i].name, (unsigned long long)streams[i].port);
		return VL_EXIT_USAGE;
	}
	for (unsigned int i = 0; i < run->config->groups.count; i++) {
		if (groups[i].port < run->session->port_count)
			continue;
		vl_command_error(run->command,
				 "group %s leaves by port %llu, but there is no such "
				 "--port; they are counted from 0",
				 groups[i].name, (unsigned long long)groups[i].port);
		return VL_EXIT_USAGE;
	}
	return VL_EXIT_OK;
}

static int run_on_host(struct gen_run *run, const struct gen_options *values,
		       struct gen_files *files, struct vl_faults *faults)
{
	struct vl_error error;
	uint32_t workers = run->session->worker_count;
	/* With a peer in the process, the second port is the peer's. */
	uint32_t ports = values->loopback ? 1 : run->session->port_count;
	struct gen_loopback *loopbacks = calloc(workers, sizeof(*loopbacks));
	int status = check_ports(run), outcome;
	uint64_t now;

	run->application_count = ports * workers;
	run->applications = calloc(run->application_count, sizeof(*run->applications));
	run->endpoints = calloc(run->application_count, sizeof(*run->endpoints));
	run->streams = calloc(run->application_count, sizeof(*run->streams));
	if (!run->streams || !loopbacks || !run->applications || !run->endpoints) {
		vl_command_error(run->command, "out of memory");
		status = VL_EXIT_FAILED;
	}
	for (uint32_t i = 0; !status && values->loopback && i < workers; i++) {
		if (gen_loopback_open(&loopbacks[i], vl_host_endpoint(run->session->host, 1, i),
				      (uint8_t)i, vl_host_now(run->session->host))) {
			vl_command_error(run->command, "the peer cannot be made: out of memory");
			status = VL_EXIT_FAILED;
		}
	}
	if (!status && vl_faults_attach_host(faults, run->session->host, ports, workers, &error)) {
		vl_command_error(run->command, "%s", error.text);
		status = VL_EXIT_FAILED;
	}
	if (!status)
		status = gen_streams_resolve(run->session, run->config);
	if (!status)
		status = open_applications(run, values);
	if (!status && run->config->peer == GEN_PEER_GIVEN && !values->perftest)
		print_own_numbers(run);
	if (!status) {
		status = gen_run(run);
		if (run->started) {
			outcome = report(values, run, files, faults);
			status = status ? status : outcome;
		}
	}
	now = vl_host_now(run->session->host);
	for (uint32_t i = 0; run->applications && i < run->application_count; i++)
		gen_application_close(&run->applications[i], now);
	for (uint32_t i = 0; loopbacks && i < workers; i++)
		gen_loopback_close(&loopbacks[i], now);
	free(loopbacks);
	free(run->applications);
	free(run->endpoints);
	free(run->shares);
	return status;
}

int gen_session(const struct vl_command *command, const struct gen_options *values,
		const struct vl_operands *operands, struct gen_config *config,
		struct gen_files *files)
{
	struct vl_host_session_config session_config = {0};
	struct vl_host_session session;
	const char *terminal = getenv("TERM");
	bool json_to_stdout = values->host.json && !strcmp(values->host.json, "-");
	struct gen_run run = {.command = command,
			      .session = &session,
			      .config = config,
			      .out = json_to_stdout ? stderr : stdout};
	struct gen_group *groups = config->groups.elements;
	struct vl_faults *faults;
	int status = vl_faults_create(command, &values->fault, values->host.seed, &faults), closed;

	if (status >= 0)
		return status;
	/* A peer that is given may be a multicast group. */
	if (config->to && config->groups.count && config->peer != GEN_PEER_GIVEN)
		session_config.peer = &config->destination;
	if (config->peer_port && config->peer == GEN_PEER_CONTROL)
		vl_faults_set_control_port(faults, (uint16_t)config->peer_port);
	vl_faults_configure(faults, &session_config.device);
	for (unsigned int i = 0; i < config->groups.count; i++)
		vl_faults_configure_cc(faults, &groups[i].cc.resolved);
	run.is_terminal = isatty(fileno(run.out)) && terminal && strcmp(terminal, "dumb");
	session_config.more_megabytes = (uint32_t)values->host.workers *
					(uint32_t)values->host.ports.count *
					vl_constant_stage_megabytes(0);
	if (config->streams.count)
		session_config.more_megabytes +=
			vl_stream_stage_megabytes(config->streams.count, 0, LONGEST_STREAM_FRAME);
	session_config.device.max_qp = config->qp_count + SPARE_QPS;
	if (session_config.device.max_qp < LEAST_MAX_QP)
		session_config.device.max_qp = LEAST_MAX_QP;
	status = vl_host_session_open(&session, command, &values->host, operands, &session_config);
	if (status) {
		vl_faults_destroy(faults);
		return status;
	}
	status = run_on_host(&run, values, files, faults);
	closed = vl_host_session_close(&session);
	for (uint32_t i = 0; run.streams && i < run.application_count; i++)
		gen_streams_close(&run.streams[i]);
	free(run.streams);
	vl_faults_destroy(faults);
	return status ? status : closed;
}
