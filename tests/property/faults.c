/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Random event lists on a connection of our own stack: it ends as it should, the same seed does the
 * same, and, as nothing is wrong with the peer, no verdict on it is a failure, whatever we do to
 * the packets on our side.
 */

#include "apps/verdict/verdict.h"
#include "tests/support/fault_bench.h"
#include "transport/random.h"

#include <string.h>

#define CASES       400u
#define MOST_EVENTS 5u
#define SECOND      UINT64_C(1000000000)

static struct vl_verdict *verdict;

static void see(void *context, enum vl_direction direction, const struct vl_frame *frame,
		uint64_t now, const char *comment)
{
	(void)context;
	vl_verdict_see(verdict, direction, frame, now, comment);
}

static const char *const classes[] = {"",         "request", "data", "ack",
				      "response", "nak",     "rnr",  "cnp",
				      "write",    "send",    "read", "read_response"};

static void random_action(struct vl_random *random, struct vl_fault_action *action)
{
	static const enum vl_fault_action_kind kinds[] = {
		VL_FAULT_DROP,    VL_FAULT_DUPLICATE, VL_FAULT_REORDER,       VL_FAULT_DELAY,
		VL_FAULT_MARK_CE, VL_FAULT_IGNORE_CE, VL_FAULT_CORRUPT,       VL_FAULT_TRUNCATE,
		VL_FAULT_NAK,     VL_FAULT_RNR,       VL_FAULT_SUPPRESS_ACKS, VL_FAULT_DELAY_ACKS,
		VL_FAULT_CNP,     VL_FAULT_PAUSE,     VL_FAULT_PASS,
	};

	*action = (struct vl_fault_action){
		.kind = kinds[vl_random_below(random, sizeof(kinds) / sizeof(kinds[0]))],
		.copies = 1 + (uint32_t)vl_random_below(random, 3),
		.by = 1 + (uint32_t)vl_random_below(random, 8),
		.delay = vl_random_below(random, 30000),
		.duration = 1 + vl_random_below(random, 300000),
		.part = (enum vl_fault_part)vl_random_below(random, 3),
		.bit = VL_FAULT_ANY_BIT,
		.bytes = 1 + (uint32_t)vl_random_below(random, 100),
		.syndrome = 0x60,
		.priorities = 1 << 3,
		.quanta = 65535,
	};
	if (action->kind == VL_FAULT_RNR)
		action->syndrome = (uint8_t)(0x20 | (1 + vl_random_below(random, 8)));
}

static void random_events(struct vl_random *random, struct vl_fault_event *events,
			  unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		events[i] = bench_event(
			"random", (uint8_t)(1 + vl_random_below(random, 3)),
			classes[vl_random_below(random, sizeof(classes) / sizeof(classes[0]))],
			VL_FAULT_PASS);
		random_action(random, &events[i].action);
		if (vl_random_below(random, 2))
			events[i].match.every = 1 + vl_random_below(random, 40);
		else
			events[i].match.probability = 0.2 * vl_random_unit(random);
		events[i].match.limit = 1 + vl_random_below(random, 30);
		if (!vl_random_below(random, 4))
			events[i].match.psn = (struct vl_fault_range){
				vl_random_below(random, 50), 50 + vl_random_below(random, 50)};
	}
}

struct outcome {
	uint64_t frames, completed, digest;
	enum ibv_wc_status status;
	bool finished;
};

/* failed: room for the name and the evidence of a verdict that is one. */
static struct outcome run_case(uint64_t seed, char failed[512])
{
	static const enum vl_flow_verb verbs[] = {VL_FLOW_WRITE, VL_FLOW_SEND, VL_FLOW_READ,
						  VL_FLOW_WRITE_IMM, VL_FLOW_FETCH_ADD};
	const struct vl_verdict_config expectations = {.patience = SECOND / 4};
	struct vl_fault_event events[MOST_EVENTS];
	struct vl_random random = {seed};
	struct outcome outcome = {0};
	struct bench bench;
	int we = (int)vl_random_below(&random, 2);
	unsigned int count = 1 + (unsigned int)vl_random_below(&random, MOST_EVENTS);

	random_events(&random, events, count);
	bench_init(&bench);
	bench.flow_config.verb = verbs[vl_random_below(&random, 5)];
	bench.flow_config.size = bench.flow_config.verb == VL_FLOW_FETCH_ADD
					 ? 8
					 : 1 + (uint32_t)vl_random_below(&random, 20000);
	bench.flow_config.messages = 50;
	bench.flow_config.depth = 1 + (uint32_t)vl_random_below(&random, 20);
	bench.flow_config.qps = 1 + (uint32_t)vl_random_below(&random, 3);
	bench.flow_config.timeout = 8;
	bench_faults(&bench, we, events, count);
	bench.fault_config[we].seed = seed;
	verdict = vl_verdict_create(&expectations);
	CU_ASSERT_PTR_NOT_NULL_FATAL(verdict);
	bench.watcher[we] = (struct vl_frame_tap){see, NULL};
	bench_open(&bench);
	bench_run(&bench, 2 * SECOND);
	vl_verdict_finish(verdict, 2 * SECOND);
	outcome.finished = vl_traffic_is_finished(bench.traffic[CLIENT]);
	outcome.frames = bench.wire.count;
	for (unsigned int i = 0; i < bench.wire.count; i++)
		outcome.digest =
			outcome.digest * 31 + bench.wire.frames[i].time + bench.wire.frames[i].psn;
	for (uint32_t n = 0; n < bench.flow_config.qps; n++) {
		outcome.completed += vl_flow_progress(bench.flow, n)->completed;
		if (vl_flow_progress(bench.flow, n)->status != IBV_WC_SUCCESS)
			outcome.status = vl_flow_progress(bench.flow, n)->status;
	}
	failed[0] = 0;
	for (unsigned int kind = 0; kind < VL_VERDICT_COUNT; kind++) {
		if (vl_verdict_result(verdict, (enum vl_verdict_kind)kind) == VL_VERDICT_FAIL)
			snprintf(failed, 512, "%s: %s", vl_verdict_name((enum vl_verdict_kind)kind),
				 vl_verdict_evidence(verdict, (enum vl_verdict_kind)kind, 0));
	}
	vl_verdict_destroy(verdict);
	bench_close(&bench);
	return outcome;
}

static void test_random_events(void)
{
	unsigned int lost = 0;
	char failed[512];

	for (uint64_t seed = 1; seed <= CASES; seed++) {
		struct outcome outcome = run_case(seed, failed);

		CU_ASSERT_TRUE(outcome.finished);
		CU_ASSERT_EQUAL(failed[0], 0);
		if (!outcome.finished || failed[0])
			printf("\n    seed %llu: %s\n", (unsigned long long)seed, failed);
		/* What was done to it may use up its retries, or be too much for a QP. */
		lost += outcome.status != IBV_WC_SUCCESS;
	}
	printf("\n    %u of %u cases lost a connection\n    ", lost, CASES);
	CU_ASSERT_TRUE(lost < CASES / 4);
}

static void test_same_seed_same_run(void)
{
	char failed[512];

	for (uint64_t seed = 1000; seed < 1020; seed++) {
		struct outcome first = run_case(seed, failed), second = run_case(seed, failed);

		CU_ASSERT_EQUAL(first.digest, second.digest);
		CU_ASSERT_EQUAL(first.frames, second.frames);
		CU_ASSERT_EQUAL(first.completed, second.completed);
		CU_ASSERT_EQUAL(first.status, second.status);
	}
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"random_events", test_random_events},
		{"same_seed_same_run", test_same_seed_same_run},
	};

	return RUN_SUITE("faults", tests, argc, argv);
}
