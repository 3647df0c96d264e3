/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Frames whose payload is not touched are, byte for byte, those that copying gives. */

#include "dataplane/constant_payload.h"
#include "dataplane/endpoint.h"
#include "tests/support/endpoint.h"
#include "tests/support/suite.h"

#include <stdio.h>

#define REGION (1u << 20)

/* One byte before it is nobody's. */
static uint8_t memory[REGION + 1];
static uint8_t *const region = memory + 1;
static struct vl_constant_payload constant;

static void fill(uint32_t period)
{
	for (uint32_t i = 0; i < REGION; i++)
		region[i] = (uint8_t)((i & (period - 1)) * 2654435761u >> 24);
}

static uint8_t buffer[VL_CONSTANT_HEADROOM + VL_CONSTANT_MOST + VL_CONSTANT_TAILROOM];

/* A packet of the encapsulation with so many bytes from the offset of the region. */
static void make_outgoing(struct vl_outgoing *outgoing, uint8_t *headers,
			  enum vl_encapsulation encapsulation, uint32_t offset, uint32_t length)
{
	static const uint16_t ends[] = {54, 90, 82};
	uint32_t pad = -length & 3;

	*outgoing = (struct vl_outgoing){
		.headers = headers,
		.header_length = ends[encapsulation],
		.network_offset = 14,
		.pad_count = (uint8_t)pad,
		.span_count = length != 0,
		.encapsulation = encapsulation,
		.payload_length = length,
		.frame_length = ends[encapsulation] + length + pad + 4,
		.spans = {{region + offset, length}},
	};
	for (uint32_t i = 0; i < 128; i++)
		headers[i] = (uint8_t)(i * 37 + length);
	headers[14] = encapsulation == VL_ENCAPSULATION_ROCEV2_IPV4 ? 0x45 : 0x60;
}

static void check_frame(enum vl_encapsulation encapsulation, uint32_t offset, uint32_t length,
			struct vl_frame *frame)
{
	static uint8_t copied[8192];
	uint8_t headers[128];
	struct vl_outgoing outgoing;

	make_outgoing(&outgoing, headers, encapsulation, offset, length);
	CU_ASSERT_TRUE_FATAL(vl_constant_payload_fits(&constant, &outgoing));
	frame->data = buffer;
	vl_constant_payload_build(&constant, &outgoing, frame);
	CU_ASSERT_EQUAL_FATAL(frame->length, vl_serialize(&outgoing, copied, sizeof(copied)));
	CU_ASSERT_EQUAL(memcmp(frame->data, copied, frame->length), 0);
}

static void check_every_length(void)
{
	for (uint32_t period = 1; period <= 4096; period *= 16) {
		struct vl_frame frame = {.tail = VL_CONSTANT_CLEAN};

		fill(period);
		CU_ASSERT_EQUAL_FATAL(vl_constant_payload_init(&constant, region, REGION, period),
				      0);
		memcpy(buffer + VL_CONSTANT_HEADROOM, constant.bytes, sizeof(constant.bytes));
		/* Long and short ones in turn, so that every tail is to be mended. */
		for (uint32_t i = 1; i <= 4096; i++) {
			uint32_t length = i & 1 ? i : 4097 - i;

			check_frame((enum vl_encapsulation)(i % 3), i % 7 * period, length, &frame);
		}
	}
}

static void check_what_fits(void)
{
	uint8_t headers[128];
	struct vl_outgoing outgoing;

	fill(64);
	CU_ASSERT_EQUAL_FATAL(vl_constant_payload_init(&constant, region, REGION, 64), 0);
#define MAKE(offset, length)                                                                       \
	make_outgoing(&outgoing, headers, VL_ENCAPSULATION_ROCEV2_IPV4, offset, length)
	MAKE(64, 4096);
	CU_ASSERT_TRUE(vl_constant_payload_fits(&constant, &outgoing));
	outgoing.span_count = 2;
	CU_ASSERT_FALSE(vl_constant_payload_fits(&constant, &outgoing));
	MAKE(65, 100);
	CU_ASSERT_FALSE(vl_constant_payload_fits(&constant, &outgoing));
	MAKE(REGION - 64, 64);
	CU_ASSERT_TRUE(vl_constant_payload_fits(&constant, &outgoing));
	MAKE(REGION - 64, 65);
	CU_ASSERT_FALSE(vl_constant_payload_fits(&constant, &outgoing));
	MAKE(0, 0);
	CU_ASSERT_FALSE(vl_constant_payload_fits(&constant, &outgoing));
	MAKE(0, 64);
	outgoing.spans[0].data = memory;
	CU_ASSERT_FALSE(vl_constant_payload_fits(&constant, &outgoing));
	MAKE(0, 64);
	outgoing.encapsulation = VL_ENCAPSULATION_IB_LOCAL;
	CU_ASSERT_FALSE(vl_constant_payload_fits(&constant, &outgoing));
#undef MAKE
}

static void check_refusals(void)
{
	fill(64);
	CU_ASSERT_EQUAL(vl_constant_payload_init(&constant, region, REGION, 32), -EINVAL);
	CU_ASSERT_EQUAL(vl_constant_payload_init(&constant, region, REGION, 0), -EINVAL);
	CU_ASSERT_EQUAL(vl_constant_payload_init(&constant, region, REGION, 192), -EINVAL);
	CU_ASSERT_EQUAL(vl_constant_payload_init(&constant, region, REGION, 8192), -EINVAL);
	CU_ASSERT_EQUAL(vl_constant_payload_init(&constant, region, 63, 64), -EINVAL);
	region[REGION - 1] ^= 1;
	CU_ASSERT_EQUAL(vl_constant_payload_init(&constant, region, REGION, 64), -EINVAL);
	CU_ASSERT_EQUAL(vl_constant_payload_init(&constant, region, REGION - 1, 64), 0);
}

static const struct test tests[] = {
	{"every length, period and encapsulation, mended", check_every_length},
	{"what the buffers do not hold is not taken", check_what_fits},
	{"memory that does not repeat is refused", check_refusals},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("constant_payload", tests, argc, argv);
}
