/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The set, and the making and unmaking of its sessions. */

#include "apps/endpoint/session.h"

#include "apps/endpoint/session_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_SESSIONS   16384u
#define DEFAULT_RECORDS    1024u
#define DEFAULT_KEEP_ALIVE UINT64_C(10000000000)
#define FIRST_CQ_ENTRIES   1024u

/* ---- The set -------------------------------------------------------------------------------- */

struct vl_session_set *vl_session_set_open(const struct vl_session_set_config *config, int *error)
{
	struct vl_session_set *set = calloc(1, sizeof(*set));

	*error = -ENOMEM;
	if (!set)
		return NULL;
	set->config = *config;
	vl_list_init(&set->sessions);
	vl_list_init(&set->waiting);
	vl_list_init(&set->checked);
	vl_list_init(&set->closing);
	if (!set->config.max_sessions)
		set->config.max_sessions = DEFAULT_SESSIONS;
	if (!set->config.max_records)
		set->config.max_records = DEFAULT_RECORDS;
	if (!set->config.keep_alive)
		set->config.keep_alive = DEFAULT_KEEP_ALIVE;
	set->records = calloc(set->config.max_records, sizeof(*set->records));
	set->cq_entries = FIRST_CQ_ENTRIES;
	if (set->records)
		set->pd = vl_alloc_pd(config->device, error);
	if (set->pd)
		set->cq = vl_create_cq(config->device, set->cq_entries, set, error);
	if (set->cq)
		return set;
	vl_session_set_close(set, 0);
	return NULL;
}

void vl_session_set_clear(struct vl_session_set *set, uint64_t now)
{
	while (!vl_list_is_empty(&set->sessions)) {
		struct vl_session *session =
			VL_CONTAINER(set->sessions.next, struct vl_session, link);

		if (session->connection)
			vl_cm_destroy(session->connection, now);
		if (!session->end[0])
			snprintf(session->end, sizeof(session->end), "closed here");
		vl_session_destroy(session, now);
	}
}

void vl_session_set_close(struct vl_session_set *set, uint64_t now)
{
	if (!set)
		return;
	vl_session_set_clear(set, now);
	while (set->listeners) {
		struct vl_session_listener *listener = set->listeners;

		set->listeners = listener->next;
		vl_cm_stop_listening(listener->cm_listener);
		free(listener);
	}
	if (set->cq)
		vl_destroy_cq(set->cq);
	if (set->pd)
		vl_dealloc_pd(set->pd);
	free(set->records);
	free(set);
}

void vl_session_set_stop(struct vl_session_set *set, uint64_t now)
{
	for (struct vl_session_listener *listener = set->listeners; listener;
	     listener = listener->next)
		vl_cm_stop_listening(listener->cm_listener);
	for (struct vl_link *link = set->sessions.next, *next; link != &set->sessions;
	     link = next) {
		next = link->next;
		vl_session_disconnect(VL_CONTAINER(link, struct vl_session, link), "closed here",
				      now);
	}
}

struct vl_pd *vl_session_set_pd(const struct vl_session_set *set)
{
	return set->pd;
}

void vl_session_set_srq(struct vl_session_set *set, struct vl_srq *srq)
{
	set->srq = srq;
}

const struct vl_session_counters *vl_session_set_counters(const struct vl_session_set *set)
{
	return &set->counters;
}

uint32_t vl_session_set_count(const struct vl_session_set *set)
{
	return set->count;
}

void vl_session_set_records(const struct vl_session_set *set,
			    void (*see)(void *context, const struct vl_session_record *record),
			    void *context)
{
	uint32_t size = set->config.max_records;

	for (uint32_t i = set->record_count; i; i--)
		see(context, &set->records[(set->record_next + size - i) % size]);
}

/* ---- Making and unmaking -------------------------------------------------------------------- */

/* Room for all that a queue pair may complete at a time. */
static int commit_completions(struct vl_session_set *set, uint32_t entries)
{
	uint32_t size = set->cq_entries;
	int result;

	while (size < set->cq_committed + entries)
		size *= 2;
	if (size != set->cq_entries) {
		result = vl_resize_cq(set->cq, size);
		if (result)
			return result;
		set->cq_entries = size;
	}
	set->cq_committed += entries;
	return 0;
}

static uint32_t entries_of(const struct vl_session_service *service)
{
	return service->cap.max_send_wr + 1 + service->cap.max_recv_wr;
}

struct vl_session *vl_session_create(struct vl_session_set *set,
				     const struct vl_session_service *service,
				     void *service_context, enum ibv_qp_type type, uint64_t now,
				     int *error)
{
	struct vl_qp_init_attr attr = {
		.send_cq = set->cq,
		.recv_cq = set->cq,
		.srq = service->uses_srq ? set->srq : NULL,
		.cap = service->cap,
		.qp_type = type,
	};
	struct vl_session *session;
	uint32_t bucket;

	attr.cap.max_send_wr++; /* to keep it alive */
	*error = -ENOSPC;
	if (set->count >= set->config.max_sessions)
		return NULL;
	*error = -ENOMEM;
	session = calloc(1, sizeof(*session));
	if (!session)
		return NULL;
	if (commit_completions(set, entries_of(service))) {
		free(session);
		return NULL;
	}
	session->qp = vl_create_qp(set->pd, &attr, error);
	if (!session->qp) {
		set->cq_committed -= entries_of(service);
		free(session);
		return NULL;
	}
	session->set = set;
	session->service = service;
	session->service_context = service_context;
	session->opened = now;
	session->check_time = now + set->config.keep_alive;
	bucket = vl_qp_number(session->qp) % VL_SESSION_BUCKETS;
	session->next_by_qpn = set->by_qpn[bucket];
	set->by_qpn[bucket] = session;
	vl_list_append(&set->sessions, &session->link);
	if (service->check)
		vl_list_append(&set->checked, &session->checked_link);
	set->count++;
	return session;
}

static void keep_record(struct vl_session *session)
{
	struct vl_session_set *set = session->set;
	struct vl_session_record *record = &set->records[set->record_next];
	struct ibv_qp_attr attr;
	struct vl_qp_init_attr init;

	set->record_next = (set->record_next + 1) % set->config.max_records;
	if (set->record_count < set->config.max_records)
		set->record_count++;
	vl_query_qp(session->qp, &attr, &init);
	*record = (struct vl_session_record){
		.service = session->service->name,
		.remote = session->remote,
		.remote_port = session->remote_port,
		.is_active = session->is_active,
		.local_qpn = vl_qp_number(session->qp),
		.remote_qpn = attr.dest_qp_num,
		.opened = session->opened,
		.established = session->established,
		.ended = session->ended,
		.counters = *vl_qp_counters(session->qp),
	};
	memcpy(record->end, session->end, sizeof(record->end));
}

void vl_session_destroy(struct vl_session *session, uint64_t now)
{
	struct vl_session_set *set = session->set;
	struct vl_session **link = &set->by_qpn[vl_qp_number(session->qp) % VL_SESSION_BUCKETS];

	while (*link != session)
		link = &(*link)->next_by_qpn;
	*link = session->next_by_qpn;
	if (!session->ended)
		session->ended = now;
	keep_record(session);
	vl_list_remove(&session->link);
	vl_list_remove(&session->waiting_link);
	vl_list_remove(&session->checked_link);
	vl_list_remove(&session->closing_link);
	vl_destroy_qp(session->qp);
	set->cq_committed -= entries_of(session->service);
	set->count--;
	if (session->is_open && session->service->closed)
		session->service->closed(session, now);
	free(session);
}
