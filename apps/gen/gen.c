/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/gen/gen.h"

#include "apps/fault/fault.h"
#include "apps/gen/loopback.h"
#include "apps/gen/report.h"
#include "apps/gen/run.h"
#include "apps/host/options.h"
#include "apps/host/session.h"
#include "apps/report/config.h"
#include "apps/report/output.h"
#include "dataplane/runtime/constant_stage.h"
#include "dataplane/runtime/stream_stage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UNSET             UINT64_MAX
#define DEFAULT_DSCP      26
#define DEFAULT_LINK_RATE UINT64_C(100000000000)
/* Of a device, besides the queue pairs that are asked for: those of control connections. */
#define SPARE_QPS            256u
#define LEAST_MAX_QP         16384u
#define LONGEST_STREAM_FRAME 9618u

#define LOOPBACK_PORT "ring:verbline-gen"
#define LOOPBACK_HERE "192.0.2.1/24@0"
#define LOOPBACK_PEER "192.0.2.2"

struct gen_options {
	struct vl_host_options host;
	struct vl_fault_options fault;
	/* Of the file, in its words; NULL: not given. */
	const char *to, *qps, *size, *messages, *duration, *depth, *verb, *mix, *transport, *rate;
	const char *per, *counts, *burst, *ramp, *stagger, *ecn, *timeout, *cc, *cc_profile;
	const char *udp_source_port, *udp_source_ports, *warm_up, *peer_port;
	struct vl_texts sets;
	bool cm;
	uint64_t remote_qpn, remote_psn, remote_qkey, remote_address, rkey, local_qpn, local_psn;
	bool loopback, show, keys, perftest, latency, each_qp, no_checks;
	const char *hgrm, *pacing_hgrm;
};

#define OPTIONAL_TEXT(short_name, key, argument_name, member, text)                                \
	{                                                                                          \
		.letter = short_name, .name = key, .argument = argument_name, .help = text,        \
		.type = VL_OPTION_TEXT, .offset = offsetof(struct gen_options, member)             \
	}
#define FLAG(short_name, key, member, text)                                                        \
	{                                                                                          \
		.letter = short_name, .name = key, .help = text, .type = VL_OPTION_FLAG,           \
		.offset = offsetof(struct gen_options, member)                                     \
	}
#define NUMBER(key, member, low, high, text)                                                       \
	{                                                                                          \
		.name = key, .argument = "N", .help = text, .type = VL_OPTION_NUMBER,              \
		.offset = offsetof(struct gen_options, member), .least = low, .most = high         \
	}

static const struct vl_option options[] = {
	OPTIONAL_TEXT(0, "to", "ADDRESS", to, "The peer, IPv4 or IPv6"),
	OPTIONAL_TEXT('q', "qps", "N", qps, "Queue pairs [1]"),
	OPTIONAL_TEXT('s', "size", "SIZE", size,
		      "Of messages: one (64KiB), a range (64..4KiB), or a list by weight "
		      "(64*9,1MiB*1) [64KiB]"),
	OPTIONAL_TEXT('n', "messages", "N", messages,
		      "Messages of each queue pair [until the end]"),
	OPTIONAL_TEXT('D', "duration", "TIME", duration,
		      "Of the run, in seconds or with a unit [10s; with -n until they are done]"),
	OPTIONAL_TEXT(0, "warm-up", "TIME", warm_up, "Left out of the results [0]"),
	OPTIONAL_TEXT('t', "depth", "N", depth, "Outstanding messages of a queue pair [16]"),
	OPTIONAL_TEXT(0, "verb", "VERB", verb,
		      "send, send_imm, write, write_imm, read, compare_swap or fetch_add [write]; "
		      "those with _imm carry the time to the peer: one-way latency"),
	OPTIONAL_TEXT(0, "mix", "LIST", mix,
		      "Verbs with sizes in place of --verb and --size: write:64KiB*7,read:4KiB*3"),
	OPTIONAL_TEXT(0, "transport", "RC|UC|UD", transport, "Transport service [RC]"),
	OPTIONAL_TEXT(0, "rate", "RATE", rate,
		      "10Gb/s, 50% of the line, or 1000/s messages [as fast as it goes]"),
	OPTIONAL_TEXT(0, "per", "qp|group", per,
		      "Whether each queue pair has the rate, or all together [qp]"),
	OPTIONAL_TEXT(0, "counts", "WHAT", counts,
		      "What a rate in bits counts: payload, frames or line [payload]"),
	OPTIONAL_TEXT(0, "burst", "FRAMES", burst, "Frames that leave back to back [a message's]"),
	OPTIONAL_TEXT(0, "ramp", "TIME", ramp, "Time in which the rate grows to its value [0]"),
	OPTIONAL_TEXT(0, "stagger", "TIME", stagger,
		      "Each further queue pair begins so much later [0]"),
	OPTIONAL_TEXT(0, "ecn", "CODEPOINT", ecn, "ect0, ect1 or not-ect [ect0]"),
	OPTIONAL_TEXT('u', "timeout", "N", timeout,
		      "Local ACK timeout, 4.096 us * 2^N; 0: none [14]"),
	OPTIONAL_TEXT(0, "cc", "ALGORITHM", cc, "Congestion control: dcqcn, fixed or none [dcqcn]"),
	OPTIONAL_TEXT(0, "cc-profile", "NAME", cc_profile,
		      "Values of DCQCN's parameters: nvidia or paper [nvidia]"),
	OPTIONAL_TEXT(0, "udp-source-port", "N", udp_source_port,
		      "UDP source port of the first queue pair [by its QPNs]"),
	OPTIONAL_TEXT(0, "udp-source-ports", "N", udp_source_ports,
		      "So many ports from there on, taken in turn by the queue pairs [1]"),
	{.name = "set",
	 .argument = "KEY=VALUE",
	 .help = "Any key of the file, may be repeated: --set groups[0].ramp_from=1Gb/s",
	 .type = VL_OPTION_TEXTS,
	 .offset = offsetof(struct gen_options, sets)},
	OPTIONAL_TEXT('p', "peer-port", "N", peer_port,
		      "Port that the peer listens on [18600; with -R 7471]"),
	FLAG('R', "cm", cm,
	     "Connect each queue pair by the RDMA connection manager, to any listener"),
	NUMBER("remote-qpn", remote_qpn, 2, 0xfffffe,
	       "The peer is set up by other means, and this is the QPN of its first queue pair; "
	       "the "
	       "others follow"),
	NUMBER("remote-psn", remote_psn, 0, 0xffffff, "The first PSN that it sends [0]"),
	NUMBER("remote-qkey", remote_qkey, 0, UINT32_MAX, "Its Q_Key, for UD [0x11111111]"),
	NUMBER("remote-addr", remote_address, 0, UINT64_MAX - 1, "Address of its memory"),
	NUMBER("rkey", rkey, 0, UINT32_MAX, "Key of its memory"),
	NUMBER("local-qpn", local_qpn, 2, 0xfffffe, "QPN of our first queue pair [the device's]"),
	NUMBER("local-psn", local_psn, 0, 0xffffff,
	       "The first PSN that each of ours sends [by the seed]"),
	FLAG(0, "loopback", loopback,
	     "Run the peer in this process too, over a ring: no port, no NIC, no second host"),
	FLAG(0, "perftest", perftest, "Print the table of ib_write_bw in place of ours"),
	FLAG(0, "latency", latency,
	     "With --perftest: the table of ib_write_lat, of completion times"),
	FLAG(0, "per-qp", each_qp, "Print a line for each queue pair"),
	OPTIONAL_TEXT(0, "hgrm", "FILE", hgrm, "Write completion times as .hgrm percentiles, us"),
	OPTIONAL_TEXT(0, "pacing-hgrm", "FILE", pacing_hgrm,
		      "Write pacing errors as .hgrm percentiles, us"),
	FLAG(0, "no-checks", no_checks, "Fine even if a rate was not held or queue pairs failed"),
	FLAG(0, "show", show, "Print a file to start from"),
	FLAG(0, "keys", keys, "Print all keys of a file, with their meanings"),
	VL_HOST_OPTIONS(struct gen_options, host),
	VL_FAULT_OPTIONS(struct gen_options, fault),
};

static const char example_file[] =
	"# verbline gen FILE --port ... --ip ...: all keys: verbline gen --keys\n"
	"to: 10.0.0.2            # a host where 'verbline endpoint' runs\n"
	"duration: 10s\n"
	"warm_up: 1s\n"
	"groups:\n"
	"  - name: storage\n"
	"    qps: 16\n"
	"    mix: write:64KiB*7, read:4KiB..16KiB*3\n"
	"    rate: 20Gb/s\n"
	"    per: group\n"
	"  - name: small\n"
	"    qps: 4\n"
	"    verb: send\n"
	"    size: 64..512\n"
	"    rate: 10000/s       # of each queue pair\n"
	"    dscp: 34\n"
	"    congestion_control:\n"
	"      algorithm: none\n"
	"streams:                # beside them, frames that wait for nobody\n"
	"  - name: background\n"
	"    size: imix\n"
	"    rate: 1Gb/s\n"
	"    source_ports: 16\n"
	"    flows: 16\n";

/* What options alone make. */
static const char default_file[] = "groups:\n  - name: traffic\n";

/* ---- From options to a configuration -------------------------------------------------------- */

static const struct {
	size_t offset;
	const char *key, *option;
	bool is_of_group;
} keys_of_options[] = {
#define KEY(member, path, letter, group)                                                           \
	{                                                                                          \
		offsetof(struct gen_options, member), path, letter, group                          \
	}
	KEY(to, "to", "--to", false),
	KEY(duration, "duration", "--duration", false),
	KEY(warm_up, "warm_up", "--warm-up", false),
	KEY(peer_port, "peer_port", "--peer-port", false),
	KEY(qps, "groups[0].qps", "--qps", true),
	KEY(size, "groups[0].size", "--size", true),
	KEY(messages, "groups[0].messages", "--messages", true),
	KEY(depth, "groups[0].depth", "--depth", true),
	KEY(verb, "groups[0].verb", "--verb", true),
	KEY(mix, "groups[0].mix", "--mix", true),
	KEY(transport, "groups[0].transport", "--transport", true),
	KEY(rate, "groups[0].rate", "--rate", true),
	KEY(per, "groups[0].per", "--per", true),
	KEY(counts, "groups[0].counts", "--counts", true),
	KEY(burst, "groups[0].burst", "--burst", true),
	KEY(ramp, "groups[0].ramp", "--ramp", true),
	KEY(stagger, "groups[0].stagger", "--stagger", true),
	KEY(ecn, "groups[0].ecn", "--ecn", true),
	KEY(timeout, "groups[0].timeout", "--timeout", true),
	KEY(cc, "groups[0].congestion_control.algorithm", "--cc", true),
	KEY(cc_profile, "groups[0].congestion_control.profile", "--cc-profile", true),
	KEY(udp_source_port, "groups[0].udp_source_port", "--udp-source-port", true),
	KEY(udp_source_ports, "groups[0].udp_source_ports", "--udp-source-ports", true),
#undef KEY
};
#define KEY_COUNT (sizeof(keys_of_options) / sizeof(keys_of_options[0]))

struct assignments {
	struct vl_texts texts;
	const char *options[VL_MAX_TEXTS]; /* which each was made of; NULL: a --set */
	struct vl_arena arena;
	bool is_full;
};

static void add(struct assignments *assignments, const char *text, const char *option)
{
	if (text && assignments->texts.count < VL_MAX_TEXTS) {
		assignments->options[assignments->texts.count] = option;
		assignments->texts.values[assignments->texts.count++] = text;
	} else {
		assignments->is_full = true;
	}
}

static void assign(struct assignments *assignments, const char *option, const char *key,
		   const char *value)
{
	/* Plain seconds, as perftest has them. */
	bool is_seconds = (!strcmp(key, "duration") || !strcmp(key, "warm_up")) && *value &&
			  !value[strspn(value, "0123456789")] && strcmp(value, "0");

	add(assignments,
	    vl_arena_print(&assignments->arena, "%s=%s%s", key, value, is_seconds ? "s" : ""),
	    option);
}

/* -1: go on, else an exit status. */
static int collect(const struct vl_command *command, const struct gen_options *values,
		   bool has_file, struct assignments *assignments)
{
	const char *value, *option;

	for (unsigned int i = 0; i < KEY_COUNT; i++) {
		value = *(const char *const *)((const char *)values + keys_of_options[i].offset);
		if (!value)
			continue;
		if (has_file && keys_of_options[i].is_of_group) {
			vl_command_error(command,
					 "%s is not for a file, which has groups of its own; write "
					 "it there, or say --set %s=%s",
					 keys_of_options[i].option, keys_of_options[i].key, value);
			return VL_EXIT_USAGE;
		}
		option = vl_arena_print(&assignments->arena, "%s %s", keys_of_options[i].option,
					value);
		assign(assignments, option, keys_of_options[i].key, value);
	}
	if (values->loopback && !values->to)
		assign(assignments, "--loopback", "to", LOOPBACK_PEER);
	if (values->cm)
		assign(assignments, "--cm", "peer", "cm");
	if (values->remote_qpn != UNSET)
		assign(assignments, "--remote-qpn", "peer", "given");
	for (unsigned int i = 0; i < values->sets.count; i++)
		add(assignments, values->sets.values[i], NULL);
	if (!assignments->is_full)
		return -1;
	vl_command_error(command, "more than %d settings; write a file", VL_MAX_TEXTS);
	return VL_EXIT_USAGE;
}

static struct gen_config *load(const struct vl_command *command, const struct gen_options *values,
			       const struct assignments *assignments, const char *path)
{
	uint32_t path_mtu = 128u << (values->host.path_mtu ? values->host.path_mtu : IBV_MTU_4096);
	static struct vl_problems problems;
	struct gen_config *config;
	char error[512], *text;
	size_t length;

	problems.file = path ? path : "verbline gen";
	problems.is_without_places = !path;
	problems.options = assignments->options;
	text = path ? vl_scenario_read_file(path, &length, error, sizeof(error))
		    : strdup(default_file);
	if (!text) {
		vl_command_error(command, "%s", path ? error : "out of memory");
		return NULL;
	}
	if (!path)
		length = strlen(text);
	config = gen_config_parse(text, length, &assignments->texts, path_mtu, &problems);
	free(text);
	if (!config)
		vl_problems_print(&problems, stderr);
	return config;
}

/* ---- The run ------------------------------------------------------------------------------- */

struct files {
	struct vl_output json, hgrm, pacing;
};

static int open_files(const struct vl_command *command, const struct gen_options *values,
		      const char *file, struct files *files)
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

static void abandon_files(struct files *files)
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

static int write_json(struct vl_output *output, json_t *root, char *error, size_t error_size)
{
	int status = root ? json_dumpf(root, output->file, JSON_INDENT(2)) : -1;

	json_decref(root);
	if (status) {
		snprintf(error, error_size, "the JSON cannot be written");
		return -EIO;
	}
	fputc('\n', output->file);
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

static int report(const struct gen_options *values, const struct gen_run *run, struct files *files,
		  struct vl_faults *faults)
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
			status = write_json(&files->json,
					    results_json(run, groups, checks, check_count, faults),
					    error, sizeof(error));
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
		.remote_qpn = values->remote_qpn == UNSET ? 0 : (uint32_t)values->remote_qpn,
		.remote_psn = (uint32_t)values->remote_psn,
		.remote_qkey = (uint32_t)values->remote_qkey,
		.remote_address = values->remote_address == UNSET ? 0 : values->remote_address,
		.rkey = values->rkey == UNSET ? 0 : (uint32_t)values->rkey,
		.has_memory = values->remote_address != UNSET && values->rkey != UNSET,
		.local_qpn = values->local_qpn == UNSET ? 0 : (uint32_t)values->local_qpn,
		.local_psn = values->local_psn == UNSET ? 0 : (uint32_t)values->local_psn,
		.has_local_psn = values->local_psn != UNSET,
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
			.priority = (uint8_t)values->host.pcp,
			.has_vlan = values->host.vlan != VL_HOST_UNSET,
			.seed = values->host.seed,
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

static int run_on_host(struct gen_run *run, const struct gen_options *values, struct files *files,
		       struct vl_faults *faults)
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

static int set_loopback(const struct vl_command *command, struct gen_options *values)
{
	struct vl_host_options *host = &values->host;

	if (!values->loopback)
		return -1;
	if (host->ports.count || host->addresses.count || values->cm ||
	    values->remote_qpn != UNSET) {
		vl_command_error(command, "--loopback has ports, addresses and a peer of its own; "
					  "take --port, --ip, --cm and --remote-qpn out");
		return VL_EXIT_USAGE;
	}
	host->ports = (struct vl_texts){{LOOPBACK_PORT, LOOPBACK_PORT}, 2};
	host->addresses = (struct vl_texts){{LOOPBACK_HERE, LOOPBACK_PEER "/24@1"}, 2};
	return -1;
}

static int start(const struct vl_command *command, const struct gen_options *values,
		 const struct vl_operands *operands, struct gen_config *config, struct files *files)
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

static int gen_main(const struct vl_command *command, int argc, char **argv)
{
	struct gen_options values = {.host = VL_HOST_OPTIONS_INIT,
				     .fault = VL_FAULT_OPTIONS_INIT,
				     .remote_qpn = UNSET,
				     .remote_qkey = VL_TRAFFIC_QKEY,
				     .remote_address = UNSET,
				     .rkey = UNSET,
				     .local_qpn = UNSET,
				     .local_psn = UNSET};
	struct assignments assignments = {0};
	struct vl_operands operands;
	struct gen_config *config = NULL;
	struct files files = {0};
	const char *file;
	int status = vl_command_start(command, argc, argv, &values, &operands);

	if (status >= 0)
		return status;
	if (values.show)
		return fputs(example_file, stdout) < 0 ? VL_EXIT_FAILED : VL_EXIT_OK;
	if (values.keys) {
		vl_config_describe(&gen_config_schema, 0, stdout);
		return VL_EXIT_OK;
	}
	file = operands.count ? operands.values[0] : NULL;
	status = set_loopback(command, &values);
	if (status < 0)
		status = collect(command, &values, file != NULL, &assignments);
	if (status < 0) {
		config = load(command, &values, &assignments, file);
		status = config ? open_files(command, &values, file, &files) : VL_EXIT_USAGE;
	}
	if (status == VL_EXIT_OK)
		status = start(command, &values, &operands, config, &files);
	abandon_files(&files);
	gen_config_free(config);
	vl_arena_free(&assignments.arena);
	return status;
}

const struct vl_command vl_gen_command = {
	.name = "gen",
	.operands = "[FILE]",
	.most_operands = 1,
	.summary = "generate RoCEv2 traffic: stateful queue pairs out of a port",
	.description =
		"Opens queue pairs to a peer and keeps them busy: verbs and sizes in a mix, as "
		"fast as "
		"it goes or at rates that hold, with congestion control. The peer is a 'verbline "
		"endpoint', which makes its side by itself; or any listener of the RDMA connection "
		"manager (-R); or was set up by other means, and its numbers are given "
		"(--remote-qpn).\n\n"
		"Options describe one group of queue pairs; a FILE describes any number "
		"(--show prints one to start from, --keys explains all).\n\n"
		"Exit status: 0, or 1 if queue pairs failed, messages did not complete, or a rate "
		"was "
		"missed by more than 0.1% (one that CNPs kept down is not).",
	.examples =
		"verbline gen --loopback -D 3\n"
		"verbline gen --port af_packet:eth1 --ip 10.0.0.1/24 --to 10.0.0.2 -q 4 -s 64KiB\n"
		"verbline gen --port pci:0000:3b:00.0 --ip 10.0.0.1/24 --to 10.0.0.2 --rate 40Gb/s "
		"--per group -q 100\n"
		"verbline gen FILE --port memif:/run/a.sock --ip 10.0.0.1/24 --json out.json\n",
	.options = options,
	.option_count = sizeof(options) / sizeof(options[0]),
	.takes_eal_options = true,
	.run = gen_main,
};
