/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* A probe in real time through two ports: the emulated switch, run by a worker on the other ends of
 * two rings, is found out as one in virtual time is. */

#include "apps/probe/live.h"
#include "dataplane/fabric/switch.h"
#include "dataplane/probe/probe.h"
#include "dataplane/runtime/mempool.h"
#include "tests/vdev/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Slow, so that pauses are long (0.3 s) against what a shared machine keeps threads waiting. */
#define RATE      UINT64_C(100000000)
#define LATENESS  UINT64_C(5000000) /* ns */
#define PRIORITY  3u
#define RING_SIZE 1024u
#define KMIN      30000u
#define KMAX      60000u
#define PMAX      0.5
#define XOFF      80000u
#define XON       50000u
#define HEADROOM  60000u

static struct vl_error problem;

/* The switch on its worker: a line of RATE behind each of its ports. */
struct live_switch {
	struct vl_switch *sw;
	struct vl_mbuf_frame_pool pool;
	struct vl_port *ports[VL_PROBE_SIDES];
	uint64_t free_at[VL_PROBE_SIDES];
};

struct bench {
	struct live_switch sw;
	struct vl_port *ends[VL_PROBE_SIDES][2]; /* by side: the probe's, the switch's */
	struct vl_ports ports;
	struct probe_live *live;
	struct vl_worker *worker;
};

static void take(struct live_switch *sw, unsigned int port, uint64_t now)
{
	struct rte_mbuf *mbufs[VL_PORT_BURST];
	uint16_t count = vl_port_receive(sw->ports[port], 0, mbufs, VL_PORT_BURST);

	for (uint16_t i = 0; i < count; i++) {
		struct vl_frame *frame = vl_frame_of_received(mbufs[i], &sw->pool);

		frame->kind = VL_FRAME_ETHERNET;
		vl_switch_receive(sw->sw, port, frame, now);
	}
}

/* What a line could not send while its worker did not run it sends at once. */
static uint32_t give(struct live_switch *sw, unsigned int port, uint64_t now)
{
	struct vl_frame *frame;
	struct rte_mbuf *mbuf;
	uint32_t given = 0;

	if (sw->free_at[port] + LATENESS < now)
		sw->free_at[port] = now - LATENESS;
	for (; now >= sw->free_at[port]; given++) {
		frame = vl_switch_transmit(sw->sw, port, now);
		if (!frame) {
			sw->free_at[port] = now;
			break;
		}
		sw->free_at[port] += (uint64_t)(frame->length + 24) * 8 * 1000000000 / RATE;
		mbuf = vl_mbuf_of_frame(frame);
		while (!vl_port_transmit(sw->ports[port], 0, &mbuf, 1))
			;
	}
	return given;
}

static uint32_t run_switch(void *context, uint64_t now)
{
	struct live_switch *sw = context;
	uint32_t moved = 0;

	for (unsigned int port = 0; port < VL_PROBE_SIDES; port++) {
		take(sw, port, now);
		moved += give(sw, port, now);
	}
	while (vl_switch_next_pfc_port(sw->sw) != VL_SWITCH_NO_PORT)
		;
	return moved;
}

static struct vl_switch *make_switch(struct live_switch *live)
{
	static const uint8_t macs[VL_PROBE_SIDES][6] = {{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2}};
	struct vl_switch_config config;
	struct vl_switch *sw;
	int error;

	vl_switch_config_defaults(&config, VL_PROBE_SIDES, 1000000);
	vl_switch_config_lossless(&config.port, PRIORITY, XOFF, XON, HEADROOM);
	config.port.queues[PRIORITY].red = vl_red_marking(VL_RED_AT_ENQUEUE, KMIN, KMAX, PMAX);
	sw = vl_switch_create(&config, &live->pool.pool, &error);
	for (unsigned int i = 0; sw && i < VL_PROBE_SIDES; i++) {
		vl_switch_set_port_rate(sw, i, RATE);
		vl_switch_add_route(sw, macs[i], i);
	}
	return sw;
}

static void make_bench(struct bench *bench)
{
	const struct vl_stage stage = {run_switch, &bench->sw};
	struct vl_probe_bench *made;

	memset(bench, 0, sizeof(*bench));
	for (unsigned int i = 0; i < VL_PROBE_SIDES; i++) {
		CU_ASSERT_EQUAL_FATAL(vl_ring_link_open(i ? "receiver" : "sender", 1, RING_SIZE,
							bench->ends[i], &problem),
				      0);
		bench->ports.ports[i] = bench->ends[i][0];
		bench->sw.ports[i] = bench->ends[i][1];
		bench->ports.mempools[i] =
			vl_mempool_create(i ? "receiver" : "sender", PROBE_LIVE_MBUFS, &problem);
		CU_ASSERT_PTR_NOT_NULL_FATAL(bench->ports.mempools[i]);
	}
	bench->ports.count = VL_PROBE_SIDES;
	vl_mbuf_frame_pool_init(&bench->sw.pool, bench->ports.mempools[VL_PROBE_RECEIVER]);
	bench->sw.sw = make_switch(&bench->sw);
	CU_ASSERT_PTR_NOT_NULL_FATAL(bench->sw.sw);
	bench->worker = vl_worker_create(0, &problem);
	CU_ASSERT_PTR_NOT_NULL_FATAL(bench->worker);
	CU_ASSERT_EQUAL_FATAL(vl_worker_add_stage(bench->worker, &stage), 0);
	CU_ASSERT_EQUAL_FATAL(vl_worker_start(bench->worker, &problem), 0);
	bench->live = probe_live_create(&bench->ports, RATE, &problem);
	CU_ASSERT_PTR_NOT_NULL_FATAL(bench->live);
	made = probe_live_bench(bench->live);
	made->lateness = LATENESS;
	for (unsigned int i = 0; i < VL_PROBE_SIDES; i++) {
		memcpy(made->macs[i], (uint8_t[6]){2, 0, 0, 0, 0, (uint8_t)(1 + i)}, 6);
		memcpy(made->addresses[i], (uint8_t[4]){192, 0, 2, (uint8_t)(1 + i)}, 4);
	}
}

/* Nothing that was sent is kept anywhere. */
static void end_bench(struct bench *bench)
{
	vl_worker_stop(bench->worker);
	vl_worker_destroy(bench->worker);
	vl_switch_destroy(bench->sw.sw);
	probe_live_destroy(bench->live);
	for (unsigned int i = 0; i < VL_PROBE_SIDES; i++) {
		vl_port_close(bench->ends[i][0]);
		vl_port_close(bench->ends[i][1]);
	}
	for (unsigned int i = 0; i < VL_PROBE_SIDES; i++) {
		CU_ASSERT_EQUAL(rte_mempool_in_use_count(bench->ports.mempools[i]), 0);
		rte_mempool_free(bench->ports.mempools[i]);
	}
}

/* Found within 5 %, or four deviations that are no excuse. */
static bool is_near(const char *what, double found, double error, double expected)
{
	bool good =
		fabs(found - expected) <= 0.05 * expected + 4 * error && 4 * error < 0.2 * expected;

	printf("%s %.5g +- %.2g ", what, found, error);
	return good;
}

/* False: the probe's error, if it is not empty, says what was not found out. */
static bool find_all(struct vl_probe *probe)
{
	struct vl_probe_marking marking;

	/* As XOFF would tell, which takes hundreds of waits. */
	probe->cell = 1;
	return !vl_probe_ecn(probe, &marking) && marking.is_marking && !marking.at_dequeue &&
	       is_near("kmin", marking.kmin, marking.kmin_error, KMIN) &&
	       is_near("kmax", marking.kmax, marking.kmax_error, KMAX) &&
	       is_near("pmax", marking.pmax, marking.pmax_error, PMAX);
}

/* A worker that is kept from running for milliseconds is a switch that stands still, and no probe
 * finds out what such a one does. */
static bool is_machine_busy(void)
{
	double load;

	return getloadavg(&load, 1) == 1 && load > test_cpu_count();
}

static void test_switch(void)
{
	const struct vl_probe_config config = {
		.dscp = 26, .priority = PRIORITY, .most_frames = 50000};
	struct vl_probe probe;
	struct bench bench;
	bool good;

	make_bench(&bench);
	good = !vl_probe_open(&probe, probe_live_bench(bench.live), &config) && find_all(&probe);
	printf("%llu frames, %u lapses %s ", (unsigned long long)probe.sent, probe.lapses,
	       probe.error);
	if (!good && (probe.lapses || is_machine_busy()))
		skip_test("the machine is busy");
	else
		CU_ASSERT(good);
	vl_probe_close(&probe);
	end_bench(&bench);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"switch", test_switch},
	};
	int status;

	/* The switch's and the probe's. */
	if (test_cpu_count() < 2) {
		printf("skipped: needs 2 CPUs\n");
		return TEST_SKIPPED;
	}
	status = test_start_eal(1);
	if (status)
		return status;
	status = RUN_SUITE("vdev/probe_live", tests, argc, argv);
	vl_eal_stop();
	return status;
}
