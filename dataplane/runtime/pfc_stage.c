/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/runtime/pfc_stage.h"

#include "dataplane/port/receive_offload.h"

#include <rte_branch_prediction.h>
#include <rte_mbuf.h>

#include <string.h>

/* However wide the margins of the storms are, this is no round of ours any more. */
#define LONGEST_ROUND UINT64_C(20000)
/* Of a margin: a gap is the sum of a few rounds. */
#define MARGIN_PART 4

void vl_pfc_stage_init(struct vl_pfc_stage *stage)
{
	memset(stage, 0, sizeof(*stage));
}

void vl_pfc_stage_prepare(struct vl_pfc_stage *stage)
{
	stage->longest_round = LONGEST_ROUND;
	for (uint32_t i = 0; i < stage->port_count; i++) {
		const struct vl_pfc_storm *storm = &stage->ports[i].storm;
		uint64_t margin = storm->config.longest_gap - storm->interval;

		if (margin && margin / MARGIN_PART < stage->longest_round)
			stage->longest_round = margin / MARGIN_PART;
	}
}

static void note_kept(struct vl_pfc_stage *stage, uint64_t time)
{
	stage->kept_time += time;
	vl_histogram_record(&stage->kept, time);
	for (uint32_t i = 0; i < stage->port_count; i++)
		vl_pfc_storm_kept(&stage->ports[i].storm, time);
}

/* Looks whether the loop was kept from running since the last look. */
static void look(struct vl_pfc_stage *stage, uint64_t now)
{
	if (unlikely(now - stage->last_look > stage->longest_round) && stage->last_look)
		note_kept(stage, now - stage->last_look);
	stage->last_look = now;
}

static void receive_frame(struct vl_pfc_stage_port *port, const struct rte_mbuf *mbuf, uint64_t now)
{
	struct vl_pfc pfc;

	if (vl_pfc_parse(rte_pktmbuf_mtod(mbuf, const uint8_t *), mbuf->data_len, &pfc) !=
	    VL_MAC_CONTROL_PFC) {
		port->other_rx++;
		return;
	}
	port->pfc_rx++;
	vl_pfc_receiver_take(&port->received, &pfc, vl_receive_time(mbuf, now));
}

static uint32_t receive_burst(struct vl_pfc_stage_port *port, uint64_t now)
{
	struct rte_mbuf *mbufs[VL_PORT_BURST];
	uint16_t count = vl_port_receive(port->port, 0, mbufs, VL_PORT_BURST);

	for (uint16_t i = 0; i < count; i++)
		receive_frame(port, mbufs[i], now);
	rte_pktmbuf_free_bulk(mbufs, count);
	vl_pfc_receiver_update(&port->received, now);
	return count;
}

static uint32_t send_frame(struct vl_pfc_stage *stage, struct vl_pfc_stage_port *port, uint64_t now)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(port->mempool);
	uint64_t sent;

	if (unlikely(!mbuf)) {
		port->no_mbuf++;
		return 0;
	}
	mbuf->data_len = VL_PFC_FRAME_LENGTH;
	mbuf->pkt_len = VL_PFC_FRAME_LENGTH;
	vl_pfc_storm_write(&port->storm, rte_pktmbuf_mtod(mbuf, uint8_t *), now);
	if (unlikely(!vl_port_transmit(port->port, 0, &mbuf, 1))) {
		rte_pktmbuf_free(mbuf);
		port->tx_refused++;
		return 0;
	}
	/* The time after, not before: what is told of gaps is told of frames that have left. */
	sent = vl_worker_now();
	look(stage, sent);
	vl_pfc_storm_sent(&port->storm, sent);
	return 1;
}

static uint32_t run_stage(void *context, uint64_t now)
{
	struct vl_pfc_stage *stage = context;
	uint32_t moved = 0;

	look(stage, now);
	for (uint32_t i = 0; i < stage->port_count; i++) {
		if (vl_pfc_storm_is_due(&stage->ports[i].storm, now))
			moved += send_frame(stage, &stage->ports[i], now);
	}
	/* One port in a round, so that a round is short whatever comes in. */
	moved += receive_burst(&stage->ports[stage->next_received], now);
	if (++stage->next_received == stage->port_count)
		stage->next_received = 0;
	return moved;
}

struct vl_stage vl_pfc_stage(struct vl_pfc_stage *stage)
{
	return (struct vl_stage){.run = run_stage, .context = stage};
}

bool vl_pfc_stage_is_over(const struct vl_pfc_stage *stage)
{
	for (uint32_t i = 0; i < stage->port_count; i++) {
		if (!vl_pfc_storm_is_over(&stage->ports[i].storm))
			return false;
	}
	return true;
}

void vl_pfc_stage_stop(struct vl_pfc_stage *stage, uint64_t now)
{
	for (uint32_t i = 0; i < stage->port_count; i++)
		vl_pfc_storm_stop(&stage->ports[i].storm, now);
}
