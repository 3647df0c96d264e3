/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * The application of one endpoint, that is of one worker on one port: a connection manager,
 * services that listen, and clients that connect. Instances share nothing. Functions of the time;
 * opened and closed while its endpoint does not run, else used by the endpoint's thread alone.
 */
#ifndef VERBLINE_APPS_ENDPOINT_INSTANCE_H
#define VERBLINE_APPS_ENDPOINT_INSTANCE_H

#include "apps/control/message.h"
#include "apps/endpoint/conversation.h"
#include "apps/endpoint/notice.h"
#include "apps/endpoint/rping.h"
#include "apps/endpoint/session.h"
#include "apps/endpoint/ucmatose.h"
#include "apps/endpoint/udaddy.h"
#include "dataplane/endpoint.h"

#include <stdbool.h>
#include <stdint.h>

/* X(enumerator, name, TCP or UDP port, meaning) */
#define VL_INSTANCE_SERVICES(X)                                                                    \
	X(RPING, rping, VL_RPING_PORT, "rping servers")                                            \
	X(UCMATOSE, ucmatose, VL_UCMATOSE_PORT, "ucmatose servers")                                \
	X(UDADDY, udaddy, VL_UDADDY_PORT, "udaddy servers")                                        \
	X(EXERCISE, exercise, VL_EXERCISE_PORT, "the exercise of all RC operations")               \
	X(PERFTEST, perftest, VL_PERFTEST_PORT, "perftest's bandwidth tests with -R")              \
	X(CONTROL, control, VL_CONTROL_PORT, "queue pairs for other verblines")

enum vl_instance_service {
#define VL_INSTANCE_VALUE(enumerator, name, port, meaning) VL_INSTANCE_##enumerator,
	VL_INSTANCE_SERVICES(VL_INSTANCE_VALUE)
#undef VL_INSTANCE_VALUE
		VL_INSTANCE_SERVICE_COUNT
};
#define VL_INSTANCE_ALL_SERVICES ((1u << VL_INSTANCE_SERVICE_COUNT) - 1)
extern const char *const vl_instance_service_names[VL_INSTANCE_SERVICE_COUNT];
extern const uint16_t vl_instance_service_ports[VL_INSTANCE_SERVICE_COUNT];

/* Who connects, and to what; RPING, UCMATOSE, UDADDY or EXERCISE. */
struct vl_instance_client {
	enum vl_instance_service service;
	union ibv_gid destination;
	uint16_t port;        /* 0: the service's */
	uint32_t connections; /* in all */
	uint32_t at_a_time;   /* of these; 0: all; UDADDY: one after the other */
	uint64_t count;       /* pings or messages of each */
	uint32_t size;        /* bytes */
	bool validate, hold;  /* RPING */
	const char *refused;  /* EXERCISE */
};

struct vl_instance_config {
	uint64_t seed;
	uint8_t worker;         /* as in struct vl_cm_config */
	struct vl_cm_config cm; /* limits and times; seed and worker are filled in */
	uint32_t max_sessions;  /* 0: 16384 */
	unsigned int services;  /* bit n: enum vl_instance_service n listens */
	uint16_t rping_port;    /* 0: VL_RPING_PORT */
	uint32_t ucmatose_size; /* bytes of the server's messages; 0: 100 */
	/* Notification point of queue pairs that the control service makes; copied; NULL: the
	 * client's choice. */
	const struct vl_cc_parameters *notification;
	const struct vl_port *port;              /* as in struct vl_control_server_config */
	bool verbose;                            /* say each ping and request */
	bool quiet;                              /* do not say who comes and goes either */
	uint8_t traffic_class, service_level;    /* of what we connect */
	enum ibv_mtu path_mtu;                   /* of that; 0: the device's */
	const struct vl_instance_client *client; /* copied; NULL: none */
};

struct vl_instance;

/* Becomes the endpoint's application. NULL with a negative errno value in *error. */
struct vl_instance *vl_instance_open(struct vl_endpoint *endpoint,
				     const struct vl_instance_config *config, uint64_t now,
				     int *error);
/* Before the endpoint is destroyed. NULL is allowed. */
void vl_instance_close(struct vl_instance *instance, uint64_t now);
/* Listens no more and disconnects all. */
void vl_instance_stop(struct vl_instance *instance, uint64_t now);
/* The client's connections are over; without a client: no session is left. */
bool vl_instance_is_over(const struct vl_instance *instance);
/* The client has done all that it was to do. */
bool vl_instance_has_succeeded(const struct vl_instance *instance);
/* Lines for people; read by any one thread. */
struct vl_notices *vl_instance_notices(struct vl_instance *instance);

struct vl_instance_status {
	uint32_t sessions; /* at present */
	struct vl_session_counters session;
	struct vl_cm_counters cm;
	struct vl_cm_usage cm_usage;
	uint64_t rping_pings, rping_errors;
	struct vl_ucmatose_counters ucmatose;
	struct vl_udaddy_counters udaddy;
	uint64_t exercise_over, exercise_failures;
	uint32_t control_sessions;
	uint64_t control_requests, control_errors, control_qps;
	/* Of the client */
	uint64_t client_done;                /* pings, messages that came back, conversations */
	uint64_t client_over, client_failed; /* connections */
	uint64_t client_mismatches;
};
void vl_instance_status(const struct vl_instance *instance, struct vl_instance_status *status);
/* More services may be added there. */
struct vl_session_set *vl_instance_sessions(const struct vl_instance *instance);
/* ns a ping of the RPING client. */
const struct vl_histogram *vl_instance_round_trip(const struct vl_instance *instance);

/* Our address to speak to another from: of its family, with the longest common prefix. -1: none of
 * that family. */
int vl_choose_sgid_index(const struct vl_device *device, const union ibv_gid *destination);

#endif
