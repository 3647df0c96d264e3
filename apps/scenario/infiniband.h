/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What a scenario says of its links and switches where they are InfiniBand's. */
#ifndef VERBLINE_SCENARIO_INFINIBAND_H
#define VERBLINE_SCENARIO_INFINIBAND_H

#include "apps/scenario/schema.h"
#include "dataplane/infiniband/subnet_manager.h"
#include "transport/cc/cc.h"

#include <stdbool.h>
#include <stdint.h>

/* An entry of a VL arbitration table. */
struct vl_scenario_arbitration {
	struct vl_section section;
	uint64_t virtual_lane; /* 0..14 */
	uint64_t weight;       /* 64-byte blocks, 0..255 */
};

/* Annex A10, of fabric infiniband_congestion_control. */
struct vl_scenario_infiniband_cc {
	struct vl_section section;
	uint64_t threshold, marking_rate, packet_size; /* of switches; packet_size in bytes */
	bool victims_mark;
	struct vl_section parameters; /* of channel adapters */

	struct vl_infiniband_cc_parameters resolved;
};

struct vl_scenario_infiniband {
	struct vl_section section;
	uint64_t virtual_lanes;     /* of data, 1..15 */
	struct vl_section sl_to_vl; /* names are service levels, numbers virtual lanes */
	/* bytes of each virtual lane at each port; VL_AUTOMATIC until the links are known */
	uint64_t buffer;
	struct vl_list high, low;        /* struct vl_scenario_arbitration */
	uint64_t limit_of_high_priority; /* 0..255: 4 KiB units; 255: no limit */
	unsigned int routing;            /* enum vl_subnet_routing */
	struct vl_text_list roots;       /* names of switches; none: found */
	uint64_t lifetime;               /* ns in a switch; 0: no limit */
	uint64_t head_of_queue_lifetime; /* ns at the head of a queue; 0: no limit */
	uint64_t drain_rate;             /* bit/s, of endpoints' receive buffers; 0: at once */
	struct vl_scenario_infiniband_cc cc;

	/* Worked out of these. */
	struct vl_subnet_lanes lanes;
	uint32_t *root_nodes;
	uint32_t root_count;
};

/* Fills lanes and cc.resolved. */
void vl_scenario_check_infiniband(struct vl_loader *loader,
				  struct vl_scenario_infiniband *infiniband);
struct vl_scenario;
/* Once the links are known: the buffer, if it was left to be worked out. */
void vl_scenario_size_buffers(struct vl_scenario *scenario);
/* Fills root_nodes, once names are known. */
void vl_scenario_find_roots(struct vl_loader *loader, struct vl_scenario *scenario);

extern const struct vl_schema vl_scenario_infiniband_schema;

#endif
