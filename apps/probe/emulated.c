/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/probe/emulated.h"

#include "apps/preset/preset.h"
#include "apps/scenario/problem.h"
#include "apps/scenario/scenario.h"
#include "apps/scenario/source.h"
#include "apps/scenario/switch_config.h"
#include "apps/scenario/switch_source.h"
#include "dataplane/fabric/headroom.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_RATE  UINT64_C(100000000000)
#define DEFAULT_CABLE 5u /* m */

static void set_cables(struct probe_emulated *emulated, uint64_t rate, uint64_t sender_delay,
		       uint64_t receiver_delay)
{
	emulated->cables[VL_PROBE_SENDER] =
		(struct vl_link_config){.rate = rate, .propagation = sender_delay};
	emulated->cables[VL_PROBE_RECEIVER] =
		(struct vl_link_config){.rate = rate, .propagation = receiver_delay};
}

static uint64_t delay_of(uint64_t metres)
{
	return (uint64_t)vl_headroom_propagation((double)metres);
}

/* ---- A preset ---------------------------------------------------------------------------- */

static int open_preset(struct probe_emulated *emulated, const struct probe_source *source,
		       char *error, size_t error_size)
{
	uint64_t rate = source->rate ? source->rate : DEFAULT_RATE;
	uint64_t cable = source->cable ? source->cable : DEFAULT_CABLE;
	const struct vl_preset_link link = {rate, delay_of(cable)};
	const struct vl_preset_link links[VL_PROBE_SIDES] = {link, link};
	const char *nearest;
	const struct vl_preset *preset = vl_preset_find(source->preset, &nearest);

	if (!preset) {
		snprintf(error, error_size, "there is no preset '%.40s'; %s%s", source->preset,
			 nearest ? "did you mean " : "'verbline check --presets' has all",
			 nearest ? nearest : "");
		return -EINVAL;
	}
	emulated->config =
		vl_preset_switch_config(preset, links, VL_PROBE_SIDES, 0, source->longest);
	set_cables(emulated, rate, link.delay, link.delay);
	snprintf(emulated->name, sizeof(emulated->name), "a switch of two ports, preset %s",
		 preset->name);
	return 0;
}

/* ---- A SONiC configuration ---------------------------------------------------------------- */

static bool is_usable(const struct vl_db_port *port)
{
	return !port->is_internal && port->speed != VL_DB_UNSET && port->speed >= VL_RATE_MIN;
}

/* Two ports of one speed, with PFC of the priority if there are such. */
static bool choose_ports(const struct vl_config_db *db, const struct probe_source *source,
			 bool with_pfc, const struct vl_db_port *chosen[VL_PROBE_SIDES])
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < db->port_count; i++) {
		count = 0;
		for (unsigned int j = i; j < db->port_count; j++) {
			const struct vl_db_port *port = &db->ports[j];

			if (!is_usable(port) || port->speed != db->ports[i].speed ||
			    (source->rate && port->speed != source->rate) ||
			    (with_pfc && !(port->pfc >> source->priority & 1)))
				continue;
			chosen[count++] = port;
			if (count == VL_PROBE_SIDES)
				return true;
		}
	}
	return false;
}

static uint64_t cable_of(const struct vl_db_port *port, const struct probe_source *source)
{
	if (source->cable)
		return source->cable;
	return port->cable == VL_DB_UNSET ? DEFAULT_CABLE : port->cable;
}

static int open_config_db(struct probe_emulated *emulated, const struct probe_source *source,
			  char *error, size_t error_size)
{
	struct vl_config_db *db;
	const struct vl_db_port *ports[VL_PROBE_SIDES];
	struct vl_db_link links[VL_PROBE_SIDES];
	char reason[256];

	db = vl_config_db_read(source->config_db, reason, sizeof(reason));
	if (!db) {
		snprintf(error, error_size, "%s: %s", source->config_db, reason);
		return -EINVAL;
	}
	if (!choose_ports(db, source, true, ports) && !choose_ports(db, source, false, ports)) {
		snprintf(error, error_size, "%s has no two ports of one speed%s", source->config_db,
			 source->rate ? " that --rate says" : "");
		vl_config_db_free(db);
		return -EINVAL;
	}
	for (unsigned int i = 0; i < VL_PROBE_SIDES; i++)
		links[i] = (struct vl_db_link){
			ports[i]->speed, delay_of(cable_of(ports[i], source)), ports[i]->name};
	set_cables(emulated, links[0].rate, links[0].delay, links[1].delay);
	emulated->config = vl_db_switch_config(db, links, VL_PROBE_SIDES, &emulated->notes);
	snprintf(emulated->name, sizeof(emulated->name),
		 "%.80s, sender at %.30s, receiver at %.30s", source->config_db, ports[0]->name,
		 ports[1]->name);
	vl_config_db_free(db);
	return 0;
}

/* ---- A scenario -------------------------------------------------------------------------- */

/* What is wrong in it is printed with its places. */
static struct vl_scenario *parse(const char *name, char *error, size_t error_size)
{
	struct vl_problems *problems = calloc(1, sizeof(*problems));
	struct vl_scenario *scenario = NULL;
	size_t length;
	char *text = problems ? vl_scenario_source(name, &length, error, error_size) : NULL;

	if (!problems)
		snprintf(error, error_size, "out of memory");
	if (text) {
		problems->file = name;
		scenario = vl_scenario_parse(text, length, NULL, problems);
		if (!scenario) {
			vl_problems_print(problems, stderr);
			snprintf(error, error_size, "scenario %.100s does not run", name);
		}
	}
	free(text);
	free(problems);
	return scenario;
}

static const struct vl_scenario_switch *find_switch(const struct vl_scenario *scenario,
						    const char *name)
{
	for (unsigned int i = scenario->endpoint_count; i < scenario->node_count; i++) {
		if (scenario->nodes[i].sw && (!name || !strcmp(scenario->nodes[i].name, name)))
			return scenario->nodes[i].sw;
	}
	return NULL;
}

/* Two of its ports of one rate. */
static bool choose_switch_ports(const struct vl_scenario *scenario, unsigned int node,
				unsigned int chosen[VL_PROBE_SIDES])
{
	for (unsigned int i = 0; i < scenario->nodes[node].ports; i++) {
		for (unsigned int j = i + 1; j < scenario->nodes[node].ports; j++) {
			if (vl_scenario_port(scenario, node, i)->cable->links->rate !=
			    vl_scenario_port(scenario, node, j)->cable->links->rate)
				continue;
			chosen[VL_PROBE_SENDER] = i;
			chosen[VL_PROBE_RECEIVER] = j;
			return true;
		}
	}
	return false;
}

/* Puts the configurations of the chosen ports first, in the block that they are all part of. */
static void bring_forward(struct vl_switch_config *config,
			  const unsigned int chosen[VL_PROBE_SIDES])
{
	const struct vl_switch_port_config **ports =
		(const struct vl_switch_port_config **)(uintptr_t)config->by_port;

	for (unsigned int i = 0; ports && i < VL_PROBE_SIDES; i++) {
		const struct vl_switch_port_config *port = ports[chosen[i]];

		/* Ascending: what is brought forward later lies behind. */
		ports[chosen[i]] = ports[i];
		ports[i] = port;
	}
}

static int open_ports(struct probe_emulated *emulated, const struct vl_scenario *scenario,
		      const struct vl_scenario_switch *sw, char *error, size_t error_size)
{
	const char *name = scenario->nodes[sw->node].name;
	const struct vl_scenario_port *ends[VL_PROBE_SIDES];
	unsigned int chosen[VL_PROBE_SIDES];

	if (!choose_switch_ports(scenario, sw->node, chosen)) {
		snprintf(error, error_size, "switch %.60s has no two ports of one rate", name);
		return -EINVAL;
	}
	for (unsigned int i = 0; i < VL_PROBE_SIDES; i++)
		ends[i] = vl_scenario_port(scenario, sw->node, chosen[i]);
	set_cables(emulated, ends[0]->cable->links->rate, ends[0]->cable->links->delay,
		   ends[1]->cable->links->delay);
	emulated->config = vl_scenario_switch_config(scenario, sw);
	if (emulated->config)
		bring_forward(emulated->config, chosen);
	if (scenario->notes)
		emulated->notes = *scenario->notes;
	snprintf(emulated->name, sizeof(emulated->name),
		 "%.40s of scenario %.40s, sender in place of %.30s, receiver of %.30s", name,
		 scenario->name, scenario->nodes[ends[0]->neighbour].name,
		 scenario->nodes[ends[1]->neighbour].name);
	return 0;
}

static int open_scenario(struct probe_emulated *emulated, const struct probe_source *source,
			 char *error, size_t error_size)
{
	struct vl_scenario *scenario = parse(source->scenario, error, error_size);
	const struct vl_scenario_switch *sw;
	int status = -EINVAL;

	if (!scenario)
		return -EINVAL;
	sw = find_switch(scenario, source->sw);
	if (vl_scenario_is_infiniband(scenario))
		snprintf(error, error_size,
			 "scenario %.60s runs over InfiniBand, which has neither PFC nor ECN",
			 scenario->name);
	else if (!sw)
		snprintf(error, error_size, "scenario %.60s has no switch%s%.60s", scenario->name,
			 source->sw ? " named " : "", source->sw ? source->sw : "");
	else
		status = open_ports(emulated, scenario, sw, error, error_size);
	vl_scenario_free(scenario);
	return status;
}

/* ---- All of them ------------------------------------------------------------------------- */

int probe_emulated_open(struct probe_emulated *emulated, const struct probe_source *source,
			char *error, size_t error_size)
{
	int status;

	memset(emulated, 0, sizeof(*emulated));
	if (source->preset)
		status = open_preset(emulated, source, error, error_size);
	else if (source->config_db)
		status = open_config_db(emulated, source, error, error_size);
	else
		status = open_scenario(emulated, source, error, error_size);
	if (status)
		return status;
	if (!emulated->config) {
		snprintf(error, error_size, "out of memory");
		return -ENOMEM;
	}
	emulated->config->seed = source->seed;
	return 0;
}

void probe_emulated_close(struct probe_emulated *emulated)
{
	free(emulated->config);
	memset(emulated, 0, sizeof(*emulated));
}

uint8_t probe_emulated_dscp(const struct probe_emulated *emulated, unsigned int priority)
{
	const struct vl_switch_config *config = emulated->config;

	return vl_scenario_dscp_of_priority(
		config->by_port && config->by_port[0] ? config->by_port[0] : &config->port,
		priority);
}
