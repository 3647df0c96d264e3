/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Codecs of communication management: captured datagrams, whose values are those that Wireshark
 * shows (but for flow labels and rates of a REQ, which Wireshark 4.0 takes from wrong bits: the
 * UDP source ports of the captured connections follow from the labels here), layouts written
 * by hand, and every bit of every message.
 */

#include "tests/support/suite.h"
#include "tests/unit/cm_captured.h"
#include "transport/cm/message.h"
#include "transport/cm/rdma_ip.h"
#include "transport/cm/reason.h"
#include "transport/random.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

static struct vl_cm_message decode(const uint8_t *mad)
{
	struct vl_cm_message message;
	uint8_t encoded[VL_MAD_LENGTH];

	CU_ASSERT_EQUAL(vl_cm_decode(&message, mad, VL_MAD_LENGTH), VL_CM_RESULT_ok);
	/* Everything captured is in the structure. */
	CU_ASSERT_EQUAL(vl_cm_encode(encoded, &message, NULL), 0);
	CU_ASSERT_EQUAL(memcmp(encoded, mad, VL_MAD_LENGTH), 0);
	return message;
}

static union ibv_gid gid(const char *ipv6)
{
	union ibv_gid gid;

	CU_ASSERT_EQUAL(inet_pton(AF_INET6, ipv6, gid.raw), 1);
	return gid;
}

static bool is_gid(const union ibv_gid *value, const char *ipv6)
{
	union ibv_gid expected = gid(ipv6);

	return !memcmp(value, &expected, sizeof(expected));
}

/* ---- Captured ----------------------------------------------------------------------------------
 */

static void test_captured_req(void)
{
	struct vl_cm_message message = decode(rping_req);
	const struct vl_cm_req *req = &message.req;
	static const struct vl_cm_path none;

	CU_ASSERT_EQUAL(message.attribute_id, VL_CM_REQ);
	CU_ASSERT_EQUAL(message.status, 0);
	CU_ASSERT_EQUAL(message.transaction_id, 0x00000002d9221f80);
	CU_ASSERT_EQUAL(req->local_comm_id, 0x801f22d9);
	CU_ASSERT_EQUAL(req->service_id, 0x0000000001061c06);
	CU_ASSERT_EQUAL(req->local_ca_guid, 0x505400fffe770002);
	CU_ASSERT_EQUAL(req->local_qkey, 0);
	CU_ASSERT_EQUAL(req->local_qpn, 0x46);
	CU_ASSERT_EQUAL(req->responder_resources, 1);
	CU_ASSERT_EQUAL(req->local_eecn, 0);
	CU_ASSERT_EQUAL(req->initiator_depth, 1);
	CU_ASSERT_EQUAL(req->remote_eecn, 0);
	CU_ASSERT_EQUAL(req->remote_cm_response_timeout, 0x14);
	CU_ASSERT_EQUAL(req->transport_service_type, VL_CM_TRANSPORT_RC);
	CU_ASSERT_FALSE(req->end_to_end_flow_control);
	CU_ASSERT_EQUAL(req->starting_psn, 0xd11aa8);
	CU_ASSERT_EQUAL(req->local_cm_response_timeout, 0x14);
	CU_ASSERT_EQUAL(req->retry_count, 7);
	CU_ASSERT_EQUAL(req->pkey, 0xffff);
	CU_ASSERT_EQUAL(req->path_mtu, IBV_MTU_1024);
	CU_ASSERT_FALSE(req->rdc_exists);
	CU_ASSERT_EQUAL(req->rnr_retry_count, 7);
	CU_ASSERT_EQUAL(req->max_cm_retries, 15);
	CU_ASSERT_FALSE(req->srq);
	CU_ASSERT_EQUAL(req->extended_transport_type, 0);
	CU_ASSERT_EQUAL(req->primary.local_lid, 0xffff);
	CU_ASSERT_EQUAL(req->primary.remote_lid, 0xffff);
	CU_ASSERT_TRUE(is_gid(&req->primary.local_gid, "::ffff:10.77.0.2"));
	CU_ASSERT_TRUE(is_gid(&req->primary.remote_gid, "::ffff:10.77.0.3"));
	CU_ASSERT_EQUAL(req->primary.flow_label, 0x8b1c0);
	CU_ASSERT_EQUAL(
		0xc000 | ((req->primary.flow_label & 0x3fff) ^ req->primary.flow_label >> 14),
		61922);
	CU_ASSERT_EQUAL(req->primary.rate, 0);
	CU_ASSERT_EQUAL(req->primary.traffic_class, 0);
	CU_ASSERT_EQUAL(req->primary.hop_limit, 64);
	CU_ASSERT_EQUAL(req->primary.service_level, 0);
	CU_ASSERT_FALSE(req->primary.subnet_local);
	CU_ASSERT_EQUAL(req->primary.ack_timeout, 0x13);
	CU_ASSERT_EQUAL(memcmp(&req->alternate, &none, sizeof(none)), 0);
	CU_ASSERT_EQUAL(message.private_data_length, 92);
}

static void test_captured_req_variants(void)
{
	struct vl_cm_message message = decode(rping6_req);

	CU_ASSERT_TRUE(is_gid(&message.req.primary.local_gid, "fd77::2"));
	CU_ASSERT_TRUE(is_gid(&message.req.primary.remote_gid, "fd77::3"));
	CU_ASSERT_EQUAL(message.req.primary.flow_label, 0x3776c);
	CU_ASSERT_EQUAL(0xc000 | ((message.req.primary.flow_label & 0x3fff) ^
				  message.req.primary.flow_label >> 14),
			63329);
	CU_ASSERT_EQUAL(message.req.starting_psn, 0xd51d18);

	message = decode(rstream_req);
	CU_ASSERT_TRUE(message.req.end_to_end_flow_control);
	CU_ASSERT_EQUAL(message.req.responder_resources, 0);
	CU_ASSERT_EQUAL(message.req.service_id, 0x0000000001061d2f);
	CU_ASSERT_EQUAL(message.private_data[VL_RDMA_IP_LENGTH], 1);
	CU_ASSERT_EQUAL(message.private_data[VL_RDMA_IP_LENGTH + 1], 2);

	message = decode(ucmatose_req);
	CU_ASSERT_EQUAL(message.req.retry_count, 5);
	CU_ASSERT_EQUAL(message.req.rnr_retry_count, 0);
	CU_ASSERT_EQUAL(message.req.path_mtu, IBV_MTU_1024);
}

static void test_captured_answers(void)
{
	struct vl_cm_message message = decode(rping_rep);

	CU_ASSERT_EQUAL(message.attribute_id, VL_CM_REP);
	CU_ASSERT_EQUAL(message.rep.local_comm_id, 0x028ce001);
	CU_ASSERT_EQUAL(message.rep.remote_comm_id, 0x801f22d9);
	CU_ASSERT_EQUAL(message.rep.local_qkey, 0);
	CU_ASSERT_EQUAL(message.rep.local_qpn, 0x46);
	CU_ASSERT_EQUAL(message.rep.local_eecn, 0);
	CU_ASSERT_EQUAL(message.rep.starting_psn, 0x26e5d9);
	CU_ASSERT_EQUAL(message.rep.responder_resources, 1);
	CU_ASSERT_EQUAL(message.rep.initiator_depth, 1);
	CU_ASSERT_EQUAL(message.rep.target_ack_delay, 15);
	CU_ASSERT_EQUAL(message.rep.failover_accepted, 0);
	CU_ASSERT_FALSE(message.rep.end_to_end_flow_control);
	CU_ASSERT_EQUAL(message.rep.rnr_retry_count, 7);
	CU_ASSERT_FALSE(message.rep.srq);
	CU_ASSERT_EQUAL(message.rep.local_ca_guid, 0x505400fffe770003);
	CU_ASSERT_EQUAL(message.private_data_length, 196);

	message = decode(rping_rtu);
	CU_ASSERT_EQUAL(message.attribute_id, VL_CM_RTU);
	CU_ASSERT_EQUAL(message.rtu.local_comm_id, 0x801f22d9);
	CU_ASSERT_EQUAL(message.rtu.remote_comm_id, 0x028ce001);

	message = decode(rping_dreq);
	CU_ASSERT_EQUAL(message.attribute_id, VL_CM_DREQ);
	CU_ASSERT_EQUAL(message.dreq.local_comm_id, 0x801f22d9);
	CU_ASSERT_EQUAL(message.dreq.remote_comm_id, 0x028ce001);
	CU_ASSERT_EQUAL(message.dreq.remote_qpn_eecn, 0x46);

	message = decode(rping_drep);
	CU_ASSERT_EQUAL(message.attribute_id, VL_CM_DREP);
	CU_ASSERT_EQUAL(message.drep.local_comm_id, 0x028ce001);
	CU_ASSERT_EQUAL(message.drep.remote_comm_id, 0x801f22d9);

	message = decode(refused_rej);
	CU_ASSERT_EQUAL(message.attribute_id, VL_CM_REJ);
	CU_ASSERT_EQUAL(message.rej.local_comm_id, 0);
	CU_ASSERT_EQUAL(message.rej.remote_comm_id, 0x8e1f22d9);
	CU_ASSERT_EQUAL(message.rej.message_rejected, VL_CM_ANSWERS_REQ);
	CU_ASSERT_EQUAL(message.rej.info_length, 0);
	CU_ASSERT_EQUAL(message.rej.reason, VL_CM_REJECT_INVALID_SERVICE_ID);
}

static void test_captured_sidr(void)
{
	struct vl_cm_message message = decode(udaddy_sidr_req);

	CU_ASSERT_EQUAL(message.attribute_id, VL_CM_SIDR_REQ);
	CU_ASSERT_EQUAL(message.sidr_req.request_id, 0x841f22d9);
	CU_ASSERT_EQUAL(message.sidr_req.pkey, 0xffff);
	CU_ASSERT_EQUAL(message.sidr_req.service_id, 0x0000000001111c06);
	CU_ASSERT_EQUAL(message.private_data_length, 216);

	message = decode(udaddy_sidr_rep);
	CU_ASSERT_EQUAL(message.attribute_id, VL_CM_SIDR_REP);
	CU_ASSERT_EQUAL(message.sidr_rep.request_id, 0x841f22d9);
	CU_ASSERT_EQUAL(message.sidr_rep.status, VL_CM_SIDR_VALID);
	CU_ASSERT_EQUAL(message.sidr_rep.info_length, 0);
	CU_ASSERT_EQUAL(message.sidr_rep.qpn, 0x4a);
	CU_ASSERT_EQUAL(message.sidr_rep.service_id, 0x0000000001111c06);
	CU_ASSERT_EQUAL(message.sidr_rep.qkey, VL_RDMA_UDP_QKEY);
}

/* ---- By hand ------------------------------------------------------------------------------------
 */

/* The bytes at the front of the MAD's data, and nothing behind them. */
static void check_data(const struct vl_cm_message *message, const uint8_t *data, size_t length)
{
	uint8_t expected[VL_MAD_DATA_LENGTH] = {0}, mad[VL_MAD_LENGTH];
	struct vl_cm_message decoded;

	memcpy(expected, data, length);
	memset(mad, 0xee, sizeof(mad));
	CU_ASSERT_EQUAL(vl_cm_encode(mad, message, NULL), 0);
	CU_ASSERT_EQUAL(memcmp(mad + VL_MAD_HEADER_LENGTH, expected, sizeof(expected)), 0);
	CU_ASSERT_EQUAL(vl_cm_decode(&decoded, mad, sizeof(mad)), VL_CM_RESULT_ok);
	decoded.private_data_length = 0;
	CU_ASSERT_EQUAL(memcmp(&decoded, message, sizeof(decoded)), 0);
}

/* With padding of zero, so that structures compare as bytes. */
static struct vl_cm_message empty(uint16_t attribute_id)
{
	struct vl_cm_message message;

	memset(&message, 0, sizeof(message));
	message.attribute_id = attribute_id;
	return message;
}

static void test_layouts_by_hand(void)
{
	static const uint8_t mra[] = {1, 2, 3, 4, 5, 6, 7, 8, 0x80, 0xf8};
	static const uint8_t rej[] = {1, 2, 3, 4, 5, 6, 7, 8, 0x40, 0x06, 0x00, 0x1c, 9, 8, 7};
	static const uint8_t rep[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,    0,
				      0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0x23, 0x50};
	static const uint8_t sidr_rep[] = {1,   2,   3,   4,   5,   2, 0, 0, 7, 8, 9, 0,    0xa,
					   0xb, 0xc, 0xd, 0xe, 0xf, 1, 2, 3, 4, 5, 6, 0xaa, 0xbb};
	static const uint8_t apr[] = {1, 2, 3, 4, 5, 6, 7, 8, 2, 13, 0, 0, 0xaa, 0xbb};
	static const uint8_t lap[] = {
		1, 2, 3, 4, 5,    6,    7,    8,    0,    0,    0,    0,    0x12, 0x34, 0x56, 0x98,
		0, 0, 0, 0, 0xab, 0xcd, 0xef, 0x01, 0x20, 0x01, 0,    0,    0,    0,    0,    0,
		0, 0, 0, 0, 0,    0,    0,    1,    0x20, 0x01, 0,    0,    0,    0,    0,    0,
		0, 0, 0, 0, 0,    0,    0,    2,    0xfe, 0xdc, 0xb0, 0x77, 0x40, 0x2a, 0xd8, 0xf8,
	};
	struct vl_cm_message message = empty(VL_CM_MRA);

	message.mra.local_comm_id = 0x01020304;
	message.mra.remote_comm_id = 0x05060708;
	message.mra.message_mraed = VL_CM_ANSWERS_OTHER;
	message.mra.service_timeout = 31;
	check_data(&message, mra, sizeof(mra));

	message = empty(VL_CM_REJ);
	message.rej = (struct vl_cm_rej){.local_comm_id = 0x01020304,
					 .remote_comm_id = 0x05060708,
					 .message_rejected = VL_CM_ANSWERS_REP,
					 .info_length = 3,
					 .reason = VL_CM_REJECT_CONSUMER,
					 .info = {9, 8, 7}};
	check_data(&message, rej, sizeof(rej));

	message = empty(VL_CM_REP);
	message.rep.local_eecn = 9;
	message.rep.target_ack_delay = 4;
	message.rep.failover_accepted = 1;
	message.rep.end_to_end_flow_control = true;
	message.rep.rnr_retry_count = 2;
	message.rep.srq = true;
	check_data(&message, rep, sizeof(rep));

	message = empty(VL_CM_SIDR_REP);
	message.sidr_rep.request_id = 0x01020304;
	message.sidr_rep.status = VL_CM_SIDR_UNSUPPORTED_VERSION;
	message.sidr_rep.info_length = 2;
	message.sidr_rep.qpn = 0x070809;
	message.sidr_rep.service_id = 0x0a0b0c0d0e0f0102;
	message.sidr_rep.qkey = 0x03040506;
	memcpy(message.sidr_rep.info, "\xaa\xbb", 2);
	check_data(&message, sidr_rep, sizeof(sidr_rep));

	message = empty(VL_CM_APR);
	message.apr.local_comm_id = 0x01020304;
	message.apr.remote_comm_id = 0x05060708;
	message.apr.info_length = 2;
	message.apr.status = VL_CM_APR_INVALID_SL;
	memcpy(message.apr.info, "\xaa\xbb", 2);
	check_data(&message, apr, sizeof(apr));

	message = empty(VL_CM_LAP);
	message.lap.local_comm_id = 0x01020304;
	message.lap.remote_comm_id = 0x05060708;
	message.lap.remote_qpn_eecn = 0x123456;
	message.lap.remote_cm_response_timeout = 19;
	message.lap.alternate.local_lid = 0xabcd;
	message.lap.alternate.remote_lid = 0xef01;
	message.lap.alternate.local_gid = gid("2001::1");
	message.lap.alternate.remote_gid = gid("2001::2");
	message.lap.alternate.flow_label = 0xfedcb;
	message.lap.alternate.traffic_class = 0x77;
	message.lap.alternate.hop_limit = 64;
	message.lap.alternate.rate = 42;
	message.lap.alternate.service_level = 13;
	message.lap.alternate.subnet_local = true;
	message.lap.alternate.ack_timeout = 31;
	check_data(&message, lap, sizeof(lap));
}

/* What of a REQ the captured ones leave at zero or at all ones. */
static void test_req_by_hand(void)
{
	struct vl_cm_message message = empty(VL_CM_REQ);
	uint8_t mad[VL_MAD_LENGTH];
	const uint8_t *data = mad + VL_MAD_HEADER_LENGTH;

	message.req.local_qkey = 0x11223344;
	message.req.local_eecn = 0x010203;
	message.req.remote_eecn = 0x040506;
	message.req.remote_cm_response_timeout = 1;
	message.req.transport_service_type = VL_CM_TRANSPORT_EXTENDED;
	message.req.path_mtu = IBV_MTU_4096;
	message.req.rdc_exists = true;
	message.req.max_cm_retries = 3;
	message.req.srq = true;
	message.req.extended_transport_type = 1;
	message.req.primary.rate = 0x3f;
	message.req.primary.traffic_class = 0x6a;
	message.req.primary.service_level = 3;
	message.req.primary.subnet_local = true;
	message.req.alternate.local_lid = 0x1234;
	message.req.alternate.remote_lid = 0x5678;
	message.req.alternate.local_gid = gid("2001::1");
	message.req.alternate.remote_gid = gid("2001::2");
	message.req.alternate.flow_label = 0xabcde;
	message.req.alternate.rate = 2;
	message.req.alternate.traffic_class = 5;
	message.req.alternate.hop_limit = 9;
	message.req.alternate.ack_timeout = 16;
	message.private_data_length = 3;
	memcpy(message.private_data, "abc", 3);
	CU_ASSERT_EQUAL_FATAL(vl_cm_encode(mad, &message, NULL), 0);
	CU_ASSERT_EQUAL(memcmp(data + 28, "\x11\x22\x33\x44", 4), 0);
	CU_ASSERT_EQUAL(memcmp(data + 36, "\x01\x02\x03\x00\x04\x05\x06\x0e", 8), 0);
	CU_ASSERT_EQUAL(memcmp(data + 50, "\x58\x39", 2), 0);
	CU_ASSERT_EQUAL(memcmp(data + 88, "\x00\x00\x00\x3f\x6a\x00\x38\x00\x12\x34\x56\x78", 12),
			0);
	CU_ASSERT_EQUAL(memcmp(data + 100, message.req.alternate.local_gid.raw, 16), 0);
	CU_ASSERT_EQUAL(memcmp(data + 116, message.req.alternate.remote_gid.raw, 16), 0);
	CU_ASSERT_EQUAL(memcmp(data + 132,
			       "\xab\xcd\xe0\x02\x05\x09\x00\x80"
			       "abc\0",
			       12),
			0);
}

/* ---- Every bit
 * ----------------------------------------------------------------------------------- */

/* Reserved bits of each message by the standard's tables, in the order of the attributes. */
static const unsigned int reserved_bits[] = {88, 9, 7, 28, 0, 8, 0, 16, 24, 79, 16};

/* Each is either kept in its place or, reserved, dropped. */
static void test_every_bit(void)
{
	for (uint16_t id = VL_CM_REQ; id <= VL_CM_APR; id++) {
		uint8_t none[VL_MAD_LENGTH], mad[VL_MAD_LENGTH], encoded[VL_MAD_LENGTH];
		struct vl_cm_message message = empty(id);
		unsigned int kept = 0, dropped = 0;

		CU_ASSERT_EQUAL_FATAL(vl_cm_encode(none, &message, NULL), 0);
		for (unsigned int bit = 0; bit < VL_MAD_DATA_LENGTH * 8; bit++) {
			memcpy(mad, none, sizeof(mad));
			mad[VL_MAD_HEADER_LENGTH + bit / 8] = (uint8_t)(0x80 >> bit % 8);
			vl_cm_decode(&message, mad, sizeof(mad));
			if (vl_cm_encode(encoded, &message, NULL))
				continue;
			kept += !memcmp(encoded, mad, sizeof(mad));
			dropped += !memcmp(encoded, none, sizeof(none));
		}
		CU_ASSERT_EQUAL(dropped, reserved_bits[id - VL_CM_REQ]);
		CU_ASSERT_EQUAL(kept + dropped, VL_MAD_DATA_LENGTH * 8);
	}
}

static void test_random_round_trip(void)
{
	struct vl_random random = {1};
	unsigned int wrong = 0;

	for (unsigned int i = 0; i < 20000; i++) {
		uint8_t mad[VL_MAD_LENGTH], encoded[VL_MAD_LENGTH];
		struct vl_cm_message message, again;

		for (unsigned int byte = 0; byte < sizeof(mad); byte++)
			mad[byte] = (uint8_t)vl_random_next(&random);
		memcpy(mad, rping_req, 4);
		mad[16] = 0;
		mad[17] = (uint8_t)(VL_CM_REQ + i % 11);
		if (vl_cm_decode(&message, mad, sizeof(mad)) ||
		    vl_cm_encode(encoded, &message, NULL) ||
		    vl_cm_decode(&again, encoded, sizeof(encoded)) ||
		    memcmp(&message, &again, sizeof(message)))
			wrong++;
	}
	CU_ASSERT_EQUAL(wrong, 0);
}

/* ---- Refusals and names
 * --------------------------------------------------------------------------- */

static void test_decode_results(void)
{
	static const struct {
		unsigned int byte;
		uint8_t value;
		enum vl_cm_result result;
	} cases[] = {
		{0, 2, VL_CM_RESULT_base_version},  {1, 3, VL_CM_RESULT_management_class},
		{2, 1, VL_CM_RESULT_class_version}, {3, 0x83, VL_CM_RESULT_method},
		{17, 0x0f, VL_CM_RESULT_attribute}, {17, 0x1b, VL_CM_RESULT_attribute},
		{16, 1, VL_CM_RESULT_attribute},
	};
	struct vl_cm_message message;
	uint8_t mad[VL_MAD_LENGTH];

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memcpy(mad, rping_req, sizeof(mad));
		mad[cases[i].byte] = cases[i].value;
		CU_ASSERT_EQUAL(vl_cm_decode(&message, mad, sizeof(mad)), cases[i].result);
		CU_ASSERT_EQUAL(message.transaction_id, 0x00000002d9221f80);
	}
	CU_ASSERT_EQUAL(vl_cm_decode(&message, rping_req, 255), VL_CM_RESULT_length);
	CU_ASSERT_EQUAL(vl_cm_decode(&message, rping_req, 0), VL_CM_RESULT_length);
	CU_ASSERT_STRING_EQUAL(vl_cm_result_name(VL_CM_RESULT_class_version), "class_version");
	CU_ASSERT_STRING_EQUAL(vl_cm_result_meaning(VL_CM_RESULT_length),
			       "a management datagram is 256 bytes");
	CU_ASSERT_STRING_EQUAL(vl_cm_result_name((enum vl_cm_result)99), "unknown");
}

static void test_encode_errors(void)
{
	struct vl_cm_message message = empty(VL_CM_REQ);
	uint8_t mad[VL_MAD_LENGTH] = {0x5a};
	const char *field = NULL;

	message.req.alternate.flow_label = 1 << 20;
	CU_ASSERT_EQUAL(vl_cm_encode(mad, &message, &field), -ERANGE);
	CU_ASSERT_STRING_EQUAL(field, "alternate.flow_label");
	message.req.local_qpn = 1 << 24;
	CU_ASSERT_EQUAL(vl_cm_encode(mad, &message, &field), -ERANGE);
	CU_ASSERT_STRING_EQUAL(field, "local_qpn");
	message.private_data_length = 93;
	CU_ASSERT_EQUAL(vl_cm_encode(mad, &message, &field), -EMSGSIZE);
	CU_ASSERT_STRING_EQUAL(field, "private_data_length");
	message.attribute_id = 0x1b;
	CU_ASSERT_EQUAL(vl_cm_encode(mad, &message, &field), -EINVAL);
	CU_ASSERT_STRING_EQUAL(field, "attribute_id");
	CU_ASSERT_EQUAL(vl_cm_encode(mad, &message, NULL), -EINVAL);
	CU_ASSERT_EQUAL(mad[0], 0x5a);
}

static void test_names(void)
{
	CU_ASSERT_STRING_EQUAL(vl_cm_message_name(VL_CM_REQ), "REQ");
	CU_ASSERT_STRING_EQUAL(vl_cm_message_name(VL_CM_SIDR_REP), "SIDR_REP");
	CU_ASSERT_STRING_EQUAL(vl_cm_message_name(VL_CM_APR), "APR");
	CU_ASSERT_STRING_EQUAL(vl_cm_message_meaning(VL_CM_RTU), "ready to use");
	CU_ASSERT_PTR_NULL(vl_cm_message_name(0x0f));
	CU_ASSERT_PTR_NULL(vl_cm_message_meaning(0x1b));
	CU_ASSERT_EQUAL(vl_cm_private_data_room(VL_CM_MRA), 222);
	CU_ASSERT_EQUAL(vl_cm_private_data_room(0), 0);
	CU_ASSERT_STRING_EQUAL(vl_cm_reject_reason_meaning(28), "rejected by the consumer");
	CU_ASSERT_STRING_EQUAL(vl_cm_reject_reason_meaning(35), "vendor option not supported");
	CU_ASSERT_STRING_EQUAL(vl_cm_reject_reason_meaning(34), "reserved");
	CU_ASSERT_STRING_EQUAL(vl_cm_reject_reason_meaning(0), "reserved");
	CU_ASSERT_STRING_EQUAL(vl_cm_reject_reason_meaning(65535), "reserved");
	CU_ASSERT_STRING_EQUAL(vl_cm_sidr_status_meaning(3), "no QP available");
	CU_ASSERT_STRING_EQUAL(vl_cm_sidr_status_meaning(6), "reserved");
	CU_ASSERT_STRING_EQUAL(vl_cm_apr_status_meaning(13), "invalid SL");
	CU_ASSERT_STRING_EQUAL(vl_cm_apr_status_meaning(14), "reserved");
}

static const struct test tests[] = {
	{"captured REQ", test_captured_req},
	{"captured REQ variants", test_captured_req_variants},
	{"captured answers", test_captured_answers},
	{"captured SIDR", test_captured_sidr},
	{"layouts by hand", test_layouts_by_hand},
	{"REQ by hand", test_req_by_hand},
	{"every bit", test_every_bit},
	{"random round trip", test_random_round_trip},
	{"decode results", test_decode_results},
	{"encode errors", test_encode_errors},
	{"names", test_names},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("CM messages", tests, argc, argv);
}
