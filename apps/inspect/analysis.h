/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * What is known about one capture, packet by packet: each is accounted for (RDMA, foreign or
 * damaged), its ICRC checked, its flow's state advanced. Memory is bounded, whatever the file.
 */
#ifndef VERBLINE_INSPECT_ANALYSIS_H
#define VERBLINE_INSPECT_ANALYSIS_H

#include "apps/inspect/event.h"
#include "apps/inspect/exchange.h"
#include "apps/inspect/flow.h"
#include "apps/inspect/history.h"
#include "apps/inspect/link.h"
#include "dataplane/capture/reader.h"
#include "transport/wire/parse.h"

#include <stdbool.h>
#include <stdint.h>

/* Packet numbers kept of those that share a reason. */
#define INSPECT_EXAMPLES 16

/* Why a packet is not plain RDMA: a result of the parser, or behind these a kind of frame. */
#define INSPECT_REASON_COUNT (VL_PARSE_RESULT_COUNT + VL_CAPTURE_FRAME_KIND_COUNT)

enum inspect_class {
	INSPECT_RDMA,    /* has a BTH */
	INSPECT_FOREIGN, /* another protocol */
	INSPECT_DAMAGED, /* impossible or cut headers */
};

struct inspect_reason {
	uint64_t count;
	uint64_t examples[INSPECT_EXAMPLES]; /* numbers of the first packets */
};

struct inspect_analysis {
	/* Set by the owner: packets with a wrong ICRC are named, and followed all the same. */
	bool ignores_icrc;
	uint64_t packets, bytes; /* delivered by the reader; as captured */
	uint64_t original_bytes;
	uint64_t classes[3]; /* packets by enum inspect_class */
	uint64_t first_time, last_time;
	bool time_backward; /* somewhere */
	struct inspect_reason reasons[INSPECT_REASON_COUNT];
	uint64_t opcodes[256];
	uint64_t encapsulations[VL_ENCAPSULATION_IB_GLOBAL + 1];
	uint64_t icrc_right, icrc_wrong, icrc_unchecked; /* of RDMA packets */
	uint64_t vcrc_right, vcrc_wrong;
	struct inspect_link link;
	uint64_t pfc_frames;
	uint32_t pfc_priorities;          /* bit n: priority n was paused */
	uint32_t udp_source_ports[65536]; /* data packets by port, saturating */

	struct inspect_flow_table flows;
	struct inspect_history history;
	struct inspect_event *events; /* in the order of the file */
	uint32_t event_count, event_capacity;
	uint64_t event_counts[INSPECT_EVENT_KIND_COUNT];

	struct inspect_exchanges exchanges;
	bool out_of_memory;
	bool is_lean;
};

/* NULL without memory. */
struct inspect_analysis *inspect_analysis_new(void);
/* For who looks on while packets go by: takes the memory of so many flows now, and none later.
 * Events and exchanges are counted, and not kept. NULL without memory. */
struct inspect_analysis *inspect_analysis_new_lean(uint32_t flows);
void inspect_analysis_free(struct inspect_analysis *analysis);
void inspect_analysis_add(struct inspect_analysis *analysis,
			  const struct vl_capture_packet *packet);
/* After the last packet: settles what only the end can tell, and sorts the events. */
void inspect_analysis_finish(struct inspect_analysis *analysis);
const char *inspect_reason_name(unsigned int reason);
const char *inspect_reason_meaning(unsigned int reason);
enum inspect_class inspect_reason_class(unsigned int reason);
const char *inspect_event_name(enum inspect_event_kind kind);

/* For the parts of the analysis: a packet that belongs to a flow. */
struct inspect_arrival {
	const struct vl_packet *packet;
	uint64_t number, time;
};

/* Counts the event and keeps it if there is room: its index, or INSPECT_NO_EVENT. */
uint32_t inspect_event_keep(struct inspect_analysis *analysis, const struct inspect_event *event);
struct inspect_event inspect_event_make(enum inspect_event_kind kind,
					const struct inspect_flow *flow,
					const struct inspect_arrival *arrival);
/* Both in one; NULL if there was no room. */
struct inspect_event *inspect_event_add(struct inspect_analysis *analysis,
					enum inspect_event_kind kind,
					const struct inspect_flow *flow,
					const struct inspect_arrival *arrival);
void inspect_request(struct inspect_analysis *analysis, struct inspect_flow *flow,
		     const struct inspect_arrival *arrival);
/* Requests ahead of the expected PSN: what lies between is missing. */
void inspect_gap(struct inspect_analysis *analysis, struct inspect_flow *flow,
		 const struct inspect_arrival *arrival, uint32_t count);
/* A request behind the expected PSN. True if it had not been seen before. */
bool inspect_again(struct inspect_analysis *analysis, struct inspect_flow *flow,
		   const struct inspect_arrival *arrival);
/* A new request, or the end of the capture, ends what was sent again. */
void inspect_run_end(struct inspect_analysis *analysis, struct inspect_flow *flow, bool by_request);
/* PSNs that a request takes; *certain is false for a READ of unknown path MTU. */
uint32_t inspect_psns_of(const struct inspect_flow *flow, const struct vl_packet *packet,
			 bool *certain);
void inspect_response(struct inspect_analysis *analysis, struct inspect_flow *flow,
		      const struct inspect_arrival *arrival);
/* Forgets the state of a flow whose QP starts anew. */
void inspect_requests_restart(struct inspect_requests *requests);
/* The same, of a QP of which it is known with which PSN it will start. */
void inspect_requests_expect(struct inspect_requests *requests, uint32_t psn);
/* The flow that carries the requests which a response in flow answers; NULL if not known (yet). */
struct inspect_flow *inspect_find_requester(struct inspect_analysis *analysis,
					    struct inspect_flow *flow, uint32_t psn);
void inspect_pair_flows(struct inspect_flow *one, struct inspect_flow *other,
			enum inspect_pairing pairing);
/* Pairs what is left where nothing else can be meant. */
void inspect_pair_rest(struct inspect_analysis *analysis);
/* Both halves have one path MTU. */
void inspect_learn_path_mtu(struct inspect_flow *flow, uint32_t path_mtu);
/* A datagram to QP 1. */
void inspect_exchange(struct inspect_analysis *analysis, struct inspect_flow *flow,
		      const struct inspect_arrival *arrival);

#endif
