/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Judges a SONiC configuration for RoCE. What is found has the arithmetic that shows it and the
 * value that would be right; what holds for several ports in the same words is one finding.
 */
#ifndef VERBLINE_CHECK_CHECK_H
#define VERBLINE_CHECK_CHECK_H

#include "apps/check/rule.h"
#include "apps/option.h"
#include "apps/sonic/config_db.h"

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

struct vl_check_options {
	uint64_t mtu;          /* bytes of the IP packet; 0: PORT's, or 9100 */
	uint64_t lossless_mtu; /* the same of lossless traffic; 0: mtu */
	uint64_t cable_length; /* m, of every port; VL_DB_UNSET: CABLE_LENGTH's */
	uint64_t cell_size;    /* bytes; 0: unknown, memory is counted in bytes */
	uint64_t memory;       /* bytes of the switch; 0: unknown */
	uint64_t congested;    /* ports that are congested at once, at most */
	uint64_t roce_dscps;   /* bit n: DSCP n; 0: those of the lossless classes */
	uint64_t cnp_dscp;
};

extern const struct vl_check_options vl_check_defaults;

struct vl_check_finding {
	enum vl_check_rule rule;
	struct vl_db_place place; /* the first */
	const char *found;
	const char *arithmetic; /* lines; NULL: none */
	const char *right;
	const char **ports; /* whom it concerns; none: the switch */
	unsigned int port_count, port_capacity;
	struct vl_check_finding *next;
};

struct vl_check_findings {
	struct vl_check_finding *first; /* by rule */
	unsigned int counts[VL_CHECK_ERROR + 1];
};

/* What is found is the configuration's: valid as long as it. -ENOMEM. */
int vl_check_run(struct vl_config_db *db, const struct vl_check_options *options,
		 struct vl_check_findings *findings);

void vl_check_print(const struct vl_check_findings *findings, const char *file, FILE *out);
/* NULL: no memory. */
json_t *vl_check_json(const struct vl_config_db *db, const struct vl_check_findings *findings,
		      const char *file);

extern const struct vl_command vl_check_command;

#endif
