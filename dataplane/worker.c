/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/worker.h"

#include "dataplane/runtime/compat.h"
#include "dataplane/runtime/eal.h"

#include <rte_branch_prediction.h>
#include <rte_cycles.h>
#include <rte_launch.h>
#include <rte_malloc.h>
#include <rte_pause.h>

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

#define CALL_TIMEOUT_NS UINT64_C(5000000000)

/* How often the control thread looks at what it waits for. */
static const struct timespec poll_interval = {.tv_nsec = 20000};

/* A function to be run between two rounds. It lies on the stack of the thread that waits for it. */
struct call {
	void (*function)(void *context, uint64_t now);
	void *context;
	atomic_bool done;
};

struct vl_worker {
	/* The worker's own */
	uint64_t now; /* ns, of the last look at the clock */
	struct vl_worker_counters counters;
	unsigned int stage_count;
	struct vl_stage stages[VL_MAX_STAGES];
	unsigned int lcore;
	bool is_running; /* the control thread's */

	/* Written by the control thread, read in every round */
	_Alignas(RTE_CACHE_LINE_SIZE) atomic_bool stop_requested;
	_Atomic(struct call *) call;
};

static uint64_t look_at_clock(struct vl_worker *worker)
{
	uint64_t now = vl_worker_now();

	if (likely(now > worker->now))
		worker->now = now;
	return worker->now;
}

uint64_t vl_worker_now(void)
{
	return vl_tsc_clock_ns(vl_eal_clock(), rte_rdtsc());
}

static void take_call(struct vl_worker *worker)
{
	struct call *call = atomic_exchange_explicit(&worker->call, NULL, memory_order_acquire);

	if (!call)
		return;
	call->function(call->context, look_at_clock(worker));
	atomic_store_explicit(&call->done, true, memory_order_release);
}

static void run_round(struct vl_worker *worker)
{
	uint64_t start = worker->now;
	uint32_t frames = 0;

	for (unsigned int i = 0; i < worker->stage_count; i++) {
		frames += worker->stages[i].run(worker->stages[i].context, worker->now);
		look_at_clock(worker);
	}
	worker->counters.rounds++;
	worker->counters.total_time += worker->now - start;
	if (frames) {
		worker->counters.busy_rounds++;
		worker->counters.busy_time += worker->now - start;
		worker->counters.frames += frames;
	} else {
		rte_pause();
	}
}

static int run_worker(void *context)
{
	struct vl_worker *worker = context;

	look_at_clock(worker);
	while (!atomic_load_explicit(&worker->stop_requested, memory_order_relaxed)) {
		run_round(worker);
		if (unlikely(atomic_load_explicit(&worker->call, memory_order_relaxed) != NULL))
			take_call(worker);
	}
	return 0;
}

struct vl_worker *vl_worker_create(unsigned int index, struct vl_error *error)
{
	struct vl_worker *worker;

	if (!vl_eal_is_running()) {
		vl_error_set(error, -ENODEV, "worker %u: DPDK is not running", index);
		return NULL;
	}
	if (index >= vl_eal_worker_count()) {
		vl_error_set(error, -EINVAL, "worker %u: DPDK was started for %u", index,
			     vl_eal_worker_count());
		return NULL;
	}
	worker = rte_zmalloc("worker", sizeof(*worker), RTE_CACHE_LINE_SIZE);
	if (!worker) {
		vl_error_set(error, -ENOMEM, "worker %u: no memory", index);
		return NULL;
	}
	worker->lcore = vl_eal_worker_lcore(index);
	return worker;
}

void vl_worker_destroy(struct vl_worker *worker)
{
	if (!worker)
		return;
	vl_worker_stop(worker);
	rte_free(worker);
}

int vl_worker_add_stage(struct vl_worker *worker, const struct vl_stage *stage)
{
	if (worker->is_running)
		return -EBUSY;
	if (worker->stage_count == VL_MAX_STAGES)
		return -ENOSPC;
	worker->stages[worker->stage_count++] = *stage;
	return 0;
}

int vl_worker_start(struct vl_worker *worker, struct vl_error *error)
{
	int result;

	if (worker->is_running)
		return vl_error_set(error, -EALREADY, "the worker is running");
	atomic_store(&worker->stop_requested, false);
	result = rte_eal_remote_launch(run_worker, worker, worker->lcore);
	if (result)
		return vl_error_set(error, result, "lcore %u does not take a worker: %s",
				    worker->lcore,
				    result == -EBUSY ? "another runs on it" : "its thread is gone");
	worker->is_running = true;
	return 0;
}

void vl_worker_stop(struct vl_worker *worker)
{
	if (!worker->is_running)
		return;
	atomic_store(&worker->stop_requested, true);
	/* rte_eal_wait_lcore spins, and may do so on the CPU that the worker needs to finish. */
	while (rte_eal_get_lcore_state(worker->lcore) == RUNNING)
		nanosleep(&poll_interval, NULL);
	rte_eal_wait_lcore(worker->lcore);
	worker->is_running = false;
}

bool vl_worker_is_running(const struct vl_worker *worker)
{
	return worker->is_running;
}

int vl_worker_call(struct vl_worker *worker, void (*function)(void *context, uint64_t now),
		   void *context)
{
	struct call call = {.function = function, .context = context};
	uint64_t deadline = vl_worker_now() + CALL_TIMEOUT_NS;

	if (!worker->is_running) {
		function(context, look_at_clock(worker));
		return 0;
	}
	atomic_store_explicit(&worker->call, &call, memory_order_release);
	while (!atomic_load_explicit(&call.done, memory_order_acquire)) {
		struct call *expected = &call;

		/* Withdrawn, unless the worker has taken it: then it will be done soon. */
		if (vl_worker_now() > deadline &&
		    atomic_compare_exchange_strong(&worker->call, &expected, NULL))
			return -ETIMEDOUT;
		nanosleep(&poll_interval, NULL);
	}
	return 0;
}

struct vl_worker_counters vl_worker_counters(const struct vl_worker *worker)
{
	return worker->counters;
}
