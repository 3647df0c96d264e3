/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Queue pairs: making, describing, resetting and destroying. The QP, its work queues, its
 * responder resources and the copy of its address vector are one allocation. */

#include "transport/credit.h"
#include "transport/object/internal.h"

#include <errno.h>
#include <string.h>

#define CACHE_LINE 64

/* ---- Congestion control -------------------------------------------------------------------- */

#define PAPER(name, paper, nvidia, least, most, unit, meaning) .name = (paper),
static const struct vl_cc_parameters not_controlled = {
	.algorithm = &vl_cc_none,
	.dcqcn = {VL_DCQCN_PARAMETERS(PAPER)},
};
#undef PAPER

int vl_set_cc(struct vl_qp *qp, const struct vl_cc_parameters *parameters)
{
	if (qp->state > IBV_QPS_RTR || !parameters || vl_cc_check(parameters))
		return -EINVAL;
	qp->cc = parameters;
	return 0;
}

struct vl_cc_report vl_query_cc(struct vl_qp *qp, uint64_t now)
{
	struct vl_cc_report report = {.rate = UINT64_MAX};
	struct vl_cc_state state = {0};

	if (!qp->cc->algorithm->report)
		return report;
	if (qp->state >= IBV_QPS_RTS)
		return qp->cc->algorithm->report(&qp->cc_state, qp->cc, now);
	/* Before RTS there is no state yet: what it would start with. */
	if (qp->cc->algorithm->init)
		qp->cc->algorithm->init(&state, qp->cc, qp->device->config.link_rate, now);
	return qp->cc->algorithm->report(&state, qp->cc, now);
}

/* ---- Making -------------------------------------------------------------------------------- */

/* Offsets of the parts behind struct vl_qp; each starts a cache line. */
struct layout {
	size_t sends, receives, held, resources, ah_attr, total;
};

static size_t reserve(struct layout *layout, size_t size)
{
	size_t offset = layout->total;

	layout->total += (size + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
	return offset;
}

/* The queues' dimensions from what is asked for. */
static void set_dimensions(struct vl_qp *qp, const struct vl_qp_init_attr *attr)
{
	struct vl_send_queue *sends = &qp->requester.queue;
	struct vl_receive_queue *receives = &qp->responder.queue;
	size_t elements = attr->cap.max_send_sge * sizeof(struct ibv_sge);

	sends->limit = attr->cap.max_send_wr;
	sends->size = vl_round_up_to_power(sends->limit);
	sends->max_sge = attr->cap.max_send_sge;
	sends->max_inline = attr->cap.max_inline_data;
	sends->stride = (uint32_t)(sizeof(struct vl_send) +
				   (elements > sends->max_inline ? elements : sends->max_inline));
	sends->stride = (sends->stride + 7) & ~7u;
	if (attr->srq)
		return;
	receives->limit = attr->cap.max_recv_wr;
	receives->size = vl_round_up_to_power(receives->limit);
	receives->max_sge = attr->cap.max_recv_sge;
	receives->stride = vl_receive_stride(receives->max_sge);
}

/* Responder resources are a ring of a power of two. */
static uint16_t resource_mask(const struct vl_device *device)
{
	uint16_t size = 1;

	while (size < device->config.max_qp_rd_atom)
		size = (uint16_t)(size << 1);
	return (uint16_t)(size - 1);
}

static struct layout lay_out(const struct vl_qp *qp, const struct vl_device *device,
			     const struct vl_srq *srq)
{
	const struct vl_send_queue *sends = &qp->requester.queue;
	const struct vl_receive_queue *receives = &qp->responder.queue;
	struct layout layout = {0};
	bool is_connected = qp->type != IBV_QPT_UD;

	reserve(&layout, sizeof(struct vl_qp));
	layout.sends = reserve(&layout, (size_t)sends->size * sends->stride);
	layout.receives = reserve(&layout, (size_t)receives->size * receives->stride);
	layout.held = reserve(&layout, srq ? srq->queue.stride : 0);
	layout.resources = reserve(&layout, qp->type == IBV_QPT_RC
						    ? (resource_mask(device) + 1u) *
							      sizeof(struct vl_responder_resource)
						    : 0);
	layout.ah_attr = reserve(&layout, is_connected ? sizeof(struct ibv_ah_attr) : 0);
	return layout;
}

static int check_init(const struct vl_device *device, const struct vl_qp_init_attr *attr)
{
	const struct ibv_qp_cap *cap = &attr->cap;

	if (attr->qp_type != IBV_QPT_RC && attr->qp_type != IBV_QPT_UC &&
	    attr->qp_type != IBV_QPT_UD)
		return -EOPNOTSUPP;
	if (!attr->send_cq || !attr->recv_cq || attr->send_cq->device != device ||
	    attr->recv_cq->device != device || (attr->srq && attr->srq->pd->device != device))
		return -EINVAL;
	if (cap->max_send_wr > device->config.max_qp_wr || cap->max_send_sge > VL_MAX_SGE ||
	    cap->max_inline_data > VL_MAX_INLINE)
		return -EINVAL;
	if (!attr->srq &&
	    (cap->max_recv_wr > device->config.max_qp_wr || cap->max_recv_sge > VL_MAX_SGE))
		return -EINVAL;
	if (attr->gsi && (attr->qp_type != IBV_QPT_UD || attr->qpn > VL_GSI_QPN))
		return -EINVAL;
	if (!attr->gsi && attr->qpn && (attr->qpn <= VL_GSI_QPN || attr->qpn > VL_LAST_QPN))
		return -EINVAL;
	return device->qp_count >= device->config.max_qp ? -ENOMEM : 0;
}

/*
 * QPNs go round in a range four times as large as there may be QPs, so that one comes back late
 * (packets of its last owner may still be under way) and the table stays small.
 */
static uint32_t choose_qpn(struct vl_device *device)
{
	uint64_t end = (uint64_t)device->config.first_qpn + 4 * (uint64_t)device->config.max_qp;
	uint32_t first = device->config.first_qpn, qpn = device->next_qpn;

	if (end > VL_LAST_QPN + 1) {
		end = VL_LAST_QPN + 1;
		if (end - first < device->config.max_qp)
			first = VL_GSI_QPN + 1;
	}
	do {
		if (qpn >= end)
			qpn = first;
	} while (vl_table_find(&device->qps, qpn) && ++qpn);
	device->next_qpn = qpn + 1;
	return qpn;
}

static void join_device(struct vl_qp *qp, struct vl_pd *pd)
{
	vl_list_append(&pd->qps, &qp->link);
	pd->use_count++;
	qp->send_cq->use_count++;
	qp->recv_cq->use_count++;
	if (qp->srq)
		qp->srq->use_count++;
	pd->device->qp_count++;
	if (qp->is_gsi)
		pd->device->gsi = qp;
}

static void leave_device(struct vl_qp *qp)
{
	struct vl_device *device = qp->device;

	vl_list_remove(&qp->link);
	qp->pd->use_count--;
	qp->send_cq->use_count--;
	qp->recv_cq->use_count--;
	if (qp->srq)
		qp->srq->use_count--;
	device->qp_count--;
	if (qp->is_gsi)
		device->gsi = NULL;
	vl_table_remove(&device->qps, qp->qpn);
}

static void fill(struct vl_qp *qp, struct vl_pd *pd, const struct vl_qp_init_attr *attr,
		 const struct layout *layout)
{
	uint8_t *memory = (uint8_t *)qp;

	qp->device = pd->device;
	qp->pd = pd;
	qp->send_cq = attr->send_cq;
	qp->recv_cq = attr->recv_cq;
	qp->srq = attr->srq;
	qp->context = attr->context;
	qp->sq_sig_all = attr->sq_sig_all;
	qp->is_gsi = attr->gsi;
	qp->state = IBV_QPS_RESET;
	qp->pace_timer.kind = VL_TIMER_PACE;
	qp->ack_timer.kind = VL_TIMER_ACK;
	qp->memory_size = (uint32_t)layout->total;
	qp->cc = pd->device->config.cc ? pd->device->config.cc : &not_controlled;
	qp->requester.queue.ring = memory + layout->sends;
	qp->responder.queue.ring = memory + layout->receives;
	qp->responder.held = qp->srq ? (struct vl_receive *)(memory + layout->held) : NULL;
	if (qp->type == IBV_QPT_RC)
		qp->responder.resources =
			(struct vl_responder_resource *)(memory + layout->resources);
	qp->responder.resource_mask = resource_mask(qp->device);
	qp->responder.advertised_credits = VL_CREDIT_UNLIMITED;
	if (qp->type != IBV_QPT_UD)
		qp->ah_attr = (struct ibv_ah_attr *)(memory + layout->ah_attr);
}

struct vl_qp *vl_create_qp(struct vl_pd *pd, struct vl_qp_init_attr *attr, int *error)
{
	struct vl_device *device = pd->device;
	struct vl_qp dimensions = {.type = (uint8_t)attr->qp_type};
	struct layout layout;
	struct vl_qp *qp;
	int result = check_init(device, attr);

	if (result)
		return vl_refuse(error, result);
	set_dimensions(&dimensions, attr);
	layout = lay_out(&dimensions, device, attr->srq);
	qp = vl_allocate(device, layout.total);
	if (!qp)
		return vl_refuse(error, -ENOMEM);
	*qp = dimensions;
	fill(qp, pd, attr, &layout);
	qp->qpn = attr->gsi ? VL_GSI_QPN : attr->qpn ? attr->qpn : choose_qpn(device);
	result = vl_table_insert(&device->qps, &device->config.allocator, qp->qpn, qp);
	if (result) {
		vl_release(device, qp, layout.total);
		return vl_refuse(error, result);
	}
	join_device(qp, pd);
	attr->qpn = qp->qpn;
	if (qp->srq)
		attr->cap.max_recv_wr = attr->cap.max_recv_sge = 0;
	return qp;
}

/* ---- Resetting and destroying -------------------------------------------------------------- */

/* Completions that nobody has polled go too: they would name a QPN that may be another's. */
static void forget(struct vl_qp *qp)
{
	vl_engine_forget(qp);
	vl_drop_work_requests(qp);
	vl_cq_purge(qp->send_cq, qp->qpn);
	vl_cq_purge(qp->recv_cq, qp->qpn);
	vl_mr_unbind_windows(qp);
}

void vl_qp_reset(struct vl_qp *qp)
{
	struct vl_requester *requester = &qp->requester;
	struct vl_responder *responder = &qp->responder;

	forget(qp);
	*requester = (struct vl_requester){.queue = requester->queue};
	*responder = (struct vl_responder){.queue = responder->queue,
					   .held = responder->held,
					   .resources = responder->resources,
					   .resource_mask = resource_mask(qp->device),
					   .advertised_credits = VL_CREDIT_UNLIMITED};
	qp->state = IBV_QPS_RESET;
	qp->remote_qpn = 0;
	qp->access = 0;
	qp->priority = 0;
	qp->path = (struct vl_path){0};
	qp->sqd_notify = qp->communication_established = qp->response_turn = false;
	qp->cc_state = (struct vl_cc_state){0};
	qp->notification = (struct vl_notification_point){0};
}

int vl_destroy_qp(struct vl_qp *qp)
{
	forget(qp);
	leave_device(qp);
	vl_release(qp->device, qp, qp->memory_size);
	return 0;
}

/* ---- Describing ---------------------------------------------------------------------------- */

static enum ibv_mtu mtu_of(uint32_t bytes)
{
	enum ibv_mtu mtu = IBV_MTU_256;

	while (mtu < IBV_MTU_4096 && (128u << mtu) < bytes)
		mtu++;
	return mtu;
}

void vl_query_qp(const struct vl_qp *qp, struct ibv_qp_attr *attr, struct vl_qp_init_attr *init)
{
	const struct vl_requester *requester = &qp->requester;
	const struct ibv_qp_cap cap = {
		.max_send_wr = requester->queue.limit,
		.max_recv_wr = qp->responder.queue.limit,
		.max_send_sge = requester->queue.max_sge,
		.max_recv_sge = qp->responder.queue.max_sge,
		.max_inline_data = requester->queue.max_inline,
	};

	*init = (struct vl_qp_init_attr){
		.send_cq = qp->send_cq,
		.recv_cq = qp->recv_cq,
		.srq = qp->srq,
		.cap = cap,
		.qp_type = (enum ibv_qp_type)qp->type,
		.sq_sig_all = qp->sq_sig_all,
		.gsi = qp->is_gsi,
		.context = qp->context,
		.qpn = qp->qpn,
	};
	memset(attr, 0, sizeof(*attr));
	attr->qp_state = attr->cur_qp_state = (enum ibv_qp_state)qp->state;
	attr->path_mtu = mtu_of(qp->path_mtu);
	attr->path_mig_state = IBV_MIG_MIGRATED;
	attr->qkey = qp->qkey;
	attr->rq_psn = qp->responder.expected_psn;
	attr->sq_psn = requester->unsent_psn;
	attr->dest_qp_num = qp->remote_qpn;
	attr->qp_access_flags = qp->access;
	attr->cap = cap;
	if (qp->ah_attr)
		attr->ah_attr = *qp->ah_attr;
	attr->pkey_index = qp->pkey_index;
	attr->en_sqd_async_notify = qp->sqd_notify;
	attr->sq_draining = qp->state == IBV_QPS_SQD && !requester->drained_reported;
	attr->max_rd_atomic = qp->max_rd_atomic;
	attr->max_dest_rd_atomic = qp->max_dest_rd_atomic;
	attr->min_rnr_timer = qp->min_rnr_timer;
	attr->port_num = 1;
	attr->timeout = qp->timeout;
	attr->retry_cnt = qp->retry_count;
	attr->rnr_retry = qp->rnr_retry;
}

struct vl_qp *vl_find_qp(const struct vl_device *device, uint32_t qpn)
{
	return vl_table_find(&device->qps, qpn);
}

uint32_t vl_qp_number(const struct vl_qp *qp)
{
	return qp->qpn;
}

uint32_t vl_qp_remote_number(const struct vl_qp *qp)
{
	return qp->remote_qpn;
}

enum ibv_qp_state vl_qp_state(const struct vl_qp *qp)
{
	return (enum ibv_qp_state)qp->state;
}

void *vl_qp_context(const struct vl_qp *qp)
{
	return qp->context;
}

const struct vl_counters *vl_qp_counters(const struct vl_qp *qp)
{
	return &qp->counters;
}

int vl_set_udp_source_port(struct vl_qp *qp, uint16_t port)
{
	if (port < 0xc000)
		return -EINVAL;
	qp->udp_source_port = port;
	if (qp->path.length && (qp->path.encapsulation == VL_ENCAPSULATION_ROCEV2_IPV4 ||
				qp->path.encapsulation == VL_ENCAPSULATION_ROCEV2_IPV6))
		vl_path_set_udp_source_port(&qp->path, port);
	return 0;
}
