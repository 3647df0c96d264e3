/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/gen/gen.h"

#include "apps/gen/session.h"
#include "apps/report/config.h"

#include <stdlib.h>
#include <string.h>

#define LOOPBACK_PORT "ring:verbline-gen"
#define LOOPBACK_HERE "192.0.2.1/24@0"
#define LOOPBACK_PEER "192.0.2.2"

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
	if (values->remote_qpn != GEN_UNSET)
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

static int set_loopback(const struct vl_command *command, struct gen_options *values)
{
	struct vl_host_options *host = &values->host;

	if (!values->loopback)
		return -1;
	if (host->ports.count || host->addresses.count || values->cm ||
	    values->remote_qpn != GEN_UNSET) {
		vl_command_error(command, "--loopback has ports, addresses and a peer of its own; "
					  "take --port, --ip, --cm and --remote-qpn out");
		return VL_EXIT_USAGE;
	}
	host->ports = (struct vl_texts){{LOOPBACK_PORT, LOOPBACK_PORT}, 2};
	host->addresses = (struct vl_texts){{LOOPBACK_HERE, LOOPBACK_PEER "/24@1"}, 2};
	return -1;
}

static int gen_main(const struct vl_command *command, int argc, char **argv)
{
	struct gen_options values = {.host = VL_HOST_OPTIONS_INIT,
				     .fault = VL_FAULT_OPTIONS_INIT,
				     .remote_qpn = GEN_UNSET,
				     .remote_qkey = VL_TRAFFIC_QKEY,
				     .remote_address = GEN_UNSET,
				     .rkey = GEN_UNSET,
				     .local_qpn = GEN_UNSET,
				     .local_psn = GEN_UNSET};
	struct assignments assignments = {0};
	struct vl_operands operands;
	struct gen_config *config = NULL;
	struct gen_files files = {0};
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
		status = config ? gen_open_files(command, &values, file, &files) : VL_EXIT_USAGE;
	}
	if (status == VL_EXIT_OK)
		status = gen_session(command, &values, &operands, config, &files);
	gen_abandon_files(&files);
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
		"missed by more than 0.1% (one that CNPs kept down is excused, and said to be).",
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
