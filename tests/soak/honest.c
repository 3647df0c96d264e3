/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The honest peer: its queue pairs write, read back and compare. */

#include "tests/soak/soak.h"

#include <stdlib.h>
#include <string.h>

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

void check_progress(struct soak *soak)
{
	for (uint32_t i = 0; i < HONEST_QPS; i++) {
		if (soak->honest[i].rounds == soak->honest[i].rounds_before)
			fail(soak, "an honest queue pair stands still: number", i, UINT64_MAX);
		soak->honest[i].rounds_before = soak->honest[i].rounds;
	}
}

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

bool open_honest(struct soak *soak)
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

bool start_honest(struct soak *soak)
{
	for (uint32_t i = 0; i < HONEST_QPS; i++) {
		if (!connect_honest(soak, i))
			return false;
	}
	for (uint32_t i = 0; i < HONEST_QPS; i++)
		post_honest(soak, i, true, 0);
	return true;
}
