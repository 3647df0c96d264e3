/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Random switches under random traffic, pauses and storms: no pool, share or headroom is ever
 * larger than it is, the accounts add up, no frame is lost without a reason, and all is given back.
 */

#include "dataplane/fabric/switch.h"
#include "tests/support/frame.h"
#include "tests/support/suite.h"

#define SEEDS   400
#define STEPS   3000
#define DSCP(n) ((uint8_t)((n) << 3))

struct run {
	struct vl_switch_config config;
	struct vl_switch_port_config others; /* of every second port */
	const struct vl_switch_port_config *by_port[8];
	struct vl_memory_frame_pool pool;
	struct vl_random random;
	struct vl_switch *sw;
	uint64_t now;
	unsigned int violations;
};

static uint64_t below(struct run *run, uint64_t bound)
{
	return vl_random_below(&run->random, bound);
}

static bool maybe(struct run *run)
{
	return below(run, 2);
}

/* ---- Configurations ---------------------------------------------------------------------- */

static struct vl_buffer_threshold random_threshold(struct run *run)
{
	switch (below(run, 3)) {
	case 0:
		return vl_threshold_static(below(run, 60000));
	case 1:
		return vl_threshold_dynamic(1.0 / (double)(1 << below(run, 8)) *
					    (double)(1 << below(run, 4)));
	default:
		return (struct vl_buffer_threshold){0};
	}
}

static struct vl_red_config random_red(struct run *run)
{
	struct vl_red_config red = {.point = (enum vl_red_point)below(run, 3),
				    .weight = (uint8_t)below(run, 4)};

	for (unsigned int i = 0; i < VL_COLOURS; i++) {
		red.curves[i] = (struct vl_red_curve){
			.action = (enum vl_red_action)below(run, 4),
			.kmin = below(run, 20000),
			.pmax = (double)below(run, 101) / 100,
		};
		red.curves[i].kmax = red.curves[i].kmin + below(run, 20000);
	}
	return red;
}

static void random_port(struct run *run, struct vl_switch_port_config *port)
{
	unsigned int pools = run->config.pool_count ? run->config.pool_count : 1;

	for (unsigned int i = 0; i < VL_SWITCH_PRIORITIES; i++) {
		struct vl_buffer_group_config *group = &port->groups[i];
		struct vl_switch_queue_config *queue = &port->queues[i];

		group->pool = (uint8_t)below(run, pools);
		group->reserved = maybe(run) ? below(run, 3000) : 0;
		group->threshold = random_threshold(run);
		group->lossless = maybe(run);
		group->headroom = below(run, 10000);
		group->xon = below(run, 10000);
		group->xon_offset = maybe(run) ? below(run, 5000) : 0;
		queue->buffer.pool = (uint8_t)below(run, pools);
		queue->buffer.reserved = maybe(run) ? below(run, 3000) : 0;
		queue->buffer.threshold = random_threshold(run);
		queue->red = random_red(run);
		queue->scheduler.type = (enum vl_scheduling)below(run, 3);
		queue->scheduler.weight = (uint32_t)below(run, 100);
		if (!below(run, 4))
			queue->scheduler.shaper.rate = VL_RATE_MIN * (1 + below(run, 10000));
		port->pfc.priority_to_queue[i] = (uint8_t)below(run, 8);
		port->pfc.priority_to_group[i] = (uint8_t)below(run, 8);
	}
	for (unsigned int i = 0; i < VL_DSCP_COUNT; i++)
		port->classifier.dscp_to_colour[i] = (uint8_t)below(run, VL_COLOURS);
	for (unsigned int i = 0; i < VL_TRAFFIC_CLASSES; i++) {
		port->classifier.class_to_group[i] = (uint8_t)below(run, 8);
		port->classifier.class_to_queue[i] = (uint8_t)below(run, 8);
	}
	port->pfc.enabled = (uint8_t)below(run, 256);
	port->watchdog = (struct vl_watchdog_config){
		.action = (enum vl_watchdog_action)below(run, 3),
		.priorities = (uint8_t)below(run, 256),
		.detection_time = 1 + below(run, 20000),
		.restoration_time = 1 + below(run, 20000),
		.poll_interval = 1 + below(run, 5000),
	};
}

static void random_config(struct run *run)
{
	static const uint32_t cells[] = {0, 0, 80, 208, 254, 1000};
	struct vl_switch_config *config = &run->config;

	vl_switch_config_defaults(config, 2 + (uint32_t)below(run, 6), 1 + below(run, 3000000));
	config->cell_size = cells[below(run, 6)];
	config->cut_through = maybe(run);
	config->pool_count = (uint8_t)below(run, 4);
	for (unsigned int i = 0; i < config->pool_count; i++)
		config->pools[i] = (struct vl_buffer_pool_config){
			.size = 1 + below(run, 2000000),
			.shared_headroom = maybe(run) ? below(run, 20000) : 0,
			.is_shared_only = maybe(run),
		};
	config->seed = below(run, 1000);
	run->others = config->port;
	random_port(run, &config->port);
	if (maybe(run)) {
		random_port(run, &run->others);
		for (uint32_t i = 0; i < config->ports; i += 2)
			run->by_port[i] = &run->others;
		config->by_port = run->by_port;
	}
}

/* ---- What must hold ---------------------------------------------------------------------- */

static const struct vl_switch_port_config *config_of(const struct run *run, uint32_t port)
{
	return run->config.by_port && run->by_port[port] ? run->by_port[port] : &run->config.port;
}

static uint64_t beyond(uint64_t used, uint64_t reserved)
{
	return used > reserved ? used - reserved : 0;
}

static void check_shares(struct run *run)
{
	const struct vl_buffer *buffer = &run->sw->buffer;
	uint64_t groups[VL_BUFFER_POOLS] = {0}, queues[VL_BUFFER_POOLS] = {0};
	uint64_t headroom[VL_BUFFER_POOLS] = {0}, by_group = 0, by_queue = 0;

	for (uint32_t i = 0; i < run->config.ports; i++) {
		const struct vl_switch_port *port = &run->sw->ports[i];
		const struct vl_switch_port_config *config = config_of(run, i);

		for (unsigned int n = 0; n < VL_SWITCH_PRIORITIES; n++) {
			const struct vl_buffer_group_config *group = &config->groups[n];
			const struct vl_buffer_queue_config *queue = &config->queues[n].buffer;

			by_group += port->groups[n].used + port->groups[n].headroom;
			by_queue += port->queue_memory[n];
			groups[group->pool] += beyond(port->groups[n].used, group->reserved);
			headroom[group->pool] += port->groups[n].headroom;
			queues[queue->pool] += beyond(port->queue_memory[n], queue->reserved);
			run->violations +=
				port->groups[n].headroom > (group->lossless ? group->headroom : 0);
			run->violations += port->groups[n].watermark <
					   port->groups[n].used + port->groups[n].headroom;
			run->violations += !run->config.cell_size &&
					   port->queue_memory[n] != port->queues[n].bytes;
		}
	}
	run->violations += by_group != buffer->used || by_queue != buffer->used;
	run->violations += buffer->used > run->config.buffer || buffer->watermark < buffer->used;
	for (unsigned int i = 0; i < VL_BUFFER_POOLS; i++) {
		const struct vl_buffer_pool *pool = &buffer->pools[i];

		run->violations += pool->groups.used != groups[i] || groups[i] > pool->groups.limit;
		run->violations += pool->queues.used != queues[i] || queues[i] > pool->queues.limit;
		if (run->config.pool_count && run->config.pools[i].shared_headroom)
			run->violations += headroom[i] > run->config.pools[i].shared_headroom ||
					   pool->headroom.used != headroom[i];
	}
}

/* Frames in are frames out, dropped for a reason, or there. */
static void check_frames(struct run *run)
{
	uint64_t in = 0, out = 0, there = 0;

	for (uint32_t i = 0; i < run->config.ports; i++) {
		const struct vl_switch_port *port = &run->sw->ports[i];

		in += port->counters.rx_frames - port->counters.pfc_rx -
		      port->counters.mac_control_ignored;
		out += port->counters.drop_no_route + port->counters.drop_malformed +
		       port->counters.drop_watchdog;
		for (unsigned int q = 0; q < VL_SWITCH_PRIORITIES; q++) {
			out += port->queue_counters[q].tx_frames +
			       vl_switch_queue_drops(&port->queue_counters[q]);
			there += port->queues[q].frames;
		}
	}
	run->violations += in != out + there || there != run->pool.in_use;
}

/* ---- Traffic ----------------------------------------------------------------------------- */

static void receive(struct run *run)
{
	uint32_t ports = run->config.ports, from = (uint32_t)below(run, ports);
	struct vl_frame *frame = make_ipv4_frame(&run->pool.pool, 42 + (uint32_t)below(run, 4200),
						 (uint8_t)below(run, ports + 1), (uint8_t)from,
						 DSCP(below(run, 8)), (uint8_t)below(run, 4));

	if (!below(run, 100))
		frame->length = (uint32_t)below(run, 20);
	frame->whole_at = run->now + below(run, 500);
	vl_switch_receive(run->sw, from, frame, run->now);
}

static void receive_pause(struct run *run)
{
	static const uint8_t mac[6] = {2, 9};
	struct vl_pfc pfc = {.enabled = (uint8_t)below(run, 256)};
	struct vl_frame *frame = vl_frame_get(&run->pool.pool);

	for (unsigned int i = 0; i < VL_PFC_PRIORITIES; i++)
		pfc.quanta[i] = (uint16_t)(maybe(run) ? below(run, 65536) : 0);
	vl_pfc_write(frame->data, mac, &pfc);
	frame->length = VL_PFC_FRAME_LENGTH;
	vl_switch_receive(run->sw, (uint32_t)below(run, run->config.ports), frame, run->now);
}

static void transmit(struct run *run, uint32_t port)
{
	struct vl_frame *frame = vl_switch_transmit(run->sw, port, run->now);

	if (frame)
		vl_frame_free(frame);
	while (vl_switch_next_pfc_port(run->sw) != VL_SWITCH_NO_PORT)
		;
}

/* Without new frames and pauses all must leave in the end, and all senders be let go. */
static void drain(struct run *run)
{
	uint64_t occupied = 1;

	for (unsigned int i = 0; i < 200000 && occupied; i++) {
		uint64_t next = UINT64_MAX;

		occupied = 0;
		for (uint32_t port = 0; port < run->config.ports; port++) {
			uint64_t deadline;

			transmit(run, port);
			occupied |=
				run->sw->ports[port].occupied | run->sw->ports[port].pfc.changed;
			deadline = vl_switch_next_deadline(run->sw, port, run->now);
			if (deadline < next)
				next = deadline;
		}
		if (next != UINT64_MAX && next > run->now)
			run->now = next;
	}
	run->violations += occupied != 0 || run->pool.in_use || run->sw->buffer.used;
	for (uint32_t port = 0; port < run->config.ports; port++)
		run->violations += run->sw->ports[port].pausing || run->sw->ports[port].pfc.wanted;
	check_shares(run);
	check_frames(run);
}

/* False: the configuration was none. */
static bool run_seed(uint64_t seed, unsigned int *violations)
{
	struct run run = {.random = {seed}};
	uint8_t mac[6] = {2};

	random_config(&run);
	run.sw = vl_switch_create(&run.config, &run.pool.pool, NULL);
	if (!run.sw)
		return false;
	vl_memory_frame_pool_init(&run.pool, 0, 0);
	for (uint32_t i = 0; i < run.config.ports; i++) {
		const uint32_t ways[2] = {i, (i + 1) % run.config.ports};

		mac[5] = (uint8_t)i;
		vl_switch_add_ways(run.sw, mac, ways, 1 + (uint32_t)below(&run, 2));
	}
	for (unsigned int i = 0; i < STEPS; i++) {
		uint64_t dice = below(&run, 100);

		run.now += below(&run, 200);
		if (dice < 60)
			receive(&run);
		else if (dice < 62)
			receive_pause(&run);
		else
			transmit(&run, (uint32_t)below(&run, run.config.ports));
		check_shares(&run);
		if (i % 64 == 0)
			check_frames(&run);
	}
	drain(&run);
	vl_switch_destroy(run.sw);
	vl_memory_frame_pool_release(&run.pool);
	*violations = run.violations;
	return true;
}

static void test_random_switches(void)
{
	unsigned int runs = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		unsigned int violations;

		if (!run_seed(seed, &violations))
			continue;
		runs++;
		if (violations)
			printf("    seed %u: %u violations\n", (unsigned int)seed, violations);
		CU_ASSERT_EQUAL(violations, 0);
	}
	CU_ASSERT_TRUE(runs > SEEDS / 4);
	printf("    %u of %u configurations were any\n", runs, SEEDS);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"random_switches", test_random_switches},
	};

	return RUN_SUITE("switch_memory", tests, argc, argv);
}
