/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * One table per message says where its fields lie (byte, bit of that byte from the most
 * significant, width), and is all that decoding, encoding and checking go by.
 */

#include "transport/cm/message.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

struct field {
	const char *name;
	uint16_t bit, width;   /* in the MAD's data; wider than 64: bytes */
	uint16_t offset, size; /* in struct vl_cm_message */
};

#define FIELD(message, member, byte, bit_, width_)                                                 \
	{                                                                                          \
		.name = #member, .bit = (byte)*8 + (bit_), .width = width_,                        \
		.offset = offsetof(struct vl_cm_message, message.member),                          \
		.size = sizeof(((struct vl_cm_message *)0)->message.member),                       \
	}

#define REQ_PATH(path, base)                                                                       \
	FIELD(req, path.local_lid, base, 0, 16), FIELD(req, path.remote_lid, base + 2, 0, 16),     \
		FIELD(req, path.local_gid, base + 4, 0, 128),                                      \
		FIELD(req, path.remote_gid, base + 20, 0, 128),                                    \
		FIELD(req, path.flow_label, base + 36, 0, 20),                                     \
		FIELD(req, path.rate, base + 39, 2, 6),                                            \
		FIELD(req, path.traffic_class, base + 40, 0, 8),                                   \
		FIELD(req, path.hop_limit, base + 41, 0, 8),                                       \
		FIELD(req, path.service_level, base + 42, 0, 4),                                   \
		FIELD(req, path.subnet_local, base + 42, 4, 1),                                    \
		FIELD(req, path.ack_timeout, base + 43, 0, 5)

static const struct field req_fields[] = {
	FIELD(req, local_comm_id, 0, 0, 32),
	FIELD(req, service_id, 8, 0, 64),
	FIELD(req, local_ca_guid, 16, 0, 64),
	FIELD(req, local_qkey, 28, 0, 32),
	FIELD(req, local_qpn, 32, 0, 24),
	FIELD(req, responder_resources, 35, 0, 8),
	FIELD(req, local_eecn, 36, 0, 24),
	FIELD(req, initiator_depth, 39, 0, 8),
	FIELD(req, remote_eecn, 40, 0, 24),
	FIELD(req, remote_cm_response_timeout, 43, 0, 5),
	FIELD(req, transport_service_type, 43, 5, 2),
	FIELD(req, end_to_end_flow_control, 43, 7, 1),
	FIELD(req, starting_psn, 44, 0, 24),
	FIELD(req, local_cm_response_timeout, 47, 0, 5),
	FIELD(req, retry_count, 47, 5, 3),
	FIELD(req, pkey, 48, 0, 16),
	FIELD(req, path_mtu, 50, 0, 4),
	FIELD(req, rdc_exists, 50, 4, 1),
	FIELD(req, rnr_retry_count, 50, 5, 3),
	FIELD(req, max_cm_retries, 51, 0, 4),
	FIELD(req, srq, 51, 4, 1),
	FIELD(req, extended_transport_type, 51, 5, 3),
	REQ_PATH(primary, 52),
	REQ_PATH(alternate, 96),
};

static const struct field mra_fields[] = {
	FIELD(mra, local_comm_id, 0, 0, 32),
	FIELD(mra, remote_comm_id, 4, 0, 32),
	FIELD(mra, message_mraed, 8, 0, 2),
	FIELD(mra, service_timeout, 9, 0, 5),
};

static const struct field rej_fields[] = {
	FIELD(rej, local_comm_id, 0, 0, 32),   FIELD(rej, remote_comm_id, 4, 0, 32),
	FIELD(rej, message_rejected, 8, 0, 2), FIELD(rej, info_length, 9, 0, 7),
	FIELD(rej, reason, 10, 0, 16),         FIELD(rej, info, 12, 0, VL_CM_INFO_LENGTH * 8),
};

static const struct field rep_fields[] = {
	FIELD(rep, local_comm_id, 0, 0, 32),
	FIELD(rep, remote_comm_id, 4, 0, 32),
	FIELD(rep, local_qkey, 8, 0, 32),
	FIELD(rep, local_qpn, 12, 0, 24),
	FIELD(rep, local_eecn, 16, 0, 24),
	FIELD(rep, starting_psn, 20, 0, 24),
	FIELD(rep, responder_resources, 24, 0, 8),
	FIELD(rep, initiator_depth, 25, 0, 8),
	FIELD(rep, target_ack_delay, 26, 0, 5),
	FIELD(rep, failover_accepted, 26, 5, 2),
	FIELD(rep, end_to_end_flow_control, 26, 7, 1),
	FIELD(rep, rnr_retry_count, 27, 0, 3),
	FIELD(rep, srq, 27, 3, 1),
	FIELD(rep, local_ca_guid, 28, 0, 64),
};

static const struct field rtu_fields[] = {
	FIELD(rtu, local_comm_id, 0, 0, 32),
	FIELD(rtu, remote_comm_id, 4, 0, 32),
};

static const struct field dreq_fields[] = {
	FIELD(dreq, local_comm_id, 0, 0, 32),
	FIELD(dreq, remote_comm_id, 4, 0, 32),
	FIELD(dreq, remote_qpn_eecn, 8, 0, 24),
};

static const struct field drep_fields[] = {
	FIELD(drep, local_comm_id, 0, 0, 32),
	FIELD(drep, remote_comm_id, 4, 0, 32),
};

static const struct field sidr_req_fields[] = {
	FIELD(sidr_req, request_id, 0, 0, 32),
	FIELD(sidr_req, pkey, 4, 0, 16),
	FIELD(sidr_req, service_id, 8, 0, 64),
};

static const struct field sidr_rep_fields[] = {
	FIELD(sidr_rep, request_id, 0, 0, 32),
	FIELD(sidr_rep, status, 4, 0, 8),
	FIELD(sidr_rep, info_length, 5, 0, 8),
	FIELD(sidr_rep, qpn, 8, 0, 24),
	FIELD(sidr_rep, service_id, 12, 0, 64),
	FIELD(sidr_rep, qkey, 20, 0, 32),
	FIELD(sidr_rep, info, 24, 0, VL_CM_INFO_LENGTH * 8),
};

static const struct field lap_fields[] = {
	FIELD(lap, local_comm_id, 0, 0, 32),
	FIELD(lap, remote_comm_id, 4, 0, 32),
	FIELD(lap, remote_qpn_eecn, 12, 0, 24),
	FIELD(lap, remote_cm_response_timeout, 15, 0, 5),
	FIELD(lap, alternate.local_lid, 20, 0, 16),
	FIELD(lap, alternate.remote_lid, 22, 0, 16),
	FIELD(lap, alternate.local_gid, 24, 0, 128),
	FIELD(lap, alternate.remote_gid, 40, 0, 128),
	FIELD(lap, alternate.flow_label, 56, 0, 20),
	FIELD(lap, alternate.traffic_class, 59, 0, 8),
	FIELD(lap, alternate.hop_limit, 60, 0, 8),
	FIELD(lap, alternate.rate, 61, 2, 6),
	FIELD(lap, alternate.service_level, 62, 0, 4),
	FIELD(lap, alternate.subnet_local, 62, 4, 1),
	FIELD(lap, alternate.ack_timeout, 63, 0, 5),
};

static const struct field apr_fields[] = {
	FIELD(apr, local_comm_id, 0, 0, 32),
	FIELD(apr, remote_comm_id, 4, 0, 32),
	FIELD(apr, info_length, 8, 0, 8),
	FIELD(apr, status, 9, 0, 8),
	FIELD(apr, info, 12, 0, VL_CM_INFO_LENGTH * 8),
};

struct layout {
	const char *name, *meaning;
	const struct field *fields;
	uint16_t field_count;
	uint16_t private_length; /* the message's last bytes */
};

static const struct layout layouts[] = {
#define LAYOUT(id, name, member, private_length, meaning)                                          \
	[id - VL_CM_REQ] = {#name, meaning, member##_fields,                                       \
			    sizeof(member##_fields) / sizeof(struct field), private_length},
	VL_CM_MESSAGES(LAYOUT)
#undef LAYOUT
};

static const struct layout *find_layout(uint16_t attribute_id)
{
	if (attribute_id < VL_CM_REQ || attribute_id > VL_CM_APR)
		return NULL;
	return &layouts[attribute_id - VL_CM_REQ];
}

/* ---- Bits on the wire --------------------------------------------------------------------------
 */

static uint64_t load_bits(const uint8_t *data, unsigned int bit, unsigned int width)
{
	unsigned int last = bit + width - 1;
	uint64_t value = 0;

	for (unsigned int i = bit / 8; i <= last / 8; i++)
		value = value << 8 | data[i];
	value >>= 7 - last % 8;
	return width < 64 ? value & ((UINT64_C(1) << width) - 1) : value;
}

/* Into bits that are zero. */
static void store_bits(uint8_t *data, unsigned int bit, unsigned int width, uint64_t value)
{
	unsigned int last = bit + width - 1;

	value <<= 7 - last % 8;
	for (unsigned int i = last / 8 + 1; i-- > bit / 8; value >>= 8)
		data[i] |= (uint8_t)value;
}

/* ---- Members -----------------------------------------------------------------------------------
 */

static bool is_bytes(const struct field *field)
{
	return field->width > 64;
}

static uint64_t load_member(const struct vl_cm_message *message, const struct field *field)
{
	const uint8_t *member = (const uint8_t *)message + field->offset;
	uint16_t value16;
	uint32_t value32;
	uint64_t value64;

	switch (field->size) {
	case sizeof(uint8_t):
		return *member;
	case sizeof(uint16_t):
		memcpy(&value16, member, sizeof(value16));
		return value16;
	case sizeof(uint32_t):
		memcpy(&value32, member, sizeof(value32));
		return value32;
	default:
		memcpy(&value64, member, sizeof(value64));
		return value64;
	}
}

static void store_member(struct vl_cm_message *message, const struct field *field, uint64_t value)
{
	uint8_t *member = (uint8_t *)message + field->offset;
	uint16_t value16 = (uint16_t)value;
	uint32_t value32 = (uint32_t)value;

	switch (field->size) {
	case sizeof(uint8_t):
		*member = (uint8_t)value;
		break;
	case sizeof(uint16_t):
		memcpy(member, &value16, sizeof(value16));
		break;
	case sizeof(uint32_t):
		memcpy(member, &value32, sizeof(value32));
		break;
	default:
		memcpy(member, &value, sizeof(value));
		break;
	}
}

/* ---- Messages ----------------------------------------------------------------------------------
 */

enum vl_cm_result vl_cm_decode(struct vl_cm_message *message, const uint8_t *mad, uint32_t length)
{
	const uint8_t *data = mad + VL_MAD_HEADER_LENGTH;
	const struct layout *layout;
	struct vl_mad_header header;

	memset(message, 0, sizeof(*message));
	if (length != VL_MAD_LENGTH)
		return VL_CM_RESULT_length;
	vl_mad_decode(&header, mad);
	message->attribute_id = header.attribute_id;
	message->status = header.status;
	message->transaction_id = header.transaction_id;
	if (header.base_version != VL_MAD_BASE_VERSION)
		return VL_CM_RESULT_base_version;
	if (header.management_class != VL_MAD_CLASS_CM)
		return VL_CM_RESULT_management_class;
	if (header.class_version != VL_MAD_CLASS_VERSION_CM)
		return VL_CM_RESULT_class_version;
	if (header.method != VL_MAD_METHOD_SEND)
		return VL_CM_RESULT_method;
	layout = find_layout(header.attribute_id);
	if (!layout)
		return VL_CM_RESULT_attribute;
	for (unsigned int i = 0; i < layout->field_count; i++) {
		const struct field *field = &layout->fields[i];

		if (is_bytes(field))
			memcpy((uint8_t *)message + field->offset, data + field->bit / 8,
			       field->size);
		else
			store_member(message, field, load_bits(data, field->bit, field->width));
	}
	message->private_data_length = layout->private_length;
	memcpy(message->private_data, mad + VL_MAD_LENGTH - layout->private_length,
	       layout->private_length);
	return VL_CM_RESULT_ok;
}

static int check(const struct vl_cm_message *message, const struct layout *layout,
		 const char **field)
{
	*field = "attribute_id";
	if (!layout)
		return -EINVAL;
	*field = "private_data_length";
	if (message->private_data_length > layout->private_length)
		return -EMSGSIZE;
	for (unsigned int i = 0; i < layout->field_count; i++) {
		*field = layout->fields[i].name;
		if (layout->fields[i].width < 64 &&
		    load_member(message, &layout->fields[i]) >> layout->fields[i].width)
			return -ERANGE;
	}
	return 0;
}

int vl_cm_encode(uint8_t mad[VL_MAD_LENGTH], const struct vl_cm_message *message,
		 const char **field)
{
	const struct layout *layout = find_layout(message->attribute_id);
	const struct vl_mad_header header = {
		.base_version = VL_MAD_BASE_VERSION,
		.management_class = VL_MAD_CLASS_CM,
		.class_version = VL_MAD_CLASS_VERSION_CM,
		.method = VL_MAD_METHOD_SEND,
		.status = message->status,
		.transaction_id = message->transaction_id,
		.attribute_id = message->attribute_id,
	};
	uint8_t *data = mad + VL_MAD_HEADER_LENGTH;
	const char *wrong;
	int error = check(message, layout, &wrong);

	if (error) {
		if (field)
			*field = wrong;
		return error;
	}
	memset(mad, 0, VL_MAD_LENGTH);
	vl_mad_encode(mad, &header);
	for (unsigned int i = 0; i < layout->field_count; i++) {
		const struct field *entry = &layout->fields[i];

		if (is_bytes(entry))
			memcpy(data + entry->bit / 8, (const uint8_t *)message + entry->offset,
			       entry->size);
		else
			store_bits(data, entry->bit, entry->width, load_member(message, entry));
	}
	memcpy(mad + VL_MAD_LENGTH - layout->private_length, message->private_data,
	       message->private_data_length);
	return 0;
}

/* ---- Names -------------------------------------------------------------------------------------
 */

static const char *const result_names[VL_CM_RESULT_COUNT][2] = {
#define RESULT(name, meaning) {#name, meaning},
	VL_CM_RESULTS(RESULT)
#undef RESULT
};

const char *vl_cm_result_name(enum vl_cm_result result)
{
	return (unsigned int)result < VL_CM_RESULT_COUNT ? result_names[result][0] : "unknown";
}

const char *vl_cm_result_meaning(enum vl_cm_result result)
{
	return (unsigned int)result < VL_CM_RESULT_COUNT ? result_names[result][1] : "unknown";
}

const char *vl_cm_message_name(uint16_t attribute_id)
{
	const struct layout *layout = find_layout(attribute_id);

	return layout ? layout->name : NULL;
}

const char *vl_cm_message_meaning(uint16_t attribute_id)
{
	const struct layout *layout = find_layout(attribute_id);

	return layout ? layout->meaning : NULL;
}

uint16_t vl_cm_private_data_room(uint16_t attribute_id)
{
	const struct layout *layout = find_layout(attribute_id);

	return layout ? layout->private_length : 0;
}
