/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/replay/trial.h"

#include "transport/wire/parse.h"

#include <stdlib.h>
#include <string.h>

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

/* ---- All trials of a recording --------------------------------------------------------------- */

/* Number of the last packet in the capture that a host sent. */
static uint64_t last_from(const struct recording *recording, const union ibv_gid *host)
{
	for (uint32_t i = recording->packet_count; i-- > 0;) {
		if (!memcmp(&recording->packets[i].packet.source_gid, host, sizeof(*host)))
			return recording->packets[i].number;
	}
	return 0;
}

/* False: out of memory. */
static bool run_trial(const struct recording *recording, struct trial *trial)
{
	const struct conversation *conversation = trial->conversation;

	if (!conversation->path_mtu) {
		trial->skipped = true;
		snprintf(trial->skip_reason, sizeof(trial->skip_reason),
			 "its packets agree on no path MTU (256, 512, 1024, 2048 or 4096)");
		return true;
	}
	if (conversation->service == VL_SERVICE_UD)
		return replay_datagrams(trial);
	if (trial->role == REPLAY_REQUESTER)
		return replay_as_requester(trial);
	return replay_as_responder(trial, last_from(recording, &conversation->responder));
}

void trials_free(struct trial *trials, uint32_t count)
{
	for (uint32_t i = 0; trials && i < count; i++)
		free(trials[i].withheld);
	free(trials);
}

struct trial *trials_run(const struct recording *recording, bool as_responder, bool as_requester,
			 uint32_t *count)
{
	struct trial *trials = calloc(2 * recording->conversation_count + 1, sizeof(*trials));
	bool fits = trials != NULL;

	*count = 0;
	for (uint32_t i = 0; i < recording->conversation_count && fits; i++) {
		for (unsigned int r = REPLAY_RESPONDER; r <= REPLAY_REQUESTER && fits; r++) {
			if (!(r == REPLAY_RESPONDER ? as_responder : as_requester))
				continue;
			trials[*count].conversation = &recording->conversations[i];
			trials[*count].role = (enum replay_role)r;
			fits = run_trial(recording, &trials[(*count)++]);
		}
	}
	if (fits)
		return trials;
	trials_free(trials, *count);
	return NULL;
}
