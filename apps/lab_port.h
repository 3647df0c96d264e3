/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * What a node's port has done since the start of the run, whatever kind of node it is: the one
 * place that knows where each kind keeps its counters. To be called on the node's worker.
 */
#ifndef VERBLINE_APPS_LAB_PORT_H
#define VERBLINE_APPS_LAB_PORT_H

#include "apps/lab_fabric.h"
#include "apps/report/results.h"

#include <stdint.h>

/* Most queues, or virtual lanes, of a port. */
#define VL_LAB_QUEUES 15u

struct vl_lab_port_reading {
	uint64_t frames, bytes;             /* on the line, without what the line adds */
	uint64_t line_bits;                 /* on the line, all included */
	uint64_t marked;                    /* ECN CE or FECN, in the queue or on the line */
	uint64_t pauses, resumes;           /* PFC frames sent */
	uint64_t pause_ns, credit_stall_ns; /* priorities and lanes added */
	uint64_t longest_pause_ns, longest_credit_stall_ns; /* of one priority, of one lane */
	struct vl_link_drops drops;
	uint64_t packets; /* of data that a switch has sent, without its own pauses and credits */
	bool is_held;     /* packets wait, and PFC or the lack of credits keeps them */
	/* Of all queues of the port together; 0 where it has none. */
	unsigned __int128 queue_area;          /* bytes * ns */
	uint64_t queue_bytes, queue_watermark; /* now; the most of each since it was last reset */
};

void vl_lab_port_read(const struct vl_lab_fabric *fabric, unsigned int node, unsigned int port,
		      uint64_t now, struct vl_lab_port_reading *reading);
/* Bytes in the port's queues now. */
uint64_t vl_lab_port_queue_bytes(const struct vl_lab_fabric *fabric, unsigned int node,
				 unsigned int port, uint64_t now);
/* Of each queue. */
void vl_lab_port_watermarks(const struct vl_lab_fabric *fabric, unsigned int node,
			    unsigned int port, uint64_t watermarks[VL_LAB_QUEUES]);
/* They count from now on. */
void vl_lab_port_reset_watermarks(const struct vl_lab_fabric *fabric, unsigned int node,
				  unsigned int port);
uint64_t vl_link_drop_count(const struct vl_link_drops *drops);

#endif
