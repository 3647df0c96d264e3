/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * af_packet:INTERFACE: an interface of the kernel by its packet sockets. The kernel goes on using
 * the interface beside; each frame is copied once each way.
 */
#include "dataplane/port/kernel_interface.h"
#include "dataplane/port/kind.h"

#include <rte_common.h>
#include <rte_mbuf.h>

#include <linux/if_packet.h>
#include <stdio.h>
#include <unistd.h>

#define DEFAULT_FRAMES 1024u
#define MAX_FRAMES     65536u
/* The kernel puts the MAC header of a received frame here in its slot: the slot's own header and
 * the sender's address, 16 bytes for the longest link header, rounded up, less Ethernet's 14. */
#define RX_OFFSET (TPACKET_ALIGN(TPACKET2_HDRLEN + 16) - 14)

/* The slots of a ring lie in blocks of whole pages, none across two blocks, and DPDK wants them
 * without gaps: so many slots to a block as make whole pages. */
static uint32_t slots_in_block(uint32_t slot_size)
{
	uint32_t page = (uint32_t)getpagesize(), slots = 1;

	while ((slots * slot_size) % page)
		slots *= 2;
	return slots;
}

static void write_devargs(struct vl_ethdev_plan *plan, const char *interface, uint16_t queues,
			  uint32_t frames)
{
	uint32_t slot_size = TPACKET_ALIGN(RX_OFFSET + 14 + plan->mtu);
	uint32_t slots = slots_in_block(slot_size);

	snprintf(plan->devargs, sizeof(plan->devargs),
		 "net_af_packet%u,iface=%s,qpairs=%u,framesz=%u,blocksz=%u,framecnt=%u",
		 vl_port_next_number(), interface, queues, slot_size, slots * slot_size,
		 (uint32_t)RTE_ALIGN_MUL_CEIL(frames, slots));
}

static struct vl_port *open_af_packet(const char *name, const char *detail,
				      const struct vl_port_config *config, int *code,
				      struct vl_error *error)
{
	uint32_t frames = DEFAULT_FRAMES;
	const struct vl_port_option options[] = {
		{.name = "frames", .number = &frames, .least = 64, .most = MAX_FRAMES},
	};
	struct vl_ethdev_plan plan = {
		.name = name,
		.sees_all = true,
		.spreads_flows = true,
	};
	struct vl_kernel_interface interface;
	char word[VL_PORT_DETAIL_LENGTH];

	*code = vl_port_name_read(name, detail, 0, word, options, RTE_DIM(options), error);
	if (*code || !config)
		return NULL;
	*code = vl_kernel_interface_use(name, word, &interface, error);
	if (!*code)
		*code = vl_kernel_interface_fit_mtu(name, &interface, config->mtu,
						    VL_PORT_DEFAULT_MTU, &plan.mtu, error);
	if (*code)
		return NULL;
	plan.held_descriptor = vl_kernel_interface_take_all(
		name, &interface, vl_ethdev_wants_other_mac(config, interface.mac), error);
	if (plan.held_descriptor < 0) {
		*code = plan.held_descriptor;
		return NULL;
	}
	plan.interface = interface.index;
	plan.link_rate = interface.link_rate;
	plan.rate_is_known = true;
	plan.max_mtu = (uint16_t)RTE_MIN(interface.mtu, (uint32_t)VL_PORT_MAX_MTU);
	write_devargs(&plan, interface.name, vl_port_wanted_queues(config), frames);
	return vl_ethdev_open(&plan, config, error);
}

const struct vl_port_kind vl_port_kind_af_packet = {
	.prefix = "af_packet:",
	.help = "  af_packet:IF[,frames=N]      an interface of the kernel, by packet sockets; "
		"needs root, or\n"
		"                               CAP_NET_RAW. The kernel uses it too: give verbline "
		"an IP\n"
		"                               address that the kernel does not have\n",
	.open = open_af_packet,
};
