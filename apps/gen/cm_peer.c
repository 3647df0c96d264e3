/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Peers that any listener of the RDMA connection manager is: one connection for each queue pair. */

#include "apps/gen/application.h"
#include "apps/host/addresses.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Connections that are being made at a time. */
#define WINDOW 64u
/* That of ucmatose and udaddy. */
#define DEFAULT_PORT 7471u

enum link_state {
	LINK_NONE,
	LINK_CONNECTING,
	LINK_ANSWERED, /* the queue pair waits for a neighbour */
	LINK_UP,
	LINK_DOWN,
};

struct link {
	struct gen_cm_peer *peer;
	struct vl_cm_connection *connection; /* NULL: none, or over */
	struct gen_share *share;
	uint32_t n; /* in the share */
	enum link_state state;
	struct vl_cm_ud_param ud;
	uint32_t remote_qpn;
};

struct gen_cm_peer {
	struct gen_application *application;
	struct link *links;
	uint32_t count, begun, up, down;
	struct link *answered[WINDOW]; /* that wait for a neighbour */
	uint32_t answered_count;
	bool is_ending;
};

struct gen_cm_peer *gen_cm_peer_open(struct gen_application *application)
{
	struct gen_cm_peer *peer = calloc(1, sizeof(*peer));
	uint32_t at = 0;

	if (!peer)
		return NULL;
	peer->application = application;
	for (uint32_t i = 0; i < application->share_count; i++)
		peer->count += application->shares[i]->count;
	peer->links = calloc(peer->count, sizeof(*peer->links));
	if (!peer->links) {
		free(peer);
		return NULL;
	}
	for (uint32_t i = 0; i < application->share_count; i++) {
		for (uint32_t n = 0; n < application->shares[i]->count; n++)
			peer->links[at++] = (struct link){
				.peer = peer, .share = application->shares[i], .n = n};
	}
	return peer;
}

void gen_cm_peer_close(struct gen_cm_peer *peer, uint64_t now)
{
	if (!peer)
		return;
	for (uint32_t i = 0; i < peer->count; i++) {
		if (peer->links[i].connection)
			vl_cm_destroy(peer->links[i].connection, now);
	}
	free(peer->links);
	free(peer);
}

static struct vl_queue_pair_address address_of(const struct link *link)
{
	const struct gen_application_config *config = &link->peer->application->config;

	return (struct vl_queue_pair_address){
		.gid = config->config->destination,
		.qpn = link->remote_qpn,
		.qkey = link->ud.qkey,
		.address = config->given.remote_address,
		.length = config->given.has_memory ? UINT64_MAX : 0,
		.rkey = config->given.rkey,
	};
}

static bool is_datagram(const struct link *link)
{
	return vl_generate_group_configuration(link->share->qps)->qp.transport == IBV_QPT_UD;
}

/* To RTR and RTS as the connection says. */
static int modify(struct link *link, uint64_t now)
{
	static const enum ibv_qp_state states[] = {IBV_QPS_RTR, IBV_QPS_RTS};
	struct vl_qp *qp = vl_generate_group_qp(link->share->qps, link->n);
	struct ibv_qp_attr attr;
	int status = 0, mask;

	for (unsigned int i = 0; !status && i < 2; i++) {
		if (vl_qp_state(qp) >= states[i])
			continue;
		status = vl_cm_init_qp_attr(link->connection, states[i], &attr, &mask);
		if (!status)
			status = vl_modify_qp(qp, &attr, mask, now);
	}
	return status;
}

/* True: it waits for a neighbour. */
static bool go_up(struct link *link, uint64_t now)
{
	struct vl_queue_pair_address peer = address_of(link);
	int status;

	if (is_datagram(link)) {
		status = vl_generate_group_connect(link->share->qps, link->n, &peer, now);
	} else {
		status = modify(link, now);
		if (!status)
			status = vl_generate_group_set_connected(link->share->qps, link->n, &peer);
		if (!status)
			status = vl_cm_establish(link->connection, NULL, 0, now);
	}
	if (status == -EAGAIN)
		return true;
	if (status) {
		gen_application_fail(link->peer->application,
				     "queue pair %u cannot be connected: %s%s", link->n,
				     strerror(-status),
				     status == -EINVAL && !peer.length
					     ? "; WRITE, READ and atomics need --remote-addr and "
					       "--rkey, which this listener does not tell"
					     : "");
		return false;
	}
	link->state = LINK_UP;
	link->peer->up++;
	return false;
}

/* As many as are being made at a time, so that there is room for all. */
static void take_answer(struct link *link, uint64_t now)
{
	struct gen_cm_peer *peer = link->peer;

	if (link->state != LINK_CONNECTING)
		return;
	link->state = LINK_ANSWERED;
	if (go_up(link, now))
		peer->answered[peer->answered_count++] = link;
}

static void try_answered(struct gen_cm_peer *peer, uint64_t now)
{
	uint32_t count = peer->answered_count;

	peer->answered_count = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct link *link = peer->answered[i];

		if (link->state == LINK_ANSWERED && go_up(link, now))
			peer->answered[peer->answered_count++] = link;
	}
}

static void go_down(struct link *link)
{
	if (link->state == LINK_DOWN)
		return;
	link->state = LINK_DOWN;
	link->peer->down++;
}

static void take_event(void *context, const struct vl_cm_event *event, uint64_t now)
{
	struct gen_cm_peer *peer = context;
	struct link *link = vl_cm_context(event->connection);
	char text[VL_UNREACHABLE_TEXT];

	switch (event->type) {
	case VL_CM_EVENT_CONNECT_RESPONSE:
		link->remote_qpn = event->param.conn.qpn;
		take_answer(link, now);
		break;
	case VL_CM_EVENT_ESTABLISHED: /* UD */
		link->connection = NULL;
		link->ud = event->param.ud;
		link->remote_qpn = event->param.ud.qpn;
		take_answer(link, now);
		break;
	case VL_CM_EVENT_REJECTED:
		link->connection = NULL;
		gen_application_fail(peer->application,
				     "the peer rejects connection %u (reason %d): nobody listens "
				     "there, or the listener does not want it",
				     link->n, event->status);
		break;
	case VL_CM_EVENT_UNREACHABLE:
		link->connection = NULL;
		gen_application_fail(
			peer->application, "%s",
			vl_unreachable_text(event->status,
					    &peer->application->config.config->destination, text));
		break;
	case VL_CM_EVENT_DISCONNECTED:
		go_down(link);
		if (!peer->is_ending && (peer->application->state == GEN_CONNECTING ||
					 gen_application_is_active(peer->application)))
			gen_application_fail(peer->application, "the peer ended connection %u",
					     link->n);
		break;
	case VL_CM_EVENT_TIMEWAIT_EXIT:
		link->connection = NULL;
		break;
	default:
		break;
	}
}

static void begin(struct link *link, uint64_t now)
{
	const struct gen_application *application = link->peer->application;
	const struct gen_config *gen = application->config.config;
	const struct vl_generate_group_config *group =
		vl_generate_group_configuration(link->share->qps);
	uint16_t port = gen->peer_port ? (uint16_t)gen->peer_port : DEFAULT_PORT;
	enum vl_rdma_port_space space =
		is_datagram(link) ? VL_RDMA_PORT_SPACE_UDP : VL_RDMA_PORT_SPACE_TCP;
	struct vl_cm_connect_param param = {
		.service_id = vl_rdma_service_id(space, port),
		.qp_type = group->qp.transport,
		.destination = gen->destination,
		.sgid_index = group->qp.sgid_index,
		.path_mtu = group->qp.path_mtu,
		.traffic_class = group->qp.traffic_class,
		.service_level = group->qp.priority,
		.ack_timeout = group->qp.timeout,
		.conn = {.responder_resources = 1,
			 .initiator_depth = 1,
			 .retry_count = group->qp.retry_count,
			 .rnr_retry_count = group->qp.rnr_retry,
			 .qpn = vl_qp_number(vl_generate_group_qp(link->share->qps, link->n))},
		.handler = {take_event, link->peer},
		.context = link,
	};
	int status = 0;

	link->state = LINK_CONNECTING;
	link->connection = vl_cm_connect(application->cm, &param, now, &status);
	if (!link->connection)
		gen_application_fail(link->peer->application, "connection %u cannot be made: %s",
				     link->n, strerror(-status));
}

void gen_cm_peer_poll(struct gen_cm_peer *peer, uint64_t now)
{
	struct gen_application *application = peer->application;

	if (peer->is_ending && application->state == GEN_ENDING && peer->down == peer->count)
		application->state = GEN_DONE;
	if (application->state != GEN_CONNECTING)
		return;
	while (peer->begun < peer->count && peer->begun - peer->up < WINDOW &&
	       application->state == GEN_CONNECTING)
		begin(&peer->links[peer->begun++], now);
	try_answered(peer, now);
	if (peer->up == peer->count && application->state == GEN_CONNECTING)
		application->state = GEN_READY;
}

void gen_cm_peer_finish(struct gen_cm_peer *peer, uint64_t now)
{
	peer->is_ending = true;
	for (uint32_t i = 0; i < peer->count; i++) {
		struct link *link = &peer->links[i];

		if (link->state != LINK_UP || !link->connection ||
		    vl_cm_disconnect(link->connection, now))
			go_down(link);
	}
}
