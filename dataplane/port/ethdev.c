/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/port/ethdev.h"

#include "dataplane/port/flow_rule.h"
#include "dataplane/port/kernel_interface.h"
#include "dataplane/port/receive_offload.h"
#include "dataplane/runtime/compat.h"
#include "dataplane/runtime/log.h"
#include "dataplane/runtime/mempool.h"

#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>
#include <rte_mempool.h>

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_DESCRIPTORS 1024

#define WANTED_RSS (RTE_ETH_RSS_NONFRAG_IPV4_UDP | RTE_ETH_RSS_NONFRAG_IPV6_UDP)

static_assert(VL_PORT_DEFAULT_MTU + RTE_ETHER_HDR_LEN >= VL_MAX_FRAME_LENGTH,
	      "the MTU takes every frame");

struct ethdev_port {
	struct vl_port port; /* must be first */
	uint16_t id;
	bool is_started;
	bool was_probed; /* here, and so is removed here */
	struct rte_mempool *own_mempool;
	int held_descriptor;
	int interface;
	bool chatters;
	uint64_t rx_offloads; /* enabled */
	struct vl_receive_offload offload;
};

static uint16_t ethdev_receive(struct vl_port *port, uint16_t queue, struct rte_mbuf **mbufs,
			       uint16_t count)
{
	struct ethdev_port *ethdev = (struct ethdev_port *)port;

	count = rte_eth_rx_burst(ethdev->id, queue, mbufs, count);
	return vl_receive_offload_take(&ethdev->offload, queue, mbufs, count);
}

static uint16_t ethdev_transmit(struct vl_port *port, uint16_t queue, struct rte_mbuf **mbufs,
				uint16_t count)
{
	return rte_eth_tx_burst(((struct ethdev_port *)port)->id, queue, mbufs, count);
}

static int ethdev_steer_qpn(struct vl_port *port, uint32_t qpn, uint32_t mask, uint16_t queue,
			    struct vl_error *error)
{
	return vl_flow_rule_qpn(((struct ethdev_port *)port)->id, port->name, qpn, mask, queue,
				error);
}

static enum vl_port_link ethdev_link(struct vl_port *port)
{
	const struct ethdev_port *ethdev = (const struct ethdev_port *)port;
	struct rte_eth_link link = {0};

	if (ethdev->interface)
		return vl_kernel_interface_link(ethdev->interface);
	if (rte_eth_dev_is_removed(ethdev->id))
		return VL_PORT_LINK_GONE;
	return !rte_eth_link_get_nowait(ethdev->id, &link) && link.link_status == RTE_ETH_LINK_UP
		       ? VL_PORT_LINK_UP
		       : VL_PORT_LINK_DOWN;
}

static uint64_t ethdev_arrival_error(const struct vl_port *port)
{
	return ((const struct ethdev_port *)port)->offload.clock_error;
}

static void ethdev_statistics(struct vl_port *port, struct vl_port_statistics *statistics)
{
	struct ethdev_port *ethdev = (struct ethdev_port *)port;
	struct rte_eth_stats found = {0};

	rte_eth_stats_get(ethdev->id, &found);
	*statistics = (struct vl_port_statistics){
		.rx_frames = found.ipackets,
		.rx_bytes = found.ibytes,
		.tx_frames = found.opackets,
		.tx_bytes = found.obytes,
		.rx_missed = found.imissed,
		.rx_errors = found.ierrors,
		.rx_nombuf = found.rx_nombuf,
		.tx_errors = found.oerrors,
	};
	for (uint16_t i = 0; i < port->queue_count; i++) {
		statistics->rx_ip_checksum += ethdev->offload.queues[i].ip_checksum;
		statistics->rx_tag_lost += ethdev->offload.queues[i].tag_lost;
		statistics->rx_timed += ethdev->offload.queues[i].timed;
	}
}

/* What is left when the device is closed, or was not opened. */
static void release(struct ethdev_port *ethdev)
{
	if (ethdev->held_descriptor > 0)
		close(ethdev->held_descriptor);
	rte_mempool_free(ethdev->own_mempool);
	rte_free(ethdev);
}

static void close_device(struct ethdev_port *ethdev)
{
	struct rte_device *device = NULL;
	struct rte_eth_dev_info info;

	vl_receive_offload_stop(&ethdev->offload);
	if (!rte_eth_dev_info_get(ethdev->id, &info))
		device = info.device;
	if (ethdev->is_started)
		rte_eth_dev_stop(ethdev->id);
	rte_eth_dev_close(ethdev->id);
	if (ethdev->was_probed && device)
		rte_dev_remove(device);
}

static void ethdev_close(struct vl_port *port)
{
	struct ethdev_port *ethdev = (struct ethdev_port *)port;
	int silenced = ethdev->chatters ? vl_log_silence(stderr) : -1;

	close_device(ethdev);
	vl_log_restore(stderr, silenced);
	release(ethdev);
}

static const struct vl_port_operations ethdev_operations = {
	.kind = "ethdev",
	.receive = ethdev_receive,
	.transmit = ethdev_transmit,
	.arrival_error = ethdev_arrival_error,
	.link = ethdev_link,
	.steer_qpn = ethdev_steer_qpn,
	.statistics = ethdev_statistics,
	.close = ethdev_close,
};

int vl_ethdev_id(const struct vl_port *port)
{
	return port->operations == &ethdev_operations ? ((const struct ethdev_port *)port)->id : -1;
}

/* What DPDK logged says more than its return value does. */
static int fail(struct vl_error *error, int code, const char *name, const char *what)
{
	const char *logged = vl_log_text();

	return vl_error_set(error, code, "port %s: %s: %s", name, what,
			    *logged ? logged : rte_strerror(-code));
}

static int find_or_probe(struct ethdev_port *ethdev, const struct vl_ethdev_plan *plan,
			 struct vl_error *error)
{
	char name[VL_PORT_NAME_LENGTH];
	size_t length = strcspn(plan->devargs, ",");
	int result;

	if (!length || length >= sizeof(name)) {
		return vl_error_set(error, -EINVAL,
				    "port %s: a device name has 1 to %zu characters", plan->name,
				    sizeof(name) - 1);
	}
	memcpy(name, plan->devargs, length);
	name[length] = '\0';
	if (!rte_eth_dev_get_port_by_name(name, &ethdev->id))
		return 0;
	result = rte_dev_probe(plan->devargs);
	if (result)
		return fail(error, result, plan->name, "no such device");
	if (rte_eth_dev_get_port_by_name(name, &ethdev->id))
		return vl_error_set(error, -ENODEV, "port %s: not a network device", plan->name);
	ethdev->was_probed = true;
	return 0;
}

static uint16_t descriptors(uint16_t wanted, const struct rte_eth_desc_lim *limit)
{
	uint16_t count = wanted ? wanted : DEFAULT_DESCRIPTORS;

	if (limit->nb_max)
		count = RTE_MIN(count, limit->nb_max);
	count = RTE_MAX(count, limit->nb_min);
	return limit->nb_align > 1 ? (uint16_t)RTE_ALIGN_CEIL(count, limit->nb_align) : count;
}

static void note_abilities(struct vl_port *port, const struct vl_ethdev_plan *plan,
			   const struct rte_eth_dev_info *info)
{
	struct vl_port_abilities *abilities = &port->abilities;

	abilities->max_queues = RTE_MIN(info->max_rx_queues, info->max_tx_queues);
	if (plan->max_queues)
		abilities->max_queues = RTE_MIN(abilities->max_queues, plan->max_queues);
	abilities->max_mtu = info->max_mtu == UINT16_MAX ? 0 : info->max_mtu;
	if (plan->max_mtu)
		abilities->max_mtu = plan->max_mtu;
	abilities->rss_udp =
		plan->spreads_flows || (info->flow_type_rss_offloads & WANTED_RSS) == WANTED_RSS;
	abilities->rx_multi_segment =
		plan->joins_buffers || (info->rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER);
	port->numa_node = rte_eth_dev_socket_id(((struct ethdev_port *)port)->id);
}

static struct rte_mempool *mempool_of(const struct ethdev_port *ethdev,
				      const struct vl_port_config *config, uint16_t queue)
{
	if (ethdev->own_mempool)
		return ethdev->own_mempool;
	return config->mempools[queue] ? config->mempools[queue] : config->mempools[0];
}

/* The longest frame in one buffer of the smallest of the mempools. */
static uint32_t buffer_room(const struct ethdev_port *ethdev, const struct vl_port_config *config)
{
	uint32_t room = UINT16_MAX;

	for (uint16_t queue = 0; queue < ethdev->port.queue_count; queue++) {
		struct rte_mempool *mempool = mempool_of(ethdev, config, queue);

		room = RTE_MIN(room, (uint32_t)rte_pktmbuf_data_room_size(mempool) -
					     RTE_PKTMBUF_HEADROOM);
	}
	return room;
}

static int choose_mtu(struct vl_port *port, const struct vl_ethdev_plan *plan,
		      const struct vl_port_config *config, struct vl_error *error)
{
	uint16_t most = port->abilities.max_mtu ? port->abilities.max_mtu : VL_PORT_MAX_MTU;

	if (plan->mtu) {
		port->mtu = plan->mtu;
		return 0;
	}
	if (config->mtu > most) {
		return vl_error_set(error, -EINVAL,
				    "port %s: MTU %u, and the device has %u at most", port->name,
				    config->mtu, most);
	}
	port->mtu = config->mtu ? config->mtu : RTE_MIN(VL_PORT_DEFAULT_MTU, most);
	return 0;
}

static int configure(struct ethdev_port *ethdev, const struct rte_eth_dev_info *info,
		     const struct vl_port_config *config, struct vl_error *error)
{
	struct vl_port *port = &ethdev->port;
	uint64_t rss = info->flow_type_rss_offloads & WANTED_RSS;
	uint32_t needed = port->mtu + (uint32_t)RTE_ETHER_HDR_LEN + RTE_VLAN_HLEN;
	uint32_t room = buffer_room(ethdev, config);
	struct rte_eth_conf conf = {0};
	int result;

	if (needed > room) {
		if (!port->abilities.rx_multi_segment) {
			return vl_error_set(
				error, -EINVAL,
				"port %s: MTU %u needs buffers of %u bytes, and they have "
				"%u: make the mempool for longer frames",
				port->name, port->mtu, needed, room);
		}
		conf.rxmode.offloads |= info->rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER;
	}
	conf.rxmode.offloads |= vl_receive_offload_wanted(info->rx_offload_capa);
	ethdev->rx_offloads = conf.rxmode.offloads;
	if (port->queue_count > 1 && rss) {
		conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		conf.rx_adv_conf.rss_conf.rss_hf = rss;
	}
	result = rte_eth_dev_configure(ethdev->id, port->queue_count, port->queue_count, &conf);
	return result ? fail(error, result, port->name, "cannot be configured") : 0;
}

/* A device whose MTU cannot be set (net_null, net_ring) takes any frame. */
static int set_mtu(struct ethdev_port *ethdev, const struct vl_ethdev_plan *plan,
		   struct vl_error *error)
{
	char what[64];
	int result;

	if (plan->mtu)
		return 0;
	result = rte_eth_dev_set_mtu(ethdev->id, ethdev->port.mtu);
	ethdev->port.abilities.sets_mtu = !result;
	if (!result || result == -ENOTSUP)
		return 0;
	snprintf(what, sizeof(what), "the MTU cannot be set to %u", ethdev->port.mtu);
	return fail(error, result, ethdev->port.name, what);
}

static int set_up_queues(struct ethdev_port *ethdev, const struct rte_eth_dev_info *info,
			 const struct vl_port_config *config, struct vl_error *error)
{
	uint16_t rx_count = descriptors(config->rx_descriptors, &info->rx_desc_lim);
	uint16_t tx_count = descriptors(config->tx_descriptors, &info->tx_desc_lim);
	unsigned int node = (unsigned int)ethdev->port.numa_node;
	int result;

	for (uint16_t queue = 0; queue < ethdev->port.queue_count; queue++) {
		struct rte_mempool *mempool = mempool_of(ethdev, config, queue);

		result = rte_eth_rx_queue_setup(ethdev->id, queue, rx_count, node, NULL, mempool);
		if (result)
			return fail(error, result, ethdev->port.name, "no receive queue");
		result = rte_eth_tx_queue_setup(ethdev->id, queue, tx_count, node, NULL);
		if (result)
			return fail(error, result, ethdev->port.name, "no transmit queue");
	}
	return 0;
}

static int set_up(struct ethdev_port *ethdev, const struct vl_ethdev_plan *plan,
		  const struct vl_port_config *config, struct vl_error *error)
{
	struct vl_port *port = &ethdev->port;
	struct rte_eth_dev_info info;
	int result = rte_eth_dev_info_get(ethdev->id, &info);

	if (result)
		return fail(error, result, port->name, "does not describe itself");
	note_abilities(port, plan, &info);
	port->queue_count =
		RTE_MIN(config->queue_count ? config->queue_count : 1, port->abilities.max_queues);
	result = choose_mtu(port, plan, config, error);
	if (!result)
		result = configure(ethdev, &info, config, error);
	if (!result)
		result = set_mtu(ethdev, plan, error);
	if (!result)
		result = set_up_queues(ethdev, &info, config, error);
	return result;
}

bool vl_ethdev_wants_other_mac(const struct vl_port_config *config, const uint8_t mac[6])
{
	static const uint8_t none[6];

	return memcmp(config->mac, none, sizeof(none)) && memcmp(config->mac, mac, sizeof(none));
}

/* Multicast is taken whole: neighbour discovery and pause frames come so. */
static void set_address(struct ethdev_port *ethdev, const struct vl_ethdev_plan *plan,
			const struct vl_port_config *config)
{
	struct vl_port *port = &ethdev->port;
	struct rte_ether_addr wanted, own = {0};
	bool is_own;

	memcpy(wanted.addr_bytes, config->mac, sizeof(config->mac));
	rte_eth_macaddr_get(ethdev->id, &own);
	is_own = !vl_ethdev_wants_other_mac(config, own.addr_bytes);
	if (!is_own && !plan->sees_all)
		port->abilities.sets_mac = !rte_eth_dev_default_mac_addr_set(ethdev->id, &wanted);
	if (is_own)
		wanted = own;
	memcpy(port->mac, wanted.addr_bytes, sizeof(port->mac));
	if (plan->sees_all)
		return;
	if (!is_own && !port->abilities.sets_mac)
		rte_eth_promiscuous_enable(ethdev->id);
	else if (rte_eth_allmulticast_enable(ethdev->id))
		rte_eth_promiscuous_enable(ethdev->id);
}

/* Pause frames are the endpoint's to obey and to send. */
static void turn_flow_control_off(struct ethdev_port *ethdev)
{
	struct rte_eth_fc_conf flow_control = {0};
	int result = rte_eth_dev_flow_ctrl_get(ethdev->id, &flow_control);

	if (result)
		return;
	flow_control.mode = RTE_ETH_FC_NONE;
	flow_control.autoneg = 0;
	flow_control.mac_ctrl_frame_fwd = 1;
	result = rte_eth_dev_flow_ctrl_set(ethdev->id, &flow_control);
	if (result) {
		flow_control.mac_ctrl_frame_fwd = 0;
		result = rte_eth_dev_flow_ctrl_set(ethdev->id, &flow_control);
	}
	ethdev->port.abilities.flow_control_off = !result;
}

static int start(struct ethdev_port *ethdev, const struct vl_ethdev_plan *plan,
		 const struct vl_port_config *config, struct vl_error *error)
{
	struct rte_eth_link link;
	int result = rte_eth_dev_start(ethdev->id);

	if (result)
		return fail(error, result, ethdev->port.name, "does not start");
	ethdev->is_started = true;
	set_address(ethdev, plan, config);
	turn_flow_control_off(ethdev);
	vl_receive_offload_start(&ethdev->offload, ethdev->id, ethdev->rx_offloads);
	ethdev->port.abilities.rx_time = ethdev->offload.has_time;
	ethdev->port.abilities.rx_ip_checksum = ethdev->rx_offloads & RTE_ETH_RX_OFFLOAD_IPV4_CKSUM;
	ethdev->port.abilities.steers_qpn = vl_flow_rule_qpn_is_possible(ethdev->id);
	if (!rte_eth_link_get_nowait(ethdev->id, &link) && link.link_status &&
	    link.link_speed != RTE_ETH_SPEED_NUM_UNKNOWN)
		ethdev->port.link_rate = link.link_speed * UINT64_C(1000000);
	if (plan->rate_is_known)
		ethdev->port.link_rate = plan->link_rate;
	return 0;
}

struct vl_port *vl_ethdev_open(const struct vl_ethdev_plan *plan,
			       const struct vl_port_config *config, struct vl_error *error)
{
	struct ethdev_port *ethdev = rte_zmalloc(NULL, sizeof(*ethdev), RTE_CACHE_LINE_SIZE);
	int result, silenced;

	if (!ethdev) {
		if (plan->held_descriptor > 0)
			close(plan->held_descriptor);
		rte_mempool_free(plan->own_mempool);
		vl_error_set(error, -ENOMEM, "port %s: no memory", plan->name);
		return NULL;
	}
	ethdev->port.operations = &ethdev_operations;
	snprintf(ethdev->port.name, sizeof(ethdev->port.name), "%s", plan->name);
	vl_log_clear();
	ethdev->own_mempool = plan->own_mempool;
	ethdev->held_descriptor = plan->held_descriptor;
	ethdev->interface = plan->interface;
	ethdev->chatters = plan->chatters;
	silenced = plan->chatters ? vl_log_silence(stderr) : -1;
	if (find_or_probe(ethdev, plan, error)) {
		vl_log_restore(stderr, silenced);
		release(ethdev);
		return NULL;
	}
	result = set_up(ethdev, plan, config, error);
	if (!result)
		result = start(ethdev, plan, config, error);
	vl_log_restore(stderr, silenced);
	if (!result)
		return &ethdev->port;
	ethdev_close(&ethdev->port);
	return NULL;
}
