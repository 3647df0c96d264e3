/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Pools, profiles, schedulers, maps and watchdogs: what other tables refer to by name. */

#include "apps/sonic/reader.h"

#include <string.h>

/* Beyond any switch. */
#define MAX_BYTES ((uint64_t)1 << 40)

/* Entries of a table that have fields, at most VL_DB_MAX_NAMED of them; what has none, and what is
 * beyond, is a problem. */
static unsigned int usable_entries(struct vl_config_db *db, const char *name,
				   const struct vl_db_table **table)
{
	unsigned int count = 0;

	*table = vl_db_find_table(&db->document, name);
	if (!*table)
		return 0;
	for (unsigned int i = 0; i < (*table)->count; i++) {
		struct db_cell cell = {db, name, &(*table)->entries[i]};

		if (cell.entry->kind != VL_DB_OBJECT)
			db_problem(&cell, VL_DB_BAD_VALUE, NULL, "no object",
				   "{\"FIELD\": \"VALUE\", ...}");
		else
			count++;
	}
	if (count > VL_DB_MAX_NAMED)
		db_problem(&(struct db_cell){db, name, NULL}, VL_DB_BAD_VALUE, NULL,
			   "more entries than any switch has", "at most 1024");
	return count < VL_DB_MAX_NAMED ? count : VL_DB_MAX_NAMED;
}

static void *allocate(struct vl_config_db *db, unsigned int count, size_t size)
{
	void *array = vl_arena_allocate(&db->document.arena, count * size);

	if (!array)
		db->out_of_memory = true;
	return array;
}

/* for each usable entry, by name */
#define FOR_ENTRIES(table, entry, index, limit)                                                    \
	for (unsigned int at_ = 0; (table) && (index) < (limit) && at_ < (table)->count; at_++)    \
		if (((entry) = &(table)->entries[at_])->kind == VL_DB_OBJECT)

static void read_pools(struct vl_config_db *db)
{
	static const char *const types[] = {"ingress", "egress", "both", NULL};
	static const char *const modes[] = {"static", "dynamic", NULL};
	const struct vl_db_table *table;
	unsigned int count = usable_entries(db, "BUFFER_POOL", &table);
	const struct vl_db_entry *entry;

	db->pools = allocate(db, count, sizeof(*db->pools));
	if (!db->pools)
		return;
	FOR_ENTRIES(table, entry, db->pool_count, count)
	{
		struct vl_db_pool *pool = &db->pools[db->pool_count++];
		struct db_cell cell = {db, "BUFFER_POOL", entry};
		unsigned int type = 2, mode = 1;

		pool->name = entry->key;
		pool->entry = entry;
		pool->size = VL_DB_UNSET;
		if (!vl_db_find_field(entry, "type"))
			db_problem(&cell, VL_DB_BAD_VALUE, "type", "nothing", "ingress or egress");
		db_choice(&cell, "type", types, &type);
		db_choice(&cell, "mode", modes, &mode);
		pool->is_ingress = type != 1;
		pool->is_egress = type != 0;
		pool->is_dynamic = mode == 1;
		db_number(&cell, "size", 0, MAX_BYTES, "bytes", &pool->size);
		db_number(&cell, "xoff", 0, MAX_BYTES, "bytes", &pool->xoff);
	}
}

static void read_profiles(struct vl_config_db *db)
{
	const struct vl_db_table *table;
	unsigned int count = usable_entries(db, "BUFFER_PROFILE", &table);
	const struct vl_db_entry *entry;
	const char *pool;

	db->profiles = allocate(db, count, sizeof(*db->profiles));
	if (!db->profiles)
		return;
	FOR_ENTRIES(table, entry, db->profile_count, count)
	{
		struct vl_db_profile *profile = &db->profiles[db->profile_count++];
		struct db_cell cell = {db, "BUFFER_PROFILE", entry};

		*profile = (struct vl_db_profile){.name = entry->key,
						  .entry = entry,
						  .size = VL_DB_UNSET,
						  .xon = VL_DB_UNSET,
						  .xon_offset = VL_DB_UNSET,
						  .xoff = VL_DB_UNSET,
						  .static_th = VL_DB_UNSET};
		if (!vl_db_find_field(entry, "pool"))
			db_problem(&cell, VL_DB_BAD_REFERENCE, "pool", "nothing",
				   "the name of an entry of BUFFER_POOL");
		pool = db_reference(&cell, "pool", "BUFFER_POOL");
		if (pool) {
			profile->pool =
				db_find_named(db->pools, db->pool_count, sizeof(*db->pools), pool);
			if (!profile->pool)
				db_bad_reference(&cell, "pool", "BUFFER_POOL", pool);
		}
		db_number(&cell, "size", 0, MAX_BYTES, "bytes", &profile->size);
		db_number(&cell, "xon", 0, MAX_BYTES, "bytes", &profile->xon);
		db_number(&cell, "xon_offset", 0, MAX_BYTES, "bytes", &profile->xon_offset);
		db_number(&cell, "xoff", 0, MAX_BYTES, "bytes", &profile->xoff);
		db_number(&cell, "static_th", 0, MAX_BYTES, "bytes", &profile->static_th);
		profile->has_dynamic_th =
			db_signed(&cell, "dynamic_th", -8, 7, "the logarithm of alpha to base 2",
				  &profile->dynamic_th);
	}
}

static const struct {
	const char *name;
	bool is_ecn[VL_DB_COLOURS];
} ecn_modes[] = {
	{"ecn_none", {false, false, false}},       {"ecn_green", {true, false, false}},
	{"ecn_yellow", {false, true, false}},      {"ecn_red", {false, false, true}},
	{"ecn_green_yellow", {true, true, false}}, {"ecn_green_red", {true, false, true}},
	{"ecn_yellow_red", {false, true, true}},   {"ecn_all", {true, true, true}},
};
#define ECN_MODES (sizeof(ecn_modes) / sizeof(ecn_modes[0]))

static void read_wred(const struct db_cell *cell, struct vl_db_wred *wred)
{
	static const char *const fields[VL_DB_COLOURS][4] = {
		{"green_min_threshold", "green_max_threshold", "green_drop_probability",
		 "wred_green_enable"},
		{"yellow_min_threshold", "yellow_max_threshold", "yellow_drop_probability",
		 "wred_yellow_enable"},
		{"red_min_threshold", "red_max_threshold", "red_drop_probability",
		 "wred_red_enable"},
	};
	const char *names[ECN_MODES + 1];
	unsigned int mode = 0;

	for (unsigned int i = 0; i < ECN_MODES; i++)
		names[i] = ecn_modes[i].name;
	names[ECN_MODES] = NULL;
	wred->has_ecn = db_choice(cell, "ecn", names, &mode);
	for (unsigned int colour = 0; colour < VL_DB_COLOURS; colour++) {
		wred->colours[colour].min = wred->colours[colour].max = VL_DB_UNSET;
		wred->colours[colour].probability = 100;
		wred->colours[colour].is_ecn = ecn_modes[mode].is_ecn[colour];
		db_number(cell, fields[colour][0], 0, MAX_BYTES, "bytes",
			  &wred->colours[colour].min);
		db_number(cell, fields[colour][1], 0, MAX_BYTES, "bytes",
			  &wred->colours[colour].max);
		wred->colours[colour].has_probability =
			db_number(cell, fields[colour][2], 0, 100, "percent",
				  &wred->colours[colour].probability);
		db_truth(cell, fields[colour][3], &wred->colours[colour].is_enabled);
	}
}

static void read_wreds(struct vl_config_db *db)
{
	const struct vl_db_table *table;
	unsigned int count = usable_entries(db, "WRED_PROFILE", &table);
	const struct vl_db_entry *entry;

	db->wreds = allocate(db, count, sizeof(*db->wreds));
	if (!db->wreds)
		return;
	FOR_ENTRIES(table, entry, db->wred_count, count)
	{
		struct vl_db_wred *wred = &db->wreds[db->wred_count++];
		struct db_cell cell = {db, "WRED_PROFILE", entry};

		wred->name = entry->key;
		wred->entry = entry;
		read_wred(&cell, wred);
	}
}

static void read_schedulers(struct vl_config_db *db)
{
	static const char *const types[] = {"WRR", "DWRR", "STRICT", NULL};
	static const char *const meters[] = {"bytes", "packets", NULL};
	const struct vl_db_table *table;
	unsigned int count = usable_entries(db, "SCHEDULER", &table);
	const struct vl_db_entry *entry;

	db->schedulers = allocate(db, count, sizeof(*db->schedulers));
	if (!db->schedulers)
		return;
	FOR_ENTRIES(table, entry, db->scheduler_count, count)
	{
		struct vl_db_scheduler *scheduler = &db->schedulers[db->scheduler_count++];
		struct db_cell cell = {db, "SCHEDULER", entry};
		unsigned int type = VL_DB_WRR, meter = 0;

		scheduler->name = entry->key;
		scheduler->entry = entry;
		scheduler->weight = scheduler->cir = scheduler->pir = VL_DB_UNSET;
		scheduler->has_type = db_choice(&cell, "type", types, &type);
		scheduler->type = (enum vl_db_scheduler_type)type;
		db_choice(&cell, "meter_type", meters, &meter);
		scheduler->is_in_packets = meter == 1;
		/* A weight of 0 is read, to be judged. */
		db_number(&cell, "weight", 0, 100, "shares", &scheduler->weight);
		db_number(&cell, "cir", 0, MAX_BYTES, "bytes or packets per second",
			  &scheduler->cir);
		db_number(&cell, "pir", 0, MAX_BYTES, "bytes or packets per second",
			  &scheduler->pir);
	}
}

static void read_map(const struct db_cell *cell, uint64_t most_from, uint64_t most_to,
		     struct vl_db_map *map)
{
	memset(map->to, -1, sizeof(map->to));
	for (unsigned int i = 0; i < cell->entry->count; i++) {
		const struct vl_db_field *field = &cell->entry->fields[i];
		uint64_t from, to;

		if (!db_parse_number(field->name, strlen(field->name), most_from, &from))
			db_problem(
				cell, VL_DB_BAD_KEY, field->name,
				vl_arena_print(&cell->db->document.arena, "\"%.80s\"", field->name),
				vl_arena_print(&cell->db->document.arena, "0 to %u",
					       (unsigned int)most_from));
		else if (db_number(cell, field->name, 0, most_to, "", &to))
			map->to[from] = (int8_t)to;
	}
}

/* PFC_PRIORITY_TO_QUEUE_MAP is what the application database calls the fourth. */
static const struct {
	const char *table;
	uint64_t most_from, most_to;
} map_tables[] = {
	{"DSCP_TO_TC_MAP", 63, VL_DB_TCS - 1},
	{"DOT1P_TO_TC_MAP", 7, VL_DB_TCS - 1},
	{"TC_TO_QUEUE_MAP", VL_DB_TCS - 1, 9},
	{"TC_TO_PRIORITY_GROUP_MAP", VL_DB_TCS - 1, 7},
	{"MAP_PFC_PRIORITY_TO_QUEUE", 7, 7},
	{"PFC_PRIORITY_TO_QUEUE_MAP", 7, 7},
	{"PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", 7, 7},
};
#define MAP_TABLES (sizeof(map_tables) / sizeof(map_tables[0]))

static void read_maps(struct vl_config_db *db)
{
	const struct vl_db_table *tables[MAP_TABLES];
	unsigned int counts[MAP_TABLES], total = 0;
	const struct vl_db_entry *entry;

	for (unsigned int i = 0; i < MAP_TABLES; i++)
		total += counts[i] = usable_entries(db, map_tables[i].table, &tables[i]);
	db->maps = allocate(db, total, sizeof(*db->maps));
	if (!db->maps)
		return;
	for (unsigned int i = 0; i < MAP_TABLES; i++) {
		unsigned int done = 0;

		FOR_ENTRIES(tables[i], entry, done, counts[i])
		{
			struct vl_db_map *map = &db->maps[db->map_count++];
			struct db_cell cell = {db, map_tables[i].table, entry};

			done++;
			map->name = entry->key;
			map->table = map_tables[i].table;
			map->entry = entry;
			read_map(&cell, map_tables[i].most_from, map_tables[i].most_to, map);
		}
	}
}

static void read_watchdogs(struct vl_config_db *db)
{
	static const char *const actions[] = {"drop", "forward", "alert", NULL};
	const struct vl_db_table *table;
	unsigned int count = usable_entries(db, "PFC_WD", &table);
	const struct vl_db_entry *entry;

	db->watchdogs = allocate(db, count, sizeof(*db->watchdogs));
	if (!db->watchdogs)
		return;
	FOR_ENTRIES(table, entry, db->watchdog_count, count)
	{
		struct vl_db_watchdog *watchdog = &db->watchdogs[db->watchdog_count];
		struct db_cell cell = {db, "PFC_WD", entry};
		unsigned int action = VL_DB_WATCHDOG_DROP;

		if (!strcmp(entry->key, "GLOBAL")) {
			db_number(&cell, "POLL_INTERVAL", 100, 1000, "milliseconds",
				  &db->poll_interval);
			continue;
		}
		db->watchdog_count++;
		watchdog->name = entry->key;
		watchdog->entry = entry;
		watchdog->detection = watchdog->restoration = VL_DB_UNSET;
		db_number(&cell, "detection_time", 1, 5000, "milliseconds", &watchdog->detection);
		db_number(&cell, "restoration_time", 1, 60000, "milliseconds",
			  &watchdog->restoration);
		db_choice(&cell, "action", actions, &action);
		watchdog->action = (enum vl_db_watchdog_action)action;
	}
}

/* Tables of which one entry is in force: DEVICE_METADATA|localhost, and AZURE or the like. */
static void read_global(struct vl_config_db *db)
{
	static const char *const models[] = {"traditional", "dynamic", NULL};
	static const char *const states[] = {"disable", "enable", NULL};
	const struct vl_db_table *table = vl_db_find_table(&db->document, "DEVICE_METADATA");
	struct db_cell cell = {db, "DEVICE_METADATA", vl_db_find_entry(table, "localhost")};
	unsigned int model = 0, watchdog = 0;

	if (cell.entry) {
		db_choice(&cell, "buffer_model", models, &model);
		db_choice(&cell, "default_pfcwd_status", states, &watchdog);
		db->hostname = db_text(&cell, "hostname");
	}
	db->is_dynamic_model = model == 1;
	db->has_default_watchdog = watchdog == 1;
	table = vl_db_find_table(&db->document, "LOSSLESS_TRAFFIC_PATTERN");
	if (table && table->count) {
		cell = (struct db_cell){db, table->name, &table->entries[0]};
		db_number(&cell, "mtu", 1, 9216, "bytes", &db->lossless_mtu);
		db_number(&cell, "small_packet_percentage", 0, 100, "percent",
			  &db->small_packet_percentage);
	}
	table = vl_db_find_table(&db->document, "DEFAULT_LOSSLESS_BUFFER_PARAMETER");
	if (table && table->count) {
		cell = (struct db_cell){db, table->name, &table->entries[0]};
		db->has_default_dynamic_th =
			db_signed(&cell, "default_dynamic_th", -8, 7,
				  "the logarithm of alpha to base 2", &db->default_dynamic_th);
		db_number(&cell, "over_subscribe_ratio", 0, 65535, "", &db->over_subscribe_ratio);
	}
}

void db_read_named(struct vl_config_db *db)
{
	db->poll_interval = db->lossless_mtu = VL_DB_UNSET;
	db->small_packet_percentage = db->over_subscribe_ratio = VL_DB_UNSET;
	read_global(db);
	read_pools(db);
	read_profiles(db);
	read_wreds(db);
	read_schedulers(db);
	read_maps(db);
	read_watchdogs(db);
}
