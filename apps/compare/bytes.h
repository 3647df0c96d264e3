/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Bytes that grow, and a reader that never goes beyond their end: what a process that ran a
 * scenario hands to the one that collects. Both are the same program, so values go as they lie in
 * memory. */
#ifndef VERBLINE_COMPARE_BYTES_H
#define VERBLINE_COMPARE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct vl_bytes {
	unsigned char *data; /* to be freed */
	size_t length, capacity;
	bool out_of_memory; /* something was not appended */
};

static inline void vl_bytes_append(struct vl_bytes *bytes, const void *data, size_t length)
{
	size_t capacity = bytes->capacity;
	unsigned char *grown;

	if (bytes->out_of_memory || !length)
		return;
	while (length > capacity - bytes->length)
		capacity = capacity ? 2 * capacity : 4096;
	if (capacity != bytes->capacity) {
		grown = realloc(bytes->data, capacity);
		if (!grown) {
			bytes->out_of_memory = true;
			return;
		}
		bytes->data = grown;
		bytes->capacity = capacity;
	}
	memcpy(bytes->data + bytes->length, data, length);
	bytes->length += length;
}

struct vl_bytes_reader {
	const unsigned char *data;
	size_t length;
};

/* False: fewer bytes are left. */
static inline bool vl_bytes_read(struct vl_bytes_reader *reader, void *to, size_t length)
{
	if (length > reader->length)
		return false;
	if (length)
		memcpy(to, reader->data, length);
	reader->data += length;
	reader->length -= length;
	return true;
}

#endif
