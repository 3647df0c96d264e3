/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The kinds of ports that a name can ask for, and what they share. */
#ifndef VERBLINE_PORT_KIND_H
#define VERBLINE_PORT_KIND_H

#include "dataplane/port/ethdev.h"
#include "dataplane/port/port.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VL_PORT_DETAIL_LENGTH 256

struct vl_port_kind {
	const char *prefix; /* with the colon, unless the name is the kind alone */
	const char *help;   /* whole lines */
	/*
	 * name: the whole, for messages; detail: what stands behind the prefix, options included.
	 * config NULL: only the form of the name is looked at, and nothing touched; then the result
	 * is NULL too, and *code tells: 0, or -EINVAL with *error filled.
	 */
	struct vl_port *(*open)(const char *name, const char *detail,
				const struct vl_port_config *config, int *code,
				struct vl_error *error);
};

extern const struct vl_port_kind vl_port_kind_pci, vl_port_kind_tap, vl_port_kind_af_packet,
	vl_port_kind_af_xdp, vl_port_kind_memif, vl_port_kind_pcap, vl_port_kind_ring,
	vl_port_kind_null, vl_port_kind_vdev;

/* An option of a name: ",NAME" or ",NAME=VALUE". */
struct vl_port_option {
	const char *name;
	bool *flag;       /* set by ",NAME"; or */
	uint32_t *number; /* set by ",NAME=1234", least to most */
	uint32_t least, most;
};

/*
 * Parts detail at its first comma (behind the first comma_count commas that belong to it) into what
 * stands before, which is copied, and options, which are read. option_count may be 0. 0 or -EINVAL.
 */
int vl_port_name_read(const char *name, const char *detail, unsigned int comma_count,
		      char copy[VL_PORT_DETAIL_LENGTH], const struct vl_port_option *options,
		      unsigned int option_count, struct vl_error *error);

/* A number for the name of a virtual device, not given before in this process. */
unsigned int vl_port_next_number(void);
/* The MTU asked for, or the default. */
uint16_t vl_port_wanted_mtu(const struct vl_port_config *config);
/* Queues asked for, at least 1. */
uint16_t vl_port_wanted_queues(const struct vl_port_config *config);
/* The longest frame of an MTU, tagged. */
#define VL_PORT_FRAME_LENGTH(mtu) ((uint32_t)(mtu) + 14 + 4)

#endif
