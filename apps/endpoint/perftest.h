/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * The server's side of perftest's one-way bandwidth tests with -R (ib_write_bw, ib_send_bw,
 * ib_read_bw over the RDMA connection manager), for its clients.
 *
 * Such a client opens a connection to exchange parameters, each side sending its own in turn, and
 * one more for each QP of the test, all to VL_PERFTEST_PORT of RDMA_PS_TCP. The server may send
 * what it was sent, but for its own key and addresses: it needs no parameters, as it takes messages
 * of any size and number. A connection is one for parameters if its first message is a version.
 *
 * Here is what a connection posts and makes of its completions; connection and QP are the owner's.
 */
#ifndef VERBLINE_APPS_ENDPOINT_PERFTEST_H
#define VERBLINE_APPS_ENDPOINT_PERFTEST_H

#include "transport/verbline.h"

#include <stdbool.h>
#include <stdint.h>

#define VL_PERFTEST_PORT  18515
#define VL_PERFTEST_DEPTH 512 /* of both queues of the QP */
#define VL_PERFTEST_SGE   2   /* of receives */
/* The longest message, perftest's own limit. */
#define VL_PERFTEST_MAX_MESSAGE (UINT32_C(8) << 20)

/* What clients read and write and send into: one for all connections, as nobody looks at it. */
struct vl_perftest_target;
struct vl_perftest_target *vl_perftest_target_open(struct vl_pd *pd, int *error);
void vl_perftest_target_close(struct vl_perftest_target *target); /* after all conversations */

struct vl_perftest;
/* gid: our address. NULL with -ENOMEM in *error. */
struct vl_perftest *vl_perftest_open(struct vl_perftest_target *target, const union ibv_gid *gid,
				     int *error);
/* After the QP has been destroyed. NULL is allowed. */
void vl_perftest_close(struct vl_perftest *perftest);
/* Posts receives, before the peer can send: the QP is in INIT or later. 0, or as vl_post_recv. */
int vl_perftest_prepare(struct vl_perftest *perftest, struct vl_qp *qp);
/* Takes a completion of either queue. False: the conversation has failed. */
bool vl_perftest_complete(struct vl_perftest *perftest, const struct ibv_wc *wc, uint64_t now);

#endif
