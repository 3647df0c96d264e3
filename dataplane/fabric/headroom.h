/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * How much headroom a lossless priority group needs: what still arrives after it has decided to
 * send XOFF. Two answers, each as a sum of terms that can be shown:
 *
 * - vl_headroom_sonic: the formula by which SONiC computes BUFFER_PROFILE's xoff (its
 *   buffer_headroom_*.lua; IEEE 802.1Q annex O has the same terms). It takes the decision to fall
 *   in the middle of a frame, ignores the PFC frame, preambles and gaps, and makes up for it by the
 *   delay of MAC and PHY and by the share of small packets.
 * - vl_headroom_worst_case: the exact bound of a store-and-forward switch that accounts whole
 *   frames, as the emulated one does. A class whose headroom is as large never drops; there is
 *   traffic that fills it to the last cell.
 */
#ifndef VERBLINE_FABRIC_HEADROOM_H
#define VERBLINE_FABRIC_HEADROOM_H

#include <stdbool.h>
#include <stdint.h>

/* Signal velocity that SONiC takes for every cable, m/s (5.05 ns/m). */
#define VL_HEADROOM_VELOCITY 1.98e8

struct vl_headroom_input {
	uint64_t rate;         /* bit/s of the line */
	double propagation;    /* ns, one way; see vl_headroom_propagation */
	uint32_t lossless_mtu; /* bytes, longest frame of lossless traffic, without FCS */
	uint32_t port_mtu;     /* bytes, longest frame that the port sends, without FCS */
	uint32_t smallest;     /* bytes, shortest frame of lossless traffic; worst case only */
	uint32_t cell_size;    /* bytes; 0: memory is accounted in bytes */
	double response;       /* ns that the peer takes from a pause to obedience; negative:
				* the most that IEEE 802.3 allows (vl_pfc_response_quanta) */
	double small_packet_percent; /* 0..100, of lossless traffic; SONiC only */
	double gearbox_delay;        /* ns, of each end; SONiC only */
	uint32_t mac_phy_delay;      /* bytes; SONiC only (0.8 KB in its ASIC tables) */
};

struct vl_headroom_term {
	const char *name; /* in words, without a number */
	double bytes;     /* before the factor */
	bool is_scaled;   /* the cell factor applies to it */
};

#define VL_HEADROOM_TERMS 8

struct vl_headroom {
	struct vl_headroom_term terms[VL_HEADROOM_TERMS];
	unsigned int term_count;
	double cell_factor; /* bytes of memory for a byte of the line */
	double exact;       /* sum of terms, with the factor where it applies */
	/* exact, rounded: SONiC: up to 1 KiB; worst case: down to cells, as frames take whole ones.
	 */
	uint64_t bytes;
};

/* ns that a signal takes over metres of cable by SONiC's velocity. */
static inline double vl_headroom_propagation(double metres)
{
	return metres * 1e9 / VL_HEADROOM_VELOCITY;
}

/* Bytes of a line at the rate in that time. */
static inline double vl_headroom_line_bytes(uint64_t rate, double nanoseconds)
{
	return (double)rate * nanoseconds / 8e9;
}

void vl_headroom_sonic(const struct vl_headroom_input *input, struct vl_headroom *headroom);
void vl_headroom_worst_case(const struct vl_headroom_input *input, struct vl_headroom *headroom);

#endif
