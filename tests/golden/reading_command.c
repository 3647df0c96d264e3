/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* How a run of the lab ends: in sentences that say what happened, and nothing else. */

#include "tests/support/command.h"

#include <stdio.h>
#include <string.h>

/* Sentences are wrapped: as one line. */
#define LAB(scenario)                                                                              \
	"printf '" scenario "' | $V --no-view /dev/stdin >out; s=$?; tr -s '\\n ' ' ' <out; "      \
	"exit $s"

static void what_is_overtaken_is_not_lost(void)
{
	expect(LAB("name: t\nduration: 300us\n"
		   "topology: {kind: pair, link: {reorder: 20%%}}\n"
		   "flows: [{from: host1, to: host2}]\n"),
	       0, "Nothing was lost, but ");
	CU_ASSERT_PTR_NULL(strstr(output, "were lost"));
}

/* A switch finds out what a link corrupted: one packet, not two. */
static void what_is_corrupted_is_counted_once(void)
{
	expect(LAB("name: t\nduration: 1ms\nfabric: infiniband\n"
		   "topology: {kind: dumbbell, endpoints: 2, uplink: {corrupt: 1}}\n"
		   "flows: [{from: host1, to: host2, transport: UD, verb: send, size: 1KiB, "
		   "messages: 1}]\n"),
	       0,
	       "1 packet was lost (dropped by switches), 1 packet was corrupted on "
	       "links");
}

static void pauses_that_nobody_obeys_hold_nobody(void)
{
	expect(LAB("name: t\nduration: 300us\ntopology: {kind: star, endpoints: 2}\n"
		   "flows: [{from: host1, to: host2}]\n"
		   "storms: [{from: host2, start: 10us}]\n"),
	       0, "PFC asked for a pause ");
	CU_ASSERT_PTR_NOT_NULL(strstr(output, "no port had to stand still for it"));
	CU_ASSERT_PTR_NULL(strstr(output, "stood still"));
}

static void a_short_wait_is_not_none(void)
{
	expect(LAB("name: t\nduration: 300us\nfabric: infiniband\n"
		   "topology: {kind: star, endpoints: 3}\n"
		   "workloads: [{name: w, kind: incast, size: 4KiB}]\n"),
	       0, "Workload w");
	CU_ASSERT_PTR_NULL(strstr(output, "for 0 % of the run"));
}

/* A ready scenario, as one line, whatever its exit status. */
#define READY(what) "{ $V " what " --no-view; } | tr -s '\\n ' ' '"

static void losses_have_their_place(void)
{
	expect(READY("incast-lossy -D 5ms"), 0, " packets were lost (all dropped by switches), ");
	expect(READY("lossy-link -D 5ms"), 0, " lost (none dropped by switches), ");
}

static void a_queue_that_stands_still_delays_nothing(void)
{
	expect(READY("pfc-deadlock -D 5ms"), 0, " KB on average, of which nothing leaves.");
	CU_ASSERT_PTR_NULL(strstr(output, "delays each packet"));
}

static void an_empty_queue_delays_nothing(void)
{
	expect(READY("rail-all-reduce"), 0, "Next to nothing waits for that line.");
	CU_ASSERT_PTR_NULL(strstr(output, "delays each packet"));
}

/* What is behind pauses waits longer than its line would take for it. */
static void a_delay_is_by_what_leaves(void)
{
	static const char line[] = "The line from switch1 to switch2 is ";
	static const char holds[] = "The queue of that line holds ";
	double used = 0, queue = 0, delay = 0;
	const char *at;

	expect(READY("pfc-deadlock -D 20ms --set routing=up_down"), 0, "delays each packet");
	at = strstr(output, line);
	CU_ASSERT_PTR_NOT_NULL_FATAL(at);
	CU_ASSERT_EQUAL(sscanf(at + strlen(line), "%lf", &used), 1);
	at = strstr(output, holds);
	CU_ASSERT_PTR_NOT_NULL_FATAL(at);
	CU_ASSERT_EQUAL(sscanf(at + strlen(holds),
			       "%lf KB on average, which delays each packet by %lf us", &queue,
			       &delay),
			2);
	CU_ASSERT_TRUE(used < 95);
	CU_ASSERT_DOUBLE_EQUAL(delay, queue * 8 / 100 / (used / 100), 0.1);
}

static void iterations_are_told_from_the_whole(void)
{
	expect(READY("training-beside-storage"), 0,
	       "; its 6 iterations took on average 1.70ms (they overlap");
	expect(READY("training-beside-storage --set workloads[0].barrier=true"), 0,
	       "; its 6 iterations took on average ");
	CU_ASSERT_PTR_NULL(strstr(output, "overlap"));
	expect(READY("training-beside-storage --set workloads[0].iterations=1"), 0,
	       "Workload training took ");
	CU_ASSERT_PTR_NULL(strstr(output, "iterations took"));
}

static void an_interrupt_ends_it_in_order(void)
{
	static const char *const signals[] = {"INT", "TERM", "HUP"};
	char command[256];

	for (unsigned int i = 0; i < 3; i++) {
		snprintf(command, sizeof(command),
			 "timeout --preserve-status -s %s 1 $V --no-view --set warm_up=0 "
			 "-D 3600s",
			 signals[i]);
		expect(command, 1, "interrupted; no results are written");
	}
}

static const struct test tests[] = {
	{"what_is_overtaken_is_not_lost", what_is_overtaken_is_not_lost},
	{"what_is_corrupted_is_counted_once", what_is_corrupted_is_counted_once},
	{"pauses_that_nobody_obeys_hold_nobody", pauses_that_nobody_obeys_hold_nobody},
	{"a_short_wait_is_not_none", a_short_wait_is_not_none},
	{"losses_have_their_place", losses_have_their_place},
	{"a_queue_that_stands_still_delays_nothing", a_queue_that_stands_still_delays_nothing},
	{"an_empty_queue_delays_nothing", an_empty_queue_delays_nothing},
	{"a_delay_is_by_what_leaves", a_delay_is_by_what_leaves},
	{"iterations_are_told_from_the_whole", iterations_are_told_from_the_whole},
	{"an_interrupt_ends_it_in_order", an_interrupt_ends_it_in_order},
};

int main(int argc, char **argv)
{
	return COMMAND_RUN_SUITE("reading_command", "lab", tests, argc, argv);
}
