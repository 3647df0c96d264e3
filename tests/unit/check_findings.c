/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What findings say: their arithmetic, their causes once each, and the edges between right and
 * wrong. */

#include "tests/unit/check_judged.h"

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

/* A group of two classes in two queues: the map of its priority is right for one of them at most.
 */
static void test_pfc_queue_of_two(void)
{
	struct vl_check_options options = vl_check_defaults;
	const struct vl_check_finding *finding;
	struct judged judged;

	for (unsigned int is_map_wrong = 0; is_map_wrong < 2; is_map_wrong++) {
		json_t *root = config_db_100g(2);
		unsigned int maps = 0, others = 0;

		config_db_edit(root, "TC_TO_PRIORITY_GROUP_MAP", "AZURE", "5", "3");
		if (is_map_wrong)
			config_db_edit(root, "MAP_PFC_PRIORITY_TO_QUEUE", "AZURE", "3", "2");
		options.roce_dscps = 1u << 3;
		judged = judge(root, &options);
		for (finding = judged.findings.first; finding; finding = finding->next) {
			if (finding->rule != VL_CHECK_PFC_QUEUE)
				continue;
			maps += strstr(finding->right, "in the map of PFC priorities") != NULL;
			others += !strcmp(finding->right, "class 5 in another group than class 3, "
							  "or in its queue, 3");
		}
		CU_ASSERT_EQUAL(maps, is_map_wrong);
		CU_ASSERT_EQUAL(others, 1);
		vl_config_db_free(judged.db);
	}
}

/* Not every table takes a list of ports for a key. */
static void test_list_of_ports(void)
{
	struct vl_check_options options = vl_check_defaults;
	const struct vl_check_finding *finding;
	json_t *root = config_db_100g(2);
	struct judged judged;

	config_db_edit(root, "PFC_WD", "Ethernet0,Ethernet4", "detection_time", "200");
	judged = judge(root, &options);
	finding = find(&judged, "reference");
	CU_ASSERT_PTR_NOT_NULL_FATAL(finding);
	CU_ASSERT_STRING_EQUAL(finding->right, "an entry for each port: this table takes no lists");
	vl_config_db_free(judged.db);
}

static const struct test tests[] = {
	{"pfc_queue_of_two", test_pfc_queue_of_two},
	{"list_of_ports", test_list_of_ports},
	{"classes_beyond", test_classes_beyond},
	{"headroom_sum", test_headroom_sum},
	{"headroom_grows", test_headroom_grows},
	{"thresholds", test_thresholds},
	{"found_once", test_found_once},
	{"causes", test_causes},
	{"together", test_together},
	{"pfc_for_others", test_pfc_for_others},
	{"lanes", test_lanes},
	{"json", test_json},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("check_findings", tests, argc, argv);
}
