/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What goes into a capture ring comes out of it, in order and whole, or is counted as dropped; and
 * what a live capture writes is read back. */

#include "dataplane/capture/live.h"
#include "dataplane/capture/reader.h"
#include "dataplane/capture/ring.h"
#include "tests/support/suite.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RING_SIZE 65536u
#define FRAMES    200000u

static void fill(uint8_t *bytes, uint32_t length, uint32_t number)
{
	for (uint32_t i = 0; i < length; i++)
		bytes[i] = (uint8_t)(number + i);
}

static bool put(struct vl_capture_ring *ring, uint32_t number)
{
	uint8_t bytes[2048];
	char comment[64];
	uint32_t length = number * 7 % sizeof(bytes);

	fill(bytes, length, number);
	snprintf(comment, sizeof(comment), "number %u", number);
	return vl_capture_ring_put(ring, &(struct vl_capture_ring_record){
						 .time = number,
						 .frame = bytes,
						 .length = length,
						 .wire_length = length + number % 3,
						 .interface = (uint16_t)(number % 5),
						 .direction = number % 2 ? VL_DIRECTION_TRANSMITTED
									 : VL_DIRECTION_RECEIVED,
						 .comment = number % 4 ? NULL : comment,
					 });
}

/* Whether the record is the one with that number. */
static bool is_right(const struct vl_capture_ring_record *record, uint32_t number)
{
	uint8_t bytes[2048];
	char comment[64];
	uint32_t length = number * 7 % sizeof(bytes);

	fill(bytes, length, number);
	snprintf(comment, sizeof(comment), "number %u", number);
	return record->time == number && record->length == length &&
	       record->wire_length == length + number % 3 && record->interface == number % 5 &&
	       (record->direction == VL_DIRECTION_TRANSMITTED) == (number % 2) &&
	       !memcmp(record->frame, bytes, length) &&
	       (number % 4 ? !record->comment
			   : record->comment && !strcmp(record->comment, comment));
}

static void test_order(void)
{
	struct vl_capture_ring *ring = vl_capture_ring_create(RING_SIZE);
	struct vl_capture_ring_record record;
	uint32_t in = 0, out = 0;

	CU_ASSERT_FALSE(vl_capture_ring_peek(ring, &record));
	while (out < FRAMES) {
		for (uint32_t i = 0; i < in % 23 + 1 && in < FRAMES; i++)
			in += put(ring, in);
		for (uint32_t i = 0; i < out % 19 + 1 && vl_capture_ring_peek(ring, &record); i++) {
			CU_ASSERT_FATAL(is_right(&record, out));
			vl_capture_ring_take(ring);
			out++;
		}
	}
	CU_ASSERT_FALSE(vl_capture_ring_peek(ring, &record));
	vl_capture_ring_take(ring);
	vl_capture_ring_destroy(ring);
}

static void test_full(void)
{
	struct vl_capture_ring *ring = vl_capture_ring_create(RING_SIZE);
	struct vl_capture_ring_record record;
	uint32_t kept = 0, first = 1000000;

	for (uint32_t i = 0; i < 200; i++) {
		if (!put(ring, i) && first > i)
			first = i;
	}
	CU_ASSERT(first > 50 && first < 200);
	for (uint32_t i = 0; vl_capture_ring_peek(ring, &record); i++, kept++) {
		CU_ASSERT(i >= first || is_right(&record, i));
		vl_capture_ring_take(ring);
	}
	CU_ASSERT_EQUAL(kept + vl_capture_ring_dropped(ring), 200);
	/* One that could never fit. */
	CU_ASSERT_FALSE(vl_capture_ring_put(
		ring, &(struct vl_capture_ring_record){.frame = (const uint8_t *)"",
						       .length = RING_SIZE}));
	CU_ASSERT(put(ring, 5));
	vl_capture_ring_destroy(ring);
}

static void *produce(void *context)
{
	for (uint32_t i = 0; i < FRAMES; i++)
		put(context, i);
	return NULL;
}

static void test_two_threads(void)
{
	struct vl_capture_ring *ring = vl_capture_ring_create(RING_SIZE);
	struct vl_capture_ring_record record;
	uint64_t count = 0, last = 0;
	bool is_done = false;
	pthread_t thread;

	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, produce, ring), 0);
	for (;;) {
		if (vl_capture_ring_peek(ring, &record)) {
			CU_ASSERT_FATAL(is_right(&record, (uint32_t)record.time) &&
					(!count || record.time > last));
			last = record.time;
			count++;
			vl_capture_ring_take(ring);
		} else if (is_done) {
			break;
		} else if (!pthread_tryjoin_np(thread, NULL)) {
			is_done = true;
		}
	}
	CU_ASSERT_EQUAL(count + vl_capture_ring_dropped(ring), FRAMES);
	CU_ASSERT(count > 0);
	vl_capture_ring_destroy(ring);
}

/* How often the bytes stand in a file. */
static unsigned int count_bytes(const char *path, const void *bytes, size_t length)
{
	static uint8_t content[65536];
	FILE *file = fopen(path, "rb");
	size_t size = file ? fread(content, 1, sizeof(content), file) : 0;
	const uint8_t *at = content, *end = content + size;
	unsigned int count = 0;

	while ((at = memmem(at, (size_t)(end - at), bytes, length))) {
		count++;
		at += length;
	}
	if (file)
		fclose(file);
	return count;
}

/* Two workers' frames are written in the order of time, cut, and with their direction. */
static void test_live_capture(void)
{
	char path[] = "/tmp/verbline-live-XXXXXX.pcapng", message[VL_CAPTURE_MESSAGE_SIZE];
	struct vl_live_capture_config config = {
		.path = path, .worker_count = 2, .snap_length = 64, .epoch = 1000000};
	struct vl_live_capture *capture;
	struct vl_frame_tap taps[2];
	uint8_t bytes[100] = {0};
	struct vl_frame frame = {.data = bytes, .length = sizeof(bytes)};
	struct vl_capture_reader *reader;
	struct vl_capture_packet packet;
	int descriptor = mkstemps(path, 7);
	uint32_t count = 0;

	CU_ASSERT_FATAL(descriptor >= 0);
	close(descriptor);
	capture = vl_live_capture_open(&config, message);
	CU_ASSERT_PTR_NOT_NULL_FATAL(capture);
	CU_ASSERT_EQUAL(vl_live_capture_add_interface(capture, VL_LINK_ETHERNET, "port", NULL), 0);
	for (uint32_t i = 0; i < 2; i++)
		taps[i] = vl_live_capture_tap(capture, i, 0);
	for (uint32_t i = 0; i < 100; i += 2)
		taps[0].see(taps[0].context, VL_DIRECTION_RECEIVED, &frame, 10 + i, "even");
	for (uint32_t i = 1; i < 100; i += 2)
		taps[1].see(taps[1].context, VL_DIRECTION_TRANSMITTED, &frame, 10 + i, NULL);
	CU_ASSERT_EQUAL(vl_live_capture_drain(capture, 60), 0);
	CU_ASSERT_EQUAL(vl_live_capture_counters(capture).written, 50);
	CU_ASSERT_EQUAL(vl_live_capture_close(capture, message), 0);
	reader = vl_capture_reader_open(path, message);
	CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
	while (vl_capture_reader_next(reader, &packet) == VL_CAPTURE_PACKET) {
		CU_ASSERT_EQUAL(packet.time, 1000010 + count);
		CU_ASSERT_EQUAL(packet.captured_length, 64);
		CU_ASSERT_EQUAL(packet.original_length, 100);
		count++;
	}
	CU_ASSERT_EQUAL(count, 100);
	vl_capture_reader_close(reader);
	/* The options as pcapng has them: comment, 4 bytes; flags, inbound or outbound. */
	CU_ASSERT_EQUAL(count_bytes(path, "\1\0\4\0even\2\0\4\0\1\0\0\0\0\0\0\0", 20), 50);
	CU_ASSERT_EQUAL(count_bytes(path, "\2\0\4\0\2\0\0\0\0\0\0\0", 12), 50);
	unlink(path);
	config.path = "/nonexistent/x.pcap";
	CU_ASSERT_PTR_NULL(vl_live_capture_open(&config, message));
	CU_ASSERT_PTR_NOT_NULL(strstr(message, "/nonexistent/x.pcap: cannot create"));
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"order", test_order},
		{"full", test_full},
		{"two_threads", test_two_threads},
		{"live_capture", test_live_capture},
	};

	return RUN_SUITE("unit/capture_ring", tests, argc, argv);
}
