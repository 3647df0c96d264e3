/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/lab_outputs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void vl_lab_outputs_abandon(struct vl_lab_outputs *outputs)
{
	vl_output_abandon(&outputs->json);
	for (unsigned int i = 0; i < outputs->histogram_count; i++)
		vl_output_abandon(&outputs->histograms[i]);
	free(outputs->histograms);
	if (outputs->capture)
		vl_capture_writer_abandon(outputs->capture);
	*outputs = (struct vl_lab_outputs){0};
}

static int open_capture(struct vl_lab_outputs *outputs, const struct vl_scenario *scenario,
			const struct vl_lab_output_names *given, const char *path,
			const char *place, char *error, size_t error_size)
{
	char message[VL_CAPTURE_MESSAGE_SIZE];

	outputs->capture_node = scenario->bottleneck.node;
	outputs->capture_port = scenario->bottleneck.port;
	if (scenario->pair_count) {
		outputs->capture_node = scenario->pairs[0].to;
		outputs->capture_port = 0;
	}
	if (place && vl_scenario_find_port(scenario, place, &outputs->capture_node,
					   &outputs->capture_port, message, sizeof(message))) {
		snprintf(error, error_size, "--pcap-at: %.400s", message);
		return -EINVAL;
	}
	if (!path && place) {
		snprintf(error, error_size, "--pcap-at says where, but --pcap FILE is missing");
		return -EINVAL;
	}
	if (!path && given->is_cut) {
		snprintf(error, error_size,
			 "--pcap-from and --pcap-count say which packets, but --pcap FILE is "
			 "missing");
		return -EINVAL;
	}
	if (!path)
		return 0;
	outputs->capture = vl_capture_writer_open(path, vl_capture_format_of_path(path), message);
	if (outputs->capture)
		return 0;
	snprintf(error, error_size, "%s", message);
	return -EIO;
}

/* "out.hgrm" for one flow; "out.FLOW.hgrm" for each of several. */
static int open_histograms(struct vl_lab_outputs *outputs, const struct vl_scenario *scenario,
			   const char *path, char *error, size_t error_size)
{
	const struct vl_scenario_flow *flows = scenario->flows.elements;
	const char *dot = strrchr(path, '.'), *slash = strrchr(path, '/');
	char name[4096];
	int status = 0, stem;

	if (!scenario->flows.count) {
		snprintf(error, error_size,
			 "--histogram is of the flows' completion times, and %.40s has workloads "
			 "only; --json has theirs",
			 scenario->name);
		return -EINVAL;
	}
	if (!dot || (slash && dot < slash))
		dot = path + strlen(path);
	stem = (int)(dot - path);
	outputs->histograms = calloc(scenario->flows.count, sizeof(*outputs->histograms));
	if (!outputs->histograms) {
		snprintf(error, error_size, "out of memory");
		return -ENOMEM;
	}
	for (unsigned int i = 0; !status && i < scenario->flows.count; i++) {
		if (scenario->flows.count == 1)
			snprintf(name, sizeof(name), "%s", path);
		else
			snprintf(name, sizeof(name), "%.*s.%s%s", stem, path, flows[i].name, dot);
		status = vl_output_open(&outputs->histograms[i], name, error, error_size);
		outputs->histogram_count += !status;
	}
	return status;
}

int vl_lab_outputs_open(struct vl_lab_outputs *outputs, const struct vl_lab_output_names *given,
			const struct vl_scenario *scenario, char *error, size_t error_size)
{
	const struct vl_scenario_outputs *named = &scenario->outputs;
	const char *json = given->json ? given->json : named->json;
	const char *pcap = given->pcap ? given->pcap : named->pcap;
	const char *pcap_at = given->pcap_at ? given->pcap_at : named->pcap_at;
	const char *histogram = given->histogram ? given->histogram : named->histogram;
	int status = 0;

	*outputs = (struct vl_lab_outputs){.people = stdout};
	if ((json && !strcmp(json, "-")) || (pcap && !strcmp(pcap, "-")) ||
	    (histogram && !strcmp(histogram, "-")))
		outputs->people = stderr;
	status =
		vl_output_check_names((const char *const[]){json, pcap, histogram, given->scenario},
				      4, error, error_size);
	if (!status)
		status = open_capture(outputs, scenario, given, pcap, pcap_at, error, error_size);
	if (!status && json)
		status = vl_output_open(&outputs->json, json, error, error_size);
	if (!status && histogram)
		status = open_histograms(outputs, scenario, histogram, error, error_size);
	if (status)
		vl_lab_outputs_abandon(outputs);
	return status;
}

int vl_lab_outputs_commit(struct vl_lab_outputs *outputs, const struct vl_results *results,
			  char *error, size_t error_size)
{
	char message[VL_CAPTURE_MESSAGE_SIZE];
	int status = 0;

	for (unsigned int i = 0; !status && i < outputs->histogram_count; i++) {
		vl_histogram_write(&results->flow_times[i], 1000, outputs->histograms[i].file);
		status = vl_output_commit(&outputs->histograms[i], error, error_size);
	}
	if (!status && outputs->json.file) {
		vl_report_json(results, outputs->json.file);
		status = vl_output_commit(&outputs->json, error, error_size);
	}
	if (!status && outputs->capture) {
		status = vl_capture_writer_close(outputs->capture, message);
		outputs->capture = NULL;
		if (status)
			snprintf(error, error_size, "%s", message);
	}
	return status;
}
