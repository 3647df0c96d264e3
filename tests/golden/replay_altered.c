/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Replay must be able to fail: one recorded packet at a time is altered as a faulty stack would
 * have sent it (seen from the other side, the stack under test is then the faulty one), and the
 * first difference must be that packet. Where replay cannot know better, its conclusions must have
 * changed.
 */

#include "apps/replay/trial.h"
#include "tests/golden/recorded_network.h"
#include "tests/support/suite.h"
#include "transport/wire/icrc.h"
#include "transport/wire/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char scratch[64];

static const char *path_of(const char *name)
{
	static char path[8192];
	const char *root = getenv("VERBLINE_SOURCE_ROOT");

	snprintf(path, sizeof(path), "%s/pcaps/%s.pcap", root ? root : ".", name);
	return path;
}

/* ---- Captures -------------------------------------------------------------------------------- */

static void load(struct network_capture *capture, const char *path)
{
	char message[REPLAY_MESSAGE];
	struct recording *recording = recording_load(path, message);

	CU_ASSERT_PTR_NOT_NULL_FATAL(recording);
	*capture = (struct network_capture){.count = recording->packet_count};
	capture->packets = calloc(capture->count + 2, sizeof(*capture->packets));
	for (uint32_t i = 0; i < capture->count; i++) {
		const struct recorded_packet *packet = &recording->packets[i];

		capture->packets[i] = (struct network_packet){
			.time = packet->time,
			.bytes = malloc(packet->length),
			.length = packet->length,
			.is_request = packet->packet.info->flags & VL_OPCODE_REQUEST};
		memcpy(capture->packets[i].bytes, packet->bytes, packet->length);
	}
	recording_free(recording);
}

static struct vl_packet parse(const struct network_packet *packet)
{
	struct vl_packet parsed;

	CU_ASSERT_EQUAL_FATAL(
		vl_parse(&parsed, VL_LINK_ETHERNET, packet->bytes, packet->length, packet->length),
		VL_PARSE_ok);
	return parsed;
}

static void mend_icrc(struct network_packet *packet)
{
	struct vl_packet parsed = parse(packet);
	uint32_t icrc = vl_icrc_compute(&parsed);

	memcpy(packet->bytes + (parsed.icrc - packet->bytes), &icrc, sizeof(icrc));
}

/* ---- Alterations ----------------------------------------------------------------------------- */

enum alteration {
	ALTER_PSN_UP,
	ALTER_PSN_DOWN,
	ALTER_MSN_UP,
	ALTER_MSN_DOWN,
	ALTER_TO_SEQUENCE_NAK,
	ALTER_TO_INVALID_REQUEST,
	ALTER_TO_REMOTE_ACCESS,
	ALTER_TO_RNR_NAK,
	ALTER_NAK_CODE,
	ALTER_PAYLOAD,
	ALTER_ORIGINAL,
	ALTER_OPCODE,
	ALTER_PKEY,
	ALTER_DESTINATION,
	ALTER_DMA_LENGTH,
	ALTER_ADDRESS,
	ALTER_RKEY,
	ALTER_DROP,
	ALTER_DOUBLE,
	ALTERATIONS
};

static const char *const names[ALTERATIONS] = {
	"PSN + 1",         "PSN - 1",       "MSN + 1",    "MSN - 1",  "to NAK sequence",
	"to NAK invalid",  "to NAK access", "to RNR NAK", "NAK code", "payload byte",
	"atomic original", "opcode",        "P_Key",      "QPN",      "DMA length",
	"remote address",  "R_Key",         "dropped",    "doubled"};

static void add24(uint8_t *at, int32_t amount)
{
	uint32_t value = (uint32_t)at[0] << 16 | (uint32_t)at[1] << 8 | at[2];

	value += (uint32_t)amount;
	at[0] = (uint8_t)(value >> 16);
	at[1] = (uint8_t)(value >> 8);
	at[2] = (uint8_t)value;
}

/* One position of a message taken for another, with the same headers. */
static uint8_t other_opcode(uint8_t opcode)
{
	static const uint8_t pairs[][2] = {{0x0d, 0x10}, {0x10, 0x0f}, {0x0f, 0x0d}, {0x00, 0x01},
					   {0x01, 0x00}, {0x02, 0x01}, {0x04, 0x02}, {0x07, 0x08},
					   {0x08, 0x07}, {0x06, 0x0a}, {0x0a, 0x06}, {0x13, 0x14},
					   {0x14, 0x13}};

	for (unsigned int i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		if (pairs[i][0] == opcode)
			return pairs[i][1];
	}
	return opcode;
}

static bool set_syndrome(const struct vl_packet *parsed, uint8_t *aeth, bool was_nak,
			 uint8_t syndrome)
{
	bool is_nak = (parsed->syndrome & 0x60) != 0;

	if (vl_opcode_operation(parsed->opcode) != VL_OP_ACKNOWLEDGE || is_nak != was_nak ||
	    aeth[0] == syndrome)
		return false;
	aeth[0] = syndrome;
	return true;
}

static bool alter_answer(const struct vl_packet *parsed, uint8_t *bth, enum alteration alteration)
{
	uint8_t *aeth = bth + 12;

	switch (alteration) {
	case ALTER_MSN_UP:
	case ALTER_MSN_DOWN:
		if (!(parsed->info->flags & VL_OPCODE_AETH))
			return false;
		add24(aeth + 1, alteration == ALTER_MSN_UP ? 1 : -1);
		return true;
	case ALTER_TO_SEQUENCE_NAK:
		return set_syndrome(parsed, aeth, false, 0x60);
	case ALTER_TO_INVALID_REQUEST:
		return set_syndrome(parsed, aeth, false, 0x61);
	case ALTER_TO_REMOTE_ACCESS:
		return set_syndrome(parsed, aeth, false, 0x62);
	case ALTER_TO_RNR_NAK:
		return set_syndrome(parsed, aeth, false, 0x2c);
	case ALTER_NAK_CODE:
		return set_syndrome(parsed, aeth, true, parsed->syndrome == 0x60 ? 0x62 : 0x60);
	case ALTER_ORIGINAL:
		if (!(parsed->info->flags & VL_OPCODE_ATOMICACKETH))
			return false;
		aeth[4 + 7] ^= 1;
		return true;
	default:
		return false;
	}
}

/* Of READ, WRITE and ATOMIC. */
static bool alter_request(const struct vl_packet *parsed, uint8_t *bth, enum alteration alteration)
{
	uint8_t *reth = bth + 12 + (parsed->info->flags & VL_OPCODE_FETH ? 4 : 0);

	if (!(parsed->info->flags & (VL_OPCODE_RETH | VL_OPCODE_ATOMICETH)))
		return false;
	switch (alteration) {
	case ALTER_ADDRESS:
		reth[7] ^= 8;
		return true;
	case ALTER_RKEY:
		reth[11] ^= 1;
		return true;
	case ALTER_DMA_LENGTH:
		reth[14] ^= 4;
		return parsed->info->flags & VL_OPCODE_RETH;
	default:
		return false;
	}
}

/* False: there is nothing of this kind to alter in the packet. */
static bool alter(struct network_packet *packet, enum alteration alteration)
{
	struct vl_packet parsed = parse(packet);
	uint8_t *bth = packet->bytes + (parsed.bth - packet->bytes);
	uint8_t opcode = other_opcode(parsed.opcode);

	switch (alteration) {
	case ALTER_PSN_UP:
		add24(bth + 9, 1);
		break;
	case ALTER_PSN_DOWN:
		add24(bth + 9, -1);
		break;
	case ALTER_PAYLOAD:
		if (!parsed.payload_length)
			return false;
		packet->bytes[parsed.payload - packet->bytes + parsed.payload_length / 2] ^= 1;
		break;
	case ALTER_OPCODE:
		/* Headers of another length would make it a different packet altogether. */
		if (opcode == parsed.opcode ||
		    vl_opcode_table[opcode].extension_length != parsed.info->extension_length)
			return false;
		bth[0] = opcode;
		break;
	case ALTER_PKEY:
		bth[3] ^= 1;
		break;
	case ALTER_DESTINATION:
		bth[7] ^= 1;
		break;
	default:
		if (packet->is_request ? !alter_request(&parsed, bth, alteration)
				       : !alter_answer(&parsed, bth, alteration))
			return false;
		break;
	}
	mend_icrc(packet);
	return true;
}

/* ---- What replay says ------------------------------------------------------------------------ */

struct saying {
	bool differs, differs_there;
	struct replay_totals totals;
	uint32_t conclusions; /* a digest: what was withheld, refused, ... */
	uint32_t conversations;
};

/* number: of the altered packet; dropped: it is not there, and had this PSN. */
static struct saying listen(const struct network_capture *capture, enum replay_role role,
			    uint64_t number, bool dropped, uint32_t psn)
{
	char message[REPLAY_MESSAGE];
	struct saying saying = {0};
	struct recording *recording;
	struct trial *trials;
	uint32_t count;

	network_write(capture, 0, UINT32_MAX, NULL, scratch);
	recording = recording_load(scratch, message);
	CU_ASSERT_PTR_NOT_NULL_FATAL(recording);
	trials = trials_run(recording, role == REPLAY_RESPONDER, role == REPLAY_REQUESTER, &count);
	CU_ASSERT_PTR_NOT_NULL_FATAL(trials);
	saying.totals = report_totals(trials, count);
	saying.conversations = recording->conversation_count;
	saying.conclusions = recording->orphan_responses;
	for (uint32_t i = 0; i < count; i++) {
		const struct trial *trial = &trials[i];

		saying.conclusions += trial->not_ready + 101 * trial->refused +
				      1009 * trial->overtaken + 10007 * trial->timeouts +
				      100003 * trial->withheld_count + 1000003 * trial->skipped +
				      11 * (trial->msn_offset != 0) + 1013 * trial->not_compared;
		if (!trial->has_difference)
			continue;
		saying.differs = true;
		if (dropped ? trial->difference_psn == psn : trial->difference_number == number)
			saying.differs_there = true;
	}
	if (getenv("REPLAY_VERBOSE"))
		report_text(stdout, recording, trials, count, false);
	trials_free(trials, count);
	recording_free(recording);
	return saying;
}

static bool concludes_differently(const struct saying *one, const struct saying *two)
{
	return one->conclusions != two->conclusions || one->totals.extra != two->totals.extra ||
	       one->totals.tolerated != two->totals.tolerated ||
	       one->totals.explained != two->totals.explained ||
	       one->conversations != two->conversations;
}

struct tally {
	uint32_t there, elsewhere, concluded, silent;
};

static const char *only; /* "capture:number:alteration", for a closer look */

static void judge(struct tally *tally, const struct saying *saying, const struct saying *before,
		  const char *name, uint64_t number, enum alteration alteration)
{
	if (saying->differs_there)
		tally->there++;
	else if (saying->differs)
		tally->elsewhere++;
	else if (concludes_differently(saying, before))
		tally->concluded++;
	else
		tally->silent++;
	if (getenv("REPLAY_SILENT") && !saying->differs_there)
		printf("%s #%lu %s: %s\n", name, number, names[alteration],
		       saying->differs                         ? "elsewhere"
		       : concludes_differently(saying, before) ? "concluded"
							       : "SILENT");
}

static void alter_one(struct network_capture *capture, const char *name, uint32_t index,
		      enum replay_role role, enum alteration alteration,
		      const struct saying *before, struct tally *tally)
{
	struct network_packet *packet = &capture->packets[index], saved = *packet;
	struct vl_packet parsed = parse(packet);
	struct saying saying;
	char title[96];

	snprintf(title, sizeof(title), "%s:%u:%d", name, index + 1, alteration);
	if (only && strcmp(title, only))
		return;
	if (alteration == ALTER_DROP) {
		memmove(packet, packet + 1, (capture->count - index - 1) * sizeof(*packet));
		capture->count--;
		saying = listen(capture, role, index + 1, true, parsed.psn);
		memmove(packet + 1, packet, (capture->count - index) * sizeof(*packet));
		capture->count++;
		*packet = saved;
	} else if (alteration == ALTER_DOUBLE) {
		memmove(packet + 1, packet, (capture->count - index) * sizeof(*packet));
		capture->count++;
		saying = listen(capture, role, index + 2, false, 0);
		memmove(packet, packet + 1, (capture->count - index - 1) * sizeof(*packet));
		capture->count--;
	} else {
		packet->bytes = malloc(packet->length);
		memcpy(packet->bytes, saved.bytes, packet->length);
		if (!alter(packet, alteration)) {
			free(packet->bytes);
			*packet = saved;
			return;
		}
		saying = listen(capture, role, index + 1, false, 0);
		free(packet->bytes);
		*packet = saved;
	}
	judge(tally, &saying, before, name, index + 1, alteration);
}

/* Every so many packets of a capture's answers or requests. */
static void alter_capture(const char *name, enum replay_role role, uint32_t every,
			  struct tally tallies[ALTERATIONS])
{
	struct network_capture capture;
	struct saying before;
	uint32_t seen = 0;

	load(&capture, path_of(name));
	before = listen(&capture, role, 0, false, 0);
	CU_ASSERT_FALSE(before.differs);
	for (uint32_t i = 0; i < capture.count; i++) {
		struct vl_packet parsed = parse(&capture.packets[i]);

		if (capture.packets[i].is_request != (role == REPLAY_REQUESTER) ||
		    vl_opcode_service(parsed.opcode) != VL_SERVICE_RC || seen++ % every)
			continue;
		for (unsigned int a = 0; a < ALTERATIONS; a++)
			alter_one(&capture, name, i, role, (enum alteration)a, &before,
				  &tallies[a]);
	}
	network_release(&capture);
}

static const struct {
	const char *name;
	uint32_t every;
} captures[] = {
	{"rxe-cm-rping-64k-ipv4", 6},
	{"rxe-cm-rping-ipv6", 1},
	{"rxe-cm-rstream-write-imm-ipv4", 3},
	{"rxe-exercise-ipv4", 1},
	{"rxe-loss-rc-acks-ipv4", 2},
	{"rxe-loss-rc-read-requests-ipv4", 1},
	{"rxe-loss-rc-send-ipv4", 1},
	{"rxe-rc-atomic-compare-swap-ipv4", 2},
	{"rxe-rc-atomic-fetch-add-ipv6", 2},
	{"rxe-rc-pingpong-odd-sizes-ipv4", 1},
	{"rxe-rc-read-32k-ipv4-mtu4096", 3},
	{"rxe-rc-send-16k-ipv6", 1},
	{"rxe-rc-write-32k-ipv4", 1},
	{"rxe-refused-atomic-bad-rkey-ipv4", 1},
	{"rxe-refused-write-out-of-bounds-ipv4", 1},
	{"rxe-rnr-rc-send-ipv4", 2},
	{"rxe-srq-pingpong-ipv4", 3},
};

/* Of each kind, at most so many percent that are found at another packet, that only change what is
 * concluded, and that change nothing. */
struct bounds {
	uint8_t elsewhere, concluded, silent;
};

static void check_tallies(const struct tally tallies[ALTERATIONS],
			  const struct bounds bounds[ALTERATIONS])
{
	for (unsigned int a = 0; a < ALTERATIONS; a++) {
		const struct tally *tally = &tallies[a];
		uint32_t all = tally->there + tally->elsewhere + tally->concluded + tally->silent;

		if (all && getenv("REPLAY_TALLIES"))
			printf("%-16s there %4u, elsewhere %3u, concluded %3u, silent %3u\n",
			       names[a], tally->there, tally->elsewhere, tally->concluded,
			       tally->silent);
		CU_ASSERT(tally->elsewhere * 100 <= all * bounds[a].elsewhere);
		CU_ASSERT(tally->concluded * 100 <= all * bounds[a].concluded);
		CU_ASSERT(tally->silent * 100 <= all * bounds[a].silent);
	}
}

/*
 * What may go unnoticed of an answer: another PSN of an ACK is the PSN of an ACK that was put off,
 * if its MSN fits; a missing ACK was put off, a missing NAK means that what it refused was lost,
 * and a second ACK is allowed. What a READ or ATOMIC returns first is all that is known of the
 * memory; only what was written before can be held against it.
 */
static void test_answers(void)
{
	static const struct bounds bounds[ALTERATIONS] = {
		[ALTER_PSN_UP] = {0, 10, 0},
		[ALTER_PSN_DOWN] = {3, 6, 0},
		[ALTER_TO_SEQUENCE_NAK] = {8, 1, 0},
		[ALTER_TO_INVALID_REQUEST] = {8, 0, 0},
		[ALTER_TO_REMOTE_ACCESS] = {8, 0, 0},
		[ALTER_NAK_CODE] = {70, 0, 0},
		[ALTER_PAYLOAD] = {0, 0, 90},
		[ALTER_ORIGINAL] = {10, 0, 90},
		[ALTER_PKEY] = {3, 0, 0},
		[ALTER_DESTINATION] = {40, 65, 0},
		[ALTER_DROP] = {0, 70, 0},
		[ALTER_DOUBLE] = {0, 60, 0},
	};
	struct tally tallies[ALTERATIONS] = {0};

	for (unsigned int i = 0; i < sizeof(captures) / sizeof(captures[0]); i++)
		alter_capture(captures[i].name, REPLAY_RESPONDER, captures[i].every, tallies);
	check_tallies(tallies, bounds);
	CU_ASSERT(tallies[ALTER_MSN_UP].there > 150);
	CU_ASSERT(tallies[ALTER_PAYLOAD].there > 4);
	CU_ASSERT(tallies[ALTER_ORIGINAL].there > 1);
	CU_ASSERT(tallies[ALTER_DROP].there > 50);
}

/*
 * Of a request: what it carries, and where to, is taken from its first copy, as nothing else says
 * what the application asked for. Packets that are missing make a hole in the capture.
 */
static void test_requests(void)
{
	static const struct bounds bounds[ALTERATIONS] = {
		[ALTER_PSN_UP] = {30, 50, 0},    [ALTER_PSN_DOWN] = {1, 12, 0},
		[ALTER_PAYLOAD] = {20, 0, 65},   [ALTER_OPCODE] = {0, 10, 5},
		[ALTER_PKEY] = {1, 0, 1},        [ALTER_DESTINATION] = {5, 98, 1},
		[ALTER_DMA_LENGTH] = {40, 0, 0}, [ALTER_ADDRESS] = {10, 0, 90},
		[ALTER_RKEY] = {10, 0, 90},      [ALTER_DROP] = {1, 98, 2},
		[ALTER_DOUBLE] = {0, 20, 0},
	};
	struct tally tallies[ALTERATIONS] = {0};

	for (unsigned int i = 0; i < sizeof(captures) / sizeof(captures[0]); i++)
		alter_capture(captures[i].name, REPLAY_REQUESTER, 2 * captures[i].every, tallies);
	check_tallies(tallies, bounds);
	CU_ASSERT(tallies[ALTER_PSN_DOWN].there > 250);
	CU_ASSERT(tallies[ALTER_OPCODE].there > 250);
	CU_ASSERT(tallies[ALTER_PAYLOAD].there > 50);
}

static const struct test tests[] = {
	{"answers", test_answers},
	{"requests", test_requests},
};

int main(int argc, char **argv)
{
	int status, file;

	only = getenv("REPLAY_ONLY");
	strcpy(scratch, "/tmp/replay-altered-XXXXXX");
	file = mkstemp(scratch);
	if (file < 0)
		return 1;
	close(file);
	status = RUN_SUITE("golden-replay_altered", tests, argc, argv);
	unlink(scratch);
	return status;
}
