/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * One direction of a full-duplex link, Ethernet or InfiniBand: a line that is busy while a frame is
 * clocked out, a propagation delay, and impairments. No clock: the
 * caller says what time it is, asks when the line is free, puts a frame on it, and takes out what
 * has arrived. A frame has arrived when its last bit has, or, on a link to a cut-through switch,
 * when its head has.
 */
#ifndef VERBLINE_FABRIC_LINK_H
#define VERBLINE_FABRIC_LINK_H

#include "dataplane/fabric/late_frames.h"
#include "dataplane/fabric/rate.h"
#include "dataplane/frame.h"
#include "transport/counter_field.h"
#include "transport/random.h"
#include "transport/wire/packet.h"

#include <stdbool.h>
#include <stdint.h>

/* Preamble and start delimiter 8, gap 12, FCS 4: what a frame costs beyond its bytes. */
#define VL_ETHERNET_OVERHEAD 24u
/* Shortest frame without FCS; shorter ones are padded on the line. */
#define VL_ETHERNET_MIN_LENGTH 60u
/* As much of a frame as a cut-through switch waits for: the shortest frame. */
#define VL_ETHERNET_HEAD 64u
/* InfiniBand's: the delimiters before and behind a packet, one symbol each (IBTA volume 2, 5.9; the
 * lengths of packets, 4n + 2 bytes, are made for it). There is no gap and no shortest packet. Skip
 * sequences, one in some 4,600 symbols, are not modelled. */
#define VL_INFINIBAND_OVERHEAD 2u

enum vl_link_action {
	VL_LINK_PASS,
	VL_LINK_DROP,
	VL_LINK_DUPLICATE,
	VL_LINK_REORDER,
	VL_LINK_CORRUPT,
	VL_LINK_MARK,
};

/*
 * What happens to frames on the link. Probabilities are 0 to 1 and drawn independently for each
 * frame, in the order of the fields. MAC control frames and InfiniBand link packets are exempt.
 */
struct vl_impairments {
	double loss;
	double duplicate;
	double reorder;          /* the frame is overtaken by reorder_frames that follow it */
	double corrupt;          /* one bit, anywhere in the frame, is flipped */
	double mark;             /* ECN-capable frames become CE; InfiniBand packets get FECN */
	uint32_t reorder_frames; /* 0: 1 */
	uint64_t reorder_hold;   /* ns; the longest wait for those frames; 0: 100 us */
	uint64_t jitter;         /* ns; each frame and each copy is delayed by 0 to jitter more,
				  * uniformly, and so may be overtaken */
	/* Exact choices: bit n % 64 drops the n-th frame (from 0); ordinals are ascending. */
	uint64_t drop_mask;
	const uint64_t *drop_ordinals;
	uint32_t drop_count;
	/* Decides about each frame before anything else does; NULL: nobody. */
	enum vl_link_action (*decide)(void *context, const struct vl_frame *frame,
				      uint64_t ordinal);
	void *decide_context;
};

struct vl_link_config {
	enum vl_link_type type; /* VL_LINK_ETHERNET (0) or VL_LINK_INFINIBAND */
	uint64_t rate;          /* bit/s, VL_RATE_MIN to VL_RATE_MAX */
	uint64_t propagation;   /* ns */
	uint32_t mtu;           /* largest frame without FCS, bytes; 0: 9216 */
	/* How late a caller may come to a free line, ns, and its frame still follow the one before
	 * without a gap. 0 in virtual time; a poll loop's period live. */
	uint64_t slack;
	/* Ethernet: a frame arrives with its first VL_ETHERNET_HEAD bytes, FCS counted;
	 * frame->whole_at then says when its last bit will be there. */
	bool delivers_head;
	uint64_t seed; /* of the impairments */
	struct vl_impairments impairments;
};

#define VL_LINK_COUNTERS(X)                                                                        \
	X(frames_tx, "frames", "put on the line")                                                  \
	X(bytes_tx, "bytes", "of frames_tx, without preamble, gap and FCS")                        \
	X(frames_rx, "frames", "arrived at the far end")                                           \
	X(bytes_rx, "bytes", "of frames_rx")                                                       \
	X(dropped_loss, "frames", "lost at random")                                                \
	X(dropped_chosen, "frames", "lost by an exact choice")                                     \
	X(dropped_mtu, "frames", "longer than the MTU")                                            \
	X(duplicated, "frames", "sent twice")                                                      \
	X(not_duplicated, "frames", "to be sent twice, but no frame was free")                     \
	X(reordered, "frames", "held back")                                                        \
	X(corrupted, "frames", "with a flipped bit")                                               \
	X(marked, "frames", "set to ECN CE")

struct vl_link_counters {
	VL_LINK_COUNTERS(VL_COUNTER_FIELD)
};

/* What each frame touches comes first. */
struct vl_fabric_link {
	struct vl_rate rate;
	uint64_t busy_until;     /* ns, rounded down */
	uint64_t busy_remainder; /* 1 ns / rate */
	/* In flight: as long as each arrives no earlier than the one before, in a list; the others,
	 * and those that are held back, apart. */
	struct vl_frame *head, *tail;
	struct vl_late_frames late;
	uint64_t propagation; /* ns, as configured; so are mtu and slack */
	uint32_t in_flight;
	uint32_t passed; /* frames that may have overtaken others */
	uint64_t slack;
	uint32_t mtu;
	bool is_infiniband;
	bool delivers_head;
	bool impaired;
	struct vl_frame *first_held, *last_held; /* release_at ascending */
	struct vl_link_counters counters;
	uint32_t next_drop; /* in drop_ordinals */
	uint64_t ordinal;   /* of the next frame */
	struct vl_random random;
	struct vl_link_config config;
};

/* -EINVAL: rate, a probability or the mtu (60 to 65535) out of range. */
int vl_fabric_link_init(struct vl_fabric_link *link, const struct vl_link_config *config);
/* New impairments from the next frame on; -EINVAL as above. */
int vl_fabric_link_impair(struct vl_fabric_link *link, const struct vl_impairments *impairments);
/* Gives the frames in flight back to their pools. */
void vl_fabric_link_clear(struct vl_fabric_link *link);

/* The earliest whole nanosecond at which the line is free; in the past: it is free now. */
static inline uint64_t vl_fabric_link_free_at(const struct vl_fabric_link *link)
{
	return link->busy_until + (link->busy_remainder != 0);
}

static inline bool vl_fabric_link_is_free(const struct vl_fabric_link *link, uint64_t now)
{
	return vl_fabric_link_free_at(link) <= now;
}

/* The line stands idle until now as nobody had anything to send: that is not a caller's lateness,
 * and slack does not make up for it. */
static inline void vl_fabric_link_idle(struct vl_fabric_link *link, uint64_t now)
{
	if (link->busy_until < now) {
		link->busy_until = now;
		link->busy_remainder = 0;
	}
}

/* Puts a frame on the line, which is to be free (else it follows the one before). The link holds
 * the frame from here on. */
void vl_fabric_link_send(struct vl_fabric_link *link, struct vl_frame *frame, uint64_t now);

/* When the next frame arrives; UINT64_MAX: none in flight. Sending may bring it forward. */
static inline uint64_t vl_fabric_link_next_arrival(const struct vl_fabric_link *link)
{
	uint64_t time = link->head ? link->head->time : UINT64_MAX;

	return link->late.first && link->late.first->time < time ? link->late.first->time : time;
}

/* The next frame that has arrived by now, which is the caller's then; NULL: none. Sets
 * frame->whole_at. */
struct vl_frame *vl_fabric_link_receive(struct vl_fabric_link *link, uint64_t now);

#endif
