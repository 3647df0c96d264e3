/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Congestion control of a queue pair: one small interface and the algorithms behind it. State is
 * advanced when it is touched, in closed form, so an idle or steady QP costs no timer. All
 * functions take the time, ns; rates are bit/s of what is on the wire (preamble, gap and FCS
 * included).
 */
#ifndef VERBLINE_CC_H
#define VERBLINE_CC_H

#include <stdbool.h>
#include <stdint.h>

struct vl_cc_algorithm;

/*
 * DCQCN in the words of NVIDIA's DOCA and MLNX_OFED documents; the paper's name in brackets
 * (Zhu et al., SIGCOMM 2015). X(name, default of profile paper, of profile nvidia, smallest,
 * largest, unit, meaning)
 */
#define VL_DCQCN_PARAMETERS(X)                                                                     \
	X(rpg_ai_rate, 40, 5, 1, 800000, "Mb/s", "additive increase step (R_AI)")                  \
	X(rpg_hai_rate, 200, 50, 1, 800000, "Mb/s", "hyper increase step (R_HAI)")                 \
	X(rpg_time_reset, 55, 300, 1, 131071, "us", "period of the increase timer (T)")            \
	X(rpg_byte_reset, 156250, 32767, 0, 4194303, "64 B",                                       \
	  "bytes per increase event (B); 0 is off")                                                \
	X(rpg_threshold, 5, 1, 1, 31, "events", "events before the next phase (F)")                \
	X(rpg_max_rate, 0, 0, 0, 1600000, "Mb/s", "highest rate; 0 is the line rate")              \
	X(rpg_min_rate, 1, 1, 1, 1600000, "Mb/s", "lowest rate")                                   \
	X(rpg_min_dec_fac, 50, 50, 1, 100, "%", "a cut leaves at least this part of the rate")     \
	X(rpg_gd, 11, 11, 10, 11, "log2", "a cut takes alpha * 2^rpg_gd / 2^12: 11 is alpha / 2")  \
	X(dce_tcp_g, 1020, 1019, 0, 1023, "1/1024",                                                \
	  "part of alpha kept per update; g = 1 - x / 1024")                                       \
	X(dce_tcp_rtt, 55, 1, 1, 131071, "us", "period of the alpha update (tau')")                \
	X(initial_alpha_value, 1023, 1023, 1, 1023, "1/1024", "alpha at the first CNP")            \
	X(rate_reduce_monitor_period, 0, 4, 0, 131071, "us", "least time between two cuts")        \
	X(rate_to_set_on_first_cnp, 0, 0, 0, 1600000, "Mb/s",                                      \
	  "rate at the first CNP; 0: cut as usual")                                                \
	X(clamp_tgt_rate, 1, 0, 0, 1, "bool", "every cut sets the target rate to the current one") \
	X(clamp_tgt_rate_after_time_inc, 1, 1, 0, 1, "bool",                                       \
	  "a cut after a timer increase sets the target rate")                                     \
	X(min_time_between_cnps, 50, 4, 0, 131071, "us",                                           \
	  "notification point: least time between CNPs of a QP (N)")                               \
	X(cnp_dscp, 48, 48, 0, 63, "DSCP", "of CNPs")                                              \
	X(cnp_802p_prio, 6, 6, 0, 7, "priority", "of CNPs")

struct vl_dcqcn_parameters {
#define VL_DCQCN_FIELD(name, paper, nvidia, least, most, unit, meaning) uint32_t name;
	VL_DCQCN_PARAMETERS(VL_DCQCN_FIELD)
#undef VL_DCQCN_FIELD
};

/*
 * Congestion control of InfiniBand channel adapters, IBTA volume 1, annex A10; see infiniband.c.
 * The annex gives no defaults: these are chosen. X(name, default, smallest, largest, unit, meaning)
 */
#define VL_CCT_ENTRIES 128u
#define VL_INFINIBAND_CC_PARAMETERS(X)                                                             \
	X(ccti_increase, 1, 0, 255, "entries", "added to CCTI by a BECN")                          \
	X(ccti_timer, 50, 0, 65535, "1.024 us", "after which CCTI is one less; 0: never")          \
	X(ccti_min, 0, 0, 127, "entries", "least CCTI")                                            \
	X(ccti_limit, 127, 0, 127, "entries", "largest CCTI")                                      \
	X(trigger_threshold, 2, 0, 255, "entries", "a CCTI that is counted as an event")

struct vl_infiniband_cc_parameters {
#define VL_INFINIBAND_CC_FIELD(name, value, least, most, unit, meaning) uint32_t name;
	VL_INFINIBAND_CC_PARAMETERS(VL_INFINIBAND_CC_FIELD)
#undef VL_INFINIBAND_CC_FIELD
	/* The congestion control table: shift << 14 | multiplier. After a packet comes a pause of
	 * multiplier / 2^shift times the time that the packet took. */
	uint16_t cct[VL_CCT_ENTRIES];
};
#define VL_CCT_SHIFT           14
#define VL_CCT_MULTIPLIER_MASK 0x3fffu

/* bit/s. The time of a packet at a lower rate would not fit the arithmetic of pacing. */
#define VL_CC_LEAST_RATE UINT64_C(1000000)

struct vl_cc_parameters {
	const struct vl_cc_algorithm *algorithm;
	uint64_t fixed_rate;   /* bit/s, algorithm fixed; VL_CC_LEAST_RATE or more */
	uint64_t initial_rate; /* bit/s; 0: the line rate */
	/* The notification point's part is used with every algorithm. */
	struct vl_dcqcn_parameters dcqcn;
	struct vl_infiniband_cc_parameters infiniband; /* algorithm infiniband */
};

/* Lives in the QP; each algorithm has its own view of the words. */
struct vl_cc_state {
	uint64_t words[14];
};

struct vl_cc_report {
	uint64_t rate;        /* bit/s allowed now; UINT64_MAX: not limited */
	uint64_t target_rate; /* bit/s; dcqcn */
	double alpha;         /* 0..1; dcqcn: 0 before the first CNP */
	uint64_t rate_cuts;
	uint32_t ccti; /* infiniband: index into the congestion control table */
};

struct vl_cc_algorithm {
	const char *name;
	void (*init)(struct vl_cc_state *state, const struct vl_cc_parameters *parameters,
		     uint64_t line_rate, uint64_t now);
	/* Each may be NULL. bytes: on the wire. */
	void (*on_send)(struct vl_cc_state *state, const struct vl_cc_parameters *parameters,
			uint32_t bytes, uint64_t now);
	void (*on_ack)(struct vl_cc_state *state, const struct vl_cc_parameters *parameters,
		       uint32_t packets, uint64_t now);
	void (*on_cnp)(struct vl_cc_state *state, const struct vl_cc_parameters *parameters,
		       uint64_t now);
	void (*on_nak)(struct vl_cc_state *state, const struct vl_cc_parameters *parameters,
		       uint64_t now);
	void (*on_timeout)(struct vl_cc_state *state, const struct vl_cc_parameters *parameters,
			   uint64_t now);
	/* Advances to now and returns picoseconds per byte << 16 at the allowed rate (so that the
	 * caller multiplies and shifts, and never divides); 0: not limited. */
	uint64_t (*byte_time)(struct vl_cc_state *state, const struct vl_cc_parameters *parameters,
			      uint64_t now);
	/* When the allowed rate next changes by itself, so that a long gap between packets can be
	 * cut short; UINT64_MAX: not. */
	uint64_t (*next_change)(const struct vl_cc_state *state,
				const struct vl_cc_parameters *parameters);
	/* Largest number of unacknowledged packets; NULL: the device's limit. */
	uint32_t (*window)(const struct vl_cc_state *state,
			   const struct vl_cc_parameters *parameters);
	/* Leaves the state as it is. */
	struct vl_cc_report (*report)(struct vl_cc_state *state,
				      const struct vl_cc_parameters *parameters, uint64_t now);
};

extern const struct vl_cc_algorithm vl_cc_none, vl_cc_fixed, vl_cc_dcqcn, vl_cc_infiniband;

/* By name ("none", "fixed", "dcqcn", "infiniband"); NULL: unknown. */
const struct vl_cc_algorithm *vl_cc_find(const char *name);
/* The n-th algorithm's name, NULL past the last: for messages and help. */
const char *vl_cc_name(unsigned int n);
/* Fills *parameters from profile "paper" or "nvidia"; -EINVAL: unknown profile. */
int vl_dcqcn_profile(struct vl_dcqcn_parameters *parameters, const char *profile);
/* Sets a parameter by name; -ENOENT: no such parameter, -ERANGE: value not allowed. */
int vl_dcqcn_set(struct vl_dcqcn_parameters *parameters, const char *name, uint64_t value);

/* 0, or -EINVAL: no algorithm, or a parameter outside its range (those of dcqcn may be zero with
 * another algorithm). The algorithms rely on it. */
int vl_cc_check(const struct vl_cc_parameters *parameters);

/* A parameter of an algorithm. */
struct vl_cc_description {
	const char *name, *unit, *meaning;
	uint32_t least, most;
	/* The default: of either of dcqcn's profiles; of infiniband. */
	union {
		struct {
			uint32_t paper, nvidia;
		};
		uint32_t value;
	};
	uint32_t offset; /* of the field, a uint32_t, in the algorithm's parameters */
};
/* The field's value. parameters: struct vl_dcqcn_parameters or vl_infiniband_cc_parameters. */
uint32_t vl_cc_parameter(const void *parameters, const struct vl_cc_description *description);
/* -ERANGE: the value is not allowed. */
int vl_cc_set_parameter(void *parameters, const struct vl_cc_description *description,
			uint64_t value);

/* The n-th parameter, NULL past the last. */
const struct vl_cc_description *vl_dcqcn_describe(unsigned int n);

/* The defaults, with a table whose entry n pauses for n / 8 of a packet's time. */
void vl_infiniband_cc_defaults(struct vl_infiniband_cc_parameters *parameters);
/* Sets a parameter by name; -ENOENT: no such parameter, -ERANGE: value not allowed. */
int vl_infiniband_cc_set(struct vl_infiniband_cc_parameters *parameters, const char *name,
			 uint64_t value);
/* Sets an entry of the table; -ERANGE: entry, shift (0..3) or multiplier (0..16383) not allowed. */
int vl_infiniband_cct_set(struct vl_infiniband_cc_parameters *parameters, uint32_t entry,
			  uint32_t shift, uint32_t multiplier);

/* 0, or -EINVAL: a parameter outside its range, or ccti_min above ccti_limit. */
int vl_infiniband_cc_check(const struct vl_infiniband_cc_parameters *parameters);

/* The n-th parameter, NULL past the last. */
const struct vl_cc_description *vl_infiniband_cc_describe(unsigned int n);

/*
 * Notification point, per QP (Zhu et al. 2015, section 3.1): a CE packet is answered with a CNP at
 * once if there was none within the last min_time_between_cnps; otherwise, when that time is over.
 */
struct vl_notification_point {
	uint64_t next_allowed; /* ns; 0: never sent */
	bool is_marked;        /* a CE packet since the last CNP waits for next_allowed */
};
/* To be called for each packet of the QP that could carry a mark; true: send a CNP. A CNP that had
 * to wait goes with the first packet after its time, marked or not; if none comes within as much
 * time again, the mark is stale and forgotten. */
bool vl_notification_due(struct vl_notification_point *point,
			 const struct vl_cc_parameters *parameters, bool is_marked, uint64_t now);

#endif
