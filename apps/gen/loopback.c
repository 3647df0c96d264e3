/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/gen/loopback.h"

static void poll_loopback(void *context, struct vl_endpoint *endpoint, uint64_t now)
{
	struct gen_loopback *loopback = context;

	(void)endpoint;
	vl_cm_poll(loopback->cm, now);
	vl_control_server_poll(loopback->server, now);
}

static uint64_t next_deadline(void *context)
{
	const struct gen_loopback *loopback = context;
	uint64_t deadline = vl_cm_next_deadline(loopback->cm);
	uint64_t other = vl_control_server_next_deadline(loopback->server);

	return other < deadline ? other : deadline;
}

int gen_loopback_open(struct gen_loopback *loopback, struct vl_endpoint *endpoint, uint8_t worker,
		      uint64_t now)
{
	const struct vl_cm_config config = {.seed = worker + 1, .worker = worker};
	int status = 0;

	*loopback = (struct gen_loopback){.endpoint = endpoint};
	loopback->cm = vl_cm_open(endpoint->device, &config, now, &status);
	if (loopback->cm)
		loopback->server =
			vl_control_server_open(endpoint->device, loopback->cm, NULL, &status);
	if (!status)
		vl_endpoint_set_application(
			endpoint, &(struct vl_application){poll_loopback, next_deadline, loopback});
	return status;
}

void gen_loopback_close(struct gen_loopback *loopback, uint64_t now)
{
	if (!loopback->endpoint)
		return;
	vl_endpoint_set_application(loopback->endpoint, &(struct vl_application){0});
	vl_control_server_close(loopback->server, now);
	if (loopback->cm)
		vl_cm_close(loopback->cm);
	*loopback = (struct gen_loopback){0};
}
