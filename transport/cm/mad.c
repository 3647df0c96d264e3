/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "transport/cm/mad.h"

#include "transport/wire/headers.h"

void vl_mad_decode(struct vl_mad_header *header, const uint8_t bytes[VL_MAD_HEADER_LENGTH])
{
	header->base_version = bytes[0];
	header->management_class = bytes[1];
	header->class_version = bytes[2];
	header->method = bytes[3];
	header->status = vl_load_be16(bytes + 4);
	header->class_specific = vl_load_be16(bytes + 6);
	header->transaction_id = vl_load_be64(bytes + 8);
	header->attribute_id = vl_load_be16(bytes + 16);
	header->attribute_modifier = vl_load_be32(bytes + 20);
}

void vl_mad_encode(uint8_t bytes[VL_MAD_HEADER_LENGTH], const struct vl_mad_header *header)
{
	bytes[0] = header->base_version;
	bytes[1] = header->management_class;
	bytes[2] = header->class_version;
	bytes[3] = header->method;
	vl_store_be16(bytes + 4, header->status);
	vl_store_be16(bytes + 6, header->class_specific);
	vl_store_be64(bytes + 8, header->transaction_id);
	vl_store_be16(bytes + 16, header->attribute_id);
	vl_store_be16(bytes + 18, 0);
	vl_store_be32(bytes + 20, header->attribute_modifier);
}
