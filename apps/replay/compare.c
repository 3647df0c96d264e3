/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Compares a recorded packet with the stack's, from the BTH on. */

#include "apps/replay/trial.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static void differ(struct comparison *comparison,
							 const char *format, ...)
{
	va_list arguments;

	if (comparison->is_different)
		return;
	comparison->is_different = true;
	va_start(arguments, format);
	vsnprintf(comparison->field, sizeof(comparison->field), format, arguments);
	va_end(arguments);
}

#define COMPARE(member, name, format)                                                              \
	do {                                                                                       \
		if (recorded->member != stack->member)                                             \
			differ(comparison, name ": recorded " format ", stack " format,            \
			       recorded->member, stack->member);                                   \
	} while (0)

static bool needs_ack_request(const struct vl_packet *request)
{
	return vl_opcode_service(request->opcode) == VL_SERVICE_RC &&
	       (request->info->flags & (VL_OPCODE_SEND | VL_OPCODE_WRITE)) &&
	       (request->info->flags & VL_OPCODE_LAST);
}

static void compare_bth(struct comparison *comparison, const struct vl_packet *recorded,
			const struct vl_packet *stack)
{
	COMPARE(psn, "PSN", "%u");
	if (recorded->opcode != stack->opcode)
		differ(comparison, "opcode: recorded %s, stack %s", recorded->info->name,
		       stack->info->name);
	COMPARE(destination_qpn, "destination QPN", "0x%06x");
	COMPARE(pkey, "P_Key", "0x%04x");
	COMPARE(solicited, "solicited event", "%d");
	COMPARE(pad_count, "pad count", "%u");
	COMPARE(fecn, "FECN", "%d");
	COMPARE(becn, "BECN", "%d");
	if (recorded->mig_req != stack->mig_req)
		comparison->freedoms |= 1u << REPLAY_FREEDOM_mig_req;
	if (recorded->ack_request == stack->ack_request)
		return;
	/* The requests of replay are signalled: at its end somebody waits for each message. */
	if ((recorded->info->flags & VL_OPCODE_REQUEST) &&
	    (stack->ack_request || !needs_ack_request(recorded)))
		comparison->freedoms |= 1u << REPLAY_FREEDOM_ack_request;
	else
		COMPARE(ack_request, "AckReq", "%d");
}

static void compare_syndrome(struct comparison *comparison, const struct vl_packet *recorded,
			     const struct vl_packet *stack)
{
	uint8_t type = recorded->syndrome & 0xe0;

	COMPARE(msn, "MSN", "%u");
	if (recorded->syndrome == stack->syndrome)
		return;
	if (type == (stack->syndrome & 0xe0) && type == 0x00)
		comparison->freedoms |= 1u << REPLAY_FREEDOM_credit_value;
	else if (type == (stack->syndrome & 0xe0) && type == 0x20)
		comparison->freedoms |= 1u << REPLAY_FREEDOM_rnr_timer;
	else
		COMPARE(syndrome, "AETH syndrome", "0x%02x");
}

static void compare_extensions(struct comparison *comparison, const struct vl_packet *recorded,
			       const struct vl_packet *stack)
{
	uint32_t flags = recorded->info->flags;

	if (flags & VL_OPCODE_AETH)
		compare_syndrome(comparison, recorded, stack);
	if (flags & (VL_OPCODE_RETH | VL_OPCODE_ATOMICETH)) {
		COMPARE(remote_address, "remote address", "0x%" PRIx64);
		COMPARE(rkey, "R_Key", "0x%08x");
	}
	if (flags & VL_OPCODE_RETH)
		COMPARE(dma_length, "DMA length", "%u");
	if (flags & VL_OPCODE_ATOMICETH) {
		COMPARE(swap_or_add, "swap or add data", "0x%" PRIx64);
		COMPARE(compare, "compare data", "0x%" PRIx64);
	}
	if (flags & VL_OPCODE_ATOMICACKETH)
		COMPARE(original, "original data", "0x%" PRIx64);
	if (flags & VL_OPCODE_IMMDT)
		COMPARE(immediate, "immediate data", "0x%08x");
	if (flags & VL_OPCODE_IETH)
		COMPARE(invalidate_rkey, "R_Key to invalidate", "0x%08x");
	if (flags & VL_OPCODE_DETH) {
		COMPARE(qkey, "Q_Key", "0x%08x");
		COMPARE(source_qpn, "source QPN", "0x%06x");
	}
	if (flags & VL_OPCODE_FETH) {
		COMPARE(placement, "placement type", "0x%x");
		COMPARE(selectivity, "selectivity level", "%u");
	}
}

static void compare_payload(struct comparison *comparison, const struct vl_packet *recorded,
			    const struct vl_packet *stack)
{
	COMPARE(payload_length, "payload length", "%u");
	if (comparison->is_different)
		return;
	for (uint32_t i = 0; i < recorded->payload_length; i++) {
		if (recorded->payload[i] != stack->payload[i]) {
			differ(comparison, "payload byte %u: recorded 0x%02x, stack 0x%02x", i,
			       recorded->payload[i], stack->payload[i]);
			return;
		}
	}
}

struct comparison compare_packets(const struct vl_packet *recorded, const struct vl_packet *stack)
{
	struct comparison comparison = {0};

	compare_bth(&comparison, recorded, stack);
	if (!comparison.is_different)
		compare_extensions(&comparison, recorded, stack);
	if (!comparison.is_different)
		compare_payload(&comparison, recorded, stack);
	return comparison;
}

void trial_count(struct trial *trial, const struct comparison *comparison)
{
	trial->compared++;
	if (comparison->is_different) {
		trial->different++;
		return;
	}
	if (!comparison->freedoms) {
		trial->equal++;
		return;
	}
	trial->tolerated++;
	for (unsigned int i = 0; i < REPLAY_FREEDOM_COUNT; i++)
		trial->freedoms[i] += comparison->freedoms >> i & 1;
}

void trial_count_unrecorded(struct trial *trial)
{
	trial->compared++;
	trial->different++;
	trial->unrecorded++;
}

static const char *syndrome_text(uint8_t syndrome, char text[32])
{
	static const char *const naks[] = {"NAK sequence", "NAK invalid request",
					   "NAK remote access", "NAK remote operational"};

	switch (syndrome >> 5) {
	case 0:
		snprintf(text, 32, "credit code %u", syndrome & 0x1f);
		break;
	case 1:
		snprintf(text, 32, "RNR NAK timer %u", syndrome & 0x1f);
		break;
	case 3:
		snprintf(text, 32, "%s",
			 (syndrome & 0x1f) < 4 ? naks[syndrome & 0x1f] : "NAK reserved");
		break;
	default:
		snprintf(text, 32, "syndrome 0x%02x", syndrome);
		break;
	}
	return text;
}

void packet_describe(char line[REPLAY_LINE], const char *who, uint64_t number,
		     const struct vl_packet *packet)
{
	char place[24] = "", more[96] = "", text[32];

	if (number)
		snprintf(place, sizeof(place), "#%" PRIu64, number);
	if (packet->info->flags & VL_OPCODE_AETH)
		snprintf(more, sizeof(more), " MSN %u, %s", packet->msn,
			 syndrome_text(packet->syndrome, text));
	else if (packet->info->flags & (VL_OPCODE_RETH | VL_OPCODE_ATOMICETH))
		snprintf(more, sizeof(more), " to 0x%" PRIx64 " R_Key 0x%08x length %u",
			 packet->remote_address, packet->rkey,
			 packet->info->flags & VL_OPCODE_RETH ? packet->dma_length : 8);
	snprintf(line, REPLAY_LINE, "%-9s %-7s %-27s PSN %8u  %4u bytes%s%s", who, place,
		 packet->info->name, packet->psn, packet->payload_length,
		 packet->ack_request ? " AckReq" : "", more);
}

/* The recorded packets of the role's side that came last before one. */
static void add_context(struct trial *trial, const struct recorded_packet *recorded)
{
	const struct packet_list *list = trial->role == REPLAY_RESPONDER
						 ? &trial->conversation->responses
						 : &trial->conversation->requests;
	uint32_t index = 0, from;

	while (index < list->count && (!recorded || list->items[index]->number < recorded->number))
		index++;
	from = index > REPLAY_CONTEXT ? index - REPLAY_CONTEXT : 0;
	for (uint32_t i = from; i < index; i++)
		packet_describe(trial->lines[trial->line_count++], "  both", list->items[i]->number,
				&list->items[i]->packet);
}

void trial_difference(struct trial *trial, const char *field,
		      const struct recorded_packet *recorded, const struct vl_packet *stack)
{
	if (trial->has_difference)
		return;
	trial->has_difference = true;
	trial->difference_number = recorded ? recorded->number : 0;
	trial->difference_psn = stack ? stack->psn : recorded ? recorded->packet.psn : 0;
	snprintf(trial->field, sizeof(trial->field), "%s", field);
	add_context(trial, recorded);
	if (recorded)
		packet_describe(trial->lines[trial->line_count++], "> capture", recorded->number,
				&recorded->packet);
	else
		snprintf(trial->lines[trial->line_count++], REPLAY_LINE, "> capture  nothing");
	if (stack)
		packet_describe(trial->lines[trial->line_count++], "> stack", 0, stack);
	else
		snprintf(trial->lines[trial->line_count++], REPLAY_LINE, "> stack    nothing");
}
