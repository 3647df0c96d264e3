/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * A frame on its way through the fabric: bytes from the Ethernet header to the ICRC, without
 * preamble and FCS; on InfiniBand from the LRH to the VCRC, or a link packet, without delimiters.
 * In virtual time frames come from a memory pool; live, the structure lies in the private area of
 * the mbuf whose data it points to. A frame has one holder at a time: who takes it either passes it
 * on or gives it back with vl_frame_free.
 */
#ifndef VERBLINE_DATAPLANE_FRAME_H
#define VERBLINE_DATAPLANE_FRAME_H

#include <stddef.h>
#include <stdint.h>

struct vl_frame_pool;

enum vl_frame_kind {
	VL_FRAME_ETHERNET,
	VL_FRAME_INFINIBAND,      /* LRH to VCRC */
	VL_FRAME_INFINIBAND_LINK, /* a flow-control packet, six bytes */
};

struct vl_frame {
	uint8_t *data;
	struct vl_frame *next; /* in the holder's list */
	union {
		struct vl_frame *previous; /* among a link's late frames */
		/* ns; come from a link: when its last bit arrives; in a cut-through switch: when it
		 * may leave at the earliest. */
		uint64_t whole_at, ready_at;
	};
	struct vl_frame_pool *pool; /* where it goes back to */
	void *owner;                /* live: the mbuf; else NULL */
	uint64_t time;     /* ns, the holder's: arrival at the end of a link, entry to a queue */
	uint32_t length;   /* bytes */
	uint32_t capacity; /* bytes that data has room for */
	uint32_t tail;     /* of dataplane/constant_payload.h, in its buffers */
	union {
		uint32_t is_held;    /* the link's: it waits to be overtaken */
		uint32_t is_overdue; /* a replay's: its time was over when it was read */
		uint32_t source_qpn; /* between device and link: whose packet it is; 0: no QP's */
	};
	uint16_t ingress_port; /* the switch's: where it came in */
	uint8_t priority;      /* 0..7: the sender's service level, then the switch's queue; 0..15
				* on InfiniBand */
	uint8_t kind;          /* enum vl_frame_kind; VL_FRAME_ETHERNET as it comes from a pool */
	uint8_t virtual_lane;  /* InfiniBand: on which it came in, 0..15 */
	uint8_t group, colour; /* the switch's: priority group at ingress, enum vl_colour */
	/* The link's, of late frames, and of those that it holds: the ordinal of the passing frame
	 * that lets this one go. */
	uint32_t sequence, release_at;
	struct vl_frame *child, *next_held, *previous_held;
};

/* As seen from the port or endpoint at which a frame is looked at. */
enum vl_direction {
	VL_DIRECTION_RECEIVED,    /* its last bit has arrived; at a cut-through switch: its head */
	VL_DIRECTION_TRANSMITTED, /* its first bit leaves */
};

/* Frames that one thread gets and puts. */
struct vl_frame_pool {
	/* NULL: none left. length and kind are 0, data has capacity bytes. */
	struct vl_frame *(*get)(struct vl_frame_pool *pool);
	void (*put)(struct vl_frame_pool *pool, struct vl_frame *frame);
};

static inline struct vl_frame *vl_frame_get(struct vl_frame_pool *pool)
{
	return pool->get(pool);
}

static inline void vl_frame_free(struct vl_frame *frame)
{
	frame->pool->put(frame->pool, frame);
}

/* A pool in ordinary memory that grows by slabs up to a limit. The frame given back last is
 * given out first, as it is the one most likely in the cache. */
struct vl_memory_frame_pool {
	struct vl_frame_pool pool; /* must be first */
	struct vl_frame *free;
	void *slabs;
	uint32_t capacity; /* of each frame, bytes */
	uint32_t total;    /* frames made so far */
	uint32_t limit;    /* most frames ever */
	uint32_t in_use;
	uint64_t failures; /* gets that found none */
};

/* capacity 0: VL_FRAME_DEFAULT_CAPACITY; limit 0: no limit but memory. */
#define VL_FRAME_DEFAULT_CAPACITY 4288u
void vl_memory_frame_pool_init(struct vl_memory_frame_pool *pool, uint32_t capacity,
			       uint32_t limit);
/* All frames become invalid, those in use too. */
void vl_memory_frame_pool_release(struct vl_memory_frame_pool *pool);

#endif
