/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/workload/collectives.h"
#include "transport/random.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define SECOND 1e9
/* Longer than that no run is: 2^53 ns are 104 days. */
#define MAX_TIME 0x1p53

static int check_requests(struct vl_workload_plan *plan, const struct vl_requests *requests)
{
	uint32_t ranks = plan->rank_count;

	if (!requests->servers || requests->servers >= ranks)
		return vl_workload_plan_refuse(
			plan,
			"%u servers of %u ranks; it takes a server and a client at "
			"least",
			requests->servers, ranks);
	if (!requests->count || (uint64_t)requests->count * (ranks - requests->servers) >
					VL_WORKLOAD_PLAN_MAX_STEPS / 2)
		return vl_workload_plan_refuse(
			plan, "%u operations of each client; 1 to %u would do", requests->count,
			VL_WORKLOAD_PLAN_MAX_STEPS / 2 / (ranks - requests->servers));
	if (requests->arrivals == VL_ARRIVALS_CLOSED && !requests->depth)
		return vl_workload_plan_refuse(plan,
					       "a closed loop without an operation outstanding; a "
					       "depth of 1 is the least");
	if (requests->arrivals != VL_ARRIVALS_CLOSED &&
	    !(requests->rate > 0 && requests->count / requests->rate * SECOND < MAX_TIME))
		return vl_workload_plan_refuse(
			plan,
			"%u operations at %g per second take too long; a higher rate "
			"is needed",
			requests->count, requests->rate);
	return 0;
}

/* When the next operation of a client comes, ns after its last. */
static double next_gap(const struct vl_requests *requests, struct vl_random *random)
{
	if (requests->arrivals == VL_ARRIVALS_CLOSED)
		return 0;
	if (requests->arrivals == VL_ARRIVALS_CONSTANT)
		return SECOND / requests->rate;
	return -log1p(-vl_random_unit(random)) * SECOND / requests->rate;
}

/* Adds what a client does in one operation, whose first step is due at time and waits for what
 * *last says if that is not UINT32_MAX; stores in *last what ends it at the client. */
typedef int add_operation(struct vl_workload_plan *plan, void *context, struct vl_step first,
			  struct vl_random *random, uint32_t *last);

static int add_client(struct vl_workload_plan *plan, const struct vl_requests *requests,
		      uint32_t client, uint32_t *ends, add_operation *add, void *context)
{
	struct vl_random random = {requests->seed * UINT64_C(0x9e3779b97f4a7c15) + client};
	uint32_t slot = 0, job = (client - requests->servers) * requests->count;
	double time = 0;
	int status = 0;

	/* Not all clients begin at the same nanosecond where they keep to distances. */
	if (requests->arrivals == VL_ARRIVALS_CONSTANT)
		time = vl_random_unit(&random) * SECOND / requests->rate;
	else
		time = next_gap(requests, &random);
	for (uint32_t i = 0; i < requests->depth; i++)
		ends[i] = UINT32_MAX;
	for (uint32_t i = 0; !status && i < requests->count; i++) {
		struct vl_step first = {
			.source = client,
			.destination = (uint32_t)vl_random_below(&random, requests->servers),
			.earliest = (uint64_t)time,
			.job = job + i,
		};
		uint32_t open = UINT32_MAX;

		status = add(plan, context, first, &random,
			     requests->arrivals == VL_ARRIVALS_CLOSED ? &ends[slot] : &open);
		if (++slot == requests->depth)
			slot = 0;
		time += next_gap(requests, &random);
	}
	return status;
}

static int add_clients(struct vl_workload_plan *plan, const struct vl_requests *requests,
		       add_operation *add, void *context)
{
	int status = check_requests(plan, requests);
	uint32_t *ends;

	if (status)
		return status;
	ends = malloc((requests->depth + (size_t)1) * sizeof(*ends));
	if (!ends)
		return -ENOMEM;
	for (uint32_t client = requests->servers; !status && client < plan->rank_count; client++)
		status = add_client(plan, requests, client, ends, add, context);
	free(ends);
	return status;
}

/* ---- Storage ------------------------------------------------------------------------------- */

struct storage {
	double reads;
	const struct vl_size_choice *sizes;
	uint32_t size_count;
	uint64_t weight; /* of all sizes */
};

static uint64_t draw_size(const struct storage *storage, struct vl_random *random)
{
	uint64_t place = vl_random_below(random, storage->weight);
	uint32_t i = 0;

	while (place >= storage->sizes[i].weight)
		place -= storage->sizes[i++].weight;
	return storage->sizes[i].bytes;
}

static int add_storage(struct vl_workload_plan *plan, void *context, struct vl_step first,
		       struct vl_random *random, uint32_t *last)
{
	const struct storage *storage = context;
	uint32_t before = *last;
	int status;

	first.bytes = draw_size(storage, random);
	if (vl_random_unit(random) < storage->reads) {
		uint32_t client = first.source;

		first.kind = VL_STEP_READ;
		first.source = first.destination;
		first.destination = client;
	}
	status = vl_workload_plan_add(plan, &first, &before, before != UINT32_MAX);
	*last = vl_workload_plan_last(plan);
	return status;
}

int vl_workload_plan_storage(struct vl_workload_plan *plan, const struct vl_requests *requests,
			     double reads, const struct vl_size_choice *sizes, uint32_t size_count)
{
	struct storage storage = {reads, sizes, size_count, 0};

	for (uint32_t i = 0; i < size_count; i++)
		storage.weight += sizes[i].weight;
	if (!storage.weight)
		return vl_workload_plan_refuse(plan, "no size has a weight");
	if (!(reads >= 0 && reads <= 1))
		return vl_workload_plan_refuse(
			plan, "%g of the operations are reads; 0 to 1 would do", reads);
	return add_clients(plan, requests, add_storage, &storage);
}

/* ---- Inference ----------------------------------------------------------------------------- */

struct inference {
	uint64_t request, response; /* bytes */
	uint64_t compute;           /* ns */
};

static int add_inference(struct vl_workload_plan *plan, void *context, struct vl_step first,
			 struct vl_random *random, uint32_t *last)
{
	const struct inference *inference = context;
	struct vl_step response = {.source = first.destination,
				   .destination = first.source,
				   .bytes = inference->response,
				   .delay = inference->compute,
				   .job = first.job};
	uint32_t before = *last;
	int status;

	(void)random;
	first.bytes = inference->request;
	status = vl_workload_plan_add(plan, &first, &before, before != UINT32_MAX);
	if (status)
		return status;
	before = vl_workload_plan_last(plan);
	status = vl_workload_plan_add(plan, &response, &before, 1);
	*last = vl_workload_plan_last(plan);
	return status;
}

int vl_workload_plan_inference(struct vl_workload_plan *plan, const struct vl_requests *requests,
			       uint64_t request_bytes, uint64_t response_bytes, uint64_t compute)
{
	struct inference inference = {request_bytes, response_bytes, compute};

	return add_clients(plan, requests, add_inference, &inference);
}
