/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Virtual lane arbitration, IBTA volume 1, 7.6.9: two tables of {lane, weight}, each served by
 * weighted round robin, the high-priority one first. Lane 15 goes before both.
 *
 * - An entry's turn gives its lane weight * 64 bytes. While some of it is left and the lane has a
 *   packet that may go, the packet goes, whole, even if it takes more than is left. When nothing
 *   is left, or there is no packet, the turn passes. What is left over is not kept. Entries of
 *   weight 0 are passed over.
 * - The high-priority table may send limit_of_high_priority * 4096 bytes (0: one packet; 255: any
 *   number), counted as the weights are, before the low-priority one has a chance to send one
 *   packet; then, and whenever a low-priority packet goes, counting begins anew. A chance that the
 *   low-priority table cannot use is gone (not verified against the specification's text).
 * - A lane that is in neither table is never served.
 */
#ifndef VERBLINE_INFINIBAND_ARBITER_H
#define VERBLINE_INFINIBAND_ARBITER_H

#include <stdbool.h>
#include <stdint.h>

#define VL_ARBITER_ENTRIES  64u
#define VL_ARBITER_NO_LIMIT 255u
#define VL_ARBITER_NONE     255u /* no lane may send */

struct vl_arbiter_entry {
	uint8_t virtual_lane; /* 0..14 */
	uint8_t weight;       /* 64 bytes; 0: passed over */
};

struct vl_arbiter_config {
	uint8_t limit_of_high_priority; /* 4096 bytes; 0: one packet; 255: no limit */
	uint8_t high_count, low_count;  /* entries in use, 0..64 */
	struct vl_arbiter_entry high[VL_ARBITER_ENTRIES], low[VL_ARBITER_ENTRIES];
};

struct vl_arbiter_table {
	uint8_t count;
	uint8_t turn;   /* the entry being served */
	int32_t left;   /* bytes of its turn; not above 0: the next entry's turn begins */
	uint16_t lanes; /* bit n: lane n has an entry with a weight */
};

enum vl_arbiter_choice {
	VL_ARBITER_CHOSE_LOW,
	VL_ARBITER_CHOSE_HIGH,
	VL_ARBITER_CHOSE_MANAGEMENT,
};

struct vl_arbiter {
	struct vl_arbiter_config config;
	struct vl_arbiter_table high, low;
	int64_t high_left; /* bytes that high-priority packets may still take */
	uint8_t choice;    /* enum vl_arbiter_choice: the last, for vl_arbiter_sent */
};

/* What is wrong, as text for people; NULL: nothing. virtual_lanes: how many the port has. A lane of
 * the port that no entry serves is wrong too. */
const char *vl_arbiter_config_error(const struct vl_arbiter_config *config, uint8_t virtual_lanes);
/* Each of the lanes with weight 64 in the low-priority table. */
void vl_arbiter_default(struct vl_arbiter_config *config, uint8_t virtual_lanes);
/* config must be without error. */
void vl_arbiter_init(struct vl_arbiter *arbiter, const struct vl_arbiter_config *config);

/* Which lane sends next, of those in ready (bit n: lane n has a packet, and credits for it);
 * VL_ARBITER_NONE: none. What was chosen is sent: vl_arbiter_sent must follow. */
uint8_t vl_arbiter_choose(struct vl_arbiter *arbiter, uint16_t ready);
/* The packet that was chosen has so many bytes, LRH to VCRC. */
void vl_arbiter_sent(struct vl_arbiter *arbiter, uint32_t length);

#endif
