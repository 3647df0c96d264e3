/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What a file for `verbline gen` may say: every key, its unit, bounds, default and meaning. */

#include "apps/gen/config.h"
#include "apps/scenario/field.h"

static const char *const transports[] = {"RC", "UC", "UD", NULL};
static const char *const scopes[] = {"qp", "group", NULL};
static const char *const counts[] = {"payload", "frames", "line", NULL};
static const char *const ecns[] = {"ect0", "ect1", "not-ect", NULL};
static const char *const peers[] = {"control", "cm", "given", NULL};

static const struct vl_field group_fields[] = {
	NAME_FIELD("name", struct gen_group, name, "what reports call it [its number]", false),
	QUANTITY_FIELD("port", struct gen_group, port, COUNT, 0, 15,
		       "which --port it leaves by, from 0 [0]"),
	QUANTITY_FIELD("qps", struct gen_group, qps, COUNT, 1, GEN_MAX_QPS, "queue pairs [1]"),
	CHOICE_FIELD("transport", struct gen_group, transport, transports, "RC, UC or UD [RC]"),
	CHOICE_FIELD(
		"verb", struct gen_group, verb, gen_verb_names,
		"send, send_imm, write, write_imm, read, compare_swap or fetch_add [write]; with "
		"peer control, those with _imm carry the time: one-way latency"),
	TEXT_FIELD("size", struct gen_group, size,
		   "of messages: one (64KiB), a range (64..4KiB, each size as likely), or a list, "
		   "by weight (64*9, 1MiB*1) [64KiB; atomics 8]"),
	TEXT_FIELD(
		"mix", struct gen_group, mix,
		"in place of verb and size, verbs with sizes: write:64KiB*7, read:4KiB..16KiB*3"),
	{.name = "in_turn",
	 .kind = VL_FIELD_TRUTH,
	 .offset = offsetof(struct gen_group, in_turn),
	 .help = "the list is gone through in order, each as often as it weighs, not drawn from "
		 "[false]"},
	QUANTITY_FIELD("depth", struct gen_group, depth, COUNT, 1, VL_GENERATE_MAX_DEPTH,
		       "outstanding messages of a queue pair [16]"),
	QUANTITY_FIELD("messages", struct gen_group, messages, COUNT, 1, UINT64_C(1) << 48,
		       "of each queue pair [until the end]"),
	QUANTITY_FIELD("duration", struct gen_group, duration, DURATION, 1000000, 100000 * SECOND,
		       "from its start [until the end]"),
	QUANTITY_FIELD("start", struct gen_group, start, DURATION, 0, 100000 * SECOND,
		       "the group begins so much later [0]"),
	QUANTITY_FIELD("stagger", struct gen_group, stagger, DURATION, 0, 3600 * SECOND,
		       "each further queue pair begins so much later [0]"),
	TEXT_FIELD("rate", struct gen_group, rate,
		   "10Gb/s, 50% of the line, or 1000/s messages [as fast as it goes, or a share of "
		   "the rate of all]"),
	CHOICE_FIELD("per", struct gen_group, per, scopes,
		     "whether each qp has that rate, or the group [qp]"),
	CHOICE_FIELD(
		"counts", struct gen_group, counts, counts,
		"what a rate in bits counts: payload, frames (with FCS) or line (with preamble "
		"and gap); a part of the line always counts line [payload]"),
	QUANTITY_FIELD("burst", struct gen_group, burst, COUNT, 1, VL_MAX_BURST_FRAMES,
		       "frames that leave back to back, at least a message [a message]"),
	QUANTITY_FIELD("ramp", struct gen_group, ramp, DURATION, 0, 3600 * SECOND,
		       "time in which the rate grows to its value [0]"),
	TEXT_FIELD("ramp_from", struct gen_group, ramp_from,
		   "the rate that the ramp begins at [0]"),
	{.name = "aligned",
	 .kind = VL_FIELD_TRUTH,
	 .offset = offsetof(struct gen_group, aligned),
	 .help = "queue pairs with a rate of their own send at the same moments [false: spread]"},
	CHOICE_FIELD("ecn", struct gen_group, ecn, ecns, "codepoint: ect0, ect1 or not-ect [ect0]"),
	QUANTITY_FIELD("dscp", struct gen_group, dscp, COUNT, 0, 63, "of data [--dscp, or 26]"),
	QUANTITY_FIELD("priority", struct gen_group, priority, COUNT, 0, 7,
		       "PCP and priority of PFC [--pcp; without a tag DSCP / 8]"),
	QUANTITY_FIELD("udp_source_port", struct gen_group, udp_source_port, COUNT, 0xc000, 0xffff,
		       "of the first queue pair [by its QPNs]"),
	QUANTITY_FIELD("udp_source_ports", struct gen_group, udp_source_ports, COUNT, 1, 16384,
		       "that queue pairs are spread over, from udp_source_port on [1]"),
	RETRY_FIELDS(struct gen_group),
	QUANTITY_FIELD("rnr_retries", struct gen_group, rnr_retries, COUNT, 0, 7,
		       "of RC, when the receiver is not ready; 7: without end [7]"),
	MAPPING_FIELD("congestion_control", struct gen_group, cc, &vl_scenario_cc_schema,
		      "how queue pairs react to CNPs"),
};
static const struct gen_group group_defaults = {
	.qps = 1,
	.verb = VL_FLOW_WRITE,
	.depth = 16,
	.dscp = UINT64_MAX,
	.priority = UINT64_MAX,
	.udp_source_ports = 1,
	.timeout = 14,
	.retries = 7,
	.rnr_retries = 7,
	.cc = {.algorithm = 2}, /* dcqcn */
};
const struct vl_schema gen_group_schema = {group_fields, COUNT(group_fields),
					   sizeof(struct gen_group), &group_defaults};

static const char *const stream_kinds[] = {"udp", "tcp", "roce", NULL};
static const char *const stream_verbs[] = {"send", "write", NULL};

static const struct vl_field stream_fields[] = {
	NAME_FIELD("name", struct gen_stream_config, name, "what reports call it [its number]",
		   false),
	QUANTITY_FIELD("port", struct gen_stream_config, port, COUNT, 0, 15,
		       "which --port it leaves by, from 0 [0]"),
	CHOICE_FIELD("kind", struct gen_stream_config, kind, stream_kinds,
		     "udp, tcp, or roce (open loop: nobody is waited for) [udp]"),
	TEXT_FIELD("to", struct gen_stream_config, to, "destination address [the peer]"),
	TEXT_FIELD("mac", struct gen_stream_config, mac,
		   "destination MAC [asked for by ARP or neighbour discovery]"),
	QUANTITY_FIELD("flows", struct gen_stream_config, flows, COUNT, 1, 1024,
		       "that take turns, frame by frame [1]"),
	QUANTITY_FIELD("source_port", struct gen_stream_config, source_port, COUNT, 1, 65535,
		       "UDP or TCP, of the first flow [49152]"),
	QUANTITY_FIELD("source_ports", struct gen_stream_config, source_ports, COUNT, 1, 16384,
		       "that flows are spread over, from source_port on [1]"),
	QUANTITY_FIELD("destination_port", struct gen_stream_config, destination_port, COUNT, 1,
		       65535, "UDP or TCP [9]"),
	TEXT_FIELD("size", struct gen_stream_config, size,
		   "of frames without FCS, for roce of messages: one, a list by weight "
		   "(60*7, 590*4, 1514), or imix [1024B]"),
	{.name = "in_order",
	 .kind = VL_FIELD_TRUTH,
	 .offset = offsetof(struct gen_stream_config, in_order),
	 .help = "sizes come as listed, not shuffled [false]"},
	TEXT_FIELD("rate", struct gen_stream_config, rate,
		   "10Gb/s on the line, 50% of the line, or 1000/s frames, for roce messages [as "
		   "fast as it goes]"),
	QUANTITY_FIELD("burst", struct gen_stream_config, burst, COUNT, 1, VL_STREAM_MAX_BURST,
		       "frames of a flow back to back [1]"),
	QUANTITY_FIELD("frames", struct gen_stream_config, frames, COUNT, 1, UINT64_C(1) << 48,
		       "of all flows together [until the end]"),
	QUANTITY_FIELD("start", struct gen_stream_config, start, DURATION, 0, 100000 * SECOND,
		       "begins so much later [0]"),
	QUANTITY_FIELD("duration", struct gen_stream_config, duration, DURATION, 1000000,
		       100000 * SECOND, "from its start [until the end]"),
	CHOICE_FIELD("ecn", struct gen_stream_config, ecn, ecns,
		     "codepoint: ect0, ect1 or not-ect [ect0]"),
	QUANTITY_FIELD("dscp", struct gen_stream_config, dscp, COUNT, 0, 63, "[0]"),
	QUANTITY_FIELD("priority", struct gen_stream_config, priority, COUNT, 0, 7,
		       "PCP and priority of PFC [--pcp; without a tag DSCP / 8]"),
	CHOICE_FIELD("transport", struct gen_stream_config, transport, transports,
		     "roce: RC, UC or UD [RC]"),
	CHOICE_FIELD("verb", struct gen_stream_config, verb, stream_verbs, "roce: send or write"),
	QUANTITY_FIELD("remote_qpn", struct gen_stream_config, remote_qpn, COUNT, 2, 0xfffffe,
		       "roce: of the first flow's peer; the others follow [the peer makes them]"),
	QUANTITY_FIELD("remote_psn", struct gen_stream_config, remote_psn, COUNT, 0, 0xffffff,
		       "roce: the first PSN of each flow [0]"),
	QUANTITY_FIELD("remote_address", struct gen_stream_config, remote_address, COUNT, 0,
		       UINT64_MAX - 1, "roce: where WRITEs go"),
	QUANTITY_FIELD("rkey", struct gen_stream_config, rkey, COUNT, 0, UINT32_MAX,
		       "roce: its key"),
	MAPPING_FIELD("congestion_control", struct gen_stream_config, cc, &vl_scenario_cc_schema,
		      "roce: how flows react to CNPs"),
};
static const struct gen_stream_config stream_defaults = {
	.flows = 1,
	.source_port = 49152,
	.source_ports = 1,
	.destination_port = 9,
	.dscp = UINT64_MAX,
	.priority = UINT64_MAX,
	.cc = {.algorithm = 2}, /* dcqcn */
};
const struct vl_schema gen_stream_schema = {stream_fields, COUNT(stream_fields),
					    sizeof(struct gen_stream_config), &stream_defaults};

static const struct vl_field config_fields[] = {
	TEXT_FIELD("to", struct gen_config, to, "the peer's IPv4 or IPv6 address"),
	CHOICE_FIELD("peer", struct gen_config, peer, peers,
		     "how it is set up: control (a verbline endpoint), cm (any listener of the "
		     "RDMA connection manager) or given (numbers and keys) [control]"),
	QUANTITY_FIELD("peer_port", struct gen_config, peer_port, COUNT, 1, 65535,
		       "that it listens on [18600; with cm 7471]"),
	QUANTITY_FIELD("duration", struct gen_config, duration, DURATION, 1000000, 100000 * SECOND,
		       "of the run [10s; with messages in all groups until they are done]"),
	QUANTITY_FIELD("warm_up", struct gen_config, warm_up, DURATION, 0, 100000 * SECOND,
		       "left out of the results [0]"),
	TEXT_FIELD("rate", struct gen_config, rate,
		   "of all groups without a rate of their own together, by their queue pairs"),
	CHOICE_FIELD("counts", struct gen_config, counts, counts,
		     "what that rate in bits counts [payload]"),
	LIST_FIELD("groups", struct gen_config, groups, &gen_group_schema, 0, GEN_MAX_GROUPS,
		   "a list of groups of queue pairs"),
	LIST_FIELD("streams", struct gen_config, streams, &gen_stream_schema, 0, GEN_MAX_STREAMS,
		   "a list of streams beside them: frames that wait for nobody"),
};
const struct vl_schema gen_config_schema = {config_fields, COUNT(config_fields),
					    sizeof(struct gen_config), NULL};
