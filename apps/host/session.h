/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * A command's run on a host: checks the shared options, starts DPDK, opens the host and the
 * capture, runs until the command, the clock or a signal ends it, and takes all down in order. What
 * goes wrong is printed as "verbline COMMAND: ...".
 *
 *	struct vl_host_session session;
 *	int status = vl_host_session_open(&session, command, &values.host, &operands, NULL);
 *
 *	if (status)
 *		return status;
 *	(set applications, filters on vl_host_endpoint(session.host, port, worker))
 *	status = vl_host_session_run(&session, &loop);
 *	(read counters; report)
 *	return vl_host_session_close(&session) ...
 */
#ifndef VERBLINE_APPS_HOST_SESSION_H
#define VERBLINE_APPS_HOST_SESSION_H

#include "apps/host/options.h"
#include "apps/option.h"
#include "apps/ports/watch.h"
#include "dataplane/runtime/host.h"
#include "dataplane/runtime/host_telemetry.h"

#include <stdbool.h>
#include <stdint.h>

struct vl_live_capture;

struct vl_host_session {
	const struct vl_command *command;
	struct vl_host *host;
	struct vl_live_capture *capture; /* NULL: none asked for */
	bool has_telemetry;              /* asked for; served while the workers run */
	struct vl_host_telemetry telemetry;
	struct vl_port_watch watch;
	uint32_t port_count, worker_count;
	bool interrupted; /* a signal came */
};

/* What a command needs of its host; zero takes the defaults. */
struct vl_host_session_config {
	struct vl_device_config device; /* limits and behaviour, as in struct vl_host_config */
	uint32_t frame_count;           /* of each worker's mempool */
	uint32_t more_megabytes;        /* that EAL needs beyond the host's own */
	bool needs_no_address;          /* --ip may be missing */
	const union ibv_gid *peer;      /* a host that the command will talk to; NULL: not known */
};

/* VL_EXIT_OK; else everything is taken down again, the reason has been printed, and this is the
 * exit status. config may be NULL. */
int vl_host_session_open(struct vl_host_session *session, const struct vl_command *command,
			 const struct vl_host_options *options, const struct vl_operands *operands,
			 const struct vl_host_session_config *config);

/* All called on the control thread while the workers run. They look at the workers' things by
 * vl_host_call; time is vl_host_now's. */
struct vl_host_loop {
	/* Every interval. False: the run is over. */
	bool (*tick)(void *context, uint64_t now);
	/* Once, at the first SIGINT, SIGTERM or SIGHUP, or when duration is over: the command
	 * begins to end (disconnects, ...), and ticks go on until one says false or grace is over.
	 * NULL: the run ends at once. A second signal ends it in any case. */
	void (*end)(void *context, uint64_t now);
	void *context;
	uint64_t interval; /* ns; 0: 100 ms; at least 1 ms */
	uint64_t duration; /* ns; 0: until a tick says so or a signal comes */
	uint64_t grace;    /* ns; 0: 2 s */
};

/* Starts the workers, loops, stops the workers. VL_EXIT_OK, also after a signal (see interrupted),
 * or VL_EXIT_FAILED: they did not start, the capture cannot be written, or a port was taken away
 * (printed); with the last port the loop ends. */
int vl_host_session_run(struct vl_host_session *session, const struct vl_host_loop *loop);

/* vl_host_call with the error printed. False: the worker did not answer. */
bool vl_host_session_call(struct vl_host_session *session, uint32_t worker,
			  void (*function)(void *context, uint64_t now), void *context);

/* Finishes the capture, destroys the host, stops DPDK. Applications and filters are the command's
 * to free: afterwards, unless they use the endpoint's device. VL_EXIT_OK or VL_EXIT_FAILED: the
 * capture is not whole (printed). */
int vl_host_session_close(struct vl_host_session *session);

#endif
