/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What the input of fuzz_device.c means. */

#include "tests/fuzz/device.h"

uint8_t take8(struct input *input)
{
	return input->next < input->end ? *input->next++ : 0;
}

uint32_t take32(struct input *input)
{
	uint32_t value = 0;

	for (int i = 0; i < 4; i++)
		value = value << 8 | take8(input);
	return value;
}

/* Mostly near zero, sometimes anything. */
int32_t take_distance(struct input *input)
{
	int8_t near = (int8_t)take8(input);

	if (near == 127)
		return (int32_t)take32(input);
	return near > -112 && near < 112 ? near / 16 : near;
}

/* A key that is right for something, or nearly one, or anything. */
uint32_t take_key(struct input *input, const struct fuzz *fuzz)
{
	uint8_t choice = take8(input);

	if (choice >= 250)
		return take32(input);
	if (choice >= 240)
		return fuzz->window->rkey;
	return fuzz->regions[choice % REGIONS]->rkey + (choice >= 230);
}

uint64_t take_address(struct input *input)
{
	uint32_t region = take8(input) % REGIONS;
	uint64_t offset = (uint64_t)take8(input) << 5 | (take8(input) & 31);
	uint8_t choice = take8(input);

	if (choice >= 250)
		return (uint64_t)take32(input) << 32 | take32(input);
	return BASE + region_offset(region) + offset - (choice >= 240 ? 16 : 0);
}

uint32_t take_length(struct input *input)
{
	uint8_t choice = take8(input);

	if (choice >= 250)
		return take32(input);
	return choice >= 200 ? (uint32_t)(choice - 200) * 256 + take8(input) : choice * 2u;
}
