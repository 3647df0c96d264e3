/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The reader of SONiC configurations: what tables come to, and the place of what is wrong. */

#include "apps/sonic/config_db.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

static struct vl_config_db *read(const char *text)
{
	char error[256] = "";
	struct vl_config_db *db = vl_config_db_parse(text, strlen(text), error, sizeof(error));

	if (!db)
		printf("    %s\n", error);
	CU_ASSERT_PTR_NOT_NULL_FATAL(db);
	return db;
}

static void expect_refusal(const char *text, const char *expected)
{
	char error[256] = "";
	struct vl_config_db *db = vl_config_db_parse(text, strlen(text), error, sizeof(error));

	CU_ASSERT_PTR_NULL(db);
	if (!strstr(error, expected))
		printf("    '%s' is not in '%s'\n", expected, error);
	CU_ASSERT_PTR_NOT_NULL(strstr(error, expected));
	vl_config_db_free(db);
}

/* The n-th problem, as "LINE PATH FOUND -> RIGHT". */
static void expect_problem(const struct vl_config_db *db, unsigned int n, const char *expected)
{
	const struct vl_db_problem *problem = db->problems;
	char text[512];

	while (n-- && problem)
		problem = problem->next;
	CU_ASSERT_PTR_NOT_NULL_FATAL(problem);
	snprintf(text, sizeof(text), "%u %s %s -> %s", problem->place.line, problem->place.path,
		 problem->found, problem->right);
	if (strcmp(text, expected))
		printf("    got  %s\n    want %s\n", text, expected);
	CU_ASSERT_STRING_EQUAL(text, expected);
}

static void test_refused(void)
{
	expect_refusal("", "line 1");
	expect_refusal("[]", "an object of tables");
	expect_refusal("{\"VLAN\": {}}", "is it a SONiC configuration?");
	expect_refusal("{\"localhost\": {\"PORT\": {}}, \"asic0\": {}}", "for each ASIC");
	expect_refusal("{\"PORT\": {}} x", "line 1");
}

static void test_lines(void)
{
	struct vl_config_db *db = read("{\n"
				       "  \"PORT\": {\n"
				       "    \"Ether\\u006eet0\": {\"alias\": \"a\\\"{:,\\\\\",\n"
				       "\n"
				       "      \"speed\": \"x\",\n"
				       "      \"adv\": [\"1\",\n [{}], {\"a\": \"}\"}],\n"
				       "      \"mtu\":\n"
				       "        12}}}\n");

	CU_ASSERT_EQUAL(db->port_count, 1);
	CU_ASSERT_STRING_EQUAL(db->ports[0].name, "Ethernet0");
	expect_problem(db, 0,
		       "5 PORT|Ethernet0|speed \"x\" -> a whole number of Mb/s, 1 to 3200000");
	expect_problem(db, 1, "8 PORT|Ethernet0|mtu 12 -> a whole number of bytes, 68 to 9216");
	CU_ASSERT_EQUAL(db->problem_count, 2);
	vl_config_db_free(db);
}

static void test_ports(void)
{
	struct vl_config_db *db =
		read("{\"PORT\": {\"Ethernet16\": {\"speed\": 400000, \"lanes\": \"1,2\", \"fec\": "
		     "\"rs\", \"mtu\": \"9100\"}, \"Ethernet8\": {\"speed\": \"25000\", \"role\": "
		     "\"Dpc\"}, \"Ethernet100\": {}},"
		     "\"CABLE_LENGTH\": {\"AZURE\": {\"Ethernet16\": \"40m\", \"Ethernet8\": "
		     "\"None\", \"Ethernet100\": \"300m\", \"Ethernet4\": \"5m\"}}}");
	const struct vl_db_port *port = vl_db_find_port(db, "Ethernet16");

	CU_ASSERT_EQUAL(db->port_count, 3);
	CU_ASSERT_STRING_EQUAL(db->ports[0].name, "Ethernet8");
	CU_ASSERT_STRING_EQUAL(db->ports[1].name, "Ethernet16");
	CU_ASSERT_STRING_EQUAL(db->ports[2].name, "Ethernet100");
	CU_ASSERT_PTR_EQUAL(port, &db->ports[1]);
	CU_ASSERT_EQUAL(port->speed, UINT64_C(400000000000));
	CU_ASSERT_EQUAL(port->lane_count, 2);
	CU_ASSERT_EQUAL(port->lanes[1], 2);
	CU_ASSERT_EQUAL(port->fec, VL_DB_FEC_RS);
	CU_ASSERT_EQUAL(port->mtu, 9100);
	CU_ASSERT_EQUAL(port->cable, 40);
	CU_ASSERT_TRUE(db->ports[0].is_internal);
	CU_ASSERT_EQUAL(db->ports[0].cable, VL_DB_UNSET);
	CU_ASSERT_EQUAL(db->ports[2].speed, VL_DB_UNSET);
	expect_problem(db, 0,
		       "1 CABLE_LENGTH|AZURE|Ethernet4 a port that PORT does not have -> a port "
		       "of PORT, or no entry");
	CU_ASSERT_STRING_EQUAL(db->problems->key, "Ethernet4");
	vl_config_db_free(db);
}

/* Ports are those of other tables then; ranges and lists of ports are spelled out. */
static void test_without_ports(void)
{
	struct vl_config_db *db =
		read("{\"BUFFER_POOL\": {\"in\": {\"type\": \"ingress\", \"mode\": \"dynamic\", "
		     "\"size\": \"1000\", \"xoff\": \"100\"}},"
		     "\"BUFFER_PROFILE\": {\"p\": {\"pool\": \"in\", \"size\": \"5\", "
		     "\"dynamic_th\": \"-3\", \"xoff\": \"7\", \"xon_offset\": \"2\"}},"
		     "\"BUFFER_PG\": {\"Ethernet0,Ethernet4|3-4\": {\"profile\": \"p\"}, "
		     "\"Ethernet0|5\": {\"profile\": \"NULL\"}},"
		     "\"QUEUE\": {\"CPU|0-40\": {\"scheduler\": \"none\"}}}");
	const struct vl_db_port *port = vl_db_find_port(db, "Ethernet4");

	CU_ASSERT_EQUAL(db->port_count, 2);
	CU_ASSERT_EQUAL(db->problem_count, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(port);
	CU_ASSERT_PTR_NULL(port->pgs[2].entry);
	CU_ASSERT_PTR_NOT_NULL_FATAL(port->pgs[4].profile);
	CU_ASSERT_EQUAL(port->pgs[4].profile->dynamic_th, -3);
	CU_ASSERT_EQUAL(port->pgs[4].profile->xoff, 7);
	CU_ASSERT_EQUAL(port->pgs[4].profile->xon_offset, 2);
	CU_ASSERT_EQUAL(port->pgs[4].profile->xon, VL_DB_UNSET);
	CU_ASSERT_EQUAL(port->pgs[4].profile->pool->xoff, 100);
	CU_ASSERT_TRUE(db->ports[0].pgs[5].is_computed);
	CU_ASSERT_PTR_NULL(port->pgs[5].entry);
	vl_config_db_free(db);
}

static void test_maps(void)
{
	struct vl_config_db *db =
		read("{\"PORT\": {\"E0\": {}, \"E1\": {}},"
		     "\"DSCP_TO_TC_MAP\": {\"A\": {\"0\": \"1\", \"26\": 3}, \"B\": {\"26\": "
		     "\"9\"}},"
		     "\"TC_TO_QUEUE_MAP\": {\"A\": {\"3\": \"5\", \"9\": \"9\"}},"
		     "\"PFC_PRIORITY_TO_QUEUE_MAP\": {\"A\": {\"3\": \"5\"}},"
		     "\"PORT_QOS_MAP\": {\"global\": {\"dscp_to_tc_map\": "
		     "\"[DSCP_TO_TC_MAP|A]\"}, \"E0\": {\"tc_to_queue_map\": \"A\", "
		     "\"pfc_to_queue_map\": \"A\", \"pfc_enable\": \"3,4\", "
		     "\"pfcwd_sw_enable\": \"\"}, \"E1\": {\"dscp_to_tc_map\": \"B\", "
		     "\"tc_to_pg_map\": \"C\"}}}");
	const struct vl_db_port *e0 = &db->ports[0], *e1 = &db->ports[1];

	CU_ASSERT_EQUAL(vl_db_tc_of_dscp(db, e0, 26), 3);
	CU_ASSERT_EQUAL(vl_db_tc_of_dscp(db, e0, 27), -1);
	CU_ASSERT_EQUAL(vl_db_tc_of_dscp(db, e1, 26), 9);
	CU_ASSERT_EQUAL(vl_db_queue_of_tc(e0, 3), 5);
	CU_ASSERT_EQUAL(vl_db_queue_of_tc(e0, 4), -1);
	CU_ASSERT_EQUAL(vl_db_queue_of_tc(e0, 9), -1);
	CU_ASSERT_EQUAL(vl_db_queue_of_priority(e0, 3), 5);
	CU_ASSERT_EQUAL(vl_db_pg_of_tc(e0, 4), 4);
	CU_ASSERT_EQUAL(vl_db_pg_of_tc(e0, 12), -1);
	CU_ASSERT_EQUAL(e0->pfc, 0x18);
	CU_ASSERT_EQUAL(e0->watchdog_priorities, 0);
	CU_ASSERT_TRUE(e0->has_watchdog_priorities);
	CU_ASSERT_FALSE(e1->has_watchdog_priorities);
	expect_problem(db, 0,
		       "1 PORT_QOS_MAP|global|dscp_to_tc_map \"[DSCP_TO_TC_MAP|A]\" -> \"A\", "
		       "everywhere");
	expect_problem(
		db, 1,
		"1 PORT_QOS_MAP|E1|tc_to_pg_map \"C\" -> a TC_TO_PRIORITY_GROUP_MAP|C; there "
		"is no table TC_TO_PRIORITY_GROUP_MAP");
	vl_config_db_free(db);
}

static void test_marking(void)
{
	struct vl_config_db *db =
		read("{\"PORT\": {}, \"WRED_PROFILE\": {\"W\": {\"ecn\": \"ecn_green_red\", "
		     "\"wred_green_enable\": \"true\", \"wred_red_enable\": \"false\", "
		     "\"green_min_threshold\": \"100\", \"green_max_threshold\": \"200\", "
		     "\"green_drop_probability\": \"7\"}}}");
	const struct vl_db_wred *wred = &db->wreds[0];

	CU_ASSERT_EQUAL(db->wred_count, 1);
	CU_ASSERT_TRUE(wred->colours[VL_DB_GREEN].is_ecn);
	CU_ASSERT_FALSE(wred->colours[VL_DB_YELLOW].is_ecn);
	CU_ASSERT_TRUE(wred->colours[VL_DB_RED].is_ecn);
	CU_ASSERT_TRUE(wred->colours[VL_DB_GREEN].is_enabled);
	CU_ASSERT_FALSE(wred->colours[VL_DB_RED].is_enabled);
	CU_ASSERT_EQUAL(wred->colours[VL_DB_GREEN].min, 100);
	CU_ASSERT_EQUAL(wred->colours[VL_DB_GREEN].max, 200);
	CU_ASSERT_EQUAL(wred->colours[VL_DB_GREEN].probability, 7);
	CU_ASSERT_EQUAL(wred->colours[VL_DB_RED].probability, 100);
	CU_ASSERT_EQUAL(wred->colours[VL_DB_RED].min, VL_DB_UNSET);
	vl_config_db_free(db);
}

/* On a line card, queues to ports of other cards are theirs. */
static void test_chassis(void)
{
	static const char text[] =
		"{\"DEVICE_METADATA\": {\"localhost\": {\"hostname\": \"lc2\"}}, \"PORT\": "
		"{\"Ethernet0\": {}}, \"SCHEDULER\": {\"a\": {}, \"b\": {}}, \"QUEUE\": "
		"{\"lc1|asic0|Ethernet0|3\": {\"scheduler\": \"a\"}, \"lc2|asic0|Ethernet0|3\": "
		"{\"scheduler\": \"b\"}}}";
	struct vl_config_db *db = read(text);

	CU_ASSERT_EQUAL(db->problem_count, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(db->ports[0].queues[3].scheduler);
	CU_ASSERT_STRING_EQUAL(db->ports[0].queues[3].scheduler->name, "b");
	vl_config_db_free(db);
}

/* As SONiC loads it: the last of a name counts, whatever the first had. Escapes do not hide it. */
static void test_repeats(void)
{
	struct vl_config_db *db =
		read("{\"PORT\": {\n"
		     "\"Ethernet0\": {\"speed\": \"100000\", \"mtu\": \"9100\"},\n"
		     "\"Ethernet4\": {\"speed\": \"1\",\n \"sp\\u0065ed\": "
		     "\"25000\", \"mtu\":\n \"x\"},\n"
		     "\"Ethernet0\": {\"speed\": \"40000\"},\n"
		     "\"Ethernet0\": {\"speed\": \"50000\"}},\n"
		     "\"QUEUE\": {\"a\": {}}, \"QUEUE\": {}}");

	CU_ASSERT_EQUAL(db->port_count, 2);
	CU_ASSERT_EQUAL(db->ports[0].speed, UINT64_C(50000000000));
	CU_ASSERT_EQUAL(db->ports[0].mtu, VL_DB_UNSET);
	CU_ASSERT_EQUAL(db->ports[0].entry->line, 7);
	CU_ASSERT_EQUAL(db->ports[1].speed, UINT64_C(25000000000));
	CU_ASSERT_EQUAL(db->problem_count, 5);
	expect_problem(db, 0,
		       "3 PORT|Ethernet4|speed given again on line 4: what stands here is lost -> "
		       "one of the two, with all that is to hold");
	expect_problem(db, 1,
		       "6 PORT|Ethernet0 given again on line 7: what stands here is lost -> "
		       "one of the two, with all that is to hold");
	expect_problem(db, 2,
		       "2 PORT|Ethernet0 given again on line 6: what stands here is lost -> "
		       "one of the two, with all that is to hold");
	expect_problem(db, 3,
		       "8 QUEUE given again on line 8: what stands here is lost -> "
		       "one of the two, with all that is to hold");
	expect_problem(db, 4, "4 PORT|Ethernet4|mtu \"x\" -> a whole number of bytes, 68 to 9216");
	vl_config_db_free(db);
}

static void test_wrong_types(void)
{
	struct vl_config_db *db =
		read("{\"PORT\": 5,\n\"QUEUE\": [], \"BUFFER_POOL\": {\"p\": \"q\"}, "
		     "\"BUFFER_PROFILE\": {\"x\": {\"pool\": {\"a\": 1}, \"size\": -1, "
		     "\"dynamic_th\": \"9\"}}, \"PFC_WD\": {\"E0\": {\"detection_time\": "
		     "\"99999999999999999999\"}}}");

	expect_problem(db, 0, "1 PORT no object -> {\"KEY\": {\"FIELD\": \"VALUE\", ...}, ...}");
	expect_problem(db, 1, "2 QUEUE no object -> {\"KEY\": {\"FIELD\": \"VALUE\", ...}, ...}");
	expect_problem(db, 2, "2 BUFFER_POOL|p no object -> {\"FIELD\": \"VALUE\", ...}");
	expect_problem(db, 3, "2 BUFFER_PROFILE|x|pool an object -> one value, as a string");
	expect_problem(db, 4,
		       "2 BUFFER_PROFILE|x|size -1 -> a whole number of bytes, 0 to "
		       "1099511627776");
	expect_problem(db, 5,
		       "2 BUFFER_PROFILE|x|dynamic_th \"9\" -> the logarithm of alpha to base 2, "
		       "-8 to 7");
	expect_problem(db, 6,
		       "2 PFC_WD|E0|detection_time \"99999999999999999999\" -> a whole number of "
		       "milliseconds, 1 to 5000");
	vl_config_db_free(db);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"refused", test_refused}, {"lines", test_lines},
		{"ports", test_ports},     {"without_ports", test_without_ports},
		{"maps", test_maps},       {"marking", test_marking},
		{"chassis", test_chassis}, {"wrong_types", test_wrong_types},
		{"repeats", test_repeats},
	};

	return RUN_SUITE("config_db", tests, argc, argv);
}
