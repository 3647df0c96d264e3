/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What a run of the generator found: for people, for programs, and as perftest prints it. */
#ifndef VERBLINE_GEN_REPORT_H
#define VERBLINE_GEN_REPORT_H

#include "apps/gen/run.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* Of a group, all shares added. */
struct gen_group_result {
	const struct gen_group *group;
	uint64_t bytes, messages; /* completed in the window */
	double seconds;           /* of the window, the longest of a share */
	double goodput;           /* bit/s */
	double message_rate;      /* messages/s */
	double asked, sent;       /* in the unit of its rate per second; asked 0: no rate */
	double expected;          /* mean of the window, with ramp and stagger; else as asked */
	double least, most;       /* of that, in any whole second; 0: none was whole */
	double best_goodput;      /* bit/s of the best whole second, or goodput */
	enum vl_rate_count counts;
	uint64_t held_back, put_off;
	uint64_t cnp_rx;             /* of its queue pairs */
	uint32_t failed, unfinished; /* queue pairs */
	enum ibv_wc_status failure;  /* of the first that failed */
	struct vl_histogram completion, pacing;
	/* Of messages with immediate data, as the peer found it; the worst clock of its shares. */
	struct vl_one_way one_way;
	enum vl_control_clock_kind clock;
	uint64_t clock_error; /* ns, in all; UINT64_MAX: not known. Its parts: */
	uint64_t difference_error, arrival_error;    /* as in struct vl_control_one_way */
	char arrival_clock[VL_CONTROL_ARRIVAL_TEXT]; /* likewise, or "mixed" */
};

/* An array by config->groups, to be freed. NULL: no memory. */
struct gen_group_result *gen_group_results(const struct gen_run *run);

/* Of a port, all its workers added; application: of the first. */
struct gen_endpoint_result gen_port_result(const struct gen_run *run, uint32_t application);

/* Part of a rate that may be missing, or too much. */
#define GEN_RATE_TOLERANCE 0.001
/* How far off, in the unit of its rate per second, a group may seem that holds its rate, as the
 * ends of what is measured fall between messages: one of each queue pair, or a burst. */
double gen_rate_granularity(const struct gen_group_result *result);
/* Whether the clocks agree well enough to speak of one-way latencies. */
bool gen_one_way_is_measurable(const struct gen_group_result *result);
/* Which clock they are by, for people. */
const char *gen_clock_text(enum vl_control_clock_kind clock);

struct gen_check {
	const char *name;
	bool passed;
	bool is_excused; /* passed, though it was not so: the text says why */
	char text[400];
};
#define GEN_MAX_CHECKS (1 + 2 * GEN_MAX_GROUPS + GEN_MAX_STREAMS)
/* What must be: the run came to its end, rates held, no queue pair failed, all that was to complete
 * has. Returns how many there are. */
unsigned int gen_checks(const struct gen_run *run, const struct gen_group_result *groups,
			struct gen_check checks[GEN_MAX_CHECKS]);

/* Of a rate in Gb/s, so that slow ones are not all zeros. */
static inline int gen_rate_decimals(double bits_per_second)
{
	return bits_per_second < 1e9 ? 6 : 3;
}

void gen_report_tables(const struct gen_run *run, const struct gen_group_result *groups,
		       bool each_qp, FILE *out);
void gen_report_checks(const struct gen_check *checks, unsigned int count, FILE *out);
/* is_latency: as ib_write_lat, else as ib_write_bw. */
void gen_report_perftest(const struct gen_run *run, const struct gen_group_result *groups,
			 bool is_latency, FILE *out);
/* NULL: no memory. */
json_t *gen_report_json(const struct gen_run *run, const struct gen_group_result *groups,
			const struct gen_check *checks, unsigned int check_count);

#endif
