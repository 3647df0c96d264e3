/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/probe/live.h"

#include <rte_mbuf.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Frames that wait for their port, at most; a power of two. */
#define BACKLOG 2048u
/* A frame that finds the backlog full waits so long for room, ns. */
#define PATIENCE UINT64_C(1000000000)
/* Links are waited for, ns. */
#define LINK_TIME UINT64_C(5000000000)
/* What has been sent through a kernel or a driver's interrupt may come so late, ns. */
#define LATENESS UINT64_C(1000000)

struct side {
	struct vl_port *port;
	struct rte_mempool *mempool;
	struct rte_mbuf *backlog[BACKLOG];
	uint32_t head, count;
};

struct probe_live {
	struct vl_probe_bench bench;
	struct side sides[VL_PROBE_SIDES];
};

static void transmit(struct side *side)
{
	while (side->count) {
		uint32_t first = side->head % BACKLOG, run = BACKLOG - first;
		uint16_t sent;

		if (run > side->count)
			run = side->count;
		if (run > VL_PORT_BURST)
			run = VL_PORT_BURST;
		sent = vl_port_transmit(side->port, 0, &side->backlog[first], (uint16_t)run);
		side->head += sent;
		side->count -= sent;
		if (sent < run)
			return;
	}
}

static void receive(struct probe_live *live, enum vl_probe_side which)
{
	struct vl_probe_bench *bench = &live->bench;
	struct rte_mbuf *mbufs[VL_PORT_BURST];
	uint16_t count = vl_port_receive(live->sides[which].port, 0, mbufs, VL_PORT_BURST);
	uint64_t now = count ? vl_worker_now() : 0;

	for (uint16_t i = 0; i < count; i++) {
		if (bench->received)
			bench->received(bench->receiver, which,
					rte_pktmbuf_mtod(mbufs[i], const uint8_t *),
					rte_pktmbuf_data_len(mbufs[i]), now);
		rte_pktmbuf_free(mbufs[i]);
	}
}

/* The receiver's port first: its pauses are what everything waits for. */
static void poll_once(struct probe_live *live)
{
	transmit(&live->sides[VL_PROBE_RECEIVER]);
	transmit(&live->sides[VL_PROBE_SENDER]);
	receive(live, VL_PROBE_RECEIVER);
	receive(live, VL_PROBE_SENDER);
}

static struct rte_mbuf *make_frame(struct side *side, const uint8_t *data, uint32_t length)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(side->mempool);
	char *to = mbuf ? rte_pktmbuf_append(mbuf, (uint16_t)length) : NULL;

	if (!to) {
		rte_pktmbuf_free(mbuf);
		return NULL;
	}
	memcpy(to, data, length);
	return mbuf;
}

static bool send(void *context, enum vl_probe_side which, const uint8_t *data, uint32_t length)
{
	struct probe_live *live = context;
	struct side *side = &live->sides[which];
	uint64_t start = vl_worker_now();
	struct rte_mbuf *mbuf = NULL;

	for (;;) {
		if (side->count < BACKLOG)
			mbuf = make_frame(side, data, length);
		if (mbuf)
			break;
		if (length + RTE_PKTMBUF_HEADROOM > rte_pktmbuf_data_room_size(side->mempool) ||
		    vl_worker_now() - start > PATIENCE)
			return false;
		poll_once(live);
	}
	side->backlog[(side->head + side->count++) % BACKLOG] = mbuf;
	if (which == VL_PROBE_RECEIVER || side->count % VL_PORT_BURST == 0)
		poll_once(live);
	return true;
}

static bool advance(void *context, uint64_t duration)
{
	struct probe_live *live = context;
	uint64_t end = vl_worker_now() + duration;

	do
		poll_once(live);
	while (vl_worker_now() < end);
	return true;
}

static uint64_t now(void *context)
{
	(void)context;
	return vl_worker_now();
}

static bool is_idle(void *context)
{
	const struct probe_live *live = context;

	return !live->sides[VL_PROBE_SENDER].count && !live->sides[VL_PROBE_RECEIVER].count;
}

static bool wait_for_link(struct vl_port *port)
{
	uint64_t end = vl_worker_now() + LINK_TIME;

	while (!vl_port_is_up(port)) {
		if (vl_ports_interrupted() || vl_worker_now() > end)
			return false;
	}
	return true;
}

struct probe_live *probe_live_create(const struct vl_ports *ports, uint64_t rate,
				     struct vl_error *error)
{
	struct probe_live *live = calloc(1, sizeof(*live));

	if (!live) {
		vl_error_set(error, -ENOMEM, "out of memory");
		return NULL;
	}
	for (unsigned int i = 0; i < VL_PROBE_SIDES; i++) {
		live->sides[i].port = ports->ports[i];
		live->sides[i].mempool = ports->mempools[i];
		memcpy(live->bench.macs[i], ports->ports[i]->mac, 6);
		if (wait_for_link(ports->ports[i]))
			continue;
		vl_error_set(error, -ENETDOWN, "the link of %s is down", ports->ports[i]->name);
		free(live);
		return NULL;
	}
	live->bench.rate = rate;
	live->bench.context = live;
	live->bench.send = send;
	live->bench.advance = advance;
	live->bench.now = now;
	live->bench.is_idle = is_idle;
	live->bench.lateness = LATENESS;
	return live;
}

void probe_live_destroy(struct probe_live *live)
{
	if (!live)
		return;
	for (unsigned int i = 0; i < VL_PROBE_SIDES; i++) {
		struct side *side = &live->sides[i];

		for (; side->count; side->count--)
			rte_pktmbuf_free(side->backlog[side->head++ % BACKLOG]);
	}
	free(live);
}

struct vl_probe_bench *probe_live_bench(struct probe_live *live)
{
	return &live->bench;
}
