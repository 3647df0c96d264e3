/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The PFC watchdog: polls every 200 us, detection after 400 us, restoration after 1 ms. Port 1
 * leads to a peer that storms at priority 3. A full pause at 100 Gb/s lasts 335.5 us. */

#include "tests/unit/switch_frames.h"

#define US UINT64_C(1000)

static struct vl_switch_config watched(enum vl_watchdog_action action)
{
	struct vl_switch_config config = four_ports();

	config.port.watchdog = (struct vl_watchdog_config){
		.action = action,
		.priorities = 1 << 3 | 1 << 4,
		.detection_time = 400 * US,
		.restoration_time = 1000 * US,
		.poll_interval = 200 * US,
	};
	return config;
}

/* Lets port 1 do what it has to from now to until; returns the frames that left. */
static unsigned int run(uint64_t now, uint64_t until)
{
	unsigned int frames = 0;

	while ((now = vl_switch_next_deadline(sw, 1, now)) <= until) {
		if (take(1, now, NULL))
			frames++;
		else
			now++;
	}
	return frames;
}

/* A pause every 100 us from begin on, for duration; the last is an XON. Returns the frames that
 * left meanwhile. */
static unsigned int storm(uint64_t begin, uint64_t duration)
{
	unsigned int frames = 0;
	uint64_t now = begin;

	for (; now < begin + duration; now += 100 * US) {
		uint64_t next = now + 100 * US;

		receive_pfc(1, 3, UINT16_MAX, now);
		frames += run(now, (next < begin + duration ? next : begin + duration) - 1);
	}
	receive_pfc(1, 3, 0, begin + duration);
	return frames;
}

static uint64_t detected(void)
{
	return sw->ports[1].watchdog.detected[3];
}

/* Whatever the phase against the polls: shorter than detection never triggers, longer than
 * detection and a poll always does. */
static void test_when_it_triggers(void)
{
	struct vl_switch_config config = watched(VL_WATCHDOG_DROP);

	for (uint64_t phase = 1; phase < 400; phase += 33) {
		start(&config);
		storm(phase * US, 399 * US);
		run((phase + 399) * US, 5000 * US);
		CU_ASSERT_EQUAL(detected(), 0);
		storm(5000 * US + phase * US, 601 * US);
		CU_ASSERT_EQUAL(detected(), 1);
		run(5000 * US + (phase + 601) * US, 20000 * US);
		CU_ASSERT_EQUAL(sw->ports[1].watchdog.restored[3], 1);
		/* Nothing to watch, nothing to do. */
		CU_ASSERT_EQUAL(vl_switch_next_deadline(sw, 1, 20000 * US), UINT64_MAX);
		finish();
	}
}

/* Polls are at whole multiples of the interval, whatever it is and however late it has become. */
static void test_polls_are_at_multiples(void)
{
	static const uint64_t intervals[] = {
		1, 2, 3, 7, 1000, 200000, UINT64_C(999999937), UINT64_C(1) << 40};

	for (size_t i = 0; i < sizeof(intervals) / sizeof(intervals[0]); i++) {
		struct vl_watchdog_config config = watched(VL_WATCHDOG_DROP).port.watchdog;
		struct vl_random random = {i};
		struct vl_watchdog_rule rule;
		unsigned int wrong = 0;

		config.poll_interval = intervals[i];
		vl_watchdog_rule_init(&rule, &config);
		for (unsigned int n = 0; n < 20000; n++) {
			uint64_t base = vl_random_next(&random) >> (1 + n % 63);
			uint64_t now = base - base % (n & 1 ? intervals[i] : 1);
			struct vl_watchdog watchdog = {0};

			vl_watchdog_set_paused(&watchdog, &rule, 1 << 3, now);
			wrong += vl_watchdog_next_poll(&watchdog) !=
				 (now / intervals[i] + 1) * intervals[i];
		}
		CU_ASSERT_EQUAL(wrong, 0);
	}
}

/* Pauses with gaps are no storm: 335 us of every 400. */
static void test_gaps(void)
{
	struct vl_switch_config config = watched(VL_WATCHDOG_DROP);

	start(&config);
	for (uint64_t now = 0; now < 10000 * US; now += 400 * US) {
		receive_pfc(1, 3, UINT16_MAX, now);
		run(now, now + 400 * US - 1);
	}
	CU_ASSERT_EQUAL(detected(), 0);
	finish();
}

static void test_drop(void)
{
	struct vl_switch_config config = watched(VL_WATCHDOG_DROP);

	start(&config);
	for (int i = 0; i < 3; i++)
		put(0, 1, 1000, DATA, ECT, 0);
	put(0, 1, 100, 8, ECT, 0);
	receive_pfc(1, 3, UINT16_MAX, 10 * US);
	CU_ASSERT_EQUAL(run(10 * US, 100 * US), 1); /* priority 1 */
	CU_ASSERT_EQUAL(storm(110 * US, 489 * US), 0);
	CU_ASSERT_EQUAL(sw->ports[1].queues[3].frames, 3);
	/* Detected at the poll of 600 us, had it not ended at 599. */
	CU_ASSERT_EQUAL(run(599 * US, 700 * US), 3);
	finish();

	/* Detected at that poll: the three are gone then, their memory is free. */
	start(&config);
	for (int i = 0; i < 3; i++)
		put(0, 1, 1000, DATA, ECT, 0);
	CU_ASSERT_EQUAL(storm(10 * US, 800 * US), 0);
	CU_ASSERT_EQUAL(detected(), 1);
	CU_ASSERT_EQUAL(sw->ports[1].queues[3].frames, 0);
	CU_ASSERT_EQUAL(sw->buffer.used, 0);
	CU_ASSERT_EQUAL(sw->ports[1].queue_counters[3].drop_watchdog, 3);
	/* To the queue and from the port in the same priority: dropped. All else goes on. */
	CU_ASSERT_EQUAL(put(0, 1, 1000, DATA, ECT, 900 * US), VL_SWITCH_NO_PORT);
	CU_ASSERT_EQUAL(sw->ports[1].queue_counters[3].drop_watchdog, 4);
	CU_ASSERT_EQUAL(put(1, 0, 1000, DATA, ECT, 900 * US), VL_SWITCH_NO_PORT);
	CU_ASSERT_EQUAL(sw->ports[1].counters.drop_watchdog, 1);
	CU_ASSERT_EQUAL(put(0, 2, 1000, DATA, ECT, 900 * US), 2);
	CU_ASSERT_EQUAL(put(1, 0, 1000, 8, ECT, 900 * US), 0);
	CU_ASSERT_EQUAL(put(0, 1, 1000, 8, ECT, 900 * US), 1);
	CU_ASSERT_EQUAL(run(900 * US, 1000 * US), 1);
	/* The last pause came at 710 us: restored at the poll of 1800. */
	run(1000 * US, 1799 * US);
	CU_ASSERT_EQUAL(sw->ports[1].watchdog.restored[3], 0);
	run(1799 * US, 1800 * US);
	CU_ASSERT_EQUAL(sw->ports[1].watchdog.restored[3], 1);
	CU_ASSERT_EQUAL(put(0, 1, 1000, DATA, ECT, 1800 * US), 1);
	CU_ASSERT_EQUAL(put(1, 0, 1000, DATA, ECT, 1800 * US), 0);
	CU_ASSERT_EQUAL(run(1800 * US, 1900 * US), 1);
	/* And it obeys again. */
	put(0, 1, 1000, DATA, ECT, 1900 * US);
	receive_pfc(1, 3, 1000, 1900 * US);
	CU_ASSERT_EQUAL(run(1900 * US, 1905 * US), 0);
	CU_ASSERT_EQUAL(run(1905 * US, 1906 * US), 1);
	finish();
}

static void test_forward(void)
{
	struct vl_switch_config config = watched(VL_WATCHDOG_FORWARD);

	start(&config);
	for (int i = 0; i < 3; i++)
		put(0, 1, 1000, DATA, ECT, 0);
	CU_ASSERT_EQUAL(storm(10 * US, 3000 * US), 3); /* from 600 us on */
	CU_ASSERT_EQUAL(detected(), 1);
	CU_ASSERT_EQUAL(put(0, 1, 1000, DATA, ECT, 3100 * US), 1);
	CU_ASSERT_EQUAL(put(1, 0, 1000, DATA, ECT, 3100 * US), 0);
	CU_ASSERT_EQUAL(run(3100 * US, 3101 * US), 1);
	CU_ASSERT_EQUAL(sw->ports[1].queue_counters[3].drop_watchdog, 0);
	/* Only until it was detected did it stand still: 10 to 600 us. */
	CU_ASSERT_EQUAL(sw->ports[1].pause.paused_time[3], 590 * US);
	CU_ASSERT_EQUAL(sw->ports[1].pause.frames[3], 30);
	finish();
}

/* Priority 5 is not watched: its storm lasts. */
static void test_unwatched(void)
{
	struct vl_switch_config config = watched(VL_WATCHDOG_DROP);

	start(&config);
	put(0, 1, 1000, 40, ECT, 0);
	for (uint64_t now = 0; now < 5000 * US; now += 100 * US) {
		receive_pfc(1, 5, UINT16_MAX, now);
		CU_ASSERT_EQUAL(run(now, now + 100 * US - 1), 0);
	}
	CU_ASSERT_EQUAL(sw->ports[1].watchdog.detected[5], 0);
	CU_ASSERT_EQUAL(sw->ports[1].queues[5].frames, 1);
	finish();
}

/* PFC priority 3 stops queue 6 and is sent for group 2; priority 4 is not enabled. */
static void test_priorities_by_map(void)
{
	struct vl_switch_config config = watched(VL_WATCHDOG_DROP);

	config.port.pfc.enabled = 1 << 3;
	config.port.pfc.priority_to_queue[3] = 6;
	config.port.pfc.priority_to_group[3] = 2;
	vl_switch_config_lossless(&config.port, 2, 2000, 1000, 5000);
	vl_switch_config_lossless(&config.port, 3, 2000, 1000, 5000);
	start(&config);
	/* Group 3 has no priority left to pause. */
	put(0, 1, 2000, DATA, ECT, 0);
	CU_ASSERT_EQUAL(vl_switch_next_pfc_port(sw), VL_SWITCH_NO_PORT);
	CU_ASSERT_EQUAL(sw->ports[0].group_counters[3].xoff, 1);
	put(0, 1, 2000, 16, ECT, 0);
	CU_ASSERT_EQUAL(pause_sent(0, 3, 0), UINT16_MAX);
	CU_ASSERT_EQUAL(take(1, 1, NULL), 2000);
	CU_ASSERT_EQUAL(take(1, 1, NULL), 2000);
	receive_pfc(1, 4, UINT16_MAX, 2);
	put(0, 1, 200, 32, ECT, 2);
	CU_ASSERT_EQUAL(take(1, 3, NULL), 200);
	put(0, 1, 100, CNP, ECT, 4);
	receive_pfc(1, 3, UINT16_MAX, 4);
	CU_ASSERT_EQUAL(take(1, 5, NULL), 0);
	for (uint64_t now = 100 * US; now < 800 * US; now += 100 * US) {
		receive_pfc(1, 3, UINT16_MAX, now);
		run(now, now + 100 * US - 1);
	}
	CU_ASSERT_EQUAL(sw->ports[1].watchdog.detected[6], 1);
	CU_ASSERT_EQUAL(sw->ports[1].queue_counters[6].drop_watchdog, 1);
	CU_ASSERT_EQUAL(sw->ports[1].dropping_groups, 1 << 2);
	finish();
}

static void test_refuses_bad_configurations(void)
{
	struct vl_switch_config config = watched(VL_WATCHDOG_DROP);

	CU_ASSERT_PTR_NULL(vl_switch_config_error(&config));
	config.port.watchdog.poll_interval = 0;
	CU_ASSERT_STRING_EQUAL(vl_switch_config_error(&config),
			       "the watchdog's poll interval is 0");
	config.port.watchdog.action = VL_WATCHDOG_OFF;
	CU_ASSERT_PTR_NULL(vl_switch_config_error(&config));
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"when_it_triggers", test_when_it_triggers},
		{"polls_are_at_multiples", test_polls_are_at_multiples},
		{"gaps", test_gaps},
		{"drop", test_drop},
		{"forward", test_forward},
		{"unwatched", test_unwatched},
		{"priorities_by_map", test_priorities_by_map},
		{"refuses_bad_configurations", test_refuses_bad_configurations},
	};

	return RUN_SUITE("switch_watchdog", tests, argc, argv);
}
