/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/fabric/switch.h"
#include "tests/support/suite.h"
#include "tests/unit/switch_frames.h"

#include <errno.h>

static void test_forwarding(void)
{
	struct vl_switch_config config = four_ports();
	struct vl_frame *frame;
	uint8_t mac[6] = {2, 9};

	start(&config);
	CU_ASSERT_EQUAL(put(0, 2, 100, DATA, ECT, 0), 2);
	CU_ASSERT_EQUAL(put(1, 2, 200, DATA, ECT, 0), 2);
	CU_ASSERT_EQUAL(take(2, 1, NULL), 100);
	CU_ASSERT_EQUAL(take(2, 1, NULL), 200);
	CU_ASSERT_EQUAL(take(2, 1, NULL), 0);
	CU_ASSERT_EQUAL(put(0, 77, 100, DATA, ECT, 2), VL_SWITCH_NO_PORT);
	CU_ASSERT_EQUAL(put(0, 0, 100, DATA, ECT, 2), VL_SWITCH_NO_PORT);
	CU_ASSERT_EQUAL(sw->ports[0].counters.drop_no_route, 2);
	frame = vl_frame_get(&pool.pool);
	frame->length = 13;
	CU_ASSERT_EQUAL(vl_switch_receive(sw, 3, frame, 2), VL_SWITCH_NO_PORT);
	CU_ASSERT_EQUAL(sw->ports[3].counters.drop_malformed, 1);
	CU_ASSERT_EQUAL(sw->ports[0].counters.rx_frames, 3);
	CU_ASSERT_EQUAL(sw->ports[0].counters.rx_bytes, 300);
	CU_ASSERT_EQUAL(sw->ports[2].counters.tx_bytes, 300);
	CU_ASSERT_EQUAL(sw->ports[2].queue_counters[3].tx_frames, 2);
	CU_ASSERT_EQUAL(vl_switch_add_route(sw, mac, 4), -EINVAL);
	CU_ASSERT_EQUAL(sw->buffer.used, 0);
	CU_ASSERT_EQUAL(sw->buffer.watermark, 300);
	finish();
}

static void test_many_routes(void)
{
	struct vl_switch_config config = four_ports();
	unsigned int wrong = 0;

	start(&config);
	for (uint32_t i = 0; i < 5000; i++) {
		uint8_t mac[6] = {6, 0, 0, (uint8_t)(i >> 16), (uint8_t)(i >> 8), (uint8_t)i};

		CU_ASSERT_EQUAL_FATAL(vl_switch_add_route(sw, mac, 1 + i % 3), 0);
	}
	for (uint32_t i = 0; i < 5000; i++) {
		struct vl_frame *frame = make_ipv4_frame(&pool.pool, 60, 0, 0, DATA, ECT);

		frame->data[0] = 6;
		frame->data[4] = (uint8_t)(i >> 8);
		frame->data[5] = (uint8_t)i;
		if (vl_switch_receive(sw, 0, frame, 0) != 1 + i % 3)
			wrong++;
	}
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT_EQUAL(sw->forwarding.route_count, 5004);
	finish();
}

static void test_classification(void)
{
	struct vl_switch_config config = four_ports();
	struct vl_frame *frame;

	config.port.classifier.default_class = 1;
	start(&config);
	put(0, 1, 100, CNP, ECT, 0);
	CU_ASSERT_EQUAL(sw->ports[1].queues[6].frames, 1);
	put(0, 1, 100, 0, ECT, 0);
	CU_ASSERT_EQUAL(sw->ports[1].queues[0].frames, 1);
	frame = make_ipv4_frame(&pool.pool, 100, 1, 0, 0, 0);
	frame->data[12] = 0x86; /* IPv6, traffic class 26 << 2 */
	frame->data[13] = 0xdd;
	frame->data[14] = 0x66;
	frame->data[15] = 0x80;
	vl_switch_receive(sw, 0, frame, 0);
	CU_ASSERT_EQUAL(sw->ports[1].queues[3].frames, 1);
	frame = make_ipv4_frame(&pool.pool, 100, 1, 0, 0, 0);
	frame->data[12] = 0x77; /* unknown */
	vl_switch_receive(sw, 0, frame, 0);
	CU_ASSERT_EQUAL(sw->ports[1].queues[1].frames, 1);
	frame = make_ipv4_frame(&pool.pool, 14, 1, 0, 0, 0);
	vl_switch_receive(sw, 0, frame, 0);
	CU_ASSERT_EQUAL(sw->ports[1].queues[1].frames, 2);
	finish();

	config.port.classifier.trust = VL_TRUST_PCP;
	start(&config);
	put(0, 1, 100, CNP, ECT, 0);
	CU_ASSERT_EQUAL(sw->ports[1].queues[1].frames, 1);
	frame = make_ipv4_frame(&pool.pool, 100, 1, 0, CNP, 0);
	memmove(frame->data + 16, frame->data + 12, 84);
	frame->data[12] = 0x81;
	frame->data[13] = 0x00;
	frame->data[14] = 5 << 5;
	vl_switch_receive(sw, 0, frame, 0);
	CU_ASSERT_EQUAL(sw->ports[1].queues[5].frames, 1);
	finish();
}

static void test_finite_queue_and_buffer(void)
{
	struct vl_switch_config config = four_ports();

	config.buffer = 2500;
	config.port.queues[3].buffer.threshold = vl_threshold_static(2000);
	start(&config);
	CU_ASSERT_EQUAL(put(0, 1, 1000, DATA, ECT, 0), 1);
	CU_ASSERT_EQUAL(put(0, 1, 1000, DATA, ECT, 0), 1);
	CU_ASSERT_EQUAL(put(0, 1, 42, DATA, ECT, 0), VL_SWITCH_NO_PORT);
	CU_ASSERT_EQUAL(sw->ports[1].queue_counters[3].drop_queue_full, 1);
	CU_ASSERT_EQUAL(put(0, 2, 501, DATA, ECT, 0), VL_SWITCH_NO_PORT);
	CU_ASSERT_EQUAL(sw->ports[2].queue_counters[3].drop_buffer_full, 1);
	CU_ASSERT_EQUAL(put(0, 2, 500, DATA, ECT, 0), 2);
	CU_ASSERT_EQUAL(sw->buffer.used, 2500);
	CU_ASSERT_EQUAL(sw->ports[0].groups[3].used, 2500);
	take(1, 1, NULL);
	CU_ASSERT_EQUAL(sw->ports[0].groups[3].used, 1500);
	CU_ASSERT_EQUAL(sw->ports[1].queues[3].watermark, 2000);
	finish();
}

/* Kmin = Kmax = 2000. At enqueue the frame that finds more than 2000 bytes is marked; at dequeue
 * the frame that leaves more than 2000 bytes behind. */
static void test_marking_point(void)
{
	struct vl_switch_config config = four_ports();
	uint8_t ecn[5], expected_enqueue[5] = {2, 2, 2, 3, 3},
			expected_dequeue[5] = {3, 3, 2, 2, 2};

	config.port.queues[3].red = vl_red_marking(VL_RED_AT_ENQUEUE, 2000, 2000, 1);
	start(&config);
	for (int i = 0; i < 5; i++)
		put(0, 1, 1000, DATA, ECT, 0);
	for (int i = 0; i < 5; i++)
		CU_ASSERT_EQUAL(take(1, 1, &ecn[i]), 1000);
	CU_ASSERT_EQUAL(memcmp(ecn, expected_enqueue, 5), 0);
	CU_ASSERT_EQUAL(sw->ports[1].queue_counters[3].ecn_marked, 2);
	finish();

	config.port.queues[3].red.point = VL_RED_AT_DEQUEUE;
	start(&config);
	for (int i = 0; i < 5; i++)
		put(0, 1, 1000, DATA, ECT, 0);
	for (int i = 0; i < 5; i++)
		CU_ASSERT_EQUAL(take(1, 1, &ecn[i]), 1000);
	CU_ASSERT_EQUAL(memcmp(ecn, expected_dequeue, 5), 0);
	CU_ASSERT_EQUAL(sw->ports[1].queue_counters[3].ecn_marked, 2);
	finish();
}

static void test_red_drops_what_is_not_capable(void)
{
	struct vl_switch_config config = four_ports();

	config.port.queues[3].red = vl_red_marking(VL_RED_AT_ENQUEUE, 2000, 2000, 1);
	start(&config);
	for (int i = 0; i < 5; i++)
		put(0, 1, 1000, DATA, 0, 0);
	CU_ASSERT_EQUAL(sw->ports[1].queue_counters[3].drop_red, 2);
	CU_ASSERT_EQUAL(sw->ports[1].queues[3].frames, 3);
	finish();

	config.port.queues[3].red.point = VL_RED_AT_DEQUEUE;
	start(&config);
	for (int i = 0; i < 5; i++)
		put(0, 1, 1000 + (uint32_t)i, DATA, 0, 0);
	CU_ASSERT_EQUAL(take(1, 1, NULL), 1003); /* the first to leave no more than 2000 */
	CU_ASSERT_EQUAL(sw->ports[1].queue_counters[3].drop_red, 3);
	CU_ASSERT_EQUAL(sw->buffer.used, 1004);
	finish();
}

static void test_strict_priority(void)
{
	struct vl_switch_config config = four_ports();

	config.port.queues[6].scheduler.type = VL_SCHEDULING_STRICT;
	config.port.queues[7].scheduler.type = VL_SCHEDULING_STRICT;
	start(&config);
	put(0, 1, 1000, DATA, ECT, 0);
	put(0, 1, 1000, DATA, ECT, 0);
	put(0, 1, 60, CNP, ECT, 0);
	put(0, 1, 70, 56, ECT, 0);
	CU_ASSERT_EQUAL(take(1, 1, NULL), 70);
	CU_ASSERT_EQUAL(take(1, 1, NULL), 60);
	CU_ASSERT_EQUAL(take(1, 1, NULL), 1000);
	finish();
}

/* Bytes, not frames, are shared, in the ratio of the weights. */
static void test_round_robin_weights(void)
{
	struct vl_switch_config config = four_ports();
	uint64_t sent[2] = {0, 0};

	config.buffer = 100000000;
	config.port.queues[3].scheduler.weight = 3;
	start(&config);
	for (unsigned int i = 0; i < 4000; i++)
		put(0, 1, 4000, DATA, ECT, 0);
	for (unsigned int i = 0; i < 30000; i++)
		put(0, 1, 500, 0, ECT, 0);
	for (unsigned int i = 0; i < 5000; i++) {
		uint32_t length = take(1, 1, NULL);

		sent[length == 4000] += length;
	}
	CU_ASSERT_DOUBLE_EQUAL((double)sent[1] / (double)sent[0], 3.0, 0.05);
	finish();
}

static struct vl_switch_config lossless(void)
{
	struct vl_switch_config config = four_ports();

	config.buffer = 100000;
	vl_switch_config_lossless(&config.port, 3, 3000, 1000, 2000);
	config.port.pfc.quanta = 1000;
	return config;
}

static void test_xoff_and_xon(void)
{
	struct vl_switch_config config = lossless();

	start(&config);
	put(0, 1, 1000, DATA, ECT, 0);
	put(0, 1, 1000, DATA, ECT, 0);
	CU_ASSERT_EQUAL(vl_switch_next_pfc_port(sw), VL_SWITCH_NO_PORT);
	put(0, 1, 1000, DATA, ECT, 10); /* 3000 bytes: XOFF */
	CU_ASSERT_EQUAL(vl_switch_next_pfc_port(sw), 0);
	CU_ASSERT_EQUAL(vl_switch_next_pfc_port(sw), VL_SWITCH_NO_PORT);
	CU_ASSERT_EQUAL(vl_switch_next_deadline(sw, 0, 10), 10);
	CU_ASSERT_EQUAL(pause_sent(0, 3, 10), 1000);
	CU_ASSERT_EQUAL(pause_sent(2, 3, 10), -1);
	CU_ASSERT_EQUAL(vl_switch_next_deadline(sw, 0, 10), 10 + 2560);

	put(0, 1, 1000, DATA, ECT, 20); /* into the headroom */
	put(0, 1, 1000, DATA, ECT, 20);
	CU_ASSERT_EQUAL(put(0, 1, 42, DATA, ECT, 20), VL_SWITCH_NO_PORT);
	CU_ASSERT_EQUAL(sw->ports[1].queue_counters[3].drop_headroom, 1);
	CU_ASSERT_EQUAL(sw->ports[0].groups[3].headroom, 2000);
	CU_ASSERT_EQUAL(sw->buffer.pools[0].groups.used, 3000);
	CU_ASSERT_EQUAL(put(2, 1, 1000, DATA, ECT, 20), 1); /* other ports are not concerned */

	take(1, 30, NULL);
	take(1, 30, NULL);
	take(1, 30, NULL);
	CU_ASSERT_EQUAL(pause_sent(0, 3, 30), -1);
	take(1, 40, NULL); /* 1000 bytes left: XON */
	CU_ASSERT_EQUAL(vl_switch_next_pfc_port(sw), 0);
	CU_ASSERT_EQUAL(pause_sent(0, 3, 40), 0);
	CU_ASSERT_EQUAL(vl_switch_next_deadline(sw, 0, 40), UINT64_MAX);
	CU_ASSERT_EQUAL(sw->ports[0].pfc.frames[3], 1);
	CU_ASSERT_EQUAL(sw->ports[0].pfc.resumes[3], 1);
	CU_ASSERT_EQUAL(sw->ports[0].counters.pfc_tx, 2);
	CU_ASSERT_EQUAL(sw->ports[0].groups[3].watermark, 5000);
	finish();
}

/* Priority 2 is lossy: it may not touch what is reserved for priority 3. */
static void test_headroom_is_reserved(void)
{
	struct vl_switch_config config = lossless();

	config.buffer = 4 * 2000 + 5000;
	start(&config);
	for (int i = 0; i < 6; i++)
		put(1, 2, 1000, 16, ECT, 0);
	CU_ASSERT_EQUAL(sw->ports[2].queue_counters[2].drop_buffer_full, 1);
	/* The shared part is full: what is lossless goes into the headroom and pauses. */
	CU_ASSERT_EQUAL(put(0, 1, 1000, DATA, ECT, 0), 1);
	CU_ASSERT_EQUAL(pause_sent(0, 3, 0), 1000);
	CU_ASSERT_EQUAL(sw->ports[0].groups[3].headroom, 1000);
	take(1, 1, NULL);
	CU_ASSERT_EQUAL(pause_sent(0, 3, 1), 0);
	CU_ASSERT_EQUAL(sw->ports[0].groups[3].headroom, 0);
	CU_ASSERT_EQUAL(sw->buffer.pools[0].groups.used, 5000);
	finish();
}

static void test_obeys_pauses(void)
{
	struct vl_switch_config config = four_ports();

	start(&config);
	put(0, 1, 1000, DATA, ECT, 0);
	put(0, 1, 60, CNP, ECT, 0);
	receive_pfc(1, 3, 100, 1000); /* 512 ns */
	CU_ASSERT_EQUAL(take(1, 1000, NULL), 60);
	CU_ASSERT_EQUAL(take(1, 1000, NULL), 0);
	CU_ASSERT_EQUAL(vl_switch_next_deadline(sw, 1, 1000), 1512);
	CU_ASSERT_EQUAL(take(1, 1511, NULL), 0);
	CU_ASSERT_EQUAL(take(1, 1512, NULL), 1000);
	put(0, 1, 1000, DATA, ECT, 2000);
	receive_pfc(1, 3, 65535, 2000);
	CU_ASSERT_EQUAL(take(1, 2000, NULL), 0);
	receive_pfc(1, 3, 0, 2100);
	CU_ASSERT_EQUAL(take(1, 2100, NULL), 1000);
	CU_ASSERT_EQUAL(sw->ports[1].counters.pfc_rx, 3);
	CU_ASSERT_EQUAL(sw->ports[1].pause.paused_time[3], 512 + 100);
	CU_ASSERT_EQUAL(sw->ports[1].counters.rx_frames, 3);
	finish();
}

static void test_pause_source_address(void)
{
	struct vl_switch_config config = lossless();
	static const uint8_t expected[6] = {2, 0, 0, 0, 0x10, 0x00};
	struct vl_frame *frame;

	start(&config);
	put(2, 1, 4000, DATA, ECT, 0);
	frame = vl_switch_transmit(sw, 2, 0);
	CU_ASSERT_PTR_NULL(frame); /* 4000 bytes found no room at all */
	put(2, 1, 2000, DATA, ECT, 0);
	put(2, 1, 2000, DATA, ECT, 0);
	frame = vl_switch_transmit(sw, 2, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(frame);
	CU_ASSERT_EQUAL(memcmp(frame->data + 6, expected, 6), 0);
	vl_frame_free(frame);
	finish();
}

/* Expects the configuration to be refused with the text. */
static void refused(const struct vl_switch_config *config, const char *text)
{
	const char *error = vl_switch_config_error(config);
	int result = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(error);
	CU_ASSERT_STRING_EQUAL(error, text);
	if (strcmp(error, text))
		printf("    %s\n", error);
	CU_ASSERT_PTR_NULL(vl_switch_create(config, NULL, &result));
	CU_ASSERT_EQUAL(result, -EINVAL);
}

static void test_refuses_bad_switches(void)
{
	struct vl_switch_config config = four_ports();

	CU_ASSERT_PTR_NULL(vl_switch_config_error(&config));
	config.ports = 0;
	refused(&config, "a switch has 1 to 4096 ports");
	config = four_ports();
	config.buffer = (UINT64_C(1) << 34) + 1;
	refused(&config, "the buffer is 17179869185 B; it must be 1 B to 16 GiB");
	config = four_ports();
	config.cell_size = 31;
	refused(&config, "a cell is 31 B; it must be 32 to 4096 B, or 0 for bytes");
	config = four_ports();
	config.pool_count = 9;
	refused(&config, "there are 9 pools; at most 8 may be");
	config = four_ports();
	config.pool_count = 2;
	config.pools[0].size = 1000;
	refused(&config, "pool 1: the size is 0 B; it must be 1 B to 16 GiB");
	config.pools[1] = (struct vl_buffer_pool_config){.size = 1, .shared_headroom = 1000001};
	refused(&config, "pool 1: the shared headroom, 1000001 B, is larger than the buffer, "
			 "1000000 B");
	config = lossless();
	config.buffer = 8000;
	refused(&config, "pool 0: the priority groups of all ports together reserve 8000 B, "
			 "headroom included, of a size of 8000 B");
	config.pool_count = 1;
	config.pools[0] = (struct vl_buffer_pool_config){.size = 5000, .is_shared_only = true};
	refused(&config, "the priority groups of all ports together reserve 8000 B, headroom "
			 "included, of a buffer of 8000 B");
	config = four_ports();
	config.port.queues[7].buffer.reserved = 250000;
	refused(&config, "pool 0: the queues of all ports together reserve 1000000 B of a size of "
			 "1000000 B");
}

static void test_refuses_bad_ports(void)
{
	struct vl_switch_config config = lossless();
	struct vl_switch_port_config other;
	const struct vl_switch_port_config *by_port[4] = {NULL, NULL, &other, NULL};

	config.port.groups[3].xon = 3001;
	refused(&config, "priority group 3: xon, 3001 B, is larger than xoff, 3000 B");
	config.port.groups[3].threshold.bytes = 0;
	refused(&config, "priority group 3: a lossless group needs reserved memory or a threshold "
			 "above 0 (XOFF)");
	config = four_ports();
	config.port.groups[2].pool = 1;
	refused(&config, "priority group 2: there is no pool 1; the switch has 1");
	config = four_ports();
	config.port.queues[4].buffer.threshold = vl_threshold_dynamic(2000);
	refused(&config, "queue 4: alpha is 2000; it must be 1/1024 to 1024");
	config = four_ports();
	config.port.classifier.dscp_to_class[5] = 8;
	refused(&config, "DSCP 5 is mapped to traffic class 8; the last one is 7");
	config = four_ports();
	config.port.pfc.priority_to_group[6] = 200;
	refused(&config, "PFC priority 6 is mapped to priority group 200; the last one is 7");
	config = four_ports();
	config.port.queues[0].red = vl_red_marking(VL_RED_AT_ENQUEUE, 2, 1, 1);
	refused(&config, "queue 0: kmin of green, 2 B, is larger than its kmax, 1 B");
	config = four_ports();
	config.port.queues[0].scheduler.weight = 256;
	refused(&config, "queue 0 has the weight 256; the largest is 255");
	config = four_ports();
	config.port.queues[1].scheduler.shaper.rate = 999999;
	refused(&config, "queue 1 is shaped to 999999 bit/s; a shaper's rate is 1 Mb/s to 4 Tb/s");
	config = four_ports();
	config.port.shaper = (struct vl_shaper_config){VL_RATE_MIN, (UINT64_C(1) << 30) + 1};
	refused(&config, "the port is shaped with a burst of 1073741825 B; the largest is 1 GiB");

	/* One port of its own. */
	config = four_ports();
	other = config.port;
	config.by_port = by_port;
	CU_ASSERT_PTR_NULL(vl_switch_config_error(&config));
	other.watchdog.action = VL_WATCHDOG_DROP;
	refused(&config, "port 2: the watchdog's detection time is 0");
}

/* Port 2 marks, is strict and trusts PCP; the others do not. */
static void test_ports_of_their_own(void)
{
	struct vl_switch_config config = four_ports();
	struct vl_switch_port_config other = config.port;
	const struct vl_switch_port_config *by_port[4] = {NULL, NULL, &other, NULL};
	uint8_t ecn = 0;

	other.queues[3].red = vl_red_marking(VL_RED_AT_ENQUEUE, 0, 0, 1);
	other.classifier.trust = VL_TRUST_PCP;
	other.classifier.default_class = 5;
	config.by_port = by_port;
	start(&config);
	other = config.port; /* the switch has its own copy */
	for (uint8_t to = 1; to < 3; to++) {
		put(0, to, 1000, DATA, ECT, 0);
		put(0, to, 1000, DATA, ECT, 0);
		take(to, 1, &ecn);
		CU_ASSERT_EQUAL(ecn, 2);
		take(to, 1, &ecn);
		CU_ASSERT_EQUAL(ecn, to == 2 ? 3 : 2);
	}
	put(2, 1, 1000, DATA, ECT, 0);
	CU_ASSERT_EQUAL(sw->ports[1].queues[5].frames, 1);
	CU_ASSERT_EQUAL(sw->ports[2].group_counters[5].rx_bytes, 1000);
	finish();
}

static void test_watermarks(void)
{
	struct vl_switch_config config = lossless();

	start(&config);
	for (int i = 0; i < 5; i++)
		put(0, 1, 1000, DATA, ECT, 0);
	for (int i = 0; i < 4; i++)
		take(1, 1, NULL);
	CU_ASSERT_EQUAL(sw->ports[0].groups[3].watermark, 5000);
	CU_ASSERT_EQUAL(sw->ports[0].groups[3].headroom_watermark, 2000);
	CU_ASSERT_EQUAL(sw->ports[1].queues[3].watermark, 5000);
	CU_ASSERT_EQUAL(sw->buffer.watermark, 5000);
	CU_ASSERT_EQUAL(sw->buffer.pools[0].groups.watermark, 3000);
	CU_ASSERT_EQUAL(sw->buffer.pools[0].queues.watermark, 5000);
	vl_switch_reset_watermarks(sw);
	CU_ASSERT_EQUAL(sw->ports[0].groups[3].watermark, 1000);
	CU_ASSERT_EQUAL(sw->ports[0].groups[3].headroom_watermark, 0);
	CU_ASSERT_EQUAL(sw->ports[1].queues[3].watermark, 1000);
	CU_ASSERT_EQUAL(sw->buffer.watermark, 1000);
	CU_ASSERT_EQUAL(sw->buffer.pools[0].groups.watermark, 1000);
	CU_ASSERT_EQUAL(sw->buffer.pools[0].queues.watermark, 1000);
	CU_ASSERT_EQUAL(sw->ports[0].group_counters[3].xoff, 1);
	CU_ASSERT_EQUAL(sw->ports[0].group_counters[3].xon, 1);
	finish();
}

/* A lossy group beyond its threshold, and a lossless one beyond its headroom. */
static void test_group_drops(void)
{
	struct vl_switch_config config = lossless();

	config.port.groups[1].threshold = vl_threshold_static(1500);
	start(&config);
	CU_ASSERT_EQUAL(put(0, 1, 1000, 8, ECT, 0), 1);
	CU_ASSERT_EQUAL(put(0, 1, 1000, 8, ECT, 0), VL_SWITCH_NO_PORT);
	CU_ASSERT_EQUAL(put(2, 1, 1000, 8, ECT, 0), 1); /* another port's is another group */
	CU_ASSERT_EQUAL(sw->ports[1].queue_counters[1].drop_group_full, 1);
	CU_ASSERT_EQUAL(sw->ports[0].group_counters[1].drop_frames, 1);
	CU_ASSERT_EQUAL(sw->ports[0].group_counters[1].rx_frames, 1);
	CU_ASSERT_EQUAL(sw->ports[2].group_counters[1].drop_frames, 0);
	for (int i = 0; i < 6; i++)
		put(0, 1, 1000, DATA, ECT, 0);
	CU_ASSERT_EQUAL(sw->ports[1].queue_counters[3].drop_headroom, 1);
	CU_ASSERT_EQUAL(sw->ports[0].group_counters[3].drop_frames, 1);
	CU_ASSERT_EQUAL(vl_switch_queue_drops(&sw->ports[1].queue_counters[3]), 1);
	finish();
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"forwarding", test_forwarding},
		{"many_routes", test_many_routes},
		{"classification", test_classification},
		{"finite_queue_and_buffer", test_finite_queue_and_buffer},
		{"marking_point", test_marking_point},
		{"red_drops_what_is_not_capable", test_red_drops_what_is_not_capable},
		{"strict_priority", test_strict_priority},
		{"round_robin_weights", test_round_robin_weights},
		{"xoff_and_xon", test_xoff_and_xon},
		{"headroom_is_reserved", test_headroom_is_reserved},
		{"obeys_pauses", test_obeys_pauses},
		{"pause_source_address", test_pause_source_address},
		{"refuses_bad_switches", test_refuses_bad_switches},
		{"refuses_bad_ports", test_refuses_bad_ports},
		{"ports_of_their_own", test_ports_of_their_own},
		{"watermarks", test_watermarks},
		{"group_drops", test_group_drops},
	};

	return RUN_SUITE("fabric_switch", tests, argc, argv);
}
