/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Workloads, as tables and in words. */

#include "apps/report/workload.h"

/* One for each workload; of more, only about the worst. */
#define MAX_SENTENCES 4u
/* nccl-tests print bandwidths in 10^9 bytes per second. */
#define GIGABYTES(bits_per_second) ((bits_per_second) / 8e9)

static bool is_background(const struct vl_workload_result *result)
{
	return result->workload->kind == VL_WORKLOAD_BACKGROUND;
}

bool vl_workload_is_whole(const struct vl_workload_result *result)
{
	const struct vl_workload_metrics *metrics = &result->metrics;

	return is_background(result) ? metrics->progress.status == IBV_WC_SUCCESS
				     : metrics->progress.ended != VL_WORKLOAD_NEVER;
}

unsigned int vl_results_unfinished_workloads(const struct vl_results *results)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < results->workload_count; i++)
		count += !vl_workload_is_whole(&results->workloads[i]);
	return count;
}

/* ---- Tables -------------------------------------------------------------------------------- */

static void print_workload(const struct vl_workload_result *result, FILE *out)
{
	const struct vl_workload_metrics *metrics = &result->metrics;
	char jobs[48] = "-", bandwidths[2][16] = {"-", "-"}, missed[24] = "-";

	if (!is_background(result))
		snprintf(jobs, sizeof(jobs), "%llu/%llu", (unsigned long long)metrics->jobs,
			 (unsigned long long)metrics->all_jobs);
	if (metrics->algbw > 0) {
		snprintf(bandwidths[0], sizeof(bandwidths[0]), "%.3f", GIGABYTES(metrics->algbw));
		snprintf(bandwidths[1], sizeof(bandwidths[1]), "%.3f", GIGABYTES(metrics->busbw));
	}
	if (result->workload->deadline)
		snprintf(missed, sizeof(missed), "%llu", (unsigned long long)metrics->missed);
	fprintf(out, "  %-14s %-27s %5u %13s %9.3f %9s %9s %8.4f %8s %s\n", result->workload->name,
		vl_workload_kind_name(result->workload->kind), result->workload->rank_count, jobs,
		metrics->goodput / 1e9, bandwidths[0], bandwidths[1], metrics->jain, missed,
		vl_workload_is_whole(result)                     ? ""
		: metrics->progress.started == VL_WORKLOAD_NEVER ? "not started"
		: metrics->progress.status == IBV_WC_SUCCESS     ? "unfinished"
								 : "failed");
}

static void print_distribution(const char *name, const char *what,
			       const struct vl_distribution *times,
			       const struct vl_distribution *slowdown, FILE *out)
{
	if (!times->count)
		return;
	fprintf(out, "  %-14s %-9s %9llu %10.1f %10.1f %10.1f %10.1f %10.1f %8.2f %8.2f %8.2f\n",
		name, what, (unsigned long long)times->count, times->mean / 1e3, times->p50 / 1e3,
		times->p99 / 1e3, times->p999 / 1e3, times->most / 1e3, slowdown->mean,
		slowdown->p99, slowdown->most);
}

static void print_times(const struct vl_results *results, FILE *out)
{
	char name[24];

	fprintf(out,
		"\nCompletion times of transfers and of jobs, and slowdown against the ideal\n");
	fprintf(out, "  %-14s %-9s %9s %10s %10s %10s %10s %10s %8s %8s %8s\n", "workload", "",
		"count", "mean", "p50", "p99", "p99.9", "max", "mean", "p99", "max");
	fprintf(out, "  %-14s %-9s %9s %10s %10s %10s %10s %10s %8s %8s %8s\n", "", "", "", "us",
		"us", "us", "us", "us", "times", "times", "times");
	for (unsigned int i = 0; i < results->workload_count; i++) {
		const struct vl_workload_metrics *metrics = &results->workloads[i].metrics;

		print_distribution(results->workloads[i].workload->name, "transfers",
				   &metrics->transfer_times, &metrics->transfer_slowdown, out);
		print_distribution("", "jobs", &metrics->job_times, &metrics->job_slowdown, out);
	}
	for (unsigned int i = 0; results->class_count > 1 && i < results->class_count; i++) {
		const struct vl_class_result *class = &results->classes[i];

		snprintf(name, sizeof(name), "priority %u", class->priority);
		print_distribution(name, "transfers", &class->transfer_times,
				   &class->transfer_slowdown, out);
		print_distribution("", "jobs", &class->job_times, &class->job_slowdown, out);
	}
}

void vl_report_workloads(const struct vl_results *results, FILE *out)
{
	if (!results->workload_count)
		return;
	fprintf(out, "  %-14s %-27s %5s %13s %9s %9s %9s %8s %8s\n", "workload", "kind", "ranks",
		"jobs done", "goodput", "algbw", "busbw", "fairness", "missed");
	fprintf(out, "  %-14s %-27s %5s %13s %9s %9s %9s %8s %8s\n", "", "", "", "", "Gb/s", "GB/s",
		"GB/s", "Jain", "deadline");
	for (unsigned int i = 0; i < results->workload_count; i++)
		print_workload(&results->workloads[i], out);
	print_times(results, out);
}

/* ---- In words ------------------------------------------------------------------------------ */

static void say_unfinished(const struct vl_workload_result *result, FILE *out)
{
	const struct vl_workload_progress *progress = &result->metrics.progress;

	if (progress->started == VL_WORKLOAD_NEVER)
		fprintf(out, "Workload %s has not started. ", result->workload->name);
	else
		fprintf(out, "Workload %s has %s: %llu of %llu steps are done. ",
			result->workload->name,
			progress->status == IBV_WC_SUCCESS ? "not ended in time" : "failed",
			(unsigned long long)progress->finished,
			(unsigned long long)progress->steps);
}

/* Many jobs at a time: one alone would have the network to itself. */
static bool has_requests(const struct vl_workload_result *result)
{
	return result->workload->kind == VL_WORKLOAD_STORAGE ||
	       result->workload->kind == VL_WORKLOAD_INFERENCE;
}

static void say_workload(const struct vl_workload_result *result, FILE *out)
{
	const struct vl_workload_metrics *metrics = &result->metrics;
	const struct vl_workload_progress *progress = &metrics->progress;
	/* Of several iterations the slowdown and the bandwidth are means, not of the whole. */
	bool is_repeated = metrics->job_times.count > 1 && !has_requests(result);
	char time[VL_QUANTITY_TEXT];

	if (!vl_workload_is_whole(result)) {
		say_unfinished(result, out);
		return;
	}
	if (is_background(result))
		return;
	fprintf(out, "Workload %s took %s", result->workload->name,
		vl_quantity_text(VL_QUANTITY_DURATION, progress->ended - progress->started, time));
	if (is_repeated)
		fprintf(out, "; its %llu iterations took on average %s%s",
			(unsigned long long)metrics->job_times.count,
			vl_quantity_text(VL_QUANTITY_DURATION, (uint64_t)metrics->job_times.mean,
					 time),
			metrics->job_times.mean * (double)metrics->job_times.count >
					1.01 * (double)(progress->ended - progress->started)
				? " (they overlap: without a barrier each rank goes on by itself)"
				: "");
	if (metrics->busbw > 0)
		fprintf(out, " at a bus bandwidth of %.2f GB/s", GIGABYTES(metrics->busbw));
	if (metrics->job_slowdown.count)
		fprintf(out, "%s%.2f times as long as with the network to itself",
			has_requests(result) ? "; its requests took on average " : ", ",
			metrics->job_slowdown.mean);
	if (metrics->missed)
		fprintf(out, "; %llu of %llu missed the deadline",
			(unsigned long long)metrics->missed, (unsigned long long)metrics->all_jobs);
	fprintf(out, ". ");
}

/* Those that are not whole before others, then by how much longer they took than they could. */
static bool is_worse(const struct vl_workload_result *one, const struct vl_workload_result *other)
{
	if (vl_workload_is_whole(one) != vl_workload_is_whole(other))
		return !vl_workload_is_whole(one);
	return one->metrics.job_slowdown.mean > other->metrics.job_slowdown.mean;
}

void vl_report_say_workloads(const struct vl_results *results, FILE *out)
{
	const struct vl_workload_result *worst = results->workloads;

	if (results->workload_count > MAX_SENTENCES) {
		for (unsigned int i = 1; i < results->workload_count; i++) {
			if (is_worse(&results->workloads[i], worst))
				worst = &results->workloads[i];
		}
		fprintf(out, "Of %u workloads, the one that was held back most: ",
			results->workload_count);
		say_workload(worst, out);
		return;
	}
	for (unsigned int i = 0; i < results->workload_count; i++)
		say_workload(&results->workloads[i], out);
}
