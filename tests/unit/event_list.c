/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What event lists say, and what is refused, message by message. */

#include "apps/fault/event_list.h"
#include "apps/fault/fault.h"
#include "tests/support/fault_bench.h"
#include "transport/credit.h"

#include <stdlib.h>
#include <string.h>

static const struct vl_command command = {.name = "test"};

static struct vl_event_list *parse(const char *text, char *messages, size_t size)
{
	struct vl_problems problems = {.file = "f.yaml"};
	struct vl_event_list *list = vl_event_list_parse(text, strlen(text), &problems);
	FILE *out = fmemopen(messages, size, "w");

	vl_problems_print(&problems, out);
	fclose(out);
	return list;
}

static struct vl_event_list *accepted(const char *text)
{
	char messages[4096] = "";
	struct vl_event_list *list = parse(text, messages, sizeof(messages));

	if (!list)
		printf("%s\n", messages);
	CU_ASSERT_PTR_NOT_NULL_FATAL(list);
	return list;
}

static void refused(const char *text, const char *expected)
{
	char messages[4096] = "";
	struct vl_event_list *list = parse(text, messages, sizeof(messages));

	CU_ASSERT_PTR_NULL(list);
	CU_ASSERT_PTR_NOT_NULL(strstr(messages, expected));
	if (!strstr(messages, expected))
		printf("\n    %s    instead of %s\n", messages, expected);
	vl_event_list_free(list);
}

static void test_everything(void)
{
	struct vl_event_list *list = accepted("name: all\n"
					      "seed: 7\n"
					      "events:\n"
					      "  - name: one\n"
					      "    action: delay\n"
					      "    on: received\n"
					      "    opcode: ack, rc_read_request\n"
					      "    connection: 3\n"
					      "    qp: 0x12\n"
					      "    peer: 10.0.0.2\n"
					      "    psn: 5..9\n"
					      "    message: 2\n"
					      "    nth: 4..6\n"
					      "    every: 2\n"
					      "    probability: 25%\n"
					      "    count: 8\n"
					      "    per: connection\n"
					      "    from: 1ms\n"
					      "    until: 2s\n"
					      "    delay: 10us\n");
	const struct vl_fault_event *event = &list->events[0];
	static const uint8_t peer[16] = {[10] = 0xff, 0xff, 10, 0, 0, 2};

	CU_ASSERT_EQUAL(list->seed, 7);
	CU_ASSERT_EQUAL(list->event_count, 1);
	CU_ASSERT_STRING_EQUAL(event->name, "one");
	CU_ASSERT_STRING_EQUAL(event->place, "f.yaml:4");
	CU_ASSERT_EQUAL(event->action.kind, VL_FAULT_DELAY);
	CU_ASSERT_EQUAL(event->action.delay, 10000);
	CU_ASSERT_EQUAL(event->match.directions, VL_FAULT_RECEIVED);
	CU_ASSERT_EQUAL(event->match.connection, 3);
	CU_ASSERT_EQUAL(event->match.qpn, 0x12);
	CU_ASSERT_TRUE(event->match.has_peer);
	CU_ASSERT_EQUAL(memcmp(event->match.peer.raw, peer, 16), 0);
	CU_ASSERT_EQUAL(event->match.psn.first, 5);
	CU_ASSERT_EQUAL(event->match.psn.last, 9);
	CU_ASSERT_EQUAL(event->match.message.first, 2);
	CU_ASSERT_EQUAL(event->match.message.last, 2);
	CU_ASSERT_EQUAL(event->match.nth.last, 6);
	CU_ASSERT_EQUAL(event->match.every, 2);
	CU_ASSERT_EQUAL(event->match.probability, 0.25);
	CU_ASSERT_EQUAL(event->match.limit, 8);
	CU_ASSERT_TRUE(event->match.per_connection);
	CU_ASSERT_EQUAL(event->match.from, 1000000);
	CU_ASSERT_EQUAL(event->match.until, 2000000000);
	CU_ASSERT_EQUAL(event->match.opcodes[0],
			UINT64_C(1) << VL_OP_ACKNOWLEDGE | UINT64_C(1) << VL_OP_READ_REQUEST);
	CU_ASSERT_EQUAL(event->match.answers, VL_FAULT_ANSWER_ACK);
	vl_event_list_free(list);
}

static struct vl_fault_action action(const char *text)
{
	char whole[512];
	struct vl_event_list *list;
	struct vl_fault_action result;

	snprintf(whole, sizeof(whole), "events:\n  - {%s}\n", text);
	list = accepted(whole);
	CU_ASSERT_STRING_EQUAL(list->events[0].name, "event1");
	result = list->events[0].action;
	vl_event_list_free(list);
	return result;
}

static void test_actions(void)
{
	CU_ASSERT_EQUAL(action("action: drop").kind, VL_FAULT_DROP);
	CU_ASSERT_EQUAL(action("action: duplicate").copies, 1);
	CU_ASSERT_EQUAL(action("action: duplicate, copies: 3, delay: 5us").copies, 3);
	CU_ASSERT_EQUAL(action("action: reorder, by: 3").by, 3);
	CU_ASSERT_EQUAL(action("action: corrupt").part, VL_FAULT_PART_PAYLOAD);
	CU_ASSERT_EQUAL(action("action: corrupt").bit, VL_FAULT_ANY_BIT);
	CU_ASSERT_EQUAL(action("action: corrupt, part: icrc, bit: 5").bit, 5);
	CU_ASSERT_EQUAL(action("action: truncate, bytes: 8, repair: true").repair, true);
	CU_ASSERT_EQUAL(action("action: nak, code: remote_access").syndrome, 0x62);
	CU_ASSERT_EQUAL(action("action: rnr").syndrome, 0x20 | 12);
	CU_ASSERT_EQUAL(action("action: rnr, timer: 10ms").syndrome, 0x20 | 20);
	CU_ASSERT_EQUAL(action("action: rnr, timer: 655.36ms").syndrome, 0x20);
	CU_ASSERT_EQUAL(action("action: credits, credits: unlimited").syndrome, 31);
	CU_ASSERT_EQUAL(action("action: credits, credits: 7").syndrome, 5);
	CU_ASSERT_EQUAL(action("action: stop_answering").duration, VL_FAULT_FOREVER);
	CU_ASSERT_TRUE(action("action: stop_answering, scope: endpoint").whole_endpoint);
	CU_ASSERT_EQUAL(action("action: suppress_acks, for: 1ms").duration, 1000000);
	CU_ASSERT_EQUAL(action("action: pause, priorities: '3, 4'").priorities, 0x18);
	CU_ASSERT_EQUAL(action("action: pause, priorities: 3").duration, 0);
	CU_ASSERT_EQUAL(action("action: pause, priorities: 3").quanta, 65535);
	CU_ASSERT_EQUAL(action("action: delay_acks, delay: 1ms").delay, 1000000);
	CU_ASSERT_EQUAL(action("action: mark_ce").kind, VL_FAULT_MARK_CE);
	CU_ASSERT_EQUAL(action("action: ignore_ce").kind, VL_FAULT_IGNORE_CE);
	CU_ASSERT_EQUAL(action("action: cnp").kind, VL_FAULT_CNP);
	CU_ASSERT_EQUAL(action("action: pass").kind, VL_FAULT_PASS);
}

static void refused_event(const char *text, const char *expected)
{
	char whole[512];

	snprintf(whole, sizeof(whole), "events:\n  - {%s}\n", text);
	refused(whole, expected);
}

static void test_refusals(void)
{
	refused("", "empty; 'verbline faults drop-every-100th' prints one to start from");
	refused("events: []\n", "f.yaml:1:9: events:");
	refused("evnts:\n  - {action: drop}\n",
		"f.yaml:1:1: unknown key 'evnts'; did you mean 'events'?");
	refused_event("name: x", "f.yaml:2:5: events[0].action: is missing");
	refused_event("action: drp",
		      "f.yaml:2:14: events[0].action: 'drp' is unknown; choose drop, ");
	refused_event("action: drop, delay: 1us",
		      "f.yaml:2:27: events[0].delay: means nothing to action drop; leave it out");
	refused_event("action: delay", "f.yaml:2:5: events[0]: action delay needs 'delay'");
	refused_event("action: nak", "action nak needs 'code'");
	refused_event("action: pause", "action pause needs 'priorities'");
	refused_event("action: reorder", "action reorder needs 'by'");
	refused_event("action: drop, psn: 9..5",
		      "events[0].psn: '9..5' is no range; write a number or first..last, from 0 to "
		      "16777215");
	refused_event("action: drop, psn: 16777216", "is no range");
	refused_event("action: drop, psn: -1", "is no range");
	refused_event("action: drop, psn: 1...3", "is no range");
	refused_event("action: drop, message: 0", "events[0].message: '0' is no range");
	refused_event("action: drop, nth: x", "events[0].nth: 'x' is no range");
	refused_event("action: drop, qp: 0", "events[0].qp: '0' is no QPN");
	refused_event("action: drop, qp: 0x1000000",
		      "is no QPN; write a number from 1 to 0xffffff");
	refused_event("action: drop, peer: 10.0.0",
		      "events[0].peer: '10.0.0' is no address; write one as 10.0.0.1 or fd00::1");
	refused_event("action: drop, opcode: akc",
		      "events[0].opcode: 'akc' is no opcode and no class; did you mean ack?");
	refused_event(
		"action: drop, opcode: 'ack, zzzzzzzz'",
		"'zzzzzzzz' is no opcode and no class; 'verbline faults --opcodes' lists them");
	refused_event("action: drop, opcode: ', ,'",
		      "names nothing; leave the key out to mean all");
	refused_event("action: drop, probability: 150%", "events[0].probability:");
	refused_event("action: drop, from: 2s, until: 1s",
		      "events[0].until: is not after 'from'; nothing would ever happen");
	refused_event("action: pause, priorities: 8",
		      "events[0].priorities: '8' is no priority; write one or several of 0 to 7");
	refused_event("action: credits, credits: lots",
		      "'lots' are no credits; write 0 to 32768, or unlimited");
	refused_event("action: truncate, bytes: 6, repair: true",
		      "events[0].bytes: must be a multiple of 4 with 'repair'");
	refused_event("action: rnr, timer: 1s", "events[0].timer:");
	/* All that is wrong, not the first alone. */
	refused("events:\n  - {action: nak}\n  - {action: drop, by: 3}\n", "f.yaml:3:24");
}

static void test_timer_codes(void)
{
	CU_ASSERT_EQUAL(vl_rnr_timer_code(1), 1);
	CU_ASSERT_EQUAL(vl_rnr_timer_code(10000), 1);
	CU_ASSERT_EQUAL(vl_rnr_timer_code(10001), 2);
	CU_ASSERT_EQUAL(vl_rnr_timer_code(491520000), 31);
	CU_ASSERT_EQUAL(vl_rnr_timer_code(491520001), 0);
	CU_ASSERT_EQUAL(vl_rnr_timer_ns(0), 655360000);
}

/* Each ready list is right, has its file's name, and says what it shows. */
static void test_ready(void)
{
	CU_ASSERT_TRUE(vl_ready_event_list_count >= 10);
	for (unsigned int i = 0; i < vl_ready_event_list_count; i++) {
		struct vl_event_list *list = accepted(vl_ready_event_lists[i].text);

		CU_ASSERT_PTR_NOT_NULL_FATAL(list->name);
		CU_ASSERT_STRING_EQUAL(list->name, vl_ready_event_lists[i].name);
		CU_ASSERT_TRUE(list->shows && strlen(list->shows) > 20);
		vl_event_list_free(list);
	}
}

/* ---- Options -------------------------------------------------------------------------------- */

static void test_options(void)
{
	struct vl_fault_options options = VL_FAULT_OPTIONS_INIT;
	struct vl_device_config device = {0};
	struct vl_faults *faults = NULL;
	struct bench bench;
	json_t *json;
	FILE *out;
	char text[4096] = "";

	CU_ASSERT_EQUAL(vl_faults_create(&command, &options, 1, &faults), -1);
	CU_ASSERT_PTR_NULL(faults);
	vl_faults_configure(faults, &device);
	CU_ASSERT_PTR_NULL(device.cc);
	json = vl_faults_json(faults);
	CU_ASSERT_TRUE(json_is_null(json));
	json_decref(json);
	vl_faults_print(faults, stdout);
	vl_faults_destroy(faults);

	options.events = "drop-every-100th";
	options.cnp_interval = 20000;
	options.cnp_scope = VL_CNP_SCOPE_IP;
	options.cnp_dscp = 40;
	options.cnp_priority = 5;
	options.coalesce_acks = 4;
	CU_ASSERT_EQUAL_FATAL(vl_faults_create(&command, &options, 1, &faults), -1);
	CU_ASSERT_PTR_NOT_NULL_FATAL(faults);
	vl_faults_configure(faults, &device);
	CU_ASSERT_EQUAL(device.cnp_scope, VL_CNP_SCOPE_IP);
	CU_ASSERT_PTR_NOT_NULL_FATAL(device.cc);
	CU_ASSERT_EQUAL(vl_cc_check(device.cc), 0);
	CU_ASSERT_EQUAL(device.cc->dcqcn.min_time_between_cnps, 20);
	CU_ASSERT_EQUAL(device.cc->dcqcn.cnp_dscp, 40);
	CU_ASSERT_EQUAL(device.cc->dcqcn.cnp_802p_prio, 5);

	bench_init(&bench);
	bench.flow_config.messages = 200;
	bench_open(&bench);
	CU_ASSERT_EQUAL(vl_faults_attach(faults, bench_endpoint(&bench, SERVER), BENCH_RATE, NULL),
			0);
	bench_run(&bench, UINT64_C(1000000000));
	CU_ASSERT_TRUE(bench_is_done(&bench));
	CU_ASSERT_TRUE(bench_comments(&bench.taps[SERVER], "not delivered: dropped by event 'lose' "
							   "(drop-every-100th:") >= 4);
	json = vl_faults_json(faults);
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(
				json_array_get(json_object_get(json, "events"), 0), "acted")),
			bench_comments(&bench.taps[SERVER], "dropped by event 'lose'"));
	CU_ASSERT_TRUE(json_integer_value(json_object_get(json_object_get(json, "counters"),
							  "acks_coalesced")) > 0);
	json_decref(json);
	out = fmemopen(text, sizeof(text), "w");
	vl_faults_print(faults, out);
	fclose(out);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "Faults on purpose: drop-every-100th"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "acks_coalesced"));
	bench_close(&bench);
	vl_faults_destroy(faults);

	options.events = "/nonexistent/list.yaml";
	CU_ASSERT_EQUAL(vl_faults_create(&command, &options, 1, &faults), VL_EXIT_USAGE);
	CU_ASSERT_PTR_NULL(faults);
	options.events = NULL;
	options.cnp_interval = 1500;
	CU_ASSERT_EQUAL(vl_faults_create(&command, &options, 1, &faults), VL_EXIT_USAGE);
}

/* Options that say how something is done that nobody asked for. */
static void test_needless_options(void)
{
	static const struct vl_fault_options unset = VL_FAULT_OPTIONS_INIT;
	struct vl_fault_options wrong[8];
	struct vl_faults *faults = NULL;

	for (unsigned int i = 0; i < 8; i++)
		wrong[i] = unset;
	wrong[0].drain_buffer = 32768;
	wrong[1].drain_overflow = VL_FAULT_DRAIN_PFC;
	wrong[2].drain_rate = 1000000000;
	wrong[2].drain_priority = 5;
	wrong[3].receive_burst = 1;
	wrong[4].rnr_timer = 20000;
	wrong[5].coalesce_delay = 5000;
	wrong[6].verdict.cnp_dscp = 0;
	wrong[7].verdict.expects_ecn = true;
	for (unsigned int i = 0; i < 8; i++) {
		CU_ASSERT_EQUAL(vl_faults_create(&command, &wrong[i], 1, &faults), VL_EXIT_USAGE);
		CU_ASSERT_PTR_NULL(faults);
	}
}

/* How many CNPs come back when all data of some QPs is marked. */
static unsigned int cnps_with_scope(enum vl_cnp_scope scope)
{
	struct vl_fault_event mark =
		bench_event("mark", VL_FAULT_TRANSMITTED, "data", VL_FAULT_MARK_CE);
	struct bench bench;
	unsigned int count;

	bench_init(&bench);
	bench.flow_config.qps = 8;
	bench.cnp_scope[SERVER] = scope;
	bench_faults(&bench, CLIENT, &mark, 1);
	bench_open(&bench);
	bench_run(&bench, UINT64_C(1000000000));
	CU_ASSERT_TRUE(bench_is_done(&bench));
	count = bench_count(&bench.wire, VL_DIRECTION_RECEIVED, VL_OPCODE_CNP);
	bench_close(&bench);
	return count;
}

/* 320 packets of 8 QPs in 108 us, CNPs 50 us apart. */
static void test_cnp_scope(void)
{
	unsigned int qp = cnps_with_scope(VL_CNP_SCOPE_QP), ip = cnps_with_scope(VL_CNP_SCOPE_IP),
		     port = cnps_with_scope(VL_CNP_SCOPE_PORT);

	CU_ASSERT_TRUE(qp >= 16 && qp <= 24);
	CU_ASSERT_TRUE(ip >= 2 && ip <= 3);
	CU_ASSERT_TRUE(port >= 2 && port <= 3);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"everything", test_everything},
		{"actions", test_actions},
		{"refusals", test_refusals},
		{"timer_codes", test_timer_codes},
		{"ready", test_ready},
		{"options", test_options},
		{"needless_options", test_needless_options},
		{"cnp_scope", test_cnp_scope},
	};

	return RUN_SUITE("event_list", tests, argc, argv);
}
