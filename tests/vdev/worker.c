/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/worker.h"
#include "tests/vdev/support.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

/* A stage that looks at what it is given. */
struct probe {
	atomic_uint_fast64_t runs;
	uint64_t last_now;
	bool went_backward;
	uint32_t frames; /* that it claims to move in every other round */
};

static uint32_t run_probe(void *context, uint64_t now)
{
	struct probe *probe = context;

	probe->went_backward |= now < probe->last_now;
	probe->last_now = now;
	return atomic_fetch_add(&probe->runs, 1) & 1 ? probe->frames : 0;
}

static void wait_for(atomic_uint_fast64_t *counter, uint64_t more)
{
	uint64_t target = atomic_load(counter) + more;

	for (unsigned int i = 0; i < 50000 && atomic_load(counter) < target; i++)
		usleep(100);
	CU_ASSERT(atomic_load(counter) >= target);
}

static struct vl_worker *make_worker(unsigned int index, struct probe *probe)
{
	const struct vl_stage stage = {.run = run_probe, .context = probe};
	struct vl_worker *worker = vl_worker_create(index, NULL);

	CU_ASSERT_PTR_NOT_NULL_FATAL(worker);
	CU_ASSERT_EQUAL(vl_worker_add_stage(worker, &stage), 0);
	return worker;
}

static void test_runs_and_stops(void)
{
	struct probe first = {.frames = 3}, second = {.frames = 4};
	struct vl_worker *workers[2] = {make_worker(0, &first), make_worker(1, &second)};
	struct vl_worker_counters counters;
	struct vl_error error;
	uint64_t runs;

	CU_ASSERT_FALSE(vl_worker_is_running(workers[0]));
	for (unsigned int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL(vl_worker_start(workers[i], &error), 0);
	CU_ASSERT(vl_worker_is_running(workers[0]));
	wait_for(&first.runs, 1000);
	wait_for(&second.runs, 1000);
	CU_ASSERT_EQUAL(vl_worker_start(workers[0], &error), -EALREADY);
	CU_ASSERT_EQUAL(vl_worker_add_stage(workers[0], &(struct vl_stage){0}), -EBUSY);
	for (unsigned int i = 0; i < 2; i++)
		vl_worker_stop(workers[i]);
	CU_ASSERT_FALSE(vl_worker_is_running(workers[0]));
	runs = atomic_load(&first.runs);
	usleep(2000);
	CU_ASSERT_EQUAL(atomic_load(&first.runs), runs);

	counters = vl_worker_counters(workers[0]);
	CU_ASSERT_EQUAL(counters.rounds, runs);
	CU_ASSERT_EQUAL(counters.busy_rounds, runs / 2);
	CU_ASSERT_EQUAL(counters.frames, runs / 2 * 3);
	CU_ASSERT(counters.busy_time <= counters.total_time);
	CU_ASSERT(counters.total_time > 0 && counters.total_time <= vl_worker_now());
	CU_ASSERT_FALSE(first.went_backward || second.went_backward);

	/* And again. */
	CU_ASSERT_EQUAL(vl_worker_start(workers[0], &error), 0);
	wait_for(&first.runs, 100);
	vl_worker_destroy(workers[0]);
	vl_worker_destroy(workers[1]);
	vl_worker_destroy(NULL);
}

static void test_one_worker_a_cpu(void)
{
	struct probe first = {0}, second = {0};
	struct vl_worker *workers[2] = {make_worker(0, &first), make_worker(0, &second)};
	struct vl_error error;

	CU_ASSERT_EQUAL(vl_worker_start(workers[0], &error), 0);
	CU_ASSERT_EQUAL(vl_worker_start(workers[1], &error), -EBUSY);
	CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "another runs on it"));
	vl_worker_destroy(workers[0]);
	CU_ASSERT_EQUAL(vl_worker_start(workers[1], &error), 0);
	vl_worker_destroy(workers[1]);
}

struct snapshot {
	struct probe *probe;
	uint64_t runs, last_now, now;
	pthread_t thread;
};

static void take_snapshot(void *context, uint64_t now)
{
	struct snapshot *snapshot = context;

	snapshot->runs = atomic_load(&snapshot->probe->runs);
	snapshot->last_now = snapshot->probe->last_now;
	snapshot->now = now;
	snapshot->thread = pthread_self();
}

static void test_calls(void)
{
	struct probe probe = {.frames = 1};
	struct vl_worker *worker = make_worker(1, &probe);
	struct snapshot snapshot = {.probe = &probe};
	uint64_t runs = 0;

	CU_ASSERT_EQUAL(vl_worker_call(worker, take_snapshot, &snapshot), 0);
	CU_ASSERT(pthread_equal(snapshot.thread, pthread_self()));
	CU_ASSERT_EQUAL(vl_worker_start(worker, NULL), 0);
	for (unsigned int i = 0; i < 100; i++) {
		CU_ASSERT_EQUAL(vl_worker_call(worker, take_snapshot, &snapshot), 0);
		CU_ASSERT_FALSE(pthread_equal(snapshot.thread, pthread_self()));
		CU_ASSERT(snapshot.runs >= runs);
		CU_ASSERT(snapshot.now >= snapshot.last_now);
		runs = snapshot.runs;
	}
	vl_worker_stop(worker);
	CU_ASSERT_EQUAL(vl_worker_call(worker, take_snapshot, &snapshot), 0);
	CU_ASSERT(pthread_equal(snapshot.thread, pthread_self()));
	vl_worker_destroy(worker);
}

static void test_limits(void)
{
	const struct vl_stage stage = {.run = run_probe};
	struct vl_worker *worker = vl_worker_create(0, NULL);
	struct vl_error error;

	CU_ASSERT_PTR_NOT_NULL_FATAL(worker);
	for (unsigned int i = 0; i < VL_MAX_STAGES; i++)
		CU_ASSERT_EQUAL(vl_worker_add_stage(worker, &stage), 0);
	CU_ASSERT_EQUAL(vl_worker_add_stage(worker, &stage), -ENOSPC);
	vl_worker_destroy(worker);
	CU_ASSERT_PTR_NULL(vl_worker_create(2, &error));
	CU_ASSERT_STRING_EQUAL(error.text, "worker 2: DPDK was started for 2");
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"runs_and_stops", test_runs_and_stops},
		{"one_worker_a_cpu", test_one_worker_a_cpu},
		{"calls", test_calls},
		{"limits", test_limits},
	};
	int result = test_start_eal(2);

	if (result)
		return result;
	result = RUN_SUITE("vdev/worker", tests, argc, argv);
	vl_eal_stop();
	return result;
}
