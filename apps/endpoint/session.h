/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Sessions: RC or UC connections with a queue pair each, in either role, for services that only
 * want to post and to be told of completions. A set makes and connects the queue pairs, waits for
 * neighbours, shares one domain and one completion queue, watches over the end, and keeps a record
 * of each session. Functions of the time, one thread; bounded by max_sessions.
 *
 * A service is a struct vl_session_service. Of each session it is told, in this order:
 *   open         the queue pair is in INIT: make what the session needs, post receives
 *   established  the peer may be sent to
 *   completion   of either queue, in order; the last ones are flushes
 *   closed       the queue pair is gone: free what open has made
 * After open has failed nothing follows; otherwise closed always does, and established and
 * completion may not.
 */
#ifndef VERBLINE_APPS_ENDPOINT_SESSION_H
#define VERBLINE_APPS_ENDPOINT_SESSION_H

#include "apps/endpoint/notice.h"
#include "transport/cm/connection.h"
#include "transport/counter_field.h"
#include "transport/list.h"

#include <stdbool.h>
#include <stdint.h>

struct vl_session;
struct vl_session_set;

struct vl_session_service {
	const char *name;
	struct ibv_qp_cap cap; /* of its queue pairs */
	bool uses_srq;         /* receives come from what vl_session_set_srq was given */
	/* READs and atomics at a time, either way; retries; flow control. qpn is the set's. */
	struct vl_cm_conn_param conn;
	uint8_t least_rnr_retry; /* of its own queue pairs, though the peer asks for less */
	/* 0, or a negative errno value: the peer is refused. */
	int (*open)(struct vl_session *session, uint64_t now);
	void (*established)(struct vl_session *session, uint64_t now); /* may be NULL */
	/* wr_id UINT64_MAX is the set's. */
	void (*completion)(struct vl_session *session, const struct ibv_wc *wc, uint64_t now);
	/* Now and then, of what brings no completion; may be NULL. */
	void (*check)(struct vl_session *session, uint64_t now);
	void (*closed)(struct vl_session *session, uint64_t now); /* may be NULL */
};

/* A session, while it lasts. */
struct vl_session {
	struct vl_session_set *set;
	const struct vl_session_service *service;
	void *service_context; /* as given to listen or connect */
	void *context;         /* the service's, of this session */
	struct vl_qp *qp;
	union ibv_gid local, remote;
	uint16_t remote_port; /* 0: not known */
	bool is_active;
	bool is_established;

	/* The set's own. */
	struct vl_cm_connection *connection; /* NULL: over */
	struct vl_link link;                 /* of all, in the order of check_time */
	struct vl_link waiting_link;         /* of those that wait for a neighbour */
	struct vl_link checked_link;         /* of those that the service is to check */
	struct vl_link closing_link;         /* of those that are over but for completions */
	struct vl_session *next_by_qpn;
	uint64_t opened, established, ended; /* ns; 0: not */
	uint64_t give_up_time;
	uint64_t check_time; /* ns: whether the peer lives */
	uint64_t received;   /* packets at the last check */
	bool is_open;        /* the service has opened it */
	bool is_probed;
	bool is_ending;
	char end[80]; /* how it ended */
};

/* What is kept of a session that is over. */
struct vl_session_record {
	const char *service;
	union ibv_gid remote;
	uint16_t remote_port;
	bool is_active;
	uint32_t local_qpn, remote_qpn;
	uint64_t opened, established, ended; /* ns; 0: not */
	char end[80];
	struct vl_counters counters;
};

#define VL_SESSION_COUNTERS(X)                                                                     \
	X(requested, "sessions", "asked for by peers")                                             \
	X(connecting, "sessions", "asked for by us")                                               \
	X(refused, "sessions", "refused by us")                                                    \
	X(rejected, "sessions", "refused by peers")                                                \
	X(unreachable, "sessions", "given up, as no answer or no neighbour was there")             \
	X(established, "sessions", "established")                                                  \
	X(ended, "sessions", "ended after they were established")                                  \
	X(failed, "sessions", "ended by a work request that completed in error")

struct vl_session_counters {
	VL_SESSION_COUNTERS(VL_COUNTER_FIELD)
};

struct vl_session_set_config {
	struct vl_device *device;
	struct vl_cm *cm;                     /* polled by the caller, before vl_session_set_poll */
	uint32_t max_sessions;                /* 0: 16384 */
	uint32_t max_records;                 /* of sessions that are over, the newest; 0: 1024 */
	uint8_t traffic_class, service_level; /* of sessions that we open */
	enum ibv_mtu path_mtu;                /* of these; 0: the device's */
	uint8_t ack_timeout;                  /* of these; 0: 14 */
	uint64_t keep_alive;        /* ns without a packet, after which a peer is probed; 0: 10 s */
	struct vl_notices *notices; /* who came and went; may be NULL */
};

struct vl_session_set *vl_session_set_open(const struct vl_session_set_config *config, int *error);
/* Ends all sessions at once; peers may not hear of it (see vl_session_set_stop). Before what their
 * queue pairs use is freed. */
void vl_session_set_clear(struct vl_session_set *set, uint64_t now);
/* Clears first. NULL is allowed. */
void vl_session_set_close(struct vl_session_set *set, uint64_t now);
/* Takes completions and retries what waited. Call whenever the endpoint polls. */
void vl_session_set_poll(struct vl_session_set *set, uint64_t now);
uint64_t vl_session_set_next_deadline(const struct vl_session_set *set);
/* Listens no more, and disconnects all. */
void vl_session_set_stop(struct vl_session_set *set, uint64_t now);
struct vl_pd *vl_session_set_pd(const struct vl_session_set *set);
void vl_session_set_srq(struct vl_session_set *set, struct vl_srq *srq);
const struct vl_session_counters *vl_session_set_counters(const struct vl_session_set *set);
/* Sessions at present, in any state. */
uint32_t vl_session_set_count(const struct vl_session_set *set);
/* Records, oldest first: calls see for each. */
void vl_session_set_records(const struct vl_session_set *set,
			    void (*see)(void *context, const struct vl_session_record *record),
			    void *context);

/* Takes connections to a port of RDMA_PS_TCP. 0, or as vl_cm_listen. The service must outlive the
 * set. */
int vl_session_listen(struct vl_session_set *set, const struct vl_session_service *service,
		      uint16_t port, void *service_context);

struct vl_session_connect {
	const struct vl_session_service *service;
	void *service_context;
	union ibv_gid destination;
	uint16_t port;
	uint8_t sgid_index;
};
/* NULL with a negative errno value in *error. What becomes of it is told to the service. */
struct vl_session *vl_session_connect(struct vl_session_set *set,
				      const struct vl_session_connect *connect, uint64_t now,
				      int *error);
/* Ends a session, for a reason that its record and the notices give. */
void vl_session_disconnect(struct vl_session *session, const char *why, uint64_t now);

#endif
