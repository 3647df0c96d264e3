/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What the doctor found, one line each. */
#ifndef VERBLINE_DOCTOR_FINDINGS_H
#define VERBLINE_DOCTOR_FINDINGS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#define FINDING_TEXT 384
#define MAX_FINDINGS 256

enum finding_state {
	FINDING_OK,
	FINDING_LACK,    /* it works without, but worse, or not everything */
	FINDING_NEEDED,  /* a lack that stands in the way */
	FINDING_UNKNOWN, /* it could not be found out */
};

struct finding {
	const char *topic; /* "hugepages"; a constant */
	char subject[160]; /* which port, NIC or node; "": the machine */
	enum finding_state state;
	char text[FINDING_TEXT];
	char remedy[FINDING_TEXT]; /* the command that mends it; "": none */
};

struct findings {
	struct finding list[MAX_FINDINGS];
	unsigned int count;
};

/* Both cut what is too long; findings beyond MAX_FINDINGS are dropped. remedy may be NULL. */
void finding_add(struct findings *findings, const char *topic, const char *subject,
		 enum finding_state state, const char *remedy, const char *format, ...)
	__attribute__((format(printf, 6, 7)));
/* Formats a remedy to be passed on at once; valid until the next call. */
const char *finding_remedy(const char *format, ...) __attribute__((format(printf, 1, 2)));

unsigned int findings_count(const struct findings *findings, enum finding_state state);
void findings_print(const struct findings *findings, FILE *out);
json_t *findings_json(const struct findings *findings);

#endif
