/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Two ports with a switch between them, as a probe sees them: it sends frames by one, gets what
 * comes in by either, and lets time pass. Who makes a bench fills in the functions; in virtual time
 * that is virtual.h, on real ports the program.
 */
#ifndef VERBLINE_PROBE_BENCH_H
#define VERBLINE_PROBE_BENCH_H

#include <stdbool.h>
#include <stdint.h>

enum vl_probe_side {
	VL_PROBE_SENDER,   /* its port fills the switch */
	VL_PROBE_RECEIVER, /* its port holds the switch back */
	VL_PROBE_SIDES,
};

struct vl_probe_bench {
	uint8_t macs[VL_PROBE_SIDES][6];
	uint8_t addresses[VL_PROBE_SIDES][4]; /* IPv4 */
	uint64_t rate;                        /* bit/s of both lines */
	void *context;                        /* of the functions */
	/* Puts a frame behind those not sent yet; it leaves as soon as the line is free, whatever
	 * pauses say. False: no memory, or the port does not send. */
	bool (*send)(void *context, enum vl_probe_side side, const uint8_t *frame, uint32_t length);
	/* Lets that many nanoseconds pass, in which frames are sent and received. */
	bool (*advance)(void *context, uint64_t duration);
	uint64_t (*now)(void *context); /* ns */
	/* Whether all frames put behind one another have left. */
	bool (*is_idle)(void *context);
	/* ns by which what the switch has sent may be seen late, beyond the line's own time: 0 in
	 * virtual time, on a machine what its receive path takes. */
	uint64_t lateness;
	/* Set by the probe: called for each frame that has arrived, with the time of its last bit.
	 */
	void (*received)(void *receiver, enum vl_probe_side side, const uint8_t *frame,
			 uint32_t length, uint64_t now);
	void *receiver;
};

#endif
