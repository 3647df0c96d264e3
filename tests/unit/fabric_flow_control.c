/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Switches that pause, and are paused, in a network in virtual time. */

#include "dataplane/network_audit.h"
#include "tests/unit/fabric_star.h"

static void incast(struct star *star, const struct vl_switch_config *config)
{
	start(star, 5, config);
	for (unsigned int i = 1; i <= 4; i++)
		add_flow(star, i, 5, 65536, 100, NULL);
	vl_network_run_until(star->network, 400000000);
}

static uint64_t drops(const struct star *star)
{
	const struct vl_switch_queue_counters *counters = &port_of(star, 5)->queue_counters[3];

	return counters->drop_queue_full + counters->drop_buffer_full + counters->drop_headroom +
	       counters->drop_red;
}

static void test_lossless_incast(void)
{
	struct vl_switch_config config = lossless_config(30000);
	uint64_t most = 0, paused = 0;
	struct star star;
	double rate;

	incast(&star, &config);
	rate = 400.0 * 65536 * 8 / (double)finish_time(&star);
	CU_ASSERT_TRUE(rate > 97.5);
	CU_ASSERT_EQUAL(drops(&star), 0);
	for (unsigned int i = 1; i <= 4; i++) {
		const struct vl_endpoint *endpoint = vl_node_endpoint(star.hosts[i - 1]);
		const struct vl_switch_port *port = port_of(&star, i);

		CU_ASSERT_EQUAL(counters_of(&star, i)->data_frames_retransmitted, 0);
		CU_ASSERT_TRUE(port->pfc.frames[3] > 0);
		CU_ASSERT_EQUAL(endpoint->counters.pfc_rx, port->counters.pfc_tx);
		if (port->groups[3].watermark > most)
			most = port->groups[3].watermark;
		paused += endpoint->pause.paused_time[3];
	}
	/* Beyond XOFF: what is sent until the pause arrives and is obeyed, a round trip and a frame
	 * being sent at either end. */
	CU_ASSERT_TRUE(most > 60000);
	CU_ASSERT_TRUE(most <= 60000 + 2 * 4154 + 2 * PROPAGATION * 100 / 8 + 200 + 4154);
	/* Four senders share a line: each is paused for three quarters of the time. */
	CU_ASSERT_DOUBLE_EQUAL((double)paused / (double)finish_time(&star), 3.0, 0.1);
	finish(&star);
}

static void test_too_little_headroom(void)
{
	struct vl_switch_config config = lossless_config(4200);
	struct star star;

	incast(&star, &config);
	CU_ASSERT_TRUE(port_of(&star, 5)->queue_counters[3].drop_headroom > 0);
	CU_ASSERT_TRUE(drops(&star) == port_of(&star, 5)->queue_counters[3].drop_headroom);
	finish_time(&star);
	finish(&star);
}

/* Without PFC frames are lost, every one is accounted for, and the flows recover. */
static void test_lossy_incast(void)
{
	struct vl_switch_config config = switch_config();
	uint64_t arrived = 0;
	struct star star;

	config.port.queues[HOST_DATA_PRIORITY].buffer.threshold = vl_threshold_static(200000);
	incast(&star, &config);
	CU_ASSERT_TRUE(drops(&star) > 0);
	CU_ASSERT_EQUAL(drops(&star), port_of(&star, 5)->queue_counters[3].drop_queue_full);
	for (unsigned int i = 1; i <= 4; i++)
		arrived += port_of(&star, i)->counters.rx_frames;
	CU_ASSERT_EQUAL(arrived, port_of(&star, 5)->counters.tx_frames + drops(&star));
	CU_ASSERT_TRUE(port_of(&star, 5)->queues[3].watermark <= 200000);
	CU_ASSERT_TRUE(finish_time(&star) > 0);
	finish(&star);
}

/* What has been counted is audited: one frame too many is found on the link and in the switch. */
static void test_audit(void)
{
	struct vl_switch_config config = lossless_config(4200);
	struct star star;
	char text[256] = "";

	incast(&star, &config);
	CU_ASSERT_TRUE(vl_network_audit(star.network, text, sizeof(text)));
	CU_ASSERT_STRING_EQUAL(text, "");
	vl_network_link(star.hosts[0], 0)->counters.frames_tx++;
	CU_ASSERT_FALSE(vl_network_audit(star.network, text, sizeof(text)));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "frames on the link"));
	vl_network_link(star.hosts[0], 0)->counters.frames_tx--;
	port_of(&star, 5)->queue_counters[3].drop_headroom--;
	CU_ASSERT_FALSE(vl_network_audit(star.network, text, sizeof(text)));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "frames through the switch"));
	port_of(&star, 5)->queue_counters[3].drop_headroom++;
	port_of(&star, 2)->groups[3].used++;
	CU_ASSERT_FALSE(vl_network_audit(star.network, text, sizeof(text)));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "bytes of packet memory"));
	port_of(&star, 2)->groups[3].used--;
	finish_time(&star);
	finish(&star);
}

/* ---- A receiver that pauses the switch ------------------------------------------------------ */

static struct {
	uint64_t from, to; /* ns: no data may leave the port in between */
	uint64_t violations, frames_after;
} silence;

static void watch(void *context, const struct vl_node *node, uint32_t port,
		  enum vl_direction direction, const struct vl_frame *frame, uint64_t now)
{
	(void)context;
	(void)node;
	(void)port;
	if (direction == VL_DIRECTION_TRANSMITTED && frame->priority == HOST_DATA_PRIORITY) {
		silence.violations += now >= silence.from && now < silence.to;
		silence.frames_after += now >= silence.to;
	}
}

/* A pause of 65535 quanta lasts 335.54 us at 100 Gb/s; held for two milliseconds it must have been
 * refreshed, and none may leave a gap. */
static void test_endpoint_pauses_its_peer(void)
{
	struct vl_switch_config config = switch_config();
	const struct vl_tap tap = {.frame = watch};
	struct vl_endpoint *receiver;
	struct star star;

	start(&star, 2, &config);
	receiver = vl_node_endpoint(star.hosts[1]);
	vl_network_tap(star.network, star.sw, 1, &tap);
	add_flow(&star, 1, 2, 65536, 1000, NULL);
	vl_network_run_until(star.network, 1000000);
	vl_endpoint_pause_peer(receiver, HOST_DATA_PRIORITY, true);
	/* The PFC frame waits for no more than an ACK, takes 5.92 ns and the propagation. */
	silence.from = 1000000 + 306 + 10;
	silence.to = 3000000;
	silence.violations = silence.frames_after = 0;
	vl_network_run_until(star.network, 3000000);
	CU_ASSERT_EQUAL(silence.violations, 0);
	CU_ASSERT_TRUE(receiver->counters.pfc_tx >= 2000000 / 167770);
	vl_endpoint_pause_peer(receiver, HOST_DATA_PRIORITY, false);
	vl_network_run_until(star.network, 3010000);
	CU_ASSERT_TRUE(silence.frames_after > 20);
	vl_network_run_until(star.network, 400000000);
	finish_time(&star);
	finish(&star);
}

/* One pause that nobody refreshes ends by itself, to the nanosecond. */
static void test_pause_ends_by_itself(void)
{
	struct vl_switch_config config = switch_config();
	const struct vl_tap tap = {.frame = watch};
	struct vl_pfc pfc = {.enabled = 1 << HOST_DATA_PRIORITY};
	struct vl_frame *frame;
	struct star star;

	start(&star, 2, &config);
	vl_network_tap(star.network, star.sw, 1, &tap);
	add_flow(&star, 1, 2, 65536, 1000, NULL);
	vl_network_run_until(star.network, 1000000);
	frame = vl_frame_get(vl_network_frame_pool(star.network));
	pfc.quanta[HOST_DATA_PRIORITY] = 1000; /* 5120 ns */
	vl_pfc_write(frame->data, vl_node_endpoint(star.hosts[1])->mac, &pfc);
	frame->length = VL_PFC_FRAME_LENGTH;
	vl_switch_receive(vl_node_switch(star.sw), 1, frame, 1000000);
	silence.from = 1000000;
	silence.to = 1005120;
	silence.violations = silence.frames_after = 0;
	vl_network_run_until(star.network, 1005119);
	CU_ASSERT_EQUAL(silence.violations, 0);
	CU_ASSERT_EQUAL(silence.frames_after, 0);
	vl_network_run_until(star.network, 1005120);
	CU_ASSERT_EQUAL(silence.frames_after, 1);
	vl_network_run_until(star.network, 400000000);
	finish_time(&star);
	finish(&star);
}

static const struct test tests[] = {
	{"lossless_incast", test_lossless_incast},
	{"too_little_headroom", test_too_little_headroom},
	{"lossy_incast", test_lossy_incast},
	{"audit", test_audit},
	{"endpoint_pauses_its_peer", test_endpoint_pauses_its_peer},
	{"pause_ends_by_itself", test_pause_ends_by_itself},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("fabric_flow_control", tests, argc, argv);
}
