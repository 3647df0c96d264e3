/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Memory that runs short while something is set up: the n-th allocation fails, for each n until
 * none is left to fail. What was asked for is refused with a message about memory, or done as if
 * nothing had happened; nothing crashes, and the address sanitizer finds nothing lost. The linker
 * puts the functions below in the place of those of the C library.
 */

#include "apps/fault/event_list.h"
#include "apps/gen/config.h"
#include "apps/lab_measure.h"
#include "apps/lab_run.h"
#include "apps/scenario/scenario.h"
#include "tests/support/suite.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
char *__wrap_strdup(const char *text);

/* Allocations that still succeed before one or all fail; NEVER: all do. */
#define NEVER UINT64_MAX
static uint64_t left = NEVER;
static bool all_fail, has_failed;

static bool fails(void)
{
	if (left == NEVER)
		return false;
	if (left) {
		left--;
		return false;
	}
	if (!all_fail)
		left = NEVER;
	has_failed = true;
	return true;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
	return fails() ? NULL : __real_realloc(memory, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	return fails() ? NULL : __real_aligned_alloc(alignment, size);
}

char *__wrap_strdup(const char *text)
{
	return fails() ? NULL : __real_strdup(text);
}

static const volatile int never;
static struct vl_problems problems;

static bool is_about_memory(const char *text)
{
	return strstr(text, "memory") != NULL;
}

/* Does one thing from the beginning to the end, and undoes it; false: it was refused, and *message
 * says why. */
typedef bool action(const void *context, char *message, size_t size);

static void run_short_once(action *act, const void *context, uint64_t n)
{
	char message[1024] = "";
	bool is_done;

	left = n;
	has_failed = false;
	is_done = act(context, message, sizeof(message));
	left = NEVER;
	if (is_done || is_about_memory(message))
		return;
	printf("\n    allocation %llu: '%s'\n", (unsigned long long)n, message);
	CU_FAIL("refused for something else than memory");
}

/* Returns how many allocations there are. */
static uint64_t run_short(action *act, const void *context)
{
	uint64_t n = 0;

	do
		run_short_once(act, context, n++);
	while (has_failed && n < 1000000);
	return n - 1;
}

/* One fails; then, with fewer turns as each has the same end, all from one on. */
static uint64_t run_short_of_everything(action *act, const void *context)
{
	uint64_t count;

	all_fail = false;
	count = run_short(act, context);
	all_fail = true;
	for (uint64_t n = 0; n < count; n += 1 + count / 50)
		run_short_once(act, context, n);
	all_fail = false;
	return count;
}

static bool tell(char *message, size_t size)
{
	snprintf(message, size, "%s", problems.count ? problems.list[problems.count - 1].text : "");
	return false;
}

/* ---- Files --------------------------------------------------------------------------------- */

static bool parse_scenario(const void *text, char *message, size_t size)
{
	const struct vl_texts overrides = {{"seed=5", "outputs.pcap_at=nobody"}, 1};
	struct vl_scenario *scenario;

	memset(&problems, 0, sizeof(problems));
	scenario = vl_scenario_parse(text, strlen(text), &overrides, &problems);
	vl_scenario_free(scenario);
	return scenario || tell(message, size);
}

static bool parse_generator(const void *text, char *message, size_t size)
{
	const struct vl_texts overrides = {{"groups[0].qps=4", "duration=3s"}, 2};
	struct gen_config *config;

	memset(&problems, 0, sizeof(problems));
	config = gen_config_parse(text, strlen(text), &overrides, 4096, &problems);
	gen_config_free(config);
	return config || tell(message, size);
}

static bool parse_events(const void *text, char *message, size_t size)
{
	struct vl_event_list *list;

	memset(&problems, 0, sizeof(problems));
	problems.file = "events.yaml";
	list = vl_event_list_parse(text, strlen(text), &problems);
	vl_event_list_free(list);
	return list || tell(message, size);
}

static void test_scenarios(void)
{
	for (unsigned int i = 0; i < vl_ready_scenario_count; i++)
		CU_ASSERT_TRUE(run_short_of_everything(parse_scenario, vl_ready_scenarios[i].text) >
			       10);
}

static void test_generator_files(void)
{
	CU_ASSERT_TRUE(run_short_of_everything(parse_generator,
					       "to: 10.0.0.2\n"
					       "rate: 10Gb/s\n"
					       "groups:\n"
					       "  - name: a\n"
					       "    qps: 30\n"
					       "    mix: write:64KiB*7, read:4KiB..8KiB*3\n"
					       "  - verb: send\n"
					       "    congestion_control: {algorithm: none}\n") > 5);
}

static void test_event_lists(void)
{
	CU_ASSERT_TRUE(run_short_of_everything(parse_events, "name: all\n"
							     "events:\n"
							     "  - name: one\n"
							     "    action: delay\n"
							     "    opcode: ack, rc_read_request\n"
							     "    peer: 10.0.0.2\n"
							     "    delay: 10us\n"
							     "  - action: drop\n"
							     "    psn: 5..9\n") > 3);
}

/* ---- The lab ------------------------------------------------------------------------------- */

static bool run_lab(const void *context, char *message, size_t size)
{
	const struct vl_scenario *scenario = context;
	struct vl_results results;
	struct vl_lab_run lab = {.scenario = scenario, .results = &results, .interrupted = &never};
	bool is_ready = vl_results_init(&results, scenario);
	int status = is_ready ? vl_lab_run_virtual(&lab, message, size) : -ENOMEM;

	if (!is_ready)
		snprintf(message, size, "no memory for results");
	vl_results_release(&results);
	return !status;
}

static void run_lab_short(const char *text, const char *duration)
{
	const struct vl_texts overrides = {{duration, "warm_up=0s"}, 2};
	struct vl_scenario *scenario;

	memset(&problems, 0, sizeof(problems));
	scenario = vl_scenario_parse(text, strlen(text), &overrides, &problems);
	if (!scenario)
		vl_problems_print(&problems, stderr);
	CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
	CU_ASSERT_TRUE(run_short_of_everything(run_lab, scenario) > 20);
	vl_scenario_free(scenario);
}

#define PAIR                                                                                       \
	"name: pair\n"                                                                             \
	"endpoints: [{name: host, count: 3}]\n"                                                    \
	"switches: [{name: sw, buffer: 4MB}]\n"                                                    \
	"links: [{from: host, to: sw, rate: 100Gb/s, delay: 1us}]\n"                               \
	"flows: [{from: host1, to: host2, qps: 2, size: 64KiB, depth: 2}]\n"                       \
	"workloads: [{name: a, kind: ring_all_reduce, size: 64KiB},\n"                             \
	"  {name: b, kind: storage, requests: 3, after: a, sizes: [{size: 4KiB}]}]\n"

static void test_lab_ethernet(void)
{
	run_lab_short(PAIR "fabric: pfc_dcqcn\n"
			   "routing: up_down\n"
			   "storms: [{from: host1, start: 10us, duration: 10us}]\n",
		      "duration=60us");
}

static void test_lab_infiniband(void)
{
	run_lab_short(PAIR "fabric: infiniband_congestion_control\n"
			   "infiniband: {routing: up_down}\n",
		      "duration=60us");
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"scenarios", test_scenarios},           {"generator_files", test_generator_files},
		{"event_lists", test_event_lists},       {"lab_ethernet", test_lab_ethernet},
		{"lab_infiniband", test_lab_infiniband},
	};

	return RUN_SUITE("memory_shortage", tests, argc, argv);
}
