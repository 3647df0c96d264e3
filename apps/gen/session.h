/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What a command line asks of the generator, and its run on a host: from the session's opening to
 * the report. */
#ifndef VERBLINE_APPS_GEN_SESSION_H
#define VERBLINE_APPS_GEN_SESSION_H

#include "apps/fault/fault.h"
#include "apps/gen/config.h"
#include "apps/host/options.h"
#include "apps/report/output.h"

#include <stdbool.h>
#include <stdint.h>

/* A number that was not given. */
#define GEN_UNSET UINT64_MAX

struct gen_options {
	struct vl_host_options host;
	struct vl_fault_options fault;
	/* Of the file, in its words; NULL: not given. */
	const char *to, *qps, *size, *messages, *duration, *depth, *verb, *mix, *transport, *rate;
	const char *per, *counts, *burst, *ramp, *stagger, *ecn, *timeout, *cc, *cc_profile;
	const char *udp_source_port, *udp_source_ports, *warm_up, *peer_port;
	struct vl_texts sets;
	bool cm;
	uint64_t remote_qpn, remote_psn, remote_qkey, remote_address, rkey, local_qpn, local_psn;
	bool loopback, show, keys, perftest, latency, each_qp, no_checks;
	const char *hgrm, *pacing_hgrm;
};

/* Opened before the run, so that nothing is lost for want of a file. */
struct gen_files {
	struct vl_output json, hgrm, pacing;
};

/* An exit status; what is wrong has been printed. file: the configuration's, NULL: none. */
int gen_open_files(const struct vl_command *command, const struct gen_options *values,
		   const char *file, struct gen_files *files);
/* Those that were not finished leave nothing behind. */
void gen_abandon_files(struct gen_files *files);
/* Runs and reports. An exit status. */
int gen_session(const struct vl_command *command, const struct gen_options *values,
		const struct vl_operands *operands, struct gen_config *config,
		struct gen_files *files);

#endif
