/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* One open-loop stream in a group of its own, and buffers that its frames are made in. */
#ifndef VERBLINE_TESTS_STREAM_RIG_H
#define VERBLINE_TESTS_STREAM_RIG_H

#include "dataplane/stream/stream.h"

#define LOCAL_QPN 0x100u
#define BUFFERS   5u /* no multiple of a batch, so that each length meets each buffer */
#define BUFFER    (VL_STREAM_HEADROOM + 9600 + VL_STREAM_TAILROOM)

extern const uint8_t pattern[9];
extern struct vl_stream_group *group;
extern struct vl_stream *stream;

struct vl_path_attr stream_test_path(bool ipv6, bool vlan);
/* Of two source ports, QPNs 7 and PSNs 3 apart. */
struct vl_stream_config stream_test_config(enum ibv_qp_type service, enum ibv_wr_opcode verb,
					   const struct vl_stream_size *sizes, uint32_t count);
void stream_test_open(const struct vl_stream_config *config, uint64_t now);
void stream_test_close(void);
/* Up to count frames into the buffers in turn; how many were made. */
uint32_t stream_test_make(uint64_t now, struct vl_stream_slot *slots, uint32_t count);

#endif
