/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What --explain says of each rule. */

#include "apps/check/rule.h"

static const char *const explanations[] = {
	[VL_CHECK_VALUE] =
		"The value is of another type than the table has, or out of its range. SONiC's "
		"databases hold texts: numbers may stand without quotes, but true becomes "
		"\"True\", "
		"which is not understood. What cannot be read counts as not given.",
	[VL_CHECK_KEY] =
		"Entries of BUFFER_PG, BUFFER_QUEUE and QUEUE are named PORT|N or PORT|FIRST-LAST "
		"(several ports parted by commas); those of maps are numbers. An entry of another "
		"name is not applied.",
	[VL_CHECK_REFERENCE] =
		"What refers to nothing is not applied: SONiC waits for ever for the entry to "
		"appear. The queue or group then has the switch's defaults.",
	[VL_CHECK_OLD_REFERENCE] =
		"Until 2021 references were written [TABLE|NAME]. Newer releases refuse brackets "
		"and take the plain name; older ones are migrated by db_migrator when they are "
		"upgraded, files loaded by hand are not.",
	[VL_CHECK_DUPLICATE] =
		"Where ranges overlap, which of the entries holds depends on the order in which "
		"they happen to arrive. Of two tables, entries or fields of the same name, readers "
		"of JSON take the last, and drop the first with all that is in it.",
	[VL_CHECK_PORT_SPEED] =
		"Headroom, the length of pauses and all that is worked out here need the speed, in "
		"Mb/s.",
	[VL_CHECK_PORT_LANES] =
		"A lane carries 1, 10, 20, 25, 50, 100 or 200 Gb/s. A port may leave lanes of its "
		"own dark (25 Gb/s on four lanes use one), but cannot use more than it has. A lane "
		"belongs to one port.",
	[VL_CHECK_PORT_FEC] =
		"Lanes of 50 Gb/s and more are PAM4 and need Reed-Solomon (rs). Lanes of 25 Gb/s "
		"have all three, slower ones none or Fire code (fc). With another one the link "
		"stays down.",
	[VL_CHECK_PORT_MTU] = "A packet that one port lets in and the other is too small for is "
			      "dropped, again and "
			      "again: RoCE's retries do not make it smaller.",
	[VL_CHECK_CABLE_LENGTH] =
		"Headroom grows with the cable: about 10 ns a metre there and back, which at 100 "
		"Gb/s "
		"are 126 bytes. SONiC makes no lossless profile for a port whose cable it does not "
		"know, or whose cable is 0 m.",
	[VL_CHECK_LOSSLESS_CLASS] =
		"A class is lossless if its priority group has headroom (a profile with xoff) and "
		"PFC "
		"is on for a priority of that group. Without any, RoCE goes back to where a packet "
		"was lost whenever a buffer is full.",
	[VL_CHECK_QOS_MAP] =
		"PORT_QOS_MAP turns PFC on and says which maps a port has. Without an entry no "
		"pause is ever sent or obeyed, and every packet is of class 0: headroom is "
		"memory lost to others.",
	[VL_CHECK_DSCP_MAP] =
		"Without DSCP_TO_TC_MAP every packet is of class 0, whatever hosts mark.",
	[VL_CHECK_DSCP_UNMAPPED] = "Packets of a DSCP that the map does not have are of class 0.",
	[VL_CHECK_ROCE_DSCP] =
		"RoCE's data must be of a class that is lossless. Which DSCP hosts send is theirs "
		"(--roce-dscp says it here): 26 with NVIDIA's defaults for RoCE, 3 and 4 in "
		"SONiC's "
		"own templates.",
	[VL_CHECK_CLASS_MAP] = "Without a map, SAI leaves to the switch which queue, group or "
			       "priority a class has. "
			       "It is judged here as if it had the one of its number.",
	[VL_CHECK_CLASS_UNMAPPED] =
		"The map has no entry for the class, so it shares the queue or group of class 0.",
	[VL_CHECK_PFC_QUEUE] =
		"The neighbour sends a pause for the priority whose group is full. It must stop "
		"the "
		"queue that the packets of that class leave by; if it stops another, they go on "
		"and "
		"overrun the neighbour's headroom, and the other queue stands still for nothing.",
	[VL_CHECK_PFC_OFF] =
		"Headroom is reserved but no pause is sent when the group is full: its packets are "
		"dropped, and the memory is lost to others.",
	[VL_CHECK_PFC_LOSSY] =
		"A pause takes time to work: the frame under way, the cable twice, the peer's "
		"response. Without headroom, what comes in that time is dropped.",
	[VL_CHECK_PFC_DIFFERS] =
		"PFC must be on for a priority at every port on the way: RoCE that comes in by a "
		"port without it is dropped there when buffers are full. Ports that are down, and "
		"those of neither buffers nor maps that are not said to be up, do not count.",
	[VL_CHECK_SHARED_GROUP] = "Best effort in a lossless group is paused with RoCE, and pauses "
				  "it: TCP that fills "
				  "the group stops all RoCE of that port.",
	[VL_CHECK_SHARED_QUEUE] =
		"Packets of both stand in line: pauses for the lossless class stop the lossy one, "
		"and "
		"what is lossy may fill the queue until lossless packets are dropped.",
	[VL_CHECK_CNP_WITH_DATA] = "A CNP tells the sender to slow down. In the queue of the data "
				   "it waits for the very "
				   "congestion that it is to end, and pauses stop it: DCQCN then "
				   "reacts by as much later. "
				   "NVIDIA NICs mark CNPs with DSCP 48 (--cnp-dscp).",
	[VL_CHECK_CNP_BEST_EFFORT] = "CNPs are few and small but must not be lost or late. In the "
				     "default queue, any bulk "
				     "transfer delays and drops them.",
	[VL_CHECK_CNP_LOSSY] = "A lossy queue drops when others have taken the memory, and a queue "
			       "with a weight sends when its turn comes: under congestion CNPs are "
			       "lost or late just when they are needed. They are too few to starve "
			       "anybody, so that their queue can be strict.",
	[VL_CHECK_HEADROOM] =
		"After the decision to send XOFF these still arrive: a frame that the peer has "
		"just "
		"begun, what the peer sends while the PFC frame waits behind a frame of this port, "
		"twice the cable, and what the peer sends until it obeys (at most so many quanta "
		"of "
		"512 bit times as IEEE 802.3 clause 31B allows). The sum is SONiC's formula "
		"(cfgmgr/buffer_headroom_mellanox.lua) with nothing added for MAC, PHY and "
		"gearbox, "
		"and for cells only with --cell-size; so what is said to be too small is too "
		"small. "
		"The larger value under 'right' is the exact bound, for frames that are accounted "
		"whole.",
	[VL_CHECK_HEADROOM_RESERVED] =
		"A group's headroom is either part of its profile's size (size at least xoff, on "
		"Mellanox xon + xoff), or of the shared headroom of the pool (BUFFER_POOL xoff). "
		"Otherwise it exists on paper.",
	[VL_CHECK_SHARED_HEADROOM] = "Shared headroom counts on few groups being paused at once. "
				     "When it is full, lossless "
				     "packets are dropped. It must hold at least as many groups as "
				     "ports may be congested "
				     "at once (--congested).",
	[VL_CHECK_PROFILE_NAME] = "SONiC names lossless profiles by the speed and cable that they "
				  "were made for. This "
				  "one is used at a port of another.",
	[VL_CHECK_THRESHOLD] = "A profile needs dynamic_th (the logarithm of alpha: the group or "
			       "queue may hold alpha "
			       "times what is free) or static_th (bytes).",
	[VL_CHECK_XON_XOFF] =
		"XON is sent when the group has fallen to the larger of xon and (limit - "
		"xon_offset). "
		"Above the limit it is sent at once: pause and resume follow each other frame by "
		"frame, and headroom is used up.",
	[VL_CHECK_POOL_DIRECTION] =
		"Priority groups count against ingress pools, queues against egress pools.",
	[VL_CHECK_POOL_SIZE] =
		"What the profiles of all groups and queues reserve comes out of the pool. Not "
		"checked "
		"where sizes of pools are what is left beside it (Mellanox, dynamic buffer model).",
	[VL_CHECK_MEMORY] =
		"Ingress pools with their shared headroom share the packet memory (--memory).",
	[VL_CHECK_EGRESS_LIMIT] =
		"Lossless packets must be held back at ingress, never dropped at egress. When all "
		"other ports send to one, what their groups may hold, with headroom, stands in one "
		"queue; it must hold that much.",
	[VL_CHECK_ECN_OFF] =
		"Without marks there are no CNPs: only pauses slow senders, and they spread.",
	[VL_CHECK_ECN_MODE] = "WRED without ECN for a colour drops its packets, ECN-capable or "
			      "not, in a queue that "
			      "is to lose nothing.",
	[VL_CHECK_WRED_THRESHOLDS] =
		"Marking rises from the minimum to the maximum. SONiC refuses a minimum above the "
		"maximum (orchagent/qosorch.cpp).",
	[VL_CHECK_WRED_PROBABILITY] =
		"With 0, nothing is marked between the thresholds: the queue grows to the maximum, "
		"where every packet is marked at once.",
	[VL_CHECK_WRED_STEEP] =
		"With 100 %, many packets of a flow are marked at once; DCQCN's authors take 1 %, "
		"SONiC's template 5 %, NVIDIA's RoCE default 100 %.",
	[VL_CHECK_ECN_AFTER_PFC] =
		"A group sends XOFF at reserved + B * a / (1 + n * a), if n groups are full, a = "
		"2^dynamic_th, B what the pool shares. Where one sender fills one queue (a slower "
		"port, a paused one), queue and group are as long: if XOFF is below Kmin even with "
		"one of them, PFC always comes first there and ECN never marks. Where m senders "
		"fill one queue, it is m groups long: from some m on ECN comes first all the same; "
		"the numbers say from which.",
	[VL_CHECK_ECN_NEAR_PFC] = "As ecn-after-pfc, for Kmax and up to --congested ports. Dynamic "
				  "thresholds shrink as "
				  "more ports are congested, ECN's do not; the numbers say from "
				  "how many on PFC comes "
				  "first.",
	[VL_CHECK_ECN_BEYOND_QUEUE] = "The queue may not become as long as the minimum threshold.",
	[VL_CHECK_SCHEDULER_MISSING] = "Without a scheduler a queue has the switch's default, "
				       "often strict or a weight of 1.",
	[VL_CHECK_SCHEDULER_WEIGHT] =
		"A queue with weight 0 is served when no other has packets, if at all. SONiC takes "
		"weights from 1 to 100.",
	[VL_CHECK_SCHEDULER_STRICT] =
		"Strict queues are served before all others. Data in one leaves the others what it "
		"does not want, which under load is nothing: CNPs too, if they are in a lower "
		"queue.",
	[VL_CHECK_SCHEDULER_SUM] =
		"DWRR takes weights as ratios, whatever their sum; by ETS (IEEE 802.1Qaz) they are "
		"percentages that come to 100.",
	[VL_CHECK_WATCHDOG_MISSING] = "A host or switch that sends pauses without end stops the "
				      "queue at its port, then all "
				      "queues that lead there, hop by hop. The watchdog ends that.",
	[VL_CHECK_WATCHDOG_SHORT] =
		"A port is rightly paused while its peer's memory drains through one port. A "
		"watchdog "
		"that does not wait as long drops lossless packets of healthy traffic.",
	[VL_CHECK_WATCHDOG_POLL] =
		"Times below the polling interval cannot be told, and SONiC's model refuses them.",
};

static const struct vl_check_description descriptions[] = {
#define DESCRIPTION(enumerator, name, severity, what) {name, VL_CHECK_##severity, what},
	VL_CHECK_RULES(DESCRIPTION)
#undef DESCRIPTION
};

const struct vl_check_description *vl_check_describe(enum vl_check_rule rule)
{
	return &descriptions[rule];
}

const char *vl_check_explain(enum vl_check_rule rule)
{
	return explanations[rule];
}

const char *vl_check_severity_name(enum vl_check_severity severity)
{
	static const char *const names[] = {"note", "warning", "error"};

	return names[severity];
}
