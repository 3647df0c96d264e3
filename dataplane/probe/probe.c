/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The steps of a probe: sending, holding back, letting go, and what comes of it. */

#include "dataplane/probe/probe.h"

#include "dataplane/pfc.h"
#include "transport/wire/headers.h"
#include "transport/wire/packet.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_LENGTH 1514u
#define DEFAULT_FRAMES UINT64_C(20000000)
#define ADDRESSES      34u /* Ethernet and IPv4 headers */
#define HEADERS        42u /* and the UDP header */
#define MAGIC          UINT32_C(0x766c7062)
#define OVERHEAD       24u /* preamble, gap and frame check */
#define QUANTA         65535u
#define QUANTUM_BITS   512u
/* What a port that does not send is waited for, ns. */
#define STUCK UINT64_C(1000000000)
/* Frames between two looks at the clock while they are made. */
#define LOOK_EVERY 32u
/* Attempts that a machine may spoil, in all. */
#define MOST_LAPSES 200u
/* A held class is paused anew when a third of the pause is over. */
#define REFRESH 3u
/* Looks for the first frame that long at most, ns. */
#define PATIENCE      UINT64_C(20000000)
#define SHORT_FRAMES  8u
#define LEAST_SETTLE  UINT64_C(2000)
#define FIRST_SETTLE  UINT64_C(100000)
#define RESPONSE_TIME UINT64_C(20000) /* ns of frames while the response is measured */

uint64_t vl_probe_line_time(const struct vl_probe *probe, uint32_t length)
{
	return ((uint64_t)length + OVERHEAD) * 8 * 1000000000 / probe->bench->rate + 1;
}

int vl_probe_fail(struct vl_probe *probe, int status, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(probe->error, sizeof(probe->error), format, arguments);
	va_end(arguments);
	return status;
}

int vl_probe_tell(struct vl_probe *probe, const char *step, double part)
{
	probe->step = step;
	probe->part = part;
	if (!probe->config.progress || probe->config.progress(probe->config.context, step, part))
		return 0;
	return vl_probe_fail(probe, -EINTR, "interrupted");
}

/* ---- Receiving --------------------------------------------------------------------------- */

static void see_pause(struct vl_probe *probe, const uint8_t *frame, uint32_t length, uint64_t now)
{
	struct vl_pfc pfc;

	if (vl_pfc_parse(frame, length, &pfc) != VL_MAC_CONTROL_PFC ||
	    !(pfc.enabled >> probe->config.priority & 1))
		return;
	if (pfc.quanta[probe->config.priority]) {
		if (!probe->seen.xoffs++)
			probe->seen.xoff_at = now;
	} else if (!probe->seen.xons++) {
		probe->seen.xon_at = now;
		probe->seen.frames_at_xon = probe->seen.frames;
	}
}

static void see_frame(struct vl_probe *probe, const uint8_t *frame, uint32_t length, uint64_t now)
{
	uint32_t number;

	if (length < VL_PROBE_MIN_LENGTH || vl_load_be32(frame + HEADERS) != MAGIC ||
	    vl_load_be32(frame + HEADERS + 4) != probe->session)
		return;
	number = vl_load_be32(frame + HEADERS + 8);
	if (number >= probe->burst || probe->marks[number])
		return;
	probe->marks[number] = (frame[15] & 3) == VL_ECN_CE ? 2 : 1;
	if (!probe->seen.frames++)
		probe->seen.first = now;
	probe->seen.last = now;
}

static void received(void *receiver, enum vl_probe_side side, const uint8_t *frame, uint32_t length,
		     uint64_t now)
{
	struct vl_probe *probe = receiver;

	if (vl_is_mac_control(frame, length)) {
		if (side == VL_PROBE_SENDER)
			see_pause(probe, frame, length, now);
	} else if (side == VL_PROBE_RECEIVER) {
		see_frame(probe, frame, length, now);
	}
}

/* ---- Time and pauses --------------------------------------------------------------------- */

static int broken(struct vl_probe *probe)
{
	return vl_probe_fail(probe, -EIO, "a port does not send, or no memory for frames");
}

static int send_pause(struct vl_probe *probe, uint16_t quanta)
{
	struct vl_probe_bench *bench = probe->bench;
	struct vl_pfc pfc = {.enabled = (uint8_t)(1u << probe->config.priority)};
	uint8_t frame[VL_PFC_FRAME_LENGTH];

	pfc.quanta[probe->config.priority] = quanta;
	vl_pfc_write(frame, bench->macs[VL_PROBE_RECEIVER], &pfc);
	return bench->send(bench->context, VL_PROBE_RECEIVER, frame, sizeof(frame)) ? 0
										    : broken(probe);
}

static uint64_t pause_time(const struct vl_probe *probe)
{
	return (uint64_t)QUANTA * QUANTUM_BITS * 1000000000 / probe->bench->rate;
}

int vl_probe_hold(struct vl_probe *probe, bool holds)
{
	int status = send_pause(probe, holds ? QUANTA : 0);

	probe->hold_until =
		holds ? probe->bench->now(probe->bench->context) + pause_time(probe) : 0;
	return status;
}

static int renew(struct vl_probe *probe)
{
	uint64_t now = probe->bench->now(probe->bench->context);

	if (probe->hold_until && now > probe->hold_until) {
		probe->lapses++;
		probe->has_lapsed = true;
		return vl_probe_fail(
			probe, -ETIME,
			"this machine did not renew the receiver's pause in time, the last of %u "
			"times %llu us late: give the program a CPU of its own",
			probe->lapses, (unsigned long long)(now - probe->hold_until) / 1000);
	}
	if (!probe->hold_until ||
	    now + pause_time(probe) * (REFRESH - 1) / REFRESH < probe->hold_until)
		return 0;
	return vl_probe_hold(probe, true);
}

bool vl_probe_again(const struct vl_probe *probe, int status)
{
	return status == -ETIME && probe->lapses < MOST_LAPSES;
}

int vl_probe_wait(struct vl_probe *probe, uint64_t duration)
{
	uint64_t piece = pause_time(probe) / REFRESH / 4 + 1;
	int status = 0;

	while (!status && duration) {
		uint64_t step = duration < piece ? duration : piece;

		status = renew(probe);
		if (!status && !probe->bench->advance(probe->bench->context, step))
			status = broken(probe);
		duration -= step;
	}
	return status;
}

/* Until all frames have left, and what comes of them has come. */
static int wait_for_all(struct vl_probe *probe, uint64_t settle)
{
	uint64_t start = probe->bench->now(probe->bench->context);
	int status = 0;

	while (!status && !probe->bench->is_idle(probe->bench->context)) {
		status = probe->bench->now(probe->bench->context) - start > STUCK
				 ? broken(probe)
				 : vl_probe_wait(probe, LEAST_SETTLE);
	}
	return status ? status : vl_probe_wait(probe, settle);
}

int vl_probe_release(struct vl_probe *probe, uint64_t duration)
{
	int status = vl_probe_hold(probe, false);

	if (!status && duration && !probe->bench->advance(probe->bench->context, duration))
		status = broken(probe);
	if (!status)
		status = vl_probe_hold(probe, true);
	return status ? status : wait_for_all(probe, probe->settle);
}

/* ---- Frames ------------------------------------------------------------------------------ */

static void write_frame(const struct vl_probe *probe, uint8_t *frame, uint32_t length)
{
	const struct vl_probe_bench *bench = probe->bench;
	uint32_t sum = 0;

	memset(frame, 0, length);
	memcpy(frame, bench->macs[VL_PROBE_RECEIVER], 6);
	memcpy(frame + 6, bench->macs[VL_PROBE_SENDER], 6);
	vl_store_be16(frame + 12, VL_ETHERTYPE_IPV4);
	frame[14] = 0x45;
	frame[15] = (uint8_t)(probe->config.dscp << 2 | VL_ECN_ECT0);
	vl_store_be16(frame + 16, (uint16_t)(length - 14));
	frame[22] = 64;
	frame[23] = VL_IP_PROTOCOL_UDP;
	memcpy(frame + 26, bench->addresses[VL_PROBE_SENDER], 4);
	memcpy(frame + 30, bench->addresses[VL_PROBE_RECEIVER], 4);
	for (unsigned int i = 14; i < ADDRESSES; i += 2)
		sum += vl_load_be16(frame + i);
	sum = (sum >> 16) + (sum & 0xffff);
	vl_store_be16(frame + 24, (uint16_t) ~((sum >> 16) + sum));
	vl_store_be16(frame + 34, 0xc000);
	vl_store_be16(frame + 36, VL_ROCEV2_UDP_PORT);
	vl_store_be16(frame + 38, (uint16_t)(length - ADDRESSES));
	vl_store_be32(frame + HEADERS, MAGIC);
	vl_store_be32(frame + HEADERS + 4, probe->session);
}

static int send_frames(struct vl_probe *probe, uint32_t first, uint32_t count, uint32_t length)
{
	struct vl_probe_bench *bench = probe->bench;
	uint8_t frame[UINT16_MAX];
	int status = 0;

	write_frame(probe, frame, length);
	for (uint32_t i = first; !status && i < first + count; i++) {
		vl_store_be32(frame + HEADERS + 8, i);
		if (!bench->send(bench->context, VL_PROBE_SENDER, frame, length))
			return broken(probe);
		if (i % LOOK_EVERY == 0)
			status = renew(probe);
	}
	return status;
}

static void begin_burst(struct vl_probe *probe)
{
	probe->session++;
	probe->burst = 0;
	probe->seen = (struct vl_probe_seen){0};
	memset(probe->marks, 0, VL_PROBE_MAX_BURST);
}

/* Numbered on, without waiting. */
static int send_more(struct vl_probe *probe, uint32_t count, uint32_t length)
{
	uint32_t first = probe->burst;

	if (count > VL_PROBE_MAX_BURST - first)
		return vl_probe_fail(probe, -EDQUOT, "the switch holds more than %u frames of %u B",
				     VL_PROBE_MAX_BURST, length);
	if (probe->sent + count > probe->config.most_frames)
		return vl_probe_fail(
			probe, -EDQUOT,
			"not found out with %llu frames, which is all that was allowed",
			(unsigned long long)probe->config.most_frames);
	probe->sent += count;
	probe->burst += count;
	return send_frames(probe, first, count, length);
}

int vl_probe_add(struct vl_probe *probe, uint32_t count, uint32_t length)
{
	int status = send_more(probe, count, length);

	if (!status)
		status = vl_probe_wait(probe, count * vl_probe_line_time(probe, length));
	return status ? status : wait_for_all(probe, probe->settle);
}

int vl_probe_burst(struct vl_probe *probe, uint32_t count, uint32_t length)
{
	begin_burst(probe);
	return vl_probe_add(probe, count, length);
}

int vl_probe_fill(struct vl_probe *probe, uint32_t count, uint32_t length)
{
	int status = vl_probe_tell(probe, probe->step, probe->part);

	if (!status && probe->has_lapsed) {
		probe->has_lapsed = false;
		status = vl_probe_drain(probe, length);
	}
	if (!status)
		status = vl_probe_hold(probe, true);
	if (!status)
		status = vl_probe_wait(probe, probe->settle);
	return status ? status : vl_probe_burst(probe, count, length);
}

int vl_probe_drain(struct vl_probe *probe, uint32_t length)
{
	uint64_t piece = probe->settle + 64 * vl_probe_line_time(probe, length);
	uint32_t before;
	int status = vl_probe_hold(probe, false);

	do {
		before = probe->seen.frames;
		if (!status)
			status = vl_probe_wait(probe, piece);
	} while (!status && probe->seen.frames != before);
	return status;
}

/* ---- Opening ----------------------------------------------------------------------------- */

/* A frame of the receiver's own, by which a switch that learns addresses learns where it is. */
static int introduce(struct vl_probe *probe)
{
	struct vl_probe_bench *bench = probe->bench;
	uint8_t frame[VL_PROBE_MIN_LENGTH];

	write_frame(probe, frame, sizeof(frame));
	memcpy(frame, bench->macs[VL_PROBE_SENDER], 6);
	memcpy(frame + 6, bench->macs[VL_PROBE_RECEIVER], 6);
	memcpy(frame + 26, bench->addresses[VL_PROBE_RECEIVER], 4);
	memcpy(frame + 30, bench->addresses[VL_PROBE_SENDER], 4);
	if (!bench->send(bench->context, VL_PROBE_RECEIVER, frame, sizeof(frame)))
		return broken(probe);
	return wait_for_all(probe, FIRST_SETTLE + bench->lateness);
}

/* Of one short frame; what comes late by the machine's doing makes it too long. */
static int measure_one(struct vl_probe *probe)
{
	uint64_t start = probe->bench->now(probe->bench->context);
	int status = vl_probe_burst(probe, 1, VL_PROBE_MIN_LENGTH);

	for (uint64_t waited = 0; !status && !probe->seen.frames && waited < PATIENCE;
	     waited += FIRST_SETTLE)
		status = vl_probe_wait(probe, FIRST_SETTLE);
	if (!status && probe->seen.frames && probe->seen.first - start < probe->latency)
		probe->latency = probe->seen.first - start;
	return status;
}

static int measure_latency(struct vl_probe *probe)
{
	int status = 0;

	probe->latency = UINT64_MAX;
	for (unsigned int i = 0; !status && i < SHORT_FRAMES; i++) {
		status = measure_one(probe);
		if (!status && probe->latency == UINT64_MAX)
			return vl_probe_fail(
				probe, -ENODATA,
				"nothing that the sender sends comes to the receiver: are both "
				"ports on the same switch and VLAN, and does it know the "
				"receiver's MAC?");
	}
	return status;
}

/* Pauses while frames come, and looks when the last one came. */
static int measure_response(struct vl_probe *probe)
{
	uint64_t duration = RESPONSE_TIME + 4 * probe->latency, line_time, paused_at;
	uint32_t length = VL_PROBE_MIN_LENGTH, half, arrived;
	int status;

	while (duration / vl_probe_line_time(probe, length) > VL_PROBE_MAX_BURST / 8 &&
	       length + VL_PROBE_MIN_LENGTH <= probe->config.most_length)
		length += VL_PROBE_MIN_LENGTH;
	line_time = vl_probe_line_time(probe, length);
	if (duration / line_time > VL_PROBE_MAX_BURST / 2)
		return vl_probe_fail(probe, -ENOTSUP,
				     "a frame takes %" PRIu64
				     " ns from the sender to the receiver, too long for a pause "
				     "to be seen in %u frames of %u B",
				     probe->latency, VL_PROBE_MAX_BURST, length);
	status = vl_probe_tell(probe, "pauses", 0);
	if (!status && probe->has_lapsed) {
		probe->has_lapsed = false;
		status = vl_probe_drain(probe, length);
	}
	if (status)
		return status;
	half = (uint32_t)(duration / line_time);
	begin_burst(probe);
	status = send_more(probe, half, length);
	if (!status)
		status = vl_probe_wait(probe, 2 * probe->latency);
	paused_at = probe->bench->now(probe->bench->context);
	if (!status)
		status = vl_probe_hold(probe, true);
	if (!status)
		status = send_more(probe, half, length);
	if (!status)
		status = vl_probe_wait(probe, 2 * half * line_time);
	if (!status)
		status = wait_for_all(probe, FIRST_SETTLE + probe->bench->lateness);
	arrived = probe->seen.frames;
	probe->response = probe->seen.last > paused_at ? probe->seen.last - paused_at : 0;
	probe->settle =
		2 * (probe->latency + probe->response) + LEAST_SETTLE + probe->bench->lateness;
	if (!status)
		status = vl_probe_drain(probe, length);
	/* What was lost is missing too: only what comes when the pause is over was held. */
	if (!status && probe->seen.frames == arrived)
		return vl_probe_fail(
			probe, -ENOTSUP,
			"the switch does not obey PFC of priority %u at the receiver's port: of %u "
			"frames of DSCP %u, %u came through a pause, and none when it was over",
			probe->config.priority, 2 * half, probe->config.dscp, arrived);
	return status;
}

int vl_probe_open(struct vl_probe *probe, struct vl_probe_bench *bench,
		  const struct vl_probe_config *config)
{
	int status;

	*probe = (struct vl_probe){.bench = bench, .config = *config, .settle = FIRST_SETTLE};
	if (!config->most_length)
		probe->config.most_length = DEFAULT_LENGTH;
	if (!config->most_frames)
		probe->config.most_frames = DEFAULT_FRAMES;
	probe->marks = malloc(VL_PROBE_MAX_BURST);
	if (!probe->marks)
		return vl_probe_fail(probe, -ENOMEM, "no memory");
	bench->received = received;
	bench->receiver = probe;
	status = introduce(probe);
	if (!status)
		status = measure_latency(probe);
	if (!status) {
		do
			status = measure_response(probe);
		while (vl_probe_again(probe, status));
	}
	return status;
}

void vl_probe_close(struct vl_probe *probe)
{
	if (probe->bench)
		probe->bench->received = NULL;
	free(probe->marks);
	*probe = (struct vl_probe){0};
}
