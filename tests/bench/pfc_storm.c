/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * A PFC storm on eight ports from one core, at what a peer with 400 Gb/s needs: a frame pauses it
 * for 84 us, and 60 % of that is the longest gap allowed. Beside it, how often the machine keeps a
 * loop that does nothing but look at the clock from running: no storm can be better than that.
 *
 *   bench-pfc_storm [--quick]    60 s, or 2 s
 */

#include "dataplane/runtime/eal.h"
#include "dataplane/runtime/mempool.h"
#include "dataplane/runtime/pfc_stage.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PORTS     8u
#define RATE_400G UINT64_C(400000000000)
#define SECOND    UINT64_C(1000000000)

/* The loop without anything in it. */
struct idle {
	uint64_t last, limit;
	struct vl_histogram kept;
};

static struct idle idle;
static struct vl_pfc_stage stage;

static uint32_t run_idle(void *context, uint64_t now)
{
	struct idle *loop = context;

	if (loop->last && now - loop->last > loop->limit)
		vl_histogram_record(&loop->kept, now - loop->last);
	loop->last = now;
	return 0;
}

static int run_for(const struct vl_stage *what, uint64_t time, struct vl_error *error)
{
	const struct timespec duration = {(time_t)(time / SECOND), (long)(time % SECOND)};
	struct vl_worker *worker = vl_worker_create(0, error);

	if (!worker)
		return -1;
	if (vl_worker_add_stage(worker, what) || vl_worker_start(worker, error)) {
		vl_worker_destroy(worker);
		return -1;
	}
	nanosleep(&duration, NULL);
	vl_worker_destroy(worker);
	return 0;
}

static int open_ports(struct vl_port **ports, struct rte_mempool **pool, struct vl_error *error)
{
	struct vl_port_config config = {0};

	*pool = vl_mempool_create("storm", 8192, error);
	if (!*pool)
		return -1;
	config.mempools[0] = *pool;
	for (uint32_t i = 0; i < PORTS; i++) {
		char name[64];

		/* Rings, which loop back what is sent, and devices that take it away. */
		snprintf(name, sizeof(name), i % 2 ? "vdev:net_ring%u" : "vdev:net_null%u,no-rx=1",
			 i);
		ports[i] = vl_port_open(name, &config, error);
		if (!ports[i])
			return -1;
	}
	return 0;
}

static int set_up_stage(struct vl_port **ports, struct rte_mempool *pool)
{
	const struct vl_pfc_storm_config config = {
		.mac = {2, 0, 0, 0, 0, 1},
		.classes = 1u << 3 | 1u << 4,
		.rate = RATE_400G,
		.quanta = UINT16_MAX,
		.hold = VL_PFC_HOLD_FOREVER,
	};

	vl_pfc_stage_init(&stage);
	for (uint32_t i = 0; i < PORTS; i++) {
		stage.ports[i].port = ports[i];
		stage.ports[i].mempool = pool;
		/* Not all in the same round. */
		if (vl_pfc_storm_init(&stage.ports[i].storm, &config, 1 + i * 3000))
			return -1;
		vl_pfc_receiver_init(&stage.ports[i].received, stage.ports[i].storm.rate, 0);
		stage.port_count++;
	}
	vl_pfc_stage_prepare(&stage);
	return 0;
}

static int print_result(uint64_t time)
{
	struct vl_histogram *all = calloc(1, sizeof(*all));
	uint64_t stolen = 0, late = 0, broken = 0, refused = 0, frames = 0;

	if (!all)
		return 1;
	for (uint32_t i = 0; i < PORTS; i++) {
		vl_histogram_add(all, &stage.ports[i].storm.gaps);
		stolen += stage.ports[i].storm.stolen_gaps;
		late += stage.ports[i].storm.late_gaps;
		broken += stage.ports[i].storm.broken;
		refused += stage.ports[i].tx_refused + stage.ports[i].no_mbuf;
		frames += stage.ports[i].storm.frames;
	}
	printf("%u ports, %.0f s: %" PRIu64 " frames; longest gap allowed %.1f us\n", PORTS,
	       (double)time / 1e9, frames, (double)stage.ports[0].storm.config.longest_gap / 1e3);
	printf("gaps: p50 %.1f us, p99 %.1f us, p99.99 %.1f us, longest %.1f us\n",
	       (double)vl_histogram_percentile(all, 0.5) / 1e3,
	       (double)vl_histogram_percentile(all, 0.99) / 1e3,
	       (double)vl_histogram_percentile(all, 0.9999) / 1e3, (double)all->most / 1e3);
	printf("too long: %" PRIu64 " while the machine kept the loop, %" PRIu64
	       " otherwise; %" PRIu64 " broke the pause; %" PRIu64 " times a frame had to wait\n",
	       stolen, late, broken, refused);
	printf("kept for more than %.1f us: the storm's loop %.1f times/s, %.3f %% of the time; "
	       "an empty loop %.1f times/s\n",
	       (double)stage.longest_round / 1e3, (double)stage.kept.count / ((double)time / 1e9),
	       (double)stage.kept_time * 100 / (double)time, (double)idle.kept.count / 2);
	free(all);
	return late ? 1 : 0;
}

int main(int argc, char **argv)
{
	const struct vl_eal_config eal = {.worker_count = 1, .memory_mb = 192};
	uint64_t time = argc > 1 && !strcmp(argv[1], "--quick") ? 2 * SECOND : 60 * SECOND;
	struct vl_stage what = {.run = run_idle, .context = &idle};
	struct vl_port *ports[PORTS] = {0};
	struct rte_mempool *pool = NULL;
	struct vl_error error = {.text = ""};
	int result;

	if (vl_eal_start(&eal, &error)) {
		fprintf(stderr, "%s\n", error.text);
		return 1;
	}
	result = open_ports(ports, &pool, &error);
	if (!result)
		result = set_up_stage(ports, pool);
	idle.limit = stage.longest_round;
	if (!result)
		result = run_for(&what, 2 * SECOND, &error);
	what = vl_pfc_stage(&stage);
	if (!result)
		result = run_for(&what, time, &error);
	if (result)
		fprintf(stderr, "%s\n", error.text);
	else
		result = print_result(time);
	for (uint32_t i = 0; i < PORTS; i++)
		vl_port_close(ports[i]);
	rte_mempool_free(pool);
	vl_eal_stop();
	return result ? 1 : 0;
}
