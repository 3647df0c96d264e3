/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Streams beside the groups: frames from templates at a rate, without waiting for anybody (UDP,
 * TCP, RoCE to numbers that are given). Each stream is one worker's.
 */
#ifndef VERBLINE_GEN_STREAMS_H
#define VERBLINE_GEN_STREAMS_H

#include "apps/control/client.h"
#include "apps/gen/config.h"
#include "apps/host/session.h"
#include "dataplane/histogram.h"
#include "dataplane/stream/stream.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct gen_stream {
	const struct gen_stream_config *config;
	struct vl_stream *stream;
	uint64_t start, stop; /* ns, from gen_streams_start on; stop UINT64_MAX: until the end */
	uint64_t ended;       /* ns; 0: not yet */
	bool is_running;
	uint32_t local_qpn;    /* roce: of the first flow */
	uint8_t traffic_class; /* on the wire */
	uint8_t priority;
	double asked; /* per second, in the unit of its rate; 0: none */
	struct vl_histogram pacing;
};

/* Of one endpoint; its worker's while that runs. */
struct gen_streams {
	struct vl_stream_group *group;
	struct gen_stream *streams;
	uint32_t count;
	bool is_started;
};

/* Asks for the MACs of all streams' destinations: runs the host for that, up to 2 s. An exit
 * status. */
int gen_streams_resolve(struct vl_host_session *session, const struct gen_config *config);

/* What the peer must know of those whose partners it makes; returns how many they are, at most
 * GEN_MAX_STREAMS. */
uint32_t gen_streams_for_peer(const struct gen_streams *streams, struct vl_control_stream *wanted);
/* Those of a port and worker, held until they are started. An exit status; without any, streams is
 * empty. */
int gen_streams_open(struct gen_streams *streams, struct vl_host_session *session,
		     const struct gen_config *config, const struct vl_host_options *options,
		     uint32_t port, uint32_t worker);
/* After the host's end. */
void gen_streams_close(struct gen_streams *streams);
void gen_streams_start(struct gen_streams *streams, const struct gen_config *config,
		       uint64_t start);
/* Lets go and holds what is due. */
void gen_streams_poll(struct gen_streams *streams, uint64_t now);
uint64_t gen_streams_next_deadline(const struct gen_streams *streams);
/* All end now. */
void gen_streams_stop(struct gen_streams *streams, uint64_t now);
bool gen_streams_are_active(const struct gen_streams *streams);

/* Gb/s on the line while it ran. */
double gen_stream_line_rate(const struct gen_stream *stream);
/* In the unit of its rate. */
double gen_stream_sent(const struct gen_stream *stream);
/* Of that, what may be missing or too much as the end falls into a burst. */
double gen_stream_granularity(const struct gen_stream *stream);
/* With a heading before the first of several sets. */
void gen_streams_print(const struct gen_streams *streams, bool heading, FILE *out);
void gen_streams_json(const struct gen_streams *streams, json_t *list);

#endif
