/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "tests/unit/wire_vectors.h"

#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *text(const json_t *object, const char *key)
{
	const char *value = json_string_value(json_object_get(object, key));

	return value ? value : "";
}

static void decode_hex(uint8_t *bytes, const char *hex)
{
	for (size_t i = 0; hex[2 * i] && hex[2 * i + 1]; i++) {
		char digits[3] = {hex[2 * i], hex[2 * i + 1], 0};

		bytes[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
}

static enum vl_encapsulation encapsulation_of(const char *name)
{
	if (!strcmp(name, "ROCEV2_IPV4"))
		return VL_ENCAPSULATION_ROCEV2_IPV4;
	if (!strcmp(name, "ROCEV2_IPV6"))
		return VL_ENCAPSULATION_ROCEV2_IPV6;
	if (!strcmp(name, "ROCEV1"))
		return VL_ENCAPSULATION_ROCEV1;
	if (!strcmp(name, "IB_LOCAL"))
		return VL_ENCAPSULATION_IB_LOCAL;
	CU_ASSERT_STRING_EQUAL(name, "IB_GLOBAL");
	return VL_ENCAPSULATION_IB_GLOBAL;
}

static void load_vector(struct vector *vector, const json_t *object)
{
	const char *hex = text(object, "hex");

	vector->name = text(object, "name");
	vector->link =
		strcmp(text(object, "link"), "infiniband") ? VL_LINK_ETHERNET : VL_LINK_INFINIBAND;
	vector->encapsulation = encapsulation_of(text(object, "encapsulation"));
	vector->result =
		strcmp(text(object, "result"), "grh_header") ? VL_PARSE_ok : VL_PARSE_grh_header;
	vector->length = (uint32_t)strlen(hex) / 2;
	vector->frame = malloc(vector->length);
	decode_hex(vector->frame, hex);
	decode_hex(vector->icrc, text(object, "icrc"));
	vector->fields = json_object_get(object, "fields");
}

struct vectors vectors_load(void)
{
	const char *root = getenv("VERBLINE_SOURCE_ROOT");
	struct vectors vectors = {0};
	const json_t *array;
	char path[4096];

	snprintf(path, sizeof(path), "%s/pcaps/vectors.json", root ? root : ".");
	vectors.document = json_load_file(path, 0, NULL);
	array = json_object_get(vectors.document, "vectors");
	vectors.count = (unsigned int)json_array_size(array);
	CU_ASSERT_EQUAL_FATAL(vectors.count, 26);
	vectors.list = calloc(vectors.count, sizeof(*vectors.list));
	for (unsigned int i = 0; i < vectors.count; i++)
		load_vector(&vectors.list[i], json_array_get(array, i));
	return vectors;
}

void vectors_release(struct vectors *vectors)
{
	for (unsigned int i = 0; i < vectors->count; i++)
		free(vectors->list[i].frame);
	free(vectors->list);
	json_decref(vectors->document);
}

const struct vector *vectors_find(const struct vectors *vectors, const char *name)
{
	for (unsigned int i = 0; i < vectors->count; i++) {
		if (!strcmp(vectors->list[i].name, name))
			return &vectors->list[i];
	}
	CU_FAIL_FATAL("no such vector");
	return NULL;
}

uint8_t *vector_copy(const struct vector *vector)
{
	uint8_t *copy = malloc(vector->length);

	memcpy(copy, vector->frame, vector->length);
	return copy;
}

enum vl_parse_result vector_parse(const struct vector *vector, const uint8_t *frame,
				  struct vl_packet *packet)
{
	return vl_parse(packet, vector->link, frame, vector->length, vector->length);
}
