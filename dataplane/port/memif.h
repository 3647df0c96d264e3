/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The two halves of a memif port: who listens at the path, and what goes over the link. */
#ifndef VERBLINE_PORT_MEMIF_H
#define VERBLINE_PORT_MEMIF_H

#include "dataplane/port/memif_link.h"
#include "dataplane/runtime/error.h"

enum memif_role {
	MEMIF_EITHER, /* the first to come is the server */
	MEMIF_SERVER,
	MEMIF_CLIENT,
};

/* Makes a server's socket at the path, or decides to be a client. *listener: the socket; -1:
 * client. 0 or a negative errno value. */
int memif_socket_open(const char *name, const char *path, enum memif_role role, int *listener,
		      struct vl_error *error);
/* A socket joined to the server at the path, or a negative errno value. */
int memif_socket_connect(const char *path);
/* Closes a server's socket and removes it from the path. */
void memif_socket_close(int listener, const char *path);

#endif
