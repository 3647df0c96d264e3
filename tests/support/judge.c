/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "tests/support/judge.h"

#include "transport/wire/headers.h"
#include "transport/wire/icrc.h"

#include <endian.h>
#include <string.h>

struct bench bench;
struct vl_verdict *verdict;
struct vl_verdict_config expectations;
static int we;

static void see(void *context, enum vl_direction direction, const struct vl_frame *frame,
		uint64_t now, const char *comment)
{
	(void)context;
	vl_verdict_see(verdict, direction, frame, now, comment);
}

/* We are the one side, the peer is the other. */
void judge_begin(int side)
{
	bench_init(&bench);
	expectations = (struct vl_verdict_config){.patience = 20 * MILLISECOND};
	we = side;
}

void judge_run(uint64_t until)
{
	verdict = vl_verdict_create(&expectations);
	CU_ASSERT_PTR_NOT_NULL_FATAL(verdict);
	bench.watcher[we] = (struct vl_frame_tap){see, NULL};
	bench_open(&bench);
	bench_run(&bench, until);
	vl_verdict_finish(verdict, until);
}

void judge_end(void)
{
	vl_verdict_destroy(verdict);
	bench_close(&bench);
}

struct vl_cc_parameters judge_cc(const struct vl_cc_algorithm *algorithm)
{
	struct vl_cc_parameters made = {.algorithm = algorithm};

	CU_ASSERT_EQUAL_FATAL(vl_dcqcn_profile(&made.dcqcn, "nvidia"), 0);
	return made;
}

void judge_expect(enum vl_verdict_kind kind, enum vl_verdict_result result)
{
	const char *text;

	CU_ASSERT_EQUAL(vl_verdict_result(verdict, kind), result);
	if (vl_verdict_result(verdict, kind) == result)
		return;
	printf("\n    %s: %d, not %d\n", vl_verdict_name(kind), vl_verdict_result(verdict, kind),
	       result);
	for (unsigned int n = 0; (text = vl_verdict_evidence(verdict, kind, n)); n++)
		printf("      %s\n", text);
}

/* No failure but those that are named. */
void judge_expect_no_other_failure(uint64_t named)
{
	for (unsigned int kind = 0; kind < VL_VERDICT_COUNT; kind++) {
		if (!(named >> kind & 1) &&
		    vl_verdict_result(verdict, (enum vl_verdict_kind)kind) == VL_VERDICT_FAIL)
			judge_expect((enum vl_verdict_kind)kind, VL_VERDICT_PASS);
	}
}

bool judge_says(enum vl_verdict_kind kind, const char *what)
{
	const char *text;

	for (unsigned int n = 0; (text = vl_verdict_evidence(verdict, kind, n)); n++) {
		if (strstr(text, what))
			return true;
	}
	return false;
}

/* ---- A peer that reads and writes what is not there ----------------------------------------- */

static struct broken broken;

static void seal(struct vl_frame *frame)
{
	struct vl_packet packet;
	uint32_t icrc;

	if (vl_parse(&packet, VL_LINK_ETHERNET, frame->data, frame->length, frame->length) !=
	    VL_PARSE_ok)
		return;
	icrc = htole32(vl_icrc_compute(&packet));
	memcpy(frame->data + (packet.icrc - packet.frame), &icrc, sizeof(icrc));
}

static bool broken_receive(void *context, struct vl_frame *frame, uint64_t now)
{
	const struct broken *nic = context;
	struct vl_packet packet;

	(void)now;
	if (vl_parse(&packet, VL_LINK_ETHERNET, frame->data, frame->length, frame->length) ==
		    VL_PARSE_ok &&
	    packet.opcode == VL_OP_ACKNOWLEDGE && packet.syndrome >> 5 == 1 && nic->rnr_code) {
		frame->data[packet.bth - packet.frame + sizeof(struct vl_bth)] =
			(uint8_t)(0x20 | nic->rnr_code);
		seal(frame);
	}
	return true;
}

static bool broken_transmit(void *context, struct vl_frame *frame, uint64_t now)
{
	const struct broken *nic = context;
	struct vl_packet packet;

	(void)now;
	if (!nic->is_not_ecn_capable || vl_parse(&packet, VL_LINK_ETHERNET, frame->data,
						 frame->length, frame->length) != VL_PARSE_ok)
		return true;
	/* The checksum's word grows by what the traffic class's loses. */
	if (frame->data[15] & 3) {
		uint32_t sum = (uint32_t)vl_load_be16(frame->data + 24) + (frame->data[15] & 3);

		frame->data[15] &= 0xfc;
		vl_store_be16(frame->data + 24, (uint16_t)((sum >> 16) + sum));
	}
	return true;
}

static struct vl_frame *nothing_received(void *context, uint64_t now)
{
	(void)context;
	(void)now;
	return NULL;
}

static bool nothing_transmitted(void *context, struct vl_frame *frame, uint64_t now)
{
	(void)context;
	(void)frame;
	(void)now;
	return false;
}

static uint64_t no_deadline(void *context)
{
	(void)context;
	return UINT64_MAX;
}

static void break_peer(struct broken nic)
{
	const struct vl_frame_filter filter = {.receive = broken_receive,
					       .next_received = nothing_received,
					       .transmit = broken_transmit,
					       .next_transmitted = nothing_transmitted,
					       .next_deadline = no_deadline,
					       .context = &broken};

	broken = nic;
	vl_endpoint_set_filter(bench_endpoint(&bench, !we), &filter);
}

void judge_run_broken(struct broken nic, uint64_t until)
{
	judge_run(0);
	break_peer(nic);
	vl_verdict_destroy(verdict);
	verdict = vl_verdict_create(&expectations);
	CU_ASSERT_PTR_NOT_NULL_FATAL(verdict);
	bench_run(&bench, until);
	vl_verdict_finish(verdict, until);
}
