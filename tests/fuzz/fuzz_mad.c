/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Any bytes are a message of communication management or say why they are none. What was decoded
 * can be encoded, and is the same when it is decoded again; so is the IP header of private data.
 */

#include "transport/cm/message.h"
#include "transport/cm/rdma_ip.h"
#include "transport/cm/reason.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
	if (!condition)
		abort();
}

static void check_ip(const struct vl_cm_message *message)
{
	uint8_t encoded[VL_RDMA_IP_LENGTH];
	struct vl_rdma_ip ip, again;

	memset(&ip, 0, sizeof(ip));
	memset(&again, 0, sizeof(again));
	if (vl_rdma_ip_decode(&ip, message->private_data, message->private_data_length))
		return;
	require(!vl_rdma_ip_encode(encoded, &ip));
	require(!vl_rdma_ip_decode(&again, encoded, sizeof(encoded)));
	require(!memcmp(&ip, &again, sizeof(ip)));
}

static void check_service_id(uint64_t service_id)
{
	enum vl_rdma_port_space space;
	uint16_t port;

	if (!vl_rdma_service_id_decode(service_id, &space, &port))
		return;
	require(vl_rdma_service_id(space, port) == service_id);
	require(vl_rdma_port_space_name(space) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct vl_cm_message message, again;
	enum vl_cm_result result = vl_cm_decode(&message, data, (uint32_t)size);
	uint8_t encoded[VL_MAD_LENGTH];

	require(strcmp(vl_cm_result_name(result), "unknown"));
	if (result != VL_CM_RESULT_ok)
		return 0;
	require(vl_cm_message_name(message.attribute_id) != NULL);
	require(message.private_data_length == vl_cm_private_data_room(message.attribute_id));
	require(!vl_cm_encode(encoded, &message, NULL));
	require(vl_cm_decode(&again, encoded, sizeof(encoded)) == VL_CM_RESULT_ok);
	require(!memcmp(&message, &again, sizeof(message)));
	check_ip(&message);
	if (message.attribute_id == VL_CM_REQ)
		check_service_id(message.req.service_id);
	if (message.attribute_id == VL_CM_SIDR_REQ)
		check_service_id(message.sidr_req.service_id);
	if (message.attribute_id == VL_CM_REJ)
		require(vl_cm_reject_reason_meaning(message.rej.reason)[0]);
	return 0;
}
