/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Management datagrams, IBTA volume 1, 13.4: 256 bytes, of which 24 are this header. On QP1 they
 * are the whole payload of a UD SEND ONLY with the Q_Key 0x80010000. */
#ifndef VERBLINE_CM_MAD_H
#define VERBLINE_CM_MAD_H

#include <stdint.h>

#define VL_MAD_LENGTH        256
#define VL_MAD_HEADER_LENGTH 24
#define VL_MAD_DATA_LENGTH   (VL_MAD_LENGTH - VL_MAD_HEADER_LENGTH)

#define VL_MAD_BASE_VERSION 1
#define VL_MAD_METHOD_SEND  0x03

/* Management class of communication management, and its version (IBTA 12.6.1). */
#define VL_MAD_CLASS_CM         0x07
#define VL_MAD_CLASS_VERSION_CM 2

struct vl_mad_header {
	uint8_t base_version;
	uint8_t management_class;
	uint8_t class_version;
	uint8_t method;
	uint16_t status;
	uint16_t class_specific;
	uint64_t transaction_id;
	uint16_t attribute_id;
	uint32_t attribute_modifier;
};

/* Any 24 bytes are a header; the reserved ones are not kept, and written as zero. */
void vl_mad_decode(struct vl_mad_header *header, const uint8_t bytes[VL_MAD_HEADER_LENGTH]);
void vl_mad_encode(uint8_t bytes[VL_MAD_HEADER_LENGTH], const struct vl_mad_header *header);

#endif
