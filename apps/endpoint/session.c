/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/endpoint/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/endpoint/status.h"
#include "apps/host/addresses.h"

#define DEFAULT_SESSIONS 16384u
#define DEFAULT_RECORDS  1024u
#define FIRST_CQ_ENTRIES 1024u
#define BUCKETS          4096u /* QPNs are given out in a row, so they spread evenly */
#define POLL_BATCH       32
#define POLL_BUDGET      1024u
/* Between two questions for a neighbour's MAC, and how long they go on. */
#define RETRY_TIME   UINT64_C(1000000)
#define GIVE_UP_TIME UINT64_C(5000000000)
/* Of a WRITE of nothing, which any peer that lives acknowledges and none takes notice of. */
#define KEEP_ALIVE_WR_ID   UINT64_MAX
#define DEFAULT_KEEP_ALIVE UINT64_C(10000000000)

struct listener {
	struct vl_session_set *set;
	const struct vl_session_service *service;
	void *service_context;
	struct vl_cm_listener *cm_listener;
	struct listener *next;
};

struct vl_session_set {
	struct vl_session_set_config config;
	struct vl_pd *pd;
	struct vl_cq *cq;
	struct vl_srq *srq;
	uint32_t cq_entries, cq_committed;
	uint32_t count;
	struct vl_link sessions, waiting;
	uint64_t retry_time;
	bool has_more;
	struct vl_session *by_qpn[BUCKETS];
	struct listener *listeners;
	struct vl_session_counters counters;
	uint32_t record_next, record_count;
	struct vl_session_record *records;
};

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

static void destroy(struct vl_session *session, uint64_t now);

void vl_session_set_clear(struct vl_session_set *set, uint64_t now)
{
	while (!vl_list_is_empty(&set->sessions)) {
		struct vl_session *session =
			VL_CONTAINER(set->sessions.next, struct vl_session, link);

		if (session->connection)
			vl_cm_destroy(session->connection, now);
		if (!session->end[0])
			snprintf(session->end, sizeof(session->end), "closed here");
		destroy(session, now);
	}
}

void vl_session_set_close(struct vl_session_set *set, uint64_t now)
{
	if (!set)
		return;
	vl_session_set_clear(set, now);
	while (set->listeners) {
		struct listener *listener = set->listeners;

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
	for (struct listener *listener = set->listeners; listener; listener = listener->next)
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

static struct vl_session *create(struct vl_session_set *set,
				 const struct vl_session_service *service, void *service_context,
				 enum ibv_qp_type type, uint64_t now, int *error)
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
	bucket = vl_qp_number(session->qp) % BUCKETS;
	session->next_by_qpn = set->by_qpn[bucket];
	set->by_qpn[bucket] = session;
	vl_list_append(&set->sessions, &session->link);
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

/* With its queue pair; the connection is over. */
static void destroy(struct vl_session *session, uint64_t now)
{
	struct vl_session_set *set = session->set;
	struct vl_session **link = &set->by_qpn[vl_qp_number(session->qp) % BUCKETS];

	while (*link != session)
		link = &(*link)->next_by_qpn;
	*link = session->next_by_qpn;
	if (!session->ended)
		session->ended = now;
	keep_record(session);
	vl_list_remove(&session->link);
	vl_list_remove(&session->waiting_link);
	vl_destroy_qp(session->qp);
	set->cq_committed -= entries_of(session->service);
	set->count--;
	if (session->is_open && session->service->closed)
		session->service->closed(session, now);
	free(session);
}

static int to_state(struct vl_session *session, enum ibv_qp_state state, uint64_t now)
{
	struct ibv_qp_attr attr;
	int mask;
	int result = vl_cm_init_qp_attr(session->connection, state, &attr, &mask);

	return result ? result : vl_modify_qp(session->qp, &attr, mask, now);
}

static void to_error(struct vl_session *session, uint64_t now)
{
	const struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

	vl_modify_qp(session->qp, &attr, IBV_QP_STATE, now);
}

static int open_service(struct vl_session *session, uint64_t now)
{
	int error = session->service->open(session, now);

	session->is_open = !error;
	return error;
}

static void describe(struct vl_session *session)
{
	struct vl_cm_info info;

	vl_cm_query(session->connection, &info);
	session->local = info.local_gid;
	session->remote = info.remote_gid;
	if (!session->is_active)
		session->remote_port = info.remote_port;
}

/* ---- Who comes and goes --------------------------------------------------------------------- */

static void set_end(struct vl_session *session, const char *why, uint64_t now)
{
	if (session->ended)
		return;
	session->ended = now;
	snprintf(session->end, sizeof(session->end), "%s", why);
}

static void tell_end(const struct vl_session *session)
{
	const struct vl_counters *counters = vl_qp_counters(session->qp);
	char remote[VL_ADDRESS_TEXT];

	vl_notice(session->set->config.notices,
		  "%s: %s port %u, QP 0x%06x: %s after %.3f s, %llu messages out, %llu in",
		  session->service->name, vl_address_text(&session->remote, remote),
		  session->remote_port, vl_qp_number(session->qp), session->end,
		  (double)(session->ended - session->opened) / 1e9,
		  (unsigned long long)counters->message_tx,
		  (unsigned long long)counters->message_rx);
}

static void establish(struct vl_session *session, uint64_t now)
{
	char remote[VL_ADDRESS_TEXT];

	if (session->is_established || session->is_ending)
		return;
	session->is_established = true;
	session->established = now;
	session->set->counters.established++;
	vl_notice(session->set->config.notices, "%s: %s %s port %u, QP 0x%06x",
		  session->service->name, session->is_active ? "connected to" : "connection from",
		  vl_address_text(&session->remote, remote), session->remote_port,
		  vl_qp_number(session->qp));
	if (session->service->established)
		session->service->established(session, now);
}

/* The connection has come to nothing, or is over and its packets gone. */
static void finish(struct vl_session *session, uint64_t now)
{
	session->connection = NULL;
	destroy(session, now);
}

static void refuse(struct vl_session *session, uint16_t reason, int error, uint64_t now)
{
	char why[80];

	session->set->counters.refused++;
	snprintf(why, sizeof(why), "refused: %s", strerror(-error));
	set_end(session, why, now);
	tell_end(session);
	if (vl_cm_reject(session->connection, reason, NULL, 0, NULL, 0, now))
		vl_cm_destroy(session->connection, now);
	finish(session, now);
}

/* Brings the queue pair on, and answers the peer; or waits for a neighbour. */
static void proceed(struct vl_session *session, uint64_t now)
{
	struct vl_session_set *set = session->set;
	const struct vl_cm_conn_param *wanted = &session->service->conn;
	struct vl_cm_accept_param accept = {.conn = *wanted};
	struct ibv_qp_attr attr;
	int mask, result = 0;

	if (vl_qp_state(session->qp) == IBV_QPS_INIT)
		result = to_state(session, IBV_QPS_RTR, now);
	if (result == -EAGAIN && now < session->give_up_time) {
		if (!vl_link_is_listed(&session->waiting_link))
			vl_list_append(&set->waiting, &session->waiting_link);
		return;
	}
	if (!result)
		result = to_state(session, IBV_QPS_RTS, now);
	if (!result)
		result = vl_cm_init_qp_attr(session->connection, IBV_QPS_RTS, &attr, &mask);
	if (result) {
		refuse(session, VL_CM_REJECT_NO_RESOURCES, result, now);
		return;
	}
	if (session->is_active) {
		result = vl_cm_establish(session->connection, NULL, 0, now);
	} else {
		accept.conn.qpn = vl_qp_number(session->qp);
		accept.conn.initiator_depth = attr.max_rd_atomic;
		vl_cm_init_qp_attr(session->connection, IBV_QPS_RTR, &attr, &mask);
		accept.conn.responder_resources = attr.max_dest_rd_atomic;
		result = vl_cm_accept(session->connection, &accept, now);
	}
	if (result)
		refuse(session, VL_CM_REJECT_NO_RESOURCES, result, now);
	else if (session->is_active)
		establish(session, now);
}

static void begin_to_proceed(struct vl_session *session, uint64_t now)
{
	session->give_up_time = now + GIVE_UP_TIME;
	describe(session);
	proceed(session, now);
}

static void take_request(struct listener *listener, const struct vl_cm_event *event, uint64_t now)
{
	struct vl_session_set *set = listener->set;
	struct vl_session *session;
	struct vl_cm_info info;
	int error = 0;

	vl_cm_query(event->connection, &info);
	set->counters.requested++;
	session = create(set, listener->service, listener->service_context, info.qp_type, now,
			 &error);
	if (!session) {
		set->counters.refused++;
		vl_cm_reject(event->connection, VL_CM_REJECT_NO_RESOURCES, NULL, 0, NULL, 0, now);
		return;
	}
	session->connection = event->connection;
	vl_cm_set_context(event->connection, session);
	describe(session);
	error = to_state(session, IBV_QPS_INIT, now);
	if (!error)
		error = open_service(session, now);
	if (error)
		refuse(session, VL_CM_REJECT_NO_RESOURCES, error, now);
	else
		begin_to_proceed(session, now);
}

static void take_event(void *context, const struct vl_cm_event *event, uint64_t now)
{
	struct vl_session *session = vl_cm_context(event->connection);
	char why[80];

	switch (event->type) {
	case VL_CM_EVENT_CONNECT_REQUEST:
		take_request(context, event, now);
		break;
	case VL_CM_EVENT_CONNECT_RESPONSE:
		begin_to_proceed(session, now);
		break;
	case VL_CM_EVENT_ESTABLISHED:
		establish(session, now);
		break;
	case VL_CM_EVENT_REJECTED:
		session->set->counters.rejected++;
		snprintf(why, sizeof(why), "rejected: %s",
			 vl_cm_reject_reason_meaning((uint16_t)event->status));
		set_end(session, why, now);
		tell_end(session);
		finish(session, now);
		break;
	case VL_CM_EVENT_UNREACHABLE:
		session->set->counters.unreachable++;
		snprintf(why, sizeof(why), "unreachable: %s", strerror(-event->status));
		set_end(session, why, now);
		tell_end(session);
		finish(session, now);
		break;
	case VL_CM_EVENT_DISCONNECTED:
		session->is_ending = true;
		set_end(session, "disconnected by the peer", now);
		to_error(session, now);
		if (session->is_established)
			session->set->counters.ended++;
		tell_end(session);
		break;
	case VL_CM_EVENT_TIMEWAIT_EXIT:
		finish(session, now);
		break;
	}
}

int vl_session_listen(struct vl_session_set *set, const struct vl_session_service *service,
		      uint16_t port, void *service_context)
{
	struct listener *listener = calloc(1, sizeof(*listener));
	struct vl_cm_listen_param param = {
		.service_id = vl_rdma_service_id(VL_RDMA_PORT_SPACE_TCP, port),
		.qp_type = IBV_QPT_RC,
		.handler = {take_event, listener},
	};
	int error = 0;

	if (!listener)
		return -ENOMEM;
	*listener = (struct listener){
		.set = set, .service = service, .service_context = service_context};
	listener->cm_listener = vl_cm_listen(set->config.cm, &param, &error);
	if (!listener->cm_listener) {
		free(listener);
		return error;
	}
	listener->next = set->listeners;
	set->listeners = listener;
	return 0;
}

/* INIT comes before the connection, whose attributes are the same whatever it will be. */
static int to_init(struct vl_session *session, uint64_t now)
{
	const struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags =
			IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	};

	return vl_modify_qp(session->qp, &attr,
			    IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS,
			    now);
}

struct vl_session *vl_session_connect(struct vl_session_set *set,
				      const struct vl_session_connect *connect, uint64_t now,
				      int *error)
{
	const struct vl_session_service *service = connect->service;
	struct vl_session *session =
		create(set, service, connect->service_context, IBV_QPT_RC, now, error);
	struct vl_cm_connect_param param = {
		.service_id = vl_rdma_service_id(VL_RDMA_PORT_SPACE_TCP, connect->port),
		.qp_type = IBV_QPT_RC,
		.destination = connect->destination,
		.sgid_index = connect->sgid_index,
		.path_mtu = set->config.path_mtu,
		.traffic_class = set->config.traffic_class,
		.service_level = set->config.service_level,
		.ack_timeout = set->config.ack_timeout,
		.conn = service->conn,
		.handler = {take_event, NULL},
		.context = session,
	};

	if (!session)
		return NULL;
	session->is_active = true;
	session->remote = connect->destination;
	session->remote_port = connect->port;
	*error = to_init(session, now);
	if (!*error)
		*error = open_service(session, now);
	if (*error) {
		snprintf(session->end, sizeof(session->end), "not opened: %s", strerror(-*error));
		destroy(session, now);
		return NULL;
	}
	param.conn.qpn = vl_qp_number(session->qp);
	session->connection = vl_cm_connect(set->config.cm, &param, now, error);
	if (!session->connection) {
		snprintf(session->end, sizeof(session->end), "not connected: %s",
			 strerror(-*error));
		destroy(session, now);
		return NULL;
	}
	set->counters.connecting++;
	return session;
}

void vl_session_disconnect(struct vl_session *session, const char *why, uint64_t now)
{
	if (session->is_ending || !session->connection)
		return;
	if (vl_cm_disconnect(session->connection, now))
		return; /* not accepted yet: its own time limits end it */
	session->is_ending = true;
	set_end(session, why, now);
}

/* ---- Polling -------------------------------------------------------------------------------- */

static struct vl_session *find(const struct vl_session_set *set, uint32_t qpn)
{
	struct vl_session *session = set->by_qpn[qpn % BUCKETS];

	while (session && vl_qp_number(session->qp) != qpn)
		session = session->next_by_qpn;
	return session;
}

static void complete(struct vl_session_set *set, const struct ibv_wc *wc, uint64_t now)
{
	struct vl_session *session = find(set, wc->qp_num);
	char why[80];

	if (!session)
		return;
	/* Data ahead of the RTU says as much. */
	if (!session->is_established && wc->status == IBV_WC_SUCCESS && session->connection) {
		vl_cm_notify(session->connection, now);
		establish(session, now);
	}
	if (wc->wr_id == KEEP_ALIVE_WR_ID)
		session->is_probed = false;
	else
		session->service->completion(session, wc, now);
	if (wc->status == IBV_WC_SUCCESS || session->is_ending)
		return;
	set->counters.failed++;
	snprintf(why, sizeof(why), "failed: %s", vl_wc_status_name(wc->status));
	vl_session_disconnect(session, why, now);
}

/* Nothing came for long: does the peer live? If not, the WRITE fails, and that ends the session. */
static void probe(struct vl_session *session, uint64_t now)
{
	const struct ibv_send_wr wr = {
		.wr_id = KEEP_ALIVE_WR_ID,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
	};
	const struct vl_counters *counters = vl_qp_counters(session->qp);
	uint64_t received = counters->data_frames_rx + counters->ack_rx;
	const struct ibv_send_wr *bad;

	if (received == session->received && session->is_established && !session->is_ending &&
	    !session->is_probed)
		session->is_probed = !vl_post_send(session->qp, &wr, &bad, now);
	session->received = received;
}

static void keep_alive(struct vl_session_set *set, uint64_t now)
{
	uint32_t budget = POLL_BATCH;

	while (budget-- && !vl_list_is_empty(&set->sessions)) {
		struct vl_session *session =
			VL_CONTAINER(set->sessions.next, struct vl_session, link);

		if (session->check_time > now)
			break;
		session->check_time = now + set->config.keep_alive;
		vl_list_remove(&session->link);
		vl_list_append(&set->sessions, &session->link);
		probe(session, now);
	}
}

static void poll_cq(struct vl_session_set *set, uint64_t now)
{
	struct ibv_wc wcs[POLL_BATCH];
	uint32_t budget = POLL_BUDGET;
	int count;

	do {
		count = vl_poll_cq(set->cq, POLL_BATCH, wcs);
		for (int i = 0; i < count; i++)
			complete(set, &wcs[i], now);
		budget -= POLL_BATCH;
	} while (count == POLL_BATCH && budget);
	set->has_more = count == POLL_BATCH;
}

void vl_session_set_poll(struct vl_session_set *set, uint64_t now)
{
	struct vl_link waiting;

	poll_cq(set, now);
	keep_alive(set, now);
	if (vl_list_is_empty(&set->waiting) || now < set->retry_time)
		return;
	set->retry_time = now + RETRY_TIME;
	vl_list_init(&waiting);
	while (!vl_list_is_empty(&set->waiting)) {
		struct vl_link *link = set->waiting.next;

		vl_list_remove(link);
		vl_list_append(&waiting, link);
	}
	while (!vl_list_is_empty(&waiting)) {
		struct vl_link *link = waiting.next;

		vl_list_remove(link);
		proceed(VL_CONTAINER(link, struct vl_session, waiting_link), now);
	}
}

uint64_t vl_session_set_next_deadline(const struct vl_session_set *set)
{
	uint64_t deadline = UINT64_MAX;

	if (set->has_more)
		return 0;
	if (!vl_list_is_empty(&set->waiting))
		deadline = set->retry_time;
	if (!vl_list_is_empty(&set->sessions)) {
		const struct vl_session *oldest =
			VL_CONTAINER(set->sessions.next, struct vl_session, link);

		if (oldest->check_time < deadline)
			deadline = oldest->check_time;
	}
	return deadline;
}
