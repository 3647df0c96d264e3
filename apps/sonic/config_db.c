/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/sonic/config_db.h"

#include "apps/sonic/reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool has_any_table(const struct vl_db_document *document)
{
	static const char *const tables[] = {"PORT",           "PORT_QOS_MAP", "BUFFER_POOL",
					     "BUFFER_PROFILE", "BUFFER_PG",    "BUFFER_QUEUE",
					     "QUEUE",          "WRED_PROFILE", "DSCP_TO_TC_MAP"};

	for (unsigned int i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		if (vl_db_find_table(document, tables[i]))
			return true;
	}
	return false;
}

/* Of those that are read. */
static void check_tables(struct vl_config_db *db)
{
	static const char *const names[] = {"PORT",
					    "CABLE_LENGTH",
					    "PORT_QOS_MAP",
					    "BUFFER_POOL",
					    "BUFFER_PROFILE",
					    "BUFFER_PG",
					    "BUFFER_QUEUE",
					    "QUEUE",
					    "SCHEDULER",
					    "WRED_PROFILE",
					    "DSCP_TO_TC_MAP",
					    "DOT1P_TO_TC_MAP",
					    "TC_TO_QUEUE_MAP",
					    "TC_TO_PRIORITY_GROUP_MAP",
					    "MAP_PFC_PRIORITY_TO_QUEUE",
					    "PFC_PRIORITY_TO_QUEUE_MAP",
					    "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP",
					    "PFC_WD",
					    "LOSSLESS_TRAFFIC_PATTERN",
					    "DEFAULT_LOSSLESS_BUFFER_PARAMETER",
					    "DEVICE_METADATA"};

	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct vl_db_table *table = vl_db_find_table(&db->document, names[i]);
		/* The place of the table itself. */
		const struct db_cell cell = {db, names[i], NULL};

		if (table && table->kind != VL_DB_OBJECT)
			db_problem(&cell, VL_DB_BAD_VALUE, NULL, "no object",
				   "{\"KEY\": {\"FIELD\": \"VALUE\", ...}, ...}");
	}
}

static void report_repeats(struct vl_config_db *db)
{
	for (const struct vl_db_repeat *repeat = db->document.repeats; repeat;
	     repeat = repeat->next)
		db_lost(db, repeat);
}

/* A file of a machine with several ASICs holds one configuration for each. */
static void explain_no_table(const struct vl_db_document *document, char *error, size_t error_size)
{
	const struct vl_db_table *host = vl_db_find_table(document, "localhost");

	if (host && vl_db_find_entry(host, "PORT"))
		snprintf(error, error_size,
			 "holds one configuration for each ASIC (localhost, ...); give one alone, "
			 "as /etc/sonic/config_db0.json");
	else
		snprintf(error, error_size,
			 "no table that speaks of ports, buffers or classes (PORT, PORT_QOS_MAP, "
			 "BUFFER_POOL, ...): is it a SONiC configuration?");
}

struct vl_config_db *vl_config_db_parse(const char *text, size_t length, char *error,
					size_t error_size)
{
	struct vl_config_db *db = calloc(1, sizeof(*db));

	if (!db) {
		snprintf(error, error_size, "out of memory");
		return NULL;
	}
	db->problem_end = &db->problems;
	if (vl_db_document_parse(text, length, &db->document, error, error_size)) {
		vl_config_db_free(db);
		return NULL;
	}
	if (!has_any_table(&db->document)) {
		explain_no_table(&db->document, error, error_size);
		vl_config_db_free(db);
		return NULL;
	}
	report_repeats(db);
	check_tables(db);
	db_read_named(db);
	if (!db->out_of_memory)
		db_read_ports(db);
	if (!db->out_of_memory)
		return db;
	snprintf(error, error_size, "out of memory");
	vl_config_db_free(db);
	return NULL;
}

static char *read_stream(FILE *file, size_t *length, char *error, size_t error_size)
{
	size_t capacity = 1 << 16, used = 0;
	char *text = malloc(capacity), *larger;

	while (text) {
		used += fread(text + used, 1, capacity - used, file);
		if (used < capacity)
			break;
		if (capacity > VL_DB_MAX_FILE_SIZE) {
			snprintf(error, error_size, "larger than %zu MiB",
				 VL_DB_MAX_FILE_SIZE >> 20);
			free(text);
			return NULL;
		}
		capacity *= 2;
		larger = realloc(text, capacity);
		if (!larger)
			free(text);
		text = larger;
	}
	if (!text) {
		snprintf(error, error_size, "out of memory");
	} else if (ferror(file)) {
		snprintf(error, error_size, "%s", strerror(errno));
		free(text);
		text = NULL;
	}
	*length = used;
	return text;
}

struct vl_config_db *vl_config_db_read(const char *path, char *error, size_t error_size)
{
	bool is_standard = !strcmp(path, "-");
	FILE *file = is_standard ? stdin : fopen(path, "re");
	struct vl_config_db *db = NULL;
	size_t length = 0;
	char *text;

	if (!file) {
		snprintf(error, error_size, "%s", strerror(errno));
		return NULL;
	}
	text = read_stream(file, &length, error, error_size);
	if (!is_standard)
		fclose(file);
	if (text)
		db = vl_config_db_parse(text, length, error, error_size);
	free(text);
	return db;
}

void vl_config_db_free(struct vl_config_db *db)
{
	if (!db)
		return;
	vl_db_document_free(&db->document);
	free(db);
}

static int mapped(const struct vl_db_map *map, unsigned int from, unsigned int most)
{
	int to = map ? map->to[from] : (int)from;

	return to > (int)most ? -1 : to;
}

int vl_db_queue_of_tc(const struct vl_db_port *port, unsigned int tc)
{
	return mapped(port->tc_to_queue, tc, VL_DB_CLASSES - 1);
}

int vl_db_pg_of_tc(const struct vl_db_port *port, unsigned int tc)
{
	return mapped(port->tc_to_pg, tc, VL_DB_CLASSES - 1);
}

int vl_db_queue_of_priority(const struct vl_db_port *port, unsigned int priority)
{
	return mapped(port->pfc_to_queue, priority, VL_DB_CLASSES - 1);
}

int vl_db_pg_of_priority(const struct vl_db_port *port, unsigned int priority)
{
	return mapped(port->pfc_to_pg, priority, VL_DB_CLASSES - 1);
}

int vl_db_tc_of_dscp(const struct vl_config_db *db, const struct vl_db_port *port,
		     unsigned int dscp)
{
	const struct vl_db_map *map = port->dscp_to_tc ? port->dscp_to_tc : db->global_dscp_to_tc;

	return map ? map->to[dscp] : -1;
}
