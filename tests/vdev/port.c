/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/port/port.h"
#include "dataplane/runtime/mempool.h"
#include "tests/vdev/support.h"

#include <rte_mempool.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define POOL_SIZE 1023

static struct rte_mempool *pool;

static uint32_t buffers_in_use(void)
{
	return rte_mempool_in_use_count(pool);
}

/* A frame that carries its number. */
static struct rte_mbuf *make_mbuf(uint32_t number, uint16_t length)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);
	uint8_t *data;

	if (!mbuf)
		return NULL;
	data = rte_pktmbuf_mtod(mbuf, uint8_t *);
	mbuf->data_len = length;
	mbuf->pkt_len = length;
	memset(data, (int)number, length);
	memcpy(data, &number, sizeof(number));
	return mbuf;
}

static uint32_t number_of(const struct rte_mbuf *mbuf)
{
	uint32_t number;

	memcpy(&number, rte_pktmbuf_mtod(mbuf, const void *), sizeof(number));
	return number;
}

/* ---- Mempool ----------------------------------------------------------------------------- */

static void test_mempool_sizes(void)
{
	struct vl_error error;

	CU_ASSERT_PTR_NULL(vl_mempool_create("none", 0, &error));
	CU_ASSERT_STRING_EQUAL(error.text, "mempool none: 0 buffers, must be 1 to 4194304");
	/* More than EAL has memory for. */
	CU_ASSERT_PTR_NULL(vl_mempool_create("huge", 1u << 20, &error));
	CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "mempool huge: no room for 1048576 buffers"));
	CU_ASSERT(vl_mempool_megabytes(1000) >= 4 && vl_mempool_megabytes(1000) <= 6);
}

static void test_frames_of_mbufs(void)
{
	struct vl_mbuf_frame_pool frames;
	struct rte_mempool *own;
	struct vl_frame *frame;
	struct rte_mbuf *mbuf;
	struct vl_error error;

	own = vl_mempool_create("frames", 8, &error);
	CU_ASSERT_PTR_NOT_NULL_FATAL(own);
	vl_mbuf_frame_pool_init(&frames, own);
	frame = vl_frame_get(&frames.pool);
	CU_ASSERT_PTR_NOT_NULL_FATAL(frame);
	CU_ASSERT_EQUAL(frame->length, 0);
	CU_ASSERT(frame->capacity >= VL_MAX_FRAME_LENGTH);
	/* The last byte of the private area and of the data belong to this frame alone. */
	memset(frame->data, 0xa5, frame->capacity);
	frame->length = 1500;
	frame->priority = 7;
	mbuf = vl_mbuf_of_frame(frame);
	CU_ASSERT_EQUAL(mbuf->pkt_len, 1500);
	CU_ASSERT_EQUAL(mbuf->data_len, 1500);
	CU_ASSERT_EQUAL(mbuf->nb_segs, 1);
	CU_ASSERT_PTR_EQUAL(rte_pktmbuf_mtod(mbuf, uint8_t *), frame->data);
	CU_ASSERT_PTR_EQUAL(vl_frame_of_received(mbuf, &frames), frame);
	CU_ASSERT_EQUAL(frame->length, 1500);
	CU_ASSERT_EQUAL(frame->priority, 7);
	vl_frame_free(frame);
	CU_ASSERT_EQUAL(rte_mempool_in_use_count(own), 0);
	rte_mempool_free(own);
}

static void test_exhaustion(void)
{
	struct vl_frame *taken = NULL, *frame;
	struct vl_mbuf_frame_pool frames;
	struct rte_mempool *own;
	struct vl_error error;
	uint32_t count = 0;

	own = vl_mempool_create("small", 31, &error);
	CU_ASSERT_PTR_NOT_NULL_FATAL(own);
	vl_mbuf_frame_pool_init(&frames, own);
	while ((frame = vl_frame_get(&frames.pool))) {
		frame->next = taken;
		taken = frame;
		count++;
	}
	CU_ASSERT(count >= 31);
	CU_ASSERT_EQUAL(frames.exhausted, 1);
	CU_ASSERT_PTR_NULL(vl_frame_get(&frames.pool));
	CU_ASSERT_EQUAL(frames.exhausted, 2);
	while (taken) {
		frame = taken;
		taken = frame->next;
		vl_frame_free(frame);
	}
	frame = vl_frame_get(&frames.pool);
	CU_ASSERT_PTR_NOT_NULL(frame);
	if (frame)
		vl_frame_free(frame);
	CU_ASSERT_EQUAL(frames.exhausted, 2);
	CU_ASSERT_EQUAL(rte_mempool_in_use_count(own), 0);
	rte_mempool_free(own);
}

/* ---- Rings ------------------------------------------------------------------------------- */

/* Sends what the port takes of numbers from..to; returns the next number. */
static uint32_t send_numbers(struct vl_port *port, uint32_t from, uint32_t to)
{
	while (from < to) {
		struct rte_mbuf *mbufs[VL_PORT_BURST];
		uint16_t count = 0, sent;

		while (count < VL_PORT_BURST && from + count < to) {
			mbufs[count] = make_mbuf(from + count, 64);
			CU_ASSERT_PTR_NOT_NULL_FATAL(mbufs[count]);
			count++;
		}
		sent = vl_port_transmit(port, 0, mbufs, count);
		rte_pktmbuf_free_bulk(mbufs + sent, count - sent);
		from += sent;
		if (sent < count)
			break;
	}
	return from;
}

static uint32_t receive_numbers(struct vl_port *port, uint32_t next)
{
	struct rte_mbuf *mbufs[VL_PORT_BURST];
	uint16_t count;

	while ((count = vl_port_receive(port, 0, mbufs, VL_PORT_BURST))) {
		for (uint16_t i = 0; i < count; i++) {
			if (number_of(mbufs[i]) != next)
				CU_FAIL("out of order");
			next = number_of(mbufs[i]) + 1;
		}
		rte_pktmbuf_free_bulk(mbufs, count);
	}
	return next;
}

static void test_ring_both_ways(void)
{
	struct vl_port_statistics statistics;
	struct vl_port *ends[2];
	struct vl_error error;

	CU_ASSERT_EQUAL_FATAL(vl_ring_link_open("link", 1, 100, ends, &error), 0);
	CU_ASSERT_STRING_EQUAL(ends[0]->name, "link");
	CU_ASSERT_STRING_EQUAL(ends[1]->name, "link-peer");
	for (uint32_t round = 0, next = 0; round < 50; round++, next += 77) {
		CU_ASSERT_EQUAL(send_numbers(ends[0], next, next + 77), next + 77);
		CU_ASSERT_EQUAL(send_numbers(ends[1], 5000 + next, 5000 + next + 77),
				5000 + next + 77);
		CU_ASSERT_EQUAL(receive_numbers(ends[0], 5000 + next), 5000 + next + 77);
		CU_ASSERT_EQUAL(receive_numbers(ends[1], next), next + 77);
	}
	CU_ASSERT_EQUAL(buffers_in_use(), 0);
	vl_port_statistics(ends[0], &statistics);
	CU_ASSERT_EQUAL(statistics.rx_missed + statistics.rx_errors + statistics.rx_nombuf +
				statistics.tx_errors,
			0);
	vl_port_close(ends[0]);
	vl_port_close(ends[1]);
}

static void test_ring_full(void)
{
	struct vl_port *ends[2];
	struct vl_error error;

	CU_ASSERT_EQUAL_FATAL(vl_ring_link_open("tiny", 1, 4, ends, &error), 0);
	CU_ASSERT_EQUAL(send_numbers(ends[0], 0, 40), 4);
	CU_ASSERT_EQUAL(buffers_in_use(), 4);
	CU_ASSERT_EQUAL(send_numbers(ends[0], 4, 40), 4);
	CU_ASSERT_EQUAL(receive_numbers(ends[1], 0), 4);
	CU_ASSERT_EQUAL(send_numbers(ends[0], 4, 6), 6);
	CU_ASSERT_EQUAL(send_numbers(ends[1], 0, 3), 3);
	CU_ASSERT_EQUAL(buffers_in_use(), 5);
	/* What is under way is freed, whichever end goes first. */
	vl_port_close(ends[1]);
	CU_ASSERT_EQUAL(buffers_in_use(), 3);
	vl_port_close(ends[0]);
	CU_ASSERT_EQUAL(buffers_in_use(), 0);
}

static void test_ring_errors(void)
{
	struct vl_port *ends[2], *again[2];
	struct vl_error error;

	CU_ASSERT_EQUAL(vl_ring_link_open("", 1, 4, ends, &error), -EINVAL);
	CU_ASSERT_EQUAL(vl_ring_link_open("a-name-that-is-far-too-long", 1, 4, ends, &error),
			-EINVAL);
	CU_ASSERT_EQUAL(vl_ring_link_open("zero", 1, 0, ends, &error), -EINVAL);
	CU_ASSERT_STRING_EQUAL(error.text, "link zero: room for 0 frames: must be 1 to 1048576");
	CU_ASSERT_EQUAL(vl_ring_link_open("vast", 1, 1u << 21, ends, &error), -EINVAL);
	CU_ASSERT_EQUAL_FATAL(vl_ring_link_open("twice", 1, 4, ends, &error), 0);
	CU_ASSERT_EQUAL(vl_ring_link_open("twice", 1, 4, again, &error), -EEXIST);
	CU_ASSERT_PTR_NULL(again[0]);
	vl_port_close(ends[0]);
	vl_port_close(ends[1]);
	vl_port_close(NULL);
}

/* ---- Devices of DPDK --------------------------------------------------------------------- */

static struct vl_port *open_port(const char *name)
{
	const struct vl_port_config config = {.mempools = {pool}};
	struct vl_error error = {.text = ""};
	struct vl_port *port = vl_port_open(name, &config, &error);

	if (!port)
		printf("    %s\n", error.text);
	return port;
}

static void test_net_null(void)
{
	struct vl_port *port = open_port("vdev:net_null0,size=256");
	struct rte_mbuf *mbufs[VL_PORT_BURST];
	uint16_t count;

	CU_ASSERT_PTR_NOT_NULL_FATAL(port);
	count = vl_port_receive(port, 0, mbufs, VL_PORT_BURST);
	CU_ASSERT_EQUAL(count, VL_PORT_BURST);
	for (uint16_t i = 0; i < count; i++)
		CU_ASSERT_EQUAL(mbufs[i]->pkt_len, 256);
	CU_ASSERT_EQUAL(vl_port_transmit(port, 0, mbufs, count), count);
	CU_ASSERT_EQUAL(buffers_in_use(), 0);
	vl_port_close(port);
	/* It is gone, and so can be made anew. */
	port = open_port("vdev:net_null0");
	CU_ASSERT_PTR_NOT_NULL_FATAL(port);
	vl_port_close(port);
}

static void test_net_ring(void)
{
	struct vl_port *port = open_port("vdev:net_ring0");

	CU_ASSERT_PTR_NOT_NULL_FATAL(port);
	/* A net_ring device hears itself. */
	CU_ASSERT_EQUAL(send_numbers(port, 0, 200), 200);
	CU_ASSERT_EQUAL(receive_numbers(port, 0), 200);
	CU_ASSERT_EQUAL(buffers_in_use(), 0);
	vl_port_close(port);
}

static void test_net_pcap(void)
{
	char path[] = "/tmp/verbline-test-XXXXXX", name[128];
	struct vl_port *port;
	int file = mkstemp(path);

	CU_ASSERT_FATAL(file >= 0);
	close(file);
	snprintf(name, sizeof(name), "vdev:net_pcap0,tx_pcap=%s", path);
	port = open_port(name);
	CU_ASSERT_PTR_NOT_NULL_FATAL(port);
	CU_ASSERT_EQUAL(send_numbers(port, 0, 100), 100);
	vl_port_close(port);
	snprintf(name, sizeof(name), "vdev:net_pcap0,rx_pcap=%s", path);
	port = open_port(name);
	CU_ASSERT_PTR_NOT_NULL_FATAL(port);
	CU_ASSERT_EQUAL(receive_numbers(port, 0), 100);
	vl_port_close(port);
	CU_ASSERT_EQUAL(buffers_in_use(), 0);
	unlink(path);
}

static void test_port_errors(void)
{
	const struct vl_port_config config = {.mempools = {pool}}, empty = {0};
	static const char *const names[] = {
		"eth0",
		"vdev:",
		"vdev:net_nosuch0",
		"vdev:net_pcap0,rx_pcap=/nonexistent/file.pcap",
		"pci:",
		"pci:zz:00.0",
		"pci:00:1f.9x",
		"pci:ffff:ff:1f.7",
	};
	struct vl_error error;

	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		error.text[0] = '\0';
		CU_ASSERT_PTR_NULL(vl_port_open(names[i], &config, &error));
		CU_ASSERT(!strncmp(error.text, "port ", 5));
		CU_ASSERT_PTR_NULL(strchr(error.text, '\n'));
		printf("    %s\n", error.text);
	}
	CU_ASSERT_PTR_NULL(vl_port_open("vdev:net_null0", &empty, &error));
	CU_ASSERT_STRING_EQUAL(error.text, "port vdev:net_null0: no mempool for received frames");
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"mempool_sizes", test_mempool_sizes}, {"frames_of_mbufs", test_frames_of_mbufs},
		{"exhaustion", test_exhaustion},       {"ring_both_ways", test_ring_both_ways},
		{"ring_full", test_ring_full},         {"ring_errors", test_ring_errors},
		{"net_null", test_net_null},           {"net_ring", test_net_ring},
		{"net_pcap", test_net_pcap},           {"port_errors", test_port_errors},
	};
	struct vl_error error;
	int result = test_start_eal(1);

	if (result)
		return result;
	pool = vl_mempool_create("test", POOL_SIZE, &error);
	if (!pool) {
		printf("%s\n", error.text);
		return 1;
	}
	result = RUN_SUITE("vdev/port", tests, argc, argv);
	rte_mempool_free(pool);
	vl_eal_stop();
	return result;
}
