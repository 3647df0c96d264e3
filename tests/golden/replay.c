/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Every capture in pcaps/ is replayed against the stack, in both roles: nothing differs, every
 * recorded packet is accounted for, and what is withheld, tolerated and explained is what it
 * should be.
 */

#include "apps/replay/trial.h"
#include "tests/support/suite.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *path_of(const char *name)
{
	static char path[8192];
	const char *root = getenv("VERBLINE_SOURCE_ROOT");

	snprintf(path, sizeof(path), "%s/pcaps/%s", root ? root : ".", name);
	return path;
}

struct replayed {
	struct recording *recording;
	struct trial *trials;
	uint32_t count;
	struct replay_totals totals;
};

static void open_replayed(struct replayed *replayed, const char *name)
{
	char message[REPLAY_MESSAGE];

	replayed->recording = recording_load(path_of(name), message);
	CU_ASSERT_PTR_NOT_NULL_FATAL(replayed->recording);
	replayed->trials = trials_run(replayed->recording, true, true, &replayed->count);
	CU_ASSERT_PTR_NOT_NULL_FATAL(replayed->trials);
	replayed->totals = report_totals(replayed->trials, replayed->count);
}

static void close_replayed(struct replayed *replayed)
{
	trials_free(replayed->trials, replayed->count);
	recording_free(replayed->recording);
}

static uint32_t recorded_of_side(const struct trial *trial)
{
	const struct conversation *conversation = trial->conversation;

	if (conversation->service == VL_SERVICE_UD || trial->role == REPLAY_REQUESTER)
		return conversation->requests.count;
	return conversation->responses.count;
}

static void check_trial(const struct trial *trial)
{
	const struct conversation *conversation = trial->conversation;
	uint32_t others;

	CU_ASSERT_FALSE(trial->skipped);
	CU_ASSERT_EQUAL(trial->different, 0);
	CU_ASSERT_FALSE(trial->has_difference);
	CU_ASSERT_EQUAL(trial->compared,
			trial->equal + trial->tolerated + trial->explained + trial->different);
	CU_ASSERT_EQUAL(trial->compared - trial->unrecorded + trial->not_compared,
			recorded_of_side(trial));
	if (conversation->service == VL_SERVICE_UD)
		return;
	others = trial->role == REPLAY_RESPONDER ? conversation->requests.count
						 : conversation->responses.count;
	CU_ASSERT_EQUAL(trial->fed + trial->withheld_count + trial->not_fed, others);
}

static void check_capture(const char *name, uint32_t *packets)
{
	struct replayed replayed;
	uint32_t conversed = 0;

	open_replayed(&replayed, name);
	for (uint32_t i = 0; i < replayed.count; i++)
		check_trial(&replayed.trials[i]);
	for (uint32_t i = 0; i < replayed.recording->conversation_count; i++)
		conversed += replayed.recording->conversations[i].requests.count +
			     replayed.recording->conversations[i].responses.count;
	CU_ASSERT_EQUAL(conversed, replayed.recording->total);
	CU_ASSERT_EQUAL(replayed.recording->orphan_responses, 0);
	if (replayed.totals.different)
		printf("%s differs\n", name);
	*packets += (uint32_t)replayed.recording->total;
	close_replayed(&replayed);
}

static void test_whole_corpus(void)
{
	DIR *captures = opendir(path_of(""));
	struct dirent *entry;
	uint32_t packets = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(captures);
	while ((entry = readdir(captures))) {
		const char *suffix = strrchr(entry->d_name, '.');

		if (suffix && !strcmp(suffix, ".pcap"))
			check_capture(entry->d_name, &packets);
	}
	closedir(captures);
	CU_ASSERT_EQUAL(packets, 4255);
}

/* ---- What was lost behind the point of capture ------------------------------------------------
 */

/* Packets of the file that the recorded peer cannot have seen, with the packet that shows it; 0: a
 * silence does. What the host lost is in pcaps/README.md; of that, what nobody would notice (an ACK
 * before a later one, a packet behind a gap) cannot be seen in the capture either. */
static const struct {
	const char *capture;
	enum replay_role role;
	unsigned int count;
	struct {
		uint64_t number, evidence;
	} withheld[16];
} losses[] = {
	{"rxe-loss-rc-acks-ipv4.pcap", REPLAY_REQUESTER, 1, {{40, 41}}},
	{"rxe-loss-rc-read-requests-ipv4.pcap", REPLAY_RESPONDER, 1, {{2, 9}}},
	{"rxe-loss-rc-send-ipv4.pcap", REPLAY_RESPONDER, 1, {{6, 97}}},
	{"rxe-loss-rc-retry-exceeded-ipv4.pcap",
	 REPLAY_RESPONDER,
	 12,
	 {{8, 0},
	  {9, 0},
	  {10, 0},
	  {11, 0},
	  {12, 0},
	  {13, 0},
	  {14, 0},
	  {15, 0},
	  {16, 0},
	  {17, 0},
	  {18, 0},
	  {19, 0}}},
	{"rxe-loss-uc-write-ipv4.pcap", REPLAY_RESPONDER, 0, {{0, 0}}},
	{"rxe-loss-cm-rping-ipv4.pcap", REPLAY_RESPONDER, 0, {{0, 0}}},
	{"rxe-rnr-rc-send-ipv4.pcap", REPLAY_RESPONDER, 0, {{0, 0}}},
	{"rxe-rc-send-16k-ipv4.pcap", REPLAY_RESPONDER, 0, {{0, 0}}},
};

static void check_losses(unsigned int index)
{
	struct replayed replayed;
	unsigned int found = 0;

	open_replayed(&replayed, losses[index].capture);
	for (uint32_t i = 0; i < replayed.count; i++) {
		const struct trial *trial = &replayed.trials[i];

		if (trial->role != losses[index].role) {
			CU_ASSERT_EQUAL(trial->withheld_count, 0);
			continue;
		}
		for (uint32_t j = 0; j < trial->withheld_count; j++, found++) {
			CU_ASSERT_FATAL(found < losses[index].count);
			CU_ASSERT_EQUAL(trial->withheld[j].number,
					losses[index].withheld[found].number);
			CU_ASSERT_EQUAL(trial->withheld[j].evidence,
					losses[index].withheld[found].evidence);
		}
	}
	CU_ASSERT_EQUAL(found, losses[index].count);
	close_replayed(&replayed);
}

static void test_losses(void)
{
	for (unsigned int i = 0; i < sizeof(losses) / sizeof(losses[0]); i++)
		check_losses(i);
}

/* ---- Habits and freedoms ----------------------------------------------------------------------
 */

static void test_rnr_capture(void)
{
	struct replayed replayed;

	open_replayed(&replayed, "rxe-rnr-rc-send-ipv4.pcap");
	/* 9 RNR NAKs, each followed by a sequence NAK for what was under way behind it. */
	CU_ASSERT_EQUAL(replayed.totals.explained, 9);
	CU_ASSERT_EQUAL(replayed.totals.habits[REPLAY_HABIT_nak_sequence_after_rnr_nak], 9);
	CU_ASSERT_EQUAL(replayed.totals.tolerated, 0);
	CU_ASSERT_EQUAL(replayed.totals.equal, 139);
	close_replayed(&replayed);
}

/* The connection manager's exchange says that the capture holds its beginning, so the MSN tells. */
static void test_failed_invalidate(void)
{
	struct replayed replayed;

	open_replayed(&replayed, "rxe-refused-send-inv-bad-rkey-ipv4.pcap");
	CU_ASSERT_EQUAL(replayed.totals.explained, 1);
	CU_ASSERT_EQUAL(replayed.totals.habits[REPLAY_HABIT_failed_invalidate_not_counted], 1);
	close_replayed(&replayed);
}

/* The receive that the recorded responder had is too short for the message's last packet. */
static void test_long_send(void)
{
	struct replayed replayed;

	open_replayed(&replayed, "rxe-refused-send-too-long-ipv4.pcap");
	CU_ASSERT_EQUAL(replayed.totals.explained, 1);
	CU_ASSERT_EQUAL(replayed.totals.habits[REPLAY_HABIT_operational_error_for_long_send], 1);
	close_replayed(&replayed);
}

/* QP1 sent to another host in between, which the capture does not have. */
static void test_other_destinations(void)
{
	struct replayed replayed;

	open_replayed(&replayed, "rxe-cm-rping-twice-ipv4.pcap");
	CU_ASSERT_EQUAL(replayed.totals.different, 0);
	CU_ASSERT_EQUAL(replayed.totals.freedoms[REPLAY_FREEDOM_other_destinations], 1);
	close_replayed(&replayed);
}

/* A middle packet and an end of messages, which the capture has only as they were sent again. */
static void test_loss_before_capture(void)
{
	struct replayed replayed;

	open_replayed(&replayed, "rxe-loss-before-capture-exercise-ipv4.pcap");
	CU_ASSERT_EQUAL(replayed.totals.different, 0);
	CU_ASSERT_EQUAL(replayed.totals.freedoms[REPLAY_FREEDOM_not_captured], 4);
	close_replayed(&replayed);
	/* A READ response that its requester missed too; and what soft-RoCE answers to a READ for
	 * the rest. */
	open_replayed(&replayed, "rxe-loss-before-capture-rping-ipv4.pcap");
	CU_ASSERT_EQUAL(replayed.totals.different, 0);
	CU_ASSERT_EQUAL(replayed.totals.freedoms[REPLAY_FREEDOM_not_captured], 1);
	CU_ASSERT_EQUAL(replayed.totals.explained, 1);
	CU_ASSERT_EQUAL(replayed.totals.habits[REPLAY_HABIT_repeated_read_goes_on], 1);
	close_replayed(&replayed);
}

static bool is_told_of(const char *capture)
{
	return !strcmp(capture, "rxe-rnr-rc-send-ipv4.pcap") ||
	       !strcmp(capture, "rxe-refused-send-inv-bad-rkey-ipv4.pcap") ||
	       !strcmp(capture, "rxe-refused-send-too-long-ipv4.pcap");
}

static void test_nothing_else_is_explained(void)
{
	DIR *captures = opendir(path_of(""));
	struct dirent *entry;
	struct replayed replayed;

	CU_ASSERT_PTR_NOT_NULL_FATAL(captures);
	while ((entry = readdir(captures))) {
		const char *suffix = strrchr(entry->d_name, '.');

		if (!suffix || strcmp(suffix, ".pcap") || strstr(entry->d_name, "before-capture"))
			continue;
		open_replayed(&replayed, entry->d_name);
		if (!is_told_of(entry->d_name))
			CU_ASSERT_EQUAL(replayed.totals.explained, 0);
		/* soft-RoCE asks for an ACK where the stack need not; nothing else is left free. */
		for (unsigned int f = 0; f < REPLAY_FREEDOM_COUNT; f++) {
			if (f != REPLAY_FREEDOM_ack_request &&
			    f != REPLAY_FREEDOM_other_destinations)
				CU_ASSERT_EQUAL(replayed.totals.freedoms[f], 0);
		}
		CU_ASSERT_EQUAL(replayed.totals.extra, 0);
		CU_ASSERT_EQUAL(replayed.totals.unrecorded, 0);
		for (uint32_t i = 0; i < replayed.count; i++) {
			CU_ASSERT_EQUAL(replayed.trials[i].msn_offset, 0);
			CU_ASSERT_EQUAL(replayed.trials[i].overtaken, 0);
		}
		close_replayed(&replayed);
	}
	closedir(captures);
}

static const struct test tests[] = {
	{"whole_corpus", test_whole_corpus},
	{"losses", test_losses},
	{"rnr_capture", test_rnr_capture},
	{"failed_invalidate", test_failed_invalidate},
	{"long_send", test_long_send},
	{"other_destinations", test_other_destinations},
	{"loss_before_capture", test_loss_before_capture},
	{"nothing_else_is_explained", test_nothing_else_is_explained},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("golden-replay", tests, argc, argv);
}
