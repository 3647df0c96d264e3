/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* `verbline gen` as its users call it, with the peer in the same process. */

#include "tests/support/command.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

static json_t *read_json(const char *name)
{
	char path[512];
	json_t *root;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	root = json_load_file(path, 0, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(root);
	return root;
}

static json_int_t whole(const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);

	CU_ASSERT_TRUE_FATAL(json_is_integer(value));
	return json_integer_value(value);
}

/* Everything that is counted agrees: what was completed here, and what came there. */
static void test_counted(void)
{
	json_t *root, *group, *peer;
	char line[100];

	expect("$V --loopback --no-hugepages -q 3 -n 200 -s 5000 --json out.json --hgrm out.hgrm",
	       0, "All checks passed");
	/* The table has the groups' queue pairs alone, so that both sides can be compared. */
	snprintf(line, sizeof(line), "%-28s %16d %16d", "data_bytes_tx", 3000000, 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(output, line));
	root = read_json("out.json");
	group = json_array_get(json_object_get(root, "groups"), 0);
	peer = json_object_get(json_object_get(root, "peer"), "counters");
	CU_ASSERT_EQUAL(whole(group, "message_tx"), 600);
	CU_ASSERT_EQUAL(whole(group, "bytes"), 3000000);
	CU_ASSERT_EQUAL(whole(peer, "data_bytes_rx"), 3000000);
	CU_ASSERT_EQUAL(whole(json_object_get(group, "completion_time"), "count"), 600);
	CU_ASSERT_EQUAL(json_array_size(json_object_get(root, "qps")), 3);
	for (size_t i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(whole(json_array_get(json_object_get(root, "qps"), i),
				      "messages_completed"),
				200);
	CU_ASSERT_PTR_NOT_NULL(json_object_get(json_object_get(root, "host"), "dpdk"));
	/* Those of the control connection besides. */
	CU_ASSERT_TRUE(whole(json_object_get(json_array_get(json_object_get(root, "ports"), 0),
					     "counters"),
			     "data_bytes_tx") > 3000000);
	json_decref(root);
	expect("grep -c 1.000000000000 out.hgrm", 0, "1");
}

/* CNPs excuse a rate that is not held, and the report says that it was not. */
static void test_excused_rate(void)
{
	json_t *root, *check;

	expect("printf 'events:\n- {name: slow, on: transmitted, opcode: data, every: 2, "
	       "action: cnp}\n' > e.yaml; "
	       "$V --loopback --no-hugepages --events e.yaml --rate 2Gb/s --cc dcqcn -D 1s --json "
	       "excused.json",
	       0, "the rate was not held, excused as congestion control obeyed");
	root = read_json("excused.json");
	check = json_array_get(json_object_get(root, "checks"), 1);
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(check, "name")), "rate");
	CU_ASSERT_TRUE(json_is_true(json_object_get(check, "excused")));
	json_decref(root);
}

/* Nobody answers UC: the table says whose times these are. */
static void test_unanswered(void)
{
	expect("$V --loopback --no-hugepages --transport UC --verb write -n 100", 0,
	       "nothing answers UC, so a message completes when it has left");
}

/* Every transport and verb, in groups of a file. */
static void test_file(void)
{
	json_t *root;

	expect("printf 'groups:\\n"
	       "- {name: rc, qps: 5, messages: 100, mix: \"write:9000, read:100..20000, send:64, "
	       "fetch_add:\"}\\n"
	       "- {name: uc, transport: UC, messages: 100, verb: write_imm, size: 4KiB}\\n"
	       "- {name: ud, transport: UD, messages: 100, verb: send, qps: 2}\\n' > g.yaml; "
	       "$V g.yaml --loopback --no-hugepages --json file.json --per-qp",
	       0, "All checks passed");
	root = read_json("file.json");
	CU_ASSERT_EQUAL(whole(json_array_get(json_object_get(root, "groups"), 0), "message_tx"),
			500);
	CU_ASSERT_EQUAL(whole(json_array_get(json_object_get(root, "groups"), 1), "message_tx"),
			100);
	CU_ASSERT_EQUAL(whole(json_array_get(json_object_get(root, "groups"), 2), "message_tx"),
			200);
	json_decref(root);
}

/* A rate, in two workers' halves where there are as many CPUs; a shared machine may miss it, which
 * is told. */
static void test_rate(void)
{
	json_t *root, *rate;
	double sent;

	expect("$V --loopback --no-hugepages -q 10 --rate 100Mb/s --per group -s 1000 -D 1 "
	       "--no-checks --json rate.json --pacing-hgrm pacing.hgrm",
	       0, "pacing error");
	root = read_json("rate.json");
	rate = json_object_get(json_array_get(json_object_get(root, "groups"), 0), "rate");
	CU_ASSERT_DOUBLE_EQUAL(json_real_value(json_object_get(rate, "asked_per_s")), 1e8, 1);
	sent = json_real_value(json_object_get(rate, "sent_per_s"));
	CU_ASSERT_TRUE(sent > 0.3e8 && sent < 1.02e8);
	json_decref(root);
}

/* Few messages: how much of what is off is only where the window ends. */
static void test_slow_rate(void)
{
	json_t *root, *rate;

	expect("$V --loopback --no-hugepages --rate 1Mb/s -s 10KiB -D 1s --no-checks --json "
	       "slow.json",
	       0, "begins and ends between messages");
	root = read_json("slow.json");
	rate = json_object_get(json_array_get(json_object_get(root, "groups"), 0), "rate");
	CU_ASSERT_TRUE(json_real_value(json_object_get(rate, "granularity_per_s")) > 8e4);
	CU_ASSERT_TRUE(json_real_value(json_object_get(rate, "granularity_per_s")) < 2e5);
	json_decref(root);
}

/* Each queue pair's time counts from its own start, which a stagger puts off. */
static void test_stagger(void)
{
	json_t *root, *qps;

	expect("$V --loopback --no-hugepages -q 2 -n 50 -s 1000 --stagger 2s --json "
	       "stagger.json "
	       "--per-qp",
	       0, "All checks passed");
	root = read_json("stagger.json");
	qps = json_object_get(root, "qps");
	CU_ASSERT_EQUAL(json_array_size(qps), 2);
	for (size_t i = 0; i < 2; i++) {
		uint64_t time = whole(json_array_get(qps, i), "flow_completion_time_ns");
		double goodput =
			json_real_value(json_object_get(json_array_get(qps, i), "goodput_bps"));

		CU_ASSERT_TRUE(time > 0 && time < UINT64_C(2000000000));
		CU_ASSERT_DOUBLE_EQUAL(goodput, 8e9 * 50000 / (double)time, 1);
	}
	json_decref(root);
}

/* With a ramp and late starts the mean of the window is what the schedules ask for: of four queue
 * pairs in a second, from 0 to 1 in half of one, 0.1 s after each other, (0.75 + 0.65 + 0.55 +
 * 0.45) times the rate. */
static void test_ramp(void)
{
	json_t *root, *rate;
	double expected, sent;

	expect("$V --loopback --no-hugepages -q 4 --rate 10Mb/s -s 500 -D 1 --ramp 500ms --stagger "
	       "100ms --no-checks --json ramp.json",
	       0, "pacing error");
	root = read_json("ramp.json");
	rate = json_object_get(json_array_get(json_object_get(root, "groups"), 0), "rate");
	expected = json_real_value(json_object_get(rate, "expected_per_s"));
	sent = json_real_value(json_object_get(rate, "sent_per_s"));
	/* The window ends with the last reading before the end. */
	CU_ASSERT_TRUE(expected > 0.7 * 24e6 && expected < 1.001 * 24e6);
	CU_ASSERT_TRUE(sent > 0.3 * expected && sent < 1.03 * expected);
	CU_ASSERT_DOUBLE_EQUAL(json_real_value(json_object_get(rate, "asked_per_s")), 4e7, 1);
	json_decref(root);
}

/* Streams beside a group, their neighbour found by ARP; and alone, to a MAC that is given. */
static void test_streams(void)
{
	json_t *root, *streams;

	expect("printf 'groups: [{messages: 50}]\n"
	       "streams: [{name: udp, frames: 1000, size: imix, flows: 4, source_ports: 4}]\n' > "
	       "s.yaml; $V s.yaml --loopback --no-hugepages --json streams.json",
	       0, "All checks passed");
	root = read_json("streams.json");
	streams = json_object_get(root, "streams");
	CU_ASSERT_EQUAL(whole(json_array_get(streams, 0), "frames_tx"), 1000);
	json_decref(root);
	expect("printf 'streams:\n"
	       "- {to: 10.0.0.2, mac: \"02:00:00:00:00:02\", frames: 500, kind: tcp}\n"
	       "- {to: 10.0.0.2, mac: \"02:00:00:00:00:02\", frames: 320, kind: roce, verb: write, "
	       "size: 64KiB, remote_qpn: 20, rkey: 1}\n' > alone.yaml; "
	       "$V alone.yaml --port null --ip 10.0.0.1/24 --no-hugepages --json alone.json",
	       0, "All checks passed");
	root = read_json("alone.json");
	streams = json_object_get(root, "streams");
	CU_ASSERT_EQUAL(whole(json_array_get(streams, 0), "frames_tx"), 500);
	CU_ASSERT_EQUAL(whole(json_array_get(streams, 1), "frames_tx"), 320);
	CU_ASSERT_EQUAL(whole(json_array_get(streams, 1), "message_tx"), 20);
	json_decref(root);
	expect("printf 'streams: [{to: 10.0.0.77, frames: 1}]\n' > nobody.yaml; "
	       "$V nobody.yaml --port null --ip 10.0.0.1/24 --no-hugepages",
	       1, "no neighbour leads to its destination");
}

/* Nobody leads there; and one that does, but is not there. */
static void test_unreachable(void)
{
	expect("$V --port null --ip 10.0.0.1/24 --to 10.9.0.2 -n 1 --no-hugepages", 1,
	       "the peer 10.9.0.2 is in no subnet of ours: --ip ADDRESS/PREFIX says which these "
	       "are, "
	       "--gateway who leads to others");
	expect("$V -R --verb send --port null --ip 10.0.0.1/24 --to 10.9.0.2 -n 1 --no-hugepages",
	       1, "the peer 10.9.0.2 is in no subnet of ours");
	expect("$V --port null --ip 10.0.0.1/24 --gateway 10.0.0.9 --to 10.9.0.2 -n 1 "
	       "--no-hugepages",
	       1, "the peer 10.9.0.2 does not answer: No route to host; is it up");
}

/* Where stdout is no terminal: plain lines, which columns they have, and no escape sequence. On a
 * terminal: the picture, and the cursor back at the end. */
static void test_live(void)
{
	expect("$V --loopback --no-hugepages -D 1500ms --rate 1Mb/s --no-checks > plain.txt; "
	       "grep -c '^ *1 ' plain.txt; grep -c \"$(printf '\\033')\" plain.txt",
	       1, "1\n0");
	expect("TERM=xterm script -qec \"$V --loopback --no-hugepages -D 500ms --no-checks\" "
	       "typescript > screen.txt; grep -c 'QPs active' screen.txt; "
	       "grep -c '\\[?25h' screen.txt",
	       0, "");
}

/* Messages with immediate data carry the time of posting; here both ends have one clock. */
static void test_one_way(void)
{
	json_t *root, *one_way, *time;

	expect("$V --loopback --no-hugepages -q 2 -n 300 -s 2000 -t 1 --verb write_imm --json "
	       "one.json",
	       0, "of one process; no error of the clock");
	root = read_json("one.json");
	one_way = json_object_get(json_array_get(json_object_get(root, "groups"), 0),
				  "one_way_latency");
	time = json_object_get(json_array_get(json_object_get(root, "groups"), 0),
			       "completion_time");
	CU_ASSERT_EQUAL(whole(one_way, "count"), 600);
	CU_ASSERT_EQUAL(whole(one_way, "clock_error_ns"), 0);
	CU_ASSERT_EQUAL(whole(one_way, "arrived_before_sent"), 0);
	/* It is a part of what a completion takes. */
	CU_ASSERT_TRUE(whole(one_way, "p50_ns") > 0 &&
		       whole(one_way, "p50_ns") <= whole(time, "p50_ns"));
	json_decref(root);
}

/* Open-loop RoCE whose partners the peer makes: everything arrives there in order, whatever the
 * service, alone and beside a group. */
static void test_roce_streams(void)
{
	json_t *root, *counters;

	expect("printf 'streams:\n"
	       "- {name: rc, kind: roce, verb: write, size: 20000, flows: 3, frames: 300}\n"
	       "- {name: uc, kind: roce, verb: send, transport: UC, size: 3000, frames: 100, "
	       "rate: 1000/s, burst: 4}\n"
	       "- {name: ud, kind: roce, verb: send, transport: UD, size: 1000, frames: 100}\n' > "
	       "r.yaml; $V r.yaml --loopback --no-hugepages --no-checks --json roce.json",
	       0, "uc");
	root = read_json("roce.json");
	counters = json_object_get(json_object_get(root, "peer"), "counters");
	CU_ASSERT_EQUAL(whole(counters, "data_frames_rx"), 500);
	CU_ASSERT_EQUAL(whole(counters, "frame_sequence_error"), 0);
	CU_ASSERT_TRUE(whole(json_array_get(json_object_get(root, "streams"), 0), "ack_rx") > 0);
	CU_ASSERT_EQUAL(whole(json_array_get(json_object_get(root, "streams"), 0), "nak_rx"), 0);
	json_decref(root);
	expect("printf 'peer: cm\nstreams: [{kind: roce, to: 10.0.0.9, frames: 1}]' > p.yaml; "
	       "$V p.yaml --port null --ip 10.0.0.1/24",
	       2, "a peer that makes its partners");
}

static void test_perftest(void)
{
	expect("$V --loopback --no-hugepages -n 100 -s 4096 --perftest > table; cat table", 0,
	       "BW average[Gb/sec]");
	expect_line("grep -cE '^ 4096 +100 +[0-9.]+ +[0-9.]+[[:space:]]+[0-9.]+$' table", 0, "1");
	expect("$V --loopback --no-hugepages -n 100 -s 8 -t 1 --perftest --latency", 0,
	       "t_typical[usec]");
}

/* What the process may have of files is found too little before libraries do, which abort. */
static void test_limits(void)
{
	expect("ulimit -n 12; $V --loopback --no-hugepages -n 1", 1,
	       "open files are needed, and this process may have 12: raise the limit");
	expect("ulimit -S -n 12; $V --loopback --no-hugepages -n 1", 0, "All checks passed");
	/* A worker that is not alone on its CPU may send less than a second's capture. */
	expect("ulimit -f 8; $V --loopback --no-hugepages -n 1000 -s 4096 --pcap big.pcap", 1,
	       "big.pcap: cannot write: File too large; what was written is in");
	expect("ulimit -f 0; $V --loopback --no-hugepages -n 1 --json big.json", 1,
	       "big.json: cannot be written: File too large");
}

static void test_usage(void)
{
	expect("$V --show > shown.yaml; $V shown.yaml --port nosuch:1 --ip 10.0.0.1/24", 2,
	       "nosuch");
	expect("$V --keys", 0, "ramp_from");
	expect("taskset -c 0 $V --loopback --no-hugepages --workers 2 -D 1", 2,
	       "needs 2 CPUs for workers, and this process may use 1");
	expect("$V --loopback -q 0", 2, "--qps 0: groups[0].qps");
	expect("$V --loopback --set groups[0].qps=0", 2, "--set groups[0].qps=0: groups[0].qps");
	expect("$V", 2, "verbline gen: the peer is missing");
	expect("$V --loopback --port null", 2, "--loopback has ports");
	expect("echo 'groups: [{qps: 2}]' > two.yaml; $V two.yaml --loopback -q 3", 2,
	       "--set groups[0].qps=3");
	expect("$V --loopback --set groups[0].port=4 -D 1 --no-hugepages", 2, "leaves by port 4");
	expect("$V nofile.yaml --loopback", 2, "nofile.yaml");
	expect("$V --loopback --json one --hgrm ./one", 2, "to be written twice");
}

static const struct test tests[] = {
	{"counted", test_counted},
	{"excused_rate", test_excused_rate},
	{"unanswered", test_unanswered},
	{"file", test_file},
	{"rate", test_rate},
	{"slow_rate", test_slow_rate},
	{"streams", test_streams},
	{"ramp", test_ramp},
	{"stagger", test_stagger},
	{"unreachable", test_unreachable},
	{"live", test_live},
	{"one_way", test_one_way},
	{"roce_streams", test_roce_streams},
	{"perftest", test_perftest},
	{"limits", test_limits},
	{"usage", test_usage},
};

int main(int argc, char **argv)
{
	return COMMAND_RUN_SUITE("gen_command", "gen", tests, argc, argv);
}
