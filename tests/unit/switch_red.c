/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* WRED as switches have it: a curve for each colour, averaged lengths, what becomes of frames that
 * are not ECN-capable. */

#include "tests/unit/switch_frames.h"

#include <math.h>

/* Green 1000/9000/10 %, yellow 1000/5000/40 %, red 2000 step. DSCP 24 green, 26 yellow, 28 red. */
static struct vl_switch_config coloured(enum vl_red_point point)
{
	struct vl_switch_config config = four_ports();
	struct vl_red_config *red = &config.port.queues[3].red;

	config.port.classifier.dscp_to_colour[26] = VL_COLOUR_YELLOW;
	config.port.classifier.dscp_to_colour[28] = VL_COLOUR_RED;
	red->point = point;
	red->curves[VL_COLOUR_GREEN] = (struct vl_red_curve){VL_RED_MARK_OR_DROP, 1000, 9000, 0.1};
	red->curves[VL_COLOUR_YELLOW] = (struct vl_red_curve){VL_RED_MARK_OR_DROP, 1000, 5000, 0.4};
	red->curves[VL_COLOUR_RED] = (struct vl_red_curve){VL_RED_MARK_OR_DROP, 2000, 2000, 1};
	return config;
}

/* Of frames that find 4000 bytes: the share that is marked, within five standard deviations of
 * probability. */
static void check_colour(uint8_t dscp, double probability)
{
	struct vl_switch_config config = coloured(VL_RED_AT_ENQUEUE);
	const unsigned int frames = 20000;
	unsigned int marked = 0;
	uint8_t ecn = 0;

	config.seed = dscp;
	start(&config);
	put(0, 1, 4000, 24, ECT, 0);
	for (unsigned int i = 0; i < frames; i++) {
		put(0, 1, 4000, dscp, ECT, 0);
		take(1, 1, &ecn);
		marked += ecn == 3;
	}
	take(1, 1, &ecn);
	marked += ecn == 3;
	CU_ASSERT_DOUBLE_EQUAL((double)marked / frames, probability,
			       5 * sqrt(probability * (1 - probability) / frames) + 1e-9);
	CU_ASSERT_EQUAL(sw->ports[1].queue_counters[3].ecn_marked, marked);
	finish();
}

static void test_colours(void)
{
	check_colour(24, 0.1 * 3000 / 8000);
	check_colour(26, 0.4 * 3000 / 4000);
	check_colour(28, 1);
}

static void test_actions(void)
{
	static const struct {
		enum vl_red_action action;
		uint8_t ecn;
		unsigned int marked, dropped;
	} cases[] = {
		{VL_RED_MARK_OR_DROP, ECT, 1, 0}, {VL_RED_MARK_OR_DROP, 0, 0, 1},
		{VL_RED_MARK_OR_PASS, ECT, 1, 0}, {VL_RED_MARK_OR_PASS, 0, 0, 0},
		{VL_RED_DROP_ALL, ECT, 0, 1},     {VL_RED_DROP_ALL, 0, 0, 1},
		{VL_RED_IGNORE, ECT, 0, 0},       {VL_RED_IGNORE, 0, 0, 0},
	};

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct vl_switch_config config = coloured(VL_RED_AT_ENQUEUE);

		config.port.queues[3].red.curves[VL_COLOUR_RED].action = cases[i].action;
		start(&config);
		put(0, 1, 2001, 24, ECT, 0);
		put(0, 1, 100, 28, cases[i].ecn, 0);
		CU_ASSERT_EQUAL(sw->ports[1].queue_counters[3].ecn_marked, cases[i].marked);
		CU_ASSERT_EQUAL(sw->ports[1].queue_counters[3].drop_red, cases[i].dropped);
		CU_ASSERT_EQUAL(sw->ports[1].queues[3].frames, 2 - cases[i].dropped);
		finish();
	}
}

/* In a switch of cells the length counts cells: 100 bytes take 208. */
static void test_length_in_cells(void)
{
	struct vl_switch_config config = coloured(VL_RED_AT_ENQUEUE);

	config.cell_size = 208;
	start(&config);
	for (unsigned int i = 0; i < 10; i++)
		put(0, 1, 100, 28, ECT, 0); /* the last finds 1872 */
	CU_ASSERT_EQUAL(sw->ports[1].queue_counters[3].ecn_marked, 0);
	put(0, 1, 100, 28, ECT, 0);
	CU_ASSERT_EQUAL(sw->ports[1].queue_counters[3].ecn_marked, 1);
	finish();
}

/* The average in floating point, from what each frame finds: the two agree on which frames are
 * above a step. */
static void test_average(void)
{
	for (uint8_t weight = 1; weight <= 9; weight += 4) {
		struct vl_switch_config config = coloured(VL_RED_AT_ENQUEUE);
		struct vl_red_config *red = &config.port.queues[3].red;
		struct vl_random random = {weight};
		double average = 0;
		unsigned int wrong = 0, marked = 0;
		uint64_t length = 0;

		*red = vl_red_marking(VL_RED_AT_ENQUEUE, 20000, 20000, 1);
		red->weight = weight;
		start(&config);
		for (unsigned int i = 0; i < 20000; i++) {
			uint32_t bytes = 64 + (uint32_t)vl_random_below(&random, 1400);
			uint64_t before = sw->ports[1].queue_counters[3].ecn_marked;
			bool is_marked;

			average += ((double)length - average) / (1 << weight);
			put(0, 1, bytes, DATA, ECT, i);
			length += bytes;
			is_marked = sw->ports[1].queue_counters[3].ecn_marked != before;
			marked += is_marked;
			/* Fixed point is 2^-16 per step below. */
			if (fabs(average - 20000) > 1.5)
				wrong += is_marked != (average > 20000);
			while (vl_random_below(&random, 40000) < length)
				length -= take(1, i, NULL);
		}
		CU_ASSERT_EQUAL(wrong, 0);
		CU_ASSERT_TRUE(marked > 1000 && marked < 19000);
		CU_ASSERT_DOUBLE_EQUAL((double)sw->ports[1].averages[3].scaled / 65536, average, 1);
		finish();
	}
}

/* At dequeue the average is of the lengths left behind. */
static void test_average_at_dequeue(void)
{
	struct vl_switch_config config = coloured(VL_RED_AT_DEQUEUE);
	struct vl_red_config *red = &config.port.queues[3].red;
	uint8_t ecn;

	*red = vl_red_marking(VL_RED_AT_DEQUEUE, 2000, 2000, 1);
	red->weight = 1;
	start(&config);
	for (unsigned int i = 0; i < 5; i++)
		put(0, 1, 1000, DATA, ECT, 0);
	/* Left: 4000, 3000, 2000, 1000. Average: 2000, 2500, 2250, 1625. */
	take(1, 1, &ecn);
	CU_ASSERT_EQUAL(ecn, 2);
	take(1, 1, &ecn);
	CU_ASSERT_EQUAL(ecn, 3);
	take(1, 1, &ecn);
	CU_ASSERT_EQUAL(ecn, 3);
	take(1, 1, &ecn);
	CU_ASSERT_EQUAL(ecn, 2);
	finish();
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"colours", test_colours},
		{"actions", test_actions},
		{"length_in_cells", test_length_in_cells},
		{"average", test_average},
		{"average_at_dequeue", test_average_at_dequeue},
	};

	return RUN_SUITE("switch_red", tests, argc, argv);
}
