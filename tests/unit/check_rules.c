/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Every rule has a configuration that it finds wrong; nothing is found in good ones. */

#include "tests/unit/check_judged.h"

#define MAX_EDITS 5

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

static void test_descriptions(void)
{
	for (unsigned int i = 0; i < VL_CHECK_RULE_COUNT; i++) {
		CU_ASSERT_PTR_NOT_NULL_FATAL(vl_check_explain(i));
		CU_ASSERT_TRUE(strlen(vl_check_explain(i)) > 40);
	}
}

static const struct test tests[] = {
	{"every_rule_fails", test_every_rule_fails},
	{"good_ones", test_good_ones},
	{"good_by_hand", test_good_by_hand},
	{"descriptions", test_descriptions},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("check_rules", tests, argc, argv);
}
