/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* A generator with a control client, host 1, and a control server, host 2, in virtual time. One
 * pair at a time: set_up() to tear_down(). */
#ifndef VERBLINE_TESTS_CONTROL_PAIR_H
#define VERBLINE_TESTS_CONTROL_PAIR_H

#include "apps/control/client.h"
#include "apps/control/server.h"
#include "dataplane/network.h"
#include "tests/support/hosts.h"
#include "tests/support/suite.h"

#define SECOND UINT64_C(1000000000)
#define RATE   UINT64_C(100000000000)

extern struct vl_network *network;
extern struct vl_endpoint *near, *far;
extern struct vl_cm *near_cm, *far_cm;
extern struct vl_generator *generator;
extern struct vl_control_server *server;
extern struct vl_control_client *client; /* NULL: none */
extern struct vl_generate_group *groups[4];
extern uint32_t group_count;
extern const struct vl_cc_parameters *group_cc; /* of groups to come; NULL: the device's */

/* Without a configuration the server has its defaults. loss: of frames, 0..1, on the link. */
void set_up(const struct vl_control_server_config *config, double loss);
void tear_down(void);
/* Of the generator; its messages are 20 a queue pair. */
void add_group(enum ibv_qp_type transport, enum vl_flow_verb verb, uint32_t size, uint32_t qps);
/* The client, for all groups. port 0: the usual one. */
void connect_to(uint16_t host, uint16_t port);
/* For so many ns. */
void run(uint64_t time);
void expect_state(enum vl_control_client_state state);

#endif
