/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * What the literature knows of lossless fabrics, each by a ready scenario: the effect, and that its
 * cure takes it away. docs/effects.md has the figures.
 */

#include "apps/lab_measure.h"
#include "apps/lab_run.h"
#include "tests/support/suite.h"

#include <string.h>

#define GB 1e9 /* bit/s */
#define MS UINT64_C(1000000)

static const volatile int never;

struct shown {
	struct vl_scenario *scenario;
	struct vl_results results;
};

#define MOST_CHANGES 6u

/* changes: values of keys, ended by NULL. */
static void show(struct shown *shown, const char *name, const char *const changes[])
{
	struct vl_texts overrides = {.count = 0};
	struct vl_problems problems = {0};
	struct vl_lab_run run = {.results = &shown->results, .interrupted = &never};
	char error[512] = "";

	shown->scenario = NULL;
	for (unsigned int i = 0; changes[i] && i < MOST_CHANGES; i++)
		overrides.values[overrides.count++] = changes[i];
	for (unsigned int i = 0; i < vl_ready_scenario_count; i++) {
		const struct vl_ready_scenario *ready = &vl_ready_scenarios[i];

		if (!strcmp(ready->name, name))
			shown->scenario = vl_scenario_parse(ready->text, strlen(ready->text),
							    &overrides, &problems);
	}
	if (problems.count)
		printf("\n    %s: %s ", name, problems.list[0].text);
	CU_ASSERT_PTR_NOT_NULL_FATAL(shown->scenario);
	run.scenario = shown->scenario;
	CU_ASSERT_FATAL(vl_results_init(&shown->results, shown->scenario));
	CU_ASSERT_EQUAL(vl_lab_run_virtual(&run, error, sizeof(error)), 0);
	CU_ASSERT_STRING_EQUAL(error, "");
}
#define SHOW(shown, name, ...) show(shown, name, (const char *const[]){__VA_ARGS__, NULL})

static void put_away(struct shown *shown)
{
	vl_results_release(&shown->results);
	vl_scenario_free(shown->scenario);
}

static const char *sender_of(const struct vl_qp_result *qp, const struct shown *shown)
{
	return shown->scenario->nodes[qp->pair->from].name;
}

static const char *receiver_of(const struct vl_qp_result *qp, const struct shown *shown)
{
	return shown->scenario->nodes[qp->pair->to].name;
}

/* Payload of a flow's queue pairs together, bit/s. */
static double goodput(const struct shown *shown, const char *flow)
{
	double sum = 0;

	for (unsigned int i = 0; i < shown->results.qp_count; i++) {
		const struct vl_qp_result *qp = &shown->results.qps[i];

		if (!strcmp(qp->pair->flow->name, flow))
			sum += qp->goodput;
	}
	return sum;
}

static const struct vl_link_result *link_from(const struct shown *shown, const char *node,
					      const char *neighbour)
{
	for (unsigned int i = 0; i < shown->results.link_count; i++) {
		const struct vl_link_result *link = &shown->results.links[i];

		if (!strcmp(shown->scenario->nodes[link->node].name, node) &&
		    !strcmp(shown->scenario->nodes[link->neighbour].name, neighbour))
			return link;
	}
	CU_FAIL_FATAL("there is no such link");
	return NULL;
}

static uint64_t lost(const struct shown *shown)
{
	const struct vl_totals *totals = &shown->results.totals;

	return totals->switch_drops + totals->link_losses + totals->data_frames_retransmitted;
}

/* ---- PFC: unfairness, victims ------------------------------------------------------------ */

/* Sender n of the first flow. */
static double sender(const struct shown *shown, unsigned int number)
{
	return shown->results.qps[number - 1].goodput;
}

/* A half of the port to the nearest, a half of what is left to the next, and so on; and the victim,
 * which meets none of them at its receiver, gets no more than they. */
static void test_parking_lot(void)
{
	static const double shares[] = {0.125, 0.125, 0.25, 0.5};
	struct shown pfc, dcqcn;
	double least = 100 * GB, most = 0;

	SHOW(&pfc, "parking-lot-pfc", "duration=20ms");
	for (unsigned int i = 1; i <= 4; i++)
		CU_ASSERT_DOUBLE_EQUAL(sender(&pfc, i) / goodput(&pfc, "parking"), shares[i - 1],
				       0.01);
	CU_ASSERT_TRUE(pfc.results.jain < 0.75);
	CU_ASSERT_TRUE(goodput(&pfc, "victim") < 14 * GB);
	CU_ASSERT_EQUAL(lost(&pfc), 0);

	SHOW(&dcqcn, "parking-lot-pfc", "fabric=pfc_dcqcn");
	for (unsigned int i = 1; i <= 4; i++) {
		least = sender(&dcqcn, i) < least ? sender(&dcqcn, i) : least;
		most = sender(&dcqcn, i) > most ? sender(&dcqcn, i) : most;
	}
	CU_ASSERT_TRUE(most < 1.35 * least);
	CU_ASSERT_TRUE(dcqcn.results.jain > 0.98);
	CU_ASSERT_TRUE(goodput(&dcqcn, "victim") > 59 * GB);
	CU_ASSERT_TRUE(goodput(&dcqcn, "parking") > 0.97 * goodput(&pfc, "parking"));
	CU_ASSERT_EQUAL(lost(&dcqcn), 0);
	CU_ASSERT_TRUE(dcqcn.results.totals.pfc_paused_ns < pfc.results.totals.pfc_paused_ns / 100);
	put_away(&pfc);
	put_away(&dcqcn);
}

/* ---- PFC: storms -------------------------------------------------------------------------- */

#define STORMING "host1"
#define WATCHDOG                                                                                   \
	"switch.watchdog.detection_time=500us", "switch.watchdog.restoration_time=1ms",            \
		"switch.watchdog.poll_interval=100us"

/* Of the flows that have nothing to do with who storms, the part of the 9 Gb/s that the slowest,
 * the fastest and all together get. */
static void bystanders(const struct shown *shown, double *least, double *most, double *mean)
{
	unsigned int count = 0;

	*least = 1;
	*most = 0;
	*mean = 0;
	for (unsigned int i = 0; i < shown->results.qp_count; i++) {
		const struct vl_qp_result *qp = &shown->results.qps[i];
		double part = qp->goodput / (9 * GB);

		if (!strcmp(sender_of(qp, shown), STORMING) ||
		    !strcmp(receiver_of(qp, shown), STORMING))
			continue;
		*least = part < *least ? part : *least;
		*most = part > *most ? part : *most;
		*mean += part;
		count++;
	}
	*mean /= count;
}

static void test_storm(void)
{
	struct shown calm, storm, stopped;
	double least, most, mean;

	SHOW(&calm, "pfc-storm", "storms[0].start=1s");
	bystanders(&calm, &least, &most, &mean);
	CU_ASSERT_TRUE(least > 0.95);

	SHOW(&storm, "pfc-storm", "seed=1");
	bystanders(&storm, &least, &most, &mean);
	CU_ASSERT_EQUAL(most, 0);
	/* It has come to the hosts of all other racks. */
	for (unsigned int i = 0; i < storm.results.link_count; i++) {
		const struct vl_link_result *link = &storm.results.links[i];
		const char *name = storm.scenario->nodes[link->node].name;

		if (!storm.scenario->nodes[link->node].sw && strcmp(name, STORMING))
			CU_ASSERT_TRUE(link->pause_ns > storm.results.end / 2);
	}
	CU_ASSERT_EQUAL(storm.results.totals.switch_drops, 0);

	SHOW(&stopped, "pfc-storm", WATCHDOG);
	bystanders(&stopped, &least, &most, &mean);
	CU_ASSERT_TRUE(least > 0.95);
	/* Only what was for who storms is lost. */
	CU_ASSERT_TRUE(link_from(&stopped, "leaf1", STORMING)->drops.watchdog > 100);
	CU_ASSERT_EQUAL(link_from(&stopped, "leaf1", STORMING)->drops.watchdog,
			stopped.results.totals.switch_drops);
	put_away(&calm);
	put_away(&storm);
	put_away(&stopped);
}

/* A receiver that pauses three quarters of the time takes a quarter of its line; all others, whose
 * receivers are as fast as ever, pay for it, and DCQCN spares them. */
#define SLOW "storms[0].duration=75us", "storms[0].period=100us"
static void test_slow_receiver(void)
{
	double least, most, mean;
	struct shown pfc, dcqcn;

	SHOW(&pfc, "pfc-storm", SLOW);
	SHOW(&dcqcn, "pfc-storm", SLOW, "fabric=pfc_dcqcn", "duration=30ms", "warm_up=20ms");
	CU_ASSERT_TRUE(link_from(&pfc, "leaf1", STORMING)->utilization < 0.27);
	bystanders(&pfc, &least, &most, &mean);
	CU_ASSERT_TRUE(mean < 0.6);
	bystanders(&dcqcn, &least, &most, &mean);
	CU_ASSERT_TRUE(mean > 0.95);
	CU_ASSERT_EQUAL(lost(&pfc) + lost(&dcqcn), 0);
	put_away(&pfc);
	put_away(&dcqcn);
}

/* ---- Deadlock ----------------------------------------------------------------------------- */

static void test_pfc_deadlock(void)
{
	struct shown stands, up_down, watched;

	SHOW(&stands, "pfc-deadlock", "routing=shortest");
	CU_ASSERT_EQUAL(stands.results.deadlock.count, 5);
	CU_ASSERT_EQUAL(stands.results.goodput, 0);
	CU_ASSERT_EQUAL(stands.results.totals.switch_drops, 0);

	SHOW(&up_down, "pfc-deadlock", "routing=up_down");
	CU_ASSERT_EQUAL(up_down.results.deadlock.count, 0);
	CU_ASSERT_TRUE(up_down.results.goodput > 200 * GB);
	CU_ASSERT_EQUAL(lost(&up_down), 0);

	SHOW(&watched, "pfc-deadlock", WATCHDOG, "duration=20ms");
	/* It only ever frees what will stand again soon. */
	CU_ASSERT_TRUE(watched.results.goodput > 10 * GB);
	CU_ASSERT_TRUE(watched.results.goodput < up_down.results.goodput / 5);
	CU_ASSERT_TRUE(watched.results.totals.switch_drops > 1000);
	put_away(&stands);
	put_away(&up_down);
	put_away(&watched);
}

static void test_credit_deadlock(void)
{
	struct shown stands, up_down;

	SHOW(&stands, "infiniband-credit-loop", "infiniband.routing=min_hop");
	CU_ASSERT_EQUAL(stands.results.deadlock.count, 5);
	CU_ASSERT_EQUAL(stands.results.goodput, 0);
	CU_ASSERT_STRING_NOT_EQUAL(stands.results.possible_deadlock, "");

	SHOW(&up_down, "infiniband-credit-loop", "infiniband.routing=up_down");
	CU_ASSERT_EQUAL(up_down.results.deadlock.count, 0);
	CU_ASSERT_TRUE(up_down.results.goodput > 150 * GB);
	CU_ASSERT_STRING_EQUAL(up_down.results.possible_deadlock, "");
	CU_ASSERT_EQUAL(lost(&stands) + lost(&up_down), 0);
	put_away(&stands);
	put_away(&up_down);
}

/* ---- Loss and marking --------------------------------------------------------------------- */

static void test_incast(void)
{
	struct shown lossy, pfc, infiniband;

	SHOW(&lossy, "leaf-spine-incast", "fabric=lossy");
	SHOW(&pfc, "leaf-spine-incast", "fabric=pfc");
	SHOW(&infiniband, "leaf-spine-incast", "fabric=infiniband");
	CU_ASSERT_TRUE(lossy.results.totals.switch_drops > 1000);
	CU_ASSERT_TRUE(lossy.results.totals.data_frames_retransmitted > 1000);
	CU_ASSERT_EQUAL(lost(&pfc) + lost(&infiniband), 0);
	CU_ASSERT_TRUE(pfc.results.totals.pfc_pause_tx > 100);
	CU_ASSERT_TRUE(infiniband.results.totals.credit_stall_ns > 1000000);
	/* 30 MiB take 2.56 ms; the run ends with the last of them. */
	CU_ASSERT_TRUE(lossy.results.end > 2 * pfc.results.end);
	CU_ASSERT_TRUE(pfc.results.end < 3 * MS && infiniband.results.end < 3 * MS);
	put_away(&lossy);
	put_away(&pfc);
	put_away(&infiniband);
}

static void test_late_marking(void)
{
	struct shown late, early;

	SHOW(&late, "ecn-after-pfc", "duration=20ms");
	CU_ASSERT_EQUAL(late.results.totals.ecn_marked, 0);
	CU_ASSERT_EQUAL(late.results.totals.cnp_tx, 0);
	CU_ASSERT_TRUE(late.results.totals.pfc_pause_tx > 1000);
	CU_ASSERT_TRUE(late.results.bottleneck.queue_mean > 900e3);

	SHOW(&early, "ecn-after-pfc", "switches[0].ecn.kmin=100KB", "switches[0].ecn.kmax=400KB");
	CU_ASSERT_TRUE(early.results.totals.ecn_marked > 100);
	CU_ASSERT_TRUE(early.results.totals.cnp_tx > 50);
	/* Only while all begin at line rate. */
	CU_ASSERT_TRUE(early.results.totals.pfc_pause_tx < late.results.totals.pfc_pause_tx / 50);
	CU_ASSERT_TRUE(early.results.bottleneck.queue_mean < 150e3);
	CU_ASSERT_EQUAL(lost(&late) + lost(&early), 0);
	put_away(&late);
	put_away(&early);
}

/* ---- InfiniBand --------------------------------------------------------------------------- */

/* The victim gets an equal part of what the hot port lets through; on its own lane, its line; with
 * congestion control on the same lane, nearly so. */
static void test_head_of_line(void)
{
	struct shown one, two, controlled;

	SHOW(&one, "infiniband-head-of-line", "infiniband.virtual_lanes=1");
	SHOW(&two, "infiniband-head-of-line", "infiniband.virtual_lanes=2");
	SHOW(&controlled, "infiniband-head-of-line", "fabric=infiniband_congestion_control",
	     "duration=10ms");
	CU_ASSERT_DOUBLE_EQUAL(goodput(&one, "victim") / GB, 24.6, 0.5);
	CU_ASSERT_DOUBLE_EQUAL(goodput(&two, "victim") / GB, 98.4, 0.5);
	CU_ASSERT_TRUE(goodput(&controlled, "victim") > 3.5 * goodput(&one, "victim"));
	CU_ASSERT_TRUE(controlled.results.totals.fecn_rx > 0);
	/* The hot port loses nothing by either. */
	CU_ASSERT_TRUE(goodput(&two, "incast") > 0.99 * goodput(&one, "incast"));
	CU_ASSERT_TRUE(goodput(&controlled, "incast") > 0.97 * goodput(&one, "incast"));
	/* Congestion no longer holds the link between the switches. */
	CU_ASSERT_TRUE(link_from(&one, "left", "right")->credit_stall_ns >
		       one.results.end * 9 / 10);
	CU_ASSERT_TRUE(link_from(&controlled, "left", "right")->credit_stall_ns <
		       controlled.results.end / 2);
	CU_ASSERT_EQUAL(lost(&one) + lost(&two) + lost(&controlled), 0);
	put_away(&one);
	put_away(&two);
	put_away(&controlled);
}

/* Packets of 66 blocks (4096 B of payload, with GRH); a round trip is the way there and back, the
 * packet's 4164 B on the line with start and end delimiters, and the 8 of the flow-control packet.
 */
static void test_credit_limit(void)
{
	static const struct {
		unsigned int packets;
		double delay; /* us */
	} cases[] = {{2, 1}, {4, 5}, {8, 10}, {15, 25}, {31, 25}, {31, 100}};
	char buffer[48], delay[48];

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double credits = cases[i].packets * 66;
		double round_trip = 2e-6 * cases[i].delay + (4164 + 8) * 8 / (100 * GB);
		double expected = credits * 64 * 8 / round_trip * 4096 / (66 * 64);
		struct shown shown;

		snprintf(buffer, sizeof(buffer), "infiniband.buffer=%.0fB", credits * 64);
		snprintf(delay, sizeof(delay), "links[0].delay=%.0fus", cases[i].delay);
		SHOW(&shown, "infiniband-credits", buffer, delay);
		CU_ASSERT_DOUBLE_EQUAL(goodput(&shown, "bulk") / expected, 1, 0.02);
		put_away(&shown);
	}
}

/* Flows that collide by their hash: at least so often that it takes four times, and with DCQCN
 * longer, as rates that were cut come back by a timer that is longer than the transfers. */
static void test_short_transfers(void)
{
	struct shown pfc, dcqcn, soon;
	double times;

	SHOW(&pfc, "permutation", "fabric=pfc");
	SHOW(&dcqcn, "permutation", "seed=1");
	SHOW(&soon, "permutation", "congestion_control.parameters.rpg_time_reset=30");
	times = pfc.results.workloads[0].metrics.job_slowdown.mean;
	CU_ASSERT_TRUE(times > 3.5 && times < 4.5);
	CU_ASSERT_TRUE(dcqcn.results.workloads[0].metrics.job_slowdown.mean > 1.5 * times);
	CU_ASSERT_TRUE(soon.results.workloads[0].metrics.job_slowdown.mean < 1.25 * times);
	CU_ASSERT_EQUAL(lost(&dcqcn), 0);
	put_away(&pfc);
	put_away(&dcqcn);
	put_away(&soon);
}

static const struct test tests[] = {
	{"parking_lot", test_parking_lot},         {"storm", test_storm},
	{"slow_receiver", test_slow_receiver},     {"pfc_deadlock", test_pfc_deadlock},
	{"credit_deadlock", test_credit_deadlock}, {"incast", test_incast},
	{"late_marking", test_late_marking},       {"head_of_line", test_head_of_line},
	{"credit_limit", test_credit_limit},       {"short_transfers", test_short_transfers},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("effects", tests, argc, argv);
}
