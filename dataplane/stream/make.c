/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Frames from templates: the data path. */

#include "dataplane/stream/schedule.h"
#include "transport/psn.h"
#include "transport/wire/crc32_words.h"
#include "transport/wire/headers.h"

#include <string.h>

/* Flows ahead whose line is fetched; and buffers. */
#define FLOW_DISTANCE 8
#define SLOT_DISTANCE 4
/* The CRC of a frame is written together with at most three bytes of pad. */
#define TAIL_LENGTH 8
#define BATCH       32
/* Headers of most frames, and of all of RoCE. */
#define SHORT_HEADER 64
#define LONG_HEADER  128

static inline void prefetch_slot(const struct vl_stream_slot *slot, uint32_t tail)
{
	__builtin_prefetch(slot->payload - SHORT_HEADER, 1);
	__builtin_prefetch(slot->payload + tail, 1);
}

/* Puts the pattern back where the buffer's last frame ended, if this one ends elsewhere. */
static inline void mend_tail(const struct vl_stream *stream, struct vl_stream_slot *slot,
			     uint32_t tail)
{
	if (__builtin_expect(slot->tail != tail && slot->tail != VL_STREAM_CLEAN, 0))
		memcpy(slot->payload + slot->tail, stream->pattern + slot->tail, TAIL_LENGTH);
	slot->tail = tail;
}

static inline void copy_headers(const struct vl_stream_template *template, uint8_t *payload)
{
	const uint8_t *end = template->headers + VL_STREAM_HEADROOM;

	/* Of one length, whatever is before them: copies without a call. */
	if (template->header_length <= SHORT_HEADER)
		memcpy(payload - SHORT_HEADER, end - SHORT_HEADER, SHORT_HEADER);
	else if (template->header_length <= LONG_HEADER)
		memcpy(payload - LONG_HEADER, end - LONG_HEADER, LONG_HEADER);
	else
		memcpy(payload - template->header_length, end - template->header_length,
		       template->header_length);
}

static inline void fill_slot(struct vl_stream *stream, const struct vl_stream_template *template,
			     struct vl_stream_slot *slot)
{
	slot->data = slot->payload - template->header_length;
	slot->length = template->frame_length;
	slot->priority = stream->priority;
	slot->stream = stream;
	slot->flow = stream->turn;
}

/* ---- Stateless ------------------------------------------------------------------------------- */

static inline uint16_t checksum(uint32_t sum)
{
	uint16_t result;

	sum = (sum >> 16) + (sum & 0xffff);
	result = (uint16_t) ~((sum >> 16) + sum);
	/* 0 would say that there is none. */
	return result ? result : 0xffff;
}

static void make_stateless(struct vl_stream *stream, struct vl_stream_flow *flow,
			   const struct vl_stream_template *template, struct vl_stream_slot *slot)
{
	uint8_t *base = slot->payload - VL_STREAM_HEADROOM;

	mend_tail(stream, slot, VL_STREAM_CLEAN);
	copy_headers(template, slot->payload);
	if (!template->checksum_offset)
		return;
	memcpy(base + template->port_offset, &flow->port_word, sizeof(flow->port_word));
	vl_store_be16(base + template->checksum_offset,
		      checksum((uint32_t) template->checksum_sum + be16toh(flow->port_word)));
}

/* ---- RoCE ------------------------------------------------------------------------------------ */

static inline bool wants_ack(const struct vl_stream *stream, struct vl_stream_flow *flow, bool last)
{
	bool wanted = false;

	if (stream->ack_request_packets &&
	    ++flow->packets_since_ack_request >= stream->ack_request_packets) {
		flow->packets_since_ack_request = 0;
		wanted = true;
	}
	if (last && stream->ack_request_messages &&
	    ++flow->messages_since_ack_request >= stream->ack_request_messages) {
		flow->messages_since_ack_request = 0;
		wanted = true;
	}
	return wanted;
}

/* Fills what differs from the template, and returns how many words of the ICRC that is. */
static inline unsigned int write_words(const struct vl_stream *stream, struct vl_stream_flow *flow,
				       const struct vl_stream_template *template, uint8_t *payload,
				       bool last, uint32_t *words)
{
	uint8_t *extension = payload - template->extension_room;
	uint32_t psn_word =
		htobe32(flow->psn |
			(wants_ack(stream, flow, last) ? (uint32_t)VL_BTH_ACK_REQUEST << 24 : 0));
	uint64_t bth = htole64((uint64_t)le32toh(psn_word) << 32 | le32toh(flow->qpn_word));

	memcpy(extension - 20, &flow->port_word, sizeof(flow->port_word));
	memcpy(extension - 8, &bth, sizeof(bth));
	words[VL_STREAM_WORD_FLOW] = le32toh(psn_word) ^ flow->crc;
	if (template->extension == VL_STREAM_PLAIN)
		return 1;
	if (template->extension == VL_STREAM_DETH) {
		uint32_t qpn = htobe32(stream->local_qpn + stream->turn);

		memcpy(extension + offsetof(struct vl_deth, reserved), &qpn, sizeof(qpn));
		words[VL_STREAM_WORD_SOURCE_QPN] = le32toh(qpn);
		return 2;
	}
	uint64_t address = htobe64(flow->address);

	memcpy(extension, &address, sizeof(address));
	memcpy(extension + 8, &flow->rkey_word, sizeof(flow->rkey_word));
	words[VL_STREAM_WORD_ADDRESS_HIGH] = (uint32_t)le64toh(address);
	words[VL_STREAM_WORD_ADDRESS_LOW] = (uint32_t)(le64toh(address) >> 32);
	words[VL_STREAM_WORD_RKEY] = le32toh(flow->rkey_word);
	return VL_STREAM_WORD_COUNT;
}

/* The frame's end, when its CRC is known. */
static inline void write_icrc(const struct vl_stream_template *template, uint8_t *payload,
			      uint32_t icrc)
{
	uint8_t *tail = payload + template->payload_length;

	if (template->pad_count) {
		uint64_t padded = htole64((uint64_t)icrc << (8 * template->pad_count));

		memcpy(tail, &padded, sizeof(padded));
		return;
	}
	icrc = htole32(icrc);
	memcpy(tail, &icrc, sizeof(icrc));
}

/* A batch of frames whose headers are written: their CRCs are independent of each other, so the
 * processor works on several at a time. */
struct unfinished {
	const struct vl_stream_template *template;
	uint8_t *payload;
	uint32_t word_count;
	uint32_t words[VL_STREAM_WORD_COUNT];
};

#ifdef __x86_64__
__attribute__((target("pclmul"))) static void finish_carry_less(const struct unfinished *frames,
								uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct vl_stream_template *template = frames[i].template;
		/* One word most of the time. */
		uint32_t sum =
			frames[i].word_count == 1
				? vl_crc32_words_carry_less(frames[i].words, template->multipliers,
							    1)
				: vl_crc32_words_carry_less(frames[i].words, template->multipliers,
							    frames[i].word_count);

		write_icrc(template, frames[i].payload, template->icrc ^ sum);
	}
}
#endif

static void finish(const struct vl_stream *stream, const struct unfinished *frames, uint32_t count)
{
#ifdef __x86_64__
	if (stream->has_carry_less) {
		finish_carry_less(frames, count);
		return;
	}
#endif
	(void)stream;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t sum = vl_crc32_words_portable(
			frames[i].words, frames[i].template->multipliers, frames[i].word_count);

		write_icrc(frames[i].template, frames[i].payload, frames[i].template->icrc ^ sum);
	}
}

static inline void make_roce(const struct vl_stream *stream, struct vl_stream_flow *flow,
			     const struct vl_stream_template *template, bool last,
			     struct vl_stream_slot *slot, struct unfinished *unfinished)
{
	mend_tail(stream, slot, template->payload_length);
	copy_headers(template, slot->payload);
	unfinished->template = template;
	unfinished->payload = slot->payload;
	unfinished->word_count =
		write_words(stream, flow, template, slot->payload, last, unfinished->words);
}

static inline void next_message(struct vl_stream *stream, struct vl_stream_flow *flow,
				const struct vl_stream_message *message, uint32_t turn)
{
	flow->packet = 0;
	if (++flow->message == stream->cycle_length)
		flow->message = 0;
	if (stream->region_length) {
		uint64_t first = vl_stream_first_address(stream, turn);
		uint32_t next = stream->messages[stream->cycle[flow->message]].length;

		flow->address += message->length;
		if (flow->address - first + next > stream->region_length)
			flow->address = first;
	}
}

/* ---- All ------------------------------------------------------------------------------------- */

/* Whether the flow may send: a message that is open goes on, another begins within the limit. */
static inline bool begin_frame(struct vl_stream *stream, const struct vl_stream_flow *flow)
{
	if (flow->packet)
		return true;
	if (!stream->messages_left)
		return false;
	stream->messages_left--;
	stream->open_messages++;
	return true;
}

static inline void account(struct vl_stream *stream, struct vl_stream_flow *flow,
			   const struct vl_stream_message *message,
			   const struct vl_stream_template *template, bool last)
{
	flow->frames_tx++;
	flow->data_bytes_tx += template->payload_length;
	flow->psn = vl_psn_add(flow->psn, 1);
	flow->packet++;
	stream->counters.frames_tx++;
	stream->counters.bytes_tx += template->frame_length;
	stream->counters.data_bytes_tx += template->payload_length;
	if (last) {
		stream->counters.message_tx++;
		stream->open_messages--;
		flow->message_tx++;
		next_message(stream, flow, message, stream->turn);
	}
	if (!--stream->frames_left || (!stream->messages_left && !stream->open_messages))
		stream->is_over = true;
}

static inline void prefetch_flow(const struct vl_stream *stream)
{
	uint32_t ahead = stream->turn + FLOW_DISTANCE;

	if (ahead >= stream->flow_count)
		ahead -= stream->flow_count;
	if (ahead < stream->flow_count)
		__builtin_prefetch(stream->flows + ahead, 1);
}

static uint32_t make_batch(struct vl_stream *stream, uint64_t now, struct vl_stream_slot *slots,
			   uint32_t count)
{
	struct unfinished unfinished[BATCH];
	uint32_t made = 0, refused = 0, tail = stream->templates[stream->middle].payload_length;

	for (uint32_t i = 0; i < SLOT_DISTANCE && i < count; i++)
		prefetch_slot(&slots[i], tail);
	while (made < count && !stream->is_over) {
		const struct vl_stream_template *template;
		const struct vl_stream_message *message;
		struct vl_stream_flow *flow;
		bool last;

		if (!stream->turn_open) {
			if (!vl_stream_open_turn(stream, now))
				break;
			prefetch_flow(stream);
		}
		flow = stream->flows + stream->turn;
		if (!begin_frame(stream, flow)) {
			vl_stream_close_turn(stream, false);
			if (++refused >= stream->flow_count)
				break;
			continue;
		}
		if (made + SLOT_DISTANCE < count)
			prefetch_slot(&slots[made + SLOT_DISTANCE], tail);
		message = stream->messages + stream->cycle[flow->message];
		last = flow->packet + 1 == message->packet_count;
		template = stream->templates + (!flow->packet ? message->first
						: last        ? message->last
							      : stream->middle);
		fill_slot(stream, template, &slots[made]);
		if (stream->kind == VL_STREAM_ROCE)
			make_roce(stream, flow, template, last, &slots[made], &unfinished[made]);
		else
			make_stateless(stream, flow, template, &slots[made]);
		made++;
		account(stream, flow, message, template, last);
		vl_stream_charge(stream, template->charge, last, now);
	}
	if (stream->kind == VL_STREAM_ROCE)
		finish(stream, unfinished, made);
	return made;
}

uint32_t vl_stream_make(struct vl_stream *stream, uint64_t now, struct vl_stream_slot *slots,
			uint32_t count)
{
	uint32_t made = 0, step;

	if (now >= stream->end)
		stream->is_over = true;
	do {
		step = count - made < BATCH ? count - made : BATCH;
		step = make_batch(stream, now, slots + made, step);
		made += step;
	} while (step == BATCH && made < count);
	return made;
}
