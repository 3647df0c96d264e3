/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * udaddy of librdmacm, both sides: the client resolves the service to a QPN by SIDR and sends
 * datagrams with its own QPN as immediate; the server sends each back to where it came from. One UD
 * queue pair serves all clients of a device.
 */
#ifndef VERBLINE_APPS_ENDPOINT_UDADDY_H
#define VERBLINE_APPS_ENDPOINT_UDADDY_H

#include "apps/endpoint/notice.h"
#include "transport/cm/connection.h"

#include <stdbool.h>
#include <stdint.h>

#define VL_UDADDY_PORT     7174 /* of RDMA_PS_UDP */
#define VL_UDADDY_RECEIVES 256

struct vl_udaddy;

struct vl_udaddy_config {
	struct vl_device *device;
	struct vl_cm *cm; /* polled by the caller */
	uint16_t port;    /* server: to listen to; client: to resolve */
	struct vl_notices *notices;
	/* Client */
	bool is_client;
	union ibv_gid destination;
	uint8_t sgid_index;
	uint8_t traffic_class, service_level;
	uint32_t connections; /* resolved one after the other, and then all sent to */
	uint32_t count;       /* messages of each, at least 1 */
	uint32_t size;        /* bytes, 1.. the path MTU */
	uint64_t patience;    /* ns without an answer, after which it has failed; 0: 5 s */
};

struct vl_udaddy_counters {
	uint64_t requests; /* server: resolved by clients */
	uint64_t received;
	uint64_t sent;
	uint64_t dropped; /* not sent back, as too many waited */
	uint64_t failed;  /* client: connections that did not get all messages back */
};

struct vl_udaddy *vl_udaddy_open(const struct vl_udaddy_config *config, uint64_t now, int *error);
void vl_udaddy_close(struct vl_udaddy *udaddy, uint64_t now);
void vl_udaddy_poll(struct vl_udaddy *udaddy, uint64_t now);
uint64_t vl_udaddy_next_deadline(const struct vl_udaddy *udaddy);
/* Client: all connections have been served. */
bool vl_udaddy_is_over(const struct vl_udaddy *udaddy);
const struct vl_udaddy_counters *vl_udaddy_counters(const struct vl_udaddy *udaddy);

#endif
