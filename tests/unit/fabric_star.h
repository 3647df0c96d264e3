/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Hosts around one switch, in virtual time. */
#ifndef VERBLINE_TESTS_FABRIC_STAR_H
#define VERBLINE_TESTS_FABRIC_STAR_H

#include "dataplane/flow.h"
#include "dataplane/network.h"
#include "tests/support/hosts.h"
#include "tests/support/suite.h"

#include <string.h>

#define RATE        UINT64_C(100000000000)
#define PROPAGATION 300u
#define MOST_HOSTS  6u

/* Hosts 1 to n at ports 0 to n - 1 of a switch. */
struct star {
	struct vl_network *network;
	struct vl_node *sw;
	struct vl_node *hosts[MOST_HOSTS];
	struct vl_traffic *traffic[MOST_HOSTS];
	struct vl_flow *flows[MOST_HOSTS];
	unsigned int count;
	uint64_t taps_seen, digest, last_time, backward;
};

static const struct vl_link_config clean = {.rate = RATE, .propagation = PROPAGATION};

static inline struct vl_switch_config switch_config(void)
{
	struct vl_switch_config config;

	vl_switch_config_defaults(&config, MOST_HOSTS, 4000000);
	config.port.queues[6].scheduler.type = VL_SCHEDULING_STRICT;
	memcpy(config.mac, (uint8_t[6]){2, 1}, 6);
	return config;
}

/* Pause at 60 KB of an ingress; the link's round trip and two frames of headroom and more. */
static inline struct vl_switch_config lossless_config(uint64_t headroom)
{
	struct vl_switch_config config = switch_config();

	vl_switch_config_lossless(&config.port, HOST_DATA_PRIORITY, 60000, 40000, headroom);
	return config;
}

static inline void start(struct star *star, unsigned int count,
			 const struct vl_switch_config *config)
{
	const struct vl_traffic_config memory = {.largest_message = 65536};

	memset(star, 0, sizeof(*star));
	star->count = count;
	star->network = vl_network_create(NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(star->network);
	star->sw = vl_network_add_switch(star->network, "leaf", config);
	CU_ASSERT_PTR_NOT_NULL_FATAL(star->sw);
	for (unsigned int i = 0; i < count; i++) {
		struct vl_endpoint_config host = host_config((uint16_t)(1 + i), RATE);

		star->hosts[i] = vl_network_add_endpoint(star->network, &host);
		CU_ASSERT_PTR_NOT_NULL_FATAL(star->hosts[i]);
		CU_ASSERT_EQUAL_FATAL(vl_network_connect(star->network, star->hosts[i], 0, star->sw,
							 i, &clean, NULL),
				      0);
		star->traffic[i] =
			vl_traffic_create(vl_node_endpoint(star->hosts[i]), &memory, NULL);
		CU_ASSERT_PTR_NOT_NULL_FATAL(star->traffic[i]);
	}
	CU_ASSERT_EQUAL_FATAL(vl_network_route(star->network), 0);
}

/* A flow of WRITEs from one host (by its number) to another. */
static inline void add_flow(struct star *star, unsigned int from, unsigned int to, uint32_t size,
			    uint64_t messages, const struct vl_cc_parameters *cc)
{
	const struct vl_flow_config config = {
		.transport = IBV_QPT_RC,
		.verb = VL_FLOW_WRITE,
		.size = size,
		.messages = messages,
		.qps = 1,
		.depth = 32,
		.path_mtu = IBV_MTU_4096,
		.priority = HOST_DATA_PRIORITY,
		.dscp = 26,
		.timeout = 14,
		.retry_count = 7,
		.rnr_retry = 7,
		.cc = cc,
	};

	star->flows[from - 1] =
		vl_flow_create(star->traffic[from - 1], star->traffic[to - 1], &config, 0, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(star->flows[from - 1]);
}

static inline uint64_t finish_time(struct star *star)
{
	uint64_t last = 0;

	for (unsigned int i = 0; i < star->count; i++) {
		const struct vl_generate_progress *progress;

		if (!star->flows[i])
			continue;
		progress = vl_flow_progress(star->flows[i], 0);
		CU_ASSERT_EQUAL(progress->status, IBV_WC_SUCCESS);
		CU_ASSERT_EQUAL(progress->completed,
				vl_flow_configuration(star->flows[i])->messages);
		if (progress->last_completion > last)
			last = progress->last_completion;
	}
	return last;
}

static inline const struct vl_counters *counters_of(const struct star *star, unsigned int host)
{
	return vl_device_counters(vl_node_endpoint(star->hosts[host - 1])->device);
}

static inline struct vl_switch_port *port_of(const struct star *star, unsigned int host)
{
	return &vl_node_switch(star->sw)->ports[host - 1];
}

static inline void finish(struct star *star)
{
	CU_ASSERT_EQUAL(
		((struct vl_memory_frame_pool *)vl_network_frame_pool(star->network))->in_use, 0);
	for (unsigned int i = 0; i < star->count; i++)
		vl_traffic_destroy(star->traffic[i]);
	vl_network_destroy(star->network);
}

#endif
