/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The endpoint that is attacked, and its memory. */

#include "tests/soak/soak.h"

#include <stdlib.h>
#include <string.h>

#define CANARY 0x5a
#define REMOTE                                                                                     \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

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

void check_memory(struct soak *soak)
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

struct vl_qp *make_qp(struct vl_pd *pd, struct vl_cq *cq, enum ibv_qp_type type)
{
	struct vl_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = type,
	};

	return vl_create_qp(pd, &init, NULL);
}

struct host_path path_to(uint16_t host, uint32_t qpn, uint32_t psn)
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

bool open_victim(struct soak *soak)
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

void free_victim_memory(struct soak *soak)
{
	free(soak->victim_memory);
	free(soak->attacked_memory);
	free(soak->private_memory);
}
