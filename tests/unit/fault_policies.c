/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What the fault engine does all the time, and which configurations it refuses. */

#include "tests/support/fault_bench.h"
#include "tests/support/hosts.h"

#include <errno.h>

#define RX     VL_FAULT_RECEIVED
#define IN     VL_DIRECTION_RECEIVED
#define SECOND UINT64_C(1000000000)

static struct bench bench;

static struct vl_fault_event marker(void)
{
	return bench_event("mark", RX, "", VL_FAULT_MARK_CE);
}

static void test_receive_rate(void)
{
	bench_init(&bench);
	bench.has_faults[SERVER] = true;
	bench.fault_config[SERVER].receives =
		(struct vl_fault_receives){.rate = 10000, .burst = 4, .rnr_timer = 1};
	bench.flow_config.verb = VL_FLOW_SEND;
	bench_open(&bench);
	bench_run(&bench, SECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	CU_ASSERT_TRUE(vl_fault_counters(bench.faults[SERVER])->rnr_by_rate >= 16);
	/* 4 at once, then 16 at 100 us each. */
	CU_ASSERT_TRUE(vl_flow_progress(bench.flow, 0)->last_completion >= 1600000);
	CU_ASSERT_TRUE(vl_flow_progress(bench.flow, 0)->last_completion < 1800000);
	CU_ASSERT_EQUAL(bench_comments(&bench.taps[SERVER], "as no receive is posted"),
			vl_fault_counters(bench.faults[SERVER])->rnr_by_rate);
	bench_close(&bench);
}

/* WRITEs need no receive. */
static void test_receive_rate_of_writes(void)
{
	bench_init(&bench);
	bench.has_faults[SERVER] = true;
	bench.fault_config[SERVER].receives =
		(struct vl_fault_receives){.rate = 1, .burst = 1, .rnr_timer = 1};
	bench_open(&bench);
	bench_run(&bench, SECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	CU_ASSERT_EQUAL(vl_fault_counters(bench.faults[SERVER])->rnr_by_rate, 0);
	bench_close(&bench);
}

static void slow(bool pfc)
{
	bench_init(&bench);
	bench.has_faults[SERVER] = true;
	bench.fault_config[SERVER].slow_receiver =
		(struct vl_fault_slow_receiver){.rate = 10000000000,
						.buffer = 100000,
						.xoff = pfc ? 50000 : 0,
						.xon = pfc ? 30000 : 0,
						.priorities = 1 << HOST_DATA_PRIORITY};
	bench.flow_config.size = 1 << 20;
	bench.flow_config.messages = 10;
	bench.flow_config.timeout = 10;
	bench_open(&bench);
	bench_run(&bench, SECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	/* 10 MiB at 10 Gb/s. */
	CU_ASSERT_TRUE(vl_flow_progress(bench.flow, 0)->last_completion > 8388608);
	if (pfc) {
		CU_ASSERT_EQUAL(vl_fault_counters(bench.faults[SERVER])->slow_receiver_dropped, 0);
		CU_ASSERT_TRUE(vl_fault_counters(bench.faults[SERVER])->pauses_sent > 10);
		CU_ASSERT_TRUE(vl_flow_progress(bench.flow, 0)->last_completion < 9000000);
	} else {
		CU_ASSERT_TRUE(vl_fault_counters(bench.faults[SERVER])->slow_receiver_dropped > 0);
		CU_ASSERT_EQUAL(vl_fault_counters(bench.faults[SERVER])->pauses_sent, 0);
		CU_ASSERT_EQUAL(
			bench_comments(&bench.taps[SERVER], "not delivered: no room in the slow"),
			vl_fault_counters(bench.faults[SERVER])->slow_receiver_dropped);
	}
	bench_close(&bench);
}

static void test_slow_receiver(void)
{
	slow(false);
	slow(true);
}

static void test_ack_coalescing(void)
{
	unsigned int acks;

	bench_init(&bench);
	bench.has_faults[SERVER] = true;
	bench.fault_config[SERVER].ack_coalescing =
		(struct vl_fault_ack_coalescing){.count = 4, .delay = 5000};
	bench.flow_config.depth = 8;
	bench_open(&bench);
	bench_run(&bench, SECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	acks = bench_count(&bench.wire, IN, VL_OP_ACKNOWLEDGE);
	CU_ASSERT_TRUE(acks >= 5 && acks <= 7);
	CU_ASSERT_EQUAL(vl_fault_counters(bench.faults[SERVER])->acks_coalesced, 20 - acks);
	CU_ASSERT_EQUAL(vl_device_counters(bench_endpoint(&bench, CLIENT)->device)
				->data_frames_retransmitted,
			0);
	bench_close(&bench);
}

/* A lone ACK waits its time out, and a NAK speaks for those before it. */
static void test_ack_coalescing_ends(void)
{
	struct vl_fault_event lose = bench_event("lose", RX, "request", VL_FAULT_DROP);

	lose.match.psn = (struct vl_fault_range){6, 6};
	lose.match.limit = 1;
	bench_init(&bench);
	bench_faults(&bench, SERVER, &lose, 1);
	bench.fault_config[SERVER].ack_coalescing =
		(struct vl_fault_ack_coalescing){.count = 1000, .delay = 20000};
	bench.flow_config.depth = 4;
	bench_open(&bench);
	bench_run(&bench, SECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	CU_ASSERT_TRUE(vl_flow_progress(bench.flow, 0)->last_completion > 60000);
	bench_close(&bench);
}

static void refused(const struct vl_fault_config *config, uint32_t blamed)
{
	uint32_t event = 0;
	int error = 0;

	CU_ASSERT_PTR_NOT_NULL(vl_fault_config_error(config, &event));
	CU_ASSERT_EQUAL(event, blamed);
	CU_ASSERT_PTR_NULL(vl_fault_create(config, &error));
	CU_ASSERT_EQUAL(error, -EINVAL);
}

static void test_refusals(void)
{
	struct vl_fault_event event = marker();
	struct vl_fault_config config = {.events = &event, .event_count = 1};
	uint32_t blamed;

	CU_ASSERT_PTR_NULL(vl_fault_config_error(&config, &blamed));
	event.match.directions = 0;
	refused(&config, 0);
	event = marker();
	event.match.psn = (struct vl_fault_range){0, 1 << 24};
	refused(&config, 0);
	event = marker();
	event.match.probability = 1.5;
	refused(&config, 0);
	event = marker();
	event.match.from = event.match.until = 5;
	refused(&config, 0);
	event = bench_event("x", RX, "", VL_FAULT_DUPLICATE);
	refused(&config, 0);
	event = bench_event("x", RX, "", VL_FAULT_REORDER);
	refused(&config, 0);
	event = bench_event("x", RX, "", VL_FAULT_NAK);
	refused(&config, 0);
	event = bench_event("x", RX, "", VL_FAULT_RNR);
	refused(&config, 0);
	event = bench_event("x", RX, "", VL_FAULT_TRUNCATE);
	refused(&config, 0);
	event = bench_event("x", RX, "", VL_FAULT_PAUSE);
	refused(&config, 0);
	event = bench_event("x", RX, "", VL_FAULT_ACTION_COUNT);
	refused(&config, 0);
	event = marker();
	config.slow_receiver.rate = 1;
	refused(&config, UINT32_MAX);
	config.slow_receiver = (struct vl_fault_slow_receiver){.xoff = 100, .xon = 101};
	refused(&config, UINT32_MAX);
	config.slow_receiver.xoff = 0;
	config.receives.rnr_timer = 32;
	refused(&config, UINT32_MAX);
	vl_fault_destroy(NULL);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"receive_rate", test_receive_rate},
		{"receive_rate_of_writes", test_receive_rate_of_writes},
		{"slow_receiver", test_slow_receiver},
		{"ack_coalescing", test_ack_coalescing},
		{"ack_coalescing_ends", test_ack_coalescing_ends},
		{"refusals", test_refusals},
	};

	return RUN_SUITE("fault_policies", tests, argc, argv);
}
