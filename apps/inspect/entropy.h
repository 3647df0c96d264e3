/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* How much the UDP source ports of RoCEv2 differ: that is all that ECMP and link aggregation have
 * to spread flows by (IBTA A17.5.2). */
#ifndef VERBLINE_INSPECT_ENTROPY_H
#define VERBLINE_INSPECT_ENTROPY_H

#include <stdint.h>

struct inspect_entropy {
	unsigned int ports;   /* different ones */
	unsigned int outside; /* of these, below 0xc000 */
	double bits;          /* Shannon entropy of the port over packets */
};

/* packets: by port, 65536 entries. */
struct inspect_entropy inspect_entropy_of(const uint32_t *packets);

#endif
