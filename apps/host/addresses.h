/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Addresses as people write them. Errors say what would be right, without the value's place. */
#ifndef VERBLINE_APPS_HOST_ADDRESSES_H
#define VERBLINE_APPS_HOST_ADDRESSES_H

#include "dataplane/ip/ip.h"

#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdint.h>

/* All return 0 or -EINVAL. */

/* "10.0.0.1" or "fd00::1"; IPv4 becomes ::ffff:a.b.c.d. */
int vl_address_parse(const char *text, union ibv_gid *address, char *error, size_t size);
/* "10.0.0.1/24". A host's: neither zero, multicast, loopback, nor its subnet's own or broadcast
 * address. */
int vl_host_address_parse(const char *text, struct vl_ip_address *address, char *error,
			  size_t size);
/* What keeps a host from having an address in a subnet (0: any) as for vl_host_address_parse; NULL:
 * nothing. */
const char *vl_address_fault(const union ibv_gid *address, uint32_t prefix_length);
/* "02:00:00:00:00:01": unicast, not zero. */
int vl_mac_parse(const char *text, uint8_t mac[6], char *error, size_t size);

#define VL_ADDRESS_TEXT 46
/* The way back, without prefix. */
const char *vl_address_text(const union ibv_gid *address, char text[VL_ADDRESS_TEXT]);

/* Why a peer that a connection was asked of cannot be reached, and what to look at: of the negative
 * errno value that the connection manager's event has. */
#define VL_UNREACHABLE_TEXT 224
const char *vl_unreachable_text(int status, const union ibv_gid *peer,
				char text[VL_UNREACHABLE_TEXT]);

#endif
