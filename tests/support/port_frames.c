/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "tests/support/port_frames.h"

#include <rte_mbuf.h>

#include <string.h>
#include <time.h>

#define HEADER_LENGTH 14
#define PATIENCE_NS   1000000000u

static const uint8_t header[HEADER_LENGTH] = {0x02, 0, 0, 0, 0, 2, 0x02, 0, 0, 0, 0, 1, 0x88, 0xb5};

void frame_fill(uint8_t *frame, uint32_t length, uint32_t seed)
{
	memcpy(frame, header, HEADER_LENGTH);
	for (uint32_t i = HEADER_LENGTH; i < length; i++) {
		seed = seed * 1664525u + 1013904223u;
		frame[i] = (uint8_t)(seed >> 24);
	}
}

bool frame_is(const uint8_t *frame, uint32_t length, uint32_t seed)
{
	uint8_t expected[FRAME_ROOM];

	frame_fill(expected, length, seed);
	return !memcmp(frame, expected, length);
}

bool port_send(struct vl_port *port, uint16_t queue, struct rte_mempool *mempool, uint32_t length,
	       uint32_t seed)
{
	struct rte_mbuf *head = rte_pktmbuf_alloc(mempool), *last = head;
	uint8_t frame[FRAME_ROOM];

	frame_fill(frame, length, seed);
	for (uint32_t done = 0; head && done < length;) {
		uint16_t part = (uint16_t)RTE_MIN(length - done, rte_pktmbuf_tailroom(last));

		memcpy(rte_pktmbuf_append(head, part), frame + done, part);
		done += part;
		if (done == length)
			break;
		last = rte_pktmbuf_alloc(mempool);
		if (!last || rte_pktmbuf_chain(head, last)) {
			rte_pktmbuf_free(last);
			break;
		}
	}
	if (head && head->pkt_len == length && vl_port_transmit(port, queue, &head, 1))
		return true;
	rte_pktmbuf_free(head);
	return false;
}

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static bool take(struct vl_port *port, uint16_t queue, uint8_t frame[FRAME_ROOM], uint32_t *length)
{
	struct rte_mbuf *mbuf;
	const void *data;

	if (!vl_port_receive(port, queue, &mbuf, 1))
		return false;
	*length = mbuf->pkt_len;
	data = rte_pktmbuf_read(mbuf, 0, *length, frame);
	if (data && data != frame)
		memcpy(frame, data, *length);
	rte_pktmbuf_free(mbuf);
	return data && *length >= HEADER_LENGTH && !memcmp(frame + 12, header + 12, 2);
}

uint32_t port_receive(struct vl_port *port, uint8_t frame[FRAME_ROOM])
{
	uint64_t end = now() + PATIENCE_NS;
	uint32_t length;

	while (now() < end) {
		for (uint16_t queue = 0; queue < port->queue_count; queue++) {
			if (take(port, queue, frame, &length))
				return length;
		}
	}
	return 0;
}
