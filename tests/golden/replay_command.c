/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* `verbline replay` as its users call it: what it prints, writes and ends with. */

#include "dataplane/capture/writer.h"
#include "tests/support/command.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void test_refusals(void)
{
	expect_line("$V", 2, "FILE... is missing");
	expect_line("$V --nonsense x", 2, "unknown option");
	expect_line("$V --role nobody $P/rxe-rc-send-2-ipv4.pcap", 2, "--role: 'nobody'");
	expect_line("$V /nonexistent", 2, "/nonexistent: No such file or directory");
	expect_line("$V /etc", 2, "/etc: Is a directory");
	expect_line("$V /etc/passwd", 2, "/etc/passwd: not a capture");
	expect_line(": > empty; $V empty", 2, "empty: the file is empty");
	expect_line("$V - < /dev/null", 2, "-: the file is empty");
	expect_line("gzip -c $P/rxe-rc-send-2-ipv4.pcap > x.gz; $V x.gz", 2,
		    "compressed with gzip");
	expect_line("$V --json /nonexistent/x $P/rxe-rc-send-2-ipv4.pcap", 2, "/nonexistent/x: ");
	expect("$V --json /dev/full $P/rxe-rc-send-2-ipv4.pcap", 1, "/dev/full: ");
	expect_line("$V $P/rxe-rc-send-2-ipv4.pcap > /dev/full", 1, "standard output");
}

static void test_reports(void)
{
	expect("$V $P/rxe-rc-send-2-ipv4.pcap", 0,
	       "compared 40 packets: 40 equal, 0 tolerated, 0 explained, 0 different");
	CU_ASSERT_PTR_NOT_NULL(strstr(output, "The stack behaves as the recorded peer did."));
	expect("$V - < $P/rxe-rc-send-2-ipv4.pcap", 0, "40 equal");
	expect("cat $P/rxe-rc-send-2-ipv4.pcap | $V -", 0, "40 equal");
	expect("$V -r responder $P/rxe-rc-send-2-ipv4.pcap", 0, "compared 20 packets: 20 equal");
	expect("$V -r requester -v $P/rxe-rc-send-2-ipv4.pcap", 0, "the stack as requester");
	expect("$V $P/rxe-loss-rc-send-ipv4.pcap", 0, "withheld #6 (PSN 160755): lost after");
	expect("$V $P/rxe-rnr-rc-send-ipv4.pcap", 0, "nak_sequence_after_rnr_nak");
	expect("$V /nonexistent $P/rxe-rc-send-2-ipv4.pcap", 2, "40 equal");
	expect("$V --help", 0, "Usage: verbline replay");
}

/* The least significant bit of the MSN of a recorded ACK, and its ICRC left as it was: an ICRC that
 * is wrong makes a receiver drop the packet, so it is left out, and said. */
static void test_damage(void)
{
	expect("head -c 1000 $P/rxe-rc-pingpong-ipv4.pcap > cut; $V cut", 1, "damaged: packet");
	expect("cp $P/rxe-rc-send-2-ipv4.pcap bad; chmod u+w bad; "
	       "printf x | dd of=bad bs=1 seek=95 conv=notrunc status=none; $V bad",
	       0, "1 with a wrong ICRC");
}

/* ---- Captures of something else ----------------------------------------------------------------
 */

static void write_capture(const char *name, enum vl_link_type link, const uint8_t *frame,
			  uint32_t length)
{
	char path[256], message[VL_CAPTURE_MESSAGE_SIZE];
	struct vl_capture_record record = {.frame = frame, .length = length};
	struct vl_capture_writer *writer;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	writer = vl_capture_writer_open(path, vl_capture_format_of_path(path), message);
	CU_ASSERT_PTR_NOT_NULL_FATAL(writer);
	CU_ASSERT_EQUAL(vl_capture_writer_add_interface(writer, link, NULL, NULL), 0);
	CU_ASSERT_EQUAL(vl_capture_writer_write(writer, &record), 0);
	CU_ASSERT_EQUAL(vl_capture_writer_close(writer, message), 0);
}

static void test_other_captures(void)
{
	/* A WRITE over InfiniBand, the standard's example: inspect shows it, replay leaves it. */
	static const uint8_t native[] = {0x70, 0x12, 0x37, 0x5c, 0x00, 0x0e, 0x17, 0xd2, 0x0a, 0x20,
					 0x24, 0x87, 0x00, 0x87, 0xb1, 0xb3, 0x00, 0x0d, 0xec, 0x2a,
					 0x01, 0x71, 0x0a, 0x1c, 0x01, 0x5d, 0x40, 0x02, 0x38, 0xf2,
					 0x7a, 0x05, 0x00, 0x00, 0x00, 0x0e, 0xbb, 0x88, 0x4d, 0x85,
					 0xfd, 0x5c, 0xfb, 0xa4, 0x72, 0x8b, 0xc0, 0x69, 0x0e, 0xd4,
					 0x00, 0x00, 0x96, 0x25, 0xb7, 0x5a, 0x45, 0xfa};
	static const uint8_t arp[60] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2,    0, 0, 0, 0,
					1,    0x08, 0x06, 0x00, 0x01, 0x08, 0x00, 6, 4, 0, 1};

	write_capture("native.pcap", VL_LINK_INFINIBAND, native, sizeof(native));
	expect("$V native.pcap", 0, "1 of kinds that are not replayed");
	CU_ASSERT_PTR_NOT_NULL(strstr(output, "There was nothing to compare."));
	write_capture("arp.pcapng", VL_LINK_ETHERNET, arp, sizeof(arp));
	expect("$V arp.pcapng", 0, "1 of other protocols");
	CU_ASSERT_PTR_NOT_NULL(strstr(output, "There was nothing to compare."));
}

/* ---- JSON --------------------------------------------------------------------------------------
 */

static json_t *replay_json(const char *arguments)
{
	char command[512];
	json_error_t error;
	json_t *root;

	snprintf(command, sizeof(command), "$V --json - %s", arguments);
	CU_ASSERT_EQUAL(run(command), 0);
	root = json_loads(output, 0, &error);
	CU_ASSERT_PTR_NOT_NULL_FATAL(root);
	return root;
}

static void test_json(void)
{
	json_t *root = replay_json("$P/rxe-loss-rc-acks-ipv4.pcap"), *file, *trials, *withheld;
	json_int_t compared = 0, equal = 0, tolerated = 0, explained = 0, different = -1;
	json_int_t packet = 0, shown_by = 0;

	file = json_array_get(json_object_get(root, "files"), 0);
	CU_ASSERT_EQUAL(json_unpack(file, "{s:I, s:I, s:I, s:I, s:I}", "compared", &compared,
				    "equal", &equal, "tolerated", &tolerated, "explained",
				    &explained, "different", &different),
			0);
	CU_ASSERT_EQUAL(compared, 42);
	CU_ASSERT_EQUAL(equal, 42);
	CU_ASSERT_EQUAL(tolerated + explained + different, 0);
	trials = json_object_get(file, "trials");
	CU_ASSERT_EQUAL(json_array_size(trials), 2);
	withheld = json_object_get(json_array_get(trials, 1), "withheld");
	CU_ASSERT_EQUAL(json_unpack(json_array_get(withheld, 0), "{s:I, s:I}", "packet", &packet,
				    "shown_by", &shown_by),
			0);
	CU_ASSERT_EQUAL(packet, 40);
	CU_ASSERT_EQUAL(shown_by, 41);
	json_decref(root);
}

/* A name that is no UTF-8 cannot be in JSON as it is. */
static void test_json_of_strange_name(void)
{
	json_t *root = replay_json("\"$(cp $P/rxe-rc-send-2-ipv4.pcap $(printf 'a\\377.pcap'); "
				   "printf 'a\\377.pcap')\"");
	json_t *files = json_object_get(root, "files");

	CU_ASSERT_EQUAL(json_array_size(files), 1);
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(json_array_get(files, 0), "file")),
			       "a?.pcap");
	json_decref(root);
}

static void test_output_is_whole(void)
{
	expect("$V --json out.json $P/rxe-rc-send-2-ipv4.pcap > /dev/null; ls", 0, "out.json");
	CU_ASSERT_PTR_NULL(strstr(output, "partial"));
}

/* What the lab recorded of its own lossy link, in front of the loss and behind it. */
static void test_lab(void)
{
	expect("${V% replay} lab lossy-link -D 10ms --no-view --fast --seed 3 --pcap-at client "
	       "--pcap front.pcap > /dev/null && $V front.pcap",
	       0, ", 0 different");
	CU_ASSERT_PTR_NOT_NULL(strstr(output, "withheld #"));
	expect("${V% replay} lab lossy-link -D 10ms --no-view --fast --seed 3 "
	       "--pcap behind.pcap > /dev/null && $V behind.pcap",
	       0, ", 0 different");
}

static const struct test tests[] = {
	{"refusals", test_refusals},
	{"reports", test_reports},
	{"damage", test_damage},
	{"other_captures", test_other_captures},
	{"json", test_json},
	{"json_of_strange_name", test_json_of_strange_name},
	{"output_is_whole", test_output_is_whole},
	{"lab", test_lab},
};

int main(int argc, char **argv)
{
	return COMMAND_RUN_SUITE("replay_command", "replay", tests, argc, argv);
}
