/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What the writer stores, libpcap and our reader must read back. */

#include "dataplane/capture/writer.h"
#include "tests/support/suite.h"

#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[] = "/tmp/verbline-capture-XXXXXX";
static uint8_t frame[9000];

static const char *in_directory(const char *name)
{
	static char paths[4][128];
	static unsigned int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", directory, name);
	return path;
}

static bool exists(const char *path)
{
	struct stat status;

	return !stat(path, &status);
}

static void write_frames(struct vl_capture_writer *writer, unsigned int interface,
			 const char *comment)
{
	for (uint32_t i = 0; i < 1000; i++) {
		struct vl_capture_record record = {
			.interface = interface,
			.time = UINT64_C(1700000000999999000) + i,
			.frame = frame,
			.length = i * 9,
			.wire_length = i % 2 ? i * 9 + 4 : 0,
			.comment = comment,
		};

		CU_ASSERT_EQUAL(vl_capture_writer_write(writer, &record), 0);
	}
}

static void check_with_libpcap(const char *path, int link_type)
{
	char message[PCAP_ERRBUF_SIZE];
	pcap_t *pcap;
	struct pcap_pkthdr *header;
	const u_char *bytes;
	uint32_t count = 0;

	pcap = pcap_open_offline_with_tstamp_precision(path, PCAP_TSTAMP_PRECISION_NANO, message);
	CU_ASSERT_PTR_NOT_NULL_FATAL(pcap);
	CU_ASSERT_EQUAL(pcap_datalink(pcap), link_type);
	while (pcap_next_ex(pcap, &header, &bytes) == 1) {
		uint64_t time =
			(uint64_t)header->ts.tv_sec * 1000000000 + (uint64_t)header->ts.tv_usec;

		CU_ASSERT_EQUAL(time, UINT64_C(1700000000999999000) + count);
		CU_ASSERT_EQUAL(header->caplen, count * 9);
		CU_ASSERT_EQUAL(header->len, count * 9 + (count % 2 ? 4 : 0));
		CU_ASSERT(!memcmp(bytes, frame, header->caplen));
		count++;
	}
	CU_ASSERT_EQUAL(count, 1000);
	CU_ASSERT_STRING_EQUAL(pcap_geterr(pcap), "");
	pcap_close(pcap);
}

static void check_formats(enum vl_link_type link, int link_type)
{
	static const char *const names[] = {"a.pcap", "b.pcapng"};
	char message[VL_CAPTURE_MESSAGE_SIZE];

	for (unsigned int i = 0; i < 2; i++) {
		const char *path = in_directory(names[i]);
		struct vl_capture_writer *writer;

		writer = vl_capture_writer_open(path, vl_capture_format_of_path(path), message);
		CU_ASSERT_PTR_NOT_NULL_FATAL(writer);
		CU_ASSERT_EQUAL(vl_capture_writer_add_interface(writer, link, "port 0", NULL), 0);
		write_frames(writer, 0, i ? "a comment" : NULL);
		CU_ASSERT_EQUAL(vl_capture_writer_close(writer, message), 0);
		CU_ASSERT_STRING_EQUAL(message, "");
		check_with_libpcap(path, link_type);
		unlink(path);
	}
}

/* As the pcapng specification has them: option 2 the name, 3 the description; none of no bytes. */
static void test_descriptions(void)
{
	static const uint8_t options[] = {2, 0, 4,   0,   'e', 't', 'h', '0', 3, 0,
					  5, 0, 's', 'l', 'o', 'w', '!', 0,   0, 0,
					  9, 0, 1,   0,   9,   0,   0,   0,   0, 0};
	const char *path = in_directory("described.pcapng");
	char message[VL_CAPTURE_MESSAGE_SIZE], long_text[300], error[PCAP_ERRBUF_SIZE];
	struct vl_capture_writer *writer;
	struct pcap_pkthdr *header;
	const u_char *data;
	pcap_t *pcap;
	uint8_t bytes[1024];
	size_t length;
	FILE *file;

	memset(long_text, 'x', sizeof(long_text) - 1);
	long_text[sizeof(long_text) - 1] = '\0';
	writer = vl_capture_writer_open(path, VL_CAPTURE_PCAPNG, message);
	CU_ASSERT_PTR_NOT_NULL_FATAL(writer);
	CU_ASSERT_EQUAL(vl_capture_writer_add_interface(writer, VL_LINK_ETHERNET, "eth0", "slow!"),
			0);
	CU_ASSERT_EQUAL(
		vl_capture_writer_add_interface(writer, VL_LINK_ETHERNET, long_text, long_text), 1);
	CU_ASSERT_EQUAL(vl_capture_writer_close(writer, message), 0);
	file = fopen(path, "rb");
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	length = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	CU_ASSERT_PTR_NOT_NULL(memmem(bytes, length, options, sizeof(options)));
	/* Cut to 255 bytes each, and the file is whole. */
	CU_ASSERT_EQUAL(length % 4, 0);
	CU_ASSERT_EQUAL(bytes[length - 4] | bytes[length - 3] << 8, 16 + 2 * (4 + 256) + 8 + 4 + 4);
	pcap = pcap_open_offline(path, error);
	CU_ASSERT_PTR_NOT_NULL_FATAL(pcap);
	CU_ASSERT_EQUAL(pcap_next_ex(pcap, &header, &data), PCAP_ERROR_BREAK);
	pcap_close(pcap);
	unlink(path);
}

/* Comments come back with their packets, and only with theirs. */
static void test_comments(void)
{
	const char *path = in_directory("comments.pcapng");
	static const char *const comments[] = {"one", NULL, "three, longer", NULL};
	char message[VL_CAPTURE_MESSAGE_SIZE];
	struct vl_capture_packet packet;
	struct vl_capture_reader *reader;
	struct vl_capture_writer *writer;
	const uint8_t short_frame[61] = {1};

	writer = vl_capture_writer_open(path, VL_CAPTURE_PCAPNG, message);
	CU_ASSERT_PTR_NOT_NULL_FATAL(writer);
	CU_ASSERT_EQUAL(vl_capture_writer_add_interface(writer, VL_LINK_ETHERNET, NULL, NULL), 0);
	for (unsigned int i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(
			vl_capture_writer_write(
				writer, &(struct vl_capture_record){.time = i + 1,
								    .frame = short_frame,
								    .length = 58 + i,
								    .comment = comments[i]}),
			0);
	CU_ASSERT_EQUAL(vl_capture_writer_close(writer, message), 0);
	reader = vl_capture_reader_open(path, message);
	CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
	for (unsigned int i = 0; i < 4; i++) {
		CU_ASSERT_EQUAL_FATAL(vl_capture_reader_next(reader, &packet), VL_CAPTURE_PACKET);
		CU_ASSERT_EQUAL(packet.captured_length, 58 + i);
		CU_ASSERT_EQUAL(packet.comment != NULL, comments[i] != NULL);
		if (!comments[i])
			continue;
		CU_ASSERT_EQUAL_FATAL(packet.comment_length, strlen(comments[i]));
		CU_ASSERT_EQUAL(memcmp(packet.comment, comments[i], packet.comment_length), 0);
	}
	vl_capture_reader_close(reader);
	unlink(path);
}

static void test_ethernet(void)
{
	check_formats(VL_LINK_ETHERNET, DLT_EN10MB);
}

static void test_raw_ip(void)
{
	check_formats(VL_LINK_IP, DLT_RAW);
}

/* InfiniBand goes into ERF records, Ethernet beside it, which only pcapng can hold. */
static void test_infiniband_beside_ethernet(void)
{
	const char *path = in_directory("mixed.pcapng");
	char message[VL_CAPTURE_MESSAGE_SIZE];
	struct vl_capture_packet packet;
	struct vl_capture_reader *reader;
	struct vl_capture_writer *writer;

	writer = vl_capture_writer_open(path, VL_CAPTURE_PCAPNG, message);
	CU_ASSERT_PTR_NOT_NULL_FATAL(writer);
	CU_ASSERT_EQUAL(vl_capture_writer_add_interface(writer, VL_LINK_ETHERNET, NULL, NULL), 0);
	CU_ASSERT_EQUAL(vl_capture_writer_add_interface(writer, VL_LINK_INFINIBAND, "ib", NULL), 1);
	write_frames(writer, 0, NULL);
	write_frames(writer, 1, "comment");
	CU_ASSERT_EQUAL(vl_capture_writer_close(writer, message), 0);
	reader = vl_capture_reader_open(path, message);
	CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
	for (uint32_t i = 0; i < 2000; i++) {
		uint32_t length = i % 1000 * 9;

		CU_ASSERT_EQUAL_FATAL(vl_capture_reader_next(reader, &packet), VL_CAPTURE_PACKET);
		CU_ASSERT_EQUAL(packet.link_type, i < 1000 ? 1 : 197);
		CU_ASSERT_EQUAL(packet.frame.kind, VL_CAPTURE_FRAME_parseable);
		CU_ASSERT_EQUAL(packet.frame.link,
				i < 1000 ? VL_LINK_ETHERNET : VL_LINK_INFINIBAND);
		CU_ASSERT_EQUAL(packet.frame.length, length);
		CU_ASSERT_EQUAL(packet.frame.wire_length, length + (i % 2 ? 4 : 0));
		CU_ASSERT(!memcmp(packet.frame.data, frame, length));
		CU_ASSERT_EQUAL(packet.time, UINT64_C(1700000000999999000) + i % 1000);
	}
	CU_ASSERT_EQUAL(vl_capture_reader_next(reader, &packet), VL_CAPTURE_END);
	vl_capture_reader_close(reader);
	unlink(path);
}

/* They keep their length, whatever is stored with them, and which side of the link they came from.
 */
static void test_link_packets(void)
{
	static const uint8_t flow_control[] = {0x01, 0x23, 0x14, 0x56, 0xa7, 0xa8};
	static const char *const names[] = {"link.pcap", "link.pcapng"};
	char message[VL_CAPTURE_MESSAGE_SIZE];
	struct vl_capture_packet packet;

	for (unsigned int i = 0; i < 2; i++) {
		const char *path = in_directory(names[i]);
		struct vl_capture_writer *writer;
		struct vl_capture_reader *reader;

		writer = vl_capture_writer_open(path, vl_capture_format_of_path(path), message);
		CU_ASSERT_PTR_NOT_NULL_FATAL(writer);
		vl_capture_writer_add_interface(writer, VL_LINK_INFINIBAND, "ib", NULL);
		for (unsigned int flow = VL_CAPTURE_UNKNOWN_FLOW; flow <= VL_CAPTURE_OUTBOUND;
		     flow++) {
			const struct vl_capture_record record = {
				.time = 1 + flow,
				.frame = flow_control,
				.length = sizeof(flow_control),
				.flow = (enum vl_capture_flow)flow,
			};

			CU_ASSERT_EQUAL(vl_capture_writer_write(writer, &record), 0);
		}
		CU_ASSERT_EQUAL(vl_capture_writer_close(writer, message), 0);
		reader = vl_capture_reader_open(path, message);
		CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
		for (unsigned int flow = VL_CAPTURE_UNKNOWN_FLOW; flow <= VL_CAPTURE_OUTBOUND;
		     flow++) {
			CU_ASSERT_EQUAL_FATAL(vl_capture_reader_next(reader, &packet),
					      VL_CAPTURE_PACKET);
			CU_ASSERT_EQUAL(packet.frame.link, VL_LINK_INFINIBAND);
			CU_ASSERT_EQUAL_FATAL(packet.frame.length, 6);
			CU_ASSERT_EQUAL(packet.frame.wire_length, 6);
			CU_ASSERT_EQUAL(packet.frame.side, flow == VL_CAPTURE_OUTBOUND);
			CU_ASSERT_EQUAL(memcmp(packet.frame.data, flow_control, 6), 0);
		}
		CU_ASSERT_EQUAL(vl_capture_reader_next(reader, &packet), VL_CAPTURE_END);
		vl_capture_reader_close(reader);
		unlink(path);
	}
}

static void test_pcap_has_one_link_type(void)
{
	const char *path = in_directory("one.pcap");
	char message[VL_CAPTURE_MESSAGE_SIZE];
	struct vl_capture_writer *writer;
	struct vl_capture_record record = {.frame = frame, .length = 10};

	writer = vl_capture_writer_open(path, VL_CAPTURE_PCAP, message);
	CU_ASSERT_PTR_NOT_NULL_FATAL(writer);
	CU_ASSERT_EQUAL(vl_capture_writer_write(writer, &record), -EINVAL);
	CU_ASSERT_EQUAL(vl_capture_writer_add_interface(writer, VL_LINK_ETHERNET, "a", NULL), 0);
	CU_ASSERT_EQUAL(vl_capture_writer_add_interface(writer, VL_LINK_ETHERNET, "b", NULL), 0);
	CU_ASSERT_EQUAL(vl_capture_writer_add_interface(writer, VL_LINK_IP, "c", NULL), -EINVAL);
	record.length = VL_CAPTURE_MAX_PACKET;
	CU_ASSERT_EQUAL(vl_capture_writer_write(writer, &record), -EINVAL);
	CU_ASSERT_EQUAL(vl_capture_writer_close(writer, message), 0);
	unlink(path);
}

static void test_name_appears_when_whole(void)
{
	const char *path = in_directory("whole.pcap");
	const char *partial = in_directory("whole.pcap.partial");
	char message[VL_CAPTURE_MESSAGE_SIZE];
	struct vl_capture_writer *writer;

	writer = vl_capture_writer_open(path, VL_CAPTURE_PCAP, message);
	CU_ASSERT_PTR_NOT_NULL_FATAL(writer);
	CU_ASSERT(exists(partial) && !exists(path));
	CU_ASSERT_EQUAL(vl_capture_writer_add_interface(writer, VL_LINK_ETHERNET, NULL, NULL), 0);
	write_frames(writer, 0, NULL);
	CU_ASSERT(!exists(path));
	vl_capture_writer_abandon(writer);
	CU_ASSERT(!exists(path));
	check_with_libpcap(partial, DLT_EN10MB);

	writer = vl_capture_writer_open(path, VL_CAPTURE_PCAP, message);
	CU_ASSERT_PTR_NOT_NULL_FATAL(writer);
	CU_ASSERT_EQUAL(vl_capture_writer_close(writer, message), 0);
	CU_ASSERT(exists(path) && !exists(partial));
	unlink(path);
}

static void test_failures(void)
{
	char message[VL_CAPTURE_MESSAGE_SIZE];
	struct vl_capture_writer *writer;
	struct vl_capture_record record = {.frame = frame, .length = sizeof(frame)};
	int error = 0;

	CU_ASSERT_PTR_NULL(vl_capture_writer_open("/nonexistent/x.pcap", VL_CAPTURE_PCAP, message));
	CU_ASSERT_STRING_EQUAL(message,
			       "/nonexistent/x.pcap: cannot create: No such file or directory");
	CU_ASSERT_PTR_NULL(vl_capture_writer_open(directory, VL_CAPTURE_PCAP, message));
	CU_ASSERT_PTR_NOT_NULL(strstr(message, "Is a directory"));

	/* A full device: the error comes when the buffer is written, and stays. */
	writer = vl_capture_writer_open("/dev/full", VL_CAPTURE_PCAP, message);
	CU_ASSERT_PTR_NOT_NULL_FATAL(writer);
	CU_ASSERT_EQUAL(vl_capture_writer_add_interface(writer, VL_LINK_ETHERNET, NULL, NULL), 0);
	for (unsigned int i = 0; i < 1000 && !error; i++)
		error = vl_capture_writer_write(writer, &record);
	CU_ASSERT_EQUAL(error, -ENOSPC);
	CU_ASSERT_EQUAL(vl_capture_writer_write(writer, &record), -ENOSPC);
	CU_ASSERT_STRING_EQUAL(vl_capture_writer_message(writer),
			       "/dev/full: cannot write: No space left on device");
	CU_ASSERT_EQUAL(vl_capture_writer_close(writer, message), -ENOSPC);
	CU_ASSERT_STRING_EQUAL(message, "/dev/full: cannot write: No space left on device");

	/* The little that fits the buffer fails at the end. */
	writer = vl_capture_writer_open("/dev/full", VL_CAPTURE_PCAPNG, message);
	CU_ASSERT_PTR_NOT_NULL_FATAL(writer);
	CU_ASSERT_EQUAL(vl_capture_writer_close(writer, NULL), -ENOSPC);
}

static void test_symbolic_link(void)
{
	const char *path = in_directory("target.pcap");
	const char *link_path = in_directory("link.pcap");
	char message[VL_CAPTURE_MESSAGE_SIZE];
	struct vl_capture_writer *writer;
	struct stat status;
	FILE *file = fopen(path, "w");

	CU_ASSERT_FATAL(file && !fclose(file));
	CU_ASSERT_FATAL(!symlink(path, link_path));
	writer = vl_capture_writer_open(link_path, VL_CAPTURE_PCAP, message);
	CU_ASSERT_PTR_NOT_NULL_FATAL(writer);
	CU_ASSERT_EQUAL(vl_capture_writer_close(writer, message), 0);
	CU_ASSERT(!lstat(link_path, &status) && S_ISLNK(status.st_mode));
	CU_ASSERT(!stat(path, &status) && status.st_size == 24);
	unlink(link_path);
	unlink(path);
}

static void test_format_of_path(void)
{
	CU_ASSERT_EQUAL(vl_capture_format_of_path("a.pcapng"), VL_CAPTURE_PCAPNG);
	CU_ASSERT_EQUAL(vl_capture_format_of_path("a.PCAPNG"), VL_CAPTURE_PCAPNG);
	CU_ASSERT_EQUAL(vl_capture_format_of_path("pcapng"), VL_CAPTURE_PCAP);
	CU_ASSERT_EQUAL(vl_capture_format_of_path("a.pcapng.pcap"), VL_CAPTURE_PCAP);
	CU_ASSERT_EQUAL(vl_capture_format_of_path("-"), VL_CAPTURE_PCAP);
}

static const struct test tests[] = {
	{"descriptions", test_descriptions},
	{"comments", test_comments},
	{"ethernet", test_ethernet},
	{"raw_ip", test_raw_ip},
	{"infiniband_beside_ethernet", test_infiniband_beside_ethernet},
	{"link_packets", test_link_packets},
	{"pcap_has_one_link_type", test_pcap_has_one_link_type},
	{"name_appears_when_whole", test_name_appears_when_whole},
	{"failures", test_failures},
	{"symbolic_link", test_symbolic_link},
	{"format_of_path", test_format_of_path},
};

int main(int argc, char **argv)
{
	int result;

	if (!mkdtemp(directory))
		return 1;
	for (size_t i = 0; i < sizeof(frame); i++)
		frame[i] = (uint8_t)(i * 31 + (i >> 8));
	result = RUN_SUITE("capture_writer", tests, argc, argv);
	unlink(in_directory("whole.pcap.partial"));
	rmdir(directory);
	return result;
}
