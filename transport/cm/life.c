/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What a connection waits for, what it tells its owner, and how it ends. */

#include "transport/cm/connection_private.h"

#include <errno.h>

#define MILLISECOND UINT64_C(1000000)
/* Between two questions for a neighbour's MAC. */
#define RESOLVE_INTERVAL MILLISECOND
/* Of a path whose ACK timeout claims more. */
#define MAX_TIME_WAIT (UINT64_C(16000) * MILLISECOND)

uint64_t vl_cm_timeout(uint8_t exponent, uint64_t limit)
{
	uint64_t timeout = UINT64_C(4096) << (exponent & 31);

	if (timeout < MILLISECOND)
		timeout = MILLISECOND;
	return timeout < limit ? timeout : limit;
}

void vl_cm_arm(struct vl_cm_connection *connection, uint64_t at)
{
	vl_timer_arm(&connection->cm->wheel, &connection->timer, at);
}

void vl_cm_await_answer(struct vl_cm_connection *connection, uint8_t retries, uint64_t now)
{
	connection->retries_left = retries;
	vl_cm_arm(connection, now + connection->response_time);
}

void vl_cm_await_owner(struct vl_cm_connection *connection, uint64_t now)
{
	connection->patience = VL_CM_PATIENCE_QUIET;
	connection->give_up_time = now + connection->cm->config.owner_timeout;
	vl_cm_arm(connection, now + connection->promised_time / 2);
}

void vl_cm_raise(struct vl_cm_connection *connection, struct vl_cm_event *event, uint64_t now)
{
	event->connection = connection;
	if (connection->has_owner && connection->handler.event)
		connection->handler.event(connection->handler.context, event, now);
}

void vl_cm_hand_to_listener(struct vl_cm_connection *connection, struct vl_cm_listener *listener,
			    struct vl_cm_event *event, uint64_t now)
{
	vl_cm_set_state(connection, VL_CM_STATE_REQ_RECEIVED);
	vl_cm_enter_by_id(connection);
	connection->handler = listener->param.handler;
	connection->has_owner = true;
	connection->cm->counters.connect_requests++;
	event->type = VL_CM_EVENT_CONNECT_REQUEST;
	event->listener = listener;
	vl_cm_await_owner(connection, now);
	vl_cm_raise(connection, event, now);
}

void vl_cm_end(struct vl_cm_connection *connection, struct vl_cm_event *event, uint64_t now)
{
	vl_timer_cancel(&connection->cm->wheel, &connection->timer);
	connection->is_ending = true;
	vl_cm_raise(connection, event, now);
	vl_cm_free(connection);
}

void vl_cm_end_unreachable(struct vl_cm_connection *connection, int status, uint64_t now)
{
	struct vl_cm_event event = {.type = VL_CM_EVENT_UNREACHABLE, .status = status};

	vl_cm_end(connection, &event, now);
}

void vl_cm_end_rejected(struct vl_cm_connection *connection, int reason,
			const struct vl_cm_message *message, uint64_t now)
{
	struct vl_cm_event event = {.type = VL_CM_EVENT_REJECTED, .status = reason};

	if (message) {
		event.private_data = message->private_data;
		event.private_data_length = (uint8_t)message->private_data_length;
		if (message->attribute_id == VL_CM_REJ) {
			event.info = message->rej.info;
			event.info_length = message->rej.info_length;
		}
		if (event.info_length > VL_CM_INFO_LENGTH)
			event.info_length = VL_CM_INFO_LENGTH;
	}
	vl_cm_end(connection, &event, now);
}

void vl_cm_enter_time_wait(struct vl_cm_connection *connection, uint64_t now)
{
	uint64_t wait = connection->cm->config.time_wait;

	if (!wait)
		wait = vl_cm_timeout(connection->ack_timeout, MAX_TIME_WAIT);
	vl_list_remove(&connection->waiting);
	vl_cm_set_state(connection, VL_CM_STATE_TIMEWAIT);
	vl_cm_arm(connection, now + wait);
}

void vl_cm_tell_disconnected(struct vl_cm_connection *connection,
			     const struct vl_cm_message *message, uint64_t now)
{
	struct vl_cm_event event = {.type = VL_CM_EVENT_DISCONNECTED};

	if (connection->told_disconnected)
		return;
	connection->told_disconnected = true;
	if (message) {
		event.private_data = message->private_data;
		event.private_data_length = (uint8_t)message->private_data_length;
	}
	vl_cm_raise(connection, &event, now);
}

/* ---- Timers --------------------------------------------------------------------------------- */

static void resolve_again(struct vl_cm_connection *connection, uint64_t now)
{
	int result = now < connection->give_up_time ? vl_cm_send_kept(connection, now) : -ETIMEDOUT;

	if (!result) {
		vl_cm_set_state(connection, VL_CM_STATE_REQ_SENT);
		vl_cm_await_answer(connection, connection->cm->config.max_retries, now);
	} else if (result == -EAGAIN) {
		vl_cm_arm(connection, now + RESOLVE_INTERVAL);
	} else {
		if (result == -ETIMEDOUT)
			connection->cm->counters.timeouts++;
		vl_cm_end_unreachable(connection, result, now);
	}
}

/* The peer has not answered the last time either. */
static void give_up(struct vl_cm_connection *connection, uint64_t now)
{
	connection->cm->counters.timeouts++;
	if (connection->state == VL_CM_STATE_DREQ_SENT) {
		vl_cm_enter_time_wait(connection, now);
		vl_cm_tell_disconnected(connection, NULL, now);
		return;
	}
	if (connection->qp_type != IBV_QPT_UD)
		vl_cm_send_rej(connection, VL_CM_REJECT_TIMEOUT, NULL, 0, NULL, 0, now);
	vl_cm_end_unreachable(connection, -ETIMEDOUT, now);
}

static void repeat(struct vl_cm_connection *connection, uint64_t now)
{
	if (!connection->retries_left) {
		give_up(connection, now);
		return;
	}
	connection->retries_left--;
	connection->cm->counters.retransmitted++;
	vl_cm_send_kept(connection, now);
	vl_cm_arm(connection, now + connection->response_time);
}

static void remind_owner(struct vl_cm_connection *connection, uint64_t now)
{
	if (connection->patience == VL_CM_PATIENCE_QUIET && now < connection->give_up_time) {
		if (connection->qp_type == IBV_QPT_UD)
			vl_cm_arm(connection, connection->give_up_time);
		else
			vl_cm_send_mra(connection, connection->cm->config.service_timeout, now);
		connection->patience = VL_CM_PATIENCE_ASKED;
		return;
	}
	connection->cm->counters.owner_timeouts++;
	if (connection->qp_type != IBV_QPT_UD)
		vl_cm_send_rej(connection, VL_CM_REJECT_TIMEOUT, NULL, 0, NULL, 0, now);
	vl_cm_end_unreachable(connection, -ETIMEDOUT, now);
}

void vl_cm_expire(struct vl_cm_connection *connection, uint64_t now)
{
	struct vl_cm_event event = {.type = VL_CM_EVENT_TIMEWAIT_EXIT};

	switch ((enum vl_cm_state)connection->state) {
	case VL_CM_STATE_RESOLVING:
		resolve_again(connection, now);
		break;
	case VL_CM_STATE_REQ_SENT:
	case VL_CM_STATE_REP_SENT:
	case VL_CM_STATE_DREQ_SENT:
		if (connection->is_notified)
			vl_cm_establish_passive(connection, NULL, now);
		else
			repeat(connection, now);
		break;
	case VL_CM_STATE_REQ_RECEIVED:
	case VL_CM_STATE_REP_RECEIVED:
		remind_owner(connection, now);
		break;
	case VL_CM_STATE_ESTABLISHED:
		break;
	case VL_CM_STATE_TIMEWAIT:
	case VL_CM_STATE_SIDR_ANSWERED:
		vl_cm_end(connection, &event, now);
		break;
	}
}
