/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "tests/support/netns.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define OWN_NAMESPACE "/proc/thread-self/ns/net"
#define COMMAND_ROOM  1024
#define VLAN_LENGTH   4
#define MACS_LENGTH   12

static void set_to(const char *path, const char *value)
{
	int file = open(path, O_WRONLY | O_CLOEXEC);

	if (file < 0)
		return;
	if (write(file, value, strlen(value)) < 0)
		printf("    %s: %s\n", path, strerror(errno));
	close(file);
}

/* The caller is in it. The paths of /proc/sys/net are those of the caller's namespace. */
static void prepare(void)
{
	set_to("/proc/sys/net/ipv6/conf/default/router_solicitations", "0");
	set_to("/proc/sys/net/ipv6/conf/default/accept_dad", "0");
	set_to("/proc/sys/net/ipv6/conf/default/addr_gen_mode", "1");
}

const char *netns_open(struct netns *netns)
{
	static char reason[128];

	netns->home = open(OWN_NAMESPACE, O_RDONLY | O_CLOEXEC);
	netns->sides[0] = netns->sides[1] = -1;
	if (netns->home < 0)
		return "this kernel has no network namespaces";
	for (unsigned int side = NETNS_SIDES; side-- > 0;) {
		if (unshare(CLONE_NEWNET)) {
			snprintf(reason, sizeof(reason), "no network namespace of its own: %s%s",
				 strerror(errno), errno == EPERM ? " (run as root)" : "");
			netns_close(netns);
			return reason;
		}
		prepare();
		netns->sides[side] = open(OWN_NAMESPACE, O_RDONLY | O_CLOEXEC);
		if (netns->sides[side] < 0 || netns_run(netns, side, "ip link set lo up")) {
			netns_close(netns);
			return "the command ip (iproute2) is missing, or does not work";
		}
	}
	return NULL;
}

void netns_close(struct netns *netns)
{
	if (setns(netns->home, CLONE_NEWNET))
		printf("    cannot go back home: %s\n", strerror(errno));
	for (unsigned int side = 0; side < NETNS_SIDES; side++) {
		if (netns->sides[side] >= 0)
			close(netns->sides[side]);
	}
	close(netns->home);
}

bool netns_enter(const struct netns *netns, unsigned int side)
{
	if (!setns(netns->sides[side], CLONE_NEWNET))
		return true;
	printf("    cannot enter side %u: %s\n", side, strerror(errno));
	return false;
}

const char *netns_add_veth(const struct netns *netns, const char *left, const char *right,
			   unsigned int mtu)
{
	if (netns_run(netns, 0,
		      "ip link add %s mtu %u type veth peer name %s mtu %u netns /proc/%d/fd/%d",
		      left, mtu, right, mtu, getpid(), netns->sides[1]) ||
	    netns_run(netns, 0, "ip link set %s up", left) ||
	    netns_run(netns, 1, "ip link set %s up", right))
		return "this kernel makes no veth pairs";
	return NULL;
}

pid_t netns_spawn(const struct netns *netns, unsigned int side, char *const argv[])
{
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child)
		return child;
	if (setns(netns->sides[side], CLONE_NEWNET) == 0)
		execvp(argv[0], argv);
	fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

int netns_run(const struct netns *netns, unsigned int side, const char *format, ...)
{
	char command[COMMAND_ROOM];
	char *argv[] = {(char *)"sh", (char *)"-c", command, NULL};
	va_list values;
	pid_t child;
	int status;

	va_start(values, format);
	vsnprintf(command, sizeof(command), format, values);
	va_end(values);
	child = netns_spawn(netns, side, argv);
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
		return -1;
	if (WEXITSTATUS(status))
		printf("    '%s' exits with %d\n", command, WEXITSTATUS(status));
	return WEXITSTATUS(status);
}

int netns_socket_open(const char *interface)
{
	struct sockaddr_ll address = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = (int)if_nametoindex(interface),
	};
	int file, yes = 1, room = 16 << 20;

	if (!address.sll_ifindex) {
		printf("    no interface %s\n", interface);
		return -1;
	}
	file = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (file < 0 || setsockopt(file, SOL_PACKET, PACKET_AUXDATA, &yes, sizeof(yes)) ||
	    setsockopt(file, SOL_PACKET, PACKET_IGNORE_OUTGOING, &yes, sizeof(yes)) ||
	    bind(file, (const struct sockaddr *)&address, sizeof(address))) {
		printf("    no raw socket on %s: %s\n", interface, strerror(errno));
		if (file >= 0)
			close(file);
		return -1;
	}
	setsockopt(file, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	return file;
}

bool netns_socket_send(int socket, const void *frame, size_t length)
{
	return send(socket, frame, length, 0) == (ssize_t)length;
}

/* The kernel takes a tag out of the frame and tells it beside. */
static size_t put_tag_back(struct msghdr *message, uint8_t *frame, size_t length, size_t size)
{
	for (struct cmsghdr *control = CMSG_FIRSTHDR(message); control;
	     control = CMSG_NXTHDR(message, control)) {
		const struct tpacket_auxdata *data = (const void *)CMSG_DATA(control);
		uint16_t tag[2];

		if (control->cmsg_level != SOL_PACKET || control->cmsg_type != PACKET_AUXDATA ||
		    !(data->tp_status & TP_STATUS_VLAN_VALID) || length + VLAN_LENGTH > size)
			continue;
		tag[0] = htons(data->tp_status & TP_STATUS_VLAN_TPID_VALID ? data->tp_vlan_tpid
									   : ETH_P_8021Q);
		tag[1] = htons(data->tp_vlan_tci);
		memmove(frame + MACS_LENGTH + VLAN_LENGTH, frame + MACS_LENGTH,
			length - MACS_LENGTH);
		memcpy(frame + MACS_LENGTH, tag, VLAN_LENGTH);
		return length + VLAN_LENGTH;
	}
	return length;
}

size_t netns_socket_receive(int socket, void *frame, size_t size, int timeout_ms)
{
	union {
		struct cmsghdr header; /* aligns the room */
		char room[CMSG_SPACE(sizeof(struct tpacket_auxdata))];
	} control;
	struct iovec data = {.iov_base = frame, .iov_len = size};
	struct msghdr message = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct pollfd event = {.fd = socket, .events = POLLIN};
	ssize_t length;

	if (poll(&event, 1, timeout_ms) != 1)
		return 0;
	length = recvmsg(socket, &message, 0);
	return length > 0 ? put_tag_back(&message, frame, (size_t)length, size) : 0;
}
