/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/replay/trial.h"

#include "transport/wire/parse.h"

#include <stdlib.h>

const char *const replay_freedom_names[] = {
#define REPLAY_NAME(name, text) #name,
	REPLAY_FREEDOMS(REPLAY_NAME)};
const char *const replay_habit_names[] = {REPLAY_HABITS(REPLAY_NAME)};
#undef REPLAY_NAME
const char *const replay_freedom_texts[] = {
#define REPLAY_TEXT(name, text) text,
	REPLAY_FREEDOMS(REPLAY_TEXT)};
const char *const replay_habit_texts[] = {REPLAY_HABITS(REPLAY_TEXT)};
#undef REPLAY_TEXT

bool trial_withhold(struct trial *trial, uint64_t number, uint32_t psn, uint64_t evidence)
{
	if (trial->withheld_count == trial->withheld_room) {
		uint32_t more = trial->withheld_room ? trial->withheld_room * 2 : 16;
		void *grown = realloc(trial->withheld, more * sizeof(*trial->withheld));

		if (!grown)
			return false;
		trial->withheld = grown;
		trial->withheld_room = more;
	}
	trial->withheld[trial->withheld_count++] =
		(struct withheld){.number = number, .evidence = evidence, .psn = psn};
	return true;
}

void trial_release(struct trial *trial)
{
	free(trial->withheld);
	trial->withheld = NULL;
}

bool stack_packets_add(struct stack_packets *packets, const struct vl_outgoing *outgoing,
		       uint64_t time)
{
	struct stack_packet *packet;

	if (packets->count == packets->room) {
		uint32_t more = packets->room ? packets->room * 2 : 64;
		void *grown = realloc(packets->items, more * sizeof(*packets->items));

		if (!grown)
			return false;
		packets->items = grown;
		packets->room = more;
	}
	packet = &packets->items[packets->count];
	*packet = (struct stack_packet){.time = time,
					.length = outgoing->frame_length,
					.bytes = malloc(outgoing->frame_length)};
	if (!packet->bytes)
		return false;
	packets->count++;
	vl_serialize(outgoing, packet->bytes, packet->length);
	/* What the stack sends is parsed like any packet from a wire. */
	vl_parse(&packet->packet, VL_LINK_ETHERNET, packet->bytes, packet->length, packet->length);
	return true;
}

void stack_packets_release(struct stack_packets *packets)
{
	for (uint32_t i = 0; i < packets->count; i++)
		free(packets->items[i].bytes);
	free(packets->items);
	*packets = (struct stack_packets){0};
}
