// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the verbline authors

/* Both sides of the exercise against each other: what must succeed does, with the right data, also
 * with loss; and each request that must be refused is, with the status that it must have. */

#include "apps/endpoint/exercise.h"
#include "tests/support/pair.h"
#include "tests/support/suite.h"
#include "transport/wire/icrc.h"

#include <errno.h>
#include <string.h>

struct conversation {
	struct pair *pair;
	struct vl_exercise *exercises[2]; /* client, server */
	enum ibv_wc_status last_status;   /* of the client's last request */
	char last_line[2][160];
	uint32_t lines[2];
	uint32_t immediates; /* that the server said it received */
	uint32_t invalidated;
};

static struct conversation conversation;

static void say_client(void *context, const char *line)
{
	(void)context;
	strncpy(conversation.last_line[0], line, sizeof(conversation.last_line[0]) - 1);
	conversation.lines[0]++;
}

static void say_server(void *context, const char *line)
{
	(void)context;
	strncpy(conversation.last_line[1], line, sizeof(conversation.last_line[1]) - 1);
	conversation.lines[1]++;
	conversation.immediates += strstr(line, "immediate") != NULL;
	conversation.invalidated += strstr(line, "invalidated") != NULL;
}

static void poll_side(unsigned int side)
{
	struct pair *pair = conversation.pair;
	struct ibv_wc wc;

	while ((wc = pair_poll_send(pair, side)).status != PAIR_NO_COMPLETION) {
		if (side == 0)
			conversation.last_status = wc.status;
		vl_exercise_complete(conversation.exercises[side], &wc, pair->now);
	}
	while ((wc = pair_poll_recv(pair, side)).status != PAIR_NO_COMPLETION)
		vl_exercise_complete(conversation.exercises[side], &wc, pair->now);
}

/* Runs one conversation; returns the failures of both sides. */
static uint32_t converse(const char *refused, bool ipv6, enum ibv_mtu path_mtu,
			 bool (*hook)(struct pair *, unsigned int, const struct vl_packet *,
				      uint8_t *, uint32_t))
{
	struct pair_options options = {.path_mtu = path_mtu, .ipv6 = ipv6};
	struct pair *pair = pair_open(&options);
	uint32_t failures = 0;
	int error = 0;

	conversation = (struct conversation){.pair = pair};
	pair->hook = hook;
	for (unsigned int side = 0; side < 2; side++) {
		struct vl_exercise_config config = {
			.pd = pair->pd[side],
			.is_server = side == 1,
			.refused = side == 0 ? refused : NULL,
			.say = side == 0 ? say_client : say_server,
		};

		conversation.exercises[side] = vl_exercise_open(&config, &error);
		CU_ASSERT_PTR_NOT_NULL_FATAL(conversation.exercises[side]);
		CU_ASSERT_EQUAL(vl_exercise_prepare(conversation.exercises[side], pair->qp[side]),
				0);
	}
	for (unsigned int side = 0; side < 2; side++)
		vl_exercise_begin(conversation.exercises[side], pair->now);
	for (int i = 0; i < 2000 && !(vl_exercise_is_over(conversation.exercises[0]) &&
				      vl_exercise_is_over(conversation.exercises[1]));
	     i++) {
		pair_run(pair, 1000000);
		poll_side(0);
		poll_side(1);
	}
	/* An error of the responder's alone: the client goes. */
	failures = vl_exercise_failures(conversation.exercises[0]) +
		   vl_exercise_failures(conversation.exercises[1]);
	for (unsigned int side = 0; side < 2; side++) {
		CU_ASSERT_EQUAL(vl_destroy_qp(pair->qp[side]), 0);
		vl_exercise_close(conversation.exercises[side]);
	}
	pair->qp[0] = pair->qp[1] = NULL;
	pair_close(pair);
	return failures;
}

static void accept_all(bool ipv6, enum ibv_mtu path_mtu)
{
	CU_ASSERT_EQUAL(converse(NULL, ipv6, path_mtu, NULL), 0);
	CU_ASSERT_STRING_EQUAL(conversation.last_line[0], "finish                   success");
	CU_ASSERT_EQUAL(conversation.lines[0], 25);
	/* Two binds and the announcement say nothing; 3 SENDs, 3 + 3 with immediate, 2 with
	 * invalidate, and the end. */
	CU_ASSERT_EQUAL(conversation.lines[1], 12);
	CU_ASSERT_EQUAL(conversation.immediates, 7);
	CU_ASSERT_EQUAL(conversation.invalidated, 2);
}

static void check_accepted(void)
{
	accept_all(false, IBV_MTU_1024);
	accept_all(true, IBV_MTU_4096);
	accept_all(false, IBV_MTU_256);
}

static bool lose_every_fifth(struct pair *pair, unsigned int from, const struct vl_packet *packet,
			     uint8_t *frame, uint32_t length)
{
	static uint32_t count;

	(void)pair, (void)from, (void)packet, (void)frame, (void)length;
	return ++count % 5 != 0;
}

static void check_loss(void)
{
	CU_ASSERT_EQUAL(converse(NULL, false, IBV_MTU_1024, lose_every_fifth), 0);
	CU_ASSERT_EQUAL(conversation.immediates, 7);
}

/* Changes the data of one WRITE, and its ICRC so that nobody below notices. */
static bool change_data(struct pair *pair, unsigned int from, const struct vl_packet *packet,
			uint8_t *frame, uint32_t length)
{
	uint32_t icrc;

	(void)pair;
	if (packet->payload_length != 63 || from != 0)
		return true;
	frame[packet->payload - frame] ^= 1;
	icrc = vl_icrc_compute(packet);
	for (int i = 0; i < 4; i++)
		frame[length - 4 + (uint32_t)i] = (uint8_t)(icrc >> 8 * i);
	return true;
}

static void check_wrong_data(void)
{
	CU_ASSERT_EQUAL(converse(NULL, false, IBV_MTU_1024, change_data), 1);
}

static void check_refused(void)
{
	for (const char *const *name = vl_exercise_refused_requests; *name; name++) {
		enum ibv_wc_status expected = IBV_WC_REM_ACCESS_ERR;

		if (!strcmp(*name, "atomic-misaligned") || !strcmp(*name, "send-too-long"))
			expected = IBV_WC_REM_INV_REQ_ERR;
		if (!strcmp(*name, "send-inv-bad-rkey"))
			expected = IBV_WC_SUCCESS;
		CU_ASSERT_EQUAL(converse(*name, false, IBV_MTU_1024, NULL), 0);
		if (conversation.last_status != expected)
			printf("%s: %s\n", *name, conversation.last_line[0]);
		CU_ASSERT_EQUAL(conversation.last_status, expected);
		CU_ASSERT_EQUAL(conversation.lines[0], 1);
		CU_ASSERT_EQUAL(conversation.lines[1], 1);
	}
}

static void check_no_such_request(void)
{
	struct vl_exercise_config config = {.refused = "write-nonsense"};
	int error = 0;

	CU_ASSERT_PTR_NULL(vl_exercise_open(&config, &error));
	CU_ASSERT_EQUAL(error, -EINVAL);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"accepted", check_accepted},
		{"loss", check_loss},
		{"wrong_data", check_wrong_data},
		{"refused", check_refused},
		{"no_such_request", check_no_such_request},
	};

	return RUN_SUITE("exercise", tests, argc, argv);
}
