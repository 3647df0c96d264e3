/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The namespaces themselves: what other tests of this suite stand on. */

#include "tests/support/netns.h"
#include "tests/support/suite.h"

#include <net/if.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct netns netns;

static bool open_netns(void)
{
	const char *reason = netns_open(&netns);

	if (reason)
		skip_test(reason);
	return !reason;
}

static bool veth_is_there(const char *left, const char *right, unsigned int mtu)
{
	const char *reason = netns_add_veth(&netns, left, right, mtu);

	if (reason)
		skip_test(reason);
	return !reason;
}

static void test_comes_home(void)
{
	struct stat before, inside, after;

	CU_ASSERT_EQUAL(stat("/proc/thread-self/ns/net", &before), 0);
	if (!open_netns())
		return;
	CU_ASSERT_EQUAL(stat("/proc/thread-self/ns/net", &inside), 0);
	CU_ASSERT_NOT_EQUAL(before.st_ino, inside.st_ino);
	CU_ASSERT_EQUAL(if_nametoindex("lo"), 1);
	netns_close(&netns);
	CU_ASSERT_EQUAL(stat("/proc/thread-self/ns/net", &after), 0);
	CU_ASSERT_EQUAL(before.st_ino, after.st_ino);
}

static void test_sides(void)
{
	if (!open_netns())
		return;
	if (veth_is_there("left", "right", 9000)) {
		CU_ASSERT_NOT_EQUAL(if_nametoindex("left"), 0);
		CU_ASSERT_EQUAL(if_nametoindex("right"), 0);
		CU_ASSERT(netns_enter(&netns, 1));
		CU_ASSERT_EQUAL(if_nametoindex("left"), 0);
		CU_ASSERT_NOT_EQUAL(if_nametoindex("right"), 0);
		CU_ASSERT_EQUAL(netns_run(&netns, 0, "ip link show left | grep -q 'mtu 9000'"), 0);
		CU_ASSERT_EQUAL(netns_run(&netns, 1, "exit 3"), 3);
	}
	netns_close(&netns);
}

static void test_raw_frames(void)
{
	uint8_t sent[9014], got[9100];
	int left, right;

	if (!open_netns())
		return;
	if (veth_is_there("left", "right", 9000)) {
		left = netns_socket_open("left");
		CU_ASSERT(netns_enter(&netns, 1));
		right = netns_socket_open("right");
		CU_ASSERT_FATAL(left >= 0 && right >= 0);
		for (unsigned int i = 0; i < sizeof(sent); i++)
			sent[i] = (uint8_t)(i * 7 + 1);
		memcpy(sent, "\x02\0\0\0\0\x01\x02\0\0\0\0\x02\x88\xb5", 14);
		CU_ASSERT(netns_socket_send(left, sent, sizeof(sent)));
		CU_ASSERT_EQUAL(netns_socket_receive(right, got, sizeof(got), 1000), sizeof(sent));
		CU_ASSERT_EQUAL(memcmp(sent, got, sizeof(sent)), 0);
		/* With a tag, and back. */
		memcpy(sent + 12, "\x81\0\x60\x05\x88\xb5", 6);
		CU_ASSERT(netns_socket_send(right, sent, 80));
		CU_ASSERT_EQUAL(netns_socket_receive(left, got, sizeof(got), 1000), 80);
		CU_ASSERT_EQUAL(memcmp(sent, got, 80), 0);
		CU_ASSERT_EQUAL(netns_socket_receive(left, got, sizeof(got), 10), 0);
		close(left);
		close(right);
	}
	netns_close(&netns);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"comes_home", test_comes_home},
		{"sides", test_sides},
		{"raw_frames", test_raw_frames},
	};

	return RUN_SUITE("netns/netns", tests, argc, argv);
}
