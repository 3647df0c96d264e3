/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* IPv4 addresses as GIDs: ::ffff:a.b.c.d (RFC 4291 2.5.5.2), as RoCEv2 has them. */
#ifndef VERBLINE_WIRE_GID_H
#define VERBLINE_WIRE_GID_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Where the four bytes lie in gid.raw. */
#define VL_GID_IPV4_OFFSET 12

static inline bool vl_gid_is_ipv4(const union ibv_gid *gid)
{
	static const uint8_t prefix[VL_GID_IPV4_OFFSET] = {[10] = 0xff, [11] = 0xff};

	return !memcmp(gid->raw, prefix, sizeof(prefix));
}

static inline union ibv_gid vl_gid_of_ipv4(const uint8_t address[4])
{
	union ibv_gid gid = {.raw = {[10] = 0xff, [11] = 0xff}};

	memcpy(gid.raw + VL_GID_IPV4_OFFSET, address, 4);
	return gid;
}

#endif
