/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * InfiniBand fabrics for tests: channel adapters and switches are added and connected, a subnet
 * manager is let loose, and flows are started. What breaks while building fails the test.
 */
#ifndef VERBLINE_TESTS_INFINIBAND_H
#define VERBLINE_TESTS_INFINIBAND_H

#include "dataplane/flow.h"
#include "dataplane/network.h"
#include "dataplane/network_subnet.h"

#include <stdint.h>

#define FABRIC_HOSTS    64u
#define FABRIC_SWITCHES 32u
#define FABRIC_FLOWS    256u

struct fabric {
	struct vl_network *network;
	struct vl_subnet *subnet;
	struct vl_node *hosts[FABRIC_HOSTS], *switches[FABRIC_SWITCHES];
	struct vl_traffic *traffic[FABRIC_HOSTS];
	struct vl_flow *flows[FABRIC_FLOWS];
	uint32_t next_port[FABRIC_SWITCHES];
	uint32_t host_count, switch_count, flow_count;
	/* For all that is added from now on; the caller may change them. */
	struct vl_channel_adapter_config host;
	struct vl_infiniband_switch_config sw;
	struct vl_link_config link;
};

/* 100 Gb/s, 100 ns, one lane of 64 KiB; 8 ports a switch. */
void fabric_init(struct fabric *fabric);
/* Both return the number. */
uint32_t fabric_add_switch(struct fabric *fabric);
uint32_t fabric_add_host(struct fabric *fabric, uint32_t sw);
/* A host that is connected to nothing yet. */
uint32_t fabric_add_loose_host(struct fabric *fabric);
void fabric_join_hosts(struct fabric *fabric, uint32_t a, uint32_t b);
/* Joins two switches, each by its next free port. */
void fabric_join(struct fabric *fabric, uint32_t a, uint32_t b);
void fabric_manage(struct fabric *fabric, enum vl_subnet_routing routing);
/* RC, WRITE, path MTU 4096, 4 messages of 64 KiB outstanding, until stopped. */
struct vl_flow_config fabric_flow(void);
uint32_t fabric_start(struct fabric *fabric, uint32_t from, uint32_t to,
		      const struct vl_flow_config *config);
uint64_t fabric_received(const struct fabric *fabric, uint32_t flow);
/* Payload of a flow, bit/s, over an interval that begins now. */
double fabric_rate(struct fabric *fabric, uint32_t flow, uint64_t duration);
const struct vl_infiniband_port *fabric_host_port(const struct fabric *fabric, uint32_t host);
void fabric_destroy(struct fabric *fabric);

#endif
