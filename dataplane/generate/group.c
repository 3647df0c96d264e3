/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/generate/generator_private.h"

#include <errno.h>
#include <stdlib.h>

#define PSN_MASK 0xffffffu

const char *vl_generate_group_config_error(const struct vl_generate_group_config *config)
{
	const char *error;

	if (!config->qps || config->qps > VL_GENERATE_MAX_QPS)
		return "qps must be 1 to 65536";
	if (!config->depth || config->depth > VL_GENERATE_MAX_DEPTH)
		return "depth must be 1 to 16384";
	if (config->qp.path_mtu < IBV_MTU_256 || config->qp.path_mtu > IBV_MTU_4096)
		return "the path MTU must be 256, 512, 1024, 2048 or 4096";
	if (config->receive_depth > VL_GENERATE_MAX_DEPTH)
		return "receives must be at most 16384 a queue pair";
	error = vl_mix_config_error(&config->mix, config->qp.transport,
				    128u << config->qp.path_mtu);
	if (error)
		return error;
	if (config->duration && config->warm_up >= config->duration)
		return "the warm-up must be shorter than the duration";
	return vl_schedule_config_error(&config->schedule);
}

void vl_generate_group_destroy(struct vl_generate_group *group)
{
	for (uint32_t n = 0; group->senders && n < group->config.qps; n++) {
		if (group->senders[n].qp)
			vl_destroy_qp(group->senders[n].qp);
		if (group->senders[n].ah)
			vl_destroy_ah(group->senders[n].ah);
	}
	free(group->outstanding);
	free(group->senders);
	free(group);
}

static int create_sender(struct vl_generate_group *group, uint32_t n, uint64_t now)
{
	const struct vl_generate_group_config *config = &group->config;
	struct vl_generator *generator = group->generator;
	struct vl_generate_sender *sender = &group->senders[n];
	uint32_t number = config->first + n;
	struct vl_random random = {config->seed ^ (uint64_t)number << 32};
	struct vl_queue_pair_config qp = config->qp;
	struct vl_queue_pair_room room = {.pd = generator->memory.pd,
					  .send_cq = generator->send_cq,
					  .recv_cq = generator->recv_cq,
					  .send_depth = config->depth,
					  .receive_depth = config->receive_depth,
					  .qpn = config->qpn ? config->qpn + n : 0};
	int status = 0;

	if (config->udp_source_ports > 1)
		qp.udp_source_port += (uint16_t)(number % config->udp_source_ports);
	sender->group = group;
	sender->cursor.random.state = vl_random_next(&random);
	sender->psn = (uint32_t)vl_random_next(&random) & PSN_MASK;
	if (config->psn_is_set)
		sender->psn = config->psn & PSN_MASK;
	sender->outstanding = group->outstanding + (size_t)n * (group->depth_mask + 1);
	sender->qp = vl_queue_pair_create(&qp, &room, now, &status);
	return sender->qp ? 0 : status;
}

static int make_room(struct vl_generator *generator, const struct vl_generate_group_config *config)
{
	uint64_t entries = generator->send_entries + (uint64_t)config->qps * config->depth;
	void *grown;
	int status;

	grown = realloc(generator->senders,
			((size_t)generator->sender_count + config->qps) * sizeof(void *));
	if (!grown)
		return -ENOMEM;
	generator->senders = grown;
	if (entries > INT32_MAX)
		return -ENOMEM;
	status = vl_resize_cq(generator->send_cq, (uint32_t)entries);
	if (status)
		return status;
	generator->send_entries = (uint32_t)entries;
	entries = generator->recv_entries + (uint64_t)config->qps * config->receive_depth;
	if (!config->receive_depth)
		return 0;
	status =
		entries > INT32_MAX ? -ENOMEM : vl_resize_cq(generator->recv_cq, (uint32_t)entries);
	if (!status)
		generator->recv_entries = (uint32_t)entries;
	return status;
}

/* The group with memory for its senders, and nothing of the device. */
static struct vl_generate_group *allocate(struct vl_generator *generator,
					  const struct vl_generate_group_config *config)
{
	struct vl_generate_group *group = calloc(1, sizeof(*group));
	uint32_t slots = 1;

	if (!group)
		return NULL;
	while (slots < config->depth)
		slots *= 2;
	group->config = *config;
	group->generator = generator;
	group->depth_mask = slots - 1;
	group->pace_timer.kind = VL_GENERATE_TIMER_GROUP;
	group->end_timer.kind = VL_GENERATE_TIMER_END;
	vl_list_init(&group->ready);
	vl_mix_init(&group->mix, &config->mix);
	vl_schedule_plan_init(&group->plan, &config->schedule);
	group->senders = calloc(config->qps, sizeof(*group->senders));
	group->outstanding = calloc((size_t)config->qps * slots, sizeof(*group->outstanding));
	if (group->senders && group->outstanding)
		return group;
	vl_generate_group_destroy(group);
	return NULL;
}

struct vl_generate_group *vl_generator_add_group(struct vl_generator *generator,
						 const struct vl_generate_group_config *config,
						 uint64_t now, int *error)
{
	struct vl_generate_group *group = NULL;
	int status = -EINVAL;

	if (!vl_generate_group_config_error(config) &&
	    vl_mix_largest(&config->mix) <= generator->memory.largest_message &&
	    config->receive_size <= generator->memory.largest_message) {
		group = allocate(generator, config);
		status = group ? make_room(generator, config) : -ENOMEM;
	}
	for (uint32_t n = 0; !status && n < config->qps; n++)
		status = create_sender(group, n, now);
	if (!status) {
		for (uint32_t n = 0; n < config->qps; n++) {
			group->senders[n].index = generator->sender_count;
			generator->senders[generator->sender_count++] = &group->senders[n];
			for (uint32_t i = 0; i < config->receive_depth; i++)
				vl_generate_post_receive(&group->senders[n]);
		}
		*generator->last_group = group;
		generator->last_group = &group->next;
		return group;
	}
	if (group)
		vl_generate_group_destroy(group);
	if (error)
		*error = status;
	return NULL;
}

/* ---- Connecting ---------------------------------------------------------------------------- */

const struct vl_generate_group_config *vl_generate_group_configuration(
	const struct vl_generate_group *group)
{
	return &group->config;
}

void vl_generate_group_local(const struct vl_generate_group *group, uint32_t n,
			     struct vl_queue_pair_address *address)
{
	const struct vl_generator *generator = group->generator;

	*address = (struct vl_queue_pair_address){
		.qpn = vl_qp_number(group->senders[n].qp),
		.psn = group->senders[n].psn,
		.qkey = VL_TRAFFIC_QKEY,
		.address = vl_traffic_sink_address(&generator->memory),
		.length = vl_traffic_memory_size(generator->memory.largest_message) / 2,
		.rkey = generator->memory.mr->rkey};
	vl_queue_pair_local_address(generator->device, group->config.qp.sgid_index, address);
}

static bool needs_memory(const struct vl_mix_config *mix, uint64_t length)
{
	for (uint32_t i = 0; i < mix->count; i++) {
		if (mix->entries[i].verb >= VL_FLOW_WRITE && mix->entries[i].most > length)
			return true;
	}
	return false;
}

int vl_generate_group_set_connected(struct vl_generate_group *group, uint32_t n,
				    const struct vl_queue_pair_address *peer)
{
	struct vl_generate_sender *sender = &group->senders[n];

	if (needs_memory(&group->config.mix, peer->length))
		return -EINVAL;
	sender->remote_address = peer->address;
	sender->remote_rkey = peer->rkey;
	sender->remote_qpn = peer->qpn;
	sender->remote_qkey = peer->qkey;
	sender->is_connected = true;
	return 0;
}

int vl_generate_group_connect(struct vl_generate_group *group, uint32_t n,
			      const struct vl_queue_pair_address *peer, uint64_t now)
{
	struct vl_generate_sender *sender = &group->senders[n];
	struct vl_generator *generator = group->generator;
	int status;

	if (needs_memory(&group->config.mix, peer->length))
		return -EINVAL;
	status = vl_queue_pair_connect(sender->qp, generator->memory.pd, generator->device,
				       &group->config.qp, sender->psn, peer, &sender->ah, now);
	return status ? status : vl_generate_group_set_connected(group, n, peer);
}

/* ---- Starting ------------------------------------------------------------------------------ */

/* Spreads queue pairs over the time between two messages of each. */
static uint64_t phase_of(const struct vl_generate_group *group, uint32_t n)
{
	struct vl_message message = {group->config.mix.entries[0].verb,
				     (uint32_t)vl_mix_mean(&group->config.mix)};
	uint64_t interval = vl_schedule_interval(&group->plan, message);

	if (group->config.aligned)
		return 0;
	return (uint64_t)((unsigned __int128)interval * n / group->config.qps);
}

static void start_sender(struct vl_generate_group *group, uint32_t n, uint64_t start)
{
	const struct vl_generate_group_config *config = &group->config;
	struct vl_generate_sender *sender = &group->senders[n];

	if (!sender->is_connected) {
		sender->progress.status = IBV_WC_GENERAL_ERR;
		sender->progress.finished = true;
		group->totals.failed++;
		return;
	}
	start += config->stagger * (config->first + n);
	sender->progress.start = start;
	if (config->schedule.rate && config->scope == VL_RATE_OF_QP) {
		vl_schedule_start(&sender->schedule, &group->plan, start, phase_of(group, n));
		start = sender->schedule.next_time;
	}
	group->unfinished++;
	group->generator->unfinished++;
	sender->timer.kind = VL_GENERATE_TIMER_START;
	vl_timer_arm(&group->generator->wheel, &sender->timer, start);
}

void vl_generate_group_start(struct vl_generate_group *group, uint64_t start)
{
	const struct vl_generate_group_config *config = &group->config;

	if (group->is_started)
		return;
	group->is_started = true;
	start += config->start;
	group->stop = config->duration ? start + config->duration : UINT64_MAX;
	group->measure_from = start + config->warm_up;
	for (uint32_t n = 0; n < config->qps; n++)
		start_sender(group, n, start);
	if (!group->unfinished)
		return;
	if (vl_generate_is_paced_together(group)) {
		vl_schedule_start(&group->schedule, &group->plan, start, 0);
		vl_timer_arm(&group->generator->wheel, &group->pace_timer, start);
	}
	if (config->duration)
		vl_timer_arm(&group->generator->wheel, &group->end_timer, group->stop);
}

void vl_generate_group_stop(struct vl_generate_group *group, uint64_t now)
{
	if (!group->unfinished || group->stop <= now)
		return;
	group->stop = now;
	vl_timer_arm(&group->generator->wheel, &group->end_timer, now);
}

/* ---- Reading ------------------------------------------------------------------------------- */

struct vl_qp *vl_generate_group_qp(const struct vl_generate_group *group, uint32_t n)
{
	return group->senders[n].qp;
}

const struct vl_generate_progress *vl_generate_group_progress(const struct vl_generate_group *group,
							      uint32_t n)
{
	return &group->senders[n].progress;
}

struct vl_generate_totals vl_generate_group_totals(const struct vl_generate_group *group)
{
	struct vl_generate_totals totals = group->totals;

	totals.active = (uint32_t)group->unfinished;
	return totals;
}
