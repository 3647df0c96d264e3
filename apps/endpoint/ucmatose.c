/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/endpoint/ucmatose.h"

#include <errno.h>
#include <stdlib.h>

/* wr_id of sends; those of receives are the buffers' numbers. */
#define SEND_WR_ID (UINT64_C(1) << 32)

static int post_send(struct vl_session *session, void *memory, uint32_t size, uint32_t lkey,
		     uint64_t now)
{
	struct ibv_sge sge = {(uintptr_t)memory, size, lkey};
	const struct ibv_send_wr wr = {
		.wr_id = SEND_WR_ID,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};
	const struct ibv_send_wr *bad;

	return vl_post_send(session->qp, &wr, &bad, now);
}

/* ---- Server --------------------------------------------------------------------------------- */

struct vl_ucmatose_server {
	uint32_t size;
	struct vl_srq *srq;
	struct ibv_mr *mr;
	uint8_t *memory; /* the message to send, then the receives */
	struct vl_ucmatose_counters counters;
};

struct served {
	uint32_t sent; /* acknowledged */
	uint32_t received;
	uint64_t rnr_naks; /* when the last message was posted */
};

static int post_receive(struct vl_ucmatose_server *server, uint64_t number)
{
	struct ibv_sge sge = {
		(uintptr_t)server->memory + VL_UCMATOSE_MAX_SIZE * (number + 1),
		VL_UCMATOSE_MAX_SIZE,
		server->mr->lkey,
	};
	const struct ibv_recv_wr wr = {.wr_id = number, .sg_list = &sge, .num_sge = 1};
	const struct ibv_recv_wr *bad;

	return vl_post_srq_recv(server->srq, &wr, &bad);
}

struct vl_ucmatose_server *vl_ucmatose_server_open(struct vl_session_set *set, uint32_t size,
						   int *error)
{
	const struct ibv_srq_attr attr = {.max_wr = VL_UCMATOSE_RECEIVES, .max_sge = 1};
	const size_t length = (size_t)VL_UCMATOSE_MAX_SIZE * (VL_UCMATOSE_RECEIVES + 1);
	struct vl_ucmatose_server *server = calloc(1, sizeof(*server));

	*error = -ENOMEM;
	if (!server)
		return NULL;
	server->size = size;
	server->memory = calloc(1, length);
	if (server->memory)
		server->mr = vl_reg_mr(vl_session_set_pd(set), server->memory, length,
				       (uintptr_t)server->memory, IBV_ACCESS_LOCAL_WRITE, error);
	if (server->mr)
		server->srq = vl_create_srq(vl_session_set_pd(set), &attr, error);
	if (!server->srq) {
		vl_ucmatose_server_close(server);
		return NULL;
	}
	for (uint64_t i = 0; i < VL_UCMATOSE_RECEIVES; i++)
		post_receive(server, i);
	vl_session_set_srq(set, server->srq);
	return server;
}

void vl_ucmatose_server_close(struct vl_ucmatose_server *server)
{
	if (!server)
		return;
	if (server->srq)
		vl_destroy_srq(server->srq);
	if (server->mr)
		vl_dereg_mr(server->mr);
	free(server->memory);
	free(server);
}

struct vl_ucmatose_counters vl_ucmatose_server_counters(const struct vl_ucmatose_server *server)
{
	return server->counters;
}

static int server_open(struct vl_session *session, uint64_t now)
{
	(void)now;
	session->context = calloc(1, sizeof(struct served));
	return session->context ? 0 : -ENOMEM;
}

static void server_send(struct vl_session *session, uint64_t now)
{
	struct vl_ucmatose_server *server = session->service_context;
	struct served *served = session->context;

	served->rnr_naks = vl_qp_counters(session->qp)->rnr_nak_rx;
	if (post_send(session, server->memory, server->size, server->mr->lkey, now))
		vl_session_disconnect(session, "failed: the send queue is full", now);
}

/* All have come back, and the one too many has been refused. */
static void check_end(struct vl_session *session, uint64_t now)
{
	const struct served *served = session->context;

	if (served->received && served->received >= served->sent &&
	    vl_qp_counters(session->qp)->rnr_nak_rx > served->rnr_naks)
		vl_session_disconnect(session, "done", now);
}

static void server_completion(struct vl_session *session, const struct ibv_wc *wc, uint64_t now)
{
	struct vl_ucmatose_server *server = session->service_context;
	struct served *served = session->context;

	if (wc->wr_id != SEND_WR_ID)
		post_receive(server, wc->wr_id);
	if (wc->status != IBV_WC_SUCCESS)
		return;
	if (wc->wr_id != SEND_WR_ID) {
		served->received++;
		server->counters.received++;
	} else {
		served->sent++;
		server->counters.sent++;
		server_send(session, now);
	}
	check_end(session, now);
}

static void server_closed(struct vl_session *session, uint64_t now)
{
	(void)now;
	free(session->context);
}

const struct vl_session_service vl_ucmatose_server_service = {
	.name = "ucmatose",
	.cap = {.max_send_wr = 2,
		.max_recv_wr = VL_UCMATOSE_RECEIVES,
		.max_send_sge = 1,
		.max_recv_sge = 1},
	.uses_srq = true,
	.conn = {.responder_resources = 1,
		 .initiator_depth = 1,
		 .retry_count = 7,
		 .rnr_retry_count = 7,
		 .srq = true},
	/* The message too many may be refused more than once before all have come back. */
	.least_rnr_retry = 7,
	.open = server_open,
	.established = server_send,
	.completion = server_completion,
	.check = check_end,
	.closed = server_closed,
};

/* ---- Client --------------------------------------------------------------------------------- */

struct client_session {
	struct ibv_mr *mr;
	/* All messages come into it, and then go back from it: librdmacm's server, too, has but
	 * one buffer, and may have to send from it again. */
	uint8_t *memory;
	uint32_t received;
};

static int client_open(struct vl_session *session, uint64_t now)
{
	const struct vl_ucmatose_client *client = session->service_context;
	struct client_session *own = calloc(1, sizeof(*own));
	const struct ibv_recv_wr *bad;
	int error = -ENOMEM;

	(void)now;
	if (!own)
		return error;
	session->context = own;
	own->memory = calloc(1, client->size);
	if (own->memory)
		own->mr = vl_reg_mr(vl_session_set_pd(session->set), own->memory, client->size,
				    (uintptr_t)own->memory, IBV_ACCESS_LOCAL_WRITE, &error);
	if (own->mr)
		error = 0;
	for (uint32_t i = 0; i < client->count && !error; i++) {
		struct ibv_sge sge = {(uintptr_t)own->memory, client->size, own->mr->lkey};
		const struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1};

		error = vl_post_recv(session->qp, &wr, &bad);
	}
	if (error) {
		if (own->mr)
			vl_dereg_mr(own->mr);
		free(own->memory);
		free(own);
	}
	return error;
}

static void client_completion(struct vl_session *session, const struct ibv_wc *wc, uint64_t now)
{
	struct vl_ucmatose_client *client = session->service_context;
	struct client_session *own = session->context;

	if (wc->status != IBV_WC_SUCCESS)
		return;
	if (wc->wr_id == SEND_WR_ID) {
		client->sent++;
		return;
	}
	own->received++;
	client->received++;
	for (uint32_t i = 0; own->received == client->count && i < client->count; i++) {
		if (post_send(session, own->memory, client->size, own->mr->lkey, now))
			vl_session_disconnect(session, "failed: the send queue is full", now);
	}
}

static void client_closed(struct vl_session *session, uint64_t now)
{
	struct vl_ucmatose_client *client = session->service_context;
	struct client_session *own = session->context;

	(void)now;
	client->over++;
	/* What it has sent back is the server's to judge: its last ACK may be lost, and the server
	 * disconnects as soon as it has all. */
	if (own->received < client->count)
		client->unfinished++;
	vl_dereg_mr(own->mr);
	free(own->memory);
	free(own);
}

const struct vl_session_service vl_ucmatose_client_service = {
	.name = "ucmatose",
	.cap = {.max_send_wr = VL_UCMATOSE_CLIENT_DEPTH,
		.max_recv_wr = VL_UCMATOSE_CLIENT_DEPTH,
		.max_send_sge = 1,
		.max_recv_sge = 1},
	/* As librdmacm's, which lets the server's queue pair fail at the first RNR NAK. */
	.conn = {.responder_resources = 1,
		 .initiator_depth = 1,
		 .retry_count = 5,
		 .rnr_retry_count = 0},
	.open = client_open,
	.completion = client_completion,
	.closed = client_closed,
};
