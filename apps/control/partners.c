/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/control/partners.h"

#include "dataplane/generate/responder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What a receive that may be outstanding takes: its work request, and room for its completion. */
#define RECEIVE_MEMORY UINT64_C(128)

/* Congestion control that a client has asked for; lives as long as its partners. */
struct cc_choice {
	struct cc_choice *next;
	struct vl_cc_parameters parameters;
};

struct vl_control_partners {
	struct vl_control_budget *budget;
	struct vl_responder_set *responders;
	uint32_t announced;                                 /* queue pairs, by hello */
	uint64_t memory;                                    /* bytes, counted in the budget's */
	struct vl_one_way *one_ways[VL_CONTROL_MAX_GROUPS]; /* NULL: not stamped */
	struct cc_choice *choices;
	uint32_t first, connected;        /* of those made last */
	uint32_t added_up;                /* that the answer under way counts */
	struct vl_control_partners *next; /* that leaves */
};

/* ---- Coming and going ---------------------------------------------------------------------- */

struct vl_control_partners *vl_control_partners_open(struct vl_control_budget *budget,
						     const struct vl_control_hello *hello,
						     struct vl_control_message *answer)
{
	struct vl_responder_set_config set = {.largest_message = (uint32_t)hello->largest_message};
	struct vl_control_partners *partners;
	uint64_t memory = vl_traffic_memory_size((uint32_t)hello->largest_message);
	int status = -ENOMEM;

	if (!hello->largest_message || hello->largest_message > budget->largest_message) {
		vl_control_refuse(answer, "messages of up to %llu bytes are taken, not of %llu",
				  (unsigned long long)budget->largest_message,
				  (unsigned long long)hello->largest_message);
		return NULL;
	}
	if (!hello->qps || hello->qps > budget->max_qps - budget->qp_count) {
		vl_control_refuse(answer, "room is left for %u queue pairs, not for %u",
				  budget->max_qps - budget->qp_count, hello->qps);
		return NULL;
	}
	if (memory > budget->max_memory - budget->memory) {
		vl_control_refuse(answer, "no room is left for messages of %llu bytes",
				  (unsigned long long)hello->largest_message);
		return NULL;
	}
	partners = calloc(1, sizeof(*partners));
	if (partners)
		partners->responders = vl_responder_set_create(budget->device, &set, &status);
	if (!partners || !partners->responders) {
		vl_control_refuse(answer, "no memory for messages: %s", strerror(-status));
		free(partners);
		return NULL;
	}
	partners->budget = budget;
	partners->announced = hello->qps;
	partners->memory = memory;
	budget->memory += memory;
	return partners;
}

static void destroy(struct vl_control_partners *partners)
{
	struct cc_choice *choice;

	partners->budget->qp_count -= vl_responder_set_count(partners->responders);
	partners->budget->memory -= partners->memory;
	vl_responder_set_destroy(partners->responders);
	for (uint32_t i = 0; i < VL_CONTROL_MAX_GROUPS; i++)
		free(partners->one_ways[i]);
	while ((choice = partners->choices)) {
		partners->choices = choice->next;
		free(choice);
	}
	free(partners);
}

void vl_control_partners_leave(struct vl_control_partners *partners)
{
	if (!partners)
		return;
	partners->next = partners->budget->leaving;
	partners->budget->leaving = partners;
	vl_control_budget_poll(partners->budget);
}

bool vl_control_budget_poll(struct vl_control_budget *budget)
{
	struct vl_control_partners *leaving = budget->leaving;
	uint32_t before, left;

	if (!leaving)
		return false;
	before = vl_responder_set_count(leaving->responders);
	left = vl_responder_set_shrink(leaving->responders, VL_CONTROL_BATCH);
	budget->qp_count -= before - left;
	if (!left) {
		budget->leaving = leaving->next;
		destroy(leaving);
	}
	return budget->leaving;
}

bool vl_control_budget_is_settled(const struct vl_control_budget *budget)
{
	return !budget->leaving;
}

void vl_control_budget_close(struct vl_control_budget *budget)
{
	while (vl_control_budget_poll(budget))
		;
}

uint32_t vl_control_partners_count(const struct vl_control_partners *partners)
{
	return vl_responder_set_count(partners->responders);
}

void vl_control_partners_poll(struct vl_control_partners *partners)
{
	vl_responder_set_poll(partners->responders);
}

/* ---- Making -------------------------------------------------------------------------------- */

static uint64_t receive_memory(const struct vl_control_open *open)
{
	return RECEIVE_MEMORY * open->receive_depth * open->count;
}

static bool check_open(const struct vl_control_partners *partners,
		       const struct vl_control_open *open, struct vl_control_message *answer)
{
	const struct vl_traffic_memory *memory = vl_responder_set_memory(partners->responders);
	const struct vl_control_budget *budget = partners->budget;
	uint32_t count = vl_responder_set_count(partners->responders);

	if (open->count > partners->announced - count)
		vl_control_refuse(answer,
				  "hello announced %u queue pairs, and there are %u already",
				  partners->announced, count);
	else if (open->count > budget->max_qps - budget->qp_count)
		vl_control_refuse(answer, "no room is left for %u queue pairs", open->count);
	else if (receive_memory(open) > budget->max_memory - budget->memory)
		vl_control_refuse(answer,
				  "no room is left for %u queue pairs with %u receives each",
				  open->count, open->receive_depth);
	else if (open->receive_size > memory->largest_message)
		vl_control_refuse(answer, "hello announced messages of up to %u bytes, not of %u",
				  memory->largest_message, open->receive_size);
	else
		return true;
	return false;
}

/* Counted as the partners'; NULL: there is no room. */
static void *take_memory(struct vl_control_partners *partners, size_t size)
{
	struct vl_control_budget *budget = partners->budget;
	void *memory = NULL;

	if (size <= budget->max_memory - budget->memory)
		memory = calloc(1, size);
	if (memory) {
		budget->memory += size;
		partners->memory += size;
	}
	return memory;
}

/* NULL: as the device does, or there is no room, which was said. */
static const struct vl_cc_parameters *choose_cc(struct vl_control_partners *partners,
						const struct vl_control_open *open,
						struct vl_control_message *answer)
{
	const struct vl_control_budget *budget = partners->budget;
	struct vl_cc_parameters wanted = open->cc;
	struct cc_choice *choice = partners->choices;

	if (!wanted.algorithm)
		return NULL;
	if (budget->notification) {
		const struct vl_dcqcn_parameters *own = &budget->notification->dcqcn;

		wanted.dcqcn.min_time_between_cnps = own->min_time_between_cnps;
		wanted.dcqcn.cnp_dscp = own->cnp_dscp;
		wanted.dcqcn.cnp_802p_prio = own->cnp_802p_prio;
	}
	if (choice && !memcmp(&choice->parameters, &wanted, sizeof(wanted)))
		return &choice->parameters;
	choice = take_memory(partners, sizeof(*choice));
	if (!choice) {
		vl_control_refuse(answer, "no room is left for another congestion control");
		return NULL;
	}
	choice->parameters = wanted;
	choice->next = partners->choices;
	partners->choices = choice;
	return &choice->parameters;
}

/* False: there is no room, which was said. */
static bool prepare_times(struct vl_control_partners *partners, const struct vl_control_open *open,
			  struct vl_control_message *answer)
{
	struct vl_one_way **one_way = &partners->one_ways[open->group];

	if (!open->is_stamped || *one_way)
		return true;
	*one_way = take_memory(partners, sizeof(**one_way));
	if (!*one_way)
		vl_control_refuse(answer, "no room is left for another histogram");
	return *one_way;
}

static int make_one(struct vl_control_partners *partners, const struct vl_control_open *open,
		    const struct vl_queue_pair_config *config, uint64_t now)
{
	struct vl_control_budget *budget = partners->budget;
	uint32_t index;
	int status = vl_responder_set_add(partners->responders, config, open->receive_depth,
					  open->receive_size,
					  (uint32_t)vl_random_next(&budget->random), now, &index);

	if (status)
		return status;
	if (open->is_stamped)
		vl_responder_set_time(partners->responders, index, partners->one_ways[open->group],
				      open->clock_offset);
	budget->qp_count++;
	(*budget->qps_made)++;
	return 0;
}

bool vl_control_partners_make(struct vl_control_partners *partners,
			      const struct vl_control_open *open, uint8_t sgid_index,
			      struct vl_control_message *answer, uint64_t now)
{
	struct vl_queue_pair_config config = {
		.transport = open->transport,
		.path_mtu = open->path_mtu,
		.sgid_index = sgid_index,
		.traffic_class = open->traffic_class,
		.priority = open->priority,
		.timeout = open->timeout,
		.retry_count = open->retry_count,
		.rnr_retry = open->rnr_retry,
		.min_rnr_timer = partners->budget->min_rnr_timer,
	};
	int status;

	if (!check_open(partners, open, answer) || !prepare_times(partners, open, answer))
		return false;
	config.cc = choose_cc(partners, open, answer);
	if (open->cc.algorithm && !config.cc)
		return false;
	partners->memory += receive_memory(open);
	partners->budget->memory += receive_memory(open);
	partners->first = vl_responder_set_count(partners->responders);
	partners->connected = 0;
	for (uint32_t i = 0; i < open->count; i++) {
		status = make_one(partners, open, &config, now);
		if (status) {
			vl_control_refuse(answer, "queue pair %u of %u cannot be made: %s", i,
					  open->count, strerror(-status));
			return false;
		}
	}
	return true;
}

bool vl_control_partners_connect(struct vl_control_partners *partners,
				 const struct vl_control_open *open, const union ibv_gid *peer,
				 struct vl_control_message *answer, uint64_t now)
{
	struct vl_control_opened *opened = &answer->opened;
	struct vl_queue_pair_address remote = {.gid = *peer}, local = {0};
	int status;

	for (; partners->connected < open->count; partners->connected++) {
		const struct vl_control_qp *qp = &open->qps[partners->connected];
		uint32_t index = partners->first + partners->connected;

		remote.qpn = qp->qpn;
		remote.psn = qp->psn;
		status = vl_responder_set_connect(partners->responders, index, &remote, now);
		if (status == -EAGAIN)
			return false;
		if (status) {
			vl_control_refuse(answer, "queue pair %u of %u cannot be connected: %s",
					  partners->connected, open->count, strerror(-status));
			return true;
		}
		vl_responder_set_local(partners->responders, index, &local);
		opened->qps[partners->connected] = (struct vl_control_qp){local.qpn, local.psn};
	}
	answer->type = VL_CONTROL_OPENED;
	opened->address = local.address;
	opened->length = local.length;
	opened->rkey = local.rkey;
	opened->qkey = local.qkey;
	opened->count = open->count;
	return true;
}

/* ---- What they have seen ------------------------------------------------------------------- */

bool vl_control_partners_add_up(struct vl_control_partners *partners,
				struct vl_control_message *answer, uint64_t now)
{
	struct vl_control_counters *sum = &answer->counters;

	if (answer->type != VL_CONTROL_COUNTERS) {
		answer->type = VL_CONTROL_COUNTERS;
		*sum = (struct vl_control_counters){
			.qps = vl_responder_set_count(partners->responders)};
		partners->added_up = 0;
	}
	sum->time = now;
	for (uint32_t i = 0; i < VL_CONTROL_BATCH && partners->added_up < sum->qps; i++) {
		const struct vl_counters *counters = vl_qp_counters(
			vl_responder_set_qp(partners->responders, partners->added_up++));

#define ADD_COUNTER(name, unit, meaning) sum->counters.name += counters->name;
		VL_COUNTERS(ADD_COUNTER)
#undef ADD_COUNTER
	}
	return partners->added_up == sum->qps;
}

void vl_control_partners_tell_times(const struct vl_control_partners *partners,
				    const struct vl_control_times *times,
				    struct vl_control_message *answer)
{
	const struct vl_one_way *one_way = partners->one_ways[times->group];
	struct vl_control_timed *timed = &answer->timed;

	if (!one_way) {
		vl_control_refuse(answer, "group %u was not opened with time stamps", times->group);
		return;
	}
	answer->type = VL_CONTROL_TIMED;
	*timed = (struct vl_control_timed){.count = one_way->times.count,
					   .least = one_way->times.least,
					   .most = one_way->times.most,
					   .early = one_way->early,
					   .sum = one_way->times.sum,
					   .square_sum = one_way->times.square_sum};
	for (uint32_t slot = times->first; slot < VL_HISTOGRAM_SLOTS; slot++) {
		if (!one_way->times.slots[slot])
			continue;
		if (timed->slot_count == VL_CONTROL_MAX_SLOTS) {
			timed->next = slot;
			return;
		}
		timed->slots[timed->slot_count].slot = slot;
		timed->slots[timed->slot_count++].count = one_way->times.slots[slot];
	}
}
