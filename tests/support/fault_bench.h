/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Two endpoints on a 100 Gb/s link in virtual time, traffic from the first to the second, faults on
 * either, and records of all frames: as they are on the wire (at the first one's port), and as each
 * endpoint's tap is told of them.
 */
#ifndef VERBLINE_TESTS_FAULT_BENCH_H
#define VERBLINE_TESTS_FAULT_BENCH_H

#include "dataplane/fault/fault.h"
#include "dataplane/flow.h"
#include "dataplane/network.h"
#include "tests/support/suite.h"
#include "transport/wire/opcode.h"
#include "transport/wire/parse.h"

#define BENCH_RATE        UINT64_C(100000000000)
#define BENCH_PROPAGATION UINT64_C(1000)
#define BENCH_COMMENT     160

enum { CLIENT, SERVER };

struct bench_frame {
	enum vl_direction direction; /* on the wire: of the client */
	uint64_t time;
	enum vl_parse_result result;
	bool icrc_right, is_pfc;
	uint8_t opcode, ecn, dscp, syndrome, pfc_enabled;
	uint16_t pfc_quanta3;
	uint32_t psn, destination_qpn, length, payload_length;
	char comment[BENCH_COMMENT];
};

struct bench_record {
	struct bench_frame *frames;
	unsigned int count, capacity;
};

struct bench {
	struct vl_network *network;
	struct vl_node *nodes[2];
	struct vl_traffic *traffic[2];
	struct vl_flow *flow;
	struct vl_fault *faults[2];
	struct bench_record wire, taps[2];
	/* Set before bench_open, as needed. */
	struct vl_fault_config fault_config[2]; /* used with events or a policy */
	bool has_faults[2];
	struct vl_cc_parameters *cc[2]; /* of the devices */
	struct vl_flow_config flow_config;
	uint64_t pfc_response_delay[2];
	enum vl_cnp_scope cnp_scope[2];
	/* Also shown every frame of a tap. */
	struct vl_frame_tap watcher[2];
};

/* All zero, with an RC WRITE flow of 20 messages of 8192 bytes (two packets each), 2 outstanding.
 */
void bench_init(struct bench *bench);
/* An event that matches every packet of a direction with an opcode or class ("" any). */
struct vl_fault_event bench_event(const char *name, uint8_t directions, const char *opcode,
				  enum vl_fault_action_kind kind);
/* Sets the events of one side and bench_open makes it all. */
void bench_faults(struct bench *bench, int side, const struct vl_fault_event *events,
		  unsigned int count);
void bench_open(struct bench *bench);
/* Runs until a time, ns. */
void bench_run(struct bench *bench, uint64_t until);
void bench_close(struct bench *bench);

struct vl_endpoint *bench_endpoint(const struct bench *bench, int side);
/* The flow's whole and right end. */
bool bench_is_done(const struct bench *bench);
/* The n-th (from 0) frame in a record with a direction and an opcode; NULL: none. */
const struct bench_frame *bench_find(const struct bench_record *record, enum vl_direction direction,
				     uint8_t opcode, unsigned int n);
unsigned int bench_count(const struct bench_record *record, enum vl_direction direction,
			 uint8_t opcode);
/* Frames whose comment contains text. */
unsigned int bench_comments(const struct bench_record *record, const char *text);
/* The PSN of the flow's first request, which is the first on the wire in tests that lose none. */
uint32_t bench_first_psn(const struct bench *bench);

#endif
