/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Hosts with addresses that follow from their numbers: number n has MAC 02:00:00:00:hi:lo and IPv4
 * address 10.0.hi.lo. And queue pairs that are joined without a connection manager.
 */
#ifndef VERBLINE_TESTS_HOSTS_H
#define VERBLINE_TESTS_HOSTS_H

#include "dataplane/endpoint.h"
#include "transport/verbline.h"

#include <stdbool.h>
#include <stdint.h>

#define HOST_DATA_PRIORITY 3u
#define HOST_DATA_CLASS    (26u << 2 | VL_ECN_ECT0)

union ibv_gid host_gid(uint16_t number);
/* Everything that a host needs; the caller may change what it likes. rate 0: 100 Gb/s. */
struct vl_endpoint_config host_config(uint16_t number, uint64_t rate);

struct host_path {
	uint16_t remote_host;
	uint32_t remote_qpn;
	uint32_t send_psn, receive_psn;
	enum ibv_mtu mtu; /* 0: IBV_MTU_4096 */
	uint8_t timeout;  /* local ACK timeout, 0: none */
	uint8_t retry_count, rnr_retry;
	uint8_t rd_atomic; /* both ways */
	uint8_t min_rnr_timer;
	unsigned int access; /* qp_access_flags */
};

/* RESET to RTS for RC and UC. 0, or the negative errno value of the step that failed. */
int host_connect(struct vl_qp *qp, enum ibv_qp_type type, const struct host_path *path,
		 uint64_t now);

#endif
