/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * The recorded responder's memory, as far as the capture shows it: a region for each key that was
 * accepted, as wide as the addresses that were. Bytes that this conversation's requests wrote, and
 * no other's, are the stack's own work and are compared when they are read back; all others come
 * from the recorded answers.
 */
#ifndef VERBLINE_REPLAY_MEMORY_H
#define VERBLINE_REPLAY_MEMORY_H

#include "apps/replay/fate.h"
#include "apps/replay/stack.h"

struct memory_region {
	uint32_t rkey;
	uint64_t base, end;
	uint8_t *bytes;
	uint8_t *written;  /* a bit per byte: by this conversation */
	uint8_t *shared;   /* a bit per byte: by others too; NULL: none */
	struct ibv_mr *mr; /* NULL: not registered now */
	bool is_invalid;   /* registered, but a SEND has invalidated it */
};

struct memory {
	struct vl_pd *pd;
	struct memory_region *regions; /* by key */
	uint32_t count;
};

/* Sets up what the accepted requests address. False: message says why. */
bool memory_adopt(struct memory *memory, struct stack *stack, const struct recording *recording,
		  const struct conversation *conversation, const struct request_outcomes *outcomes,
		  char *message, size_t size);
void memory_release(struct memory *memory);
/*
 * Registers a key that is about to be used, if it is one of those. A key may have been invalidated
 * before, and two keys may differ in what is a generation to the stack.
 */
void memory_ready(struct memory *memory, uint32_t rkey);
/* A SEND is about to invalidate the key: the next use registers it anew. */
void memory_invalidate(struct memory *memory, uint32_t rkey);
/* A key that none of the regions has. */
uint32_t memory_unused_key(const struct memory *memory);
/* Puts what the recorded answer returned where nothing was written. */
void memory_fill(struct memory *memory, uint32_t rkey, uint64_t address, const uint8_t *data,
		 uint32_t length);
void memory_mark_written(struct memory *memory, uint32_t rkey, uint64_t address, uint32_t length);

#endif
