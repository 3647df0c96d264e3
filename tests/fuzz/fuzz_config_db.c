/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Any bytes are a SONiC configuration or a reason why not; what is in one holds what its header
 * promises, can be judged, and makes a switch or a reason why not. */

#include "apps/check/check.h"
#include "apps/sonic/switch_config.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
	if (!condition)
		abort();
}

static void check_port(const struct vl_config_db *db, const struct vl_db_port *port)
{
	require(vl_db_find_port(db, port->name) == port);
	require(port->lane_count <= VL_DB_MAX_LANES);
	for (unsigned int tc = 0; tc < VL_DB_TCS; tc++) {
		require(vl_db_queue_of_tc(port, tc) < (int)VL_DB_CLASSES);
		require(vl_db_pg_of_tc(port, tc) < (int)VL_DB_CLASSES);
	}
	for (unsigned int n = 0; n < VL_DB_CLASSES; n++) {
		require(vl_db_queue_of_priority(port, n) < (int)VL_DB_CLASSES);
		require(vl_db_pg_of_priority(port, n) < (int)VL_DB_CLASSES);
		require(!port->pgs[n].profile || port->pgs[n].entry);
		require(!port->queues[n].wred || port->queues[n].entry);
	}
	for (unsigned int dscp = 0; dscp < 64; dscp++)
		require(vl_db_tc_of_dscp(db, port, dscp) < (int)VL_DB_TCS);
}

static void judge(struct vl_config_db *db)
{
	struct vl_check_options options = vl_check_defaults;
	struct vl_check_findings findings;
	json_t *json;
	FILE *out;

	options.roce_dscps = 1u << 26;
	options.memory = 1 << 24;
	require(!vl_check_run(db, &options, &findings));
	json = vl_check_json(db, &findings, "fuzz");
	require(json != NULL);
	json_decref(json);
	out = fopen("/dev/null", "w");
	if (!out)
		return;
	vl_check_print(&findings, "fuzz", out);
	fclose(out);
}

static void make_switch(const struct vl_config_db *db)
{
	static const struct vl_db_link links[] = {{UINT64_C(100000000000), 200, NULL},
						  {UINT64_C(25000000000), 0, NULL},
						  {UINT64_C(400000000000), 500, "Ethernet0"}};
	struct vl_db_notes notes = {.count = 0};
	struct vl_switch_config *config = vl_db_switch_config(db, links, 3, &notes);

	require(config != NULL && config->ports == 3);
	require(notes.count <= VL_DB_MAX_NOTES);
	vl_switch_config_error(config);
	free(config);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char error[256] = "";
	struct vl_config_db *db =
		vl_config_db_parse((const char *)data, size, error, sizeof(error));
	unsigned int count = 0;

	require(db || *error);
	if (!db)
		return 0;
	for (unsigned int i = 0; i < db->port_count; i++)
		check_port(db, &db->ports[i]);
	for (const struct vl_db_problem *problem = db->problems; problem; problem = problem->next) {
		require(problem->place.path && problem->found && problem->right);
		count++;
	}
	require(count ==
		(db->problem_count < VL_DB_MAX_PROBLEMS ? db->problem_count : VL_DB_MAX_PROBLEMS));
	judge(db);
	make_switch(db);
	vl_config_db_free(db);
	return 0;
}
