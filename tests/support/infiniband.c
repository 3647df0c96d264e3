/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "tests/support/infiniband.h"

#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

#define RATE            UINT64_C(100000000000)
#define LARGEST_MESSAGE (1u << 20)

void fabric_init(struct fabric *fabric)
{
	*fabric = (struct fabric){
		.network = vl_network_create(NULL),
		.link = {.rate = RATE, .propagation = 100},
		.host = {.default_sl_to_vl = true, .endpoint = {.rate = RATE}},
		.sw = {.ports = 8, .default_sl_to_vl = true},
	};
	CU_ASSERT_PTR_NOT_NULL_FATAL(fabric->network);
}

uint32_t fabric_add_switch(struct fabric *fabric)
{
	uint32_t number = fabric->switch_count++;
	char name[16];

	snprintf(name, sizeof(name), "switch%u", number + 1);
	fabric->sw.seed = number;
	fabric->switches[number] =
		vl_network_add_infiniband_switch(fabric->network, name, &fabric->sw);
	if (!fabric->switches[number])
		printf("%s\n", vl_network_error(fabric->network));
	CU_ASSERT_PTR_NOT_NULL_FATAL(fabric->switches[number]);
	return number;
}

uint32_t fabric_add_loose_host(struct fabric *fabric)
{
	const struct vl_traffic_config memory = {.largest_message = LARGEST_MESSAGE};
	uint32_t number = fabric->host_count++;
	char name[16];

	snprintf(name, sizeof(name), "host%u", number + 1);
	fabric->host.endpoint.name = name;
	fabric->host.endpoint.device.seed = number;
	fabric->host.endpoint.device.mac[0] = 2;
	fabric->host.endpoint.device.mac[5] = (uint8_t)(number + 1);
	fabric->hosts[number] = vl_network_add_channel_adapter(fabric->network, &fabric->host);
	if (!fabric->hosts[number])
		printf("%s\n", vl_network_error(fabric->network));
	CU_ASSERT_PTR_NOT_NULL_FATAL(fabric->hosts[number]);
	fabric->traffic[number] =
		vl_traffic_create(vl_node_endpoint(fabric->hosts[number]), &memory, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(fabric->traffic[number]);
	return number;
}

static void connect(struct fabric *fabric, struct vl_node *a, uint32_t port_a, struct vl_node *b,
		    uint32_t port_b)
{
	int error = vl_network_connect(fabric->network, a, port_a, b, port_b, &fabric->link, NULL);

	if (error)
		printf("%s\n", vl_network_error(fabric->network));
	CU_ASSERT_EQUAL_FATAL(error, 0);
}

uint32_t fabric_add_host(struct fabric *fabric, uint32_t sw)
{
	uint32_t number = fabric_add_loose_host(fabric);

	connect(fabric, fabric->hosts[number], 0, fabric->switches[sw], fabric->next_port[sw]++);
	return number;
}

void fabric_join_hosts(struct fabric *fabric, uint32_t a, uint32_t b)
{
	connect(fabric, fabric->hosts[a], 0, fabric->hosts[b], 0);
}

void fabric_join(struct fabric *fabric, uint32_t a, uint32_t b)
{
	uint32_t port_a = fabric->next_port[a]++, port_b = fabric->next_port[b]++;

	connect(fabric, fabric->switches[a], port_a, fabric->switches[b], port_b);
}

void fabric_manage(struct fabric *fabric, enum vl_subnet_routing routing)
{
	fabric->subnet = vl_network_manage_subnet(fabric->network, routing, NULL);
	if (!fabric->subnet)
		printf("%s\n", vl_network_error(fabric->network));
	CU_ASSERT_PTR_NOT_NULL_FATAL(fabric->subnet);
}

struct vl_flow_config fabric_flow(void)
{
	return (struct vl_flow_config){
		.transport = IBV_QPT_RC,
		.verb = VL_FLOW_WRITE,
		.size = 65536,
		.qps = 1,
		.depth = 4,
		.path_mtu = IBV_MTU_4096,
		.timeout = 14,
		.retry_count = 7,
		.rnr_retry = 7,
	};
}

uint32_t fabric_start(struct fabric *fabric, uint32_t from, uint32_t to,
		      const struct vl_flow_config *config)
{
	uint32_t number = fabric->flow_count++;
	struct vl_flow_config seeded = *config;
	int error = 0;

	seeded.seed = number;
	fabric->flows[number] = vl_flow_create(fabric->traffic[from], fabric->traffic[to], &seeded,
					       vl_network_now(fabric->network), &error);
	if (!fabric->flows[number])
		printf("flow: %s\n", strerror(-error));
	CU_ASSERT_PTR_NOT_NULL_FATAL(fabric->flows[number]);
	return number;
}

uint64_t fabric_received(const struct fabric *fabric, uint32_t flow)
{
	return vl_flow_received_bytes(fabric->flows[flow], 0);
}

double fabric_rate(struct fabric *fabric, uint32_t flow, uint64_t duration)
{
	uint64_t before = fabric_received(fabric, flow);

	vl_network_run_until(fabric->network, vl_network_now(fabric->network) + duration);
	return (double)(fabric_received(fabric, flow) - before) * 8e9 / (double)duration;
}

const struct vl_infiniband_port *fabric_host_port(const struct fabric *fabric, uint32_t host)
{
	return vl_channel_adapter_port(vl_node_channel_adapter(fabric->hosts[host]));
}

void fabric_destroy(struct fabric *fabric)
{
	for (uint32_t i = 0; i < fabric->host_count; i++)
		vl_traffic_destroy(fabric->traffic[i]);
	vl_network_destroy(fabric->network);
	vl_subnet_destroy(fabric->subnet);
}
