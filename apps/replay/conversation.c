/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Sorts packets into conversations. A packet names its destination QPN only; which QPN of the
 * sender belongs to it is worked out from PSNs: an answer carries the PSN of a request that went
 * the other way, and PSNs start at random.
 */

#include "apps/replay/recording.h"

#include "transport/psn.h"

#include <stdlib.h>
#include <string.h>

/* Packets of one kind (requests or answers) from one host to one QP of another. */
struct flow {
	enum vl_service service;
	bool is_requests;
	union ibv_gid source, destination;
	uint32_t destination_qpn;
	uint32_t source_qpn; /* UD says it; else from the match */
	struct packet_list packets;
	bool taken;
};

struct flows {
	struct flow *items;
	uint32_t count, room;
};

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

static bool is_same(const union ibv_gid *a, const union ibv_gid *b)
{
	return !memcmp(a, b, sizeof(*a));
}

static struct flow *find_flow(struct flows *flows, const struct recorded_packet *recorded)
{
	const struct vl_packet *packet = &recorded->packet;
	enum vl_service service = vl_opcode_service(packet->opcode);
	bool is_requests = recorded_is_request(recorded);

	/* The newest first: neighbours in time are neighbours in the list. */
	for (uint32_t i = flows->count; i-- > 0;) {
		struct flow *flow = &flows->items[i];

		if (flow->service != service || flow->is_requests != is_requests ||
		    !is_same(&flow->source, &packet->source_gid))
			continue;
		/* A UD queue pair sends to many; what makes it one is who it is. */
		if (service == VL_SERVICE_UD
			    ? flow->source_qpn == packet->source_qpn
			    : flow->destination_qpn == packet->destination_qpn &&
				      is_same(&flow->destination, &packet->destination_gid))
			return flow;
	}
	if (flows->count == flows->room) {
		uint32_t more = flows->room ? flows->room * 2 : 16;
		void *grown = realloc(flows->items, more * sizeof(*flows->items));

		if (!grown)
			return NULL;
		flows->items = grown;
		flows->room = more;
	}
	flows->items[flows->count] = (struct flow){
		.service = service,
		.is_requests = is_requests,
		.source = packet->source_gid,
		.destination = packet->destination_gid,
		.destination_qpn = packet->destination_qpn,
		.source_qpn = service == VL_SERVICE_UD ? packet->source_qpn : REPLAY_UNKNOWN_QPN,
	};
	return &flows->items[flows->count++];
}

/* Answers whose PSN was asked for before them, within a span that a READ may cover. */
static uint32_t count_matches(const struct flow *requests, const struct flow *answers)
{
	uint32_t matches = 0, next = 0;

	for (uint32_t i = 0; i < answers->packets.count; i++) {
		const struct recorded_packet *answer = answers->packets.items[i];

		while (next < requests->packets.count &&
		       requests->packets.items[next]->number < answer->number)
			next++;
		/* Back through what was sent before the answer. */
		for (uint32_t j = next; j-- > 0 && next - j < 4096;) {
			const struct vl_packet *request = &requests->packets.items[j]->packet;
			int32_t distance = vl_psn_distance(answer->packet.psn, request->psn);
			bool is_read = request->info->flags & VL_OPCODE_READ;

			if (distance == 0 ||
			    (is_read && distance > 0 &&
			     (uint32_t)distance <= request->dma_length / 256 + 1)) {
				matches++;
				break;
			}
		}
	}
	return matches;
}

static struct flow *find_answers(struct flows *flows, const struct flow *requests)
{
	struct flow *best = NULL;
	uint32_t most = 0;

	for (uint32_t i = 0; i < flows->count; i++) {
		struct flow *answers = &flows->items[i];
		uint32_t matches;

		if (answers->is_requests || answers->taken ||
		    answers->service != requests->service ||
		    !is_same(&answers->source, &requests->destination) ||
		    !is_same(&answers->destination, &requests->source))
			continue;
		matches = count_matches(requests, answers);
		if (matches > most) {
			most = matches;
			best = answers;
		}
	}
	return best;
}

static bool is_mtu(uint32_t length)
{
	return length == 256 || length == 512 || length == 1024 || length == 2048 || length == 4096;
}

/* First and middle packets are as long as the path MTU; without any, the smallest that holds the
 * longest packet. 0: the packets contradict each other or the standard. */
static uint32_t path_mtu_of(const struct conversation *conversation)
{
	const struct packet_list *lists[] = {&conversation->requests, &conversation->responses};
	uint32_t exact = 0, longest = 0, mtu;

	for (unsigned int l = 0; l < 2; l++) {
		for (uint32_t i = 0; i < lists[l]->count; i++) {
			const struct vl_packet *packet = &lists[l]->items[i]->packet;

			if (packet->payload_length > longest)
				longest = packet->payload_length;
			if ((packet->info->flags & VL_OPCODE_PAYLOAD) &&
			    !(packet->info->flags & VL_OPCODE_LAST) &&
			    (packet->info->flags &
			     (VL_OPCODE_SEND | VL_OPCODE_WRITE | VL_OPCODE_READ)) &&
			    packet->payload_length) {
				if (exact && exact != packet->payload_length)
					return 0;
				exact = packet->payload_length;
			}
		}
	}
	if (exact)
		return is_mtu(exact) && longest <= exact ? exact : 0;
	/* A READ of several packets that was never answered by more than one says nothing. */
	for (mtu = 1024; mtu < longest; mtu *= 2)
		;
	return mtu <= 4096 ? mtu : 0;
}

bool recording_sort(struct recording *recording)
{
	struct flows flows = {0};
	uint32_t conversations = 0;
	bool fits = true;

	for (uint32_t i = 0; i < recording->packet_count && fits; i++) {
		struct flow *flow = find_flow(&flows, &recording->packets[i]);

		fits = flow && packet_list_add(&flow->packets, &recording->packets[i]);
	}
	for (uint32_t i = 0; i < flows.count; i++)
		conversations += flows.items[i].is_requests;
	recording->conversations = calloc(conversations + 1, sizeof(*recording->conversations));
	fits = fits && recording->conversations;
	for (uint32_t i = 0; i < flows.count && fits; i++) {
		struct flow *requests = &flows.items[i], *answers;
		struct conversation *conversation;

		if (!requests->is_requests)
			continue;
		conversation = &recording->conversations[recording->conversation_count++];
		*conversation = (struct conversation){
			.service = requests->service,
			.requester = requests->source,
			.responder = requests->destination,
			.requester_qpn = requests->source_qpn,
			.responder_qpn = requests->destination_qpn,
			.requests = requests->packets,
		};
		if (requests->service == VL_SERVICE_RC &&
		    (answers = find_answers(&flows, requests))) {
			answers->taken = true;
			conversation->requester_qpn = answers->destination_qpn;
			conversation->responses = answers->packets;
			answers->packets = (struct packet_list){0};
		}
		requests->packets = (struct packet_list){0};
		conversation->path_mtu = path_mtu_of(conversation);
	}
	for (uint32_t i = 0; i < flows.count; i++) {
		recording->orphan_responses += flows.items[i].packets.count;
		free(flows.items[i].packets.items);
	}
	free(flows.items);
	return fits;
}
