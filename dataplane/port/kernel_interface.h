/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Network interfaces of the kernel, on which some kinds of ports stand. */
#ifndef VERBLINE_PORT_KERNEL_INTERFACE_H
#define VERBLINE_PORT_KERNEL_INTERFACE_H

#include "dataplane/port/port.h"
#include "dataplane/runtime/error.h"

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

struct vl_kernel_interface {
	char name[IF_NAMESIZE];
	int index;
	uint32_t mtu;
	uint8_t mac[6];
	bool is_up;
	uint64_t link_rate; /* bit/s; 0: unknown */
};

/* What the interface is like. port, for the message: whose interface it is to be. 0; -EINVAL no
 * name of an interface; -ENODEV there is none of that name. */
int vl_kernel_interface_find(const char *port, const char *name,
			     struct vl_kernel_interface *interface, struct vl_error *error);
/* The same, and it must be up, and a raw socket may be opened on it: -ENETDOWN, -EPERM, … */
int vl_kernel_interface_use(const char *port, const char *name,
			    struct vl_kernel_interface *interface, struct vl_error *error);
/* Whether frames pass on the interface of that index now, or it was taken away. */
enum vl_port_link vl_kernel_interface_link(int index);
/* 0 or a negative errno value. */
int vl_kernel_interface_set_mtu(const char *name, uint32_t mtu);
int vl_kernel_interface_set_mac(const char *name, const uint8_t mac[6]);
int vl_kernel_interface_set_up(const char *name);

/* Has the interface pass up all multicast, or all frames, for as long as the descriptor is open,
 * which is greater than 0; else a negative errno value and why in *error. */
int vl_kernel_interface_take_all(const char *port, const struct vl_kernel_interface *interface,
				 bool is_promiscuous, struct vl_error *error);

/* The MTU in force on an interface that is not to be changed: the one wanted, 0: as much up to
 * otherwise as there is; or -EINVAL, with the command that makes room in *error. */
int vl_kernel_interface_fit_mtu(const char *port, const struct vl_kernel_interface *interface,
				uint16_t wanted, uint16_t otherwise, uint16_t *mtu,
				struct vl_error *error);

#endif
