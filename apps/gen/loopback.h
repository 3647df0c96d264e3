/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The peer in the same process: the control service on a second port. */
#ifndef VERBLINE_GEN_LOOPBACK_H
#define VERBLINE_GEN_LOOPBACK_H

#include "apps/control/server.h"
#include "dataplane/endpoint.h"

#include <stdint.h>

struct gen_loopback {
	struct vl_endpoint *endpoint;
	struct vl_cm *cm;
	struct vl_control_server *server;
};

/* Becomes the endpoint's application. 0 or a negative errno value. */
int gen_loopback_open(struct gen_loopback *loopback, struct vl_endpoint *endpoint, uint8_t worker,
		      uint64_t now);
void gen_loopback_close(struct gen_loopback *loopback, uint64_t now);

#endif
