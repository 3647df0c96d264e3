/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "tests/bench/live_limit.h"

#include "dataplane/port/port.h"
#include "dataplane/runtime/mempool.h"
#include "dataplane/worker.h"
#include "transport/wire/icrc.h"

#include <rte_mbuf.h>

#include <string.h>
#include <unistd.h>

struct half {
	const struct live_limit_config *config;
	struct rte_mempool *mempool;
	struct vl_port *port; /* NULL: the buffers stay here */
	struct vl_worker *worker;
	uint32_t offset; /* in the memory */
	uint32_t crc;    /* so that it is computed */
	uint16_t pending_count;
	uint64_t packets;
	struct rte_mbuf *pending[VL_PORT_BURST];
};

static uint32_t next_offset(struct half *half)
{
	uint32_t offset = half->offset;

	half->offset = (offset + half->config->packet) % half->config->memory_size;
	return offset;
}

static void fill(struct half *half, struct rte_mbuf *mbuf)
{
	uint8_t *copy = rte_pktmbuf_mtod(mbuf, uint8_t *);

	memcpy(copy, half->config->source + next_offset(half), half->config->packet);
	half->crc ^= vl_crc32(0, copy, half->config->packet);
	half->packets++;
}

static uint32_t run_filling(void *context, uint64_t now)
{
	struct half *half = context;
	uint16_t sent;

	(void)now;
	while (half->pending_count < VL_PORT_BURST) {
		struct rte_mbuf *mbuf = rte_pktmbuf_alloc(half->mempool);

		if (!mbuf)
			break;
		fill(half, mbuf);
		half->pending[half->pending_count++] = mbuf;
	}
	if (!half->port) {
		rte_pktmbuf_free_bulk(half->pending, half->pending_count);
		half->pending_count = 0;
		return VL_PORT_BURST;
	}
	sent = vl_port_transmit(half->port, 0, half->pending, half->pending_count);
	half->pending_count -= sent;
	memmove(half->pending, half->pending + sent,
		half->pending_count * sizeof(half->pending[0]));
	return sent;
}

static uint32_t run_emptying(void *context, uint64_t now)
{
	struct half *half = context;
	struct rte_mbuf *mbufs[VL_PORT_BURST];
	uint16_t count = vl_port_receive(half->port, 0, mbufs, VL_PORT_BURST);

	(void)now;
	for (uint16_t i = 0; i < count; i++) {
		const uint8_t *data = rte_pktmbuf_mtod(mbufs[i], const uint8_t *);

		half->crc ^= vl_crc32(0, data, half->config->packet);
		memcpy(half->config->sink + next_offset(half), data, half->config->packet);
	}
	half->packets += count;
	rte_pktmbuf_free_bulk(mbufs, count);
	return count;
}

static int prepare(struct half *half, const struct live_limit_config *config, unsigned int worker,
		   struct rte_mempool *mempool, struct vl_port *port,
		   uint32_t (*run)(void *context, uint64_t now), struct vl_error *error)
{
	const struct vl_stage stage = {.run = run, .context = half};

	*half = (struct half){.config = config, .mempool = mempool, .port = port};
	half->worker = vl_worker_create(worker, error);
	return half->worker ? vl_worker_add_stage(half->worker, &stage) : -1;
}

static double rate_of(const struct half *half)
{
	struct vl_worker_counters counters = vl_worker_counters(half->worker);

	return (double)half->packets * half->config->packet * 8 / (double)counters.total_time;
}

static void wait_seconds(double seconds)
{
	usleep((useconds_t)(seconds * 1e6));
}

int live_limit_one_core(const struct live_limit_config *config, double *gbps,
			struct vl_error *error)
{
	struct rte_mempool *mempool = vl_mempool_create("limit", config->mempool_size, error);
	struct half half = {0};
	int result = -1;

	if (mempool && !prepare(&half, config, 0, mempool, NULL, run_filling, error))
		result = vl_worker_start(half.worker, error);
	if (!result) {
		wait_seconds(config->seconds);
		vl_worker_stop(half.worker);
		*gbps = rate_of(&half);
	}
	vl_worker_destroy(half.worker);
	rte_mempool_free(mempool);
	return result;
}

static int run_both(struct half halves[2], double seconds, struct vl_error *error)
{
	int result = vl_worker_start(halves[1].worker, error);

	if (!result)
		result = vl_worker_start(halves[0].worker, error);
	if (!result)
		wait_seconds(seconds);
	vl_worker_stop(halves[0].worker);
	vl_worker_stop(halves[1].worker);
	rte_pktmbuf_free_bulk(halves[0].pending, halves[0].pending_count);
	return result;
}

int live_limit_two_cores(const struct live_limit_config *config, double *gbps,
			 struct vl_error *error)
{
	struct rte_mempool *mempool = vl_mempool_create("limit", config->mempool_size, error);
	struct vl_port *ends[2] = {NULL, NULL};
	struct half halves[2] = {0};
	int result = -1;

	if (mempool && !vl_ring_link_open("limit", 1, config->ring_size, ends, error) &&
	    !prepare(&halves[0], config, 0, mempool, ends[0], run_filling, error) &&
	    !prepare(&halves[1], config, 1, mempool, ends[1], run_emptying, error))
		result = run_both(halves, config->seconds, error);
	if (!result)
		*gbps = rate_of(&halves[1]);
	for (unsigned int i = 0; i < 2; i++) {
		vl_worker_destroy(halves[i].worker);
		vl_port_close(ends[i]);
	}
	rte_mempool_free(mempool);
	return result;
}
