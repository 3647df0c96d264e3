/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Queue pairs of traffic: what both ends need to know of each other, and the way from nothing to
 * RTS. How the descriptions get to the other end is not known here.
 */
#ifndef VERBLINE_GENERATE_QUEUE_PAIR_H
#define VERBLINE_GENERATE_QUEUE_PAIR_H

#include "transport/verbline.h"

#include <stdbool.h>
#include <stdint.h>

/* The Q_Key of UD queue pairs that are set up here. */
#define VL_TRAFFIC_QKEY 0x11111111u
/* Its GRH, before a UD message in the receiver's memory; IBTA 11.4.1.2. */
#define VL_TRAFFIC_GRH_AREA 40u

/* What a peer must be told of a queue pair. */
struct vl_queue_pair_address {
	union ibv_gid gid;
	uint16_t lid; /* InfiniBand; 0: none */
	uint32_t qpn;
	uint32_t psn;  /* the first that it sends */
	uint32_t qkey; /* UD */
	/* Memory that requests go to: 0 length: none. */
	uint64_t address, length;
	uint32_t rkey;
};

/* What both ends have alike. */
struct vl_queue_pair_config {
	enum ibv_qp_type transport; /* RC, UC, UD */
	enum ibv_mtu path_mtu;
	uint8_t sgid_index;
	uint8_t traffic_class;      /* DSCP << 2 | ECN codepoint */
	uint8_t priority;           /* service level: 0..7, and PCP where there is a VLAN tag; 0..15
				       on InfiniBand */
	bool without_grh;           /* InfiniBand: local packets, without a GRH */
	uint8_t hop_limit;          /* 0: 64 */
	uint8_t timeout;            /* local ACK timeout, 4.096 us * 2^timeout; 0: none */
	uint8_t retry_count;        /* 0..7 */
	uint8_t rnr_retry;          /* 0..7, 7: without end */
	uint8_t min_rnr_timer;      /* 0..31, IBTA table 45 */
	uint8_t max_rd_atomic;      /* of its own, outstanding; 0: what the device has */
	uint8_t max_dest_rd_atomic; /* of the peer; 0: what the device has */
	uint16_t udp_source_port;   /* 0: by the QPNs */
	const struct vl_cc_parameters *cc; /* must outlive the queue pair; NULL: the device's */
};

struct vl_queue_pair_room {
	struct vl_pd *pd;
	struct vl_cq *send_cq, *recv_cq;
	uint32_t send_depth, receive_depth;
	uint32_t qpn; /* 0: the device chooses */
	void *context;
};

/* Fills in the GID and the LID of a device. */
void vl_queue_pair_local_address(const struct vl_device *device, uint8_t sgid_index,
				 struct vl_queue_pair_address *address);
/* Creates a queue pair and takes it to INIT. NULL with what the verbs returned. */
struct vl_qp *vl_queue_pair_create(const struct vl_queue_pair_config *config,
				   const struct vl_queue_pair_room *room, uint64_t now, int *error);
/* Takes it to RTS. psn: the first that it sends. *ah: of UD, to be destroyed by the caller; else
 * untouched. -EAGAIN: the peer's MAC is being asked for, call again; else what the verbs returned.
 */
int vl_queue_pair_connect(struct vl_qp *qp, struct vl_pd *pd, struct vl_device *device,
			  const struct vl_queue_pair_config *config, uint32_t psn,
			  const struct vl_queue_pair_address *peer, struct ibv_ah **ah,
			  uint64_t now);

#endif
