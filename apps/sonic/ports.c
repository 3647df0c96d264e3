/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The ports, and what the tables by port say about them. */

#include "apps/sonic/reader.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CABLE 1000000u /* m */

/* ---- Names --------------------------------------------------------------------------------- */

/* Numbers in names count as numbers: Ethernet8 is before Ethernet16. */
static int compare_names(const char *a, const char *b)
{
	while (*a && *b) {
		if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
			size_t length_a, length_b;
			int order;

			for (; *a == '0' && isdigit((unsigned char)a[1]); a++)
				;
			for (; *b == '0' && isdigit((unsigned char)b[1]); b++)
				;
			length_a = strspn(a, "0123456789");
			length_b = strspn(b, "0123456789");
			if (length_a != length_b)
				return length_a < length_b ? -1 : 1;
			order = strncmp(a, b, length_a);
			if (order)
				return order;
			a += length_a;
			b += length_b;
		} else if (*a != *b) {
			return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
		} else {
			a++;
			b++;
		}
	}
	return *a ? 1 : *b ? -1 : 0;
}

static int compare_ports(const void *a, const void *b)
{
	const struct vl_db_port *first = a, *second = b;
	int order = compare_names(first->name, second->name);

	return order ? order : strcmp(first->name, second->name);
}

static struct vl_db_port *find_port(const struct vl_config_db *db, const char *name)
{
	const struct vl_db_port key = {.name = name};

	return db->port_count ? bsearch(&key, db->ports, db->port_count, sizeof(key), compare_ports)
			      : NULL;
}

const struct vl_db_port *vl_db_find_port(const struct vl_config_db *db, const char *name)
{
	return find_port(db, name);
}

/* Names in a table's keys: one, or several parted by commas. */
struct names {
	struct vl_config_db *db;
	const char *at, *end;
};

static struct names names_of_key(struct vl_config_db *db, const char *key, bool has_range)
{
	const char *end = has_range ? strrchr(key, '|') : key + strlen(key);
	struct names names = {db, key, end ? end : key};

	/* On a chassis HOST|ASIC|PORT: queues to the ports of all line cards, of which those of
	 * others are judged with the others' configurations. */
	for (const char *at = key; at < names.end; at++) {
		if (*at == '|')
			names.at = at + 1;
	}
	if (names.at != key && db->hostname &&
	    (strncmp(key, db->hostname, strlen(db->hostname)) || key[strlen(db->hostname)] != '|'))
		names.at = names.end;
	return names;
}

static const char *next_name(struct names *names)
{
	const char *start = names->at, *comma;

	if (start >= names->end)
		return NULL;
	comma = memchr(start, ',', (size_t)(names->end - start));
	names->at = comma ? comma + 1 : names->end;
	return vl_arena_print(&names->db->document.arena, "%.*s",
			      (int)((comma ? comma : names->end) - start), start);
}

/* ---- Which ports there are ----------------------------------------------------------------- */

static void add_port(struct vl_config_db *db, const char *name, const struct vl_db_entry *entry)
{
	struct vl_db_port *port;

	if (!name || db->port_count == VL_DB_MAX_PORTS)
		return;
	port = &db->ports[db->port_count++];
	*port = (struct vl_db_port){.name = name,
				    .entry = entry,
				    .speed = VL_DB_UNSET,
				    .mtu = VL_DB_UNSET,
				    .cable = VL_DB_UNSET};
}

static bool is_port_name(const char *name)
{
	return name && strcmp(name, "global") && strcmp(name, "GLOBAL") && strcmp(name, "CPU");
}

/* Without PORT the ports are those that other tables speak of. */
static void collect_from(struct vl_config_db *db, const char *table_name, bool has_range)
{
	const struct vl_db_table *table = vl_db_find_table(&db->document, table_name);
	struct names names;
	const char *name;

	for (unsigned int i = 0; table && i < table->count; i++) {
		names = names_of_key(db, table->entries[i].key, has_range);
		while ((name = next_name(&names))) {
			if (is_port_name(name) && db->port_count < VL_DB_MAX_PORTS)
				add_port(db, name, NULL);
		}
	}
}

static void sort_ports(struct vl_config_db *db)
{
	unsigned int kept = 0;

	qsort(db->ports, db->port_count, sizeof(*db->ports), compare_ports);
	for (unsigned int i = 0; i < db->port_count; i++) {
		if (!kept || strcmp(db->ports[kept - 1].name, db->ports[i].name))
			db->ports[kept++] = db->ports[i];
	}
	db->port_count = kept;
}

static void collect_ports(struct vl_config_db *db)
{
	static const struct {
		const char *table;
		bool has_range;
	} others[] = {{"PORT_QOS_MAP", false},
		      {"BUFFER_PG", true},
		      {"BUFFER_QUEUE", true},
		      {"QUEUE", true},
		      {"PFC_WD", false}};
	const struct vl_db_table *table = vl_db_find_table(&db->document, "PORT");
	struct db_cell cell = {db, "PORT", NULL};

	for (unsigned int i = 0; table && i < table->count; i++) {
		cell.entry = &table->entries[i];
		if (cell.entry->kind != VL_DB_OBJECT)
			db_problem(&cell, VL_DB_BAD_VALUE, NULL, "no object",
				   "{\"speed\": \"100000\", \"lanes\": \"1,2,3,4\", ...}");
		else
			add_port(db, cell.entry->key, cell.entry);
	}
	if (table && table->count > VL_DB_MAX_PORTS) {
		cell.entry = NULL;
		db_problem(&cell, VL_DB_BAD_VALUE, NULL, "more ports than any switch has",
			   "at most 4096");
	}
	for (unsigned int i = 0; !table && i < sizeof(others) / sizeof(others[0]); i++) {
		collect_from(db, others[i].table, others[i].has_range);
		sort_ports(db);
	}
	sort_ports(db);
}

/* ---- PORT, CABLE_LENGTH -------------------------------------------------------------------- */

static void read_lanes(const struct db_cell *cell, struct vl_db_port *port)
{
	const struct vl_db_field *field = vl_db_find_field(cell->entry, "lanes");
	const char *at = field ? field->text : "";
	uint64_t lane;

	while (*at) {
		size_t length;

		/* SONiC takes blanks before a number too. */
		at += strspn(at, " ");
		length = strcspn(at, ",");
		if (port->lane_count == VL_DB_MAX_LANES ||
		    !db_parse_number(at, length, 100000, &lane)) {
			db_bad_value(cell, field,
				     "numbers of the switch's lanes, parted by commas, at most 16");
			port->lane_count = 0;
			return;
		}
		port->lanes[port->lane_count++] = (unsigned int)lane;
		at += length + (at[length] == ',');
	}
}

static void read_port(struct vl_config_db *db, struct vl_db_port *port)
{
	static const char *const fecs[] = {"none", "fc", "rs", "auto", NULL};
	struct db_cell cell = {db, "PORT", port->entry};
	unsigned int fec;
	const char *role;
	uint64_t speed;

	if (!port->entry)
		return;
	if (db_number(&cell, "speed", 1, 3200000, "Mb/s", &speed))
		port->speed = speed * 1000000;
	db_number(&cell, "mtu", 68, 9216, "bytes", &port->mtu);
	if (db_choice(&cell, "fec", fecs, &fec))
		port->fec = (enum vl_db_fec)(fec + VL_DB_FEC_NONE);
	role = db_text(&cell, "role");
	/* Inb and Rec lead back into the switch, Dpc to a processor in it. */
	port->is_internal =
		role && (!strcmp(role, "Inb") || !strcmp(role, "Rec") || !strcmp(role, "Dpc"));
	read_lanes(&cell, port);
}

static void read_cables(struct vl_config_db *db)
{
	const struct vl_db_table *table = vl_db_find_table(&db->document, "CABLE_LENGTH");

	for (unsigned int i = 0; table && i < table->count; i++) {
		struct db_cell cell = {db, "CABLE_LENGTH", &table->entries[i]};

		for (unsigned int j = 0; j < cell.entry->count; j++) {
			const struct vl_db_field *field = &cell.entry->fields[j];
			struct vl_db_port *port = find_port(db, field->name);
			size_t length = strlen(field->text);

			if (!port) {
				db_missing_port(&cell, field->name, field->name);
			} else if (length > 1 && field->text[length - 1] == 'm' &&
				   db_parse_number(field->text, length - 1, MAX_CABLE,
						   &port->cable)) {
				port->cable_entry = cell.entry;
			} else if (strcmp(field->text, "None")) {
				port->cable_entry = cell.entry;
				db_bad_value(&cell, field, "whole metres: \"40m\"");
			}
		}
	}
}

/* ---- PORT_QOS_MAP -------------------------------------------------------------------------- */

static const struct vl_db_map *map_reference(const struct db_cell *cell, const char *field,
					     const char *target)
{
	const char *name = db_reference(cell, field, target);
	struct vl_config_db *db = cell->db;
	const char *alias =
		strcmp(target, "MAP_PFC_PRIORITY_TO_QUEUE") ? target : "PFC_PRIORITY_TO_QUEUE_MAP";

	if (!name)
		return NULL;
	for (unsigned int i = 0; i < db->map_count; i++) {
		if (!strcmp(db->maps[i].name, name) &&
		    (!strcmp(db->maps[i].table, target) || !strcmp(db->maps[i].table, alias)))
			return &db->maps[i];
	}
	db_bad_reference(cell, field, target, name);
	return NULL;
}

static const struct vl_db_scheduler *scheduler_reference(const struct db_cell *cell)
{
	const char *name = db_reference(cell, "scheduler", "SCHEDULER");
	const struct vl_db_scheduler *scheduler;

	if (!name)
		return NULL;
	scheduler = db_find_named(cell->db->schedulers, cell->db->scheduler_count,
				  sizeof(*cell->db->schedulers), name);
	if (!scheduler)
		db_bad_reference(cell, "scheduler", "SCHEDULER", name);
	return scheduler;
}

static void read_port_qos(struct vl_config_db *db)
{
	const struct vl_db_table *table = vl_db_find_table(&db->document, "PORT_QOS_MAP");

	for (unsigned int i = 0; table && i < table->count; i++) {
		struct db_cell cell = {db, "PORT_QOS_MAP", &table->entries[i]};
		struct vl_db_port read = {0}, *port;
		struct names names;
		const char *name;

		read.dscp_to_tc = map_reference(&cell, "dscp_to_tc_map", "DSCP_TO_TC_MAP");
		if (!strcmp(cell.entry->key, "global")) {
			db->global_dscp_to_tc = read.dscp_to_tc;
			continue;
		}
		read.dot1p_to_tc = map_reference(&cell, "dot1p_to_tc_map", "DOT1P_TO_TC_MAP");
		read.tc_to_queue = map_reference(&cell, "tc_to_queue_map", "TC_TO_QUEUE_MAP");
		read.tc_to_pg = map_reference(&cell, "tc_to_pg_map", "TC_TO_PRIORITY_GROUP_MAP");
		read.pfc_to_queue =
			map_reference(&cell, "pfc_to_queue_map", "MAP_PFC_PRIORITY_TO_QUEUE");
		read.pfc_to_pg =
			map_reference(&cell, "pfc_to_pg_map", "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP");
		read.scheduler = scheduler_reference(&cell);
		db_priorities(&cell, "pfc_enable", &read.pfc);
		read.has_watchdog_priorities =
			db_priorities(&cell, "pfcwd_sw_enable", &read.watchdog_priorities);
		names = names_of_key(db, cell.entry->key, false);
		while ((name = next_name(&names))) {
			port = find_port(db, name);
			if (!port) {
				db_missing_port(&cell, NULL, name);
				continue;
			}
			if (port->qos)
				db_problem(&cell, VL_DB_DUPLICATE, NULL, name,
					   "one entry for each port");
			port->qos = cell.entry;
			port->dscp_to_tc = read.dscp_to_tc;
			port->dot1p_to_tc = read.dot1p_to_tc;
			port->tc_to_queue = read.tc_to_queue;
			port->tc_to_pg = read.tc_to_pg;
			port->pfc_to_queue = read.pfc_to_queue;
			port->pfc_to_pg = read.pfc_to_pg;
			port->scheduler = read.scheduler;
			port->pfc = read.pfc;
			port->watchdog_priorities = read.watchdog_priorities;
			port->has_watchdog_priorities = read.has_watchdog_priorities;
		}
	}
}

/* ---- Tables by port and queue or group ----------------------------------------------------- */

/* "Ethernet0,Ethernet4|3-4". False: no such key, which is a problem then. */
static bool parse_range(const struct db_cell *cell, unsigned int most, unsigned int *first,
			unsigned int *last)
{
	const char *bar = strrchr(cell->entry->key, '|'), *dash;
	uint64_t from, to;

	if (bar) {
		dash = strchr(bar + 1, '-');
		if (db_parse_number(bar + 1, dash ? (size_t)(dash - bar - 1) : strlen(bar + 1),
				    most, &from) &&
		    (!dash || db_parse_number(dash + 1, strlen(dash + 1), most, &to))) {
			*first = (unsigned int)from;
			*last = dash ? (unsigned int)to : (unsigned int)from;
			if (*first <= *last)
				return true;
		}
	}
	db_problem(cell, VL_DB_BAD_KEY, NULL,
		   vl_arena_print(&cell->db->document.arena, "\"%.80s\"", cell->entry->key),
		   vl_arena_print(&cell->db->document.arena,
				  "PORT|N or PORT|FIRST-LAST with numbers from 0 to %u", most));
	return false;
}

/* Whether an entry for element n of a port is the first. Of a chassis whose name is not known, the
 * first is taken. */
static bool is_first(const struct db_cell *cell, const struct vl_db_entry *before, const char *port,
		     unsigned int n)
{
	if (!before)
		return true;
	if (strchr(cell->entry->key, '|') != strrchr(cell->entry->key, '|'))
		return false;
	db_problem(cell, VL_DB_DUPLICATE, NULL,
		   vl_arena_print(&cell->db->document.arena, "%s|%u, of which %s|%s speaks too",
				  port, n, cell->table, before->key),
		   "one entry for each");
	return false;
}

static struct vl_db_buffer read_buffer(const struct db_cell *cell)
{
	struct vl_db_buffer buffer = {.entry = cell->entry};
	const char *name = db_reference(cell, "profile", "BUFFER_PROFILE");

	if (!vl_db_find_field(cell->entry, "profile"))
		db_problem(cell, VL_DB_BAD_REFERENCE, "profile", "nothing",
			   "the name of an entry of BUFFER_PROFILE");
	if (!name)
		return buffer;
	if (!strcmp(name, "NULL")) {
		buffer.is_computed = true;
		return buffer;
	}
	buffer.profile = db_find_named(cell->db->profiles, cell->db->profile_count,
				       sizeof(*cell->db->profiles), name);
	if (!buffer.profile)
		db_bad_reference(cell, "profile", "BUFFER_PROFILE", name);
	return buffer;
}

static struct vl_db_queue read_queue(const struct db_cell *cell)
{
	struct vl_db_queue queue = {.entry = cell->entry, .scheduler = scheduler_reference(cell)};
	const char *name = db_reference(cell, "wred_profile", "WRED_PROFILE");

	if (!name)
		return queue;
	queue.wred = db_find_named(cell->db->wreds, cell->db->wred_count, sizeof(*cell->db->wreds),
				   name);
	if (!queue.wred)
		db_bad_reference(cell, "wred_profile", "WRED_PROFILE", name);
	return queue;
}

enum by_number {
	BUFFER_PG,
	BUFFER_QUEUE,
	QUEUE,
};

static void set_element(const struct db_cell *cell, enum by_number kind, struct vl_db_port *port,
			unsigned int n, const struct vl_db_buffer *buffer,
			const struct vl_db_queue *queue)
{
	struct vl_db_buffer *buffers = kind == BUFFER_PG ? port->pgs : port->queue_buffers;

	if (kind == QUEUE && is_first(cell, port->queues[n].entry, port->name, n))
		port->queues[n] = *queue;
	if (kind != QUEUE && is_first(cell, buffers[n].entry, port->name, n))
		buffers[n] = *buffer;
}

static void read_by_number(struct vl_config_db *db, const char *table_name, enum by_number kind,
			   unsigned int most)
{
	const struct vl_db_table *table = vl_db_find_table(&db->document, table_name);

	for (unsigned int i = 0; table && i < table->count; i++) {
		struct db_cell cell = {db, table_name, &table->entries[i]};
		struct vl_db_buffer buffer = {0};
		struct vl_db_queue queue = {0};
		struct vl_db_port *port;
		unsigned int first, last;
		struct names names;
		const char *name;

		if (!strncmp(cell.entry->key, "CPU|", 4) ||
		    !parse_range(&cell, most, &first, &last))
			continue;
		if (kind == QUEUE)
			queue = read_queue(&cell);
		else
			buffer = read_buffer(&cell);
		names = names_of_key(db, cell.entry->key, true);
		while ((name = next_name(&names))) {
			port = find_port(db, name);
			if (!port)
				db_missing_port(&cell, NULL, name);
			for (unsigned int n = first; port && n <= last && n < VL_DB_CLASSES; n++)
				set_element(&cell, kind, port, n, &buffer, &queue);
		}
	}
}

static void attach_watchdogs(struct vl_config_db *db)
{
	for (unsigned int i = 0; i < db->watchdog_count; i++) {
		struct db_cell cell = {db, "PFC_WD", db->watchdogs[i].entry};
		struct vl_db_port *port = find_port(db, db->watchdogs[i].name);

		if (port)
			port->watchdog = &db->watchdogs[i];
		else
			db_missing_port(&cell, NULL, db->watchdogs[i].name);
	}
}

void db_read_ports(struct vl_config_db *db)
{
	db->ports = vl_arena_allocate(&db->document.arena, VL_DB_MAX_PORTS * sizeof(*db->ports));
	if (!db->ports) {
		db->out_of_memory = true;
		return;
	}
	collect_ports(db);
	for (unsigned int i = 0; i < db->port_count; i++)
		read_port(db, &db->ports[i]);
	read_cables(db);
	read_port_qos(db);
	read_by_number(db, "BUFFER_PG", BUFFER_PG, VL_DB_CLASSES - 1);
	read_by_number(db, "BUFFER_QUEUE", BUFFER_QUEUE, 15);
	read_by_number(db, "QUEUE", QUEUE, 63);
	attach_watchdogs(db);
}
