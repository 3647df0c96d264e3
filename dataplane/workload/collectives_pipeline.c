/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/workload/collectives.h"
#include "dataplane/workload/parts.h"

#include <errno.h>
#include <stdlib.h>

#define NOT_YET UINT32_MAX

/* What has been planned of one stage. Each computes its tasks one after another. */
struct stage {
	uint32_t forward, backward; /* tasks planned */
	uint32_t computing;         /* the last step that computes; NOT_YET */
};

struct planner {
	struct vl_workload_plan *plan;
	const struct vl_pipeline *pipeline;
	struct stage *stages;
	/* Steps by stage and microbatch: what came in for its forward and its backward pass. */
	uint32_t *activations, *gradients;
};

static uint32_t *cell(const struct planner *planner, uint32_t *table, uint32_t stage,
		      uint32_t microbatch)
{
	return &table[(size_t)stage * planner->pipeline->microbatches + microbatch];
}

/* Whether the stage's next task is a backward pass. 1F1B: a stage first fills those behind it. */
static bool goes_backward(const struct planner *planner, uint32_t number)
{
	const struct vl_pipeline *pipeline = planner->pipeline;
	const struct stage *stage = &planner->stages[number];
	uint32_t filling = planner->plan->rank_count - number;

	if (stage->forward == pipeline->microbatches)
		return true;
	return pipeline->schedule == VL_PIPELINE_1F1B &&
	       stage->forward - stage->backward >= filling;
}

/* What the stage computes on goes to its neighbour, if it has one there. */
static int send_on(struct planner *planner, uint32_t from, bool backward, uint32_t microbatch)
{
	uint32_t to = backward ? from - 1 : from + 1;
	struct vl_step step = {
		.source = from, .destination = to, .bytes = planner->pipeline->activation};
	int status;

	if (to >= planner->plan->rank_count)
		return 0;
	status = vl_workload_plan_add(planner->plan, &step, &planner->stages[from].computing, 1);
	*cell(planner, backward ? planner->gradients : planner->activations, to, microbatch) =
		vl_workload_plan_last(planner->plan);
	return status;
}

/* Plans the stage's next task if what it takes is planned: 1; 0: not yet; or an error. */
static int plan_task(struct planner *planner, uint32_t number)
{
	const struct vl_pipeline *pipeline = planner->pipeline;
	struct stage *stage = &planner->stages[number];
	bool backward = goes_backward(planner, number);
	bool has_input = backward ? number + 1 < planner->plan->rank_count : number > 0;
	uint32_t microbatch = backward ? stage->backward : stage->forward, before[2], count = 0;
	uint32_t input = *cell(planner, backward ? planner->gradients : planner->activations,
			       number, microbatch);
	struct vl_step step = {.source = number,
			       .destination = number,
			       .delay = backward ? pipeline->backward : pipeline->forward,
			       .kind = VL_STEP_COMPUTE};
	int status;

	if (has_input && input == NOT_YET)
		return 0;
	if (has_input)
		before[count++] = input;
	if (stage->computing != NOT_YET)
		before[count++] = stage->computing;
	status = vl_workload_plan_add(planner->plan, &step, before, count);
	if (status)
		return status;
	stage->computing = vl_workload_plan_last(planner->plan);
	if (backward)
		stage->backward++;
	else
		stage->forward++;
	status = send_on(planner, number, backward, microbatch);
	return status ? status : 1;
}

static int plan_all(struct planner *planner)
{
	uint64_t left = 2 * (uint64_t)planner->pipeline->microbatches * planner->plan->rank_count;
	int status = 0;

	while (left) {
		for (uint32_t stage = 0; stage < planner->plan->rank_count; stage++) {
			if (planner->stages[stage].backward == planner->pipeline->microbatches)
				continue;
			status = plan_task(planner, stage);
			if (status < 0)
				return status;
			left -= (uint64_t)status;
		}
	}
	return 0;
}

int vl_workload_plan_pipeline(struct vl_workload_plan *plan, const struct vl_pipeline *pipeline)
{
	size_t cells = (size_t)plan->rank_count * pipeline->microbatches;
	int status = vl_workload_plan_check_parts(plan, pipeline->activation, 1);
	struct planner planner = {.plan = plan, .pipeline = pipeline};

	if (status)
		return status;
	if (!pipeline->microbatches || cells > VL_WORKLOAD_PLAN_MAX_STEPS / 4)
		return vl_workload_plan_refuse(plan, "%u microbatches; 1 to %u would do",
					       pipeline->microbatches,
					       VL_WORKLOAD_PLAN_MAX_STEPS / 4 / plan->rank_count);
	planner.stages = calloc(plan->rank_count, sizeof(*planner.stages));
	planner.activations = malloc(cells * sizeof(uint32_t));
	planner.gradients = malloc(cells * sizeof(uint32_t));
	if (!planner.stages || !planner.activations || !planner.gradients)
		status = -ENOMEM;
	for (size_t i = 0; !status && i < cells; i++)
		planner.activations[i] = planner.gradients[i] = NOT_YET;
	for (uint32_t i = 0; !status && i < plan->rank_count; i++)
		planner.stages[i].computing = NOT_YET;
	if (!status)
		status = plan_all(&planner);
	free(planner.stages);
	free(planner.activations);
	free(planner.gradients);
	return status;
}
