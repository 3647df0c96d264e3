/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * An endpoint with a hostile peer, in virtual time, for as long as is asked: frames of every kind
 * of tests/soak/hostile.h, in a flood, beside queue pairs of an honest peer that write, read back
 * and compare. At all times: the honest ones get on and find what they wrote; no byte outside of
 * granted memory changes; every frame that came was accepted, answered or dropped, and is counted
 * so; memory in use does not grow. Queue pairs that the attacker breaks are destroyed and made
 * anew.
 *
 *   soak [--seconds N] [--seed N]        (default: 10; CI runs that, a release an hour)
 *
 * Exit status: 0, 1 something was not so, 2 wrong usage.
 */

#include "apps/endpoint/instance.h"
#include "dataplane/network.h"
#include "tests/soak/hostile.h"
#include "tests/support/hosts.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define VICTIM         1u
#define HONEST         2u
#define ATTACKER       3u
#define HONEST_QPS     8u
#define ATTACKED_QPS   6u
#define SLOT           8192u /* of an honest queue pair */
#define GRANTED        4096u /* to the attacker */
#define GUARD          4096u
#define CANARY         0x5a
#define STEP_NS        1000u
#define STEP_FRAMES    3u
#define CHECK_STEPS    5000u /* 5 ms */
#define WARM_UP_CHECKS 20u
#define REMOTE                                                                                     \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

struct honest {
	struct vl_qp *ours, *theirs; /* at the honest host, and at the victim */
	uint64_t rounds, rounds_before;
	uint8_t *memory; /* what is written, and what was read, a slot each */
	bool is_writing;
};

struct attacked {
	struct vl_qp *qp;
	enum ibv_qp_type type;
	uint64_t born;
};

struct soak {
	struct vl_network *network;
	struct vl_node *victim_node, *honest_node;
	struct vl_endpoint *victim, *honest_endpoint;
	struct vl_instance *instance;
	struct vl_random random;

	struct vl_cq *honest_cq, *victim_cq, *attacked_cq;
	struct vl_pd *honest_pd, *victim_pd, *attacked_pd;
	struct ibv_mr *honest_mr, *victim_mr, *attacked_mr, *private_mr;
	uint8_t *honest_memory;
	uint8_t *victim_memory;   /* guard, slots of the honest, guard */
	uint8_t *attacked_memory; /* guard, granted, guard */
	uint8_t *private_memory;  /* registered for nobody else */
	struct honest honest[HONEST_QPS];
	struct attacked attacked[ATTACKED_QPS];

	uint64_t sent[HOSTILE_KIND_COUNT], injected;
	uint64_t refused; /* neither dropped nor taken */
	uint64_t reborn;
	int64_t memory_in_use, memory_warm;
	uint64_t checks;
	int failures;
};

static void fail(struct soak *soak, const char *what, uint64_t found, uint64_t expected)
{
	fprintf(stderr, "soak: at %.3f ms: %s: %llu, expected %llu\n",
		(double)vl_network_now(soak->network) * 1e-6, what, (unsigned long long)found,
		(unsigned long long)expected);
	soak->failures++;
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static void *allocate(void *context, size_t size)
{
	struct soak *soak = context;
	void *memory = aligned_alloc(64, (size + 63) & ~(size_t)63);

	if (!memory)
		return NULL;
	soak->memory_in_use += (int64_t)size;
	return memset(memory, 0, size);
}

static void release(void *context, void *memory, size_t size)
{
	struct soak *soak = context;

	soak->memory_in_use -= (int64_t)size;
	free(memory);
}

static uint8_t *guarded(uint32_t length)
{
	uint8_t *memory = malloc(length + 2 * GUARD);

	if (memory)
		memset(memory, CANARY, length + 2 * GUARD);
	return memory;
}

static bool is_intact(const uint8_t *bytes, uint32_t length)
{
	for (uint32_t i = 0; i < length; i++) {
		if (bytes[i] != CANARY)
			return false;
	}
	return true;
}

static void check_memory(struct soak *soak)
{
	uint32_t honest = HONEST_QPS * SLOT;

	if (!is_intact(soak->victim_memory, GUARD) ||
	    !is_intact(soak->victim_memory + GUARD + honest, GUARD) ||
	    !is_intact(soak->attacked_memory, GUARD) ||
	    !is_intact(soak->attacked_memory + GUARD + GRANTED, GUARD))
		fail(soak, "memory beside what was granted is written", 1, 0);
	if (!is_intact(soak->private_memory, GRANTED + 2 * GUARD))
		fail(soak, "memory that was granted to nobody is written", 1, 0);
}

/* ---- The honest ------------------------------------------------------------------------------ */

static void pattern_of(uint8_t *bytes, uint64_t round, uint32_t qp)
{
	struct vl_random random = {round * HONEST_QPS + qp};

	for (uint32_t i = 0; i < SLOT; i += 8) {
		uint64_t value = vl_random_next(&random);

		memcpy(bytes + i, &value, sizeof(value));
	}
}

static void post_honest(struct soak *soak, uint32_t index, bool write, uint64_t now)
{
	struct honest *honest = &soak->honest[index];
	uint8_t *local = honest->memory + (write ? 0 : SLOT);
	struct ibv_sge sge = {(uintptr_t)local, SLOT, soak->honest_mr->lkey};
	struct ibv_send_wr wr = {
		.wr_id = index,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = write ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {.remote_addr = (uintptr_t)soak->victim_memory + GUARD + index * SLOT,
			    .rkey = soak->victim_mr->rkey},
	};
	const struct ibv_send_wr *bad;

	if (write)
		pattern_of(local, honest->rounds, index);
	honest->is_writing = write;
	if (vl_post_send(honest->ours, &wr, &bad, now))
		fail(soak, "an honest work request is refused", index, 0);
}

static void run_honest(void *context, struct vl_endpoint *endpoint, uint64_t now)
{
	struct soak *soak = context;
	struct ibv_wc wc;

	(void)endpoint;
	while (vl_poll_cq(soak->honest_cq, 1, &wc) == 1) {
		uint32_t index = (uint32_t)wc.wr_id;
		struct honest *honest = &soak->honest[index];

		if (wc.status != IBV_WC_SUCCESS) {
			fail(soak, "an honest work request ends in an error", wc.status, 0);
			continue;
		}
		if (honest->is_writing) {
			post_honest(soak, index, false, now);
			continue;
		}
		if (memcmp(honest->memory, honest->memory + SLOT, SLOT))
			fail(soak, "an honest queue pair reads what it did not write", index, 0);
		honest->rounds++;
		post_honest(soak, index, true, now);
	}
}

static void check_progress(struct soak *soak)
{
	for (uint32_t i = 0; i < HONEST_QPS; i++) {
		if (soak->honest[i].rounds == soak->honest[i].rounds_before)
			fail(soak, "an honest queue pair stands still: number", i, UINT64_MAX);
		soak->honest[i].rounds_before = soak->honest[i].rounds;
	}
}

/* ---- The attacked ---------------------------------------------------------------------------- */

static struct vl_qp *make_qp(struct vl_pd *pd, struct vl_cq *cq, enum ibv_qp_type type)
{
	struct vl_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = type,
	};

	return vl_create_qp(pd, &init, NULL);
}

static struct host_path path_to(uint16_t host, uint32_t qpn, uint32_t psn)
{
	return (struct host_path){
		.remote_host = host,
		.remote_qpn = qpn,
		.send_psn = psn,
		.receive_psn = psn,
		.mtu = IBV_MTU_1024,
		.timeout = 10,
		.retry_count = 7,
		.rnr_retry = 7,
		.rd_atomic = 4,
		.min_rnr_timer = 1,
		.access =
			IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	};
}

static int ready_datagram(struct vl_qp *qp)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 7};
	int result = vl_modify_qp(qp, &attr,
				  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY, 0);

	attr.qp_state = IBV_QPS_RTR;
	return result ? result : vl_modify_qp(qp, &attr, IBV_QP_STATE, 0);
}

static void post_some(struct soak *soak, struct attacked *attacked, uint64_t now)
{
	struct ibv_sge sge = {(uintptr_t)soak->attacked_memory + GUARD, 2048,
			      soak->attacked_mr->lkey};
	struct ibv_recv_wr receive = {.sg_list = &sge, .num_sge = 1};
	struct ibv_send_wr send = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND};
	const struct ibv_recv_wr *bad_receive;
	const struct ibv_send_wr *bad_send;

	vl_post_recv(attacked->qp, &receive, &bad_receive);
	if (attacked->type == IBV_QPT_RC)
		vl_post_send(attacked->qp, &send, &bad_send, now);
}

static bool give_birth(struct soak *soak, struct attacked *attacked, uint32_t number)
{
	static const enum ibv_qp_type types[] = {IBV_QPT_RC, IBV_QPT_RC, IBV_QPT_RC,
						 IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD};
	struct host_path path = path_to(ATTACKER, 0x900 + number,
					(uint32_t)vl_random_below(&soak->random, 1 << 24));
	uint64_t now = vl_network_now(soak->network);
	int result;

	attacked->type = types[number % ATTACKED_QPS];
	attacked->born = now;
	attacked->qp = make_qp(soak->attacked_pd, soak->attacked_cq, attacked->type);
	if (!attacked->qp)
		return false;
	result = attacked->type == IBV_QPT_UD
			 ? ready_datagram(attacked->qp)
			 : host_connect(attacked->qp, attacked->type, &path, now);
	for (int i = 0; i < 3 && !result; i++)
		post_some(soak, attacked, now);
	return !result;
}

/* Broken ones go, and so does one now and then that is not. */
static void tend_attacked(struct soak *soak)
{
	struct ibv_wc wc[16];
	uint64_t now = vl_network_now(soak->network);

	while (vl_poll_cq(soak->attacked_cq, 16, wc) > 0)
		;
	for (uint32_t i = 0; i < ATTACKED_QPS; i++) {
		struct attacked *attacked = &soak->attacked[i];
		bool is_broken = vl_qp_state(attacked->qp) == IBV_QPS_ERR;

		/* For a while it gets what a broken one gets. */
		if ((is_broken && vl_random_below(&soak->random, 20) == 0) ||
		    vl_random_below(&soak->random, 5000) == 0) {
			vl_destroy_qp(attacked->qp);
			soak->reborn++;
			if (!give_birth(soak, attacked, i))
				fail(soak, "no new queue pair", i, 0);
		} else if (!is_broken && vl_random_below(&soak->random, 10) == 0) {
			post_some(soak, attacked, now);
		}
	}
}

/* ---- Accounts -------------------------------------------------------------------------------- */

static uint64_t sum_drops(const struct soak *soak)
{
	const uint64_t *drops = vl_device_drops(soak->victim->device);
	uint64_t sum =
		soak->victim->counters.mac_control_ignored + soak->victim->counters.vlan_dropped;

	for (unsigned int i = 0; i < VL_DROP_COUNT; i++)
		sum += drops[i];
	return sum;
}

/* What a frame that is not dropped is counted as: taken, or a request that is answered again or
 * with a NAK. */
static uint64_t sum_accepted(const struct soak *soak)
{
	const struct vl_counters *counters = vl_device_counters(soak->victim->device);

	return counters->data_frames_rx + counters->ack_rx + counters->nak_rx +
	       counters->rnr_nak_rx + counters->cnp_rx + counters->duplicate_request;
}

/* Whether nothing but a drop can come of it. */
static bool is_to_be_dropped(enum hostile_kind kind)
{
	return kind <= HOSTILE_FORGED_CNP || kind == HOSTILE_MAC_CONTROL;
}

static void check_account(struct soak *soak, enum hostile_kind kind, uint64_t drops,
			  uint64_t accepted)
{
	drops = sum_drops(soak) - drops;
	accepted = sum_accepted(soak) - accepted;
	if (drops > 1 || (is_to_be_dropped(kind) && (drops != 1 || accepted)))
		fail(soak, "a bad frame is not dropped once", drops, 1);
	soak->refused += !drops && !accepted;
}

/* The rest are requests that were answered with a NAK; the last ones still are to be. */
static void check_refused(struct soak *soak)
{
	const struct vl_counters *counters = vl_device_counters(soak->victim->device);
	uint64_t answers = counters->nak_tx + counters->rnr_nak_tx;

	if (soak->refused > answers + ATTACKED_QPS)
		fail(soak, "frames that are counted nowhere", soak->refused, answers);
}

/* ---- The attacker ---------------------------------------------------------------------------- */

static struct hostile_target aim(struct soak *soak)
{
	struct attacked *attacked = &soak->attacked[vl_random_below(&soak->random, ATTACKED_QPS)];
	uint32_t other = (uint32_t)vl_random_below(&soak->random, HONEST_QPS);
	struct hostile_target target = {
		.victim = VICTIM,
		.attacker = ATTACKER,
		.others_qpn = vl_qp_number(soak->honest[other].theirs),
		.type = attacked->type,
		.qpn = vl_qp_number(attacked->qp),
		.rkey = soak->attacked_mr->rkey,
		.others_rkey = vl_random_below(&soak->random, 2) ? soak->victim_mr->rkey
								 : soak->private_mr->rkey,
		.address = (uintptr_t)soak->attacked_memory + GUARD,
		.others_address = (uintptr_t)soak->victim_memory + GUARD,
		.length = GRANTED,
	};
	struct ibv_qp_attr attr;
	struct vl_qp_init_attr init;

	/* An attacker that sees all that its own queue pairs are at. */
	vl_query_qp(attacked->qp, &attr, &init);
	target.expected_psn = attr.rq_psn;
	target.sent_psn = attr.sq_psn;
	return target;
}

static void attack(struct soak *soak)
{
	uint8_t bytes[HOSTILE_FRAME];
	uint64_t count = vl_random_below(&soak->random, STEP_FRAMES + 1);

	for (uint64_t i = 0; i < count; i++) {
		struct hostile_target target = aim(soak);
		enum hostile_kind kind =
			(enum hostile_kind)vl_random_below(&soak->random, HOSTILE_KIND_COUNT);
		/* Exactly as long as it is, so that a sanitizer sees who reads beyond. */
		uint32_t length = hostile_frame(&soak->random, kind, &target, bytes);
		uint64_t drops, accepted;
		uint8_t *exact = malloc(length);
		struct vl_frame frame = {.data = exact, .length = length, .capacity = length};

		if (!exact)
			return;
		memcpy(exact, bytes, length);
		drops = sum_drops(soak);
		accepted = sum_accepted(soak);
		vl_endpoint_receive(soak->victim, &frame, vl_network_now(soak->network));
		check_account(soak, kind, drops, accepted);
		free(exact);
		soak->sent[kind]++;
		soak->injected++;
	}
	if (count)
		vl_network_wake(soak->network, soak->victim_node);
}

/* ---- Set-up ---------------------------------------------------------------------------------- */

static bool connect_honest(struct soak *soak, uint32_t index)
{
	struct honest *honest = &soak->honest[index];
	struct host_path path;

	honest->ours = make_qp(soak->honest_pd, soak->honest_cq, IBV_QPT_RC);
	honest->theirs = make_qp(soak->victim_pd, soak->victim_cq, IBV_QPT_RC);
	if (!honest->ours || !honest->theirs)
		return false;
	honest->memory = soak->honest_memory + index * 2 * SLOT;
	path = path_to(VICTIM, vl_qp_number(honest->theirs), 100 * index);
	path.timeout = 14;
	if (host_connect(honest->ours, IBV_QPT_RC, &path, 0))
		return false;
	path = path_to(HONEST, vl_qp_number(honest->ours), 100 * index);
	return !host_connect(honest->theirs, IBV_QPT_RC, &path, 0);
}

static bool open_victim(struct soak *soak)
{
	const struct vl_instance_config config = {
		.seed = 1, .quiet = true, .services = VL_INSTANCE_ALL_SERVICES};
	struct vl_endpoint_config endpoint = host_config(VICTIM, 0);
	struct vl_device *device;
	int error;

	endpoint.device.allocator = (struct vl_allocator){allocate, release, soak};
	soak->victim_node = vl_network_add_endpoint(soak->network, &endpoint);
	if (!soak->victim_node)
		return false;
	soak->victim = vl_node_endpoint(soak->victim_node);
	device = soak->victim->device;
	soak->instance = vl_instance_open(soak->victim, &config, 0, &error);
	soak->victim_pd = vl_alloc_pd(device, NULL);
	soak->attacked_pd = vl_alloc_pd(device, NULL);
	soak->victim_cq = vl_create_cq(device, 256, NULL, NULL);
	soak->attacked_cq = vl_create_cq(device, 4096, NULL, NULL);
	soak->victim_memory = guarded(HONEST_QPS * SLOT);
	soak->attacked_memory = guarded(GRANTED);
	soak->private_memory = guarded(GRANTED);
	if (!soak->instance || !soak->victim_pd || !soak->attacked_pd || !soak->victim_cq ||
	    !soak->attacked_cq || !soak->victim_memory || !soak->attacked_memory ||
	    !soak->private_memory)
		return false;
	soak->victim_mr = vl_reg_mr(soak->victim_pd, soak->victim_memory + GUARD, HONEST_QPS * SLOT,
				    (uintptr_t)soak->victim_memory + GUARD, REMOTE, NULL);
	soak->attacked_mr = vl_reg_mr(soak->attacked_pd, soak->attacked_memory + GUARD, GRANTED,
				      (uintptr_t)soak->attacked_memory + GUARD, REMOTE, NULL);
	/* In the attacked domain, but for local use. */
	soak->private_mr = vl_reg_mr(soak->attacked_pd, soak->private_memory, GRANTED + 2 * GUARD,
				     (uintptr_t)soak->private_memory, IBV_ACCESS_LOCAL_WRITE, NULL);
	return soak->victim_mr && soak->attacked_mr && soak->private_mr;
}

static bool open_honest(struct soak *soak)
{
	struct vl_endpoint_config endpoint = host_config(HONEST, 0);
	uint32_t length = HONEST_QPS * 2 * SLOT;
	struct vl_device *device;

	soak->honest_node = vl_network_add_endpoint(soak->network, &endpoint);
	if (!soak->honest_node)
		return false;
	soak->honest_endpoint = vl_node_endpoint(soak->honest_node);
	device = soak->honest_endpoint->device;
	soak->honest_pd = vl_alloc_pd(device, NULL);
	soak->honest_cq = vl_create_cq(device, 256, NULL, NULL);
	soak->honest_memory = malloc(length);
	if (!soak->honest_pd || !soak->honest_cq || !soak->honest_memory)
		return false;
	soak->honest_mr = vl_reg_mr(soak->honest_pd, soak->honest_memory, length,
				    (uintptr_t)soak->honest_memory, IBV_ACCESS_LOCAL_WRITE, NULL);
	vl_endpoint_set_application(soak->honest_endpoint,
				    &(struct vl_application){.poll = run_honest, .context = soak});
	return soak->honest_mr != NULL;
}

static bool open_soak(struct soak *soak)
{
	const struct vl_link_config link = {.rate = UINT64_C(100000000000), .propagation = 500};

	soak->network = vl_network_create(NULL);
	if (!soak->network || !open_victim(soak) || !open_honest(soak) ||
	    vl_network_connect(soak->network, soak->victim_node, 0, soak->honest_node, 0, &link,
			       NULL))
		return false;
	for (uint32_t i = 0; i < HONEST_QPS; i++) {
		if (!connect_honest(soak, i))
			return false;
	}
	for (uint32_t i = 0; i < ATTACKED_QPS; i++) {
		if (!give_birth(soak, &soak->attacked[i], i))
			return false;
	}
	for (uint32_t i = 0; i < HONEST_QPS; i++)
		post_honest(soak, i, true, 0);
	return true;
}

static void close_soak(struct soak *soak)
{
	if (soak->instance)
		vl_instance_close(soak->instance, vl_network_now(soak->network));
	vl_network_destroy(soak->network);
	free(soak->honest_memory);
	free(soak->victim_memory);
	free(soak->attacked_memory);
	free(soak->private_memory);
	if (soak->memory_in_use) {
		fprintf(stderr, "soak: %lld bytes were not released\n",
			(long long)soak->memory_in_use);
		soak->failures++;
	}
}

/* ---- The run --------------------------------------------------------------------------------- */

static void check(struct soak *soak)
{
	check_progress(soak);
	check_memory(soak);
	check_refused(soak);
	soak->checks++;
	if (soak->checks < WARM_UP_CHECKS) {
		if (soak->memory_in_use > soak->memory_warm)
			soak->memory_warm = soak->memory_in_use;
	} else if (soak->memory_in_use > 2 * soak->memory_warm) {
		fail(soak, "bytes in use grow", (uint64_t)soak->memory_in_use,
		     (uint64_t)soak->memory_warm);
	}
}

static double seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void report(const struct soak *soak, double seconds)
{
	static const char *const reasons[] = {
#define DROP_NAME(name, meaning) meaning,
		VL_DROPS(DROP_NAME)
#undef DROP_NAME
	};
	const uint64_t *drops = vl_device_drops(soak->victim->device);
	uint64_t rounds = 0;

	for (uint32_t i = 0; i < HONEST_QPS; i++)
		rounds += soak->honest[i].rounds;
	printf("%.0f s, %.3f s of virtual time: %llu hostile frames, %llu queue pairs made anew, "
	       "%llu honest rounds of %u bytes\n",
	       seconds, (double)vl_network_now(soak->network) * 1e-9,
	       (unsigned long long)soak->injected, (unsigned long long)soak->reborn,
	       (unsigned long long)rounds, SLOT);
	for (unsigned int i = 0; i < HOSTILE_KIND_COUNT; i++)
		printf("  %12llu sent: %s\n", (unsigned long long)soak->sent[i],
		       hostile_kind_name((enum hostile_kind)i));
	for (unsigned int i = 0; i < VL_DROP_COUNT; i++) {
		if (drops[i])
			printf("  %12llu dropped: %s\n", (unsigned long long)drops[i], reasons[i]);
	}
	printf("  %12llu dropped: MAC control that is none\n",
	       (unsigned long long)soak->victim->counters.mac_control_ignored);
	printf("  %12llu answered with a NAK\n", (unsigned long long)soak->refused);
	printf("  %.1f MB in use\n", (double)soak->memory_in_use * 1e-6);
}

static int run(double seconds, uint64_t seed)
{
	struct soak *soak = calloc(1, sizeof(*soak));
	double until = seconds_now() + seconds;
	int failures;

	if (!soak)
		return 1;
	soak->random.state = seed;
	if (!open_soak(soak)) {
		fprintf(stderr, "soak: cannot be set up\n");
		soak->failures++;
	}
	for (uint64_t step = 1; !soak->failures; step++) {
		attack(soak);
		vl_network_run_until(soak->network, step * STEP_NS);
		tend_attacked(soak);
		if (step % CHECK_STEPS)
			continue;
		check(soak);
		if (seconds_now() >= until)
			break;
	}
	if (soak->victim)
		report(soak, seconds);
	close_soak(soak);
	failures = soak->failures;
	free(soak);
	return failures ? 1 : 0;
}

int main(int argc, char **argv)
{
	static const struct option names[] = {
		{"seconds", required_argument, NULL, 's'},
		{"seed", required_argument, NULL, 'r'},
		{NULL, 0, NULL, 0},
	};
	double seconds = 10;
	uint64_t seed = 1;
	char *end = NULL;
	int name;

	while ((name = getopt_long(argc, argv, "", names, NULL)) != -1) {
		if (name == 's')
			seconds = strtod(optarg, &end);
		else if (name == 'r')
			seed = strtoull(optarg, &end, 0);
		if (name == '?' || *end)
			break;
	}
	if (name != -1 || optind != argc || seconds <= 0) {
		fprintf(stderr, "usage: soak [--seconds N] [--seed N]\n");
		return 2;
	}
	return run(seconds, seed);
}
