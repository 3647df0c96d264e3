/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * DCQCN packet by packet, from the algorithm of the paper (Zhu et al., SIGCOMM 2015, section 3) and
 * nothing else: N senders that pace equal packets, one first-in-first-out line that marks at
 * dequeue, a receiver's CNPs once in a window, reaction points in floating point. It is the oracle
 * where the fluid model's smooth marking and rates are not a good picture of single packets and
 * cuts.
 */
#ifndef VERBLINE_TESTS_DCQCN_PACKETS_H
#define VERBLINE_TESTS_DCQCN_PACKETS_H

#include <stdint.h>

#define DCQCN_PACKETS_MOST_FLOWS 16u

struct dcqcn_packets_setting {
	double rate;         /* bit/s of the line, and of each sender at the start */
	double delay;        /* s, from a CNP's cause to the cut */
	unsigned int flows;  /* 1 to DCQCN_PACKETS_MOST_FLOWS */
	double packet;       /* bytes on the line */
	double settled, end; /* s: measured between */
	uint64_t seed;       /* of the marking */
};

struct dcqcn_packets_result {
	double mean_queue; /* bytes that wait, over time */
	double alpha;      /* mean over time and flows */
	double use;        /* of the line, 0 to 1 */
};

/* The parameters are the paper's: Kmin 5 KB, Kmax 200 KB, Pmax 1 %, g 1/256, timers and window 55,
 * 55 and 50 us, byte counter 10 MB, 40 Mb/s additive increase after five recoveries. */
struct dcqcn_packets_result dcqcn_packets(const struct dcqcn_packets_setting *setting);

#endif
