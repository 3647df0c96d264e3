/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Messages of the control service: what is written is read the same, nonsense is refused. */

#include "apps/control/message.h"
#include "tests/support/suite.h"

#include <errno.h>
#include <string.h>

static char text[VL_CONTROL_MAX_MESSAGE];
static struct vl_control_message message, again;
static char error[200];

static void round_trip(void)
{
	int length = vl_control_encode(&message, text, sizeof(text));

	CU_ASSERT_FATAL(length > 0);
	CU_ASSERT_EQUAL_FATAL(vl_control_decode(text, (size_t)length, &again, error, sizeof(error)),
			      0);
	CU_ASSERT_EQUAL(memcmp(&message, &again, sizeof(message)), 0);
}

static void begin(enum vl_control_type type)
{
	memset(&message, 0, sizeof(message));
	message.type = type;
}

static void test_all_types(void)
{
	begin(VL_CONTROL_HELLO);
	strcpy(message.hello.version, "1.2.3");
	message.hello.protocol = 1;
	message.hello.largest_message = UINT64_C(1) << 31;
	message.hello.qps = 20000;
	round_trip();
	begin(VL_CONTROL_PONG);
	message.ping = (struct vl_control_ping){INT64_MAX, 7};
	round_trip();
	begin(VL_CONTROL_COUNTERS);
	message.counters.counters.data_bytes_rx = 123456789012345;
	message.counters.counters.message_rx = 3;
	message.counters.qps = 5;
	round_trip();
	begin(VL_CONTROL_TIMES);
	message.times = (struct vl_control_times){63, 100};
	round_trip();
	begin(VL_CONTROL_TIMED);
	message.timed.count = 3;
	message.timed.least = 700;
	message.timed.most = INT64_MAX;
	message.timed.early = 1;
	message.timed.sum = 1234567.125;
	message.timed.square_sum = 1e30;
	message.timed.next = 900;
	strcpy(message.timed.arrival_clock, "device");
	message.timed.arrival_error = 1234;
	message.timed.slot_count = VL_CONTROL_MAX_SLOTS;
	for (uint32_t i = 0; i < VL_CONTROL_MAX_SLOTS; i++) {
		message.timed.slots[i].slot = 7000 + i;
		message.timed.slots[i].count = INT64_MAX - i;
	}
	round_trip();
	begin(VL_CONTROL_ERROR);
	strcpy(message.error, "say \"please\"");
	round_trip();
	begin(VL_CONTROL_CLOSE);
	round_trip();
}

/* The most queue pairs, with the longest numbers, fit. */
static void test_full_batch(void)
{
	begin(VL_CONTROL_OPEN);
	message.open = (struct vl_control_open){.transport = IBV_QPT_UC,
						.path_mtu = IBV_MTU_2048,
						.receive_depth = 32768,
						.receive_size = 1u << 31,
						.traffic_class = 255,
						.priority = 7,
						.timeout = 31,
						.retry_count = 7,
						.rnr_retry = 7,
						.is_stamped = true,
						.group = 63,
						.clock_offset = INT64_MIN,
						.count = VL_CONTROL_MAX_QPS};
	for (uint32_t i = 0; i < VL_CONTROL_MAX_QPS; i++)
		message.open.qps[i] = (struct vl_control_qp){0xfffffe - i, 0xffffff - i};
	round_trip();
	message.open.cc.algorithm = &vl_cc_dcqcn;
	message.open.cc.initial_rate = UINT64_C(400000000000);
	CU_ASSERT_EQUAL(vl_dcqcn_profile(&message.open.cc.dcqcn, "nvidia"), 0);
	round_trip();
	begin(VL_CONTROL_OPENED);
	message.opened = (struct vl_control_opened){.address = INT64_MAX,
						    .length = INT64_MAX,
						    .rkey = UINT32_MAX,
						    .qkey = UINT32_MAX,
						    .count = VL_CONTROL_MAX_QPS};
	for (uint32_t i = 0; i < VL_CONTROL_MAX_QPS; i++)
		message.opened.qps[i] = (struct vl_control_qp){0xfffffe, 0xffffff};
	round_trip();
	CU_ASSERT_EQUAL(vl_control_encode(&message, text, 100), -EMSGSIZE);
}

static void refuse(const char *bytes, const char *reason)
{
	CU_ASSERT_EQUAL(vl_control_decode(bytes, strlen(bytes), &again, error, sizeof(error)),
			-EINVAL);
	if (!strstr(error, reason))
		printf("'%s' does not say '%s'\n", error, reason);
	CU_ASSERT_PTR_NOT_NULL(strstr(error, reason));
}

static void test_refusals(void)
{
	refuse("", "not JSON");
	refuse("{\"type\":\"ping\",\"type\":\"ping\",\"sent\":1}", "not JSON");
	refuse("[]", "must be a JSON object");
	refuse("{}", "'type' must be a text");
	refuse("{\"type\":\"greet\"}", "no message is of type 'greet'");
	refuse("{\"type\":\"ping\"}", "'sent' must be a whole number");
	refuse("{\"type\":\"ping\",\"sent\":-1}", "'sent' must be a whole number");
	refuse("{\"type\":\"ping\",\"sent\":1.5}", "'sent' must be a whole number");
	refuse("{\"type\":\"hello\",\"version\":\"a longer version than there can possibly be\"}",
	       "'version' must be a text");
	refuse("{\"type\":\"open\",\"transport\":\"XRC\"}", "RC, UC or UD");
	refuse("{\"type\":\"open\",\"transport\":\"RC\",\"path_mtu\":1500}", "'path_mtu' must be");
	refuse("{\"type\":\"opened\",\"address\":1,\"length\":1,\"rkey\":4294967296}", "'rkey'");
	refuse("{\"type\":\"times\",\"group\":64,\"first\":0}", "'group'");
	refuse("{\"type\":\"timed\",\"count\":1,\"least\":1,\"most\":1,\"early\":0,\"sum\":1.0,"
	       "\"square_sum\":1.0,\"next\":0,\"slots\":[]}",
	       "'arrival_error'");
	refuse("{\"type\":\"timed\",\"count\":1,\"least\":1,\"most\":1,\"early\":0,\"sum\":1.0,"
	       "\"square_sum\":1.0,\"next\":0,\"arrival_error\":0,"
	       "\"arrival_clock\":\"a clock of a long name\",\"slots\":[]}",
	       "'arrival_clock'");
	refuse("{\"type\":\"timed\",\"count\":1,\"least\":1,\"most\":1,\"early\":0,\"sum\":1.0,"
	       "\"square_sum\":1.0,\"next\":0,\"arrival_error\":0,\"arrival_clock\":\"TSC\","
	       "\"slots\":[[7424,1]]}",
	       "'slots[0]'");
	refuse("{\"type\":\"opened\",\"address\":1,\"length\":1,\"rkey\":1,\"qkey\":1,\"qps\":[]}",
	       "'qps' must be a list of 1 to 256");
	refuse("{\"type\":\"opened\",\"address\":1,\"length\":1,\"rkey\":1,\"qkey\":1,"
	       "\"qps\":[[17,1],[1,1]]}",
	       "'qps[1]'");
	refuse("{\"type\":\"opened\",\"address\":1,\"length\":1,\"rkey\":1,\"qkey\":1,"
	       "\"qps\":[[16777215,1]]}",
	       "'qps[0]'");
}

/* A peer's choice of congestion control must be one that can run. */
static void test_refused_choice(void)
{
	char *place;
	int length;

	begin(VL_CONTROL_OPEN);
	message.open = (struct vl_control_open){.path_mtu = IBV_MTU_1024, .count = 1};
	message.open.transport = IBV_QPT_RC;
	message.open.qps[0] = (struct vl_control_qp){17, 1};
	message.open.cc.algorithm = &vl_cc_dcqcn;
	CU_ASSERT_EQUAL(vl_dcqcn_profile(&message.open.cc.dcqcn, "paper"), 0);
	length = vl_control_encode(&message, text, sizeof(text) - 1);
	CU_ASSERT_FATAL(length > 0);
	text[length] = '\0';
	place = strstr(text, "dcqcn");
	CU_ASSERT_PTR_NOT_NULL_FATAL(place);
	*place = 'x';
	refuse(text, "'cc' must be an algorithm");
	*place = 'd';
	place = strstr(text, "\"rpg_gd\":11");
	CU_ASSERT_PTR_NOT_NULL_FATAL(place);
	place[10] = '9';
	refuse(text, "'rpg_gd'");
}

/* What a peer says is printed: none of it may act on a terminal. */
static void test_control_characters(void)
{
	static const char said[] =
		"{\"type\":\"error\",\"reason\":\"a\\u001b[2Jb\\u009bc\\nd\\u007f \xc3\xa4\"}";

	CU_ASSERT_EQUAL_FATAL(
		vl_control_decode(said, sizeof(said) - 1, &again, error, sizeof(error)), 0);
	CU_ASSERT_STRING_EQUAL(again.error, "a?[2Jb??c?d? \xc3\xa4");
}

static const struct test tests[] = {
	{"all_types", test_all_types},
	{"full_batch", test_full_batch},
	{"refusals", test_refusals},
	{"refused_choice", test_refused_choice},
	{"control_characters", test_control_characters},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("control_message", tests, argc, argv);
}
