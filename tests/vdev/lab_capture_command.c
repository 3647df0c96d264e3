/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* `verbline lab --live --pcap`: frames of running workers, written beside them. */

#include "tests/support/command.h"
#include "tests/vdev/support.h"

#define LIVE "$V lab --live --no-view --duration 100ms --pcap "

static bool has_cpus(void)
{
	if (test_cpu_count() < 2)
		skip_test("needs 2 CPUs");
	return test_cpu_count() >= 2;
}

static void frames_are_captured_whole(void)
{
	if (!has_cpus())
		return;
	/* The lab's own verdict may be spoiled by what else runs here. */
	run(LIVE "all.pcapng");
	expect("$V inspect all.pcapng", 0, " 0 foreign, 0 damaged");
	expect("$V inspect all.pcapng", 0, " right, 0 wrong");
	expect("$V inspect all.pcapng", 0, "RC RDMA WRITE");
}

static void a_part_can_be_chosen(void)
{
	if (!has_cpus())
		return;
	run(LIVE "some.pcap --pcap-count 100 --pcap-from 1ms");
	expect("$V inspect some.pcap", 0, "pcap with nanoseconds, 100 packets");
	expect("$V inspect some.pcap", 0, " 0 damaged");
}

static void a_full_device_ends_the_run(void)
{
	if (!has_cpus())
		return;
	expect(LIVE "/dev/full", 1, "No space left on device");
}

static const struct test tests[] = {
	{"frames_are_captured_whole", frames_are_captured_whole},
	{"a_part_can_be_chosen", a_part_can_be_chosen},
	{"a_full_device_ends_the_run", a_full_device_ends_the_run},
};

int main(int argc, char **argv)
{
	return COMMAND_RUN_SUITE("vdev/lab_capture_command", NULL, tests, argc, argv);
}
