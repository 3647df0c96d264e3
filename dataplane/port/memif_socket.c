/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/port/kind.h"
#include "dataplane/port/memif.h"

#include <errno.h>
#include <libgen.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* A server answers at once, if its program is not stopped. */
#define GREETING_MS 1000
#define ATTEMPTS    3
#define BACKLOG     8

static void write_address(struct sockaddr_un *address, const char *path)
{
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(address->sun_path, sizeof(address->sun_path), "%.*s",
		 (int)sizeof(address->sun_path) - 1, path);
}

int memif_socket_connect(const char *path)
{
	struct sockaddr_un address;
	int file = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), code;

	if (file < 0)
		return -errno;
	write_address(&address, path);
	if (!connect(file, (const struct sockaddr *)&address, sizeof(address)))
		return file;
	code = -errno;
	close(file);
	return code;
}

/* 0: a server listens there; else why not. Its greeting is waited for: DPDK's server cannot bear
 * one who leaves before it. */
static int try_server(const char *path)
{
	struct pollfd greeting = {.fd = memif_socket_connect(path), .events = POLLIN};

	if (greeting.fd < 0)
		return greeting.fd;
	poll(&greeting, 1, GREETING_MS);
	close(greeting.fd);
	return 0;
}

/* The socket gets its name only when it listens, so that nobody takes it for one left behind. */
static int listen_at(const char *path, struct memif_listener *listener)
{
	struct sockaddr_un address;
	struct stat status;
	char temporary[VL_PORT_DETAIL_LENGTH + 16];
	int file = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), code = 0;

	if (file < 0)
		return -errno;
	snprintf(temporary, sizeof(temporary), "%.*s.%d", (int)sizeof(address.sun_path) - 12, path,
		 getpid());
	write_address(&address, temporary);
	unlink(temporary);
	if (bind(file, (const struct sockaddr *)&address, sizeof(address)) ||
	    listen(file, BACKLOG) || stat(temporary, &status) || link(temporary, path))
		code = -errno;
	unlink(temporary);
	if (code)
		close(file);
	else
		*listener = (struct memif_listener){file, status.st_dev, status.st_ino};
	return code;
}

/* Whose it is may change between the look and the deed; nothing in the kernel does both at once. */
static void unlink_own(const char *path, dev_t device, ino_t inode)
{
	struct stat status;

	if (!stat(path, &status) && status.st_dev == device && status.st_ino == inode)
		unlink(path);
}

void memif_socket_close(const struct memif_listener *listener, const char *path)
{
	if (listener->socket < 0)
		return;
	unlink_own(path, listener->device, listener->inode);
	close(listener->socket);
}

static int no_server(const char *name, const char *path, int code, struct vl_error *error)
{
	switch (code) {
	case -EEXIST:
		return vl_error_set(error, -EADDRINUSE,
				    "port %s: another server listens at %s; be its client: "
				    "memif:%s,client",
				    name, path, path);
	case -EPROTOTYPE:
	case -ENOTSOCK:
		return vl_error_set(error, -EEXIST, "port %s: %s exists and is no socket of memif",
				    name, path);
	default:
		return vl_error_set(error, code, "port %s: no socket can be made at %s: %s", name,
				    path, strerror(-code));
	}
}

int memif_socket_open(const char *name, const char *path, enum memif_role role,
		      struct memif_listener *listener, struct vl_error *error)
{
	int code = -EEXIST;

	listener->socket = -1;
	if (role == MEMIF_CLIENT)
		return 0;
	for (unsigned int i = 0; i < ATTEMPTS && code == -EEXIST; i++) {
		struct stat found = {0};
		int server;

		code = listen_at(path, listener);
		if (code != -EEXIST)
			break;
		if (!stat(path, &found) && !S_ISSOCK(found.st_mode))
			return no_server(name, path, -ENOTSOCK, error);
		server = try_server(path);
		if (!server && role == MEMIF_EITHER)
			return 0;
		if (!server)
			break;
		if (server == -EACCES || server == -EPERM)
			return vl_error_set(error, server,
					    "port %s: %s may not be used: it belongs to another "
					    "user; run both programs as the same one",
					    name, path);
		if (server == -ECONNREFUSED)
			/* Left behind by a server that is gone. */
			unlink_own(path, found.st_dev, found.st_ino);
		else if (server != -ENOENT)
			return no_server(name, path, server, error);
	}
	return code ? no_server(name, path, code, error) : 0;
}
