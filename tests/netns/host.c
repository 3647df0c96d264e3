/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * `verbline endpoint` as a neighbour of the Linux kernel: the kernel finds it by ARP and neighbour
 * discovery, it finds the kernel, and answers echo requests of all sizes, tagged too, with one
 * worker and with two.
 */

#include "tests/support/netns.h"
#include "tests/support/suite.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/icmp6.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LONGEST 9000

static struct netns netns;

/* Both sides with a veth pair, the kernel's with addresses. False: skipped. */
static bool open_sides(unsigned int mtu)
{
	const char *reason = netns_open(&netns);

	if (reason) {
		skip_test(reason);
		return false;
	}
	reason = netns_add_veth(&netns, "left", "right", mtu);
	if (reason) {
		skip_test(reason);
		netns_close(&netns);
		return false;
	}
	CU_ASSERT_EQUAL(netns_run(&netns, 1,
				  "ip addr add 10.9.0.2/24 dev right && "
				  "ip addr add fd09::2/64 dev right nodad"),
			0);
	return true;
}

static pid_t start_endpoint(char *const more[])
{
	char program[512];
	char *arguments[32] = {program, (char *)"endpoint", (char *)"--port",
			       (char *)"af_packet:left", (char *)"--no-hugepages"};
	unsigned int count = 5;

	snprintf(program, sizeof(program), "%s/apps/verbline", getenv("VERBLINE_BUILD_ROOT"));
	while (*more)
		arguments[count++] = *more++;
	return netns_spawn(&netns, 0, arguments);
}

static void stop_endpoint(pid_t process)
{
	int status = -1;

	CU_ASSERT_EQUAL(kill(process, SIGINT), 0);
	CU_ASSERT_EQUAL(waitpid(process, &status, 0), process);
	CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static uint16_t checksum(const uint8_t *bytes, size_t length)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < length; i++)
		sum += i % 2 ? bytes[i] : (uint32_t)bytes[i] << 8;
	while (sum >> 16)
		sum = (sum >> 16) + (sum & 0xffff);
	return htons((uint16_t)~sum);
}

/* One echo from side 1 with so many bytes behind the ICMP header; true: it came back as it was,
 * within the time. The kernel fills in the checksum of ICMPv6. */
static bool ping_once(const char *address, size_t length, int timeout_ms)
{
	static uint16_t sequence;
	bool ipv6 = strchr(address, ':') != NULL;
	struct sockaddr_in6 to6 = {.sin6_family = AF_INET6};
	struct sockaddr_in to4 = {.sin_family = AF_INET};
	uint8_t request[8 + LONGEST] = {ipv6 ? ICMP6_ECHO_REQUEST : ICMP_ECHO};
	uint8_t reply[LONGEST + 128];
	struct pollfd poll_one = {.events = POLLIN};
	bool is_right = false;
	ssize_t got;

	poll_one.fd = ipv6 ? socket(AF_INET6, SOCK_RAW, IPPROTO_ICMPV6)
			   : socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
	if (poll_one.fd < 0)
		return false;
	inet_pton(AF_INET6, address, &to6.sin6_addr);
	inet_pton(AF_INET, address, &to4.sin_addr);
	request[4] = 0x56;
	sequence++;
	memcpy(request + 6, &sequence, 2);
	for (size_t i = 0; i < length; i++)
		request[8 + i] = (uint8_t)(i * 3 + sequence);
	if (!ipv6) {
		uint16_t sum = checksum(request, 8 + length);

		memcpy(request + 2, &sum, 2);
	}
	sendto(poll_one.fd, request, 8 + length, 0,
	       ipv6 ? (struct sockaddr *)&to6 : (struct sockaddr *)&to4,
	       ipv6 ? sizeof(to6) : sizeof(to4));
	while (!is_right && poll(&poll_one, 1, timeout_ms) == 1) {
		size_t skip = ipv6 ? 0 : sizeof(struct iphdr);

		got = recv(poll_one.fd, reply, sizeof(reply), 0);
		is_right = got == (ssize_t)(skip + 8 + length) &&
			   reply[skip] == (ipv6 ? ICMP6_ECHO_REPLY : ICMP_ECHOREPLY) &&
			   !memcmp(reply + skip + 4, request + 4, 4 + length);
	}
	close(poll_one.fd);
	return is_right;
}

/* Until it answers, for 10 s: it may take its time to start. */
static bool ping(const char *address, size_t length)
{
	for (unsigned int i = 0; i < 40; i++) {
		if (ping_once(address, length, 250))
			return true;
	}
	return false;
}

/* What the kernel has learned of its neighbour. */
static void check_neighbour(const char *address)
{
	CU_ASSERT_EQUAL(netns_run(&netns, 1, "ip neigh show %s | grep -q lladdr", address), 0);
}

static void exchange_echoes(const char *workers)
{
	char *arguments[] = {(char *)"--ip",
			     (char *)"10.9.0.1/24",
			     (char *)"--ip",
			     (char *)"fd09::1/64",
			     (char *)"--workers",
			     (char *)workers,
			     NULL};
	pid_t process;

	if (!open_sides(9000))
		return;
	process = start_endpoint(arguments);
	CU_ASSERT_FATAL(process > 0);
	CU_ASSERT(netns_enter(&netns, 1));
	CU_ASSERT(ping("10.9.0.1", 56));
	CU_ASSERT(ping("fd09::1", 56));
	CU_ASSERT(ping("10.9.0.1", 0));
	CU_ASSERT(ping("fd09::1", 1));
	CU_ASSERT(ping("10.9.0.1", 4240 - 28));
	CU_ASSERT(ping("fd09::1", 4240 - 48));
	check_neighbour("10.9.0.1");
	check_neighbour("fd09::1");
	/* Nobody else answers. */
	CU_ASSERT_FALSE(ping_once("10.9.0.3", 56, 300));
	CU_ASSERT_FALSE(ping_once("fd09::3", 56, 300));
	stop_endpoint(process);
	netns_close(&netns);
}

static void test_echo_one_worker(void)
{
	exchange_echoes("1");
}

static void test_echo_two_workers(void)
{
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
		skip_test("needs 2 CPUs");
		return;
	}
	exchange_echoes("2");
}

static void test_vlan(void)
{
	char *arguments[] = {(char *)"--ip",
			     (char *)"10.8.0.1/24",
			     (char *)"--vlan",
			     (char *)"5",
			     (char *)"--pcp",
			     (char *)"3",
			     NULL};
	pid_t process;

	if (!open_sides(4300))
		return;
	if (netns_run(
		    &netns, 1,
		    "ip link add link right name right.5 type vlan id 5 && ip link set right.5 up "
		    "&& ip addr add 10.8.0.2/24 dev right.5 && ip addr add 10.8.1.2/24 dev "
		    "right")) {
		skip_test("no VLAN interfaces here");
		netns_close(&netns);
		return;
	}
	process = start_endpoint(arguments);
	CU_ASSERT_FATAL(process > 0);
	CU_ASSERT(netns_enter(&netns, 1));
	CU_ASSERT(ping("10.8.0.1", 56));
	CU_ASSERT(ping("10.8.0.1", 4000));
	/* Untagged it is not there. */
	CU_ASSERT_EQUAL(netns_run(&netns, 1,
				  "ip addr del 10.8.0.2/24 dev right.5 && ip addr add 10.8.0.2/24 "
				  "dev right"),
			0);
	CU_ASSERT_FALSE(ping_once("10.8.0.1", 56, 500));
	stop_endpoint(process);
	netns_close(&netns);
}

/* Whether the pcapng has an IPv4 packet of 4042 bytes, cut at 64, that went this way: 1 in, 2 out.
 */
static bool echo_is_captured(const char *path, uint32_t way)
{
	static uint32_t words[1 << 16];
	FILE *file = fopen(path, "rb");
	size_t count = file ? fread(words, sizeof(words[0]), 1 << 16, file) : 0;

	if (file)
		fclose(file);
	/* Blocks: type, length, ..., length again. A packet's captured and original lengths are the
	 * sixth and seventh words, options follow 64 bytes of it. */
	for (size_t at = 0; at + 3 < count && words[at + 1] >= 12; at += words[at + 1] / 4) {
		if (words[at] == 6 && at + 25 < count && words[at + 5] == 64 &&
		    words[at + 6] == 4042 && words[at + 23] == (4u << 16 | 2) &&
		    words[at + 24] == way)
			return true;
	}
	return false;
}

/* What was on the wire is in the capture, both ways. */
static void test_capture(void)
{
	char path[] = "/tmp/verbline-host-XXXXXX.pcapng";
	char *arguments[] = {(char *)"--ip",
			     (char *)"10.9.0.1/24",
			     (char *)"--pcap",
			     path,
			     (char *)"--pcap-snaplen",
			     (char *)"64",
			     NULL};
	int descriptor = mkstemps(path, 7);
	pid_t process;

	CU_ASSERT_FATAL(descriptor >= 0);
	close(descriptor);
	if (open_sides(4300)) {
		process = start_endpoint(arguments);
		CU_ASSERT_FATAL(process > 0);
		CU_ASSERT(netns_enter(&netns, 1));
		CU_ASSERT(ping("10.9.0.1", 4000));
		stop_endpoint(process);
		CU_ASSERT_EQUAL(netns_run(&netns, 1,
					  "%s/apps/verbline inspect %s | grep -q ' 0 damaged'",
					  getenv("VERBLINE_BUILD_ROOT"), path),
				0);
		CU_ASSERT(echo_is_captured(path, 1));
		CU_ASSERT(echo_is_captured(path, 2));
		netns_close(&netns);
	}
	unlink(path);
}

/* A port that is not there, and an address that is missing: said in one line, exit status as the
 * rules are. */
static void test_refusals(void)
{
	static const struct {
		char *arguments[4];
		int status;
	} cases[] = {
		{{NULL}, 2},
		{{(char *)"--ip", (char *)"10.0.0.1", NULL}, 2},
		{{(char *)"--ip", (char *)"10.0.0.1/24", (char *)"--workers=65", NULL}, 2},
	};
	int status;

	if (!open_sides(1500))
		return;
	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		pid_t process = start_endpoint(cases[i].arguments);

		CU_ASSERT_EQUAL(waitpid(process, &status, 0), process);
		CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == cases[i].status);
	}
	netns_close(&netns);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"echo_one_worker", test_echo_one_worker},
		{"echo_two_workers", test_echo_two_workers},
		{"vlan", test_vlan},
		{"capture", test_capture},
		{"refusals", test_refusals},
	};

	return RUN_SUITE("netns/host", tests, argc, argv);
}
