/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* REJ, both ways. IBTA 12.6.7. */

#include "transport/cm/connection_private.h"

#include <errno.h>
#include <string.h>

static int fill(struct vl_cm_message *message, uint16_t reason, const void *info,
		uint8_t info_length, const void *private_data, uint8_t private_data_length)
{
	if (info_length > VL_CM_INFO_LENGTH ||
	    private_data_length > vl_cm_private_data_room(VL_CM_REJ))
		return -EMSGSIZE;
	message->rej.reason = reason;
	message->rej.info_length = info_length;
	if (info_length)
		memcpy(message->rej.info, info, info_length);
	if (private_data_length)
		memcpy(message->private_data, private_data, private_data_length);
	message->private_data_length = private_data_length;
	return 0;
}

void vl_cm_answer_rej(struct vl_cm *cm, const struct vl_cm_datagram *datagram,
		      const struct vl_cm_message *message, uint16_t reason, const void *info,
		      uint8_t info_length, uint64_t now)
{
	struct vl_cm_message answer = {
		.attribute_id = VL_CM_REJ,
		.transaction_id = message->transaction_id,
		.rej = {.message_rejected = VL_CM_ANSWERS_OTHER},
	};

	if (message->attribute_id == VL_CM_REQ) {
		answer.rej.message_rejected = VL_CM_ANSWERS_REQ;
		answer.rej.remote_comm_id = message->req.local_comm_id;
	} else if (message->attribute_id == VL_CM_REP) {
		answer.rej.message_rejected = VL_CM_ANSWERS_REP;
		answer.rej.local_comm_id = message->rep.remote_comm_id;
		answer.rej.remote_comm_id = message->rep.local_comm_id;
	}
	fill(&answer, reason, info, info_length, NULL, 0);
	cm->counters.rejects_tx++;
	vl_cm_answer(cm, datagram, &answer, now);
}

int vl_cm_send_rej(struct vl_cm_connection *connection, uint16_t reason, const void *info,
		   uint8_t info_length, const void *private_data, uint8_t private_data_length,
		   uint64_t now)
{
	struct vl_cm_message message = {
		.attribute_id = VL_CM_REJ,
		.transaction_id = connection->transaction_id,
		.rej = {.local_comm_id = connection->local_comm_id,
			.remote_comm_id = connection->remote_comm_id},
	};
	int result = fill(&message, reason, info, info_length, private_data, private_data_length);

	if (result)
		return result;
	switch (connection->state) {
	case VL_CM_STATE_REQ_RECEIVED:
		message.rej.message_rejected = VL_CM_ANSWERS_REQ;
		/* A refused request has no communication ID of ours yet, IBTA 12.6.7.1. */
		message.rej.local_comm_id = 0;
		break;
	case VL_CM_STATE_REP_RECEIVED:
		message.rej.message_rejected = VL_CM_ANSWERS_REP;
		break;
	default:
		message.rej.message_rejected = VL_CM_ANSWERS_OTHER;
		break;
	}
	connection->cm->counters.rejects_tx++;
	vl_cm_send_once(connection, &message, now);
	return 0;
}

/* A peer that gave up before it heard of our ID names its own alone. */
static struct vl_cm_connection *find(struct vl_cm *cm, const struct vl_cm_datagram *datagram,
				     const struct vl_cm_rej *rej)
{
	if (rej->reason == VL_CM_REJECT_TIMEOUT && !rej->remote_comm_id)
		return vl_cm_find_remote(cm, rej->local_comm_id, &datagram->source, false);
	return vl_cm_find_local(cm, rej->remote_comm_id);
}

void vl_cm_receive_rej(struct vl_cm *cm, const struct vl_cm_datagram *datagram,
		       const struct vl_cm_message *message, uint64_t now)
{
	const struct vl_cm_rej *rej = &message->rej;
	struct vl_cm_connection *connection = find(cm, datagram, rej);

	if (!connection || connection->qp_type == IBV_QPT_UD) {
		cm->counters.unexpected_rx++;
		return;
	}
	if (memcmp(&connection->remote_gid, &datagram->source, sizeof(datagram->source))) {
		cm->counters.wrong_peer++;
		return;
	}
	/* Once the peer's ID is known, a refusal with another, or with none, is late: of a copy of
	 * the request that came first, as a rule. */
	if (connection->remote_comm_id && rej->local_comm_id != connection->remote_comm_id) {
		cm->counters.unexpected_rx++;
		return;
	}
	cm->counters.rejects_rx++;
	switch (connection->state) {
	case VL_CM_STATE_REQ_SENT:
	case VL_CM_STATE_REQ_RECEIVED:
	case VL_CM_STATE_REP_SENT:
	case VL_CM_STATE_REP_RECEIVED:
		vl_cm_end_rejected(connection, rej->reason, message, now);
		break;
	case VL_CM_STATE_ESTABLISHED:
	case VL_CM_STATE_DREQ_SENT:
		/* It knows nothing of the connection any more. */
		vl_cm_enter_time_wait(connection, now);
		vl_cm_tell_disconnected(connection, NULL, now);
		break;
	default:
		cm->counters.unexpected_rx++;
		break;
	}
}
