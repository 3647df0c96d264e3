/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/runtime/live_carrier.h"

#include "transport/random.h"

#include <rte_mbuf.h>

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Nanoseconds between two looks at the ports, and between two hellos. */
#define MEET_STEP      UINT64_C(200000)
#define HELLO_INTERVAL UINT64_C(10000000)
/* For the right one to be heard, after a hello of who runs something else. */
#define DIFFERENCE_TIME UINT64_C(1000000000)

static const uint8_t broadcast[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

/* ---- Set-up ---------------------------------------------------------------------------- */

static struct live_wire *find_wire(struct vl_live_network *network, struct vl_port *port,
				   unsigned int worker, struct vl_error *error)
{
	struct live_wire *wire;

	for (uint32_t i = 0; i < network->wire_count; i++) {
		wire = &network->wires[i];
		if (wire->port != port)
			continue;
		if (wire->worker == worker)
			return wire;
		vl_error_set(error, -EINVAL,
			     "links of nodes on different workers cannot share port %s",
			     port->name);
		return NULL;
	}
	if (network->wire_count == VL_LIVE_MAX_WIRES) {
		vl_error_set(error, -ENOSPC, "links leave by more than %u ports",
			     VL_LIVE_MAX_WIRES);
		return NULL;
	}
	wire = &network->wires[network->wire_count++];
	*wire = (struct live_wire){.port = port, .worker = worker};
	return wire;
}

static int check_wire(const struct live_wire *wire, const struct live_port *port, uint16_t link,
		      struct vl_error *error)
{
	if (wire->link_count == VL_LIVE_MAX_WIRE_LINKS)
		return vl_error_set(error, -ENOSPC, "more than %u links leave by port %s",
				    VL_LIVE_MAX_WIRE_LINKS, wire->port->name);
	for (uint32_t i = 0; i < wire->link_count; i++) {
		if (wire->links[i]->carrier->end.link == link)
			return vl_error_set(error, -EEXIST,
					    "two links leave by port %s with the number %u",
					    wire->port->name, link);
	}
	if (!vl_live_is_infiniband(port->node))
		return vl_error_set(error, -ENOTSUP,
				    "%s: only links of InfiniBand nodes can leave by a port",
				    port->node->name);
	return 0;
}

static uint32_t make_session(void)
{
	struct timespec now;
	struct vl_random random;

	clock_gettime(CLOCK_REALTIME, &now);
	random.state = (uint64_t)now.tv_sec << 30 ^ (uint64_t)now.tv_nsec;
	/* 0 stands for none. */
	return (uint32_t)vl_random_next(&random) | 1;
}

int vl_live_network_carry(struct vl_live_network *network, struct vl_live_node *node, uint32_t port,
			  const struct vl_link_config *config, struct vl_port *wire_port,
			  uint16_t link, struct vl_error *error)
{
	struct live_port *from;
	struct live_wire *wire;
	int result = vl_live_check_port(node, port, error);

	if (result)
		return result;
	from = &node->ports[port];
	wire = find_wire(network, wire_port, node->worker, error);
	if (!wire)
		return -EINVAL;
	result = check_wire(wire, from, link, error);
	if (!result)
		result = vl_live_make_link(network, from, node->worker, false, config, error);
	if (result)
		return result;
	from->carrier = calloc(1, sizeof(*from->carrier));
	if (!from->carrier)
		return vl_error_set(error, -ENOMEM, "%s: no memory", node->name);
	from->carrier->wire = wire;
	vl_carrier_init(&from->carrier->end, wire_port->mac, broadcast, link, make_session());
	wire->links[wire->link_count++] = from;
	vl_live_check_vcrc(from);
	network->link_count++;
	return 0;
}

const struct vl_carrier *vl_live_network_carrier(const struct vl_live_node *node, uint32_t port)
{
	return port < node->port_count && node->ports[port].carrier
		       ? &node->ports[port].carrier->end
		       : NULL;
}

struct rte_mempool *vl_live_network_mempool(const struct vl_live_network *network,
					    unsigned int worker)
{
	return network->parts[worker].mempool;
}

void vl_live_wire_release(struct live_wire *wire)
{
	rte_pktmbuf_free_bulk(wire->pending, wire->pending_count);
	wire->pending_count = 0;
}

/* ---- Frames ---------------------------------------------------------------------------- */

static struct live_port *find_link(struct live_wire *wire, const uint8_t *frame, uint32_t length)
{
	uint16_t link;

	if (!vl_carrier_link(frame, length, &link)) {
		wire->rx_foreign++;
		return NULL;
	}
	for (uint32_t i = 0; i < wire->link_count; i++) {
		if (wire->links[i]->carrier->end.link == link)
			return wire->links[i];
	}
	wire->rx_unknown_link++;
	return NULL;
}

/* What can be read of a frame: none of ours is longer than a buffer. */
static uint32_t first_part(const struct rte_mbuf *mbuf)
{
	return mbuf->nb_segs == 1 ? mbuf->data_len : 0;
}

/* The frame inside an mbuf, which it then owns; NULL: there is none, and the mbuf is freed. */
static struct vl_frame *unwrap(struct live_part *part, struct live_wire *wire,
			       struct rte_mbuf *mbuf, struct live_port **to)
{
	const uint8_t *bytes = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	struct vl_carrier_packet packet;
	struct vl_carrier_hello hello;
	struct vl_frame *frame;

	*to = find_link(wire, bytes, first_part(mbuf));
	if (!*to || !vl_carrier_read(&(*to)->carrier->end, bytes, mbuf->data_len, &packet)) {
		rte_pktmbuf_free(mbuf);
		return NULL;
	}
	/* Answers are not answered, or two that run would go on doing so for ever; whoever still
	 * waits for an answer takes the flow control packets of a link that runs for one. */
	if (vl_carrier_read_hello(&packet, &hello)) {
		if (hello.digest != part->network->digest)
			(*to)->carrier->end.counters.rx_strangers++;
		else if (vl_carrier_take_hello(&(*to)->carrier->end, packet.session, &hello))
			(*to)->carrier->owes_hello |= hello.answers != (*to)->carrier->end.session;
		rte_pktmbuf_free(mbuf);
		return NULL;
	}
	frame = vl_frame_of_received(mbuf, &part->pool);
	frame->data += VL_CARRIER_HEADER_LENGTH;
	frame->capacity -= VL_CARRIER_HEADER_LENGTH;
	frame->length = packet.length;
	frame->kind = packet.kind == VL_CARRIER_LINK_PACKET ? VL_FRAME_INFINIBAND_LINK
							    : VL_FRAME_INFINIBAND;
	return frame;
}

uint32_t vl_live_wire_receive(struct live_part *part, struct live_wire *wire, uint64_t now,
			      void (*deliver)(struct live_port *port, struct vl_frame *frame,
					      uint64_t now))
{
	struct rte_mbuf *mbufs[VL_PORT_BURST];
	uint16_t count = vl_port_receive(wire->port, 0, mbufs, VL_PORT_BURST);

	for (uint16_t i = 0; i < count; i++)
		rte_prefetch0(rte_pktmbuf_mtod(mbufs[i], const void *));
	for (uint16_t i = 0; i < count; i++) {
		struct live_port *to;
		struct vl_frame *frame = unwrap(part, wire, mbufs[i], &to);

		if (frame)
			deliver(to, frame, now);
	}
	return count;
}

static bool flush(struct live_wire *wire)
{
	uint16_t sent;

	if (!wire->pending_count)
		return true;
	sent = vl_port_transmit(wire->port, 0, wire->pending, wire->pending_count);
	wire->pending_count -= sent;
	memmove(wire->pending, wire->pending + sent,
		wire->pending_count * sizeof(struct rte_mbuf *));
	return !wire->pending_count;
}

/* Ethernet has no shorter frames; some ports do not see to that themselves. */
static void pad(struct rte_mbuf *mbuf)
{
	uint16_t missing;

	if (mbuf->data_len >= VL_CARRIER_LEAST_FRAME)
		return;
	missing = (uint16_t)(VL_CARRIER_LEAST_FRAME - mbuf->data_len);
	memset(rte_pktmbuf_mtod_offset(mbuf, uint8_t *, mbuf->data_len), 0, missing);
	mbuf->data_len += missing;
	mbuf->pkt_len += missing;
}

static bool has_room(struct live_wire *wire)
{
	return wire->pending_count < VL_PORT_BURST ||
	       (flush(wire), wire->pending_count < VL_PORT_BURST);
}

bool vl_live_wire_send(struct live_port *port, struct vl_frame *frame)
{
	struct live_carrier *carrier = port->carrier;
	enum vl_carrier_kind kind = frame->kind == VL_FRAME_INFINIBAND_LINK ? VL_CARRIER_LINK_PACKET
									    : VL_CARRIER_PACKET;
	struct rte_mbuf *mbuf;

	if (!has_room(carrier->wire))
		return false;
	/* Every buffer has headroom for more than that. */
	frame->data -= VL_CARRIER_HEADER_LENGTH;
	vl_carrier_write(&carrier->end, frame->data, kind, (uint16_t)frame->length);
	frame->length += VL_CARRIER_HEADER_LENGTH;
	mbuf = vl_mbuf_of_frame(frame);
	mbuf->ol_flags = 0;
	pad(mbuf);
	carrier->wire->pending[carrier->wire->pending_count++] = mbuf;
	return true;
}

/* False: no buffer, or no room. */
static bool send_hello(struct rte_mempool *mempool, struct live_port *port, uint64_t digest)
{
	struct live_carrier *carrier = port->carrier;
	const struct vl_carrier_hello hello = {
		digest, carrier->end.is_heard ? carrier->end.peer_session : 0};
	struct rte_mbuf *mbuf;
	uint8_t *bytes;

	if (!has_room(carrier->wire))
		return false;
	mbuf = rte_pktmbuf_alloc(mempool);
	if (!mbuf)
		return false;
	bytes = (uint8_t *)rte_pktmbuf_append(mbuf,
					      VL_CARRIER_HEADER_LENGTH + VL_CARRIER_HELLO_LENGTH);
	vl_carrier_write(&carrier->end, bytes, VL_CARRIER_HELLO, VL_CARRIER_HELLO_LENGTH);
	vl_carrier_write_hello(bytes + VL_CARRIER_HEADER_LENGTH, &hello);
	pad(mbuf);
	carrier->wire->pending[carrier->wire->pending_count++] = mbuf;
	return true;
}

void vl_live_wire_flush(struct live_part *part, struct live_wire *wire)
{
	uint64_t now = atomic_load_explicit(&part->last_round, memory_order_relaxed);

	for (uint32_t i = 0; i < wire->link_count; i++) {
		struct live_carrier *carrier = wire->links[i]->carrier;

		/* However many ask. */
		if (likely(!carrier->owes_hello) || now < carrier->next_answer)
			continue;
		carrier->owes_hello =
			!send_hello(part->mempool, wire->links[i], part->network->digest);
		carrier->next_answer = now + HELLO_INTERVAL;
	}
	flush(wire);
}

/* ---- Meeting --------------------------------------------------------------------------- */

static void hear(struct live_wire *wire, struct rte_mbuf *mbuf, uint64_t digest)
{
	const uint8_t *bytes = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	struct live_port *port = find_link(wire, bytes, first_part(mbuf));
	struct vl_carrier_packet packet;
	struct vl_carrier_hello hello;
	struct live_carrier *carrier;

	if (!port)
		return;
	carrier = port->carrier;
	/* Packets before any hello are those of a run that is over. */
	if (!carrier->end.is_heard && !vl_carrier_is_hello(bytes, mbuf->data_len)) {
		carrier->end.counters.rx_strangers++;
		return;
	}
	if (!vl_carrier_read(&carrier->end, bytes, mbuf->data_len, &packet) ||
	    !vl_carrier_read_hello(&packet, &hello))
		return;
	if (hello.digest != digest)
		carrier->differs = true;
	else
		vl_carrier_take_hello(&carrier->end, packet.session, &hello);
}

static void look(struct live_wire *wire, uint64_t digest)
{
	struct rte_mbuf *mbufs[VL_PORT_BURST];
	uint16_t count = vl_port_receive(wire->port, 0, mbufs, VL_PORT_BURST);

	for (uint16_t i = 0; i < count; i++)
		hear(wire, mbufs[i], digest);
	rte_pktmbuf_free_bulk(mbufs, count);
}

static const struct live_port *who_is_missing(const struct vl_live_network *network)
{
	for (uint32_t i = 0; i < network->wire_count; i++) {
		const struct live_wire *wire = &network->wires[i];

		for (uint32_t j = 0; j < wire->link_count; j++) {
			if (!wire->links[j]->carrier->end.is_met)
				return wire->links[j];
		}
	}
	return NULL;
}

static void say_hello(struct vl_live_network *network, struct live_wire *wire)
{
	for (uint32_t i = 0; i < wire->link_count; i++)
		send_hello(network->parts[wire->worker].mempool, wire->links[i], network->digest);
	flush(wire);
}

static void sleep_a_step(void)
{
	const struct timespec step = {0, (long)MEET_STEP};

	nanosleep(&step, NULL);
}

static bool has_other_scenario(const struct vl_live_network *network, struct vl_error *error)
{
	for (uint32_t i = 0; i < network->wire_count; i++) {
		const struct live_wire *wire = &network->wires[i];

		for (uint32_t j = 0; j < wire->link_count; j++) {
			const struct live_port *port = wire->links[j];

			if (!port->carrier->differs || port->carrier->end.is_met)
				continue;
			vl_error_set(error, -EPROTO,
				     "the other end of the link at port %u of %s runs another "
				     "scenario, or one of its options differs",
				     port->number, port->node->name);
			return true;
		}
	}
	return false;
}

/* The last hellos may have been the answers that the others wait for; running, we answer too. */
int vl_live_network_meet(struct vl_live_network *network, uint64_t digest, uint64_t timeout,
			 const volatile sig_atomic_t *interrupted, struct vl_error *error)
{
	uint64_t start = vl_worker_now(), now = start, next_hello = start;
	uint64_t give_up = UINT64_MAX; /* on who runs something else */
	const struct live_port *missing;

	network->digest = digest;
	for (; (missing = who_is_missing(network)) && now - start < timeout && now < give_up;
	     now = vl_worker_now()) {
		if (*interrupted)
			return -EINTR;
		for (uint32_t i = 0; i < network->wire_count; i++) {
			if (now >= next_hello)
				say_hello(network, &network->wires[i]);
			look(&network->wires[i], digest);
		}
		/* It may have been somebody else's, and the other end has to hear ours, too. */
		if (give_up == UINT64_MAX && has_other_scenario(network, error))
			give_up = now + DIFFERENCE_TIME;
		next_hello = now >= next_hello ? now + HELLO_INTERVAL : next_hello;
		sleep_a_step();
	}
	if (missing && has_other_scenario(network, error))
		return error->code;
	if (missing)
		return vl_error_set(error, -ETIMEDOUT,
				    "nobody answered at the other end of the link at port %u of "
				    "%s, by %s: does the other process run, with the rest of the "
				    "nodes?",
				    missing->number, missing->node->name,
				    missing->carrier->wire->port->name);
	for (uint32_t i = 0; i < network->wire_count; i++)
		say_hello(network, &network->wires[i]);
	return 0;
}
