/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * A lossless class never drops when its headroom suffices by the formula, and does when it is a
 * cell too small: a sender at full rate, a cable, a peer that takes its time, and a switch whose
 * egress stands still, so that every frame after XOFF must find room.
 */

#include "dataplane/fabric/headroom.h"
#include "dataplane/fabric/link.h"
#include "dataplane/fabric/switch.h"
#include "tests/support/frame.h"
#include "tests/support/suite.h"

#define GIGABIT  UINT64_C(1000000000)
#define DATA     26 /* DSCP of priority 3 */
#define PRIORITY 3
#define FOREVER  UINT64_C(1000000)

struct wire {
	struct vl_headroom_input input;
	struct vl_buffer_threshold threshold;
	uint64_t headroom;
	uint64_t blocker_at; /* when the PFC frame's line gets a frame; UINT64_MAX: all the time */
	uint64_t seed;
	bool cut_through;
};

struct outcome {
	uint64_t dropped, headroom; /* frames; most bytes */
	uint64_t crossed_at;        /* when XOFF was decided */
	uint64_t frames;            /* that were sent */
};

struct run {
	const struct wire *wire;
	struct vl_memory_frame_pool pool;
	struct vl_switch *sw;
	struct vl_fabric_link forth, back;
	struct vl_pfc_receiver pause; /* of the sender */
	struct vl_random random;
	struct outcome *outcome;
};

static uint32_t random_length(struct run *run)
{
	const struct vl_headroom_input *input = &run->wire->input;

	return input->smallest +
	       (uint32_t)vl_random_below(&run->random, input->lossless_mtu - input->smallest + 1);
}

static bool begin(struct run *run)
{
	const struct wire *wire = run->wire;
	static const uint8_t far_mac[6] = {2, 0, 0, 0, 0, 1}, near_mac[6] = {2, 0, 0, 0, 0, 0};
	struct vl_switch_config config;
	struct vl_link_config link = {.rate = wire->input.rate,
				      .propagation = (uint64_t)wire->input.propagation,
				      .delivers_head = wire->cut_through};

	vl_memory_frame_pool_init(&run->pool, 10000, 0);
	vl_switch_config_defaults(&config, 3, UINT64_C(1) << 30);
	config.cell_size = wire->input.cell_size;
	config.cut_through = wire->cut_through;
	vl_switch_config_lossless(&config.port, PRIORITY, 1, 0, wire->headroom);
	config.port.groups[PRIORITY].threshold = wire->threshold;
	run->sw = vl_switch_create(&config, &run->pool.pool, NULL);
	if (!run->sw || vl_fabric_link_init(&run->forth, &link))
		return false;
	link.delivers_head = false;
	if (vl_fabric_link_init(&run->back, &link))
		return false;
	vl_switch_set_port_rate(run->sw, 0, wire->input.rate);
	vl_switch_add_route(run->sw, far_mac, 1);
	vl_switch_add_route(run->sw, near_mac, 0);
	vl_pfc_receiver_init(&run->pause, vl_rate_make(wire->input.rate),
			     wire->input.response < 0 ? VL_PFC_RESPONSE_BY_RATE
						      : (uint64_t)wire->input.response);
	run->random.state = wire->seed;
	return true;
}

static void end(struct run *run)
{
	const struct vl_switch_port *egress = &run->sw->ports[1];

	run->outcome->dropped = vl_switch_queue_drops(&egress->queue_counters[PRIORITY]);
	run->outcome->headroom = run->sw->ports[0].groups[PRIORITY].headroom_watermark;
	vl_fabric_link_clear(&run->forth);
	vl_fabric_link_clear(&run->back);
	vl_switch_destroy(run->sw);
	vl_memory_frame_pool_release(&run->pool);
}

static void step_sender(struct run *run, uint64_t now)
{
	struct vl_frame *frame;

	while (vl_fabric_link_next_arrival(&run->back) <= now) {
		struct vl_pfc pfc;

		frame = vl_fabric_link_receive(&run->back, now);
		if (vl_pfc_parse(frame->data, frame->length, &pfc) == VL_MAC_CONTROL_PFC)
			vl_pfc_receiver_take(&run->pause, &pfc, now);
		vl_frame_free(frame);
	}
	/* Who has begun a frame at this very moment still sends it. */
	if (vl_fabric_link_is_free(&run->forth, now) && !(run->pause.paused >> PRIORITY & 1)) {
		vl_fabric_link_send(
			&run->forth,
			make_ipv4_frame(&run->pool.pool, random_length(run), 1, 0, DATA, 2), now);
		run->outcome->frames++;
	}
	vl_pfc_receiver_update(&run->pause, now);
}

static void step_switch(struct run *run, uint64_t now)
{
	const struct wire *wire = run->wire;
	struct vl_frame *frame;

	/* Other traffic to the sender: one frame at a moment, or always one more. */
	if (wire->blocker_at == now ||
	    (wire->blocker_at == UINT64_MAX && !run->sw->ports[0].queues[0].head))
		vl_switch_receive(
			run->sw, 2,
			make_ipv4_frame(&run->pool.pool, wire->input.port_mtu, 0, 2, 0, 2), now);
	if (wire->blocker_at == now && vl_fabric_link_is_free(&run->back, now))
		vl_fabric_link_send(&run->back, vl_switch_transmit(run->sw, 0, now), now);
	while (vl_fabric_link_next_arrival(&run->forth) <= now) {
		vl_switch_receive(run->sw, 0, vl_fabric_link_receive(&run->forth, now), now);
		if (run->sw->ports[0].pausing && !run->outcome->crossed_at)
			run->outcome->crossed_at = now;
	}
	if (!vl_fabric_link_is_free(&run->back, now))
		return;
	frame = vl_switch_transmit(run->sw, 0, now);
	if (frame)
		vl_fabric_link_send(&run->back, frame, now);
}

static inline uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t next_time(struct run *run, uint64_t now)
{
	uint64_t next = earlier(vl_fabric_link_next_arrival(&run->forth),
				vl_fabric_link_next_arrival(&run->back));
	uint64_t free_at = vl_fabric_link_free_at(&run->back);

	if (free_at > now)
		next = earlier(next, free_at);
	free_at = vl_fabric_link_free_at(&run->forth);
	if (free_at > now)
		next = earlier(next, free_at);
	if (run->pause.next_change > now)
		next = earlier(next, run->pause.next_change);
	if (run->wire->blocker_at > now)
		next = earlier(next, run->wire->blocker_at);
	return next;
}

/* Until the sender stands still and all that it sent has arrived. */
static struct outcome run_wire(const struct wire *wire)
{
	struct outcome outcome = {0};
	struct run run = {.wire = wire, .outcome = &outcome};
	uint64_t now = 0;

	CU_ASSERT_TRUE_FATAL(begin(&run));
	while (now < FOREVER) {
		step_switch(&run, now);
		step_sender(&run, now);
		if (run.pause.paused >> PRIORITY & 1 && !run.forth.in_flight)
			break;
		now = next_time(&run, now);
	}
	CU_ASSERT_TRUE(now < FOREVER);
	end(&run);
	return outcome;
}

/* ---- The exact worst case ---------------------------------------------------------------- */

/* Frames of one length, of which the threshold holds ten and a byte, so that the eleventh crosses
 * it and goes into the headroom as a whole; and a frame in the way of the PFC frame that began a
 * nanosecond before. */
static struct wire worst_wire(const struct vl_headroom_input *input)
{
	uint32_t cell = input->cell_size ? input->cell_size : 1;
	uint64_t frame = (input->lossless_mtu + cell - 1) / cell * cell;
	struct wire wire = {
		.input = *input,
		.threshold = vl_threshold_static(10 * frame + 1),
		.headroom = UINT64_C(1) << 26,
		.blocker_at = UINT64_MAX - 1,
	};

	wire.blocker_at = run_wire(&wire).crossed_at - 1;
	return wire;
}

static void check_worst_case(struct vl_headroom_input input)
{
	double frame_time = (input.lossless_mtu + 24) * 8e9 / (double)input.rate;
	uint32_t cell = input.cell_size ? input.cell_size : 1;
	unsigned int tight = 0;

	/* Over the length of the cable the need grows in steps of a frame, the formula evenly. */
	for (double end = input.propagation + frame_time / 2 + 2; input.propagation < end;
	     input.propagation++) {
		struct wire wire = worst_wire(&input);
		struct vl_headroom formula;
		uint64_t need = run_wire(&wire).headroom;

		vl_headroom_worst_case(&input, &formula);
		CU_ASSERT_TRUE(need <= formula.bytes);
		wire.headroom = formula.bytes;
		CU_ASSERT_EQUAL(run_wire(&wire).dropped, 0);
		wire.headroom = need - 1;
		CU_ASSERT_TRUE(run_wire(&wire).dropped > 0);
		if (need + cell <= formula.bytes)
			continue;
		wire.headroom = formula.bytes - cell;
		CU_ASSERT_TRUE(run_wire(&wire).dropped > 0);
		tight++;
	}
	CU_ASSERT_TRUE(tight > 0);
}

static void test_a_cell_too_small(void)
{
	struct vl_headroom_input input = {
		.rate = 100 * GIGABIT,
		.propagation = 200,
		.lossless_mtu = 4200,
		.port_mtu = 9216,
		.smallest = 4200,
		.cell_size = 254,
		.response = -1,
	};

	check_worst_case(input);
	input.cell_size = 208;
	input.response = 0;
	input.lossless_mtu = input.smallest = 1082;
	input.propagation = 1515; /* 300 m */
	check_worst_case(input);
	input.rate = 400 * GIGABIT;
	input.cell_size = 256;
	input.response = -1;
	check_worst_case(input);
	input.rate = 25 * GIGABIT;
	check_worst_case(input);
}

/* ---- Any traffic ------------------------------------------------------------------------- */

static void make_random(struct wire *wire, uint64_t seed)
{
	static const uint64_t rates[] = {10, 25, 40, 50, 100, 200, 400, 800};
	static const uint32_t cells[] = {0, 80, 208, 254, 256, 1000};
	struct vl_random random = {seed};
	struct vl_headroom_input *input = &wire->input;
	struct vl_headroom formula;

	*input = (struct vl_headroom_input){
		.rate = rates[vl_random_below(&random, 8)] * GIGABIT,
		.propagation = (double)vl_random_below(&random, 3000),
		.smallest = 60 + (uint32_t)vl_random_below(&random, 1000),
		.port_mtu = 1500 + (uint32_t)vl_random_below(&random, 7717),
		.cell_size = cells[vl_random_below(&random, 6)],
		.response =
			vl_random_below(&random, 2) ? -1 : (double)vl_random_below(&random, 2000),
	};
	input->lossless_mtu = input->smallest + (uint32_t)vl_random_below(&random, 4000);
	vl_headroom_worst_case(input, &formula);
	wire->headroom = formula.bytes;
	wire->threshold = vl_random_below(&random, 2)
				  ? vl_threshold_static(1 + vl_random_below(&random, 60000))
				  : vl_threshold_dynamic(
					    1.0 / (double)(8 << vl_random_below(&random, 8)) / 100);
	if (wire->threshold.kind == VL_THRESHOLD_DYNAMIC)
		wire->threshold.alpha = VL_BUFFER_ALPHA_MIN;
	wire->blocker_at = UINT64_MAX;
	wire->seed = seed;
	wire->cut_through = vl_random_below(&random, 4) == 0;
}

static void test_formula_suffices(void)
{
	double fullest = 0;

	for (uint64_t seed = 1; seed <= 400; seed++) {
		struct outcome outcome;
		struct wire wire;

		make_random(&wire, seed);
		outcome = run_wire(&wire);
		if (outcome.dropped)
			printf("    seed %u: dropped %u\n", (unsigned int)seed,
			       (unsigned int)outcome.dropped);
		CU_ASSERT_EQUAL(outcome.dropped, 0);
		if ((double)outcome.headroom / (double)wire.headroom > fullest)
			fullest = (double)outcome.headroom / (double)wire.headroom;
	}
	/* The bound is not idle talk. */
	CU_ASSERT_TRUE(fullest > 0.9 && fullest <= 1);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"a_cell_too_small", test_a_cell_too_small},
		{"formula_suffices", test_formula_suffices},
	};

	return RUN_SUITE("switch_headroom", tests, argc, argv);
}
