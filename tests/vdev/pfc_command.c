/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* `verbline pfc` as its users call it, its frames read back from captures. */

#include "dataplane/capture/reader.h"
#include "dataplane/pfc.h"
#include "tests/support/command.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

/* A port that writes what it sends to sent.pcap and receives what empty.pcap holds. */
#define EMPTY                                                                                      \
	"printf "                                                                                  \
	"'\\324\\303\\262\\241\\2\\0\\4\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\4\\0\\1\\0\\0\\0' > "    \
	"empty.pcap; "
#define RECORDED "--port vdev:net_pcap0,rx_pcap=empty.pcap,tx_pcap=sent.pcap --rate 1Gb/s "

struct sent {
	uint32_t count;
	uint64_t times[64];
	struct vl_pfc frames[64];
};

static struct sent read_sent(void)
{
	char path[512], message[VL_CAPTURE_MESSAGE_SIZE];
	struct vl_capture_reader *reader;
	struct vl_capture_packet packet;
	struct sent sent = {0};

	snprintf(path, sizeof(path), "%s/sent.pcap", directory);
	reader = vl_capture_reader_open(path, message);
	CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
	while (vl_capture_reader_next(reader, &packet) == VL_CAPTURE_PACKET && sent.count < 64) {
		CU_ASSERT_EQUAL(
			vl_pfc_parse(packet.data, packet.captured_length, &sent.frames[sent.count]),
			VL_MAC_CONTROL_PFC);
		CU_ASSERT_EQUAL(packet.captured_length, VL_PFC_FRAME_LENGTH);
		sent.times[sent.count++] = packet.time;
	}
	vl_capture_reader_close(reader);
	return sent;
}

static void test_single_frame(void)
{
	struct sent sent;

	expect(EMPTY "$V " RECORDED "--classes 0,3-4 --quanta 1234", 0, "0,3,4");
	CU_ASSERT_PTR_NULL(strstr(output, "own count")); /* the device counts what left */
	sent = read_sent();
	CU_ASSERT_EQUAL(sent.count, 1);
	CU_ASSERT_FALSE(sent.frames[0].is_global);
	CU_ASSERT_EQUAL(sent.frames[0].enabled, 0x19);
	CU_ASSERT_EQUAL(sent.frames[0].quanta[3], 1234);
	CU_ASSERT_EQUAL(sent.frames[0].quanta[1], 0);

	expect(EMPTY "$V " RECORDED "--global", 0, "all (PAUSE)");
	sent = read_sent();
	CU_ASSERT_EQUAL(sent.count, 1);
	CU_ASSERT_TRUE(sent.frames[0].is_global);
	CU_ASSERT_EQUAL(sent.frames[0].quanta[0], 65535);

	expect(EMPTY "$V " RECORDED "--quanta 0", 0, "");
	sent = read_sent();
	CU_ASSERT_EQUAL(sent.count, 1);
	CU_ASSERT_EQUAL(sent.frames[0].enabled, 8);
	CU_ASSERT_EQUAL(sent.frames[0].quanta[3], 0);
}

/* 65,535 quanta are 33.5 ms at 1 Gb/s, and a frame goes out each 10 ms: the last one's quanta and
 * its time make 60 ms of all. */
static void test_exact_duration(void)
{
	struct sent sent;
	uint64_t lasted = 0;

	/* A machine that is shared may hold up a frame between its making and its record. */
	for (unsigned int i = 0; i < 5 && (lasted < 59500000 || lasted > 60500000); i++) {
		expect(EMPTY "$V " RECORDED "--duration 60ms", 0, "Gaps between frames");
		sent = read_sent();
		CU_ASSERT(sent.count >= 2);
		lasted = sent.times[sent.count - 1] +
			 sent.frames[sent.count - 1].quanta[3] * UINT64_C(512) - sent.times[0];
	}
	CU_ASSERT(lasted >= 59500000 && lasted <= 60500000);
	for (uint32_t i = 0; i + 1 < sent.count; i++)
		CU_ASSERT_EQUAL(sent.frames[i].quanta[3], 65535);
}

static void test_storm_is_ended(void)
{
	struct sent sent;

	expect(EMPTY "$V " RECORDED "--storm -D 100ms --pfc-response-delay 1us --hgrm gaps.hgrm", 0,
	       "Broken: of both, longer than the pause itself");
	sent = read_sent();
	CU_ASSERT(sent.count >= 4 && sent.count <= 13);
	CU_ASSERT_EQUAL(sent.frames[sent.count - 2].quanta[3], 65535);
	CU_ASSERT_EQUAL(sent.frames[sent.count - 1].quanta[3], 0);
}

static void test_rhythm_and_json(void)
{
	json_int_t pauses = 0, frames = 0, longest = 0, pause = 0;
	json_error_t error;
	json_t *root;

	expect(EMPTY "$V " RECORDED "--duration 5ms --period 10ms --count 4 --histogram gaps.hgrm "
		     "--json -",
	       0, "\"schema\": \"verbline-pfc-1\"");
	root = json_loads(strchr(output, '{'), JSON_DISABLE_EOF_CHECK, &error);
	CU_ASSERT_PTR_NOT_NULL_FATAL(root);
	CU_ASSERT_EQUAL(
		json_unpack(
			json_object_get(json_array_get(json_object_get(root, "ports"), 0), "sent"),
			"{s:I, s:I, s:I, s:I}", "pauses", &pauses, "frames", &frames,
			"longest_gap_ns", &longest, "pause_ns", &pause),
		0);
	CU_ASSERT_EQUAL(pauses, 4);
	CU_ASSERT_EQUAL(frames, 4);
	CU_ASSERT_EQUAL(pause, 33553920);
	CU_ASSERT_EQUAL(longest, 20132352);
	CU_ASSERT_EQUAL(read_sent().count, 4);
	json_decref(root);
	expect("cat gaps.hgrm", 0, "Percentile");
}

/* What one run sent, another receives. */
static void test_received_pauses(void)
{
	expect(EMPTY "$V " RECORDED "--classes 3,5 --quanta 1000 --period 1ms --count 7 && "
		     "$V --port vdev:net_pcap1,rx_pcap=sent.pcap --rate 1Gb/s --listen --time 50ms "
		     "--json - 2>&1",
	       0, "\"pfc_rx\": 7");
	CU_ASSERT_PTR_NOT_NULL(strstr(output, "\"paused_ns\": "));
	expect("$V --port vdev:net_pcap1,rx_pcap=sent.pcap --rate 1Gb/s --listen --time 50ms", 0,
	       "     3          7          0");
}

static void test_refusals(void)
{
	expect_line("$V", 2, "--port is missing");
	expect("$V --port nonsense", 2, "unknown kind");
	expect_line("$V --port vdev:net_null0 --classes 8", 2, "no list of classes 0 to 7");
	expect_line("$V --port vdev:net_null0 --storm --duration 1ms", 2, "give one");
	expect_line("$V --port vdev:net_null0 --storm --quanta 0", 2, "take 1 to 65535");
	expect_line("$V --port vdev:net_null0 --count 3", 2, "needs --period");
	expect_line("$V --port vdev:net_null0 --listen --storm", 2, "sends nothing");
	expect_line("$V --port vdev:net_null0 --global --classes 3", 2, "stops all classes");
	expect("$V --port vdev:net_null0 --mac 2:3 2>&1", 2, "02:00:00:00:00:01");
	expect("$V --port vdev:net_null0 --storm --refresh 100% 2>&1", 2, "--refresh");
	expect("$V --port vdev:net_null0 --storm --quanta 10 --refresh 1s 2>&1", 2, "outlasts");
	expect("$V --port vdev:net_null0 --period 2us --rate 1Gb/s 2>&1", 2, "--period");
}

static const struct test tests[] = {
	{"single_frame", test_single_frame},       {"exact_duration", test_exact_duration},
	{"storm_is_ended", test_storm_is_ended},   {"rhythm_and_json", test_rhythm_and_json},
	{"received_pauses", test_received_pauses}, {"refusals", test_refusals},
};

int main(int argc, char **argv)
{
	return COMMAND_RUN_SUITE("pfc_command", "pfc", tests, argc, argv);
}
