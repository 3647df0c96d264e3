/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The exercise, both sides, and perftest's server as services of sessions. */
#ifndef VERBLINE_APPS_ENDPOINT_CONVERSATION_H
#define VERBLINE_APPS_ENDPOINT_CONVERSATION_H

#include "apps/endpoint/exercise.h"
#include "apps/endpoint/perftest.h"
#include "apps/endpoint/session.h"

/* Their service_context: struct vl_exercise_side. */
extern const struct vl_session_service vl_exercise_server_service;
extern const struct vl_session_service vl_exercise_client_service;

struct vl_exercise_side {
	const char *refused;        /* client: as in struct vl_exercise_config */
	struct vl_notices *notices; /* each request and message; may be NULL */
	/* Results */
	uint64_t over;     /* conversations */
	uint64_t failures; /* as vl_exercise_failures, of all */
};

/* Its service_context: the target. */
extern const struct vl_session_service vl_perftest_server_service;

#endif
