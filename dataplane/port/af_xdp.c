/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * af_xdp:INTERFACE: queues of a kernel's interface by XDP sockets. Frames are received into pages
 * that kernel and program share, so that a buffer with its frame is to fit in a page: the port has
 * a mempool of its own for them, and an MTU below a page.
 */
#include "dataplane/port/kernel_interface.h"
#include "dataplane/port/kind.h"
#include "dataplane/runtime/mempool.h"

#include <rte_common.h>
#include <rte_mempool.h>

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* The kernel keeps so much of a page before a frame, and so much after, for its own buffer. */
#define XDP_HEADROOM 256
#define XDP_TAILROOM 320
/* For each queue: DPDK's fill ring, its receive and transmit rings, and as many on their way. */
#define BUFFERS   8192u
#define MAX_QUEUE 1023

static struct vl_port *open_af_xdp(const char *name, const char *detail,
				   const struct vl_port_config *config, int *code,
				   struct vl_error *error)
{
	uint32_t first_queue = 0, most = (uint32_t)getpagesize() - XDP_HEADROOM - XDP_TAILROOM;
	bool copies = false;
	const struct vl_port_option options[] = {
		{.name = "queue", .number = &first_queue, .most = MAX_QUEUE},
		{.name = "copy", .flag = &copies},
	};
	struct vl_ethdev_plan plan = {
		.name = name,
		.sees_all = true,
		.chatters = true,
		.spreads_flows = true,
	};
	struct vl_kernel_interface interface;
	char word[VL_PORT_DETAIL_LENGTH], mempool_name[16];
	unsigned int number;

	*code = vl_port_name_read(name, detail, 0, word, options, RTE_DIM(options), error);
	if (*code || !config)
		return NULL;
	*code = vl_kernel_interface_use(name, word, &interface, error);
	if (*code)
		return NULL;
	most = RTE_MIN(most, vl_mempool_page_room() - XDP_HEADROOM) - VL_PORT_FRAME_LENGTH(0);
	if (config->mtu > most || (!config->mtu && interface.mtu > most)) {
		*code = vl_error_set(
			error, -EINVAL,
			"port %s: XDP takes frames of MTU %u at most, and interface %s has %u; as "
			"root: ip link set dev %s mtu %u; or use af_packet:%s",
			name, most, word, interface.mtu, word, most, word);
		return NULL;
	}
	*code = vl_kernel_interface_fit_mtu(name, &interface, config->mtu, (uint16_t)most,
					    &plan.mtu, error);
	if (*code)
		return NULL;
	plan.held_descriptor = vl_kernel_interface_take_all(
		name, &interface, vl_ethdev_wants_other_mac(config, interface.mac), error);
	if (plan.held_descriptor < 0) {
		*code = plan.held_descriptor;
		return NULL;
	}
	number = vl_port_next_number();
	snprintf(mempool_name, sizeof(mempool_name), "xdp%u", number);
	plan.own_mempool = vl_mempool_create_page(mempool_name, BUFFERS, error);
	if (!plan.own_mempool) {
		close(plan.held_descriptor);
		return NULL;
	}
	plan.max_mtu = (uint16_t)most;
	plan.interface = interface.index;
	plan.link_rate = interface.link_rate;
	plan.rate_is_known = true;
	snprintf(plan.devargs, sizeof(plan.devargs),
		 "net_af_xdp%u,iface=%s,start_queue=%u,queue_count=%u%s", number, word, first_queue,
		 vl_port_wanted_queues(config), copies ? ",force_copy=1" : "");
	/* libbpf and libxdp say what they miss and do without. */
	return vl_ethdev_open(&plan, config, error);
}

const struct vl_port_kind vl_port_kind_af_xdp = {
	.prefix = "af_xdp:",
	.help = "  af_xdp:IF[,queue=N][,copy]   an interface of the kernel, by XDP sockets from "
		"its queue N\n"
		"                               (0); needs root. MTU at most about 3400: path MTU "
		"2048\n",
	.open = open_af_xdp,
};
