/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * What `verbline gen` is to do: groups of queue pairs, from a YAML file or from options, which are
 * overrides ("groups[0].qps=4") of a file with one group. Read by the tables in fields.c, checked
 * as a whole by config.c.
 */
#ifndef VERBLINE_GEN_CONFIG_H
#define VERBLINE_GEN_CONFIG_H

#include "apps/option.h"
#include "apps/scenario/scenario.h"
#include "apps/scenario/schema.h"
#include "dataplane/generate/generator.h"
#include "dataplane/stream/stream.h"

#include <stdbool.h>
#include <stdint.h>

#define GEN_MAX_QPS     20000u
#define GEN_MAX_GROUPS  64u
#define GEN_MAX_STREAMS 64u

/* How peers come to know each other. */
enum gen_peer {
	GEN_PEER_CONTROL, /* a verbline endpoint makes partners */
	GEN_PEER_CM,      /* the connection manager connects each queue pair to a listener */
	GEN_PEER_GIVEN,   /* numbers and keys are given */
};

/* A rate as it is asked for: "10Gb/s", "50%" of the line, or "1000/s" messages. */
struct gen_rate {
	uint64_t value; /* bit/s or messages/s; 0: none */
	double part;    /* of the line, 0..1; 0: value holds */
	bool is_messages;
};

enum gen_ecn {
	GEN_ECN_ECT0,
	GEN_ECN_ECT1,
	GEN_ECN_NOT_ECT,
};

struct gen_group {
	struct vl_section section;
	const char *name;
	uint64_t port; /* index of --port */
	uint64_t qps;
	unsigned int transport; /* enum vl_scenario_transport */
	unsigned int verb;
	const char *size, *mix;
	bool in_turn;
	uint64_t depth, messages, duration, start, stagger;
	const char *rate, *ramp_from;
	unsigned int per;    /* enum vl_rate_scope */
	unsigned int counts; /* enum vl_rate_count, of bits */
	uint64_t burst, ramp;
	bool aligned;
	unsigned int ecn; /* enum gen_ecn */
	uint64_t dscp, priority;
	uint64_t udp_source_port, udp_source_ports;
	uint64_t timeout, retries, rnr_retries;
	struct vl_scenario_cc cc;

	/* Worked out by config.c */
	struct vl_mix_config messages_mix;
	struct gen_rate asked, asked_from; /* of the group's own, or of all */
	bool shares_total;                 /* has a part of the total rate */
	uint32_t first_qp;                 /* in the run */
};

enum gen_stream_kind {
	GEN_STREAM_UDP,
	GEN_STREAM_TCP,
	GEN_STREAM_ROCE,
};

enum gen_stream_verb {
	GEN_STREAM_SEND,
	GEN_STREAM_WRITE,
};

struct gen_stream_config {
	struct vl_section section;
	const char *name;
	uint64_t port;
	unsigned int kind; /* enum gen_stream_kind */
	const char *to, *mac;
	uint64_t flows;
	uint64_t source_port, source_ports, destination_port;
	const char *size;
	bool in_order;
	const char *rate;
	uint64_t burst, frames, start, duration;
	unsigned int ecn; /* enum gen_ecn */
	uint64_t dscp, priority;
	/* roce */
	unsigned int transport; /* enum vl_scenario_transport */
	unsigned int verb;      /* enum gen_stream_verb */
	uint64_t remote_qpn, remote_psn, remote_address, rkey;
	struct vl_scenario_cc cc;

	/* Worked out by config.c */
	union ibv_gid destination;
	uint8_t destination_mac[6];
	bool by_peer; /* roce: the peer makes the partners */
	bool has_mac; /* else asked for before the run */
	struct gen_rate asked;
	struct vl_stream_size sizes[VL_MIX_MAX_ENTRIES];
	uint32_t size_count;
};

struct gen_config {
	struct vl_section section;
	const char *to;    /* the peer's address */
	unsigned int peer; /* enum gen_peer */
	uint64_t peer_port;
	uint64_t duration, warm_up; /* ns */
	const char *rate;           /* of all groups without one of their own */
	unsigned int counts;
	struct vl_list groups;  /* struct gen_group */
	struct vl_list streams; /* struct gen_stream_config */

	/* Worked out by config.c */
	union ibv_gid destination;
	uint32_t qp_count;
	uint32_t sharing_qps; /* of groups that share the total rate */
	uint32_t largest_message;
	struct vl_arena arena;
};

extern const struct vl_schema gen_config_schema, gen_group_schema, gen_stream_schema;

/* NULL: problems holds why. path_mtu: bytes, the largest that there may be. */
struct gen_config *gen_config_parse(const char *text, size_t length,
				    const struct vl_texts *overrides, uint32_t path_mtu,
				    struct vl_problems *problems);
void gen_config_free(struct gen_config *config);

/* mix.c: "64KiB, 1KiB..4KiB*3" or with verbs "write:64KiB*7, read:4KiB*3". -EINVAL: error says
 * why. */
int gen_mix_parse(const char *text, enum vl_flow_verb verb, struct vl_mix_config *mix, char *error,
		  size_t error_size);
int gen_rate_parse(const char *text, struct gen_rate *rate, char *error, size_t error_size);

extern const char *const gen_verb_names[];

#endif
