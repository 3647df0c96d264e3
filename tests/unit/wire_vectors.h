/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The packets of pcaps/vectors.json, for the tests of the wire layer. */
#ifndef VERBLINE_TESTS_WIRE_VECTORS_H
#define VERBLINE_TESTS_WIRE_VECTORS_H

#include "transport/wire/packet.h"
#include "transport/wire/parse.h"

#include <jansson.h>
#include <stdint.h>

struct vector {
	const char *name;
	enum vl_link_type link;
	enum vl_encapsulation encapsulation;
	enum vl_parse_result result;
	uint8_t *frame; /* allocated at its exact length */
	uint32_t length;
	uint8_t icrc[4];
	json_t *fields;
};

struct vectors {
	struct vector *list;
	unsigned int count;
	json_t *document;
};

/* A failed assertion of the running test, and none loaded, when the file is not as expected. */
struct vectors vectors_load(void);
void vectors_release(struct vectors *vectors);
const struct vector *vectors_find(const struct vectors *vectors, const char *name);
/* A copy at its exact length, to be freed. */
uint8_t *vector_copy(const struct vector *vector);
/* Parses frame, which has the vector's length and link type. */
enum vl_parse_result vector_parse(const struct vector *vector, const uint8_t *frame,
				  struct vl_packet *packet);

#endif
