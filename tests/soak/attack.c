/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Hostile frames, and the account of each. */

#include "tests/soak/soak.h"

#include <stdlib.h>
#include <string.h>

#define STEP_FRAMES 3u

static uint64_t sum_drops(const struct soak *soak)
{
	const uint64_t *drops = vl_device_drops(soak->victim->device);
	uint64_t sum =
		soak->victim->counters.mac_control_ignored + soak->victim->counters.vlan_dropped;

	for (unsigned int i = 0; i < VL_DROP_COUNT; i++)
		sum += drops[i];
	return sum;
}

/* What a frame that is not dropped is counted as: taken, or a request that is answered again or
 * with a NAK. */
static uint64_t sum_accepted(const struct soak *soak)
{
	const struct vl_counters *counters = vl_device_counters(soak->victim->device);

	return counters->data_frames_rx + counters->ack_rx + counters->nak_rx +
	       counters->rnr_nak_rx + counters->cnp_rx + counters->duplicate_request;
}

/* Whether nothing but a drop can come of it. */
static bool is_to_be_dropped(enum hostile_kind kind)
{
	return kind <= HOSTILE_FORGED_CNP || kind == HOSTILE_MAC_CONTROL;
}

static void check_account(struct soak *soak, enum hostile_kind kind, uint64_t drops,
			  uint64_t accepted)
{
	drops = sum_drops(soak) - drops;
	accepted = sum_accepted(soak) - accepted;
	if (drops > 1 || (is_to_be_dropped(kind) && (drops != 1 || accepted)))
		fail(soak, "a bad frame is not dropped once", drops, 1);
	soak->refused += !drops && !accepted;
}

/* The rest are requests that were answered with a NAK; the last ones still are to be. */
void check_refused(struct soak *soak)
{
	const struct vl_counters *counters = vl_device_counters(soak->victim->device);
	uint64_t answers = counters->nak_tx + counters->rnr_nak_tx;

	if (soak->refused > answers + ATTACKED_QPS)
		fail(soak, "frames that are counted nowhere", soak->refused, answers);
}

static struct hostile_target aim(struct soak *soak)
{
	struct attacked *attacked = &soak->attacked[vl_random_below(&soak->random, ATTACKED_QPS)];
	uint32_t other = (uint32_t)vl_random_below(&soak->random, HONEST_QPS);
	struct hostile_target target = {
		.victim = VICTIM,
		.attacker = ATTACKER,
		.others_qpn = vl_qp_number(soak->honest[other].theirs),
		.type = attacked->type,
		.qpn = vl_qp_number(attacked->qp),
		.rkey = soak->attacked_mr->rkey,
		.others_rkey = vl_random_below(&soak->random, 2) ? soak->victim_mr->rkey
								 : soak->private_mr->rkey,
		.address = (uintptr_t)soak->attacked_memory + GUARD,
		.others_address = (uintptr_t)soak->victim_memory + GUARD,
		.length = GRANTED,
	};
	struct ibv_qp_attr attr;
	struct vl_qp_init_attr init;

	/* An attacker that sees all that its own queue pairs are at. */
	vl_query_qp(attacked->qp, &attr, &init);
	target.expected_psn = attr.rq_psn;
	target.sent_psn = attr.sq_psn;
	return target;
}

void attack(struct soak *soak)
{
	uint8_t bytes[HOSTILE_FRAME];
	uint64_t count = vl_random_below(&soak->random, STEP_FRAMES + 1);

	for (uint64_t i = 0; i < count; i++) {
		struct hostile_target target = aim(soak);
		enum hostile_kind kind =
			(enum hostile_kind)vl_random_below(&soak->random, HOSTILE_KIND_COUNT);
		/* Exactly as long as it is, so that a sanitizer sees who reads beyond. */
		uint32_t length = hostile_frame(&soak->random, kind, &target, bytes);
		uint64_t drops, accepted;
		uint8_t *exact = malloc(length);
		struct vl_frame frame = {.data = exact, .length = length, .capacity = length};

		if (!exact)
			return;
		memcpy(exact, bytes, length);
		drops = sum_drops(soak);
		accepted = sum_accepted(soak);
		vl_endpoint_receive(soak->victim, &frame, vl_network_now(soak->network));
		check_account(soak, kind, drops, accepted);
		free(exact);
		soak->sent[kind]++;
		soak->injected++;
	}
	if (count)
		vl_network_wake(soak->network, soak->victim_node);
}
