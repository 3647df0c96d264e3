/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * The connections in pcaps/, which two Linux hosts made: our connection manager takes the place of
 * either side, is told what its owner there wanted, gets what the other side sent, and must answer
 * as Linux did, field by field, but for what each makes up for itself (IDs, PSNs, GUIDs, flow
 * labels).
 */

#include "dataplane/capture/reader.h"
#include "tests/support/suite.h"
#include "transport/cm/connection.h"
#include "transport/wire/headers.h"
#include "transport/wire/parse.h"
#include "transport/wire/path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_MESSAGES 64
#define SECOND       UINT64_C(1000000000)

struct recorded {
	struct vl_cm_message message;
	union ibv_gid source, destination;
	uint8_t source_mac[6], destination_mac[6];
};

struct recording {
	struct recorded messages[MAX_MESSAGES];
	uint32_t count;
};

static void read_recording(const char *name, struct recording *recording)
{
	char path[4096], text[VL_CAPTURE_MESSAGE_SIZE];
	const char *root = getenv("VERBLINE_SOURCE_ROOT");
	struct vl_capture_reader *reader;
	struct vl_capture_packet captured;

	memset(recording, 0, sizeof(*recording));
	snprintf(path, sizeof(path), "%s/pcaps/%s", root ? root : ".", name);
	reader = vl_capture_reader_open(path, text);
	CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
	while (vl_capture_reader_next(reader, &captured) == VL_CAPTURE_PACKET) {
		struct recorded *recorded = &recording->messages[recording->count];
		struct vl_packet packet;

		if (vl_parse(&packet, VL_LINK_ETHERNET, captured.data, captured.captured_length,
			     captured.captured_length) != VL_PARSE_ok ||
		    packet.destination_qpn != 1)
			continue;
		CU_ASSERT_FATAL(recording->count < MAX_MESSAGES);
		CU_ASSERT_EQUAL(
			vl_cm_decode(&recorded->message, packet.payload, packet.payload_length),
			VL_CM_RESULT_ok);
		recorded->source = packet.source_gid;
		recorded->destination = packet.destination_gid;
		memcpy(recorded->source_mac, packet.source_mac, 6);
		memcpy(recorded->destination_mac, packet.destination_mac, 6);
		recording->count++;
	}
	vl_capture_reader_close(reader);
	CU_ASSERT(recording->count >= 2);
}

static bool is_from_client(const struct recording *recording, const struct recorded *recorded)
{
	return !memcmp(&recorded->source, &recording->messages[0].source, sizeof(union ibv_gid));
}

/* ---- One of the two hosts ------------------------------------------------------------------- */

struct stage {
	const struct recording *recording;
	struct vl_device *device;
	struct vl_cm *cm;
	uint64_t now;
	struct vl_cm_message sent[MAX_MESSAGES];
	uint32_t sent_count;
	/* What the owner does. */
	uint32_t requests;
	struct vl_cm_connection *connections[8];
	uint32_t connection_count;
	bool has_crossed;
};

static void *allocate(void *context, size_t size)
{
	(void)context;
	return calloc(1, size);
}

static void release(void *context, void *memory, size_t size)
{
	(void)context;
	(void)size;
	free(memory);
}

static int resolve(void *context, const union ibv_gid *destination, uint8_t mac[6])
{
	const struct stage *stage = context;

	(void)destination;
	memcpy(mac, stage->recording->messages[0].destination_mac, 6);
	return 0;
}

static void open_stage(struct stage *stage, const struct recording *recording, bool is_client)
{
	const struct recorded *first = &recording->messages[0];
	struct vl_device_config device = {
		.allocator = {allocate, release, NULL},
		.events = {.resolve = resolve, .context = stage},
		.gid_count = 1,
	};
	/* As Linux has them. */
	const struct vl_cm_config cm = {.response_timeout = 20, .max_retries = 15, .seed = 1};

	memset(stage, 0, sizeof(*stage));
	stage->recording = recording;
	device.gids[0].gid = is_client ? first->source : first->destination;
	device.gids[0].encapsulation = device.gids[0].gid.raw[0] ? VL_ENCAPSULATION_ROCEV2_IPV6
								 : VL_ENCAPSULATION_ROCEV2_IPV4;
	memcpy(device.mac, is_client ? first->source_mac : first->destination_mac, 6);
	stage->device = vl_open_device(&device, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(stage->device);
	stage->cm = vl_cm_open(stage->device, &cm, 0, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(stage->cm);
}

static void close_stage(struct stage *stage)
{
	vl_cm_close(stage->cm);
	vl_close_device(stage->device);
}

static void act(struct stage *stage)
{
	uint8_t frame[512];
	struct vl_outgoing outgoing = {.headers = frame};

	vl_cm_poll(stage->cm, stage->now);
	while (vl_transmit(stage->device, stage->now, &outgoing)) {
		uint32_t length = vl_serialize(&outgoing, frame, sizeof(frame));
		struct vl_packet packet;

		CU_ASSERT_EQUAL(vl_parse(&packet, VL_LINK_ETHERNET, frame, length, length),
				VL_PARSE_ok);
		CU_ASSERT_FATAL(stage->sent_count < MAX_MESSAGES);
		vl_cm_decode(&stage->sent[stage->sent_count++], packet.payload,
			     packet.payload_length);
		outgoing.headers = frame;
	}
}

static void receive(struct stage *stage, const struct recorded *recorded,
		    const struct vl_cm_message *message)
{
	struct vl_path_attr attr = {
		.encapsulation = recorded->source.raw[0] ? VL_ENCAPSULATION_ROCEV2_IPV6
							 : VL_ENCAPSULATION_ROCEV2_IPV4,
		.source_gid = recorded->source,
		.destination_gid = recorded->destination,
	};
	uint8_t frame[512], *at = frame;
	struct vl_packet packet;
	struct vl_path path;

	memcpy(attr.source_mac, recorded->source_mac, 6);
	memcpy(attr.destination_mac, recorded->destination_mac, 6);
	CU_ASSERT_EQUAL_FATAL(vl_path_init(&path, &attr), 0);
	at += vl_path_write(&path, frame, 20 + VL_MAD_LENGTH);
	memset(at, 0, 20);
	at[0] = 0x64;
	at[2] = at[3] = 0xff;
	at[7] = at[19] = 1;
	vl_store_be32(at + 12, 0x80010000);
	CU_ASSERT_EQUAL(vl_cm_encode(at + 20, message, NULL), 0);
	at += 20 + VL_MAD_LENGTH;
	memset(at, 0, 4);
	CU_ASSERT_EQUAL(vl_parse(&packet, VL_LINK_ETHERNET, frame, (uint32_t)(at + 4 - frame),
				 (uint32_t)(at + 4 - frame)),
			VL_PARSE_ok);
	stage->now += 1000000;
	vl_receive(stage->device, &packet, stage->now);
	act(stage);
}

/* ---- Comparing ------------------------------------------------------------------------------ */

/* Makes equal what each side makes up for itself, so that the rest can be compared as a whole. */
static void forget_own(struct vl_cm_message *message)
{
	message->transaction_id = 0;
	switch (message->attribute_id) {
	case VL_CM_REQ:
		message->req.local_comm_id = message->req.starting_psn = 0;
		message->req.local_ca_guid = 0;
		message->req.primary.flow_label = 0;
		break;
	case VL_CM_REP:
		message->rep.local_comm_id = message->rep.remote_comm_id = 0;
		message->rep.starting_psn = 0;
		message->rep.local_ca_guid = 0;
		break;
	case VL_CM_REJ:
		message->rej.local_comm_id = message->rej.remote_comm_id = 0;
		break;
	case VL_CM_SIDR_REQ:
		message->sidr_req.request_id = 0;
		break;
	case VL_CM_SIDR_REP:
		message->sidr_rep.request_id = 0;
		break;
	case VL_CM_DREQ:
		message->dreq.local_comm_id = message->dreq.remote_comm_id = 0;
		break;
	default: /* RTU and DREP */
		message->rtu.local_comm_id = message->rtu.remote_comm_id = 0;
		break;
	}
}

static void compare(struct vl_cm_message ours, struct vl_cm_message theirs)
{
	forget_own(&ours);
	forget_own(&theirs);
	CU_ASSERT_EQUAL(ours.attribute_id, theirs.attribute_id);
	CU_ASSERT_EQUAL(memcmp(&ours, &theirs, sizeof(ours)), 0);
	if (memcmp(&ours, &theirs, sizeof(ours)))
		printf("\n    %s differs\n", vl_cm_message_name(theirs.attribute_id));
}

static const struct vl_cm_message *find_sent(const struct stage *stage, uint16_t attribute,
					     uint32_t number)
{
	for (uint32_t i = 0; i < stage->sent_count; i++) {
		if (stage->sent[i].attribute_id == attribute && !number--)
			return &stage->sent[i];
	}
	return NULL;
}

/* The n-th of its kind that Linux sent in the place that we had. */
static void compare_all(const struct stage *stage, bool is_client)
{
	uint32_t counts[32] = {0};

	for (uint32_t i = 0; i < stage->recording->count; i++) {
		const struct recorded *recorded = &stage->recording->messages[i];
		uint16_t attribute = recorded->message.attribute_id;
		const struct vl_cm_message *ours;

		if (is_from_client(stage->recording, recorded) != is_client ||
		    (attribute == VL_CM_DREQ && stage->has_crossed))
			continue;
		ours = find_sent(stage, attribute, counts[attribute - 0x10]++);
		CU_ASSERT_PTR_NOT_NULL(ours);
		if (ours)
			compare(*ours, recorded->message);
	}
}

/* ---- In the place of the server ------------------------------------------------------------- */

static const struct vl_cm_message *recorded_reply(const struct stage *stage, uint16_t attribute,
						  uint32_t number)
{
	for (uint32_t i = 0; i < stage->recording->count; i++) {
		const struct recorded *recorded = &stage->recording->messages[i];

		if (recorded->message.attribute_id == attribute &&
		    !is_from_client(stage->recording, recorded) && !number--)
			return &recorded->message;
	}
	return NULL;
}

static void serve(void *context, const struct vl_cm_event *event, uint64_t now)
{
	struct stage *stage = context;
	struct vl_cm_accept_param accept = {0};
	const struct vl_cm_message *reply;
	struct vl_cm_info info;

	if (event->type != VL_CM_EVENT_CONNECT_REQUEST)
		return;
	vl_cm_query(event->connection, &info);
	reply = recorded_reply(stage, info.qp_type == IBV_QPT_UD ? VL_CM_SIDR_REP : VL_CM_REP,
			       stage->requests++);
	CU_ASSERT_PTR_NOT_NULL_FATAL(reply);
	accept.private_data = reply->private_data;
	accept.private_data_length = (uint8_t)reply->private_data_length;
	if (info.qp_type == IBV_QPT_UD) {
		accept.qpn = reply->sidr_rep.qpn;
		accept.qkey = reply->sidr_rep.qkey;
	} else {
		accept.conn.qpn = reply->rep.local_qpn;
		accept.conn.responder_resources = reply->rep.responder_resources;
		accept.conn.initiator_depth = reply->rep.initiator_depth;
		accept.conn.rnr_retry_count = reply->rep.rnr_retry_count;
		accept.conn.srq = reply->rep.srq;
		accept.conn.flow_control = reply->rep.end_to_end_flow_control;
		/* The READ limits that are granted are those that were asked for, at most. */
		CU_ASSERT(accept.conn.responder_resources <= event->param.conn.responder_resources);
		stage->connections[stage->connection_count++] = event->connection;
	}
	CU_ASSERT_EQUAL(vl_cm_accept(event->connection, &accept, now), 0);
}

/* The peer's later messages name the ID that Linux had made; ours takes its place. */
static void rename_server(const struct stage *stage, struct vl_cm_message *message)
{
	for (uint32_t i = 0; i < stage->sent_count; i++) {
		const struct vl_cm_message *recorded = recorded_reply(stage, VL_CM_REP, i);
		const struct vl_cm_message *ours = find_sent(stage, VL_CM_REP, i);

		if (!recorded || !ours)
			return;
		if (message->rtu.remote_comm_id == recorded->rep.local_comm_id) {
			message->rtu.remote_comm_id = ours->rep.local_comm_id;
			return;
		}
	}
}

static void play_server(const char *name, bool listens)
{
	struct recording recording;
	struct stage stage;

	read_recording(name, &recording);
	open_stage(&stage, &recording, false);
	for (uint32_t i = 0; i < recording.count && listens; i++) {
		const struct vl_cm_message *message = &recording.messages[i].message;
		struct vl_cm_listen_param listen = {.handler = {serve, &stage}};

		listen.qp_type = message->attribute_id == VL_CM_SIDR_REQ ? IBV_QPT_UD : IBV_QPT_RC;
		listen.service_id = listen.qp_type == IBV_QPT_UD ? message->sidr_req.service_id
								 : message->req.service_id;
		if (message->attribute_id == VL_CM_REQ || message->attribute_id == VL_CM_SIDR_REQ)
			vl_cm_listen(stage.cm, &listen, NULL);
	}
	for (uint32_t i = 0; i < recording.count; i++) {
		const struct recorded *recorded = &recording.messages[i];
		struct vl_cm_message message = recorded->message;

		if (is_from_client(&recording, recorded)) {
			if (message.attribute_id != VL_CM_REQ &&
			    message.attribute_id != VL_CM_SIDR_REQ)
				rename_server(&stage, &message);
			receive(&stage, recorded, &message);
		} else if (message.attribute_id == VL_CM_DREQ && stage.connection_count) {
			/* What the owner there did. Where both release at once, the other's message
			 * may be here already. */
			stage.now += 1000000;
			if (vl_cm_disconnect(stage.connections[--stage.connection_count],
					     stage.now))
				stage.has_crossed = true;
			act(&stage);
		}
	}
	compare_all(&stage, false);
	close_stage(&stage);
}

static void test_server(void)
{
	static const char *const captures[] = {
		"rxe-cm-rping-ipv4.pcap",
		"rxe-cm-rping-ipv6.pcap",
		"rxe-cm-rping-64k-ipv4-mtu4096.pcap",
		"rxe-cm-udaddy-ipv4.pcap",
		"rxe-cm-rstream-write-imm-ipv4.pcap",
		"rxe-exercise-ipv4.pcap",
		"rxe-refused-read-bad-rkey-ipv4.pcap",
	};

	for (uint32_t i = 0; i < sizeof(captures) / sizeof(captures[0]); i++)
		play_server(captures[i], true);
}

static void test_server_refuses(void)
{
	play_server("rxe-cm-rejected-ipv4.pcap", false);
}

/* ---- In the place of the client ------------------------------------------------------------- */

static void own(void *context, const struct vl_cm_event *event, uint64_t now)
{
	if (event->type == VL_CM_EVENT_CONNECT_RESPONSE)
		CU_ASSERT_EQUAL(vl_cm_establish(event->connection, NULL, 0, now), 0);
	(void)context;
}

static struct vl_cm_connection *connect_as(struct stage *stage, const struct vl_cm_message *message)
{
	const struct vl_cm_req *req = &message->req;
	bool is_datagram = message->attribute_id == VL_CM_SIDR_REQ;
	struct vl_rdma_ip ip;
	struct vl_cm_connect_param param = {
		.service_id = is_datagram ? message->sidr_req.service_id : req->service_id,
		.qp_type = is_datagram ? IBV_QPT_UD : IBV_QPT_RC,
		.destination = stage->recording->messages[0].destination,
		.private_data = message->private_data + VL_RDMA_IP_LENGTH,
		.private_data_length = (uint8_t)(message->private_data_length - VL_RDMA_IP_LENGTH),
		.handler = {own, stage},
	};
	int error = 0;
	struct vl_cm_connection *connection;

	CU_ASSERT_EQUAL_FATAL(
		vl_rdma_ip_decode(&ip, message->private_data, message->private_data_length), 0);
	param.source_port = ip.source_port;
	if (!is_datagram) {
		param.path_mtu = req->path_mtu;
		param.traffic_class = req->primary.traffic_class;
		param.hop_limit = req->primary.hop_limit;
		param.service_level = req->primary.service_level;
		param.ack_timeout = req->primary.ack_timeout;
		param.conn = (struct vl_cm_conn_param){
			.qpn = req->local_qpn,
			.responder_resources = req->responder_resources,
			.initiator_depth = req->initiator_depth,
			.retry_count = req->retry_count,
			.rnr_retry_count = req->rnr_retry_count,
			.flow_control = req->end_to_end_flow_control,
			.srq = req->srq,
		};
	}
	connection = vl_cm_connect(stage->cm, &param, stage->now, &error);
	CU_ASSERT_EQUAL(error, 0);
	act(stage);
	return connection;
}

/* The server's messages name the client's IDs that Linux had made. */
static void rename_client(const struct stage *stage, struct vl_cm_message *message)
{
	uint32_t *id = message->attribute_id == VL_CM_SIDR_REP ? &message->sidr_rep.request_id
							       : &message->rtu.remote_comm_id;
	uint32_t number = 0;

	for (uint32_t i = 0; i < stage->recording->count; i++) {
		const struct vl_cm_message *recorded = &stage->recording->messages[i].message;
		const struct vl_cm_message *ours;

		if (recorded->attribute_id != VL_CM_REQ && recorded->attribute_id != VL_CM_SIDR_REQ)
			continue;
		ours = find_sent(stage, recorded->attribute_id, number++);
		/* Both begin with it. */
		if (ours && *id == recorded->req.local_comm_id) {
			*id = ours->req.local_comm_id;
			return;
		}
	}
}

static void play_client(const char *name)
{
	struct recording recording;
	struct stage stage;

	read_recording(name, &recording);
	open_stage(&stage, &recording, true);
	for (uint32_t i = 0; i < recording.count; i++) {
		const struct recorded *recorded = &recording.messages[i];
		struct vl_cm_message message = recorded->message;

		if (!is_from_client(&recording, recorded)) {
			rename_client(&stage, &message);
			receive(&stage, recorded, &message);
		} else if (message.attribute_id == VL_CM_REQ ||
			   message.attribute_id == VL_CM_SIDR_REQ) {
			stage.connections[stage.connection_count++] = connect_as(&stage, &message);
		} else if (message.attribute_id == VL_CM_DREQ) {
			stage.now += 1000000;
			CU_ASSERT_EQUAL(
				vl_cm_disconnect(stage.connections[--stage.connection_count],
						 stage.now),
				0);
			act(&stage);
		}
	}
	compare_all(&stage, true);
	close_stage(&stage);
}

static void test_client(void)
{
	static const char *const captures[] = {
		"rxe-cm-rping-ipv4.pcap",
		"rxe-cm-rping-ipv6.pcap",
		"rxe-cm-rping-64k-ipv4-mtu4096.pcap",
		"rxe-cm-udaddy-ipv4.pcap",
		"rxe-cm-rstream-write-imm-ipv4.pcap",
		"rxe-exercise-ipv4.pcap",
		"rxe-cm-rejected-ipv4.pcap",
		"rxe-cm-ucmatose-ipv4.pcap",
	};

	for (uint32_t i = 0; i < sizeof(captures) / sizeof(captures[0]); i++)
		play_client(captures[i]);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"in the place of the server", test_server},
		{"a server where nobody listens", test_server_refuses},
		{"in the place of the client", test_client},
	};

	return RUN_SUITE("cm", tests, argc, argv);
}
