/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What a memif server takes of a client that says what it likes. */

#include "dataplane/port/memif_link.h"
#include "tests/support/suite.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define REGION_SIZE 65536

static const struct memif_link_config config = {
	.queue_count = 1, .buffer_size = 2048, .log2_ring = 2};

static int sockets[2]; /* the client's, the server's, which the link takes over */

static void open_sockets(void)
{
	CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets), 0);
}

/* The server reads it when it comes to it. */
static void say(const struct memif_message *message, const int *files, unsigned int count)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(8 * sizeof(int))];
	} control = {.room = {0}};
	struct iovec data = {(void *)message, sizeof(*message)};
	struct msghdr header = {.msg_iov = &data, .msg_iovlen = 1};

	if (count) {
		header.msg_control = &control;
		header.msg_controllen = CMSG_SPACE(count * sizeof(int));
		control.header = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
						  .cmsg_type = SCM_RIGHTS,
						  .cmsg_len = CMSG_LEN(count * sizeof(int))};
		memcpy(CMSG_DATA(&control.header), files, count * sizeof(int));
	}
	CU_ASSERT_EQUAL_FATAL(sendmsg(sockets[0], &header, 0), sizeof(*message));
}

static void say_init(void)
{
	struct memif_message message = {.type = MEMIF_INIT};

	message.init.version = MEMIF_VERSION;
	say(&message, NULL, 0);
}

static int make_region(void)
{
	int file = memfd_create("test", MFD_ALLOW_SEALING);
	const uint32_t cookie = MEMIF_COOKIE;

	CU_ASSERT_FATAL(file >= 0 && !ftruncate(file, REGION_SIZE));
	CU_ASSERT_EQUAL_FATAL(fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	for (unsigned int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL_FATAL(pwrite(file, &cookie, 4, i * 4096), 4);
	return file;
}

static void say_region(const int *files, unsigned int count)
{
	struct memif_message message = {.type = MEMIF_ADD_REGION};

	message.region.size = REGION_SIZE;
	say(&message, files, count);
}

static void say_ring(bool is_to_server, int interrupt)
{
	struct memif_message message = {.type = MEMIF_ADD_RING};

	message.ring.log2_ring = 2;
	message.ring.flags = is_to_server ? MEMIF_ADD_RING_TO_SERVER : 0;
	message.ring.offset = is_to_server ? 0 : 4096;
	say(&message, &interrupt, 1);
}

static void say_connect(void)
{
	const struct memif_message message = {.type = MEMIF_CONNECT};

	say(&message, NULL, 0);
}

/* The server's last word. */
static struct memif_message last_word(void)
{
	struct memif_message message = {0}, got;

	while (recv(sockets[0], &got, sizeof(got), MSG_DONTWAIT) == sizeof(got))
		message = got;
	return message;
}

static void expect_refusal(const char *reason)
{
	struct memif_message message;

	CU_ASSERT_PTR_NULL(memif_link_accept(sockets[1], &config));
	message = last_word();
	CU_ASSERT_EQUAL(message.type, MEMIF_DISCONNECT);
	CU_ASSERT_STRING_EQUAL((const char *)message.disconnect.reason, reason);
	close(sockets[0]);
}

static unsigned int open_files(void)
{
	DIR *directory = opendir("/proc/self/fd");
	unsigned int count = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(directory);
	while (readdir(directory))
		count++;
	closedir(directory);
	return count;
}

/* With one file more than there should be in a message, which is closed. */
static void test_connection(void)
{
	int region = make_region(), interrupt = eventfd(0, 0);
	const int files[] = {region, interrupt};
	unsigned int before = open_files();
	struct memif_link *link;

	open_sockets();
	say_init();
	say_region(files, 2);
	say_ring(true, interrupt);
	say_ring(false, interrupt);
	say_connect();
	link = memif_link_accept(sockets[1], &config);
	CU_ASSERT_PTR_NOT_NULL_FATAL(link);
	CU_ASSERT_EQUAL(last_word().type, MEMIF_CONNECTED);
	CU_ASSERT_EQUAL(link->rx[0].size, 4);
	/* A worker that wakes the client must never wait for it. */
	CU_ASSERT_TRUE(fcntl(link->tx[0].interrupt, F_GETFL) & O_NONBLOCK);
	memif_link_free(link);
	close(sockets[0]);
	CU_ASSERT_EQUAL(open_files(), before);
	close(region);
	close(interrupt);
}

/* Who closes its other end would end the program that writes to it. */
static void test_interrupt_is_pipe(void)
{
	int region = make_region(), ends[2];
	unsigned int before;

	CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
	before = open_files();
	open_sockets();
	say_init();
	say_region(&region, 1);
	say_ring(true, ends[1]);
	expect_refusal("an interrupt that is no eventfd");
	CU_ASSERT_EQUAL(open_files(), before);
	close(ends[0]);
	close(ends[1]);
	close(region);
}

static void test_begins_twice(void)
{
	open_sockets();
	say_init();
	say_init();
	expect_refusal("begins twice");
}

static const struct test tests[] = {
	{"connection", test_connection},
	{"interrupt_is_pipe", test_interrupt_is_pipe},
	{"begins_twice", test_begins_twice},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("memif_link", tests, argc, argv);
}
