/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * What a SONiC configuration says about ports, classes, buffers, marking and PFC, with all
 * references followed. It is read leniently: what is wrong becomes a problem and counts as not
 * given, so that the rest can still be judged.
 *
 * Names, types, ranges and units are those of the YANG models in sonic-buildimage
 * (src/sonic-yang-models/yang-models/sonic-{port,cable-length,buffer-*,wred-profile,scheduler,
 * queue,port-qos-map,dscp-tc-map,tc-queue-map,tc-priority-group-map,pfc-priority-*-map,pfcwd,
 * lossless-traffic-pattern,default-lossless-buffer-parameter,device_metadata}.yang); what happens
 * to fields left out is as in sonic-swss (cfgmgr/buffermgr.cpp, orchagent/{qosorch,bufferorch,
 * pfcwdorch}.cpp). Both forms of references are read: NAME, and [TABLE|NAME] as until 2021.
 */
#ifndef VERBLINE_SONIC_CONFIG_DB_H
#define VERBLINE_SONIC_CONFIG_DB_H

#include "apps/sonic/document.h"

#include <stdbool.h>
#include <stdint.h>

#define VL_DB_CLASSES   8u  /* priorities, priority groups, and the queues that PFC reaches */
#define VL_DB_TCS       16u /* traffic classes */
#define VL_DB_MAX_LANES 16u
#define VL_DB_UNSET     UINT64_MAX

/* A place in the file. */
struct vl_db_place {
	const char *path;  /* "BUFFER_PROFILE|egress_lossy_profile|size" */
	unsigned int line; /* 0: none, as what is meant is missing */
};

/* TABLE, or TABLE|KEY, or TABLE|KEY|FIELD. An entry that lacks the field has its line. */
struct vl_config_db;
struct vl_db_place vl_db_place(struct vl_config_db *db, const char *table,
			       const struct vl_db_entry *entry, const char *field);

/* Ingress pools hold packets by where they came in, egress pools by where they leave. */
struct vl_db_pool {
	const char *name;
	const struct vl_db_entry *entry;
	bool is_ingress, is_egress; /* both with type "both" */
	bool is_dynamic;
	uint64_t size; /* bytes; VL_DB_UNSET: worked out at run time */
	uint64_t xoff; /* bytes, of the shared headroom; 0: each group has its own */
};

struct vl_db_profile {
	const char *name;
	const struct vl_db_entry *entry;
	const struct vl_db_pool *pool; /* NULL: not given, or does not exist */
	/* bytes: reserved; resume at; resume so far below the limit; headroom; most of the pool.
	 * VL_DB_UNSET: not given. */
	uint64_t size, xon, xon_offset, xoff, static_th;
	int dynamic_th; /* alpha is 2^this */
	bool has_dynamic_th;
};

enum vl_db_colour {
	VL_DB_GREEN,
	VL_DB_YELLOW,
	VL_DB_RED,
	VL_DB_COLOURS,
};

struct vl_db_wred {
	const char *name;
	const struct vl_db_entry *entry;
	struct {
		uint64_t min, max;    /* bytes; VL_DB_UNSET: not given */
		uint64_t probability; /* percent at max; not given: 100 */
		bool is_enabled;
		bool is_ecn; /* marked, not dropped, if ECN-capable */
		bool has_probability;
	} colours[VL_DB_COLOURS];
	bool has_ecn;
};

enum vl_db_scheduler_type {
	VL_DB_WRR,
	VL_DB_DWRR,
	VL_DB_STRICT,
};

struct vl_db_scheduler {
	const char *name;
	const struct vl_db_entry *entry;
	enum vl_db_scheduler_type type;
	bool has_type, is_in_packets;
	uint64_t weight;   /* VL_DB_UNSET: not given */
	uint64_t cir, pir; /* bytes/s, or packets/s with is_in_packets; VL_DB_UNSET: not given */
};

/* DSCP_TO_TC_MAP and its like. */
struct vl_db_map {
	const char *name, *table;
	const struct vl_db_entry *entry;
	int8_t to[64]; /* -1: not mapped */
};

enum vl_db_watchdog_action {
	VL_DB_WATCHDOG_DROP,
	VL_DB_WATCHDOG_FORWARD,
	VL_DB_WATCHDOG_ALERT,
};

struct vl_db_watchdog {
	const char *name;
	const struct vl_db_entry *entry;
	uint64_t detection, restoration; /* ms; VL_DB_UNSET: not given */
	enum vl_db_watchdog_action action;
};

enum vl_db_fec {
	VL_DB_FEC_NOT_GIVEN,
	VL_DB_FEC_NONE,
	VL_DB_FEC_FC, /* Fire code, clause 74 */
	VL_DB_FEC_RS, /* Reed-Solomon */
	VL_DB_FEC_AUTO,
};

/* A priority group or a queue of a port. */
struct vl_db_buffer {
	const struct vl_db_entry *entry; /* NULL: there is none */
	const struct vl_db_profile *profile;
	bool is_computed; /* "NULL": SONiC's buffer manager makes a lossless profile at run time */
};

struct vl_db_queue {
	const struct vl_db_entry *entry;
	const struct vl_db_scheduler *scheduler;
	const struct vl_db_wred *wred;
};

struct vl_db_port {
	const char *name;
	const struct vl_db_entry *entry; /* of PORT; NULL: only other tables have it */
	uint64_t speed;                  /* bit/s; VL_DB_UNSET */
	uint64_t mtu;                    /* bytes of the IP packet; VL_DB_UNSET */
	unsigned int lane_count;         /* 0: not given */
	unsigned int lanes[VL_DB_MAX_LANES];
	enum vl_db_fec fec;
	bool is_internal;                      /* of a role that leads to no other machine */
	uint64_t cable;                        /* m; VL_DB_UNSET */
	const struct vl_db_entry *cable_entry; /* that gives the cable, or tried to */

	const struct vl_db_entry *qos; /* of PORT_QOS_MAP */
	const struct vl_db_map *dscp_to_tc, *dot1p_to_tc, *tc_to_queue, *tc_to_pg;
	const struct vl_db_map *pfc_to_queue, *pfc_to_pg;
	uint8_t pfc, watchdog_priorities; /* bit n: priority n */
	bool has_watchdog_priorities;
	const struct vl_db_watchdog *watchdog; /* NULL: none */
	const struct vl_db_scheduler *scheduler;

	struct vl_db_buffer pgs[VL_DB_CLASSES], queue_buffers[VL_DB_CLASSES];
	struct vl_db_queue queues[VL_DB_CLASSES];
};

enum vl_db_problem_kind {
	VL_DB_BAD_VALUE,
	VL_DB_BAD_KEY,
	VL_DB_BAD_REFERENCE,
	VL_DB_OLD_REFERENCE, /* is understood, but not by newer releases of SONiC */
	VL_DB_DUPLICATE,
};

struct vl_db_problem {
	enum vl_db_problem_kind kind;
	struct vl_db_place place;
	const char *found, *right;
	const char *key; /* of the entry, in a table by port; the port that is missing; NULL */
	struct vl_db_problem *next;
};

#define VL_DB_MAX_PORTS    4096u
#define VL_DB_MAX_NAMED    1024u /* profiles, maps and their like, each */
#define VL_DB_MAX_PROBLEMS 1000u /* kept; more are counted */

struct vl_config_db {
	struct vl_db_document document;
	bool is_dynamic_model; /* DEVICE_METADATA|localhost|buffer_model */
	/* DEVICE_METADATA|localhost|default_pfcwd_status: PFC_WD is filled at the start. */
	bool has_default_watchdog;
	const char *hostname;     /* of a line card, by which its own queues are told; NULL */
	struct vl_db_port *ports; /* by name, numbers in it as such: Ethernet8 before Ethernet16 */
	struct vl_db_pool *pools;
	struct vl_db_profile *profiles;
	struct vl_db_wred *wreds;
	struct vl_db_scheduler *schedulers;
	struct vl_db_map *maps;
	struct vl_db_watchdog *watchdogs;
	unsigned int port_count, pool_count, profile_count, wred_count, scheduler_count;
	unsigned int map_count, watchdog_count;
	const struct vl_db_map *global_dscp_to_tc; /* PORT_QOS_MAP|global; NULL: none */
	uint64_t poll_interval; /* ms, PFC_WD|GLOBAL|POLL_INTERVAL; VL_DB_UNSET */
	/* Of LOSSLESS_TRAFFIC_PATTERN and DEFAULT_LOSSLESS_BUFFER_PARAMETER; VL_DB_UNSET. */
	uint64_t lossless_mtu, small_packet_percentage, over_subscribe_ratio;
	int default_dynamic_th;
	bool has_default_dynamic_th;
	struct vl_db_problem *problems; /* in the order of the file, mostly */
	struct vl_db_problem **problem_end;
	unsigned int problem_count;
	bool has_old_reference, out_of_memory;
};

/* NULL: the text is no configuration at all; error says why. What is wrong in one that can be read
 * is in its problems. */
struct vl_config_db *vl_config_db_parse(const char *text, size_t length, char *error,
					size_t error_size);
/* The same of a file; error does not name it. */
struct vl_config_db *vl_config_db_read(const char *path, char *error, size_t error_size);
void vl_config_db_free(struct vl_config_db *db); /* NULL is fine */

const struct vl_db_port *vl_db_find_port(const struct vl_config_db *db, const char *name);

/* Where a class or priority of a port leads; -1: nowhere. Without the map it is taken to lead to
 * the same number: SAI leaves that to the switch. */
int vl_db_queue_of_tc(const struct vl_db_port *port, unsigned int tc);
int vl_db_pg_of_tc(const struct vl_db_port *port, unsigned int tc);
int vl_db_queue_of_priority(const struct vl_db_port *port, unsigned int priority);
int vl_db_pg_of_priority(const struct vl_db_port *port, unsigned int priority);
/* Of the port's map, or else the switch's; -1: not mapped, or there is no map. */
int vl_db_tc_of_dscp(const struct vl_config_db *db, const struct vl_db_port *port,
		     unsigned int dscp);

#endif
