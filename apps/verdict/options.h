/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What is expected of a peer, as options. */
#ifndef VERBLINE_VERDICT_OPTIONS_H
#define VERBLINE_VERDICT_OPTIONS_H

#include "apps/option.h"
#include "apps/verdict/verdict.h"

#include <stdbool.h>
#include <stdint.h>

struct vl_verdict_options {
	bool wanted, expects_ecn;
	uint64_t cnp_dscp, cnp_priority, data_dscp; /* UINT64_MAX: not given */
	/* ns; 0: the defaults of verdict.h */
	uint64_t cnp_interval, cnp_limit, pause_limit, patience;
};

#define VL_VERDICT_OPTIONS_INIT                                                                    \
	{                                                                                          \
		.cnp_dscp = UINT64_MAX, .cnp_priority = UINT64_MAX, .data_dscp = UINT64_MAX        \
	}

/* clang-format off */
#define VL_VERDICT_SECTION "What is right of the peer"

#define VL_VERDICT_OPTIONS(type_, member_)                                                         \
	{.section = VL_VERDICT_SECTION, .name = "verdict",                                                                        \
	 .help = "Judge the peer by its packets: loss, refusals, CNPs, rates, pauses, classes; "   \
		 "exit status 1 if it fails in anything",                                          \
	 .type = VL_OPTION_FLAG, .offset = offsetof(type_, member_.wanted)},                       \
	VL_EXPECT_OPTIONS(type_, member_)

#define VL_EXPECT_OPTIONS(type_, member_)                                                          \
	{.section = VL_VERDICT_SECTION, .name = "expect-cnp-dscp", .argument = "DSCP",                                            \
	 .help = "What the DSCP of the peer's CNPs should be [48]",                                \
	 .type = VL_OPTION_NUMBER, .offset = offsetof(type_, member_.cnp_dscp), .most = 63},       \
	{.section = VL_VERDICT_SECTION, .name = "expect-cnp-priority", .argument = "PRIORITY",                                    \
	 .help = "And their priority, in tagged frames [6]",                                       \
	 .type = VL_OPTION_NUMBER, .offset = offsetof(type_, member_.cnp_priority), .most = 7},    \
	{.section = VL_VERDICT_SECTION, .name = "expect-data-dscp", .argument = "DSCP",                                           \
	 .help = "What the DSCP of the peer's data should be [any, one for each flow]",            \
	 .type = VL_OPTION_NUMBER, .offset = offsetof(type_, member_.data_dscp), .most = 63},      \
	{.section = VL_VERDICT_SECTION, .name = "expect-ecn",                                                                     \
	 .help = "The peer's data should be ECN-capable",                                          \
	 .type = VL_OPTION_FLAG, .offset = offsetof(type_, member_.expects_ecn)},                  \
	{.section = VL_VERDICT_SECTION, .name = "expect-cnp-interval", .argument = "TIME",                                        \
	 .help = "Least time between the peer's CNPs for a queue pair [4us]",                      \
	 .type = VL_OPTION_QUANTITY, .offset = offsetof(type_, member_.cnp_interval),              \
	 .quantity = VL_QUANTITY_DURATION, .least = 1, .most = UINT64_C(1000000000)},              \
	{.section = VL_VERDICT_SECTION, .name = "expect-cnp-within", .argument = "TIME",                                          \
	 .help = "Most time from a CE mark to the CNP [1ms]",                                      \
	 .type = VL_OPTION_QUANTITY, .offset = offsetof(type_, member_.cnp_limit),                 \
	 .quantity = VL_QUANTITY_DURATION, .least = 1, .most = UINT64_C(60000000000)},             \
	{.section = VL_VERDICT_SECTION, .name = "expect-pause-within", .argument = "TIME",                                        \
	 .help = "Most time from a pause to the peer's last frame [10us]",                         \
	 .type = VL_OPTION_QUANTITY, .offset = offsetof(type_, member_.pause_limit),               \
	 .quantity = VL_QUANTITY_DURATION, .least = 1, .most = UINT64_C(1000000000)},              \
	{.section = VL_VERDICT_SECTION, .name = "patience", .argument = "TIME",                                                   \
	 .help = "Time after which the peer is taken not to send again or answer [2s]",            \
	 .type = VL_OPTION_QUANTITY, .offset = offsetof(type_, member_.patience),                  \
	 .quantity = VL_QUANTITY_DURATION, .least = 1000, .most = UINT64_C(3600000000000)}
/* clang-format on */

/* peer and rate are left to the caller. */
struct vl_verdict_config vl_verdict_options_config(const struct vl_verdict_options *options);

#endif
