/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * The options that all commands share that bring a host up on ports. A command embeds the structure
 * in that of its own options, and the rows in its table:
 *
 *	struct ping_options {
 *		struct vl_host_options host;
 *		uint64_t count;
 *	};
 *	static const struct vl_option options[] = {
 *		VL_HOST_OPTIONS(struct ping_options, host),
 *		{'n', "count", ...},
 *	};
 *	struct ping_options values = {.host = VL_HOST_OPTIONS_INIT};
 *
 * apps/host/session.h checks them and does what they say.
 */
#ifndef VERBLINE_APPS_HOST_OPTIONS_H
#define VERBLINE_APPS_HOST_OPTIONS_H

#include "apps/option.h"

#include <stdbool.h>
#include <stdint.h>

/* An option that was not given. */
#define VL_HOST_UNSET UINT64_MAX

/* Choices of --path-mtu. */
enum vl_host_path_mtu_choice {
	VL_HOST_PATH_MTU_AUTO,
	VL_HOST_PATH_MTU_256, /* from here on, enum ibv_mtu */
	VL_HOST_PATH_MTU_512,
	VL_HOST_PATH_MTU_1024,
	VL_HOST_PATH_MTU_2048,
	VL_HOST_PATH_MTU_4096,
};
extern const char *const vl_host_path_mtu_choices[];

struct vl_host_options {
	struct vl_texts ports;
	/* Each may end in @N, N being the number of the --port it is for, from 0. */
	struct vl_texts addresses, gateways, macs;
	uint64_t vlan;         /* VL_HOST_UNSET: frames carry no tag */
	uint64_t pcp;          /* service level of the command's QPs; needs a VLAN */
	uint64_t dscp;         /* of the command's QPs; VL_HOST_UNSET: the command's default */
	uint64_t mtu;          /* 0: 4240 or what the port has */
	unsigned int path_mtu; /* enum vl_host_path_mtu_choice */
	uint64_t pfc_response_delay; /* ns */
	uint64_t workers;
	uint64_t seed;
	const char *pcap; /* NULL: no capture */
	uint64_t pcap_snaplen;
	const char *json;      /* the command writes it */
	const char *telemetry; /* NULL: no telemetry socket */
	bool no_hugepages;
};

#define VL_HOST_OPTIONS_INIT                                                                       \
	{                                                                                          \
		.vlan = VL_HOST_UNSET, .dscp = VL_HOST_UNSET, .workers = 1, .seed = 1,             \
		.pcap_snaplen = 65535,                                                             \
	}

/* Whether the outputs leave an input alone, a file or NULL. 0, or -EINVAL with what is wrong. */
int vl_host_check_input(const struct vl_host_options *options, const char *input, char *error,
			size_t size);
/* The traffic class that --dscp asks for; dscp where none was given. */
uint8_t vl_host_traffic_class(const struct vl_host_options *options, uint8_t dscp, uint8_t ecn);
/* The priority, for PFC and in the tag, of packets with that DSCP: --pcp with a VLAN; without a tag
 * DSCP / 8, the class that switches and NICs take by default. */
uint8_t vl_host_priority(const struct vl_host_options *options, uint8_t dscp);

#define VL_HOST_PORT_SECTION   "Ports, addresses, workers"
#define VL_HOST_OUTPUT_SECTION "Outputs and resources"

/* clang-format off */
#define VL_HOST_OPTIONS(type_, member_)                                                            \
	{.section = VL_HOST_PORT_SECTION, .name = "port", .argument = "PORT",                                                       \
	 .help = "Port to use, may be repeated: pci:ADDRESS, af_packet:INTERFACE, "                \
		 "af_xdp:INTERFACE, tap:NAME, memif:PATH, pcap:IN,OUT, ring:NAME, null",           \
	 .type = VL_OPTION_TEXTS, .offset = offsetof(type_, member_.ports)},                       \
	{.section = VL_HOST_PORT_SECTION, .name = "ip", .argument = "ADDRESS/PREFIX",                                               \
	 .help = "IPv4 or IPv6 address of the port, may be repeated; with several ports "          \
		 "ADDRESS/PREFIX@N is for the Nth, from 0",                                        \
	 .type = VL_OPTION_TEXTS, .offset = offsetof(type_, member_.addresses)},                   \
	{.section = VL_HOST_PORT_SECTION, .name = "gateway", .argument = "ADDRESS",                                                 \
	 .help = "Router to other subnets, one for each of IPv4 and IPv6; @N as for --ip",         \
	 .type = VL_OPTION_TEXTS, .offset = offsetof(type_, member_.gateways)},                    \
	{.section = VL_HOST_PORT_SECTION, .name = "mac", .argument = "ADDRESS",                                                     \
	 .help = "MAC address to use in place of the port's own; @N as for --ip",                  \
	 .type = VL_OPTION_TEXTS, .offset = offsetof(type_, member_.macs)},                        \
	{.section = VL_HOST_PORT_SECTION, .name = "vlan", .argument = "ID",                                                         \
	 .help = "VLAN that all frames are tagged with [no tag]",                                  \
	 .type = VL_OPTION_NUMBER, .offset = offsetof(type_, member_.vlan), .least = 0, .most = 4094}, \
	{.section = VL_HOST_PORT_SECTION, .name = "pcp", .argument = "N",                                                           \
	 .help = "Priority (service level) of the queue pairs, which the tag carries [0; without "  \
		 "a tag PFC stops them by DSCP / 8]",                                              \
	 .type = VL_OPTION_NUMBER, .offset = offsetof(type_, member_.pcp), .least = 0, .most = 7}, \
	{.section = VL_HOST_PORT_SECTION, .name = "dscp", .argument = "N",                                                          \
	 .help = "DSCP of the queue pairs' packets [the command's default]",                       \
	 .type = VL_OPTION_NUMBER, .offset = offsetof(type_, member_.dscp), .least = 0, .most = 63}, \
	{.section = VL_HOST_PORT_SECTION, .name = "mtu", .argument = "BYTES",                                                       \
	 .help = "MTU of the port, the longest IP packet [4240, or what the port has]",            \
	 .type = VL_OPTION_NUMBER, .offset = offsetof(type_, member_.mtu), .least = 1280, .most = 9600}, \
	{.section = VL_HOST_PORT_SECTION, .letter = 'm', .name = "path-mtu", .argument = "BYTES",                                   \
	 .help = "Path MTU: auto, 256, 512, 1024, 2048 or 4096 [auto: the largest that fits]",     \
	 .type = VL_OPTION_CHOICE, .offset = offsetof(type_, member_.path_mtu), .choices = vl_host_path_mtu_choices}, \
	{.section = VL_HOST_PORT_SECTION, .name = "pfc-response-delay", .argument = "TIME",                                         \
	 .help = "Heed received pauses so long after they came [0ns]",                             \
	 .type = VL_OPTION_QUANTITY, .offset = offsetof(type_, member_.pfc_response_delay),        \
	 .most = UINT64_C(1000000000), .quantity = VL_QUANTITY_DURATION},                          \
	{.section = VL_HOST_PORT_SECTION, .name = "workers", .argument = "N",                                                       \
	 .help = "Polling workers, a CPU each; each has a share of the connections [1]",           \
	 .type = VL_OPTION_NUMBER, .offset = offsetof(type_, member_.workers), .least = 1, .most = 64}, \
	{.section = VL_HOST_OUTPUT_SECTION, .name = "pcap", .argument = "FILE",                                                       \
	 .help = "Write the frames of all ports, as they are on the wire, to FILE; *.pcapng "      \
		 "also says which way they went and what was done to them",                        \
	 .type = VL_OPTION_TEXT, .offset = offsetof(type_, member_.pcap)},                         \
	{.section = VL_HOST_OUTPUT_SECTION, .name = "pcap-snaplen", .argument = "BYTES",                                              \
	 .help = "Most bytes of a frame that are written [65535: all]",                            \
	 .type = VL_OPTION_NUMBER, .offset = offsetof(type_, member_.pcap_snaplen), .least = 64, .most = 65535}, \
	{.section = VL_HOST_OUTPUT_SECTION, .name = "json", .argument = "FILE",                                                       \
	 .help = "Write the results, for programs, to FILE ('-': to standard output)",             \
	 .type = VL_OPTION_TEXT, .offset = offsetof(type_, member_.json)},                         \
	{.section = VL_HOST_OUTPUT_SECTION, .name = "telemetry", .argument = "NAME",                                                  \
	 .help = "Serve counters by DPDK's telemetry socket, "                                     \
		 "/run/dpdk/NAME/dpdk_telemetry.v2",                                               \
	 .type = VL_OPTION_TEXT, .offset = offsetof(type_, member_.telemetry)},                    \
	{.section = VL_HOST_OUTPUT_SECTION, .name = "seed", .argument = "N",                                                          \
	 .help = "Seed of all random numbers [1]",                                                 \
	 .type = VL_OPTION_NUMBER, .offset = offsetof(type_, member_.seed), .least = 0, .most = UINT64_MAX - 1}, \
	{.section = VL_HOST_OUTPUT_SECTION, .name = "no-hugepages",                                                                   \
	 .help = "Use ordinary memory even where hugepages are free",                              \
	 .type = VL_OPTION_FLAG, .offset = offsetof(type_, member_.no_hugepages)}
/* clang-format on */

#endif
