/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * The generator on one endpoint: its share of each group's queue pairs, and the way to their peers.
 * Created and destroyed while no worker runs; in between, everything here is the endpoint's
 * worker's, called by it or by vl_host_call.
 */
#ifndef VERBLINE_GEN_APPLICATION_H
#define VERBLINE_GEN_APPLICATION_H

#include "apps/control/client.h"
#include "apps/gen/config.h"
#include "apps/gen/streams.h"
#include "dataplane/generate/generator.h"
#include "transport/cm/connection.h"

#include <stdbool.h>
#include <stdint.h>

/* Of the peer and its memory, where they are given. */
struct gen_given {
	uint32_t remote_qpn; /* of the first queue pair; the others follow */
	uint32_t remote_psn; /* the first that it sends */
	uint32_t remote_qkey;
	uint64_t remote_address;
	uint32_t rkey;
	bool has_memory;
	uint32_t local_qpn; /* 0: the device chooses */
	uint32_t local_psn;
	bool has_local_psn;
};

struct gen_application_config {
	const struct gen_config *config;
	struct gen_streams *streams; /* of the endpoint, outlive it */
	struct gen_given given;
	struct vl_endpoint *endpoint;
	uint32_t port, worker, worker_count;
	enum ibv_mtu path_mtu;
	uint64_t link_rate; /* bit/s */
	uint8_t dscp, pcp;  /* of groups that do not say */
	bool has_vlan;      /* else the priority of packets is that of their DSCP */
	uint64_t seed;
	uint64_t cm_seed; /* as vl_host_secret_seed */
};

/* What an application has of a group. */
struct gen_share {
	const struct gen_group *group;
	struct vl_generate_group *qps;
	uint32_t first, count; /* of the group's queue pairs */
	struct vl_histogram completion, pacing;
};

enum gen_state {
	GEN_CONNECTING,
	GEN_READY,   /* all queue pairs are connected */
	GEN_RUNNING, /* started */
	GEN_ENDING,  /* takes leave of the peer */
	GEN_DONE,
	GEN_FAILED,
};

struct gen_application {
	struct gen_application_config config;
	enum gen_state state;
	char error[512];
	struct vl_cm *cm;
	struct vl_generator *generator;
	struct vl_control_client *client; /* peer: control */
	struct gen_cm_peer *cm_peer;      /* peer: cm */
	struct gen_share *shares[GEN_MAX_GROUPS];
	uint32_t share_count;
	uint32_t given_connected; /* peer: given; queue pairs so far */
};

/* 0 or a negative errno value, and application->error says what failed. Without queue pairs on
 * this endpoint it is DONE. */
int gen_application_open(struct gen_application *application,
			 const struct gen_application_config *config, uint64_t now);
void gen_application_close(struct gen_application *application, uint64_t now);
/* READY: the groups begin at start. */
void gen_application_start(struct gen_application *application, uint64_t start);
/* Nothing is posted any more. */
void gen_application_stop(struct gen_application *application, uint64_t now);
/* Takes leave of the peer; then it is DONE, or FAILED. */
void gen_application_finish(struct gen_application *application, uint64_t now);
/* Whether a group still runs. */
bool gen_application_is_active(const struct gen_application *application);
/* bit/s or messages/s that a share was asked for; 0: none. */
double gen_share_asked(const struct gen_share *share);

/* cm_peer.c: connects the queue pairs of all shares to listeners. NULL: no memory. */
struct gen_cm_peer *gen_cm_peer_open(struct gen_application *application);
void gen_cm_peer_close(struct gen_cm_peer *peer, uint64_t now);
/* Goes on; sets the application's state when all are connected or one has failed. */
void gen_cm_peer_poll(struct gen_cm_peer *peer, uint64_t now);
/* Disconnects all; the application is DONE when that is over. */
void gen_cm_peer_finish(struct gen_cm_peer *peer, uint64_t now);

void gen_application_fail(struct gen_application *application, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
