/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/capture/link.h"

/* What a Linux cooked header's protocol field means for us. */
#define ETHERTYPE_IPV4 0x0800
#define ETHERTYPE_IPV6 0x86dd

#define SLL_HEADER_LENGTH    16
#define SLL_PROTOCOL_OFFSET  14
#define SLL2_HEADER_LENGTH   20
#define SLL2_PROTOCOL_OFFSET 0
#define ERF_EXTENSION_LENGTH 8
#define ERF_ETHERNET_PAD     2
#define ERF_MORE_EXTENSIONS  0x80
#define ERF_TYPE_OFFSET      8
#define ERF_FLAGS_OFFSET     9
#define ERF_INTERFACE_MASK   3
#define ERF_RECORD_LENGTH    10
#define ERF_WIRE_LENGTH      14

static uint32_t load_be16(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] << 8 | bytes[1];
}

static struct vl_capture_frame frame_after(enum vl_link_type link, const uint8_t *data,
					   uint32_t captured_length, uint32_t original_length,
					   uint32_t skipped)
{
	if (captured_length < skipped)
		return (struct vl_capture_frame){.kind = VL_CAPTURE_FRAME_cooked_short};
	return (struct vl_capture_frame){
		.kind = VL_CAPTURE_FRAME_parseable,
		.link = link,
		.data = data + skipped,
		.length = captured_length - skipped,
		.wire_length = original_length - skipped,
	};
}

static struct vl_capture_frame cooked_frame(const uint8_t *data, uint32_t captured_length,
					    uint32_t original_length, uint32_t header_length,
					    uint32_t protocol_offset)
{
	uint32_t protocol;

	if (captured_length < header_length)
		return (struct vl_capture_frame){.kind = VL_CAPTURE_FRAME_cooked_short};
	protocol = load_be16(data + protocol_offset);
	if (protocol != ETHERTYPE_IPV4 && protocol != ETHERTYPE_IPV6)
		return (struct vl_capture_frame){.kind = VL_CAPTURE_FRAME_sll_not_ip};
	return frame_after(VL_LINK_IP, data, captured_length, original_length, header_length);
}

/* The record's own lengths count, not the capture's: records are padded to eight bytes. */
static struct vl_capture_frame erf_frame(const uint8_t *data, uint32_t captured_length)
{
	struct vl_capture_frame frame = {.kind = VL_CAPTURE_FRAME_parseable};
	uint32_t header_length = VL_ERF_HEADER_LENGTH;
	uint32_t record_length, wire_length;
	uint8_t type;

	if (captured_length < VL_ERF_HEADER_LENGTH)
		return (struct vl_capture_frame){.kind = VL_CAPTURE_FRAME_cooked_short};
	type = data[ERF_TYPE_OFFSET] & ~ERF_MORE_EXTENSIONS;
	record_length = load_be16(data + ERF_RECORD_LENGTH);
	wire_length = load_be16(data + ERF_WIRE_LENGTH);
	if (data[ERF_TYPE_OFFSET] & ERF_MORE_EXTENSIONS) {
		bool more = true;

		while (more) {
			if (captured_length - header_length < ERF_EXTENSION_LENGTH)
				return (struct vl_capture_frame){
					.kind = VL_CAPTURE_FRAME_cooked_short};
			more = data[header_length] & ERF_MORE_EXTENSIONS;
			header_length += ERF_EXTENSION_LENGTH;
		}
	}
	switch (type) {
	case VL_ERF_ETHERNET:
	case VL_ERF_COLOR_ETHERNET:
	case VL_ERF_DSM_COLOR_ETHERNET:
	case VL_ERF_COLOR_HASH_ETHERNET:
		frame.link = VL_LINK_ETHERNET;
		if (captured_length - header_length < ERF_ETHERNET_PAD)
			return (struct vl_capture_frame){.kind = VL_CAPTURE_FRAME_cooked_short};
		header_length += ERF_ETHERNET_PAD;
		break;
	case VL_ERF_INFINIBAND:
	case VL_ERF_INFINIBAND_LINK:
		frame.link = VL_LINK_INFINIBAND;
		break;
	case VL_ERF_IPV4:
	case VL_ERF_IPV6:
		frame.link = VL_LINK_IP;
		break;
	default:
		return (struct vl_capture_frame){.kind = VL_CAPTURE_FRAME_erf_type_unsupported};
	}
	if (record_length < header_length)
		return (struct vl_capture_frame){.kind = VL_CAPTURE_FRAME_erf_damaged};
	frame.data = data + header_length;
	frame.length = record_length < captured_length ? record_length : captured_length;
	frame.length -= header_length;
	/* Writers pad link packets differently, and some count the padding. */
	if (type == VL_ERF_INFINIBAND_LINK && wire_length > VL_CAPTURE_LINK_PACKET)
		wire_length = VL_CAPTURE_LINK_PACKET;
	if (frame.length > wire_length)
		frame.length = wire_length;
	frame.wire_length = wire_length;
	frame.side = data[ERF_FLAGS_OFFSET] & ERF_INTERFACE_MASK;
	return frame;
}

struct vl_capture_frame vl_capture_frame_of(uint16_t link_type, const uint8_t *data,
					    uint32_t captured_length, uint32_t original_length)
{
	switch (link_type) {
	case VL_LINKTYPE_ETHERNET:
		return frame_after(VL_LINK_ETHERNET, data, captured_length, original_length, 0);
	case VL_LINKTYPE_RAW:
	case VL_LINKTYPE_IPV4:
	case VL_LINKTYPE_IPV6:
		return frame_after(VL_LINK_IP, data, captured_length, original_length, 0);
	case VL_LINKTYPE_INFINIBAND:
		return frame_after(VL_LINK_INFINIBAND, data, captured_length, original_length, 0);
	case VL_LINKTYPE_LINUX_SLL:
		return cooked_frame(data, captured_length, original_length, SLL_HEADER_LENGTH,
				    SLL_PROTOCOL_OFFSET);
	case VL_LINKTYPE_LINUX_SLL2:
		return cooked_frame(data, captured_length, original_length, SLL2_HEADER_LENGTH,
				    SLL2_PROTOCOL_OFFSET);
	case VL_LINKTYPE_ERF:
		return erf_frame(data, captured_length);
	default:
		return (struct vl_capture_frame){.kind = VL_CAPTURE_FRAME_link_type_unsupported};
	}
}

static const struct {
	const char *name, *meaning;
} frame_kinds[] = {
#define FRAME_KIND(name, meaning) {#name, meaning},
	VL_CAPTURE_FRAME_KINDS(FRAME_KIND)
#undef FRAME_KIND
};

const char *vl_capture_frame_kind_name(enum vl_capture_frame_kind kind)
{
	return kind < VL_CAPTURE_FRAME_KIND_COUNT ? frame_kinds[kind].name : "unknown";
}

const char *vl_capture_frame_kind_meaning(enum vl_capture_frame_kind kind)
{
	return kind < VL_CAPTURE_FRAME_KIND_COUNT ? frame_kinds[kind].meaning : "unknown";
}
