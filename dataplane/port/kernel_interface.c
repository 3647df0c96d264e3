/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/port/kernel_interface.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static int open_control(void)
{
	return socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

static int control(const char *name, unsigned long request, struct ifreq *argument)
{
	int file = open_control(), result;

	if (file < 0)
		return -errno;
	snprintf(argument->ifr_name, sizeof(argument->ifr_name), "%s", name);
	result = ioctl(file, request, argument) ? -errno : 0;
	close(file);
	return result;
}

static void list_interfaces(char *text, size_t size)
{
	struct if_nameindex *all = if_nameindex();
	size_t length = 0;

	snprintf(text, size, "none");
	for (struct if_nameindex *each = all; each && each->if_index && length < size; each++)
		length += (size_t)snprintf(text + length, size - length, "%s%s", length ? ", " : "",
					   each->if_name);
	if_freenameindex(all);
}

/* The older of ethtool's two questions: it has one answer of fixed size. */
static uint64_t ask_link_rate(const char *name)
{
	struct ethtool_cmd settings = {.cmd = ETHTOOL_GSET};
	struct ifreq argument = {0};
	uint32_t speed;

	argument.ifr_data = (char *)&settings;
	if (control(name, SIOCETHTOOL, &argument))
		return 0;
	speed = ethtool_cmd_speed(&settings);
	return speed == (uint32_t)SPEED_UNKNOWN ? 0 : speed * UINT64_C(1000000);
}

int vl_kernel_interface_find(const char *port, const char *name,
			     struct vl_kernel_interface *interface, struct vl_error *error)
{
	struct ifreq argument = {0};
	char others[256];

	if (!*name || strlen(name) >= sizeof(interface->name))
		return vl_error_set(error, -EINVAL,
				    "port %s: the name of an interface has 1 to %zu characters",
				    port, sizeof(interface->name) - 1);
	*interface = (struct vl_kernel_interface){.index = (int)if_nametoindex(name)};
	snprintf(interface->name, sizeof(interface->name), "%s", name);
	if (!interface->index) {
		list_interfaces(others, sizeof(others));
		return vl_error_set(
			error, -ENODEV,
			"port %s: no interface %s in this network namespace; there are: "
			"%s",
			port, name, others);
	}
	if (!control(name, SIOCGIFMTU, &argument))
		interface->mtu = (uint32_t)argument.ifr_mtu;
	if (!control(name, SIOCGIFHWADDR, &argument))
		memcpy(interface->mac, argument.ifr_hwaddr.sa_data, sizeof(interface->mac));
	if (!control(name, SIOCGIFFLAGS, &argument))
		interface->is_up = argument.ifr_flags & IFF_UP;
	interface->link_rate = ask_link_rate(name);
	return 0;
}

int vl_kernel_interface_use(const char *port, const char *name,
			    struct vl_kernel_interface *interface, struct vl_error *error)
{
	int result = vl_kernel_interface_find(port, name, interface, error), file;

	if (result)
		return result;
	if (!interface->is_up)
		return vl_error_set(error, -ENETDOWN,
				    "port %s: interface %s is down; as root: ip link set dev %s up",
				    port, name, name);
	file = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (file < 0)
		return vl_error_set(
			error, -errno,
			"port %s: no raw socket: %s; run as root, or give the program the right: "
			"setcap cap_net_raw,cap_net_admin,cap_ipc_lock+ep PROGRAM",
			port, strerror(errno));
	close(file);
	return 0;
}

enum vl_port_link vl_kernel_interface_link(int index)
{
	struct ifreq argument = {0};
	char name[IF_NAMESIZE];

	/* For want of anything but the interface itself it is not gone. */
	if (!if_indextoname((unsigned int)index, name))
		return errno == ENXIO || errno == ENODEV ? VL_PORT_LINK_GONE : VL_PORT_LINK_UP;
	if (control(name, SIOCGIFFLAGS, &argument))
		return VL_PORT_LINK_UP;
	return (argument.ifr_flags & IFF_UP) && (argument.ifr_flags & IFF_RUNNING)
		       ? VL_PORT_LINK_UP
		       : VL_PORT_LINK_DOWN;
}

int vl_kernel_interface_set_mtu(const char *name, uint32_t mtu)
{
	struct ifreq argument = {.ifr_mtu = (int)mtu};

	return control(name, SIOCSIFMTU, &argument);
}

int vl_kernel_interface_set_mac(const char *name, const uint8_t mac[6])
{
	struct ifreq argument = {0};

	argument.ifr_hwaddr.sa_family = ARPHRD_ETHER;
	memcpy(argument.ifr_hwaddr.sa_data, mac, 6);
	return control(name, SIOCSIFHWADDR, &argument);
}

int vl_kernel_interface_set_up(const char *name)
{
	struct ifreq argument = {0};
	int result = control(name, SIOCGIFFLAGS, &argument);

	if (result)
		return result;
	argument.ifr_flags |= IFF_UP;
	return control(name, SIOCSIFFLAGS, &argument);
}

/* Greater than 0, as ports keep it, or a negative errno value. */
static int hold_membership(const struct vl_kernel_interface *interface, bool is_promiscuous)
{
	struct packet_mreq wanted = {
		.mr_ifindex = interface->index,
		.mr_type = is_promiscuous ? PACKET_MR_PROMISC : PACKET_MR_ALLMULTI,
	};
	int file = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0), result;

	if (file < 0)
		return -errno;
	if (!setsockopt(file, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &wanted, sizeof(wanted))) {
		result = fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		if (result < 0)
			result = -errno;
	} else {
		result = -errno;
	}
	close(file);
	return result;
}

int vl_kernel_interface_take_all(const char *port, const struct vl_kernel_interface *interface,
				 bool is_promiscuous, struct vl_error *error)
{
	int descriptor = hold_membership(interface, is_promiscuous);

	if (descriptor < 0)
		vl_error_set(error, descriptor,
			     "port %s: %s cannot be told to pass frames for other addresses up: %s",
			     port, interface->name, strerror(-descriptor));
	return descriptor;
}

int vl_kernel_interface_fit_mtu(const char *port, const struct vl_kernel_interface *interface,
				uint16_t wanted, uint16_t otherwise, uint16_t *mtu,
				struct vl_error *error)
{
	if (wanted > interface->mtu)
		return vl_error_set(
			error, -EINVAL,
			"port %s: MTU %u, and interface %s has %u; as root: ip link set "
			"dev %s mtu %u",
			port, wanted, interface->name, interface->mtu, interface->name, wanted);
	if (!wanted)
		wanted = interface->mtu < otherwise ? (uint16_t)interface->mtu : otherwise;
	*mtu = wanted;
	return 0;
}
