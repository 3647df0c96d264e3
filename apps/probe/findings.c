/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/probe/findings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const char *const probe_names[PROBE_COUNT] = {"drain",    "xoff",     "xon",
					      "headroom", "capacity", "ecn"};

static int find_one(struct vl_probe *probe, enum probe_what what, struct probe_findings *findings)
{
	switch (what) {
	case PROBE_DRAIN:
		return vl_probe_drain_time(probe, &findings->drain);
	case PROBE_XOFF:
		return vl_probe_xoff(probe, &findings->limits[what]);
	case PROBE_XON:
		return vl_probe_xon(probe, &findings->limits[what]);
	case PROBE_HEADROOM:
		return vl_probe_headroom(probe, &findings->limits[what]);
	case PROBE_CAPACITY:
		return vl_probe_capacity(probe, &findings->limits[what]);
	case PROBE_ECN:
	case PROBE_COUNT:
		break;
	}
	return vl_probe_ecn(probe, &findings->marking);
}

static void skip(struct probe_findings *findings, enum probe_what what, const char *reason)
{
	if (findings->states[what] != PROBE_NOT_ASKED)
		return;
	findings->states[what] = PROBE_SKIPPED;
	snprintf(findings->errors[what], sizeof(findings->errors[what]), "%s", reason);
}

/* The next step of a class that does not pause would fail in the same way. */
static void skip_what_is_pointless(struct probe_findings *findings, unsigned int asked,
				   enum probe_what failed, int status)
{
	for (unsigned int i = failed + 1; status == -EINTR && i < PROBE_COUNT; i++) {
		if (asked >> i & 1)
			skip(findings, i, "interrupted");
	}
	for (unsigned int i = PROBE_XON; failed == PROBE_XOFF && i <= PROBE_HEADROOM; i++) {
		if (asked >> i & 1)
			skip(findings, i, "not looked for, as XOFF was not found");
	}
}

bool probe_find(struct vl_probe_bench *bench, const struct vl_probe_config *config,
		unsigned int asked, struct probe_findings *findings)
{
	uint64_t start = bench->now(bench->context);
	struct vl_probe probe;
	int status = vl_probe_open(&probe, bench, config);
	bool good = !status;

	memset(findings, 0, sizeof(*findings));
	if (status)
		snprintf(findings->opening_error, sizeof(findings->opening_error), "%s",
			 probe.error);
	for (unsigned int i = 0; good && i < PROBE_COUNT; i++) {
		if (!(asked >> i & 1) || findings->states[i] != PROBE_NOT_ASKED)
			continue;
		status = find_one(&probe, i, findings);
		findings->states[i] = status ? PROBE_FAILED : PROBE_FOUND;
		if (!status)
			continue;
		snprintf(findings->errors[i], sizeof(findings->errors[i]), "%s", probe.error);
		skip_what_is_pointless(findings, asked, i, status);
		findings->is_interrupted |= status == -EINTR;
	}
	for (unsigned int i = 0; i < PROBE_COUNT; i++)
		good &= findings->states[i] < PROBE_FAILED;
	findings->is_interrupted |= status == -EINTR;
	findings->cell = probe.cell;
	findings->frames = probe.sent;
	findings->duration = bench->now(bench->context) - start;
	vl_probe_close(&probe);
	return good;
}

double probe_configured_size(const struct probe_configured *configured, enum probe_what what)
{
	switch (what) {
	case PROBE_XOFF:
		return configured->xoff;
	case PROBE_XON:
		return configured->xon;
	case PROBE_HEADROOM:
		return configured->headroom;
	case PROBE_CAPACITY:
		return configured->capacity;
	default:
		return -1;
	}
}
