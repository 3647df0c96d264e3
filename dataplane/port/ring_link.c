/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/port/port.h"
#include "dataplane/runtime/compat.h"
#include "dataplane/runtime/eal.h"

#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PEER_SUFFIX   "-peer"
#define MAX_RING_SIZE (1u << 20)
#define MAX_NAME      20

struct ring_link {
	struct rte_ring *rings[2][VL_PORT_MAX_QUEUES]; /* what each end sends */
	uint16_t queue_count;
	unsigned int open_ends;
};

struct ring_port {
	struct vl_port port; /* must be first */
	struct ring_link *link;
	struct rte_ring *const *tx, *const *rx; /* one a queue */
};

static uint16_t ring_receive(struct vl_port *port, uint16_t queue, struct rte_mbuf **mbufs,
			     uint16_t count)
{
	struct ring_port *end = (struct ring_port *)port;

	return (uint16_t)rte_ring_sc_dequeue_burst(end->rx[queue], (void **)mbufs, count, NULL);
}

static uint16_t ring_transmit(struct vl_port *port, uint16_t queue, struct rte_mbuf **mbufs,
			      uint16_t count)
{
	struct ring_port *end = (struct ring_port *)port;

	return (uint16_t)rte_ring_sp_enqueue_burst(end->tx[queue], (void *const *)mbufs, count,
						   NULL);
}

static void ring_statistics(struct vl_port *port, struct vl_port_statistics *statistics)
{
	/* A ring neither loses nor damages. */
	(void)port;
	(void)statistics;
}

static void release_link(struct ring_link *link)
{
	for (uint16_t queue = 0; queue < link->queue_count; queue++) {
		rte_ring_free(link->rings[0][queue]);
		rte_ring_free(link->rings[1][queue]);
	}
	rte_free(link);
}

static void ring_close(struct vl_port *port)
{
	struct ring_port *end = (struct ring_port *)port;
	struct rte_mbuf *mbufs[VL_PORT_BURST];
	uint16_t count;

	for (uint16_t queue = 0; queue < port->queue_count; queue++) {
		while ((count = ring_receive(port, queue, mbufs, VL_PORT_BURST)))
			rte_pktmbuf_free_bulk(mbufs, count);
	}
	if (--end->link->open_ends == 0)
		release_link(end->link);
	rte_free(end);
}

static const struct vl_port_operations ring_operations = {
	.kind = "ring",
	.receive = ring_receive,
	.transmit = ring_transmit,
	.statistics = ring_statistics,
	.close = ring_close,
};

static struct rte_ring *make_ring(const char *end, uint16_t queue, uint32_t size)
{
	char name[RTE_RING_NAMESIZE];

	snprintf(name, sizeof(name), queue ? "%s.%u" : "%s", end, queue);
	/* Without the exact size a ring holds one less than a power of two. */
	return rte_ring_create(name, size, SOCKET_ID_ANY,
			       RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ);
}

static struct vl_port *make_end(struct ring_link *link, const char *name, unsigned int side)
{
	struct ring_port *end = rte_zmalloc(NULL, sizeof(*end), RTE_CACHE_LINE_SIZE);

	if (!end)
		return NULL;
	end->port.operations = &ring_operations;
	end->port.queue_count = link->queue_count;
	end->port.mtu = VL_PORT_MAX_MTU;
	end->port.numa_node = SOCKET_ID_ANY;
	end->port.abilities = (struct vl_port_abilities){
		.max_queues = VL_PORT_MAX_QUEUES,
		.tx_multi_segment = true,
		.flow_control_off = true,
	};
	snprintf(end->port.name, sizeof(end->port.name), "%s", name);
	end->tx = link->rings[side];
	end->rx = link->rings[!side];
	end->link = link;
	link->open_ends++;
	return &end->port;
}

int vl_ring_link_open(const char *name, uint16_t queue_count, uint32_t size,
		      struct vl_port *ends[2], struct vl_error *error)
{
	char peer[MAX_NAME + sizeof(PEER_SUFFIX)];
	struct ring_link *link;

	ends[0] = ends[1] = NULL;
	if (!vl_eal_is_running())
		return vl_error_set(error, -ENODEV, "link %s: DPDK is not running", name);
	if (!*name || strlen(name) > MAX_NAME)
		return vl_error_set(error, -EINVAL, "link %s: a name has 1 to %d characters", name,
				    MAX_NAME);
	if (!queue_count || queue_count > VL_PORT_MAX_QUEUES)
		return vl_error_set(error, -EINVAL, "link %s: %u queues: must be 1 to %u", name,
				    queue_count, VL_PORT_MAX_QUEUES);
	if (!size || size > MAX_RING_SIZE)
		return vl_error_set(error, -EINVAL, "link %s: room for %u frames: must be 1 to %u",
				    name, size, MAX_RING_SIZE);
	link = rte_zmalloc(NULL, sizeof(*link), 0);
	if (!link)
		return vl_error_set(error, -ENOMEM, "link %s: no memory", name);
	snprintf(peer, sizeof(peer), "%s" PEER_SUFFIX, name);
	link->queue_count = queue_count;
	for (uint16_t queue = 0; queue < queue_count; queue++) {
		link->rings[0][queue] = make_ring(name, queue, size);
		link->rings[1][queue] = link->rings[0][queue] ? make_ring(peer, queue, size) : NULL;
		if (!link->rings[1][queue]) {
			int code = rte_errno;

			release_link(link);
			return vl_error_set(error, -code, "link %s: no rings: %s", name,
					    rte_strerror(code));
		}
	}
	ends[0] = make_end(link, name, 0);
	ends[1] = make_end(link, peer, 1);
	if (ends[0] && ends[1])
		return 0;
	if (!ends[0] && !ends[1])
		release_link(link);
	for (unsigned int side = 0; side < 2; side++) {
		vl_port_close(ends[side]);
		ends[side] = NULL;
	}
	return vl_error_set(error, -ENOMEM, "link %s: no memory", name);
}
