/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Rates that are asked for hold: the messages that a schedule makes due in any second carry what
 * was asked, within 0.1 % or what leaves at a time, whichever is more; and a generator on a line in
 * virtual time puts as much on it. The oracle counts the bytes of frames, and knows nothing of
 * schedules.
 */

#include "dataplane/generate/generator.h"
#include "dataplane/generate/responder.h"
#include "dataplane/network.h"
#include "tests/support/hosts.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

#define SECOND UINT64_C(1000000000)

/* ---- Schedules ----------------------------------------------------------------------------- */

struct due {
	uint64_t time;
	uint64_t bits; /* in all, with this message */
};

/* Line bits of a message, by frames as PROTOCOL has them: preamble 8, Ethernet 14, IPv4 20, UDP 8,
 * BTH 12, RETH 16 in the first, ICRC 4, FCS 4, gap 12. */
static uint64_t line_bits(uint32_t size, uint32_t mtu)
{
	uint64_t bytes = 16;

	do {
		uint32_t part = size < mtu ? size : mtu;

		bytes += 8 + 14 + 20 + 8 + 12 + (part + 3) / 4 * 4 + 4 + 4 + 12;
		size -= part;
	} while (size);
	return bytes * 8;
}

/* Any window of a second that begins with a message, against the rate. */
static void check_windows(const struct due *dues, uint32_t count, double rate, double at_a_time)
{
	double tolerance = rate * 0.001;
	uint32_t end = 0;

	if (at_a_time > tolerance)
		tolerance = at_a_time;
	for (uint32_t begin = 0; begin < count; begin++) {
		uint64_t before = begin ? dues[begin - 1].bits : 0;
		double carried;

		while (end < count && dues[end].time < dues[begin].time + SECOND)
			end++;
		if (end == count)
			break;
		carried = (double)(dues[end - 1].bits - before);
		if (carried < rate - tolerance - 1 || carried > rate + tolerance + 1) {
			printf("rate %.0f: %.0f bits in the second from %llu ns\n", rate, carried,
			       (unsigned long long)dues[begin].time);
			CU_FAIL("a second carries another rate");
			return;
		}
	}
	CU_ASSERT_FATAL(end > 0 && dues[count - 1].time >= SECOND);
}

static void hold(uint64_t rate, enum vl_rate_count counts, uint32_t burst, uint64_t part,
		 uint64_t whole, const struct vl_mix_config *config)
{
	const struct vl_schedule_config schedule_config = {.rate = rate,
							   .part = part,
							   .whole = whole,
							   .counts = counts,
							   .burst = burst,
							   .framing = {.path_mtu = IBV_MTU_1024}};
	struct vl_mix_cursor cursor = {.random = {rate}};
	uint32_t capacity = 3000000, count = 0;
	struct due *dues = malloc(capacity * sizeof(*dues));
	struct vl_schedule_plan plan;
	struct vl_schedule schedule;
	struct vl_mix mix;
	uint64_t bits = 0;
	double largest = 0, effective = (double)rate;

	CU_ASSERT_PTR_NOT_NULL_FATAL(dues);
	CU_ASSERT_PTR_NULL_FATAL(vl_schedule_config_error(&schedule_config));
	vl_mix_init(&mix, config);
	vl_schedule_plan_init(&plan, &schedule_config);
	vl_schedule_start(&schedule, &plan, 12345, 0);
	while (count < capacity && schedule.next_time < 12345 + 5 * SECOND / 2) {
		struct vl_message message = vl_mix_next(&mix, &cursor);
		uint64_t of_message = counts == VL_RATE_OF_MESSAGES ? 1
				      : counts == VL_RATE_OF_PAYLOAD
					      ? message.size * UINT64_C(8)
					      : line_bits(message.size, 1024);

		bits += of_message;
		dues[count++] = (struct due){schedule.next_time, bits};
		if ((double)of_message > largest)
			largest = (double)of_message;
		vl_schedule_advance(&schedule, message);
	}
	if (whole)
		effective = (double)rate * (double)part / (double)whole;
	/* A burst may go beyond its length by its last message, and a window sees part of one. */
	check_windows(dues, count, effective, largest * (burst + 1));
	free(dues);
}

static const struct vl_mix_config fixed = {.count = 1, .entries = {{VL_FLOW_WRITE, 1024, 1024, 1}}};
static const struct vl_mix_config mixed = {.count = 3,
					   .entries = {{VL_FLOW_WRITE, 64, 64, 5},
						       {VL_FLOW_WRITE, 100, 5000, 3},
						       {VL_FLOW_WRITE, 65536, 65536, 1}}};

static void test_bit_rates(void)
{
	static const uint64_t rates[] = {1000000,   1234567,    9999991,    123456789,
					 999999937, 2500000000, 7777777777, 12345678901};

	for (unsigned int i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		hold(rates[i], VL_RATE_OF_PAYLOAD, 0, 0, 0, &fixed);
		hold(rates[i], VL_RATE_OF_LINE, 0, 0, 0, &fixed);
		hold(rates[i], VL_RATE_OF_LINE, 0, 0, 0, &mixed);
		if (rates[i] > 900000000)
			hold(rates[i], VL_RATE_OF_PAYLOAD, 0, 7, 20000, &fixed);
	}
}

static void test_message_rates(void)
{
	static const uint64_t rates[] = {3, 1000, 333333, 999983};

	for (unsigned int i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		hold(rates[i], VL_RATE_OF_MESSAGES, 0, 0, 0, &fixed);
		hold(rates[i], VL_RATE_OF_MESSAGES, 0, 0, 0, &mixed);
	}
}

static void test_bursts(void)
{
	static const uint32_t bursts[] = {1, 2, 17, 100, 1000};

	for (unsigned int i = 0; i < sizeof(bursts) / sizeof(bursts[0]); i++) {
		hold(8000000000, VL_RATE_OF_LINE, bursts[i], 0, 0, &fixed);
		hold(999999937, VL_RATE_OF_PAYLOAD, bursts[i], 0, 0, &fixed);
	}
}

/* 800 Gb/s of single frames: the mean of a million is right to 1 in 10^8. */
static void test_fastest(void)
{
	const struct vl_schedule_config config = {.rate = UINT64_C(800000000000),
						  .counts = VL_RATE_OF_LINE,
						  .framing = {.path_mtu = IBV_MTU_4096}};
	const struct vl_message message = {VL_FLOW_WRITE, 64};
	struct vl_schedule_plan plan;
	struct vl_schedule schedule;
	double exact = (double)line_bits(64, 4096) / 800.0 * 10000000;

	vl_schedule_plan_init(&plan, &config);
	vl_schedule_start(&schedule, &plan, 0, 0);
	for (unsigned int i = 0; i < 10000000; i++)
		vl_schedule_advance(&schedule, message);
	CU_ASSERT_DOUBLE_EQUAL((double)schedule.next_time, exact, exact * 1e-7);
}

/* A ramp from 0 carries half of what the rate would, and the rate holds after it. */
static void test_ramp(void)
{
	const struct vl_schedule_config config = {.rate = 8000000000, .ramp_time = SECOND};
	const struct vl_message message = {VL_FLOW_WRITE, 1000};
	struct vl_schedule_plan plan;
	struct vl_schedule schedule;
	uint32_t in_ramp = 0, after = 0, first_tenth = 0;

	vl_schedule_plan_init(&plan, &config);
	vl_schedule_start(&schedule, &plan, 0, 0);
	while (schedule.next_time < 2 * SECOND) {
		first_tenth += schedule.next_time < SECOND / 10;
		in_ramp += schedule.next_time < SECOND;
		after += schedule.next_time >= SECOND;
		vl_schedule_advance(&schedule, message);
	}
	CU_ASSERT_DOUBLE_EQUAL(first_tenth, 5000, 100);
	CU_ASSERT_DOUBLE_EQUAL(in_ramp, 500000, 500);
	CU_ASSERT_DOUBLE_EQUAL(after, 1000000, 100);
}

/* What could not be sent for a long time is not sent all at once afterwards. */
static void test_catch_up(void)
{
	const struct vl_schedule_config config = {.rate = 1000, .counts = VL_RATE_OF_MESSAGES};
	const struct vl_message message = {VL_FLOW_WRITE, 1};
	struct vl_schedule_plan plan;
	struct vl_schedule schedule;
	uint32_t sent = 0;

	vl_schedule_plan_init(&plan, &config);
	vl_schedule_start(&schedule, &plan, 0, 0);
	CU_ASSERT_EQUAL(vl_schedule_catch_up(&schedule, VL_SCHEDULE_ARREARS), 0);
	CU_ASSERT_EQUAL(vl_schedule_catch_up(&schedule, SECOND), SECOND - VL_SCHEDULE_ARREARS);
	for (; schedule.next_time <= SECOND; sent++)
		vl_schedule_advance(&schedule, message);
	CU_ASSERT_EQUAL(sent, 11);
}

/* ---- A generator on a line ----------------------------------------------------------------- */

#define LINE_RATE UINT64_C(100000000000)

static struct vl_network *network;
static struct vl_generator *generator;
static struct vl_responder_set *responders;
static struct vl_histogram completion, pacing;
static uint64_t data_frames, data_line_bits, first_data, longest_run, run;
static uint64_t last_end;

static void count_frame(void *context, const struct vl_node *node, uint32_t port,
			enum vl_direction direction, const struct vl_frame *frame, uint64_t now)
{
	uint64_t bits = (frame->length + 24) * UINT64_C(8);

	(void)context, (void)node, (void)port;
	if (direction != VL_DIRECTION_TRANSMITTED || frame->length < 100)
		return;
	if (!data_frames++)
		first_data = now;
	data_line_bits += bits;
	/* Back to back: begins within a nanosecond of the end of the one before. */
	run = now <= last_end + 1 ? run + 1 : 1;
	if (run > longest_run)
		longest_run = run;
	last_end = now + bits / 100;
}

static void poll_both(void *context, struct vl_endpoint *endpoint, uint64_t now)
{
	(void)context, (void)endpoint;
	vl_generator_poll(generator, now);
}

static uint64_t next_deadline(void *context)
{
	(void)context;
	return vl_generator_next_deadline(generator);
}

static void poll_responders(void *context, struct vl_endpoint *endpoint, uint64_t now)
{
	(void)context, (void)endpoint, (void)now;
	vl_responder_set_poll(responders);
}

static struct vl_generate_group *set_up(const struct vl_generate_group_config *config)
{
	struct vl_endpoint_config hosts[2] = {host_config(1, LINE_RATE), host_config(2, LINE_RATE)};
	const struct vl_link_config link = {.rate = LINE_RATE, .propagation = 1000, .seed = 1};
	const struct vl_tap tap = {count_frame, NULL};
	struct vl_queue_pair_address local, remote;
	struct vl_generate_group *group;
	struct vl_node *a, *b;
	uint32_t index;

	data_frames = data_line_bits = longest_run = run = last_end = 0;
	memset(&completion, 0, sizeof(completion));
	memset(&pacing, 0, sizeof(pacing));
	network = vl_network_create(NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(network);
	a = vl_network_add_endpoint(network, &hosts[0]);
	b = vl_network_add_endpoint(network, &hosts[1]);
	CU_ASSERT_FATAL(a && b);
	CU_ASSERT_EQUAL_FATAL(vl_network_connect(network, a, 0, b, 0, &link, NULL), 0);
	vl_network_tap(network, a, 0, &tap);
	generator = vl_generator_create(vl_node_endpoint(a)->device,
					&(struct vl_generator_config){1 << 20, NULL}, NULL);
	responders =
		vl_responder_set_create(vl_node_endpoint(b)->device,
					&(struct vl_responder_set_config){1 << 20, NULL}, NULL);
	CU_ASSERT_FATAL(generator && responders);
	vl_endpoint_set_application(vl_node_endpoint(a),
				    &(struct vl_application){poll_both, next_deadline, NULL});
	vl_endpoint_set_application(vl_node_endpoint(b),
				    &(struct vl_application){poll_responders, NULL, NULL});
	group = vl_generator_add_group(generator, config, 0, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(group);
	for (uint32_t n = 0; n < config->qps; n++) {
		CU_ASSERT_EQUAL_FATAL(vl_responder_set_add(responders, &config->qp,
							   2 * config->depth, 1 << 16, n, 0,
							   &index),
				      0);
		vl_generate_group_local(group, n, &local);
		vl_responder_set_local(responders, index, &remote);
		CU_ASSERT_EQUAL_FATAL(vl_responder_set_connect(responders, index, &local, 0), 0);
		CU_ASSERT_EQUAL_FATAL(vl_generate_group_connect(group, n, &remote, 0), 0);
	}
	return group;
}

static void tear_down(void)
{
	vl_generator_destroy(generator);
	vl_responder_set_destroy(responders);
	vl_network_destroy(network);
}

static struct vl_generate_group_config group_config(uint64_t rate, enum vl_rate_count counts,
						    enum vl_rate_scope scope, uint32_t qps)
{
	return (struct vl_generate_group_config){
		.qp = {.transport = IBV_QPT_RC,
		       .path_mtu = IBV_MTU_1024,
		       .traffic_class = HOST_DATA_CLASS,
		       .priority = HOST_DATA_PRIORITY,
		       .timeout = 14,
		       .retry_count = 7,
		       .rnr_retry = 7,
		       .min_rnr_timer = 12},
		.qps = qps,
		.depth = 16,
		.mix = fixed,
		.schedule = {.rate = rate, .counts = counts, .framing = {.path_mtu = IBV_MTU_1024}},
		.scope = scope,
		.seed = 1,
		.completion_times = &completion,
		.pacing_errors = &pacing,
	};
}

/* What leaves in a second, of frames of a fixed size. */
static void carry(uint64_t rate, enum vl_rate_scope scope, uint32_t qps, double expected)
{
	struct vl_generate_group_config config = group_config(rate, VL_RATE_OF_LINE, scope, qps);
	struct vl_generate_group *group = set_up(&config);
	struct vl_generate_totals totals;
	double frame = (double)line_bits(1024, 1024);

	vl_generate_group_start(group, 5000);
	vl_network_run_until(network, 5000 + SECOND / 10);
	totals = vl_generate_group_totals(group);
	CU_ASSERT_DOUBLE_EQUAL((double)data_line_bits, expected / 10,
			       expected / 10000 + frame * qps);
	CU_ASSERT_EQUAL(totals.failed, 0);
	CU_ASSERT_EQUAL(totals.held_back, 0);
	CU_ASSERT_EQUAL(totals.cost * 8, totals.posted * line_bits(1024, 1024));
	CU_ASSERT_EQUAL(totals.put_off, 0);
	CU_ASSERT_EQUAL(totals.active, qps);
	/* In virtual time nobody is late. */
	CU_ASSERT_TRUE(pacing.count > 0);
	CU_ASSERT_EQUAL(pacing.most, 0);
	for (uint32_t n = 0; n < qps; n++) {
		double each = (double)vl_generate_group_progress(group, n)->posted;

		CU_ASSERT_DOUBLE_EQUAL(each, (double)totals.posted / qps, 1.1);
	}
	tear_down();
}

static void test_on_a_line(void)
{
	carry(1000000, VL_RATE_OF_QP, 1, 1e6);
	carry(1000000000, VL_RATE_OF_QP, 1, 1e9);
	carry(40000000000, VL_RATE_OF_QP, 1, 40e9);
	carry(95000000000, VL_RATE_OF_GROUP, 4, 95e9);
	carry(123456789, VL_RATE_OF_QP, 20, 20 * 123456789.0);
	carry(10000000000, VL_RATE_OF_GROUP, 100, 10e9);
}

/* A burst of so many frames leaves back to back, and then there is a gap. */
static void test_bursts_on_a_line(void)
{
	static const uint32_t bursts[] = {1, 8, 100, 1000};

	for (unsigned int i = 0; i < sizeof(bursts) / sizeof(bursts[0]); i++) {
		struct vl_generate_group_config config =
			group_config(20000000000, VL_RATE_OF_LINE, VL_RATE_OF_QP, 1);
		struct vl_generate_group *group;

		config.depth = 1024;
		config.schedule.burst = bursts[i];
		group = set_up(&config);
		vl_generate_group_start(group, 0);
		vl_network_run_until(network, SECOND / 100);
		CU_ASSERT_EQUAL(longest_run, bursts[i]);
		CU_ASSERT_DOUBLE_EQUAL((double)data_line_bits, 20e7,
				       line_bits(1024, 1024) * (double)bursts[i]);
		tear_down();
	}
}

/* A queue pair that cannot send leaves its turns to the others, or only itself behind. */
static void test_held_up(void)
{
	static const enum vl_rate_scope scopes[] = {VL_RATE_OF_GROUP, VL_RATE_OF_QP};

	for (unsigned int i = 0; i < 2; i++) {
		struct vl_generate_group_config config =
			group_config(i ? 1000000000 : 4000000000, VL_RATE_OF_LINE, scopes[i], 4);
		struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
		struct vl_generate_group *group;
		uint64_t expected;

		config.depth = 8;
		config.qp.timeout = 0; /* waits for ever */
		group = set_up(&config);
		vl_modify_qp(vl_responder_set_qp(responders, 0), &reset, IBV_QP_STATE, 0);
		vl_generate_group_start(group, 0);
		vl_network_run_until(network, SECOND / 10);
		CU_ASSERT_EQUAL(vl_generate_group_progress(group, 0)->posted, 8);
		CU_ASSERT_EQUAL(vl_generate_group_progress(group, 0)->completed, 0);
		expected = (i ? 1000000000 : 1333333333) / 10 / line_bits(1024, 1024);
		for (uint32_t n = 1; n < 4; n++)
			CU_ASSERT_DOUBLE_EQUAL((double)vl_generate_group_progress(group, n)->posted,
					       (double)expected, 10);
		tear_down();
	}
}

/* Starts one after the other, a count, an end, and times from the warm-up on. */
static void test_times(void)
{
	struct vl_generate_group_config config =
		group_config(1000000, VL_RATE_OF_MESSAGES, VL_RATE_OF_QP, 3);
	struct vl_generate_group *group;

	config.start = 1000;
	config.stagger = 1000000;
	config.duration = 10000000;
	config.warm_up = 9000000;
	config.aligned = true;
	group = set_up(&config);
	vl_generate_group_start(group, 0);
	vl_network_run_until(network, SECOND);
	CU_ASSERT_TRUE(vl_generator_is_finished(generator));
	CU_ASSERT_EQUAL(vl_generate_group_progress(group, 0)->completed, 10000);
	CU_ASSERT_EQUAL(vl_generate_group_progress(group, 1)->completed, 9000);
	CU_ASSERT_EQUAL(vl_generate_group_progress(group, 2)->completed, 8000);
	CU_ASSERT_DOUBLE_EQUAL((double)completion.count, 3000, 10);
	tear_down();
	config.duration = 0;
	config.warm_up = 0;
	config.messages = 77;
	config.scope = VL_RATE_OF_GROUP;
	group = set_up(&config);
	vl_generate_group_start(group, 0);
	vl_network_run_until(network, SECOND);
	CU_ASSERT_TRUE(vl_generator_is_finished(generator));
	CU_ASSERT_EQUAL(completion.count, 3 * 77);
	tear_down();
}

/* Every verb of RC in one mix, without a rate: all complete. */
static void test_mix_of_verbs(void)
{
	struct vl_generate_group_config config = group_config(0, 0, VL_RATE_OF_QP, 5);
	struct vl_generate_group *group;
	struct vl_generate_totals totals;

	config.messages = 500;
	config.mix = (struct vl_mix_config){.count = VL_FLOW_VERB_COUNT};
	for (unsigned int verb = 0; verb < VL_FLOW_VERB_COUNT; verb++) {
		bool is_atomic = vl_flow_verb_is_atomic((enum vl_flow_verb)verb);

		config.mix.entries[verb] = (struct vl_mix_entry){
			(enum vl_flow_verb)verb, is_atomic ? 8 : 1, is_atomic ? 8 : 20000, 1};
	}
	group = set_up(&config);
	vl_generate_group_start(group, 0);
	vl_network_run_until(network, SECOND);
	totals = vl_generate_group_totals(group);
	CU_ASSERT_EQUAL(totals.failed, 0);
	CU_ASSERT_EQUAL(totals.active, 0);
	CU_ASSERT_EQUAL(totals.completed, 2500);
	CU_ASSERT_EQUAL(completion.count, 2500);
	tear_down();
}

static const struct test tests[] = {
	{"bit_rates", test_bit_rates},
	{"message_rates", test_message_rates},
	{"bursts", test_bursts},
	{"fastest", test_fastest},
	{"ramp", test_ramp},
	{"catch_up", test_catch_up},
	{"on_a_line", test_on_a_line},
	{"bursts_on_a_line", test_bursts_on_a_line},
	{"held_up", test_held_up},
	{"times", test_times},
	{"mix_of_verbs", test_mix_of_verbs},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("generate_rate", tests, argc, argv);
}
