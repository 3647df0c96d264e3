/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* From the captures to the frames that the worker sends: read, rewritten, timed. Control thread. */
#ifndef VERBLINE_REPLAY_PORT_FEED_H
#define VERBLINE_REPLAY_PORT_FEED_H

#include "apps/replay/port/psn_flows.h"
#include "apps/replay/port/rewrite.h"
#include "apps/replay/port/schedule.h"
#include "apps/replay/port/source.h"
#include "dataplane/runtime/replay_stage.h"

#include <stdbool.h>
#include <stdint.h>

/* Why a recorded packet cannot be sent. */
#define FEED_SKIPS(X)                                                                              \
	X(cut, "cut when it was captured")                                                         \
	X(too_long, "longer than the port's MTU allows (--mtu)")                                   \
	X(no_ethernet, "no Ethernet frame, nor an IP packet that could become one")                \
	X(no_address, "an IP packet without a MAC header; say --rewrite dst-mac=ADDRESS")

enum feed_skip {
#define FEED_SKIP_VALUE(name, meaning) FEED_SKIP_##name,
	FEED_SKIPS(FEED_SKIP_VALUE)
#undef FEED_SKIP_VALUE
		FEED_SKIP_COUNT
};

struct feed {
	struct vl_replay_stage *stage;
	struct source *source;
	struct psn_flows *flows; /* NULL: PSNs repeat */
	struct rewrite rewrite;
	struct schedule schedule;
	uint8_t mac[6];        /* of packets that were recorded without one */
	uint32_t frame_length; /* longest */
	uint64_t runs;         /* asked for; 0: without end */

	uint64_t run; /* under way, from 0 */
	uint64_t read, prepared, rewritten;
	uint64_t prepared_in_run;
	uint64_t skipped[FEED_SKIP_COUNT];
	struct vl_capture_packet packet;
	uint64_t time;
	char message[SOURCE_MESSAGE]; /* after FEED_FAILED */
};

enum feed_result {
	FEED_WAITS, /* there is no room for a frame now */
	FEED_GOES_ON,
	FEED_DONE, /* everything is prepared */
	FEED_FAILED,
};

/* Prepares a number of frames. */
enum feed_result feed_step(struct feed *feed);
const char *feed_skip_meaning(enum feed_skip skip);
const char *feed_skip_name(enum feed_skip skip);

#endif
