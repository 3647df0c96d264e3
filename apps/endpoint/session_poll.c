/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Completions, peers that may have vanished, and neighbours that were not known. */

#include "apps/endpoint/session_private.h"
#include "apps/endpoint/status.h"

#include <stdio.h>

#define POLL_BATCH  32
#define POLL_BUDGET 1024u
/* Between two questions for a neighbour's MAC. */
#define RETRY_TIME UINT64_C(1000000)
/* Between two checks of sessions by their services. */
#define CHECK_INTERVAL UINT64_C(1000000)
/* Of a WRITE of nothing, which any peer that lives acknowledges and none takes notice of. */
#define KEEP_ALIVE_WR_ID UINT64_MAX

static struct vl_session *find(const struct vl_session_set *set, uint32_t qpn)
{
	struct vl_session *session = set->by_qpn[qpn % VL_SESSION_BUCKETS];

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
		vl_session_establish(session, now);
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

/* Some of the sessions, in turn. */
static void check(struct vl_session_set *set, uint64_t now)
{
	if (now < set->next_check)
		return;
	set->next_check = now + CHECK_INTERVAL;
	for (uint32_t budget = POLL_BATCH; budget && !vl_list_is_empty(&set->checked); budget--) {
		struct vl_session *session =
			VL_CONTAINER(set->checked.next, struct vl_session, checked_link);

		vl_list_remove(&session->checked_link);
		vl_list_append(&set->checked, &session->checked_link);
		if (session->is_established && !session->is_ending)
			session->service->check(session, now);
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

static void destroy_closing(struct vl_session_set *set, uint64_t now)
{
	while (!set->has_more && !vl_list_is_empty(&set->closing))
		vl_session_destroy(VL_CONTAINER(set->closing.next, struct vl_session, closing_link),
				   now);
}

void vl_session_set_poll(struct vl_session_set *set, uint64_t now)
{
	struct vl_link waiting;

	poll_cq(set, now);
	destroy_closing(set, now);
	check(set, now);
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
		vl_session_proceed(VL_CONTAINER(link, struct vl_session, waiting_link), now);
	}
}

uint64_t vl_session_set_next_deadline(const struct vl_session_set *set)
{
	uint64_t deadline = UINT64_MAX;

	if (set->has_more || !vl_list_is_empty(&set->closing))
		return 0;
	if (!vl_list_is_empty(&set->waiting))
		deadline = set->retry_time;
	if (!vl_list_is_empty(&set->checked) && set->next_check < deadline)
		deadline = set->next_check;
	if (!vl_list_is_empty(&set->sessions)) {
		const struct vl_session *oldest =
			VL_CONTAINER(set->sessions.next, struct vl_session, link);

		if (oldest->check_time < deadline)
			deadline = oldest->check_time;
	}
	return deadline;
}
