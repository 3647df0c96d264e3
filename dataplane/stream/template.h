/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Making the frames of a stream's messages. All templates come zeroed, and their arguments are
 * checked. */
#ifndef VERBLINE_STREAM_TEMPLATE_H
#define VERBLINE_STREAM_TEMPLATE_H

#include "dataplane/stream/stream_private.h"

/* A packet's place in its message. */
struct vl_stream_part {
	bool first, last;
	uint32_t payload_length;
	uint32_t message_length;
};

void vl_stream_template_roce(struct vl_stream_template *template, const struct vl_stream_roce *roce,
			     const struct vl_path *path, const uint8_t *pattern,
			     const struct vl_stream_part *part);
/* What the source port and the QPN (as they lie in the frame) add to the CRC up to the PSN. */
uint32_t vl_stream_flow_crc(uint16_t port_word, uint32_t qpn_word);
/* UDP or TCP: bytes before the payload. */
uint32_t vl_stream_stateless_header_length(enum vl_stream_kind kind, const struct vl_path *path);
void vl_stream_template_stateless(struct vl_stream_template *template, enum vl_stream_kind kind,
				  const struct vl_path *path, uint16_t destination_port,
				  const uint8_t *pattern, uint32_t frame_length);
void vl_stream_template_raw(struct vl_stream_template *template, const uint8_t *raw,
			    uint32_t header_length, uint32_t frame_length);

#endif
