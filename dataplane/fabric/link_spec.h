/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * A link as people write it down: `800g osfp dr8 120 m`, `ndr osfp aoc 20 m`, `edr 12x cxp dac 3
 * m`, and, where its ends differ, `400g osfp - 400g qsfp112 dac 2 m`: the speed, the form factor of
 * the module, the medium, the length. What cannot be built is refused with the reason.
 */
#ifndef VERBLINE_FABRIC_LINK_SPEC_H
#define VERBLINE_FABRIC_LINK_SPEC_H

#include "dataplane/fabric/generation.h"

#include <stddef.h>
#include <stdint.h>

struct vl_link_spec {
	const struct vl_link_generation *generation; /* of the electrical lanes, of the first end */
	const struct vl_link_form_factor *form_factors[2]; /* of each end; the same if given once */
	const struct vl_link_medium *medium;
	uint8_t medium_lanes; /* optical lanes or wavelengths; a cable's: the electrical ones */
	uint32_t medium_lane_rate; /* Gb/s, nominal */
	double length;             /* metres */
	uint64_t rate;             /* bit/s of data */
	/* ns, rounded: the parts of delay, and their sum. */
	uint32_t propagation, fec_latency, module_latency, delay;
};

/* Letter case does not matter. 0, or -EINVAL with a message that says what is impossible and what
 * would be possible. */
int vl_link_spec_parse(const char *text, struct vl_link_spec *spec, char *error, size_t error_size);

#endif
