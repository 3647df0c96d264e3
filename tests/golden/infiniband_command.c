/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Captures of InfiniBand, as `verbline inspect` and tshark read them. */

#include "dataplane/capture/writer.h"
#include "tests/support/command.h"
#include "transport/wire/icrc.h"
#include "transport/wire/parse.h"
#include "transport/wire/vcrc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A WRITE, the standard's example. */
static const uint8_t local_write[] = {
	0x70, 0x12, 0x37, 0x5c, 0x00, 0x0e, 0x17, 0xd2, 0x0a, 0x20, 0x24, 0x87, 0x00, 0x87, 0xb1,
	0xb3, 0x00, 0x0d, 0xec, 0x2a, 0x01, 0x71, 0x0a, 0x1c, 0x01, 0x5d, 0x40, 0x02, 0x38, 0xf2,
	0x7a, 0x05, 0x00, 0x00, 0x00, 0x0e, 0xbb, 0x88, 0x4d, 0x85, 0xfd, 0x5c, 0xfb, 0xa4, 0x72,
	0x8b, 0xc0, 0x69, 0x0e, 0xd4, 0x00, 0x00, 0x96, 0x25, 0xb7, 0x5a, 0x45, 0xfa};
#define LRH  8u
#define GRH  40u
#define ICRC 4u
#define VCRC 2u
/* The same with a GRH. */
static uint8_t global_write[sizeof(local_write) + GRH];

static void make_global_write(void)
{
	const uint32_t length = sizeof(global_write), after = sizeof(local_write) - LRH;
	uint8_t *grh = global_write + LRH;
	struct vl_packet packet;
	uint32_t icrc;
	uint16_t vcrc;

	memcpy(global_write, local_write, LRH);
	memcpy(grh + GRH, local_write + LRH, after);
	global_write[1] |= 1; /* a GRH comes next */
	global_write[5] = (uint8_t)((length - VCRC) / 4);
	grh[0] = 0x60;
	grh[5] = (uint8_t)(after - VCRC);
	grh[6] = 0x1b; /* then a BTH */
	grh[7] = 64;
	memset(grh + 8, 0xfe, GRH - 8);
	grh[GRH - 1] = 1;
	CU_ASSERT_EQUAL_FATAL(vl_parse(&packet, VL_LINK_INFINIBAND, global_write, length, length),
			      VL_PARSE_ok);
	icrc = vl_icrc_compute(&packet);
	memcpy(global_write + length - ICRC - VCRC, &icrc, ICRC);
	vcrc = vl_vcrc(global_write, length - VCRC);
	memcpy(global_write + length - VCRC, &vcrc, VCRC);
}

#define FLOW_CONTROL_PACKETS 64u

/* Every operation and lane, and every value of the bits that Wireshark takes for the kind of the
 * next header. */
static void make_flow_control(unsigned int number, uint8_t bytes[VL_CAPTURE_LINK_PACKET])
{
	uint16_t crc;

	bytes[0] = (uint8_t)((number & 1) << 4 | (number * 7 & 15));
	bytes[1] = (uint8_t)(number * 5);
	bytes[2] = (uint8_t)(number % 15 << 4 | (number & 15));
	bytes[3] = (uint8_t)(number * 3);
	crc = vl_vcrc(bytes, 4);
	bytes[4] = (uint8_t)crc;
	bytes[5] = (uint8_t)(crc >> 8);
}

static void put(struct vl_capture_writer *writer, const uint8_t *frame, uint32_t length)
{
	static uint64_t time = UINT64_C(1700000000000000000);
	const struct vl_capture_record record = {
		.time = time++,
		.frame = frame,
		.length = length,
		.flow = length & 1 ? VL_CAPTURE_INBOUND : VL_CAPTURE_OUTBOUND,
	};

	CU_ASSERT_EQUAL(vl_capture_writer_write(writer, &record), 0);
}

/* Two packets of data, then flow control. */
static void write_capture(const char *name)
{
	char path[256], message[VL_CAPTURE_MESSAGE_SIZE];
	uint8_t flow_control[VL_CAPTURE_LINK_PACKET];
	struct vl_capture_writer *writer;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	writer = vl_capture_writer_open(path, vl_capture_format_of_path(path), message);
	CU_ASSERT_PTR_NOT_NULL_FATAL(writer);
	CU_ASSERT_EQUAL(vl_capture_writer_add_interface(writer, VL_LINK_INFINIBAND, "hca1", NULL),
			0);
	make_global_write();
	put(writer, local_write, sizeof(local_write));
	put(writer, global_write, sizeof(global_write));
	for (unsigned int i = 0; i < FLOW_CONTROL_PACKETS; i++) {
		make_flow_control(i, flow_control);
		put(writer, flow_control, sizeof(flow_control));
	}
	CU_ASSERT_EQUAL(vl_capture_writer_close(writer, message), 0);
}

static bool have_tshark(void)
{
	if (!run("command -v tshark"))
		return true;
	skip_test("tshark is not installed");
	return false;
}

static void check_with_tshark(const char *name)
{
	char command[512], wanted[128];
	uint8_t bytes[VL_CAPTURE_LINK_PACKET];
	const uint8_t *crcs;
	const char *line;

	snprintf(command, sizeof(command), "tshark -n -r %s -Y _ws.malformed 2> /dev/null", name);
	CU_ASSERT_EQUAL(run(command), 0);
	CU_ASSERT_STRING_EQUAL(output, "");
	snprintf(command, sizeof(command),
		 "tshark -n -r %s -T fields -e infiniband.lrh.slid -e infiniband.lrh.dlid "
		 "-e infiniband.bth.opcode -e infiniband.bth.destqp -e infiniband.invariant.crc "
		 "-e infiniband.variant.crc -c 2 2> /dev/null",
		 name);
	CU_ASSERT_EQUAL(run(command), 0);
	crcs = global_write + sizeof(global_write) - ICRC - VCRC;
	snprintf(wanted, sizeof(wanted),
		 "6098\t14172\t10\t0x87b1b3\t0x9625b75a\t0x45fa\n"
		 "6098\t14172\t10\t0x87b1b3\t0x%02x%02x%02x%02x\t0x%02x%02x\n",
		 crcs[0], crcs[1], crcs[2], crcs[3], crcs[4], crcs[5]);
	CU_ASSERT_STRING_EQUAL(output, wanted);
	snprintf(command, sizeof(command),
		 "tshark -n -r %s -Y infiniband_link -T fields -e infiniband_link.op "
		 "-e infiniband_link.fctbs -e infiniband_link.vl -e infiniband_link.fccl "
		 "-e infiniband_link.lpcrc 2> /dev/null",
		 name);
	CU_ASSERT_EQUAL(run(command), 0);
	line = output;
	for (unsigned int i = 0; i < FLOW_CONTROL_PACKETS; i++) {
		make_flow_control(i, bytes);
		snprintf(wanted, sizeof(wanted), "%u\t%u\t%u\t%u\t0x%02x%02x\n", bytes[0] >> 4,
			 (bytes[0] & 15u) << 8 | bytes[1], bytes[2] >> 4,
			 (bytes[2] & 15u) << 8 | bytes[3], bytes[4], bytes[5]);
		CU_ASSERT_EQUAL_FATAL(strncmp(line, wanted, strlen(wanted)), 0);
		line += strlen(wanted);
	}
	CU_ASSERT_STRING_EQUAL(line, "");
}

static void test_tshark_reads_what_is_written(void)
{
	if (!have_tshark())
		return;
	write_capture("ib.pcap");
	check_with_tshark("ib.pcap");
	write_capture("ib.pcapng");
	check_with_tshark("ib.pcapng");
	CU_ASSERT_EQUAL(run("tshark -n -r ib.pcapng -T fields -e erf.flags.cap -c 3 2> /dev/null"),
			0);
	CU_ASSERT_STRING_EQUAL(output, "1\n1\n1\n");
}

static void test_inspect_reads_what_is_written(void)
{
	write_capture("ib.pcap");
	expect("$V ib.pcap", 0, "66 packets");
	CU_ASSERT_PTR_NOT_NULL(strstr(output, "ICRC: 2 right"));
	CU_ASSERT_PTR_NOT_NULL(strstr(output, "VCRC: 2 right, 0 wrong"));
	CU_ASSERT_PTR_NOT_NULL(strstr(
		output, "64 of the foreign are flow control; their LPCRC: 64 right, 0 wrong"));
	write_capture("ib.pcapng");
	expect("$V ib.pcapng", 0, "66 packets");
	CU_ASSERT_PTR_NOT_NULL(strstr(output, "Flow control of the link"));
}

/* What the lab captures where it emulates InfiniBand, both programs read. */
static void test_the_lab_writes_what_both_read(void)
{
	static const char *const names[] = {"lab.pcap", "lab.pcapng"};
	char command[512];

	for (unsigned int i = 0; i < 2; i++) {
		snprintf(command, sizeof(command),
			 "${V%% inspect} lab incast-dcqcn --no-view -D 2ms --set warm_up=1ms "
			 "--set flows[0].stagger=0s --set fabric=infiniband --pcap %s > /dev/null "
			 "&& $V %s",
			 names[i], names[i]);
		expect(command, 0, "0 damaged; ICRC: ");
		CU_ASSERT_PTR_NOT_NULL(strstr(output, "Flow control of the link"));
		CU_ASSERT_PTR_NOT_NULL(strstr(output, "port B"));
		if (run("command -v tshark"))
			continue;
		snprintf(command, sizeof(command),
			 "tshark -n -r %s -Y _ws.malformed 2> /dev/null; "
			 "tshark -n -r %s -Y infiniband_link.op==0 2> /dev/null | head -1 | wc -l; "
			 "tshark -n -r %s -Y infiniband.bth 2> /dev/null | head -1 | wc -l",
			 names[i], names[i], names[i]);
		CU_ASSERT_EQUAL(run(command), 0);
		CU_ASSERT_STRING_EQUAL(output, "1\n1\n");
	}
}

/* Which switches up-down takes for the top may be said. */
static void test_roots(void)
{
#define LOOP                                                                                       \
	"${V% inspect} lab infiniband-credit-loop --no-view -D 1ms --set warm_up=100us --set "     \
	"infiniband.routing=up_down --set infiniband.roots="
	expect(LOOP "switch3", 0, "Nothing was lost");
	expect_line(LOOP "host1", 2, "infiniband.roots");
	expect_line(LOOP "switch9", 2, "infiniband.roots");
	expect_line("${V% inspect} lab infiniband-credit-loop --set infiniband.roots=switch1", 2,
		    "are for routing up_down only");
#undef LOOP
}

static void put32(FILE *file, uint32_t value)
{
	fwrite(&value, sizeof(value), 1, file);
}

static void put_native(FILE *file, const uint8_t *frame, uint32_t length)
{
	put32(file, 1);
	put32(file, 0);
	put32(file, length);
	put32(file, length);
	fwrite(frame, length, 1, file);
}

/* LINKTYPE_INFINIBAND, as other programs write it. */
static void test_inspect_reads_native_captures(void)
{
	uint8_t flow_control[VL_CAPTURE_LINK_PACKET], damaged[sizeof(local_write)];
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/native.pcap", directory);
	file = fopen(path, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	put32(file, 0xa1b2c3d4);
	put32(file, 2 | 4 << 16);
	put32(file, 0);
	put32(file, 0);
	put32(file, 65535);
	put32(file, VL_LINKTYPE_INFINIBAND);
	make_global_write();
	put_native(file, local_write, sizeof(local_write));
	put_native(file, global_write, sizeof(global_write));
	make_flow_control(3, flow_control);
	put_native(file, flow_control, sizeof(flow_control));
	fclose(file);
	expect("$V native.pcap", 0, "3 packets");
	CU_ASSERT_PTR_NOT_NULL(strstr(output, "ICRC: 2 right"));
	file = fopen(path, "a");
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	memcpy(damaged, local_write, sizeof(damaged));
	damaged[sizeof(damaged) - 1] ^= 1;
	put_native(file, damaged, sizeof(damaged));
	fclose(file);
	expect("$V native.pcap", 1, "wrong VCRC");
	file = fopen(path, "a");
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	flow_control[5] ^= 1;
	put_native(file, flow_control, sizeof(flow_control));
	fclose(file);
	expect("$V native.pcap", 1, "1 of 2 flow-control packets have a wrong LPCRC");
	CU_ASSERT_PTR_NOT_NULL(strstr(output, "packet 5: wrong LPCRC: 0x"));
}

/* 15 packets of credits, 62,460 bytes, come back after 5.5 us: of 400 Gb/s that is 23 %. */
static void test_the_reading_of_a_link_that_is_too_long(void)
{
	expect("cat >long.yaml <<'END'\n"
	       "name: long\n"
	       "duration: 500us\n"
	       "fabric: infiniband\n"
	       "infiniband: {buffer: 64KiB}\n"
	       "topology: {kind: pair, link: ndr osfp dr4 500 m}\n"
	       "flows: [{from: host1, to: host2, size: 1MiB, depth: 4}]\n"
	       "END\n"
	       "${V% *} lab long.yaml --no-view | tr -s '\n ' ' '",
	       0, "It is not the bottleneck: a link is too long for the credits of its buffers.");
	CU_ASSERT_PTR_NOT_NULL(strstr(output, "come back after 5.51us, which allows 23 % of its "
					      "rate at most; all of it takes 279KB"));
	expect("${V% *} lab long.yaml --no-view --set topology.link='ndr osfp dr4 20 m'", 0,
	       "brings 39");
	CU_ASSERT_PTR_NULL(strstr(output, "could not be filled"));
	/* By itself the buffer is what the link needs, as far as credits count. */
	expect("${V% *} lab long.yaml --no-view --set topology.link='ndr osfp dr4 100 m' --set "
	       "infiniband.buffer=auto",
	       0, "brings 39");
	CU_ASSERT_PTR_NULL(strstr(output, "could not be filled"));
}

static const struct test tests[] = {
	{"tshark_reads_what_is_written", test_tshark_reads_what_is_written},
	{"inspect_reads_what_is_written", test_inspect_reads_what_is_written},
	{"the_lab_writes_what_both_read", test_the_lab_writes_what_both_read},
	{"roots", test_roots},
	{"the_reading_of_a_link_that_is_too_long", test_the_reading_of_a_link_that_is_too_long},
	{"inspect_reads_native_captures", test_inspect_reads_native_captures},
};

int main(int argc, char **argv)
{
	return COMMAND_RUN_SUITE("infiniband_command", "inspect", tests, argc, argv);
}
