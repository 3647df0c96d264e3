/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Faults on purpose, the behaviour of a test target and the judging of the peer, as options of the
 * commands that put endpoints on ports. A command
 *
 *   has a struct vl_fault_options in its values, from VL_FAULT_OPTIONS_INIT, and the rows
 *   VL_FAULT_OPTIONS(struct its_values, fault) in its option table;
 *   calls vl_faults_create once it knows its options, and vl_faults_configure on the device's
 *   configuration before it makes the host;
 *   calls vl_faults_attach_host after captures have set their taps and before vl_host_start;
 *   prints vl_faults_print and adds vl_faults_json to its results after vl_host_stop;
 *   calls vl_faults_destroy after vl_host_destroy.
 *
 * If no such option is given there are no faults: *faults is NULL, which all functions take.
 */
#ifndef VERBLINE_APPS_FAULT_H
#define VERBLINE_APPS_FAULT_H

#include "apps/option.h"
#include "apps/verdict/options.h"
#include "dataplane/port/port.h"
#include "dataplane/runtime/host.h"

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

enum vl_fault_drain_overflow {
	VL_FAULT_DRAIN_DROP,
	VL_FAULT_DRAIN_PFC,
};
extern const char *const vl_fault_drain_overflows[]; /* "drop", "pfc" */
extern const char *const vl_fault_cnp_scopes[];      /* "qp", "ip", "port" */

struct vl_fault_options {
	const char *events;          /* a file, or a ready list's name */
	uint64_t cnp_interval;       /* ns; UINT64_MAX: not given */
	unsigned int cnp_scope;      /* enum vl_cnp_scope */
	uint64_t cnp_dscp;           /* UINT64_MAX: not given */
	uint64_t cnp_priority;       /* UINT64_MAX: not given */
	uint64_t drain_rate;         /* bit/s; 0: as fast as frames come */
	uint64_t drain_buffer;       /* bytes */
	unsigned int drain_overflow; /* enum vl_fault_drain_overflow */
	uint64_t drain_priority;     /* 0..7: paused with drain_overflow PFC */
	uint64_t receive_rate;       /* receives posted per second and connection; 0: no limit */
	uint64_t receive_burst;
	uint64_t rnr_timer;      /* ns; rounded up to a code */
	uint64_t coalesce_acks;  /* 1: every ACK is sent */
	uint64_t coalesce_delay; /* ns */
	struct vl_verdict_options verdict;
};

#define VL_FAULT_OPTIONS_INIT                                                                      \
	{                                                                                          \
		.cnp_interval = UINT64_MAX, .cnp_dscp = UINT64_MAX, .cnp_priority = UINT64_MAX,    \
		.drain_buffer = 262144, .drain_priority = 3, .receive_burst = 16,                  \
		.rnr_timer = 640000, .coalesce_acks = 1, .coalesce_delay = 10000,                  \
		.verdict = VL_VERDICT_OPTIONS_INIT                                                 \
	}

/* Rows of an option table; type_: the structure of the command's values, member_: the struct
 * vl_fault_options in it. */
#define VL_FAULT_SECTION "Faults on purpose, as a test target"

#define VL_FAULT_OPTIONS(type_, member_)                                                           \
	{.section = VL_FAULT_SECTION,                                                              \
	 .name = "events",                                                                         \
	 .argument = "FILE",                                                                       \
	 .help = "Faults on purpose: a YAML list of events, or the name of a ready one "           \
		 "('verbline faults' lists them, and all keys)",                                   \
	 .type = VL_OPTION_TEXT,                                                                   \
	 .offset = offsetof(type_, member_.events)},                                               \
		{.section = VL_FAULT_SECTION,                                                      \
		 .name = "cnp-interval",                                                           \
		 .argument = "TIME",                                                               \
		 .help = "Least time between CNPs, whole microseconds [the congestion control's]", \
		 .type = VL_OPTION_QUANTITY,                                                       \
		 .offset = offsetof(type_, member_.cnp_interval),                                  \
		 .quantity = VL_QUANTITY_DURATION,                                                 \
		 .most = UINT64_C(131071000)},                                                     \
		{.section = VL_FAULT_SECTION,                                                      \
		 .name = "cnp-scope",                                                              \
		 .argument = "SCOPE",                                                              \
		 .help = "What shares that time: each qp, all QPs of an ip, or the port [qp]",     \
		 .type = VL_OPTION_CHOICE,                                                         \
		 .offset = offsetof(type_, member_.cnp_scope),                                     \
		 .choices = vl_fault_cnp_scopes},                                                  \
		{.section = VL_FAULT_SECTION,                                                      \
		 .name = "cnp-dscp",                                                               \
		 .argument = "DSCP",                                                               \
		 .help = "DSCP of CNPs [48]",                                                      \
		 .type = VL_OPTION_NUMBER,                                                         \
		 .offset = offsetof(type_, member_.cnp_dscp),                                      \
		 .most = 63},                                                                      \
		{.section = VL_FAULT_SECTION,                                                      \
		 .name = "cnp-priority",                                                           \
		 .argument = "PRIORITY",                                                           \
		 .help = "Priority (PCP) of CNPs [6]",                                             \
		 .type = VL_OPTION_NUMBER,                                                         \
		 .offset = offsetof(type_, member_.cnp_priority),                                  \
		 .most = 7},                                                                       \
		{.section = VL_FAULT_SECTION,                                                      \
		 .name = "drain-rate",                                                             \
		 .argument = "RATE",                                                               \
		 .help = "Slow receiver: take frames in no faster than this [line rate]",          \
		 .type = VL_OPTION_QUANTITY,                                                       \
		 .offset = offsetof(type_, member_.drain_rate),                                    \
		 .quantity = VL_QUANTITY_RATE,                                                     \
		 .least = 1000000,                                                                 \
		 .most = UINT64_C(1600000000000)},                                                 \
		{.section = VL_FAULT_SECTION,                                                      \
		 .name = "drain-buffer",                                                           \
		 .argument = "SIZE",                                                               \
		 .help = "Slow receiver: room for frames that wait [256KiB]",                      \
		 .type = VL_OPTION_QUANTITY,                                                       \
		 .offset = offsetof(type_, member_.drain_buffer),                                  \
		 .quantity = VL_QUANTITY_SIZE,                                                     \
		 .least = 16384,                                                                   \
		 .most = UINT64_C(1) << 26},                                                       \
		{.section = VL_FAULT_SECTION,                                                      \
		 .name = "drain-overflow",                                                         \
		 .argument = "WHAT",                                                               \
		 .help = "Slow receiver: drop what finds no room, or send pfc pauses from half "   \
			 "full on [drop]",                                                         \
		 .type = VL_OPTION_CHOICE,                                                         \
		 .offset = offsetof(type_, member_.drain_overflow),                                \
		 .choices = vl_fault_drain_overflows},                                             \
		{.section = VL_FAULT_SECTION,                                                      \
		 .name = "drain-priority",                                                         \
		 .argument = "PRIORITY",                                                           \
		 .help = "Slow receiver: the priority that its pauses are for [3]",                \
		 .type = VL_OPTION_NUMBER,                                                         \
		 .offset = offsetof(type_, member_.drain_priority),                                \
		 .most = 7},                                                                       \
		{.section = VL_FAULT_SECTION,                                                      \
		 .name = "receive-rate",                                                           \
		 .argument = "N",                                                                  \
		 .help = "Receives posted per second on each connection; messages beyond are "     \
			 "refused with RNR NAKs [no limit]",                                       \
		 .type = VL_OPTION_NUMBER,                                                         \
		 .offset = offsetof(type_, member_.receive_rate),                                  \
		 .least = 1,                                                                       \
		 .most = 1000000000},                                                              \
		{.section = VL_FAULT_SECTION,                                                      \
		 .name = "receive-burst",                                                          \
		 .argument = "N",                                                                  \
		 .help = "Receives posted at most at a time, with --receive-rate [16]",            \
		 .type = VL_OPTION_NUMBER,                                                         \
		 .offset = offsetof(type_, member_.receive_burst),                                 \
		 .least = 1,                                                                       \
		 .most = 65536},                                                                   \
		{.section = VL_FAULT_SECTION,                                                      \
		 .name = "rnr-timer",                                                              \
		 .argument = "TIME",                                                               \
		 .help = "How long the RNR NAKs of --receive-rate ask to wait [640us]",            \
		 .type = VL_OPTION_QUANTITY,                                                       \
		 .offset = offsetof(type_, member_.rnr_timer),                                     \
		 .quantity = VL_QUANTITY_DURATION,                                                 \
		 .least = 10000,                                                                   \
		 .most = UINT64_C(655360000)},                                                     \
		{.section = VL_FAULT_SECTION,                                                      \
		 .name = "coalesce-acks",                                                          \
		 .argument = "N",                                                                  \
		 .help = "Send only every n-th ACK of a connection [1]",                           \
		 .type = VL_OPTION_NUMBER,                                                         \
		 .offset = offsetof(type_, member_.coalesce_acks),                                 \
		 .least = 1,                                                                       \
		 .most = 65536},                                                                   \
		{.section = VL_FAULT_SECTION,                                                      \
		 .name = "coalesce-delay",                                                         \
		 .argument = "TIME",                                                               \
		 .help = "Send a coalesced ACK after this time at the latest [10us]",              \
		 .type = VL_OPTION_QUANTITY,                                                       \
		 .offset = offsetof(type_, member_.coalesce_delay),                                \
		 .quantity = VL_QUANTITY_DURATION,                                                 \
		 .least = 1000,                                                                    \
		 .most = 1000000000},                                                              \
		VL_VERDICT_OPTIONS(type_, member_.verdict)

struct vl_faults;

/* Reads and checks; what is wrong goes to stderr. -1: go on, else the exit status to end with. */
int vl_faults_create(const struct vl_command *command, const struct vl_fault_options *options,
		     uint64_t seed, struct vl_faults **faults);
/* The port of the control service, by which this verbline and its peer set up queue pairs and tell
 * each other what they saw: faults spare it. Where none is said: VL_CONTROL_PORT. Before engines
 * are attached. */
void vl_faults_set_control_port(struct vl_faults *faults, uint16_t port);
/* Sets the part that is the device's: the notification point. device->cc may then point into
 * *faults. */
void vl_faults_configure(struct vl_faults *faults, struct vl_device_config *device);
/* The same of the parameters of a QP that has its own. */
void vl_faults_configure_cc(const struct vl_faults *faults, struct vl_cc_parameters *parameters);
/* One engine for an endpoint of a port with a line rate (bit/s; 0: 100 Gb/s). port: whose clock
 * stamps what comes in, for the report; NULL: none is told of. 0 or -ENOMEM. */
int vl_faults_attach(struct vl_faults *faults, struct vl_endpoint *endpoint, uint64_t rate,
		     const struct vl_port *port);
/* The same for all endpoints of a host. */
int vl_faults_attach_host(struct vl_faults *faults, struct vl_host *host, uint32_t port_count,
			  uint32_t worker_count, struct vl_error *error);
/* While no endpoint runs, and before they are destroyed: what each event did, on all endpoints
 * together, and the verdicts on the peer. */
void vl_faults_print(struct vl_faults *faults, FILE *out);
json_t *vl_faults_json(struct vl_faults *faults);
/* Whether a verdict was asked for, and is that the peer failed, or that nothing was to be judged:
 * the command's exit status. */
bool vl_faults_has_failed(struct vl_faults *faults);
void vl_faults_destroy(struct vl_faults *faults);

#endif
