/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* verbline rping, ucmatose, udaddy and exercise: librdmacm's programs, and one of our own. */

#include "apps/endpoint/endpoint.h"
#include "apps/endpoint/run.h"
#include "apps/host/addresses.h"

#include <string.h>

struct client_options {
	struct vl_host_options host;
	struct vl_fault_options fault;
	const char *server; /* address; NULL: be the server */
	const char *refused;
	bool is_client, is_server, verbose, validate, hold;
	uint64_t port, connections, at_a_time, count, size;
};

#define DSCP_DEFAULT 0

#define SERVER_OPTION(letter_)                                                                     \
	{                                                                                          \
		.letter = letter_, .name = "connect", .argument = "ADDRESS",                       \
		.help = "Be the client of the server at this address", .type = VL_OPTION_TEXT,     \
		.offset = offsetof(struct client_options, server)                                  \
	}
#define PORT_OPTION(default_)                                                                      \
	{                                                                                          \
		.letter = 'p', .name = "service-port", .argument = "N",                            \
		.help = "Port of the service [" default_ "]", .type = VL_OPTION_NUMBER,            \
		.offset = offsetof(struct client_options, port), .least = 1, .most = UINT16_MAX    \
	}
#define COUNT_OPTION(text, least_, most_)                                                          \
	{                                                                                          \
		.letter = 'C', .name = "count", .argument = "N", .help = text,                     \
		.type = VL_OPTION_NUMBER, .offset = offsetof(struct client_options, count),        \
		.least = least_, .most = most_                                                     \
	}
#define SIZE_OPTION(text, least_, most_)                                                           \
	{                                                                                          \
		.letter = 'S', .name = "size", .argument = "BYTES", .help = text,                  \
		.type = VL_OPTION_NUMBER, .offset = offsetof(struct client_options, size),         \
		.least = least_, .most = most_                                                     \
	}
#define CONNECTIONS_OPTION(letter_)                                                                \
	{                                                                                          \
		.letter = letter_, .name = "connections", .argument = "N",                         \
		.help = "Client: connections to open [1]", .type = VL_OPTION_NUMBER,               \
		.offset = offsetof(struct client_options, connections), .least = 1,                \
		.most = 1000000000                                                                 \
	}
#define AT_A_TIME_OPTION                                                                           \
	{                                                                                          \
		.name = "at-a-time", .argument = "N",                                              \
		.help = "Client: connections of a worker at a time, those just ended included "    \
			"[all]",                                                                   \
		.type = VL_OPTION_NUMBER, .offset = offsetof(struct client_options, at_a_time),    \
		.least = 1, .most = 16384                                                          \
	}
#define VERBOSE_OPTION(text)                                                                       \
	{                                                                                          \
		.letter = 'v', .name = "verbose", .help = text, .type = VL_OPTION_FLAG,            \
		.offset = offsetof(struct client_options, verbose)                                 \
	}

static bool is_refused_request(const char *name)
{
	for (const char *const *known = vl_exercise_refused_requests; *known; known++) {
		if (!strcmp(*known, name))
			return true;
	}
	return false;
}

/* What the options say of one service. */
static int run_service(const struct vl_command *command, int argc, char **argv,
		       enum vl_instance_service service, struct client_options *values)
{
	struct vl_instance_client client = {.service = service};
	struct vl_operands operands;
	struct vl_endpoint_run run = {
		.command = command,
		.host_options = &values->host,
		.fault_options = &values->fault,
		.operands = &operands,
	};
	char error[160];
	int status = vl_command_start(command, argc, argv, values, &operands);

	if (status >= 0)
		return status;
	if (values->is_client && !values->server) {
		vl_command_error(command, "a client needs --connect ADDRESS");
		return VL_EXIT_USAGE;
	}
	if (values->is_server && values->server) {
		vl_command_error(command, "a server does not connect: leave --connect out, and "
					  "give its own address by --ip");
		return VL_EXIT_USAGE;
	}
	if (values->refused && !is_refused_request(values->refused)) {
		vl_command_error(command, "--refused %s: no such request; --help lists them",
				 values->refused);
		return VL_EXIT_USAGE;
	}
	run.instance.verbose = values->verbose;
	if (!values->server) {
		run.instance.services = 1u << service;
		run.instance.rping_port = (uint16_t)values->port;
		run.instance.ucmatose_size = (uint32_t)values->size;
		return vl_endpoint_run(&run);
	}
	if (vl_address_parse(values->server, &client.destination, error, sizeof(error))) {
		vl_command_error(command, "--connect %s: %s", values->server, error);
		return VL_EXIT_USAGE;
	}
	client.port = (uint16_t)values->port;
	client.connections = (uint32_t)values->connections;
	client.at_a_time = (uint32_t)values->at_a_time;
	client.count = values->count;
	client.size = (uint32_t)values->size;
	client.validate = values->validate;
	client.hold = values->hold;
	client.refused = values->refused;
	run.instance.traffic_class = vl_host_traffic_class(&values->host, DSCP_DEFAULT, 0);
	run.instance.service_level =
		vl_host_priority(&values->host, run.instance.traffic_class >> 2);
	run.instance.quiet = values->connections > 16;
	run.client = &client;
	return vl_endpoint_run(&run);
}

#define COMMON_INIT .host = VL_HOST_OPTIONS_INIT, .fault = VL_FAULT_OPTIONS_INIT, .connections = 1

/* ---- rping ---------------------------------------------------------------------------------- */

static const struct vl_option rping_options[] = {
	VL_HOST_OPTIONS(struct client_options, host),
	VL_FAULT_OPTIONS(struct client_options, fault),
	{.letter = 's',
	 .name = "server",
	 .help = "Be the server [without --connect]",
	 .type = VL_OPTION_FLAG,
	 .offset = offsetof(struct client_options, is_server)},
	{.letter = 'c',
	 .name = "client",
	 .help = "Be the client [with --connect]",
	 .type = VL_OPTION_FLAG,
	 .offset = offsetof(struct client_options, is_client)},
	SERVER_OPTION('a'),
	PORT_OPTION("7174"),
	COUNT_OPTION("Client: pings; 0: until stopped [0]", 0, UINT64_MAX - 1),
	SIZE_OPTION("Client: bytes of a ping [100]", VL_RPING_MIN_SIZE, VL_RPING_MAX_SIZE),
	{.letter = 'V',
	 .name = "validate",
	 .help = "Client: compare what comes back with what was sent",
	 .type = VL_OPTION_FLAG,
	 .offset = offsetof(struct client_options, validate)},
	{.name = "hold",
	 .help = "Client: keep connections whose pings are done, until stopped",
	 .type = VL_OPTION_FLAG,
	 .offset = offsetof(struct client_options, hold)},
	VERBOSE_OPTION("Print each ping"),
	CONNECTIONS_OPTION(0),
	AT_A_TIME_OPTION,
};

static int run_rping(const struct vl_command *command, int argc, char **argv)
{
	struct client_options values = {COMMON_INIT, .size = 100};

	return run_service(command, argc, argv, VL_INSTANCE_RPING, &values);
}

const struct vl_command vl_rping_command = {
	.name = "rping",
	.summary = "rping of librdmacm, client or server",
	.description =
		"The client tells the server where its data is, the server READs it and WRITEs it "
		"back, and so on. The other side may be rping of librdmacm or verbline.\n\n"
		"-s, -c, -a, -p, -C, -S, -V and -v are rping's; the server's address is its --ip.",
	.examples = "verbline rping -s --port af_packet:eth1 --ip 10.0.0.2/24 -v\n"
		    "verbline rping -c -a 10.0.0.1 -C 10 -S 1000 -V -v --port af_packet:eth1 --ip "
		    "10.0.0.2/24\n"
		    "verbline rping -a 10.0.0.1 -C 100 --connections 1000 --port af_packet:eth1 "
		    "--ip 10.0.0.2/24",
	.options = rping_options,
	.option_count = sizeof(rping_options) / sizeof(rping_options[0]),
	.takes_eal_options = true,
	.run = run_rping,
};

/* ---- ucmatose ------------------------------------------------------------------------------- */

static const struct vl_option ucmatose_options[] = {
	VL_HOST_OPTIONS(struct client_options, host),
	VL_FAULT_OPTIONS(struct client_options, fault),
	SERVER_OPTION('s'),
	CONNECTIONS_OPTION('c'),
	AT_A_TIME_OPTION,
	COUNT_OPTION("Client: messages of each connection, each way, as the server was told [10]",
		     1, VL_UCMATOSE_CLIENT_DEPTH),
	SIZE_OPTION("Bytes of a message [100]", 1, VL_UCMATOSE_MAX_SIZE),
};

static int run_ucmatose(const struct vl_command *command, int argc, char **argv)
{
	struct client_options values = {COMMON_INIT, .count = 10, .size = 100};

	return run_service(command, argc, argv, VL_INSTANCE_UCMATOSE, &values);
}

const struct vl_command vl_ucmatose_command = {
	.name = "ucmatose",
	.summary = "ucmatose of librdmacm, client or server",
	.description =
		"The server sends messages on each connection, the client sends as many back, and "
		"the server disconnects. The other side may be ucmatose of librdmacm, which is to "
		"be "
		"told the same numbers, or verbline.\n\n"
		"-s, -c, -C and -S are ucmatose's. As the server, verbline needs no -c and -C: it "
		"sends until a message finds no receive.",
	.examples =
		"verbline ucmatose --port af_packet:eth1 --ip 10.0.0.2/24\n"
		"verbline ucmatose -s 10.0.0.1 -c 2 -C 20 --port af_packet:eth1 --ip 10.0.0.2/24",
	.options = ucmatose_options,
	.option_count = sizeof(ucmatose_options) / sizeof(ucmatose_options[0]),
	.takes_eal_options = true,
	.run = run_ucmatose,
};

/* ---- udaddy --------------------------------------------------------------------------------- */

static const struct vl_option udaddy_options[] = {
	VL_HOST_OPTIONS(struct client_options, host),
	VL_FAULT_OPTIONS(struct client_options, fault),
	SERVER_OPTION('s'),
	CONNECTIONS_OPTION('c'),
	COUNT_OPTION("Client: messages of each connection [10]", 1, 1000000),
	SIZE_OPTION("Client: bytes of a message, at most the path MTU [100]", 1, 4096),
};

static int run_udaddy(const struct vl_command *command, int argc, char **argv)
{
	struct client_options values = {COMMON_INIT, .count = 10, .size = 100};

	return run_service(command, argc, argv, VL_INSTANCE_UDADDY, &values);
}

const struct vl_command vl_udaddy_command = {
	.name = "udaddy",
	.summary = "udaddy of librdmacm, client or server: datagrams there and back",
	.description =
		"The client resolves the service to a queue pair and sends it datagrams, which the "
		"server sends back. The other side may be udaddy of librdmacm or verbline. -s, -c, "
		"-C "
		"and -S are udaddy's; connections are served one after the other.",
	.examples = "verbline udaddy --port af_packet:eth1 --ip 10.0.0.2/24\n"
		    "verbline udaddy -s 10.0.0.1 -c 2 -C 20 --port af_packet:eth1 --ip 10.0.0.2/24",
	.options = udaddy_options,
	.option_count = sizeof(udaddy_options) / sizeof(udaddy_options[0]),
	.takes_eal_options = true,
	.run = run_udaddy,
};

/* ---- exercise ------------------------------------------------------------------------------- */

static const struct vl_option exercise_options[] = {
	VL_HOST_OPTIONS(struct client_options, host),
	VL_FAULT_OPTIONS(struct client_options, fault),
	SERVER_OPTION('a'),
	{.name = "refused",
	 .argument = "NAME",
	 .help = "Client: send but this request, which the server must refuse: write-bad-rkey, "
		 "write-multi-bad-rkey, write-out-of-bounds, write-no-permission, read-bad-rkey, "
		 "read-out-of-bounds, read-no-permission, atomic-bad-rkey, atomic-no-permission, "
		 "atomic-misaligned, send-too-long or send-inv-bad-rkey [all that must succeed]",
	 .type = VL_OPTION_TEXT,
	 .offset = offsetof(struct client_options, refused)},
	VERBOSE_OPTION("Server: print each request and message"),
};

static int run_exercise(const struct vl_command *command, int argc, char **argv)
{
	struct client_options values = {COMMON_INIT};

	return run_service(command, argc, argv, VL_INSTANCE_EXERCISE, &values);
}

const struct vl_command vl_exercise_command = {
	.name = "exercise",
	.summary = "a conversation that uses every operation of RC, client or server",
	.description =
		"SEND and WRITE with and without immediate, empty, in one packet and in several, "
		"READ, atomics, memory windows and SEND with invalidate, with all data compared; "
		"or "
		"one request that the server must refuse. Each request is printed with how it "
		"completed.",
	.examples = "verbline exercise --port af_packet:eth1 --ip 10.0.0.2/24\n"
		    "verbline exercise -a 10.0.0.1 --port af_packet:eth1 --ip 10.0.0.2/24\n"
		    "verbline exercise -a 10.0.0.1 --refused read-bad-rkey --port af_packet:eth1 "
		    "--ip 10.0.0.2/24",
	.options = exercise_options,
	.option_count = sizeof(exercise_options) / sizeof(exercise_options[0]),
	.takes_eal_options = true,
	.run = run_exercise,
};
