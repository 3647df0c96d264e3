/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Network namespaces for tests: two of them without names, joined by veth pairs as a test wants.
 * The kernel removes them, with all that is in them, when the last process or descriptor that holds
 * them is gone, however a test ends.
 *
 * A test's process (or the thread that calls) is moved into the first one and sees nothing of
 * the machine's network from then on; netns_enter changes sides. EAL's threads and devices live
 * where they were made, so a test may open ports on either side.
 */
#ifndef VERBLINE_TESTS_NETNS_H
#define VERBLINE_TESTS_NETNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define NETNS_SIDES 2

struct netns {
	int home;               /* descriptor of the namespace that the caller came from */
	int sides[NETNS_SIDES]; /* descriptors */
};

/* Makes the namespaces, with lo up in each and IPv6's own chatter (router solicitations,
 * duplicate address detection) off, and enters side 0. NULL, or why not: no permission, or no such
 * thing here; then the test is to be skipped (skip_test, or exit status 77). */
const char *netns_open(struct netns *netns);
/* Goes home and lets go of both. */
void netns_close(struct netns *netns);
/* False: said on standard output why. */
bool netns_enter(const struct netns *netns, unsigned int side);

/* A veth pair with an end in each side, up, with this MTU. NULL, or why not (skip). */
const char *netns_add_veth(const struct netns *netns, const char *left, const char *right,
			   unsigned int mtu);
/* A shell command in a side; its output is shown if it fails. Its exit status, or -1. */
int netns_run(const struct netns *netns, unsigned int side, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Starts a program in a side, without a shell. Its process, to be waited for; -1. */
pid_t netns_spawn(const struct netns *netns, unsigned int side, char *const argv[]);

/* A raw socket on an interface in the side entered, which sees frames of all kinds that come in
 * there. -1: said why. */
int netns_socket_open(const char *interface);
bool netns_socket_send(int socket, const void *frame, size_t length);
/* The next frame's length; 0: none within timeout_ms; cut to size. VLAN tags are put back. */
size_t netns_socket_receive(int socket, void *frame, size_t size, int timeout_ms);

#endif
