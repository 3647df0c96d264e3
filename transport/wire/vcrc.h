/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* CRC-16 of InfiniBand links: the variant CRC of packets (IBTA 7.8.2) and the CRC of link
 * packets (7.9.4). Polynomial 0x100b, reflected; low byte first on the wire. */
#ifndef VERBLINE_WIRE_VCRC_H
#define VERBLINE_WIRE_VCRC_H

#include <stddef.h>
#include <stdint.h>

/* Over LRH to ICRC for a VCRC, over the first four bytes for an LPCRC. */
uint16_t vl_vcrc(const void *data, size_t length);
/* The same by tables alone, for comparison. */
uint16_t vl_vcrc_portable(const void *data, size_t length);
/* What the CRC changes by (exclusive or) when length bytes that following others come after change
 * by change (exclusive or). The CRC is linear, so that it is mended without reading the packet;
 * following is at most 8191, as packets are. */
uint16_t vl_vcrc_change(const void *change, size_t length, size_t following);
/* Mends the two bytes of a VCRC by such a change. */
static inline void vl_vcrc_mend(uint8_t vcrc[2], uint16_t change)
{
	vcrc[0] ^= (uint8_t)change;
	vcrc[1] ^= (uint8_t)(change >> 8);
}

#endif
