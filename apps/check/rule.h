/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What a switch configuration is checked for. */
#ifndef VERBLINE_CHECK_RULE_H
#define VERBLINE_CHECK_RULE_H

enum vl_check_severity {
	VL_CHECK_NOTE,    /* worth a thought; is nothing wrong */
	VL_CHECK_WARNING, /* works, but worse than it could, or only in good weather */
	VL_CHECK_ERROR,   /* drops, stalls, or is refused by the switch */
};

/* X(enumerator, name, severity, what is wrong). rule.c has the explanations. */
#define VL_CHECK_RULES(X)                                                                          \
	X(VALUE, "value", ERROR, "a value that cannot be what it is to be")                        \
	X(KEY, "key", ERROR, "an entry whose name is none of its table's form")                    \
	X(REFERENCE, "reference", ERROR,                                                           \
	  "a reference to a profile, pool, map or port that does not exist")                       \
	X(OLD_REFERENCE, "old-reference", WARNING, "references in the form [TABLE|NAME]")          \
	X(DUPLICATE, "duplicate", ERROR, "what is given twice, of which one is lost")              \
	X(PORT_SPEED, "port-speed", ERROR, "a port without a speed that Ethernet has")             \
	X(PORT_LANES, "port-lanes", ERROR, "lanes that do not make the speed, or serve two ports") \
	X(PORT_FEC, "port-fec", ERROR, "an error correction that the lanes' rate does not have")   \
	X(PORT_MTU, "port-mtu", WARNING, "ports of different MTU")                                 \
	X(CABLE_LENGTH, "cable-length", ERROR, "a lossless port whose cable length is unknown")    \
	X(LOSSLESS_CLASS, "lossless-class", WARNING, "no class is lossless")                       \
	X(QOS_MAP, "qos-map", ERROR, "headroom at a port that PORT_QOS_MAP does not have")         \
	X(DSCP_MAP, "dscp-map", ERROR, "no map from DSCP to traffic class")                        \
	X(DSCP_UNMAPPED, "dscp-unmapped", WARNING, "DSCPs that the map does not have")             \
	X(ROCE_DSCP, "roce-dscp", ERROR, "RoCE's DSCP in a class that is not lossless")            \
	X(CLASS_MAP, "class-map", WARNING, "a map that is left to the switch's defaults")          \
	X(CLASS_UNMAPPED, "class-unmapped", ERROR, "a lossless class that has no queue or group")  \
	X(PFC_QUEUE, "pfc-queue", ERROR, "a pause stops another queue than the one it is for")     \
	X(PFC_OFF, "pfc-off", ERROR, "headroom for a group that no PFC priority pauses")           \
	X(PFC_LOSSY, "pfc-lossy", ERROR, "PFC for a group that has no headroom")                   \
	X(PFC_DIFFERS, "pfc-differs", WARNING, "ports that are not lossless for the same")         \
	X(SHARED_GROUP, "shared-group", ERROR, "lossy traffic in a lossless priority group")       \
	X(SHARED_QUEUE, "shared-queue", ERROR, "lossless and lossy traffic in one queue")          \
	X(CNP_WITH_DATA, "cnp-with-data", ERROR, "CNPs in a queue of RoCE's data")                 \
	X(CNP_BEST_EFFORT, "cnp-best-effort", WARNING, "CNPs in the queue of all other traffic")   \
	X(CNP_LOSSY, "cnp-lossy", NOTE, "CNPs in a lossy queue that is not strict")                \
	X(HEADROOM, "headroom", ERROR, "headroom too small for speed, cable and MTU")              \
	X(HEADROOM_RESERVED, "headroom-reserved", ERROR, "headroom that nothing is reserved for")  \
	X(SHARED_HEADROOM, "shared-headroom", ERROR, "shared headroom that few groups fill")       \
	X(PROFILE_NAME, "profile-name", WARNING, "a profile made for another speed or cable")      \
	X(THRESHOLD, "threshold", ERROR, "a profile that has no threshold")                        \
	X(XON_XOFF, "xon-xoff", ERROR, "XON that is not below XOFF")                               \
	X(POOL_DIRECTION, "pool-direction", ERROR, "an egress pool at ingress, or the reverse")    \
	X(POOL_SIZE, "pool-size", ERROR, "more reserved than the pool has")                        \
	X(MEMORY, "memory", ERROR, "pools that are larger than the packet memory")                 \
	X(EGRESS_LIMIT, "egress-limit", ERROR, "a lossless queue that drops before PFC stops it")  \
	X(ECN_OFF, "ecn-off", WARNING, "a lossless queue that marks no ECN")                       \
	X(ECN_MODE, "ecn-mode", ERROR, "WRED that drops lossless packets instead of marking")      \
	X(WRED_THRESHOLDS, "wred-thresholds", ERROR, "marking without, or with wrong thresholds")  \
	X(WRED_PROBABILITY, "wred-probability", WARNING, "a probability of marking of 0")          \
	X(WRED_STEEP, "wred-steep", NOTE, "a probability of marking of 100 % at the maximum")      \
	X(ECN_AFTER_PFC, "ecn-after-pfc", ERROR, "PFC pauses a lone sender before ECN marks")      \
	X(ECN_NEAR_PFC, "ecn-near-pfc", WARNING, "PFC pauses before ECN marks everything")         \
	X(ECN_BEYOND_QUEUE, "ecn-beyond-queue", ERROR, "the queue is full before ECN marks")       \
	X(SCHEDULER_MISSING, "scheduler-missing", WARNING, "a lossless queue has no scheduler")    \
	X(SCHEDULER_WEIGHT, "scheduler-weight", ERROR, "a weight of nothing")                      \
	X(SCHEDULER_STRICT, "scheduler-strict", WARNING, "a strict queue that starves the others") \
	X(SCHEDULER_SUM, "scheduler-sum", NOTE, "weights that are no percentages")                 \
	X(WATCHDOG_MISSING, "watchdog-missing", WARNING, "lossless classes without watchdog")      \
	X(WATCHDOG_SHORT, "watchdog-short", ERROR, "a watchdog that bites at legitimate pauses")   \
	X(WATCHDOG_POLL, "watchdog-poll", ERROR, "watchdog times below the polling interval")

enum vl_check_rule {
#define VL_CHECK_ENUMERATOR(enumerator, name, severity, what) VL_CHECK_##enumerator,
	VL_CHECK_RULES(VL_CHECK_ENUMERATOR)
#undef VL_CHECK_ENUMERATOR
		VL_CHECK_RULE_COUNT
};

struct vl_check_description {
	const char *name;
	enum vl_check_severity severity;
	const char *summary; /* what is wrong, in a line */
};

const struct vl_check_description *vl_check_describe(enum vl_check_rule rule);
/* Why it matters, and how it is worked out. */
const char *vl_check_explain(enum vl_check_rule rule);
const char *vl_check_severity_name(enum vl_check_severity severity);

#endif
