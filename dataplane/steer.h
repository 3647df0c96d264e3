/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Which of a host's workers a frame is for, from its bytes alone. A packet belongs to the worker
 * that has its destination QPN; QP1 exists on each, and a management datagram belongs to the worker
 * that made the communication or request ID in it, or, if it opens something new, to the one that a
 * hash of its sender and its ID gives, so that repetitions meet the same state.
 */
#ifndef VERBLINE_DATAPLANE_STEER_H
#define VERBLINE_DATAPLANE_STEER_H

#include <stdint.h>

/* QPNs of worker w are w << VL_HOST_QPN_SHIFT and up; so are its communication IDs in their
 * uppermost VL_HOST_WORKER_BITS. */
#define VL_HOST_WORKER_BITS 6
#define VL_HOST_QPN_SHIFT   (24 - VL_HOST_WORKER_BITS)

static inline uint32_t vl_host_qpn_worker(uint32_t qpn)
{
	return qpn >> VL_HOST_QPN_SHIFT;
}

/* Each worker is to see it: ARP, neighbour discovery, MAC control. */
#define VL_STEER_ALL UINT32_MAX

/* The worker, less than worker_count, or VL_STEER_ALL. self is who asks: what belongs to nobody in
 * particular is its own to drop. */
uint32_t vl_steer(const uint8_t *frame, uint32_t length, uint32_t worker_count, uint32_t self);

#endif
