/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Captures that are hard to replay, made by the stack itself over a network that loses and reorders
 * behind the point of capture: nothing may differ, and what replay finds to have been lost must
 * have been lost.
 */

#include "apps/replay/trial.h"
#include "tests/golden/recorded_network.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[64];

/* ---- Replaying ------------------------------------------------------------------------------- */

struct outcome {
	struct replay_totals totals;
	uint32_t conversations;
	uint32_t false_losses; /* withheld, though they came in time */
	uint32_t orphans, skipped;
};

static void check_balance(const struct trial *trial)
{
	const struct conversation *conversation = trial->conversation;
	uint32_t ours = trial->role == REPLAY_REQUESTER ? conversation->requests.count
							: conversation->responses.count;
	uint32_t theirs = trial->role == REPLAY_REQUESTER ? conversation->responses.count
							  : conversation->requests.count;

	if (trial->skipped)
		return;
	CU_ASSERT_EQUAL(trial->compared - trial->unrecorded + trial->not_compared, ours);
	CU_ASSERT_EQUAL(trial->compared,
			trial->equal + trial->tolerated + trial->explained + trial->different);
	CU_ASSERT_EQUAL(trial->fed + trial->not_fed + trial->withheld_count, theirs);
}

/* first: of the capture's packets in the file. */
static struct outcome replay(const struct network_capture *capture, uint32_t first,
			     const char *title)
{
	struct outcome outcome = {0};
	char message[REPLAY_MESSAGE];
	struct recording *recording = recording_load(path, message);
	struct trial *trials;
	uint32_t count;

	CU_ASSERT_PTR_NOT_NULL_FATAL(recording);
	trials = trials_run(recording, true, true, &count);
	CU_ASSERT_PTR_NOT_NULL_FATAL(trials);
	outcome.totals = report_totals(trials, count);
	outcome.conversations = recording->conversation_count;
	outcome.orphans = recording->orphan_responses;
	for (uint32_t i = 0; i < count; i++) {
		outcome.skipped += trials[i].skipped;
		check_balance(&trials[i]);
		for (uint32_t j = 0; j < trials[i].withheld_count; j++) {
			const struct network_packet *packet =
				&capture->packets[first + trials[i].withheld[j].number - 1];

			outcome.false_losses += !packet->was_lost && !packet->was_late;
		}
	}
	if (outcome.totals.different || getenv("REPLAY_VERBOSE")) {
		printf("\n%s\n", title);
		report_text(stdout, recording, trials, count, false);
	}
	CU_ASSERT_EQUAL(outcome.totals.different, 0);
	trials_free(trials, count);
	recording_free(recording);
	return outcome;
}

static struct outcome record_and_replay(const struct network_parameters *parameters,
					const char *title)
{
	struct network_capture capture;
	struct outcome outcome;

	network_record(parameters, &capture);
	network_write(&capture, 0, UINT32_MAX, NULL, path);
	outcome = replay(&capture, 0, title);
	CU_ASSERT_EQUAL(outcome.orphans, 0);
	CU_ASSERT_EQUAL(outcome.skipped, 0);
	network_release(&capture);
	return outcome;
}

/* ---- Networks ---------------------------------------------------------------------------------
 */

static void test_clean(void)
{
	static const enum ibv_mtu mtus[] = {IBV_MTU_256, IBV_MTU_512, IBV_MTU_1024, IBV_MTU_2048,
					    IBV_MTU_4096};
	struct network_parameters parameters = {
		.connections = 2, .messages = 150, .both_ask = true, .spreads_counters = true};
	struct outcome outcome;

	for (unsigned int i = 0; i < sizeof(mtus) / sizeof(mtus[0]); i++) {
		parameters.seed = 100 + i;
		parameters.mtu = mtus[i];
		parameters.largest = 60000;
		outcome = record_and_replay(&parameters, "clean");
		CU_ASSERT_EQUAL(outcome.conversations, 4);
		CU_ASSERT_EQUAL(outcome.totals.withheld, 0);
		CU_ASSERT_EQUAL(outcome.totals.extra, 0);
	}
}

static void test_encapsulations(void)
{
	static const enum vl_encapsulation kinds[] = {VL_ENCAPSULATION_ROCEV2_IPV4,
						      VL_ENCAPSULATION_ROCEV2_IPV6,
						      VL_ENCAPSULATION_ROCEV1};
	struct network_parameters parameters = {
		.connections = 2, .messages = 100, .both_ask = true, .lost = {20, 20}};
	struct outcome outcome;

	for (unsigned int i = 0; i < 6; i++) {
		parameters.seed = 200 + i;
		parameters.encapsulation = kinds[i % 3];
		parameters.vlan = i >= 3;
		outcome = record_and_replay(&parameters, "encapsulations");
		CU_ASSERT(outcome.false_losses < 2);
		CU_ASSERT(outcome.totals.withheld > 10);
	}
}

/* How often a network is made anew, with other numbers; REPLAY_RUNS asks for more. */
static unsigned int run_count(void)
{
	const char *runs = getenv("REPLAY_RUNS");

	return runs ? (unsigned int)atoi(runs) : 5;
}

/* Some of what did not arrive in time cannot be told from what did: at most so many percent of what
 * is withheld. */
static void sweep(struct network_parameters *parameters, const char *title, uint32_t percent)
{
	uint32_t withheld = 0, false_losses = 0, compared = 0, extra = 0;
	char name[96];

	for (unsigned int i = 0; i < run_count(); i++) {
		struct outcome outcome;

		parameters->seed = parameters->seed * 7919 + i + 1;
		snprintf(name, sizeof(name), "%s, run %u", title, i);
		outcome = record_and_replay(parameters, name);
		withheld += outcome.totals.withheld;
		false_losses += outcome.false_losses;
		compared += outcome.totals.compared;
		extra += outcome.totals.extra;
		/* What the stack alone sends is the exception. */
		CU_ASSERT(outcome.totals.extra * 20 < outcome.totals.compared);
	}
	if (getenv("REPLAY_VERBOSE"))
		printf("%s: compared %u, of the stack alone %u, withheld %u, falsely %u\n", title,
		       compared, extra, withheld, false_losses);
	CU_ASSERT(withheld > 0);
	CU_ASSERT(false_losses * 100 <= withheld * percent);
}

static void test_lost_requests(void)
{
	struct network_parameters parameters = {.seed = 1,
						.connections = 2,
						.messages = 100,
						.both_ask = true,
						.spreads_counters = true,
						.lost = {30, 0}};

	sweep(&parameters, "lost requests", 1);
}

static void test_lost_responses(void)
{
	struct network_parameters parameters = {.seed = 2,
						.connections = 2,
						.messages = 100,
						.both_ask = true,
						.spreads_counters = true,
						.lost = {0, 30}};

	sweep(&parameters, "lost responses", 0);
}

static void test_lost_both_ways(void)
{
	struct network_parameters parameters = {
		.seed = 3, .connections = 3, .messages = 100, .both_ask = true, .lost = {50, 50}};

	sweep(&parameters, "lost both ways", 4);
}

static void test_reordered(void)
{
	struct network_parameters parameters = {
		.seed = 4, .connections = 2, .messages = 100, .both_ask = true, .late = 10};

	sweep(&parameters, "reordered", 0);
}

static void test_few_receives(void)
{
	struct network_parameters parameters = {.seed = 5,
						.connections = 2,
						.messages = 100,
						.both_ask = true,
						.receives = 2,
						.operations =
							NETWORK_SEND | NETWORK_WRITE | NETWORK_READ,
						.lost = {10, 10}};

	sweep(&parameters, "few receives", 4);
	parameters.unlimited_credits = true;
	sweep(&parameters, "few receives, unlimited credits", 4);
}

static void test_counts_over(void)
{
	struct network_parameters parameters = {.seed = 6,
						.connections = 4,
						.messages = 60,
						.both_ask = true,
						.counts_over = true,
						.lost = {20, 20}};

	sweep(&parameters, "PSNs that count over", 2);
}

static void test_small_mtu(void)
{
	struct network_parameters parameters = {.seed = 7,
						.connections = 2,
						.messages = 60,
						.both_ask = true,
						.mtu = IBV_MTU_256,
						.largest = 30000,
						.lost = {10, 10}};

	sweep(&parameters, "long trains", 4);
}

static void test_invalidation(void)
{
	struct network_parameters parameters = {.seed = 8,
						.connections = 1,
						.messages = 200,
						.operations = NETWORK_SEND | NETWORK_WRITE,
						.invalidates = true,
						.largest = 90,
						.lost = {10, 10}};

	sweep(&parameters, "invalidation", 2);
}

static void test_unreliable(void)
{
	struct network_parameters parameters = {.seed = 9,
						.connections = 3,
						.messages = 200,
						.both_ask = true,
						.type = IBV_QPT_UC,
						.lost = {50, 0}};
	struct outcome outcome = record_and_replay(&parameters, "UC");

	CU_ASSERT_EQUAL(outcome.totals.withheld, 0);
	CU_ASSERT_EQUAL(outcome.conversations, 6);
}

/* CE marks make the recorded responder send CNPs, and the stack too: they are no answers. */
static void test_marked(void)
{
	struct network_parameters parameters = {.seed = 10,
						.connections = 2,
						.messages = 100,
						.both_ask = true,
						.spreads_counters = true,
						.marked = true};
	struct outcome outcome = record_and_replay(&parameters, "marked");

	CU_ASSERT_EQUAL(outcome.totals.withheld, 0);
	CU_ASSERT_EQUAL(outcome.totals.extra, 0);
}

/* ---- Who talks to whom -------------------------------------------------------------------------
 */

static void test_same_numbers(void)
{
	struct network_parameters parameters = {.seed = 11,
						.connections = 6,
						.messages = 60,
						.both_ask = true,
						.hosts = 4,
						.same_qpns = true,
						.same_psns = true,
						.lost = {20, 20}};
	struct outcome outcome = record_and_replay(&parameters, "the same QPNs and PSNs");

	CU_ASSERT_EQUAL(outcome.conversations, 12);
}

static void test_shared_counters(void)
{
	struct network_parameters parameters = {
		.seed = 12,
		.connections = 8,
		.messages = 60,
		.hosts = 2,
		.operations = NETWORK_ATOMIC | NETWORK_ATOMIC_WRITE | NETWORK_READ | NETWORK_WRITE,
		.lost = {10, 10}};

	sweep(&parameters, "counters of several connections", 2);
}

/* ---- Parts of captures ------------------------------------------------------------------------
 */

/* From every packet on: in the middle of the connection, and of its messages. */
static void test_begins_anywhere(void)
{
	struct network_parameters parameters = {
		.seed = 13, .connections = 1, .messages = 25, .both_ask = true, .largest = 3000};
	struct network_capture capture;
	struct outcome outcome;
	uint32_t with_offset = 0;

	network_record(&parameters, &capture);
	for (uint32_t first = 0; first + 1 < capture.count; first += 7) {
		network_write(&capture, first, UINT32_MAX, NULL, path);
		outcome = replay(&capture, first, "begins anywhere");
		with_offset += outcome.totals.msn_offsets;
	}
	CU_ASSERT(with_offset > 10);
	network_release(&capture);
}

static void test_ends_anywhere(void)
{
	struct network_parameters parameters = {
		.seed = 14, .connections = 1, .messages = 25, .both_ask = true, .largest = 3000};
	struct network_capture capture;

	network_record(&parameters, &capture);
	for (uint32_t count = 1; count < capture.count; count += 7) {
		network_write(&capture, 0, count, NULL, path);
		replay(&capture, 0, "ends anywhere");
	}
	network_release(&capture);
}

static bool is_sent_by_asker(const struct network_packet *packet)
{
	return packet->is_request;
}

static bool is_sent_by_other(const struct network_packet *packet)
{
	return !packet->is_request;
}

/* One direction alone tells nothing of the other, and must not be taken for a difference. */
static void test_one_side(void)
{
	struct network_parameters parameters = {
		.seed = 15, .connections = 2, .messages = 50, .lost = {20, 20}};
	struct network_capture capture;
	struct outcome outcome;

	network_record(&parameters, &capture);
	network_write(&capture, 0, UINT32_MAX, is_sent_by_asker, path);
	outcome = replay(&capture, 0, "requests alone");
	CU_ASSERT_EQUAL(outcome.skipped, 4);
	CU_ASSERT_EQUAL(outcome.totals.compared, 0);
	network_write(&capture, 0, UINT32_MAX, is_sent_by_other, path);
	outcome = replay(&capture, 0, "answers alone");
	CU_ASSERT_EQUAL(outcome.conversations, 0);
	CU_ASSERT(outcome.orphans > 50);
	network_release(&capture);
}

/* The capturing host was too slow now and then, and has not got everything. */
static bool is_captured(const struct network_packet *packet)
{
	return packet->time / 3000 % 10 != 5;
}

static void test_holes(void)
{
	struct network_parameters parameters = {.seed = 16,
						.connections = 1,
						.messages = 400,
						.operations = NETWORK_SEND | NETWORK_WRITE};
	struct network_capture capture;
	struct outcome outcome;

	network_record(&parameters, &capture);
	network_write(&capture, 0, UINT32_MAX, is_captured, path);
	outcome = replay(&capture, 0, "holes");
	CU_ASSERT(outcome.conversations > 3);
	CU_ASSERT(outcome.totals.compared > 200);
	network_release(&capture);
}

/* ---- Size --------------------------------------------------------------------------------------
 */

static void test_thousand_queue_pairs(void)
{
	struct network_parameters parameters = {
		.seed = 17, .connections = 1000, .messages = 3, .largest = 2000, .lost = {5, 5}};
	struct outcome outcome = record_and_replay(&parameters, "1,000 queue pairs");

	CU_ASSERT_EQUAL(outcome.conversations, 1000);
}

static const struct test tests[] = {
	{"clean", test_clean},
	{"encapsulations", test_encapsulations},
	{"lost_requests", test_lost_requests},
	{"lost_responses", test_lost_responses},
	{"lost_both_ways", test_lost_both_ways},
	{"reordered", test_reordered},
	{"few_receives", test_few_receives},
	{"counts_over", test_counts_over},
	{"small_mtu", test_small_mtu},
	{"invalidation", test_invalidation},
	{"unreliable", test_unreliable},
	{"marked", test_marked},
	{"same_numbers", test_same_numbers},
	{"shared_counters", test_shared_counters},
	{"begins_anywhere", test_begins_anywhere},
	{"ends_anywhere", test_ends_anywhere},
	{"one_side", test_one_side},
	{"holes", test_holes},
	{"thousand_queue_pairs", test_thousand_queue_pairs},
};

int main(int argc, char **argv)
{
	int status, file;

	strcpy(path, "/tmp/replay-hard-XXXXXX");
	file = mkstemp(path);
	if (file < 0)
		return 1;
	close(file);
	status = RUN_SUITE("golden-replay_hard", tests, argc, argv);
	unlink(path);
	return status;
}
