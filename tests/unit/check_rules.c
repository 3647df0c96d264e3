/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Every rule has a configuration that it finds wrong; nothing is found in good ones. */

#include "tests/support/config_db.h"
#include "tests/support/suite.h"

#include "apps/check/check.h"

#include <stdlib.h>
#include <string.h>

#define MAX_EDITS 5

struct judged {
	struct vl_config_db *db;
	struct vl_check_findings findings;
};

/* Takes root over. */
static struct judged judge(json_t *root, const struct vl_check_options *options)
{
	char *text = json_dumps(root, JSON_INDENT(2)), error[256] = "";
	struct judged judged = {.db = vl_config_db_parse(text, strlen(text), error, sizeof(error))};

	CU_ASSERT_PTR_NOT_NULL_FATAL(judged.db);
	CU_ASSERT_EQUAL(vl_check_run(judged.db, options, &judged.findings), 0);
	free(text);
	json_decref(root);
	return judged;
}

static const struct vl_check_finding *find(const struct judged *judged, const char *rule)
{
	const struct vl_check_finding *finding = judged->findings.first;

	while (finding && strcmp(vl_check_describe(finding->rule)->name, rule))
		finding = finding->next;
	return finding;
}

static bool is_listed(const char *list, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = list; (at = strstr(at, name)); at += length) {
		if ((at == list || at[-1] == ' ') && (!at[length] || at[length] == ' '))
			return true;
	}
	return false;
}

struct failing {
	const char *rules; /* that are to be found, and no others; the first is what it is about */
	const char *edits[MAX_EDITS][4];
	struct vl_check_options options;
};

#define TH "pg_lossless_100000_40m_profile"

static const struct failing failing[] = {
	{"value", {{"PORT", "Ethernet0", "mtu", "big"}}, {0}},
	{"value", {{"PORT", "Ethernet0", "mtu", "json:9100.5"}}, {0}},
	{"value", {{"WRED_PROFILE", "AZURE_LOSSLESS", "wred_red_enable", "json:true"}}, {0}},
	{"value", {{"PORT_QOS_MAP", "Ethernet0", "pfcwd_sw_enable", "3-4"}}, {0}},
	{"value", {{"CABLE_LENGTH", "AZURE", "Ethernet0", "40"}}, {.cable_length = 40}},
	{"value",
	 {{"BUFFER_PROFILE", "ingress_lossy_profile", "dynamic_th", "8"},
	  {"BUFFER_PROFILE", "ingress_lossy_profile", "static_th", "1000"}},
	 {0}},
	{"value", {{"PFC_WD", "Ethernet4", "detection_time", NULL}}, {0}},
	/* What cannot be read is said once, and nothing of what follows from it. */
	{"value", {{"CABLE_LENGTH", "AZURE", "Ethernet0", "5"}}, {0}},
	{"value", {{"PORT", "Ethernet0", "speed", "fast"}}, {0}},
	{"value", {{"PORT_QOS_MAP", "Ethernet0", "pfc_enable", "3;4"}}, {0}},
	{"value", {{"PORT_QOS_MAP", "*", "pfc_enable", "json:[[3]]"}}, {0}},
	{"value", {{"BUFFER_PROFILE", TH, "xoff", "49k"}}, {0}},
	{"value", {{"BUFFER_PROFILE", TH, "dynamic_th", "much"}}, {0}},
	{"value", {{"BUFFER_POOL", "ingress_lossless_pool", "size", "16MB"}}, {0}},
	{"value", {{"WRED_PROFILE", "AZURE_LOSSLESS", "green_min_threshold", "1e6"}}, {0}},
	{"value", {{"DSCP_TO_TC_MAP", "AZURE", "26", "three"}}, {.roce_dscps = 1u << 26}},
	{"value", {{"TC_TO_QUEUE_MAP", "AZURE", "3", "x"}}, {0}},
	{"value", {{"TC_TO_PRIORITY_GROUP_MAP", "AZURE", "3", "9"}}, {0}},
	{"value", {{"MAP_PFC_PRIORITY_TO_QUEUE", "AZURE", "3", "x"}}, {0}},
	{"value", {{"PFC_WD", "Ethernet0", "detection_time", "soon"}}, {0}},
	{"key", {{"BUFFER_PG", "Ethernet0|8", "profile", "ingress_lossy_profile"}}, {0}},
	{"key", {{"QUEUE", "Ethernet0", "scheduler", "scheduler.0"}}, {0}},
	{"key", {{"DSCP_TO_TC_MAP", "AZURE", "64", "1"}}, {0}},
	{"reference", {{"QUEUE", "Ethernet0|1", "scheduler", "scheduler.9"}}, {0}},
	{"reference", {{"QUEUE", "Ethernet0|3", "wred_profile", "NONE"}}, {0}},
	{"reference", {{"BUFFER_PG", "Ethernet0|3-4", "profile", "missing"}}, {0}},
	{"reference", {{"BUFFER_PG", "*|3-4", "profile", "missing"}}, {0}},
	{"reference", {{"PORT_QOS_MAP", "Ethernet0", "dscp_to_tc_map", "missing"}}, {0}},
	{"reference", {{"PORT_QOS_MAP", "*", "tc_to_pg_map", "missing"}}, {0}},
	{"reference", {{"BUFFER_PROFILE", TH, "pool", "missing"}}, {0}},
	{"reference", {{"BUFFER_PG", "Ethernet99|0", "profile", "ingress_lossy_profile"}}, {0}},
	{"reference",
	 {{"BUFFER_PROFILE", "unused", "pool", "no_pool"},
	  {"BUFFER_PROFILE", "unused", "size", "0"}},
	 {0}},
	{"reference", {{"PFC_WD", "Ethernet99", "detection_time", "200"}}, {0}},
	{"old-reference", {{"QUEUE", "*|3", "scheduler", "[SCHEDULER|scheduler.1]"}}, {0}},
	{"duplicate", {{"BUFFER_PG", "Ethernet0|3", "profile", TH}}, {0}},
	{"port-speed", {{"PORT", "Ethernet0", "speed", "123000"}}, {0}},
	{"port-speed", {{"PORT", "Ethernet0", "speed", NULL}}, {0}},
	{"port-lanes", {{"PORT", "Ethernet0", "lanes", "1,2,3"}}, {0}},
	{"port-lanes", {{"PORT", "Ethernet4", "lanes", "4,5,6,7"}}, {0}},
	{"port-lanes profile-name",
	 {{"PORT", "Ethernet0", "speed", "400000"},
	  {"PORT", "Ethernet0", "lanes", "1"},
	  {"BUFFER_PROFILE", TH, "xoff", "300000"},
	  {"BUFFER_POOL", "ingress_lossless_pool", "xoff", "5000000"}},
	 {0}},
	{"port-fec",
	 {{"PORT", "Ethernet0", "speed", "40000"},
	  {"PORT", "Ethernet0", "fec", "rs"},
	  {"BUFFER_PG", "Ethernet0|3-4", NULL, NULL}},
	 {0}},
	{"port-fec",
	 {{"PORT", "Ethernet0", "lanes", "1,2"}, {"PORT", "Ethernet0", "fec", "none"}},
	 {0}},
	{"port-mtu", {{"PORT", "Ethernet0", "mtu", "1500"}}, {0}},
	{"cable-length", {{"CABLE_LENGTH", "AZURE", "Ethernet0", NULL}}, {0}},
	{"cable-length", {{"CABLE_LENGTH", "AZURE", "Ethernet0", "0m"}}, {0}},
	{"lossless-class",
	 {{"PORT_QOS_MAP", "*", "pfc_enable", ""}, {"BUFFER_PG", "*|3-4", NULL, NULL}},
	 {0}},
	{"qos-map", {{"PORT_QOS_MAP", "Ethernet0", NULL, NULL}}, {0}},
	{"qos-map", {{"PORT_QOS_MAP", NULL, NULL, NULL}}, {0}},
	{"dscp-map",
	 {{"PORT_QOS_MAP", "Ethernet0", "dscp_to_tc_map", NULL},
	  {"PORT_QOS_MAP", "global", NULL, NULL}},
	 {0}},
	{"dscp-unmapped", {{"DSCP_TO_TC_MAP", "AZURE", "63", NULL}}, {0}},
	{"roce-dscp",
	 {{"DSCP_TO_TC_MAP", "AZURE", "3", "1"},
	  {"DSCP_TO_TC_MAP", "AZURE", "4", "1"},
	  {"DSCP_TO_TC_MAP", "AZURE", "26", "1"}},
	 {0}},
	{"roce-dscp", {{0}}, {.roce_dscps = 1u << 10 | 1u << 26}},
	{"class-map", {{"PORT_QOS_MAP", "Ethernet0", "pfc_to_queue_map", NULL}}, {0}},
	{"class-unmapped", {{"TC_TO_QUEUE_MAP", "AZURE", "3", NULL}}, {0}},
	{"class-unmapped",
	 {{"TC_TO_PRIORITY_GROUP_MAP", "AZURE", "3", NULL}},
	 {.roce_dscps = 1u << 26}},
	{"pfc-queue", {{"MAP_PFC_PRIORITY_TO_QUEUE", "AZURE", "3", "4"}}, {0}},
	{"pfc-off", {{"PORT_QOS_MAP", "*", "pfc_enable", "3"}}, {0}},
	{"pfc-lossy", {{"BUFFER_PG", "Ethernet0|3-4", "profile", "ingress_lossy_profile"}}, {0}},
	{"pfc-differs",
	 {{"PORT_QOS_MAP", "Ethernet0", "pfc_enable", "3,4,5"},
	  {"PORT_QOS_MAP", "Ethernet0", "pfcwd_sw_enable", "3,4,5"}},
	 {0}},
	/* A port without PFC or without any of it, where others have it. */
	{"pfc-differs",
	 {{"PORT_QOS_MAP", "Ethernet0", "pfc_enable", ""},
	  {"BUFFER_PG", "Ethernet0|3-4", NULL, NULL}},
	 {0}},
	{"pfc-differs",
	 {{"PORT_QOS_MAP", "Ethernet0", NULL, NULL},
	  {"BUFFER_PG", "Ethernet0|3-4", NULL, NULL},
	  {"PORT", "Ethernet0", "admin_status", "up"}},
	 {0}},
	/* A class that its group's map leaves out loses its group, whether anybody says that RoCE
	 * is in it or not. */
	{"class-unmapped", {{"TC_TO_PRIORITY_GROUP_MAP", "AZURE", "3", NULL}}, {0}},
	{"shared-group", {{"TC_TO_PRIORITY_GROUP_MAP", "AZURE", "1", "3"}}, {0}},
	{"shared-queue", {{"TC_TO_QUEUE_MAP", "AZURE", "1", "3"}}, {0}},
	{"cnp-with-data", {{"DSCP_TO_TC_MAP", "AZURE", "48", "3"}}, {0}},
	{"cnp-with-data", {{0}}, {.cnp_dscp = 26}},
	{"cnp-best-effort", {{"DSCP_TO_TC_MAP", "AZURE", "48", "1"}}, {0}},
	{"cnp-lossy", {{"QUEUE", "Ethernet0|6", "scheduler", "scheduler.0"}}, {0}},
	{"cnp-lossy", {{"QUEUE", "Ethernet0|6", NULL, NULL}}, {0}},
	{"headroom", {{"BUFFER_PROFILE", TH, "xoff", "48494"}}, {0}},
	{"headroom-reserved", {{"BUFFER_POOL", "ingress_lossless_pool", "xoff", NULL}}, {0}},
	{"shared-headroom", {{"BUFFER_POOL", "ingress_lossless_pool", "xoff", "710000"}}, {0}},
	{"profile-name", {{"CABLE_LENGTH", "AZURE", "Ethernet0", "300m"}}, {0}},
	{"threshold", {{"BUFFER_PROFILE", TH, "dynamic_th", NULL}}, {0}},
	{"xon-xoff", {{"BUFFER_PROFILE", TH, "xon", "6000000"}}, {0}},
	{"pool-direction", {{"BUFFER_PG", "Ethernet0|0", "profile", "egress_lossy_profile"}}, {0}},
	{"pool-direction",
	 {{"BUFFER_QUEUE", "Ethernet0|0-2", "profile", "ingress_lossy_profile"}},
	 {0}},
	{"pool-size", {{"BUFFER_PROFILE", TH, "size", "3000000"}}, {0}},
	{"memory", {{0}}, {.memory = 15000000}},
	{"egress-limit",
	 {{"BUFFER_PROFILE", "egress_lossless_profile", "static_th", "5000000"}},
	 {0}},
	{"ecn-off", {{"QUEUE", "Ethernet0|3", "wred_profile", NULL}}, {0}},
	{"ecn-off", {{"WRED_PROFILE", "AZURE_LOSSLESS", "wred_green_enable", "false"}}, {0}},
	{"ecn-mode", {{"WRED_PROFILE", "AZURE_LOSSLESS", "ecn", "ecn_green"}}, {0}},
	{"wred-thresholds",
	 {{"WRED_PROFILE", "AZURE_LOSSLESS", "green_min_threshold", "3000000"}},
	 {0}},
	{"wred-thresholds", {{"WRED_PROFILE", "AZURE_LOSSLESS", "red_max_threshold", NULL}}, {0}},
	{"wred-probability",
	 {{"WRED_PROFILE", "AZURE_LOSSLESS", "green_drop_probability", "0"}},
	 {0}},
	{"wred-steep", {{"WRED_PROFILE", "AZURE_LOSSLESS", "green_drop_probability", "100"}}, {0}},
	{"ecn-after-pfc", {{"BUFFER_PROFILE", TH, "dynamic_th", "-4"}}, {0}},
	{"ecn-near-pfc", {{"BUFFER_PROFILE", TH, "dynamic_th", "-2"}}, {0}},
	{"ecn-beyond-queue egress-limit",
	 {{"BUFFER_PROFILE", "egress_lossless_profile", "static_th", "1000000"}},
	 {0}},
	{"scheduler-missing", {{"QUEUE", "Ethernet0|3", "scheduler", NULL}}, {0}},
	{"scheduler-weight", {{"SCHEDULER", "scheduler.1", "weight", "0"}}, {0}},
	{"scheduler-strict", {{"SCHEDULER", "scheduler.1", "type", "STRICT"}}, {0}},
	{"scheduler-sum", {{"SCHEDULER", "scheduler.1", "weight", "25"}}, {0}},
	{"watchdog-missing", {{"PFC_WD", "Ethernet0", NULL, NULL}}, {0}},
	{"watchdog-missing", {{"PORT_QOS_MAP", "Ethernet0", "pfcwd_sw_enable", "3"}}, {0}},
	{"watchdog-short",
	 {{"PFC_WD", "*", "detection_time", "50"}, {"PFC_WD", "GLOBAL", NULL, NULL}},
	 {0}},
	/* 15,982,720 bytes at 1 Gb/s take 128 ms. */
	{"watchdog-short profile-name",
	 {{"PFC_WD", "*", "detection_time", "120"},
	  {"PFC_WD", "GLOBAL", NULL, NULL},
	  {"PORT", "Ethernet0", "speed", "1000"},
	  {"PORT", "Ethernet0", "lanes", "1"},
	  {"PORT", "Ethernet0", "fec", "none"}},
	 {0}},
	{"watchdog-poll", {{"PFC_WD", "*", "restoration_time", "100"}}, {0}},
};
#define FAILING (sizeof(failing) / sizeof(failing[0]))

static struct vl_check_options options_of(const struct failing *entry)
{
	struct vl_check_options options = vl_check_defaults;

	options.roce_dscps = entry->options.roce_dscps;
	options.memory = entry->options.memory;
	if (entry->options.cnp_dscp)
		options.cnp_dscp = entry->options.cnp_dscp;
	if (entry->options.cable_length)
		options.cable_length = entry->options.cable_length;
	return options;
}

static void check_failing(const struct failing *entry)
{
	struct vl_check_options options = options_of(entry);
	json_t *root = config_db_100g(4);
	const struct vl_check_finding *finding;
	struct judged judged;
	char rules[256];
	char *rule, *rest = rules;

	for (unsigned int i = 0; i < MAX_EDITS && entry->edits[i][0]; i++)
		config_db_edit(root, entry->edits[i][0], entry->edits[i][1], entry->edits[i][2],
			       entry->edits[i][3]);
	judged = judge(root, &options);
	snprintf(rules, sizeof(rules), "%s", entry->rules);
	while ((rule = strtok_r(rest, " ", &rest))) {
		if (!find(&judged, rule)) {
			printf("    %s: %s is not found\n", entry->rules, rule);
			CU_FAIL("a finding is missing");
		}
	}
	for (finding = judged.findings.first; finding; finding = finding->next) {
		const char *name = vl_check_describe(finding->rule)->name;

		CU_ASSERT_TRUE(*finding->found && *finding->right && *finding->place.path);
		if (!is_listed(entry->rules, name)) {
			printf("    %s: %s is found too: %s: %s\n", entry->rules, name,
			       finding->place.path, finding->found);
			CU_FAIL("a finding too many");
		}
	}
	vl_config_db_free(judged.db);
}

static void test_every_rule_fails(void)
{
	bool is_tested[VL_CHECK_RULE_COUNT] = {false};

	for (unsigned int i = 0; i < FAILING; i++) {
		check_failing(&failing[i]);
		for (unsigned int rule = 0; rule < VL_CHECK_RULE_COUNT; rule++) {
			const char *name = vl_check_describe(rule)->name;

			is_tested[rule] |= !strncmp(failing[i].rules, name, strlen(name)) &&
					   strchr(" ", failing[i].rules[strlen(name)]);
		}
	}
	for (unsigned int rule = 0; rule < VL_CHECK_RULE_COUNT; rule++) {
		if (!is_tested[rule])
			printf("    %s has no failing configuration\n",
			       vl_check_describe(rule)->name);
		CU_ASSERT_TRUE(is_tested[rule]);
	}
}

static void expect_nothing(json_t *root, const struct vl_check_options *options)
{
	struct judged judged = judge(root, options);

	if (judged.findings.first)
		vl_check_print(&judged.findings, "good", stdout);
	CU_ASSERT_PTR_NULL(judged.findings.first);
	CU_ASSERT_EQUAL(judged.db->problem_count, 0);
	vl_config_db_free(judged.db);
}

static void test_good_ones(void)
{
	struct vl_check_options options = vl_check_defaults;

	expect_nothing(config_db_100g(2), &options);
	expect_nothing(config_db_100g(32), &options);
	expect_nothing(config_db_400g(), &options);
	expect_nothing(config_db_dynamic(), &options);
	options.roce_dscps = 1u << 26;
	options.memory = 16 << 20;
	expect_nothing(config_db_100g(32), &options);
}

/* As a person writes it: names of its own, one lossless class, CNPs strict. */
static void test_good_by_hand(void)
{
	static const char text[] =
		"{\"PORT\": {\"Ethernet0\": {\"speed\": \"25000\", \"lanes\": \"1\", \"mtu\": "
		"\"4200\"}, \"Ethernet1\": {\"speed\": \"100000\", \"lanes\": \"5,6,7,8\", "
		"\"mtu\": \"4200\"}},"
		"\"CABLE_LENGTH\": {\"AZURE\": {\"Ethernet0\": \"3m\", \"Ethernet1\": \"30m\"}},"
		"\"BUFFER_POOL\": {\"in\": {\"type\": \"ingress\", \"mode\": \"dynamic\", "
		"\"size\": 8000000}, \"out\": {\"type\": \"egress\", \"mode\": \"dynamic\", "
		"\"size\": 9000000}},"
		"\"BUFFER_PROFILE\": {\"roce\": {\"pool\": \"in\", \"size\": 60000, \"xon\": "
		"10000, "
		"\"xoff\": 50000, \"dynamic_th\": 1}, \"other\": {\"pool\": \"in\", \"size\": 0, "
		"\"dynamic_th\": -1}, \"queue\": {\"pool\": \"out\", \"size\": 0, \"dynamic_th\": "
		"7}},"
		"\"BUFFER_PG\": {\"Ethernet0,Ethernet1|3\": {\"profile\": \"roce\"}, "
		"\"Ethernet0,Ethernet1|0\": {\"profile\": \"other\"}},"
		"\"BUFFER_QUEUE\": {\"Ethernet0,Ethernet1|0-7\": {\"profile\": \"queue\"}},"
		"\"SCHEDULER\": {\"half\": {\"type\": \"DWRR\", \"weight\": \"50\"}, \"cnp\": "
		"{\"type\": \"STRICT\"}},"
		"\"WRED_PROFILE\": {\"mark\": {\"wred_green_enable\": \"true\", \"ecn\": "
		"\"ecn_green\", \"green_min_threshold\": 150000, \"green_max_threshold\": 600000, "
		"\"green_drop_probability\": 10}},"
		"\"QUEUE\": {\"Ethernet0,Ethernet1|0\": {\"scheduler\": \"half\"}, "
		"\"Ethernet0,Ethernet1|3\": {\"scheduler\": \"half\", \"wred_profile\": \"mark\"}, "
		"\"Ethernet0,Ethernet1|6\": {\"scheduler\": \"cnp\"}},"
		"\"DSCP_TO_TC_MAP\": {\"d\": %s},"
		"\"TC_TO_QUEUE_MAP\": {\"q\": {\"0\": \"0\", \"3\": \"3\", \"6\": \"6\"}},"
		"\"TC_TO_PRIORITY_GROUP_MAP\": {\"g\": {\"0\": \"0\", \"3\": \"3\", \"6\": "
		"\"0\"}},"
		"\"PFC_PRIORITY_TO_QUEUE_MAP\": {\"p\": {\"3\": \"3\"}},"
		"\"PORT_QOS_MAP\": {\"Ethernet0,Ethernet1\": {\"dscp_to_tc_map\": \"d\", "
		"\"tc_to_queue_map\": \"q\", \"tc_to_pg_map\": \"g\", \"pfc_to_queue_map\": "
		"\"p\", \"pfc_enable\": \"3\"}},"
		"\"PFC_WD\": {\"Ethernet0\": {\"detection_time\": \"400\", \"restoration_time\": "
		"\"2000\"}, \"Ethernet1\": {\"detection_time\": \"400\", \"restoration_time\": "
		"\"2000\"}}}";
	char map[1024], whole[8192];
	size_t used = 0;

	for (unsigned int dscp = 0; dscp < 64; dscp++)
		used += (size_t)snprintf(map + used, sizeof(map) - used, "%s\"%u\": \"%u\"",
					 dscp ? ", " : "{", dscp,
					 dscp == 26   ? 3
					 : dscp == 48 ? 6
						      : 0);
	snprintf(map + used, sizeof(map) - used, "}");
	snprintf(whole, sizeof(whole), text, map);
	expect_nothing(json_loads(whole, 0, NULL), &vl_check_defaults);
}

/* By hand: 9114 + 9114 + 2 * 40 m * 100 Gb/s / 1.98e8 m/s / 8 = 5050.5, 394 quanta of 64 bytes =
 * 25216; together 48494.5. */
static void test_headroom_sum(void)
{
	static const char *const terms[] = {"9114 B  frame that the peer", "5051 B  cable",
					    "25216 B  peer's response", "48495 B  needed; 48494 B"};
	json_t *root = config_db_100g(4);
	const struct vl_check_finding *finding;
	struct judged judged;

	config_db_edit(root, "BUFFER_PROFILE", TH, "xoff", "48494");
	judged = judge(root, &vl_check_defaults);
	finding = find(&judged, "headroom");
	CU_ASSERT_PTR_NOT_NULL_FATAL(finding);
	CU_ASSERT_EQUAL(finding->port_count, 4);
	for (unsigned int i = 0; i < sizeof(terms) / sizeof(terms[0]); i++) {
		if (!strstr(finding->arithmetic, terms[i]))
			printf("    %s is not in %s\n", terms[i], finding->arithmetic);
		CU_ASSERT_PTR_NOT_NULL(strstr(finding->arithmetic, terms[i]));
	}
	CU_ASSERT_PTR_NOT_NULL(strstr(finding->right, "\"49152\""));
	vl_config_db_free(judged.db);
	root = config_db_100g(4);
	config_db_edit(root, "BUFFER_PROFILE", TH, "xoff", "48495");
	expect_nothing(root, &vl_check_defaults);
}

/* Speed, cable and MTU each make the same headroom too small. */
static void test_headroom_grows(void)
{
	struct vl_check_options options = vl_check_defaults;
	json_t *root = config_db_100g(4);
	struct judged judged;

	config_db_edit(root, "BUFFER_PROFILE", TH, "xoff", "50000");
	options.cable_length = 60;
	judged = judge(json_deep_copy(root), &options);
	CU_ASSERT_PTR_NOT_NULL(find(&judged, "headroom"));
	vl_config_db_free(judged.db);
	options = vl_check_defaults;
	options.mtu = 9900;
	judged = judge(json_deep_copy(root), &options);
	CU_ASSERT_PTR_NOT_NULL(find(&judged, "headroom"));
	vl_config_db_free(judged.db);
	options = vl_check_defaults;
	options.lossless_mtu = 4200;
	options.cable_length = 60;
	judged = judge(root, &options);
	CU_ASSERT_PTR_NULL(find(&judged, "headroom"));
	vl_config_db_free(judged.db);
}

/* By hand: 4 ports of 2 groups reserve 1248 each; (10875072 - 9984) * a / (1 + n a), a = 1/4, and
 * the group's own 1248. */
static void test_thresholds(void)
{
	json_t *root = config_db_100g(4);
	const struct vl_check_finding *finding;
	struct judged judged;

	config_db_edit(root, "BUFFER_PROFILE", TH, "dynamic_th", "-2");
	judged = judge(root, &vl_check_defaults);
	finding = find(&judged, "ecn-near-pfc");
	CU_ASSERT_PTR_NOT_NULL_FATAL(finding);
	CU_ASSERT_PTR_NOT_NULL(strstr(finding->arithmetic, "2174266 B  with 1 congested port\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(finding->arithmetic, "1359384 B  with 4 congested ports"));
	CU_ASSERT_PTR_NOT_NULL(strstr(finding->found, "when 2 ports are congested"));
	vl_config_db_free(judged.db);
}

static void test_found_once(void)
{
	json_t *root = config_db_100g(32);
	const struct vl_check_finding *finding;
	struct judged judged;

	config_db_edit(root, "QUEUE", "*|3", "wred_profile", "MISSING");
	judged = judge(root, &vl_check_defaults);
	finding = find(&judged, "reference");
	CU_ASSERT_PTR_NOT_NULL_FATAL(finding);
	CU_ASSERT_EQUAL(finding->port_count, 32);
	CU_ASSERT_PTR_NOT_NULL(strstr(finding->right, "AZURE_LOSSLESS"));
	CU_ASSERT_EQUAL(judged.findings.counts[VL_CHECK_ERROR], 1);
	CU_ASSERT_EQUAL(judged.findings.counts[VL_CHECK_WARNING], 0);
	vl_config_db_free(judged.db);
}

static void expect_count(json_t *root, unsigned int errors, unsigned int warnings)
{
	struct judged judged = judge(root, &vl_check_defaults);

	if (judged.findings.counts[VL_CHECK_ERROR] != errors ||
	    judged.findings.counts[VL_CHECK_WARNING] != warnings)
		vl_check_print(&judged.findings, "counted", stdout);
	CU_ASSERT_EQUAL(judged.findings.counts[VL_CHECK_ERROR], errors);
	CU_ASSERT_EQUAL(judged.findings.counts[VL_CHECK_WARNING], warnings);
	vl_config_db_free(judged.db);
}

/* One cause is one finding, however many tables, groups and ports it shows in. */
static void test_causes(void)
{
	json_t *root = config_db_100g(4);
	const struct vl_check_finding *finding;
	struct judged judged;

	/* PORT lacks a port that six tables speak of. */
	config_db_edit(root, "PORT", "Ethernet12", NULL, NULL);
	judged = judge(root, &vl_check_defaults);
	finding = find(&judged, "reference");
	CU_ASSERT_PTR_NOT_NULL_FATAL(finding);
	CU_ASSERT_EQUAL(judged.findings.counts[VL_CHECK_ERROR], 1);
	CU_ASSERT_EQUAL(judged.findings.counts[VL_CHECK_WARNING], 0);
	CU_ASSERT_EQUAL(finding->port_count, 1);
	CU_ASSERT_STRING_EQUAL(finding->ports[0], "Ethernet12");
	vl_config_db_free(judged.db);

	/* Both groups of all ports at once, named as ports. */
	root = config_db_100g(4);
	config_db_edit(root, "PORT_QOS_MAP", "*", "pfc_enable", "");
	judged = judge(root, &vl_check_defaults);
	finding = find(&judged, "pfc-off");
	CU_ASSERT_PTR_NOT_NULL_FATAL(finding);
	CU_ASSERT_EQUAL(judged.findings.counts[VL_CHECK_ERROR], 1);
	CU_ASSERT_EQUAL(judged.findings.counts[VL_CHECK_WARNING], 0);
	CU_ASSERT_EQUAL(finding->port_count, 4);
	CU_ASSERT_PTR_NOT_NULL(strstr(finding->right, "\"3,4\""));
	vl_config_db_free(judged.db);

	/* A plan of lanes that is off by half: three ports, one finding. */
	root = config_db_100g(4);
	config_db_edit(root, "PORT", "Ethernet0", "lanes", "1,2,3,4");
	config_db_edit(root, "PORT", "Ethernet4", "lanes", "3,4,5,6");
	config_db_edit(root, "PORT", "Ethernet8", "lanes", "5,6,7,8");
	judged = judge(root, &vl_check_defaults);
	finding = find(&judged, "port-lanes");
	CU_ASSERT_PTR_NOT_NULL_FATAL(finding);
	CU_ASSERT_EQUAL(judged.findings.counts[VL_CHECK_ERROR], 1);
	CU_ASSERT_EQUAL(finding->port_count, 3);
	CU_ASSERT_STRING_EQUAL(finding->found, "lane 3 is of Ethernet0 and of Ethernet4; lane 5 is "
					       "of Ethernet4 and of Ethernet8");
	vl_config_db_free(judged.db);
}

static void expect_found(json_t *root, const struct vl_check_options *options, const char *rule,
			 const char *found)
{
	struct judged judged = judge(root, options);
	const struct vl_check_finding *finding = find(&judged, rule);

	CU_ASSERT_PTR_NOT_NULL_FATAL(finding);
	CU_ASSERT_STRING_EQUAL(finding->found, found);
	CU_ASSERT_PTR_NULL(finding->next);
	CU_ASSERT_PTR_EQUAL(judged.findings.first, finding);
	vl_config_db_free(judged.db);
}

/* Queues and colours of which the same is wrong are one finding too. */
static void test_together(void)
{
	json_t *root = config_db_100g(4);

	config_db_edit(root, "QUEUE", "*|3", "wred_profile", NULL);
	config_db_edit(root, "QUEUE", "*|4", "wred_profile", NULL);
	expect_found(root, &vl_check_defaults, "ecn-off", "queues 3, 4 have no WRED profile");
	root = config_db_100g(4);
	config_db_edit(root, "QUEUE", "*|3", "scheduler", NULL);
	config_db_edit(root, "QUEUE", "*|4", "scheduler", NULL);
	expect_found(root, &vl_check_defaults, "scheduler-missing",
		     "lossless queues 3, 4 have no scheduler, though others of the port have one");
	root = config_db_100g(4);
	config_db_edit(root, "WRED_PROFILE", "AZURE_LOSSLESS", "green_drop_probability", "100");
	config_db_edit(root, "WRED_PROFILE", "AZURE_LOSSLESS", "red_drop_probability", NULL);
	expect_found(root, &vl_check_defaults, "wred-steep",
		     "AZURE_LOSSLESS: a probability of 100 for green, red");
	root = config_db_100g(4);
	config_db_edit(root, "PORT_QOS_MAP", "*", "tc_to_queue_map", NULL);
	config_db_edit(root, "PORT_QOS_MAP", "*", "pfc_to_queue_map", NULL);
	expect_found(root, &vl_check_defaults, "class-map",
		     "not given: tc_to_queue_map, pfc_to_queue_map; queues and groups are what the "
		     "switch takes them to be");
	root = config_db_100g(4);
	config_db_edit(root, "PORT_QOS_MAP", "Ethernet4", NULL, NULL);
	config_db_edit(root, "PORT_QOS_MAP", "global", NULL, NULL);
	expect_found(root, &vl_check_defaults, "qos-map",
		     "no entry in PORT_QOS_MAP, but groups 3, 4 have headroom: PFC is off, and "
		     "every packet is of class 0");
}

/* Ports may differ in what is lossless, as long as RoCE has none of it. */
static void test_pfc_for_others(void)
{
	struct vl_check_options options = vl_check_defaults;
	json_t *root = config_db_100g(4);

	config_db_edit(root, "PORT_QOS_MAP", "Ethernet0", "pfc_enable", "2,3,4");
	config_db_edit(root, "PORT_QOS_MAP", "Ethernet0", "pfcwd_sw_enable", "2,3,4");
	expect_found(json_deep_copy(root), &options, "pfc-differs",
		     "PFC for 2-4; most ports have it for 3, 4");
	options.roce_dscps = 1u << 26;
	expect_nothing(root, &options);
}

static void set_port(json_t *root, const char *speed, const char *lanes, const char *fec)
{
	config_db_edit(root, "PORT", "Ethernet0", "speed", speed);
	config_db_edit(root, "PORT", "Ethernet0", "lanes", lanes);
	config_db_edit(root, "PORT", "Ethernet0", "fec", fec);
	config_db_edit(root, "BUFFER_PG", "Ethernet0|3-4", NULL, NULL);
	config_db_edit(root, "PORT_QOS_MAP", "Ethernet0", NULL, NULL);
	config_db_edit(root, "PORT", "Ethernet0", "admin_status", "down");
}

/* Lanes as switches have them: a port need not use all of its own, and 40 Gb/s go on two. */
static void test_lanes(void)
{
	static const struct {
		const char *speed, *lanes, *fec;
		unsigned int errors;
	} cases[] = {
		{"10000", "1,2,3,4", "none", 0},
		{"25000", "1,2,3,4", "rs", 0},
		{"40000", "1,2", "none", 0},
		{"40000", "1,2,3,4", "rs", 1},
		{"50000", "1,2,3,4", "none", 0},
		{"50000", "1,2", "fc", 0},
		{"50000", "1", "rs", 0},
		{"50000", "1", "none", 1},
		{"100000", "1,2,3,4,5,6,7,8", "rs", 0},
		{"100000", "1, 2, 3, 4", "none", 0},
		{"100000", "1,2", "none", 1},
		{"100000", "11,12,13,14,15,16,17,18,19,20", "none", 0},
		{"200000", "1", "rs", 0},
		{"400000", "1", NULL, 1},
		{"400000", "1,2", "rs", 0},
		{"1600000", "1,2,3,4,5,6,7,8", "rs", 0},
		{"1600000", "1,2,3,4", "rs", 1},
		{"100000", "1,2,3", NULL, 1},
	};

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_t *root = config_db_100g(2);

		config_db_edit(root, "PORT", "Ethernet4", "lanes", "101,102,103,104");
		set_port(root, cases[i].speed, cases[i].lanes, cases[i].fec);
		expect_count(root, cases[i].errors, 0);
	}
	/* A port into the switch itself has whatever lanes its maker gave it. */
	for (unsigned int i = 0; i < 2; i++) {
		json_t *root = config_db_100g(2);

		set_port(root, "400000", "1", NULL);
		config_db_edit(root, "PORT", "Ethernet0", "role", i ? "Rec" : "Inb");
		expect_count(root, 0, 0);
	}
}

static void test_json(void)
{
	json_t *root = config_db_100g(4), *json, *first;
	struct judged judged;

	config_db_edit(root, "BUFFER_PROFILE", TH, "xoff", "1000");
	judged = judge(root, &vl_check_defaults);
	json = vl_check_json(judged.db, &judged.findings, "file.json");
	CU_ASSERT_PTR_NOT_NULL_FATAL(json);
	first = json_array_get(json_object_get(json, "findings"), 0);
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(first, "rule")), "headroom");
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(first, "severity")), "error");
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(first, "path")),
			       "BUFFER_PROFILE|" TH "|xoff");
	CU_ASSERT_TRUE(json_integer_value(json_object_get(first, "line")) > 0);
	CU_ASSERT_EQUAL(json_array_size(json_object_get(first, "ports")), 4);
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(json, "errors")), 1);
	json_decref(json);
	vl_config_db_free(judged.db);
}

static void test_descriptions(void)
{
	for (unsigned int i = 0; i < VL_CHECK_RULE_COUNT; i++) {
		CU_ASSERT_PTR_NOT_NULL_FATAL(vl_check_explain(i));
		CU_ASSERT_TRUE(strlen(vl_check_explain(i)) > 40);
	}
}

static void expect_unmapped(const char *maps, uint64_t roce_dscps, const char *found)
{
	static const char text[] =
		"{\"PORT\": {\"Ethernet0\": {\"speed\": \"100000\"}},"
		"\"BUFFER_POOL\": {\"in\": {\"type\": \"ingress\", \"mode\": \"dynamic\", "
		"\"size\": 20000000, \"xoff\": 4000000}},"
		"\"BUFFER_PROFILE\": {\"pg\": {\"pool\": \"in\", \"size\": 18432, \"xon\": "
		"18432, \"xoff\": 200000, \"dynamic_th\": 0}},"
		"\"BUFFER_PG\": {\"Ethernet0|3\": {\"profile\": \"pg\"}},"
		"\"DSCP_TO_TC_MAP\": {\"m\": {\"26\": \"9\"}},"
		"\"TC_TO_PRIORITY_GROUP_MAP\": {\"m\": {\"9\": \"3\"}},"
		"\"PORT_QOS_MAP\": {\"Ethernet0\": {%s\"pfc_enable\": \"3\"}}}";
	struct vl_check_options options = vl_check_defaults;
	const struct vl_check_finding *finding;
	struct judged judged;
	char whole[2048];

	options.roce_dscps = roce_dscps;
	snprintf(whole, sizeof(whole), text, maps);
	judged = judge(json_loads(whole, 0, NULL), &options);
	finding = find(&judged, "class-unmapped");
	CU_ASSERT_PTR_NOT_NULL_FATAL(finding);
	CU_ASSERT_PTR_NOT_NULL(strstr(finding->found, found));
	vl_config_db_free(judged.db);
}

/* There are more classes than queues and groups: those beyond have none where there is no map. */
static void test_classes_beyond(void)
{
	expect_unmapped("\"dscp_to_tc_map\": \"m\", \"tc_to_pg_map\": \"m\", ", 0,
			"no queue for class 9");
	expect_unmapped("\"dscp_to_tc_map\": \"m\", ", UINT64_C(1) << 26, "no group for class 9");
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"classes_beyond", test_classes_beyond},
		{"every_rule_fails", test_every_rule_fails},
		{"good_ones", test_good_ones},
		{"good_by_hand", test_good_by_hand},
		{"headroom_sum", test_headroom_sum},
		{"headroom_grows", test_headroom_grows},
		{"thresholds", test_thresholds},
		{"found_once", test_found_once},
		{"causes", test_causes},
		{"together", test_together},
		{"pfc_for_others", test_pfc_for_others},
		{"lanes", test_lanes},
		{"json", test_json},
		{"descriptions", test_descriptions},
	};

	return RUN_SUITE("check_rules", tests, argc, argv);
}
