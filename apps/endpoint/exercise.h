/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * A conversation that uses all of RC: SEND and WRITE with and without immediate, empty, in one
 * packet and in several; READ, atomics, memory windows and SEND with invalidate; or one request
 * that the responder must refuse. tests/interop/exercise.c is the same over librdmacm.
 *
 * The server listens on VL_EXERCISE_PORT of RDMA_PS_TCP. Its first message tells the client where
 * its memory is; then the client acts, one request at a time, and ends with a SEND with immediate
 * VL_EXERCISE_FINISH. Every message is bytes of a known pattern, which both sides check.
 *
 * Here is what either side posts and makes of its completions; connection and QP are the owner's.
 */
#ifndef VERBLINE_APPS_ENDPOINT_EXERCISE_H
#define VERBLINE_APPS_ENDPOINT_EXERCISE_H

#include "transport/verbline.h"

#include <stdbool.h>
#include <stdint.h>

#define VL_EXERCISE_PORT   18516
#define VL_EXERCISE_DEPTH  32 /* of both queues of the QP; one SGE is enough */
#define VL_EXERCISE_FINISH 0xffffffffu

struct vl_exercise;

struct vl_exercise_config {
	struct vl_pd *pd;
	bool is_server;
	/* Client: the one request to send, which must be refused (vl_exercise_refused_requests);
	 * NULL: all that must succeed. */
	const char *refused;
	/* Each request and message in a line; may be NULL. The text is valid during the call. */
	void (*say)(void *context, const char *line);
	void *context;
};

/* Ends with NULL. */
extern const char *const vl_exercise_refused_requests[];

/* NULL with -EINVAL (no such request) or -ENOMEM in *error. */
struct vl_exercise *vl_exercise_open(const struct vl_exercise_config *config, int *error);
/* After the QP has been destroyed. NULL is allowed. */
void vl_exercise_close(struct vl_exercise *exercise);
/* Posts receives, before the peer can send: the QP is in INIT or later. 0, or as vl_post_recv. */
int vl_exercise_prepare(struct vl_exercise *exercise, struct vl_qp *qp);
/* The QP may send. */
void vl_exercise_begin(struct vl_exercise *exercise, uint64_t now);
/* Takes a completion of either queue, in order. */
void vl_exercise_complete(struct vl_exercise *exercise, const struct ibv_wc *wc, uint64_t now);
/* Nothing more will be posted: the client disconnects, the server waits for that or does so. */
bool vl_exercise_is_over(const struct vl_exercise *exercise);
/* What was not as it must be: requests not completed as they must, data, things left undone. Of a
 * client that was to be refused: 1 if it was not. */
uint32_t vl_exercise_failures(const struct vl_exercise *exercise);

#endif
