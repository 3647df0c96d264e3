/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "tests/support/stream_rig.h"

#include "tests/support/endpoint.h"
#include "tests/support/suite.h"

#include <stdio.h>

const uint8_t pattern[] = "verbline";

static uint8_t buffers[BUFFERS][BUFFER];
static uint32_t tails[BUFFERS];

struct vl_path_attr stream_test_path(bool ipv6, bool vlan)
{
	return (struct vl_path_attr){
		.encapsulation = ipv6 ? VL_ENCAPSULATION_ROCEV2_IPV6 : VL_ENCAPSULATION_ROCEV2_IPV4,
		.source_mac = {2, 0, 0, 0, 0, 1},
		.destination_mac = {2, 0, 0, 0, 0, 2},
		.vlan_present = vlan,
		.vlan_id = 100,
		.priority = vlan ? 3 : 0,
		.source_gid = ipv6 ? ipv6_gid(1) : ipv4_gid(1),
		.destination_gid = ipv6 ? ipv6_gid(2) : ipv4_gid(2),
		.traffic_class = 26 << 2 | VL_ECN_ECT0,
		.udp_source_port = 0xc000,
	};
}

struct vl_stream_config stream_test_config(enum ibv_qp_type service, enum ibv_wr_opcode verb,
					   const struct vl_stream_size *sizes, uint32_t count)
{
	return (struct vl_stream_config){
		.name = "test",
		.kind = VL_STREAM_ROCE,
		.path = stream_test_path(false, false),
		.source_port_count = 2,
		.roce = {.service = service,
			 .verb = verb,
			 .path_mtu = 1024,
			 .local_qpn = LOCAL_QPN,
			 .remote_qpn = 0x200,
			 .remote_qpn_step = 7,
			 .first_psn = 0xfffffe,
			 .first_psn_step = 3,
			 .qkey = TEST_QKEY,
			 .immediate = htobe32(0xcafe),
			 .rkey = 0x12345678,
			 .remote_address = 0xfffffff0,
			 .address_step = 0x100000001,
			 .ack_request_messages = 1},
		.sizes = sizes,
		.size_count = count,
		.sizes_in_order = true,
		.pattern = pattern,
		.pattern_length = 8,
	};
}

struct vl_stream_group *group;
struct vl_stream *stream;

void stream_test_open(const struct vl_stream_config *config, uint64_t now)
{
	struct vl_error error = {.text = ""};
	const uint8_t *payload;
	uint32_t length;

	group = vl_stream_group_create();
	CU_ASSERT_PTR_NOT_NULL_FATAL(group);
	stream = vl_stream_group_add(group, config, now, &error);
	if (!stream)
		fprintf(stderr, "%s\n", error.text);
	CU_ASSERT_PTR_NOT_NULL_FATAL(stream);
	payload = vl_stream_payload(stream, &length);
	for (unsigned int i = 0; i < BUFFERS; i++) {
		memset(buffers[i], 0xee, BUFFER);
		memcpy(buffers[i] + VL_STREAM_HEADROOM, payload, length);
		tails[i] = VL_STREAM_CLEAN;
	}
}

void stream_test_close(void)
{
	vl_stream_group_destroy(group);
	group = NULL;
}

uint32_t stream_test_make(uint64_t now, struct vl_stream_slot *slots, uint32_t count)
{
	uint32_t made;

	for (uint32_t i = 0; i < count; i++)
		slots[i] = (struct vl_stream_slot){.payload = buffers[i] + VL_STREAM_HEADROOM,
						   .tail = tails[i]};
	made = vl_stream_make(stream, now, slots, count);
	for (uint32_t i = 0; i < count; i++)
		tails[i] = slots[i].tail;
	return made;
}
