/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What an InfiniBand switch is made of, for the files that set it up and that forward. */
#ifndef VERBLINE_INFINIBAND_SWITCH_PRIVATE_H
#define VERBLINE_INFINIBAND_SWITCH_PRIVATE_H

#include "dataplane/infiniband/switch.h"

/* What came in by one port to leave by another on one lane, first in, first out. */
struct vl_virtual_output_queue {
	struct vl_frame *head, *tail;
	uint32_t next; /* the input served next, in a ring of those with packets */
};

/* A lane on which packets leave a port. */
struct vl_infiniband_output {
	uint64_t bytes, watermark; /* that wait for it */
	uint64_t changed;          /* ns, of the last change of bytes */
	unsigned __int128 area;    /* bytes * ns up to changed */
	uint64_t head_since;       /* ns: since when the packet at its head is that */
	uint32_t last;             /* input; the ring's next after it is served now */
	uint32_t until_mark;       /* packets that are passed over before one is marked */
};

struct vl_infiniband_switch_port {
	struct vl_infiniband_port link;
	struct vl_infiniband_output outputs[VL_INFINIBAND_LANES];
	/* What is on the line: its room, where it came in, is free when its last bit has left. */
	uint32_t sending_from;     /* port */
	uint32_t sending_length;   /* bytes; 0: nothing */
	uint8_t sending_lane;      /* that it came in by */
	uint32_t management_bytes; /* of lane 15 that came in here */
	uint32_t next_credit_port;
	bool in_credit_list;
	bool marks_as_victim;
};

struct vl_infiniband_switch {
	struct vl_infiniband_switch_config config;
	uint8_t virtual_lanes;
	struct vl_infiniband_switch_port *ports;
	struct vl_virtual_output_queue *queues; /* [out][lane][in]; lane 15 is the last of them */
	uint16_t *routes;                       /* by LID */
	uint32_t route_count;
	uint64_t default_sl_to_vl; /* four bits a service level */
	uint64_t *sl_to_vl;        /* [in][out]; NULL: the default for all */
	struct vl_random random;
	uint64_t mark_above[VL_INFINIBAND_DATA_LANES]; /* bytes */
	struct vl_frame_pool *pool;
	uint32_t first_credit_port;
	uint64_t packets;
};

#endif
