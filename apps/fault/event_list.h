/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * A list of events in YAML, as the fault engine takes them (dataplane/fault/fault.h). Read by the
 * table in fields.c; what is handed out is right in itself.
 */
#ifndef VERBLINE_FAULT_EVENT_LIST_H
#define VERBLINE_FAULT_EVENT_LIST_H

#include "apps/scenario/schema.h"
#include "dataplane/fault/fault.h"

#include <stdint.h>

#define VL_EVENT_LIST_MAX_FILE_SIZE (1u << 20)

/* An event as it is written; converted by event_list.c. */
struct vl_event_entry {
	struct vl_section section;
	const char *name;
	unsigned int action; /* enum vl_fault_action_kind */
	unsigned int on;     /* enum vl_event_direction */
	uint64_t connection;
	const char *qp, *peer, *psn, *message, *opcode, *nth;
	uint64_t every, count;
	double probability;
	unsigned int per; /* enum vl_event_scope */
	uint64_t from, until;

	uint64_t copies, by, delay, duration;
	unsigned int part; /* enum vl_fault_part */
	uint64_t bit, bytes;
	bool repair;
	unsigned int code; /* NAK */
	uint64_t timer;
	const char *credits, *priorities;
	uint64_t quanta;
	unsigned int scope; /* enum vl_event_scope */
};

enum vl_event_direction {
	VL_EVENT_BOTH,
	VL_EVENT_RECEIVED,
	VL_EVENT_TRANSMITTED,
};

enum vl_event_scope {
	VL_EVENT_OF_CONNECTION,
	VL_EVENT_OF_ENDPOINT,
};

struct vl_event_list {
	struct vl_section section;
	const char *name, *shows;
	uint64_t seed;          /* UINT64_MAX: none given */
	struct vl_list entries; /* struct vl_event_entry */

	struct vl_fault_event *events;
	uint32_t event_count;
	struct vl_arena arena;
};

extern const struct vl_schema vl_event_list_schema, vl_event_schema;

/* problems->file is what places in comments start with. NULL: problems holds why. */
struct vl_event_list *vl_event_list_parse(const char *text, size_t length,
					  struct vl_problems *problems);
void vl_event_list_free(struct vl_event_list *list); /* NULL is fine */

/* The least RNR timer code whose time is not shorter; 0 stands for the longest, 655.36 ms. */
uint8_t vl_rnr_timer_code(uint64_t time);

/* Ready lists, embedded at build time. */
struct vl_ready_event_list {
	const char *name, *text;
};
extern const struct vl_ready_event_list vl_ready_event_lists[];
extern const unsigned int vl_ready_event_list_count;

#endif
