/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * tap:NAME: an interface of the kernel whose far end this port is: what the kernel sends out of it
 * comes in here, and the reverse. DPDK has a driver for it too, which in its older versions takes
 * no frames beyond MTU 1500 and gives the port the MAC of the kernel's end; so here is one that
 * does neither. A frame costs a system call each way: it is for reaching the kernel, not for speed.
 */
#include "dataplane/port/kernel_interface.h"
#include "dataplane/port/kind.h"

#include <rte_common.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#define CLONE_DEVICE "/dev/net/tun"
/* Buffers that a frame may take: the longest in those of 2 kB. */
#define MAX_SEGMENTS 8

struct tap_queue {
	int file;
	struct rte_mempool *mempool;
	/* Buffers for the next frame, kept while none comes. */
	struct rte_mbuf *spare[MAX_SEGMENTS];
	uint16_t segment_count; /* that the longest frame takes */
	uint64_t rx_frames, rx_bytes, tx_frames, tx_bytes;
	uint64_t no_mbuf, too_long, tx_errors;
} __rte_cache_aligned;

struct tap_port {
	struct vl_port port; /* must be first */
	int interface;       /* index of the kernel's end */
	struct tap_queue queues[VL_PORT_MAX_QUEUES];
};

static bool fill_spare(struct tap_queue *queue)
{
	for (uint16_t i = 0; i < queue->segment_count; i++) {
		if (queue->spare[i])
			continue;
		queue->spare[i] = rte_pktmbuf_alloc(queue->mempool);
		if (unlikely(!queue->spare[i])) {
			queue->no_mbuf++;
			return false;
		}
	}
	return true;
}

/* Joins the buffers that length bytes were read into. */
static struct rte_mbuf *take_frame(struct tap_queue *queue, uint32_t length)
{
	struct rte_mbuf *head = queue->spare[0], *last = NULL;
	uint16_t count = 0;

	head->pkt_len = length;
	do {
		struct rte_mbuf *mbuf = queue->spare[count];

		mbuf->data_len = (uint16_t)RTE_MIN(length, (uint32_t)rte_pktmbuf_tailroom(mbuf));
		length -= mbuf->data_len;
		if (last)
			last->next = mbuf;
		last = mbuf;
		queue->spare[count++] = NULL;
	} while (length && count < queue->segment_count);
	head->nb_segs = count;
	return head;
}

static uint16_t tap_receive(struct vl_port *port, uint16_t number, struct rte_mbuf **mbufs,
			    uint16_t count)
{
	struct tap_queue *queue = &((struct tap_port *)port)->queues[number];
	struct iovec parts[MAX_SEGMENTS + 1];
	uint8_t beyond;

	for (uint16_t got = 0; got < count; got++) {
		ssize_t length, room = 0;

		if (!fill_spare(queue))
			return got;
		for (uint16_t i = 0; i < queue->segment_count; i++) {
			parts[i].iov_base = rte_pktmbuf_mtod(queue->spare[i], void *);
			parts[i].iov_len = rte_pktmbuf_tailroom(queue->spare[i]);
			room += (ssize_t)parts[i].iov_len;
		}
		parts[queue->segment_count] = (struct iovec){.iov_base = &beyond, .iov_len = 1};
		length = readv(queue->file, parts, queue->segment_count + 1);
		if (length <= 0)
			return got;
		if (unlikely(length > room)) {
			queue->too_long++;
			got--;
			continue;
		}
		mbufs[got] = take_frame(queue, (uint32_t)length);
		queue->rx_frames++;
		queue->rx_bytes += (uint64_t)length;
	}
	return count;
}

/* False: the kernel has no room now. */
static bool send_frame(struct tap_queue *queue, const struct rte_mbuf *mbuf)
{
	struct iovec parts[MAX_SEGMENTS];
	const struct rte_mbuf *part = mbuf;
	ssize_t written = 0;
	int count = 0;

	for (; part && count < MAX_SEGMENTS; part = part->next)
		parts[count++] = (struct iovec){.iov_base = rte_pktmbuf_mtod(part, void *),
						.iov_len = part->data_len};
	if (likely(!part))
		written = writev(queue->file, parts, count);
	if (likely(written == (ssize_t)mbuf->pkt_len)) {
		queue->tx_frames++;
		queue->tx_bytes += mbuf->pkt_len;
		return true;
	}
	if (written < 0 && (errno == EAGAIN || errno == ENOBUFS))
		return false;
	queue->tx_errors++;
	return true;
}

static uint16_t tap_transmit(struct vl_port *port, uint16_t number, struct rte_mbuf **mbufs,
			     uint16_t count)
{
	struct tap_queue *queue = &((struct tap_port *)port)->queues[number];
	uint16_t sent = 0;

	while (sent < count && send_frame(queue, mbufs[sent]))
		sent++;
	rte_pktmbuf_free_bulk(mbufs, sent);
	return sent;
}

static void tap_statistics(struct vl_port *port, struct vl_port_statistics *statistics)
{
	const struct tap_port *tap = (const struct tap_port *)port;

	for (uint16_t i = 0; i < port->queue_count; i++) {
		const struct tap_queue *queue = &tap->queues[i];

		statistics->rx_frames += queue->rx_frames;
		statistics->rx_bytes += queue->rx_bytes;
		statistics->tx_frames += queue->tx_frames;
		statistics->tx_bytes += queue->tx_bytes;
		statistics->rx_nombuf += queue->no_mbuf;
		statistics->rx_errors += queue->too_long;
		statistics->tx_errors += queue->tx_errors;
	}
}

static enum vl_port_link tap_link(struct vl_port *port)
{
	return vl_kernel_interface_link(((const struct tap_port *)port)->interface);
}

static void tap_close(struct vl_port *port)
{
	struct tap_port *tap = (struct tap_port *)port;

	for (uint16_t i = 0; i < port->queue_count; i++) {
		if (tap->queues[i].file > 0)
			close(tap->queues[i].file);
		rte_pktmbuf_free_bulk(tap->queues[i].spare, MAX_SEGMENTS);
	}
	rte_free(tap);
}

static const struct vl_port_operations tap_operations = {
	.kind = "tap",
	.receive = tap_receive,
	.transmit = tap_transmit,
	.link = tap_link,
	.statistics = tap_statistics,
	.close = tap_close,
};

static int open_queue(struct tap_port *tap, const char *interface, uint16_t number,
		      struct vl_error *error)
{
	struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};
	int file = open(CLONE_DEVICE, O_RDWR | O_NONBLOCK | O_CLOEXEC);

	if (file < 0)
		return vl_error_set(error, -errno,
				    "port %s: " CLONE_DEVICE ": %s; run as root, and have the tun "
				    "module loaded: modprobe tun",
				    tap->port.name, strerror(errno));
	tap->queues[number].file = file;
	if (tap->port.queue_count > 1)
		request.ifr_flags |= IFF_MULTI_QUEUE;
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", interface);
	if (!ioctl(file, TUNSETIFF, &request))
		return 0;
	return vl_error_set(
		error, -errno, "port %s: interface %s cannot be made: %s%s", tap->port.name,
		interface, strerror(errno),
		errno == EPERM    ? "; run as root, or with CAP_NET_ADMIN"
		: errno == EBUSY  ? "; another program has it: choose another name"
		: errno == EINVAL ? "; it exists and is no tap interface, or has another number of "
				    "queues: choose another name"
				  : "");
}

/* The port's own: the kernel's end with the bit for local addresses set and the last one flipped.
 */
static void derive_mac(struct vl_port *port, const uint8_t kernels[6])
{
	memcpy(port->mac, kernels, 6);
	port->mac[0] |= 0x02;
	port->mac[5] ^= 0x01;
}

static int set_up_interface(struct tap_port *tap, const char *name,
			    const struct vl_port_config *config, struct vl_error *error)
{
	struct vl_port *port = &tap->port;
	struct vl_kernel_interface interface;
	int result = vl_kernel_interface_find(port->name, name, &interface, error);

	if (result)
		return result;
	tap->interface = interface.index;
	port->mtu = vl_port_wanted_mtu(config);
	result = vl_kernel_interface_set_mtu(name, port->mtu);
	if (!result)
		result = vl_kernel_interface_set_up(name);
	if (result)
		return vl_error_set(error, result,
				    "port %s: interface %s does not come up with MTU %u: %s",
				    port->name, name, port->mtu, strerror(-result));
	if (vl_ethdev_wants_other_mac(config, interface.mac))
		memcpy(port->mac, config->mac, sizeof(port->mac));
	else
		derive_mac(port, interface.mac);
	return 0;
}

static uint16_t segments_for(const struct rte_mempool *mempool, uint16_t mtu)
{
	uint32_t room = (uint32_t)rte_pktmbuf_data_room_size((struct rte_mempool *)mempool) -
			RTE_PKTMBUF_HEADROOM;

	return (uint16_t)RTE_MIN((VL_PORT_FRAME_LENGTH(mtu) + room - 1) / room,
				 (uint32_t)MAX_SEGMENTS);
}

static int start(struct tap_port *tap, const char *interface, const struct vl_port_config *config,
		 struct vl_error *error)
{
	int result = 0;

	for (uint16_t i = 0; i < tap->port.queue_count && !result; i++)
		result = open_queue(tap, interface, i, error);
	if (!result)
		result = set_up_interface(tap, interface, config, error);
	for (uint16_t i = 0; i < tap->port.queue_count && !result; i++) {
		struct tap_queue *queue = &tap->queues[i];

		queue->mempool = config->mempools[i] ? config->mempools[i] : config->mempools[0];
		queue->segment_count = segments_for(queue->mempool, tap->port.mtu);
	}
	return result;
}

static struct vl_port *open_tap(const char *name, const char *detail,
				const struct vl_port_config *config, int *code,
				struct vl_error *error)
{
	char interface[VL_PORT_DETAIL_LENGTH];
	struct tap_port *tap;

	*code = vl_port_name_read(name, detail, 0, interface, NULL, 0, error);
	if (!*code && strlen(interface) >= IFNAMSIZ)
		*code = vl_error_set(error, -EINVAL,
				     "port %s: the name of an interface has 1 to %d characters",
				     name, IFNAMSIZ - 1);
	if (*code || !config)
		return NULL;
	tap = rte_zmalloc(NULL, sizeof(*tap), RTE_CACHE_LINE_SIZE);
	if (!tap) {
		*code = vl_error_set(error, -ENOMEM, "port %s: no memory", name);
		return NULL;
	}
	tap->port.operations = &tap_operations;
	snprintf(tap->port.name, sizeof(tap->port.name), "%s", name);
	tap->port.queue_count = vl_port_wanted_queues(config);
	tap->port.numa_node = SOCKET_ID_ANY;
	tap->port.abilities = (struct vl_port_abilities){
		.max_queues = VL_PORT_MAX_QUEUES,
		.max_mtu = VL_PORT_MAX_MTU,
		.sets_mtu = true,
		.sets_mac = true,
		.rss_udp = true,
		.rx_multi_segment = true,
		.flow_control_off = true,
	};
	*code = start(tap, interface, config, error);
	if (!*code)
		return &tap->port;
	tap_close(&tap->port);
	return NULL;
}

const struct vl_port_kind vl_port_kind_tap = {
	.prefix = "tap:",
	.help = "  tap:NAME                     the far end of an interface NAME that the kernel "
		"gets; needs root.\n"
		"                               It goes when the program ends\n",
	.open = open_tap,
};
