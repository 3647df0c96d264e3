/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * What check says of a switch's configuration, and what the lab then sees of it: bad ones drop or
 * pause where it was said, corrected ones do not; those in which nothing was found run well.
 */

#include "apps/check/check.h"
#include "apps/lab_measure.h"
#include "apps/lab_run.h"
#include "apps/lab_switch.h"
#include "apps/preset/preset.h"
#include "apps/sonic/switch_config.h"
#include "tests/support/config_db.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROFILE "pg_lossless_100000_40m_profile"

static const volatile int never;

struct outcome {
	struct vl_totals totals;
	double goodput, utilization;
	bool is_good;
};

/* The configuration in a file of its own, with which the caller's text names it as %s. */
static void write_config(const json_t *root, char path[32])
{
	int descriptor;

	strcpy(path, "/tmp/switch-config-XXXXXX");
	descriptor = mkstemp(path);
	CU_ASSERT_FATAL(descriptor >= 0);
	close(descriptor);
	CU_ASSERT_EQUAL_FATAL(json_dump_file(root, path, JSON_INDENT(1)), 0);
}

static struct outcome run_text(const char *text)
{
	struct vl_problems problems = {.file = "test"};
	struct vl_scenario *scenario = vl_scenario_parse(text, strlen(text), NULL, &problems);
	struct vl_results results;
	struct vl_lab_run lab = {.scenario = scenario, .results = &results, .interrupted = &never};
	struct outcome outcome;
	char error[512] = "";

	if (!scenario)
		vl_problems_print(&problems, stdout);
	CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
	CU_ASSERT_FATAL(vl_results_init(&results, scenario));
	CU_ASSERT_EQUAL(vl_lab_run_virtual(&lab, error, sizeof(error)), 0);
	CU_ASSERT_STRING_EQUAL(error, "");
	outcome = (struct outcome){results.totals, results.goodput, results.bottleneck.utilization,
				   vl_results_are_good(&results)};
	vl_results_release(&results);
	vl_scenario_free(scenario);
	return outcome;
}

/* scenario has a %s for the file. */
static struct outcome run(const json_t *root, const char *scenario)
{
	char path[32], text[4096];
	struct outcome outcome;

	write_config(root, path);
	snprintf(text, sizeof(text), scenario, path);
	outcome = run_text(text);
	unlink(path);
	return outcome;
}

/* Whether check finds it by that rule; any: by any rule. */
static bool is_found(const json_t *root, const char *rule)
{
	char *text = json_dumps(root, 0), error[256];
	struct vl_config_db *db = vl_config_db_parse(text, strlen(text), error, sizeof(error));
	struct vl_check_findings findings;
	const struct vl_check_finding *finding;
	bool found = false;

	CU_ASSERT_PTR_NOT_NULL_FATAL(db);
	CU_ASSERT_EQUAL(vl_check_run(db, &vl_check_defaults, &findings), 0);
	for (finding = findings.first; finding; finding = finding->next)
		found |= !rule || !strcmp(vl_check_describe(finding->rule)->name, rule);
	vl_config_db_free(db);
	free(text);
	return found;
}

/* Three at 100 Gb/s to one, each with more outstanding than its share of the memory. */
#define INCAST(cc)                                                                                 \
	"name: incast\nduration: 3ms\nwarm_up: 500us\nsample_interval: 500us\n"                    \
	"congestion_control: {algorithm: " cc "}\n"                                                \
	"endpoints:\n  - {name: sender, count: 3}\n  - {name: receiver}\n"                         \
	"switches:\n  - {name: switch, config_db: '%s'}\n"                                         \
	"links:\n  - {from: sender, to: switch, rate: 100Gb/s, delay: 202ns}\n"                    \
	"  - {from: receiver, to: switch, rate: 100Gb/s, delay: 202ns}\n"                          \
	"flows:\n  - {name: f, from: sender, to: receiver, size: 1MiB, depth: 16"

/* Nobody slows down but for pauses. 4096-byte packets need about 43 KB behind XOFF. */
static void test_headroom(void)
{
	json_t *root = config_db_100g(4);
	struct outcome outcome;

	config_db_edit(root, "BUFFER_PROFILE", PROFILE, "xoff", "12000");
	CU_ASSERT_TRUE(is_found(root, "headroom"));
	outcome = run(root, INCAST("none") "}\n");
	CU_ASSERT_TRUE(outcome.totals.pfc_pause_tx > 0);
	CU_ASSERT_TRUE(outcome.totals.switch_drops > 0);
	CU_ASSERT_TRUE(outcome.totals.data_frames_retransmitted > 0);
	/* The bound that check gives beside the formula's value. */
	config_db_edit(root, "BUFFER_PROFILE", PROFILE, "xoff", "57626");
	CU_ASSERT_FALSE(is_found(root, NULL));
	outcome = run(root, INCAST("none") "}\n");
	CU_ASSERT_TRUE(outcome.totals.pfc_pause_tx > 0);
	CU_ASSERT_EQUAL(outcome.totals.switch_drops, 0);
	CU_ASSERT_EQUAL(outcome.totals.data_frames_retransmitted, 0);
	json_decref(root);
}

static void test_shared_headroom(void)
{
	json_t *root = config_db_100g(4);
	struct outcome outcome;

	config_db_edit(root, "BUFFER_POOL", "ingress_lossless_pool", "xoff", "50000");
	CU_ASSERT_TRUE(is_found(root, "shared-headroom"));
	outcome = run(root, INCAST("none") "}\n");
	CU_ASSERT_TRUE(outcome.totals.switch_drops > 0);
	config_db_edit(root, "BUFFER_POOL", "ingress_lossless_pool", "xoff", "4194112");
	CU_ASSERT_FALSE(is_found(root, NULL));
	outcome = run(root, INCAST("none") "}\n");
	CU_ASSERT_EQUAL(outcome.totals.switch_drops, 0);
	json_decref(root);
}

/* What the pool shares is its size, in either model. */
static void check_shared(json_t *root, uint64_t size)
{
	const struct vl_db_link links[2] = {{.rate = UINT64_C(100000000000), .delay = 100},
					    {.rate = UINT64_C(100000000000), .delay = 100}};
	char *text = json_dumps(root, 0), error[256];
	struct vl_config_db *db = vl_config_db_parse(text, strlen(text), error, sizeof(error));
	struct vl_switch_config *config;
	uint64_t reserved = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(db);
	config = vl_db_switch_config(db, links, 2, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(config);
	for (unsigned int i = 0; i < config->pool_count; i++) {
		if (!config->pools[i].shared_headroom)
			continue;
		if (!config->pools[i].is_shared_only)
			reserved = config->pools[i].shared_headroom;
		CU_ASSERT_EQUAL(config->pools[i].size - reserved, size);
	}
	free(config);
	vl_config_db_free(db);
	free(text);
}

static void test_shared_headroom_lies_beside(void)
{
	json_t *root = config_db_100g(4);

	config_db_edit(root, "BUFFER_POOL", "ingress_lossless_pool", "size", "20000000");
	config_db_edit(root, "BUFFER_POOL", "ingress_lossless_pool", "xoff", "4194112");
	check_shared(root, 20000000);
	config_db_edit(root, "DEVICE_METADATA", "localhost", "buffer_model", "dynamic");
	check_shared(root, 20000000);
	json_decref(root);
}

/* A sender four times as fast as who receives: one group, one queue. */
static void test_ecn_after_pfc(void)
{
	static const char lone[] =
		"name: lone\nduration: 6ms\nwarm_up: 1ms\n"
		"endpoints:\n  - {name: fast}\n  - {name: slow}\n"
		"switches:\n  - {name: switch, config_db: '%s'}\n"
		"links:\n  - {from: fast, to: switch, rate: 100Gb/s, delay: 202ns}\n"
		"  - {from: slow, to: switch, rate: 25Gb/s, delay: 202ns}\n"
		"flows:\n  - {name: f, from: fast, to: slow, size: 1MiB, depth: 16}\n";
	json_t *root = config_db_100g(4);
	struct outcome outcome;

	config_db_edit(root, "PORT", "Ethernet4", "speed", "25000");
	config_db_edit(root, "PORT", "Ethernet4", "lanes", "5");
	config_db_edit(root, "BUFFER_PROFILE", PROFILE, "dynamic_th", "-4");
	CU_ASSERT_TRUE(is_found(root, "ecn-after-pfc"));
	outcome = run(root, lone);
	CU_ASSERT_TRUE(outcome.totals.pfc_pause_tx > 0);
	CU_ASSERT_EQUAL(outcome.totals.ecn_marked, 0);
	config_db_edit(root, "BUFFER_PROFILE", PROFILE, "dynamic_th", "0");
	CU_ASSERT_FALSE(is_found(root, "ecn-after-pfc"));
	outcome = run(root, lone);
	CU_ASSERT_EQUAL(outcome.totals.pfc_pause_tx, 0);
	CU_ASSERT_TRUE(outcome.totals.ecn_marked > 0);
	CU_ASSERT_EQUAL(outcome.totals.switch_drops, 0);
	json_decref(root);
}

/* RoCE's DSCP in a class without PFC: its queue overflows. */
static void test_roce_dscp(void)
{
	json_t *root = config_db_100g(4);
	struct outcome outcome;

	config_db_edit(root, "DSCP_TO_TC_MAP", "AZURE", "3", "1");
	config_db_edit(root, "DSCP_TO_TC_MAP", "AZURE", "4", "1");
	config_db_edit(root, "DSCP_TO_TC_MAP", "AZURE", "26", "1");
	CU_ASSERT_TRUE(is_found(root, "roce-dscp"));
	outcome = run(root, INCAST("none") ", dscp: 26}\n");
	CU_ASSERT_TRUE(outcome.totals.switch_drops > 0);
	CU_ASSERT_EQUAL(outcome.totals.pfc_pause_tx, 0);
	config_db_edit(root, "DSCP_TO_TC_MAP", "AZURE", "26", "3");
	CU_ASSERT_FALSE(is_found(root, NULL));
	outcome = run(root, INCAST("none") ", dscp: 26}\n");
	CU_ASSERT_EQUAL(outcome.totals.switch_drops, 0);
	CU_ASSERT_TRUE(outcome.totals.pfc_pause_tx > 0);
	json_decref(root);
}

static void test_pfc_off(void)
{
	json_t *root = config_db_100g(4);
	struct outcome outcome;

	config_db_edit(root, "PORT_QOS_MAP", "*", "pfc_enable", "4");
	CU_ASSERT_TRUE(is_found(root, "pfc-off"));
	outcome = run(root, INCAST("none") ", dscp: 3}\n");
	CU_ASSERT_TRUE(outcome.totals.switch_drops > 0);
	CU_ASSERT_EQUAL(outcome.totals.pfc_pause_tx, 0);
	json_decref(root);
}

/* WRED that drops where it should mark. */
static void test_ecn_mode(void)
{
	json_t *root = config_db_100g(4);
	struct outcome outcome;

	config_db_edit(root, "WRED_PROFILE", "AZURE_LOSSLESS", "ecn", "ecn_none");
	CU_ASSERT_TRUE(is_found(root, "ecn-mode"));
	outcome = run(root, INCAST("dcqcn") "}\n");
	CU_ASSERT_TRUE(outcome.totals.switch_drops > 0);
	CU_ASSERT_EQUAL(outcome.totals.ecn_marked, 0);
	config_db_edit(root, "WRED_PROFILE", "AZURE_LOSSLESS", "ecn", "ecn_all");
	CU_ASSERT_FALSE(is_found(root, NULL));
	outcome = run(root, INCAST("dcqcn") "}\n");
	CU_ASSERT_EQUAL(outcome.totals.switch_drops, 0);
	CU_ASSERT_TRUE(outcome.totals.ecn_marked > 0);
	json_decref(root);
}

/* As `lab --switch-config`: on the file's own ports, and nothing is lost. */
static void expect_well(json_t *root)
{
	char path[32], error[512] = "", *text;
	struct outcome outcome;

	write_config(root, path);
	text = vl_lab_switch_scenario(path, error, sizeof(error));
	CU_ASSERT_STRING_EQUAL(error, "");
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	outcome = run_text(text);
	CU_ASSERT_TRUE(outcome.is_good);
	CU_ASSERT_EQUAL(outcome.totals.switch_drops, 0);
	CU_ASSERT_EQUAL(outcome.totals.pfc_pause_tx, 0);
	CU_ASSERT_TRUE(outcome.totals.ecn_marked > 0);
	CU_ASSERT_TRUE(outcome.utilization > 0.9);
	unlink(path);
	free(text);
	json_decref(root);
}

static void test_good_ones(void)
{
	expect_well(config_db_100g(8));
	expect_well(config_db_400g());
	expect_well(config_db_dynamic());
}

static void test_presets(void)
{
	static const char scenario[] =
		"name: preset\nduration: 3ms\nwarm_up: 500us\n"
		"endpoints:\n  - {name: sender, count: 4}\n  - {name: receiver}\n"
		"switches:\n  - {name: switch, preset: %s}\n"
		"links:\n  - {from: sender, to: switch, rate: %s, delay: 202ns}\n"
		"  - {from: receiver, to: switch, rate: %s, delay: 202ns}\n"
		"flows:\n  - {name: f, from: sender, to: receiver, size: 1MiB, depth: 16}\n";
	static const char *const rates[] = {"25Gb/s", "100Gb/s", "400Gb/s"};
	struct outcome outcome;
	char text[2048];

	CU_ASSERT_EQUAL(vl_preset_count, 5);
	for (unsigned int i = 0; i < vl_preset_count; i++) {
		for (unsigned int j = 0; j < 3; j++) {
			snprintf(text, sizeof(text), scenario, vl_presets[i].name, rates[j],
				 rates[j]);
			outcome = run_text(text);
			CU_ASSERT_EQUAL(outcome.totals.switch_drops, 0);
			CU_ASSERT_TRUE(outcome.totals.ecn_marked > 0);
			CU_ASSERT_EQUAL(outcome.totals.pfc_pause_tx, 0);
			/* DCQCN takes longer than this run to come back from its first cuts. */
			CU_ASSERT_TRUE(outcome.utilization > 0.7);
		}
	}
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"headroom", test_headroom},
		{"shared_headroom", test_shared_headroom},
		{"shared_headroom_lies_beside", test_shared_headroom_lies_beside},
		{"ecn_after_pfc", test_ecn_after_pfc},
		{"roce_dscp", test_roce_dscp},
		{"pfc_off", test_pfc_off},
		{"ecn_mode", test_ecn_mode},
		{"good_ones", test_good_ones},
		{"presets", test_presets},
	};

	return RUN_SUITE("switch_config", tests, argc, argv);
}
