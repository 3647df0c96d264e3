/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* A SONiC configuration on the emulated switch. */
#ifndef VERBLINE_SONIC_SWITCH_CONFIG_H
#define VERBLINE_SONIC_SWITCH_CONFIG_H

#include "apps/sonic/config_db.h"
#include "dataplane/fabric/switch.h"

/* What is linked to a port of the emulated switch. */
struct vl_db_link {
	uint64_t rate;    /* bit/s */
	uint64_t delay;   /* ns, propagation one way */
	const char *port; /* name of the configuration's port; NULL: the first free one of that
			   * rate, in the order of names, or else the first free one */
};

#define VL_DB_MAX_NOTES 24

/* What the emulation does not have, or has to assume; each said once. */
struct vl_db_notes {
	char texts[VL_DB_MAX_NOTES][200];
	unsigned int count;
};

/* Adds what is not there yet, as long as there is room; notes may be NULL. */
void vl_db_note(struct vl_db_notes *notes, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * The configuration of a switch with a port for each link; MAC and seed are the caller's to set.
 * What the switch makes at run time (lossless profiles, pool sizes) is made here by the formula.
 * One block of memory, to be freed; NULL: no memory. *notes is added to, and may be NULL.
 */
struct vl_switch_config *vl_db_switch_config(const struct vl_config_db *db,
					     const struct vl_db_link *links, unsigned int count,
					     struct vl_db_notes *notes);

#endif
