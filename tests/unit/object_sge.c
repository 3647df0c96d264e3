/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Gathering and scattering against a copy made byte by byte. */

#include "tests/support/endpoint.h"
#include "tests/support/suite.h"
#include "transport/object/object.h"

static struct endpoint endpoint;
static struct vl_qp *qp;

static void setup(void)
{
	struct vl_qp_init_attr init;

	CU_ASSERT_TRUE_FATAL(endpoint_open(&endpoint, 1));
	init = qp_init(&endpoint, IBV_QPT_RC);
	init.cap.max_send_sge = VL_MAX_SGE;
	qp = vl_create_qp(endpoint.pd, &init, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(qp);
}

static void teardown(void)
{
	CU_ASSERT_EQUAL(endpoint_close(&endpoint), 0);
}

/* Elements anywhere in the arena, empty ones among them; returns the sum of the lengths. */
static uint32_t make_elements(struct vl_random *random, struct ibv_sge *sges, uint32_t count,
			      uint32_t first, uint32_t room)
{
	uint32_t total = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t length = (uint32_t)vl_random_below(random, 4)
					  ? (uint32_t)vl_random_below(random, room / count)
					  : 0;

		sges[i] = arena_sge(&endpoint, first + i * (room / count), length);
		total += length;
	}
	return total;
}

static void check_gather(void)
{
	struct vl_random random = {1};

	setup();
	for (uint32_t i = 0; i < ARENA_SIZE; i++)
		endpoint.arena[i] = (uint8_t)vl_random_next(&random);
	for (int round = 0; round < 500; round++) {
		uint32_t count = 1 + (uint32_t)vl_random_below(&random, VL_MAX_SGE);
		struct vl_send *send = vl_send_at(&qp->requester.queue, 0);
		uint32_t total = make_elements(&random, send->sges, count, 0, 32768);
		static uint8_t expected[ARENA_SIZE], found[ARENA_SIZE];
		struct vl_sge_cursor cursor = {0};
		uint32_t position = 0;

		send->sge_count = (uint8_t)count;
		send->is_inline = false;
		send->length = total;
		for (uint32_t i = 0, at = 0; i < count; i++) {
			memcpy(expected + at, (const void *)(uintptr_t)send->sges[i].addr,
			       send->sges[i].length);
			at += send->sges[i].length;
		}
		for (int packet = 0; packet < 40; packet++) {
			struct vl_outgoing outgoing = {.span_count = 17};
			uint32_t length, at = 0;

			/* Forward mostly; at times back or ahead, as a retransmission goes. */
			if (!vl_random_below(&random, 5))
				position = (uint32_t)vl_random_below(&random, total + 1);
			length = (uint32_t)vl_random_below(&random, 1000);
			if (length > total - position)
				length = total - position;
			CU_ASSERT_EQUAL_FATAL(
				vl_gather(qp, send, &cursor, position, length, &outgoing), 0);
			for (uint32_t i = 0; i < outgoing.span_count; i++) {
				CU_ASSERT_NOT_EQUAL(outgoing.spans[i].length, 0);
				memcpy(found + at, outgoing.spans[i].data,
				       outgoing.spans[i].length);
				at += outgoing.spans[i].length;
			}
			CU_ASSERT_EQUAL(at, length);
			CU_ASSERT_EQUAL(outgoing.payload_length, length);
			CU_ASSERT_EQUAL(memcmp(found, expected + position, length), 0);
			position += length;
			CU_ASSERT_EQUAL(
				vl_gather(qp, send, &cursor, position, total + 1, &outgoing),
				-EFAULT);
		}
	}
	teardown();
}

static void check_scatter(void)
{
	struct vl_random random = {2};
	static uint8_t expected[ARENA_SIZE], data[4096];

	setup();
	for (int round = 0; round < 300; round++) {
		uint32_t count = 1 + (uint32_t)vl_random_below(&random, VL_MAX_SGE);
		struct ibv_sge sges[VL_MAX_SGE];
		uint32_t total = make_elements(&random, sges, count, 1000, 40000);
		struct vl_sge_cursor cursor = {0};
		uint32_t position = 0;

		for (int packet = 0; packet < 30; packet++) {
			uint32_t length = (uint32_t)vl_random_below(&random, 3000);
			int result;

			if (!vl_random_below(&random, 5))
				position = (uint32_t)vl_random_below(&random, total + 10);
			for (uint32_t i = 0; i < length; i++)
				data[i] = (uint8_t)vl_random_next(&random);
			result = vl_scatter(endpoint.pd, sges, count, &cursor, position, data,
					    length);
			if (length && position + length > total) {
				/* Nothing was written. */
				CU_ASSERT_EQUAL(result, -EMSGSIZE);
			} else {
				CU_ASSERT_EQUAL(result, 0);
				for (uint32_t i = 0; i < length; i++) {
					uint32_t at = position + i, element = 0;

					while (at >= sges[element].length)
						at -= sges[element++].length;
					expected[sges[element].addr + at -
						 (uintptr_t)endpoint.arena] = data[i];
				}
				position += length;
			}
			CU_ASSERT_EQUAL_FATAL(memcmp(endpoint.arena, expected, ARENA_SIZE), 0);
		}
	}
	teardown();
}

static void check_keys(void)
{
	struct vl_send *send;
	struct vl_outgoing outgoing;
	struct vl_sge_cursor cursor = {0};
	struct ibv_mr *read_only;
	struct ibv_sge sges[2];
	uint8_t data[32] = {1, 2, 3};

	setup();
	read_only =
		vl_reg_mr(endpoint.pd, endpoint.arena, 4096, (uintptr_t)endpoint.arena, 0, NULL);
	send = vl_send_at(&qp->requester.queue, 0);
	send->sge_count = 2;
	send->length = 32;
	sges[0] = send->sges[0] = arena_sge(&endpoint, 0, 16);
	sges[1] = send->sges[1] = arena_sge(&endpoint, 100, 16);

	sges[1].lkey = send->sges[1].lkey = read_only->lkey;
	CU_ASSERT_EQUAL(vl_gather(qp, send, &cursor, 0, 32, &outgoing), 0);
	CU_ASSERT_EQUAL(outgoing.span_count, 2);
	CU_ASSERT_PTR_EQUAL(outgoing.spans[1].data, endpoint.arena + 100);
	cursor = (struct vl_sge_cursor){0};
	CU_ASSERT_EQUAL(vl_scatter(endpoint.pd, sges, 2, &cursor, 0, data, 32), -EFAULT);
	/* Not even the element that was right. */
	CU_ASSERT_EQUAL(endpoint.arena[0], 0);
	CU_ASSERT_EQUAL(vl_scatter(endpoint.pd, sges, 2, &cursor, 0, data, 16), 0);
	CU_ASSERT_EQUAL(endpoint.arena[2], 3);

	vl_dereg_mr(read_only);
	cursor = (struct vl_sge_cursor){0};
	CU_ASSERT_EQUAL(vl_gather(qp, send, &cursor, 0, 32, &outgoing), -EFAULT);
	/* The packet that does not reach there is good. */
	CU_ASSERT_EQUAL(vl_gather(qp, send, &cursor, 0, 16, &outgoing), 0);
	CU_ASSERT_EQUAL(vl_gather(qp, send, &cursor, 16, 16, &outgoing), -EFAULT);
	/* No bytes, no element. */
	CU_ASSERT_EQUAL(vl_gather(qp, send, &cursor, 0, 0, &outgoing), 0);
	CU_ASSERT_EQUAL(outgoing.span_count, 0);
	send->sges[0].addr += ARENA_SIZE - 15;
	cursor = (struct vl_sge_cursor){0};
	CU_ASSERT_EQUAL(vl_gather(qp, send, &cursor, 0, 16, &outgoing), -EFAULT);
	teardown();
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"gather", check_gather},
		{"scatter", check_scatter},
		{"keys", check_keys},
	};

	return RUN_SUITE("object_sge", tests, argc, argv);
}
