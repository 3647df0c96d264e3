/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * An endpoint with a hostile peer, in virtual time, for as long as is asked: frames of every kind
 * of tests/soak/hostile.h, in a flood, beside queue pairs of an honest peer that write, read back
 * and compare. At all times: the honest ones get on and find what they wrote; no byte outside of
 * granted memory changes; every frame that came was accepted, answered or dropped, and is counted
 * so; memory in use does not grow. Queue pairs that the attacker breaks are destroyed and made
 * anew.
 *
 *   soak [--seconds N] [--seed N]        (default: 10; CI runs that, a release an hour)
 *
 * Exit status: 0, 1 something was not so, 2 wrong usage.
 */

#include "tests/soak/soak.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define STEP_NS        1000u
#define CHECK_STEPS    5000u /* 5 ms */
#define WARM_UP_CHECKS 20u

void fail(struct soak *soak, const char *what, uint64_t found, uint64_t expected)
{
	fprintf(stderr, "soak: at %.3f ms: %s: %llu, expected %llu\n",
		(double)vl_network_now(soak->network) * 1e-6, what, (unsigned long long)found,
		(unsigned long long)expected);
	soak->failures++;
}

static bool open_soak(struct soak *soak)
{
	const struct vl_link_config link = {.rate = UINT64_C(100000000000), .propagation = 500};

	soak->network = vl_network_create(NULL);
	return soak->network && open_victim(soak) && open_honest(soak) &&
	       !vl_network_connect(soak->network, soak->victim_node, 0, soak->honest_node, 0, &link,
				   NULL) &&
	       open_attacked(soak) && start_honest(soak);
}

static void close_soak(struct soak *soak)
{
	if (soak->instance)
		vl_instance_close(soak->instance, vl_network_now(soak->network));
	vl_network_destroy(soak->network);
	free_victim_memory(soak);
	free(soak->honest_memory);
	if (soak->memory_in_use) {
		fprintf(stderr, "soak: %lld bytes were not released\n",
			(long long)soak->memory_in_use);
		soak->failures++;
	}
}

static void check(struct soak *soak)
{
	check_progress(soak);
	check_memory(soak);
	check_refused(soak);
	soak->checks++;
	if (soak->checks < WARM_UP_CHECKS) {
		if (soak->memory_in_use > soak->memory_warm)
			soak->memory_warm = soak->memory_in_use;
	} else if (soak->memory_in_use > 2 * soak->memory_warm) {
		fail(soak, "bytes in use grow", (uint64_t)soak->memory_in_use,
		     (uint64_t)soak->memory_warm);
	}
}

static double seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void report(const struct soak *soak, double seconds)
{
	static const char *const reasons[] = {
#define DROP_NAME(name, meaning) meaning,
		VL_DROPS(DROP_NAME)
#undef DROP_NAME
	};
	const uint64_t *drops = vl_device_drops(soak->victim->device);
	uint64_t rounds = 0;

	for (uint32_t i = 0; i < HONEST_QPS; i++)
		rounds += soak->honest[i].rounds;
	printf("%.0f s, %.3f s of virtual time: %llu hostile frames, %llu queue pairs made anew, "
	       "%llu honest rounds of %u bytes\n",
	       seconds, (double)vl_network_now(soak->network) * 1e-9,
	       (unsigned long long)soak->injected, (unsigned long long)soak->reborn,
	       (unsigned long long)rounds, SLOT);
	for (unsigned int i = 0; i < HOSTILE_KIND_COUNT; i++)
		printf("  %12llu sent: %s\n", (unsigned long long)soak->sent[i],
		       hostile_kind_name((enum hostile_kind)i));
	for (unsigned int i = 0; i < VL_DROP_COUNT; i++) {
		if (drops[i])
			printf("  %12llu dropped: %s\n", (unsigned long long)drops[i], reasons[i]);
	}
	printf("  %12llu dropped: MAC control that is none\n",
	       (unsigned long long)soak->victim->counters.mac_control_ignored);
	printf("  %12llu answered with a NAK\n", (unsigned long long)soak->refused);
	printf("  %.1f MB in use\n", (double)soak->memory_in_use * 1e-6);
}

static int run(double seconds, uint64_t seed)
{
	struct soak *soak = calloc(1, sizeof(*soak));
	double until = seconds_now() + seconds;
	int failures;

	if (!soak)
		return 1;
	soak->random.state = seed;
	if (!open_soak(soak)) {
		fprintf(stderr, "soak: cannot be set up\n");
		soak->failures++;
	}
	for (uint64_t step = 1; !soak->failures; step++) {
		attack(soak);
		vl_network_run_until(soak->network, step * STEP_NS);
		tend_attacked(soak);
		if (step % CHECK_STEPS)
			continue;
		check(soak);
		if (seconds_now() >= until)
			break;
	}
	if (soak->victim)
		report(soak, seconds);
	close_soak(soak);
	failures = soak->failures;
	free(soak);
	return failures ? 1 : 0;
}

int main(int argc, char **argv)
{
	static const struct option names[] = {
		{"seconds", required_argument, NULL, 's'},
		{"seed", required_argument, NULL, 'r'},
		{NULL, 0, NULL, 0},
	};
	double seconds = 10;
	uint64_t seed = 1;
	char *end = NULL;
	int name;

	while ((name = getopt_long(argc, argv, "", names, NULL)) != -1) {
		if (name == 's')
			seconds = strtod(optarg, &end);
		else if (name == 'r')
			seed = strtoull(optarg, &end, 0);
		if (name == '?' || *end)
			break;
	}
	if (name != -1 || optind != argc || seconds <= 0) {
		fprintf(stderr, "usage: soak [--seconds N] [--seed N]\n");
		return 2;
	}
	return run(seconds, seed);
}
