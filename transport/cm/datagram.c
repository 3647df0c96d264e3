/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The connection manager's QP1: datagrams in, datagrams out. */

#include "transport/cm/connection_private.h"
#include "transport/wire/gid.h"

#include <errno.h>
#include <string.h>

/* Completions a poll, so that a flood does not keep the caller from its other work. */
#define POLL_BUDGET 64
#define QKEY        UINT32_C(0x80010000)
#define GSI_QPN     1
#define IPV4_OFFSET 20 /* of the header in the GRH's place, A17.4.5 */
#define DSCP_BITS   0xfc
#define SEND_FLAG   (UINT64_C(1) << 32) /* in wr_id: a send buffer's index follows */

static uint8_t *receive_buffer(const struct vl_cm *cm, uint64_t index)
{
	return cm->buffers + index * VL_CM_RECEIVE_LENGTH;
}

static uint8_t *send_buffer(const struct vl_cm *cm, uint64_t index)
{
	return cm->buffers + (size_t)cm->config.receive_count * VL_CM_RECEIVE_LENGTH +
	       index * VL_MAD_LENGTH;
}

static void post_receive(struct vl_cm *cm, uint64_t index)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)receive_buffer(cm, index),
		.length = VL_CM_RECEIVE_LENGTH,
		.lkey = cm->mr->lkey,
	};
	const struct ibv_recv_wr wr = {.wr_id = index, .sg_list = &sge, .num_sge = 1}, *bad;

	vl_post_recv(cm->qp, &wr, &bad);
}

static int to_rts(struct vl_cm *cm, uint64_t now)
{
	static const struct {
		enum ibv_qp_state state;
		int mask;
	} steps[] = {
		{IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_QKEY},
		{IBV_QPS_RTR, 0},
		{IBV_QPS_RTS, IBV_QP_SQ_PSN},
	};
	int result = 0;

	for (uint32_t i = 0; i < 3 && !result; i++) {
		const struct ibv_qp_attr attr = {.qp_state = steps[i].state, .qkey = QKEY};

		result = vl_modify_qp(cm->qp, &attr, IBV_QP_STATE | steps[i].mask, now);
	}
	return result;
}

/* To nowhere yet: the place of an AH, made while memory may be allocated. */
static int create_ahs(struct vl_cm *cm)
{
	static const uint8_t no_mac[6];
	struct ibv_ah_attr attr = {.is_global = 1, .port_num = 1};
	int error = 0;

	vl_query_gid(cm->device, 1, 0, &attr.grh.dgid);
	for (uint32_t i = 0; i < cm->config.send_count; i++) {
		cm->ahs[i] = vl_create_ah_to_mac(cm->pd, &attr, no_mac, &error);
		if (!cm->ahs[i])
			return error;
		cm->free_sends[cm->free_send_count++] = i;
	}
	return 0;
}

int vl_cm_open_qp(struct vl_cm *cm, uint64_t now)
{
	const struct vl_cm_config *config = &cm->config;
	struct vl_qp_init_attr attr = {
		.qp_type = IBV_QPT_UD,
		.gsi = true,
		.sq_sig_all = true,
		.cap = {.max_send_wr = config->send_count,
			.max_recv_wr = config->receive_count,
			.max_send_sge = 1,
			.max_recv_sge = 1},
	};
	int error = 0;

	cm->pd = vl_alloc_pd(cm->device, &error);
	if (!error)
		cm->cq = vl_create_cq(cm->device, config->send_count + config->receive_count, cm,
				      &error);
	if (error)
		return error;
	attr.send_cq = attr.recv_cq = cm->cq;
	cm->qp = vl_create_qp(cm->pd, &attr, &error);
	if (!error)
		cm->mr = vl_reg_mr(cm->pd, cm->buffers,
				   (size_t)config->receive_count * VL_CM_RECEIVE_LENGTH +
					   (size_t)config->send_count * VL_MAD_LENGTH,
				   (uintptr_t)cm->buffers, IBV_ACCESS_LOCAL_WRITE, &error);
	if (!error)
		error = create_ahs(cm);
	if (!error)
		error = to_rts(cm, now);
	for (uint32_t i = 0; !error && i < config->receive_count; i++)
		post_receive(cm, i);
	return error;
}

void vl_cm_close_qp(struct vl_cm *cm)
{
	if (cm->qp)
		vl_destroy_qp(cm->qp);
	for (uint32_t i = 0; i < cm->config.send_count; i++) {
		if (cm->ahs[i])
			vl_destroy_ah(cm->ahs[i]);
	}
	if (cm->mr)
		vl_dereg_mr(cm->mr);
	if (cm->cq)
		vl_destroy_cq(cm->cq);
	if (cm->pd)
		vl_dealloc_pd(cm->pd);
}

/* ---- Out ------------------------------------------------------------------------------------ */

/* There is room. */
static int post(struct vl_cm *cm, const struct ibv_ah_attr *attr, const uint8_t *mac,
		const uint8_t mad[VL_MAD_LENGTH], uint64_t now)
{
	uint32_t index = cm->free_sends[cm->free_send_count - 1];
	struct ibv_sge sge = {
		.addr = (uintptr_t)send_buffer(cm, index),
		.length = VL_MAD_LENGTH,
		.lkey = cm->mr->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = SEND_FLAG | index,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.wr.ud = {.ah = cm->ahs[index], .remote_qpn = GSI_QPN, .remote_qkey = QKEY},
	};
	const struct ibv_send_wr *bad;
	int result = vl_modify_ah(cm->ahs[index], attr, mac);

	if (result)
		return result;
	memcpy(send_buffer(cm, index), mad, VL_MAD_LENGTH);
	result = vl_post_send(cm->qp, &wr, &bad, now);
	if (result)
		return result;
	cm->free_send_count--;
	cm->counters.mad_tx++;
	return 0;
}

static int post_to_peer(struct vl_cm_connection *connection, const uint8_t *mad, uint64_t now)
{
	struct ibv_ah_attr attr;

	vl_cm_fill_ah_attr(connection, &attr);
	return post(connection->cm, &attr, connection->has_mac ? connection->remote_mac : NULL, mad,
		    now);
}

int vl_cm_send_kept(struct vl_cm_connection *connection, uint64_t now)
{
	struct vl_cm *cm = connection->cm;

	if (vl_link_is_listed(&connection->waiting))
		return 0;
	if (cm->free_send_count)
		return post_to_peer(connection, connection->mad, now);
	vl_list_append(&cm->waiting, &connection->waiting);
	return 0;
}

int vl_cm_send(struct vl_cm_connection *connection, const struct vl_cm_message *message,
	       uint64_t now)
{
	int result = vl_cm_encode(connection->mad, message, NULL);

	return result ? result : vl_cm_send_kept(connection, now);
}

void vl_cm_send_once(struct vl_cm_connection *connection, const struct vl_cm_message *message,
		     uint64_t now)
{
	struct vl_cm *cm = connection->cm;
	uint8_t mad[VL_MAD_LENGTH];

	if (!cm->free_send_count || vl_cm_encode(mad, message, NULL) ||
	    post_to_peer(connection, mad, now))
		cm->counters.send_dropped++;
}

void vl_cm_answer(struct vl_cm *cm, const struct vl_cm_datagram *datagram,
		  const struct vl_cm_message *message, uint64_t now)
{
	struct ibv_ah_attr attr = {
		.grh = {.dgid = datagram->source,
			.sgid_index = datagram->sgid_index,
			.traffic_class = datagram->traffic_class},
		.sl = datagram->priority,
		.is_global = 1,
		.port_num = 1,
	};
	uint8_t mad[VL_MAD_LENGTH];

	if (!cm->free_send_count || vl_cm_encode(mad, message, NULL) ||
	    post(cm, &attr, datagram->mac, mad, now))
		cm->counters.send_dropped++;
}

static void send_waiting(struct vl_cm *cm, uint64_t now)
{
	while (cm->free_send_count && !vl_list_is_empty(&cm->waiting)) {
		struct vl_cm_connection *connection =
			VL_CONTAINER(cm->waiting.next, struct vl_cm_connection, waiting);

		vl_list_remove(&connection->waiting);
		/* What cannot be sent is repeated, or refused, when its timer expires. */
		post_to_peer(connection, connection->mad, now);
	}
}

/* ---- In ------------------------------------------------------------------------------------- */

static bool find_sgid_index(const struct vl_cm *cm, const union ibv_gid *gid, uint8_t *index)
{
	union ibv_gid ours;

	for (uint8_t i = 0; !vl_query_gid(cm->device, 1, i, &ours); i++) {
		if (!memcmp(&ours, gid, sizeof(ours))) {
			*index = i;
			return true;
		}
	}
	return false;
}

/* Where it comes from and in which class, by the 40 bytes before it. */
static bool read_addresses(const struct vl_cm *cm, const uint8_t *grh,
			   struct vl_cm_datagram *datagram)
{
	union ibv_gid destination;

	if (grh[0] >> 4 == 6) {
		memcpy(&datagram->source, grh + 8, sizeof(datagram->source));
		memcpy(&destination, grh + 24, sizeof(destination));
		datagram->traffic_class = (uint8_t)(grh[0] << 4 | grh[1] >> 4) & DSCP_BITS;
	} else {
		datagram->source = vl_gid_of_ipv4(grh + IPV4_OFFSET + 12);
		destination = vl_gid_of_ipv4(grh + IPV4_OFFSET + 16);
		datagram->traffic_class = grh[IPV4_OFFSET + 1] & DSCP_BITS;
	}
	return find_sgid_index(cm, &destination, &datagram->sgid_index);
}

static void receive(struct vl_cm *cm, const struct ibv_wc *wc, uint64_t now)
{
	const uint8_t *buffer = receive_buffer(cm, wc->wr_id);
	struct vl_cm_datagram datagram = {.mad = buffer + VL_CM_GRH_LENGTH, .priority = wc->sl};

	vl_wc_source_mac(wc, datagram.mac);
	if (wc->byte_len != VL_CM_GRH_LENGTH + VL_MAD_LENGTH || wc->src_qp != GSI_QPN ||
	    !(wc->wc_flags & IBV_WC_GRH) || !read_addresses(cm, buffer, &datagram))
		cm->counters.malformed++;
	else
		vl_cm_dispatch(cm, &datagram, now);
}

void vl_cm_poll_qp(struct vl_cm *cm, uint64_t now)
{
	uint32_t budget = POLL_BUDGET;
	struct ibv_wc wc;

	while (budget && vl_poll_cq(cm->cq, 1, &wc) == 1) {
		budget--;
		if (wc.wr_id & SEND_FLAG) {
			cm->free_sends[cm->free_send_count++] = (uint32_t)wc.wr_id;
			continue;
		}
		if (wc.status == IBV_WC_SUCCESS)
			receive(cm, &wc, now);
		post_receive(cm, wc.wr_id);
	}
	send_waiting(cm, now);
	cm->has_more = !budget;
}
