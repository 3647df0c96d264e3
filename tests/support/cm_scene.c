/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "tests/support/cm_scene.h"

#include <string.h>

void cm_scene_take_event(void *context, const struct vl_cm_event *event, uint64_t now)
{
	struct cm_owner *owner = context;
	const struct vl_cm_accept_param accept = {
		.conn = {.qpn = 0x200 + owner->side,
			 .responder_resources = owner->responder_resources,
			 .initiator_depth = 2,
			 .rnr_retry_count = 5},
		.qpn = 0x300,
		.qkey = VL_RDMA_UDP_QKEY,
		.private_data = "from the passive side",
		.private_data_length = 22,
	};
	int status = 0;

	CU_ASSERT_FATAL(owner->count < CM_SCENE_EVENTS);
	owner->events[owner->count++] = event->type;
	owner->connection = event->connection;
	owner->status = event->status;
	owner->private_data_length = event->private_data_length;
	if (event->private_data)
		memcpy(owner->private_data, event->private_data, event->private_data_length);
	owner->info_length = event->info_length;
	if (event->info)
		memcpy(owner->info, event->info, event->info_length);
	if (event->type == VL_CM_EVENT_CONNECT_REQUEST ||
	    event->type == VL_CM_EVENT_CONNECT_RESPONSE)
		owner->conn = event->param.conn;
	if (event->type == VL_CM_EVENT_ESTABLISHED)
		owner->ud = event->param.ud;
	if (owner->waits)
		return;
	if (event->type == VL_CM_EVENT_CONNECT_REQUEST)
		status = owner->refuses ? vl_cm_reject(event->connection, VL_CM_REJECT_CONSUMER,
						       "why", 3, "because", 8, now)
					: vl_cm_accept(event->connection, &accept, now);
	else if (event->type == VL_CM_EVENT_CONNECT_RESPONSE)
		status = owner->refuses ? vl_cm_reject(event->connection, VL_CM_REJECT_CONSUMER,
						       NULL, 0, NULL, 0, now)
					: vl_cm_establish(event->connection, "rtu", 4, now);
	CU_ASSERT_EQUAL(status, 0);
}

void cm_scene_open(struct cm_scene *scene, const struct cm_pair_options *options)
{
	struct vl_cm_listen_param listen = {
		.service_id = SERVICE,
		.qp_type = IBV_QPT_RC,
		.handler = {cm_scene_take_event, &scene->owners[1]},
	};
	int error = 0;

	memset(scene, 0, sizeof(*scene));
	scene->pair = cm_pair_open(options);
	for (unsigned int side = 0; side < 2; side++)
		scene->owners[side] = (struct cm_owner){
			.pair = scene->pair, .side = side, .responder_resources = 3};
	scene->listener = vl_cm_listen(scene->pair->cm[1], &listen, &error);
	CU_ASSERT_PTR_NOT_NULL_FATAL(scene->listener);
	listen.service_id = vl_rdma_service_id(VL_RDMA_PORT_SPACE_UDP, 7174);
	listen.qp_type = IBV_QPT_UD;
	CU_ASSERT_PTR_NOT_NULL(vl_cm_listen(scene->pair->cm[1], &listen, &error));
}

void cm_scene_close(struct cm_scene *scene)
{
	cm_pair_close(scene->pair);
}

struct vl_cm_connect_param cm_scene_param(struct cm_scene *scene)
{
	return (struct vl_cm_connect_param){
		.service_id = SERVICE,
		.qp_type = IBV_QPT_RC,
		.destination = cm_pair_gid(scene->pair, 1),
		.source_port = 4711,
		.conn = {.qpn = 0x100,
			 .responder_resources = 4,
			 .initiator_depth = 8,
			 .retry_count = 6,
			 .rnr_retry_count = 7},
		.private_data = "hello",
		.private_data_length = 6,
		.handler = {cm_scene_take_event, &scene->owners[0]},
	};
}

struct vl_cm_connection *cm_scene_connect(struct cm_scene *scene)
{
	struct vl_cm_connect_param param = cm_scene_param(scene);
	int error = 0;
	struct vl_cm_connection *connection =
		vl_cm_connect(scene->pair->cm[0], &param, scene->pair->now, &error);

	CU_ASSERT_EQUAL(error, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(connection);
	return connection;
}

uint32_t cm_scene_sent(const struct cm_scene *scene, unsigned int side,
		       enum vl_cm_attribute attribute)
{
	return scene->pair->sent[side][attribute - 0x10];
}

uint32_t cm_scene_in_use(const struct cm_scene *scene, unsigned int side)
{
	return vl_cm_usage(scene->pair->cm[side]).connections;
}
