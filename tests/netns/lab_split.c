/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * A ring of InfiniBand switches run by two processes, each in a namespace of its own as on a
 * machine of its own, joined by a veth pair: the credit loop that closes through both, and what
 * others send on the same cable.
 */

#include "dataplane/infiniband/carrier.h"
#include "tests/support/netns.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char scenario[] =
	"name: ring\n"
	"fabric: infiniband\n"
	"duration: 3s\n"
	"warm_up: 100ms\n"
	"sample_interval: 50ms\n"
	"topology:\n"
	"  kind: ring\n"
	"  switches: 5\n"
	"  endpoints: 5\n"
	"  link: {rate: 1Gb/s, delay: 1us}\n"
	"  uplink: {rate: 1Gb/s, delay: 1us}\n"
	"infiniband: {buffer: 8KiB}\n"
	"flows:\n"
	"  - {name: a, from: host1, to: host3, size: 4KiB, depth: 8, timeout: 16}\n"
	"  - {name: b, from: host2, to: host4, size: 4KiB, depth: 8, timeout: 16}\n"
	"  - {name: c, from: host3, to: host5, size: 4KiB, depth: 8, timeout: 16}\n"
	"  - {name: d, from: host4, to: host1, size: 4KiB, depth: 8, timeout: 16}\n"
	"  - {name: e, from: host5, to: host2, size: 4KiB, depth: 8, timeout: 16}\n";

static struct netns netns;
static char directory[] = "/tmp/verbline-split-XXXXXX";

static pid_t start_part(unsigned int side, const char *routing)
{
	static const char *const nodes[] = {"switch[1-3],host[1-3]", "switch[45],host[45]"};
	char command[1024];
	char *argv[] = {(char *)"/bin/sh", (char *)"-c", command, NULL};

	snprintf(command, sizeof(command),
		 "cd %s && exec timeout 60 %s/apps/verbline lab ring.yaml --live --no-view "
		 "--set infiniband.routing=%s --nodes '%s' --port af_packet:%s --wait 20s "
		 "> %u.txt 2>&1",
		 directory, getenv("VERBLINE_BUILD_ROOT"), routing, nodes[side],
		 side ? "right" : "left", side);
	return netns_spawn(&netns, side, argv);
}

static int wait_for_end(pid_t process)
{
	int status = -1;

	waitpid(process, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Whether a part's output has what matches. */
static bool has(unsigned int side, const char *pattern)
{
	char command[512];

	snprintf(command, sizeof(command), "tr '\\n' ' ' < %s/%u.txt | grep -q '%s'", directory,
		 side, pattern);
	return !system(command);
}

static bool says(unsigned int side, const char *pattern)
{
	char command[512];

	if (has(side, pattern))
		return true;
	printf("    part %u does not say: %s\n", side, pattern);
	snprintf(command, sizeof(command), "tail -n 40 %s/%u.txt", directory, side);
	return system(command) && false;
}

/* By min-hop the circle closes through the two and both say so; by up-down there is none. */
static void test_credit_loop(void)
{
	pid_t parts[2];

	for (unsigned int side = 0; side < 2; side++)
		parts[side] = start_part(side, "min_hop");
	for (unsigned int side = 0; side < 2; side++) {
		CU_ASSERT_EQUAL(wait_for_end(parts[side]), 1);
		CU_ASSERT(says(side, "DEADLOCK: since"));
		CU_ASSERT(says(side, side ? "2 of these 5 links are seen" : "3 of these 5 links"));
	}
	for (unsigned int side = 0; side < 2; side++)
		parts[side] = start_part(side, "up_down");
	for (unsigned int side = 0; side < 2; side++) {
		CU_ASSERT_EQUAL(wait_for_end(parts[side]), 0);
		CU_ASSERT(says(side, "Counted over the whole run"));
		CU_ASSERT_FALSE(has(side, "DEADLOCK"));
	}
}

/* ---- Others on the cable ---------------------------------------------------------------- */

/* Numbers of the two cables that leave, and one that does not. */
static uint16_t some_link(unsigned int n)
{
	return (uint16_t)(n % 11);
}

static const uint8_t forger[6] = {2, 0, 0, 0, 0, 9};

static void forge(int socket, unsigned int n)
{
	static const uint8_t everybody[6] = {255, 255, 255, 255, 255, 255};
	const struct vl_carrier_hello hello = {.digest = n, .answers = n};
	uint8_t frame[200] = {0};
	struct vl_carrier carrier;
	bool is_hello = n % 5 == 0;

	vl_carrier_init(&carrier, forger, everybody, some_link(n), 0x1000 + n);
	carrier.next_sent = n * 7919;
	vl_carrier_write(&carrier, frame,
			 is_hello ? VL_CARRIER_HELLO
			 : n % 2  ? VL_CARRIER_PACKET
				  : VL_CARRIER_LINK_PACKET,
			 is_hello ? VL_CARRIER_HELLO_LENGTH
			 : n % 2  ? 100
				  : 6);
	if (is_hello)
		vl_carrier_write_hello(frame + VL_CARRIER_HEADER_LENGTH, &hello);
	if (n % 7 == 0)
		frame[14] = 1; /* version */
	if (n % 13 == 0)
		frame[26] = 0xff; /* longer than it is */
	if (n % 17 == 0)
		frame[12] = 8; /* IP */
	netns_socket_send(socket, frame, n % 3 ? 128 : 60);
}

/* Sends to both sides whatever comes to mind, and again what was seen, until a process ends. */
static int attack(pid_t first)
{
	const struct timespec pause = {.tv_nsec = 200000};
	uint8_t seen[4500];
	int sockets[2], status;

	for (unsigned int side = 0; side < 2; side++) {
		CU_ASSERT_FATAL(netns_enter(&netns, side));
		sockets[side] = netns_socket_open(side ? "right" : "left");
		CU_ASSERT_FATAL(sockets[side] >= 0);
	}
	CU_ASSERT(netns_enter(&netns, 0));
	for (unsigned int n = 1; !waitpid(first, &status, WNOHANG); n++) {
		/* A burst now and then. */
		for (unsigned int i = 0; i < (n % 100 ? 2u : 200u); i++)
			forge(sockets[i % 2], n * 200 + i);
		for (unsigned int i = 0; i < 400; i++) {
			unsigned int side = i % 2;
			size_t length = netns_socket_receive(sockets[side], seen, sizeof(seen), 0);

			if (length < 14 || !memcmp(seen + 6, forger, sizeof(forger)))
				continue;
			/* To its sender, and once more to whom it was for. */
			netns_socket_send(sockets[side], seen, length);
			netns_socket_send(sockets[!side], seen, length);
		}
		nanosleep(&pause, NULL);
	}
	close(sockets[0]);
	close(sockets[1]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Both go on as if they were alone, and every frame of others is counted by what it was. */
static void test_attacks(void)
{
	pid_t parts[2];

	for (unsigned int side = 0; side < 2; side++)
		parts[side] = start_part(side, "up_down");
	CU_ASSERT_EQUAL(attack(parts[0]), 0);
	CU_ASSERT_EQUAL(wait_for_end(parts[1]), 0);
	CU_ASSERT(has(0, "late [1-9]") || has(1, "late [1-9]"));
	for (unsigned int side = 0; side < 2; side++) {
		CU_ASSERT(says(side, "of strangers [1-9]"));
		CU_ASSERT(says(side, "malformed [1-9]"));
		CU_ASSERT(says(side, "of another version [1-9]"));
		CU_ASSERT(says(side, "dropped [1-9][0-9]* frames of others"));
		CU_ASSERT(says(side, "and [1-9][0-9]* of links that do not end here"));
		CU_ASSERT(says(side, "no free buffer 0 times"));
	}
}

static bool prepare(void)
{
	char path[128];
	const char *reason;
	FILE *file;

	if (!mkdtemp(directory))
		return false;
	snprintf(path, sizeof(path), "%s/ring.yaml", directory);
	file = fopen(path, "w");
	if (!file || fputs(scenario, file) < 0 || fclose(file))
		return false;
	reason = netns_add_veth(&netns, "left", "right", 9000);
	if (reason)
		printf("netns/lab_split: skipped: %s\n", reason);
	return !reason;
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"credit_loop", test_credit_loop},
		{"attacks", test_attacks},
	};
	const char *reason = getenv("VERBLINE_BUILD_ROOT") ? netns_open(&netns)
							   : "VERBLINE_BUILD_ROOT is not set";
	char command[128];
	int result = 77;

	if (reason) {
		printf("netns/lab_split: skipped: %s\n", reason);
		return 77;
	}
	if (prepare())
		result = RUN_SUITE("netns/lab_split", tests, argc, argv);
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	if (system(command))
		result = 1;
	netns_close(&netns);
	return result;
}
