/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What an analysis means, in sentences for somebody who has not met RDMA before: what is wrong (or
 * that nothing is), and where to look. */
#ifndef VERBLINE_INSPECT_VERDICT_H
#define VERBLINE_INSPECT_VERDICT_H

#include "apps/inspect/analysis.h"

enum inspect_severity {
	INSPECT_GOOD,
	INSPECT_NOTE,    /* worth knowing */
	INSPECT_WARNING, /* costs performance, or hides something */
	INSPECT_PROBLEM, /* something fails */
};

#define INSPECT_MAX_FINDINGS 32
#define INSPECT_FINDING_TEXT 400

struct inspect_finding {
	enum inspect_severity severity;
	const char *name;                  /* for programs: "icrc_wrong" */
	char text[INSPECT_FINDING_TEXT];   /* whole sentences */
	char advice[INSPECT_FINDING_TEXT]; /* likewise; may be "" */
};

struct inspect_verdict {
	struct inspect_finding findings[INSPECT_MAX_FINDINGS]; /* the gravest first */
	unsigned int count;
	enum inspect_severity worst;
};

/* stopped: why the file could not be read to its end, or NULL. */
void inspect_verdict_make(struct inspect_verdict *verdict, const struct inspect_analysis *analysis,
			  const char *stopped);
const char *inspect_severity_name(enum inspect_severity severity);

#endif
