/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Who looks on from a worker takes no memory there, whatever goes by. */

#include "apps/verdict/verdict.h"
#include "tests/support/suite.h"
#include "transport/cm/message.h"
#include "transport/random.h"
#include "transport/wire/headers.h"
#include "transport/wire/icrc.h"
#include "transport/wire/opcode.h"
#include "transport/wire/parse.h"
#include "transport/wire/path.h"

#include <endian.h>
#include <malloc.h>
#include <string.h>

#define CAPACITY 512u

/* Bytes that the program has allocated; always 0 where a sanitizer sees to that. */
static size_t in_use(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

static union ibv_gid gid_of(uint32_t host)
{
	return (union ibv_gid){.raw = {[10] = 0xff,
				       [11] = 0xff,
				       [12] = 10,
				       [13] = host >> 16,
				       [14] = host >> 8 & 0xff,
				       [15] = host & 0xff}};
}

/* A frame from one host to another, with a right ICRC. */
static void make(struct vl_frame *frame, uint32_t from, uint32_t to, uint8_t opcode, uint32_t qpn,
		 uint32_t psn, const struct vl_cm_message *message)
{
	struct vl_path_attr attr = {
		.encapsulation = VL_ENCAPSULATION_ROCEV2_IPV4,
		.source_mac = {2, 0, 0, 0, 0, 1},
		.destination_mac = {2, 0, 0, 0, 0, 2},
		.source_gid = gid_of(from),
		.destination_gid = gid_of(to),
		.udp_source_port = 0xc000,
		.traffic_class = 26 << 2 | VL_ECN_ECT0,
	};
	uint32_t payload = message ? 256 : 64;
	uint32_t extended = message ? 8 : opcode == VL_OP_ACKNOWLEDGE ? 4 : 0;
	struct vl_packet packet;
	struct vl_path path;
	uint32_t icrc;
	uint8_t *at;

	if (opcode == VL_OP_ACKNOWLEDGE)
		payload = 0;
	CU_ASSERT_EQUAL_FATAL(vl_path_init(&path, &attr), 0);
	memset(frame->data, 0, CAPACITY);
	at = frame->data + vl_path_write(&path, frame->data, 12 + extended + payload);
	at += vl_bth_write(at, opcode, false, false, 0, 0xffff, qpn, true, psn, false);
	if (message) {
		at += vl_deth_write(at, 0x80010000, 1);
		CU_ASSERT_EQUAL_FATAL(vl_cm_encode(at, message, NULL), 0);
		at += payload;
	} else {
		at += extended + payload;
	}
	frame->length = (uint32_t)(at + 4 - frame->data);
	frame->source_qpn = 0;
	CU_ASSERT_EQUAL_FATAL(
		vl_parse(&packet, VL_LINK_ETHERNET, frame->data, frame->length, frame->length),
		VL_PARSE_ok);
	icrc = htole32(vl_icrc_compute(&packet));
	memcpy(at, &icrc, sizeof(icrc));
}

/* Connections are opened, there are more flows than are judged, of more hosts than one, and what
 * they send is in no order. */
static void test_takes_none(void)
{
	const struct vl_verdict_config config = {0};
	struct vl_verdict *verdict = vl_verdict_create(&config);
	struct vl_cm_message message = {.attribute_id = VL_CM_REQ};
	struct vl_random random = {1};
	uint8_t bytes[CAPACITY];
	struct vl_frame frame = {.data = bytes, .capacity = CAPACITY};
	uint64_t now = 0;
	size_t before;
	json_t *json;

	CU_ASSERT_PTR_NOT_NULL_FATAL(verdict);
	make(&frame, 1, 2, VL_OP_SEND_ONLY, 0x10, 0, NULL);
	vl_verdict_see(verdict, VL_DIRECTION_RECEIVED, &frame, now++, NULL);
	before = in_use();
	for (uint32_t i = 0; i < 20000; i++) {
		bool is_received = vl_random_below(&random, 2);
		uint32_t host = 3 + i / 4, us = 2, qpn = 0x10 + i % 3;
		uint8_t opcode = vl_random_below(&random, 4) ? VL_OP_SEND_ONLY : VL_OP_ACKNOWLEDGE;

		make(&frame, is_received ? host : us, is_received ? us : host, opcode, qpn,
		     (uint32_t)vl_random_below(&random, 100), NULL);
		frame.source_qpn = is_received ? 0 : qpn;
		vl_verdict_see(verdict,
			       is_received ? VL_DIRECTION_RECEIVED : VL_DIRECTION_TRANSMITTED,
			       &frame, now += 1000, NULL);
		message.req.local_comm_id = i;
		make(&frame, 1, 2, VL_SERVICE_UD | VL_OP_SEND_ONLY, 1, i, &message);
		vl_verdict_see(verdict, VL_DIRECTION_RECEIVED, &frame, now += 1000, NULL);
	}
	CU_ASSERT_EQUAL(in_use(), before);
	vl_verdict_finish(verdict, now);
	json = vl_verdict_json(verdict);
	CU_ASSERT_TRUE(json_integer_value(json_object_get(json, "packets_not_judged")) > 0);
	CU_ASSERT_EQUAL(vl_verdict_failures(verdict, VL_VERDICT_ICRC), 0);
	json_decref(json);
	vl_verdict_destroy(verdict);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"takes_none", test_takes_none},
	};

	return RUN_SUITE("verdict_memory", tests, argc, argv);
}
