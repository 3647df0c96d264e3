/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* A pair of connection managers with an owner on each side, who answers as a test wants it. */
#ifndef VERBLINE_TESTS_CM_SCENE_H
#define VERBLINE_TESTS_CM_SCENE_H

#include "tests/support/cm_pair.h"
#include "tests/support/suite.h"

#define SECOND  UINT64_C(1000000000)
#define SERVICE vl_rdma_service_id(VL_RDMA_PORT_SPACE_TCP, 7174)

#define CM_SCENE_EVENTS 64

/* What a side was told, and what its owner does about it. */
struct cm_owner {
	struct cm_pair *pair;
	unsigned int side;
	enum vl_cm_event_type events[CM_SCENE_EVENTS];
	uint32_t count;
	int status;
	struct vl_cm_connection *connection;
	struct vl_cm_conn_param conn;
	struct vl_cm_ud_param ud;
	uint8_t private_data[256];
	uint8_t private_data_length;
	uint8_t info[80], info_length;
	bool waits;   /* answers nothing by itself */
	bool refuses; /* requests and responses */
	uint8_t responder_resources;
};

/* Side 0 connects, side 1 listens. */
struct cm_scene {
	struct cm_pair *pair;
	struct cm_owner owners[2];
	struct vl_cm_listener *listener;
};

/* A handler whose context is the owner. */
void cm_scene_take_event(void *context, const struct vl_cm_event *event, uint64_t now);
void cm_scene_open(struct cm_scene *scene, const struct cm_pair_options *options);
void cm_scene_close(struct cm_scene *scene);
struct vl_cm_connect_param cm_scene_param(struct cm_scene *scene);
struct vl_cm_connection *cm_scene_connect(struct cm_scene *scene);
/* Messages of a kind that a side has sent. */
uint32_t cm_scene_sent(const struct cm_scene *scene, unsigned int side,
		       enum vl_cm_attribute attribute);
/* Connections of a side. */
uint32_t cm_scene_in_use(const struct cm_scene *scene, unsigned int side);

/* Whether that, and no more, is what a side was told. */
#define HAS_EVENTS(owner, ...)                                                                     \
	do {                                                                                       \
		const enum vl_cm_event_type wanted[] = {__VA_ARGS__};                              \
		CU_ASSERT_EQUAL((owner)->count, sizeof(wanted) / sizeof(wanted[0]));               \
		for (uint32_t n = 0; n < (owner)->count && n < sizeof(wanted) / sizeof(wanted[0]); \
		     n++)                                                                          \
			CU_ASSERT_STRING_EQUAL(vl_cm_event_name((owner)->events[n]),               \
					       vl_cm_event_name(wanted[n]));                       \
	} while (0)

#endif
