/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Probing emulated switches whose configuration is known, through their two ports alone: random
 * rates, cables, cells, thresholds and marking are found out within 5 %.
 */

#include "dataplane/probe/probe.h"
#include "dataplane/probe/virtual.h"
#include "tests/support/suite.h"
#include "transport/random.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define PRIORITY       3u
#define DSCP           26u
#define CONFIGURATIONS 50u
#define TOLERANCE      0.05

struct truth {
	uint64_t rate, propagation[VL_PROBE_SIDES];
	uint32_t cell; /* 0: bytes */
	bool is_dynamic, at_dequeue;
	double alpha;
	uint64_t xoff, xon, headroom, kmin, kmax;
	double pmax;
};

static uint64_t between(struct vl_random *random, uint64_t least, uint64_t most)
{
	return least + vl_random_below(random, most - least + 1);
}

static struct truth make_truth(uint64_t seed)
{
	static const uint64_t rates[] = {25, 100, 400};
	static const uint32_t cells[] = {0, 0, 80, 208, 254, 256};
	struct vl_random random = {seed};
	struct truth truth = {
		.rate = rates[between(&random, 0, 2)] * UINT64_C(1000000000),
		.propagation = {between(&random, 5, 1500), between(&random, 5, 1500)},
		.cell = cells[between(&random, 0, 5)],
		.is_dynamic = between(&random, 0, 1),
		.at_dequeue = between(&random, 0, 1),
		.xoff = between(&random, 60000, 600000),
		.headroom = between(&random, 40000, 300000),
		.kmin = between(&random, 10000, 150000),
		.pmax = (double)between(&random, 5, 100) / 100,
	};

	truth.xon = truth.xoff * between(&random, 20, 90) / 100;
	truth.kmax = truth.kmin * between(&random, 150, 500) / 100;
	truth.alpha = 1.0 / (double)(1u << between(&random, 0, 3));
	return truth;
}

/* The switch, and enough room that everything can be held and found out. */
static struct vl_probe_virtual *make_bench(const struct truth *truth)
{
	const struct vl_link_config cables[VL_PROBE_SIDES] = {
		{.rate = truth->rate, .propagation = truth->propagation[0]},
		{.rate = truth->rate, .propagation = truth->propagation[1]},
	};
	uint64_t headroom = truth->headroom;
	struct vl_switch_config config;
	struct vl_probe_virtual *bench;
	char error[256];

	/* Above Kmax by all means. */
	if (truth->xoff + headroom < 2 * truth->kmax)
		headroom = 2 * truth->kmax;
	vl_switch_config_defaults(&config, 2, 8000000 + 2 * headroom);
	config.cell_size = truth->cell;
	config.seed = truth->kmin;
	vl_switch_config_lossless(&config.port, PRIORITY, truth->xoff, truth->xon, headroom);
	if (truth->is_dynamic) {
		/* alpha * (shared - used) = used: at xoff, if so much is shared. */
		config.port.groups[PRIORITY].threshold = vl_threshold_dynamic(truth->alpha);
		config.buffer =
			(uint64_t)((double)truth->xoff * (1 + truth->alpha) / truth->alpha) +
			2 * headroom;
	}
	config.port.queues[PRIORITY].red =
		vl_red_marking(truth->at_dequeue ? VL_RED_AT_DEQUEUE : VL_RED_AT_ENQUEUE,
			       truth->kmin, truth->kmax, truth->pmax);
	bench = vl_probe_virtual_create(&config, cables, error, sizeof(error));
	if (!bench)
		printf("%s\n", error);
	return bench;
}

static bool is_near(const char *what, double found, double expected)
{
	if (fabs(found - expected) <= TOLERANCE * expected)
		return true;
	printf("\n    %s: %.0f, not %.0f (%+.1f %%) ", what, found, expected,
	       (found / expected - 1) * 100);
	return false;
}

static bool is_done(struct vl_probe *probe, const char *what, int status)
{
	if (status)
		printf("\n    %s: %s ", what, probe->error);
	return !status;
}

static bool probe_pauses(struct vl_probe *probe, const struct truth *truth)
{
	struct vl_probe_limit xoff = {0}, xon = {0}, headroom = {0};
	uint64_t expected = truth->headroom;
	bool good;

	if (truth->xoff + expected < 2 * truth->kmax)
		expected = 2 * truth->kmax;
	good = is_done(probe, "xoff", vl_probe_xoff(probe, &xoff)) &&
	       is_near("xoff", xoff.size.value, (double)truth->xoff);
	good &= is_done(probe, "xon", vl_probe_xon(probe, &xon)) &&
		is_near("xon", xon.size.value, (double)truth->xon);
	good &= is_done(probe, "headroom", vl_probe_headroom(probe, &headroom)) &&
		is_near("headroom", headroom.size.value, (double)expected);
	return good;
}

static bool probe_marking(struct vl_probe *probe, const struct truth *truth)
{
	struct vl_probe_marking marking;
	bool good;

	if (!is_done(probe, "ecn", vl_probe_ecn(probe, &marking)))
		return false;
	good = is_near("kmin", marking.kmin, (double)truth->kmin);
	good &= is_near("kmax", marking.kmax, (double)truth->kmax);
	good &= is_near("pmax * 1000", marking.pmax * 1000, truth->pmax * 1000);
	if (marking.at_dequeue != truth->at_dequeue)
		printf("\n    at %s ", marking.at_dequeue ? "dequeue" : "enqueue");
	return good && marking.at_dequeue == truth->at_dequeue;
}

static bool probe_one(uint64_t seed)
{
	const struct vl_probe_config config = {.dscp = DSCP, .priority = PRIORITY};
	struct truth truth = make_truth(seed);
	struct vl_probe_virtual *bench = make_bench(&truth);
	struct vl_probe probe = {0};
	bool good = bench && is_done(&probe, "open",
				     vl_probe_open(&probe, vl_probe_virtual_bench(bench), &config));

	if (good) {
		good = probe_pauses(&probe, &truth);
		good &= probe_marking(&probe, &truth);
	}
	if (!good)
		printf("\n    seed %llu: %llu Gb/s, cell %u (found %u), %s, xoff %llu, xon %llu, "
		       "headroom %llu, kmin %llu, kmax %llu, pmax %.2f at %s, %llu frames ",
		       (unsigned long long)seed, (unsigned long long)(truth.rate / 1000000000),
		       truth.cell, probe.cell, truth.is_dynamic ? "dynamic" : "static",
		       (unsigned long long)truth.xoff, (unsigned long long)truth.xon,
		       (unsigned long long)truth.headroom, (unsigned long long)truth.kmin,
		       (unsigned long long)truth.kmax, truth.pmax,
		       truth.at_dequeue ? "dequeue" : "enqueue", (unsigned long long)probe.sent);
	vl_probe_close(&probe);
	vl_probe_virtual_destroy(bench);
	return good;
}

static void test_random_configurations(void)
{
	unsigned int good = 0;

	for (uint64_t seed = 1; seed <= CONFIGURATIONS; seed++)
		good += probe_one(seed);
	printf("\n    %u of %u configurations found out within %g %% ", good, CONFIGURATIONS,
	       TOLERANCE * 100);
	CU_ASSERT_EQUAL(good, CONFIGURATIONS);
}

/* A line so long, at this rate, that frames as long as they may be do not fill it. */
static void test_too_far(void)
{
	const struct vl_probe_config config = {.dscp = DSCP, .priority = PRIORITY};
	struct truth truth = make_truth(1);
	struct vl_probe_virtual *bench;
	struct vl_probe probe = {0};

	truth.rate = UINT64_C(400000000000);
	truth.propagation[0] = truth.propagation[1] = 5000000;
	bench = make_bench(&truth);
	CU_ASSERT_PTR_NOT_NULL_FATAL(bench);
	CU_ASSERT_EQUAL(vl_probe_open(&probe, vl_probe_virtual_bench(bench), &config), -ENOTSUP);
	CU_ASSERT_PTR_NOT_NULL(strstr(probe.error, "too long"));
	vl_probe_close(&probe);
	vl_probe_virtual_destroy(bench);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"random_configurations", test_random_configurations},
		{"too_far", test_too_far},
	};

	return RUN_SUITE("property/probe", tests, argc, argv);
}
