/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/replay/trial.h"

#include "apps/replay/fate.h"
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

static bool reserve(struct stack_packets *packets, uint32_t count)
{
	uint32_t more = packets->room ? packets->room : 64;
	void *grown;

	if (packets->count + count <= packets->room)
		return true;
	while (more < packets->count + count)
		more *= 2;
	grown = realloc(packets->items, more * sizeof(*packets->items));
	if (!grown)
		return false;
	packets->items = grown;
	packets->room = more;
	return true;
}

bool stack_packets_move(struct stack_packets *to, struct stack_packets *from)
{
	if (!reserve(to, from->count))
		return false;
	memcpy(to->items + to->count, from->items, from->count * sizeof(*from->items));
	to->count += from->count;
	from->count = 0;
	return true;
}

bool stack_packets_add(struct stack_packets *packets, const struct vl_outgoing *outgoing,
		       uint64_t time)
{
	struct stack_packet *packet;

	if (!reserve(packets, 1))
		return false;
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

struct host {
	union ibv_gid gid;
	struct last_seen last;
};

static int compare_hosts(const void *a, const void *b)
{
	return memcmp(&((const struct host *)a)->gid, &((const struct host *)b)->gid,
		      sizeof(union ibv_gid));
}

/* Who answers, and when each was heard of last. NULL: out of memory. */
static struct host *find_hosts(const struct recording *recording, uint32_t *count)
{
	struct host *hosts = calloc(recording->conversation_count + 1, sizeof(*hosts));
	uint32_t kept = 0;

	if (!hosts)
		return NULL;
	for (uint32_t i = 0; i < recording->conversation_count; i++)
		hosts[i].gid = recording->conversations[i].responder;
	qsort(hosts, recording->conversation_count, sizeof(*hosts), compare_hosts);
	for (uint32_t i = 0; i < recording->conversation_count; i++) {
		if (!kept || compare_hosts(&hosts[kept - 1], &hosts[i]))
			hosts[kept++] = hosts[i];
	}
	*count = kept;
	for (uint32_t i = 0; kept && i < recording->packet_count; i++) {
		const struct recorded_packet *packet = &recording->packets[i];
		struct host key = {.gid = packet->packet.source_gid}, *host;

		host = bsearch(&key, hosts, kept, sizeof(*hosts), compare_hosts);
		if (host)
			host->last = (struct last_seen){packet->number, packet->time};
	}
	return hosts;
}

/* Without the other direction, who was answered with what cannot be known: unless nothing ever was,
 * and the requester says so by starting over and over. */
static bool is_unanswered(const struct conversation *conversation,
			  const struct request_outcomes *outcomes)
{
	const struct packet_list *requests = &conversation->requests;
	int64_t highest = INT64_MIN;
	bool is_repeated = false;

	for (uint32_t i = 0; i < requests->count; i++) {
		if (requests->items[i]->position > highest) {
			if (is_repeated)
				return false;
			highest = requests->items[i]->position;
		} else if (requests->items[i]->position == outcomes->start) {
			is_repeated = true;
		}
	}
	return is_repeated;
}

/* A READ of which the capture holds so little would have the stack answer for a long time. */
#define MOST_UNRECORDED 65536u

static bool reads_too_much(const struct conversation *conversation)
{
	for (uint32_t i = 0; i < conversation->requests.count; i++) {
		if (request_psn_count(conversation, &conversation->requests.items[i]->packet) >
		    conversation->responses.count + MOST_UNRECORDED)
			return true;
	}
	return false;
}

static bool skip(struct trial *trial, const char *reason)
{
	trial->skipped = true;
	snprintf(trial->skip_reason, sizeof(trial->skip_reason), "%s", reason);
	return true;
}

/* False: out of memory. */
static bool run_connected(struct trial *trial, const struct last_seen *last)
{
	const struct conversation *conversation = trial->conversation;
	struct request_outcomes outcomes = request_outcomes(conversation, last->number);
	bool fits = !outcomes.is_out_of_memory;

	trial->msn_offset = outcomes.msn_offset;
	if (!fits)
		;
	else if (outcomes.start == INT64_MAX)
		skip(trial, "the capture holds no beginning of a message");
	else if (conversation->service == VL_SERVICE_RC && !last->number &&
		 (trial->role == REPLAY_RESPONDER || !is_unanswered(conversation, &outcomes)))
		skip(trial, "the capture holds nothing that the responder sent");
	else if (trial->role == REPLAY_RESPONDER && reads_too_much(conversation))
		skip(trial, "a READ asks for far more packets than the capture holds");
	else if (trial->role == REPLAY_REQUESTER)
		fits = replay_as_requester(trial, &outcomes);
	else
		fits = replay_as_responder(trial, &outcomes, last);
	request_outcomes_release(&outcomes);
	return fits;
}

static bool run_trial(struct trial *trial, const struct host *hosts, uint32_t host_count)
{
	const struct conversation *conversation = trial->conversation;
	struct host key = {.gid = conversation->responder};
	const struct host *host = bsearch(&key, hosts, host_count, sizeof(*hosts), compare_hosts);

	if (!conversation->path_mtu)
		return skip(trial,
			    "its packets agree on no path MTU (256, 512, 1024, 2048 or 4096)");
	if (conversation->service == VL_SERVICE_UD)
		return replay_datagrams(trial);
	return run_connected(trial, &host->last);
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
	struct trial *trials =
		calloc(2 * (size_t)recording->conversation_count + 1, sizeof(*trials));
	uint32_t host_count = 0;
	struct host *hosts = find_hosts(recording, &host_count);
	bool fits = trials && hosts;

	*count = 0;
	for (uint32_t i = 0; i < recording->conversation_count && fits; i++) {
		for (unsigned int r = REPLAY_RESPONDER; r <= REPLAY_REQUESTER && fits; r++) {
			if (!(r == REPLAY_RESPONDER ? as_responder : as_requester))
				continue;
			trials[*count].recording = recording;
			trials[*count].conversation = &recording->conversations[i];
			trials[*count].role = (enum replay_role)r;
			fits = run_trial(&trials[(*count)++], hosts, host_count);
		}
	}
	free(hosts);
	if (fits)
		return trials;
	trials_free(trials, *count);
	return NULL;
}
