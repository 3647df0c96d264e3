/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/scenario/switch_source.h"

#include "apps/preset/preset.h"
#include "apps/scenario/source.h"
#include "apps/sonic/switch_config.h"
#include "transport/wire/packet.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A file that was read, for all switches that name it. */
struct vl_scenario_source {
	const char *path;
	struct vl_config_db *db;
	struct vl_scenario_source *next;
};

/* ---- Reading ------------------------------------------------------------------------------- */

static struct vl_config_db *read_file(struct vl_loader *loader, struct vl_scenario *scenario,
				      const struct vl_scenario_switch *sw)
{
	const char *path = vl_scenario_path(loader, sw->config_db);
	struct vl_scenario_source *source;
	char error[400] = "is no regular file";
	struct stat status;

	for (source = scenario->sources; source; source = source->next) {
		if (!strcmp(source->path, path))
			return source->db;
	}
	source = vl_arena_allocate(loader->arena, sizeof(*source));
	if (!source) {
		loader->out_of_memory = true;
		return NULL;
	}
	source->path = path;
	/* A pipe or terminal would be waited for. */
	if (stat(path, &status))
		snprintf(error, sizeof(error), "cannot be read");
	else if (S_ISREG(status.st_mode))
		source->db = vl_config_db_read(path, error, sizeof(error));
	source->next = scenario->sources;
	scenario->sources = source;
	if (!source->db)
		vl_section_problem(loader, &sw->section, "config_db", "%.150s: %s", path, error);
	return source->db;
}

static void find_preset(struct vl_loader *loader, struct vl_scenario_switch *sw)
{
	const char *nearest;

	sw->found_preset = vl_preset_find(sw->preset, &nearest);
	if (!sw->found_preset)
		vl_section_problem(loader, &sw->section, "preset",
				   "there is no preset '%.40s'; %s%s", sw->preset,
				   nearest ? "did you mean " : "'verbline check --presets' has all",
				   nearest ? nearest : "");
}

/* What a source says all about. */
static const char *const sourced[] = {"preset", "buffer", "queue_limit", "trust",
				      "ecn",    "pfc",    "pools",       "groups",
				      "queues", "maps",   "shaper",      "watchdog"};
#define SOURCED (sizeof(sourced) / sizeof(sourced[0]))

/* What of it the scenario says of the switch too, bit n for the n-th. */
static uint32_t find_others(const struct vl_scenario_switch *sw)
{
	uint32_t found = 0;

	for (unsigned int i = sw->config_db ? 0 : 2; i < SOURCED; i++) {
		if (vl_section_has(&vl_scenario_switch_schema, &sw->section, sourced[i]))
			found |= 1u << i;
	}
	return found;
}

static void name_others(uint32_t others, char *text, size_t size)
{
	size_t used = 0;

	for (unsigned int i = 0; i < SOURCED && used < size; i++) {
		if (others & 1u << i)
			used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "",
						 sourced[i]);
	}
}

/* It is passed over, and that said: once for all switches of which the scenario says the same. */
static void note_others(const struct vl_scenario *scenario, unsigned int first, unsigned int count)
{
	const struct vl_scenario_switch *switches = scenario->built_switches,
					*sw = &switches[first];
	uint32_t others = find_others(sw);
	bool is_db = sw->config_db != NULL;
	const char *source = is_db ? "config_db" : "preset";
	unsigned int alike = 0;
	char names[120];

	for (unsigned int i = 0; i < count; i++) {
		if ((!switches[i].config_db && !switches[i].preset) ||
		    (switches[i].config_db != NULL) != is_db || find_others(&switches[i]) != others)
			continue;
		if (i < first)
			return;
		alike++;
	}
	if (!others)
		return;
	name_others(others, names, sizeof(names));
	if (alike == 1)
		vl_db_note(scenario->notes, "%s of %s %s not count: its %s says all", names,
			   sw->name, others & (others - 1) ? "do" : "does", source);
	else
		vl_db_note(scenario->notes,
			   "%s of %s and %u more switches %s not count: their %s says all", names,
			   sw->name, alike - 1, others & (others - 1) ? "do" : "does", source);
}

void vl_scenario_load_sources(struct vl_loader *loader, struct vl_scenario *scenario)
{
	unsigned int count = scenario->node_count - scenario->endpoint_count;

	for (unsigned int i = 0; scenario->built_switches && i < count; i++) {
		struct vl_scenario_switch *sw = &scenario->built_switches[i];

		if (!sw->preset && !sw->config_db)
			continue;
		if (!scenario->notes)
			scenario->notes =
				vl_arena_allocate(loader->arena, sizeof(*scenario->notes));
		note_others(scenario, i, count);
		if (sw->config_db)
			sw->db = read_file(loader, scenario, sw);
		else
			find_preset(loader, sw);
	}
}

void vl_scenario_release_sources(struct vl_scenario *scenario)
{
	for (const struct vl_scenario_source *source = scenario->sources; source;
	     source = source->next)
		vl_config_db_free(source->db);
	scenario->sources = NULL;
}

/* ---- The configuration --------------------------------------------------------------------- */

static struct vl_switch_config *from_db(const struct vl_scenario *scenario,
					const struct vl_scenario_switch *sw, unsigned int ports)
{
	struct vl_db_link *links = calloc(ports + 1, sizeof(*links));
	struct vl_switch_config *config;

	if (!links)
		return NULL;
	for (unsigned int i = 0; i < ports; i++) {
		const struct vl_scenario_links *cable =
			vl_scenario_port(scenario, sw->node, i)->cable->links;

		links[i] = (struct vl_db_link){cable->rate, cable->delay, NULL};
	}
	config = vl_db_switch_config(sw->db, links, ports, scenario->notes);
	free(links);
	return config;
}

static struct vl_switch_config *from_preset(const struct vl_scenario *scenario,
					    const struct vl_scenario_switch *sw, unsigned int ports)
{
	struct vl_preset_link *links = calloc(ports + 1, sizeof(*links));
	uint64_t memory = sw->buffer == VL_AUTOMATIC ? 0 : sw->buffer;
	struct vl_switch_config *config;

	if (!links)
		return NULL;
	for (unsigned int i = 0; i < ports; i++) {
		const struct vl_scenario_links *cable =
			vl_scenario_port(scenario, sw->node, i)->cable->links;

		links[i] = (struct vl_preset_link){cable->rate, cable->delay};
	}
	config = vl_preset_switch_config(sw->found_preset, links, ports, memory,
					 vl_scenario_mtu(scenario) + VL_MAX_HEADER_LENGTH);
	free(links);
	return config;
}

/* What the scenario's fabric switches off. */
static void switch_off(const struct vl_scenario_switch *sw, struct vl_switch_port_config *port)
{
	for (unsigned int i = 0; i < VL_SWITCH_PRIORITIES; i++) {
		if (!sw->has_ecn)
			port->queues[i].red.point = VL_RED_OFF;
		if (!sw->has_pfc)
			port->groups[i].lossless = false;
	}
	if (sw->has_pfc)
		return;
	port->pfc.enabled = 0;
	port->watchdog.action = VL_WATCHDOG_OFF;
}

struct vl_switch_config *vl_scenario_source_config(const struct vl_scenario *scenario,
						   const struct vl_scenario_switch *sw)
{
	unsigned int ports = scenario->nodes[sw->node].ports;
	struct vl_switch_config *config =
		sw->db ? from_db(scenario, sw, ports) : from_preset(scenario, sw, ports);

	if (!config)
		return NULL;
	config->cell_size = (uint32_t)sw->cell_size;
	config->cut_through = sw->cut_through;
	/* The ports' configurations are part of the block that was just made. */
	for (unsigned int i = 0; i < ports; i++)
		switch_off(sw, (struct vl_switch_port_config *)config->by_port[i]);
	if (ports)
		config->port = *config->by_port[0];
	return config;
}

/* ---- Endpoints beside it ------------------------------------------------------------------- */

static bool is_of_priority(const struct vl_switch_port_config *port, unsigned int dscp,
			   unsigned int priority)
{
	unsigned int class = port->classifier.dscp_to_class[dscp];

	if (port->pfc.enabled >> priority & 1)
		return port->classifier.class_to_group[class] ==
		       port->pfc.priority_to_group[priority];
	return class == priority;
}

uint8_t vl_scenario_dscp_of_priority(const struct vl_switch_port_config *port,
				     unsigned int priority)
{
	unsigned int usual = VL_SCENARIO_DSCP(priority);

	if (is_of_priority(port, usual, priority))
		return (uint8_t)usual;
	for (unsigned int dscp = 0; dscp < VL_DSCP_COUNT; dscp++) {
		if (is_of_priority(port, dscp, priority))
			return (uint8_t)dscp;
	}
	return (uint8_t)usual;
}

void vl_scenario_choose_dscps(struct vl_loader *loader, struct vl_scenario *scenario)
{
	unsigned int count = scenario->node_count - scenario->endpoint_count;
	struct vl_switch_config *config = NULL;

	for (unsigned int i = 0; i < VL_SWITCH_PRIORITIES; i++)
		scenario->dscps[i] = VL_SCENARIO_DSCP(i);
	for (unsigned int i = 0; scenario->built_switches && !config && i < count; i++) {
		const struct vl_scenario_switch *sw = &scenario->built_switches[i];

		if (!vl_scenario_has_source(sw) || !scenario->nodes[sw->node].ports)
			continue;
		config = vl_scenario_source_config(scenario, sw);
		if (!config)
			loader->out_of_memory = true;
	}
	for (unsigned int i = 0; config && i < VL_SWITCH_PRIORITIES; i++)
		scenario->dscps[i] = vl_scenario_dscp_of_priority(&config->port, i);
	free(config);
}

uint64_t vl_scenario_switch_response(const struct vl_scenario_switch *sw)
{
	return vl_scenario_has_source(sw) || sw->pfc.response_delay == VL_AUTOMATIC
		       ? VL_PFC_RESPONSE_BY_RATE
		       : sw->pfc.response_delay;
}

uint64_t vl_scenario_response_delay(const struct vl_scenario *scenario, unsigned int endpoint)
{
	const struct vl_scenario_switch *sw;

	if (!scenario->nodes[endpoint].ports)
		return 0;
	sw = scenario->nodes[vl_scenario_port(scenario, endpoint, 0)->neighbour].sw;
	if (!sw)
		return 0;
	return vl_scenario_switch_response(sw);
}
