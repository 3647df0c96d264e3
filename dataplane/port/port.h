/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * A port: where a worker takes frames from and gives frames to. One file for each kind; whatever
 * its kind, one worker uses a port, in bursts of mbufs, and never blocks in it.
 *
 * Ownership: a received mbuf is the caller's; a transmitted one is the port's. Those that transmit
 * did not take stay the caller's, who keeps them and tries again.
 */
#ifndef VERBLINE_PORT_H
#define VERBLINE_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/runtime/error.h"

struct rte_mbuf;
struct rte_mempool;
struct vl_port;

#define VL_PORT_NAME_LENGTH 64
/* Mbufs in one call at most. */
#define VL_PORT_BURST 32

/* What the port itself lost or refused, beside what its worker counts. */
struct vl_port_statistics {
	uint64_t rx_missed; /* frames: no room in the receive queue */
	uint64_t rx_errors; /* frames damaged */
	uint64_t rx_nombuf; /* frames lost, or receptions put off, as the mempool was empty */
	uint64_t tx_errors; /* frames that the device failed to send */
};

struct vl_port_operations {
	const char *kind;
	/* Both return how many mbufs, 0 to count. */
	uint16_t (*receive)(struct vl_port *port, struct rte_mbuf **mbufs, uint16_t count);
	uint16_t (*transmit)(struct vl_port *port, struct rte_mbuf **mbufs, uint16_t count);
	/* Control thread. */
	void (*statistics)(struct vl_port *port, struct vl_port_statistics *statistics);
	void (*close)(struct vl_port *port);
};

/* The head of every kind's own structure. */
struct vl_port {
	const struct vl_port_operations *operations;
	char name[VL_PORT_NAME_LENGTH];
	uint8_t mac[6];     /* zero: the port has none */
	uint64_t link_rate; /* bit/s; 0: unknown */
};

static inline uint16_t vl_port_receive(struct vl_port *port, struct rte_mbuf **mbufs,
				       uint16_t count)
{
	return port->operations->receive(port, mbufs, count);
}

static inline uint16_t vl_port_transmit(struct vl_port *port, struct rte_mbuf **mbufs,
					uint16_t count)
{
	return port->operations->transmit(port, mbufs, count);
}

void vl_port_statistics(struct vl_port *port, struct vl_port_statistics *statistics);
/* Frees what is still queued in the port, and the port. NULL is allowed. */
void vl_port_close(struct vl_port *port);

struct vl_port_config {
	struct rte_mempool *mempool; /* of received frames */
	uint16_t rx_descriptors;     /* 0: 1024, or what the device allows */
	uint16_t tx_descriptors;     /* 0: 1024, or what the device allows */
};

/*
 * Opens a device by a name of the form KIND:DETAIL, and starts it. Kinds:
 *   vdev:NAME[,ARGUMENT...]  a virtual device of DPDK, made if it does not exist
 *                            ("vdev:net_null0", "vdev:net_ring0", "vdev:net_pcap0,rx_pcap=in.pcap")
 *   pci:ADDRESS              a NIC bound to a driver that DPDK can use (needs use_pci in EAL)
 * NULL: *error says what is wrong with the name or the device.
 */
struct vl_port *vl_port_open(const char *name, const struct vl_port_config *config,
			     struct vl_error *error);

/*
 * A link between two workers, or a worker and itself: two rings of mbufs, each with one producer
 * and one consumer. It is as fast as the cores are and loses nothing: a full ring takes no more.
 * (Rate, propagation and impairments are dataplane/fabric/link.h's.)
 *
 * Makes the two ends, with room for size frames each way, 1 to 2^20; each is closed by itself, and
 * the rings go with the second. name, of at most 20 characters, is the first end's; the second's
 * is NAME-peer. 0 or a negative errno value.
 */
int vl_ring_link_open(const char *name, uint32_t size, struct vl_port *ends[2],
		      struct vl_error *error);

#endif
