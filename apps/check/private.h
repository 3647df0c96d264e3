/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Private to the checks. */
#ifndef VERBLINE_CHECK_PRIVATE_H
#define VERBLINE_CHECK_PRIVATE_H

#include "apps/check/check.h"

#define DEFAULT_MTU 9100u /* SONiC's, of ports that give none */

/* What the maps, PFC and the groups of a port come to. */
struct check_port {
	const struct vl_db_port *port;
	bool is_used;            /* something sets classes or buffers for it */
	uint8_t paused_groups;   /* bit n: PFC is on for a priority of group n */
	uint8_t headroom_groups; /* bit n: group n has headroom, or gets it at run time */
	uint16_t lossless_tcs;   /* bit n: class n is of a paused group with headroom */
	uint16_t roce_tcs;       /* bit n: RoCE's data is in class n */
	uint16_t reached_tcs;    /* bit n: a DSCP leads to class n */
	uint16_t judged_tcs;     /* lossless and reached; not best effort that strays there */
	uint8_t lossless_queues; /* bit n: of the lossless classes */
	uint8_t lossless_groups;
	int cnp_tc, default_tc; /* -1: not mapped */
};

struct check {
	struct vl_config_db *db;
	const struct vl_check_options *options;
	struct check_port *ports; /* db->port_count */
	/* By pool: bytes that groups and queues have reserved of it, over all ports; how many. */
	struct {
		uint64_t bytes;
		unsigned int count;
	} * reserved;
	struct vl_check_findings *findings;
	bool out_of_memory;
};

/* Texts are the configuration's arena's, or constants. port NULL: the switch. */
void check_add(struct check *check, enum vl_check_rule rule, const struct vl_db_port *port,
	       struct vl_db_place place, const char *found, const char *arithmetic,
	       const char *right);
/* The same with what stands for the port. */
void check_add_named(struct check *check, enum vl_check_rule rule, const char *port,
		     struct vl_db_place place, const char *found, const char *arithmetic,
		     const char *right);
/* A text of the arena; "" without memory. */
const char *check_text(struct check *check, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The bits of a set, for people ("3, 4", "1-25, 27") and as in the file ("3,4"). */
const char *check_set(struct check *check, uint64_t set);
const char *check_list(struct check *check, uint64_t set);
/* "group 3 has", "groups 3, 4 have" */
const char *check_have(struct check *check, const char *noun, uint64_t set);
struct vl_db_place check_place(struct check *check, const char *table,
			       const struct vl_db_entry *entry, const char *field);

/* The port's MTU with the Ethernet header, bytes. */
uint32_t check_frame_length(const struct check *check, const struct vl_db_port *port);
uint64_t check_cable(const struct check *check, const struct vl_db_port *port);
bool check_is_ethernet_speed(uint64_t speed); /* bit/s */
/* Whether the field is given though nothing came of it: what it should be is said already. */
bool check_is_unreadable(const struct vl_db_entry *entry, const char *field, bool is_read);
/* Whether the map speaks of it, if only in words that cannot be read. */
bool check_is_given(struct check *check, const struct vl_db_map *map, unsigned int from);
/* Whether pfc_enable of the port cannot be read. */
bool check_is_pfc_unreadable(const struct vl_db_port *port);

/* Bytes that a group or queue of a profile may hold when n of its kind are full; INFINITY: not
 * limited, or not known. */
double check_limit(const struct check *check, const struct vl_db_profile *profile, unsigned int n);

void check_ports(struct check *check);
void check_classes(struct check *check);
void check_pfc(struct check *check);
void check_headroom(struct check *check);
void check_buffers(struct check *check);
void check_marking(struct check *check);
void check_schedulers(struct check *check);
void check_watchdogs(struct check *check);

#endif
