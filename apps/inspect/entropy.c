/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/inspect/entropy.h"

#include <math.h>

#define PORT_COUNT         65536
#define FIRST_DYNAMIC_PORT 0xc000

struct inspect_entropy inspect_entropy_of(const uint32_t *packets)
{
	struct inspect_entropy entropy = {0};
	double total = 0;

	for (unsigned int port = 0; port < PORT_COUNT; port++)
		total += packets[port];
	for (unsigned int port = 0; port < PORT_COUNT; port++) {
		double share = packets[port] / total;

		if (!packets[port])
			continue;
		entropy.ports++;
		entropy.outside += port < FIRST_DYNAMIC_PORT;
		entropy.bits -= share * log2(share);
	}
	/* One port gives -0. */
	entropy.bits += 0.0;
	return entropy;
}
