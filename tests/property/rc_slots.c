/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "tests/property/rc_model.h"

#include <string.h>

#define GUARD 64u

uint8_t traffic_table[TRAFFIC_TABLE];
static uint8_t canaries[TRAFFIC_SLOT];

void fill_table(void)
{
	struct vl_random random = {0x7ab1e};

	if (canaries[0])
		return;
	memset(canaries, TRAFFIC_CANARY, sizeof(canaries));
	for (size_t i = 0; i < sizeof(traffic_table); i++)
		traffic_table[i] = (uint8_t)vl_random_next(&random);
}

/* Spreads length bytes over pieces of a slot with canaries in between. */
int spread(struct traffic *traffic, uint8_t *slot, uint32_t length, uint32_t lkey,
	   struct ibv_sge *sges)
{
	int count = 1 + (int)(one_in(traffic, 3) ? below(traffic, TRAFFIC_SGES) : 0);
	uint8_t *at = slot + below(traffic, 64);

	if (!length && one_in(traffic, 2))
		return 0;
	for (int i = 0; i < count; i++) {
		uint32_t piece =
			i + 1 == count ? length : (uint32_t)below(traffic, (uint64_t)length + 1);

		sges[i] = (struct ibv_sge){(uintptr_t)at, piece, lkey};
		at += piece + 1 + below(traffic, 40);
		length -= piece;
	}
	return count;
}

void fill(const struct ibv_sge *sges, int count, const uint8_t *content)
{
	for (int i = 0; i < count; i++) {
		memcpy((void *)(uintptr_t)sges[i].addr, content, sges[i].length);
		content += sges[i].length;
	}
}

/* Whether the first length bytes of the pieces are content. */
bool holds(const struct ibv_sge *sges, int count, const uint8_t *content, uint32_t length)
{
	for (int i = 0; i < count && length; i++) {
		uint32_t piece = sges[i].length < length ? sges[i].length : length;

		if (memcmp((void *)(uintptr_t)sges[i].addr, content, piece))
			return false;
		content += piece;
		length -= piece;
	}
	return !length;
}

/* Turns length bytes of the pieces to canary, and says whether all around them is. */
bool restore(uint8_t *slot, const struct ibv_sge *sges, int count, uint32_t length)
{
	uint8_t *end = slot;

	for (int i = 0; i < count && length; i++) {
		uint32_t piece = sges[i].length < length ? sges[i].length : length;
		uint8_t *at = (uint8_t *)(uintptr_t)sges[i].addr;

		memset(at, TRAFFIC_CANARY, piece);
		end = at + piece;
		length -= piece;
	}
	return !memcmp(slot, canaries, (size_t)(end - slot) + GUARD);
}

bool restore_at(uint8_t *slot, uint32_t offset, uint32_t length)
{
	memset(slot + offset, TRAFFIC_CANARY, length);
	return !memcmp(slot, canaries, offset + length + GUARD);
}

bool is_canary(const uint8_t *slot)
{
	return !memcmp(slot, canaries, TRAFFIC_SLOT);
}
