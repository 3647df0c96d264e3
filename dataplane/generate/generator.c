/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/generate/generator.h"

#include "dataplane/generate/generator_private.h"
#include "dataplane/generate/stamp.h"

#include <errno.h>
#include <stdlib.h>

#define COMPLETION_BATCH 16

void vl_generate_finish(struct vl_generate_sender *sender)
{
	struct vl_generate_group *group = sender->group;

	if (sender->progress.finished)
		return;
	sender->progress.finished = true;
	vl_timer_cancel(&group->generator->wheel, &sender->timer);
	vl_list_remove(&sender->ready);
	group->generator->unfinished--;
	if (--group->unfinished)
		return;
	vl_timer_cancel(&group->generator->wheel, &group->pace_timer);
	vl_timer_cancel(&group->generator->wheel, &group->end_timer);
}

static void fail(struct vl_generate_sender *sender, enum ibv_wc_status status)
{
	if (sender->progress.status == IBV_WC_SUCCESS) {
		sender->progress.status = status;
		sender->group->totals.failed++;
	}
	vl_generate_finish(sender);
}

/* ---- A message ----------------------------------------------------------------------------- */

static __be32 immediate_of(const struct vl_generate_sender *sender, uint64_t now)
{
	const struct vl_generate_group *group = sender->group;

	if (!group->config.stamps)
		return (__be32)sender->progress.posted;
	return now < group->measure_from ? 0 : vl_stamp(now);
}

static void fill_request(const struct vl_generate_sender *sender, struct vl_message message,
			 struct ibv_send_wr *wr, struct ibv_sge *sge, uint64_t now)
{
	static const enum ibv_wr_opcode opcodes[] = {
		[VL_FLOW_SEND] = IBV_WR_SEND,
		[VL_FLOW_SEND_IMM] = IBV_WR_SEND_WITH_IMM,
		[VL_FLOW_WRITE] = IBV_WR_RDMA_WRITE,
		[VL_FLOW_WRITE_IMM] = IBV_WR_RDMA_WRITE_WITH_IMM,
		[VL_FLOW_READ] = IBV_WR_RDMA_READ,
		[VL_FLOW_COMPARE_SWAP] = IBV_WR_ATOMIC_CMP_AND_SWP,
		[VL_FLOW_FETCH_ADD] = IBV_WR_ATOMIC_FETCH_AND_ADD,
	};
	const struct vl_traffic_memory *memory = &sender->group->generator->memory;

	*sge = (struct ibv_sge){vl_flow_verb_takes_in(message.verb)
					? vl_traffic_sink_address(memory)
					: vl_traffic_source_address(),
				message.size, memory->mr->lkey};
	wr->wr_id = (uint64_t)sender->index << 32 | (uint32_t)sender->progress.posted;
	wr->sg_list = sge;
	wr->num_sge = 1;
	wr->opcode = opcodes[message.verb];
	wr->send_flags = IBV_SEND_SIGNALED;
	wr->imm_data = immediate_of(sender, now);
	if (sender->ah) {
		wr->wr.ud.ah = sender->ah;
		wr->wr.ud.remote_qpn = sender->remote_qpn;
		wr->wr.ud.remote_qkey = sender->remote_qkey;
	} else if (vl_flow_verb_is_atomic(message.verb)) {
		wr->wr.atomic.remote_addr = sender->remote_address;
		wr->wr.atomic.rkey = sender->remote_rkey;
		wr->wr.atomic.compare_add = 1;
	} else {
		wr->wr.rdma.remote_addr = sender->remote_address;
		wr->wr.rdma.rkey = sender->remote_rkey;
	}
}

static bool has_more(const struct vl_generate_sender *sender, uint64_t now)
{
	const struct vl_generate_group *group = sender->group;
	const struct vl_generate_progress *progress = &sender->progress;

	return !progress->finished && now < group->stop &&
	       (!group->config.messages || progress->posted < group->config.messages);
}

static bool has_room(const struct vl_generate_sender *sender)
{
	return sender->progress.posted - sender->progress.completed < sender->group->config.depth;
}

/* Posts the sender's next message, whose time counts from start. */
static struct vl_message post(struct vl_generate_sender *sender, uint64_t start, uint64_t now)
{
	struct vl_generate_group *group = sender->group;
	struct vl_message message = vl_mix_next(&group->mix, &sender->cursor);
	struct vl_generate_outstanding *outstanding =
		&sender->outstanding[sender->progress.posted & group->depth_mask];
	struct ibv_send_wr wr = {0};
	const struct ibv_send_wr *bad;
	struct ibv_sge sge;

	fill_request(sender, message, &wr, &sge, now);
	if (vl_post_send(sender->qp, &wr, &bad, now)) {
		fail(sender, IBV_WC_GENERAL_ERR);
		return message;
	}
	outstanding->time = start;
	outstanding->size = message.size;
	sender->progress.posted++;
	group->totals.posted++;
	return message;
}

static void note_pacing(struct vl_generate_group *group, uint64_t due, uint64_t now,
			bool was_blocked)
{
	if (was_blocked)
		group->totals.held_back++;
	else if (group->config.pacing_errors && now >= group->measure_from)
		vl_histogram_record(group->config.pacing_errors, now - due);
}

/* ---- As fast as it goes, or at a rate of each queue pair's ---------------------------------- */

static void post_unpaced(struct vl_generate_sender *sender, uint64_t now)
{
	while (has_more(sender, now) && has_room(sender))
		post(sender, now, now);
}

static void post_paced(struct vl_generate_sender *sender, uint64_t now)
{
	struct vl_generate_group *group = sender->group;
	struct vl_schedule *schedule = &sender->schedule;

	while (has_more(sender, now) && schedule->next_time <= now) {
		if (!has_room(sender)) {
			sender->was_blocked = true;
			return;
		}
		group->totals.put_off += vl_schedule_catch_up(schedule, now);
		note_pacing(group, schedule->next_time, now, sender->was_blocked);
		group->totals.cost +=
			vl_schedule_advance(schedule, post(sender, schedule->next_time, now));
	}
	sender->was_blocked = false;
	if (has_more(sender, now))
		vl_timer_arm(&group->generator->wheel, &sender->timer, schedule->next_time);
}

/* Whether nothing is outstanding and nothing more will be posted. */
static bool is_over(const struct vl_generate_sender *sender, uint64_t now)
{
	if (sender->progress.posted != sender->progress.completed)
		return false;
	return !has_more(sender, now) || (sender->group->config.schedule.rate &&
					  sender->group->config.scope == VL_RATE_OF_QP &&
					  sender->schedule.next_time >= sender->group->stop);
}

/* ---- At a rate of all together -------------------------------------------------------------- */

/* Appends a sender that may post to those that take turns. */
static void make_ready(struct vl_generate_sender *sender, uint64_t now)
{
	if (!vl_link_is_listed(&sender->ready) && has_room(sender) && has_more(sender, now))
		vl_list_append(&sender->group->ready, &sender->ready);
}

/* Posts what is due; a burst stays with the queue pair that it began on while that has room. */
static void post_together(struct vl_generate_group *group, uint64_t now)
{
	struct vl_schedule *schedule = &group->schedule;
	struct vl_generate_sender *sender;

	while (schedule->next_time <= now && now < group->stop) {
		if (vl_list_is_empty(&group->ready)) {
			group->was_blocked = true;
			return;
		}
		sender = VL_CONTAINER(group->ready.next, struct vl_generate_sender, ready);
		group->totals.put_off += vl_schedule_catch_up(schedule, now);
		note_pacing(group, schedule->next_time, now, group->was_blocked);
		group->totals.cost +=
			vl_schedule_advance(schedule, post(sender, schedule->next_time, now));
		if (schedule->burst_frames && has_room(sender) && has_more(sender, now))
			continue;
		vl_list_remove(&sender->ready);
		make_ready(sender, now);
	}
	group->was_blocked = false;
	if (now < group->stop)
		vl_timer_arm(&group->generator->wheel, &group->pace_timer, schedule->next_time);
}

/* ---- Events -------------------------------------------------------------------------------- */

/* A sender has room, or has just begun. */
static void go_on(struct vl_generate_sender *sender, uint64_t now)
{
	struct vl_generate_group *group = sender->group;

	if (vl_generate_is_paced_together(group)) {
		make_ready(sender, now);
		if (group->was_blocked && vl_link_is_listed(&sender->ready))
			post_together(group, now);
	} else if (group->config.schedule.rate) {
		post_paced(sender, now);
	} else {
		post_unpaced(sender, now);
	}
	if (is_over(sender, now))
		vl_generate_finish(sender);
}

static void complete(struct vl_generator *generator, const struct ibv_wc *wc, uint64_t now)
{
	struct vl_generate_sender *sender = generator->senders[wc->wr_id >> 32];
	struct vl_generate_group *group = sender->group;
	struct vl_generate_progress *progress = &sender->progress;
	const struct vl_generate_outstanding *outstanding;

	if (wc->status != IBV_WC_SUCCESS) {
		fail(sender, wc->status);
		return;
	}
	outstanding = &sender->outstanding[progress->completed & group->depth_mask];
	if (group->config.completion_times && now >= group->measure_from)
		vl_histogram_record(group->config.completion_times, now - outstanding->time);
	progress->completed++;
	progress->bytes += outstanding->size;
	progress->last_completion = now;
	group->totals.completed++;
	group->totals.bytes += outstanding->size;
	group->totals.last_completion = now;
	go_on(sender, now);
}

static void end_group(struct vl_generate_group *group, uint64_t now)
{
	for (uint32_t n = 0; n < group->config.qps; n++) {
		if (is_over(&group->senders[n], now))
			vl_generate_finish(&group->senders[n]);
	}
}

static void run_timer(struct vl_timer *timer, uint64_t now)
{
	struct vl_generate_sender *sender;

	switch (timer->kind) {
	case VL_GENERATE_TIMER_GROUP:
		post_together(VL_CONTAINER(timer, struct vl_generate_group, pace_timer), now);
		break;
	case VL_GENERATE_TIMER_END:
		end_group(VL_CONTAINER(timer, struct vl_generate_group, end_timer), now);
		break;
	default:
		sender = VL_CONTAINER(timer, struct vl_generate_sender, timer);
		timer->kind = VL_GENERATE_TIMER_PACE;
		go_on(sender, now);
		break;
	}
}

void vl_generate_post_receive(const struct vl_generate_sender *sender)
{
	const struct vl_generate_group_config *config = &sender->group->config;
	const struct vl_traffic_memory *memory = &sender->group->generator->memory;
	uint32_t header = config->qp.transport == IBV_QPT_UD ? VL_TRAFFIC_GRH_AREA : 0;
	struct ibv_sge sge = {vl_traffic_sink_address(memory), config->receive_size + header,
			      memory->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = sender->index, .sg_list = &sge, .num_sge = 1};
	const struct ibv_recv_wr *bad;

	/* Refused only in the error state, where completions of requests tell. */
	(void)vl_post_recv(sender->qp, &wr, &bad);
}

void vl_generator_poll(struct vl_generator *generator, uint64_t now)
{
	struct ibv_wc wc[COMPLETION_BATCH];
	struct vl_timer *timer;
	int count;

	while (generator->recv_entries &&
	       (count = vl_poll_cq(generator->recv_cq, COMPLETION_BATCH, wc)) > 0) {
		for (int i = 0; i < count; i++) {
			if (wc[i].status == IBV_WC_SUCCESS)
				vl_generate_post_receive(generator->senders[wc[i].wr_id]);
		}
	}
	while ((count = vl_poll_cq(generator->send_cq, COMPLETION_BATCH, wc)) > 0) {
		for (int i = 0; i < count; i++)
			complete(generator, &wc[i], now);
	}
	while ((timer = vl_timer_wheel_expire(&generator->wheel, now)))
		run_timer(timer, now);
}

uint64_t vl_generator_next_deadline(const struct vl_generator *generator)
{
	return vl_timer_wheel_next(&generator->wheel);
}

/* ---- Life ---------------------------------------------------------------------------------- */

struct vl_generator *vl_generator_create(struct vl_device *device,
					 const struct vl_generator_config *config, int *error)
{
	struct vl_generator *generator = calloc(1, sizeof(*generator));
	int status = generator ? 0 : -ENOMEM;

	if (!status) {
		generator->device = device;
		generator->last_group = &generator->groups;
		vl_timer_wheel_init(&generator->wheel, 0);
		status = vl_traffic_memory_open(&generator->memory, device, config->largest_message,
						config->memory);
	}
	if (!status)
		generator->send_cq = vl_create_cq(device, 1, NULL, &status);
	if (!status)
		generator->recv_cq = vl_create_cq(device, 1, NULL, &status);
	if (!status)
		return generator;
	vl_generator_destroy(generator);
	if (error)
		*error = status;
	return NULL;
}

void vl_generator_destroy(struct vl_generator *generator)
{
	struct vl_generate_group *group;

	if (!generator)
		return;
	while ((group = generator->groups)) {
		generator->groups = group->next;
		vl_generate_group_destroy(group);
	}
	if (generator->recv_cq)
		vl_destroy_cq(generator->recv_cq);
	if (generator->send_cq)
		vl_destroy_cq(generator->send_cq);
	vl_traffic_memory_close(&generator->memory);
	free(generator->senders);
	free(generator);
}

bool vl_generator_is_finished(const struct vl_generator *generator)
{
	return !generator->unfinished;
}

const struct vl_traffic_memory *vl_generator_memory(const struct vl_generator *generator)
{
	return &generator->memory;
}
