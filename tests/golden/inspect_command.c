/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* `verbline inspect` as its users call it: what it prints, writes and ends with. */

#include "tests/support/command.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The first packet seen of a message is taken for what it is, and so is the rest. */
static void test_starts_inside_a_message(void)
{
	expect("${V% inspect} lab --no-view --pcap o.pcap --pcap-from 60ms --pcap-count 3000 "
	       ">/dev/null && $V o.pcap",
	       0, "3,000");
	CU_ASSERT_PTR_NULL(strstr(output, "may not follow"));
	CU_ASSERT_PTR_NULL(strstr(output, "problem"));
}

static void test_refusals(void)
{
	expect_line("$V", 2, "FILE... is missing");
	expect_line("$V --nonsense x", 2, "unknown option");
	expect_line("$V --lines 0 $P/rxe-rc-send-2-ipv4.pcap", 2, "--lines");
	expect_line("$V /nonexistent", 2, "/nonexistent: No such file or directory");
	expect_line("$V /etc", 2, "/etc: Is a directory");
	expect_line("$V /etc/passwd", 2, "/etc/passwd: not a capture");
	expect_line(": > empty; $V empty", 2, "empty: the file is empty");
	expect_line("gzip -c $P/rxe-rc-send-2-ipv4.pcap > x.gz; $V x.gz", 2,
		    "compressed with gzip");
	expect_line("$V -j /nonexistent/x $P/rxe-rc-send-2-ipv4.pcap", 2, "/nonexistent/x: ");
	expect_line("$V $P/rxe-rc-send-2-ipv4.pcap > /dev/full", 1, "standard output: ");
	expect_line("$V -q -j /dev/full $P/rxe-rc-send-2-ipv4.pcap", 1, "/dev/full: ");
}

static void test_reports(void)
{
	expect("$V $P/rxe-rc-send-2-ipv4.pcap", 0, "40 RDMA, 0 foreign, 0 damaged; ICRC: 40 right");
	CU_ASSERT_PTR_NOT_NULL(strstr(output, "Healthy"));
	CU_ASSERT_PTR_NULL(strchr(output, '\033')); /* colours are for terminals */
	expect("$V - < $P/rxe-rc-send-2-ipv4.pcap", 0, "standard input: pcap, 40 packets");
	expect("cat $P/rxe-rc-send-2-ipv4.pcap | $V -", 0, "standard input: pcap, 40 packets");
	expect("$V $P/rxe-rc-send-2-ipv4.pcap $P/rxe-rc-send-2-ipv6.pcap", 0,
	       "All 2 files: 80 packets: 80 RDMA");
	expect("$V $P/rxe-rc-send-2-ipv4.pcap /nonexistent", 2, "1 not readable");
	expect("$V --help", 0, "Usage: verbline inspect");
	expect("$V -q $P/rxe-loss-rc-send-ipv4.pcap", 0, "");
	CU_ASSERT_STRING_EQUAL(output, "");
}

static void test_damaged_files(void)
{
	expect("head -c 1000 $P/rxe-rc-send-2-ipv4.pcap > cut; $V cut", 1,
	       "packet 13, at byte 960: the");
	CU_ASSERT_PTR_NOT_NULL(strstr(output, "12 RDMA, 0 foreign, 0 damaged; ICRC: 12 right"));
	/* A byte of the first packet's payload. */
	expect("cp $P/rxe-rc-send-2-ipv4.pcap bad; chmod u+w bad; "
	       "printf x | dd of=bad bs=1 seek=95 conv=notrunc status=none; $V bad",
	       1, "packet 1: wrong ICRC: 0x");
	CU_ASSERT_PTR_NOT_NULL(strstr(output, "ICRC: 39 right, 1 wrong"));
}

static json_t *inspect_json(const char *arguments)
{
	char command[512];
	json_error_t error;
	json_t *root;

	snprintf(command, sizeof(command), "$V -q -j out.json %s && cat out.json", arguments);
	CU_ASSERT_EQUAL(run(command), 0);
	root = json_loads(output, 0, &error);
	CU_ASSERT_PTR_NOT_NULL_FATAL(root);
	return root;
}

static void test_json(void)
{
	json_t *root = inspect_json("$P/rxe-cm-rping-ipv4.pcap"), *file, *flow;
	int version = 0;
	json_int_t total = 0, qpn = 0, mtu = 0;
	const char *worst = NULL, *paired = NULL;

	CU_ASSERT_EQUAL(json_unpack(root, "{s:i}", "schema_version", &version), 0);
	CU_ASSERT_EQUAL(version, 1);
	file = json_array_get(json_object_get(root, "files"), 0);
	CU_ASSERT_EQUAL(json_unpack(file, "{s:{s:I}, s:{s:s}}", "packets", "total", &total,
				    "verdict", "worst", &worst),
			0);
	CU_ASSERT_EQUAL(total, 53);
	CU_ASSERT_STRING_EQUAL(worst, "note");
	flow = json_array_get(json_object_get(file, "flows"), 2);
	CU_ASSERT_EQUAL(json_unpack(flow, "{s:s, s:I, s:I}", "paired_by", &paired,
				    "destination_qpn", &qpn, "path_mtu", &mtu),
			0);
	CU_ASSERT_STRING_EQUAL(paired, "cm");
	CU_ASSERT_EQUAL(qpn, 0x46);
	CU_ASSERT_EQUAL(mtu, 1024);
	json_decref(root);
	CU_ASSERT_EQUAL(run("ls out.json.partial"), 2);
	expect("$V -j - $P/rxe-rc-send-2-ipv4.pcap", 0, "{\n \"schema_version\": 1,");
}

/* tshark itself, where it is installed; golden/inspect holds all captures to its stored counts. */
static void test_tshark_agrees(void)
{
	json_t *root, *opcodes, *opcode;
	unsigned int counts[256] = {0}, value;
	size_t index;
	char *line;

	if (run("command -v tshark")) {
		printf("(tshark is not installed) ");
		return;
	}
	CU_ASSERT_EQUAL(run("tshark -n -r $P/rxe-exercise-ipv4.pcap -T fields "
			    "-e infiniband.bth.opcode 2> /dev/null"),
			0);
	for (line = strtok(output, "\n"); line; line = strtok(NULL, "\n")) {
		if (sscanf(line, "%u", &value) == 1 && value < 256)
			counts[value]++;
	}
	root = inspect_json("$P/rxe-exercise-ipv4.pcap");
	opcodes = json_object_get(json_array_get(json_object_get(root, "files"), 0), "opcodes");
	CU_ASSERT(json_array_size(opcodes) > 10);
	json_array_foreach(opcodes, index, opcode)
	{
		json_int_t code, packets;

		CU_ASSERT_EQUAL_FATAL(
			json_unpack(opcode, "{s:I, s:I}", "opcode", &code, "packets", &packets), 0);
		CU_ASSERT_EQUAL(counts[code & 255], packets);
		counts[code & 255] = 0;
	}
	for (unsigned int i = 0; i < 256; i++)
		CU_ASSERT_EQUAL(counts[i], 0);
	json_decref(root);
}

static json_t *load(const char *name)
{
	char path[128];
	json_t *root;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	root = json_load_file(path, 0, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(root);
	return root;
}

/* Sums a member of a part of all flows. */
static json_int_t sum_of(const json_t *root, const char *part, const char *member)
{
	json_t *flows = json_object_get(json_array_get(json_object_get(root, "files"), 0), "flows");
	json_int_t sum = 0;
	json_t *flow;
	size_t index;

	json_array_foreach(flows, index, flow)
	{
		sum += json_integer_value(json_object_get(json_object_get(flow, part), member));
	}
	return sum;
}

/* What the lab knows of its own lossy link, inspect finds from the packets in front of it. */
static void test_lab_agrees(void)
{
	json_t *lab, *found, *totals;

	CU_ASSERT_EQUAL_FATAL(run("${V% inspect} lab lossy-link -D 10ms --no-view --fast --seed 3 "
				  "--pcap-at client --pcap lab.pcapng --json lab.json > /dev/null"),
			      0);
	CU_ASSERT_EQUAL_FATAL(run("$V -q -j out.json lab.pcapng"), 0);
	lab = load("lab.json");
	found = load("out.json");
	totals = json_object_get(lab, "totals");
	CU_ASSERT(sum_of(found, "requests", "retransmitted_packets") > 0);
	CU_ASSERT_EQUAL(sum_of(found, "requests", "retransmitted_packets"),
			json_integer_value(json_object_get(totals, "data_frames_retransmitted")));
	CU_ASSERT_EQUAL(sum_of(found, "requests", "packets"),
			json_integer_value(json_object_get(totals, "data_frames_tx")));
	CU_ASSERT_EQUAL(sum_of(found, "requests", "lost_before_capture"), 0);
	CU_ASSERT_EQUAL(sum_of(found, "requests", "gap_psns"), 0);
	CU_ASSERT(sum_of(found, "responses", "naks") > 0);
	CU_ASSERT_EQUAL(sum_of(found, "requests", "lost_behind_capture"),
			sum_of(found, "responses", "naks"));
	json_decref(lab);
	json_decref(found);
}

static const struct test tests[] = {
	{"starts_inside_a_message", test_starts_inside_a_message},
	{"refusals", test_refusals},
	{"reports", test_reports},
	{"damaged_files", test_damaged_files},
	{"json", test_json},
	{"tshark_agrees", test_tshark_agrees},
	{"lab_agrees", test_lab_agrees},
};

int main(int argc, char **argv)
{
	return COMMAND_RUN_SUITE("inspect_command", "inspect", tests, argc, argv);
}
