/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "tests/support/config_db.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static json_t *parse(const char *text)
{
	json_error_t error;
	json_t *value = json_loads(text, JSON_DECODE_ANY, &error);

	if (!value)
		fprintf(stderr, "tests/support/config_db.c: %s\n", error.text);
	return value;
}

static json_t *member(json_t *object, const char *name)
{
	json_t *value = json_object_get(object, name);

	if (!value) {
		value = json_object();
		json_object_set_new(object, name, value);
	}
	return value;
}

static void edit_entry(json_t *root, const char *table, const char *key, const char *field,
		       const char *text)
{
	json_t *entries = member(root, table);

	if (!field)
		json_object_del(entries, key);
	else if (!text)
		json_object_del(member(entries, key), field);
	else if (!strncmp(text, "json:", 5))
		json_object_set_new(member(entries, key), field, parse(text + 5));
	else
		json_object_set_new(member(entries, key), field, json_string(text));
}

void config_db_edit(json_t *root, const char *table, const char *key, const char *field,
		    const char *text)
{
	const char *port;
	json_t *unused;
	char name[128];

	if (!key) {
		json_object_del(root, table);
	} else if (*key != '*') {
		edit_entry(root, table, key, field, text);
	} else {
		json_object_foreach(json_object_get(root, "PORT"), port, unused)
		{
			snprintf(name, sizeof(name), "%s%s", port, key + 1);
			edit_entry(root, table, name, field, text);
		}
	}
}

/* ---- What all have ------------------------------------------------------------------------- */

static const char maps[] =
	"{"
	"\"TC_TO_PRIORITY_GROUP_MAP\": {\"AZURE\": {\"0\": \"0\", \"1\": \"0\", \"2\": \"0\", "
	"\"3\": \"3\", \"4\": \"4\", \"5\": \"0\", \"6\": \"0\", \"7\": \"7\"}},"
	"\"MAP_PFC_PRIORITY_TO_QUEUE\": {\"AZURE\": {\"0\": \"0\", \"1\": \"1\", \"2\": \"2\", "
	"\"3\": \"3\", \"4\": \"4\", \"5\": \"5\", \"6\": \"6\", \"7\": \"7\"}},"
	"\"TC_TO_QUEUE_MAP\": {\"AZURE\": {\"0\": \"0\", \"1\": \"1\", \"2\": \"2\", \"3\": "
	"\"3\", \"4\": \"4\", \"5\": \"5\", \"6\": \"6\", \"7\": \"7\"}},"
	"\"SCHEDULER\": {\"scheduler.0\": {\"type\": \"DWRR\", \"weight\": \"14\"}, "
	"\"scheduler.1\": {\"type\": \"DWRR\", \"weight\": \"15\"}, "
	"\"scheduler.2\": {\"type\": \"STRICT\"}},"
	"\"WRED_PROFILE\": {\"AZURE_LOSSLESS\": {\"wred_green_enable\": \"true\", "
	"\"wred_yellow_enable\": \"true\", \"wred_red_enable\": \"true\", \"ecn\": \"ecn_all\", "
	"\"green_max_threshold\": \"2097152\", \"green_min_threshold\": \"1048576\", "
	"\"yellow_max_threshold\": \"2097152\", \"yellow_min_threshold\": \"1048576\", "
	"\"red_max_threshold\": \"2097152\", \"red_min_threshold\": \"1048576\", "
	"\"green_drop_probability\": \"5\", \"yellow_drop_probability\": \"5\", "
	"\"red_drop_probability\": \"5\"}},"
	"\"PFC_WD\": {\"GLOBAL\": {\"POLL_INTERVAL\": \"200\"}},"
	"\"DEVICE_METADATA\": {\"localhost\": {\"hostname\": \"leaf\", \"type\": \"LeafRouter\"}}"
	"}";

static json_t *common(void)
{
	json_t *root = parse(maps);
	char dscp[4];

	for (unsigned int i = 0; i < 64; i++) {
		snprintf(dscp, sizeof(dscp), "%u", i);
		config_db_edit(root, "DSCP_TO_TC_MAP", "AZURE", dscp,
			       i == 3 || i == 26 ? "3"
			       : i == 4          ? "4"
			       : i == 5          ? "2"
			       : i == 8          ? "0"
			       : i == 46         ? "5"
			       : i == 48         ? "6"
						 : "1");
	}
	config_db_edit(root, "PORT_QOS_MAP", "global", "dscp_to_tc_map", "AZURE");
	return root;
}

static void add_port(json_t *root, unsigned int lane, unsigned int lanes, const char *speed)
{
	char name[32], text[64] = "";
	size_t used = 0;

	for (unsigned int i = 0; i < lanes; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%u", i ? "," : "",
					 lane + i + 1);
	snprintf(name, sizeof(name), "Ethernet%u", lane);
	config_db_edit(root, "PORT", name, "lanes", text);
	config_db_edit(root, "PORT", name, "speed", speed);
	config_db_edit(root, "PORT", name, "mtu", "9100");
	config_db_edit(root, "PORT", name, "fec", "rs");
	config_db_edit(root, "CABLE_LENGTH", "AZURE", name, "40m");
}

/* Of every port, once they are there. */
static void add_classes(json_t *root)
{
	static const char *const fields[][2] = {
		{"dscp_to_tc_map", "AZURE"}, {"tc_to_queue_map", "AZURE"},
		{"tc_to_pg_map", "AZURE"},   {"pfc_to_queue_map", "AZURE"},
		{"pfc_enable", "3,4"},       {"pfcwd_sw_enable", "3,4"},
	};
	char key[8];

	for (unsigned int i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		config_db_edit(root, "PORT_QOS_MAP", "*", fields[i][0], fields[i][1]);
	for (unsigned int queue = 0; queue < 7; queue++) {
		bool is_lossless = queue == 3 || queue == 4;

		snprintf(key, sizeof(key), "*|%u", queue);
		config_db_edit(root, "QUEUE", key, "scheduler",
			       is_lossless  ? "scheduler.1"
			       : queue == 6 ? "scheduler.2"
					    : "scheduler.0");
		if (is_lossless)
			config_db_edit(root, "QUEUE", key, "wred_profile", "AZURE_LOSSLESS");
	}
	config_db_edit(root, "BUFFER_PG", "*|0", "profile", "ingress_lossy_profile");
	config_db_edit(root, "BUFFER_QUEUE", "*|3-4", "profile", "egress_lossless_profile");
	config_db_edit(root, "BUFFER_QUEUE", "*|0-2", "profile", "egress_lossy_profile");
	config_db_edit(root, "BUFFER_QUEUE", "*|5-6", "profile", "egress_lossy_profile");
	config_db_edit(root, "PFC_WD", "*", "action", "drop");
	config_db_edit(root, "PFC_WD", "*", "detection_time", "200");
	config_db_edit(root, "PFC_WD", "*", "restoration_time", "200");
}

static void add_tables(json_t *root, const char *text)
{
	json_t *tables = parse(text);

	json_object_update(root, tables);
	json_decref(tables);
}

/* ---- Each ---------------------------------------------------------------------------------- */

json_t *config_db_100g(unsigned int ports)
{
	json_t *root = common();

	add_tables(
		root,
		"{"
		"\"BUFFER_POOL\": {"
		"\"ingress_lossless_pool\": {\"size\": \"10875072\", \"type\": \"ingress\", "
		"\"mode\": \"dynamic\", \"xoff\": \"4194112\"},"
		"\"egress_lossy_pool\": {\"size\": \"9243812\", \"type\": \"egress\", \"mode\": "
		"\"dynamic\"},"
		"\"egress_lossless_pool\": {\"size\": \"15982720\", \"type\": \"egress\", "
		"\"mode\": \"static\"}},"
		"\"BUFFER_PROFILE\": {"
		"\"ingress_lossy_profile\": {\"pool\": \"ingress_lossless_pool\", \"size\": \"0\", "
		"\"dynamic_th\": \"3\"},"
		"\"egress_lossless_profile\": {\"pool\": \"egress_lossless_pool\", \"size\": "
		"\"1518\", \"static_th\": \"15982720\"},"
		"\"egress_lossy_profile\": {\"pool\": \"egress_lossy_pool\", \"size\": \"1518\", "
		"\"dynamic_th\": \"3\"},"
		"\"pg_lossless_100000_40m_profile\": {\"pool\": \"ingress_lossless_pool\", "
		"\"size\": \"1248\", \"xon\": \"2288\", \"xon_offset\": \"2288\", \"xoff\": "
		"\"177632\", \"dynamic_th\": \"0\"}}"
		"}");
	for (unsigned int i = 0; i < ports; i++)
		add_port(root, 4 * i, 4, "100000");
	add_classes(root);
	config_db_edit(root, "BUFFER_PG", "*|3-4", "profile", "pg_lossless_100000_40m_profile");
	return root;
}

json_t *config_db_400g(void)
{
	json_t *root = common();
	const char *port;
	json_t *fields;
	char key[64];

	add_tables(
		root,
		"{"
		"\"BUFFER_POOL\": {"
		"\"ingress_lossless_pool\": {\"size\": \"80000000\", \"type\": \"ingress\", "
		"\"mode\": \"dynamic\", \"xoff\": \"24000000\"},"
		"\"egress_lossy_pool\": {\"size\": \"34000000\", \"type\": \"egress\", \"mode\": "
		"\"dynamic\"},"
		"\"egress_lossless_pool\": {\"size\": \"110000000\", \"type\": \"egress\", "
		"\"mode\": \"static\"}},"
		"\"BUFFER_PROFILE\": {"
		"\"ingress_lossy_profile\": {\"pool\": \"ingress_lossless_pool\", \"size\": \"0\", "
		"\"dynamic_th\": \"3\"},"
		"\"egress_lossless_profile\": {\"pool\": \"egress_lossless_pool\", \"size\": "
		"\"0\", \"static_th\": \"110000000\"},"
		"\"egress_lossy_profile\": {\"pool\": \"egress_lossy_pool\", \"size\": \"1518\", "
		"\"dynamic_th\": \"3\"},"
		"\"pg_lossless_100000_40m_profile\": {\"pool\": \"ingress_lossless_pool\", "
		"\"size\": \"4620\", \"xon\": \"0\", \"xon_offset\": \"3360\", \"xoff\": "
		"\"251580\", \"dynamic_th\": \"0\"},"
		"\"pg_lossless_400000_40m_profile\": {\"pool\": \"ingress_lossless_pool\", "
		"\"size\": \"4620\", \"xon\": \"0\", \"xon_offset\": \"3360\", \"xoff\": "
		"\"737940\", \"dynamic_th\": \"0\"}}"
		"}");
	for (unsigned int i = 0; i < 64; i++) {
		if (i % 8)
			add_port(root, 8 * i, 8, "400000");
		for (unsigned int j = 0; !(i % 8) && j < 4; j++)
			add_port(root, 8 * i + 2 * j, 2, "100000");
	}
	add_classes(root);
	json_object_foreach(json_object_get(root, "PORT"), port, fields)
	{
		const char *speed = json_string_value(json_object_get(fields, "speed"));
		char profile[64];

		snprintf(key, sizeof(key), "%s|3-4", port);
		snprintf(profile, sizeof(profile), "pg_lossless_%s_40m_profile", speed);
		config_db_edit(root, "BUFFER_PG", key, "profile", profile);
	}
	config_db_edit(root, "PFC_WD", "GLOBAL", "POLL_INTERVAL", "600");
	config_db_edit(root, "PFC_WD", "*", "detection_time", "600");
	config_db_edit(root, "PFC_WD", "*", "restoration_time", "600");
	return root;
}

json_t *config_db_dynamic(void)
{
	json_t *root = common();

	add_tables(
		root,
		"{"
		"\"BUFFER_POOL\": {"
		"\"ingress_lossless_pool\": {\"type\": \"ingress\", \"mode\": \"dynamic\"},"
		"\"ingress_lossy_pool\": {\"type\": \"ingress\", \"mode\": \"dynamic\"},"
		"\"egress_lossless_pool\": {\"size\": \"13945824\", \"type\": \"egress\", "
		"\"mode\": \"dynamic\"},"
		"\"egress_lossy_pool\": {\"type\": \"egress\", \"mode\": \"dynamic\"}},"
		"\"BUFFER_PROFILE\": {"
		"\"ingress_lossless_profile\": {\"pool\": \"ingress_lossless_pool\", \"size\": "
		"\"0\", \"dynamic_th\": \"7\"},"
		"\"ingress_lossy_profile\": {\"pool\": \"ingress_lossy_pool\", \"size\": \"0\", "
		"\"dynamic_th\": \"3\"},"
		"\"egress_lossless_profile\": {\"pool\": \"egress_lossless_pool\", \"size\": "
		"\"0\", \"dynamic_th\": \"7\"},"
		"\"egress_lossy_profile\": {\"pool\": \"egress_lossy_pool\", \"size\": \"9216\", "
		"\"dynamic_th\": \"7\"}},"
		"\"DEFAULT_LOSSLESS_BUFFER_PARAMETER\": {\"AZURE\": {\"default_dynamic_th\": "
		"\"0\"}},"
		"\"LOSSLESS_TRAFFIC_PATTERN\": {\"AZURE\": {\"mtu\": \"1024\", "
		"\"small_packet_percentage\": \"50\"}},"
		"\"PFC_PRIORITY_TO_PRIORITY_GROUP_MAP\": {\"AZURE\": {\"3\": \"3\", \"4\": "
		"\"4\"}}"
		"}");
	config_db_edit(root, "DEVICE_METADATA", "localhost", "buffer_model", "dynamic");
	config_db_edit(root, "DEVICE_METADATA", "localhost", "default_pfcwd_status", "enable");
	for (unsigned int i = 0; i < 32; i++)
		add_port(root, 4 * i, 4, "100000");
	add_classes(root);
	config_db_edit(root, "PFC_WD", NULL, NULL, NULL);
	config_db_edit(root, "BUFFER_PG", "*|3-4", "profile", "NULL");
	config_db_edit(root, "PORT_QOS_MAP", "*", "pfc_to_pg_map", "AZURE");
	return root;
}
