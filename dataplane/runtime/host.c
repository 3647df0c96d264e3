/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/runtime/host.h"

#include "dataplane/runtime/constant_stage.h"
#include "dataplane/runtime/host_private.h"
#include "dataplane/runtime/stream_stage.h"
#include "transport/wire/gid.h"

#include <rte_errno.h>
#include <rte_mbuf.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_FRAME_COUNT 8192u
#define FRAMES_OF_A_PORT    3072u /* descriptors of both directions, and those under way */
#define DEFAULT_RING_SIZE   1024u
#define LEAST_RING_SIZE     64u
#define MAX_RING_SIZE       65536u
#define DEFAULT_LINK_RATE   UINT64_C(100000000000)
#define FIRST_QPN           17u
/* Ethernet header and two tags around the MTU. */
#define LINK_HEADERS 22u
/* GRH or IP, UDP, BTH, the longest extension headers, ICRC: as Linux reckons. */
#define PATH_MTU_HEADERS 96u
/* QPNs go round in a range four times as large as there may be QPs. */
#define QPN_RANGE_FACTOR  4u
#define MAX_QP_OF_SEVERAL ((1u << VL_HOST_QPN_SHIFT) / QPN_RANGE_FACTOR - FIRST_QPN)
#define DEFAULT_MAX_QP    16384u

/* ---- Configuration ---------------------------------------------------------------------- */

static struct vl_host_config with_defaults(const struct vl_host_config *config)
{
	struct vl_host_config filled = *config;
	uint32_t others = config->worker_count > 1 ? config->worker_count - 1 : 1;

	if (!filled.frame_count)
		filled.frame_count =
			RTE_MAX(DEFAULT_FRAME_COUNT, filled.port_count * FRAMES_OF_A_PORT);
	if (!filled.ring_size) {
		uint32_t spare = filled.frame_count / 4 / others;

		filled.ring_size = RTE_MIN(DEFAULT_RING_SIZE, RTE_MAX(LEAST_RING_SIZE, spare));
	}
	return filled;
}

/* Of the largest frames on any port. */
static uint32_t frame_length(const struct vl_host_config *config)
{
	uint32_t mtu = VL_PORT_DEFAULT_MTU;

	for (uint32_t i = 0; i < config->port_count; i++) {
		uint32_t own =
			config->ports[i].port ? config->ports[i].port->mtu : config->ports[i].mtu;

		mtu = RTE_MAX(mtu, own);
	}
	return RTE_MAX(mtu + LINK_HEADERS, VL_MAX_FRAME_LENGTH);
}

uint32_t vl_host_megabytes(const struct vl_host_config *config)
{
	struct vl_host_config filled = with_defaults(config);
	/* Two rings for each pair, a pointer a frame. */
	uint64_t rings = (uint64_t)filled.worker_count * filled.worker_count * 2 *
			 filled.ring_size * sizeof(void *);
	uint64_t structures = (uint64_t)filled.worker_count * sizeof(struct host_worker);

	/* 32 MB for what EAL itself and the devices' queues take, 2 for each further port. */
	return filled.worker_count *
		       vl_mempool_jumbo_megabytes(filled.frame_count, frame_length(&filled)) +
	       (uint32_t)((rings + structures) >> 20) + 32 +
	       2 * filled.port_count * filled.worker_count;
}

static int check(const struct vl_host_config *config, struct vl_error *error)
{
	if (!vl_eal_is_running())
		return vl_error_set(error, -ENODEV, "host: DPDK is not running");
	if (!config->worker_count || config->worker_count > vl_eal_worker_count())
		return vl_error_set(error, -EINVAL, "host: %u workers, and DPDK was started for %u",
				    config->worker_count, vl_eal_worker_count());
	if (!config->port_count || config->port_count > VL_HOST_MAX_PORTS)
		return vl_error_set(error, -EINVAL, "host: %u ports: must be 1 to %u",
				    config->port_count, VL_HOST_MAX_PORTS);
	if (config->ring_size == 1 || config->ring_size > MAX_RING_SIZE)
		return vl_error_set(error, -EINVAL,
				    "host: rings of %u frames: must be 2 to %u (or 0)",
				    config->ring_size, MAX_RING_SIZE);
	if (config->worker_count > 1 && config->device.max_qp > MAX_QP_OF_SEVERAL)
		return vl_error_set(error, -EINVAL,
				    "host: %u queue pairs a worker: one of several has room for %u",
				    config->device.max_qp, MAX_QP_OF_SEVERAL);
	return 0;
}

/* ---- Ports ------------------------------------------------------------------------------ */

static bool is_zero_mac(const uint8_t mac[6])
{
	static const uint8_t none[6];

	return !memcmp(mac, none, sizeof(none));
}

/* Of a port that has none: locally administered, from what tells hosts apart, the end of the first
 * address. */
static void make_mac(uint8_t mac[6], const struct vl_ip_config *ip)
{
	mac[0] = 0x02;
	mac[1] = 0x00;
	memcpy(mac + 2, ip->addresses[0].address.raw + 12, 4);
}

static int choose_path_mtu(struct host_port *port, const struct vl_host_port_config *config,
			   struct vl_error *error)
{
	uint32_t room = port->port->mtu ? port->port->mtu : VL_PORT_DEFAULT_MTU;
	enum ibv_mtu largest = IBV_MTU_256;

	while (largest < IBV_MTU_4096 && (128u << (largest + 1)) + PATH_MTU_HEADERS <= room)
		largest++;
	port->path_mtu = config->path_mtu ? config->path_mtu : largest;
	if (port->path_mtu <= largest)
		return 0;
	return vl_error_set(error, -EINVAL,
			    "port %s: path MTU %u does not fit its MTU of %u, which takes %u; ask "
			    "for an MTU of %u",
			    port->port->name, 128u << port->path_mtu, room, 128u << largest,
			    (128u << port->path_mtu) + PATH_MTU_HEADERS);
}

static int open_port(struct vl_host *host, uint32_t number, struct vl_error *error)
{
	const struct vl_host_port_config *config = &host->config.ports[number];
	struct host_port *port = &host->ports[number];
	struct vl_port_config open = {
		.queue_count = (uint16_t)host->config.worker_count,
		.mtu = (uint16_t)config->mtu,
	};

	port->ip = config->ip;
	memcpy(open.mac, config->ip.mac, sizeof(open.mac));
	for (uint32_t i = 0; i < host->config.worker_count; i++)
		open.mempools[i] = host->workers[i].mempool;
	if (!port->port)
		port->port = vl_port_open(config->name, &open, error);
	if (!port->port)
		return -ENODEV;
	if (is_zero_mac(port->ip.mac))
		memcpy(port->ip.mac, port->port->mac, sizeof(port->ip.mac));
	if (is_zero_mac(port->ip.mac))
		make_mac(port->ip.mac, &port->ip);
	port->link_rate = port->port->link_rate ? port->port->link_rate : DEFAULT_LINK_RATE;
	return choose_path_mtu(port, config, error);
}

/* Where the NIC can, it brings packets to the worker that has their QPs. */
static void steer_by_device(struct vl_host *host, struct vl_port *port)
{
	const uint32_t mask = 0xffffffu & ~((1u << VL_HOST_QPN_SHIFT) - 1);

	if (!port->abilities.steers_qpn || port->queue_count < host->config.worker_count)
		return;
	for (uint32_t i = 0; i < host->config.worker_count; i++) {
		/* What it does not take, the rings do. */
		if (vl_port_steer_qpn(port, i << VL_HOST_QPN_SHIFT, mask, (uint16_t)i, NULL))
			return;
	}
}

/* ---- Endpoints -------------------------------------------------------------------------- */

static void fill_gids(struct vl_device_config *device, const struct vl_ip_config *ip)
{
	device->gid_count = ip->address_count;
	for (uint32_t i = 0; i < ip->address_count; i++) {
		const union ibv_gid *address = &ip->addresses[i].address;

		device->gids[i] = (struct vl_gid_entry){
			.gid = *address,
			.encapsulation = vl_gid_is_ipv4(address) ? VL_ENCAPSULATION_ROCEV2_IPV4
								 : VL_ENCAPSULATION_ROCEV2_IPV6,
			.vlan_present = ip->vlan_present,
			.vlan_id = ip->vlan_id,
		};
	}
	if (ip->address_count)
		return;
	/* A device has an address; this one nobody knows. */
	device->gid_count = 1;
	device->gids[0] = (struct vl_gid_entry){
		.gid = {.raw = {0xfe, 0x80, [11] = 0xff, [12] = 0xfe}},
		.encapsulation = VL_ENCAPSULATION_ROCEV2_IPV6,
	};
}

static int make_endpoint(struct vl_host *host, uint32_t number, uint32_t worker_number,
			 struct vl_error *error)
{
	struct host_port *port = &host->ports[number];
	struct host_worker *worker = &host->workers[worker_number];
	struct vl_endpoint_config config = {
		.name = port->port->name,
		.device = host->config.device,
		.ip = port->ip.address_count ? &port->ip : NULL,
		.rate = port->link_rate,
		.pfc_response_delay = host->config.ports[number].pfc_response_delay,
	};
	struct vl_endpoint *endpoint;
	int result = 0;

	port->ip.speaks = worker_number == 0;
	memcpy(config.device.mac, port->ip.mac, sizeof(config.device.mac));
	fill_gids(&config.device, &port->ip);
	config.device.active_mtu = port->path_mtu;
	config.device.link_rate = port->link_rate;
	config.device.first_qpn = (worker_number << VL_HOST_QPN_SHIFT) + FIRST_QPN;
	config.device.seed += (uint64_t)number << 32 | worker_number;
	if (!config.device.max_qp && host->config.worker_count > 1)
		config.device.max_qp = RTE_MIN(DEFAULT_MAX_QP, MAX_QP_OF_SEVERAL);
	endpoint = vl_endpoint_create(&config, &result);
	if (!endpoint)
		return vl_error_set(
			error, result, "port %s, worker %u: %s", port->port->name, worker_number,
			result == -ENOMEM
				? "no memory"
				: "its addresses or its device's limits are out of range");
	vl_endpoint_stage_init(&worker->stages[number], endpoint, port->port, worker->mempool);
	worker->stages[number].queue = (uint16_t)worker_number;
	return 0;
}

/* ---- Workers ---------------------------------------------------------------------------- */

static struct rte_ring *make_ring(uint32_t size)
{
	/* Names of rings are unique in a process. */
	static unsigned int made;
	char name[RTE_RING_NAMESIZE];

	snprintf(name, sizeof(name), "host-ring%u", made++);
	return rte_ring_create(name, size, SOCKET_ID_ANY,
			       RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ);
}

static int make_worker(struct vl_host *host, uint32_t number, struct vl_error *error)
{
	static unsigned int made;
	struct host_worker *worker = &host->workers[number];
	char name[32];

	worker->host = host;
	worker->number = number;
	snprintf(name, sizeof(name), "host%u", made++);
	worker->mempool = vl_mempool_create_jumbo(name, host->config.frame_count,
						  frame_length(&host->config), error);
	if (!worker->mempool)
		return -ENOMEM;
	worker->worker = vl_worker_create(number, error);
	if (!worker->worker)
		return -ENODEV;
	for (uint32_t from = 0; from < host->config.worker_count; from++) {
		if (from == number)
			continue;
		worker->received[from] = make_ring(host->config.ring_size);
		if (!worker->received[from])
			return vl_error_set(error, -ENOMEM, "worker %u: no ring: %s", number,
					    rte_strerror(rte_errno));
	}
	return 0;
}

/* Workers beyond a port's queues send by those of the first ones, in turn. */
static int join_queues(struct vl_host *host, uint32_t number, struct vl_error *error)
{
	uint16_t queues = host->ports[number].port->queue_count;

	for (uint32_t i = 0; i < host->config.worker_count; i++) {
		struct host_worker *worker = &host->workers[i];
		struct host_worker *owner = &host->workers[i % queues];
		struct rte_ring *ring;

		worker->has_queue[number] = i < queues;
		if (i < queues)
			continue;
		ring = make_ring(host->config.ring_size);
		if (!ring)
			return vl_error_set(error, -ENOMEM, "worker %u: no ring: %s", i,
					    rte_strerror(rte_errno));
		owner->relays = true;
		owner->relay[number].rings[i] = ring;
		worker->stages[number].transmit_ring = ring;
	}
	return 0;
}

/* ---- Life ------------------------------------------------------------------------------- */

static int build(struct vl_host *host, struct vl_error *error)
{
	int result = 0;

	for (uint32_t i = 0; i < host->config.worker_count && !result; i++)
		result = make_worker(host, i, error);
	for (uint32_t i = 0; i < host->config.port_count && !result; i++)
		result = open_port(host, i, error);
	for (uint32_t i = 0; i < host->config.port_count && !result; i++) {
		for (uint32_t j = 0; j < host->config.worker_count && !result; j++)
			result = make_endpoint(host, i, j, error);
		if (!result)
			result = join_queues(host, i, error);
		if (!result && host->config.worker_count > 1)
			steer_by_device(host, host->ports[i].port);
	}
	return result;
}

static int add_round(struct vl_host *host, uint32_t number)
{
	struct vl_stage stage = vl_host_worker_stage(&host->workers[number]);

	return vl_worker_add_stage(host->workers[number].worker, &stage);
}

struct vl_host *vl_host_create(const struct vl_host_config *config, struct vl_error *error)
{
	struct vl_host *host = NULL;
	int result = check(config, error);

	if (!result)
		host = calloc(1, sizeof(*host));
	if (host)
		host->workers = aligned_alloc(RTE_CACHE_LINE_SIZE,
					      config->worker_count * sizeof(*host->workers));
	if (!host || !host->workers) {
		if (!result)
			vl_error_set(error, -ENOMEM, "host: no memory");
		for (uint32_t i = 0; i < config->port_count && i < VL_HOST_MAX_PORTS; i++)
			vl_port_close(config->ports[i].port);
		free(host);
		return NULL;
	}
	host->config = with_defaults(config);
	memset(host->workers, 0, config->worker_count * sizeof(*host->workers));
	for (uint32_t i = 0; i < config->port_count; i++)
		host->ports[i].port = config->ports[i].port;
	if (build(host, error)) {
		vl_host_destroy(host);
		return NULL;
	}
	return host;
}

static void drain(struct rte_ring *ring)
{
	struct rte_mbuf *mbuf;

	while (ring && !rte_ring_sc_dequeue(ring, (void **)&mbuf))
		rte_pktmbuf_free(mbuf);
	rte_ring_free(ring);
}

static void release_worker(struct vl_host *host, struct host_worker *worker)
{
	vl_worker_destroy(worker->worker);
	for (uint32_t i = 0; i < host->config.port_count; i++) {
		worker->stages[i].streams = NULL;
		vl_constant_stage_detach(worker->constants[i]);
		if (worker->stages[i].endpoint)
			vl_endpoint_stage_release(&worker->stages[i]);
		vl_endpoint_destroy(worker->stages[i].endpoint);
		rte_pktmbuf_free_bulk(worker->relay[i].mbufs, worker->relay[i].count);
		for (uint32_t j = 0; j < host->config.worker_count; j++)
			drain(worker->relay[i].rings[j]);
	}
	for (uint32_t i = 0; i < host->config.worker_count; i++)
		drain(worker->received[i]);
}

void vl_host_destroy(struct vl_host *host)
{
	if (!host)
		return;
	vl_host_stop(host);
	for (uint32_t i = 0; i < host->config.worker_count; i++)
		release_worker(host, &host->workers[i]);
	for (uint32_t i = 0; i < host->config.port_count; i++)
		vl_port_close(host->ports[i].port);
	for (uint32_t i = 0; i < host->config.worker_count; i++) {
		for (uint32_t j = 0; j < host->config.port_count; j++) {
			vl_stream_stage_close(host->workers[i].streams[j]);
			vl_constant_stage_close(host->workers[i].constants[j]);
		}
		rte_mempool_free(host->workers[i].mempool);
	}
	free(host->workers);
	free(host);
}

int vl_host_set_streams(struct vl_host *host, uint32_t port, uint32_t worker,
			struct vl_stream_group *group, uint32_t frame_count, struct vl_error *error)
{
	struct vl_stream_stage **place;

	if (port >= host->config.port_count || worker >= host->config.worker_count)
		return vl_error_set(error, -EINVAL, "streams: there is no port %u of worker %u",
				    port, worker);
	place = &host->workers[worker].streams[port];
	if (*place || host->is_running)
		return vl_error_set(error, -EBUSY, "streams: %s",
				    *place ? "the endpoint has some already"
					   : "the host is running");
	*place = vl_stream_stage_open(&host->workers[worker].stages[port], group, frame_count,
				      error);
	return *place ? 0 : -ENOMEM;
}

int vl_host_set_constant(struct vl_host *host, uint32_t port, uint32_t worker, const void *memory,
			 uint64_t length, uint32_t period, uint32_t frame_count,
			 struct vl_error *error)
{
	struct vl_constant_stage **place;

	if (port >= host->config.port_count || worker >= host->config.worker_count)
		return vl_error_set(error, -EINVAL,
				    "constant payload: there is no port %u of worker %u", port,
				    worker);
	place = &host->workers[worker].constants[port];
	if (*place || host->is_running)
		return vl_error_set(error, -EBUSY, "constant payload: %s",
				    *place ? "the endpoint has some already"
					   : "the host is running");
	*place = vl_constant_stage_open(&host->workers[worker].stages[port], memory, length, period,
					frame_count, error);
	return *place ? 0 : -EINVAL;
}

/* ---- Running ---------------------------------------------------------------------------- */

int vl_host_start(struct vl_host *host, struct vl_error *error)
{
	int result = 0;

	if (host->is_running)
		return vl_error_set(error, -EALREADY, "the host is running");
	/* Last, behind the stages that were added. */
	for (uint32_t i = 0; i < host->config.worker_count && !host->has_rounds; i++) {
		if (add_round(host, i))
			return vl_error_set(error, -ENOSPC, "worker %u: too many stages", i);
	}
	host->has_rounds = true;
	host->is_running = true;
	for (uint32_t i = 0; i < host->config.worker_count && !result; i++)
		result = vl_worker_start(host->workers[i].worker, error);
	if (result)
		vl_host_stop(host);
	return result;
}

void vl_host_stop(struct vl_host *host)
{
	for (uint32_t i = 0; i < host->config.worker_count; i++) {
		if (host->workers[i].worker)
			vl_worker_stop(host->workers[i].worker);
	}
	host->is_running = false;
}

uint64_t vl_host_now(const struct vl_host *host)
{
	(void)host;
	return vl_worker_now();
}

int vl_host_call(struct vl_host *host, uint32_t worker,
		 void (*function)(void *context, uint64_t now), void *context)
{
	if (worker >= host->config.worker_count)
		return -EINVAL;
	return vl_worker_call(host->workers[worker].worker, function, context);
}

int vl_host_add_stage(struct vl_host *host, uint32_t worker, const struct vl_stage *stage)
{
	return vl_worker_add_stage(host->workers[worker].worker, stage);
}

/* ---- Looking ---------------------------------------------------------------------------- */

struct vl_endpoint *vl_host_endpoint(const struct vl_host *host, uint32_t port, uint32_t worker)
{
	return host->workers[worker].stages[port].endpoint;
}

struct vl_port *vl_host_port(const struct vl_host *host, uint32_t port)
{
	return host->ports[port].port;
}

enum ibv_mtu vl_host_path_mtu(const struct vl_host *host, uint32_t port)
{
	return host->ports[port].path_mtu;
}

uint32_t vl_host_port_count(const struct vl_host *host)
{
	return host->config.port_count;
}

uint32_t vl_host_worker_count(const struct vl_host *host)
{
	return host->config.worker_count;
}

const uint8_t *vl_host_mac(const struct vl_host *host, uint32_t port)
{
	return host->ports[port].ip.mac;
}

struct rte_mempool *vl_host_mempool(const struct vl_host *host, uint32_t worker)
{
	return host->workers[worker].mempool;
}

struct vl_host_counters vl_host_counters(const struct vl_host *host, uint32_t worker)
{
	const struct host_worker *own = &host->workers[worker];
	struct vl_host_counters counters = {
		.worker = vl_worker_counters(own->worker),
		.handed_over = own->handed_over,
		.hand_over_dropped = own->hand_over_dropped,
	};

	for (uint32_t i = 0; i < host->config.port_count; i++) {
		counters.mempool_exhausted += own->stages[i].pool.exhausted;
		counters.rx_segmented += own->stages[i].counters.rx_segmented;
		counters.tx_refused += own->stages[i].counters.tx_refused;
	}
	return counters;
}
