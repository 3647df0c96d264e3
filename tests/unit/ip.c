/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What a host answers, asks and believes, against frames that scapy made. */

#include "dataplane/ip/ip.h"
#include "dataplane/ip/neighbour.h"
#include "dataplane/ip/private.h"
#include "tests/support/suite.h"
#include "tests/unit/ip_frames.h"
#include "transport/wire/headers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SECOND UINT64_C(1000000000)
#define MS     UINT64_C(1000000)

static const uint8_t us[6] = {2, 0, 0, 0, 0, 1}, peer[6] = {2, 0, 0, 0, 0, 2};
static const uint8_t newer[6] = {2, 0, 0, 0, 0, 0x22}, router[6] = {2, 0, 0, 0, 0, 0xfe};

static union ibv_gid ipv4(uint8_t a, uint8_t b, uint8_t c, uint8_t d)
{
	return (union ibv_gid){.raw = {[10] = 0xff, 0xff, a, b, c, d}};
}

static union ibv_gid ipv6(uint8_t first, uint8_t second, uint8_t last)
{
	return (union ibv_gid){.raw = {first, second, [15] = last}};
}

static struct vl_ip_config plain(void)
{
	struct vl_ip_config config = {
		.address_count = 3,
		.addresses = {{ipv4(10, 0, 0, 1), 24},
			      {ipv6(0xfd, 0, 1), 64},
			      {ipv6(0xfe, 0x80, 1), 64}},
		.gateway_ipv4 = ipv4(10, 0, 0, 254),
		.speaks = true,
	};

	memcpy(config.mac, us, sizeof(us));
	return config;
}

static uint8_t output[9728];

static uint32_t next_frame(struct vl_ip *ip, uint64_t now)
{
	struct vl_frame frame = {.data = output, .capacity = sizeof(output)};

	return vl_ip_transmit(ip, &frame, now) ? frame.length : 0;
}

/* A host that has said what it says at its start, at times 0 and 2 s. */
static struct vl_ip *open_quiet(const struct vl_ip_config *config)
{
	struct vl_ip *ip = vl_ip_open(config, NULL);

	CU_ASSERT_PTR_NOT_NULL_FATAL(ip);
	while (next_frame(ip, 0))
		;
	while (next_frame(ip, 2 * SECOND))
		;
	return ip;
}

static bool receive(struct vl_ip *ip, const uint8_t *bytes, uint32_t length, uint64_t now)
{
	/* Of exact size, so that a read beyond it is found. */
	uint8_t *copy = malloc(length ? length : 1);
	struct vl_frame frame = {.data = copy, .length = length, .capacity = length};
	bool is_taken;

	memcpy(copy, bytes, length);
	is_taken = vl_ip_receive(ip, &frame, now);
	free(copy);
	return is_taken;
}

#define RECEIVE(ip, name, now) receive(ip, frame_##name, sizeof(frame_##name), now)
#define EXPECT(ip, name, now)                                                                      \
	do {                                                                                       \
		uint32_t length_ = next_frame(ip, now);                                            \
		CU_ASSERT_EQUAL(length_, sizeof(frame_##name));                                    \
		CU_ASSERT(length_ == sizeof(frame_##name) &&                                       \
			  !memcmp(output, frame_##name, length_));                                 \
	} while (0)
#define EXPECT_NOTHING(ip, now) CU_ASSERT_EQUAL(next_frame(ip, now), 0)

/* ---- Answers ---------------------------------------------------------------------------- */

static void test_answers(void)
{
	struct vl_ip_config config = plain();
	struct vl_ip *ip = open_quiet(&config);
	const struct vl_ip_counters *counters = vl_ip_counters(ip);

	CU_ASSERT(RECEIVE(ip, arp_request, 3 * SECOND));
	CU_ASSERT_EQUAL(vl_ip_next_deadline(ip), 0);
	EXPECT(ip, arp_reply_of_us, 3 * SECOND);
	CU_ASSERT(RECEIVE(ip, arp_probe, 3 * SECOND));
	EXPECT(ip, arp_probe_reply, 3 * SECOND);
	CU_ASSERT(RECEIVE(ip, echo_request, 3 * SECOND));
	EXPECT(ip, echo_reply_of_us, 3 * SECOND);
	CU_ASSERT(RECEIVE(ip, echo_request_options, 3 * SECOND));
	EXPECT(ip, echo_reply_of_us_options, 3 * SECOND);
	CU_ASSERT(RECEIVE(ip, echo_request_ipv6, 3 * SECOND));
	EXPECT(ip, echo_reply_of_us_ipv6, 3 * SECOND);
	CU_ASSERT(RECEIVE(ip, solicitation, 3 * SECOND));
	EXPECT(ip, advertisement_of_us, 3 * SECOND);
	CU_ASSERT(RECEIVE(ip, solicitation_link_local, 3 * SECOND));
	EXPECT(ip, advertisement_of_us_link_local, 3 * SECOND);
	CU_ASSERT(RECEIVE(ip, solicitation_duplicate, 3 * SECOND));
	EXPECT(ip, advertisement_of_us_duplicate, 3 * SECOND);
	EXPECT_NOTHING(ip, 3 * SECOND);
	CU_ASSERT_EQUAL(vl_ip_next_deadline(ip), UINT64_MAX);
	CU_ASSERT_EQUAL(counters->arp_rx, 2);
	CU_ASSERT_EQUAL(counters->nd_rx, 3);
	CU_ASSERT_EQUAL(counters->echo_rx, 3);
	CU_ASSERT_EQUAL(counters->echo_tx, 3);
	CU_ASSERT_EQUAL(counters->malformed, 0);
	vl_ip_close(ip);
}

static void test_not_ours(void)
{
	struct vl_ip_config config = plain();
	struct vl_ip *ip = open_quiet(&config);
	const struct vl_ip_counters *counters = vl_ip_counters(ip);
	uint8_t other[sizeof(frame_echo_request)];

	CU_ASSERT(RECEIVE(ip, arp_request_for_other, SECOND));
	CU_ASSERT_FALSE(RECEIVE(ip, router_solicitation, SECOND));
	CU_ASSERT_FALSE(RECEIVE(ip, tcp, SECOND));
	CU_ASSERT_FALSE(RECEIVE(ip, arp_request_vlan_5, SECOND));
	memcpy(other, frame_echo_request, sizeof(other));
	other[5] = 9; /* another station's */
	CU_ASSERT_FALSE(receive(ip, other, sizeof(other), SECOND));
	EXPECT_NOTHING(ip, SECOND);
	CU_ASSERT_EQUAL(counters->not_ours, 4);
	CU_ASSERT(RECEIVE(ip, arp_conflict, SECOND));
	EXPECT_NOTHING(ip, SECOND);
	CU_ASSERT_EQUAL(counters->conflicts, 1);
	vl_ip_close(ip);
}

static void test_vlan(void)
{
	struct vl_ip_config config = plain();
	struct vl_ip *ip;

	config.vlan_present = true;
	config.vlan_id = 5;
	config.vlan_priority = 3;
	ip = open_quiet(&config);
	CU_ASSERT(RECEIVE(ip, arp_request_vlan_5, 3 * SECOND));
	EXPECT(ip, arp_reply_of_us_vlan_5, 3 * SECOND);
	CU_ASSERT_FALSE(RECEIVE(ip, arp_request_vlan_6, 3 * SECOND));
	CU_ASSERT_EQUAL(vl_ip_other_vlan(ip), 6);
	CU_ASSERT_FALSE(RECEIVE(ip, arp_request, 3 * SECOND));
	CU_ASSERT_EQUAL(vl_ip_other_vlan(ip), -1);
	CU_ASSERT_FALSE(RECEIVE(ip, arp_request_for_other, 3 * SECOND));
	CU_ASSERT_FALSE(RECEIVE(ip, router_solicitation, 3 * SECOND));
	CU_ASSERT_EQUAL(vl_ip_counters(ip)->other_vlan, 2);
	EXPECT_NOTHING(ip, 3 * SECOND);
	CU_ASSERT(vl_ip_has_vlan(ip, 5));
	CU_ASSERT_FALSE(vl_ip_has_vlan(ip, 0));
	vl_ip_close(ip);
}

static void test_announcements(void)
{
	struct vl_ip_config config = plain();
	struct vl_ip *ip = vl_ip_open(&config, NULL);

	CU_ASSERT_EQUAL(vl_ip_next_deadline(ip), 0);
	for (uint64_t now = 7; now <= 2 * SECOND + 7; now += 2 * SECOND) {
		EXPECT(ip, arp_announcement_of_us, now);
		EXPECT(ip, advertisement_of_us_duplicate, now); /* the same, unasked */
		EXPECT(ip, announcement_of_us_link_local, now);
		EXPECT_NOTHING(ip, now);
	}
	CU_ASSERT_EQUAL(vl_ip_next_deadline(ip), UINT64_MAX);
	vl_ip_close(ip);
	/* A port's further workers learn, and leave it to the first to speak. */
	config.speaks = false;
	ip = vl_ip_open(&config, NULL);
	EXPECT_NOTHING(ip, 0);
	CU_ASSERT(RECEIVE(ip, arp_request, 0));
	CU_ASSERT(RECEIVE(ip, solicitation, 0));
	CU_ASSERT(RECEIVE(ip, echo_request, 0));
	EXPECT_NOTHING(ip, 0);
	vl_ip_close(ip);
}

/* ---- Questions -------------------------------------------------------------------------- */

static void expect_mac(struct vl_ip *ip, union ibv_gid address, const uint8_t expected[6],
		       uint64_t now)
{
	uint8_t mac[6] = {0};

	CU_ASSERT_EQUAL(vl_ip_resolve(ip, &address, mac, now), 0);
	CU_ASSERT(!memcmp(mac, expected, 6));
}

static int resolve(struct vl_ip *ip, union ibv_gid address, uint64_t now)
{
	uint8_t mac[6];

	return vl_ip_resolve(ip, &address, mac, now);
}

static void test_resolution(void)
{
	struct vl_ip_config config = plain();
	struct vl_ip *ip = open_quiet(&config);

	CU_ASSERT_EQUAL(resolve(ip, ipv4(10, 0, 0, 2), 3 * SECOND), -EAGAIN);
	CU_ASSERT(vl_ip_next_deadline(ip) <= 3 * SECOND);
	EXPECT(ip, arp_request_of_us, 3 * SECOND);
	EXPECT_NOTHING(ip, 3 * SECOND);
	CU_ASSERT_EQUAL(resolve(ip, ipv4(10, 0, 0, 2), 3 * SECOND), -EAGAIN);
	EXPECT_NOTHING(ip, 3 * SECOND);
	CU_ASSERT(RECEIVE(ip, arp_reply, 3 * SECOND + 1));
	expect_mac(ip, ipv4(10, 0, 0, 2), peer, 3 * SECOND + 1);
	CU_ASSERT_EQUAL(resolve(ip, ipv6(0xfd, 0, 2), 3 * SECOND), -EAGAIN);
	EXPECT(ip, solicitation_of_us, 3 * SECOND + 1);
	CU_ASSERT(RECEIVE(ip, advertisement, 3 * SECOND + 1));
	expect_mac(ip, ipv6(0xfd, 0, 2), peer, 3 * SECOND + 1);
	/* From our link-local address to a link-local one. */
	CU_ASSERT_EQUAL(resolve(ip, ipv6(0xfe, 0x80, 2), 3 * SECOND + 1), -EAGAIN);
	EXPECT(ip, solicitation_of_us_link_local, 3 * SECOND + 1);
	CU_ASSERT_EQUAL(vl_ip_counters(ip)->arp_tx, 3);    /* with two announcements */
	CU_ASSERT_EQUAL(vl_ip_counters(ip)->nd_tx, 4 + 2); /* with two of two */
	vl_ip_close(ip);
}

static void test_routes(void)
{
	struct vl_ip_config config = plain();
	struct vl_ip *ip = open_quiet(&config);
	static const uint8_t group4[6] = {1, 0, 0x5e, 0x7f, 2, 3};
	static const uint8_t group6[6] = {0x33, 0x33, 0, 0, 0, 9};
	static const uint8_t all[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

	/* Far away: by the gateway, which is asked for once. */
	CU_ASSERT_EQUAL(resolve(ip, ipv4(192, 168, 1, 1), 3 * SECOND), -EAGAIN);
	CU_ASSERT_EQUAL(resolve(ip, ipv4(172, 16, 1, 1), 3 * SECOND), -EAGAIN);
	EXPECT(ip, arp_request_for_router, 3 * SECOND);
	EXPECT_NOTHING(ip, 3 * SECOND);
	CU_ASSERT(RECEIVE(ip, arp_reply_of_router, 3 * SECOND));
	expect_mac(ip, ipv4(192, 168, 1, 1), router, 3 * SECOND);
	expect_mac(ip, ipv4(172, 16, 1, 1), router, 3 * SECOND);
	/* No gateway for IPv6. */
	CU_ASSERT_EQUAL(resolve(ip, ipv6(0x20, 1, 1), 3 * SECOND), -ENETUNREACH);
	/* Nobody's addresses. */
	CU_ASSERT_EQUAL(resolve(ip, ipv4(0, 0, 0, 0), 3 * SECOND), -ENETUNREACH);
	CU_ASSERT_EQUAL(resolve(ip, ipv4(127, 0, 0, 1), 3 * SECOND), -ENETUNREACH);
	CU_ASSERT_EQUAL(resolve(ip, ipv6(0, 0, 1), 3 * SECOND), -ENETUNREACH);
	/* What follows from the address. */
	expect_mac(ip, ipv4(239, 0xff, 2, 3), group4, 3 * SECOND);
	expect_mac(ip, ipv6(0xff, 2, 9), group6, 3 * SECOND);
	expect_mac(ip, ipv4(10, 0, 0, 255), all, 3 * SECOND);
	expect_mac(ip, ipv4(10, 0, 0, 1), us, 3 * SECOND);
	EXPECT_NOTHING(ip, 3 * SECOND);
	vl_ip_close(ip);
}

/* Five requests, each wait twice the one before; then unreachable for a second, then anew. */
static void test_backoff(void)
{
	static const uint64_t waits[] = {0, 100, 200, 400, 800};
	struct vl_ip_config config = plain();
	struct vl_ip *ip = open_quiet(&config);
	uint64_t now = 3 * SECOND;

	CU_ASSERT_EQUAL(resolve(ip, ipv4(10, 0, 0, 2), now), -EAGAIN);
	for (unsigned int i = 0; i < 5; i++) {
		if (i) {
			EXPECT_NOTHING(ip, now + waits[i] * MS - 1);
			CU_ASSERT(vl_ip_next_deadline(ip) <= now + waits[i] * MS);
		}
		now += waits[i] * MS;
		EXPECT(ip, arp_request_of_us, now);
		EXPECT_NOTHING(ip, now);
		CU_ASSERT_EQUAL(resolve(ip, ipv4(10, 0, 0, 2), now), -EAGAIN);
	}
	now += 1600 * MS;
	EXPECT_NOTHING(ip, now);
	CU_ASSERT_EQUAL(vl_ip_counters(ip)->unresolved, 1);
	CU_ASSERT_EQUAL(vl_ip_next_deadline(ip), UINT64_MAX);
	CU_ASSERT_EQUAL(resolve(ip, ipv4(10, 0, 0, 2), now), -EHOSTUNREACH);
	CU_ASSERT_EQUAL(resolve(ip, ipv4(10, 0, 0, 2), now + SECOND - 1), -EHOSTUNREACH);
	EXPECT_NOTHING(ip, now + SECOND - 1);
	CU_ASSERT_EQUAL(resolve(ip, ipv4(10, 0, 0, 2), now + SECOND), -EAGAIN);
	EXPECT(ip, arp_request_of_us, now + SECOND);
	CU_ASSERT(RECEIVE(ip, arp_reply, now + SECOND));
	expect_mac(ip, ipv4(10, 0, 0, 2), peer, now + SECOND);
	CU_ASSERT_EQUAL(vl_ip_next_deadline(ip), UINT64_MAX);
	vl_ip_close(ip);
}

/* What was heard long ago serves on while it is asked for again, and no longer if nobody answers.
 */
static void test_refresh(void)
{
	struct vl_ip_config config = plain();
	struct vl_ip *ip = open_quiet(&config);
	uint64_t now = 3 * SECOND;

	CU_ASSERT(RECEIVE(ip, arp_request, now));
	EXPECT(ip, arp_reply_of_us, now);
	now += 30 * SECOND;
	expect_mac(ip, ipv4(10, 0, 0, 2), peer, now);
	EXPECT_NOTHING(ip, now);
	now += 1;
	expect_mac(ip, ipv4(10, 0, 0, 2), peer, now);
	EXPECT(ip, arp_request_of_us, now);
	CU_ASSERT(RECEIVE(ip, arp_reply, now));
	EXPECT_NOTHING(ip, now + SECOND);
	now += 40 * SECOND;
	expect_mac(ip, ipv4(10, 0, 0, 2), peer, now);
	for (unsigned int i = 0; i < 5; i++) {
		EXPECT(ip, arp_request_of_us, now);
		expect_mac(ip, ipv4(10, 0, 0, 2), peer, now);
		now += (100 << i) * MS;
	}
	EXPECT_NOTHING(ip, now);
	CU_ASSERT_EQUAL(resolve(ip, ipv4(10, 0, 0, 2), now), -EHOSTUNREACH);
	vl_ip_close(ip);
}

/* ---- Belief ----------------------------------------------------------------------------- */

static void test_updates(void)
{
	struct vl_ip_config config = plain();
	struct vl_ip *ip = open_quiet(&config);
	uint64_t now = 3 * SECOND;
	union ibv_gid address = ipv4(10, 0, 0, 2);

	/* Unasked for and unknown: not taken in. */
	CU_ASSERT(RECEIVE(ip, arp_gratuitous, now));
	CU_ASSERT(RECEIVE(ip, arp_reply, now));
	CU_ASSERT(RECEIVE(ip, advertisement, now));
	CU_ASSERT_EQUAL(resolve(ip, address, now), -EAGAIN);
	EXPECT(ip, arp_request_of_us, now);
	CU_ASSERT(RECEIVE(ip, arp_reply, now));
	expect_mac(ip, address, peer, now);
	/* Known: a new MAC replaces the old one. */
	CU_ASSERT(RECEIVE(ip, arp_gratuitous, now));
	expect_mac(ip, address, newer, now);
	/* A packet's source does not stand against what ARP said, and serves where nothing else is
	 * known. */
	vl_ip_learn(ip, &address, peer, now);
	expect_mac(ip, address, newer, now);
	address = ipv4(10, 0, 0, 3);
	vl_ip_learn(ip, &address, peer, now);
	expect_mac(ip, address, peer, now);
	vl_ip_learn(ip, &address, newer, now);
	expect_mac(ip, address, newer, now);
	EXPECT_NOTHING(ip, now);
	/* Neither is anything learned of other subnets, or of ourselves. */
	address = ipv4(192, 168, 0, 1);
	vl_ip_learn(ip, &address, peer, now);
	CU_ASSERT_EQUAL(resolve(ip, address, now), -EAGAIN);
	address = ipv4(10, 0, 0, 1);
	vl_ip_learn(ip, &address, peer, now);
	expect_mac(ip, address, us, now);
	/* Neighbour discovery: the override flag decides. */
	CU_ASSERT(RECEIVE(ip, solicitation, now));
	EXPECT(ip, advertisement_of_us, now);
	expect_mac(ip, ipv6(0xfd, 0, 2), peer, now);
	CU_ASSERT(RECEIVE(ip, advertisement_no_override, now));
	expect_mac(ip, ipv6(0xfd, 0, 2), peer, now);
	CU_ASSERT(RECEIVE(ip, advertisement_override, now));
	expect_mac(ip, ipv6(0xfd, 0, 2), newer, now);
	/* From beyond a router nobody may speak of neighbours. */
	CU_ASSERT(RECEIVE(ip, advertisement_routed, now));
	expect_mac(ip, ipv6(0xfd, 0, 2), newer, now);
	CU_ASSERT_EQUAL(vl_ip_counters(ip)->malformed, 1);
	vl_ip_close(ip);
}

/* A thousand senders against a table of 16: bounded, the latest are known, those asked for long ago
 * are forgotten and their timers with them. */
static void test_overflow(void)
{
	struct vl_ip_config config = plain();
	struct vl_ip *ip;
	uint8_t request[sizeof(frame_arp_request)];
	uint64_t now = 3 * SECOND;

	config.addresses[0].prefix_length = 16;
	config.max_neighbours = 16;
	ip = open_quiet(&config);
	for (uint8_t i = 2; i < 10; i++)
		CU_ASSERT_EQUAL(resolve(ip, ipv4(10, 0, 9, i), now), -EAGAIN);
	memcpy(request, frame_arp_request, sizeof(request));
	for (unsigned int i = 0; i < 1000; i++) {
		request[30] = (uint8_t)(1 + i / 200); /* sender's address */
		request[31] = (uint8_t)(1 + i % 200);
		CU_ASSERT(receive(ip, request, sizeof(request), now));
		while (next_frame(ip, now))
			;
	}
	CU_ASSERT_EQUAL(vl_ip_counters(ip)->evicted, 1000 + 8 - 16);
	expect_mac(ip, ipv4(10, 0, 5, 200), peer, now);
	expect_mac(ip, ipv4(10, 0, 5, 185), peer, now);
	CU_ASSERT_EQUAL(vl_ip_next_deadline(ip), UINT64_MAX);
	CU_ASSERT_EQUAL(resolve(ip, ipv4(10, 0, 5, 184), now), -EAGAIN);
	vl_ip_close(ip);
}

/* A flood of requests while the line is busy: the first 32 are answered. */
static void test_flood(void)
{
	struct vl_ip_config config = plain();
	struct vl_ip *ip = open_quiet(&config);
	unsigned int count = 0;

	for (unsigned int i = 0; i < 1000; i++)
		CU_ASSERT(RECEIVE(ip, echo_request, 3 * SECOND));
	while (next_frame(ip, 3 * SECOND))
		count++;
	CU_ASSERT_EQUAL(count, 32);
	CU_ASSERT_EQUAL(vl_ip_counters(ip)->answers_dropped, 968);
	vl_ip_close(ip);
}

/* ---- Bad input -------------------------------------------------------------------------- */

/* Each frame cut at each length, and with each bit flipped: whatever is said, nothing is read
 * beyond the end, and ours alone is sent. */
static void test_hostile_frames(void)
{
	static const struct {
		const uint8_t *bytes;
		uint32_t length;
	} frames[] = {
#define IP_FRAME(name) {frame_##name, sizeof(frame_##name)},
		IP_FRAMES(IP_FRAME)
#undef IP_FRAME
	};
	struct vl_ip_config config = plain();
	struct vl_ip *ip = open_quiet(&config);
	uint8_t copy[256];
	uint64_t now = 3 * SECOND;

	for (unsigned int i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
		for (uint32_t length = 0; length < frames[i].length; length++)
			receive(ip, frames[i].bytes, length, now);
		for (uint32_t bit = 0; bit < frames[i].length * 8; bit++) {
			memcpy(copy, frames[i].bytes, frames[i].length);
			copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
			receive(ip, copy, frames[i].length, now);
			for (uint32_t length; (length = next_frame(ip, now));)
				CU_ASSERT(!memcmp(output + 6, us, 6) && length >= 60);
		}
	}
	CU_ASSERT(vl_ip_counters(ip)->malformed > 1000);
	vl_ip_close(ip);
}

/* A wrong checksum, anywhere in what it covers, keeps an echo from being answered. */
static void test_checksums(void)
{
	struct vl_ip_config config = plain();
	struct vl_ip *ip = open_quiet(&config);
	uint8_t copy[sizeof(frame_echo_request)];

	for (uint32_t byte = 14; byte < sizeof(copy); byte++) {
		memcpy(copy, frame_echo_request, sizeof(copy));
		copy[byte] ^= 0x10;
		receive(ip, copy, sizeof(copy), 3 * SECOND);
		EXPECT_NOTHING(ip, 3 * SECOND);
	}
	for (uint32_t byte = 14 + 8; byte < sizeof(frame_echo_request_ipv6); byte++) {
		memcpy(copy, frame_echo_request_ipv6, sizeof(frame_echo_request_ipv6));
		copy[byte] ^= 0x10;
		receive(ip, copy, sizeof(frame_echo_request_ipv6), 3 * SECOND);
		EXPECT_NOTHING(ip, 3 * SECOND);
	}
	vl_ip_close(ip);
}

/* The longest that fit into IP packets of the largest MTU are answered. */
static void test_long_echoes(void)
{
	struct vl_ip_config config = plain();
	struct vl_ip *ip = open_quiet(&config);
	uint8_t frame[14 + 9600] = {0};

	memcpy(frame, frame_echo_request, 42);
	frame[16] = 9600 >> 8;
	frame[17] = 9600 & 0xff;
	memset(frame + 24, 0, 2);
	vl_store_be16(frame + 24, vl_ip_checksum(vl_ip_sum(frame + 14, 20, 0)));
	memset(frame + 36, 0, 2);
	vl_store_be16(frame + 36, vl_ip_checksum(vl_ip_sum(frame + 34, 9580, 0)));
	CU_ASSERT(receive(ip, frame, sizeof(frame), 3 * SECOND));
	CU_ASSERT_EQUAL(next_frame(ip, 3 * SECOND), sizeof(frame));
	CU_ASSERT_EQUAL(vl_ip_counters(ip)->echo_tx, 1);
	CU_ASSERT_EQUAL(vl_ip_counters(ip)->malformed, 0);
	vl_ip_close(ip);
}

static void expect_refused(const struct vl_ip_config *config)
{
	int error = 0;

	CU_ASSERT_PTR_NULL(vl_ip_open(config, &error));
	CU_ASSERT_EQUAL(error, -EINVAL);
}

static void test_configuration(void)
{
	struct vl_ip_config config = plain();

	config.address_count = 0;
	expect_refused(&config);
	config.address_count = VL_IP_MAX_ADDRESSES + 1;
	expect_refused(&config);
	config = plain();
	config.addresses[0].prefix_length = 33;
	expect_refused(&config);
	config = plain();
	config.addresses[1].prefix_length = 129;
	expect_refused(&config);
	config = plain();
	config.mac[0] = 1;
	expect_refused(&config);
	config = plain();
	config.gateway_ipv4 = ipv6(0xfd, 0, 9);
	expect_refused(&config);
	config = plain();
	config.vlan_id = 4096;
	expect_refused(&config);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"answers", test_answers},
		{"not_ours", test_not_ours},
		{"vlan", test_vlan},
		{"announcements", test_announcements},
		{"resolution", test_resolution},
		{"routes", test_routes},
		{"backoff", test_backoff},
		{"refresh", test_refresh},
		{"updates", test_updates},
		{"overflow", test_overflow},
		{"flood", test_flood},
		{"hostile_frames", test_hostile_frames},
		{"checksums", test_checksums},
		{"long echoes", test_long_echoes},
		{"configuration", test_configuration},
	};

	return RUN_SUITE("unit/ip", tests, argc, argv);
}
