/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/port/ethdev.h"

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

/* Path MTU 4096 and all headers from IPv6 to ICRC, rounded up. */
#define MTU                 4240
#define DEFAULT_DESCRIPTORS 1024

static_assert(MTU + RTE_ETHER_HDR_LEN >= VL_MAX_FRAME_LENGTH, "the MTU takes every frame");

struct ethdev_port {
	struct vl_port port; /* must be first */
	uint16_t id;
	bool is_started;
	bool was_probed; /* here, and so is removed here */
};

static uint16_t ethdev_receive(struct vl_port *port, struct rte_mbuf **mbufs, uint16_t count)
{
	return rte_eth_rx_burst(((struct ethdev_port *)port)->id, 0, mbufs, count);
}

static uint16_t ethdev_transmit(struct vl_port *port, struct rte_mbuf **mbufs, uint16_t count)
{
	return rte_eth_tx_burst(((struct ethdev_port *)port)->id, 0, mbufs, count);
}

static void ethdev_statistics(struct vl_port *port, struct vl_port_statistics *statistics)
{
	struct rte_eth_stats found;

	if (rte_eth_stats_get(((struct ethdev_port *)port)->id, &found))
		return;
	statistics->rx_missed = found.imissed;
	statistics->rx_errors = found.ierrors;
	statistics->rx_nombuf = found.rx_nombuf;
	statistics->tx_errors = found.oerrors;
}

static void ethdev_close(struct vl_port *port)
{
	struct ethdev_port *ethdev = (struct ethdev_port *)port;
	struct rte_device *device = NULL;
	struct rte_eth_dev_info info;

	if (!rte_eth_dev_info_get(ethdev->id, &info))
		device = info.device;
	if (ethdev->is_started)
		rte_eth_dev_stop(ethdev->id);
	rte_eth_dev_close(ethdev->id);
	if (ethdev->was_probed && device)
		rte_dev_remove(device);
	rte_free(ethdev);
}

static const struct vl_port_operations ethdev_operations = {
	.kind = "ethdev",
	.receive = ethdev_receive,
	.transmit = ethdev_transmit,
	.statistics = ethdev_statistics,
	.close = ethdev_close,
};

/* What DPDK logged says more than its return value does. */
static int fail(struct vl_error *error, int code, const char *name, const char *what)
{
	const char *logged = vl_log_text();

	return vl_error_set(error, code, "port %s: %s: %s", name, what,
			    *logged ? logged : rte_strerror(-code));
}

static int find_or_probe(struct ethdev_port *ethdev, const char *devargs, struct vl_error *error)
{
	char name[VL_PORT_NAME_LENGTH];
	size_t length = strcspn(devargs, ",");
	int result;

	if (!length || length >= sizeof(name)) {
		return vl_error_set(error, -EINVAL,
				    "port %s: a device name has 1 to %zu characters", devargs,
				    sizeof(name) - 1);
	}
	memcpy(name, devargs, length);
	name[length] = '\0';
	memcpy(ethdev->port.name, name, sizeof(name));
	if (!rte_eth_dev_get_port_by_name(name, &ethdev->id))
		return 0;
	result = rte_dev_probe(devargs);
	if (result)
		return fail(error, result, devargs, "no such device");
	if (rte_eth_dev_get_port_by_name(name, &ethdev->id))
		return vl_error_set(error, -ENODEV, "port %s: not a network device", devargs);
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

/* A device whose MTU cannot be set (net_null, net_ring) takes any frame. */
static int set_mtu(const struct ethdev_port *ethdev, struct vl_error *error)
{
	int result = rte_eth_dev_set_mtu(ethdev->id, MTU);

	if (!result || result == -ENOTSUP)
		return 0;
	return fail(error, result, ethdev->port.name, "the MTU cannot be set to " RTE_STR(MTU));
}

static int set_up(struct ethdev_port *ethdev, const struct vl_port_config *config,
		  struct vl_error *error)
{
	struct rte_eth_conf conf = {0};
	struct rte_eth_dev_info info;
	int result = rte_eth_dev_info_get(ethdev->id, &info);
	uint16_t rx_count, tx_count;

	if (result)
		return fail(error, result, ethdev->port.name, "does not describe itself");
	rx_count = descriptors(config->rx_descriptors, &info.rx_desc_lim);
	tx_count = descriptors(config->tx_descriptors, &info.tx_desc_lim);
	result = rte_eth_dev_configure(ethdev->id, 1, 1, &conf);
	if (result)
		return fail(error, result, ethdev->port.name, "cannot be configured");
	result = set_mtu(ethdev, error);
	if (result)
		return result;
	result = rte_eth_rx_queue_setup(ethdev->id, 0, rx_count, SOCKET_ID_ANY, NULL,
					config->mempool);
	if (result)
		return fail(error, result, ethdev->port.name, "no receive queue");
	result = rte_eth_tx_queue_setup(ethdev->id, 0, tx_count, SOCKET_ID_ANY, NULL);
	if (result)
		return fail(error, result, ethdev->port.name, "no transmit queue");
	return 0;
}

static int start(struct ethdev_port *ethdev, struct vl_error *error)
{
	struct rte_eth_link link;
	struct rte_ether_addr address;
	int result = rte_eth_dev_start(ethdev->id);

	if (result)
		return fail(error, result, ethdev->port.name, "does not start");
	ethdev->is_started = true;
	/* Unicast to another address is dropped, and counted, by the transport. */
	rte_eth_promiscuous_enable(ethdev->id);
	if (!rte_eth_macaddr_get(ethdev->id, &address))
		memcpy(ethdev->port.mac, address.addr_bytes, sizeof(ethdev->port.mac));
	if (!rte_eth_link_get_nowait(ethdev->id, &link) && link.link_status &&
	    link.link_speed != RTE_ETH_SPEED_NUM_UNKNOWN)
		ethdev->port.link_rate = link.link_speed * UINT64_C(1000000);
	return 0;
}

static struct vl_port *open_ethdev(const char *devargs, const struct vl_port_config *config,
				   struct vl_error *error)
{
	struct ethdev_port *ethdev = rte_zmalloc(NULL, sizeof(*ethdev), RTE_CACHE_LINE_SIZE);
	int result;

	if (!ethdev) {
		vl_error_set(error, -ENOMEM, "port %s: no memory", devargs);
		return NULL;
	}
	ethdev->port.operations = &ethdev_operations;
	vl_log_clear();
	if (find_or_probe(ethdev, devargs, error)) {
		rte_free(ethdev);
		return NULL;
	}
	result = set_up(ethdev, config, error);
	if (!result)
		result = start(ethdev, error);
	if (result) {
		ethdev_close(&ethdev->port);
		return NULL;
	}
	return &ethdev->port;
}

struct vl_port *vl_ethdev_open_vdev(const char *devargs, const struct vl_port_config *config,
				    struct vl_error *error)
{
	return open_ethdev(devargs, config, error);
}

struct vl_port *vl_ethdev_open_pci(const char *address, const struct vl_port_config *config,
				   struct vl_error *error)
{
	unsigned int domain, bus, device, function;
	char full[VL_PORT_NAME_LENGTH];
	int end = 0;

	if (sscanf(address, "%4x:%2x:%2x.%1x%n", &domain, &bus, &device, &function, &end) != 4) {
		domain = 0;
		if (sscanf(address, "%2x:%2x.%1x%n", &bus, &device, &function, &end) != 3)
			end = 0;
	}
	if (!end || (address[end] && address[end] != ',')) {
		vl_error_set(
			error, -EINVAL,
			"port pci:%s: not a PCI address; write it as lspci -D does: 0000:3b:00.0",
			address);
		return NULL;
	}
	snprintf(full, sizeof(full), "%04x:%02x:%02x.%x%s", domain, bus, device, function,
		 address + end);
	return open_ethdev(full, config, error);
}
