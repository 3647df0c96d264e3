/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Shared by traffic.c, which runs flows, and flow.c, which sets them up, and by nobody else. */
#ifndef VERBLINE_DATAPLANE_FLOW_PRIVATE_H
#define VERBLINE_DATAPLANE_FLOW_PRIVATE_H

#include "dataplane/flow.h"
#include "dataplane/generate/generator.h"
#include "dataplane/generate/responder.h"

struct vl_flow {
	struct vl_flow_config config;
	struct vl_traffic *requester, *responder;
	struct vl_flow *next; /* of the requester */
	struct vl_generate_group *group;
	uint32_t first_responder; /* in the responder's set */
};

struct vl_traffic {
	struct vl_endpoint *endpoint;
	uint32_t largest_message;
	void *own_memory;
	struct vl_generator *generator;
	struct vl_responder_set *responders;
	struct vl_flow *flows;
};

#endif
