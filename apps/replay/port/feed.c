/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/replay/port/feed.h"

#include "transport/wire/headers.h"
#include "transport/wire/parse.h"

#include <string.h>

#define ETHERNET_LENGTH ((uint32_t)sizeof(struct vl_ethernet_header))
#define TAG_ROOM        ((uint32_t)sizeof(struct vl_vlan_header))
/* Frames in one step: then the caller looks around. */
#define STEP 256

static const struct {
	const char *name, *meaning;
} skips[FEED_SKIP_COUNT] = {
#define DESCRIBE(name, meaning) {#name, meaning},
	FEED_SKIPS(DESCRIBE)
#undef DESCRIBE
};

const char *feed_skip_meaning(enum feed_skip skip)
{
	return skips[skip].meaning;
}

const char *feed_skip_name(enum feed_skip skip)
{
	return skips[skip].name;
}

/* Copies the frame that was recorded, with a MAC header of ours where there was none. Its length;
 * 0: *skip says why not. */
static uint32_t copy_frame(const struct feed *feed, uint8_t *room, enum feed_skip *skip)
{
	const struct vl_capture_frame *frame = &feed->packet.frame;
	struct vl_ethernet_header *ethernet = (struct vl_ethernet_header *)room;
	uint32_t header = frame->link == VL_LINK_IP ? ETHERNET_LENGTH : 0;

	*skip = FEED_SKIP_no_ethernet;
	if (frame->kind != VL_CAPTURE_FRAME_parseable || frame->link == VL_LINK_INFINIBAND ||
	    !frame->length || (!header && frame->wire_length < ETHERNET_LENGTH))
		return 0;
	*skip = FEED_SKIP_cut;
	if (frame->length < frame->wire_length)
		return 0;
	*skip = FEED_SKIP_too_long;
	if (header + frame->length + TAG_ROOM > feed->frame_length)
		return 0;
	memcpy(room + header, frame->data, frame->length);
	if (header) {
		memset(ethernet->destination, 0, sizeof(ethernet->destination));
		memcpy(ethernet->source, feed->mac, sizeof(ethernet->source));
		vl_store_be16(ethernet->type,
			      frame->data[0] >> 4 == 6 ? VL_ETHERTYPE_IPV6 : VL_ETHERTYPE_IPV4);
	}
	return header + frame->length;
}

/* What the PSN is to go further by in this run; learns in the first. */
static uint32_t psn_offset(struct feed *feed, const uint8_t *frame, uint32_t length)
{
	struct vl_packet packet;

	if (!feed->flows ||
	    vl_parse(&packet, VL_LINK_ETHERNET, frame, length, length) != VL_PARSE_ok)
		return 0;
	if (feed->run)
		return (uint32_t)(psn_flows_step(feed->flows, &packet) * feed->run);
	psn_flows_see(feed->flows, &packet);
	return 0;
}

static void prepare(struct feed *feed, uint8_t *room)
{
	static const uint8_t nobody[6];
	struct rewrite_frame frame = {.data = room};
	enum feed_skip skip;

	frame.length = copy_frame(feed, room, &skip);
	if (frame.length) {
		frame.psn_offset = psn_offset(feed, room, frame.length) & 0xffffff;
		feed->rewritten += rewrite_apply(&feed->rewrite, &frame);
		skip = FEED_SKIP_no_address;
		if (feed->packet.frame.link == VL_LINK_IP && !memcmp(room, nobody, sizeof(nobody)))
			frame.length = 0;
	}
	if (!frame.length) {
		feed->skipped[skip]++;
		return;
	}
	vl_replay_stage_put(feed->stage, frame.length,
			    schedule_next(&feed->schedule, feed->time, frame.length));
	feed->prepared++;
	feed->prepared_in_run++;
}

/* True: there is a packet. False: no more, *result says how that ended. */
static bool next_packet(struct feed *feed, enum feed_result *result)
{
	*result = FEED_DONE;
	while (!source_next(feed->source, &feed->packet, &feed->time)) {
		feed->run++;
		/* Without anything to send, another run would not be better. */
		if (feed->run == feed->runs || !feed->prepared_in_run)
			return false;
		if (feed->flows && feed->run == 1)
			psn_flows_settle(feed->flows);
		feed->prepared_in_run = 0;
		schedule_repeat(&feed->schedule);
		if (source_rewind(feed->source, feed->message)) {
			*result = FEED_FAILED;
			return false;
		}
	}
	feed->read++;
	return true;
}

enum feed_result feed_step(struct feed *feed)
{
	enum feed_result result;

	for (unsigned int i = 0; i < STEP; i++) {
		uint8_t *room = vl_replay_stage_room(feed->stage);

		if (!room)
			return FEED_WAITS;
		if (!next_packet(feed, &result))
			return result;
		prepare(feed, room);
	}
	return FEED_GOES_ON;
}
