/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * A stack with a defect must not pass. Between replay and the stack this test puts itself (the
 * linker wraps vl_transmit and vl_receive), and makes of the stack one that has the defect; replay
 * of a capture in which it would show must say so.
 */

#include "apps/replay/fate.h"
#include "apps/replay/trial.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool __real_vl_transmit(struct vl_device *device, uint64_t now, struct vl_outgoing *outgoing);
void __real_vl_receive(struct vl_device *device, const struct vl_packet *packet, uint64_t now);
bool __wrap_vl_transmit(struct vl_device *device, uint64_t now, struct vl_outgoing *outgoing);
void __wrap_vl_receive(struct vl_device *device, const struct vl_packet *packet, uint64_t now);

/* ---- The stack with a defect ----------------------------------------------------------------- */

/* One packet on its way out. DROP: the stack does not send it. */
enum verdict {
	SEND,
	SEND_TWICE,
	DROP,
};

struct sending {
	struct vl_outgoing *outgoing;
	uint8_t *bth, *aeth;
	uint32_t psn;
	bool is_ack, is_nak, is_rnr;
};

static enum verdict (*on_sending)(const struct sending *sending);
/* False: the stack does not see it; it may be changed. */
static bool (*on_receiving)(struct vl_packet *packet);
static struct vl_outgoing copy; /* to be sent again */
static uint8_t copied_headers[VL_MAX_HEADER_LENGTH];
static bool has_copy;

static uint32_t load24(const uint8_t *at)
{
	return (uint32_t)at[0] << 16 | (uint32_t)at[1] << 8 | at[2];
}

static void store24(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)(value >> 16);
	at[1] = (uint8_t)(value >> 8);
	at[2] = (uint8_t)value;
}

static struct sending look_at(struct vl_outgoing *outgoing)
{
	const struct vl_opcode_info *info = &vl_opcode_table[outgoing->opcode];
	struct sending sending = {.outgoing = outgoing};

	sending.bth = outgoing->headers + outgoing->header_length - info->extension_length - 12;
	sending.aeth = sending.bth + 12;
	sending.psn = load24(sending.bth + 9);
	if (vl_opcode_operation(outgoing->opcode) == VL_OP_ACKNOWLEDGE) {
		sending.is_ack = (sending.aeth[0] & 0x60) == 0;
		sending.is_rnr = (sending.aeth[0] & 0x60) == 0x20;
		sending.is_nak = (sending.aeth[0] & 0x60) == 0x60;
	}
	return sending;
}

static void keep_copy(const struct vl_outgoing *outgoing)
{
	copy = *outgoing;
	memcpy(copied_headers, outgoing->headers, outgoing->header_length);
}

static void put_copy(struct vl_outgoing *outgoing)
{
	uint8_t *headers = outgoing->headers;

	*outgoing = copy;
	outgoing->headers = headers;
	memcpy(headers, copied_headers, copy.header_length);
	has_copy = false;
}

bool __wrap_vl_transmit(struct vl_device *device, uint64_t now, struct vl_outgoing *outgoing)
{
	if (has_copy) {
		put_copy(outgoing);
		return true;
	}
	while (__real_vl_transmit(device, now, outgoing)) {
		struct sending sending = look_at(outgoing);
		enum verdict verdict = on_sending ? on_sending(&sending) : SEND;

		if (verdict == DROP)
			continue;
		keep_copy(outgoing);
		has_copy = verdict == SEND_TWICE;
		return true;
	}
	return false;
}

void __wrap_vl_receive(struct vl_device *device, const struct vl_packet *packet, uint64_t now)
{
	struct vl_packet altered = *packet;

	if (!on_receiving || on_receiving(&altered))
		__real_vl_receive(device, &altered, now);
}

/* ---- Defects of a responder ------------------------------------------------------------------ */

static bool has_aeth(const struct sending *sending)
{
	return vl_opcode_table[sending->outgoing->opcode].flags & VL_OPCODE_AETH;
}

static bool is_data(const struct sending *sending)
{
	return vl_opcode_table[sending->outgoing->opcode].flags & VL_OPCODE_RESPONSE &&
	       vl_opcode_operation(sending->outgoing->opcode) != VL_OP_ACKNOWLEDGE;
}

static enum verdict counts_one_message_too_many(const struct sending *sending)
{
	if (has_aeth(sending))
		store24(sending->aeth + 1, load24(sending->aeth + 1) + 1);
	return SEND;
}

static enum verdict counts_no_messages(const struct sending *sending)
{
	if (has_aeth(sending))
		store24(sending->aeth + 1, 0);
	return SEND;
}

static enum verdict sends_no_nak(const struct sending *sending)
{
	return sending->is_nak ? DROP : SEND;
}

static enum verdict sends_nak_twice(const struct sending *sending)
{
	return sending->is_nak ? SEND_TWICE : SEND;
}

static enum verdict sends_wrong_nak(const struct sending *sending)
{
	if (sending->is_nak)
		sending->aeth[0] ^= 1;
	return SEND;
}

static enum verdict sends_no_ack(const struct sending *sending)
{
	return sending->is_ack ? DROP : SEND;
}

static enum verdict sends_ack_twice(const struct sending *sending)
{
	return sending->is_ack ? SEND_TWICE : SEND;
}

static enum verdict acknowledges_too_little(const struct sending *sending)
{
	if (sending->is_ack)
		store24(sending->bth + 9, sending->psn - 1);
	return SEND;
}

static enum verdict acknowledges_too_much(const struct sending *sending)
{
	if (sending->is_ack)
		store24(sending->bth + 9, sending->psn + 1);
	return SEND;
}

static enum verdict ignores_duplicates(const struct sending *sending)
{
	static uint32_t last = UINT32_MAX;
	bool is_again = sending->is_ack && sending->psn == last;

	if (sending->is_ack)
		last = sending->psn;
	return is_again ? DROP : SEND;
}

static enum verdict executes_atomics_again(const struct sending *sending)
{
	if (vl_opcode_operation(sending->outgoing->opcode) == VL_OP_ATOMIC_ACKNOWLEDGE &&
	    sending->outgoing->is_retransmission)
		sending->aeth[4 + 7]++;
	return SEND;
}

static enum verdict answers_no_duplicate(const struct sending *sending)
{
	return is_data(sending) && sending->outgoing->is_retransmission ? DROP : SEND;
}

static enum verdict answers_reads_twice(const struct sending *sending)
{
	return is_data(sending) && !sending->outgoing->is_retransmission ? SEND_TWICE : SEND;
}

static enum verdict reads_elsewhere(const struct sending *sending)
{
	static uint8_t elsewhere[4096];

	if (is_data(sending) && sending->outgoing->payload_length)
		sending->outgoing->spans[0].data = elsewhere;
	return SEND;
}

static enum verdict never_refuses_for_receives(const struct sending *sending)
{
	return sending->is_rnr ? DROP : SEND;
}

static enum verdict has_another_pkey(const struct sending *sending)
{
	sending->bth[2] ^= 0x80;
	return SEND;
}

/* ---- Defects of a requester ------------------------------------------------------------------ */

static enum verdict never_asks(const struct sending *sending)
{
	sending->bth[8] &= 0x7f;
	return SEND;
}

static enum verdict turns_back_too_little(const struct sending *sending)
{
	if (sending->outgoing->is_retransmission)
		store24(sending->bth + 9, sending->psn + 1);
	return SEND;
}

static enum verdict repeats_itself(const struct sending *sending)
{
	static unsigned int count;

	(void)sending;
	return ++count % 8 ? SEND : SEND_TWICE;
}

static enum verdict sends_solicited(const struct sending *sending)
{
	sending->bth[1] ^= 0x80;
	return SEND;
}

static bool hears_no_rnr(struct vl_packet *packet)
{
	return !((packet->info->flags & VL_OPCODE_RESPONSE) && is_rnr_nak(packet));
}

static bool waits_too_briefly(struct vl_packet *packet)
{
	if ((packet->info->flags & VL_OPCODE_RESPONSE) && is_rnr_nak(packet))
		packet->syndrome = 0x21;
	return true;
}

static bool hears_no_sequence_nak(struct vl_packet *packet)
{
	return !((packet->info->flags & VL_OPCODE_RESPONSE) && is_nak(packet) &&
		 packet->syndrome == NAK_SEQUENCE);
}

static bool hears_no_refusal(struct vl_packet *packet)
{
	return !((packet->info->flags & VL_OPCODE_RESPONSE) && is_nak(packet) &&
		 packet->syndrome != NAK_SEQUENCE);
}

static bool hears_no_data(struct vl_packet *packet)
{
	return !((packet->info->flags & VL_OPCODE_RESPONSE) && !is_acknowledge(packet));
}

/* ---- The trials ------------------------------------------------------------------------------ */

#define PCAPS  "pcaps/"
#define CORPUS "tests/fuzz/corpus/replay/"

static const struct {
	const char *name;
	const char *capture;
	enum replay_role role;
	enum verdict (*on_sending)(const struct sending *sending);
	bool (*on_receiving)(struct vl_packet *packet);
	const char *field; /* what the first difference says */
} defects[] = {
	{"counts one message too many", PCAPS "rxe-rc-send-2-ipv4", REPLAY_RESPONDER,
	 counts_one_message_too_many, NULL, "MSN"},
	{"counts no messages", PCAPS "rxe-rc-send-2-ipv4", REPLAY_RESPONDER, counts_no_messages,
	 NULL, "MSN"},
	{"sends no NAK for a gap", PCAPS "rxe-loss-rc-send-ipv4", REPLAY_RESPONDER, sends_no_nak,
	 NULL, "recorded, and not sent"},
	{"sends a NAK for a gap twice", PCAPS "rxe-loss-rc-send-ipv4", REPLAY_RESPONDER,
	 sends_nak_twice, NULL, "not recorded"},
	{"refuses with another NAK", PCAPS "rxe-refused-write-bad-rkey-ipv4", REPLAY_RESPONDER,
	 sends_wrong_nak, NULL, "AETH syndrome"},
	{"does not refuse", PCAPS "rxe-refused-atomic-bad-rkey-ipv4", REPLAY_RESPONDER,
	 sends_no_nak, NULL, "recorded, and not sent"},
	{"sends no ACK", PCAPS "rxe-rc-write-32k-ipv4", REPLAY_RESPONDER, sends_no_ack, NULL,
	 "asks for an ACK"},
	{"sends each ACK twice", PCAPS "rxe-rc-write-32k-ipv4", REPLAY_RESPONDER, sends_ack_twice,
	 NULL, "not recorded"},
	{"acknowledges too little", PCAPS "rxe-rc-write-32k-ipv4", REPLAY_RESPONDER,
	 acknowledges_too_little, NULL, "not recorded"},
	{"acknowledges too much", PCAPS "rxe-loss-rc-send-ipv4", REPLAY_RESPONDER,
	 acknowledges_too_much, NULL, ""},
	{"ignores repeated requests", PCAPS "rxe-rc-pingpong-ipv6", REPLAY_RESPONDER,
	 ignores_duplicates, NULL, "a repeated request"},
	{"executes repeated atomics again", CORPUS "lost-responses", REPLAY_RESPONDER,
	 executes_atomics_again, NULL, "original data"},
	{"does not answer repeated READs", CORPUS "lost-responses", REPLAY_RESPONDER,
	 answers_no_duplicate, NULL, "recorded, and not sent"},
	{"answers READs twice", PCAPS "rxe-rc-read-2-ipv4", REPLAY_RESPONDER, answers_reads_twice,
	 NULL, "not recorded"},
	{"reads elsewhere", PCAPS "rxe-cm-rping-64k-ipv4", REPLAY_RESPONDER, reads_elsewhere, NULL,
	 "payload byte"},
	{"never refuses for want of receives", PCAPS "rxe-rnr-rc-send-ipv4", REPLAY_RESPONDER,
	 never_refuses_for_receives, NULL, ""},
	{"has another P_Key", PCAPS "rxe-rc-send-2-ipv4", REPLAY_RESPONDER, has_another_pkey, NULL,
	 "P_Key"},
	{"asks for no ACK", PCAPS "rxe-rc-send-2-ipv4", REPLAY_REQUESTER, never_asks, NULL,
	 "AckReq"},
	{"turns back too little", PCAPS "rxe-loss-rc-send-ipv4", REPLAY_REQUESTER,
	 turns_back_too_little, NULL, "PSN"},
	{"repeats itself", PCAPS "rxe-rc-write-32k-ipv4", REPLAY_REQUESTER, repeats_itself, NULL,
	 "PSN"},
	{"sets the solicited event", PCAPS "rxe-rc-send-2-ipv4", REPLAY_REQUESTER, sends_solicited,
	 NULL, "solicited event"},
	{"does not hear RNR NAKs", PCAPS "rxe-rnr-rc-send-ipv4", REPLAY_REQUESTER, NULL,
	 hears_no_rnr, ""},
	{"waits too briefly", PCAPS "rxe-rnr-rc-send-ipv4", REPLAY_REQUESTER, NULL,
	 waits_too_briefly, "before the RNR timer"},
	{"does not hear sequence NAKs", PCAPS "rxe-loss-rc-send-ipv4", REPLAY_REQUESTER, NULL,
	 hears_no_sequence_nak, ""},
	{"does not hear refusals", PCAPS "rxe-refused-write-bad-rkey-ipv4", REPLAY_REQUESTER, NULL,
	 hears_no_refusal, "a refusal that does not end"},
	{"does not hear READ responses", PCAPS "rxe-loss-rc-read-requests-ipv4", REPLAY_REQUESTER,
	 NULL, hears_no_data, ""},
};

/* Of one capture in one role; field gets what the first difference says. */
static struct replay_totals replay(unsigned int index, char field[REPLAY_LINE])
{
	char path[8192], message[REPLAY_MESSAGE];
	const char *root = getenv("VERBLINE_SOURCE_ROOT");
	enum replay_role role = defects[index].role;
	struct replay_totals totals;
	struct recording *recording;
	struct trial *trials;
	uint32_t count;

	snprintf(path, sizeof(path), "%s/%s.pcap", root ? root : ".", defects[index].capture);
	recording = recording_load(path, message);
	CU_ASSERT_PTR_NOT_NULL_FATAL(recording);
	trials = trials_run(recording, role == REPLAY_RESPONDER, role == REPLAY_REQUESTER, &count);
	CU_ASSERT_PTR_NOT_NULL_FATAL(trials);
	totals = report_totals(trials, count);
	field[0] = '\0';
	for (uint32_t i = count; i-- > 0;) {
		if (trials[i].has_difference)
			snprintf(field, REPLAY_LINE, "%s", trials[i].field);
	}
	trials_free(trials, count);
	recording_free(recording);
	return totals;
}

static void test_without_defect(void)
{
	char field[REPLAY_LINE];

	on_sending = NULL;
	on_receiving = NULL;
	for (unsigned int i = 0; i < sizeof(defects) / sizeof(defects[0]); i++)
		CU_ASSERT_EQUAL(replay(i, field).different, 0);
}

static void test_defects(void)
{
	char field[REPLAY_LINE];

	for (unsigned int i = 0; i < sizeof(defects) / sizeof(defects[0]); i++) {
		struct replay_totals totals;

		on_sending = defects[i].on_sending;
		on_receiving = defects[i].on_receiving;
		has_copy = false;
		totals = replay(i, field);
		CU_ASSERT(totals.different > 0);
		CU_ASSERT_PTR_NOT_NULL(strstr(field, defects[i].field));
		if (!totals.different || !strstr(field, defects[i].field) ||
		    getenv("REPLAY_VERBOSE"))
			printf("a stack that %s: %u different, %s\n", defects[i].name,
			       totals.different, field);
	}
	on_sending = NULL;
	on_receiving = NULL;
}

static const struct test tests[] = {
	{"without_defect", test_without_defect},
	{"defects", test_defects},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("golden-replay_defects", tests, argc, argv);
}
