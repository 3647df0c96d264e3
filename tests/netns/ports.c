/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Ports on interfaces of the kernel: what goes out of them and what comes in, byte by byte, against
 * raw sockets on the other side. */

#include "dataplane/port/port.h"
#include "dataplane/runtime/eal.h"
#include "dataplane/runtime/mempool.h"
#include "tests/support/netns.h"
#include "tests/support/port_frames.h"
#include "tests/support/suite.h"

#include <rte_mempool.h>

#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define POOL_SIZE    2047
#define JUMBO_LENGTH 9018

static struct netns netns;
static struct rte_mempool *pool, *jumbo_pool;

static struct vl_port *open_port(const char *name, uint16_t mtu, uint16_t queues,
				 struct rte_mempool *mempool)
{
	const struct vl_port_config config = {
		.mempools = {mempool},
		.mtu = mtu,
		.queue_count = queues,
	};
	struct vl_error error = {.text = ""};
	struct vl_port *port = vl_port_open(name, &config, &error);

	if (!port)
		printf("    %s\n", error.text);
	return port;
}

/* Opens, and expects it to fail with this text in the error. */
static void expect_error(const char *name, uint16_t mtu, const char *text)
{
	const struct vl_port_config config = {.mempools = {pool}, .mtu = mtu};
	struct vl_error error = {.text = ""};
	struct vl_port *port = vl_port_open(name, &config, &error);

	CU_ASSERT_PTR_NULL(port);
	CU_ASSERT_PTR_NOT_NULL(strstr(error.text, text));
	if (!strstr(error.text, text))
		printf("    got: %s\n", error.text);
	vl_port_close(port);
}

static void exchange(struct vl_port *port, int far, struct rte_mempool *mempool, uint32_t length)
{
	uint8_t frame[FRAME_ROOM];
	uint32_t got = 0;

	CU_ASSERT(port_send(port, 0, mempool, length, length));
	do
		got = (uint32_t)netns_socket_receive(far, frame, sizeof(frame), 1000);
	while (got && (frame[12] != 0x88 || frame[13] != 0xb5));
	CU_ASSERT_EQUAL(got, length);
	CU_ASSERT(frame_is(frame, length, length));
	frame_fill(frame, length, length + 1);
	CU_ASSERT(netns_socket_send(far, frame, length));
	memset(frame, 0, sizeof(frame));
	CU_ASSERT_EQUAL(port_receive(port, frame), length);
	CU_ASSERT(frame_is(frame, length, length + 1));
}

static uint32_t buffers_in_use(void)
{
	return rte_mempool_in_use_count(pool) + rte_mempool_in_use_count(jumbo_pool);
}

static void test_tap(void)
{
	static const uint32_t lengths[] = {60, 1514, 4158, 9014};
	struct vl_port *port = open_port("tap:vltap0", 9000, 1, pool);
	struct vl_port_statistics statistics;
	int far;

	CU_ASSERT_PTR_NOT_NULL_FATAL(port);
	CU_ASSERT_EQUAL(port->mtu, 9000);
	far = netns_socket_open("vltap0");
	CU_ASSERT_FATAL(far >= 0);
	/* The buffers are for frames of 4 kB: longer ones come and go in several. */
	for (unsigned int i = 0; i < 4; i++)
		exchange(port, far, pool, lengths[i]);
	vl_port_statistics(port, &statistics);
	CU_ASSERT_EQUAL(statistics.tx_frames, 4);
	CU_ASSERT_EQUAL(statistics.tx_bytes, 60 + 1514 + 4158 + 9014);
	CU_ASSERT(statistics.rx_frames >= 4);
	/* The kernel's end has a MAC of its own. */
	CU_ASSERT_EQUAL(netns_run(&netns, 0,
				  "! ip link show vltap0 | grep -qi %02x:%02x:%02x:%02x:%02x:%02x",
				  port->mac[0], port->mac[1], port->mac[2], port->mac[3],
				  port->mac[4], port->mac[5]),
			0);
	expect_error("tap:vltap0", 0, "another program has it");
	close(far);
	vl_port_close(port);
	CU_ASSERT_EQUAL(if_nametoindex("vltap0"), 0);
	CU_ASSERT_EQUAL(buffers_in_use(), 0);
}

static void test_tap_queues(void)
{
	struct vl_port *port = open_port("tap:vltap1", 0, 3, pool);
	uint8_t frame[FRAME_ROOM];
	int far;

	CU_ASSERT_PTR_NOT_NULL_FATAL(port);
	CU_ASSERT_EQUAL(port->queue_count, 3);
	far = netns_socket_open("vltap1");
	for (uint16_t queue = 0; queue < 3; queue++)
		CU_ASSERT(port_send(port, queue, pool, 200, queue));
	for (uint16_t queue = 0; queue < 3; queue++) {
		CU_ASSERT_EQUAL(netns_socket_receive(far, frame, sizeof(frame), 1000), 200);
		CU_ASSERT(frame_is(frame, 200, queue));
	}
	close(far);
	vl_port_close(port);
}

/* Runs body with a veth pair whose left end is in this side, and a socket on the right. */
static void over_veth(unsigned int mtu, void (*body)(int far))
{
	const char *reason;
	int far;

	/* One that failed before may have left its own. */
	netns_run(&netns, 0, "ip link del left 2>/dev/null || true");
	reason = netns_add_veth(&netns, "left", "right", mtu);
	if (reason) {
		skip_test(reason);
		return;
	}
	CU_ASSERT(netns_enter(&netns, 1));
	far = netns_socket_open("right");
	CU_ASSERT(netns_enter(&netns, 0));
	body(far);
	close(far);
	CU_ASSERT_EQUAL(netns_run(&netns, 0, "ip link del left"), 0);
}

static void use_af_packet(int far)
{
	struct vl_port *port = open_port("af_packet:left", 0, 1, pool);

	CU_ASSERT_PTR_NOT_NULL_FATAL(port);
	CU_ASSERT_EQUAL(port->mtu, VL_PORT_DEFAULT_MTU);
	exchange(port, far, pool, 60);
	exchange(port, far, pool, 1514);
	exchange(port, far, pool, 4158);
	exchange(port, far, pool, VL_PORT_DEFAULT_MTU + 14);
	vl_port_close(port);
	/* And again: nothing of the first is left. */
	port = open_port("af_packet:left,frames=100", 9000, 2, jumbo_pool);
	CU_ASSERT_PTR_NOT_NULL_FATAL(port);
	CU_ASSERT_EQUAL(port->queue_count, 2);
	exchange(port, far, jumbo_pool, 9014);
	for (unsigned int i = 0; i < 300; i++)
		exchange(port, far, jumbo_pool, 1000 + i);
	vl_port_close(port);
	expect_error("af_packet:left", 9500, "ip link set dev left mtu 9500");
	expect_error("af_packet:left", 9000, "make the mempool for longer frames");
	expect_error("af_packet:nosuch", 0, "no interface nosuch");
	expect_error("af_packet:left,frames=1", 0, "takes a number from 64");
	CU_ASSERT_EQUAL(netns_run(&netns, 0, "ip link set left down"), 0);
	expect_error("af_packet:left", 0, "ip link set dev left up");
}

static void test_af_packet(void)
{
	over_veth(9000, use_af_packet);
	CU_ASSERT_EQUAL(buffers_in_use(), 0);
}

static void use_af_packet_tags(int far)
{
	static const uint8_t tag[4] = {0x81, 0, 0x60, 0x05};
	struct vl_port *port = open_port("af_packet:left", 0, 1, pool);
	uint8_t frame[FRAME_ROOM], got[FRAME_ROOM];
	struct rte_mbuf *mbuf = NULL;

	CU_ASSERT_PTR_NOT_NULL_FATAL(port);
	frame_fill(frame, VL_PORT_DEFAULT_MTU + 18, 7);
	memcpy(frame + 12, tag, sizeof(tag));
	CU_ASSERT(netns_socket_send(far, frame, VL_PORT_DEFAULT_MTU + 18));
	for (unsigned int i = 0; i < 1000000 && !mbuf; i++) {
		if (vl_port_receive(port, 0, &mbuf, 1) &&
		    memcmp(rte_pktmbuf_mtod_offset(mbuf, uint8_t *, 12), tag, 2)) {
			rte_pktmbuf_free(mbuf);
			mbuf = NULL;
		}
	}
	CU_ASSERT_PTR_NOT_NULL_FATAL(mbuf);
	CU_ASSERT_EQUAL(mbuf->data_len, VL_PORT_DEFAULT_MTU + 18);
	CU_ASSERT(!memcmp(rte_pktmbuf_mtod(mbuf, void *), frame, mbuf->data_len));
	CU_ASSERT_EQUAL(vl_port_transmit(port, 0, &mbuf, 1), 1);
	do
		memset(got, 0, sizeof(got));
	while (netns_socket_receive(far, got, sizeof(got), 1000) && memcmp(got + 12, tag, 2));
	CU_ASSERT(!memcmp(got, frame, VL_PORT_DEFAULT_MTU + 18));
	vl_port_close(port);
}

static void test_af_packet_tags(void)
{
	over_veth(9000, use_af_packet_tags);
}

static void use_small_mtu(int far)
{
	struct vl_port *port = open_port("af_packet:left", 0, 1, pool);

	CU_ASSERT_PTR_NOT_NULL_FATAL(port);
	CU_ASSERT_EQUAL(port->mtu, 1500);
	exchange(port, far, pool, 1514);
	vl_port_close(port);
	expect_error("af_packet:left", 4240, "MTU 4240, and interface left has 1500");
}

static void test_small_mtu(void)
{
	over_veth(1500, use_small_mtu);
}

static void use_af_xdp(int far)
{
	struct vl_port *port = open_port("af_xdp:left", 0, 1, pool);

	if (!port) {
		skip_test("no XDP socket");
		return;
	}
	CU_ASSERT_EQUAL(port->mtu, 3300);
	for (unsigned int i = 0; i < 100; i++) {
		exchange(port, far, pool, 60 + i);
		exchange(port, far, pool, 1514);
		exchange(port, far, pool, 3314);
	}
	vl_port_close(port);
	expect_error("af_xdp:left", 4000, "or use af_packet:left");
}

static void test_af_xdp(void)
{
	over_veth(3300, use_af_xdp);
	CU_ASSERT_EQUAL(buffers_in_use(), 0);
}

/* The kernel tells a carrier's change a while after it. */
static bool link_becomes(struct vl_port *port, enum vl_port_link link)
{
	for (unsigned int i = 0; i < 5000 && vl_port_link(port) != link; i++)
		usleep(1000);
	return vl_port_link(port) == link;
}

/* A link that goes down, comes up and is taken away, as the kernel has it. */
static void test_links(void)
{
	const char *reason = netns_add_veth(&netns, "left", "right", 1500);
	struct vl_port *port;

	if (reason) {
		skip_test(reason);
		return;
	}
	port = open_port("af_packet:left", 0, 1, pool);
	CU_ASSERT_PTR_NOT_NULL_FATAL(port);
	CU_ASSERT(link_becomes(port, VL_PORT_LINK_UP));
	CU_ASSERT_EQUAL(netns_run(&netns, 1, "ip link set right down"), 0);
	CU_ASSERT(link_becomes(port, VL_PORT_LINK_DOWN));
	CU_ASSERT_FALSE(vl_port_is_up(port));
	CU_ASSERT_EQUAL(netns_run(&netns, 1, "ip link set right up"), 0);
	CU_ASSERT(link_becomes(port, VL_PORT_LINK_UP));
	CU_ASSERT_EQUAL(netns_run(&netns, 0, "ip link del left"), 0);
	CU_ASSERT_EQUAL(vl_port_link(port), VL_PORT_LINK_GONE);
	/* Another of its name is another. */
	CU_ASSERT_PTR_NULL(netns_add_veth(&netns, "left", "right", 1500));
	CU_ASSERT_EQUAL(vl_port_link(port), VL_PORT_LINK_GONE);
	CU_ASSERT_EQUAL(netns_run(&netns, 0, "ip link del left"), 0);
	vl_port_close(port);
	port = open_port("tap:vltap2", 0, 1, pool);
	CU_ASSERT_PTR_NOT_NULL_FATAL(port);
	CU_ASSERT(link_becomes(port, VL_PORT_LINK_UP));
	CU_ASSERT_EQUAL(netns_run(&netns, 0, "ip link set vltap2 down"), 0);
	CU_ASSERT(link_becomes(port, VL_PORT_LINK_DOWN));
	CU_ASSERT_EQUAL(netns_run(&netns, 0, "ip link del vltap2"), 0);
	CU_ASSERT_EQUAL(vl_port_link(port), VL_PORT_LINK_GONE);
	vl_port_close(port);
}

/* Pause frames between the ends of a veth pair, as the doctor shows them. */
static void test_doctor(void)
{
	const char *root = getenv("VERBLINE_BUILD_ROOT");

	if (!root) {
		skip_test("VERBLINE_BUILD_ROOT is not set");
		return;
	}
	CU_ASSERT_EQUAL(netns_run(&netns, 0,
				  "ip link add sick type veth peer name well && "
				  "ip link set sick up && ip link set well up && "
				  "%s/apps/verbline doctor --port af_packet:sick --port "
				  "af_packet:well --json - 2>/dev/null > /tmp/doctor.%d; "
				  "grep -q '5 of 5 frames came in at af_packet:well' "
				  "/tmp/doctor.%d && "
				  "grep -q '5 of 5 frames came in at af_packet:sick' "
				  "/tmp/doctor.%d",
				  root, getpid(), getpid(), getpid()),
			0);
	CU_ASSERT_EQUAL(netns_run(&netns, 0, "rm -f /tmp/doctor.%d; ip link del sick", getpid()),
			0);
}

/* DPDK's driver for XDP sockets does not give back 80 bytes of libxdp's. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:xsk_umem__create";
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"tap", test_tap},
		{"tap_queues", test_tap_queues},
		{"af_packet", test_af_packet},
		{"af_packet_tags", test_af_packet_tags},
		{"small_mtu", test_small_mtu},
		{"af_xdp", test_af_xdp},
		{"links", test_links},
		{"doctor", test_doctor},
	};
	const struct vl_eal_config eal = {.worker_count = 1, .memory_mb = 256};
	const char *reason = netns_open(&netns);
	struct vl_error error;
	int result;

	if (reason) {
		printf("netns/ports: skipped: %s\n", reason);
		return 77;
	}
	if (vl_eal_start(&eal, &error)) {
		printf("%s\n", error.text);
		return 1;
	}
	pool = vl_mempool_create("ports", POOL_SIZE, &error);
	jumbo_pool = vl_mempool_create_jumbo("jumbo", POOL_SIZE, JUMBO_LENGTH, &error);
	if (!pool || !jumbo_pool) {
		printf("%s\n", error.text);
		return 1;
	}
	result = RUN_SUITE("netns/ports", tests, argc, argv);
	rte_mempool_free(pool);
	rte_mempool_free(jumbo_pool);
	vl_eal_stop();
	netns_close(&netns);
	return result;
}
