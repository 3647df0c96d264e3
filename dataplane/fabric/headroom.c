/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/fabric/headroom.h"

#include "dataplane/fabric/link.h"
#include "dataplane/pfc.h"

#define KIB              1024u
#define SMALLEST_PACKET  64u
#define PREAMBLE_AND_FCS 12u
/* Times on a line are rounded up to whole nanoseconds where a port waits for its line, and where a
 * PFC frame arrives. */
#define ROUNDING_NS 2

static void add(struct vl_headroom *headroom, const char *name, double bytes, bool is_scaled)
{
	headroom->terms[headroom->term_count++] = (struct vl_headroom_term){name, bytes, is_scaled};
	headroom->exact += is_scaled ? bytes * headroom->cell_factor : bytes;
}

static double response_time(const struct vl_headroom_input *input)
{
	if (input->response >= 0)
		return input->response;
	return (double)vl_pfc_response_quanta(input->rate) * VL_PFC_QUANTUM_BITS * 1e9 /
	       (double)input->rate;
}

/* What a double cannot hold makes no unit more or less. */
static uint64_t round_down(double bytes, uint64_t unit)
{
	return (uint64_t)((bytes + 1e-6) / (double)unit) * unit;
}

static uint64_t round_up(double bytes, uint64_t unit)
{
	uint64_t down = round_down(bytes, unit);

	return (double)down < bytes - 1e-6 ? down + unit : down;
}

/* Memory that small packets waste in cells, as SONiC estimates it. */
static double sonic_cell_factor(const struct vl_headroom_input *input)
{
	double cell = input->cell_size ? input->cell_size : 1, worst;

	if (cell > 2 * SMALLEST_PACKET)
		worst = cell / SMALLEST_PACKET;
	else
		worst = 2 * cell / (1 + cell);
	return (100 - input->small_packet_percent + input->small_packet_percent * worst) / 100;
}

void vl_headroom_sonic(const struct vl_headroom_input *input, struct vl_headroom *headroom)
{
	*headroom = (struct vl_headroom){.cell_factor = sonic_cell_factor(input)};
	add(headroom, "frame that the peer has just begun", input->lossless_mtu, false);
	add(headroom, "frame that the PFC frame waits for", input->port_mtu, true);
	add(headroom, "cable, there and back",
	    vl_headroom_line_bytes(input->rate, 2 * input->propagation), true);
	add(headroom, "gearbox, both ends",
	    vl_headroom_line_bytes(input->rate, 2 * input->gearbox_delay), true);
	add(headroom, "MAC and PHY", input->mac_phy_delay, true);
	add(headroom, "peer's response to PFC",
	    vl_headroom_line_bytes(input->rate, response_time(input)), true);
	headroom->bytes = round_up(headroom->exact, KIB);
}

static uint64_t occupied(const struct vl_headroom_input *input, uint64_t length)
{
	uint64_t cell = input->cell_size ? input->cell_size : 1;

	return (length + cell - 1) / cell * cell;
}

/* Most memory that a byte of the line can take, over all lengths of frames. */
static double worst_cell_factor(const struct vl_headroom_input *input)
{
	double worst = 0;

	for (uint32_t length = input->smallest; length <= input->lossless_mtu; length++) {
		uint32_t padded = length < VL_ETHERNET_MIN_LENGTH ? VL_ETHERNET_MIN_LENGTH : length;
		double factor =
			(double)occupied(input, length) / (double)(padded + VL_ETHERNET_OVERHEAD);

		if (factor > worst)
			worst = factor;
	}
	return worst;
}

void vl_headroom_worst_case(const struct vl_headroom_input *input, struct vl_headroom *headroom)
{
	double longest = (double)occupied(input, input->lossless_mtu);

	*headroom = (struct vl_headroom){.cell_factor = worst_cell_factor(input)};
	add(headroom, "frame that crosses the threshold", longest, false);
	add(headroom, "frame that the peer has just begun", longest, false);
	add(headroom, "frame that the PFC frame waits for", input->port_mtu + VL_ETHERNET_OVERHEAD,
	    true);
	add(headroom, "PFC frame", VL_PFC_FRAME_LENGTH + PREAMBLE_AND_FCS, true);
	add(headroom, "cable, there and back",
	    vl_headroom_line_bytes(input->rate, 2 * input->propagation), true);
	add(headroom, "peer's response to PFC",
	    vl_headroom_line_bytes(input->rate, response_time(input)), true);
	add(headroom, "whole nanoseconds", vl_headroom_line_bytes(input->rate, ROUNDING_NS), true);
	headroom->bytes = round_down(headroom->exact, input->cell_size ? input->cell_size : 1);
}
