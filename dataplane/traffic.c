/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/flow_private.h"

#include <errno.h>
#include <stdlib.h>

static void poll_traffic(void *context, struct vl_endpoint *endpoint, uint64_t now)
{
	struct vl_traffic *traffic = context;

	(void)endpoint;
	vl_responder_set_poll(traffic->responders);
	vl_generator_poll(traffic->generator, now);
}

static uint64_t next_deadline(void *context)
{
	const struct vl_traffic *traffic = context;

	return vl_generator_next_deadline(traffic->generator);
}

struct vl_traffic *vl_traffic_create(struct vl_endpoint *endpoint,
				     const struct vl_traffic_config *config, int *error)
{
	struct vl_traffic *traffic = calloc(1, sizeof(*traffic));
	void *memory = config->memory;
	int status = -ENOMEM;

	if (!traffic)
		goto fail;
	traffic->endpoint = endpoint;
	traffic->largest_message = config->largest_message;
	if (!memory) {
		traffic->own_memory = calloc(1, vl_traffic_memory_size(config->largest_message));
		memory = traffic->own_memory;
	}
	if (!memory)
		goto fail;
	traffic->generator = vl_generator_create(
		endpoint->device, &(struct vl_generator_config){config->largest_message, memory},
		&status);
	if (!traffic->generator)
		goto fail;
	traffic->responders = vl_responder_set_create(
		endpoint->device,
		&(struct vl_responder_set_config){config->largest_message, memory}, &status);
	if (!traffic->responders)
		goto fail;
	vl_endpoint_set_application(endpoint,
				    &(struct vl_application){poll_traffic, next_deadline, traffic});
	return traffic;
fail:
	if (traffic)
		vl_traffic_destroy(traffic);
	if (error)
		*error = status;
	return NULL;
}

void vl_traffic_destroy(struct vl_traffic *traffic)
{
	struct vl_flow *flow;

	while ((flow = traffic->flows)) {
		traffic->flows = flow->next;
		free(flow);
	}
	if (traffic->endpoint->application.context == traffic)
		vl_endpoint_set_application(traffic->endpoint, &(struct vl_application){0});
	vl_generator_destroy(traffic->generator);
	vl_responder_set_destroy(traffic->responders);
	free(traffic->own_memory);
	free(traffic);
}

bool vl_traffic_is_finished(const struct vl_traffic *traffic)
{
	return vl_generator_is_finished(traffic->generator);
}
