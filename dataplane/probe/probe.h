/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Finding out from the outside how a switch is configured for one traffic class: the receiver
 * pauses the class, so that what the sender sends stands in the switch and its amount is known to
 * the frame; then it is looked at who marks, who pauses, and what is lost. Nothing is known of the
 * switch but that it forwards between the two ports and obeys PFC.
 *
 * What a frame takes of a switch's memory is more than its length where memory comes in cells. The
 * size of a cell follows from how many frames of each of several lengths reach the same limit.
 */
#ifndef VERBLINE_PROBE_PROBE_H
#define VERBLINE_PROBE_PROBE_H

#include "dataplane/probe/bench.h"

#include <stdbool.h>
#include <stdint.h>

#define VL_PROBE_MAX_BURST  65536u /* frames that are held at a time */
#define VL_PROBE_MIN_LENGTH 60u
#define VL_PROBE_MAX_CELL   512u

struct vl_probe_config {
	uint8_t dscp;         /* 0..63, of the class; frames are ECT(0) */
	uint8_t priority;     /* 0..7, of the class in PFC frames */
	uint32_t most_length; /* longest frame without FCS; 0: 1514 */
	uint64_t most_frames; /* that a probe sends in all; 0: 20 million */
	/* Called now and then; NULL: not. False: the probe is to end. */
	bool (*progress)(void *context, const char *step, double part);
	void *context;
};

/* What has come in since vl_probe_burst. */
struct vl_probe_seen {
	uint32_t frames;          /* of the burst, at the receiver */
	uint64_t first, last;     /* ns, their arrivals */
	uint32_t xoffs, xons;     /* for the class, at the sender */
	uint64_t xoff_at, xon_at; /* ns, of the first */
	uint32_t frames_at_xon;   /* frames that had come to the receiver when the first came */
};

struct vl_probe {
	struct vl_probe_bench *bench;
	struct vl_probe_config config;
	struct vl_probe_seen seen;
	uint8_t *marks;      /* by number in the burst: 0 not received, 1 received, 2 with CE */
	uint32_t burst;      /* frames of the burst */
	uint32_t session;    /* number of the burst, so that older frames are told apart */
	uint64_t sent;       /* frames in all */
	uint64_t latency;    /* ns, of a short frame through the empty switch */
	uint64_t response;   /* ns, from a pause leaving to the last frame */
	uint64_t settle;     /* ns after which nothing more comes of what was done */
	uint64_t hold_until; /* ns, of the receiver's pause; 0: none */
	uint32_t lapses;     /* pauses that ran out as the machine did not renew them in time */
	bool has_lapsed;     /* and frames of the burst may still be on their way */
	const char *step;    /* that the caller was told of last; NULL: none */
	double part;         /* of it that is done */
	uint32_t cell;       /* bytes; 1: memory is not in cells; 0: not known yet */
	char error[256];     /* what the last step that failed found wrong */
};

/* Measures latency and response. 0, or a negative errno value with probe->error: -ENODATA: nothing
 * comes through; -ENOTSUP: the switch does not obey pauses of the class. To be closed in any case.
 */
int vl_probe_open(struct vl_probe *probe, struct vl_probe_bench *bench,
		  const struct vl_probe_config *config);
void vl_probe_close(struct vl_probe *probe); /* fine on zeros */

/* ---- Steps: 0, or a negative errno value with the error -------------------------------- */

/* Whether a step that failed is worth another attempt: -ETIME says that a pause ran out before the
 * machine renewed it, so that what stood in the switch is not known. Too many are not. */
bool vl_probe_again(const struct vl_probe *probe, int status);

/* The receiver pauses the class from now on, or lets it go. */
int vl_probe_hold(struct vl_probe *probe, bool holds);
int vl_probe_wait(struct vl_probe *probe, uint64_t duration);
/* Sends so many frames, numbered from 0, and waits until they are where they will be. */
int vl_probe_burst(struct vl_probe *probe, uint32_t count, uint32_t length);
/* Sends more of them, numbered on. */
int vl_probe_add(struct vl_probe *probe, uint32_t count, uint32_t length);
/* As vl_probe_burst, into a switch that is empty and holds the class back. */
int vl_probe_fill(struct vl_probe *probe, uint32_t count, uint32_t length);
/* Lets go, and waits until all has come that comes. */
int vl_probe_drain(struct vl_probe *probe, uint32_t length);
/* Lets about that many nanoseconds' worth of frames go, then holds again; 0: as few as possible. */
int vl_probe_release(struct vl_probe *probe, uint64_t duration);

/* Keeps the text and returns status. */
int vl_probe_fail(struct vl_probe *probe, int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Tells the caller how far a step has come, which every burst repeats; -EINTR: it wants no more. */
int vl_probe_tell(struct vl_probe *probe, const char *step, double part);
/* Nanoseconds that a frame takes on the line, rounded up. */
uint64_t vl_probe_line_time(const struct vl_probe *probe, uint32_t length);
/* Bytes of memory that a frame takes in a switch with cells of that size. */
static inline uint64_t vl_probe_occupancy(uint32_t cell, uint32_t length)
{
	return (uint64_t)(length + cell - 1) / cell * cell;
}

/* ---- Results ----------------------------------------------------------------------------- */

/* Bytes of memory, known to lie between two values. */
struct vl_probe_size {
	double value, least, most;
};

struct vl_probe_limit {
	struct vl_probe_size size;
	uint32_t cell; /* 1: bytes */
};

struct vl_probe_marking {
	bool is_marking;   /* false: no frame was marked up to the most that could be held */
	bool at_dequeue;   /* else at enqueue */
	double kmin, kmax; /* bytes */
	double pmax;       /* 0..1 */
	double kmin_error, kmax_error, pmax_error; /* one standard deviation */
	uint64_t frames, marked;
	double most_held; /* bytes */
};

struct vl_probe_drain_rate {
	double rate;       /* bit/s on the line, preamble and gap included */
	double error;      /* bit/s, a frame more or less */
	uint64_t response; /* ns, from a pause leaving the receiver to the last frame */
	uint64_t resume;   /* ns, from the end of a pause to the first frame */
	uint64_t latency;  /* ns, of a short frame through the empty switch */
};

/* Bytes of the class in the switch at which it pauses the sender. -ENODATA: it does not before
 * frames are lost. */
int vl_probe_xoff(struct vl_probe *probe, struct vl_probe_limit *xoff);
/* Bytes at which it lets the sender go on. */
int vl_probe_xon(struct vl_probe *probe, struct vl_probe_limit *xon);
/* Bytes beyond XOFF that it still takes from a sender that does not stop. */
int vl_probe_headroom(struct vl_probe *probe, struct vl_probe_limit *headroom);
/* Bytes of the class that it holds in all, from a sender that does not stop. */
int vl_probe_capacity(struct vl_probe *probe, struct vl_probe_limit *capacity);
/* Kmin, Kmax and Pmax of an instantaneous queue length. */
int vl_probe_ecn(struct vl_probe *probe, struct vl_probe_marking *marking);
int vl_probe_drain_time(struct vl_probe *probe, struct vl_probe_drain_rate *drain);

#endif
