/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The doctor's checks: each adds what it finds. */
#ifndef VERBLINE_DOCTOR_CHECKS_H
#define VERBLINE_DOCTOR_CHECKS_H

#include "apps/doctor/findings.h"
#include "apps/option.h"
#include "dataplane/port/port.h"

struct rte_mempool;

/* Of the machine; EAL does not run. */
void check_memory(struct findings *findings);
void check_devices(struct findings *findings);
void check_processor(struct findings *findings);
void check_clock(struct findings *findings);

/* Of a port that is open. */
void check_port(struct findings *findings, const struct vl_port *port);

/* Sends pause frames, of no duration, from each port, and looks where they come in: at the same
 * port if it is looped, or at another one given. mempools: of the ports, in the same order. */
void check_pause(struct findings *findings, struct vl_port *const *ports,
		 struct rte_mempool *const *mempools, unsigned int count);

#endif
