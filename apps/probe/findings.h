/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What a run of probes found out about one class of a switch, and where it is told. */
#ifndef VERBLINE_PROBE_FINDINGS_H
#define VERBLINE_PROBE_FINDINGS_H

#include "apps/probe/emulated.h"
#include "dataplane/probe/probe.h"

#include <jansson.h>
#include <stdio.h>

enum probe_what {
	PROBE_DRAIN,
	PROBE_XOFF,
	PROBE_XON,
	PROBE_HEADROOM,
	PROBE_CAPACITY,
	PROBE_ECN,
	PROBE_COUNT,
};

/* Names as on the command line. */
extern const char *const probe_names[PROBE_COUNT];

enum probe_state {
	PROBE_NOT_ASKED,
	PROBE_FOUND,
	PROBE_FAILED,  /* error says why */
	PROBE_SKIPPED, /* what failed before makes it pointless; error says what */
};

struct probe_findings {
	enum probe_state states[PROBE_COUNT];
	char errors[PROBE_COUNT][256];
	char opening_error[256];                   /* not empty: nothing could be looked for */
	struct vl_probe_limit limits[PROBE_COUNT]; /* of xoff, xon, headroom and capacity */
	struct vl_probe_marking marking;
	struct vl_probe_drain_rate drain;
	uint32_t cell;             /* bytes; 1: memory is not in cells; 0: not found out */
	uint64_t frames, duration; /* sent in all; ns of the bench's time */
	bool is_interrupted;
};

/* What was probed, and with what. */
struct probe_subject {
	const char *name; /* for people */
	unsigned int dscp, priority;
	uint64_t rate; /* bit/s */
	uint32_t longest;
	const struct vl_db_notes *notes;           /* NULL: a real switch */
	const struct probe_configured *configured; /* NULL: not known */
};

/* asked: bit n for probe_what n. False: something was not found out. */
bool probe_find(struct vl_probe_bench *bench, const struct vl_probe_config *config,
		unsigned int asked, struct probe_findings *findings);

/* A value as configured, of what a probe finds as one size; below 0: there is none. */
double probe_configured_size(const struct probe_configured *configured, enum probe_what what);
void probe_print(const struct probe_subject *subject, const struct probe_findings *findings,
		 FILE *out);
json_t *probe_json(const struct probe_subject *subject,
		   const struct probe_findings *findings); /* NULL: no memory */

#endif
