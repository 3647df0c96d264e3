/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The addresses of a capture, from its flows. */
#ifndef VERBLINE_INSPECT_HOSTS_H
#define VERBLINE_INSPECT_HOSTS_H

#include "apps/inspect/flow.h"

struct inspect_host {
	union ibv_gid address;
	uint32_t encapsulation;
	uint8_t mac[6]; /* zero if not known */
	bool vlan_present;
	uint16_t vlan_id;
	uint32_t qps; /* that packets went to */
	uint32_t first_flow;
	uint64_t packets_sent, bytes_sent;
	uint64_t packets_received, bytes_received;
};

struct inspect_hosts {
	struct inspect_host *list; /* in order of appearance */
	uint32_t count;
};

/* 0 or -ENOMEM. */
int inspect_hosts_collect(struct inspect_hosts *hosts, const struct inspect_flow_table *flows);
void inspect_hosts_free(struct inspect_hosts *hosts);

#endif
