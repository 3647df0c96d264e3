/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The core's door: a packet in, a packet out, the next deadline; and who is ready to send. */

#include "transport/object/object.h"
#include "transport/outgoing.h"
#include "transport/rc/rc.h"
#include "transport/wire/icrc.h"
#include "transport/wire/parse.h"

#include <string.h>

/* ---- Lists ---------------------------------------------------------------------------------- */

static void append(struct vl_link *lists, uint16_t *mask, uint8_t priority, struct vl_link *link)
{
	if (vl_link_is_listed(link))
		return;
	vl_list_append(&lists[priority], link);
	*mask |= (uint16_t)(1u << priority);
}

static void take(struct vl_link *lists, uint16_t *mask, uint8_t priority, struct vl_link *link)
{
	vl_list_remove(link);
	if (vl_list_is_empty(&lists[priority]))
		*mask &= (uint16_t) ~(1u << priority);
}

/* A QP may fail under the hands of a service that then goes on to acknowledge or send. */
static bool is_stopped(const struct vl_qp *qp)
{
	return qp->state == IBV_QPS_ERR || qp->state == IBV_QPS_RESET;
}

void vl_engine_urgent(struct vl_qp *qp)
{
	struct vl_device *device = qp->device;

	if (is_stopped(qp))
		return;
	append(device->urgent, &device->urgent_mask, qp->priority, &qp->urgent_link);
}

void vl_engine_ready(struct vl_qp *qp)
{
	struct vl_device *device = qp->device;

	if (is_stopped(qp))
		return;
	/* While it is paced the armed timer is the answer: nothing may go before. RNR back-off,
	 * which uses the same timer, does not hold READ responses. */
	if (vl_timer_is_armed(&qp->pace_timer) && qp->requester.pace_time > device->now)
		return;
	append(device->ready, &device->ready_mask, qp->priority, &qp->ready_link);
}

void vl_engine_forget(struct vl_qp *qp)
{
	struct vl_device *device = qp->device;

	vl_list_remove(&qp->notification_link);
	if (vl_link_is_listed(&qp->urgent_link))
		take(device->urgent, &device->urgent_mask, qp->priority, &qp->urgent_link);
	if (vl_link_is_listed(&qp->ready_link))
		take(device->ready, &device->ready_mask, qp->priority, &qp->ready_link);
	vl_timer_cancel(&device->wheel, &qp->pace_timer);
	vl_timer_cancel(&device->wheel, &qp->ack_timer);
}

void vl_set_paused_priorities(struct vl_device *device, uint16_t priorities)
{
	device->paused_mask = priorities;
}

void vl_set_held_priorities(struct vl_device *device, uint16_t priorities)
{
	device->held_mask = priorities;
}

/* ---- A packet in ---------------------------------------------------------------------------- */

static bool is_ours(const struct vl_device *device, const struct vl_packet *packet)
{
	static const uint8_t no_mac[6];

	if (vl_is_infiniband(packet->encapsulation)) {
		if (packet->destination_lid != device->config.lid)
			return false;
	} else if (memcmp(packet->destination_mac, device->config.mac, 6) &&
		   memcmp(packet->destination_mac, no_mac, 6)) {
		return false;
	}
	if (!packet->grh_present)
		return true;
	for (uint32_t i = 0; i < device->config.gid_count; i++) {
		if (!memcmp(&packet->destination_gid, &device->config.gids[i].gid,
			    sizeof(union ibv_gid)))
			return true;
	}
	return false;
}

static bool pkey_matches(const struct vl_device *device, uint16_t ours, uint16_t theirs)
{
	if (!(theirs & 0x7fff))
		return device->config.accept_invalid_pkey;
	/* IBTA 10.9.3: same partition, and at least one full member. */
	return (ours & 0x7fff) == (theirs & 0x7fff) && ((ours | theirs) & 0x8000);
}

static bool may_receive(const struct vl_qp *qp)
{
	return qp->state == IBV_QPS_RTR || qp->state == IBV_QPS_RTS || qp->state == IBV_QPS_SQD ||
	       qp->state == IBV_QPS_SQE;
}

/* IBTA 9.6.1.5: of a connected service. Where there is a LID, it must be the one that the path goes
 * to, and a GRH must be there if the path has one. */
static bool is_from_peer(const struct vl_qp *qp, const struct vl_packet *packet)
{
	if (vl_is_infiniband(packet->encapsulation)) {
		const struct vl_lrh *lrh = (const struct vl_lrh *)qp->path.bytes;

		if (packet->encapsulation != (enum vl_encapsulation)qp->path.encapsulation ||
		    packet->source_lid != vl_load_be16(lrh->destination_lid))
			return false;
	}
	return !packet->grh_present ||
	       !memcmp(&packet->source_gid, &qp->remote_gid, sizeof(union ibv_gid));
}

static void react(struct vl_qp *qp, uint64_t now)
{
	if (qp->cc->algorithm->on_cnp)
		qp->cc->algorithm->on_cnp(&qp->cc_state, qp->cc, now);
}

/* On InfiniBand datagrams are answered too, by whom the QP is not bound to. */
static bool takes_notification(const struct vl_qp *qp, const struct vl_packet *packet)
{
	if (!may_receive(qp) || !packet->becn)
		return false;
	return qp->type == IBV_QPT_UD ? vl_is_infiniband(packet->encapsulation)
				      : is_from_peer(qp, packet);
}

static void receive_notification(struct vl_device *device, const struct vl_packet *packet,
				 uint64_t now)
{
	struct vl_qp *qp = vl_table_find_often(&device->qps, packet->destination_qpn);

	if (!qp || !takes_notification(qp, packet)) {
		device->drops[VL_DROP_cnp_unknown_qp]++;
		return;
	}
	VL_COUNT(qp, cnp_rx);
	react(qp, now);
}

/* Why the QP does not take the packet, or VL_DROP_COUNT if it does. */
static enum vl_drop admission(const struct vl_qp *qp, const struct vl_packet *packet)
{
	enum vl_service service = vl_opcode_service(packet->opcode);
	enum vl_service served = qp->type == IBV_QPT_RC   ? VL_SERVICE_RC
				 : qp->type == IBV_QPT_UC ? VL_SERVICE_UC
							  : VL_SERVICE_UD;

	if (service != served)
		return VL_DROP_service;
	if (!may_receive(qp))
		return VL_DROP_qp_state;
	if (!qp->is_gsi && !pkey_matches(qp->device, qp->pkey, packet->pkey))
		return VL_DROP_pkey;
	if (qp->type != IBV_QPT_UD && !is_from_peer(qp, packet))
		return VL_DROP_source;
	return VL_DROP_COUNT;
}

static struct vl_notification_point *shared_point(struct vl_qp *qp)
{
	struct vl_random hash = {0};
	uint64_t halves[2];

	if (qp->device->config.cnp_scope == VL_CNP_SCOPE_PORT)
		return &qp->device->notification_points[0];
	memcpy(halves, &qp->remote_gid, sizeof(halves));
	hash.state = halves[0] ^ halves[1];
	return &qp->device
			->notification_points[vl_random_next(&hash) & (VL_NOTIFICATION_POINTS - 1)];
}

/* A CNP that had to wait is the QP's own: with a shared point only a mark asks for one. */
static bool is_notification_due(struct vl_qp *qp, bool is_marked, uint64_t now)
{
	if (qp->device->config.cnp_scope == VL_CNP_SCOPE_QP)
		return vl_notification_due(&qp->notification, qp->cc, is_marked, now);
	return is_marked && vl_notification_due(shared_point(qp), qp->cc, true, now);
}

static void note_mark(struct vl_qp *qp, const struct vl_packet *packet, uint64_t now)
{
	const bool is_marked = vl_packet_ecn(packet) == VL_ECN_CE;

	if (is_marked)
		VL_COUNT(qp, ecn_ce_rx);
	/* Only data speaks of a flow that could slow down; UD has no peer to tell. */
	if (qp->type != IBV_QPT_UD && (packet->info->flags & VL_OPCODE_PAYLOAD) &&
	    is_notification_due(qp, is_marked, now))
		vl_engine_notify(qp);
}

/* The way back of a datagram: to where it came from, on the same service level. */
static bool remember_sender(struct vl_qp *qp, const struct vl_packet *packet)
{
	const struct vl_path_attr attr = {
		.encapsulation = packet->encapsulation,
		.priority = packet->priority,
		.source_lid = packet->destination_lid,
		.destination_lid = packet->source_lid,
		.source_gid = packet->destination_gid,
		.destination_gid = packet->source_gid,
	};

	if (vl_path_init(&qp->path, &attr))
		return false;
	qp->notification_qpn = packet->source_qpn;
	return true;
}

/*
 * InfiniBand, annex A10: FECN comes back as BECN. A reliable connection's requests are acknowledged
 * with it, at once; unreliable services, and the responses of a reliable one, are answered by a
 * notification packet. A QP has one waiting at a time: of datagrams, for the newest's sender.
 */
static void return_fecn(struct vl_qp *qp, const struct vl_packet *packet)
{
	if (!packet->fecn || !(packet->info->flags & VL_OPCODE_PAYLOAD))
		return;
	VL_COUNT(qp, fecn_rx);
	if (qp->type == IBV_QPT_RC && (packet->info->flags & VL_OPCODE_REQUEST) &&
	    vl_rc_return_becn(qp))
		return;
	if (qp->type != IBV_QPT_UD || remember_sender(qp, packet))
		vl_engine_notify(qp);
}

static void note_congestion(struct vl_qp *qp, const struct vl_packet *packet, uint64_t now)
{
	if (!vl_is_infiniband(packet->encapsulation)) {
		note_mark(qp, packet, now);
		return;
	}
	return_fecn(qp, packet);
	if (packet->becn && (packet->info->flags & VL_OPCODE_RESPONSE)) {
		VL_COUNT(qp, becn_rx);
		react(qp, now);
	}
}

static void receive(struct vl_device *device, const struct vl_packet *packet, uint64_t now)
{
	enum vl_drop drop;
	struct vl_qp *qp;

	if (now > device->now)
		device->now = now;
	if (packet->transport_version) {
		device->drops[VL_DROP_version]++;
		return;
	}
	if (!is_ours(device, packet)) {
		device->drops[VL_DROP_not_for_us]++;
		return;
	}
	if (packet->info->flags & VL_OPCODE_NOTIFICATION) {
		receive_notification(device, packet, now);
		return;
	}
	qp = vl_table_find_often(&device->qps, packet->destination_qpn);
	if (!qp) {
		device->drops[VL_DROP_unknown_qp]++;
		return;
	}
	drop = admission(qp, packet);
	if (drop != VL_DROP_COUNT) {
		device->drops[drop]++;
		return;
	}
	if (!qp->communication_established && qp->state == IBV_QPS_RTR && qp->type != IBV_QPT_UD) {
		qp->communication_established = true;
		if (device->config.events.async)
			device->config.events.async(device->config.events.context,
						    IBV_EVENT_COMM_EST, qp);
	}
	note_congestion(qp, packet, now);
	switch (qp->type) {
	case IBV_QPT_RC:
		vl_rc_receive(qp, packet, now);
		break;
	case IBV_QPT_UC:
		vl_uc_receive(qp, packet, now);
		break;
	default:
		vl_ud_receive(qp, packet, now);
		break;
	}
}

void vl_receive(struct vl_device *device, const struct vl_packet *packet, uint64_t now)
{
	device->arrival = now;
	receive(device, packet, now);
}

void vl_receive_frame(struct vl_device *device, enum vl_link_type link, const uint8_t *frame,
		      uint32_t length, uint64_t now)
{
	vl_receive_frame_arrived(device, link, frame, length, now, now);
}

void vl_receive_frame_arrived(struct vl_device *device, enum vl_link_type link,
			      const uint8_t *frame, uint32_t length, uint64_t arrival, uint64_t now)
{
	struct vl_packet packet;
	enum vl_parse_result result = vl_parse(&packet, link, frame, length, length);

	if (result == VL_PARSE_opcode_reserved) {
		device->drops[VL_DROP_opcode]++;
	} else if (result != VL_PARSE_ok) {
		device->drops[VL_DROP_not_parsed]++;
	} else if (!vl_icrc_is_right(&packet)) {
		device->drops[VL_DROP_icrc]++;
	} else {
		device->arrival = arrival;
		receive(device, &packet, now);
	}
}

/* ---- A packet out --------------------------------------------------------------------------- */

void vl_engine_notify(struct vl_qp *qp)
{
	if (!vl_link_is_listed(&qp->notification_link))
		vl_list_append(&qp->device->notifications, &qp->notification_link);
}

/* CNPs have a class of their own on Ethernet; on InfiniBand it is the service level of what they
 * are about. */
static uint8_t notification_priority(const struct vl_qp *qp)
{
	const struct vl_lrh *lrh = (const struct vl_lrh *)qp->path.bytes;

	return vl_is_infiniband((enum vl_encapsulation)qp->path.encapsulation)
		       ? lrh->service_next >> 4
		       : qp->cc->dcqcn.cnp_802p_prio & 7;
}

/* The QP whose notification goes next; NULL: none may. */
static struct vl_qp *next_notification(const struct vl_device *device)
{
	struct vl_qp *qp;

	if (vl_list_is_empty(&device->notifications))
		return NULL;
	qp = VL_CONTAINER(device->notifications.next, struct vl_qp, notification_link);
	return device->paused_mask >> notification_priority(qp) & 1 ? NULL : qp;
}

/* RoCEv2 CNP, A17.9.3: BECN, PSN 0, and 16 reserved bytes; so too, but for its opcode, InfiniBand's
 * CN of annex A10 (its 16 bytes are not verified). */
static bool send_notification(struct vl_device *device, struct vl_outgoing *outgoing)
{
	static const uint8_t reserved[VL_CNP_PAYLOAD_LENGTH];
	struct vl_qp *qp = next_notification(device);
	struct vl_outgoing_bth bth = {.opcode = VL_OPCODE_CNP, .becn = true};
	struct vl_path path;

	if (!qp)
		return false;
	vl_list_remove(&qp->notification_link);
	path = qp->path;
	if (vl_is_infiniband((enum vl_encapsulation)qp->path.encapsulation))
		bth.opcode = VL_OPCODE_CN;
	else
		vl_path_set_class(&path, (uint8_t)(qp->cc->dcqcn.cnp_dscp << 2 | VL_ECN_ECT0),
				  notification_priority(qp));
	bth.destination_qpn = qp->type == IBV_QPT_UD ? qp->notification_qpn : qp->remote_qpn;
	outgoing->span_count = 0;
	vl_outgoing_begin(qp, &path, &bth, sizeof(reserved), outgoing);
	vl_outgoing_add_span(outgoing, reserved, sizeof(reserved));
	outgoing->priority = notification_priority(qp);
	VL_COUNT(qp, cnp_tx);
	return true;
}

static bool send_urgent(struct vl_device *device, uint64_t now, struct vl_outgoing *outgoing)
{
	uint16_t mask;

	while ((mask = device->urgent_mask & (uint16_t)~device->paused_mask)) {
		uint8_t priority = (uint8_t)__builtin_ctz(mask);
		struct vl_qp *qp =
			VL_CONTAINER(device->urgent[priority].next, struct vl_qp, urgent_link);

		take(device->urgent, &device->urgent_mask, priority, &qp->urgent_link);
		outgoing->span_count = 0;
		if (vl_rc_urgent(qp, outgoing, now) == VL_SEND_PACKET)
			return true;
	}
	return false;
}

static enum vl_send_result send_one(struct vl_qp *qp, struct vl_outgoing *outgoing, uint64_t now)
{
	enum vl_send_result result;

	do {
		outgoing->span_count = 0;
		switch (qp->type) {
		case IBV_QPT_RC:
			result = vl_rc_send(qp, outgoing, now);
			break;
		case IBV_QPT_UC:
			result = vl_uc_send(qp, outgoing, now);
			break;
		default:
			result = vl_ud_send(qp, outgoing, now);
			break;
		}
	} while (result == VL_SEND_AGAIN);
	return result;
}

/* Where a level stands in device->turns that is the first of those in the mask, which is not 0. */
static uint32_t find_turn(const struct vl_device *device, uint16_t mask)
{
	uint32_t shift = 0;

	while (!(mask >> (device->turns >> shift & 0xf) & 1))
		shift += 4;
	return shift;
}

/* The level that has not been served for longest. A plain round would not do: where levels share a
 * lane and wait for each other, the one that follows on another lane's would always come first. */
static uint8_t choose_level(const struct vl_device *device, uint16_t mask)
{
	if (!(mask & (mask - 1)))
		return (uint8_t)__builtin_ctz(mask);
	return device->turns >> find_turn(device, mask) & 0xf;
}

static void end_turn(struct vl_device *device, uint8_t level)
{
	uint32_t shift;
	uint64_t before;

	if (device->turns >> 60 == level)
		return;
	shift = find_turn(device, (uint16_t)(1u << level));
	before = device->turns & ((UINT64_C(1) << shift) - 1);
	device->turns = before | device->turns >> shift >> 4 << shift | (uint64_t)level << 60;
}

/* Of thousands of queue pairs in turn none is in the cache: the next one's state comes while this
 * one sends. */
static inline void fetch_next(const struct vl_link *list)
{
	const char *next = (const char *)VL_CONTAINER(list->next, struct vl_qp, ready_link);

	if (vl_list_is_empty(list))
		return;
	for (size_t offset = 0; offset < offsetof(struct vl_qp, counters); offset += 64)
		__builtin_prefetch(next + offset);
}

static bool send_ready(struct vl_device *device, uint64_t now, struct vl_outgoing *outgoing)
{
	uint16_t mask;

	while ((mask = device->ready_mask &
		       (uint16_t) ~(device->paused_mask | device->held_mask))) {
		uint8_t priority = choose_level(device, mask);
		struct vl_qp *qp =
			VL_CONTAINER(device->ready[priority].next, struct vl_qp, ready_link);

		take(device->ready, &device->ready_mask, priority, &qp->ready_link);
		fetch_next(&device->ready[priority]);
		switch (send_one(qp, outgoing, now)) {
		case VL_SEND_PACKET:
			vl_engine_ready(qp);
			end_turn(device, priority);
			return true;
		case VL_SEND_LATER:
			vl_timer_arm(&device->wheel, &qp->pace_timer, qp->requester.wake_time);
			break;
		default:
			break;
		}
	}
	return false;
}

static void run_timers(struct vl_device *device, uint64_t now)
{
	struct vl_timer *timer;
	struct vl_qp *qp;

	while ((timer = vl_timer_wheel_expire(&device->wheel, now))) {
		if (timer->kind == VL_TIMER_PACE) {
			vl_engine_ready(VL_CONTAINER(timer, struct vl_qp, pace_timer));
			continue;
		}
		/* Progress moves the deadline without touching the wheel; the timer catches up. */
		qp = VL_CONTAINER(timer, struct vl_qp, ack_timer);
		if (!qp->requester.ack_deadline)
			continue;
		if (qp->requester.ack_deadline > now)
			vl_timer_arm(&device->wheel, timer, qp->requester.ack_deadline);
		else
			vl_rc_ack_timeout(qp, now);
	}
}

bool vl_transmit(struct vl_device *device, uint64_t now, struct vl_outgoing *outgoing)
{
	if (now > device->now)
		device->now = now;
	run_timers(device, device->now);
	/* Asking for a READ response may end in a NAK instead, which is urgent then. */
	return send_notification(device, outgoing) || send_urgent(device, device->now, outgoing) ||
	       send_ready(device, device->now, outgoing) ||
	       send_urgent(device, device->now, outgoing);
}

uint64_t vl_next_deadline(const struct vl_device *device)
{
	if ((device->urgent_mask & (uint16_t)~device->paused_mask) |
	    (device->ready_mask & (uint16_t) ~(device->paused_mask | device->held_mask)))
		return 0;
	if (next_notification(device))
		return 0;
	return vl_timer_wheel_next(&device->wheel);
}
