/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* `verbline replay --port` as its users call it; what it sent is read back from a capture. */

#include "dataplane/capture/reader.h"
#include "dataplane/capture/writer.h"
#include "tests/support/command.h"
#include "transport/wire/icrc.h"
#include "transport/wire/opcode.h"
#include "transport/wire/parse.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* A port that writes what it sends to sent.pcap and receives what empty.pcap holds. */
#define EMPTY                                                                                      \
	"printf "                                                                                  \
	"'\\324\\303\\262\\241\\2\\0\\4\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\4\\0\\1\\0\\0\\0' > "    \
	"empty.pcap; "
#define PORT    "--port vdev:net_pcap0,rx_pcap=empty.pcap,tx_pcap=sent.pcap "
#define NOWHERE "--port vdev:net_null0,no-rx=1 "

#define MOST 2000u

struct frames {
	uint32_t count;
	struct {
		uint64_t time;
		uint32_t length;
		uint8_t *bytes;
		struct vl_packet packet;
		enum vl_parse_result parsed;
	} list[MOST];
};

static struct frames sent, recorded;

static void release(struct frames *frames)
{
	for (uint32_t i = 0; i < frames->count; i++)
		free(frames->list[i].bytes);
	frames->count = 0;
}

static void read_file(struct frames *frames, const char *path)
{
	char message[VL_CAPTURE_MESSAGE_SIZE];
	struct vl_capture_reader *reader = vl_capture_reader_open(path, message);
	struct vl_capture_packet packet;

	release(frames);
	CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
	while (frames->count < MOST &&
	       vl_capture_reader_next(reader, &packet) == VL_CAPTURE_PACKET) {
		uint32_t i = frames->count++;

		frames->list[i].time = packet.time;
		frames->list[i].length = packet.captured_length;
		frames->list[i].bytes = malloc(packet.captured_length + 1);
		CU_ASSERT_PTR_NOT_NULL_FATAL(frames->list[i].bytes);
		memcpy(frames->list[i].bytes, packet.data, packet.captured_length);
		frames->list[i].parsed =
			vl_parse(&frames->list[i].packet, VL_LINK_ETHERNET, frames->list[i].bytes,
				 packet.captured_length, packet.captured_length);
	}
	vl_capture_reader_close(reader);
}

static void read_sent(void)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/sent.pcap", directory);
	read_file(&sent, path);
}

static void read_recorded(const char *name)
{
	const char *root = getenv("VERBLINE_SOURCE_ROOT");
	char path[512];

	snprintf(path, sizeof(path), "%s/pcaps/%s", root ? root : ".", name);
	read_file(&recorded, path);
}

static void check_same(void)
{
	CU_ASSERT_EQUAL_FATAL(sent.count, recorded.count);
	for (uint32_t i = 0; i < sent.count; i++) {
		CU_ASSERT_EQUAL_FATAL(sent.list[i].length, recorded.list[i].length);
		CU_ASSERT_EQUAL(
			memcmp(sent.list[i].bytes, recorded.list[i].bytes, sent.list[i].length), 0);
	}
}

static void test_byte_for_byte(void)
{
	static const char *const files[] = {"rxe-rc-send-2-ipv4.pcap", "rxe-loss-rc-send-ipv4.pcap",
					    "rxe-cm-rping-ipv4.pcap", "rxe-rc-send-2-ipv6.pcap"};

	for (unsigned int i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char command[512];

		snprintf(command, sizeof(command), EMPTY "$V " PORT "--fast $P/%s", files[i]);
		expect(command, 0, "as fast as possible");
		read_sent();
		read_recorded(files[i]);
		check_same();
	}
}

static int compare_times(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The median, as a machine that is shared makes single frames late. */
static uint64_t median_error(double speed)
{
	static uint64_t errors[MOST];

	for (uint32_t i = 0; i < sent.count; i++) {
		double wanted = (double)(recorded.list[i].time - recorded.list[0].time) / speed;
		double found = (double)(sent.list[i].time - sent.list[0].time);

		errors[i] = (uint64_t)(found > wanted ? found - wanted : wanted - found);
	}
	qsort(errors, sent.count, sizeof(errors[0]), compare_times);
	return errors[sent.count / 2];
}

/* The time from the first frame to the last, ns. */
static uint64_t sent_time(void)
{
	return sent.list[sent.count - 1].time - sent.list[0].time;
}

static bool is_as_recorded(void)
{
	return median_error(1) < 2000000;
}

static bool is_four_times_slower(void)
{
	return median_error(0.25) < 2000000;
}

static bool takes_39_ms(void)
{
	return sent_time() > 37000000 && sent_time() < 60000000;
}

/* 2,480 bytes at 1 Mb/s: 20 ms. */
static bool takes_20_ms(void)
{
	return sent_time() > 18000000 && sent_time() < 40000000;
}

static bool takes_no_13_ms(void)
{
	return sent_time() < 13000000;
}

/* A machine that is shared can hold up any run: one of several has to be right, unless the program
 * itself says of each that it was kept. */
static void expect_timing(const char *options, const char *says, bool (*is_right)(void))
{
	char command[512];
	bool right = false, kept = true;

	snprintf(command, sizeof(command), EMPTY "$V " PORT "%s $P/rxe-rc-send-2-ipv4.pcap",
		 options);
	for (unsigned int i = 0; i < 6 && !right; i++) {
		expect(command, 0, says);
		kept = kept && strstr(output, "kept by the machine") != NULL;
		read_sent();
		check_same();
		right = is_right();
	}
	CU_ASSERT(right || kept);
	if (!right && kept)
		printf("%s: the machine kept every run\n", options);
}

static void test_timing(void)
{
	read_recorded("rxe-rc-send-2-ipv4.pcap");
	expect_timing("", "Timing error: p50", is_as_recorded);
	expect_timing("--speed 0.25", "0.25 times", is_four_times_slower);
	expect_timing("--pps 1000", "at 1000 frames/s", takes_39_ms);
	expect_timing("--rate 1Mb/s", "at 1Mb/s", takes_20_ms);
	expect_timing("--longest-wait 1us", "Sent 40", takes_no_13_ms);
}

/* No machine does that, and this one says so. */
static void test_missed_rate(void)
{
	expect("$V " NOWHERE "--rate 1000Gb/s --loop 3 $P/rxe-rc-send-2-ipv4.pcap", 0,
	       "The rate that was asked for was not reached:");
	expect("$V " NOWHERE
	       "--rate 1000Gb/s --loop 3 --json - $P/rxe-rc-send-2-ipv4.pcap | grep rate_missed",
	       0, "\"rate_missed\": true");
	expect("$V " NOWHERE "--fast --json - $P/rxe-rc-send-2-ipv4.pcap | grep rate_missed", 0,
	       "\"rate_missed\": false");
}

/* Requests go on by what one run takes, acknowledgements with them; the rest stays, ICRC right. */
static void test_psns_carry_on(void)
{
	uint32_t n;

	expect(EMPTY "$V " PORT "--fast --loop 3 $P/rxe-rc-send-2-ipv4.pcap", 0,
	       "3 runs through the files; PSNs carried on");
	read_sent();
	read_recorded("rxe-rc-send-2-ipv4.pcap");
	n = recorded.count;
	CU_ASSERT_EQUAL_FATAL(sent.count, 3 * n);
	for (uint32_t i = 0; i < sent.count; i++) {
		const struct vl_packet *packet = &sent.list[i].packet;

		CU_ASSERT_EQUAL_FATAL(sent.list[i].parsed, VL_PARSE_ok);
		CU_ASSERT_TRUE(vl_icrc_is_right(packet));
		/* 20 requests in a run. */
		CU_ASSERT_EQUAL(packet->psn,
				(recorded.list[i % n].packet.psn + 20 * (i / n)) & 0xffffff);
		CU_ASSERT_EQUAL(packet->opcode, recorded.list[i % n].packet.opcode);
		CU_ASSERT_EQUAL(packet->destination_qpn,
				recorded.list[i % n].packet.destination_qpn);
	}
	/* A responder sees one stream without a gap or a repetition. */
	expect("${V% replay} inspect sent.pcap", 0, "nothing was lost, refused or sent");
	expect(EMPTY "$V " PORT "--fast --loop 2 --same-psns $P/rxe-rc-send-2-ipv4.pcap", 0,
	       "PSNs repeated");
	read_sent();
	CU_ASSERT_EQUAL(sent.list[n].packet.psn, recorded.list[0].packet.psn);
}

/* READ responses take more PSNs than the request that they answer. */
static void test_psns_of_reads(void)
{
	expect(EMPTY "$V " PORT
		     "--fast --loop 2 $P/rxe-rc-read-$(cd $P; ls rxe-rc-read-*ipv4.pcap | "
		     "head -1 | sed 's/rxe-rc-read-//')",
	       0, "2 runs");
	expect("${V% replay} inspect sent.pcap", 0, "nothing was lost, refused or sent");
}

static void test_rewriting(void)
{
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 9};

	expect(EMPTY "$V " PORT "--fast --rewrite ip=10.77.0.3,192.168.9.9 --rewrite vlan=12 "
		     "--rewrite pcp=3 --rewrite dst-mac=02:00:00:00:00:09 --rewrite dscp=26 "
		     "--rewrite psn=+1 --rewrite qpn=0x99,1 $P/rxe-rc-send-2-ipv4.pcap",
	       0, "Rewritten: 40 frames");
	CU_ASSERT_PTR_NOT_NULL(strstr(output, "applied 0 times"));
	read_sent();
	read_recorded("rxe-rc-send-2-ipv4.pcap");
	CU_ASSERT_EQUAL_FATAL(sent.count, 40);
	for (uint32_t i = 0; i < sent.count; i++) {
		const struct vl_packet *packet = &sent.list[i].packet;
		const struct vl_packet *before = &recorded.list[i].packet;

		CU_ASSERT_EQUAL_FATAL(sent.list[i].parsed, VL_PARSE_ok);
		CU_ASSERT_TRUE(vl_icrc_is_right(packet));
		CU_ASSERT_EQUAL(packet->vlan_id, 12);
		CU_ASSERT_EQUAL(packet->priority, 3);
		CU_ASSERT_EQUAL(memcmp(packet->destination_mac, mac, 6), 0);
		CU_ASSERT_EQUAL(vl_packet_dscp(packet), 26);
		CU_ASSERT_EQUAL(packet->psn, (before->psn + 1) & 0xffffff);
		CU_ASSERT_EQUAL(packet->source_gid.raw[12],
				before->source_gid.raw[15] == 3 ? 192 : 10);
	}
	/* On request nothing is made right. */
	expect(EMPTY "$V " PORT "--fast --keep-checksums --rewrite psn=+1 "
		     "$P/rxe-rc-send-2-ipv4.pcap",
	       0, "");
	read_sent();
	CU_ASSERT_FALSE(vl_icrc_is_right(&sent.list[0].packet));
	CU_ASSERT_EQUAL(vl_icrc_found(&sent.list[0].packet),
			vl_icrc_found(&recorded.list[0].packet));
	expect("$V --rewrite help", 0, "src-qpn");
}

static void test_merging(void)
{
	expect(EMPTY "$V " PORT "--fast --align $P/rxe-rc-send-2-ipv4.pcap "
		     "$P/rxe-rc-send-2-ipv6.pcap",
	       0, "Sent 80 frames");
	read_sent();
	CU_ASSERT_EQUAL(sent.count, 80);
	/* By time: not one file behind the other. */
	CU_ASSERT_NOT_EQUAL(sent.list[0].packet.encapsulation, sent.list[1].packet.encapsulation);
	expect(EMPTY "cat $P/rxe-rc-send-2-ipv4.pcap | $V " PORT "--fast -", 0, "Sent 40 frames");
	expect_line(EMPTY "cat $P/rxe-rc-send-2-ipv4.pcap | $V " PORT "--fast --loop 2 -", 2,
		    "--loop: the standard input cannot be read twice");
}

static void write_packets(const char *name, enum vl_link_type link, const uint8_t *bytes,
			  uint32_t length, uint32_t wire_length)
{
	struct vl_capture_record record = {
		.frame = bytes, .length = length, .wire_length = wire_length};
	char path[256], message[VL_CAPTURE_MESSAGE_SIZE];
	struct vl_capture_writer *writer;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	writer = vl_capture_writer_open(path, vl_capture_format_of_path(path), message);
	CU_ASSERT_PTR_NOT_NULL_FATAL(writer);
	record.interface = (uint32_t)vl_capture_writer_add_interface(writer, link, NULL, NULL);
	CU_ASSERT_EQUAL(vl_capture_writer_write(writer, &record), 0);
	CU_ASSERT_EQUAL(vl_capture_writer_close(writer, message), 0);
}

static void test_other_kinds_of_packets(void)
{
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 7};
	uint8_t long_frame[6000] = {2};

	read_recorded("rxe-rc-send-2-ipv4.pcap");
	write_packets("ip.pcapng", VL_LINK_IP, recorded.list[0].bytes + 14,
		      recorded.list[0].length - 14, 0);
	expect(EMPTY "$V " PORT "--fast ip.pcapng", 0, "say --rewrite dst-mac=ADDRESS");
	expect(EMPTY "$V " PORT "--fast --rewrite dst-mac=02:00:00:00:00:07 ip.pcapng", 0,
	       "Sent 1 frames");
	read_sent();
	CU_ASSERT_EQUAL_FATAL(sent.count, 1);
	CU_ASSERT_EQUAL(memcmp(sent.list[0].bytes, mac, 6), 0);
	CU_ASSERT_EQUAL(memcmp(sent.list[0].bytes + 14, recorded.list[0].bytes + 14,
			       recorded.list[0].length - 14),
			0);

	write_packets("cut.pcapng", VL_LINK_ETHERNET, recorded.list[0].bytes, 60, 4000);
	expect("$V " NOWHERE "--fast cut.pcapng", 0, "Not sent: 1 packets: cut when");
	write_packets("long.pcapng", VL_LINK_ETHERNET, long_frame, sizeof(long_frame), 0);
	expect("$V " NOWHERE "--fast long.pcapng", 0, "longer than the port's MTU");
	write_packets("ib.pcapng", VL_LINK_INFINIBAND, recorded.list[0].bytes, 40, 0);
	expect("$V " NOWHERE "--fast --loop 0 ib.pcapng", 0, "no Ethernet frame");
}

static void test_jumbo(void)
{
	uint8_t frame[9000] = {2};

	write_packets("long.pcapng", VL_LINK_ETHERNET, frame, sizeof(frame), 0);
	expect("$V " NOWHERE "--fast --mtu 9000 long.pcapng", 0, "Sent 1 frames");
}

static void test_damaged_files(void)
{
	expect("head -c 1000 $P/rxe-rc-send-2-ipv4.pcap > cut.pcap; $V " NOWHERE "--fast cut.pcap",
	       1, "cut.pcap: packet 13, at byte 960");
	CU_ASSERT_PTR_NOT_NULL(strstr(output, "Sent 12 frames"));
	/* The other file goes on. */
	expect("$V " NOWHERE "--fast cut.pcap $P/rxe-rc-send-2-ipv4.pcap", 1, "Sent 52 frames");
	expect("head -c 5000 /dev/urandom > noise; $V " NOWHERE "noise", 2, "noise: not a capture");
	expect("(head -c 24 $P/rxe-rc-send-2-ipv4.pcap; head -c 20000 /dev/urandom) > noise; "
	       "$V " NOWHERE "--fast noise 2>&1",
	       1, "noise: packet ");
}

/* Resident memory does not follow the size of the file. */
static void test_large_file_streams(void)
{
	struct rusage small, large;

	expect("$V " NOWHERE "--fast $P/rxe-rc-send-2-ipv4.pcap", 0, "Sent 40 frames");
	getrusage(RUSAGE_CHILDREN, &small);
	/* 200 MB of records, most of them nothing but zeros that the file system need not keep. */
	expect("cp $P/rxe-rc-send-2-ipv4.pcap big.pcap && chmod u+w big.pcap && truncate -s "
	       "209715240 big.pcap && $V " NOWHERE "--fast big.pcap",
	       0, "Sent 40 frames");
	/* And 60 MB of frames that are all sent. */
	expect("head -c 24 $P/rxe-rc-send-2-ipv4.pcap > many.pcap; tail -c +25 "
	       "$P/rxe-rc-send-2-ipv4.pcap > part; for i in 1 2 3 4 5 6 7 8 9 10; do cat part part "
	       "> twice; cat twice twice > part; done 2>/dev/null; for i in 1 2 3 4 5 6 7 8; do "
	       "cat "
	       "part; done | head -c 62400000 >> many.pcap; $V " NOWHERE "--fast many.pcap",
	       0, "Sent 800000 frames");
	getrusage(RUSAGE_CHILDREN, &large);
	CU_ASSERT(large.ru_maxrss < small.ru_maxrss + 64 * 1024);
	if (large.ru_maxrss >= small.ru_maxrss + 64 * 1024)
		printf("%ld KB resident after %ld\n", large.ru_maxrss, small.ru_maxrss);
}

static void test_json(void)
{
	json_error_t error;
	json_int_t frames = 0, runs = 0, applied = 0;
	json_t *root;

	expect("$V " NOWHERE "--fast --loop 2 --rewrite psn=+1 --json out.json "
	       "$P/rxe-rc-send-2-ipv4.pcap && cat out.json",
	       0, "verbline-replay-port-1");
	root = json_loads(strchr(output, '{'), 0, &error);
	CU_ASSERT_PTR_NOT_NULL_FATAL(root);
	CU_ASSERT_EQUAL(json_unpack(root, "{s:I, s:I, s:[{s:I}]}", "frames", &frames, "runs", &runs,
				    "rules", "applied", &applied),
			0);
	CU_ASSERT_EQUAL(frames, 80);
	CU_ASSERT_EQUAL(runs, 2);
	CU_ASSERT_EQUAL(applied, 80);
	CU_ASSERT_TRUE(json_is_object(json_object_get(root, "timing_error")));
	CU_ASSERT_TRUE(json_is_object(json_object_get(root, "late")));
	json_decref(root);
}

/* A cable that nobody takes frames from fills up, and the rest of them is given up. */
static void test_port_that_takes_nothing(void)
{
	expect("timeout 60 $V --port ring:nobody --fast --loop 1000 $P/rxe-rc-send-2-ipv4.pcap", 1,
	       "frames that were ready: the port took them not");
}

static void test_interrupted(void)
{
	expect("timeout -s INT 1 $V " NOWHERE "--pps 10 --json out.json "
	       "$P/rxe-rc-send-2-ipv4.pcap; grep interrupted out.json",
	       0, "\"interrupted\": true");
	CU_ASSERT_PTR_NOT_NULL(strstr(output, "Stopped before the end"));
}

static void test_refusals(void)
{
	expect_line("$V " NOWHERE, 2, "FILE... is missing");
	expect_line("$V " NOWHERE "/nonexistent", 2, "/nonexistent: No such file");
	expect_line("$V " NOWHERE "--fast --pps 3 $P/rxe-rc-send-2-ipv4.pcap", 2, "exclude");
	expect_line("$V " NOWHERE "--speed 0 $P/rxe-rc-send-2-ipv4.pcap", 2, "no factor");
	expect_line("$V " NOWHERE "--rewrite qpn=x $P/rxe-rc-send-2-ipv4.pcap", 2, "no number");
	expect_line("$V --tolerance 5us $P/rxe-rc-send-2-ipv4.pcap", 2, "--tolerance needs --port");
	expect_line("$V " NOWHERE "--pps 3 --longest-wait 1ms $P/rxe-rc-send-2-ipv4.pcap", 2,
		    "recorded pauses");
	expect_line("$V --pps 3 $P/rxe-rc-send-2-ipv4.pcap", 2, "--pps needs --port");
	expect("$V --port nonsense $P/rxe-rc-send-2-ipv4.pcap", 2, "nonsense");
	expect_line("cp $P/rxe-rc-send-2-ipv4.pcap x; $V " NOWHERE "--json x x", 2, "overwrite");
}

static const struct test tests[] = {
	{"byte_for_byte", test_byte_for_byte},
	{"timing", test_timing},
	{"missed_rate", test_missed_rate},
	{"psns_carry_on", test_psns_carry_on},
	{"psns_of_reads", test_psns_of_reads},
	{"rewriting", test_rewriting},
	{"merging", test_merging},
	{"other_kinds_of_packets", test_other_kinds_of_packets},
	{"jumbo", test_jumbo},
	{"damaged_files", test_damaged_files},
	{"large_file_streams", test_large_file_streams},
	{"json", test_json},
	{"port_that_takes_nothing", test_port_that_takes_nothing},
	{"interrupted", test_interrupted},
	{"refusals", test_refusals},
};

int main(int argc, char **argv)
{
	int status = COMMAND_RUN_SUITE("replay_port_command", "replay", tests, argc, argv);

	release(&sent);
	release(&recorded);
	return status;
}
