/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * memif:PATH: memory shared with another process, which may be another verbline, testpmd, VPP or
 * any program that speaks memif. One of the two is the server, and makes the socket at PATH; the
 * client comes to it.
 */
#include "dataplane/port/kind.h"

#include <rte_common.h>

#include <errno.h>
#include <libgen.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define MAX_ID    UINT16_MAX
#define LOG2_RING 10
/* A server answers at once, if its program is not stopped. */
#define GREETING_MS 1000
#define REFUSAL_MS  50
#define JOIN_MS     200

enum role {
	ROLE_SERVER,
	ROLE_CLIENT,
};

/* 0: a server listens there; else why not. Its greeting is waited for: DPDK's server cannot bear
 * one who leaves before it. */
static int try_socket(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct pollfd greeting;
	int file = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), result = 0;

	if (file < 0)
		return -errno;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (connect(file, (const struct sockaddr *)&address, sizeof(address)))
		result = -errno;
	greeting = (struct pollfd){.fd = file, .events = POLLIN};
	if (!result)
		poll(&greeting, 1, GREETING_MS);
	close(file);
	return result;
}

/* The same, of a socket that is there: for a moment one that is being made refuses too. */
static int try_existing(const char *path)
{
	int result = try_socket(path);

	for (unsigned int i = 0; i < REFUSAL_MS && result == -ECONNREFUSED; i++) {
		usleep(1000);
		result = try_socket(path);
	}
	return result;
}

/* Makes room at the path for a socket. */
static int prepare_server(const char *name, const char *path, struct vl_error *error)
{
	char directory[VL_PORT_DETAIL_LENGTH];
	struct stat found;

	snprintf(directory, sizeof(directory), "%s", path);
	if (access(dirname(directory), W_OK))
		return vl_error_set(error, -errno, "port %s: no socket can be made in %s: %s", name,
				    directory, strerror(errno));
	if (stat(path, &found))
		return 0;
	if (!S_ISSOCK(found.st_mode))
		return vl_error_set(error, -EEXIST, "port %s: %s exists and is no socket", name,
				    path);
	switch (try_existing(path)) {
	case 0:
		return vl_error_set(error, -EADDRINUSE,
				    "port %s: another server listens at %s; be its client: "
				    "memif:%s,client",
				    name, path, path);
	case -ECONNREFUSED: /* left behind by a server that is gone */
		unlink(path);
		return 0;
	default:
		return vl_error_set(error, -EEXIST, "port %s: %s is no socket of memif", name,
				    path);
	}
}

static int choose_role(const char *name, const char *path, bool wants_server, bool wants_client,
		       enum role *role, struct vl_error *error)
{
	int result;

	if (wants_server && wants_client)
		return vl_error_set(error, -EINVAL, "port %s: either server or client", name);
	*role = ROLE_CLIENT;
	/* A client waits for its server, if that is not there yet. */
	if (wants_client)
		return 0;
	if (!wants_server) {
		result = try_existing(path);
		if (!result)
			return 0;
		if (result == -EACCES || result == -EPERM)
			return vl_error_set(error, result,
					    "port %s: %s may not be used: it belongs to another "
					    "user; run both programs as the same one",
					    name, path);
	}
	*role = ROLE_SERVER;
	return prepare_server(name, path, error);
}

static void write_devargs(struct vl_ethdev_plan *plan, const char *path, enum role role,
			  uint32_t id)
{
	/* A frame that is longer takes several buffers. */
	uint32_t buffer = RTE_ALIGN_CEIL(VL_PORT_FRAME_LENGTH(plan->mtu), RTE_CACHE_LINE_SIZE);

	snprintf(plan->devargs, sizeof(plan->devargs),
		 "net_memif%u,socket=%s,socket-abstract=no,role=%s,id=%u,bsize=%u,rsize=%d",
		 vl_port_next_number(), path, role == ROLE_SERVER ? "server" : "client", id, buffer,
		 LOG2_RING);
}

/* A server that has just begun refuses the first attempts. */
static void join(struct vl_port *port)
{
	for (unsigned int i = 0; i < JOIN_MS && !vl_port_is_up(port); i++)
		usleep(1000);
}

static struct vl_port *open_memif(const char *name, const char *detail,
				  const struct vl_port_config *config, int *code,
				  struct vl_error *error)
{
	uint32_t id = 0;
	bool is_server = false, is_client = false;
	const struct vl_port_option options[] = {
		{.name = "server", .flag = &is_server},
		{.name = "client", .flag = &is_client},
		{.name = "id", .number = &id, .most = MAX_ID},
	};
	struct vl_ethdev_plan plan = {
		.name = name,
		.joins_buffers = true,
		.rate_is_known = true,
	};
	char path[VL_PORT_DETAIL_LENGTH];
	struct vl_port *port;
	enum role role = ROLE_CLIENT;

	*code = vl_port_name_read(name, detail, 0, path, options, RTE_DIM(options), error);
	if (!*code && strlen(path) >= sizeof(((struct sockaddr_un *)0)->sun_path))
		*code = vl_error_set(error, -EINVAL,
				     "port %s: the path of a socket has at most %zu characters",
				     name, sizeof(((struct sockaddr_un *)0)->sun_path) - 1);
	if (*code || !config)
		return NULL;
	*code = choose_role(name, path, is_server, is_client, &role, error);
	if (*code)
		return NULL;
	plan.mtu = vl_port_wanted_mtu(config);
	write_devargs(&plan, path, role, id);
	port = vl_ethdev_open(&plan, config, error);
	/* Two programs that begin at the same time both find nobody there. */
	if (!port && role == ROLE_SERVER && !is_server && !try_socket(path)) {
		write_devargs(&plan, path, ROLE_CLIENT, id);
		role = ROLE_CLIENT;
		port = vl_ethdev_open(&plan, config, error);
	}
	if (port && role == ROLE_CLIENT)
		join(port);
	return port;
}

const struct vl_port_kind vl_port_kind_memif = {
	.prefix = "memif:",
	.help = "  memif:PATH[,server|client][,id=N]\n"
		"                               memory shared with another process, by a socket at "
		"PATH; by\n"
		"                               itself the first to come is the server\n",
	.open = open_memif,
};
