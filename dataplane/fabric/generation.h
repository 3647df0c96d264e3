/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * What links exist: generations of Ethernet and InfiniBand, form factors of their modules, and
 * media, with the values that a link's rate and delay follow from.
 *
 * Sources: IEEE 802.3 (clauses 72 to 124, 802.3bs, cd, ck, db, df, dj) and the IBTA's roadmap;
 * encodings, FEC and per-lane rates as in rdma-core's rate tables; RS(528,514) and RS(544,514)
 * codewords as in Intel AN 846. Rows whose is_unverified is set have latencies or reaches of the
 * right order of magnitude which no primary source confirms; `verbline links` says so.
 */
#ifndef VERBLINE_FABRIC_GENERATION_H
#define VERBLINE_FABRIC_GENERATION_H

#include <stdbool.h>
#include <stdint.h>

enum vl_link_technology {
	VL_LINK_TECHNOLOGY_ETHERNET,
	VL_LINK_TECHNOLOGY_INFINIBAND,
};

enum vl_link_modulation {
	VL_MODULATION_NRZ,
	VL_MODULATION_PAM4,
};

enum vl_link_fec {
	VL_FEC_NONE,
	VL_FEC_KR4, /* RS(528,514), clause 91 */
	VL_FEC_KP4, /* RS(544,514), clause 91 and 119 */
};

/* One way to make a link: a speed of Ethernet on a number of lanes, or an InfiniBand rate at one
 * width. */
struct vl_link_generation {
	const char *name; /* as links are written: "400g", "ndr" */
	enum vl_link_technology technology;
	uint8_t lanes;      /* electrical lanes; InfiniBand: the width */
	uint32_t lane_rate; /* nominal data rate of a lane, Gb/s: 10, 25, 50, 100, 200; QDR 8 ... */
	uint32_t lane_signalling; /* Mb/s of bits on a lane */
	enum vl_link_modulation modulation;
	enum vl_link_fec fec;
	const char *encoding;
	uint64_t rate;        /* bit/s of data: what packets and their overhead share */
	uint32_t fec_latency; /* ns that the receiver's FEC adds */
	bool is_unverified;
};

enum vl_link_fibre {
	VL_FIBRE_COPPER,
	VL_FIBRE_ACTIVE, /* a cable with its ends: the fibre inside does not matter */
	VL_FIBRE_MULTIMODE,
	VL_FIBRE_SINGLE_MODE,
};

#define VL_LANE_CLASSES 5 /* 10, 25, 50, 100 and 200 Gb/s a lane */

struct vl_link_medium {
	const char *name; /* "dac", "sr", "dr" */
	const char *title;
	enum vl_link_fibre fibre;
	bool takes_lanes;                   /* an optical lane count follows the name: sr4, dr8 */
	bool is_wdm;                        /* lanes are wavelengths of one fibre pair */
	uint32_t reach[VL_LANE_CLASSES];    /* metres, by class of lane; 0: does not exist */
	uint32_t latency_nrz, latency_pam4; /* ns of one end's electronics */
};

struct vl_link_form_factor {
	const char *name; /* "qsfp112", "osfp" */
	const char *title;
	uint8_t lanes;      /* electrical lanes */
	uint32_t lane_rate; /* fastest lane, Gb/s: 10, 28 (25), 50, 100, 200 */
	const char *fits;   /* modules that its cage takes too, for people; NULL: only its own */
};

/* The n-th, NULL past the last. A name may have several rows, the usual one first. */
const struct vl_link_generation *vl_link_generation(unsigned int n);
const struct vl_link_medium *vl_link_medium(unsigned int n);
const struct vl_link_form_factor *vl_link_form_factor(unsigned int n);

const char *vl_link_technology_name(enum vl_link_technology technology);
const char *vl_link_fec_name(enum vl_link_fec fec);
const char *vl_link_modulation_name(enum vl_link_modulation modulation);
const char *vl_link_fibre_name(enum vl_link_fibre fibre);
/* The class of a lane by its nominal rate: index into reach; SDR to QDR count as 10 Gb/s, FDR
 * as 25. */
unsigned int vl_link_lane_class(uint32_t lane_rate);
/* Nominal Gb/s of a class. */
uint32_t vl_link_lane_class_rate(unsigned int lane_class);

/* Signals travel at 198 Mm/s in fibre, as SONiC's headroom computation takes it; copper pairs are
 * a little faster. Picoseconds per metre. */
#define VL_FIBRE_PS_PER_METRE  5051u
#define VL_COPPER_PS_PER_METRE 4600u

#endif
