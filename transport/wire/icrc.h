/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * The invariant CRC: CRC-32 of IEEE 802.3 over the packet with its mutable fields replaced by
 * ones. IBTA 7.8.1, A16.4.4, A17.3.3. Values are 32-bit numbers whose little-endian bytes go
 * on the wire.
 */
#ifndef VERBLINE_WIRE_ICRC_H
#define VERBLINE_WIRE_ICRC_H

#include "transport/wire/packet.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* CRC-32 of IEEE 802.3 in the convention of zlib: start with 0, feed pieces in order. */
uint32_t vl_crc32(uint32_t crc, const void *data, size_t length);
/* Those in use where the library is not, always there for comparison: by carry-less
 * multiplication where the processor has it, and by tables alone. */
uint32_t vl_crc32_folded(uint32_t crc, const void *data, size_t length);
uint32_t vl_crc32_portable(uint32_t crc, const void *data, size_t length);
/* Which implementation vl_crc32 uses: "ISA-L", "carry-less multiply" or "portable". */
const char *vl_crc32_implementation(void);

/* CRCs are linear: crc(A||B) = combine(crc(A), crc(B), operator for |B|). The operator is made
 * once per length (set-up), the combination costs a carry-less multiply. */
struct vl_crc32_shift {
	uint32_t multiplier;
};
struct vl_crc32_shift vl_crc32_shift(uint64_t length_of_second);
uint32_t vl_crc32_combine(uint32_t first, uint32_t second, struct vl_crc32_shift shift);
/* The same without the processor's carry-less multiply, for comparison. */
uint32_t vl_crc32_combine_portable(uint32_t first, uint32_t second, struct vl_crc32_shift shift);

/* network_header: the IPv4 or IPv6 header, the GRH, or for IB_LOCAL the LRH. (Before a GRH the
 * LRH counts as ones, and what it holds does not matter.)
 *
 * vl_icrc_mask replaces the mutable fields, up to the BTH's, by ones in place and returns the
 * CRC to start from. */
uint32_t vl_icrc_mask(enum vl_encapsulation encapsulation, uint8_t *network_header);
/* CRC of the masked headers, from network_header up to and including the last extension
 * header; continue over payload and pad with vl_crc32. length is at least that up to the BTH's
 * end and at most VL_MAX_HEADER_LENGTH. */
uint32_t vl_icrc_headers(enum vl_encapsulation encapsulation, const uint8_t *network_header,
			 uint32_t length);
/* The right ICRC of a parsed packet; packet->icrc must not be NULL. */
uint32_t vl_icrc_compute(const struct vl_packet *packet);
/* As found in the packet. */
uint32_t vl_icrc_found(const struct vl_packet *packet);
static inline bool vl_icrc_is_right(const struct vl_packet *packet)
{
	return vl_icrc_compute(packet) == vl_icrc_found(packet);
}

#endif
