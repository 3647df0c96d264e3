/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * The recorded responder's memory, as far as the capture shows it: a region for each key that was
 * accepted, as wide as the addresses that were. Bytes that requests wrote are the stack's own work
 * and are compared when they are read back; all others come from the recorded answers.
 */
#ifndef VERBLINE_REPLAY_MEMORY_H
#define VERBLINE_REPLAY_MEMORY_H

#include "apps/replay/fate.h"
#include "apps/replay/stack.h"

struct memory_region {
	uint32_t rkey;
	uint64_t base, end;
	uint8_t *bytes;
	uint8_t *written; /* a bit per byte */
	bool invalidated; /* by a SEND, at some time */
};

struct memory {
	struct memory_region *regions;
	uint32_t count, room;
};

/* Registers what the accepted requests address. False: message says why. */
bool memory_adopt(struct memory *memory, struct stack *stack,
		  const struct conversation *conversation, const struct request_outcome *outcomes,
		  char *message, size_t size);
void memory_release(struct memory *memory);
/* Puts what the recorded answer returned where nothing was written. */
void memory_fill(struct memory *memory, uint32_t rkey, uint64_t address, const uint8_t *data,
		 uint32_t length);
void memory_mark_written(struct memory *memory, uint32_t rkey, uint64_t address, uint32_t length);

#endif
