/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* InfiniBand links over Ethernet: what is written is read, and nothing else is. */

#include "dataplane/infiniband/carrier.h"
#include "tests/support/suite.h"
#include "transport/random.h"

#include <string.h>

#define LENGTH 100u

static const uint8_t mac_a[6] = {2, 0, 0, 0, 0, 1}, mac_b[6] = {2, 0, 0, 0, 0, 2};

static struct vl_carrier a, b;
static uint8_t frame[2048];

static void start(void)
{
	vl_carrier_init(&a, mac_a, mac_b, 7, 0xdeadbeef);
	vl_carrier_init(&b, mac_b, mac_a, 7, 0x12345678);
}

/* The frame's length. */
static uint32_t send(enum vl_carrier_kind kind, uint32_t length)
{
	vl_carrier_write(&a, frame, kind, (uint16_t)length);
	for (uint32_t i = 0; i < length; i++)
		frame[VL_CARRIER_HEADER_LENGTH + i] = (uint8_t)(i * 7);
	return VL_CARRIER_HEADER_LENGTH + length;
}

static bool take(uint32_t length)
{
	struct vl_carrier_packet packet;

	return vl_carrier_read(&b, frame, length, &packet);
}

static void test_round_trip(void)
{
	static const struct {
		enum vl_carrier_kind kind;
		uint32_t length;
	} packets[] = {{VL_CARRIER_PACKET, 26},
		       {VL_CARRIER_PACKET, 1500},
		       {VL_CARRIER_LINK_PACKET, 6},
		       {VL_CARRIER_HELLO, VL_CARRIER_HELLO_LENGTH}};
	static const uint8_t ethernet[] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5};
	struct vl_carrier_packet packet;
	uint16_t link;

	start();
	for (unsigned int i = 0; i < 4; i++) {
		uint32_t length = send(packets[i].kind, packets[i].length);

		CU_ASSERT_EQUAL(memcmp(frame, ethernet, sizeof(ethernet)), 0);
		CU_ASSERT_TRUE(vl_carrier_link(frame, length, &link));
		CU_ASSERT_EQUAL(link, 7);
		/* Padding, which Ethernet adds to short frames, is left out. */
		CU_ASSERT_TRUE_FATAL(vl_carrier_read(&b, frame, length + i * 20, &packet));
		CU_ASSERT_EQUAL(packet.kind, packets[i].kind);
		CU_ASSERT_EQUAL(packet.length, packets[i].length);
		CU_ASSERT_EQUAL(packet.data[5], 35);
	}
	CU_ASSERT_EQUAL(a.counters.tx_packets, 2);
	CU_ASSERT_EQUAL(a.counters.tx_link_packets, 1);
	CU_ASSERT_EQUAL(b.counters.rx_packets, 2);
	CU_ASSERT_EQUAL(b.counters.rx_link_packets, 1);
	CU_ASSERT_EQUAL(b.counters.rx_lost + b.counters.rx_late + b.counters.rx_malformed +
				b.counters.rx_version + b.counters.rx_strangers,
			0);
}

static void test_lost_and_late(void)
{
	uint8_t late[VL_CARRIER_HEADER_LENGTH + LENGTH];
	uint32_t length;

	start();
	for (uint32_t sequence = 0xfffffff0; sequence != 0x20; sequence++) {
		a.next_sent = sequence;
		length = send(VL_CARRIER_PACKET, LENGTH);
		if (sequence == 2) {
			memcpy(late, frame, length);
			continue;
		}
		CU_ASSERT_TRUE(take(length));
		CU_ASSERT_FALSE(take(length));
	}
	CU_ASSERT_EQUAL(b.counters.rx_packets, 47);
	CU_ASSERT_EQUAL(b.counters.rx_lost, 1);
	CU_ASSERT_EQUAL(b.counters.rx_late, 47);
	memcpy(frame, late, sizeof(late));
	CU_ASSERT_FALSE(take(sizeof(late)));
	CU_ASSERT_EQUAL(b.counters.rx_late, 48);
}

/* Of the two that met, neither takes what others send, be it new or from an earlier run. */
static void test_strangers(void)
{
	struct vl_carrier_hello hello = {1, 0};
	struct vl_carrier other;

	start();
	vl_carrier_init(&other, mac_a, mac_b, 7, 99);
	/* Until one has been answered, the last one heard may be the right one. */
	CU_ASSERT_TRUE(vl_carrier_take_hello(&b, other.session, &hello));
	CU_ASSERT_TRUE(vl_carrier_take_hello(&b, a.session, &hello));
	CU_ASSERT_FALSE(b.is_met);
	hello.answers = b.session + 1;
	CU_ASSERT_TRUE(vl_carrier_take_hello(&b, a.session, &hello));
	CU_ASSERT_FALSE(b.is_met);
	hello.answers = b.session;
	CU_ASSERT_TRUE(vl_carrier_take_hello(&b, a.session, &hello));
	CU_ASSERT_TRUE(b.is_met);
	CU_ASSERT_FALSE(vl_carrier_take_hello(&b, other.session, &hello));
	CU_ASSERT_EQUAL(b.counters.rx_strangers, 1);
	for (unsigned int i = 0; i < 300; i++) {
		uint32_t length = VL_CARRIER_HEADER_LENGTH + LENGTH;

		CU_ASSERT_TRUE(take(send(VL_CARRIER_PACKET, LENGTH)));
		vl_carrier_write(&other, frame, VL_CARRIER_PACKET, LENGTH);
		CU_ASSERT_FALSE(take(length));
	}
	CU_ASSERT_EQUAL(b.counters.rx_strangers, 301);
	CU_ASSERT_EQUAL(b.counters.rx_packets, 300);
	CU_ASSERT_EQUAL(b.counters.rx_lost + b.counters.rx_late, 0);
}

/* The other end runs already: that is an answer. */
static void test_packets_answer(void)
{
	const struct vl_carrier_hello hello = {1, 0};

	start();
	CU_ASSERT_TRUE(vl_carrier_take_hello(&b, a.session, &hello));
	CU_ASSERT_TRUE(take(send(VL_CARRIER_PACKET, LENGTH)));
	CU_ASSERT_TRUE(b.is_met);
}

/* A forged number does not shut the link for ever. */
static void test_forged_sequence(void)
{
	unsigned int dropped = 0;

	start();
	CU_ASSERT_TRUE(take(send(VL_CARRIER_PACKET, LENGTH)));
	a.next_sent += 0x7fffff00;
	CU_ASSERT_TRUE(take(send(VL_CARRIER_PACKET, LENGTH)));
	a.next_sent -= 0x7fffff01;
	while (dropped < 1000 && !take(send(VL_CARRIER_PACKET, LENGTH)))
		dropped++;
	CU_ASSERT_EQUAL(dropped, 256);
	CU_ASSERT_TRUE(take(send(VL_CARRIER_PACKET, LENGTH)));
}

static void refuse(uint32_t length)
{
	uint64_t before = b.counters.rx_malformed;

	CU_ASSERT_FALSE(take(length));
	CU_ASSERT_EQUAL(b.counters.rx_malformed, before + 1);
}

static void test_refusals(void)
{
	uint32_t length;
	uint16_t link;

	start();
	refuse(0);
	length = send(VL_CARRIER_PACKET, LENGTH);
	for (uint32_t cut = 0; cut < length; cut++)
		refuse(cut);
	CU_ASSERT_FALSE(vl_carrier_link(frame, VL_CARRIER_HEADER_LENGTH - 1, &link));
	frame[13] ^= 1;
	CU_ASSERT_FALSE(vl_carrier_link(frame, length, &link));
	length = send(VL_CARRIER_PACKET, LENGTH);
	frame[14] = 1; /* version */
	CU_ASSERT_FALSE(take(length));
	CU_ASSERT_EQUAL(b.counters.rx_version, 1);
	length = send(VL_CARRIER_KIND_COUNT, LENGTH);
	refuse(length);
	refuse(send(VL_CARRIER_PACKET, 25));
	refuse(send(VL_CARRIER_LINK_PACKET, 5));
	refuse(send(VL_CARRIER_LINK_PACKET, 7));
	refuse(send(VL_CARRIER_HELLO, VL_CARRIER_HELLO_LENGTH + 1));
	CU_ASSERT_EQUAL(b.counters.rx_packets, 0);
	CU_ASSERT_FALSE(b.is_heard);
}

static void test_noise(void)
{
	struct vl_random random = {5};
	struct vl_carrier_packet packet;

	start();
	for (unsigned int i = 0; i < 200000; i++) {
		uint32_t length = (uint32_t)vl_random_below(&random, 200);

		send(VL_CARRIER_PACKET, LENGTH);
		for (unsigned int j = 0; j < 3; j++)
			frame[14 + vl_random_below(&random, 14)] = (uint8_t)vl_random_next(&random);
		if (!vl_carrier_read(&b, frame, length, &packet))
			continue;
		CU_ASSERT_FATAL(packet.data == frame + VL_CARRIER_HEADER_LENGTH);
		CU_ASSERT_FATAL(packet.length <= length - VL_CARRIER_HEADER_LENGTH);
	}
}

static void test_hello(void)
{
	const struct vl_carrier_hello hello = {0x0123456789abcdef, 0x55667788};
	struct vl_carrier_hello heard = {0};
	uint8_t bytes[VL_CARRIER_HELLO_LENGTH];
	struct vl_carrier_packet packet = {VL_CARRIER_HELLO, bytes, sizeof(bytes), 0};

	vl_carrier_write_hello(bytes, &hello);
	CU_ASSERT_TRUE(vl_carrier_read_hello(&packet, &heard));
	CU_ASSERT_EQUAL(heard.digest, hello.digest);
	CU_ASSERT_EQUAL(heard.answers, 0x55667788);
	packet.length--;
	CU_ASSERT_FALSE(vl_carrier_read_hello(&packet, &heard));
	packet.length++;
	packet.kind = VL_CARRIER_PACKET;
	CU_ASSERT_FALSE(vl_carrier_read_hello(&packet, &heard));
}

/* What comes back by a loop does not make an end its own other end. */
static void test_own_frames(void)
{
	const struct vl_carrier_hello hello = {1, 0xdeadbeef};
	struct vl_carrier_packet packet;
	uint32_t length;

	start();
	CU_ASSERT_FALSE(vl_carrier_take_hello(&a, 0xdeadbeef, &hello));
	length = send(VL_CARRIER_PACKET, LENGTH);
	CU_ASSERT_FALSE(vl_carrier_read(&a, frame, length, &packet));
	CU_ASSERT_EQUAL(a.counters.rx_strangers, 2);
	CU_ASSERT_FALSE(a.is_heard || a.is_met);
	CU_ASSERT_TRUE(vl_carrier_take_hello(&a, 0x12345678, &hello));
	CU_ASSERT_TRUE(a.is_met);
	CU_ASSERT_FALSE(vl_carrier_read(&a, frame, length, &packet));
	CU_ASSERT_EQUAL(a.counters.rx_strangers, 3);
}

static const struct test tests[] = {
	{"round_trip", test_round_trip},
	{"lost_and_late", test_lost_and_late},
	{"strangers", test_strangers},
	{"packets_answer", test_packets_answer},
	{"forged_sequence", test_forged_sequence},
	{"refusals", test_refusals},
	{"noise", test_noise},
	{"hello", test_hello},
	{"own_frames", test_own_frames},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("carrier", tests, argc, argv);
}
