/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * `verbline replay --port`: the recorded frames themselves, out of a port. The options are rows of
 * the command's table:
 *
 *	REPLAY_PORT_OPTIONS(struct replay_options, port),
 */
#ifndef VERBLINE_REPLAY_PORT_H
#define VERBLINE_REPLAY_PORT_H

#include "apps/option.h"
#include "apps/ports/telemetry.h"

#include <stdbool.h>
#include <stdint.h>

struct replay_port_options {
	struct vl_texts ports; /* one; none: no replay to a port */
	struct vl_texts rewrites;
	const char *telemetry;
	const char *speed; /* NULL: 1 */
	uint64_t rate;     /* bit/s; 0: not by rate */
	uint64_t pps;      /* 0: not by packets */
	bool fast;
	uint64_t loop; /* runs through the files; 0: without end */
	uint64_t longest_wait, tolerance, mtu;
	bool same_psns, keep_checksums, align;
};

#define REPLAY_DEFAULT_TOLERANCE UINT64_C(10000) /* ns */

#define REPLAY_PORT_OPTIONS_INIT                                                                   \
	{                                                                                          \
		.loop = 1, .tolerance = REPLAY_DEFAULT_TOLERANCE                                   \
	}

/* clang-format off */
#define REPLAY_PORT_OPTIONS(type_, member_)                                                        \
	{.letter = 'p', .name = "port", .argument = "PORT",                                        \
	 .help = "Send the recorded frames out of this port (as tap:NAME, af_packet:INTERFACE, "   \
		 "pci:ADDRESS, pcap:IN,OUT, null), instead of comparing",                          \
	 .type = VL_OPTION_TEXTS, .offset = offsetof(type_, member_.ports)},                       \
	{.name = "rewrite", .argument = "RULE",                                                    \
	 .help = "Rewrite frames: FIELD=NEW, FIELD=OLD,NEW, FIELD=+N or FIELD=-N, as "             \
		 "dst-ip=10.0.0.1,10.0.0.2; may be repeated, the first rule that applies to a "    \
		 "field wins; --rewrite help lists the fields",                                    \
	 .type = VL_OPTION_TEXTS, .offset = offsetof(type_, member_.rewrites)},                    \
	{.name = "keep-checksums",                                                                 \
	 .help = "Leave IP and UDP checksums and the ICRC as they were recorded",                  \
	 .type = VL_OPTION_FLAG, .offset = offsetof(type_, member_.keep_checksums)},               \
	{.name = "speed", .argument = "FACTOR",                                                    \
	 .help = "Send so many times as fast as recorded [1]",                                     \
	 .type = VL_OPTION_TEXT, .offset = offsetof(type_, member_.speed)},                        \
	{.name = "rate", .argument = "RATE",                                                       \
	 .help = "Send at this rate, of the bytes of the frames, as 10Gb/s",                       \
	 .type = VL_OPTION_QUANTITY, .offset = offsetof(type_, member_.rate), .least = 1000,       \
	 .most = UINT64_C(4000000000000), .quantity = VL_QUANTITY_RATE},                           \
	{.name = "pps", .argument = "N",                                                           \
	 .help = "Send so many frames a second",                                                   \
	 .type = VL_OPTION_NUMBER, .offset = offsetof(type_, member_.pps), .least = 1, .most = 1000000000}, \
	{.name = "fast",                                                                           \
	 .help = "Send as fast as possible",                                                       \
	 .type = VL_OPTION_FLAG, .offset = offsetof(type_, member_.fast)},                         \
	{.name = "longest-wait", .argument = "TIME",                                               \
	 .help = "Shorten recorded pauses to this [as they were]",                                 \
	 .type = VL_OPTION_QUANTITY, .offset = offsetof(type_, member_.longest_wait), .least = 1,  \
	 .most = UINT64_C(86400000000000), .quantity = VL_QUANTITY_DURATION},                      \
	{.name = "loop", .argument = "N",                                                          \
	 .help = "Send everything so many times; 0 goes on until stopped [1]",                     \
	 .type = VL_OPTION_NUMBER, .offset = offsetof(type_, member_.loop), .most = UINT32_MAX},   \
	{.name = "same-psns",                                                                      \
	 .help = "With --loop, repeat the recorded PSNs instead of carrying them on",              \
	 .type = VL_OPTION_FLAG, .offset = offsetof(type_, member_.same_psns)},                    \
	{.name = "align",                                                                          \
	 .help = "Start all files together, instead of by the times they were recorded at",        \
	 .type = VL_OPTION_FLAG, .offset = offsetof(type_, member_.align)},                        \
	{.name = "tolerance", .argument = "TIME",                                                  \
	 .help = "Count frames that leave so long after their time as late [10us]",                \
	 .type = VL_OPTION_QUANTITY, .offset = offsetof(type_, member_.tolerance), .least = 0,     \
	 .most = UINT64_C(3600000000000), .quantity = VL_QUANTITY_DURATION},                       \
	{.name = "mtu", .argument = "BYTES",                                                       \
	 .help = "MTU of the port; longer frames are not sent [4240]",                             \
	 .type = VL_OPTION_NUMBER, .offset = offsetof(type_, member_.mtu), .least = 1280, .most = 9600}, \
	VL_TELEMETRY_OPTION(type_, member_.telemetry)
/* clang-format on */

/* Returns an exit status. json as the command's --json, NULL for none. */
int replay_to_port(const struct vl_command *command, const struct replay_port_options *chosen,
		   const struct vl_operands *operands, const char *json);
/* The name of an option that was given and means nothing without a port; NULL: none. */
const char *replay_port_misplaced(const struct replay_port_options *chosen);
/* Prints the fields of --rewrite. */
void replay_port_print_fields(void);

#endif
