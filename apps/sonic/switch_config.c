/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/sonic/switch_config.h"

#include "dataplane/fabric/headroom.h"
#include "dataplane/fabric/rate.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ETHERNET_HEADER 14u
#define DEFAULT_MTU     9100u
#define MILLISECOND     UINT64_C(1000000)
#define DEFAULT_POLL_MS 100u
#define DEFAULT_BURST   UINT64_C(16384)
/* The XON of SONiC's tables for Spectrum switches, whose profiles are made at run time. */
#define COMPUTED_XON 19456u
/* As shared-buffer switches of a generation have it, about. */
#define MEMORY_PER_GBPS 5000u
#define LEAST_MEMORY    16000000u

struct build {
	const struct vl_config_db *db;
	struct vl_db_notes *notes;
	struct vl_switch_config *config;
	const struct vl_db_pool *pools[VL_BUFFER_POOLS];
	uint64_t reserved[VL_BUFFER_POOLS]; /* bytes, of groups and headroom, over all ports */
};

void vl_db_note(struct vl_db_notes *notes, const char *format, ...)
{
	va_list arguments;
	char *text;

	if (!notes || notes->count == VL_DB_MAX_NOTES)
		return;
	text = notes->texts[notes->count];
	va_start(arguments, format);
	vsnprintf(text, sizeof(notes->texts[0]), format, arguments);
	va_end(arguments);
	for (unsigned int i = 0; i < notes->count; i++) {
		if (!strcmp(notes->texts[i], text))
			return;
	}
	notes->count++;
}

/* ---- Pools --------------------------------------------------------------------------------- */

/* The number of a pool in the switch; 0 for what has none. */
static uint8_t pool_number(struct build *build, const struct vl_db_pool *pool)
{
	for (unsigned int i = 0; i < build->config->pool_count; i++) {
		if (build->pools[i] == pool)
			return (uint8_t)i;
	}
	if (!pool)
		return 0;
	if (build->config->pool_count == VL_BUFFER_POOLS) {
		vl_db_note(build->notes, "pools beyond the first %u: taken for the first",
			   VL_BUFFER_POOLS);
		return 0;
	}
	build->pools[build->config->pool_count] = pool;
	return build->config->pool_count++;
}

static void list_pools(struct build *build)
{
	for (unsigned int i = 0; i < build->db->pool_count; i++)
		pool_number(build, &build->db->pools[i]);
}

/* Pools without a size share what is not reserved, those of ingress and those of egress apart. */
static void size_pools(struct build *build, uint64_t memory)
{
	uint64_t reserved = 0, shared;
	unsigned int unsized = 0;

	for (unsigned int i = 0; i < build->config->pool_count; i++) {
		reserved += build->reserved[i];
		unsized += build->pools[i]->is_ingress && build->pools[i]->size == VL_DB_UNSET;
	}
	shared = memory > reserved ? memory - reserved : 1;
	for (unsigned int i = 0; i < build->config->pool_count; i++) {
		const struct vl_db_pool *pool = build->pools[i];
		struct vl_buffer_pool_config *set = &build->config->pools[i];

		set->shared_headroom = pool->xoff;
		if (pool->size != VL_DB_UNSET) {
			/* The shared headroom lies beside the size; of the dynamic model's pools
			 * all that is reserved does. */
			set->is_shared_only = build->db->is_dynamic_model;
			set->size = pool->size + (set->is_shared_only ? 0 : pool->xoff);
		} else {
			set->size = pool->is_ingress && unsized ? shared / unsized : shared;
			set->is_shared_only = true;
			vl_db_note(build->notes,
				   "%.40s: SONiC works its size out at run time; %llu bytes here",
				   pool->name, (unsigned long long)set->size);
		}
		if (!set->size)
			set->size = 1;
	}
}

/* The largest sum of what can be in the switch at once. */
static uint64_t find_memory(const struct build *build, const struct vl_db_link *links,
			    unsigned int count)
{
	uint64_t ingress = 0, egress = 0, rate = 0, memory;

	for (unsigned int i = 0; i < build->db->pool_count; i++) {
		const struct vl_db_pool *pool = &build->db->pools[i];

		if (pool->size == VL_DB_UNSET)
			continue;
		if (pool->is_ingress)
			ingress += pool->size + pool->xoff;
		if (pool->is_egress && pool->size > egress)
			egress = pool->size;
	}
	memory = ingress > egress ? ingress : egress;
	for (unsigned int i = 0; !memory && i < count; i++)
		rate += links[i].rate;
	if (!memory)
		memory = rate / 1000000000 * MEMORY_PER_GBPS;
	return memory > LEAST_MEMORY ? memory : LEAST_MEMORY;
}

/* ---- Groups and queues of a port ----------------------------------------------------------- */

static struct vl_buffer_threshold threshold_of(const struct vl_db_profile *profile)
{
	if (profile->has_dynamic_th)
		return vl_threshold_dynamic(ldexp(1, profile->dynamic_th));
	if (profile->static_th != VL_DB_UNSET)
		return vl_threshold_static(profile->static_th);
	return (struct vl_buffer_threshold){.kind = VL_THRESHOLD_POOL};
}

static uint64_t given(uint64_t value, uint64_t otherwise)
{
	return value == VL_DB_UNSET ? otherwise : value;
}

static void set_group(struct build *build, const struct vl_db_profile *profile,
		      struct vl_buffer_group_config *group)
{
	uint64_t size = given(profile->size, 0);

	group->pool = pool_number(build, profile->pool);
	group->threshold = threshold_of(profile);
	group->reserved = size;
	group->lossless = profile->xoff != VL_DB_UNSET && profile->xoff;
	if (!group->lossless)
		return;
	group->headroom = profile->xoff;
	if (profile->pool && !profile->pool->xoff) {
		/* Headroom is part of the size: what is beyond it does not exist. */
		if (group->headroom > size)
			group->headroom = size;
		group->reserved = size - group->headroom;
	}
	group->xon = given(profile->xon, 0);
	group->xon_offset = given(profile->xon_offset, 0);
}

static const struct vl_db_pool *lossless_pool(const struct vl_config_db *db)
{
	const struct vl_db_pool *first = NULL;

	for (unsigned int i = 0; i < db->pool_count; i++) {
		if (!strcmp(db->pools[i].name, "ingress_lossless_pool"))
			return &db->pools[i];
		if (!first && db->pools[i].is_ingress)
			first = &db->pools[i];
	}
	return first;
}

/* A lossless profile as SONiC's buffer manager makes it. */
static void compute_group(struct build *build, const struct vl_db_port *port,
			  const struct vl_db_link *link, struct vl_buffer_group_config *group)
{
	const struct vl_config_db *db = build->db;
	uint32_t frame = (uint32_t)given(port->mtu, DEFAULT_MTU) + ETHERNET_HEADER;
	struct vl_headroom_input input = {
		.rate = link->rate,
		.propagation = port->cable == VL_DB_UNSET
				       ? (double)link->delay
				       : vl_headroom_propagation((double)port->cable),
		.lossless_mtu = frame,
		.port_mtu = frame,
		.smallest = 64,
		.response = -1,
	};
	const struct vl_db_pool *pool = lossless_pool(db);
	struct vl_headroom headroom;

	vl_headroom_worst_case(&input, &headroom);
	group->pool = pool_number(build, pool);
	group->lossless = true;
	group->headroom = headroom.bytes;
	group->threshold = vl_threshold_dynamic(
		ldexp(1, db->has_default_dynamic_th ? db->default_dynamic_th : 0));
	group->reserved = group->xon = COMPUTED_XON;
	vl_db_note(build->notes,
		   "lossless profiles that SONiC makes at run time: headroom of %llu bytes by the "
		   "formula "
		   "at %llu Gb/s, alpha %g, XON at %u",
		   (unsigned long long)group->headroom,
		   (unsigned long long)(link->rate / 1000000000), group->threshold.alpha,
		   COMPUTED_XON);
}

static void set_groups(struct build *build, const struct vl_db_port *port,
		       const struct vl_db_link *link, struct vl_switch_port_config *config)
{
	for (unsigned int n = 0; n < VL_DB_CLASSES; n++) {
		const struct vl_db_buffer *buffer = &port->pgs[n];
		struct vl_buffer_group_config *group = &config->groups[n];
		bool is_made = !buffer->entry && !build->db->is_dynamic_model &&
			       port->pfc & 1u << n && port->cable && port->cable != VL_DB_UNSET;

		*group = (struct vl_buffer_group_config){
			.pool = pool_number(build, lossless_pool(build->db))};
		if (buffer->profile)
			set_group(build, buffer->profile, group);
		else if (buffer->is_computed || is_made)
			compute_group(build, port, link, group);
		build->reserved[group->pool] +=
			group->reserved + (group->lossless && !(build->pools[group->pool] &&
								build->pools[group->pool]->xoff)
						   ? group->headroom
						   : 0);
	}
}

static bool set_curve(struct build *build, const struct vl_db_wred *wred, unsigned int colour,
		      struct vl_red_curve *curve)
{
	uint64_t min = wred->colours[colour].min, max = wred->colours[colour].max;

	*curve = (struct vl_red_curve){.action = VL_RED_IGNORE};
	if (!wred->colours[colour].is_enabled)
		return false;
	if (min == VL_DB_UNSET || max == VL_DB_UNSET || min > max) {
		vl_db_note(build->notes,
			   "%.40s: without right thresholds, as SONiC refuses it: no marking",
			   wred->name);
		return false;
	}
	curve->action = wred->colours[colour].is_ecn ? VL_RED_MARK_OR_DROP : VL_RED_DROP_ALL;
	curve->kmin = min;
	curve->kmax = max;
	curve->pmax = (double)wred->colours[colour].probability / 100;
	return true;
}

static void set_marking(struct build *build, const struct vl_db_wred *wred,
			struct vl_red_config *red)
{
	bool is_on = false;

	for (unsigned int colour = 0; colour < VL_DB_COLOURS; colour++)
		is_on |= set_curve(build, wred, colour, &red->curves[colour]);
	red->point = is_on ? VL_RED_AT_DEQUEUE : VL_RED_OFF;
}

static void set_shaper(struct build *build, const struct vl_db_scheduler *scheduler,
		       struct vl_shaper_config *shaper)
{
	if (scheduler->cir != VL_DB_UNSET && scheduler->cir)
		vl_db_note(build->notes, "%.40s: the guaranteed rate (cir) is not emulated",
			   scheduler->name);
	if (scheduler->pir == VL_DB_UNSET || !scheduler->pir)
		return;
	if (scheduler->is_in_packets || scheduler->pir > VL_RATE_MAX / 8 ||
	    scheduler->pir < VL_RATE_MIN / 8) {
		vl_db_note(build->notes,
			   "%.40s: its pir (packets, or beyond 1 Mb/s to 4 Tb/s) is not emulated",
			   scheduler->name);
		return;
	}
	*shaper = (struct vl_shaper_config){.rate = scheduler->pir * 8, .burst = DEFAULT_BURST};
}

static void set_scheduler(struct build *build, const struct vl_db_scheduler *scheduler,
			  struct vl_scheduler_queue_config *queue)
{
	static const enum vl_scheduling types[] = {
		[VL_DB_WRR] = VL_SCHEDULING_WRR,
		[VL_DB_DWRR] = VL_SCHEDULING_DWRR,
		[VL_DB_STRICT] = VL_SCHEDULING_STRICT,
	};

	queue->type = types[scheduler->type];
	queue->weight = (uint32_t)given(scheduler->weight, 1);
	set_shaper(build, scheduler, &queue->shaper);
}

static const struct vl_db_pool *egress_pool(const struct vl_config_db *db)
{
	const struct vl_db_pool *largest = NULL;

	for (unsigned int i = 0; i < db->pool_count; i++) {
		const struct vl_db_pool *pool = &db->pools[i];

		if (pool->is_egress && (!largest || (pool->size != VL_DB_UNSET &&
						     pool->size > given(largest->size, 0))))
			largest = pool;
	}
	return largest;
}

static void set_queues(struct build *build, const struct vl_db_port *port,
		       struct vl_switch_port_config *config)
{
	for (unsigned int n = 0; n < VL_DB_CLASSES; n++) {
		const struct vl_db_profile *profile = port->queue_buffers[n].profile;
		struct vl_switch_queue_config *queue = &config->queues[n];

		*queue = (struct vl_switch_queue_config){
			.buffer.pool = pool_number(build, egress_pool(build->db))};
		if (profile) {
			queue->buffer.pool = pool_number(build, profile->pool);
			queue->buffer.reserved = given(profile->size, 0);
			queue->buffer.threshold = threshold_of(profile);
		}
		if (port->queues[n].scheduler)
			set_scheduler(build, port->queues[n].scheduler, &queue->scheduler);
		if (port->queues[n].wred)
			set_marking(build, port->queues[n].wred, &queue->red);
	}
}

/* ---- Classes, PFC, watchdog ---------------------------------------------------------------- */

static uint8_t class_of(struct build *build, int tc)
{
	if (tc >= VL_TRAFFIC_CLASSES) {
		vl_db_note(build->notes, "traffic classes from %u on: taken for class 0",
			   VL_TRAFFIC_CLASSES);
		return 0;
	}
	return tc < 0 ? 0 : (uint8_t)tc;
}

static void set_classifier(struct build *build, const struct vl_db_port *port,
			   struct vl_classifier_config *classifier)
{
	const struct vl_config_db *db = build->db;

	*classifier = (struct vl_classifier_config){0};
	if (!port->dscp_to_tc && !db->global_dscp_to_tc && port->dot1p_to_tc)
		classifier->trust = VL_TRUST_PCP;
	for (unsigned int dscp = 0; dscp < VL_DSCP_COUNT; dscp++)
		classifier->dscp_to_class[dscp] = class_of(build, vl_db_tc_of_dscp(db, port, dscp));
	for (unsigned int pcp = 0; pcp < VL_PCP_COUNT; pcp++)
		classifier->pcp_to_class[pcp] =
			class_of(build, port->dot1p_to_tc ? port->dot1p_to_tc->to[pcp] : 0);
	for (unsigned int tc = 0; tc < VL_TRAFFIC_CLASSES; tc++) {
		int queue = vl_db_queue_of_tc(port, tc), group = vl_db_pg_of_tc(port, tc);

		classifier->class_to_queue[tc] = queue < 0 ? 0 : (uint8_t)queue;
		classifier->class_to_group[tc] = group < 0 ? 0 : (uint8_t)group;
	}
}

static void set_pfc(const struct vl_db_port *port, struct vl_switch_pfc_config *pfc)
{
	*pfc = (struct vl_switch_pfc_config){.enabled = port->pfc,
					     .response_delay = VL_PFC_RESPONSE_BY_RATE};
	for (unsigned int n = 0; n < VL_PFC_PRIORITIES; n++) {
		int queue = vl_db_queue_of_priority(port, n);
		int group = vl_db_pg_of_priority(port, n);

		pfc->priority_to_queue[n] = queue < 0 ? (uint8_t)n : (uint8_t)queue;
		pfc->priority_to_group[n] = group < 0 ? (uint8_t)n : (uint8_t)group;
		if (queue < 0 || group < 0)
			pfc->enabled &= (uint8_t) ~(1u << n);
	}
}

static void set_watchdog(struct build *build, const struct vl_db_port *port,
			 struct vl_watchdog_config *watchdog)
{
	const struct vl_db_watchdog *given_one = port->watchdog;

	*watchdog = (struct vl_watchdog_config){0};
	if (!given_one || given_one->detection == VL_DB_UNSET)
		return;
	if (given_one->action == VL_DB_WATCHDOG_ALERT) {
		vl_db_note(build->notes, "a watchdog that only alerts is left out");
		return;
	}
	watchdog->action =
		given_one->action == VL_DB_WATCHDOG_DROP ? VL_WATCHDOG_DROP : VL_WATCHDOG_FORWARD;
	watchdog->priorities =
		port->has_watchdog_priorities ? port->watchdog_priorities : port->pfc;
	watchdog->detection_time = given_one->detection * MILLISECOND;
	/* pfcwdorch takes twice the detection time where none is given. */
	watchdog->restoration_time =
		given(given_one->restoration, 2 * given_one->detection) * MILLISECOND;
	watchdog->poll_interval = given(build->db->poll_interval, DEFAULT_POLL_MS) * MILLISECOND;
}

/* ---- Ports --------------------------------------------------------------------------------- */

static void configure_port(struct build *build, const struct vl_db_port *port,
			   const struct vl_db_link *link, struct vl_switch_port_config *config)
{
	*config = (struct vl_switch_port_config){0};
	set_classifier(build, port, &config->classifier);
	set_groups(build, port, link, config);
	set_queues(build, port, config);
	set_pfc(port, &config->pfc);
	set_watchdog(build, port, &config->watchdog);
	if (port->scheduler)
		set_shaper(build, port->scheduler, &config->shaper);
	if (port->speed != VL_DB_UNSET && port->speed != link->rate)
		vl_db_note(build->notes, "%.40s is of %llu Gb/s, its link of %llu Gb/s", port->name,
			   (unsigned long long)(port->speed / 1000000000),
			   (unsigned long long)(link->rate / 1000000000));
}

static const struct vl_db_port *choose_port(const struct vl_config_db *db,
					    const struct vl_db_link *link, bool *is_taken)
{
	const struct vl_db_port *first = NULL;

	for (unsigned int i = 0; i < db->port_count; i++) {
		const struct vl_db_port *port = &db->ports[i];

		if (link->port ? !strcmp(link->port, port->name)
			       : !is_taken[i] && !port->is_internal && port->speed == link->rate) {
			is_taken[i] = true;
			return port;
		}
		if (!first && !is_taken[i] && !port->is_internal)
			first = port;
	}
	if (first)
		is_taken[first - db->ports] = true;
	return first;
}

/* What one call allocates. */
struct block {
	struct vl_switch_config config;
	/* by_port, then the ports' configurations */
	_Alignas(max_align_t) char memory[];
};

struct vl_switch_config *vl_db_switch_config(const struct vl_config_db *db,
					     const struct vl_db_link *links, unsigned int count,
					     struct vl_db_notes *notes)
{
	static const struct vl_db_port missing = {
		.name = "(none)", .mtu = VL_DB_UNSET, .speed = VL_DB_UNSET, .cable = VL_DB_UNSET};
	struct vl_switch_port_config *configs;
	struct block *block =
		calloc(1, sizeof(*block) + count * sizeof(*configs) + count * sizeof(configs));
	bool *is_taken = calloc(db->port_count + 1, sizeof(*is_taken));
	struct build build = {.db = db, .notes = notes};
	const struct vl_switch_port_config **by_port;

	if (!block || !is_taken) {
		free(block);
		free(is_taken);
		return NULL;
	}
	configs = (struct vl_switch_port_config *)block->memory;
	by_port = (const struct vl_switch_port_config **)(configs + count);
	build.config = &block->config;
	list_pools(&build);
	for (unsigned int i = 0; i < count; i++) {
		const struct vl_db_port *port = choose_port(db, &links[i], is_taken);

		if (!port)
			vl_db_note(build.notes,
				   "more links than the configuration has ports: the rest have "
				   "no classes and no PFC");
		configure_port(&build, port ? port : &missing, &links[i], &configs[i]);
		by_port[i] = &configs[i];
	}
	block->config.ports = count;
	block->config.buffer = find_memory(&build, links, count);
	size_pools(&build, block->config.buffer);
	if (count)
		block->config.port = configs[0];
	block->config.by_port = by_port;
	free(is_taken);
	return &block->config;
}
