/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Any text is a rule or is refused with a reason; any bytes are rewritten by the rules without a
 * byte beyond them being touched, and what was a right packet stays one.
 *
 * Input: rules, a line each, up to an empty line; then a frame.
 */

#include "apps/replay/port/psn_flows.h"
#include "apps/replay/port/rewrite.h"
#include "transport/wire/icrc.h"
#include "transport/wire/parse.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct rewrite rewrite;

static void require(int condition)
{
	if (!condition)
		abort();
}

/* Returns how much of the input the rules took. */
static size_t read_rules(const uint8_t *data, size_t size)
{
	char line[128], error[256];
	size_t at = 0;

	memset(&rewrite, 0, sizeof(rewrite));
	while (at < size) {
		const uint8_t *end = memchr(data + at, '\n', size - at);
		size_t length = end ? (size_t)(end - data) - at : size - at;

		if (!length)
			return at + 1;
		if (length < sizeof(line)) {
			memcpy(line, data + at, length);
			line[length] = 0;
			error[0] = 0;
			if (rewrite_rule_add(&rewrite.rules, line, error, sizeof(error)))
				require(error[0]);
		}
		at += length + 1;
	}
	return size;
}

static void follow(const struct vl_packet *packet)
{
	struct psn_flows *flows = psn_flows_new();

	require(flows != NULL);
	psn_flows_see(flows, packet);
	psn_flows_settle(flows);
	require(psn_flows_step(flows, packet) <= 0xffffff);
	psn_flows_free(flows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t rules = read_rules(data, size);
	struct rewrite_frame frame = {.length = (uint32_t)(rules < size ? size - rules : 0)};
	uint32_t length = frame.length;
	struct vl_packet packet;
	bool was_right, changed;

	if (length > 16384)
		return 0;
	/* Room for a tag, and not a byte more. */
	frame.data = malloc(length + 4);
	require(frame.data != NULL);
	memcpy(frame.data, data + size - length, length);
	was_right =
		vl_parse(&packet, VL_LINK_ETHERNET, frame.data, length, length) == VL_PARSE_ok &&
		vl_icrc_is_right(&packet);
	if (was_right)
		follow(&packet);
	frame.psn_offset = length & 1 ? 0x123456 : 0;
	changed = rewrite_apply(&rewrite, &frame);
	require(frame.length <= length + 4 && frame.length + 4 >= length);
	if (!changed)
		require(frame.length == length &&
			!memcmp(frame.data, data + size - length, length));
	if (was_right && vl_parse(&packet, VL_LINK_ETHERNET, frame.data, frame.length,
				  frame.length) == VL_PARSE_ok)
		require(vl_icrc_is_right(&packet));
	free(frame.data);
	return 0;
}
