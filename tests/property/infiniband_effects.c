/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What InfiniBand fabrics are known to do, and whether the emulation does it. */

#include <math.h>
#include <stdio.h>

#include "tests/support/infiniband.h"
#include "tests/support/suite.h"

#define MS UINT64_C(1000000)

/* A flow alone on two hosts and a switch has the line: 4096 of each 4138 + 2 bytes. */
static void test_line_rate(void)
{
	const struct vl_flow_config flow = fabric_flow();
	struct fabric fabric;
	double rate;

	fabric_init(&fabric);
	fabric_add_switch(&fabric);
	fabric_add_host(&fabric, 0);
	fabric_add_host(&fabric, 0);
	fabric_manage(&fabric, VL_SUBNET_MIN_HOP);
	fabric_start(&fabric, 0, 1, &flow);
	vl_network_run_until(fabric.network, MS);
	rate = fabric_rate(&fabric, 0, 2 * MS);
	printf("%.3f Gb/s ", rate / 1e9);
	fabric_destroy(&fabric);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"a flow alone has the line", test_line_rate},
	};

	return RUN_SUITE("InfiniBand effects", tests, argc, argv);
}
