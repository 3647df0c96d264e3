/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * memif:PATH: memory shared with another process, which may be another verbline, testpmd, VPP or
 * any program that speaks memif. DPDK has a driver for it, which unmaps the memory under a worker
 * that uses it when the peer goes, and believes all that stands in a descriptor; here a thread of
 * the port's own sees to the peer's coming and going, and memory is let go when no worker looks at
 * it.
 */
#include "dataplane/port/memif.h"

#include "dataplane/port/kind.h"

#include <rte_common.h>
#include <rte_ether.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_memcpy.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define MAX_ID    UINT16_MAX
#define LOG2_RING 10
/* Between attempts of a client to reach its server. */
#define RETRY_MS 100
/* How often it is looked whether workers have let go of a link, and found it broken. */
#define LOOK_MS 10
/* A client whose server is there is joined to it when the port is open. */
#define JOIN_MS    200
#define MAX_LENGTH 16384u

/* A worker's end of a ring. */
struct memif_queue {
	/* The link that the positions of both directions are of, kept with the receiving one: one
	 * worker uses both. The thread reads it. */
	struct memif_link *seen;
	uint16_t position;
	struct rte_mempool *mempool;
	uint64_t frames, bytes, no_mbuf;
	uint64_t errors; /* links given up, as the peer wrote what cannot be */
} __rte_cache_aligned;

struct memif_port {
	struct vl_port port; /* must be first */
	struct memif_queue rx[VL_PORT_MAX_QUEUES], tx[VL_PORT_MAX_QUEUES];
	struct memif_link *link; /* NULL: no peer; set by the thread */
	struct memif_link_config config;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	struct memif_listener listener;
	int stop; /* eventfd */
	bool has_thread;
	pthread_t thread;
};

/* ---- Data path --------------------------------------------------------------------------- */

/* The link as of now; whoever sees a new one begins anew. */
static struct memif_link *look(struct memif_port *memif, uint16_t number)
{
	struct memif_link *link = __atomic_load_n(&memif->link, __ATOMIC_ACQUIRE);
	struct memif_queue *queue = &memif->rx[number];

	if (unlikely(link != queue->seen)) {
		queue->position = 0;
		memif->tx[number].position = 0;
		__atomic_store_n(&queue->seen, link, __ATOMIC_SEQ_CST);
		/* The thread may have taken it back before it saw that it is in use. */
		if (link && __atomic_load_n(&memif->link, __ATOMIC_SEQ_CST) != link) {
			__atomic_store_n(&queue->seen, NULL, __ATOMIC_RELEASE);
			return NULL;
		}
	}
	return link;
}

/* What breaks a link counts once, however often workers look until the thread has taken it back. */
static void give_up(struct memif_link *link, struct memif_queue *queue)
{
	queue->errors += !__atomic_exchange_n(&link->is_broken, true, __ATOMIC_RELAXED);
}

/* Puts length bytes at the end of a frame, into further buffers where the last one is full. */
static bool append(struct memif_queue *queue, struct rte_mbuf *head, const uint8_t *data,
		   uint32_t length)
{
	while (length) {
		struct rte_mbuf *last = rte_pktmbuf_lastseg(head);
		uint16_t part = (uint16_t)RTE_MIN(length, (uint32_t)rte_pktmbuf_tailroom(last));

		if (!part) {
			last = rte_pktmbuf_alloc(queue->mempool);
			if (!last)
				return false;
			if (rte_pktmbuf_chain(head, last)) {
				rte_pktmbuf_free(last);
				return false;
			}
			continue;
		}
		rte_memcpy(rte_pktmbuf_append(head, part), data, part);
		data += part;
		length -= part;
	}
	return true;
}

/* Copies the frame that begins at the queue's position. Returns the descriptors it took, 0: it is
 * not whole yet, or the link is broken. */
static uint16_t copy_frame(struct memif_link *link, struct memif_queue *queue,
			   const struct memif_channel *channel, uint16_t available,
			   struct rte_mbuf *mbuf, bool *is_whole)
{
	uint16_t mask = channel->size - 1, taken = 0;
	struct memif_descriptor descriptor;

	*is_whole = true;
	do {
		const uint8_t *data;

		if (taken == available) {
			if (available == channel->size)
				give_up(link, queue);
			return 0;
		}
		/* A copy, made once: the peer may write it while it is looked at. */
		descriptor = *(const volatile struct memif_descriptor *)&channel->ring
				      ->descriptors[(uint16_t)(queue->position + taken) & mask];
		taken++;
		data = memif_link_buffer(link, &descriptor, descriptor.length);
		if (unlikely(!data || mbuf->pkt_len + (uint64_t)descriptor.length > MAX_LENGTH)) {
			give_up(link, queue);
			return 0;
		}
		if (unlikely(*is_whole && !append(queue, mbuf, data, descriptor.length)))
			*is_whole = false;
	} while (descriptor.flags & MEMIF_DESCRIPTOR_NEXT);
	return taken;
}

static void give_back(const struct memif_link *link, const struct memif_channel *channel,
		      uint16_t from, uint16_t to)
{
	uint16_t mask = channel->size - 1;

	if (!link->is_client) {
		__atomic_store_n(&channel->ring->tail, to, __ATOMIC_RELEASE);
		return;
	}
	for (; from != to; from++)
		channel->ring->descriptors[from & mask].length = link->buffer_size;
	__atomic_store_n(&channel->ring->head, (uint16_t)(to + channel->size), __ATOMIC_RELEASE);
}

/* DPDK's server sets all indexes to 0 when it connects, those that are the client's too. */
static void offer_again(const struct memif_link *link, const struct memif_channel *channel,
			uint16_t position)
{
	uint16_t head = (uint16_t)(position + channel->size);

	if (link->is_client && unlikely(channel->ring->head != head))
		__atomic_store_n(&channel->ring->head, head, __ATOMIC_RELEASE);
}

static uint16_t memif_receive(struct vl_port *port, uint16_t number, struct rte_mbuf **mbufs,
			      uint16_t count)
{
	struct memif_port *memif = (struct memif_port *)port;
	struct memif_queue *queue = &memif->rx[number];
	struct memif_link *link = look(memif, number);
	const struct memif_channel *channel;
	uint16_t available, begin = queue->position, got = 0;

	if (!link || number >= link->rx_count)
		return 0;
	channel = &link->rx[number];
	available = (uint16_t)(__atomic_load_n(link->is_client ? &channel->ring->tail
							       : &channel->ring->head,
					       __ATOMIC_ACQUIRE) -
			       begin);
	if (!available) {
		offer_again(link, channel, begin);
		return 0;
	}
	if (unlikely(available > channel->size)) {
		give_up(link, queue);
		return 0;
	}
	while (got < count && available) {
		struct rte_mbuf *mbuf = rte_pktmbuf_alloc(queue->mempool);
		bool is_whole;
		uint16_t taken;

		if (unlikely(!mbuf)) {
			queue->no_mbuf++;
			break;
		}
		taken = copy_frame(link, queue, channel, available, mbuf, &is_whole);
		queue->position += taken;
		available -= taken;
		if (unlikely(!taken || !is_whole)) {
			queue->no_mbuf += !is_whole;
			rte_pktmbuf_free(mbuf);
			if (!taken)
				break;
			continue;
		}
		queue->bytes += mbuf->pkt_len;
		mbufs[got++] = mbuf;
	}
	queue->frames += got;
	give_back(link, channel, begin, queue->position);
	return got;
}

/* Writes a frame into the buffers from slot on. Returns how many it took; 0: there are too few. */
static uint16_t write_frame(struct memif_link *link, struct memif_queue *queue,
			    const struct memif_channel *channel, uint16_t slot, uint16_t room,
			    const struct rte_mbuf *mbuf)
{
	uint16_t mask = channel->size - 1, used = 0;
	uint32_t left = mbuf->pkt_len, offset = 0;

	while (left) {
		struct memif_descriptor *shared =
			&channel->ring->descriptors[(uint16_t)(slot + used) & mask];
		struct memif_descriptor descriptor = *(volatile struct memif_descriptor *)shared;
		uint32_t capacity = link->is_client ? link->buffer_size : descriptor.length;
		uint32_t part = RTE_MIN(left, capacity);
		const void *data;
		uint8_t *buffer;

		if (used == room)
			return 0;
		buffer = memif_link_buffer(link, &descriptor, part);
		if (unlikely(!buffer || !part)) {
			give_up(link, queue);
			return 0;
		}
		data = rte_pktmbuf_read(mbuf, offset, part, buffer);
		if (data != buffer)
			rte_memcpy(buffer, data, part);
		offset += part;
		left -= part;
		shared->length = part;
		shared->flags = left ? MEMIF_DESCRIPTOR_NEXT : 0;
		used++;
	}
	return used;
}

/* A peer that sleeps wants to be woken; those that poll say so in the ring. */
static void wake(const struct memif_channel *channel)
{
	const uint64_t one = 1;

	if (likely(__atomic_load_n(&channel->ring->flags, __ATOMIC_RELAXED) &
		   MEMIF_RING_NO_INTERRUPT))
		return;
	if (channel->interrupt >= 0 && write(channel->interrupt, &one, sizeof(one)) < 0)
		return; /* It has been woken so often that the count is full. */
}

static uint16_t memif_transmit(struct vl_port *port, uint16_t number, struct rte_mbuf **mbufs,
			       uint16_t count)
{
	struct memif_port *memif = (struct memif_port *)port;
	struct memif_queue *queue = &memif->tx[number];
	struct memif_link *link = look(memif, number);
	const struct memif_channel *channel;
	uint16_t room, sent = 0;

	if (!link || number >= link->tx_count)
		return 0;
	channel = &link->tx[number];
	if (link->is_client)
		room = (uint16_t)(channel->size -
				  (uint16_t)(queue->position - __atomic_load_n(&channel->ring->tail,
									       __ATOMIC_ACQUIRE)));
	else
		room = (uint16_t)(__atomic_load_n(&channel->ring->head, __ATOMIC_ACQUIRE) -
				  queue->position);
	if (unlikely(room > channel->size)) {
		give_up(link, queue);
		return 0;
	}
	while (sent < count) {
		uint16_t used =
			write_frame(link, queue, channel, queue->position, room, mbufs[sent]);

		if (!used)
			break;
		queue->position += used;
		room -= used;
		queue->bytes += mbufs[sent++]->pkt_len;
	}
	if (!sent)
		return 0;
	queue->frames += sent;
	__atomic_store_n(link->is_client ? &channel->ring->head : &channel->ring->tail,
			 queue->position, __ATOMIC_RELEASE);
	wake(channel);
	rte_pktmbuf_free_bulk(mbufs, sent);
	return sent;
}

/* ---- The thread that sees to the peer ---------------------------------------------------- */

/* Waits for a socket, or so long. False: the port is being closed. */
static bool wait_for(const struct memif_port *memif, int first, int second, int timeout_ms)
{
	struct pollfd events[] = {
		{.fd = memif->stop, .events = POLLIN},
		{.fd = first, .events = POLLIN},
		{.fd = second, .events = POLLIN},
	};

	poll(events, RTE_DIM(events), timeout_ms);
	return !events[0].revents;
}

static bool has_input(int file)
{
	struct pollfd event = {.fd = file, .events = POLLIN};

	return poll(&event, 1, 0) == 1;
}

static bool is_in_use(const struct memif_port *memif, const struct memif_link *link)
{
	for (uint16_t i = 0; i < memif->port.queue_count; i++) {
		if (__atomic_load_n(&memif->rx[i].seen, __ATOMIC_SEQ_CST) == link)
			return true;
	}
	return false;
}

/* A link that ends with the port is freed by who closes it, when workers have stopped. */
static bool retire(struct memif_port *memif, struct memif_link *link)
{
	shutdown(link->socket, SHUT_RDWR);
	__atomic_store_n(&memif->link, NULL, __ATOMIC_SEQ_CST);
	while (is_in_use(memif, link)) {
		if (!wait_for(memif, -1, -1, LOOK_MS)) {
			__atomic_store_n(&memif->link, link, __ATOMIC_SEQ_CST);
			return false;
		}
	}
	memif_link_free(link);
	return true;
}

static struct memif_link *find_peer(struct memif_port *memif)
{
	int file;

	if (memif->listener.socket >= 0) {
		file = accept4(memif->listener.socket, NULL, NULL, SOCK_CLOEXEC);
		return file < 0 ? NULL : memif_link_accept(file, &memif->config);
	}
	file = memif_socket_connect(memif->path);
	return file < 0 ? NULL : memif_link_connect(file, &memif->config);
}

/* As long as the peer stays. */
static bool watch(struct memif_port *memif, struct memif_link *link)
{
	while (!__atomic_load_n(&link->is_broken, __ATOMIC_RELAXED)) {
		if (!wait_for(memif, link->socket, memif->listener.socket, RETRY_MS))
			return false;
		if (has_input(link->socket) && !memif_link_listen(link))
			break;
		if (memif->listener.socket >= 0 && has_input(memif->listener.socket)) {
			int file = accept4(memif->listener.socket, NULL, NULL, SOCK_CLOEXEC);

			if (file >= 0)
				memif_link_refuse(file, &memif->config);
		}
	}
	return true;
}

static void *run_thread(void *context)
{
	struct memif_port *memif = context;
	struct memif_link *link = NULL;

	do {
		link = find_peer(memif);
		if (!link)
			continue;
		__atomic_store_n(&memif->link, link, __ATOMIC_SEQ_CST);
		if (!watch(memif, link) || !retire(memif, link))
			break;
	} while (wait_for(memif, memif->listener.socket, -1,
			  memif->listener.socket >= 0 ? -1 : RETRY_MS));
	return NULL;
}

/* Signals are for the program's own threads. */
static int start_thread(struct memif_port *memif)
{
	sigset_t all, before;
	int result;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	result = pthread_create(&memif->thread, NULL, run_thread, memif);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	memif->has_thread = !result;
	return -result;
}

/* ---- The port ---------------------------------------------------------------------------- */

static bool memif_is_up(struct vl_port *port)
{
	return __atomic_load_n(&((struct memif_port *)port)->link, __ATOMIC_ACQUIRE);
}

static void memif_statistics(struct vl_port *port, struct vl_port_statistics *statistics)
{
	const struct memif_port *memif = (const struct memif_port *)port;

	for (uint16_t i = 0; i < port->queue_count; i++) {
		statistics->rx_frames += memif->rx[i].frames;
		statistics->rx_bytes += memif->rx[i].bytes;
		statistics->rx_nombuf += memif->rx[i].no_mbuf;
		statistics->rx_errors += memif->rx[i].errors;
		statistics->tx_frames += memif->tx[i].frames;
		statistics->tx_bytes += memif->tx[i].bytes;
		statistics->tx_errors += memif->tx[i].errors;
	}
}

static void memif_close(struct vl_port *port)
{
	struct memif_port *memif = (struct memif_port *)port;
	const uint64_t one = 1;

	if (memif->has_thread) {
		if (write(memif->stop, &one, sizeof(one)) == sizeof(one))
			pthread_join(memif->thread, NULL);
	}
	memif_link_free(memif->link);
	memif_socket_close(&memif->listener, memif->path);
	if (memif->stop >= 0)
		close(memif->stop);
	rte_free(memif);
}

static enum vl_port_link memif_link(struct vl_port *port)
{
	return memif_is_up(port) ? VL_PORT_LINK_UP : VL_PORT_LINK_DOWN;
}

static const struct vl_port_operations memif_operations = {
	.kind = "memif",
	.receive = memif_receive,
	.transmit = memif_transmit,
	.link = memif_link,
	.statistics = memif_statistics,
	.close = memif_close,
};

static void fill_in(struct memif_port *memif, const char *name, const char *path, uint32_t id,
		    const struct vl_port_config *config)
{
	static const uint8_t none[6];
	struct vl_port *port = &memif->port;

	port->operations = &memif_operations;
	snprintf(port->name, sizeof(port->name), "%s", name);
	snprintf(memif->path, sizeof(memif->path), "%s", path);
	port->queue_count = vl_port_wanted_queues(config);
	port->mtu = vl_port_wanted_mtu(config);
	port->numa_node = SOCKET_ID_ANY;
	port->abilities = (struct vl_port_abilities){
		.max_queues = VL_PORT_MAX_QUEUES,
		.max_mtu = VL_PORT_MAX_MTU,
		.sets_mac = true,
		.rx_multi_segment = true,
		.flow_control_off = true,
	};
	if (memcmp(config->mac, none, sizeof(none)))
		memcpy(port->mac, config->mac, sizeof(port->mac));
	else
		rte_eth_random_addr(port->mac);
	for (uint16_t i = 0; i < port->queue_count; i++)
		memif->rx[i].mempool =
			config->mempools[i] ? config->mempools[i] : config->mempools[0];
	memif->config = (struct memif_link_config){
		.id = id,
		.queue_count = port->queue_count,
		/* A frame that is longer takes several. */
		.buffer_size = RTE_ALIGN_CEIL(VL_PORT_FRAME_LENGTH(port->mtu), RTE_CACHE_LINE_SIZE),
		.log2_ring = LOG2_RING,
	};
}

static struct vl_port *start(struct memif_port *memif, enum memif_role role, int *code,
			     struct vl_error *error)
{
	*code = memif_socket_open(memif->port.name, memif->path, role, &memif->listener, error);
	if (!*code) {
		memif->stop = eventfd(0, EFD_CLOEXEC);
		*code = memif->stop < 0 ? -errno : start_thread(memif);
		if (*code)
			vl_error_set(error, *code, "port %s: no thread: %s", memif->port.name,
				     strerror(-*code));
	}
	if (*code) {
		memif_close(&memif->port);
		return NULL;
	}
	for (unsigned int i = 0;
	     i < JOIN_MS && memif->listener.socket < 0 && !memif_is_up(&memif->port); i++)
		usleep(1000);
	return &memif->port;
}

static struct vl_port *open_memif(const char *name, const char *detail,
				  const struct vl_port_config *config, int *code,
				  struct vl_error *error)
{
	uint32_t id = 0, buffer = 0;
	bool is_server = false, is_client = false;
	const struct vl_port_option options[] = {
		{.name = "server", .flag = &is_server},
		{.name = "client", .flag = &is_client},
		{.name = "id", .number = &id, .most = MAX_ID},
		{.name = "buffer", .number = &buffer, .least = 256, .most = MAX_LENGTH},
	};
	char path[VL_PORT_DETAIL_LENGTH];
	struct memif_port *memif;

	*code = vl_port_name_read(name, detail, 0, path, options, RTE_DIM(options), error);
	/* The name that a socket has before it listens is longer. */
	if (!*code && strlen(path) >= sizeof(memif->path) - 12)
		*code = vl_error_set(error, -EINVAL,
				     "port %s: the path of a socket has at most %zu characters",
				     name, sizeof(memif->path) - 13);
	if (!*code && is_server && is_client)
		*code = vl_error_set(error, -EINVAL, "port %s: either server or client", name);
	if (*code || !config)
		return NULL;
	memif = rte_zmalloc(NULL, sizeof(*memif), RTE_CACHE_LINE_SIZE);
	if (!memif) {
		*code = vl_error_set(error, -ENOMEM, "port %s: no memory", name);
		return NULL;
	}
	memif->listener.socket = memif->stop = -1;
	fill_in(memif, name, path, id, config);
	if (buffer)
		memif->config.buffer_size = RTE_ALIGN_CEIL(buffer, RTE_CACHE_LINE_SIZE);
	return start(memif,
		     is_server   ? MEMIF_SERVER
		     : is_client ? MEMIF_CLIENT
				 : MEMIF_EITHER,
		     code, error);
}

const struct vl_port_kind vl_port_kind_memif = {
	.prefix = "memif:",
	.help = "  memif:PATH[,server|client][,id=N][,buffer=N]\n"
		"                               memory shared with another process, by a socket at "
		"PATH; by\n"
		"                               itself the first to come is the server. buffer: "
		"bytes of each\n"
		"                               buffer of a client [MTU]: DPDK's server wants no "
		"larger ones\n"
		"                               than its mbufs\n",
	.open = open_memif,
};
