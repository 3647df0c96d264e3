/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What a port can do, and how far it is from the CPUs. */
#include "apps/doctor/checks.h"
#include "apps/quantity.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* GRH or IP, UDP, BTH, the longest extension headers, ICRC: as a host reckons. */
#define LONGEST_HEADERS 96u
#define MAX_NODES       64

static unsigned int longest_path_mtu(uint16_t mtu)
{
	unsigned int path_mtu = 256;

	while (path_mtu < 4096 && path_mtu * 2 + LONGEST_HEADERS <= mtu)
		path_mtu *= 2;
	return path_mtu;
}

static void check_mtu(struct findings *findings, const struct vl_port *port)
{
	unsigned int path_mtu = longest_path_mtu(port->mtu);

	finding_add(findings, "MTU", port->name, path_mtu == 4096 ? FINDING_OK : FINDING_LACK, NULL,
		    "%u, which carries a path MTU of %u%s", port->mtu, path_mtu,
		    path_mtu == 4096 ? "" : "; 4192 and more carries 4096");
}

/* The nodes of the CPUs that this program may use. */
static uint64_t usable_nodes(void)
{
	uint64_t nodes = 0;
	cpu_set_t cpus;

	if (sched_getaffinity(0, sizeof(cpus), &cpus))
		return 0;
	for (unsigned int node = 0; node < MAX_NODES; node++) {
		for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
			char path[96];

			snprintf(path, sizeof(path), "/sys/devices/system/node/node%u/cpu%d", node,
				 cpu);
			if (CPU_ISSET(cpu, &cpus) && !access(path, F_OK))
				nodes |= UINT64_C(1) << node;
		}
	}
	return nodes;
}

static void check_node(struct findings *findings, const struct vl_port *port)
{
	if (port->numa_node < 0 || port->numa_node >= MAX_NODES)
		finding_add(findings, "NUMA", port->name, FINDING_OK, NULL,
			    "on no node in particular");
	else if (usable_nodes() >> port->numa_node & 1)
		finding_add(findings, "NUMA", port->name, FINDING_OK, NULL,
			    "on node %d, as are CPUs of this program", port->numa_node);
	else
		finding_add(findings, "NUMA", port->name, FINDING_LACK,
			    finding_remedy("numactl --cpunodebind=%d --membind=%d verbline ...",
					   port->numa_node, port->numa_node),
			    "on node %d, and this program's CPUs are on others: each packet "
			    "crosses between sockets",
			    port->numa_node);
}

static void check_queues(struct findings *findings, const struct vl_port *port)
{
	const struct vl_port_abilities *can = &port->abilities;

	finding_add(findings, "queues", port->name, can->max_queues > 1 ? FINDING_OK : FINDING_LACK,
		    NULL, "%u of each direction at most%s", can->max_queues,
		    can->max_queues > 1 ? "" : ": further workers hand their frames over");
	finding_add(findings, "RSS", port->name, can->rss_udp ? FINDING_OK : FINDING_LACK, NULL,
		    can->rss_udp ? "spreads RoCEv2 over the queues by UDP source port"
				 : "does not spread RoCEv2 over queues: workers hand frames over");
	finding_add(findings, "flow rules", port->name, can->steers_qpn ? FINDING_OK : FINDING_LACK,
		    NULL,
		    can->steers_qpn
			    ? "by destination QPN (IB_BTH): each worker gets its own QPs' "
			      "packets from the device"
			    : "none by destination QPN (IB_BTH; a NIC that has it, and DPDK "
			      "23.07): workers hand over the packets of others' QPs");
}

static void check_buffers(struct findings *findings, const struct vl_port *port)
{
	bool joins = port->abilities.rx_multi_segment;

	finding_add(findings, "buffers", port->name, joins ? FINDING_OK : FINDING_LACK, NULL,
		    joins ? "frames longer than a buffer come in several"
			  : "frames come in one buffer each, which must hold the MTU");
}

static void check_receive_offloads(struct findings *findings, const struct vl_port *port)
{
	const struct vl_port_abilities *can = &port->abilities;

	finding_add(findings, "arrival times", port->name, can->rx_time ? FINDING_OK : FINDING_LACK,
		    NULL,
		    can->rx_time ? "of the device's clock, told in the workers' time"
				 : "of the TSC when a burst is taken: the device stamps no frames, "
				   "or its clock cannot be read");
	finding_add(findings, "IPv4 checksum", port->name, FINDING_OK, NULL,
		    can->rx_ip_checksum ? "checked by the device, and by the parser"
					: "checked by the parser");
}

void check_port(struct findings *findings, const struct vl_port *port)
{
	char rate[VL_QUANTITY_TEXT] = "unknown";

	if (port->link_rate)
		vl_quantity_text(VL_QUANTITY_RATE, port->link_rate, rate);
	finding_add(findings, "port", port->name, FINDING_OK, NULL,
		    "opens; MAC %02x:%02x:%02x:%02x:%02x:%02x, line rate %s", port->mac[0],
		    port->mac[1], port->mac[2], port->mac[3], port->mac[4], port->mac[5], rate);
	check_mtu(findings, port);
	check_node(findings, port);
	check_queues(findings, port);
	check_buffers(findings, port);
	check_receive_offloads(findings, port);
}
