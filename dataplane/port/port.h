/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * A port: where workers take frames from and give frames to. One file for each kind that has logic
 * of its own; whatever its kind, a port has one or more queues, each used by one worker at a time,
 * in bursts of mbufs, and never blocks.
 *
 * Frames reach mbufs as they are on the wire, from the destination MAC to the last byte before the
 * FCS, with their VLAN tags.
 *
 * Ownership: a received mbuf is the caller's; a transmitted one is the port's. Those that transmit
 * did not take stay the caller's, who keeps them and tries again.
 */
#ifndef VERBLINE_PORT_H
#define VERBLINE_PORT_H

#include "dataplane/runtime/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rte_mbuf;
struct rte_mempool;
struct vl_port;

#define VL_PORT_NAME_LENGTH 64
/* Mbufs in one call at most. */
#define VL_PORT_BURST 32
/* One for each worker at most. */
#define VL_PORT_MAX_QUEUES 64
/* Of the Ethernet payload: from the least of IPv6 to jumbo frames. The default takes path MTU 4096
 * with all headers. */
#define VL_PORT_MIN_MTU     1280
#define VL_PORT_MAX_MTU     9600
#define VL_PORT_DEFAULT_MTU 4240

/* What the port itself lost or refused, beside what its workers count. */
struct vl_port_statistics {
	uint64_t rx_frames, rx_bytes; /* as the device counts them, 0 where it does not */
	uint64_t tx_frames, tx_bytes;
	uint64_t rx_missed; /* frames: no room in the receive queue */
	uint64_t rx_errors; /* frames damaged */
	uint64_t rx_nombuf; /* frames lost, or receptions put off, as the mempool was empty */
	uint64_t tx_errors; /* frames that the device failed to send */
	/* Of what the device says of the frames that it received: */
	uint64_t rx_ip_checksum; /* frames dropped: it found the IPv4 header's checksum wrong */
	uint64_t rx_tag_lost;    /* frames dropped: no room to put a tag back that it stripped */
	uint64_t rx_timed;       /* frames whose time of arrival is the device's */
};

/*
 * Of a device's offloads those of reception are made use of where they are there: time stamps, told
 * in the workers' time; the check of IPv4 headers, by which damaged ones are dropped and counted
 * before anybody, a capture included, sees them (without it, captures see them and the parser drops
 * them); several buffers a frame, which are joined. VLAN tags are never asked to be taken out; a
 * device that does it all the same has them put back.
 *
 * Of transmission none is: checksums and tags are part of the headers that a path has ready. The
 * checksum of an IPv4 header, folded from the path's sum, takes 0.4 ns a frame in bursts of 32; the
 * fields of the mbuf that ask a device for it take 0.8 ns, before its driver does anything. A VLAN
 * tag is copied with the headers that it stands in: headers with it take 1.01 to 1.05 of the time
 * without (2.5 ns a frame), and 1.11 to 1.15 of it with the tag asked of the device
 * (tests/bench/kernels.c, one core of the development machine, in cache).
 */

/* What the device itself does, and has been set up to do. Without an ability, either nothing is
 * lost (software does it) or a call says -ENOTSUP. */
struct vl_port_abilities {
	uint16_t max_queues;   /* of each direction */
	uint16_t max_mtu;      /* 0: not known, any goes */
	bool sets_mtu;         /* false: it takes whatever the buffers hold */
	bool sets_mac;         /* else promiscuous mode stands in for it */
	bool rss_udp;          /* spreads RoCEv2 over the queues by IP addresses and UDP ports */
	bool steers_qpn;       /* vl_port_steer_qpn */
	bool rx_multi_segment; /* frames longer than a buffer come in several */
	bool rx_time;          /* times of arrival are the device's, told in the workers' time */
	bool rx_ip_checksum;   /* frames with a wrong one are dropped */
	bool flow_control_off; /* pause frames are passed up, and not obeyed, by the device's word
				*/
};

enum vl_port_link {
	VL_PORT_LINK_UP,
	VL_PORT_LINK_DOWN, /* no carrier, nobody at the other end, or switched off */
	VL_PORT_LINK_GONE, /* the device was taken away, and will not come back to this port */
};

struct vl_port_operations {
	const char *kind;
	/* Both return how many mbufs, 0 to count. */
	uint16_t (*receive)(struct vl_port *port, uint16_t queue, struct rte_mbuf **mbufs,
			    uint16_t count);
	uint16_t (*transmit)(struct vl_port *port, uint16_t queue, struct rte_mbuf **mbufs,
			     uint16_t count);
	/* Any thread; NULL: frames are stamped by who takes them. */
	uint64_t (*arrival_error)(const struct vl_port *port);
	/* Control thread. link and steer_qpn may be NULL. */
	enum vl_port_link (*link)(struct vl_port *port);
	int (*steer_qpn)(struct vl_port *port, uint32_t qpn, uint32_t mask, uint16_t queue,
			 struct vl_error *error);
	void (*statistics)(struct vl_port *port, struct vl_port_statistics *statistics);
	void (*close)(struct vl_port *port);
};

/* The head of every kind's own structure. */
struct vl_port {
	const struct vl_port_operations *operations;
	char name[VL_PORT_NAME_LENGTH];
	/* Of each direction: those asked for, or as many as the device has if that is less. A
	 * worker without a queue of its own hands its frames to one that has. */
	uint16_t queue_count;
	uint16_t mtu;       /* in force, of the Ethernet payload */
	uint8_t mac[6];     /* zero: the port has none */
	uint64_t link_rate; /* bit/s; 0: unknown */
	int numa_node;      /* -1: none in particular */
	struct vl_port_abilities abilities;
};

static inline uint16_t vl_port_receive(struct vl_port *port, uint16_t queue,
				       struct rte_mbuf **mbufs, uint16_t count)
{
	return port->operations->receive(port, queue, mbufs, count);
}

static inline uint16_t vl_port_transmit(struct vl_port *port, uint16_t queue,
					struct rte_mbuf **mbufs, uint16_t count)
{
	return port->operations->transmit(port, queue, mbufs, count);
}

/* For reports: whose clock tells when frames come in. */
static inline const char *vl_port_arrival_clock(const struct vl_port *port)
{
	return port->abilities.rx_time ? "device" : "TSC";
}

/* ns: by how much these times may be wrong, in the TSC's: the device's clock has been compared with
 * it. 0 for the TSC, which tells truly when a worker took the burst that a frame came in. */
static inline uint64_t vl_port_arrival_error(const struct vl_port *port)
{
	return port->abilities.rx_time && port->operations->arrival_error
		       ? port->operations->arrival_error(port)
		       : 0;
}

void vl_port_statistics(struct vl_port *port, struct vl_port_statistics *statistics);
/* Frees what is still queued in the port, and the port. NULL is allowed. */
void vl_port_close(struct vl_port *port);

/* Of the link; and whether it is up. Control thread. */
enum vl_port_link vl_port_link(struct vl_port *port);
bool vl_port_is_up(struct vl_port *port);

/* Brings RoCEv2 packets whose destination QPN, under the 24-bit mask, is qpn to a queue. 0;
 * -ENOTSUP: the device, or this version of DPDK, has no such rules; or what the device says. */
int vl_port_steer_qpn(struct vl_port *port, uint32_t qpn, uint32_t mask, uint16_t queue,
		      struct vl_error *error);

/* Zero in a field takes the default. */
struct vl_port_config {
	/* Of the frames received on each queue, in buffers that hold the MTU (or the port joins
	 * several, if it can); NULL: as queue 0, which must have one. */
	struct rte_mempool *mempools[VL_PORT_MAX_QUEUES];
	uint16_t queue_count; /* at most; 0: 1 */
	uint16_t mtu;         /* VL_PORT_MIN_MTU to VL_PORT_MAX_MTU; 0: VL_PORT_DEFAULT_MTU, or the
				 most that the device has, if that is less */
	uint8_t mac[6];       /* zero: the device's own */
	uint16_t rx_descriptors; /* of each queue; 0: 1024, or what the device allows */
	uint16_t tx_descriptors; /* of each queue; 0: 1024, or what the device allows */
};

/*
 * Opens a port by a name of the form KIND:DETAIL[,OPTION...], and starts it; vl_port_names_help
 * says which there are. NULL: *error says what is wrong with the name or the device, and what would
 * be right. EAL is to run, started with this name among its ports.
 */
struct vl_port *vl_port_open(const char *name, const struct vl_port_config *config,
			     struct vl_error *error);

/* The form of a name alone: 0, or -EINVAL with *error filled. Needs no EAL. */
int vl_port_check_name(const char *name, struct vl_error *error);
/* For --help: a line or more for each kind, each with a line end. */
const char *vl_port_names_help(void);
/* True: a device on the PCI bus, whose devargs are written, for EAL to take it. */
bool vl_port_name_is_pci(const char *name, char *devargs, size_t size);

/*
 * A link between two ports in this process: for each queue two rings of mbufs, each with one
 * producer and one consumer; what goes out on a queue comes in on the other end's same queue. It is
 * as fast as the cores are and loses nothing: a full ring takes no more. (Rate, propagation and
 * impairments are dataplane/fabric/link.h's.)
 *
 * Makes the two ends, with room for size frames each way on each queue, 1 to 2^20; each is closed
 * by itself, and the rings go with the second. name, of at most 20 characters, is the first end's;
 * the second's is NAME-peer. 0 or a negative errno value.
 */
int vl_ring_link_open(const char *name, uint16_t queue_count, uint32_t size,
		      struct vl_port *ends[2], struct vl_error *error);

#endif
