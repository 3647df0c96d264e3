/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Streams from buffers that keep their payload, over a ring: every frame right, whatever length its
 * buffer had before; beside an endpoint that obeys PFC, takes answers and shows a tap what it
 * sends. The stage is run by hand, so that nothing depends on who has a CPU. */

#include "dataplane/runtime/endpoint_stage.h"
#include "dataplane/runtime/stream_stage.h"
#include "dataplane/stream/stream.h"
#include "tests/vdev/support.h"
#include "transport/wire/headers.h"
#include "transport/wire/icrc.h"
#include "transport/wire/opcode.h"
#include "transport/wire/parse.h"

#include <rte_mempool.h>

#include <string.h>

#define FRAMES    64u
#define LOCAL_QPN 0x4000u
#define FLOWS     3u

struct rig {
	struct vl_port *ends[2];
	struct rte_mempool *mempool;
	struct vl_endpoint *endpoint;
	struct vl_endpoint_stage stage;
	struct vl_stream_group *group;
	struct vl_stream *stream;
	struct vl_stream_stage *streams;
	struct vl_stage run;
	uint64_t now;
	uint32_t next_psn[FLOWS];
	uint64_t frames, wrong, seen;
	bool lengths[4097]; /* of payload that came */
};

static union ibv_gid gid_of(uint8_t host)
{
	return (union ibv_gid){.raw = {0xfd, [15] = host}};
}

static void open_rig(struct rig *rig, const struct vl_stream_size *sizes, uint32_t count,
		     uint64_t frame_limit)
{
	const struct vl_endpoint_config endpoint = {
		.device = {.mac = {2, 0, 0, 0, 0, 1},
			   .gid_count = 1,
			   .gids = {{.gid = gid_of(1),
				     .encapsulation = VL_ENCAPSULATION_ROCEV2_IPV6}}},
	};
	const struct vl_stream_config stream = {
		.name = "test",
		.kind = VL_STREAM_ROCE,
		.path = {.encapsulation = VL_ENCAPSULATION_ROCEV2_IPV6,
			 .source_mac = {2, 0, 0, 0, 0, 1},
			 .destination_mac = {2, 0, 0, 0, 0, 2},
			 .vlan_present = true,
			 .vlan_id = 5,
			 .priority = 3,
			 .source_gid = gid_of(1),
			 .destination_gid = gid_of(2),
			 .udp_source_port = 0xc000},
		.source_port_count = FLOWS,
		.flow_count = FLOWS,
		.roce = {.service = IBV_QPT_RC,
			 .verb = IBV_WR_RDMA_WRITE,
			 .path_mtu = 4096,
			 .local_qpn = LOCAL_QPN,
			 .remote_qpn = 0x100,
			 .remote_qpn_step = 1,
			 .ack_request_messages = 1},
		.sizes = sizes,
		.size_count = count,
		.seed = 1,
		.frame_limit = frame_limit,
	};
	struct vl_error error = {.text = ""};

	memset(rig, 0, sizeof(*rig));
	CU_ASSERT_EQUAL_FATAL(vl_ring_link_open("stream", 1, FRAMES, rig->ends, &error), 0);
	rig->mempool = vl_mempool_create("stream-endpoint", 256, &error);
	rig->endpoint = vl_endpoint_create(&endpoint, NULL);
	rig->group = vl_stream_group_create();
	CU_ASSERT_FATAL(rig->mempool && rig->endpoint && rig->group);
	rig->stream = vl_stream_group_add(rig->group, &stream, 0, &error);
	CU_ASSERT_PTR_NOT_NULL_FATAL(rig->stream);
	vl_endpoint_stage_init(&rig->stage, rig->endpoint, rig->ends[0], rig->mempool);
	rig->streams = vl_stream_stage_open(&rig->stage, rig->group, FRAMES, &error);
	CU_ASSERT_PTR_NOT_NULL_FATAL(rig->streams);
	rig->run = vl_endpoint_stage(&rig->stage);
}

static void close_rig(struct rig *rig)
{
	vl_endpoint_stage_release(&rig->stage);
	vl_port_close(rig->ends[0]);
	vl_port_close(rig->ends[1]);
	vl_stream_stage_close(rig->streams);
	vl_endpoint_destroy(rig->endpoint);
	vl_stream_group_destroy(rig->group);
	rte_mempool_free(rig->mempool);
}

static bool is_right(struct rig *rig, const uint8_t *frame, uint32_t length)
{
	struct vl_packet packet;
	uint32_t flow;

	if (vl_parse(&packet, VL_LINK_ETHERNET, frame, length, length) != VL_PARSE_ok ||
	    !vl_icrc_is_right(&packet))
		return false;
	flow = packet.destination_qpn - 0x100;
	if (flow >= FLOWS || packet.psn != rig->next_psn[flow]++)
		return false;
	/* The pattern of a stream without one: its bytes count. */
	for (uint32_t i = 0; i < packet.payload_length; i++) {
		if (packet.payload[i] != (uint8_t)i)
			return false;
	}
	rig->lengths[packet.payload_length] = true;
	return true;
}

/* A round of the stage, and what came of it. Returns how many frames. */
static uint32_t turn(struct rig *rig)
{
	struct rte_mbuf *mbufs[VL_PORT_BURST];
	uint32_t all = 0;
	uint16_t count;

	rig->now += 1000;
	rig->run.run(rig->run.context, rig->now);
	while ((count = vl_port_receive(rig->ends[1], 0, mbufs, VL_PORT_BURST))) {
		for (uint16_t i = 0; i < count; i++) {
			rig->frames++;
			rig->wrong += !is_right(rig, rte_pktmbuf_mtod(mbufs[i], uint8_t *),
						mbufs[i]->data_len);
		}
		rte_pktmbuf_free_bulk(mbufs, count);
		all += count;
	}
	return all;
}

/* What the peer sends. */
static void send_back(struct rig *rig, const uint8_t *frame, uint32_t length)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(rig->mempool);

	CU_ASSERT_PTR_NOT_NULL_FATAL(mbuf);
	memcpy(rte_pktmbuf_append(mbuf, (uint16_t)length), frame, length);
	CU_ASSERT_EQUAL(vl_port_transmit(rig->ends[1], 0, &mbuf, 1), 1);
}

static void test_every_length(void)
{
	static struct vl_stream_size sizes[4096];
	uint32_t count = vl_stream_size_range(1, 4096, 1, sizes, 4096), missing = 0;
	struct rig rig;

	open_rig(&rig, sizes, count, 0);
	while (rig.frames < 20000 && turn(&rig))
		;
	CU_ASSERT(rig.frames >= 20000);
	CU_ASSERT_EQUAL(rig.wrong, 0);
	for (uint32_t i = 1; i <= 4096; i++)
		missing += !rig.lengths[i];
	CU_ASSERT_EQUAL(missing, 0);
	CU_ASSERT_EQUAL(rig.endpoint->counters.tx_frames,
			vl_stream_counters(rig.stream)->frames_tx);
	close_rig(&rig);
}

static void test_limit(void)
{
	static const struct vl_stream_size size = {10000, 1};
	struct rig rig;

	open_rig(&rig, &size, 1, 100);
	for (int i = 0; i < 20; i++)
		turn(&rig);
	CU_ASSERT_EQUAL(rig.frames, 100);
	CU_ASSERT_EQUAL(rig.wrong, 0);
	CU_ASSERT_TRUE(vl_stream_is_done(rig.stream, rig.now));
	close_rig(&rig);
}

static void test_pauses(void)
{
	static const struct vl_stream_size size = {4096, 1};
	struct vl_pfc pause = {.enabled = 1 << 3, .quanta = {[3] = 0xffff}};
	const uint8_t mac[6] = {2, 0, 0, 0, 0, 2};
	uint8_t frame[VL_PFC_FRAME_LENGTH];
	struct rig rig;

	open_rig(&rig, &size, 1, 0);
	CU_ASSERT(turn(&rig) > 0);
	vl_pfc_write(frame, mac, &pause);
	send_back(&rig, frame, sizeof(frame));
	turn(&rig);
	CU_ASSERT_EQUAL(turn(&rig), 0);
	CU_ASSERT_EQUAL(turn(&rig), 0);
	pause.quanta[3] = 0;
	vl_pfc_write(frame, mac, &pause);
	send_back(&rig, frame, sizeof(frame));
	turn(&rig);
	CU_ASSERT(turn(&rig) > 0);
	CU_ASSERT_EQUAL(rig.wrong, 0);
	close_rig(&rig);
}

static void test_answers(void)
{
	static const struct vl_stream_size size = {4096, 1};
	const struct vl_path_attr attr = {
		.encapsulation = VL_ENCAPSULATION_ROCEV2_IPV6,
		.source_mac = {2, 0, 0, 0, 0, 2},
		.destination_mac = {2, 0, 0, 0, 0, 1},
		.source_gid = gid_of(2),
		.destination_gid = gid_of(1),
	};
	uint8_t headers[VL_MAX_HEADER_LENGTH], frame[256];
	struct vl_outgoing outgoing = {.headers = headers,
				       .encapsulation = VL_ENCAPSULATION_ROCEV2_IPV6};
	struct vl_path path;
	struct rig rig;
	uint32_t bth;

	open_rig(&rig, &size, 1, 0);
	CU_ASSERT_EQUAL_FATAL(vl_path_init(&path, &attr), 0);
	bth = vl_path_write(&path, headers, 16);
	vl_bth_write(headers + bth, VL_SERVICE_RC | VL_OP_ACKNOWLEDGE, false, true, 0, 0xffff,
		     LOCAL_QPN + 1, false, 0, false);
	vl_aeth_write(headers + bth + 12, 0x1f, 1);
	outgoing.header_length = (uint16_t)(bth + 16);
	outgoing.network_offset = path.network_offset;
	outgoing.frame_length = bth + 16 + 4;
	send_back(&rig, frame, vl_serialize(&outgoing, frame, sizeof(frame)));
	/* Its ICRC is looked at. */
	frame[bth + 15] ^= 1;
	send_back(&rig, frame, outgoing.frame_length);
	turn(&rig);
	CU_ASSERT_EQUAL(vl_stream_counters(rig.stream)->ack_rx, 1);
	CU_ASSERT_EQUAL(vl_stream_flow_report(rig.stream, 1, rig.now).ack_rx, 1);
	CU_ASSERT_EQUAL(vl_device_drops(rig.endpoint->device)[VL_DROP_icrc], 1);
	close_rig(&rig);
}

static void see(void *context, enum vl_direction direction, const struct vl_frame *frame,
		uint64_t now, const char *comment)
{
	struct rig *rig = context;

	(void)frame;
	(void)now;
	(void)comment;
	rig->seen += direction == VL_DIRECTION_TRANSMITTED;
}

static void test_tap(void)
{
	static const struct vl_stream_size size = {9000, 1};
	struct rig rig;

	open_rig(&rig, &size, 1, 0);
	turn(&rig);
	vl_endpoint_set_tap(rig.endpoint, &(struct vl_frame_tap){.see = see, .context = &rig});
	/* What was made before goes out unseen; at the end some is seen that is still to go out. */
	turn(&rig);
	rig.frames = rig.seen = 0;
	for (int i = 0; i < 10; i++)
		turn(&rig);
	CU_ASSERT(rig.frames > 0);
	CU_ASSERT(rig.seen >= rig.frames && rig.seen <= rig.frames + VL_PORT_BURST);
	vl_endpoint_set_tap(rig.endpoint, NULL);
	for (int i = 0; i < 10; i++)
		turn(&rig);
	CU_ASSERT(rig.frames > rig.seen);
	CU_ASSERT_EQUAL(rig.wrong, 0);
	close_rig(&rig);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"every_length", test_every_length}, {"limit", test_limit}, {"pauses", test_pauses},
		{"answers", test_answers},           {"tap", test_tap},
	};
	int result = test_start_eal(1);

	if (result)
		return result;
	result = RUN_SUITE("vdev/stream", tests, argc, argv);
	vl_eal_stop();
	return result;
}
