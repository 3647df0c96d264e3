/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Rewrites a frame by rules, and makes right again what covers the bytes that changed: the IPv4
 * header's checksum, the UDP, TCP or ICMPv6 checksum, the ICRC. What was wrong in the recording
 * stays as wrong as it was.
 */
#ifndef VERBLINE_REPLAY_PORT_REWRITE_H
#define VERBLINE_REPLAY_PORT_REWRITE_H

#include "apps/replay/port/rule.h"

#include <stdbool.h>
#include <stdint.h>

struct rewrite {
	struct rewrite_rules rules;
	bool keeps_checksums; /* leaves all of them as they were recorded */
};

/* An Ethernet frame in a buffer that has room for one VLAN tag more. */
struct rewrite_frame {
	uint8_t *data;
	uint32_t length;
	uint32_t psn_offset; /* added to the PSN of what is no CNP, beside the rules; modulo 2^24 */
};

/* Any bytes are taken; what is not understood is left alone. True: something was changed. */
bool rewrite_apply(struct rewrite *rewrite, struct rewrite_frame *frame);

#endif
