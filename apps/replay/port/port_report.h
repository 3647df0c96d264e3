/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What a replay to a port did, for people and as JSON. */
#ifndef VERBLINE_REPLAY_PORT_REPORT_H
#define VERBLINE_REPLAY_PORT_REPORT_H

#include "apps/option.h"
#include "apps/replay/port/feed.h"
#include "apps/replay/port/port.h"
#include "dataplane/runtime/replay_stage.h"

#include <jansson.h>
#include <stdio.h>

struct replay_port_result {
	const struct replay_port_options *chosen;
	const struct vl_operands *operands; /* the files */
	const char *port;
	const struct feed *feed;
	const struct vl_replay_stage *stage;  /* the worker has stopped */
	struct vl_port_statistics statistics; /* of the port, in this run */
	uint64_t unsent;                      /* prepared, and left over at the end */
	bool interrupted;
};

void replay_port_report_text(const struct replay_port_result *result, FILE *out);
/* NULL: no memory. */
json_t *replay_port_report_json(const struct replay_port_result *result);

#endif
