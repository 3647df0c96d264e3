/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/compare/record.h"

#include "apps/report/workload.h"

#include <math.h>

#define MAX_ELEMENTS (1u << 24)

static void set_name(char to[VL_RECORD_NAME], const char *from)
{
	snprintf(to, VL_RECORD_NAME, "%s", from ? from : "");
}

void vl_record_destroy(struct vl_record *record)
{
	if (!record)
		return;
	free(record->classes);
	free(record->links);
	free(record->samples);
	free(record->slots);
	free(record);
}

/* Room for what the head counts; false: no memory. */
static bool allocate(struct vl_record *record)
{
	const struct vl_record_head *head = &record->head;

	/* One more of each, so that none is empty. */
	record->classes = calloc((size_t)head->class_count + 1, sizeof(*record->classes));
	record->links = calloc((size_t)head->link_count + 1, sizeof(*record->links));
	record->samples = calloc((size_t)head->sample_count + 1, sizeof(*record->samples));
	record->slots = calloc((size_t)head->slot_count + 1, sizeof(*record->slots));
	return record->classes && record->links && record->samples && record->slots;
}

/* ---- From results -------------------------------------------------------------------------- */

static unsigned int count_slots(const struct vl_histogram *times)
{
	unsigned int count = 0;

	for (unsigned int i = 0; times->count && i < VL_HISTOGRAM_SLOTS; i++)
		count += times->slots[i] != 0;
	return count;
}

static void keep_times(struct vl_record *record, struct vl_record_class *class,
		       const struct vl_histogram *times, unsigned int *next)
{
	class->first_slot = *next;
	if (!times->count)
		return;
	class->count = times->count;
	class->least = times->least;
	class->most = times->most;
	class->sum = times->sum;
	class->square_sum = times->square_sum;
	for (unsigned int i = 0; i < VL_HISTOGRAM_SLOTS; i++) {
		if (times->slots[i])
			record->slots[(*next)++] = (struct vl_record_slot){i, times->slots[i]};
	}
	class->slot_count = *next - class->first_slot;
}

/* A workload's times are known by their percentiles, each of which is the value at a rank: so many
 * values that have the same. */
static void spread_times(const struct vl_distribution *from, struct vl_histogram *times)
{
	double count = (double)from->count, before, value;

	for (uint64_t rank = 1; rank <= from->count; rank++) {
		before = (double)(rank - 1) / count;
		/* A percentile's rank is rounded up. */
		if (rank == from->count)
			value = from->most;
		else if (before < 0.99)
			value = from->points[(unsigned int)(before * 100 + 1e-9) + 1];
		else
			value = from->p999 < from->most || before >= 0.999 ? from->p999
									   : from->points[99];
		vl_histogram_record(times, (uint64_t)(value + 0.5));
	}
	times->sum = from->mean * count;
}

static void keep_jobs(struct vl_record_jobs *jobs, const struct vl_workload_result *result)
{
	const struct vl_workload_metrics *metrics = &result->metrics;
	bool is_background = result->workload->kind == VL_WORKLOAD_BACKGROUND;

	*jobs = (struct vl_record_jobs){
		.all = is_background ? 0 : metrics->all_jobs,
		.finished = is_background ? 0 : metrics->jobs,
		.missed = metrics->missed,
		.mean = metrics->job_times.mean,
		.p50 = metrics->job_times.p50,
		.p99 = metrics->job_times.p99,
		.most = metrics->job_times.most,
		.slowdown_mean = metrics->job_slowdown.mean,
		.slowdown_p99 = metrics->job_slowdown.p99,
		.algbw = metrics->algbw,
		.busbw = metrics->busbw,
		.has_deadline = result->workload->deadline != 0,
	};
}

static void keep_workloads(struct vl_record *record, const struct vl_results *results,
			   const struct vl_histogram *times, unsigned int *next)
{
	const struct vl_workload_result *result;
	struct vl_record_class *class;

	for (unsigned int i = 0; i < results->workload_count; i++) {
		result = &results->workloads[i];
		class = &record->classes[results->scenario->flows.count + i];
		class->kind = VL_RECORD_WORKLOAD;
		set_name(class->name, result->workload->name);
		class->crosses_bottleneck =
			vl_scenario_workload_crosses(results->scenario, result->workload);
		class->failed = result->metrics.progress.status != IBV_WC_SUCCESS;
		class->unfinished = !class->failed && !vl_workload_is_whole(result);
		class->goodput = result->metrics.goodput;
		class->messages = result->metrics.transfers;
		keep_times(record, class, &times[i], next);
		keep_jobs(&class->jobs, result);
	}
}

static void keep_flows(struct vl_record *record, const struct vl_results *results,
		       unsigned int *next)
{
	const struct vl_scenario *scenario = results->scenario;
	const struct vl_scenario_flow *flows = scenario->flows.elements;
	struct vl_record_class *class;
	const struct vl_qp_result *qp;

	for (unsigned int i = 0; i < scenario->flows.count; i++) {
		class = &record->classes[i];
		class->kind = VL_RECORD_FLOW;
		set_name(class->name, flows[i].name);
		keep_times(record, class, &results->flow_times[i], next);
	}
	for (unsigned int i = 0; i < results->qp_count; i++) {
		qp = &results->qps[i];
		class = &record->classes[qp->pair->flow - flows];
		class->qps++;
		class->failed += qp->status != IBV_WC_SUCCESS;
		class->unfinished += qp->pair->flow->messages && !qp->finished;
		class->stalled += qp->stalled;
		class->goodput += qp->goodput;
		class->messages += qp->messages;
		class->crosses_bottleneck |= qp->pair->crosses_bottleneck;
	}
}

static uint64_t sum_drops(const struct vl_link_drops *drops)
{
	uint64_t sum = 0;

#define ADD_DROPS(name, where, meaning) sum += drops->name;
	VL_LINK_DROPS(ADD_DROPS)
#undef ADD_DROPS
	return sum;
}

static void keep_links(struct vl_record *record, const struct vl_results *results)
{
	const struct vl_scenario_node *nodes = results->scenario->nodes;
	const struct vl_link_result *link;
	struct vl_record_link *kept;

	for (unsigned int i = 0; i < results->link_count; i++) {
		link = &results->links[i];
		kept = &record->links[i];
		set_name(kept->from, nodes[link->node].name);
		set_name(kept->to, nodes[link->neighbour].name);
		kept->rate = (double)link->rate;
		kept->utilization = link->utilization;
		kept->bytes = link->bytes;
		kept->paused_ns = link->pause_ns;
		kept->stalled_ns = link->credit_stall_ns;
		kept->longest_paused_ns = link->longest_pause_ns;
		kept->longest_stalled_ns = link->longest_credit_stall_ns;
		kept->marked = link->marked;
		kept->dropped = sum_drops(&link->drops);
		kept->queue_mean = link->queue_mean;
		kept->queue_max = link->queue_max;
	}
}

static void keep_head(struct vl_record_head *head, const struct vl_results *results)
{
	const struct vl_bottleneck_result *bottleneck = &results->bottleneck;

	head->end = results->end;
	head->window_start = results->window_start;
	head->window_end = results->window_end;
	head->events = results->events;
	head->is_good = vl_results_are_good(results);
	head->is_infiniband = vl_scenario_is_infiniband(results->scenario);
	head->is_traced = results->traced_count == results->qp_count && !results->workload_count;
	head->goodput = results->goodput;
	head->jain = results->jain;
	if (results->jain <= 0 && results->workload_count == 1)
		head->jain = results->workloads[0].metrics.jain;
	head->jain_count = results->jain_count;
	head->totals = results->totals;
	set_name(head->bottleneck_from, bottleneck->node);
	set_name(head->bottleneck_to, bottleneck->neighbour);
	head->bottleneck_rate = (double)bottleneck->rate;
	head->utilization = bottleneck->utilization;
	head->has_queue = bottleneck->has_queue;
	head->bottlenecks = results->scenario->bottleneck.alike;
	head->queue_mean = bottleneck->queue_mean;
	head->queue_p99 = bottleneck->queue_p99;
	head->queue_max = bottleneck->queue_max;
	head->kmin = bottleneck->kmin;
	head->kmax = bottleneck->kmax;
}

/* The class of each traced queue pair; VL_RECORD_MAX_TRACED: it has no series of its own. */
static void trace_classes(const struct vl_results *results, unsigned int classes[VL_MAX_TRACED])
{
	const struct vl_scenario_flow *flows = results->scenario->flows.elements;
	size_t number;

	for (unsigned int i = 0; i < results->traced_count; i++) {
		number = (size_t)(results->qps[i].pair->flow - flows);
		classes[i] =
			number < VL_RECORD_MAX_TRACED ? (unsigned int)number : VL_RECORD_MAX_TRACED;
	}
}

/* Adds a sample whose interval is part (0..1) of the one that is kept. */
static void add_sample(struct vl_record_sample *kept, const struct vl_sample *sample, double part,
		       unsigned int traced_count, const unsigned int *classes)
{
	kept->time = sample->time;
	kept->utilization += sample->utilization * part;
	kept->queue_mean += sample->queue_mean * part;
	if (sample->queue_max > kept->queue_max)
		kept->queue_max = sample->queue_max;
	kept->marked += sample->ecn_marked;
	kept->cnp += sample->cnp_tx;
	kept->drops += sample->drops;
	kept->pauses += sample->pauses;
	kept->retransmitted += sample->retransmitted;
	kept->goodput += sample->goodput * part;
	for (unsigned int i = 0; i < traced_count; i++) {
		if (classes[i] < VL_RECORD_MAX_TRACED)
			kept->classes[classes[i]] += sample->rates[i] * part;
	}
}

static unsigned int thinning(const struct vl_results *results)
{
	unsigned int step = results->sample_count / VL_RECORD_MAX_SAMPLES;

	return step ? step : 1;
}

static void keep_samples(struct vl_record *record, const struct vl_results *results)
{
	unsigned int step = thinning(results), classes[VL_MAX_TRACED], last;
	const struct vl_sample *samples = results->samples;
	uint64_t start, before;

	trace_classes(results, classes);
	for (unsigned int i = 0; i < record->head.sample_count; i++) {
		last = (i + 1) * step < results->sample_count ? (i + 1) * step
							      : results->sample_count;
		start = i ? samples[i * step - 1].time : 0;
		before = start;
		for (unsigned int n = i * step; n < last; n++) {
			add_sample(&record->samples[i], &samples[n],
				   (double)(samples[n].time - before) /
					   (double)(samples[last - 1].time - start),
				   results->traced_count, classes);
			before = samples[n].time;
		}
	}
}

/* Everything but the times of workloads, which are not in the results as histograms. */
static struct vl_record *create(const struct vl_results *results, const struct vl_histogram *times)
{
	struct vl_record *record = calloc(1, sizeof(*record));
	unsigned int step = thinning(results), next = 0;

	if (!record)
		return NULL;
	keep_head(&record->head, results);
	record->head.class_count = results->scenario->flows.count + results->workload_count;
	record->head.link_count = results->link_count;
	record->head.sample_count = (results->sample_count + step - 1) / step;
	for (unsigned int i = 0; i < results->scenario->flows.count; i++)
		record->head.slot_count += count_slots(&results->flow_times[i]);
	for (unsigned int i = 0; i < results->workload_count; i++)
		record->head.slot_count += count_slots(&times[i]);
	if (!allocate(record)) {
		vl_record_destroy(record);
		return NULL;
	}
	keep_flows(record, results, &next);
	keep_workloads(record, results, times, &next);
	keep_links(record, results);
	keep_samples(record, results);
	return record;
}

struct vl_record *vl_record_create(const struct vl_results *results)
{
	struct vl_histogram *times = calloc(results->workload_count + (size_t)1, sizeof(*times));
	struct vl_record *record;

	if (!times)
		return NULL;
	for (unsigned int i = 0; i < results->workload_count; i++)
		spread_times(&results->workloads[i].metrics.transfer_times, &times[i]);
	record = create(results, times);
	free(times);
	return record;
}

/* ---- Between processes --------------------------------------------------------------------- */

void vl_record_write(const struct vl_record *record, struct vl_bytes *bytes)
{
	const struct vl_record_head *head = &record->head;

	vl_bytes_append(bytes, head, sizeof(*head));
	vl_bytes_append(bytes, record->classes, head->class_count * sizeof(*record->classes));
	vl_bytes_append(bytes, record->links, head->link_count * sizeof(*record->links));
	vl_bytes_append(bytes, record->samples, head->sample_count * sizeof(*record->samples));
	vl_bytes_append(bytes, record->slots, head->slot_count * sizeof(*record->slots));
}

static bool classes_hold_up(const struct vl_record *record)
{
	for (unsigned int i = 0; i < record->head.class_count; i++) {
		const struct vl_record_class *class = &record->classes[i];

		if (class->slot_count > record->head.slot_count ||
		    class->first_slot > record->head.slot_count - class->slot_count)
			return false;
	}
	for (unsigned int i = 0; i < record->head.slot_count; i++) {
		if (record->slots[i].slot >= VL_HISTOGRAM_SLOTS)
			return false;
	}
	return true;
}

struct vl_record *vl_record_read(struct vl_bytes_reader *reader)
{
	struct vl_record *record = calloc(1, sizeof(*record));
	const struct vl_record_head *head = &record->head;

	if (!record)
		return NULL;
	if (vl_bytes_read(reader, &record->head, sizeof(record->head)) &&
	    head->class_count <= MAX_ELEMENTS && head->link_count <= MAX_ELEMENTS &&
	    head->sample_count <= MAX_ELEMENTS && head->slot_count <= MAX_ELEMENTS &&
	    allocate(record) &&
	    vl_bytes_read(reader, record->classes, head->class_count * sizeof(*record->classes)) &&
	    vl_bytes_read(reader, record->links, head->link_count * sizeof(*record->links)) &&
	    vl_bytes_read(reader, record->samples, head->sample_count * sizeof(*record->samples)) &&
	    vl_bytes_read(reader, record->slots, head->slot_count * sizeof(*record->slots)) &&
	    !reader->length && classes_hold_up(record))
		return record;
	vl_record_destroy(record);
	return NULL;
}

void vl_record_add_times(const struct vl_record *record, const struct vl_record_class *class,
			 struct vl_histogram *times)
{
	const struct vl_record_slot *slots = &record->slots[class->first_slot];

	if (!class->count)
		return;
	if (!times->count || class->least < times->least)
		times->least = class->least;
	if (!times->count || class->most > times->most)
		times->most = class->most;
	times->count += class->count;
	times->sum += class->sum;
	times->square_sum += class->square_sum;
	for (unsigned int i = 0; i < class->slot_count; i++)
		times->slots[slots[i].slot] += slots[i].count;
}
