/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * What the lab captures, as Wireshark's dissectors see it: no packet of any kind is malformed.
 * What they do not know: opcode 129, the CNP of RoCEv2, and 128, the CN packet of InfiniBand, are
 * shown by number, and what follows their BTH as payload. rpcordma is a guess at the payload of
 * SENDs, which here is none of RPC's.
 */

#include "tests/support/command.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Every opcode of RC (0 to 20) and UD, most of UC; congestion, and losses, so that there are
 * pauses, marks, notifications and NAKs. */
#define SCENARIO                                                                                   \
	"cat >every-kind.yaml <<'END'\n"                                                           \
	"name: every-kind\n"                                                                       \
	"seed: 1\n"                                                                                \
	"duration: 300us\n"                                                                        \
	"warm_up: 0\n"                                                                             \
	"path_mtu: 1024\n"                                                                         \
	"endpoints:\n"                                                                             \
	"  - {name: client, count: 5}\n"                                                           \
	"  - {name: server}\n"                                                                     \
	"switches:\n"                                                                              \
	"  - {name: switch, ecn: {kmin: 5KB, kmax: 60KB}, pfc: {xoff: 40KB}}\n"                    \
	"links:\n"                                                                                 \
	"  - {from: client, to: switch, rate: 100Gb/s}\n"                                          \
	"  - {from: server, to: switch, rate: 100Gb/s, loss: 0.1%}\n"                              \
	"infiniband: {buffer: 16KiB, congestion_control: {marking_rate: 0, threshold: 15}}\n"      \
	"flows:\n"                                                                                 \
	"  - {from: client1, to: server, verb: send, size: 5000B}\n"                               \
	"  - {from: client1, to: server, verb: send, size: 100B}\n"                                \
	"  - {from: client1, to: server, verb: send_imm, size: 5001B}\n"                           \
	"  - {from: client1, to: server, verb: send_imm, size: 101B}\n"                            \
	"  - {from: client2, to: server, verb: write, size: 64KiB}\n"                              \
	"  - {from: client2, to: server, verb: write, size: 102B}\n"                               \
	"  - {from: client2, to: server, verb: write_imm, size: 64KiB}\n"                          \
	"  - {from: client2, to: server, verb: write_imm, size: 103B}\n"                           \
	"  - {from: client3, to: server, verb: read, size: 9000B}\n"                               \
	"  - {from: client3, to: server, verb: read, size: 104B}\n"                                \
	"  - {from: client3, to: server, verb: compare_swap}\n"                                    \
	"  - {from: client3, to: server, verb: fetch_add}\n"                                       \
	"  - {from: client4, to: server, transport: UC, verb: write, size: 3000B}\n"               \
	"  - {from: client4, to: server, transport: UC, verb: send_imm, size: 3001B}\n"            \
	"  - {from: client5, to: server, transport: UD, verb: send, size: 900B}\n"                 \
	"  - {from: client5, to: server, transport: UD, verb: send_imm, size: 901B}\n"             \
	"END\n"
#define RC "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 "
#define UC "32 33 35 38 39 40 "
#define UD "100 101 "

#define TSHARK "tshark -n --disable-protocol rpcordma -r "

static bool have_tshark(void)
{
	if (!run("command -v tshark"))
		return true;
	skip_test("tshark is not installed");
	return false;
}

/* Runs the scenario over a fabric; a capture at a port must be read without complaint. */
static void capture(const char *fabric, const char *at, const char *file)
{
	char command[512];

	snprintf(command, sizeof(command),
		 "$V every-kind.yaml --no-view --set fabric=%s --pcap %s --pcap-at %s", fabric,
		 file, at);
	expect(command, 0, "");
	snprintf(command, sizeof(command), TSHARK "%s -Y '_ws.malformed || _ws.short' 2>/dev/null",
		 file);
	CU_ASSERT_EQUAL(run(command), 0);
	CU_ASSERT_STRING_EQUAL(output, "");
}

static void expect_of(const char *command, const char *wanted)
{
	CU_ASSERT_EQUAL(run(command), 0);
	CU_ASSERT_STRING_EQUAL(output, wanted);
	if (strcmp(output, wanted))
		printf("\n    %s:\n    got %s\n    want %s", command, output, wanted);
}

/* The opcodes that a capture has. */
#define OPCODES(file)                                                                              \
	TSHARK file " -Y infiniband.bth -T fields -e infiniband.bth.opcode 2>/dev/null | "         \
		    "sort -nu | tr '\\n' ' '"

static void test_roce(void)
{
	if (!have_tshark())
		return;
	CU_ASSERT_EQUAL(run(SCENARIO "true"), 0);
	capture("pfc_dcqcn", "server", "roce.pcap");
	expect_of(OPCODES("roce.pcap"), RC UC UD "129 ");
	capture("pfc_dcqcn", "server", "roce.pcapng");
	expect_of(OPCODES("roce.pcapng"), RC UC UD "129 ");
	/* The switch pauses client2, and lets it go on: priority 3, all quanta or none. */
	capture("pfc_dcqcn", "switch:client2", "pauses.pcapng");
	expect_of(TSHARK "pauses.pcapng -Y macc -T fields -e macc.opcode -e macc.cbfc.enbv "
			 "-e macc.cbfc.pause_time.c3 2>/dev/null | sort -u",
		  "0x0101\t0x0008\t0\n0x0101\t0x0008\t65535\n");
	/* Marked packets are the ones that CNPs answer. */
	expect_of(TSHARK "roce.pcap -Y 'ip.dsfield.ecn == 3 && infiniband.bth.opcode < 129' "
			 "2>/dev/null | head -1 | wc -l",
		  "1\n");
	expect_of(TSHARK "roce.pcap -Y 'infiniband.aeth.syndrome.opcode == 3' 2>/dev/null | "
			 "head -1 | wc -l",
		  "1\n");
}

static void test_infiniband(void)
{
	if (!have_tshark())
		return;
	CU_ASSERT_EQUAL(run(SCENARIO "true"), 0);
	capture("infiniband_congestion_control", "server", "ib.pcap");
	expect_of(OPCODES("ib.pcap"), RC UC UD "128 ");
	capture("infiniband_congestion_control", "server", "ib.pcapng");
	expect_of(OPCODES("ib.pcapng"), RC UC UD "128 ");
	capture("infiniband_congestion_control", "switch:client2", "flow-control.pcapng");
	/* Normal and initial flow-control packets. */
	expect_of(TSHARK "flow-control.pcapng -Y infiniband_link -T fields -e infiniband_link.op "
			 "2>/dev/null | sort -u",
		  "0\n1\n");
}

static const struct test tests[] = {
	{"roce", test_roce},
	{"infiniband", test_infiniband},
};

int main(int argc, char **argv)
{
	return COMMAND_RUN_SUITE("tshark_command", "lab", tests, argc, argv);
}
