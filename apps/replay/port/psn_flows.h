/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * How far the PSNs of a recording go, by flow, so that a repetition of it can carry on where the
 * one before ended. Acknowledgements and READ responses have the PSNs of the requests in the other
 * direction; which flow that is follows from the addresses and the PSNs themselves, as a capture
 * does not always say which QPs belong together.
 */
#ifndef VERBLINE_REPLAY_PORT_PSN_FLOWS_H
#define VERBLINE_REPLAY_PORT_PSN_FLOWS_H

#include "transport/wire/packet.h"

#include <stdint.h>

/* More are not told apart: their PSNs repeat. */
#define PSN_FLOWS_MOST 65536u

struct psn_flows;

/* NULL: no memory. */
struct psn_flows *psn_flows_new(void);
void psn_flows_free(struct psn_flows *flows); /* NULL is fine */
/* A packet of the first run through the recording, parsed well. */
void psn_flows_see(struct psn_flows *flows, const struct vl_packet *packet);
/* The first run is over. */
void psn_flows_settle(struct psn_flows *flows);
/* What is to be added to the PSN of this packet in each repetition, modulo 2^24, once for every run
 * that went before. */
uint32_t psn_flows_step(const struct psn_flows *flows, const struct vl_packet *packet);
/* Packets whose flow was one too many. */
uint64_t psn_flows_beyond(const struct psn_flows *flows);

#endif
