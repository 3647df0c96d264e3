/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Makes conversations of the sorted packets: counts their PSNs on, cuts them where the capture has
 * holes, works out the path MTU. */

#include "apps/replay/flow.h"
#include "transport/psn.h"

#include <stdlib.h>
#include <string.h>

bool packet_list_add(struct packet_list *list, struct recorded_packet *packet)
{
	if (list->count == list->room) {
		uint32_t more = list->room ? list->room * 2 : 64;
		void *grown = realloc(list->items, more * sizeof(struct recorded_packet *));

		if (!grown)
			return false;
		list->items = grown;
		list->room = more;
	}
	list->items[list->count++] = packet;
	return true;
}

/* ---- Positions ------------------------------------------------------------------------------ */

uint32_t request_psn_count(const struct conversation *conversation, const struct vl_packet *request)
{
	uint32_t mtu = conversation->path_mtu;

	if (!(request->info->flags & VL_OPCODE_READ) || !request->dma_length || !mtu)
		return 1;
	return (uint32_t)(((uint64_t)request->dma_length + mtu - 1) / mtu);
}

/* Each PSN is taken for the nearest to the highest that was sent so far. */
static void count_positions(struct conversation *conversation)
{
	const struct packet_list *requests = &conversation->requests;
	const struct packet_list *responses = &conversation->responses;
	int64_t highest = INT64_C(1) << 32;
	uint32_t next = 0;

	highest += requests->items[0]->packet.psn;
	for (uint32_t i = 0; i < requests->count; i++) {
		struct recorded_packet *request = requests->items[i];
		int64_t end;

		for (; next < responses->count && responses->items[next]->number < request->number;
		     next++)
			responses->items[next]->position =
				highest + vl_psn_distance(responses->items[next]->packet.psn,
							  (uint32_t)highest & VL_PSN_MASK);
		request->position = highest + vl_psn_distance(request->packet.psn,
							      (uint32_t)highest & VL_PSN_MASK);
		end = request->position + request_psn_count(conversation, &request->packet);
		if (end > highest)
			highest = end;
	}
	for (; next < responses->count; next++)
		responses->items[next]->position =
			highest + vl_psn_distance(responses->items[next]->packet.psn,
						  (uint32_t)highest & VL_PSN_MASK);
}

/* ---- Holes ---------------------------------------------------------------------------------- */

/* Where each part of a conversation begins that has holes between. */
struct parts {
	int64_t *sorted;   /* positions of all requests */
	int64_t *answered; /* of each response: the highest position from it on */
	int64_t *data;     /* sorted positions of READ responses */
	uint32_t data_count;
	int64_t *starts; /* of the second part and on */
	uint32_t count;
};

static int compare_positions(const void *a, const void *b)
{
	int64_t one = *(const int64_t *)a, two = *(const int64_t *)b;

	return one < two ? -1 : one > two;
}

/* Elements of a sorted array below a position. */
static uint32_t count_below(const int64_t *sorted, uint32_t count, int64_t position)
{
	uint32_t low = 0, high = count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (sorted[middle] < position)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool has_between(const int64_t *sorted, uint32_t count, int64_t from, int64_t to)
{
	return count_below(sorted, count, from) != count_below(sorted, count, to);
}

static bool prepare_parts(struct parts *parts, const struct conversation *conversation)
{
	const struct packet_list *requests = &conversation->requests;
	const struct packet_list *responses = &conversation->responses;
	int64_t highest = INT64_MIN;

	parts->sorted = malloc((requests->count + 1) * sizeof(*parts->sorted));
	parts->answered = malloc((responses->count + 1) * sizeof(*parts->answered));
	parts->data = malloc((responses->count + 1) * sizeof(*parts->data));
	parts->starts = malloc((requests->count + 1) * sizeof(*parts->starts));
	if (!parts->sorted || !parts->answered || !parts->data || !parts->starts)
		return false;
	for (uint32_t i = 0; i < requests->count; i++)
		parts->sorted[i] = requests->items[i]->position;
	qsort(parts->sorted, requests->count, sizeof(*parts->sorted), compare_positions);
	for (uint32_t i = responses->count; i-- > 0;) {
		if (responses->items[i]->position > highest)
			highest = responses->items[i]->position;
		parts->answered[i] = highest;
		if (responses->items[i]->packet.info->flags & VL_OPCODE_READ)
			parts->data[parts->data_count++] = responses->items[i]->position;
	}
	qsort(parts->data, parts->data_count, sizeof(*parts->data), compare_positions);
	return true;
}

/*
 * The requester sends its PSNs without a gap. Where the capture has one that is never filled, it
 * lacks packets. One packet with a strange PSN is no hole: more must follow, or be answered. Nor is
 * a READ that is longer than its request says: its answer fills the PSNs.
 */
static void find_holes(struct parts *parts, const struct conversation *conversation)
{
	const struct packet_list *requests = &conversation->requests;
	const struct packet_list *responses = &conversation->responses;
	int64_t highest = requests->items[0]->position;
	uint32_t answer = 0;

	for (uint32_t i = 0; i < requests->count; i++) {
		const struct recorded_packet *request = requests->items[i];
		int64_t position = request->position;
		int64_t end = position + request_psn_count(conversation, &request->packet);

		while (answer < responses->count &&
		       responses->items[answer]->number < request->number)
			answer++;
		if (position > highest &&
		    !has_between(parts->sorted, requests->count, highest, position) &&
		    !has_between(parts->data, parts->data_count, highest, position) &&
		    ((i + 1 < requests->count && requests->items[i + 1]->position >= position) ||
		     (answer < responses->count && parts->answered[answer] >= position)))
			parts->starts[parts->count++] = position;
		if (end > highest)
			highest = end;
	}
}

/* Gives every packet of a list to its part; the first is the conversation itself. */
static bool deal(const struct parts *parts, struct recording *recording, uint32_t first,
		 struct packet_list *from, bool is_requests)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < from->count; i++) {
		uint32_t part =
			count_below(parts->starts, parts->count, from->items[i]->position + 1);
		struct conversation *conversation = &recording->conversations[first + part - 1];

		if (!part)
			from->items[kept++] = from->items[i];
		else if (!packet_list_add(is_requests ? &conversation->requests
						      : &conversation->responses,
					  from->items[i]))
			return false;
	}
	from->count = kept;
	return true;
}

/* ---- The path MTU --------------------------------------------------------------------------- */

static bool is_mtu(uint32_t length)
{
	return length == 256 || length == 512 || length == 1024 || length == 2048 || length == 4096;
}

/* First and middle packets are as long as the path MTU; what most of them say counts. */
static uint32_t exact_mtu(const struct packet_list *const lists[2], uint32_t *longest)
{
	uint32_t candidate = 0, lead = 0;

	*longest = 0;
	for (unsigned int l = 0; l < 2; l++) {
		for (uint32_t i = 0; i < lists[l]->count; i++) {
			const struct vl_packet *packet = &lists[l]->items[i]->packet;
			uint32_t flags = packet->info->flags;

			if (packet->payload_length > *longest)
				*longest = packet->payload_length;
			if (!(flags & VL_OPCODE_PAYLOAD) || (flags & VL_OPCODE_LAST) ||
			    !(flags & (VL_OPCODE_SEND | VL_OPCODE_WRITE | VL_OPCODE_READ)) ||
			    !packet->payload_length)
				continue;
			if (!lead)
				candidate = packet->payload_length;
			if (packet->payload_length == candidate)
				lead++;
			else
				lead--;
		}
	}
	return candidate;
}

/* A READ takes as many PSNs as its answer has packets, so the next request tells the path MTU. */
static uint32_t mtu_by_reads(const struct packet_list *requests)
{
	for (uint32_t i = 0; i + 1 < requests->count; i++) {
		const struct vl_packet *read = &requests->items[i]->packet;
		uint32_t count = (requests->items[i + 1]->packet.psn - read->psn) & VL_PSN_MASK;
		uint32_t found = 0, fitting = 0;

		if (!(read->info->flags & VL_OPCODE_READ) || count < 2)
			continue;
		for (uint32_t mtu = 256; mtu <= 4096; mtu *= 2) {
			if (((uint64_t)read->dma_length + mtu - 1) / mtu == count) {
				found = mtu;
				fitting++;
			}
		}
		if (fitting == 1)
			return found;
	}
	return 0;
}

/* 0: the packets contradict each other or the standard. */
static uint32_t path_mtu_of(const struct conversation *conversation,
			    const struct connection *connection)
{
	const struct packet_list *const lists[] = {&conversation->requests,
						   &conversation->responses};
	uint32_t longest, mtu = exact_mtu(lists, &longest);

	if (mtu)
		return is_mtu(mtu) ? mtu : 0;
	if (connection && connection->path_mtu >= longest)
		return connection->path_mtu;
	mtu = conversation->service == VL_SERVICE_RC ? mtu_by_reads(&conversation->requests) : 0;
	if (mtu >= longest && mtu)
		return mtu;
	/* Nothing is as long as the path MTU: the smallest that holds everything will do. */
	for (mtu = 1024; mtu < longest; mtu *= 2)
		;
	return mtu <= 4096 ? mtu : 0;
}

/* ---- Conversations -------------------------------------------------------------------------- */

static struct conversation *add_conversation(struct recording *recording)
{
	uint32_t count = recording->conversation_count;

	if ((count & (count - 1)) == 0) {
		uint32_t room = count ? count * 2 : 1;
		void *grown = realloc(recording->conversations, room * sizeof(struct conversation));

		if (!grown)
			return NULL;
		recording->conversations = grown;
	}
	recording->conversations[count] = (struct conversation){0};
	recording->conversation_count++;
	return &recording->conversations[count];
}

static bool make_conversation(struct recording *recording, struct flow *requests,
			      const struct connections *connections)
{
	struct conversation *conversation = add_conversation(recording);
	const struct connection *connection = NULL;
	unsigned int side = 0;

	if (!conversation)
		return false;
	*conversation = (struct conversation){
		.service = requests->service,
		.requester = requests->source,
		.responder = requests->destination,
		.requester_qpn = requests->source_qpn,
		.responder_qpn = requests->destination_qpn,
		.requests = requests->packets,
	};
	requests->packets = (struct packet_list){0};
	if (requests->answers) {
		conversation->requester_qpn = requests->answers->destination_qpn;
		conversation->responses = requests->answers->packets;
		requests->answers->packets = (struct packet_list){0};
	}
	if (conversation->service != VL_SERVICE_UD)
		connection = connections_find(connections, &conversation->requester,
					      &conversation->responder, conversation->responder_qpn,
					      conversation->requests.items[0]->number, &side);
	if (connection) {
		conversation->start_is_known = true;
		conversation->start_psn = connection->first_psn[side];
		conversation->requester_qpn = connection->qpn[side];
	}
	conversation->path_mtu = path_mtu_of(conversation, connection);
	return true;
}

/* Counts a conversation's positions, and makes one more of what lies behind each hole. */
static bool cut_conversation(struct recording *recording, uint32_t index)
{
	struct parts parts = {0};
	uint32_t first = recording->conversation_count;
	struct conversation *conversation = &recording->conversations[index], *part;
	bool fits;

	count_positions(conversation);
	if (!conversation->path_mtu)
		return true;
	fits = prepare_parts(&parts, conversation);
	if (fits)
		find_holes(&parts, conversation);
	for (uint32_t i = 0; i < parts.count && fits; i++) {
		part = add_conversation(recording);
		conversation = &recording->conversations[index];
		fits = part != NULL;
		if (!fits)
			break;
		*part = *conversation;
		part->requests = part->responses = (struct packet_list){0};
		part->start_is_known = false;
		part->is_continued = i + 1 < parts.count;
	}
	if (fits && parts.count) {
		conversation->is_continued = true;
		fits = deal(&parts, recording, first, &conversation->requests, true) &&
		       deal(&parts, recording, first, &conversation->responses, false);
	}
	free(parts.sorted);
	free(parts.answered);
	free(parts.data);
	free(parts.starts);
	return fits;
}

static bool make_conversations(struct recording *recording, struct flows *flows,
			       const struct connections *connections)
{
	uint32_t count;

	for (uint32_t i = 0; i < flows->count; i++) {
		if (flows->items[i].is_requests &&
		    !make_conversation(recording, &flows->items[i], connections))
			return false;
	}
	count = recording->conversation_count;
	for (uint32_t i = 0; i < count; i++) {
		if (recording->conversations[i].service != VL_SERVICE_UD &&
		    !cut_conversation(recording, i))
			return false;
	}
	return true;
}

bool recording_sort(struct recording *recording)
{
	struct flows flows = {0};
	struct connections connections = {0};
	bool fits = true;

	for (uint32_t i = 0; i < recording->packet_count && fits; i++)
		fits = flows_add(&flows, &recording->packets[i]) &&
		       connections_add(&connections, &recording->packets[i]);
	fits = fits && flows_match(&flows, &connections) &&
	       make_conversations(recording, &flows, &connections);
	for (uint32_t i = 0; i < flows.count; i++)
		recording->orphan_responses += flows.items[i].packets.count;
	flows_release(&flows);
	free(connections.items);
	return fits;
}
