/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Any capture can be inspected and reported. The input is a row of packets: a byte that says how
 * the next one differs from a right one, a length, bytes. So that the analysis behind the CRC check
 * is reached, packets that parse get their ICRC put right, unless the byte says otherwise.
 */

#include "apps/inspect/analysis.h"
#include "apps/inspect/report.h"
#include "transport/wire/icrc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LEAVE_ICRC  0x80
#define CUT         0x40
#define NO_REPORT   0x20 /* in the first packet: reports take most of the time */
#define LINK_MASK   0x03
#define HEADER      2 /* what differs, length in words */
#define MAX_PACKETS 256

static FILE *null;

static void require(int condition)
{
	if (!condition)
		abort();
}

static void add_packet(struct inspect_analysis *analysis, const uint8_t *data, uint32_t length,
		       uint8_t kind)
{
	enum vl_link_type link = (enum vl_link_type)((kind & LINK_MASK) % 3);
	uint8_t *frame = malloc(length ? length : 1);
	uint32_t wire_length = length + (kind & CUT ? 1500 : 0);
	struct vl_capture_packet packet = {
		.number = analysis->packets + 1,
		.time = analysis->packets * 1000 + kind,
		.data = frame,
		.captured_length = length,
		.original_length = wire_length,
		.frame = {.kind = VL_CAPTURE_FRAME_parseable,
			  .link = link,
			  .data = frame,
			  .length = length,
			  .wire_length = wire_length},
	};
	struct vl_packet parsed;

	require(frame != NULL);
	memcpy(frame, data, length);
	if (!(kind & LEAVE_ICRC) &&
	    vl_parse(&parsed, link, frame, length, wire_length) == VL_PARSE_ok) {
		uint32_t icrc = vl_icrc_compute(&parsed);

		for (int i = 0; i < 4; i++)
			frame[(parsed.icrc - frame) + i] = (uint8_t)(icrc >> 8 * i);
	}
	inspect_analysis_add(analysis, &packet);
	free(frame);
}

static void report(const struct inspect_analysis *analysis)
{
	static struct inspect_verdict verdict;
	struct inspect_file file = {
		.name = "fuzz",
		.format = "pcap",
		.analysis = analysis,
		.verdict = &verdict,
	};
	const struct inspect_style style = {.colour = true, .lines = 3};
	json_t *json;

	inspect_verdict_make(&verdict, analysis, NULL);
	require(verdict.count > 0);
	if (!null)
		null = fopen("/dev/null", "w");
	require(null != NULL);
	inspect_report_text(&file, &style, null);
	json = inspect_report_json(&file);
	require(json != NULL);
	json_decref(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct inspect_analysis *analysis = inspect_analysis_new();
	bool is_reported = !size || !(data[0] & NO_REPORT);
	uint64_t in_flows = 0, count = 0;

	require(analysis != NULL);
	while (size >= HEADER && count < MAX_PACKETS) {
		uint32_t length = data[1] * 4u;

		if (length > size - HEADER)
			length = (uint32_t)(size - HEADER);
		add_packet(analysis, data + HEADER, length, data[0]);
		data += HEADER + length;
		size -= HEADER + length;
		count++;
	}
	inspect_analysis_finish(analysis);
	require(analysis->packets == count);
	require(analysis->classes[INSPECT_RDMA] + analysis->classes[INSPECT_FOREIGN] +
			analysis->classes[INSPECT_DAMAGED] ==
		count);
	require(analysis->icrc_right + analysis->icrc_wrong + analysis->icrc_unchecked ==
		analysis->classes[INSPECT_RDMA]);
	for (uint32_t i = 0; i < analysis->flows.count; i++) {
		const struct inspect_flow *flow = inspect_flow_at(&analysis->flows, i);

		in_flows += flow->packets;
		require(!flow->reverse || flow->reverse->reverse == flow);
		require(flow->requests.gap_count <= INSPECT_MAX_GAPS);
	}
	require(in_flows == analysis->icrc_right + analysis->icrc_unchecked);
	if (is_reported)
		report(analysis);
	inspect_analysis_free(analysis);
	return 0;
}
