/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What flow-control packets tell of a link's credits. */

#include "apps/inspect/link.h"
#include "tests/support/suite.h"

static struct inspect_link observed;

static void say(unsigned int side, uint8_t operation, uint8_t lane, uint16_t sent, uint16_t limit)
{
	const struct vl_flow_control_packet packet = {operation, lane, sent, limit};
	uint8_t bytes[VL_FLOW_CONTROL_LENGTH];
	uint32_t expected, found;

	vl_flow_control_write(bytes, &packet);
	CU_ASSERT_TRUE(inspect_link_add(&observed, side, bytes, sizeof(bytes), &expected, &found));
}

static void test_credits(void)
{
	const struct inspect_lane *a = &observed.lanes[0][3], *b = &observed.lanes[1][3];

	observed = (struct inspect_link){0};
	say(0, VL_FLOW_CONTROL_INIT, 3, 4000, 100);
	CU_ASSERT_FALSE(a->has_credits);
	say(1, VL_FLOW_CONTROL_INIT, 3, 0, 4060);
	CU_ASSERT_TRUE(b->has_credits);
	CU_ASSERT_EQUAL(b->least_credits, 100);
	say(0, VL_FLOW_CONTROL_NORMAL, 3, 4000, 100);
	CU_ASSERT_EQUAL(a->least_credits, 60);
	/* Over the end of the counters. */
	say(1, VL_FLOW_CONTROL_NORMAL, 3, 0, 34);
	say(0, VL_FLOW_CONTROL_NORMAL, 3, 34, 100);
	CU_ASSERT_EQUAL(a->least_credits, 0);
	CU_ASSERT_EQUAL(a->without_credits, 1);
	/* Heard before the limit that allowed it. */
	say(0, VL_FLOW_CONTROL_NORMAL, 3, 40, 100);
	CU_ASSERT_EQUAL(a->without_credits, 2);
	CU_ASSERT_EQUAL(a->blocks, 136);
	CU_ASSERT_EQUAL(a->packets, 4);
	CU_ASSERT_EQUAL(a->init_packets, 1);
	CU_ASSERT_EQUAL(b->packets, 2);
	CU_ASSERT_EQUAL(b->blocks, 0);
	CU_ASSERT_EQUAL(observed.lpcrc_right, 6);
}

static void test_damage(void)
{
	uint8_t bytes[VL_FLOW_CONTROL_LENGTH] = {0x01, 0x23, 0x14, 0x56, 0xa7, 0xa8};
	uint32_t expected = 0, found = 0;

	observed = (struct inspect_link){0};
	CU_ASSERT_TRUE(inspect_link_add(&observed, 3, bytes, sizeof(bytes), &expected, &found));
	CU_ASSERT_EQUAL(observed.lanes[1][1].packets, 1);
	bytes[5] = 0xa9;
	CU_ASSERT_FALSE(inspect_link_add(&observed, 3, bytes, sizeof(bytes), &expected, &found));
	CU_ASSERT_EQUAL(expected, 0xa8a7);
	CU_ASSERT_EQUAL(found, 0xa9a7);
	CU_ASSERT_TRUE(inspect_link_add(&observed, 0, bytes, 5, &expected, &found));
	say(0, VL_FLOW_CONTROL_NORMAL, 15, 0, 0);
	say(0, 2, 0, 0, 0);
	CU_ASSERT_EQUAL(observed.packets, 5);
	CU_ASSERT_EQUAL(observed.lpcrc_right, 3);
	CU_ASSERT_EQUAL(observed.lpcrc_wrong, 1);
	CU_ASSERT_EQUAL(observed.reserved, 3);
}

static const struct test tests[] = {
	{"credits", test_credits},
	{"damage", test_damage},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("inspect_link", tests, argc, argv);
}
