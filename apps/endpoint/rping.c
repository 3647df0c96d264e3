/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/endpoint/rping.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a SEND says, either way; big-endian. The server's say nothing, and are not looked at. */
struct advertisement {
	uint64_t address;
	uint32_t rkey;
	uint32_t size;
};

static_assert(sizeof(struct advertisement) == 16, "rping's messages have 16 bytes");

#define SENDS 4 /* length of the send queue */

/* READs and WRITEs are not expected of clients, but must not harm. */
#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE)

/* The client's letters, as rping has them. */
#define FIRST_LETTER 'A'
#define LAST_LETTER  'z'

enum request {
	REQUEST_RECEIVE,
	REQUEST_SEND,
	REQUEST_READ,
	REQUEST_WRITE,
};

enum step {
	STEP_SOURCE, /* the client's data is to be told of, or being READ */
	STEP_SINK,   /* the place for it is to be told of, or being written */
};

struct ping {
	struct ibv_mr *message_mr, *data_mr;
	uint8_t *data; /* server: what was READ; client: source and behind it the sink */
	size_t data_size;
	uint32_t size; /* of the data as the peer has told, or ours */
	enum step step;
	struct advertisement peer;
	uint64_t done;    /* pings */
	uint64_t started; /* ns, this one */
	char letter;
	struct advertisement in;
	/* One for each place in the send queue: an ACK may be lost, and then what the peer has
	 * answered already is sent again. */
	struct advertisement out[SENDS];
	uint32_t sends;
};

static int open_ping(struct vl_session *session, size_t data_size);
static void close_ping(struct vl_session *session);

/* ---- Both ----------------------------------------------------------------------------------- */

static int post_receive(struct vl_session *session)
{
	struct ping *ping = session->context;
	struct ibv_sge sge = {(uintptr_t)&ping->in, sizeof(ping->in), ping->message_mr->lkey};
	const struct ibv_recv_wr wr = {.wr_id = REQUEST_RECEIVE, .sg_list = &sge, .num_sge = 1};
	const struct ibv_recv_wr *bad;

	return vl_post_recv(session->qp, &wr, &bad);
}

static int post(struct vl_session *session, enum request request, uint64_t now)
{
	struct ping *ping = session->context;
	struct ibv_sge sge = {(uintptr_t)ping->data, ping->size, 0};
	struct ibv_send_wr wr = {
		.wr_id = request,
		.sg_list = &sge,
		.num_sge = 1,
		.send_flags = IBV_SEND_SIGNALED,
	};
	const struct ibv_send_wr *bad;

	if (request == REQUEST_SEND) {
		sge = (struct ibv_sge){(uintptr_t)&ping->out[ping->sends++ % SENDS],
				       sizeof(ping->out[0]), ping->message_mr->lkey};
		wr.opcode = IBV_WR_SEND;
		return vl_post_send(session->qp, &wr, &bad, now);
	}
	wr.opcode = request == REQUEST_READ ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
	wr.wr.rdma.remote_addr = be64toh(ping->peer.address);
	wr.wr.rdma.rkey = be32toh(ping->peer.rkey);
	sge.lkey = ping->data_mr->lkey;
	return vl_post_send(session->qp, &wr, &bad, now);
}

static int register_data(struct vl_session *session, size_t size)
{
	struct ping *ping = session->context;
	int error = 0;

	ping->data = calloc(1, size);
	if (!ping->data)
		return -ENOMEM;
	ping->data_size = size;
	ping->data_mr = vl_reg_mr(vl_session_set_pd(session->set), ping->data, size,
				  (uintptr_t)ping->data, ACCESS, &error);
	return error;
}

static void release_data(struct ping *ping)
{
	if (ping->data_mr)
		vl_dereg_mr(ping->data_mr);
	free(ping->data);
	ping->data_mr = NULL;
	ping->data = NULL;
	ping->data_size = 0;
}

static int open_ping(struct vl_session *session, size_t data_size)
{
	struct ping *ping = calloc(1, sizeof(*ping));
	int error = 0;

	if (!ping)
		return -ENOMEM;
	session->context = ping;
	ping->letter = FIRST_LETTER;
	ping->message_mr = vl_reg_mr(vl_session_set_pd(session->set), ping, sizeof(*ping),
				     (uintptr_t)ping, IBV_ACCESS_LOCAL_WRITE, &error);
	if (!error && data_size)
		error = register_data(session, data_size);
	if (!error)
		error = post_receive(session);
	if (error)
		close_ping(session);
	return error;
}

static void close_ping(struct vl_session *session)
{
	struct ping *ping = session->context;

	release_data(ping);
	if (ping->message_mr)
		vl_dereg_mr(ping->message_mr);
	free(ping);
}

/* ---- Server --------------------------------------------------------------------------------- */

static int server_open(struct vl_session *session, uint64_t now)
{
	(void)now;
	return open_ping(session, 0);
}

static void server_closed(struct vl_session *session, uint64_t now)
{
	(void)now;
	close_ping(session);
}

static void server_fail(struct vl_session *session, const char *why, uint64_t now)
{
	struct vl_rping_server *server = session->service_context;

	server->errors++;
	vl_session_disconnect(session, why, now);
}

/* Told of the client's source or sink. */
static void server_receive(struct vl_session *session, const struct ibv_wc *wc, uint64_t now)
{
	struct ping *ping = session->context;
	uint32_t size = be32toh(ping->in.size);
	int error = 0;

	if (wc->byte_len != sizeof(ping->in) || size > VL_RPING_MAX_SIZE ||
	    (ping->step == STEP_SINK && size > ping->size)) {
		server_fail(session, "failed: a message that is not rping's", now);
		return;
	}
	ping->peer = ping->in;
	ping->size = size;
	if (size > ping->data_size) {
		release_data(ping);
		error = register_data(session, size);
	}
	if (!error)
		error = post_receive(session);
	if (!error && !size)
		error = -EINVAL;
	if (!error)
		error = post(session, ping->step == STEP_SOURCE ? REQUEST_READ : REQUEST_WRITE,
			     now);
	if (error)
		server_fail(session, "failed: no memory for the client's data", now);
}

static void server_completion(struct vl_session *session, const struct ibv_wc *wc, uint64_t now)
{
	struct vl_rping_server *server = session->service_context;
	struct ping *ping = session->context;
	int error = 0;

	if (wc->status != IBV_WC_SUCCESS)
		return;
	switch ((enum request)wc->wr_id) {
	case REQUEST_RECEIVE:
		server_receive(session, wc, now);
		break;
	case REQUEST_READ:
		if (server->verbose)
			vl_notice(server->notices, "server ping data: %.*s", (int)ping->size,
				  (const char *)ping->data);
		ping->step = STEP_SINK;
		error = post(session, REQUEST_SEND, now);
		break;
	case REQUEST_WRITE:
		ping->step = STEP_SOURCE;
		ping->done++;
		server->pings++;
		error = post(session, REQUEST_SEND, now);
		break;
	case REQUEST_SEND:
		break;
	}
	if (error)
		server_fail(session, "failed: the send queue is full", now);
}

const struct vl_session_service vl_rping_server_service = {
	.name = "rping",
	.cap = {.max_send_wr = SENDS, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1},
	.conn = {.responder_resources = 1,
		 .initiator_depth = 1,
		 .retry_count = 7,
		 .rnr_retry_count = 7},
	.open = server_open,
	.completion = server_completion,
	.closed = server_closed,
};

/* ---- Client --------------------------------------------------------------------------------- */

static int client_open(struct vl_session *session, uint64_t now)
{
	struct vl_rping_client *client = session->service_context;
	struct ping *ping;
	int error = open_ping(session, 2 * (size_t)client->size);

	(void)now;
	if (error)
		return error;
	ping = session->context;
	ping->size = client->size;
	return 0;
}

/* "rping-" and its number, then letters, each ping from another on. */
static void write_source(const struct vl_rping_client *client, struct ping *ping)
{
	char *text = (char *)ping->data;
	int used = snprintf(text, client->size, "rdma-ping-%llu: ", (unsigned long long)ping->done);
	char letter = ping->letter;

	for (uint32_t i = (uint32_t)used; i + 1 < client->size; i++) {
		text[i] = letter;
		letter = letter == LAST_LETTER ? FIRST_LETTER : (char)(letter + 1);
	}
	text[client->size - 1] = 0;
	ping->letter = ping->letter == LAST_LETTER ? FIRST_LETTER : (char)(ping->letter + 1);
}

static void advertise(struct vl_session *session, uint64_t now)
{
	struct ping *ping = session->context;
	const uint8_t *where = ping->data + (ping->step == STEP_SINK ? ping->size : 0);

	ping->out[ping->sends % SENDS] = (struct advertisement){
		.address = htobe64((uintptr_t)where),
		.rkey = htobe32(ping->data_mr->rkey),
		.size = htobe32(ping->size),
	};
	if (post(session, REQUEST_SEND, now))
		vl_session_disconnect(session, "failed: the send queue is full", now);
}

static void begin_ping(struct vl_session *session, uint64_t now)
{
	struct vl_rping_client *client = session->service_context;
	struct ping *ping = session->context;

	if (client->count && ping->done == client->count) {
		if (!client->hold)
			vl_session_disconnect(session, "done", now);
		return;
	}
	ping->step = STEP_SOURCE;
	ping->started = now;
	write_source(client, ping);
	memset(ping->data + ping->size, 0, ping->size);
	advertise(session, now);
}

static void end_ping(struct vl_session *session, uint64_t now)
{
	struct vl_rping_client *client = session->service_context;
	struct ping *ping = session->context;
	const char *sink = (const char *)ping->data + ping->size;

	if (client->validate && memcmp(ping->data, sink, ping->size)) {
		client->mismatches++;
		vl_session_disconnect(session, "failed: the data came back altered", now);
		return;
	}
	if (client->verbose)
		vl_notice(client->notices, "ping data: %.*s", (int)ping->size, sink);
	if (client->round_trip)
		vl_histogram_record(client->round_trip, now - ping->started);
	client->pings++;
	ping->done++;
	begin_ping(session, now);
}

static void client_completion(struct vl_session *session, const struct ibv_wc *wc, uint64_t now)
{
	struct ping *ping = session->context;

	if (wc->status != IBV_WC_SUCCESS || wc->wr_id != REQUEST_RECEIVE)
		return;
	if (wc->byte_len != sizeof(ping->in) || post_receive(session)) {
		vl_session_disconnect(session, "failed: a message that is not rping's", now);
		return;
	}
	if (ping->step == STEP_SINK) {
		end_ping(session, now);
		return;
	}
	ping->step = STEP_SINK;
	advertise(session, now);
}

static void client_closed(struct vl_session *session, uint64_t now)
{
	struct vl_rping_client *client = session->service_context;
	const struct ping *ping = session->context;

	(void)now;
	client->over++;
	if (client->count ? ping->done < client->count : !session->is_established)
		client->unfinished++;
	close_ping(session);
}

const struct vl_session_service vl_rping_client_service = {
	.name = "rping",
	.cap = {.max_send_wr = SENDS, .max_recv_wr = 2, .max_send_sge = 1, .max_recv_sge = 1},
	.conn = {.responder_resources = 1,
		 .initiator_depth = 1,
		 .retry_count = 7,
		 .rnr_retry_count = 7},
	.open = client_open,
	.established = begin_ping,
	.completion = client_completion,
	.closed = client_closed,
};
