/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/endpoint/conversation.h"

#include <errno.h>

/* ---- The exercise --------------------------------------------------------------------------- */

static void say(void *context, const char *line)
{
	vl_notice(context, "%s", line);
}

static int exercise_open(struct vl_session *session, bool is_server)
{
	const struct vl_exercise_side *side = session->service_context;
	const struct vl_exercise_config config = {
		.pd = vl_session_set_pd(session->set),
		.is_server = is_server,
		.refused = side->refused,
		.say = side->notices ? say : NULL,
		.context = side->notices,
	};
	int error = 0;
	struct vl_exercise *exercise = vl_exercise_open(&config, &error);

	if (!exercise)
		return error;
	error = vl_exercise_prepare(exercise, session->qp);
	if (error)
		vl_exercise_close(exercise);
	session->context = exercise;
	return error;
}

static int exercise_server_open(struct vl_session *session, uint64_t now)
{
	(void)now;
	return exercise_open(session, true);
}

static int exercise_client_open(struct vl_session *session, uint64_t now)
{
	(void)now;
	return exercise_open(session, false);
}

static void exercise_established(struct vl_session *session, uint64_t now)
{
	vl_exercise_begin(session->context, now);
}

static void exercise_completion(struct vl_session *session, const struct ibv_wc *wc, uint64_t now)
{
	vl_exercise_complete(session->context, wc, now);
	if (session->is_active && vl_exercise_is_over(session->context))
		vl_session_disconnect(session, "done", now);
}

static void exercise_closed(struct vl_session *session, uint64_t now)
{
	struct vl_exercise_side *side = session->service_context;

	(void)now;
	side->over++;
	side->failures += vl_exercise_failures(session->context);
	vl_exercise_close(session->context);
}

#define EXERCISE_CAP                                                                               \
	{                                                                                          \
		.max_send_wr = VL_EXERCISE_DEPTH, .max_recv_wr = VL_EXERCISE_DEPTH,                \
		.max_send_sge = 1, .max_recv_sge = 1                                               \
	}
#define EXERCISE_CONN                                                                              \
	{                                                                                          \
		.responder_resources = 1, .initiator_depth = 1, .retry_count = 7,                  \
		.rnr_retry_count = 7                                                               \
	}

const struct vl_session_service vl_exercise_server_service = {
	.name = "exercise",
	.cap = EXERCISE_CAP,
	.conn = EXERCISE_CONN,
	.open = exercise_server_open,
	.established = exercise_established,
	.completion = exercise_completion,
	.closed = exercise_closed,
};

const struct vl_session_service vl_exercise_client_service = {
	.name = "exercise",
	.cap = EXERCISE_CAP,
	.conn = EXERCISE_CONN,
	.open = exercise_client_open,
	.established = exercise_established,
	.completion = exercise_completion,
	.closed = exercise_closed,
};

/* ---- perftest ------------------------------------------------------------------------------- */

static int perftest_open(struct vl_session *session, uint64_t now)
{
	int error = 0;
	struct vl_perftest *perftest =
		vl_perftest_open(session->service_context, &session->local, &error);

	(void)now;
	if (!perftest)
		return error;
	error = vl_perftest_prepare(perftest, session->qp);
	if (error)
		vl_perftest_close(perftest);
	session->context = perftest;
	return error;
}

static void perftest_completion(struct vl_session *session, const struct ibv_wc *wc, uint64_t now)
{
	if (!vl_perftest_complete(session->context, wc, now))
		vl_session_disconnect(session, "failed: a message that is not perftest's", now);
}

static void perftest_closed(struct vl_session *session, uint64_t now)
{
	(void)now;
	vl_perftest_close(session->context);
}

const struct vl_session_service vl_perftest_server_service = {
	.name = "perftest",
	.cap = {.max_send_wr = VL_PERFTEST_DEPTH,
		.max_recv_wr = VL_PERFTEST_DEPTH,
		.max_send_sge = 1,
		.max_recv_sge = VL_PERFTEST_SGE},
	.conn = {.responder_resources = 16,
		 .initiator_depth = 16,
		 .retry_count = 7,
		 .rnr_retry_count = 7},
	.open = perftest_open,
	.completion = perftest_completion,
	.closed = perftest_closed,
};
