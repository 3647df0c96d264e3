/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "tests/property/rc_traffic.h"

#include "tests/property/rc_model.h"
#include "tests/support/hosts.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEP         UINT64_C(1000000)    /* ns of virtual time between looks at the progress */
#define LONG_SILENCE UINT64_C(2000000000) /* ns without any completion */

__attribute__((format(printf, 3, 4))) void complain(struct traffic *traffic,
						    const struct direction *direction,
						    const char *format, ...)
{
	char what[160];
	va_list arguments;

	if (traffic->result->failure[0])
		return;
	va_start(arguments, format);
	vsnprintf(what, sizeof(what), format, arguments);
	va_end(arguments);
	if (direction)
		snprintf(traffic->result->failure, sizeof(traffic->result->failure),
			 "seed %llu, connection %u, host %u, at %llu ns: %s",
			 (unsigned long long)traffic->parameters.seed, direction->connection,
			 direction->near->number,
			 (unsigned long long)vl_network_now(traffic->network), what);
	else
		snprintf(traffic->result->failure, sizeof(traffic->result->failure),
			 "seed %llu: %s", (unsigned long long)traffic->parameters.seed, what);
	vl_executor_stop(vl_network_executor(traffic->network));
}

void digest(struct traffic *traffic, uint64_t value)
{
	traffic->result->digest = (traffic->result->digest ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	traffic->result->digest ^= traffic->result->digest >> 29;
}

/* ---- The application ----------------------------------------------------------------------- */

static bool is_done(const struct direction *direction)
{
	return direction->is_dead || direction->completed == direction->target;
}

static void post_more(struct host *host, uint64_t now)
{
	struct traffic *traffic = host->traffic;

	for (unsigned int i = 0; i < traffic->parameters.connections; i++) {
		struct direction *direction = &traffic->directions[2 * i + host->number];
		struct direction *other = &traffic->directions[2 * i + 1 - host->number];

		while (!is_connection_dead(traffic, i) && direction->posted < direction->target &&
		       direction->posted - direction->completed < TRAFFIC_DEPTH &&
		       post_message(direction, now))
			;
		if (traffic->parameters.ends_in_error && !host->number && !direction->is_dead &&
		    !direction->is_poisoned && direction->completed == direction->target &&
		    is_done(other) && !other->is_dead)
			post_poison(direction, now);
	}
}

/* Sends first: an error shows there before the receives are flushed. */
static unsigned int poll_all(struct host *host, unsigned int *receives)
{
	struct ibv_wc wc[16];
	unsigned int sends = 0;
	int count;

	*receives = 0;
	while ((count = vl_poll_cq(host->send_cq, 16, wc)) > 0) {
		for (int i = 0; i < count; i++)
			send_completed(host, &wc[i]);
		sends += (unsigned int)count;
	}
	if (!count) {
		while ((count = vl_poll_cq(host->recv_cq, 16, wc)) > 0) {
			for (int i = 0; i < count; i++)
				receive_completed(host, &wc[i]);
			*receives += (unsigned int)count;
		}
	}
	if (count < 0)
		complain(host->traffic, NULL, "a completion queue failed");
	return sends;
}

static void cut_links(struct traffic *traffic)
{
	const struct vl_impairments all = {.loss = 1};

	traffic->is_cut = true;
	vl_fabric_link_impair(vl_network_link(traffic->hosts[0].node, 0), &all);
	vl_fabric_link_impair(vl_network_link(traffic->hosts[1].node, 0), &all);
}

static void poll_host(void *context, struct vl_endpoint *endpoint, uint64_t now)
{
	struct host *host = context;
	struct traffic *traffic = host->traffic;
	unsigned int sends, receives;

	(void)endpoint;
	if (traffic->result->failure[0])
		return;
	sends = poll_all(host, &receives);
	if (receives) {
		if (!traffic->parameters.late_receives || one_in(traffic, 8))
			post_receives(host);
		else if (host->post_receives_at == UINT64_MAX)
			host->post_receives_at = now + 1 + below(traffic, 60000);
	}
	if (now >= host->post_receives_at)
		post_receives(host);
	if (sends || receives) {
		traffic->last_progress = now;
		if (traffic->parameters.stays_dead && !traffic->is_cut &&
		    2 * traffic->result->messages >= traffic->parameters.messages)
			cut_links(traffic);
		post_more(host, now);
	}
}

static uint64_t host_deadline(void *context)
{
	return ((struct host *)context)->post_receives_at;
}

/* ---- Building and running ------------------------------------------------------------------ */

static bool create_host(struct traffic *traffic, unsigned int number)
{
	const struct traffic_parameters *parameters = &traffic->parameters;
	struct host *host = &traffic->hosts[number];
	struct vl_endpoint_config config = host_config((uint16_t)(1 + number), 0);
	struct vl_application application = {poll_host, host_deadline, host};
	uint32_t slots = parameters->connections * 2 * TRAFFIC_DEPTH;
	uint32_t word_count = 1 + parameters->connections * TRAFFIC_COUNTERS;

	host->traffic = traffic;
	host->number = number;
	host->post_receives_at = UINT64_MAX;
	host->receive_count = parameters->connections * TRAFFIC_RECEIVES;
	host->slots_size = (size_t)(slots + host->receive_count) * TRAFFIC_SLOT;
	host->slots = malloc(host->slots_size);
	host->words = calloc(word_count, 8);
	host->receives = calloc(host->receive_count, sizeof(*host->receives));
	host->free_receives = calloc(host->receive_count, sizeof(*host->free_receives));
	if (!host->slots || !host->words || !host->receives || !host->free_receives)
		return false;
	memset(host->slots, TRAFFIC_CANARY, host->slots_size);
	host->receive_slots = slot_at(host->slots, slots);
	while (host->free_count < host->receive_count) {
		host->free_receives[host->free_count] = host->free_count;
		host->free_count++;
	}
	config.device.unlimited_credits = parameters->unlimited_credits;
	host->node = vl_network_add_endpoint(traffic->network, &config);
	if (!host->node)
		return false;
	vl_endpoint_set_application(vl_node_endpoint(host->node), &application);
	host->device = vl_node_endpoint(host->node)->device;
	host->pd = vl_alloc_pd(host->device, NULL);
	host->send_cq = vl_create_cq(host->device, 1024, NULL, NULL);
	host->recv_cq = vl_create_cq(host->device, 1024, NULL, NULL);
	if (!host->pd || !host->send_cq || !host->recv_cq)
		return false;
	host->mr = vl_reg_mr(host->pd, host->slots, host->slots_size, (uintptr_t)host->slots,
			     TRAFFIC_ACCESS, NULL);
	host->word_mr = vl_reg_mr(host->pd, host->words, (size_t)word_count * 8,
				  (uintptr_t)host->words, TRAFFIC_ACCESS, NULL);
	if (parameters->shared_receives) {
		struct ibv_srq_attr attr = {.max_wr = host->receive_count, .max_sge = TRAFFIC_SGES};

		host->srq = vl_create_srq(host->pd, &attr, NULL);
	}
	return host->mr && host->word_mr && (host->srq || !parameters->shared_receives);
}

static struct vl_qp *create_qp(struct host *host)
{
	struct vl_qp_init_attr attr = {
		.send_cq = host->send_cq,
		.recv_cq = host->recv_cq,
		.srq = host->srq,
		.cap =
			{
				.max_send_wr = TRAFFIC_DEPTH,
				.max_recv_wr = TRAFFIC_RECEIVES,
				.max_send_sge = TRAFFIC_SGES,
				.max_recv_sge = TRAFFIC_SGES,
				.max_inline_data = TRAFFIC_INLINE,
			},
		.qp_type = IBV_QPT_RC,
	};

	return vl_create_qp(host->pd, &attr, NULL);
}

static void fill_direction(struct traffic *traffic, unsigned int connection, unsigned int from,
			   struct vl_qp *qp, struct vl_qp *peer)
{
	struct direction *direction = &traffic->directions[2 * connection + from];

	direction->near = &traffic->hosts[from];
	direction->far = &traffic->hosts[1 - from];
	direction->qp = qp;
	direction->peer = peer;
	direction->connection = connection;
	direction->local = slot_at(direction->near->slots, connection * 2 * TRAFFIC_DEPTH);
	direction->remote =
		direction->far->slots + (size_t)(connection * 2 + 1) * TRAFFIC_DEPTH * TRAFFIC_SLOT;
	direction->words = direction->far->words + 1 + connection * TRAFFIC_COUNTERS;
	direction->last_shared = UINT64_MAX;
	direction->target =
		traffic->parameters.messages / (2 * traffic->parameters.connections) + 1;
}

static bool connect_pair(struct traffic *traffic, unsigned int connection)
{
	const struct traffic_parameters *parameters = &traffic->parameters;
	struct vl_qp *qps[2] = {create_qp(&traffic->hosts[0]), create_qp(&traffic->hosts[1])};
	uint32_t psns[2];

	if (!qps[0] || !qps[1])
		return false;
	for (unsigned int i = 0; i < 2; i++)
		psns[i] = 0xffffff - (uint32_t)below(traffic, 300);
	for (unsigned int i = 0; i < 2; i++) {
		struct host_path path = {
			.remote_host = (uint16_t)(2 - i),
			.remote_qpn = vl_qp_number(qps[1 - i]),
			.send_psn = psns[i],
			.receive_psn = psns[1 - i],
			.mtu = parameters->mtu,
			.timeout = parameters->timeout,
			.retry_count = parameters->retry_count,
			.rnr_retry = parameters->rnr_retry,
			.rd_atomic = parameters->rd_atomic,
			.min_rnr_timer = 1,
			.access = TRAFFIC_ACCESS,
		};

		if (host_connect(qps[i], IBV_QPT_RC, &path, 0))
			return false;
		fill_direction(traffic, connection, i, qps[i], qps[1 - i]);
	}
	return register_invalidatable(&traffic->directions[2 * connection]) &&
	       register_invalidatable(&traffic->directions[2 * connection + 1]);
}

static bool join_hosts(struct traffic *traffic)
{
	struct vl_link_config links[2];
	const struct vl_link_config clean = {.rate = UINT64_C(100000000000), .propagation = 300};
	struct vl_switch_config config;
	struct vl_node *sw;

	vl_switch_config_defaults(&config, 2, 4000000);
	memcpy(config.mac, (uint8_t[6]){2, 1}, 6);
	for (unsigned int i = 0; i < 2; i++) {
		links[i] = clean;
		links[i].seed = traffic->parameters.seed;
		links[i].impairments = traffic->parameters.impairments[i];
	}
	if (!traffic->parameters.through_switch)
		return !vl_network_connect(traffic->network, traffic->hosts[0].node, 0,
					   traffic->hosts[1].node, 0, &links[0], &links[1]);
	sw = vl_network_add_switch(traffic->network, "switch", &config);
	return sw &&
	       !vl_network_connect(traffic->network, traffic->hosts[0].node, 0, sw, 0, &links[0],
				   &clean) &&
	       !vl_network_connect(traffic->network, traffic->hosts[1].node, 0, sw, 1, &links[1],
				   &clean) &&
	       !vl_network_route(traffic->network);
}

static bool build(struct traffic *traffic)
{
	if (!create_host(traffic, 0) || !create_host(traffic, 1) || !join_hosts(traffic))
		return false;
	for (unsigned int i = 0; i < traffic->parameters.connections; i++) {
		if (!connect_pair(traffic, i))
			return false;
	}
	post_receives(&traffic->hosts[0]);
	post_receives(&traffic->hosts[1]);
	return !traffic->result->failure[0];
}

static bool is_finished(const struct traffic *traffic)
{
	for (unsigned int i = 0; i < 2 * traffic->parameters.connections; i++) {
		const struct direction *direction = &traffic->directions[i];

		if (!is_connection_dead(traffic, direction->connection) && !is_done(direction))
			return false;
		if (direction->is_poisoned && !direction->is_poison_done)
			return false;
		if (traffic->parameters.ends_in_error && i % 2 == 0 && !direction->is_poisoned &&
		    !is_connection_dead(traffic, direction->connection))
			return false;
	}
	return true;
}

static void drive(struct traffic *traffic)
{
	uint64_t now;

	for (unsigned int i = 0; i < 2; i++)
		post_more(&traffic->hosts[i], 0);
	while (!traffic->result->failure[0] && !is_finished(traffic)) {
		now = vl_network_now(traffic->network);
		vl_network_run_until(traffic->network, now + STEP);
		for (unsigned int i = 0; i < 2 && !traffic->result->failure[0]; i++)
			post_more(&traffic->hosts[i], now + STEP);
		if (now > traffic->last_progress + LONG_SILENCE) {
			for (unsigned int i = 0; i < 2 * traffic->parameters.connections; i++) {
				const struct direction *direction = &traffic->directions[i];

				if (!is_done(direction))
					complain(traffic, direction,
						 "nothing happens any more after message %llu of "
						 "%llu",
						 (unsigned long long)direction->completed,
						 (unsigned long long)direction->posted);
			}
			complain(traffic, NULL, "nothing happens any more");
		}
	}
	/* What is still in flight may not do any harm. */
	if (!traffic->result->failure[0])
		vl_network_run_until(traffic->network,
				     vl_network_now(traffic->network) + 10 * STEP);
}

/* At the end every byte is canary again, and every word what the model says. */
static void check_memory(struct traffic *traffic)
{
	bool any_dead = false;

	for (unsigned int i = 0; i < 2 * traffic->parameters.connections; i++) {
		struct direction *direction = &traffic->directions[i];

		if (is_connection_dead(traffic, direction->connection)) {
			any_dead = true;
			traffic->result->lost_connections += i % 2;
			continue;
		}
		if (memcmp(direction->words, direction->posted_words,
			   sizeof(direction->posted_words)))
			complain(traffic, direction, "atomic words differ from the model's");
		if (direction->awaited_head != direction->awaited_tail)
			complain(traffic, direction, "messages were not received");
		for (unsigned int s = 0; s < TRAFFIC_DEPTH; s++) {
			if (!is_canary(slot_at(direction->local, s)) ||
			    !is_canary(slot_at(direction->remote, s)))
				complain(traffic, direction, "memory was written after the fact");
		}
	}
	for (unsigned int i = 0; i < 2 && !any_dead; i++) {
		struct host *host = &traffic->hosts[i];

		if (host->words[0] != host->shared_adds)
			complain(traffic, NULL,
				 "host %u's shared word is %llu after %llu additions", i,
				 (unsigned long long)host->words[0],
				 (unsigned long long)host->shared_adds);
		for (unsigned int s = 0;
		     s < host->receive_count && !host->traffic->parameters.ends_in_error; s++) {
			if (!is_canary(slot_at(host->receive_slots, s)))
				complain(traffic, NULL,
					 "host %u: a receive buffer was written after the fact", i);
		}
	}
}

static void collect(struct traffic *traffic)
{
	struct traffic_result *result = traffic->result;

	for (unsigned int i = 0; i < 2; i++) {
		const struct vl_counters *counters = vl_device_counters(traffic->hosts[i].device);
		const struct vl_fabric_link *link = vl_network_link(traffic->hosts[i].node, 0);

		result->retransmitted += counters->data_frames_retransmitted;
		result->rnr_naks += counters->rnr_nak_tx;
		result->corrupted += link->counters.corrupted;
		result->duplicated += link->counters.duplicated;
		result->reordered += link->counters.reordered;
		result->dropped += link->counters.dropped_loss;
		digest(traffic, link->counters.bytes_tx);
	}
	result->virtual_time = vl_network_now(traffic->network);
}

void traffic_run(const struct traffic_parameters *parameters, struct traffic_result *result)
{
	struct traffic *traffic = calloc(1, sizeof(*traffic));

	*result = (struct traffic_result){0};
	fill_table();
	if (!traffic) {
		snprintf(result->failure, sizeof(result->failure), "no memory");
		return;
	}
	traffic->parameters = *parameters;
	traffic->result = result;
	traffic->random.state = parameters->seed;
	traffic->network = vl_network_create(NULL);
	if (!traffic->network || !build(traffic)) {
		snprintf(result->failure, sizeof(result->failure), "cannot build: %s",
			 traffic->network ? vl_network_error(traffic->network) : "no memory");
	} else {
		drive(traffic);
		if (!result->failure[0])
			check_memory(traffic);
		collect(traffic);
	}
	vl_network_destroy(traffic->network);
	for (unsigned int i = 0; i < 2; i++) {
		free(traffic->hosts[i].slots);
		free(traffic->hosts[i].words);
		free(traffic->hosts[i].receives);
		free(traffic->hosts[i].free_receives);
	}
	free(traffic);
}
