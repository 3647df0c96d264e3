/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The sentences that a run of the lab ends in say what happened, and nothing else. */

#include "tests/support/command.h"

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
	       "1 packet was lost (1 of them dropped by switches), 1 packet was corrupted on "
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

static const struct test tests[] = {
	{"what_is_overtaken_is_not_lost", what_is_overtaken_is_not_lost},
	{"what_is_corrupted_is_counted_once", what_is_corrupted_is_counted_once},
	{"pauses_that_nobody_obeys_hold_nobody", pauses_that_nobody_obeys_hold_nobody},
	{"a_short_wait_is_not_none", a_short_wait_is_not_none},
};

int main(int argc, char **argv)
{
	return COMMAND_RUN_SUITE("reading_command", "lab", tests, argc, argv);
}
