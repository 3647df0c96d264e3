/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Which connection a message is for, and who sent it. */

#include "transport/cm/connection_private.h"

#include <string.h>

/* Messages that are only understood within a connection: ours by its ID, from its peer, with the
 * peer's ID where it is known. */
static struct vl_cm_connection *find(struct vl_cm *cm, const struct vl_cm_datagram *datagram,
				     uint32_t local_comm_id, uint32_t remote_comm_id)
{
	struct vl_cm_connection *connection = vl_cm_find_local(cm, local_comm_id);

	if (!connection || connection->qp_type == IBV_QPT_UD) {
		cm->counters.unexpected_rx++;
		return NULL;
	}
	if (memcmp(&connection->remote_gid, &datagram->source, sizeof(datagram->source))) {
		cm->counters.wrong_peer++;
		return NULL;
	}
	if (connection->remote_comm_id && connection->remote_comm_id != remote_comm_id) {
		cm->counters.unexpected_rx++;
		return NULL;
	}
	return connection;
}

static void dispatch_known(struct vl_cm *cm, const struct vl_cm_datagram *datagram,
			   const struct vl_cm_message *message, uint64_t now)
{
	/* All three begin with the two IDs. */
	uint32_t remote = message->rtu.local_comm_id, local = message->rtu.remote_comm_id;
	struct vl_cm_connection *connection;

	if (message->attribute_id == VL_CM_MRA) {
		remote = message->mra.local_comm_id;
		local = message->mra.remote_comm_id;
	} else if (message->attribute_id == VL_CM_DREP) {
		remote = message->drep.local_comm_id;
		local = message->drep.remote_comm_id;
	}
	connection = find(cm, datagram, local, remote);
	if (!connection)
		return;
	if (message->attribute_id == VL_CM_MRA)
		vl_cm_receive_mra(connection, message, now);
	else if (message->attribute_id == VL_CM_DREP)
		vl_cm_receive_drep(connection, message, now);
	else
		vl_cm_receive_rtu(connection, message, now);
}

void vl_cm_dispatch(struct vl_cm *cm, const struct vl_cm_datagram *datagram, uint64_t now)
{
	struct vl_cm_message message;

	if (vl_cm_decode(&message, datagram->mad, VL_MAD_LENGTH) != VL_CM_RESULT_ok) {
		cm->counters.malformed++;
		return;
	}
	cm->counters.mad_rx++;
	switch ((enum vl_cm_attribute)message.attribute_id) {
	case VL_CM_REQ:
		vl_cm_receive_req(cm, datagram, &message, now);
		break;
	case VL_CM_REP:
		vl_cm_receive_rep(cm, datagram, &message, now);
		break;
	case VL_CM_REJ:
		vl_cm_receive_rej(cm, datagram, &message, now);
		break;
	case VL_CM_DREQ:
		vl_cm_receive_dreq(cm, datagram, &message, now);
		break;
	case VL_CM_SIDR_REQ:
		vl_cm_receive_sidr_req(cm, datagram, &message, now);
		break;
	case VL_CM_SIDR_REP:
		vl_cm_receive_sidr_rep(cm, datagram, &message, now);
		break;
	case VL_CM_LAP:
		vl_cm_receive_lap(cm, datagram, &message, now);
		break;
	case VL_CM_MRA:
	case VL_CM_RTU:
	case VL_CM_DREP:
		dispatch_known(cm, datagram, &message, now);
		break;
	case VL_CM_APR:
		cm->counters.unexpected_rx++;
		break;
	}
}
