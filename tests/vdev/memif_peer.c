/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* A memif server and a client that means it ill: what it offers is refused, and what it writes into
 * the shared memory ends the link, not the program. */

#include "dataplane/port/memif_protocol.h"
#include "dataplane/port/port.h"
#include "dataplane/runtime/mempool.h"
#include "tests/vdev/support.h"

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define LOG2_RING   4
#define RING_SIZE   (1u << LOG2_RING)
#define RING_STRIDE 512u
#define REGION_SIZE 65536u
#define BUFFERS     4096u

static struct rte_mempool *pool;
static char path[64];

struct client {
	int socket, memory_file, interrupt;
	uint8_t *memory;
	struct memif_ring *ring; /* on which the client sends */
};

static bool send_with(int socket, const struct memif_message *message, int descriptor)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {.room = {0}};
	struct iovec data = {.iov_base = (void *)message, .iov_len = sizeof(*message)};
	struct msghdr header = {.msg_iov = &data, .msg_iovlen = 1};

	if (descriptor >= 0) {
		header.msg_control = &control;
		header.msg_controllen = sizeof(control);
		control.header = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
						  .cmsg_type = SCM_RIGHTS,
						  .cmsg_len = CMSG_LEN(sizeof(int))};
		memcpy(CMSG_DATA(&control.header), &descriptor, sizeof(descriptor));
	}
	return sendmsg(socket, &header, MSG_NOSIGNAL) == (ssize_t)sizeof(*message);
}

/* The type of the answer; 0: the server has hung up. */
static unsigned int ask(struct client *client, const struct memif_message *message, int descriptor)
{
	struct memif_message answer = {0};

	if (!send_with(client->socket, message, descriptor) ||
	    recv(client->socket, &answer, sizeof(answer), 0) != (ssize_t)sizeof(answer))
		return 0;
	return answer.type;
}

static void come(struct client *client, uint32_t seals)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct memif_message hello = {0}, init = {.type = MEMIF_INIT};
	const struct timeval patience = {.tv_sec = 3};

	*client = (struct client){.socket = socket(AF_UNIX, SOCK_SEQPACKET, 0)};
	setsockopt(client->socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	CU_ASSERT_EQUAL_FATAL(
		connect(client->socket, (const struct sockaddr *)&address, sizeof(address)), 0);
	CU_ASSERT_EQUAL(recv(client->socket, &hello, sizeof(hello), 0), (ssize_t)sizeof(hello));
	CU_ASSERT_EQUAL(hello.type, MEMIF_HELLO);
	client->memory_file = memfd_create("ill", MFD_ALLOW_SEALING);
	client->interrupt = eventfd(0, 0);
	CU_ASSERT_EQUAL(ftruncate(client->memory_file, REGION_SIZE), 0);
	if (seals)
		CU_ASSERT_EQUAL(fcntl(client->memory_file, F_ADD_SEALS, seals), 0);
	client->memory =
		mmap(NULL, REGION_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, client->memory_file, 0);
	for (unsigned int i = 0; i < 2; i++)
		((struct memif_ring *)(void *)(client->memory + i * RING_STRIDE))->cookie =
			MEMIF_COOKIE;
	client->ring = (struct memif_ring *)(void *)client->memory;
	init.init.version = MEMIF_VERSION;
	CU_ASSERT_EQUAL(ask(client, &init, -1), MEMIF_ACK);
}

static void leave(struct client *client)
{
	munmap(client->memory, REGION_SIZE);
	close(client->memory_file);
	close(client->interrupt);
	close(client->socket);
}

static unsigned int offer_region(struct client *client, uint16_t index, uint64_t size)
{
	struct memif_message message = {.type = MEMIF_ADD_REGION};

	message.region.index = index;
	message.region.size = size;
	return ask(client, &message, client->memory_file);
}

static unsigned int offer_ring(struct client *client, bool is_to_server, uint16_t index,
			       uint16_t region, uint32_t offset, uint8_t log2_ring)
{
	struct memif_message message = {.type = MEMIF_ADD_RING};

	message.ring.flags = is_to_server ? MEMIF_ADD_RING_TO_SERVER : 0;
	message.ring.index = index;
	message.ring.region = region;
	message.ring.offset = offset;
	message.ring.log2_ring = log2_ring;
	return ask(client, &message, client->interrupt);
}

static void connect_whole(struct vl_port *port, struct client *client)
{
	const struct memif_message message = {.type = MEMIF_CONNECT};

	come(client, F_SEAL_SHRINK);
	CU_ASSERT_EQUAL(offer_region(client, 0, REGION_SIZE), MEMIF_ACK);
	CU_ASSERT_EQUAL(offer_ring(client, true, 0, 0, 0, LOG2_RING), MEMIF_ACK);
	CU_ASSERT_EQUAL(offer_ring(client, false, 0, 0, RING_STRIDE, LOG2_RING), MEMIF_ACK);
	CU_ASSERT_EQUAL(ask(client, &message, -1), MEMIF_CONNECTED);
	for (unsigned int i = 0; i < 1000 && !vl_port_is_up(port); i++)
		usleep(1000);
	CU_ASSERT(vl_port_is_up(port));
}

static struct vl_port *open_server(void)
{
	const struct vl_port_config config = {.mempools = {pool}};
	struct vl_error error = {.text = ""};
	struct vl_port *port;
	char name[96];

	snprintf(name, sizeof(name), "memif:%s,server", path);
	port = vl_port_open(name, &config, &error);
	if (!port)
		printf("    %s\n", error.text);
	return port;
}

/* ---- What is offered --------------------------------------------------------------------- */

static void test_offers(void)
{
	static const struct {
		uint16_t index, region;
		uint32_t offset;
		uint8_t log2_ring;
	} rings[] = {
		{1, 0, 0, LOG2_RING},          /* out of order */
		{0, 1, 0, LOG2_RING},          /* no such region */
		{0, 0, 8, LOG2_RING},          /* not aligned */
		{0, 0, 0, 15},                 /* too large */
		{0, 0, 65536 - 64, LOG2_RING}, /* beyond the region */
		{0, 0, 0xfffffff0, LOG2_RING}, /* far beyond */
		{0, 0, 2048, LOG2_RING},       /* no cookie there */
	};
	struct vl_port *port = open_server();
	struct client client;

	CU_ASSERT_PTR_NOT_NULL_FATAL(port);
	for (unsigned int i = 0; i < sizeof(rings) / sizeof(rings[0]); i++) {
		come(&client, F_SEAL_SHRINK);
		CU_ASSERT_EQUAL(offer_region(&client, 0, REGION_SIZE), MEMIF_ACK);
		CU_ASSERT_EQUAL(offer_ring(&client, true, rings[i].index, rings[i].region,
					   rings[i].offset, rings[i].log2_ring),
				MEMIF_DISCONNECT);
		leave(&client);
	}
	/* Memory that could be taken away, less than is said, none, or out of order. */
	come(&client, 0);
	CU_ASSERT_EQUAL(offer_region(&client, 0, REGION_SIZE), MEMIF_DISCONNECT);
	leave(&client);
	come(&client, F_SEAL_SHRINK);
	CU_ASSERT_EQUAL(offer_region(&client, 0, REGION_SIZE + 1), MEMIF_DISCONNECT);
	leave(&client);
	come(&client, F_SEAL_SHRINK);
	CU_ASSERT_EQUAL(offer_region(&client, 0, 0), MEMIF_DISCONNECT);
	leave(&client);
	come(&client, F_SEAL_SHRINK);
	CU_ASSERT_EQUAL(offer_region(&client, 3, REGION_SIZE), MEMIF_DISCONNECT);
	leave(&client);
	/* And then one as it should be. */
	connect_whole(port, &client);
	leave(&client);
	vl_port_close(port);
}

/* ---- What is written --------------------------------------------------------------------- */

static bool goes_down(struct vl_port *port)
{
	struct rte_mbuf *mbufs[VL_PORT_BURST];

	for (unsigned int i = 0; i < 2000 && vl_port_is_up(port); i++) {
		uint16_t count = vl_port_receive(port, 0, mbufs, VL_PORT_BURST);

		rte_pktmbuf_free_bulk(mbufs, count);
		usleep(1000);
	}
	/* The memory is let go when the worker has seen that the link is gone. */
	rte_pktmbuf_free_bulk(mbufs, vl_port_receive(port, 0, mbufs, VL_PORT_BURST));
	return !vl_port_is_up(port);
}

static void put(struct client *client, uint16_t slot, uint16_t flags, uint16_t region,
		uint32_t offset, uint32_t length)
{
	client->ring->descriptors[slot] = (struct memif_descriptor){
		.flags = flags, .region = region, .offset = offset, .length = length};
}

static void expect_end(struct vl_port *port, struct client *client, uint16_t head)
{
	struct vl_port_statistics before, after;

	vl_port_statistics(port, &before);
	__atomic_store_n(&client->ring->head, head, __ATOMIC_RELEASE);
	CU_ASSERT(goes_down(port));
	vl_port_statistics(port, &after);
	CU_ASSERT_EQUAL(after.rx_errors, before.rx_errors + 1);
	CU_ASSERT_EQUAL(rte_mempool_in_use_count(pool), 0);
	leave(client);
}

static void test_writes(void)
{
	struct vl_port *port = open_server();
	struct rte_mbuf *mbuf = NULL;
	struct client client;

	CU_ASSERT_PTR_NOT_NULL_FATAL(port);
	/* A frame as it should be. */
	connect_whole(port, &client);
	memset(client.memory + BUFFERS, 0x5a, 1000);
	put(&client, 0, MEMIF_DESCRIPTOR_NEXT, 0, BUFFERS, 600);
	put(&client, 1, 0, 0, BUFFERS + 600, 400);
	client.ring->head = 2;
	for (unsigned int i = 0; i < 1000 && !mbuf; i++) {
		if (!vl_port_receive(port, 0, &mbuf, 1))
			usleep(1000);
	}
	CU_ASSERT_PTR_NOT_NULL_FATAL(mbuf);
	CU_ASSERT_EQUAL(mbuf->pkt_len, 1000);
	rte_pktmbuf_free(mbuf);
	CU_ASSERT_EQUAL(client.ring->tail, 2);
	/* Beyond the region; in none; far too long; a frame without end; more than the ring has. */
	put(&client, 2, 0, 0, REGION_SIZE - 99, 100);
	expect_end(port, &client, 3);
	connect_whole(port, &client);
	put(&client, 0, 0, 7, 0, 100);
	expect_end(port, &client, 1);
	connect_whole(port, &client);
	put(&client, 0, 0, 0, UINT32_MAX, UINT32_MAX);
	expect_end(port, &client, 1);
	connect_whole(port, &client);
	for (uint16_t slot = 0; slot < RING_SIZE; slot++)
		put(&client, slot, MEMIF_DESCRIPTOR_NEXT, 0, BUFFERS, 10);
	expect_end(port, &client, RING_SIZE);
	connect_whole(port, &client);
	expect_end(port, &client, RING_SIZE + 1);
	vl_port_close(port);
	CU_ASSERT_EQUAL(rte_mempool_in_use_count(pool), 0);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"offers", test_offers},
		{"writes", test_writes},
	};
	struct vl_error error;
	int result = test_start_eal(1);

	if (result)
		return result;
	snprintf(path, sizeof(path), "/tmp/verbline-memif-%d", getpid());
	pool = vl_mempool_create("memif", 1023, &error);
	result = pool ? RUN_SUITE("vdev/memif_peer", tests, argc, argv) : 1;
	rte_mempool_free(pool);
	vl_eal_stop();
	return result;
}
