/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/endpoint/udaddy.h"

#include "apps/host/addresses.h"
#include "transport/wire/gid.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define GRH_LENGTH       40u
#define IPV4_OFFSET      20u /* of the header in the GRH's place, A17.4.5 */
#define MAX_SIZE         4096u
#define STRIDE           4160u /* GRH and message, in whole cache lines */
#define SENDS            VL_UDADDY_RECEIVES
#define SEND_WR_ID       (UINT64_C(1) << 32) /* a send buffer's number follows */
#define POLL_BATCH       32
#define DEFAULT_PATIENCE UINT64_C(5000000000)
/* A neighbour that is not known yet is asked for again so often. */
#define RETRY_TIME UINT64_C(1000000)

struct vl_udaddy {
	struct vl_udaddy_config config;
	struct vl_pd *pd;
	struct vl_cq *cq;
	struct vl_qp *qp;
	struct ibv_mr *mr;
	uint8_t *memory; /* receives, then sends */
	struct ibv_ah *ahs[SENDS];
	uint32_t free_sends[SENDS], free_send_count;
	struct vl_cm_listener *listener;
	struct vl_udaddy_counters counters;
	/* Client. First all connections are resolved, then messages are sent on all: the server may
	 * want to have everything before it sends anything back, as librdmacm's does. */
	struct vl_cm_connection *connection; /* that is being resolved; NULL: none */
	struct vl_cm_ud_param *peers;        /* those resolved */
	uint32_t peer_count, attempts;
	uint64_t sent, received; /* messages, in all */
	bool is_over;
	uint64_t deadline, retry_time;
};

static uint8_t *receive_buffer(const struct vl_udaddy *udaddy, uint64_t number)
{
	return udaddy->memory + STRIDE * number;
}

static uint8_t *send_buffer(const struct vl_udaddy *udaddy, uint64_t number)
{
	return udaddy->memory + STRIDE * (VL_UDADDY_RECEIVES + number);
}

static void post_receive(struct vl_udaddy *udaddy, uint64_t number)
{
	struct ibv_sge sge = {(uintptr_t)receive_buffer(udaddy, number), GRH_LENGTH + MAX_SIZE,
			      udaddy->mr->lkey};
	const struct ibv_recv_wr wr = {.wr_id = number, .sg_list = &sge, .num_sge = 1};
	const struct ibv_recv_wr *bad;

	vl_post_recv(udaddy->qp, &wr, &bad);
}

/* Where to is in the address handle of the buffer; its number is taken off the stack. */
static int post_send(struct vl_udaddy *udaddy, uint32_t number, uint32_t length, uint32_t qpn,
		     uint32_t qkey, uint64_t now)
{
	struct ibv_sge sge = {(uintptr_t)send_buffer(udaddy, number), length, udaddy->mr->lkey};
	const struct ibv_send_wr wr = {
		.wr_id = SEND_WR_ID | number,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND_WITH_IMM,
		.send_flags = IBV_SEND_SIGNALED,
		.imm_data = htobe32(vl_qp_number(udaddy->qp)),
		.wr.ud = {.ah = udaddy->ahs[number], .remote_qpn = qpn, .remote_qkey = qkey},
	};
	const struct ibv_send_wr *bad;
	int result = vl_post_send(udaddy->qp, &wr, &bad, now);

	if (result)
		return result;
	udaddy->free_send_count--;
	udaddy->counters.sent++;
	return 0;
}

/* ---- Server --------------------------------------------------------------------------------- */

static int find_sgid_index(const struct vl_udaddy *udaddy, const union ibv_gid *gid)
{
	union ibv_gid ours;

	for (int i = 0; !vl_query_gid(udaddy->config.device, 1, (uint32_t)i, &ours); i++) {
		if (!memcmp(&ours, gid, sizeof(ours)))
			return i;
	}
	return 0;
}

/* As the headers in front of the message say it. */
static void read_addresses(const uint8_t *grh, union ibv_gid *source, union ibv_gid *destination)
{
	if (grh[0] >> 4 == 6) {
		memcpy(source, grh + 8, sizeof(*source));
		memcpy(destination, grh + 24, sizeof(*destination));
		return;
	}
	*source = vl_gid_of_ipv4(grh + IPV4_OFFSET + 12);
	*destination = vl_gid_of_ipv4(grh + IPV4_OFFSET + 16);
}

static int send_back(struct vl_udaddy *udaddy, const struct ibv_wc *wc, uint64_t now)
{
	const uint8_t *buffer = receive_buffer(udaddy, wc->wr_id);
	struct ibv_ah_attr attr = {
		.grh = {.hop_limit = 64}, .sl = wc->sl, .is_global = 1, .port_num = 1};
	union ibv_gid destination;
	uint32_t length = wc->byte_len - GRH_LENGTH, number;
	uint8_t mac[6];
	int result;

	if (!udaddy->free_send_count)
		return -ENOSPC;
	number = udaddy->free_sends[udaddy->free_send_count - 1];
	read_addresses(buffer, &attr.grh.dgid, &destination);
	attr.grh.sgid_index = (uint8_t)find_sgid_index(udaddy, &destination);
	vl_wc_source_mac(wc, mac);
	result = vl_modify_ah(udaddy->ahs[number], &attr, mac);
	if (result)
		return result;
	memcpy(send_buffer(udaddy, number), buffer + GRH_LENGTH, length);
	return post_send(udaddy, number, length, wc->src_qp, VL_RDMA_UDP_QKEY, now);
}

static void take_request(void *context, const struct vl_cm_event *event, uint64_t now)
{
	struct vl_udaddy *udaddy = context;
	const struct vl_cm_accept_param accept = {
		.qpn = vl_qp_number(udaddy->qp),
		.qkey = VL_RDMA_UDP_QKEY,
	};
	char text[VL_ADDRESS_TEXT];
	struct vl_cm_info info;

	if (event->type != VL_CM_EVENT_CONNECT_REQUEST)
		return;
	vl_cm_query(event->connection, &info);
	udaddy->counters.requests++;
	vl_notice(udaddy->config.notices, "udaddy: resolved for %s port %u",
		  vl_address_text(&info.remote_gid, text), info.remote_port);
	vl_cm_accept(event->connection, &accept, now);
}

/* ---- Client --------------------------------------------------------------------------------- */

static void resolve(struct vl_udaddy *udaddy, uint64_t now);

static uint64_t message_count(const struct vl_udaddy *udaddy)
{
	return (uint64_t)udaddy->peer_count * udaddy->config.count;
}

static void end_client(struct vl_udaddy *udaddy, const char *why)
{
	uint64_t wanted = message_count(udaddy), count = udaddy->config.count;
	/* Datagrams may come twice. */
	uint64_t missing = wanted > udaddy->received ? wanted - udaddy->received : 0;

	udaddy->counters.failed += (missing + count - 1) / count;
	udaddy->is_over = true;
	if (udaddy->peer_count)
		vl_notice(udaddy->config.notices,
			  "udaddy: %s, %" PRIu64 " of %" PRIu64 " messages came back", why,
			  udaddy->received, message_count(udaddy));
}

/* The next connection, or messages on all. */
static void go_on(struct vl_udaddy *udaddy, uint64_t now)
{
	if (++udaddy->attempts < udaddy->config.connections) {
		resolve(udaddy, now);
	} else if (!udaddy->peer_count) {
		end_client(udaddy, "nobody there");
	} else {
		udaddy->deadline = now + udaddy->config.patience;
		udaddy->retry_time = now;
	}
}

static void fail_connection(struct vl_udaddy *udaddy, const char *why, uint64_t now)
{
	udaddy->counters.failed++;
	vl_notice(udaddy->config.notices, "udaddy: %s", why);
	go_on(udaddy, now);
}

static void take_resolution(void *context, const struct vl_cm_event *event, uint64_t now)
{
	struct vl_udaddy *udaddy = context;

	udaddy->connection = NULL;
	if (event->type == VL_CM_EVENT_ESTABLISHED) {
		udaddy->peers[udaddy->peer_count++] = event->param.ud;
		go_on(udaddy, now);
	} else if (event->type == VL_CM_EVENT_REJECTED) {
		fail_connection(udaddy, vl_cm_sidr_status_meaning((uint8_t)event->status), now);
	} else {
		fail_connection(udaddy, strerror(-event->status), now);
	}
}

static void resolve(struct vl_udaddy *udaddy, uint64_t now)
{
	const struct vl_udaddy_config *config = &udaddy->config;
	const struct vl_cm_connect_param param = {
		.service_id = vl_rdma_service_id(VL_RDMA_PORT_SPACE_UDP, config->port),
		.qp_type = IBV_QPT_UD,
		.destination = config->destination,
		.sgid_index = config->sgid_index,
		.traffic_class = config->traffic_class,
		.service_level = config->service_level,
		.handler = {take_resolution, udaddy},
	};
	int error = 0;

	udaddy->connection = vl_cm_connect(config->cm, &param, now, &error);
	if (udaddy->connection)
		return;
	udaddy->counters.failed += config->connections - udaddy->attempts;
	udaddy->attempts = config->connections;
	vl_notice(config->notices, "udaddy: cannot resolve: %s", strerror(-error));
	end_client(udaddy, "cannot resolve all");
}

/* The rest of the messages, as far as there is room. */
static void send_messages(struct vl_udaddy *udaddy, uint64_t now)
{
	while (udaddy->sent < message_count(udaddy) && udaddy->free_send_count) {
		const struct vl_cm_ud_param *peer =
			&udaddy->peers[udaddy->sent / udaddy->config.count];
		uint32_t number = udaddy->free_sends[udaddy->free_send_count - 1];
		int result = vl_modify_ah(udaddy->ahs[number], &peer->ah_attr, NULL);

		if (result == -EAGAIN) {
			udaddy->retry_time = now + RETRY_TIME;
			return;
		}
		if (result ||
		    post_send(udaddy, number, udaddy->config.size, peer->qpn, peer->qkey, now)) {
			end_client(udaddy, "no way to the server");
			return;
		}
		udaddy->sent++;
	}
	udaddy->retry_time = UINT64_MAX;
}

static bool is_resolving(const struct vl_udaddy *udaddy)
{
	return udaddy->attempts < udaddy->config.connections;
}

static void act_as_client(struct vl_udaddy *udaddy, uint64_t now)
{
	if (is_resolving(udaddy) || udaddy->is_over)
		return;
	if (udaddy->received >= message_count(udaddy))
		end_client(udaddy, "done");
	else if (now >= udaddy->deadline)
		end_client(udaddy, "no answer");
	else if (udaddy->sent < message_count(udaddy))
		send_messages(udaddy, now);
}

/* ---- Both ----------------------------------------------------------------------------------- */

static int to_rts(struct vl_udaddy *udaddy, uint64_t now)
{
	static const struct {
		enum ibv_qp_state state;
		int mask;
	} steps[] = {
		{IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY},
		{IBV_QPS_RTR, 0},
		{IBV_QPS_RTS, IBV_QP_SQ_PSN},
	};
	int result = 0;

	for (uint32_t i = 0; i < 3 && !result; i++) {
		const struct ibv_qp_attr attr = {
			.qp_state = steps[i].state, .port_num = 1, .qkey = VL_RDMA_UDP_QKEY};

		result = vl_modify_qp(udaddy->qp, &attr, IBV_QP_STATE | steps[i].mask, now);
	}
	return result;
}

static int create_ahs(struct vl_udaddy *udaddy)
{
	static const uint8_t no_mac[6];
	struct ibv_ah_attr attr = {.is_global = 1, .port_num = 1};
	int error = 0;

	vl_query_gid(udaddy->config.device, 1, 0, &attr.grh.dgid);
	for (uint32_t i = 0; i < SENDS; i++) {
		udaddy->ahs[i] = vl_create_ah_to_mac(udaddy->pd, &attr, no_mac, &error);
		if (!udaddy->ahs[i])
			return error;
		udaddy->free_sends[udaddy->free_send_count++] = i;
	}
	return 0;
}

static int create(struct vl_udaddy *udaddy, uint64_t now)
{
	struct vl_device *device = udaddy->config.device;
	struct vl_qp_init_attr attr = {
		.qp_type = IBV_QPT_UD,
		.cap = {.max_send_wr = SENDS,
			.max_recv_wr = VL_UDADDY_RECEIVES,
			.max_send_sge = 1,
			.max_recv_sge = 1},
	};
	size_t length = (size_t)STRIDE * (VL_UDADDY_RECEIVES + SENDS);
	int error = -ENOMEM;

	udaddy->memory = calloc(1, length);
	if (!udaddy->memory)
		return error;
	udaddy->pd = vl_alloc_pd(device, &error);
	if (!udaddy->pd)
		return error;
	udaddy->cq = vl_create_cq(device, SENDS + VL_UDADDY_RECEIVES, udaddy, &error);
	if (!udaddy->cq)
		return error;
	attr.send_cq = attr.recv_cq = udaddy->cq;
	udaddy->qp = vl_create_qp(udaddy->pd, &attr, &error);
	if (!udaddy->qp)
		return error;
	udaddy->mr = vl_reg_mr(udaddy->pd, udaddy->memory, length, (uintptr_t)udaddy->memory,
			       IBV_ACCESS_LOCAL_WRITE, &error);
	if (!udaddy->mr)
		return error;
	error = create_ahs(udaddy);
	return error ? error : to_rts(udaddy, now);
}

struct vl_udaddy *vl_udaddy_open(const struct vl_udaddy_config *config, uint64_t now, int *error)
{
	struct vl_udaddy *udaddy = calloc(1, sizeof(*udaddy));
	struct vl_cm_listen_param listen = {
		.service_id = vl_rdma_service_id(VL_RDMA_PORT_SPACE_UDP, config->port),
		.qp_type = IBV_QPT_UD,
		.handler = {take_request, udaddy},
	};

	*error = -ENOMEM;
	if (!udaddy)
		return NULL;
	udaddy->config = *config;
	if (!udaddy->config.patience)
		udaddy->config.patience = DEFAULT_PATIENCE;
	*error = create(udaddy, now);
	for (uint64_t i = 0; !*error && i < VL_UDADDY_RECEIVES; i++)
		post_receive(udaddy, i);
	if (!*error && config->is_client) {
		udaddy->peers = calloc(config->connections, sizeof(*udaddy->peers));
		if (udaddy->peers)
			resolve(udaddy, now);
		else
			*error = -ENOMEM;
	}
	if (!*error && !config->is_client)
		udaddy->listener = vl_cm_listen(config->cm, &listen, error);
	if (!*error)
		return udaddy;
	vl_udaddy_close(udaddy, now);
	return NULL;
}

void vl_udaddy_close(struct vl_udaddy *udaddy, uint64_t now)
{
	if (!udaddy)
		return;
	if (udaddy->listener)
		vl_cm_stop_listening(udaddy->listener);
	if (udaddy->connection)
		vl_cm_destroy(udaddy->connection, now);
	if (udaddy->qp)
		vl_destroy_qp(udaddy->qp);
	for (uint32_t i = 0; i < SENDS; i++) {
		if (udaddy->ahs[i])
			vl_destroy_ah(udaddy->ahs[i]);
	}
	if (udaddy->mr)
		vl_dereg_mr(udaddy->mr);
	if (udaddy->cq)
		vl_destroy_cq(udaddy->cq);
	if (udaddy->pd)
		vl_dealloc_pd(udaddy->pd);
	free(udaddy->peers);
	free(udaddy->memory);
	free(udaddy);
}

static void take_message(struct vl_udaddy *udaddy, const struct ibv_wc *wc, uint64_t now)
{
	udaddy->counters.received++;
	if (udaddy->config.is_client) {
		udaddy->received++;
		udaddy->deadline = now + udaddy->config.patience;
	} else if (send_back(udaddy, wc, now)) {
		udaddy->counters.dropped++;
	}
}

void vl_udaddy_poll(struct vl_udaddy *udaddy, uint64_t now)
{
	struct ibv_wc wcs[POLL_BATCH];
	int count;

	do {
		count = vl_poll_cq(udaddy->cq, POLL_BATCH, wcs);
		for (int i = 0; i < count; i++) {
			if (wcs[i].wr_id & SEND_WR_ID) {
				udaddy->free_sends[udaddy->free_send_count++] =
					(uint32_t)wcs[i].wr_id;
				continue;
			}
			if (wcs[i].status == IBV_WC_SUCCESS && wcs[i].wc_flags & IBV_WC_GRH)
				take_message(udaddy, &wcs[i], now);
			post_receive(udaddy, wcs[i].wr_id);
		}
	} while (count == POLL_BATCH);
	if (udaddy->config.is_client)
		act_as_client(udaddy, now);
}

uint64_t vl_udaddy_next_deadline(const struct vl_udaddy *udaddy)
{
	if (!udaddy->config.is_client || udaddy->is_over || is_resolving(udaddy))
		return UINT64_MAX;
	if (udaddy->sent < message_count(udaddy) && udaddy->retry_time < udaddy->deadline)
		return udaddy->retry_time;
	return udaddy->deadline;
}

bool vl_udaddy_is_over(const struct vl_udaddy *udaddy)
{
	return udaddy->is_over;
}

const struct vl_udaddy_counters *vl_udaddy_counters(const struct vl_udaddy *udaddy)
{
	return &udaddy->counters;
}
