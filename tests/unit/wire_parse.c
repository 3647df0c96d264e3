/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "tests/support/suite.h"
#include "tests/unit/wire_vectors.h"
#include "transport/wire/headers.h"
#include "transport/wire/opcode.h"
#include "transport/wire/parse.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBERS(X)                                                                                 \
	X(opcode)                                                                                  \
	X(solicited)                                                                               \
	X(mig_req)                                                                                 \
	X(fecn)                                                                                    \
	X(becn)                                                                                    \
	X(ack_request)                                                                             \
	X(pad_count)                                                                               \
	X(transport_version)                                                                       \
	X(pkey)                                                                                    \
	X(destination_qpn)                                                                         \
	X(psn)                                                                                     \
	X(payload_length)                                                                          \
	X(syndrome)                                                                                \
	X(msn)                                                                                     \
	X(remote_address)                                                                          \
	X(rkey)                                                                                    \
	X(dma_length)                                                                              \
	X(swap_or_add)                                                                             \
	X(compare)                                                                                 \
	X(original)                                                                                \
	X(invalidate_rkey)                                                                         \
	X(qkey)                                                                                    \
	X(source_qpn)                                                                              \
	X(placement)                                                                               \
	X(selectivity)                                                                             \
	X(virtual_lane)                                                                            \
	X(priority)                                                                                \
	X(source_lid)                                                                              \
	X(destination_lid)                                                                         \
	X(vlan_id)                                                                                 \
	X(traffic_class)                                                                           \
	X(hop_limit)                                                                               \
	X(flow_label)                                                                              \
	X(udp_source_port)

/* False: the packet has no such number. */
static bool number_of(const struct vl_packet *packet, const char *key, uint64_t *value)
{
#define NUMBER(name)                                                                               \
	if (!strcmp(key, #name)) {                                                                 \
		*value = packet->name;                                                             \
		return true;                                                                       \
	}
	NUMBERS(NUMBER)
#undef NUMBER
	if (!strcmp(key, "immediate")) {
		*value = ntohl(packet->immediate);
		return true;
	}
	return false;
}

static bool is_gid(const union ibv_gid *gid, const char *expected)
{
	uint8_t raw[16];

	return inet_pton(AF_INET6, expected, raw) == 1 && !memcmp(raw, gid->raw, sizeof(raw));
}

static bool is_mac(const uint8_t *mac, const char *expected)
{
	char printed[18];

	snprintf(printed, sizeof(printed), "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2],
		 mac[3], mac[4], mac[5]);
	return !strcmp(printed, expected);
}

static void check_field(const struct vl_packet *packet, const char *vector, const char *key,
			const json_t *expected)
{
	uint64_t value = 0;
	bool right;

	if (number_of(packet, key, &value))
		right = value == (uint64_t)json_integer_value(expected);
	else if (!strcmp(key, "source_gid"))
		right = is_gid(&packet->source_gid, json_string_value(expected));
	else if (!strcmp(key, "destination_gid"))
		right = is_gid(&packet->destination_gid, json_string_value(expected));
	else if (!strcmp(key, "source_mac"))
		right = is_mac(packet->source_mac, json_string_value(expected));
	else
		right = !strcmp(key, "destination_mac") &&
			is_mac(packet->destination_mac, json_string_value(expected));
	if (!right)
		printf("%s: %s is %llu\n", vector, key, (unsigned long long)value);
	CU_ASSERT(right);
}

static void test_fields_of_the_vectors(void)
{
	struct vectors vectors = vectors_load();

	for (unsigned int i = 0; i < vectors.count; i++) {
		const struct vector *vector = &vectors.list[i];
		struct vl_packet packet;
		const char *key;
		json_t *value;

		CU_ASSERT_EQUAL(vector_parse(vector, vector->frame, &packet), vector->result);
		CU_ASSERT_PTR_NOT_NULL_FATAL(packet.icrc);
		CU_ASSERT_EQUAL(packet.encapsulation, vector->encapsulation);
		CU_ASSERT_EQUAL(packet.grh_present,
				vector->encapsulation != VL_ENCAPSULATION_IB_LOCAL);
		CU_ASSERT_EQUAL(packet.vlan_present, !!json_object_get(vector->fields, "vlan_id"));
		CU_ASSERT_PTR_EQUAL(packet.info, &vl_opcode_table[packet.opcode]);
		CU_ASSERT_EQUAL(memcmp(packet.icrc, vector->icrc, sizeof(vector->icrc)), 0);
		CU_ASSERT_PTR_EQUAL(packet.payload + packet.payload_length + packet.pad_count,
				    packet.icrc);
		CU_ASSERT_PTR_EQUAL(packet.bth + packet.transport_length, packet.icrc + 4);
		CU_ASSERT_PTR_EQUAL(packet.vcrc, vector->link == VL_LINK_INFINIBAND
							 ? vector->frame + vector->length - 2
							 : NULL);
		json_object_foreach(vector->fields, key, value)
			check_field(&packet, vector->name, key, value);
	}
	vectors_release(&vectors);
}

/* The sample packet of the specification. */
static void test_payload(void)
{
	static const uint8_t payload[14] = {0xbb, 0x88, 0x4d, 0x85, 0xfd, 0x5c, 0xfb,
					    0xa4, 0x72, 0x8b, 0xc0, 0x69, 0x0e, 0xd4};
	struct vectors vectors = vectors_load();
	const struct vector *vector = vectors_find(&vectors, "iba_local_rc_write_only");
	struct vl_packet packet;

	CU_ASSERT_EQUAL(vector_parse(vector, vector->frame, &packet), VL_PARSE_ok);
	CU_ASSERT_EQUAL(packet.payload_length, sizeof(payload));
	CU_ASSERT_EQUAL(memcmp(packet.payload, payload, sizeof(payload)), 0);
	vectors_release(&vectors);
}

/* Bytes that must be there for the BTH and its extension headers to be filled. */
static uint32_t headers_end(const struct vl_packet *packet)
{
	return (uint32_t)(packet->payload - packet->frame);
}

static void check_captured_short(const struct vector *vector, const struct vl_packet *whole,
				 const uint8_t *cut, uint32_t length)
{
	struct vl_packet packet;
	enum vl_parse_result result = vl_parse(&packet, vector->link, cut, length, vector->length);

	if (length >= whole->icrc + 4 - whole->frame) {
		CU_ASSERT_EQUAL(result, vector->result);
		return;
	}
	CU_ASSERT_EQUAL(result, VL_PARSE_captured_short);
	CU_ASSERT_PTR_NULL(packet.icrc);
	CU_ASSERT_EQUAL(!!packet.bth, length >= headers_end(whole));
	if (packet.bth) {
		CU_ASSERT_EQUAL(packet.psn, whole->psn);
		CU_ASSERT_EQUAL(packet.remote_address, whole->remote_address);
		CU_ASSERT_EQUAL(packet.payload_length, whole->payload_length);
		CU_ASSERT_EQUAL(packet.transport_length, whole->transport_length);
		CU_ASSERT_PTR_EQUAL(packet.info, whole->info);
		CU_ASSERT_EQUAL(packet.payload - packet.frame, whole->payload - whole->frame);
	}
}

/* Each truncation lies in an allocation of its own length, so that a sanitizer sees any read
 * behind it. */
static void test_truncations(void)
{
	struct vectors vectors = vectors_load();

	for (unsigned int i = 0; i < vectors.count; i++) {
		const struct vector *vector = &vectors.list[i];
		struct vl_packet whole, packet;

		vector_parse(vector, vector->frame, &whole);
		for (uint32_t length = 0; length < vector->length; length++) {
			uint8_t *cut = malloc(length ? length : 1);
			enum vl_parse_result result;

			memcpy(cut, vector->frame, length);
			result = vl_parse(&packet, vector->link, cut, length, length);
			if (length < whole.icrc + 4 - whole.frame) {
				CU_ASSERT_NOT_EQUAL(result, VL_PARSE_ok);
				CU_ASSERT_NOT_EQUAL(result, VL_PARSE_captured_short);
				CU_ASSERT_PTR_NULL(packet.icrc);
			}
			check_captured_short(vector, &whole, cut, length);
			free(cut);
		}
	}
	vectors_release(&vectors);
}

static const struct test tests[] = {
	{"fields_of_the_vectors", test_fields_of_the_vectors},
	{"payload", test_payload},
	{"truncations", test_truncations},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("wire_parse", tests, argc, argv);
}
