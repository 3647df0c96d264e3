/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Which worker gets what: made packets, and what Linux hosts sent to QP1. */

#include "dataplane/steer.h"
#include "tests/support/suite.h"
#include "tests/unit/cm_captured.h"
#include "tests/unit/ip_frames.h"
#include "transport/wire/headers.h"

#include <stdlib.h>
#include <string.h>

#define WORKERS 5u
#define MAD_AT  (14u + 20 + 8 + 12 + 8)

static uint8_t frame[MAD_AT + VL_MAD_LENGTH + 4];

/* Ethernet, IPv4 from 10.0.0.host, UDP to 4791, BTH. Returns the length. */
static uint32_t make_packet(uint8_t host, uint32_t qpn)
{
	memset(frame, 0, sizeof(frame));
	vl_store_be16(frame + 12, VL_ETHERTYPE_IPV4);
	frame[14] = 0x45;
	frame[14 + 9] = VL_IP_PROTOCOL_UDP;
	memcpy(frame + 14 + 12, (const uint8_t[]){10, 0, 0, host}, 4);
	vl_store_be16(frame + 34 + 2, VL_ROCEV2_UDP_PORT);
	vl_store_be24(frame + 42 + 5, qpn);
	return sizeof(frame);
}

static uint32_t steer_mad(const uint8_t *mad, uint8_t host)
{
	uint32_t length = make_packet(host, 1);

	memcpy(frame + MAD_AT, mad, VL_MAD_LENGTH);
	return vl_steer(frame, length, WORKERS, 4);
}

/* Puts an identifier into the n-th word of a message's data. */
static const uint8_t *with_id(const uint8_t *mad, unsigned int word, uint32_t id)
{
	static uint8_t copy[VL_MAD_LENGTH];

	memcpy(copy, mad, sizeof(copy));
	vl_store_be32(copy + VL_MAD_HEADER_LENGTH + 4 * word, id);
	return copy;
}

static void test_queue_pairs(void)
{
	static const uint32_t numbers[] = {0, 17, 0x3ffff, 0x1000};

	for (uint32_t worker = 0; worker < WORKERS; worker++) {
		for (unsigned int i = 0; i < 4; i++) {
			uint32_t qpn = (worker << 18) + numbers[i];

			CU_ASSERT_EQUAL(vl_host_qpn_worker(qpn), worker);
			CU_ASSERT_EQUAL(vl_steer(frame, make_packet(1, qpn), WORKERS, 2), worker);
		}
	}
	/* Nobody's: whoever got it drops it. */
	CU_ASSERT_EQUAL(vl_steer(frame, make_packet(1, 5 << 18), WORKERS, 2), 2);
	CU_ASSERT_EQUAL(vl_steer(frame, make_packet(1, 0xffffff), WORKERS, 3), 3);
	/* Behind a tag, and cut within the BTH. */
	make_packet(1, 3 << 18);
	memmove(frame + 16, frame + 12, 100);
	memcpy(frame + 12, (const uint8_t[]){0x81, 0, 0x60, 5}, 4);
	CU_ASSERT_EQUAL(vl_steer(frame, sizeof(frame), WORKERS, 0), 3);
	CU_ASSERT_EQUAL(vl_steer(frame, 14 + 4 + 20 + 8 + 11, WORKERS, 0), 0);
}

/* Answers go to who asked: by the identifier that they bring back. */
static void test_answers(void)
{
	static const uint8_t *const messages[] = {rping_rep, rping_rtu, rping_dreq, rping_drep};

	for (unsigned int i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
		for (uint32_t worker = 0; worker < WORKERS; worker++)
			CU_ASSERT_EQUAL(
				steer_mad(with_id(messages[i], 1, worker << 26 | 0x12345), 7),
				worker);
		/* No worker of ours makes such. */
		CU_ASSERT_EQUAL(steer_mad(with_id(messages[i], 1, 63u << 26), 7), 0);
	}
	for (uint32_t worker = 0; worker < WORKERS; worker++)
		CU_ASSERT_EQUAL(steer_mad(with_id(udaddy_sidr_rep, 0, worker << 26 | 9), 7),
				worker);
}

/* Requests spread over the workers, and a repetition, or a peer that gives up before it was
 * answered, meets the one that the first went to. */
static void test_requests(void)
{
	unsigned int counts[WORKERS] = {0};

	for (uint32_t id = 1; id <= 5000; id++) {
		uint32_t worker = steer_mad(with_id(rping_req, 0, id), (uint8_t)(id % 200));
		uint8_t rej[VL_MAD_LENGTH];

		CU_ASSERT_FATAL(worker < WORKERS);
		counts[worker]++;
		CU_ASSERT_EQUAL(steer_mad(with_id(rping_req, 0, id), (uint8_t)(id % 200)), worker);
		memcpy(rej, with_id(rping_dreq, 0, id), sizeof(rej));
		vl_store_be32(rej + VL_MAD_HEADER_LENGTH + 4, 0);
		CU_ASSERT_EQUAL(steer_mad(rej, (uint8_t)(id % 200)), worker);
	}
	for (uint32_t i = 0; i < WORKERS; i++)
		CU_ASSERT(counts[i] > 850 && counts[i] < 1150);
	memset(counts, 0, sizeof(counts));
	for (uint32_t id = 1; id <= 5000; id++)
		counts[steer_mad(with_id(udaddy_sidr_req, 0, id), 1)]++;
	for (uint32_t i = 0; i < WORKERS; i++)
		CU_ASSERT(counts[i] > 850 && counts[i] < 1150);
}

static void test_other_datagrams(void)
{
	uint32_t length = make_packet(1, 1);

	/* Of another class, and cut: the first worker drops it. */
	frame[MAD_AT + 1] = 0x03;
	CU_ASSERT_EQUAL(vl_steer(frame, length, WORKERS, 3), 0);
	memcpy(frame + MAD_AT, rping_req, 32);
	CU_ASSERT_EQUAL(vl_steer(frame, MAD_AT + 31, WORKERS, 3), 0);
}

static void test_no_packets(void)
{
	static const uint8_t pause[60] = {[12] = 0x88, [13] = 0x08};

#define STEER(name) vl_steer(frame_##name, sizeof(frame_##name), WORKERS, 2)
	CU_ASSERT_EQUAL(STEER(arp_request), VL_STEER_ALL);
	CU_ASSERT_EQUAL(STEER(arp_request_vlan_5), VL_STEER_ALL);
	CU_ASSERT_EQUAL(STEER(solicitation), VL_STEER_ALL);
	CU_ASSERT_EQUAL(STEER(advertisement), VL_STEER_ALL);
	CU_ASSERT_EQUAL(STEER(echo_request), 0);
	CU_ASSERT_EQUAL(STEER(echo_request_ipv6), 0);
	CU_ASSERT_EQUAL(STEER(tcp), 2);
	CU_ASSERT_EQUAL(vl_steer(pause, sizeof(pause), WORKERS, 2), VL_STEER_ALL);
	for (uint32_t length = 0; length < 14; length++)
		CU_ASSERT_EQUAL(vl_steer(frame_arp_request, length, WORKERS, 2), 2);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"queue_pairs", test_queue_pairs}, {"answers", test_answers},
		{"requests", test_requests},       {"other_datagrams", test_other_datagrams},
		{"no_packets", test_no_packets},
	};

	return RUN_SUITE("unit/steer", tests, argc, argv);
}
