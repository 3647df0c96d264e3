/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Frames of known bytes through ports, for the tests of what leaves them and what comes in. */
#ifndef VERBLINE_TESTS_PORT_FRAMES_H
#define VERBLINE_TESTS_PORT_FRAMES_H

#include "dataplane/port/port.h"

#include <stdbool.h>
#include <stdint.h>

#define FRAME_ROOM 9100

/* Fills a frame of an EtherType for experiments with bytes that follow from seed and place. */
void frame_fill(uint8_t *frame, uint32_t length, uint32_t seed);
bool frame_is(const uint8_t *frame, uint32_t length, uint32_t seed);

/* Sends such a frame in buffers of the mempool, as many as it takes. False: the port takes none. */
bool port_send(struct vl_port *port, uint16_t queue, struct rte_mempool *mempool, uint32_t length,
	       uint32_t seed);
/* Waits up to a second, passing over frames of other EtherTypes, for one on any queue. Its length,
 * copied; 0: none came. */
uint32_t port_receive(struct vl_port *port, uint8_t frame[FRAME_ROOM]);

#endif
