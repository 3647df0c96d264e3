/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* verbline probe on a real switch that knows no PFC: a bridge of the kernel, in a namespace of its
 * own, between two AF_PACKET ports. */

#include "tests/support/netns.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct netns netns;

/* A command of the program between the ends of the two cables; $? and what it said are checked. */
static int probe(const char *arguments, int status, const char *text)
{
	return netns_run(&netns, 0,
			 "%s/apps/verbline probe %s --port af_packet:sender --port "
			 "af_packet:receiver > /tmp/probe.%d 2>&1; test $? = %d && grep -q '%s' "
			 "/tmp/probe.%d || { cat /tmp/probe.%d; false; }",
			 getenv("VERBLINE_BUILD_ROOT"), arguments, getpid(), status, text, getpid(),
			 getpid());
}

static bool make_bridge(void)
{
	return !netns_run(&netns, 0,
			  "ip link add bridge type bridge mcast_snooping 0 && "
			  "ip link add sender type veth peer name left && "
			  "ip link add receiver type veth peer name right && "
			  "ip link set left master bridge up && "
			  "ip link set right master bridge up && "
			  "ip link set bridge up && ip link set sender up && "
			  "ip link set receiver up");
}

/* Between two cables without the bridge nothing comes through. */
static void test_bridge(void)
{
	if (!getenv("VERBLINE_BUILD_ROOT")) {
		skip_test("VERBLINE_BUILD_ROOT is not set");
		return;
	}
	if (!make_bridge()) {
		skip_test("no bridge");
		return;
	}
	CU_ASSERT_EQUAL(probe("xoff --rate 1Gb/s", 1,
			      "the switch does not obey PFC of priority 3 at the receiver.s port"),
			0);
	CU_ASSERT_EQUAL(probe("ecn --rate 1Gb/s --json -", 1, "does not obey PFC"), 0);
	CU_ASSERT_EQUAL(probe("ecn --rate 1Gb/s --ip 10.0.0.1", 2, "give two, source and then"), 0);
	CU_ASSERT_EQUAL(netns_run(&netns, 0, "ip link set right down"), 0);
	CU_ASSERT_EQUAL(
		netns_run(&netns, 0, "ip link set left nomaster && ip link set right nomaster up"),
		0);
	CU_ASSERT_EQUAL(probe("drain --rate 1Gb/s", 1, "nothing that the sender sends comes"), 0);
	CU_ASSERT_EQUAL(netns_run(&netns, 0,
				  "rm -f /tmp/probe.%d; ip link del sender; ip link del receiver; "
				  "ip link del bridge",
				  getpid()),
			0);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"bridge", test_bridge},
	};
	const char *reason = netns_open(&netns);
	int result;

	if (reason) {
		printf("netns/probe: skipped: %s\n", reason);
		return 77;
	}
	result = RUN_SUITE("netns/probe", tests, argc, argv);
	netns_close(&netns);
	return result;
}
