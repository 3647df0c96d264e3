/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What verbline replay calls equal, what it tolerates, and what it calls different. */

#include "apps/replay/trial.h"
#include "tests/support/suite.h"
#include "transport/wire/opcode.h"

#include <stddef.h>
#include <string.h>

struct alteration {
	uint8_t opcode;
	size_t offset, size;
	uint8_t recorded; /* value of the field's first byte, in the recorded packet */
	uint8_t stack;
	const char *field; /* that the difference names; NULL: a freedom */
	uint32_t freedom;
};

#define FIELD(member) offsetof(struct vl_packet, member), sizeof(((struct vl_packet *)0)->member)

static const struct alteration alterations[] = {
	{VL_OP_SEND_ONLY, FIELD(psn), 1, 2, "PSN", 0},
	{VL_OP_SEND_ONLY, FIELD(destination_qpn), 1, 2, "destination QPN", 0},
	{VL_OP_SEND_ONLY, FIELD(pkey), 1, 2, "P_Key", 0},
	{VL_OP_SEND_ONLY, FIELD(solicited), 0, 1, "solicited event", 0},
	{VL_OP_SEND_ONLY, FIELD(pad_count), 0, 1, "pad count", 0},
	{VL_OP_SEND_ONLY, FIELD(fecn), 0, 1, "FECN", 0},
	{VL_OP_SEND_ONLY, FIELD(becn), 0, 1, "BECN", 0},
	{VL_OP_SEND_ONLY, FIELD(mig_req), 0, 1, NULL, REPLAY_FREEDOM_mig_req},
	/* More may be asked for than was, but not less: the last packet of a message must ask. */
	{VL_OP_SEND_ONLY, FIELD(ack_request), 0, 1, NULL, REPLAY_FREEDOM_ack_request},
	{VL_OP_SEND_ONLY, FIELD(ack_request), 1, 0, "AckReq", 0},
	{VL_OP_SEND_FIRST, FIELD(ack_request), 1, 0, NULL, REPLAY_FREEDOM_ack_request},
	{VL_OP_ACKNOWLEDGE, FIELD(ack_request), 0, 1, "AckReq", 0},
	{VL_OP_SEND_ONLY, FIELD(payload_length), 3, 4, "payload length", 0},
	{VL_OP_WRITE_ONLY, FIELD(remote_address), 1, 2, "remote address", 0},
	{VL_OP_WRITE_ONLY, FIELD(rkey), 1, 2, "R_Key", 0},
	{VL_OP_WRITE_ONLY, FIELD(dma_length), 1, 2, "DMA length", 0},
	{VL_OP_READ_REQUEST, FIELD(dma_length), 1, 2, "DMA length", 0},
	{VL_OP_COMPARE_SWAP, FIELD(remote_address), 1, 2, "remote address", 0},
	{VL_OP_COMPARE_SWAP, FIELD(compare), 1, 2, "compare data", 0},
	{VL_OP_FETCH_ADD, FIELD(swap_or_add), 1, 2, "swap or add data", 0},
	{VL_OP_ATOMIC_ACKNOWLEDGE, FIELD(original), 1, 2, "original data", 0},
	{VL_OP_FLUSH, FIELD(placement), 1, 2, "placement type", 0},
	{VL_OP_FLUSH, FIELD(selectivity), 0, 1, "selectivity level", 0},
	{VL_OP_SEND_ONLY_IMM, FIELD(immediate), 1, 2, "immediate data", 0},
	{VL_OP_SEND_ONLY_INVALIDATE, FIELD(invalidate_rkey), 1, 2, "R_Key to invalidate", 0},
	{VL_OP_ACKNOWLEDGE, FIELD(msn), 1, 2, "MSN", 0},
	{VL_OP_READ_RESPONSE_ONLY, FIELD(msn), 1, 2, "MSN", 0},
	{VL_OP_ACKNOWLEDGE, FIELD(syndrome), 0x1f, 0x05, NULL, REPLAY_FREEDOM_credit_value},
	{VL_OP_ACKNOWLEDGE, FIELD(syndrome), 0x21, 0x3f, NULL, REPLAY_FREEDOM_rnr_timer},
	{VL_OP_ACKNOWLEDGE, FIELD(syndrome), 0x1f, 0x3f, "AETH syndrome", 0},
	{VL_OP_ACKNOWLEDGE, FIELD(syndrome), 0x60, 0x20, "AETH syndrome", 0},
	{VL_OP_ACKNOWLEDGE, FIELD(syndrome), 0x60, 0x00, "AETH syndrome", 0},
	{VL_OP_ACKNOWLEDGE, FIELD(syndrome), 0x61, 0x62, "AETH syndrome", 0},
};

static uint8_t payload[8] = {1, 2, 3, 4, 5, 6, 7, 8};

static struct vl_packet make_packet(uint8_t opcode)
{
	return (struct vl_packet){.opcode = opcode,
				  .info = &vl_opcode_table[opcode],
				  .payload = payload,
				  .payload_length = sizeof(payload)};
}

static struct vl_packet make_altered(const struct alteration *alteration, uint8_t value)
{
	struct vl_packet packet = make_packet(alteration->opcode);

	memset((uint8_t *)&packet + alteration->offset, 0, alteration->size);
	memcpy((uint8_t *)&packet + alteration->offset, &value, 1);
	return packet;
}

static void each_field_counts(void)
{
	for (size_t i = 0; i < sizeof(alterations) / sizeof(alterations[0]); i++) {
		const struct alteration *alteration = &alterations[i];
		struct vl_packet recorded = make_altered(alteration, alteration->recorded);
		struct vl_packet stack = make_altered(alteration, alteration->stack);
		struct comparison comparison = compare_packets(&recorded, &stack);

		CU_ASSERT_EQUAL(comparison.is_different, alteration->field != NULL);
		if (alteration->field) {
			CU_ASSERT_FALSE(strncmp(comparison.field, alteration->field,
						strlen(alteration->field)));
		} else {
			CU_ASSERT_EQUAL(comparison.freedoms, 1u << alteration->freedom);
		}
		comparison = compare_packets(&recorded, &recorded);
		CU_ASSERT_FALSE(comparison.is_different);
		CU_ASSERT_EQUAL(comparison.freedoms, 0);
	}
}

static void a_payload_byte_is_named(void)
{
	uint8_t altered[8] = {1, 2, 3, 4, 5, 9, 7, 0};
	struct vl_packet recorded = make_packet(VL_OP_READ_RESPONSE_ONLY), stack = recorded;
	struct comparison comparison;

	stack.payload = altered;
	comparison = compare_packets(&recorded, &stack);
	CU_ASSERT_TRUE(comparison.is_different);
	CU_ASSERT_STRING_EQUAL(comparison.field, "payload byte 5: recorded 0x06, stack 0x09");
}

static void the_first_difference_is_named(void)
{
	struct vl_packet recorded = make_packet(VL_OP_READ_RESPONSE_ONLY);
	struct vl_packet stack = make_packet(VL_OP_ACKNOWLEDGE);
	struct comparison comparison;

	stack.msn = 4;
	comparison = compare_packets(&recorded, &stack);
	CU_ASSERT_STRING_EQUAL(comparison.field,
			       "opcode: recorded RC RDMA READ Response Only, stack RC Acknowledge");
	stack.psn = 9;
	comparison = compare_packets(&recorded, &stack);
	CU_ASSERT_STRING_EQUAL(comparison.field, "PSN: recorded 0, stack 9");
}

/* What the opcode does not have is no matter: the packet's structure may hold anything there. */
static void absent_headers_do_not_count(void)
{
	struct vl_packet recorded = make_packet(VL_OP_SEND_MIDDLE), stack = recorded;
	struct comparison comparison;

	stack.msn = 1;
	stack.syndrome = 0x60;
	stack.remote_address = 1;
	stack.rkey = 1;
	stack.dma_length = 1;
	stack.immediate = 1;
	stack.invalidate_rkey = 1;
	stack.qkey = 1;
	stack.original = 1;
	comparison = compare_packets(&recorded, &stack);
	CU_ASSERT_FALSE(comparison.is_different);
}

static const struct test tests[] = {
	{"each_field_counts", each_field_counts},
	{"a_payload_byte_is_named", a_payload_byte_is_named},
	{"the_first_difference_is_named", the_first_difference_is_named},
	{"absent_headers_do_not_count", absent_headers_do_not_count},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("replay_compare", tests, argc, argv);
}
