/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* verbline verdict on captures of Linux soft-RoCE, and verbline faults. */

#include "tests/support/command.h"

static void test_loss(void)
{
	expect("$V verdict $P/rxe-loss-rc-send-ipv4.pcap --peer 10.77.0.2", 0,
	       "PASS      does it send again what a sequence NAK asks for? 1 times");
	expect("$V verdict $P/rxe-loss-rc-send-ipv4.pcap --peer 10.77.0.2", 0,
	       "NAK in packet 97 asks for PSN 0273f3; it comes in packet 98");
	expect("$V verdict $P/rxe-loss-rc-send-ipv4.pcap --peer 10.77.0.2", 0,
	       "PASS      does it then send again all that followed? 1 times");
	expect("$V verdict $P/rxe-loss-rc-acks-ipv4.pcap --peer 10.77.0.2", 0,
	       "PSN 5ef77a comes again in packet 41 after 67.69 ms of silence");
	expect("$V verdict $P/rxe-loss-rc-acks-ipv4.pcap --peer 10.77.0.3", 0,
	       "PASS      does it answer requests that come again? 1 times");
}

static void test_rnr(void)
{
	expect("$V verdict $P/rxe-rnr-rc-send-ipv4.pcap --peer 10.77.0.2", 0,
	       "PASS      does it wait as long as RNR NAKs say? 9 times");
}

/* Linux does nothing wrong. */
static void test_all(void)
{
	expect("for f in $P/rxe-loss*.pcap $P/rxe-rnr*.pcap $P/rxe-exercise*.pcap; do "
	       "for p in 10.77.0.2 10.77.0.3; do "
	       "$V verdict $f --peer $p >out || grep -q 'no frame of the peer' out || { echo $f "
	       "$p; grep -A1 'FAIL  ' out; }; done; "
	       "done; "
	       "echo done",
	       0, "done");
	CU_ASSERT_STRING_EQUAL(output, "done\n");
}

static void test_expectations(void)
{
	expect("$V verdict $P/rxe-loss-rc-send-ipv4.pcap --peer 10.77.0.2 --expect-data-dscp 26", 1,
	       "has DSCP 0, not 26");
	expect("$V verdict $P/rxe-loss-rc-send-ipv4.pcap --peer 10.77.0.2 --expect-data-dscp 0", 0,
	       "PASS      is its data in its class?");
	expect("$V verdict $P/rxe-loss-rc-send-ipv4.pcap --peer 10.77.0.2 --expect-ecn", 1,
	       "is not ECN-capable");
	expect("$V verdict $P/rxe-loss-rc-send-ipv4.pcap --peer 10.77.0.2 --json - | "
	       "/usr/bin/python3 -c 'import json, sys; "
	       "d = {v[\"name\"]: v for v in json.load(sys.stdin)[\"verdicts\"]}; "
	       "print(d[\"goes_back_n\"][\"verdict\"], d[\"sends_cnp\"][\"verdict\"], "
	       "d[\"retransmits_after_nak\"][\"measured\"][\"most\"])'",
	       0, "pass not_seen 540000");
}

/* Nothing to judge is no pass. */
static void test_nothing_to_judge(void)
{
	expect("printf "
	       "'\\324\\303\\262\\241\\002\\000\\004\\000\\000\\000\\000\\000\\000\\000\\000\\000"
	       "\\377\\377\\000\\000\\001\\000\\000\\000' > empty.pcap; "
	       "$V verdict empty.pcap --peer 10.0.0.1 2>&1",
	       1, "nothing to judge");
	expect("$V verdict $P/rxe-loss-rc-send-ipv4.pcap --peer 10.77.0.9 2>&1", 1,
	       "nothing to judge");
}

static void test_wrong_usage(void)
{
	expect_line("$V verdict $P/rxe-loss-rc-send-ipv4.pcap", 2, "--peer: give the address");
	expect_line("$V verdict $P/rxe-loss-rc-send-ipv4.pcap --peer 10.0.0", 2,
		    "--peer: give the address");
	expect_line("$V verdict /nonexistent.pcap --peer 10.0.0.1", 2, "No such file");
	expect_line("$V verdict $P/rxe-loss-rc-send-ipv4.pcap --peer 10.77.0.9", 1,
		    "no RDMA packet from or to 10.77.0.9");
}

static void test_faults(void)
{
	expect("$V faults", 0, "rnr-storm\n");
	expect("$V faults --keys", 0, "probability:");
	expect("$V faults --actions", 0, "stop_answering\n");
	expect("$V faults --opcodes", 0, "rc_send_first\n");
	expect("$V faults ce-burst >mine.yaml && $V faults --check mine.yaml", 0,
	       "mine.yaml: 1 event\n");
	expect_line("$V faults rnr-stom", 2, "did you mean rnr-storm?");
	expect_line(
		"printf 'events:\\n  - {action: delay}\\n' >bad.yaml; $V faults --check bad.yaml",
		2, "bad.yaml:2:5: events[0]: action delay needs 'delay'");
	expect("for l in $($V faults | grep '^[a-z]'); do $V faults $l >l.yaml && "
	       "$V faults --check l.yaml || echo wrong; done | grep -c event",
	       0, "");
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"loss", test_loss},
		{"rnr", test_rnr},
		{"all", test_all},
		{"expectations", test_expectations},
		{"wrong_usage", test_wrong_usage},
		{"nothing_to_judge", test_nothing_to_judge},
		{"faults", test_faults},
	};

	return COMMAND_RUN_SUITE("verdict_command", NULL, tests, argc, argv);
}
