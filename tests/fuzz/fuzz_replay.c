/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Any capture can be replayed, or is said to be none. The ICRCs are mended first, since replay
 * leaves out packets with wrong ones, and few mutations would get further. What is counted must
 * balance.
 */

#include "apps/replay/trial.h"
#include "dataplane/capture/reader.h"
#include "transport/wire/icrc.h"
#include "transport/wire/parse.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ETHERNET 1

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define require(condition) ((condition) ? (void)0 : fail(__LINE__, #condition))

static void fail(int line, const char *condition)
{
	fprintf(stderr, "line %d: not so: %s\n", line, condition);
	abort();
}

static void put(int descriptor, const void *bytes, size_t size)
{
	require(write(descriptor, bytes, size) == (ssize_t)size);
}

/* A pcap with the Ethernet frames of a capture, their ICRCs right. */
static void mend(const char *from, int to)
{
	const uint32_t header[] = {0xa1b23c4d, 4 << 16 | 2, 0, 0, VL_CAPTURE_MAX_PACKET, ETHERNET};
	char message[VL_CAPTURE_MESSAGE_SIZE];
	struct vl_capture_reader *reader = vl_capture_reader_open(from, message);
	struct vl_capture_packet captured;

	put(to, header, sizeof(header));
	while (reader && vl_capture_reader_next(reader, &captured) == VL_CAPTURE_PACKET) {
		const struct vl_capture_frame *frame = &captured.frame;
		uint32_t record[] = {(uint32_t)(captured.time / 1000000000),
				     (uint32_t)(captured.time % 1000000000), frame->length,
				     frame->wire_length};
		uint8_t *copy;
		struct vl_packet packet;

		if (frame->kind != VL_CAPTURE_FRAME_parseable || frame->link != VL_LINK_ETHERNET)
			continue;
		copy = malloc(frame->length + 1);
		require(copy != NULL);
		memcpy(copy, frame->data, frame->length);
		if (vl_parse(&packet, frame->link, copy, frame->length, frame->wire_length) ==
		    VL_PARSE_ok) {
			uint32_t icrc = vl_icrc_compute(&packet);

			memcpy(copy + (packet.icrc - copy), &icrc, sizeof(icrc));
		}
		put(to, record, sizeof(record));
		put(to, copy, frame->length);
		free(copy);
	}
	vl_capture_reader_close(reader);
}

static void check_trial(const struct trial *trial)
{
	const struct conversation *conversation = trial->conversation;
	bool is_requester = trial->role == REPLAY_REQUESTER;

	require(!!trial->has_difference == (trial->different > 0));
	require(trial->line_count <= sizeof(trial->lines) / sizeof(trial->lines[0]));
	if (trial->skipped) {
		require(trial->skip_reason[0]);
		return;
	}
	require(trial->compared ==
		trial->equal + trial->tolerated + trial->explained + trial->different);
	require(trial->unrecorded <= trial->different);
	if (conversation->service == VL_SERVICE_UD) {
		require(trial->compared + trial->not_compared == conversation->requests.count);
		return;
	}
	require(trial->compared - trial->unrecorded + trial->not_compared ==
		(is_requester ? conversation->requests.count : conversation->responses.count));
	require(trial->fed + trial->not_fed + trial->withheld_count ==
		(is_requester ? conversation->responses.count : conversation->requests.count));
}

static void check_recording(const struct recording *recording)
{
	uint64_t sorted = recording->orphan_responses;

	for (uint32_t i = 0; i < recording->conversation_count; i++)
		sorted += recording->conversations[i].requests.count +
			  (uint64_t)recording->conversations[i].responses.count;
	require(sorted == recording->packet_count);
	require(recording->total == recording->packet_count + recording->not_rdma +
					    recording->not_replayed + recording->icrc_wrong);
}

static void replay(const char *path)
{
	char message[REPLAY_MESSAGE];
	struct recording *recording = recording_load(path, message);
	struct trial *trials;
	FILE *nowhere;
	uint32_t count;

	if (!recording) {
		require(message[0]);
		return;
	}
	check_recording(recording);
	trials = trials_run(recording, true, true, &count);
	require(trials != NULL);
	for (uint32_t i = 0; i < count; i++)
		check_trial(&trials[i]);
	nowhere = fopen("/dev/null", "w");
	require(nowhere != NULL);
	report_text(nowhere, recording, trials, count, true);
	fclose(nowhere);
	json_decref(report_json(recording, trials, count));
	trials_free(trials, count);
	recording_free(recording);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int given = memfd_create("capture", 0), mended = memfd_create("mended", 0);
	char path[64];

	require(given >= 0 && mended >= 0);
	put(given, data, size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", given);
	mend(path, mended);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", mended);
	replay(path);
	close(given);
	close(mended);
	return 0;
}
