/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Reliable connections over links that lose, duplicate, reorder, delay, mark and corrupt: every
 * message arrives once, intact and in order, or ends in the right error. Without arguments the
 * suite; test-property-rc_network --messages N --seed S for one longer run of as many cases as it
 * takes, case n with seed S + n.
 */

#include "tests/property/rc_traffic.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CASE_MESSAGES  20000u
#define SUITE_MESSAGES UINT64_C(1000000)

static const double loss_rates[] = {0, 0, 0.0005, 0.005, 0.02, 0.05, 0.1};
static const double other_rates[] = {0, 0, 0.002, 0.02, 0.05};

static double pick(struct vl_random *random, const double *rates, unsigned int count)
{
	return rates[vl_random_below(random, count)];
}

static struct vl_impairments random_impairments(struct vl_random *random)
{
	struct vl_impairments impairments = {
		.loss = pick(random, loss_rates, 7),
		.duplicate = pick(random, other_rates, 5),
		.reorder = pick(random, other_rates, 5),
		.corrupt = pick(random, other_rates, 4),
		.mark = pick(random, other_rates, 5),
		.reorder_frames = 1 + (uint32_t)vl_random_below(random, 8),
		.reorder_hold = 20000,
	};

	if (!vl_random_below(random, 4))
		impairments.jitter = vl_random_below(random, 5000);
	return impairments;
}

static bool is_lossy(const struct traffic_parameters *parameters)
{
	return parameters->impairments[0].loss > 0 || parameters->impairments[0].corrupt > 0 ||
	       parameters->impairments[1].loss > 0 || parameters->impairments[1].corrupt > 0;
}

static struct traffic_parameters random_case(uint64_t seed, uint64_t messages)
{
	struct vl_random random = {seed};
	struct traffic_parameters parameters = {
		.seed = seed,
		.messages = messages,
		.connections = 1 + (unsigned int)vl_random_below(&random, TRAFFIC_MAX_QPS),
		.mtu = (enum ibv_mtu)(IBV_MTU_256 + vl_random_below(&random, 5)),
		.through_switch = !vl_random_below(&random, 3),
		.shared_receives = !vl_random_below(&random, 4),
		.unlimited_credits = !vl_random_below(&random, 3),
		.late_receives = !vl_random_below(&random, 3),
		.rd_atomic = (uint8_t)(1 + vl_random_below(&random, 16)),
		.timeout = (uint8_t)(4 + vl_random_below(&random, 4)),
		.retry_count = 7,
		.rnr_retry = 7,
		.largest = TRAFFIC_LARGEST,
		.ends_in_error = !vl_random_below(&random, 2),
	};

	parameters.impairments[0] = random_impairments(&random);
	parameters.impairments[1] = random_impairments(&random);
	if (is_lossy(&parameters) && !vl_random_below(&random, 4))
		parameters.retry_count = (uint8_t)(1 + vl_random_below(&random, 3));
	if (parameters.late_receives && !vl_random_below(&random, 2))
		parameters.rnr_retry = (uint8_t)vl_random_below(&random, 7);
	return parameters;
}

static struct traffic_result run_and_report(const struct traffic_parameters *parameters)
{
	struct traffic_result result;

	traffic_run(parameters, &result);
	if (!result.failure[0] && result.lost_connections && !is_lossy(parameters) &&
	    parameters->rnr_retry == 7 && !parameters->stays_dead)
		snprintf(result.failure, sizeof(result.failure),
			 "seed %llu: retries ran out on a link that loses nothing",
			 (unsigned long long)parameters->seed);
	if (result.failure[0])
		printf("\n    FAILED %s\n", result.failure);
	return result;
}

static void add(struct traffic_result *sum, const struct traffic_result *result)
{
	sum->messages += result->messages;
	sum->bytes += result->bytes;
	sum->lost_connections += result->lost_connections;
	sum->errors_provoked += result->errors_provoked;
	sum->retransmitted += result->retransmitted;
	sum->corrupted += result->corrupted;
	sum->dropped += result->dropped;
	sum->duplicated += result->duplicated;
	sum->reordered += result->reordered;
	sum->rnr_naks += result->rnr_naks;
}

static void print(const struct traffic_result *sum)
{
	printf("\n    %llu messages, %.1f MB; %llu frames lost, %llu duplicated, %llu reordered, "
	       "%llu corrupted; %llu packets sent again, %llu RNR NAKs; %llu connections out of "
	       "retries, %llu wrong requests refused\n    ",
	       (unsigned long long)sum->messages, (double)sum->bytes * 1e-6,
	       (unsigned long long)sum->dropped, (unsigned long long)sum->duplicated,
	       (unsigned long long)sum->reordered, (unsigned long long)sum->corrupted,
	       (unsigned long long)sum->retransmitted, (unsigned long long)sum->rnr_naks,
	       (unsigned long long)sum->lost_connections, (unsigned long long)sum->errors_provoked);
}

/* As many cases as it takes. Returns the number that failed. */
static unsigned int run_many(uint64_t seed, uint64_t messages)
{
	struct traffic_result sum = {0};
	unsigned int failures = 0;

	while (sum.messages < messages && failures < 5) {
		struct traffic_parameters parameters =
			random_case(seed++, messages < CASE_MESSAGES ? messages : CASE_MESSAGES);
		struct traffic_result result = run_and_report(&parameters);

		failures += result.failure[0] != 0;
		add(&sum, &result);
	}
	print(&sum);
	return failures;
}

static void test_clean_link(void)
{
	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct traffic_parameters parameters = random_case(seed, 4000);
		struct traffic_result result;

		memset(parameters.impairments, 0, sizeof(parameters.impairments));
		parameters.late_receives = false;
		result = run_and_report(&parameters);
		CU_ASSERT_EQUAL(result.failure[0], 0);
		CU_ASSERT_EQUAL(result.lost_connections, 0);
		CU_ASSERT_TRUE(result.messages >= 4000);
	}
}

static void test_impaired_links(void)
{
	CU_ASSERT_EQUAL(run_many(1000, test_repetitions(SUITE_MESSAGES)), 0);
}

/* A duplicate of an answered READ is being answered again when the next READ, which the requester
 * may send as it has its answer, wants the same responder resource. */
static void test_late_duplicates_of_reads(void)
{
	for (uint64_t seed = 90; seed < 96; seed++) {
		struct traffic_parameters parameters = random_case(seed, test_repetitions(4000));
		struct traffic_result result;

		memset(parameters.impairments, 0, sizeof(parameters.impairments));
		parameters.impairments[0].duplicate = parameters.impairments[1].duplicate = 0.3;
		parameters.impairments[0].jitter = parameters.impairments[1].jitter = 20000;
		parameters.rd_atomic = 1 + seed % 2;
		result = run_and_report(&parameters);
		CU_ASSERT_EQUAL(result.failure[0], 0);
		CU_ASSERT_EQUAL(result.lost_connections, 0);
	}
}

static void test_same_seed_same_run(void)
{
	for (uint64_t seed = 50; seed < 55; seed++) {
		struct traffic_parameters parameters = random_case(seed, 2000);
		struct traffic_result first = run_and_report(&parameters);
		struct traffic_result second = run_and_report(&parameters);

		CU_ASSERT_EQUAL(first.failure[0], 0);
		CU_ASSERT_EQUAL(memcmp(&first, &second, sizeof(first)), 0);
	}
}

/* The links fail for good: each connection ends in RETRY_EXC_ERR, and what follows is flushed. */
static void test_dead_link(void)
{
	for (uint64_t seed = 70; seed < 76; seed++) {
		struct traffic_parameters parameters = random_case(seed, 4000);
		struct traffic_result result;

		parameters.stays_dead = true;
		parameters.ends_in_error = false;
		result = run_and_report(&parameters);
		CU_ASSERT_EQUAL(result.failure[0], 0);
		CU_ASSERT_EQUAL(result.lost_connections, parameters.connections);
	}
}

static int run_longer(int argc, char **argv)
{
	uint64_t messages = SUITE_MESSAGES, seed = 1;

	for (int i = 1; i < argc; i += 2) {
		char *end = NULL;

		if (i + 1 < argc && !strcmp(argv[i], "--messages"))
			messages = strtoull(argv[i + 1], &end, 0);
		else if (i + 1 < argc && !strcmp(argv[i], "--seed"))
			seed = strtoull(argv[i + 1], &end, 0);
		if (!end || *end) {
			fprintf(stderr, "usage: rc_network [--messages N] [--seed S]\n");
			return 2;
		}
	}
	return run_many(seed, messages) ? 1 : 0;
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"clean_link", test_clean_link},
		{"impaired_links", test_impaired_links},
		{"late_duplicates_of_reads", test_late_duplicates_of_reads},
		{"same_seed_same_run", test_same_seed_same_run},
		{"dead_link", test_dead_link},
	};

	if (argc > 1 && !strncmp(argv[1], "--", 2))
		return run_longer(argc, argv);
	return RUN_SUITE("rc_network", tests, argc, argv);
}
