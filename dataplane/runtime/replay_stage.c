/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/runtime/replay_stage.h"

#include "dataplane/runtime/mempool.h"

#include <rte_branch_prediction.h>
#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_ring.h>

#include <errno.h>
#include <string.h>

/* Beside those in the ring: what is pending, with the device, and in the caches of both threads. */
#define MBUFS (2 * VL_REPLAY_DEPTH + 2048u)

uint32_t vl_replay_stage_megabytes(uint32_t frame_length)
{
	return vl_mempool_jumbo_megabytes(MBUFS, frame_length) + 1;
}

int vl_replay_stage_init(struct vl_replay_stage *stage, const struct vl_replay_stage_config *config,
			 struct vl_error *error)
{
	memset(stage, 0, sizeof(*stage));
	stage->config = *config;
	stage->mempool = vl_mempool_create_jumbo("replay", MBUFS, config->frame_length, error);
	if (!stage->mempool)
		return -ENOMEM;
	stage->ring = rte_ring_create("replay", VL_REPLAY_DEPTH, SOCKET_ID_ANY,
				      RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ);
	if (stage->ring)
		return 0;
	rte_mempool_free(stage->mempool);
	stage->mempool = NULL;
	return vl_error_set(error, -ENOMEM, "no ring for %u frames: %s", VL_REPLAY_DEPTH,
			    rte_strerror(rte_errno));
}

uint64_t vl_replay_stage_drop_unsent(struct vl_replay_stage *stage)
{
	uint64_t left = stage->count - stage->head;
	void *mbuf;

	rte_pktmbuf_free_bulk(stage->pending + stage->head, stage->count - stage->head);
	while (stage->ring && !rte_ring_dequeue(stage->ring, &mbuf)) {
		rte_pktmbuf_free(mbuf);
		left++;
	}
	rte_pktmbuf_free(stage->room);
	stage->head = stage->count = 0;
	stage->room = NULL;
	return left;
}

void vl_replay_stage_release(struct vl_replay_stage *stage)
{
	rte_ring_free(stage->ring);
	rte_mempool_free(stage->mempool);
	stage->ring = NULL;
	stage->mempool = NULL;
}

/* ---- The control thread's side --------------------------------------------------------- */

uint8_t *vl_replay_stage_room(struct vl_replay_stage *stage)
{
	if (!stage->room && !rte_ring_full(stage->ring))
		stage->room = rte_pktmbuf_alloc(stage->mempool);
	return stage->room ? rte_pktmbuf_mtod(stage->room, uint8_t *) : NULL;
}

static struct vl_frame *frame_of(struct rte_mbuf *mbuf)
{
	return rte_mbuf_to_priv(mbuf);
}

void vl_replay_stage_put(struct vl_replay_stage *stage, uint32_t length, uint64_t due)
{
	struct vl_frame *frame = frame_of(stage->room);

	stage->room->data_len = (uint16_t)length;
	stage->room->pkt_len = length;
	frame->time = due;
	/* Whether its time is over now: then it is not the worker who made it late. */
	frame->is_overdue = stage->start && stage->start + due < vl_worker_now();
	rte_ring_sp_enqueue(stage->ring, stage->room);
	stage->room = NULL;
}

void vl_replay_stage_finish(struct vl_replay_stage *stage)
{
	atomic_store_explicit(&stage->is_fed, true, memory_order_release);
}

bool vl_replay_stage_is_over(struct vl_replay_stage *stage)
{
	return atomic_load_explicit(&stage->is_over, memory_order_acquire);
}

/* ---- The worker's side ----------------------------------------------------------------- */

void vl_replay_stage_begin(struct vl_replay_stage *stage, uint64_t time)
{
	stage->start = time;
}

static void fetch(struct vl_replay_stage *stage)
{
	/* Looked at before the ring: what was put before the end was said is then seen. */
	bool is_fed = atomic_load_explicit(&stage->is_fed, memory_order_acquire);

	stage->head = 0;
	stage->was_refused = false;
	stage->count = (uint16_t)rte_ring_sc_dequeue_burst(stage->ring, (void **)stage->pending,
							   VL_PORT_BURST, NULL);
	if (likely(stage->count))
		return;
	if (is_fed)
		atomic_store_explicit(&stage->is_over, true, memory_order_release);
	else
		stage->counters.starved++;
}

static uint16_t count_due(const struct vl_replay_stage *stage, uint64_t now)
{
	uint16_t end = stage->head;

	if (!stage->config.is_timed)
		return stage->count - end;
	while (end < stage->count && stage->start + frame_of(stage->pending[end])->time <= now)
		end++;
	return end - stage->head;
}

/* What is to be known of a frame when the port has it, and it is no longer ours to look at. */
struct departure {
	uint64_t due;
	uint32_t length;
	bool was_late; /* when it was put */
};

static void note_sent(struct vl_replay_stage *stage, const struct departure *departures,
		      uint16_t sent, uint64_t time)
{
	struct vl_replay_counters *counters = &stage->counters;

	if (!counters->frames)
		counters->first = time;
	counters->last = time;
	counters->frames += sent;
	for (uint16_t i = 0; i < sent; i++) {
		uint64_t due = stage->start + departures[i].due;
		uint64_t late = time > due ? time - due : 0;

		counters->bytes += departures[i].length;
		if (!stage->config.is_timed)
			continue;
		vl_histogram_record(&stage->lateness, late);
		if (likely(late <= stage->config.tolerance))
			continue;
		if (departures[i].was_late)
			counters->late_reader++;
		else if (stage->was_refused)
			counters->late_port++;
		else
			counters->late_machine++;
	}
}

static uint32_t send_due(struct vl_replay_stage *stage, uint16_t due)
{
	struct departure departures[VL_PORT_BURST];
	uint16_t sent;

	for (uint16_t i = 0; i < due; i++) {
		struct rte_mbuf *mbuf = stage->pending[stage->head + i];
		const struct vl_frame *frame = frame_of(mbuf);

		departures[i] = (struct departure){frame->time, mbuf->pkt_len, frame->is_overdue};
	}
	sent = vl_port_transmit(stage->config.port, 0, stage->pending + stage->head, due);
	if (sent)
		note_sent(stage, departures, sent, vl_worker_now());
	stage->head += sent;
	stage->was_refused = sent < due;
	stage->counters.refused += sent < due;
	return sent;
}

static uint32_t drop_received(struct vl_replay_stage *stage)
{
	struct rte_mbuf *mbufs[VL_PORT_BURST];
	uint16_t count = vl_port_receive(stage->config.port, 0, mbufs, VL_PORT_BURST);

	rte_pktmbuf_free_bulk(mbufs, count);
	stage->counters.received += count;
	return count;
}

static uint32_t run_stage(void *context, uint64_t now)
{
	struct vl_replay_stage *stage = context;
	uint32_t moved = drop_received(stage);
	uint16_t due;

	if (!stage->start)
		return moved;
	if (stage->head == stage->count)
		fetch(stage);
	due = count_due(stage, now);
	return due ? moved + send_due(stage, due) : moved;
}

struct vl_stage vl_replay_stage(struct vl_replay_stage *stage)
{
	return (struct vl_stage){.run = run_stage, .context = stage};
}
