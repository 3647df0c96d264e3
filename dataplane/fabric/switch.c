/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/fabric/switch.h"

#include "dataplane/fabric/switch_profile.h"

#include <errno.h>
#include <stdlib.h>

#define LONGEST_HEAD 14u /* what forwarding must see of a frame */
#define FIRST_RATE   UINT64_C(100000000000)
/* What a frame takes of a line before its gap, beyond its bytes: preamble and FCS. */
#define LINE_OVERHEAD 12u

/* ---- Set-up ---------------------------------------------------------------------------- */

/* The profile made of a configuration: among the count that there are, or a new one. */
static struct vl_switch_profile *find_profile(struct vl_switch *sw, uint32_t *count,
					      const struct vl_switch_port_config *config)
{
	uint32_t i = *count;

	/* The last ones first: neighbours are mostly alike. */
	while (i && sw->profiles[i - 1].source != config)
		i--;
	if (i)
		return &sw->profiles[i - 1];
	vl_switch_profile_init(&sw->profiles[*count], config);
	return &sw->profiles[(*count)++];
}

static uint32_t count_profiles(const struct vl_switch_config *config)
{
	return config->by_port ? config->ports + 1 : 1;
}

static void init_buffer(struct vl_switch *sw, const struct vl_switch_config *config)
{
	struct vl_buffer_pool_config pools[VL_BUFFER_POOLS];
	uint64_t groups[VL_BUFFER_POOLS], queues[VL_BUFFER_POOLS];
	unsigned int count;

	vl_switch_pools(config, pools, &count);
	vl_switch_reserved(config, groups, queues);
	vl_buffer_init(&sw->buffer, config->buffer, config->cell_size, pools, count, groups,
		       queues);
}

static void init_ports(struct vl_switch *sw, const struct vl_switch_config *config)
{
	uint32_t profile_count = 0;

	for (uint32_t i = 0; i < config->ports; i++) {
		struct vl_switch_port *port = &sw->ports[i];

		port->profile = find_profile(sw, &profile_count, vl_switch_port_config(config, i));
		for (unsigned int q = 0; q < VL_SWITCH_PRIORITIES; q++)
			vl_frame_queue_init(&port->queues[q], 0, 0);
		vl_switch_set_port_rate(sw, i, FIRST_RATE);
	}
}

struct vl_switch *vl_switch_create(const struct vl_switch_config *config,
				   struct vl_frame_pool *pool, int *error)
{
	struct vl_switch *sw = NULL;
	int result = -EINVAL;

	if (vl_switch_config_error(config))
		goto fail;
	result = -ENOMEM;
	sw = calloc(1, sizeof(*sw));
	if (!sw)
		goto fail;
	sw->ports = calloc(config->ports, sizeof(*sw->ports));
	sw->profiles = calloc(count_profiles(config), sizeof(*sw->profiles));
	if (!sw->ports || !sw->profiles || vl_forwarding_init(&sw->forwarding, config->seed))
		goto fail;
	sw->pool = pool;
	sw->config = *config;
	sw->config.by_port = NULL;
	sw->is_cut_through = config->cut_through;
	sw->random.state = config->seed;
	sw->first_pfc_port = VL_SWITCH_NO_PORT;
	init_buffer(sw, config);
	init_ports(sw, config);
	return sw;
fail:
	if (sw) {
		free(sw->ports);
		free(sw->profiles);
		free(sw);
	}
	if (error)
		*error = result;
	return NULL;
}

void vl_switch_destroy(struct vl_switch *sw)
{
	if (!sw)
		return;
	for (uint32_t i = 0; i < sw->config.ports; i++) {
		for (unsigned int q = 0; q < VL_SWITCH_PRIORITIES; q++)
			vl_frame_queue_clear(&sw->ports[i].queues[q],
					     sw->ports[i].queues[q].changed);
	}
	vl_forwarding_release(&sw->forwarding);
	free(sw->ports);
	free(sw->profiles);
	free(sw);
}

static void port_mac(const struct vl_switch *sw, uint32_t port, uint8_t mac[6])
{
	uint64_t number = vl_mac_number(sw->config.mac) + port;

	for (unsigned int i = 0; i < 6; i++)
		mac[i] = (uint8_t)(number >> (40 - 8 * i));
}

void vl_switch_set_port_rate(struct vl_switch *sw, uint32_t number, uint64_t bits_per_second)
{
	struct vl_switch_port *port = &sw->ports[number];
	const struct vl_switch_pfc_config *pfc = &port->profile->pfc;
	struct vl_rate rate = vl_rate_make(bits_per_second);
	uint8_t mac[6];

	port_mac(sw, number, mac);
	vl_pfc_receiver_init(&port->pause, rate, pfc->response_delay);
	vl_pfc_receiver_ignore(&port->pause, (uint8_t)~pfc->enabled, 0);
	vl_pfc_sender_init(&port->pfc, mac, rate, pfc->quanta);
}

int vl_switch_add_ways(struct vl_switch *sw, const uint8_t mac[6], const uint32_t *ports,
		       uint32_t count)
{
	if (!count || count > sw->config.ports)
		return -EINVAL;
	for (uint32_t i = 0; i < count; i++) {
		if (ports[i] >= sw->config.ports)
			return -EINVAL;
	}
	return vl_forwarding_add(&sw->forwarding, mac, ports, count);
}

int vl_switch_add_route(struct vl_switch *sw, const uint8_t mac[6], uint32_t port)
{
	return vl_switch_add_ways(sw, mac, &port, 1);
}

void vl_switch_reset_watermarks(struct vl_switch *sw)
{
	vl_buffer_reset_watermarks(&sw->buffer);
	for (uint32_t i = 0; i < sw->config.ports; i++) {
		struct vl_switch_port *port = &sw->ports[i];

		for (unsigned int n = 0; n < VL_SWITCH_PRIORITIES; n++) {
			vl_frame_queue_reset_watermark(&port->queues[n]);
			vl_buffer_group_reset_watermarks(&port->groups[n]);
		}
	}
}

/* ---- Flow control ---------------------------------------------------------------------- */

static void want_pause(struct vl_switch *sw, uint32_t number, uint8_t group, bool pause)
{
	struct vl_switch_port *port = &sw->ports[number];
	uint8_t priorities = port->profile->group_priorities[group];
	bool is_due = false;

	port->pausing ^= (uint8_t)(1u << group);
	if (pause)
		port->group_counters[group].xoff++;
	else
		port->group_counters[group].xon++;
	for (; priorities; priorities &= (uint8_t)(priorities - 1))
		is_due |= vl_pfc_sender_want(&port->pfc, (uint8_t)__builtin_ctz(priorities), pause);
	if (!is_due || port->in_pfc_list)
		return;
	port->in_pfc_list = true;
	port->next_pfc_port = sw->first_pfc_port;
	sw->first_pfc_port = number;
}

uint32_t vl_switch_next_pfc_port(struct vl_switch *sw)
{
	uint32_t number = sw->first_pfc_port;

	if (number != VL_SWITCH_NO_PORT) {
		sw->first_pfc_port = sw->ports[number].next_pfc_port;
		sw->ports[number].in_pfc_list = false;
	}
	return number;
}

/* Which queues stand still follows from which priorities are paused. */
static void set_paused(struct vl_switch_port *port, uint64_t now)
{
	const struct vl_switch_profile *profile = port->profile;
	uint8_t left = port->pause.paused;

	port->paused = 0;
	for (; left; left &= (uint8_t)(left - 1))
		port->paused |=
			(uint8_t)(1u << profile->pfc.priority_to_queue[__builtin_ctz(left)]);
	if (profile->has_watchdog)
		vl_watchdog_set_paused(&port->watchdog, &profile->watchdog,
				       port->paused & profile->watched, now);
}

static inline void update_pauses(struct vl_switch_port *port, uint64_t now)
{
	if (now >= port->pause.next_change && vl_pfc_receiver_update(&port->pause, now))
		set_paused(port, now);
}

static void show_to_watchdog(struct vl_switch_port *port, const struct vl_pfc *pfc, uint64_t now)
{
	const struct vl_switch_profile *profile = port->profile;
	uint8_t queues = 0;

	for (unsigned int i = 0; i < VL_PFC_PRIORITIES; i++) {
		if (pfc->enabled & profile->pfc.enabled & 1u << i && pfc->quanta[i])
			queues |= (uint8_t)(1u << profile->pfc.priority_to_queue[i]);
	}
	vl_watchdog_see_pause(&port->watchdog, queues & profile->watched, now);
}

static uint32_t receive_mac_control(struct vl_switch *sw, uint32_t number, struct vl_frame *frame,
				    uint64_t now)
{
	struct vl_switch_port *port = &sw->ports[number];
	struct vl_pfc pfc;

	if (vl_pfc_parse(frame->data, frame->length, &pfc) == VL_MAC_CONTROL_PFC) {
		port->counters.pfc_rx++;
		/* The end of the last pause comes before the begin of this one. */
		update_pauses(port, now);
		vl_pfc_receiver_take(&port->pause, &pfc, now);
		if (port->profile->has_watchdog) {
			show_to_watchdog(port, &pfc, now);
			update_pauses(port, now);
		}
	} else {
		port->counters.mac_control_ignored++;
	}
	vl_frame_free(frame);
	return number;
}

/* ---- Memory and marking ---------------------------------------------------------------- */

static void count_refusal(enum vl_buffer_verdict verdict, struct vl_switch_group_counters *group,
			  struct vl_switch_queue_counters *queue)
{
	group->drop_frames++;
	switch (verdict) {
	case VL_BUFFER_BEYOND_THRESHOLD:
		queue->drop_group_full++;
		break;
	case VL_BUFFER_POOL_FULL:
		queue->drop_buffer_full++;
		break;
	default:
		queue->drop_headroom++;
	}
}

/* Charges a frame to its group and its queue. False: there is no room, which is counted. */
static bool admit(struct vl_switch *sw, struct vl_switch_port *ingress,
		  struct vl_switch_port *egress, const struct vl_frame *frame, uint32_t bytes)
{
	uint8_t g = frame->group, q = frame->priority;
	const struct vl_buffer_rule *rule = &ingress->profile->groups[g];
	struct vl_buffer_group *group = &ingress->groups[g];
	enum vl_buffer_verdict verdict =
		vl_buffer_admit(&sw->buffer, rule, group, &egress->profile->queues[q],
				&egress->queue_memory[q], bytes);

	if (verdict != VL_BUFFER_ADMITTED) {
		count_refusal(verdict, &ingress->group_counters[g], &egress->queue_counters[q]);
		return false;
	}
	ingress->group_counters[g].rx_frames++;
	ingress->group_counters[g].rx_bytes += frame->length;
	if (rule->is_lossless && !(ingress->pausing >> g & 1) &&
	    vl_buffer_is_xoff(&sw->buffer, rule, group))
		want_pause(sw, frame->ingress_port, g, true);
	return true;
}

static void release(struct vl_switch *sw, struct vl_switch_port *egress,
		    const struct vl_frame *frame)
{
	struct vl_switch_port *ingress = &sw->ports[frame->ingress_port];
	uint8_t g = frame->group, q = frame->priority;
	const struct vl_buffer_rule *rule = &ingress->profile->groups[g];
	struct vl_buffer_group *group = &ingress->groups[g];

	vl_buffer_release(&sw->buffer, rule, group, &egress->profile->queues[q],
			  &egress->queue_memory[q],
			  vl_buffer_occupancy(&sw->buffer, frame->length));
	if (ingress->pausing >> g & 1 && vl_buffer_is_xon(&sw->buffer, rule, group))
		want_pause(sw, frame->ingress_port, g, false);
}

/* Lets RED see a frame that is not part of its queue now. False: dropped, which is counted. */
static bool pass_red(struct vl_switch *sw, struct vl_switch_port *egress, const struct vl_red *red,
		     struct vl_frame *frame, bool *is_marked)
{
	uint8_t q = frame->priority;
	uint64_t bytes = egress->queue_memory[q];
	enum vl_red_verdict verdict;

	if (red->config.weight)
		bytes = vl_red_average_add(&egress->averages[q], red->config.weight, bytes);
	verdict = vl_red_apply(red, frame->colour, &sw->random, bytes, frame->data, frame->length);
	*is_marked = verdict == VL_RED_MARKED;
	if (verdict != VL_RED_DROP)
		return true;
	egress->queue_counters[q].drop_red++;
	return false;
}

/* ---- Receiving ------------------------------------------------------------------------- */

/* When a frame whose head is here may leave, so that its line never waits for the rest of it. */
static uint64_t ready_at(const struct vl_switch_port *egress, const struct vl_frame *frame,
			 uint64_t now)
{
	uint64_t remainder = 0;
	uint64_t time = vl_rate_time(egress->pause.rate,
				     (frame->length + LINE_OVERHEAD) * UINT64_C(8), &remainder);

	return frame->whole_at > now + time ? frame->whole_at - time : now;
}

static bool enqueue(struct vl_switch *sw, struct vl_switch_port *ingress,
		    struct vl_switch_port *egress, struct vl_frame *frame, uint64_t now)
{
	uint8_t q = frame->priority;
	const struct vl_switch_profile *profile = egress->profile;
	struct vl_switch_queue_counters *counters = &egress->queue_counters[q];
	uint32_t bytes = vl_buffer_occupancy(&sw->buffer, frame->length);
	enum vl_buffer_verdict verdict;
	bool is_marked = false;

	if (egress->dropping_queues >> q & 1) {
		counters->drop_watchdog++;
		return false;
	}
	verdict = vl_buffer_queue_check(&sw->buffer, &profile->queues[q], egress->queue_memory[q],
					bytes);
	if (verdict != VL_BUFFER_ADMITTED) {
		if (verdict == VL_BUFFER_BEYOND_THRESHOLD)
			counters->drop_queue_full++;
		else
			counters->drop_buffer_full++;
		return false;
	}
	if (profile->red_at_enqueue >> q & 1 &&
	    !pass_red(sw, egress, &profile->red[q], frame, &is_marked))
		return false;
	if (!admit(sw, ingress, egress, frame, bytes))
		return false;
	counters->ecn_marked += is_marked;
	if (sw->is_cut_through)
		frame->ready_at = ready_at(egress, frame, now);
	vl_frame_queue_push(&egress->queues[q], frame, now);
	egress->occupied |= (uint8_t)(1u << q);
	return true;
}

static uint32_t drop(struct vl_frame *frame, uint64_t *counter)
{
	++*counter;
	vl_frame_free(frame);
	return VL_SWITCH_NO_PORT;
}

uint32_t vl_switch_receive(struct vl_switch *sw, uint32_t port, struct vl_frame *frame,
			   uint64_t now)
{
	struct vl_switch_port *ingress = &sw->ports[port];
	struct vl_class class;
	uint32_t egress;

	ingress->counters.rx_frames++;
	ingress->counters.rx_bytes += frame->length;
	if (frame->length < LONGEST_HEAD)
		return drop(frame, &ingress->counters.drop_malformed);
	if (vl_is_mac_control(frame->data, frame->length))
		return receive_mac_control(sw, port, frame, now);
	egress = vl_forwarding_port(&sw->forwarding, frame->data, frame->length);
	if (egress == VL_FORWARDING_NO_WAY || egress == port)
		return drop(frame, &ingress->counters.drop_no_route);
	class = vl_classify(&ingress->profile->classifier, frame->data, frame->length);
	if (ingress->dropping_groups >> class.group & 1)
		return drop(frame, &ingress->counters.drop_watchdog);
	frame->ingress_port = (uint16_t)port;
	frame->priority = class.queue;
	frame->group = class.group;
	frame->colour = class.colour;
	if (!enqueue(sw, ingress, &sw->ports[egress], frame, now)) {
		vl_frame_free(frame);
		return VL_SWITCH_NO_PORT;
	}
	return egress;
}

/* ---- Transmitting ---------------------------------------------------------------------- */

static struct vl_frame *transmit_pfc(struct vl_switch *sw, struct vl_switch_port *port,
				     uint64_t now)
{
	struct vl_frame *frame = vl_frame_get(sw->pool);

	if (!frame) {
		port->counters.drop_no_frame++;
		return NULL;
	}
	frame->length = vl_pfc_sender_write(&port->pfc, frame->data, now);
	frame->priority = VL_SWITCH_PRIORITIES - 1;
	port->counters.pfc_tx++;
	return frame;
}

/* Takes the head of a queue out of the buffer. */
static struct vl_frame *take_out(struct vl_switch *sw, struct vl_switch_port *port, uint8_t q,
				 uint64_t now)
{
	struct vl_frame *frame = vl_frame_queue_pop(&port->queues[q], now);

	if (!port->queues[q].head)
		port->occupied &= (uint8_t) ~(1u << q);
	release(sw, port, frame);
	return frame;
}

/* NULL: RED dropped it. */
static struct vl_frame *dequeue(struct vl_switch *sw, struct vl_switch_port *port, uint8_t q,
				uint64_t now)
{
	const struct vl_switch_profile *profile = port->profile;
	struct vl_switch_queue_counters *counters = &port->queue_counters[q];
	struct vl_frame *frame = take_out(sw, port, q, now);
	bool is_marked = false;

	if (profile->red_at_dequeue >> q & 1 &&
	    !pass_red(sw, port, &profile->red[q], frame, &is_marked)) {
		vl_frame_free(frame);
		return NULL;
	}
	if (profile->is_shaped)
		vl_scheduler_charge_shapers(&profile->scheduler, &port->scheduler, q, frame->length,
					    now);
	counters->ecn_marked += is_marked;
	counters->tx_frames++;
	counters->tx_bytes += frame->length;
	return frame;
}

/* Those queues whose head has come in far enough. */
static uint8_t ready_queues(const struct vl_switch_port *port, uint8_t candidates, uint64_t now)
{
	for (uint8_t left = candidates; left; left &= (uint8_t)(left - 1)) {
		unsigned int q = (unsigned int)__builtin_ctz(left);

		if (port->queues[q].head->ready_at > now)
			candidates &= (uint8_t) ~(1u << q);
	}
	return candidates;
}

static uint8_t find_candidates(const struct vl_switch *sw, const struct vl_switch_port *port,
			       uint64_t now)
{
	uint8_t candidates = port->occupied & (uint8_t)~port->paused;

	if (port->profile->is_shaped)
		candidates = vl_scheduler_open(&port->profile->scheduler, &port->scheduler,
					       candidates, now);
	return sw->is_cut_through ? ready_queues(port, candidates, now) : candidates;
}

/* ---- The watchdog ---------------------------------------------------------------------- */

static void empty_queue(struct vl_switch *sw, struct vl_switch_port *port, uint8_t q, uint64_t now)
{
	while (port->queues[q].head) {
		vl_frame_free(take_out(sw, port, q, now));
		port->queue_counters[q].drop_watchdog++;
	}
}

/* What follows from the queues in a storm. */
static void set_storm(struct vl_switch *sw, struct vl_switch_port *port, uint64_t now)
{
	const struct vl_switch_profile *profile = port->profile;
	uint8_t left = port->watchdog.storm;
	uint8_t ignored = (uint8_t)~profile->pfc.enabled;

	port->dropping_queues = 0;
	port->dropping_groups = 0;
	for (; left; left &= (uint8_t)(left - 1)) {
		uint8_t q = (uint8_t)__builtin_ctz(left);

		ignored |= profile->queue_priorities[q];
		if (profile->watchdog.config.action != VL_WATCHDOG_DROP)
			continue;
		port->dropping_queues |= (uint8_t)(1u << q);
		port->dropping_groups |= profile->queue_groups[q];
		empty_queue(sw, port, q, now);
	}
	vl_pfc_receiver_ignore(&port->pause, ignored, now);
	set_paused(port, now);
}

static void poll_watchdog(struct vl_switch *sw, struct vl_switch_port *port, uint64_t now)
{
	struct vl_watchdog_change change;

	update_pauses(port, now);
	change = vl_watchdog_poll(&port->watchdog, &port->profile->watchdog, now);
	if (change.detected | change.restored)
		set_storm(sw, port, now);
}

/* ---- The next frame -------------------------------------------------------------------- */

struct vl_frame *vl_switch_transmit(struct vl_switch *sw, uint32_t number, uint64_t now)
{
	struct vl_switch_port *port = &sw->ports[number];
	struct vl_frame *frame = NULL;
	uint8_t candidates;

	if (port->profile->has_watchdog && now >= vl_watchdog_next_poll(&port->watchdog))
		poll_watchdog(sw, port, now);
	if (vl_pfc_sender_is_due(&port->pfc, now))
		frame = transmit_pfc(sw, port, now);
	update_pauses(port, now);
	while (!frame && (candidates = find_candidates(sw, port, now)))
		frame = dequeue(sw, port,
				vl_scheduler_choose(&port->profile->scheduler, &port->scheduler,
						    port->queues, candidates, port->occupied),
				now);
	if (frame) {
		port->counters.tx_frames++;
		port->counters.tx_bytes += frame->length;
	}
	return frame;
}

static inline uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* When the first of the candidates, not 0, may leave. */
static uint64_t first_ready(const struct vl_switch *sw, const struct vl_switch_port *port,
			    uint8_t candidates)
{
	uint64_t first = UINT64_MAX;

	for (; candidates; candidates &= (uint8_t)(candidates - 1)) {
		unsigned int q = (unsigned int)__builtin_ctz(candidates);
		uint64_t time = vl_scheduler_open_at(&port->profile->scheduler, &port->scheduler,
						     (uint8_t)(1u << q));

		if (sw->is_cut_through && port->queues[q].head->ready_at > time)
			time = port->queues[q].head->ready_at;
		first = earlier(first, time);
	}
	return first;
}

uint64_t vl_switch_next_deadline(const struct vl_switch *sw, uint32_t number, uint64_t now)
{
	const struct vl_switch_port *port = &sw->ports[number];
	uint8_t candidates = port->occupied & (uint8_t)~port->paused;
	uint64_t deadline = port->pfc.refresh_at;

	if (port->pfc.changed)
		return now;
	if (candidates) {
		if (!port->profile->is_shaped && !sw->is_cut_through)
			return now;
		deadline = earlier(deadline, first_ready(sw, port, candidates));
	}
	if (port->occupied || port->pause.pending_count || port->watchdog.paused)
		deadline = earlier(deadline, port->pause.next_change);
	deadline = earlier(deadline, vl_watchdog_next_poll(&port->watchdog));
	return deadline > now ? deadline : now;
}
