/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What the files of sessions share. */
#ifndef VERBLINE_APPS_ENDPOINT_SESSION_PRIVATE_H
#define VERBLINE_APPS_ENDPOINT_SESSION_PRIVATE_H

#include "apps/endpoint/session.h"

#define VL_SESSION_BUCKETS 4096u /* QPNs are given out in a row, so they spread evenly */

struct vl_session_listener {
	struct vl_session_set *set;
	const struct vl_session_service *service;
	void *service_context;
	struct vl_cm_listener *cm_listener;
	struct vl_session_listener *next;
};

struct vl_session_set {
	struct vl_session_set_config config;
	struct vl_pd *pd;
	struct vl_cq *cq;
	struct vl_srq *srq;
	uint32_t cq_entries, cq_committed;
	uint32_t count;
	struct vl_link sessions, waiting, checked;
	struct vl_link closing; /* to be destroyed when the CQ has been seen empty */
	uint64_t retry_time;
	uint64_t next_check; /* ns */
	bool has_more;
	struct vl_session *by_qpn[VL_SESSION_BUCKETS];
	struct vl_session_listener *listeners;
	struct vl_session_counters counters;
	uint32_t record_next, record_count;
	struct vl_session_record *records;
};

/* session.c. A session with its queue pair in RESET. NULL with *error. */
struct vl_session *vl_session_create(struct vl_session_set *set,
				     const struct vl_session_service *service,
				     void *service_context, enum ibv_qp_type type, uint64_t now,
				     int *error);
/* With its queue pair; the connection is over. */
void vl_session_destroy(struct vl_session *session, uint64_t now);

/* session_connection.c. Brings the queue pair on, and answers the peer; or waits for a neighbour.
 */
void vl_session_proceed(struct vl_session *session, uint64_t now);
/* The peer may be sent to; once. */
void vl_session_establish(struct vl_session *session, uint64_t now);

#endif
