/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Links between ports of a process by rings, and ring:NAME: the two ports of a process that have
 * the same name are the ends of one.
 */
#include "dataplane/port/kind.h"
#include "dataplane/port/port.h"
#include "dataplane/runtime/compat.h"
#include "dataplane/runtime/eal.h"

#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define PEER_SUFFIX   "-peer"
#define MAX_RING_SIZE (1u << 20)
#define MAX_NAME      20

struct ring_link {
	struct ring_link *next;           /* in shared */
	char name[VL_PORT_DETAIL_LENGTH]; /* by which the second end is found; "": not shared */
	struct vl_port *unclaimed;        /* the second end, until it is opened */
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

/* Links that have a name. */
static struct {
	pthread_mutex_t lock;
	struct ring_link *first;
} shared = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void release_link(struct ring_link *link)
{
	for (uint16_t queue = 0; queue < link->queue_count; queue++) {
		rte_ring_free(link->rings[0][queue]);
		rte_ring_free(link->rings[1][queue]);
	}
	rte_free(link);
}

static void drain_and_free(struct ring_port *end)
{
	struct ring_link *link = end->link;
	struct rte_mbuf *mbufs[VL_PORT_BURST];
	uint16_t count;

	for (uint16_t queue = 0; queue < end->port.queue_count; queue++) {
		while ((count = ring_receive(&end->port, queue, mbufs, VL_PORT_BURST)))
			rte_pktmbuf_free_bulk(mbufs, count);
	}
	if (--link->open_ends == 0)
		release_link(link);
	rte_free(end);
}

static void forget(struct ring_link *link)
{
	struct ring_link **place = &shared.first;

	while (*place && *place != link)
		place = &(*place)->next;
	if (*place)
		*place = link->next;
}

static void ring_close(struct vl_port *port)
{
	struct ring_port *end = (struct ring_port *)port;
	struct ring_link *link = end->link;
	struct vl_port *other;

	/* A link of which one end is gone takes no second one. */
	pthread_mutex_lock(&shared.lock);
	forget(link);
	other = link->unclaimed;
	link->unclaimed = NULL;
	pthread_mutex_unlock(&shared.lock);
	if (other)
		drain_and_free((struct ring_port *)other);
	drain_and_free(end);
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
		if (ends[side])
			drain_and_free((struct ring_port *)ends[side]);
		ends[side] = NULL;
	}
	return vl_error_set(error, -ENOMEM, "link %s: no memory", name);
}

#define DEFAULT_SIZE 1024u

/* The second end of the link of that name. False: there is none that waits for it. */
static bool claim(const char *name, uint16_t queue_count, struct vl_port **port, int *code,
		  struct vl_error *error)
{
	struct ring_link *link = shared.first;

	while (link && strcmp(link->name, name))
		link = link->next;
	if (!link)
		return false;
	*port = NULL;
	if (!link->unclaimed) {
		*code = vl_error_set(error, -EBUSY,
				     "port ring:%s: both ends of this link are in use: a name is "
				     "for two ports",
				     name);
	} else if (link->queue_count != queue_count) {
		*code = vl_error_set(error, -EINVAL,
				     "port ring:%s: %u queues, and the other end has %u: they must "
				     "be the same",
				     name, queue_count, link->queue_count);
	} else {
		*port = link->unclaimed;
		link->unclaimed = NULL;
	}
	return true;
}

static struct vl_port *make_shared(const char *name, uint16_t queue_count, uint32_t size,
				   bool is_looped, int *code, struct vl_error *error)
{
	struct vl_port *ends[2];
	struct ring_port *first;
	char rings[MAX_NAME];

	snprintf(rings, sizeof(rings), "port%u", vl_port_next_number());
	*code = vl_ring_link_open(rings, queue_count, size, ends, error);
	if (*code)
		return NULL;
	first = (struct ring_port *)ends[0];
	for (unsigned int side = 0; side < 2; side++)
		snprintf(ends[side]->name, sizeof(ends[side]->name), "ring:%.*s",
			 VL_PORT_NAME_LENGTH - 6, name);
	if (is_looped) {
		first->rx = first->tx;
		drain_and_free((struct ring_port *)ends[1]);
		return ends[0];
	}
	snprintf(first->link->name, sizeof(first->link->name), "%s", name);
	first->link->unclaimed = ends[1];
	first->link->next = shared.first;
	shared.first = first->link;
	return ends[0];
}

static struct vl_port *open_ring(const char *name, const char *detail,
				 const struct vl_port_config *config, int *code,
				 struct vl_error *error)
{
	uint32_t size = DEFAULT_SIZE;
	bool is_looped = false;
	const struct vl_port_option options[] = {
		{.name = "loop", .flag = &is_looped},
		{.name = "size", .number = &size, .least = 1, .most = MAX_RING_SIZE},
	};
	char word[VL_PORT_DETAIL_LENGTH];
	struct vl_port *port = NULL;

	*code = vl_port_name_read(name, detail, 0, word, options, RTE_DIM(options), error);
	if (*code || !config)
		return NULL;
	pthread_mutex_lock(&shared.lock);
	if (is_looped || !claim(word, vl_port_wanted_queues(config), &port, code, error))
		port = make_shared(word, vl_port_wanted_queues(config), size, is_looped, code,
				   error);
	pthread_mutex_unlock(&shared.lock);
	if (port) {
		port->mtu = vl_port_wanted_mtu(config);
		memcpy(port->mac, config->mac, sizeof(port->mac));
	}
	return port;
}

const struct vl_port_kind vl_port_kind_ring = {
	.prefix = "ring:",
	.help = "  ring:NAME[,loop][,size=N]    two ports of one program with the same NAME are "
		"the ends of a\n"
		"                               link; loop: one port that hears itself\n",
	.open = open_ring,
};
