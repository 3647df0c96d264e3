/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The two halves of a memif port: who listens at the path, and what goes over the link. */
#ifndef VERBLINE_PORT_MEMIF_H
#define VERBLINE_PORT_MEMIF_H

#include "dataplane/port/memif_link.h"
#include "dataplane/runtime/error.h"

#include <sys/types.h>

enum memif_role {
	MEMIF_EITHER, /* the first to come is the server */
	MEMIF_SERVER,
	MEMIF_CLIENT,
};

/* A server's socket. */
struct memif_listener {
	int socket; /* -1: none, it is a client */
	/* Of its name, which somebody else may have taken away and given to another socket. */
	dev_t device;
	ino_t inode;
};

/* Makes a server's socket at the path, or decides to be a client. 0 or a negative errno value. */
int memif_socket_open(const char *name, const char *path, enum memif_role role,
		      struct memif_listener *listener, struct vl_error *error);
/* A socket joined to the server at the path, or a negative errno value. */
int memif_socket_connect(const char *path);
/* Closes a server's socket and removes it from the path, unless another one is there. */
void memif_socket_close(const struct memif_listener *listener, const char *path);

#endif
